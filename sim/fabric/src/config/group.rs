//! Groups of keys: each key is declared once, with field, default, unit, legal values and sentence.

use super::Legal;
use serde_json::Value;

/// A key as `weft list fabrics` shows it.
#[derive(Clone, Debug)]
pub struct KeyInfo {
    /// Name in the file and for `--set`.
    pub name: &'static str,
    /// Where it stands in a list of all keys.
    pub section: Section,
    /// Unit of the value.
    pub unit: &'static str,
    /// Value of the published system.
    pub default: Value,
    /// Values legal on their own.
    pub legal: Legal,
    /// What it means.
    pub about: &'static str,
}

/// Parts of a list of all keys, in order. In each the keys of the family come before those that all families have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Section {
    System,
    Coherence,
    Units,
    Caches,
    Links,
    Memory,
    Energy,
    Programs,
    Checks,
}

/// A group of keys with their values; macro `keys!` makes one.
pub trait Group {
    /// All keys of the group, in order; the default of each is its value here.
    fn infos(&self) -> Vec<KeyInfo>;

    /// The value of a key as JSON; `None` if the group has no such key.
    fn get(&self, key: &str) -> Option<Value>;

    /// Reads a key's value and holds it against the legal values. A key that the group does not have changes nothing.
    ///
    /// # Errors
    /// What is wrong with the value; the key then keeps the one that it had.
    fn assign(&mut self, key: &str, text: &str, legal: &Legal) -> Result<(), String>;
}

/// Declares a [`Group`](crate::config::Group): its keys by section, each with type, default, unit, legal values and sentence.
///
/// ```
/// use weft_fabric::config::{Group, Legal, keys};
/// keys! {
///     /// Keys of a family.
///     MyKeys {
///         Memory { delay: u32 = 5, "cycles", Legal::Within(1, 100), "time of an access"; }
///     }
/// }
/// assert_eq!(MyKeys::default().get("delay"), Some(5.into()));
/// ```
#[macro_export]
macro_rules! keys {
    ($(#[$doc:meta])* $group:ident {
        $($section:ident { $($name:ident: $ty:ty = $default:expr, $unit:literal, $legal:expr, $about:literal;)* })*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $group { $($(#[doc = $about] pub $name: $ty,)*)* }

        impl Default for $group {
            fn default() -> $group {
                $group { $($($name: $default,)*)* }
            }
        }

        impl $crate::config::Group for $group {
            fn infos(&self) -> Vec<$crate::config::KeyInfo> {
                vec![$($($crate::config::KeyInfo {
                    name: stringify!($name),
                    section: $crate::config::Section::$section,
                    unit: $unit,
                    default: $crate::config::Field::value(&self.$name),
                    legal: $legal,
                    about: $about,
                },)*)*]
            }

            fn get(&self, key: &str) -> Option<$crate::config::Value> {
                match key {
                    $($(stringify!($name) => Some($crate::config::Field::value(&self.$name)),)*)*
                    _ => None,
                }
            }

            fn assign(&mut self, key: &str, text: &str, legal: &$crate::config::Legal) -> Result<(), String> {
                match key {
                    $($(stringify!($name) => self.$name = $crate::config::Field::parse(text, legal)?,)*)*
                    _ => {}
                }
                Ok(())
            }
        }
    };
}

pub use keys;

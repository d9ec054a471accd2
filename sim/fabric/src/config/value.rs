//! What a key's value may be: numbers, sizes, names, switches, and how they are read and written.

use crate::cu::{CuFault, CuPolicy, Model};
use serde_json::{Value, json};
use std::fmt;

pub(crate) const K: u64 = 1 << 10;
pub(crate) const M: u64 = 1 << 20;
pub(crate) const G: u64 = 1 << 30;

/// Values that a key may take on its own; what depends on other keys is checked afterwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Legal {
    /// A whole number in this range.
    Within(u64, u64),
    /// A power of two in this range.
    Power(u64, u64),
    /// A whole number in this range, or `off`.
    WithinOrOff(u64, u64),
    /// A whole number in this range, `off` or `auto`.
    WithinOffOrAuto(u64, u64),
    /// A number in this range.
    Real(f64, f64),
    /// One of these names.
    OneOf(&'static [&'static str]),
    /// `true` or `false`.
    Switch,
    /// A text of a form of its own, which this describes.
    Form(&'static str),
}

impl fmt::Display for Legal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Legal::Within(lo, hi) => write!(f, "{}..{}", size(*lo), size(*hi)),
            Legal::Power(lo, hi) => write!(f, "a power of two in {}..{}", size(*lo), size(*hi)),
            Legal::WithinOrOff(lo, hi) => write!(f, "{}..{}, or off", size(*lo), size(*hi)),
            Legal::WithinOffOrAuto(lo, hi) => write!(f, "{}..{}, off or auto", size(*lo), size(*hi)),
            Legal::Real(lo, hi) => write!(f, "{lo}..{hi}"),
            Legal::OneOf(names) => f.write_str(&names.join(", ")),
            Legal::Switch => f.write_str("true, false"),
            Legal::Form(form) => f.write_str(form),
        }
    }
}

/// Multiples of 1024 and more with their suffix, as the keys accept them.
pub(crate) fn size(value: u64) -> String {
    let unit = [(30, "G"), (20, "M"), (10, "K")]
        .into_iter()
        .find(|(bits, _)| value > 0 && value.trailing_zeros() >= *bits);
    unit.map_or(value.to_string(), |(bits, suffix)| format!("{}{suffix}", value >> bits))
}

/// A whole number, perhaps with suffix K, M or G (powers of 1024) and underscores.
fn whole(text: &str) -> Result<u64, String> {
    let plain = text.replace('_', "");
    let (digits, shift) = match plain.strip_suffix(['K', 'k', 'M', 'm', 'G', 'g']) {
        Some(digits) if plain.ends_with(['K', 'k']) => (digits, 10),
        Some(digits) if plain.ends_with(['M', 'm']) => (digits, 20),
        Some(digits) => (digits, 30),
        None => (plain.as_str(), 0),
    };
    let number: u64 =
        digits.parse().map_err(|_| "it is no whole number (suffixes K, M, G are known)".to_string())?;
    number.checked_mul(1 << shift).ok_or_else(|| "it is too large".to_string())
}

/// A type of value that keys have.
pub trait Field: Sized {
    /// Reads it and holds it against the legal values.
    ///
    /// # Errors
    /// What is wrong with the text.
    fn parse(text: &str, legal: &Legal) -> Result<Self, String>;
    /// For JSON.
    fn value(&self) -> Value;
}

impl Field for u64 {
    fn parse(text: &str, legal: &Legal) -> Result<u64, String> {
        let number = whole(text)?;
        let (lo, hi) = match legal {
            Legal::Power(..) if !number.is_power_of_two() => return Err("it is no power of two".into()),
            Legal::Power(lo, hi)
            | Legal::Within(lo, hi)
            | Legal::WithinOrOff(lo, hi)
            | Legal::WithinOffOrAuto(lo, hi) => (*lo, *hi),
            Legal::Real(..) | Legal::OneOf(_) | Legal::Switch | Legal::Form(_) => (0, u64::MAX),
        };
        match number {
            n if n < lo => Err("it is too small".into()),
            n if n > hi => Err("it is too large".into()),
            n => Ok(n),
        }
    }

    fn value(&self) -> Value {
        json!(self)
    }
}

impl Field for u32 {
    fn parse(text: &str, legal: &Legal) -> Result<u32, String> {
        u32::try_from(u64::parse(text, legal)?).map_err(|_| "it is too large".into())
    }

    fn value(&self) -> Value {
        json!(self)
    }
}

impl Field for Option<u32> {
    fn parse(text: &str, legal: &Legal) -> Result<Option<u32>, String> {
        if text == "off" { Ok(None) } else { u32::parse(text, legal).map(Some) }
    }

    fn value(&self) -> Value {
        self.map_or_else(|| json!("off"), |n| json!(n))
    }
}

/// A value that follows from other keys unless it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Auto<T> {
    /// It follows.
    Auto,
    /// It is given.
    Is(T),
}

impl<T: Field> Field for Auto<T> {
    fn parse(text: &str, legal: &Legal) -> Result<Auto<T>, String> {
        if text == "auto" { Ok(Auto::Auto) } else { T::parse(text, legal).map(Auto::Is) }
    }

    fn value(&self) -> Value {
        match self {
            Auto::Auto => json!("auto"),
            Auto::Is(given) => given.value(),
        }
    }
}

impl Field for f64 {
    fn parse(text: &str, legal: &Legal) -> Result<f64, String> {
        let number: f64 = text.parse().map_err(|_| "it is no number".to_string())?;
        match legal {
            Legal::Real(lo, hi) if !(*lo..=*hi).contains(&number) => Err("it lies outside the range".into()),
            _ => Ok(number),
        }
    }

    fn value(&self) -> Value {
        json!(self)
    }
}

impl Field for bool {
    fn parse(text: &str, _: &Legal) -> Result<bool, String> {
        text.parse().map_err(|_| "it is no switch".into())
    }

    fn value(&self) -> Value {
        json!(self)
    }
}

/// A type whose values have names.
pub trait Named: Copy + PartialEq + 'static {
    /// All values.
    const VALUES: &'static [Self];
    /// Their names, in the same order.
    const NAMES: &'static [&'static str];

    /// The name of this value.
    fn name(self) -> &'static str {
        Self::VALUES.iter().position(|value| *value == self).map_or("", |i| Self::NAMES[i])
    }
}

impl<T: Named> Field for T {
    fn parse(text: &str, legal: &Legal) -> Result<T, String> {
        let allowed = !matches!(legal, Legal::OneOf(names) if !names.contains(&text));
        let place = T::NAMES.iter().position(|name| *name == text && allowed);
        let listed = match legal {
            Legal::OneOf(names) => names,
            _ => T::NAMES,
        };
        place.map(|i| T::VALUES[i]).ok_or_else(|| match weft_names::nearest(text, listed.iter().copied()) {
            Some(nearest) => format!("there is no such choice, the nearest is {nearest}"),
            None => "there is no such choice".into(),
        })
    }

    fn value(&self) -> Value {
        json!(self.name())
    }
}

/// A type of its own for values with names.
#[macro_export]
macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $value:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$vdoc])* $value,)* }

        impl $crate::config::Named for $name {
            const VALUES: &'static [$name] = &[$($name::$value),*];
            const NAMES: &'static [&'static str] = &[$($text),*];
        }
    };
}

pub use named;

named! {
    /// Where a program's pages lie (rec.md section 10, hmg.md section 9).
    Placement {
        /// Page k of an array at GPU k mod N.
        PageRr = "page_rr",
        /// Each array in N contiguous parts.
        Block = "block",
        /// Array k at GPU k mod N.
        ArrayRr = "array_rr",
        /// Everything at GPU 0.
        Single = "single",
        /// Page k of the program's memory at node k mod N.
        Interleave = "interleave",
        /// The program's memory in N contiguous parts.
        Static = "static",
        /// A page at the node of the first compute unit that accesses it.
        FirstTouch = "first-touch",
        /// A page at the node that the exclusive or of its number's groups of bits gives.
        PageHash = "page-hash",
        /// As the program says: arrays that it splits in N contiguous parts, arrays of one GPU there, the others page by page in turn.
        Program = "program",
        /// As arrays that no kernel writes: of key `placement_written` only.
        Same = "same",
    }
}

impl Placement {
    /// Values of key `placement`.
    pub(super) const OF_ALL: &'static [&'static str] = Placement::NAMES.split_at(9).0;
    /// Values of key `placement_written`: pages that the first touch places are those of all arrays.
    pub(super) const OF_WRITTEN: &'static [&'static str] =
        &["same", "page_rr", "block", "array_rr", "single", "interleave", "static", "page-hash", "program"];
}

named! {
    /// Whose calls the host makes.
    Runtime {
        /// They take what the keys say, nothing unless they are given.
        Keys = "keys",
        /// As CUDA's.
        Cuda = "cuda",
    }
}

named! {
    /// Which GPU, and which of its CUs, runs a work-group (cu-and-consistency.md section 1.2).
    CtaSchedule {
        /// Work-groups in flattened order, cut into N contiguous parts.
        Contiguous = "contiguous",
        /// Work-group b at GPU b mod N.
        Rr = "rr",
        /// The parts of `contiguous`, and in each work-group b at CU b mod M of its GPU, even if another one has room.
        RrCu = "rr-cu",
    }
}

impl Named for CuFault {
    const VALUES: &'static [CuFault] = &[CuFault::None, CuFault::RelaxedOvertakes];
    const NAMES: &'static [&'static str] = &["none", "relaxed-overtakes"];
}

impl Named for CuPolicy {
    const VALUES: &'static [CuPolicy] = &[CuPolicy::Oldest, CuPolicy::Gto, CuPolicy::RoundRobin];
    const NAMES: &'static [&'static str] = &["oldest", "gto", "rr"];
}

impl Named for Model {
    const VALUES: &'static [Model] = &[Model::Sc, Model::Drf0, Model::Drf1, Model::Drfrlx];
    const NAMES: &'static [&'static str] = &["sc", "drf0", "drf1", "drfrlx"];
}

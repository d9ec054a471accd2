//! Bundles with type parameters.

use super::Bank;
use weft_rtl::prelude::*;

/// Signals whose widths a bank's sizes fix.
pub(crate) trait BankData: Data<Shape = Bank> + Copy {}
impl<T: Data<Shape = Bank> + Copy> BankData for T {}

/// A bundle with type parameters, whose fields have a shape each. The leaves of a field marked `flat` have no name of their own: they stand as if they were the bundle's.
macro_rules! bundle_of {
    (@label $field:ident) => { stringify!($field) };
    (@label $field:ident flat) => { "" };
    (
        $(#[$doc:meta])*
        struct $name:ident<$($g:ident: $bound:path),*>($p:ident: $params:ty) {
            $( $(#[$about:meta])* $field:ident $($flat:ident)?: $ty:ty = $shape:expr, )*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name<$($g),*> {
            $( $(#[$about])* pub $field: $ty, )*
        }
        impl<$($g: $bound),*> Data for $name<$($g),*> {
            type Shape = $params;
            fn leaves($p: &$params, prefix: &str, out: &mut Vec<Leaf>) {
                $(
                    let name = join_name(prefix, bundle_of!(@label $field $($flat)?));
                    <$ty as Data>::leaves(&$shape, &name, out);
                )*
            }
            fn from_leaves($p: &$params, leaves: &mut dyn Iterator<Item = Bits>) -> Self {
                $( let $field = <$ty as Data>::from_leaves(&$shape, leaves); )*
                Self { $($field),* }
            }
            fn to_leaves(&self, out: &mut Vec<Bits>) {
                $( self.$field.to_leaves(out); )*
            }
            fn with_leaves(&self, leaves: &mut dyn Iterator<Item = Bits>) -> Self {
                Self { $( $field: self.$field.with_leaves(leaves) ),* }
            }
        }
    };
}
pub(crate) use bundle_of;

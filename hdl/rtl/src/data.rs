//! Typed data: scalars, vectors and derived bundles, all flattened to leaves.

use crate::build::with;
use crate::ir::*;
use crate::value::*;
use std::marker::PhantomData;

/// A value made of leaves. `Shape` is what fixes the widths at run time: `u32` for [`Bits`], nothing for [`Bool`] and [`Enum`], (length, element)
/// for vectors, the parameter struct for derived bundles.
pub trait Data: Clone + 'static {
    /// Run-time description of the widths.
    type Shape: Clone;
    /// Appends the leaves; `prefix` is the name so far.
    fn leaves(shape: &Self::Shape, prefix: &str, out: &mut Vec<Leaf>);
    /// Builds the value from its leaves' values in order.
    fn from_leaves(shape: &Self::Shape, leaves: &mut dyn Iterator<Item = Bits>) -> Self;
    /// Appends the leaves' values in order.
    fn to_leaves(&self, out: &mut Vec<Bits>);
    /// The same value with other leaves.
    fn with_leaves(&self, leaves: &mut dyn Iterator<Item = Bits>) -> Self;
}

/// Joins name parts with `_`, leaving out empty ones.
pub fn join_name(prefix: &str, name: &str) -> String {
    match (prefix.is_empty(), name.is_empty()) {
        (true, _) => name.to_string(),
        (_, true) => prefix.to_string(),
        _ => format!("{prefix}_{name}"),
    }
}

fn leaf(prefix: &str, width: u32, ty: LeafType) -> Leaf {
    Leaf { name: prefix.to_string(), width, ty, fields: Vec::new(), below: None }
}

impl Data for Bits {
    type Shape = u32;
    fn leaves(shape: &u32, prefix: &str, out: &mut Vec<Leaf>) {
        out.push(leaf(prefix, *shape, LeafType::Bits));
    }
    fn from_leaves(_: &u32, leaves: &mut dyn Iterator<Item = Bits>) -> Bits {
        leaves.next().expect("as many values as leaves")
    }
    fn to_leaves(&self, out: &mut Vec<Bits>) {
        out.push(*self);
    }
    fn with_leaves(&self, leaves: &mut dyn Iterator<Item = Bits>) -> Bits {
        Bits::from_leaves(&0, leaves)
    }
}

impl Data for Bool {
    type Shape = ();
    fn leaves(_: &(), prefix: &str, out: &mut Vec<Leaf>) {
        out.push(leaf(prefix, 1, LeafType::Bool));
    }
    fn from_leaves(_: &(), leaves: &mut dyn Iterator<Item = Bits>) -> Bool {
        Bool(leaves.next().expect("as many values as leaves"))
    }
    fn to_leaves(&self, out: &mut Vec<Bits>) {
        out.push(self.0);
    }
    fn with_leaves(&self, leaves: &mut dyn Iterator<Item = Bits>) -> Bool {
        Bool::from_leaves(&(), leaves)
    }
}

impl<E: HwEnum> Data for Enum<E> {
    type Shape = ();
    fn leaves(_: &(), prefix: &str, out: &mut Vec<Leaf>) {
        let ty = E::enum_type();
        out.push(leaf(prefix, ty.width, LeafType::Enum(ty)));
    }
    fn from_leaves(_: &(), leaves: &mut dyn Iterator<Item = Bits>) -> Enum<E> {
        Enum { bits: leaves.next().expect("as many values as leaves"), kind: PhantomData }
    }
    fn to_leaves(&self, out: &mut Vec<Bits>) {
        out.push(self.bits);
    }
    fn with_leaves(&self, leaves: &mut dyn Iterator<Item = Bits>) -> Enum<E> {
        Enum::from_leaves(&(), leaves)
    }
}

impl<T: Data> Data for Vec<T> {
    type Shape = (usize, T::Shape);
    fn leaves(shape: &Self::Shape, prefix: &str, out: &mut Vec<Leaf>) {
        for i in 0..shape.0 {
            T::leaves(&shape.1, &join_name(prefix, &i.to_string()), out);
        }
    }
    fn from_leaves(shape: &Self::Shape, leaves: &mut dyn Iterator<Item = Bits>) -> Vec<T> {
        (0..shape.0).map(|_| T::from_leaves(&shape.1, leaves)).collect()
    }
    fn to_leaves(&self, out: &mut Vec<Bits>) {
        for item in self {
            item.to_leaves(out);
        }
    }
    fn with_leaves(&self, leaves: &mut dyn Iterator<Item = Bits>) -> Vec<T> {
        self.iter().map(|item| item.with_leaves(leaves)).collect()
    }
}

/// A part that some shapes do not have.
impl<T: Data> Data for Option<T> {
    type Shape = Option<T::Shape>;
    fn leaves(shape: &Self::Shape, prefix: &str, out: &mut Vec<Leaf>) {
        if let Some(shape) = shape {
            T::leaves(shape, prefix, out);
        }
    }
    fn from_leaves(shape: &Self::Shape, leaves: &mut dyn Iterator<Item = Bits>) -> Option<T> {
        shape.as_ref().map(|shape| T::from_leaves(shape, leaves))
    }
    fn to_leaves(&self, out: &mut Vec<Bits>) {
        self.iter().for_each(|part| part.to_leaves(out));
    }
    fn with_leaves(&self, leaves: &mut dyn Iterator<Item = Bits>) -> Option<T> {
        self.as_ref().map(|part| part.with_leaves(leaves))
    }
}

/// The leaves of a type under a name.
pub fn leaves_of<T: Data>(shape: &T::Shape, prefix: &str) -> Vec<Leaf> {
    let mut out = Vec::new();
    T::leaves(shape, prefix, &mut out);
    out
}

/// Width of a type in bits.
pub fn width_of<T: Data>(shape: &T::Shape) -> u32 {
    leaves_of::<T>(shape, "x").iter().map(|l| l.width).sum()
}

/// All leaves joined, the first one least significant.
#[track_caller]
pub fn to_packed<T: Data>(value: &T) -> Bits {
    let mut leaves = Vec::new();
    value.to_leaves(&mut leaves);
    pack(&leaves)
}

/// Takes a packed vector apart.
#[track_caller]
pub fn from_packed<T: Data>(shape: &T::Shape, packed: Bits) -> T {
    let mut lo = 0;
    let parts: Vec<Bits> = leaves_of::<T>(shape, "x")
        .iter()
        .map(|l| {
            lo += l.width;
            packed.slice(lo - l.width, l.width)
        })
        .collect();
    T::from_leaves(shape, &mut parts.into_iter())
}

/// `cond ? a : b`, leaf by leaf.
#[track_caller]
pub fn mux<T: Data>(cond: Bool, a: T, b: T) -> T {
    let loc = Loc::caller();
    let (mut left, mut right) = (Vec::new(), Vec::new());
    a.to_leaves(&mut left);
    b.to_leaves(&mut right);
    let merged: Vec<Bits> = left.iter().zip(&right).map(|(x, y)| mux_bits(cond, *x, *y, loc)).collect();
    a.with_leaves(&mut merged.into_iter())
}

fn mux_bits(cond: Bool, a: Bits, b: Bits, loc: Loc) -> Bits {
    if a.width != b.width {
        let what = "choice".to_string();
        let kind = crate::error::ElabErrorKind::WidthMismatch { what, left: a.width, right: b.width };
        with(|m| m.error(loc, kind));
        return a;
    }
    let ty = with(|m| m.module.node(a.id).ty.clone());
    let id = with(|m| m.typed_node(Op::Mux(cond.0.id, a.id, b.id), a.width, ty, loc));
    Bits { id, width: a.width }
}

/// Element `index` of a list of equal values, leaf by leaf; zero past the end.
#[track_caller]
pub fn select<T: Data>(items: &[T], index: Bits) -> T {
    let loc = Loc::caller();
    let columns: Vec<Vec<Bits>> = items
        .iter()
        .map(|item| {
            let mut leaves = Vec::new();
            item.to_leaves(&mut leaves);
            leaves
        })
        .collect();
    let picked: Vec<Bits> = (0..columns[0].len())
        .map(|leaf| {
            let column: Vec<Bits> = columns.iter().map(|c| c[leaf]).collect();
            let width = column[0].width;
            raw(Op::Index { a: pack(&column).id, idx: index.id }, width, loc)
        })
        .collect();
    items[0].with_leaves(&mut picked.into_iter())
}

/// What can be assigned to a signal of type `T`: a `T`, or a plain Rust value where the type has one.
pub trait Assignable<T: Data> {
    /// The value in the given shape.
    fn resolve(self, shape: &T::Shape, loc: Loc) -> T;
}

impl<T: Data> Assignable<T> for T {
    fn resolve(self, _: &T::Shape, _: Loc) -> T {
        self
    }
}
impl<T: Data> Assignable<T> for &T {
    fn resolve(self, _: &T::Shape, _: Loc) -> T {
        self.clone()
    }
}
impl Assignable<Bits> for u64 {
    fn resolve(self, shape: &u32, loc: Loc) -> Bits {
        self.to_bits(*shape, loc)
    }
}
impl Assignable<Bool> for bool {
    fn resolve(self, _: &(), loc: Loc) -> Bool {
        Bool(u64::from(self).to_bits(1, loc))
    }
}
impl<E: HwEnum> Assignable<Enum<E>> for E {
    #[track_caller]
    fn resolve(self, _: &(), _: Loc) -> Enum<E> {
        enum_lit(self)
    }
}

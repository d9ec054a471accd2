//! Signal values: [`Bits`], [`Bool`], [`Enum`], and the operators on them.

use crate::build::with;
use crate::bv::{Bv, bits_for};
use crate::error::ElabErrorKind;
use crate::ir::*;
use std::marker::PhantomData;
use std::ops;
use std::sync::Arc;

/// An unsigned value of a width known at elaboration.
#[derive(Clone, Copy, Debug)]
pub struct Bits {
    pub(crate) id: NodeId,
    pub(crate) width: u32,
}

/// A truth value.
#[derive(Clone, Copy, Debug)]
pub struct Bool(pub(crate) Bits);

/// A value of the encoded enumeration `E`.
pub struct Enum<E> {
    pub(crate) bits: Bits,
    pub(crate) kind: PhantomData<E>,
}

impl<E> Clone for Enum<E> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<E> Copy for Enum<E> {}

/// An encoded enumeration; derive it with `#[derive(HwEnum)]`.
pub trait HwEnum: Copy + PartialEq + 'static {
    /// Names and encodings.
    fn enum_type() -> Arc<EnumType>;
    /// All variants, in the order of the source.
    const VARIANTS: &'static [Self];
    /// Encoding of a variant.
    fn encoding(self) -> u64;
    /// What tables print for a variant: its identifier, or what `#[hw(label = "...")]` says.
    fn label(self) -> &'static str;
}

/// What can stand for a [`Bits`] of a known width: another `Bits` or a number.
pub trait ToBits {
    /// The value in `width` bits.
    fn to_bits(self, width: u32, loc: Loc) -> Bits;
}

impl ToBits for Bits {
    fn to_bits(self, _width: u32, _loc: Loc) -> Bits {
        self
    }
}
impl ToBits for &Bits {
    fn to_bits(self, _width: u32, _loc: Loc) -> Bits {
        *self
    }
}
impl ToBits for u64 {
    fn to_bits(self, width: u32, loc: Loc) -> Bits {
        constant(self, width, loc)
    }
}

fn constant(value: u64, width: u32, loc: Loc) -> Bits {
    with(|b| {
        if width < 64 && value >> width != 0 {
            let max = (1u64 << width) - 1;
            b.error(loc, ElabErrorKind::ConstantRange { value, width, max });
        }
        Bits { id: b.constant(Bv::from_u64(value, width), loc), width }
    })
}

/// The number `value` in `width` bits.
#[track_caller]
pub fn lit(value: u64, width: u32) -> Bits {
    constant(value, width, Loc::caller())
}

/// A constant of any width.
#[track_caller]
pub fn lit_bv(value: Bv) -> Bits {
    let (loc, width) = (Loc::caller(), value.width());
    with(|b| Bits { id: b.constant(value, loc), width })
}

/// A constant truth value.
#[track_caller]
pub fn bool_lit(value: bool) -> Bool {
    Bool(constant(u64::from(value), 1, Loc::caller()))
}

/// The constant of an enumeration's variant.
#[track_caller]
pub fn enum_lit<E: HwEnum>(value: E) -> Enum<E> {
    let (loc, ty) = (Loc::caller(), E::enum_type());
    let width = ty.width;
    let id = with(|b| {
        b.typed_node(Op::Const(Bv::from_u64(value.encoding(), width)), width, LeafType::Enum(ty), loc)
    });
    Enum { bits: Bits { id, width }, kind: PhantomData }
}

pub(crate) fn raw(op: Op, width: u32, loc: Loc) -> Bits {
    with(|b| Bits { id: b.node(op, width, loc), width })
}

fn binary(what: &str, a: Bits, b: Bits, loc: Loc, width: Option<u32>, op: fn(NodeId, NodeId) -> Op) -> Bits {
    if a.width != b.width {
        let kind = ElabErrorKind::WidthMismatch { what: what.to_string(), left: a.width, right: b.width };
        with(|m| m.error(loc, kind));
        return constant(0, width.unwrap_or(a.width), loc);
    }
    raw(op(a.id, b.id), width.unwrap_or(a.width), loc)
}

#[allow(clippy::should_implement_trait)] // operands are numbers or signals, which the operator traits cannot express together
impl Bits {
    /// Width in bits.
    pub fn width(self) -> u32 {
        self.width
    }

    /// The expression behind the value.
    pub fn node(self) -> NodeId {
        self.id
    }

    /// Gives the value a name in waveforms and Verilog.
    #[track_caller]
    pub fn named(self, name: &str) -> Bits {
        let loc = Loc::caller();
        with(|b| {
            b.claim_name(name, loc);
            // An alias keeps a name given to the same expression elsewhere.
            let ty = b.module.node(self.id).ty.clone();
            let fresh = match b.module.node(self.id).name {
                None if !matches!(b.module.node(self.id).op, Op::Sig(_) | Op::Const(_)) => self.id,
                _ => b.typed_node(Op::Slice { a: self.id, lo: 0 }, self.width, ty, loc),
            };
            b.module.nodes[fresh.index()].name = Some(name.to_string());
            Bits { id: fresh, width: self.width }
        })
    }

    /// Equality.
    #[track_caller]
    pub fn eq(self, other: impl ToBits) -> Bool {
        let loc = Loc::caller();
        Bool(binary("comparison", self, other.to_bits(self.width, loc), loc, Some(1), Op::Eq))
    }

    /// Inequality.
    #[track_caller]
    pub fn ne(self, other: impl ToBits) -> Bool {
        let loc = Loc::caller();
        let same = binary("comparison", self, other.to_bits(self.width, loc), loc, Some(1), Op::Eq);
        Bool(raw(Op::Not(same.id), 1, loc))
    }

    /// Unsigned less-than.
    #[track_caller]
    pub fn lt(self, other: impl ToBits) -> Bool {
        let loc = Loc::caller();
        Bool(binary("comparison", self, other.to_bits(self.width, loc), loc, Some(1), Op::Lt))
    }

    /// Unsigned less-or-equal.
    #[track_caller]
    pub fn le(self, other: impl ToBits) -> Bool {
        let loc = Loc::caller();
        let more = binary("comparison", other.to_bits(self.width, loc), self, loc, Some(1), Op::Lt);
        Bool(raw(Op::Not(more.id), 1, loc))
    }

    /// Unsigned greater-than.
    #[track_caller]
    pub fn gt(self, other: impl ToBits) -> Bool {
        let loc = Loc::caller();
        Bool(binary("comparison", other.to_bits(self.width, loc), self, loc, Some(1), Op::Lt))
    }

    /// Unsigned greater-or-equal.
    #[track_caller]
    pub fn ge(self, other: impl ToBits) -> Bool {
        let loc = Loc::caller();
        let less = binary("comparison", self, other.to_bits(self.width, loc), loc, Some(1), Op::Lt);
        Bool(raw(Op::Not(less.id), 1, loc))
    }

    /// Product modulo 2^width.
    #[track_caller]
    pub fn mul(self, other: impl ToBits) -> Bits {
        let loc = Loc::caller();
        binary("product", self, other.to_bits(self.width, loc), loc, None, Op::Mul)
    }

    /// `width` bits from bit `lo` on.
    #[track_caller]
    pub fn slice(self, lo: u32, width: u32) -> Bits {
        let loc = Loc::caller();
        if width == 0 || lo + width > self.width {
            let hi = (lo + width).wrapping_sub(1);
            with(|b| b.error(loc, ElabErrorKind::SliceRange { lo, hi, width: self.width }));
            return constant(0, width.max(1), loc);
        }
        if lo == 0 && width == self.width {
            return self;
        }
        raw(Op::Slice { a: self.id, lo }, width, loc)
    }

    /// Bit `index`.
    #[track_caller]
    pub fn bit(self, index: u32) -> Bool {
        Bool(self.slice(index, 1))
    }

    /// Bit chosen by a value; 0 past the top.
    #[track_caller]
    pub fn bit_at(self, index: Bits) -> Bool {
        Bool(raw(Op::Index { a: self.id, idx: index.id }, 1, Loc::caller()))
    }

    /// Element `index` of a vector packed from elements of `width` bits; 0 past the end.
    #[track_caller]
    pub fn element(self, index: Bits, width: u32) -> Bits {
        let loc = Loc::caller();
        if width == 0 || !self.width.is_multiple_of(width) {
            let what = format!("elements of {width} bits in a vector");
            with(|b| b.error(loc, ElabErrorKind::WidthMismatch { what, left: width, right: self.width }));
            return constant(0, width.max(1), loc);
        }
        raw(Op::Index { a: self.id, idx: index.id }, width, loc)
    }

    /// Zeros added above up to `width`.
    #[track_caller]
    pub fn zext(self, width: u32) -> Bits {
        let loc = Loc::caller();
        if width < self.width {
            let what = "zero extension".to_string();
            with(|b| b.error(loc, ElabErrorKind::WidthMismatch { what, left: width, right: self.width }));
            return constant(0, width.max(1), loc);
        }
        if width == self.width {
            return self;
        }
        let pad = constant(0, 1, loc);
        let zeros = with(|b| {
            b.module.nodes[pad.id.index()].op = Op::Const(Bv::zero(width - self.width));
            b.module.nodes[pad.id.index()].width = width - self.width;
            pad.id
        });
        raw(Op::Concat(vec![self.id, zeros]), width, loc)
    }

    /// Zero-extended or cut to `width`.
    #[track_caller]
    pub fn resize(self, width: u32) -> Bits {
        if width >= self.width { self.zext(width) } else { self.slice(0, width) }
    }

    /// Shift left by a constant, same width.
    #[track_caller]
    pub fn shl(self, by: u32) -> Bits {
        let loc = Loc::caller();
        if by >= self.width {
            with(|b| b.error(loc, ElabErrorKind::ShiftRange { by, width: self.width }));
        }
        let amount = constant(u64::from(by), 32, loc);
        raw(Op::Shl(self.id, amount.id), self.width, loc)
    }

    /// Shift left by a value, same width.
    #[track_caller]
    pub fn shl_by(self, by: Bits) -> Bits {
        raw(Op::Shl(self.id, by.id), self.width, Loc::caller())
    }

    /// Shift right by a value, same width.
    #[track_caller]
    pub fn shr_by(self, by: Bits) -> Bits {
        raw(Op::Shr(self.id, by.id), self.width, Loc::caller())
    }

    /// Some bit set.
    #[track_caller]
    pub fn any(self) -> Bool {
        Bool(raw(Op::AnyBit(self.id), 1, Loc::caller()))
    }

    /// No bit set.
    #[track_caller]
    pub fn none(self) -> Bool {
        !self.any()
    }

    /// All bits set.
    #[track_caller]
    pub fn all(self) -> Bool {
        Bool(raw(Op::AllBits(self.id), 1, Loc::caller()))
    }

    /// Exclusive or of all bits.
    #[track_caller]
    pub fn parity(self) -> Bool {
        Bool(raw(Op::Parity(self.id), 1, Loc::caller()))
    }

    /// Number of set bits, in just enough bits for the greatest count.
    #[track_caller]
    pub fn popcount(self) -> Bits {
        raw(Op::PopCount(self.id), bits_for(u64::from(self.width) + 1), Loc::caller())
    }

    /// Number of the lowest set bit, in just enough bits; 0 when none is set.
    #[track_caller]
    pub fn lowest_set(self) -> Bits {
        raw(Op::LowestSet(self.id), bits_for(u64::from(self.width)), Loc::caller())
    }

    /// One-hot vector of `width` bits with bit number `self` set; zero past the top.
    #[track_caller]
    pub fn one_hot(self, width: u32) -> Bits {
        let loc = Loc::caller();
        let one = lit_bv(Bv::from_u64(1, width));
        raw(Op::Shl(one.id, self.id), width, loc)
    }

    /// The same value as a truth value; the width must be 1.
    #[track_caller]
    pub fn as_bool(self) -> Bool {
        if self.width != 1 {
            let kind = ElabErrorKind::WidthMismatch {
                what: "use as a truth value".into(),
                left: 1,
                right: self.width,
            };
            let loc = Loc::caller();
            with(|b| b.error(loc, kind));
            return Bool(constant(0, 1, loc));
        }
        Bool(self)
    }

    /// The same bits read as an enumeration of the same width.
    #[track_caller]
    pub fn as_enum<E: HwEnum>(self) -> Enum<E> {
        let (loc, ty) = (Loc::caller(), E::enum_type());
        let width = ty.width;
        if width != self.width {
            let what = format!("use as {}", ty.name);
            with(|b| b.error(loc, ElabErrorKind::WidthMismatch { what, left: width, right: self.width }));
        }
        let id = with(|b| b.typed_node(Op::Slice { a: self.id, lo: 0 }, width, LeafType::Enum(ty), loc));
        Enum { bits: Bits { id, width }, kind: PhantomData }
    }
}

/// Joins values, the first one most significant (as in Verilog braces).
#[track_caller]
pub fn cat(parts: &[Bits]) -> Bits {
    let width = parts.iter().map(|p| p.width).sum();
    raw(Op::Concat(parts.iter().rev().map(|p| p.id).collect()), width, Loc::caller())
}

/// Joins values, the first one least significant.
#[track_caller]
pub fn pack(parts: &[Bits]) -> Bits {
    if parts.len() == 1 {
        return parts[0];
    }
    let width = parts.iter().map(|p| p.width).sum();
    raw(Op::Concat(parts.iter().map(|p| p.id).collect()), width, Loc::caller())
}

/// Joins truth values into a vector, the first one bit 0.
#[track_caller]
pub fn pack_bools(parts: &[Bool]) -> Bits {
    let bits: Vec<Bits> = parts.iter().map(|b| b.0).collect();
    pack(&bits)
}

/// True when some of the values is.
#[track_caller]
pub fn any_of(parts: &[Bool]) -> Bool {
    let mut parts = parts.iter().copied();
    let first = parts.next().unwrap_or_else(|| bool_lit(false));
    parts.fold(first, |a, b| a | b)
}

/// True when all of the values are.
#[track_caller]
pub fn all_of(parts: &[Bool]) -> Bool {
    let mut parts = parts.iter().copied();
    let first = parts.next().unwrap_or_else(|| bool_lit(true));
    parts.fold(first, |a, b| a & b)
}

impl Bits {
    /// The value of a node.
    pub(crate) fn of_node(id: NodeId, width: u32) -> Bits {
        Bits { id, width }
    }
}

impl Bool {
    /// The value as a vector of one bit.
    pub fn bits(self) -> Bits {
        self.0
    }

    /// Gives the value a name in waveforms and Verilog.
    #[track_caller]
    pub fn named(self, name: &str) -> Bool {
        let named = self.0.named(name);
        with(|b| b.module.nodes[named.id.index()].ty = LeafType::Bool);
        Bool(named)
    }

    /// Equal truth values.
    #[track_caller]
    pub fn eq(self, other: Bool) -> Bool {
        self.0.eq(other.0)
    }

    /// `width` copies of the value.
    #[track_caller]
    pub fn repeat(self, width: u32) -> Bits {
        raw(Op::Concat(vec![self.0.id; width as usize]), width, Loc::caller())
    }
}

impl<E: HwEnum> Enum<E> {
    /// The encoding as a vector.
    pub fn bits(self) -> Bits {
        self.bits
    }

    /// Whether the value is this variant.
    #[track_caller]
    pub fn is(self, variant: E) -> Bool {
        self.bits.eq(enum_lit(variant).bits)
    }

    /// Whether the value is one of these variants.
    #[track_caller]
    pub fn is_any(self, variants: &[E]) -> Bool {
        let tests: Vec<Bool> = variants.iter().map(|v| self.is(*v)).collect();
        any_of(&tests)
    }

    /// Gives the value a name in waveforms and Verilog.
    #[track_caller]
    pub fn named(self, name: &str) -> Enum<E> {
        let bits = self.bits.named(name);
        with(|b| b.module.nodes[bits.id.index()].ty = LeafType::Enum(E::enum_type()));
        Enum { bits, kind: PhantomData }
    }
}

macro_rules! bits_operator {
    ($trait:ident, $method:ident, $what:literal) => {
        impl<T: ToBits> ops::$trait<T> for Bits {
            type Output = Bits;
            #[track_caller]
            fn $method(self, other: T) -> Bits {
                let loc = Loc::caller();
                binary($what, self, other.to_bits(self.width, loc), loc, None, Op::$trait)
            }
        }
    };
}
macro_rules! bit_operator {
    ($trait:ident, $op:ident, $method:ident, $what:literal) => {
        impl<T: ToBits> ops::$trait<T> for Bits {
            type Output = Bits;
            #[track_caller]
            fn $method(self, other: T) -> Bits {
                let loc = Loc::caller();
                binary($what, self, other.to_bits(self.width, loc), loc, None, Op::$op)
            }
        }
        impl ops::$trait for Bool {
            type Output = Bool;
            #[track_caller]
            fn $method(self, other: Bool) -> Bool {
                Bool(raw(Op::$op(self.0.id, other.0.id), 1, Loc::caller()))
            }
        }
    };
}
bits_operator!(Add, add, "sum");
bits_operator!(Sub, sub, "difference");
bit_operator!(BitAnd, And, bitand, "and");
bit_operator!(BitOr, Or, bitor, "or");
bit_operator!(BitXor, Xor, bitxor, "exclusive or");

impl ops::Not for Bits {
    type Output = Bits;
    #[track_caller]
    fn not(self) -> Bits {
        raw(Op::Not(self.id), self.width, Loc::caller())
    }
}
impl ops::Not for Bool {
    type Output = Bool;
    #[track_caller]
    fn not(self) -> Bool {
        Bool(raw(Op::Not(self.0.id), 1, Loc::caller()))
    }
}

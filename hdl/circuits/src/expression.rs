//! Expressions: every operation of the language on values of every width.

use crate::maker::{Maker, WIDEST};
use crate::state::{Far, Kind, Message, Phase};
use weft_rtl::prelude::*;

/// What makes an expression.
pub type Operation = fn(&mut Maker) -> Bits;

/// All operations.
pub const OPERATIONS: &[Operation] = &[
    |m| on_pair(m, |a, b| a & b),
    |m| on_pair(m, |a, b| a | b),
    |m| on_pair(m, |a, b| a ^ b),
    |m| on_pair(m, |a, b| a + b),
    |m| on_pair(m, |a, b| a - b),
    |m| on_pair(m, |a, b| a.mul(b)),
    |m| on_pair(m, |a, b| a.eq(b).bits()),
    |m| on_pair(m, |a, b| a.lt(b).bits()),
    |m| on_pair(m, |a, b| pack_bools(&[a.ne(b), a.le(b), a.gt(b), a.ge(b)])),
    |m| !m.any(),
    |m| m.any().any().bits(),
    |m| m.any().all().bits(),
    |m| m.any().parity().bits(),
    |m| pack_bools(&[m.any().none(), m.flag().eq(m.flag())]),
    |m| m.any().popcount(),
    |m| m.any().lowest_set(),
    shift_left,
    shift_right,
    shift_constant,
    one_hot,
    slice,
    bit_at,
    element,
    selected,
    joined,
    repeated,
    strided,
    chosen,
    chosen,
    flags,
    enumeration,
    bundle,
];

fn on_pair(m: &mut Maker, make: fn(Bits, Bits) -> Bits) -> Bits {
    let (a, b) = m.pair();
    make(a, b)
}

/// A distance or number for something of `width` bits: often one that fits, now and then one of any width.
fn number(m: &mut Maker, width: u32) -> Bits {
    if m.one_in(3) { m.any() } else { m.of(bits_for(u64::from(width))) }
}

fn shift_left(m: &mut Maker) -> Bits {
    let a = m.any();
    a.shl_by(number(m, a.width()))
}

fn shift_right(m: &mut Maker) -> Bits {
    let a = m.any();
    a.shr_by(number(m, a.width()))
}

fn shift_constant(m: &mut Maker) -> Bits {
    let a = m.any();
    a.shl(m.below(a.width()))
}

fn one_hot(m: &mut Maker) -> Bits {
    let width = m.width();
    number(m, width).one_hot(width)
}

fn slice(m: &mut Maker) -> Bits {
    let a = m.any();
    let lo = m.below(a.width());
    a.slice(lo, 1 + m.below(a.width() - lo))
}

fn bit_at(m: &mut Maker) -> Bits {
    let a = m.any();
    a.bit_at(number(m, a.width())).bits()
}

fn element(m: &mut Maker) -> Bits {
    let element = 1 + m.below(70);
    let count = 1 + m.below(WIDEST / element);
    m.of(element * count).element(number(m, count), element)
}

fn selected(m: &mut Maker) -> Bits {
    let (a, b) = m.pair();
    let items = [a, b, m.of(a.width())];
    select(&items[..1 + m.below(3) as usize], number(m, 3))
}

fn joined(m: &mut Maker) -> Bits {
    let parts: Vec<Bits> = (0..2 + m.below(3)).map(|_| m.any()).collect();
    if m.one_in(2) { cat(&parts) } else { pack(&parts) }
}

fn repeated(m: &mut Maker) -> Bits {
    m.flag().repeat(m.width())
}

/// Bits at equal distances, which compilers may gather at once.
fn strided(m: &mut Maker) -> Bits {
    let a = m.any();
    let (stride, first) = (1 + m.below(5), m.below(9));
    let count = (a.width().saturating_sub(first) / stride).max(1);
    let bits: Vec<Bool> = (0..count).map(|k| a.bit((first + k * stride) % a.width())).collect();
    pack_bools(&bits)
}

fn chosen(m: &mut Maker) -> Bits {
    let (a, b) = m.pair();
    mux(m.flag(), a, b)
}

fn flags(m: &mut Maker) -> Bits {
    let some: Vec<Bool> = (0..1 + m.below(5)).map(|_| m.flag()).collect();
    let (a, b) = (m.flag(), m.flag());
    pack_bools(&[any_of(&some), all_of(&some), a & b, a | !b, a ^ b, bool_lit(true)])
}

fn enumeration(m: &mut Maker) -> Bits {
    let phase = m.phase();
    let other = mux(m.flag(), phase, enum_lit(Phase::Answer));
    let name = m.name("phase");
    let one = other.named(&name);
    pack(&[
        one.bits(),
        one.is(Phase::Idle).bits(),
        phase.is_any(&[Phase::Look, Phase::Answer]).bits(),
        m.of(33).as_enum::<Far>().is(Far::There).bits(),
    ])
}

fn bundle(m: &mut Maker) -> Bits {
    let data = 1 + m.below(66);
    let (a, b) = (m.message(data), m.message(data));
    let chosen: Message = mux(m.flag(), a.clone(), b.clone());
    let items: Vec<Message> = select(&[vec![a, chosen], vec![b.clone(), b]], number(m, 2));
    pack(&[to_packed(&items[0]), items[1].kind.is(Kind::Count).bits(), items[1].data])
}

//! Addresses of a directory slice: base, slot, set, and the tag that an entry stores.

use super::params::{DirKind, DirParams, TagStyle};
use weft_rtl::prelude::*;

/// Base number of a line: the entry-sized block of memory that holds it.
pub fn base_of(p: &DirParams, line: Bits) -> Bits {
    line.slice(p.lines_log2(), p.base_bits())
}

/// Slot of a line in its entry; 0 where entries have one slot.
pub fn slot_of(p: &DirParams, line: Bits) -> Bits {
    if p.slots() == 1 { lit(0, 1) } else { line.slice(0, p.slot_bits()) }
}

/// First bit of the bank number in a base.
fn bank_at(p: &DirParams) -> u32 {
    p.sys.il.trailing_zeros() - p.cover_bits()
}

fn without_bank(p: &DirParams, base: Bits) -> Bits {
    let (at, bank) = (bank_at(p), p.sys.banks.trailing_zeros());
    if bank == 0 {
        return base;
    }
    let above = p.base_bits() - at - bank;
    match (at, above) {
        (0, _) => base.slice(bank, above),
        (_, 0) => base.slice(0, at),
        _ => pack(&[base.slice(0, at), base.slice(at + bank, above)]),
    }
}

/// Set of a base within the slice: `{hi mod c, low k bits}` of the base without bank bits, for c * 2^k sets.
pub fn set_of(p: &DirParams, base: Bits) -> Bits {
    let block = without_bank(p, base);
    let (k, c) = (p.set_low_bits(), p.set_odd());
    if c == 1 {
        return if k == 0 { lit(0, 1) } else { block.slice(0, k) };
    }
    let high = modulo(block.slice(k, p.block_bits() - k), c).resize(bits_for(u64::from(c)));
    if k == 0 { high } else { pack(&[block.slice(0, k), high]) }
}

/// `value mod c` for odd c of 3..15. With 2^p = 1 mod c the sum of p-bit digits has the same remainder; the rest is subtraction.
fn modulo(value: Bits, c: u32) -> Bits {
    let period = (1..=12u32).find(|p| (1u64 << p) % u64::from(c) == 1).unwrap_or(12);
    let mut value = value;
    while value.width() > period + 4 {
        let digits = value.width().div_ceil(period);
        let width = period + bits_for(u64::from(digits) + 1);
        let padded = value.zext(digits * period);
        let parts: Vec<Bits> = (0..digits).map(|i| padded.slice(i * period, period).zext(width)).collect();
        value = parts[1..].iter().fold(parts[0], |sum, d| sum + *d);
        if width >= padded.width() {
            break;
        }
    }
    let width = value.width();
    for shift in (0..width).rev() {
        let step = u64::from(c) << shift;
        if step < 1 << width {
            value = mux(value.ge(step), value - step, value);
        }
    }
    value
}

/// The tag stored for a base.
pub fn tag_of(p: &DirParams, base: Bits) -> Bits {
    match (p.tag_style, p.kind) {
        (TagStyle::Minimal, _) => {
            let k = p.set_low_bits();
            without_bank(p, base).slice(k, p.block_bits() - k)
        }
        (TagStyle::Published, DirKind::Rec) => base,
        (TagStyle::Published, _) => pack(&[lit(0, p.cover_bits()), base]),
    }
}

/// The base of a stored tag. `beside` is any base of the same set and bank: it supplies the index bits that a minimal tag leaves out.
pub fn base_of_tag(p: &DirParams, tag: Bits, beside: Bits) -> Bits {
    match (p.tag_style, p.kind) {
        (TagStyle::Published, DirKind::Rec) => tag,
        (TagStyle::Published, _) => tag.slice(p.cover_bits(), p.base_bits()),
        (TagStyle::Minimal, _) => {
            let k = p.set_low_bits();
            let low = without_bank(p, beside);
            let block = if k == 0 { tag } else { pack(&[low.slice(0, k), tag]) };
            with_bank(p, block, beside)
        }
    }
}

fn with_bank(p: &DirParams, block: Bits, beside: Bits) -> Bits {
    let (at, bank) = (bank_at(p), p.sys.banks.trailing_zeros());
    if bank == 0 {
        return block;
    }
    let above = p.base_bits() - at - bank;
    let mut parts = Vec::new();
    if at > 0 {
        parts.push(block.slice(0, at));
    }
    parts.push(beside.slice(at, bank));
    if above > 0 {
        parts.push(block.slice(at, above));
    }
    pack(&parts)
}

/// Sharer bits of a GPU, one-hot: bit k-1 with k = g+1 below the home and k = g above; zero for the home.
pub fn sharer_of_gpu(p: &DirParams, gpu: Bits) -> Bits {
    let mask = gpu.one_hot(p.sys.nodes());
    let (below, above) = (p.home, p.sys.nodes() - 1 - p.home);
    match (below, above) {
        (0, _) => mask.slice(1, above),
        (_, 0) => mask.slice(0, below),
        _ => pack(&[mask.slice(0, below), mask.slice(p.home + 1, above)]),
    }
}

/// GPU mask of sharer bits; the home's bit is 0.
pub fn gpus_of_sharers(p: &DirParams, sharers: Bits) -> Bits {
    let (below, above) = (p.home, p.sys.nodes() - 1 - p.home);
    let home = lit(0, 1);
    match (below, above) {
        (0, _) => pack(&[home, sharers]),
        (_, 0) => pack(&[sharers, home]),
        _ => pack(&[sharers.slice(0, below), home, sharers.slice(below, above)]),
    }
}

/// Sharers of one slot of a vector of slots, without the position bit.
pub fn slot_sharers(p: &DirParams, slots: Bits, slot: Bits) -> Bits {
    if p.slots() == 1 {
        return slots.slice(p.position_bits(), p.sharers());
    }
    slots.element(slot, p.slot_width()).slice(p.position_bits(), p.sharers())
}

/// Which slots have a sharer, one bit each: the position bits, or the OR of the sharers where an entry has none.
pub fn positions(p: &DirParams, slots: Bits) -> Bits {
    if p.position_bits() == 0 {
        return slots.any().bits();
    }
    let bits: Vec<Bits> = (0..p.slots()).map(|i| slots.slice(i * p.slot_width(), 1)).collect();
    pack(&bits)
}

/// A slot's bits for some sharers: the position bit is their OR.
pub fn slot_bits_for(p: &DirParams, sharers: Bits) -> Bits {
    if p.position_bits() == 0 { sharers } else { pack(&[sharers.any().bits(), sharers]) }
}

/// `value` moved to the place of `slot` in a vector of slots.
pub fn at_slot(p: &DirParams, value: Bits, slot: Bits) -> Bits {
    if p.slots() == 1 {
        return value;
    }
    let width = p.slots_width();
    let amount_bits = bits_for(u64::from(width));
    let amount = slot.zext(amount_bits).mul(u64::from(p.slot_width()));
    value.zext(width).shl_by(amount)
}

/// First line of a slot of a base (of a group: its first line).
pub fn line_of(p: &DirParams, base: Bits, slot: Bits) -> Bits {
    match p.kind {
        DirKind::Perline => base,
        DirKind::Group4 => pack(&[lit(0, p.lines_log2()), base]),
        DirKind::Rec => pack(&[slot, base]),
    }
}

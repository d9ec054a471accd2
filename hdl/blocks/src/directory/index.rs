//! Addresses of a directory slice: base, slot, set, and the tag that an entry stores.

use super::params::{DirParams, TagStyle};
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
    match p.tag_style {
        TagStyle::Minimal => {
            let k = p.set_low_bits();
            without_bank(p, base).slice(k, p.block_bits() - k)
        }
        TagStyle::Published if p.kind.ranges() => base,
        TagStyle::Published => pack(&[lit(0, p.cover_bits()), base]),
    }
}

/// The base of a stored tag. `beside` is any base of the same set and bank: it supplies the index bits that a minimal tag leaves out.
pub fn base_of_tag(p: &DirParams, tag: Bits, beside: Bits) -> Bits {
    match p.tag_style {
        TagStyle::Published if p.kind.ranges() => tag,
        TagStyle::Published => tag.slice(p.cover_bits(), p.base_bits()),
        TagStyle::Minimal => {
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

/// Sharer bits of a requesting node, at most one of them set; none for the home. Bit i stands for what [`DirParams::sharer_nodes`] names at i:
/// in two levels for a GPM of the home's GPU or for all GPMs of another GPU, else for one node.
pub fn sharer_of_node(p: &DirParams, node: Bits) -> Bits {
    if p.kind.two_level() {
        return sharer_of_module(p, node);
    }
    let mask = node.one_hot(p.sys.nodes());
    if p.kind.modules() {
        return picked(mask, &p.sharer_nodes());
    }
    let (below, above) = (p.home, p.sys.nodes() - 1 - p.home);
    match (below, above) {
        (0, _) => mask.slice(1, above),
        (_, 0) => mask.slice(0, below),
        _ => pack(&[mask.slice(0, below), mask.slice(p.home + 1, above)]),
    }
}

fn sharer_of_module(p: &DirParams, node: Bits) -> Bits {
    let inside = of_own_gpu(p, node);
    let mut parts = Vec::new();
    if p.sys.gpms > 1 {
        let gpm = node.slice(0, p.sys.gpm_bits()).one_hot(p.sys.gpms);
        let others: Vec<u32> = (0..p.sys.gpms).filter(|m| *m != p.own_gpm()).collect();
        parts.push(picked(gpm, &others) & inside.repeat(p.sys.gpms - 1));
    }
    if p.sys.gpus > 1 {
        let gpu = gpu_of(p, node).one_hot(p.sys.gpus);
        let others: Vec<u32> = (0..p.sys.gpus).filter(|g| *g != p.own_gpu()).collect();
        parts.push(picked(gpu, &others));
    }
    pack(&parts)
}

fn picked(mask: Bits, which: &[u32]) -> Bits {
    let bits: Vec<Bool> = which.iter().map(|i| mask.bit(*i)).collect();
    pack_bools(&bits)
}

/// GPU of a node number; only where there are several.
fn gpu_of(p: &DirParams, node: Bits) -> Bits {
    let low = p.sys.gpm_bits();
    node.slice(low, node.width() - low)
}

/// The node is a GPM of the home's GPU.
pub fn of_own_gpu(p: &DirParams, node: Bits) -> Bool {
    if p.sys.gpus == 1 { bool_lit(true) } else { gpu_of(p, node).eq(u64::from(p.own_gpu())) }
}

/// Home node of the lines of a base.
pub fn home_of_base(p: &DirParams, base: Bits) -> Bits {
    base.slice(p.sys.home_shift - p.cover_bits(), p.sys.node_bits())
}

/// Mask over node numbers of some sharers, where their Invs go; the home's bit is 0.
pub fn nodes_of_sharers(p: &DirParams, sharers: Bits) -> Bits {
    let home = lit(0, 1);
    if p.kind.modules() {
        let nodes = p.sharer_nodes();
        let bit = |node| nodes.iter().position(|n| *n == node).map_or(home, |i| sharers.slice(i as u32, 1));
        let bits: Vec<Bits> = (0..p.sys.nodes()).map(bit).collect();
        return pack(&bits);
    }
    let (below, above) = (p.home, p.sys.nodes() - 1 - p.home);
    match (below, above) {
        (0, _) => pack(&[home, sharers]),
        (_, 0) => pack(&[sharers, home]),
        _ => pack(&[sharers.slice(0, below), home, sharers.slice(below, above)]),
    }
}

/// Sharer bits of the nodes in a mask over node numbers, as an Inv of the slice names them (kinds with GPMs only).
pub fn sharers_of_nodes(p: &DirParams, nodes: Bits) -> Bits {
    picked(nodes, &p.sharer_nodes())
}

/// Sharer bits of GPMs of the home's GPU, one bit each by their numbers; the home's own bit has no meaning (two levels only).
pub fn sharers_of_gpms(p: &DirParams, gpms: Bits) -> Bits {
    let others: Vec<u32> = (0..p.sys.gpms).filter(|m| *m != p.own_gpm()).collect();
    if others.is_empty() { lit(0, p.sharers()) } else { picked(gpms, &others).zext(p.sharers()) }
}

/// Those of some sharers that are GPMs of the home's GPU (two levels only).
pub fn near_sharers(p: &DirParams, sharers: Bits) -> Bits {
    match p.near_sharers() {
        0 => lit(0, p.sharers()),
        near => sharers.slice(0, near).zext(p.sharers()),
    }
}

/// Sharers of one slot of a vector of slots, without the position bit.
pub fn slot_sharers(p: &DirParams, slots: Bits, slot: Bits) -> Bits {
    if p.slots() == 1 {
        return slots.slice(p.position_bits(), p.sharers());
    }
    slots.element(slot, p.slot_width()).slice(p.position_bits(), p.sharers())
}

/// Sharers of all slots of a vector together.
pub fn all_sharers(p: &DirParams, slots: Bits) -> Bits {
    let of = |i| slots.slice(i * p.slot_width() + p.position_bits(), p.sharers());
    (1..p.slots()).fold(of(0), |all, i| all | of(i))
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
    match p.lines_log2() {
        _ if p.kind.ranges() => pack(&[slot, base]),
        0 => base,
        lines => pack(&[lit(0, lines), base]),
    }
}

//! Entry layouts (rec.md section 3, hmg.md section 3), bit for bit, and the published storage counts.

use super::params::DirParams;
use super::{GpuMask, gpus_of, only};
use bitvec::prelude::{BitVec, Lsb0};

/// The bits of one entry, bit 0 = LSB.
pub type EntryBits = BitVec<u64, Lsb0>;

/// One directory entry: what the layout packs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Valid bit.
    pub valid: bool,
    /// Number of the entry-sized block (see [`DirParams::base`]); meaningless while invalid.
    pub base: u64,
    /// Sharers per slot, as GPU masks.
    pub slots: Vec<GpuMask>,
}

impl Entry {
    /// An invalid entry with empty slots.
    pub fn empty(slots: usize) -> Self {
        Entry { valid: false, base: 0, slots: vec![0; slots] }
    }

    /// Slots that have a sharer (popcount of the position bits).
    pub fn positions(&self) -> u32 {
        self.slots.iter().filter(|s| **s != 0).count() as u32
    }

    /// Sharers of all slots (popcount of the sharer bits).
    pub fn unicasts(&self) -> u32 {
        self.slots.iter().map(|s| s.count_ones()).sum()
    }
}

/// Storage bits of one entry by field, as published (`tag_style = published`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryFields {
    /// Base of a range, or tag of a line or group.
    pub tag: u32,
    /// Position bits (ranges only).
    pub position: u32,
    /// Sharer bits.
    pub sharers: u32,
    /// Valid bit.
    pub valid: u32,
}

impl EntryFields {
    /// The published layout of a finite directory: ranges keep A - log2 R base bits, the others the full A-bit address.
    pub fn published(p: &DirParams) -> Self {
        let n = p.slots() as u32;
        let (tag, position) = if p.ranges() { (p.addr_bits - p.range.ilog2(), n) } else { (p.addr_bits, 0) };
        EntryFields { tag, position, sharers: n * p.sharers(), valid: 1 }
    }

    /// The same with `tag_style = minimal`: without line (or range) offset, bank and set index bits.
    pub fn minimal(p: &DirParams) -> Self {
        let covered = (p.lines_per_entry() * p.line).ilog2();
        let index = p.banks.ilog2() + p.sets().trailing_zeros();
        EntryFields { tag: p.addr_bits - covered - index, ..Self::published(p) }
    }

    /// All bits of an entry.
    pub fn total(&self) -> u32 {
        self.tag + self.position + self.sharers + self.valid
    }
}

/// Packs an entry. Ranges: slot i at `[i*N ..]` with the position bit lowest and sharer k at `i*N + k`, then base, then
/// valid. The others, for which no order is published, follow the same order: sharers k-1, tag, valid.
pub fn encode(p: &DirParams, entry: &Entry) -> EntryBits {
    let mut bits = EntryBits::new();
    let tag_shift = if p.ranges() { 0 } else { (p.lines_per_entry() * p.line).ilog2() };
    for slot in &entry.slots {
        if p.ranges() {
            bits.push(*slot != 0);
        }
        bits.extend((1..=p.sharers()).map(|k| slot & only(p.sharer_gpu(k)) != 0));
    }
    let tag = u128::from(entry.base) << tag_shift;
    bits.extend((0..EntryFields::published(p).tag).map(|b| tag >> b & 1 == 1));
    bits.push(entry.valid);
    bits
}

/// Unpacks an entry; `None` if the number of bits is wrong or a position bit is not the OR of its sharers.
pub fn decode(p: &DirParams, bits: &EntryBits) -> Option<Entry> {
    let fields = EntryFields::published(p);
    if bits.len() != fields.total() as usize {
        return None;
    }
    let position_bits = usize::from(p.ranges());
    let width = p.sharers() as usize + position_bits;
    let mut entry = Entry::empty(p.slots());
    for (i, slot) in entry.slots.iter_mut().enumerate() {
        let at = i * width + position_bits;
        let shared = (0..p.sharers()).filter(|k| bits[at + *k as usize]);
        *slot = shared.map(|k| only(p.sharer_gpu(k + 1))).sum();
        if position_bits == 1 && bits[i * width] != (*slot != 0) {
            return None;
        }
    }
    let tag_at = p.slots() * width;
    let tag: u128 = (0..fields.tag as usize).map(|b| u128::from(bits[tag_at + b]) << b).sum();
    let tag_shift = if p.ranges() { 0 } else { (p.lines_per_entry() * p.line).ilog2() };
    entry.base = (tag >> tag_shift) as u64;
    entry.valid = bits[tag_at + fields.tag as usize];
    Some(entry)
}

/// The bits as a hexadecimal number without leading zeros, as section 3 writes them.
pub fn to_hex(bits: &EntryBits) -> String {
    let digits: String = bits
        .chunks(4)
        .map(|c| c.iter().enumerate().map(|(i, b)| u32::from(*b) << i).sum::<u32>())
        .map(|d| char::from_digit(d, 16).unwrap_or('?'))
        .collect();
    let text: String = digits.chars().rev().collect();
    let trimmed = text.trim_start_matches('0');
    if trimmed.is_empty() { "0".into() } else { trimmed.into() }
}

/// Position bit of the byte address in an entry for a range: floor((addr mod R) / L) * (S + 1).
pub fn position_bit(p: &DirParams, addr: u64) -> u32 {
    (addr % p.range / p.line) as u32 * (p.sharers() + 1)
}

/// The absolute bit numbers of an entry for a range that are set for `sharers` in the slot of `addr`, ascending.
pub fn bits_of_slot(p: &DirParams, addr: u64, sharers: GpuMask) -> Vec<u32> {
    let at = position_bit(p, addr);
    let mut bits: Vec<u32> = gpus_of(sharers).map(|g| at + p.sharer_bit(g)).collect();
    if !bits.is_empty() {
        bits.push(at);
    }
    bits.sort_unstable();
    bits
}

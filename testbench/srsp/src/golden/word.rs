//! Bytes of a line and atomics on its words (srsp.md sections 2 and 3).

use std::fmt;
use weft_srsp::msg::SyncOp;

/// Bytes of a line in the models.
pub const LINE: u64 = 64;

/// The mask of all bytes of a line.
pub const ALL: u64 = u64::MAX;

/// The bytes of a line.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Data(pub [u64; 8]);

impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let last = self.0.iter().rposition(|word| *word != 0).map_or(0, |at| at + 1);
        write!(f, "{:x?}", &self.0[..last])
    }
}

/// All bits of the bytes of a mask of 8 bytes.
fn spread(mask: u64) -> u64 {
    (0..8).filter(|i| mask >> i & 1 == 1).fold(0, |bits, i| bits | 0xff << (8 * i))
}

impl Data {
    /// Replaces the bytes of `mask` by those of `other`.
    pub fn merge(&mut self, mask: u64, other: &Data) {
        if mask == ALL {
            *self = *other;
            return;
        }
        for (i, word) in self.0.iter_mut().enumerate() {
            let part = mask >> (8 * i) & 0xff;
            if part != 0 {
                let bits = spread(part);
                *word = *word & !bits | other.0[i] & bits;
            }
        }
    }
    /// The same line with the bytes outside `mask` zero.
    pub fn masked(&self, mask: u64) -> Data {
        let mut out = Data::default();
        out.merge(mask, self);
        out
    }
    /// The word of 4 or, `wide`, 8 bytes at an offset.
    pub fn word(&self, offset: u64, wide: bool) -> u64 {
        let word = self.0[offset as usize / 8];
        if wide { word } else { word >> (8 * (offset & 4)) & 0xffff_ffff }
    }
    /// Sets the word of 4 or, `wide`, 8 bytes at an offset.
    pub fn set_word(&mut self, offset: u64, wide: bool, value: u64) {
        let word = &mut self.0[offset as usize / 8];
        if wide {
            *word = value;
        } else {
            let shift = 8 * (offset & 4);
            *word = *word & !(0xffff_ffff << shift) | (value & 0xffff_ffff) << shift;
        }
    }
    /// A byte.
    pub fn byte(&self, at: usize) -> u8 {
        (self.0[at / 8] >> (8 * (at % 8))) as u8
    }
}

/// Line number of a byte address.
pub fn line_of(addr: u64) -> u64 {
    addr / LINE
}

/// One atomic access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Atomic {
    /// What it does.
    pub op: SyncOp,
    /// The word has 8 bytes, else 4.
    pub wide: bool,
    /// Byte address, naturally aligned.
    pub addr: u64,
    /// Operand.
    pub opnd: u64,
    /// Compare operand.
    pub cmp: u64,
}

type Key = (u8, bool, u64, u64, u64);

impl Atomic {
    fn key(&self) -> Key {
        (self.op as u8, self.wide, self.addr, self.opnd, self.cmp)
    }
    /// Its line.
    pub fn line(&self) -> u64 {
        line_of(self.addr)
    }
    /// The word address that LR-TBL, PA-TBL and aff_cache hold.
    pub fn tag(&self) -> u64 {
        self.addr >> 2
    }
    /// Bytes of the line that it accesses.
    pub fn mask(&self) -> u64 {
        let bytes = if self.wide { 0xff } else { 0xf };
        bytes << (self.addr % LINE)
    }
    /// It never writes.
    pub fn reads_only(&self) -> bool {
        self.op == SyncOp::Ld
    }
    /// Performs it: the old value, and whether it has written. A compare-and-swap that fails and a load have not; any other has, also the value that was there.
    pub fn perform(&self, data: &mut Data) -> (u64, bool) {
        let old = data.word(self.addr % LINE, self.wide);
        let new = self.result(old);
        if let Some(new) = new {
            data.set_word(self.addr % LINE, self.wide, new);
        }
        (old, new.is_some())
    }
    /// What it writes over an old value, if it writes. FADD32 adds the low 4 bytes and gives the quiet NaN 7fc00000 for every NaN.
    pub fn result(&self, old: u64) -> Option<u64> {
        let keep = |value: u64| if self.wide { value } else { value & 0xffff_ffff };
        let signed = |value: u64| if self.wide { value as i64 } else { i64::from(value as u32 as i32) };
        let (old, v, cmp) = (keep(old), keep(self.opnd), keep(self.cmp));
        let new = match self.op {
            SyncOp::Ld => return None,
            SyncOp::Cas if old != cmp => return None,
            SyncOp::St | SyncOp::Exch | SyncOp::Cas => v,
            SyncOp::Add => old.wrapping_add(v),
            SyncOp::Sub => old.wrapping_sub(v),
            SyncOp::Inc => {
                if old >= v {
                    0
                } else {
                    old + 1
                }
            }
            SyncOp::Dec => {
                if old == 0 || old > v {
                    v
                } else {
                    old - 1
                }
            }
            SyncOp::And => old & v,
            SyncOp::Or => old | v,
            SyncOp::Xor => old ^ v,
            SyncOp::Min => old.min(v),
            SyncOp::Max => old.max(v),
            SyncOp::SMin => {
                if signed(old) < signed(v) {
                    old
                } else {
                    v
                }
            }
            SyncOp::SMax => {
                if signed(old) < signed(v) {
                    v
                } else {
                    old
                }
            }
            SyncOp::Fadd32 => {
                let sum = f32::from_bits(old as u32) + f32::from_bits(v as u32);
                let bits = if sum.is_nan() { 0x7fc0_0000 } else { sum.to_bits() };
                old & !0xffff_ffff | u64::from(bits)
            }
        };
        Some(keep(new))
    }
}

impl std::hash::Hash for Atomic {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl PartialOrd for Atomic {
    fn partial_cmp(&self, other: &Atomic) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Atomic {
    fn cmp(&self, other: &Atomic) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

//! The memory behind ideal caching (hmg.md section 8): caches that nothing keeps coherent give the times of loads, this gives their values.

use crate::check::values::amo_result;
use crate::cu::LineAccess;
use crate::family::Unit;
use crate::memory::Memory;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use weft_blocks::msg::CuOp;

/// A memory in which every access is performed at once: stores and atomics when their L1 takes them, so that those of a compute unit are in order, loads
/// when they are answered.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Oracle {
    /// By physical address.
    pub memory: Memory,
    line: u64,
    /// Old values of the atomics that are not answered, by compute unit and transaction number.
    old: BTreeMap<(Unit, u16), [u64; 16]>,
}

impl Oracle {
    /// An oracle that knows what memory holds; `line` is the line size in bytes.
    pub fn new(memory: Memory, line: u64) -> Oracle {
        Oracle { memory, line, old: BTreeMap::new() }
    }

    /// The L1 of `unit` takes an access.
    pub fn taken(&mut self, unit: Unit, access: &LineAccess) {
        if access.op == CuOp::St {
            self.write(access.line, access.mask, &access.data);
        }
        if access.op == CuOp::Amo {
            let mut old = [0; 16];
            self.read(access.line, &mut old);
            self.perform(access, &old);
            self.old.insert((unit, access.id), old);
        }
    }

    /// An access of `unit` is answered: `data` becomes what a coherent memory gives.
    pub fn answered(&mut self, unit: Unit, access: &LineAccess, data: &mut [u64; 16]) {
        match self.old.remove(&(unit, access.id)) {
            Some(old) => *data = old,
            None => self.read(access.line, data),
        }
    }

    fn read(&self, line: u64, data: &mut [u64; 16]) {
        self.memory.read_limbs(line * self.line, &mut data[..(self.line / 8) as usize]);
    }

    fn perform(&mut self, a: &LineAccess, old: &[u64; 16]) {
        let first = a.mask.trailing_zeros();
        let wide = first.is_multiple_of(8) && a.mask == 0xff << (first % 128);
        let size = if wide { 8 } else { 4 };
        let mut new = [0; 16];
        for offset in (0..self.line as u32).step_by(size as usize).filter(|o| a.mask >> o & 1 == 1) {
            let (limb, shift) = ((offset / 8) as usize, 8 * (offset % 8));
            let result = amo_result(a.amo, a.sgn, old[limb] >> shift, a.data[limb] >> shift, a.cmp, size);
            let keep = if wide { u64::MAX } else { 0xffff_ffff };
            new[limb] |= (result & keep) << shift;
        }
        self.write(a.line, a.mask, &new);
    }

    fn write(&mut self, line: u64, mask: u128, data: &[u64; 16]) {
        let mut now = [0; 16];
        let now = &mut now[..(self.line / 8) as usize];
        self.memory.read_limbs(line * self.line, now);
        for (i, limb) in now.iter_mut().enumerate() {
            let bytes = (mask >> (8 * i)) as u8;
            let bits = (0..8).filter(|b| bytes >> b & 1 == 1).fold(0, |bits, b| bits | 0xff << (8 * b));
            *limb = *limb & !bits | data[i] & bits;
        }
        self.memory.write_limbs(line * self.line, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_blocks::msg::AmoOp;

    fn add(id: u16, operand: u64) -> LineAccess {
        let mut access = LineAccess { op: CuOp::Amo, line: 3, mask: 0xf, id, ..LineAccess::bare(CuOp::Amo) };
        (access.amo, access.data[0]) = (AmoOp::Add, operand);
        access
    }

    #[test]
    fn atomics_of_a_unit_are_performed_in_the_order_in_which_they_are_taken() {
        let mut oracle = Oracle::new(Memory::new(), 64);
        let (first, second) = (add(7, 5), add(8, 20));
        oracle.taken((0, 1), &first);
        oracle.taken((0, 1), &second);
        oracle.taken((1, 1), &add(7, 100));
        let mut old = |unit: Unit, access: &LineAccess| {
            let mut data = [u64::MAX; 16];
            oracle.answered(unit, access, &mut data);
            data[0]
        };
        // Answered in another order, with numbers that other units use too.
        assert_eq!([old((1, 1), &first), old((0, 1), &second), old((0, 1), &first)], [25, 5, 0]);
        let load = LineAccess { op: CuOp::Ld, ..add(8, 0) };
        assert_eq!(old((0, 1), &load), 125);
    }
}

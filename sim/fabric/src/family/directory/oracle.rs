//! The memory behind ideal caching (hmg.md section 8): caches that nothing keeps coherent give the times of loads, this gives their values.

use crate::cu::LineAccess;
use crate::family::Unit;
use crate::memory::Memory;
use crate::perform::perform;
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
        if matches!(access.op, CuOp::St | CuOp::Amo) {
            let old = perform(&mut self.memory, self.line, access.line * self.line, access);
            if access.op == CuOp::Amo {
                self.old.insert((unit, access.id), old);
            }
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

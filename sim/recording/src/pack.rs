//! Records as they are packed: cycles as differences to the record before, addresses and places in program order as differences to the thread's access before.

use crate::record::{Access, Record};
use std::collections::HashMap;

/// What differences are to; the same on both sides.
#[derive(Debug, Default)]
pub(crate) struct Base {
    cycle: u64,
    threads: HashMap<u32, (u64, u32)>,
}

/// Both directions of a difference.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Pack,
    Unpack,
}

impl Way {
    /// Replaces a number by its difference, folded so that small ones of both signs are short, or undoes that; `last` becomes the number.
    fn number(self, last: &mut u64, n: &mut u64) {
        match self {
            Way::Pack => {
                let difference = n.wrapping_sub(*last) as i64;
                *last = *n;
                *n = (difference << 1 ^ difference >> 63) as u64;
            }
            Way::Unpack => {
                let difference = (*n >> 1) as i64 ^ -((*n & 1) as i64);
                *n = last.wrapping_add(difference as u64);
                *last = *n;
            }
        }
    }
}

impl Base {
    /// Packs a record, or unpacks it.
    pub fn turn(&mut self, way: Way, record: &mut Record) {
        match record {
            Record::Memory { .. } | Record::Thread(_) => {}
            Record::Kernel { cycle, .. } => {
                self.threads.clear();
                way.number(&mut self.cycle, cycle);
            }
            Record::Barrier { cycle, .. } | Record::Boundary { cycle } | Record::End { cycle, .. } => {
                way.number(&mut self.cycle, cycle);
            }
            Record::Access(access) | Record::Open(access) => self.access(way, access),
            Record::Fence(fence) => {
                way.number(&mut self.cycle, &mut fence.done);
                let mut from = self.cycle;
                way.number(&mut from, &mut fence.taken);
            }
        }
    }

    fn access(&mut self, way: Way, access: &mut Access) {
        way.number(&mut self.cycle, &mut access.done);
        let mut from = self.cycle;
        way.number(&mut from, &mut access.taken);
        let (addr, index) = self.threads.entry(access.thread).or_default();
        way.number(addr, &mut access.addr);
        let before = *index;
        match way {
            Way::Pack => (*index, access.index) = (access.index, access.index.wrapping_sub(before)),
            Way::Unpack => {
                *index = before.wrapping_add(access.index);
                access.index = *index;
            }
        }
    }
}

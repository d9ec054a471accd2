//! The memory behind ideal caching (hmg.md section 8): caches that nothing keeps coherent give the times of loads, this gives their values.

use crate::check::values::amo_result;
use crate::cu::LineAccess;
use crate::memory::Memory;
use weft_blocks::msg::CuOp;

/// A memory in which every access is performed at once: stores when their L1 takes them, loads and atomics when they are answered.
#[derive(Clone, Debug)]
pub(super) struct Oracle {
    /// By physical address.
    pub memory: Memory,
    line: u64,
}

impl Oracle {
    /// An oracle that knows what memory holds; `line` is the line size in bytes.
    pub fn new(memory: Memory, line: u64) -> Oracle {
        Oracle { memory, line }
    }

    /// An L1 takes an access.
    pub fn taken(&mut self, access: &LineAccess) {
        if access.op == CuOp::St {
            self.write(access.line, access.mask, &access.data);
        }
    }

    /// An access is answered: `data` becomes what a coherent memory gives.
    pub fn answered(&mut self, access: &LineAccess, data: &mut [u64; 16]) {
        let limbs = (self.line / 8) as usize;
        self.memory.read_limbs(access.line * self.line, &mut data[..limbs]);
        if access.op == CuOp::Amo {
            self.perform(access, data);
        }
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

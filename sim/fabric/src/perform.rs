//! Memory accesses performed at once, by models that stand for a memory.

use crate::check::values::amo_result;
use crate::cu::LineAccess;
use crate::memory::Memory;
use weft_blocks::msg::CuOp;

/// Performs a load, store or atomic on the line of `line` bytes at byte address `addr`; gives the line as it was before.
pub(crate) fn perform(memory: &mut Memory, line: u64, addr: u64, access: &LineAccess) -> [u64; 16] {
    let mut old = [0; 16];
    memory.read_limbs(addr, &mut old[..(line / 8) as usize]);
    match access.op {
        CuOp::St => write(memory, line, addr, access.mask, &access.data),
        CuOp::Amo => write(memory, line, addr, access.mask, &updated(line, access, &old)),
        _ => {}
    }
    old
}

/// Bytes of a line after an atomic, where its mask has some.
fn updated(line: u64, a: &LineAccess, old: &[u64; 16]) -> [u64; 16] {
    let first = a.mask.trailing_zeros();
    let wide = first.is_multiple_of(8) && a.mask == 0xff << (first % 128);
    let size = if wide { 8 } else { 4 };
    let mut new = [0; 16];
    for offset in (0..line as u32).step_by(size as usize).filter(|o| a.mask >> o & 1 == 1) {
        let (limb, shift) = ((offset / 8) as usize, 8 * (offset % 8));
        let result = amo_result(a.amo, a.sgn, old[limb] >> shift, a.data[limb] >> shift, a.cmp, size);
        let keep = if wide { u64::MAX } else { 0xffff_ffff };
        new[limb] |= (result & keep) << shift;
    }
    new
}

fn write(memory: &mut Memory, line: u64, addr: u64, mask: u128, data: &[u64; 16]) {
    let mut now = [0; 16];
    let now = &mut now[..(line / 8) as usize];
    memory.read_limbs(addr, now);
    for (i, limb) in now.iter_mut().enumerate() {
        let bytes = (mask >> (8 * i)) as u8;
        let bits = (0..8).filter(|b| bytes >> b & 1 == 1).fold(0, |bits, b| bits | 0xff << (8 * b));
        *limb = *limb & !bits | data[i] & bits;
    }
    memory.write_limbs(addr, now);
}

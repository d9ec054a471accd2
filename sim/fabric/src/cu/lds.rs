//! The scratchpad: contents of a work-group, bank conflicts.

use weft_workload::op::size_mask;
use weft_workload::{Addrs, LdsAccess, Op, Values};

use super::mem_op::lanes_of;
use super::wave::operand;
use weft_workload::LoadedValues;

/// Bytes of a bank's word.
const WORD: u64 = 4;

/// Carries out a scratchpad operation, lane by lane in lane order, and returns the lane values of its token: `out` is
/// zeroed lanes.
pub(super) fn perform(bytes: &mut [u8], op: &Op, values: &LoadedValues, out: &mut [u64]) {
    match op {
        Op::LdsLoad { access, .. } => {
            for lane in lanes_of(access.mask) {
                out[lane as usize] = word(bytes, access.addrs.at(lane), access.size);
            }
        }
        Op::LdsStore { access, values: source } => {
            for lane in lanes_of(access.mask) {
                let value = operand(source, values, lane);
                set_word(bytes, access.addrs.at(lane), access.size, value);
            }
        }
        Op::LdsAmo { access, kind, signed, values: source, compare, .. } => {
            for lane in lanes_of(access.mask) {
                let (addr, size) = (access.addrs.at(lane), access.size);
                let old = word(bytes, addr, size);
                let new = kind.apply(size, *signed, old, operand(source, values, lane), *compare);
                set_word(bytes, addr, size, new);
                out[lane as usize] = old;
            }
        }
        _ => {}
    }
}

/// Ticks for which the access holds the load-store unit: the most distinct words that lanes ask of one bank; lanes on
/// one word share a pass unless the operation is an atomic.
pub(super) fn passes(access: &LdsAccess, banks: u32, atomic: bool) -> u64 {
    if let (Addrs::Strided { stride, .. }, false) = (&access.addrs, atomic)
        && *stride == 0
    {
        return u64::from(access.size).div_ceil(WORD).div_ceil(u64::from(banks));
    }
    let mut words = [0u64; 128];
    let mut count = 0;
    for lane in lanes_of(access.mask) {
        let first = access.addrs.at(lane) / WORD;
        let last = (access.addrs.at(lane) + u64::from(access.size) - 1) / WORD;
        for word in first..=last {
            words[count] = word;
            count += 1;
        }
    }
    let words = &mut words[..count];
    words.sort_unstable();
    let mut load = [0u32; 128];
    let mut before = None;
    for &word in words.iter() {
        if atomic || before != Some(word) {
            load[(word % u64::from(banks)) as usize] += 1;
        }
        before = Some(word);
    }
    u64::from(load.iter().copied().max().unwrap_or(0).max(1))
}

/// The scratchpad part of an operation and the operand values it stores, if it is one.
pub(super) fn access_of(op: &Op) -> Option<(&LdsAccess, Option<&Values>)> {
    match op {
        Op::LdsLoad { access, .. } => Some((access, None)),
        Op::LdsStore { access, values } | Op::LdsAmo { access, values, .. } => Some((access, Some(values))),
        _ => None,
    }
}

fn word(bytes: &[u8], addr: u64, size: u8) -> u64 {
    let mut word = [0; 8];
    let (from, size) = (addr as usize, usize::from(size));
    word[..size].copy_from_slice(&bytes[from..from + size]);
    u64::from_le_bytes(word)
}

fn set_word(bytes: &mut [u8], addr: u64, size: u8, value: u64) {
    let (from, count) = (addr as usize, usize::from(size));
    bytes[from..from + count].copy_from_slice(&(value & size_mask(size)).to_le_bytes()[..count]);
}

/// Copies `count` bytes of the scratchpad from `local` on to a line, from `offset` on.
pub(super) fn copy_out(bytes: &[u8], local: u64, line: &mut [u64; 16], offset: u64, count: u32) {
    for (at, byte) in (offset..).zip(&bytes[local as usize..][..count as usize]) {
        line[(at / 8) as usize] |= u64::from(*byte) << (8 * (at % 8));
    }
}

/// Copies `count` bytes of a line from `offset` on to the scratchpad, from `local` on.
pub(super) fn copy_in(bytes: &mut [u8], local: u64, line: &[u64; 16], offset: u64, count: u32) {
    for (at, byte) in (offset..).zip(&mut bytes[local as usize..][..count as usize]) {
        *byte = (line[(at / 8) as usize] >> (8 * (at % 8))) as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strided(size: u8, stride: i64, mask: u64) -> LdsAccess {
        LdsAccess { size, addrs: Addrs::Strided { base: 0, stride }, mask }
    }

    #[test]
    fn passes_are_the_most_distinct_words_on_one_bank() {
        let full = u64::MAX;
        assert_eq!(passes(&strided(4, 0, full), 32, false), 1, "one word broadcasts");
        assert_eq!(passes(&strided(4, 4, full), 32, false), 2, "64 lanes on 32 banks");
        assert_eq!(passes(&strided(4, 4, 0xffff_ffff), 32, false), 1);
        assert_eq!(passes(&strided(4, 8, 0xffff_ffff), 32, false), 2);
        assert_eq!(passes(&strided(4, 128, 0xff), 32, false), 8, "all on one bank");
        assert_eq!(passes(&strided(4, 132, 0xff), 32, false), 1, "padded rows");
        assert_eq!(passes(&strided(8, 8, 0xffff_ffff), 32, false), 2, "two words per lane");
        assert_eq!(passes(&strided(1, 1, 0xf), 32, false), 1, "bytes of one word");
        assert_eq!(passes(&strided(4, 0, 0xf), 32, true), 4, "atomics on one word go one by one");
        assert_eq!(passes(&strided(8, 0, 1), 1, false), 2, "two words on the only bank");
    }

    #[test]
    fn words_are_little_endian_and_keep_their_neighbours() {
        let mut bytes = vec![0xff; 8];
        set_word(&mut bytes, 2, 2, 0x1_1234);
        assert_eq!(bytes, [0xff, 0xff, 0x34, 0x12, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(word(&bytes, 0, 4), 0x1234_ffff);
    }
}

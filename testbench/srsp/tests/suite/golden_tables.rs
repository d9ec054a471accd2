//! The small golden models: word operations, sFIFO with LR-TBL, PA-TBL, WBT, aff_cache, lock table, lines with their replacement, hub.

use proptest::prelude::*;
use weft_srsp::msg::SyncOp;
use weft_srsp_bench::golden::hub::Hub;
use weft_srsp_bench::golden::lines::{Frame, Lines, State};
use weft_srsp_bench::golden::msg::{Probe, ProbeKind};
use weft_srsp_bench::golden::tables::{Aff, LockTbl, LrTbl, PaTbl, Pending, Releases, SFifo, Wbt};
use weft_srsp_bench::golden::word::{Atomic, Data};

fn result(op: SyncOp, wide: bool, old: u64, opnd: u64, cmp: u64) -> Option<u64> {
    Atomic { op, wide, addr: 0, opnd, cmp }.result(old)
}

#[test]
fn every_operation_on_words() {
    let four = |op, old, opnd| result(op, false, old, opnd, 5);
    assert_eq!(four(SyncOp::Ld, 1, 2), None);
    assert_eq!(four(SyncOp::St, 1, 2), Some(2));
    assert_eq!(four(SyncOp::Add, 0xffff_ffff, 2), Some(1));
    assert_eq!(four(SyncOp::Sub, 1, 2), Some(0xffff_ffff));
    assert_eq!([four(SyncOp::Inc, 3, 4), four(SyncOp::Inc, 4, 4)], [Some(4), Some(0)]);
    assert_eq!(
        [four(SyncOp::Dec, 0, 4), four(SyncOp::Dec, 9, 4), four(SyncOp::Dec, 3, 4)],
        [Some(4), Some(4), Some(2)]
    );
    assert_eq!(four(SyncOp::And, 6, 3), Some(2));
    assert_eq!(four(SyncOp::Or, 6, 3), Some(7));
    assert_eq!(four(SyncOp::Xor, 6, 3), Some(5));
    assert_eq!(
        [four(SyncOp::Min, 0xffff_ffff, 1), four(SyncOp::SMin, 0xffff_ffff, 1)],
        [Some(1), Some(0xffff_ffff)]
    );
    assert_eq!(
        [four(SyncOp::Max, 0xffff_ffff, 1), four(SyncOp::SMax, 0xffff_ffff, 1)],
        [Some(0xffff_ffff), Some(1)]
    );
    assert_eq!(four(SyncOp::Exch, 1, 2), Some(2));
    assert_eq!([four(SyncOp::Cas, 5, 2), four(SyncOp::Cas, 6, 2)], [Some(2), None]);
    let sum = four(SyncOp::Fadd32, u64::from(1.5f32.to_bits()), u64::from(2.25f32.to_bits()));
    assert_eq!(sum, Some(u64::from(3.75f32.to_bits())));
    let nan =
        four(SyncOp::Fadd32, u64::from(f32::INFINITY.to_bits()), u64::from(f32::NEG_INFINITY.to_bits()));
    assert_eq!(nan, Some(0x7fc0_0000));
    assert_eq!(result(SyncOp::Add, true, u64::MAX, 2, 0), Some(1));
    assert_eq!(result(SyncOp::SMax, true, u64::MAX, 1, 0), Some(1));
}

proptest! {
    /// A word operation changes its own bytes only.
    #[test]
    fn atomics_leave_other_bytes_alone(words: [u64; 8], at in 0u64..16, wide: bool, opnd: u64, op in 0usize..16) {
        let ops = [SyncOp::Ld, SyncOp::St, SyncOp::Add, SyncOp::Sub, SyncOp::Inc, SyncOp::Dec, SyncOp::And, SyncOp::Or, SyncOp::Xor,
            SyncOp::Min, SyncOp::Max, SyncOp::SMin, SyncOp::SMax, SyncOp::Exch, SyncOp::Cas, SyncOp::Fadd32];
        let addr = 4 * if wide { at & !1 } else { at };
        let atomic = Atomic { op: ops[op], wide, addr, opnd, cmp: Data(words).word(addr, wide) };
        let mut data = Data(words);
        let (old, wrote) = atomic.perform(&mut data);
        prop_assert_eq!(old, Data(words).word(addr, wide));
        prop_assert_eq!(wrote, op != 0);
        let mut expected = Data(words);
        if let Some(new) = atomic.result(old) {
            expected.set_word(addr, wide, new);
        }
        prop_assert_eq!(data, expected);
        for byte in (0..64).filter(|byte| atomic.mask() >> byte & 1 == 0) {
            prop_assert_eq!(data.byte(byte), Data(words).byte(byte));
        }
    }

    /// Pops come in the order of pushes; an LR entry lives exactly as long as its sFIFO entry; the distance counts the pops.
    #[test]
    fn lr_entries_die_with_their_sfifo_entries(steps in prop::collection::vec((0u64..4, any::<bool>()), 1..80)) {
        let mut releases = Releases { sfifo: SFifo::new(4), lr: LrTbl::default() };
        let mut model: Vec<(u64, usize, bool)> = Vec::new();
        for (line, release) in steps {
            if releases.sfifo.full() {
                let (index, popped) = releases.sfifo.pop().expect("it is full");
                releases.lr.popped(index);
                let (expected, at, _) = model.remove(0);
                prop_assert_eq!((index, popped), (at, expected));
            }
            let index = releases.sfifo.push(line);
            if release {
                model.iter_mut().filter(|entry| entry.0 == line).for_each(|entry| entry.2 = false);
                releases.lr.set(line, index);
            }
            model.push((line, index, release));
            let live: Vec<(u64, usize)> = model.iter().filter(|e| e.2).map(|e| (e.0, e.1)).collect();
            for (addr, ptr) in &live {
                prop_assert_eq!(releases.lr.find(*addr), Some(*ptr));
                let place = model.iter().position(|entry| entry.1 == *ptr).expect("it is live");
                prop_assert_eq!(releases.sfifo.distance(*ptr), place + 1);
            }
            prop_assert_eq!(releases.lr.entries().len(), live.len());
        }
    }

    /// With all ways allowed the tree never names the way used last, and goes round all ways when each victim is used at once.
    #[test]
    fn tree_plru(ways in 1u32..5, uses in prop::collection::vec(0usize..16, 0..40)) {
        let ways = 1usize << ways;
        let mut lines = Lines::new(1, ways, 0, true);
        let frame = |line: u64| Frame { state: State::V, line, mask: 0, data: Data::default() };
        (0..ways).for_each(|i| lines.put(i, frame(i as u64)));
        for used in uses {
            lines.touch((used % ways) as u64);
            prop_assert_ne!(lines.victim(99, |_| true), Some(used % ways));
        }
        let mut seen: Vec<usize> = Vec::new();
        for _ in 0..ways {
            let victim = lines.victim(99, |_| true).expect("all are allowed");
            lines.touch(lines.frame(victim).line);
            seen.push(victim);
        }
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..ways).collect::<Vec<_>>());
        prop_assert_eq!(lines.victim(99, |frame| frame.line == 1), Some(1));
        prop_assert_eq!(lines.victim(99, |_| false), None);
    }
}

#[test]
fn pa_tbl_fills_without_duplicates() {
    let mut pa = PaTbl::new(2);
    pa.insert(3);
    pa.insert(3);
    assert!(!pa.full());
    pa.insert(1);
    assert!(pa.full() && pa.has(3) && !pa.has(2));
    pa.clear();
    assert!(pa.entries().is_empty());
}

#[test]
fn wbt_gives_numbers_back() {
    let mut wbt = Wbt::new(2);
    let pending = |line| Pending { line, epoch: false, unreg: false };
    assert_eq!((wbt.take(pending(5)), wbt.take(pending(6))), (0, 1));
    assert!(!wbt.free() && wbt.has(5));
    assert_eq!(wbt.release(0), Some(pending(5)));
    assert_eq!(wbt.release(0), None);
    assert!(!wbt.has(5) && wbt.has(6));
    assert_eq!(wbt.take(pending(7)), 0);
}

#[test]
fn aff_cache_is_direct_mapped_on_the_folded_address() {
    let mut aff = Aff::new(64);
    aff.set(0x40, 3);
    assert_eq!(aff.find(0x40), Some(3));
    assert_eq!(aff.find(0x44), None);
    aff.set(0x04, 5);
    assert_eq!(aff.find(0x04), Some(5), "index 1 = addr[11:6] 0 ^ addr[5:2] 1");
    assert_eq!(aff.find(0x40), None, "index 1 = addr[11:6] 1 ^ addr[5:2] 0");
    aff.set(0x04 + (64 << 6), 6);
    assert_eq!(aff.find(0x04), None, "the tag is the full word address");
    let mut none = Aff::new(0);
    none.set(0x40, 3);
    assert_eq!(none.find(0x40), None);
}

#[test]
fn locks_have_owners() {
    let mut locks = LockTbl::new(1);
    locks.lock(7, 3);
    assert!(locks.full());
    assert_eq!((locks.owner(7), locks.owner(8)), (Some(3), None));
    locks.unlock(7);
    assert!(locks.entries().is_empty());
}

#[test]
fn the_hub_keeps_a_multicast_until_every_target_has_it() {
    let mut hub = Hub::new(4, 1);
    let probe = |req| Probe { kind: ProbeKind::SelInv, addr: 0, req };
    hub.cast(0, probe(0), 0b1110);
    hub.cast(3, probe(3), 0b0110);
    assert_eq!(hub.cycle(), [1, 2, 3]);
    assert!(hub.cycle().is_empty(), "both queues are full");
    assert_eq!(hub.take(2).map(|probe| probe.req), Some(0));
    assert_eq!(hub.cycle(), [2]);
    assert_eq!(hub.take(1).map(|probe| probe.req), Some(0));
    assert_eq!(hub.cycle(), [1]);
    assert_eq!([1, 2, 3].map(|i| hub.take(i).map(|probe| probe.req)), [Some(3), Some(3), Some(0)]);
    assert!(hub.idle());
}

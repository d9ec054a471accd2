//! Waves of one CU that look at a word again and again, while another device takes it away each time.

use crate::denovo_l1::hand::{Hand, small};
use crate::hand::{A, Unit};
use crate::words::line_at;
use weft_blocks::msg::CuOp;
use weft_spandex::denovo_l1::Atomics;
use weft_spandex::msg::{FwdOp, ReqOp, RspOp};

/// An order: a load that acquires, a store that releases.
const ACQUIRE: [(&str, u64); 3] = [("class", 1), ("sync", 1), ("sem", 1)];
const RELEASE: [(&str, u64); 4] = [("class", 1), ("sync", 1), ("sem", 2), ("want_ack", 1)];

fn poll(h: &mut Hand) {
    h.cu(CuOp::Ld, A, 1, &ACQUIRE, &line_at([]));
}

/// Grants of the word until the store is done, with looks before it and behind it, and `gap` cycles from a forward to the grant that it delays for.
fn grants(atomics: Atomics, before: usize, behind: usize, gap: u64) -> Option<usize> {
    let mut h = Hand::new(&small(atomics));
    h.b.sources.values_mut().for_each(|source| source.chance = 1.0);
    h.b.sinks.values_mut().for_each(|sink| sink.chance = 1.0);
    // A store of before, for which the release goes to its queue.
    h.store(A + 10, 1, |_| 1);
    let earlier = h.asked(ReqOp::ReqO, A + 10, 1);
    (0..before).for_each(|_| poll(&mut h));
    let store = h.cu(CuOp::St, A, 1, &RELEASE, &line_at([(0, 7)]));
    (0..behind).for_each(|_| poll(&mut h));
    for granted in 0..12 {
        let tag = h.asked(ReqOp::ReqOData, A, 1);
        h.b.run(10);
        h.fwd(FwdOp::ReqOData, 1, 0, (false, false));
        h.b.run(gap);
        h.give(RspOp::RspOData, A, (1, 0), tag, |_| 0);
        for _ in 0..30 {
            h.b.run(1);
            while let Some((_, m)) = h.b.received("cu_rsp") {
                if m.get("id") == store {
                    return Some(granted);
                }
                poll(&mut h);
            }
        }
        while h.b.received("l1_rsp_out").is_some() {}
        if granted == before {
            h.give(RspOp::RspO, A + 10, (1, 0), earlier, |_| 0);
        }
    }
    None
}

/// The store that they wait for comes from a wave of the same CU: once it need not wait for earlier stores any more it gets the entry before the looks behind it, as many as there are.
#[test]
fn a_store_is_not_starved_by_looks_at_its_word() {
    let looks = [(1, 1), (1, 3), (2, 2)];
    let all = [Atomics::Join, Atomics::Own].into_iter().flat_map(|atomics| looks.map(|two| (atomics, two)));
    for (atomics, (before, behind)) in all {
        for gap in [0, 1, 2, 3, 8, 20] {
            let granted = grants(atomics, before, behind, gap);
            let soon = granted.is_some_and(|granted| granted <= before + 2);
            assert!(
                soon,
                "{atomics:?}: {before} looks before, {behind} behind, gap {gap}: {granted:?} grants"
            );
        }
    }
}

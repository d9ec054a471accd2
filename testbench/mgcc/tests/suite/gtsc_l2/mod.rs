//! `gtsc-l2` against the golden bank, event by event: requests of L1s of this and the next epoch, with and without a block, answers of memory in any order, rolls,
//! commands; bursts of requests, and outputs that are held back.
//!
//! Hit here: the rows `gtsc.l2.*` and the races `mgcc.race.gtsc_l2_*` (together with `gtsc_system`, where events overlap).

use crate::gtsc_bench;
mod pair;
mod storage;

use gtsc_bench::widths;
use pair::Pair;
use std::collections::BTreeSet;
use weft_mgcc::l2::L2Params;
use weft_mgcc::msg::{Maint, Roll};
use weft_mgcc::params::Tsm;
use weft_mgcc_bench::bench::Msg;
use weft_mgcc_bench::golden::msg::{Data, Work};
use weft_mgcc_bench::golden::time::Time;

fn small(ts: u32) -> L2Params {
    L2Params { size: 512, ways: 4, pool: 8, ..L2Params::gtsc_published(widths(ts)) }
}

/// Rows and races that only overlapping events reach.
const OVERLAPPING: [&str; 4] = [
    "mgcc.race.gtsc_l2_append_while_served",
    "mgcc.race.gtsc_l2_append_to_empty",
    "mgcc.race.gtsc_l2_full",
    "mgcc.race.gtsc_l2_roll_known",
];

#[test]
fn every_event_as_the_model() {
    let tight = L2Params { size: 128, ways: 2, tsm: Tsm { l2_mshrs: 8, ..widths(7) }, ..small(7) };
    let one = Tsm { banks: 1, il: 6, l2_mshrs: 8, ..widths(16) };
    let sets = [small(8), small(6), tight, L2Params { tsm: one, size: 1024, ..small(8) }];
    let mut missed: Option<BTreeSet<String>> = None;
    for (seed, p) in sets.iter().enumerate() {
        let mut pair = Pair::new(p, 60 + seed as u64, 1 + 4 * seed as u64);
        pair.run(700);
        let now: BTreeSet<String> = pair.bench.uncovered(&OVERLAPPING).into_iter().collect();
        missed = Some(match missed {
            Some(before) => before.intersection(&now).cloned().collect(),
            None => now,
        });
    }
    let missed = missed.unwrap_or_default();
    assert!(missed.is_empty(), "never seen: {missed:?}");
}

const READ: Work = Work::Read;

fn write(mask: u64) -> Work {
    Work::Write { mask, data: Data::from_words([0x55; 8]) }
}

/// The rules of section 14 with their numbers, lease 10.
#[test]
fn stamps_of_the_specification() {
    let mut pair = Pair::new(&small(8), 1, 10);
    let line = pair.lines[0];
    let mut ask = |warpts: u64, wts: u64, work: Work| {
        let a = pair.alone(line, Time::new(0, warpts), wts, work);
        (a.wts, a.rts, a.data.is_some())
    };
    assert_eq!(ask(0, 0, READ), (1, 11, true), "first fill: wts 1, rts = max(wts, warpts) + lease");
    assert_eq!(ask(1, 0, READ), (1, 11, true), "rts = max(rts, warpts + lease)");
    assert_eq!(ask(12, 1, READ), (1, 22, false), "Renew");
    assert_eq!(ask(12, 0, write(1)), (23, 33, false), "wts = max(rts + 1, warpts), rts = wts + lease");
    assert_eq!(ask(30, 1, READ), (23, 40, true), "written since: Fill");
    assert_eq!(ask(60, 23, write(2)), (60, 70, false), "of the present version: no line");
    assert_eq!(ask(60, 23, write(4)), (71, 81, true), "of an old version: the line");
    assert_eq!(ask(60, 0, write(u64::MAX)), (82, 92, false));
    // Lines of the same set drive it out: mem_ts is its rts, and what comes in begins there.
    for other in pair.same_set(line).into_iter().take(4) {
        pair.alone(other, Time::new(0, 3), 0, READ);
    }
    let a = pair.alone(line, Time::new(0, 3), 82, READ);
    assert_eq!((a.wts, a.rts, a.data.is_some()), (92, 102, true), "after an eviction");
}

#[test]
fn landed_answers_take_turns() {
    Pair::new(&small(16), 5, 10).landed_answers_take_turns(12);
}

/// What leaves is offered whether anybody is ready for it or not.
#[test]
fn outputs_are_offered() {
    let mut pair = Pair::new(&small(6), 4, 10);
    let line = pair.lines[0];
    for channel in ["l1_rsp", "mem_req", "roll_ask", "roll_ack", "maint_done"] {
        pair.bench.sink_mut(channel).chance = 0.0;
    }
    pair.ask_only(line, Time::new(0, 60), 0, READ);
    pair.offers("mem_req");
    pair.memory_brings();
    pair.offers("l1_rsp");
    pair.offers("roll_ask");
    pair.bench.send("roll", Msg::of::<Roll>(&small(6).tsm, &[("epoch", 1)]));
    pair.offers("roll_ack");
    pair.bench.send("maint", Msg::of::<Maint>(&(), &[("op", 1)]));
    pair.offers("maint_done");
}

/// At TS_MAX everything waits for a roll, and goes on with data kept.
#[test]
fn a_full_bank_waits_for_the_roll() {
    let mut pair = Pair::new(&small(6), 2, 10);
    let line = pair.lines[3];
    pair.alone(line, Time::new(0, 50), 0, write(1));
    let a = pair.alone(line, Time::new(0, 60), 0, READ);
    assert_eq!(a.rts, 63, "a lease ends at TS_MAX");
    pair.ask_only(line, Time::new(0, 60), 0, write(2));
    (0..200).for_each(|_| pair.bench.step());
    assert!(pair.bench.received("l1_rsp").is_none(), "the write must wait");
    assert_eq!(pair.bench.received("roll_ask").map(|(_, m)| m.get("epoch")), Some(0));
    pair.tell_roll();
    let (_, msg) = pair.bench.wait("l1_rsp");
    assert_eq!((msg.get("tag"), msg.get("wts"), msg.get("rts")), (1, 2, 12), "stamps begin again at 1");
    let (_, ack) = pair.bench.wait("roll_ack");
    assert_eq!(ack.get("epoch"), 1);
    let data = pair.alone(line, Time::new(1, 2), 0, READ).data.expect("a Fill");
    assert_eq!(data.0[0], 0x55, "written before the roll");
}

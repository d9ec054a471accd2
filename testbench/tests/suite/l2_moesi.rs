//! `moesi-l2`, one bank, against the golden banks of docs/moesi.md: random traffic with every message,
//! answer and copy compared, the sentences of the page that are easiest broken one by one, and broken
//! banks.
//!
//! Rows and races: all of `moesi_l2.*`.

use crate::dir_support::*;
use crate::l2_moesi_bench::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use weft_blocks::cache::l2::L2Params;
use weft_blocks::directory::protocols::moesi::bank::moesi_l2;
use weft_blocks::msg::Sys;
use weft_rtl::ir::Module;
use weft_testbench::fault;
use weft_testbench::golden::moesi::msg::Kind;
use weft_testbench::golden::moesi::table::State;

fn parameter_sets() -> Vec<L2Params> {
    let sys = |p: &L2Params, l2_mshrs, line| Sys { l2_mshrs, line, il: 4 * line, ..p.sys.clone() };
    let (two, six, eight, four) = (small(2, 1, 0), small(3, 2, 4), small(8, 1, 3), small(2, 2, 1));
    let (three, seven) = (small(3, 1, 2), small(7, 1, 0));
    vec![
        two.clone(),
        L2Params { sys: sys(&two, 4, 64), pool: 6, ..two.clone() },
        L2Params { sys: sys(&six, 12, 128), sets: 3, ways: 4, pool: 12, ..six },
        L2Params { sys: sys(&eight, 16, 64), sets: 3, pool: 17, ..eight },
        L2Params { sys: Sys { banks: 1, l1s: 1, ..sys(&four, 12, 64) }, ways: 4, pool: 13, ..four },
        L2Params { sys: Sys { l1s: 2, l1_mshrs: 16, ..sys(&three, 8, 64) }, pool: 9, ..three },
        L2Params { sys: Sys { banks: 2, ..sys(&seven, 16, 128) }, ways: 4, pool: 16, ..seven },
    ]
}

/// Rows that the hardware counts as often as the golden bank: it tries other operations again and again.
fn counted(id: &str) -> bool {
    let name = id.strip_prefix("moesi_l2.").unwrap_or_default();
    let starts =
        ["inv.", "fwds.", "fwdm.", "recall.", "data.", "put_ack", "back", "enter.", "home.", "flush."];
    let meets = name.contains("_meets_") || name.contains("_in_buffer");
    let other = ["enter.waits", "flush.clean", "home.gets.forwarded", "home.getm.forwarded", "data.M"];
    (starts.iter().any(|start| name.starts_with(start)) || meets) && !other.contains(&name)
}

#[test]
fn l2_moesi_agrees_with_the_golden_banks() {
    let mut hits = BTreeMap::new();
    let mut sums = [0; 6];
    for (i, p) in parameter_sets().into_iter().enumerate() {
        let seed = i as u64;
        let mut bench = Bench::new(&p, seed);
        for _ in 0..12 {
            bench.run(6000);
            bench.drain();
        }
        let (golden, seen) = (bench.golden_counts(), covers(&bench.sim));
        for (id, count) in golden.iter().filter(|(id, _)| counted(id)) {
            assert_eq!(seen.get(*id), Some(count), "{id}");
        }
        add(&mut hits, seen, seed);
        let [drains, flushes, waited] = bench.fences;
        let more = [drains, flushes, waited, bench.meetings];
        let seen = [bench.answered, bench.clean_backs];
        sums.iter_mut().zip(seen.into_iter().chain(more)).for_each(|(sum, more)| *sum += more);
    }
    let names = "answers, clean Backs, drains, flushes, drains that waited, met";
    println!("{names}: {sums:?}");
    assert!(sums[2..].iter().all(|count| *count > 20), "fences: {sums:?}");
    publish("l2_moesi", &hits);
    assert_all_hit("moesi-l2", &hits, &[]);
}

/// A bank of node 0 of two, with nothing going on.
fn calm() -> Bench {
    calm_on(small(2, 1, 0))
}

fn calm_on(p: L2Params) -> Bench {
    let mut bench = Bench::new(&p, 1);
    bench.mood.others = 0.0;
    bench.mood.replace = 0.0;
    bench.rest(10);
    bench
}

/// Lines of the other home, of set 0.
const AWAY: [(usize, u8); 3] = [(0, 4), (0, 5), (0, 6)];
/// One of the own home.
const OWN: (usize, u8) = (0, 0);

fn hit(bench: &Bench, id: &str) -> u64 {
    covers(&bench.sim)[&format!("moesi_l2.{id}")]
}

/// The first line is written, and then replaced by the third; its Put is held.
fn with_a_held_put() -> Bench {
    let mut b = calm();
    for (place, kind) in [(AWAY[0], WR), (AWAY[1], RD)] {
        b.ask_for(place, kind);
        b.rest(200);
    }
    assert_eq!(b.state(AWAY[0]), State::M);
    b.worlds[0].holds = true;
    b.ask_for(AWAY[2], RD);
    b.rest(40);
    assert_eq!((b.state(AWAY[0]), hit(&b, "replace.M")), (State::I, 1));
    b
}

#[test]
fn a_request_of_a_line_that_is_given_back_waits_for_put_ack() {
    let mut b = with_a_held_put();
    let answered = b.answered;
    b.ask_for(AWAY[0], ATOM);
    b.rest(100);
    assert_eq!(b.answered, answered, "the line is in the buffer, and its Put at no home");
    b.worlds[0].holds = false;
    b.rest(300);
    assert_eq!((b.answered, b.state(AWAY[0])), (answered + 2, State::M));
    assert!(hit(&b, "race.waits_for_put_ack") > 0 && hit(&b, "put_ack") > 0);
    b.drain();
}

#[test]
fn a_forward_meets_the_buffer_and_the_put_is_stale() {
    let mut b = with_a_held_put();
    b.worlds[0].begin(1, AWAY[0].1, Kind::Store);
    b.rest(200);
    assert_eq!((hit(&b, "race.fwdm_in_buffer"), hit(&b, "put_ack.shell")), (1, 0));
    b.worlds[0].holds = false;
    b.rest(200);
    assert_eq!((hit(&b, "put_ack.shell"), hit(&b, "put_ack")), (1, 0));
    b.drain();
}

#[test]
fn a_drain_waits_for_a_store_that_is_taken_as_it_begins() {
    for delay in 0..4 {
        let mut b = calm();
        b.worlds[0].holds = true;
        let (first, second) = if delay % 2 == 0 { (true, false) } else { (false, true) };
        for store in [first, second] {
            if store {
                assert!(b.offer_local(AWAY[0], WR));
            } else {
                b.command(0);
            }
            b.rest(delay / 2);
        }
        b.rest(60);
        assert_eq!(b.fence.is_some(), b.waits_for_drain(), "the line of the store is not here");
        b.worlds[0].holds = false;
        b.rest(300);
        assert_eq!((b.fence, b.state(AWAY[0])), (None, State::M));
        assert!(delay != 0 || b.meetings == 1, "both are taken in one cycle");
        b.drain();
    }
}

#[test]
fn an_inv_meets_a_getm_from_s() {
    let mut b = calm();
    b.worlds[0].begin(1, AWAY[0].1, Kind::Load);
    b.rest(100);
    b.ask_for(AWAY[0], RD);
    b.rest(200);
    assert_eq!(b.state(AWAY[0]), State::S);
    b.worlds[0].holds = true;
    b.ask_for(AWAY[0], WR);
    b.worlds[0].begin(1, AWAY[0].1, Kind::Store);
    b.rest(200);
    assert_eq!((hit(&b, "race.inv_meets_getm"), b.state(AWAY[0])), (1, State::I));
    b.worlds[0].holds = false;
    b.rest(300);
    assert_eq!((hit(&b, "data.M"), b.state(AWAY[0])), (1, State::M), "the data that come have bytes");
    b.drain();
}

#[test]
fn a_fwdm_meets_a_getm_from_o() {
    let mut b = calm_on(small(3, 1, 0));
    let place = (0, (0..8).find(|line| b.worlds[0].p.home(*line) == 1).expect("a line of node 1"));
    b.ask_for(place, WR);
    b.rest(200);
    b.worlds[0].begin(2, place.1, Kind::Load);
    b.rest(200);
    assert_eq!(b.state(place), State::O);
    b.worlds[0].holds = true;
    b.ask_for(place, WR);
    b.worlds[0].begin(2, place.1, Kind::Store);
    b.rest(200);
    assert_eq!((hit(&b, "race.fwdm_meets_getm"), b.state(place)), (1, State::I));
    b.worlds[0].holds = false;
    b.rest(300);
    assert_eq!((hit(&b, "data.M"), hit(&b, "data.keep"), b.state(place)), (2, 0, State::M));
    b.drain();
}

#[test]
fn a_getm_that_enters_drops_the_own_s_copy() {
    let mut b = calm();
    b.worlds[0].begin(1, OWN.1, Kind::Load);
    b.rest(200);
    b.ask_for(OWN, RD);
    b.rest(200);
    assert_eq!(b.state(OWN), State::S);
    // The slice is not asked before the copy is gone.
    b.mood.ready[3] = 0.0;
    b.worlds[0].begin(1, OWN.1, Kind::Store);
    b.rest(200);
    assert_eq!((hit(&b, "enter.getm.S"), b.state(OWN)), (1, State::I));
    b.mood.ready[3] = 1.0;
    b.rest(200);
    assert_eq!(hit(&b, "home.getm.keep"), 1);
    b.drain();
}

#[test]
fn a_stale_put_is_acknowledged_and_writes_nothing() {
    let mut b = calm();
    b.worlds[0].begin(1, OWN.1, Kind::Store);
    b.rest(200);
    b.mood.remote = 0.0;
    b.worlds[0].give_back(1, OWN.1);
    b.ask_for(OWN, WR);
    b.rest(200);
    assert_eq!(b.state(OWN), State::M, "its buffer has answered FwdM");
    b.mood.remote = 1.0;
    b.rest(200);
    assert_eq!((hit(&b, "home.put.stale"), hit(&b, "home.put.taken")), (1, 0));
    b.drain();
}

/// A bank with room for many requests.
fn with_room() -> L2Params {
    let p = small(2, 1, 0);
    let sys = Sys { l2_mshrs: 16, l1_mshrs: 16, ..p.sys.clone() };
    L2Params { sys, sets: 3, ways: 4, pool: 17, ..p }
}

/// Such a bank, one of which, a load, waits for its Data.
fn with_a_load_under_way(place: (usize, u8)) -> Bench {
    let mut b = calm_on(with_room());
    b.mood.rsp = 0.0;
    b.ask_for(place, RD);
    b.rest(60);
    assert_eq!(b.answered, 0);
    b
}

/// Section 3: else two nodes whose requests wait for each other's MSHRs wait for ever.
#[test]
fn what_data_lets_perform_needs_no_room_for_requests() {
    let mut b = with_a_load_under_way((0, 4));
    b.mood.ready[1] = 0.0;
    for (set, line) in (0..3).rev().flat_map(|set| (4..8).rev().map(move |line| (set, line))) {
        if !b.offers_local() {
            b.offer_local((set, line), RD);
        }
        b.rest(20);
    }
    assert!(b.sim.peek("req_out_count").is_some_and(|count| count.low_u64() > 6), "it is full");
    b.mood.rsp = 1.0;
    b.rest(100);
    assert_eq!((b.answered, hit(&b, "data.S") + hit(&b, "data.E")), (1, 1), "its Data have come");
    b.mood.ready[1] = 1.0;
    b.rest(100);
    b.drain();
}

/// The same of the slice's input: else a full input waits for a Done that waits for it.
#[test]
fn what_data_lets_perform_needs_no_room_at_the_slice() {
    let mut b = with_a_load_under_way((0, 4));
    b.mood.ready[3] = 0.0;
    for (set, line) in (0..3).rev().flat_map(|set| (0..4).rev().map(move |line| (set, line))) {
        if !b.offers_local() {
            b.offer_local((set, line), RD);
        }
        b.rest(20);
    }
    assert!(b.sim.peek("dir_req_count").is_some_and(|count| count.low_u64() > 6), "it is full");
    b.mood.rsp = 1.0;
    b.rest(100);
    assert_eq!((b.answered, hit(&b, "data.S") + hit(&b, "data.E")), (1, 1), "its Data have come");
    b.mood.ready[3] = 1.0;
    b.rest(100);
    b.drain();
}

/// A store that waited behind a load gets S only, and is a new request: it needs room as any other.
#[test]
fn a_store_that_is_left_waits_for_room() {
    let mut b = calm_on(with_room());
    let shared = (0, 4);
    b.worlds[0].begin(1, shared.1, Kind::Load);
    b.rest(200);
    b.mood.rsp = 0.0;
    b.ask_for(shared, RD);
    b.ask_for(shared, WR);
    b.rest(60);
    b.mood.ready[1] = 0.0;
    let lines: Vec<(usize, u8)> =
        (0..3).rev().flat_map(|set| (4..8).rev().map(move |line| (set, line))).collect();
    let mut lines = lines.into_iter();
    for _ in 0..100 {
        if !b.offers_local()
            && let Some(place) = lines.next().filter(|place| *place != shared)
        {
            b.offer_local(place, RD);
        }
        b.cycle();
    }
    let full = b.sim.peek("req_out_count").map(|count| count.low_u64());
    assert!(full > Some(6), "it is full: {full:?}");
    b.mood.rsp = 1.0;
    b.rest(100);
    assert_eq!((hit(&b, "data.S"), b.state(shared)), (1, State::S));
    b.mood.ready[1] = 1.0;
    b.rest(300);
    b.drain();
}

/// Section 3: a request that waits stands aside; forwards and requests of other nodes pass it.
#[test]
fn forwards_and_other_nodes_pass_requests_that_wait() {
    let mut b = calm();
    b.ask_for(AWAY[0], WR);
    b.rest(200);
    b.mood.ready[1] = 0.0;
    for (set, line) in [1, 0].into_iter().flat_map(|set| (4..8).rev().map(move |line| (set, line))) {
        if !b.offers_local() {
            b.offer_local((set, line), RD);
        }
        b.rest(20);
    }
    b.worlds[0].begin(1, AWAY[0].1, Kind::Store);
    b.worlds[0].begin(1, OWN.1, Kind::Load);
    b.rest(300);
    assert_eq!((hit(&b, "fwdm.M") + hit(&b, "recall.M"), hit(&b, "home.gets.alone")), (1, 1));
    b.mood.ready[1] = 1.0;
    b.drain();
}

/// The answer "forwarded" frees the place of a request at once: when it takes a turn, which may have to
/// wait for memory's queue, the home's own node may have got the line again.
#[test]
fn what_is_forwarded_has_no_turn() {
    let p = small(3, 1, 0);
    let sys = Sys { l2_mshrs: 16, l1_mshrs: 16, ..p.sys.clone() };
    let mut b = calm_on(L2Params { sys, sets: 3, ways: 4, pool: 17, ..p });
    b.worlds[0].begin(1, OWN.1, Kind::Store);
    b.rest(200);
    // Memory takes nothing; five lines are to be read, then four more, whose questions to the slice are
    // held.
    b.mood.ready[4] = 0.0;
    let lines: Vec<(usize, u8)> = (1..3).flat_map(|set| (0..4).map(move |line| (set, line))).collect();
    lines[..5].iter().for_each(|place| b.ask_for(*place, RD));
    b.rest(100);
    b.mood.ready[3] = 0.0;
    lines[5..].iter().for_each(|place| b.ask_for(*place, RD));
    // Behind them another node's GetM of a line that a third one owns, and an own read of it.
    b.worlds[0].begin(2, OWN.1, Kind::Store);
    b.rest(60);
    b.ask_for(OWN, RD);
    b.mood.ready[3] = 1.0;
    b.rest(300);
    assert_eq!(b.state(OWN), State::S);
    b.mood.ready[4] = 1.0;
    b.rest(300);
    b.drain();
}

/// Loads that hit in every cycle, as of many who wait for a flag, do not hold a flush.
#[test]
fn a_flush_ends_while_l1s_ask_all_the_time() {
    let mut b = calm_on(with_room());
    b.ask_for(OWN, WR);
    b.rest(200);
    assert_eq!(b.state(OWN), State::M);
    b.command(1);
    let answered = b.answered;
    for _ in 0..1000 {
        if !b.offers_local() {
            b.offer_local(OWN, RD);
        }
        b.cycle();
    }
    assert_eq!(b.fence, None, "after {} answers", b.answered - answered);
    b.drain();
}

/// Each of these makes the bank wrong in one way; the checks must say so at one of the first parameter
/// sets.
#[test]
fn a_broken_bank_is_found_out() {
    let faults: [(&str, u64, &str); 14] = [
        ("remote_waits", 0, "another node's request passes an own one"),
        ("older_waits", 0, "a request passes an older one of its line"),
        ("reserved", 0, "a place that is reserved is given away"),
        ("pool_wakes", 0, "what waits is not tried again"),
        ("epoch", 0, "a drain waits for nothing"),
        ("grant_without_copy", 0, "memory is not read"),
        ("puts_data", 0, "bytes are lost"),
        ("puts_state", 0, "states are lost"),
        ("served_writable", 1, "a store is performed in S"),
        ("served", 0, "no home is told"),
        ("probe_places", 0, "the buffer does not answer"),
        ("writeback_copy0", 0, "a place of the buffer is a shell"),
        ("back_goes", 0, "a line that comes back stays"),
        ("slot_sends_rsp", 0, "two answers leave in one cycle"),
    ];
    let lost = ["req_out", "rsp_out", "inv_done", "done", "local_rsp", "mem_req"];
    let sets = &parameter_sets()[..2];
    let sound: Vec<Arc<Module>> = sets.iter().map(|p| moesi_l2(p).unwrap()).collect();
    let fails = |i: usize, module: &Arc<Module>| {
        let run = || {
            let mut bench = Bench::on(&sets[i], module, i as u64);
            (0..3).for_each(|_| {
                bench.run(2000);
                bench.drain();
            });
        };
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err()
    };
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let seen = |broken: &dyn Fn(&Module) -> Arc<Module>| (0..2).any(|i| fails(i, &broken(&sound[i])));
    let stuck = faults.iter().filter(|(name, value, _)| !seen(&|m| fault::stuck(m, name, *value, 400)));
    let mut unseen: Vec<&str> = stuck.map(|(.., what)| *what).collect();
    unseen.extend(lost.iter().filter(|channel| !seen(&|m| fault::lost_message(m, channel, 20))));
    let alarms = (0..2).filter(|i| fails(*i, &sound[*i])).count();
    std::panic::set_hook(hook);
    assert!(unseen.is_empty(), "not seen: {unseen:?}");
    assert_eq!(alarms, 0, "sound banks pass");
}

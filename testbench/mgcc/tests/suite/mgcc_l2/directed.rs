//! Single cases: the golden scenario's bank, victims, notes, leases that do not cover, throughput, sweeps, back-pressure.

use crate::mgcc_l2::l2_bench::{Answered, Bench, Mood, op, small};
use weft_mgcc::choice::{Coherence, ReadTs};
use weft_mgcc::l2::L2Params;

fn read(b: &mut Bench, l1: usize, line: u64) -> Answered {
    b.complete(l1, op::RD, false, 0, line)
}

fn write(b: &mut Bench, l1: usize, line: u64) -> Answered {
    b.complete(l1, op::WR, false, 0xff, line)
}

fn lease(a: &Answered) -> (u64, u64) {
    (a.wts, a.rts)
}

/// A calm bank whose memory answers at once.
fn quick(p: &L2Params, seed: u64) -> Bench {
    let mut b = Bench::new(p, seed);
    b.memory.slack = 0;
    (0..20).for_each(|_| b.cycle());
    b
}

/// mgcc.md section 12, the bank L between CU0 (L1 a) and CU1 (L1 b).
#[test]
fn golden_scenario_inside_a_gpu() {
    let mut b = quick(&L2Params { read_ts: ReadTs::Eager, ..small(16) }, 1);
    let (x, y) = (b.lines[0], b.lines[1]);
    b.memory.leases = [10, 5];
    assert_eq!(lease(&read(&mut b, 0, x)), (0, 10), "1-7");
    b.memory.leases = [7, 5];
    assert_eq!(lease(&read(&mut b, 1, y)), (0, 7), "8-14");
    let a = write(&mut b, 0, y);
    assert_eq!((lease(&a), b.peek("cts"), b.l1s[0].clock), ((8, 12), 8, (0, 8)), "15-20");
    let a = write(&mut b, 1, x);
    assert_eq!((lease(&a), b.peek("cts"), b.l1s[1].clock), ((11, 15), 11, (0, 11)), "21-26");
    let a = read(&mut b, 1, y);
    assert_eq!((lease(&a), a.from_memory, a.ask.ts), ((8, 12), false, None), "30-34: L hits");
    assert_eq!((b.counter("l2_hits"), b.counter("l2_write_hits"), b.counter("l2_misses_cold")), (1, 2, 2));
}

/// The same between two GPUs: this is Lb, another GPU writes Y.
#[test]
fn golden_scenario_between_gpus() {
    let mut b = quick(&L2Params { read_ts: ReadTs::Eager, ..small(16) }, 2);
    let (x, y) = (b.lines[0], b.lines[1]);
    b.memory.leases = [7, 5];
    assert_eq!(lease(&read(&mut b, 1, y)), (0, 7), "8-14");
    b.memory.leases = [10, 5];
    b.another(op::RD, x, 0);
    b.memory.leases = [7, 5];
    assert_eq!(b.another(op::WR, y, 0), (8, 12), "15-20 in GPU 0");
    assert_eq!(lease(&write(&mut b, 1, x)), (11, 15), "21-26");
    b.sent.clear();
    let a = read(&mut b, 1, y);
    assert_eq!((lease(&a), a.from_memory, b.peek("cts")), ((8, 19), true, 11), "30-34: expired, new Y");
    assert_eq!((b.sent[0].ts, b.counter("l2_misses_coherence")), (11, 1), "the clock travels");
}

/// Four ways: the expired block goes before the least recently used one, if `repl_ts`; its lease is told.
#[test]
fn expired_blocks_leave_first() {
    for repl_ts in [true, false] {
        let mut b = quick(&L2Params { repl_ts, size: 256, ..small(16) }, 3);
        let lines: Vec<u64> = b.lines[..5].to_vec();
        b.memory.leases = [100, 5];
        read(&mut b, 0, lines[0]);
        b.memory.leases = [3, 5];
        read(&mut b, 0, lines[1]);
        b.memory.leases = [100, 5];
        read(&mut b, 0, lines[2]);
        read(&mut b, 0, lines[3]);
        b.l1s[0].clock = (0, 50);
        b.keep = true;
        read(&mut b, 0, lines[4]);
        (0..10).for_each(|_| b.cycle());
        let gone = if repl_ts { (lines[1], 3) } else { (lines[0], 100) };
        assert_eq!(b.notes, vec![gone]);
        assert_eq!(b.counter("l2_expired_victims"), u64::from(repl_ts));
        let here: Vec<u64> = b.blocks().iter().map(|block| block.2).collect();
        assert!(!here.contains(&gone.0) && here.contains(&lines[4]) && here.len() == 4);
    }
}

/// A note is a hint: while requests wait it is dropped, and the bank goes on.
#[test]
fn notes_are_dropped_when_requests_wait() {
    let mut b = quick(&L2Params { size: 256, ..small(16) }, 4);
    let lines: Vec<u64> = b.lines[..5].to_vec();
    for line in &lines[..4] {
        read(&mut b, 0, *line);
    }
    b.mood.mem_ready = 0.0;
    // The whole line takes the oldest way; its own request keeps the output busy.
    for (l1, line) in [(0, lines[0]), (1, lines[4])] {
        let (code, mask) = if l1 == 0 { (op::WR, 1) } else { (op::WR, u64::MAX) };
        let ask = b.ask(l1, code, false, mask, line).expect("room");
        b.offer(ask);
        (0..5).for_each(|_| b.cycle());
    }
    (0..10).for_each(|_| b.cycle());
    assert_eq!((b.counter("l2_notes"), b.counter("l2_notes_dropped"), b.counter("l2_evictions")), (0, 1, 1));
    b.drain();
}

/// Grants that end before the readers' clocks: the reads are not answered with them but tried again, in each transaction.
#[test]
fn a_short_lease_is_asked_for_again() {
    let mut b = quick(&small(16), 5);
    b.memory.short = true;
    b.keep = true;
    for l1 in 0..4 {
        b.l1s[l1].clock = (0, 30);
        let ask = b.ask(l1, op::RD, false, 0, b.lines[l1]).expect("room");
        b.offer(ask);
        (0..6).for_each(|_| b.cycle());
    }
    (0..200).for_each(|_| b.cycle());
    assert!(b.answers.is_empty() && b.sent.len() > 12, "they are asked for again and again");
    b.memory.short = false;
    b.drain();
    assert_eq!(b.answers.len(), 4);
    assert!(b.answers.iter().all(|a| a.rts >= 30) && b.counter("l2_replays") > 8);
    let mut seen = crate::mgcc_l2::l2_bench::Seen::default();
    b.collect(&mut seen);
    assert!(seen.contains_key("mgcc.race.l2_uncovered"));
}

/// Hits stream at one per cycle and take three.
#[test]
fn hits_stream() {
    let mut p = small(16);
    p.tsm.l1_mshrs = 16;
    let mut b = quick(&p, 6);
    let lines: Vec<u64> = b.lines[..4].to_vec();
    lines.iter().for_each(|line| {
        read(&mut b, 0, *line);
    });
    b.keep = true;
    let start = b.sim.cycle();
    let mut asked = 0;
    for i in 0..16 {
        let ask = b.ask(i / 4, op::RD, false, 0, lines[i % 4]).expect("room");
        b.offer(ask);
        b.cycle();
        asked += 1;
    }
    (0..8).for_each(|_| b.cycle());
    assert_eq!(b.answers.len(), asked);
    assert_eq!(b.answers[0].cycle - start, 3, "three cycles from offer to answer");
    assert_eq!(b.answers[15].cycle - start, 18, "one per cycle");
    assert_eq!(b.counter("l2_latency") / b.counter("l2_answers"), b.counter("l2_latency") / 20);
}

/// Memory brings every answer although nobody takes any from the bank; then all are given.
#[test]
fn memory_never_waits() {
    let mut b = quick(&small(16), 7);
    let lines: Vec<u64> = b.lines[..4].to_vec();
    b.keep = true;
    b.mood = Mood { rsp_ready: 0.0, ..Mood::calm() };
    for (l1, line) in lines.iter().enumerate() {
        let ask = b.ask(l1, op::RD, false, 0, *line).expect("room");
        b.offer(ask);
        b.cycle();
    }
    (0..60).for_each(|_| b.cycle());
    assert!(b.memory.idle() && b.answers.is_empty(), "all four answers are in the bank");
    b.mood.rsp_ready = 1.0;
    (0..20).for_each(|_| b.cycle());
    assert_eq!(b.answers.len(), 4);
    b.drain();
}

/// Answers of memory that have landed together are taken round robin, by the numbers of their transactions.
#[test]
fn landed_answers_take_turns() {
    let p = small(16);
    let mut b = quick(&p, 12);
    let hot = b.lines[0];
    read(&mut b, 0, hot);
    let mut next = 1;
    for round in 0..12 {
        // The first requests take transactions 0 and up; hits fill the output, so that nothing enters when the answers land.
        let count = 2 + round % 2;
        let misses = (0..count).map(|l1| (l1, b.lines[1 + (3 * round + l1) % 21]));
        let asks: Vec<(usize, u64)> = misses.chain((0..3).map(|l1| (l1, hot))).collect();
        (b.mood.serve, b.mood.rsp_ready) = (0.0, 0.0);
        for (l1, line) in asks {
            let ask = b.ask(l1, op::RD, false, 0, line).expect("room");
            b.offer(ask);
            (0..6).for_each(|_| b.cycle());
        }
        b.mood.serve = 1.0;
        (0..20).for_each(|_| b.cycle());
        b.mood.rsp_ready = 1.0;
        b.drain();
        let answers = b.answers.drain(..).filter(|a| a.ask.line != hot);
        let order: Vec<usize> = answers.map(|a| a.ask.l1).collect();
        let mut left: Vec<usize> = (0..count).collect();
        for got in order {
            let turn = left.iter().position(|l1| *l1 >= next).unwrap_or(0);
            assert_eq!(got, left.remove(turn), "round {round}");
            next = (got + 1) % p.tsm.l2_mshrs as usize;
        }
        assert!(left.is_empty());
    }
}

/// What leaves is offered whether anybody is ready for it or not.
#[test]
fn outputs_are_offered() {
    let mut b = quick(&small(16), 11);
    b.mood = Mood { rsp_ready: 0.0, mem_ready: 0.0, shut: true, roll_step: 1.0, ..Mood::calm() };
    let line = b.lines[0];
    let ask = b.ask(0, op::RD, false, 0, line).expect("room");
    b.offer(ask);
    let offers = |b: &mut Bench, channel: &str| {
        (0..40).for_each(|_| b.cycle());
        assert_eq!(b.peek(&format!("{channel}_valid")), 1, "{channel} waits to be asked for");
    };
    offers(&mut b, "mem_req");
    b.mood.mem_ready = 1.0;
    offers(&mut b, "l1_rsp");
    b.mood.rsp_ready = 1.0;
    b.start_roll();
    offers(&mut b, "roll_ack");
    b.maint = Some(1);
    offers(&mut b, "maint_done");
    b.mood.shut = false;
    b.drain();
}

/// Every MSHR and every place of the pool is used, and what comes then waits in front.
#[test]
fn the_bank_takes_as_much_as_it_has_room_for() {
    let p = L2Params { pool: 3, ..small(16) };
    let mut b = quick(&p, 10);
    b.keep = true;
    b.mood.serve = 0.0;
    let lines: Vec<u64> = b.lines[..5].to_vec();
    let used = |b: &Bench| ["mshr_lines_valid", "pool_used"].map(|name| b.peek(name).count_ones());
    // Three lines are on their way; three more L1s want the first, another one the second.
    let asks = [(0, 0), (1, 1), (2, 2), (1, 0), (2, 0), (3, 0), (3, 1)];
    for (i, (l1, line)) in asks.into_iter().enumerate() {
        let ask = b.ask(l1, op::RD, false, 0, lines[line]).expect("room");
        b.offer(ask);
        (0..6).for_each(|_| b.cycle());
        assert_eq!(used(&b), [1 + i.min(2) as u32, i.saturating_sub(2).min(3) as u32]);
    }
    b.mood.serve = 1.0;
    b.drain();
    b.mood.serve = 0.0;
    for (l1, line) in lines.iter().enumerate() {
        let ask = b.ask(l1 % 4, op::WR, false, 1, *line).expect("room");
        b.offer(ask);
        (0..6).for_each(|_| b.cycle());
        assert_eq!(used(&b), [(1 + l1 as u32).min(p.tsm.l2_mshrs), 0]);
    }
    b.mood.serve = 1.0;
    b.drain();
    assert_eq!(b.answers.len(), asks.len() + lines.len());
}

/// A roll is acknowledged as soon as the sets are swept, whatever memory owes; the locked block stays and is dropped by its old answer.
#[test]
fn rolls_do_not_wait_for_memory() {
    let mut b = quick(&small(16), 8);
    let (one, two) = (b.lines[0], b.lines[1]);
    read(&mut b, 0, one);
    read(&mut b, 1, two);
    b.keep = true;
    b.mood.serve = 0.0;
    let ask = b.ask(0, op::WR, false, 1, one).expect("room");
    b.offer(ask);
    (0..10).for_each(|_| b.cycle());
    let held = b.hold_answer();
    b.start_roll();
    b.mood.roll_step = 1.0;
    let start = b.sim.cycle();
    while !b.rolled() {
        b.cycle();
        assert!(b.sim.cycle() < start + 60, "the acknowledgement waits for memory");
    }
    let states: Vec<(u64, u64)> = b.blocks().iter().map(|x| (x.2, x.3)).collect();
    assert_eq!(states, vec![(one, 2)], "only the locked block is left");
    assert_eq!((b.peek("epoch"), b.peek("cts"), b.counter("l2_rolls")), (1, 0, 1));
    assert_eq!(b.counter("l2_sweep_cycles"), u64::from(small(16).sets()));
    b.release(held);
    (0..20).for_each(|_| b.cycle());
    assert_eq!(
        (b.answers.len(), b.blocks().len(), b.answers[0].epoch),
        (1, 0, 0),
        "completed with its old stamps"
    );
    b.drain();
}

/// A command to invalidate takes a cycle per set; writing back is nothing for a write-through bank.
#[test]
fn maintenance() {
    for coherence in [Coherence::None, Coherence::Mgcc] {
        let p = L2Params { coherence, size: 4096, ..small(16) };
        let mut b = quick(&p, 9);
        let lines = [&b.lines[..4], &b.lines[12..14]].concat();
        lines.iter().for_each(|line| {
            read(&mut b, 0, *line);
        });
        assert_eq!(b.blocks().len(), 4 + 2, "two sets of the test");
        assert!(b.command(1) < 8, "nothing to write back");
        assert_eq!(b.blocks().len(), 6);
        let cycles = b.command(0);
        assert!((16..26).contains(&cycles), "16 sets in {cycles} cycles");
        assert_eq!(b.blocks().len(), 0);
        let a = read(&mut b, 0, lines[0]);
        assert!(a.from_memory);
        // A locked block stays locked.
        b.mood.serve = 0.0;
        b.keep = true;
        let ask = b.ask(1, op::WR, false, 1, lines[0]).expect("room");
        b.offer(ask);
        (0..10).for_each(|_| b.cycle());
        b.command(0);
        assert_eq!(b.blocks().iter().map(|x| x.3).collect::<Vec<_>>(), vec![2]);
        b.mood.serve = 1.0;
        b.drain();
        assert_eq!(b.maint_done, 3);
    }
}

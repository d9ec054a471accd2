//! `reqtracker` against its golden model, cycle by cycle: what is issued, what leaves, in which order, with random back-pressure and epochs.
//!
//! Rows hit: all of `mgcc.reqtracker.*`. Races: an attached read answers before and after its write, a write waits for it, an overflow before and after DRAM's answer, a
//! promotion by age, a blocked head, a note that is dropped.

use crate::wire::{layout, line_data, small_tsm, wide, work_of};
use rand::Rng;
use std::collections::{BTreeMap, VecDeque};
use weft_mgcc::choice::{Coherence, Consistency};
use weft_mgcc::msg::{DramReq, DramRsp, TsmOp, TsuReq, TsuRsp, UmcReq, UmcRsp};
use weft_mgcc::params::Tsm;
use weft_mgcc::reqtracker::{TrackerParams, WrspData, reqtracker};
use weft_mgcc_bench::bench::{Bench, Msg, random_bits};
use weft_mgcc_bench::golden;
use weft_mgcc_bench::golden::msg::{Data, Op};
use weft_mgcc_bench::golden::tracker::{State, Tracker};
use weft_mgcc_bench::golden::tsu::{Grant, Tsu, TsuOp};
use weft_mgcc_bench::golden::umc::Dram;
use weft_rtl::bv::Bv;

fn small(consistency: Consistency) -> TrackerParams {
    let tsm = small_tsm();
    TrackerParams { entries: 9, age_max: 5, ..TrackerParams::published(tsm, consistency) }
}

/// The registers of the block that tell what happened in a cycle.
struct Registers {
    hi: u64,
    lo: u64,
    dram_done: u64,
    granted: u64,
    overflowed: u64,
    answered: u64,
    staged: bool,
    stage_dram: bool,
    stage_tsu: bool,
}

impl Registers {
    fn read(b: &Bench) -> Registers {
        let peek = |name: &str| b.sim.peek(name).map_or(0, |v| v.low_u64());
        Registers {
            hi: peek("state_hi"),
            lo: peek("state_lo"),
            dram_done: peek("dram_done"),
            granted: peek("granted"),
            overflowed: peek("overflowed"),
            answered: peek("answered"),
            staged: peek("issue_valid") == 1,
            stage_dram: peek("issue_dram") == 1,
            stage_tsu: peek("issue_tsu") == 1,
        }
    }
    fn state(&self, i: u32) -> u64 {
        (self.hi >> i & 1) << 1 | (self.lo >> i & 1)
    }
}

/// A block, its golden model, and models of what is around it.
struct Harness {
    p: TrackerParams,
    b: Bench,
    tracker: Tracker,
    tsu: Tsu,
    dram: Dram,
    /// Golden slot of an entry, and the message that it holds.
    slots: BTreeMap<u32, (usize, Msg)>,
    /// Messages taken that have not entered.
    entering: VecDeque<Msg>,
    notes: Vec<Msg>,
    expected_dram: VecDeque<(u64, Msg)>,
    expected_tsu: VecDeque<(u64, golden::tsu::TsuReq)>,
    expected_rsp: VecDeque<golden::msg::UmcRsp>,
    /// Answers on their way: (cycle, message); of the TSU in order.
    dram_back: Vec<(u64, Msg)>,
    tsu_back: VecDeque<(u64, Msg)>,
    /// Grants by entry, and the epoch in which they were made.
    grants: BTreeMap<u32, (Grant, u64)>,
    lines: BTreeMap<u32, (Data, u64)>,
    /// Transactions that a GPU has open, with line and epoch of the request.
    open: BTreeMap<(u64, u64), (u64, u64)>,
    choices: Vec<u64>,
    clocks: Vec<u64>,
    checked: u64,
    answers: u64,
    dram_delay: u64,
    tsu_delay: u64,
    roll_at: Option<u64>,
    rolls: u64,
}

impl Harness {
    fn new(p: &TrackerParams, seed: u64) -> Harness {
        let t = &p.tsm;
        let mut b = Bench::new(&reqtracker(p).expect("legal parameters"), seed);
        b.source::<UmcReq>("req", t);
        b.source::<DramRsp>("dram_rsp", t);
        b.sink::<UmcRsp>("rsp", t);
        b.sink::<DramReq>("dram_req", t);
        let coherent = p.coherence == Coherence::Mgcc;
        if coherent {
            b.source::<TsuRsp>("tsu_rsp", t);
            b.sink::<TsuReq>("tsu_req", t);
            b.set("epoch", 0);
        }
        let widths = golden::time::Widths { ts: t.ts, eb: t.eb };
        let tracker = golden::tracker::TrackerParams {
            // An entry whose answer has left may stay for its reads; the model frees it.
            entries: 2 * p.entries as usize,
            age_max: p.age_max,
            sc: p.consistency == Consistency::Sc,
            merge_raw: p.merge_raw,
            coherent,
            wrsp_always: p.wrsp_data == WrspData::Always,
            layout: layout(t),
            widths,
        };
        let tsu =
            golden::tsu::TsuParams { sets: 2, ways: 2, widths, accumulate: true, exact: true, inject: None };
        let choices = (0..7).map(|_| b.rng.random_range(0..1 << t.line_bits())).collect();
        Harness {
            p: p.clone(),
            b,
            tracker: Tracker::new(tracker),
            tsu: Tsu::new(tsu),
            dram: Dram::new(|line| Data::from_words([line; 8])),
            slots: BTreeMap::new(),
            entering: VecDeque::new(),
            notes: Vec::new(),
            expected_dram: VecDeque::new(),
            expected_tsu: VecDeque::new(),
            expected_rsp: VecDeque::new(),
            dram_back: Vec::new(),
            tsu_back: VecDeque::new(),
            grants: BTreeMap::new(),
            lines: BTreeMap::new(),
            open: BTreeMap::new(),
            choices,
            clocks: vec![0; t.gpus as usize],
            checked: 0,
            answers: 0,
            dram_delay: 20,
            tsu_delay: 10,
            roll_at: None,
            rolls: 0,
        }
    }

    fn coherent(&self) -> bool {
        self.p.coherence == Coherence::Mgcc
    }

    /// A request of a GPU that has no transaction of the line open, or a note.
    fn request(&mut self) -> Option<Msg> {
        let (t, rng) = (&self.p.tsm, &mut self.b.rng);
        let src = rng.random_range(0..u64::from(t.gpus));
        let line = self.choices[rng.random_range(0..self.choices.len())];
        let epoch = self.tsu.epoch();
        let behind = u64::from(epoch > 0 && rng.random_bool(0.1));
        // An L2 bank in the epoch after this one has had its Roll before the TSU.
        let ahead = self.roll_at.is_some() && !self.open.values().any(|open| open.1 + 5 <= self.rolls);
        let tag = epoch - behind + u64::from(ahead && rng.random_bool(0.3));
        let clock = &mut self.clocks[src as usize];
        *clock = (*clock + rng.random_range(0..4)).min(t.ts_max());
        let ts = if self.p.coherence == Coherence::Mgcc { *clock } else { 0 };
        let tag = if self.p.coherence == Coherence::Mgcc { tag % (1 << t.eb) } else { 0 };
        let fields =
            |op, txn| [("op", op), ("src", src), ("txn", txn), ("line", line), ("tag", tag), ("ts", ts)];
        if self.p.coherence == Coherence::Mgcc && rng.random_bool(0.1) {
            return Some(Msg::of::<UmcReq>(t, &fields(TsmOp::Evict as u64, 0)));
        }
        if self.open.iter().any(|((gpu, _), open)| *gpu == src && open.0 == line) {
            return None;
        }
        let txn = (0..u64::from(t.l2_mshrs)).find(|txn| !self.open.contains_key(&(src, *txn)))?;
        self.open.insert((src, txn), (line, epoch));
        let op = [0, 0, 0, 1, 1, 2][rng.random_range(0..6)];
        let full = rng.random_bool(0.5);
        let mask = if full { Bv::ones(64) } else { random_bits(rng, 64) };
        let wide = rng.random_range(0..2u64);
        let word = rng.random_range(0..8) * 2 + if wide == 0 { rng.random_range(0..2) } else { 0 };
        let amo = rng.random_range(0..11);
        let data = random_bits(rng, 512);
        let m = Msg::of::<UmcReq>(t, &fields(op, txn)).with("mask", mask).with("data", data);
        let word =
            [("wide", Bv::from_u64(wide, 1)), ("word", Bv::from_u64(word, 4)), ("amo", Bv::from_u64(amo, 4))];
        Some(word.into_iter().fold(m, |m, (name, value)| m.with(name, value)))
    }

    fn golden(m: &Msg) -> golden::msg::UmcReq {
        let (src, txn) = (m.get("src") as u32, m.get("txn") as u32);
        golden::msg::UmcReq {
            src,
            txn,
            line: m.get("line"),
            tag: m.get("tag"),
            ts: m.get("ts"),
            work: work_of(m),
        }
    }

    /// One cycle of everything; `more`: new requests are made.
    fn step(&mut self, more: bool) {
        self.around(more);
        let before = Registers::read(&self.b);
        let dram_held = self.b.get("dram_req_valid") == 1;
        let tsu_held = self.coherent() && self.b.get("tsu_req_valid") == 1;
        self.b.step();
        let after = Registers::read(&self.b);
        if let Some(m) = self.b.taken("req") {
            if m.get("op") == TsmOp::Evict as u64 { self.notes.push(m) } else { self.entering.push_back(m) }
        }
        let dram_free = !dram_held || self.b.sink_mut("dram_req").is_ready;
        let tsu_free = !tsu_held || self.b.sink_mut("tsu_req").is_ready;
        let goes = (!before.stage_dram || dram_free) && (!before.stage_tsu || tsu_free);
        self.issues(&before, &after, !before.staged || goes);
        self.results(&before, &after);
        self.arrivals(&before, &after);
        self.outputs();
    }

    /// Answers of DRAM and TSU, rolls, requests.
    fn around(&mut self, more: bool) {
        let now = self.b.sim.cycle();
        while let Some(i) = self.dram_back.iter().position(|(at, _)| *at <= now) {
            let (_, m) = self.dram_back.swap_remove(i);
            self.b.send("dram_rsp", m);
        }
        while self.tsu_back.front().is_some_and(|(at, _)| *at <= now) {
            let (_, m) = self.tsu_back.pop_front().expect("seen");
            self.b.send("tsu_rsp", m);
        }
        if self.coherent() {
            if self.roll_at.is_none() && self.b.rng.random_bool(0.0005) {
                self.roll_at = Some(now + 30);
            }
            // A message never outlives 7 rolls, here 5.
            let old = self.open.values().any(|open| open.1 + 5 <= self.rolls);
            if self.roll_at.is_some_and(|at| at <= now) && !old {
                self.roll_at = None;
                self.roll(self.rolls + 1);
            }
            let tag = self.tsu.epoch() % (1 << self.p.tsm.eb);
            self.b.set("epoch", tag);
        }
        if more
            && self.b.source_mut("req").queue.len() < 2
            && let Some(m) = self.request()
        {
            self.b.send("req", m);
        }
    }

    fn roll(&mut self, epoch: u64) {
        if epoch > self.rolls {
            self.rolls = epoch;
            self.clocks.iter_mut().for_each(|clock| *clock = 0);
        }
        self.tsu.roll(epoch);
    }

    /// What entered the issue stage in this cycle is what the model chooses.
    fn issues(&mut self, before: &Registers, after: &Registers, room: bool) {
        let epoch = self.tsu.epoch();
        let retries = self.tracker.retries(epoch);
        let choices = self.tracker.choices(epoch);
        let n = self.p.entries;
        let fresh = (0..n).find(|i| before.state(*i) == 1 && after.state(*i) != 1);
        let again = (0..n).find(|i| before.overflowed >> i & 1 == 1 && after.overflowed >> i & 1 == 0);
        let now = self.b.sim.cycle();
        assert!(fresh.is_none() || again.is_none(), "cycle {now}: one operation per cycle");
        if let Some(i) = again {
            let slot = self.slots[&i].0;
            assert!(retries.contains(&slot), "cycle {now}: entry {i} asks the TSU again");
            let req = self.tracker.retry(slot);
            self.expected_tsu.push_back((u64::from(i), req));
        } else if let Some(i) = fresh {
            let (slot, m) = self.slots[&i].clone();
            assert!(room && retries.is_empty());
            assert_eq!(choices.first(), Some(&slot), "cycle {now}: entry {i} is issued, choices {choices:?}");
            let issue = self.tracker.issue(slot);
            let attached = self.tracker.entry(slot).expect("issued").state == State::Attached;
            assert_eq!(after.state(i), if attached { 3 } else { 2 });
            self.expected_tsu.extend(issue.tsu.map(|req| (u64::from(i), req)));
            self.expected_dram.extend(issue.dram.map(|_| (u64::from(i), m)));
            self.checked += u64::from(choices.len() == 1);
        } else {
            assert!(
                !room || (choices.is_empty() && retries.is_empty()),
                "cycle {now}: {choices:?} wait, none is issued"
            );
        }
    }

    /// Results that came and answers that left.
    fn results(&mut self, before: &Registers, after: &Registers) {
        for i in 0..self.p.entries {
            let rose = |of: fn(&Registers) -> u64| of(before) >> i & 1 == 0 && of(after) >> i & 1 == 1;
            if rose(|r| r.granted) || rose(|r| r.overflowed) {
                let (grant, epoch) = self.grants.remove(&i).expect("the TSU has answered it");
                self.tracker.tsu(self.slots[&i].0, grant, epoch);
            }
            if rose(|r| r.dram_done) {
                let (data, old) = self.lines.remove(&i).expect("DRAM has answered it");
                self.tracker.dram(self.slots[&i].0, data, old);
            }
        }
        for i in 0..self.p.entries {
            let rose = before.answered >> i & 1 == 0 && after.answered >> i & 1 == 1;
            let left = before.state(i) == 3 && after.state(i) == 0;
            if rose && self.slots.contains_key(&i) || left {
                let (slot, m) = self.slots.remove(&i).expect("it was there");
                let rsp = self.tracker.respond(slot);
                self.open.remove(&(m.get("src"), m.get("txn")));
                self.expected_rsp.push_back(rsp);
            }
        }
    }

    fn arrivals(&mut self, before: &Registers, after: &Registers) {
        for i in (0..self.p.entries).filter(|i| before.state(*i) == 0 && after.state(*i) == 1) {
            let lowest = (0..self.p.entries).find(|j| before.state(*j) == 0);
            assert_eq!(lowest, Some(i), "the lowest free entry is taken");
            let m = self.entering.pop_front().expect("something was taken");
            let slot = self.tracker.arrive(Harness::golden(&m)).expect("there is room");
            self.slots.insert(i, (slot, m));
        }
    }

    /// Everything that leaves is what the model says, in order.
    fn outputs(&mut self) {
        let now = self.b.sim.cycle();
        while let Some((_, m)) = self.b.received("dram_req") {
            let (id, sent) = self.expected_dram.pop_front().expect("something was issued");
            let op = sent.get("op");
            let same: &[&str] = match op {
                0 => &["op", "line"],
                1 => &["op", "line", "mask", "data"],
                _ => &["op", "line", "amo", "sgn", "word", "wide", "data"],
            };
            assert_eq!(m.get("id"), id);
            same.iter().for_each(|name| assert_eq!(m.wide(name), sent.wide(name), "{name}"));
            let (data, old) = self.dram.perform(m.get("line"), &work_of(&m));
            self.lines.insert(id as u32, (data, old));
            let at = now + self.b.rng.random_range(0..=self.dram_delay);
            let rsp = Msg::of::<DramRsp>(&self.p.tsm, &[("id", id), ("old", old)]);
            self.dram_back.push((at, rsp.with("data", wide(&data))));
        }
        if self.coherent() {
            while let Some((_, m)) = self.b.received("tsu_req") {
                self.operate(&m, now);
            }
        }
        while let Some((_, m)) = self.b.received("rsp") {
            let want = self.expected_rsp.pop_front().expect("an answer has left");
            let op = [Op::Read, Op::Write, Op::Atomic][m.get("op") as usize];
            let data = (m.get("with_data") == 1).then(|| line_data(m.wide("data")));
            let old = if op == Op::Atomic { m.get("old") } else { 0 };
            let (dst, txn) = (m.get("dst") as u32, m.get("txn") as u32);
            let (tag, wts, rts) = (m.get("tag"), m.get("wts"), m.get("rts"));
            assert_eq!(golden::msg::UmcRsp { op, dst, txn, tag, wts, rts, data, old }, want);
            let clock = &mut self.clocks[dst as usize];
            *clock = (*clock).max(wts);
            self.answers += 1;
        }
    }

    fn operate(&mut self, m: &Msg, now: u64) {
        let t = self.p.tsm.clone();
        let op = match m.get("op") {
            0 => TsuOp::Read,
            3 => TsuOp::Evict,
            _ => TsuOp::Write,
        };
        let req = golden::tsu::TsuReq { op, line: m.get("line"), tag: m.get("tag"), ts: m.get("ts") };
        if op == TsuOp::Evict {
            let layout =
                golden::layout::Layout { banks: u64::from(t.banks), lanes: u64::from(t.lanes), il: t.il };
            let same = |n: &Msg| {
                layout.in_lane(n.get("line")) == req.line && n.get("tag") == req.tag && n.get("ts") == req.ts
            };
            let place = self.notes.iter().position(same).expect("a note that was sent");
            self.notes.remove(place);
            self.tsu.operate(&req, 10, 5);
            let epoch = self.tsu.epoch();
            self.roll(epoch);
            return;
        }
        let (id, want) = self.expected_tsu.pop_front().expect("something was issued");
        assert_eq!((m.get("id"), req), (id, want));
        let (rd, wr) = (self.b.rng.random_range(1..6), self.b.rng.random_range(1..4));
        let grant = self.tsu.operate(&req, rd, wr).expect("reads and writes are answered");
        let epoch = self.tsu.epoch();
        self.roll(epoch);
        if grant.ask && self.roll_at.is_none() {
            self.roll_at = Some(now + self.b.rng.random_range(1..200));
        }
        self.grants.insert(id as u32, (grant, epoch));
        let fields = [
            ("id", id),
            ("tag", grant.tag),
            ("wts", grant.wts),
            ("rts", grant.rts),
            ("ovf", u64::from(grant.ovf)),
        ];
        let at =
            self.tsu_back.back().map_or(0, |b| b.0).max(now + self.b.rng.random_range(0..=self.tsu_delay));
        self.tsu_back.push_back((at, Msg::of::<TsuRsp>(&t, &fields)));
    }

    fn run(&mut self, cycles: u64) {
        for cycle in 0..cycles {
            if cycle % 400 == 0 {
                let mut chance = |slow: f64| match self.b.rng.random_range(0..4) {
                    0 => slow,
                    1 => 1.0,
                    _ => self.b.rng.random_range(0.1..1.0),
                };
                let (req, rsp, dram, tsu) = (chance(0.05), chance(0.05), chance(0.02), chance(0.02));
                self.b.source_mut("req").chance = req;
                self.b.sink_mut("rsp").chance = rsp;
                self.b.sink_mut("dram_req").chance = dram;
                if self.coherent() {
                    self.b.sink_mut("tsu_req").chance = tsu;
                }
                self.dram_delay = self.b.rng.random_range(0..60);
                self.tsu_delay = self.b.rng.random_range(0..60);
            }
            self.step(true);
        }
        for cycle in 0..20_000 {
            self.step(false);
            if self.open.is_empty() && self.expected_rsp.is_empty() && cycle > 500 {
                break;
            }
        }
        assert!(self.open.is_empty() && self.expected_rsp.is_empty(), "still open: {:?}", self.open);
    }
}

fn all_covered(runs: &[Harness]) {
    let missed = |h: &Harness| h.b.uncovered(&[]);
    let mut left = missed(&runs[0]);
    runs.iter().for_each(|h| left.retain(|name| missed(h).contains(name)));
    assert_eq!(left, [""; 0]);
}

fn random(p: &TrackerParams, seeds: std::ops::Range<u64>) -> Vec<Harness> {
    seeds
        .map(|seed| {
            let mut h = Harness::new(p, seed);
            h.run(20_000);
            assert!(h.answers > 600 && h.checked > 500, "{} answers, {} choices", h.answers, h.checked);
            h
        })
        .collect()
}

#[test]
fn sc_issues_by_timestamp_and_merges_reads() {
    let runs = random(&small(Consistency::Sc), 0..3);
    assert!(runs.iter().all(|h| h.b.counted("trk_merged") > 50 && h.b.counted("trk_sc_head_stalls") > 100));
    all_covered(&runs);
}

#[test]
fn sc_without_merging() {
    random(&TrackerParams { merge_raw: false, ..small(Consistency::Sc) }, 10..12);
}

#[test]
fn rc_issues_by_arrival() {
    let runs = random(&small(Consistency::Rc), 20..22);
    assert!(runs.iter().all(|h| h.b.counted("trk_merged") == 0));
}

#[test]
fn rc_with_merging_and_lines_in_every_answer() {
    random(&TrackerParams { merge_raw: true, wrsp_data: WrspData::Always, ..small(Consistency::Rc) }, 30..32);
}

#[test]
fn ages_of_one_and_many_entries() {
    random(&TrackerParams { age_max: 1, entries: 4, ..small(Consistency::Sc) }, 40..41);
    random(&TrackerParams { age_max: 40, entries: 32, ..small(Consistency::Sc) }, 42..43);
}

#[test]
fn without_coherence_there_is_no_tsu() {
    let p = TrackerParams { coherence: Coherence::None, ..small(Consistency::Rc) };
    let module = reqtracker(&p).expect("legal parameters");
    assert!(module.port("tsu_req_valid").is_none() && module.port("epoch").is_none());
    random(&p, 50..52);
}

/// One request per cycle goes through when every line is free.
#[test]
fn one_issue_per_cycle() {
    let mut h = Harness::new(&TrackerParams { entries: 32, ..small(Consistency::Rc) }, 60);
    (h.dram_delay, h.tsu_delay) = (0, 0);
    for i in 0..200u64 {
        let fields =
            [("op", 0), ("src", i % 4), ("txn", i / 4 % 16), ("line", 1000 + i), ("tag", 0), ("ts", 0)];
        h.open.insert((i % 4, i / 4 % 16), (1000 + i, 0));
        h.b.send("req", Msg::of::<UmcReq>(&h.p.tsm, &fields));
    }
    let start = h.b.sim.cycle();
    while h.answers < 200 {
        h.step(false);
    }
    assert!(h.b.sim.cycle() - start < 230, "{} cycles", h.b.sim.cycle() - start);
}

#[test]
fn the_fields_of_an_entry_are_those_of_the_specification() {
    let p = TrackerParams::published(Tsm::default(), Consistency::Sc);
    let area = weft_rtl::area::area(&reqtracker(&p).expect("legal parameters"));
    let bits = |name: &str| area.memories.iter().find(|m| m.name == name).map_or(0, |m| m.bits);
    assert_eq!(bits("lines"), 32 * 42);
    assert_eq!(bits("info"), 32 * (2 + 2 + 6 + 4 + 16));
    assert_eq!(bits("results"), 32 * (512 + 64));
    let field = |name: &str| area.fields.iter().filter(|f| f.field == name).map(|f| f.bits).sum::<u64>();
    assert_eq!(field("state"), 2 * 32);
}

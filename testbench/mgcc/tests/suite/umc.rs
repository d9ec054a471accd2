//! `umc-lane` and `umc`: random GPUs with clocks, a memory that reorders, leases that change, rolls; every grant obeys the rule of logical time (mgcc.md section 3) and
//! every line is what the writes up to its time have made of it. The published slips of the TSU are noticed.

use crate::wire::{layout, line_data, small_tsm, wide, work_of};
use rand::Rng;
use std::collections::BTreeMap;
use weft_mgcc::choice::{Coherence, Consistency, Inject};
use weft_mgcc::msg::{DramReq, DramRsp, Roll, RollAck, TsmOp, UmcReq, UmcRsp};
use weft_mgcc::params::Tsm;
use weft_mgcc::reqtracker::{TrackerParams, WrspData};
use weft_mgcc::tsu::{RdExtend, TsuParams, TsuWts};
use weft_mgcc::umc::{LaneParams, umc, umc_lane};
use weft_mgcc_bench::bench::{Bench, Msg, random_bits};
use weft_mgcc_bench::golden::msg::{Data, Work};
use weft_mgcc_bench::golden::time::Widths;
use weft_mgcc_bench::golden::umc::Dram;
use weft_rtl::bv::Bv;

type Time = (u64, u64);

fn small(consistency: Consistency) -> LaneParams {
    let tsm = small_tsm();
    LaneParams {
        tracker: TrackerParams {
            entries: 8,
            age_max: 6,
            ..TrackerParams::published(tsm.clone(), consistency)
        },
        tsu: TsuParams { sets: 1, ways: 4, latency: 9, ..TsuParams::published(tsm) },
    }
}

fn initial(line: u64) -> Data {
    Data::from_words([line; 8])
}

/// A transaction that was answered.
struct Answered {
    line: u64,
    work: Work,
    wts: Time,
    rts: Time,
    data: Option<Data>,
    old: u64,
}

/// A GPU: the epoch and clock of its bank, its open transactions by number with their messages, last leases by line.
#[derive(Default)]
struct Gpu {
    epoch: u64,
    clock: u64,
    open: BTreeMap<u64, (u64, Msg)>,
    leases: BTreeMap<u64, Time>,
}

struct Harness {
    p: LaneParams,
    b: Bench,
    whole: bool,
    gpus: Vec<Gpu>,
    dram: Dram,
    back: Vec<(u64, u32, Msg)>,
    lines: Vec<u64>,
    epoch: u64,
    /// A roll is open: when each GPU will have it, and whether the UMC has acknowledged it.
    rolling: Option<(Vec<u64>, bool)>,
    /// The last epoch whose end was asked for.
    asked: Option<u64>,
    answered: Vec<Answered>,
    /// Without stamps: results of DRAM by line, operation, and whether the answer has the line.
    results: Vec<(u64, u64, bool, Data, u64)>,
    complaint: Option<String>,
    delay: u64,
}

impl Harness {
    /// A UMC, or one lane of it with a port for all GPUs.
    fn new(p: &LaneParams, whole: bool, seed: u64) -> Harness {
        let t = &p.tracker.tsm;
        let module = if whole { umc(p) } else { umc_lane(p) };
        let mut b = Bench::new(&module.expect("legal parameters"), seed);
        let many = |n: u32, name: &str| -> Vec<String> {
            if whole { (0..n).map(|i| format!("{name}{i}")).collect() } else { vec![name.to_string()] }
        };
        many(t.gpus, "req").iter().for_each(|name| b.source::<UmcReq>(name, t));
        many(t.gpus, "rsp").iter().for_each(|name| b.sink::<UmcRsp>(name, t));
        many(t.lanes, "dram_req").iter().for_each(|name| b.sink::<DramReq>(name, t));
        many(t.lanes, "dram_rsp").iter().for_each(|name| b.source::<DramRsp>(name, t));
        if p.tracker.coherence == Coherence::Mgcc {
            b.source::<Roll>("roll", t);
            b.sink::<RollAck>("roll_ack", t);
            b.sink::<RollAck>("roll_ask", t);
        }
        let mut lines = Vec::new();
        let wanted = if whole { 6 * t.lanes as usize } else { 6 };
        while lines.len() < wanted {
            let line = b.rng.random_range(0..1 << t.line_bits());
            if layout(t).bank(line) == 1 && (whole || layout(t).lane(line) == 1) {
                lines.push(line);
            }
        }
        Harness {
            p: p.clone(),
            b,
            whole,
            gpus: (0..t.gpus).map(|_| Gpu::default()).collect(),
            dram: Dram::new(initial),
            back: Vec::new(),
            lines,
            epoch: 0,
            rolling: None,
            asked: None,
            answered: Vec::new(),
            results: Vec::new(),
            complaint: None,
            delay: 10,
        }
    }

    fn coherent(&self) -> bool {
        self.p.tracker.coherence == Coherence::Mgcc
    }
    fn port(&self, name: &str, i: usize) -> String {
        if self.whole { format!("{name}{i}") } else { name.to_string() }
    }
    fn ports(&self, count: u32) -> usize {
        if self.whole { count as usize } else { 1 }
    }

    /// A request of GPU `g`, or a note about a line that it holds.
    fn request(&mut self, g: usize) -> Option<Msg> {
        let (t, rng) = (&self.p.tracker.tsm, &mut self.b.rng);
        let gpu = &mut self.gpus[g];
        let line = self.lines[rng.random_range(0..self.lines.len())];
        if gpu.open.values().any(|(_, m)| m.get("line") == line) {
            return None;
        }
        if rng.random_bool(0.1) {
            gpu.clock = (gpu.clock + rng.random_range(0..4)).min(t.ts_max());
        }
        let stamped = self.p.tracker.coherence == Coherence::Mgcc;
        let tag = if stamped { gpu.epoch % (1 << t.eb) } else { 0 };
        let fields = |op, txn, ts| {
            [("op", op), ("src", g as u64), ("txn", txn), ("line", line), ("tag", tag), ("ts", ts)]
        };
        if stamped && rng.random_bool(0.3) {
            let (epoch, rts) = gpu.leases.remove(&line)?;
            let note = Msg::of::<UmcReq>(t, &fields(TsmOp::Evict as u64, 0, rts));
            return (epoch == gpu.epoch).then_some(note);
        }
        let txn = (0..u64::from(t.l2_mshrs)).find(|txn| !gpu.open.contains_key(txn))?;
        let op = [0, 0, 0, 1, 1, 2][rng.random_range(0..6)];
        let mask = if rng.random_bool(0.4) { Bv::ones(64) } else { random_bits(rng, 64) };
        let wide = rng.random_range(0..2u64);
        let word = rng.random_range(0..8) * 2 + if wide == 0 { rng.random_range(0..2) } else { 0 };
        let ts = if stamped { gpu.clock } else { 0 };
        let extra = [("wide", Bv::from_u64(wide, 1)), ("word", Bv::from_u64(word, 4))];
        let extra = extra.into_iter().chain([("amo", Bv::from_u64(rng.random_range(0..11), 4))]);
        let m =
            Msg::of::<UmcReq>(t, &fields(op, txn, ts)).with("sgn", Bv::from_u64(rng.random_range(0..2), 1));
        let m = m.with("mask", mask).with("data", random_bits(rng, 512));
        let m = extra.fold(m, |m, (name, value)| m.with(name, value));
        gpu.open.insert(txn, (gpu.epoch, m.clone()));
        Some(m)
    }

    fn step(&mut self, more: bool) {
        let now = self.b.sim.cycle();
        while let Some(i) = self.back.iter().position(|(at, _, _)| *at <= now) {
            let (_, lane, m) = self.back.swap_remove(i);
            let port = self.port("dram_rsp", lane as usize);
            self.b.send(&port, m);
        }
        for g in 0..self.gpus.len() {
            let port = self.port("req", g);
            if more
                && self.b.source_mut(&port).queue.len() < 2
                && self.b.rng.random_bool(0.3)
                && let Some(m) = self.request(g)
            {
                self.b.send(&port, m);
            }
        }
        if self.coherent() {
            self.rolls(now);
            if self.b.rng.random_bool(0.01) {
                let (rd, wr) = (self.b.rng.random_range(1..=10), self.b.rng.random_range(1..=5));
                self.b.set("rd_lease", rd);
                self.b.set("wr_lease", wr);
            }
        }
        self.b.step();
        for lane in 0..self.ports(self.p.tracker.tsm.lanes) {
            let port = self.port("dram_req", lane);
            while let Some((_, m)) = self.b.received(&port) {
                self.dram_request(lane as u32, &m, now);
            }
        }
        for port in 0..self.ports(self.p.tracker.tsm.gpus) {
            let name = self.port("rsp", port);
            while let Some((_, m)) = self.b.received(&name) {
                assert!(!self.whole || m.get("dst") == port as u64, "an answer at another GPU's port");
                self.answer(&m);
            }
        }
    }

    /// What the epoch controller does, and how the GPUs learn of it.
    fn rolls(&mut self, now: u64) {
        while let Some((_, m)) = self.b.received("roll_ask") {
            self.asked = self.asked.max(Some(m.get("epoch")));
        }
        let asked = self.asked == Some(self.epoch);
        let chance = if asked { 0.01 } else { 0.0003 };
        if self.rolling.is_none() && self.b.rng.random_bool(chance) {
            self.epoch += 1;
            let delays = (0..self.gpus.len()).map(|_| now + self.b.rng.random_range(0..120)).collect();
            self.rolling = Some((delays, false));
            let chance = self.b.rng.random_range(0.02..1.0);
            self.b.source_mut("roll").chance = chance;
            let m = Msg::of::<Roll>(&self.p.tracker.tsm, &[("epoch", self.epoch)]);
            self.b.send("roll", m);
        }
        let acked = self.b.received("roll_ack").is_some();
        let Some((delays, done)) = &mut self.rolling else { return };
        *done |= acked;
        for (gpu, at) in self.gpus.iter_mut().zip(delays.iter()) {
            if *at <= now && gpu.epoch < self.epoch {
                (gpu.epoch, gpu.clock) = (self.epoch, 0);
            }
        }
        // Nothing outlives 7 rolls: the next one waits for what is older than 4.
        let old = self.gpus.iter().flat_map(|g| g.open.values()).any(|(epoch, _)| epoch + 4 < self.epoch);
        if *done && !old && delays.iter().all(|at| *at <= now) {
            self.rolling = None;
        }
    }

    fn dram_request(&mut self, lane: u32, m: &Msg, now: u64) {
        let t = &self.p.tracker.tsm;
        let line = m.get("line");
        assert!(!self.whole || layout(t).lane(line) == lane as usize, "a line in another lane");
        let (data, old) = self.dram.perform(line, &work_of(m));
        if !self.coherent() {
            let carries = !matches!(work_of(m), Work::Write { mask: u64::MAX, .. });
            self.results.push((line, m.get("op"), carries, data, old));
        }
        let t = &self.p.tracker.tsm;
        let rsp = Msg::of::<DramRsp>(t, &[("id", m.get("id")), ("old", old)]);
        let rsp = rsp.with("data", wide(&data));
        let at = now + self.b.rng.random_range(0..=self.delay);
        self.back.push((at, lane, rsp));
    }

    fn answer(&mut self, m: &Msg) {
        let t = self.p.tracker.tsm.clone();
        let gpu = &mut self.gpus[m.get("dst") as usize];
        let (_, asked) = gpu.open.remove(&m.get("txn")).expect("one response per request");
        assert_eq!(m.get("op"), asked.get("op"));
        let line = asked.get("line");
        let carries = m.get("op") != 1
            || !asked.wide("mask").limbs().iter().all(|l| *l == u64::MAX)
            || self.p.tracker.wrsp_data == WrspData::Always;
        assert_eq!(m.get("with_data") == 1, carries);
        let data = carries.then(|| line_data(m.wide("data")));
        let old = m.get("old");
        let work = work_of(&asked);
        if self.p.tracker.coherence == Coherence::None {
            let same = |r: &(u64, u64, bool, Data, u64)| {
                (r.0, r.1, r.2) == (line, m.get("op"), carries)
                    && data.is_none_or(|d| d == r.3)
                    && (r.1 != 2 || r.4 == old)
            };
            let place = self.results.iter().position(same).expect("DRAM has given this");
            self.results.remove(place);
            return;
        }
        let epoch = Widths { ts: t.ts, eb: t.eb }.epoch_of(m.get("tag"), self.epoch);
        let (wts, rts) = (m.get("wts"), m.get("rts"));
        let of = Widths { ts: t.ts, eb: t.eb }.epoch_of(asked.get("tag"), self.epoch);
        let covers = if work == Work::Read { rts } else { wts };
        if wts > rts || (of == epoch && covers < asked.get("ts")) || epoch < of {
            self.complaint = Some(format!("[{wts},{rts}] of epoch {epoch} for {asked:?}"));
        }
        if gpu.epoch == epoch {
            gpu.clock = gpu.clock.max(wts);
            gpu.leases.insert(line, (epoch, rts));
        }
        self.answered.push(Answered { line, work, wts: (epoch, wts), rts: (epoch, rts), data, old });
    }

    fn run(mut self, cycles: u64) -> Harness {
        if self.coherent() {
            self.b.set("rd_lease", 10);
            self.b.set("wr_lease", 5);
        }
        for cycle in 0..cycles {
            if cycle % 300 == 0 {
                for sink in self.b.sinks.values_mut() {
                    sink.chance =
                        [0.05, 1.0, 1.0, self.b.rng.random_range(0.1..1.0)][self.b.rng.random_range(0..4)];
                }
                self.delay = self.b.rng.random_range(0..50);
            }
            self.step(true);
        }
        self.b.sinks.values_mut().for_each(|sink| sink.chance = 1.0);
        for _ in 0..5_000 {
            self.step(false);
        }
        let open: Vec<_> = self.gpus.iter().flat_map(|g| g.open.values()).collect();
        assert!(open.is_empty(), "never answered: {open:?}");
        self
    }

    /// The rule of logical time over everything that was answered.
    fn check(&self) -> Result<(), String> {
        if let Some(complaint) = &self.complaint {
            return Err(complaint.clone());
        }
        for line in &self.lines {
            let all: Vec<&Answered> = self.answered.iter().filter(|a| a.line == *line).collect();
            let mut writes: Vec<&Answered> = all.iter().copied().filter(|a| a.work != Work::Read).collect();
            writes.sort_by_key(|w| w.wts);
            if let Some(pair) = writes.windows(2).find(|pair| pair[0].wts == pair[1].wts) {
                return Err(format!("line {line:#x}: two writes at {:?}", pair[0].wts));
            }
            let mut memory = Dram::new(initial);
            let mut versions = vec![(initial(*line), 0)];
            versions.extend(writes.iter().map(|w| memory.perform(*line, &w.work)));
            for a in &all {
                let upto = |time: Time| writes.iter().filter(|w| w.wts <= time).count();
                let (first, last) = (upto(a.wts), upto(a.rts));
                if first != last {
                    return Err(format!("line {line:#x}: a write inside the lease {:?}..{:?}", a.wts, a.rts));
                }
                let (data, old) = versions[first];
                if a.data.is_some_and(|d| d != data) {
                    return Err(format!("line {line:#x} at {:?}: {:?} instead of {data:?}", a.wts, a.data));
                }
                if matches!(a.work, Work::Atomic(_)) && a.old != old {
                    return Err(format!("line {line:#x} at {:?}: old value {}", a.wts, a.old));
                }
            }
        }
        Ok(())
    }
}

fn sound(p: &LaneParams, whole: bool, seeds: std::ops::Range<u64>) {
    let (mut capacity, mut notes, mut overflows) = (0, 0, 0);
    for seed in seeds {
        let h = Harness::new(p, whole, seed).run(12_000);
        assert!(h.answered.len() > 700 && h.epoch > 3, "{} answers, {} rolls", h.answered.len(), h.epoch);
        h.check().unwrap_or_else(|complaint| panic!("seed {seed}: {complaint}"));
        capacity += h.b.counted("tsu_evictions_capacity");
        notes += h.b.counted("tsu_evictions_note");
        overflows += h.b.counted("tsu_overflows");
    }
    assert!(
        capacity > 50 && notes > 0 && overflows > 0,
        "{capacity} evictions, {notes} notes, {overflows} overflows"
    );
}

#[test]
fn a_lane_under_sc() {
    sound(&small(Consistency::Sc), false, 0..3);
}

#[test]
fn a_lane_under_rc() {
    sound(&small(Consistency::Rc), false, 10..12);
}

#[test]
fn a_umc_under_sc() {
    sound(&small(Consistency::Sc), true, 20..22);
}

#[test]
fn a_umc_under_rc_with_other_choices() {
    let p = small(Consistency::Rc);
    let tracker = TrackerParams { merge_raw: true, wrsp_data: WrspData::Always, ..p.tracker };
    let tsu = TsuParams { rd_extend: RdExtend::Cover, wts: TsuWts::Bound, ..p.tsu };
    sound(&LaneParams { tracker, tsu }, true, 30..32);
}

#[test]
fn one_gpu_with_one_lane() {
    let tsm = Tsm { gpus: 1, lanes: 1, ..small(Consistency::Rc).tracker.tsm };
    let p = small(Consistency::Rc);
    let p = LaneParams {
        tracker: TrackerParams { tsm: tsm.clone(), ..p.tracker },
        tsu: TsuParams { tsm, ..p.tsu },
    };
    let h = Harness::new(&p, true, 40).run(8_000);
    assert!(h.answered.len() > 300);
    h.check().expect("sound");
}

#[test]
fn without_coherence_memory_is_all_there_is() {
    let p = small(Consistency::Rc);
    let p = LaneParams { tracker: TrackerParams { coherence: Coherence::None, ..p.tracker }, ..p };
    let h = Harness::new(&p, true, 50).run(8_000);
    assert!(h.results.is_empty() && h.b.counted("trk_answers") > 700);
    assert_eq!(h.b.counted("tsu_reads"), 0);
}

#[test]
fn the_published_slips_are_noticed() {
    for inject in [Inject::LitMwts, Inject::LitNoTs, Inject::LitNoFloor, Inject::LitReinit] {
        let p = small(Consistency::Sc);
        // With few entries the floors follow the clocks, so that a TSU that ignores them is right most of the time.
        let sets = if inject == Inject::LitNoTs { 16 } else { 1 };
        let p = LaneParams { tsu: TsuParams { inject, sets, ..p.tsu }, ..p };
        let noticed =
            (60..64).filter(|seed| Harness::new(&p, false, *seed).run(6_000).check().is_err()).count();
        assert_eq!(noticed, 4, "{inject:?}");
    }
}

/// A DRAM channel's line per cycle goes through a lane; four requests at a time through a UMC of four lanes (mgcc.md section 7).
#[test]
fn every_lane_serves_a_line_per_cycle() {
    let tsm = Tsm { lanes: 4, ts: 16, ..small(Consistency::Rc).tracker.tsm };
    let p = LaneParams {
        tracker: TrackerParams { entries: 20, ..TrackerParams::published(tsm.clone(), Consistency::Rc) },
        tsu: TsuParams { sets: 64, ways: 8, ..TsuParams::published(tsm) },
    };
    let mut h = Harness::new(&p, true, 70);
    h.b.set("rd_lease", 10);
    h.b.set("wr_lease", 5);
    h.b.run(100);
    h.delay = 0;
    let t = h.p.tracker.tsm.clone();
    // GPU g reads lines of lane g only.
    let start = h.b.sim.cycle();
    for i in 0..16u64 {
        for g in 0..4u64 {
            let m = Msg::of::<UmcReq>(
                &t,
                &[("op", 0), ("src", g), ("txn", i), ("line", 64 + 4 * i + g), ("tag", 0), ("ts", 0)],
            );
            h.gpus[g as usize].open.insert(i, (0, m.clone()));
            h.b.send(&format!("req{g}"), m);
        }
    }
    while h.gpus.iter().any(|g| !g.open.is_empty()) {
        h.step(false);
    }
    // 50 cycles of the TSU, 16 requests, the stages of crossbars and lane.
    let cycles = h.b.sim.cycle() - start;
    assert!(cycles < 50 + 16 + 16, "{cycles} cycles");
}

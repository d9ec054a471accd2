//! Banks, homes, networks and command processor around one fence unit, with the golden unit beside it.

use crate::dir_support::*;
use rand::Rng;
use rand::rngs::SmallRng;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use weft_bench::Checked;
use weft_blocks::directory::fence::{FenceParams, fence_unit};
use weft_testbench::golden::fence::{FenceOut, FenceUnit, acks_per_fence};
use weft_testbench::golden::fence_table::FenceState;

/// `ReqKind::Fence`.
const FENCE: u64 = 3;
/// Commands to a bank.
const DRAIN: u64 = 0;
const FLUSH: u64 = 1;

/// A write in flight: epochs of the bank begun when it was sent, whether it is for another GPU, and its epoch in the golden unit.
pub struct Write {
    epoch: u64,
    remote: bool,
    pub golden: usize,
}

pub struct Bank {
    cmd: Receiver,
    done: Sender,
    order: Receiver,
    ordered: Sender,
    epoch: u64,
    writes: Vec<Write>,
    /// Command that is being carried out.
    doing: Option<u64>,
    drains: u64,
    flushes: u64,
    /// Token that the golden unit has sent and the hardware not yet.
    due: Option<u32>,
    token: Option<u32>,
}

/// What another GPU's fence still does here.
#[derive(Clone, Copy, Default)]
pub struct Foreign {
    /// Its request has not been answered by a marker.
    asked: bool,
    /// Acknowledgements that this receiver owes it.
    acks: u32,
}

pub struct Bench {
    pub p: FenceParams,
    pub sim: Checked,
    start: Sender,
    done: Receiver,
    req_in: Sender,
    rsp_in: Sender,
    mark_in: Sender,
    req_out: Receiver,
    rsp_out: Receiver,
    mark_out: Receiver,
    banks: Vec<Bank>,
    pub golden: FenceUnit,
    pub rows: BTreeMap<&'static str, u64>,
    /// Releases that no completion has covered, and completions due.
    pub releases: VecDeque<u64>,
    pub completions: VecDeque<u64>,
    pub released: u64,
    pub completed: u64,
    pub fences: u64,
    flushing: bool,
    /// FenceReqs and markers that the golden unit has sent and the hardware not yet.
    to_ask: BTreeSet<u32>,
    pub markers: VecDeque<u32>,
    /// The own marker of the fence in flight has not left.
    own_marker: bool,
    sending: bool,
    foreign: Vec<Foreign>,
    asking: u32,
    /// Acknowledgements that may come: by source on `rsp_in`, by requester on `mark_in`.
    pub responses: Vec<u32>,
    pub marks: Vec<u32>,
    pub acks_due: VecDeque<u32>,
    marking: u32,
    acked: u32,
    pub counts: [u64; 4],
}

impl Bench {
    pub fn new(gpus: u32, home: u32, banks: u32, flush: bool) -> Bench {
        Bench::of(FenceParams { sys: small_sys(gpus, banks), home, flush, early: false })
    }

    pub fn of(p: FenceParams) -> Bench {
        let (gpus, home, banks, flush) = (p.sys.gpus, p.home, p.sys.banks, p.flush);
        let sim = sim(&fence_unit(&p).unwrap());
        let ends = ["src", "dst", "kind"];
        let bank = |b| Bank {
            cmd: Receiver::new(&sim, &format!("cmd{b}"), &["op"]),
            done: Sender::new(&sim, &format!("done{b}"), &["op"]),
            order: Receiver::new(&sim, &format!("order{b}"), &["requester"]),
            ordered: Sender::new(&sim, &format!("ordered{b}"), &["requester"]),
            epoch: 0,
            writes: Vec::new(),
            doing: None,
            drains: 0,
            flushes: 0,
            due: None,
            token: None,
        };
        Bench {
            start: Sender::new(&sim, "start", &["seq"]),
            done: Receiver::new(&sim, "done", &["seq"]),
            req_in: Sender::new(&sim, "req_in", &ends),
            rsp_in: Sender::new(&sim, "rsp_in", &ends),
            mark_in: Sender::new(&sim, "mark_in", &["requester"]),
            req_out: Receiver::new(&sim, "req_out", &ends),
            rsp_out: Receiver::new(&sim, "rsp_out", &ends),
            mark_out: Receiver::new(&sim, "mark_out", &["requester"]),
            banks: (0..banks).map(bank).collect(),
            golden: FenceUnit::new(home, gpus, banks, flush),
            rows: BTreeMap::new(),
            releases: VecDeque::new(),
            completions: VecDeque::new(),
            released: 0,
            completed: 0,
            fences: 0,
            flushing: false,
            to_ask: BTreeSet::new(),
            markers: VecDeque::new(),
            own_marker: false,
            sending: false,
            foreign: vec![Foreign::default(); gpus as usize],
            asking: 0,
            responses: Vec::new(),
            marks: Vec::new(),
            acks_due: VecDeque::new(),
            marking: 0,
            acked: 0,
            counts: [0; 4],
            p,
            sim,
        }
    }

    /// Rows and messages of the golden unit since the last call.
    pub fn follow(&mut self) {
        let (rows, out) = self.golden.take();
        rows.iter().for_each(|r| *self.rows.entry(r.id).or_default() += 1);
        for message in out {
            match message {
                FenceOut::StartFlush => self.flushing = true,
                FenceOut::FenceReq { to } => {
                    assert!(self.to_ask.insert(to));
                    (self.own_marker, self.sending) = (true, true);
                }
                FenceOut::Order { bank, requester } => {
                    assert_eq!(self.banks[bank as usize].due.replace(requester), None);
                }
                FenceOut::Broadcast { requester } => self.markers.push_back(requester),
                FenceOut::Complete { releases } => {
                    let mut covered = self.releases.drain(..releases as usize);
                    self.completions.push_back(covered.next_back().expect("a fence has a release"));
                    assert_eq!(self.acked, acks_per_fence(self.p.sys.gpus), "acknowledgements of a fence");
                    self.acked = 0;
                    self.fences += 1;
                }
            }
        }
    }

    /// The markers of the own fence leave GPU `source` for all its receivers.
    pub fn markers_leave(&mut self, source: u32) {
        for receiver in (0..self.p.sys.gpus).filter(|g| *g != source) {
            if receiver == self.p.home {
                self.marks.push(self.p.home);
            } else {
                self.responses.push(receiver);
            }
        }
        if self.to_ask.is_empty() && !self.own_marker && std::mem::take(&mut self.sending) {
            self.golden.sent().unwrap();
            self.follow();
        }
    }

    pub fn outputs(&mut self, mut ready: impl FnMut() -> bool) {
        self.messages(&mut ready);
        self.completion(ready());
    }

    /// All but completions.
    pub fn messages(&mut self, ready: &mut impl FnMut() -> bool) {
        let home = self.p.home;
        for b in 0..self.banks.len() {
            self.bank_outputs(b, ready(), ready());
        }
        if let Some(m) = self.req_out.take(&mut self.sim, ready()) {
            assert_eq!((m[0], m[2]), (u64::from(home), FENCE));
            let to = m[1] as u32;
            assert!(self.to_ask.remove(&to), "FenceReq to {to} too early, or twice");
            self.counts[0] += 1;
            self.markers_leave(to);
        }
        if let Some(m) = self.mark_out.take(&mut self.sim, ready()) {
            self.marker_leaves(m[0] as u32);
        }
        if let Some(m) = self.rsp_out.take(&mut self.sim, ready()) {
            assert_eq!((m[0], m[2]), (u64::from(home), FENCE));
            let to = self.acks_due.pop_front().expect("a FenceAck is due");
            assert_eq!(m[1], u64::from(to));
            self.foreign[to as usize].acks -= 1;
            self.counts[2] += 1;
        }
    }

    pub fn completion(&mut self, ready: bool) {
        if let Some(m) = self.done.take(&mut self.sim, ready) {
            let seq = self.completions.pop_front().expect("a completed fence");
            assert_eq!(m[0], seq % 256, "the last release covered");
            self.completed += 1;
        }
    }

    pub fn bank_outputs(&mut self, b: usize, cmd: bool, order: bool) {
        let bank = &mut self.banks[b];
        if let Some(m) = bank.cmd.take(&mut self.sim, cmd) {
            assert_eq!(bank.doing, None, "one command at a time");
            bank.doing = Some(m[0]);
            if m[0] == DRAIN {
                bank.epoch += 1;
                bank.drains += 1;
                assert_eq!(bank.drains, self.fences + 1, "one DRAIN per fence");
                assert_ne!(self.golden.state(), FenceState::Idle);
            } else {
                bank.flushes += 1;
                assert!(self.p.flush && self.flushing, "the flush comes when all banks are drained");
                assert_eq!((bank.flushes, bank.drains), (self.fences + 1, self.fences + 1));
            }
        }
        if let Some(m) = bank.order.take(&mut self.sim, order) {
            let requester = m[0] as u32;
            // The unit chooses whose marker comes next; its first token tells.
            if bank.due.is_none() {
                self.golden.confirm(requester).unwrap();
                self.follow();
            }
            let bank = &mut self.banks[b];
            assert_eq!(bank.due.take(), Some(requester), "one token for each bank");
            assert_eq!(bank.token.replace(requester), None, "one token at a time");
        }
    }

    pub fn marker_leaves(&mut self, requester: u32) {
        let confirmed = self.markers.pop_front();
        assert_eq!(confirmed, Some(requester), "a marker leaves when every bank has confirmed it");
        self.counts[1] += 1;
        if requester == self.p.home {
            assert!(std::mem::take(&mut self.own_marker), "one own marker per fence");
            self.markers_leave(requester);
        } else {
            self.foreign[requester as usize].asked = false;
        }
    }

    pub fn inputs(&mut self) {
        for b in 0..self.banks.len() {
            let bank = &mut self.banks[b];
            if bank.ordered.taken(&mut self.sim) {
                let requester = bank.token.take().unwrap();
                self.golden.ordered(b as u32, requester).unwrap();
            }
            let bank = &mut self.banks[b];
            if bank.done.taken(&mut self.sim) && bank.doing.take() == Some(FLUSH) {
                let all = self.banks.iter().all(|b| b.doing.is_none() && b.flushes == self.fences + 1);
                if all {
                    self.flushing = false;
                    self.golden.flush_done().unwrap();
                }
            }
        }
        if self.start.taken(&mut self.sim) {
            self.releases.push_back(self.released - 1);
            self.golden.release().unwrap();
        }
        if self.req_in.taken(&mut self.sim) {
            self.golden.fence_req(self.asking).unwrap();
        }
        if self.rsp_in.taken(&mut self.sim) {
            self.acked += 1;
        }
        if self.mark_in.taken(&mut self.sim) {
            if self.marking == self.p.home {
                self.acked += 1;
                self.counts[3] += 1;
            } else {
                self.acks_due.push_back(self.marking);
            }
        }
        self.follow();
    }

    pub fn register(&self, name: &str) -> u64 {
        self.sim.peek(name).and_then(|v| v.to_u64()).unwrap()
    }

    /// The clock edge. When the unit counts an acknowledgement it may choose, so the golden unit follows its counter.
    pub fn step(&mut self) {
        let before = (self.register("state"), self.register("acks"));
        self.sim.step();
        let banks = self.banks.iter().flat_map(|b| [&b.done, &b.ordered]);
        let others = [&self.start, &self.req_in, &self.rsp_in, &self.mark_in];
        banks.chain(others).for_each(|s| s.after(&mut self.sim));
        assert_sound(&self.sim);
        let after = (self.register("state"), self.register("acks"));
        let last = before.0 == FenceState::Wait as u64 && after.0 == FenceState::Idle as u64;
        if last || after.1 != before.1 {
            self.golden.ack().unwrap();
            assert_eq!(u64::from(self.golden.acks()), if last { 0 } else { before.1 + 1 });
            assert!(self.golden.acks() <= self.acked, "counted what has not arrived");
            self.follow();
        }
    }

    pub fn release(&mut self) {
        self.start.offer(&mut self.sim, &[self.released % 256]);
        self.released += 1;
    }

    /// Another GPU's fence request; the markers that reach this GPU for it come in any order.
    pub fn ask(&mut self, requester: u32) {
        let home = u64::from(self.p.home);
        self.req_in.offer(&mut self.sim, &[u64::from(requester), home, FENCE]);
        self.asking = requester;
        let others = self.p.sys.gpus - 1;
        self.foreign[requester as usize] = Foreign { asked: true, acks: others };
        self.marks.extend((0..others).map(|_| requester));
    }

    pub fn free_requesters(&self) -> Vec<u32> {
        let free = |g: &u32| {
            let f = self.foreign[*g as usize];
            *g != self.p.home && !f.asked && f.acks == 0
        };
        (0..self.p.sys.gpus).filter(free).collect()
    }

    pub fn respond(&mut self, at: usize) {
        let source = self.responses.swap_remove(at);
        self.rsp_in.offer(&mut self.sim, &[u64::from(source), u64::from(self.p.home), FENCE]);
    }

    pub fn mark(&mut self, at: usize) {
        self.marking = self.marks.swap_remove(at);
        self.mark_in.offer(&mut self.sim, &[u64::from(self.marking)]);
    }

    /// A bank answers what it can answer.
    pub fn bank_answers(&mut self, b: usize) {
        let bank = &mut self.banks[b];
        let drained = bank.writes.iter().all(|w| w.epoch == bank.epoch);
        if let Some(op) = bank.doing.filter(|op| bank.done.idle() && (*op == FLUSH || drained)) {
            bank.done.offer(&mut self.sim, &[op]);
        }
    }

    pub fn bank_orders(&mut self, b: usize) {
        let bank = &mut self.banks[b];
        if let Some(requester) = bank.token.filter(|_| bank.ordered.idle()) {
            bank.ordered.offer(&mut self.sim, &[u64::from(requester)]);
        }
    }

    pub fn write(&mut self, b: usize, remote: bool) {
        let golden = if remote { self.golden.write_sent() } else { self.golden.local_store() };
        let epoch = self.banks[b].epoch;
        self.banks[b].writes.push(Write { epoch, remote, golden });
    }

    pub fn complete_write(&mut self, b: usize, at: usize) {
        let write = self.banks[b].writes.swap_remove(at);
        if write.remote {
            self.golden.write_acked(write.golden).unwrap();
        } else {
            self.golden.local_store_done(write.golden).unwrap();
        }
        self.follow();
    }
}

/// How fast everything around the unit is, redrawn now and then.
pub struct Mood {
    pub release: f64,
    pub ask: f64,
    pub write: f64,
    pub complete: f64,
    pub bank: f64,
    pub ack: f64,
    pub ready: f64,
}

impl Mood {
    pub fn draw(rng: &mut SmallRng) -> Mood {
        let mut pick = |from: &[f64]| from[rng.random_range(0..from.len())];
        Mood {
            release: pick(&[0.01, 0.1, 0.9]),
            ask: pick(&[0.0, 0.05, 0.8]),
            write: pick(&[0.0, 0.2, 0.9]),
            complete: pick(&[0.05, 0.5, 1.0]),
            bank: pick(&[0.05, 0.5, 1.0]),
            ack: pick(&[0.1, 0.5, 1.0]),
            ready: pick(&[0.1, 0.5, 1.0]),
        }
    }

    pub fn open() -> Mood {
        Mood { release: 0.0, ask: 0.0, write: 0.0, complete: 1.0, bank: 1.0, ack: 1.0, ready: 1.0 }
    }
}

pub fn stimulus(bench: &mut Bench, mood: &Mood, rng: &mut SmallRng) {
    if bench.start.idle() && rng.random_bool(mood.release) {
        bench.release();
    }
    let free = bench.free_requesters();
    if bench.req_in.idle() && !free.is_empty() && rng.random_bool(mood.ask) {
        bench.ask(free[rng.random_range(0..free.len())]);
    }
    let (responses, marks) = (bench.responses.len(), bench.marks.len());
    if bench.rsp_in.idle() && responses > 0 && rng.random_bool(mood.ack) {
        bench.respond(rng.random_range(0..responses));
    }
    if bench.mark_in.idle() && marks > 0 && rng.random_bool(mood.ack) {
        bench.mark(rng.random_range(0..marks));
    }
    for b in 0..bench.banks.len() {
        if bench.banks[b].writes.len() < 8 && rng.random_bool(mood.write) {
            bench.write(b, rng.random());
        }
        let writes = bench.banks[b].writes.len();
        if writes > 0 && rng.random_bool(mood.complete) {
            bench.complete_write(b, rng.random_range(0..writes));
        }
        if rng.random_bool(mood.bank) {
            bench.bank_answers(b);
        }
        if rng.random_bool(mood.bank) {
            bench.bank_orders(b);
        }
    }
}

//! A CU and an L2 around one L1, with the oracle of its answers.

mod lru;
mod stalls;
mod steps;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use weft_bench::Checked;
use weft_blocks::cache::l1::L1Params;

use weft_rtl::bv::Bv;
use weft_rtl::ir::Module;
use weft_tools::cosim::Recorder;

/// Kind of run.
#[derive(Clone, Copy, Default)]
pub struct Setup {
    /// Seed.
    pub seed: u64,
    /// Other CUs write the same lines.
    pub others: bool,
    /// Half of the lines are homed in another GPU.
    pub remote: bool,
    /// No back-pressure and no gaps.
    pub quiet: bool,
}

/// Operations by their encoding.
const LD: u64 = 0;
const ST: u64 = 1;
const AMO: u64 = 2;
const REL: u64 = 3;
const ACQ: u64 = 4;
const KBEGIN: u64 = 5;
const KEND: u64 = 6;

/// The own node, another in the same GPU where GPUs have two GPMs, and one in another GPU.
const OWN: u64 = 1;
const NEIGHBOUR: u64 = 0;
const REMOTE: u64 = 2;

const RD: u64 = 0;
const WR: u64 = 1;
const ATOM: u64 = 2;

#[derive(Clone, Debug)]
struct Op {
    op: u64,
    scope: u64,
    want_ack: bool,
    line: u64,
    mask: u128,
    data: Vec<u8>,
    /// Of an atomic: its operation, whether it compares signed, and with what. The L2 of the bench performs an exclusive or in any case.
    amo: [u64; 3],
}

#[derive(Clone, Debug)]
struct Pending {
    op: Op,
    /// Exact answer where there are no other writers.
    expected: Vec<u8>,
    /// Values of each byte that are too old since the last acquire, and the number of own writes to it before.
    floor: Vec<(usize, usize)>,
    sent: u64,
    /// Stores and atomics accepted before (releases).
    stores_before: u64,
}

/// A request below the L1.
struct Below {
    kind: u64,
    id: u64,
    line: u64,
    data: Vec<u8>,
    src: u64,
    /// Cycle from which it may be answered.
    due: u64,
}

/// One byte of memory: all values it ever had in the L2's order, which of them this CU wrote, and how many writes of this CU the L1 has taken.
#[derive(Clone, Default)]
struct Byte {
    values: Vec<u8>,
    own: Vec<usize>,
    own_taken: usize,
}

pub struct Bench {
    pub sim: Checked,
    /// Takes the ports of every cycle down.
    pub recorder: Option<Recorder>,
    p: L1Params,
    setup: Setup,
    rng: SmallRng,
    memory: BTreeMap<u64, Vec<Byte>>,
    /// What the CU must see when it is the only writer.
    view: BTreeMap<u64, Vec<u8>>,
    pending: BTreeMap<u64, Pending>,
    offered: Option<(u64, Op)>,
    below: Vec<Below>,
    answer: Option<Below>,
    accepted_stores: u64,
    answered_stores: u64,
    /// Scopes of stores that the L2 has not taken, in their order.
    store_scopes: VecDeque<u64>,
    /// What atomics that the L2 has not taken ask for, and their scopes, in their order.
    atomics: VecDeque<([u64; 3], u64)>,
    /// The L2 answers nothing.
    holds: bool,
    /// The L2, and the CU, take nothing.
    shut: (bool, bool),
    /// Number of values each byte had when the last acquire was taken.
    acquired: BTreeMap<u64, Vec<usize>>,
    next_id: u64,
    pub loads: u64,
    pub remote_loads: u64,
    /// Loads of lines of the neighbour that the L1 answered from a copy.
    pub neighbour_hits: u64,
    /// Loads that have to be forced misses.
    pub forced: u64,
    /// Reads that the L2 has taken.
    pub reads: u64,
    /// Answers with data: number, server, merged.
    answers: Vec<(u64, u64, bool)>,
    pub stale_allowed: u64,
    finished: VecDeque<(u64, u64)>,
}

impl Bench {
    pub fn new(module: &Arc<Module>, p: &L1Params, setup: Setup) -> Bench {
        let sim = Checked::new(module);
        let mut bench = Bench {
            recorder: None,
            sim,
            p: p.clone(),
            setup,
            rng: SmallRng::seed_from_u64(setup.seed),
            memory: BTreeMap::new(),
            view: BTreeMap::new(),
            pending: BTreeMap::new(),
            offered: None,
            below: Vec::new(),
            answer: None,
            accepted_stores: 0,
            answered_stores: 0,
            store_scopes: VecDeque::new(),
            atomics: VecDeque::new(),
            holds: false,
            shut: (false, false),
            acquired: BTreeMap::new(),
            next_id: 0,
            loads: 0,
            remote_loads: 0,
            neighbour_hits: 0,
            forced: 0,
            reads: 0,
            answers: Vec::new(),
            stale_allowed: 0,
            finished: VecDeque::new(),
        };
        bench.set("own_l1", 3);
        if p.bypass_remote {
            bench.set("own_gpu", OWN);
        }
        bench
    }

    fn set(&mut self, name: &str, value: u64) {
        let port = self.sim.input(name).unwrap_or_else(|| panic!("no input {name}"));
        self.sim.set(port, value);
    }

    fn get(&mut self, name: &str) -> u64 {
        let port = self.sim.output(name).unwrap_or_else(|| panic!("no output {name}"));
        self.sim.get(port)
    }

    fn wide(&mut self, name: &str) -> Bv {
        let port = self.sim.output(name).unwrap_or_else(|| panic!("no output {name}"));
        self.sim.get_bv(port)
    }

    fn set_bytes(&mut self, name: &str, bytes: &[u8]) {
        let limbs: Vec<u64> =
            bytes.chunks(8).map(|c| u64::from_le_bytes(c.try_into().expect("whole words"))).collect();
        let port = self.sim.input(name).expect("a data port");
        self.sim.set_bv(port, &Bv::from_limbs(&limbs, 8 * bytes.len() as u32));
    }

    fn bytes(&mut self, name: &str) -> Vec<u8> {
        self.wide(name).limbs().iter().flat_map(|l| l.to_le_bytes()).collect()
    }

    fn mask(&mut self, name: &str) -> u128 {
        let wide = self.wide(name);
        let limb = |i: usize| u128::from(wide.limbs().get(i).copied().unwrap_or(0));
        limb(0) | limb(1) << 64
    }

    fn line_bytes(&self) -> usize {
        self.p.sys.line as usize
    }

    fn home(&self, line: u64) -> u64 {
        line >> (30 - self.p.sys.line.trailing_zeros())
    }

    fn is_forced(&self, op: &Op) -> bool {
        let kept = !(self.p.bypass_remote && self.home(op.line) == REMOTE);
        self.p.scoped && op.op == LD && op.scope != 0 && kept
    }

    fn fill(&self, line: u64) -> Vec<u8> {
        (0..self.line_bytes()).map(|i| (line as u8).wrapping_mul(31).wrapping_add(i as u8)).collect()
    }

    fn byte(&mut self, line: u64, i: usize) -> &mut Byte {
        let first = self.fill(line);
        let make = || first.iter().map(|b| Byte { values: vec![*b], ..Byte::default() }).collect();
        &mut self.memory.entry(line).or_insert_with(make)[i]
    }

    fn random_line(&mut self) -> u64 {
        let low = self.rng.random_range(0..self.p.sets() as u64 * 2)
            + u64::from(self.p.sets()) * 64 * self.rng.random_range(0..3);
        let home = match self.setup.remote && self.rng.random_bool(0.5) {
            true => REMOTE,
            false if self.p.sys.gpms > 1 && self.rng.random_bool(0.5) => NEIGHBOUR,
            false => OWN,
        };
        low | home << (30 - self.p.sys.line.trailing_zeros())
    }

    fn random_op(&mut self) -> Op {
        let op = match self.rng.random_range(0..200) {
            0..110 => LD,
            110..175 => ST,
            175..190 => AMO,
            190..193 => REL,
            193 => KEND,
            194..198 => ACQ,
            _ => KBEGIN,
        };
        let mut op = Op {
            op,
            scope: self.rng.random_range(0..3),
            want_ack: self.rng.random_bool(0.2),
            line: self.random_line(),
            mask: 0,
            data: (0..self.line_bytes()).map(|_| self.rng.random()).collect(),
            amo: [self.rng.random_range(0..12), self.rng.random_range(0..2), self.rng.random()],
        };
        let all = if self.line_bytes() == 128 { u128::MAX } else { u128::from(u64::MAX) };
        op.mask = match op.op {
            AMO => 0xf << (4 * self.rng.random_range(0..self.line_bytes() / 4)),
            _ if self.rng.random_bool(0.2) => all,
            _ => self.rng.random::<u128>() & self.rng.random::<u128>() & all,
        };
        op
    }

    /// What the answer must be, as known when the L1 takes the request. The L1 takes requests in order, so this is the order of the CU.
    fn accept(&mut self, id: u64, op: &Op) {
        let n = self.line_bytes();
        let first = self.fill(op.line);
        let view = self.view.entry(op.line).or_insert(first).clone();
        if self.is_forced(op) {
            // Neither it nor a later load may see what the L2 had replaced before.
            let newest = (0..n).map(|i| self.byte(op.line, i).values.len() - 1).collect();
            self.acquired.insert(op.line, newest);
        }
        let acquired = self.acquired.get(&op.line).cloned().unwrap_or_else(|| vec![0; n]);
        let floor = (0..n).map(|i| (acquired[i], self.byte(op.line, i).own_taken)).collect();
        let before = self.accepted_stores;
        if op.op == ST || op.op == AMO {
            self.accepted_stores += 1;
            if op.op == ST {
                self.store_scopes.push_back(op.scope);
            } else {
                self.atomics.push_back((op.amo, op.scope));
            }
            for i in (0..n).filter(|i| op.mask >> i & 1 == 1) {
                self.byte(op.line, i).own_taken += 1;
                self.view.get_mut(&op.line).expect("entered above")[i] = match op.op {
                    ST => op.data[i],
                    _ => op.data[i] ^ view[i],
                };
            }
        }
        if op.op == KBEGIN || (op.op == ACQ && op.scope != 0) {
            for (line, bytes) in &self.memory {
                let acquired = self.acquired.entry(*line).or_insert_with(|| vec![0; n]);
                bytes.iter().zip(acquired).for_each(|(b, a)| *a = (*a).max(b.values.len() - 1));
            }
        }
        if op.op != ST || op.want_ack {
            let sent = self.sim.cycle();
            let pending = Pending { op: op.clone(), expected: view, floor, sent, stores_before: before };
            assert!(self.pending.insert(id, pending).is_none());
        }
    }

    /// The L2 orders a request when it takes it.
    fn take_below(&mut self) {
        let (kind, id, line) = (self.get("l2_req_kind"), self.get("l2_req_id"), self.get("l2_req_line"));
        assert_eq!(self.get("l2_req_l1"), 3);
        let (mask, data) = (self.mask("l2_req_mask"), self.bytes("l2_req_data"));
        let old: Vec<u8> =
            (0..self.line_bytes()).map(|i| *self.byte(line, i).values.last().expect("never empty")).collect();
        self.reads += u64::from(kind == RD);
        if kind == WR {
            let scope = self.store_scopes.pop_front().expect("a store of the CU");
            let expected = if self.p.store_scope { scope } else { 0 };
            assert_eq!(self.get("l2_req_scope"), expected, "scope of a store");
        }
        if kind == ATOM {
            let asked = ["l2_req_amo", "l2_req_sgn", "l2_req_cmp"].map(|name| self.get(name));
            let expected = self.atomics.pop_front().expect("an atomic of the CU");
            assert_eq!((asked, self.get("l2_req_scope")), expected, "what an atomic asks for");
        }
        if kind != RD {
            for i in (0..self.line_bytes()).filter(|i| mask >> i & 1 == 1) {
                let atom = kind == ATOM;
                let byte = self.byte(line, i);
                byte.values.push(if atom { old[i] ^ data[i] } else { data[i] });
                byte.own.push(byte.values.len() - 1);
            }
        }
        let due = self.sim.cycle() + if self.setup.quiet { 4 } else { self.rng.random_range(1..40) };
        let src = if self.rng.random_bool(0.5) { 1 } else { 3 };
        self.below.push(Below { kind, id, line, data: old, src, due });
    }

    fn check_answer(&mut self) {
        let id = self.get("cu_rsp_id");
        let (kind, mask) = (self.get("cu_rsp_kind"), self.mask("cu_rsp_mask"));
        let (data, src, merged) =
            (self.bytes("cu_rsp_data"), self.get("cu_rsp_src"), self.get("cu_rsp_merged"));
        let p = self.pending.remove(&id).unwrap_or_else(|| panic!("answer {id} was not asked for"));
        self.finished.push_back((p.sent, self.sim.cycle()));
        let is_data = p.op.op == LD || p.op.op == AMO;
        assert_eq!(kind, u64::from(!is_data), "kind of the answer to {:?}", p.op);
        if p.op.op == KEND || (p.op.op == REL && p.op.scope != 0) {
            assert!(self.answered_stores >= p.stores_before, "a release was answered before an older store");
        }
        if !is_data {
            return;
        }
        assert_eq!(mask, p.op.mask, "bytes answered");
        self.loads += 1;
        if self.home(p.op.line) == REMOTE {
            self.remote_loads += 1;
            assert!(!self.p.bypass_remote || (src != 0 && merged == 0), "a bypassed line came from the L1");
        }
        self.neighbour_hits += u64::from(self.home(p.op.line) == NEIGHBOUR && src == 0);
        if self.is_forced(&p.op) {
            self.forced += 1;
            assert!(src != 0 && merged == 0, "a forced miss was answered by what was there");
        }
        self.answers.push((id, src, merged == 1));
        if p.op.op == AMO {
            assert!(src != 0 && merged == 0, "an atomic is performed below");
        }
        for i in (0..self.line_bytes()).filter(|i| mask >> i & 1 == 1) {
            if self.setup.others {
                self.check_recent(&p, i, data[i]);
            } else {
                assert_eq!(data[i], p.expected[i], "byte {i} of {:?} asked in cycle {}", p.op, p.sent);
            }
        }
    }

    /// With other writers: the value is one the byte has had since the last acquire and the CU's own last write, or that write on its way.
    fn check_recent(&mut self, p: &Pending, i: usize, value: u8) {
        let (acquired, own) = p.floor[i];
        let byte = self.byte(p.op.line, i);
        let known = if own > byte.own.len() {
            value == p.expected[i]
        } else {
            let floor = if own > 0 { acquired.max(byte.own[own - 1]) } else { acquired };
            byte.values[floor..].contains(&value)
        };
        assert!(known, "byte {i} of {:?}: {value} is older than the last acquire or own write", p.op);
        self.stale_allowed += u64::from(self.byte(p.op.line, i).values.last() != Some(&value));
    }

    fn choose_answer(&mut self) {
        if self.answer.is_some() || self.below.is_empty() || self.holds {
            return;
        }
        let now = self.sim.cycle();
        let due: Vec<usize> = (0..self.below.len()).filter(|i| self.below[*i].due <= now).collect();
        if let Some(i) = (!due.is_empty()).then(|| due[self.rng.random_range(0..due.len())]) {
            self.answer = Some(self.below.remove(i));
        }
    }

    fn other_writer(&mut self) {
        if self.setup.others && self.rng.random_bool(0.3) {
            let (line, i) = (self.random_line(), self.rng.random_range(0..self.line_bytes()));
            let value = self.rng.random();
            self.byte(line, i).values.push(value);
        }
    }

    fn drive_request(&mut self) {
        let Some((id, op)) = self.offered.clone() else { return self.set("cu_req_valid", 0) };
        self.set("cu_req_valid", 1);
        self.set("cu_req_op", op.op);
        self.set("cu_req_scope", op.scope);
        self.set("cu_req_want_ack", u64::from(op.want_ack));
        self.set("cu_req_line", op.line);
        self.set("cu_req_id", id);
        for (name, value) in ["cu_req_amo", "cu_req_sgn", "cu_req_cmp"].into_iter().zip(op.amo) {
            self.set(name, value);
        }
        let bits = self.p.sys.line;
        let port = self.sim.input("cu_req_mask").expect("a mask port");
        self.sim.set_bv(port, &Bv::from_u128(op.mask, bits));
        self.set_bytes("cu_req_data", &op.data);
    }

    /// One cycle; `offer` chooses whether a new request is offered.
    fn cycle(&mut self, offer: bool) {
        if self.offered.is_none() && offer && self.pending.len() < 40 {
            let op = self.random_op();
            self.offer(op);
        }
        self.step();
    }

    fn offer(&mut self, op: Op) -> u64 {
        while self.pending.contains_key(&self.next_id) {
            self.next_id = (self.next_id + 1) % 4096;
        }
        let id = self.next_id;
        self.next_id = (self.next_id + 1) % 4096;
        self.offered = Some((id, op));
        id
    }

    fn step(&mut self) {
        self.other_writer();
        self.choose_answer();
        self.drive_request();
        let (take_low, take_up) = if self.setup.quiet {
            (!self.shut.0, !self.shut.1)
        } else {
            (self.rng.random_bool(0.7), self.rng.random_bool(0.7))
        };
        self.set("l2_req_ready", u64::from(take_low));
        self.set("cu_rsp_ready", u64::from(take_up));
        self.set("l2_rsp_valid", u64::from(self.answer.is_some()));
        if let Some(a) = &self.answer {
            let (kind, id, src, data) = (a.kind, a.id, a.src, a.data.clone());
            self.set("l2_rsp_kind", kind);
            self.set("l2_rsp_id", id);
            self.set("l2_rsp_src", src);
            self.set_bytes("l2_rsp_data", &data);
        }
        if take_up && self.get("cu_rsp_valid") == 1 {
            self.check_answer();
        }
        if self.answer.is_some()
            && self.get("l2_rsp_ready") == 1
            && let Some(a) = self.answer.take()
        {
            self.answered_stores += u64::from(a.kind == WR || a.kind == ATOM);
            assert!(a.kind == RD || self.memory.contains_key(&a.line));
        }
        if take_low && self.get("l2_req_valid") == 1 {
            self.take_below();
        }
        if self.offered.is_some()
            && self.get("cu_req_ready") == 1
            && let Some((id, op)) = self.offered.take()
        {
            self.accept(id, &op);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.sample(&self.sim);
        }
        self.sim.step();
        if let Some(f) = self.sim.failures().first() {
            panic!("cycle {}: {}: {} ({})", f.cycle, f.name, f.text, f.at);
        }
    }

    /// Random traffic.
    pub fn run(&mut self, cycles: u64) {
        let mut busy = true;
        for i in 0..cycles {
            if i % 64 == 0 {
                busy = self.rng.random_bool(0.7);
            }
            let offer = self.rng.random_bool(if busy { 0.9 } else { 0.1 });
            self.cycle(offer);
        }
    }

    /// Lets everything finish; nothing may be left.
    pub fn drain(&mut self) {
        for _ in 0..5_000 {
            self.cycle(false);
        }
        assert!(self.pending.is_empty(), "never answered: {:?}", self.pending);
        assert!(self.below.is_empty());
        assert_eq!(self.accepted_stores, self.answered_stores, "stores lost or doubled");
        assert_eq!(self.get("busy_release"), 0);
    }
}

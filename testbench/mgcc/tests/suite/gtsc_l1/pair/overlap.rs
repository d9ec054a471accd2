//! Events that overlap: the CU asks and banks answer in any cycle, and what leaves is held back. The model has no cycles: it is told what the hardware did in each one
//! (its counters say that) and says what must come out.

use super::{Pair, golden};
use crate::gtsc_l1::gtsc_bench::{answer_message, cu_answer, cu_message, plain, request_of};
use crate::wire::compare_l1;
use rand::Rng;
use std::collections::{BTreeMap, VecDeque};
use weft_mgcc::msg::Roll;
use weft_mgcc_bench::bench::Msg;
use weft_mgcc_bench::golden::gtsc::l1::Action;
use weft_mgcc_bench::golden::gtsc::{Request, answer_bytes};
use weft_mgcc_bench::golden::l1::{CuReq, CuRsp, CuWork};
use weft_mgcc_bench::golden::msg::{UpRsp, Work};
use weft_mgcc_bench::golden::time::Time;

/// What happens in a cycle, by the counters that tell it; at most one of them.
const EVENTS: [&str; 7] = [
    "mgcc_l1_taken",
    "mgcc_l1_replays",
    "mgcc_l1_responses",
    "mgcc_l1_fences",
    "mgcc_l1_rolls_told",
    "mgcc_l1_rolls_response",
    "mgcc_l1_sweeps_begin",
];

/// What is between CU, L1 and banks.
#[derive(Default)]
struct Flow {
    /// Requests offered and not yet taken, taken and not yet carried out.
    offered: VecDeque<CuReq>,
    entered: VecDeque<CuReq>,
    /// What must come out.
    up: VecDeque<Request>,
    cu: BTreeMap<u32, CuRsp>,
    /// Responses offered and not yet carried out, with their epochs; how many are not yet taken.
    responses: VecDeque<(u64, UpRsp)>,
    untaken: usize,
    /// A Roll told and not acknowledged; cycle in which the next one is told.
    told: Option<u64>,
    due: u64,
    /// Epochs in which loads that wait were taken.
    loads: BTreeMap<u32, u64>,
    /// Line of each open transaction of the hardware.
    line_of: BTreeMap<u32, u64>,
    /// The fence in the hardware, and whether it is a kernel's begin.
    fence: Option<(u32, bool)>,
    counters: Vec<usize>,
    seen: Vec<u64>,
    /// Chances in a cycle: a request, a bank's work, a response.
    chances: [f64; 3],
}

impl Flow {
    fn idle(&self) -> bool {
        self.offered.is_empty() && self.entered.is_empty() && self.responses.is_empty()
    }
}

impl Pair {
    /// So many random cycles with each of these numbers of lines, then everything to its end.
    pub fn overlap(&mut self, cycles: u64, lines: &[u64]) {
        // A refused primary goes back into the model's FIFO, not into the hardware's pool.
        self.model = golden(&self.p, self.p.pool + self.p.mshrs());
        let place = |name: &&str| self.bench.sim.probes().position(|probe| probe.name == *name);
        let counters = EVENTS.iter().map(|name| place(name).expect("a counter")).collect();
        let mut flow = Flow { counters, ..Flow::default() };
        flow.seen = self.counts(&flow);
        for cycle in 0..cycles * lines.len() as u64 {
            if cycle % 100 == 0 {
                self.bench.shuffle(&[0.1, 0.5, 1.0, 1.0]);
                self.bench.source_mut("cu_req").chance = 1.0;
                let mut some = || [0.02, 0.2, 1.0f64][self.rng.random_range(0..3)];
                flow.chances = [some().max(0.1), some(), some()];
            }
            self.cycle(&mut flow, lines[(cycle / cycles) as usize]);
        }
        self.bench.hold_nothing();
        flow.chances = [0.0, 1.0, 1.0];
        let end = self.bench.sim.cycle() + 4_000;
        while !self.at_rest(&flow) {
            self.cycle(&mut flow, lines[0]);
            assert!(self.bench.sim.cycle() < end, "never answered: {:?}", self.open);
        }
        self.check_bytes();
    }

    fn at_rest(&self, flow: &Flow) -> bool {
        let below = self.asked.is_empty() && self.ready.is_empty() && !self.untold && flow.told.is_none();
        below && flow.idle() && self.model.idle() && self.open.is_empty() && flow.up.is_empty()
    }

    fn counts(&self, flow: &Flow) -> Vec<u64> {
        let all: Vec<u64> = self.bench.sim.probes().map(|probe| probe.count).collect();
        flow.counters.iter().map(|at| all[*at]).collect()
    }

    fn cycle(&mut self, flow: &mut Flow, lines: u64) {
        if flow.offered.is_empty() && self.open.len() < 24 && self.rng.random_bool(flow.chances[0]) {
            self.ask(flow, lines);
        }
        self.below(flow, lines);
        let time = Time::unpack(self.bench.get("cu_time"), self.p.tsm.ts);
        let at = self.register("replay_at") as u32;
        self.bench.step();
        if self.bench.taken("cu_req").is_some() {
            flow.entered.extend(flow.offered.pop_front());
        }
        if self.bench.taken("dn_rsp").is_some() {
            flow.untaken -= 1;
        }
        self.follow(flow, at);
        self.outputs(flow, time);
    }

    fn ask(&mut self, flow: &mut Flow, lines: u64) {
        let (line, mask, work) = self.draw(lines);
        let req = CuReq { id: self.next_id, line, mask, work };
        self.next_id = (self.next_id + 1) % 64;
        if self.open.contains_key(&req.id) {
            return;
        }
        if !matches!(work, CuWork::Store { want_ack: false, .. }) {
            self.open.insert(req.id, req);
        }
        let release = self.rng.random();
        self.bench.send("cu_req", cu_message(&self.p.tsm, &req, release));
        flow.offered.push_back(req);
    }

    /// Banks perform and answer, another CU is at work, epochs begin.
    fn below(&mut self, flow: &mut Flow, lines: u64) {
        if self.rng.random_bool(0.02) {
            let (line, writes) = (self.line(lines), self.rng.random_bool(0.7));
            let (mask, data) = (self.rng.random(), super::Data::from_words(self.rng.random()));
            if !self.banks[self.layout.bank(line)].full() {
                self.other_does(line, if writes { Work::Write { mask, data } } else { Work::Read });
            }
        }
        let mut full = false;
        if !self.asked.is_empty() && self.rng.random_bool(flow.chances[1]) {
            let at = self.rng.random_range(0..self.asked.len());
            full = self.banks[self.layout.bank(self.asked[at].1.line)].full();
            if !full {
                let (_, req) = self.asked.swap_remove(at);
                let rsp = self.bank(req);
                self.ready.push((self.epoch, rsp));
            }
        }
        let cycle = self.bench.sim.cycle();
        if (full || self.rng.random_bool(0.006)) && !self.untold && flow.told.is_none() && self.fresh(flow) {
            (self.epoch, self.untold) = (self.epoch + 1, true);
            self.banks.iter_mut().for_each(|bank| bank.roll(self.epoch));
            flow.due = cycle + self.rng.random_range(0..100);
        }
        if self.untold && flow.due <= cycle {
            (self.untold, flow.told) = (false, Some(self.epoch));
            self.bench.send("roll", Msg::of::<Roll>(&self.p.tsm, &[("epoch", self.epoch)]));
        }
        if !self.ready.is_empty() && flow.untaken < 4 && self.rng.random_bool(flow.chances[2]) {
            let (epoch, rsp) = self.ready.swap_remove(self.rng.random_range(0..self.ready.len()));
            self.bytes[1] += answer_bytes(&rsp);
            self.bench.send("dn_rsp", answer_message(&self.p.tsm, &rsp));
            flow.responses.push_back((epoch, rsp));
            flow.untaken += 1;
        }
    }

    /// Nothing on its way would be too old to be understood in the next epoch.
    fn fresh(&self, flow: &Flow) -> bool {
        let ready = self.ready.iter().chain(&flow.responses).map(|r| r.0);
        let messages = self.asked.iter().map(|a| a.0).chain(ready).all(|epoch| epoch + 2 > self.epoch);
        // As many as tags of 3 bits tell apart.
        messages && flow.loads.values().all(|epoch| epoch + 3 > self.epoch)
    }

    /// Tells the model what the hardware did in this cycle.
    fn follow(&mut self, flow: &mut Flow, at: u32) {
        let now = self.counts(flow);
        let happened = (0..EVENTS.len()).filter(|e| now[*e] > flow.seen[*e]).map(|e| EVENTS[e]);
        let happened: Vec<&str> = happened.collect();
        flow.seen = now;
        assert!(happened.len() < 2, "one operation per cycle, not {happened:?}");
        let Some(event) = happened.first() else { return };
        for action in self.apply(flow, event, at) {
            match action {
                Action::Up(req) => flow.up.push_back(plain(req)),
                Action::Cu(rsp) => assert!(flow.cu.insert(rsp.id, rsp).is_none()),
            }
        }
        let at = format!("{event} until cycle {}", self.bench.sim.cycle());
        assert_eq!(Time::unpack(self.register("cts"), self.p.tsm.ts), self.model.warpts(), "{at}: warpts");
        if self.register("sweeping") == 0 {
            let size = (self.p.sets(), self.p.ways);
            compare_l1(&self.bench.sim, size, Some(self.p.tsm.ts), self.model.array(), &at);
        }
    }

    fn apply(&mut self, flow: &mut Flow, event: &str, at: u32) -> Vec<Action> {
        match event {
            "mgcc_l1_taken" => {
                let req = flow.entered.pop_front().expect("a request was taken");
                match req.work {
                    CuWork::Fence | CuWork::Kend => flow.fence = Some((req.id, false)),
                    CuWork::Kbegin(_) => flow.fence = Some((req.id, true)),
                    CuWork::Load { .. } => drop(flow.loads.insert(req.id, self.model.warpts().epoch)),
                    _ => {}
                }
                return self.model.cu(req).expect("the model has room");
            }
            "mgcc_l1_replays" => {
                let txn = self.model.txn_of(flow.line_of[&at]).expect("something to replay");
                return self.model.replay(txn);
            }
            "mgcc_l1_responses" => {
                let (_, mut rsp) = flow.responses.pop_front().expect("a response was taken");
                rsp.txn = self.model.txn_of(flow.line_of[&rsp.txn]).expect("an open transaction");
                return self.model.rsp(&rsp);
            }
            "mgcc_l1_fences" => {
                let (id, begin) = flow.fence.take().expect("a fence was taken");
                return if begin { Vec::new() } else { vec![self.model.fence(id)] };
            }
            "mgcc_l1_rolls_told" => self.model.roll(flow.told.expect("a Roll was told")),
            "mgcc_l1_rolls_response" => self.model.roll(self.model.warpts().epoch + 1),
            _ => match flow.entered.front().map(|req| req.work) {
                Some(CuWork::Kbegin(time)) => self.model.roll(time.epoch),
                other => panic!("{other:?} does not sweep"),
            },
        }
        Vec::new()
    }

    fn outputs(&mut self, flow: &mut Flow, time: Time) {
        while let Some((cycle, msg)) = self.bench.received("up_req") {
            let req = request_of(&self.p.tsm, &msg);
            let expected = flow.up.pop_front().map(|up| Request { txn: req.txn, ..up });
            assert_eq!(Some(req), expected, "cycle {cycle}: request to a bank");
            flow.line_of.insert(req.txn, req.line);
            self.bytes[0] += req.bytes();
            self.asked.push((self.model.warpts().epoch, req));
        }
        while let Some((cycle, msg)) = self.bench.received("roll_ack") {
            assert_eq!(Some(msg.get("epoch")), flow.told.take(), "cycle {cycle}: acknowledged Roll");
            assert!(self.register("sweeping") == 0 && self.model.warpts().epoch >= msg.get("epoch"));
        }
        while let Some((cycle, msg)) = self.bench.received("cu_rsp") {
            let id = msg.get("id") as u32;
            let req =
                self.open.remove(&id).unwrap_or_else(|| panic!("cycle {cycle}: {id} was not asked for"));
            flow.loads.remove(&id);
            let expected = flow.cu.remove(&id);
            let got = cu_answer(&msg, time, req.work == CuWork::Kend);
            // A kernel's begin binds when it is answered.
            let begin = matches!(req.work, CuWork::Kbegin(_));
            let expected = expected.map(|rsp| if begin { CuRsp { time, ..rsp } } else { rsp });
            assert_eq!(Some(got), expected, "cycle {cycle}: answer to {req:?}");
        }
    }
}

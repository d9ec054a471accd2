//! Requests one right behind the other, and outputs that are held back.

use super::{Pair, memory_answer, request_message};
use rand::Rng;
use weft_mgcc_bench::golden::array::State;
use weft_mgcc_bench::golden::gtsc::Request;
use weft_mgcc_bench::golden::gtsc::l2::Action;
use weft_mgcc_bench::golden::msg::Work;
use weft_mgcc_bench::golden::time::Time;

impl Pair {
    /// Some requests of L1s, which the bank performs in their order, and perhaps an answer of memory when all have entered.
    pub(super) fn burst(&mut self) -> Vec<Action> {
        let mut actions = Vec::new();
        let behind = self.rng.random_bool(0.5);
        self.hold(if behind { 0.0 } else { 0.1 });
        for _ in 0..self.rng.random_range(1..8) {
            // A full bank waits with everything for the roll.
            if self.model.full() {
                break;
            }
            let Some(req) = self.draw() else { break };
            actions.extend(self.offer(req));
        }
        self.bench.run(40);
        let entered = self.bench.has_sent_all() && self.peek("l1_req_skid0_valid") == 0;
        if behind && entered && !self.model.full() {
            actions.extend(self.memory_answer());
        }
        while !self.bench.has_sent_all() {
            self.settle();
        }
        self.settle();
        actions
    }

    /// An answer of memory, and loads that hit in sets in which nothing is under way: neither changes what the other one finds.
    pub(super) fn beside(&mut self) -> Vec<Action> {
        let Some(rsp) = self.memory.serve(&mut self.rng) else { return Vec::new() };
        let msg = memory_answer(&self.p.tsm, &rsp);
        self.bench.send("mem_rsp", msg);
        let lead = self.rng.random_range(0..6);
        self.bench.run(lead);
        let mut actions = self.model.rsp(&rsp);
        actions.extend(self.replays());
        for load in self.hits() {
            actions.extend(self.offer(load));
        }
        self.settle();
        actions
    }

    /// Some loads that hit in quiet sets.
    fn hits(&mut self) -> Vec<Request> {
        let open = self.cus.iter().flat_map(|cu| cu.open.values());
        let busy: Vec<u64> = open.map(|line| self.set_of(*line)).collect();
        let mut loads = Vec::new();
        for _ in 0..12 {
            let (at, txn) =
                (self.rng.random_range(0..self.cus.len()), self.rng.random_range(0..self.p.tsm.l1_mshrs));
            let line = self.lines[self.rng.random_range(0..self.lines.len())];
            let (set, epoch, array) = (self.set_of(line), self.model.epoch(), self.model.array());
            let here = array.find(set as usize, line).map(|place| array.way(place).state);
            let cu = &mut self.cus[at];
            let free = !cu.open.contains_key(&txn) && cu.open.values().all(|other| *other != line);
            if free && here == Some(State::Valid) && !busy.contains(&set) && cu.warpts.epoch <= epoch {
                cu.open.insert(txn, line);
                let (warpts, wts) = (cu.warpts, cu.blocks.get(&line).copied().unwrap_or(0));
                loads.push(Request { src: at as u32, txn, line, warpts, wts, work: Work::Read });
            }
        }
        loads
    }

    /// Answers of memory that have landed together are taken round robin, by the numbers of their transactions; needs a long time.
    pub fn landed_answers_take_turns(&mut self, rounds: u32) {
        let read = |src: u32, txn, line| {
            let (warpts, wts, work) = (Time::new(0, 1), 0, Work::Read);
            Request { src, txn, line, warpts, wts, work }
        };
        let hot = self.lines[0];
        self.alone(hot, Time::new(0, 1), 0, Work::Read);
        let other = self.lines.iter().copied().find(|line| self.set_of(*line) != self.set_of(hot));
        let other = other.expect("a line of another set");
        let mut next = 1;
        for round in 0..rounds {
            let count = 2 + round % 2;
            let line = |src| other ^ u64::from(8 * round + src + 1) << 8;
            let mut asks: Vec<Request> = (0..count).map(|src| read(src, 0, line(src))).collect();
            // Hits fill the output, so that nothing enters when the answers land.
            asks.extend((0..3).map(|src| read(src, 1, hot)));
            self.bench.sink_mut("l1_rsp").chance = 0.0;
            for ask in &asks {
                let msg = request_message(&self.p.tsm, ask);
                self.bench.send("l1_req", msg);
            }
            self.bench.run(40);
            self.memory_brings();
            self.bench.run(20);
            self.bench.hold_nothing();
            self.bench.run(40);
            let answers = std::iter::from_fn(|| self.bench.received("l1_rsp")).map(|(_, msg)| msg);
            let order: Vec<u64> = answers.filter(|a| a.get("txn") == 0).map(|a| a.get("dst")).collect();
            let mut left: Vec<u64> = (0..u64::from(count)).collect();
            for got in order {
                let turn = left.iter().position(|src| *src >= next).unwrap_or(0);
                assert_eq!(got, left.remove(turn), "round {round}");
                next = (got + 1) % u64::from(self.p.tsm.l2_mshrs);
            }
            assert!(left.is_empty());
        }
    }

    fn hold(&mut self, chance: f64) {
        self.bench.chances(&[("l1_rsp", chance), ("mem_req", chance)]);
    }

    /// Cycles for everything that follows from an event, while what leaves may be held back at first.
    pub(super) fn settle(&mut self) {
        if self.rng.random_bool(0.3) {
            let chance = [0.0, 0.1, 0.5][self.rng.random_range(0..3)];
            self.hold(chance);
            self.bench.run(40);
        }
        self.bench.hold_nothing();
        self.bench.run(40);
    }
}

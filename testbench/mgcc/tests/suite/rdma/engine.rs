//! The engine between L1s, banks and the network, each of them random.

use proptest::prelude::*;
use rand::Rng;
use std::collections::{BTreeMap, VecDeque};
use weft_mgcc::msg::{UpReq, UpRsp};
use weft_mgcc::params::Tsm;
use weft_mgcc::rdma::engine::table;
use weft_mgcc::rdma::{Rdma, RdmaReq, RdmaRsp, rdma_engine};
use weft_mgcc_bench::bench::{Bench, Msg, random_bits};
use weft_mgcc_bench::golden::rdma::{Engine, Entry, Guest};
use weft_rtl::prelude::*;

fn small(gpus: u32, cus: u32, entries: u32, slots: u32, l1_mshrs: u32) -> Rdma {
    let tsm = Tsm { gpus, cus, banks: 2, lanes: 1, addr_bits: 36, l1_mshrs, l2_mshrs: 4, ..Tsm::default() };
    Rdma { tsm, home_bits: 20, entries, slots }
}

/// Fields that go through the engine as they are.
const ASKED: [&str; 8] = ["op", "force", "mask", "data", "amo", "sgn", "word", "wide"];
const ANSWERED: [&str; 5] = ["op", "with_data", "data", "old", "from_memory"];

fn same(a: &Msg, b: &Msg, fields: &[&str]) -> bool {
    fields.iter().all(|f| a.wide(f) == b.wide(f))
}

struct World {
    p: Rdma,
    own: u64,
    b: Bench,
    golden: Engine,
    /// Requests and answers taken and not seen on the other side, in order.
    asked: VecDeque<Msg>,
    served: VecDeque<Msg>,
    answers: VecDeque<(Entry, Msg)>,
    given: VecDeque<(Guest, Msg)>,
    /// Entries and slots that the world has still to answer, with their operations.
    entries: Vec<(u64, u64)>,
    slots: Vec<(u64, u64, u64)>,
    /// Transactions of L1s, and entries of other GPUs, under way.
    open: Vec<(u64, u64)>,
    far: Vec<(u64, u64)>,
    done: [usize; 2],
    /// Pulses of the output of that name.
    same_line: u64,
}

impl World {
    fn new(p: &Rdma, own: u64, seed: u64) -> World {
        let mut b = Bench::new(&rdma_engine(p).expect("legal"), seed);
        let gpu = p.gpu();
        b.set("own_gpu", own);
        b.source::<UpReq>("l1_req", &gpu);
        b.sink::<UpRsp>("l1_rsp", &gpu);
        b.sink::<RdmaReq>("net_req", p);
        b.source::<RdmaRsp>("net_rsp", p);
        b.source::<RdmaReq>("far_req", p);
        b.sink::<RdmaRsp>("far_rsp", p);
        b.sink::<UpReq>("bank_req", &gpu);
        b.source::<UpRsp>("bank_rsp", &gpu);
        let home_lines = p.home_bits - 6;
        let golden =
            Engine::new(own, u64::from(p.tsm.gpus), home_lines, p.entries as usize, p.slots as usize);
        let (asked, served, answers, given) = Default::default();
        let (entries, slots, open, far) = Default::default();
        World {
            p: p.clone(),
            own,
            b,
            golden,
            asked,
            served,
            answers,
            given,
            entries,
            slots,
            open,
            far,
            done: [0; 2],
            same_line: 0,
        }
    }

    fn other(&mut self) -> u64 {
        let gpus = u64::from(self.p.tsm.gpus);
        (self.own + self.b.rng.random_range(1..gpus)) % gpus
    }

    fn body(&mut self, shape: &[(&str, u32)]) -> Vec<(String, Bv)> {
        let mut field =
            |(name, width): &(&str, u32)| (name.to_string(), random_bits(&mut self.b.rng, *width));
        shape.iter().map(&mut field).collect()
    }

    /// A request of an L1 that has a free transaction, of a few lines.
    fn ask(&mut self) {
        let (l1, txn) =
            (self.b.rng.random_range(0..self.p.tsm.cus), self.b.rng.random_range(0..self.p.tsm.l1_mshrs));
        let who = (u64::from(l1), u64::from(txn));
        if self.open.contains(&who) {
            return;
        }
        self.open.push(who);
        let line = self.other() << (self.p.home_bits - 6) | self.b.rng.random_range(0..4u64) << 12;
        let op = self.b.rng.random_range(0..3u64);
        let mut m =
            Msg::of::<UpReq>(&self.p.gpu(), &[("op", op), ("src", who.0), ("txn", who.1), ("line", line)]);
        for (name, value) in
            self.body(&[("mask", 64), ("data", 512), ("word", 4), ("wide", 1), ("sgn", 1), ("force", 1)])
        {
            m = m.with(&name, value);
        }
        let m = m.with("amo", Bv::from_u64(self.b.rng.random_range(0..11), 4));
        self.b.send("l1_req", m);
    }

    /// A request of another GPU's engine.
    fn call(&mut self) {
        let guest = (self.other(), self.b.rng.random_range(0..u64::from(self.p.entries)));
        if self.far.contains(&guest) {
            return;
        }
        self.far.push(guest);
        let (line, op) = (self.b.rng.random_range(0..1u64 << 14), self.b.rng.random_range(0..3u64));
        let fields = [("op", op), ("dst", self.own), ("src", guest.0), ("txn", guest.1), ("line", line)];
        let mut m = Msg::of::<RdmaReq>(&self.p, &fields);
        for (name, value) in
            self.body(&[("mask", 64), ("data", 512), ("word", 4), ("wide", 1), ("sgn", 1), ("force", 1)])
        {
            m = m.with(&name, value);
        }
        let m = m.with("amo", Bv::from_u64(self.b.rng.random_range(0..11), 4));
        self.b.send("far_req", m);
    }

    /// Answers one of what is under way, in any order.
    fn answer(&mut self) {
        if !self.entries.is_empty() && self.b.source_mut("net_rsp").queue.len() < 2 {
            let (entry, op) = self.entries.swap_remove(self.b.rng.random_range(0..self.entries.len()));
            let fields = [("op", op), ("dst", self.own), ("txn", entry)];
            let mut m = Msg::of::<RdmaRsp>(&self.p, &fields);
            for (name, value) in
                self.body(&[("with_data", 1), ("data", 512), ("old", 64), ("from_memory", 1)])
            {
                m = m.with(&name, value);
            }
            self.b.send("net_rsp", m);
        }
    }

    fn give(&mut self) {
        if !self.slots.is_empty() && self.b.source_mut("bank_rsp").queue.len() < 2 {
            let (dst, txn, op) = self.slots.swap_remove(self.b.rng.random_range(0..self.slots.len()));
            let mut m = Msg::of::<UpRsp>(&self.p.gpu(), &[("op", op), ("dst", dst), ("txn", txn)]);
            for (name, value) in
                self.body(&[("with_data", 1), ("data", 512), ("old", 64), ("from_memory", 1)])
            {
                m = m.with(&name, value);
            }
            self.b.send("bank_rsp", m);
        }
    }

    /// A cycle, and what it shows. An entry or slot is free for the next one once the engine has its answer.
    fn step(&mut self) {
        self.same_line += self.b.get("same_line");
        self.b.step();
        for (port, queue) in [("l1_req", &mut self.asked), ("far_req", &mut self.served)] {
            queue.extend(self.b.taken(port));
        }
        if let Some(m) = self.b.taken("net_rsp") {
            let who = self.golden.answered(m.get("txn")).expect("an entry that waits");
            self.answers.push_back((who, m));
        }
        if let Some(m) = self.b.taken("bank_rsp") {
            let guest =
                self.golden.served(self.slot_of(m.get("dst"), m.get("txn"))).expect("a slot that waits");
            self.given.push_back((guest, m));
        }
        self.see_asking();
        self.see_serving();
        assert!(
            self.golden.open() <= self.p.entries as usize && self.golden.guests() <= self.p.slots as usize
        );
    }

    fn see_asking(&mut self) {
        if let Some((_, m)) = self.b.received("net_req") {
            let asked = self.asked.pop_front().expect("an L1 has asked before");
            let [l1, txn, line] = ["src", "txn", "line"].map(|f| asked.get(f));
            let (owner, inside) =
                self.golden.asks(m.get("txn"), Entry { l1, txn, line }).expect("a free entry");
            assert_eq!(["dst", "src", "line"].map(|f| m.get(f)), [owner, self.own, inside]);
            assert!(same(&m, &asked, &ASKED), "{m:?} of {asked:?}");
            self.entries.push((m.get("txn"), m.get("op")));
        }
        if let Some((_, m)) = self.b.received("l1_rsp") {
            let (who, answer) = self.answers.pop_front().expect("an answer of the network came before");
            assert_eq!((m.get("dst"), m.get("txn")), (who.l1, who.txn));
            assert!(same(&m, &answer, &ANSWERED), "{m:?} of {answer:?}");
            self.open.retain(|open| *open != (who.l1, who.txn));
            self.done[0] += 1;
        }
    }

    fn see_serving(&mut self) {
        if let Some((_, m)) = self.b.received("bank_req") {
            let call = self.served.pop_front().expect("a GPU has asked before");
            let guest = Guest { gpu: call.get("src"), entry: call.get("txn") };
            let line = self.golden.serves(self.slot_of(m.get("src"), m.get("txn")), guest, call.get("line"));
            assert_eq!(Ok(m.get("line")), line);
            assert!(same(&m, &call, &ASKED), "{m:?} of {call:?}");
            assert_eq!(m.get("ts_v"), 0, "there is no time in this system");
            self.slots.push((m.get("src"), m.get("txn"), m.get("op")));
        }
        if let Some((_, m)) = self.b.received("far_rsp") {
            let (guest, given) = self.given.pop_front().expect("a bank has answered before");
            assert_eq!((m.get("dst"), m.get("txn")), (guest.gpu, guest.entry));
            assert!(same(&m, &given, &ANSWERED), "{m:?} of {given:?}");
            self.far.retain(|far| *far != (guest.gpu, guest.entry));
            self.done[1] += 1;
        }
    }

    /// The slot that an L1's number beyond the last one and a transaction stand for.
    fn slot_of(&self, l1: u64, txn: u64) -> u64 {
        let cus = u64::from(self.p.tsm.cus);
        assert!(l1 >= cus, "L1 {l1} is one of this GPU");
        (l1 - cus) << weft_rtl::bv::bits_for(u64::from(self.p.tsm.l1_mshrs)) | txn
    }

    fn run(&mut self, cycles: u64) {
        let mut chances = [1.0; 4];
        for cycle in 0..cycles {
            if cycle % 250 == 0 {
                chances = std::array::from_fn(|_| [0.02, 0.3, 1.0][self.b.rng.random_range(0..3)]);
                for sink in self.b.sinks.values_mut() {
                    sink.chance = [0.05, 1.0, 1.0, 0.5][self.b.rng.random_range(0..4)];
                }
            }
            let acts: [fn(&mut World); 4] = [World::ask, World::call, World::answer, World::give];
            for (act, chance) in acts.into_iter().zip(chances) {
                if self.b.rng.random_bool(chance) {
                    act(self);
                }
            }
            self.step();
        }
    }

    /// Lets everything be answered.
    fn drain(&mut self) {
        self.b.sinks.values_mut().for_each(|sink| sink.chance = 1.0);
        for _ in 0..2_000 {
            self.answer();
            self.give();
            self.step();
        }
        assert_eq!((self.golden.open(), self.golden.guests()), (0, 0), "everybody has an answer");
        assert_eq!(self.same_line, self.b.counted("rdma_same_line"), "each is told outside");
        assert!(
            self.open.is_empty() && self.far.is_empty() && self.asked.is_empty() && self.served.is_empty()
        );
    }
}

#[test]
fn everybody_gets_the_answer_to_what_was_asked() {
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    for (seed, p) in [small(4, 3, 3, 2, 4), small(2, 2, 5, 7, 2), small(8, 6, 4, 3, 1)].iter().enumerate() {
        let own = seed as u64 % u64::from(p.tsm.gpus);
        let mut w = World::new(p, own, seed as u64);
        w.run(6_000);
        w.drain();
        assert!(w.done.iter().all(|done| *done > 200), "{:?}", w.done);
        for probe in w.b.sim.probes().filter(|probe| probe.kind == weft_rtl::ir::ProbeKind::Cover) {
            *seen.entry(probe.name.to_string()).or_default() += probe.count;
        }
    }
    let missed: Vec<_> = seen.iter().filter(|(_, count)| **count == 0).collect();
    assert!(missed.is_empty() && seen.len() == table().rows().len() + 5, "{missed:?} of {}", seen.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
    #[test]
    fn engines_of_any_size(
        gpus in 1u32..5, cus in 1u32..9, entries in 1u32..20, slots in 1u32..20, l1_mshrs in 1u32..9, seed: u64,
    ) {
        let p = small(1 << gpus, cus, entries, slots, l1_mshrs);
        let mut w = World::new(&p, seed % u64::from(p.tsm.gpus), seed);
        w.run(900);
        w.drain();
    }
}

/// With as many requests under way as there are entries the port is not ready; an answer lets one more go.
#[test]
fn a_full_engine_waits() {
    let p = small(2, 4, 3, 2, 4);
    let mut w = World::new(&p, 0, 9);
    while w.open.len() < 12 {
        w.ask();
    }
    (0..60).for_each(|_| w.step());
    assert_eq!((w.golden.open(), w.asked.len()), (3, 2), "three entries, two in the skid buffer");
    assert!(w.b.counted("rdma_entry_stalls") > 40 && !w.b.source_mut("l1_req").queue.is_empty());
    w.answer();
    (0..20).for_each(|_| w.step());
    assert_eq!((w.golden.open(), w.done[0]), (3, 1));
    w.drain();
    assert_eq!((w.done[0], w.b.counted("rdma_requests")), (12, 12));
    let kinds = ["reads", "writes", "atomics"].map(|kind| w.b.counted(&format!("rdma_{kind}")));
    assert_eq!(kinds.iter().sum::<u64>(), 12);
}

/// Storage by field: {transaction, L1, line} of 64 entries.
#[test]
fn the_entries_are_the_specified_ones() {
    let p = Rdma::default();
    let module = rdma_engine(&p).expect("legal");
    let bits = |name: &str| {
        let mem = module.mems.iter().find(|m| m.name == name).unwrap_or_else(|| panic!("no {name}"));
        (mem.rows, mem.leaves.iter().map(|leaf| leaf.width).sum::<u32>())
    };
    assert_eq!(bits("lines_keys"), (64, 42));
    assert_eq!(
        bits("askers"),
        (64, 7 + 4),
        "numbers of 64 L1s and 4 that the engine stands for; 16 transactions"
    );
    assert_eq!(bits("guests"), (64, 2 + 6));
}

#[test]
fn illegal_values_are_refused_with_key_and_range() {
    for (key, p) in [
        ("entries", small(2, 2, 0, 1, 1)),
        ("slots", small(2, 2, 1, 300, 1)),
        ("gpus", small(1, 2, 1, 1, 1)),
        ("home_bits", Rdma { home_bits: 36, ..small(2, 2, 1, 1, 1) }),
    ] {
        let error = rdma_engine(&p).expect_err("illegal").to_string();
        assert!(error.contains(key) && error.contains("legal: "), "{error}");
    }
}

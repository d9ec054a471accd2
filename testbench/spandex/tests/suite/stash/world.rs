//! Stashes and L1s of several CUs around a bank of the LLC, all of them hardware; the bench is the CUs, the network, which keeps no order, and the memory. [`Golden`] judges every value, and who owns what at rest.

use crate::stash::golden::{Golden, Kind, Role};
use crate::stash::hand::{Area, W, bits, word};
use crate::stash::system::{KINDS, LINES, Shape, system};
use rand::Rng;
use std::collections::{BTreeMap, BTreeSet};
use weft_bench::{Bench, Msg};
use weft_blocks::msg::{CuOp, CuReq, CuRsp};
use weft_rtl::bv::Bv;
use weft_spandex::msg::{Fwd, FwdOp, MemReq, MemRsp, Req, Rsp, Wb};
use weft_spandex::params::Spandex;
use weft_spandex::stash::{StashMap, StashParams, StashReq, StashRsp};

/// What is asked of a port and not answered.
#[derive(Clone, Debug)]
pub enum Open {
    /// Words by their place in the answer.
    Load(BTreeMap<u64, u64>),
    /// An acknowledgement; of a STASH_MAP which.
    Ack(Option<(u64, Area)>),
}

pub struct World {
    pub b: Bench,
    pub p: StashParams,
    pub s: Spandex,
    pub golden: Golden,
    pub post: Vec<(u64, String, Msg)>,
    memory: BTreeMap<u64, Bv>,
    pub slow: u64,
    /// By port and number.
    pub open: BTreeMap<(usize, u64), (Open, u64)>,
    /// Mappings that accesses must leave alone, by port.
    pub changing: BTreeMap<usize, (u64, Area)>,
    pub next: u64,
    pub stores: u32,
    /// Ports are asked for something new.
    pub busy: bool,
    pub probes: Vec<Msg>,
    pub answers: u64,
    pub maps: u64,
}

/// Number in messages that the bench itself sends as a device.
pub const PROBE: u64 = 0;

impl World {
    pub fn new(p: &Shape, seed: u64) -> World {
        let s = p.stash.spandex.clone();
        let mut b = Bench::new(&system(p), seed);
        for (d, kind) in KINDS.iter().enumerate() {
            let name = |what: &str| format!("d{d}_{what}");
            if *kind == Kind::Stash {
                b.source::<StashMap>(&name("map"), &p.stash);
                b.source::<StashReq>(&name("cu_req"), &p.stash);
                b.sink::<StashRsp>(&name("cu_rsp"), &p.stash);
            } else {
                b.source::<CuReq>(&name("cu_req"), &s.cu());
                b.sink::<CuRsp>(&name("cu_rsp"), &s.cu());
            }
            b.sink::<Req>(&name("req"), &s);
            b.sink::<Wb>(&name("wb"), &s);
            b.sink::<Rsp>(&name("rsp_out"), &s);
            b.sink::<Fwd>(&name("fwd_out"), &s);
            b.source::<Fwd>(&name("fwd"), &s);
            b.source::<Rsp>(&name("rsp"), &s);
            for out in ["req", "wb", "rsp_out"] {
                b.sink_mut(&name(out)).chance = 0.7;
            }
        }
        b.source::<Req>("bank_req", &s);
        b.source::<Wb>("bank_wb", &s);
        b.source::<Rsp>("bank_rsp_in", &s);
        b.source::<MemRsp>("bank_mem_rsp", &s);
        b.sink::<Rsp>("bank_rsp", &s);
        b.sink::<Fwd>("bank_fwd", &s);
        b.sink::<MemReq>("bank_mem_req", &s);
        World {
            b,
            p: p.stash.clone(),
            golden: Golden::new(LINES.start * W..LINES.end * W, &KINDS),
            s,
            post: Vec::new(),
            memory: BTreeMap::new(),
            slow: 10,
            open: BTreeMap::new(),
            changing: BTreeMap::new(),
            next: 0,
            stores: 0,
            busy: false,
            probes: Vec::new(),
            answers: 0,
            maps: 0,
        }
    }

    fn later(&mut self, to: String, m: Msg) {
        let rng = &mut self.b.rng;
        let long = if rng.random_bool(0.03) { 10 * self.slow } else { self.slow };
        let due = self.b.sim.cycle() + rng.random_range(1..=long);
        self.post.push((due, to, m));
    }

    /// One cycle of everything.
    pub fn cycle(&mut self) {
        let now = self.b.sim.cycle();
        for port in 0..KINDS.len() {
            if self.busy && self.b.rng.random_bool(0.3) {
                self.ask(port);
            }
        }
        self.b.step();
        self.network();
        for d in 0..KINDS.len() {
            while let Some((_, m)) = self.b.received(&format!("d{d}_cu_rsp")) {
                self.reply(d, &m);
            }
        }
        let mut i = 0;
        while i < self.post.len() {
            if self.post[i].0 <= now {
                let (_, to, m) = self.post.swap_remove(i);
                self.b.send(&to, m);
            } else {
                i += 1;
            }
        }
        let slowest = self.open.iter().map(|(at, (open, since))| (since, at, open)).min_by_key(|o| o.0);
        if let Some((since, at, open)) = slowest {
            assert!(now - since < 8_000, "{open:x?} of {at:?} is not answered");
        }
    }

    fn network(&mut self) {
        let devs = KINDS.len() as u64;
        for d in 0..devs {
            for (out, to) in [("req", "bank_req"), ("wb", "bank_wb")] {
                while let Some((_, m)) = self.b.received(&format!("d{d}_{out}")) {
                    self.later(to.into(), m);
                }
            }
            while let Some((_, m)) = self.b.received(&format!("d{d}_rsp_out")) {
                let dst = m.get("dst");
                // Nobody else sends direct requests.
                if m.get("direct") == 1 {
                    assert_eq!(m.get("tag"), PROBE);
                    self.probes.push(m);
                    continue;
                }
                self.later(if dst < devs { format!("d{dst}_rsp") } else { "bank_rsp_in".into() }, m);
            }
        }
        for (out, to) in [("bank_rsp", "rsp"), ("bank_fwd", "fwd")] {
            while let Some((_, m)) = self.b.received(out) {
                if out == "bank_fwd" && m.get("op") == FwdOp::RvkO as u64 {
                    let line = m.get("line");
                    bits(m.get("own")).for_each(|w| self.golden.revoked(line * W + w));
                }
                let to = format!("d{}_{to}", m.get("dst"));
                self.later(to, m);
            }
        }
        while let Some((_, m)) = self.b.received("bank_mem_req") {
            let line = m.get("line");
            if m.get("write") == 1 {
                self.memory.insert(line, m.wide("data").clone());
            } else {
                let data = self.memory.get(&line).cloned().unwrap_or_else(|| Bv::zero(256));
                let rsp = Msg::of::<MemRsp>(&self.s, &[("tbe", m.get("tbe"))]).with("data", data);
                self.later("bank_mem_rsp".into(), rsp);
            }
        }
    }

    pub fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.cycle());
    }

    pub fn id(&mut self, port: usize, open: Open) -> u64 {
        self.next = (self.next + 1) % 4096;
        self.open.insert((port, self.next), (open, self.b.sim.cycle()));
        self.next
    }

    fn reply(&mut self, port: usize, m: &Msg) {
        let at = (port, m.get("id"));
        let (open, _) = self.open.get_mut(&at).unwrap_or_else(|| panic!("nobody waits for {at:?}"));
        self.answers += 1;
        match open {
            Open::Load(words) => {
                assert_eq!(m.get("kind"), 0);
                let stash = KINDS[port] == Kind::Stash;
                let places: BTreeSet<u64> =
                    bits(m.get("mask")).map(|b| if stash { b } else { b / 4 }).collect();
                let mut got = Vec::new();
                for place in places {
                    let g = words.remove(&place).expect("a word is answered once");
                    got.push((g, word(m.wide("data"), place)));
                }
                if words.is_empty() {
                    self.open.remove(&at);
                }
                got.into_iter().for_each(|(g, value)| self.golden.load(port, g, value));
            }
            Open::Ack(map) => {
                assert_eq!(m.get("kind"), 1);
                if let Some((index, area)) = *map {
                    self.golden.map(port, index, area);
                    self.changing.remove(&port);
                }
                self.open.remove(&at);
            }
        }
    }

    /// Everybody is told the same, and acknowledges it.
    fn order(&mut self, op: CuOp) {
        for (port, kind) in KINDS.iter().enumerate() {
            let id = self.id(port, Open::Ack(None));
            if *kind == Kind::Stash {
                let m = Msg::of::<StashReq>(
                    &self.p,
                    &[("op", op as u64), ("mask", 0), ("want_ack", 0), ("id", id)],
                );
                self.b.send(&format!("d{port}_cu_req"), m);
            } else {
                self.send_l1(port, op, (0, 0), id, Bv::zero(256));
            }
        }
        while !self.open.is_empty() {
            self.cycle();
        }
    }

    /// A kernel of so many cycles; everything is looked at afterwards.
    pub fn kernel(&mut self, cycles: u64, races: bool) {
        let ports = KINDS.len();
        let rng = &mut self.b.rng;
        self.golden.kernel(|_| match rng.random_range(0..10) {
            0..=4 => Role::Of(rng.random_range(0..ports)),
            5 if races => Role::Race,
            _ => Role::Shared,
        });
        self.busy = true;
        self.run(cycles);
        self.busy = false;
        while !self.open.is_empty() {
            self.cycle();
        }
        self.order(CuOp::Kend);
        self.order(CuOp::Kbegin);
        // What was written back may still be on its way.
        self.run(30 * self.slow + 60);
        assert!(self.post.is_empty(), "something is under way");
        self.look();
    }
}

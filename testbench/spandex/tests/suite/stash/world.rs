//! Stashes and L1s of several CUs around a bank of the LLC, all of them hardware; the bench is the CUs, the network, which keeps no order, and the memory. [`Golden`] judges every value, and who owns what at rest.

use crate::stash::golden::{Golden, Kind, Role};
use crate::stash::hand::{Area, W};
use crate::stash::system::{KINDS, LINES, Shape, system};
use crate::system::Network;
use crate::words::{bits, word};
use rand::Rng;
use std::collections::{BTreeMap, BTreeSet};
use weft_bench::{Bench, Msg};
use weft_blocks::msg::{CuOp, CuReq, CuRsp};
use weft_rtl::bv::Bv;
use weft_spandex::msg::FwdOp;
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
    pub net: Network,
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
        }
        Network::connect(&mut b, &s, &["req", "wb", "rsp_out"]);
        World {
            b,
            p: p.stash.clone(),
            golden: Golden::new(LINES.start * W..LINES.end * W, &KINDS),
            s,
            net: Network::new(&p.stash.spandex, 10),
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
        self.net.deliver(&mut self.b, now);
        let slowest = self.open.iter().map(|(at, (open, since))| (since, at, open)).min_by_key(|o| o.0);
        if let Some((since, at, open)) = slowest {
            assert!(now - since < 8_000, "{open:x?} of {at:?} is not answered");
        }
    }

    fn network(&mut self) {
        for d in 0..KINDS.len() {
            self.net.device(&mut self.b, d, |out, m| {
                // Nobody else sends direct requests.
                let probe = out == "rsp_out" && m.get("direct") == 1;
                if probe {
                    assert_eq!(m.get("tag"), PROBE);
                    self.probes.push(m.clone());
                }
                probe
            });
        }
        self.net.bank(&mut self.b, |m| {
            if m.get("op") == FwdOp::RvkO as u64 {
                bits(m.get("own")).for_each(|w| self.golden.revoked(m.get("line") * W + w));
            }
        });
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
        self.run(30 * self.net.slow + 60);
        assert!(self.net.idle(), "something is under way");
        self.look();
    }
}

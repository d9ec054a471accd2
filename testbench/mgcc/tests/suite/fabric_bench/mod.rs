//! A tiny fabric, of MGPU-TSM or MGPU-RDMA, with everything around it: compute units with waves, DRAM channels that answer late and in any order, command processors.
#![allow(dead_code)] // The bench serves several tests.

mod program;

pub use program::Program;

use crate::wire::{line_data, wide, with_data, work_of};
use rand::Rng;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use weft_blocks::msg::{CuReq, CuRsp, FenceToken};
use weft_mgcc::fabric::{TsmFabricParams, tsm_fabric};
use weft_mgcc::msg::{DramReq, DramRsp};
use weft_mgcc::params::Tsm;
use weft_mgcc::rdma::{RdmaFabricParams, rdma_fabric};
use weft_mgcc_bench::bench::{Bench, Msg};
use weft_mgcc_bench::golden::msg::{Atomic, Data};
use weft_mgcc_bench::golden::time::Time;
use weft_mgcc_bench::golden::umc::Dram;
use weft_rtl::prelude::{HwEnum, Module};

/// What the bench needs to know of a fabric.
pub trait Fabric: Clone {
    fn module(&self) -> Arc<Module>;
    /// Counts and widths of the whole system.
    fn tsm(&self) -> &Tsm;
    /// Widths at the DRAM channels.
    fn at_dram(&self) -> Tsm;
    /// There are lease registers; fence units; ports that tell times.
    fn leases(&self) -> bool;
    fn fences(&self) -> bool;
    fn times(&self) -> bool;
    /// Beginnings of the names of the DRAM channels' ports.
    fn channels(&self) -> Vec<String>;
    /// Number of the channel of a line.
    fn channel_of(&self, line: u64) -> usize;
    /// The line that a channel means by a number.
    fn line_at(&self, channel: usize, line: u64) -> u64;
    /// All dirty bytes are in memory after a kernel.
    fn writes_back(&self) -> bool;
}

impl Fabric for TsmFabricParams {
    fn module(&self) -> Arc<Module> {
        tsm_fabric(self).expect("legal parameters")
    }
    fn tsm(&self) -> &Tsm {
        &self.tsm
    }
    fn at_dram(&self) -> Tsm {
        self.tsm.clone()
    }
    fn leases(&self) -> bool {
        self.coherent()
    }
    fn fences(&self) -> bool {
        !self.coherent()
    }
    fn times(&self) -> bool {
        self.observe
    }
    fn channels(&self) -> Vec<String> {
        let lanes = |u| (0..self.tsm.lanes).map(move |l| format!("u{u}_l{l}"));
        (0..self.tsm.banks).flat_map(lanes).collect()
    }
    fn channel_of(&self, line: u64) -> usize {
        let t = &self.tsm;
        let (low, bits) = (t.il - 6, t.banks.trailing_zeros());
        let inside = line >> (low + bits) << low | line & ((1 << low) - 1);
        let (umc, lane) = (line >> low & u64::from(t.banks - 1), inside & u64::from(t.lanes - 1));
        (umc * u64::from(t.lanes) + lane) as usize
    }
    fn line_at(&self, _: usize, line: u64) -> u64 {
        line
    }
    fn writes_back(&self) -> bool {
        true
    }
}

impl Fabric for RdmaFabricParams {
    fn module(&self) -> Arc<Module> {
        rdma_fabric(self).expect("legal parameters")
    }
    fn tsm(&self) -> &Tsm {
        &self.rdma.tsm
    }
    fn at_dram(&self) -> Tsm {
        self.rdma.bank()
    }
    fn leases(&self) -> bool {
        false
    }
    fn fences(&self) -> bool {
        false
    }
    fn times(&self) -> bool {
        false
    }
    fn channels(&self) -> Vec<String> {
        let banks = |g| (0..self.rdma.tsm.banks).map(move |b| format!("g{g}_b{b}"));
        (0..self.rdma.tsm.gpus).flat_map(banks).collect()
    }
    fn channel_of(&self, line: u64) -> usize {
        let t = &self.rdma.tsm;
        let (home, bank) = (line >> (self.rdma.home_bits - 6), line >> (t.il - 6) & u64::from(t.banks - 1));
        (home * u64::from(t.banks) + bank) as usize
    }
    fn line_at(&self, channel: usize, line: u64) -> u64 {
        (channel as u64 / u64::from(self.rdma.tsm.banks)) << (self.rdma.home_bits - 6) | line
    }
    fn writes_back(&self) -> bool {
        false
    }
}

/// Operations of a CU.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum CuWork {
    Load { mask: u64, sync: bool },
    Store { mask: u64, data: Data, want_ack: bool },
    Atomic(Atomic),
    Fence { acquire: bool },
    Kbegin(Time),
    Kend,
}

/// A line access of a wave.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Asked {
    pub wave: usize,
    pub seq: u32,
    pub line: u64,
    pub work: CuWork,
    /// Cycle in which it was handed to the port.
    pub since: u64,
    /// What a load or atomic must show, in the bytes of the mask.
    pub expected: Option<(u64, Data)>,
}

/// An answer.
pub struct Answer {
    pub cu: usize,
    pub asked: Asked,
    pub data: Data,
    pub time: Time,
    pub src: u64,
}

pub fn initial(line: u64) -> Data {
    Data::from_words(std::array::from_fn(|i| (line << 8 | i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

/// Cycles after which something that was asked must have been answered.
const PATIENCE: u64 = 30_000;

pub struct World<P> {
    pub p: P,
    pub b: Bench,
    /// Open accesses of each CU by transaction number.
    pub open: Vec<BTreeMap<u64, Asked>>,
    next_id: Vec<u64>,
    pub dram: Dram,
    back: Vec<(u64, String, Msg)>,
    /// Longest delay of DRAM.
    pub delay: u64,
    /// Receivers are slow now and then.
    pub pressure: bool,
    pub answers: VecDeque<Answer>,
}

impl<P: Fabric> World<P> {
    pub fn new(p: &P, seed: u64) -> World<P> {
        let mut b = Bench::new(&p.module(), seed);
        let (t, dram) = (p.tsm(), p.at_dram());
        for (g, c) in units(t) {
            b.source::<CuReq>(&format!("g{g}_cu{c}_req"), &t.cu());
            b.sink::<CuRsp>(&format!("g{g}_cu{c}_rsp"), &t.cu());
        }
        for channel in p.channels() {
            b.sink::<DramReq>(&format!("{channel}_dram_req"), &dram);
            b.source::<DramRsp>(&format!("{channel}_dram_rsp"), &dram);
        }
        if p.leases() {
            b.set("rd_lease", 10);
            b.set("wr_lease", 5);
        }
        for g in (0..t.gpus).filter(|_| p.fences()) {
            b.source::<FenceToken>(&format!("g{g}_fence_start"), &());
            b.sink::<FenceToken>(&format!("g{g}_fence_done"), &());
        }
        let cus = (t.gpus * t.cus) as usize;
        World {
            p: p.clone(),
            b,
            open: vec![BTreeMap::new(); cus],
            next_id: vec![0; cus],
            dram: Dram::new(initial),
            back: Vec::new(),
            delay: 10,
            pressure: false,
            answers: VecDeque::new(),
        }
    }

    pub fn cus(&self) -> usize {
        self.open.len()
    }
    /// Name of a CU's ports.
    pub fn unit(&self, cu: usize) -> String {
        let own = self.p.tsm().cus as usize;
        format!("g{}_cu{}", cu / own, cu % own)
    }

    /// Hands an access to a CU's port.
    pub fn ask(&mut self, cu: usize, mut asked: Asked) {
        asked.since = self.b.sim.cycle();
        while self.open[cu].contains_key(&self.next_id[cu]) {
            self.next_id[cu] = (self.next_id[cu] + 1) % 4096;
        }
        let id = self.next_id[cu];
        self.next_id[cu] = (id + 1) % 4096;
        let m = self.message(id, &asked);
        let answered = !matches!(asked.work, CuWork::Store { want_ack: false, .. });
        if answered {
            self.open[cu].insert(id, asked);
        }
        let port = format!("{}_req", self.unit(cu));
        self.b.send(&port, m);
    }

    fn message(&mut self, id: u64, asked: &Asked) -> Msg {
        let mut fields = vec![("id", id), ("line", asked.line)];
        let mut wide = None;
        let op = match asked.work {
            CuWork::Load { mask, sync } => {
                fields.extend([("mask", mask), ("sync", u64::from(sync))]);
                0
            }
            CuWork::Store { mask, data, want_ack } => {
                fields.extend([("mask", mask), ("want_ack", u64::from(want_ack))]);
                wide = Some(data);
                1
            }
            CuWork::Atomic(a) => {
                let mut data = Data::default();
                data.set_number(4 * a.word as usize, a.size(), a.operand);
                wide = Some(data);
                let sgn = u64::from(a.signed);
                fields.extend([
                    ("mask", a.mask()),
                    ("amo", a.op.encoding()),
                    ("sgn", sgn),
                    ("cmp", a.compare),
                ]);
                2
            }
            CuWork::Fence { acquire } => 3 + u64::from(acquire),
            CuWork::Kbegin(time) => {
                wide = Some(Data::from_words([time.pack(self.p.tsm().ts), 0, 0, 0, 0, 0, 0, 0]));
                5
            }
            CuWork::Kend => 6,
        };
        fields.push(("op", op));
        with_data(Msg::of::<CuReq>(&self.p.tsm().cu(), &fields), wide.as_ref())
    }

    /// One cycle.
    pub fn step(&mut self) {
        let now = self.b.sim.cycle();
        if self.pressure && now.is_multiple_of(300) {
            for (name, sink) in &mut self.b.sinks {
                let slow = if name.contains("_cu") { 0.5 } else { 0.05 };
                sink.chance =
                    [slow, 1.0, 1.0, self.b.rng.random_range(0.2..1.0)][self.b.rng.random_range(0..4)];
            }
            self.delay = self.b.rng.random_range(0..60);
        }
        while let Some(i) = self.back.iter().position(|(at, ..)| *at <= now) {
            let (_, port, m) = self.back.swap_remove(i);
            self.b.send(&port, m);
        }
        let times: Vec<u64> = match self.p.times() {
            true => (0..self.cus()).map(|cu| self.b.get(&format!("{}_time", self.unit(cu)))).collect(),
            false => vec![0; self.cus()],
        };
        self.b.step();
        self.memory(now);
        for (cu, time) in times.into_iter().enumerate() {
            let port = format!("{}_rsp", self.unit(cu));
            while let Some((_, m)) = self.b.received(&port) {
                let asked = self.open[cu].remove(&m.get("id")).expect("an answer to what was asked, once");
                let kind = u64::from(!matches!(asked.work, CuWork::Load { .. } | CuWork::Atomic(_)));
                assert_eq!(m.get("kind"), kind, "{asked:?}");
                let time = Time::unpack(time, self.p.tsm().ts);
                let (data, src) = (line_data(m.wide("data")), m.get("src"));
                self.answers.push_back(Answer { cu, asked, data, time, src });
            }
            let late = self.open[cu].values().find(|a| a.since + PATIENCE < now);
            assert!(late.is_none(), "{}: {late:?} is never answered", self.unit(cu));
        }
    }

    fn memory(&mut self, now: u64) {
        let t = self.p.at_dram();
        for (number, channel) in self.p.channels().into_iter().enumerate() {
            while let Some((_, m)) = self.b.received(&format!("{channel}_dram_req")) {
                let line = self.p.line_at(number, m.get("line"));
                assert_eq!(self.p.channel_of(line), number, "line {line:#x} at another channel");
                let (data, old) = self.dram.perform(line, &work_of(&m));
                let rsp = Msg::of::<DramRsp>(&t, &[("id", m.get("id")), ("old", old)]);
                let rsp = rsp.with("data", wide(&data));
                let at = now + self.b.rng.random_range(0..=self.delay);
                self.back.push((at, format!("{channel}_dram_rsp"), rsp));
            }
        }
    }

    /// A fence of every GPU's command processor, where there is no coherence.
    pub fn fence(&mut self, acquire: bool) {
        let gpus = self.p.tsm().gpus;
        for g in 0..gpus {
            let fields = [("seq", 7 + u64::from(g)), ("scope", 2), ("acquire", u64::from(acquire))];
            self.b.send(&format!("g{g}_fence_start"), Msg::of::<FenceToken>(&(), &fields));
        }
        let mut waiting: Vec<u32> = (0..gpus).collect();
        let start = self.b.sim.cycle();
        while !waiting.is_empty() {
            self.step();
            waiting.retain(|g| match self.b.received(&format!("g{g}_fence_done")) {
                Some((_, m)) => {
                    let back = (m.get("seq"), m.get("acquire"));
                    assert_eq!(back, (7 + u64::from(*g), u64::from(acquire)), "the token comes back");
                    false
                }
                None => true,
            });
            assert!(self.b.sim.cycle() - start < PATIENCE, "fences of {waiting:?} never end");
        }
    }

    /// Asks one thing of every CU and waits for all answers.
    pub fn ask_all(&mut self, work: CuWork) -> Vec<Answer> {
        assert!(self.open.iter().all(BTreeMap::is_empty) && self.answers.is_empty());
        for cu in 0..self.cus() {
            self.ask(cu, Asked { wave: 0, seq: 0, line: 0, work, since: 0, expected: None });
        }
        while self.answers.len() < self.cus() {
            self.step();
        }
        self.answers.drain(..).collect()
    }
}

/// GPU and number of every CU.
pub fn units(t: &Tsm) -> impl Iterator<Item = (u32, u32)> {
    let cus = t.cus;
    (0..t.gpus).flat_map(move |g| (0..cus).map(move |c| (g, c)))
}

//! Stashes and L1s of several CUs around a bank of the LLC, all of them hardware; the bench is the CUs, the network, which keeps no order, and the memory. [`Golden`] judges every value, and who owns what at rest.

use crate::golden::{Golden, Kind, Role};
use crate::hand::{Area, W, bits, line_of, small as params, word};
use rand::Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use weft_bench::{Bench, Msg};
use weft_blocks::common::join::{pass_in, pass_out};
use weft_blocks::msg::{CuOp, CuReq, CuRsp};
use weft_rtl::bv::Bv;
use weft_rtl::prelude::*;
use weft_spandex::denovo_l1::DenovoL1Params;
use weft_spandex::fabric::{denovo_device, gpu_device, stash_device};
use weft_spandex::gpu_l1::{GpuL1Params, SbDrain};
use weft_spandex::llc::{LlcParams, spandex_llc};
use weft_spandex::msg::{Fwd, FwdOp, MemReq, MemRsp, Req, Rsp, RspOp, Wb};
use weft_spandex::params::Spandex;
use weft_spandex::stash::{Inject, StashMap, StashParams, StashReq, StashRsp};
use weft_spandex::tu_denovo::TuDenovoParams;
use weft_spandex::tu_gpu::TuGpuParams;

/// Lines that programs use.
pub const LINES: std::ops::Range<u64> = 0x40..0x4a;
/// Devices: two stashes, the L1s of their CUs, the L1 of another CU.
pub const KINDS: [Kind; 5] = [Kind::Stash, Kind::Stash, Kind::Denovo, Kind::Denovo, Kind::Gpu];

/// A system.
#[derive(Clone)]
pub struct Shape {
    pub stash: StashParams,
    /// Bytes of the LLC.
    pub llc: u32,
}

pub fn small(inject: Inject, sb_drain: SbDrain, llc: u32) -> Shape {
    let spandex = Spandex { cus: KINDS.len() as u32, ..params().spandex };
    Shape { stash: StashParams { spandex, inject, sb_drain, ..params() }, llc }
}

fn system(p: &Shape) -> Arc<Module> {
    let s = &p.stash.spandex;
    let l1 = GpuL1Params { size: 128, ways: 2, targets: 2, releases: 2, ..GpuL1Params::published(s.clone()) };
    let l1 = GpuL1Params { sb_drain: p.stash.sb_drain, ..l1 };
    let denovo = DenovoL1Params { l1: l1.clone(), ..DenovoL1Params::published(s.clone()) };
    let unit = TuDenovoParams { spandex: s.clone(), n_fail: 2 };
    let of = |kind: &Kind| match kind {
        Kind::Stash => stash_device(&p.stash, &unit),
        Kind::Denovo => denovo_device(&denovo, &unit),
        Kind::Gpu => gpu_device(&l1, &TuGpuParams::published(s.clone())),
    };
    let devices: Vec<Arc<Module>> = KINDS.iter().map(|kind| of(kind).expect("legal")).collect();
    let llc = LlcParams { size: p.llc, ways: 2, stalls: 8, ..LlcParams::published(s.clone()) };
    let bank = spandex_llc(&llc).expect("legal");
    Module::build("stash_under_test", ModuleKind::Fabric, || {
        for (d, (kind, module)) in KINDS.iter().zip(&devices).enumerate() {
            let dev = instance(&format!("dev_{d}"), module);
            dev.drive_bits("own", lit(d as u64, s.dev_bits()));
            let name = |what: &str| format!("d{d}_{what}");
            if *kind == Kind::Stash {
                pass_in::<StashMap>(&dev, "map", &name("map"), &p.stash);
                pass_in::<StashReq>(&dev, "cu_req", &name("cu_req"), &p.stash);
                pass_out::<StashRsp>(&dev, "cu_rsp", &name("cu_rsp"), &p.stash);
            } else {
                pass_in::<CuReq>(&dev, "cu_req", &name("cu_req"), &s.cu());
                pass_out::<CuRsp>(&dev, "cu_rsp", &name("cu_rsp"), &s.cu());
            }
            pass_out::<Req>(&dev, "req", &name("req"), s);
            pass_out::<Wb>(&dev, "wb", &name("wb"), s);
            pass_out::<Rsp>(&dev, "rsp_out", &name("rsp_out"), s);
            pass_out::<Fwd>(&dev, "fwd_out", &name("fwd_out"), s);
            pass_in::<Fwd>(&dev, "fwd", &name("fwd"), s);
            pass_in::<Rsp>(&dev, "rsp", &name("rsp"), s);
        }
        let bank = instance("home", &bank);
        bank.drive_bits("own", lit(u64::from(s.devs()), s.node_bits()));
        pass_in::<Req>(&bank, "req", "bank_req", s);
        pass_in::<Wb>(&bank, "wb", "bank_wb", s);
        pass_in::<Rsp>(&bank, "rsp_in", "bank_rsp_in", s);
        pass_in::<MemRsp>(&bank, "mem_rsp", "bank_mem_rsp", s);
        pass_out::<Rsp>(&bank, "rsp", "bank_rsp", s);
        pass_out::<Fwd>(&bank, "fwd", "bank_fwd", s);
        pass_out::<MemReq>(&bank, "mem_req", "bank_mem_req", s);
    })
    .expect("legal")
}

/// What is asked of a port and not answered.
#[derive(Clone, Debug)]
enum Open {
    /// Words by their place in the answer.
    Load(BTreeMap<u64, u64>),
    /// An acknowledgement; of a STASH_MAP which.
    Ack(Option<(u64, Area)>),
}

pub struct World {
    pub b: Bench,
    p: StashParams,
    s: Spandex,
    pub golden: Golden,
    post: Vec<(u64, String, Msg)>,
    memory: BTreeMap<u64, Bv>,
    pub slow: u64,
    /// By port and number.
    open: BTreeMap<(usize, u64), (Open, u64)>,
    /// Mappings that accesses must leave alone, by port.
    changing: BTreeMap<usize, (u64, Area)>,
    next: u64,
    stores: u32,
    /// Ports are asked for something new.
    busy: bool,
    probes: Vec<Msg>,
    pub answers: u64,
    pub maps: u64,
}

/// Number in messages that the bench itself sends as a device.
const PROBE: u64 = 0;

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

    fn id(&mut self, port: usize, open: Open) -> u64 {
        self.next = (self.next + 1) % 4096;
        self.open.insert((port, self.next), (open, self.b.sim.cycle()));
        self.next
    }

    /// Global words of a port's loads that are not answered.
    fn reads(&self, port: usize) -> BTreeSet<u64> {
        let mine = self.open.iter().filter(|(at, _)| at.0 == port);
        let loads = mine.filter_map(|(_, (open, _))| match open {
            Open::Load(words) => Some(words.values().copied()),
            Open::Ack(_) => None,
        });
        loads.flatten().collect()
    }

    fn value(&mut self) -> u32 {
        self.stores += 1;
        self.stores
    }

    /// Asks a port for something.
    fn ask(&mut self, port: usize) {
        if self.b.source_mut(&format!("d{port}_cu_req")).queue.len() > 2 {
            return;
        }
        match KINDS[port] {
            Kind::Stash => self.ask_stash(port),
            Kind::Denovo | Kind::Gpu => self.ask_l1(port),
        }
    }

    fn ask_stash(&mut self, port: usize) {
        if self.b.rng.random_bool(0.02) && !self.changing.contains_key(&port) {
            self.remap(port);
            return;
        }
        let changing = self.changing.get(&port).map(|(index, area)| self.golden.touches(port, *index, *area));
        let reads = self.reads(port);
        let stores = self.b.rng.random_bool(0.5);
        let (golden, changing) = (&self.golden, changing.unwrap_or_default());
        let may = |(_, m, g): &(u64, u64, u64)| {
            let right = if stores {
                golden.may_store(port, *g) && !reads.contains(g)
            } else {
                golden.may_load(port, *g)
            };
            right && !changing.contains(m)
        };
        let all: Vec<(u64, u64, u64)> = golden.mapped(port).into_iter().filter(may).collect();
        if all.is_empty() {
            return;
        }
        let banks = u64::from(self.p.banks);
        // Words of one mapping, mostly side by side, now and then any.
        let start = self.b.rng.random_range(0..all.len());
        let far = self.b.rng.random_bool(0.2);
        let mut words: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        for i in 0..self.b.rng.random_range(1..=8usize) {
            let at = if far { self.b.rng.random_range(0..all.len()) } else { (start + i) % all.len() };
            let (s, _, g) = all[at];
            let twice = words.values().any(|w| w.1 == g);
            if !twice {
                words.entry(s % banks).or_insert((s, g));
            }
        }
        self.pass(port, stores, &words);
    }

    /// Sends a pass over words, by bank.
    fn pass(&mut self, port: usize, stores: bool, words: &BTreeMap<u64, (u64, u64)>) {
        let (banks, rows) = (u64::from(self.p.banks), self.p.row_bits());
        let mut row = Bv::zero(self.p.banks * rows);
        let mut data = Bv::zero(32 * self.p.banks);
        for (bank, (s, g)) in words {
            (0..rows).for_each(|i| row.set_bit(*bank as u32 * rows + i, (s / banks) >> i & 1 == 1));
            if stores {
                let value = self.value();
                self.golden.store(port, *g, Some(*s), value);
                (0..32).for_each(|i| data.set_bit(32 * *bank as u32 + i, value >> i & 1 == 1));
            } else {
                self.golden.reads(port, *g, *s);
            }
        }
        let mask: u64 = words.keys().map(|b| 1 << b).sum();
        let ack = stores && self.b.rng.random_bool(0.1);
        let id = match (stores, ack) {
            (true, true) => self.id(port, Open::Ack(None)),
            (true, false) => 0,
            (false, _) => self.id(port, Open::Load(words.iter().map(|(b, w)| (*b, w.1)).collect())),
        };
        let op = if stores { CuOp::St } else { CuOp::Ld };
        let fields = [("op", op as u64), ("mask", mask), ("want_ack", u64::from(ack)), ("id", id)];
        let m = Msg::of::<StashReq>(&self.p, &fields).with("row", row).with("data", data);
        self.b.send(&format!("d{port}_cu_req"), m);
    }

    /// Another mapping, of lines that several mappings may share, or one of the mappings of now again.
    fn remap(&mut self, port: usize) {
        let rng = &mut self.b.rng;
        let words = (LINES.end - LINES.start) * W;
        let (element, gap) =
            ([1, 1, 1, 2, 3][rng.random_range(0..5usize)], [0, 0, 0, 1, 3, 8][rng.random_range(0..6usize)]);
        let stride = element + gap;
        let count = rng.random_range(1..=24 / element).min(words / stride - 1);
        let base = rng.random_range(0..=u64::from(self.p.words()) - element * count);
        let from = rng.random_range(0..=words - count * stride);
        let area = Area { base, global: LINES.start * W + from, element, stride, count };
        let index = rng.random_range(0..u64::from(self.p.maps));
        self.change(port, index, area);
    }

    /// STASH_MAP, when no load of words that it takes away is under way, behind all that was sent before.
    pub fn change(&mut self, port: usize, index: u64, area: Area) {
        let touched = self.golden.touches(port, index, area);
        let hit = self.golden.mapped(port).into_iter().filter(|w| touched.contains(&w.1)).map(|w| w.2);
        let globals: BTreeSet<u64> = hit.collect();
        let queued = self.b.source_mut(&format!("d{port}_cu_req")).queue.len();
        if queued > 0 || self.reads(port).iter().any(|g| globals.contains(g)) {
            return;
        }
        self.changing.insert(port, (index, area));
        let id = self.id(port, Open::Ack(Some((index, area))));
        let Area { base, global, element, stride, count } = area;
        let fields = [
            ("index", index),
            ("base", base),
            ("global", global),
            ("element", element),
            ("stride", stride),
            ("count", count),
            ("id", id),
        ];
        self.b.send(&format!("d{port}_map"), Msg::of::<StashMap>(&self.p, &fields));
        self.maps += 1;
    }

    fn ask_l1(&mut self, port: usize) {
        let line = self.b.rng.random_range(LINES);
        let stores = self.b.rng.random_bool(0.5);
        let reads = self.reads(port);
        let mut words = BTreeMap::new();
        for w in 0..W {
            let g = line * W + w;
            let right = if stores {
                self.golden.may_store(port, g) && !reads.contains(&g)
            } else {
                self.golden.may_load(port, g)
            };
            if right && self.b.rng.random_bool(0.4) {
                words.insert(w, g);
            }
        }
        if words.is_empty() {
            return;
        }
        let mut data = Vec::new();
        for (w, g) in words.iter().filter(|_| stores) {
            let value = self.value();
            self.golden.store(port, *g, None, value);
            data.push((*w, value));
        }
        let mask: u64 = words.keys().map(|w| 0xf << (4 * w)).sum();
        let id = if stores { 0 } else { self.id(port, Open::Load(words)) };
        self.send_l1(port, if stores { CuOp::St } else { CuOp::Ld }, (line, mask), id, line_of(&data));
    }

    fn send_l1(&mut self, port: usize, op: CuOp, (line, mask): (u64, u64), id: u64, data: Bv) {
        let fields = [
            ("op", op as u64),
            ("line", line),
            ("mask", mask),
            ("id", id),
            ("sync", 0),
            ("sem", 0),
            ("class", 0),
            ("want_ack", 0),
            ("region", 0),
            ("hint", 0),
            ("scope", 2),
        ];
        let m = Msg::of::<CuReq>(&self.s.cu(), &fields).with("data", data);
        self.b.send(&format!("d{port}_cu_req"), m);
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

    /// Who owns what: only owned words serve a direct read. And of the stashes: nothing is valid or pending after releases and acquires.
    fn look(&mut self) {
        let mut owners: BTreeMap<u64, Vec<(usize, u32)>> = BTreeMap::new();
        for d in 0..KINDS.len() {
            let mut count = 0;
            for line in LINES {
                for (w, value) in self.probe(d, line) {
                    owners.entry(line * W + w).or_default().push((d, value));
                    count += 1;
                }
            }
            if KINDS[d] != Kind::Gpu {
                let plane =
                    |name: &str| self.b.sim.peek(&format!("dev_{d}.cache.{name}")).expect("word states");
                let (low, high) = (plane("word_valid"), plane("word_owned"));
                let ones = |of: &Bv| -> u32 { of.limbs().iter().map(|l| l.count_ones()).sum() };
                assert_eq!((ones(&low), ones(&high)), (0, count), "device {d}: words V or P, and O");
            }
        }
        for g in LINES.start * W..LINES.end * W {
            let found = owners.remove(&g).unwrap_or_default();
            self.golden.rests(g, &found);
        }
    }

    /// Words of a line that a device owns.
    fn probe(&mut self, d: usize, line: u64) -> Vec<(u64, u32)> {
        if KINDS[d] == Kind::Gpu {
            return Vec::new();
        }
        let other = (d as u64 + 1) % KINDS.len() as u64;
        let fields = [
            ("op", FwdOp::ReqV as u64),
            ("line", line),
            ("mask", 0xff),
            ("own", 0),
            ("src", other),
            ("dst", d as u64),
            ("req", other),
            ("tag", PROBE),
            ("tbe", 0),
            ("flex", 0),
            ("for_wt", 0),
            ("direct", 1),
        ];
        let m = Msg::of::<Fwd>(&self.s, &fields);
        self.b.send(&format!("d{d}_fwd"), m.with("data", Bv::zero(256)));
        let (mut seen, mut owned) = (0, Vec::new());
        for _ in 0..400 {
            self.cycle();
            for m in std::mem::take(&mut self.probes) {
                assert_eq!((m.get("line"), seen & m.get("mask")), (line, 0));
                seen |= m.get("mask");
                if m.get("op") == RspOp::RspV as u64 {
                    owned.extend(bits(m.get("mask")).map(|w| (w, word(m.wide("data"), w))));
                }
            }
            if seen == 0xff {
                return owned;
            }
        }
        panic!("device {d} does not answer for line {line:x}: {seen:x}");
    }
}

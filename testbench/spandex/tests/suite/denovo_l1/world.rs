//! Devices and a bank, all of them hardware; the bench is the CUs, the network and the memory. Wavefronts share locks, data and counters across devices, and check every value as far as a
//! program without data races may.
//!
//! Every line of data holds words of all kinds, so that all of them share lines falsely:
//!
//! | words | whose |
//! | --- | --- |
//! | 0..3 | of one wavefront each, which knows every byte |
//! | 4, 5 | of lock 0 and 1: who holds the lock finds the number that the last holder left in all of them |
//! | 6 | counters, which everybody adds to |
//! | 7 | of nobody: brought in by loads |

use rand::Rng;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use weft_bench::{Bench, Msg};
use weft_blocks::common::join::{pass_in, pass_out};
use weft_blocks::msg::{AmoOp, CuOp, CuReq, CuRsp};
use weft_rtl::bv::Bv;
use weft_rtl::prelude::*;
use weft_spandex::denovo_l1::{Atomics, DenovoL1Params, Inject, denovo_l1};
use weft_spandex::fabric::{device, flex_device, gpu_device};
use weft_spandex::flex_l1::FlexL1Params;
use weft_spandex::gpu_l1::{GpuL1Params, SbDrain};
use weft_spandex::llc::{LlcParams, spandex_llc};
use weft_spandex::msg::{Fwd, MemReq, MemRsp, Req, Rsp, Wb, WordOp};
use weft_spandex::params::Spandex;
use weft_spandex::tu_denovo::{TuDenovoParams, tu_denovo};
use weft_spandex::tu_flex::{Opred, TuFlexParams};
use weft_spandex::tu_gpu::TuGpuParams;

pub const LINE: u64 = 32;
pub const RLX: u64 = 0;
pub const ACQ: u64 = 1;
pub const REL: u64 = 2;
pub const AR: u64 = 3;
/// Lines of data.
pub const DATA: std::ops::Range<u64> = 0x40..0x46;

/// What a wavefront asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Bytes of a line.
    Load(u64, u64),
    /// Bytes of a line, their values, to be acknowledged.
    Store(u64, u64, Vec<u8>, bool),
    /// Words of a line (bytes), operand, comparand, order.
    Sync(WordOp, u64, u64, u32, u32, u64),
    Acquire,
    Release,
    /// Bytes of a line of a read-only region.
    Region(u64, u64),
    /// A kernel begins.
    Kernel,
}

/// A system.
#[derive(Clone)]
pub struct Shape {
    pub l1: GpuL1Params,
    pub inject: Inject,
    pub atomics: Atomics,
    pub regions: bool,
    /// Devices with hints, the first ones, and how they guess owners.
    pub flex: u32,
    pub opred: Opred,
    /// DeNovo devices, the next ones; the others have GPU coherence.
    pub denovo: u32,
    pub n_fail: u32,
    pub llc: LlcParams,
}

/// Three DeNovo devices, one with GPU coherence; small.
pub fn small(sb_drain: SbDrain) -> Shape {
    let s = Spandex {
        cpus: 0,
        cus: 4,
        sharers: 0,
        addr_bits: 32,
        line: 32,
        banks: 1,
        mshrs: 3,
        sb: 3,
        wbb: 2,
        tbes: 4,
        ..Spandex::default()
    };
    let l1 = GpuL1Params {
        size: 128,
        ways: 2,
        targets: 2,
        releases: 2,
        sb_drain,
        ..GpuL1Params::published(s.clone())
    };
    let llc = LlcParams { size: 4 * 2 * 32, ways: 2, stalls: 8, ..LlcParams::published(s) };
    Shape {
        l1,
        inject: Inject::None,
        atomics: Atomics::Join,
        regions: false,
        flex: 0,
        opred: Opred::Off,
        denovo: 3,
        n_fail: 2,
        llc,
    }
}

/// A DeNovo device.
fn denovo_device(p: &Shape) -> Arc<Module> {
    let s = &p.l1.spandex;
    let (atomics, regions, inject) = (p.atomics, p.regions, p.inject);
    let inject = if p.flex > 0 { Inject::None } else { inject };
    let l1 = DenovoL1Params { l1: p.l1.clone(), atomics, regions, inject };
    let unit = tu_denovo(&TuDenovoParams { spandex: s.clone(), n_fail: p.n_fail }).expect("legal");
    device("denovo_device", s, &denovo_l1(&l1).expect("legal"), &unit, |cache, unit| {
        connect::<Req>(cache, "l1_req", unit, "l1_req", s);
        connect::<Wb>(cache, "l1_wb", unit, "l1_wb", s);
        connect::<Rsp>(cache, "l1_rsp_out", unit, "l1_rsp_out", s);
        connect::<Fwd>(unit, "l1_fwd", cache, "l1_fwd", s);
        connect::<Rsp>(unit, "l1_rsp", cache, "l1_rsp", s);
    })
    .expect("legal")
}

fn devices(p: &Shape) -> Vec<Arc<Module>> {
    let s = &p.l1.spandex;
    let of = |d: u32| {
        if d < p.flex {
            let unit = TuFlexParams {
                n_fail: p.n_fail,
                opred: p.opred,
                entries: 4,
                ..TuFlexParams::published(s.clone())
            };
            return flex_device(&FlexL1Params { l1: p.l1.clone(), inject: p.inject }, &unit).expect("legal");
        }
        if d < p.flex + p.denovo {
            return denovo_device(p);
        }
        let unit = TuGpuParams { n_fail: p.n_fail, ..TuGpuParams::published(s.clone()) };
        gpu_device(&p.l1, &unit).expect("legal")
    };
    (0..s.devs()).map(of).collect()
}

fn system(p: &Shape) -> Arc<Module> {
    let s = &p.l1.spandex;
    let bank = spandex_llc(&p.llc).expect("legal");
    let devices = devices(p);
    Module::build("spandex_under_test", ModuleKind::Fabric, || {
        for (d, module) in devices.iter().enumerate() {
            let dev = instance(&format!("dev_{d}"), module);
            dev.drive_bits("own", lit(d as u64, s.dev_bits()));
            let name = |what: &str| format!("d{d}_{what}");
            pass_in::<CuReq>(&dev, "cu_req", &name("cu_req"), &s.cu());
            pass_out::<CuRsp>(&dev, "cu_rsp", &name("cu_rsp"), &s.cu());
            pass_out::<Req>(&dev, "req", &name("req"), s);
            pass_out::<Wb>(&dev, "wb", &name("wb"), s);
            pass_out::<Rsp>(&dev, "rsp_out", &name("rsp_out"), s);
            pass_out::<Fwd>(&dev, "fwd_out", &name("fwd_out"), s);
            pass_in::<Fwd>(&dev, "fwd", &name("fwd"), s);
            pass_in::<Rsp>(&dev, "rsp", &name("rsp"), s);
            if d < p.flex as usize && p.opred == Opred::Oracle {
                for port in ["oracle_ask", "oracle_line", "oracle_mask"] {
                    let value = dev.out_bits(port);
                    output::<Bits>(&name(port), value.width()).set(value);
                }
                dev.drive_bits("oracle_known", input::<Bits>(&name("oracle_known"), 1));
                dev.drive_bits("oracle_owner", input::<Bits>(&name("oracle_owner"), s.dev_bits()));
            }
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

struct Lock {
    addr: u64,
    data: Vec<u64>,
    truth: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Bytes of each line.
    Private(u64),
    Locker(usize),
    Reader,
    Counter,
}

struct Wave {
    dev: usize,
    kind: Kind,
    plan: VecDeque<Ask>,
    holds: bool,
    pause: u64,
    /// Number, request, when, bytes still to come, bytes that came.
    open: Option<(u64, Ask, u64, u64, BTreeMap<u64, u8>)>,
    bytes: BTreeMap<u64, u8>,
}

/// Whom the oracle names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Oracle {
    /// Nobody, whatever is asked.
    Nobody,
    /// This device.
    Device(u64),
    /// Mostly the owner that the LLC knows, now and then any device.
    Llc,
}

/// A request of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sent {
    /// To the LLC: device, operation, words, `fwd`.
    Req(u64, u64, u64, bool),
    /// To another device: device, operation, words, to whom.
    Direct(u64, u64, u64, u64),
}

/// A run.
pub struct World {
    pub b: Bench,
    s: Spandex,
    flex: u64,
    opred: Opred,
    pub oracle: Oracle,
    /// Hint of what a directed test asks.
    pub hint: u64,
    /// Direct requests that were sent.
    pub direct: u64,
    /// What devices have asked: device, operation, words, `fwd` or (direct, to whom).
    pub sent: Vec<Sent>,
    post: Vec<(u64, String, Msg)>,
    memory: BTreeMap<u64, Bv>,
    pub slow: u64,
    /// Destinations and operations of messages that are kept back.
    pub hold: Vec<(&'static str, u64)>,
    /// Bytes of the last load.
    pub last: BTreeMap<u64, u8>,
    locks: Vec<Lock>,
    waves: Vec<Wave>,
    next_id: u64,
    /// Times each lock was taken by each device.
    pub taken: Vec<[u64; 2]>,
    pub replies: u64,
    counted: BTreeSet<(u64, u32)>,
    added: BTreeMap<u64, u32>,
    stopped: bool,
}

fn ops(rng: &mut rand::rngs::SmallRng) -> WordOp {
    let all = [
        WordOp::Read,
        WordOp::Write,
        WordOp::Add,
        WordOp::Sub,
        WordOp::Inc,
        WordOp::Dec,
        WordOp::And,
        WordOp::Or,
        WordOp::Xor,
        WordOp::Min,
        WordOp::Max,
        WordOp::Exch,
        WordOp::Cas,
    ];
    all[rng.random_range(0..all.len())]
}

fn result(op: WordOp, old: u32, opnd: u32, cmp: u32) -> u32 {
    match op {
        WordOp::Write | WordOp::Exch => opnd,
        WordOp::Add => old.wrapping_add(opnd),
        WordOp::Sub => old.wrapping_sub(opnd),
        WordOp::Inc => {
            if old >= opnd {
                0
            } else {
                old + 1
            }
        }
        WordOp::Dec => {
            if old == 0 || old > opnd {
                opnd
            } else {
                old - 1
            }
        }
        WordOp::And => old & opnd,
        WordOp::Or => old | opnd,
        WordOp::Xor => old ^ opnd,
        WordOp::Min => old.min(opnd),
        WordOp::Max => old.max(opnd),
        WordOp::Cas if old == cmp => opnd,
        _ => old,
    }
}

fn mask_at(addr: u64) -> u64 {
    0xf << (addr % LINE)
}

fn sync(op: WordOp, addr: u64, opnd: u32, cmp: u32, sem: u64) -> Ask {
    Ask::Sync(op, addr / LINE, mask_at(addr), opnd, cmp, sem)
}

impl World {
    pub fn new(p: &Shape, seed: u64) -> World {
        let s = p.l1.spandex.clone();
        let mut b = Bench::new(&system(p), seed);
        for d in 0..s.devs() {
            let name = |what: &str| format!("d{d}_{what}");
            b.source::<CuReq>(&name("cu_req"), &s.cu());
            b.sink::<CuRsp>(&name("cu_rsp"), &s.cu());
            b.sink::<Req>(&name("req"), &s);
            b.sink::<Wb>(&name("wb"), &s);
            b.sink::<Rsp>(&name("rsp_out"), &s);
            b.sink::<Fwd>(&name("fwd_out"), &s);
            b.source::<Fwd>(&name("fwd"), &s);
            b.source::<Rsp>(&name("rsp"), &s);
            for out in ["req", "wb", "rsp_out", "fwd_out"] {
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
        World::on(b, p)
    }

    /// The same system after a reset, with memory and everybody as in the beginning.
    pub fn again(mut self, p: &Shape) -> World {
        self.b.reset();
        World::on(self.b, p)
    }

    fn on(b: Bench, p: &Shape) -> World {
        let s = p.l1.spandex.clone();
        let lock = |addr: u64, word: u64| {
            let data = DATA.map(|line| line * LINE + 4 * word).filter(|a| *a != addr).collect();
            Lock { addr, data, truth: 0 }
        };
        let mut waves = Vec::new();
        for dev in 0..s.devs() as usize {
            let mut kinds = vec![Kind::Locker(0), Kind::Locker(1), Kind::Reader, Kind::Counter];
            kinds.push(Kind::Private(0xf << (4 * dev)));
            waves.extend(kinds.into_iter().map(|kind| Wave {
                dev,
                kind,
                plan: VecDeque::new(),
                holds: false,
                pause: 0,
                open: None,
                bytes: BTreeMap::new(),
            }));
        }
        World {
            b,
            flex: u64::from(p.flex),
            opred: p.opred,
            oracle: Oracle::Llc,
            hint: 0,
            direct: 0,
            sent: Vec::new(),
            post: Vec::new(),
            memory: BTreeMap::new(),
            slow: 20,
            hold: Vec::new(),
            last: BTreeMap::new(),
            locks: vec![lock(0x80 * LINE, 4), lock(DATA.start * LINE + 20, 5)],
            waves,
            next_id: 0,
            taken: vec![[0; 2]; s.devs() as usize],
            replies: 0,
            counted: BTreeSet::new(),
            added: BTreeMap::new(),
            stopped: false,
            s,
        }
    }

    fn later(&mut self, to: String, m: Msg) {
        let rng = &mut self.b.rng;
        // Now and then a message takes so long that whole critical sections lie between.
        let long = if rng.random_bool(0.03) { 10 * self.slow } else { self.slow };
        let due = self.b.sim.cycle() + rng.random_range(1..=long);
        self.post.push((due, to, m));
    }

    /// One cycle of everything.
    pub fn cycle(&mut self) {
        let now = self.b.sim.cycle();
        self.wavefronts(now);
        self.guess();
        self.b.step();
        let devs = u64::from(self.s.devs());
        for d in 0..devs {
            for (out, to) in [("req", "bank_req"), ("wb", "bank_wb")] {
                while let Some((_, m)) = self.b.received(&format!("d{d}_{out}")) {
                    if out == "req" {
                        self.sent.push(Sent::Req(d, m.get("op"), m.get("mask"), m.get("fwd") == 1));
                    }
                    self.later(to.into(), m);
                }
            }
            while let Some((_, m)) = self.b.received(&format!("d{d}_rsp_out")) {
                let dst = m.get("dst");
                self.later(if dst < devs { format!("d{dst}_rsp") } else { "bank_rsp_in".into() }, m);
            }
            while let Some((_, m)) = self.b.received(&format!("d{d}_cu_rsp")) {
                self.reply(&m);
            }
            while let Some((_, m)) = self.b.received(&format!("d{d}_fwd_out")) {
                assert!(d < self.flex && m.get("direct") == 1 && m.get("dst") != d);
                self.direct += 1;
                self.sent.push(Sent::Direct(d, m.get("op"), m.get("mask"), m.get("dst")));
                self.later(format!("d{}_fwd", m.get("dst")), m);
            }
        }
        for (out, to) in [("bank_rsp", "rsp"), ("bank_fwd", "fwd")] {
            while let Some((_, m)) = self.b.received(out) {
                let to = format!("d{}_{to}", m.get("dst"));
                self.later(to, m);
            }
        }
        while let Some((_, m)) = self.b.received("bank_mem_req") {
            let line = m.get("line");
            if m.get("write") == 1 {
                self.memory.insert(line, m.wide("data").clone());
            } else {
                let data = self.memory.get(&line).cloned().unwrap_or_else(|| Bv::zero(8 * LINE as u32));
                let rsp = Msg::of::<MemRsp>(&self.s, &[("tbe", m.get("tbe"))]).with("data", data);
                self.later("bank_mem_rsp".into(), rsp);
            }
        }
        let mut i = 0;
        while i < self.post.len() {
            let (due, to, m) = &self.post[i];
            let held = self.hold.iter().any(|h| h.0 == to && m.0.contains_key("op") && m.get("op") == h.1);
            if *due <= now && !held {
                let (_, to, m) = self.post.swap_remove(i);
                self.b.send(&to, m);
            } else {
                i += 1;
            }
        }
    }

    /// Names the owner of what Flex devices ask.
    fn guess(&mut self) {
        if self.opred != Opred::Oracle {
            return;
        }
        for d in 0..self.flex {
            if self.b.get(&format!("d{d}_oracle_ask")) == 0 {
                continue;
            }
            let line = self.b.get(&format!("d{d}_oracle_line"));
            let word = self.b.get(&format!("d{d}_oracle_mask")).trailing_zeros();
            let wild = self.b.rng.random_bool(0.3);
            let owner = match self.oracle {
                Oracle::Nobody => None,
                Oracle::Device(device) => Some(device),
                Oracle::Llc if wild => Some(self.b.rng.random_range(0..u64::from(self.s.devs()))),
                Oracle::Llc => self.owner(line, word),
            };
            self.b.set(&format!("d{d}_oracle_known"), u64::from(owner.is_some()));
            self.b.set(&format!("d{d}_oracle_owner"), owner.unwrap_or(0));
        }
    }

    /// Owner of a word as the LLC has it.
    pub fn owner(&self, line: u64, word: u32) -> Option<u64> {
        let sim = &self.b.sim;
        let memory = |name: &str| sim.memory(&format!("home.{name}")).expect("a bank's memory");
        let (tags, owned, lines) = (memory("tags"), memory("owned"), memory("lines"));
        let sets = u64::from(tags.rows);
        let (set, tag) = ((line % sets) as u32, line / sets);
        let tag_bits = self.s.line_bits() - tags.rows.trailing_zeros();
        let here = |way: &u32| {
            let entry = sim.lane(tags, set, *way)[0];
            entry & ((1 << tag_bits) - 1) == tag && entry >> tag_bits & 3 != 0
        };
        let way = (0..tags.lanes).find(here)?;
        let is_owned = sim.lane(owned, set, way)[0] >> word & 1 == 1;
        is_owned.then(|| sim.lane(lines, set * tags.lanes + way, word)[0])
    }

    pub fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.cycle());
    }

    fn wavefronts(&mut self, now: u64) {
        for at in 0..self.waves.len() {
            if let Some((_, ask, since, ..)) = &self.waves[at].open {
                let dev = self.waves[at].dev;
                assert!(now - since < 6_000, "{ask:x?} of wavefront {at}, device {dev}, is not answered");
            }
            let full = self.b.source_mut(&format!("d{}_cu_req", self.waves[at].dev)).queue.len() > 2;
            let ready = !self.stopped && self.waves[at].open.is_none() && self.waves[at].pause <= now;
            if full || !ready || !self.b.rng.random_bool(0.3) {
                continue;
            }
            if self.waves[at].plan.is_empty() {
                self.think(at);
            }
            let Some(ask) = self.waves[at].plan.pop_front() else { continue };
            self.ask(at, ask, now);
        }
    }

    fn ask(&mut self, at: usize, ask: Ask, now: u64) {
        self.begin(at, &ask);
        let id = self.next_id;
        self.next_id = (id + 1) % 4096;
        let hint = if self.stopped { self.hint } else { self.any_hint(&ask) };
        let hint = Bv::from_u64(if (self.waves[at].dev as u64) < self.flex { hint } else { 0 }, 4);
        let m = self.message(id, &ask).with("hint", hint);
        self.b.send(&format!("d{}_cu_req", self.waves[at].dev), m);
        let mask = match &ask {
            Ask::Store(_, _, _, false) => return,
            Ask::Load(_, mask) | Ask::Region(_, mask) | Ask::Sync(_, _, mask, ..) => *mask,
            _ => 0,
        };
        self.waves[at].open = Some((id, ask, now, mask, BTreeMap::new()));
    }

    /// A hint that fits an access, mostly.
    fn any_hint(&mut self, ask: &Ask) -> u64 {
        let requests: &[u64] = match ask {
            Ask::Load(..) => &[0, 1, 2, 2, 4],
            Ask::Store(..) => &[0, 3, 4, 5, 6],
            _ => &[0, 4, 5],
        };
        let rng = &mut self.b.rng;
        if rng.random_bool(0.02) {
            return rng.random_range(0..16);
        }
        requests[rng.random_range(0..requests.len())] | u64::from(rng.random_bool(0.4)) << 3
    }

    fn message(&mut self, id: u64, ask: &Ask) -> Msg {
        let cu = self.s.cu();
        let msg = |op: CuOp, fields: &[(&str, u64)]| {
            let plain =
                [("id", id), ("op", op as u64), ("sync", 0), ("class", 0), ("want_ack", 0), ("region", 0)];
            let mut m = Msg::of::<CuReq>(&cu, &plain);
            m.0.extend(Msg::of::<CuReq>(&cu, fields).0);
            m
        };
        let line_data = |bytes: &[u8]| {
            let limb = |c: &[u8]| u64::from_le_bytes(c.try_into().expect("8 bytes"));
            Bv::from_limbs(&bytes.chunks(8).map(limb).collect::<Vec<u64>>(), 8 * LINE as u32)
        };
        match ask {
            Ask::Load(line, mask) => msg(CuOp::Ld, &[("line", *line), ("mask", *mask)]),
            Ask::Region(line, mask) => msg(CuOp::Ld, &[("line", *line), ("mask", *mask), ("region", 1)]),
            Ask::Kernel => msg(CuOp::Kbegin, &[]),
            Ask::Store(line, mask, bytes, ack) => {
                let fields = [("line", *line), ("mask", *mask), ("want_ack", u64::from(*ack))];
                msg(CuOp::St, &fields).with("data", line_data(bytes))
            }
            Ask::Sync(op, line, mask, opnd, cmp, sem) => {
                let bytes: Vec<u8> = (0..LINE / 4).flat_map(|_| opnd.to_le_bytes()).collect();
                let (kind, amo) = cu_op(*op);
                let fields = [
                    ("sync", u64::from(*sem != RLX)),
                    ("class", 1),
                    ("sem", *sem),
                    ("want_ack", 1),
                    ("amo", amo as u64),
                    ("sgn", 0),
                    ("cmp", u64::from(*cmp)),
                    ("line", *line),
                    ("mask", *mask),
                ];
                msg(kind, &fields).with("data", line_data(&bytes))
            }
            Ask::Acquire => msg(CuOp::Acq, &[]),
            Ask::Release => msg(CuOp::Rel, &[]),
        }
    }

    fn think(&mut self, at: usize) {
        let line = self.b.rng.random_range(DATA);
        let plan = match self.waves[at].kind {
            Kind::Private(mine) => vec![self.private(mine)],
            Kind::Reader => {
                let mask = [0xffff_ffff, 0xf0ff_0000, 0xf000_000f, 0xf_0000][self.b.rng.random_range(0..4)];
                vec![Ask::Load(line, mask)]
            }
            Kind::Counter => {
                let sem = [RLX, RLX, RLX, ACQ, REL][self.b.rng.random_range(0..5)];
                vec![sync(WordOp::Add, line * LINE + 24, 1, 0, sem)]
            }
            Kind::Locker(lock) if self.waves[at].holds => self.critical(lock),
            Kind::Locker(lock) => {
                let addr = self.locks[lock].addr;
                if self.b.rng.random_bool(0.7) {
                    let sem = [ACQ, AR][self.b.rng.random_range(0..2)];
                    vec![sync(WordOp::Cas, addr, 1, 0, sem)]
                } else {
                    vec![sync(WordOp::Cas, addr, 1, 0, RLX), Ask::Acquire]
                }
            }
        };
        self.waves[at].plan = plan.into();
    }

    fn private(&mut self, mine: u64) -> Ask {
        let rng = &mut self.b.rng;
        let line = rng.random_range(DATA);
        let bytes: Vec<u8> = (0..LINE).map(|_| rng.random()).collect();
        let small = [rng.random::<u32>(), rng.random_range(0..4)][rng.random_range(0..2)];
        let sem = [RLX, RLX, RLX, RLX, ACQ, REL, AR][rng.random_range(0..7)];
        let part = [0x1111_1111, 0x6666_6666, 0xcccc_cccc][rng.random_range(0..3)];
        let ack = rng.random_bool(0.05);
        let addr = line * LINE + u64::from(mine.trailing_zeros());
        match rng.random_range(0..40) {
            0..18 => Ask::Load(line, mine),
            18..28 => Ask::Store(line, mine, bytes, ack),
            28..32 => Ask::Store(line, mine & part, bytes, ack),
            32..37 => {
                let op = ops(rng);
                sync(op, addr, small, rng.random_range(0..4), sem)
            }
            37 => [Ask::Acquire, Ask::Release][rng.random_range(0..2)].clone(),
            _ => Ask::Load(line, mine & 0x3333_3333),
        }
    }

    fn critical(&mut self, lock: usize) -> Vec<Ask> {
        let (addr, data, next) =
            (self.locks[lock].addr, self.locks[lock].data.clone(), self.locks[lock].truth + 1);
        let rng = &mut self.b.rng;
        let load = |a: u64| Ask::Load(a / LINE, mask_at(a));
        let mut plan: Vec<Ask> = data.iter().filter(|_| rng.random_bool(0.6)).map(|a| load(*a)).collect();
        for a in &data {
            let bytes: Vec<u8> = (0..LINE / 4).flat_map(|_| next.to_le_bytes()).collect();
            let mask = mask_at(*a);
            let parts =
                if rng.random_bool(0.15) { vec![mask & 0x3333_3333, mask & 0xcccc_cccc] } else { vec![mask] };
            plan.extend(parts.into_iter().map(|mask| Ask::Store(a / LINE, mask, bytes.clone(), false)));
            if rng.random_bool(0.3) {
                plan.push(load(*a));
            }
        }
        match rng.random_range(0..3) {
            0 => plan.push(sync(WordOp::Write, addr, 0, 0, REL)),
            1 => plan.push(sync(WordOp::Exch, addr, 0, 0, AR)),
            _ => plan.extend([Ask::Release, sync(WordOp::Write, addr, 0, 0, RLX)]),
        }
        plan
    }

    fn begin(&mut self, at: usize, ask: &Ask) {
        if let (Ask::Sync(..), Kind::Locker(lock), true) = (ask, self.waves[at].kind, self.waves[at].holds) {
            // It gives the lock away: whoever takes it next finds what it has written.
            self.locks[lock].truth += 1;
        }
        let Ask::Store(line, mask, bytes, _) = ask else { return };
        for i in (0..LINE).filter(|i| mask >> i & 1 == 1) {
            self.waves[at].bytes.insert(line * LINE + i, bytes[i as usize]);
        }
    }

    fn reply(&mut self, m: &Msg) {
        let id = m.get("id");
        let open = |w: &Wave| w.open.as_ref().is_some_and(|o| o.0 == id);
        let at = self.waves.iter().position(open).unwrap_or_else(|| panic!("answer {id} was not asked for"));
        let (_, ask, _, left, came) = self.waves[at].open.as_mut().expect("found");
        let mask = m.get("mask");
        assert_eq!(mask & !*left, 0, "bytes that were not asked for");
        *left &= !mask;
        let base = if let Ask::Load(line, _) | Ask::Region(line, _) | Ask::Sync(_, line, ..) = ask {
            *line * LINE
        } else {
            0
        };
        for i in (0..LINE).filter(|i| mask >> i & 1 == 1) {
            came.insert(base + i, m.wide("data").slice(8 * i as u32, 8).low_u64() as u8);
        }
        // An access without data is answered as a whole.
        if *left != 0 && m.get("kind") == 0 {
            return;
        }
        let (_, ask, _, _, came) = self.waves[at].open.take().expect("found");
        self.replies += 1;
        match ask {
            Ask::Load(..) | Ask::Region(..) => {
                self.loaded(at, &came);
                self.last = came;
            }
            Ask::Sync(op, line, mask, opnd, cmp, _) => {
                let addr = line * LINE + u64::from(mask.trailing_zeros());
                let word = (0..4)
                    .rev()
                    .fold(0, |v, i| v << 8 | u32::from(came.get(&(addr + i)).copied().unwrap_or(0)));
                self.synced(at, (op, addr, opnd, cmp), (op != WordOp::Write).then_some(word));
            }
            _ => {}
        }
    }

    fn loaded(&mut self, at: usize, came: &BTreeMap<u64, u8>) {
        let wave = &self.waves[at];
        for (addr, byte) in came {
            let expected = match wave.kind {
                Kind::Private(_) => wave.bytes.get(addr).copied().unwrap_or(0),
                Kind::Locker(lock) => {
                    let own = wave.bytes.get(addr).copied();
                    own.unwrap_or(self.locks[lock].truth.to_le_bytes()[(addr % 4) as usize])
                }
                _ => continue,
            };
            assert_eq!(
                *byte, expected,
                "byte {addr:#x} of wavefront {at}, device {}, {:?}",
                wave.dev, wave.kind
            );
        }
    }

    fn synced(&mut self, at: usize, (op, addr, opnd, cmp): (WordOp, u64, u32, u32), old: Option<u32>) {
        let now = self.b.sim.cycle();
        let pause = self.b.rng.random_range(0..80);
        let wave = &mut self.waves[at];
        match wave.kind {
            Kind::Private(_) => {
                let before = (0..4)
                    .rev()
                    .fold(0, |v, i| v << 8 | u32::from(wave.bytes.get(&(addr + i)).copied().unwrap_or(0)));
                old.iter().for_each(|old| {
                    assert_eq!(*old, before, "{op:?} of {addr:#x} by wavefront {at}, device {}", wave.dev)
                });
                let after = result(op, before, opnd, cmp).to_le_bytes();
                wave.bytes.extend((0..4).map(|i| (addr + i, after[i as usize])));
            }
            Kind::Locker(lock) if wave.holds => {
                assert!(old.is_none_or(|old| old == 1), "lock {lock} was taken from its holder: {old:?}");
                (wave.holds, wave.pause) = (false, now + pause);
                wave.bytes.clear();
            }
            Kind::Locker(lock) => {
                wave.holds = old == Some(0);
                wave.pause = if wave.holds { 0 } else { now + pause };
                if wave.holds {
                    self.taken[wave.dev][lock] += 1;
                } else {
                    wave.plan.clear();
                }
            }
            Kind::Counter => {
                assert!(
                    self.counted.insert((addr, old.expect("a sum"))),
                    "two additions saw the same sum at {addr:#x}"
                );
                *self.added.entry(addr).or_default() += 1;
            }
            Kind::Reader => assert!(self.stopped, "a reader does not synchronise"),
        }
    }

    /// Nobody asks by himself.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Something asked by a device, whose values are not checked; it may stay unanswered.
    pub fn asks(&mut self, dev: usize, ask: Ask) -> usize {
        let free = |w: &Wave| w.dev == dev && !matches!(w.kind, Kind::Counter) && w.open.is_none();
        let at = self.waves.iter().position(free).expect("a wavefront");
        self.waves[at].kind = Kind::Reader;
        let now = self.b.sim.cycle();
        self.ask(at, ask, now);
        at
    }

    /// Words of all lines of a device's L1 that are V, S and O.
    pub fn states(&self, dev: usize) -> [u32; 3] {
        let plane = |name: &str| self.b.sim.peek(&format!("dev_{dev}.cache.{name}")).expect("word states");
        let (low, high) = (plane("word_valid"), plane("word_owned"));
        let words = |test: &dyn Fn(u64, u64) -> u64| -> u32 {
            low.limbs().iter().zip(high.limbs()).map(|(l, h)| test(*l, *h).count_ones()).sum()
        };
        [words(&|l, h| l & !h), words(&|l, h| l & h), words(&|l, h| !l & h)]
    }

    /// The same, until it is answered.
    pub fn does(&mut self, dev: usize, ask: Ask) {
        let at = self.asks(dev, ask);
        self.run(600);
        assert!(self.waves[at].open.is_none(), "not answered");
    }

    /// Stops asking, waits until nothing is under way, and looks at everything from the first and the last device.
    pub fn finish(&mut self) {
        self.stopped = true;
        self.run(4_000);
        assert!(self.waves.iter().all(|w| w.open.is_none()), "something is not answered");
        let now = self.b.sim.cycle();
        for dev in 0..self.s.devs() as usize {
            let at =
                self.waves.iter().position(|w| w.dev == dev && w.kind == Kind::Reader).expect("a reader");
            self.ask(at, Ask::Release, now);
        }
        self.run(3_000);
        let mut expected: BTreeMap<u64, u8> = BTreeMap::new();
        for w in &self.waves {
            if let Kind::Private(_) = w.kind {
                expected.extend(w.bytes.clone());
            }
        }
        for (addr, sum) in &self.added {
            expected.extend((0..4).map(|i| (addr + i, sum.to_le_bytes()[i as usize])));
        }
        for w in self.waves.iter_mut() {
            (w.bytes, w.plan) = (expected.clone(), VecDeque::new());
        }
        for at in [0, self.waves.len() - 1] {
            let at = (0..self.waves.len())
                .find(|i| {
                    self.waves[*i].dev == self.waves[at].dev
                        && matches!(self.waves[*i].kind, Kind::Private(_))
                })
                .expect("one");
            let now = self.b.sim.cycle();
            self.ask(at, Ask::Acquire, now);
            self.run(1_000);
            for line in DATA {
                let now = self.b.sim.cycle();
                self.ask(at, Ask::Load(line, 0x0f00_ffff), now);
                self.run(1_500);
                assert!(self.waves[at].open.is_none(), "the last load is not answered");
            }
        }
    }
}

fn cu_op(op: WordOp) -> (CuOp, AmoOp) {
    let amo = |amo| (CuOp::Amo, amo);
    match op {
        WordOp::Read => (CuOp::Ld, AmoOp::Add),
        WordOp::Write => (CuOp::St, AmoOp::Add),
        WordOp::Add => amo(AmoOp::Add),
        WordOp::Sub => amo(AmoOp::Sub),
        WordOp::Inc => amo(AmoOp::Inc),
        WordOp::Dec => amo(AmoOp::Dec),
        WordOp::And => amo(AmoOp::And),
        WordOp::Or => amo(AmoOp::Or),
        WordOp::Xor => amo(AmoOp::Xor),
        WordOp::Min => amo(AmoOp::Min),
        WordOp::Max => amo(AmoOp::Max),
        WordOp::Exch => amo(AmoOp::Exch),
        WordOp::Cas => amo(AmoOp::Cas),
        other => panic!("{other:?} is not used here"),
    }
}

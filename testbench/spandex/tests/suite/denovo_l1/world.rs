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

use crate::system::{self, Network};
use crate::waves::{ACQ, AR, Ask, DATA, Kind, Lock, Open, REL, RLX, Style, Wave, Waves, message, sync};
use crate::words::{LINE, small_cus};
use rand::Rng;
use rand::rngs::SmallRng;
use std::collections::BTreeMap;
use std::sync::Arc;
use weft_bench::{Bench, Msg};
use weft_blocks::common::join::{pass_in, pass_out};
use weft_blocks::msg::{CuReq, CuRsp};
use weft_rtl::bv::Bv;
use weft_rtl::prelude::*;
use weft_spandex::bank::Bank;
use weft_spandex::denovo_l1::{Atomics, DenovoL1Params, Inject};
use weft_spandex::fabric::{denovo_device, flex_device, gpu_device};
use weft_spandex::flex_l1::FlexL1Params;
use weft_spandex::gpu_l1::{GpuL1Params, SbDrain};
use weft_spandex::llc::LlcParams;
use weft_spandex::msg::WordOp;
use weft_spandex::params::Spandex;
use weft_spandex::tu_denovo::TuDenovoParams;
use weft_spandex::tu_flex::{Opred, TuFlexParams};
use weft_spandex::tu_gpu::TuGpuParams;

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
    let s = small_cus();
    let l1 = GpuL1Params {
        size: 128,
        ways: 2,
        targets: 2,
        releases: 2,
        sb_drain,
        ..GpuL1Params::published(s.clone())
    };
    let llc = LlcParams::published(s).sized(|b| Bank { size: 4 * 2 * 32, ways: 2, stalls: 8, ..b });
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

fn system(p: &Shape) -> Arc<Module> {
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
            let inject = if p.flex > 0 { Inject::None } else { p.inject };
            let l1 = DenovoL1Params { l1: p.l1.clone(), atomics: p.atomics, regions: p.regions, inject };
            let unit = TuDenovoParams { spandex: s.clone(), n_fail: p.n_fail };
            return denovo_device(&l1, &unit).expect("legal");
        }
        let unit = TuGpuParams { n_fail: p.n_fail, ..TuGpuParams::published(s.clone()) };
        gpu_device(&p.l1, &unit).expect("legal")
    };
    let devices: Vec<Arc<Module>> = (0..s.devs()).map(of).collect();
    system::system("spandex_under_test", &p.llc, &devices, |dev, d| {
        let name = |what: &str| format!("d{d}_{what}");
        pass_in::<CuReq>(dev, "cu_req", &name("cu_req"), &s.cu());
        pass_out::<CuRsp>(dev, "cu_rsp", &name("cu_rsp"), &s.cu());
        if d < p.flex as usize && p.opred == Opred::Oracle {
            for port in ["oracle_ask", "oracle_line", "oracle_mask"] {
                let value = dev.out_bits(port);
                output::<Bits>(&name(port), value.width()).set(value);
            }
            dev.drive_bits("oracle_known", input::<Bits>(&name("oracle_known"), 1));
            dev.drive_bits("oracle_owner", input::<Bits>(&name("oracle_owner"), s.dev_bits()));
        }
    })
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

/// Operations of wavefronts that work alone.
const PRIVATE: [WordOp; 13] = [
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

/// Something with the bytes that are a wavefront's alone.
fn private(rng: &mut SmallRng, mine: u64) -> Ask {
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
            let op = PRIVATE[rng.random_range(0..PRIVATE.len())];
            sync(op, addr, small, rng.random_range(0..4), sem)
        }
        37 => [Ask::Acquire, Ask::Release][rng.random_range(0..2)].clone(),
        _ => Ask::Load(line, mine & 0x3333_3333),
    }
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
    pub net: Network,
    /// Bytes of the last load.
    pub last: BTreeMap<u64, u8>,
    pub waves: Waves,
    /// Times each lock was taken by each device.
    pub taken: Vec<[u64; 2]>,
}

impl World {
    pub fn new(p: &Shape, seed: u64) -> World {
        let s = &p.l1.spandex;
        let mut b = Bench::new(&system(p), seed);
        for d in 0..s.devs() {
            b.source::<CuReq>(&format!("d{d}_cu_req"), &s.cu());
            b.sink::<CuRsp>(&format!("d{d}_cu_rsp"), &s.cu());
        }
        Network::connect(&mut b, s, &["req", "wb", "rsp_out", "fwd_out"]);
        World::on(b, p)
    }

    /// The same system after a reset, with memory and everybody as in the beginning.
    pub fn again(mut self, p: &Shape) -> World {
        self.b.reset();
        World::on(self.b, p)
    }

    fn on(b: Bench, p: &Shape) -> World {
        let s = p.l1.spandex.clone();
        let reads = &[0xffff_ffff, 0xf0ff_0000, 0xf000_000f, 0xf_0000];
        let style = Style { patience: 6_000, reads, private };
        let locks = vec![Lock::new(0x80 * LINE, 4), Lock::new(DATA.start * LINE + 20, 5)];
        let mut waves = Waves::new(style, locks);
        for dev in 0..s.devs() as usize {
            let private = Kind::Private(0xf << (4 * dev));
            waves.start(dev, &[Kind::Locker(0), Kind::Locker(1), Kind::Reader, Kind::Counter, private]);
        }
        World {
            b,
            flex: u64::from(p.flex),
            opred: p.opred,
            oracle: Oracle::Llc,
            hint: 0,
            direct: 0,
            sent: Vec::new(),
            net: Network::new(&s, 20),
            last: BTreeMap::new(),
            waves,
            taken: vec![[0; 2]; s.devs() as usize],
            s,
        }
    }

    /// One cycle of everything.
    pub fn cycle(&mut self) {
        let now = self.b.sim.cycle();
        self.wavefronts(now);
        self.guess();
        self.b.step();
        for d in 0..u64::from(self.s.devs()) {
            self.net.device(&mut self.b, d as usize, |out, m| {
                if out == "req" {
                    self.sent.push(Sent::Req(d, m.get("op"), m.get("mask"), m.get("fwd") == 1));
                }
                false
            });
            while let Some((_, m)) = self.b.received(&format!("d{d}_cu_rsp")) {
                self.reply(&m);
            }
            while let Some((_, m)) = self.b.received(&format!("d{d}_fwd_out")) {
                assert!(d < self.flex && m.get("direct") == 1 && m.get("dst") != d);
                self.direct += 1;
                self.sent.push(Sent::Direct(d, m.get("op"), m.get("mask"), m.get("dst")));
                self.net.later(&mut self.b, format!("d{}_fwd", m.get("dst")), m);
            }
        }
        self.net.bank(&mut self.b, |_| {});
        self.net.deliver(&mut self.b, now);
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
        for at in 0..self.waves.all.len() {
            let full = self.b.source_mut(&format!("d{}_cu_req", self.waves.all[at].dev)).queue.len() > 2;
            if let Some(ask) = self.waves.next(at, full, now, &mut self.b.rng) {
                self.ask(at, ask, now);
            }
        }
    }

    fn ask(&mut self, at: usize, ask: Ask, now: u64) {
        let id = self.waves.sends(at, &ask, now);
        let dev = self.waves.all[at].dev;
        let hint = if self.waves.stopped { self.hint } else { self.any_hint(&ask) };
        let hint = Bv::from_u64(if (dev as u64) < self.flex { hint } else { 0 }, 4);
        let order = match ask {
            Ask::Sync(_, _, _, _, _, sem) => ("sync", u64::from(sem != RLX)),
            _ => ("sync", 0),
        };
        let m = message(&self.s.cu(), id, &ask, &[("region", 0), order]).with("hint", hint);
        self.b.send(&format!("d{dev}_cu_req"), m);
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

    fn reply(&mut self, m: &Msg) {
        let at = self.waves.waits_for(m.get("id"));
        let Open { ask, left, came, .. } = self.waves.all[at].open.as_mut().expect("found");
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
        let Open { ask, came, .. } = self.waves.all[at].open.take().expect("found");
        self.waves.replies += 1;
        match ask {
            Ask::Load(..) | Ask::Region(..) => {
                self.waves.loaded(at, came.iter().map(|(addr, byte)| (*addr, *byte)));
                self.last = came;
            }
            Ask::Sync(op, line, mask, opnd, cmp, _) => {
                let addr = line * LINE + u64::from(mask.trailing_zeros());
                let byte = |i: u64| u32::from(came.get(&(addr + i)).copied().unwrap_or(0));
                let old = (op != WordOp::Write).then(|| (0..4).rev().fold(0, |v, i| v << 8 | byte(i)));
                let now = self.b.sim.cycle();
                let taken = self.waves.synced(at, (op, addr, opnd, cmp), old, (now, &mut self.b.rng));
                if let Some(lock) = taken {
                    self.taken[self.waves.all[at].dev][lock] += 1;
                }
            }
            _ => {}
        }
    }

    /// Nobody asks by himself.
    pub fn stop(&mut self) {
        self.waves.stopped = true;
    }

    /// Something asked by a device, whose values are not checked; it may stay unanswered.
    pub fn asks(&mut self, dev: usize, ask: Ask) -> usize {
        let free = |w: &Wave| w.dev == dev && !matches!(w.kind, Kind::Counter) && w.open.is_none();
        let at = self.waves.all.iter().position(free).expect("a wavefront");
        self.waves.all[at].kind = Kind::Reader;
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
        assert!(self.waves.all[at].open.is_none(), "not answered");
    }

    /// Stops asking, waits until nothing is under way, and looks at everything from the first and the last device.
    pub fn finish(&mut self) {
        self.waves.stopped = true;
        self.run(4_000);
        assert!(self.waves.answered(), "something is not answered");
        let now = self.b.sim.cycle();
        for dev in 0..self.s.devs() as usize {
            let at =
                self.waves.all.iter().position(|w| w.dev == dev && w.kind == Kind::Reader).expect("a reader");
            self.ask(at, Ask::Release, now);
        }
        self.run(3_000);
        let mut expected: BTreeMap<u64, u8> = BTreeMap::new();
        for w in &self.waves.all {
            if let Kind::Private(_) = w.kind {
                expected.extend(w.bytes.clone());
            }
        }
        for (addr, sum) in &self.waves.added {
            expected.extend((0..4).map(|i| (addr + i, sum.to_le_bytes()[i as usize])));
        }
        for w in self.waves.all.iter_mut() {
            w.bytes = expected.clone();
            w.plan.clear();
        }
        for at in [0, self.waves.all.len() - 1] {
            let at = (0..self.waves.all.len())
                .find(|i| {
                    self.waves.all[*i].dev == self.waves.all[at].dev
                        && matches!(self.waves.all[*i].kind, Kind::Private(_))
                })
                .expect("one");
            let now = self.b.sim.cycle();
            self.ask(at, Ask::Acquire, now);
            self.run(1_000);
            for line in DATA {
                let now = self.b.sim.cycle();
                self.ask(at, Ask::Load(line, 0x0f00_ffff), now);
                self.run(1_500);
                assert!(self.waves.all[at].open.is_none(), "the last load is not answered");
            }
        }
    }
}

//! One L1 with its translation unit and everything around them: wavefronts that share locks, data and counters with one another and with other devices, and check every
//! value as far as a program without data races may.
//!
//! Every line of data holds words of all kinds, so that all of them share lines falsely:
//!
//! | words | whose |
//! | --- | --- |
//! | 0..3 | of one wavefront each (0 and 1 of the same), which knows every byte; other devices take them from time to time, unchanged |
//! | 4, 5 | of lock 0 and 1: who holds the lock finds the number that the last holder left in all of them |
//! | 6 | counters, which everybody adds to |
//! | 7 | other devices write what they like; wavefronts load it |
//!
//! Locks stand in lines of their own (0) and in a line of data (1).
//!
//! An L1 with scopes has wavefronts of another kind too, and the words 2 and 3 are theirs:
//!
//! | words | whose |
//! | --- | --- |
//! | 2 | of all wavefronts of this CU: atomics of every operation and scope, which find what the last one left, in the order of their answers |
//! | 3 | of lock 2, which only wavefronts of this CU take, with CU scope |

use crate::gpu_l1::llc::{Llc, OTHERS, OWN};
use crate::waves::{ACQ, AR, Ask, DATA, HERE, Kind, Lock, REL, RLX, Style, Waves, load, message, sync};
use crate::words::{LINE, OPS, small_spandex, word_in};
use rand::Rng;
use rand::rngs::SmallRng;
use std::collections::VecDeque;
use std::sync::Arc;
use weft_bench::{Bench, Msg};
use weft_blocks::common::join::{pass_in, pass_out};
use weft_blocks::msg::{CuReq, CuRsp};
use weft_rtl::prelude::*;
use weft_spandex::gpu_l1::{GpuL1Params, SbDrain, gpu_l1};
use weft_spandex::msg::{Fwd, FwdOp, GpuReq, GpuRsp, Req, Rsp, RspOp, Wb, WordOp};
use weft_spandex::tu_gpu::{TuGpuParams, tu_gpu};

/// A run.
pub struct World {
    pub b: Bench,
    pub p: GpuL1Params,
    pub llc: Llc,
    pub waves: Waves,
    /// The other device that holds a lock, until when.
    held: [Option<(u64, u64)>; HERE],
    /// Times each lock was taken by this CU, by others.
    pub taken: [[u64; 2]; 3],
    expected: VecDeque<(RspOp, u64, u64)>,
    /// Other devices do something by themselves.
    pub others: bool,
}

/// A small L1: 2 sets of 2 ways, short queues.
pub fn small(sb_drain: SbDrain) -> GpuL1Params {
    let spandex = small_spandex();
    GpuL1Params { size: 128, ways: 2, targets: 2, releases: 2, sb_drain, ..GpuL1Params::published(spandex) }
}

/// L1 and translation unit with plain channels between them.
pub fn device(l1: &GpuL1Params, tu: &TuGpuParams) -> Arc<Module> {
    let s = &l1.spandex;
    let (cache, unit) = (gpu_l1(l1).expect("legal"), tu_gpu(tu).expect("legal"));
    Module::build("gpu_device_under_test", ModuleKind::Fabric, || {
        let (l1, tu) = (instance("l1", &cache), instance("tu", &unit));
        tu.drive_bits("own", lit(OWN, s.dev_bits()));
        pass_in::<CuReq>(&l1, "cu_req", "cu_req", &s.cu());
        pass_out::<CuRsp>(&l1, "cu_rsp", "cu_rsp", &s.cu());
        connect::<GpuReq>(&l1, "l1_req", &tu, "l1_req", s);
        connect::<GpuRsp>(&tu, "l1_rsp", &l1, "l1_rsp", s);
        pass_out::<Req>(&tu, "req", "req", s);
        pass_out::<Wb>(&tu, "wb", "wb", s);
        pass_out::<Rsp>(&tu, "rsp_out", "rsp_out", s);
        pass_out::<Fwd>(&tu, "fwd_out", "fwd_out", s);
        pass_in::<Fwd>(&tu, "fwd", "fwd", s);
        pass_in::<Rsp>(&tu, "rsp", "rsp", s);
    })
    .expect("legal")
}

/// Something with the bytes that are a wavefront's alone.
fn private(rng: &mut SmallRng, mine: u64) -> Ask {
    let line = rng.random_range(DATA);
    let bytes: Vec<u8> = (0..LINE).map(|_| rng.random()).collect();
    let addr = line * LINE + u64::from(mine.trailing_zeros());
    let amo = OPS[rng.random_range(0..OPS.len())];
    // A byte store alone is no operation of the CU port's atomics.
    let amo = if amo == WordOp::Merge { WordOp::Exch } else { amo };
    let small = [rng.random::<u32>(), rng.random_range(0..4)][rng.random_range(0..2)];
    let sem = [RLX, RLX, RLX, RLX, ACQ, REL, AR][rng.random_range(0..7)];
    let ack = rng.random_bool(0.05);
    match rng.random_range(0..40) {
        0..18 => Ask::Load(line, mine & [mine, 0x3333_3333, 0x8888_8888][rng.random_range(0..3)]),
        18..28 => Ask::Store(line, mine, bytes, ack),
        28..32 => Ask::Store(
            line,
            mine & [0x1111_1111, 0x6666_6666, 0xcccc_cccc, 0x3c3c_3c3f][rng.random_range(0..4)],
            bytes,
            ack,
        ),
        32..37 => sync(amo, addr, small, rng.random_range(0..4), sem),
        37 => [Ask::Acquire, Ask::Release][rng.random_range(0..2)].clone(),
        38 => [Ask::Begin, Ask::End][rng.random_range(0..2)].clone(),
        _ => Ask::Load(line, mine),
    }
}

impl World {
    pub fn new(p: &GpuL1Params, n_fail: u32, seed: u64) -> World {
        let tu = TuGpuParams { n_fail, ..TuGpuParams::published(p.spandex.clone()) };
        World::with(p, &tu, seed)
    }

    pub fn with(p: &GpuL1Params, tu: &TuGpuParams, seed: u64) -> World {
        let s = &p.spandex;
        let mut b = Bench::new(&device(p, tu), seed);
        b.source::<CuReq>("cu_req", &s.cu());
        b.sink::<CuRsp>("cu_rsp", &s.cu());
        b.sink::<Req>("req", s);
        b.sink::<Wb>("wb", s);
        b.sink::<Rsp>("rsp_out", s);
        b.sink::<Fwd>("fwd_out", s);
        b.source::<Fwd>("fwd", s);
        b.source::<Rsp>("rsp", s);
        let style = Style { patience: 8_000, reads: &[0xf000_0000, 0xf, 0xf0000], private };
        let start = DATA.start * LINE;
        let locks = vec![Lock::new(0x80 * LINE, 4), Lock::new(start + 20, 5), Lock::new(start + 12, 3)];
        World {
            llc: Llc::new(s),
            p: p.clone(),
            b,
            waves: Waves::new(style, locks),
            held: [None; HERE],
            taken: [[0; 2]; 3],
            expected: VecDeque::new(),
            others: true,
        }
    }

    /// Wavefronts of the usual mix and random back-pressure.
    pub fn mixed(p: &GpuL1Params, tu: &TuGpuParams, seed: u64) -> World {
        let mut w = World::with(p, tu, seed);
        let mut kinds = vec![Kind::Locker(0), Kind::Locker(0), Kind::Locker(1), Kind::Reader, Kind::Counter];
        if p.scopes {
            kinds.extend([
                Kind::Private(0xff),
                Kind::Shared,
                Kind::Shared,
                Kind::Locker(HERE),
                Kind::Locker(HERE),
            ]);
        } else {
            kinds.extend([0xff, 0xf00, 0xf000].map(Kind::Private));
        }
        w.waves.start(0, &kinds);
        let chances = [("req", 0.7), ("rsp_out", 0.5), ("cu_rsp", 1.0), ("wb", 0.5), ("fwd_out", 0.5)];
        w.b.chances(&chances);
        w
    }

    /// Wavefronts that use the locks, or only read their data, so that old copies stay for long.
    pub fn focused(p: &GpuL1Params, tu: &TuGpuParams, seed: u64) -> World {
        let mut w = World::with(p, tu, seed);
        let mut kinds =
            vec![Kind::Locker(0), Kind::Locker(1), Kind::Reader, Kind::Reader, Kind::Private(0xff)];
        if p.scopes {
            kinds.extend([Kind::Locker(HERE), Kind::Locker(HERE), Kind::Shared]);
        }
        w.waves.start(0, &kinds);
        w
    }

    pub fn now(&self) -> u64 {
        self.b.sim.cycle()
    }

    /// Sends a request of the CU; its number.
    pub fn ask(&mut self, ask: &Ask) -> u64 {
        let id = self.waves.id();
        self.send(id, ask);
        id
    }

    fn send(&mut self, id: u64, ask: &Ask) {
        // Of what orders nothing the class alone tells that it is an atomic.
        let order = |sem: u64| ("sync", u64::from(sem != RLX || id.is_multiple_of(2)));
        // CU scope, GPU or system.
        let more = match ask {
            Ask::Sync(_, _, _, _, _, sem) => vec![order(*sem), ("scope", 1 + id % 2)],
            Ask::Here(..) => vec![order(id / 2 % 4), ("sem", id / 2 % 4), ("scope", 0)],
            _ => vec![],
        };
        self.b.send("cu_req", message(&self.p.spandex.cu(), id, ask, &more));
    }

    /// One cycle of everything.
    pub fn cycle(&mut self) {
        let now = self.now();
        self.wavefronts(now);
        if self.others {
            self.devices(now);
            self.forwards();
        }
        self.quiet_cycle();
        while let Some((_, m)) = self.b.received("cu_rsp") {
            self.reply(&m);
        }
        while let Some((_, m)) = self.b.received("rsp_out") {
            let (op, dst, tag) = self.expected.pop_front().expect("an answer to a forward");
            assert_eq!((m.get("op"), m.get("dst"), m.get("tag")), (op as u64, dst, tag));
        }
    }

    pub fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.cycle());
    }

    /// A cycle in which answers to the CU are left for the test.
    pub fn quiet_cycle(&mut self) {
        let now = self.now();
        self.b.step();
        while let Some((_, m)) = self.b.received("req") {
            self.llc.request(m, now, &mut self.b.rng);
        }
        for m in self.llc.tick(now, &mut self.b.rng) {
            self.b.send("rsp", m);
        }
        assert!(self.b.received("wb").is_none() && self.b.received("fwd_out").is_none());
    }

    /// Asks, and runs until the answer: (the answer, cycles).
    pub fn alone(&mut self, ask: &Ask) -> (Msg, u64) {
        let begin = self.now();
        let id = self.ask(ask);
        for _ in 0..3_000 {
            self.quiet_cycle();
            if let Some((cycle, m)) = self.b.received("cu_rsp") {
                assert_eq!(m.get("id"), id);
                return (m, cycle - begin);
            }
        }
        panic!("{ask:?} is not answered");
    }

    /// Loads a word alone.
    pub fn value(&mut self, addr: u64) -> u32 {
        word_in(&self.alone(&load(addr)).0, addr)
    }

    pub fn rest(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.quiet_cycle());
    }

    /// Wavefronts that wait for nothing ask.
    fn wavefronts(&mut self, now: u64) {
        if self.b.source_mut("cu_req").queue.len() > 2 {
            return;
        }
        for at in 0..self.waves.all.len() {
            if let Some(ask) = self.waves.next(at, false, now, &mut self.b.rng) {
                let id = self.waves.sends(at, &ask, now);
                self.send(id, &ask);
            }
        }
    }

    fn reply(&mut self, m: &Msg) {
        let at = self.waves.waits_for(m.get("id"));
        let ask = self.waves.all[at].open.take().expect("found").ask;
        self.waves.replies += 1;
        let (op, addr, opnd, cmp) = match ask {
            Ask::Load(line, mask) => {
                assert_eq!((m.get("kind"), m.get("mask")), (0, mask));
                let byte = |i: u64| m.wide("data").slice(8 * i as u32, 8).low_u64() as u8;
                let came = (0..LINE).filter(|i| mask >> i & 1 == 1).map(|i| (line * LINE + i, byte(i)));
                return self.waves.loaded(at, came);
            }
            Ask::Sync(op, line, mask, opnd, cmp, _) => {
                (op, line * LINE + u64::from(mask.trailing_zeros()), opnd, cmp)
            }
            Ask::Here(op, addr, opnd, cmp) => (op, addr, opnd, cmp),
            _ => return assert_eq!(m.get("kind"), 1),
        };
        assert_eq!(m.get("kind"), u64::from(op == WordOp::Write));
        let old = (op != WordOp::Write).then(|| word_in(m, addr));
        let now = self.now();
        let taken = self.waves.synced(at, (op, addr, opnd, cmp), old, (now, &mut self.b.rng));
        if let Some(lock) = taken {
            self.taken[lock][0] += 1;
        }
    }

    /// Other devices take and give back words, take locks, write their data.
    fn devices(&mut self, now: u64) {
        let (llc, rng) = (&mut self.llc, &mut self.b.rng);
        let dev = OTHERS[rng.random_range(0..OTHERS.len())];
        let addr = rng.random_range(DATA) * LINE + 4 * rng.random_range(0..8);
        if rng.random_bool(0.3) {
            llc.own(dev, addr, now, rng);
        }
        if rng.random_bool(0.03) && llc.is_owned(addr) {
            llc.revoke(addr);
        }
        if rng.random_bool(0.05) {
            let value = rng.random();
            llc.write(dev, addr / LINE * LINE + 28, value, now, rng);
        }
        for (at, lock) in self.waves.locks[..HERE].iter_mut().enumerate() {
            match self.held[at] {
                None if llc.word(lock.addr) == 0 && rng.random_bool(0.01) => {
                    // An atomic at the LLC.
                    llc.revoke(lock.addr);
                    llc.write(OTHERS[0], lock.addr, 1, now, rng);
                    for a in &lock.data {
                        assert_eq!(
                            llc.word(*a),
                            lock.truth,
                            "a device with lock {at} reads old data at {a:#x}"
                        );
                    }
                    lock.truth += 1;
                    lock.data.iter().for_each(|a| llc.write(dev, *a, lock.truth, now, rng));
                    self.held[at] = Some((dev, now + rng.random_range(0..40)));
                    self.taken[at][1] += 1;
                }
                Some((dev, until)) if now > until && lock.data.iter().all(|a| llc.settled(*a)) => {
                    llc.write(dev, lock.addr, 0, now, rng);
                    self.held[at] = None;
                }
                _ => {}
            }
        }
    }

    /// Forwards to a device that owns nothing.
    fn forwards(&mut self) {
        if self.b.source_mut("fwd").queue.is_empty() && self.b.rng.random_bool(0.02) {
            let op = [FwdOp::Inv, FwdOp::ReqV, FwdOp::ReqWt][self.b.rng.random_range(0..3)];
            let (tbe, tag) = (self.b.rng.random_range(0..4), self.b.rng.random_range(0..3));
            self.forward(op, tbe, tag);
        }
    }

    pub fn forward(&mut self, op: FwdOp, tbe: u64, tag: u64) {
        let bank = u64::from(self.p.spandex.devs());
        let fields = [
            ("op", op as u64),
            ("line", DATA.start),
            ("mask", 5),
            ("src", bank),
            ("req", 1),
            ("tag", tag),
            ("tbe", tbe),
            ("direct", 0),
        ];
        self.b.send("fwd", Msg::of::<Fwd>(&self.p.spandex, &fields));
        self.expected.push_back(match op {
            FwdOp::Inv => (RspOp::Ack, bank, tbe),
            FwdOp::ReqV => (RspOp::NackV, 1, tag),
            _ => (RspOp::NackWt, 1, tag),
        });
    }

    /// All additions have been done once: called when nothing is under way.
    pub fn check_sums(&mut self) {
        for (addr, sum) in &self.waves.added {
            assert_eq!(self.llc.word(*addr), *sum, "counter {addr:#x}");
        }
    }

    /// What atomics of CU scope have left has reached the LLC: called after the end of a kernel.
    fn check_shared(&mut self) {
        for (addr, value) in &self.waves.shared {
            assert_eq!(self.llc.word(*addr), *value, "shared word {addr:#x}");
        }
        let lock = &self.waves.locks[HERE];
        for addr in lock.data.iter().filter(|_| self.p.scopes) {
            let (truth, held) = (lock.truth, self.waves.holds(HERE));
            assert!(held || self.llc.word(*addr) == truth, "word {addr:#x} of the lock of this CU");
        }
    }

    /// Stops asking and waits until nothing is under way.
    pub fn finish(&mut self) {
        self.waves.stopped = true;
        (0..4_000).for_each(|_| self.cycle());
        assert!(self.waves.answered(), "something is not answered");
        self.check_sums();
        self.alone(&Ask::End);
        self.check_shared();
    }
}

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

use crate::gpu_l1::llc::{LINE, Llc, OPS, OTHERS, OWN, result};
use rand::Rng;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use weft_bench::{Bench, Msg};
use weft_blocks::common::join::{pass_in, pass_out};
use weft_blocks::msg::{AmoOp, CuOp, CuReq, CuRsp};
use weft_rtl::bv::Bv;
use weft_rtl::prelude::*;
use weft_spandex::gpu_l1::{GpuL1Params, SbDrain, gpu_l1};
use weft_spandex::msg::{Fwd, FwdOp, GpuReq, GpuRsp, Req, Rsp, RspOp, Wb, WordOp};
use weft_spandex::params::Spandex;
use weft_spandex::tu_gpu::{TuGpuParams, tu_gpu};

pub const RLX: u64 = 0;
pub const ACQ: u64 = 1;
pub const REL: u64 = 2;
pub const AR: u64 = 3;

/// The lock of CU scope.
const HERE: usize = 2;

/// Lines of data.
pub const DATA: std::ops::Range<u64> = 0x40..0x46;

/// What a wavefront asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Bytes of a line.
    Load(u64, u64),
    /// Bytes of a line, their values, to be acknowledged.
    Store(u64, u64, Vec<u8>, bool),
    /// One word: operation, address, operand, comparand, order.
    Sync(WordOp, u64, u32, u32, u64),
    /// The same, of CU scope, which orders nothing beyond the L1.
    Here(WordOp, u64, u32, u32),
    Acquire,
    Release,
    Begin,
    End,
}

/// A store of a word.
pub fn store(addr: u64, value: u32, ack: bool) -> Ask {
    let mut bytes = vec![0x5a; LINE as usize];
    let at = (addr % LINE) as usize;
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    Ask::Store(addr / LINE, 0xf << at, bytes, ack)
}

/// A load of a word.
pub fn load(addr: u64) -> Ask {
    Ask::Load(addr / LINE, 0xf << (addr % LINE))
}

struct Lock {
    addr: u64,
    data: Vec<u64>,
    truth: u32,
    /// The other device that holds it, until when.
    held: Option<(u64, u64)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Bytes of each line.
    Private(u64),
    Locker(usize),
    Reader,
    Counter,
    /// `scopes=1`: atomics on word 2.
    Shared,
}

struct Wave {
    kind: Kind,
    plan: VecDeque<Ask>,
    holds: bool,
    pause: u64,
    open: Option<(u64, Ask, u64)>,
    bytes: BTreeMap<u64, u8>,
}

/// A run.
pub struct World {
    pub b: Bench,
    pub p: GpuL1Params,
    pub llc: Llc,
    locks: Vec<Lock>,
    waves: Vec<Wave>,
    next_id: u64,
    /// Times each lock was taken by this CU, by others.
    pub taken: [[u64; 2]; 3],
    /// What atomics of this CU have left in word 2 of each line.
    shared: BTreeMap<u64, u32>,
    pub replies: u64,
    counted: BTreeSet<(u64, u32)>,
    added: BTreeMap<u64, u32>,
    expected: VecDeque<(RspOp, u64, u64)>,
    /// Other devices do something by themselves.
    pub others: bool,
    /// Wavefronts ask no more.
    stopped: bool,
}

/// A small L1: 2 sets of 2 ways, short queues.
pub fn small(sb_drain: SbDrain) -> GpuL1Params {
    let spandex = Spandex {
        cpus: 2,
        cus: 2,
        sharers: 2,
        addr_bits: 32,
        line: 32,
        banks: 2,
        mshrs: 3,
        sb: 3,
        wbb: 2,
        tbes: 4,
        ..Spandex::default()
    };
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
        let lock = |addr: u64, word: u64| {
            let data = DATA.map(|line| line * LINE + 4 * word).filter(|a| *a != addr).collect();
            Lock { addr, data, truth: 0, held: None }
        };
        World {
            llc: Llc::new(s),
            p: p.clone(),
            b,
            locks: vec![
                lock(0x80 * LINE, 4),
                lock(DATA.start * LINE + 20, 5),
                lock(DATA.start * LINE + 12, 3),
            ],
            shared: BTreeMap::new(),
            waves: Vec::new(),
            next_id: 0,
            taken: [[0; 2]; 3],
            replies: 0,
            counted: BTreeSet::new(),
            added: BTreeMap::new(),
            expected: VecDeque::new(),
            others: true,
            stopped: false,
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
        w.start(&kinds);
        let chances = [("req", 0.7), ("rsp_out", 0.5), ("cu_rsp", 1.0), ("wb", 0.5), ("fwd_out", 0.5)];
        for (sink, chance) in chances {
            w.b.sink_mut(sink).chance = chance;
        }
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
        w.start(&kinds);
        w
    }

    fn start(&mut self, kinds: &[Kind]) {
        let wave = |kind| Wave {
            kind,
            plan: VecDeque::new(),
            holds: false,
            pause: 0,
            open: None,
            bytes: BTreeMap::new(),
        };
        self.waves = kinds.iter().map(|kind| wave(*kind)).collect();
    }

    pub fn now(&self) -> u64 {
        self.b.sim.cycle()
    }

    /// Sends a request of the CU; its number.
    pub fn ask(&mut self, ask: &Ask) -> u64 {
        let id = self.next_id;
        self.next_id = (self.next_id + 1) % 4096;
        let msg = self.message(id, ask);
        self.b.send("cu_req", msg);
        id
    }

    fn message(&mut self, id: u64, ask: &Ask) -> Msg {
        let cu = self.p.spandex.cu();
        let msg = |op: CuOp, fields: &[(&str, u64)]| {
            let plain = [("id", id), ("op", op as u64), ("sync", 0), ("class", 0), ("want_ack", 0)];
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
            Ask::Store(line, mask, bytes, ack) => {
                let fields = [("line", *line), ("mask", *mask), ("want_ack", u64::from(*ack))];
                msg(CuOp::St, &fields).with("data", line_data(bytes))
            }
            Ask::Sync(..) | Ask::Here(..) => {
                // CU scope, GPU or system.
                let (op, addr, opnd, cmp, sem, scope) = match ask {
                    Ask::Sync(op, addr, opnd, cmp, sem) => (op, addr, opnd, cmp, *sem, 1 + id % 2),
                    Ask::Here(op, addr, opnd, cmp) => (op, addr, opnd, cmp, id / 2 % 4, 0),
                    _ => unreachable!(),
                };
                let Ask::Store(line, mask, bytes, _) = store(*addr, *opnd, false) else { unreachable!() };
                let (kind, amo, sgn) = cu_op(*op);
                let fields = [
                    // Of what orders nothing the class alone tells that it is an atomic.
                    ("sync", u64::from(sem != RLX || id.is_multiple_of(2))),
                    ("class", 1),
                    ("sem", sem),
                    ("scope", scope),
                    ("want_ack", 1),
                    ("amo", amo as u64),
                    ("sgn", u64::from(sgn)),
                    ("cmp", u64::from(*cmp)),
                    ("line", line),
                    ("mask", mask),
                ];
                msg(kind, &fields).with("data", line_data(&bytes))
            }
            Ask::Acquire => msg(CuOp::Acq, &[]),
            Ask::Release => msg(CuOp::Rel, &[]),
            Ask::Begin => msg(CuOp::Kbegin, &[]),
            Ask::End => msg(CuOp::Kend, &[]),
        }
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
        for at in 0..self.waves.len() {
            if let Some((_, ask, since)) = &self.waves[at].open {
                assert!(now - since < 8_000, "{ask:?} of wavefront {at} is not answered");
            }
            let ready = !self.stopped && self.waves[at].open.is_none() && self.waves[at].pause <= now;
            if !ready || !self.b.rng.random_bool(0.3) {
                continue;
            }
            if self.waves[at].plan.is_empty() {
                self.think(at);
            }
            let Some(ask) = self.waves[at].plan.pop_front() else { continue };
            self.begin(at, &ask);
            let id = self.ask(&ask);
            if !matches!(ask, Ask::Store(_, _, _, false)) {
                self.waves[at].open = Some((id, ask, now));
            }
        }
    }

    /// What a wavefront does next.
    fn think(&mut self, at: usize) {
        let line = self.b.rng.random_range(DATA);
        let plan = match self.waves[at].kind {
            Kind::Private(mine) => vec![self.private(mine)],
            Kind::Reader => {
                // Never a lock's word: loads of those synchronise.
                let mask = [0xf000_0000, 0xf, 0xf0000][self.b.rng.random_range(0..3)];
                vec![Ask::Load(line, mask)]
            }
            Kind::Counter => {
                let sem = [RLX, RLX, RLX, ACQ, REL][self.b.rng.random_range(0..5)];
                vec![Ask::Sync(WordOp::Add, line * LINE + 24, 1, 0, sem)]
            }
            Kind::Shared => return self.share(at, line * LINE + 8),
            Kind::Locker(lock) if self.waves[at].holds => self.critical(lock),
            Kind::Locker(HERE) => vec![Ask::Here(WordOp::Cas, self.locks[HERE].addr, 1, 0)],
            Kind::Locker(lock) => {
                let addr = self.locks[lock].addr;
                let paired = self.b.rng.random_bool(0.7);
                let sem = if paired { [ACQ, AR][self.b.rng.random_range(0..2)] } else { RLX };
                let cas = Ask::Sync(WordOp::Cas, addr, 1, 0, sem);
                if paired { vec![cas] } else { vec![cas, Ask::Acquire] }
            }
        };
        self.waves[at].plan = plan.into();
    }

    /// An atomic on a word that the wavefronts of this CU share. Those of wider scope may overtake one another: one at a time.
    fn share(&mut self, at: usize, addr: u64) {
        let wide = |w: &Wave| matches!(&w.open, Some((_, Ask::Sync(_, a, ..), _)) if *a == addr);
        let alone = !self.waves.iter().any(wide);
        let rng = &mut self.b.rng;
        let amo = OPS[rng.random_range(0..OPS.len())];
        let amo = if matches!(amo, WordOp::Merge | WordOp::Read) { WordOp::Cas } else { amo };
        let (opnd, cmp) = (rng.random_range(0..4), rng.random_range(0..4));
        let sem = [RLX, ACQ, REL, AR][rng.random_range(0..4)];
        let ask = match rng.random_range(0..10) {
            0 if alone => Ask::Sync(amo, addr, opnd, cmp, sem),
            _ => Ask::Here(amo, addr, opnd, cmp),
        };
        self.waves[at].plan = [ask].into();
    }

    /// Something with the bytes that are a wavefront's alone.
    fn private(&mut self, mine: u64) -> Ask {
        let rng = &mut self.b.rng;
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
            32..37 => Ask::Sync(amo, addr, small, rng.random_range(0..4), sem),
            37 => [Ask::Acquire, Ask::Release][rng.random_range(0..2)].clone(),
            38 => [Ask::Begin, Ask::End][rng.random_range(0..2)].clone(),
            _ => Ask::Load(line, mine),
        }
    }

    /// The holder of a lock reads some of its data, writes all of it, and releases.
    fn critical(&mut self, lock: usize) -> Vec<Ask> {
        let (addr, data, next) =
            (self.locks[lock].addr, self.locks[lock].data.clone(), self.locks[lock].truth + 1);
        let rng = &mut self.b.rng;
        let mut plan: Vec<Ask> = data.iter().filter(|_| rng.random_bool(0.6)).map(|a| load(*a)).collect();
        for a in &data {
            let Ask::Store(line, mask, bytes, _) = store(*a, next, false) else { unreachable!() };
            let parts =
                if rng.random_bool(0.15) { vec![mask & 0x3333_3333, mask & 0xcccc_cccc] } else { vec![mask] };
            plan.extend(parts.into_iter().map(|mask| Ask::Store(line, mask, bytes.clone(), false)));
            if rng.random_bool(0.3) {
                plan.push(load(*a));
            }
        }
        if lock == HERE {
            plan.push(Ask::Here([WordOp::Write, WordOp::Exch][rng.random_range(0..2)], addr, 0, 0));
            return plan;
        }
        match rng.random_range(0..3) {
            0 => plan.push(Ask::Sync(WordOp::Write, addr, 0, 0, REL)),
            1 => plan.push(Ask::Sync(WordOp::Exch, addr, 0, 0, AR)),
            _ => plan.extend([Ask::Release, Ask::Sync(WordOp::Write, addr, 0, 0, RLX)]),
        }
        plan
    }

    /// A wavefront's request changes what it knows.
    fn begin(&mut self, at: usize, ask: &Ask) {
        if let (Ask::Sync(..) | Ask::Here(..), Kind::Locker(lock), true) =
            (ask, self.waves[at].kind, self.waves[at].holds)
        {
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
        let ask = self.waves[at].open.take().expect("found").1;
        self.replies += 1;
        match &ask {
            Ask::Load(line, mask) => {
                assert_eq!((m.get("kind"), m.get("mask")), (0, *mask));
                self.loaded(at, *line, *mask, m);
            }
            Ask::Sync(op, addr, opnd, cmp, _) | Ask::Here(op, addr, opnd, cmp) => {
                assert_eq!(m.get("kind"), u64::from(*op == WordOp::Write));
                let old = (*op != WordOp::Write).then(|| word_in(m, *addr));
                self.synced(at, (*op, *addr, *opnd, *cmp), old);
            }
            _ => assert_eq!(m.get("kind"), 1),
        }
    }

    fn loaded(&mut self, at: usize, line: u64, mask: u64, m: &Msg) {
        for i in (0..LINE).filter(|i| mask >> i & 1 == 1) {
            let byte = m.wide("data").slice(8 * i as u32, 8).low_u64() as u8;
            let addr = line * LINE + i;
            let wave = &self.waves[at];
            let expected = match wave.kind {
                Kind::Private(_) => wave.bytes.get(&addr).copied().unwrap_or(0),
                Kind::Locker(lock) => {
                    let own = wave.bytes.get(&addr).copied();
                    own.unwrap_or(self.locks[lock].truth.to_le_bytes()[(addr % 4) as usize])
                }
                _ => continue,
            };
            assert_eq!(byte, expected, "byte {addr:#x} of wavefront {at}, {:?}", wave.kind);
        }
    }

    fn synced(&mut self, at: usize, (op, addr, opnd, cmp): (WordOp, u64, u32, u32), old: Option<u32>) {
        let now = self.now();
        let pause = self.b.rng.random_range(0..80);
        let wave = &mut self.waves[at];
        match wave.kind {
            Kind::Private(_) => {
                let before = (0..4).map(|i| wave.bytes.get(&(addr + i)).copied().unwrap_or(0));
                let before = before.rev().fold(0, |v, b| v << 8 | u32::from(b));
                old.iter().for_each(|old| assert_eq!(*old, before, "{op:?} of {addr:#x} by wavefront {at}"));
                let after = result(op, before, opnd, cmp, 0).to_le_bytes();
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
                    self.taken[lock][0] += 1;
                } else {
                    wave.plan.clear();
                }
            }
            Kind::Counter => {
                assert!(self.counted.insert((addr, old.expect("a sum"))), "two additions saw the same sum");
                *self.added.entry(addr).or_default() += 1;
            }
            Kind::Shared => {
                let before = self.shared.get(&addr).copied().unwrap_or(0);
                old.iter().for_each(|old| assert_eq!(*old, before, "{op:?} of {addr:#x} in this CU"));
                self.shared.insert(addr, result(op, before, opnd, cmp, 0));
            }
            Kind::Reader => panic!("a reader does not synchronise"),
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
        for (at, lock) in self.locks[..HERE].iter_mut().enumerate() {
            match lock.held {
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
                    lock.held = Some((dev, now + rng.random_range(0..40)));
                    self.taken[at][1] += 1;
                }
                Some((dev, until)) if now > until && lock.data.iter().all(|a| llc.settled(*a)) => {
                    llc.write(dev, lock.addr, 0, now, rng);
                    lock.held = None;
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
        for (addr, sum) in &self.added {
            assert_eq!(self.llc.word(*addr), *sum, "counter {addr:#x}");
        }
    }

    /// What atomics of CU scope have left has reached the LLC: called after the end of a kernel.
    fn check_shared(&mut self) {
        for (addr, value) in &self.shared {
            assert_eq!(self.llc.word(*addr), *value, "shared word {addr:#x}");
        }
        for addr in self.locks[HERE].data.iter().filter(|_| self.p.scopes) {
            let truth = self.locks[HERE].truth;
            let held = self.waves.iter().any(|w| w.holds && w.kind == Kind::Locker(HERE));
            assert!(held || self.llc.word(*addr) == truth, "word {addr:#x} of the lock of this CU");
        }
    }

    /// Stops asking and waits until nothing is under way.
    pub fn finish(&mut self) {
        self.stopped = true;
        (0..4_000).for_each(|_| self.cycle());
        assert!(self.waves.iter().all(|w| w.open.is_none()), "something is not answered");
        self.check_sums();
        self.alone(&Ask::End);
        self.check_shared();
    }
}

/// A word of an answer.
pub fn word_in(m: &Msg, addr: u64) -> u32 {
    m.wide("data").slice(8 * (addr % LINE) as u32, 32).low_u64() as u32
}

fn cu_op(op: WordOp) -> (CuOp, AmoOp, bool) {
    let amo = |amo| (CuOp::Amo, amo, false);
    match op {
        WordOp::Read => (CuOp::Ld, AmoOp::Add, false),
        WordOp::Write => (CuOp::St, AmoOp::Add, false),
        WordOp::Add => amo(AmoOp::Add),
        WordOp::Sub => amo(AmoOp::Sub),
        WordOp::Inc => amo(AmoOp::Inc),
        WordOp::Dec => amo(AmoOp::Dec),
        WordOp::And => amo(AmoOp::And),
        WordOp::Or => amo(AmoOp::Or),
        WordOp::Xor => amo(AmoOp::Xor),
        WordOp::Min => amo(AmoOp::Min),
        WordOp::Max => amo(AmoOp::Max),
        WordOp::SMin => (CuOp::Amo, AmoOp::Min, true),
        WordOp::SMax => (CuOp::Amo, AmoOp::Max, true),
        WordOp::Exch => amo(AmoOp::Exch),
        WordOp::Cas => amo(AmoOp::Cas),
        WordOp::Merge => panic!("no operation of the CU port"),
    }
}

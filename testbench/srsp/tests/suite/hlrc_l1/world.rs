//! One L1 with everything around it: wavefronts that share locks and data with one another and with another CU, and check every value.
//!
//! | lock | data |
//! | --- | --- |
//! | `NEAR` | words that all hold the same number, the first in the lock's own line |
//! | `FAR` | the same, none in the lock's line |
//!
//! Who holds a lock finds the number of its data as the last holder left it, and leaves the next one. Other wavefronts work on words of their own, in lines that they share, and
//! know every value: a word is used plainly or by atomics, and changes that when a kernel ends. Another CU takes the locks, and now and then any line that the L1 has.

use crate::hlrc_l1::l2::{L2, LINE, Owner};
use rand::Rng;
use std::collections::BTreeMap;
use weft_blocks::msg::{AmoOp, CuOp, CuReq, CuRsp};
use weft_rtl::bv::Bv;
use weft_srsp::hlrc_l1::{HlrcL1Params, hlrc_l1};
use weft_srsp::msg::{Probe, Req, Rsp, SyncOp, Wb};
use weft_srsp::params::Srsp;
use weft_srsp_bench::arith::apply;
use weft_srsp_bench::bench::{Bench, Msg};
use weft_srsp_bench::memory::Access;

/// Number of the L1 under test.
pub const OWN: u64 = 1;

pub const NEAR: usize = 0;
pub const FAR: usize = 1;

/// Lines that wavefronts share for words of their own.
const SHARED: u64 = 0x8000;
const LINES: u64 = 10;
/// Place in those lines of the word that another CU stores.
const FOREIGN: u64 = 56;

/// What a wavefront asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    Load(u64),
    Store(u64, u64, bool),
    /// An access with bits that hLRC does not look at: semantics, scope, remote.
    Sync(Access, (u64, u64, bool)),
    Fence {
        acquire: bool,
        scope: u64,
    },
    Begin,
    End,
}

/// An atomic of 4 bytes.
pub fn atomic(op: SyncOp, addr: u64, opnd: u64, cmp: u64) -> Ask {
    Ask::Sync(Access { op, wide: false, addr, opnd, cmp }, (0, 0, false))
}

/// A lock with its data.
pub struct Lock {
    pub addr: u64,
    pub data: Vec<u64>,
    pub truth: u64,
}

/// The other CU at a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Other {
    Idle,
    /// It has asked for the lock's line.
    Asks,
    /// It holds the lock so many cycles, and then wants the line again.
    Holds(u64),
    Leaves,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WaveKind {
    Locker(usize),
    Private,
    /// Loads words of a lock's data without the lock: what they bring in may be old.
    Reader(usize),
}

struct Wave {
    kind: WaveKind,
    step: usize,
    pause: u64,
    open: Option<(u64, Ask)>,
    words: BTreeMap<u64, u64>,
    /// The word stored last.
    stored: u64,
}

/// Where the kernels are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kernel {
    Runs,
    /// No new work is begun.
    Stops,
    /// The end is asked for.
    Ends(u64),
    /// It is answered; what has been sent arrives.
    Settles,
    Begins(u64),
}

/// A run.
pub struct World {
    pub b: Bench,
    pub p: HlrcL1Params,
    pub l2: L2,
    pub locks: Vec<Lock>,
    waves: Vec<Wave>,
    others: Vec<Other>,
    foreign: BTreeMap<u64, u64>,
    kernel: Kernel,
    /// Kernels ended; it decides how each word is used.
    pub kernels: u64,
    next_id: u64,
    /// Times each lock was taken by this CU, by the other.
    pub taken: [[u64; 2]; 2],
    pub replies: u64,
    last: u64,
    /// How often the other CU does something.
    pub rate: f64,
    /// How often lines are revoked and recalled without need.
    pub noise: f64,
    issue: f64,
}

/// A small L1: 2 sets of 2 ways, short queues.
pub fn small() -> HlrcL1Params {
    let srsp = Srsp { cus: 4, addr_bits: 32, line: 64, banks: 2, mshrs: 3, wbt: 3 };
    HlrcL1Params {
        size: 256,
        ways: 2,
        latency: 3,
        sfifo: 4,
        targets: 3,
        sq: 2,
        ..HlrcL1Params::published(srsp)
    }
}

impl World {
    pub fn new(p: &HlrcL1Params, seed: u64) -> World {
        let mut b = Bench::new(&hlrc_l1(p).expect("legal parameters"), seed);
        b.source::<CuReq>("cu_req", &p.srsp.cu());
        b.sink::<CuRsp>("cu_rsp", &p.srsp.cu());
        b.sink::<Req>("req", &p.srsp);
        b.sink::<Wb>("wb", &p.srsp);
        b.source::<Rsp>("rsp", &p.srsp);
        b.source::<Probe>("probe", &p.srsp);
        b.set("own", OWN);
        let lock = |base: u64, near: bool| {
            let data = (0..4).map(|i| base + 64 * (i + u64::from(!near)) + 4 * (i + 1)).collect();
            Lock { addr: base, data, truth: 0 }
        };
        World {
            l2: L2::new(&p.srsp, OWN),
            p: p.clone(),
            b,
            locks: vec![lock(0x1000, true), lock(0x2000, false)],
            waves: Vec::new(),
            others: vec![Other::Idle; 2],
            foreign: BTreeMap::new(),
            kernel: Kernel::Runs,
            kernels: 0,
            next_id: 0,
            taken: [[0; 2]; 2],
            replies: 0,
            last: 0,
            rate: 0.01,
            noise: 0.03,
            issue: 0.8,
        }
    }

    /// Wavefronts of the usual mix and random back-pressure.
    pub fn mixed(p: &HlrcL1Params, seed: u64) -> World {
        let mut w = World::new(p, seed);
        let mut kinds = vec![
            WaveKind::Locker(NEAR),
            WaveKind::Locker(NEAR),
            WaveKind::Locker(FAR),
            WaveKind::Locker(FAR),
            WaveKind::Reader(NEAR),
        ];
        kinds.extend([WaveKind::Private; 5]);
        w.start(&kinds);
        for (sink, chance) in [("req", 0.6), ("wb", 0.6), ("cu_rsp", 0.9)] {
            w.b.sink_mut(sink).chance = chance;
        }
        w
    }

    /// Wavefronts that use `FAR`, or only read its data, and nothing else, so that old copies stay for long.
    pub fn focused(p: &HlrcL1Params, seed: u64) -> World {
        let mut w = World::new(p, seed);
        w.noise = 0.0;
        w.rate = 0.03;
        let far = WaveKind::Locker(FAR);
        w.start(&[far, far, WaveKind::Reader(FAR), WaveKind::Reader(FAR)]);
        w
    }

    /// Wavefronts that work alone, on lines that are seldom taken away.
    pub fn resident(p: &HlrcL1Params, seed: u64) -> World {
        let mut w = World::new(p, seed);
        w.noise = 0.001;
        w.rate = 0.0;
        w.start(&[WaveKind::Private; 5]);
        w
    }

    fn start(&mut self, kinds: &[WaveKind]) {
        let wave = |kind| Wave { kind, step: 0, pause: 0, open: None, words: BTreeMap::new(), stored: 0 };
        self.waves = kinds.iter().map(|kind| wave(*kind)).collect();
    }

    pub fn now(&self) -> u64 {
        self.b.sim.cycle()
    }

    /// Sends a request of the CU; its number.
    pub fn ask(&mut self, ask: Ask) -> u64 {
        let id = self.next_id;
        self.next_id = (self.next_id + 1) % 4096;
        let msg = self.message(id, ask);
        self.b.send("cu_req", msg);
        id
    }

    fn message(&self, id: u64, ask: Ask) -> Msg {
        let cu = self.p.srsp.cu();
        let code = |op: CuOp| op as u64;
        let at = |addr: u64, size: u64| {
            let offset = addr % LINE;
            vec![("line", addr / LINE), ("mask", ((1 << size) - 1) << offset), ("id", id)]
        };
        let word = |addr: u64, value: u64| {
            let mut limbs = [0x5a5a_5a5a_5a5a_5a5a_u64; 8];
            let (limb, shift) = ((addr % LINE / 8) as usize, addr % 8 * 8);
            limbs[limb] = if shift == 0 { value } else { (limbs[limb] & 0xffff_ffff) | (value << 32) };
            Bv::from_limbs(&limbs, 512)
        };
        let plain = [("sync", 0), ("class", 0)];
        match ask {
            Ask::Load(addr) => {
                let more = [("op", code(CuOp::Ld)), ("want_ack", 0)];
                Msg::of::<CuReq>(&cu, &[&at(addr, 4)[..], &plain, &more].concat())
            }
            Ask::Store(addr, value, ack) => {
                let more = [("op", code(CuOp::St)), ("want_ack", u64::from(ack))];
                let msg = Msg::of::<CuReq>(&cu, &[&at(addr, 4)[..], &plain, &more].concat());
                msg.with("data", word(addr, value))
            }
            Ask::Sync(a, (sem, scope, remote)) => {
                let (op, amo) = match a.op {
                    SyncOp::Ld => (CuOp::Ld, AmoOp::Add),
                    SyncOp::St => (CuOp::St, AmoOp::Add),
                    SyncOp::Add => (CuOp::Amo, AmoOp::Add),
                    SyncOp::Xor => (CuOp::Amo, AmoOp::Xor),
                    SyncOp::Max => (CuOp::Amo, AmoOp::Max),
                    SyncOp::Exch => (CuOp::Amo, AmoOp::Exch),
                    _ => (CuOp::Amo, AmoOp::Cas),
                };
                let more = [
                    ("op", code(op)),
                    // Of what orders nothing the class alone tells that it is an atomic.
                    ("sync", u64::from(sem != 0 || id.is_multiple_of(2))),
                    ("class", 1),
                    ("sem", sem),
                    ("scope", scope),
                    ("remote", u64::from(remote)),
                    ("want_ack", 1),
                    ("amo", amo as u64),
                    ("sgn", 0),
                    ("cmp", a.cmp),
                ];
                let size = if a.wide { 8 } else { 4 };
                let msg = Msg::of::<CuReq>(&cu, &[&at(a.addr, size)[..], &more].concat());
                msg.with("data", word(a.addr, a.opnd))
            }
            Ask::Fence { acquire, scope } => {
                let op = code(if acquire { CuOp::Acq } else { CuOp::Rel });
                Msg::of::<CuReq>(&cu, &[("id", id), ("op", op), ("scope", scope)])
            }
            Ask::Begin => Msg::of::<CuReq>(&cu, &[("id", id), ("op", code(CuOp::Kbegin))]),
            Ask::End => Msg::of::<CuReq>(&cu, &[("id", id), ("op", code(CuOp::Kend))]),
        }
    }

    /// One cycle of everything.
    pub fn cycle(&mut self) {
        let now = self.now();
        (0..self.locks.len()).for_each(|lock| self.other_step(lock));
        if self.noise > 0.0 {
            self.noise_step();
            self.kernel_step();
        }
        self.issue();
        self.below();
        while let Some((_, m)) = self.b.received("cu_rsp") {
            self.last = now;
            self.replies += 1;
            self.reply(&m);
        }
        assert!(now < self.last + 5_000, "nothing is answered any more: {:?}", self.open());
    }

    /// One cycle of the L1 and the L2.
    fn below(&mut self) {
        let now = self.now();
        self.b.step();
        while let Some((_, m)) = self.b.received("req") {
            self.l2.request(m, now, &mut self.b.rng);
        }
        while let Some((_, m)) = self.b.received("wb") {
            self.l2.write(m, now, &mut self.b.rng);
        }
        self.l2.tick(now, &mut self.b.rng);
        if self.b.source_mut("rsp").queue.len() < 2
            && let Some(m) = self.l2.deliver(now, &mut self.b.rng)
        {
            self.b.send("rsp", m);
        }
        if let Some(m) = self.l2.probe(now, &mut self.b.rng) {
            self.b.send("probe", m);
        }
    }

    pub fn open(&self) -> Vec<Ask> {
        self.waves.iter().filter_map(|w| w.open.map(|o| o.1)).collect()
    }

    /// The other CU takes or leaves a lock, in its own L1, which gives the line back whenever it is wanted.
    fn other_step(&mut self, lock: usize) {
        let (now, addr) = (self.now(), self.locks[lock].addr);
        let line = addr / LINE;
        let owns = self.l2.owners.get(&line) == Some(&Owner::Other);
        match self.others[lock] {
            Other::Idle if self.b.rng.random_bool(self.rate) => {
                self.l2.take(line, now, &mut self.b.rng);
                self.others[lock] = Other::Asks;
            }
            Other::Asks if owns && self.l2.word(addr, 4) == 0 => {
                self.check(lock);
                self.l2.put(addr, 4, 1);
                self.taken[lock][1] += 1;
                self.others[lock] = Other::Holds(self.b.rng.random_range(0..100));
            }
            Other::Asks if owns => {
                self.l2.owners.remove(&line);
                self.others[lock] = Other::Idle;
            }
            Other::Holds(0) => {
                self.l2.take(line, now, &mut self.b.rng);
                self.others[lock] = Other::Leaves;
            }
            Other::Holds(n) => {
                // Somebody else's atomic takes the line away from the holder.
                if owns && self.l2.wanted(line) && self.b.rng.random_bool(0.05) {
                    self.l2.owners.remove(&line);
                }
                self.others[lock] = Other::Holds(n - 1);
            }
            Other::Leaves if owns => {
                self.locks[lock].truth += 1;
                let (truth, data) = (self.locks[lock].truth, self.locks[lock].data.clone());
                data.iter().for_each(|addr| self.l2.put(*addr, 4, truth));
                assert_eq!(self.l2.word(addr, 4), 1, "the lock was taken from its holder");
                self.l2.put(addr, 4, 0);
                self.l2.owners.remove(&line);
                self.others[lock] = Other::Idle;
            }
            Other::Asks | Other::Leaves => {
                // The line went elsewhere in between: ask again.
                self.l2.take(line, now, &mut self.b.rng);
            }
            Other::Idle => {}
        }
    }

    fn check(&self, lock: usize) {
        for addr in &self.locks[lock].data {
            let found = self.l2.word(*addr, 4);
            assert_eq!(found, self.locks[lock].truth, "the other CU reads old data at {addr:#x}");
        }
    }

    /// Lines are revoked and recalled; another CU stores words of its own.
    fn noise_step(&mut self) {
        let now = self.now();
        let rng = &mut self.b.rng;
        if rng.random_bool(self.noise) {
            let ours: Vec<u64> =
                self.l2.owners.iter().filter(|o| *o.1 == Owner::Ours).map(|o| *o.0).collect();
            if !ours.is_empty() {
                let line = ours[rng.random_range(0..ours.len())];
                let mine = self.locks.iter().any(|lock| lock.addr / LINE == line);
                let other = !mine && rng.random();
                self.l2.revoke(line, other, now, rng);
            }
        }
        let locks: Vec<u64> = self.locks.iter().map(|lock| lock.addr / LINE).collect();
        let theirs = |o: &(&u64, &Owner)| *o.1 == Owner::Other && !locks.contains(o.0);
        let theirs: Vec<u64> = self.l2.owners.iter().filter(theirs).map(|o| *o.0).collect();
        for line in theirs {
            if rng.random_bool(0.05) {
                self.l2.owners.remove(&line);
            }
        }
        if rng.random_bool(0.02) {
            let addr = SHARED + LINE * rng.random_range(0..LINES) + FOREIGN;
            let expected = self.foreign.get(&addr).copied().unwrap_or(0);
            assert_eq!(self.l2.word(addr, 8), expected, "another CU's word {addr:#x} is overwritten");
            let value = rng.random();
            self.l2.put(addr, 8, value);
            self.foreign.insert(addr, value);
        }
    }

    /// Now and then a kernel ends: everything that this CU wrote is at the L2, nothing is registered, and another CU may use each word otherwise.
    fn kernel_step(&mut self) {
        let still = |w: &Wave| w.open.is_none() && (w.step == 0 || !matches!(w.kind, WaveKind::Locker(_)));
        match self.kernel {
            Kernel::Runs if self.b.rng.random_bool(0.000_3) => {
                self.kernel = Kernel::Stops;
            }
            Kernel::Stops if self.waves.iter().all(still) => {
                self.kernel = Kernel::Ends(self.ask(Ask::End));
            }
            Kernel::Settles if self.l2.drained() => {
                let ours: Vec<_> = self.l2.owners.iter().filter(|o| *o.1 != Owner::Other).collect();
                assert!(ours.is_empty(), "registered at a kernel's end: {ours:?}");
                self.kernels += 1;
                let (l2, rng) = (&mut self.l2, &mut self.b.rng);
                for wave in &mut self.waves {
                    for (addr, value) in &mut wave.words {
                        assert_eq!(l2.word(*addr, 4), *value, "word {addr:#x} at a kernel's end");
                        if rng.random_bool(0.3) {
                            *value = rng.random::<u64>() & 0xffff_ffff;
                            l2.put(*addr, 4, *value);
                        }
                    }
                }
                self.kernel = Kernel::Begins(self.ask(Ask::Begin));
            }
            _ => {}
        }
    }

    fn issue(&mut self) {
        if self.waves.is_empty() || self.b.source_mut("cu_req").queue.len() > 1 {
            return;
        }
        if !self.b.rng.random_bool(self.issue) {
            return;
        }
        let (now, runs) = (self.now(), self.kernel == Kernel::Runs);
        let stops = |w: &Wave| !runs && (w.step == 0 || !matches!(w.kind, WaveKind::Locker(_)));
        let ready = |w: &Wave| w.open.is_none() && w.pause <= now && !stops(w);
        let ready: Vec<usize> = (0..self.waves.len()).filter(|i| ready(&self.waves[*i])).collect();
        if ready.is_empty() || !matches!(self.kernel, Kernel::Runs | Kernel::Stops) {
            return;
        }
        let at = ready[self.b.rng.random_range(0..ready.len())];
        let ask = match self.waves[at].kind {
            WaveKind::Locker(lock) => self.locker(at, lock),
            WaveKind::Private => self.private(at),
            WaveKind::Reader(lock) => {
                let data = &self.locks[lock].data;
                Ask::Load(data[self.b.rng.random_range(0..data.len())])
            }
        };
        let id = self.ask(ask);
        if let Ask::Store(_, _, false) = ask {
            self.waves[at].step += 1;
        } else {
            self.waves[at].open = Some((id, ask));
        }
    }

    /// Bits that the L1 does not look at, of those that an operation may have.
    fn bits(&mut self, op: SyncOp) -> (u64, u64, bool) {
        let rng = &mut self.b.rng;
        let sem = match op {
            SyncOp::Ld => [0, 1][rng.random_range(0..2)],
            SyncOp::St => [0, 2][rng.random_range(0..2)],
            _ => rng.random_range(0..4),
        };
        let remote = sem != 0 && rng.random_bool(0.2);
        (sem, if remote { 1 } else { rng.random_range(0..3) }, remote)
    }

    /// What a wavefront that works with a lock does next.
    fn locker(&mut self, at: usize, lock: usize) -> Ask {
        let n = self.locks[lock].data.len();
        let (step, addr) = (self.waves[at].step, self.locks[lock].addr);
        let access = |op, opnd| Access { op, wide: false, addr, opnd, cmp: 0 };
        if step == 0 {
            // An EXCH takes the lock when it was free, and writes the line when it was not.
            let op = if self.b.rng.random_bool(0.3) { SyncOp::Exch } else { SyncOp::Cas };
            return Ask::Sync(access(op, 1), self.bits(op));
        }
        if step <= n {
            return Ask::Load(self.locks[lock].data[step - 1]);
        }
        if step <= 2 * n {
            let ack = self.b.rng.random_bool(0.2);
            return Ask::Store(self.locks[lock].data[step - n - 1], self.locks[lock].truth + 1, ack);
        }
        if step == 2 * n + 1 {
            self.locks[lock].truth += 1;
        }
        self.waves[at].step = 2 * n + 2;
        let op = if self.b.rng.random_bool(0.3) { SyncOp::Exch } else { SyncOp::St };
        Ask::Sync(access(op, 0), self.bits(op))
    }

    /// The word of a line that a wavefront uses by atomics in this kernel; none: both.
    fn atomic_word(&self, line: u64) -> Option<u64> {
        let turn = line + self.kernels;
        (!turn.is_multiple_of(3)).then_some(turn % 2)
    }

    /// What a wavefront that works alone does next: on words of its own, in lines that it shares with others.
    fn private(&mut self, at: usize) -> Ask {
        let line = self.b.rng.random_range(0..LINES);
        let which = self.b.rng.random_range(0..2);
        let alone = self.atomic_word(line);
        let base = SHARED + LINE * line + 8 * (at as u64 % 5);
        let addr = base + 4 * which;
        let by_atomics = alone.is_none_or(|word| word == which);
        let value = self.b.rng.random::<u64>() & 0xffff_ffff;
        let rest = self.b.rng.random_range(0..100);
        if rest >= 98 {
            return match self.b.rng.random_range(0..8) {
                0 => Ask::Begin,
                1 => Ask::End,
                n => Ask::Fence { acquire: n % 2 == 0, scope: self.b.rng.random_range(0..3) },
            };
        }
        if !by_atomics && rest < 50 {
            // Often at once what was stored last, if it is used plainly.
            let stored = self.waves[at].stored;
            let word = self.atomic_word((stored.saturating_sub(SHARED)) / LINE);
            let plain = stored != 0 && word.is_some_and(|word| word != stored / 4 % 2);
            return Ask::Load(if plain && rest < 25 { stored } else { addr });
        }
        // A word of atomics may be stored plainly too: the wavefront's own atomics see it.
        if !by_atomics || rest < 15 {
            self.waves[at].words.insert(addr, value);
            self.waves[at].stored = addr;
            return Ask::Store(addr, value, value % 4 == 0);
        }
        let ops = [SyncOp::Ld, SyncOp::St, SyncOp::Add, SyncOp::Xor, SyncOp::Max, SyncOp::Exch, SyncOp::Cas];
        let op = ops[self.b.rng.random_range(0..ops.len())];
        let wide = alone.is_none() && self.b.rng.random_bool(0.3);
        let addr = if wide { base } else { addr };
        let opnd = if wide { self.b.rng.random() } else { value };
        let cmp = self.b.rng.random_range(0..4);
        Ask::Sync(Access { op, wide, addr, opnd, cmp }, self.bits(op))
    }

    fn reply(&mut self, m: &Msg) {
        let id = m.get("id");
        match self.kernel {
            Kernel::Ends(end) if id == end => {
                assert_eq!(m.get("kind"), 1);
                self.kernel = Kernel::Settles;
                return;
            }
            Kernel::Begins(begin) if id == begin => {
                self.kernel = Kernel::Runs;
                return;
            }
            _ => {}
        }
        let found = self.waves.iter().position(|w| w.open.is_some_and(|o| o.0 == id));
        let Some(at) = found else { panic!("answer {id} was not asked for") };
        let ask = self.waves[at].open.take().expect("found").1;
        let at_word =
            |addr: u64, size: u32| m.wide("data").slice(8 * (addr % LINE) as u32, 8 * size).low_u64();
        match ask {
            Ask::Load(addr) => {
                assert_eq!((m.get("kind"), m.get("mask")), (0, 0xf << (addr % LINE)));
                self.loaded(at, addr, at_word(addr, 4));
            }
            Ask::Store(..) => assert_eq!(m.get("kind"), 1),
            Ask::Sync(a, ..) => {
                assert_eq!(m.get("kind"), u64::from(a.op == SyncOp::St));
                let size = if a.wide { 8 } else { 4 };
                let old = (a.op != SyncOp::St).then(|| at_word(a.addr, size));
                self.synced(at, &a, old);
            }
            _ => assert_eq!(m.get("kind"), 1),
        }
        if !matches!(ask, Ask::Sync(..)) {
            self.waves[at].step += 1;
        }
    }

    fn loaded(&mut self, at: usize, addr: u64, value: u64) {
        match self.waves[at].kind {
            WaveKind::Locker(lock) => {
                let truth = self.locks[lock].truth;
                assert_eq!(value, truth, "the holder of lock {lock} reads old data at {addr:#x}");
            }
            WaveKind::Reader(_) => {}
            WaveKind::Private => {
                let expected = self.waves[at].words.get(&addr).copied().unwrap_or(0);
                assert_eq!(value, expected, "word {addr:#x} of wavefront {at}");
            }
        }
    }

    fn synced(&mut self, at: usize, a: &Access, old: Option<u64>) {
        let now = self.now();
        let pause = self.b.rng.random_range(0..60);
        match self.waves[at].kind {
            WaveKind::Locker(lock) if self.waves[at].step == 0 => {
                if old == Some(0) {
                    self.waves[at].step = 1;
                    self.taken[lock][0] += 1;
                } else {
                    self.waves[at].pause = now + pause;
                }
            }
            WaveKind::Locker(_) => {
                assert!(old.is_none_or(|old| old == 1), "the lock was taken from its holder: {old:?}");
                (self.waves[at].step, self.waves[at].pause) = (0, now + pause);
            }
            WaveKind::Reader(_) => panic!("a reader does not synchronise"),
            WaveKind::Private => {
                let words = &mut self.waves[at].words;
                let get = |words: &BTreeMap<u64, u64>, addr| words.get(&addr).copied().unwrap_or(0);
                let high = if a.wide { get(words, a.addr + 4) << 32 } else { 0 };
                let before = get(words, a.addr) | high;
                old.iter().for_each(|old| assert_eq!(*old, before, "{a:?} of wavefront {at}"));
                let after = apply(a.op, a.wide, before, a.opnd, a.cmp).0;
                words.insert(a.addr, after & 0xffff_ffff);
                if a.wide {
                    words.insert(a.addr + 4, after >> 32);
                }
            }
        }
    }

    /// Cycles of everything.
    pub fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.cycle());
    }

    /// Asks, and runs until the answer: (value of its word, cycles).
    pub fn alone(&mut self, ask: Ask) -> (u64, u64) {
        let begin = self.now();
        let id = self.ask(ask);
        let addr = match ask {
            Ask::Load(addr) | Ask::Store(addr, ..) => addr,
            Ask::Sync(a, ..) => a.addr,
            _ => 0,
        };
        for _ in 0..2_000 {
            self.below();
            if let Some((cycle, m)) = self.b.received("cu_rsp") {
                assert_eq!(m.get("id"), id);
                return (m.wide("data").slice(8 * (addr % LINE) as u32, 32).low_u64(), cycle - begin);
            }
        }
        panic!("{ask:?} is not answered");
    }

    /// Cycles in which nobody but the L2 does anything; answers to the CU are left for the test.
    pub fn rest(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.below());
    }

    /// Numbers of the requests answered, in order.
    pub fn answered(&mut self) -> Vec<u64> {
        std::iter::from_fn(|| self.b.received("cu_rsp")).map(|(_, m)| m.get("id")).collect()
    }

    /// Another L1 wants a line.
    pub fn take(&mut self, line: u64) {
        let now = self.now();
        self.l2.take(line, now, &mut self.b.rng);
    }

    /// Runs until the L2 has served a message.
    pub fn until_seen(&mut self, what: &str) {
        for _ in 0..1_000 {
            if self.l2.seen.iter().any(|seen| seen == what) {
                return;
            }
            self.below();
        }
        panic!("{what} does not come: {:?}", self.l2.seen);
    }
}

//! One L1 with everything around it: wavefronts that share locks and data with one another and with another CU, and check every value.
//!
//! | lock | data |
//! | --- | --- |
//! | `NEAR` | words that all hold the same number, the first in the lock's own line |
//! | `FAR` | the same, none in the lock's line |
//!
//! Who holds a lock finds the number of its data as the last holder left it, and leaves the next one. Other wavefronts work on words of their own, in lines that they share, and
//! know every value: a word is used plainly or by atomics, and changes that when a kernel ends. Another CU takes the locks, and now and then any line that the L1 has.
//!
//! The same world is around the L1 of DeNovo-B ([`Registers::STORES`]): what the other CU stores it registers first, and it reads what the L1 owns.

use crate::hlrc_l1::l2::Owner;
use crate::l1_bench::ask::{ACQ, AR, Ask, REL};
use crate::l1_bench::banks::{Banks, LINE, OWN};
use crate::l1_bench::{self, Around, Lock, Wave, WaveKind};
use rand::Rng;
use rand::rngs::SmallRng;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;
use weft_rtl::ir::Module;
use weft_srsp::Shape;
use weft_srsp::hlrc_l1::{HlrcL1Params, hlrc_l1};
use weft_srsp::msg::{Probe, ProbeOp, ReqOp, SyncOp};
use weft_srsp::params::Srsp;
use weft_srsp_bench::bench::{Bench, Msg};
use weft_srsp_bench::memory::Access;

pub const NEAR: usize = 0;
pub const FAR: usize = 1;

/// Lines that wavefronts share for words of their own.
pub(super) const SHARED: u64 = 0x8000;
pub(super) const LINES: u64 = 10;
/// Place in those lines of the word that another CU stores.
pub(super) const FOREIGN: u64 = 56;

/// An atomic of 4 bytes.
pub fn atomic(op: SyncOp, addr: u64, opnd: u64, cmp: u64) -> Ask {
    Ask::Sync(Access { op, wide: false, addr, opnd, cmp }, (0, 0, false))
}

/// A kind of L1 that registers lines.
pub trait Registers: Sized {
    /// Parameters of the L1.
    type Params: Clone;
    /// What stores write is registered as well.
    const STORES: bool;
    /// The L1.
    fn module(p: &Self::Params) -> Arc<Module>;
    /// Parameters of the system.
    fn system(p: &Self::Params) -> &Srsp;
    /// The channel of probes.
    fn connect(b: &mut Bench, s: &Srsp);
    /// A REVOKE of an address, or a READ.
    fn probe(s: &Srsp, read: bool, addr: u64) -> Msg;
}

/// The L1 of hLRC.
pub struct Hlrc;

impl Registers for Hlrc {
    type Params = HlrcL1Params;
    const STORES: bool = false;

    fn module(p: &HlrcL1Params) -> Arc<Module> {
        hlrc_l1(p).expect("legal parameters")
    }
    fn system(p: &HlrcL1Params) -> &Srsp {
        &p.shape.srsp
    }
    fn connect(b: &mut Bench, s: &Srsp) {
        b.source::<Probe>("probe", s);
    }
    fn probe(s: &Srsp, _: bool, addr: u64) -> Msg {
        Msg::of::<Probe>(s, &[("op", ProbeOp::Revoke as u64), ("addr", addr), ("req", OWN)])
    }
}

/// The other CU at a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Other {
    Idle,
    /// It has asked for the lock's line.
    Asks,
    /// It has the lock and reads what the L1 under test owns of its data.
    Reads,
    /// It holds the lock so many cycles, and then wants the line again.
    Holds(u64),
    Leaves,
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

/// Another CU, kernels, and whose the lines are.
pub struct Others<R> {
    kind: PhantomData<R>,
    /// Registered lines.
    pub owners: BTreeMap<u64, Owner>,
    /// REVOKEs and, if so, READs on their way: {due, line, READ}.
    pub probes: Vec<(u64, u64, bool)>,
    /// Lines of a lock's data that are still to be read, and whether that has been asked for.
    pub(super) reads: Vec<Vec<(u64, bool)>>,
    /// REVOKEs are kept back.
    pub hold_probes: bool,
    pub(super) others: Vec<Other>,
    pub(super) foreign: BTreeMap<u64, u64>,
    kernel: Kernel,
    /// Kernels ended; it decides how each word is used.
    pub kernels: u64,
    /// How often the other CU does something.
    pub rate: f64,
    /// How often lines are revoked and recalled without need.
    pub noise: f64,
}

/// Scope and remote bit of its operations do not matter.
fn locker(lock: usize) -> WaveKind {
    WaveKind::Locker(lock, 0, false)
}

/// A run.
pub type World = WorldOf<Hlrc>;

/// The same around an L1 of some kind.
pub type WorldOf<R> = l1_bench::World<Others<R>>;

/// A small L1: 2 sets of 2 ways, short queues.
pub fn small() -> HlrcL1Params {
    let srsp = Srsp { cus: 4, addr_bits: 32, line: 64, banks: 2, mshrs: 3, wbt: 3 };
    HlrcL1Params::published(srsp).sized(|s| Shape {
        size: 256,
        ways: 2,
        latency: 3,
        sfifo: 4,
        targets: 3,
        sq: 2,
        ..s
    })
}

impl<R: Registers> Around for Others<R> {
    type Params = R::Params;

    fn connect(b: &mut Bench, s: &Srsp) {
        R::connect(b, s);
    }

    fn act(w: &mut WorldOf<R>) {
        (0..w.locks.len()).for_each(|lock| w.other_step(lock));
        if w.noise > 0.0 {
            w.noise_step();
            w.kernel_step();
        }
    }

    fn settle(w: &mut WorldOf<R>, now: u64) {
        if let Some(m) = w.around.probe(&w.banks, now, &mut w.b.rng) {
            w.b.send("probe", m);
        }
    }

    fn serve(&mut self, banks: &mut Banks, at: usize, now: u64, rng: &mut SmallRng) -> bool {
        banks.waiting[at].0 <= now && self.request(banks, at, now, rng)
    }

    fn written(&mut self, banks: &mut Banks, m: &Msg, due: u64) {
        self.write(banks, m, due);
    }

    fn may_ask(&self, wave: &Wave) -> bool {
        match self.kernel {
            Kernel::Runs => true,
            Kernel::Stops => wave.step != 0 && matches!(wave.kind, WaveKind::Locker(..)),
            _ => false,
        }
    }

    fn takes(&mut self, m: &Msg) -> bool {
        let id = m.get("id");
        match self.kernel {
            Kernel::Ends(end) if id == end => {
                assert_eq!(m.get("kind"), 1);
                self.kernel = Kernel::Settles;
            }
            Kernel::Begins(begin) if id == begin => self.kernel = Kernel::Runs,
            _ => return false,
        }
        true
    }

    fn locker(w: &mut WorldOf<R>, at: usize, lock: usize) -> Ask {
        let addr = w.locks[lock].addr;
        let access = |op, opnd| Access { op, wide: false, addr, opnd, cmp: 0 };
        // An EXCH takes the lock when it was free, and writes the line when it was not.
        let either = |w: &mut WorldOf<R>, other| if w.b.rng.random_bool(0.3) { SyncOp::Exch } else { other };
        let take = |w: &mut WorldOf<R>| {
            let op = either(w, SyncOp::Cas);
            Ask::Sync(access(op, 1), w.ordered_bits(op, ACQ))
        };
        let give = |w: &mut WorldOf<R>| {
            let op = either(w, SyncOp::St);
            Ask::Sync(access(op, 0), w.ordered_bits(op, REL))
        };
        w.section((at, lock), take, give)
    }

    /// On words of its own, in lines that it shares with others.
    fn private(w: &mut WorldOf<R>, at: usize) -> Ask {
        let line = w.b.rng.random_range(0..LINES);
        let which = w.b.rng.random_range(0..2);
        let alone = w.atomic_word(line);
        let base = SHARED + LINE * line + 8 * (at as u64 % 5);
        let addr = base + 4 * which;
        let by_atomics = alone.is_none_or(|word| word == which);
        let value = w.b.rng.random::<u64>() & 0xffff_ffff;
        let rest = w.b.rng.random_range(0..100);
        if rest >= 98 {
            return match w.b.rng.random_range(0..8) {
                0 => Ask::Begin,
                1 => Ask::End,
                n => Ask::Fence { acquire: n % 2 == 0, scope: w.b.rng.random_range(0..3) },
            };
        }
        if !by_atomics && rest < 50 {
            // Often at once what was stored last, if it is used plainly.
            let stored = w.waves[at].stored;
            let word = w.atomic_word((stored.saturating_sub(SHARED)) / LINE);
            let plain = stored != 0 && word.is_some_and(|word| word != stored / 4 % 2);
            return Ask::Load(if plain && rest < 25 { stored } else { addr });
        }
        // A word of atomics may be stored plainly too: the wavefront's own atomics see it.
        if !by_atomics || rest < 15 {
            w.waves[at].words.insert(addr, value);
            w.waves[at].stored = addr;
            return Ask::Store(addr, value, value % 4 == 0);
        }
        let ops = [SyncOp::Ld, SyncOp::St, SyncOp::Add, SyncOp::Xor, SyncOp::Max, SyncOp::Exch, SyncOp::Cas];
        let op = ops[w.b.rng.random_range(0..ops.len())];
        let wide = alone.is_none() && w.b.rng.random_bool(0.3);
        let addr = if wide { base } else { addr };
        let opnd = if wide { w.b.rng.random() } else { value };
        let cmp = w.b.rng.random_range(0..4);
        Ask::Sync(Access { op, wide, addr, opnd, cmp }, w.bits(op))
    }
}

impl<R: Registers> WorldOf<R> {
    pub fn new(p: &R::Params, seed: u64) -> Self {
        let others = Others {
            kind: PhantomData,
            owners: BTreeMap::new(),
            probes: Vec::new(),
            reads: vec![Vec::new(); 2],
            hold_probes: false,
            others: vec![Other::Idle; 2],
            foreign: BTreeMap::new(),
            kernel: Kernel::Runs,
            kernels: 0,
            rate: 0.01,
            noise: 0.03,
        };
        let locks = vec![Lock::new(0x1000, true), Lock::new(0x2000, false)];
        WorldOf::begin(&R::module(p), (p, R::system(p)), locks, others, seed)
    }

    /// Wavefronts of the usual mix and random back-pressure.
    pub fn mixed(p: &R::Params, seed: u64) -> Self {
        let mut w = WorldOf::<R>::new(p, seed);
        let mut kinds: Vec<WaveKind> = [NEAR, NEAR, FAR, FAR].map(locker).into();
        kinds.push(WaveKind::Reader(NEAR));
        kinds.extend([WaveKind::Private; 5]);
        w.start(&kinds);
        w.b.chances(&[("req", 0.6), ("wb", 0.6), ("cu_rsp", 0.9)]);
        w
    }

    /// Wavefronts that use `FAR`, or only read its data, and nothing else, so that old copies stay for long.
    pub fn focused(p: &R::Params, seed: u64) -> Self {
        let mut w = WorldOf::<R>::new(p, seed);
        w.noise = 0.0;
        w.rate = 0.03;
        let far = locker(FAR);
        w.start(&[far, far, WaveKind::Reader(FAR), WaveKind::Reader(FAR)]);
        w
    }

    /// Wavefronts that work alone, on lines that are seldom taken away.
    pub fn resident(p: &R::Params, seed: u64) -> Self {
        let mut w = WorldOf::<R>::new(p, seed);
        w.noise = 0.001;
        w.rate = 0.0;
        w.start(&[WaveKind::Private; 5]);
        w
    }

    /// Now and then a kernel ends: everything that this CU wrote is at the L2, nothing is registered, and another CU may use each word otherwise.
    fn kernel_step(&mut self) {
        let still = |w: &Wave| w.open.is_none() && (w.step == 0 || !matches!(w.kind, WaveKind::Locker(..)));
        match self.around.kernel {
            Kernel::Runs if self.b.rng.random_bool(0.000_3) => {
                self.kernel = Kernel::Stops;
            }
            Kernel::Stops if self.waves.iter().all(still) => {
                self.kernel = Kernel::Ends(self.ask(Ask::End));
            }
            Kernel::Settles if self.banks.drained() => {
                let ours: Vec<_> = self.owners.iter().filter(|o| *o.1 != Owner::Other).collect();
                assert!(ours.is_empty(), "registered at a kernel's end: {ours:?}");
                self.kernels += 1;
                let (l2, rng) = (&mut self.banks, &mut self.b.rng);
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

    /// Bits of an access to a lock, which orders if the L1 looks at that.
    fn ordered_bits(&mut self, op: SyncOp, order: u64) -> (u64, u64, bool) {
        let (sem, scope, remote) = self.bits(op);
        let both = R::STORES && op != SyncOp::St && self.b.rng.random();
        (if R::STORES { [order, AR][usize::from(both)] } else { sem }, scope, remote)
    }

    /// Bits that the L1 of hLRC does not look at, of those that an operation may have.
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

    /// The word of a line that a wavefront uses by atomics in this kernel; none: both.
    fn atomic_word(&self, line: u64) -> Option<u64> {
        let turn = line + self.kernels;
        (!turn.is_multiple_of(3)).then_some(turn % 2)
    }

    /// A REG of the line waits.
    pub(super) fn wanted(&self, line: u64) -> bool {
        let reg = |m: &Msg| m.get("op") == ReqOp::Reg as u64 && m.get("atomic_addr") / LINE == line;
        self.banks.waiting.iter().any(|w| reg(&w.1))
    }

    /// Another L1 registers a line: at once, or when the L1 under test has given it back.
    pub fn take(&mut self, line: u64) {
        match self.owners.get(&line) {
            None => {
                self.owners.insert(line, Owner::Other);
            }
            Some(Owner::Ours) => self.revoke(line, true),
            Some(_) => {}
        }
    }

    /// REVOKE, if the line is the L1's and not revoked yet.
    pub(super) fn revoke(&mut self, line: u64, other: bool) {
        if self.owners.get(&line) == Some(&Owner::Ours) {
            self.owners.insert(line, Owner::Revoked { other, unreg: None });
            let due = self.now() + self.b.rng.random_range(1..=self.banks.slow);
            self.probes.push((due, line, false));
        }
    }

    /// READ, if the line is the L1's and not asked for.
    pub fn read(&mut self, line: u64) {
        if self.owners.get(&line) == Some(&Owner::Ours) {
            self.owners.insert(line, Owner::Read { unreg: None });
            let due = self.now() + self.b.rng.random_range(1..=self.banks.slow);
            self.probes.push((due, line, true));
        }
    }

    /// Runs until the L2 has served a message.
    pub fn until_seen(&mut self, what: &str) {
        for _ in 0..1_000 {
            if self.banks.seen.iter().any(|seen| seen == what) {
                return;
            }
            self.quiet_cycle();
        }
        panic!("{what} does not come: {:?}", self.banks.seen);
    }
}

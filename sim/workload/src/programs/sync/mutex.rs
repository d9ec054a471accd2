//! Mutexes: spinning, spinning with back-off, fetch-and-add tickets, and a ring of sleepers.
//!
//! ```text
//! spm:    while CAS.P(acq)(lock, 0 -> 1) != 0                               unlock:  ST.P lock = 0
//! spmbo:  the same, with a pause after each failure
//! fam:    t = INC.U(ticket);  while LD.P(turn) != t                         unlock:  INC.P(rel)(turn)
//! slm:    i = INC.U(tail) mod size;  while LD.P(ring[i]) != 1               unlock:  SUB.U(ring[i], 2);  ST.P ring[i + 1] = 1
//! ```
//! Only spmbo pauses, as the public programs do: 10 ticks after the first failure, 5 more after each further
//! one, 1 from the 26th on (`backoff` and its like). The others ask again as soon as they have their answer,
//! and no L1 makes them wait: the protocol for GPUs is the one without hardware back-off.
//! In the ring 1 is a work-group's turn and -1 a place that is free or waits; it has a place for each work-group that may
//! wait, so that no two share one.

use super::super::params::{ParamSpec, Params};
use super::super::round::{Atomic, Order, Round};
use super::super::simt::{Base, Flow, Kernels, Launch, Memory, Simt, Thread};
use super::super::{WorkloadError, WorkloadInfo};
use super::backoff::{self, Backoff};
use super::region::{Region, S_FREE};
use super::setting::{ACCESSES, ITERATIONS, Setting, with_common};
use crate::op::{AmoKind, Class, Scope, Sem};
use crate::program::VerifyError;

const PLAIN: &[ParamSpec] = &with_common::<10>(&[ITERATIONS, ACCESSES]);

const PAUSING: &[ParamSpec] =
    &with_common::<13>(&[ITERATIONS, ACCESSES, backoff::BACKOFF, backoff::STEP, backoff::failures("25")]);

const fn info(name: &'static str, params: &'static [ParamSpec], about: &'static str) -> WorkloadInfo {
    WorkloadInfo {
        name,
        about,
        params,
        published: &[("iterations", "100"), ("cus", "15")],
        takes_graph: false,
        make: |params, _| Simt::from_params(Mutex::new, params),
    }
}

/// Spinning, one lock.
pub const SPM_G: WorkloadInfo =
    info("spm-g", PLAIN, "All work-groups work on the same lines under one spin mutex (SyncPrims SPM_G).");
/// Spinning, a lock for each CU.
pub const SPM_L: WorkloadInfo = info(
    "spm-l",
    PLAIN,
    "The work-groups of each CU work on its lines under its spin mutex (SyncPrims SPM_L).",
);
/// Spinning with back-off, one lock.
pub const SPMBO_G: WorkloadInfo = info(
    "spmbo-g",
    PAUSING,
    "All work-groups work on the same lines under one spin mutex with linear back-off (SyncPrims SPMBO_G).",
);
/// Spinning with back-off, a lock for each CU.
pub const SPMBO_L: WorkloadInfo = info(
    "spmbo-l",
    PAUSING,
    "The work-groups of each CU work on its lines under its spin mutex with linear back-off (SyncPrims SPMBO_L).",
);
/// Tickets, one lock.
pub const FAM_G: WorkloadInfo = info(
    "fam-g",
    PLAIN,
    "All work-groups work on the same lines under one fetch-and-add mutex (SyncPrims FAM_G).",
);
/// Tickets, a lock for each CU.
pub const FAM_L: WorkloadInfo = info(
    "fam-l",
    PLAIN,
    "The work-groups of each CU work on its lines under its fetch-and-add mutex (SyncPrims FAM_L).",
);
/// A ring of sleepers, one lock.
pub const SLM_G: WorkloadInfo = info(
    "slm-g",
    PLAIN,
    "All work-groups work on the same lines under one sleep mutex, a ring in which each waits at a word of its own (SyncPrims SLM_G).",
);
/// A ring of sleepers, a lock for each CU.
pub const SLM_L: WorkloadInfo = info(
    "slm-l",
    PLAIN,
    "The work-groups of each CU work on its lines under its sleep mutex, a ring in which each waits at a word of its own (SyncPrims SLM_L).",
);

#[derive(Clone, Copy, Debug)]
enum Kind {
    Spin(Option<Backoff>),
    Ticket,
    Ring,
}

/// Words of a lock before the ring: the lock or the ticket or the tail, and the turn.
const FRONT: u64 = 0;
const TURN: u64 = 1;
const RING: u64 = 1;

/// A word of the ring that is nobody's turn.
const ASLEEP: u32 = u32::MAX;

/// Slots.
const S_ASKED: u64 = S_FREE;
const S_FREED: u64 = S_FREE + 1;
const S_PASSED: u64 = S_FREE + 2;

/// Registers of a thread: where it is, iterations done, rounds at work, failures, its ticket.
const R_STATE: usize = 0;
const R_DONE: usize = 1;
const R_STEP: usize = 2;
const R_FAILED: usize = 3;
const R_TICKET: usize = 4;
const REGISTERS: usize = 5;

/// States: before the lock is asked for, a ticket taken, asked, at work, before unlocking.
const ENTER: u64 = 0;
const TAKEN: u64 = 1;
const ASKED: u64 = 2;
const WORK: u64 = 3;
const LEAVE: u64 = 4;

/// Work under mutexes.
#[derive(Clone, Debug)]
pub struct Mutex {
    setting: Setting,
    kind: Kind,
    local: bool,
    iterations: u64,
    region: Region,
    /// Words of a lock.
    words: u64,
    locks: usize,
}

impl Mutex {
    /// Builds the program that the parameters belong to.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let mut setting = Setting::new(params)?;
        let name = params.workload();
        let (kind, local) = (name.split('-').next().unwrap_or(name), name.ends_with("-l"));
        let kind = match kind {
            "fam" => Kind::Ticket,
            "slm" => Kind::Ring,
            "spmbo" => Kind::Spin(Some(Backoff::new(params))),
            _ => Kind::Spin(None),
        };
        let sets = if local { setting.grid.cus() } else { 1 };
        let region = Region::new(&mut setting, params, sets);
        let users = setting.grid.blocks() / sets;
        let words = match kind {
            Kind::Spin(_) => 1,
            Kind::Ticket => 2,
            Kind::Ring => RING + users,
        };
        let lock: Vec<u32> = match kind {
            Kind::Ring => [0, 1].into_iter().chain((1..users).map(|_| ASLEEP)).collect(),
            _ => vec![0; words as usize],
        };
        let locks = setting.apart_with("locks", &lock.repeat(sets as usize));
        let iterations = params.integer("iterations");
        Ok(Self { setting, kind, local, iterations, region, words, locks })
    }

    /// Lock and lines of a thread's work-group.
    fn set(&self, t: &Thread) -> u64 {
        if self.local { self.setting.spot(t).cu } else { 0 }
    }

    /// Work-groups of a lock.
    fn users(&self) -> u64 {
        if self.local { self.setting.grid.per_cu } else { self.setting.grid.blocks() }
    }

    fn scope(&self) -> Scope {
        if self.local { Scope::Cu } else { self.setting.grid.all }
    }

    fn word(&self, t: &Thread, i: u64) -> u64 {
        self.setting.word(self.locks, self.set(t) * self.words + i)
    }

    /// The first access of a lock.
    fn enter(&self, t: &Thread, r: &mut [u64], io: &mut Round) {
        let last = match self.kind {
            Kind::Spin(_) => return self.ask(t, r, io),
            Kind::Ticket => u64::from(u32::MAX),
            Kind::Ring => self.users() - 1,
        };
        let (take, order) = (Atomic::Amo(AmoKind::Inc, 0), Order::relaxed(Class::U, self.scope()));
        io.atomic(S_ASKED, take, 4, order, self.word(t, FRONT), last);
        r[R_STATE] = TAKEN;
    }

    /// Looks whether the lock is the work-group's.
    fn ask(&self, t: &Thread, r: &mut [u64], io: &mut Round) {
        let acquire = Order::paired(Sem::Acquire, self.scope());
        let (what, word) = match self.kind {
            Kind::Spin(_) => (Atomic::Amo(AmoKind::Cas, 0), FRONT),
            Kind::Ticket => (Atomic::Load, TURN),
            Kind::Ring => (Atomic::Load, RING + r[R_TICKET]),
        };
        io.atomic(S_ASKED, what, 4, acquire, self.word(t, word), 1);
        r[R_STATE] = ASKED;
    }

    /// Whether it was.
    fn held(&self, t: &Thread, r: &[u64]) -> bool {
        let wanted = match self.kind {
            Kind::Spin(_) => 0,
            Kind::Ticket => r[R_TICKET],
            Kind::Ring => 1,
        };
        t.index(S_ASKED) == wanted
    }

    fn unlock(&self, t: &Thread, r: &[u64], io: &mut Round) {
        let release = Order::paired(Sem::Release, self.scope());
        match self.kind {
            Kind::Spin(_) => io.atomic(S_FREED, Atomic::Store, 4, release, self.word(t, FRONT), 0),
            Kind::Ticket => {
                let pass = Atomic::Amo(AmoKind::Inc, 0);
                io.atomic(S_FREED, pass, 4, release, self.word(t, TURN), u64::from(u32::MAX));
            }
            Kind::Ring => {
                let (sleep, order) = (Atomic::Amo(AmoKind::Sub, 0), Order::relaxed(Class::U, self.scope()));
                let next = (r[R_TICKET] + 1) % self.users();
                io.atomic(S_FREED, sleep, 4, order, self.word(t, RING + r[R_TICKET]), 2);
                io.atomic(S_PASSED, Atomic::Store, 4, release, self.word(t, RING + next), 1);
            }
        }
    }

    /// A round of the leader until it holds the lock; whether it does.
    fn lock(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> bool {
        match r[R_STATE] {
            ENTER => self.enter(t, r, io),
            ASKED if self.held(t, r) => {
                r[R_FAILED] = 0;
                return true;
            }
            TAKEN => {
                r[R_TICKET] = t.index(S_ASKED);
                self.ask(t, r, io);
            }
            _ => {
                io.fail();
                if let Kind::Spin(Some(backoff)) = self.kind {
                    io.pause(backoff.ticks(r[R_FAILED]));
                }
                r[R_FAILED] += 1;
                self.ask(t, r, io);
            }
        }
        false
    }

    /// Words of the locks at the end.
    fn unlocked(&self) -> Vec<u32> {
        let sets = if self.local { self.setting.grid.cus() } else { 1 };
        let times = self.users() * self.iterations;
        let lock = match self.kind {
            Kind::Spin(_) => vec![0],
            Kind::Ticket => vec![times as u32; 2],
            Kind::Ring => {
                let tail = times % self.users();
                let place = |i| if i == tail { 1 } else { ASLEEP };
                [tail as u32].into_iter().chain((0..self.users()).map(place)).collect()
            }
        };
        self.setting.spread(&lock.repeat(sets as usize))
    }
}

impl Kernels for Mutex {
    fn base(&self) -> &Base {
        &self.setting.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        (index == 0).then(|| self.setting.launch(REGISTERS))
    }

    fn round(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        match r[R_STATE] {
            WORK => {
                let last = self.region.round(&self.setting, t, self.set(t), r[R_STEP], io);
                r[R_STEP] += 1;
                if !last {
                    return Flow::Next;
                }
                (r[R_STATE], r[R_STEP]) = (LEAVE, 0);
                Flow::Barrier
            }
            LEAVE => {
                if t.local == 0 {
                    self.unlock(t, r, io);
                }
                (r[R_STATE], r[R_DONE]) = (ENTER, r[R_DONE] + 1);
                if r[R_DONE] == self.iterations { Flow::End } else { Flow::Next }
            }
            _ => {
                if t.local == 0 && !self.lock(t, r, io) {
                    return Flow::Next;
                }
                r[R_STATE] = WORK;
                Flow::Barrier
            }
        }
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        self.setting.base.check(self.locks, &self.unlocked(), memory)?;
        self.region.verify(&self.setting, self.users() * self.iterations, memory)
    }
}

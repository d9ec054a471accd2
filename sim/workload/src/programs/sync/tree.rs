//! Two-level tree barriers: the work-groups of a CU meet, one of them meets those of the other CUs, and they meet again.
//!
//! ```text
//! meet(c1, c2, n):  for c in c1, c2:  INC.P(rel)(c);  until CAS.P(acq)(c, n -> 0) == 0
//! barrier:          meet(own CU's, work-groups of a CU);  first work-group: meet(global, CUs);  meet(own CU's, ...)
//! ```
//! Nobody arrives at a counter again before all have seen it at zero, for in between they meet at the other one.
//!
//! Between barriers a work-group works on lines that are its own for so long; then it takes those with the next number,
//! so that each work-group reads what one of another CU has written. In `tbex-lg` it first takes lines that a work-group
//! of its own CU has written, after a meeting of the CU.

use super::super::machine::Spot;
use super::super::params::{ParamSpec, Params};
use super::super::round::{Atomic, Order, Round};
use super::super::simt::{Base, Flow, Kernels, Launch, Memory, Simt, Thread};
use super::super::{WorkloadError, WorkloadInfo};
use super::backoff::{self, Backoff};
use super::region::{Region, S_FREE};
use super::setting::{ACCESSES, ITERATIONS, Setting, with_common};
use crate::op::{AmoKind, Scope, Sem};
use crate::program::VerifyError;

const PARAMS: &[ParamSpec] =
    &with_common::<13>(&[ITERATIONS, ACCESSES, backoff::BACKOFF, backoff::STEP, backoff::failures("15")]);

/// Exchange between CUs.
pub const TB_LG: WorkloadInfo = WorkloadInfo {
    name: "tb-lg",
    about: "Work-groups work on lines of their own and hand them on at a two-level tree barrier (SyncPrims TB_LG).",
    params: PARAMS,
    published: &[("iterations", "100"), ("cus", "15")],
    takes_graph: false,
    make: |params, _| Simt::from_params(TreeBarrier::new, params),
};

/// Exchange inside each CU, too.
pub const TBEX_LG: WorkloadInfo = WorkloadInfo {
    name: "tbex-lg",
    about: "The same as tb-lg, with an exchange inside each CU before each exchange between CUs (SyncPrims TBEX_LG).",
    ..TB_LG
};

/// Registers of [`Tree::round`]: counters behind it, where it is at the next one, failures. Zero before each barrier.
pub const TREE_REGISTERS: usize = 3;
const R_COUNTER: usize = 0;
const R_STATE: usize = 1;
const R_FAILED: usize = 2;

/// States: not yet arrived, arrived, has looked.
const ARRIVE: u64 = 0;
const ARRIVED: u64 = 1;
const LOOKED: u64 = 2;

/// Slot of [`Tree::round`].
const S_MET: u64 = S_FREE;

/// Counters of a tree.
#[derive(Clone, Debug)]
pub struct Tree {
    counters: usize,
    backoff: Backoff,
}

/// How much of the tree is climbed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Height {
    /// The work-groups of a CU meet.
    Local,
    /// All do.
    Whole,
}

/// Counters of a meeting, and those of a whole barrier: own CU's, all CUs', own CU's.
const PAIR: u64 = 2;
const ALL: u64 = 3 * PAIR;

impl Tree {
    /// Adds the counters.
    pub fn new(setting: &mut Setting, params: &Params) -> Self {
        let counters = setting.apart("barriers", PAIR * (setting.grid.cus() + 1));
        Self { counters, backoff: Backoff::new(params) }
    }

    /// A round of a leader at the barrier; whether all have met.
    pub fn round(
        &self,
        setting: &Setting,
        t: &Thread,
        height: Height,
        r: &mut [u64],
        io: &mut Round,
    ) -> bool {
        let spot = setting.spot(t);
        match r[R_STATE] {
            LOOKED if t.index(S_MET) == 0 => {
                (r[R_COUNTER], r[R_STATE], r[R_FAILED]) = (r[R_COUNTER] + 1, ARRIVE, 0);
                if r[R_COUNTER] == PAIR && spot.turn != 0 {
                    r[R_COUNTER] += PAIR;
                }
                let last = if height == Height::Local { PAIR } else { ALL };
                if r[R_COUNTER] >= last {
                    r.fill(0);
                    return true;
                }
            }
            LOOKED => {
                if r[R_COUNTER] / PAIR == 1 {
                    io.pause(self.backoff.ticks(r[R_FAILED]));
                }
                r[R_FAILED] += 1;
            }
            _ => {}
        }
        self.access(setting, spot, r, io);
        false
    }

    /// Arrives at a counter, or looks whether all have.
    fn access(&self, setting: &Setting, spot: Spot, r: &mut [u64], io: &mut Round) {
        let grid = setting.grid;
        let (set, users, scope) = match r[R_COUNTER] / PAIR {
            1 => (grid.cus(), grid.cus(), grid.all),
            _ => (spot.cu, grid.per_cu, Scope::Cu),
        };
        let counter = setting.word(self.counters, PAIR * set + r[R_COUNTER] % PAIR);
        if r[R_STATE] == ARRIVE {
            let arrive = Order::paired(Sem::Release, scope);
            io.atomic(S_MET, Atomic::Amo(AmoKind::Inc, 0), 4, arrive, counter, u64::from(u32::MAX));
            r[R_STATE] = ARRIVED;
        } else {
            let look = Order::paired(Sem::Acquire, scope);
            io.atomic(S_MET, Atomic::Amo(AmoKind::Cas, users), 4, look, counter, 0);
            r[R_STATE] = LOOKED;
        }
    }

    /// All counters are as at first.
    pub fn verify(&self, setting: &Setting, memory: &Memory) -> Result<(), VerifyError> {
        let zeros = vec![0u32; (PAIR * (setting.grid.cus() + 1)) as usize];
        setting.base.check(self.counters, &setting.spread(&zeros), memory)
    }
}

/// Registers of a thread: those of the tree, where it is, iterations done, rounds at work, the number of its lines.
const R_AT: usize = TREE_REGISTERS;
const R_DONE: usize = R_AT + 1;
const R_STEP: usize = R_AT + 2;
const R_NUMBER: usize = R_AT + 3;
const REGISTERS: usize = R_AT + 4;

/// States: before its first lines, at work, at the meeting of the CU, at work again, and then at the barrier.
const BEGIN: u64 = 0;
const WORK: u64 = 1;
const MEET: u64 = 2;
const WORK_AGAIN: u64 = 3;

/// Work between tree barriers.
#[derive(Clone, Debug)]
pub struct TreeBarrier {
    setting: Setting,
    tree: Tree,
    region: Region,
    iterations: u64,
    exchange: bool,
}

impl TreeBarrier {
    /// Builds the program that the parameters belong to.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let mut setting = Setting::new(params)?;
        let tree = Tree::new(&mut setting, params);
        let sets = setting.grid.blocks();
        let region = Region::new(&mut setting, params, sets);
        let (iterations, exchange) = (params.integer("iterations"), params.workload() == TBEX_LG.name);
        Ok(Self { setting, tree, region, iterations, exchange })
    }

    /// Goes on with the lines whose number is so much greater.
    fn hand_on(&self, r: &mut [u64], by: u64) {
        r[R_NUMBER] = (r[R_NUMBER] + by) % self.setting.grid.blocks();
    }
}

impl Kernels for TreeBarrier {
    fn base(&self) -> &Base {
        &self.setting.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        (index == 0).then(|| self.setting.launch(REGISTERS))
    }

    fn round(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        let setting = &self.setting;
        match r[R_AT] {
            BEGIN | WORK | WORK_AGAIN => {
                if r[R_AT] == BEGIN {
                    let number = setting.grid.number(setting.spot(t));
                    (r[R_AT], r[R_NUMBER]) = (if self.exchange { WORK } else { WORK_AGAIN }, number);
                }
                let last = self.region.round(setting, t, r[R_NUMBER], r[R_STEP], io);
                r[R_STEP] += 1;
                if !last {
                    return Flow::Next;
                }
                (r[R_AT], r[R_STEP]) = (r[R_AT] + 1, 0);
                Flow::Barrier
            }
            at => {
                let height = if at == MEET { Height::Local } else { Height::Whole };
                if t.local == 0 && !self.tree.round(setting, t, height, &mut r[..TREE_REGISTERS], io) {
                    return Flow::Next;
                }
                if at == MEET {
                    r[R_AT] = WORK_AGAIN;
                    self.hand_on(r, setting.grid.cus());
                    return Flow::Barrier;
                }
                r[R_DONE] += 1;
                if r[R_DONE] == self.iterations {
                    return Flow::End;
                }
                r[R_AT] = if self.exchange { WORK } else { WORK_AGAIN };
                self.hand_on(r, 1);
                Flow::Barrier
            }
        }
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let times = self.iterations * if self.exchange { 2 } else { 1 };
        self.tree.verify(&self.setting, memory)?;
        self.region.verify(&self.setting, times, memory)
    }
}

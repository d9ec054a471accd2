//! Flags: workers look at a stop flag until the last work-group sets it, and some set a dirty flag meanwhile.
//!
//! ```text
//! workers:  first time: ADD.N dirty, 1 (a share of the threads);  until LD.N stop != 0: work
//! main:     works a while;  ST.N stop = 1
//! all:      tree barrier
//! main:     if LD.N dirty != 0: clean up;  ST.N stop = 0;  ST.N dirty = 0
//! all:      tree barrier, and so on
//! ```
//! The flags order nothing: what matters is looked at after the barrier. The dirty flag counts, so that the host knows
//! what main must find; each thread that writes it does so once a repeat, whatever it sees of the stop flag.

use super::super::params::{Legal, ParamSpec, Params, size};
use super::super::round::{Atomic, Round};
use super::super::simt::{Base, Flow, Kernels, Launch, Memory, Simt, Thread};
use super::super::sync::{Height, Setting, TREE_REGISTERS, Tree, backoff, with_common};
use super::super::{WorkloadError, WorkloadInfo};
use super::relaxed;
use crate::data;
use crate::op::{AmoKind, Class};
use crate::program::VerifyError;

const SHARE: ParamSpec = ParamSpec {
    name: "share",
    default: "0.33",
    legal: Legal::Real { min: 0.0, max: 1.0 },
    unit: "",
    about: "Share of the workers' threads that set the dirty flag in a repeat.",
};

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "flags",
    about: "Workers poll a stop flag and set a dirty flag, both non-ordering; the last work-group stops them and looks after a tree barrier (relaxed-atomics study, Flags).",
    params: &with_common::<15>(&[
        size("repeats", "4", 1 << 16, "repeats", "Repeats."),
        SHARE,
        size("work", "32", 1 << 16, "ticks", "Work of a worker between two looks at the stop flag."),
        size(
            "main_work",
            "1000",
            1 << 20,
            "ticks",
            "Work of the last work-group before it sets the stop flag.",
        ),
        backoff::BACKOFF,
        backoff::STEP,
        backoff::failures("15"),
    ]),
    published: &[("cus", "15"), ("per_cu", "6")],
    takes_graph: false,
    make: |params, _| Simt::from_params(Flags::new, params),
};

const STOP: u64 = 0;
const DIRTY: u64 = 1;

/// Slots from those of the tree on.
const S_STOP: u64 = 16;
const S_DIRTY: u64 = 17;
const S_SEEN: u64 = 18;
const S_CLEAN: u64 = 19;
const S_CLEAN2: u64 = 20;

const R_STATE: usize = TREE_REGISTERS;
const R_REPEAT: usize = TREE_REGISTERS + 1;
const REGISTERS: usize = TREE_REGISTERS + 2;

/// States: at the begin of a repeat, looking, at the barrier, main looks, it has looked, at the barrier again.
const BEGIN: u64 = 0;
const LOOK: u64 = 1;
const JOIN: u64 = 2;
const CHECK: u64 = 3;
const CHECKED: u64 = 4;
const REST: u64 = 5;

/// Flags, and a barrier.
#[derive(Clone, Debug)]
pub struct Flags {
    setting: Setting,
    tree: Tree,
    repeats: u64,
    share: f64,
    work: u64,
    main_work: u64,
    seed: u64,
    flags: usize,
    /// What main has found in the dirty flag.
    found: usize,
}

impl Flags {
    /// Builds the program.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let mut setting = Setting::new(params)?;
        let tree = Tree::new(&mut setting, params);
        let [repeats, work, main_work, seed] =
            ["repeats", "work", "main_work", "seed"].map(|key| params.integer(key));
        let flags = setting.apart("flags", 2);
        let found = setting.base.zeros("found", repeats);
        let share = params.real("share");
        Ok(Self { setting, tree, repeats, share, work, main_work, seed, flags, found })
    }

    fn main(&self, block: u64) -> bool {
        block + 1 == self.setting.grid.blocks()
    }

    /// Whether a thread sets the dirty flag in a repeat.
    fn dirties(&self, id: u64, repeat: u64) -> bool {
        let lucky = (data::mix(self.seed, repeat, id) >> 11) as f64 / (1u64 << 53) as f64;
        !self.main(id / self.setting.group) && lucky < self.share
    }

    fn flag(&self, i: u64) -> u64 {
        self.setting.word(self.flags, i)
    }

    fn set(&self, slot: u64, flag: u64, value: u64, io: &mut Round) {
        io.atomic(slot, Atomic::Store, 4, relaxed(Class::N), self.flag(flag), value);
    }

    fn look(&self, slot: u64, flag: u64, io: &mut Round) {
        io.atomic(slot, Atomic::Load, 4, relaxed(Class::N), self.flag(flag), 0);
    }

    fn begin(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        if self.main(t.block) {
            io.pause(self.main_work);
            if t.local == 0 {
                self.set(S_STOP, STOP, 1, io);
            }
            r[R_STATE] = JOIN;
            return Flow::Barrier;
        }
        if self.dirties(t.id, r[R_REPEAT]) {
            // The work-group's barrier is before the slot's next use.
            io.post(S_DIRTY, AmoKind::Add, relaxed(Class::N), self.flag(DIRTY), 1);
        }
        self.look(S_STOP, STOP, io);
        r[R_STATE] = LOOK;
        Flow::Next
    }

    /// A round at one of the barriers; `after` is the state behind it.
    fn meet(&self, t: &Thread, after: u64, r: &mut [u64], io: &mut Round) -> Flow {
        let tree = &mut r[..TREE_REGISTERS];
        if t.local == 0 && !self.tree.round(&self.setting, t, Height::Whole, tree, io) {
            return Flow::Next;
        }
        r[R_STATE] = after;
        if after == BEGIN {
            r[R_REPEAT] += 1;
            if r[R_REPEAT] == self.repeats {
                return Flow::End;
            }
        }
        Flow::Barrier
    }
}

impl Kernels for Flags {
    fn base(&self) -> &Base {
        &self.setting.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        (index == 0).then(|| self.setting.launch(REGISTERS))
    }

    fn round(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        match r[R_STATE] {
            BEGIN => return self.begin(t, r, io),
            LOOK if t.index(S_STOP) != 0 => {
                r[R_STATE] = JOIN;
                return Flow::Barrier;
            }
            LOOK => {
                io.pause(self.work);
                self.look(S_STOP, STOP, io);
            }
            JOIN => return self.meet(t, CHECK, r, io),
            CHECK if self.main(t.block) && t.local == 0 => {
                self.look(S_DIRTY, DIRTY, io);
                r[R_STATE] = CHECKED;
            }
            CHECKED => {
                let found = self.setting.base.at(self.found, r[R_REPEAT]);
                io.store(S_SEEN, found, t.index(S_DIRTY));
                self.set(S_CLEAN, STOP, 0, io);
                self.set(S_CLEAN2, DIRTY, 0, io);
                r[R_STATE] = REST;
            }
            CHECK => r[R_STATE] = REST,
            _ => return self.meet(t, BEGIN, r, io),
        }
        Flow::Next
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let (setting, threads) = (&self.setting, self.setting.grid.blocks() * self.setting.group);
        let found = |repeat| (0..threads).filter(|id| self.dirties(*id, repeat)).count() as u32;
        let found: Vec<u32> = (0..self.repeats).map(found).collect();
        self.tree.verify(setting, memory)?;
        setting.base.check(self.found, &found, memory)?;
        setting.base.check(self.flags, &setting.spread(&[0, 0]), memory)
    }
}

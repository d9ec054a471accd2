//! A lock with one owner and rare others: asymmetric sharing at its smallest (srsp.md sections 8 and 11).

use super::super::common::LANES;
use super::super::machine::GPUS;
use super::super::params::{Legal, ParamSpec, Params, size};
use super::super::round::{Atomic, Round};
use super::super::simt::{Base, Flow, Kernels, Launch, Memory, Simt, Thread};
use super::super::{WorkloadError, WorkloadInfo};
use super::sync::{SYNC, Sync};
use crate::op::{AmoKind, Sem};
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "lock",
    about: "A lock that one work-group takes often and others rarely; who holds it counts in every line it protects.",
    params: &[
        SYNC,
        size("owner", "64", 1 << 20, "times", "Times that the owner takes the lock."),
        size("remote", "4", 1 << 20, "times", "Times that each other work-group takes it."),
        ParamSpec {
            name: "others",
            default: "3",
            legal: Legal::Integer { min: 0, max: 1024 },
            unit: "work-groups",
            about: "Work-groups beside the owner.",
        },
        size("lines", "4", 64, "lines", "Lines that the lock protects."),
        ParamSpec {
            name: "spin",
            default: "cas",
            legal: Legal::Choice(&["cas", "exch"]),
            unit: "",
            about: "The lock is taken by compare-and-swap, or by an exchange, which writes also when it fails.",
        },
        GPUS,
        LANES,
    ],
    published: &[("others", "63")],
    takes_graph: false,
    make: |params, _| Simt::from_params(Lock::new, params),
};

/// 4-byte words of a line of 128 bytes.
const LINE: u64 = 32;
const S_LOCK: u64 = 0;
const S_LINE: u64 = 1;
const R_STATE: usize = 0;
const R_TIMES: usize = 1;

/// States of a work-group's first thread.
const TRY: u64 = 0;
const TRIED: u64 = 1;
const LOADED: u64 = 2;

/// The lock and what it protects.
#[derive(Clone, Debug)]
pub struct Lock {
    base: Base,
    sync: Sync,
    owner: u64,
    remote: u64,
    others: u64,
    lines: u64,
    exchange: bool,
    lock: usize,
    data: usize,
}

impl Lock {
    /// Builds the program.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let mut base = Base::new(INFO.name, params);
        let lines = params.integer("lines");
        let lock = base.zeros("lock", LINE);
        let data = base.zeros("data", lines * LINE);
        Ok(Self {
            base,
            sync: Sync::new(params),
            owner: params.integer("owner"),
            remote: params.integer("remote"),
            others: params.integer("others"),
            lines,
            exchange: params.text("spin") == "exch",
            lock,
            data,
        })
    }

    fn order(&self, t: &Thread, sem: Sem) -> super::super::round::Order {
        if t.block == 0 { self.sync.owner(sem) } else { self.sync.other(sem) }
    }

    fn attempt(&self, t: &Thread, io: &mut Round) {
        let (kind, sem) = match self.exchange {
            true => (Atomic::Amo(AmoKind::Exch, 0), Sem::Acquire),
            false => (Atomic::Amo(AmoKind::Cas, 0), Sem::Acquire),
        };
        io.atomic(S_LOCK, kind, 4, self.order(t, sem), self.base.at(self.lock, 0), 1);
    }
}

impl Kernels for Lock {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        let lanes = self.base.lanes();
        let threads = (1 + self.others) * u64::from(lanes);
        (index == 0).then(|| Launch::new("lock", 0, threads, lanes).registers(2))
    }

    fn round(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        if t.local != 0 {
            return Flow::End;
        }
        let line = |i| self.base.at(self.data, i * LINE);
        match r[R_STATE] {
            TRIED if t.bits(S_LOCK) == 0 => {
                (0..self.lines).for_each(|i| io.load(S_LINE + i, line(i)));
                r[R_STATE] = LOADED;
                return Flow::Next;
            }
            LOADED => {
                (0..self.lines)
                    .for_each(|i| io.store(S_LINE + self.lines + i, line(i), t.bits(S_LINE + i) + 1));
                let release = self.order(t, Sem::Release);
                io.atomic(S_LOCK, Atomic::Store, 4, release, self.base.at(self.lock, 0), 0);
                r[R_TIMES] += 1;
                if r[R_TIMES] == if t.block == 0 { self.owner } else { self.remote } {
                    return Flow::End;
                }
                r[R_STATE] = TRY;
                // Others do something else for a while.
                io.pause(if t.block == 0 { 1 } else { 64 });
                return Flow::Next;
            }
            TRIED => io.fail(),
            _ => {}
        }
        self.attempt(t, io);
        r[R_STATE] = TRIED;
        Flow::Next
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let mut expected = vec![0u32; (self.lines * LINE) as usize];
        let times = self.owner + self.others * self.remote;
        (0..self.lines).for_each(|i| expected[(i * LINE) as usize] = times as u32);
        self.base.check(self.data, &expected, memory)?;
        self.base.check(self.lock, &[0u32; LINE as usize], memory)
    }
}

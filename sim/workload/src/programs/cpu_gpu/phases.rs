//! Programs in phases: what each thread does in one round of a phase, and the barrier of all cores between two phases.
//!
//! ```text
//! barrier g (g = 1, 2...), n cores:  work-group barrier; the first thread of each work-group, and each CPU thread:
//!     old = ADD.P count, 1
//!     if old == n * g - 1:  ST.P go = g      else:  until LD.P go >= g
//! work-group barrier
//! ```
//! `count` and `go` only grow, so that no thread can miss a barrier.

use super::super::round::Round;
use super::super::simt::{Flow, Kernels, Launch, Memory, Simt, Thread};
use super::team::{Team, paired_amo, paired_load, paired_store};
use crate::op::AmoKind;
use crate::program::{Program, VerifyError};

/// What a thread does after a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Goes on when its loads are answered.
    Next,
    /// Goes on when all threads of its work-group are here.
    Meet,
    /// Goes on with the next phase when all threads of all cores are here.
    Phase,
    /// Has finished.
    End,
}

/// Where a thread is.
#[derive(Clone, Copy, Debug)]
pub struct At {
    /// Phases before this one.
    pub phase: u64,
    /// Rounds of this phase before this one.
    pub step: u64,
}

/// A program in phases; with one phase, a program without barriers.
pub trait Phases: Send + Sync {
    /// Its arrays and threads.
    fn team(&self) -> &Team;

    /// Words of the barrier: two lines from [`barrier`], or none.
    fn barrier(&self) -> Option<usize>;

    /// Registers of a thread.
    fn registers(&self) -> u64;

    /// Scratchpad bytes of a work-group.
    fn lds(&self) -> u64 {
        0
    }

    /// One round of a thread.
    fn round(&self, t: &Thread, at: At, r: &mut [u64], io: &mut Round) -> Step;

    /// As [`Program::verify`].
    fn verify(&self, memory: &Memory) -> Result<(), VerifyError>;
}

/// 4-byte words from one synchronisation word to the next, so that each has a line of its own.
pub const APART: u64 = 32;

/// Adds the words of the barrier.
pub fn barrier(team: &mut Team) -> Option<usize> {
    Some(team.base.zeros("barrier", 2 * APART))
}

/// [`Phases`] as [`Kernels`].
#[derive(Clone, Debug)]
pub struct InPhases<P>(pub P);

impl<P: Phases + 'static> InPhases<P> {
    /// What a registry entry's constructor returns.
    pub fn boxed(program: P) -> Box<dyn Program> {
        Simt::boxed(Self(program))
    }
}

const R_STATE: usize = 0;
const R_PHASE: usize = 1;
const R_STEP: usize = 2;
const REGISTERS: usize = 3;

/// States: at work; at the barrier, arrived there, waiting for the others, and from there rounds of a pause between two
/// looks, so that a thread that waits goes through as many rounds as one that works.
const WORK: u64 = 0;
const ARRIVE: u64 = 1;
const ARRIVED: u64 = 2;
const WAIT: u64 = 3;
const PAUSES: u64 = 8;
const LOOK: u64 = WAIT + 1 + PAUSES;

/// Ticks of one of them.
const PAUSE: u64 = 4;

/// Slots; programs have those below.
const S_COUNT: u64 = 252;
const S_GO: u64 = 253;

impl<P: Phases> InPhases<P> {
    fn wait(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        let team = self.0.team();
        let at = |i| self.0.barrier().map_or(0, |words| team.base.at(words, i * APART));
        let number = r[R_PHASE] + 1;
        match r[R_STATE] {
            ARRIVE if t.local == 0 => {
                paired_amo(io, S_COUNT, AmoKind::Add, at(0), 1);
                r[R_STATE] = ARRIVED;
                return Flow::Next;
            }
            ARRIVE => {}
            ARRIVED if t.bits(S_COUNT) == team.cores() * number - 1 => {
                paired_store(io, S_GO, at(1), number);
            }
            WAIT if t.bits(S_GO) >= number => {}
            ARRIVED | LOOK => {
                paired_load(io, S_GO, at(1));
                r[R_STATE] = WAIT;
                return Flow::Next;
            }
            _ => {
                io.pause(PAUSE);
                r[R_STATE] += 1;
                return Flow::Next;
            }
        }
        (r[R_STATE], r[R_PHASE], r[R_STEP]) = (WORK, number, 0);
        Flow::Barrier
    }
}

impl<P: Phases> Kernels for InPhases<P> {
    fn base(&self) -> &super::super::simt::Base {
        &self.0.team().base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        let team = self.0.team();
        let launch = || team.launch(team.base.name()).registers(REGISTERS as u64 + self.0.registers());
        (index == 0).then(|| launch().lds(self.0.lds()))
    }

    fn round(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        if r[R_STATE] != WORK {
            return self.wait(t, r, io);
        }
        let at = At { phase: r[R_PHASE], step: r[R_STEP] };
        r[R_STEP] += 1;
        match self.0.round(t, at, &mut r[REGISTERS..], io) {
            Step::Next => Flow::Next,
            Step::Meet => Flow::Barrier,
            Step::End => Flow::End,
            Step::Phase => {
                r[R_STATE] = ARRIVE;
                Flow::Barrier
            }
        }
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        self.0.verify(memory)
    }
}

//! Every interleaving of a tiny MGPU-TSM system, on its RTL (mgcc.md sections 3 and 8): L1s, banks, lanes with their TSUs, relays and the epoch controller, joined by links that
//! take any time, behind CUs that issue anything out of a small alphabet.
//!
//! - [`build`] makes the net of a [`Config`]: every block is the compiled RTL in its smallest size (L1 of 4 lines, bank of 2, TSU of one entry, stamps of 6 bits, leases of 16).
//!   Request links keep their order and hold one message; answers may pass each other.
//! - [`world`] is what is not RTL: CUs, DRAM, and the log of what bound when. Whenever everything issued is answered, the log goes to the checker of logical time
//!   ([`crate::checker::LogicalTime`]). At every step the assertions of the RTL are watched, and clocks and epochs, which must not go back; a state in which nothing can
//!   happen, or (`live`) from which not everything can be answered any more, must be a finished one.
//! - [`rules`] says which bits mean nothing. Each step of a block is also made with noise in them.
//! - [`gtsc`]: the same of a GPU with G-TSC. [`ops`]: what CUs may do.
//! - [`report`]: numbers, what was reached, and why not; the shortest way to a violation. [`random`]: small random programs on larger systems.
//!
//! | system, operations per CU, from | states | transitions | reached, among others |
//! | --- | --- | --- | --- |
//! | 1 GPU, 2 CUs: 3 + 1, reset | 198 533 | 246 642 | TSU eviction, floor, expired loads |
//! | 1 + 1, floors at 62 | 97 595 | 155 644 | overflow, roll, sweep with a transaction open, older tags |
//! | 2 + 1, floors at 62 | 4 435 525 | 7 483 824 | and rolls by request and by answer, answers of an older epoch |
//! | 3 + 2, reset | 2 854 399 | 3 792 612 | eviction, floor, overflow and roll in one run |
//! | 3 + 3, one line, reset | 2 821 666 | 4 671 524 | overflow, roll, repeated TSU operations |
//! | 2 GPUs of 1 CU: 1 + 1, floors at 62 | 499 083 | 778 752 | both GPUs roll |
//! | 2 + 1, reset, blocks clocked at any moment | 79 691 | 153 002 | |
//!
//! Alphabet LD, ST of one word, of X and Y (X alone in the line that says so), SC; also explored: RC with LD_SYNC and fences, atomics and full lines, three lines with EvictNotes.
//!
//! What is taken for granted: leaves of a message that its kind does not use are zero on a link (the blocks' own benches send noise there); values of stores are not renamed; DRAM
//! performs a request when the lane sends it and answers whenever it likes.

mod build;
pub mod gtsc;
pub mod ops;
pub mod random;
mod reasons;
pub mod report;
pub mod rules;
pub mod world;

pub use build::{BuildError, System, build};
pub use ops::{Asks, MOST_OPERATIONS, Op};
pub use world::{Cus, Memory, Protocol};

use crate::checker::Promise;
use weft_explore::net::Timing;
use weft_mgcc::choice::{Consistency, Inject};

/// A tiny system and what its CUs may do.
#[derive(Clone, Debug)]
pub struct Config {
    /// GPUs: 1 or 2.
    pub gpus: u32,
    /// CUs, and so L1s, per GPU.
    pub cus: u32,
    /// Banks per GPU, and UMCs of one lane each.
    pub banks: u32,
    /// Line numbers used; the lowest bits choose the bank.
    pub lines: Vec<u64>,
    /// SC or RC.
    pub consistency: Consistency,
    /// What a CU may issue.
    pub alphabet: Vec<Op>,
    /// Operations of each CU; the last number stands for all further CUs.
    pub budgets: Vec<usize>,
    /// Fixed programs, one per CU, instead of the alphabet.
    pub programs: Vec<Vec<Op>>,
    /// RC: operations of a CU that may be open together.
    pub open: usize,
    /// TS, 6..32.
    pub ts: u32,
    /// RdLease, WrLease.
    pub leases: (u64, u64),
    /// At the beginning every lease up to this time may have been given: the TSU's floors.
    pub start: u64,
    /// SELF_INC.
    pub self_inc: u32,
    /// MSHRs and pool of an L1, of a bank.
    pub l1_mshrs: (u32, u32),
    /// MSHRs and pool of a bank.
    pub l2_mshrs: (u32, u32),
    /// Sets and ways of a TSU.
    pub tsu: (u32, u32),
    /// Messages that a request link holds.
    pub link: usize,
    /// EvictNotes.
    pub notes: bool,
    /// When a block may be clocked.
    pub timing: Timing,
    /// A fault.
    pub inject: Inject,
}

impl Config {
    /// L1s of all GPUs.
    pub fn cus_in_all(&self) -> usize {
        (self.gpus * self.cus) as usize
    }
    /// What the CUs may do.
    fn asks(&self) -> Asks {
        let sc = self.consistency == Consistency::Sc;
        Asks {
            cus: self.cus_in_all(),
            waves: 1,
            lines: self.lines.clone(),
            alphabets: vec![self.alphabet.clone()],
            budgets: self.budgets.clone(),
            programs: self.programs.clone(),
            open: if sc { 1 } else { self.open },
            promise: if sc { Promise::Sc } else { Promise::Rc },
            ts: self.ts,
        }
    }
}

impl Default for Config {
    /// Two L1s of one GPU, two lines, a TSU of one entry, stamps of 6 bits and leases of 16.
    fn default() -> Config {
        Config {
            gpus: 1,
            cus: 2,
            banks: 1,
            lines: vec![0, 2],
            consistency: Consistency::Sc,
            alphabet: vec![Op::Load(0), Op::Store(0, 0), Op::Load(1), Op::Store(1, 0)],
            budgets: vec![2],
            programs: Vec::new(),
            open: 2,
            ts: 6,
            leases: (16, 16),
            start: 0,
            self_inc: 2,
            l1_mshrs: (1, 1),
            l2_mshrs: (2, 1),
            tsu: (1, 1),
            link: 1,
            notes: true,
            timing: Timing::Bursts,
            inject: Inject::None,
        }
    }
}

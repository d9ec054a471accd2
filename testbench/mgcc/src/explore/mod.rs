//! Every interleaving of a tiny MGPU-TSM system, on its RTL (mgcc.md sections 3 and 8): L1s, banks, lanes with their TSUs, relays and the epoch controller, joined by links that take
//! any time, behind CUs that issue anything out of a small alphabet.

mod build;
pub mod random;
pub mod report;
pub mod rules;
pub mod world;

pub use build::{BuildError, System, build};
pub use world::{Cus, Memory, Op};

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
    /// Operations of a CU.
    pub fn budget(&self, cu: usize) -> usize {
        match self.programs.get(cu) {
            Some(program) => program.len(),
            None => self.budgets.get(cu).or(self.budgets.last()).copied().unwrap_or(0),
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

//! Every interleaving of a tiny GPU with G-TSC, on its RTL (mgcc.md section 14): L1s, banks, relay and epoch controller.
//!
//! ```text
//!  World: waves of CU 0, CU 1          (what was asked, answered, and when it bound)
//!     |          |
//!  gtsc-l1    gtsc-l1     clocks, leases, locked blocks
//!     |  up, down |       up keeps its order; answers may pass each other
//!  gtsc-l2                leases given and renewed, mem_ts, dirty lines    <- relay <- epoch-ctl
//!     |
//!  World: memory          answers in any order
//! ```
//! - [`build()`] makes the net of a [`Config`]: every block in its smallest size (L1 of two sets of two ways, bank of two lines, stamps of 6 bits).
//! - The world is that of MGCC ([`super::world`]), with several waves to a CU; memory takes every request of a bank at once. With one open operation to a wave the log is judged as
//!   sequentially consistent: every answer raises warpts, so that T does not decrease along a wave. With two it is judged as release consistent (mgcc.md section 9).
//! - `start` is what mem_ts and the greatest lease given are at the beginning: a late one brings the overflow near.
//! - What is dead is guessed and tried ([`weft_explore::guess`]).
//!
//! | CUs, operations per wave, from | states | transitions | reached, among others |
//! | --- | --- | --- | --- |
//! | 2 CUs: 3 + 1, reset | 73 010 | 93 682 | expired loads, renewals, stores into old versions |
//! | 3 + 2, reset | 1 624 179 | 2 396 337 | overflow and roll, too |
//! | 1 + 1, leases up to 60 | 120 570 | 190 649 | roll by request, by answer, over dirty lines, with transactions open |
//! | 2 + 1, leases up to 62 | 1 158 086 | 1 951 036 | the same with more under way |
//! | 2 waves per CU, 1 each, reset | 1 893 107 | 2 754 114 | |
//!
//! Alphabet LD, ST of one word, of X and Y.
//!
//! Left out: kernels (KBEGIN, KEND), the bank's commands, and that memory holds a bank back.

mod build;

pub use build::{System, build};

use super::ops::{Asks, Op};
use crate::checker::Promise;
use weft_explore::net::Timing;
use weft_mgcc::choice::Inject;

/// A tiny GPU and what its CUs may do.
#[derive(Clone, Debug)]
pub struct Config {
    /// CUs, and so L1s.
    pub cus: u32,
    /// Waves of a CU, numbered one CU after the other.
    pub waves: usize,
    /// Banks: 1 or 2.
    pub banks: u32,
    /// Lines: dealt out to the banks, all in one set of the L1s.
    pub lines: usize,
    /// What a wave may issue; the last list stands for all further waves.
    pub alphabets: Vec<Vec<Op>>,
    /// A wave issues its list from its beginning, not anything of it.
    pub in_order: bool,
    /// Operations of each wave; the last number stands for all further waves.
    pub budgets: Vec<usize>,
    /// Operations of a wave that may be open together: 1, judged as SC, or 2, judged as RC.
    pub open: usize,
    /// TS, 6..16.
    pub ts: u32,
    /// The lease register, 1..2^(TS-2).
    pub lease: u64,
    /// At the beginning every lease up to this time may have been given.
    pub start: u64,
    /// SELF_INC: hits per step of an L1's clock.
    pub self_inc: u32,
    /// MSHRs and pool of an L1.
    pub l1_mshrs: (u32, u32),
    /// MSHRs and pool of a bank.
    pub l2_mshrs: (u32, u32),
    /// Messages that a request link holds.
    pub link: usize,
    /// When a block may be clocked.
    pub timing: Timing,
    /// A fault.
    pub inject: Inject,
}

impl Config {
    /// Number of a line.
    pub fn line(&self, line: usize) -> u64 {
        let banks = self.banks as usize;
        (2 * banks * (line / banks) + 2 * (line % banks)) as u64
    }

    /// What the CUs may do.
    fn asks(&self) -> Asks {
        let of = |wave: usize| {
            let list = self.alphabets.get(wave).or(self.alphabets.last()).map_or(&[][..], |list| list);
            let length = self.budgets.get(wave).or(self.budgets.last()).copied().unwrap_or(0);
            list[..length.min(list.len())].to_vec()
        };
        let waves = if self.in_order { self.cus as usize * self.waves } else { 0 };
        Asks {
            cus: self.cus as usize,
            waves: self.waves,
            lines: (0..self.lines).map(|line| self.line(line)).collect(),
            alphabets: self.alphabets.clone(),
            budgets: self.budgets.clone(),
            programs: (0..waves).map(of).collect(),
            open: self.open,
            promise: if self.open == 1 { Promise::Sc } else { Promise::Rc },
            ts: self.ts,
        }
    }
}

impl Default for Config {
    /// Two L1s, two lines, stamps of 6 bits and leases of 16.
    fn default() -> Config {
        Config {
            cus: 2,
            waves: 1,
            banks: 1,
            lines: 2,
            alphabets: vec![vec![Op::Load(0), Op::Store(0, 0), Op::Load(1), Op::Store(1, 0)]],
            in_order: false,
            budgets: vec![2],
            open: 1,
            ts: 6,
            lease: 16,
            start: 0,
            self_inc: 2,
            l1_mshrs: (1, 1),
            l2_mshrs: (2, 1),
            link: 1,
            timing: Timing::Bursts,
            inject: Inject::None,
        }
    }
}

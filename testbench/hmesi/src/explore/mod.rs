//! Every interleaving of a tiny hierarchical system, on its RTL (spandex.md section 9): an L3, CPU cores with
//! MESI L1s as its clients, and a GPU L2 as one more, over CUs with GPU or
//! DeNovo coherence.
//!
//! ```text
//!  World: core 0          World: CU 0      World: CU 1       (a log of what was asked and answered)
//!     |                      |                |
//!  mesi-l1 + client       L1 + unit        L1 + unit         one block each, as in the hardware
//!     |                      |  REQ_g, FWD_g, WB_g, RSP_g    links: any delay, any order
//!     |                   +--+----------------+--+
//!     |                   |       gpu-l2         |
//!     |                   +--+-------------------+
//!     |  REQ, FWD, WB, RSP   |                               the same
//!  +--+----------------------+--+
//!  |         mesi-llc           | ---- World: memory
//!  +----------------------------+
//! ```
//! - [`build()`] makes the net of a [`Config`]. **All of it is hardware** but cores, CUs and memory, in its
//!   smallest sizes: `mesi-llc` with one set of two ways, one TBE and one place in its stall memory; `gpu-l2`
//!   with one set of two ways and two TBEs, the fewest that are legal; L1s of two sets of two ways with one
//!   entry of everything; lines of two words. The networks keep no order, as the mesh promises none.
//! - [`world`] is cores, CUs and memory, those of the exploration of Spandex
//!   ([`weft_spandex_bench::explore::cores`]).
//! - Judged are values, by the rules of Spandex ([`weft_spandex_bench::explore::judge`]); at every step that a
//!   line is in E or M at one client at most, and then in the L3, and all assertions of the blocks; and
//!   whenever nothing moves and everything is answered, that directory, clients and CUs agree ([`System`]).
//!   A state in which nothing can happen must be a finished one.
//! - What of a block's state means nothing is guessed and tried ([`weft_explore::guess`]).
//! - [`faults`]: faults of the blocks, and a system that shows each. [`report`]: numbers, what was reached,
//!   the shortest way to a violation.
//!
//! What it does not show: several banks; posted and byte stores; kernels' ends; scopes; what Spandex's
//! exploration leaves out of L1s and units.

mod build;
mod device;
pub mod faults;
mod form;
mod held;
mod reasons;
pub mod report;
mod system;
mod text;
pub mod world;

pub use build::{BuildError, build};
pub use faults::Faults;
pub use system::System;
pub use weft_explore::guess::{learn_and_explore as explore, walks};
pub use weft_spandex_bench::explore::{Hint, Kind, Op};

use weft_spandex_bench::explore;

/// Most operations of a device.
pub const MOST_OPERATIONS: usize = 8;
/// Most devices.
pub const MOST_DEVICES: usize = 4;
/// Lines, which meet in one set of every cache: X, Y, Z.
pub const LINES: [u64; 3] = [0, 2, 4];
/// Kinds of devices by their words.
pub const DEVICES: [(Kind, &str); 3] = [(Kind::Mesi, "cpu"), (Kind::Gpu, "gpu"), (Kind::Denovo, "denovo")];

/// A tiny system and what its cores and CUs may do.
#[derive(Clone, Debug)]
pub struct Config {
    /// Cores, CUs and the GPU L2, as a system of Spandex whose bank is the L2; CPU cores ([`Kind::Mesi`])
    /// first, then at least one CU.
    pub cores: explore::Config,
    /// Sets and ways of the L3.
    pub l3: (u32, u32),
    /// TBEs and stalled requests of the L3.
    pub l3_tbes: (u32, u32),
    /// Faults of the L3, the L2 and the clients.
    pub faults: Faults,
}

impl Config {
    /// A system of these devices: loads, stores and atomics of one line, one operation of each device.
    pub fn of(devices: &[Kind]) -> Config {
        let own = |kind: &Kind| {
            explore::mixes::ops(match kind {
                Kind::Mesi => "LD X,ST X.0,AT X.0",
                _ => "LD X,ST X.0,SYNC X.0",
            })
        };
        let cores = explore::Config {
            cpus: devices.iter().filter(|kind| **kind == Kind::Mesi).count() as u32,
            alphabets: devices.iter().map(own).collect(),
            budgets: vec![1],
            lines: LINES.to_vec(),
            tbes: (2, 1),
            races: !devices.contains(&Kind::Denovo),
            ..explore::Config::of(devices)
        };
        Config { cores, l3: (1, 2), l3_tbes: (1, 1), faults: faults::NONE }
    }

    /// So many operations of a device may be open together; an L1 has as many MSHRs and entries of its store
    /// buffer. Then the programs have races, of which nothing is promised.
    pub fn overlap(&mut self, open: usize) {
        let cores = &mut self.cores;
        (cores.open, cores.targets) = (open, open as u32);
        (cores.l1.0, cores.l1.1) = (open as u32, open as u32);
        cores.races &= open == 1;
    }
}

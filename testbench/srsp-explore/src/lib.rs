//! Every interleaving of a tiny GPU of the sRSP family (srsp.md), on its RTL: two L1s and a bank of the L2,
//! joined by links that take any time, behind CUs that issue anything out of a small alphabet.
//!
//! ```text
//!  World: CU 0, CU 1                   (what was asked and answered)
//!     |         |
//!    L1        L1       LR-TBL, PA-TBL, sFIFO inside; probes and PACKs between them, the hub is a link
//!     |         |       req, wb, rsp; of hLRC and DeNovo-B also probe
//!    bank of the L2     locks or owners inside
//!     |
//!  World: memory
//! ```
//! - [`build()`] makes the net of a [`Config`]: whichever hardware a configuration of the fabric stands for
//!   ([`smallest`]), with up to four waves and two banks. Every link keeps its order, as those of the fabric
//!   do, and holds its sender back.
//! - [`world`] is what is not RTL: waves of the CUs, each with one access that synchronises at a time,
//!   memory, and the hub, which copies a probe onto the link of each L1 that it is for.
//! - [`judge`] is the rule that values must keep. [`System`] also looks into the caches when an access that
//!   synchronises is over: a load that comes next would find nothing old, whether in its L1 or in the L2;
//!   what a release covers is in the L2; what a remote release has replaced is in no other L1. Of hLRC and
//!   DeNovo-B a line has one owner at any time.
//! - What is dead is guessed and tried ([`weft_explore::guess`]).
//! - [`report`]: numbers, what was reached, the shortest way to a violation.
//!
//! What it does not show: the time that a bank keeps a line free for a read that has waited for a lock
//! ([`weft_srsp::l2::L2Params::grace`]) is over when the read's answer arrives, unless blocks may stop
//! anywhere; kernels' ends, fences without an access.

mod build;
mod form;
pub mod judge;
pub mod ops;
mod reasons;
pub mod report;
mod system;
mod text;
pub mod world;

pub use build::{BuildError, build};
pub use ops::{Memory, Op};
pub use system::System;
pub use weft_explore::guess::{learn_and_explore as explore, walks};
pub use world::Cus;

use weft_explore::net::Timing;
use weft_fabric::config::FabricConfig;
use weft_fabric::family::srsp::Gpu;
use weft_srsp::params::Impl;

/// A tiny GPU and what its CUs may do.
#[derive(Clone, Debug)]
pub struct Config {
    /// The hardware.
    pub gpu: Gpu,
    /// Lines, dealt out to the banks; those of a bank meet in one set. Each has a word of data and a
    /// synchronisation variable.
    pub lines: usize,
    /// Waves of each CU, numbered one CU after the other.
    pub waves: usize,
    /// What a wave may issue; the last list stands for all further waves.
    pub alphabets: Vec<Vec<Op>>,
    /// A wave issues its list from its beginning, not anything of it.
    pub in_order: bool,
    /// Operations of each wave; the last number stands for all further waves.
    pub budgets: Vec<usize>,
    /// Plain loads of a wave that may be open together.
    pub open: usize,
    /// Messages that a link holds before it holds its sender back.
    pub link: usize,
    /// When a block may be clocked.
    pub timing: Timing,
}

/// Most operations of a wave.
pub const MOST_OPERATIONS: usize = 8;
/// Most lines.
pub const MOST_LINES: u32 = 8;

impl Config {
    /// Hardware, a line, and an operation of each wave out of nothing.
    pub fn of(gpu: Gpu) -> Config {
        Config {
            gpu,
            lines: 1,
            waves: 1,
            alphabets: Vec::new(),
            in_order: false,
            budgets: vec![1],
            open: 1,
            link: 1,
            timing: Timing::Bursts,
        }
    }

    /// CUs.
    pub fn cus(&self) -> usize {
        self.gpu.srsp().cus as usize
    }

    /// The CU of a wave.
    pub fn cu_of(&self, wave: usize) -> usize {
        wave / self.waves
    }

    /// Operations of a wave.
    pub fn budget(&self, wave: usize) -> usize {
        self.budgets.get(wave).or(self.budgets.last()).copied().unwrap_or(0)
    }

    /// What a wave may issue.
    pub fn alphabet(&self, wave: usize) -> &[Op] {
        self.alphabets.get(wave).or(self.alphabets.last()).map_or(&[], |list| list)
    }

    /// L2 banks.
    pub fn banks(&self) -> usize {
        self.gpu.srsp().banks as usize
    }

    /// Number of a line: those of a bank lie in its set 0.
    pub fn line(&self, line: usize) -> u64 {
        (64 * line + line % self.banks()) as u64
    }

    /// The link from the memory of a bank; the world's links come first.
    fn memory_link(&self, bank: usize) -> usize {
        bank
    }

    /// The link from the hub to a CU.
    fn hub_link(&self, cu: usize) -> usize {
        self.banks() + cu
    }
}

/// The smallest legal sizes of everything; an L1 has two sets of two ways.
const SMALLEST: &str = r#"
about = "the smallest GPU: for explorations"
family = "srsp"
cus = 2
banks = 1
addr_bits = 32
l1_size = 256
l1_ways = 2
l1_latency = 2
l1_sfifo = 2
l1_mshrs = 1
l1_targets = 1
l1_wbt = 2
pa_entries = 1
aff_entries = 8
sync_queue = 1
l2_size = 1024
l2_ways = 2
l2_latency = 5
l2_sfifo = 2
l2_mshrs = 1
l2_targets = 1
l2_writes = 1
locks = 1
revokes = 1
crossbar_latency = 1
"#;

/// The fabric in its smallest sizes; protocol, fault and what else is set as in any configuration.
///
/// # Panics
/// When its text is no legal configuration, which is a mistake in Weft.
pub fn smallest() -> FabricConfig {
    FabricConfig::parse(SMALLEST, "smallest", "smallest.toml").expect("legal keys")
}

/// What waves usually issue, the first one and the others: acquires and releases of one variable that meet,
/// with remote operations where there are some.
pub fn usual(gpu: &Gpu) -> [&'static str; 2] {
    match gpu {
        Gpu::Scoped(p) if p.l1.system == Impl::Base => ["LD Y,ST Y,ld_acq_cmp X,st_rel_cmp X"; 2],
        _ => ["LD Y,ST Y,ld_acq_wg X,st_rel_wg X", "LD Y,ST Y,ld_rem_acq X,st_rem_rel X"],
    }
}

//! Every interleaving of a tiny system of the directory family, on its RTL: nodes (GPUs, or their GPMs) of one L1, one L2 bank with its directory slice, the ends of the INV network
//! and a fence unit each, joined by links that take any time, behind CUs that issue anything out of a small alphabet.
//!
//! ```text
//!  CU -> L1 -> bank <-> slice ==> egress --INV--> the other GPU's ingress <-> bank
//!               |  \                               REQ, RSP between banks, fence units, slices
//!             memory  fence unit                   ==> a wire: what the slice has given is in the egress
//! ```
//! - [`build`] makes the net of a [`Config`], whichever protocol: what blocks there are follows from the fabric's own parameters, what is joined from their channels. Between two
//!   nodes each network keeps its order and holds one message, as one link of the fabric does; the channels inside a node take any time. What GPMs send to another GPU shares a link in
//!   the fabric: here it may overtake each other, so that more orders are visited.
//! - [`world`] is what is not RTL: CUs, which order a release and an acquire as those of the fabrics do (L1, then fence unit; fence unit, then L1), and memory.
//! - [`judge`] is the rule that values must keep: that of the value checks of a run (`weft_fabric::check`), with the order of this run in place of cycles. [`System`] also looks into
//!   the L2s: when a fence is complete none has a copy that is older than what was released, and with owners no line has two at any time.
//! - What is dead is guessed and tried ([`weft_explore::guess`]), so that a protocol that is added needs no rules here.
//! - [`report`]: numbers, what was reached, the shortest way to a violation.

mod build;
mod form;
pub mod judge;
pub mod ops;
mod parts;
mod reasons;
pub mod report;
mod system;
mod text;
pub mod world;

pub use build::{BuildError, build};
pub use ops::{Memory, Op};
pub use system::System;
pub use world::Cus;

use weft_blocks::fabric::{FabricInject, FabricParams, Protocol};
use weft_blocks::msg::Sys;
pub use weft_explore::guess::{learn_and_explore as explore, walks};
use weft_explore::net::Timing;

/// A tiny system and what its CUs may do.
#[derive(Clone, Debug)]
pub struct Config {
    /// Protocol, one whose directory is RTL or that has none.
    pub protocol: Protocol,
    /// GPUs.
    pub gpus: u32,
    /// Nodes of a GPU, of one CU each: its GPMs.
    pub gpms: u32,
    /// Home of each line, a node; as many lines as homes.
    pub homes: Vec<u32>,
    /// What a CU may issue; the last list stands for all further CUs.
    pub alphabets: Vec<Vec<Op>>,
    /// Operations of each CU; the last number stands for all further CUs.
    pub budgets: Vec<usize>,
    /// Loads and atomics of a CU that may be open together.
    pub open: usize,
    /// Messages that a link holds before it holds its sender back.
    pub link: usize,
    /// Stores stay in the first L2 on their way that may hold them.
    pub write_back: bool,
    /// Slices are told of lines that leave.
    pub downgrade: bool,
    /// When a block may be clocked.
    pub timing: Timing,
    /// A fault.
    pub inject: FabricInject,
}

impl Default for Config {
    /// Two GPUs with NHCC, one line, homed in GPU 0.
    fn default() -> Config {
        Config {
            protocol: Protocol::NHCC,
            gpus: 2,
            gpms: 1,
            homes: vec![0],
            alphabets: vec![vec![
                Op::Load(0, 0),
                Op::Store(0),
                Op::Release(ops::SYSTEM),
                Op::Acquire(ops::SYSTEM),
            ]],
            budgets: vec![1],
            open: 1,
            link: 1,
            write_back: false,
            downgrade: false,
            timing: Timing::Bursts,
            inject: FabricInject::None,
        }
    }
}

/// Faults by their words.
pub const FAULTS: &[(FabricInject, &str)] = &[
    (FabricInject::None, "none"),
    (FabricInject::L1EarlyRelease, "l1-early-release"),
    (FabricInject::L1KeepsCopies, "l1-keeps-copies"),
    (FabricInject::FenceEarlyDone, "fence-early-done"),
];

/// Bit of an address above which the home's number stands.
const HOME_SHIFT: u32 = 28;

impl Config {
    /// Nodes of all GPUs.
    pub fn nodes(&self) -> u32 {
        self.gpus * self.gpms
    }

    /// Operations of a CU.
    pub fn budget(&self, cu: usize) -> usize {
        self.budgets.get(cu).or(self.budgets.last()).copied().unwrap_or(0)
    }

    /// What a CU may issue.
    pub fn alphabet(&self, cu: usize) -> &[Op] {
        self.alphabets.get(cu).or(self.alphabets.last()).map_or(&[], |list| list)
    }

    /// Number of a line: those of a home are far enough apart to be of different groups and ranges, and meet in one set.
    pub fn line(&self, line: usize) -> u64 {
        let home = self.homes[line];
        let earlier = self.homes[..line].iter().filter(|other| **other == home).count() as u64;
        (u64::from(home) << (HOME_SHIFT - 6)) | (64 * earlier)
    }

    /// The fabric in its smallest size: banks of two sets of two ways, slices of one entry, L1s of two sets of two ways.
    pub fn fabric(&self) -> FabricParams {
        let published = FabricParams::published(self.protocol);
        let sys = Sys {
            gpus: self.gpus,
            gpms: self.gpms,
            addr_bits: 32,
            banks: 1,
            l1s: 1,
            l2_mshrs: 4,
            l1_mshrs: 2,
            il: 256,
            home_shift: HOME_SHIFT,
            ..published.sys.clone()
        };
        let ways = if self.write_back { 4 } else { 2 };
        FabricParams {
            sys,
            dir_entries: 1,
            dir_ways: 1,
            range: 128,
            group: 1,
            evb_depth: 1,
            l2_sets: 2,
            l2_ways: ways,
            l2_pool: 4,
            l2_latency: 3,
            l1_size: 256,
            l1_ways: 2,
            l1_targets: 2,
            l1_stores: 2,
            l1_latency: 3,
            links: 1,
            downgrade: self.downgrade,
            write_back: self.write_back,
            inject: self.inject,
            ..published
        }
    }
}

/// Most operations of a CU.
pub const MOST_OPERATIONS: usize = 15;

/// Protocols that can be explored.
pub fn protocols() -> Vec<Protocol> {
    let inside = |protocol: &Protocol| {
        let config = Config { protocol: *protocol, ..Config::default() };
        !build::outside(&config.fabric())
    };
    weft_blocks::directory::protocols::all().filter(inside).collect()
}

//! Every interleaving of a tiny Spandex system, on its RTL (spandex.md): a bank of the LLC and two or three devices of any mix of kinds, joined by networks that take any time and
//! keep no order, in front of a memory that answers when it likes.
//!
//! ```text
//!  World: core 0          World: core 1                      (a log of what was asked and answered)
//!     |                      |
//!  L1 + unit              L1 + unit            ...           one block each, as in the hardware
//!     |  REQ, WB, RSP, FWD   |                               links: any delay, any order
//!  +--+----------------------+--+
//!  |     bank of the LLC        | ---- World: memory
//!  +----------------------------+
//! ```
//! - [`build`] makes the net of a [`Config`]. **All of it is hardware** but cores and memory: `spandex-llc` in its smallest size (1 set of 2 ways, 1 TBE, 1 place in the stall memory),
//!   `gpu-l1` with `tu-gpu`, `denovo-l1` with `tu-denovo`, `mesi-l1` with `tu-mesi`, `flex-l1` with `tu-flex` (2 sets of 2 ways, one entry of everything), `stash` with `tu-denovo`
//!   (4 words, 2 mappings, which hold one line each, any line in either or in both); lines of two words. REQ and WB hold two messages of each device, FWD two for each, and hold their senders back; an answer always has a place.
//! - [`cores`] is the cores: each issues anything of a small alphabet, as often as its budget says; and memory. `judge` looks at the log whenever everything is answered.
//! - At every step the assertions of the RTL are watched (the invariants of section 4.1, R1, R2, one removal per word and epoch, no answer without its entry, among others). Whenever nothing
//!   moves and everything is answered, the arrays are read: a word is owned by the device that the bank says, and by no other; every shared copy is known to the bank, and is what
//!   everybody would read; nothing is left in an entry or queue; the last writes are there. A state in which nothing can happen, or from which not everything can be
//!   answered any more, must be a finished one: so no message waits for ever, and after every Nack there is a way on.
//! - A Flex device is told with each operation what to ask for ([`Hint`]). Owner prediction is an oracle that always names the same device ([`Config::guess`]): right, late and wrong guesses are all among
//!   what follows.
//! - `rules` says which bits mean nothing. Each step of a block is also made with noise in them.
//! - [`mixes`]: the systems explored. [`faults`]: faults of the blocks, and a system that shows each. [`report`]: numbers, and the shortest way to a violation.
//!
//! | system, operations per core | states | transitions |
//! | --- | --- | --- |
//! | pairs of kinds, 2 + 2 | 0.6 to 8.6 million | 0.7 to 10.7 million |
//! | threes of kinds, 1 + 1 + 1 | 0.3 to 3.3 million | 0.4 to 4.4 million |
//! | flag and data in one line, 3 + 3 | 6 to 21 million | 7 to 26 million |
//! | the L1 of one device evicts, 2 + 2 | 0.5 to 4.8 million | 0.6 to 7.2 million |
//! | the bank replaces lines with owned words, 2 + 1 | 0.1 to 0.3 million | 0.2 to 0.4 million |
//!
//! With [`Config::scopes`] a device with GPU coherence does exchanges of CU scope in its L1, on words that nobody else writes; what they leave stays in its store buffer, and is the word's
//! value at rest, until a release of the device or the want of room brings it to the bank.
//!
//! A stash maps a line when its CU waits for nothing; its mappings are whole lines. What is mapped in part or with a stride, and a mapping beside accesses to another, is left to its bench.
//!
//! `weft explore spandex` explores these and others: [`Config::options`] are its words for one, [`keys`] are those of the hardware, [`Config::validate`] says what is not legal.
//!
//! # What it does not show
//!
//! - Budgets are finite: what takes more operations is not seen. Other lines than that of two words are there only to evict it.
//! - Blocks are clocked until they rest before anything else happens ([`Timing::Bursts`]), except in one test.
//! - A path on which something is tried for ever is no violation as long as there is a way on; fairness is not judged. So `no-escalation` of `tu-gpu` is not found.
//! - The table of an owner predictor has no entries here.
//! - Posted stores (`want_ack` = 0), byte stores and kernel boundaries are left to the benches of the blocks, as is what one wavefront may see of its own open operations: operations
//!   that are open together are those of different wavefronts.
//! - Leaves of a message that its kind does not use, and words that its mask does not name, are zero on a link (the blocks' own benches send noise there).

mod build;
pub mod cores;
pub mod device;
pub mod faults;
pub mod held;
pub mod judge;
pub mod keys;
mod legal;
pub mod mixes;
mod options;
mod reasons;
pub mod report;
mod rules;
mod stash;
mod system;
mod world;

pub use build::{BuildError, build};
pub use cores::{Cores, Hint, Memory, Op};
pub use faults::Faults;
pub use legal::MOST_LINES;
pub use system::System;

use weft_explore::net::Timing;
use weft_spandex::llc::{ReqsPolicy, RvkoGran};
use weft_spandex::params::Spandex;

/// Kinds of devices.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// `mesi-l1` and `tu-mesi`.
    Mesi,
    /// `denovo-l1` and `tu-denovo`.
    Denovo,
    /// `gpu-l1` and `tu-gpu`.
    Gpu,
    /// `flex-l1` and `tu-flex`.
    Flex,
    /// `stash` and `tu-denovo`.
    Stash,
}

impl Kind {
    /// Every kind.
    pub const ALL: &'static [Kind] = &[Kind::Mesi, Kind::Flex, Kind::Denovo, Kind::Gpu, Kind::Stash];

    /// Its L1 may hold words in state S.
    pub fn shares(self) -> bool {
        matches!(self, Kind::Mesi | Kind::Flex)
    }
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Mesi => "mesi",
            Kind::Denovo => "denovo",
            Kind::Gpu => "gpu",
            Kind::Flex => "flex",
            Kind::Stash => "stash",
        }
    }
}

/// A tiny system and what its cores and CUs may do.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    /// Devices; those that share words ([`Kind::shares`]) first.
    pub devices: Vec<Kind>,
    /// So many of them, the first ones, are CPU cores, which matters to clients of an L3 only.
    pub cpus: u32,
    /// What a core may issue, per device; the last list stands for all further ones.
    pub alphabets: Vec<Vec<Op>>,
    /// Operations of each core; the last number stands for all further ones.
    pub budgets: Vec<usize>,
    /// A core issues its list from its beginning, not anything of it.
    pub in_order: bool,
    /// Operations that are done, one after the other, before the exploration begins: device and operation.
    pub prelude: Vec<(usize, Op)>,
    /// Operations of a core that may be open together.
    pub open: usize,
    /// They are of several waves: atomics on one word may be open together.
    pub waves: bool,
    /// Line numbers used.
    pub lines: Vec<u64>,
    /// MSHRs, store buffer entries, write-back buffer entries of an L1.
    pub l1: (u32, u32, u32),
    /// Loads that wait for one line.
    pub targets: u32,
    /// Operations that wait for a release.
    pub releases: u32,
    /// Sets and ways of the bank.
    pub bank: (u32, u32),
    /// TBEs and stalled requests of the bank.
    pub tbes: (u32, u32),
    /// How the bank answers ReqS.
    pub reqs: ReqsPolicy,
    /// What it revokes for a ReqWT+data.
    pub rvko: RvkoGran,
    /// Extras in RspV.
    pub flex: bool,
    /// N_FAIL.
    pub n_fail: u32,
    /// The device that Flex units take for the owner of every word; none: they ask the bank.
    pub guess: Option<usize>,
    /// Scopes are honoured: [`Op::Here`] is done in an L1 with GPU coherence, everything else is of system scope.
    pub scopes: bool,
    /// Reads that race with writes are in one order with them, too: what a device has read it never sees older.
    pub races: bool,
    /// Messages of a device that REQ and WB hold each, and messages for a device that FWD holds.
    pub link: usize,
    /// When a block may be clocked.
    pub timing: Timing,
    /// Faults.
    pub faults: Faults,
}

impl Config {
    /// What fixes the widths.
    pub fn spandex(&self) -> Spandex {
        let devices = self.devices.len() as u32;
        Spandex {
            cpus: self.cpus,
            cus: devices - self.cpus,
            sharers: self.devices.iter().filter(|kind| kind.shares()).count() as u32,
            addr_bits: 32,
            line: 8,
            banks: 1,
            mshrs: self.l1.0,
            sb: self.l1.1,
            wbb: self.l1.2,
            tbes: self.tbes.0,
            ..Spandex::default()
        }
    }
    /// Shared reads may bring words that nobody invalidates.
    pub fn weak_reads(&self) -> bool {
        self.reqs == ReqsPolicy::Opt2
    }
    /// What a core may issue.
    pub fn alphabet(&self, device: usize) -> &[Op] {
        self.alphabets.get(device).or(self.alphabets.last()).map_or(&[], |ops| &ops[..])
    }
    /// Reads that race with writes are in one order with them: at most two devices, without write-backs or guesses, one operation of each at a time.
    pub fn ordered(&self) -> bool {
        self.devices.len() <= 2 && self.lines.len() == 1 && self.open == 1 && self.guess.is_none()
    }
    /// So many lines, of which all meet in one set of an L1.
    pub fn lines(count: usize) -> Vec<u64> {
        (0..count as u64).map(|line| 2 * line).collect()
    }
    /// Operations of a core.
    pub fn budget(&self, device: usize) -> usize {
        self.budgets.get(device).or(self.budgets.last()).copied().unwrap_or(0)
    }
    /// A system of these devices: loads, stores and atomics of one line, one at a time; two operations of the first of two cores, one of each other.
    pub fn of(devices: &[Kind]) -> Config {
        let own = |kind: &Kind| {
            mixes::ops(match kind {
                Kind::Mesi => "LD X,ST X.0,ST X.1,AT X.0",
                Kind::Denovo | Kind::Gpu => "LD X,ST X.0,ST X.1,AT X.0,SYNC X.0",
                Kind::Flex => mixes::HINTED,
                Kind::Stash => "LD X,ST X.0,ST X.1,ACQ",
            })
        };
        // A stash holds what is mapped.
        let stashes = devices.iter().enumerate().filter(|(_, kind)| **kind == Kind::Stash);
        let prelude = stashes.map(|(device, _)| (device, Op::Map(0, 0))).collect();
        Config {
            devices: devices.to_vec(),
            cpus: 0,
            alphabets: devices.iter().map(own).collect(),
            budgets: if devices.len() == 2 { vec![2, 1] } else { vec![1] },
            in_order: false,
            prelude,
            open: 1,
            waves: false,
            lines: Config::lines(1),
            l1: (1, 1, 1),
            targets: 1,
            releases: 1,
            bank: (1, 2),
            tbes: (1, 1),
            reqs: ReqsPolicy::Eval,
            rvko: RvkoGran::Line,
            flex: true,
            n_fail: 1,
            guess: None,
            scopes: false,
            races: devices.len() <= 2,
            link: 2,
            timing: Timing::Bursts,
            faults: faults::NONE,
        }
    }
}

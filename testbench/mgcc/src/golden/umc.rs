//! A lane of a unified memory controller with its DRAM channel (mgcc.md sections 6 and 7).

use super::layout::Layout;
use super::msg::{Data, UmcReq, UmcRsp, Work};
use super::tracker::{Tracker, TrackerParams};
use super::tsu::{Grant, Tsu, TsuOp, TsuParams, TsuReq};
use std::collections::BTreeMap;

/// What memory holds in a line that was never written.
pub type Initial = fn(u64) -> Data;

/// Behavioural DRAM: a line per transaction.
#[derive(Clone, Debug)]
pub struct Dram {
    lines: BTreeMap<u64, Data>,
    initial: Initial,
}

impl PartialEq for Dram {
    fn eq(&self, other: &Dram) -> bool {
        self.lines == other.lines
    }
}

impl Eq for Dram {}

impl std::hash::Hash for Dram {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.lines.hash(state);
    }
}

impl Dram {
    /// Memory that holds `initial(line)` in each line.
    pub fn new(initial: Initial) -> Dram {
        Dram { lines: BTreeMap::new(), initial }
    }
    /// Content of a line.
    pub fn line(&self, line: u64) -> Data {
        self.lines.get(&line).copied().unwrap_or_else(|| (self.initial)(line))
    }
    /// Reads, writes masked bytes or performs an atomic: the line afterwards and an atomic's old value.
    pub fn perform(&mut self, line: u64, work: &Work) -> (Data, u64) {
        let mut data = self.line(line);
        let mut old = 0;
        match work {
            Work::Read => return (data, 0),
            Work::Write { mask, data: new } => data.merge(*mask, new),
            Work::Atomic(atomic) => old = atomic.perform(&mut data),
        }
        self.lines.insert(line, data);
        (data, old)
    }
}

/// What an issue or a repeated TSU operation granted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Granted {
    /// Line number.
    pub line: u64,
    /// A write or atomic.
    pub write: bool,
    /// Epoch of the TSU.
    pub epoch: u64,
    /// The stamps, or overflow.
    pub grant: Grant,
}

/// Tracker, TSU and DRAM of a lane. An issue performs the TSU operation and the DRAM transaction at once; only the answer takes time.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Lane {
    tracker: Tracker,
    tsu: Tsu,
    dram: Dram,
    layout: Layout,
    /// {RdLease, WrLease}: the registers sampled at each grant.
    pub leases: (u64, u64),
}

impl Lane {
    /// After reset.
    pub fn new(tracker: TrackerParams, tsu: TsuParams, initial: Initial, leases: (u64, u64)) -> Lane {
        let layout = tracker.layout;
        Lane { tracker: Tracker::new(tracker), tsu: Tsu::new(tsu), dram: Dram::new(initial), layout, leases }
    }
    /// The request tracker.
    pub fn tracker(&self) -> &Tracker {
        &self.tracker
    }
    /// The timestamp unit.
    pub fn tsu(&self) -> &Tsu {
        &self.tsu
    }
    /// The timestamp unit, to be put into another state.
    pub fn tsu_mut(&mut self) -> &mut Tsu {
        &mut self.tsu
    }
    /// The memory.
    pub fn dram(&self) -> &Dram {
        &self.dram
    }
    /// Takes a request; false if there is no free entry.
    pub fn arrive(&mut self, req: UmcReq) -> bool {
        self.tracker.arrive(req).is_some()
    }
    /// An EvictNote that found a free slot.
    pub fn note(&mut self, line: u64, tag: u64, rts: u64) {
        let req = TsuReq { op: TsuOp::Evict, line: self.layout.in_lane(line), tag, ts: rts };
        self.tsu.operate(&req, self.leases.0, self.leases.1);
    }
    /// Entries that may issue now by the selection rule.
    pub fn choices(&self) -> Vec<usize> {
        self.tracker.choices(self.tsu.epoch())
    }
    /// Issues an entry; what the TSU granted, if there is a TSU.
    pub fn issue(&mut self, slot: usize) -> Option<Granted> {
        let issue = self.tracker.issue(slot);
        if let Some(dram) = issue.dram {
            let (data, old) = self.dram.perform(dram.line, &dram.work);
            self.tracker.dram(slot, data, old);
        }
        issue.tsu.and_then(|req| self.ask_tsu(slot, &req))
    }
    /// Entries that may ask the TSU again.
    pub fn retries(&self) -> Vec<usize> {
        self.tracker.retries(self.tsu.epoch())
    }
    /// Asks the TSU again after an overflow and a roll.
    pub fn retry(&mut self, slot: usize) -> Option<Granted> {
        let req = self.tracker.retry(slot);
        self.ask_tsu(slot, &req)
    }
    /// Entries whose answer may leave.
    pub fn ready(&self) -> Vec<usize> {
        self.tracker.ready()
    }
    /// An answer leaves.
    pub fn respond(&mut self, slot: usize) -> UmcRsp {
        self.tracker.respond(slot)
    }
    /// A new epoch begins.
    pub fn roll(&mut self, epoch: u64) {
        self.tsu.roll(epoch);
    }

    fn ask_tsu(&mut self, slot: usize, req: &TsuReq) -> Option<Granted> {
        let line = self.tracker.entry(slot)?.req.line;
        let grant = self.tsu.operate(req, self.leases.0, self.leases.1)?;
        let epoch = self.tsu.epoch();
        self.tracker.tsu(slot, grant, epoch);
        Some(Granted { line, write: req.op == TsuOp::Write, epoch, grant })
    }
}

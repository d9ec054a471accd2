//! The request tracker of a lane (mgcc.md section 7): which request is served next, and what its answer is.
//!
//! A bench tells it what the hardware did: [`Tracker::arrive`], [`Tracker::issue`], [`Tracker::tsu`], [`Tracker::retry`], [`Tracker::dram`], [`Tracker::respond`].
//! [`Tracker::choices`] gives the entries that the selection rule lets issue now, [`Tracker::issuable`] those that may issue without harm to correctness.

use super::layout::Layout;
use super::msg::{Data, Op, UmcReq, UmcRsp, Work};
use super::time::Widths;
use super::tsu::{Grant, TsuOp, TsuReq};

/// Parameters of a request tracker.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TrackerParams {
    /// Entries.
    pub entries: usize,
    /// An issuable entry that was passed over this often goes first.
    pub age_max: u32,
    /// Selection in the order of {tag, ts} (else in order of arrival).
    pub sc: bool,
    /// Reads may attach to a write of their line.
    pub merge_raw: bool,
    /// With a TSU.
    pub coherent: bool,
    /// Answers to full-line writes carry the line too.
    pub wrsp_always: bool,
    /// Which line of the lane a line is.
    pub layout: Layout,
    /// Widths of stamps and tags.
    pub widths: Widths,
}

/// State of an entry that is not free.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum State {
    /// Waits to be issued.
    Pending,
    /// In service: TSU and DRAM.
    Service,
    /// A read that shares the data of the write in service: TSU only.
    Attached,
}

/// An entry.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Entry {
    /// The request.
    pub req: UmcReq,
    /// State.
    pub state: State,
    /// How often it was passed over while issuable.
    pub age: u32,
    /// Granted stamps.
    pub grant: Option<Grant>,
    /// The write did not fit into this epoch of the TSU.
    pub overflow: Option<u64>,
    /// The line and, of an atomic, the old value.
    pub data: Option<(Data, u64)>,
}

/// A transaction with the DRAM channel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DramReq {
    /// Entry of the tracker.
    pub slot: usize,
    /// Line number.
    pub line: u64,
    /// Read, masked write or atomic.
    pub work: Work,
}

/// What leaves when an entry is issued.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Issue {
    /// Operation for the TSU; none without coherence.
    pub tsu: Option<TsuReq>,
    /// Transaction with DRAM; none of a read that attaches.
    pub dram: Option<DramReq>,
}

/// A request tracker.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Tracker {
    p: TrackerParams,
    slots: Vec<Option<Entry>>,
    /// Occupied slots, oldest first.
    order: Vec<usize>,
}

impl Tracker {
    /// All entries free.
    pub fn new(p: TrackerParams) -> Tracker {
        Tracker { p, slots: vec![None; p.entries], order: Vec::new() }
    }
    /// An entry.
    pub fn entry(&self, slot: usize) -> Option<&Entry> {
        self.slots[slot].as_ref()
    }
    /// Occupied slots, oldest first.
    pub fn order(&self) -> &[usize] {
        &self.order
    }
    /// A slot is free.
    pub fn can_take(&self) -> bool {
        self.order.len() < self.p.entries
    }
    /// Takes a request into the lowest free slot, which is returned; nothing if there is none.
    pub fn arrive(&mut self, req: UmcReq) -> Option<usize> {
        let slot = self.slots.iter().position(Option::is_none)?;
        let state = State::Pending;
        self.slots[slot] = Some(Entry { req, state, age: 0, grant: None, overflow: None, data: None });
        self.order.push(slot);
        Some(slot)
    }
    /// Entries that may issue: their line is not in service, or they may attach, and (by arrival only) they are the oldest of their line that waits.
    pub fn issuable(&self) -> Vec<usize> {
        let waits = |slot: &&usize| self.slots[**slot].is_some_and(|entry| entry.state == State::Pending);
        let mut seen = Vec::new();
        let mut out = Vec::new();
        for slot in self.order.iter().filter(waits) {
            let Some(entry) = &self.slots[*slot] else { continue };
            let line = entry.req.line;
            let first = !seen.contains(&line);
            seen.push(line);
            if (self.p.sc || first) && (!self.in_service(line) || self.attaches_to(entry).is_some()) {
                out.push(*slot);
            }
        }
        out
    }
    /// Entries that the selection rule allows now; more than one only if several are starved. `epoch` is the TSU's.
    pub fn choices(&self, epoch: u64) -> Vec<usize> {
        let issuable = self.issuable();
        let age = |slot: &usize| self.slots[*slot].map_or(0, |entry| entry.age);
        let starved: Vec<usize> =
            issuable.iter().copied().filter(|slot| age(slot) >= self.p.age_max).collect();
        if !starved.is_empty() {
            return starved;
        }
        if !self.p.sc {
            return issuable.into_iter().take(1).collect();
        }
        let waiting = self.order.iter().enumerate().filter_map(|(place, slot)| {
            let entry = self.slots[*slot].filter(|entry| entry.state == State::Pending)?;
            let then = if self.p.coherent { self.p.widths.epoch_of(entry.req.tag, epoch) } else { 0 };
            Some(((then, entry.req.ts, place), *slot))
        });
        let first = waiting.min().map(|(_, slot)| slot);
        first.filter(|slot| issuable.contains(slot)).into_iter().collect()
    }
    /// Issues an entry.
    ///
    /// # Panics
    /// The entry may not issue.
    pub fn issue(&mut self, slot: usize) -> Issue {
        let issuable = self.issuable();
        assert!(issuable.contains(&slot), "entry {slot} is issued while its line is in service");
        for other in issuable.into_iter().filter(|other| *other != slot) {
            if let Some(entry) = &mut self.slots[other] {
                entry.age = (entry.age + 1).min(self.p.age_max);
            }
        }
        let Some(mut entry) = self.slots[slot] else { panic!("entry {slot} is free") };
        let attach = self.attaches_to(&entry);
        entry.state = if attach.is_some() { State::Attached } else { State::Service };
        entry.data = attach.and_then(|write| self.slots[write]).and_then(|write| write.data);
        self.slots[slot] = Some(entry);
        let dram = DramReq { slot, line: entry.req.line, work: entry.req.work };
        Issue {
            tsu: self.p.coherent.then(|| self.tsu_req(&entry.req)),
            dram: attach.is_none().then_some(dram),
        }
    }
    /// Takes a result of the TSU, which is in epoch `epoch`.
    pub fn tsu(&mut self, slot: usize, grant: Grant, epoch: u64) {
        if let Some(entry) = &mut self.slots[slot] {
            entry.overflow = grant.ovf.then_some(epoch);
            entry.grant = (!grant.ovf).then_some(grant);
        }
    }
    /// Entries whose write did not fit and that may ask again, the TSU being in epoch `epoch` now.
    pub fn retries(&self, epoch: u64) -> Vec<usize> {
        let later = |slot: &&usize| {
            self.slots[**slot].and_then(|entry| entry.overflow).is_some_and(|old| old < epoch)
        };
        self.order.iter().filter(later).copied().collect()
    }
    /// Asks the TSU again for a write that did not fit.
    ///
    /// # Panics
    /// The entry's write has not overflowed.
    pub fn retry(&mut self, slot: usize) -> TsuReq {
        let overflown = self.slots[slot].as_mut().filter(|entry| entry.overflow.is_some());
        let Some(entry) = overflown else { panic!("entry {slot} asks the TSU again without an overflow") };
        entry.overflow = None;
        let req = entry.req;
        self.tsu_req(&req)
    }
    /// Takes a result of DRAM; the reads attached to a write get its line too.
    pub fn dram(&mut self, slot: usize, data: Data, old: u64) {
        let Some(line) = self.slots[slot].map(|entry| entry.req.line) else { return };
        for (other, entry) in self.slots.iter_mut().enumerate() {
            if let Some(entry) = entry
                && entry.req.line == line
                && (other == slot || entry.state == State::Attached)
            {
                entry.data = Some((data, old));
            }
        }
    }
    /// Entries whose answer may leave now.
    pub fn ready(&self) -> Vec<usize> {
        let complete = |entry: Entry| {
            entry.state != State::Pending
                && entry.data.is_some()
                && (entry.grant.is_some() || !self.p.coherent)
        };
        self.order.iter().filter(|slot| self.slots[**slot].is_some_and(complete)).copied().collect()
    }
    /// The answer of an entry leaves; the entry is free.
    ///
    /// # Panics
    /// It is not ready.
    pub fn respond(&mut self, slot: usize) -> UmcRsp {
        assert!(self.ready().contains(&slot), "entry {slot} answers before its results are in");
        self.order.retain(|other| *other != slot);
        let Some(Entry { req, grant, data, .. }) = self.slots[slot].take() else {
            panic!("entry {slot} is free")
        };
        let (data, old) = data.unwrap_or_default();
        let op = req.work.op();
        let with_data = op != Op::Write || req.work.partial() || self.p.wrsp_always;
        UmcRsp {
            op,
            dst: req.src,
            txn: req.txn,
            tag: grant.map_or(0, |grant| grant.tag),
            wts: grant.map_or(0, |grant| grant.wts),
            rts: grant.map_or(0, |grant| grant.rts),
            data: with_data.then_some(data),
            old: if op == Op::Atomic { old } else { 0 },
        }
    }

    /// Some entry of the line is being served.
    pub fn in_service(&self, line: u64) -> bool {
        self.slots.iter().flatten().any(|entry| entry.state != State::Pending && entry.req.line == line)
    }
    /// The write in service whose data a read may share.
    fn attaches_to(&self, read: &Entry) -> Option<usize> {
        let shares = |entry: &Entry| {
            entry.state == State::Service
                && entry.req.line == read.req.line
                && entry.req.work.op() != Op::Read
                && (entry.grant.is_some() || !self.p.coherent)
        };
        if read.req.work.op() != Op::Read || !self.p.merge_raw {
            return None;
        }
        self.slots.iter().position(|entry| entry.as_ref().is_some_and(shares))
    }
    fn tsu_req(&self, req: &UmcReq) -> TsuReq {
        let op = if req.work.op() == Op::Read { TsuOp::Read } else { TsuOp::Write };
        TsuReq { op, line: self.p.layout.in_lane(req.line), tag: req.tag, ts: req.ts }
    }
}

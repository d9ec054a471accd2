//! The eviction buffer of one slice and its expander (rec.md section 4.1), untimed.
//!
//! The model is driven by what the hardware does (a victim pushed, an Inv accepted by `inv_egress`) and says what is
//! allowed next: which Invs the expander may issue, and whether an operation must stall.

use super::dir_table::DirOp;
use super::entry::Entry;
use super::params::DirParams;
use super::{GpuMask, Inv, InvCause};
use std::collections::VecDeque;

/// Why an operation may not proceed (the stalls of sections 4 and 4.1 that depend on the EVB).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvbStall {
    /// The operation evicts and no EVB entry is free.
    Full,
    /// The operation writes a slot that is still pending in this many EVB entries.
    SlotPending {
        /// EVB entries that hold the slot.
        entries: u32,
    },
}

/// A write's stall decision on its own: does an operation on (`base`, `slot`) have to wait for `pending`, the EVB
/// entries as (base, sharers per slot still to be accepted)? Reads never wait; a write waits for every such entry.
pub fn must_stall(op: DirOp, base: u64, slot: usize, pending: &[(u64, Vec<GpuMask>)]) -> Option<EvbStall> {
    let holds = |e: &&(u64, Vec<GpuMask>)| e.0 == base && e.1.get(slot).is_some_and(|s| *s != 0);
    let entries = pending.iter().filter(holds).count() as u32;
    (op.writes() && entries > 0).then_some(EvbStall::SlotPending { entries })
}

/// The eviction buffer of a slice: a FIFO of victims, of which the head is expanded.
#[derive(Clone, Debug)]
pub struct Evb {
    params: DirParams,
    entries: VecDeque<(u64, Vec<GpuMask>)>,
}

impl Evb {
    /// An empty buffer of `params.evb_depth` entries.
    pub fn new(params: DirParams) -> Self {
        Evb { params, entries: VecDeque::new() }
    }

    /// Victims held.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True when nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// True when an eviction has to wait.
    pub fn is_full(&self) -> bool {
        self.entries.len() >= self.params.evb_depth as usize
    }

    /// Takes a victim; false (and nothing done) when full.
    pub fn push(&mut self, victim: &Entry) -> bool {
        let room = !self.is_full();
        if room {
            self.entries.push_back((victim.base, victim.slots.clone()));
        }
        room
    }

    /// Must this operation stall? `evicts` says whether it would replace a valid entry.
    pub fn stall(&self, op: DirOp, line: u64, evicts: bool) -> Option<EvbStall> {
        let pending: Vec<_> = self.entries.iter().cloned().collect();
        let write = must_stall(op, self.params.base(line), self.params.slot(line), &pending);
        write.or((evicts && self.is_full()).then_some(EvbStall::Full))
    }

    /// EVB entries with the base of a line, whatever their slots (an "EVB/read overlap" when a RD_REM meets one).
    pub fn same_base(&self, line: u64) -> usize {
        let base = self.params.base(line);
        self.entries.iter().filter(|e| e.0 == base).count()
    }

    /// The Invs that the expander may have on offer now: the lowest `inv_rate` set slots of the head, lowest first.
    pub fn offers(&self) -> Vec<Inv> {
        let Some((base, slots)) = self.entries.front() else { return Vec::new() };
        let first = base * self.params.lines_per_entry();
        let grp = self.params.grouped();
        let set = slots.iter().enumerate().filter(|(_, s)| **s != 0);
        let invs = set.map(|(i, s)| Inv { line: first + i as u64, dest: *s, cause: InvCause::Evict, grp });
        invs.take(self.params.inv_rate as usize).collect()
    }

    /// All destinations of an offered Inv accepted it: its slot is cleared, and the head leaves with its last slot.
    /// False if `inv` is not on offer with exactly these destinations.
    pub fn accepted(&mut self, inv: Inv) -> bool {
        if !self.offers().contains(&inv.canonical_in(self.params.lines_per_entry())) {
            return false;
        }
        let slot = self.params.slot(inv.line);
        if let Some((_, slots)) = self.entries.front_mut() {
            slots[slot] = 0;
            if slots.iter().all(|s| *s == 0) {
                self.entries.pop_front();
            }
        }
        true
    }
}

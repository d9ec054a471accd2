//! The probe unit (srsp.md section 5.2): one probe at a time.

use super::super::core::Who;
use super::super::msg::{Out, Pack, Probe, ProbeKind};
use super::super::slip::Slip;
use super::super::word::line_of;
use super::L1;

/// How far a probe is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Stage {
    /// Until the drain is done, then PACK.
    Flush,
    /// Until the drain is done, then flash-inv in a slot, then go on.
    FlushInv,
    /// flash-inv in a slot.
    Flash,
    /// Until the WBT has no line(X), then PACK.
    Wait,
    /// The slip: line-inv in a slot of its own after the flush.
    LateInv,
}

/// A probe under way.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ProbeRun {
    /// The probe.
    pub probe: Probe,
    /// How far it is.
    pub stage: Stage,
    /// LR-TBL had the address.
    pub hit: bool,
}

impl ProbeRun {
    /// It waits for a slot.
    pub fn wants_slot(&self) -> bool {
        matches!(self.stage, Stage::Flash | Stage::LateInv)
    }
}

impl L1 {
    /// A probe in its slot; false, and nothing has changed, if it must wait: another is under way, or its write-back finds no WBT entry.
    pub fn probe(&mut self, probe: &Probe) -> bool {
        let line = line_of(probe.addr);
        let lines = matches!(probe.kind, ProbeKind::SelFlush | ProbeKind::SelInv | ProbeKind::FlushAll);
        if self.active.is_some() || lines && self.core.stuck(line) {
            return false;
        }
        let (stage, hit) = match probe.kind {
            ProbeKind::SelFlush => self.sel_flush(probe.addr),
            ProbeKind::SelInv => (self.sel_inv(probe.addr), false),
            ProbeKind::LockFlush => {
                if !self.core.slips(Slip::OpenLock) {
                    self.gate.lock = Some(line);
                }
                self.core.flush_all(Who::Probe);
                (Stage::Flush, false)
            }
            // As of SEL_FLUSH: the line leaves in the slot of the flush, for which the L2's lock keeps it
            // away.
            ProbeKind::FlushAll => {
                if !self.core.slips(Slip::KeepsLine) {
                    self.core.line_inv(line);
                }
                self.core.flush_all(Who::Probe);
                (Stage::Flush, false)
            }
            ProbeKind::InvAll if self.clean() => {
                self.flash_inv();
                (Stage::Wait, false)
            }
            ProbeKind::InvAll => {
                self.gate.probe = true;
                self.core.flush_all(Who::Probe);
                (Stage::FlushInv, false)
            }
            // Nothing is dirty where the lock stops everything; else what it let pass is flushed first.
            ProbeKind::InvUnlock if self.clean() || self.core.slips(Slip::UnlockNoFlush) => {
                self.flash_inv();
                self.gate.lock = None;
                (Stage::Wait, false)
            }
            ProbeKind::InvUnlock => {
                self.gate.probe = true;
                self.core.flush_all(Who::Probe);
                (Stage::FlushInv, false)
            }
            ProbeKind::Revoke | ProbeKind::Read => {
                self.core.fault("a REVOKE in an L1 without owned lines");
                (Stage::Wait, false)
            }
        };
        self.active = Some(ProbeRun { probe: *probe, stage, hit });
        self.settle();
        true
    }
    /// The sFIFO is empty and no write-back is under way: nothing is to be flushed or waited for.
    fn clean(&self) -> bool {
        self.core.rel.sfifo.entries().next().is_none() && self.core.wbt.is_empty()
    }
    fn sel_flush(&mut self, addr: u64) -> (Stage, bool) {
        let found = self.core.rel.lr.find(addr >> 2);
        if !self.core.slips(Slip::LateLineInv) {
            self.core.line_inv(line_of(addr));
        }
        match found {
            Some(ptr) => self.core.flush_to(Who::Probe, ptr),
            None if self.core.slips(Slip::MissNoFence) => return (Stage::Wait, false),
            None => self.core.fence(Who::Probe),
        }
        (Stage::Flush, found.is_some())
    }
    fn sel_inv(&mut self, addr: u64) -> Stage {
        if self.pa.full() && !self.pa.has(addr >> 2) {
            self.gate.probe = true;
            self.core.flush_all(Who::Probe);
            return Stage::FlushInv;
        }
        if !self.core.slips(Slip::PaDropped) {
            self.pa.insert(addr >> 2);
        }
        self.core.line_inv(line_of(addr));
        Stage::Wait
    }
    /// A slot of its own.
    pub(super) fn probe_slot(&mut self) -> bool {
        let Some(mut run) = self.active.take() else { return false };
        let line = line_of(run.probe.addr);
        let done = match run.stage {
            Stage::Flash => {
                self.flash_inv();
                self.gate.probe = false;
                if run.probe.kind == ProbeKind::InvUnlock {
                    self.gate.lock = None;
                }
                true
            }
            Stage::LateInv if !self.core.stuck(line) => {
                self.core.line_inv(line);
                true
            }
            _ => false,
        };
        if done {
            run.stage = Stage::Wait;
        }
        self.active = Some(run);
        done
    }
    /// The drain is done with it.
    pub(super) fn probe_drained(&mut self) {
        let late = self.core.slips(Slip::LateLineInv);
        match &mut self.active {
            Some(run) if run.stage == Stage::FlushInv => run.stage = Stage::Flash,
            Some(run) if late && run.probe.kind == ProbeKind::SelFlush => run.stage = Stage::LateInv,
            Some(_) => self.acknowledge(),
            None if self.core.slips(Slip::EarlyPack) => {}
            None => self.core.fault("the drain ends for a probe that there is not"),
        }
    }
    /// What needs no slot.
    pub(super) fn probe_goes_on(&mut self) -> bool {
        let Some(run) = &self.active else { return false };
        let line = line_of(run.probe.addr);
        let waits = match run.probe.kind {
            ProbeKind::SelFlush => self.core.wbt.has(line) && !self.core.slips(Slip::MissNoFence),
            ProbeKind::SelInv => self.core.wbt.has(line),
            _ => false,
        };
        let early = self.core.slips(Slip::EarlyPack) && run.stage == Stage::Flush;
        if early || run.stage == Stage::Wait && !waits {
            self.acknowledge();
            return true;
        }
        false
    }
    fn acknowledge(&mut self) {
        if let Some(run) = self.active.take() {
            let pack = Pack { src: self.params().own, dst: run.probe.req, hit: run.hit };
            self.core.send(Out::Pack(pack));
        }
    }
}

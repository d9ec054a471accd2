//! Probe unit: one probe at a time, always served, whatever the CU gate and the own operation do (srsp.md section 5.2).
//!
//! | state | values |
//! | --- | --- |
//! | `probe_step` | LOOK: the probe waits for its slot; FLUSH: for the drain; DROP: for the slot of its flash-inv; SETTLE: until no write-back of the line is under way; PACK: for the way to the requester |
//! | `probe_hit` | what the PACK says |

use super::Core;
use super::params::{Inject, L1Params};
use crate::lr_tbl::LrFound;
use crate::msg::{Pack, Probe, ProbeOp};
use crate::pa_tbl::PaFound;
use crate::params::Impl;
use weft_rtl::prelude::*;

/// Where the probe is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum ProbeStep {
    /// Waits for its slot.
    #[hw(label = "LOOK")]
    Look,
    /// Waits for the drain.
    #[hw(label = "FLUSH")]
    Flush,
    /// Waits for the slot of its flash-inv.
    #[hw(label = "DROP")]
    Drop,
    /// Waits for the line's write-backs.
    #[hw(label = "SETTLE")]
    Settle,
    /// Waits for the way to the requester.
    #[hw(label = "PACK")]
    Pack,
}

/// What a step of a probe does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum ProbeDoes {
    /// The line goes, written back if it is dirty.
    Inv,
    /// What is dirty up to the released address is flushed.
    FlushTo,
    /// Everything dirty is flushed.
    FlushAll,
    /// The address is inserted into the PA-TBL.
    Insert,
    /// The CU gate closes for want of an entry of the PA-TBL.
    ClosePa,
    /// It opens again.
    OpenPa,
    /// The address is locked here.
    CloseLock,
    /// That lock ends.
    OpenLock,
    /// The CU gate closes.
    CloseAll,
    /// It opens again.
    OpenAll,
    /// Lines and tables are dropped.
    Drop,
    /// The requester gets its PACK.
    Pack,
}

transitions! {
    /// The steps of the probes that a system knows. `case`: of SEL_INV, the PA-TBL is full and the address is not in it; of broadcasts, the sFIFO is empty and no write-back is
    /// under way.
    pub fn probes(known: &[ProbeOp]) {
        name "probes", rows "srsp.probe.";
        on "probe": ProbeOp, "step": ProbeStep, "case": Is;
        next ProbeStep;
        does ProbeDoes;

        if known.contains(&ProbeOp::SelFlush) {
            "SEL_FLUSH.look"  (SelFlush, Look, _)  -> Flush [Inv, FlushTo]
                "LR lookup and line-inv in one slot; hit: flush up to its entry.";
            "SEL_FLUSH.flush" (SelFlush, Flush, _) -> Pack  "Hit or miss, all older write-backs are acknowledged.";
            "SEL_FLUSH.pack"  (SelFlush, Pack, _)  -> Look  [Pack] "Hit or miss is told.";
            never (SelFlush, Drop | Settle, _)     "it drops no other line, and its fence waits for all write-backs";
        } else {
            never (SelFlush, _, _)                 "the system does not know it";
        }
        if known.contains(&ProbeOp::SelInv) {
            "SEL_INV.look"   (SelInv, Look, No)   -> Settle [Inv, Insert] "PA insertion and line-inv in one slot.";
            "SEL_INV.full"   (SelInv, Look, Yes)  -> Flush  [Inv, ClosePa, FlushAll]
                "No room: invalidate instead, which honours it too.";
            "SEL_INV.flush"  (SelInv, Flush, _)   -> Drop   "Nothing is dirty any more.";
            "SEL_INV.drop"   (SelInv, Drop, _)    -> Settle [Drop, OpenPa] "Lines and tables are dropped, the gate opens.";
            "SEL_INV.settle" (SelInv, Settle, _)  -> Pack   "The line's bytes are in the L2.";
            "SEL_INV.pack"   (SelInv, Pack, _)    -> Look   [Pack] "Acknowledged.";
        } else {
            never (SelInv, _, _)                  "the system does not know it";
        }
        if known.contains(&ProbeOp::LockFlush) {
            "LOCK_FLUSH.look"  (LockFlush, Look, No)  -> Flush [CloseLock, FlushAll] "The address is locked.";
            "LOCK_FLUSH.clean" (LockFlush, Look, Yes) -> Pack  [CloseLock] "The same, with nothing to flush.";
            "LOCK_FLUSH.flush" (LockFlush, Flush, _)  -> Pack  "Everything dirty is in the L2.";
            "LOCK_FLUSH.pack"  (LockFlush, Pack, _)   -> Look  [Pack] "Acknowledged; the lock stays.";
            never (LockFlush, Drop | Settle, _)       "it drops no line";
        } else {
            never (LockFlush, _, _)                   "the system does not know it";
        }
        if known.contains(&ProbeOp::InvUnlock) {
            "INV_UNLOCK.look"  (InvUnlock, Look, No)  -> Flush [CloseAll, FlushAll]
                "Accesses that the lock let pass have left dirty lines.";
            "INV_UNLOCK.clean" (InvUnlock, Look, Yes) -> Pack  [Drop, OpenLock] "Lines are dropped, the lock ends.";
            "INV_UNLOCK.flush" (InvUnlock, Flush, _)  -> Drop  "Nothing is dirty any more.";
            "INV_UNLOCK.drop"  (InvUnlock, Drop, _)   -> Pack  [Drop, OpenAll, OpenLock]
                "Lines are dropped, gate and lock open.";
            "INV_UNLOCK.pack"  (InvUnlock, Pack, _)   -> Look  [Pack] "Acknowledged.";
            never (InvUnlock, Settle, _)              "all write-backs are acknowledged before its flush ends";
        } else {
            never (InvUnlock, _, _)                   "the system does not know it";
        }
        if known.contains(&ProbeOp::InvAll) {
            "INV_ALL.look"  (InvAll, Look, No)  -> Flush [CloseAll, FlushAll] "The gate closes.";
            "INV_ALL.clean" (InvAll, Look, Yes) -> Pack  [Drop] "Nothing to flush: lines are dropped.";
            "INV_ALL.flush" (InvAll, Flush, _)  -> Drop  "Nothing is dirty any more.";
            "INV_ALL.drop"  (InvAll, Drop, _)   -> Pack  [Drop, OpenAll] "Lines are dropped, the gate opens.";
            "INV_ALL.pack"  (InvAll, Pack, _)   -> Look  [Pack] "Acknowledged.";
            never (InvAll, Settle, _)           "all write-backs are acknowledged before its flush ends";
        } else {
            never (InvAll, _, _)                "the system does not know it";
        }
        if known.contains(&ProbeOp::FlushAll) {
            "FLUSH_ALL.look"  (FlushAll, Look, No)  -> Flush [Inv, FlushAll]
                "Line-inv in the slot from which on everything dirty is flushed: the line is locked at the L2.";
            "FLUSH_ALL.clean" (FlushAll, Look, Yes) -> Pack  [Inv] "Line-inv, with nothing to flush.";
            "FLUSH_ALL.flush" (FlushAll, Flush, _)  -> Pack  "Everything dirty is in the L2.";
            "FLUSH_ALL.pack"  (FlushAll, Pack, _)   -> Look  [Pack] "Acknowledged.";
            never (FlushAll, Drop | Settle, _)      "it drops no other line, and its flush waits for all write-backs";
        } else {
            never (FlushAll, _, _)                  "the system does not know it";
        }
        never (Revoke, _, _)                        "it is a probe of hLRC";
    }
}

/// Steps of the probes that a system knows.
pub fn probe_machine(known: &[ProbeOp]) -> Machine<ProbeStep> {
    Machine::new("step of a probe", ProbeStep::Look).with(&probes(known))
}

/// The probes that a system knows.
fn known(system: Impl) -> &'static [ProbeOp] {
    match system {
        Impl::Base => &[],
        Impl::Brsp => &[ProbeOp::FlushAll, ProbeOp::InvAll],
        Impl::BrspToken => &[ProbeOp::LockFlush, ProbeOp::InvUnlock, ProbeOp::InvAll],
        Impl::Srsp | Impl::SrspOpt => &[ProbeOp::SelFlush, ProbeOp::SelInv],
    }
}

/// Steps that a system's probes do not have.
fn absent(system: Impl) -> &'static [ProbeStep] {
    use ProbeStep::*;
    match system {
        Impl::Base => &[Flush, Drop, Settle, Pack],
        Impl::Brsp | Impl::BrspToken => &[Settle],
        Impl::Srsp | Impl::SrspOpt => &[],
    }
}

/// Reports steps that nothing leads to.
pub(super) fn check(system: Impl) {
    probe_machine(known(system)).check(absent(system));
}

/// The unit.
pub(super) struct ProbeUnit {
    pub probe: InChannel<Probe>,
    pub step: Reg<Enum<ProbeStep>>,
    hit: Reg<Bool>,
    out: OutChannel<Pack>,
}

/// The row at work.
pub(super) struct ProbePlan {
    row: Decoded<ProbeStep, ProbeDoes>,
    /// The steps to which it leads.
    moves: [(ProbeStep, Bool); 4],
    /// The probe's slot is this one, and it drops its line.
    pub inv: Bool,
    /// The slot is one of a probe.
    here: Bool,
    done: Bool,
}

impl ProbeUnit {
    pub fn new(p: &L1Params) -> ProbeUnit {
        ProbeUnit {
            probe: in_channel::<Probe>("probe", &p.shape.srsp),
            step: reg::<Enum<ProbeStep>>("probe_step", ()),
            hit: reg::<Bool>("probe_hit", ()),
            out: out_channel::<Pack>("pack_out", &p.shape.srsp),
        }
    }

    fn at(&self, step: ProbeStep) -> Bool {
        self.probe.valid & self.step.get().is(step)
    }

    /// The next slot is wanted.
    pub fn wants(&self, here: Bool) -> Bool {
        (self.at(ProbeStep::Look) | self.at(ProbeStep::Drop)) & !here
    }

    /// The row at work: `here` says that the slot is the unit's.
    pub fn plan(&self, core: &Core, here: Bool, pa: Option<&PaFound>) -> ProbePlan {
        let m = &self.probe.msg;
        let early = bool_lit(core.p.inject == Inject::EarlyPack) & m.op.is(ProbeOp::SelFlush);
        let flushed = core.drain.probe().done.get() | early;
        let settled = !core.wbt.table.has(core.p.shape.srsp.line_of(m.addr));
        let slot = here & (self.at(ProbeStep::Look) | self.at(ProbeStep::Drop));
        let done = slot
            | (self.at(ProbeStep::Flush) & flushed)
            | (self.at(ProbeStep::Settle) & settled)
            | (self.at(ProbeStep::Pack) & self.out.free);
        // A slot of the unit neither pushes nor pops: what the sFIFO holds now it holds at the slot's end.
        let case = match pa {
            Some(found) => found.overflows,
            None if core.p.system.broadcasts() => !core.sfifo.some() & core.wbt.empty(),
            None => bool_lit(false),
        };
        // The slot's row is seen as carried out only when it is: its line may have to wait for the way to the L2.
        let known = known(core.p.system);
        let of_system = m.op.is_any(known);
        let text = "a probe is one of this system";
        assert_always("srsp_l1_probe_known", !self.probe.valid | of_system, text);
        let table = probes(known);
        let line = core.p.shape.srsp.line_of(m.addr);
        let row = table.decode_about(line, done & of_system, (m.op, self.step.get(), case));
        let leads = |step: ProbeStep| {
            let rows = table.rows().iter().filter(|row| row.next == [step.encoding()]);
            any_of(&rows.map(|to| row.row(&to.id)).collect::<Vec<_>>())
        };
        let moves = [ProbeStep::Flush, ProbeStep::Drop, ProbeStep::Settle, ProbeStep::Pack];
        let moves = moves.map(|step| (step, leads(step)));
        let mut plan = ProbePlan { row, moves, inv: slot, here: slot, done };
        plan.inv = slot & plan.row.does(ProbeDoes::Inv);
        plan
    }

    /// Carries the row out; `goes`: the line of its slot can leave.
    pub fn run(&self, core: &Core, plan: &ProbePlan, goes: Bool, lr: Option<&LrFound>, pa: Option<&PaFound>) {
        let m = &self.probe.msg;
        let go = plan.done & (!plan.here | goes);
        let does = |action| go & plan.row.does(action);
        for (step, leads) in plan.moves {
            when(go & leads, || self.step.set(step));
        }
        when(does(ProbeDoes::FlushAll), || core.drain.flush_all(core.drain.probe(), &core.sfifo));
        when(does(ProbeDoes::ClosePa), || core.gate.pa.set(true));
        when(does(ProbeDoes::OpenPa), || core.gate.pa.set(false));
        if let Some(lock) = &core.gate.lock {
            let open = core.p.inject == Inject::OpenLock;
            let locks = if open { bool_lit(false) } else { does(ProbeDoes::CloseLock) };
            when(locks, || lock.close(core.p.shape.srsp.line_of(m.addr)));
            when(does(ProbeDoes::OpenLock), || lock.held.set(false));
        }
        when(does(ProbeDoes::CloseAll), || core.gate.all.set(true));
        when(does(ProbeDoes::OpenAll), || core.gate.all.set(false));
        when(does(ProbeDoes::Drop), || core.drop_all());
        if let Some(lr) = lr {
            self.flush_to(core, does(ProbeDoes::FlushTo), lr);
        }
        if let (Some(found), Some(table)) = (pa, &core.pa) {
            let dropped = core.p.inject == Inject::PaDropped;
            let insert = if dropped { bool_lit(false) } else { does(ProbeDoes::Insert) };
            when(insert, || table.insert(found));
        }
        if let Some(table) = &core.lr {
            let word = m.addr.slice(2, core.p.shape.srsp.word_bits());
            let gone = does(ProbeDoes::Pack) & m.op.is(ProbeOp::SelFlush) & table.look(word).hit;
            let text = "a flushed release has left the LR-TBL when its SEL_FLUSH is acknowledged";
            assert_always("srsp_l1_flushed_gone", !gone, text);
        }
        when(does(ProbeDoes::Pack), || {
            self.probe.take();
            self.step.set(ProbeStep::Look);
            self.out.send(&Pack {
                src: core.own,
                dst: m.req,
                hit: self.hit.get() & m.op.is(ProbeOp::SelFlush),
            });
        });
        self.check_step(core, plan, go, lr);
        when(plan.here & goes, || self.hit.set(lr.map_or(bool_lit(false), |found| found.hit)));
        self.observe(core, &does, lr, pa);
    }

    /// The step that follows is the one to which the row leads; `go`: it is carried out.
    fn check_step(&self, core: &Core, plan: &ProbePlan, go: Bool, lr: Option<&LrFound>) {
        let row = plan.row.clone();
        let skips = match lr {
            Some(found) if core.p.inject == Inject::NoMissFence => row.does(ProbeDoes::FlushTo) & !found.hit,
            _ => bool_lit(false),
        };
        self.step.on_next(move |next| row.leads_to_when(go & !skips, next));
    }

    fn flush_to(&self, core: &Core, goes: Bool, lr: &LrFound) {
        let short = core.p.inject == Inject::FlushShort;
        let marker = if short { core.sfifo.before(lr.ptr) } else { lr.ptr };
        let first = lr.ptr.eq(core.sfifo.head());
        let need = if short { lr.hit & !first } else { lr.hit };
        when(goes, || core.drain.flush_to(need, marker));
        if core.p.inject == Inject::NoMissFence {
            when(goes & !lr.hit, || {
                core.drain.probe().cancel();
                self.step.set(ProbeStep::Pack);
            });
        }
        let in_flight = goes & !lr.hit & !core.wbt.empty();
        let text = "SEL_FLUSH misses while write-backs, maybe of a release that overflowed, are under way";
        cover("srsp.race.miss_in_flight", in_flight, text);
        count("srsp_l1_lr_hit", goes & lr.hit, "SEL_FLUSHes that found a release");
        count("srsp_l1_lr_miss", goes & !lr.hit, "SEL_FLUSHes that found none");
    }

    fn observe(
        &self,
        core: &Core,
        does: &dyn Fn(ProbeDoes) -> Bool,
        lr: Option<&LrFound>,
        pa: Option<&PaFound>,
    ) {
        let m = &self.probe.msg;
        count("srsp_l1_probes", does(ProbeDoes::Pack), "probes served");
        let found = lr.map_or(bool_lit(false), |lr| does(ProbeDoes::FlushTo) & lr.hit);
        // A flush that finds nothing is one, too: for a broadcast every L1 has it.
        let clean = does(ProbeDoes::Drop) & m.op.is(ProbeOp::InvAll) & self.step.get().is(ProbeStep::Look);
        let empty = does(ProbeDoes::Inv) & m.op.is(ProbeOp::FlushAll);
        let all = does(ProbeDoes::FlushAll) | does(ProbeDoes::CloseLock) | clean | empty;
        count("srsp_l1_flush_probe", found | all, "flushes for a probe");
        if let Some(found) = pa {
            count(
                "srsp_l1_pa_insert",
                does(ProbeDoes::Insert) & !found.hit,
                "addresses inserted into the PA-TBL",
            );
            count("srsp_l1_pa_duplicate", does(ProbeDoes::Insert) & found.hit, "addresses that were there");
            count("srsp_l1_pa_full", does(ProbeDoes::ClosePa), "invalidations for want of a PA entry");
        }
        let own = core.gate.own.get() & core.sync.steps.runs.get();
        let text = "a probe is served while the own gate is closed for an own operation";
        if core.p.system != Impl::Base {
            cover("srsp.race.probe_gate_closed", does(ProbeDoes::Pack) & own, text);
            let same =
                core.sync.steps.runs.get() & core.sync.line(&core.p).eq(core.p.shape.srsp.line_of(m.addr));
            let text = "a probe comes for the line of the own operation at work";
            if core.p.system.locks_lines() {
                cover("srsp.race.probe_own_line", does(ProbeDoes::Inv) & same, text);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_leads_on() {
        for (system, _) in Impl::WORDS {
            let known = known(*system);
            assert_eq!(probes(known).faults(), [], "{system:?}");
            assert_eq!(probe_machine(known).unreached(), absent(*system), "{system:?}");
        }
        let table = probes(ProbeOp::VARIANTS);
        assert_eq!(table.faults(), []);
        for row in table.rows() {
            assert!(row.next.len() == 1 && row.next != row.when[1], "{}", row.id);
        }
    }
}

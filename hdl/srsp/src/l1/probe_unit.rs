//! Probe unit: one probe at a time, always served, whatever the CU gate and the own operation do (srsp.md section 5.2).
//!
//! | state | values |
//! | --- | --- |
//! | `probe_step` | LOOK: the probe waits for its slot; FLUSH: for the drain; DROP: for the slot of its flash-inv; SETTLE: until no write-back of the line is under way; PACK: for the way to the requester |
//! | `probe_hit` | what the PACK says |

use super::Core;
use super::params::{Inject, L1Params};
use super::table::column;
use crate::lr_tbl::LrFound;
use crate::msg::{Pack, Probe, ProbeOp};
use crate::pa_tbl::PaFound;
use weft_rtl::prelude::*;

/// Where the probe is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum ProbeStep {
    /// Waits for its slot.
    Look,
    /// Waits for the drain.
    Flush,
    /// Waits for the slot of its flash-inv.
    Drop,
    /// Waits for the line's write-backs.
    Settle,
    /// Waits for the way to the requester.
    Pack,
}

type Line = (&'static str, ProbeOp, ProbeStep, &'static [u64], &'static [&'static str], &'static str);

/// Probes of selective remote operations. `case`, of SEL_INV: the PA-TBL is full and the address is not in it.
fn selective() -> &'static [Line] {
    use ProbeOp::*;
    use ProbeStep::*;
    &[
        (
            "SEL_FLUSH.look",
            SelFlush,
            Look,
            &[],
            &["inv", "flush_to", "to_flush"],
            "LR lookup and line-inv in one slot; hit: flush up to its entry.",
        ),
        (
            "SEL_FLUSH.flush",
            SelFlush,
            Flush,
            &[],
            &["to_pack"],
            "Hit or miss, all older write-backs are acknowledged.",
        ),
        ("SEL_FLUSH.pack", SelFlush, Pack, &[], &["pack"], "Hit or miss is told."),
        (
            "SEL_INV.look",
            SelInv,
            Look,
            &[0],
            &["inv", "insert", "to_settle"],
            "PA insertion and line-inv in one slot.",
        ),
        (
            "SEL_INV.full",
            SelInv,
            Look,
            &[1],
            &["inv", "close_pa", "flush_all", "to_flush"],
            "No room: invalidate instead, which honours it too.",
        ),
        ("SEL_INV.flush", SelInv, Flush, &[], &["to_drop"], "Nothing is dirty any more."),
        (
            "SEL_INV.drop",
            SelInv,
            Drop,
            &[],
            &["drop", "open_pa", "to_settle"],
            "Lines and tables are dropped, the gate opens.",
        ),
        ("SEL_INV.settle", SelInv, Settle, &[], &["to_pack"], "The line's bytes are in the L2."),
        ("SEL_INV.pack", SelInv, Pack, &[], &["pack"], "Acknowledged."),
    ]
}

/// Probes of remote operations by broadcast. `case`: the sFIFO is empty and no write-back is under way.
fn broadcast() -> &'static [Line] {
    use ProbeOp::*;
    use ProbeStep::*;
    &[
        (
            "LOCK_FLUSH.look",
            LockFlush,
            Look,
            &[0],
            &["close_lock", "flush_all", "to_flush"],
            "The address is locked.",
        ),
        (
            "LOCK_FLUSH.clean",
            LockFlush,
            Look,
            &[1],
            &["close_lock", "to_pack"],
            "The same, with nothing to flush.",
        ),
        ("LOCK_FLUSH.flush", LockFlush, Flush, &[], &["to_pack"], "Everything dirty is in the L2."),
        ("LOCK_FLUSH.pack", LockFlush, Pack, &[], &["pack"], "Acknowledged; the lock stays."),
        (
            "INV_UNLOCK.look",
            InvUnlock,
            Look,
            &[0],
            &["close_all", "flush_all", "to_flush"],
            "Accesses that the lock let pass have left dirty lines.",
        ),
        (
            "INV_UNLOCK.clean",
            InvUnlock,
            Look,
            &[1],
            &["drop", "open_lock", "to_pack"],
            "Lines are dropped, the lock ends.",
        ),
        ("INV_UNLOCK.flush", InvUnlock, Flush, &[], &["to_drop"], "Nothing is dirty any more."),
        (
            "INV_UNLOCK.drop",
            InvUnlock,
            Drop,
            &[],
            &["drop", "open_all", "open_lock", "to_pack"],
            "Lines are dropped, gate and lock open.",
        ),
        ("INV_UNLOCK.pack", InvUnlock, Pack, &[], &["pack"], "Acknowledged."),
        ("INV_ALL.look", InvAll, Look, &[0], &["close_all", "flush_all", "to_flush"], "The gate closes."),
        ("INV_ALL.clean", InvAll, Look, &[1], &["drop", "to_pack"], "Nothing to flush: lines are dropped."),
        ("INV_ALL.flush", InvAll, Flush, &[], &["to_drop"], "Nothing is dirty any more."),
        (
            "INV_ALL.drop",
            InvAll,
            Drop,
            &[],
            &["drop", "open_all", "to_pack"],
            "Lines are dropped, the gate opens.",
        ),
        ("INV_ALL.pack", InvAll, Pack, &[], &["pack"], "Acknowledged."),
        (
            "FLUSH_ALL.look",
            FlushAll,
            Look,
            &[0],
            &["inv", "flush_all", "to_flush"],
            "Line-inv in the slot from which on everything dirty is flushed: the line is locked at the L2.",
        ),
        ("FLUSH_ALL.clean", FlushAll, Look, &[1], &["inv", "to_pack"], "Line-inv, with nothing to flush."),
        ("FLUSH_ALL.flush", FlushAll, Flush, &[], &["to_pack"], "Everything dirty is in the L2."),
        ("FLUSH_ALL.pack", FlushAll, Pack, &[], &["pack"], "Acknowledged."),
    ]
}

/// The steps of each probe.
pub fn probes() -> Table {
    let row = |(id, op, step, case, actions, text): &Line| Row {
        id: format!("srsp.probe.{id}"),
        when: vec![vec![op.encoding()], vec![step.encoding()], case.to_vec()],
        actions: actions.to_vec(),
        text: (*text).into(),
    };
    let words = ["SEL_FLUSH", "SEL_INV", "LOCK_FLUSH", "INV_UNLOCK", "INV_ALL", "FLUSH_ALL", "REVOKE"];
    Table {
        name: "probes",
        columns: vec![
            column::<ProbeOp>("probe", &words),
            column::<ProbeStep>("step", &["LOOK", "FLUSH", "DROP", "SETTLE", "PACK"]),
            Column { name: "case", values: vec![("no", 0), ("yes", 1)] },
        ],
        rows: selective().iter().chain(broadcast()).map(row).collect(),
    }
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
    row: Decoded,
    /// Actions that some row of the system takes.
    actions: Vec<&'static str>,
    /// The probe's slot is this one, and it drops its line.
    pub inv: Bool,
    /// The slot is one of a probe.
    here: Bool,
    done: Bool,
}

impl ProbeUnit {
    pub fn new(p: &L1Params) -> ProbeUnit {
        ProbeUnit {
            probe: in_channel::<Probe>("probe", &p.srsp),
            step: reg::<Enum<ProbeStep>>("probe_step", ()),
            hit: reg::<Bool>("probe_hit", ()),
            out: out_channel::<Pack>("pack_out", &p.srsp),
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
        let flushed = core.drain.probe.done.get() | early;
        let settled = !core.wbt.has(core.p.srsp.line_of(m.addr));
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
        let inputs = [m.op.bits(), self.step.get().bits(), case.bits()];
        let known: &[ProbeOp] = match core.p.system {
            crate::params::Impl::Base => &[],
            crate::params::Impl::Brsp => &[ProbeOp::FlushAll, ProbeOp::InvAll],
            crate::params::Impl::BrspToken => &[ProbeOp::LockFlush, ProbeOp::InvUnlock, ProbeOp::InvAll],
            _ => &[ProbeOp::SelFlush, ProbeOp::SelInv],
        };
        let of_system = m.op.is_any(known);
        let text = "a probe is one of this system";
        assert_always("srsp_l1_probe_known", !self.probe.valid | of_system, text);
        let table = table_of(known);
        let actions = table.rows.iter().flat_map(|r| r.actions.clone()).collect();
        let row = table.decode_about(core.p.srsp.line_of(m.addr), done & of_system, &inputs);
        let mut plan = ProbePlan { row, actions, inv: slot, here: slot, done };
        plan.inv = slot & plan.act("inv");
        plan
    }

    /// Carries the row out; `goes`: the line of its slot can leave.
    pub fn run(&self, core: &Core, plan: &ProbePlan, goes: Bool, lr: Option<&LrFound>, pa: Option<&PaFound>) {
        let m = &self.probe.msg;
        let go = plan.done & (!plan.here | goes);
        let does = |action: &str| go & plan.act(action);
        let next = |step: ProbeStep, action: &str| when(does(action), || self.step.set(step));
        next(ProbeStep::Flush, "to_flush");
        next(ProbeStep::Drop, "to_drop");
        next(ProbeStep::Settle, "to_settle");
        next(ProbeStep::Pack, "to_pack");
        when(does("flush_all"), || core.drain.flush_all(&core.drain.probe, &core.sfifo));
        when(does("close_pa"), || core.gate.pa.set(true));
        when(does("open_pa"), || core.gate.pa.set(false));
        if let Some(lock) = &core.gate.lock {
            let open = core.p.inject == Inject::OpenLock;
            let locks = if open { bool_lit(false) } else { does("close_lock") };
            when(locks, || lock.close(core.p.srsp.line_of(m.addr)));
            when(does("open_lock"), || lock.held.set(false));
        }
        when(does("close_all"), || core.gate.all.set(true));
        when(does("open_all"), || core.gate.all.set(false));
        when(does("drop"), || core.drop_all());
        if let Some(lr) = lr {
            self.flush_to(core, does("flush_to"), lr);
        }
        if let (Some(found), Some(table)) = (pa, &core.pa) {
            let dropped = core.p.inject == Inject::PaDropped;
            let insert = if dropped { bool_lit(false) } else { does("insert") };
            when(insert, || table.insert(found));
        }
        if let Some(table) = &core.lr {
            let word = m.addr.slice(2, core.p.srsp.word_bits());
            let gone = does("pack") & m.op.is(ProbeOp::SelFlush) & table.look(word).hit;
            let text = "a flushed release has left the LR-TBL when its SEL_FLUSH is acknowledged";
            assert_always("srsp_l1_flushed_gone", !gone, text);
        }
        when(does("pack"), || {
            self.probe.take();
            self.step.set(ProbeStep::Look);
            self.out.send(&Pack {
                src: core.own,
                dst: m.req,
                hit: self.hit.get() & m.op.is(ProbeOp::SelFlush),
            });
        });
        when(plan.here & goes, || self.hit.set(lr.map_or(bool_lit(false), |found| found.hit)));
        self.observe(core, &does, lr, pa);
    }

    fn flush_to(&self, core: &Core, goes: Bool, lr: &LrFound) {
        let short = core.p.inject == Inject::FlushShort;
        let marker = if short { core.sfifo.before(lr.ptr) } else { lr.ptr };
        let first = lr.ptr.eq(core.sfifo.head());
        let need = if short { lr.hit & !first } else { lr.hit };
        when(goes, || core.drain.flush_to(need, marker));
        if core.p.inject == Inject::NoMissFence {
            when(goes & !lr.hit, || {
                core.drain.probe.cancel();
                self.step.set(ProbeStep::Pack);
            });
        }
        let in_flight = goes & !lr.hit & !core.wbt.empty();
        let text = "SEL_FLUSH misses while write-backs, maybe of a release that overflowed, are under way";
        cover("srsp.race.miss_in_flight", in_flight, text);
        count("srsp_l1_lr_hit", goes & lr.hit, "SEL_FLUSHes that found a release");
        count("srsp_l1_lr_miss", goes & !lr.hit, "SEL_FLUSHes that found none");
    }

    fn observe(&self, core: &Core, does: &dyn Fn(&str) -> Bool, lr: Option<&LrFound>, pa: Option<&PaFound>) {
        let m = &self.probe.msg;
        count("srsp_l1_probes", does("pack"), "probes served");
        let found = lr.map_or(bool_lit(false), |lr| does("flush_to") & lr.hit);
        // A flush that finds nothing is one, too: for a broadcast every L1 has it.
        let clean = does("drop") & m.op.is(ProbeOp::InvAll) & self.step.get().is(ProbeStep::Look);
        let empty = does("inv") & m.op.is(ProbeOp::FlushAll);
        let all = does("flush_all") | does("close_lock") | clean | empty;
        count("srsp_l1_flush_probe", found | all, "flushes for a probe");
        if let Some(found) = pa {
            count("srsp_l1_pa_insert", does("insert") & !found.hit, "addresses inserted into the PA-TBL");
            count("srsp_l1_pa_duplicate", does("insert") & found.hit, "addresses that were there");
            count("srsp_l1_pa_full", does("close_pa"), "invalidations for want of a PA entry");
        }
        let own = core.gate.own.get() & core.sync.runs.get();
        let text = "a probe is served while the own gate is closed for an own operation";
        if core.p.system != crate::params::Impl::Base {
            cover("srsp.race.probe_gate_closed", does("pack") & own, text);
            let same = core.sync.runs.get() & core.sync.line(&core.p).eq(core.p.srsp.line_of(m.addr));
            let text = "a probe comes for the line of the own operation at work";
            if core.p.system.locks_lines() {
                cover("srsp.race.probe_own_line", does("inv") & same, text);
            }
        }
    }
}

/// The rows of some probes.
fn table_of(known: &[ProbeOp]) -> Table {
    let mut table = probes();
    table.rows.retain(|row| known.iter().any(|op| row.when[0] == [op.encoding()]));
    table
}

impl ProbePlan {
    /// The row at work takes an action; never where no probe of the system does.
    fn act(&self, action: &str) -> Bool {
        if self.actions.contains(&action) { self.row.action(action) } else { bool_lit(false) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_do_not_overlap_and_every_step_leads_on() {
        let table = probes();
        assert_eq!(table.overlaps(), []);
        for row in &table.rows {
            let on = row.actions.iter().filter(|a| a.starts_with("to_") || **a == "pack").count();
            assert_eq!(on, 1, "{}", row.id);
        }
    }
}

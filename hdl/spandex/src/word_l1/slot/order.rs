//! What follows an operation of the CU: what waits, what is left, what the CU is told.

use super::{Plan, Slot};
use crate::amo::{merge, spread};
use crate::gpu_l1::op::{Kind, Op};
use crate::word_l1::table::Operate;
use crate::word_l1::turn::Turn;
use weft_blocks::cache::l1::StallCause;
use weft_blocks::msg::CuRsp;
use weft_rtl::prelude::*;

impl Slot<'_> {
    /// Counters (section 13).
    pub(super) fn observe(&self, plan: &Plan) {
        let does = |action| plan.goes & plan.row.does(action);
        let count = |name: &str, cond: Bool, text: &str| count(&self.core.p.named(name), cond, text);
        let drain = self.turns.is(Turn::Drain);
        let takes = |kind: Kind| plan.goes & plan.last & !drain & self.is(kind);
        count("loads", takes(Kind::Load), "loads carried out or put into an MSHR");
        count("stores", takes(Kind::Store), "stores done or buffered");
        count("syncs", takes(Kind::Sync), "atomics and other synchronising accesses");
        count("releases", plan.queues & !self.is(Kind::Store), "releases");
        let owned = (self.part.words & self.found.owned).any();
        count("hit_owned", does(Operate::Hit) & owned, "loads answered here, some words owned");
        count("hit", does(Operate::Hit) & !owned, "loads answered here from valid or buffered words");
        count("misses", does(Operate::Read), "reads of words");
        count("merged", does(Operate::Join), "loads that join a read");
        count("stores_owned", does(Operate::Store) & !drain, "stores done in place");
        count("stores_buffered", does(Operate::Buffer), "stores buffered");
        count("ownership", does(Operate::Ask), "requests for ownership");
        count("atomics_owned", does(Operate::Perform), "atomics and byte stores done in place");
        count("atomics", does(Operate::Own), "requests for ownership and data");
        count(
            "fetched",
            does(Operate::Own) & !plan.row.does(Operate::Through),
            "of these, those that bring words to this L1",
        );
        count(
            "at_llc",
            does(Operate::Own) & plan.row.does(Operate::Through),
            "of these, those done at the LLC",
        );
        if self.core.p.joins() {
            let joins = plan.goes & plan.row.does(Operate::Attach);
            count("joined", joins, "atomics that join the request of their word");
            let text = "an atomic joins a request behind which a forward waits";
            let late = joins & self.core.mshrs.is_wanted(plan.join_at);
            cover(&self.core.p.race("joined_late"), late, text);
        }
        let buffered = (self.part.words & self.buffered.words).any();
        count("hit_buffered", does(Operate::Hit) & buffered, "loads answered here, some words buffered");
        if self.core.p.regions {
            let kept = self.found.fixed & self.turns.region();
            count(
                "hit_region",
                does(Operate::Hit) & kept,
                "loads answered here from lines of read-only regions",
            );
        }
        let words = plan.asked.popcount().zext(32);
        let flushed = plan.goes & drain & (plan.row.does(Operate::Ask) | plan.row.does(Operate::Write));
        count_amount(
            &self.core.p.named("flushed_words"),
            flushed,
            words,
            "words that leave the store buffer for ownership or the LLC",
        );
        count("write_backs", plan.goes & plan.evicts, "lines with owned words replaced");
        if self.core.p.flex() {
            let takes = plan.goes & plan.row.does(Operate::Take);
            let shares = plan.row.does(Operate::Share);
            count("shares", takes & shares, "requests for shared words");
            count("takes", takes & !shares, "loads that ask for ownership and data");
            let through = plan.goes & plan.row.does(Operate::Write);
            count("write_throughs", through, "entries of the store buffer written through");
            let shared = (self.part.words & self.found.shared).any();
            count("hit_shared", does(Operate::Hit) & shared, "loads answered here, some words shared");
        }
        let waits = self.turns.head.valid.get() & !(plan.leaves & self.turns.is(Turn::Cu));
        count("wait_cycles", waits, "cycles in which the request at the head waits");
    }

    /// What is queued, what is left of an operation, acquires.
    pub(super) fn order(&self, plan: &Plan) {
        let (core, op) = (self.core, &self.op);
        when(plan.queues, || {
            let kind = mux(self.is(Kind::Store), enum_lit(Kind::Ack), op.kind);
            core.releases.queue.push(&Op { kind, ..*op });
            self.turns.queue_hint();
        });
        when(plan.goes & self.turns.is(Turn::Cu) & !plan.last, || {
            let words = mux(plan.row.does(Operate::Perform), plan.words, self.part.words);
            let bytes = spread(words, 4) & op.mask;
            self.turns.head.op.set(Op { mask: op.mask & !bytes, ..*op });
        });
        let performed = plan.goes & plan.row.does(Operate::Perform) & self.is(Kind::Sync) & plan.last;
        let kernel = plan.acquires & self.turns.region();
        when(plan.acquires | (performed & op.acquires), || core.flash(kernel));
        let released = self.turns.is(Turn::Release);
        when(released & plan.leaves, || {
            core.releases.pop();
            core.release_done.set(self.none());
            self.turns.pop_hint();
        });
        when(released & plan.goes & !plan.last, || {
            core.release_done.set(core.release_done.get() | plan.words);
        });
        when(released & plan.waits, || core.releases.wait());
        when(self.turns.is(Turn::Drain) & plan.waits, || self.turns.hold_drain());
    }

    /// What the CU gets.
    pub(super) fn answer(&self, plan: &Plan) {
        let (core, op) = (self.core, &self.op);
        let hit = plan.goes & plan.row.does(Operate::Hit);
        let performed = plan.goes & plan.row.does(Operate::Perform) & self.is(Kind::Sync);
        let performed = performed & (!op.store | plan.last);
        let acked = plan.leaves & !plan.looks & !plan.queues;
        let old = core.arrays.data(&self.found);
        let bytes = spread(plan.words, 4) & op.mask;
        let none = lit_bv(Bv::zero(op.mask.width()));
        when(hit | performed | acked, || {
            core.replies.send(&CuRsp {
                id: op.id,
                kind: mux(hit, lit(0, 2), (acked | op.store).bits().zext(2)),
                mask: mux(acked, none, mux(hit, op.mask, bytes)),
                data: mux(hit, merge(self.buffered.words, self.buffered.data, old), old),
                src: lit(0, 3),
                merged: bool_lit(false),
            });
        });
    }

    /// Why requests are not taken, for the CU.
    pub(super) fn tell_stall(&self, plan: &Plan) {
        let stall = output_reg::<Enum<StallCause>>("stall", ()).doc("Why requests are not taken.");
        let busy = output_reg::<Bool>("busy_release", ()).doc("A release is not complete.");
        let cause = |c: StallCause| enum_lit(c);
        let load = mux(self.is(Kind::Load), cause(StallCause::MshrFull), cause(StallCause::SbFull));
        let why = mux(plan.waits, load, cause(StallCause::Other));
        let held = plan.waits & self.is(Kind::Store) & self.held();
        let why = mux(held, cause(StallCause::Release), why);
        let why = mux(plan.looks, why, cause(StallCause::Release));
        let why = mux(self.turns.is(Turn::Cu), why, cause(StallCause::Bank));
        let blocked = self.turns.head.valid.get() & !(plan.leaves & self.turns.is(Turn::Cu));
        stall.set(mux(blocked, why, cause(StallCause::None)));
        busy.set(self.core.releases.queue.valid);
    }
}

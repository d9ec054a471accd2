//! Counters, and what the CU is told.

use super::access::Plan;
use super::seek::Stage;
use super::slot::Slot;
use super::table::Operate;
use super::turn::Turn;
use weft_blocks::cache::l1::StallCause;
use weft_blocks::msg::CuOp;
use weft_rtl::prelude::*;

impl Slot<'_> {
    /// Counters (spandex.md section 13), and words that are owned twice.
    pub(super) fn observe(&self, plan: &Plan) {
        let does = |action| plan.goes & plan.row.does(action);
        let count = |name: &str, cond: Bool, text: &str| count(&format!("stash_{name}"), cond, text);
        let s1 = self.turns.head.op.get();
        let cu = self.turns.is(Turn::Cu);
        let last = plan.goes & plan.leaves & cu;
        count("loads", last & s1.op.is(CuOp::Ld), "loads answered or put into MSHRs");
        count("stores", last & s1.op.is(CuOp::St), "stores done or pending");
        let owned = (plan.banks & self.request.owned).any();
        count("hit_owned", does(Operate::Hit) & owned, "loads answered here, some words owned");
        count("hit", does(Operate::Hit) & !owned, "loads answered here from valid or pending words");
        count("misses", does(Operate::Read), "reads of words of a line");
        count("merged", does(Operate::Join), "loads that join a read");
        count("stores_owned", does(Operate::Store), "stores done in place");
        count("stores_buffered", does(Operate::Buffer), "stores of words of a line that become pending");
        count("ownership", does(Operate::Ask), "requests for ownership");
        count("releases", plan.queues & !plan.store, "releases");
        let words = self.oldest.mask.popcount().zext(32);
        let text = "words that leave the store buffer for ownership";
        count_amount("stash_flushed_words", does(Operate::Ask), words, text);
        let waits = self.turns.head.valid.get() & !(plan.leaves & cu);
        count("wait_cycles", waits, "cycles in which the request at the head waits");
        let text = "cycles in which the words of a miss are sought";
        count("seek_cycles", self.turns.head.valid.get() & !self.core.search.cu.is(Stage::None), text);
        let parts = does(Operate::Hit) & !plan.leaves;
        let text = "a load finds some of its words here and others not";
        cover("spandex.race.stash_parts", parts, text);
    }

    /// Why requests are not taken.
    pub(super) fn tell_stall(&self, plan: &Plan) {
        let stall = output_reg::<Enum<StallCause>>("stall", ()).doc("Why requests are not taken.");
        let busy = output_reg::<Bool>("busy_release", ()).doc("A release is not complete.");
        let map = output_reg::<Bool>("busy_map", ()).doc("A mapping is not ready.");
        let cause = |c: StallCause| enum_lit(c);
        let why = mux(plan.store, cause(StallCause::SbFull), cause(StallCause::MshrFull));
        let why = mux(plan.waits, why, cause(StallCause::Other));
        let op = self.turns.head.op.get().op;
        let release = op.is_any(&[CuOp::Rel, CuOp::Kend]);
        let why = mux(release, cause(StallCause::Release), why);
        let why = mux(self.turns.is(Turn::Cu), why, cause(StallCause::Bank));
        let blocked = self.turns.head.valid.get() & !(plan.leaves & self.turns.is(Turn::Cu));
        stall.set(mux(blocked, why, cause(StallCause::None)));
        busy.set(self.core.releases.queue.valid);
        map.set(self.turns.map.valid);
    }
}

//! The slot of an entry whose words have all come.

use super::slot::Slot;
use super::turn::Turn;
use crate::amo::WordAlu;
use crate::gpu_l1::op::merge;
use weft_blocks::msg::CuRsp;
use weft_rtl::prelude::*;

impl Slot<'_> {
    /// Carries it out.
    pub fn done(&self) {
        let (core, turns) = (self.core, self.turns);
        let active = turns.is(Turn::Done);
        let entry = turns.done_mshr(core);
        let own = core.misses.is_own(entry);
        let target = core.misses.target();
        let mine = active & !turns.done_sb.get();
        let reply = mine & !(own & target.silent);
        let goes = (active & (!reply | core.replies.room())).named("done_goes");
        when(goes & turns.done_sb.get(), || self.owned());
        when(goes & mine & !own, || self.arrived());
        when(goes & mine & own, || self.operate());
        let (read, old) = (core.misses.arrived(entry).1, core.misses.operation(entry).1);
        when(goes & reply, || {
            core.replies.send(&CuRsp {
                id: target.id,
                kind: target.ack.bits().zext(2),
                mask: target.mask,
                data: mux(own, old, read),
                src: lit(1, 3),
                merged: turns.done_next.get().any(),
            });
        });
        let text = "the way of a line under way is kept";
        let needs = !(own & core.misses.is_through(entry)) | turns.done_sb.get();
        assert_always("denovo_l1_pinned", !active | !needs | self.found.present, text);
        let row =
            |name: &str, cond: Bool, text: &str| cover(&format!("spandex.denovo_l1.{name}"), cond, text);
        let stale = core.misses.is_stale(entry);
        row("done.read", goes & mine & !own & !stale, "Words are installed V; loads are answered.");
        row("done.stale", goes & mine & !own & stale, "Loads are answered; nothing is installed.");
        row(
            "done.PO",
            goes & turns.done_sb.get(),
            "Words are O with what was buffered, or I if their removal has come.",
        );
        let through = core.misses.is_through(entry);
        let text = "The operation is done on owned words; what was delayed follows.";
        row("done.PD", goes & mine & own & !through, text);
        if core.p.through() {
            row(
                "done.through",
                goes & mine & own & through,
                "The LLC has done the operation; the word is I.",
            );
        }
        let race = |name: &str, cond: Bool, text: &str| cover(&format!("spandex.race.{name}"), cond, text);
        let gone = core.pending.gone(turns.done_entry(core)).any();
        race(
            "denovo_removed_early",
            goes & turns.done_sb.get() & gone,
            "the removal of a word comes before its ownership",
        );
        let delayed = core.misses.has_delayed(entry);
        race(
            "denovo_delayed",
            goes & mine & own & delayed,
            "forwards come before the data that they ask for",
        );
    }

    /// Ownership has come for an entry of the store buffer.
    fn owned(&self) {
        let core = self.core;
        let at = self.turns.done_entry(core);
        let all = self.buffered.out_words;
        let words = all & !core.pending.gone(at);
        let found = &self.found;
        core.arrays.set_words(found, found.valid & !all, found.owned | words);
        core.arrays.put_data(found, merge(words, self.buffered.out_data, core.arrays.data(found)));
        core.buffer.answered(at);
        core.pending.done(at);
        core.misses.spoil(self.of_line.all);
        self.turns.end_done(bool_lit(true));
        when(self.of_line.all.none(), || core.arrays.unpin(found));
    }

    /// The words of a read have come: they are installed with the first load.
    fn arrived(&self) {
        let core = self.core;
        let entry = self.turns.done_mshr(core);
        let (words, line) = core.misses.arrived(entry);
        let taken = self.found.owned | self.of_line.owning | self.back.open | self.buffered.words;
        let words = words & !taken & (!core.misses.is_stale(entry)).repeat(words.width());
        let found = &self.found;
        when(words.any() & self.turns.done_next.get().none(), || {
            core.arrays.set_words(found, found.valid | words, found.owned);
            // A line with other valid words may hold some that an acquire must drop.
            let fixed = core.misses.is_region(entry) & (found.fixed | found.valid.none());
            core.arrays.fix(found, fixed);
            core.arrays.put_data(found, merge(words, line, core.arrays.data(found)));
            core.arrays.touch(found);
        });
        let last = (self.turns.done_next.get().zext(8) + 1).eq(core.misses.count(entry).zext(8));
        self.turns.end_done(last);
        when(last, || self.free_miss(entry));
    }

    /// The data of an atomic or byte store has come.
    fn operate(&self) {
        let core = self.core;
        let entry = self.turns.done_mshr(core);
        let (words, old, operand) = core.misses.operation(entry);
        let alu = WordAlu { op: operand.amo, cmp: operand.cmp, bmask: operand.bmask };
        let new = alu.line(words, old, operand.data).0;
        let found = &self.found;
        when(!core.misses.is_through(entry), || {
            core.arrays.set_words(found, found.valid & !words, found.owned | words);
            core.arrays.put_data(found, merge(words, new, core.arrays.data(found)));
        });
        core.misses.spoil(self.of_line.all);
        when(core.misses.target().acquires, || core.flash(bool_lit(false)));
        self.turns.end_done(bool_lit(true));
        when(core.misses.has_delayed(entry), || core.misses.follow(entry))
            .otherwise(|| self.free_miss(entry));
    }
}

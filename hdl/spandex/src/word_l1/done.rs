//! The slot of an entry whose words have come: all of a read, some of an own entry.

use super::slot::Slot;
use super::turn::Turn;
use crate::amo::WordAlu;
use crate::amo::merge;
use weft_blocks::msg::CuRsp;
use weft_rtl::prelude::*;

/// What a slot of an own entry does.
struct Operated {
    words: Bits,
    old: Bits,
    alu: WordAlu,
    operand: Bits,
}

impl Slot<'_> {
    /// Carries it out.
    pub fn done(&self) {
        let (core, turns) = (self.core, self.turns);
        let active = turns.is(Turn::Done);
        let entry = turns.done.mshr();
        let (own, whole) = (core.mshrs.is_own(entry), core.mshrs.left(entry).none());
        let operates = own & !core.mshrs.is_loading(entry);
        let target = core.mshrs.target();
        let mine = active & !turns.done.sb.get();
        let reply = mine & whole & !(operates & target.silent);
        let goes = (active & (!reply | core.replies.room())).named("done_goes");
        let written = core.pending.how(turns.done.entry()).through;
        when(goes & turns.done.sb.get(), || self.sent(written));
        when(goes & mine & !own, || self.arrived());
        when(goes & mine & own, || self.serve());
        let (read, old) = (core.mshrs.arrived(entry).1, self.operated(entry).old);
        when(goes & reply, || {
            core.replies.send(&CuRsp {
                id: target.id,
                kind: target.ack.bits().zext(2),
                mask: target.mask,
                data: mux(operates, old, read),
                src: lit(1, 3),
                merged: turns.done.next.get().any(),
            });
        });
        let text = "the way of a line under way is kept";
        let none = mux(turns.done.sb.get(), written, own & core.mshrs.is_through(entry));
        assert_always(&core.p.named("pinned"), !active | none | self.found.present, text);
        self.observe_done(goes, written);
    }

    fn observe_done(&self, goes: Bool, written: Bool) {
        let (core, turns) = (self.core, self.turns);
        let entry = turns.done.mshr();
        let sent = goes & turns.done.sb.get();
        let mine = goes & !turns.done.sb.get();
        let (own, through) = (core.mshrs.is_own(entry), core.mshrs.is_through(entry));
        let stale = core.mshrs.is_stale(entry);
        let row = |name: &str, cond: Bool, text: &str| cover(&core.p.row(name), cond, text);
        row("done.read", mine & !own & !stale, "Words are installed V; loads are answered.");
        row("done.stale", mine & !own & stale, "Loads are answered; nothing is installed.");
        let text = "Words are O with what was buffered, or I if their removal has come.";
        row("done.PO", sent & !written, text);
        let came = core.mshrs.came(entry).any();
        let loads = core.mshrs.is_loading(entry);
        let text = "The operation is done on owned words; what was delayed follows.";
        row("done.PD", mine & own & !through & !loads & came, text);
        if core.p.joins() {
            let text = "An atomic that has joined is done on the word as those before it left it.";
            row("done.joined", mine & self.later(), text);
        }
        if core.p.through() {
            row("done.through", mine & own & through, "The LLC has done the operation; the word is I.");
        }
        if core.p.flex() {
            let (owned, shared) = core.mshrs.came_as(entry);
            let used = core.mshrs.came(entry) & !owned & !shared;
            row("done.owned", mine & loads & owned.any(), "Words of a load are O; what was delayed follows.");
            row("done.shared", mine & loads & shared.any(), "Words of a load are S.");
            row("done.once", mine & loads & used.any(), "Words of a load are used once and are I.");
            row("done.WT", sent & written, "Words are written through; nothing changes here.");
        }
        let race = |name: &str, cond: Bool, text: &str| cover(&core.p.race(name), cond, text);
        let gone = core.pending.gone(turns.done.entry()).any();
        let text = "the removal of a word comes before its ownership";
        race("removed_early", sent & !written & gone, text);
        let text = "forwards come before the data that they ask for";
        race("delayed", mine & own & core.mshrs.has_delayed(entry), text);
        let text = "words of an entry are served before the others have come";
        race("word_by_word", mine & own & came & core.mshrs.left(entry).any(), text);
    }

    /// Ownership has come for an entry of the store buffer, or it has been written through.
    fn sent(&self, written: Bool) {
        let core = self.core;
        let at = self.turns.done.entry();
        let all = self.buffered.out_words;
        let words = all & !core.pending.gone(at);
        let found = &self.found;
        when(!written, || {
            core.arrays.set_words(found, &found.states().without(all).to_owned(words));
            core.arrays.put_data(found, merge(words, self.buffered.out_data, core.arrays.data(found)));
            core.mshrs.spoil(self.of_line.all);
        });
        core.buffer.answered(at);
        core.pending.done(at);
        self.turns.done.end(bool_lit(true));
        when(self.of_line.all.none() & found.present, || core.arrays.unpin(found));
    }

    /// The words of a read have come: they are installed with the first load.
    fn arrived(&self) {
        let core = self.core;
        let entry = self.turns.done.mshr();
        let (words, line) = core.mshrs.arrived(entry);
        let found = &self.found;
        let better = found.owned | found.shared | self.of_line.owning;
        let taken = better | self.back.open | self.buffered.words;
        let words = words & !taken & (!core.mshrs.is_stale(entry)).repeat(words.width());
        when(words.any() & self.turns.done.next.get().none(), || {
            core.arrays.set_words(found, &found.states().to_valid(words));
            // A line with other valid words may hold some that an acquire must drop.
            let fixed = core.mshrs.is_region(entry) & (found.fixed | found.valid.none());
            core.arrays.fix(found, fixed);
            core.arrays.put_data(found, merge(words, line, core.arrays.data(found)));
            core.arrays.touch(found);
        });
        let last = self.last_target(entry);
        self.turns.done.end(last);
        when(last, || self.free_miss(entry));
    }

    fn last_target(&self, entry: Bits) -> Bool {
        (self.turns.done.next.get().zext(8) + 1).eq(self.core.mshrs.count(entry).zext(8))
    }

    /// The slot is that of an atomic that has joined an own entry.
    fn later(&self) -> Bool {
        let turns = self.turns;
        let own = self.core.mshrs.is_own(turns.done.mshr()) & !turns.done.sb.get();
        own & turns.done.next.get().any() & bool_lit(self.core.p.joins())
    }

    /// What the slot of an own entry does: the entry's operation on what came, or that of an atomic that has
    /// joined on what those before it left.
    fn operated(&self, entry: Bits) -> Operated {
        let core = self.core;
        let (words, old, operand) = core.mshrs.operation(entry);
        let alu = WordAlu { op: operand.amo, cmp: operand.cmp, bmask: operand.bmask };
        let Some(joined) = core.mshrs.joined() else {
            return Operated { words, old, alu, operand: operand.data };
        };
        let later = self.later();
        let each = pack(&vec![joined.data; words.width() as usize]);
        let (op, cmp) = (mux(later, joined.amo, alu.op), mux(later, joined.cmp, alu.cmp));
        Operated {
            words,
            old: mux(later, core.arrays.data(&self.found), old),
            alu: WordAlu { op, cmp, ..alu },
            operand: mux(later, each, operand.data),
        }
    }

    /// Words of an own entry have come: the operation is done on them, and what was delayed for them follows. Loads are answered when all have come.
    fn serve(&self) {
        let core = self.core;
        let entry = self.turns.done.mshr();
        let now = self.operated(entry);
        let (loads, through) = (core.mshrs.is_loading(entry), core.mshrs.is_through(entry));
        let came = core.mshrs.came(entry);
        let came = came & (!through).repeat(came.width());
        let (owned, shared) = core.mshrs.came_as(entry);
        let ready = mux(self.later(), now.words, came);
        let new = now.alu.line(now.words & ready & (!loads).repeat(ready.width()), now.old, now.operand).0;
        let found = &self.found;
        when(ready.any(), || {
            core.arrays.set_words(found, &found.states().without(came).to_owned(owned).to_shared(shared));
            core.arrays.put_data(found, merge(ready, new, core.arrays.data(found)));
            core.mshrs.serve(entry, came);
        });
        core.mshrs.spoil(self.of_line.all);
        let whole = core.mshrs.left(entry).none();
        when(whole & !loads & core.mshrs.target().acquires, || core.flash(bool_lit(false)));
        let several = loads | bool_lit(core.p.joins());
        let last = whole & (!several | self.last_target(entry));
        self.turns.done.end(last | !whole);
        let due = core.mshrs.is_due(entry, came);
        when(last & !due, || self.free_miss(entry)).otherwise(|| {
            when(last | !whole, || core.mshrs.follow(entry, due, last));
        });
    }
}

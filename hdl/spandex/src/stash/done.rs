//! The slot of a read, or an entry of the store buffer, whose words have all come.

use super::banks::WordState;
use super::port::StashRsp;
use super::slot::Slot;
use super::turn::Turn;
use weft_rtl::prelude::*;

impl Slot<'_> {
    /// Carries it out.
    pub fn done(&self) {
        let (core, turns) = (self.core, self.turns);
        let active = turns.is(Turn::Done);
        let (entry, at) = (turns.done.mshr(), turns.done.entry());
        let read = active & !turns.done.sb.get();
        let goes = read & core.replies.free;
        let owns = active & turns.done.sb.get();
        let (asked, line) = core.mshrs.arrived(entry);
        let stale = core.mshrs.is_stale(entry);
        let first = turns.done.next.get().none();
        let kept = asked & self.mine & !self.states.here() & (!stale).repeat(asked.width());
        when(goes & first & kept.any(), || {
            self.set(kept, WordState::V);
            self.put(kept, line);
        });
        let last = (turns.done.next.get().zext(8) + 1).eq(core.mshrs.count(entry).zext(8));
        when(goes, || {
            let target = core.mshrs.target();
            core.replies.send(&StashRsp {
                id: target.id,
                kind: lit(0, 2),
                mask: target.mask,
                data: core.banks.to_banks(self.run.first, self.run.to_run(line)),
                src: mux(core.mshrs.is_peer(entry), lit(2, 3), lit(1, 3)),
                merged: !first,
            });
            turns.done.end(last);
            when(last, || core.mshrs.free(entry));
        });
        let owned = core.buffer.mask(at) & !core.pending.gone(at);
        when(owns, || {
            self.set(owned, WordState::O);
            core.buffer.answered(at);
            core.pending.done(at);
            turns.done.end(bool_lit(true));
        });
        let text = "words whose ownership has come were pending";
        assert_always("stash_done_pending", !owns | (owned & !self.states.pending).none(), text);
        let row = |name: &str, cond: Bool, text: &str| cover(&format!("spandex.stash.{name}"), cond, text);
        row("done.read", goes & first & !stale, "Words that are still I become V; loads are answered.");
        row("done.stale", goes & first & stale, "Loads are answered; nothing is kept.");
        row("done.PO", owns, "Pending words are O, but for those whose removal has come.");
        let race = |name: &str, cond: Bool, text: &str| {
            cover(&format!("spandex.race.stash_{name}"), cond, text);
        };
        let gone = core.pending.gone(at).any();
        race("removed_early", owns & gone, "the removal of a word comes before its ownership");
        let again = core.pending.gone(at) & core.buffer.mask(at) & self.states.pending;
        race(
            "stored_again",
            owns & again.any(),
            "a word is stored again between its removal and its ownership",
        );
    }
}

//! The slot of a forward: the mappings of its line one after the other, words of one status per cycle; then what the buffers hold, and the rest (spandex.md section 5).

use super::banks::WordState;
use super::params::Inject;
use super::slot::Slot;
use super::table::forwards;
use super::turn::Turn;
use crate::msg::{FwdOp, RspOp};
use crate::word_l1::answer::{Answer, Now};
use crate::word_l1::forward::{splits, status_after};
use crate::word_l1::table::{Forward, Status};
use weft_rtl::prelude::*;

/// Words of one status.
struct Group {
    status: Enum<Status>,
    words: Bits,
    data: Bits,
    /// Entry of the write-back buffer that they belong to.
    back: Bits,
    /// None in this mapping, and there is another one.
    moves: Bool,
}

impl Slot<'_> {
    fn group(&self, rest: Bits) -> Group {
        let core = self.core;
        let at = self.buffered.out_at;
        let out = self.buffered.out_words & !core.pending.gone(at) & self.buffered.out.repeat(rest.width());
        let pending = self.states.pending & out;
        let (back, live, back_data) = core.wbb.first_live(self.line, rest);
        let here = self.line_data();
        let (owned, pending) = (rest & self.states.owned, rest & pending);
        let status = |s: Status| enum_lit(s);
        let group = Group {
            status: status(Status::Other),
            words: rest & !self.back.live,
            data: here,
            back,
            moves: owned.none() & pending.none() & core.search.fwd.left.get().any(),
        };
        let parts = [(Status::Wb, live, back_data), (Status::Po, pending, here), (Status::O, owned, here)];
        parts.iter().fold(group, |rest, (s, words, data)| Group {
            status: mux(words.any(), status(*s), rest.status),
            words: mux(words.any(), *words, rest.words),
            data: mux(words.any(), *data, rest.data),
            ..rest
        })
    }

    /// Carries one step of a forward out.
    pub fn forward(&self) {
        let (core, turns, unit) = (self.core, self.turns, &self.core.fwd);
        let now = Now::of(&turns.fwd.msg, &unit.begun, &unit.rest);
        let active = turns.is(Turn::Fwd) & turns.fwd.valid;
        let group = self.group(now.rest);
        let inv = now.op.is(FwdOp::Inv);
        // What RspWB changes in this cycle is not changed by a slot too.
        let rsp = &self.rsp.msg;
        let clash = self.rsp.valid & rsp.op.is(RspOp::RspWb) & group.status.is(Status::Wb);
        let goes = (active & !group.moves & !clash & core.rsp_out.free).named("fwd_goes");
        let row = forwards().decode(goes, (now.op, group.status, now.direct));
        let first_of_two = row.does(Forward::Both) & !unit.second.get() & (group.words & now.wanted).any();
        let nacks = row.does(Forward::Nack);
        let done = goes & !first_of_two;
        when(goes, || {
            let extra = self.states.owned & (group.status.is(Status::O) & !nacks).repeat(group.words.width());
            let answer = Answer {
                line: self.line,
                words: group.words,
                data: group.data,
                extra,
                nacks,
                first_of_two,
                kept_s: bool_lit(false),
            };
            core.rsp_out.send(&answer.message(&core.p.spandex, core.own, &now, &row));
        });
        when(done & !inv, || self.change(&group, &row));
        row.leads_to_when(done, self.status_left(&group, &row));
        let between = (goes & first_of_two) | (unit.second.get() & !goes);
        when(active & between, || turns.repeat_fwd());
        when(active & group.moves, || turns.move_fwd(core));
        let rest = now.rest & !group.words;
        let last = rest.none() & !first_of_two;
        when(goes, || {
            unit.second.set(first_of_two);
            unit.rest.set(mux(first_of_two, now.rest, rest));
            unit.begun.set(!last);
            when(last, || turns.end_fwd(core));
        });
        self.observe_forward(&now, &group, goes, active, nacks);
    }

    /// Status that this cycle leaves words in.
    fn status_left(&self, group: &Group, row: &Decoded<Status, Forward>) -> Enum<Status> {
        let core = self.core;
        let states = core.banks.states_after(&self.run, self.mine);
        // A fault that loses a removal.
        let lost = row.does(Forward::Note) & bool_lit(core.p.inject == Inject::KeepsOwnership);
        let pending = states.pending & !core.pending.gone_after(self.buffered.out_at);
        let stays = [
            (Status::O, states.owned),
            (Status::Po, pending & !lost.repeat(group.words.width())),
            (Status::Wb, !core.wbb.gone_after(group.back)),
        ];
        status_after(group.status, group.words, &stays)
    }

    /// What a forward does to its words.
    fn change(&self, group: &Group, row: &Decoded<Status, Forward>) {
        let (core, words) = (self.core, group.words);
        when(row.does(Forward::Lose), || {
            when(row.does(Forward::Keep), || self.set(words, WordState::V))
                .otherwise(|| self.set(words, WordState::I));
        });
        when(row.does(Forward::Write), || self.put(words, self.turns.fwd.msg.data));
        when(row.does(Forward::Note) & group.status.is(Status::Po), || {
            core.pending.removed(self.buffered.out_at, words);
            if core.p.inject != Inject::KeepsOwnership {
                self.set(words, WordState::I);
            }
        });
        when(row.does(Forward::Note) & group.status.is(Status::Wb), || core.wbb.removed(group.back, words));
    }

    fn observe_forward(&self, now: &Now, group: &Group, goes: Bool, active: Bool, nacks: Bool) {
        count("spandex_tu_refused", goes & nacks, "forwards answered by a Nack");
        let race = |name: &str, cond: Bool, text: &str| {
            cover(&format!("spandex.race.stash_{name}"), cond, text);
        };
        let unit = &self.core.fwd;
        let split = (goes & unit.begun.get() & !unit.second.get()).named("fwd_split");
        splits(split, now.op, "mappings", race);
        race("second_map", active & group.moves, "the words of a forward are looked for in another mapping");
    }
}

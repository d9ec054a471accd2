//! The slot of a forward: words of one status per cycle, each kind with its own answer (spandex.md section 5).

use super::answer::{Answer, Now};
use super::mshrs::{Delayed, DelayedRead, Then};
use super::params::Inject;
use super::slot::Slot;
use super::table::{Forward, Status, forwards};
use super::turn::Turn;
use crate::amo::merge;
use crate::msg::{FwdOp, RspOp};
use weft_rtl::prelude::*;

/// Where the unit is with the forward at the head.
pub(crate) struct FwdUnit {
    /// Some of its words are done; which are left.
    pub begun: Reg<Bool>,
    pub rest: Reg<Bits>,
    /// ReqS: the requestor has its answer, the bank has not.
    pub second: Reg<Bool>,
}

/// Words of one status.
struct Group {
    status: Enum<Status>,
    words: Bits,
    data: Bits,
    /// The MSHR, or the entry of the write-back buffer, that they belong to.
    mshr: Bits,
    back: Bits,
}

/// Status after a cycle of words that had one: the same while all have what gives it (`stays`), Other when none has. When only some have, one to which no row leads.
pub(crate) fn status_after(was: Enum<Status>, words: Bits, stays: &[(Status, Bits)]) -> Enum<Status> {
    let mixed = mux(was.is(Status::O), enum_lit(Status::Po), enum_lit(Status::O));
    stays.iter().fold(enum_lit(Status::Other), |rest, (status, still)| {
        let left = words & *still;
        let some = mux(left.eq(words), enum_lit(*status), mixed);
        mux(was.is(*status) & left.any(), some, rest)
    })
}

impl FwdUnit {
    pub fn new(words: u32) -> FwdUnit {
        FwdUnit {
            begun: reg::<Bool>("fwd_begun", ()),
            rest: reg::<Bits>("fwd_rest", words),
            second: reg::<Bool>("fwd_second", ()),
        }
    }
}

/// Covers the forwards that are `split`, by kind: their words are in several states, or of several `parts`.
pub(crate) fn splits(split: Bool, op: Enum<FwdOp>, parts: &str, race: impl Fn(&str, Bool, &str)) {
    let kinds = [
        ("ReqV", FwdOp::ReqV),
        ("ReqS", FwdOp::ReqS),
        ("ReqO", FwdOp::ReqO),
        ("ReqOdata", FwdOp::ReqOData),
        ("ReqWT", FwdOp::ReqWt),
        ("RvkO", FwdOp::RvkO),
    ];
    for (name, kind) in kinds {
        let text = format!("the words of a forwarded {name} are in several states, or of several {parts}");
        race(&format!("split_{name}"), split & op.is(kind), &text);
    }
}

impl Slot<'_> {
    fn network_forward(&self) -> Now {
        Now::of(&self.turns.fwd.msg, &self.core.fwd.begun, &self.core.fwd.rest)
    }

    /// A delayed forward, after the operation that it had to wait for.
    fn delayed(&self) -> Now {
        let (s, mshrs, entry) = (&self.core.p.l1.spandex, &self.core.mshrs, self.turns.replay_at.get());
        let (reads, read) = mshrs.read_delayed(entry);
        let (word, removal) = mshrs.removal(entry);
        let one = word.one_hot(s.words());
        let kinds = [(Then::Revoke, FwdOp::RvkO), (Then::Share, FwdOp::ReqS), (Then::Give, FwdOp::ReqOData)];
        let op = kinds
            .iter()
            .fold(enum_lit(FwdOp::ReqO), |rest, (then, op)| mux(removal.then.is(*then), enum_lit(*op), rest));
        Now {
            op: mux(reads, enum_lit(FwdOp::ReqV), op),
            rest: mux(reads, read.mask, one),
            wanted: mux(reads, read.mask, one & removal.flag.repeat(s.words())),
            src: removal.src,
            req: mux(reads, read.req, removal.req),
            tag: mux(reads, read.tag, removal.tag),
            tbe: removal.tbe,
            for_wt: removal.flag,
            direct: bool_lit(false),
            flex: bool_lit(false),
            drop: !reads & removal.then.is(Then::Grant) & bool_lit(!self.core.p.flex()),
        }
    }

    fn group(&self, now: &Now) -> Group {
        let core = self.core;
        let at = self.buffered.out_at;
        let out = self.buffered.out_words & !core.pending.gone(at);
        let out = out & (self.buffered.out & !core.pending.how(at).through).repeat(out.width());
        let rest = now.rest;
        let line = core.arrays.data(&self.found);
        let (mshr, pending) = core.mshrs.first_pending(&self.of_line, rest);
        let (back, live, back_data) = core.wbb.first_live(self.line, rest);
        let mut group = Group { status: enum_lit(Status::Other), words: rest, data: line, mshr, back };
        // An entry of the write-back buffer, an MSHR at a time.
        let parts = [
            (Status::Pd, pending, line),
            (Status::Wb, live, back_data),
            (Status::Po, out, self.buffered.out_data),
            (Status::O, self.found.owned, line),
        ];
        let claimed = self.found.owned | out | self.back.live | self.of_line.pending;
        group.words = rest & !claimed;
        for (status, words, data) in parts {
            let some = (rest & words).any();
            group = Group {
                status: mux(some, enum_lit(status), group.status),
                words: mux(some, rest & words, group.words),
                data: mux(some, data, group.data),
                ..group
            };
        }
        group
    }

    /// Carries one step of a forward out.
    pub fn forward(&self) {
        let (core, unit) = (self.core, &self.core.fwd);
        let replay = self.turns.replay.get();
        let (fresh, old) = (self.network_forward(), self.delayed());
        let pick = |a: Bits, b: Bits| mux(replay, a, b);
        let now = Now {
            op: mux(replay, old.op, fresh.op),
            rest: pick(old.rest, fresh.rest),
            wanted: pick(old.wanted, fresh.wanted),
            src: pick(old.src, fresh.src),
            req: pick(old.req, fresh.req),
            tag: pick(old.tag, fresh.tag),
            tbe: pick(old.tbe, fresh.tbe),
            for_wt: mux(replay, old.for_wt, fresh.for_wt),
            direct: fresh.direct & !replay,
            flex: fresh.flex & !replay,
            drop: old.drop & replay,
        };
        let active = self.turns.is(Turn::Fwd) & (replay | self.turns.fwd.valid);
        let group = self.group(&now);
        let inv = now.op.is(FwdOp::Inv);
        // What RspWB changes in this cycle is not changed by a slot too.
        let rsp = &self.rsp.msg;
        let clash = self.rsp.valid & rsp.op.is(RspOp::RspWb) & group.status.is(Status::Wb);
        let decoded = active & !now.drop & !clash & core.rsp_out.free;
        let served = core.p.inject == Inject::ServesBuffer;
        let direct = now.direct & !(group.status.is(Status::Wb) & bool_lit(served));
        let table = forwards(core.p.kind);
        let row = table.decode_about(self.line, decoded, (now.op, group.status, direct));
        let first_of_two = row.does(Forward::Both) & !unit.second.get() & (group.words & now.wanted).any();
        let has_room = !core.mshrs.has_read(group.mshr);
        let nacks = row.does(Forward::Nack) | (row.does(Forward::DelayRead) & !has_room);
        let silent = now.drop
            | (row.does(Forward::Delay) & !row.does(Forward::Req))
            | (row.does(Forward::DelayRead) & has_room);
        let goes = (active & !clash & (core.rsp_out.free | now.drop)).named("fwd_goes");
        let done = goes & !first_of_two;
        when(goes & !silent, || self.respond(&now, &group, &row, nacks, first_of_two));
        when(done & !now.drop & !inv, || self.change(&now, &group, &row, has_room));
        when(done & !now.drop & inv, || self.invalidate());
        let between = (goes & first_of_two) | (unit.second.get() & !goes);
        when(active & between, || self.turns.repeat_fwd());
        when(goes & now.drop, || {
            core.arrays.set_words(&self.found, &self.found.states().without(now.rest));
            core.mshrs.spoil(self.of_line.all);
        });
        row.leads_to_when(done & !now.drop, self.status_after(&group, &row));
        self.advance(&now, &group, goes, first_of_two, replay);
        self.observe_forward(&now, &group, goes & !replay, &row, nacks);
    }

    fn respond(
        &self,
        now: &Now,
        group: &Group,
        row: &Decoded<Status, Forward>,
        nacks: Bool,
        first_of_two: Bool,
    ) {
        let core = self.core;
        let extra = self.found.owned & (group.status.is(Status::O) & !nacks).repeat(group.words.width());
        let answer = Answer {
            line: self.line,
            words: group.words,
            extra,
            data: group.data,
            nacks,
            first_of_two,
            kept_s: self.keeps(row) & bool_lit(core.p.flex()),
        };
        core.rsp_out.send(&answer.message(&core.p.l1.spandex, core.own, now, row));
    }

    /// What a forward does to its words.
    fn change(&self, now: &Now, group: &Group, row: &Decoded<Status, Forward>, has_room: Bool) {
        let core = self.core;
        let (found, words) = (&self.found, group.words);
        when(row.does(Forward::Lose), || {
            let kept = words & self.keeps(row).repeat(words.width());
            let (none, lost) = (self.none(), found.states().without(words));
            let (shared, valid) = if core.p.flex() { (kept, none) } else { (none, kept) };
            core.arrays.set_words(found, &lost.to_valid(valid).to_shared(shared));
            core.mshrs.spoil(self.of_line.all);
        });
        when(row.does(Forward::Write), || {
            let data = merge(words, self.turns.fwd.msg.data, core.arrays.data(found));
            core.arrays.put_data(found, data);
            core.mshrs.spoil(self.of_line.all);
        });
        let note = row.does(Forward::Note);
        when(note & group.status.is(Status::Po), || core.pending.removed(self.buffered.out_at, words));
        when(note & group.status.is(Status::Wb), || core.wbb.removed(group.back, words));
        let delay = if core.p.inject == Inject::NoDelay { bool_lit(false) } else { row.does(Forward::Delay) };
        when(delay, || {
            let kinds =
                [(FwdOp::RvkO, Then::Revoke), (FwdOp::ReqS, Then::Share), (FwdOp::ReqOData, Then::Give)];
            let then = kinds
                .iter()
                .fold(enum_lit(Then::Grant), |rest, (op, then)| mux(now.op.is(*op), enum_lit(*then), rest));
            let lanes: Vec<Delayed> = (0..words.width())
                .map(|w| Delayed {
                    then,
                    flag: mux(now.op.is(FwdOp::ReqO), now.for_wt, now.wanted.bit(w)),
                    src: now.src,
                    req: now.req,
                    tag: now.tag,
                    tbe: now.tbe,
                })
                .collect();
            core.mshrs.delay(group.mshr, words, &lanes);
            // Who has been answered may have written the word already: what comes now must see it.
            when(row.does(Forward::Req), || core.mshrs.close(group.mshr));
        });
        when(row.does(Forward::DelayRead) & has_room, || {
            let read = DelayedRead { mask: words, req: now.req, tag: now.tag };
            core.mshrs.delay_read(group.mshr, &read);
        });
    }

    /// Status that this cycle leaves words in.
    fn status_after(&self, group: &Group, row: &Decoded<Status, Forward>) -> Enum<Status> {
        let core = self.core;
        let lost = |fault: Inject, action: Forward| {
            (bool_lit(core.p.inject == fault) & row.does(action)).repeat(group.words.width())
        };
        let pending = core.pending.gone_after(self.buffered.out_at);
        let stays = [
            (Status::O, core.arrays.owned_after(&self.found)),
            // Faults that lose a removal.
            (Status::Po, !pending & !lost(Inject::KeepsOwnership, Forward::Note)),
            (Status::Pd, !core.mshrs.gone_after(group.mshr) & !lost(Inject::NoDelay, Forward::Delay)),
            (Status::Wb, !core.wbb.gone_after(group.back)),
        ];
        status_after(group.status, group.words, &stays)
    }

    fn keeps(&self, row: &Decoded<Status, Forward>) -> Bool {
        row.does(Forward::Keep)
    }

    /// Inv: shared words go.
    fn invalidate(&self) {
        let (core, found) = (self.core, &self.found);
        if core.p.flex() && core.p.inject != Inject::KeepsShared {
            when(found.present, || core.arrays.set_words(found, &found.states().without(found.shared)));
        }
        core.mshrs.invalidated(&self.of_line);
    }

    /// What is left of the forward.
    fn advance(&self, now: &Now, group: &Group, goes: Bool, first_of_two: Bool, replay: Bool) {
        let (core, unit) = (self.core, &self.core.fwd);
        let rest = now.rest & !group.words;
        let last = rest.none() & !first_of_two;
        when(goes, || unit.second.set(first_of_two));
        when(goes & !replay, || {
            unit.rest.set(mux(first_of_two, now.rest, rest));
            unit.begun.set(!last);
            when(last, || self.turns.end_fwd());
        });
        when(goes & replay & !first_of_two, || {
            let entry = self.turns.replay_at.get();
            let done = core.mshrs.replayed(entry, group.words);
            when(done, || {
                let over = core.mshrs.followed(entry);
                when(over, || self.free_miss(entry));
            });
        });
        // A read may find that its words came as shared ones: it is refused.
        let text = "what follows an operation finds its words owned";
        let owned = (now.rest & !self.found.owned).none() | now.op.is(FwdOp::ReqV);
        assert_always(&core.p.named("replay_owned"), !(goes & replay) | owned, text);
    }

    /// An MSHR is free; its line may leave if nothing else of it is under way.
    pub fn free_miss(&self, entry: Bits) {
        let core = self.core;
        core.mshrs.free(entry);
        let others = self.of_line.all & !entry.one_hot(core.p.l1.spandex.mshrs);
        when(others.none() & !self.buffered.out & self.found.present, || core.arrays.unpin(&self.found));
    }

    fn observe_forward(
        &self,
        now: &Now,
        group: &Group,
        goes: Bool,
        row: &Decoded<Status, Forward>,
        nacks: Bool,
    ) {
        count("spandex_tu_refused", goes & nacks, "forwards answered by a Nack");
        let delays = row.does(Forward::Delay) | row.does(Forward::DelayRead);
        count("spandex_tu_delayed", goes & delays & !nacks, "forwards delayed");
        let race = |name: &str, cond: Bool, text: &str| cover(&self.core.p.race(name), cond, text);
        let split = (goes & self.core.fwd.begun.get() & !self.core.fwd.second.get()).named("fwd_split");
        splits(split, now.op, "entries", race);
        if self.core.p.joins() {
            let delayed = goes & row.does(Forward::Delay) & self.core.mshrs.is_joined(group.mshr);
            race("forward_behind_joined", delayed, "a forward waits for atomics that have joined a request");
        }
        race("no_slot", goes & row.does(Forward::DelayRead) & nacks, "a second read cannot be delayed");
    }
}

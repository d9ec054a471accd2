//! What a slot sees: a line, the words of it that one mapping holds, and what is under way for it.

use super::Core;
use super::banks::{States, WordState};
use super::maps::Run;
use super::mshrs::Coming;
use super::seek::Stage;
use super::table::{By, Vacate, vacate};
use super::turn::{Turn, Turns};
use crate::gpu_l1::store_buffer::{Buffered, Oldest};
use crate::msg::{Req, ReqOp, Rsp};
use crate::word_l1::messages::{request, write_back};
use crate::word_l1::wbb::WrittenBack;
use weft_blocks::msg::CuOp;
use weft_rtl::prelude::*;

/// A slot.
pub(super) struct Slot<'a> {
    pub core: &'a Core,
    pub turns: &'a Turns,
    pub rsp: &'a InChannel<Rsp>,
    pub line: Bits,
    /// The mapping at which it looks, its words of the line, and of them those that still belong to it, by state: one bit per word of the line.
    pub map: Bits,
    pub run: Run,
    pub states: States,
    pub mine: Bits,
    pub buffered: Buffered,
    pub back: WrittenBack,
    pub oldest: Oldest,
    /// Of the request in S1, one bit per bank: words with values, words that may be stored in place.
    pub request: States,
    /// Of its words those that were found, one bit per bank, and of the line.
    pub found_banks: Bits,
    pub found: Bits,
    pub coming: Coming,
}

impl<'a> Slot<'a> {
    pub fn new(core: &'a Core, turns: &'a Turns, rsp: &'a InChannel<Rsp>) -> Slot<'a> {
        let (search, oldest) = (&core.search, core.buffer.oldest());
        let (mshr, entry) = (turns.done.mshr(), turns.done.entry());
        let (filled, stored) = (core.mshrs.place(mshr), core.places.read(entry));
        let leaving = core.places.read(oldest.at);
        let alias = search.cu.is(Stage::Alias);
        let pick = |line: Bits, map: Bits, run: Run| (line, map, run);
        let other = pick(search.cu.line.get(), search.other.get(), search.other_run.get());
        let own = pick(search.cu.line.get(), search.cu.map.get(), search.cu.run.get());
        let walk = pick(search.walk.line.get(), search.walk.map.get(), search.walk.run.get());
        let fwd = pick(turns.fwd.msg.line, search.fwd.map.get(), search.fwd.run.get());
        let done = [
            pick(core.mshrs.line(mshr), filled.map, filled.run),
            pick(core.buffer.line(entry), stored.map, stored.run),
        ];
        let views = [
            (alias, other),
            (turns.is(Turn::Done) & !turns.done.sb.get(), done[0]),
            (turns.is(Turn::Done) & turns.done.sb.get(), done[1]),
            (turns.is(Turn::Fwd), fwd),
            (turns.is(Turn::Drain), pick(oldest.line, leaving.map, leaving.run)),
            (turns.is(Turn::Walk), walk),
        ];
        let (line, map, run) = views.iter().fold(own, |rest, (is, view)| {
            let run = Run {
                first: mux(*is, view.2.first, rest.2.first),
                mapped: mux(*is, view.2.mapped, rest.2.mapped),
            };
            (mux(*is, view.0, rest.0), mux(*is, view.1, rest.1), run)
        });
        let (line, map) = (line.named("slot_line"), map.named("slot_map"));
        let run = Run { first: run.first.named("slot_first"), mapped: run.mapped.named("slot_mapped") };
        let (states, mine) = core.banks.states_of(&run, map);
        let s1 = turns.head.op.get();
        let request = core.banks.states_at(s1.row);
        let load = s1.op.is(CuOp::Ld);
        let usable = request.owned | request.pending | (request.valid & load.repeat(s1.mask.width()));
        let sought = search.cu.run.get();
        // Words of its space that another mapping has taken are not the mapping's.
        let kept = core.banks.owned_by(sought.first, search.cu.map.get());
        let kept = core.banks.to_banks(sought.first, kept);
        let found_banks = Slot::in_run(core, &s1.row, &sought) & kept & s1.mask & !usable;
        let found = sought.to_line(core.banks.of_banks(sought.first, found_banks));
        Slot {
            core,
            turns,
            rsp,
            buffered: core.buffer.look(line),
            back: core.wbb.look(line),
            oldest,
            request,
            coming: core.mshrs.look(line, map, found),
            found_banks: found_banks.named("slot_found"),
            found,
            line,
            map,
            run,
            states,
            mine,
        }
    }

    /// Banks whose row of a request is a word of a run.
    fn in_run(core: &Core, rows: &Bits, run: &Run) -> Bits {
        let p = &core.p;
        let banks = core.banks.to_banks(run.first, run.to_run(run.mapped));
        let width = p.row_bits();
        let of_run = core.banks.rows_from(run.first);
        let same = |b: u32| {
            let (one, other) = (rows.slice(b * width, width), of_run.slice(b * width, width));
            banks.bit(b) & one.eq(other)
        };
        pack_bools(&(0..p.banks).map(same).collect::<Vec<Bool>>())
    }

    pub fn none(&self) -> Bits {
        lit_bv(Bv::zero(self.run.mapped.width()))
    }

    /// Values of the words seen, in the places of their line, from the rows presented for them.
    pub fn line_data(&self) -> Bits {
        self.run.to_line(self.core.banks.run_data(&self.run))
    }

    /// Gives words of the line another state.
    pub fn set(&self, words: Bits, state: WordState) {
        self.core.banks.set(self.run.first, self.run.to_run(words), state);
    }

    /// Writes words of the line.
    pub fn put(&self, words: Bits, line: Bits) {
        let banks = &self.core.banks;
        let mask = banks.to_banks(self.run.first, self.run.to_run(words));
        let data = banks.to_banks(self.run.first, self.run.to_run(line));
        banks.put(mask, banks.rows_from(self.run.first), data);
    }

    pub fn request_of(&self, op: ReqOp, tag: Bits, mask: Bits) -> Req {
        let core = self.core;
        request((&core.p.spandex, core.own), op, (self.line, mask), tag, false)
    }

    /// Gets words that a mapping holds, some of which are in the way, out of it; `looks`: it is to be done in this slot. True if nothing is in the way (any more), and if something must be waited for.
    pub fn vacate(&self, looks: Bool, by: Enum<By>, among: Bits) -> (Bool, Bool) {
        let core = self.core;
        let row = vacate().decode(looks, (by, first_of(&self.states, among)));
        let room = !core.wbb.full() & core.wb.free;
        let flushes = looks & row.does(Vacate::Flush);
        let owned = self.states.owned & among;
        when(flushes & room, || {
            let data = self.line_data();
            let at = core.wbb.take(self.line, owned, data);
            core.wb.send(&write_back((&core.p.spandex, core.own), (self.line, owned, data), at));
            self.set(owned, WordState::I);
        });
        count("stash_write_backs", flushes & room, "lines with owned words written back");
        when(looks & row.does(Vacate::Drop), || self.set(self.states.valid & among, WordState::I));
        // What has not left is waited for only once it is asked to leave.
        let waits = looks & row.does(Vacate::Wait);
        when(waits & self.buffered.open, || core.buffer.want(self.buffered.at));
        let full = flushes & core.wbb.full();
        let text = "the write-back buffer is full";
        cover("spandex.race.stash_full_write_backs", full, text);
        let after = first_of(&core.banks.states_after(&self.run, self.mine), among);
        row.leads_to_when(!row.does(Vacate::Flush) | room, after);
        (looks & !row.does(Vacate::Flush) & !row.does(Vacate::Wait), waits | full)
    }
}

/// The first state that some words have, in the order in which one is in the way more than the next.
fn first_of(states: &States, among: Bits) -> Enum<WordState> {
    let some = |words: Bits| (words & among).any();
    let state = |s: WordState| enum_lit(s);
    let first = mux(some(states.valid), state(WordState::V), state(WordState::I));
    let first = mux(some(states.pending), state(WordState::P), first);
    mux(some(states.owned), state(WordState::O), first)
}

//! The slot: a cycle's one access to lines and tables, done as a whole or not at all. Here is what it sees and does in every L1; the rest is the L1's own.

use super::drain::Drain;
use super::fill::Filler;
use super::lines::{Found, LineStates, Lines};
use super::op::{Kind, Op};
use super::reply::{Replies, reply};
use super::wbt::WriteBacks;
use weft_blocks::msg::CuRsp;
use weft_rtl::prelude::*;

/// A line, and the operation on it, if there is one.
pub(crate) struct Looked<S> {
    pub found: Found<S>,
    /// The way whose line is read: the matching one, that of a victim, or one that the L1 gives back.
    pub way: Bits,
    pub op: Op,
    /// The slot is that of a request.
    pub request: Bool,
    /// The slot is that of a target of the answer at work.
    pub target: Bool,
}

impl<S: LineStates> Looked<S> {
    /// The operation is of a kind.
    pub fn is(&self, kind: Kind) -> Bool {
        self.op.kind.is(kind)
    }

    /// The bytes that the operation reads in a line of written bytes alone are there.
    pub fn covered(&self, lines: &Lines<S>) -> Bool {
        (self.op.mask & !lines.mask(self.found.way)).none()
    }

    /// A fence of work-group scope is answered.
    pub fn fences(&self, replies: &Replies) -> Bool {
        self.request & self.op.at_once() & replies.room()
    }

    /// Checks for the block that a request is one that is specified, with remote ones only if there are `remotes`.
    pub fn check(&self, block: &str, remotes: bool) {
        let text = "an operation is one that the specification lists";
        assert_always(&format!("{block}_legal"), !self.request | self.op.legal(remotes), text);
    }

    /// The answer to the operation with the data of its line.
    pub fn reply(&self, data: Bits, filler: &Filler) -> CuRsp {
        reply(&self.op, data, self.target, filler)
    }

    /// Answers what is done in the slot: a load or an atomic that `hits`, a store that wants it if the row is carried out (`goes`), a fence.
    pub fn answer(&self, [goes, hits]: [Bool; 2], lines: &Lines<S>, (replies, filler): (&Replies, &Filler)) {
        let ack = goes & self.is(Kind::Store) & self.op.want_ack;
        let fence = self.fences(replies);
        let line = lines.data(self.found.way);
        when(hits | ack | fence, || replies.send(&self.reply(line, filler)));
    }
}

/// What a slot does: the row of the operation, `O`, and that of the line that leaves, `P`.
pub(crate) struct Plan<S, O, P, M> {
    pub row: Decoded<S, O>,
    pub leave: Decoded<S, P>,
    /// The operation looks its line up.
    pub looks: Bool,
    /// The row is carried out.
    pub goes: Bool,
    /// The request leaves its place.
    pub leaves: Bool,
    /// It goes to the sync unit.
    pub queues: Bool,
    pub wb_goes: Bool,
    pub pushes: Bool,
    /// What an atomic leaves, in every place of its line, and whether it writes.
    pub word: Bits,
    pub wrote: Bool,
    pub pops: Bool,
    /// Why a request waits.
    pub waits: Waits,
    /// What the L1 does besides.
    pub own: M,
}

impl<S: LineStates, O: HwEnum, P: HwEnum, M> Plan<S, O, P, M> {
    /// The row of the operation is carried out, with this action.
    pub fn does(&self, action: O) -> Bool {
        self.goes & self.row.does(action)
    }

    /// Observes what slots of every L1 do, under names that begin so, of races and of the block. `drains`: the slot is the drain's; `gated`: a request's, but the gate has closed.
    pub fn observe(
        &self,
        (races, block): (&str, &str),
        (drain, wbt, line): (&Drain, &WriteBacks, Bits),
        [drains, gated]: [Bool; 2],
    ) {
        let pops = self.wb_goes & drains;
        count(&format!("{block}_wb_flush"), pops & !drain.for_room(), "write-backs of flushes");
        count(&format!("{block}_wb_pop"), pops & drain.for_room(), "write-backs for room in the sFIFO");
        let race = |name: &str, cond: Bool, text: &str| cover(&format!("{races}{name}"), cond, text);
        race("no_frame", self.waits.room, "every way of a set is under way");
        let text = "a line becomes dirty again while its write-back is under way";
        race("store_in_wb", self.pushes & wbt.has(line), text);
        race("gate_in_slot", gated, "the gate closes between the choice of a slot and the slot");
    }

    /// Checks for the block that a slot does not push and pop at once.
    pub fn check(&self, block: &str) {
        let twice = self.pops & self.pushes;
        assert_always(&format!("{block}_one_slot"), !twice, "a slot pops or pushes");
    }
}

/// Why a request waits.
pub(crate) struct Waits {
    /// For the sync unit's queue.
    pub queue: Bool,
    pub push: Bool,
    pub mshr: Bool,
    pub room: Bool,
    /// What is under way to the L2 with its line is not acknowledged.
    pub acked: Bool,
}

//! The slot: what it sees, and what the CU's operations and the store buffer do in it.

mod access;
mod decode;
mod order;

use super::Core;
use super::arrays::Found;
use super::mshrs::OfLine;
use super::pending::How;
use super::table::Operate;
use super::turn::{Turn, Turns};
use super::wbb::WrittenBack;
use crate::amo::spread;
use crate::gpu_l1::op::{Kind, Op, Part};
use crate::gpu_l1::store_buffer::{Buffered, Oldest};
use crate::msg::Rsp;
use decode::{Asks, Load};
use weft_rtl::prelude::*;

/// What a slot sees.
pub(super) struct Slot<'a> {
    pub core: &'a Core,
    pub turns: &'a Turns,
    pub rsp: &'a InChannel<Rsp>,
    pub line: Bits,
    pub found: Found,
    pub op: Op,
    part: Part,
    request: Bool,
    /// What the hint of the request says.
    asks: Asks,
    pub of_line: OfLine,
    pub buffered: Buffered,
    pub back: WrittenBack,
    oldest: Oldest,
    /// How the oldest entry of the store buffer leaves.
    leaves: How,
}

/// What an operation does.
pub(super) struct Plan {
    row: Decoded<NoState, Operate>,
    pub looks: Bool,
    pub goes: Bool,
    pub leaves: Bool,
    queues: Bool,
    acquires: Bool,
    /// Words of the operation that are here, and those that it asks for.
    words: Bits,
    asked: Bits,
    load: Load,
    /// The own entry that an atomic joins.
    join_at: Bits,
    /// The line must take a way, and the way's owned words leave.
    takes: Bool,
    evicts: Bool,
    /// Nothing of the operation is left.
    last: Bool,
    waits: Bool,
}

impl<'a> Slot<'a> {
    pub fn new(core: &'a Core, turns: &'a Turns, rsp: &'a InChannel<Rsp>) -> Slot<'a> {
        let head = core.releases.queue.head;
        let rest = Op { mask: head.mask & !spread(core.release_done.get(), 4), ..head };
        let op = mux(turns.is(Turn::Release), rest, turns.head.op.get());
        let oldest = core.buffer.oldest();
        let done = core.mshrs.line(turns.done.mshr());
        let done = mux(turns.done.sb.get(), core.buffer.line(turns.done.entry()), done);
        let replay = core.mshrs.line(turns.replay_at.get());
        let fwd = mux(turns.replay.get(), replay, turns.fwd.msg.line);
        let again = core.buffer.line(core.pending.again().at);
        let lines = [(Turn::Done, done), (Turn::Fwd, fwd), (Turn::Drain, oldest.line), (Turn::Again, again)];
        let line = lines.iter().fold(op.line, |rest, (t, line)| mux(turns.is(*t), *line, rest));
        let line = line.named("slot_line");
        let request = (turns.is(Turn::Cu) & turns.head.valid.get()) | turns.is(Turn::Release);
        let part = op.part();
        Slot {
            core,
            turns,
            rsp,
            line,
            found: core.arrays.look_up(line, !turns.is(Turn::None)),
            asks: Asks::of(&core.p, turns.hint(), &op, &part),
            part,
            op,
            request: request.named("slot_request"),
            of_line: core.mshrs.of_line(line),
            buffered: core.buffer.look(line),
            back: core.wbb.look(line),
            leaves: core.pending.how(oldest.at),
            oldest,
        }
    }

    pub fn is(&self, kind: Kind) -> Bool {
        self.op.kind.is(kind)
    }

    pub fn none(&self) -> Bits {
        lit_bv(Bv::zero(self.found.valid.width()))
    }

    fn released_first(&self) -> Bool {
        self.is(Kind::Release) | (self.is(Kind::Sync) & self.op.releases)
    }

    /// Owned words that the CU and the store buffer may use.
    fn usable(&self) -> Bits {
        self.found.owned & !self.of_line.owning
    }

    /// Valid words hidden from the load: an acquire left them because of their region, and the load is not of one.
    fn hides(&self) -> Bool {
        self.found.fixed & !self.turns.region()
    }

    /// Decides what the operation does.
    pub fn plan(&self) -> Plan {
        let (core, op) = (self.core, &self.op);
        let drain = self.turns.is(Turn::Drain);
        let from_cu = self.request & self.turns.is(Turn::Cu);
        let memory = op.kind.is_any(&[Kind::Load, Kind::Store, Kind::Sync]);
        let looks =
            (self.request & memory & !(from_cu & self.released_first())) | (drain & self.oldest.there);
        let looks = looks.named("slot_looks");
        let found = self.decode(looks);
        let row = &found.row;
        let owned = self.usable();
        let some_owned = (self.part.words & owned).any() & self.updates() & !drain;
        let last = self.part.last & !(some_owned & (self.part.words & !owned).any());
        let acks = self.is(Kind::Store) & op.want_ack & last & !drain;
        let may_queue = !core.releases.queue.full;
        let opens = row.does(Operate::Own) | row.does(Operate::Take);
        let writes = row.does(Operate::Write);
        let sends = looks & (row.does(Operate::Read) | row.does(Operate::Ask) | opens | writes);
        let enters = looks & (opens | (row.does(Operate::Read) & !found.load.read));
        let no_entry = enters & core.mshrs.full();
        let takes = sends & !self.found.present & !row.does(Operate::Through) & !writes;
        let evicts = takes & self.found.victim_owned.any();
        let can_send = !sends | core.req.free();
        let can_take = !takes | (self.found.room & (!evicts | (!core.wbb.full() & core.wb.free)));
        let answers = row.does(Operate::Hit) | (row.does(Operate::Perform) & self.is(Kind::Sync));
        let can_answer = !answers | core.replies.room();
        let waits = looks & (row.does(Operate::Wait) | no_entry | !can_take);
        let goes = looks & !waits & can_send & can_answer & (!acks | may_queue);
        let goes = goes.named("slot_goes");
        let queues = (goes & acks) | (from_cu & self.released_first() & may_queue);
        let acquires = self.request & self.is(Kind::Acquire) & core.replies.room();
        let done = self.turns.is(Turn::Release) & op.kind.is_any(&[Kind::Release, Kind::Ack]);
        let leaves = (goes & last & !drain) | (queues & !looks) | acquires | (done & core.replies.room());
        Plan {
            looks,
            goes,
            leaves: leaves.named("slot_leaves"),
            queues,
            acquires,
            words: found.words,
            asked: found.asked,
            load: found.load,
            join_at: found.join_at,
            row: found.row,
            takes,
            evicts,
            last,
            waits,
        }
    }
}

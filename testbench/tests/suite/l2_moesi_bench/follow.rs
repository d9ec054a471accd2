//! The golden bank does what the hardware's slot does, in the same cycle.

use super::{ATOM, Bench, Place, RD, Serving, WR, Waiting};
use crate::l2_moesi_bench::receive::{Answered, Memory};
use std::collections::VecDeque;
use weft_testbench::golden::moesi::msg::{Action, Answer, Asks, Kind, Msg, Op, Packet, SliceOp};
use weft_testbench::golden::moesi::table::{Event, State};

/// Registers before a clock edge.
pub struct Before {
    valid: bool,
    class: u64,
    set: u64,
    line: u64,
    index: u64,
    request: (u64, u64, u64),
    tail: u64,
    pooled: u64,
    mshrs: u64,
    buffer: u64,
    flush: (u64, u64, u64),
    flushed: Option<(u64, u64)>,
}

const FLUSH: u64 = 2;

fn op_of(waiting: &Waiting) -> Op {
    let kind = match waiting.request.kind {
        RD => Kind::Load,
        WR => Kind::Store,
        _ => Kind::Atomic,
    };
    Op { kind, number: waiting.number }
}

impl Bench {
    fn flush_at(&self) -> (u64, u64, u64) {
        (self.peek("fence_state"), self.peek("flush_set"), self.peek("flush_way"))
    }

    pub(super) fn before(&self) -> Before {
        let request = ["slot_request_kind", "slot_request_l1", "slot_request_id"].map(|r| self.peek(r));
        let (flush, class) = (self.flush_at(), self.peek("slot_class"));
        let walks = class == 6 && flush.0 == FLUSH;
        Before {
            valid: self.peek("slot_valid") == 1,
            class,
            set: self.peek("slot_set"),
            line: self.peek("slot_line"),
            index: self.peek("slot_index"),
            request: (request[0], request[1], request[2]),
            tail: self.peek("pool_tail"),
            pooled: self.peek("pool_used"),
            mshrs: self.peek("mshr_used"),
            buffer: self.peek("writeback_used"),
            flush,
            flushed: if walks { self.way(flush.1 as u32, flush.2 as u32) } else { None },
        }
    }

    /// Follows what had the slot in the cycle that is over.
    pub(super) fn follow(&mut self, before: &Before) {
        if !before.valid {
            return;
        }
        match before.class {
            0 => self.follow_install(before),
            1 => self.follow_probe(before),
            2 => self.follow_turn(before),
            3 | 5 => self.follow_request(before),
            4 => self.follow_remote(before),
            _ => self.follow_flush(before),
        }
        self.dues.compare = Some(before.set as usize);
    }

    /// A request of the node: performed, or its line asked for, or it waits.
    fn follow_request(&mut self, before: &Before) {
        let place = self.place_of(before.line);
        let local = before.class == 5;
        if local {
            let waiting = self.incoming.take().expect("what is in the slot was taken");
            assert_eq!(waiting.request.line, before.line);
            if waiting.request.kind == WR {
                self.dues.local.push(Answered::store(&waiting));
            }
            self.pools.entry(place).or_default().push_back(waiting);
        }
        let performs = if local {
            self.peek("pool_tail") == before.tail
        } else {
            before.pooled >> before.index & 1 == 1 && self.peek("pool_used") >> before.index & 1 == 0
        };
        let asks = self.peek("mshr_used") & !before.mshrs != 0;
        let puts = self.peek("writeback_used") & !before.buffer != 0;
        if asks || puts {
            self.follow_replacement(before, puts);
        }
        if !(performs || asks) {
            return;
        }
        let waiting = self.pools.get(&place).and_then(VecDeque::front).cloned().expect("a request");
        let (kind, l1, id) = before.request;
        let oldest = (waiting.request.kind, waiting.l1, waiting.id);
        assert_eq!((kind, l1, id), oldest, "those of a line keep their order");
        if performs {
            self.perform(place, &waiting);
        } else {
            self.ask(place, &waiting);
        }
    }

    /// The oldest request of a line is performed.
    fn perform(&mut self, place: Place, waiting: &Waiting) {
        self.pools.get_mut(&place).expect("it waits").pop_front();
        self.unperformed.remove(&waiting.serial);
        let serving = self.serving.as_mut().filter(|serving| serving.place == place);
        let src = serving.as_ref().map_or(1, |serving| serving.src);
        let given = serving.and_then(|serving| serving.results.pop_front());
        let bytes = given.unwrap_or_else(|| {
            let actions = self.worlds[place.0].own(|bank, p, f, tally| {
                bank.issue(place.1, op_of(waiting), p, f, tally);
            });
            assert!(actions.is_empty(), "a request that is performed sends nothing: {actions:?}");
            let golden = &self.worlds[place.0].bank().lines[usize::from(place.1)];
            assert!(golden.waiting.is_empty(), "{waiting:?} is performed, and may not be: {golden:?}");
            self.result(place, waiting)
        });
        if waiting.request.kind != WR {
            self.dues.local.push(Answered::read(waiting, bytes, src));
        }
    }

    /// The bytes that a request which the golden bank has performed gives; and a new version.
    fn result(&mut self, place: Place, waiting: &Waiting) -> Vec<u8> {
        let versions = &mut self.worlds[place.0].bytes[usize::from(place.1)];
        let old = versions.last().expect("a version").clone();
        if waiting.request.kind == RD {
            return old;
        }
        let mut next = old.clone();
        waiting.request.perform(&mut next);
        versions.push(next);
        if waiting.request.kind != ATOM {
            return Vec::new();
        }
        let at = waiting.request.word().0 / 8 * 8;
        old[at..at + 8].repeat(old.len() / 8)
    }

    /// The line is asked for.
    fn ask(&mut self, place: Place, waiting: &Waiting) {
        let (set, line) = place;
        let op = op_of(waiting);
        let sent = self.worlds[set].own(|bank, p, f, tally| {
            bank.issue(line, op, p, f, tally);
            let at = &bank.lines[usize::from(line)];
            assert!(bank.may_send(line, p), "the line of {op:?} is asked for, and may not be: {at:?}");
            bank.send(line, p, f, tally);
        });
        self.note(set, sent, 0, false);
    }

    /// A copy gives its place to a line that is asked for, or (`puts`) goes into the buffer first.
    fn follow_replacement(&mut self, before: &Before, puts: bool) {
        let set = before.set as usize;
        let left = self.tags(before.set as u32);
        let world = &self.worlds[set];
        let held = |line: &u8| world.state(*line) != State::I;
        let gone: Vec<u8> = (0..super::LINES)
            .filter(|line| held(line) && !left.contains_key(&self.line_at((set, *line))))
            .collect();
        let [victim] = gone[..] else {
            assert!(gone.is_empty() && !puts, "replaced in one cycle: {gone:?}");
            return;
        };
        let open = |line: &u8| held(line) || world.bank().lines[usize::from(*line)].mshr.is_some();
        let used = (0..super::LINES).filter(open).count();
        assert_eq!(used, self.p.ways as usize, "a copy is replaced only if no way is free");
        let served = self.serving.as_ref().is_some_and(|serving| serving.place == (set, victim));
        let may = !served && world.bank().replaceable(victim, &world.p);
        assert!(may, "line {victim} of set {set} is replaced, and may not be");
        let event = if world.homed(victim) { Event::ReplaceHome } else { Event::Replace };
        self.leaves(set, victim, event);
    }

    /// A copy is replaced or flushed.
    fn leaves(&mut self, set: usize, line: u8, event: Event) {
        let world = &mut self.worlds[set];
        let copy = world.bank().lines[usize::from(line)].copy;
        let own = world.bank().node;
        let home = world.homed(line);
        let done = world.own(|bank, p, f, tally| bank.event(line, event, own, p, f, tally));
        self.note(set, done, 0, false);
        if home && matches!(copy.state, State::M | State::O) {
            self.writes((set, line), copy.data);
        }
    }

    /// A line of the home is written to memory.
    fn writes(&mut self, place: Place, version: u16) {
        let bytes = self.worlds[place.0].version(place.1, version).clone();
        self.dues.memory.push(Memory::Write(self.line_at(place), bytes));
    }

    fn reads(&mut self, place: Place, id: u64) {
        self.dues.memory.push(Memory::Read(self.line_at(place), id));
    }

    /// A line that has come is installed, or memory must be read for it.
    fn follow_install(&mut self, before: &Before) {
        let place = self.place_of(before.line);
        let (set, line) = place;
        let golden = self.worlds[set].bank().lines[usize::from(line)].clone();
        let landed = self.landed.remove(&place);
        assert!(golden.mshr.is_some(), "line {place:?} is installed, and nobody has asked for it");
        if self.peek("served_valid") == 0 {
            let write = golden.mshr.is_some_and(|mshr| mshr.asks == Asks::OwnHome && mshr.answer.is_some());
            assert!(write && golden.copy.state == State::I && landed.is_none(), "memory is read: {golden:?}");
            return self.reads(place, self.own_ids[&place]);
        }
        assert!(self.serving.is_none(), "two lines are served");
        self.own_ids.remove(&place);
        let waiting: Vec<Waiting> = self.pools.get(&place).into_iter().flatten().cloned().collect();
        let from_copy = golden.copy.state != State::I;
        let mut performed = 0;
        let told = self.worlds[set].own(|bank, p, f, tally| {
            waiting[1..].iter().for_each(|later| bank.issue(line, op_of(later), p, f, tally));
            match landed {
                Some((packet, _)) => bank.message(packet, p, f, tally),
                None => bank.own_turn(line, p, f, tally),
            }
            // What is left is tried again later, like any other request.
            let left = std::mem::take(&mut bank.lines[usize::from(line)].waiting);
            performed = waiting.len() - left.len();
        });
        assert!(told.iter().any(|action| !matches!(action, Action::Ask(_))), "Done is due: {told:?}");
        self.note(set, told, 0, false);
        let src = match landed {
            Some((_, dram)) => 4 + u64::from(dram),
            None if from_copy => 1,
            None => 3,
        };
        let results = waiting[..performed].iter().map(|done| self.result(place, done)).collect();
        self.serving = Some(Serving { place, results, src });
    }

    /// The home is told: all that the golden bank has performed must have been performed.
    pub(super) fn served(&mut self) {
        if self.peek("served_valid") == 0
            && let Some(serving) = self.serving.take()
        {
            let left = serving.results.len();
            assert_eq!(
                left, 0,
                "{:?}: Done is sent, and something waits that may be performed",
                serving.place
            );
        }
        if let Some(set) = self.dues.compare.take() {
            self.compare(set);
        }
    }

    fn follow_probe(&mut self, before: &Before) {
        let (set, packet, id, link) = self.probes.pop_front().expect("an INV message was taken");
        let place = (set, packet.line);
        assert_eq!(self.place_of(before.line), place);
        let done = self.worlds[set].own(|bank, p, f, tally| bank.message(packet, p, f, tally));
        let is_ack = |action: &Action| matches!(action, Action::Send(Packet { msg: Msg::Ack, .. }));
        let (acks, sent): (Vec<Action>, Vec<Action>) = done.into_iter().partition(is_ack);
        let ack = acks.first().and_then(|action| match action {
            Action::Send(packet) => Some((set, *packet)),
            _ => None,
        });
        self.dues.invs.push_back((link, ack));
        self.note(set, sent, id, false);
    }

    fn follow_remote(&mut self, before: &Before) {
        let (set, packet) = *self.remotes.front().expect("a request of another node was taken");
        let place = (set, packet.line);
        assert_eq!(self.place_of(before.line), place);
        let served = self.serving.as_ref().is_some_and(|serving| serving.place == place);
        let open = served || self.worlds[set].bank().lines[usize::from(packet.line)].mshr.is_some();
        if self.peek("slot_remote_held") == 1 {
            let put = matches!(packet.msg, Msg::Put(_));
            return assert!(open && !put, "{packet:?} waits, and need not");
        }
        self.remotes.pop_front();
        assert!(!open || matches!(packet.msg, Msg::Put(_)), "{packet:?} enters, and must wait");
        let asked = self.worlds[set].own(|bank, p, f, tally| {
            assert!(bank.may_enter(packet.line, packet.msg, p), "{packet:?} enters, and must wait");
            bank.message(packet, p, f, tally);
        });
        self.note(set, asked, 0, false);
    }

    /// The slice has answered a request of another node.
    fn follow_turn(&mut self, before: &Before) {
        let number = u64::from(self.p.mshr_quota()) + before.index;
        let (set, op, answer) = self.turns.remove(&number).expect("what was forwarded has no turn");
        let place = (set, op.line);
        assert_eq!(self.place_of(before.line), place);
        let world = &mut self.worlds[set];
        let data = matches!(answer, Answer::Alone | Answer::Home);
        let fetches = data && world.state(op.line) == State::I;
        let at = world.bank().homes.iter().position(|home| home.op == op).expect("it has entered");
        let put = world.bank().homes[at].data.filter(|_| answer == Answer::Taken);
        let sent = world.own(|bank, p, f, tally| bank.turn(at, p, f, tally));
        self.note(set, sent, self.remote_ids[&(place, op.src)], fetches);
        if fetches {
            self.reads(place, number);
        }
        if let Some(version) = put {
            self.writes(place, version);
        }
    }

    /// The slice's answer is taken.
    pub(super) fn slice_answers(&mut self, set: usize, op: SliceOp, answer: Answer, number: u64) {
        let place = (set, op.line);
        let own = matches!(op.asks, Asks::ReadHome | Asks::OwnHome);
        if !own || answer != Answer::Forwarded {
            let done = self.worlds[set].own(|bank, _, f, tally| bank.answered(op, answer, f, tally));
            assert!(done.is_empty());
        }
        if !own && answer != Answer::Forwarded {
            self.turns.insert(number, (set, op, answer));
        } else if own && op.asks == Asks::ReadHome && answer != Answer::Forwarded {
            self.reads(place, self.own_ids[&place]);
        }
    }

    /// An answer of another node is taken: Data wait until they are installed.
    pub(super) fn landing(&mut self, set: usize, packet: Packet, dram: bool) {
        let place = (set, packet.line);
        if let Msg::Data(..) = packet.msg {
            let old = self.landed.insert(place, (packet, dram));
            return assert!(old.is_none());
        }
        let told = self.worlds[set].own(|bank, p, f, tally| bank.message(packet, p, f, tally));
        self.note(set, told, 0, false);
        if let Msg::Back(Some(version)) = packet.msg {
            self.writes(place, version);
        }
    }

    fn follow_flush(&mut self, before: &Before) {
        let Some((line, _)) = before.flushed.filter(|_| self.flush_at() != before.flush) else { return };
        let (set, line) = self.place_of(line);
        let event = if self.worlds[set].homed(line) { Event::Clean } else { Event::Flush };
        let golden = self.worlds[set].bank().lines[usize::from(line)].clone();
        assert!(golden.mshr.is_none(), "a line that is asked for is flushed: {golden:?}");
        self.leaves(set, line, event);
    }

    /// Arrays, buffer and MSHRs of the hardware hold what the golden bank holds.
    fn compare(&self, set: usize) {
        let (mut tags, mut buffer) = (self.tags(set as u32), self.buffer());
        let world = &self.worlds[set];
        for line in 0..super::LINES {
            let (place, number) = ((set, line), self.line_at((set, line)));
            let golden = &world.bank().lines[usize::from(line)];
            let found = tags.remove(&number);
            let behind = self.serving.as_ref().is_some_and(|s| s.place == place && !s.results.is_empty());
            let left = buffer.remove(&number);
            let kept = golden.buffer.map(|left| if left.live { left.state as u64 } else { 0 });
            assert_eq!(left, kept, "{place:?} in the buffer: {golden:?}");
            if behind {
                continue;
            }
            let state = found.map_or(0, |(_, state)| state);
            assert_eq!(state, golden.copy.state as u64, "state of {place:?}: {golden:?}");
            if let Some((way, _)) = found {
                let bytes = world.version(line, golden.copy.data);
                assert_eq!(&self.array_bytes(set as u32, way), bytes, "bytes of {place:?}");
            }
        }
        assert!(tags.is_empty(), "lines of nobody: {tags:?}");
        let open = |world: &super::World| world.bank().lines.iter().filter(|at| at.mshr.is_some()).count();
        let open = self.worlds.iter().map(open).sum::<usize>() + usize::from(self.serving.is_some());
        assert_eq!(self.peek("mshr_used").count_ones() as usize, open, "MSHRs");
    }
}

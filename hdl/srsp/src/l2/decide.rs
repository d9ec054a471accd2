//! Stage 1: compares tags and locks, decides by the tables, and passes what is to be done to stage 2.

use super::data::word_bytes;
use super::ingress::Waits;
use super::params::L2Fault;
use super::select::Parts;
use super::table::{self, Event, FrameDoes, LineDoes, LockDoes, LockMessage, LockState, Place};
use super::table::{TokenDoes, TokenState, Use};
use super::types::*;
use crate::bank::{
    Asker, Moves, Next, Reply, Ruled, Short, Tag, Work, Writer, answered, chosen, code, coded,
};
use crate::lock_tbl::Lock;
use crate::msg::{RspOp, SyncOp};
use weft_blocks::common::mshr::MshrMatch;
use weft_rtl::prelude::*;

/// The decision of stage 1, for observers.
pub(super) struct Decision {
    pub op: Op,
    pub line: Bits,
    pub look: Lookup,
    pub found: MshrMatch,
    pub lock: Lock,
    /// The lock is the sender's; another's; it was handed to the sender, who waited.
    pub own: Bool,
    pub other: Bool,
    pub handed: Bool,
    pub lines: Ruled<LineState, LineDoes>,
    pub frames: Ruled<NoState, FrameDoes>,
    pub locks: Ruled<NoState, LockDoes>,
    pub token: Ruled<TokenState, TokenDoes>,
    pub waits: Waits,
    pub takes: Bool,
    /// Its action at the line is carried out, not put off.
    pub acts: Bool,
    /// The sFIFO gets a line.
    pub pushes: Bool,
}

/// The decoded tables.
struct Rows<'a> {
    with: &'a Parts<'a>,
    d: &'a Decision,
}

impl Decision {
    /// The line's row takes an action, and it is carried out or put off.
    pub fn l(&self, action: LineDoes) -> Bool {
        self.lines.does(action)
    }
    /// The frame's row takes an action.
    pub fn f(&self, action: FrameDoes) -> Bool {
        self.frames.does(action)
    }
    /// The lock's row takes an action.
    pub fn k(&self, action: LockDoes) -> Bool {
        self.locks.does(action)
    }
    /// The token's row takes an action.
    pub fn t(&self, action: TokenDoes) -> Bool {
        self.token.does(action)
    }
    /// The operation is of one of these kinds.
    pub fn is(&self, kinds: &[Kind]) -> Bool {
        self.op.kind.is_any(kinds)
    }
}

/// What a message's line is to its lock, and the decoded row.
struct Locking {
    lock: Lock,
    own: Bool,
    other: Bool,
    handed: Bool,
    rows: Ruled<NoState, LockDoes>,
}

fn locking(with: &Parts, op: &Op, valid: Bool, line: Bits) -> Locking {
    let Parts { p, ingress, locks, .. } = with;
    let is = |kinds: &[Kind]| op.kind.is_any(kinds);
    let lock = locks.find(line);
    let mine = lock.owner.eq(op.src);
    let senior = &ingress.senior;
    // A lock that was handed to a waiter is free for it, and for what no lock holds up.
    let reserved = lock.locked & senior.notes.holds.get() & senior.notes.entry.get().eq(lock.index);
    let handed = (reserved & mine & !op.wb).named("s1_handed");
    let counts = (lock.locked & !handed & !(reserved & op.wb)).named("s1_locked");
    let (own, other) = (counts & mine, counts & !mine);
    let claimed = ingress.claims(op.src).0;
    let no_entry = !counts & !handed & (locks.full() | claimed);
    let at = valid
        & is(&[Kind::Rd, Kind::Atm, Kind::AtmSys, Kind::RemLock, Kind::Wb, Kind::RemOp, Kind::RemUnlock])
        & (op.from_head | !is(&[Kind::Rd]));
    let message = [
        (is(&[Kind::RemLock]), LockMessage::RemLock),
        (is(&[Kind::Wb]), LockMessage::Wb),
        (is(&[Kind::RemOp]), LockMessage::RemOp),
        (is(&[Kind::RemUnlock]), LockMessage::RemUnlock),
    ];
    let full = is(&[Kind::RemLock]) & no_entry;
    let states = [(own, LockState::Own), (other, LockState::Other), (full, LockState::Full)];
    let state = coded(&states, LockState::Free);
    let message = coded(&message, LockMessage::RdAtm);
    let at = at.named("s1_at_lock");
    let decoded =
        table::locks(p.system).decode_about(line, at, (state.named("s1_lock"), message.named("s1_message")));
    Locking { lock, own, other, handed, rows: Ruled { at, decoded } }
}

/// Decodes the line's and the frame's rows.
fn lining(
    with: &Parts,
    op: &Op,
    look: &Lookup,
    at: Bool,
) -> (Ruled<LineState, LineDoes>, Ruled<NoState, FrameDoes>) {
    let p = with.p;
    let is = |kinds: &[Kind]| op.kind.is_any(kinds);
    let bytes = word_bytes(p, op.about.atomic.addr, op.about.atomic.wide);
    let whole = look.mask.all();
    let inside = (look.mask & bytes).eq(bytes);
    let in_w = look.state.is(LineState::W);
    let atomic = is(&[Kind::Atm, Kind::RemOp]);
    let events = [
        (is(&[Kind::Rd]) & in_w & whole, Event::RdIn),
        (is(&[Kind::Rd]), Event::Rd),
        (atomic & in_w & inside, Event::AmoIn),
        (atomic, Event::Amo),
        (is(&[Kind::AtmSys]), Event::AtmSys),
        (is(&[Kind::Wb]), Event::Wb),
        (is(&[Kind::Pop]), Event::Pop),
    ];
    let event = coded(&events, Event::Fill).named("s1_event");
    let lines = table::lines().decode(at, (look.state, event));
    let fetch = lines.does(LineDoes::Fetch);
    let at_frame = (at & (fetch | lines.does(LineDoes::Take))).named("s1_at_frame");
    let there = look.there.state;
    let places = [
        (look.hit, Place::Own),
        (there.is(LineState::I), Place::I),
        (!look.room, Place::None),
        (there.is(LineState::V), Place::V),
        (there.is(LineState::D), Place::D),
    ];
    let place = coded(&places, Place::W).named("s1_frame");
    let usage = mux(fetch, code(Use::Fetch), code(Use::Take));
    let frames = table::frames().decode(at_frame, (place, usage.named("s1_use")));
    (Ruled { at, decoded: lines }, Ruled { at: at_frame, decoded: frames })
}

fn tokens(with: &Parts, op: &Op, valid: Bool) -> Ruled<TokenState, TokenDoes> {
    let is = |kind: Kind| op.kind.is(kind);
    let at = (valid & (is(Kind::Token) | is(Kind::TokenRel))).named("s1_at_token");
    // The token is kept for a waiter whose turn it is.
    let kept = with.ingress.claims(op.src).1 & is(Kind::Token);
    let taken = with.token.held.get() | kept;
    let taken = taken.bits().named("s1_token");
    let rows = table::token().decode(at, (taken, is(Kind::TokenRel).bits()));
    let row = rows.clone();
    with.token.held.on_next(move |held| row.leads_to((held | kept).bits().as_enum::<TokenState>()));
    Ruled { at, decoded: rows }
}

/// Builds stage 1.
pub(super) fn connect(with: &Parts) -> Decision {
    let Parts { p, memory, select, .. } = with;
    let (op, valid) = (select.s1.get(), select.s1_valid.get());
    let line = p.bank.srsp.line_of(op.about.atomic.addr).named("s1_line");
    let look = select.rows.look(with.bank.tag_of(line), |is| !is(&[LineState::P, LineState::Pd]));
    let found = memory.find(line);
    let k = locking(with, &op, valid, line);
    let of_line = [Kind::Rd, Kind::Atm, Kind::AtmSys, Kind::Wb, Kind::RemOp, Kind::Pop, Kind::Fill];
    let serves = !k.rows.at | k.rows.decoded.does(LockDoes::Serve);
    let at_line = (valid & op.kind.is_any(&of_line) & serves).named("s1_at_line");
    let (lines, frames) = about(line, || lining(with, &op, &look, at_line));
    let token = tokens(with, &op, valid);
    let low = bool_lit(false);
    let none = Waits { lock: low, full: low, token: low, sys: low, short: Short::of_nothing(), target: low };
    let mut d = Decision {
        op,
        line,
        look,
        found,
        lock: k.lock,
        own: k.own,
        other: k.other,
        handed: k.handed,
        lines,
        frames,
        locks: k.rows,
        token,
        waits: none,
        takes: low,
        acts: low,
        pushes: low,
    };
    outcome(with, &mut d, valid);
    Rows { with, d: &d }.act();
    d
}

/// Whether the operation is carried out, or what it waits for.
fn outcome(with: &Parts, d: &mut Decision, valid: Bool) {
    let Parts { memory, sfifo, sys, .. } = with;
    let op = &d.op;
    let writes = !op.kind.is_any(&[Kind::Atm, Kind::RemOp]) | !op.about.atomic.op.is(SyncOp::Ld);
    // A frame that is taken gets bytes at once; a fetched one is dirty already or not at all.
    let pushes = (d.l(LineDoes::Push) & writes) | d.f(FrameDoes::Occupy);
    let sends = d.f(FrameDoes::Evict) | d.f(FrameDoes::Around) | d.l(LineDoes::Clean);
    let no_write = sends & !memory.write_free().0;
    let no_mshr = d.f(FrameDoes::Reserve) & memory.lines.mshrs.full();
    let no_amo = d.l(LineDoes::ToMemory) & !memory.other_free().0;
    let line = d.l(LineDoes::Wait) | (d.l(LineDoes::Join) & !d.found.room) | d.f(FrameDoes::Stay);
    let supply = !line & (no_write | no_mshr | no_amo);
    let room = !line & !supply & pushes & sfifo.full();
    let off = line | supply | room;
    let acts = (d.lines.at & !off).named("s1_acts");
    let begins = op.kind.is_any(&[Kind::SysFlush, Kind::SysInv]);
    let locked = d.k(LockDoes::Queue);
    let full = d.k(LockDoes::Room);
    let token = d.t(TokenDoes::Queue);
    let sys_busy = begins & !sys.idle();
    let atomic = op.kind.is_any(&[Kind::Atm, Kind::RemOp]);
    let head = valid & op.from_head;
    let target = head & acts & atomic & (d.l(LineDoes::Fetch) | d.l(LineDoes::Join));
    d.waits = Waits {
        lock: head & locked,
        full: head & full,
        token: head & token,
        sys: head & sys_busy,
        short: Short { supply: head & supply, room: head & room, line: head & line },
        target: target.named("s1_becomes_target"),
    };
    let stays = locked | full | token | sys_busy | off | target;
    d.takes = (head & !stays).named("s1_takes");
    d.acts = acts;
    d.pushes = acts & pushes & !atomic;
}

impl Rows<'_> {
    fn act(&self) {
        let (with, d) = (self.with, self.d);
        let Parts { ingress, select, .. } = with;
        let valid = select.s1_valid.get();
        let head = ingress.queues.bit(d.op.wb, d.op.src);
        when(valid & d.op.from_head, || ingress.leave(head, d.takes, &d.waits, d.lock.index, d.op.src));
        self.locks();
        self.tokens();
        self.array();
        self.memory();
        let step = self.step();
        let work = &step.work;
        let answers = work.reply.answer | work.orders | work.put.is_any(&[Put::Merge, Put::Fill, Put::Amo]);
        with.outs.accept(valid & answers, &step);
        when(valid & d.is(&[Kind::SysFlush, Kind::SysInv]) & d.takes, || {
            with.sys.begin(d.op.src, d.is(&[Kind::SysInv]), with.sfifo.count());
        });
        select.hold(valid & d.l(LineDoes::Hold), Kind::Fill, || ingress.short.line_came());
    }

    /// Locks are taken, given up, handed on.
    fn locks(&self) {
        let (with, d) = (self.with, self.d);
        let Parts { p, ingress, locks, .. } = with;
        let takes = d.k(LockDoes::Lock) & d.takes & !d.handed;
        let takes = if p.fault == L2Fault::LockNotTaken { bool_lit(false) } else { takes };
        when(takes, || locks.lock(d.line, d.op.src));
        when(d.k(LockDoes::Unlock) & d.takes, || ingress.unlock(locks, d.lock.index));
        let senior = &ingress.senior;
        let served = d.takes | d.waits.target;
        let retires = served & d.op.from_head & !d.op.wb & senior.is(d.op.src);
        let grace = senior.notes.grace.get().any();
        // While a line stays free for a reader, other messages of it are no concern of this.
        let retires = retires & (d.handed | !grace);
        let first = d.handed & d.is(&[Kind::Rd]) & !grace;
        when(retires & first, || ingress.linger());
        when(retires & !first, || {
            ingress.retire();
            // The lock was handed to it for this message; only a REM_LOCK keeps it.
            when(d.handed & !d.is(&[Kind::RemLock]), || ingress.give_up(locks, d.lock.index));
        });
        let idle = !with.select.s1_valid.get() & !with.outs.executing();
        when(ingress.expired() & idle, || {
            ingress.retire();
            ingress.give_up(locks, senior.notes.entry.get());
        });
    }

    fn tokens(&self) {
        let (token, d) = (self.with.token, self.d);
        when(d.t(TokenDoes::Grant), || {
            token.held.set(true);
            token.owner.set(d.op.src);
        });
        when(d.t(TokenDoes::Release), || token.held.set(false));
    }

    /// State, dirty bytes, age and sFIFO.
    fn array(&self) {
        let (with, d) = (self.with, self.d);
        let Parts { select, sfifo, .. } = with;
        let arrays = &select.rows;
        let (look, acts) = (&d.look, d.acts);
        let set = with.bank.set_of(d.line);
        let next = Next::of(look);
        let now = |s: LineState| look.state.is(s);
        let (filled, merges, occupies, reserves) =
            (d.l(LineDoes::Fill), d.l(LineDoes::Merge), d.f(FrameDoes::Occupy), d.f(FrameDoes::Reserve));
        when(merges, || {
            next.mask.set(look.mask | d.op.written.mask);
            when(now(LineState::P), || next.state.set(LineState::Pd));
            when(now(LineState::V), || next.state.set(LineState::D));
        });
        let cleans = d.l(LineDoes::Clean);
        next.moves(look, d.op.written.mask, &Moves { occupies, reserves, fills: filled, cleans });
        when(d.l(LineDoes::Drop), || next.state.set(LineState::I));
        let changes = merges | occupies | reserves | filled | cleans | d.l(LineDoes::Drop);
        when(acts & changes, || {
            let tag = Tag { tag: with.bank.tag_of(d.line), state: next.state.get() };
            arrays.put(set, look.way, tag, next.mask.get(), ());
        });
        d.lines.decoded.leads_to_when(acts, arrays.state_after(set, look, with.bank.tag_of(d.line)));
        let uses = merges | occupies | reserves | d.l(LineDoes::Read) | d.l(LineDoes::Modify);
        when(acts & uses, || arrays.touch(set, look));
        when(d.pushes, || sfifo.push(d.line));
        when(acts & d.l(LineDoes::Pop), || sfifo.pop());
    }

    /// MSHRs, writes and atomics at memory.
    fn memory(&self) {
        let (with, d) = (self.with, self.d);
        let (memory, op) = (with.memory, &d.op);
        let asker = Asker { src: op.src, mshr: op.mshr };
        let target = Target { read: op.kind.is(Kind::Rd), wb: op.wb, asker };
        when(d.acts & d.f(FrameDoes::Reserve), || memory.lines.mshrs.allocate(d.line, &target));
        when(d.acts & d.l(LineDoes::Join), || memory.lines.mshrs.merge(d.found.index, &target));
        when(d.acts & self.writes(), || {
            let writer = Writer { src: op.src, wbt: op.written.wbt, epoch: op.written.epoch };
            memory.open_write(d.f(FrameDoes::Around), &writer);
        });
        when(d.acts & d.l(LineDoes::ToMemory), || memory.open_amo(op.src));
        let valid = with.select.s1_valid.get();
        when(valid & d.is(&[Kind::Ack, Kind::AmoAck]), || memory.close(op.own, d.is(&[Kind::AmoAck])));
        memory.lines.present(op.own.resize(with.bank.mshr_bits()));
    }

    /// Bytes go to memory.
    fn writes(&self) -> Bool {
        let (with, d) = (self.with, self.d);
        let writes = d.f(FrameDoes::Evict) | d.f(FrameDoes::Around) | d.l(LineDoes::Clean);
        if with.p.fault != L2Fault::OverflowLosesHead {
            return writes;
        }
        // Only pops on overflow, not those of a SYS operation.
        writes & !(d.is(&[Kind::Pop]) & with.sys.idle())
    }

    /// What stage 2 does.
    fn step(&self) -> Step {
        let (with, d) = (self.with, self.d);
        let Parts { bank, .. } = with;
        let (op, look) = (&d.op, &d.look);
        let set = bank.set_of(d.line);
        let (reads, modifies, merges) =
            (d.l(LineDoes::Read), d.l(LineDoes::Modify), d.l(LineDoes::Merge) | d.f(FrameDoes::Occupy));
        let puts = [
            (merges & d.acts, Put::Merge),
            (d.l(LineDoes::Fill) & d.acts, Put::Fill),
            (modifies & d.acts, Put::Amo),
        ];
        let put = chosen(&puts, Put::Nothing);
        let around = d.acts & d.f(FrameDoes::Around);
        let leaver = with.select.leaver(look.there.tag, d.line);
        let thens =
            [(d.acts & d.f(FrameDoes::Reserve), Then::Read), (d.acts & d.l(LineDoes::ToMemory), Then::Amo)];
        let then = chosen(&thens, Then::Nothing);
        let write = d.acts & self.writes();
        let wide = bank.own_bits();
        let free =
            mux(d.l(LineDoes::ToMemory), with.memory.other_free().1.resize(wide), self.free_mshr(wide));
        let order = Order {
            write,
            write_line: mux(d.f(FrameDoes::Evict), leaver, d.line),
            write_id: with.memory.write_free().1,
            then: Follows { then, then_id: free, atomic: op.about.atomic },
        };
        let answer = answered(&self.answers(reads, modifies, merges));
        let memory = d.is(&[Kind::AmoAck]);
        let shows = mux(
            modifies,
            enum_lit(Shows::Old),
            mux(memory, enum_lit(Shows::Memory), enum_lit(Shows::Nothing)),
        );
        let reply = Reply::to(op, answer, mux(reads, enum_lit(Shows::Line), shows), op.from_head & reads);
        Step {
            set,
            way: look.way,
            tag: bank.tag_of(d.line),
            state: look.state,
            work: Work::of((op, look), put, reply, (write | !then.is(Then::Nothing), order)),
            around,
            unlocks: op.kind.is(Kind::RemOp) & d.own,
            keep: op.about.keep,
            lock: d.lock.index,
        }
    }

    fn free_mshr(&self, width: u32) -> Bits {
        self.with.memory.lines.mshrs.free_index().resize(width)
    }

    /// Answers and when they are sent.
    fn answers(&self, reads: Bool, modifies: Bool, merges: Bool) -> [(Bool, RspOp); 7] {
        let (with, d) = (self.with, self.d);
        let valid = with.select.s1_valid.get();
        let is = |kind| valid & d.op.kind.is(kind);
        [
            (d.acts & reads, RspOp::Fill),
            (d.acts & modifies & is(Kind::Atm) | is(Kind::AmoAck), RspOp::AtmRsp),
            (d.acts & modifies & is(Kind::RemOp), RspOp::RemRsp),
            ((d.acts & merges) | is(Kind::Ack), RspOp::WbAck),
            (d.k(LockDoes::Lock) & d.takes, RspOp::RemGrant),
            (d.t(TokenDoes::Grant), RspOp::TokenGrant),
            (is(Kind::SysAck), RspOp::SysAck),
        ]
    }
}

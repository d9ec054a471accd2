//! Stage 1: compares tags, decides by the tables, and passes what is to be done to stage 2.

use super::arrays::{self, Lookup};
use super::ingress::{Claims, Waits};
use super::params::{HlrcL2Fault, HlrcL2Params};
use super::revokes::{Found, Revocation};
use super::select::Parts;
use super::table::{self, Cause, Comes, Event, FrameDoes, LineDoes, Place, RevokeDoes, Use};
use super::types::*;
use crate::bank::{Asker, Moves, Next, Reply, Ruled, Short, Tag, Work, Writer, answered, coded};
use crate::msg::{RspOp, Written};
use weft_blocks::common::mshr::MshrMatch;
use weft_rtl::prelude::*;

/// The decoded tables of lines, frames and revocations, in DeNovo-B also of reads at owners.
struct Decodes {
    lines: Ruled<LineState, LineDoes>,
    frames: Ruled<NoState, FrameDoes>,
    revokes: Ruled<LineState, RevokeDoes>,
    reads: Option<Ruled<LineState, RevokeDoes>>,
}

/// The decision of stage 1, for observers.
pub(super) struct Decision {
    pub op: Op,
    pub look: Lookup,
    pub found: MshrMatch,
    /// What is known of the line's revocation.
    pub asked: Found,
    pub claims: Claims,
    pub lines: Ruled<LineState, LineDoes>,
    pub frames: Ruled<NoState, FrameDoes>,
    pub revokes: Ruled<LineState, RevokeDoes>,
    pub reads: Option<Ruled<LineState, RevokeDoes>>,
    pub at_line: Bool,
    /// A registration waits for the senior, which wants the line.
    pub yields: Bool,
    pub waits: Waits,
    pub takes: Bool,
    /// Its actions are carried out, not put off.
    pub acts: Bool,
    /// A line leaves its set's frame for nobody: its owner is asked.
    pub recalls: Bool,
    /// Its set has a recall already.
    pub recalling: Bool,
    /// The sFIFO gets a line.
    pub pushes: Bool,
    /// The line's dirty bytes with those that come.
    pub dirty: Bits,
}

impl Decision {
    /// The operation is of one of these kinds.
    pub fn is(&self, kinds: &[Kind]) -> Bool {
        self.op.kind.is_any(kinds)
    }
    /// The line's row takes an action, and it is carried out.
    pub fn l(&self, action: LineDoes) -> Bool {
        self.acts & self.lines.does(action)
    }
    /// The frame's row.
    pub fn f(&self, action: FrameDoes) -> Bool {
        self.acts & self.frames.does(action)
    }
    /// The row of the revocation, or of the read at the owner.
    pub fn r(&self, action: RevokeDoes) -> Bool {
        let revokes = self.revokes.does(action);
        self.acts & self.reads.as_ref().map_or(revokes, |reads| revokes | reads.does(action))
    }
    /// The operation is one that waits for other L1s: a registration, in DeNovo-B also a read.
    fn contends(&self, p: &HlrcL2Params) -> Bool {
        contends(p, &self.op)
    }
    /// The owner of the line is asked for it, or for its bytes.
    pub fn asks(&self) -> Bool {
        let revokes = self.l(LineDoes::Revoke);
        if self.reads.is_some() { revokes | self.l(LineDoes::Ask) } else { revokes }
    }
    /// A line is no longer registered, or has another owner.
    pub fn ends(&self) -> Bool {
        let ends = self.l(LineDoes::GiveBack) | self.r(RevokeDoes::Pass) | self.r(RevokeDoes::Expel);
        if self.reads.is_some() { ends | self.r(RevokeDoes::Serve) } else { ends }
    }
    /// Somebody gets the line for whom its owner has been asked: the one of the revocation, or of the read.
    fn hands(&self) -> Bool {
        let pass = self.r(RevokeDoes::Pass);
        if self.reads.is_some() { pass | self.r(RevokeDoes::Serve) } else { pass }
    }
    /// The line is no longer registered, and stays.
    fn frees(&self) -> Bool {
        let back = self.l(LineDoes::GiveBack);
        if self.reads.is_some() { back | self.r(RevokeDoes::Release) } else { back }
    }
    /// Bytes go to memory.
    pub fn writes(&self, p: &HlrcL2Params) -> Bool {
        let leaves = self.f(FrameDoes::Evict)
            | self.f(FrameDoes::Around)
            | self.l(LineDoes::Clean)
            | self.l(LineDoes::Through);
        if p.fault == HlrcL2Fault::LostRecall {
            leaves
        } else {
            leaves | (self.r(RevokeDoes::Expel) & self.dirty.any())
        }
    }
}

const READS: [Kind; 2] = [Kind::Rd, Kind::Rdu];

/// The operation waits for other L1s if it must: a registration, in DeNovo-B also a read.
fn contends(p: &HlrcL2Params, op: &Op) -> Bool {
    let kinds: &[Kind] = if p.registers_writes() { &[Kind::Reg, Kind::Rd] } else { &[Kind::Reg] };
    op.kind.is_any(kinds)
}

/// Decodes the line's, the frame's and the revocation's rows.
fn decode(p: &HlrcL2Params, (op, at): (&Op, Bool), look: &Lookup, asked: &Found, claims: Claims) -> Decodes {
    let is = |kinds: &[Kind]| op.kind.is_any(kinds);
    let whole = look.state.is(LineState::W) & look.mask.all();
    let (reads, registers) = (is(&READS), is(&[Kind::Reg]));
    let events = [
        (reads & whole, Event::RdIn),
        (reads, Event::Rd),
        (registers & whole, Event::RegIn),
        (registers, Event::Reg),
        (is(&[Kind::Wb]), Event::Wb),
        (is(&[Kind::Unreg]), Event::Unreg),
        (is(&[Kind::RevokeAck]), Event::RevokeAck),
        (is(&[Kind::Pop]), Event::Pop),
    ];
    let event = coded(&events, Event::Fill).named("s1_event");
    let stale = matches!(p.fault, HlrcL2Fault::StaleFill | HlrcL2Fault::OldRead);
    let table = table::lines(p.write, p.registered, stale);
    let lines = Ruled { at, decoded: table.decode(at, (look.state, event)) };
    let fetch = lines.does(LineDoes::Fetch);
    let at_frame = (fetch | lines.does(LineDoes::Take)).named("s1_at_frame");
    let there = look.there.state;
    let places = [
        (look.hit, Place::Own),
        (claims.frame, Place::None),
        (there.is(LineState::I), Place::I),
        (!look.room, Place::None),
        (there.is(LineState::V), Place::V),
        (there.is(LineState::D), Place::D),
        (there.is(LineState::W), Place::W),
    ];
    let place = coded(&places, Place::R).named("s1_frame");
    let uses = [(fetch & registers, Use::Register), (fetch, Use::Fetch)];
    let usage = coded(&uses, Use::Take).named("s1_use");
    let frames = table::frames(p.write, p.registered, p.owned_aware);
    let frames = Ruled { at: at_frame, decoded: frames.decode(at_frame, (place, usage)) };
    let row = &asked.row;
    let comes = [
        (op.about.has & !row.owes & !row.acked, Comes::Line),
        (!op.about.has & row.owes, Comes::Unregistered),
        (!op.about.has & row.acked, Comes::Acknowledged),
    ];
    let comes = coded(&comes, Comes::Never).named("s1_comes");
    let cause = coded(&[(row.asked, Cause::Asked)], Cause::Recall).named("s1_cause");
    let back = lines.does(LineDoes::Back);
    let revoked = asked.reads.map_or(back, |reads| back & !reads);
    let revokes =
        Ruled { at: revoked, decoded: table::revokes(p.registered).decode(revoked, (cause, comes)) };
    let reads = asked.reads.map(|reads| {
        let at = back & reads;
        Ruled { at, decoded: table::reads().decode(at, (comes,)) }
    });
    Decodes { lines, frames, revokes, reads }
}

/// Builds stage 1.
pub(super) fn connect(with: &Parts) -> Decision {
    let Parts { p, memory, select, ingress, revokes, .. } = with;
    let (op, valid) = (select.s1.get(), select.s1_valid.get());
    let registers = op.kind.is(Kind::Reg);
    let look = arrays::look(p, &select.rows, with.bank.tag_of(op.about.line), registers);
    let (found, asked) = (memory.find(op.about.line), revokes.find(op.about.line));
    let claims = ingress.claims(op.src, op.about.line);
    let contends = if p.registers_writes() { contends(p, &op) } else { registers };
    let yields = (valid & contends & op.from_head & claims.line).named("s1_yields");
    let of_line = !op.kind.is_any(&[Kind::Ack, Kind::Direct]);
    let at_line = (valid & of_line & !yields).named("s1_at_line");
    let Decodes { lines, frames, revokes: rows, reads } =
        about(op.about.line, || decode(p, (&op, at_line), &look, &asked, claims));
    let low = bool_lit(false);
    let mut d = Decision {
        dirty: look.mask | op.written.mask,
        recalling: revokes.recalls_in(with.bank.set_of(op.about.line)),
        op,
        look,
        found,
        asked,
        claims,
        lines,
        frames,
        revokes: rows,
        reads,
        at_line,
        yields,
        waits: Waits { short: Short::of_nothing(), entry: low, turn: low },
        takes: low,
        acts: at_line,
        recalls: low,
        pushes: low,
    };
    outcome(with, &mut d, valid);
    Act { with, d: &d }.act();
    d
}

/// Whether the operation is carried out, or what it waits for.
fn outcome(with: &Parts, d: &mut Decision, valid: Bool) {
    let Parts { p, memory, sfifo, revokes, .. } = with;
    let registers = d.is(&[Kind::Reg]);
    let no_entry = revokes.full() | d.claims.entry;
    let wants_recall = d.f(FrameDoes::Recall) & !d.recalling;
    // A frame that is taken, and a line that comes to be in D, gets dirty bytes at once.
    let pushes = d.l(LineDoes::Push) | d.f(FrameDoes::Occupy) | (d.frees() & d.dirty.any());
    let no_write = d.writes(p) & !memory.write_free().0;
    let no_mshr = d.f(FrameDoes::Reserve) & memory.lines.mshrs.full();
    let no_direct = d.f(FrameDoes::Direct) & !memory.other_free().0;
    // In DeNovo-B a read behind a registration would have to ask the new owner when the line comes.
    let later = if p.registers_writes() { d.contends(p) } else { registers };
    let second = later & memory.registers(d.found.index);
    let join = d.l(LineDoes::Join) & (!d.found.room | second);
    let stays = d.l(LineDoes::Queue) | d.f(FrameDoes::Stay);
    let entry = (d.asks() | (wants_recall & registers)) & no_entry;
    let turn = (stays | (join & registers)) & !entry;
    let line = d.l(LineDoes::Wait) | (join & !registers);
    let off = entry | turn | line;
    let supply = !off & (no_write | no_mshr | no_direct);
    let room = !off & !supply & pushes & sfifo.full();
    let acts = (d.at_line & !off & !supply & !room).named("s1_acts");
    let head = valid & d.op.from_head;
    // A registration recalls and waits; what goes around the bank recalls only as it goes.
    let goes = acts | (turn & registers);
    d.recalls = (wants_recall & !no_entry & goes).named("s1_recalls");
    d.waits = Waits {
        short: Short { supply: head & supply, room: head & room, line: head & line },
        entry: head & entry,
        turn: head & (turn | d.yields),
    };
    d.acts = acts;
    let again = d.r(RevokeDoes::Answer) & !d.r(RevokeDoes::Expel);
    d.takes = (head & acts & !again).named("s1_takes");
    d.pushes = acts & pushes;
}

/// Carries the decision out.
struct Act<'a> {
    with: &'a Parts<'a>,
    d: &'a Decision,
}

impl Act<'_> {
    fn act(&self) {
        let (with, d) = (self.with, self.d);
        let Parts { ingress, select, sfifo, .. } = with;
        let valid = select.s1_valid.get();
        let head = ingress.queues.bit(d.op.wb, d.op.src);
        when(valid & d.op.from_head, || ingress.leave(head, d.takes, &d.waits));
        when(d.ends(), || ingress.turn_over());
        self.seniority(valid);
        self.array();
        self.revocations();
        self.memory(valid);
        when(d.pushes, || sfifo.push(d.op.about.line));
        when(d.l(LineDoes::Pop), || sfifo.pop());
        let step = self.step(valid);
        let work = &step.work;
        let runs = work.reply.answer | work.orders | work.put.is_any(&[Put::Merge, Put::Fill]);
        with.outs.accept(valid & runs, &step, |_| (), || step.row);
        select.hold(d.at_line & d.lines.does(LineDoes::Hold), Kind::Fill, || ingress.line_came());
    }

    /// The senior is served, or says whether it waits for a frame.
    fn seniority(&self, valid: Bool) {
        let (ingress, d) = (self.with.ingress, self.d);
        let senior = &ingress.senior;
        let mine = senior.is(d.op.src);
        when(valid & d.contends(self.with.p) & d.op.from_head & mine, || {
            senior.notes.frame.set(d.frames.does(FrameDoes::Stay));
            when(d.takes, || ingress.retire());
        });
    }

    /// State, owner, dirty bytes and age.
    fn array(&self) {
        let (with, d) = (self.with, self.d);
        let (p, arrays) = (with.p, &with.select.rows);
        let look = &d.look;
        let set = with.bank.set_of(d.op.about.line);
        let next = Next::of(look);
        let owner = wire_or::<Bits>("s1_next_owner", p.bank.srsp.cu_bits(), look.kept);
        let now = |s: LineState| look.state.is(s);
        let (merges, occupies, reserves) =
            (d.l(LineDoes::Merge), d.f(FrameDoes::Occupy), d.f(FrameDoes::Reserve));
        when(merges | d.r(RevokeDoes::Bring), || next.mask.set(d.dirty));
        when(merges & now(LineState::P), || next.state.set(LineState::Pd));
        when(merges & now(LineState::V), || next.state.set(LineState::D));
        let (fills, cleans) = (d.l(LineDoes::Fill), d.l(LineDoes::Clean));
        next.moves(look, d.op.written.mask, &Moves { occupies, reserves, fills, cleans });
        self.served(&next);
        next.complete(d.frees(), || d.dirty.any());
        when(d.asks(), || next.state.set(LineState::RV));
        when(d.l(LineDoes::Grant) | d.r(RevokeDoes::Pass), || {
            owner.set(mux(d.r(RevokeDoes::Pass), d.asked.row.src, d.op.src));
            next.state.set(LineState::R);
        });
        when(d.l(LineDoes::Drop) | d.r(RevokeDoes::Expel), || next.state.set(LineState::I));
        let leaves = d.l(LineDoes::Clean) | d.l(LineDoes::Drop) | d.ends();
        let changes =
            merges | occupies | reserves | d.l(LineDoes::Fill) | leaves | d.asks() | d.l(LineDoes::Grant);
        when(changes, || {
            let tag = Tag { tag: with.bank.tag_of(d.op.about.line), state: next.state.get() };
            arrays.put(set, look.way, tag, next.mask.get(), owner.get());
        });
        when(d.recalls, || {
            let tag = Tag { tag: look.there.tag, state: enum_lit(LineState::RV) };
            arrays.put(set, look.way, tag, look.mask, look.kept);
        });
        let after = arrays.state_after(set, look, with.bank.tag_of(d.op.about.line));
        d.lines.decoded.leads_to_when(d.acts, after);
        d.revokes.decoded.leads_to_when(d.acts, after);
        if let Some(reads) = &d.reads {
            reads.decoded.leads_to_when(d.acts, after);
        }
        let uses = merges | occupies | reserves | d.l(LineDoes::Read) | d.l(LineDoes::Grant) | d.hands();
        when(uses, || arrays.touch(set, look));
    }

    /// DeNovo-B: a line that was read at its owner is his still, unless it is given back.
    fn served(&self, next: &Next<LineState>) {
        if self.d.reads.is_some() {
            when(self.d.r(RevokeDoes::Serve), || next.state.set(LineState::R));
        }
    }

    /// Line that leaves the way chosen.
    fn leaver(&self) -> Bits {
        self.with.select.leaver(self.d.look.there.tag, self.d.op.about.line)
    }

    /// Revocations begin, change and end.
    fn revocations(&self) {
        let (Parts { p, revokes, .. }, d) = (self.with, self.d);
        let (op, row, low) = (&d.op, d.asked.row, bool_lit(false));
        let asked = d.asks();
        when(asked | d.recalls, || {
            let line = mux(asked, op.about.line, self.leaver());
            let zero = lit(0, p.bank.srsp.wbt_bits());
            let Op { src, mshr, .. } = *op;
            let entry = Revocation { line, asked, src, mshr, owes: low, wbt: zero, acked: low };
            let reads = if p.registers_writes() { d.l(LineDoes::Ask) } else { low };
            revokes.open(&entry, d.look.kept, reads);
        });
        let early = bool_lit(p.fault == HlrcL2Fault::EarlyUnregAck);
        when(d.l(LineDoes::Note), || {
            let noted = Revocation { owes: !early, wbt: op.written.wbt, acked: early, ..row };
            revokes.change(d.asked.index, &noted);
        });
        when(d.r(RevokeDoes::Answer) & !d.r(RevokeDoes::Expel), || {
            revokes.change(d.asked.index, &Revocation { owes: low, acked: bool_lit(true), ..row });
        });
        when(d.hands() | d.r(RevokeDoes::Expel), || revokes.close(d.asked.entries));
    }

    /// MSHRs, writes and reads around the bank.
    fn memory(&self, valid: Bool) {
        let (Parts { p, memory, .. }, d) = (self.with, self.d);
        let Op { src, mshr, written: Written { wbt, epoch, .. }, own, .. } = d.op;
        let reg = d.is(&[Kind::Reg]);
        let asker = Asker { src, mshr };
        let target = Target { reg, asker };
        when(d.f(FrameDoes::Reserve), || {
            memory.lines.mshrs.allocate(d.op.about.line, &target);
            when(reg, || memory.register(memory.lines.mshrs.free_index()));
        });
        when(d.l(LineDoes::Join), || {
            memory.lines.mshrs.merge(d.found.index, &target);
            when(reg, || memory.register(d.found.index));
        });
        when(d.writes(p), || {
            let answered = d.f(FrameDoes::Around) | d.l(LineDoes::Through);
            let answered = if p.fault == HlrcL2Fault::EarlyWbAck { bool_lit(false) } else { answered };
            memory.open_write(answered, &Writer { src, wbt, epoch });
        });
        when(d.f(FrameDoes::Direct), || memory.open_direct(&asker));
        let direct = d.is(&[Kind::Direct]);
        when(valid & (direct | d.is(&[Kind::Ack])), || memory.close(own, direct));
        memory.present(direct, own);
    }

    /// A write to memory, and the read that follows it.
    fn order(&self) -> (Order, Enum<Sends>, Bits) {
        let (Parts { p, bank, memory, .. }, d) = (self.with, self.d);
        let direct = d.f(FrameDoes::Direct);
        let wide = |bits: Bits| bits.resize(bank.own_bits());
        let order = Order {
            write: d.writes(p),
            write_line: mux(d.f(FrameDoes::Evict), self.leaver(), d.op.about.line),
            write_id: memory.write_free().1,
            then: Follows {
                read: d.f(FrameDoes::Reserve) | direct,
                direct,
                read_line: d.op.about.line,
                read_id: mux(direct, wide(memory.other_free().1), wide(memory.lines.mshrs.free_index())),
            },
        };
        // Of a line that is not here, the way chosen holds another.
        let message = d.f(FrameDoes::Around) | (d.l(LineDoes::Through) & !d.look.hit);
        let after = d.l(LineDoes::Through) | d.r(RevokeDoes::Expel);
        let leaves = mux(after, enum_lit(Sends::After), enum_lit(Sends::Before));
        let leaves = mux(message, enum_lit(Sends::Message), leaves);
        (order, leaves, mux(message, d.op.written.mask, mux(after, d.dirty, d.look.mask)))
    }

    /// What stage 2 does.
    fn step(&self, valid: Bool) -> Step {
        let (Parts { p, bank, .. }, d) = (self.with, self.d);
        let (op, look, row) = (&d.op, &d.look, &d.asked.row);
        let set = bank.set_of(op.about.line);
        let comes = d.l(LineDoes::Merge)
            | d.f(FrameDoes::Occupy)
            | d.r(RevokeDoes::Bring)
            | (d.l(LineDoes::Through) & look.hit);
        let put = mux(d.l(LineDoes::Fill), enum_lit(Put::Fill), enum_lit(Put::Nothing));
        let put = mux(comes, enum_lit(Put::Merge), put);
        let answer = answered(&self.answers(valid));
        let pass = d.hands();
        let hit = d.l(LineDoes::Read) | d.l(LineDoes::Grant);
        let direct = d.is(&[Kind::Direct]);
        let shows = mux(direct, enum_lit(Shows::Memory), enum_lit(Shows::Nothing));
        let line = match p.fault {
            HlrcL2Fault::GrantBeforeFlush if d.reads.is_some() => {
                d.l(LineDoes::Revoke) | d.r(RevokeDoes::Serve)
            }
            HlrcL2Fault::GrantBeforeFlush => d.l(LineDoes::Revoke),
            _ => pass,
        } | hit;
        let (order, sends, out_mask) = self.order();
        let shows = mux(line, enum_lit(Shows::Line), shows);
        let reply = Reply {
            dst: mux(pass, row.src, op.src),
            mshr: mux(pass, row.mshr, op.mshr),
            wbt: mux(d.r(RevokeDoes::Answer), row.wbt, op.written.wbt),
            ..Reply::to(op, answer, shows, op.from_head & hit)
        };
        Step {
            row: bank.row_of(set, look.way),
            work: Work::of((op, look), put, reply, (order.write | order.then.read, order)),
            sends,
            out_mask,
        }
    }

    /// A reader gets the line.
    fn reads(&self) -> Bool {
        let read = self.d.l(LineDoes::Read);
        if self.d.reads.is_some() { read | self.d.r(RevokeDoes::Serve) } else { read }
    }

    /// Answers and when they are sent.
    fn answers(&self, valid: Bool) -> [(Bool, RspOp); 4] {
        let (p, d) = (self.with.p, self.d);
        let is = |kind| valid & d.op.kind.is(kind);
        let never = bool_lit(false);
        let early = |fault, now: Bool| if p.fault == fault { now } else { never };
        let flushed = if p.fault == HlrcL2Fault::GrantBeforeFlush {
            d.l(LineDoes::Revoke)
        } else {
            d.r(RevokeDoes::Pass)
        };
        let around = early(HlrcL2Fault::EarlyWbAck, d.f(FrameDoes::Around) | d.l(LineDoes::Through));
        let noted = early(HlrcL2Fault::EarlyUnregAck, d.l(LineDoes::Note));
        // A READ_ACK is not acknowledged: its row does not merge, but that of the read.
        let merged = d.f(FrameDoes::Occupy) | (d.l(LineDoes::Merge) & is(Kind::Wb));
        [
            (self.reads() | is(Kind::Direct), RspOp::Fill),
            (d.l(LineDoes::Grant) | flushed, RspOp::RegData),
            (merged | around | is(Kind::Ack), RspOp::WbAck),
            (d.l(LineDoes::GiveBack) | d.r(RevokeDoes::Answer) | noted, RspOp::UnregAck),
        ]
    }
}

//! Stage 1: compares tags, decides by the tables, and passes what is to be done to stage 2.

use super::arrays::Lookup;
use super::ingress::{Claims, Waits};
use super::memory::{Reader, Writer};
use super::params::{HlrcL2Fault, HlrcL2Params};
use super::revokes::{Found, Revocation};
use super::select::Parts;
use super::table;
use super::types::*;
use crate::msg::RspOp;
use weft_blocks::common::mshr::MshrMatch;
use weft_rtl::prelude::*;

/// A decoded table; actions that no row of it takes are low.
pub(super) struct Rows {
    at: Bool,
    actions: Vec<&'static str>,
    decoded: Decoded,
}

impl Rows {
    fn new(table: &Table, at: Bool, inputs: &[Bits]) -> Rows {
        let actions = table.rows.iter().flat_map(|row| row.actions.clone()).collect();
        Rows { at, actions, decoded: table.decode(at, inputs) }
    }
    /// A row is in force.
    pub fn at(&self) -> Bool {
        self.at
    }
    /// The row in force takes an action.
    pub fn does(&self, name: &'static str) -> Bool {
        if self.actions.contains(&name) { self.at & self.decoded.action(name) } else { bool_lit(false) }
    }
}

/// The decision of stage 1, for observers.
pub(super) struct Decision {
    pub op: Op,
    pub look: Lookup,
    pub found: MshrMatch,
    /// What is known of the line's revocation.
    pub asked: Found,
    pub claims: Claims,
    pub lines: Rows,
    pub frames: Rows,
    pub revokes: Rows,
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
    pub fn l(&self, name: &'static str) -> Bool {
        self.acts & self.lines.does(name)
    }
    /// The frame's row.
    pub fn f(&self, name: &'static str) -> Bool {
        self.acts & self.frames.does(name)
    }
    /// The revocation's row.
    pub fn r(&self, name: &'static str) -> Bool {
        self.acts & self.revokes.does(name)
    }
    /// A line is no longer registered, or has another owner.
    pub fn ends(&self) -> Bool {
        self.l("give_back") | self.r("pass") | self.r("expel")
    }
    /// Bytes go to memory.
    pub fn writes(&self, p: &HlrcL2Params) -> Bool {
        let leaves = self.f("evict") | self.f("around") | self.l("clean") | self.l("through");
        if p.fault == HlrcL2Fault::LostRecall {
            leaves
        } else {
            leaves | (self.r("expel") & self.dirty.any())
        }
    }
}

fn code(names: &[&'static str], wanted: &str) -> u64 {
    names.iter().position(|n| *n == wanted).map_or(0, |i| i as u64)
}

/// The first of the pairs that holds, as a number of a column.
fn coded(names: &[&'static str], pairs: &[(Bool, &str)], rest: &str) -> Bits {
    let width = bits_for(names.len() as u64);
    let value = |name: &str| lit(code(names, name), width);
    pairs.iter().rev().fold(value(rest), |so_far, (now, name)| mux(*now, value(name), so_far))
}

fn line_table(p: &HlrcL2Params) -> Table {
    let mut table = table::lines(p.write);
    if p.fault == HlrcL2Fault::StaleFill {
        let stale = table.rows.iter_mut().filter(|row| row.id.ends_with(".P.WB"));
        stale.for_each(|row| row.actions = vec!["through"]);
    }
    table
}

const READS: [Kind; 2] = [Kind::Rd, Kind::Rdu];

/// Decodes the line's, the frame's and the revocation's rows.
fn decode(
    p: &HlrcL2Params,
    (op, at): (&Op, Bool),
    look: &Lookup,
    asked: &Found,
    claims: Claims,
) -> (Rows, Rows, Rows) {
    let is = |kinds: &[Kind]| op.kind.is_any(kinds);
    let whole = look.state.is(LineState::W) & look.mask.all();
    let (reads, registers) = (is(&READS), is(&[Kind::Reg]));
    let events = [
        (reads & whole, "RD_in"),
        (reads, "RD"),
        (registers & whole, "REG_in"),
        (registers, "REG"),
        (is(&[Kind::Wb]), "WB"),
        (is(&[Kind::Unreg]), "UNREG"),
        (is(&[Kind::RevokeAck]), "REVOKE_ACK"),
        (is(&[Kind::Pop]), "POP"),
    ];
    let event = coded(&table::EVENTS, &events, "FILL").named("s1_event");
    let lines = Rows::new(&line_table(p), at, &[look.state.bits(), event]);
    let fetch = lines.does("fetch");
    let at_frame = (fetch | lines.does("take")).named("s1_at_frame");
    let there = look.there.state;
    let places = [
        (look.hit, "own"),
        (claims.frame, "none"),
        (there.is(LineState::I), "I"),
        (!look.room, "none"),
        (there.is(LineState::V), "V"),
        (there.is(LineState::D), "D"),
        (there.is(LineState::W), "W"),
    ];
    let place = coded(&table::PLACES, &places, "R").named("s1_frame");
    let uses = [(fetch & registers, "register"), (fetch, "fetch")];
    let usage = coded(&table::USES, &uses, "take").named("s1_use");
    let frames = Rows::new(&table::frames(p.write, p.owned_aware), at_frame, &[place, usage]);
    let row = &asked.row;
    let comes = [
        (op.has & !row.owes & !row.acked, "line"),
        (!op.has & row.owes, "unregistered"),
        (!op.has & row.acked, "acknowledged"),
    ];
    let comes = coded(&table::COMES, &comes, "never").named("s1_comes");
    let cause = coded(&table::CAUSES, &[(row.asked, "asked")], "recall").named("s1_cause");
    let revokes = Rows::new(&table::revokes(), lines.does("back"), &[cause, comes]);
    (lines, frames, revokes)
}

/// Builds stage 1.
pub(super) fn connect(with: &Parts) -> Decision {
    let Parts { p, arrays, memory, select, ingress, revokes, .. } = with;
    let (op, valid) = (select.s1.get(), select.s1_valid.get());
    let registers = op.kind.is(Kind::Reg);
    let look = arrays.look(p.tag_of(op.line), registers);
    let (found, asked) = (memory.find(op.line), revokes.find(op.line));
    let claims = ingress.claims(op.src, op.line);
    let yields = (valid & registers & op.from_head & claims.line).named("s1_yields");
    let of_line = !op.kind.is_any(&[Kind::Ack, Kind::Direct]);
    let at_line = (valid & of_line & !yields).named("s1_at_line");
    let (lines, frames, rows) = about(op.line, || decode(p, (&op, at_line), &look, &asked, claims));
    let low = bool_lit(false);
    let mut d = Decision {
        dirty: look.mask | op.mask,
        recalling: revokes.recalls_in(p.set_of(op.line)),
        op,
        look,
        found,
        asked,
        claims,
        lines,
        frames,
        revokes: rows,
        at_line,
        yields,
        waits: Waits { supply: low, room: low, line: low, entry: low, turn: low },
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
    let wants_recall = d.f("recall") & !d.recalling;
    // A frame that is taken, and a line that comes to be in D, gets dirty bytes at once.
    let pushes = d.l("push") | d.f("occupy") | (d.l("give_back") & d.dirty.any());
    let no_write = d.writes(p) & !memory.write_free().0;
    let no_mshr = d.f("reserve") & memory.lines.full();
    let no_direct = d.f("direct") & !memory.direct_free().0;
    let second = registers & memory.registers(d.found.index);
    let join = d.l("join") & (!d.found.room | second);
    let stays = d.l("queue") | d.f("stay");
    let entry = (d.l("revoke") | (wants_recall & registers)) & no_entry;
    let turn = (stays | (join & registers)) & !entry;
    let line = d.l("wait") | (join & !registers);
    let off = entry | turn | line;
    let supply = !off & (no_write | no_mshr | no_direct);
    let room = !off & !supply & pushes & sfifo.full();
    let acts = (d.at_line & !off & !supply & !room).named("s1_acts");
    let head = valid & d.op.from_head;
    // A registration recalls and waits; what goes around the bank recalls only as it goes.
    let goes = acts | (turn & registers);
    d.recalls = (wants_recall & !no_entry & goes).named("s1_recalls");
    d.waits = Waits {
        supply: head & supply,
        room: head & room,
        line: head & line,
        entry: head & entry,
        turn: head & (turn | d.yields),
    };
    d.acts = acts;
    let again = d.r("answer") & !d.r("expel");
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
        let head = ingress.bit(d.op.wb, d.op.src);
        when(valid & d.op.from_head, || ingress.leave(head, d.takes, &d.waits));
        when(d.ends(), || ingress.turn_over());
        self.seniority(valid);
        self.array();
        self.revocations();
        self.memory(valid);
        when(d.pushes, || sfifo.push(d.op.line));
        when(d.l("pop"), || sfifo.pop());
        let step = self.step(valid);
        let runs = step.answer | step.orders | step.put.is_any(&[Put::Merge, Put::Fill]);
        with.outs.accept(valid & runs, &step);
        when(d.at_line & d.lines.does("hold"), || select.held.set(true));
        when(valid & d.is(&[Kind::Fill]), || {
            select.held.set(false);
            ingress.line_came();
        });
    }

    /// The senior is served, or says whether it waits for a frame.
    fn seniority(&self, valid: Bool) {
        let (ingress, d) = (self.with.ingress, self.d);
        let senior = &ingress.senior;
        let mine = senior.there.get() & senior.who.get().eq(d.op.src);
        when(valid & d.is(&[Kind::Reg]) & d.op.from_head & mine, || {
            senior.frame.set(d.frames.does("stay"));
            when(d.takes, || ingress.retire());
        });
    }

    /// State, owner, dirty bytes and age.
    fn array(&self) {
        let (with, d) = (self.with, self.d);
        let Parts { p, arrays, .. } = with;
        let look = &d.look;
        let set = p.set_of(d.op.line);
        let state = wire_or::<Enum<LineState>>("s1_next", (), look.state);
        let mask = wire_or::<Bits>("s1_next_dirty", p.srsp.line, look.mask);
        let owner = wire_or::<Bits>("s1_next_owner", p.srsp.cu_bits(), look.owner);
        let now = |s: LineState| look.state.is(s);
        let none = lit_bv(Bv::zero(p.srsp.line));
        let (merges, occupies, reserves) = (d.l("merge"), d.f("occupy"), d.f("reserve"));
        when(merges | d.r("bring"), || mask.set(d.dirty));
        when(merges & now(LineState::P), || state.set(LineState::Pd));
        when(merges & now(LineState::V), || state.set(LineState::D));
        when(occupies, || {
            mask.set(d.op.mask);
            state.set(LineState::W);
        });
        when(reserves, || {
            mask.set(mux(look.hit, look.mask, none));
            state.set(mux(look.hit, enum_lit(LineState::Pd), enum_lit(LineState::P)));
        });
        let kept = |any: Bool| mux(any, enum_lit(LineState::D), enum_lit(LineState::V));
        when(d.l("fill"), || state.set(kept(now(LineState::Pd))));
        when(d.l("clean"), || {
            mask.set(none);
            state.set(LineState::V);
        });
        when(d.l("give_back"), || state.set(kept(d.dirty.any())));
        when(d.l("revoke"), || state.set(LineState::RV));
        when(d.l("grant") | d.r("pass"), || {
            owner.set(mux(d.r("pass"), d.asked.row.src, d.op.src));
            state.set(LineState::R);
        });
        when(d.l("drop") | d.r("expel"), || state.set(LineState::I));
        let leaves = d.l("clean") | d.l("drop") | d.ends();
        let changes = merges | occupies | reserves | d.l("fill") | leaves | d.l("revoke") | d.l("grant");
        when(changes, || {
            let tag = Tag { tag: p.tag_of(d.op.line), state: state.get() };
            arrays.put(set, look.way, tag, owner.get(), mask.get());
        });
        when(d.recalls, || {
            let tag = Tag { tag: look.there.tag, state: enum_lit(LineState::RV) };
            arrays.put(set, look.way, tag, look.owner, look.mask);
        });
        let uses = merges | occupies | reserves | d.l("read") | d.l("grant") | d.r("pass");
        when(uses, || arrays.touch(set, look));
    }

    /// Line that leaves the way chosen.
    fn leaver(&self) -> Bits {
        let (Parts { p, own, .. }, d) = (self.with, self.d);
        p.line_from(d.look.there.tag, p.set_of(d.op.line), *own)
    }

    /// Revocations begin, change and end.
    fn revocations(&self) {
        let (Parts { p, revokes, .. }, d) = (self.with, self.d);
        let (op, row, low) = (&d.op, d.asked.row, bool_lit(false));
        let asked = d.l("revoke");
        when(asked | d.recalls, || {
            let line = mux(asked, op.line, self.leaver());
            let zero = lit(0, p.srsp.wbt_bits());
            let Op { src, mshr, .. } = *op;
            let entry = Revocation { line, asked, src, mshr, owes: low, wbt: zero, acked: low };
            revokes.open(&entry, d.look.owner);
        });
        let early = bool_lit(p.fault == HlrcL2Fault::EarlyUnregAck);
        when(d.l("note"), || {
            let noted = Revocation { owes: !early, wbt: op.wbt, acked: early, ..row };
            revokes.change(d.asked.index, &noted);
        });
        when(d.r("answer") & !d.r("expel"), || {
            revokes.change(d.asked.index, &Revocation { owes: low, acked: bool_lit(true), ..row });
        });
        when(d.r("pass") | d.r("expel"), || revokes.close(d.asked.entries));
    }

    /// MSHRs, writes and reads around the bank.
    fn memory(&self, valid: Bool) {
        let (Parts { p, memory, .. }, d) = (self.with, self.d);
        let Op { src, mshr, wbt, epoch, own, .. } = d.op;
        let reg = d.is(&[Kind::Reg]);
        let target = Target { reg, src, mshr };
        when(d.f("reserve"), || {
            memory.lines.allocate(d.op.line, &target);
            when(reg, || memory.register(memory.lines.free_index()));
        });
        when(d.l("join"), || {
            memory.lines.merge(d.found.index, &target);
            when(reg, || memory.register(d.found.index));
        });
        when(d.writes(p), || {
            let answered = d.f("around") | d.l("through");
            let answered = if p.fault == HlrcL2Fault::EarlyWbAck { bool_lit(false) } else { answered };
            memory.open_write(answered, &Writer { src, wbt, epoch });
        });
        when(d.f("direct"), || memory.open_direct(&Reader { src, mshr }));
        let direct = d.is(&[Kind::Direct]);
        when(valid & (direct | d.is(&[Kind::Ack])), || memory.close(own, direct));
        memory.present(direct, own);
    }

    /// A write to memory, and the read that follows it.
    fn order(&self) -> (Order, Enum<Sends>, Bits) {
        let (Parts { p, memory, .. }, d) = (self.with, self.d);
        let direct = d.f("direct");
        let wide = |bits: Bits| bits.resize(p.own_bits());
        let order = Order {
            write: d.writes(p),
            write_line: mux(d.f("evict"), self.leaver(), d.op.line),
            write_id: memory.write_free().1,
            read: d.f("reserve") | direct,
            direct,
            read_line: d.op.line,
            read_id: mux(direct, wide(memory.direct_free().1), wide(memory.lines.free_index())),
        };
        // Of a line that is not here, the way chosen holds another.
        let message = d.f("around") | (d.l("through") & !d.look.hit);
        let after = d.l("through") | d.r("expel");
        let leaves = mux(after, enum_lit(Sends::After), enum_lit(Sends::Before));
        let leaves = mux(message, enum_lit(Sends::Message), leaves);
        (order, leaves, mux(message, d.op.mask, mux(after, d.dirty, d.look.mask)))
    }

    /// What stage 2 does.
    fn step(&self, valid: Bool) -> Step {
        let (Parts { p, .. }, d) = (self.with, self.d);
        let (op, look, row) = (&d.op, &d.look, &d.asked.row);
        let set = p.set_of(op.line);
        let comes = d.l("merge") | d.f("occupy") | d.r("bring") | (d.l("through") & look.hit);
        let put = mux(d.l("fill"), enum_lit(Put::Fill), enum_lit(Put::Nothing));
        let put = mux(comes, enum_lit(Put::Merge), put);
        let answers = self.answers(valid);
        let rsp =
            answers.iter().fold(enum_lit(RspOp::Fill), |rest, (now, op)| mux(*now, enum_lit(*op), rest));
        let answer = any_of(&answers.iter().map(|a| a.0).collect::<Vec<_>>()).named("s1_answers");
        let pass = d.r("pass");
        let hit = d.l("read") | d.l("grant");
        let direct = d.is(&[Kind::Direct]);
        let shows = mux(direct, enum_lit(Shows::Memory), enum_lit(Shows::Nothing));
        let line = if p.fault == HlrcL2Fault::GrantBeforeFlush { d.l("revoke") } else { pass } | hit;
        let (order, sends, out_mask) = self.order();
        Step {
            row: p.row_of(set, look.way),
            dirty: look.mask,
            put,
            mask: op.mask,
            data: op.data,
            answer,
            rsp,
            shows: mux(line, enum_lit(Shows::Line), shows),
            dst: mux(pass, row.src, op.src),
            mshr: mux(pass, row.mshr, op.mshr),
            wbt: mux(d.r("answer"), row.wbt, op.wbt),
            epoch: op.epoch,
            hit: op.from_head & hit,
            orders: order.write | order.read,
            order,
            sends,
            out_mask,
        }
    }

    /// Answers and when they are sent.
    fn answers(&self, valid: Bool) -> [(Bool, RspOp); 4] {
        let (p, d) = (self.with.p, self.d);
        let is = |kind| valid & d.op.kind.is(kind);
        let never = bool_lit(false);
        let early = |fault, now: Bool| if p.fault == fault { now } else { never };
        let flushed = if p.fault == HlrcL2Fault::GrantBeforeFlush { d.l("revoke") } else { d.r("pass") };
        let around = early(HlrcL2Fault::EarlyWbAck, d.f("around") | d.l("through"));
        let noted = early(HlrcL2Fault::EarlyUnregAck, d.l("note"));
        let merged = d.f("occupy") | (d.l("merge") & is(Kind::Wb));
        [
            (d.l("read") | is(Kind::Direct), RspOp::Fill),
            (d.l("grant") | flushed, RspOp::RegData),
            (merged | around | is(Kind::Ack), RspOp::WbAck),
            (d.l("give_back") | d.r("answer") | noted, RspOp::UnregAck),
        ]
    }
}

//! Assertions, races and counters of a bank (srsp.md sections 9 and 12).

use super::arrays::Lookup;
use super::decide::Decision;
use super::select::{Choice, Parts};
use super::table::{FrameDoes, LineDoes, RevokeDoes};
use super::types::{Kind, LineState};
use crate::bank::{AtLine, observe_line};
use crate::msg::RspOp;
use weft_rtl::prelude::*;

/// What observers look at.
pub(super) struct Seen<'a> {
    pub parts: &'a Parts<'a>,
    pub choice: &'a Choice,
    pub d: &'a Decision,
}

/// Declares all observers.
pub(super) fn connect(seen: &Seen) {
    seen.parts.ingress.observe();
    lines(seen);
    owners(seen);
    line_races(seen);
    registration_races(seen);
    frame_races(seen);
    accesses(seen);
    events(seen);
}

const COMING: [LineState; 2] = [LineState::P, LineState::Pd];
const OWNED: [LineState; 2] = [LineState::R, LineState::RV];

impl Seen<'_> {
    fn valid(&self) -> Bool {
        self.parts.select.s1_valid.get()
    }
    fn is(&self, kind: Kind) -> Bool {
        self.d.op.kind.is(kind)
    }
    /// A message that is served.
    fn served(&self, kind: Kind) -> Bool {
        self.valid() & self.is(kind) & self.d.takes
    }
    fn in_state(&self, state: LineState) -> Bool {
        self.d.look.state.is(state)
    }
}

/// Dirty bytes are there where the state says so, and nowhere where it says that none are.
fn is_sound(look: &Lookup) -> Bool {
    let dirty = look.there.state.is_any(&[LineState::Pd, LineState::D, LineState::W]);
    let clean = look.there.state.is_any(&[LineState::P, LineState::V]);
    (!dirty | look.mask.any()) & (!clean | look.mask.none())
}

fn lines(seen: &Seen) {
    let (Parts { p, memory, select, .. }, d) = (seen.parts, seen.d);
    observe_line(
        select,
        &memory.fills,
        &AtLine {
            line: d.op.about.line,
            look: &d.look,
            found: &d.found,
            looks: d.at_line,
            comes: seen.valid() & d.op.from_head,
            fill: seen.is(Kind::Fill),
            wb: if p.registers_writes() { bool_lit(false) } else { seen.is(Kind::Wb) },
            takes: d.takes,
        },
    );
    let text = "dirty bytes are there where the state says so";
    assert_always("l2_dirty_bytes", !d.at_line | !d.look.hit | is_sound(&d.look), text);
    let done = d.acts | !(seen.valid() & (d.op.target | seen.is(Kind::Fill)));
    assert_always("l2_fill_never_waits", done, "a line from memory and who waited for it are served at once");
}

fn owners(seen: &Seen) {
    let d = seen.d;
    let looks = d.at_line;
    let one = d.asked.entries.popcount().le(1);
    assert_always("l2_one_revocation", !looks | one, "a line is revoked once at a time");
    let revoked = seen.in_state(LineState::RV).eq(d.asked.hit);
    assert_always("l2_revoked_has_entry", !looks | revoked, "a line is in RV exactly while it is revoked");
    let mine = d.look.kept.eq(d.op.src);
    let text = "an L1 does not register a line that it has";
    assert_always("l2_owner_has_it", !(d.at_line & d.lines.does(LineDoes::Revoke) & mine), text);
    let acks = seen.parts.p.answers().iter().fold(seen.is(Kind::Unreg), |any, kind| any | seen.is(*kind));
    let backs = d.at_line & acks;
    reads_at_owners(seen, mine);
    assert_always("l2_owner_gives_back", !backs | mine, "a line is given back by its owner");
    let again = d.lines.does(LineDoes::Note) & (d.asked.row.owes | d.asked.row.acked);
    assert_always("l2_one_unreg", !again, "an owner gives a line back once");
    let leaves = d.f(FrameDoes::Occupy) | d.f(FrameDoes::Reserve);
    let bound = d.look.there.state.is_any(&COMING) | d.look.there.state.is_any(&OWNED);
    let text = "a line on its way, or registered, is no victim";
    assert_always("l2_bound_stays", !leaves | d.look.hit | !bound, text);
    let waits = d.waits.entry | d.waits.turn;
    let text = "what comes on network 1 waits for no L1";
    assert_always("l2_wb_waits_for_memory", !(seen.valid() & d.op.wb & waits), text);
}

/// DeNovo-B: reads at owners and their answers belong together.
fn reads_at_owners(seen: &Seen, mine: Bool) {
    let d = seen.d;
    let Some(reads) = d.asked.reads else { return };
    let text = "an L1 does not read a line that it has registered";
    assert_always("l2_owner_reads", !(d.at_line & d.lines.does(LineDoes::Ask) & mine), text);
    let read = d.at_line & (seen.is(Kind::Wb) & !reads);
    let revoked = d.at_line & (seen.is(Kind::RevokeAck) & reads);
    let text = "READ_ACK answers a READ, REVOKE_ACK a REVOKE";
    assert_always("l2_answer_of_its_kind", !(read | revoked), text);
}

fn line_races(seen: &Seen) {
    let head = seen.parts.p.head();
    let race = |name: &str, cond, text: &str| race(head, name, cond, text);
    let (Parts { p, .. }, d) = (seen.parts, seen.d);
    let wb = seen.is(Kind::Wb);
    race("dead_entry", d.l(LineDoes::Pop) & !d.l(LineDoes::Clean), "an entry of the sFIFO is dead");
    let registered = d.l(LineDoes::Pop) & d.look.state.is_any(&OWNED);
    race("pops_registered", registered, "the line of an entry of the sFIFO is registered by now");
    race("full_pops", seen.choice.pops, "a full sFIFO makes room");
    race(
        "unreg_waits_for_room",
        d.waits.short.room & seen.is(Kind::Unreg),
        "an UNREG waits for room in the sFIFO",
    );
    race("replaces_dirty", d.f(FrameDoes::Evict), "a dirty line is replaced");
    if p.combines() {
        let coming = d.look.state.is_any(&COMING);
        race(
            "wb_while_coming",
            d.l(LineDoes::Merge) & coming,
            "a write-back of a line that is on its way from memory",
        );
        let keeps = d.l(LineDoes::Fill) & seen.in_state(LineState::Pd);
        race("fill_keeps_dirty", keeps, "a line comes from memory around bytes that are dirty by now");
        let holds = d.at_line & d.lines.does(LineDoes::Hold);
        race("head_coming", holds, "the head of the sFIFO is on its way from memory: it waits");
        race("write_around", d.f(FrameDoes::Around), "a write-back finds no frame");
    } else if !p.registers_writes() {
        let text = "a write waits for a line on its way from memory, to drop it";
        race("wb_waits_for_line", d.waits.short.line & wb, text);
        let joins = d.l(LineDoes::Through) & seen.in_state(LineState::D);
        race("through_with_dirty", joins, "a write goes out together with bytes that an owner has left");
    }
}

fn race(head: &str, name: &str, cond: Bool, text: &str) {
    cover(&format!("srsp.race.{head}_{name}"), cond, text);
}

fn registration_races(seen: &Seen) {
    let d = seen.d;
    let (head, writes) = (seen.parts.p.head(), seen.parts.p.registers_writes());
    let race = |name: &str, cond, text: &str| race(head, name, cond, text);
    let (reg, wb) = (seen.is(Kind::Reg), seen.is(Kind::Wb));
    let queue = d.at_line & d.lines.does(LineDoes::Queue);
    let mine = d.look.kept.eq(d.op.src);
    race("third_reg_waits", queue & !mine, "a registration waits while the line is revoked for another");
    race("reg_overtakes_ack", queue & mine, "an L1 registers a line again whose REVOKE_ACK is on its way");
    let second = d.waits.turn & d.lines.does(LineDoes::Join);
    race("second_reg_waits", second, "a second registration of a line that is on its way from memory");
    race("reg_joins", d.l(LineDoes::Join) & reg, "a registration of a line that a read has asked for");
    race(
        "unreg_crosses_revoke",
        d.l(LineDoes::Note),
        "the owner has given the line back when the REVOKE comes",
    );
    race(
        "unreg_then_asked",
        d.r(RevokeDoes::Answer) & !d.r(RevokeDoes::Expel),
        "it answers so, and the requester is next",
    );
    race("unreg_then_recall", d.r(RevokeDoes::Answer) & d.r(RevokeDoes::Expel), "it answers a recall so");
    if writes {
        read_races(seen, queue);
    } else {
        let merges = d.l(LineDoes::Merge) & wb & seen.in_state(LineState::RV);
        race("wb_in_revoke", merges, "a write-back of a revoked line");
        let reads = d.l(LineDoes::Read) & seen.in_state(LineState::RV);
        race("read_in_revoke", reads, "a read of a revoked line");
    }
    let dirty = d.l(LineDoes::Grant) & seen.in_state(LineState::D);
    race("grants_dirty", dirty, "a line with dirty bytes is registered");
    race("yields", d.yields, "a registration waits for one that has waited longer");
    race("no_entry", d.waits.entry, "a registration waits for an entry of a revocation");
}

/// DeNovo-B: reads of registered lines.
fn read_races(seen: &Seen, queue: Bool) {
    let (d, head) = (seen.d, seen.parts.p.head());
    let race = |name: &str, cond, text: &str| race(head, name, cond, text);
    let rd = seen.is(Kind::Rd);
    let asks_read = d.asked.reads.unwrap_or_else(|| bool_lit(false));
    race("read_waits_for_read", queue & rd & asks_read, "a read waits while another one asks the owner");
    race("read_waits_for_revoke", queue & rd & !asks_read, "a read waits while the line is revoked");
    let reg = queue & seen.is(Kind::Reg) & asks_read;
    race("reg_waits_for_read", reg, "a registration waits while a read asks the owner");
    let mine = d.look.kept.eq(d.op.src);
    race("read_overtakes_ack", queue & rd & mine, "an L1 reads a line again whose REVOKE_ACK is on its way");
    let crosses = d.l(LineDoes::Note) & asks_read;
    race("unreg_crosses_read", crosses, "the owner has given the line back when the READ comes");
    let freed = d.r(RevokeDoes::Release);
    race("read_frees", freed, "the reader gets a line that its owner has given back");
    let clean = d.r(RevokeDoes::Bring) & asks_read & d.op.written.mask.none();
    race("read_brings_nothing", clean, "an owner is read again that has written nothing since");
}

fn frame_races(seen: &Seen) {
    let (Parts { p, .. }, d) = (seen.parts, seen.d);
    let race = |name: &str, cond, text: &str| race(p.head(), name, cond, text);
    race("recall", d.recalls & seen.is(Kind::Reg), "a registration finds all ways registered");
    let waits = d.frames.does(FrameDoes::Stay) & d.recalling;
    race("recall_waits", waits, "a registration waits for a recall in its set");
    race("recall_clean", d.r(RevokeDoes::Expel) & !d.writes(p), "a recalled line has no dirty bytes");
    race("recall_dirty", d.r(RevokeDoes::Expel) & d.writes(p), "a recalled line goes to memory");
    race("read_around", d.f(FrameDoes::Direct), "a read finds no frame");
    let claimed = d.frames.at() & d.claims.frame & !d.look.hit;
    race("frame_claimed", claimed, "a frame is left to a registration that waits for one");
    if !p.owned_aware {
        let recalls = d.recalls & !seen.is(Kind::Reg);
        race("access_recalls", recalls, "a read or write-back replaces a registered line");
    }
}

/// Accesses by kind: what the comparison of systems counts as L2 accesses.
fn accesses(seen: &Seen) {
    let d = seen.d;
    let stage = &seen.parts.outs;
    let answers = |op| stage.valid.get() & stage.step.get().work.reply.is(op);
    count("l2_rd", seen.served(Kind::Rd), "reads of lines");
    let writes = seen.parts.p.registers_writes();
    if !writes {
        count("l2_rdu", seen.served(Kind::Rdu), "reads of bytes beside atomics");
        count("l2_wb", seen.served(Kind::Wb), "write-backs");
    }
    count("l2_reg", seen.served(Kind::Reg), "registrations");
    count("l2_unreg", seen.served(Kind::Unreg), "lines given back by their owners");
    let acks = seen.served(Kind::RevokeAck);
    count("l2_revoke_acks", acks & d.op.about.has, "lines given back on demand");
    count("l2_empty_revoke_acks", acks & !d.op.about.has, "answers to REVOKEs that an UNREG has crossed");
    let hits = d.op.from_head & (d.l(LineDoes::Read) | d.l(LineDoes::Grant));
    count("l2_hits", hits, "reads and registrations that found their line");
    if writes {
        let reads = seen.served(Kind::Wb);
        count("l2_read_acks", reads & d.op.about.has, "owners' bytes for a reader");
        count("l2_empty_read_acks", reads & !d.op.about.has, "answers to READs that an UNREG has crossed");
        count("l2_reads", d.l(LineDoes::Ask), "READs: reads of lines at their owners");
    } else {
        let text = "write-backs that found their line";
        count("l2_write_hits", d.l(LineDoes::Merge) & seen.is(Kind::Wb), text);
    }
    count("l2_answers", answers(RspOp::Fill), "lines sent to L1s");
    count("l2_reg_data", answers(RspOp::RegData), "lines sent to their new owners");
}

fn events(seen: &Seen) {
    let (Parts { ingress, .. }, d) = (seen.parts, seen.d);
    count("l2_revokes", d.l(LineDoes::Revoke), "REVOKEs for a registration");
    count("l2_recalls", d.recalls, "REVOKEs for a frame");
    let waiting = ingress.waiting();
    let text = "cycles of L1s whose registration waits for another L1 or a frame, summed";
    count_amount("l2_reg_wait", waiting.any(), waiting.popcount(), text);
    count("l2_evictions", d.f(FrameDoes::Evict), "dirty lines replaced");
    if !seen.parts.p.registers_writes() {
        count("l2_around", d.f(FrameDoes::Around), "write-backs that went around for want of a frame");
        count("l2_through", d.l(LineDoes::Through), "write-backs that went to memory");
        count("l2_drops", d.l(LineDoes::Through) & d.l(LineDoes::Drop), "copies dropped by them");
    }
    count("l2_read_around", d.f(FrameDoes::Direct), "reads that went around for want of a frame");
    count("l2_pops_overflow", d.l(LineDoes::Pop), "sFIFO entries popped for room");
    count("l2_entered", seen.choice.message, "messages that entered the pipeline");
}

//! The engine: everything that takes several steps, one job at a time.
//!
//! | job, by precedence | starts when | steps |
//! | --- | --- | --- |
//! | RspWB of a write-back in place | it is there | look up; words close; the last one frees the line |
//! | answer | a line is whole | Data to the L1, its operations, Done |
//! | delayed answers of an entry, one group at a time | RSP and WB have room | RspV; removals; write-back of the rest |
//! | ReqWB of the buffer | WB has room | send |
//! | forward | RSP and WB have room, none of the above waits | look up; answer and change |
//!
//! A job waits for outputs before it starts, never later; the L1 answers lookups in bounded time. So the first two, which responses cause, wait for no output at all, and what a
//! forward sees does not change under it.

mod forward;

use super::Core;
use super::entries::{After, ENGINE, Removal, RemovalOp};
use super::marks::Words;
use super::params::TuMesiInject;
use super::sink::{Sink, answered, outcome};
use super::table::{Install, Outcome, installs};
use crate::mesi_port::{DownOp, ExtOp, LineState, MesiDown, MesiExt, MesiUp, UpOp};
use crate::msg::{Fwd, Rsp, RspOp, Wb};
use weft_rtl::prelude::*;

/// A step of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 4)]
pub enum Step {
    /// No job.
    Idle,
    /// Answer: the line buffer is read and sent up.
    Install,
    /// Answer: the L1's operations are done.
    Serve,
    /// Delayed answers: one group.
    Delayed,
    /// ReqWB of the buffer.
    Send,
    /// Forward: the L1 looks up.
    Look,
    /// Forward: answer and change.
    Act,
    /// A second response.
    Second,
    /// The L1 is told what becomes of a line in place.
    Tell,
    /// It has done so.
    Told,
    /// RspWB: the L1 looks up.
    Find,
    /// RspWB: words close.
    Close,
}

/// A second response that follows the first.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = super::params::TuMesiParams)]
pub(super) struct SecondRsp {
    pub op: Enum<RspOp>,
    #[width(p.port.spandex.words())]
    pub mask: Bits,
    #[width(p.port.spandex.node_bits())]
    pub dst: Bits,
    #[width(p.port.spandex.tag_bits())]
    pub tag: Bits,
    pub nodata: Bool,
    pub kept_s: Bool,
    pub dirty: Bool,
    pub direct: Bool,
}

/// What the L1 has found.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = super::params::TuMesiParams)]
pub(super) struct Seen {
    pub state: Enum<LineState>,
    #[width(p.port.way_bits())]
    pub way: Bits,
    #[width(p.port.spandex.data_bits())]
    pub data: Bits,
}

pub(super) struct Engine {
    pub step: Reg<Enum<Step>>,
    pub up: InChannel<MesiUp>,
    pub fwd: InChannel<Fwd>,
    pub down: OutChannel<MesiDown>,
    pub ext: OutChannel<MesiExt>,
    pub wb: OutChannel<Wb>,
    /// Entry at work.
    pub entry: Reg<Bits>,
    index: Reg<Bits>,
    /// Line of a second response and of what the L1 is told.
    pub line: Reg<Bits>,
    pub second: Reg<SecondRsp>,
    /// A second response has the line buffer's data, not the L1's.
    pub from_buffer: Reg<Bool>,
    pub seen: Reg<Seen>,
    /// The L1 keeps the line, shared.
    pub keeps: Reg<Bool>,
    /// A Tell follows.
    pub tells: Reg<Bool>,
    triggers: Wire<Bool>,
}

impl Engine {
    pub fn new(core: &Core) -> Engine {
        let (p, s) = (&core.p, &core.p.port.spandex);
        Engine {
            step: reg::<Enum<Step>>("step", ()),
            up: in_channel::<MesiUp>("l1_up", &p.port),
            fwd: in_channel::<Fwd>("fwd", s),
            down: out_channel::<MesiDown>("l1_down", &p.port),
            ext: out_channel::<MesiExt>("ext", &p.port),
            wb: out_channel::<Wb>("wb", s),
            entry: reg::<Bits>("job_entry", s.mshr_bits()),
            index: reg::<Bits>("job_index", bits_for(u64::from(s.wbb))),
            line: reg::<Bits>("job_line", s.line_bits()),
            second: reg::<SecondRsp>("second", p.clone()).field("pipeline"),
            from_buffer: reg::<Bool>("second_from_buffer", ()),
            seen: reg::<Seen>("seen", p.clone()).field("pipeline"),
            keeps: reg::<Bool>("job_keeps", ()),
            tells: reg::<Bool>("job_tells", ()),
            triggers: wire_or::<Bool>("triggers", (), false),
        }
    }

    pub fn is(&self, step: Step) -> Bool {
        self.step.get().is(step)
    }

    pub fn go(&self, step: Step) {
        self.step.set(step);
    }

    /// The L1 tells what it has found.
    fn found(&self) -> Bool {
        self.up.valid & self.up.msg.op.is(UpOp::Found)
    }

    /// The L1's operations on an answer are done.
    fn done(&self) -> Bool {
        self.up.valid & self.up.msg.op.is(UpOp::Done)
    }

    /// Everything; `sink` is run in between, for the engine has the last word.
    pub fn run(&self, core: &Core, sink: &Sink) {
        self.take_up(core);
        self.choose(core, sink);
        self.install(core);
        self.serve(core);
        self.delayed(core);
        self.send(core);
        self.second_rsp(core);
        self.tell(core);
        let closes = self.close(core, sink);
        forward::look(self);
        forward::act(core, self);
        // What the engine writes in these cycles, a response could write too.
        let closed = self.is(Step::Act) | self.done();
        sink.run(core, closed, closes);
        self.check();
    }

    /// Whatever the L1 says is taken.
    fn take_up(&self, core: &Core) {
        let (up, m) = (&self.up, &self.up.msg);
        when(up.valid, || up.take());
        let put = (up.valid & m.op.is(UpOp::Put)).named("puts");
        when(put, || core.buffer.put(m.line, m.data, m.state.is(LineState::M)));
        let text = "the L1 evicts while it knows a free entry of the write-back buffer";
        assert_always("tu_mesi_put_room", !put | !core.buffer.full(), text);
        assert_always("tu_mesi_put_owned", !put | m.state.is_any(&LineState::OWNED), "an owned line is put");
        let twice = put & core.buffer.of_line(m.line).any();
        assert_always("tu_mesi_put_once", !twice, "a line is in the write-back buffer once");
    }

    /// The next job. Rows that it reads are presented now, or again while they are used.
    fn choose(&self, core: &Core, sink: &Sink) {
        let entries = &core.entries;
        let idle = self.is(Step::Idle);
        let room = core.rsp_room() & self.wb.free;
        let (full, after, unsent) = (entries.full.get(), entries.after.get(), core.buffer.unsent.get());
        let finds = idle & sink.in_place & self.ext.free;
        let installs = idle & !sink.in_place & full.any();
        let rest = idle & !sink.in_place & full.none();
        let delayed = rest & after.any() & room;
        let sends = rest & after.none() & unsent.any() & self.wb.free;
        let forwards = rest & after.none() & unsent.none() & self.fwd.valid & room & self.ext.free;
        let next = mux(installs, full.lowest_set(), after.lowest_set());
        let entry = mux(idle, next, self.entry.get());
        entries.present(entry);
        let index = unsent.lowest_set();
        let of_fwd = core.buffer.of_line(self.fwd.msg.line).lowest_set();
        core.buffer.present(mux(self.is(Step::Look), of_fwd, index));
        when(installs | delayed, || self.entry.set(next));
        when(installs, || self.go(Step::Install));
        when(delayed, || self.go(Step::Delayed));
        when(sends, || {
            self.index.set(index);
            self.go(Step::Send);
        });
        when(finds, || {
            self.ask(core, enum_lit(ExtOp::Look), sink.rsp.msg.line);
            self.go(Step::Find);
        });
        when(forwards, || self.go(Step::Look));
        when(forwards, || forward::ask(self));
        let place = cat(&[core.set_of(self.up.msg.line), self.up.msg.way]);
        when(self.found(), || {
            core.in_place.0.present(place);
            let m = &self.up.msg;
            self.seen.set(Seen { state: m.state, way: m.way, data: m.data });
        });
        let waits = self.fwd.valid & idle & !room;
        count("tu_mesi_forward_waits", waits, "cycles in which a forward waits for room for its answers");
    }

    /// Asks the L1 for a lookup without words.
    fn ask(&self, core: &Core, op: Enum<ExtOp>, line: Bits) {
        let s = &core.p.port.spandex;
        let (mask, data) = (lit_bv(Bv::zero(s.words())), lit_bv(Bv::zero(s.data_bits())));
        self.ext.send(&MesiExt { op, line, mask, data });
    }

    /// Some word of an entry has been taken, or will be.
    fn taken(core: &Core, entry: Bits) -> Bool {
        (core.entries.gone(entry) | core.entries.delayed(entry)).any()
    }

    /// Answer: Data to the L1.
    fn install(&self, core: &Core) {
        let entries = &core.entries;
        let (here, entry) = (self.is(Step::Install), self.entry.get());
        let goes = (here & self.down.free).named("installs");
        let once = entries.once.at(entry) & bool_lit(core.p.inject != TuMesiInject::KeepOnce);
        let taken = Engine::taken(core, entry);
        let came = outcome(entries, entry);
        let row = installs().decode_about(entries.line(entry), goes, (came, once, taken));
        let dirty = entries.dirty.at(entry);
        let state = |clean: LineState, dirty_too: LineState| mux(dirty, enum_lit(dirty_too), enum_lit(clean));
        let owned = state(LineState::E, LineState::M);
        let shared = mux(row.does(Install::Shared), enum_lit(LineState::S), enum_lit(LineState::I));
        let kept = mux(row.does(Install::Owned), owned, shared);
        let held = state(LineState::WE, LineState::WM);
        when(goes, || {
            self.down.send(&MesiDown {
                op: enum_lit(DownOp::Data),
                tag: entry,
                state: mux(row.does(Install::Held), held, kept),
                peer: entries.peer.at(entry),
                data: entries.row(),
            });
            entries.full.lower(ENGINE, entries.one(entry));
            self.go(Step::Serve);
        });
        row.leads_to(mux(row.does(Install::Held), held, kept));
        let owner = came.is(Outcome::O);
        let text = "only words that are owned are taken";
        assert_always("tu_mesi_taken_owned", !goes | owner | !taken, text);
        let text = "a read forwarded to an earlier ownership meets a request, which brings no ownership";
        cover("spandex.race.mesi_old_read", goes & !owner & entries.reader.at(entry), text);
        // The L1 learns of free entries of the write-back buffer in other cycles.
        when(!here & self.down.free & core.buffer.has_news(), || {
            core.buffer.tell();
            self.down.send(&MesiDown {
                op: enum_lit(DownOp::Free),
                tag: entry,
                state: enum_lit(LineState::I),
                peer: bool_lit(false),
                data: lit_bv(Bv::zero(core.p.port.spandex.data_bits())),
            });
        });
        count("tu_mesi_stale_fills", goes & row.does(Install::Once), "lines used once");
    }

    /// Answer: Done. What is delayed goes on from the line as the core has left it.
    fn serve(&self, core: &Core) {
        let (entries, entry, m) = (&core.entries, self.entry.get(), &self.up.msg);
        let done = self.is(Step::Serve) & self.done();
        let more = Engine::taken(core, entry) | entries.reader.at(entry);
        when(done, || {
            self.go(Step::Idle);
            when(more, || {
                if core.p.inject != TuMesiInject::RemovalFirst {
                    let whole = lit_bv(Bv::ones(core.p.port.spandex.words()));
                    entries.store(entry, whole, m.data);
                }
                let dirty = m.state.is_any(&[LineState::M, LineState::WM]);
                entries.put_after(entry, &After { way: m.way, dirty });
            })
            .otherwise(|| entries.free(entry));
        });
        let mine = self.is(Step::Serve) & m.tag.eq(entry);
        assert_always("tu_mesi_done", !self.done() | mine, "Done answers the Data that was sent");
    }

    /// Delayed answers: the ReqV, then the removals, those of one forward at a time, then a write-back of the rest.
    fn delayed(&self, core: &Core) {
        let (entries, entry) = (&core.entries, self.entry.get());
        let here = self.is(Step::Delayed);
        let (after, line) = (entries.after(entry), entries.line(entry));
        let delayed = entries.delayed(entry);
        let reads = (here & entries.reader.at(entry)).named("delayed_read");
        let removes = (here & !reads & delayed.any()).named("delayed_removal");
        let ends = here & !reads & delayed.none();
        when(here, || {
            self.line.set(line);
            self.go(Step::Idle);
        });
        when(reads, || {
            let reader = entries.reader(entry);
            let to = (reader.dev.resize(core.p.port.spandex.node_bits()), reader.tag);
            core.push(&core.rsp(RspOp::RspV, line, reader.mask, to, entries.row()));
            entries.reader.lower(ENGINE, entries.one(entry));
            when(!Engine::taken(core, entry), || entries.free(entry));
        });
        self.removal(core, removes, delayed, &after);
        let gone = entries.gone(entry);
        let back = !gone;
        let rest = ends & back.any();
        self.has_wb("tu_mesi_rest_free", rest);
        when(rest, || {
            self.write_back(core, line, back, entries.row(), after.dirty);
            core.set_in_place(line, after.way, &Words::pending(back));
            entries.free(entry);
        });
        when(ends & back.none(), || {
            entries.free(entry);
            self.keeps.set(false);
            self.go(Step::Tell);
        });
        count("tu_mesi_delayed_reads", reads, "reads of others that were delayed");
        count("tu_mesi_delayed_removals", removes, "removals that were delayed");
        let text = "ReqWB of words left by a removal that was delayed";
        cover("spandex.tu_mesi.after.trigger", ends & back.any(), text);
        let text = "every word was taken while its request was out";
        cover("spandex.tu_mesi.after.gone", ends & back.none(), text);
    }

    /// Answers the delayed removals that came by the same forward as the one of the lowest word.
    fn removal(&self, core: &Core, removes: Bool, delayed: Bits, after: &After) {
        let (entries, entry) = (&core.entries, self.entry.get());
        let (line, data) = (entries.line(entry), entries.row());
        let lead = entries.removal(delayed.lowest_set());
        let is = |op: RemovalOp| lead.op.is(op);
        let shares = is(RemovalOp::Share) | is(RemovalOp::Leave);
        let rows = entries.removals();
        let alike = |r: &Removal| {
            let kind = r.op.bits().eq(lead.op.bits());
            let kind = kind | (shares & r.op.is_any(&[RemovalOp::Share, RemovalOp::Leave]));
            kind & r.dev.eq(lead.dev) & r.tag.eq(lead.tag) & r.tbe.eq(lead.tbe)
        };
        let group = delayed & pack_bools(&rows.iter().map(alike).collect::<Vec<_>>());
        let wanted = pack_bools(&rows.iter().map(|r| r.op.is(RemovalOp::Share)).collect::<Vec<_>>());
        let wanted = (group & wanted).named("delayed_wanted");
        let s = &core.p.port.spandex;
        let bank = (s.home(line), lead.tbe.resize(s.tag_bits()));
        let to = (lead.dev.resize(s.node_bits()), lead.tag);
        let keeps = shares & group.all();
        when(removes, || {
            let mut give = core.rsp(RspOp::RspOData, line, group, to, data);
            give.dirty = after.dirty;
            when(is(RemovalOp::Give), || core.push(&give));
            let mut back = core.rsp(RspOp::RspRvkO, line, group, bank, data);
            back.dirty = after.dirty;
            when(is(RemovalOp::Return), || core.push(&back));
            when(is(RemovalOp::Grant), || core.push(&core.rsp(RspOp::RspO, line, group, to, data)));
            when(is(RemovalOp::GrantWt), || core.push(&core.rsp(RspOp::RspWt, line, group, to, data)));
            when(shares & wanted.any(), || core.push(&core.rsp(RspOp::RspS, line, wanted, to, data)));
            when(shares, || {
                self.second.set(SecondRsp {
                    op: enum_lit(RspOp::RspRvkO),
                    mask: group,
                    dst: bank.0,
                    tag: bank.1,
                    nodata: bool_lit(false),
                    kept_s: keeps,
                    dirty: after.dirty,
                    direct: bool_lit(false),
                });
                self.from_buffer.set(true);
                self.tells.set(keeps);
                self.keeps.set(true);
                self.go(Step::Second);
            });
            entries.give_up(entry, group);
            entries.set_delayed(entry, delayed & !group);
            when(keeps, || entries.free(entry));
        });
        let row = |id: &str, cond: Bool, text: &str| {
            cover(&format!("spandex.tu_mesi.after.{id}"), removes & cond, text);
        };
        row("ReqOdata", is(RemovalOp::Give), "A delayed fwd ReqO+data is answered.");
        row("RvkO", is(RemovalOp::Return), "A delayed RvkO is answered.");
        let grants = is(RemovalOp::Grant) | is(RemovalOp::GrantWt);
        row("ReqO", grants, "A delayed fwd ReqO is answered: no older copy is left.");
        row("ReqS", shares & !keeps, "A delayed fwd ReqS of some words is answered.");
        row("ReqS.all", keeps, "A delayed fwd ReqS of the whole line is answered: S.");
        let others = (delayed & !group).any();
        let text = "removals of several devices have met one request";
        cover("spandex.race.mesi_several_removals", removes & others, text);
    }

    /// Whoever writes back has found the channel free when he was chosen, and nobody else sends on it meanwhile.
    pub fn has_wb(&self, name: &str, sends: Bool) {
        assert_always(
            name,
            !sends | self.wb.free,
            "a job that may write back begins when its channel is free",
        );
    }

    /// Sends ReqWB of words that are written back in place; call it under a condition of [`Engine::has_wb`].
    #[track_caller]
    pub fn write_back(&self, core: &Core, line: Bits, mask: Bits, data: Bits, dirty: Bool) {
        let lost = core.p.inject == TuMesiInject::LostWord;
        let mask = if lost { mask & (mask - 1) } else { mask };
        self.send_wb(
            core,
            line,
            mask,
            lit(u64::from(core.p.in_place_tag()), core.p.port.spandex.tag_bits()),
            (data, dirty),
        );
        self.triggers.set(true);
    }

    #[track_caller]
    fn send_wb(&self, core: &Core, line: Bits, mask: Bits, tag: Bits, (data, dirty): (Bits, Bool)) {
        let dst = core.p.port.spandex.home(line);
        self.wb.send(&Wb { line, mask, src: core.own, dst, tag, dirty, data });
    }

    /// ReqWB of the buffer.
    fn send(&self, core: &Core) {
        let (buffer, index) = (&core.buffer, self.index.get());
        let here = self.is(Step::Send);
        self.has_wb("tu_mesi_put_free", here);
        when(here, || {
            let s = &core.p.port.spandex;
            let tag = index.zext(s.tag_bits()) + u64::from(core.p.buffer_tag());
            let whole = lit_bv(Bv::ones(s.words()));
            self.send_wb(core, buffer.line(index), whole, tag, (buffer.data(), buffer.is_dirty(index)));
            buffer.sent(index);
            self.go(Step::Idle);
        });
        cover("spandex.tu_mesi.Put", here, "ReqWB of every word.");
        count("tu_mesi_write_backs", here, "lines replaced and written back");
    }

    /// The second of two responses.
    fn second_rsp(&self, core: &Core) {
        let m = self.second.get();
        let data = mux(self.from_buffer.get(), core.entries.row(), self.seen.get().data);
        let to = (m.dst, m.tag);
        let rsp = core.rsp(RspOp::RspV, self.line.get(), m.mask, to, data);
        let rsp =
            Rsp { op: m.op, nodata: m.nodata, kept_s: m.kept_s, dirty: m.dirty, direct: m.direct, ..rsp };
        when(self.is(Step::Second), || {
            core.push(&rsp);
            when(self.tells.get(), || self.go(Step::Tell)).otherwise(|| self.go(Step::Idle));
        });
    }

    /// What becomes of a line in place whose last word is closed.
    fn tell(&self, core: &Core) {
        when(self.is(Step::Tell) & self.ext.free, || {
            let op = mux(self.keeps.get(), enum_lit(ExtOp::Keep), enum_lit(ExtOp::Free));
            self.ask(core, op, self.line.get());
            self.go(Step::Told);
        });
        when(self.is(Step::Told) & self.found(), || self.go(Step::Idle));
    }

    /// RspWB of a write-back in place; true in the cycle in which it is taken.
    fn close(&self, core: &Core, sink: &Sink) -> Bool {
        let m = &sink.rsp.msg;
        when(self.is(Step::Find) & self.found(), || self.go(Step::Close));
        let here = self.is(Step::Close);
        let seen = self.seen.get();
        let words = core.words_in_place();
        let after = answered(core, words, m);
        when(here, || {
            sink.rsp.take();
            core.set_in_place(m.line, seen.way, &after);
            self.line.set(m.line);
            self.keeps.set(false);
            when(after.open(), || self.go(Step::Idle)).otherwise(|| self.go(Step::Tell));
        });
        let text = "RspWB answers words that await it, and announces what has come already";
        assert_always("tu_mesi_rsp_wbp", !here | words.may_answer(m.mask, m.extra), text);
        let held = seen.state.is_any(&LineState::WBP);
        assert_always("tu_mesi_wbp_held", !here | held, "a line written back in place is in the L1");
        let text = "RspWB of a write-back in place comes before the removal it announces";
        cover("spandex.race.mesi_wbp_rsp_first", here & after.here.any(), text);
        here
    }

    fn check(&self) {
        let text = "write-backs triggered by a removal of other words";
        count("tu_mesi_triggered", self.triggers.get(), text);
        let waits = self.is(Step::Look) | self.is(Step::Told) | self.is(Step::Find);
        assert_always("tu_mesi_found", !self.found() | waits, "the L1 answers lookups only");
    }
}

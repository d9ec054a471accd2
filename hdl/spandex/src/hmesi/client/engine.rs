//! The engine: everything that takes several steps, one job at a time, so that a forward sees L1, entries and buffer in one state.
//!
//! | job, by precedence | starts when | steps |
//! | --- | --- | --- |
//! | answer | everything has come | Data to the L1, its operations, Done |
//! | forward | RSP has room | look up; answer and change |
//! | Put | WB has room | send |
//!
//! A forward waits for RSP only. One that finds its line in the buffer is answered from there, whether its Put has left or not: waiting for WB would be waiting for the Put of the very line at the
//! other end.

use super::Core;
use super::entries::{ENGINE, NET};
use super::params::ClientInject;
use super::table::{Forward, Place, forwards};
use crate::hmesi::msg::{HFwd, HFwdOp, HRsp, HRspOp, HWb};
use crate::mesi_port::{DownOp, ExtOp, LineState, MesiDown, MesiExt, MesiUp, UpOp};
use weft_rtl::prelude::*;

/// A step of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum Step {
    /// No job.
    Idle,
    /// Answer: the line buffer is read and sent up.
    Install,
    /// Answer: the L1's operations are done.
    Serve,
    /// Put of the buffer.
    Send,
    /// Forward: the L1 looks up.
    Look,
    /// Forward: answer and change.
    Act,
    /// WbData follows DataS.
    Second,
}

/// What the L1 has found.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = super::params::ClientParams)]
pub(super) struct Seen {
    pub state: Enum<LineState>,
    #[width(p.port.spandex.data_bits())]
    pub data: Bits,
}

pub(super) struct Engine {
    step: Reg<Enum<Step>>,
    up: InChannel<MesiUp>,
    fwd: InChannel<HFwd>,
    down: OutChannel<MesiDown>,
    ext: OutChannel<MesiExt>,
    wb: OutChannel<HWb>,
    entry: Reg<Bits>,
    index: Reg<Bits>,
    seen: Reg<Seen>,
    /// WbData that follows.
    line: Reg<Bits>,
    dirty: Reg<Bool>,
    kept: Reg<Bool>,
}

impl Engine {
    pub fn new(core: &Core) -> Engine {
        let (p, s) = (&core.p, &core.p.port.spandex);
        Engine {
            step: reg::<Enum<Step>>("step", ()),
            up: in_channel::<MesiUp>("l1_up", &p.port),
            fwd: in_channel::<HFwd>("fwd", s),
            down: out_channel::<MesiDown>("l1_down", &p.port),
            ext: out_channel::<MesiExt>("ext", &p.port),
            wb: out_channel::<HWb>("wb", s),
            entry: reg::<Bits>("job_entry", s.mshr_bits()),
            index: reg::<Bits>("job_index", bits_for(u64::from(s.wbb))),
            seen: reg::<Seen>("seen", p.clone()).field("pipeline"),
            line: reg::<Bits>("job_line", s.line_bits()),
            dirty: reg::<Bool>("job_dirty", ()),
            kept: reg::<Bool>("job_kept", ()),
        }
    }

    fn is(&self, step: Step) -> Bool {
        self.step.get().is(step)
    }
    fn go(&self, step: Step) {
        self.step.set(step);
    }
    fn says(&self, op: UpOp) -> Bool {
        self.up.valid & self.up.msg.op.is(op)
    }

    /// Everything. Returns whether responses have to wait in this cycle.
    pub fn run(&self, core: &Core) -> Bool {
        self.take_up(core);
        self.choose(core);
        self.install(core);
        self.serve(core);
        self.send(core);
        self.act(core);
        self.unblock(core);
        self.is(Step::Act) | self.says(UpOp::Done)
    }

    /// Whatever the L1 says is taken.
    fn take_up(&self, core: &Core) {
        let (up, m) = (&self.up, &self.up.msg);
        when(up.valid, || up.take());
        let put = self.says(UpOp::Put).named("puts");
        when(put, || core.buffer.put(m.line, m.data, m.state.is(LineState::M)));
        let room = !core.buffer.busy.get().all();
        assert_always("hmesi_client_put_room", !put | room, "the L1 evicts while it knows a free entry");
        let owned = m.state.is_any(&LineState::OWNED);
        assert_always("hmesi_client_put_owned", !put | owned, "an owned line is put");
        let twice = put & core.buffer.of_line(m.line).any();
        assert_always("hmesi_client_put_once", !twice, "a line is in the write-back buffer once");
        let found = self.says(UpOp::Found);
        when(found, || {
            self.seen.set(Seen { state: m.state, data: m.data });
            self.go(Step::Act);
        });
        let same = self.is(Step::Look) & m.line.eq(self.fwd.msg.line);
        assert_always("hmesi_client_found", !found | same, "the L1 answers the lookup");
        unused_input(&m.way);
    }

    /// The next job. Rows that it reads are presented now, or again while they are used.
    fn choose(&self, core: &Core) {
        let (entries, buffer) = (&core.entries, &core.buffer);
        let idle = self.is(Step::Idle);
        let (full, unsent) = (entries.full.get(), buffer.unsent.get());
        let installs = idle & full.any();
        let room = core.rsp_room();
        let forwards = idle & full.none() & self.fwd.valid & room & self.ext.free;
        let sends = idle & full.none() & !forwards & unsent.any() & self.wb.free;
        let next = full.lowest_set();
        entries.present(mux(idle, next, self.entry.get()));
        let of_fwd = buffer.of_line(self.fwd.msg.line).lowest_set();
        buffer.present(mux(self.is(Step::Look), of_fwd, unsent.lowest_set()));
        when(installs, || {
            self.entry.set(next);
            self.go(Step::Install);
        });
        when(sends, || {
            self.index.set(unsent.lowest_set());
            self.go(Step::Send);
        });
        when(forwards, || {
            self.go(Step::Look);
            self.look(core);
        });
        let waits = self.fwd.valid & idle & !room;
        count(
            "hmesi_client_forward_waits",
            waits,
            "cycles in which a forward waits for room for its answers",
        );
    }

    /// Asks the L1: what becomes of the line if it is there.
    fn look(&self, core: &Core) {
        let (m, s, inject) = (&self.fwd.msg, &core.p.port.spandex, core.p.inject);
        let code = |op: ExtOp| enum_lit(op);
        let inv = if inject == ClientInject::NoInv { code(ExtOp::Look) } else { code(ExtOp::Inv) };
        let take = if inject == ClientInject::KeepCopy { code(ExtOp::Share) } else { code(ExtOp::Drop) };
        let op = mux(m.op.is(HFwdOp::FwdGetM), take, code(ExtOp::Drop));
        let op = mux(m.op.is(HFwdOp::FwdGetS), code(ExtOp::Share), op);
        let op = mux(m.op.is(HFwdOp::Inv), inv, op);
        let (mask, data) = (lit_bv(Bv::zero(s.words())), lit_bv(Bv::zero(s.data_bits())));
        self.ext.send(&MesiExt { op, line: m.line, mask, data });
    }

    /// Answer: Data to the L1.
    fn install(&self, core: &Core) {
        let (entries, buffer) = (&core.entries, &core.buffer);
        let (here, entry) = (self.is(Step::Install), self.entry.get());
        let goes = (here & self.down.free).named("installs");
        let once = entries.once.at(entry) & bool_lit(core.p.inject != ClientInject::KeepOnce);
        let code = |state: LineState| enum_lit(state);
        let shared = mux(once, code(LineState::I), code(LineState::S));
        let owned = mux(entries.own.at(entry), code(LineState::M), code(LineState::E));
        when(goes, || {
            self.down.send(&MesiDown {
                op: enum_lit(DownOp::Data),
                tag: entry,
                state: mux(entries.excl.at(entry), owned, shared),
                peer: entries.peer.at(entry),
                data: entries.row(),
            });
            self.go(Step::Serve);
        });
        // The L1 learns of free entries of the write-back buffer in other cycles.
        when(!here & self.down.free & buffer.has_news(), || {
            buffer.tell();
            self.down.send(&MesiDown {
                op: enum_lit(DownOp::Free),
                tag: entry,
                state: enum_lit(LineState::I),
                peer: bool_lit(false),
                data: lit_bv(Bv::zero(core.p.port.spandex.data_bits())),
            });
        });
        let used = goes & once & !entries.excl.at(entry);
        count("hmesi_client_stale_fills", used, "lines used once");
    }

    /// Answer: Done.
    fn serve(&self, core: &Core) {
        let (entries, entry) = (&core.entries, self.entry.get());
        let done = self.says(UpOp::Done);
        when(done, || {
            let one = entries.one(entry);
            entries.busy.lower(NET, one);
            entries.full.lower(NET, one);
            self.go(Step::Idle);
        });
        let mine = self.is(Step::Serve) & self.up.msg.tag.eq(entry);
        assert_always("hmesi_client_done", !done | mine, "Done answers the Data that was sent");
    }

    /// Put of the buffer.
    fn send(&self, core: &Core) {
        let (buffer, index, s) = (&core.buffer, self.index.get(), &core.p.port.spandex);
        let here = self.is(Step::Send);
        let dirty = buffer.dirty.at(index);
        when(here, || {
            let line = buffer.line(index);
            self.wb.send(&HWb {
                line,
                src: core.own.zext(s.h_node_bits()),
                dst: s.l3_home(line),
                tag: index.zext(s.tag_bits()) + u64::from(core.p.buffer_tag()),
                dirty,
                data: buffer.row() & dirty.repeat(s.data_bits()),
            });
            buffer.unsent.lower(ENGINE, buffer.one(index));
            self.go(Step::Idle);
        });
        assert_always(
            "hmesi_client_put_free",
            !here | self.wb.free,
            "a Put is begun when its channel is free",
        );
        cover("spandex.hmesi_client.PutE", here & !dirty, "Put without data");
        cover("spandex.hmesi_client.PutM", here & dirty, "Put with data");
        count("hmesi_client_puts", here, "lines evicted");
    }

    /// Where a line is.
    fn place(&self, core: &Core) -> (Enum<Place>, Bits, Bits) {
        let (m, entries, buffer) = (&self.fwd.msg, &core.entries, &core.buffer);
        let (asked, put) = (entries.of_line(m.line) & entries.busy.get(), buffer.of_line(m.line));
        let (entry, index) = (asked.lowest_set(), put.lowest_set());
        let code = |place: Place| enum_lit(place);
        let state = self.seen.get().state;
        let gets = mux(entries.once.at(entry), code(Place::Isi), code(Place::Is));
        let place = mux(state.is(LineState::S), code(Place::S), code(Place::I));
        let place = mux(asked.any(), mux(entries.own.at(entry), code(Place::Im), gets), place);
        let place = mux(put.any(), mux(buffer.gone.at(index), code(Place::Ii), code(Place::Mi)), place);
        let place = mux(state.is(LineState::E), code(Place::E), place);
        (mux(state.is(LineState::M), code(Place::M), place).named("met_place"), entry, index)
    }

    /// Forward: answer and change.
    fn act(&self, core: &Core) {
        let (m, s) = (&self.fwd.msg, &core.p.port.spandex);
        let here = self.is(Step::Act);
        let (place, entry, index) = self.place(core);
        let row = forwards().decode_about(m.line, here, (m.op, place));
        let does = |action| here & row.does(action);
        let of_buffer = place.is(Place::Mi);
        let data = mux(of_buffer, core.buffer.row(), self.seen.get().data);
        let dirty = mux(of_buffer, core.buffer.dirty.at(index), place.is(Place::M));
        let dirty = dirty & bool_lit(core.p.inject != ClientInject::LostDirty);
        let second = does(Forward::Data) & does(Forward::Back);
        let home = s.l3_home(m.line);
        when(here, || {
            self.fwd.take();
            when(second, || self.go(Step::Second)).otherwise(|| self.go(Step::Idle));
            self.line.set(m.line);
            self.dirty.set(dirty);
            self.kept.set(row.does(Forward::Kept));
            self.seen.set(Seen { data, ..self.seen.get() });
        });
        let given = mux(m.op.is(HFwdOp::FwdGetM), enum_lit(HRspOp::DataM), enum_lit(HRspOp::DataS));
        let answer = core.rsp(given, m.line, m.req, m.tag);
        when(does(Forward::Data), || core.answers.push(&HRsp { peer: bool_lit(true), data, ..answer }));
        let back = core.rsp(enum_lit(HRspOp::WbData), m.line, home, lit(0, s.tag_bits()));
        let bears = data & dirty.repeat(s.data_bits());
        when(does(Forward::Back) & !second, || core.answers.push(&HRsp { dirty, data: bears, ..back }));
        let ack = core.rsp(enum_lit(HRspOp::InvAck), m.line, mux(m.recall, home, m.req), m.tag);
        when(does(Forward::Ack), || core.answers.push(&ack));
        when(does(Forward::Once), || core.entries.once.raise(ENGINE, core.entries.one(entry)));
        when(does(Forward::Gone), || core.buffer.gone.raise(ENGINE, core.buffer.one(index)));
        let later = core.rsp(
            enum_lit(HRspOp::WbData),
            self.line.get(),
            s.l3_home(self.line.get()),
            lit(0, s.tag_bits()),
        );
        let (dirty, kept) = (self.dirty.get(), self.kept.get());
        let data = self.seen.get().data & dirty.repeat(s.data_bits());
        when(self.is(Step::Second), || {
            core.answers.push(&HRsp { dirty, kept, data, ..later });
            self.go(Step::Idle);
        });
        self.check(core, does(Forward::Gone), index);
    }

    fn check(&self, core: &Core, gone: Bool, index: Bits) {
        let (m, s) = (&self.fwd.msg, &core.p.port.spandex);
        let here = m.dst.eq(core.own.zext(s.h_node_bits())) & m.src.eq(s.l3_home(m.line));
        let text = "a forward comes to the client that it is for, from the line's bank";
        assert_always("hmesi_client_fwd_own", !self.fwd.valid | here, text);
        let held = self.seen.get().state.is_any(&LineState::WBP);
        assert_always("hmesi_client_whole", !(self.is(Step::Act) & held), "lines are whole");
        let unsent = gone & core.buffer.unsent.at(index);
        cover("spandex.race.hmesi_client_unsent", unsent, "a forward finds a line whose Put has not left");
        count("hmesi_client_forwards", self.is(Step::Act), "forwards of the L3");
        count("hmesi_client_from_buffer", gone, "of these, those answered from the write-back buffer");
        let inv = self.is(Step::Act) & m.op.is(HFwdOp::Inv);
        count("hmesi_client_inv", inv, "of these, Inv");
    }

    /// Unblock and UnblockX, in cycles in which the engine answers nothing.
    fn unblock(&self, core: &Core) {
        let (entries, s) = (&core.entries, &core.p.port.spandex);
        let todo = entries.unblocks.get();
        let goes = todo.any() & core.rsp_room() & !self.is(Step::Act) & !self.is(Step::Second);
        let entry = todo.lowest_set();
        let line = entries.line(entry);
        let owned = entries.excl.at(entry);
        let op = mux(owned, enum_lit(HRspOp::UnblockX), enum_lit(HRspOp::Unblock));
        when(goes, || {
            core.answers.push(&core.rsp(op, line, s.l3_home(line), lit(0, s.tag_bits())));
            entries.unblocks.lower(ENGINE, entries.one(entry));
        });
        cover("spandex.hmesi_client.Unblock", goes & !owned, "Unblock");
        cover("spandex.hmesi_client.UnblockX", goes & owned, "UnblockX");
    }
}

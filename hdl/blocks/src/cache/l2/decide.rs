//! Stage 1: tag and MSHR lookup, the transition tables, and the plan for stage 2. Every change of a line's state, of an MSHR and
//! of the directory operations begins here, one operation per cycle, so that operations see each other in order.

use super::dirops::DirOps;
use super::fence::Fence;
use super::fill::Fill;
use super::mshr::{LIST_MAX, Match, Mshrs};
use super::outputs::Outputs;
use super::params::L2Params;
use super::select::Select;
use super::tables;
use super::tags::{Lookup, Tags};
use super::types::*;
use crate::msg::{InvDone, ReqKind};
use weft_rtl::prelude::*;

/// Everything stage 1 works on.
pub(super) struct Parts<'a> {
    pub p: &'a L2Params,
    pub select: &'a Select,
    pub tags: &'a Tags,
    pub m: &'a Mshrs,
    pub ops: &'a DirOps,
    pub outs: &'a Outputs,
    pub fill: &'a Fill,
    pub fence: &'a Fence,
}

/// The decision of stage 1, for stage 2 and observers.
pub(super) struct Decision {
    pub op: Op,
    pub look: Lookup,
    pub found: Match,
    pub requester: Decoded,
    pub home: Decoded,
    pub requester_side: Bool,
    pub home_side: Bool,
    /// The operation is carried out.
    pub go: Bool,
    /// The operation is sent back because its list is full or closed.
    pub list_blocked: Bool,
    /// The operation is sent back because its line is poisoned.
    pub poison_blocked: Bool,
    /// The full list is the reason.
    pub list_full: Bool,
    pub install: Bool,
    pub starts_op: Bool,
    pub victim: Tag,
    pub victim_line: Bits,
    pub step: Step,
}

struct Events {
    requester_side: Bool,
    home_side: Bool,
    requester: [Bits; 2],
    home: [Bits; 2],
}

fn events(parts: &Parts, op: &Op, look: &Lookup, found: &Match) -> Events {
    let req = &op.req;
    let (inv, end) = (op.class.is(Class::Inv), op.class.is(Class::End));
    let (local, remote) = (op.class.is(Class::Local), op.class.is(Class::Remote));
    let atom_end = parts.m.atom.get().bit_at(parts.fill.mshr.get());
    let full = req.mask.all();
    let event = wire_zero::<Bits>("s1_event", 2);
    switch(req.kind, |s| {
        s.case(ReqKind::Wr, || event.set(mux(full, lit(1, 2), lit(2, 2))));
        s.case(ReqKind::Atom, || event.set(3));
    });
    let fill_read = end & !atom_end;
    let of_class = |inv_code: u64, end_code: u64, width: u32, demand: Bits| {
        mux(inv, lit(inv_code, width), mux(end, lit(end_code, width), demand)).named(if width == 3 {
            "s1_requester_event"
        } else {
            "s1_home_event"
        })
    };
    let mshr_state = mux(found.poisoned, lit(3, 2), lit(2, 2));
    let requester_state = mux(found.hit, mshr_state, mux(look.hit, lit(1, 2), lit(0, 2)));
    let home_state = mux(found.hit, lit(3, 2), look.state.bits());
    let home_demand = mux(remote, event.get().zext(4) + 4, event.get().zext(4));
    Events {
        requester_side: !req.homed & (inv | fill_read | local),
        home_side: req.homed & (inv | fill_read | local | remote),
        requester: [requester_state.named("s1_requester_state"), of_class(5, 4, 3, event.get().zext(3))],
        home: [home_state.named("s1_home_state"), of_class(9, 8, 4, home_demand)],
    }
}

/// Carries out stage 1.
pub(super) fn connect(parts: &Parts) -> Decision {
    let Parts { p, select, tags, m, fill, .. } = parts;
    let (valid, op) = (select.s1_valid.get(), select.s1.get());
    let req = op.req;
    let look = tags.look(p.tag_of(req.line));
    let found = m.find(valid, req.line);
    let ev = events(parts, &op, &look, &found);
    let demand = select.s1_demand();
    let joins = demand & found.hit & (req.homed | (req.kind.is(ReqKind::Rd) & !found.poisoned));
    let list_full = joins & found.list.total.eq(LIST_MAX);
    let list_blocked = (list_full | (joins & fill.closes(&found))).named("s1_list_blocked");
    let requester = tables::requester().decode(valid & ev.requester_side & !list_blocked, &ev.requester);
    let home = tables::home().decode(valid & ev.home_side & !list_blocked, &ev.home);
    let poison_blocked = (demand & ev.requester_side & requester.action("wait")).named("s1_poison_blocked");
    let go = (valid & !list_blocked & !poison_blocked).named("s1_go");
    when(list_blocked | poison_blocked, || {
        when(op.class.is(Class::Local), || select.local.send_back(&req))
            .otherwise(|| select.remote.send_back(&req));
    });
    let r = |name: &str| go & ev.requester_side & requester.action(name);
    let h = |name: &str| go & ev.home_side & home.action(name);
    let keeps = bool_lit(p.keeps_remote());
    let whole = ((r("install") & keeps) | h("install")).named("s1_install_whole");
    let filled = ((r("install_fill") & keeps) | h("install_fill")).named("s1_install_fill");
    let install = whole | filled;
    let flush = go & op.class.is(Class::Flush);
    let dirty = flush & look.dirty.any();
    let update = r("update") | h("update");
    let answer = r("answer") | h("answer");
    let starts_op = go & demand & req.homed & parts.ops.needed(op.class.is(Class::Remote), &req);
    let local = go & op.class.is(Class::Local);
    let way = mux(install, look.victim, mux(flush, look.dirty.lowest_set(), look.way)).named("s1_row_way");
    let victim = tags.at(way);
    let bank = mux(flush, parts.outs.bank.get(), p.sys.bank_of(req.line));
    when(go & !flush, || parts.outs.bank.set(bank));
    let victim_line = p.line_from(victim.tag, op.set, bank);
    let step = Step {
        row: cat(&[op.set, way]),
        write: data_write(update, whole, filled),
        answer_local: local & ((answer & req.kind.is(ReqKind::Rd)) | req.kind.is(ReqKind::Wr)),
        answer_remote: go & op.class.is(Class::Remote) & answer,
        request: r("open_read") | r("send_write") | r("send_atomic"),
        fetch: h("fetch"),
        write_back: (install & victim.state.is(LineState::D)) | dirty,
        victim: victim_line,
        mshr: m.free_index(),
        epoch: parts.fence.epoch.get(),
        data_step: req.homed & (update | whole),
        op: parts.ops.free_index(),
    };
    let d = Decision {
        requester_side: ev.requester_side,
        home_side: ev.home_side,
        op,
        look,
        found,
        requester,
        home,
        go,
        list_blocked,
        poison_blocked,
        list_full,
        install,
        starts_op,
        victim,
        victim_line,
        step,
    };
    change_line(parts, &d, filled, update, answer, way);
    change_mshrs(parts, &d);
    d
}

fn data_write(update: Bool, whole: Bool, filled: Bool) -> Enum<DataWrite> {
    let keep = enum_lit(DataWrite::Keep);
    let fill = mux(filled, enum_lit(DataWrite::Fill), keep);
    mux(update, enum_lit(DataWrite::Merge), mux(whole, enum_lit(DataWrite::Whole), fill))
}

impl Decision {
    /// A requester-side action is carried out.
    pub fn r(&self, name: &str) -> Bool {
        self.go & self.requester_side & self.requester.action(name)
    }
    /// A home-side action is carried out.
    pub fn h(&self, name: &str) -> Bool {
        self.go & self.home_side & self.home.action(name)
    }
}

/// Tags, states, ages.
fn change_line(parts: &Parts, d: &Decision, filled: Bool, update: Bool, answer: Bool, way: Bits) {
    let (op, look, tags) = (&d.op, &d.look, parts.tags);
    let flush = d.go & op.class.is(Class::Flush);
    let fill_state = mux(parts.fill.dirty.get(), enum_lit(LineState::D), enum_lit(LineState::V));
    let own_state = mux(filled, fill_state, enum_lit(LineState::D));
    let installed = mux(op.req.homed, own_state, enum_lit(LineState::V));
    let tag = parts.p.tag_of(op.req.line);
    when(d.install, || tags.write(op.set, way, tag, installed))
        .elsewhen(d.r("drop"), || tags.write(op.set, way, tag, enum_lit(LineState::I)))
        .elsewhen(d.h("update") & look.state.is(LineState::V), || {
            tags.write(op.set, way, tag, enum_lit(LineState::D));
        })
        .elsewhen(flush & look.dirty.any(), || {
            tags.write(op.set, way, d.victim.tag, enum_lit(LineState::V));
        });
    when(d.install | update | answer, || tags.touch(op.set, way, look));
    let several = (look.dirty & (look.dirty - 1)).any();
    when(flush, || parts.fence.looked(look.dirty.any() & several));
}

/// MSHRs, directory operations, counters, and the answer to an invalidation.
fn change_mshrs(parts: &Parts, d: &Decision) {
    let (op, m, select, fence) = (&d.op, parts.m, parts.select, parts.fence);
    let req = &op.req;
    let remote = op.class.is(Class::Remote);
    let who = Waiting { kind: req.kind, remote, who: req.who, id: req.id, op: parts.ops.free_index() };
    let what = Payload::of(req);
    let (read, atom) = (d.r("open_read"), d.r("send_atomic"));
    when(read | atom | d.h("fetch"), || m.open(req.line, read, atom, &who, &what));
    when(d.r("merge") | d.h("append"), || m.append(&d.found, &who, &what));
    when(d.r("poison"), || m.poison(d.found.index, atom));
    when(d.go & op.class.is(Class::End), || {
        m.close(parts.fill.mshr.get());
        parts.fill.finish();
        select.local.wake();
        select.remote.wake();
    });
    when(d.starts_op, || parts.ops.start(remote, req, fence.epoch.get()));
    when(d.go & op.class.is(Class::Local) & !req.kind.is(ReqKind::Rd), || fence.begin(req.homed));
    when(d.go & op.class.is(Class::Inv) & op.last, || {
        parts.outs.inv_done.push(&InvDone { link: op.link });
    });
}

//! Stage 1: tag and MSHR lookup, the transition tables, and the plan for stage 2. Every change of a line's state, of an MSHR and
//! of the directory operations begins here, one operation per cycle, so that operations see each other in order.

use super::dirops::DirOps;
use super::down::{Down, DownStep};
use super::fence::Fence;
use super::fill::Fill;
use super::mshr::{LIST_MAX, Match, Mshrs};
use super::outputs::Outputs;
use super::params::L2Params;
use super::select::Select;
use super::tables;
use super::tags::{Lookup, Tags};
use super::types::*;
use crate::msg::{DirRecv, ReqKind};
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
    pub down: Option<&'a Down>,
}

/// The decision of stage 1, for stage 2 and observers.
pub(super) struct Decision {
    pub op: Op,
    pub look: Lookup,
    pub found: Match,
    pub requester: Decoded,
    pub home: Decoded,
    /// At a GPU home.
    pub gpu_home: Option<Decoded>,
    pub requester_side: Bool,
    pub home_side: Bool,
    pub gpu_side: Bool,
    /// The operation is carried out.
    pub go: Bool,
    /// The operation is sent back because its list is full or closed.
    pub list_blocked: Bool,
    /// The operation is sent back because its line is poisoned.
    pub poison_blocked: Bool,
    /// The full list is the reason.
    pub list_full: Bool,
    /// A load that no copy here may serve.
    pub forced: Bool,
    pub install: Bool,
    pub starts_op: Bool,
    pub victim: Tag,
    pub victim_line: Bits,
    pub step: Step,
}

struct Events {
    requester_side: Bool,
    home_side: Bool,
    gpu_side: Bool,
    requester: [Bits; 2],
    home: [Bits; 2],
    gpu_home: [Bits; 2],
    /// A load that no copy here may serve.
    forced: Bool,
    /// An atomic that a GPU home performs.
    own_atomic: Bool,
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
    let of_class = |name: &str, inv_code: u64, end_code: u64, demand: Bits| {
        let width = demand.width();
        mux(inv, lit(inv_code, width), mux(end, lit(end_code, width), demand)).named(name)
    };
    let (load, atomic) = (req.kind.is(ReqKind::Rd), req.kind.is(ReqKind::Atom));
    let beyond = req.scope.eq(2);
    // A GPU home serves everything up to GPU scope.
    let forced = match parts.p.forces() {
        true => load & !req.homed & mux(req.gpu_homed, beyond, req.scope.ne(0)),
        false => bool_lit(false),
    };
    let gpu_demand = wire_zero::<Bits>("s1_gpu_demand", 3);
    switch_bits(event.get(), |s| {
        s.case(0, || gpu_demand.set(mux(beyond, lit(1, 3), lit(0, 3))));
        s.case(1, || gpu_demand.set(2));
        s.case(2, || gpu_demand.set(3));
        s.case(3, || gpu_demand.set(mux(beyond, lit(5, 3), lit(4, 3))));
    });
    let requester_demand = mux(forced, lit(6, 3), event.get().zext(3));
    let mshr_state = mux(found.poisoned, lit(3, 2), lit(2, 2));
    let requester_state = mux(found.hit, mshr_state, mux(look.hit, lit(1, 2), lit(0, 2)));
    let home_state = mux(found.hit, lit(3, 2), look.state.bits());
    let home_demand = mux(remote, event.get().zext(4) + 4, event.get().zext(4));
    // A Down concerns the directory only.
    let line_event = |side: Bool| match parts.down {
        Some(_) => side & !req.kind.is(ReqKind::Down),
        None => side,
    };
    Events {
        requester_side: line_event(!req.homed & !req.gpu_homed & (inv | fill_read | local)),
        home_side: line_event(req.homed & (inv | fill_read | local | remote)),
        gpu_side: line_event(req.gpu_homed & (inv | fill_read | local | remote)),
        requester: [
            requester_state.named("s1_requester_state"),
            of_class("s1_requester_event", 5, 4, requester_demand),
        ],
        home: [home_state.named("s1_home_state"), of_class("s1_home_event", 9, 8, home_demand)],
        gpu_home: [
            mux(found.hit & found.atomics, requester_state.zext(3) + 2, requester_state.zext(3)),
            of_class("s1_gpu_event", 7, 6, gpu_demand.get()),
        ],
        forced,
        own_atomic: req.gpu_homed & atomic & !beyond,
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
    let asked = select.s1_demand();
    let demand = parts.down.map_or(asked, |_| asked & !req.kind.is(ReqKind::Down));
    let merges = (req.kind.is(ReqKind::Rd) & !ev.forced) | ev.own_atomic;
    let joins = demand & found.hit & (req.homed | (merges & !found.poisoned));
    let list_full = joins & found.list.total.eq(LIST_MAX);
    let list_blocked = (list_full | (joins & fill.closes(&found))).named("s1_list_blocked");
    let requester =
        tables::requester(p.forces()).decode(valid & ev.requester_side & !list_blocked, &ev.requester);
    let home = tables::home().decode(valid & ev.home_side & !list_blocked, &ev.home);
    let gpu_valid = valid & ev.gpu_side & !list_blocked;
    let gpu_home = p.hier.then(|| tables::gpu_home().decode(gpu_valid, &ev.gpu_home));
    let waits = (ev.requester_side & requester.action("wait")) | (ev.gpu_side & acts(&gpu_home, "wait"));
    let poison_blocked = (demand & waits).named("s1_poison_blocked");
    let go = (valid & !list_blocked & !poison_blocked).named("s1_go");
    when(list_blocked | poison_blocked, || select.send_back(&op));
    let r = |name: &str| go & ev.requester_side & requester.action(name);
    let h = |name: &str| go & ev.home_side & home.action(name);
    let g = |name: &str| go & ev.gpu_side & acts(&gpu_home, name);
    let keeps = p.keeps(req.line);
    let whole = (((r("install") | g("install")) & keeps) | h("install")).named("s1_install_whole");
    let filled =
        (((r("install_fill") | g("install_fill")) & keeps) | h("install_fill")).named("s1_install_fill");
    let install = whole | filled;
    let flush = go & op.class.is(Class::Flush);
    let dirty = flush & look.dirty.any();
    let update = r("update") | h("update") | g("update");
    let answer = r("answer") | h("answer") | g("answer");
    let here = req.homed | req.gpu_homed;
    let starts_op = go & asked & here & parts.ops.needed(op.class.is(Class::Remote), &req);
    let local = go & op.class.is(Class::Local);
    let way = mux(install, look.victim, mux(flush, look.dirty.lowest_set(), look.way)).named("s1_row_way");
    let victim = tags.at(way);
    let bank = mux(flush, parts.outs.bank.get(), p.sys.bank_of(req.line));
    when(go & !flush, || parts.outs.bank.set(bank));
    let victim_line = p.line_from(victim.tag, op.set, bank);
    let down = parts.down.map(|down| {
        when(go & demand, || down.passes(req.line));
        down.look(go & op.class.is(Class::Down), &look, &found, parts.ops)
    });
    let step = Step {
        row: cat(&[op.set, way]),
        write: data_write(update, whole, filled),
        answer_local: local & ((answer & req.kind.is(ReqKind::Rd)) | req.kind.is(ReqKind::Wr)),
        answer_remote: go & op.class.is(Class::Remote) & answer,
        request: r("open_read") | r("send_write") | r("send_atomic"),
        pass: g("open_read") | g("pass_write") | g("pass_result") | g("send_atomic"),
        result: g("pass_result"),
        read: g("open_read"),
        far_epoch: parts.fence.far_epoch(),
        fetch: h("fetch"),
        write_back: (install & victim.state.is(LineState::D)) | dirty,
        victim: victim_line,
        mshr: m.free_index(),
        epoch: parts.fence.epoch.get(),
        data_step: here & (update | whole),
        op: parts.ops.free_index(),
    };
    let step = with_down(step, &down);
    let d = Decision {
        requester_side: ev.requester_side,
        home_side: ev.home_side,
        gpu_side: ev.gpu_side,
        gpu_home,
        op,
        look,
        found,
        requester,
        home,
        go,
        list_blocked,
        poison_blocked,
        list_full,
        forced: demand & ev.forced,
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

fn acts(table: &Option<Decoded>, name: &str) -> Bool {
    table.as_ref().map_or(bool_lit(false), |table| table.action(name))
}

/// The message of a downgrade, if one is sent.
fn with_down(step: Step, down: &Option<DownStep>) -> Step {
    match down {
        Some(down) => Step { request: step.request | down.to_leaf, pass: step.pass | down.to_home, ..step },
        None => step,
    }
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
    /// An action of a GPU home is carried out.
    pub fn g(&self, name: &str) -> Bool {
        self.go & self.gpu_side & acts(&self.gpu_home, name)
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
        .elsewhen(d.r("drop") | d.g("drop"), || tags.write(op.set, way, tag, enum_lit(LineState::I)))
        .elsewhen(d.h("update") & look.state.is(LineState::V), || {
            tags.write(op.set, way, tag, enum_lit(LineState::D));
        })
        .elsewhen(flush & look.dirty.any(), || {
            tags.write(op.set, way, d.victim.tag, enum_lit(LineState::V));
        });
    if let Some(down) = parts.down {
        let line = d.victim_line;
        let copy = d.install & d.victim.state.is(LineState::V) & !parts.p.homed(line);
        when(copy, || down.evicts(line));
    }
    when(d.install | update | answer, || tags.touch(op.set, way, look));
    let several = (look.dirty & (look.dirty - 1)).any();
    when(flush, || parts.fence.looked(look.dirty.any() & several));
}

/// MSHRs, directory operations, counters, and the answer to an invalidation.
fn change_mshrs(parts: &Parts, d: &Decision) {
    let (op, m, select, fence) = (&d.op, parts.m, parts.select, parts.fence);
    let req = &op.req;
    let remote = op.class.is(Class::Remote);
    let (awaits, passed) = (d.g("await"), d.g("pass_write") | d.g("pass_result") | d.g("send_atomic"));
    let who = Waiting {
        kind: req.kind,
        remote,
        who: req.who,
        id: req.id,
        op: parts.ops.free_index(),
        epoch: mux(awaits, fence.far_epoch(), req.epoch),
    };
    let what = Payload::of(req);
    let read = d.r("open_read") | d.g("open_read");
    let atom = d.r("send_atomic") | d.g("send_atomic");
    when(read | atom | d.h("fetch"), || m.open(req.line, read, atom, &who, &what));
    when(d.r("merge") | d.h("append") | d.g("merge"), || m.append(&d.found, req.line, &who, &what));
    when(d.r("poison") | d.g("poison"), || m.poison(d.found.index, atom));
    when(d.go & op.class.is(Class::End), || {
        m.close(parts.fill.mshr.get());
        parts.fill.finish();
        select.wake();
    });
    when(d.starts_op, || {
        // What a GPU home passes on may leave no trace here: then no data step follows.
        let done = req.gpu_homed & !d.step.data_step & !awaits;
        parts.ops.start(remote, req, fence.epoch.get(), d.g("send_atomic"), done);
    });
    let here = req.homed | req.gpu_homed;
    when(d.go & op.class.is(Class::Local) & !req.kind.is(ReqKind::Rd), || fence.begin(here));
    when(passed | awaits, || fence.passed_on());
    when(awaits, || parts.outs.late_begins());
    invalidated(parts, d);
}

/// The last lookup of an Inv: the ingress gets it back, at a GPU home when the directory has passed it on.
fn invalidated(parts: &Parts, d: &Decision) {
    let op = &d.op;
    let last = d.go & op.class.is(Class::Inv) & op.last;
    let Some(recv) = &parts.outs.recv else {
        when(last, || parts.outs.inv_applied(op.link));
        return;
    };
    when(last & !op.req.gpu_homed, || parts.outs.inv_applied(op.link));
    when(last & op.req.gpu_homed, || {
        let also = parts.ops.unanswered(op.req.line);
        recv.push(&DirRecv { line: op.req.line, cause: op.cause, also, link: op.link });
    });
}

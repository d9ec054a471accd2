//! Stage 1: tag and MSHR lookup, the transition tables, and the plan for stage 2. Every change of a line's state, of an MSHR and
//! of the directory operations begins here, one operation per cycle, so that operations see each other in order.

use super::dirops::DirOps;
use super::down::{Down, DownStep};
use super::fence::Fence;
use super::fill::Fill;
use super::held::{Held, HeldStep, Question, clean};
use super::mshr::{LIST_MAX, Match, Mshrs};
use super::outputs::Outputs;
use super::params::L2Params;
use super::select::Select;
use super::tables::{self, GpuState, HomeState, L2Act, ReqState};
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
    pub held: Option<&'a Held>,
}

/// The decision of stage 1, for stage 2 and observers.
pub(super) struct Decision {
    pub op: Op,
    pub look: Lookup,
    pub found: Match,
    pub requester: Decoded<ReqState, L2Act>,
    /// Of a line that other nodes serve.
    pub requester_state: Bits,
    pub home: Decoded<HomeState, L2Act>,
    /// At a GPU home.
    pub gpu_home: Option<Decoded<GpuState, L2Act>>,
    pub requester_side: Bool,
    pub home_side: Bool,
    pub gpu_side: Bool,
    /// The operation is carried out.
    pub go: Bool,
    /// Stage 2 takes over: the operation, or what goes before it.
    pub runs: Bool,
    /// What is done about dirty bytes of other homes' lines.
    pub held: Option<HeldStep>,
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
    requester: (Bits, Bits),
    home: (Bits, Bits),
    gpu_home: (Bits, Bits),
    /// Stores that this bank may hold have events of their own.
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
    let (gpu_demand, requester_demand) =
        held_demands(parts, op, gpu_demand.get(), mux(forced, lit(6, 3), event.get().zext(3)));
    let mshr_state = mux(found.poisoned, lit(3, 2), lit(2, 2));
    let requester_state = mux(found.hit, mshr_state, mux(look.hit, lit(1, 2), lit(0, 2)));
    let gpu_state = mux(found.hit & found.atomics, requester_state.zext(3) + 2, requester_state.zext(3));
    let (gpu_state, requester_state) = held_states(parts, look, gpu_state, requester_state);
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
        requester: (
            requester_state.named("s1_requester_state"),
            of_class("s1_requester_event", 5, 4, requester_demand),
        ),
        home: (home_state.named("s1_home_state"), of_class("s1_home_event", 9, 8, home_demand)),
        gpu_home: (gpu_state, of_class("s1_gpu_event", 7, 6, gpu_demand)),
        forced,
        own_atomic: req.gpu_homed & atomic & !beyond,
    }
}

/// Events of a GPU home's and of another line; with write-back, stores that may stay here have events of their own.
fn held_demands(parts: &Parts, op: &Op, gpu: Bits, requester: Bits) -> (Bits, Bits) {
    if parts.held.is_none() {
        return (gpu, requester);
    }
    let req = &op.req;
    let store = req.kind.is(ReqKind::Wr);
    let of = |first: u64| mux(req.mask.all(), lit(first, 4), lit(first + 1, 4));
    (
        mux(store & req.scope.ne(2), of(8), gpu.zext(4)),
        mux(store & req.scope.none(), of(7), requester.zext(4)),
    )
}

/// States of a GPU home's and of another line; with write-back there are D and W.
fn held_states(parts: &Parts, look: &Lookup, gpu: Bits, requester: Bits) -> (Bits, Bits) {
    if parts.held.is_none() {
        return (gpu, requester);
    }
    let (dirty, only) = (look.state.is(LineState::D), look.state.is(LineState::W));
    let of = |first: u64, other: Bits| mux(dirty, lit(first, 3), mux(only, lit(first + 1, 3), other));
    (of(6, gpu), of(4, requester.zext(3)))
}

/// Rows of a line at the requester, at home, and at the home in the GPU.
type Rows = (Decoded<ReqState, L2Act>, Decoded<HomeState, L2Act>, Option<Decoded<GpuState, L2Act>>);

/// Decodes the rows of a line at the requester, at home and, with two levels, at the home in the GPU; `valid` but not blocked.
fn rows(p: &L2Params, line: Bits, ev: &Events, (valid, blocked): (Bool, Bool)) -> Rows {
    let requester = tables::requester(p.forces(), p.write_back).decode_about(
        line,
        valid & ev.requester_side & !blocked,
        ev.requester,
    );
    let home = tables::home().decode_about(line, valid & ev.home_side & !blocked, ev.home);
    let gpu_valid = valid & ev.gpu_side & !blocked;
    let gpu_home = p.hier.then(|| tables::gpu_home(p.write_back).decode_about(line, gpu_valid, ev.gpu_home));
    (requester, home, gpu_home)
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
    let (requester, home, gpu_home) = rows(p, req.line, &ev, (valid, list_blocked));
    let waits =
        (ev.requester_side & requester.does(L2Act::Wait)) | (ev.gpu_side & acts(&gpu_home, L2Act::Wait));
    let poison_blocked = (demand & waits).named("s1_poison_blocked");
    let may = valid & !list_blocked & !poison_blocked;
    let held = held_step(parts, &op, &look, may, |act| {
        (ev.requester_side & requester.does(act)) | (ev.gpu_side & acts(&gpu_home, act))
    });
    let go = held.map_or(may, |held| may & !held.again).named("s1_go");
    when(list_blocked | poison_blocked, || select.send_back(&op));
    let r = |act: L2Act| go & ev.requester_side & requester.does(act);
    let h = |act: L2Act| go & ev.home_side & home.does(act);
    let g = |act: L2Act| go & ev.gpu_side & acts(&gpu_home, act);
    let keeps = p.keeps(req.line);
    let whole =
        (((r(L2Act::Install) | g(L2Act::Install)) & keeps) | h(L2Act::Install)).named("s1_install_whole");
    let filled = (((r(L2Act::InstallFill) | g(L2Act::InstallFill)) & keeps) | h(L2Act::InstallFill))
        .named("s1_install_fill");
    let allocate = held.map(|_| r(L2Act::Allocate) | g(L2Act::Allocate));
    let install = allocate.map_or(whole | filled, |allocate| whole | filled | allocate);
    let flush = flushes(go, &op, &held);
    let dirty = flush & look.dirty.any();
    let update = r(L2Act::Update) | h(L2Act::Update) | g(L2Act::Update);
    let answer = r(L2Act::Answer) | h(L2Act::Answer) | g(L2Act::Answer);
    let here = req.homed | req.gpu_homed;
    let starts_op = go & asked & here & parts.ops.needed(op.class.is(Class::Remote), &req);
    let local = go & op.class.is(Class::Local);
    let way = mux(install, look.victim, mux(flush, look.dirty.lowest_set(), look.way));
    let way = held.map_or(way, |held| mux(held.goes(), held.way, way)).named("s1_row_way");
    let victim = tags.at(way);
    let no_line = go & op.class.is(Class::Flush);
    let bank = mux(no_line, parts.outs.bank.get(), p.sys.bank_of(req.line));
    when(go & !no_line, || parts.outs.bank.set(bank));
    let victim_line = p.line_from(victim.tag, op.set, bank);
    let down = parts.down.map(|down| {
        when(go & demand, || down.passes(req.line));
        down.look(go & op.class.is(Class::Down), &look, &found, parts.ops)
    });
    let step = Step {
        row: cat(&[op.set, way]),
        write: data_write(allocate.map_or(update, |allocate| update | allocate), whole, filled),
        answer_local: local & ((answer & req.kind.is(ReqKind::Rd)) | req.kind.is(ReqKind::Wr)),
        answer_remote: go & op.class.is(Class::Remote) & answer,
        request: r(L2Act::OpenRead) | r(L2Act::SendWrite) | r(L2Act::SendAtomic),
        pass: g(L2Act::OpenRead) | g(L2Act::PassWrite) | g(L2Act::PassResult) | g(L2Act::SendAtomic),
        result: g(L2Act::PassResult),
        read: g(L2Act::OpenRead),
        far_epoch: parts.fence.far_epoch(),
        fetch: h(L2Act::Fetch),
        write_back: (install & victim.state.is(LineState::D)) | dirty,
        victim: victim_line,
        mshr: m.free_index(),
        epoch: parts.fence.epoch.get(),
        data_step: here & allocate.map_or(update | whole, |allocate| update | whole | allocate),
        op: parts.ops.free_index(),
    };
    let step = with_held(with_down(step, &down), &held);
    let d = Decision {
        requester_side: ev.requester_side,
        home_side: ev.home_side,
        gpu_side: ev.gpu_side,
        requester_state: ev.requester.0,
        gpu_home,
        op,
        look,
        found,
        requester,
        home,
        go,
        runs: held.map_or(go, |held| go | held.again),
        held,
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

fn acts(table: &Option<Decoded<GpuState, L2Act>>, act: L2Act) -> Bool {
    table.as_ref().map_or(bool_lit(false), |table| table.does(act))
}

/// What is done about dirty bytes of other homes' lines; `acts`: the tables ask for this.
fn held_step(
    parts: &Parts,
    op: &Op,
    look: &Lookup,
    may: Bool,
    acts: impl Fn(L2Act) -> Bool,
) -> Option<HeldStep> {
    let (held, ways, walk) = (parts.held?, look.held.as_ref()?, parts.fence.both_walks()?);
    let step = held.decide(&Question {
        may,
        op,
        look,
        write_on: acts(L2Act::WriteOn),
        hold: acts(L2Act::Hold),
        walks: [!op.far & walk[0].active.get(), op.far],
        walk,
        ways,
    });
    if let Some(again) = &parts.select.again {
        when(step.again, || again.set(true));
    }
    parts.fence.writes_on(step.writes_on[0], step.writes_on[1]);
    Some(step)
}

/// A flush of dirty home lines is carried out.
fn flushes(go: Bool, op: &Op, held: &Option<HeldStep>) -> Bool {
    let flush = go & op.class.is(Class::Flush);
    held.map_or(flush, |held| flush & !held.walks)
}

/// The message with dirty bytes, if some go on.
fn with_held(step: Step, held: &Option<HeldStep>) -> Step {
    match held {
        Some(held) => {
            Step { request: step.request | held.writes_on[0], pass: step.pass | held.writes_on[1], ..step }
        }
        None => step,
    }
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
    pub fn r(&self, act: L2Act) -> Bool {
        self.go & self.requester_side & self.requester.does(act)
    }
    /// An action of a GPU home is carried out.
    pub fn g(&self, act: L2Act) -> Bool {
        self.go & self.gpu_side & acts(&self.gpu_home, act)
    }
    /// A home-side action is carried out.
    pub fn h(&self, act: L2Act) -> Bool {
        self.go & self.home_side & self.home.does(act)
    }
}

/// Tags, states, ages.
fn change_line(parts: &Parts, d: &Decision, filled: Bool, update: Bool, answer: Bool, way: Bits) {
    let (op, look, tags) = (&d.op, &d.look, parts.tags);
    let flush = flushes(d.go, op, &d.held);
    let fill_state = mux(parts.fill.dirty.get(), enum_lit(LineState::D), enum_lit(LineState::V));
    let own_state = mux(filled, fill_state, enum_lit(LineState::D));
    let installed = mux(op.req.homed, own_state, enum_lit(LineState::V));
    let held = held_state(d);
    let installed = held.map_or(installed, |(next, changes)| mux(changes, next, installed));
    let tag = parts.p.tag_of(op.req.line);
    when(d.install, || tags.write(op.set, way, tag, installed))
        .elsewhen(d.r(L2Act::Drop) | d.g(L2Act::Drop), || {
            tags.write(op.set, way, tag, enum_lit(LineState::I))
        })
        .elsewhen(d.h(L2Act::Update) & look.state.is(LineState::V), || {
            tags.write(op.set, way, tag, enum_lit(LineState::D));
        })
        .elsewhen(flush & look.dirty.any(), || {
            tags.write(op.set, way, d.victim.tag, enum_lit(LineState::V));
        });
    if let (Some(held), Some((next, changes))) = (&d.held, held) {
        when(changes & !d.install, || tags.write(op.set, way, tag, next));
        when(held.goes(), || tags.write(op.set, way, d.victim.tag, clean(d.victim.state)));
    }
    if let Some(down) = parts.down {
        let line = d.victim_line;
        let copy = d.install & d.victim.state.is(LineState::V) & !parts.p.homed(line);
        when(copy, || down.evicts(line));
    }
    when(d.install | update | answer, || tags.touch(op.set, way, look));
    let several = (look.dirty & (look.dirty - 1)).any();
    when(flush, || parts.fence.looked(look.dirty.any() & several));
}

/// State that the tables of write-back give a line, and whether they do.
fn held_state(d: &Decision) -> Option<(Enum<LineState>, Bool)> {
    let to = |act: L2Act| d.r(act) | d.g(act);
    d.held.map(|_| {
        let dirty = mux(to(L2Act::ToD), enum_lit(LineState::D), enum_lit(LineState::V));
        (mux(to(L2Act::ToW), enum_lit(LineState::W), dirty), to(L2Act::ToD) | to(L2Act::ToW) | to(L2Act::ToV))
    })
}

/// MSHRs, directory operations, counters, and the answer to an invalidation.
fn change_mshrs(parts: &Parts, d: &Decision) {
    let (op, m, select, fence) = (&d.op, parts.m, parts.select, parts.fence);
    let req = &op.req;
    let remote = op.class.is(Class::Remote);
    let (awaits, passed) =
        (d.g(L2Act::Await), d.g(L2Act::PassWrite) | d.g(L2Act::PassResult) | d.g(L2Act::SendAtomic));
    let who = Waiting {
        kind: req.kind,
        remote,
        who: req.who,
        id: req.id,
        op: parts.ops.free_index(),
        epoch: mux(awaits, fence.far_epoch(), req.epoch),
    };
    let what = Payload::of(req);
    let read = d.r(L2Act::OpenRead) | d.g(L2Act::OpenRead);
    let atom = d.r(L2Act::SendAtomic) | d.g(L2Act::SendAtomic);
    when(read | atom | d.h(L2Act::Fetch), || m.open(req.line, read, atom, &who, &what));
    when(d.r(L2Act::Merge) | d.h(L2Act::Append) | d.g(L2Act::Merge), || {
        m.append(&d.found, req.line, &who, &what)
    });
    when(d.r(L2Act::Poison) | d.g(L2Act::Poison), || m.poison(d.found.index, atom));
    when(d.go & op.class.is(Class::End), || {
        m.close(parts.fill.mshr.get());
        parts.fill.finish();
        select.wake();
    });
    when(d.starts_op, || {
        // What a GPU home passes on may leave no trace here: then no data step follows.
        let done = req.gpu_homed & !d.step.data_step & !awaits;
        parts.ops.start(remote, req, fence.epoch.get(), d.g(L2Act::SendAtomic), done);
    });
    let here = req.homed | req.gpu_homed;
    let write = d.go & op.class.is(Class::Local) & !req.kind.is(ReqKind::Rd);
    // What stays here waits for nobody.
    let counted = d.held.map_or(write, |_| write & (here | d.step.request));
    when(counted, || fence.begin(here));
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

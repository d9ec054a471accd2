//! What the hierarchical fence unit has its banks do, and what it does for other nodes: commands, far drains, drops, markers.

use super::fence_ports::{silent_in, silent_out};
use super::hier_fence::{HierFenceParams, Part};
use super::hier_fence_incoming::Incoming;
use super::hier_fence_scope::Scope;
use super::hier_fence_table::{
    EngineTable, MarkEvent, MarkState, ServeEvent, ServeState, follow, mark_table,
};
use crate::common::arbiter::RoundRobin;
use crate::common::fifo::Fifo;
use crate::msg::*;
use weft_rtl::prelude::*;

/// Something that every bank is told and answers.
struct Round {
    to_tell: Reg<Bits>,
    to_answer: Reg<Bits>,
}

impl Round {
    fn new(name: &str, banks: u32) -> Round {
        Round {
            to_tell: reg::<Bits>(&format!("{name}_to_tell"), banks),
            to_answer: reg::<Bits>(&format!("{name}_to_answer"), banks),
        }
    }

    /// Begins; call it under a condition that implies that the round before has ended.
    fn begin(&self) {
        let all = lit_bv(Bv::ones(self.to_tell.get().width()));
        self.to_tell.set(all);
        self.to_answer.set(all);
    }

    fn ended(&self) -> Bool {
        self.to_answer.get().none()
    }

    /// Sends `message` on `out{b}` to each bank and takes the answers on `back{b}`, which must fit it.
    fn exchange<O: Data, I: Data>(
        &self,
        (out, back): (&str, &str),
        shapes: (&O::Shape, &I::Shape),
        message: &O,
        fits: impl Fn(&I) -> Bool,
    ) {
        let (mut told, mut answered) = (Vec::new(), Vec::new());
        for b in 0..self.to_tell.get().width() {
            let port = out_channel::<O>(&format!("{out}{b}"), shapes.0);
            let answer = in_channel::<I>(&format!("{back}{b}"), shapes.1);
            let tell = self.to_tell.get().bit(b) & port.free;
            when(tell, || port.send(message));
            when(answer.valid, || answer.take());
            assert_always(
                &format!("{back}{b}_answers"),
                !answer.valid | (self.to_answer.get().bit(b) & fits(&answer.msg)),
                "a bank answers what it was told, once",
            );
            told.push(tell);
            answered.push(answer.valid);
        }
        let (told, answered) = (pack_bools(&told), pack_bools(&answered));
        when(told.any(), || self.to_tell.set(self.to_tell.get() & !told));
        when(answered.any(), || self.to_answer.set(self.to_answer.get() & !answered));
    }
}

/// The banks' command port, which one engine at a time holds: that of GPU scope, that of system scope, that of drops for others.
pub(super) struct Commands {
    busy: Reg<Bool>,
    owner: Reg<Bits>,
    op: Reg<Enum<FenceOp>>,
    round: Round,
}

impl Commands {
    pub fn new(p: &HierFenceParams) -> Commands {
        Commands {
            busy: reg::<Bool>("cmd_busy", ()),
            owner: reg::<Bits>("cmd_owner", 2),
            op: reg::<Enum<FenceOp>>("cmd_op", ()),
            round: Round::new("cmd", p.sys.banks),
        }
    }

    /// Which engine's command the banks have carried out.
    pub fn step(
        &self,
        p: &HierFenceParams,
        gpu: Option<&Scope>,
        sys: &Scope,
        drops: Option<&Serve>,
    ) -> [Bool; 3] {
        let far = sys.command(p);
        let near = gpu.map_or((bool_lit(false), far.1), |gpu| gpu.command(p));
        let mut requests = vec![near.0, far.0];
        let mut ops = vec![near.1.bits(), far.1.bits()];
        if let Some(drops) = drops {
            requests.push(drops.is(ServeState::Busy));
            ops.push(enum_lit(FenceOp::DropFar).bits());
        }
        let requests = pack_bools(&requests).named("cmd_requests");
        let turn = RoundRobin::new("cmd_turn", ops.len() as u32);
        let pick = turn.pick(requests);
        when(!self.busy.get() & pick.any, || {
            turn.granted(pick.index);
            self.busy.set(true);
            self.owner.set(pick.index.resize(2));
            self.op.set(select(&ops, pick.index).as_enum::<FenceOp>());
            self.round.begin();
        });
        let op = self.op.get();
        let fits = |done: &FenceDone| done.op.bits().eq(op.bits());
        self.round.exchange(("cmd", "done"), (&(), &()), &FenceCmd { op }, fits);
        let ended = (self.busy.get() & self.round.ended()).named("cmd_ended");
        when(ended, || self.busy.set(false));
        count(
            "drops",
            ended & op.is_any(&[FenceOp::DropLeaf, FenceOp::DropFar, FenceOp::DropAll]),
            "times that the banks have dropped copies",
        );
        [0, 1, 2].map(|owner| ended & self.owner.get().eq(owner))
    }
}

/// An engine that has the banks do something for GPMs of the own GPU, for all together that wait.
pub(super) struct Serve {
    name: &'static str,
    state: Reg<Enum<ServeState>>,
    pub waits: Reg<Bits>,
    serving: Reg<Bits>,
}

impl Serve {
    pub fn new(p: &HierFenceParams, name: &'static str, there: bool) -> Option<Serve> {
        there.then(|| Serve {
            name,
            state: reg::<Enum<ServeState>>(&format!("{name}_state"), ()),
            waits: reg::<Bits>(&format!("{name}_waits"), p.gpm_slots()),
            serving: reg::<Bits>(&format!("{name}_serving"), p.gpm_slots()),
        })
    }

    pub fn is(&self, state: ServeState) -> Bool {
        self.state.get().is(state)
    }

    pub fn begins(&self) -> Bool {
        self.is(ServeState::Idle) & self.waits.get().any()
    }

    /// This node's own engine is among those served.
    pub fn serves_home(&self, p: &HierFenceParams) -> Bool {
        self.serving.get().bit(p.sys.gpm_of_node(p.home))
    }

    /// New requests come, and the banks may have finished; the GPMs that are answered.
    pub fn step(&self, p: &HierFenceParams, new: Bits, finished: Bool, table: &EngineTable) -> Bits {
        let (name, begins) = (self.name, self.begins());
        when(begins, || self.serving.set(self.waits.get()));
        when(begins | new.any(), || {
            self.waits.set(mux(begins, new, self.waits.get() | new));
        });
        assert_always(
            &format!("{name}_asked_once"),
            (self.waits.get() & new).none(),
            "a GPM has one request at a time",
        );
        let events =
            [(ServeEvent::Request, new.any()), (ServeEvent::Begin, begins), (ServeEvent::Finished, finished)];
        follow(table, &self.state, &events);
        let others = !p.own_gpm(bool_lit(true));
        self.serving.get() & others & finished.repeat(p.gpm_slots())
    }
}

/// The banks' second command port, for far drains; true when they have finished one.
pub(super) fn far_commands(p: &HierFenceParams, far: Option<&Serve>) -> Bool {
    let Some(far) = far else {
        for b in 0..p.sys.banks {
            silent_out::<FenceCmd>(&format!("far_cmd{b}"), &());
            silent_in::<FenceDone>(&format!("far_done{b}"), &());
        }
        return bool_lit(false);
    };
    let round = Round::new("far_cmd", p.sys.banks);
    when(far.begins(), || round.begin());
    let op = enum_lit(FenceOp::Drain);
    let fits = |done: &FenceDone| done.op.is(FenceOp::Drain);
    round.exchange(("far_cmd", "far_done"), (&(), &()), &FenceCmd { op }, fits);
    (far.is(ServeState::Busy) & round.ended()).named("far_finished")
}

/// A marker of another GPU on its way to the GPMs of this one.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
struct Forward {
    #[width(p.node_bits())]
    requester: Bits,
    #[width(p.node_bits())]
    origin: Bits,
}

/// The engine that sends this home's markers, one after the other, and passes on those of other GPUs.
pub(super) struct Marks(Option<Registers>);

struct Registers {
    state: Reg<Enum<MarkState>>,
    /// Requesters that wait: nodes for system scope, above them GPMs of the own GPU for GPU scope.
    waits: Reg<Bits>,
    requester: Reg<Bits>,
    sys: Reg<Bool>,
    round: Round,
    forwards: Option<Fifo<Forward>>,
    /// The marker leaves in this cycle.
    left: Wire<Bool>,
}

impl Marks {
    pub fn new(p: &HierFenceParams) -> Marks {
        let slots = if p.has(Part::GpuMarks) { p.gpm_slots() } else { 0 };
        Marks(p.has(Part::Markers).then(|| {
            Registers {
                state: reg::<Enum<MarkState>>("mark_state", ()),
                waits: reg::<Bits>("mark_waits", p.sys.nodes() + slots),
                requester: reg::<Bits>("mark_requester", p.sys.node_bits()),
                sys: reg::<Bool>("mark_sys", ()),
                round: Round::new("order", p.sys.banks),
                // One place per releasing node and home in another GPU: more markers than that are not in flight.
                forwards: p
                    .has(Part::Forwards)
                    .then(|| Fifo::new("forwards", p.sys.gpus * p.sys.gpms * (p.sys.gpus - 1), &p.sys)),
                left: wire::<Bool>("mark_leaves", ()),
            }
        }))
    }

    /// The requester of an own marker that leaves in this cycle, as a bit: of GPU scope its GPM's, of system scope its node's.
    pub fn sent(&self, p: &HierFenceParams) -> [Bits; 2] {
        let (slots, nodes) = (p.gpm_slots(), p.sys.nodes());
        let Some(r) = &self.0 else { return [lit_bv(Bv::zero(slots)), lit_bv(Bv::zero(nodes))] };
        let (requester, sys, left) = (r.requester.get(), r.sys.get(), r.left.get());
        [
            p.sys.gpm_of(requester).one_hot(slots) & (left & !sys).repeat(slots),
            requester.one_hot(nodes) & (left & sys).repeat(nodes),
        ]
    }

    /// One cycle; `gpu` and `sys` say that the own engines ask for a marker.
    pub fn step(&self, p: &HierFenceParams, i: &Incoming, gpu: Bool, sys: Bool) {
        let Some(r) = &self.0 else {
            for b in 0..p.sys.banks {
                silent_out::<FenceMark>(&format!("order{b}"), &p.sys);
                silent_in::<FenceMark>(&format!("ordered{b}"), &p.sys);
            }
            return silent_out::<HierMark>("mark_out", &p.sys);
        };
        let of_sys = i.sys_marks | (p.node_mask(&[p.home]) & sys.repeat(p.sys.nodes()));
        let new = if p.has(Part::GpuMarks) { cat(&[i.gpu_marks | p.own_gpm(gpu), of_sys]) } else { of_sys };
        let begin = r.choose(p, new);
        let mark = FenceMark { requester: r.requester.get() };
        let fits = |back: &FenceMark| back.requester.eq(r.requester.get());
        r.round.exchange(("order", "ordered"), (&p.sys, &p.sys), &mark, fits);
        let ordered = (r.state.get().is(MarkState::Order) & r.round.ended()).named("mark_ordered");
        let left = r.send(p, i);
        r.left.set(left);
        let asked = new.any().named("mark_asked");
        let events = [
            (MarkEvent::Request, asked),
            (MarkEvent::Begin, begin),
            (MarkEvent::Ordered, ordered),
            (MarkEvent::Left, left),
        ];
        follow(&mark_table(), &r.state, &events);
    }

    /// A marker of another node is with the banks or leaves.
    pub fn serves_another(&self, p: &HierFenceParams) -> Bool {
        let of = |r: &Registers| !r.state.get().is(MarkState::Idle) & !p.is_home(r.requester.get());
        self.0.as_ref().map_or(bool_lit(false), of)
    }
}

impl Registers {
    /// Takes requests, and the next one in turn when none is under way.
    fn choose(&self, p: &HierFenceParams, new: Bits) -> Bool {
        let (waits, nodes) = (self.waits.get(), p.sys.nodes());
        let numbers = waits.width();
        let turn = RoundRobin::new("mark_turn", numbers);
        let pick = turn.pick(waits);
        let begin = (self.state.get().is(MarkState::Idle) & pick.any).named("mark_begins");
        when(begin, || {
            turn.granted(pick.index);
            let node = pick.index.resize(p.sys.node_bits());
            if p.has(Part::GpuMarks) {
                let of_sys = pick.index.lt(u64::from(nodes));
                let gpm = (pick.index - u64::from(nodes)).resize(p.sys.gpm_bits());
                self.requester.set(mux(of_sys, node, p.node_of_gpm(gpm)));
                self.sys.set(of_sys);
            } else {
                self.requester.set(node);
                self.sys.set(true);
            }
            self.round.begin();
        });
        let chosen = pick.index.one_hot(numbers) & begin.repeat(numbers);
        when(begin | new.any(), || self.waits.set((waits & !chosen) | new));
        assert_always(
            "mark_asked_once",
            (waits & new).none(),
            "a node has one fence of a scope in flight, so it asks for one marker of it",
        );
        begin
    }

    /// The own marker or one that is passed on, in turn; true when the own one has left.
    fn send(&self, p: &HierFenceParams, i: &Incoming) -> Bool {
        let out = out_channel::<HierMark>("mark_out", &p.sys);
        let own = HierMark { requester: self.requester.get(), origin: p.home_bits(), sys: self.sys.get() };
        let ready = self.state.get().is(MarkState::Out);
        let Some(forwards) = &self.forwards else {
            let left = (ready & out.free).named("mark_left");
            when(left, || out.send(&own));
            return left;
        };
        when(i.foreign, || {
            forwards.push(&Forward { requester: i.mark_msg.requester, origin: i.mark_msg.origin });
        });
        let turn = RoundRobin::new("mark_out_turn", 2);
        let pick = turn.pick(pack_bools(&[ready, forwards.valid]));
        let passed = (pick.any & out.free & pick.index.eq(1)).named("mark_passed_on");
        let left = (pick.any & out.free & pick.index.eq(0)).named("mark_left");
        when(passed | left, || turn.granted(pick.index));
        when(left, || out.send(&own));
        when(passed, || {
            forwards.pop();
            let Forward { requester, origin } = forwards.head;
            out.send(&HierMark { requester, origin, sys: bool_lit(true) });
        });
        cover("hmg.race.marker_passed_on", i.foreign, "a marker of another GPU is passed on to the own GPMs");
        cover(
            "hmg.race.passed_on_while_ordering",
            passed & self.state.get().is(MarkState::Order),
            "a marker is passed on while the own one waits for the banks",
        );
        left
    }
}

//! What the hierarchical fence unit has its banks do, for itself and for other nodes: commands, far drains, drops.

use super::params::HierFenceParams;
use super::scope::Scope;
use super::table::{ServeEvent, ServeState, ServeTable};
use crate::common::arbiter::RoundRobin;
use crate::msg::*;
use weft_rtl::prelude::*;

/// Something that every bank is told and answers.
pub(super) struct Round {
    to_tell: Reg<Bits>,
    to_answer: Reg<Bits>,
}

impl Round {
    pub fn new(name: &str, banks: u32) -> Round {
        Round {
            to_tell: reg::<Bits>(&format!("{name}_to_tell"), banks),
            to_answer: reg::<Bits>(&format!("{name}_to_answer"), banks),
        }
    }

    /// Begins; call it under a condition that implies that the round before has ended.
    pub fn begin(&self) {
        let all = lit_bv(Bv::ones(self.to_tell.get().width()));
        self.to_tell.set(all);
        self.to_answer.set(all);
    }

    pub fn ended(&self) -> Bool {
        self.to_answer.get().none()
    }

    /// Sends `message` on `out{b}` to each bank and takes the answers on `back{b}`, which must fit it.
    pub fn exchange<O: Data, I: Data>(
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
    pub fn step(&self, p: &HierFenceParams, new: Bits, finished: Bool, table: &ServeTable) -> Bits {
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
        table.drive(&self.state, &events);
        let others = !p.own_gpm(bool_lit(true));
        self.serving.get() & others & finished.repeat(p.gpm_slots())
    }
}

/// The banks' second command port, for far drains; true when they have finished one.
pub(super) fn far_commands(p: &HierFenceParams, far: Option<&Serve>) -> Bool {
    let Some(far) = far else {
        for b in 0..p.sys.banks {
            silent_out_channel::<FenceCmd>(&format!("far_cmd{b}"), &());
            silent_in_channel::<FenceDone>(&format!("far_done{b}"), &());
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

//! The two engines of the hierarchical fence unit that carry out the own node's releases and acquires, one per scope.
//!
//! They share nothing but the banks' command port, which never waits for other GPUs: the engine of GPU scope has no state that depends on them.

use super::hier_fence_params::{HierFenceParams, Part};
use super::hier_fence_table::{EngineTable, ScopeEvent, ScopeState, follow};
use crate::msg::*;
use weft_rtl::prelude::*;

/// Which scope an engine serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Which {
    Gpu,
    Sys,
}

impl Which {
    pub fn name(self) -> &'static str {
        if self == Which::Gpu { "gpu" } else { "sys" }
    }
}

/// Tokens of one kind that wait for the next batch.
struct Batch {
    waits: Reg<Bool>,
    seq: Reg<Bits>,
}

impl Batch {
    fn new(name: &str) -> Batch {
        Batch { waits: reg::<Bool>(name, ()), seq: reg::<Bits>(&format!("{name}_seq"), 8) }
    }

    /// A token arrives, or the batch begins; one that arrives as it begins is in the next one.
    fn follow(&self, arrives: Bool, seq: Bits, begins: Bool) {
        when(arrives, || {
            self.waits.set(true);
            self.seq.set(seq);
        })
        .elsewhen(begins, || self.waits.set(false));
    }
}

/// An engine's registers.
pub(super) struct Scope {
    pub which: Which,
    pub state: Reg<Enum<ScopeState>>,
    /// What is carried out is an acquire.
    pub acquire: Reg<Bool>,
    seq: Reg<Bits>,
    releases: Batch,
    acquires: Batch,
    /// The batch before was one of acquires.
    after_acquire: Reg<Bool>,
    /// Nodes whose request has not left; of the engine of GPU scope GPM numbers.
    pub to_ask: Reg<Bits>,
    acks: Reg<Bits>,
}

/// What happens to an engine in a cycle.
pub(super) struct Inputs {
    /// A token of this scope.
    pub token: Bool,
    /// The banks have carried out its command.
    pub finished: Bool,
    /// Acknowledgements of other nodes and of this one.
    pub acks: Vec<Bool>,
    /// `done` is free for it: at its end, under the fault when it begins.
    pub done: Bool,
}

/// What an engine does in a cycle.
pub(super) struct Outputs {
    /// It wants this node's far drain.
    pub far: Bool,
    /// It wants this node's marker.
    pub mark: Bool,
    /// It begins a batch of releases, or of acquires.
    pub begins: [Bool; 2],
    pub token: Bool,
    /// It has reported its end.
    pub reported: Bool,
    /// A batch of its kind waits already when a token comes.
    pub joins: Bool,
    /// Releases and acquires wait at once.
    pub both_wait: Bool,
}

impl Scope {
    pub fn new(p: &HierFenceParams, which: Which) -> Scope {
        let name = which.name();
        let asked = if which == Which::Gpu { p.gpm_slots() } else { p.sys.nodes() };
        Scope {
            state: reg::<Enum<ScopeState>>(&format!("{name}_state"), ()),
            acquire: reg::<Bool>(&format!("{name}_acquire"), ()),
            seq: reg::<Bits>(&format!("{name}_seq"), 8),
            releases: Batch::new(&format!("{name}_releases")),
            acquires: Batch::new(&format!("{name}_acquires")),
            after_acquire: reg::<Bool>(&format!("{name}_after_acquire"), ()),
            to_ask: reg::<Bits>(&format!("{name}_to_ask"), asked),
            acks: reg::<Bits>(&format!("{name}_acks"), p.ack_bits(which == Which::Sys)),
            which,
        }
    }

    pub fn is(&self, state: ScopeState) -> Bool {
        self.state.get().is(state)
    }

    /// A batch begins as soon as it may.
    pub fn begins(&self) -> Bool {
        self.is(ScopeState::Idle) & (self.releases.waits.get() | self.acquires.waits.get())
    }

    /// The next batch is one of acquires: after a batch of acquires releases go first, and the other way round.
    fn turn(&self) -> Bool {
        mux(self.after_acquire.get(), !self.releases.waits.get(), self.acquires.waits.get())
    }

    /// What `done` says of the batch that begins, under the fault.
    pub fn next_token(&self) -> FenceToken {
        let acquire = self.turn();
        let seq = mux(acquire, self.acquires.seq.get(), self.releases.seq.get());
        FenceToken { seq, acquire, ..self.token() }
    }

    /// Its command waits for the banks, and which one it is.
    pub fn command(&self, p: &HierFenceParams) -> (Bool, Enum<FenceOp>) {
        let drop = if self.which == Which::Gpu && p.has(Part::GpuHomes) {
            FenceOp::DropLeaf
        } else {
            FenceOp::DropAll
        };
        let wants = self.state.get().is_any(&[ScopeState::Drain, ScopeState::Flush, ScopeState::Drop]);
        let drains = mux(self.is(ScopeState::Drain), enum_lit(FenceOp::Drain), enum_lit(drop));
        (wants, mux(self.is(ScopeState::Flush), enum_lit(FenceOp::Flush), drains))
    }

    /// The order in its requests.
    pub fn order(&self) -> Enum<FenceOrder> {
        if self.which == Which::Gpu {
            return enum_lit(FenceOrder::MarkGpu);
        }
        let marks =
            mux(self.is(ScopeState::Far), enum_lit(FenceOrder::DrainFar), enum_lit(FenceOrder::MarkSys));
        mux(self.acquire.get(), enum_lit(FenceOrder::DropFar), marks)
    }

    /// What `done` says at its end.
    pub fn token(&self) -> FenceToken {
        let scope = if self.which == Which::Gpu { 1 } else { 2 };
        FenceToken { seq: self.seq.get(), scope: lit(scope, 2), acquire: self.acquire.get() }
    }

    /// Acknowledgements that end the present state.
    fn all_acks(&self, p: &HierFenceParams) -> Bool {
        let acks = self.acks.get();
        let system = self.which == Which::Sys;
        let mut ends = Vec::new();
        let mut end = |there: bool, state, count: u32| {
            if there {
                ends.push(self.is(state) & acks.eq(u64::from(count)));
            }
        };
        end(p.has(Part::Markers), ScopeState::Wait, p.acks(system));
        end(system && p.has(Part::FarDrains), ScopeState::Far, p.sys.gpms);
        end(system && p.has(Part::FarDrops), ScopeState::DropWait, p.sys.gpms - 1);
        ends.into_iter().reduce(|a, b| a | b).unwrap_or(bool_lit(false))
    }

    /// One cycle of the engine.
    pub fn step(
        &self,
        p: &HierFenceParams,
        table: &EngineTable,
        seq: Bits,
        acquire: Bool,
        i: &Inputs,
    ) -> Outputs {
        let name = self.which.name();
        let (releases, acquires) = (self.releases.waits.get(), self.acquires.waits.get());
        let turn = self.turn();
        let idle = self.is(ScopeState::Idle);
        let idle = if p.early { idle & i.done } else { idle };
        let release = (idle & releases & !turn).named(&format!("{name}_release_begins"));
        let acquires_begin = (idle & acquires & turn).named(&format!("{name}_acquire_begins"));
        self.releases.follow(i.token & !acquire, seq, release);
        self.acquires.follow(i.token & acquire, seq, acquires_begin);
        when(release | acquires_begin, || {
            self.acquire.set(acquires_begin);
            self.after_acquire.set(acquires_begin);
            self.seq.set(mux(acquires_begin, self.acquires.seq.get(), self.releases.seq.get()));
        });
        let event =
            |state, event: Bool, text: &str| (self.is(state) & event).named(&format!("{name}_{text}"));
        let drained = event(ScopeState::Drain, i.finished, "drained");
        let flushed = event(ScopeState::Flush, i.finished, "flushed");
        let dropped = event(ScopeState::Drop, i.finished, "dropped");
        let sent = event(ScopeState::Send, self.to_ask.get().none(), "sent");
        let all = self.all_acks(p).named(&format!("{name}_all_acks"));
        let told = if p.early { bool_lit(true) } else { i.done };
        let reported = event(ScopeState::Done, told, "reported");
        let ack = any_of(&i.acks).named(&format!("{name}_ack"));
        self.count(i, all);
        follow(
            table,
            &self.state,
            &[
                (ScopeEvent::Token, i.token),
                (ScopeEvent::Release, release),
                (ScopeEvent::Acquire, acquires_begin),
                (ScopeEvent::Drained, drained),
                (ScopeEvent::Flushed, flushed),
                (ScopeEvent::Dropped, dropped),
                (ScopeEvent::Sent, sent),
                (ScopeEvent::Ack, ack),
                (ScopeEvent::AllAcks, all),
                (ScopeEvent::Reported, reported),
            ],
        );
        let (far, mark) = self.ask(p, drained, flushed, all, acquires_begin);
        Outputs {
            far,
            mark,
            begins: [release, acquires_begin],
            token: i.token,
            reported,
            joins: i.token & mux(acquire, acquires, releases),
            both_wait: releases & acquires,
        }
    }

    fn count(&self, i: &Inputs, all: Bool) {
        let width = self.acks.get().width();
        let more = pack_bools(&i.acks).popcount().resize(width);
        when(all, || self.acks.set(0)).elsewhen(any_of(&i.acks), || self.acks.set(self.acks.get() + more));
        assert_always(
            &format!("{}_no_ack_too_many", self.which.name()),
            !(all & any_of(&i.acks)),
            "no acknowledgement comes after the last one",
        );
    }

    /// Sets what is to be asked of others; true when this node's own far drain, and its own marker, are asked for.
    fn ask(
        &self,
        p: &HierFenceParams,
        drained: Bool,
        flushed: Bool,
        all: Bool,
        acquire: Bool,
    ) -> (Bool, Bool) {
        let no = bool_lit(false);
        let markers = p.has(Part::Markers);
        if self.which == Which::Gpu {
            let mark = if markers && p.sys.gpms > 1 { drained } else { no };
            when(mark, || self.to_ask.set(p.gpm_mask(&p.near())));
            return (no, mark);
        }
        let ready = if p.flushes() { flushed } else { drained };
        if !p.has(Part::FarDrains) {
            let mark = if markers { ready } else { no };
            when(mark, || self.to_ask.set(p.node_mask(&p.others())));
            return (no, mark);
        }
        let near = p.node_mask(&p.near());
        when(ready, || self.to_ask.set(near));
        if p.has(Part::FarDrops) {
            when(acquire, || self.to_ask.set(near));
        }
        let mark = if markers { all & self.is(ScopeState::Far) } else { no };
        when(mark, || self.to_ask.set(p.node_mask(&p.others())));
        (ready, mark)
    }
}

//! The two engines of the hierarchical fence unit that carry out the own node's releases and acquires, one per scope.
//!
//! They share nothing but the banks' command port, which never waits for other GPUs: the engine of GPU scope has no state that depends on them.

use super::params::{HierFenceParams, Part};
use super::table::{ScopeEvent, ScopeState, ScopeTable, check};
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
    common: Option<Common>,
    joins: Option<Joins>,
}

/// Where GPMs join: releases of all nodes.
struct Common {
    /// One waits, with it all own tokens.
    waits: Reg<Bool>,
    /// The batch under way is one.
    batch: Reg<Bool>,
}

/// At a leader: other GPMs of the GPU that join its releases.
struct Joins {
    /// Those that wait for the next far drain, and those that the batch under way serves.
    waits: Reg<Bits>,
    serving: Reg<Bits>,
    /// Those that wait for a release of all nodes.
    common: Reg<Bits>,
    /// The batch under way serves tokens of this node.
    own: Reg<Bool>,
}

/// What happens to an engine in a cycle.
pub(super) struct Inputs {
    /// A token of this scope.
    pub token: Bool,
    /// It is of a release of all nodes.
    pub common: Bool,
    /// The banks have carried out its command.
    pub finished: Bool,
    /// Acknowledgements of other nodes and of this one.
    pub acks: Vec<Bool>,
    /// GPMs that join, and those that do for a release of all nodes.
    pub joins: [Bits; 2],
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
    /// GPMs whose joined release is complete.
    pub answers: Bits,
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
            common: (which == Which::Sys && p.joined()).then(|| Common {
                waits: reg::<Bool>("common_waits", ()),
                batch: reg::<Bool>("common_batch", ()),
            }),
            joins: (which == Which::Sys && p.leads()).then(|| Joins {
                waits: reg::<Bits>("joins", p.gpm_slots()),
                serving: reg::<Bits>("joined", p.gpm_slots()),
                common: reg::<Bits>("common_joins", p.gpm_slots()),
                own: reg::<Bool>("joined_by_own", ()),
            }),
            which,
        }
    }

    pub fn is(&self, state: ScopeState) -> Bool {
        self.state.get().is(state)
    }

    /// Its end is to be reported: it serves tokens of this node.
    pub fn ends(&self) -> Bool {
        let ends = self.is(ScopeState::Done);
        self.joins.as_ref().map_or(ends, |joins| ends & joins.own.get())
    }

    /// The batch under way is a release of all nodes.
    pub fn is_common(&self) -> Bool {
        self.common.as_ref().map_or(bool_lit(false), |common| common.batch.get())
    }

    /// At a leader: a release of all nodes waits, and all GPMs of the GPU have joined it.
    fn gathered(&self, p: &HierFenceParams) -> Bool {
        let (Some(common), Some(joins)) = (&self.common, &self.joins) else { return bool_lit(false) };
        let missing = p.gpm_mask(&p.near()) & !joins.common.get();
        common.waits.get() & missing.none()
    }

    /// Own releases wait and may begin.
    fn own_releases(&self, p: &HierFenceParams) -> Bool {
        let waits = self.releases.waits.get();
        match (&self.common, &self.joins) {
            (Some(common), Some(_)) => waits & (!common.waits.get() | self.gathered(p)),
            _ => waits,
        }
    }

    /// Those may begin, or GPMs wait that join.
    fn releases(&self, p: &HierFenceParams) -> Bool {
        let own = self.own_releases(p);
        self.joins.as_ref().map_or(own, |joins| own | joins.waits.get().any())
    }

    /// A batch of own tokens begins as soon as it may.
    pub fn begins(&self, p: &HierFenceParams) -> Bool {
        self.is(ScopeState::Idle) & (self.own_releases(p) | self.acquires.waits.get())
    }

    /// The next batch is one of acquires: after a batch of acquires releases go first, and the other way round.
    fn turn(&self, p: &HierFenceParams) -> Bool {
        mux(self.after_acquire.get(), !self.releases(p), self.acquires.waits.get())
    }

    /// What `done` says of the batch that begins, under the fault.
    pub fn next_token(&self, p: &HierFenceParams) -> FenceToken {
        let acquire = self.turn(p);
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
        end(system && p.far_phase(), ScopeState::Far, p.sys.gpms);
        end(system && p.has(Part::FarDrops), ScopeState::DropWait, p.sys.gpms - 1);
        ends.into_iter().reduce(|a, b| a | b).unwrap_or(bool_lit(false))
    }

    /// Tokens come, and a batch may begin: one of releases, one that serves own releases, one of acquires.
    fn batches(&self, p: &HierFenceParams, seq: Bits, acquire: Bool, i: &Inputs) -> [Bool; 3] {
        let name = self.which.name();
        let acquires = self.acquires.waits.get();
        let turn = self.turn(p);
        let idle = self.is(ScopeState::Idle);
        let may = if self.joins.is_some() { i.done | !(self.own_releases(p) | acquires) } else { i.done };
        let idle = if p.early { idle & may } else { idle };
        let release = (idle & self.releases(p) & !turn).named(&format!("{name}_release_begins"));
        let acquires_begin = (idle & acquires & turn).named(&format!("{name}_acquire_begins"));
        let own = if self.joins.is_some() { release & self.own_releases(p) } else { release };
        self.releases.follow(i.token & !acquire, seq, own);
        if let Some(common) = &self.common {
            when(release, || common.batch.set(own & common.waits.get()));
            when(i.common, || common.waits.set(true)).elsewhen(own, || common.waits.set(false));
        }
        self.acquires.follow(i.token & acquire, seq, acquires_begin);
        when(release | acquires_begin, || {
            self.acquire.set(acquires_begin);
            self.after_acquire.set(acquires_begin);
            self.seq.set(mux(acquires_begin, self.acquires.seq.get(), self.releases.seq.get()));
        });
        [release, own, acquires_begin]
    }

    /// One cycle of the engine.
    pub fn step(
        &self,
        p: &HierFenceParams,
        table: &ScopeTable,
        seq: Bits,
        acquire: Bool,
        i: &Inputs,
    ) -> Outputs {
        let name = self.which.name();
        let (releases, acquires) = (self.releases.waits.get(), self.acquires.waits.get());
        let [release, own, acquires_begin] = self.batches(p, seq, acquire, i);
        let event =
            |state, event: Bool, text: &str| (self.is(state) & event).named(&format!("{name}_{text}"));
        let drained = event(ScopeState::Drain, i.finished, "drained");
        let flushed = event(ScopeState::Flush, i.finished, "flushed");
        let dropped = event(ScopeState::Drop, i.finished, "dropped");
        let sent = event(ScopeState::Send, self.to_ask.get().none(), "sent");
        let all = self.all_acks(p).named(&format!("{name}_all_acks"));
        let told = if p.early { bool_lit(true) } else { i.done };
        let told = self.joins.as_ref().map_or(told, |joins| told | !joins.own.get());
        let reported = event(ScopeState::Done, told, "reported");
        let ack = any_of(&i.acks).named(&format!("{name}_ack"));
        self.count(i, all);
        let begins = [release, own, acquires_begin];
        let joined = self.joins.as_ref().map(|joins| self.join(p, joins, i, begins, all));
        let (again, complete) = joined.map_or((None, all), |(again, _)| (Some(again), all & !again));
        let mut events = vec![
            (ScopeEvent::Token, i.token),
            (ScopeEvent::Release, release),
            (ScopeEvent::Acquire, acquires_begin),
            (ScopeEvent::Drained, drained),
            (ScopeEvent::Flushed, flushed),
            (ScopeEvent::Dropped, dropped),
            (ScopeEvent::Sent, sent),
            (ScopeEvent::Ack, ack),
            (ScopeEvent::AllAcks, complete),
            (ScopeEvent::Reported, reported),
        ];
        if let Some(again) = again {
            events.extend([(ScopeEvent::Join, (i.joins[0] | i.joins[1]).any()), (ScopeEvent::Again, again)]);
        }
        check(table);
        table.drive(&self.state, &events);
        let (far, mark) = self.ask(p, drained, flushed, (complete, again), acquires_begin);
        Outputs {
            far,
            mark,
            begins: [release, acquires_begin],
            token: i.token,
            reported,
            joins: i.token & mux(acquire, acquires, releases),
            both_wait: releases & acquires,
            answers: joined.map_or(lit_bv(Bv::zero(p.gpm_slots())), |(_, answers)| answers),
        }
    }

    /// GPMs join, and are taken into the batch that begins or, by another far drain, into the one in that
    /// phase. True when they need that drain, and whom a complete batch has served.
    fn join(
        &self,
        p: &HierFenceParams,
        joins: &Joins,
        i: &Inputs,
        [release, own, acquire]: [Bool; 3],
        all: Bool,
    ) -> (Bool, Bits) {
        let [new, new_common] = i.joins;
        let common = joins.common.get();
        let gathered = release & self.gathered(p);
        when(gathered | new_common.any(), || {
            joins.common.set(mux(gathered, new_common, common | new_common))
        });
        let (waits, serving) = (joins.waits.get(), joins.serving.get());
        let again = (all & self.is(ScopeState::Far) & waits.any()).named("sys_again");
        let takes = release | again;
        when(takes | new.any(), || joins.waits.set(mux(takes, new, waits | new)));
        let ends = all & self.is(ScopeState::Wait);
        let taken = waits | (common & gathered.repeat(common.width()));
        when(release, || joins.serving.set(taken))
            .elsewhen(again, || joins.serving.set(serving | waits))
            .elsewhen(ends, || joins.serving.set(0));
        when(release | acquire, || joins.own.set(acquire | own));
        assert_always(
            "joins_once",
            ((waits | common) & (new | new_common)).none(),
            "a GPM has one release of system scope in flight",
        );
        cover("hmg.race.gpm_joins_late", again, "GPMs join a release whose far drain is under way");
        cover("hmg.race.leader_asks_for_others", release & !own, "a leader releases for other GPMs only");
        let early = self.is(ScopeState::Idle) & new_common.any() & !self.gathered(p);
        cover(
            "hmg.race.common_join_waits",
            early,
            "a GPM joins a release of all nodes that others of its GPU have not joined",
        );
        (again, serving & ends.repeat(serving.width()))
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
        (all, again): (Bool, Option<Bool>),
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
        if p.follows() {
            when(ready, || self.to_ask.set(p.node_mask(&[p.leader()])));
            return (no, no);
        }
        if !p.has(Part::FarDrains) {
            let mark = if markers { ready } else { no };
            when(mark, || self.to_ask.set(p.node_mask(&p.others())));
            return (no, mark);
        }
        let near = p.node_mask(&p.near());
        let drain = again.map_or(ready, |again| ready | again);
        when(drain, || self.to_ask.set(near));
        if p.has(Part::FarDrops) {
            when(acquire, || self.to_ask.set(near));
        }
        let mark = if markers { all & self.is(ScopeState::Far) } else { no };
        let asked = if p.leads() { p.other_leaders() } else { p.others() };
        when(mark, || self.to_ask.set(p.node_mask(&asked)));
        (drain, mark)
    }
}

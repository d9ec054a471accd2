//! Fences of a node: releases and acquires that its L1s alone cannot perform go to its fence unit (rec.md section 7, hmg.md section 6).
//!
//! One fence per scope is asked for at a time. What comes meanwhile waits and goes together into the next one, releases and acquires apart.

use super::fence::Fence;
use super::observe::Observe;
use crate::channel::{Receiver, Sender, SenderState};
use crate::port::PortError;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use weft_engine::{PinList, Pins, Sim};

/// Who waits for a fence.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) enum Waiter {
    /// The command processor.
    Processor,
    /// An access of a compute unit of this node.
    Cu {
        /// The compute unit.
        cu: u32,
        /// Transaction number.
        id: u16,
    },
}

/// A fence on its way through the fence unit.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Flight {
    fence: Fence,
    seq: u8,
    /// The fence unit has taken it.
    taken: bool,
    waiters: Vec<Waiter>,
}

/// What changes in a [`NodeFences`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    /// By scope: GPU, system.
    flights: [Option<Flight>; 2],
    /// By scope: oldest first.
    waiting: [VecDeque<(bool, Waiter)>; 2],
    /// Scope whose flight is on offer.
    offering: Option<usize>,
    /// Number of the last fence.
    seq: u8,
}

/// What changes in a [`NodeFences`], as it is saved.
#[derive(Serialize, Deserialize)]
pub(super) struct FencesState {
    start: Option<SenderState>,
    s: State,
}

/// A node's side of its fence unit. In a fabric without fence units every fence is complete at once.
#[derive(Clone)]
pub(super) struct NodeFences {
    node: u32,
    unit: Option<Unit>,
    s: State,
}

/// The channels of a fence unit.
#[derive(Clone)]
struct Unit {
    start: Sender<3>,
    done: Receiver<3>,
    /// It knows the release that ends a kernel.
    common: bool,
}

/// Scope of a release that all nodes have, on `start`.
const EVERY_NODE: u8 = 3;

const FIELDS: [&str; 3] = ["seq", "scope", "acquire"];

impl NodeFences {
    /// Finds the channels of node `node`, if it has a `fence_unit`: whether that knows the release that ends
    /// a kernel.
    pub fn new(sim: &mut Sim, node: u32, fence_unit: Option<bool>) -> Result<NodeFences, PortError> {
        let mut unit = None;
        if let Some(common) = fence_unit {
            let start = Sender::new(sim, &format!("g{node}_fence_start"), FIELDS)?;
            let done = Receiver::new(sim, &format!("g{node}_fence_done"), FIELDS)?;
            unit = Some(Unit { start, done, common });
        }
        Ok(NodeFences { node, unit, s: State::default() })
    }

    /// All its ports, if it has any, are in this part of the simulation.
    pub fn is_in(&self, sim: &Sim, part: usize) -> bool {
        let Some(Unit { start, done, .. }) = &self.unit else { return true };
        sim.part_with(&PinList::and(start.pins(), done.pins())) == Some(part)
    }

    /// What has to be saved.
    pub fn state(&self) -> FencesState {
        FencesState { start: self.unit.as_ref().map(|unit| unit.start.state()), s: self.s.clone() }
    }

    /// Goes on from what [`NodeFences::state`] gave.
    pub fn resume(&mut self, state: FencesState) {
        if let (Some(unit), Some(start)) = (&mut self.unit, state.start) {
            unit.start.resume(start);
        }
        self.s = state.s;
    }

    /// The command processor waits for a fence.
    pub fn serves_processor(&self) -> bool {
        let flights = self.s.flights.iter().flatten().flat_map(|flight| &flight.waiters);
        let waiting = self.s.waiting.iter().flatten().map(|(_, waiter)| waiter);
        flights.chain(waiting).any(|waiter| *waiter == Waiter::Processor)
    }

    /// Asks for a fence; [`NodeFences::tick`] tells when it is complete.
    pub fn ask(&mut self, fence: Fence, waiter: Waiter) {
        self.s.waiting[lane(fence.scope)].push_back((fence.acquire, waiter));
    }

    /// One cycle. Adds to `finished` who need wait no longer, each with what it waited for; returns whether the next cycle matters even if nothing
    /// else happens.
    pub fn tick(
        &mut self,
        sim: &mut impl Pins,
        observer: &mut impl Observe,
        finished: &mut Vec<(Fence, Waiter)>,
    ) -> bool {
        if self.unit.is_none() {
            return self.complete_all(finished);
        }
        self.complete(sim, observer, finished);
        (0..2).for_each(|scope| self.gather(scope));
        self.offer(sim, observer)
    }

    /// Without a fence unit there is nothing to wait for.
    fn complete_all(&mut self, finished: &mut Vec<(Fence, Waiter)>) -> bool {
        let before = finished.len();
        for (scope, waiting) in (1..).zip(&mut self.s.waiting) {
            finished.extend(waiting.drain(..).map(|(acquire, waiter)| (Fence { scope, acquire }, waiter)));
        }
        finished.len() > before
    }

    fn complete(
        &mut self,
        sim: &mut impl Pins,
        observer: &mut impl Observe,
        finished: &mut Vec<(Fence, Waiter)>,
    ) {
        let Some(Unit { done, .. }) = self.unit.as_ref().filter(|unit| unit.done.offered(sim)) else {
            return;
        };
        let [seq, scope, acquire] = [0, 1, 2].map(|field| done.field(sim, field)[0] as u8);
        let told = Fence { scope, acquire: acquire == 1 };
        Observe::fence(observer, sim.cycle(), self.node, false, seq, told);
        let of = &mut self.s.flights[lane(scope)];
        if let Some(flight) = of.take_if(|f| f.taken && f.seq == seq && f.fence == told) {
            finished.extend(flight.waiters.into_iter().map(|waiter| (told, waiter)));
        }
    }

    /// Makes the next fence of a scope out of everything that waits and is of the oldest one's kind.
    fn gather(&mut self, scope: usize) {
        let waiting = &mut self.s.waiting[scope];
        let Some(&(acquire, _)) = waiting.front().filter(|_| self.s.flights[scope].is_none()) else { return };
        let waiters = waiting.iter().filter(|w| w.0 == acquire).map(|w| w.1).collect();
        waiting.retain(|w| w.0 != acquire);
        self.s.seq = self.s.seq.wrapping_add(1);
        let fence = Fence { scope: scope as u8 + 1, acquire };
        self.s.flights[scope] = Some(Flight { fence, seq: self.s.seq, taken: false, waiters });
    }

    fn offer(&mut self, sim: &mut impl Pins, observer: &mut impl Observe) -> bool {
        let Some(Unit { start, common, .. }) = &mut self.unit else { return false };
        let unsent = |scope: &usize| self.s.flights[*scope].as_ref().is_some_and(|f| !f.taken);
        let Some(scope) = self.s.offering.or_else(|| (0..2).find(unsent)) else {
            let driven = start.driving();
            start.rest(sim);
            return driven;
        };
        let Some(flight) = &mut self.s.flights[scope] else { return false };
        let Fence { scope: width, acquire } = flight.fence;
        // The command processor asks all nodes.
        let all = *common && !acquire && flight.waiters.contains(&Waiter::Processor);
        let code = if all { EVERY_NODE } else { width };
        let taken = start.offer(sim, [&[u64::from(flight.seq)], &[u64::from(code)], &[u64::from(acquire)]]);
        self.s.offering = (!taken).then_some(scope);
        if taken {
            flight.taken = true;
            let fence = Fence { scope: width, acquire };
            Observe::fence(observer, sim.cycle(), self.node, true, flight.seq, fence);
        }
        true
    }
}

/// Place of a scope in the tables.
fn lane(scope: u8) -> usize {
    usize::from(scope >= 2)
}

//! Algorithm 1, the class of a wave; Algorithm 2, the class of a tick; and the ticks that the run loop leaves out.

use serde::{Deserialize, Serialize};
use weft_workload::{Op, Token};

use super::super::mem_op::MemKind;
use super::super::wave::{Need, PENDING, Status, Wait, Wave, source};
use super::super::{Boundary, Cu};
use super::{GsiCounts, StallClass, Structural};

/// What a tick without an issue is counted as. It follows from the unit's state and holds until that changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// A class without subclasses.
    Class(StallClass),
    /// Memory data; the operation blamed.
    Data(u32),
    /// Memory structural within the unit.
    Structural(Structural),
    /// Memory structural at the L1's port, for the reason last seen there.
    Port,
    /// The same at the stash's port.
    StashPort,
}

/// The inspection of a kernel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::cu) struct Gsi {
    counts: GsiCounts,
    /// First tick.
    from: u64,
    /// First tick that has no class yet.
    next: u64,
    /// Class of ticks without an issue; `None` after a change of state.
    #[serde(skip)]
    verdict: Option<Verdict>,
    /// Why the L1's port did not take the access last offered.
    refusal: Structural,
    /// Why the stash's port did not.
    stash_refusal: Structural,
    /// Ticks in which nothing issued although a wave could.
    missed: u64,
}

impl Gsi {
    /// From tick `from` on.
    pub fn new(from: u64) -> Gsi {
        let counts = GsiCounts::default();
        Gsi {
            counts,
            from,
            next: from,
            verdict: None,
            refusal: Structural::Other,
            stash_refusal: Structural::Other,
            missed: 0,
        }
    }

    /// The unit's state has changed.
    #[inline]
    pub fn changed(&mut self) {
        self.verdict = None;
    }
}

impl Cu {
    /// The same with stall inspection on or off.
    #[must_use]
    pub fn inspecting(mut self, on: bool) -> Self {
        self.inspect = on;
        self
    }

    /// The L1 does not take the access offered in cycle `now`, or takes no other in it, because of this.
    pub fn refused(&mut self, now: u64, by: Structural) {
        self.refused_at(now, by, false);
    }

    /// The same at the port of the L1 or of the stash.
    pub(in crate::cu) fn refused_at(&mut self, now: u64, by: Structural, stash: bool) {
        let old = self.s.gsi.as_ref().map(|gsi| if stash { gsi.stash_refusal } else { gsi.refusal });
        if old.is_some_and(|old| old != by) {
            self.inspect_to(now);
            if let Some(gsi) = &mut self.s.gsi {
                *(if stash { &mut gsi.stash_refusal } else { &mut gsi.refusal }) = by;
            }
        }
    }

    /// Ends the inspection of a kernel, which all units have ended: its ticks in cycles before `now` by class; `None` if it was off.
    ///
    /// # Errors
    /// A sum of section 3 that does not hold.
    pub fn inspected(&mut self, now: u64) -> Result<Option<GsiCounts>, String> {
        self.inspect_to(now);
        let Some(gsi) = self.s.gsi.take() else { return Ok(None) };
        let counts = GsiCounts { ticks: gsi.next - gsi.from, ..gsi.counts };
        let owed: u64 = self.s.lsu.ops.iter().map(|op| op.blame).sum();
        let wrong = if gsi.missed > 0 {
            Err(format!("in {} ticks nothing issued although a wave could", gsi.missed))
        } else if owed > 0 {
            Err(format!("{owed} ticks of memory data stalls are blamed on accesses that never completed"))
        } else {
            counts.check()
        };
        let at = |cause| format!("stall inspection of {} cu {}: {cause}", self.gpu, self.cu);
        wrong.map(|()| Some(counts)).map_err(at)
    }

    /// Something is about to happen in cycle `now`: the ticks before it have the class of the present state, and the state changes.
    #[inline]
    pub(in crate::cu) fn inspect_change(&mut self, now: u64) {
        if self.s.gsi.is_some() {
            self.inspect_to(now);
            self.s.gsi.iter_mut().for_each(Gsi::changed);
        }
    }

    /// All ticks in cycles before `now` have a class.
    fn inspect_to(&mut self, now: u64) {
        let pace = self.params.pace;
        self.inspect_until(pace.tick(pace.from(now)));
    }

    /// All ticks before `tick` have a class.
    #[inline]
    pub(in crate::cu) fn inspect_until(&mut self, tick: u64) {
        let left_out = self.s.gsi.as_ref().map_or(0, |gsi| tick.saturating_sub(gsi.next));
        if left_out > 0 {
            self.stalled(left_out);
        }
    }

    /// The present tick has a class; before the load-store unit acts.
    #[inline]
    pub(in crate::cu) fn inspect_tick(&mut self, issued: bool) {
        match &mut self.s.gsi {
            None => {}
            Some(gsi) if issued => {
                gsi.counts.classes[StallClass::NoStall as usize] += 1;
                gsi.next += 1;
                gsi.verdict = None;
            }
            Some(_) => self.stalled(1),
        }
    }

    /// Counts ticks without an issue.
    fn stalled(&mut self, ticks: u64) {
        let Some(first) = self.s.gsi.as_ref().map(|gsi| gsi.next) else { return };
        let known = self.s.gsi.as_ref().and_then(|gsi| gsi.verdict);
        let verdict = known.unwrap_or_else(|| self.verdict(first));
        #[cfg(test)]
        assert_eq!(
            [first, first + ticks - 1].map(|tick| self.verdict(tick)),
            [verdict; 2],
            "nothing has changed"
        );
        let flushing = self.s.boundary == Boundary::Ending;
        let Some(gsi) = &mut self.s.gsi else { return };
        gsi.verdict = Some(verdict);
        gsi.next += ticks;
        let counts = &mut gsi.counts;
        let class = match verdict {
            Verdict::Class(class) => class,
            Verdict::Data(op) => {
                self.s.lsu.ops[op as usize].blame += ticks;
                StallClass::MemoryData
            }
            Verdict::Structural(what) => {
                counts.structural[what as usize] += ticks;
                StallClass::MemoryStructural
            }
            Verdict::StashPort => {
                counts.structural[gsi.stash_refusal as usize] += ticks;
                StallClass::MemoryStructural
            }
            Verdict::Port => {
                counts.structural[gsi.refusal as usize] += ticks;
                StallClass::MemoryStructural
            }
        };
        counts.classes[class as usize] += ticks;
        match class {
            StallClass::Idle if flushing => counts.kernel_flush += ticks,
            StallClass::NoStall => gsi.missed += ticks,
            _ => {}
        }
    }

    /// An operation is complete: the stalls blamed on it are paid.
    pub(in crate::cu) fn pay(&mut self, index: u32) {
        let op = &mut self.s.lsu.ops[index as usize];
        let ticks = std::mem::take(&mut op.blame);
        if let (1.., Some(gsi)) = (ticks, &mut self.s.gsi) {
            gsi.counts.pay(op.src, op.merged, ticks);
        }
    }

    /// Algorithm 2 for tick `now`, in which nothing issues.
    fn verdict(&self, now: u64) -> Verdict {
        // Numbers of one size: tuples with a class in front are copied byte by byte, which is several times slower.
        let mut first = (u64::MAX, u64::MAX, usize::MAX);
        for (w, wave) in self.s.waves.iter().enumerate() {
            if let Some(class) = self.class_of(w, now) {
                first = first.min((class as u64, wave.age, w));
            }
        }
        let w = first.2;
        let Some(class) = self.s.waves.get(w).and_then(|_| self.class_of(w, now)) else {
            return Verdict::Class(StallClass::Idle);
        };
        let wave = &self.s.waves[w];
        match (class, wave.status) {
            (StallClass::MemoryData, _) => match self.blamed(wave) {
                Some(op) => Verdict::Data(op),
                None => Verdict::Class(class),
            },
            (StallClass::MemoryStructural, Status::Waiting(_)) => self.store_block(wave),
            (StallClass::MemoryStructural, _) => self.lsu_block(),
            _ => Verdict::Class(class),
        }
    }

    /// Algorithm 1: the class of the wave in slot `w` in tick `now`; none for a free slot.
    fn class_of(&self, w: usize, now: u64) -> Option<StallClass> {
        let wave = &self.s.waves[w];
        let slot = &self.s.slots[w % self.s.slots.len()];
        Some(match wave.status {
            Status::Free => return None,
            Status::Timed(_) if wave.queue.is_empty() => StallClass::Control,
            Status::Timed(_) => StallClass::ComputeData,
            Status::Waiting(Wait::Order) | Status::Barrier => StallClass::Synchronization,
            Status::Waiting(Wait::Data) => StallClass::MemoryData,
            Status::Waiting(Wait::Word(_) | Wait::End) => match awaited(wave) {
                Some(op) if self.s.lsu.ops[op as usize].token().is_some() => StallClass::MemoryData,
                _ => StallClass::MemoryStructural,
            },
            Status::Ready => match wave.need {
                Need::Lsu if !self.lsu_room() => StallClass::MemoryStructural,
                Need::Unit(unit) if slot.unit_free[usize::from(unit)] > now => StallClass::ComputeStructural,
                _ => StallClass::NoStall,
            },
        })
    }

    /// The oldest unanswered operation that a wave of class memory data waits for.
    fn blamed(&self, wave: &Wave) -> Option<u32> {
        if wave.status != Status::Waiting(Wait::Data) {
            return awaited(wave);
        }
        let needed = needed(wave.queue.last()?);
        let produces = |index: &&u32| {
            let token = self.s.lsu.ops[**index as usize].token();
            token.is_some_and(|token| needed.contains(&token) && wave.due(token) == PENDING)
        };
        wave.ops.iter().find(produces).copied()
    }

    /// What blocks the store that a wave waits for.
    fn store_block(&self, wave: &Wave) -> Verdict {
        let lsu = &self.s.lsu;
        match awaited(wave) {
            Some(op) if lsu.ops[op as usize].kind == MemKind::Dma => Verdict::Structural(Structural::Dma),
            Some(op) if lsu.queue.contains(&op) => self.lsu_block(),
            Some(op)
                if lsu.flights.out.iter().any(|id| lsu.flights.pending[usize::from(*id)].op == Some(op)) =>
            {
                Verdict::Port
            }
            _ => Verdict::Structural(Structural::Other),
        }
    }

    /// What blocks the load-store unit: the operation at its head.
    fn lsu_block(&self) -> Verdict {
        let lsu = &self.s.lsu;
        let Some(&index) = lsu.queue.front() else { return Verdict::Structural(Structural::Other) };
        let op = &lsu.ops[index as usize];
        if op.kind == MemKind::Lds {
            let dma = self.pending_dma(index);
            return Verdict::Structural(if dma { Structural::Dma } else { Structural::Bank });
        }
        if op.kind == MemKind::Stash && !self.pending_map(index) && !self.s.stash.out.is_empty() {
            return Verdict::StashPort;
        }
        if op.kind == MemKind::Stash {
            let map = self.pending_map(index);
            return Verdict::Structural(if map { Structural::Dma } else { Structural::Bank });
        }
        if lsu.flights.untaken() >= self.params.lsu_rate as usize {
            return Verdict::Port;
        }
        let in_flight = self.s.waves[usize::from(op.wave)].in_flight;
        let other = in_flight >= self.params.wave_mem || !lsu.flights.id_free();
        Verdict::Structural(if other { Structural::Other } else { Structural::Bank })
    }
}

/// The access that the same-word rule or END waits for.
fn awaited(wave: &Wave) -> Option<u32> {
    match wave.status {
        Status::Waiting(Wait::Word(op)) => Some(op),
        _ => wave.ops.first().copied(),
    }
}

/// Tokens whose values an operation needs before it issues.
fn needed(op: &Op) -> &[Token] {
    match op {
        Op::Compute { needs, .. } => needs,
        Op::Await { tokens } => tokens,
        Op::Store { values, .. }
        | Op::Amo { values, .. }
        | Op::LdsStore { values, .. }
        | Op::LdsAmo { values, .. }
        | Op::StashStore { values, .. } => source(values),
        _ => &[],
    }
}

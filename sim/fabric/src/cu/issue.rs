//! Issue: per tick and slot at most one operation of one ready wave (section 1).

use serde::{Deserialize, Serialize};
use weft_blocks::msg::CuOp;
use weft_workload::op::size_mask;
use weft_workload::{AmoKind, Class, Op, Scope, Sem, full_mask};

use super::mem_op::{MemKind, MemOp, global};
use super::wave::{Head, Need, Next, PENDING, Status, byte_range, sent_scope, unaligned};
use super::{Atomics, Cu, CuError, CuObserver, CuPolicy, lds};

/// One issue slot.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Slot {
    /// Ready waves, in no order.
    pub ready: Vec<u16>,
    /// How many of them need the load-store unit.
    pub for_lsu: u16,
    /// Wave that issued last.
    pub last: Option<u16>,
    /// Tick from which each unit (alu, sfu, mem) takes the next operation.
    pub unit_free: [u64; 3],
}

impl Slot {
    /// No wave can issue, for none is ready or all need a load-store unit that has no room.
    pub fn waits(&self, lsu_room: bool) -> bool {
        self.ready.is_empty() || !lsu_room && usize::from(self.for_lsu) == self.ready.len()
    }
}

impl Cu {
    /// Issues in every slot that can. The slot after the one that filled the load-store unit last comes first, so that
    /// no slot is kept out of a full unit for ever. Returns whether anything issued.
    pub(super) fn issue(&mut self, now: u64, obs: &mut dyn CuObserver) -> Result<bool, CuError> {
        let count = self.s.slots.len();
        let first = self.s.lsu.first_slot;
        let mut issued = false;
        for k in 0..count {
            let slot = (first + k) % count;
            if let Some(at) = self.select(slot, now) {
                let this = &mut self.s.slots[slot];
                let wave = this.ready.swap_remove(at);
                this.for_lsu -= u16::from(self.s.waves[usize::from(wave)].need == Need::Lsu);
                self.issue_wave(wave, slot, now, obs)?;
                issued = true;
            }
        }
        self.s.counters.issue_ticks += u64::from(issued);
        Ok(issued)
    }

    /// Position in the ready list of the wave that issues.
    fn select(&self, slot: usize, now: u64) -> Option<usize> {
        let (this, waves) = (&self.s.slots[slot], self.s.waves.len() as u64);
        let lsu_room = self.lsu_room();
        if this.waits(lsu_room) {
            return None;
        }
        let mut best: Option<((bool, u64, u16), usize)> = None;
        for (at, &w) in this.ready.iter().enumerate() {
            let wave = &self.s.waves[usize::from(w)];
            let room = match wave.need {
                Need::None => true,
                Need::Unit(unit) => this.unit_free[usize::from(unit)] <= now,
                Need::Lsu => lsu_room,
            };
            if !room || wave.since > now {
                continue;
            }
            let starved = self.params.starve.is_some_and(|limit| now - wave.since >= u64::from(limit));
            let rank = match self.params.policy {
                _ if starved => wave.since,
                CuPolicy::Oldest => wave.age,
                CuPolicy::Gto if this.last == Some(w) => 0,
                CuPolicy::Gto => wave.age + 1,
                CuPolicy::RoundRobin => {
                    let last = this.last.map_or(waves - 1, u64::from);
                    (u64::from(w) + waves - 1 - last) % waves
                }
            };
            let key = (!starved, rank, w);
            if best.is_none_or(|(least, _)| key < least) {
                best = Some((key, at));
            }
        }
        best.map(|(_, at)| at)
    }

    /// Whether the load-store unit takes another operation.
    pub(super) fn lsu_room(&self) -> bool {
        self.s.lsu.queue.len() < self.params.lsu_depth as usize
    }

    fn issue_wave(&mut self, w: u16, slot: usize, now: u64, obs: &mut dyn CuObserver) -> Result<(), CuError> {
        self.s.slots[slot].last = Some(w);
        let wave = &mut self.s.waves[usize::from(w)];
        if wave.need == Need::Lsu {
            self.s.lsu.first_slot = (slot + 1) % self.s.slots.len();
        }
        match wave.next {
            Next::Head => return self.issue_head(w, slot, now, obs),
            Next::Release(scope) => {
                match wave.queue.last() {
                    Some(Op::Fence { sem, .. }) => {
                        let both = *sem == Sem::AcquireRelease;
                        wave.then_acquire = both.then_some(scope);
                        wave.fence = true;
                        self.issue_fence(w, 1 + u32::from(both), now, obs);
                    }
                    _ => (wave.released, wave.fence) = (true, false),
                }
                self.s.waves[usize::from(w)].releases(scope);
                self.push_sync(w, CuOp::Rel, scope);
            }
            Next::Acquire(scope) => {
                if !wave.closing {
                    wave.fence = true;
                    self.issue_fence(w, 1, now, obs);
                }
                self.s.waves[usize::from(w)].then_acquire = None;
                self.push_sync(w, CuOp::Acq, scope);
            }
        }
        self.settle(w, now + 1)
    }

    fn issue_head(&mut self, w: u16, slot: usize, now: u64, obs: &mut dyn CuObserver) -> Result<(), CuError> {
        if let Some(Op::Fence { .. }) = self.s.waves[usize::from(w)].queue.last() {
            self.issue_fence(w, 0, now, obs);
            return self.settle(w, now + 1);
        }
        let wave = &mut self.s.waves[usize::from(w)];
        let Some(op) = wave.queue.pop() else { return Ok(()) };
        let number = wave.pushed;
        obs.operation(&self.who(w), number, &op);
        let wave = &mut self.s.waves[usize::from(w)];
        match op {
            Op::Compute { unit, latency, occupancy, token, .. } => {
                let hold = if occupancy == 0 { self.occupancy } else { occupancy };
                self.s.slots[slot].unit_free[unit as usize] = now + u64::from(hold);
                if let Some(token) = token {
                    wave.set_due(token, now + u64::from(latency.max(1)));
                }
                self.count(&CounterOf::Compute);
            }
            Op::Await { .. } => {
                self.count(&CounterOf::Other);
                if self.params.refill > 0 {
                    self.sleep(w, now + 1 + u64::from(self.params.refill));
                    return Ok(());
                }
            }
            Op::Barrier => {
                self.count(&CounterOf::Barrier);
                wave_status(self, w, Status::Barrier);
                return self.arrive(w, now, obs);
            }
            Op::End => {
                self.count(&CounterOf::Other);
                return self.end_wave(w, slot, now, obs);
            }
            Op::Load { .. } | Op::Store { .. } | Op::Amo { .. } => self.issue_global(w, op, now)?,
            Op::LdsLoad { .. } | Op::LdsStore { .. } | Op::LdsAmo { .. } => self.issue_lds(w, op, now)?,
            Op::StashLoad { .. } | Op::StashStore { .. } => self.issue_stash(w, op, now)?,
            Op::Map { kind, map } => {
                self.count(&CounterOf::Map);
                self.issue_map(w, kind, map)?;
            }
            // Issued above.
            Op::Fence { .. } => {}
        }
        self.settle(w, now + 1)
    }

    /// The fence at the head leaves the queue; the L1 answers so many `parts` of it.
    fn issue_fence(&mut self, w: u16, parts: u32, now: u64, obs: &mut dyn CuObserver) {
        if let Some(Op::Fence { sem, scope }) = self.s.waves[usize::from(w)].queue.pop() {
            obs.fence(&self.who(w), (sem, scope), parts, self.params.pace.cycle(now));
        }
        self.count(&CounterOf::Fence);
    }

    /// Steps the program if the queue is empty, then asks what the wave waits for at tick `at`.
    pub(super) fn settle(&mut self, w: u16, at: u64) -> Result<(), CuError> {
        if self.s.waves[usize::from(w)].queue.is_empty() {
            self.step(w)?;
        }
        let wave = &mut self.s.waves[usize::from(w)];
        match wave.head(&self.s.lsu.ops, &self.mode, at) {
            Head::Ready(need, next) => {
                (wave.status, wave.need, wave.next, wave.since) = (Status::Ready, need, next, at);
                let slot = usize::from(w) % self.s.slots.len();
                self.s.slots[slot].ready.push(w);
                self.s.slots[slot].for_lsu += u16::from(need == Need::Lsu);
            }
            Head::At(tick) => self.sleep(w, tick),
            Head::Waiting(cause) => wave.status = Status::Waiting(cause),
        }
        Ok(())
    }

    /// The wave asks again at `tick`.
    pub(super) fn sleep(&mut self, w: u16, tick: u64) {
        self.s.waves[usize::from(w)].status = Status::Timed(tick);
        self.s.timers.push(std::cmp::Reverse((tick, w)));
    }

    /// The program's next operations.
    fn step(&mut self, w: u16) -> Result<(), CuError> {
        let wave = &mut self.s.waves[usize::from(w)];
        let mut ops = self.program.step(&mut wave.frame, &wave.values);
        let closes = |op: &Op| matches!(op, Op::Await { .. } | Op::Barrier | Op::End);
        let wrong = match ops.split_last() {
            None => Some("nothing".to_owned()),
            Some((last, _)) if !closes(last) => Some(format!("{last:?}")),
            Some((_, body)) => {
                body.iter().find(|op| matches!(op, Op::Barrier | Op::End)).map(|op| format!("{op:?}"))
            }
        };
        if let Some(found) = wrong {
            return Err(CuError::OpenStep { who: self.name(w), found });
        }
        ops.reverse();
        wave.queue = ops;
        Ok(())
    }

    pub(super) fn check_lanes(
        &self,
        w: u16,
        size: u8,
        addrs: &weft_workload::Addrs,
        mask: u64,
    ) -> Result<(), CuError> {
        let lanes = self.lanes;
        if mask & !full_mask(lanes) != 0 {
            return Err(CuError::Lanes { who: self.name(w), mask, lanes });
        }
        match unaligned(size, addrs, mask) {
            Some(addr) => Err(CuError::Unaligned { who: self.name(w), addr, size }),
            None => Ok(()),
        }
    }

    /// Refuses an atomic access that the L1 cannot perform.
    fn check_atomic(&self, w: u16, kind: MemKind, op: &Op) -> Result<(), CuError> {
        let Some((access, _)) = global(op) else { return Ok(()) };
        let (atomics, rmw) = (self.mode.atomics, kind == MemKind::Amo);
        if !rmw && self.mode.effective(access.class) == Class::D {
            return Ok(());
        }
        if let Err(legal) = atomics.takes(rmw, access.size) {
            return Err(CuError::AtomicSize { who: self.name(w), size: access.size, legal });
        }
        match op {
            Op::Amo { kind: AmoKind::Fadd32, .. } if atomics == Atomics::Words => {
                Err(CuError::NoFloat { who: self.name(w) })
            }
            _ => Ok(()),
        }
    }

    fn issue_global(&mut self, w: u16, op: Op, now: u64) -> Result<(), CuError> {
        let (kind, token, wanted) = match &op {
            Op::Load { token, .. } => (MemKind::Load, Some(*token), true),
            Op::Amo { token, ret, .. } => (MemKind::Amo, Some(*token), *ret),
            _ => (MemKind::Store, None, false),
        };
        let Some((access, _)) = global(&op) else { return Ok(()) };
        let class = self.mode.effective(access.class);
        self.count(&CounterOf::Global(kind, class));
        self.check_lanes(w, access.size, &access.addrs, access.mask)?;
        self.check_atomic(w, kind, &op)?;
        let values = vec![0; if wanted { self.lanes as usize } else { 0 }];
        let wave = &mut self.s.waves[usize::from(w)];
        wave.released = false;
        let mask = access.mask;
        if mask == 0 {
            if let Some(token) = token {
                wave.values.set(token, values);
                wave.set_due(token, now + 1);
            }
            return Ok(());
        }
        let scope = sent_scope(&self.mode, access.scope);
        if class == Class::P {
            let own = match kind {
                MemKind::Load => Sem::Acquire,
                MemKind::Store => Sem::Release,
                _ => Sem::AcquireRelease,
            };
            let sem = super::wave::paired_sem(access, own);
            let acquires =
                matches!(sem, Sem::Acquire | Sem::AcquireRelease) && scope != Scope::Cu && !self.mode.fused;
            wave.closing = true;
            (wave.then_acquire, wave.fence) = (acquires.then_some(scope), false);
        }
        if self.mode.posted && kind == MemKind::Store && matches!(class, Class::P | Class::U) {
            wave.posted = wave.posted.max(scope);
        }
        if let Some(token) = token {
            wave.set_due(token, PENDING);
        }
        let (low, high) = byte_range(access);
        let entry = MemOp {
            wave: w,
            kind,
            op,
            class,
            todo: mask,
            open: mask,
            unanswered: 0,
            low,
            high,
            values,
            scope,
            number: 0,
            src: 0,
            merged: false,
            blame: 0,
        };
        self.s.lsu.push(entry, wave);
        Ok(())
    }

    fn issue_lds(&mut self, w: u16, op: Op, now: u64) -> Result<(), CuError> {
        self.count(&CounterOf::Lds);
        let Some((access, _)) = lds::access_of(&op) else { return Ok(()) };
        self.check_lanes(w, access.size, &access.addrs, access.mask)?;
        let token = match &op {
            Op::LdsLoad { token, .. } | Op::LdsAmo { token, .. } => Some(*token),
            _ => None,
        };
        let block = usize::from(self.s.waves[usize::from(w)].block);
        let end = self.s.blocks[block].as_ref().map_or(0, |b| b.lds.len() as u64);
        let size = access.size;
        let beyond = |addr: &u64| addr.checked_add(u64::from(size)).is_none_or(|last| last > end);
        if let Some(addr) = super::mem_op::lanes_of(access.mask).map(|l| access.addrs.at(l)).find(beyond) {
            return Err(CuError::LdsRange { who: self.name(w), addr, size, end });
        }
        let values = vec![0; if token.is_some() { self.lanes as usize } else { 0 }];
        let wave = &mut self.s.waves[usize::from(w)];
        let mask = access.mask;
        if let Some(token) = token {
            wave.set_due(token, PENDING);
        }
        if mask == 0 {
            if let Some(token) = token {
                wave.values.set(token, values);
                wave.set_due(token, now + 1);
            }
            return Ok(());
        }
        let entry = MemOp {
            wave: w,
            kind: MemKind::Lds,
            op,
            class: Class::D,
            todo: mask,
            open: mask,
            unanswered: 0,
            low: 0,
            high: size_mask(0),
            values,
            scope: Scope::Cu,
            number: 0,
            src: 0,
            merged: false,
            blame: 0,
        };
        self.s.lsu.push(entry, wave);
        Ok(())
    }

    /// Sends a release or an acquire of a wave; nothing else of it issues before the acknowledgement.
    fn push_sync(&mut self, w: u16, op: CuOp, scope: Scope) {
        let kind = if op == CuOp::Rel { MemKind::Release } else { MemKind::Acquire };
        let fence = self.s.waves[usize::from(w)].fence;
        let entry = MemOp {
            wave: w,
            kind,
            // For counters only: what it belongs to.
            op: if fence { Op::Fence { sem: Sem::Relaxed, scope } } else { Op::End },
            class: Class::P,
            todo: 1,
            open: 1,
            unanswered: 0,
            low: u64::MAX,
            high: 0,
            values: Vec::new(),
            scope,
            number: 0,
            src: 0,
            merged: false,
            blame: 0,
        };
        let wave = &mut self.s.waves[usize::from(w)];
        wave.closing = true;
        self.s.lsu.push(entry, wave);
    }

    pub(super) fn count(&mut self, what: &CounterOf) {
        let c = &mut self.s.counters;
        c.instructions += 1;
        match what {
            CounterOf::Compute => c.computes += 1,
            CounterOf::Global(kind, class) => {
                let of = match kind {
                    MemKind::Load => &mut c.loads,
                    MemKind::Store => &mut c.stores,
                    _ => &mut c.amos,
                };
                of[*class as usize] += 1;
            }
            CounterOf::Fence => c.fences += 1,
            CounterOf::Lds => c.lds_ops += 1,
            CounterOf::Barrier => c.barriers += 1,
            CounterOf::Map => c.maps += 1,
            CounterOf::Other => {}
        }
    }
}

/// Counter of an issued operation.
pub(super) enum CounterOf {
    Compute,
    /// A load, store or atomic of an effective class.
    Global(MemKind, Class),
    Fence,
    Lds,
    Barrier,
    Map,
    Other,
}

fn wave_status(cu: &mut Cu, w: u16, status: Status) {
    cu.s.waves[usize::from(w)].status = status;
}

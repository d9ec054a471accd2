//! What changes while a design runs, and how units are clocked, put to sleep and woken.

use crate::clock::WRITTEN;
use crate::design::{Design, Sink};
use serde::{Deserialize, Serialize};
use weft_rtl::ir::ProbeKind;

/// A failed assertion.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Failure {
    /// Cycle in which the condition did not hold.
    pub cycle: u64,
    /// Unit and scope.
    pub path: String,
    /// Name of the assertion.
    pub name: String,
    /// What should have held.
    pub text: String,
    /// Source line.
    pub at: String,
}

/// What a unit's scheduling needs besides its state.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Schedule {
    /// Skipped since this cycle.
    pub asleep: Option<u64>,
    /// Cycles from one check to the next; doubles while the unit works.
    interval: u64,
    /// Cycles from waking to the first check: doubles after each short sleep, which saved less than its check
    /// cost, and halves after each long one.
    first: u64,
    /// What each counter gains per cycle while asleep.
    pub rate: Vec<u64>,
    /// Counters of assertions at the last failure reported.
    pub reported: Vec<u64>,
}

/// Longest time from one check of a working unit to the next, in cycles.
const LONGEST_INTERVAL: u64 = 32;

/// Shortest sleep that is worth its check, in cycles.
const WORTHWHILE: u64 = 8;

impl Schedule {
    fn new(probes: usize) -> Schedule {
        let none = vec![0; probes];
        Schedule { asleep: None, interval: 1, first: 0, rate: none.clone(), reported: none }
    }

    /// Something happens after a sleep of that many cycles.
    fn woke_up(&mut self, slept: u64) {
        self.interval = 1;
        self.first =
            if slept >= WORTHWHILE { self.first / 2 } else { (2 * self.first + 1).min(LONGEST_INTERVAL) };
    }

    /// Cycles until the next check of a unit that was found at work.
    pub fn next_interval(&mut self) -> u64 {
        self.interval = (2 * self.interval).min(LONGEST_INTERVAL);
        self.interval
    }
}

/// All that changes while a design runs.
#[derive(Serialize, Deserialize)]
pub(crate) struct Core {
    /// State of all units, one after the other.
    pub limbs: Vec<u64>,
    pub units: Vec<Schedule>,
    /// For each unit the next cycle in which it is checked whether it has anything left to do.
    pub watch: Vec<u64>,
    /// One bit per unit that is not asleep.
    pub active: Vec<u64>,
    pub cycle: u64,
    pub failures: Vec<Failure>,
}

/// Limbs of a page of memory.
const PAGE: usize = 512;

impl Clone for Core {
    /// Where there is nothing but zeros, as in memories that nobody has written, a copy touches no pages of its own,
    /// so that the one of a large fabric's first cycle takes little time and room.
    fn clone(&self) -> Core {
        let Core { limbs, units, watch, active, cycle, failures } = self;
        let mut copy = vec![0; limbs.len()];
        for (to, from) in copy.chunks_mut(PAGE).zip(limbs.chunks(PAGE)) {
            if from.iter().any(|limb| *limb != 0) {
                to.copy_from_slice(from);
            }
        }
        Core {
            limbs: copy,
            units: units.clone(),
            watch: watch.clone(),
            active: active.clone(),
            cycle: *cycle,
            failures: failures.clone(),
        }
    }
}

/// Most failures kept; later ones are only counted by their probes.
const FAILURES_KEPT: usize = 100;

impl Core {
    /// State before reset.
    pub fn new(design: &Design) -> Core {
        let units: Vec<Schedule> =
            design.units.iter().map(|u| Schedule::new(design.types[u.ty].netlist.probes.len())).collect();
        let mut active = vec![0u64; units.len().div_ceil(64)];
        (0..units.len()).for_each(|u| active[u / 64] |= 1 << (u % 64));
        let limbs = vec![0; design.bases.last().copied().unwrap_or(0)];
        let first = if design.options.sleep { 0 } else { u64::MAX };
        let watch = vec![first; units.len()];
        Core { limbs, units, watch, active, cycle: 0, failures: Vec::new() }
    }

    /// Gives every register that has one its reset value, and passes outputs on.
    pub fn reset_registers(&mut self, design: &Design) {
        for (u, unit) in design.units.iter().enumerate() {
            let ty = &design.types[unit.ty];
            let state = &mut self.limbs[design.bases[u]..design.bases[u + 1]];
            for (i, reg) in ty.netlist.regs.iter().enumerate() {
                if let Some(value) = &reg.reset {
                    state[ty.layout.regs[i]..][..value.limbs().len()].copy_from_slice(value.limbs());
                }
            }
            state.copy_within(0..ty.layout.buffered, ty.layout.copy);
        }
        (0..design.units.len()).for_each(|unit| self.disturb(design, unit));
        for (u, links) in design.links.iter().enumerate() {
            debug_assert!(
                links.list.iter().all(|l| (design.bases[u]..design.bases[u + 1]).contains(&l.from))
            );
            links.list.iter().for_each(|l| self.limbs.copy_within(l.from..l.from + l.limbs, l.sink.at));
        }
    }

    /// A unit's state was changed from outside: nothing of what it last did may be relied on.
    pub fn disturb(&mut self, design: &Design, unit: usize) {
        let layout = &design.types[design.units[unit].ty].layout;
        let (marks, base) = (&layout.marks, design.bases[unit]);
        self.limbs[base + marks.next..][..marks.words].fill(u64::MAX);
        self.limbs[base + layout.flags] |= WRITTEN;
        self.wake(design, unit);
    }

    /// An input has changed.
    #[inline]
    fn tell(&mut self, design: &Design, sink: Sink) {
        self.limbs[sink.heard] |= sink.mark;
        self.wake(design, sink.unit);
    }

    #[inline]
    pub fn drive(&mut self, design: &Design, sink: Sink, limbs: &[u64]) {
        if let [limb] = limbs {
            if self.limbs[sink.at] != *limb {
                self.limbs[sink.at] = *limb;
                self.tell(design, sink);
            }
            return;
        }
        if replace(&mut self.limbs[sink.at..][..limbs.len()], limbs) {
            self.tell(design, sink);
        }
    }

    #[inline]
    pub fn is_active(&self, unit: usize) -> bool {
        self.active[unit / 64] >> (unit % 64) & 1 == 1
    }

    #[inline]
    pub fn wake(&mut self, design: &Design, unit: usize) {
        if !self.is_active(unit) {
            self.awaken(design, unit);
        }
    }

    /// Ends a unit's sleep: its counters take what they gained meanwhile.
    #[inline(never)]
    pub fn awaken(&mut self, design: &Design, unit: usize) {
        let schedule = &mut self.units[unit];
        let since = schedule.asleep.take().expect("a unit that is not active sleeps");
        let probes = design.bases[unit] + design.types[design.units[unit].ty].layout.probes;
        let slept = self.cycle - since;
        for (i, rate) in schedule.rate.iter().enumerate().filter(|(_, rate)| **rate != 0) {
            self.limbs[probes + i] = self.limbs[probes + i].wrapping_add(rate.wrapping_mul(slept));
        }
        schedule.woke_up(slept);
        self.watch[unit] = self.cycle + schedule.first;
        self.active[unit / 64] |= 1 << (unit % 64);
    }

    /// Records which assertions of a unit failed in this cycle.
    #[cold]
    pub fn report(&mut self, design: &Design, unit: usize) {
        let ty = &design.types[design.units[unit].ty];
        let probes = design.bases[unit] + ty.layout.probes;
        for (i, info) in ty.netlist.probes.iter().enumerate().filter(|(_, p)| p.kind == ProbeKind::Assert) {
            let count = self.limbs[probes + i];
            if std::mem::replace(&mut self.units[unit].reported[i], count) == count
                || self.failures.len() >= FAILURES_KEPT
            {
                continue;
            }
            let parts = [design.units[unit].path.as_str(), info.scope.as_str()];
            let path = parts.iter().filter(|p| !p.is_empty()).copied().collect::<Vec<_>>().join(".");
            let (name, text, at) = (info.name.clone(), info.text.clone(), info.at.clone());
            self.failures.push(Failure { cycle: self.cycle, path, name, text, at });
        }
    }

    /// Copies the outputs whose flags are set to the units that read them.
    #[inline]
    pub fn copy_out(&mut self, design: &Design, unit: usize, flags: u64) {
        let links = &design.links[unit];
        let mut left = flags;
        while left != 0 {
            let flag = left.trailing_zeros();
            left &= left - 1;
            for link in links.of(flag) {
                if self.copy(link.from, link.sink.at, link.limbs) {
                    self.tell(design, link.sink);
                }
            }
        }
    }

    /// Copies what a unit shows to those that see it.
    pub fn show(&mut self, design: &Design, unit: usize) {
        for link in &design.links[unit].list {
            self.copy(link.from, link.sink.at, link.limbs);
            self.tell(design, link.sink);
        }
    }

    /// Copies limbs of the state; whether any changed.
    #[inline]
    fn copy(&mut self, from: usize, to: usize, limbs: usize) -> bool {
        let (low, high) = self.limbs.split_at_mut(from.max(to));
        if from < to {
            replace(&mut high[..limbs], &low[from..][..limbs])
        } else {
            replace(&mut low[to..][..limbs], &high[..limbs])
        }
    }
}

/// Puts limbs in the place of others; whether any changed. They are few, so nothing is gained by not writing.
#[inline]
pub(crate) fn replace(old: &mut [u64], new: &[u64]) -> bool {
    let mut differ = 0;
    for (old, new) in old.iter_mut().zip(new) {
        differ |= *old ^ new;
        *old = *new;
    }
    differ != 0
}

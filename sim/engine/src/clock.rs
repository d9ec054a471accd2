//! One clock edge for many units, on one thread or several.
//!
//! In a cycle a unit reads and writes only its own state, so units can be clocked in any order and side by
//! side. What they found goes into one word each; everything that crosses from unit to unit follows when all
//! have been clocked, always in the same order.

use crate::activity::Activity;
use crate::design::Design;
use crate::state::{Core, Schedule};

/// In a clock function's flags: a memory was written.
pub(crate) const WRITTEN: u64 = 1;

/// In a unit's word: it has fallen asleep. It takes the place of [`WRITTEN`].
pub(crate) const ASLEEP: u64 = 1;

/// In both: one of the unit's assertions failed.
pub(crate) const FAILED: u64 = 2;

/// Fewer awake units than this are clocked on one thread: to share them out would take longer.
const WORTH_SHARING: u32 = 16;

/// Room for one thread.
#[derive(Clone, Default)]
pub(crate) struct Room {
    /// For the interpreter, and before it for what a watched unit was.
    pub scratch: Vec<u64>,
    /// Units clocked in this cycle of which there is something to tell, in order, each with its word:
    /// [`ASLEEP`], the flag of a failed assertion, and the flags that have links.
    pub events: Vec<(u32, u64)>,
}

/// Neighbouring units, to be clocked on one thread.
struct Part<'a> {
    /// Number of the first one.
    first: usize,
    limbs: &'a mut [u64],
    units: &'a mut [Schedule],
    watch: &'a mut [u64],
}

/// What all threads read.
#[derive(Clone, Copy)]
struct Shared<'a> {
    design: &'a Design,
    active: &'a [u64],
    cycle: u64,
}

/// Clocks every active unit, on as many threads as there are `rooms`; their events, one room after the other,
/// tell in unit order what came of it.
#[inline]
pub(crate) fn clock(design: &Design, core: &mut Core, rooms: &mut [Room]) {
    let Core { limbs, units, watch, active, cycle, .. } = core;
    let shared = Shared { design, active, cycle: *cycle };
    let whole = Part { first: 0, limbs, units, watch };
    rooms.iter_mut().for_each(|room| room.events.clear());
    let few = || active.iter().map(|w| w.count_ones()).sum::<u32>() < WORTH_SHARING;
    if rooms.len() == 1 || few() { whole.clock(shared, &mut rooms[0]) } else { whole.share(shared, rooms) }
}

impl<'a> Part<'a> {
    /// Clocks the units on a thread per room.
    #[inline(never)]
    fn share(self, shared: Shared, rooms: &mut [Room]) {
        if let [room] = rooms {
            return self.clock(shared, room);
        }
        let (of, low_share) = (rooms.len(), rooms.len() / 2);
        let (low_rooms, high_rooms) = rooms.split_at_mut(low_share);
        let (low, high) = self.split(shared, low_share as u64, of as u64);
        rayon::join(|| low.share(shared, low_rooms), || high.share(shared, high_rooms));
    }

    /// Splits off units with `share` of `of` parts of the active units' work.
    fn split(self, shared: Shared, share: u64, of: u64) -> (Part<'a>, Part<'a>) {
        let (first, end) = (self.first, self.first + self.units.len());
        let work = |unit: &usize| u64::from(shared.design.calls[*unit].work);
        let active = || (first..end).filter(|unit| shared.active[unit / 64] >> (unit % 64) & 1 == 1);
        let wanted = active().map(|unit| work(&unit)).sum::<u64>() * share / of;
        let mut sum = 0;
        let at = active()
            .find(|unit| {
                sum += work(unit);
                sum > wanted
            })
            .unwrap_or(end);
        let cut = at - first;
        let limb = shared.design.bases[at] - shared.design.bases[first];
        let (limbs, limbs2) = self.limbs.split_at_mut(limb);
        let (units, units2) = self.units.split_at_mut(cut);
        let (watch, watch2) = self.watch.split_at_mut(cut);
        let low = Part { first, limbs, units, watch };
        let high = Part { first: at, limbs: limbs2, units: units2, watch: watch2 };
        (low, high)
    }

    #[inline]
    fn clock(self, shared: Shared, room: &mut Room) {
        let Shared { design, active, cycle } = shared;
        let (first, end) = (self.first, self.first + self.units.len());
        let origin = design.bases[first];
        for (word, active) in active.iter().enumerate().take(end.div_ceil(64)).skip(first / 64) {
            let mut bits = *active;
            while bits != 0 {
                let unit = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                if !(first..end).contains(&unit) {
                    continue;
                }
                let call = &design.calls[unit];
                let state = &mut self.limbs[call.base - origin..call.end - origin];
                let place = unit - first;
                Activity::unit(call.ty).begin();
                let word = if cycle < self.watch[place] {
                    match &call.native {
                        Some(native) => native.clock(state) & !WRITTEN,
                        None => design.types[call.ty].interpret(state, &mut room.scratch) & !WRITTEN,
                    }
                } else {
                    let (schedule, watch) = (&mut self.units[place], &mut self.watch[place]);
                    look(shared, unit, state, schedule, watch, &mut room.scratch)
                };
                let word = word & (call.mask | ASLEEP | FAILED);
                if word != 0 {
                    room.events.push((unit as u32, word));
                }
            }
        }
    }
}

/// Clocks one unit and lets it sleep when the cycle changed no register and wrote no memory: as long as its
/// inputs stay, every further cycle would do the same, and add the same to the counters.
#[inline(never)]
fn look(
    shared: Shared,
    unit: usize,
    state: &mut [u64],
    schedule: &mut Schedule,
    watch: &mut u64,
    scratch: &mut [u64],
) -> u64 {
    let ty = &shared.design.types[shared.design.calls[unit].ty];
    let (regs, watched) = (ty.layout.probes, ty.layout.probes + ty.netlist.probes.len());
    let (before, scratch) = scratch.split_at_mut(watched);
    before.copy_from_slice(&state[..watched]);
    let flags = ty.clock(state, scratch);
    Activity::LOOK.begin();
    if flags & WRITTEN == 0 && state[..regs] == before[..regs] {
        let gained =
            state[regs..watched].iter().zip(&before[regs..]).map(|(now, old)| now.wrapping_sub(*old));
        schedule.rate.iter_mut().zip(gained).for_each(|(rate, gained)| *rate = gained);
        schedule.asleep = Some(shared.cycle + 1);
        return flags | ASLEEP;
    }
    *watch = shared.cycle + schedule.next_interval();
    flags & !WRITTEN
}

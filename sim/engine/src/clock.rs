//! One clock edge for many units, on one thread or several.
//!
//! In a cycle a unit reads and writes only its own state, so units can be clocked in any order and side by side. What they found goes into one word each;
//! everything that crosses from unit to unit follows when all have been clocked, always in the same order.

use crate::design::Design;
use crate::state::{Core, Schedule};

/// In a unit's word: it has fallen asleep. (In a clock function's flags the bit says that a memory was written.)
pub(crate) const ASLEEP: u64 = 1;

/// Longest time from one check of a working unit to the next, in cycles.
const LONGEST_INTERVAL: u64 = 32;

/// Fewer awake units than this are clocked on one thread: to share them out would take longer.
const WORTH_SHARING: u32 = 16;

/// Room for one thread.
pub(crate) type Scratch = Vec<u64>;

/// Neighbouring units, to be clocked on one thread.
struct Part<'a> {
    /// Number of the first one.
    first: usize,
    limbs: &'a mut [u64],
    units: &'a mut [Schedule],
    watch: &'a mut [u64],
    words: &'a mut [u64],
    scratch: &'a mut Scratch,
}

/// What all threads read.
#[derive(Clone, Copy)]
struct Shared<'a> {
    design: &'a Design,
    active: &'a [u64],
    cycle: u64,
}

/// Clocks every active unit, on as many threads as there is `scratch` for; each unit's word tells what came of it.
pub(crate) fn clock(design: &Design, core: &mut Core, words: &mut [u64], scratch: &mut [Scratch]) {
    let Core { limbs, units, watch, active, cycle, .. } = core;
    let shared = Shared { design, active, cycle: *cycle };
    let few = || active.iter().map(|w| w.count_ones()).sum::<u32>() < WORTH_SHARING;
    let (own, more) = scratch.split_first_mut().expect("there is scratch for one thread at least");
    let whole = Part { first: 0, limbs, units, watch, words, scratch: own };
    if more.is_empty() || few() {
        return whole.clock(shared);
    }
    whole.share(shared, more);
}

impl<'a> Part<'a> {
    /// Hands half of the work to another thread for each further scratch.
    fn share(self, shared: Shared, scratch: &'a mut [Scratch]) {
        let Some((other, rest)) = scratch.split_first_mut() else {
            return self.clock(shared);
        };
        let threads = rest.len() as u64 + 2;
        let (low, high) = self.split(shared, threads / 2, threads, other);
        let (left, right) = rest.split_at_mut((threads / 2) as usize - 1);
        rayon::join(|| low.share(shared, left), || high.share(shared, right));
    }

    /// Splits off units with `share` of `of` parts of the active units' work.
    fn split(self, shared: Shared, share: u64, of: u64, scratch: &'a mut Scratch) -> (Part<'a>, Part<'a>) {
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
        let (words, words2) = self.words.split_at_mut(cut);
        let low = Part { first, limbs, units, watch, words, scratch: self.scratch };
        let high = Part { first: at, limbs: limbs2, units: units2, watch: watch2, words: words2, scratch };
        (low, high)
    }

    fn clock(self, shared: Shared) {
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
                self.words[place] = if cycle < self.watch[place] {
                    match &call.native {
                        Some(native) => native.clock(state) & !ASLEEP,
                        None => design.types[call.ty].interpret(state, self.scratch) & !ASLEEP,
                    }
                } else {
                    look(shared, unit, state, &mut self.units[place], &mut self.watch[place], self.scratch)
                };
            }
        }
    }
}

/// Clocks one unit and lets it sleep when the cycle changed no register and wrote no memory: as long as its inputs stay, every further cycle would do the
/// same, and add the same to the counters.
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
    if flags & 1 == 0 && state[..regs] == before[..regs] {
        let gained =
            state[regs..watched].iter().zip(&before[regs..]).map(|(now, old)| now.wrapping_sub(*old));
        schedule.rate.iter_mut().zip(gained).for_each(|(rate, gained)| *rate = gained);
        schedule.asleep = Some(shared.cycle + 1);
        return flags | ASLEEP;
    }
    schedule.interval = (2 * schedule.interval).min(LONGEST_INTERVAL);
    *watch = shared.cycle + schedule.interval;
    flags & !ASLEEP
}

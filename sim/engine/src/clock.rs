//! One clock edge for the units of a part.
//!
//! In a cycle a unit reads and writes only its own state, so units can be clocked in any order, and parts side
//! by side. What they found goes into one word each; everything that crosses from unit to unit follows when all
//! of the part have been clocked. Units that hear other parts are clocked last, so that those may be late.

use crate::activity::Activity;
use crate::cut::Wiring;
use crate::design::Design;
use crate::flags::{ASLEEP, FAILED, WRITTEN};
use crate::links::Call;
use crate::part::Part;
use crate::state::{Core, Schedule};

impl Part {
    /// Clocks every active unit that hears no other part (`inner`), or every other one; the events tell what
    /// came of it.
    #[inline]
    pub(crate) fn clock(&mut self, inner: bool) {
        let Part { design, cut, number, core, scratch, events, .. } = self;
        let Core { limbs, units, watch, active, cycle } = core;
        let Wiring { calls, inner: mask, .. } = &cut.parts[*number];
        let other = if inner { 0 } else { u64::MAX };
        let note = Activity::note();
        for (word, (active, mask)) in active.iter().zip(mask).enumerate() {
            let mut bits = active & (mask ^ other);
            while bits != 0 {
                let unit = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let call = &calls[unit];
                let state = &mut limbs[call.base..call.end];
                note.unit(call.ty);
                let word = if *cycle < watch[unit] {
                    match &call.native {
                        Some(native) => native.clock(state) & !WRITTEN,
                        None => design.types[call.ty].interpret(state, scratch) & !WRITTEN,
                    }
                } else {
                    look(design, call, *cycle, state, &mut units[unit], &mut watch[unit], scratch)
                };
                let word = word & (call.mask | ASLEEP | FAILED);
                if word != 0 {
                    events.push((unit as u32, word));
                }
            }
        }
    }
}

/// Clocks one unit and lets it sleep when the cycle changed no register and wrote no memory: as long as its
/// inputs stay, every further cycle would do the same, and add the same to the counters.
#[inline(never)]
fn look(
    design: &Design,
    call: &Call,
    cycle: u64,
    state: &mut [u64],
    schedule: &mut Schedule,
    watch: &mut u64,
    scratch: &mut [u64],
) -> u64 {
    let ty = &design.types[call.ty];
    let (regs, watched) = (ty.layout.probes, ty.layout.probes + ty.netlist.probes.len());
    let (before, scratch) = scratch.split_at_mut(watched);
    before.copy_from_slice(&state[..watched]);
    let flags = ty.clock(state, scratch);
    Activity::LOOK.begin();
    if flags & WRITTEN == 0 && state[..regs] == before[..regs] {
        let gained =
            state[regs..watched].iter().zip(&before[regs..]).map(|(now, old)| now.wrapping_sub(*old));
        schedule.rate.iter_mut().zip(gained).for_each(|(rate, gained)| *rate = gained);
        schedule.asleep = Some(cycle + 1);
        return flags | ASLEEP;
    }
    *watch = cycle + schedule.next_interval();
    flags & !WRITTEN
}

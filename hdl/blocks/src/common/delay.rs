//! Delay of single events.

use weft_rtl::prelude::*;

/// A pulse, `cycles` (1 or more) later: a row of registers called NAME, one bit per cycle, still while no pulse is under way.
#[track_caller]
pub fn delayed(name: &str, pulse: Bool, cycles: u32) -> Bool {
    let line = reg::<Bits>(name, cycles).field("queue");
    let next =
        if cycles == 1 { pulse.bits() } else { pack(&[pulse.bits(), line.get().slice(0, cycles - 1)]) };
    line.set(next);
    line.get().bit(cycles - 1)
}

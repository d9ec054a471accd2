//! Parts of a simulation that another process clocks.
//!
//! ```text
//!  process 0:  part 0   part 1 (a shell)        letters go by whoever calls Part::letter_to, Part::deliver;
//!  process 1:  part 0 (a shell)   part 1        states by Part::changes, Part::change
//! ```
//!
//! All processes have the same design, cut in the same way. Of a part that another one clocks a process has a
//! shell: its state when processes last agreed on it.

use crate::part::Part;
use crate::sim::Sim;
use crate::state::{Core, Failure, Schedule};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// How the state of a part differs from what it was.
#[derive(Serialize, Deserialize)]
struct Changes {
    cycle: u64,
    /// Runs of limbs: the number of the first, and how many.
    spans: Vec<(u32, u32)>,
    /// Those of all runs, little-endian.
    #[serde(with = "serde_bytes")]
    limbs: Vec<u8>,
    units: Vec<(u32, Schedule, u64)>,
    active: Vec<u64>,
}

/// Limbs that are compared at once.
const PIECE: usize = 256;

/// Limbs that are alike between two runs that become one.
const GAP: usize = 4;

/// Runs in which two states differ: first limbs and ends.
fn runs(old: &[u64], new: &[u64]) -> Vec<(usize, usize)> {
    let mut spans: Vec<(usize, usize)> = Vec::new();
    for (number, (old, new)) in old.chunks(PIECE).zip(new.chunks(PIECE)).enumerate() {
        if old == new {
            continue;
        }
        let differ = old.iter().zip(new).enumerate().filter(|(_, (old, new))| old != new);
        for at in differ.map(|(at, _)| number * PIECE + at) {
            match spans.last_mut().filter(|(_, end)| at <= *end + GAP) {
                Some((_, end)) => *end = at + 1,
                None => spans.push((at, at + 1)),
            }
        }
    }
    spans
}

/// Why bytes are no changes of a part.
const DAMAGED: &str = "what another process sends is the state of a part";

impl Part {
    /// Its number.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Something crosses from here to another part.
    pub fn reaches(&self, part: usize) -> bool {
        self.mouths.iter().any(|mouth| mouth.to as usize == part)
    }

    /// Appends what crosses to a part of another process in the cycle that has just ended.
    #[inline]
    pub fn letter_to(&mut self, part: usize, letter: &mut Vec<u64>) {
        letter.append(&mut self.outbox[part]);
    }

    /// A letter of a part of another process has come, to be read at the begin of a cycle. Parts that it does
    /// not hear send none that matter.
    #[inline]
    pub fn deliver(&mut self, from: usize, cycle: u64, text: &[u64]) {
        if self.ears.iter().any(|ear| ear.from as usize == from) {
            self.far.inbox[from].push_back((cycle, text.to_vec()));
        }
    }

    /// Takes down where a part is that another process clocks, and what has failed there.
    pub fn stand(&mut self, cycle: u64, failed: Vec<(u32, Failure)>) {
        (self.core.cycle, self.failed) = (cycle, failed);
    }

    /// Assertions that failed in the last cycle, by number of the unit in the design.
    pub fn failed(&self) -> &[(u32, Failure)] {
        &self.failed
    }

    /// Processes agree on the present state.
    pub fn agree(&mut self) {
        self.far.agreed = Some(Box::new(self.core.clone()));
    }

    /// How the state differs from the one on which processes agree, as bytes; then they agree on it.
    ///
    /// # Panics
    /// When they have agreed on none: [`Part::agree`].
    pub fn changes(&mut self) -> Vec<u8> {
        let (core, agreed) =
            (&self.core, self.far.agreed.as_mut().expect("processes have agreed on a state"));
        let runs = runs(&agreed.limbs, &core.limbs);
        let spans = runs.iter().map(|(first, end)| (*first as u32, (end - first) as u32)).collect();
        let limbs = runs.iter().flat_map(|(first, end)| &core.limbs[*first..*end]);
        let limbs = limbs.flat_map(|limb| limb.to_le_bytes()).collect();
        let units = core.units.iter().zip(&core.watch).zip(agreed.units.iter().zip(&agreed.watch));
        let units = units.enumerate().filter(|(_, (new, old))| new != old);
        let units = units.map(|(number, ((unit, watch), _))| (number as u32, unit.clone(), *watch)).collect();
        let changes = Changes { cycle: core.cycle, spans, limbs, units, active: core.active.clone() };
        changes.make(agreed);
        postcard::to_stdvec(&changes).expect("plain data serialises")
    }

    /// Makes the changes of a part that another process has clocked; then they agree on it.
    ///
    /// # Panics
    /// On other bytes, or when they have agreed on no state: [`Part::agree`].
    pub fn change(&mut self, bytes: &[u8]) {
        let changes: Changes = postcard::from_bytes(bytes).expect(DAMAGED);
        changes.make(self.far.agreed.as_mut().expect("processes have agreed on a state"));
        changes.make(&mut self.core);
    }
}

impl Changes {
    fn make(&self, core: &mut Core) {
        let (mut limbs, _) = self.limbs.as_chunks::<8>();
        for (first, count) in &self.spans {
            let (run, rest) = limbs.split_at(*count as usize);
            let to = &mut core.limbs[*first as usize..][..run.len()];
            to.iter_mut().zip(run).for_each(|(to, limb)| *to = u64::from_le_bytes(*limb));
            limbs = rest;
        }
        for (unit, schedule, watch) in &self.units {
            core.units[*unit as usize] = schedule.clone();
            core.watch[*unit as usize] = *watch;
        }
        core.active.copy_from_slice(&self.active);
        core.cycle = self.cycle;
    }
}

impl Sim {
    /// From now on only parts that are its `own` are clocked in this process. All have heard what was sent to
    /// them ([`Sim::settle`]).
    ///
    /// # Panics
    /// When parts are in different cycles.
    pub fn part_ways(&mut self, own: &dyn Fn(usize) -> bool) {
        self.set_far(&|part| !own(part));
    }

    /// From now on all parts are clocked in this process again; the states of those that were not are here.
    ///
    /// # Panics
    /// When parts are in different cycles, or one has not heard what was sent to it.
    pub fn come_together(&mut self) {
        self.own_parts().for_each(Part::hear_all);
        self.set_far(&|_| false);
    }

    /// The parts that are clocked in this process.
    pub fn own_parts(&mut self) -> impl Iterator<Item = &mut Part> {
        self.parts.iter_mut().filter(|part| !part.far.shell)
    }

    /// Which parts other processes clock; nothing is on its way.
    pub(crate) fn set_far(&mut self, far: &dyn Fn(usize) -> bool) {
        let cycle = self.cycle();
        for part in self.parts.iter_mut() {
            assert_eq!(part.cycle(), cycle, "all parts are in the same cycle when processes share them");
            part.ears.iter_mut().for_each(|ear| ear.far = far(ear.from as usize));
            part.mouths.iter_mut().for_each(|mouth| mouth.far = far(mouth.to as usize));
            part.far.shell = far(part.number);
            part.far.inbox.resize(part.cut.parts.len(), VecDeque::new());
        }
        self.forget();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_tell_all_differences(
            old in prop::collection::vec(0u64..2, 1..1500),
            changed in prop::collection::vec((any::<prop::sample::Index>(), 0u64..3), 0..40),
        ) {
            let mut new = old.clone();
            changed.iter().for_each(|(at, limb)| new[at.index(old.len())] = *limb);
            let mut made = old.clone();
            let runs = runs(&old, &new);
            for (first, end) in &runs {
                made[*first..*end].copy_from_slice(&new[*first..*end]);
            }
            prop_assert_eq!(made, new.clone());
            prop_assert!(old != new || runs.is_empty());
        }
    }
}

//! Why a wave does not issue: the classes of stall inspection (section 3), read by an observer.

use super::wave::{Need, Status, Wait};
use super::{Cu, LineAccess, Who};

/// Class of the head operation of a wave (section 3, step 1). A wave slot without a wave has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// The next operation is not available: dispatch, refill after a branch.
    Control,
    /// A pending acquire, release, fence or barrier, or the order of paired and unpaired accesses.
    Synchronization,
    /// A needed token belongs to an unanswered load or atomic; also an unanswered access to the same word.
    MemoryData,
    /// The load-store unit cannot take the operation.
    MemoryStructural,
    /// A needed token belongs to an unfinished compute operation.
    ComputeData,
    /// The unit is occupied.
    ComputeStructural,
    /// It can issue.
    NoStall,
}

impl Cu {
    /// Class of the wave in slot `slot` as the tick of cycle `now` begins, after that cycle's acceptance and answers; `None` for a
    /// free or unknown slot.
    pub fn cause(&self, slot: u32, now: u64) -> Option<Cause> {
        let wave = self.s.waves.get(slot as usize)?;
        let now = self.params.pace.tick(now);
        Some(match wave.status {
            Status::Free => return None,
            Status::Timed(_) if wave.queue.is_empty() => Cause::Control,
            Status::Timed(_) => Cause::ComputeData,
            Status::Waiting(Wait::Order) | Status::Barrier => Cause::Synchronization,
            Status::Waiting(Wait::Data | Wait::Word) => Cause::MemoryData,
            Status::Ready => {
                let free = &self.s.slots[slot as usize % self.s.slots.len()].unit_free;
                match wave.need {
                    Need::Lsu if !self.lsu_room() => Cause::MemoryStructural,
                    Need::Unit(unit) if free[usize::from(unit)] > now => Cause::ComputeStructural,
                    _ => Cause::NoStall,
                }
            }
        })
    }

    /// The wave resident in slot `slot`, if any.
    pub fn wave_at(&self, slot: u32) -> Option<Who> {
        let wave = self.s.waves.get(slot as usize)?;
        (wave.status != Status::Free).then(|| self.who(slot as u16))
    }

    /// Accesses offered to the L1 or taken by it and not answered, by transaction number: the access, its wave (none for
    /// kernel begin and end) and the cycle in which the L1 took it.
    pub fn open_accesses(&self) -> impl Iterator<Item = (&LineAccess, Option<Who>, Option<u64>)> {
        let flights = &self.s.lsu.flights;
        let open = flights
            .pending
            .iter()
            .filter(|entry| entry.taken.is_some() || flights.out.contains(&entry.access.id));
        open.map(|entry| {
            let who = entry.op.map(|index| self.who(self.s.lsu.ops[index as usize].wave));
            (&entry.access, who, entry.taken)
        })
    }
}

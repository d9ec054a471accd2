//! What is resident and under way in a compute unit, for observers.

use super::wave::Status;
use super::{Cu, LineAccess, Who};

impl Cu {
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

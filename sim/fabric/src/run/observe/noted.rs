//! What compute units and memories do, noted to be told later: when several threads go through cycles,
//! observers hear of them in the order in which one thread would have told it.

use super::{Observe, Observer, home};
use crate::cu::{CuObserver, Issuer, LineAccess, LineReply, Who};
use crate::family::Transfer;
use crate::run::fence::Fence;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::ops::Range;
use weft_engine::runner::Problem;

/// Something that an observer is told.
#[derive(Serialize, Deserialize)]
enum Event {
    Load { who: Who, line: u64, mask: u128, data: [u64; 16], issued: u64, done: u64 },
    Served { who: Who, access: LineAccess, src: u8, merged: bool },
    Store { who: Who, line: u64, mask: u128, data: [u64; 16], now: u64 },
    Amo { who: Who, access: LineAccess, old: [u64; 16], issued: u64, done: u64 },
    Barrier { who: Who, now: u64 },
    Request { now: u64, at: (u32, u32), access: LineAccess, issuer: Option<Issuer> },
    Answer { now: u64, at: (u32, u32), reply: LineReply, time: Option<u64> },
    HostRequest { now: u64, at: (u32, u32), access: LineAccess },
    HostAnswer { now: u64, at: (u32, u32), reply: LineReply },
    Fence { now: u64, node: u32, start: bool, seq: u8, fence: Fence },
    Synchronised { at: (u32, u32), acquire: bool, scope: u8, span: (u64, u64) },
    StashRequest { now: u64, at: (u32, u32), access: LineAccess },
    StashAnswer { now: u64, at: (u32, u32), reply: LineReply },
    Other { now: u64 },
}

/// What observers are told later, in order.
#[derive(Default, Serialize, Deserialize)]
pub(in crate::run) struct Noted {
    events: VecDeque<Event>,
    /// Cycles with events, and how many.
    cycles: VecDeque<(u64, usize)>,
    /// The present cycle.
    pub now: u64,
    /// Checks hear of the ports.
    pub checked: bool,
    /// The last cycle in which something happened at the ports.
    moved: Option<u64>,
}

impl Noted {
    /// Cycle `now` begins; `checked`: checks hear of the ports.
    pub fn listen(&mut self, now: u64, checked: bool) {
        (self.now, self.checked) = (now, checked);
    }

    fn note(&mut self, event: Event) {
        match self.cycles.back_mut() {
            Some((cycle, count)) if *cycle == self.now => *count += 1,
            _ => self.cycles.push_back((self.now, 1)),
        }
        self.events.push_back(event);
    }

    /// Notes something that happens at a port, if checks hear of it.
    fn at_port(&mut self, event: impl FnOnce() -> Event) {
        if self.checked {
            self.moved = Some(self.now);
            self.note(event());
        }
    }

    /// What was noted in a cycle, the last one, goes to another list.
    fn carry(&mut self, cycle: u64, to: &mut Noted) {
        if let Some((_, count)) = self.cycles.pop_back_if(|(noted, _)| *noted == cycle) {
            to.cycles.push_back((cycle, count));
            to.events.extend(self.events.drain(self.events.len() - count..));
            to.moved = self.moved.take();
        }
    }

    /// Adds what was noted later, elsewhere.
    fn add(&mut self, mut later: Noted) {
        if let (Some((cycle, count)), Some((first, more))) = (self.cycles.back_mut(), later.cycles.front())
            && cycle == first
        {
            *count += more;
            later.cycles.pop_front();
        }
        self.cycles.append(&mut later.cycles);
        self.events.append(&mut later.events);
        self.moved = self.moved.max(later.moved);
    }

    /// Tells what was noted up to the end of a cycle, and forgets it.
    fn tell(&mut self, cycle: u64, to: &mut Observer) {
        while let Some((_, count)) = self.cycles.pop_front_if(|(noted, _)| *noted <= cycle) {
            self.events.drain(..count).for_each(|event| event.tell(to));
        }
    }
}

/// What is noted in one part of the simulation.
#[derive(Default, Serialize, Deserialize)]
pub(in crate::run) struct PartNotes {
    /// Before compute units act.
    pub fences: Noted,
    pub units: Noted,
    /// Each with its cycle.
    transfers: VecDeque<(u64, Transfer)>,
}

impl PartNotes {
    /// Cycle `now` begins; `checked`: checks hear of the ports.
    #[inline]
    pub fn listen(&mut self, now: u64, checked: bool) {
        self.fences.listen(now, checked);
        self.units.listen(now, checked);
    }

    /// Transfers at the memory channels in the present cycle.
    #[inline]
    pub fn memory(&mut self, transfers: &[Transfer]) {
        if self.units.checked {
            self.transfers.extend(transfers.iter().map(|transfer| (self.units.now, *transfer)));
        }
    }

    /// Adds what was noted later, elsewhere.
    pub fn add(&mut self, later: PartNotes) {
        self.fences.add(later.fences);
        self.units.add(later.units);
        self.transfers.extend(later.transfers);
    }

    fn moved(&self) -> Option<u64> {
        let transfer = self.transfers.back().map(|(cycle, _)| *cycle);
        self.fences.moved.max(self.units.moved).max(transfer)
    }
}

/// What some cycles have to tell, when they were gone through side by side.
#[derive(Default)]
pub(in crate::run) struct Notes {
    /// By part of the simulation.
    pub parts: Vec<PartNotes>,
    /// Parts with compute units, in the order of those.
    pub order: Vec<usize>,
    /// Cycles that are over and not told.
    pub cycles: Range<u64>,
}

impl Clone for Notes {
    /// Nothing is cloned before all is told.
    fn clone(&self) -> Notes {
        assert!(self.cycles.is_empty(), "a cycle is not told when a model is cloned");
        Notes::new(self.parts.len(), self.order.clone())
    }
}

impl Notes {
    /// Of so many parts, with compute units in these.
    pub fn new(parts: usize, order: Vec<usize>) -> Notes {
        let parts = (0..parts).map(|_| PartNotes::default()).collect();
        Notes { parts, order, cycles: 0..0 }
    }

    /// The last cycle in which something happened at the ports, as far as it is not told.
    pub fn moved(&self) -> Option<u64> {
        self.parts.iter().filter_map(PartNotes::moved).max()
    }

    /// What fences have done in the last cycle, which is not over, goes to where its other notes will be.
    pub fn carry_fences(&mut self, cycle: u64, to: &mut Notes) {
        for (part, to) in self.parts.iter_mut().zip(&mut to.parts) {
            part.fences.carry(cycle, &mut to.fences);
        }
    }

    /// Tells what fences and compute units have done up to the end of a cycle.
    pub fn tell_units(&mut self, cycle: u64, to: &mut Observer) {
        for part in &self.order {
            self.parts[*part].fences.tell(cycle, to);
        }
        for part in &self.order {
            self.parts[*part].units.tell(cycle, to);
        }
    }

    /// Tells the first cycle that is not told, and what is wrong in it; false if there is none.
    ///
    /// # Errors
    /// A problem of that cycle.
    pub fn tell_one(
        &mut self,
        channel_of: &dyn Fn(u64) -> usize,
        to: &mut Observer,
    ) -> Result<bool, Problem> {
        let Some(cycle) = self.cycles.next() else { return Ok(false) };
        self.tell_units(cycle, to);
        let mut transfers: Vec<Transfer> = Vec::new();
        for part in &mut self.parts {
            while let Some((_, transfer)) = part.transfers.pop_front_if(|(noted, _)| *noted <= cycle) {
                transfers.push(transfer);
            }
        }
        transfers.sort_by_key(Transfer::channel);
        for transfer in transfers {
            to.transfer(cycle, &transfer, home(&transfer, channel_of));
        }
        to.judge().map_err(|problem| Problem { at: Some(cycle), ..problem })?;
        if self.cycles.is_empty() {
            self.forget();
        }
        Ok(true)
    }

    /// Everything is told.
    fn forget(&mut self) {
        for part in &mut self.parts {
            (part.fences.moved, part.units.moved) = (None, None);
        }
    }
}

impl Event {
    fn tell(self, to: &mut Observer) {
        match self {
            Event::Load { who, line, mask, data, issued, done } => {
                CuObserver::load(to, &who, line, mask, &data, issued, done);
            }
            Event::Served { who, access, src, merged } => to.served(&who, &access, src, merged),
            Event::Store { who, line, mask, data, now } => {
                CuObserver::store(to, &who, line, mask, &data, now);
            }
            Event::Amo { who, access, old, issued, done } => {
                CuObserver::amo(to, &who, &access, &old, issued, done);
            }
            Event::Barrier { who, now } => CuObserver::barrier(to, &who, now),
            Event::Request { now, at, access, issuer } => to.request(now, at, &access, issuer.as_ref()),
            Event::Answer { now, at, reply, time } => to.answer(now, at, &reply, time),
            Event::HostRequest { now, at, access } => to.host_request(now, at, &access),
            Event::HostAnswer { now, at, reply } => to.host_answer(now, at, &reply),
            Event::Fence { now, node, start, seq, fence } => {
                Observe::fence(to, now, node, start, seq, fence);
            }
            Event::Synchronised { at, acquire, scope, span } => to.synchronised(at, acquire, scope, span),
            Event::StashRequest { now, at, access } => to.stash_request(now, at, &access),
            Event::StashAnswer { now, at, reply } => to.stash_answer(now, at, &reply),
            Event::Other { now } => to.other_transfer(now),
        }
    }
}

impl Observe for Noted {
    fn checks(&self) -> bool {
        self.checked
    }

    fn request(&mut self, now: u64, at: (u32, u32), access: &LineAccess, issuer: Option<&Issuer>) {
        self.at_port(|| Event::Request { now, at, access: access.clone(), issuer: issuer.copied() });
    }

    fn answer(&mut self, now: u64, at: (u32, u32), reply: &LineReply, time: Option<u64>) {
        self.at_port(|| Event::Answer { now, at, reply: reply.clone(), time });
    }

    fn host_request(&mut self, now: u64, at: (u32, u32), access: &LineAccess) {
        self.at_port(|| Event::HostRequest { now, at, access: access.clone() });
    }

    fn host_answer(&mut self, now: u64, at: (u32, u32), reply: &LineReply) {
        self.at_port(|| Event::HostAnswer { now, at, reply: reply.clone() });
    }

    fn fence(&mut self, now: u64, node: u32, start: bool, seq: u8, fence: Fence) {
        // Meters hear of it without checks, too.
        if self.checked {
            self.moved = Some(self.now);
        }
        self.note(Event::Fence { now, node, start, seq, fence });
    }

    fn synchronised(&mut self, at: (u32, u32), acquire: bool, scope: u8, span: (u64, u64)) {
        self.at_port(|| Event::Synchronised { at, acquire, scope, span });
    }

    fn stash_request(&mut self, now: u64, at: (u32, u32), access: &LineAccess) {
        self.at_port(|| Event::StashRequest { now, at, access: access.clone() });
    }

    fn stash_answer(&mut self, now: u64, at: (u32, u32), reply: &LineReply) {
        self.at_port(|| Event::StashAnswer { now, at, reply: reply.clone() });
    }

    fn other_transfer(&mut self, now: u64) {
        self.at_port(|| Event::Other { now });
    }
}

// A recorder hears of more (operations, fences, what is taken and complete); with one a cycle's compute units
// stay on one thread.
impl CuObserver for Noted {
    fn load(&mut self, who: &Who, line: u64, mask: u128, data: &[u64; 16], issued: u64, done: u64) {
        self.note(Event::Load { who: *who, line, mask, data: *data, issued, done });
    }

    fn served(&mut self, who: &Who, access: &LineAccess, src: u8, merged: bool) {
        self.note(Event::Served { who: *who, access: access.clone(), src, merged });
    }

    fn store(&mut self, who: &Who, line: u64, mask: u128, data: &[u64; 16], now: u64) {
        self.note(Event::Store { who: *who, line, mask, data: *data, now });
    }

    fn amo(&mut self, who: &Who, access: &LineAccess, old: &[u64; 16], issued: u64, done: u64) {
        self.note(Event::Amo { who: *who, access: access.clone(), old: *old, issued, done });
    }

    fn barrier(&mut self, who: &Who, now: u64) {
        self.note(Event::Barrier { who: *who, now });
    }
}

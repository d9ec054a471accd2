//! What compute units and memories do, noted to be told later: when several threads go through a cycle,
//! observers hear of it in the order in which one thread would have told it.

use super::{Observe, Observer};
use crate::cu::{CuObserver, Issuer, LineAccess, LineReply, Who};
use crate::family::Transfer;
use crate::run::fences::Fence;
use weft_engine::runner::Problem;

/// Something that an observer is told.
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
    Memory { now: u64, transfer: Transfer, home: usize },
}

/// What observers are told later, in order.
#[derive(Default)]
pub(in crate::run) struct Noted {
    events: Vec<Event>,
    /// Checks hear of the ports.
    pub checked: bool,
}

impl Noted {
    /// Nothing is noted.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// A transfer at the port of a memory channel; `home` is the channel of its line.
    pub fn memory(&mut self, now: u64, transfer: Transfer, home: usize) {
        self.events.push(Event::Memory { now, transfer, home });
    }

    /// Tells everything, and forgets it.
    pub fn tell(&mut self, to: &mut Observer) {
        self.events.drain(..).for_each(|event| event.tell(to));
    }
}

/// What a cycle has to tell, when it was gone through side by side.
#[derive(Default)]
pub(in crate::run) struct Notes {
    pub cycle: u64,
    /// Before compute units act.
    pub fences: Noted,
    /// By group.
    pub groups: Vec<Noted>,
    pub memory: Noted,
    /// The cycle is over and not judged.
    pub over: bool,
}

impl Clone for Notes {
    /// Nothing is cloned before all is told.
    fn clone(&self) -> Notes {
        assert!(!self.over && self.fences.is_empty(), "a cycle is not told when a model is cloned");
        Notes::default()
    }
}

impl Notes {
    /// A cycle begins; `checked`: checks hear of the ports.
    pub fn listen(&mut self, checked: bool, groups: usize) {
        self.groups.resize_with(groups, Noted::default);
        self.groups
            .iter_mut()
            .chain([&mut self.fences, &mut self.memory])
            .for_each(|noted| noted.checked = checked);
    }

    /// Tells what fences have done.
    pub fn tell_fences(&mut self, to: &mut Observer) {
        self.fences.tell(to);
    }

    /// Tells everything up to compute units.
    pub fn tell_units(&mut self, to: &mut Observer) {
        self.fences.tell(to);
        self.groups.iter_mut().for_each(|noted| noted.tell(to));
    }

    /// Tells everything, and what is wrong.
    ///
    /// # Errors
    /// A problem of that cycle.
    pub fn judge(&mut self, to: &mut Observer) -> Result<(), Problem> {
        if !std::mem::take(&mut self.over) {
            return Ok(());
        }
        self.tell_units(to);
        self.memory.tell(to);
        to.judge().map_err(|problem| Problem { at: Some(self.cycle), ..problem })
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
            Event::Memory { now, transfer, home } => to.transfer(now, &transfer, home),
        }
    }
}

impl Observe for Noted {
    fn checks(&self) -> bool {
        self.checked
    }

    fn request(&mut self, now: u64, at: (u32, u32), access: &LineAccess, issuer: Option<&Issuer>) {
        if self.checked {
            self.events.push(Event::Request { now, at, access: access.clone(), issuer: issuer.copied() });
        }
    }

    fn answer(&mut self, now: u64, at: (u32, u32), reply: &LineReply, time: Option<u64>) {
        if self.checked {
            self.events.push(Event::Answer { now, at, reply: reply.clone(), time });
        }
    }

    fn host_request(&mut self, now: u64, at: (u32, u32), access: &LineAccess) {
        if self.checked {
            self.events.push(Event::HostRequest { now, at, access: access.clone() });
        }
    }

    fn host_answer(&mut self, now: u64, at: (u32, u32), reply: &LineReply) {
        if self.checked {
            self.events.push(Event::HostAnswer { now, at, reply: reply.clone() });
        }
    }

    fn fence(&mut self, now: u64, node: u32, start: bool, seq: u8, fence: Fence) {
        if self.checked {
            self.events.push(Event::Fence { now, node, start, seq, fence });
        }
    }

    fn synchronised(&mut self, at: (u32, u32), acquire: bool, scope: u8, span: (u64, u64)) {
        if self.checked {
            self.events.push(Event::Synchronised { at, acquire, scope, span });
        }
    }

    fn stash_request(&mut self, now: u64, at: (u32, u32), access: &LineAccess) {
        if self.checked {
            self.events.push(Event::StashRequest { now, at, access: access.clone() });
        }
    }

    fn stash_answer(&mut self, now: u64, at: (u32, u32), reply: &LineReply) {
        if self.checked {
            self.events.push(Event::StashAnswer { now, at, reply: reply.clone() });
        }
    }

    fn other_transfer(&mut self, now: u64) {
        if self.checked {
            self.events.push(Event::Other { now });
        }
    }
}

// A recorder hears of more (operations, fences, what is taken and complete); with one a cycle's compute units
// stay on one thread.
impl CuObserver for Noted {
    fn load(&mut self, who: &Who, line: u64, mask: u128, data: &[u64; 16], issued: u64, done: u64) {
        self.events.push(Event::Load { who: *who, line, mask, data: *data, issued, done });
    }

    fn served(&mut self, who: &Who, access: &LineAccess, src: u8, merged: bool) {
        self.events.push(Event::Served { who: *who, access: access.clone(), src, merged });
    }

    fn store(&mut self, who: &Who, line: u64, mask: u128, data: &[u64; 16], now: u64) {
        self.events.push(Event::Store { who: *who, line, mask, data: *data, now });
    }

    fn amo(&mut self, who: &Who, access: &LineAccess, old: &[u64; 16], issued: u64, done: u64) {
        self.events.push(Event::Amo { who: *who, access: access.clone(), old: *old, issued, done });
    }

    fn barrier(&mut self, who: &Who, now: u64) {
        self.events.push(Event::Barrier { who: *who, now });
    }
}

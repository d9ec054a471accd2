//! What a value may be: the judge that follows every write in the order of coherence, and the reads beside it.
//!
//! Data is one bit. Plain stores write either value, a read-modify-write and a store to an own copy invert it, so an update that is lost shows.
//!
//! - A write is placed in the order of coherence where it is serialised: in the LLC, or by the device that owns the line. Ownership is *alive* from its grant
//!   until it is handed over or a store that needs no data overtakes it in the LLC. A device whose ownership is dead may go on in its copy until the forward
//!   arrives: its writes come before the one that has overtaken it.
//! - An owner that is alive, a sharer, the data of a read-modify-write and what is written back must be the last value.
//! - A read may return the last value when it is issued, the value of a store that is not complete, that of a dead owner, and whatever is written while it is
//!   outstanding.
//!
//! The value of a dead owner is what a program with a data race may see (spandex.md section 7: ReqWT and ReqO are not write-atomic). With three devices and
//! direct requests even a device whose own store is complete may: A was granted the line, B's ReqWT has overtaken A and waits for A, C's ReqWT after it is
//! complete at once; until B's forward arrives at A, a direct ReqV of C finds A in O, with data that is older than C's. B and C race; when B is complete, A is I.

use crate::state::{Device, Judge, NONE, State};

/// Set of one value.
fn only(value: bool) -> u8 {
    1 << u8::from(value)
}

/// The judge of a system.
pub struct Values {
    /// Device states with a store that is issued and not complete, one bit each.
    pub storing: u32,
    /// Device states with ownership, one bit each.
    pub owning: u32,
}

impl Values {
    /// The judge at the beginning: every copy of the line is 0.
    pub fn start(on: bool) -> Judge {
        Judge { latest: false, now: u8::from(on), writer: NONE, alive: 0 }
    }

    fn alive(state: &State, device: usize) -> bool {
        state.judge.alive >> device & 1 != 0
    }

    /// A value can be read from now on.
    fn announce(state: &mut State, value: bool) {
        state.judge.now |= only(value);
        for device in state.device.iter_mut().filter(|device| device.legal != 0) {
            device.legal |= only(value);
        }
    }

    /// After a write is done: forgets values that no read may return any more, if the last write is complete.
    pub fn settle(&self, state: &mut State) {
        if state.judge.writer != NONE {
            return;
        }
        let alive = state.judge.alive;
        let readable = |(i, device): &(usize, &Device)| {
            let dead = self.owning >> device.state & 1 != 0 && alive >> i & 1 == 0;
            dead || self.storing >> device.state & 1 != 0
        };
        let used = state.device[..state.devices].iter().enumerate().filter(readable);
        state.judge.now = used.fold(only(state.judge.latest), |now, (_, device)| now | only(device.value));
    }

    /// A read is issued.
    pub fn ask(state: &mut State, device: usize) {
        state.device[device].legal = state.judge.now;
    }

    /// A read's data comes.
    pub fn load(state: &mut State, device: usize, value: bool) -> Result<(), String> {
        let reader = &mut state.device[device];
        reader.value = value;
        let legal = reader.legal & only(value) != 0;
        if legal { Ok(()) } else { Err("the read returns what was overwritten before it was issued".into()) }
    }

    /// A store is issued.
    pub fn issue(state: &mut State, device: usize, value: bool) {
        state.device[device].value = value;
        Values::announce(state, value);
    }

    /// A store is complete.
    pub fn done(state: &mut State, device: usize) {
        if usize::from(state.judge.writer) == device {
            state.judge.writer = NONE;
        }
    }

    /// Ownership comes with its data.
    pub fn take(state: &mut State, device: usize, value: bool) -> Result<(), String> {
        state.device[device].value = value;
        if !Values::alive(state, device) {
            // The copy is there until the forward comes; afterwards it is not.
            if state.device[device].removal == 0 {
                Values::announce(state, value);
            }
            return Ok(());
        }
        if value == state.judge.latest { Ok(()) } else { Err("ownership comes with stale data".into()) }
    }

    /// The owner inverts its copy.
    pub fn hit(state: &mut State, device: usize) {
        let value = !state.device[device].value;
        state.device[device].value = value;
        Values::announce(state, value);
        if Values::alive(state, device) {
            state.judge.latest = value;
            state.judge.writer = NONE;
        }
    }

    /// Another device's store is served in the owner's copy.
    pub fn write(state: &mut State, device: usize, value: bool, writer: u8) {
        state.device[device].value = value;
        if Values::alive(state, device) {
            state.judge.latest = value;
            state.judge.writer = writer;
        }
    }

    /// Ownership is handed over.
    pub fn give(state: &mut State, device: usize) {
        state.judge.alive &= !(1 << device);
    }

    /// The LLC grants ownership with the data.
    pub fn grant(state: &mut State, device: u8) {
        state.judge.alive |= 1 << device;
    }

    /// The LLC grants ownership for a store that needs no data.
    pub fn overtake(state: &mut State, device: u8) {
        state.judge.alive = 1 << device;
        state.judge.latest = state.device[usize::from(device)].value;
        state.judge.writer = device;
    }

    /// The LLC writes a store's data.
    pub fn write_llc(state: &mut State, value: bool, writer: u8) {
        state.judge.alive = 0;
        state.judge.latest = value;
        state.judge.writer = writer;
        state.llc.value = value;
    }

    /// The LLC inverts its data for a device.
    pub fn rmw_llc(state: &mut State, writer: u8) -> Result<(), String> {
        let old = state.llc.value;
        if old != state.judge.latest {
            return Err("the LLC's read-modify-write finds stale data".into());
        }
        state.llc.value = !old;
        state.judge.latest = !old;
        state.judge.writer = writer;
        Values::announce(state, !old);
        Ok(())
    }

    /// The LLC stores the data of a former owner.
    pub fn take_data(state: &mut State, value: bool, device: u8) -> Result<(), String> {
        if !Values::alive(state, usize::from(device)) || value != state.judge.latest {
            return Err("stale data is stored in the LLC".into());
        }
        state.judge.alive &= !(1 << device);
        state.llc.value = value;
        Ok(())
    }
}

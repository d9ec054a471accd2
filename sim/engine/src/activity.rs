//! What a simulation is doing at the moment, noted for whoever samples it: a profile that costs the simulation
//! one store per unit clocked.
//!
//! Every thread of a [`crate::team::Team`] has a note of its own; all other threads share one, so only one
//! simulation can be profiled at a time.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

/// Something that a simulation does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Activity(u32);

/// First number of a unit's type.
const UNITS: u32 = 64;

/// First number of a model's activity.
const MODELS: u32 = 16;

impl Activity {
    /// Nothing that is noted.
    pub const OUTSIDE: Activity = Activity(0);
    /// The engine finds out whom to clock.
    pub const SCHEDULE: Activity = Activity(1);
    /// The engine looks whether a unit has anything left to do.
    pub const LOOK: Activity = Activity(2);
    /// The engine hands on what units send each other.
    pub const MESSAGES: Activity = Activity(3);
    /// A waveform is written.
    pub const WAVES: Activity = Activity(4);
    /// A listener hears of a cycle.
    pub const LISTENER: Activity = Activity(5);
    /// The whole state is copied, to go back to it after a failure.
    pub const SNAPSHOT: Activity = Activity(6);
    /// A thread waits for others.
    pub const WAITING: Activity = Activity(7);

    /// Activity `number` of the models beside the hardware, below 48; their owner knows what it is.
    pub const fn model(number: u32) -> Activity {
        assert!(number < UNITS - MODELS, "a model's activity has a number below 48");
        Activity(MODELS + number)
    }

    /// A unit of this type of the design is clocked.
    #[cfg(test)]
    fn unit(ty: usize) -> Activity {
        Activity(UNITS + ty as u32)
    }

    /// The type of the unit that is clocked, if one is.
    pub fn of_unit(self) -> Option<usize> {
        self.0.checked_sub(UNITS).map(|ty| ty as usize)
    }

    /// The number given to [`Activity::model`].
    pub fn of_model(self) -> Option<u32> {
        (MODELS..UNITS).contains(&self.0).then(|| self.0 - MODELS)
    }

    /// Notes it.
    #[inline]
    pub fn begin(self) {
        Activity::note().0.store(self.0, Relaxed);
    }

    /// Notes it until what is returned is dropped; then what was noted before.
    #[inline]
    pub fn within(self) -> Within {
        let note = Activity::note();
        let before = note.0.load(Relaxed);
        note.0.store(self.0, Relaxed);
        Within { note, before }
    }

    /// The note of this thread.
    #[inline]
    pub(crate) fn note() -> &'static Note {
        &NOTES[THREAD.get()]
    }

    /// From now on this thread is number `thread` of a team; its first one is 0, as every thread is at first.
    pub(crate) fn of_thread(thread: usize) {
        THREAD.set(thread.min(THREADS - 1));
    }
}

/// Most threads with notes of their own; further ones share the last.
pub const THREADS: usize = 64;

/// What a thread is doing, in a cache line of its own.
#[repr(align(128))]
pub(crate) struct Note(AtomicU32);

impl Note {
    /// A unit of this type of the design is clocked.
    #[inline]
    pub fn unit(&self, ty: usize) {
        self.0.store(UNITS + ty as u32, Relaxed);
    }
}

static NOTES: [Note; THREADS] = [const { Note(AtomicU32::new(0)) }; THREADS];

thread_local! {
    static THREAD: Cell<usize> = const { Cell::new(0) };
}

/// See [`Activity::within`].
pub struct Within {
    note: &'static Note,
    before: u32,
}

impl Drop for Within {
    #[inline]
    fn drop(&mut self) {
        self.note.0.store(self.before, Relaxed);
    }
}

/// A thread that looks again and again what is noted.
pub struct Sampler {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<BTreeMap<Activity, u64>>>,
}

impl Sampler {
    /// Looks once per `interval` at the first `threads` threads.
    ///
    /// # Errors
    /// A system that starts no further thread.
    pub fn start(interval: Duration, threads: usize) -> std::io::Result<Sampler> {
        let stop = Arc::new(AtomicBool::new(false));
        let asked = stop.clone();
        let look = move || {
            let notes = &NOTES[..threads.clamp(1, THREADS)];
            let mut seen = vec![BTreeMap::new(); notes.len()];
            while !asked.load(Relaxed) {
                std::thread::sleep(interval);
                for (seen, note) in seen.iter_mut().zip(notes) {
                    *seen.entry(Activity(note.0.load(Relaxed))).or_insert(0) += 1;
                }
            }
            seen
        };
        let thread = std::thread::Builder::new().name("sampler".into()).spawn(look)?;
        Ok(Sampler { stop, thread })
    }

    /// How often each activity was seen on each thread.
    ///
    /// # Panics
    /// If the sampling thread has.
    pub fn end(self) -> Vec<BTreeMap<Activity, u64>> {
        self.stop.store(true, Relaxed);
        self.thread.join().expect("the sampling thread does nothing that can panic")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        assert_eq!(Activity::unit(7).of_unit(), Some(7));
        assert_eq!(Activity::model(7).of_model(), Some(7));
        assert_eq!((Activity::unit(7).of_model(), Activity::model(7).of_unit()), (None, None));
        assert_eq!((Activity::LOOK.of_unit(), Activity::LOOK.of_model()), (None, None));
    }
}

//! What a simulation is doing at the moment, noted for whoever samples it: a profile that costs the simulation
//! one store per unit clocked.
//!
//! There is one note for the whole process, so only one simulation on one thread can be profiled at a time.

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

    /// Activity `number` of the models beside the hardware, below 48; their owner knows what it is.
    pub const fn model(number: u32) -> Activity {
        assert!(number < UNITS - MODELS, "a model's activity has a number below 48");
        Activity(MODELS + number)
    }

    /// A unit of this type of the design is clocked.
    pub(crate) fn unit(ty: usize) -> Activity {
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
        NOW.store(self.0, Relaxed);
    }

    /// Notes it until what is returned is dropped; then what was noted before.
    #[inline]
    pub fn within(self) -> Within {
        let before = NOW.load(Relaxed);
        self.begin();
        Within(before)
    }
}

static NOW: AtomicU32 = AtomicU32::new(0);

/// See [`Activity::within`].
pub struct Within(u32);

impl Drop for Within {
    #[inline]
    fn drop(&mut self) {
        NOW.store(self.0, Relaxed);
    }
}

/// A thread that looks again and again what is noted.
pub struct Sampler {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<BTreeMap<Activity, u64>>,
}

impl Sampler {
    /// Looks once per `interval`.
    ///
    /// # Errors
    /// A system that starts no further thread.
    pub fn start(interval: Duration) -> std::io::Result<Sampler> {
        let stop = Arc::new(AtomicBool::new(false));
        let asked = stop.clone();
        let look = move || {
            let mut seen = BTreeMap::new();
            while !asked.load(Relaxed) {
                std::thread::sleep(interval);
                *seen.entry(Activity(NOW.load(Relaxed))).or_insert(0) += 1;
            }
            seen
        };
        let thread = std::thread::Builder::new().name("sampler".into()).spawn(look)?;
        Ok(Sampler { stop, thread })
    }

    /// How often each activity was seen.
    ///
    /// # Panics
    /// If the sampling thread has.
    pub fn end(self) -> BTreeMap<Activity, u64> {
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

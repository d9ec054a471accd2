//! Campaigns: inputs by the thousand for one target, each of them watched.
//!
//! The reader runs in a thread of its own. Another looks at it: a thread that has worked too long on an input
//! is left behind with it, and the campaign of that target ends. Panics are caught, memory is counted where
//! the program's allocator does it ([`Counting`](crate::memory::Counting)). What ends the whole program, as a
//! stack without room does, has left its input in the file that [`Plan::current`] names.

mod exec;
mod fault;
mod pool;
mod small;
mod worker;

pub use exec::{Outcome, Read, read};
pub use fault::{Fault, What};

use crate::Target;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use worker::Worker;

/// Bytes allocated for each byte of an input that are no fault, beside [`Target::constant`].
pub const RATIO: f64 = 10.0;

/// Faults of different kinds or places of a target after which its campaign ends.
pub const FAULTS: usize = 20;

/// Wall time that a limit of processor time may take: a thread that waits for ever works no more than one
/// that has no processor.
const WAITS: u32 = 60;

/// How often the watching thread looks.
const LOOK: Duration = Duration::from_millis(20);

/// What is asked of a campaign.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Inputs, those of seeds and corpus among them.
    pub inputs: u64,
    /// Seed of all that is drawn.
    pub seed: u64,
    /// When it ends, however many inputs there were.
    pub until: Option<Instant>,
    /// Processor time that an input may take.
    pub limit: Duration,
    /// Inputs that are read first, beside the target's own seeds, and changed like these.
    pub corpus: Vec<Vec<u8>>,
    /// A file that always holds the present input.
    pub current: Option<PathBuf>,
    /// Inputs of all campaigns so far, for those who watch.
    pub progress: Arc<AtomicU64>,
    /// Ends the campaign when it is set.
    pub stop: Arc<AtomicBool>,
}

impl Plan {
    /// So many inputs of a seed, and 2 s for each.
    pub fn new(inputs: u64, seed: u64) -> Plan {
        Plan {
            inputs,
            seed,
            until: None,
            limit: Duration::from_secs(2),
            corpus: Vec::new(),
            current: None,
            progress: Arc::default(),
            stop: Arc::default(),
        }
    }
}

/// What a campaign has seen.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Inputs read.
    pub inputs: u64,
    /// Of these, accepted ones.
    pub accepted: u64,
    /// Refused ones.
    pub refused: u64,
    /// Kinds of refusals: sentences without what they quote of the input.
    pub kinds: u64,
    /// Most bytes allocated beyond the target's constant for each byte of an input; none where nothing is
    /// counted.
    pub ratio: Option<f64>,
    /// Most bytes allocated for an input; none where nothing is counted.
    pub peak: Option<u64>,
    /// Most processor time for an input.
    pub slowest: Duration,
    /// What is wrong, each kind and place once.
    pub faults: Vec<Fault>,
}

/// What the reading and the watching thread share.
#[derive(Default)]
struct Shared {
    found: Found,
    /// The present input.
    current: Vec<u8>,
    /// Where the system tells the processor time of the reading thread, if it does.
    clock: Option<PathBuf>,
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    // What a panic left is a sum that was complete before it.
    shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Gives a target inputs as planned.
pub fn campaign(target: &Target, plan: &Plan) -> Found {
    exec::catch_panics();
    let shared = Arc::new(Mutex::new(Shared::default()));
    // Number of the present reading from 1; 0 between two.
    let running = Arc::new(AtomicU64::new(0));
    let worker = Worker::new(target, plan, shared.clone(), running.clone());
    let thread = std::thread::Builder::new().name(target.name.into());
    let Ok(thread) = thread.spawn(move || worker.run()) else { return Found::default() };
    let mut seen = Watched::default();
    while !thread.is_finished() {
        std::thread::park_timeout(LOOK);
        let clock = lock(&shared).clock.clone();
        if seen.hangs(running.load(Ordering::Acquire), clock.as_deref(), plan.limit) {
            let mut shared = lock(&shared);
            let input = shared.current.clone();
            let text = format!("it takes more than {} s", plan.limit.as_secs_f64());
            shared.found.faults.push(Fault { what: What::Hang, text, place: String::new(), input });
            return shared.found.clone();
        }
    }
    if thread.join().is_err() {
        // Only a mistake in the driver ends the thread so.
        let text = "the driver itself has failed".to_string();
        let input = lock(&shared).current.clone();
        lock(&shared).found.faults.push(Fault { what: What::Panic, text, place: "driver".into(), input });
    }
    lock(&shared).found.clone()
}

/// Processor time of a thread: the first number of its `schedstat`, in nanoseconds.
fn spent(clock: &Path) -> Option<Duration> {
    let text = std::fs::read_to_string(clock).ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// The input that a thread was seen with, and since when.
#[derive(Default)]
struct Watched {
    number: u64,
    since: Option<(Instant, Option<Duration>)>,
}

impl Watched {
    /// Whether the thread has worked on this input for longer than a limit.
    fn hangs(&mut self, number: u64, clock: Option<&Path>, limit: Duration) -> bool {
        let spent = clock.and_then(spent);
        if number == 0 || number != self.number || self.since.is_none() {
            *self = Watched { number, since: Some((Instant::now(), spent)) };
            return false;
        }
        let Some((began, before)) = self.since else { return false };
        // Where the system does not tell the time of threads, that of the wall counts.
        let worked = match (spent, before) {
            (Some(now), Some(before)) => now.saturating_sub(before),
            _ => began.elapsed(),
        };
        worked > limit || began.elapsed() > limit * WAITS
    }
}

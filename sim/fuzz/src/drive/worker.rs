//! The thread that reads.

use super::exec::{Outcome, Read, excess, read};
use super::pool::Pool;
use super::small::small;
use super::{FAULTS, Fault, Plan, Shared, lock};
use crate::Target;
use crate::mutate::mutate;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Inputs after which it is seen whether the campaign is to end.
const OFTEN: u64 = 64;

pub(super) struct Worker {
    target: Target,
    plan: Plan,
    shared: Arc<Mutex<Shared>>,
    running: Arc<AtomicU64>,
    current: Option<File>,
    rng: SmallRng,
    /// Readings so far, those that make an input small among them.
    readings: u64,
}

impl Worker {
    pub fn new(target: &Target, plan: &Plan, shared: Arc<Mutex<Shared>>, running: Arc<AtomicU64>) -> Worker {
        let current = plan.current.as_ref().and_then(|path| File::create(path).ok());
        // A target draws the same whichever others there are.
        let own = target.name.bytes().fold(plan.seed, |seed, byte| seed.rotate_left(8) ^ u64::from(byte));
        let rng = SmallRng::seed_from_u64(own);
        Worker { target: *target, plan: plan.clone(), shared, running, current, rng, readings: 0 }
    }

    pub fn run(mut self) {
        let own =
            std::fs::read_link("/proc/thread-self").map(|own| Path::new("/proc").join(own).join("schedstat"));
        lock(&self.shared).clock = own.ok().filter(|clock| clock.is_file());
        let mut seeds = (self.target.seeds)();
        seeds.extend(self.plan.corpus.iter().cloned());
        let first = seeds.clone();
        let mut pool = Pool::new(seeds);
        for number in 0..self.plan.inputs.max(first.len() as u64) {
            let input = match first.get(number as usize) {
                Some(seed) => seed.clone(),
                None => {
                    let (from, other) = (pool.draw(&mut self.rng), pool.draw(&mut self.rng));
                    mutate(&mut self.rng, &self.target, from, other)
                }
            };
            self.input(number + 1, input, &mut pool);
            self.plan.progress.fetch_add(1, Ordering::Relaxed);
            let over = || self.plan.until.is_some_and(|until| Instant::now() > until);
            let stopped = self.plan.stop.load(Ordering::Relaxed);
            let full = lock(&self.shared).found.faults.len() >= FAULTS;
            if full || stopped || (number % OFTEN == 0 && number as usize >= first.len() && over()) {
                break;
            }
        }
        if let (Some(path), Some(_)) = (&self.plan.current, &self.current) {
            let _ = std::fs::remove_file(path);
        }
    }

    fn input(&mut self, number: u64, input: Vec<u8>, pool: &mut Pool) {
        if let Some(file) = &self.current {
            // A file that cannot be written is told by nobody: it serves only what ends the program.
            let _ = file.set_len(0).and_then(|()| file.write_all_at(&input, 0));
        }
        lock(&self.shared).current.clone_from(&input);
        let done = self.read(&input);
        {
            let mut shared = lock(&self.shared);
            let found = &mut shared.found;
            found.inputs = number;
            found.slowest = found.slowest.max(done.time);
            found.peak = found.peak.max(done.peak);
            let ratio = done.peak.map(|peak| excess(&self.target, &input, peak));
            found.ratio = found.ratio.into_iter().chain(ratio).reduce(f64::max);
            found.accepted += u64::from(done.outcome == Outcome::Accepted);
            found.refused += u64::from(matches!(done.outcome, Outcome::Refused(_)));
        }
        match done.outcome {
            Outcome::Accepted => pool.accepted(&mut self.rng, &input),
            Outcome::Refused(sentence) => {
                pool.refused(&input, &sentence);
                lock(&self.shared).found.kinds = pool.kinds();
            }
            Outcome::Failed(what, text, place) => {
                let known = |fault: &Fault| (fault.what, &fault.place) == (what, &place);
                if !lock(&self.shared).found.faults.iter().any(known) {
                    let target = self.target;
                    let input = small(&target, input, what, &place, &mut |input| self.read(input));
                    lock(&self.shared).found.faults.push(Fault { what, text, place, input });
                }
            }
        }
    }

    /// Reads an input while the other thread looks on.
    fn read(&mut self, input: &[u8]) -> Read {
        self.readings += 1;
        self.running.store(self.readings, Ordering::Release);
        let done = read(&self.target, input);
        self.running.store(0, Ordering::Release);
        done
    }
}

//! Reads-from: which write each read has found, by value.
//!
//! What several writes explain is narrowed down by what is certain (no write is found that the L1 took only after the read was answered) and by what every fabric promises of atomics: an
//! access that is taken after another one was performed comes after it, and a write is followed by one read-modify-write at most. If the promise does not hold, the execution
//! is judged wrong elsewhere or here, never by this alone right.

use crate::kernel::{INIT, Id, Kernel, Loc};
use std::collections::HashMap;

/// What a read has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// This write, or [`INIT`].
    Known(Id),
    /// One of these.
    Many(Vec<Id>),
    /// No write explains it.
    Nothing,
}

/// Sources of all reads, by event.
pub struct Sources(HashMap<Id, Source>);

impl Sources {
    /// Finds them.
    pub fn new(k: &Kernel) -> Sources {
        let mut all = Sources(HashMap::new());
        k.locs.iter().filter(|loc| !loc.open).for_each(|loc| all.location(k, loc));
        all
    }

    /// The write that a read has found, if that is known.
    pub fn known(&self, read: Id) -> Option<Id> {
        match self.0.get(&read) {
            Some(Source::Known(write)) => Some(*write),
            _ => None,
        }
    }

    /// What is known of a read.
    pub fn of(&self, read: Id) -> Option<&Source> {
        self.0.get(&read)
    }

    /// More is known of a read.
    pub fn set(&mut self, read: Id, source: Source) {
        self.0.insert(read, source);
    }

    /// Reads that more than one write may explain.
    pub fn ambiguous(&self) -> u64 {
        self.0.values().filter(|source| matches!(source, Source::Many(_))).count() as u64
    }

    fn location(&mut self, k: &Kernel, loc: &Loc) {
        let mut writers: HashMap<u32, Vec<Id>> = HashMap::new();
        for id in &loc.events {
            if let Some(value) = k.event(*id).wrote {
                writers.entry(value).or_default().push(*id);
            }
        }
        loc.init.iter().for_each(|value| writers.entry(*value).or_default().push(INIT));
        let timeline = Timeline::of(k, loc);
        let mut rmws = Vec::new();
        for id in &loc.events {
            let e = k.event(*id);
            let Some(value) = e.read else { continue };
            let of = writers.get(&value).map_or(&[][..], Vec::as_slice);
            let certain = |w: &&Id| **w == INIT || (**w != *id && k.event(**w).taken <= e.done);
            let mut found: Vec<Id> = of.iter().filter(certain).copied().collect();
            if found.len() > 1 && k.op(*id).atomic() {
                let later: Vec<Id> = found.iter().filter(|w| !timeline.over(k, **w, *id)).copied().collect();
                if !later.is_empty() {
                    found = later;
                }
            }
            if e.wrote.is_some() {
                rmws.push(*id);
            }
            self.0.insert(*id, Source::of(found));
        }
        self.claim(&rmws);
    }

    /// A write that one read-modify-write is known to have found is no other one's.
    fn claim(&mut self, rmws: &[Id]) {
        let mut waiting: HashMap<Id, Vec<Id>> = HashMap::new();
        let mut sure = Vec::new();
        for rmw in rmws {
            match &self.0[rmw] {
                Source::Known(write) => sure.push((*rmw, *write)),
                Source::Many(writes) => writes.iter().for_each(|w| waiting.entry(*w).or_default().push(*rmw)),
                Source::Nothing => {}
            }
        }
        while let Some((owner, write)) = sure.pop() {
            for rmw in waiting.remove(&write).unwrap_or_default() {
                let Some(Source::Many(writes)) = self.0.get(&rmw).filter(|_| rmw != owner) else { continue };
                let left: Vec<Id> = writes.iter().copied().filter(|other| *other != write).collect();
                let left = Source::of(left);
                if let Source::Known(only) = left {
                    sure.push((rmw, only));
                }
                self.0.insert(rmw, left);
            }
        }
    }
}

impl Source {
    /// From the writes that may explain a read.
    pub fn of(writes: Vec<Id>) -> Source {
        match writes[..] {
            [] => Source::Nothing,
            [only] => Source::Known(only),
            _ => Source::Many(writes),
        }
    }
}

/// Writes of a location that were surely performed, by time.
struct Timeline {
    /// Cycle by which it was performed, and the latest cycle in which the L1 took one of these and those before.
    performed: Vec<(u64, u64)>,
}

impl Timeline {
    fn of(k: &Kernel, loc: &Loc) -> Timeline {
        let sure = loc.events.iter().filter(|id| k.event(**id).wrote.is_some() && k.event(**id).performed);
        // Atomics of scopes that do not include each other promise nothing.
        let plain = |id: &&Id| k.op(**id).atomic() && !loc.mixed;
        let mut performed: Vec<(u64, u64)> =
            sure.filter(plain).map(|id| (k.event(*id).done, k.event(*id).taken)).collect();
        performed.sort_unstable();
        let mut latest = 0;
        for (_, taken) in &mut performed {
            latest = latest.max(*taken);
            *taken = latest;
        }
        Timeline { performed }
    }

    /// Whether a write was surely overwritten when a read was taken.
    fn over(&self, k: &Kernel, write: Id, read: Id) -> bool {
        let before = self.performed.partition_point(|(done, _)| *done < k.event(read).taken);
        let Some((_, latest)) = before.checked_sub(1).map(|at| self.performed[at]) else { return false };
        write == INIT || (k.event(write).performed && k.event(write).done < latest)
    }
}

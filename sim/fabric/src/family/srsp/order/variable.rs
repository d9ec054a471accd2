//! Synchronising accesses of one variable: which may have left what another finds, and what is learned from it.
//!
//! Only the time between the L1's taking of an access and its answer is known, not when it was performed. An access cannot have found what was overwritten before it was taken by another
//! that was taken later still, nor replaced what another has replaced. When several may have left the value found, it learns what all of them would have told.

use super::clock::Clock;
use serde::{Deserialize, Serialize};

/// Who an access reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Reach {
    /// Work-group scope: others of its L1, and remote operations.
    Own,
    /// A wider scope.
    Wide,
    /// Every access of the variable: a remote operation, or an L1 without scopes.
    All,
}

/// Who made an access, and whom it reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Party {
    /// L1.
    pub unit: u32,
    /// Scope.
    pub reach: Reach,
}

impl Party {
    /// A release of one is seen by an acquire of the other.
    fn meets(self, other: Party) -> bool {
        let both = |reach| self.reach == reach || other.reach == reach;
        self.unit == other.unit
            || both(Reach::All)
            || (self.reach == other.reach && self.reach == Reach::Wide)
    }
}

/// A release whose effects the reader of a value learns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    by: Party,
    clock: Clock,
}

/// What an access is going to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Leaves {
    /// Nothing: it only reads.
    Nothing,
    /// This, if it writes.
    Value(u64),
    /// What depends on the value found.
    Unknown,
}

/// An access that writes, or is under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Access {
    /// Number that the caller gave.
    number: u64,
    by: Party,
    taken: u64,
    answered: Option<u64>,
    leaves: Leaves,
    /// What its L1 knew when it was taken, if it releases.
    published: Option<Clock>,
    heads: Vec<Head>,
    /// When a read-modify-write was answered that has found and replaced what it left; no second one can.
    replaced: Option<u64>,
}

/// An access as its L1 takes it.
#[derive(Clone, Debug)]
pub struct Taken {
    /// Different for all under way.
    pub number: u64,
    /// Who.
    pub by: Party,
    /// Cycle.
    pub now: u64,
    /// What it leaves.
    pub leaves: Leaves,
    /// What its L1 knows, if it releases.
    pub publishes: Option<Clock>,
}

/// An access as it is answered.
#[derive(Clone, Copy, Debug)]
pub struct Answered {
    /// Number given before.
    pub number: u64,
    /// Cycle.
    pub now: u64,
    /// The value found, unless it only writes.
    pub found: Option<u64>,
    /// What it has left, if it wrote.
    pub left: Option<u64>,
}

/// Most accesses that are kept.
const KEPT: usize = 512;

/// A variable of synchronising accesses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variable {
    /// 4 or 8.
    pub bytes: u8,
    initial: Option<u64>,
    /// The same of what was there at first.
    replaced: Option<u64>,
    list: Vec<Access>,
    parties: Vec<Party>,
    /// Accesses do not all reach each other, or it is stored to in the plain way: no promise.
    racy: bool,
}

/// What an access found cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Impossible;

impl Variable {
    /// A variable that nobody has accessed yet.
    pub fn new(bytes: u8, initial: u64) -> Variable {
        Variable {
            bytes,
            initial: Some(initial),
            replaced: None,
            list: Vec::new(),
            parties: Vec::new(),
            racy: false,
        }
    }

    /// No promise holds from now on.
    pub fn spoil(&mut self) {
        self.racy = true;
        self.list.clear();
    }

    /// An L1 takes an access.
    pub fn take(&mut self, t: Taken) {
        if self.racy {
            return;
        }
        if !self.parties.contains(&t.by) {
            if self.parties.iter().any(|p| !p.meets(t.by)) {
                return self.spoil();
            }
            self.parties.push(t.by);
        }
        let Taken { number, by, now: taken, leaves, publishes: published } = t;
        self.list.push(Access {
            number,
            by,
            taken,
            answered: None,
            leaves,
            published,
            heads: Vec::new(),
            replaced: None,
        });
    }

    /// An access is answered. Gives what it learns if it acquires.
    ///
    /// # Errors
    /// It found what no access can have left.
    pub fn answer(&mut self, a: Answered, acquires: bool) -> Result<Option<Clock>, Impossible> {
        let Some(at) = self.list.iter().position(|x| x.number == a.number) else { return Ok(None) };
        let sources = match a.found {
            Some(found) => self.sources(at, found, a.left.is_some()),
            None => Vec::new(),
        };
        if a.found.is_some() && sources.is_empty() {
            return Err(Impossible);
        }
        if let (Some(_), Some(_), [one]) = (a.found, a.left, &sources[..]) {
            match one {
                Some(at) => self.list[*at].replaced = Some(a.now),
                None => self.replaced = Some(a.now),
            }
        }
        let learned = if acquires { self.learned(at, &sources) } else { None };
        match a.left {
            Some(left) => self.performed(at, a, left, &sources, learned.as_ref()),
            None => drop(self.list.remove(at)),
        }
        self.prune();
        Ok(learned)
    }

    /// Who may have left a value, which is replaced or only read: numbers in the list, `None` for what was there at first.
    fn sources(&self, at: usize, found: u64, replaces: bool) -> Vec<Option<usize>> {
        let reader = &self.list[at];
        let replaced = |by: Option<u64>| by.is_some_and(|end| replaces || end < reader.taken);
        let gone = |answered: u64| {
            self.list.iter().enumerate().any(|(i, w)| {
                i != at
                    && w.leaves != Leaves::Nothing
                    && answered < w.taken
                    && w.answered.is_some_and(|end| end < reader.taken)
            })
        };
        let first = self.initial.is_some_and(|value| value == found) && !self.overwritten(reader.taken);
        let first = first && !replaced(self.replaced);
        let written = self.list.iter().enumerate().filter(|(i, w)| {
            let value = match w.leaves {
                Leaves::Nothing => false,
                Leaves::Value(value) => value == found,
                Leaves::Unknown => true,
            };
            *i != at && value && !w.answered.is_some_and(gone) && !replaced(w.replaced)
        });
        first.then_some(None).into_iter().chain(written.map(|(i, _)| Some(i))).collect()
    }

    /// What was there at first is gone for an access taken then.
    fn overwritten(&self, taken: u64) -> bool {
        self.list.iter().any(|w| w.leaves != Leaves::Nothing && w.answered.is_some_and(|end| end < taken))
    }

    /// What every possible source would tell.
    fn learned(&self, at: usize, sources: &[Option<usize>]) -> Option<Clock> {
        let by = self.list[at].by;
        let tells = |source: &Option<usize>| -> Option<Clock> {
            let access = &self.list[(*source)?];
            let mut told: Option<Clock> = None;
            for head in access.heads.iter().filter(|head| head.by.meets(by)) {
                match &mut told {
                    Some(clock) => clock.join(&head.clock),
                    None => told = Some(head.clock.clone()),
                }
            }
            // One that is not answered yet has no heads but its own.
            let own = access.published.as_ref().filter(|_| access.answered.is_none() && access.by.meets(by));
            match (&mut told, own) {
                (Some(clock), Some(own)) => clock.join(own),
                (None, Some(own)) => told = Some(own.clone()),
                _ => {}
            }
            told
        };
        let mut all = sources.iter().map(tells);
        let mut out = all.next()??;
        for next in all {
            out.meet(&next?);
        }
        Some(out)
    }

    fn performed(
        &mut self,
        at: usize,
        a: Answered,
        left: u64,
        sources: &[Option<usize>],
        learned: Option<&Clock>,
    ) {
        let mut heads = match (a.found, sources) {
            (Some(_), [Some(one)]) => self.list[*one].heads.clone(),
            _ => Vec::new(),
        };
        let access = &mut self.list[at];
        if let Some(mut clock) = access.published.clone() {
            learned.into_iter().for_each(|more| clock.join(more));
            heads.retain(|head| head.by != access.by || !head.clock.within(&clock));
            heads.push(Head { by: access.by, clock });
        }
        access.heads = heads;
        access.leaves = Leaves::Value(left);
        access.answered = Some(a.now);
    }

    /// Forgets what nobody can find any more.
    fn prune(&mut self) {
        let oldest = self.list.iter().filter(|x| x.answered.is_none()).map(|x| x.taken).min();
        // Whoever is taken from now on is taken after everything that is answered.
        let oldest = oldest.unwrap_or(u64::MAX);
        let last =
            self.list.iter().filter(|w| w.answered.is_some_and(|end| end < oldest)).map(|w| w.taken).max();
        let Some(last) = last else { return };
        self.initial = None;
        self.list.retain(|w| w.answered.is_none_or(|end| end >= last));
        if self.list.len() > KEPT {
            self.spoil();
        }
    }

    /// At rest: it holds a value that an access may have left last.
    pub fn may_hold(&self, value: u64) -> bool {
        let last = self.list.iter().map(|w| w.taken).max();
        let left = |w: &&Access| last.is_some_and(|last| w.answered.is_none_or(|end| end >= last));
        let written = self.list.iter().filter(left).any(|w| w.leaves == Leaves::Value(value));
        self.racy || written || (self.list.is_empty() && self.initial.is_none_or(|v| v == value))
    }
}

//! What accesses may find: heterogeneous-race-freedom with remote promotion (srsp.md section 7,
//! "Guarantees"), by the order of this run and not by cycles.
//!
//! - *Meets*: two accesses of a variable see each other if they are of one CU, both of a wider scope than
//!   work-group, or one of them is remote; without scopes ([`Heeds`]) any two do. A variable of which two
//!   accesses do not meet is racy: nothing is promised of it.
//! - *Happens-before*: an acquire learns what the releases knew that head the chain of read-modify-writes
//!   which ends with the value found, if they meet.
//! - A plain load finds a write of the line that no other write known to it comes after; the initial value
//!   only if it knows of none.
//! - Synchronising accesses of a variable are linearisable: some order of them, in which none comes before
//!   one that was over when it was issued, explains all that they found. Relaxed loads may be old.

use super::ops::{Access, Issued, Memory, Op, Scope, line_name, value, value_text};
use weft_fabric::family::srsp::order::Heeds;

/// An operation: wave and number.
pub type Place = (usize, usize);

/// Most waves in all.
pub const MOST_WAVES: usize = 4;

/// By wave, how many of its first operations are known.
type Known = [u8; MOST_WAVES];

/// A state with what is known at each of its operations.
pub struct Judge<'a> {
    state: &'a Memory,
    heeds: Heeds,
    /// Waves of a CU.
    each: usize,
    /// Known when an operation is over: what acquires learn included, and itself.
    known: Vec<Vec<Known>>,
}

fn join(known: &mut Known, more: &Known) {
    known.iter_mut().zip(more).for_each(|(a, b)| *a = (*a).max(*b));
}

fn knows(known: &Known, place: Place) -> bool {
    usize::from(known[place.0]) > place.1
}

impl<'a> Judge<'a> {
    /// Of a state; `each`: waves of a CU.
    pub fn new(state: &'a Memory, heeds: Heeds, each: usize) -> Judge<'a> {
        let mut judge = Judge { state, heeds, each, known: Vec::new() };
        judge.known = state.waves.iter().map(|own| vec![Known::default(); own.len()]).collect();
        while judge.learn() {}
        judge
    }

    fn of(&self, place: Place) -> &Issued {
        &self.state.waves[place.0][place.1]
    }

    fn places(&self) -> impl Iterator<Item = Place> + '_ {
        self.state.waves.iter().enumerate().flat_map(|(wave, own)| (0..own.len()).map(move |seq| (wave, seq)))
    }

    /// Operations that write a line's data, or its variable.
    fn writes(&self, line: usize, synchronises: bool) -> impl Iterator<Item = Place> + '_ {
        self.places().filter(move |place| {
            let Issued { op, got, .. } = *self.of(*place);
            op.line() == line && op.synchronises() == synchronises && op.writes(got)
        })
    }

    /// One round of what is known; true if that was more than before.
    fn learn(&mut self) -> bool {
        let mut more = false;
        for place @ (wave, seq) in self.places().collect::<Vec<_>>() {
            let mut known = if seq > 0 { self.known[wave][seq - 1] } else { Known::default() };
            known[wave] = seq as u8 + 1;
            for head in self.heads(place) {
                join(&mut known, &self.known[head.0][head.1]);
            }
            more |= known != self.known[wave][seq];
            self.known[wave][seq] = known;
        }
        more
    }

    fn orders(&self, op: Op, half: fn(Op) -> bool) -> bool {
        op.synchronises() && (self.heeds == Heeds::Nothing || half(op))
    }

    /// Releases from which an acquire that is over learns.
    fn heads(&self, place: Place) -> Vec<Place> {
        let mut heads = Vec::new();
        let own = self.of(place);
        if !own.done || !self.orders(own.op, Op::acquires) || self.racy(own.op.line()) {
            return heads;
        }
        let mut at = place;
        while let Some(source) = self.source(at) {
            let from = self.of(source);
            if heads.contains(&source) || source == place {
                break;
            }
            if self.orders(from.op, Op::releases) && self.meets(source, place) {
                heads.push(source);
            }
            at = source;
            if !from.op.reads() {
                break;
            }
        }
        heads
    }

    /// Who has left the value that an access found.
    fn source(&self, place: Place) -> Option<Place> {
        let Issued { op, got, .. } = *self.of(place);
        let got = got.filter(|got| *got != 0)?;
        self.writes(op.line(), true).find(|write| value(write.0, write.1) == got)
    }

    fn meets(&self, a: Place, b: Place) -> bool {
        let scope = |place: Place| match self.of(place).op {
            Op::Sync(_, _, scope, _) if self.heeds == Heeds::Scopes => scope,
            _ => Scope::Remote,
        };
        let (one, two) = (scope(a), scope(b));
        let remote = one == Scope::Remote || two == Scope::Remote;
        a.0 / self.each == b.0 / self.each || remote || (one != Scope::Wg && two != Scope::Wg)
    }

    /// Accesses of a variable, relaxed loads too.
    fn accesses(&self, line: usize) -> Vec<Place> {
        let of_line = |place: &Place| {
            let op = self.of(*place).op;
            op.synchronises() && op.line() == line
        };
        self.places().filter(of_line).collect()
    }

    /// Not all accesses of a line's variable meet.
    pub fn racy(&self, line: usize) -> bool {
        let all = self.accesses(line);
        all.iter().any(|a| all.iter().any(|b| !self.meets(*a, *b)))
    }

    /// What is known before an operation; of one that is not issued yet, after all of its wave.
    fn before(&self, (wave, seq): Place) -> Known {
        if seq > 0 { self.known[wave][seq - 1] } else { Known::default() }
    }

    /// The first write is known to the second one.
    fn is_before(&self, first: Place, second: Place) -> bool {
        first != second && knows(&self.before(second), first)
    }

    /// A plain load may find this value.
    fn may_load(&self, load: Place, line: usize, got: u32) -> bool {
        let known = self.before(load);
        let all: Vec<Place> = self.writes(line, false).collect();
        if got == 0 {
            return !all.iter().any(|write| knows(&known, *write));
        }
        let Some(write) = all.iter().find(|write| value(write.0, write.1) == got) else { return false };
        let own = write.0 != load.0 || write.1 < load.1;
        own && !all.iter().any(|other| knows(&known, *other) && self.is_before(*write, *other))
    }

    /// Judges what a plain load finds; of one that is not issued, a load that comes next.
    ///
    /// # Errors
    /// What is wrong, to go behind who loads.
    pub fn load(&self, load: Place, line: usize, got: u32) -> Result<(), String> {
        if self.may_load(load, line, got) {
            return Ok(());
        }
        let all = std::iter::once(0).chain(self.writes(line, false).map(|write| value(write.0, write.1)));
        let may: Vec<String> = all.filter(|v| self.may_load(load, line, *v)).map(value_text).collect();
        Err(format!("{}; allowed: {}", value_text(got), may.join(", or ")))
    }

    /// Judges the accesses of a variable, and, given a value, an access that reads it now.
    ///
    /// # Errors
    /// No order explains them.
    pub fn variable(&self, line: usize, now: Option<u32>) -> Result<(), String> {
        let relaxed = |place: &Place| matches!(self.of(*place).op, Op::Sync(Access::Ld, 0, ..));
        let all: Vec<Place> = self.accesses(line).into_iter().filter(|place| !relaxed(place)).collect();
        if self.racy(line) || self.explained(&all, 0, 0, now) {
            return Ok(());
        }
        Err(format!("no order of the accesses to variable {} explains what they found", line_name(line)))
    }

    /// Some order of the accesses that are not `placed` explains them behind a value; at its end, or before
    /// what is still open, `now` is read.
    fn explained(&self, all: &[Place], placed: u32, current: u32, now: Option<u32>) -> bool {
        let left = |at: &usize| placed >> at & 1 == 0;
        let over = (0..all.len()).filter(left).all(|at| !self.of(all[at]).done);
        if over && now.is_none_or(|now| now == current) {
            return true;
        }
        (0..all.len()).filter(left).any(|at| {
            let place = all[at];
            let Issued { op, got, .. } = *self.of(place);
            let waits = |other: &usize| {
                let (wave, seq) = all[*other];
                let earlier = wave == place.0 && seq < place.1;
                *other != at && (earlier || self.of(place).before >> (8 * wave + seq) & 1 == 1)
            };
            if (0..all.len()).filter(left).any(|other| waits(&other)) || got.is_some_and(|got| got != current)
            {
                return false;
            }
            let writes = op.writes(if op.reads() { Some(current) } else { None });
            let after = if writes { value(place.0, place.1) } else { current };
            self.explained(all, placed | 1 << at, after, now)
        })
    }

    /// A value of a line's data was written before a release that covers it.
    pub fn covers(&self, release: Place, line: usize, held: u32) -> bool {
        let known = self.before(release);
        self.writes(line, false).any(|write| value(write.0, write.1) == held && knows(&known, write))
    }

    /// Judges what everybody else finds of a line when a release of a wider scope is over: nothing that comes
    /// before a write that it has released.
    ///
    /// # Errors
    /// What is wrong, to go behind who holds it.
    pub fn released(&self, release: Place, line: usize, held: u32) -> Result<(), String> {
        let all: Vec<Place> = self.writes(line, false).collect();
        let written = all.iter().find(|write| value(write.0, write.1) == held);
        let older = |other: &&Place| match written {
            Some(write) => self.is_before(*write, **other),
            None => held == 0,
        };
        let own = all.iter().filter(|write| write.0 == release.0 && write.1 < release.1);
        match own.filter(|write| written != Some(*write)).find(older) {
            Some(newer) => Err(format!(
                "{} though {} is released",
                value_text(held),
                value_text(value(newer.0, newer.1))
            )),
            None => Ok(()),
        }
    }
}

//! Progress watchdog: when requests are open and nothing moves at the ports of the fabric for a long time, it says who waits for whom.
//!
//! Every channel whose sender holds a message that the receiver does not take is an edge from sender to receiver. A circle of such edges is a deadlock; without one, the
//! edges lead to a block that waits inside for something that never comes. Since when a message waits is known from looks at all channels: one every 1024 cycles, and more
//! when the ports have just fallen silent.

pub(crate) mod channels;
mod state;

#[cfg(test)]
mod tests;

use channels::{Channel, End};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use weft_engine::{Design, Sim};

/// Cycles between two looks at all channels.
const LOOK: u64 = 1024;
/// Silent cycles after which the looks are denser.
const SILENT: u64 = 64;

/// After a transfer that ends a silence there is a look in the next cycle that is a multiple of this.
const SOON: u64 = 64;

fn soon(now: u64) -> u64 {
    (now / SOON + 1) * SOON
}

/// After so many silent cycles there is a look at all channels.
fn is_dense(silent: u64) -> bool {
    (SILENT..LOOK).contains(&silent) && silent.is_power_of_two()
}
/// Most lines of each part of a report.
const LISTED: usize = 24;

/// Nothing moves although something is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// Cycle of the report.
    pub cycle: u64,
    /// Last cycle with a transfer at a port of the fabric.
    pub silent_since: u64,
    /// The circle of waiting blocks, one sentence each; empty if there is none.
    pub circle: Vec<String>,
    /// Messages that wait and are not in the circle.
    pub blocked: Vec<String>,
    /// Blocks that wait inside: what they hold.
    pub inside: Vec<String>,
    /// Requests without an answer.
    pub open: Vec<String>,
}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Deadlock { cycle, silent_since, .. } = self;
        write!(
            f,
            "nothing has moved at the ports of the fabric since cycle {silent_since} (now {cycle}), although requests are open"
        )?;
        let parts = [
            ("these blocks wait for each other", &self.circle),
            ("messages that are not taken", &self.blocked),
            ("what the blocks hold", &self.inside),
            ("requests without an answer", &self.open),
        ];
        for (title, lines) in parts.iter().filter(|(_, lines)| !lines.is_empty()) {
            write!(f, "\n{title}:")?;
            for line in lines.iter().take(LISTED) {
                write!(f, "\n  {line}")?;
            }
            if lines.len() > LISTED {
                write!(f, "\n  and {} more", lines.len() - LISTED)?;
            }
        }
        Ok(())
    }
}

/// A message that waits at a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Waiting {
    /// First look that saw it.
    since: u64,
    /// Tells it from other messages.
    hash: u64,
}

/// What changes while a design runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WatchState {
    /// Last cycle with a transfer at a port.
    last: u64,
    /// Next look at all channels.
    next: u64,
    /// By channel number.
    waiting: BTreeMap<u32, Waiting>,
}

impl WatchState {
    fn progress(&mut self, now: u64) {
        if now > self.last + SILENT {
            self.next = self.next.min(soon(now));
        }
        self.last = now;
    }
}

/// The watchdog of one design.
#[derive(Clone, Debug)]
pub struct Watchdog {
    design: Arc<Vec<Channel>>,
    limit: u64,
    line: u64,
    pub(super) s: WatchState,
}

impl Watchdog {
    /// Finds all channels of a design. `limit`: silent cycles that are a deadlock; `line`: bytes of a line, for messages that name lines.
    pub fn new(design: &Design, limit: u64, line: u32) -> Watchdog {
        Watchdog {
            design: Arc::new(channels::find(design)),
            limit,
            line: u64::from(line),
            s: WatchState::default(),
        }
    }

    /// A transfer at a port of the fabric.
    pub fn progress(&mut self, now: u64) {
        self.s.progress(now);
    }

    /// Last cycle with a transfer at a port.
    pub fn moved(&self) -> u64 {
        self.s.last
    }

    /// The first cycle from `now` on in which [`Watchdog::cycle`] may look at the simulation, whatever moves in
    /// it. `moved`: the last cycle with a transfer of which [`Watchdog::progress`] was not told.
    pub fn looks(&self, now: u64, moved: Option<u64>) -> u64 {
        let mut s = WatchState { waiting: BTreeMap::new(), ..self.s };
        if let Some(moved) = moved.filter(|moved| *moved > s.last) {
            s.progress(moved);
        }
        let silent = now.saturating_sub(s.last);
        let dense = (silent..LOOK).find(|silent| is_dense(*silent)).map(|silent| s.last + silent);
        let soon = (silent >= SILENT).then_some(soon(now));
        let limit = s.last.saturating_add(self.limit);
        [s.next, limit].into_iter().chain(dense).chain(soon).min().map_or(now, |first| first.max(now))
    }

    /// To be called in every cycle that is clocked. `open`: requests are without an answer; without one, only a request that stands at a port of the
    /// fabric and is not taken counts.
    ///
    /// # Errors
    /// A deadlock; the caller adds the open requests that it knows.
    pub fn cycle(&mut self, sim: &Sim, open: bool) -> Result<(), Box<Deadlock>> {
        let now = sim.cycle();
        let silent = now.saturating_sub(self.s.last);
        if now >= self.s.next || is_dense(silent) {
            self.look(sim);
        }
        if silent >= self.limit {
            if open || self.stands_at_a_port(sim) {
                return Err(Box::new(self.report(sim)));
            }
            self.s.last = now;
        }
        Ok(())
    }

    /// Notes which messages wait.
    fn look(&mut self, sim: &Sim) {
        let now = sim.cycle();
        self.s.next = now + LOOK;
        let mut waiting = BTreeMap::new();
        for (number, channel) in self.design.iter().enumerate().filter(|(_, c)| c.blocked(sim)) {
            let hash = channel.hash(sim);
            let before = self.s.waiting.get(&(number as u32)).filter(|w| w.hash == hash);
            waiting.insert(number as u32, Waiting { since: before.map_or(now, |w| w.since), hash });
        }
        self.s.waiting = waiting;
    }

    fn stands_at_a_port(&self, sim: &Sim) -> bool {
        self.design.iter().any(|c| matches!(c.from, End::Port(_)) && c.blocked(sim))
    }

    /// Who waits for whom in the present cycle.
    pub fn report(&mut self, sim: &Sim) -> Deadlock {
        self.look(sim);
        let blocked: Vec<usize> = self.s.waiting.keys().map(|number| *number as usize).collect();
        let circle = self.circle(&blocked);
        let design = sim.design();
        let sentence = |number: &usize| {
            let channel = &self.design[*number];
            let since = self.s.waiting[&(*number as u32)].since;
            channel.sentence(sim, since, self.line)
        };
        let rest: Vec<usize> = blocked.iter().filter(|n| !circle.contains(n)).copied().collect();
        // Blocks in the circle, else those that take nothing although they have nothing to send that waits, else all.
        let mut units: Vec<usize> = circle.iter().filter_map(|n| self.design[*n].to.unit()).collect();
        if units.is_empty() {
            let sends = |unit: usize| blocked.iter().any(|n| self.design[*n].from.unit() == Some(unit));
            units = blocked.iter().filter_map(|n| self.design[*n].to.unit()).filter(|u| !sends(*u)).collect();
        }
        if units.is_empty() {
            units = (0..design.units.len()).collect();
        }
        units.sort_unstable();
        units.dedup();
        Deadlock {
            cycle: sim.cycle(),
            silent_since: self.s.last,
            circle: circle.iter().map(sentence).collect(),
            blocked: rest.iter().map(sentence).collect(),
            inside: units.iter().filter_map(|unit| state::describe(sim, *unit, self.line)).collect(),
            open: Vec::new(),
        }
    }

    /// A circle of blocked channels, each one's receiver the next one's sender.
    fn circle(&self, blocked: &[usize]) -> Vec<usize> {
        let mut by_sender: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for number in blocked {
            if let End::Unit { unit, .. } = self.design[*number].from {
                by_sender.entry(unit).or_default().push(*number);
            }
        }
        let mut done = std::collections::BTreeSet::new();
        for start in by_sender.keys() {
            if let Some(circle) = self.walk(*start, &by_sender, &mut done) {
                return circle;
            }
        }
        Vec::new()
    }

    /// Depth first from a unit; `done` holds units from which no circle is reached.
    fn walk(
        &self,
        start: usize,
        by_sender: &BTreeMap<usize, Vec<usize>>,
        done: &mut std::collections::BTreeSet<usize>,
    ) -> Option<Vec<usize>> {
        // The path from the start: a unit, the next of its channels to follow, and the channel by which it was reached.
        let mut path: Vec<(usize, usize)> = vec![(start, 0)];
        let mut taken: Vec<usize> = Vec::new();
        while let Some((unit, next)) = path.last_mut() {
            let channel = by_sender.get(unit).and_then(|list| list.get(*next)).copied();
            *next += 1;
            let Some(channel) = channel else {
                done.insert(*unit);
                path.pop();
                taken.pop();
                continue;
            };
            let Some(to) = self.design[channel].to.unit() else { continue };
            if let Some(first) = path.iter().position(|(unit, _)| *unit == to) {
                let mut circle = taken[first..].to_vec();
                circle.push(channel);
                return Some(circle);
            }
            if !done.contains(&to) {
                path.push((to, 0));
                taken.push(channel);
            }
        }
        None
    }
}

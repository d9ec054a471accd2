//! A bank among devices, above whatever is below it. Devices keep the rules R1 and R2 and answer forwards as spandex.md section 5 says, over networks that keep no order.
//!
//! Every word has a number of versions; a value is the word's base plus its version. Some words are data: one device at a time writes one, whichever way, and the next when that is done. The
//! others are counters: everybody adds 1, at the LLC or as owner, and no version may be left twice. What is read lies between the version that was complete when it was asked for and the
//! last one begun; what owners and sharers hold is never older than what is complete.

mod device;

pub use device::{Back, Dev, Entry, Held, Kind};

use crate::bench::{Bench, Msg};
use rand::Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use weft_rtl::prelude::*;
use weft_spandex::msg::{Fwd, FwdOp, Req, ReqOp, Rsp, RspOp, Wb, WordOp};
use weft_spandex::params::Spandex;

/// What is known of a word.
#[derive(Clone, Copy, Default, Debug)]
pub struct Word {
    /// Versions begun.
    pub begun: u32,
    /// Versions complete.
    pub done: u32,
    /// Who writes it.
    pub writer: Option<usize>,
}

/// Where a message goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// Into a channel of the bank.
    Bank(&'static str),
    /// To a device, network FWD.
    Fwd(usize),
    /// To a device, network RSP.
    Rsp(usize),
}

/// A kind of bank, and what is below it.
pub trait Below: Sized {
    /// Devices send ReqWT to be forwarded.
    const FORWARDS: bool;
    /// The bank.
    fn module(&self) -> Arc<Module>;
    /// Adds the channels of what is below to a bench.
    fn open(&self, b: &mut Bench);
    /// What has been sent below is taken, and answered.
    fn step(w: &mut World<Self>);
    /// Other times from now on.
    fn shuffle(w: &mut World<Self>);
    /// From now on everything comes to its end, and nothing begins.
    fn calm(w: &mut World<Self>);
    /// Nothing is under way below.
    fn quiet(&self) -> bool;
    /// Forgets everything.
    fn reset(&mut self);
    /// What the bank holds of a line.
    fn line(w: &World<Self>, line: u64) -> Option<Line>;
    /// What else has to be true of a line at rest.
    fn check_rest(w: &mut World<Self>, line: u64);
}

/// What of a bank devices know: its messages' widths, its sets.
#[derive(Clone, Debug)]
pub struct Geometry {
    /// Widths.
    pub s: Spandex,
    /// Sets of the bank.
    pub sets: u32,
    /// It keeps the sharers of a line.
    pub sharers: bool,
}

/// Everything.
pub struct World<B> {
    /// Widths and sets.
    pub p: Geometry,
    /// What is below the bank.
    pub below: B,
    /// The bank.
    pub b: Bench,
    /// Lines that are used.
    pub lines: Vec<u64>,
    /// The devices.
    pub devs: Vec<Dev>,
    /// Versions of words; what is not here is as at first.
    pub words: BTreeMap<(u64, u32), Word>,
    /// Versions of counters that somebody has left.
    left: BTreeSet<(u64, u32, u32)>,
    /// Messages on their way, with the cycle in which they may arrive.
    pub post: Vec<(u64, To, Msg)>,
    /// The last words of a line that are known below.
    pub memory: BTreeMap<u64, Vec<u32>>,
    /// Longest time on the way.
    pub delay: u64,
    /// How busy devices are.
    pub rate: f64,
    /// Share of what they begin that only reads, beside what they read anyway.
    pub reads: f64,
    /// What has happened, how often.
    pub done: BTreeMap<String, u64>,
    /// The first thing that was wrong.
    pub complaint: Option<String>,
    /// Everything that the bank has sent, with its cycle.
    pub log: Vec<(u64, To, Msg)>,
}

/// First version of a word; never a device's number.
pub fn base(line: u64, w: u32) -> u32 {
    let mixed = (line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) as u32 ^ w.wrapping_mul(0x85eb_ca6b);
    mixed | 0x4000_0000
}

/// A word is data: every other one, and all of every third line; the others are counters.
pub fn is_data(line: u64, w: u32) -> bool {
    w.is_multiple_of(2) || (line >> 1).is_multiple_of(3)
}

/// Words of a mask.
pub fn each(mask: u64) -> impl Iterator<Item = u32> {
    (0..64).filter(move |w| mask >> w & 1 == 1)
}

impl<B: Below> World<B> {
    /// A bank with idle devices; `count` lines of it are used, in few sets.
    ///
    /// # Panics
    /// When there are not as many kinds as devices.
    pub fn over(below: B, p: Geometry, kinds: &[Kind], count: usize, seed: u64) -> World<B> {
        let s = p.s.clone();
        let s = &s;
        assert_eq!(kinds.len(), s.devs() as usize);
        let mut b = Bench::new(&below.module(), seed);
        b.source::<Req>("req", s);
        b.source::<Wb>("wb", s);
        b.source::<Rsp>("rsp_in", s);
        b.sink::<Rsp>("rsp", s);
        b.sink::<Fwd>("fwd", s);
        below.open(&mut b);
        let bank = u64::from(s.banks) - 1;
        b.set("own", u64::from(s.devs()) + bank);
        let mut lines = Vec::new();
        while lines.len() < count {
            let high = b.rng.random_range(0..4u64) << (s.line_bits() - 3 - s.bank_select());
            let line = (high | b.rng.random_range(0..u64::from(p.sets) * 4)) * u64::from(s.banks) + bank;
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        World {
            p,
            below,
            b,
            lines,
            devs: kinds.iter().map(|kind| Dev::new(*kind)).collect(),
            words: BTreeMap::new(),
            left: BTreeSet::new(),
            post: Vec::new(),
            memory: BTreeMap::new(),
            delay: 20,
            rate: 0.05,
            reads: 0.0,
            done: BTreeMap::new(),
            complaint: None,
            log: Vec::new(),
        }
    }

    /// Mask of a whole line.
    pub fn all(&self) -> u64 {
        u64::MAX >> (64 - self.p.s.words())
    }

    /// Something is wrong.
    pub fn complain(&mut self, text: String) {
        let cycle = self.b.sim.cycle();
        self.complaint.get_or_insert(format!("cycle {cycle}: {text}"));
    }

    /// Something has happened.
    pub fn count(&mut self, what: &str) {
        *self.done.entry(what.to_string()).or_default() += 1;
    }

    /// A word's versions.
    pub fn word(&mut self, line: u64, w: u32) -> &mut Word {
        self.words.entry((line, w)).or_default()
    }

    /// Versions complete now, of all words of a line.
    pub fn floors(&mut self, line: u64) -> Vec<u32> {
        (0..self.p.s.words()).map(|w| self.word(line, w).done).collect()
    }

    /// A value is read that was asked for when `floor` was complete.
    pub fn reads(&mut self, d: usize, (line, w): (u64, u32), value: u32, floor: u32) {
        let begun = self.word(line, w).begun;
        let version = value.wrapping_sub(base(line, w));
        if version < floor || version > begun {
            let text = format!("{d} reads {value:#x} of {line:#x}.{w}: version {}", version as i32);
            self.complain(format!("{text}, not {floor}..{begun}"));
        }
    }

    /// A device begins to write a word of data; the value.
    pub fn begin_write(&mut self, d: usize, line: u64, w: u32) -> u32 {
        let word = self.word(line, w);
        assert!(word.writer.is_none() && is_data(line, w));
        word.writer = Some(d);
        word.begun += 1;
        base(line, w) + word.begun
    }

    /// The write is complete.
    pub fn end_write(&mut self, line: u64, w: u32) {
        let word = self.word(line, w);
        word.writer = None;
        word.done += 1;
    }

    /// Somebody has added 1 to a counter of this value.
    pub fn added(&mut self, d: usize, line: u64, w: u32, old: u32) {
        let version = old.wrapping_sub(base(line, w));
        if !self.left.insert((line, w, version)) {
            self.complain(format!("{d} adds to {line:#x}.{w} of version {version}, as somebody has before"));
        }
        self.word(line, w).done += 1;
    }

    /// A message goes on its way.
    pub fn send(&mut self, to: To, msg: Msg) {
        let now = self.b.sim.cycle();
        let due = now + self.b.rng.random_range(0..=self.delay);
        self.post.push((due, to, msg));
    }

    /// Last words of a line that are known below.
    pub fn line_of(&mut self, line: u64) -> &mut Vec<u32> {
        let words = self.p.s.words();
        self.memory.entry(line).or_insert_with(|| (0..words).map(|w| base(line, w)).collect())
    }

    /// Messages that may arrive do.
    fn deliver(&mut self) {
        let now = self.b.sim.cycle();
        let mut i = 0;
        while i < self.post.len() {
            let (due, to, _) = self.post[i];
            let held = match to {
                To::Fwd(d) => self.devs[d].hold_fwd,
                To::Rsp(d) => self.devs[d].hold_rsp,
                To::Bank(_) => false,
            };
            if due > now || held {
                i += 1;
                continue;
            }
            let (_, to, msg) = self.post.swap_remove(i);
            match to {
                To::Bank(channel) => self.b.send(channel, msg),
                To::Fwd(d) => self.forwarded(d, &msg),
                To::Rsp(d) => self.answered(d, &msg),
            }
        }
    }

    /// What the bank has sent goes on its way.
    fn collect(&mut self) {
        let now = self.b.sim.cycle();
        for (channel, to) in [("fwd", To::Fwd as fn(usize) -> To), ("rsp", To::Rsp)] {
            while let Some((_, m)) = self.b.received(channel) {
                let d = m.get("dst") as usize;
                if d >= self.devs.len() {
                    return self.complain(format!("nobody is called {d}: {m:?}"));
                }
                self.log.push((now, to(d), m.clone()));
                self.send(to(d), m);
            }
        }
        B::step(self);
    }

    /// One cycle; `more`: devices begin new things.
    pub fn step(&mut self, more: bool) {
        for d in 0..self.devs.len() {
            if more && self.b.rng.random_bool(self.rate) {
                self.begin(d);
            }
        }
        self.deliver();
        self.b.advance();
        if let Some(failure) = self.b.sim.failures().first() {
            let text = format!("{failure:?}");
            self.complain(text);
        }
        self.collect();
        if self.b.sim.cycle().is_multiple_of(16) {
            self.check_copies();
        }
    }

    /// What owners and sharers hold is as new as what is complete.
    fn check_copies(&mut self) {
        let now = self.b.sim.cycle();
        for d in 0..self.devs.len() {
            let copies: Vec<((u64, u32), Held)> = self.devs[d].copies.iter().map(|(k, c)| (*k, *c)).collect();
            for (at, copy) in copies {
                let floor = self.word(at.0, at.1).done;
                self.reads(d, at, copy.value, floor);
            }
            let old = self.devs[d].entries.values().find(|e| now > e.since + 15_000).cloned();
            if let Some(entry) = old {
                self.complain(format!("{d} waits for ever: {entry:?}"));
            }
            if self.devs[d].wbs.values().any(|wb| now > wb.since + 15_000) {
                self.complain(format!("a write-back of {d} is never closed"));
            }
        }
    }

    /// Random back-pressure and delays, changed from time to time.
    pub fn shuffle(&mut self) {
        let chances = [0.1, 0.5, 1.0];
        for sink in self.b.sinks.values_mut() {
            sink.chance = chances[self.b.rng.random_range(0..3)];
        }
        for source in self.b.sources.values_mut() {
            source.chance = chances[self.b.rng.random_range(0..3)];
        }
        self.delay = [2, 20, 100][self.b.rng.random_range(0..3)];
        B::shuffle(self);
        self.rate = [0.01, 0.1, 0.5][self.b.rng.random_range(0..3)];
    }

    /// Runs, with everything changing every 300 cycles; stops at the first complaint.
    pub fn run(&mut self, cycles: u64) {
        for cycle in 0..cycles {
            if cycle % 300 == 0 {
                self.shuffle();
            }
            self.step(true);
            self.log.clear();
            if self.complaint.is_some() {
                return;
            }
        }
    }

    /// Nobody waits for anything.
    pub fn quiet(&self) -> bool {
        self.post.is_empty()
            && self.b.sources.values().all(|s| s.queue.is_empty())
            && self.below.quiet()
            && self.devs.iter().all(|d| d.entries.is_empty() && d.wbs.is_empty())
    }

    /// Lets everything come to its end.
    pub fn drain(&mut self) {
        self.b.sinks.values_mut().for_each(|sink| sink.chance = 1.0);
        self.b.sources.values_mut().for_each(|source| source.chance = 1.0);
        for dev in &mut self.devs {
            (dev.hold_fwd, dev.hold_rsp) = (false, false);
        }
        B::calm(self);
        for _ in 0..30_000 {
            if self.complaint.is_some() {
                return;
            }
            // Acks, and evictions that nobody asked for, may still be on their way.
            if self.quiet()
                && (0..40).all(|_| {
                    self.step(false);
                    self.quiet()
                })
            {
                return;
            }
            self.step(false);
        }
        self.complain("something waits for ever".into());
    }

    /// Everything is reset and forgets what it had; memory too.
    pub fn reset(&mut self) {
        self.b.reset();
        for dev in &mut self.devs {
            *dev = Dev::new(dev.kind);
        }
        self.words.clear();
        self.left.clear();
        self.post.clear();
        self.memory.clear();
        self.below.reset();
    }

    /// Steps without new work.
    pub fn rest(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.step(false));
    }

    /// A word of one of the bank's memories.
    ///
    /// # Panics
    /// When there is no such memory.
    pub fn peek(&self, name: &str, row: u32, lane: u32) -> u64 {
        self.b.sim.peek_mem(name, row, lane).unwrap_or_else(|| panic!("no memory {name}")).low_u64()
    }

    /// What the bank holds of a line.
    pub fn line(&self, line: u64) -> Option<Line> {
        B::line(self, line)
    }

    /// At rest: a word is owned exactly by the device in O, sharers are known, and every word has its last version in the one place that counts.
    pub fn check_rest(&mut self) {
        for line in self.lines.clone() {
            let there = self.line(line);
            let exact = self.p.sharers;
            let (state, owned, sharers, words) = match there {
                Some(l) => (l.state, l.owned, l.sharers, l.words),
                None => (0, 0, 0, self.line_of(line).clone()),
            };
            B::check_rest(self, line);
            for w in 0..self.p.s.words() {
                let held: Vec<(usize, Held)> = (0..self.devs.len())
                    .filter_map(|d| self.devs[d].copies.get(&(line, w)).map(|c| (d, *c)))
                    .collect();
                let owner = (owned >> w & 1 == 1).then(|| words[w as usize] as usize);
                let owners: Vec<usize> = held.iter().filter(|(_, c)| c.owned).map(|(d, _)| *d).collect();
                if owners != owner.into_iter().collect::<Vec<_>>() {
                    self.complain(format!("{line:#x}.{w} is owned by {owners:?}, the bank says {owner:?}"));
                }
                let known = |d: usize| state == 2 && (!exact || sharers >> d & 1 == 1);
                let forgotten = held.iter().find(|(d, c)| !c.owned && !known(*d));
                if let Some((d, _)) = forgotten {
                    let text = format!("{d} has {line:#x}.{w} in S, which the bank does not know");
                    self.complain(text);
                }
                let word = *self.word(line, w);
                let last = base(line, w) + word.begun;
                let mut values: Vec<u32> = held.iter().map(|(_, c)| c.value).collect();
                if owner.is_none() {
                    values.push(words[w as usize]);
                }
                if word.begun != word.done || values.iter().any(|v| *v != last) {
                    self.complain(format!(
                        "{line:#x}.{w} at rest: {values:x?} instead of {last:x}, {word:?}"
                    ));
                }
            }
        }
    }

    /// Nothing was wrong.
    ///
    /// # Panics
    /// With the first complaint.
    pub fn check(&self) {
        if let Some(complaint) = &self.complaint {
            panic!("{complaint}");
        }
    }

    /// Runs to the end and looks at everything.
    pub fn finish(&mut self) {
        self.drain();
        if self.complaint.is_none() {
            self.check_rest();
        }
    }

    /// Messages of a kind that the bank has sent since the log was cleared.
    pub fn sent(&self, op: FwdOp) -> Vec<Msg> {
        self.log
            .iter()
            .filter(|(_, to, m)| matches!(to, To::Fwd(_)) && m.get("op") == op as u64)
            .map(|(_, _, m)| m.clone())
            .collect()
    }

    /// Answers of a kind that the bank has sent.
    pub fn answers(&self, op: RspOp) -> Vec<Msg> {
        self.log
            .iter()
            .filter(|(_, to, m)| matches!(to, To::Rsp(_)) && m.get("op") == op as u64)
            .map(|(_, _, m)| m.clone())
            .collect()
    }
}

/// A line in the bank: state 2 is S, whose sharers are known.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its state, as the bank encodes it.
    pub state: u64,
    /// It may differ from what is below.
    pub dirty: bool,
    /// Words that devices own.
    pub owned: u64,
    /// Devices that share it.
    pub sharers: u64,
    /// Its words, of those owned the owners.
    pub words: Vec<u32>,
}

/// The words of a wide value.
pub fn words_of(value: &Bv) -> Vec<u32> {
    (0..value.width() / 32).map(|i| value.slice(32 * i, 32).low_u64() as u32).collect()
}

/// A line as a wide value.
pub fn wide(words: &[u32]) -> Bv {
    Bv::concat(&words.iter().map(|w| Bv::from_u64(u64::from(*w), 32)).collect::<Vec<_>>())
}

/// Names of request kinds, for counts.
pub fn name_of(op: ReqOp, amo: WordOp) -> &'static str {
    match op {
        ReqOp::ReqV => "ReqV",
        ReqOp::ReqS => "ReqS",
        ReqOp::ReqWt => "ReqWT",
        ReqOp::ReqO => "ReqO",
        ReqOp::ReqWtData if amo == WordOp::Read => "READ",
        ReqOp::ReqWtData => "ADD",
        ReqOp::ReqOData => "ReqO+data",
    }
}

//! What is below the device: banks, and other devices that want the same words. Each word has an owner; every message is delayed at random and overtakes others (spandex.md sections 2
//! and 4). Other devices commit at once and answer in the end; only what the device under test sees is sent.
//!
//! | words | written by | checked |
//! | --- | --- | --- |
//! | private | one thread of the device | exactly by that thread; by others between what is acknowledged and what is issued |
//! | foreign | other devices, one number higher each time | between what is complete and what is begun |
//! | atomic | everybody, by fetch-and-add of 1 | every old value comes once |

use crate::tu_mesi::device::OWN;
use rand::Rng;
use rand::rngs::SmallRng;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use weft_rtl::bv::Bv;
use weft_spandex::msg::{Fwd, FwdOp, ReqOp, Rsp, RspOp};
use weft_spandex::params::Spandex;
use weft_spandex_bench::bench::Msg;

/// Another device.
const OTHER: u64 = 3;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    Llc,
    Dut,
    Other,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Private(usize),
    Foreign,
    Atomic,
}

/// A word.
#[derive(Clone, Debug)]
pub struct Word {
    pub kind: Kind,
    pub owner: Owner,
    /// Its value, while the device under test does not own it.
    pub value: u32,
    /// Another device owns it and waits for its data.
    pending: bool,
    /// Value with which the device got it, and whether that was dirty.
    given: Option<(u32, bool)>,
    /// What every load that begins now sees at least.
    pub done: u32,
    /// What has been written at most.
    pub max: u32,
    /// A write of another device is not complete.
    writing: bool,
}

/// Something that wants a line.
#[derive(Clone, Debug)]
enum Todo {
    Dut { op: u64, tag: u64, option: u32 },
    WriteO(u64),
    Take(u64),
    WriteThrough(u64),
    Atomic(u64),
    ReadS(u64),
    ReadV(u64),
    Evict,
}

impl Todo {
    fn words(&self, all: u64) -> u64 {
        match self {
            Todo::Dut { .. } | Todo::Evict => all,
            Todo::WriteO(m) | Todo::Take(m) | Todo::WriteThrough(m) | Todo::Atomic(m) => *m,
            Todo::ReadS(m) | Todo::ReadV(m) => *m,
        }
    }
}

/// Phase 1 of a request.
struct Busy {
    ack: bool,
    rv: u64,
    rvm: u64,
    then: Todo,
}

/// A line.
#[derive(Default)]
pub struct Line {
    pub words: Vec<Word>,
    shared: bool,
    pub sharer: bool,
    busy: Option<Busy>,
    queue: VecDeque<Todo>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    /// Ownership without data, for a write that is complete with it.
    Grant(RspOp),
    Data,
    Shared,
    Read {
        direct: bool,
    },
    Through {
        direct: bool,
    },
}

/// An answer that another device waits for.
#[derive(Debug)]
struct Await {
    tag: u64,
    line: u64,
    left: u64,
    what: What,
    low: Vec<u32>,
}

/// Banks and other devices.
pub struct Llc {
    p: Spandex,
    pub lines: BTreeMap<u64, Line>,
    awaits: Vec<Await>,
    net: Vec<(u64, bool, Msg)>,
    /// Old values of atomics.
    pub olds: BTreeMap<(u64, usize), BTreeSet<u32>>,
    /// Longest delay.
    pub slow: u64,
    /// RvkO takes the words asked for only.
    pub word_revoke: bool,
    /// Options of ReqS that are chosen.
    pub options: Vec<u32>,
    pub rate: f64,
}

fn bits(mask: u64) -> impl Iterator<Item = usize> {
    (0..64).filter(move |w| mask >> w & 1 == 1)
}

impl Llc {
    pub fn new(p: &Spandex, lines: &[u64], threads: usize) -> Llc {
        let word = |line: u64, w: usize| Word {
            kind: match (w + line as usize) % 4 {
                0 => Kind::Foreign,
                1 => Kind::Atomic,
                _ => Kind::Private((w / 2 + line as usize) % threads),
            },
            owner: Owner::Llc,
            value: 0,
            pending: false,
            given: None,
            done: 0,
            max: 0,
            writing: false,
        };
        let line = |line: &u64| {
            let words = (0..p.words() as usize).map(|w| word(*line, w)).collect();
            (*line, Line { words, ..Line::default() })
        };
        Llc {
            p: p.clone(),
            lines: lines.iter().map(line).collect(),
            awaits: Vec::new(),
            net: Vec::new(),
            olds: BTreeMap::new(),
            slow: 20,
            word_revoke: false,
            options: vec![1, 3],
            rate: 0.1,
        }
    }

    fn all(&self) -> u64 {
        (1 << self.p.words()) - 1
    }

    fn bank(&self, line: u64) -> u64 {
        u64::from(self.p.devs()) + line % u64::from(self.p.banks)
    }

    pub fn word(&self, line: u64, w: usize) -> &Word {
        &self.lines[&line].words[w]
    }

    pub fn word_mut(&mut self, line: u64, w: usize) -> &mut Word {
        &mut self.lines.get_mut(&line).expect("a line").words[w]
    }

    fn line_mut(&mut self, line: u64) -> &mut Line {
        self.lines.get_mut(&line).expect("a line")
    }

    fn where_owner(&self, line: u64, owner: Owner) -> u64 {
        let words = self.lines[&line].words.iter().enumerate();
        words.filter(|(_, x)| x.owner == owner).map(|(w, _)| 1 << w).sum()
    }

    fn of_kind(&self, line: u64, kind: Kind) -> u64 {
        let words = self.lines[&line].words.iter().enumerate();
        words.filter(|(_, x)| x.kind == kind).map(|(w, _)| 1 << w).sum()
    }

    /// Nothing is under way.
    pub fn quiet(&self) -> bool {
        let idle = self.lines.values().all(|l| l.busy.is_none() && l.queue.is_empty());
        self.awaits.is_empty() && self.net.is_empty() && idle
    }

    pub fn describe(&self) -> String {
        let busy: Vec<String> = self
            .lines
            .iter()
            .filter(|(_, l)| l.busy.is_some() || !l.queue.is_empty())
            .map(|(n, l)| {
                let busy = l.busy.as_ref().map(|b| (b.ack, b.rv, b.rvm, b.then.clone()));
                format!("{n:#x}: {busy:?} {:?}", l.queue)
            })
            .collect();
        format!("{busy:?} {:?} {} messages", self.awaits, self.net.len())
    }

    /// Values of a line as a message has them.
    fn data(&self, values: &[u32]) -> Bv {
        let limbs: Vec<u64> = values.chunks(2).map(|c| u64::from(c[0]) | u64::from(c[1]) << 32).collect();
        Bv::from_limbs(&limbs, self.p.data_bits())
    }

    fn values(&self, line: u64) -> Vec<u32> {
        self.lines[&line].words.iter().map(|w| w.value).collect()
    }

    fn post(&mut self, fwd: bool, m: Msg, now: u64, rng: &mut SmallRng) {
        let late = if rng.random_bool(0.1) { rng.random_range(0..10 * self.slow) } else { 0 };
        self.net.push((now + rng.random_range(1..=self.slow) + late, fwd, m));
    }

    fn respond(
        &mut self,
        op: RspOp,
        line: u64,
        mask: u64,
        more: &[(&str, u64)],
        now: u64,
        rng: &mut SmallRng,
    ) {
        let values = self.values(line);
        let fields = [
            ("op", op as u64),
            ("line", line),
            ("mask", mask),
            ("dst", OWN),
            ("extra", 0),
            ("direct", 0),
            ("dirty", 0),
            ("src", self.bank(line)),
        ];
        let mut all: BTreeMap<&str, u64> = fields.into_iter().collect();
        all.extend(more.iter().copied());
        let all: Vec<(&str, u64)> = all.into_iter().collect();
        let m = Msg::of::<Rsp>(&self.p, &all).with("data", self.data(&values));
        self.post(false, m, now, rng);
    }

    fn forward(&mut self, op: FwdOp, line: u64, fields: &[(&str, u64)], now: u64, rng: &mut SmallRng) {
        let base = [
            ("op", op as u64),
            ("line", line),
            ("mask", 0),
            ("own", 0),
            ("src", self.bank(line)),
            ("dst", OWN),
            ("req", OTHER),
            ("tag", 0),
            ("tbe", line % u64::from(self.p.tbes)),
            ("flex", 0),
            ("for_wt", 0),
            ("direct", 0),
        ];
        let mut all: BTreeMap<&str, u64> = base.into_iter().collect();
        all.extend(fields.iter().copied());
        let all: Vec<(&str, u64)> = all.into_iter().collect();
        let m = Msg::of::<Fwd>(&self.p, &all);
        let m = if op == FwdOp::ReqWt {
            let values: Vec<u32> = self.lines[&line].words.iter().map(|w| w.max).collect();
            m.with("data", self.data(&values))
        } else {
            m
        };
        self.post(true, m, now, rng);
    }

    /// Another device waits for words; its transaction, if one is free.
    fn wait(&mut self, line: u64, left: u64, what: What) -> u64 {
        let used: BTreeSet<u64> = self.awaits.iter().map(|a| a.tag).collect();
        let tag = (0..1 << self.p.tag_bits()).find(|t| !used.contains(t)).expect("a transaction is free");
        let low = self.lines[&line].words.iter().map(|w| w.done).collect();
        self.awaits.push(Await { tag, line, left, what, low });
        tag
    }

    fn crowded(&self) -> bool {
        self.awaits.len() + 4 > 1 << self.p.tag_bits()
    }

    /// A value that the device has sent.
    fn check(&self, line: u64, w: usize, value: u32, low: u32) {
        let word = self.word(line, w);
        if word.kind == Kind::Atomic {
            return;
        }
        assert!(
            (low..=word.max).contains(&value),
            "line {line:#x} word {w}: {value} is sent, which should be in {low}..={}: {word:?}",
            word.max
        );
    }

    /// A word comes back to the LLC or goes to another device with its value.
    fn returned(&mut self, line: u64, w: usize, value: u32, dirty: bool) {
        let low = self.word(line, w).done;
        self.check(line, w, value, low);
        let word = self.word_mut(line, w);
        if let (Some((given, was)), false) = (word.given, dirty) {
            assert!(value == given && !was, "line {line:#x} word {w} is not clean: {value}, {word:?}");
        }
        word.given = None;
        word.value = value;
    }

    /// A request of the device.
    pub fn request(&mut self, m: &Msg, rng: &mut SmallRng) {
        assert_eq!(m.get("mask"), self.all());
        assert_eq!(m.get("src"), OWN);
        let line = m.get("line");
        assert_eq!(m.get("dst"), self.bank(line));
        let option = self.options[rng.random_range(0..self.options.len())];
        let todo = Todo::Dut { op: m.get("op"), tag: m.get("tag"), option };
        self.line_mut(line).queue.push_back(todo);
    }

    /// ReqWB of the device.
    pub fn write_back(&mut self, m: &Msg, now: u64, rng: &mut SmallRng) {
        let (line, mask, dirty) = (m.get("line"), m.get("mask"), m.get("dirty") == 1);
        assert_eq!(m.get("dst"), self.bank(line));
        let rvm = self.lines[&line].busy.as_ref().map_or(0, |b| b.rvm);
        let mut cross = 0;
        for w in bits(mask) {
            let value = m.wide("data").slice(32 * w as u32, 32).low_u64() as u32;
            if self.word(line, w).owner == Owner::Dut {
                self.returned(line, w, value, dirty);
                self.word_mut(line, w).owner = Owner::Llc;
                cross |= rvm & 1 << w;
            } else {
                cross |= 1 << w;
            }
        }
        let more = [("tag", m.get("tag")), ("extra", cross)];
        self.respond(RspOp::RspWb, line, mask, &more, now, rng);
    }

    /// A response of the device.
    pub fn response(&mut self, m: &Msg, now: u64, rng: &mut SmallRng) {
        let is = |op: RspOp| m.get("op") == op as u64;
        let (line, mask) = (m.get("line"), m.get("mask"));
        assert_eq!(m.get("src"), OWN);
        if is(RspOp::Ack) || is(RspOp::RspRvkO) {
            assert_eq!(m.get("dst"), self.bank(line));
            assert_eq!(m.get("tag"), line % u64::from(self.p.tbes));
            self.bank_response(line, m);
            return;
        }
        assert_eq!(m.get("dst"), OTHER);
        let tag = m.get("tag");
        let at = self.awaits.iter().position(|a| a.tag == tag);
        let at = at.unwrap_or_else(|| panic!("nobody waits for {m:?}"));
        let (what, low) = (self.awaits[at].what, self.awaits[at].low.clone());
        assert_eq!(self.awaits[at].line, line);
        assert!(mask != 0 && mask & !self.awaits[at].left == 0, "{m:?} answers {:?}", self.awaits[at]);
        self.awaits[at].left &= !mask;
        if self.awaits[at].left == 0 {
            self.awaits.remove(at);
        }
        let value = |w: usize| m.wide("data").slice(32 * w as u32, 32).low_u64() as u32;
        match what {
            What::Grant(op) => {
                assert!(is(op), "{m:?}");
                bits(mask).for_each(|w| self.complete(line, w));
            }
            What::Data => {
                assert!(is(RspOp::RspOData), "{m:?}");
                bits(mask).for_each(|w| self.taken(line, w, value(w), m.get("dirty") == 1));
            }
            What::Shared => {
                assert!(is(RspOp::RspS), "{m:?}");
                bits(mask).for_each(|w| self.check(line, w, value(w), low[w]));
            }
            What::Read { direct } => {
                assert!(is(RspOp::RspV) || is(RspOp::NackV), "{m:?}");
                assert_eq!(is(RspOp::NackV) && direct, m.get("direct") == 1 && is(RspOp::NackV));
                if is(RspOp::RspV) {
                    bits(mask | m.get("extra")).for_each(|w| self.check(line, w, value(w), low[w]));
                }
            }
            What::Through { direct } => {
                assert!(is(RspOp::RspWt) || is(RspOp::NackWt), "{m:?}");
                if is(RspOp::RspWt) {
                    bits(mask).for_each(|w| self.complete(line, w));
                } else {
                    assert_eq!(direct, m.get("direct") == 1);
                    self.line_mut(line).queue.push_back(Todo::WriteThrough(mask));
                }
            }
        }
        let _ = (now, rng);
    }

    /// A write of another device is complete.
    fn complete(&mut self, line: u64, w: usize) {
        let word = self.word_mut(line, w);
        (word.done, word.writing) = (word.max, false);
    }

    /// Another device has ownership and data.
    fn taken(&mut self, line: u64, w: usize, value: u32, dirty: bool) {
        self.returned(line, w, value, dirty);
        self.word_mut(line, w).pending = false;
        self.work(line, w);
    }

    /// Another device that owns a word with its data works on it.
    fn work(&mut self, line: u64, w: usize) {
        let word = self.word_mut(line, w);
        match word.kind {
            Kind::Private(_) => {}
            Kind::Foreign if word.writing => {}
            Kind::Foreign => {
                word.max += 1;
                (word.value, word.done) = (word.max, word.max);
            }
            Kind::Atomic => self.add(line, w),
        }
    }

    fn add(&mut self, line: u64, w: usize) {
        let old = self.word(line, w).value;
        self.note_old(line, w, old);
        self.word_mut(line, w).value = old + 1;
    }

    /// The old value of an atomic.
    pub fn note_old(&mut self, line: u64, w: usize, old: u32) {
        let new = self.olds.entry((line, w)).or_default().insert(old);
        assert!(new, "line {line:#x} word {w}: two atomics have found {old}");
    }

    fn bank_response(&mut self, line: u64, m: &Msg) {
        let mask = m.get("mask");
        let Some(busy) = &mut self.line_mut(line).busy else { panic!("nobody waits for {m:?}") };
        if m.get("op") == RspOp::Ack as u64 {
            assert!(busy.ack, "an Ack too many of line {line:#x}");
            busy.ack = false;
            let l = self.line_mut(line);
            l.sharer = false;
            return;
        }
        assert!(mask != 0 && mask & !busy.rv == 0, "{m:?} is not awaited: {:#x}", busy.rv);
        busy.rv &= !mask;
        if m.get("nodata") == 1 {
            assert_eq!(m.get("kept_s"), 0);
            return;
        }
        for w in bits(mask) {
            let value = m.wide("data").slice(32 * w as u32, 32).low_u64() as u32;
            assert_eq!(self.word(line, w).owner, Owner::Dut);
            self.returned(line, w, value, m.get("dirty") == 1);
            self.word_mut(line, w).owner = Owner::Llc;
        }
        if m.get("kept_s") == 1 {
            let l = self.line_mut(line);
            assert!(matches!(l.busy.as_ref().expect("busy").then, Todo::ReadS(_)));
            l.sharer = true;
        }
    }

    /// What is due and need not wait is done; other devices want something.
    pub fn tick(&mut self, now: u64, rng: &mut SmallRng) {
        for line in self.lines.keys().copied().collect::<Vec<_>>() {
            let owned = self.where_owner(line, Owner::Dut);
            let l = self.line_mut(line);
            if let Some(busy) = &l.busy {
                if !busy.ack && busy.rv == 0 && busy.rvm & owned == 0 {
                    let then = l.busy.take().expect("busy").then;
                    self.commit(line, then, now, rng);
                }
            } else if let Some(todo) = l.queue.front() {
                let words = todo.words((1 << l.words.len()) - 1);
                if bits(words).all(|w| !l.words[w].pending) && !self.crowded() {
                    let todo = self.line_mut(line).queue.pop_front().expect("there");
                    self.begin(line, todo, now, rng);
                }
            }
        }
        if rng.random_bool(self.rate) {
            self.others(now, rng);
        }
    }

    /// Another device wants something of some line.
    fn others(&mut self, now: u64, rng: &mut SmallRng) {
        let lines: Vec<u64> = self.lines.keys().copied().collect();
        let line = lines[rng.random_range(0..lines.len())];
        if self.crowded() || self.lines[&line].queue.len() > 2 {
            return;
        }
        let some = if rng.random_bool(0.3) { self.all() } else { rng.random_range(1..=self.all()) };
        let foreign = self.of_kind(line, Kind::Foreign);
        let free: u64 = bits(foreign & some).filter(|w| !self.word(line, *w).writing).map(|w| 1 << w).sum();
        let atomic = self.of_kind(line, Kind::Atomic) & some;
        let todo = match rng.random_range(0..11) {
            0 | 1 if free != 0 => Todo::WriteO(self.begin_write(line, free)),
            2 if free != 0 => Todo::WriteThrough(self.begin_write(line, free)),
            3 if free != 0 => return self.write_at_owner(line, free, rng.random(), now, rng),
            4 if atomic != 0 => Todo::Atomic(atomic),
            5 => Todo::ReadS(some),
            6 => Todo::ReadV(some),
            7 => return self.read_directly(line, some, now, rng),
            8 => Todo::Evict,
            _ => Todo::Take(some),
        };
        self.line_mut(line).queue.push_back(todo);
    }

    fn begin_write(&mut self, line: u64, mask: u64) -> u64 {
        for w in bits(mask) {
            let word = self.word_mut(line, w);
            word.max += 1;
            word.writing = true;
        }
        mask
    }

    /// ReqWT with `fwd`, or direct: words are written where they are owned.
    fn write_at_owner(&mut self, line: u64, mask: u64, direct: bool, now: u64, rng: &mut SmallRng) {
        let owned = self.where_owner(line, Owner::Dut);
        let idle = self.lines[&line].busy.is_none();
        if !direct && (mask & !owned != 0 || !idle) {
            return;
        }
        self.begin_write(line, mask);
        let tag = self.wait(line, mask, What::Through { direct });
        let fields = [("mask", mask), ("tag", tag), ("direct", u64::from(direct))];
        self.forward(FwdOp::ReqWt, line, &fields, now, rng);
    }

    fn read_directly(&mut self, line: u64, mask: u64, now: u64, rng: &mut SmallRng) {
        let tag = self.wait(line, mask, What::Read { direct: true });
        self.forward(FwdOp::ReqV, line, &[("mask", mask), ("tag", tag), ("direct", 1)], now, rng);
    }

    /// Phase 1, if one is needed.
    fn begin(&mut self, line: u64, todo: Todo, now: u64, rng: &mut SmallRng) {
        let (dut, other) = (self.where_owner(line, Owner::Dut), self.where_owner(line, Owner::Other));
        let words = todo.words(self.all());
        let (mut ack, mut rv) = (false, 0);
        let l = &self.lines[&line];
        match &todo {
            Todo::WriteO(_) | Todo::Take(_) | Todo::WriteThrough(_) | Todo::Atomic(_) => {
                let free = words & !dut & !other != 0;
                ack = l.shared && free && l.sharer;
                if l.shared && free {
                    self.line_mut(line).shared = false;
                }
                if let (Todo::Atomic(_), true) = (&todo, words & dut != 0) {
                    rv = if self.word_revoke { words & dut } else { dut };
                    self.forward(FwdOp::RvkO, line, &[("own", rv)], now, rng);
                }
            }
            Todo::ReadS(_) if dut != 0 => {
                rv = dut;
                let tag = self.wait(line, (words & dut).max(dut & dut.wrapping_neg()), What::Shared);
                let mask = self.awaits.last().expect("pushed").left;
                self.forward(FwdOp::ReqS, line, &[("own", rv), ("mask", mask), ("tag", tag)], now, rng);
            }
            Todo::Evict => {
                ack = l.sharer;
                rv = dut;
                self.line_mut(line).shared = false;
                if rv != 0 {
                    self.forward(FwdOp::RvkO, line, &[("own", rv)], now, rng);
                }
            }
            _ => {}
        }
        if ack {
            self.forward(FwdOp::Inv, line, &[], now, rng);
        }
        if ack || rv != 0 {
            self.line_mut(line).busy = Some(Busy { ack, rv, rvm: rv, then: todo });
        } else {
            self.commit(line, todo, now, rng);
        }
    }

    /// All words of a request change in one step.
    fn commit(&mut self, line: u64, todo: Todo, now: u64, rng: &mut SmallRng) {
        let dut = self.where_owner(line, Owner::Dut);
        match todo {
            Todo::Dut { op, tag, option } => self.commit_dut(line, op, tag, option, now, rng),
            Todo::WriteO(mask) | Todo::WriteThrough(mask) => {
                let through = matches!(todo, Todo::WriteThrough(_));
                for w in bits(mask) {
                    let word = self.word_mut(line, w);
                    word.owner = if through { Owner::Llc } else { Owner::Other };
                    (word.value, word.given) = (word.max, None);
                }
                bits(mask & !dut).for_each(|w| self.complete(line, w));
                if mask & dut != 0 {
                    let op = if through { RspOp::RspWt } else { RspOp::RspO };
                    let tag = self.wait(line, mask & dut, What::Grant(op));
                    let fields = [("mask", mask & dut), ("tag", tag), ("for_wt", u64::from(through))];
                    self.forward(FwdOp::ReqO, line, &fields, now, rng);
                }
            }
            Todo::Take(mask) => {
                for w in bits(mask) {
                    let word = self.word_mut(line, w);
                    word.owner = Owner::Other;
                    word.pending = dut >> w & 1 == 1;
                }
                bits(mask & !dut).for_each(|w| self.work(line, w));
                if mask & dut != 0 {
                    let tag = self.wait(line, mask & dut, What::Data);
                    self.forward(FwdOp::ReqOData, line, &[("mask", mask & dut), ("tag", tag)], now, rng);
                }
            }
            Todo::Atomic(mask) => {
                for w in bits(mask) {
                    self.word_mut(line, w).owner = Owner::Llc;
                    self.add(line, w);
                }
            }
            Todo::ReadS(_) => {
                for word in &mut self.line_mut(line).words {
                    word.owner = Owner::Llc;
                }
                self.line_mut(line).shared = true;
            }
            Todo::ReadV(mask) if mask & dut != 0 => {
                let tag = self.wait(line, mask & dut, What::Read { direct: false });
                let fields = [("mask", mask & dut), ("tag", tag), ("flex", rng.random_range(0..2))];
                self.forward(FwdOp::ReqV, line, &fields, now, rng);
            }
            Todo::ReadV(_) => {}
            Todo::Evict => {
                for word in &mut self.line_mut(line).words {
                    word.owner = Owner::Llc;
                }
            }
        }
    }

    /// A request of the device: answered by the bank for its own words, by another device for those it owns.
    fn commit_dut(&mut self, line: u64, op: u64, tag: u64, option: u32, now: u64, rng: &mut SmallRng) {
        assert_eq!(self.where_owner(line, Owner::Dut), 0, "R1: the device asks for words that it owns");
        let other = self.where_owner(line, Owner::Other);
        let own = op == ReqOp::ReqOData as u64;
        assert!(own || op == ReqOp::ReqS as u64);
        let option = if self.lines[&line].shared && option == 3 { 1 } else { option };
        let grants = own || option == 3;
        let mut parts = vec![(self.all() & !other, self.bank(line))];
        let some = rng.random_range(0..=self.all());
        parts.extend([(other & some, OTHER), (other & !some, 2)]);
        for (mask, src) in parts.into_iter().filter(|p| p.0 != 0) {
            let dirty = u64::from(grants && src < u64::from(self.p.devs()) && rng.random());
            let more = [("tag", tag), ("src", src), ("dirty", dirty)];
            let kind = match (grants, option) {
                (true, _) => RspOp::RspOData,
                (false, 1) => RspOp::RspS,
                _ if src < u64::from(self.p.devs()) && rng.random_bool(0.5) => RspOp::NackV,
                _ => RspOp::RspV,
            };
            self.respond(kind, line, mask, &more, now, rng);
            for w in bits(mask).filter(|_| grants) {
                let word = self.word_mut(line, w);
                (word.owner, word.given) = (Owner::Dut, Some((word.value, dirty == 1)));
            }
        }
        let l = self.line_mut(line);
        if grants {
            (l.shared, l.sharer) = (false, false);
        } else if option == 1 {
            (l.shared, l.sharer) = (true, true);
            l.words.iter_mut().for_each(|w| w.owner = Owner::Llc);
        }
    }

    /// A message to deliver now, if any; they overtake each other.
    pub fn deliver(&mut self, now: u64, fwd: bool, rng: &mut SmallRng) -> Option<Msg> {
        let due: Vec<usize> =
            (0..self.net.len()).filter(|i| self.net[*i].0 <= now && self.net[*i].1 == fwd).collect();
        (!due.is_empty()).then(|| self.net.swap_remove(due[rng.random_range(0..due.len())]).2)
    }

    /// Every line is evicted.
    pub fn evict_all(&mut self) {
        self.lines.values_mut().for_each(|l| l.queue.push_back(Todo::Evict));
    }
}

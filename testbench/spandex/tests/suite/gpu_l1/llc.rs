//! What is behind the translation unit: banks that serialise requests, other devices that own words and lose them, and a network in which every message takes its own time.

use crate::words::{LINE, OPS, WORDS, bits, result, word_in};
use rand::Rng;
use rand::rngs::SmallRng;
use std::collections::{BTreeMap, BTreeSet};
use weft_bench::{Msg, random_bits};
use weft_rtl::bv::Bv;
use weft_spandex::msg::{ReqOp, Rsp, RspOp};
use weft_spandex::params::Spandex;

/// The device under test.
pub const OWN: u64 = 2;
/// The other devices.
pub const OTHERS: [u64; 3] = [0, 1, 3];
/// A message on its way, or something that happens later.
#[derive(Clone, Debug)]
enum Event {
    Request(Msg),
    /// To a device: a forwarded read.
    Read(u64, Msg),
    /// To a device: words of a write-through that it owned, to be answered; or words that it has lost to another device.
    Remove(u64, Vec<u64>, Option<Msg>),
    Response(Msg),
}

/// Banks, owners, network.
pub struct Llc {
    pub p: Spandex,
    /// Words at the LLC; those owned stand in `copies`.
    values: BTreeMap<u64, u32>,
    owner: BTreeMap<u64, u64>,
    /// What a device believes to own.
    copies: BTreeMap<(u64, u64), u32>,
    /// Copies that a forward under way will remove.
    leaving: BTreeSet<(u64, u64)>,
    events: Vec<(u64, Event)>,
    /// Longest delay.
    pub slow: u64,
    /// Requests taken, as (operation, line, mask).
    pub log: Vec<(ReqOp, u64, u64)>,
    /// Owners refuse every forwarded read: it always finds its words gone.
    pub refuses: bool,
    /// Responses that are kept back.
    pub hold: Vec<RspOp>,
}

impl Llc {
    pub fn new(p: &Spandex) -> Llc {
        Llc {
            p: p.clone(),
            values: BTreeMap::new(),
            owner: BTreeMap::new(),
            copies: BTreeMap::new(),
            leaving: BTreeSet::new(),
            events: Vec::new(),
            slow: 20,
            log: Vec::new(),
            refuses: false,
            hold: Vec::new(),
        }
    }

    /// The value that whoever synchronises must see.
    pub fn word(&self, addr: u64) -> u32 {
        let at_llc = || self.values.get(&addr).copied().unwrap_or(0);
        self.owner.get(&addr).map_or_else(at_llc, |dev| self.copies[&(*dev, addr)])
    }

    fn later(&mut self, now: u64, rng: &mut SmallRng, event: Event) {
        // Now and then a message takes so long that whole critical sections lie between.
        let long = if rng.random_bool(0.03) { 10 * self.slow } else { self.slow };
        self.events.push((now + rng.random_range(1..=long), event));
    }

    /// A request leaves the device.
    pub fn request(&mut self, m: Msg, now: u64, rng: &mut SmallRng) {
        assert_eq!(m.get("src"), OWN);
        let home = u64::from(self.p.devs()) + m.get("line") % u64::from(self.p.banks);
        assert_eq!(m.get("dst"), home, "{m:?}");
        self.later(now, rng, Event::Request(m));
    }

    fn answer(&self, to: &Msg, op: RspOp, src: u64, mask: u64) -> Msg {
        let fields = [
            ("op", op as u64),
            ("line", to.get("line")),
            ("mask", mask),
            ("extra", 0),
            ("src", src),
            ("dst", OWN),
            ("tag", to.get("tag")),
            ("direct", 0),
        ];
        Msg::of::<Rsp>(&self.p, &fields)
    }

    /// Words of a line in place, garbage elsewhere.
    fn data(&self, words: &BTreeMap<u64, u32>, rng: &mut SmallRng) -> Bv {
        let mut data = random_bits(rng, self.p.data_bits());
        for (addr, value) in words {
            for bit in 0..32 {
                data.set_bit((8 * (addr % LINE)) as u32 + bit, value >> bit & 1 == 1);
            }
        }
        data
    }

    /// What is due happens, in any order; responses for the device under test.
    pub fn tick(&mut self, now: u64, rng: &mut SmallRng) -> Vec<Msg> {
        let mut out = Vec::new();
        loop {
            let due: Vec<usize> = (0..self.events.len()).filter(|i| self.is_due(*i, now)).collect();
            if due.is_empty() {
                return out;
            }
            match self.events.swap_remove(due[rng.random_range(0..due.len())]).1 {
                Event::Request(m) => self.serve(&m, now, rng),
                Event::Read(dev, m) => self.forwarded_read(dev, &m, now, rng),
                Event::Remove(dev, addrs, m) => self.removed(dev, &addrs, m, now, rng),
                Event::Response(m) => out.push(m),
            }
        }
    }

    fn is_due(&self, at: usize, now: u64) -> bool {
        let (due, event) = &self.events[at];
        let held = |m: &Msg| self.hold.iter().any(|op| *op as u64 == m.get("op"));
        *due <= now && !matches!(event, Event::Response(m) if held(m))
    }

    fn respond(&mut self, m: Msg, now: u64, rng: &mut SmallRng) {
        self.later(now, rng, Event::Response(m));
    }

    /// A bank serves a request: all its words in one step.
    fn serve(&mut self, m: &Msg, now: u64, rng: &mut SmallRng) {
        let (line, mask) = (m.get("line"), m.get("mask"));
        let addrs: Vec<u64> = bits(mask).map(|w| line * LINE + 4 * w).collect();
        let kinds = [ReqOp::ReqV, ReqOp::ReqWt, ReqOp::ReqWtData];
        let op = *kinds.iter().find(|k| **k as u64 == m.get("op")).expect("R1: no request for ownership");
        self.log.push((op, line, mask));
        let bank = m.get("dst");
        match op {
            ReqOp::ReqV => self.read(m, &addrs, now, rng),
            ReqOp::ReqWt => {
                let (owned, free): (Vec<u64>, Vec<u64>) =
                    addrs.iter().partition(|a| self.owner.contains_key(a));
                for dev in OTHERS {
                    let here: Vec<u64> = owned.iter().copied().filter(|a| self.owner[a] == dev).collect();
                    if !here.is_empty() {
                        self.leaving.extend(here.iter().map(|a| (dev, *a)));
                        self.later(now, rng, Event::Remove(dev, here, Some(m.clone())));
                    }
                }
                for a in &addrs {
                    self.owner.remove(a);
                    self.values.insert(*a, word_in(m, *a));
                }
                if !free.is_empty() {
                    let rsp = self.answer(m, RspOp::RspWt, bank, mask_of(&free));
                    self.respond(rsp, now, rng);
                }
            }
            _ => {
                addrs.iter().for_each(|a| self.revoke(*a));
                let op = OPS[m.get("amo") as usize];
                let mut old = BTreeMap::new();
                for a in &addrs {
                    let before = self.values.get(a).copied().unwrap_or(0);
                    old.insert(*a, before);
                    let cmp = m.get("cmp") as u32;
                    self.values.insert(*a, result(op, before, word_in(m, *a), cmp, m.get("bmask")));
                }
                let data = self.data(&old, rng);
                let rsp = self.answer(m, RspOp::RspWtData, bank, mask).with("data", data);
                self.respond(rsp, now, rng);
            }
        }
    }

    fn read(&mut self, m: &Msg, addrs: &[u64], now: u64, rng: &mut SmallRng) {
        let (owned, free): (Vec<u64>, Vec<u64>) = addrs.iter().partition(|a| self.owner.contains_key(a));
        for dev in OTHERS {
            let here: Vec<u64> = owned.iter().copied().filter(|a| self.owner[a] == dev).collect();
            if !here.is_empty() {
                let mut fwd = m.clone();
                fwd.0.insert("mask".into(), Bv::from_u64(mask_of(&here), self.p.words()));
                self.later(now, rng, Event::Read(dev, fwd));
            }
        }
        if !free.is_empty() {
            let words = free.iter().map(|a| (*a, self.values.get(a).copied().unwrap_or(0))).collect();
            self.give(m, m.get("dst"), &words, now, rng);
        }
    }

    /// RspV, now and then with extras that are as old as can be.
    fn give(&mut self, m: &Msg, src: u64, words: &BTreeMap<u64, u32>, now: u64, rng: &mut SmallRng) {
        let mask = mask_of(&words.keys().copied().collect::<Vec<u64>>());
        let data = self.data(words, rng);
        let extra = if rng.random_bool(0.5) { rng.random_range(0..1 << WORDS) & !mask } else { 0 };
        let rsp = self.answer(m, RspOp::RspV, src, mask).with("data", data);
        let rsp = rsp.with("extra", Bv::from_u64(extra, self.p.words()));
        self.respond(rsp, now, rng);
    }

    /// An owner answers what it still has.
    fn forwarded_read(&mut self, dev: u64, m: &Msg, now: u64, rng: &mut SmallRng) {
        let line = m.get("line");
        let addrs = bits(m.get("mask")).map(|w| line * LINE + 4 * w);
        let (here, gone): (Vec<u64>, Vec<u64>) =
            addrs.partition(|a| self.copies.contains_key(&(dev, *a)) && !self.refuses);
        if !here.is_empty() {
            let words = here.iter().map(|a| (*a, self.copies[&(dev, *a)])).collect();
            self.give(m, dev, &words, now, rng);
        }
        if !gone.is_empty() {
            let rsp = self.answer(m, RspOp::NackV, dev, mask_of(&gone));
            self.respond(rsp, now, rng);
        }
    }

    fn removed(&mut self, dev: u64, addrs: &[u64], m: Option<Msg>, now: u64, rng: &mut SmallRng) {
        for a in addrs {
            self.copies.remove(&(dev, *a));
            self.leaving.remove(&(dev, *a));
        }
        if let Some(m) = m {
            let rsp = self.answer(&m, RspOp::RspWt, dev, mask_of(addrs));
            self.respond(rsp, now, rng);
        }
    }

    /// The owner of a word, if any, gives it back.
    pub fn revoke(&mut self, addr: u64) {
        if let Some(dev) = self.owner.remove(&addr) {
            let value = self.copies.remove(&(dev, addr)).expect("an owner has its word");
            self.values.insert(addr, value);
        }
    }

    /// A device takes a word; the owner before it hears of it later. False while it cannot.
    pub fn own(&mut self, dev: u64, addr: u64, now: u64, rng: &mut SmallRng) -> bool {
        if self.leaving.contains(&(dev, addr)) || self.owner.get(&addr) == Some(&dev) {
            return false;
        }
        let value = self.word(addr);
        if let Some(old) = self.owner.insert(addr, dev) {
            self.leaving.insert((old, addr));
            self.later(now, rng, Event::Remove(old, vec![addr], None));
        }
        self.copies.insert((dev, addr), value);
        true
    }

    /// A device that has synchronised writes a word: as owner if it can, else at the LLC.
    pub fn write(&mut self, dev: u64, addr: u64, value: u32, now: u64, rng: &mut SmallRng) {
        let owns =
            self.owner.get(&addr) == Some(&dev) || (rng.random_bool(0.6) && self.own(dev, addr, now, rng));
        if owns {
            self.copies.insert((dev, addr), value);
            return;
        }
        if let Some(old) = self.owner.remove(&addr) {
            self.leaving.insert((old, addr));
            self.later(now, rng, Event::Remove(old, vec![addr], None));
        }
        self.values.insert(addr, value);
    }

    /// Writes a word at the LLC.
    pub fn put(&mut self, addr: u64, value: u32) {
        self.values.insert(addr, value);
    }

    /// Nobody believes any more to own the word who does not.
    pub fn settled(&self, addr: u64) -> bool {
        OTHERS.iter().all(|dev| !self.leaving.contains(&(*dev, addr)))
    }

    pub fn is_owned(&self, addr: u64) -> bool {
        self.owner.contains_key(&addr)
    }
}

fn mask_of(addrs: &[u64]) -> u64 {
    addrs.iter().map(|a| 1 << (a % LINE / 4)).sum()
}

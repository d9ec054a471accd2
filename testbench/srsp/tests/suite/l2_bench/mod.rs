//! A bank among L1s and a memory channel. L1s send what L1s may send, at random ([`Users`]); every answer is compared with one plain memory that is changed in the order in which the bank's
//! last stage works (seen in its registers).

use rand::Rng;
use std::collections::{BTreeMap, VecDeque};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use weft_rtl::bv::Bv;
use weft_rtl::ir::Module;
use weft_srsp::msg::{MemReq, MemRsp, Req, ReqOp, Rsp, Wb, WbOp};
use weft_srsp::params::Srsp;
use weft_srsp_bench::bench::{Bench, Msg, random_bits};
use weft_srsp_bench::memory::{Line, Memory, bytes};

/// The L1s of a bank: what they do, and what they and the bank owe one another.
pub trait Users: Sized {
    /// Parameters of the bank.
    type Params: Clone;
    /// How often an L1 begins what, per cycle.
    type Mix: Copy;
    /// An L1.
    type L1;
    /// An L1 goes on and, if it may do `more`, begins new things.
    fn act(w: &mut World<Self>, c: usize, more: bool);
    /// Memory sends an answer.
    fn memory_answers(_: &mut World<Self>, _: &Msg) {}
    /// What the last stage does in this cycle.
    fn watch(w: &mut World<Self>, cycle: u64);
    /// The bank has taken a request in cycle `now`.
    fn taken(w: &mut World<Self>, c: usize, m: &Msg, now: u64);
    /// Answers are compared with the plain memory.
    fn settle(w: &mut World<Self>);
    /// Other chances of what only these L1s have.
    fn shuffle(_: &mut World<Self>) {}
    /// Nothing is held back any more.
    fn let_go(_: &mut World<Self>) {}
    /// An L1 waits for nothing.
    fn idle(l1: &Self::L1) -> bool;
}

/// Everything.
pub struct World<U: Users> {
    pub p: U::Params,
    s: Srsp,
    pub b: Bench,
    pub mix: U::Mix,
    pub lines: Vec<u64>,
    pub l1s: Vec<U::L1>,
    pub memory: Memory,
    /// Answers that have not been compared.
    pub answers: VecDeque<(u64, Msg)>,
    /// Most grants that went to others while somebody waited.
    pub overtaken: u64,
    pub done: BTreeMap<&'static str, u64>,
    pub complaint: Option<String>,
    pub users: U,
}

/// What a test looks at besides the L1s and memory is of its protocol.
impl<U: Users> Deref for World<U> {
    type Target = U;
    fn deref(&self) -> &U {
        &self.users
    }
}

impl<U: Users> DerefMut for World<U> {
    fn deref_mut(&mut self) -> &mut U {
        &mut self.users
    }
}

impl<U: Users> World<U> {
    /// Bank `own` with idle L1s; `count` lines of it are used.
    pub fn begin(
        module: &Arc<Module>,
        (p, s, mix): (&U::Params, &Srsp, U::Mix),
        (own, count): (u64, usize),
        (l1, users): (impl Fn() -> U::L1, U),
        seed: u64,
    ) -> Self {
        let mut b = Bench::new(module, seed);
        for c in 0..s.cus {
            b.source::<Req>(&format!("req{c}"), s);
            b.source::<Wb>(&format!("wb{c}"), s);
        }
        b.source::<MemRsp>("mem_rsp", s);
        b.sink::<Rsp>("rsp", s);
        b.sink::<MemReq>("mem_req", s);
        b.set("own", own);
        let mut lines = Vec::new();
        while lines.len() < count {
            // Some lines share their set, some their tag.
            let high = b.rng.random_range(0..4u64) << (s.line_bits() - 3);
            let line = (high | b.rng.random_range(0..64u64)) * u64::from(s.banks) + own;
            let line = line & ((1 << s.line_bits()) - 1);
            if !lines.contains(&line) && line % u64::from(s.banks) == own {
                lines.push(line);
            }
        }
        World {
            p: p.clone(),
            s: s.clone(),
            mix,
            lines,
            l1s: (0..s.cus).map(|_| l1()).collect(),
            memory: Memory::new(s),
            answers: VecDeque::new(),
            overtaken: 0,
            done: BTreeMap::new(),
            complaint: None,
            users,
            b,
        }
    }

    /// It works no more on its own, and memory answers at once: after `cycles`.
    pub fn at_once(mut self, cycles: u64) -> Self {
        self.b.run(cycles);
        self.memory.delay = 0;
        self
    }

    pub fn complain(&mut self, text: String) {
        let cycle = self.b.sim.cycle();
        self.complaint.get_or_insert(format!("cycle {cycle}: {text}"));
    }

    pub fn count(&mut self, what: &'static str) {
        *self.done.entry(what).or_default() += 1;
    }

    pub fn address(&self, line: u64) -> u64 {
        line * u64::from(self.s.line)
    }

    pub fn line_of(&self, addr: u64) -> u64 {
        addr / u64::from(self.s.line)
    }

    pub fn chance(&mut self, p: f64) -> bool {
        self.b.rng.random_bool(p)
    }

    /// A network of an L1 has room.
    pub fn free(&mut self, net: &str, c: usize) -> bool {
        self.b.source_mut(&format!("{net}{c}")).queue.len() < 2
    }

    /// The value of a register of the block.
    pub fn peek(&self, name: &str) -> u64 {
        self.b.sim.peek(name).expect("a register").low_u64()
    }

    /// Sends a request of an L1.
    pub fn request(&mut self, c: usize, op: ReqOp, fields: &[(&str, u64)]) {
        let all = [&[("op", op as u64), ("src", c as u64)], fields].concat();
        self.b.send(&format!("req{c}"), Msg::of::<Req>(&self.s, &all));
    }

    /// Sends a message of an L1 on network 1, with a mask and data if it has any.
    pub fn post(&mut self, c: usize, op: WbOp, fields: &[(&str, u64)], data: Option<(Bv, Bv)>) {
        let all = [&[("op", op as u64), ("src", c as u64)], fields].concat();
        let mut msg = Msg::of::<Wb>(&self.s, &all);
        if let Some((mask, data)) = data {
            msg = msg.with("mask", mask).with("data", data);
        }
        self.b.send(&format!("wb{c}"), msg);
    }

    /// Random bytes of a line: mask and data.
    pub fn random_bytes(&mut self) -> (Bv, Bv) {
        let size = self.s.line;
        let mask = match self.b.rng.random_range(0..4) {
            0 => Bv::ones(size),
            1 => Bv::concat(&[Bv::from_u64(0xf0, 8), Bv::zero(size - 8)]),
            _ => random_bits(&mut self.b.rng, size),
        };
        (mask, random_bits(&mut self.b.rng, 8 * size))
    }

    /// One cycle; `more`: L1s begin new things.
    pub fn step(&mut self, more: bool) {
        (0..self.l1s.len()).for_each(|c| U::act(self, c, more));
        let now = self.b.sim.cycle();
        while let Some((_, m)) = self.memory.answer(now) {
            U::memory_answers(self, &m);
            self.b.send("mem_rsp", m);
        }
        U::watch(self, now);
        self.b.advance();
        if let Some(failure) = self.b.sim.failures().first() {
            let text = format!("{failure:?}");
            self.complain(text);
        }
        for c in 0..self.l1s.len() {
            if let Some(m) = self.b.taken(&format!("req{c}")) {
                U::taken(self, c, &m, now);
            }
            self.b.taken(&format!("wb{c}"));
        }
        while let Some((_, m)) = self.b.received("mem_req") {
            self.memory.request(0, &m, now, &mut self.b.rng);
        }
        while let Some(answer) = self.b.received("rsp") {
            self.answers.push_back(answer);
        }
        U::settle(self);
    }

    /// Cycles in which nobody begins anything.
    pub fn rest(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.step(false));
    }

    /// A line that an L1 gets is the one expected.
    pub fn compare(&mut self, c: usize, line: u64, m: &Msg, expected: Option<&Line>) {
        let found = bytes(m.wide("data"));
        if expected != Some(&found) {
            self.complain(format!("line {line:#x} for {c}: {found:x?} instead of {expected:x?}"));
        }
    }

    /// Random back-pressure and chances, changed from time to time.
    pub fn shuffle(&mut self) {
        self.b.shuffle(&[0.1, 0.5, 1.0]);
        self.memory.delay = [0, 20, 150][self.b.rng.random_range(0..3)];
        U::shuffle(self);
    }

    /// Runs, with everything changing every 200 cycles; stops at the first complaint.
    pub fn run(&mut self, cycles: u64) {
        for cycle in 0..cycles {
            if cycle % 200 == 0 {
                self.shuffle();
            }
            self.step(true);
            if self.complaint.is_some() {
                return;
            }
        }
    }

    /// Nobody waits for anything.
    pub fn quiet(&self) -> bool {
        self.l1s.iter().all(U::idle) && self.b.has_sent_all() && self.memory.idle()
    }

    /// Lets everything come to its end.
    pub fn drain(&mut self) {
        self.b.hold_nothing();
        U::let_go(self);
        for _ in 0..30_000 {
            if self.quiet() || self.complaint.is_some() {
                return;
            }
            self.step(false);
        }
        let waits: Vec<usize> = (0..self.l1s.len()).filter(|c| !U::idle(&self.l1s[*c])).collect();
        self.complain(format!("something waits for ever: L1s {waits:?}"));
    }

    /// Everything comes to its end, and nothing was wrong; the cycles that it took.
    pub fn settled(&mut self) -> u64 {
        let begun = self.b.sim.cycle();
        self.drain();
        self.check();
        self.b.sim.cycle() - begun
    }

    /// Runs until an L1 is as it should be: what was asked for just now has taken the latency.
    pub fn takes(&mut self, latency: u32, what: &str, done: impl Fn(&Self) -> bool) {
        let begun = self.b.sim.cycle();
        while !done(self) {
            self.step(false);
        }
        assert_eq!(self.b.sim.cycle() - 1 - begun, u64::from(latency), "{what}");
    }

    /// Nothing was wrong.
    pub fn check(&self) {
        if let Some(complaint) = &self.complaint {
            panic!("{complaint}");
        }
    }

    /// Enough of something was done.
    pub fn least(&self, what: &str, count: u64) {
        let found = self.done.get(what).copied().unwrap_or(0);
        assert!(found >= count, "{found} of {what}: {:?}", self.done);
    }
}

/// A fault shows by a complaint with this sign in one of six trials.
pub fn noticed(fault: &str, sign: &str, complaint: impl Fn(u64) -> Option<String>) {
    let found = (60..66).find_map(complaint);
    let text = found.unwrap_or_else(|| panic!("{fault} is not noticed"));
    assert!(text.contains(sign), "{fault}: {text}");
}

//! What is below an L1: banks that hold memory and answer late and in any order.

use rand::Rng;
use rand::rngs::SmallRng;
use std::collections::{BTreeMap, VecDeque};
use weft_rtl::bv::Bv;
use weft_srsp::msg::{Rsp, RspOp};
use weft_srsp::params::Srsp;
use weft_srsp_bench::arith::apply;
use weft_srsp_bench::bench::Msg;
use weft_srsp_bench::memory::Access;

/// Bytes of a line.
pub const LINE: u64 = 64;

/// Number of the L1 under test.
pub const OWN: u64 = 1;

/// Banks and memory.
pub struct Banks {
    pub p: Srsp,
    bytes: BTreeMap<u64, u8>,
    /// Requests that have not been served, with the cycle from which on they may be.
    pub waiting: Vec<(u64, Msg)>,
    /// Messages of network 1, by bank.
    pub written: Vec<VecDeque<(u64, Msg)>>,
    answers: Vec<(u64, Msg)>,
    /// Longest delay.
    pub slow: u64,
    /// Answers of these kinds are kept back.
    pub hold: Vec<RspOp>,
    /// Lines written, in order, with their masks.
    pub log: Vec<(u64, u64)>,
    /// Messages served, by name and line.
    pub seen: Vec<String>,
    /// Accesses with synchronisation that wavefronts have asked for.
    pub asked: Vec<Access>,
    /// Whether the L2 had what its last answer with data was about.
    pub had: bool,
    open_wbts: Vec<u64>,
}

impl Banks {
    pub fn new(p: &Srsp) -> Banks {
        Banks {
            p: p.clone(),
            bytes: BTreeMap::new(),
            waiting: Vec::new(),
            written: vec![VecDeque::new(); p.banks as usize],
            answers: Vec::new(),
            slow: 20,
            hold: Vec::new(),
            log: Vec::new(),
            seen: Vec::new(),
            asked: Vec::new(),
            had: false,
            open_wbts: Vec::new(),
        }
    }

    pub fn word(&self, addr: u64, size: u64) -> u64 {
        let byte = |i| u64::from(self.bytes.get(&(addr + i)).copied().unwrap_or(0)) << (8 * i);
        (0..size).map(byte).sum()
    }

    pub fn put(&mut self, addr: u64, size: u64, value: u64) {
        (0..size).for_each(|i| {
            self.bytes.insert(addr + i, (value >> (8 * i)) as u8);
        });
    }

    /// Performs what a message of the L1 asks for, which is what some wavefront has asked for.
    pub fn perform_asked(&mut self, m: &Msg) -> (u64, bool) {
        let access = Access::of(m);
        assert!(self.asked.contains(&access), "no wavefront has asked for {access:x?}");
        self.perform(&access)
    }

    /// Performs an access; the old value, and whether it has written.
    pub fn perform(&mut self, a: &Access) -> (u64, bool) {
        let size = if a.wide { 8 } else { 4 };
        let old = self.word(a.addr, size);
        let (new, wrote) = apply(a.op, a.wide, old, a.opnd, a.cmp);
        if wrote {
            self.put(a.addr, size, new);
        }
        (old, wrote)
    }

    pub fn line(&self, line: u64) -> Bv {
        let words: Vec<u64> = (0..LINE / 8).map(|i| self.word(line * LINE + 8 * i, 8)).collect();
        Bv::from_limbs(&words, 8 * LINE as u32)
    }

    /// The masked bytes of a message are written.
    pub fn merge(&mut self, m: &Msg) {
        let (line, mask) = (m.get("atomic_addr") / LINE, m.get("mask"));
        for i in (0..LINE).filter(|i| mask >> i & 1 == 1) {
            let byte = m.wide("data").slice(8 * i as u32, 8).low_u64();
            self.put(line * LINE + i, 1, byte);
        }
        self.log.push((line, mask));
    }

    /// A WBT entry is in use until it is acknowledged.
    pub fn open_wbt(&mut self, wbt: u64) {
        assert!(!self.open_wbts.contains(&wbt), "WBT entry {wbt} is used twice");
        self.open_wbts.push(wbt);
    }

    /// A write-back is done.
    pub fn write_back(&mut self, m: &Msg, due: u64) {
        assert_ne!(m.get("mask"), 0, "a write-back of nothing");
        self.merge(m);
        self.open_wbt(m.get("wbt"));
        self.answer(RspOp::WbAck, &[("wbt", m.get("wbt")), ("epoch", m.get("epoch"))], None, due);
        self.seen.push(format!("WB {}", m.get("atomic_addr") / LINE));
    }

    /// A request arrives.
    pub fn request(&mut self, m: Msg, now: u64, rng: &mut SmallRng) {
        assert_eq!(m.get("src"), OWN);
        self.waiting.push((now + rng.random_range(1..=self.slow), m));
    }

    /// Requests that wait are looked at in the other order from now on.
    pub fn turn_round(&mut self) {
        self.waiting.reverse();
    }

    /// A message of network 1 arrives.
    pub fn write(&mut self, m: Msg, now: u64, rng: &mut SmallRng) {
        assert_eq!(m.get("src"), OWN);
        let bank = m.get("atomic_addr") / LINE % u64::from(self.p.banks);
        let due = now + rng.random_range(1..=self.slow);
        self.written[bank as usize].push_back((due, m));
    }

    /// Nothing that the L1 has sent on network 1 is on its way.
    pub fn drained(&self) -> bool {
        self.written.iter().all(VecDeque::is_empty)
    }

    /// A response will come.
    pub fn answer(&mut self, op: RspOp, fields: &[(&str, u64)], data: Option<Bv>, due: u64) {
        fields.iter().filter(|f| f.0 == "hit").for_each(|f| self.had = f.1 == 1);
        let all = [&[("op", op as u64), ("dst", OWN)], fields].concat();
        let m = Msg::of::<Rsp>(&self.p, &all);
        let m = match data {
            Some(data) => m.with("data", data),
            None => m,
        };
        self.answers.push((due, m));
    }

    /// A response to deliver now, if any; they overtake each other.
    pub fn deliver(&mut self, now: u64, rng: &mut SmallRng) -> Option<Msg> {
        let held = |m: &Msg| self.hold.iter().any(|op| m.get("op") == *op as u64);
        let due = |i: &usize| self.answers[*i].0 <= now && !held(&self.answers[*i].1);
        let due: Vec<usize> = (0..self.answers.len()).filter(due).collect();
        if due.is_empty() {
            return None;
        }
        let m = self.answers.swap_remove(due[rng.random_range(0..due.len())]).1;
        let ack = [RspOp::WbAck, RspOp::UnregAck].iter().any(|op| m.get("op") == *op as u64);
        if ack {
            let wbt = m.get("wbt");
            self.open_wbts.retain(|open| *open != wbt);
        }
        Some(m)
    }
}

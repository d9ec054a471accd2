//! What is below the L1: banks that hold memory and know whose each line is, and answer late and in any order (srsp.md section 9, the L2's table).

use rand::Rng;
use rand::rngs::SmallRng;
use std::collections::{BTreeMap, VecDeque};
use weft_rtl::bv::Bv;
use weft_srsp::msg::{Probe, ProbeOp, ReqOp, Rsp, RspOp, WbOp};
use weft_srsp::params::Srsp;
use weft_srsp_bench::bench::Msg;

/// Bytes of a line.
pub const LINE: u64 = 64;

/// Whose a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// R: the L1's under test.
    Ours,
    /// RV: it has been revoked, for another L1 or (recall) for nobody; its UNREG has come, with this WBT entry.
    Revoked { other: bool, unreg: Option<u64> },
    /// Another L1's, which works in memory itself.
    Other,
}

/// The banks.
pub struct L2 {
    p: Srsp,
    own: u64,
    bytes: BTreeMap<u64, u8>,
    /// Registered lines.
    pub owners: BTreeMap<u64, Owner>,
    waiting: Vec<(u64, Msg)>,
    written: Vec<VecDeque<(u64, Msg)>>,
    answers: Vec<(u64, Msg)>,
    probes: Vec<(u64, u64)>,
    open_wbts: Vec<u64>,
    /// Longest delay.
    pub slow: u64,
    /// Answers of these kinds are kept back.
    pub hold: Vec<RspOp>,
    /// REVOKEs are kept back.
    pub hold_probes: bool,
    /// Messages served, by name and line.
    pub seen: Vec<String>,
    /// Lines written, with their masks: WB, REVOKE_ACK{1}, UNREG.
    pub log: Vec<(u64, u64)>,
}

impl L2 {
    pub fn new(p: &Srsp, own: u64) -> L2 {
        L2 {
            p: p.clone(),
            own,
            bytes: BTreeMap::new(),
            owners: BTreeMap::new(),
            waiting: Vec::new(),
            written: vec![VecDeque::new(); p.banks as usize],
            answers: Vec::new(),
            probes: Vec::new(),
            open_wbts: Vec::new(),
            slow: 20,
            hold: Vec::new(),
            hold_probes: false,
            seen: Vec::new(),
            log: Vec::new(),
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

    fn line(&self, line: u64) -> Bv {
        let words: Vec<u64> = (0..LINE / 8).map(|i| self.word(line * LINE + 8 * i, 8)).collect();
        Bv::from_limbs(&words, 8 * LINE as u32)
    }

    /// Nothing that the L1 has sent is on its way.
    pub fn drained(&self) -> bool {
        self.written.iter().all(VecDeque::is_empty)
    }

    /// A REG of the line waits.
    pub fn wanted(&self, line: u64) -> bool {
        let reg = |m: &Msg| m.get("op") == ReqOp::Reg as u64 && m.get("atomic_addr") / LINE == line;
        self.waiting.iter().any(|w| reg(&w.1))
    }

    /// Another L1 registers a line: at once, or when the L1 under test has given it back.
    pub fn take(&mut self, line: u64, now: u64, rng: &mut SmallRng) {
        match self.owners.get(&line) {
            None => {
                self.owners.insert(line, Owner::Other);
            }
            Some(Owner::Ours) => self.revoke(line, true, now, rng),
            Some(_) => {}
        }
    }

    /// REVOKE, if the line is the L1's and not revoked yet.
    pub fn revoke(&mut self, line: u64, other: bool, now: u64, rng: &mut SmallRng) {
        if self.owners.get(&line) == Some(&Owner::Ours) {
            self.owners.insert(line, Owner::Revoked { other, unreg: None });
            self.probes.push((now + rng.random_range(1..=self.slow), line));
        }
    }

    /// A request arrives.
    pub fn request(&mut self, m: Msg, now: u64, rng: &mut SmallRng) {
        assert_eq!(m.get("src"), self.own);
        self.waiting.push((now + rng.random_range(1..=self.slow), m));
    }

    /// A message of network 1 arrives.
    pub fn write(&mut self, m: Msg, now: u64, rng: &mut SmallRng) {
        assert_eq!(m.get("src"), self.own);
        let bank = m.get("atomic_addr") / LINE % u64::from(self.p.banks);
        let due = now + rng.random_range(1..=self.slow);
        self.written[bank as usize].push_back((due, m));
    }

    fn answer(&mut self, op: RspOp, fields: &[(&str, u64)], data: Option<Bv>, due: u64) {
        let all = [&[("op", op as u64), ("dst", self.own)], fields].concat();
        let m = Msg::of::<Rsp>(&self.p, &all);
        let m = match data {
            Some(data) => m.with("data", data),
            None => m,
        };
        self.answers.push((due, m));
    }

    /// What is due and need not wait is done.
    pub fn tick(&mut self, now: u64, rng: &mut SmallRng) {
        let mut i = 0;
        while i < self.waiting.len() {
            if self.waiting[i].0 <= now && self.serve(i, now, rng) {
                self.waiting.remove(i);
            } else {
                i += 1;
            }
        }
        for bank in 0..self.written.len() {
            while self.written[bank].front().is_some_and(|w| w.0 <= now) {
                let m = self.written[bank].pop_front().expect("there").1;
                let due = now + rng.random_range(1..=self.slow);
                self.take_write(&m, due);
            }
        }
    }

    /// A request is served, unless it must wait.
    fn serve(&mut self, at: usize, now: u64, rng: &mut SmallRng) -> bool {
        let m = self.waiting[at].1.clone();
        let line = m.get("atomic_addr") / LINE;
        let due = now + rng.random_range(1..=self.slow);
        // Now and then an answer comes so late that a whole handover lies between.
        let due = due + if rng.random_bool(0.1) { rng.random_range(0..20 * self.slow) } else { 0 };
        let fields = [("mshr", m.get("mshr")), ("hit", rng.random_range(0..2))];
        let is = |kind: ReqOp| m.get("op") == kind as u64;
        if is(ReqOp::Rd) || is(ReqOp::Rdu) {
            self.answer(RspOp::Fill, &fields, Some(self.line(line)), due);
            self.seen.push(format!("{} {line}", if is(ReqOp::Rd) { "RD" } else { "RDU" }));
            return true;
        }
        assert!(is(ReqOp::Reg), "{m:?}");
        match self.owners.get(&line) {
            Some(Owner::Ours) => panic!("REG of line {line}, which the L1 has"),
            Some(_) => false,
            None => {
                self.owners.insert(line, Owner::Ours);
                self.answer(RspOp::RegData, &fields, Some(self.line(line)), due);
                self.seen.push(format!("REG {line}"));
                true
            }
        }
    }

    fn merge(&mut self, line: u64, m: &Msg) {
        let mask = m.get("mask");
        for i in (0..LINE).filter(|i| mask >> i & 1 == 1) {
            let byte = m.wide("data").slice(8 * i as u32, 8).low_u64();
            self.put(line * LINE + i, 1, byte);
        }
        self.log.push((line, mask));
    }

    fn open_wbt(&mut self, wbt: u64) {
        assert!(!self.open_wbts.contains(&wbt), "WBT entry {wbt} is used twice");
        self.open_wbts.push(wbt);
    }

    fn take_write(&mut self, m: &Msg, due: u64) {
        let line = m.get("atomic_addr") / LINE;
        let wbt = m.get("wbt");
        let is = |kind: WbOp| m.get("op") == kind as u64;
        if is(WbOp::Wb) {
            assert_ne!(m.get("mask"), 0, "a write-back of nothing");
            self.merge(line, m);
            self.open_wbt(wbt);
            self.answer(RspOp::WbAck, &[("wbt", wbt), ("epoch", m.get("epoch"))], None, due);
            self.seen.push(format!("WB {line}"));
        } else if is(WbOp::Unreg) {
            self.merge(line, m);
            self.open_wbt(wbt);
            self.seen.push(format!("UNREG {line}"));
            match self.owners.get(&line).copied() {
                Some(Owner::Ours) => {
                    self.owners.remove(&line);
                    self.answer(RspOp::UnregAck, &[("wbt", wbt)], None, due);
                }
                Some(Owner::Revoked { other, unreg: None }) => {
                    self.owners.insert(line, Owner::Revoked { other, unreg: Some(wbt) });
                }
                owner => panic!("UNREG of line {line}: {owner:?}"),
            }
        } else {
            assert!(is(WbOp::RevokeAck), "{m:?}");
            let has = m.get("has") == 1;
            self.seen.push(format!("REVOKE_ACK{} {line}", u8::from(has)));
            let Some(Owner::Revoked { other, unreg }) = self.owners.remove(&line) else {
                panic!("REVOKE_ACK of line {line}, which was not revoked");
            };
            assert_eq!(has, unreg.is_none(), "line {line} comes once");
            if has {
                self.merge(line, m);
            }
            if let Some(wbt) = unreg {
                self.answer(RspOp::UnregAck, &[("wbt", wbt)], None, due);
            }
            if other {
                self.owners.insert(line, Owner::Other);
            }
        }
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

    /// A REVOKE to deliver now, if any; they overtake each other too.
    pub fn probe(&mut self, now: u64, rng: &mut SmallRng) -> Option<Msg> {
        let due: Vec<usize> = (0..self.probes.len()).filter(|i| self.probes[*i].0 <= now).collect();
        if due.is_empty() || self.hold_probes {
            return None;
        }
        let line = self.probes.swap_remove(due[rng.random_range(0..due.len())]).1;
        let offset = rng.random_range(0..LINE);
        let fields = [("op", ProbeOp::Revoke as u64), ("addr", line * LINE + offset), ("req", self.own)];
        Some(Msg::of::<Probe>(&self.p, &fields))
    }
}

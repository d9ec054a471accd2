//! What is below the L1: banks that hold memory, lock lines and answer late and in any order.

use rand::Rng;
use rand::rngs::SmallRng;
use std::collections::{BTreeMap, VecDeque};
use weft_rtl::bv::Bv;
use weft_srsp::msg::{ReqOp, Rsp, RspOp, SyncOp, WbOp};
use weft_srsp::params::Srsp;
use weft_srsp_bench::bench::Msg;

/// Bytes of a line.
pub const LINE: u64 = 64;

/// Who may hold a lock or the token besides the L1 under test.
pub const OTHER: u64 = 3;

/// One access of one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    pub op: SyncOp,
    pub wide: bool,
    pub addr: u64,
    pub opnd: u64,
    pub cmp: u64,
}

impl Access {
    /// (new value, it is written).
    pub fn result(&self, old: u64) -> (u64, bool) {
        let cut = |v: u64| if self.wide { v } else { v & 0xffff_ffff };
        let (opnd, cmp) = (cut(self.opnd), cut(self.cmp));
        match self.op {
            SyncOp::Ld => (old, false),
            SyncOp::St | SyncOp::Exch => (opnd, true),
            SyncOp::Add => (cut(old.wrapping_add(opnd)), true),
            SyncOp::Xor => (old ^ opnd, true),
            SyncOp::Max => (old.max(opnd), true),
            SyncOp::Cas if old == cmp => (opnd, true),
            SyncOp::Cas => (old, false),
            other => panic!("{other:?} is not used here"),
        }
    }
}

fn access(m: &Msg) -> Access {
    let ops = [SyncOp::Ld, SyncOp::St, SyncOp::Add, SyncOp::Xor, SyncOp::Max, SyncOp::Exch, SyncOp::Cas];
    let op = ops.into_iter().find(|op| *op as u64 == m.get("atomic_op")).unwrap_or(SyncOp::Sub);
    let [addr, opnd, cmp] = ["atomic_addr", "atomic_opnd", "atomic_cmp"].map(|name| m.get(name));
    Access { op, wide: m.get("atomic_wide") == 1, addr, opnd, cmp }
}

/// Banks and memory.
pub struct Memory {
    pub p: Srsp,
    own: u64,
    bytes: BTreeMap<u64, u8>,
    /// Owner by line.
    pub locks: BTreeMap<u64, u64>,
    pub token: Option<u64>,
    waiting: Vec<(u64, Msg)>,
    written: Vec<VecDeque<(u64, Msg)>>,
    answers: Vec<(u64, Msg)>,
    /// Longest delay.
    pub slow: u64,
    /// Lines written back, in order, with their masks.
    pub log: Vec<(u64, u64)>,
    /// Messages taken, by name.
    pub seen: Vec<String>,
    open_wbts: Vec<u64>,
}

impl Memory {
    pub fn new(p: &Srsp, own: u64) -> Memory {
        Memory {
            p: p.clone(),
            own,
            bytes: BTreeMap::new(),
            locks: BTreeMap::new(),
            token: None,
            waiting: Vec::new(),
            written: vec![VecDeque::new(); p.banks as usize],
            answers: Vec::new(),
            slow: 20,
            log: Vec::new(),
            seen: Vec::new(),
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

    /// Performs an access; the old value, and whether it has written.
    pub fn perform(&mut self, a: &Access) -> (u64, bool) {
        let size = if a.wide { 8 } else { 4 };
        let old = self.word(a.addr, size);
        let (new, wrote) = a.result(old);
        if wrote {
            self.put(a.addr, size, new);
        }
        (old, wrote)
    }

    pub fn line(&self, line: u64) -> Bv {
        let words: Vec<u64> = (0..LINE / 8).map(|i| self.word(line * LINE + 8 * i, 8)).collect();
        Bv::from_limbs(&words, 8 * LINE as u32)
    }

    /// A request arrives.
    pub fn request(&mut self, m: Msg, now: u64, rng: &mut SmallRng) {
        assert_eq!(m.get("src"), self.own);
        self.waiting.push((now + rng.random_range(1..=self.slow), m));
    }

    /// Requests that wait are looked at in the other order from now on.
    pub fn turn_round(&mut self) {
        self.waiting.reverse();
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

    fn value(&mut self, op: RspOp, old: u64, wrote: bool, due: u64, hit: u64) {
        let data = Bv::from_u64(old, 8 * LINE as u32);
        self.answer(op, &[("wrote", u64::from(wrote)), ("hit", hit)], Some(data), due);
    }

    /// What is due and not held back by a lock is done.
    pub fn tick(&mut self, now: u64, rng: &mut SmallRng) {
        let mut i = 0;
        while i < self.waiting.len() {
            let due = now + rng.random_range(1..=self.slow);
            if self.waiting[i].0 <= now && self.serve(i, due, rng) {
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
    fn serve(&mut self, at: usize, due: u64, rng: &mut SmallRng) -> bool {
        let m = self.waiting[at].1.clone();
        let line = m.get("atomic_addr") / LINE;
        let op = m.get("op");
        let locked = self.locks.contains_key(&line);
        let hit = rng.random_range(0..2);
        let is = |kind: ReqOp| op == kind as u64;
        if is(ReqOp::Rd) && !locked {
            // Now and then a fill comes so late that a whole remote operation lies between.
            let due = due + if rng.random_bool(0.1) { rng.random_range(0..20 * self.slow) } else { 0 };
            self.answer(RspOp::Fill, &[("mshr", m.get("mshr")), ("hit", hit)], Some(self.line(line)), due);
            self.seen.push(format!("RD {line}"));
        } else if is(ReqOp::Atm) && !locked {
            let (old, wrote) = self.perform(&access(&m));
            self.value(RspOp::AtmRsp, old, wrote, due, hit);
            self.seen.push(format!("ATM {line}"));
        } else if is(ReqOp::RemLock) && !locked {
            self.locks.insert(line, self.own);
            self.answer(RspOp::RemGrant, &[], None, due);
            self.seen.push(format!("LOCK {line}"));
        } else if is(ReqOp::Token) && self.token.is_none() {
            self.token = Some(self.own);
            self.answer(RspOp::TokenGrant, &[], None, due);
        } else if is(ReqOp::SysFlush) || is(ReqOp::SysInv) {
            self.answer(RspOp::SysAck, &[], None, due);
            self.seen.push(format!("SYS {}", line % u64::from(self.p.banks)));
        } else {
            assert!(locked || is(ReqOp::Token), "{m:?}");
            return false;
        }
        true
    }

    fn take_write(&mut self, m: &Msg, due: u64) {
        let line = m.get("atomic_addr") / LINE;
        let is = |kind: WbOp| m.get("op") == kind as u64;
        if is(WbOp::Wb) {
            let mask = m.get("mask");
            assert_ne!(mask, 0, "a write-back of nothing");
            for i in (0..LINE).filter(|i| mask >> i & 1 == 1) {
                let byte = m.wide("data").slice(8 * i as u32, 8).low_u64();
                self.put(line * LINE + i, 1, byte);
            }
            let wbt = m.get("wbt");
            assert!(!self.open_wbts.contains(&wbt), "WBT entry {wbt} is used twice");
            self.open_wbts.push(wbt);
            self.answer(RspOp::WbAck, &[("wbt", wbt), ("epoch", m.get("epoch"))], None, due);
            self.log.push((line, mask));
            self.seen.push(format!("WB {line}"));
        } else if is(WbOp::RemOp) {
            let (old, wrote) = self.perform(&access(m));
            let held = self.locks.get(&line) == Some(&self.own);
            assert!(held || self.token == Some(self.own), "REM_OP without a lock");
            if !(wrote && m.get("keep") == 1) {
                self.locks.remove(&line);
            }
            self.value(RspOp::RemRsp, old, wrote, due, 1);
            self.seen.push(format!("OP {line}"));
        } else if is(WbOp::RemUnlock) {
            assert_eq!(self.locks.remove(&line), Some(self.own), "unlock of what is not locked");
            self.seen.push(format!("UNLOCK {line}"));
        } else {
            assert!(is(WbOp::TokenRel), "{m:?}");
            assert_eq!(self.token.take(), Some(self.own));
        }
    }

    /// A response to deliver now, if any; they overtake each other.
    pub fn deliver(&mut self, now: u64, rng: &mut SmallRng) -> Option<Msg> {
        let due: Vec<usize> = (0..self.answers.len()).filter(|i| self.answers[*i].0 <= now).collect();
        if due.is_empty() {
            return None;
        }
        let m = self.answers.swap_remove(due[rng.random_range(0..due.len())]).1;
        if m.get("op") == RspOp::WbAck as u64 {
            let wbt = m.get("wbt");
            self.open_wbts.retain(|open| *open != wbt);
        }
        Some(m)
    }
}

//! L1s of sRSP and bRSP above a bank: reads, write-backs, atomics, SYS operations, and remote operations, whose locks and tokens are followed.

mod answers;

use crate::l2_bench::{self, Users};
use rand::Rng;
use std::collections::{BTreeMap, VecDeque};
use weft_rtl::bv::Bv;
use weft_srsp::l2::{L2Params, srsp_l2};
use weft_srsp::msg::{ReqOp, RspOp, SyncOp, WbOp};
use weft_srsp::params::Impl;
use weft_srsp_bench::arith::OPS;
use weft_srsp_bench::bench::Msg;
use weft_srsp_bench::memory::{Access, Line, bytes, initial, mask};

/// How often an L1 begins what, per cycle.
#[derive(Clone, Copy, Debug)]
pub struct Mix {
    pub rd: f64,
    pub wb: f64,
    pub atm: f64,
    pub sys_atm: f64,
    pub remote: f64,
    pub sys: f64,
}

impl Mix {
    /// Something of everything.
    pub const ALL: Mix = Mix { rd: 0.05, wb: 0.05, atm: 0.03, sys_atm: 0.02, remote: 0.02, sys: 0.0005 };
}

/// A remote operation: how far it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Remote {
    #[default]
    None,
    /// Waits for the token, then goes on with or without a lock.
    Token { locks: bool },
    /// Waits for the lock.
    Lock,
    /// Works between lock and operation, until a cycle.
    Works(u64),
    /// Waits for the operation's answer.
    Op,
    /// Works between operation and unlock.
    Kept(u64),
}

/// A write-back under way.
#[derive(Clone, Debug)]
pub struct Write {
    pub line: u64,
    pub mask: Vec<bool>,
    pub data: Line,
    pub epoch: u64,
    pub around: bool,
}

/// What an L1 waits for.
#[derive(Default)]
pub struct L1 {
    /// Reads by MSHR: the line, and the cycle in which it was taken.
    pub rds: BTreeMap<u64, (u64, Option<u64>)>,
    pub wbs: BTreeMap<u64, Write>,
    /// The atomic under way, at memory or not; the word that memory will send.
    pub atm: Option<(Access, bool, Option<u64>)>,
    pub remote: Remote,
    /// The remote operation's access, whether it keeps its lock, whether it has one, whether it has the token.
    pub op: Option<(Access, bool)>,
    pub locked: bool,
    pub token: bool,
    /// SYS operation: begun in, taken in.
    pub sys: Option<u64>,
    /// Grants of its line to others since its REM_LOCK was taken.
    pub overtaken: Option<(u64, u64)>,
}

/// What the last stage did, in order.
enum Event {
    /// An answer: what memory has durably, if it is a SYS_ACK.
    Answer {
        cycle: u64,
        durable: Option<BTreeMap<u64, (Line, Vec<u64>)>>,
    },
    Around {
        src: u64,
        wbt: u64,
        cycle: u64,
    },
    Amo {
        src: u64,
    },
}

/// An answer: what it is, whose, and whether it says that the line was here.
#[derive(Clone, Copy, Debug)]
pub struct Answered {
    pub op: u64,
    pub c: usize,
    pub hit: bool,
}

/// What the L1s have and the bank has given.
pub struct L1s {
    /// The plain memory, with the cycle of the last write of each byte.
    model: BTreeMap<u64, (Line, Vec<u64>)>,
    events: VecDeque<Event>,
    /// Locked lines: owner, cycle of the grant, and whether the unlock is on its way.
    holders: BTreeMap<u64, (u64, u64, bool)>,
    holder: Option<u64>,
    /// What was answered, in order.
    pub answered: Vec<Answered>,
}

/// A run.
pub type World = l2_bench::World<L1s>;

impl Users for L1s {
    type Params = L2Params;
    type Mix = Mix;
    type L1 = L1;

    fn act(w: &mut World, c: usize, more: bool) {
        if more {
            w.begins(c);
        } else if w.l1s[c].remote != Remote::None {
            w.remote(c);
        }
    }

    fn taken(w: &mut World, c: usize, m: &Msg, now: u64) {
        let op = m.get("op");
        if op == ReqOp::Rd as u64
            && let Some(rd) = w.l1s[c].rds.get_mut(&m.get("mshr"))
        {
            rd.1 = Some(now);
        }
        if op == ReqOp::RemLock as u64 {
            w.l1s[c].overtaken = Some((w.line_of(m.get("atomic_addr")), 0));
        }
    }

    fn idle(l1: &L1) -> bool {
        let remote = l1.remote == Remote::None && l1.sys.is_none() && l1.atm.is_none();
        remote && l1.rds.is_empty() && l1.wbs.is_empty()
    }

    fn watch(w: &mut World, cycle: u64) {
        if w.peek("s2_valid") == 0 {
            return;
        }
        if w.peek("s2_answer") == 1 {
            let sys = w.peek("s2_rsp") == RspOp::SysAck as u64;
            let durable = sys.then(|| w.memory.durable.clone());
            w.events.push_back(Event::Answer { cycle, durable });
        } else if w.peek("s2_around") == 1 {
            let (src, wbt) = (w.peek("s2_dst"), w.peek("s2_wbt"));
            w.events.push_back(Event::Around { src, wbt, cycle });
        } else if w.peek("s2_order_then") == 2 {
            let src = w.peek("s2_dst");
            w.events.push_back(Event::Amo { src });
        }
    }

    /// In the order of the last stage.
    fn settle(w: &mut World) {
        while let Some(event) = w.events.front() {
            if matches!(event, Event::Answer { .. }) && w.answers.is_empty() {
                return;
            }
            match w.events.pop_front().expect("there") {
                Event::Around { src, wbt, cycle } => {
                    let Some(write) = w.l1s[src as usize].wbs.get_mut(&wbt) else {
                        w.complain(format!("{src} wrote nothing around"));
                        continue;
                    };
                    write.around = true;
                    let write = write.clone();
                    w.apply(&write, cycle);
                    w.count("around");
                }
                Event::Amo { src } => {
                    let Some((access, true, None)) = w.l1s[src as usize].atm else {
                        w.complain(format!("{src} has no atomic for memory"));
                        continue;
                    };
                    // A SYS operation owes nothing to an atomic that memory has not answered.
                    let old = w.perform(&access, u64::MAX).0;
                    w.l1s[src as usize].atm = Some((access, true, Some(old)));
                }
                Event::Answer { cycle, durable } => {
                    let (_, m) = w.answers.pop_front().expect("there");
                    w.answer(&m, cycle, durable);
                }
            }
        }
        if let Some((_, m)) = w.answers.front() {
            let text = format!("an answer that the last stage has not given: {m:?}");
            w.complain(text);
        }
    }
}

impl World {
    /// A bank with idle L1s; `count` lines of it are used.
    pub fn new(p: &L2Params, mix: Mix, count: usize, seed: u64) -> World {
        let own = if p.system == Impl::BrspToken { 0 } else { u64::from(p.bank.srsp.banks) - 1 };
        let l1s = L1s {
            model: BTreeMap::new(),
            events: VecDeque::new(),
            holders: BTreeMap::new(),
            holder: None,
            answered: Vec::new(),
        };
        let module = srsp_l2(p).expect("legal");
        World::begin(&module, (p, &p.bank.srsp, mix), (own, count), (L1::default, l1s), seed)
    }

    /// Present content of a line in the plain memory.
    pub fn model(&mut self, line: u64) -> &mut (Line, Vec<u64>) {
        let size = self.p.bank.srsp.line;
        self.users.model.entry(line).or_insert_with(|| (initial(line, size), vec![0; size as usize]))
    }

    /// A random access to a line.
    pub fn access(&mut self, line: u64) -> Access {
        let rng = &mut self.b.rng;
        let op = OPS[rng.random_range(0..16)];
        let wide = op != SyncOp::Fadd32 && rng.random_bool(0.4);
        // Few words, so that they meet.
        let word = [0, 8, 12, 56][rng.random_range(0..4)];
        let at = if wide { word & !7 } else { word };
        let small = |n: u64| if n.is_multiple_of(3) { n } else { n % 8 };
        let (opnd, cmp) = (small(rng.random()), small(rng.random()));
        Access { op, wide, addr: line * u64::from(self.p.bank.srsp.line) + at, opnd, cmp }
    }

    /// A compare operand that fits as often as not.
    fn aimed(&mut self, access: Access) -> Access {
        let line = self.line_of(access.addr);
        let hit = self.b.rng.random_bool(0.6);
        let mut bytes = self.model(line).0.clone();
        let (old, _) = Access { op: SyncOp::Ld, ..access }.perform(&mut bytes);
        if hit { Access { cmp: old, ..access } } else { access }
    }

    fn pick_line(&mut self) -> u64 {
        let at = self.b.rng.random_range(0..self.lines.len());
        self.lines[at]
    }

    /// An L1 reads a line.
    pub fn read(&mut self, c: usize, line: u64) -> bool {
        let free = (0..u64::from(self.p.bank.srsp.mshrs)).find(|m| !self.l1s[c].rds.contains_key(m));
        let Some(mshr) = free else { return false };
        self.l1s[c].rds.insert(mshr, (line, None));
        let addr = self.address(line);
        self.request(c, ReqOp::Rd, &[("mshr", mshr), ("atomic_addr", addr)]);
        true
    }

    /// An L1 writes bytes back.
    pub fn write(&mut self, c: usize, line: u64, mask: Bv, data: Bv) -> bool {
        let free = (0..u64::from(self.p.bank.srsp.wbt)).find(|w| !self.l1s[c].wbs.contains_key(w));
        let Some(wbt) = free else { return false };
        let epoch = self.b.rng.random_range(0..2);
        let write = Write { line, mask: self::mask(&mask), data: bytes(&data), epoch, around: false };
        self.l1s[c].wbs.insert(wbt, write);
        let fields = [("wbt", wbt), ("epoch", epoch), ("atomic_addr", self.address(line))];
        self.post(c, WbOp::Wb, &fields, Some((mask, data)));
        true
    }

    /// An L1 sends an atomic.
    pub fn atomic(&mut self, c: usize, access: Access, sys: bool) {
        self.l1s[c].atm = Some((access, sys, None));
        let mut fields = vec![("sys", u64::from(sys))];
        fields.extend(access.fields());
        self.request(c, ReqOp::Atm, &fields);
    }

    /// An L1 asks for the lock of its remote operation's line.
    pub fn lock(&mut self, c: usize) {
        let (access, _) = self.l1s[c].op.expect("an operation");
        self.l1s[c].remote = Remote::Lock;
        self.request(c, ReqOp::RemLock, &[("atomic_addr", access.addr)]);
    }

    /// An L1 sends its remote operation.
    pub fn operate(&mut self, c: usize) {
        let (access, keep) = self.l1s[c].op.expect("an operation");
        self.l1s[c].remote = Remote::Op;
        let mut fields = vec![("keep", u64::from(keep))];
        fields.extend(access.fields());
        self.post(c, WbOp::RemOp, &fields, None);
    }

    /// An L1 gives its kept lock back.
    pub fn unlock(&mut self, c: usize) {
        let (access, _) = self.l1s[c].op.expect("an operation");
        let line = self.line_of(access.addr);
        if let Some(holder) = self.holders.get_mut(&line) {
            holder.2 = true;
        }
        self.post(c, WbOp::RemUnlock, &[("atomic_addr", access.addr)], None);
        self.finish(c);
    }

    /// The remote operation is over.
    fn finish(&mut self, c: usize) {
        self.l1s[c].locked = false;
        self.l1s[c].op = None;
        self.l1s[c].remote = Remote::None;
        if std::mem::take(&mut self.l1s[c].token) {
            self.post(c, WbOp::TokenRel, &[], None);
            self.holder = None;
        }
        self.count("remote");
    }

    /// An L1 begins a SYS operation.
    pub fn system(&mut self, c: usize, op: ReqOp) {
        self.l1s[c].sys = Some(self.b.sim.cycle());
        self.request(c, op, &[]);
    }

    /// L1s begin what the mix says.
    fn begins(&mut self, c: usize) {
        let mix = self.mix;
        if self.chance(mix.rd) && self.free("req", c) {
            let line = self.pick_line();
            self.read(c, line);
        }
        if self.chance(mix.wb) && self.free("wb", c) {
            let line = self.pick_line();
            let (mask, data) = self.random_bytes();
            if !mask.is_zero() {
                self.write(c, line, mask, data);
            }
        }
        if self.l1s[c].atm.is_none() && self.free("req", c) {
            let (atm, sys) = (self.chance(mix.atm), self.chance(mix.sys_atm));
            if atm || sys {
                let line = self.pick_line();
                let access = self.access(line);
                let access = self.aimed(access);
                self.atomic(c, access, sys);
            }
        }
        if self.l1s[c].sys.is_none() && self.chance(mix.sys) {
            let op = if self.chance(0.4) { ReqOp::SysInv } else { ReqOp::SysFlush };
            self.system(c, op);
        }
        self.remote(c);
    }

    /// Remote operations begin and go on.
    fn remote(&mut self, c: usize) {
        let now = self.b.sim.cycle();
        match self.l1s[c].remote.clone() {
            Remote::None if self.p.system != Impl::Base && self.b.rng.random_bool(self.mix.remote) => {
                // Two lines are locked more often than others.
                let line = if self.b.rng.random_bool(0.5) { self.lines[c % 2] } else { self.pick_line() };
                let access = self.access(line);
                let keep = self.p.system != Impl::BrspToken && self.b.rng.random_bool(0.4);
                self.l1s[c].op = Some((access, keep));
                if self.p.system == Impl::BrspToken {
                    let locks = self.b.rng.random_bool(0.5);
                    self.l1s[c].remote = Remote::Token { locks };
                    self.request(c, ReqOp::Token, &[]);
                } else {
                    self.lock(c);
                }
            }
            Remote::Works(until) if until <= now => {
                let (access, keep) = self.l1s[c].op.expect("an operation");
                let access = self.aimed(access);
                self.l1s[c].op = Some((access, keep));
                self.operate(c);
            }
            Remote::Kept(until) if until <= now => self.unlock(c),
            _ => {}
        }
    }

    /// At the end: a SYS operation brings everything to memory.
    pub fn finish_all(&mut self, op: ReqOp) {
        self.drain();
        self.system(0, op);
        self.drain();
        let model: Vec<(u64, Line)> = self.model.iter().map(|(l, (bytes, _))| (*l, bytes.clone())).collect();
        for (line, bytes) in model {
            if *self.memory.line(line) != bytes {
                self.complain(format!("line {line:#x} is not in memory at the end"));
            }
        }
    }
}

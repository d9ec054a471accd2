//! Lines of bytes, and a memory channel that performs requests as they come and answers them in any order.

use crate::arith::{OPS, apply};
use crate::bench::locks::Below;
use crate::bench::{Bench, Msg};
use rand::Rng;
use rand::rngs::SmallRng;
use std::collections::BTreeMap;
use weft_rtl::bv::Bv;
use weft_srsp::msg::{MemOp, MemReq, MemRsp, SyncOp};
use weft_srsp::params::Srsp;

/// A line's bytes.
pub type Line = Vec<u8>;

/// What memory holds at first.
pub fn initial(line: u64, size: u32) -> Line {
    (0..size as usize).map(|i| (line.wrapping_mul(37).wrapping_add(i as u64 * 11) >> 1) as u8).collect()
}

/// The bytes of a wide value.
pub fn bytes(value: &Bv) -> Line {
    (0..value.width() / 8).map(|i| value.slice(8 * i, 8).low_u64() as u8).collect()
}

/// A line as a wide value.
pub fn wide(line: &[u8]) -> Bv {
    Bv::concat(&line.iter().map(|b| Bv::from_u64(u64::from(*b), 8)).collect::<Vec<_>>())
}

/// The bits of a mask.
pub fn mask(value: &Bv) -> Vec<bool> {
    (0..value.width()).map(|i| value.bit(i)).collect()
}

/// Writes the masked bytes.
pub fn merge(line: &mut [u8], mask: &[bool], data: &[u8]) {
    for ((to, from), _) in line.iter_mut().zip(data).zip(mask).filter(|(_, m)| **m) {
        *to = *from;
    }
}

/// One atomic access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// What it does.
    pub op: SyncOp,
    /// The word has 8 bytes, else 4.
    pub wide: bool,
    /// Byte address.
    pub addr: u64,
    /// Operand.
    pub opnd: u64,
    /// Compare operand.
    pub cmp: u64,
}

impl Access {
    /// The access of a message, whose leaves stand under `atomic`.
    ///
    /// # Panics
    /// When the message has none.
    pub fn of(m: &Msg) -> Access {
        let get = |name: &str| m.get(&format!("atomic_{name}"));
        Access {
            op: OPS[get("op") as usize],
            wide: get("wide") == 1,
            addr: get("addr"),
            opnd: get("opnd"),
            cmp: get("cmp"),
        }
    }

    /// Leaves of a message.
    pub fn fields(&self) -> [(&'static str, u64); 5] {
        [
            ("atomic_op", self.op as u64),
            ("atomic_wide", u64::from(self.wide)),
            ("atomic_addr", self.addr),
            ("atomic_opnd", self.opnd),
            ("atomic_cmp", self.cmp),
        ]
    }

    /// Performs it on its line: the word before, whether it wrote, and the bytes.
    pub fn perform(&self, line: &mut [u8]) -> (u64, bool) {
        let at = self.addr as usize % line.len();
        let size = if self.wide { 8 } else { 4 };
        let word = line[at..at + size].iter().rev().fold(0, |sum, b| sum << 8 | u64::from(*b));
        let (new, wrote) = apply(self.op, self.wide, word, self.opnd, self.cmp);
        if wrote {
            line[at..at + size].copy_from_slice(&new.to_le_bytes()[..size]);
        }
        (word, wrote)
    }
}

/// What memory will send, when, and what that makes durable.
struct Answer {
    due: u64,
    channel: usize,
    msg: Msg,
    written: Option<(u64, Vec<bool>, Line, u64)>,
}

/// The memory channel.
pub struct Memory {
    s: Srsp,
    /// Content after all requests that have come.
    pub now: BTreeMap<u64, Line>,
    /// Content after all writes that are acknowledged, with the number of the last write of each byte.
    pub durable: BTreeMap<u64, (Line, Vec<u64>)>,
    answers: Vec<Answer>,
    writes: u64,
    /// Longest time to an answer.
    pub delay: u64,
    /// Reads so far.
    pub reads: u64,
    /// Writes so far.
    pub written: u64,
}

impl Memory {
    /// A memory of lines as [`initial`] gives them.
    pub fn new(s: &Srsp) -> Memory {
        Memory {
            s: s.clone(),
            now: BTreeMap::new(),
            durable: BTreeMap::new(),
            answers: Vec::new(),
            writes: 0,
            delay: 40,
            reads: 0,
            written: 0,
        }
    }

    /// Present content of a line.
    pub fn line(&mut self, line: u64) -> &mut Line {
        let size = self.s.line;
        self.now.entry(line).or_insert_with(|| initial(line, size))
    }

    /// Takes a request of a channel.
    ///
    /// # Panics
    /// When a write has no bytes.
    pub fn request(&mut self, channel: usize, m: &Msg, now: u64, rng: &mut SmallRng) {
        let line = m.get("atomic_addr") / u64::from(self.s.line);
        let mut data = Bv::zero(self.s.data_bits());
        let mut written = None;
        match m.get("op") {
            op if op == MemOp::Rd as u64 => {
                self.reads += 1;
                data = wide(self.line(line));
            }
            op if op == MemOp::Wr as u64 => {
                self.written += 1;
                let (mask, bytes) = (mask(m.wide("mask")), bytes(m.wide("data")));
                assert!(mask.contains(&true), "a write without bytes");
                merge(self.line(line), &mask, &bytes);
                self.writes += 1;
                written = Some((line, mask, bytes, self.writes));
            }
            _ => {
                let access = Access::of(m);
                let (old, _) = access.perform(self.line(line));
                let (at, size) = (access.addr % u64::from(self.s.line), if access.wide { 8 } else { 4 });
                let mask = (0..u64::from(self.s.line)).map(|i| (at..at + size).contains(&i)).collect();
                self.writes += 1;
                written = Some((line, mask, self.line(line).clone(), self.writes));
                let mut limbs = vec![0; self.s.data_bits() as usize / 64];
                limbs[0] = old;
                // What lies above the word is no part of it.
                limbs[1] = rng.random();
                data = Bv::from_limbs(&limbs, self.s.data_bits());
            }
        }
        let msg = Msg::of::<MemRsp>(&self.s, &[("id", m.get("id"))]).with("data", data);
        self.answers.push(Answer { due: now + rng.random_range(0..=self.delay), channel, msg, written });
    }

    /// An answer that is due, and the channel that it goes to.
    pub fn answer(&mut self, now: u64) -> Option<(usize, Msg)> {
        let at = self.answers.iter().position(|a| a.due <= now)?;
        let Answer { channel, msg, written, .. } = self.answers.swap_remove(at);
        if let Some((line, mask, data, number)) = written {
            let size = self.s.line;
            let fresh = || (initial(line, size), vec![0; size as usize]);
            let (bytes, last) = self.durable.entry(line).or_insert_with(fresh);
            for i in (0..mask.len()).filter(|i| mask[*i]) {
                if last[i] < number {
                    (bytes[i], last[i]) = (data[i], number);
                }
            }
        }
        Some((channel, msg))
    }

    /// Nothing is under way.
    pub fn idle(&self) -> bool {
        self.answers.is_empty()
    }
}

impl Below for Memory {
    fn connect(&self, b: &mut Bench) {
        for bank in 0..self.s.banks {
            b.sink::<MemReq>(&format!("mem{bank}_req"), &self.s);
            b.source::<MemRsp>(&format!("mem{bank}_rsp"), &self.s);
        }
    }

    fn send(&mut self, b: &mut Bench) {
        while let Some((bank, m)) = self.answer(b.sim.cycle()) {
            b.send(&format!("mem{bank}_rsp"), m);
        }
    }

    fn take(&mut self, b: &mut Bench, now: u64) {
        for bank in 0..self.s.banks as usize {
            while let Some((_, m)) = b.received(&format!("mem{bank}_req")) {
                self.request(bank, &m, now, &mut b.rng);
            }
        }
    }

    fn clear(&mut self, line: u64) {
        self.now.insert(line, vec![0; self.s.line as usize]);
    }

    fn change(&mut self, b: &mut Bench) {
        self.delay = [0, 30, 200][b.rng.random_range(0..3)];
        for (name, sink) in &mut b.sinks {
            let chance = [0.2, 1.0][b.rng.random_range(0..2)];
            sink.chance = if name.starts_with("mem") { chance } else { 1.0 };
        }
    }
}

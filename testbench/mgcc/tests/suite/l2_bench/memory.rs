//! The memory as the bank sees it: lines with versions, leases, and answers that come late.

use super::ports::{Bytes, Mask};
use crate::wire::AMOS;
use rand::Rng;
use rand::rngs::SmallRng;
use std::collections::{BTreeMap, VecDeque};
use weft_mgcc::l2::L2Params;
use weft_mgcc_bench::golden::msg::{Atomic, Data};

/// {epoch, ts}.
pub type Time = (u64, u64);

/// Operations of messages, as encoded.
pub mod op {
    pub const RD: u64 = 0;
    pub const WR: u64 = 1;
    pub const AMO: u64 = 2;
    pub const EVICT: u64 = 3;
}

/// A request of the bank.
#[derive(Clone, Debug)]
pub struct MemReq {
    pub op: u64,
    pub txn: u64,
    pub line: u64,
    pub tag: u64,
    pub ts: u64,
    pub mask: Mask,
    pub data: Bytes,
    /// Operation, signed, word, wide.
    pub amo: [u64; 4],
    /// When it was taken.
    pub cycle: u64,
}

/// An answer to the bank.
#[derive(Clone, Debug)]
pub struct Grant {
    pub op: u64,
    pub txn: u64,
    pub line: u64,
    pub epoch: u64,
    pub wts: u64,
    pub rts: u64,
    pub with_data: bool,
    pub data: Bytes,
    pub old: u64,
    due: u64,
}

struct Line {
    memts: u64,
    wts: u64,
    /// Times and values of all writes, oldest first; the first is the beginning.
    versions: Vec<(Time, Bytes)>,
}

/// The memory.
pub struct Memory {
    coherent: bool,
    /// Atomics are what they say: the bank carries them out too.
    real: bool,
    ts_max: u64,
    /// Leases of reads and writes.
    pub leases: [u64; 2],
    pub epoch: u64,
    lines: BTreeMap<u64, Line>,
    waiting: BTreeMap<u64, VecDeque<MemReq>>,
    answers: Vec<Grant>,
    /// A write needs the next epoch.
    pub wants_roll: bool,
    /// A lease that ends before the requester's clock (a published slip).
    pub short: bool,
    /// Longest time from performing to answering.
    pub slack: u64,
    /// Stamps granted to writes and atomics, by their data.
    pub writes: BTreeMap<Bytes, Grant>,
}

/// The line with the bytes of a mask replaced.
pub fn merge(line: &Bytes, mask: Mask, data: &Bytes) -> Bytes {
    std::array::from_fn(|i| if mask >> i & 1 == 1 { data[i] } else { line[i] })
}

/// An atomic as the golden models have it; `amo`: operation, signed, word, wide.
pub fn golden_atomic(data: &Bytes, amo: [u64; 4]) -> Atomic {
    let data = Data(*data);
    Atomic {
        op: AMOS[amo[0] as usize],
        signed: amo[1] == 1,
        word: amo[2] as u32,
        wide: amo[3] == 1,
        operand: data.number(0, 8),
        compare: data.number(8, 8),
    }
}

/// The atomic of this memory: the word's 8 bytes take the exclusive or with the operand, whatever the operation is; `real`: the operation itself.
pub fn atomic(line: &Bytes, data: &Bytes, amo: [u64; 4], real: bool) -> (Bytes, u64) {
    if real {
        let mut after = Data(*line);
        let old = golden_atomic(data, amo).perform(&mut after);
        return (after.0, old);
    }
    let at = (amo[2] as usize / 2) * 8;
    let old = u64::from_le_bytes(line[at..at + 8].try_into().expect("a word"));
    let operand = u64::from_le_bytes(data[..8].try_into().expect("a word"));
    let mut after = *line;
    after[at..at + 8].copy_from_slice(&(old ^ operand).to_le_bytes());
    (after, old)
}

impl Memory {
    pub fn new(p: &L2Params, lines: &[u64], rng: &mut SmallRng) -> Memory {
        let line = |rng: &mut SmallRng| Line {
            memts: 0,
            wts: 0,
            versions: vec![((0, 0), std::array::from_fn(|_| rng.random()))],
        };
        Memory {
            coherent: p.coherent(),
            real: p.home.is_some(),
            ts_max: p.tsm.ts_max(),
            leases: [10, 5],
            epoch: 0,
            lines: lines.iter().map(|l| (*l, line(rng))).collect(),
            waiting: BTreeMap::new(),
            answers: Vec::new(),
            wants_roll: false,
            short: false,
            slack: 40,
            writes: BTreeMap::new(),
        }
    }

    /// Every write of a line with its time.
    pub fn versions(&self, line: u64) -> &[(Time, Bytes)] {
        &self.lines[&line].versions
    }

    /// The present value of a line.
    pub fn value(&self, line: u64) -> Bytes {
        self.lines[&line].versions.last().expect("a beginning").1
    }

    /// What a load of a line at a time returns: the write with the greatest time that is not later.
    pub fn at(&self, line: u64, time: Time) -> Bytes {
        let before = self.lines[&line].versions.iter().filter(|v| v.0 <= time);
        before.max_by_key(|v| v.0).expect("a beginning").1
    }

    /// Nothing waits here.
    pub fn idle(&self) -> bool {
        self.answers.is_empty() && self.waiting.values().all(VecDeque::is_empty)
    }

    /// Epochs of what waits here.
    pub fn epochs(&self) -> impl Iterator<Item = u64> {
        self.answers.iter().map(|a| a.epoch)
    }

    /// A line has a request here.
    pub fn busy(&self, line: u64) -> bool {
        let answers = self.answers.iter().any(|a| a.line == line);
        answers || self.waiting.get(&line).is_some_and(|w| !w.is_empty())
    }

    pub fn roll(&mut self, epoch: u64) {
        if epoch > self.epoch {
            self.epoch = epoch;
            self.wants_roll = false;
            for line in self.lines.values_mut() {
                (line.memts, line.wts) = (0, 0);
            }
        }
    }

    pub fn take(&mut self, req: MemReq) {
        self.waiting.entry(req.line).or_default().push_back(req);
    }

    /// Performs the oldest request of some line; false if a write must wait for the next epoch.
    pub fn serve(&mut self, rng: &mut SmallRng, cycle: u64, full_data: bool) {
        let lines: Vec<u64> = self.waiting.iter().filter(|w| !w.1.is_empty()).map(|w| *w.0).collect();
        if lines.is_empty() {
            return;
        }
        let line = lines[rng.random_range(0..lines.len())];
        let req = self.waiting[&line][0].clone();
        let Some(mut grant) = self.perform(&req) else {
            return;
        };
        self.waiting.get_mut(&line).expect("a queue").pop_front();
        grant.with_data = req.op != op::WR || req.mask != Mask::MAX || full_data;
        grant.due = cycle + rng.random_range(0..=self.slack);
        if req.op != op::RD {
            self.writes.insert(req.data, grant.clone());
        }
        self.answers.push(grant);
    }

    /// Grants and performs a request; none if it must wait for the next epoch.
    pub fn perform(&mut self, req: &MemReq) -> Option<Grant> {
        let ahead = (req.tag.wrapping_sub(self.epoch)) & 7;
        if self.coherent && ahead == 1 {
            self.roll(self.epoch + 1);
        }
        let ts = if ahead > 1 && self.coherent { 0 } else { req.ts };
        let (epoch, [read, write], max) = (self.epoch, self.leases, self.ts_max);
        let line = self.lines.get_mut(&req.line).expect("a line of the test");
        let last = line.versions.last().expect("a beginning").1;
        let (after, old) = match req.op {
            op::WR => (merge(&last, req.mask, &req.data), 0),
            op::AMO => atomic(&last, &req.data, req.amo, self.real),
            _ => (last, 0),
        };
        let (wts, rts) = if !self.coherent {
            (0, 0)
        } else if req.op == op::RD {
            let rts = if self.short { line.memts.max(1) } else { (line.memts.max(ts) + read).min(max) };
            (line.wts.min(rts), rts)
        } else {
            let w = (line.memts + 1).max(ts);
            if w > max {
                self.wants_roll = true;
                return None;
            }
            (w, (w - 1 + write).min(max))
        };
        (line.memts, line.wts) = (line.memts.max(rts), wts);
        if req.op != op::RD {
            // Without timestamps versions are numbered.
            let time = if self.coherent { (epoch, wts) } else { (0, line.versions.len() as u64) };
            line.versions.push((time, after));
        }
        let (op, txn) = (req.op, req.txn);
        Some(Grant { op, txn, line: req.line, epoch, wts, rts, with_data: true, data: after, old, due: 0 })
    }

    /// An answer that may be brought now.
    pub fn pick(&mut self, rng: &mut SmallRng, cycle: u64) -> Option<Grant> {
        let due: Vec<usize> = (0..self.answers.len()).filter(|i| self.answers[*i].due <= cycle).collect();
        if due.is_empty() {
            return None;
        }
        Some(self.answers.remove(due[rng.random_range(0..due.len())]))
    }
}

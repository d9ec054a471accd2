//! What is below an L1: banks with clocks, a memory that grants leases, other GPUs that write. Answers come late, in any order between lines.

use rand::Rng;
use rand::rngs::SmallRng;
use std::collections::BTreeMap;
use weft_mgcc_bench::golden::layout::Layout;
use weft_mgcc_bench::golden::msg::{Data, UpReq, UpRsp, Work};
use weft_mgcc_bench::golden::time::{Age, Time, Widths};

/// Leases of a line in the present epoch, and all values it has had.
#[derive(Clone)]
struct Line {
    data: Data,
    wts: u64,
    /// End of the last lease given.
    memts: u64,
    /// Value from each time on, in order.
    versions: Vec<(Time, Data)>,
}

/// A request on its way.
struct Asked {
    req: UpReq,
    /// Epoch of the L1 when it asked.
    epoch: u64,
    due: u64,
}

/// A response on its way.
struct Ready {
    rsp: UpRsp,
    epoch: u64,
    due: u64,
}

/// Banks and memory.
pub struct Memory {
    coherent: bool,
    eager: bool,
    widths: Widths,
    layout: Layout,
    /// Chance that a read's lease is cut short of what its reader needs: never sent by a bank, but specified.
    pub mean: f64,
    /// Longest delay.
    pub slow: u64,
    pub epoch: u64,
    banks: Vec<u64>,
    lines: BTreeMap<u64, Line>,
    asked: Vec<Asked>,
    ready: Vec<Ready>,
}

impl Memory {
    pub fn new(coherent: bool, eager: bool, widths: Widths, layout: Layout) -> Memory {
        let banks = vec![0; layout.banks as usize];
        Memory {
            coherent,
            eager,
            widths,
            layout,
            mean: 0.0,
            slow: 25,
            epoch: 0,
            banks,
            lines: BTreeMap::new(),
            asked: Vec::new(),
            ready: Vec::new(),
        }
    }

    pub fn idle(&self) -> bool {
        self.asked.is_empty() && self.ready.is_empty()
    }

    fn line(&mut self, number: u64) -> &mut Line {
        let epoch = self.epoch;
        self.lines.entry(number).or_insert_with(|| {
            let words = std::array::from_fn(|i| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ i as u64);
            let data = Data::from_words(words);
            let versions = vec![(Time::default(), data), (Time::new(epoch, 0), data)];
            Line { data, wts: 0, memts: 0, versions }
        })
    }

    /// The value of a line at a time, as far as it is known now.
    pub fn value_at(&mut self, number: u64, time: Time) -> Data {
        let line = self.line(number);
        let last = line.versions.iter().rev().find(|version| version.0 <= time);
        last.expect("every line has a value from the beginning").1
    }

    /// A new epoch may begin: nothing on its way is too old to be understood. `eb` = 3 allows 3 epochs.
    pub fn may_roll(&self) -> bool {
        let oldest = self.asked.iter().map(|a| a.epoch).chain(self.ready.iter().map(|r| r.epoch)).min();
        oldest.is_none_or(|oldest| oldest + 2 > self.epoch)
    }

    /// Begins the next epoch.
    pub fn roll(&mut self) {
        self.epoch += 1;
        self.banks.fill(0);
        for line in self.lines.values_mut() {
            (line.wts, line.memts) = (0, 0);
            line.versions.push((Time::new(self.epoch, 0), line.data));
        }
    }

    /// A request arrives at its bank; `epoch` is the L1's.
    pub fn take(&mut self, req: UpReq, epoch: u64, now: u64, rng: &mut SmallRng) {
        assert!(self.asked.iter().all(|a| a.req.line != req.line), "two transactions on line {}", req.line);
        if let (Some(ts), Age::Current) = (req.ts, self.widths.age(req.tag, self.epoch)) {
            let clock = &mut self.banks[self.layout.bank(req.line)];
            *clock = (*clock).max(ts);
        }
        self.asked.push(Asked { req, epoch, due: now + rng.random_range(1..=self.slow) });
    }

    /// Something happens below: other GPUs write, requests are carried out. True when the memory needs a new epoch.
    pub fn tick(&mut self, now: u64, rng: &mut SmallRng) -> bool {
        let max = self.widths.max();
        let due: Vec<usize> = (0..self.asked.len()).filter(|i| self.asked[*i].due <= now).collect();
        if due.is_empty() {
            return false;
        }
        let at = due[rng.random_range(0..due.len())];
        let Asked { req, .. } = &self.asked[at];
        if !matches!(req.work, Work::Read) && self.coherent && self.line(req.line).memts >= max {
            return true;
        }
        let Asked { req, .. } = self.asked.swap_remove(at);
        let rsp = self.perform(&req, rng);
        let due = now + rng.random_range(1..=self.slow);
        self.ready.push(Ready { rsp, epoch: self.epoch, due });
        false
    }

    /// Another GPU writes a line.
    pub fn other_writer(&mut self, number: u64, rng: &mut SmallRng) {
        let (mask, data) = (rng.random(), Data::from_words(rng.random()));
        if self.line(number).memts < self.widths.max() {
            let clock = rng.random_range(0..4);
            self.write(number, clock, |line| line.merge(mask, &data));
        }
    }

    fn write(&mut self, number: u64, clock: u64, change: impl FnOnce(&mut Data)) {
        let (epoch, max) = (self.epoch, self.widths.max());
        let line = self.line(number);
        line.wts = clock.max(line.memts + 1);
        line.memts = (line.wts + 4).min(max);
        change(&mut line.data);
        line.versions.push((Time::new(epoch, line.wts), line.data));
    }

    fn perform(&mut self, req: &UpReq, rng: &mut SmallRng) -> UpRsp {
        let bank = self.layout.bank(req.line);
        let clock = self.banks[bank];
        let max = self.widths.max();
        let mut old = rng.random();
        let mut from_memory = true;
        match req.work {
            Work::Read => {
                let lease = rng.random_range(0..12);
                let line = self.line(req.line);
                from_memory = req.force || clock > line.memts || rng.random_bool(0.4);
                if from_memory {
                    line.memts = (line.memts.max(clock) + lease).min(max);
                }
            }
            Work::Write { mask, data } => self.write(req.line, clock, |line| line.merge(mask, &data)),
            Work::Atomic(atomic) => self.write(req.line, clock, |line| old = atomic.perform(line)),
        }
        let line = self.line(req.line).clone();
        let with_data = !matches!(req.work, Work::Write { .. }) || req.work.partial() || rng.random_bool(0.3);
        let read = req.work == Work::Read;
        if !read || self.eager {
            self.banks[bank] = self.banks[bank].max(line.wts);
        }
        let short = read && rng.random_bool(self.mean);
        let rts = if short { rng.random_range(line.wts..=line.memts) } else { line.memts };
        let (wts, rts) = if self.coherent { (line.wts, rts) } else { (0, 0) };
        UpRsp {
            op: req.work.op(),
            dst: req.src,
            txn: req.txn,
            tag: self.widths.tag(self.epoch),
            wts,
            rts,
            data: with_data.then_some(line.data),
            old,
            from_memory,
        }
    }

    /// A response to deliver now, if any; they overtake each other.
    pub fn deliver(&mut self, now: u64, rng: &mut SmallRng) -> Option<UpRsp> {
        let due: Vec<usize> = (0..self.ready.len()).filter(|i| self.ready[*i].due <= now).collect();
        (!due.is_empty()).then(|| self.ready.swap_remove(due[rng.random_range(0..due.len())]).rsp)
    }
}

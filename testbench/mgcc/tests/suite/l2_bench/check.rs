//! What each answer, each request and an idle bank must be.

use super::Bench;
use super::memory::{MemReq, Time, op};
use super::ports::{Bytes, Mask, to_bytes};
use super::step::Answered;
use weft_mgcc::choice::ReadTs;

/// A load's answer, to be judged at the end.
pub(super) struct Load {
    line: u64,
    time: Time,
    data: Bytes,
    cycle: u64,
}

impl Bench {
    pub(super) fn eager(&self) -> bool {
        self.p.read_ts == ReadTs::Eager
    }

    pub(super) fn check_answer(&mut self, a: &Answered) {
        if !self.judges {
            return;
        }
        let at = format!("seed {} cycle {} {a:?}", self.seed, self.sim.cycle());
        if self.p.back() {
            self.check_back_answer(a, &at);
            return;
        }
        if a.ask.op == op::RD {
            assert!(a.with_data, "a read has its line: {at}");
            self.check_read(a, &at);
            return;
        }
        let grant =
            self.memory.writes.get(&a.ask.data).unwrap_or_else(|| panic!("not written: {at}")).clone();
        assert_eq!((a.epoch, a.wts, a.rts), (grant.epoch, grant.wts, grant.rts), "stamps as granted: {at}");
        assert_eq!(a.with_data, grant.with_data, "{at}");
        assert!(a.with_data || a.ask.mask == Mask::MAX, "a partial write needs the line: {at}");
        assert!(!a.with_data || a.data == grant.data, "the line after the write: {at}");
        assert!(a.ask.op != op::AMO || a.old == grant.old, "the old value: {at}");
        assert!(a.from_memory, "{at}");
        self.learn(a.ask.line, &grant.data);
    }

    fn check_back_answer(&self, a: &Answered, at: &str) {
        let (line, old) = a.ask.want.expect("taken");
        let whole = a.ask.op == op::WR && a.ask.mask == Mask::MAX;
        assert_eq!(a.with_data, !whole || self.full_data, "{at}");
        let same = |i: usize| self.own >> i & 1 == 0 || a.data[i] == line[i];
        assert!(!a.with_data || (0..64).all(same), "the line after the request {line:?}: {at}");
        assert!(a.ask.op != op::AMO || a.old == old, "the old value {old:x}: {at}");
        if a.ask.force && self.p.home.is_none() {
            let read = self.reads.get(&a.ask.line).copied().unwrap_or(0);
            assert!(read >= a.ask.cycle && a.from_memory, "a forced read goes to memory: {at}");
        }
    }

    fn check_read(&mut self, a: &Answered, at: &str) {
        if a.ask.force {
            let read = self.reads.get(&a.ask.line).copied().unwrap_or(0);
            assert!(read >= a.ask.cycle && a.from_memory, "a forced read goes to memory: {at}");
        }
        if !self.p.coherent() {
            let versions = self.memory.versions(a.ask.line);
            let found = versions.iter().rposition(|v| v.1 == a.data);
            let found = found.unwrap_or_else(|| panic!("no value that the line ever had: {at}"));
            assert!(found >= a.ask.known, "older than what was seen before: {at}");
            self.learn(a.ask.line, &a.data);
            return;
        }
        assert!(a.ask.need <= (a.epoch, a.rts), "the lease covers the reader: {at}");
        let lease = (a.ask.line, a.epoch, a.wts, a.rts);
        assert!(self.leases.contains(&lease), "stamps as granted: {at}");
        let (line, time, data) = (a.ask.line, Bench::binds(a), a.data);
        self.loads.push(Load { line, time, data, cycle: a.cycle });
    }

    /// The newest version of a line that has left the bank (without timestamps).
    fn learn(&mut self, line: u64, data: &Bytes) {
        let found = self.memory.versions(line).iter().rposition(|v| v.1 == *data).unwrap_or(0);
        let known = self.known.entry(line).or_default();
        *known = (*known).max(found);
    }

    pub(super) fn check_request(&mut self, req: &MemReq) {
        let at = format!("seed {} cycle {} {req:?}", self.seed, self.sim.cycle());
        if self.p.back() {
            self.check_back_request(req, &at);
            return;
        }
        let brought = self.brought.as_ref().is_some_and(|g| g.line == req.line);
        assert!(!brought && !self.memory.busy(req.line), "one transaction per line: {at}");
        let time = (self.epoch_of(req.tag), req.ts);
        let fits = |a: &&super::Ask| {
            let same = a.op == req.op && a.line == req.line && a.need <= time;
            let body = a.data == req.data && a.amo == req.amo && (a.op == op::AMO || a.mask == req.mask);
            same && (a.op == op::RD || body)
        };
        let found = self.l1s.iter().flat_map(|l| l.open.values()).any(|a| fits(&a));
        assert!(found || !self.judges, "an L1 asked for this, and its clock was no later: {at}");
        assert!(req.op == op::RD || !self.memory.writes.contains_key(&req.data), "written once: {at}");
        if req.op == op::RD {
            self.reads.insert(req.line, self.sim.cycle());
        }
    }

    fn check_back_request(&mut self, req: &MemReq, at: &str) {
        let mut asks = self.l1s.iter().flat_map(|l| l.open.values());
        match req.op {
            op::RD => {
                let wants = |a: &super::Ask| a.line == req.line && (a.op != op::AMO || self.p.home.is_some());
                assert!(asks.any(wants), "nobody wants it: {at}");
                self.reads.insert(req.line, self.sim.cycle());
            }
            op::WR => {
                assert!(req.mask != 0 && req.mask & !self.own == 0, "no bytes that nobody wrote here: {at}");
                let mut written = self.truth[&req.line];
                written =
                    std::array::from_fn(|i| if req.mask >> i & 1 == 1 { req.data[i] } else { written[i] });
                let settled = asks.all(|a| a.line != req.line);
                // A whole line may have been written anew while bytes of the old one waited at the output: it is here, or waits there.
                let follows =
                    req.mask & !self.dirty_of(req.line) == 0 || self.peek("mem_req_queue_count") != 0;
                let last = written == self.truth[&req.line] || follows;
                assert!(!settled || last, "the bytes written last: {at}");
            }
            _ => assert!(asks.any(|a| a.data == req.data && a.amo == req.amo), "{at}"),
        }
    }

    pub(super) fn check_note(&mut self, note: &MemReq) {
        let at = format!("seed {} cycle {} {note:?}", self.seed, self.sim.cycle());
        assert!(self.p.coherent() && self.p.evict_notes, "{at}");
        let epoch = self.epoch_of(note.tag);
        let known = self.leases.iter().any(|l| l.0 == note.line && l.1 == epoch && l.3 == note.ts);
        assert!(known || !self.judges, "a lease that was granted: {at}");
    }

    /// Blocks of the bank: set, way, line, state, wts, rts.
    pub fn blocks(&self) -> Vec<(u32, u32, u64, u64, u64, u64)> {
        let (p, tag_bits) = (&self.p, self.p.tag_bits());
        let mut all = Vec::new();
        for set in 0..p.sets() {
            for way in 0..p.ways {
                let cell = self.sim.peek_mem("tags", set, way).expect("a cell");
                let tag = cell.slice(0, tag_bits).low_u64();
                let state = cell.slice(tag_bits, 2).low_u64();
                if state == 0 {
                    continue;
                }
                let line = *self
                    .lines
                    .iter()
                    .find(|l| self.place(**l) == (set, tag))
                    .unwrap_or_else(|| panic!("no line of the test in set {set}, way {way}"));
                let (mut wts, mut rts) = (0, 0);
                if let Some(cell) = self.sim.peek_mem("stamps", set, way) {
                    wts = cell.slice(0, p.tsm.ts).low_u64();
                    rts = cell.slice(p.tsm.ts, p.tsm.ts).low_u64();
                }
                all.push((set, way, line, state, wts, rts));
            }
        }
        all
    }

    /// Set and tag of a line.
    pub fn place(&self, line: u64) -> (u32, u64) {
        let t = &self.p.tsm;
        let (low, select) = (t.il - 6, t.bank_select());
        let inside = (line >> (low + select)) << low | (line & ((1 << low) - 1));
        let sets = u64::from(self.p.sets());
        ((inside % sets) as u32, inside / sets)
    }

    /// The line in a way.
    pub fn data_at(&self, set: u32, way: u32) -> Bytes {
        to_bytes(&self.sim.peek_mem("lines", set * self.p.ways + way, 0).expect("a row"))
    }

    /// An idle bank holds what memory has granted and nothing else.
    pub(super) fn check_idle(&mut self) {
        let seed = self.seed;
        for name in ["mshr_lines_valid", "pool_used", "mshr_landed", "mshr_walk", "mshr_redo", "unanswered"] {
            assert_eq!(self.peek(name), 0, "seed {seed}: {name} of an idle bank");
        }
        if self.p.coherent() {
            let found = (self.peek("epoch"), self.peek("cts"));
            assert_eq!(found, self.clock, "seed {seed}: the clock is the greatest time that it must follow");
        }
        let mut seen = Vec::new();
        for (set, way, line, state, wts, rts) in self.blocks() {
            assert!(!seen.contains(&line), "seed {seed}: line {line:x} is in two ways");
            seen.push(line);
            let data = self.data_at(set, way);
            if self.p.back() {
                self.check_back_line(set, way, line, state);
                continue;
            }
            assert_eq!(state, 1, "seed {seed}: nothing is locked or kept in an idle bank");
            if self.p.coherent() {
                let epoch = self.clock.0;
                let lease = (line, epoch, wts, rts);
                assert!(self.leases.contains(&lease), "seed {seed}: {lease:x?} was granted");
                let value = self.memory.at(line, (epoch, rts));
                assert_eq!(data, value, "seed {seed}: line {line:x} in lease [{wts}, {rts}]");
            } else {
                let known = self.memory.versions(line).iter().any(|v| v.1 == data);
                assert!(known, "seed {seed}: line {line:x} has a value that it never had");
            }
        }
        assert!(self.sim.asleep(), "an idle bank changes nothing");
    }

    /// A line of an idle write-back bank.
    fn check_back_line(&self, set: u32, way: u32, line: u64, state: u64) {
        let (seed, data, truth, memory) =
            (self.seed, self.data_at(set, way), self.truth[&line], self.memory.value(line));
        assert!(state == 1 || state == 2, "seed {seed}: nothing is kept in an idle bank");
        let dirty = if state == 2 { self.dirty_at(set, way) } else { 0 };
        assert!(state == 1 || dirty != 0, "seed {seed}: line {line:x} is dirty without dirty bytes");
        for i in (0..64).filter(|i| self.own >> i & 1 == 1) {
            assert_eq!(data[i], truth[i], "seed {seed}: line {line:x} byte {i}");
            let clean = dirty >> i & 1 == 0;
            assert!(
                !clean || memory[i] == truth[i],
                "seed {seed}: line {line:x} byte {i} is only here and not dirty"
            );
        }
    }

    /// Dirty bytes of a line; none if it is not here.
    fn dirty_of(&self, line: u64) -> Mask {
        let dirty = self.blocks().into_iter().find(|block| (block.2, block.3) == (line, 2));
        dirty.map_or(0, |block| self.dirty_at(block.0, block.1))
    }

    /// Dirty bytes of a way.
    pub fn dirty_at(&self, set: u32, way: u32) -> Mask {
        self.sim.peek_mem("dirty", set * self.p.ways + way, 0).expect("a row").low_u64()
    }

    /// Memory has every byte that was written here.
    pub fn check_memory(&self) {
        for (line, truth) in &self.truth {
            let memory = self.memory.value(*line);
            let same = (0..64).all(|i| self.own >> i & 1 == 0 || memory[i] == truth[i]);
            assert!(same, "seed {}: line {line:x} in memory {memory:?}, written {truth:?}", self.seed);
        }
    }

    /// Each load has returned the write with the greatest time that is not later than its own, also among the writes performed later.
    pub(super) fn judge(&mut self) {
        for load in std::mem::take(&mut self.loads) {
            let right = self.memory.at(load.line, load.time);
            let (seed, cycle) = (self.seed, load.cycle);
            assert_eq!(
                load.data, right,
                "seed {seed} cycle {cycle}: line {:x} at {:?}",
                load.line, load.time
            );
        }
    }
}

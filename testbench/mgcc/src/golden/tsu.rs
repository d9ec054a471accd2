//! The timestamp unit of a lane (mgcc.md sections 6 and 8).

use super::inject::Inject;
use super::time::{Age, Widths};

/// Parameters of a TSU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TsuParams {
    /// Sets, a power of two; the set is in the lowest bits of the line number inside the lane.
    pub sets: usize,
    /// Ways.
    pub ways: usize,
    /// Widths of stamps and tags.
    pub widths: Widths,
    /// `RD_EXTEND = accumulate` (else `cover`).
    pub accumulate: bool,
    /// `TSU_WTS = exact` (else `bound`).
    pub exact: bool,
    /// A published rule in place of its correction.
    pub inject: Option<Inject>,
}

/// Operation of a TSU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TsuOp {
    /// Extends the line's lease.
    Read,
    /// A new version (writes and atomics).
    Write,
    /// A bank has dropped its block; `ts` is the block's rts. No result.
    Evict,
}

/// What goes in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TsuReq {
    /// Operation.
    pub op: TsuOp,
    /// Line number inside the lane.
    pub line: u64,
    /// Epoch of `ts`, EB bits.
    pub tag: u64,
    /// The requester's clock.
    pub ts: u64,
}

/// What comes out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Grant {
    /// Epoch of the TSU, EB bits.
    pub tag: u64,
    /// Mwts.
    pub wts: u64,
    /// Mrts.
    pub rts: u64,
    /// The write did not fit; nothing was changed and the stamps mean nothing. Ask again after the roll.
    pub ovf: bool,
    /// The UMC asks for a roll: overflow, or the lease ends above 2^TS - 2^(TS-6).
    pub ask: bool,
    /// The line was there.
    pub hit: bool,
    /// The line whose entry was dropped for this one.
    pub victim: Option<u64>,
}

/// What the TSU knows about a line.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Entry {
    /// Line number inside the lane.
    pub line: u64,
    /// End of the greatest lease ever granted.
    pub memts: u64,
    /// Stamp of the last write (`exact`), or an upper bound of it.
    pub wts: u64,
}

/// The timestamp unit of one lane.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Tsu {
    p: TsuParams,
    epoch: u64,
    ways: Vec<Vec<Option<Entry>>>,
    floor: Vec<u64>,
    wfloor: Vec<u64>,
}

impl Tsu {
    /// After reset: epoch 0, empty, floors 0.
    pub fn new(p: TsuParams) -> Tsu {
        Tsu {
            p,
            epoch: 0,
            ways: vec![vec![None; p.ways]; p.sets],
            floor: vec![0; p.sets],
            wfloor: vec![0; p.sets],
        }
    }
    /// The current epoch.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }
    /// Set of a line.
    pub fn set_of(&self, line: u64) -> usize {
        line as usize & (self.p.sets - 1)
    }
    /// Entry of a line.
    pub fn entry(&self, line: u64) -> Option<Entry> {
        self.ways[self.set_of(line)].iter().flatten().find(|entry| entry.line == line).copied()
    }
    /// {floor, wfloor} of a set; the second counts with `exact` only.
    pub fn floors(&self, set: usize) -> (u64, u64) {
        (self.floor[set], self.wfloor[set])
    }
    /// Raises the floor of every set to at least `ts`: a sound state in the middle of an epoch, as after many evictions.
    pub fn raise_floors(&mut self, ts: u64) {
        self.floor.iter_mut().for_each(|floor| *floor = (*floor).max(ts));
        self.wfloor.iter_mut().for_each(|floor| *floor = (*floor).max(ts));
    }
    /// A new epoch begins: entries invalid, floors 0. Nothing happens if it is not newer.
    pub fn roll(&mut self, epoch: u64) {
        if epoch > self.epoch {
            *self = Tsu::new(self.p);
            self.epoch = epoch;
        }
    }
    /// One operation, with the values that the lease registers have now. An Evict has no result. A newer tag rolls first; a ts with an older tag counts as 0.
    pub fn operate(&mut self, req: &TsuReq, rd_lease: u64, wr_lease: u64) -> Option<Grant> {
        let age = self.p.widths.age(req.tag, self.epoch);
        if age == Age::Newer {
            self.roll(self.epoch + 1);
        }
        if req.op == TsuOp::Evict {
            self.evict_note(req, age);
            return None;
        }
        let ts = if age == Age::Older { 0 } else { req.ts };
        let set = self.set_of(req.line);
        let found = self.entry(req.line);
        let (base, wbase) = match found {
            Some(entry) => (entry.memts, entry.wts),
            None => (self.floor[set], self.wfloor[set]),
        };
        let wbase = if self.p.exact { wbase } else { base };
        let stamps = match req.op {
            TsuOp::Write => self.write_stamps(base, ts, wr_lease),
            _ => Some((wbase, self.read_end(base, ts, rd_lease))),
        };
        let tag = self.p.widths.tag(self.epoch);
        let hit = found.is_some();
        let Some((wts, rts)) = stamps else {
            return Some(Grant { tag, wts: 0, rts: 0, ovf: true, ask: true, hit, victim: None });
        };
        let victim = self.put(set, Entry { line: req.line, memts: rts, wts });
        let ask = rts > self.p.widths.roll_above() && self.p.inject != Some(Inject::LitReinit);
        Some(Grant { tag, wts, rts, ovf: false, ask, hit, victim })
    }

    fn read_end(&self, base: u64, ts: u64, lease: u64) -> u64 {
        let end = if self.p.accumulate { base.max(ts) + lease } else { base.max(ts + lease) };
        end.min(self.p.widths.max())
    }
    /// {Mwts, Mrts}, or nothing if they do not fit.
    fn write_stamps(&self, base: u64, ts: u64, lease: u64) -> Option<(u64, u64)> {
        let max = self.p.widths.max();
        let (first, end) = match self.p.inject {
            Some(Inject::LitMwts) => (base.max(ts), base.max(ts) + lease),
            _ => (base.saturating_add(1).max(ts), base.saturating_add(1).max(ts) - 1 + lease),
        };
        if first <= max {
            Some((first, end.min(max)))
        } else if self.p.inject == Some(Inject::LitReinit) {
            Some((1, lease))
        } else {
            None
        }
    }
    /// Writes the line's entry back, or allocates one; the line whose entry had to go.
    fn put(&mut self, set: usize, new: Entry) -> Option<u64> {
        let ways = &mut self.ways[set];
        let way = ways.iter().position(|way| way.is_some_and(|entry| entry.line == new.line));
        let way = way.or_else(|| ways.iter().position(Option::is_none)).unwrap_or_else(|| {
            let lowest = ways.iter().flatten().map(|entry| entry.memts).min();
            ways.iter().position(|way| way.map(|entry| entry.memts) == lowest).unwrap_or(0)
        });
        let victim = ways[way].replace(new).filter(|old| old.line != new.line);
        if let Some(old) = victim {
            self.raise(set, old);
        }
        victim.map(|old| old.line)
    }
    fn raise(&mut self, set: usize, gone: Entry) {
        if self.p.inject != Some(Inject::LitNoFloor) {
            self.floor[set] = self.floor[set].max(gone.memts);
            self.wfloor[set] = self.wfloor[set].max(gone.wts);
        }
    }
    /// Nobody was granted a lease after the evictor's: the entry can go.
    fn evict_note(&mut self, req: &TsuReq, age: Age) {
        let set = self.set_of(req.line);
        let matching = |entry: &Entry| entry.line == req.line && entry.memts == req.ts && age == Age::Current;
        if let Some(way) = self.ways[set].iter().position(|way| way.as_ref().is_some_and(matching))
            && let Some(gone) = self.ways[set][way].take()
        {
            self.raise(set, gone);
        }
    }
}

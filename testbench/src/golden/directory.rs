//! Untimed model of one node's directory, all slices together (rec.md section 4, hmg.md section 4).
//!
//! One [`Directory::op`] does what the pipeline does to the entry in S1/S2 and reports every message that follows from
//! it. The eviction burst is reported whole; [`super::evb`] says what may happen while it is being expanded.

use super::dir_table::{DirOp, DirRow, Found, Invalidate, Sharers, lookup};
use super::entry::Entry;
use super::params::{DirKind, DirParams, ParamError, Place, Policy};
use super::{GpuMask, Inv, InvCause, gpus_of, only};
use std::collections::BTreeMap;

/// One set: entries and their ages, by way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// Entries, by way.
    pub ways: Vec<Entry>,
    /// Ages, by way: a permutation of 0..ways, 0 = youngest.
    pub ages: Vec<u32>,
}

/// A replaced entry and the invalidations that follow from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Eviction {
    /// The victim as it was: what S2 moves to the eviction buffer.
    pub victim: Entry,
    /// One Inv per set slot, lowest slot first, cause EVICT.
    pub burst: Vec<Inv>,
    /// Slots that were set: coalesced addresses of this eviction.
    pub slots: u32,
    /// Sharer bits that were set: unicast Invs of this eviction.
    pub unicasts: u32,
}

/// Everything that one operation does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The table row that was taken.
    pub row: &'static DirRow,
    /// Slice and set of the line.
    pub place: Place,
    /// An entry with this base existed before (field `hit` of `rsp`).
    pub hit: bool,
    /// The way that was hit or allocated; `None` for an operation that found nothing and allocated nothing.
    pub way: Option<u32>,
    /// A way was allocated.
    pub allocated: bool,
    /// The entry went V->I because its last slot was cleared.
    pub freed: bool,
    /// A RD_REM whose sharer bit was set already (counter `rereads`).
    pub reread: bool,
    /// After a Downgrade nothing is recorded for the line (field `empty` of `rsp`).
    pub empty: bool,
    /// The invalidation by a write, or the received one passed on, if any sharer had to be told.
    pub write_inv: Option<Inv>,
    /// The replaced entry (field `evicted` of `rsp`).
    pub eviction: Option<Eviction>,
}

/// The directory of one GPU. After [`Directory::new`] every entry is invalid and ages are the identity.
#[derive(Clone, Debug)]
pub struct Directory {
    params: DirParams,
    sets: BTreeMap<Place, Set>,
    ideal: BTreeMap<u64, Entry>,
}

impl Directory {
    /// An empty directory; refuses illegal parameters.
    pub fn new(params: DirParams) -> Result<Self, ParamError> {
        params.validate()?;
        Ok(Directory { params, sets: BTreeMap::new(), ideal: BTreeMap::new() })
    }

    /// Parameters of this directory.
    pub fn params(&self) -> &DirParams {
        &self.params
    }

    /// The set at a place; the reset contents if nothing was ever written there. Meaningless for `dir_ideal`.
    pub fn set(&self, place: Place) -> Set {
        self.sets.get(&place).cloned().unwrap_or_else(|| self.reset_set())
    }

    /// Every place whose set was ever written.
    pub fn touched_places(&self) -> impl Iterator<Item = Place> {
        self.sets.keys().copied()
    }

    /// The valid entry that covers a line.
    pub fn entry_of(&self, line: u64) -> Option<&Entry> {
        let base = self.params.base(line);
        if self.params.kind == DirKind::Ideal {
            return self.ideal.get(&base);
        }
        let set = self.sets.get(&self.params.place(line))?;
        set.ways.iter().find(|e| e.valid && e.base == base)
    }

    /// The recorded sharers of a line.
    pub fn sharers_of(&self, line: u64) -> GpuMask {
        self.entry_of(line).map_or(0, |e| e.slots[self.params.slot(line)])
    }

    /// Performs one operation of node `src` (ignored for WR_LOC and received Invs) on a line number. Of a received Inv only the recorded
    /// sharers are reported; who else hears it is the slice's business ([`super::slice`]).
    ///
    /// # Panics
    /// If the request never reaches a directory, for which the caller, a test bench, is to blame: a remote operation
    /// comes from the home or from a node that does not exist, the line number is wider than LA bits or belongs to
    /// another directory, a request of another GPU, or no Inv, comes to where the line's system home is not.
    pub fn op(&mut self, op: DirOp, src: u32, line: u64) -> Outcome {
        let p = self.params;
        assert!(DirOp::of(p.kind).contains(&op), "{op:?} is no operation of {:?}", p.kind);
        let local = op == DirOp::WrLoc || op.received() || op == DirOp::Downgrade && src == p.home;
        let remote = p.nodes().contains(&src) && src != p.home;
        assert!(local || remote, "{op:?} from node {src} is no remote op");
        assert!(u128::from(line) >> p.line_addr_bits() == 0, "line {line:#x} is wider than LA bits");
        assert!(p.serves(line), "line {line:#x} belongs to another directory");
        if p.two_level() {
            let here = p.gpu(p.system_home(line)) == p.gpu(p.home);
            assert!(
                here || local || p.gpu(src) == p.gpu(p.home),
                "{op:?} of node {src} belongs to the system home"
            );
            assert!(!(here && op.received()), "the system home receives no Inv");
        }
        let place = p.place(line);
        if p.kind == DirKind::Ideal {
            return self.op_ideal(op, src, line, place);
        }
        let base = p.base(line);
        let reset = self.reset_set();
        let set = self.sets.entry(place).or_insert(reset);
        let hit_way = set.ways.iter().position(|e| e.valid && e.base == base);
        let found = found_in(hit_way.map(|w| &set.ways[w]), p.slot(line));
        let row = row_of(p.kind, op, found);
        let mut eviction = None;
        let way = if row.allocate { Some(victim_way(set)) } else { hit_way };
        let mut out = Outcome {
            row,
            place,
            hit: hit_way.is_some(),
            way: way.map(|w| w as u32),
            allocated: row.allocate,
            freed: false,
            reread: false,
            empty: op == DirOp::Downgrade,
            write_inv: None,
            eviction: None,
        };
        if let Some(way) = way {
            if row.allocate {
                let fresh = Entry { valid: true, base, slots: vec![0; p.slots()] };
                let old = std::mem::replace(&mut set.ways[way], fresh);
                eviction = old.valid.then(|| evict(&p, old));
            }
            apply(&p, row, &mut set.ways[way], src, line, &mut out);
            if row.allocate || (row.touch && p.policy == Policy::Lru) {
                make_youngest(&mut set.ages, way);
            }
        }
        out.eviction = eviction;
        out
    }

    fn op_ideal(&mut self, op: DirOp, src: u32, line: u64, place: Place) -> Outcome {
        let p = self.params;
        let found = found_in(self.ideal.get(&line), 0);
        let row = row_of(p.kind, op, found);
        let hit = found != Found::Miss;
        let mut out = Outcome {
            row,
            place,
            hit,
            way: None,
            allocated: row.allocate,
            freed: false,
            reread: false,
            empty: op == DirOp::Downgrade,
            write_inv: None,
            eviction: None,
        };
        if hit || row.allocate {
            let fresh = Entry { valid: true, base: line, slots: vec![0] };
            let entry = self.ideal.entry(line).or_insert(fresh);
            apply(&p, row, entry, src, line, &mut out);
            if out.freed {
                self.ideal.remove(&line);
            }
        }
        out
    }

    /// Only the system home of a line records other GPUs (hmg.md section 1).
    fn check_roles(&self, entry: &Entry) -> Result<(), String> {
        let p = &self.params;
        if !p.two_level() || !entry.valid {
            return Ok(());
        }
        let line = entry.base * p.lines_per_entry();
        let sharers = entry.slots.iter().fold(0, |all, s| all | s);
        let far = gpus_of(sharers).find(|n| p.gpu(*n) != p.gpu(p.home));
        match far {
            Some(n) if p.gpu(p.system_home(line)) != p.gpu(p.home) => {
                Err(format!("node {n} of another GPU shares line {line:#x}, whose system home is elsewhere"))
            }
            _ => Ok(()),
        }
    }

    fn reset_set(&self) -> Set {
        let ways = if self.params.kind == DirKind::Ideal { 0 } else { self.params.ways };
        Set { ways: vec![Entry::empty(self.params.slots()); ways as usize], ages: (0..ways).collect() }
    }

    /// Checks the assertions of section 4 on the stored state; the error is a sentence that names set and way.
    pub fn check(&self) -> Result<(), String> {
        let home = only(self.params.home);
        let legal: GpuMask =
            self.params.nodes().into_iter().map(|n| only(self.params.recorded_as(n))).fold(0, |a, b| a | b);
        for (place, set) in &self.sets {
            let mut ages = set.ages.clone();
            ages.sort_unstable();
            if ages != (0..self.params.ways).collect::<Vec<_>>() {
                return Err(format!("ages of {place:?} are no permutation: {:?}", set.ages));
            }
            for (way, entry) in set.ways.iter().enumerate() {
                let twin = set.ways[..way].iter().any(|e| e.valid && entry.valid && e.base == entry.base);
                if twin {
                    return Err(format!("base {:#x} is twice in {place:?}, again in way {way}", entry.base));
                }
                if entry.valid != (entry.positions() != 0) {
                    return Err(format!("valid is not OR(position) in {place:?} way {way}"));
                }
                if entry.slots.iter().any(|s| s & home != 0 || s & !legal != 0) {
                    return Err(format!("home or no node is a sharer in {place:?} way {way}"));
                }
                self.check_roles(entry)?;
            }
        }
        Ok(())
    }
}

fn row_of(kind: DirKind, op: DirOp, found: Found) -> &'static DirRow {
    lookup(kind, op, found).unwrap_or_else(|| panic!("no row for {kind:?} {op:?} {found:?}"))
}

fn found_in(entry: Option<&Entry>, slot: usize) -> Found {
    match entry {
        None => Found::Miss,
        Some(e) if e.slots[slot] == 0 => Found::SlotEmpty,
        Some(_) => Found::SlotSet,
    }
}

/// Lowest-numbered invalid way, else the oldest.
fn victim_way(set: &Set) -> usize {
    let invalid = set.ways.iter().position(|e| !e.valid);
    invalid.unwrap_or_else(|| (0..set.ages.len()).max_by_key(|w| set.ages[*w]).unwrap_or(0))
}

/// Age 0 for `way`; ages below its old age grow by one.
fn make_youngest(ages: &mut [u32], way: usize) {
    let old = ages[way];
    for age in ages.iter_mut().filter(|a| **a < old) {
        *age += 1;
    }
    ages[way] = 0;
}

fn apply(p: &DirParams, row: &DirRow, entry: &mut Entry, src: u32, line: u64, out: &mut Outcome) {
    let g = only(p.recorded_as(src));
    let slot = &mut entry.slots[p.slot(line)];
    let s = *slot;
    out.reread = row.op == DirOp::RdRem && s & g != 0;
    *slot = match row.sharers {
        Sharers::Keep => s,
        Sharers::Requester => g,
        Sharers::AddRequester => s | g,
        Sharers::OnlyIfSharer => s & g,
        Sharers::Clear => 0,
        Sharers::Remove => s & !g,
    };
    let dest = match row.inv {
        Invalidate::Nobody => 0,
        Invalidate::Others => s & !g,
        Invalidate::Everyone => s,
    };
    let cause = if row.op == DirOp::InvRecvEvict { InvCause::Evict } else { InvCause::Write };
    let inv = Inv { line, dest, cause, grp: p.grouped() }.canonical_in(p.lines_per_entry());
    out.write_inv = (dest != 0).then_some(inv);
    out.empty &= *slot == 0;
    if entry.positions() == 0 {
        entry.valid = false;
        out.freed = true;
    }
}

fn evict(p: &DirParams, victim: Entry) -> Eviction {
    let grp = p.grouped();
    let first = victim.base * p.lines_per_entry();
    let set_slots = victim.slots.iter().enumerate().filter(|(_, s)| **s != 0);
    let burst = set_slots.map(|(i, s)| Inv { line: first + i as u64, dest: *s, cause: InvCause::Evict, grp });
    let burst: Vec<Inv> = burst.collect();
    Eviction { burst, slots: victim.positions(), unicasts: victim.unicasts(), victim }
}

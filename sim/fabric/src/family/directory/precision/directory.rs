//! A directory slice seen from outside: its entries, decoded from the layouts of rec.md section 3.

use super::places::{Finder, MemAt, RegAt, bits};
use std::collections::{HashMap, HashSet};
use weft_blocks::directory::params::{DirParams, TagStyle};
use weft_engine::Sim;

/// A slice.
#[derive(Clone, Debug)]
pub(super) struct Slice {
    pub p: DirParams,
    pub bank: u32,
    pub path: String,
    /// Node of each sharer bit.
    nodes: Vec<u32>,
    entries: MemAt,
    ages: Option<MemAt>,
    state: RegAt,
    s2_write: RegAt,
    s2_set: RegAt,
    s2_way: RegAt,
    s2_entry: RegAt,
    s2_ages_write: Option<RegAt>,
    pub s2_evict: RegAt,
    pub s2_victim_slots: RegAt,
    pub s2_victim_base: RegAt,
    /// Where further Invs wait; those of a slice whose Invs are acknowledged wait in an ordinary queue.
    pub untold: Option<Untold>,
    /// Transactions under way, of copies with owners.
    pub rows: Option<Rows>,
}

/// Eviction buffer and write-Inv register.
#[derive(Clone, Debug)]
pub(super) struct Untold {
    pub evb: MemAt,
    pub evb_valid: RegAt,
    pub evb_head: RegAt,
    pub evb_sent: RegAt,
    pub write_inv_state: RegAt,
    pub write_inv_line: RegAt,
    pub write_inv_sharers: RegAt,
}

impl Untold {
    fn find(finder: Finder, unit: usize) -> Option<Untold> {
        let reg = |name: &str| finder.reg(unit, name);
        Some(Untold {
            evb: finder.mem(unit, "evb")?,
            evb_valid: reg("evb_valid")?,
            evb_head: reg("evb_head")?,
            evb_sent: reg("evb_sent")?,
            write_inv_state: reg("write_inv_state")?,
            write_inv_line: reg("write_inv_line")?,
            write_inv_sharers: reg("write_inv_sharers_q")?,
        })
    }
}

/// The pending table of a slice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    used: RegAt,
    rows: MemAt,
}

impl Rows {
    /// Of a slice's unit.
    pub fn find(finder: Finder, unit: usize) -> Option<Rows> {
        Some(Rows { used: finder.reg(unit, "pending_used")?, rows: finder.mem(unit, "pending")? })
    }

    /// Lines of transactions; a row begins with its line.
    pub fn lines(self, sim: &Sim, width: u32, into: &mut HashSet<u64>) {
        let used = self.used.limbs(sim);
        let is_used = |row: &u32| used[*row as usize / 64] >> (row % 64) & 1 == 1;
        into.extend(
            (0..self.rows.rows).filter(is_used).map(|row| bits(self.rows.lane(sim, row, 0), 0, width)),
        );
    }
}

/// Where an entry is, in the directory of its home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EntryAt {
    pub slice: usize,
    pub set: u32,
    pub way: u32,
}

/// All valid entries by the node of their directory and the number of the block of memory that they cover.
pub(super) type Entries = HashMap<(u32, u64), EntryAt>;

impl Slice {
    /// Slice `bank` of a GPU, by name; `None` when the design has no such unit or lacks one of its registers.
    pub fn find(finder: Finder, p: DirParams, bank: u32) -> Option<Slice> {
        let path = format!("{}.dir{bank}", p.sys.node_name(p.home));
        let unit = finder.unit(&path)?;
        let reg = |name: &str| finder.reg(unit, name);
        let one_way = p.ways == 1;
        Some(Slice {
            bank,
            nodes: p.sharer_nodes(),
            entries: finder.mem(unit, "entries")?,
            ages: if one_way { None } else { Some(finder.mem(unit, "ages")?) },
            state: reg("state")?,
            s2_write: reg("s2_write")?,
            s2_set: reg("s2_set")?,
            s2_way: reg("s2_way")?,
            s2_entry: reg("s2_entry")?,
            s2_ages_write: if one_way { None } else { Some(reg("s2_ages_write")?) },
            s2_evict: reg("s2_evict")?,
            s2_victim_slots: reg("s2_victim_slots")?,
            s2_victim_base: reg("s2_victim_base")?,
            untold: if p.kind.acked { None } else { Some(Untold::find(finder, unit)?) },
            rows: if p.kind.owners { Some(Rows::find(finder, unit)?) } else { None },
            path,
            p,
        })
    }

    /// Cleared after reset and at work.
    pub fn runs(&self, sim: &Sim) -> bool {
        self.state.get(sim) == 1
    }

    /// Node mask of a slot's sharer bits.
    pub fn gpus_of(&self, sharers: u64) -> u64 {
        let recorded = self.nodes.iter().enumerate().filter(|(bit, _)| sharers >> bit & 1 == 1);
        recorded.fold(0, |mask, (_, node)| mask | 1 << node)
    }

    /// Sharer bits of a slot.
    pub fn slot_sharers(&self, entry: &[u64], slot: u32) -> u64 {
        bits(entry, slot * self.p.slot_width() + self.p.position_bits(), self.p.sharers())
    }

    /// Line of a slot; the first one of a group.
    pub fn line_of(&self, base: u64, slot: u32) -> u64 {
        base << self.p.lines_log2() | u64::from(slot)
    }

    /// An entry as it will be when the write in the pipeline is done.
    pub fn entry<'a>(&self, sim: &'a Sim, set: u32, way: u32) -> &'a [u64] {
        let writes = self.s2_write.get(sim) == 1
            && self.s2_set.get(sim) == u64::from(set)
            && (self.p.ways == 1 || self.s2_way.get(sim) == u64::from(way));
        if writes { self.s2_entry.limbs(sim) } else { self.entries.lane(sim, set, way) }
    }

    /// GPUs that an entry records for a line, one bit each.
    pub fn sharers(&self, entry: &[u64], line: u64) -> u64 {
        let slot = if self.p.slots() == 1 { 0 } else { line as u32 & (self.p.slots() - 1) };
        self.gpus_of(self.slot_sharers(entry, slot))
    }

    /// The base that an entry stands for.
    fn base(&self, entry: &[u64], set: u32) -> u64 {
        let p = &self.p;
        let tag = bits(entry, p.slots_width(), p.tag_bits());
        match p.tag_style {
            TagStyle::Published if p.kind.ranges() => tag,
            TagStyle::Published => tag >> p.cover_bits(),
            TagStyle::Minimal => {
                let block = tag << p.set_low_bits() | u64::from(set) & ((1 << p.set_low_bits()) - 1);
                let at = p.sys.il.trailing_zeros() - p.cover_bits();
                let low = block & ((1 << at) - 1);
                (block >> at << p.sys.banks.trailing_zeros() | u64::from(self.bank)) << at | low
            }
        }
    }

    /// Adds the valid entries of this slice, the `number`-th of all, and says what is wrong inside it.
    pub fn read(&self, sim: &Sim, number: usize, entries: &mut Entries, wrong: &mut Vec<String>) {
        let p = &self.p;
        let blocks_per_gpu = p.sys.home_shift - p.cover_bits();
        for (set, way) in (0..p.sets()).flat_map(|s| (0..p.ways).map(move |w| (s, w))) {
            let entry = self.entry(sim, set, way);
            if bits(entry, p.entry_bits() - 1, 1) == 0 {
                continue;
            }
            let here = || format!("{} set {set} way {way}", self.path);
            let base = self.base(entry, set);
            let block = base << p.cover_bits();
            let home = (base >> blocks_per_gpu) as u32;
            // In two levels a GPU home has entries for lines of other GPUs.
            let (home_here, own_here) =
                if p.kind.two_level() { (p.sys.gpm_of_node(home), p.own_gpm()) } else { (home, p.home) };
            if home_here != own_here {
                wrong.push(format!("{} holds an entry for {block:#x}, whose home is another GPU", here()));
            }
            self.check_far(entry, home, &here, wrong);
            if let Some(first) = entries.insert((p.home, base), EntryAt { slice: number, set, way }) {
                let EntryAt { set, way, .. } = first;
                wrong.push(format!("{} and set {set} way {way} both hold an entry for {block:#x}", here()));
            }
            self.check_entry(entry, &here, wrong);
        }
        self.check_ages(sim, wrong);
    }

    /// A GPU home of another GPU's block knows no other GPUs.
    fn check_far(&self, entry: &[u64], home: u32, here: &dyn Fn() -> String, wrong: &mut Vec<String>) {
        let p = &self.p;
        if !p.kind.two_level() || home == p.home {
            return;
        }
        if (0..p.slots()).any(|slot| self.slot_sharers(entry, slot) >> p.near_sharers() != 0) {
            wrong
                .push(format!("{} lists other GPUs as sharers of a block whose home is another GPU", here()));
        }
    }

    fn check_entry(&self, entry: &[u64], here: &dyn Fn() -> String, wrong: &mut Vec<String>) {
        let p = &self.p;
        let mut any = false;
        for slot in 0..p.slots() {
            let sharers = self.slot_sharers(entry, slot);
            any |= sharers != 0;
            let position = bits(entry, slot * p.slot_width(), p.position_bits());
            if p.position_bits() == 1 && (position == 1) != (sharers != 0) {
                wrong.push(format!(
                    "{} slot {slot} has position bit {position} and sharer bits {sharers:#b}; the position bit is their OR",
                    here()
                ));
            }
        }
        if !(any || p.kind.owners && self.owner(entry).is_some()) {
            wrong.push(format!("{} is valid without any sharer", here()));
        }
    }

    fn check_ages(&self, sim: &Sim, wrong: &mut Vec<String>) {
        let (Some(ages), Some(writes)) = (self.ages, self.s2_ages_write) else { return };
        for set in 0..self.p.sets() {
            let written = writes.get(sim) == 1 && self.s2_set.get(sim) == u64::from(set);
            if !written && !is_permutation(ages.lane(sim, set, 0), self.p.ways, self.p.age_bits()) {
                wrong.push(format!("the ages of {} set {set} are no permutation", self.path));
            }
        }
    }
}

/// The ages of a set are all different.
pub(super) fn is_permutation(ages: &[u64], ways: u32, width: u32) -> bool {
    let seen = (0..ways).fold(0u128, |seen, way| seen | 1 << bits(ages, way * width, width));
    seen.count_ones() == ways
}

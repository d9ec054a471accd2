//! Copies that have owners: one writer or many readers, and directories that know exactly who they are.
//!
//! A copy in E or M is the only one, and of a line one node has E, M or O: at every moment. Of a line without a transaction - a row of its home's pending table - the
//! entry names the owner, every copy in S away from home is a sharer's, and an owner has its line, in an array or on its way back. When the whole fabric rests, there is no
//! transaction, and every copy has the bytes of the owner's, or of memory.

use super::directory::{EntryAt, Slice};
use super::places::{Finder, MemAt, RegAt, bits};
use super::{Beside, Copy, Entries, Map, PrecisionCounts};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use weft_blocks::cache::owned::Copy as State;
use weft_engine::Sim;
use weft_rtl::prelude::HwEnum;

/// The write-back buffer of a bank.
#[derive(Clone, Debug)]
pub(super) struct Leaving {
    used: RegAt,
    rows: MemAt,
    copies: Vec<RegAt>,
}

impl Leaving {
    /// Of a bank's unit.
    pub fn find(finder: Finder, unit: usize) -> Option<Leaving> {
        let rows = finder.mem(unit, "writebacks")?;
        let copy = |at: u32| finder.reg(unit, &format!("writeback_copy{at}"));
        let copies = (0..rows.rows).map(copy).collect::<Option<Vec<_>>>()?;
        Some(Leaving { used: finder.reg(unit, "writeback_used")?, rows, copies })
    }

    /// Lines that stand here and have been given to nobody; a place begins with its line.
    fn lines(&self, sim: &Sim, width: u32) -> impl Iterator<Item = u64> {
        let held = |at: &u32| {
            let copy = self.copies[*at as usize].get(sim);
            self.used.get(sim) >> at & 1 == 1 && copy != State::I.encoding()
        };
        let line = move |at: u32| bits(self.rows.lane(sim, at, 0), 0, width);
        (0..self.rows.rows).filter(held).map(line)
    }
}

impl Slice {
    /// The owner that an entry names.
    pub(super) fn owner(&self, entry: &[u64]) -> Option<u32> {
        let at = self.p.sharers();
        (bits(entry, at, 1) == 1).then(|| bits(entry, at + 1, self.p.sys.node_bits()) as u32)
    }
}

/// The state of a copy is one of these.
fn is(copy: &Copy, states: &[State]) -> bool {
    states.iter().any(|state| state.encoding() == copy.state)
}

/// Its node answers for the line.
fn owns(copy: &Copy) -> bool {
    is(copy, &[State::O, State::E, State::M])
}

impl Map {
    /// Everything about copies with owners.
    pub(super) fn check_owners(
        &self,
        sim: &Sim,
        (copies, entries): (&[Copy], &Entries),
        (beside, rests): (Beside, bool),
        counts: &mut PrecisionCounts,
        wrong: &mut Vec<String>,
    ) {
        let width = self.sys.line_bits();
        let mut busy = HashSet::new();
        self.slices.iter().filter_map(|s| s.rows).for_each(|rows| rows.lines(sim, width, &mut busy));
        if let Some(line) = busy.iter().min().filter(|_| rests && beside.memory.is_some()) {
            let line = line * self.line;
            wrong.push(format!("the fabric rests, but a transaction of line {line:#x} is under way"));
        }
        let mut of_line: BTreeMap<u64, Vec<&Copy>> = BTreeMap::new();
        for copy in copies {
            of_line.entry(copy.line).or_default().push(copy);
        }
        for (line, copies) in &of_line {
            self.one_writer(copies, wrong);
            let away = copies.iter().filter(|copy| !self.is_home(copy)).count() as u64;
            counts.copies += away;
            if busy.contains(line) {
                counts.excused += away;
            } else {
                self.known_to_home(sim, (*line, copies), entries, wrong);
            }
            if let Some(memory) = beside.memory.filter(|_| rests) {
                counts.compared += self.same_bytes(sim, copies, memory, wrong);
            }
        }
        self.owners_have_their_lines(sim, (&of_line, entries), &busy, wrong);
    }

    /// One writer or many readers.
    fn one_writer(&self, copies: &[&Copy], wrong: &mut Vec<String>) {
        let only = copies.iter().find(|copy| is(copy, &[State::E, State::M]));
        if let Some((only, other)) =
            only.and_then(|only| Some((only, copies.iter().find(|copy| copy.bank != only.bank)?)))
        {
            wrong.push(format!(
                "{} is the only one by its state, but there is {}",
                self.name(only),
                self.name(other)
            ));
        }
        let owners: Vec<_> = copies.iter().filter(|copy| owns(copy)).collect();
        if let [first, second, ..] = owners[..] {
            wrong.push(format!(
                "{} answers for its line, and so does {}",
                self.name(first),
                self.name(second)
            ));
        }
    }

    /// What the home's directory knows of the copies of a line without a transaction.
    fn known_to_home(
        &self,
        sim: &Sim,
        (line, copies): (u64, &[&Copy]),
        entries: &Entries,
        wrong: &mut Vec<String>,
    ) {
        let home = (line >> self.home_shift) as u32;
        let entry = entries.get(&(home, line)).map(|EntryAt { slice, set, way }| {
            let slice = &self.slices[*slice];
            let entry = slice.entry(sim, *set, *way);
            (slice.owner(entry), slice.sharers(entry, line))
        });
        let (owner, sharers) = entry.unwrap_or((None, 0));
        for copy in copies {
            let node = self.banks[copy.bank].p.home;
            let why = match (node == home, owns(copy)) {
                (true, true) if owner.is_some() => "its directory names another node as owner",
                (true, _) if is(copy, &[State::E, State::M]) && entry.is_some() => {
                    "its directory names other nodes"
                }
                (false, true) if owner != Some(node) => {
                    "its home's directory does not name its node as owner"
                }
                (false, false) if sharers >> node & 1 == 0 => "its home's directory does not list its node",
                _ => continue,
            };
            let state = State::VARIANTS.iter().find(|state| state.encoding() == copy.state);
            let state = state.map_or_else(|| copy.state.to_string(), |state| format!("{state:?}"));
            wrong.push(format!(
                "{} is in {state}, but {why}, and nothing of the line is under way",
                self.name(copy)
            ));
        }
    }

    /// Who is named as owner has the line.
    fn owners_have_their_lines(
        &self,
        sim: &Sim,
        (of_line, entries): (&BTreeMap<u64, Vec<&Copy>>, &Entries),
        busy: &HashSet<u64>,
        wrong: &mut Vec<String>,
    ) {
        let width = self.sys.line_bits();
        let mut leaving = BTreeSet::new();
        for bank in &self.banks {
            let lines = bank.leaving.iter().flat_map(|places| places.lines(sim, width));
            leaving.extend(lines.map(|line| (bank.p.home, line)));
        }
        for ((_, line), EntryAt { slice, set, way }) in
            entries.iter().filter(|((_, line), _)| !busy.contains(line))
        {
            let slice = &self.slices[*slice];
            let Some(owner) = slice.owner(slice.entry(sim, *set, *way)) else { continue };
            let of = |copy: &&Copy| owns(copy) && self.banks[copy.bank].p.home == owner;
            let has = of_line.get(line).is_some_and(|copies| copies.iter().any(of));
            if !has && !leaving.contains(&(owner, *line)) {
                wrong.push(format!(
                    "{} set {set} way {way} names {} as owner of line {:#x}, which does not have it, and nothing of the line is under way",
                    slice.path,
                    self.sys.node_text(owner),
                    line * self.line
                ));
            }
        }
    }

    /// In a fabric that rests every copy has the owner's bytes, or memory's. Returns how many were compared.
    fn same_bytes(
        &self,
        sim: &Sim,
        copies: &[&Copy],
        memory: &dyn Fn(u64, &mut [u64]),
        wrong: &mut Vec<String>,
    ) -> u64 {
        let data = |copy: &Copy| {
            let bank = &self.banks[copy.bank];
            bank.data.lane(sim, copy.set, copy.way)
        };
        let owner = copies.iter().find(|copy| is(copy, &[State::O, State::M]));
        let mut from_memory = [0; 16];
        let (expected, whose) = match owner {
            Some(owner) => (data(owner), "its owner's L2"),
            None => {
                let limbs = &mut from_memory[..self.line as usize / 8];
                memory(copies[0].line * self.line, limbs);
                (&*limbs, "memory")
            }
        };
        for copy in copies {
            self.differs(copy, (data(copy), expected), whose, wrong);
        }
        copies.len() as u64
    }
}

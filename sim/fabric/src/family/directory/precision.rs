//! Precision of the directories (rec.md section 7, hmg.md section 4): a node that the directory does not know has no valid copy.
//!
//! For each valid copy of a line in the L2 of a GPU that is not its home, the home's directory tracks that GPU; or the GPU's operation on the line waits before the
//! directory, or an invalidation of the copy is on its way, or the GPU's own write of the line. When the whole fabric rests there are no exceptions, and then every copy equals
//! what its home holds. With GPU homes that have directories a copy in a leaf is tracked by the GPU home, and every copy in another GPU than the home's, as the GPU's, by the home. Without
//! a directory that tracks copies (software coherence, ideal caching) only what lies where it never may is wrong. Beside that: no two ways with one tag, no dirty copy of another GPU's line, position bits equal to the OR of their sharers, ages permutations.
//!
//! The state of the design is read as it is; nothing is clocked.

mod directory;
mod flight;
mod owners;
mod places;

use directory::{Entries, EntryAt, Slice, is_permutation};
use flight::{InFlight, Places};
use owners::Leaving;
use places::{Finder, Index, MemAt, RegAt, bits};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
use weft_blocks::cache::l2::{Caching, L2Params};
use weft_blocks::fabric::FabricParams;
use weft_blocks::msg::Sys;
use weft_engine::{Design, Sim};

/// A copy or an entry that must not be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrecisionViolation {
    /// Cycle in which it was found.
    pub cycle: u64,
    /// One sentence.
    pub text: String,
}

impl fmt::Display for PrecisionViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (seen in cycle {})", self.text, self.cycle)
    }
}

/// What a check looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrecisionCounts {
    /// Checks made.
    pub checks: u64,
    /// Of these while the whole fabric rested.
    pub at_rest: u64,
    /// Copies of other GPUs' lines looked at.
    pub copies: u64,
    /// Of these not tracked, but concerned by a message in flight.
    pub excused: u64,
    /// Copies compared with their home's data.
    pub compared: u64,
    /// Directory entries looked at.
    pub entries: u64,
}

/// What a check needs from the models beside the hardware.
#[derive(Clone, Copy, Default)]
pub struct Beside<'a> {
    /// Fills limbs with the line of DRAM at a physical byte address; given when no model has anything under way. Without it data is not compared.
    pub memory: Option<&'a dyn Fn(u64, &mut [u64])>,
    /// Protocol `ideal`: the GPUs, one bit each, that the directory outside of the hardware tracks for (home, bank, line).
    pub ideal: Option<&'a dyn Fn(u32, u32, u64) -> u64>,
}

/// A bank of an L2.
#[derive(Clone, Debug)]
struct Bank {
    p: L2Params,
    number: u32,
    tags: MemAt,
    data: MemAt,
    /// Which bytes of a line are dirty (write-back of copies).
    masks: Option<MemAt>,
    ages: MemAt,
    init_done: RegAt,
    /// The write-back buffer, of copies with owners.
    leaving: Option<Leaving>,
}

/// A valid line of an L2.
#[derive(Clone, Copy, Debug)]
struct Copy {
    bank: usize,
    set: u32,
    way: u32,
    line: u64,
    /// As the array has it.
    state: u64,
    dirty: bool,
    /// Only its dirty bytes are here.
    unreadable: bool,
}

/// Dirty bytes of lines away from home, by node and line, one bit each.
type Masks<'a> = HashMap<(u32, u64), &'a [u64]>;

/// Where everything is; found once.
#[derive(Debug)]
struct Map {
    /// An unbounded directory outside of the hardware, as of protocol `ideal`.
    ideal: bool,
    line: u64,
    home_shift: u32,
    /// Lines of a group.
    group: u32,
    /// Copies need not be known to any directory, and may be older than their home's line.
    untracked: bool,
    /// Requests go through GPU homes, which have directories.
    two_level: bool,
    sys: Sys,
    banks: Vec<Bank>,
    slices: Vec<Slice>,
    places: Places,
}

/// The check.
#[derive(Clone, Debug)]
pub struct Precision {
    map: Arc<Map>,
    counts: PrecisionCounts,
}

impl Precision {
    /// Finds banks `gpuG.bankB` and slices `gpuG.dirB` of a design; `None` if one of them or of their registers is missing.
    pub fn new(design: &Design, params: &FabricParams) -> Option<Precision> {
        let index = Index::new(design);
        let finder = Finder::new(&index);
        let sys = &params.sys;
        let (mut banks, mut slices) = (Vec::new(), Vec::new());
        for (gpu, number) in (0..sys.nodes()).flat_map(|g| (0..sys.banks).map(move |b| (g, b))) {
            let unit = finder.unit(&format!("{}.bank{number}", sys.node_name(gpu)))?;
            let mem = |name: &str| finder.mem(unit, name);
            banks.push(Bank {
                p: params.l2(gpu),
                number,
                tags: mem("tags")?,
                data: mem("data")?,
                masks: mem("masks").filter(|_| params.write_back),
                ages: mem("ages")?,
                init_done: finder.reg(unit, "init_done")?,
                leaving: if sys.owners { Some(Leaving::find(finder, unit)?) } else { None },
            });
            if let Some(dir) = params.dir(gpu) {
                slices.push(Slice::find(finder, dir, number)?);
            }
        }
        let map = Map {
            ideal: params.protocol.ideal(),
            line: u64::from(sys.line),
            home_shift: sys.home_shift - sys.line.trailing_zeros(),
            group: params.lines_of_group(),
            untracked: params.software() || params.incoherent(),
            two_level: params.forwards(),
            sys: sys.clone(),
            banks,
            slices,
            places: Places::find(finder, sys, params.forwards()),
        };
        Some(Precision { map: Arc::new(map), counts: PrecisionCounts::default() })
    }

    /// What was looked at so far.
    pub fn counts(&self) -> PrecisionCounts {
        self.counts
    }

    /// Counts of a saved run.
    pub(super) fn resume(&mut self, counts: PrecisionCounts) {
        self.counts = counts;
    }

    /// Looks at the whole fabric in the present cycle. Returns the first thing that is wrong.
    ///
    /// # Errors
    /// A copy that is not tracked, or an entry or line that must not be.
    pub fn check(&mut self, sim: &Sim, beside: Beside) -> Result<(), PrecisionViolation> {
        let map = self.map.clone();
        if !map.banks.iter().all(|b| b.init_done.get(sim) == 1) || !map.slices.iter().all(|s| s.runs(sim)) {
            return Ok(());
        }
        self.counts.checks += 1;
        let mut wrong = Vec::new();
        let mut entries = Entries::new();
        for (number, slice) in map.slices.iter().enumerate() {
            slice.read(sim, number, &mut entries, &mut wrong);
        }
        self.counts.entries += entries.len() as u64;
        let mut flight = InFlight::new(map.group);
        map.places.collect(sim, &mut flight);
        map.slices.iter().for_each(|slice| flight::pending(slice, sim, &mut flight));
        // Messages in a fabric that sleeps may wait for a model outside; that nothing of the kind is left is known when memory may be read.
        let rests = sim.asleep() && (flight.messages == 0 || beside.memory.is_some());
        self.counts.at_rest += u64::from(rests);
        if rests && flight.messages > 0 {
            wrong.push(format!("the fabric rests, but {} messages are still in it", flight.messages));
        }
        let copies = map.copies(sim, &mut wrong);
        if map.sys.owners {
            map.check_owners(sim, (&copies, &entries), (beside, rests), &mut self.counts, &mut wrong);
        } else {
            let seen = Seen { copies: &copies, entries: &entries, flight: &flight, rests };
            map.check_tracked(sim, &seen, beside, &mut self.counts, &mut wrong);
        }
        match wrong.into_iter().next() {
            Some(text) => Err(PrecisionViolation { cycle: sim.cycle(), text }),
            None => Ok(()),
        }
    }
}

/// What a check has found in the arrays and on the way.
struct Seen<'a> {
    copies: &'a [Copy],
    entries: &'a Entries,
    flight: &'a InFlight,
    rests: bool,
}

impl Map {
    /// Every copy away from home is known, or concerned by a message in flight.
    fn check_tracked(
        &self,
        sim: &Sim,
        seen: &Seen,
        beside: Beside,
        counts: &mut PrecisionCounts,
        wrong: &mut Vec<String>,
    ) {
        let (flight, rests) = (seen.flight, seen.rests);
        let held = self.held(sim, seen.copies);
        for copy in seen.copies.iter().filter(|c| !self.is_home(c) && !c.unreadable) {
            counts.copies += 1;
            let own = self.banks[copy.bank].p.home;
            for (directory, node) in self.trackers(copy) {
                if self.all_written_here(copy, node, &held) {
                    continue;
                }
                let Some(why) = self.untracked(sim, copy, (directory, node), seen.entries, beside, rests)
                else {
                    continue;
                };
                let concerned = flight.concerns(copy.line, own) || flight.concerns(copy.line, node);
                if !rests && concerned {
                    counts.excused += 1;
                } else {
                    wrong.push(why);
                }
            }
        }
        if let Some(memory) = beside.memory.filter(|_| rests) {
            counts.compared += self.compare(sim, seen.copies, (memory, &held), wrong);
        }
    }

    fn is_home(&self, copy: &Copy) -> bool {
        flight::own_line(&self.banks[copy.bank].p, copy.line)
    }

    fn name(&self, copy: &Copy) -> String {
        let bank = &self.banks[copy.bank];
        format!(
            "the copy of line {:#x} in {} bank {} set {} way {}",
            copy.line * self.line,
            bank.p.sys.node_text(bank.p.home),
            bank.number,
            copy.set,
            copy.way
        )
    }

    /// All valid lines of all L2s; says what is wrong with them by themselves.
    fn copies(&self, sim: &Sim, wrong: &mut Vec<String>) -> Vec<Copy> {
        let mut out = Vec::new();
        for (number, bank) in self.banks.iter().enumerate() {
            let width = bank.p.tag_bits();
            // A row of the tags may hold several sets.
            let (ways, bulk) = (bank.p.ways, bank.tags.lanes / bank.p.ways);
            for set in 0..bank.tags.rows * bulk {
                let first = out.len();
                for way in 0..ways {
                    let entry = bank.tags.lane(sim, set / bulk, set % bulk * ways + way);
                    let state = bits(entry, width, if self.sys.owners { 3 } else { 2 });
                    if state != 0 {
                        let tag = bits(entry, 0, width);
                        let line = bank.p.line_number(tag, u64::from(set), u64::from(bank.number));
                        let (dirty, unreadable) = (state == 2, state == 3);
                        out.push(Copy { bank: number, set, way, line, state, dirty, unreadable });
                    }
                }
                self.check_set(&out[first..], wrong);
                if !is_permutation(bank.ages.lane(sim, set, 0), bank.p.ways, bank.p.way_bits()) {
                    let text = format!(
                        "the ages of {} bank {} set {set}",
                        bank.p.sys.node_text(bank.p.home),
                        bank.number
                    );
                    wrong.push(format!("{text} are no permutation"));
                }
            }
        }
        out
    }

    fn check_set(&self, set: &[Copy], wrong: &mut Vec<String>) {
        for (i, copy) in set.iter().enumerate() {
            if let Some(twin) = set[..i].iter().find(|c| c.line == copy.line) {
                wrong.push(format!("{} stands in way {} too", self.name(copy), twin.way));
            }
            let dirty = copy.dirty || copy.unreadable;
            if dirty && !self.sys.owners && !self.is_home(copy) && self.banks[copy.bank].masks.is_none() {
                wrong.push(format!("{} is dirty, but the line's home is another node", self.name(copy)));
            }
        }
    }

    /// Who must know of a copy away from home: nodes of directories, each with the node that it must list.
    fn trackers(&self, copy: &Copy) -> Vec<(u32, u32)> {
        let own = self.banks[copy.bank].p.home;
        let home = (copy.line >> self.home_shift) as u32;
        if !self.two_level {
            return vec![(home, own)];
        }
        let sys = &self.sys;
        let gpu_home = sys.node(sys.gpu_of_node(own), sys.gpm_of_node(home));
        let near = (own != gpu_home).then_some((gpu_home, own));
        let far = (gpu_home != home).then_some((home, gpu_home));
        near.into_iter().chain(far).collect()
    }

    /// Dirty bytes of lines away from home, by node and line.
    fn held<'a>(&self, sim: &'a Sim, copies: &[Copy]) -> Masks<'a> {
        let away = copies.iter().filter(|c| (c.dirty || c.unreadable) && !self.is_home(c));
        let mask = |copy: &Copy| {
            let bank = &self.banks[copy.bank];
            let mask = bank.masks.map(|masks| masks.lane(sim, copy.set * bank.p.ways + copy.way, 0))?;
            Some(((bank.p.home, copy.line), mask))
        };
        away.filter_map(mask).collect()
    }

    /// Every byte of the copy has been written in the copy's node or in `node`, a GPU home, and not yet been told to the next home: no directory need know the copy
    /// before that happens, for until then it may be older than nothing that anybody has synchronised with.
    fn all_written_here(&self, copy: &Copy, node: u32, held: &Masks) -> bool {
        let own = self.banks[copy.bank].p.home;
        let of = |node: u32| held.get(&(node, copy.line)).copied().unwrap_or(&[]);
        let limb = |at: usize| of(own).get(at).unwrap_or(&0) | of(node).get(at).unwrap_or(&0);
        let (limbs, width) = (self.line as usize / 64, 64 * (self.line as usize / 64));
        width == self.line as usize && (0..limbs).all(|at| limb(at) == u64::MAX)
    }

    /// Why a copy away from home is where it never may be without a directory; `None` if it may.
    fn misplaced(&self, copy: &Copy) -> Option<String> {
        let bank = &self.banks[copy.bank].p;
        let home = (copy.line >> self.home_shift) as u32;
        let other = self.sys.gpu_of_node(home) != self.sys.gpu_of_node(bank.home);
        (other && bank.caching == Caching::OwnGpu).then(|| {
            format!("{} is valid, but this protocol keeps no copies of other GPUs' lines", self.name(copy))
        })
    }

    /// Why the directory of a node does not list `gpu` for a copy away from home; `None` if it does.
    fn untracked(
        &self,
        sim: &Sim,
        copy: &Copy,
        (home, gpu): (u32, u32),
        entries: &Entries,
        beside: Beside,
        rests: bool,
    ) -> Option<String> {
        if self.untracked {
            return self.misplaced(copy);
        }
        let entry = entries.get(&(home, copy.line >> self.slices.first().map_or(0, |s| s.p.lines_log2())));
        let known = match (self.slices.is_empty(), self.ideal) {
            (false, _) => entry.map_or(0, |EntryAt { slice, set, way }| {
                let slice = &self.slices[*slice];
                slice.sharers(slice.entry(sim, *set, *way), copy.line)
            }),
            // What waits before a directory outside of the hardware is not seen here.
            (true, true) if !rests => return None,
            (true, true) => beside.ideal?(home, self.banks[copy.bank].number, copy.line),
            (true, false) => 0,
        };
        if known >> gpu & 1 == 1 {
            return None;
        }
        let how = match (entry, self.ideal) {
            (Some(EntryAt { slice, set, way }), _) => {
                let path = &self.slices[*slice].path;
                format!("its entry in {path} set {set} way {way} lists gpus {}", list(known))
            }
            (None, _) if !self.slices.is_empty() => "no entry covers it".to_string(),
            (None, true) => format!("its directory lists gpus {}", list(known)),
            (None, false) => "this protocol keeps no copies in other GPUs' L2s".to_string(),
        };
        let sh = (copy.line >> self.home_shift) as u32;
        Some(format!(
            "{} is valid, but the directory of its {}home {} does not track it: {how}, and {}",
            self.name(copy),
            if home == sh { "" } else { "GPU " },
            self.sys.node_text(home),
            if rests { "the fabric rests" } else { "no message in flight concerns it" }
        ))
    }

    /// Compares every copy with its home, and every clean line at home with memory. Returns how many were compared.
    fn compare(
        &self,
        sim: &Sim,
        copies: &[Copy],
        (memory, held): (&dyn Fn(u64, &mut [u64]), &Masks),
        wrong: &mut Vec<String>,
    ) -> u64 {
        // While some node has dirty bytes of a line, copies and home differ.
        let written: HashSet<u64> = held.keys().map(|(_, line)| *line).collect();
        let at_home: HashMap<u64, &Copy> =
            copies.iter().filter(|c| self.is_home(c)).map(|c| (c.line, c)).collect();
        let data = |copy: &Copy| {
            let bank = &self.banks[copy.bank];
            bank.data.lane(sim, copy.set * bank.p.ways + copy.way, 0)
        };
        let mut compared = 0;
        let compares = |c: &&Copy| if self.is_home(c) { !c.dirty } else { !self.untracked };
        for copy in copies.iter().filter(compares).filter(|c| !written.contains(&c.line)) {
            let home = at_home.get(&copy.line).filter(|_| !self.is_home(copy));
            let mut from_memory = [0; 16];
            let (expected, whose) = match home {
                Some(home) => (data(home), "its home's L2"),
                None => {
                    let limbs = &mut from_memory[..self.line as usize / 8];
                    memory(copy.line * self.line, limbs);
                    (&*limbs, "memory")
                }
            };
            compared += 1;
            self.differs(copy, (data(copy), expected), whose, wrong);
        }
        compared
    }

    /// Says where a copy in a fabric that rests has other bytes than it is to have.
    fn differs(
        &self,
        copy: &Copy,
        (found, expected): (&[u64], &[u64]),
        whose: &str,
        wrong: &mut Vec<String>,
    ) {
        if let Some(limb) = (0..found.len()).find(|i| found[*i] != expected[*i]) {
            wrong.push(format!(
                "{} holds {:#018x} at byte {}, but {whose} holds {:#018x} there, and the fabric rests",
                self.name(copy),
                found[limb],
                8 * limb,
                expected[limb]
            ));
        }
    }
}

/// GPUs of a mask.
fn list(gpus: u64) -> String {
    let numbers: Vec<String> = (0..64).filter(|g| gpus >> g & 1 == 1).map(|g| g.to_string()).collect();
    if numbers.is_empty() { "none".to_string() } else { numbers.join(", ") }
}

//! What caches hold newer than memory: the LLC the words of dirty lines that nobody owns, MESI L1s the lines that they own, DeNovo and Flex L1s their owned words. Write-back buffers are empty: the
//! host looks at memory when the fabric is at rest.

mod stash;

use super::SpandexSystem;
use crate::family::Newer;
use crate::family::tsm::around::{NewerIn, newer_in};
use stash::StashOwner;
use std::collections::BTreeMap;
use weft_engine::{MemPort, Sim};
use weft_rtl::prelude::HwEnum;
use weft_spandex::gpu_l1::GpuL1Params;
use weft_spandex::mesi_port::{LineState, MesiPort};

/// A line of the LLC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// Devices that own words of it, each with these words.
    pub owners: BTreeMap<u32, u64>,
    /// Devices that may have it in S; `None` where nothing is kept of them.
    pub sharers: Option<u128>,
    /// It is in state S.
    pub shared: bool,
    /// Its words in limbs; of owned ones meaningless.
    pub data: Vec<u64>,
}

/// What a device has of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Holding {
    /// Words in O.
    pub owned: u64,
    /// Words in S.
    pub shared: u64,
    /// The line's limbs; of words in neither meaningless.
    pub data: Vec<u64>,
}

/// What devices have, by device and line.
pub(super) type Holdings = BTreeMap<(u32, u64), Holding>;

/// Where a bank keeps tags, owned words, sharers if it does, and data.
#[derive(Clone)]
struct Bank {
    tags: MemPort,
    owned: MemPort,
    sharers: Option<MemPort>,
    lines: MemPort,
}

/// Where a MESI L1 keeps tags, states and data.
#[derive(Clone)]
pub(super) struct Owner {
    tags: MemPort,
    states: MemPort,
    lines: MemPort,
    sets: u32,
    ways: u32,
}

impl Owner {
    /// The L1 of a device; `None` when its memories have other names.
    pub fn find(sim: &Sim, device: u32, port: &MesiPort) -> Option<Owner> {
        let memory = |name: &str| sim.memory(&format!("device{device}.cache.{name}"));
        let (tags, states, lines) = (memory("tags")?, memory("states")?, memory("lines")?);
        Some(Owner { tags, states, lines, sets: port.sets(), ways: port.ways })
    }

    /// All words of lines that it has in E or M: what is below holds older ones, or its number in their place.
    pub fn owned<'a>(&self, sim: &'a Sim, words: u32, out: &mut Vec<Newer<'a>>) {
        let open = LineState::OWNED.map(|state| state.encoding());
        for (set, way) in (0..self.sets).flat_map(|s| (0..self.ways).map(move |w| (s, w))) {
            let row = set * self.ways + way;
            if open.contains(&lane(sim, self.states, row)[0]) {
                let line = lane(sim, self.tags, row)[0] * u64::from(self.sets) + u64::from(set);
                let mask = (1 << (4 * words)) - 1;
                out.push(Newer { line, mask, data: lane(sim, self.lines, row).into() });
            }
        }
    }

    /// What it has, as device `device`: lines in E or M as owned in all their words, lines in S.
    pub fn held(&self, sim: &Sim, words: u32, device: u32, out: &mut Holdings) {
        let whole = u64::MAX >> (64 - words);
        for row in 0..self.sets * self.ways {
            let state = lane(sim, self.states, row)[0];
            let open = LineState::OWNED.iter().any(|owned| owned.encoding() == state);
            if open || state == LineState::S.encoding() {
                let line = lane(sim, self.tags, row)[0] * u64::from(self.sets) + u64::from(row / self.ways);
                let (owned, shared) = if open { (whole, 0) } else { (0, whole) };
                let data = lane(sim, self.lines, row).to_vec();
                out.insert((device, line), Holding { owned, shared, data });
            }
        }
    }
}

/// Where an L1 whose words are owned one by one keeps tags, states of words and data.
#[derive(Clone)]
pub(super) struct WordOwner {
    device: u32,
    tags: MemPort,
    lines: MemPort,
    /// Two registers with a bit per word, each its unit and its first limb there: a word is in S if both have it, in O if the first has it only.
    high: (usize, usize),
    low: (usize, usize),
    sets: u32,
    ways: u32,
}

impl WordOwner {
    /// The L1 of a device; `None` when its state has other names.
    pub fn find(sim: &Sim, device: u32, l1: &GpuL1Params) -> Option<WordOwner> {
        let cache = format!("device{device}.cache");
        let memory = |name: &str| sim.memory(&format!("{cache}.{name}"));
        let (tags, lines) = (memory("tags")?, memory("lines")?);
        let (high, low) = (register(sim, &cache, "word_owned")?, register(sim, &cache, "word_valid")?);
        Some(WordOwner { device, tags, lines, high, low, sets: l1.sets(), ways: l1.ways })
    }

    /// Rows with words in O or S: row, number of the line, these words.
    fn rows<'a>(&'a self, sim: &'a Sim, words: u32) -> impl Iterator<Item = (u32, u64, [u64; 2])> + 'a {
        let bit = move |(unit, limb): (usize, usize), at: u32| {
            sim.state(unit)[limb + at as usize / 64] >> (at % 64) & 1 == 1
        };
        let of_row = move |plane, row: u32| {
            (0..words).filter(|w| bit(plane, row * words + w)).map(|w| 1 << w).sum::<u64>()
        };
        (0..self.sets * self.ways).filter_map(move |row| {
            let high = of_row(self.high, row);
            let shared = if high == 0 { 0 } else { high & of_row(self.low, row) };
            let tag = || lane(sim, self.tags, row)[0];
            let line = || tag() * u64::from(self.sets) + u64::from(row / self.ways);
            (high != 0).then(|| (row, line(), [high & !shared, shared]))
        })
    }

    /// The words that it owns: the LLC has its number in their place.
    pub fn owned<'a>(&self, sim: &'a Sim, words: u32, out: &mut Vec<Newer<'a>>) {
        for (row, line, [owned, _]) in self.rows(sim, words).filter(|(_, _, [owned, _])| *owned != 0) {
            let mask = (0..words).filter(|w| owned >> w & 1 == 1).map(|w| 0xf << (4 * w)).sum();
            out.push(Newer { line, mask, data: lane(sim, self.lines, row).into() });
        }
    }

    /// What it has, by its device and line.
    pub fn held(&self, sim: &Sim, words: u32, out: &mut Holdings) {
        for (row, line, [owned, shared]) in self.rows(sim, words) {
            let data = lane(sim, self.lines, row).to_vec();
            out.insert((self.device, line), Holding { owned, shared, data });
        }
    }
}

/// The banks of a system, and its L1s that own lines or words.
#[derive(Clone)]
pub(super) struct Banks {
    banks: Vec<Bank>,
    /// Banks of a GPU.
    banks_each: u64,
    /// Lines of a GPU's memory, as a shift.
    gpu_shift: u32,
    owners: Vec<(u32, Owner)>,
    word_owners: Vec<WordOwner>,
    stashes: Vec<StashOwner>,
    sets: u32,
    ways: u32,
    words: u32,
    tag_bits: u32,
    dev_bits: u32,
}

impl Banks {
    /// Those of a system; `None` when its instances have other names.
    pub fn find(sim: &Sim, p: &SpandexSystem) -> Option<Banks> {
        let bank = |b: u32| {
            let memory = |name: &str| sim.memory(&format!("bank{b}.{name}"));
            let (tags, owned, lines) = (memory("tags")?, memory("owned")?, memory("lines")?);
            Some(Bank { tags, owned, sharers: memory("sharers"), lines })
        };
        let banks = (0..p.s.banks).map(bank).collect::<Option<Vec<_>>>()?;
        let mesi = p.mesi.as_ref().map(|(l1, _)| &l1.port);
        // What a device of another protocol has nobody knows: it must own nothing.
        let known = |d: &u32| !p.devices.has(*d);
        let cores = (0..mesi.map_or(0, |_| p.s.cpus)).filter(known);
        let owners = cores.map(|d| Some((d, Owner::find(sim, d, mesi?)?)));
        let owners = owners.collect::<Option<Vec<_>>>()?;
        let denovo = |d: u32| if d < p.s.cpus { &p.denovo_cores } else { &p.denovo_cus };
        let l1 = |d: u32| {
            let flex = p.flex.as_ref().map(|(l1, _)| &l1.l1);
            flex.or_else(|| denovo(d).as_ref().map(|(l1, _)| &l1.l1))
        };
        let l1s = (0..p.s.devs() - p.stashes()).filter(known);
        let word_owners = l1s.filter_map(|d| Some(WordOwner::find(sim, d, l1(d)?)));
        let word_owners = word_owners.collect::<Option<Vec<_>>>()?;
        let stashes =
            (p.s.devs() - p.stashes()..p.s.devs()).map(|d| StashOwner::find(sim, d, p.stash.as_ref()?));
        let stashes = stashes.collect::<Option<Vec<_>>>()?;
        let (sets, ways, words, tag_bits) =
            (p.llc.bank.sets(), p.llc.bank.ways, p.s.words(), p.llc.bank.tag_bits());
        let banks_each = u64::from(p.s.banks_each());
        let gpu_shift = p.s.home_shift - p.s.line.trailing_zeros();
        let dev_bits = p.s.dev_bits();
        Some(Banks {
            banks,
            banks_each,
            gpu_shift,
            owners,
            word_owners,
            stashes,
            sets,
            ways,
            words,
            tag_bits,
            dev_bits,
        })
    }

    /// The line of a tag and set of a bank.
    fn line(&self, tag: u64, set: u32, bank: usize) -> u64 {
        let each = self.banks_each;
        (tag * u64::from(self.sets) + u64::from(set)) * each + bank as u64 % each
    }

    /// The owner of a word, if it has one.
    pub fn owner(&self, sim: &Sim, line: u64, word: u32) -> Option<u64> {
        let each = self.banks_each;
        let gpu = (line >> self.gpu_shift) % (self.banks.len() as u64 / each);
        let (bank, line) = (&self.banks[(gpu * each + line % each) as usize], line / each);
        let (set, tag) = ((line % u64::from(self.sets)) as u32, line / u64::from(self.sets));
        let here = |row: &u32| {
            // {dirty, state, tag}; state I is 0.
            let entry = lane(sim, bank.tags, *row)[0];
            entry & ((1 << self.tag_bits) - 1) == tag && entry >> self.tag_bits & 3 != 0
        };
        let row = (set * self.ways..(set + 1) * self.ways).find(here)?;
        let owned = lane(sim, bank.owned, row)[0] >> word & 1 == 1;
        owned.then(|| sim.lane(bank.lines, row, word)[0] & ((1 << self.dev_bits) - 1))
    }

    /// All lines of the LLC that somebody owns words of or may share, by number.
    pub fn lines(&self, sim: &Sim) -> BTreeMap<u64, Line> {
        let mut all = BTreeMap::new();
        for (number, bank) in self.banks.iter().enumerate() {
            for (set, way) in (0..self.sets).flat_map(|s| (0..self.ways).map(move |w| (s, w))) {
                let row = set * self.ways + way;
                // {dirty, state, tag}; state I is 0, S is 2.
                let entry = lane(sim, bank.tags, row)[0];
                let (state, owned) = (entry >> self.tag_bits & 3, lane(sim, bank.owned, row)[0]);
                if state == 0 || state != 2 && owned == 0 {
                    continue;
                }
                let tag = entry & ((1 << self.tag_bits) - 1);
                let line = self.line(tag, set, number);
                let data = limbs(sim, bank.lines, row, self.words);
                let owners = owners_of(owned, &data, self.dev_bits);
                let sharers = bank.sharers.map(|kept| bits(lane(sim, kept, row)));
                all.insert(line, Line { owners, sharers, shared: state == 2, data });
            }
        }
        all
    }

    /// What devices have, by device and line; an L1 with GPU coherence has nothing that the LLC must know of.
    pub fn held(&self, sim: &Sim) -> Holdings {
        let mut all = Holdings::new();
        for (device, owner) in &self.owners {
            owner.held(sim, self.words, *device, &mut all);
        }
        self.word_owners.iter().for_each(|owner| owner.held(sim, self.words, &mut all));
        self.stashes.iter().for_each(|owner| owner.held(sim, self.words, &mut all));
        all
    }

    /// What they hold newer than memory.
    pub fn newer(self) -> NewerIn {
        newer_in(move |sim| {
            let mut all = self.dirty(sim);
            self.owners.iter().for_each(|(_, owner)| owner.owned(sim, self.words, &mut all));
            self.word_owners.iter().for_each(|owner| owner.owned(sim, self.words, &mut all));
            self.stashes.iter().for_each(|owner| owner.owned(sim, self.words, &mut all));
            all
        })
    }

    fn dirty<'a>(&self, sim: &'a Sim) -> Vec<Newer<'a>> {
        let mut out = Vec::new();
        for (number, bank) in self.banks.iter().enumerate() {
            for (set, way) in (0..self.sets).flat_map(|s| (0..self.ways).map(move |w| (s, w))) {
                let row = set * self.ways + way;
                // {dirty, state, tag}; state I is 0.
                let entry = lane(sim, bank.tags, row)[0];
                let (state, dirty) = (entry >> self.tag_bits & 3, entry >> (self.tag_bits + 2) & 1);
                let owned = lane(sim, bank.owned, row)[0];
                let here = !owned & (u64::MAX >> (64 - self.words));
                if state == 0 || dirty == 0 || here == 0 {
                    continue;
                }
                let tag = entry & ((1 << self.tag_bits) - 1);
                let line = self.line(tag, set, number);
                let bytes = (0..self.words).filter(|w| here >> w & 1 == 1).map(|w| 0xf_u128 << (4 * w)).sum();
                let data = limbs(sim, bank.lines, row, self.words);
                out.push(Newer { line, mask: bytes, data: data.into() });
            }
        }
        out
    }
}

/// A line that is kept word by word, in limbs.
pub(super) fn limbs(sim: &Sim, memory: MemPort, row: u32, words: u32) -> Vec<u64> {
    let word = |w: u32| if w < words { sim.lane(memory, row, w)[0] } else { 0 };
    (0..words.div_ceil(2)).map(|i| word(2 * i) | word(2 * i + 1) << 32).collect()
}

/// Owners of words of a line, each with these words: their numbers stand in place of the words.
pub(super) fn owners_of(owned: u64, data: &[u64], dev_bits: u32) -> BTreeMap<u32, u64> {
    let mut owners = BTreeMap::new();
    for w in (0..2 * data.len()).filter(|w| owned >> w & 1 == 1) {
        let owner = data[w / 2] >> (32 * (w % 2)) & ((1 << dev_bits) - 1);
        *owners.entry(owner as u32).or_insert(0) |= 1 << w;
    }
    owners
}

/// Limbs as one number.
pub(super) fn bits(limbs: &[u64]) -> u128 {
    limbs.iter().rev().fold(0, |all, limb| all << 64 | u128::from(*limb))
}

/// A register of a unit: the unit's number, its first limb there.
pub(super) fn register(sim: &Sim, path: &str, name: &str) -> Option<(usize, usize)> {
    let design = sim.design();
    let unit = design.units.iter().position(|unit| unit.path == path)?;
    let ty = &design.types[design.units[unit].ty];
    let number = ty.netlist.regs.iter().position(|reg| reg.path == name)?;
    Some((unit, ty.layout.regs[number]))
}

/// Entry `at` of a memory whose rows hold several.
pub(super) fn lane(sim: &Sim, memory: MemPort, at: u32) -> &[u64] {
    sim.lane(memory, at / memory.lanes, at % memory.lanes)
}

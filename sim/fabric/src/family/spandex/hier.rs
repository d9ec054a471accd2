//! What the caches of a hierarchical system hold newer than memory. Lists go upwards, from the L3 to L1s: of a word that several have, the last counts.

use super::SpandexSystem;
use super::banks::{Owner, WordOwner, lane};
use super::build::Hierarchy;
use crate::family::Newer;
use crate::family::tsm::around::{NewerIn, newer_in};
use weft_engine::{MemPort, Sim};

/// States by encoding: of the GPU L2, M; of the L3, I.
const M: u64 = 3;
const I: u64 = 0;

/// Where a bank of the GPU L2 keeps tags, owned words and data; one of the L3 has no owned words.
struct Bank {
    tags: MemPort,
    owned: Option<MemPort>,
    lines: MemPort,
}

/// The shape of all banks of a level.
#[derive(Clone, Copy)]
struct Level {
    sets: u32,
    ways: u32,
    tag_bits: u32,
}

/// The caches of a system.
pub(super) struct HierBanks {
    l3s: Vec<Bank>,
    l2s: Vec<Bank>,
    l3: Level,
    l2: Level,
    owners: Vec<Owner>,
    word_owners: Vec<WordOwner>,
    words: u32,
}

impl HierBanks {
    /// Those of a system; `None` when its instances have other names.
    pub fn find(sim: &Sim, p: &SpandexSystem, h: &Hierarchy) -> Option<HierBanks> {
        let bank = |name: &str, b: u32, owned: bool| {
            let memory = |of: &str| sim.memory(&format!("{name}{b}.{of}"));
            let owned = if owned { Some(memory("owned")?) } else { None };
            Some(Bank { tags: memory("tags")?, owned, lines: memory("lines")? })
        };
        let banks = |name, owned| (0..p.s.banks).map(|b| bank(name, b, owned)).collect::<Option<Vec<_>>>();
        let mesi = p.mesi.as_ref().map(|(l1, _)| &l1.port);
        let owners = (0..mesi.map_or(0, |_| p.s.cpus)).map(|d| Owner::find(sim, d, mesi?));
        let denovo = p.denovo_cus.as_ref().map(|(l1, _)| &l1.l1);
        let word_owners = (p.s.cpus..p.s.devs()).filter_map(|d| Some(WordOwner::find(sim, d, denovo?)));
        let l2 = h.l2.bank();
        Some(HierBanks {
            l3s: banks("l3_bank", false)?,
            l2s: banks("l2_bank", true)?,
            l3: Level { sets: h.l3.sets(), ways: h.l3.ways, tag_bits: h.l3.tag_bits() },
            l2: Level { sets: l2.sets(), ways: l2.ways, tag_bits: l2.tag_bits() },
            owners: owners.collect::<Option<Vec<_>>>()?,
            word_owners: word_owners.collect::<Option<Vec<_>>>()?,
            words: p.s.words(),
        })
    }

    /// What they hold newer than memory.
    pub fn newer(self) -> NewerIn {
        newer_in(move |sim| {
            let mut all = Vec::new();
            for (number, bank) in self.l3s.iter().enumerate() {
                self.level(sim, (number, bank), self.l3, &mut all);
            }
            for (number, bank) in self.l2s.iter().enumerate() {
                self.level(sim, (number, bank), self.l2, &mut all);
            }
            self.owners.iter().for_each(|owner| owner.owned(sim, self.words, &mut all));
            self.word_owners.iter().for_each(|owner| owner.owned(sim, self.words, &mut all));
            all
        })
    }

    /// Lines that a bank has written since it read them, but for words that L1s own.
    fn level<'a>(
        &self,
        sim: &'a Sim,
        (number, bank): (usize, &Bank),
        level: Level,
        out: &mut Vec<Newer<'a>>,
    ) {
        let Level { sets, ways, tag_bits } = level;
        for (set, way) in (0..sets).flat_map(|s| (0..ways).map(move |w| (s, w))) {
            let row = set * ways + way;
            // L3: {owner, dirty, state, tag}; GPU L2: {perm, tag}.
            let entry = lane(sim, bank.tags, row)[0];
            let (state, dirty) = (entry >> tag_bits & 3, entry >> (tag_bits + 2) & 1 == 1);
            let newer = match bank.owned {
                Some(_) => state == M,
                None => state != I && dirty,
            };
            if !newer {
                continue;
            }
            let owned = bank.owned.map_or(0, |owned| lane(sim, owned, row)[0]);
            let here = |w: &u32| owned >> w & 1 == 0;
            let mask = (0..self.words).filter(here).map(|w| 0xf_u128 << (4 * w)).sum();
            let tag = entry & ((1 << tag_bits) - 1);
            let line = (tag * u64::from(sets) + u64::from(set)) * self.l3s.len() as u64 + number as u64;
            let data = if bank.lines.lanes == 1 {
                lane(sim, bank.lines, row).to_vec()
            } else {
                let word = |w: u32| if w < self.words { sim.lane(bank.lines, row, w)[0] } else { 0 };
                (0..self.words.div_ceil(2)).map(|i| word(2 * i) | word(2 * i + 1) << 32).collect()
            };
            out.push(Newer { line, mask, data: data.into() });
        }
    }
}

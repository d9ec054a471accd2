//! What the caches of a hierarchical system hold newer than memory: lists go upwards, from the L3 to L1s, and of a word that several have, the last counts. And what its directories say of their
//! clients.

use super::SpandexSystem;
use super::banks::{Holding, Holdings, Line, Owner, WordOwner, bits, lane, limbs, owners_of};
use super::build::Hierarchy;
use crate::family::Newer;
use crate::family::tsm::around::{NewerIn, newer_in};
use std::collections::BTreeMap;
use weft_engine::{MemPort, Sim};

/// States by encoding: of the GPU L2, S and M; of the L3, shared and owned; of both, I.
const S: u64 = 1;
const M: u64 = 3;
const SS: u64 = 2;
const MT: u64 = 3;
const I: u64 = 0;

/// Where a bank of the GPU L2 keeps tags, owned words and data; one of the L3 has sharers in place of owned words.
#[derive(Clone)]
struct Bank {
    tags: MemPort,
    owned: Option<MemPort>,
    sharers: Option<MemPort>,
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
#[derive(Clone)]
pub(super) struct HierBanks {
    l3s: Vec<Bank>,
    l2s: Vec<Bank>,
    l3: Level,
    l2: Level,
    owners: Vec<Owner>,
    word_owners: Vec<WordOwner>,
    words: u32,
    dev_bits: u32,
    /// The GPU L2's number among the clients of the L3, behind the CPU cores.
    l2_client: u32,
}

impl HierBanks {
    /// Those of a system; `None` when its instances have other names.
    pub fn find(sim: &Sim, p: &SpandexSystem, h: &Hierarchy) -> Option<HierBanks> {
        let bank = |name: &str, b: u32, owned: bool| {
            let memory = |of: &str| sim.memory(&format!("{name}{b}.{of}"));
            let (owned, sharers) =
                if owned { (Some(memory("owned")?), None) } else { (None, Some(memory("sharers")?)) };
            Some(Bank { tags: memory("tags")?, owned, sharers, lines: memory("lines")? })
        };
        let banks = |name, owned| (0..p.s.banks).map(|b| bank(name, b, owned)).collect::<Option<Vec<_>>>();
        let mesi = p.mesi.as_ref().map(|(l1, _)| &l1.port);
        let owners = (0..mesi.map_or(0, |_| p.s.cpus)).map(|d| Owner::find(sim, d, mesi?));
        let denovo = p.denovo_cus.as_ref().map(|(l1, _)| &l1.l1);
        let word_owners = (p.s.cpus..p.s.devs()).filter_map(|d| Some(WordOwner::find(sim, d, denovo?)));
        let l2 = &h.l2.bank;
        Some(HierBanks {
            l3s: banks("l3_bank", false)?,
            l2s: banks("l2_bank", true)?,
            l3: Level { sets: h.l3.bank.sets(), ways: h.l3.bank.ways, tag_bits: h.l3.bank.tag_bits() },
            l2: Level { sets: l2.sets(), ways: l2.ways, tag_bits: l2.tag_bits() },
            owners: owners.collect::<Option<Vec<_>>>()?,
            word_owners: word_owners.collect::<Option<Vec<_>>>()?,
            words: p.s.words(),
            dev_bits: p.s.dev_bits(),
            l2_client: p.s.cpus,
        })
    }

    /// What they hold newer than memory.
    pub fn newer(self) -> NewerIn {
        newer_in(move |sim| {
            let mut all = Vec::new();
            self.level(sim, &self.l3s, self.l3, &mut all);
            self.level(sim, &self.l2s, self.l2, &mut all);
            self.owners.iter().for_each(|owner| owner.owned(sim, self.words, &mut all));
            self.word_owners.iter().for_each(|owner| owner.owned(sim, self.words, &mut all));
            all
        })
    }

    /// Lines of a level that were written since they were read, but for words that L1s own.
    fn level<'a>(&self, sim: &'a Sim, banks: &[Bank], level: Level, out: &mut Vec<Newer<'a>>) {
        for (bank, row, line, state, above) in self.entries(sim, banks, level) {
            // L3: {owner, dirty, state, tag}; GPU L2: {perm, tag}.
            let newer = if bank.owned.is_some() { state == M } else { above & 1 == 1 };
            if newer {
                let owned = bank.owned.map_or(0, |owned| lane(sim, owned, row)[0]);
                let here = |w: &u32| owned >> w & 1 == 0;
                let mask = (0..self.words).filter(here).map(|w| 0xf_u128 << (4 * w)).sum();
                out.push(Newer { line, mask, data: self.data(sim, bank, row).into() });
            }
        }
    }

    fn data(&self, sim: &Sim, bank: &Bank, row: u32) -> Vec<u64> {
        match bank.owned {
            Some(_) => limbs(sim, bank.lines, row, self.words),
            None => lane(sim, bank.lines, row).to_vec(),
        }
    }

    /// Lines of a level: bank, row, number, state, the entry's bits above.
    fn entries<'a>(
        &'a self,
        sim: &'a Sim,
        banks: &'a [Bank],
        level: Level,
    ) -> impl Iterator<Item = (&'a Bank, u32, u64, u64, u64)> + 'a {
        let rows = move |bank: usize| (0..level.sets * level.ways).map(move |row| (bank, row));
        (0..banks.len()).flat_map(rows).filter_map(move |(number, row)| {
            let entry = lane(sim, banks[number].tags, row)[0];
            let (tag, state) = (entry & ((1 << level.tag_bits) - 1), entry >> level.tag_bits & 3);
            let set = u64::from(row / level.ways);
            let line = (tag * u64::from(level.sets) + set) * banks.len() as u64 + number as u64;
            (state != I).then(|| (&banks[number], row, line, state, entry >> (level.tag_bits + 2)))
        })
    }

    /// What the L3 says of its clients, and what they have: CPU cores, and the GPU L2 with the number behind them.
    pub fn of_l3(&self, sim: &Sim) -> (BTreeMap<u64, Line>, Holdings) {
        let whole = u64::MAX >> (64 - self.words);
        let mut lines = BTreeMap::new();
        for (bank, row, line, state, above) in self.entries(sim, &self.l3s, self.l3) {
            // {owner, dirty} stand above the state.
            let owners = (state == MT).then_some(((above >> 1) as u32, whole)).into_iter().collect();
            let sharers = bank.sharers.map(|kept| bits(lane(sim, kept, row)));
            if state == MT || state == SS {
                let data = self.data(sim, bank, row);
                lines.insert(line, Line { owners, sharers, shared: state == SS, data });
            }
        }
        let mut held = Holdings::new();
        for (client, owner) in (0..).zip(&self.owners) {
            owner.held(sim, self.words, client, &mut held);
        }
        for (bank, row, line, state, _) in self.entries(sim, &self.l2s, self.l2) {
            let (owned, shared) = if state == S { (0, whole) } else { (whole, 0) };
            let data = self.data(sim, bank, row);
            held.insert((self.l2_client, line), Holding { owned, shared, data });
        }
        (lines, held)
    }

    /// What the GPU L2 says of the L1s of CUs, and what they have.
    pub fn of_l2(&self, sim: &Sim) -> (BTreeMap<u64, Line>, Holdings) {
        let mut lines = BTreeMap::new();
        for (bank, row, line, ..) in self.entries(sim, &self.l2s, self.l2) {
            let owned = bank.owned.map_or(0, |owned| lane(sim, owned, row)[0]);
            let data = self.data(sim, bank, row);
            let owners = owners_of(owned, &data, self.dev_bits);
            if !owners.is_empty() {
                lines.insert(line, Line { owners, sharers: Some(0), shared: false, data });
            }
        }
        let mut held = Holdings::new();
        self.word_owners.iter().for_each(|owner| owner.held(sim, self.words, &mut held));
        (lines, held)
    }
}

//! What a stash holds (`cu-and-consistency.md` section 8): words in O, by the line to which its stash map takes them.

use super::{Holding, Holdings, lane, register};
use crate::family::Newer;
use std::collections::BTreeMap;
use weft_engine::{MemPort, Sim};
use weft_spandex::stash::StashParams;

/// Where a stash keeps words, their states, mappings of words, and mappings.
#[derive(Clone)]
pub(super) struct StashOwner {
    device: u32,
    p: StashParams,
    banks: Vec<MemPort>,
    owners: MemPort,
    maps: MemPort,
    /// A word is in O if the first has its bit and the second has not.
    high: (usize, usize),
    low: (usize, usize),
}

impl StashOwner {
    /// The stash of a device; `None` when its state has other names.
    pub fn find(sim: &Sim, device: u32, p: &StashParams) -> Option<StashOwner> {
        let cache = format!("device{device}.cache");
        let memory = |name: &str| sim.memory(&format!("{cache}.{name}"));
        let banks = (0..p.banks).map(|b| memory(&format!("bank_{b}"))).collect::<Option<_>>()?;
        let (owners, maps) = (memory("owner_map")?, memory("maps")?);
        let (high, low) = (register(sim, &cache, "word_owned")?, register(sim, &cache, "word_valid")?);
        Some(StashOwner { device, p: p.clone(), banks, owners, maps, high, low })
    }

    /// Global word of a word of the stash that belongs to a mapping.
    fn global(&self, sim: &Sim, word: u32) -> u64 {
        let p = &self.p;
        let index = sim.lane(self.owners, word / p.banks, word % p.banks)[0] as u32;
        let entry = lane(sim, self.maps, index);
        let mut at = 0;
        let mut field = |width: u32| {
            let (limb, shift) = ((at / 64) as usize, at % 64);
            at += width;
            let both = u128::from(entry[limb]) | u128::from(entry.get(limb + 1).copied().unwrap_or(0)) << 64;
            (both >> shift) as u64 & (u64::MAX >> (64 - width))
        };
        let base = field(p.word_bits());
        let global = field(p.global_bits());
        let element = field(p.count_bits());
        let stride = field(weft_spandex::stash::STRIDE);
        let offset = u64::from(word) - base;
        global + offset / element * stride + offset % element
    }

    /// Lines with words in O: these words, and the line's limbs.
    fn lines(&self, sim: &Sim, words: u32) -> BTreeMap<u64, (u64, Vec<u64>)> {
        let bit = |(unit, limb): (usize, usize), at: u32| {
            sim.state(unit)[limb + at as usize / 64] >> (at % 64) & 1 == 1
        };
        let mut all: BTreeMap<u64, (u64, Vec<u64>)> = BTreeMap::new();
        for word in (0..self.p.words()).filter(|w| bit(self.high, *w) && !bit(self.low, *w)) {
            let global = self.global(sim, word);
            let (line, at) = (global / u64::from(words), (global % u64::from(words)) as usize);
            let value = lane(sim, self.banks[(word % self.p.banks) as usize], word / self.p.banks)[0];
            let (owned, data) = all.entry(line).or_insert_with(|| (0, vec![0; words as usize / 2]));
            *owned |= 1 << at;
            data[at / 2] |= value << (32 * (at % 2));
        }
        all
    }

    /// The words that it owns: the LLC has its number in their place.
    pub fn owned<'a>(&self, sim: &'a Sim, words: u32, out: &mut Vec<Newer<'a>>) {
        for (line, (owned, data)) in self.lines(sim, words) {
            let mask = (0..words).filter(|w| owned >> w & 1 == 1).map(|w| 0xf << (4 * w)).sum();
            out.push(Newer { line, mask, data: data.into() });
        }
    }

    /// What it has, by its device and line.
    pub fn held(&self, sim: &Sim, words: u32, out: &mut Holdings) {
        for (line, (owned, data)) in self.lines(sim, words) {
            out.insert((self.device, line), Holding { owned, shared: 0, data });
        }
    }
}

//! What the L2 holds newer than memory: the dirty bytes of its lines.

use super::Gpu;
use crate::family::Newer;
use crate::family::tsm::around::{NewerIn, newer_in};
use weft_engine::{MemPort, Sim};
use weft_srsp::bank::masked;

/// Where a bank keeps tags, dirty masks and data.
struct Bank {
    tags: MemPort,
    masks: MemPort,
    lines: MemPort,
}

/// The banks of a fabric.
pub(super) struct Banks {
    banks: Vec<Bank>,
    sets: u32,
    ways: u32,
    tag_bits: u32,
}

impl Banks {
    /// Those of a fabric; `None` when its instances have other names.
    pub fn find(sim: &Sim, p: &Gpu) -> Option<Banks> {
        let bank = |b: u32| {
            let memory = |name: &str| sim.memory(&format!("bank{b}.{name}"));
            Some(Bank { tags: memory("tags")?, masks: memory("masks")?, lines: memory("lines")? })
        };
        let banks = (0..p.srsp().banks).map(bank).collect::<Option<Vec<_>>>()?;
        let shape = p.bank();
        Some(Banks { banks, sets: shape.sets, ways: shape.ways, tag_bits: shape.tag_bits })
    }

    /// What they hold newer than memory.
    pub fn newer(self) -> NewerIn {
        newer_in(move |sim| self.dirty(sim))
    }

    fn dirty<'a>(&self, sim: &'a Sim) -> Vec<Newer<'a>> {
        let mut out = Vec::new();
        for (number, bank) in self.banks.iter().enumerate() {
            for (set, way) in (0..self.sets).flat_map(|s| (0..self.ways).map(move |w| (s, w))) {
                let mask = lane(sim, bank.masks, set * self.ways + way)[0];
                let entry = lane(sim, bank.tags, set * self.ways + way)[0];
                if mask == 0 || !masked(entry >> self.tag_bits) {
                    continue;
                }
                let tag = entry & ((1 << self.tag_bits) - 1);
                let line = (tag * u64::from(self.sets) + u64::from(set)) * self.banks.len() as u64;
                let data = lane(sim, bank.lines, set * self.ways + way);
                out.push(Newer { line: line + number as u64, mask: u128::from(mask), data: data.into() });
            }
        }
        out
    }
}

/// Entry `at` of a memory whose rows hold several.
fn lane(sim: &Sim, memory: MemPort, at: u32) -> &[u64] {
    sim.lane(memory, at / memory.lanes, at % memory.lanes)
}

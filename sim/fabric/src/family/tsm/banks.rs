//! What write-back banks hold newer than memory: the dirty bytes of their lines.

use super::around::{NewerIn, newer_in};
use crate::family::Newer;
use weft_engine::{MemPort, Sim};
use weft_mgcc::params::{LINE, Tsm};

/// State of a line with dirty bytes, of the two bits above its tag (`K` of the block).
const DIRTY: u64 = 2;

/// Where the banks keep tags, dirty masks and data.
#[derive(Clone)]
pub(in crate::family) struct Banks {
    tsm: Tsm,
    sets: u32,
    ways: u32,
    banks: Vec<Bank>,
}

#[derive(Clone)]
struct Bank {
    number: u64,
    /// Line 0 of its memory.
    first: u64,
    tags: MemPort,
    masks: MemPort,
    lines: MemPort,
}

impl Banks {
    /// The banks of a fabric, write-back ones of `size` bytes and `ways` ways, with the widths at a bank; the lines of GPU g are those from g * `apart` on. `None` when its instances have other names.
    pub fn find(sim: &Sim, tsm: &Tsm, [size, ways]: [u32; 2], apart: u64) -> Option<Banks> {
        let mut banks = Vec::new();
        for (gpu, bank) in (0..tsm.gpus).flat_map(|g| (0..tsm.banks).map(move |b| (g, b))) {
            let memory = |name: &str| sim.memory(&format!("gpu{gpu}.bank{bank}.{name}"));
            let (tags, masks, lines) = (memory("tags")?, memory("dirty")?, memory("lines")?);
            banks.push(Bank { number: u64::from(bank), first: u64::from(gpu) * apart, tags, masks, lines });
        }
        Some(Banks { tsm: tsm.clone(), sets: size / (LINE * ways), ways, banks })
    }

    /// What they hold newer than memory.
    pub fn newer(self) -> NewerIn {
        newer_in(move |sim| self.dirty(sim))
    }

    /// All lines with dirty bytes.
    fn dirty<'a>(&self, sim: &'a Sim) -> Vec<Newer<'a>> {
        let mut out = Vec::new();
        for bank in &self.banks {
            // A row of the tags may hold several sets.
            let bulk = bank.tags.lanes / self.ways;
            for (set, way) in (0..self.sets).flat_map(|s| (0..self.ways).map(move |w| (s, w))) {
                let entry = sim.lane(bank.tags, set / bulk, set % bulk * self.ways + way)[0];
                let (tag, state) = self.split(entry);
                let (row, lanes) = (set * self.ways + way, [bank.masks.lanes, bank.lines.lanes]);
                if state == DIRTY {
                    let mask = sim.lane(bank.masks, row / lanes[0], row % lanes[0])[0];
                    let data = sim.lane(bank.lines, row / lanes[1], row % lanes[1]);
                    let line = bank.first + self.line(bank.number, tag, set);
                    out.push(Newer { line, mask: u128::from(mask), data: data.into() });
                }
            }
        }
        out
    }

    /// Tag and state of an entry.
    fn split(&self, entry: u64) -> (u64, u64) {
        let width = self.tsm.line_bits() - self.tsm.bank_select() - self.sets.trailing_zeros();
        (entry & ((1 << width) - 1), entry >> width & 3)
    }

    /// The line of a tag and set of a bank.
    fn line(&self, bank: u64, tag: u64, set: u32) -> u64 {
        let inside = tag << self.sets.trailing_zeros() | u64::from(set);
        let (low, select) = (self.tsm.il - 6, self.tsm.bank_select());
        let below = inside & ((1 << low) - 1);
        inside >> low << (low + select) | bank << low | below
    }
}

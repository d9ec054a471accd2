//! What the L2 banks hold newer than memory.
//!
//! A release writes the dirty lines of the releasing GPU back, but a write of another GPU may reach this GPU's L2 after that: the home's L2, not
//! its DRAM, has the last word.

use crate::family::Newer;
use weft_blocks::cache::l2::L2Params;
use weft_blocks::cache::owned::Copy;
use weft_blocks::fabric::FabricParams;
use weft_engine::{MemPort, Sim};
use weft_rtl::prelude::HwEnum;

/// Where the L2 banks keep tags and data.
#[derive(Clone)]
pub(super) struct Banks {
    banks: Vec<Bank>,
    line: u64,
}

#[derive(Clone)]
struct Bank {
    params: L2Params,
    number: u64,
    tags: MemPort,
    data: MemPort,
}

impl Bank {
    /// Bytes of a way: a row of its own, or a lane of its set's.
    fn bytes<'a>(&self, sim: &'a Sim, set: u32, way: u32) -> std::borrow::Cow<'a, [u64]> {
        match self.data.lanes {
            1 => sim.lane(self.data, set * self.params.ways + way, 0).into(),
            _ => sim.lane(self.data, set, way).into(),
        }
    }
}

/// State D of a line, of the two bits above its tag.
const DIRTY: u64 = 2;

/// States in which a copy with owners may be newer than memory.
const OWNED: [Copy; 2] = [Copy::O, Copy::M];

impl Banks {
    /// The banks of a fabric; `None` when its instances have other names.
    pub fn find(sim: &Sim, p: &FabricParams) -> Option<Banks> {
        let mut banks = Vec::new();
        for (g, b) in (0..p.sys.nodes()).flat_map(|g| (0..p.sys.banks).map(move |b| (g, b))) {
            let memory = |name: &str| sim.memory(&format!("{}.bank{b}.{name}", p.sys.node_name(g)));
            let (tags, data) = (memory("tags")?, memory("data")?);
            banks.push(Bank { params: p.l2(g), number: u64::from(b), tags, data });
        }
        Some(Banks { banks, line: u64::from(p.sys.line) })
    }

    /// All lines that are newer at home than in memory.
    pub fn dirty<'a>(&self, sim: &'a Sim) -> Vec<Newer<'a>> {
        let whole = if self.line == 128 { u128::MAX } else { (1 << self.line) - 1 };
        let mut out = Vec::new();
        for bank in &self.banks {
            let width = bank.params.tag_bits();
            // A row of the tags may hold several sets.
            let (ways, bulk) = (bank.params.ways, bank.tags.lanes / bank.params.ways);
            for (set, way) in (0..bank.tags.rows * bulk).flat_map(|s| (0..ways).map(move |w| (s, w))) {
                let entry = sim.lane(bank.tags, set / bulk, set % bulk * ways + way)[0];
                let state = entry >> width;
                let owned = bank.params.sys.owners && OWNED.iter().any(|of| of.encoding() == state);
                if owned || (!bank.params.sys.owners && state == DIRTY) {
                    let tag = entry & ((1 << width) - 1);
                    let line = bank.params.line_number(tag, u64::from(set), bank.number);
                    // Dirty bytes of other homes' lines are written on by the release that makes them visible.
                    if owned || line >> home_bits(&bank.params) == u64::from(bank.params.home) {
                        out.push(Newer { line, mask: whole, data: bank.bytes(sim, set, way) });
                    }
                }
            }
        }
        out
    }
}

/// Bits of a line number below its home's.
fn home_bits(p: &L2Params) -> u32 {
    p.sys.home_shift - p.sys.line.trailing_zeros()
}

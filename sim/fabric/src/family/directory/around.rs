//! What stands around a directory fabric: DRAM behind the L2 banks, the directories that are no RTL, the memory behind ideal caching.

use super::banks::Banks;
use super::ideal::IdealDirectory;
use super::oracle::Oracle;
use crate::cu::LineAccess;
use crate::dram::Dram;
use crate::family::{Channels, Newer, Surroundings, Transfer, Unit};
use crate::lanes::ByPart;
use crate::run::Counter;
use std::collections::BTreeMap;
use weft_blocks::msg::Sys;
use weft_engine::Sim;
use weft_engine::runner::{Model, Problem};

/// DRAM channels and what goes with them; a channel is numbered by node, then bank.
#[derive(Clone)]
pub(super) struct Around {
    pub dram: Dram,
    /// Protocol `ideal` without GPMs.
    pub ideal: Option<IdealDirectory>,
    /// Where values come from if nothing keeps the caches coherent.
    pub oracle: Option<Oracle>,
    pub banks: Banks,
    pub sys: Sys,
}

impl Surroundings for Around {
    fn tick(&mut self, sim: &mut Sim) -> Result<Option<u64>, Problem> {
        let dram = self.dram.tick(sim)?;
        let ideal = match &mut self.ideal {
            Some(ideal) => ideal.tick(sim)?,
            None => None,
        };
        Ok(dram.into_iter().chain(ideal).min())
    }

    /// A directory that is no RTL has ports of all nodes.
    fn are_apart(&self) -> bool {
        self.ideal.is_none() && self.dram.are_apart()
    }

    fn by_part(&mut self) -> ByPart<'_> {
        let (sys, memory) = (&self.sys, self.dram.memory());
        ByPart { lanes: self.dram.by_part(), memory, channel_of: Box::new(move |line| channel_of(sys, line)) }
    }

    fn is_idle(&self) -> bool {
        self.dram.is_idle() && self.ideal.as_ref().is_none_or(IdealDirectory::is_idle)
    }

    fn channels(&self) -> Channels {
        let banks = |node| (0..self.sys.banks).map(move |bank| (node, bank));
        let name = |(node, bank)| format!("{} bank {bank}", self.sys.node_text(node));
        Channels {
            names: (0..self.sys.nodes()).flat_map(banks).map(name).collect(),
            ids: 1 << self.sys.l2_id_bits(),
        }
    }

    fn channel_of(&self, line: u64) -> usize {
        channel_of(&self.sys, line)
    }

    fn transfers(&self) -> &[Transfer] {
        self.dram.transfers()
    }

    fn read(&self, addr: u64, bytes: &mut [u8]) {
        match &self.oracle {
            Some(oracle) => oracle.memory.read(addr, bytes),
            None => self.dram.read(addr, bytes),
        }
    }

    fn write(&mut self, addr: u64, bytes: &[u8]) {
        self.dram.write(addr, bytes);
        self.oracle.iter_mut().for_each(|oracle| oracle.memory.write(addr, bytes));
    }

    fn newer<'a>(&self, sim: &'a Sim) -> Vec<Newer<'a>> {
        if self.oracle.is_some() { Vec::new() } else { self.banks.dirty(sim) }
    }

    fn hears(&self) -> bool {
        self.oracle.is_some()
    }

    fn taken(&mut self, unit: Unit, access: &LineAccess) {
        self.oracle.iter_mut().for_each(|oracle| oracle.taken(unit, access));
    }

    fn answered(&mut self, unit: Unit, access: &LineAccess, data: &mut [u64; 16]) {
        self.oracle.iter_mut().for_each(|oracle| oracle.answered(unit, access, data));
    }

    fn counters(&self) -> BTreeMap<String, Counter> {
        let named = |(name, _, about, value): (&str, &str, &str, u64)| {
            (
                format!("dram.{}", name.trim_start_matches("dram_")),
                Counter { value, about: about.to_string() },
            )
        };
        self.dram.counters().list().into_iter().map(named).collect()
    }

    fn save(&self) -> Vec<u8> {
        let ideal = self.ideal.as_ref().map(IdealDirectory::save);
        postcard::to_stdvec(&(self.dram.save(), ideal, &self.oracle)).expect("plain data is always encoded")
    }

    fn resume(&mut self, bytes: &[u8]) -> bool {
        type Saved = (Vec<u8>, Option<Vec<u8>>, Option<Oracle>);
        let Ok((dram, ideal, oracle)) = postcard::from_bytes::<Saved>(bytes) else { return false };
        if oracle.is_some() != self.oracle.is_some() {
            return false;
        }
        self.oracle = oracle;
        let ideal = match (&mut self.ideal, &ideal) {
            (Some(ideal), Some(bytes)) => ideal.load(bytes),
            (None, None) => true,
            _ => false,
        };
        ideal && self.dram.load(&dram).is_ok()
    }

    fn boxed(&self) -> Box<dyn Surroundings> {
        Box::new(self.clone())
    }
}

/// The channel of a line: banks of its home in turn.
fn channel_of(sys: &Sys, line: u64) -> usize {
    let (addr, banks) = (line * u64::from(sys.line), u64::from(sys.banks));
    ((addr >> sys.home_shift) * banks + addr / u64::from(sys.il) % banks) as usize
}

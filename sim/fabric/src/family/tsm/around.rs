//! What stands around a TSM fabric: the DRAM channels of all lanes, before the one memory, and the lease registers.

use super::banks::Banks;
use super::lane::{Lane, Ports};
use crate::dram::{DramCounters, DramTiming};
use crate::family::{Channels, Newer, Surroundings, Transfer};
use crate::memory::Memory;
use crate::port::input;
use crate::run::{Counter, FabricError};
use std::collections::BTreeMap;
use weft_engine::Sim;
use weft_engine::runner::Problem;
use weft_mgcc::fabric::TsmFabricParams;
use weft_mgcc::params::Tsm;

/// DRAM channels; a channel is numbered by UMC, then lane.
#[derive(Clone)]
pub(super) struct Around {
    ports: Vec<Ports>,
    lanes: Vec<Lane>,
    tsm: Tsm,
    timing: DramTiming,
    trk: u32,
    memory: Memory,
    transfers: Vec<Transfer>,
    /// Those of write-back banks.
    banks: Option<Banks>,
}

impl Around {
    /// The models around a fabric; `leases` are those of reads and writes, if it has any.
    ///
    /// # Errors
    /// A design without the ports or names that they need.
    pub fn new(
        sim: &mut Sim,
        p: &TsmFabricParams,
        timing: DramTiming,
        leases: Option<[u64; 2]>,
        memory: Memory,
    ) -> Result<Around, FabricError> {
        let names = (0..p.tsm.banks).flat_map(|u| (0..p.tsm.lanes).map(move |l| format!("u{u}_l{l}")));
        let ports = names.map(|name| Ports::find(sim, &name)).collect::<Result<Vec<_>, _>>()?;
        for (name, lease) in ["rd_lease", "wr_lease"].into_iter().zip(leases.into_iter().flatten()) {
            let port = input(sim, name)?;
            sim.set(port, lease);
        }
        let units = "units gpuG.bankB with memories tags, dirty and lines";
        let banks = match p.write_back() {
            true => Some(Banks::find(sim, p).ok_or(FabricError::Names { units })?),
            false => None,
        };
        Ok(Around {
            lanes: vec![Lane::new(timing); ports.len()],
            ports,
            tsm: p.tsm.clone(),
            timing,
            trk: p.trk,
            memory,
            transfers: Vec::new(),
            banks,
        })
    }
}

impl Surroundings for Around {
    fn tick(&mut self, sim: &mut Sim) -> Result<Option<u64>, Problem> {
        let now = sim.cycle();
        let mut due: Option<u64> = None;
        self.transfers.clear();
        for (number, (lane, ports)) in self.lanes.iter_mut().zip(&self.ports).enumerate() {
            // A rested unit's outputs are what they were when the lane acted last.
            if lane.due.is_some_and(|cycle| cycle <= now) || sim.may_change(ports.req_valid) {
                let request = lane.tick(sim, ports, number, &mut self.memory);
                self.transfers.extend(request);
                self.transfers.extend(lane.answer.map(|id| Transfer::Answer { channel: number, id }));
            }
            due = due.into_iter().chain(lane.due).min();
        }
        Ok(due)
    }

    fn is_idle(&self) -> bool {
        self.lanes.iter().all(Lane::is_idle)
    }

    fn channels(&self) -> Channels {
        let lanes = |umc| (0..self.tsm.lanes).map(move |lane| format!("umc {umc} lane {lane}"));
        Channels { names: (0..self.tsm.banks).flat_map(lanes).collect(), ids: self.trk }
    }

    fn channel_of(&self, line: u64) -> usize {
        let (low, select) = (self.tsm.il - 6, self.tsm.bank_select());
        let umc = line >> low & ((1 << select) - 1);
        let inside = line >> (low + select) << low | line & ((1 << low) - 1);
        let lanes = u64::from(self.tsm.lanes);
        (umc * lanes + inside % lanes) as usize
    }

    fn transfers(&self) -> &[Transfer] {
        &self.transfers
    }

    fn read(&self, addr: u64, bytes: &mut [u8]) {
        self.memory.read(addr, bytes);
    }

    fn write(&mut self, addr: u64, bytes: &[u8]) {
        self.memory.write(addr, bytes);
    }

    fn newer<'a>(&self, sim: &'a Sim) -> Vec<Newer<'a>> {
        self.banks.as_ref().map_or(Vec::new(), |banks| banks.dirty(sim))
    }

    fn counters(&self) -> BTreeMap<String, Counter> {
        let mut sum = DramCounters::default();
        self.lanes.iter().for_each(|lane| sum.add(&lane.channel.counters));
        let named = |(name, _, about, value): (&str, &str, &str, u64)| {
            let name = format!("dram.{}", name.trim_start_matches("dram_"));
            (name, Counter { value, about: about.to_string() })
        };
        sum.list().into_iter().map(named).collect()
    }

    fn save(&self) -> Vec<u8> {
        postcard::to_stdvec(&(&self.lanes, &self.memory)).expect("plain data is always encoded")
    }

    fn resume(&mut self, bytes: &[u8]) -> bool {
        let Ok((lanes, memory)) = postcard::from_bytes::<(Vec<Lane>, Memory)>(bytes) else { return false };
        if lanes.len() != self.lanes.len() || lanes.iter().any(|lane| *lane.channel.timing() != self.timing) {
            return false;
        }
        (self.lanes, self.memory) = (lanes, memory);
        true
    }

    fn boxed(&self) -> Box<dyn Surroundings> {
        Box::new(self.clone())
    }
}

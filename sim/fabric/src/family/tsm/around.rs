//! What stands around a fabric whose memory answers with lines: DRAM channels before the one memory of TSM's lanes, or before each GPU's own.

use super::lane::{Lane, LanePorts};
use crate::dram::{DramCounters, DramTiming};
use crate::family::{Channels, Newer, Surroundings, Transfer};
use crate::memory::Memory;
use crate::port::PortError;
use crate::run::Counter;
use std::collections::BTreeMap;
use weft_engine::Sim;
use weft_engine::runner::Problem;

/// A DRAM channel.
#[derive(Clone, Debug)]
pub(in crate::family) struct Place {
    /// Beginning of its ports' names.
    pub ports: String,
    /// What is behind it in sentences.
    pub name: String,
    /// Line of memory that it calls 0.
    pub first: u64,
}

/// DRAM channels and what else holds memory.
#[derive(Clone)]
pub(in crate::family) struct Around<P> {
    ports: Vec<P>,
    lanes: Vec<Lane>,
    places: Vec<Place>,
    timing: DramTiming,
    /// Transaction numbers of a channel.
    ids: u32,
    memory: Memory,
    transfers: Vec<Transfer>,
    /// What write-back banks hold newer.
    newer: Option<NewerIn>,
    channel_of: ChannelOf,
}

/// Number of the channel of a line.
pub(in crate::family) type ChannelOf = std::sync::Arc<dyn Fn(u64) -> usize + Send + Sync>;

/// What caches of a fabric hold newer than memory.
pub(in crate::family) type NewerIn = std::sync::Arc<dyn for<'a> Fn(&'a Sim) -> Vec<Newer<'a>> + Send + Sync>;

/// A function as [`NewerIn`].
pub(in crate::family) fn newer_in(
    newer: impl for<'a> Fn(&'a Sim) -> Vec<Newer<'a>> + Send + Sync + 'static,
) -> NewerIn {
    std::sync::Arc::new(newer)
}

impl<P: LanePorts> Around<P> {
    /// The models at these channels; `ids`: transaction numbers of each.
    ///
    /// # Errors
    /// A design without the ports that they need.
    pub fn new(
        sim: &Sim,
        (places, ids): (Vec<Place>, u32),
        channel_of: ChannelOf,
        timing: DramTiming,
        newer: Option<NewerIn>,
        memory: Memory,
    ) -> Result<Around<P>, PortError> {
        let ports = places.iter().map(|place| P::find(sim, &place.ports)).collect::<Result<Vec<_>, _>>()?;
        let (lanes, transfers) = (vec![Lane::new(timing); ports.len()], Vec::new());
        Ok(Around { ports, lanes, places, timing, ids, memory, transfers, newer, channel_of })
    }
}

impl<P: LanePorts> Surroundings for Around<P> {
    fn tick(&mut self, sim: &mut Sim) -> Result<Option<u64>, Problem> {
        let now = sim.cycle();
        let mut due: Option<u64> = None;
        self.transfers.clear();
        for (number, (lane, ports)) in self.lanes.iter_mut().zip(&self.ports).enumerate() {
            // A rested unit's outputs are what they were when the lane acted last.
            if lane.due.is_some_and(|cycle| cycle <= now) || sim.may_change(ports.request().0) {
                let place = (number, self.places[number].first);
                let request = lane.tick(sim, ports, place, &mut self.memory);
                self.transfers.extend(request);
                self.transfers.extend(lane.answered().map(|id| Transfer::Answer { channel: number, id }));
            }
            due = due.into_iter().chain(lane.due).min();
        }
        Ok(due)
    }

    fn is_idle(&self) -> bool {
        self.lanes.iter().all(Lane::is_idle)
    }

    fn channels(&self) -> Channels {
        Channels { names: self.places.iter().map(|place| place.name.clone()).collect(), ids: self.ids }
    }

    fn channel_of(&self, line: u64) -> usize {
        (self.channel_of)(line)
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
        self.newer.as_ref().map_or(Vec::new(), |newer| newer(sim))
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

//! What stands around a fabric whose memory answers with lines: DRAM channels before the one memory of TSM's lanes, or before each GPU's own.

use super::lane::{Lane, LanePorts, Stand};
use crate::dram::{DramCounters, DramTiming};
use crate::family::{Channels, Newer, Surroundings, Transfer};
use crate::lanes::{ByPart, Lanes};
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
    lanes: Lanes<Stand<P>>,
    places: Vec<Place>,
    timing: DramTiming,
    /// Transaction numbers of a channel.
    ids: u32,
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
        let stand = |(number, place): (usize, &Place)| {
            let ports = P::find(sim, &place.ports)?;
            Ok(Stand { number, first: place.first, ports, lane: Lane::new(timing) })
        };
        let lanes = places.iter().enumerate().map(stand).collect::<Result<Vec<_>, _>>()?;
        Ok(Around { lanes: Lanes::new(sim, lanes, memory), places, timing, ids, newer, channel_of })
    }
}

impl<P: LanePorts> Surroundings for Around<P> {
    fn tick(&mut self, sim: &mut Sim) -> Result<Option<u64>, Problem> {
        Ok(self.lanes.tick(sim))
    }

    fn are_apart(&self) -> bool {
        self.lanes.are_apart()
    }

    fn by_part(&mut self) -> ByPart<'_> {
        let (channel_of, memory) = (&self.channel_of, self.lanes.memory.alias());
        ByPart { lanes: self.lanes.by_part(), memory, channel_of: Box::new(move |line| channel_of(line)) }
    }

    fn is_idle(&self) -> bool {
        self.lanes.all().all(|stand| stand.lane.is_idle())
    }

    fn channels(&self) -> Channels {
        Channels { names: self.places.iter().map(|place| place.name.clone()).collect(), ids: self.ids }
    }

    fn channel_of(&self, line: u64) -> usize {
        (self.channel_of)(line)
    }

    fn transfers(&self) -> &[Transfer] {
        self.lanes.transfers()
    }

    fn read(&self, addr: u64, bytes: &mut [u8]) {
        self.lanes.memory.lock().read(addr, bytes);
    }

    fn write(&mut self, addr: u64, bytes: &[u8]) {
        self.lanes.memory.lock().write(addr, bytes);
    }

    fn newer<'a>(&self, sim: &'a Sim) -> Vec<Newer<'a>> {
        self.newer.as_ref().map_or(Vec::new(), |newer| newer(sim))
    }

    fn counters(&self) -> BTreeMap<String, Counter> {
        let mut sum = DramCounters::default();
        self.lanes.all().for_each(|stand| sum.add(&stand.lane.channel.counters));
        let named = |(name, _, about, value): (&str, &str, &str, u64)| {
            let name = format!("dram.{}", name.trim_start_matches("dram_"));
            (name, Counter { value, about: about.to_string() })
        };
        sum.list().into_iter().map(named).collect()
    }

    fn save(&self) -> Vec<u8> {
        let lanes: Vec<&Lane> = self.lanes.in_order().into_iter().map(|stand| &stand.lane).collect();
        postcard::to_stdvec(&(lanes, &*self.lanes.memory.lock())).expect("plain data is always encoded")
    }

    fn resume(&mut self, bytes: &[u8]) -> bool {
        let Ok((lanes, memory)) = postcard::from_bytes::<(Vec<Lane>, Memory)>(bytes) else { return false };
        if lanes.len() != self.places.len() || lanes.iter().any(|lane| *lane.channel.timing() != self.timing)
        {
            return false;
        }
        self.lanes.in_order_mut().into_iter().zip(lanes).for_each(|(stand, lane)| stand.lane = lane);
        *self.lanes.memory.lock() = memory;
        true
    }

    fn boxed(&self) -> Box<dyn Surroundings> {
        Box::new(self.clone())
    }
}

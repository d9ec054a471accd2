//! What stands around a Spandex fabric: its memory channels, the observer of the mesh, and the oracle that names owners.

use super::oracle::Oracle;
use super::port::ControllerPorts;
use super::traffic::{Books, Traffic};
use crate::family::tsm::around::Around;
use crate::family::{Channels, Newer, Surroundings, Transfer};
use crate::run::Counter;
use std::collections::BTreeMap;
use weft_engine::Sim;
use weft_engine::runner::Problem;

/// Memory, observer and, where owners are told, the oracle.
#[derive(Clone)]
pub(super) struct Soc {
    pub memory: Around<ControllerPorts>,
    pub traffic: Traffic,
    pub oracle: Option<Oracle>,
}

impl Surroundings for Soc {
    fn tick(&mut self, sim: &mut Sim) -> Result<Option<u64>, Problem> {
        if let Some(oracle) = &self.oracle {
            oracle.tell(sim);
        }
        self.traffic.tick(sim);
        self.memory.tick(sim)
    }

    fn is_idle(&self) -> bool {
        self.memory.is_idle()
    }

    fn channels(&self) -> Channels {
        self.memory.channels()
    }

    fn channel_of(&self, line: u64) -> usize {
        self.memory.channel_of(line)
    }

    fn transfers(&self) -> &[Transfer] {
        self.memory.transfers()
    }

    fn read(&self, addr: u64, bytes: &mut [u8]) {
        self.memory.read(addr, bytes);
    }

    fn write(&mut self, addr: u64, bytes: &[u8]) {
        self.memory.write(addr, bytes);
    }

    fn newer<'a>(&self, sim: &'a Sim) -> Vec<Newer<'a>> {
        self.memory.newer(sim)
    }

    fn counters(&self) -> BTreeMap<String, Counter> {
        let mut all = self.memory.counters();
        all.extend(self.traffic.counters());
        all
    }

    fn save(&self) -> Vec<u8> {
        postcard::to_stdvec(&(self.memory.save(), self.traffic.state()))
            .expect("plain data is always encoded")
    }

    fn resume(&mut self, bytes: &[u8]) -> bool {
        let Ok((memory, traffic)) = postcard::from_bytes::<(Vec<u8>, (Books, Vec<u64>))>(bytes) else {
            return false;
        };
        self.memory.resume(&memory) && self.traffic.resume(traffic)
    }

    fn boxed(&self) -> Box<dyn Surroundings> {
        Box::new(self.clone())
    }
}

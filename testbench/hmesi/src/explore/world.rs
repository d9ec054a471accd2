//! What is no hardware: cores and CUs that ask, and memory, as in the exploration of Spandex.

use super::{Config, text};
use std::rc::Rc;
use weft_explore::form::Form;
use weft_explore::net::World;
use weft_spandex_bench::explore::cores::{Cores, Memory};

/// Numbers of the world's ports.
pub(super) struct Ports {
    pub devices: usize,
}

impl Ports {
    pub fn requests(&self, device: usize) -> usize {
        device
    }
    pub fn answers(&self, device: usize) -> usize {
        self.devices + device
    }
    pub fn memory(&self) -> usize {
        2 * self.devices
    }
}

/// The link from memory to the L3: the world's link comes first.
pub(super) const MEMORY: usize = 0;

/// The world of a net ([`super::build()`]).
pub struct Hosts {
    config: Config,
    cores: Cores,
}

impl Hosts {
    /// The world of a configuration.
    pub(super) fn new(config: &Config, request: &Rc<Form>, memory: &Rc<Form>) -> Hosts {
        Hosts { config: config.clone(), cores: Cores::new(&config.cores, request, memory, MEMORY) }
    }

    /// Its configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Cores and CUs, and memory.
    pub fn cores(&self) -> &Cores {
        &self.cores
    }
}

impl World for Hosts {
    type State = Memory;

    fn start(&self) -> Memory {
        self.cores.start()
    }

    fn offers(&self, state: &Memory, port: usize) -> Vec<(Vec<u64>, Memory)> {
        self.cores.offers(state, port)
    }

    fn take(
        &self,
        state: &mut Memory,
        port: usize,
        form: &Form,
        message: &[u64],
    ) -> Result<Vec<(usize, Vec<u64>)>, String> {
        self.cores.take(state, port, form, message)
    }

    fn finished(&self, state: &Memory) -> bool {
        self.cores.finished(state)
    }

    fn check(&self, state: &Memory) -> Result<(), String> {
        self.cores.check(state)
    }

    fn story(&self, state: &Memory) -> Vec<String> {
        self.cores.story(state).into_iter().map(|line| line.replace("Mesi", "Cpu")).collect()
    }

    fn text(&self, place: &str, form: &Form, message: &[u64]) -> String {
        text::message(place, form, message)
    }
}

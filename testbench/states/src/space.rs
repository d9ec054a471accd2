//! The system as a space to search: states, actions, what they lead to.

use crate::check::{at_rest, check};
use crate::machine::{Core, Machine};
use crate::state::{Device, Llc, NONE, Packet, State, namings};
use crate::table::{Act, Protocol, To, Verb, When};
use crate::values::Values;
use weft_explore::search::Space;

/// Whom a request may be sent to directly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Opred {
    /// Nobody.
    #[default]
    Off,
    /// Any other device: a predictor may be wrong.
    Any,
    /// The owner that the LLC knows at that moment: it is right, unless ownership moves meanwhile.
    Owner,
}

/// What is explored.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Devices, 1 to 4.
    pub devices: usize,
    /// The first try of every write-through is sent on to the owner.
    pub wtfwd: bool,
    /// Direct requests.
    pub opred: Opred,
    /// Data of one bit.
    pub values: bool,
    /// The LLC fetches and evicts the line.
    pub evict: bool,
    /// States that differ only in the devices' names are one.
    pub symmetry: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config { devices: 3, wtfwd: false, opred: Opred::Off, values: false, evict: false, symmetry: false }
    }
}

/// One thing that may happen.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// A message arrives.
    Deliver(Packet),
    /// A device does something by itself.
    Core(Core),
    /// The LLC does something by itself.
    Own(u8),
}

impl Action {
    /// As a number.
    fn pack(self) -> u64 {
        match self {
            Action::Deliver(packet) => u64::from(packet.pack()),
            Action::Core(core) => {
                let Core { device, event, target, value } = core;
                1 << 32
                    | device as u64
                    | u64::from(event) << 8
                    | u64::from(target) << 16
                    | u64::from(value) << 24
            }
            Action::Own(event) => 2 << 32 | u64::from(event),
        }
    }
    /// From a number.
    pub fn unpack(number: u64) -> Action {
        let byte = |at: u32| (number >> at) as u8;
        match number >> 32 {
            0 => Action::Deliver(Packet::unpack(number as u32)),
            1 => Action::Core(Core {
                device: usize::from(byte(0)),
                event: byte(8),
                target: byte(16),
                value: byte(24) != 0,
            }),
            _ => Action::Own(byte(0)),
        }
    }
}

/// A protocol's space.
pub struct Model {
    /// What is explored.
    pub config: Config,
    /// The protocol, running.
    pub machine: Machine,
    namings: Vec<Vec<u8>>,
    core: Vec<u8>,
    own: Vec<u8>,
}

impl Model {
    /// The space of a protocol.
    pub fn new(protocol: Protocol, config: Config) -> Model {
        let machine = Machine::new(protocol, &|when| match when {
            When::WtFwd => Some(config.wtfwd),
            When::NoWtFwd => Some(!config.wtfwd),
            When::Opred => Some(config.opred != Opred::Off),
            When::Values => Some(config.values),
            When::Evict => Some(config.evict),
            _ => None,
        });
        let numbers = |names: &[&str]| names.iter().map(|name| machine.tables.event(name)).collect();
        let (core, own) = (numbers(machine.protocol.core), numbers(machine.protocol.own));
        Model { config, machine, namings: namings(config.devices), core, own }
    }

    /// The first state: no device has a copy, the LLC has the line.
    pub fn first(&self) -> State {
        let device = [Device::new(0); crate::state::DEVICES];
        let judge = Values::start(self.config.values);
        State { devices: self.config.devices, device, llc: Llc::new(0), judge, net: Vec::new() }
    }

    /// A state from its compact form.
    pub fn unpack(&self, numbers: &[u32]) -> State {
        State::unpack(numbers, self.config.devices)
    }

    /// The compact form that stands for a state, and the names that its devices have there.
    ///
    /// # Errors
    /// As [`State::pack`].
    pub fn form(&self, state: &State) -> Result<(Box<[u32]>, &[u8]), String> {
        match self.config.symmetry {
            true => state.smallest(&self.namings),
            false => Ok((state.pack()?, &self.namings[self.namings.len() - 1])),
        }
    }

    /// Carries out an action.
    ///
    /// # Errors
    /// What must not happen.
    pub fn step(&mut self, state: &mut State, action: Action) -> Result<(), String> {
        match action {
            Action::Deliver(packet) => {
                let at = state.net.iter().position(|other| *other == packet);
                state.net.swap_remove(at.ok_or("the message is not there")?);
                self.machine.deliver(state, &packet)?;
            }
            Action::Core(core) => self.machine.core(state, core)?,
            Action::Own(event) => self.machine.own(state, event)?,
        }
        check(&self.machine, state)
    }

    fn cores(&self, state: &State, out: &mut Vec<u64>) {
        for device in 0..self.config.devices {
            for event in &self.core {
                let Some(step) = self.machine.core_step(state, device, *event) else { continue };
                let does = |wanted: fn(&Act<u8>) -> bool| step.then.iter().any(wanted);
                let stores = self.config.values && does(|act| *act == Act::Do(Verb::Issue));
                let direct = does(|act| matches!(act, Act::Send(To::Target, _)));
                for target in self.targets(state, device, direct) {
                    for value in [false, true].into_iter().take(1 + usize::from(stores)) {
                        out.push(Action::Core(Core { device, event: *event, target, value }).pack());
                    }
                }
            }
        }
    }

    fn targets(&self, state: &State, device: usize, direct: bool) -> Vec<u8> {
        let owner = state.llc.owner;
        match (direct, self.config.opred) {
            (false, _) => vec![NONE],
            (true, Opred::Owner) => {
                (owner != NONE && usize::from(owner) != device).then_some(owner).into_iter().collect()
            }
            (true, _) => {
                (0..self.config.devices).filter(|other| *other != device).map(|other| other as u8).collect()
            }
        }
    }
}

impl Space for Model {
    fn start(&mut self) -> Result<Box<[u32]>, String> {
        let first = self.first();
        check(&self.machine, &first)?;
        Ok(self.form(&first)?.0)
    }

    fn actions(&mut self, numbers: &[u32], out: &mut Vec<u64>) {
        out.clear();
        let state = self.unpack(numbers);
        let mut before = Packet::default();
        for packet in &state.net {
            // Equal messages, which are side by side, are one.
            let stays = packet.dst == crate::state::LLC && self.machine.stalls(&state, packet);
            if *packet != before && !stays {
                out.push(Action::Deliver(*packet).pack());
            }
            before = *packet;
        }
        self.cores(&state, out);
        let own = self.own.iter().filter(|event| self.machine.own_step(&state, **event).is_some());
        out.extend(own.map(|event| Action::Own(*event).pack()));
    }

    fn next(&mut self, numbers: &[u32], action: u64) -> Result<Box<[u32]>, String> {
        let mut state = self.unpack(numbers);
        self.step(&mut state, Action::unpack(action))?;
        Ok(self.form(&state)?.0)
    }

    fn finished(&self, numbers: &[u32]) -> bool {
        at_rest(&self.machine, &self.unpack(numbers))
    }
}

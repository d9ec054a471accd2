//! A simulation's top-level ports: driven and read while it runs.

use crate::design::{OutSource, Sink, Source};
use crate::sim::Sim;
use weft_rtl::bv::{Bv, limbs_for, top_mask};
use weft_rtl::netlist::NetPort;

/// A top-level input of one simulation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct InPort {
    pub(crate) number: u32,
    width: u32,
    /// Its input slot, when there is exactly one.
    only: Option<Slot>,
}

/// An input slot: a [`Sink`] in little room.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Slot {
    unit: u32,
    at: u32,
    heard: u32,
    mark: u64,
}

impl Slot {
    #[inline]
    fn sink(self) -> Sink {
        let Slot { unit, at, heard, mark } = self;
        Sink { unit: unit as usize, at: at as usize, heard: heard as usize, mark }
    }
}

/// Top-level inputs that are driven together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InGroup {
    /// That of the first input, with the marks of all.
    slot: Slot,
    limbs: u32,
}

/// A top-level output of one simulation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OutPort {
    pub(crate) number: u32,
    width: u32,
    /// First limb in the state of the whole design; [`NONE`] when it is no register.
    at: u32,
}

/// No limb.
const NONE: u32 = u32::MAX;

impl OutPort {
    /// Whether it is a register, whose limbs can be read in place ([`Sim::limbs`]); otherwise it is constant or computed on demand.
    #[inline]
    pub fn is_register(self) -> bool {
        self.at != NONE
    }
}

/// The numbers of a list of ports in order of their names.
pub(crate) struct ByName(Vec<u32>);

impl ByName {
    pub fn new(ports: &[NetPort]) -> ByName {
        let mut order: Vec<u32> = (0..ports.len() as u32).collect();
        order.sort_unstable_by_key(|port| &ports[*port as usize].name);
        ByName(order)
    }

    /// Number of the port of this name in the list from which this was made.
    fn number(&self, ports: &[NetPort], name: &str) -> Option<usize> {
        let found = self.0.binary_search_by_key(&name, |port| &ports[*port as usize].name).ok()?;
        Some(self.0[found] as usize)
    }
}

/// Top-level ports by name.
pub(crate) struct PortNames {
    pub inputs: ByName,
    pub outputs: ByName,
}

impl Sim {
    /// The top-level input of this name.
    pub fn input(&self, name: &str) -> Option<InPort> {
        let number = self.design.by_name.inputs.number(&self.design.inputs, name)?;
        let only = match self.design.input_sinks[number][..] {
            [Sink { unit, at, heard, mark }] => {
                Some(Slot { unit: unit as u32, at: at as u32, heard: heard as u32, mark })
            }
            _ => None,
        };
        Some(InPort { number: number as u32, width: self.design.inputs[number].width, only })
    }

    /// The top-level output of this name.
    pub fn output(&self, name: &str) -> Option<OutPort> {
        let number = self.design.by_name.outputs.number(&self.design.outputs, name)?;
        let at = match &self.design.output_sources[number] {
            Source::Unit { unit, output } => {
                match &self.design.types[self.design.units[*unit].ty].outputs[*output] {
                    OutSource::Reg(at) => (self.design.bases[*unit] + at) as u32,
                    _ => NONE,
                }
            }
            _ => NONE,
        };
        Some(OutPort { number: number as u32, width: self.design.outputs[number].width, at })
    }

    /// Drives an input from now on. The value is cut to the port's width.
    #[inline]
    pub fn set(&mut self, port: InPort, value: u64) {
        if port.width <= 64 {
            self.set_limbs(port, &[value & top_mask(port.width)]);
        } else {
            self.set_limbs(port, Bv::from_u64(value, port.width).limbs());
        }
    }

    /// Drives an input from now on.
    pub fn set_bv(&mut self, port: InPort, value: &Bv) {
        self.set_limbs(port, value.limbs());
    }

    /// Inputs that lie next to each other in one unit, in this order, such as the message of a channel; `None` when they do not.
    pub fn group(&self, ports: &[InPort]) -> Option<InGroup> {
        let mut slot = ports.first()?.only?;
        let mut limbs = 0;
        for port in ports {
            let next = port.only?;
            if (next.unit, next.at) != (slot.unit, slot.at + limbs) {
                return None;
            }
            slot.mark |= next.mark;
            limbs += limbs_for(port.width) as u32;
        }
        Some(InGroup { slot, limbs })
    }

    /// Drives the inputs of a group from now on, from their limbs one after the other, with zeros above each port's width.
    #[inline]
    pub fn set_group(&mut self, group: InGroup, limbs: &[u64]) {
        self.core.drive(&self.design, group.slot.sink(), &limbs[..group.limbs as usize]);
    }

    /// Drives an input from now on, from limbs with zeros above the port's width.
    #[inline]
    pub fn set_limbs(&mut self, port: InPort, limbs: &[u64]) {
        if let Some(slot) = port.only {
            return self.core.drive(&self.design, slot.sink(), limbs);
        }
        for sink in &self.design.input_sinks[port.number as usize] {
            self.core.drive(&self.design, *sink, limbs);
        }
    }

    /// The value of an output in the present cycle.
    pub fn get_bv(&mut self, port: OutPort) -> Bv {
        if port.is_register() {
            return Bv::from_limbs(&self.core.limbs[port.at as usize..][..limbs_for(port.width)], port.width);
        }
        match &self.design.output_sources[port.number as usize] {
            Source::Const(v) => v.clone(),
            Source::Top(_) => Bv::zero(port.width),
            Source::Unit { unit, output } => {
                let ty = &self.design.types[self.design.units[*unit].ty];
                match &ty.outputs[*output] {
                    OutSource::Const(v) => v.clone(),
                    OutSource::Comb(node) => {
                        let state = &self.core.limbs[self.design.bases[*unit]..self.design.bases[*unit + 1]];
                        ty.interp.evaluate(state, &mut self.rooms[0].scratch);
                        Bv::from_limbs(ty.interp.value(&self.rooms[0].scratch, *node), port.width)
                    }
                    OutSource::Reg(_) => unreachable!("the port knows its register"),
                }
            }
        }
    }

    /// The limbs of an output that is a register or a constant.
    ///
    /// # Panics
    /// When the output is combinational; [`Sim::get_bv`] reads those too.
    #[inline]
    pub fn limbs(&self, port: OutPort) -> &[u64] {
        if port.is_register() {
            return &self.core.limbs[port.at as usize..][..limbs_for(port.width)];
        }
        self.constant(port)
    }

    #[cold]
    fn constant(&self, port: OutPort) -> &[u64] {
        match &self.design.output_sources[port.number as usize] {
            Source::Const(v) => return v.limbs(),
            Source::Unit { unit, output } => {
                if let OutSource::Const(v) = &self.design.types[self.design.units[*unit].ty].outputs[*output]
                {
                    return v.limbs();
                }
            }
            Source::Top(_) => {}
        }
        panic!("output {} is combinational", self.design.outputs[port.number as usize].name)
    }

    /// The low 64 bits of an output in the present cycle.
    #[inline]
    pub fn get(&mut self, port: OutPort) -> u64 {
        if port.is_register() {
            return self.core.limbs[port.at as usize];
        }
        self.get_bv(port).low_u64()
    }
}

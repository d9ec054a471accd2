//! A simulation's top-level ports: driven and read while it runs.

use crate::design::{OutSource, Source};
use crate::links::Sink;
use crate::part::Part;
use crate::sim::Sim;
use weft_rtl::bv::{Bv, limbs_for, top_mask};

/// A top-level input of one simulation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct InPort {
    pub(crate) number: u32,
    width: u32,
    /// Its input slot, when there is exactly one.
    only: Option<Slot>,
}

/// An input slot of a part: a [`Sink`] in little room.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Slot {
    part: u32,
    unit: u32,
    at: u32,
    heard: u32,
    mark: u64,
}

impl Slot {
    #[inline]
    fn sink(self) -> Sink {
        let Slot { unit, at, heard, mark, .. } = self;
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
    part: u32,
    /// Unit in that part; [`NONE`] when no unit drives it.
    unit: u32,
    /// First limb in the state of the part; [`NONE`] when it is no register.
    at: u32,
}

/// No limb, no unit.
const NONE: u32 = u32::MAX;

impl OutPort {
    /// Whether it is a register, whose limbs can be read in place ([`Sim::limbs`]); otherwise it is constant or computed on demand.
    #[inline]
    pub fn is_register(self) -> bool {
        self.at != NONE
    }

    /// Number of the part that has it among [`Sim::parts`].
    #[inline]
    pub fn part(self) -> usize {
        self.part as usize
    }
}

/// What a behavioural model drives and reads: a whole simulation, or the part that has its ports.
pub trait Pins {
    /// Cycles clocked since reset.
    fn cycle(&self) -> u64;
    /// See [`Sim::set`].
    fn set(&mut self, port: InPort, value: u64);
    /// See [`Sim::set_limbs`].
    fn set_limbs(&mut self, port: InPort, limbs: &[u64]);
    /// See [`Sim::get`].
    fn get(&mut self, port: OutPort) -> u64;
    /// See [`Sim::limbs`].
    fn limbs(&self, port: OutPort) -> &[u64];
    /// See [`Sim::may_change`].
    fn may_change(&self, port: OutPort) -> bool;
}

/// Ports that a model drives and reads.
#[derive(Clone, Debug, Default)]
pub struct PinList {
    /// Those that it drives.
    pub inputs: Vec<InPort>,
    /// Those that it reads.
    pub outputs: Vec<OutPort>,
}

impl PinList {
    /// Both.
    pub fn and(mut self, other: PinList) -> PinList {
        self.inputs.extend(other.inputs);
        self.outputs.extend(other.outputs);
        self
    }
}

macro_rules! pins {
    ($of:ident) => {
        impl Pins for $of {
            #[inline]
            fn cycle(&self) -> u64 {
                $of::cycle(self)
            }
            #[inline]
            fn set(&mut self, port: InPort, value: u64) {
                $of::set(self, port, value);
            }
            #[inline]
            fn set_limbs(&mut self, port: InPort, limbs: &[u64]) {
                $of::set_limbs(self, port, limbs);
            }
            #[inline]
            fn get(&mut self, port: OutPort) -> u64 {
                $of::get(self, port)
            }
            #[inline]
            fn limbs(&self, port: OutPort) -> &[u64] {
                $of::limbs(self, port)
            }
            #[inline]
            fn may_change(&self, port: OutPort) -> bool {
                $of::may_change(self, port)
            }
        }
    };
}

pins!(Sim);
pins!(Part);

impl Sim {
    /// Whether an output may differ from what it was in the cycle before: its unit is awake. The outputs of a unit at rest stand still.
    #[inline]
    pub fn may_change(&self, port: OutPort) -> bool {
        self.parts[port.part()].may_change(port)
    }

    /// The top-level input of this name.
    pub fn input(&self, name: &str) -> Option<InPort> {
        let number = self.design.by_name.inputs.number(&self.design.inputs, name)?;
        let only = match self.design.input_sinks[number][..] {
            [sink] => {
                let (part, Sink { unit, at, heard, mark }) = self.cut.sink(&self.design.whole, sink);
                Some(Slot { part, unit: unit as u32, at: at as u32, heard: heard as u32, mark })
            }
            _ => None,
        };
        Some(InPort { number: number as u32, width: self.design.inputs[number].width, only })
    }

    /// The top-level output of this name.
    pub fn output(&self, name: &str) -> Option<OutPort> {
        let number = self.design.by_name.outputs.number(&self.design.outputs, name)?;
        let (mut part, mut own, mut at) = (0, NONE, NONE);
        if let Source::Unit { unit, output } = &self.design.output_sources[number] {
            let place = self.cut.places[*unit];
            (part, own) = (place.part, place.unit);
            if let OutSource::Reg(reg) = &self.design.types[self.design.units[*unit].ty].outputs[*output] {
                at = (self.cut.bases[*unit] + reg) as u32;
            }
        }
        Some(OutPort { number: number as u32, width: self.design.outputs[number].width, part, unit: own, at })
    }

    /// The one part that has all these ports, if there is one, and they can be read before the part has heard
    /// the others ([`Part::hear`]): none is combinational.
    pub fn part_with(&self, pins: &PinList) -> Option<usize> {
        let combinational = |port: &OutPort| match &self.design.output_sources[port.number as usize] {
            Source::Unit { unit, output } => {
                let ty = &self.design.types[self.design.units[*unit].ty];
                matches!(ty.outputs[*output], OutSource::Comb(_))
            }
            Source::Const(_) | Source::Top(_) => false,
        };
        if pins.outputs.iter().any(combinational) {
            return None;
        }
        let outputs = pins.outputs.iter().map(|port| port.part());
        let sinks = pins.inputs.iter().flat_map(|port| &self.design.input_sinks[port.number as usize]);
        let mut parts = outputs.chain(sinks.map(|sink| self.part_of(sink.unit)));
        let first = parts.next()?;
        parts.all(|part| part == first).then_some(first)
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
            if (next.part, next.unit, next.at) != (slot.part, slot.unit, slot.at + limbs) {
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
        self.parts[group.slot.part as usize].drive(group.slot.sink(), &limbs[..group.limbs as usize]);
    }

    /// Drives an input from now on, from limbs with zeros above the port's width.
    #[inline]
    pub fn set_limbs(&mut self, port: InPort, limbs: &[u64]) {
        if let Some(slot) = port.only {
            return self.parts[slot.part as usize].drive(slot.sink(), limbs);
        }
        for sink in &self.design.input_sinks[port.number as usize] {
            let (part, sink) = self.cut.sink(&self.design.whole, *sink);
            self.parts[part as usize].drive(sink, limbs);
        }
    }

    /// The value of an output in the present cycle.
    pub fn get_bv(&mut self, port: OutPort) -> Bv {
        self.parts[port.part()].read_bv(port)
    }

    /// The limbs of an output that is a register or a constant.
    ///
    /// # Panics
    /// When the output is combinational; [`Sim::get_bv`] reads those too.
    #[inline]
    pub fn limbs(&self, port: OutPort) -> &[u64] {
        self.parts[port.part()].show_limbs(port)
    }

    /// The low 64 bits of an output in the present cycle.
    #[inline]
    pub fn get(&mut self, port: OutPort) -> u64 {
        self.parts[port.part()].read(port)
    }
}

impl Part {
    /// As [`Sim::set`].
    ///
    /// # Panics
    /// When the port is not the part's own.
    #[inline]
    pub fn set(&mut self, port: InPort, value: u64) {
        if port.width <= 64 {
            self.set_limbs(port, &[value & top_mask(port.width)]);
        } else {
            self.set_limbs(port, Bv::from_u64(value, port.width).limbs());
        }
    }

    /// As [`Sim::set_limbs`].
    ///
    /// # Panics
    /// When units of other parts hear the port.
    #[inline]
    pub fn set_limbs(&mut self, port: InPort, limbs: &[u64]) {
        if let Some(slot) = port.only {
            assert_eq!(slot.part as usize, self.number, "an input of another part");
            return self.drive(slot.sink(), limbs);
        }
        let design = self.design.clone();
        for sink in &design.input_sinks[port.number as usize] {
            let (part, sink) = self.cut.sink(&design.whole, *sink);
            assert_eq!(part as usize, self.number, "an input that other parts hear too");
            self.drive(sink, limbs);
        }
    }

    /// As [`Sim::may_change`].
    #[inline]
    pub fn may_change(&self, port: OutPort) -> bool {
        match port.unit {
            NONE => matches!(self.design.output_sources[port.number as usize], Source::Top(_)),
            unit => self.core.is_active(unit as usize),
        }
    }

    /// As [`Sim::get_bv`], of a port of this part.
    fn read_bv(&mut self, port: OutPort) -> Bv {
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
                        let call = &self.cut.parts[self.number].calls[port.unit as usize];
                        ty.interp.evaluate(&self.core.limbs[call.base..call.end], &mut self.scratch);
                        Bv::from_limbs(ty.interp.value(&self.scratch, *node), port.width)
                    }
                    OutSource::Reg(_) => unreachable!("the port knows its register"),
                }
            }
        }
    }

    /// As [`Sim::limbs`].
    ///
    /// # Panics
    /// When the output is combinational, or one of another part.
    #[inline]
    pub fn limbs(&self, port: OutPort) -> &[u64] {
        assert_eq!(port.part(), self.number, "an output of another part");
        self.show_limbs(port)
    }

    #[inline]
    fn show_limbs(&self, port: OutPort) -> &[u64] {
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

    /// As [`Sim::get`].
    ///
    /// # Panics
    /// When the output is one of another part.
    #[inline]
    pub fn get(&mut self, port: OutPort) -> u64 {
        assert_eq!(port.part(), self.number, "an output of another part");
        self.read(port)
    }

    #[inline]
    fn read(&mut self, port: OutPort) -> u64 {
        if port.is_register() {
            return self.core.limbs[port.at as usize];
        }
        self.read_bv(port).low_u64()
    }
}

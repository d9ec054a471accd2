//! A run of the engine: inputs and outputs of every cycle.

use super::ports::{Channel, Ports};
use super::stimulus::{Stimulus, Traffic};
use std::collections::BTreeSet;
use std::sync::Arc;
use weft_engine::{Design, Driver, EngineError, Options, Probes, Sim};
use weft_fabric::run::FabricError;
use weft_rtl::bv::{Bv, limbs_for};
use weft_rtl::ir::Module;
use weft_rtl::netlist::{NetOp, NetPort, Netlist};

/// Inputs and outputs of a run after reset, cycle by cycle, in the order of the ports.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The ports.
    pub ports: Ports,
    /// Inputs of each cycle.
    pub inputs: Vec<Vec<Bv>>,
    /// Outputs of each cycle, before its clock edge.
    pub outputs: Vec<Vec<Bv>>,
    /// Transfers on channels.
    pub transfers: u64,
    /// Cycle of the last transfer.
    pub last_transfer: Option<u64>,
    /// For each output whether it is a constant of the hardware: what it shows says nothing about a simulator.
    pub fixed: Vec<bool>,
}

impl Recording {
    /// Records a random run on the engine.
    ///
    /// # Errors
    /// What [`Design::new`] refuses.
    pub fn random(
        module: &Arc<Module>,
        cycles: u64,
        seed: u64,
        traffic: Traffic,
        options: Options,
    ) -> Result<Recording, EngineError> {
        let ports = Ports::of(module);
        let mut stimulus = Stimulus::new(&ports, seed);
        let raw_from = match traffic {
            Traffic::Channels => cycles,
            Traffic::Raw => 0,
            Traffic::Both => cycles - cycles / 4,
        };
        Recording::record(module, ports, cycles, options, &mut |cycle, before| {
            if cycle < raw_from {
                stimulus.next(before)
            } else {
                stimulus.raw()
            }
            stimulus.inputs.clone()
        })
    }

    /// Records a run with given inputs (one list of values per cycle, in the order of the ports).
    ///
    /// # Errors
    /// What [`Design::new`] refuses.
    pub fn given(
        module: &Arc<Module>,
        inputs: &[Vec<Bv>],
        options: Options,
    ) -> Result<Recording, EngineError> {
        let ports = Ports::of(module);
        Recording::record(module, ports, inputs.len() as u64, options, &mut |cycle, _| {
            inputs[cycle as usize].clone()
        })
    }

    fn empty(ports: Ports) -> Recording {
        let fixed = vec![false; ports.outputs.len()];
        Recording { ports, inputs: Vec::new(), outputs: Vec::new(), transfers: 0, last_transfer: None, fixed }
    }

    fn record(
        module: &Arc<Module>,
        ports: Ports,
        cycles: u64,
        options: Options,
        next: &mut dyn FnMut(u64, Option<&[Bv]>) -> Vec<Bv>,
    ) -> Result<Recording, EngineError> {
        let design = Design::new(module, Options { probes: Probes::None, ..options })?;
        let mut sim = Sim::new(&design);
        let input = |p: &super::Port| sim.input(&p.name).expect("a port of the module");
        let ins: Vec<_> = ports.inputs.iter().map(input).collect();
        let output = |p: &super::Port| sim.output(&p.name).expect("a port of the module");
        let outs: Vec<_> = ports.outputs.iter().map(output).collect();
        let mut run = Recording::empty(ports);
        run.fixed = (0..outs.len()).map(|output| is_constant(&design, output)).collect();
        for cycle in 0..cycles {
            let values = next(cycle, run.outputs.last().map(Vec::as_slice));
            for (port, value) in ins.iter().zip(&values) {
                sim.set_bv(*port, value);
            }
            let seen: Vec<Bv> = outs.iter().map(|port| sim.get_bv(*port)).collect();
            run.count_transfers(&values, &seen);
            run.inputs.push(values);
            run.outputs.push(seen);
            sim.step();
        }
        Ok(run)
    }

    fn count_transfers(&mut self, inputs: &[Bv], outputs: &[Bv]) {
        let cycle = self.inputs.len() as u64;
        for channel in &self.ports.channels {
            let both = match channel {
                Channel::Into { valid, ready, .. } => !inputs[*valid].is_zero() && !outputs[*ready].is_zero(),
                Channel::OutOf { valid, ready, .. } => {
                    !outputs[*valid].is_zero() && !inputs[*ready].is_zero()
                }
            };
            self.transfers += u64::from(both);
            self.last_transfer = if both { Some(cycle) } else { self.last_transfer };
        }
    }

    /// Number of cycles.
    pub fn cycles(&self) -> u64 {
        self.inputs.len() as u64
    }

    /// Number of outputs that took more than one value.
    pub fn moved(&self) -> usize {
        self.can_move() - self.still().len()
    }

    /// Number of outputs that are no constants of the hardware.
    pub fn can_move(&self) -> usize {
        self.fixed.iter().filter(|fixed| !**fixed).count()
    }

    /// Names of the outputs that had one value in all cycles and are no constants of the hardware.
    pub fn still(&self) -> Vec<&str> {
        let moves = |p: usize| self.outputs.windows(2).any(|pair| pair[0][p] != pair[1][p]);
        let outputs = self.ports.outputs.iter().enumerate();
        outputs.filter(|(p, _)| !self.fixed[*p] && !moves(*p)).map(|(_, port)| port.name.as_str()).collect()
    }
}

/// Whether a top-level output is a constant of the hardware.
fn is_constant(design: &Design, output: usize) -> bool {
    match design.output_driver(output) {
        Driver::Const => true,
        Driver::Top(_) => false,
        Driver::Unit { unit, output } => {
            let net = &design.types[design.units[unit].ty].netlist;
            is_fixed(net, &net.outputs[output])
        }
    }
}

/// Whether a unit's output is a constant.
fn is_fixed(net: &Netlist, output: &NetPort) -> bool {
    matches!(net.nodes[output.node.index()].op, NetOp::Const(_))
}

/// Records what passes a unit's ports while something else drives the simulation: a test bench, or the fabric around the unit.
#[derive(Clone, Debug)]
pub struct Recorder {
    unit: usize,
    run: Recording,
}

/// Why a unit cannot be recorded.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum RecordError {
    #[error("the simulation has no unit {path}; it has {known}")]
    NoUnit { path: String, known: String },
    #[error(transparent)]
    Fabric(#[from] FabricError),
    #[error("recording must begin right after reset, but the simulation is in cycle {cycle}")]
    Late { cycle: u64 },
}

/// The first name of each kind, in order: those after it differ in their numbers only.
fn kinds<'a>(paths: impl Iterator<Item = &'a str>) -> String {
    let mut seen = BTreeSet::new();
    let kind = |path: &str| path.replace(|c: char| c.is_ascii_digit(), "");
    paths.filter(|path| seen.insert(kind(path))).collect::<Vec<_>>().join(", ")
}

impl Recorder {
    /// A recorder for the unit with this hierarchical name (empty when the top itself is the unit).
    ///
    /// # Errors
    /// No such unit, or a simulation that has been clocked already: a replay begins after reset.
    pub fn new(sim: &Sim, path: &str) -> Result<Recorder, RecordError> {
        let units = &sim.design().units;
        let unit = units.iter().position(|u| u.path == path).ok_or_else(|| RecordError::NoUnit {
            path: path.to_string(),
            known: kinds(units.iter().map(|u| u.path.as_str())),
        })?;
        if sim.cycle() != 0 {
            return Err(RecordError::Late { cycle: sim.cycle() });
        }
        let ty = &sim.design().types[units[unit].ty];
        let mut run = Recording::empty(Ports::of(&ty.module));
        run.fixed = ty.netlist.outputs.iter().map(|output| is_fixed(&ty.netlist, output)).collect();
        Ok(Recorder { unit, run })
    }

    /// The recorded unit's module.
    pub fn module(&self, sim: &Sim) -> Arc<Module> {
        sim.design().types[sim.design().units[self.unit].ty].module.clone()
    }

    /// Takes the present cycle down: to be called in every cycle, after all inputs are driven and before the clock edge.
    pub fn sample(&mut self, sim: &Sim) {
        let ty = &sim.design().types[sim.design().units[self.unit].ty];
        let (net, layout, state) = (&ty.netlist, &ty.layout, sim.state(self.unit));
        let at = |limb: usize, width: u32| Bv::from_limbs(&state[limb..limb + limbs_for(width)], width);
        let inputs: Vec<Bv> =
            net.inputs.iter().zip(&layout.inputs).map(|(port, limb)| at(*limb, port.width)).collect();
        let output = |port: &NetPort| match &net.nodes[port.node.index()].op {
            NetOp::Reg(reg) => at(layout.regs[*reg as usize], port.width),
            NetOp::Const(value) => value.clone(),
            _ => unreachable!("all outputs of a block are registers or constants"),
        };
        let outputs: Vec<Bv> = net.outputs.iter().map(output).collect();
        self.run.count_transfers(&inputs, &outputs);
        self.run.inputs.push(inputs);
        self.run.outputs.push(outputs);
    }

    /// The run recorded so far.
    pub fn finish(self) -> Recording {
        self.run
    }
}

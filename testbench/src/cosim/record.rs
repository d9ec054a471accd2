//! A run of the engine: inputs and outputs of every cycle.

use super::ports::{Channel, Ports};
use super::stimulus::{Stimulus, Traffic};
use std::sync::Arc;
use weft_engine::{Design, EngineError, Options, Probes, Sim};
use weft_rtl::bv::Bv;
use weft_rtl::ir::Module;

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
        let mut run = Recording { ports, inputs: Vec::new(), outputs: Vec::new(), transfers: 0 };
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
        for channel in &self.ports.channels {
            let both = match channel {
                Channel::Into { valid, ready, .. } => !inputs[*valid].is_zero() && !outputs[*ready].is_zero(),
                Channel::OutOf { valid, ready } => !outputs[*valid].is_zero() && !inputs[*ready].is_zero(),
            };
            self.transfers += u64::from(both);
        }
    }

    /// Number of cycles.
    pub fn cycles(&self) -> u64 {
        self.inputs.len() as u64
    }

    /// Number of outputs that took more than one value.
    pub fn moved(&self) -> usize {
        (0..self.ports.outputs.len())
            .filter(|p| self.outputs.windows(2).any(|pair| pair[0][*p] != pair[1][*p]))
            .count()
    }
}

//! The same stimulus for a rust-hdl design in its own simulator and for its exported Verilog in Icarus.

pub mod chain;
pub mod guard;
pub mod icarus;
pub mod verilator;

use rust_hdl_core::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use weft_rtl::ir::Module;

/// A block of the registry.
pub fn block(name: &str, params: &[(&str, &str)]) -> Arc<Module> {
    let given: BTreeMap<String, String> =
        params.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    weft_catalog::build(name, &given).expect("legal parameters")
}

/// What a test bench needs of a design: its ports as numbers of at most 64 bits.
pub trait Bench: Block + Send + 'static {
    /// Inputs besides `clock`, with widths.
    const INPUTS: &'static [(&'static str, u32)];
    /// Outputs, with widths.
    const OUTPUTS: &'static [(&'static str, u32)];
    /// Turns the clock.
    fn tick(&mut self);
    /// Drives the inputs.
    fn drive(&mut self, inputs: &[u64]);
    /// Reads the outputs.
    fn read(&self) -> Vec<u64>;
}

/// A design's Verilog.
pub fn exported<T: Bench>(mut design: T) -> String {
    design.connect_all();
    generate_verilog(&design)
}

/// Half a clock cycle in rust-hdl's time.
const HALF: u64 = 5;

/// Runs a design in rust-hdl's simulator. Inputs change at the falling edge, outputs are read before the rising one; the result has those of every cycle.
pub fn simulate_all<T: Bench>(design: T, stimulus: &[Vec<u64>]) -> Vec<Vec<u64>> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let mut simulation = Simulation::new();
    simulation.add_clock(HALF, |design: &mut Box<T>| design.tick());
    let (inputs, outputs) = (stimulus.to_vec(), seen.clone());
    simulation.add_testbench(move |mut sim: Sim<T>| {
        let mut design = sim.init()?;
        for values in &inputs {
            design.drive(values);
            design = sim.wait(HALF - 1, design)?;
            outputs.lock().expect("no test bench panicked").push(design.read());
            design = sim.wait(HALF + 1, design)?;
        }
        sim.done(design)
    });
    simulation.run(Box::new(design), u64::MAX - 1).expect("a run to the end of the test bench");
    let outputs = seen.lock().expect("no test bench panicked");
    outputs.clone()
}

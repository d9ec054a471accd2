//! The byte channels of a hosted block on the engine.

use std::io;
use std::sync::Arc;
use weft_engine::{Design, EngineError, InPort, Options, OutPort, Sim};
use weft_host::Wire;
use weft_rtl::ir::Module;

/// A line to the byte channels of a module made by [`weft_host::hosted`]. An exchange goes on until all bytes are taken and nothing has moved for a number of cycles.
pub struct EngineWire {
    sim: Sim,
    rx: [InPort; 2],
    rx_ready: OutPort,
    tx: [OutPort; 2],
    quiet: u64,
}

impl EngineWire {
    /// A line on which an exchange ends after `quiet` cycles without a byte.
    ///
    /// # Errors
    /// What the engine refuses.
    ///
    /// # Panics
    /// When the module has no byte channels.
    pub fn new(hosted: &Arc<Module>, quiet: u64) -> Result<EngineWire, EngineError> {
        let mut sim = Sim::new(&Design::new(hosted, Options::default())?);
        let input = |name: &str| sim.input(name).expect("a byte channel");
        let output = |name: &str| sim.output(name).expect("a byte channel");
        let (rx, ready) = (["rx_valid", "rx_data"].map(input), input("tx_ready"));
        let (rx_ready, tx) = (output("rx_ready"), ["tx_valid", "tx_data"].map(output));
        sim.set(ready, 1);
        Ok(EngineWire { sim, rx, rx_ready, tx, quiet })
    }

    /// The simulation.
    pub fn sim(&self) -> &Sim {
        &self.sim
    }
}

impl Wire for EngineWire {
    fn exchange(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let (mut sent, mut come, mut still) = (0, Vec::new(), 0);
        while sent < bytes.len() || still < self.quiet {
            self.sim.set(self.rx[0], u64::from(sent < bytes.len()));
            self.sim.set(self.rx[1], bytes.get(sent).copied().unwrap_or(0).into());
            let taken = sent < bytes.len() && self.sim.get(self.rx_ready) == 1;
            let comes = self.sim.get(self.tx[0]) == 1;
            if comes {
                come.push(self.sim.get(self.tx[1]) as u8);
            }
            sent += usize::from(taken);
            still = if taken || comes { 0 } else { still + 1 };
            self.sim.step();
        }
        match self.sim.failures().first() {
            Some(f) => {
                Err(io::Error::other(format!("assertion {} in cycle {}: {}", f.name, f.cycle, f.text)))
            }
            None => Ok(come),
        }
    }
}

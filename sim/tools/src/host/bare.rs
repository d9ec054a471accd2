//! The block alone on the engine, and the two ways to ask: by its ports, and by its host port.

use std::sync::Arc;
use weft_engine::{Design, EngineError, InPort, Options, OutPort, Sim};
use weft_host::{Interface, Kind, Link, LinkError, Received, Wire};
use weft_rtl::bv::Bv;
use weft_rtl::data::join_name;
use weft_rtl::ir::Module;

/// A channel's ports: valid and leaves one way, ready the other.
struct Into {
    valid: InPort,
    ready: OutPort,
    leaves: Vec<InPort>,
}

struct OutOf {
    number: usize,
    valid: OutPort,
    leaves: Vec<OutPort>,
}

/// A block on the engine whose every answer is taken at once.
pub struct Bare {
    sim: Sim,
    interface: Interface,
    into: Vec<Into>,
    out_of: Vec<OutOf>,
    quiet: u64,
}

impl Bare {
    /// The block, which is at rest when no message has come for `quiet` cycles.
    ///
    /// # Errors
    /// What the engine refuses.
    ///
    /// # Panics
    /// When the interface is not the module's.
    pub fn new(module: &Arc<Module>, interface: &Interface, quiet: u64) -> Result<Bare, EngineError> {
        let mut sim = Sim::new(&Design::new(module, Options::default())?);
        let input = |name: &str, leaf: &str| sim.input(&join_name(name, leaf)).expect("a port of the block");
        let output =
            |name: &str, leaf: &str| sim.output(&join_name(name, leaf)).expect("a port of the block");
        let (mut into, mut out_of, mut takes) = (Vec::new(), Vec::new(), Vec::new());
        for (number, entry) in interface.entries.iter().enumerate() {
            let name = &entry.name;
            let leaves = entry.leaves.iter().map(|leaf| leaf.name.as_str());
            match entry.kind {
                Kind::Into => into.push(Into {
                    valid: input(name, "valid"),
                    ready: output(name, "ready"),
                    leaves: leaves.map(|leaf| input(name, leaf)).collect(),
                }),
                Kind::OutOf => {
                    takes.push(input(name, "ready"));
                    let leaves = leaves.map(|leaf| output(name, leaf)).collect();
                    out_of.push(OutOf { number, valid: output(name, "valid"), leaves });
                }
                Kind::Set | Kind::Get => {}
            }
        }
        takes.into_iter().for_each(|ready| sim.set(ready, 1));
        Ok(Bare { sim, interface: interface.clone(), into, out_of, quiet })
    }

    /// Offers a message on the channel `number`, and all that comes until the block is at rest.
    pub fn ask(&mut self, number: usize, message: &Bv) -> Vec<Received> {
        let (mut come, mut offered, mut still) = (Vec::new(), true, 0);
        let mut low = 0;
        for (port, leaf) in self.into[number].leaves.iter().zip(&self.interface.entries[number].leaves) {
            self.sim.set_bv(*port, &message.slice(low, leaf.width));
            low += leaf.width;
        }
        while offered || still < self.quiet {
            self.sim.set(self.into[number].valid, offered.into());
            still += 1;
            if offered && self.sim.get(self.into[number].ready) == 1 {
                (offered, still) = (false, 0);
            }
            for channel in &self.out_of {
                if self.sim.get(channel.valid) == 1 {
                    let parts: Vec<Bv> = channel.leaves.iter().map(|p| self.sim.get_bv(*p)).collect();
                    come.push(Received { number: channel.number, message: Bv::concat(&parts) });
                    still = 0;
                }
            }
            self.sim.step();
        }
        come
    }
}

/// Sends a message through a link, and all that comes until the line is silent.
///
/// # Errors
/// Those of the link.
pub fn messages<W: Wire>(
    link: &mut Link<W>,
    channel: &str,
    values: &[(&str, u64)],
) -> Result<Vec<Received>, LinkError> {
    link.send(channel, values)?;
    link.settle(channel)?;
    let mut come = Vec::new();
    while let Some(message) = link.receive()? {
        come.push(message);
    }
    Ok(come)
}

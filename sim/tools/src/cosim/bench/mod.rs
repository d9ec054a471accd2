//! Speed of the engine and of Verilator on the same design under the same random traffic.
//!
//! Messages are drawn beforehand into tables, so that in a timed cycle both sides draw one random number per 15 channels and copy a message
//! when one is sent. Both keep the channel rule, give credits back as a link's far end does, and compute the same checksum of handshakes (every cycle) and outputs (every 16th
//! cycle, or every cycle for a design without channels): equal checksums mean that they have done the same work.

mod engine;
mod verilator;

pub use engine::EngineBench;
pub use verilator::VerilatorBench;

use super::ports::Ports;
use super::random::Xorshift;
use crate::cpu::median;
use crate::external::ToolError;
use serde::Serialize;
use std::path::PathBuf;
use weft_engine::{EngineError, Options};
use weft_rtl::bv::Bv;
use weft_rtl::ir::Module;

/// Messages in the table of a channel.
const TABLE: usize = 1024;
/// Cycles between two looks at all outputs of a design with channels, whose handshakes are seen in every cycle.
const LOOK: u64 = 16;
/// Channels served by one random number.
const PER_DRAW: usize = 15;

/// How a measurement is run.
#[derive(Clone, Debug)]
pub struct BenchOptions {
    /// Cycles timed.
    pub cycles: u64,
    /// Seed of the traffic.
    pub seed: u64,
    /// In how many of 16 cycles an idle sender offers a message.
    pub offer_of_16: u64,
    /// In how many of 16 cycles a receiver is ready.
    pub ready_of_16: u64,
    /// Bits that vary in a message leaf (input port name and mask of its low 64 bits), so that addresses meet again; other leaves vary
    /// in all bits.
    pub masks: Vec<(String, u64)>,
    /// Inputs outside any channel that keep a value from the end of reset on; other such inputs take random values.
    pub held: Vec<(String, u64)>,
    /// How the engine runs.
    pub engine: Options,
    /// Folder for Verilator's files.
    pub workdir: PathBuf,
}

impl BenchOptions {
    /// Busy senders, mostly ready receivers, all bits vary.
    pub fn new(cycles: u64, seed: u64, workdir: impl Into<PathBuf>) -> BenchOptions {
        BenchOptions {
            cycles,
            seed,
            offer_of_16: 12,
            ready_of_16: 14,
            masks: Vec::new(),
            held: Vec::new(),
            engine: Options::default(),
            workdir: workdir.into(),
        }
    }
}

/// A measured run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct BenchResult {
    /// "engine" or "verilator".
    pub name: &'static str,
    /// Cycles timed.
    pub cycles: u64,
    /// CPU time of each run, in order; at least one.
    pub seconds: Vec<f64>,
    /// Time to make the design ready: elaborated module to running code.
    pub build_seconds: f64,
    /// Messages taken from senders by the design and by receivers from it.
    pub transfers: u64,
    /// Digest of the outputs; the same for both simulators.
    pub checksum: u64,
    /// Most memory that the simulating process has had in use so far, bytes, where the system tells; for the engine that includes
    /// elaboration and compilation, for Verilator only the compiled simulation.
    pub peak_bytes: Option<u64>,
}

impl BenchResult {
    /// Cycles in a second of CPU time, in the median run.
    pub fn cycles_per_second(&self) -> f64 {
        self.cycles as f64 / median(&self.seconds).max(1e-9)
    }
}

/// Why there is no measurement.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum BenchError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Tool(#[from] ToolError),
    #[error("{module} has no input {port} to hold; its inputs are: {inputs}")]
    Held { module: String, port: String, inputs: String },
    #[error("the Verilator program of {module} printed no result: {said}")]
    NoResult { module: String, said: String },
}

/// Messages of every channel and values of every loose input, drawn before the clock runs: `[input][entry]`.
struct Tables {
    ports: Ports,
    values: Vec<Vec<Bv>>,
    /// Wires without handshake: a `valid` for one cycle and its message.
    wires: Vec<Wire>,
    /// Inputs that give a credit back in the cycle after a message has left: input, and `valid` of the message.
    credits: Vec<(usize, usize)>,
    /// Inputs outside all these that change, and those that keep a value.
    loose: Vec<usize>,
    held: Vec<(usize, u64)>,
    /// Cycles from one look at all outputs to the next, a power of two.
    look: u64,
}

impl Tables {
    fn draw(module: &Module, options: &BenchOptions) -> Result<Tables, BenchError> {
        let ports = Ports::of(module);
        let mut rng = Xorshift::new(options.seed ^ 0x7461_626c_6573);
        let values: Vec<Vec<Bv>> = ports
            .inputs
            .iter()
            .map(|port| {
                let mask = options.masks.iter().find(|(name, _)| *name == port.name).map(|(_, mask)| *mask);
                (0..TABLE)
                    .map(|_| {
                        let value = port.message(&mut rng);
                        mask.map_or(value.clone(), |m| Bv::from_u64(value.low_u64() & m, port.width))
                    })
                    .collect()
            })
            .collect();
        let held = options
            .held
            .iter()
            .map(|(name, value)| {
                let at = ports.loose.iter().copied().find(|i| ports.inputs[*i].name == *name);
                at.map(|i| (i, *value)).ok_or_else(|| BenchError::Held {
                    module: module.name.clone(),
                    port: name.clone(),
                    inputs: ports
                        .loose
                        .iter()
                        .map(|i| ports.inputs[*i].name.as_str())
                        .collect::<Vec<_>>()
                        .join(", "),
                })
            })
            .collect::<Result<Vec<_>, _>>()?;
        let mut loose: Vec<usize> =
            ports.loose.iter().copied().filter(|i| held.iter().all(|(h, _)| h != i)).collect();
        let credits = credits(&ports, &mut loose);
        let wires = wires(&ports, &mut loose);
        let look = if ports.channels.is_empty() && wires.is_empty() { 1 } else { LOOK };
        Ok(Tables { ports, values, wires, credits, loose, held, look })
    }
}

/// A wire into the module: no `ready` answers.
struct Wire {
    valid: usize,
    message: Vec<usize>,
}

/// Takes the wires out of the inputs left: `p_valid` and all that begin with `p_`.
fn wires(ports: &Ports, left: &mut Vec<usize>) -> Vec<Wire> {
    let valids: Vec<usize> =
        left.iter().copied().filter(|i| ports.inputs[*i].name.ends_with("_valid")).collect();
    let wire = |valid: usize| {
        let name = ports.inputs[valid].name.trim_end_matches("valid");
        let (mine, others) = left.iter().partition(|i| ports.inputs[**i].name.starts_with(name));
        *left = others;
        Wire { valid, message: Vec::into_iter(mine).filter(|i| *i != valid).collect() }
    };
    valids.into_iter().map(wire).collect()
}

/// Takes the credits out of the inputs left: `p_credit_n` belongs to the output `p_wire_n_valid`.
fn credits(ports: &Ports, left: &mut Vec<usize>) -> Vec<(usize, usize)> {
    let output = |input: usize| {
        let (before, network) = ports.inputs[input].name.rsplit_once("credit_")?;
        let wire = format!("{before}wire_{network}_valid");
        Some((input, ports.outputs.iter().position(|port| port.name == wire)?))
    };
    let found: Vec<(usize, usize)> = left.iter().filter_map(|input| output(*input)).collect();
    left.retain(|input| found.iter().all(|(credit, _)| credit != input));
    found
}

/// Most memory that this process has had in use so far, bytes; `None` where the system does not tell.
pub fn peak_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kb| kb * 1024)
}

#[inline]
fn mix(sum: u64, value: u64) -> u64 {
    (sum ^ value).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23)
}

//! Those that native code is compared with.

use super::pack::{inside, pack};
use super::stimulus::stimulus;
use crate::cosim::{CosimError, CosimOptions, Difference, Recording, With, cosim_recorded, export_testbench};
use crate::external::{Tool, ToolError, run};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use weft_engine::compare::{CompareError, compare};
use weft_engine::{BackendKind, EngineError, Options};
use weft_output::Scratch;
use weft_rtl::bv::Bv;
use weft_rtl::ir::Module;
use weft_rtl::verilog::emit;

/// What native code is compared with, the quickest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Peer {
    /// The engine's interpreter.
    Interpreter,
    /// Icarus Verilog on the exported Verilog, four-state.
    Icarus,
    /// Verilator on the exported Verilog, two-state.
    Verilator,
}

impl Peer {
    /// All.
    pub const ALL: [Peer; 3] = [Peer::Interpreter, Peer::Icarus, Peer::Verilator];

    /// Its name in records and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Peer::Interpreter => "interpreter",
            Peer::Icarus => With::Icarus.name(),
            Peer::Verilator => With::Verilator.name(),
        }
    }
}

/// What a peer shows of a pack.
pub(super) enum Seen {
    /// What native code does.
    Same,
    /// Something else: the position of the circuit, and what.
    Differs { circuit: usize, text: String },
    /// It could not be run.
    Refused(String),
}

/// Why a pack was not compared to its end.
#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error("native code refuses it: {0}")]
    Engine(#[from] EngineError),
    #[error("{0}")]
    Tool(#[from] ToolError),
    #[error("{0}")]
    Cosim(#[from] CosimError),
    #[error("no folder for files of a simulator: {0}")]
    Folder(#[from] std::io::Error),
    #[error("Icarus ended without a verdict; it said: {0}")]
    NoVerdict(String),
}

/// Circuits, what the peers get in their place, and what native code makes of them.
pub(super) struct Bench<'a> {
    seed: u64,
    first: u64,
    cycles: u64,
    circuits: &'a [Arc<Module>],
    /// The pack of the peers.
    other: Arc<Module>,
    native: Option<Recording>,
}

impl<'a> Bench<'a> {
    /// Circuits whose numbers begin with `first`.
    pub fn new(
        seed: u64,
        first: u64,
        cycles: u64,
        circuits: &'a [Arc<Module>],
        others: &[Arc<Module>],
    ) -> Bench<'a> {
        Bench { seed, first, cycles, circuits, other: pack(others), native: None }
    }

    /// Sets a peer beside native code. A program that breaks off is told as one that refuses.
    pub fn look(&mut self, peer: Peer) -> Seen {
        let looked = catch_unwind(AssertUnwindSafe(|| self.compare(peer)));
        let told = |payload: Box<dyn std::any::Any + Send>| {
            let text = payload.downcast_ref::<String>().cloned();
            text.or_else(|| payload.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default()
        };
        match looked {
            Ok(Ok(seen)) => seen,
            Ok(Err(broken)) => Seen::Refused(format!("{}: {broken}", peer.name())),
            Err(payload) => Seen::Refused(format!("{} broke off: {}", peer.name(), told(payload))),
        }
    }

    fn compare(&mut self, peer: Peer) -> Result<Seen, Broken> {
        if self.native.is_none() {
            self.native = Some(self.record(&pack(self.circuits), BackendKind::Native)?);
        }
        let Some(native) = &self.native else { unreachable!("recorded above") };
        let found = match peer {
            Peer::Interpreter => {
                if let Some(seen) = self.states()? {
                    return Ok(seen);
                }
                first_difference(native, &self.record(&self.other, BackendKind::Interp)?)
            }
            Peer::Icarus => icarus(&self.other, native, Scratch::new()?.path())?,
            Peer::Verilator => verilator(&self.other, native, Scratch::new()?.path())?,
        };
        Ok(found.map_or(Seen::Same, |at| told(peer, &at)))
    }

    /// Runs a pack of the circuits with their inputs.
    fn record(&self, pack: &Arc<Module>, backend: BackendKind) -> Result<Recording, EngineError> {
        let each: Vec<Vec<Vec<Bv>>> = (self.first..)
            .zip(self.circuits)
            .map(|(number, module)| stimulus(module, self.seed, number, self.cycles))
            .collect();
        let cycle = |cycle: u64| each.iter().flat_map(|rows| rows[cycle as usize].clone()).collect();
        let inputs: Vec<Vec<Bv>> = (0..self.cycles).map(cycle).collect();
        Recording::given(pack, &inputs, Options { backend, ..Options::default() })
    }

    /// Every register, memory and counter of each circuit, with inputs of their own.
    fn states(&self) -> Result<Option<Seen>, EngineError> {
        for (at, module) in self.circuits.iter().enumerate() {
            match compare(module, self.cycles, self.seed ^ (self.first + at as u64)) {
                Ok(()) => {}
                Err(CompareError::Engine(error)) => return Err(error),
                Err(error @ CompareError::Differ { .. }) => {
                    return Ok(Some(Seen::Differs { circuit: at, text: error.to_string() }));
                }
            }
        }
        Ok(None)
    }
}

fn told(peer: Peer, at: &Difference) -> Seen {
    let Difference { cycle, port, engine, other } = at;
    let (circuit, port) = inside(port).unwrap_or((0, port));
    let text = format!("output {port} in cycle {cycle}: native code {engine}, {} {other}", peer.name());
    Seen::Differs { circuit, text }
}

/// The first difference of two runs of the same ports: in the first cycle, the first port.
fn first_difference(native: &Recording, other: &Recording) -> Option<Difference> {
    let cycles = native.outputs.iter().zip(&other.outputs).enumerate();
    cycles.into_iter().find_map(|(cycle, (a, b))| {
        let at = a.iter().zip(b).position(|(a, b)| a != b)?;
        Some(Difference {
            cycle: cycle as u64,
            port: native.ports.outputs[at].name.clone(),
            engine: format!("{:x}", a[at]),
            other: format!("{:x}", b[at]),
        })
    })
}

/// Icarus from cleared memories, as in the engine. [`cosim_recorded`] would begin with unknown ones, which
/// circuits read as they like.
fn icarus(pack: &Arc<Module>, run_of: &Recording, folder: &Path) -> Result<Option<Difference>, Broken> {
    let mut sources: Vec<PathBuf> = Vec::new();
    for file in emit(pack).into_iter().chain(export_testbench(pack, run_of)) {
        let path = folder.join(&file.name);
        std::fs::write(&path, &file.text).map_err(|cause| ToolError::File {
            path: path.clone(),
            action: "written",
            cause,
        })?;
        sources.extend(file.name.ends_with(".v").then_some(path));
    }
    let top = format!("tb_{}", pack.name);
    let mut compile = Tool::Iverilog.command()?;
    compile.current_dir(folder).args(["-g2005", "-o", "pack.vvp", "-s", &top]);
    run(compile.args(&sources))?;
    let output = run(Tool::Vvp.command()?.current_dir(folder).args(["-n", "pack.vvp"]))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let line = said.lines().find(|line| line.starts_with("PASS") || line.starts_with("FAIL"));
    match line.unwrap_or_default().split_whitespace().collect::<Vec<_>>()[..] {
        ["PASS", cycles, "cycles"] if cycles.parse() == Ok(run_of.cycles()) => Ok(None),
        ["FAIL", "cycle", cycle, "port", port, "expected", engine, "got", other] => Ok(Some(Difference {
            cycle: cycle.parse().unwrap_or_default(),
            port: port.into(),
            engine: engine.into(),
            other: other.into(),
        })),
        _ => Err(Broken::NoVerdict(said.lines().last().unwrap_or_default().into())),
    }
}

fn verilator(pack: &Arc<Module>, run_of: &Recording, folder: &Path) -> Result<Option<Difference>, Broken> {
    let options = CosimOptions::new(pack, With::Verilator, folder);
    match cosim_recorded(pack, run_of, Duration::ZERO, &options) {
        // Of one circuit that stands still, or has no output, nothing can differ.
        Ok(_) | Err(CosimError::Still { .. } | CosimError::NoOutputs { .. }) => Ok(None),
        Err(CosimError::Differs { at, .. }) => Ok(Some(*at)),
        Err(other) => Err(other.into()),
    }
}

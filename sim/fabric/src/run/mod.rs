//! A fabric that runs a program: RTL between behavioural compute units and DRAM, clocked until the program has ended.

mod build;
mod calls;
mod close;
mod copies;
pub(crate) mod counter;
mod course;
mod dispatch;
mod events;
mod fence;
mod fences;
mod footprint;
mod groups;
pub(crate) mod memory;
mod model;
mod observe;
mod outside;
mod processor;
pub(crate) mod ranks;
mod record;
mod report;
mod room;
mod schedule;
mod seat;
mod snapshot;
mod spread;
mod stalls;
mod stash;
mod state;
mod stream;
mod survey;
mod window;

pub use close::Files;
pub use counter::Counter;
pub use events::EventRequest;
pub use footprint::Footprint;
pub use processor::KernelRecord;
pub use record::Recording;
pub(crate) use report::block_of;
pub use report::{RunReport, SCHEMA};
pub use room::NoRoom;
pub(crate) use room::count_of;
pub use snapshot::{Identity, Snapshot, SnapshotError};
pub use stalls::{StallReport, StallRow};
pub use survey::{Survey, check_program};

use crate::check::CheckError;
use crate::config::{ConfigError, FabricConfig};
use crate::cu::CuError;
use crate::placement::{PageTable, PlacementError};
use crate::port::PortError;
use crate::ranks::Link;
use model::FabricModel;
use ranks::{Company, Ranks};
pub use ranks::{RankCost, dismiss};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use thiserror::Error;
use weft_blocks::registry::BlockError;
use weft_engine::runner::{Listener, Rewind, RunError, Runner, Watch};
use weft_engine::team::Team;
use weft_engine::wave::WaveError;
use weft_engine::{BackendKind, Design, Effort, EngineError, Options, Probes, Sim};
use weft_output::OutputError;
use weft_rtl::ir::Module;
use weft_workload::Program;

/// Why a run cannot begin or ended early.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum FabricError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Placement(#[from] PlacementError),
    #[error(transparent)]
    Block(#[from] BlockError),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Cu(#[from] CuError),
    #[error(transparent)]
    Port(#[from] PortError),
    #[error(transparent)]
    Wave(#[from] WaveError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Check(#[from] CheckError),
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    #[error("event log {0}")]
    Events(OutputError),
    #[error("no block matches {patterns}; give a pattern for the names of blocks, such as 'gpu0.*'")]
    Scope { patterns: String },
    #[error("{0}")]
    Unsettled(String),
    #[error("the design has no {units}, which the models around it read; give it the names of its family")]
    Names { units: &'static str },
    #[error(
        "not so many threads can be started ({0}); give --threads fewer, or raise the limit of processes (ulimit -u)"
    )]
    Threads(std::io::Error),
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
    #[error("the run has not ended after {cycles} cycles; --max-cycles sets the limit")]
    Limit { cycles: u64 },
}

impl FabricError {
    /// The user asked for something that cannot be, rather than a run having failed.
    pub fn is_input(&self) -> bool {
        !matches!(
            self,
            FabricError::Run(_)
                | FabricError::Limit { .. }
                | FabricError::Port(_)
                | FabricError::Check(_)
                | FabricError::Unsettled(_)
                | FabricError::Names { .. }
        )
    }
}

/// A waveform asked for.
#[derive(Clone, Debug)]
pub struct WaveRequest {
    /// `.vcd` or `.fst`.
    pub path: PathBuf,
    /// What is recorded, by hierarchical name; empty = everything.
    pub scopes: Vec<String>,
    /// First cycle.
    pub from: u64,
    /// First cycle no longer recorded.
    pub to: u64,
}

/// How a run is made.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Native code or the interpreter.
    pub backend: BackendKind,
    /// Observers in the hardware.
    pub probes: Probes,
    /// Waveform of the last cycles before a failure.
    pub rewind: Option<Rewind>,
    /// Waveform.
    pub waves: Option<WaveRequest>,
    /// Event log.
    pub events: Option<EventRequest>,
    /// Threads that go through each cycle; 0: as many as pay ([`FabricRun::threads`]). Results do not depend on it.
    pub threads: usize,
    /// Other processes that share the run, each with so many threads. Results do not depend on them.
    pub ranks: Option<Arc<dyn Link>>,
    /// Whoever sets it ends [`FabricRun::run_to`] at the next cycle boundary.
    pub stop: Option<Arc<AtomicBool>>,
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions {
            backend: BackendKind::Native,
            probes: Probes::All,
            rewind: None,
            waves: None,
            events: None,
            threads: 1,
            ranks: None,
            stop: None,
        }
    }
}

impl RunOptions {
    /// The other processes, if there are any.
    fn others(&self) -> Option<&Arc<dyn Link>> {
        self.ranks.as_ref().filter(|link| link.ranks() > 1)
    }

    /// What of it concerns the hardware.
    fn engine(&self) -> Options {
        Options { backend: self.backend, probes: self.probes, ..Options::default() }
    }
}

/// The hardware of a configuration, ready to be clocked by any number of runs ([`FabricRun::on`]).
///
/// # Errors
/// An illegal configuration.
pub fn design(config: &FabricConfig, options: &RunOptions) -> Result<Arc<Design>, FabricError> {
    config.validate()?;
    Ok(Design::new(&module(config)?, options.engine())?)
}

/// The part of each unit of a fabric's hardware when so many threads go through its cycles.
pub fn parts(design: &Design, threads: usize) -> Vec<u32> {
    spread::spread(design, threads)
}

/// The hardware of a configuration, elaborated.
///
/// # Errors
/// A configuration that cannot be built.
pub fn module(config: &FabricConfig) -> Result<Arc<Module>, FabricError> {
    Ok(config.hardware().module()?)
}

/// A program on a fabric.
pub struct FabricRun {
    config: FabricConfig,
    runner: Runner<FabricModel>,
    events: Option<events::Shared>,
    files: Files,
    /// Where the waveform goes, until it is closed.
    waves: Option<PathBuf>,
    started: Instant,
    /// Cycle with which this process began.
    began: u64,
    /// Cycle behind the one in which the run has failed.
    failed: Option<u64>,
    threads: usize,
    /// What it took to get ready.
    pub start: StartUp,
}

/// What it took to get a run ready, in seconds.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct StartUp {
    /// Elaboration of the fabric.
    pub elaborate: f64,
    /// From modules to a design, in parts.
    pub design: Effort,
    /// The simulation, and the models around it.
    pub models: f64,
}

impl StartUp {
    /// Seconds in all.
    pub fn seconds(&self) -> f64 {
        self.elaborate + self.design.flatten + self.design.compile + self.design.wire + self.models
    }
}

impl FabricRun {
    /// Builds the fabric and loads the program's arrays.
    ///
    /// # Errors
    /// An illegal configuration, a program that does not fit, a waveform that cannot be written.
    pub fn new(
        config: &FabricConfig,
        program: Arc<dyn Program>,
        options: &RunOptions,
    ) -> Result<FabricRun, FabricError> {
        config.validate()?;
        let begun = Instant::now();
        let module = module(config)?;
        let elaborate = begun.elapsed().as_secs_f64();
        let mut run = FabricRun::with_module(config, &module, program, options)?;
        run.start.elaborate = elaborate;
        Ok(run)
    }

    /// A run on hardware of one's own: `module` is what [`module`] builds, or a copy in which
    /// [`Module::replaced`] has put other blocks.
    ///
    /// # Errors
    /// As [`FabricRun::new`]; a module without the ports and names of that fabric.
    pub fn with_module(
        config: &FabricConfig,
        module: &Arc<Module>,
        program: Arc<dyn Program>,
        options: &RunOptions,
    ) -> Result<FabricRun, FabricError> {
        config.validate()?;
        // What does not fit is told before the hardware is compiled.
        check_program(config, &program)?;
        let design = Design::new(module, options.engine())?;
        let mut run = FabricRun::on(config, &design, program, options)?;
        run.start.design = design.effort;
        Ok(run)
    }

    /// A run on hardware that [`design`] has made for an equal [`crate::family::Hardware::tag`] and equal options, which
    /// many runs may share.
    ///
    /// # Errors
    /// As [`FabricRun::with_module`].
    pub fn on(
        config: &FabricConfig,
        design: &Arc<Design>,
        program: Arc<dyn Program>,
        options: &RunOptions,
    ) -> Result<FabricRun, FabricError> {
        config.validate()?;
        let begun = Instant::now();
        let table = Arc::new(PageTable::new(program.arrays(), config)?);
        let (mut sim, mut model, threads) = build::by_threads(config, design, &program, &table, options)?;
        let log = |request| events::Shared::new(request, config, &*program, &table, &sim);
        let events = options.events.as_ref().map(log).transpose()?;
        model.stop.clone_from(&options.stop);
        let ranks = options.others();
        if let Some(link) = ranks {
            let memory = model.around.by_part().memory.lock().clone();
            model.company = Company(Some(Ranks::new(link.clone(), threads, &mut sim, memory)));
        }
        let mut runner = Runner::new(sim, model, options.rewind.clone());
        if threads > 1 || ranks.is_some() {
            runner.share(Team::new(threads).map_err(FabricError::Threads)?);
        }
        if let Some(events) = &events {
            runner.listen(Box::new(events.clone()));
        }
        if let Some(waves) = &options.waves {
            runner.record(&waves.path, &waves.scopes, waves.from, waves.to)?;
        }
        Ok(FabricRun {
            config: config.clone(),
            runner,
            events,
            files: Files::default(),
            waves: options.waves.as_ref().map(|waves| waves.path.clone()),
            started: Instant::now(),
            began: 0,
            failed: None,
            threads,
            start: StartUp { models: begun.elapsed().as_secs_f64(), ..StartUp::default() },
        })
    }

    /// On a rank that is not rank 0: does what that one says, until the run is over there.
    pub fn serve(&mut self) {
        self.runner.serve(|sim, model, team| model.serve(sim, team));
    }

    /// Threads that go through each cycle. A number that pays is one for every so many GPUs or GPMs of equal
    /// shares, at most one for each processor; a second one where there is one GPU; and a single one where
    /// something needs the whole fabric in every cycle: a waveform, an event log, arrays of the host, a
    /// directory that is no hardware, the mesh of Spandex.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// What it has cost that other processes share the run, if some do.
    pub fn rank_cost(&self) -> Option<RankCost> {
        self.runner.model.rank_cost()
    }

    /// Tells `listener` of every cycle from now on, in place of an event log.
    pub fn listen(&mut self, listener: Box<dyn Listener>) {
        self.runner.listen(listener);
    }

    /// The whole run as it now stands, to be written to `path`.
    ///
    /// # Errors
    /// None for a run of this type.
    pub fn snapshot(&self, path: &Path, identity: Identity) -> Result<Snapshot, FabricError> {
        let Runner { sim, model, .. } = &self.runner;
        let state = state::save(sim, model)?;
        Ok(Snapshot::new(path, identity, sim.cycle(), sim.design().fingerprint(), state))
    }

    /// Goes on from a snapshot of a run of the same identity ([`Snapshot::check`]); a waveform holds what follows.
    ///
    /// # Errors
    /// A snapshot of other hardware.
    pub fn resume(&mut self, snapshot: &Snapshot) -> Result<(), FabricError> {
        let Runner { sim, model, .. } = &mut self.runner;
        snapshot.check_hardware(sim.design().fingerprint())?;
        state::load(sim, model, snapshot.state())?;
        (self.began, self.started) = (sim.cycle(), Instant::now());
        Ok(())
    }

    /// What the run takes of the host's memory.
    pub fn footprint(&self) -> Footprint {
        let Runner { sim, model, .. } = &self.runner;
        Footprint::new(8 * sim.limbs_in_all() as u64, &*model.program)
    }

    /// The hardware.
    pub fn sim(&self) -> &Sim {
        &self.runner.sim
    }

    /// Calls `watch` in every cycle from now on, with all inputs driven, before the clock edge.
    pub fn watch(&mut self, watch: Watch) {
        self.runner.watch(watch);
    }

    /// Records all that waves and the host do to memory. To be called before the first cycle.
    pub fn record(&mut self, recording: &Recording) {
        let model = &mut self.runner.model;
        model.observer.recorder = Some(recording.recorder(model.program.arrays()));
    }

    /// Compute units and memories go through a cycle on several threads, not only the hardware.
    pub fn is_shared(&self) -> bool {
        self.runner.model.is_shared()
    }

    /// Nodes, with their fences and work-groups, are in one part of the simulation each, so that threads go
    /// through many cycles by themselves.
    pub fn is_by_nodes(&self) -> bool {
        self.is_shared() && self.runner.model.whole
    }

    /// Cycles run so far.
    pub fn cycle(&self) -> u64 {
        self.runner.sim.cycle()
    }

    /// Cycles that were run, also of a run that has failed and was replayed.
    pub fn reached(&self) -> u64 {
        self.failed.unwrap_or_else(|| self.cycle())
    }

    /// Operations that compute units have issued so far.
    pub fn operations(&self) -> u64 {
        self.runner.model.seats.iter().map(|seat| seat.cu.counters().instructions).sum()
    }

    /// Kernels and host copies begun so far.
    pub fn kernels(&self) -> usize {
        self.runner.model.processor.records.len()
    }

    /// Runs until cycle `end`, the program's end or the word of [`RunOptions::stop`]; true when the program has ended.
    ///
    /// # Errors
    /// A failed assertion or check, with the waveform that shows it. The files of the run can then be closed ([`FabricRun::close`]).
    pub fn run_to(&mut self, end: u64) -> Result<bool, FabricError> {
        match self.runner.run_to(end) {
            Ok(()) => Ok(self.runner.model.processor.finished()),
            Err(error) => {
                // A replay has left the simulation somewhere before its end.
                self.failed = match &error {
                    RunError::Assertion(report) => Some(report.failure.cycle + 1),
                    RunError::Unseen { failure, .. } => Some(failure.cycle + 1),
                    RunError::Wave(_) => None,
                };
                self.close_events(self.reached());
                let error = self.lost_waves(error);
                Err(self.runner.model.processor.lack.take().map_or(error.into(), FabricError::NoRoom))
            }
        }
    }

    /// Cover points that were hit up to now, as in [`RunReport::covers`].
    pub fn covers(&self) -> BTreeMap<String, u64> {
        report::covers(&self.runner.sim)
    }

    /// Compares the program's result with the host's own, collects the counters, and closes the files.
    ///
    /// # Errors
    /// A failed check; a waveform or event log that cannot be written.
    pub fn finish(mut self) -> Result<RunReport, FabricError> {
        let report = self.end()?;
        let Files { waves, events } = self.close();
        waves.unwrap_or(Ok(()))?;
        events.unwrap_or(Ok(())).map_err(FabricError::Events)?;
        Ok(report)
    }

    /// Compares the program's result with the host's own and collects the counters; the files are then to be closed ([`FabricRun::close`]).
    ///
    /// # Errors
    /// A failed check.
    pub fn end(&mut self) -> Result<RunReport, FabricError> {
        let seconds = self.started.elapsed().as_secs_f64();
        self.close_waves();
        let cycles = self.cycle();
        let (Runner { sim, model, .. }, events) = (&mut self.runner, &mut self.events);
        let settled = model.settle(sim, &mut |sim| events.iter_mut().for_each(|events| events.cycle(sim)));
        self.close_events(cycles);
        settled.map_err(FabricError::Unsettled)?;
        let Runner { sim, model, .. } = &mut self.runner;
        model.check_end(sim)?;
        let verdict = model.program.verify(&|addr, count| model.read(sim, addr, count));
        let mut report = report::collect(&self.config, sim, model, cycles, verdict.err(), seconds);
        // A resumed run's speed is that of its own cycles.
        report.threads = self.threads;
        report.cycles_per_second = (cycles - self.began) as f64 / seconds.max(1e-9);
        Ok(report)
    }
}

//! An event log of a run: messages between blocks, rows and races, bytes on links ([`weft_events`]).

mod survey;

use self::survey::Survey;
use super::{FabricError, processor::KernelRecord};
use crate::check::watchdog::channels::Channel;
use crate::config::FabricConfig;
use crate::family::WholeLine;
use crate::placement::PageTable;
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use weft_engine::Sim;
use weft_engine::runner::Listener;
use weft_engine::tap::{CoverTap, Hit};
use weft_engine::wave::scope_matches;
use weft_events::{Header, Record, Step, Writer};
use weft_output::{Output, OutputError};
use weft_workload::Program;

/// An event log asked for.
#[derive(Clone, Debug)]
pub struct EventRequest {
    /// The file.
    pub path: PathBuf,
    /// Blocks whose channels and rows are recorded, by hierarchical name; empty = all.
    pub scopes: Vec<String>,
    /// First cycle.
    pub from: u64,
    /// First cycle no longer recorded.
    pub to: u64,
    /// Seed, for the head of the log.
    pub seed: Option<u64>,
    /// What else the run is, for the head of the log: parameters and graph of the program, what made it.
    pub setup: serde_json::Value,
}

/// Cycles of an interval in which bytes are added up.
const INTERVAL: u64 = 500;

/// A channel that is recorded.
struct Tapped {
    channel: Channel,
    number: u32,
    /// Leaves that are recorded.
    leaves: Vec<usize>,
    /// Number of the leaf that names the line, and bits below the number of the line.
    line: Option<(usize, u32)>,
    /// Number of the leaf that names the operation, and the codes of those about no line.
    lineless: Option<(usize, Vec<u64>)>,
    /// Number of the leaf `dst`.
    dst: Option<usize>,
    whole: Option<WholeLine>,
}

/// A counter of bytes.
struct Counted {
    unit: usize,
    /// Limb in the unit's state.
    at: usize,
    before: u64,
}

/// What is recorded of a run.
pub(super) struct Recorder {
    path: PathBuf,
    window: (u64, u64),
    /// By unit that sees the transfer.
    channels: Vec<(usize, Vec<Tapped>)>,
    covers: CoverTap,
    /// By unit.
    rows: Vec<Rows>,
    meters: Vec<Counted>,
    /// First cycle of the next interval.
    next: u64,
    started: bool,
    done: bool,
    /// Messages of the cycle before the present one, and that cycle.
    waiting: (u64, Vec<Record>),
    writer: Option<Writer>,
    /// The first thing that went wrong.
    error: Option<io::Error>,
}

/// The cover points of a unit.
struct Rows {
    /// By number of the probe: row of the block.
    of_probe: BTreeMap<usize, u32>,
    /// By number of the probe, of those whose lines are not whole.
    whole: BTreeMap<usize, WholeLine>,
}

/// A recorder that the runner tells of cycles and the run asks for its end.
#[derive(Clone)]
pub(super) struct Shared(Arc<Mutex<Recorder>>);

impl Listener for Shared {
    fn cycle(&mut self, sim: &Sim) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).cycle(sim);
    }

    fn end(&mut self, sim: &Sim) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).end(sim);
    }
}

impl Shared {
    /// Starts a log of what `sim` does from now on.
    ///
    /// # Errors
    /// A file that cannot be written, patterns that match nothing.
    pub fn new(
        request: &EventRequest,
        config: &FabricConfig,
        program: &dyn Program,
        table: &PageTable,
        sim: &Sim,
    ) -> Result<Shared, FabricError> {
        Ok(Shared(Arc::new(Mutex::new(Recorder::new(request, config, program, table, sim)?))))
    }

    /// Puts the log in its place.
    ///
    /// # Errors
    /// A disk that is full.
    pub fn finish(&self, cycle: u64, records: &[KernelRecord]) -> Result<(), OutputError> {
        let mut recorder = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let step = |r: &KernelRecord| Step { name: r.name.clone(), start: r.start, end: r.end };
        match (recorder.error.take(), recorder.writer.take()) {
            (Some(error), _) => Err(OutputError::of(&recorder.path, &error)),
            (None, Some(writer)) => writer.finish(cycle, records.iter().map(step).collect()),
            (None, None) => Ok(()),
        }
    }
}

impl Recorder {
    fn new(
        request: &EventRequest,
        config: &FabricConfig,
        program: &dyn Program,
        table: &PageTable,
        sim: &Sim,
    ) -> Result<Recorder, FabricError> {
        let (design, hardware) = (sim.design(), config.hardware());
        let wanted = |path: &str| {
            request.scopes.is_empty() || request.scopes.iter().any(|scope| scope_matches(scope, path))
        };
        let mut survey = Survey::new(design, &*hardware);
        let channels = survey.channels(&wanted);
        if channels.is_empty() && !design.units.iter().any(|unit| wanted(&unit.path)) {
            return Err(FabricError::Scope { patterns: request.scopes.join(", ") });
        }
        let meters = survey.meters(&wanted);
        let (rows, line) = (survey.rows(), hardware.shape().line);
        let header = Header {
            fabric: config.name.clone(),
            workload: program.name().to_string(),
            seed: request.seed,
            setup: request.setup.clone(),
            config: config.to_json(),
            line,
            group: config.to_json()["group"].as_u64().map_or(1, |lines| lines as u32),
            from: request.from.max(sim.cycle()),
            to: request.to,
            scope: request.scopes.clone(),
            interval: INTERVAL,
            arrays: survey::arrays(program, table),
            ..survey.header
        };
        let file = Output::create(&request.path).map_err(FabricError::Events)?;
        Ok(Recorder {
            path: request.path.clone(),
            window: (request.from, request.to),
            channels,
            covers: CoverTap::new(design, &|unit| wanted(&design.units[unit].path)),
            rows,
            meters,
            next: INTERVAL,
            started: false,
            done: false,
            waiting: (0, Vec::new()),
            writer: Some(Writer::create(file, &header).map_err(FabricError::Events)?),
            error: None,
        })
    }

    fn cycle(&mut self, sim: &Sim) {
        let now = sim.cycle();
        if !self.started {
            self.begin(sim);
        }
        if self.done || now < self.window.0 {
            self.measure(sim, now);
            return;
        }
        self.done = now >= self.window.1;
        if self.done {
            return self.last_look(sim);
        }
        let mut out = self.measure(sim, now);
        out.extend(self.hits(sim, false));
        let messages = self.messages(sim);
        self.write(out, (now, messages));
    }

    /// Counters may have counted before: a resumed run.
    fn begin(&mut self, sim: &Sim) {
        self.started = true;
        self.next = (sim.cycle() / INTERVAL + 1) * INTERVAL;
        self.meters.iter_mut().for_each(|meter| meter.before = sim.state(meter.unit)[meter.at]);
    }

    fn end(&mut self, sim: &Sim) {
        if self.started && !self.done && sim.cycle() >= self.window.0 {
            self.last_look(sim);
        }
        self.done = true;
    }

    /// The cycle before was the last one recorded.
    fn last_look(&mut self, sim: &Sim) {
        let now = sim.cycle();
        self.next = now;
        let mut out = self.measure(sim, now);
        out.extend(self.hits(sim, true));
        self.write(out, (now, Vec::new()));
    }

    /// Adds what is known of the cycle before, and keeps the messages of the present one until its rows are known.
    fn write(&mut self, before: Vec<Record>, present: (u64, Vec<Record>)) {
        let Some(writer) = &mut self.writer else { return };
        let (cycle, messages) = std::mem::replace(&mut self.waiting, present);
        let mut write = || -> io::Result<()> {
            if before.is_empty() && messages.is_empty() {
                return Ok(());
            }
            writer.advance(cycle)?;
            before.iter().chain(&messages).try_for_each(|record| writer.add(record))
        };
        if let Err(error) = write() {
            (self.writer, self.error) = (None, Some(error));
        }
    }

    /// Rows and races of the cycle before.
    fn hits(&mut self, sim: &Sim, last: bool) -> Vec<Record> {
        let (mut out, rows) = (Vec::new(), &self.rows);
        let mut tell = |hit: Hit| {
            let of = &rows[hit.unit];
            let row = of.of_probe[&hit.probe];
            let whole = |line: u64| of.whole.get(&hit.probe).map_or(line, |whole| whole(line, None));
            let actor = hit.unit as u32;
            out.push(Record::Row { actor, row, line: hit.line.map(whole), cycles: hit.cycles });
        };
        self.covers.sample(sim, &mut tell);
        if last {
            self.covers.finish(sim, &mut tell);
        }
        out
    }

    /// Messages of the present cycle.
    fn messages(&self, sim: &Sim) -> Vec<Record> {
        let mut out = Vec::new();
        for (unit, channels) in &self.channels {
            if sim.is_awake(*unit) {
                let going = channels.iter().filter(|tapped| tapped.channel.transfers(sim));
                out.extend(going.map(|tapped| tapped.record(sim)));
            }
        }
        out
    }

    /// Bytes of the intervals that are over.
    fn measure(&mut self, sim: &Sim, now: u64) -> Vec<Record> {
        if now < self.next || self.next == 0 {
            return Vec::new();
        }
        let start = (self.next - 1) / INTERVAL * INTERVAL;
        self.next = (now / INTERVAL + 1) * INTERVAL;
        let mut out = Vec::new();
        for (number, meter) in self.meters.iter_mut().enumerate() {
            let count = sim.state(meter.unit)[meter.at];
            let bytes = count.wrapping_sub(std::mem::replace(&mut meter.before, count));
            if bytes > 0 {
                out.push(Record::Bytes { meter: number as u32, start, bytes });
            }
        }
        out
    }
}

impl Tapped {
    fn record(&self, sim: &Sim) -> Record {
        let leaf = |number: usize| self.channel.leaves[number].read(sim)[0];
        let limbs = self.leaves.iter().flat_map(|n| self.channel.leaves[*n].read(sim)).copied().collect();
        let about_line = self.lineless.as_ref().is_none_or(|(number, codes)| !codes.contains(&leaf(*number)));
        let line = self.line.filter(|_| about_line).map(|(number, shift)| {
            let line = leaf(number) >> shift;
            self.whole.as_ref().map_or(line, |whole| whole(line, self.dst.map(leaf)))
        });
        Record::Message { channel: self.number, line, limbs }
    }
}

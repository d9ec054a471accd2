//! An event log of a run: messages between blocks, rows and races, bytes on links ([`weft_events`]).

use super::snapshot::temporary;
use super::{FabricError, processor::KernelRecord};
use crate::check::watchdog::channels::{self, Channel, End, Leaf};
use crate::config::FabricConfig;
use crate::family::{Hardware, WholeLine};
use crate::placement::PageTable;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use weft_engine::runner::Listener;
use weft_engine::tap::{CoverTap, Hit};
use weft_engine::wave::scope_matches;
use weft_engine::{Design, Sim};
use weft_events::{Actor, Array, Block, Field, Header, Meter, Record, Row, Step, Writer};
use weft_rtl::ir::{EnumType, LeafType, ProbeKind};
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
}

/// Cycles of an interval in which bytes are added up.
const INTERVAL: u64 = 500;

/// Widest field that is recorded: masks are, data is not.
const WIDEST: u32 = 128;

/// Operations about no line, whatever stands in their field for one: fences, and what is meant for a whole cache.
const LINELESS: [&str; 12] = [
    "REL",
    "ACQ",
    "KBEGIN",
    "KEND",
    "FENCE",
    "TOKEN",
    "TOKENREL",
    "TOKEN_REL",
    "SYSFLUSH",
    "SYS_FLUSH",
    "SYSINV",
    "SYS_INV",
];

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
    /// By unit and number of the probe: row of the block, and what makes its lines whole.
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
    /// By number of the probe: row of the block, and bits of the number of its line.
    of_probe: BTreeMap<usize, (u32, u32)>,
    /// By these bits.
    whole: BTreeMap<u32, WholeLine>,
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
    pub fn finish(&self, cycle: u64, records: &[KernelRecord]) -> Result<(), FabricError> {
        let mut recorder = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let step = |r: &KernelRecord| Step { name: r.name.clone(), start: r.start, end: r.end };
        let ended = match (recorder.error.take(), recorder.writer.take()) {
            (Some(error), _) => Err(error),
            (None, Some(writer)) => writer.finish(cycle, records.iter().map(step).collect()),
            (None, None) => Ok(()),
        };
        ended.map_err(|cause| FabricError::Events { path: recorder.path.clone(), cause })
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
            config: config.to_json(),
            line,
            group: config.to_json()["group"].as_u64().map_or(1, |lines| lines as u32),
            from: request.from.max(sim.cycle()),
            to: request.to,
            scope: request.scopes.clone(),
            interval: INTERVAL,
            arrays: arrays(program, table),
            ..survey.header
        };
        let cannot = |cause| FabricError::Events { path: request.path.clone(), cause };
        let folder = request.path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let file = temporary(folder).map_err(cannot)?;
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
            writer: Some(Writer::create(&request.path, file, &header).map_err(cannot)?),
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
            let (row, width) = of.of_probe[&hit.probe];
            let whole = |line: u64| of.whole.get(&width).map_or(line, |whole| whole(line, None));
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

/// The design as the head of a log describes it.
struct Survey<'a> {
    design: &'a Arc<Design>,
    hardware: &'a dyn Hardware,
    header: Header,
    enums: Vec<Arc<EnumType>>,
    /// Numbers of the models around it.
    outside: BTreeMap<String, u32>,
}

impl Survey<'_> {
    fn new<'a>(design: &'a Arc<Design>, hardware: &'a dyn Hardware) -> Survey<'a> {
        let actor =
            |unit: &weft_engine::design::Unit| Actor { name: unit.path.clone(), block: Some(unit.ty as u32) };
        let covers = |ty: &weft_engine::design::UnitType| {
            let covers = ty.netlist.probes.iter().filter(|p| p.kind == ProbeKind::Cover);
            let rows = covers.map(|p| Row { id: p.name.clone(), text: p.text.clone() });
            Block { module: ty.module.name.clone(), rows: rows.collect() }
        };
        let header = Header {
            fabric: String::new(),
            workload: String::new(),
            seed: None,
            config: serde_json::Value::Null,
            line: 0,
            group: 1,
            from: 0,
            to: 0,
            scope: Vec::new(),
            interval: INTERVAL,
            actors: design.units.iter().map(actor).collect(),
            blocks: design.types.iter().map(covers).collect(),
            channels: Vec::new(),
            enums: Vec::new(),
            meters: Vec::new(),
            arrays: Vec::new(),
        };
        Survey { design, hardware, header, enums: Vec::new(), outside: BTreeMap::new() }
    }

    /// The channels that one of the wanted blocks is at, by the unit that takes part in every transfer.
    fn channels(&mut self, wanted: &dyn Fn(&str) -> bool) -> Vec<(usize, Vec<Tapped>)> {
        let mut out: BTreeMap<usize, Vec<Tapped>> = BTreeMap::new();
        for channel in channels::find(self.design).into_iter().chain(channels::wires(self.design)) {
            let at = |end: &End| end.unit().is_some_and(|unit| wanted(&self.design.units[unit].path));
            if !at(&channel.from) && !at(&channel.to) {
                continue;
            }
            let unit = channel.to.unit().or(channel.from.unit()).expect("one end is a block");
            let tapped = self.tap(channel);
            out.entry(unit).or_default().push(tapped);
        }
        out.into_iter().collect()
    }

    fn tap(&mut self, channel: Channel) -> Tapped {
        let recorded = |leaf: &Leaf| leaf.width <= WIDEST && !leaf.name.ends_with("data");
        let leaves: Vec<usize> =
            (0..channel.leaves.len()).filter(|n| recorded(&channel.leaves[*n])).collect();
        let last = |leaf: &Leaf| leaf.name.rsplit('_').next().unwrap_or_default().to_string();
        let find = |name: &str| channel.leaves.iter().position(|leaf| last(leaf) == name);
        let bits = self.hardware.shape().line.trailing_zeros();
        let line = find("line").map(|n| (n, 0)).or(find("addr").map(|n| (n, bits)));
        let place = [&channel.to, &channel.from].into_iter().find_map(End::unit);
        let path = place.map_or("", |unit| &self.design.units[unit].path);
        let width = line.map_or(0, |(n, shift)| channel.leaves[n].width - shift.min(channel.leaves[n].width));
        let whole = line.and_then(|_| self.hardware.whole_line(path, width));
        let fields = leaves.iter().map(|n| self.field(&channel.leaves[*n])).collect();
        let at = |end: &End, survey: &mut Self| (survey.actor(end), end.port().to_string());
        let ((from, from_port), (to, to_port)) = (at(&channel.from, self), at(&channel.to, self));
        let operation = |leaf: &Leaf| match &leaf.ty {
            LeafType::Enum(ty) if matches!(last(leaf).as_str(), "op" | "kind") => Some(ty.clone()),
            _ => None,
        };
        let lineless = channel.leaves.iter().enumerate().find_map(|(n, leaf)| Some((n, operation(leaf)?)));
        let lineless = lineless.map(|(n, ty)| {
            let codes = ty.variants.iter().filter(|(name, _)| LINELESS.contains(&name.as_str()));
            (n, codes.map(|(_, code)| *code).collect())
        });
        let number = self.header.channels.len() as u32;
        let of_line = line.and_then(|(n, _)| leaves.iter().position(|leaf| *leaf == n)).map(|n| n as u32);
        self.header.channels.push(weft_events::Channel {
            from,
            from_port,
            to,
            to_port,
            fields,
            line: of_line,
        });
        Tapped { number, leaves, line, lineless, dst: find("dst"), whole, channel }
    }

    fn field(&mut self, leaf: &Leaf) -> Field {
        let names = match &leaf.ty {
            LeafType::Enum(ty) => Some(self.names(ty)),
            LeafType::Bits | LeafType::Bool => None,
        };
        Field { name: leaf.name.clone(), width: leaf.width, names }
    }

    fn names(&mut self, ty: &Arc<EnumType>) -> u32 {
        let found = self.enums.iter().position(|known| known == ty);
        let number = found.unwrap_or_else(|| {
            self.enums.push(ty.clone());
            self.header.enums.push(ty.variants.clone());
            self.enums.len() - 1
        });
        number as u32
    }

    /// A block, or the model whose ports these are: what `g0_cu1_req` and `g0_cu1_rsp` belong to is `g0_cu1`.
    fn actor(&mut self, end: &End) -> u32 {
        match end {
            End::Unit { unit, .. } => *unit as u32,
            End::Port(port) => {
                let name = port.rsplit_once('_').map_or(port.as_str(), |(model, _)| model);
                let next = self.header.actors.len() as u32;
                let number = *self.outside.entry(name.to_string()).or_insert(next);
                if number == next {
                    self.header.actors.push(Actor { name: name.to_string(), block: None });
                }
                number
            }
        }
    }

    /// Counters of bytes: those whose name says so, of all bytes and not of a part that is counted again.
    fn meters(&mut self, wanted: &dyn Fn(&str) -> bool) -> Vec<Counted> {
        let mut out = Vec::new();
        for (unit, info) in self.design.units.iter().enumerate().filter(|(_, info)| wanted(&info.path)) {
            let ty = &self.design.types[info.ty];
            let per_cycle = ty.module.params.iter().find(|(name, _)| name.ends_with("bytes_per_cycle"));
            let per_cycle = per_cycle.and_then(|(_, value)| value.parse().ok());
            for (number, probe) in ty.netlist.probes.iter().enumerate() {
                let bytes = probe.name.contains("bytes") && probe.name != "bytes_wrreq";
                if probe.kind == ProbeKind::Count && probe.amount.is_some() && bytes {
                    let (actor, name) = (unit as u32, probe.name.clone());
                    self.header.meters.push(Meter { actor, name, per_cycle });
                    out.push(Counted { unit, at: ty.layout.probes + number, before: 0 });
                }
            }
        }
        out
    }

    fn rows(&self) -> Vec<Rows> {
        let of = |unit: &weft_engine::design::Unit| {
            let netlist = &self.design.types[unit.ty].netlist;
            let covers = netlist.probes.iter().enumerate().filter(|(_, p)| p.kind == ProbeKind::Cover);
            let mut rows = Rows { of_probe: BTreeMap::new(), whole: BTreeMap::new() };
            for (row, (probe, info)) in covers.enumerate() {
                let width = info.about.map_or(0, |line| netlist.node(line).width);
                rows.of_probe.insert(probe, (row as u32, width));
                if let Some(whole) = self.hardware.whole_line(&unit.path, width).filter(|_| width > 0) {
                    rows.whole.entry(width).or_insert(whole);
                }
            }
            rows
        };
        self.design.units.iter().map(of).collect()
    }
}

/// Where the arrays lie whose places are known from the start.
fn arrays(program: &dyn Program, table: &PageTable) -> Vec<Array> {
    let mut out: Vec<Array> = Vec::new();
    for array in program.arrays() {
        table.for_pieces(array.addr, array.bytes() as usize, |at, range| {
            let Some(at) = at else { return };
            let (offset, bytes) = (range.start as u64, range.len() as u64);
            match out.last_mut() {
                Some(last) if last.name == array.name && last.at + last.bytes == at => last.bytes += bytes,
                _ => out.push(Array { name: array.name.clone(), element: array.element, offset, at, bytes }),
            }
        });
    }
    out
}

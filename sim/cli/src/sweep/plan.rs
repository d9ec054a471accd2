//! From a sweep file to its runs: every setting is checked, every program built and every hardware elaborated before the first run begins.

use super::columns::{Column, columns, text};
use super::contest::Contest;
use super::file::{Point, SPECIAL, Setting, SweepFile};
pub use super::run::Run;
use super::source::At;
use super::summary::Summary;
use crate::graph;
use crate::setup::{self, Params};
use crate::trace;
use anyhow::{Context, Error, anyhow};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use weft_engine::BackendKind;
use weft_engine::digest::Digest;
use weft_fabric::config::FabricConfig;
use weft_fabric::fit::FitError;
use weft_fabric::run::{Footprint, Identity, Survey, check_program};
use weft_workload::graph::{Graph, ReadOptions, read_as};
use weft_workload::trace::{self as traces, BUNDLED, is_trace};
use weft_workload::{Program, WorkloadError};

/// All runs of a sweep in order, and what is made of them.
pub struct Plan {
    /// The file.
    pub sweep: SweepFile,
    /// Runs, the last axis fastest.
    pub runs: Vec<Run>,
    /// Columns of the results.
    pub columns: Vec<Column>,
    /// Tables and pictures.
    pub summaries: Vec<Summary>,
    /// Classes against each other.
    pub contests: Vec<Contest>,
}

impl Plan {
    /// Checks and builds everything.
    ///
    /// # Errors
    /// The first mistake, with its place in the file.
    pub fn new(sweep: SweepFile) -> Result<Plan, Error> {
        let mut runs = runs(&sweep)?;
        // Hardware last: elaborating it takes the longest, and all other mistakes are found by then.
        let surveys = surveys(&runs).map_err(|e| anyhow!("{}: {e:#}", sweep.file))?;
        for run in &mut runs {
            let Survey { fingerprint, state_bytes, .. } = surveys[&hardware(&run.config)];
            run.hardware = format!("{fingerprint:016x}");
            run.memory = Footprint::new(state_bytes, &*run.program).bytes();
            run.identity = identity(run, fingerprint)?;
        }
        let counters = surveys.into_values().flat_map(|survey| survey.counters).collect();
        let fabrics: Vec<&FabricConfig> = runs.iter().map(|run| &run.config).collect();
        let columns = columns(&sweep, &fabrics, &counters);
        let summaries = Summary::all(&sweep, &columns)?;
        let contests = Contest::all(&sweep, &columns)?;
        Ok(Plan { sweep, runs, columns, summaries, contests })
    }

    /// Place of a column that all results have.
    ///
    /// # Panics
    /// If they have not.
    pub fn column(&self, name: &str) -> usize {
        self.columns.iter().position(|column| column.name == name).expect("a column of all results")
    }
}

/// All runs of a sweep, checked and built but for their hardware and the identity that depends on it.
///
/// # Errors
/// As [`Plan::new`].
pub fn runs(sweep: &SweepFile) -> Result<Vec<Run>, Error> {
    let mut builder = Builder::default();
    let count = count(sweep);
    let mut runs = Vec::with_capacity(count);
    for number in 0..count {
        let points = points(sweep, number);
        let run = builder.run(sweep, number, &points).map_err(|e| {
            let labels: Vec<&str> = points.iter().map(|point| point.label.as_str()).collect();
            anyhow!("{e:#} (run {} of {count}: {})", number + 1, labels.join(", "))
        })?;
        runs.push(run);
    }
    builder.seeds_matter(sweep, &runs)?;
    Ok(runs)
}

/// How many runs a sweep has.
pub fn count(sweep: &SweepFile) -> usize {
    sweep.axes.iter().map(|axis| axis.points.len()).product()
}

/// The values of all axes in a run: the last axis is fastest.
pub fn points(sweep: &SweepFile, number: usize) -> Vec<&Point> {
    let mut rest = number;
    let mut points: Vec<&Point> = Vec::new();
    for axis in sweep.axes.iter().rev() {
        points.push(&axis.points[rest % axis.points.len()]);
        rest /= axis.points.len();
    }
    points.reverse();
    points
}

/// What several runs share, so that it is made once.
#[derive(Default)]
struct Builder {
    /// By path and how it is read.
    graphs: BTreeMap<String, Graph>,
    programs: BTreeMap<String, Built>,
    traces: BTreeMap<PathBuf, Built>,
}

/// A program, its parameters and its graph.
type Built = (Arc<dyn Program>, Params);

/// Settings of a run by kind.
pub(super) struct Settings<'a> {
    fabric: &'a At<String>,
    pub(super) workload: &'a At<String>,
    pub(super) graph: Option<&'a At<String>>,
    /// How the graph is read.
    reading: Vec<&'a Setting>,
    pub(super) seed: Option<&'a At<String>>,
    pub(super) params: BTreeMap<String, &'a At<String>>,
    keys: Vec<&'a Setting>,
}

impl<'a> Settings<'a> {
    pub(super) fn new(sweep: &'a SweepFile, points: &[&'a Point]) -> Result<Settings<'a>, Error> {
        let all: Vec<&Setting> =
            sweep.fixed.iter().chain(points.iter().flat_map(|point| &point.settings)).collect();
        let find = |key: &str| all.iter().find(|s| s.key == key).map(|s| &s.value);
        let missing = |key: &str| anyhow!("{}: no {key} is given", sweep.file);
        let params = all.iter().filter_map(|s| Some((s.key.strip_prefix("param.")?.to_string(), &s.value)));
        Ok(Settings {
            fabric: find("fabric").ok_or_else(|| missing("fabric"))?,
            workload: find("workload").ok_or_else(|| missing("workload"))?,
            graph: find("graph"),
            reading: all.iter().filter(|s| s.key.starts_with("graph_")).copied().collect(),
            seed: find("seed"),
            params: params.collect(),
            keys: all
                .iter()
                .filter(|s| !SPECIAL.contains(&s.key.as_str()) && !s.key.starts_with("param."))
                .copied()
                .collect(),
        })
    }

    /// How the graph is read.
    fn read_options(&self) -> Result<ReadOptions, Error> {
        let mut options = ReadOptions::default();
        for setting in &self.reading {
            let At { value, .. } = &setting.value;
            let wrong = |problem: Error| setting.value.error(format!("{} = {value}: {problem}", setting.key));
            if self.graph.is_none() {
                return Err(wrong(anyhow!(
                    "it says how a graph is read, and none is given; add graph = \"FILE\""
                )));
            }
            match setting.key.as_str() {
                "graph_format" => options.format = Some(graph::format(value).map_err(wrong)?),
                "graph_limit" => options.limit = graph::bytes(value).map_err(wrong)?,
                _ => {
                    let directed =
                        value.parse().map_err(|_| wrong(anyhow!("it is neither true nor false")))?;
                    options.directed = Some(directed);
                }
            }
        }
        Ok(options)
    }
}

impl Builder {
    fn run(&mut self, sweep: &SweepFile, number: usize, points: &[&Point]) -> Result<Run, Error> {
        let settings = Settings::new(sweep, points)?;
        let (config, changed) = fabric(sweep, &settings)?;
        let seed = settings.seed.map(|seed| {
            seed.value
                .parse::<u64>()
                .map_err(|_| seed.error(format!("seed = {} is no whole number", seed.value)))
        });
        let seed = seed.transpose()?;
        let (program, params) = self.program(sweep, &settings, &config, seed)?;
        check_program(&config, &program).map_err(|e| settings.workload.error(e))?;
        Ok(Run {
            number,
            labels: points.iter().map(|point| point.label.clone()).collect(),
            config,
            workload: match is_trace(&settings.workload.value) {
                true => program.name().to_string(),
                false => settings.workload.value.clone(),
            },
            program,
            params,
            graph: settings.graph.map(|graph| PathBuf::from(&graph.value)),
            seed,
            changed,
            hardware: String::new(),
            memory: 0,
            identity: String::new(),
        })
    }

    /// The program of a run, shared by all runs with the same parameters and graph on machines of the same size, and all its
    /// parameters.
    fn program(
        &mut self,
        sweep: &SweepFile,
        settings: &Settings,
        config: &FabricConfig,
        seed: Option<u64>,
    ) -> Result<Built, Error> {
        let name = &settings.workload.value;
        if is_trace(name) {
            return self.trace(sweep, settings).map_err(|e| settings.workload.error(format!("{e:#}")));
        }
        // The place of what was written for this program: its parameter if it has one, else its name.
        let place = settings.params.values().next().copied().unwrap_or(settings.workload);
        let mut params: BTreeMap<String, String> =
            settings.params.iter().map(|(key, value)| (key.clone(), value.value.clone())).collect();
        let known = weft_workload::workloads().iter().find(|w| w.name == name);
        if let Some(seed) = seed.filter(|_| known.is_some_and(|w| w.params.iter().any(|p| p.name == "seed")))
        {
            params.entry("seed".into()).or_insert(seed.to_string());
        }
        let reading = settings.read_options()?;
        let graph = settings.graph.map(|graph| (graph, sweep.folder.join(&graph.value)));
        let graph_key = format!("{:?} {reading:?}", graph.as_ref().map(|(_, path)| path));
        let key = format!("{name} {params:?} {graph_key} {:?}", config.machine());
        if let Some(built) = self.programs.get(&key) {
            return Ok(built.clone());
        }
        if let Some((at, path)) = graph.filter(|_| !self.graphs.contains_key(&graph_key)) {
            self.graphs.insert(graph_key.clone(), read_as(&path, &reading).map_err(|e| at.error(e))?);
        }
        let graph = settings.graph.and_then(|_| self.graphs.get(&graph_key));
        let fitted = config.fit(name, &params, graph).map_err(|e| match &e {
            FitError::Workload(WorkloadError::Unknown { .. }) => settings.workload.error(&e),
            _ => place.error(&e),
        })?;
        let built = (fitted.program.clone(), Params::new(&fitted, params.into_keys().collect()));
        self.programs.insert(key, built.clone());
        Ok(built)
    }

    /// A trace in the place of a program.
    fn trace(&mut self, sweep: &SweepFile, settings: &Settings) -> Result<Built, Error> {
        let name = &settings.workload.value;
        let graph = settings.graph.is_some() || !settings.reading.is_empty();
        let given = [("parameter", !settings.params.is_empty()), ("graph", graph)];
        trace::takes_nothing(name, &given)?;
        let path = match BUNDLED.iter().any(|trace| trace.name == name) {
            true => PathBuf::from(name),
            false => sweep.folder.join(name),
        };
        if !self.traces.contains_key(&path) {
            let (program, params, _) = trace::program(&path, &traces::ReadOptions::default())?;
            self.traces.insert(path.clone(), (program, Params::of_trace(params)));
        }
        self.traces.get(&path).cloned().context("no trace")
    }

    /// Refuses a seed that no program takes.
    fn seeds_matter(&self, sweep: &SweepFile, runs: &[Run]) -> Result<(), Error> {
        let seeds = sweep.axes.iter().flat_map(|axis| axis.points.iter().flat_map(|point| &point.settings));
        let Some(seed) = sweep.fixed.iter().chain(seeds).find(|s| s.key == "seed") else { return Ok(()) };
        match runs.iter().any(|run| run.params.all.contains_key("seed")) {
            true => Ok(()),
            false => Err(seed.value.error("none of the workloads has a parameter seed; leave the seed out")),
        }
    }
}

/// Tells hardware of different configurations apart.
pub fn hardware(config: &FabricConfig) -> String {
    config.hardware().tag()
}

/// The hardware of all runs, each elaborated once.
fn surveys(runs: &[Run]) -> Result<BTreeMap<String, Survey>, Error> {
    let distinct: BTreeMap<String, &FabricConfig> =
        runs.iter().map(|run| (hardware(&run.config), &run.config)).collect();
    distinct.into_par_iter().map(|(key, config)| Ok((key, Survey::new(config)?))).collect()
}

/// The fingerprint of a run on hardware with this fingerprint.
fn identity(run: &Run, fingerprint: u64) -> Result<String, Error> {
    let (program, params) = (run.program.as_ref(), run.params.all.clone());
    let identity = Identity::new(&run.config, program, params, BackendKind::Native, run.seed, None);
    let parts = (env!("CARGO_PKG_VERSION"), fingerprint, &identity);
    Ok(format!("{:016x}", Digest::of(serde_json::to_string(&parts)?.as_bytes())))
}

/// The configuration of the run of this number.
///
/// # Errors
/// A key or value that the fabric does not have.
pub fn fabric_of(sweep: &SweepFile, number: usize) -> Result<FabricConfig, Error> {
    let points = points(sweep, number);
    Ok(fabric(sweep, &Settings::new(sweep, &points)?)?.0)
}

/// The configuration of a run, and the keys in which it differs from the fabric's file.
pub(super) fn fabric(sweep: &SweepFile, settings: &Settings) -> Result<(FabricConfig, String), Error> {
    let name = &settings.fabric.value;
    let path = match name.ends_with(".toml") {
        true => sweep.folder.join(name).display().to_string(),
        false => name.clone(),
    };
    let original = FabricConfig::load(&path).map_err(|e| settings.fabric.error(e))?;
    let mut config = original.clone();
    for setting in &settings.keys {
        config.give(setting.value.place.clone(), &setting.key, &setting.value.value)?;
    }
    config.validate()?;
    let changed = setup::changed(&config, &original);
    let order = config.keys().into_iter().filter_map(|key| Some((key.name, changed.get(key.name)?)));
    let words = order.map(|(key, change)| format!("{key}={}", text(&change.run)));
    let words = words.collect::<Vec<_>>().join(" ");
    Ok((config, words))
}

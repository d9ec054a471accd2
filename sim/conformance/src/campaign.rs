//! A test on a fabric, in every placement and layout.

use crate::machine::{machine, model};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use thiserror::Error;
use weft_engine::Design;
use weft_fabric::config::{ConfigError, FabricConfig};
use weft_fabric::run::{FabricError, FabricRun, RunOptions, design};
use weft_litmus::model::Model;
use weft_litmus::model::drf::{Drf, Level};
use weft_litmus::paths::{Bounds, EnumError};
use weft_litmus::program::{FitError, How, Layout, LitmusProgram, Machine, Placement};
use weft_litmus::test::{Outcome, Test, Verdict};

/// Why a test could not be judged on a fabric.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum CampaignError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Enumeration(#[from] EnumError),
    #[error(transparent)]
    Fit(#[from] FitError),
    #[error(transparent)]
    Fabric(#[from] FabricError),
    #[error(
        "{test} has no run on {fabric}: the placements asked for do not exist there, or its scopes bind its threads; ask for placement cu, or all"
    )]
    Nowhere { test: String, fabric: String },
    #[error(
        "{test} has remote operations, and {fabric} with these keys has none, but scopes: give protocol=srsp, srsp-opt, brsp or hlrc of a fabric of family srsp, or scopes=false"
    )]
    Remote { test: String, fabric: String },
    #[error("{test} was given up in cycle {cycle}")]
    Stopped { test: String, cycle: u64 },
    #[error("the program for {test} has ended and left no ends")]
    NoEnds { test: String },
}

impl CampaignError {
    /// The user asked for something that cannot be, rather than a run having failed.
    pub fn is_input(&self) -> bool {
        match self {
            CampaignError::Fabric(e) => e.is_input(),
            CampaignError::Stopped { .. } | CampaignError::NoEnds { .. } => false,
            _ => true,
        }
    }
}

/// What is run of each test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Where threads are; placements that a fabric has not are left out.
    pub placements: Vec<Placement>,
    /// Where locations are.
    pub layouts: Vec<Layout>,
    /// Runs of each test, over all placements and layouts.
    pub runs: u32,
    /// Runs that are lanes of one wave, at most (of what the fabric's waves have): 1 is a run for each wave.
    pub lanes: u32,
    /// Bundles of such lanes that run at once, at most; 0: as many as find room.
    pub together: u32,
    /// Most ticks before an operation.
    pub delay: u32,
    /// Most operations of a wave that only makes traffic; 0: there are none.
    pub traffic: u32,
    /// Of everything drawn.
    pub seed: u64,
    /// Cycles after which a run has failed.
    pub max_cycles: u64,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            placements: Placement::ALL.to_vec(),
            layouts: Layout::USUAL.to_vec(),
            runs: 1000,
            lanes: 1,
            together: 0,
            delay: 64,
            traffic: 48,
            seed: 1,
            max_cycles: 100_000_000,
        }
    }
}

/// A model that says which ends a test may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judge {
    /// What the fabric promises.
    Fabric,
    /// The model of the language that the test is written in.
    Language,
}

impl Judge {
    /// The words for it.
    pub fn name(self) -> &'static str {
        match self {
            Judge::Fabric => "what the fabric promises",
            Judge::Language => "the model of the test's language",
        }
    }
}

/// Ends that a test may have.
#[derive(Clone, Debug)]
pub struct Allowed {
    /// By what the fabric promises.
    pub fabric: BTreeSet<Outcome>,
    /// By the model of the test's language, if it has one.
    pub language: Option<BTreeSet<Outcome>>,
    /// On a sequentially consistent machine.
    pub sequential: BTreeSet<Outcome>,
}

impl Allowed {
    /// Enumerates.
    ///
    /// # Errors
    /// A test that is too large.
    pub fn of(test: &Test, promise: Drf, bounds: Bounds) -> Result<Allowed, EnumError> {
        let language = Model::of(test.dialect).map(|model| model.ends(test, bounds)).transpose()?;
        let ends = |drf| Model::Drf(drf).ends(test, bounds);
        let sequential = ends(Drf { level: Level::Sc, scopes: false, data_coherent: true })?;
        Ok(Allowed { fabric: ends(promise)?, language, sequential })
    }

    /// Who forbids an end.
    fn forbids(&self, end: &Outcome) -> Option<Judge> {
        if !self.fabric.contains(end) {
            return Some(Judge::Fabric);
        }
        self.language.as_ref().filter(|ends| !ends.contains(end)).map(|_| Judge::Language)
    }
}

/// Runs in one placement and layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Where threads were.
    pub placement: Placement,
    /// Where locations were.
    pub layout: Layout,
    /// How often it ended how.
    pub ends: BTreeMap<Outcome, u32>,
}

/// An end that should not have been seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forbidden {
    /// Where threads were.
    pub placement: Placement,
    /// Where locations were.
    pub layout: Layout,
    /// Who forbids it.
    pub judge: Judge,
    /// How it ended.
    pub end: Outcome,
    /// How often.
    pub times: u32,
}

/// What a test showed on a fabric.
#[derive(Clone, Debug)]
pub struct TestReport {
    /// The test.
    pub test: String,
    /// What its condition is worth by what the fabric promises.
    pub promised: Verdict,
    /// What it may show.
    pub allowed: Allowed,
    /// Runs.
    pub cells: Vec<Cell>,
    /// Cycles simulated.
    pub cycles: u64,
}

impl TestReport {
    /// Runs in all.
    pub fn runs(&self) -> u64 {
        self.cells.iter().flat_map(|cell| cell.ends.values()).map(|n| u64::from(*n)).sum()
    }

    /// Ends seen that are not allowed.
    pub fn forbidden(&self) -> Vec<Forbidden> {
        let of = |cell: &Cell, end: &Outcome, times: u32| {
            let (placement, layout, judge) = (cell.placement, cell.layout, self.allowed.forbids(end)?);
            Some(Forbidden { placement, layout, judge, end: end.clone(), times })
        };
        let all = self.cells.iter().flat_map(|cell| cell.ends.iter().map(move |(end, n)| (cell, end, *n)));
        all.filter_map(|(cell, end, n)| of(cell, end, n)).collect()
    }

    /// How often an end was seen that meets a condition.
    pub fn seen(&self, holds: impl Fn(&Outcome) -> bool) -> u64 {
        let ends = self.cells.iter().flat_map(|cell| &cell.ends);
        ends.filter(|(end, _)| holds(end)).map(|(_, n)| u64::from(*n)).sum()
    }

    /// How often an end was seen that no sequentially consistent machine shows.
    pub fn weak(&self) -> u64 {
        self.seen(|end| !self.allowed.sequential.contains(end))
    }

    /// Allowed ends that no run has shown.
    pub fn never_seen(&self) -> Vec<&Outcome> {
        let language = |end: &&Outcome| self.allowed.language.as_ref().is_none_or(|all| all.contains(end));
        let allowed = self.allowed.fabric.iter().filter(language);
        allowed.filter(|end| self.seen(|other| other == *end) == 0).collect()
    }
}

/// A fabric on which tests run one after the other; its hardware is built once.
pub struct Campaign {
    config: FabricConfig,
    design: Arc<Design>,
    machine: Machine,
    promise: Drf,
    /// Remote operations do what they are for, or there are no scopes that would need them.
    remote: bool,
    bounds: Bounds,
    options: RunOptions,
}

impl Campaign {
    /// Tests on a fabric.
    ///
    /// # Errors
    /// An illegal configuration.
    pub fn new(config: &FabricConfig) -> Result<Campaign, CampaignError> {
        let mut config = config.clone();
        // Work-group b is to run on CU b.
        config.set("cta_schedule=contiguous")?;
        config.validate()?;
        let options = RunOptions::default();
        let design = design(&config, &options)?;
        let (machine, promise) = (machine(&config), model(&config));
        let remote = !promise.scopes || config.hardware().promotes();
        let bounds = Bounds::default();
        Ok(Campaign { config, design, machine, promise, remote, bounds, options })
    }

    /// The same, whose runs end as soon as somebody sets `stop` ([`CampaignError::Stopped`]).
    #[must_use]
    pub fn stopped_by(mut self, stop: Arc<AtomicBool>) -> Campaign {
        self.options.stop = Some(stop);
        self
    }

    /// What the fabric promises.
    pub fn promise(&self) -> Drf {
        self.promise
    }

    /// Where threads can be.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Runs a test as planned: all placements and layouts side by side.
    ///
    /// # Errors
    /// A test that does not fit, or a run that fails a check of the fabric.
    pub fn run(&self, test: &Test, plan: &Plan) -> Result<TestReport, CampaignError> {
        if test.promotes() && !self.remote {
            let (test, fabric) = (test.name.clone(), self.config.name.clone());
            return Err(CampaignError::Remote { test, fabric });
        }
        let allowed = Allowed::of(test, self.promise, self.bounds)?;
        let how = |runs, ways: &[(Placement, Layout)]| How {
            runs,
            ways: ways.to_vec(),
            lanes: plan.lanes.min(self.config.common.lanes),
            together: plan.together,
            delay: plan.delay,
            traffic: if self.config.common.waves > 1 { plan.traffic } else { 0 },
            scopes: self.promise.scopes,
            seed: plan.seed,
        };
        let all = plan.placements.iter().flat_map(|p| plan.layouts.iter().map(|l| (*p, *l)));
        let fits =
            |way: &(Placement, Layout)| LitmusProgram::new(test, &self.machine, how(1, &[*way])).is_ok();
        let ways: Vec<(Placement, Layout)> = all.filter(fits).collect();
        if ways.is_empty() {
            let (test, fabric) = (test.name.clone(), self.config.name.clone());
            return Err(CampaignError::Nowhere { test, fabric });
        }
        let program = Arc::new(LitmusProgram::new(test, &self.machine, how(plan.runs, &ways))?);
        let mut run = FabricRun::on(&self.config, &self.design, program.clone(), &self.options)?;
        if !run.run_to(plan.max_cycles)? {
            if run.cycle() < plan.max_cycles {
                return Err(CampaignError::Stopped { test: test.name.clone(), cycle: run.cycle() });
            }
            return Err(FabricError::Limit { cycles: plan.max_cycles }.into());
        }
        let cycles = run.cycle();
        run.finish()?;
        let cell = |(placement, layout)| Cell { placement, layout, ends: BTreeMap::new() };
        let mut cells: Vec<Cell> = ways.into_iter().map(cell).collect();
        let ends = program.ends();
        if ends.is_empty() {
            return Err(CampaignError::NoEnds { test: test.name.clone() });
        }
        for (way, end) in ends {
            *cells[way].ends.entry(end).or_insert(0) += 1;
        }
        cells.retain(|cell| !cell.ends.is_empty());
        let promised = test.judge(&allowed.fabric);
        Ok(TestReport { test: test.name.clone(), promised, allowed, cells, cycles })
    }
}

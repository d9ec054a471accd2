//! What is run: a program on a fabric.

use crate::failure::Failure;
use crate::graph::GraphArgs;
use crate::params::pairs;
use crate::setup::Params;
use crate::trace;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use weft_fabric::config::FabricConfig;
use weft_workload::Program;
use weft_workload::trace::TraceRead;

/// Arguments of all that runs a program on a fabric.
#[derive(clap::Args)]
pub struct Subject {
    /// A built-in fabric (see `weft list fabrics`) or a TOML file.
    pub fabric: String,
    /// Program (see `weft list workloads`), or a trace: a folder of Accel-Sim traces, a .wtrace or .wtrb, also .gz, .xz or .zst.
    #[arg(long, value_name = "NAME|TRACE", default_value = "pagerank")]
    pub workload: String,
    #[command(flatten)]
    pub graph: GraphArgs,
    /// Parameter of the program; may be given several times.
    #[arg(long = "param", value_name = "KEY=VALUE")]
    pub params: Vec<String>,
    /// Key of the fabric's configuration; may be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Seed of the program's random data, where it has any.
    #[arg(long)]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub reading: trace::TraceArgs,
}

impl Subject {
    /// The configuration as the fabric's file has it, and that of the run.
    pub fn configs(&self) -> Result<(FabricConfig, FabricConfig), Failure> {
        let original = FabricConfig::load(&self.fabric).map_err(Failure::input)?;
        let mut config = original.clone();
        for set in &self.set {
            config.set(set).map_err(Failure::input)?;
        }
        config.validate().map_err(Failure::input)?;
        Ok((original, config))
    }

    /// The program, what it is built from, and what was read of a trace.
    pub fn program(
        &self,
        config: &FabricConfig,
    ) -> Result<(Arc<dyn Program>, Params, Option<TraceRead>), Failure> {
        let mut params = pairs("--param", &self.params)?;
        if weft_workload::trace::is_trace(&self.workload) {
            let given = [("--param", !params.is_empty()), ("--graph", self.graph.file().is_some())];
            trace::takes_nothing(&self.workload, &given).map_err(Failure::input)?;
            self.graph.read()?;
            let built = trace::program(Path::new(&self.workload), &self.reading.options());
            let (program, params, read) = built.map_err(Failure::input)?;
            return Ok((program, Params::of_trace(params), Some(read)));
        }
        self.reading.none(&self.workload).map_err(Failure::input)?;
        if let Some(seed) = self.seed {
            let known = weft_workload::workloads().iter().find(|w| w.name == self.workload);
            if known.is_some_and(|w| w.params.iter().any(|p| p.name == "seed")) {
                params.entry("seed".into()).or_insert(seed.to_string());
            }
        }
        let graph = self.graph.read()?;
        let fitted = config.fit(&self.workload, &params, graph.as_ref()).map_err(Failure::input)?;
        let given: BTreeSet<String> = params.into_keys().collect();
        Ok((fitted.program.clone(), Params::new(&fitted, given), None))
    }
}

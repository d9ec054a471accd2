//! `weft cosim FABRIC --unit PATH`: what a unit's neighbours really send it, recorded while the fabric runs a program.

use super::Args;
use crate::failure::Failure;
use std::collections::BTreeMap;
use std::sync::Arc;
use weft_fabric::config::FabricConfig;
use weft_rtl::ir::Module;
use weft_tools::cosim::{RecordError, Recording, record_program};

/// The unit's module and its ports in at most so many cycles.
pub(super) fn record(args: &Args, path: &str, cycles: u64) -> Result<(Arc<Module>, Recording), Failure> {
    let mut config = FabricConfig::load(&args.block.block).map_err(Failure::input)?;
    for (key, value) in args.block.given()? {
        config.set(&format!("{key}={value}")).map_err(Failure::input)?;
    }
    let program = config.fit(&args.workload, &BTreeMap::new(), None).map_err(Failure::input)?.program;
    let mut units = record_program(&config, program, &[path], cycles).map_err(|error| match error {
        RecordError::Fabric(cause) if !cause.is_input() => Failure::check(cause),
        input => Failure::input(input),
    })?;
    Ok(units.pop().expect("one unit is asked for, and is recorded"))
}

/// The words that name the recording in a replay command.
pub(super) fn words(args: &Args) -> String {
    let named = |path: &String| format!(" --unit {path} --workload {}", args.workload);
    args.unit.as_ref().map(named).unwrap_or_default()
}

//! The traffic of units inside a fabric that runs a program: what its neighbours really send, to be replayed on their Verilog.

use super::record::{RecordError, Recorder, Recording};
use std::sync::{Arc, Mutex, PoisonError};
use weft_engine::Probes;
use weft_fabric::config::FabricConfig;
use weft_fabric::run::{FabricRun, RunOptions};
use weft_rtl::ir::Module;
use weft_workload::Program;

/// Runs a program on a fabric for at most `cycles` cycles (to its end, if that comes first) and records the ports of the units with these hierarchical
/// names, such as `gpu0.l2_1`. Gives each unit's module and recording, in the same order.
///
/// # Errors
/// A configuration or program that does not fit, a fabric without such a unit, a check of the run that failed.
pub fn record_program(
    config: &FabricConfig,
    program: Arc<dyn Program>,
    units: &[&str],
    cycles: u64,
) -> Result<Vec<(Arc<Module>, Recording)>, RecordError> {
    let options = RunOptions { probes: Probes::None, ..RunOptions::default() };
    let mut config = config.clone();
    // Observers are off, on which the checks of a family may rely; the replay compares outputs only.
    config.common.checks = false;
    let mut run = FabricRun::new(&config, program, &options)?;
    let recorders =
        units.iter().map(|unit| Recorder::new(run.sim(), unit)).collect::<Result<Vec<_>, RecordError>>()?;
    let modules: Vec<Arc<Module>> = recorders.iter().map(|recorder| recorder.module(run.sim())).collect();
    let shared = Arc::new(Mutex::new(recorders));
    let own = shared.clone();
    run.watch(Box::new(move |sim| {
        own.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter_mut()
            .for_each(|recorder| recorder.sample(sim));
    }));
    run.run_to(cycles)?;
    drop(run);
    let recorders = Arc::into_inner(shared).expect("the run that shared them is gone");
    let recorders = recorders.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(modules.into_iter().zip(recorders.into_iter().map(Recorder::finish)).collect())
}

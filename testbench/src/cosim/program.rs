//! The traffic of a unit inside a fabric that runs a program: what its neighbours really send, to be replayed on its Verilog.

use super::record::{RecordError, Recorder, Recording};
use std::sync::{Arc, Mutex, PoisonError};
use weft_engine::Probes;
use weft_fabric::config::FabricConfig;
use weft_fabric::run::{FabricRun, RunOptions};
use weft_rtl::ir::Module;
use weft_workload::Program;

/// Runs a program on a fabric for at most `cycles` cycles (to its end, if that comes first) and records the ports of the unit with this hierarchical
/// name, such as `gpu0.l2_1`. Gives the unit's module and the recording.
///
/// # Errors
/// A configuration or program that does not fit, a fabric without that unit, a check of the run that failed.
pub fn record_program(
    config: &FabricConfig,
    program: Arc<dyn Program>,
    unit: &str,
    cycles: u64,
) -> Result<(Arc<Module>, Recording), RecordError> {
    let options = RunOptions { probes: Probes::None, ..RunOptions::default() };
    let mut config = config.clone();
    // Observers are off, on which the checks of a family may rely; the replay compares outputs only.
    config.common.checks = false;
    let mut run = FabricRun::new(&config, program, &options)?;
    let recorder = Recorder::new(run.sim(), unit)?;
    let module = recorder.module(run.sim());
    let shared = Arc::new(Mutex::new(recorder));
    let own = shared.clone();
    run.watch(Box::new(move |sim| own.lock().unwrap_or_else(PoisonError::into_inner).sample(sim)));
    run.run_to(cycles)?;
    drop(run);
    let recorder = Arc::into_inner(shared).expect("the run that shared it is gone");
    Ok((module, recorder.into_inner().unwrap_or_else(PoisonError::into_inner).finish()))
}

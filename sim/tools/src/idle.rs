//! What idle compute units cost: the closed fabric with a few busy CUs and any number of idle ones.

use crate::cpu::thread_seconds;
use serde::Serialize;
use weft_blocks::fabric::{ClosedParams, closed_fabric};
use weft_blocks::msg::Sys;
use weft_blocks::registry::BlockError;
use weft_engine::{Design, EngineError, Options, Probes, Sim};

/// Cycles before the measurement: L1s and directories clear their memories after reset, and a unit at rest is noticed only some cycles later.
const SETTLE: u64 = 1_000;

/// A measured fabric. CUs are counted over all GPUs.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct IdleCost {
    /// CUs that send.
    pub busy: u32,
    /// CUs that never do; each has an L1.
    pub idle: u32,
    /// Clocked units of the whole fabric.
    pub units: usize,
    /// Units clocked in a cycle, on average.
    pub clocked_per_cycle: f64,
    /// Cycles in a second of CPU time, in the fastest run.
    pub cycles_per_second: f64,
    /// Units that were clocked for idle CUs and their L1s, on average per cycle.
    pub idle_clocked_per_cycle: f64,
}

/// Why there is no measurement.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum IdleError {
    #[error(transparent)]
    Block(#[from] BlockError),
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Runs 4 GPUs with `busy` busy and `idle` idle CUs each, from the 1000th cycle on: once counting the clocked units, then `repeat` times for speed, of which the
/// fastest counts.
///
/// # Errors
/// Numbers that the fabric refuses.
pub fn idle_cost(busy: u32, idle: u32, cycles: u64, repeat: u32) -> Result<IdleCost, IdleError> {
    let bench = ClosedParams::bench();
    let sys = Sys { l1s: busy + idle, ..bench.fabric.sys.clone() };
    let gpus = sys.gpus;
    let mut params = ClosedParams { active: busy, ..bench };
    params.fabric.sys = sys;
    let module = closed_fabric(&params)?;
    let design = Design::new(&module, Options { probes: Probes::None, ..Options::default() })?;
    let enabled = || {
        let mut sim = Sim::new(&design);
        let enable = sim.input("enable").expect("a port of every closed fabric");
        sim.set(enable, 1);
        (0..SETTLE).for_each(|_| sim.step());
        sim
    };
    let idles: Vec<usize> = (0..gpus)
        .flat_map(|g| {
            (busy..busy + idle).flat_map(move |c| [format!("g{g}_cu{c}"), format!("gpu{g}.l1_{c}")])
        })
        .filter_map(|path| design.units.iter().position(|u| u.path == path))
        .collect();
    let mut sim = enabled();
    let (mut clocked, mut for_idle) = (0u64, 0u64);
    for _ in 0..cycles {
        clocked += sim.awake_units() as u64;
        for_idle += idles.iter().filter(|u| sim.is_awake(**u)).count() as u64;
        sim.step();
    }
    let time = || {
        let mut sim = enabled();
        let start = thread_seconds();
        (0..cycles).for_each(|_| sim.step());
        thread_seconds() - start
    };
    let seconds = (0..repeat).map(|_| time()).fold(f64::INFINITY, f64::min);
    Ok(IdleCost {
        busy: gpus * busy,
        idle: gpus * idle,
        units: design.units.len(),
        clocked_per_cycle: clocked as f64 / cycles.max(1) as f64,
        cycles_per_second: cycles as f64 / seconds.max(1e-9),
        idle_clocked_per_cycle: for_idle as f64 / cycles.max(1) as f64,
    })
}

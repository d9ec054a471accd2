//! What can be known of a run before it: whether the program fits, and what the hardware counts.

use super::FabricError;
use super::outside::all_counters;
use super::report::{LEFT, block_of, of_units};
use super::room;
use super::stream::Copied;
use crate::config::FabricConfig;
use crate::cu::Cu;
use crate::memory::Memory;
use crate::placement::PageTable;
use std::collections::BTreeMap;
use std::sync::Arc;
use weft_engine::{BackendKind, Design, Options, Sim};
use weft_rtl::ir::ProbeKind;
use weft_workload::ideal::FlatMemory;
use weft_workload::{HostStep, Program};

/// The hardware of a configuration, elaborated but not compiled.
#[derive(Clone, Debug)]
pub struct Survey {
    /// Tells hardware of other behaviour or other counters apart.
    pub fingerprint: u64,
    /// Name (`block.counter`, as in a run's record) and sentence of each counter.
    pub counters: BTreeMap<String, String>,
    /// Bytes of its state in a simulation.
    pub state_bytes: u64,
}

impl Survey {
    /// Elaborates the hardware.
    ///
    /// # Errors
    /// A configuration that cannot be built.
    pub fn new(config: &FabricConfig) -> Result<Survey, FabricError> {
        config.validate()?;
        let module = super::module(config)?;
        let design = Design::new(&module, Options { backend: BackendKind::Interp, ..Options::default() })?;
        let mut sim = Sim::new(&design);
        let hardware = config.hardware();
        let around = hardware.surroundings(&mut sim, Memory::new())?;
        let counted = sim.probes().filter(|probe| probe.kind == ProbeKind::Count);
        let mut counters: BTreeMap<String, String> = counted
            .map(|probe| (format!("{}.{}", block_of(probe.unit), probe.name), probe.text.to_string()))
            .collect();
        counters.extend(of_units(&hardware.shape()));
        counters.insert(LEFT.0.into(), LEFT.1.into());
        counters.extend(around.counters().into_iter().map(|(name, counter)| (name, counter.about)));
        if hardware.links().host.is_some() {
            let moved = Copied::default().all_counters().into_iter().chain(all_counters());
            counters.extend(moved.map(|(name, counter)| (name, counter.about)));
        }
        let state_bytes = 8 * sim.limbs_in_all() as u64;
        Ok(Survey { fingerprint: design.fingerprint(), counters, state_bytes })
    }
}

/// Refuses a program that does not fit into the memories or the compute units. Of its kernels the first is looked at: the others
/// may depend on what it computes, and are looked at when they are launched.
///
/// # Errors
/// What does not fit, with a remedy.
pub fn check_program(config: &FabricConfig, program: &Arc<dyn Program>) -> Result<(), FabricError> {
    PageTable::new(program.arrays(), config)?;
    let hardware = config.hardware();
    let shape = hardware.shape();
    let unit = hardware.compute_unit(shape.cores_each(), config.common.cu());
    Cu::new(unit.clone(), program.clone(), 0, 0)?;
    let memory = FlatMemory::load(&**program);
    let steps = (0..).map_while(|index| program.host_step(index, &|addr, count| memory.read(addr, count)));
    // What the host stores before its first kernel does not change which kernel that is.
    let first = steps.take(COPIES).find_map(|step| match step {
        HostStep::Launch(kernel) => Some(kernel),
        _ => None,
    });
    let schedule = config.common.cta_schedule;
    first.map_or(Ok(()), |kernel| Ok(room::check(program.name(), &kernel, &shape, schedule, &unit)?))
}

/// Steps of the host that are looked through for a first kernel.
const COPIES: usize = 16;

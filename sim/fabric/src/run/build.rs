//! The models around a fabric's hardware, as a run begins with them.

use super::calls::HostCalls;
use super::copies::HostCopies;
use super::course::Course;
use super::fences::NodeFences;
use super::groups::Group;
use super::memory::HOST;
use super::model::FabricModel;
use super::observe::{Notes, Observer};
use super::outside::{Areas, Outside};
use super::processor::Processor;
use super::ranks::Company;
use super::seat::Seat;
use super::spread::{PARTS, spread};
use super::{FabricError, RunOptions};
use crate::check::{CheckOptions, Checks};
use crate::config::FabricConfig;
use crate::cu::{Cu, CuMode};
use crate::family::{Hardware, Surroundings};
use crate::memory::Memory;
use crate::placement::PageTable;
use std::sync::Arc;
use weft_engine::{Design, Sim};
use weft_workload::Program;

/// A simulation and the models around it for so many threads as [`RunOptions`] say, or as pay, and that number.
///
/// # Errors
/// As [`model`].
pub(super) fn by_threads(
    config: &FabricConfig,
    design: &Arc<Design>,
    program: &Arc<dyn Program>,
    table: &Arc<PageTable>,
    options: &RunOptions,
) -> Result<(Sim, FabricModel, usize), FabricError> {
    let ranks = options.others().map_or(1, |link| link.ranks());
    let seen = options.waves.is_some() || options.events.is_some();
    let wanted = match options.threads {
        0 if ranks > 1 || seen => 1,
        0 => paying(config.hardware().shape().nodes as usize),
        threads => threads,
    };
    let stand = |parts: usize| {
        let mut sim = match parts {
            1 => Sim::new(design),
            parts => Sim::cut(design, &spread(design, parts)),
        };
        let model = model(config, program, table.clone(), &mut sim)?;
        // A thread without a part would only wait.
        let threads = (parts / ranks).min(sim.parts().count());
        Ok((sim, model, threads))
    };
    let stood = stand(wanted * ranks);
    match stood {
        Ok((_, model, _)) if options.threads == 0 && wanted > 1 && !model.is_shared() => stand(1),
        stood => stood,
    }
}

/// Threads that pay where nodes can be shared out.
fn paying(nodes: usize) -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let most = processors.min(PARTS);
    match nodes {
        1 => most.min(2),
        nodes => (1..=most).filter(|threads| nodes.is_multiple_of(*threads)).max().unwrap_or(1),
    }
}

/// The models around a fabric's hardware, with the program's arrays in memory.
///
/// # Errors
/// Hardware without the ports that they need; a program's compute units that cannot be made.
pub(super) fn model(
    config: &FabricConfig,
    program: &Arc<dyn Program>,
    table: Arc<PageTable>,
    sim: &mut Sim,
) -> Result<FabricModel, FabricError> {
    let (hardware, common) = (config.hardware(), &config.common);
    let shape = hardware.shape();
    let (mut memory, mut host) = (Memory::new(), Memory::new());
    for array in program.arrays() {
        table.for_pieces(array.addr, array.init.len(), |at, range| match at {
            Some(at) => memory.write(at, &array.init[range]),
            None => host.write(array.addr + range.start as u64, &array.init[range]),
        });
    }
    let around = hardware.surroundings(sim, memory)?;
    let mut checks = checks(config, &*hardware, sim, &*around)?;
    let (areas, links) = (Areas::new(program.arrays()), hardware.links());
    // What the host has performed, and which pages may move, is told by answers.
    let acks = hardware.mode().acks || !areas.is_empty();
    let mode = CuMode { acks, ..hardware.mode() };
    for array in program.arrays() {
        table.for_pieces(array.addr, array.init.len(), |at, range| {
            let at = at.or_else(|| areas.mark(array.addr + range.start as u64).filter(|at| at & HOST != 0));
            if let (Some(at), Some(checks)) = (at, &mut checks) {
                checks.host_write(at, &array.init[range]);
            }
        });
    }
    let mut seats = Vec::new();
    for (node, number) in (0..shape.nodes).flat_map(|node| (0..shape.cus).map(move |c| (node, c))) {
        let params = hardware.compute_unit(number, common.cu());
        let make = if number < shape.cores_each() { Cu::core } else { Cu::new };
        let cu = make(params, program.clone(), node, number)?.with_mode(mode).inspecting(common.gsi);
        seats.push(Seat::new(sim, cu, node, number, &*hardware)?);
    }
    let fences = (0..shape.nodes).map(|node| {
        let common = hardware.common_releases();
        NodeFences::new(sim, node, hardware.has_fences().then_some(common))
    });
    let fences = fences.collect::<Result<Vec<_>, _>>()?;
    let outside = Outside::new(program.arrays(), links, shape);
    // A stash needs to know at once where a page is.
    let stashes = (0..shape.cus).any(|number| hardware.stash(number).is_some());
    let together = outside.is_some() || around.hears() || stashes && table.on_touch();
    let groups = if together { Vec::new() } else { groups(sim, &seats) };
    let parts = sim.parts().count();
    let notes = Notes::new(parts, groups.iter().map(|group| group.part).collect());
    let whole = groups.iter().all(|group| group.is_of_whole_nodes(sim, shape.cus as usize, &fences));
    let checked = checks.is_some();
    Ok(FabricModel {
        seats,
        fences,
        around,
        processor: Processor::new(&shape, common.cta_schedule, hardware.kernel_acquires(), hardware.fold())
            .with_copies(HostCopies::new(common, &table, program.arrays()))
            .with_calls(HostCalls::new(common))
            .of(program.name())
            .resting(hardware.rests())
            .inspecting(common.gsi),
        table,
        host,
        program: program.clone(),
        observer: Observer { meter: hardware.meter(), checks, recorder: None },
        stop: None,
        outside,
        groups,
        acted: 0,
        whole,
        courses: vec![Course::default(); parts],
        told: notes.clone(),
        notes,
        checked,
        company: Company::default(),
        shape,
        links,
    })
}

/// Compute units by parts of a simulation that is cut, if each has all its ports in one.
fn groups(sim: &mut Sim, seats: &[Seat]) -> Vec<Group> {
    if sim.parts().count() == 1 {
        return Vec::new();
    }
    let parts: Option<Vec<usize>> = seats.iter().map(|seat| seat.part(sim)).collect();
    parts.map_or(Vec::new(), |parts| Group::of(&parts))
}

/// The checks that the configuration asks for.
fn checks(
    config: &FabricConfig,
    hardware: &dyn Hardware,
    sim: &Sim,
    around: &dyn Surroundings,
) -> Result<Option<Checks>, FabricError> {
    let wanted = if config.common.checks { CheckOptions::ALL } else { CheckOptions::NONE };
    let wanted = CheckOptions { watchdog: config.common.watchdog.map_or(0, u64::from), ..wanted };
    Ok(match wanted {
        CheckOptions::NONE => None,
        some => Some(Checks::new(sim.design(), hardware, around.channels(), some)?),
    })
}

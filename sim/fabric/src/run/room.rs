//! Whether a kernel finds room on the compute units of a fabric.

use super::schedule::part;
use crate::config::CtaSchedule;
use crate::cu::CuParams;
use crate::family::Shape;
use thiserror::Error;
use weft_workload::Kernel;

/// What a fabric has no room for.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoRoom {
    /// More CPU threads than CPU cores.
    #[error(
        "kernel {kernel} has {threads} threads for CPU cores, and the fabric has {cores} of them: give the program fewer (its parameter cpu_threads), or take a fabric with more (spandex-soc, spandex-4gpu and flat-gpu have a key cpus)"
    )]
    Threads {
        /// The kernel.
        kernel: String,
        /// Its CPU threads.
        threads: u32,
        /// CPU cores of the fabric.
        cores: u32,
    },
    /// Work-groups, and no CU.
    #[error("kernel {kernel} has work-groups for CUs, and the fabric has none (key cus)")]
    NoUnits {
        /// The kernel.
        kernel: String,
    },
    /// A work-group that is too large for a CU.
    #[error(
        "a work-group of kernel {kernel} needs {waves} waves and {lds_bytes} bytes of scratchpad, more than an empty compute unit has ({has_waves} waves, {has_lds} bytes): give the program smaller work-groups, or the compute units more (keys waves, blocks, lds_bytes)"
    )]
    Group {
        /// The kernel.
        kernel: String,
        /// Waves of a work-group.
        waves: u32,
        /// Bytes of scratchpad of a work-group.
        lds_bytes: u32,
        /// Waves of a CU.
        has_waves: u32,
        /// Bytes of scratchpad of a CU.
        has_lds: u32,
    },
    /// More work-groups that wait for one another than can be resident.
    #[error(
        "the work-groups of kernel {kernel} wait for one another, and {most} of them share a GPU that holds {room}: give the program fewer (its parameter {parameter}), or the GPUs more room (keys cus, waves, blocks, lds_bytes)"
    )]
    Resident {
        /// The kernel.
        kernel: String,
        /// Work-groups of the GPU (or GPM) that has most.
        most: u32,
        /// Work-groups that it holds at once.
        room: u32,
        /// What all GPUs (or GPMs) together hold at once.
        all: u32,
        /// The program's parameter that says how many there are.
        parameter: &'static str,
    },
}

/// Parameters by which programs are told how many work-groups wait for one another, the one that decides first.
const COUNTS: [&str; 2] = ["blocks", "cus"];

/// The parameter that says how many work-groups of a program wait for one another.
pub(crate) fn count_of(workload: &str) -> &'static str {
    let known = |key: &&&str| weft_workload::default_of(workload, key).is_some();
    COUNTS.iter().find(known).copied().unwrap_or(COUNTS[0])
}

/// Refuses a kernel of program `workload` that does not fit on an idle fabric whose compute units, beside the CPU cores, are `unit`.
///
/// # Errors
/// The first thing that there is no room for.
pub(crate) fn check(
    workload: &str,
    kernel: &Kernel,
    shape: &Shape,
    schedule: CtaSchedule,
    unit: &CuParams,
) -> Result<(), NoRoom> {
    let name = || kernel.name.clone();
    let (threads, cores) = (kernel.cpus, shape.cores);
    if threads > cores {
        return Err(NoRoom::Threads { kernel: name(), threads, cores });
    }
    if kernel.blocks == kernel.cpus {
        return Ok(());
    }
    let cus = shape.cus - shape.cores_each();
    if cus == 0 {
        return Err(NoRoom::NoUnits { kernel: name() });
    }
    let each = unit.capacity(kernel);
    if each == 0 {
        let (waves, lds_bytes) = (kernel.waves_per_block, kernel.lds_bytes);
        let (has_waves, has_lds) = (unit.waves, unit.lds_bytes);
        return Err(NoRoom::Group { kernel: name(), waves, lds_bytes, has_waves, has_lds });
    }
    let room = each.saturating_mul(cus);
    let share = |node| part(schedule, shape, node, kernel.cpus..kernel.blocks).left();
    let most = (0..shape.nodes).map(share).max().unwrap_or(0);
    if kernel.co_resident && most > room {
        let all = room.saturating_mul(shape.nodes);
        return Err(NoRoom::Resident { kernel: name(), most, room, all, parameter: count_of(workload) });
    }
    Ok(())
}

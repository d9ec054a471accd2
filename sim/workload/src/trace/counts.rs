//! A trace in numbers: what was read, and what each kernel does.

use super::accel_sim::LOCAL;
use super::op::{TraceAccess, TraceOp};
use super::{Trace, TraceKernel, TraceStep};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of the pieces of memory that are counted as touched.
const PIECE: u64 = 64;

/// Operations of a kernel, or of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Accesses {
    /// Loads from global memory.
    pub loads: u64,
    /// Stores to global memory.
    pub stores: u64,
    /// Atomics and reductions on global memory.
    pub atomics: u64,
    /// Loads from the threads' own memory, which lies in global memory.
    pub local_loads: u64,
    /// Stores there.
    pub local_stores: u64,
    /// Loads from scratchpads.
    pub scratchpad_loads: u64,
    /// Stores to scratchpads.
    pub scratchpad_stores: u64,
}

impl Accesses {
    fn count(&mut self, op: &TraceOp) {
        let local =
            |access: &TraceAccess| access.mask != 0 && access.addrs.at(access.mask.trailing_zeros()) >= LOCAL;
        let count = match op {
            TraceOp::Load { access, .. } if local(access) => &mut self.local_loads,
            TraceOp::Store { access, .. } if local(access) => &mut self.local_stores,
            TraceOp::Load { .. } => &mut self.loads,
            TraceOp::Store { .. } => &mut self.stores,
            TraceOp::Amo { .. } => &mut self.atomics,
            TraceOp::LdsLoad { .. } => &mut self.scratchpad_loads,
            TraceOp::LdsStore { .. } => &mut self.scratchpad_stores,
            _ => return,
        };
        *count += 1;
    }
}

/// What was read as a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TraceRead {
    /// The trace, as it was named.
    pub trace: String,
    /// Its format.
    pub format: &'static str,
    /// Kernels.
    pub kernels: u64,
    /// Blocks with a wave that does something.
    pub blocks: u64,
    /// Blocks of all grids.
    pub grid_blocks: u64,
    /// Waves that do something.
    pub waves: u64,
    /// Waves of all grids.
    pub grid_waves: u64,
    /// Instructions of an import.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<u64>,
    /// Operations of all waves.
    pub operations: u64,
    /// Accesses among them, by memory.
    pub accesses: Accesses,
    /// Copies of the host to the device.
    pub copies: u64,
    /// Bytes that they bring; `None` beyond 64 bits.
    pub copied_bytes: Option<u64>,
    /// Lines of an import's list that are left out: neither copies to the device nor kernels. By call.
    pub skipped: BTreeMap<String, u64>,
    /// Opcodes of an import whose accesses are left out, with how often they came.
    pub left_out: BTreeMap<String, u64>,
    /// Opcodes of an import that are in no table, with how often they came: taken as arithmetic of 4 ticks.
    pub unknown_opcodes: BTreeMap<String, u64>,
    /// What was assumed, in sentences.
    pub notes: Vec<String>,
}

impl TraceRead {
    /// What a trace holds, with nothing left out.
    pub(super) fn new(format: &'static str, trace: &Trace) -> TraceRead {
        let mut read = TraceRead { format, copied_bytes: Some(0), ..TraceRead::default() };
        for step in &trace.steps {
            match step {
                TraceStep::Copy { bytes, .. } => {
                    read.copies += 1;
                    read.copied_bytes = read.copied_bytes.and_then(|all| all.checked_add(*bytes));
                }
                TraceStep::Kernel(kernel) => read.kernel(kernel),
            }
        }
        read
    }

    fn kernel(&mut self, kernel: &TraceKernel) {
        self.kernels += 1;
        self.blocks += kernel.recorded_blocks();
        self.grid_blocks += u64::from(kernel.blocks());
        self.waves += kernel.waves.len() as u64;
        self.grid_waves += kernel.wave_count();
        for op in kernel.all_ops() {
            self.operations += 1;
            self.accesses.count(&op);
        }
    }

    /// One line for people: format, kernels, blocks, waves, instructions, accesses, and all that was left
    /// out.
    pub fn sentence(&self) -> String {
        let of = |some: u64, all: u64, what: &str| match some == all {
            true => counted(all, what),
            false => format!("{some} of {}", counted(all, what)),
        };
        let mut parts = vec![
            self.format.to_string(),
            counted(self.kernels, "kernel"),
            of(self.blocks, self.grid_blocks, "block"),
            of(self.waves, self.grid_waves, "wave"),
            match self.instructions {
                Some(count) => counted(count, "instruction"),
                None => counted(self.operations, "operation"),
            },
        ];
        let a = &self.accesses;
        let kinds = [
            (a.loads, "load"),
            (a.stores, "store"),
            (a.atomics, "atomic"),
            (a.local_loads, "local load"),
            (a.local_stores, "local store"),
            (a.scratchpad_loads, "scratchpad load"),
            (a.scratchpad_stores, "scratchpad store"),
        ];
        parts.extend(
            kinds.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| counted(count, what)),
        );
        if self.copies > 0 {
            let (what, bytes) =
                (if self.copies == 1 { "copy" } else { "copies" }, self.copied_bytes.unwrap_or(0));
            parts.push(format!("{} {what} of {bytes} bytes to the device", self.copies));
        }
        let list = |of: &BTreeMap<String, u64>| {
            of.iter().map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>().join(", ")
        };
        let left = [
            ("skipped calls", list(&self.skipped)),
            ("accesses left out", list(&self.left_out)),
            ("unknown opcodes as arithmetic", list(&self.unknown_opcodes)),
            ("assumed", self.notes.join(", ")),
        ];
        let left = left.into_iter().filter(|(_, list)| !list.is_empty());
        let left: Vec<String> = left.map(|(what, list)| format!("; {what}: {list}")).collect();
        format!("{}{}", parts.join(", "), left.concat())
    }
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// What a kernel does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Name.
    pub kernel: String,
    /// Blocks.
    pub blocks: u32,
    /// Waves that do something.
    pub waves: usize,
    /// Operations but for awaits and ends.
    pub operations: u64,
    /// Arithmetic.
    pub compute: u64,
    /// Loads from global and local memory.
    pub loads: u64,
    /// Stores to global and local memory.
    pub stores: u64,
    /// Atomics and reductions on global memory.
    pub atomics: u64,
    /// Loads from and stores to the scratchpad.
    pub scratchpad: u64,
    /// Fences.
    pub fences: u64,
    /// Barriers.
    pub barriers: u64,
    /// Bytes of global memory touched, in whole pieces of 64.
    pub touched_bytes: u64,
    /// Accesses by memory.
    pub accesses: Accesses,
}

impl Counts {
    /// Counts a kernel.
    pub fn of(kernel: &TraceKernel) -> Counts {
        let mut c = Counts {
            kernel: kernel.name.clone(),
            blocks: kernel.blocks(),
            waves: kernel.waves.len(),
            ..Counts::default()
        };
        let mut touched = BTreeSet::new();
        for op in kernel.all_ops() {
            let count = match &op {
                TraceOp::Compute { .. } => &mut c.compute,
                TraceOp::Load { .. } => &mut c.loads,
                TraceOp::Store { .. } => &mut c.stores,
                TraceOp::Amo { .. } => &mut c.atomics,
                TraceOp::LdsLoad { .. } | TraceOp::LdsStore { .. } => &mut c.scratchpad,
                TraceOp::Fence { .. } => &mut c.fences,
                TraceOp::Barrier => &mut c.barriers,
                TraceOp::Await { .. } | TraceOp::End => continue,
            };
            *count += 1;
            c.operations += 1;
            c.accesses.count(&op);
            if let TraceOp::Load { access, .. }
            | TraceOp::Store { access, .. }
            | TraceOp::Amo { access, .. } = &op
            {
                let lanes = (0..64).filter(|lane| access.mask >> lane & 1 == 1);
                touched.extend(lanes.map(|lane| access.addrs.at(lane) / PIECE));
            }
        }
        c.touched_bytes = touched.len() as u64 * PIECE;
        c
    }
}

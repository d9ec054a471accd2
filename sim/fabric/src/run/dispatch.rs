//! Work-groups of a kernel on their way to the compute units of a node (cu-and-consistency.md section 1.2).

use super::fences::NodeFences;
use super::schedule::{Part, units};
use super::seat::Seat;
use crate::config::CtaSchedule;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use weft_workload::Kernel;

/// Blocks of one node not yet launched.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Blocks {
    part: Part,
    /// No compute unit had room when last asked.
    full: bool,
    /// The compute unit asked first for the next block.
    turn: usize,
    /// Compute units that have sent KEND.
    ended: usize,
    /// Work-groups and CPU threads launched so far, of all kernels.
    launched: u64,
}

/// What holds for all nodes while work-groups run.
#[derive(Clone, Copy)]
pub(super) struct Rules<'a> {
    pub kernel: &'a Arc<Kernel>,
    pub schedule: CtaSchedule,
    /// CPU cores of a node, the first of its compute units.
    pub cores: usize,
}

/// What nodes do by themselves until all of them are through with it.
#[derive(Clone, Copy)]
pub(super) enum Going<'a> {
    /// Work-groups are launched and run.
    Run(Rules<'a>),
    /// The command processor waits for this at each of them.
    Wait(Waits),
}

/// What the command processor waits for at a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Waits {
    /// The fence that it has asked for.
    Fence,
    /// Compute units answer KBEGIN.
    Begin,
    /// Compute units answer KEND.
    End,
    /// Stores of the host or of a copy engine are performed.
    Copy,
}

impl Waits {
    /// A node with these fences and compute units is through.
    pub fn over(self, fences: &NodeFences, seats: &[Seat]) -> bool {
        match self {
            Waits::Fence => !fences.serves_processor(),
            Waits::Begin => seats.iter().all(|seat| seat.cu.kbegin_done()),
            Waits::End => seats.iter().all(|seat| seat.cu.kend_done()),
            Waits::Copy => seats.iter().all(|seat| seat.host.is_empty() && seat.host_open == 0),
        }
    }
}

impl Blocks {
    /// A kernel begins, of which the node gets this part.
    pub fn begin(&mut self, part: Part) {
        *self = Blocks { part, launched: self.launched, ..Blocks::default() };
    }

    /// A compute unit of this node has room again.
    pub fn freed(&mut self) {
        self.full = false;
    }

    /// All compute units of the node have ended the kernel.
    pub fn over(&self, cus: usize) -> bool {
        self.ended == cus
    }

    /// Launches a work-group, or a CPU thread, on a compute unit that has room.
    pub fn launch(
        &mut self,
        seat: &mut Seat,
        kernel: &Arc<Kernel>,
        block: u32,
        now: u64,
    ) -> Result<(), String> {
        seat.cu.launch(kernel, block, self.launched, now).map_err(|e| e.to_string())?;
        seat.next = now;
        self.launched += 1;
        Ok(())
    }

    /// Launches at most one work-group on the node's compute units, or ends the kernel on those that have nothing left. Returns whether the next cycle matters
    /// even if nothing else happens.
    pub fn dispatch(
        &mut self,
        rules: Rules,
        seats: &mut [Seat],
        ended: &mut [bool],
        now: u64,
    ) -> Result<bool, String> {
        let Rules { kernel, schedule, cores } = rules;
        if self.part.left() > 0 {
            if self.full {
                return Ok(false);
            }
            let count = seats.len() - cores;
            // Blocks of a kernel are numbered behind its threads on CPU cores.
            let group = self.part.next - kernel.cpus;
            let mut asked = units(schedule, group, self.turn, count).map(|unit| cores + unit);
            let Some(c) = asked.find(|c| seats[*c].cu.has_room(kernel)) else {
                self.full = true;
                return Ok(false);
            };
            self.launch(&mut seats[c], kernel, self.part.next, now)?;
            self.turn = (c + 1 - cores) % count;
            self.part.next += self.part.step;
            return Ok(true);
        }
        if self.ended < seats.len() {
            for (seat, ended) in seats.iter_mut().zip(ended) {
                if !*ended && seat.cu.idle() {
                    *ended = true;
                    self.ended += 1;
                    seat.cu.end_kernel(now);
                    seat.next = now;
                }
            }
        }
        Ok(false)
    }
}

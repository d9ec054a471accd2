//! What the run loop needs to know of a fabric's hardware, whatever its family.

use super::{FamilyCheck, Links, Meter, Surroundings};
use crate::check::CheckError;
use crate::cu::{CuMode, CuParams};
use crate::memory::Memory;
use crate::run::FabricError;
use std::sync::Arc;
use weft_blocks::registry::BlockError;
use weft_engine::{Design, Sim};
use weft_rtl::ir::Module;

/// Counts that compute units, placement and the host go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// GPUs, or GPMs of all GPUs: what has compute units of its own.
    pub nodes: u32,
    /// Nodes of a GPU, for sentences.
    pub gpms: u32,
    /// Compute units of a node, CPU cores among them.
    pub cus: u32,
    /// CPU cores, a multiple of the nodes: the first compute units of each node, as many on every one.
    pub cores: u32,
    /// Bytes of a line, 64 or 128.
    pub line: u32,
    /// Memories among which pages are placed: one per node, or one for all.
    pub homes: u32,
    /// Bytes of each, a power of two; memory `h` has the physical addresses from `h * home_bytes` on.
    pub home_bytes: u64,
}

impl Shape {
    /// CPU cores of a node.
    pub fn cores_each(&self) -> u32 {
        self.cores / self.nodes
    }

    /// Node of CPU thread `thread` of `threads`, and its core there: each node has a run of consecutive threads, as it has of work-groups.
    pub fn core(&self, thread: u32, threads: u32) -> (u32, u32) {
        let node = thread * self.nodes / threads;
        (node, thread - (node * threads).div_ceil(self.nodes))
    }

    /// Node whose compute units carry the host's stores to a line of a memory.
    pub fn carrier(&self, home: u32, line: u64) -> u32 {
        if self.homes == self.nodes { home } else { (line % u64::from(self.nodes)) as u32 }
    }
}

/// Whether every load shows a value that the order of events in cycles explains ([`crate::check::values`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueRule {
    /// It must.
    Kept,
    /// Nothing keeps the caches coherent inside a kernel: what shows nevertheless is counted as `stale`.
    Counted,
    /// The family has a rule of its own.
    Elsewhere,
}

/// What a fabric promises, for the checks that every family has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promises {
    /// The values of loads.
    pub values: ValueRule,
    /// At the end memory, with what is newer in caches, holds the last values of that order.
    pub memory: bool,
}

/// Folds what the L1s answered to KEND (data bits 63..0 of each) into what the next KBEGIN carries there.
pub type Fold = Arc<dyn Fn(&[u64]) -> u64 + Send + Sync>;

/// From the number of a line, as a block names it that knows only a part of memory, and the message's field `dst`, if it has one, to the number of the line in
/// all of memory.
pub type WholeLine = Box<dyn Fn(u64, Option<u64>) -> u64 + Send>;

/// A fabric of some family, as its configuration describes it.
///
/// Ports of its module that the run loop drives and reads, for node `N` and compute unit `C`:
///
/// | ports | what |
/// | --- | --- |
/// | `gN_cuC_req`, `gN_cuC_rsp` | channels of `weft_blocks::msg::CuReq` and `CuRsp` |
/// | `gN_cuC_time` (need not be there) | a time that belongs to the answer on offer, for [`FamilyCheck::answer`] |
/// | `gN_fence_start`, `gN_fence_done` (with [`Hardware::has_fences`]) | channels of `{seq, scope, acquire}` to and from the node's fence unit |
///
/// All others are those of [`Surroundings`].
pub trait Hardware: Send + Sync {
    /// Everything between compute units and memories.
    ///
    /// # Errors
    /// Parameters that cannot be built.
    fn module(&self) -> Result<Arc<Module>, BlockError>;

    /// Equal for configurations whose modules are equal.
    fn tag(&self) -> String;

    /// Its counts.
    fn shape(&self) -> Shape;

    /// How a block's numbers of lines become whole ones; none where they are. `block` is its
    /// hierarchical name, with that of the part of it that names the line, or of its port; `width` the bits of the number.
    fn whole_line(&self, block: &str, width: u32) -> Option<WholeLine> {
        let _ = (block, width);
        None
    }

    /// The links over which copy engines move data.
    fn links(&self) -> Links {
        Links::default()
    }

    /// What the compute units keep to.
    fn mode(&self) -> CuMode;

    /// Parameters of compute unit `number` of a node, from those that the common keys say.
    fn compute_unit(&self, number: u32, common: CuParams) -> CuParams {
        let _ = number;
        common
    }

    /// Of the stash of compute unit `number` of a node its number among the node's ports, and its rows and banks; `None` where it has none.
    fn stash(&self, number: u32) -> Option<(u32, (u32, u32))> {
        let _ = number;
        None
    }

    /// Value of the parameter `sync` of programs that can synchronise in several ways.
    fn sync(&self) -> Option<&'static str> {
        None
    }

    /// What the common checks may expect.
    fn promises(&self) -> Promises;

    /// Data too, not only atomics, is coherent within a location: nobody sees a write and then an older one (cu-and-consistency.md section 5.2).
    fn data_coherent(&self) -> bool {
        false
    }

    /// Remote operations promote what other CUs do at narrower scope (srsp.md section 1).
    fn promotes(&self) -> bool {
        false
    }

    /// Some L1 sends the request that an access names ([`weft_workload::op::Access::hint`]); others ignore it.
    fn follows_hints(&self) -> bool {
        false
    }

    /// Nodes have fence units; without them every fence is complete at once.
    fn has_fences(&self) -> bool;
    /// Fence units tell the release that ends a kernel, of scope 3, from others: all nodes have it, so their
    /// units wait for each other's.
    fn common_releases(&self) -> bool {
        false
    }

    /// Scope (1 GPU, 2 system) of the fence that a release of a scope (0 CU, 1 GPU, 2 system) needs after what the L1 does.
    fn release_fence(&self, scope: u8) -> Option<u8>;

    /// Scope of the fence that an acquire needs before what the L1 does.
    fn acquire_fence(&self, scope: u8) -> Option<u8>;

    /// Kernels begin with an acquire of system scope in every node's fence unit. They always end with a release there.
    fn kernel_acquires(&self) -> bool {
        self.acquire_fence(2).is_some()
    }

    /// Caches may still write back when everything that a kernel's end waits for is complete; the kernel then ends, and the host looks at memory, when the fabric is at rest.
    fn rests(&self) -> bool {
        false
    }

    /// Kernels hand something on from KEND to KBEGIN. Stores of the host are then followed by a KEND too.
    fn fold(&self) -> Option<Fold> {
        None
    }

    /// The models behind the module's other ports; `memory` is what memory holds at first.
    ///
    /// # Errors
    /// A design without the ports, or the names of registers, that they need.
    fn surroundings(&self, sim: &mut Sim, memory: Memory) -> Result<Box<dyn Surroundings>, FabricError>;

    /// The family's own checks.
    ///
    /// # Errors
    /// A design without the names of registers that they read.
    fn checks(&self, design: &Design) -> Result<Vec<Box<dyn FamilyCheck>>, CheckError>;

    /// What measures a run.
    fn meter(&self) -> Box<dyn Meter>;
}

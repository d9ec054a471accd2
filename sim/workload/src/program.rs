//! What a program is to the fabric that runs it (`cu-and-consistency.md` section 2).

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::mapping::LocalMemory;
use crate::op::{LaneMask, Op, Token};

/// Bytes of a page (`rec.md` section 9): every array begins on a page, so that pages can be placed by array.
pub const PAGE_BYTES: u64 = 4096;

/// Which memory an array is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// The placement policy of the fabric says it, page by page.
    #[default]
    Policy,
    /// The same; with placement `program` it lies in contiguous equal parts, one for each GPU, as the work-groups do.
    Split,
    /// The same; with placement `program` it is in the memory of the GPUs that are part `part` of `of` equal parts.
    Near {
        /// Part, below `of`.
        part: u32,
        /// Parts.
        of: u32,
    },
    /// The memory of the GPUs that are part `part` of `of` equal parts; with one memory for all GPUs, that one.
    Part {
        /// Part, below `of`.
        part: u32,
        /// Parts.
        of: u32,
    },
    /// Memory of the host, where every access of a GPU crosses the host's link.
    Host,
    /// First in memory of the host; then each page is in the memory of the GPU that has last accessed it.
    Managed,
}

/// One array in the flat byte space that a program sees.
#[derive(Clone, Debug)]
pub struct Array {
    /// Name, unique in the program.
    pub name: String,
    /// Bytes of an element.
    pub element: u64,
    /// Elements.
    pub length: u64,
    /// Byte address of the first element, a multiple of [`PAGE_BYTES`].
    pub addr: u64,
    /// Whether no kernel writes it.
    pub read_only: bool,
    /// Which memory it is in.
    pub place: Place,
    /// Contents before the first host step; the array is zero where this is shorter than it.
    pub init: Arc<[u8]>,
}

impl Array {
    /// Size in bytes.
    pub fn bytes(&self) -> u64 {
        self.element * self.length
    }

    /// Address of element `index`.
    #[inline]
    pub fn at(&self, index: u64) -> u64 {
        self.addr + index * self.element
    }
}

/// Assigns addresses: arrays one after the other from address 0, each on its own pages.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    arrays: Vec<Array>,
    next: u64,
}

impl Layout {
    /// An empty layout.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an array of `length` elements of `element` bytes that begins with `init` and returns its index.
    pub fn add(&mut self, name: &str, element: u64, length: u64, read_only: bool, init: Vec<u8>) -> usize {
        let (name, addr, place) = (name.to_owned(), self.next, Place::Policy);
        let array = Array { name, element, length, addr, read_only, place, init: init.into() };
        self.next += array.bytes().next_multiple_of(PAGE_BYTES).max(PAGE_BYTES);
        self.arrays.push(array);
        self.arrays.len() - 1
    }

    /// Says which memory an array is in.
    pub fn put(&mut self, array: usize, place: Place) {
        self.arrays[array].place = place;
    }

    /// The arrays in address order.
    pub fn arrays(&self) -> &[Array] {
        &self.arrays
    }

    /// First byte address beyond all arrays, a multiple of [`PAGE_BYTES`].
    pub fn end(&self) -> u64 {
        self.next
    }
}

/// One kernel launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// Which of the program's kernels it is.
    pub id: u32,
    /// Name for people.
    pub name: String,
    /// Work-groups, in flattened order, x fastest.
    pub blocks: u32,
    /// How many of them, the first ones, run on CPU cores: work-group `b` is one wave of one lane on core `b`.
    pub cpus: u32,
    /// Waves of a work-group that runs on a CU.
    pub waves_per_block: u32,
    /// Scratchpad bytes of a work-group that runs on a CU; a CPU core has no scratchpad.
    pub lds_bytes: u32,
    /// Arguments, copied into no memory: the program reads them in [`Program::start`].
    pub args: Vec<u64>,
    /// Whether work-groups wait for one another, so that all must be resident at once.
    pub co_resident: bool,
}

impl Kernel {
    /// Whether a work-group runs on a CPU core.
    pub fn on_cpu(&self, block: u32) -> bool {
        block < self.cpus
    }

    /// Waves of a work-group.
    pub fn waves(&self, block: u32) -> u32 {
        if self.on_cpu(block) { 1 } else { self.waves_per_block }
    }
}

/// What the host does next in stream order; each step is complete before the next begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HostStep {
    /// Launch a kernel and wait until its release at the end is complete.
    Launch(Kernel),
    /// Copy bytes from the host into the program's memory, at the home of each line; every cached copy of these lines
    /// is stale afterwards. No kernel runs meanwhile.
    Write {
        /// First byte address.
        addr: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// A copy engine copies bytes from one place of the program's memory to another, over the link between them if they are in
    /// different memories; the two do not overlap, and every cached copy of the target's lines is stale afterwards. No kernel runs meanwhile.
    Copy {
        /// First byte address of the source.
        from: u64,
        /// First byte address of the target.
        to: u64,
        /// Bytes.
        bytes: u64,
    },
}

/// State of one wave: plain data, so that a snapshot can hold it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// [`Kernel::id`].
    pub kernel: u32,
    /// Work-group in flattened order.
    pub block: u32,
    /// Wave in its work-group.
    pub wave: u32,
    /// Where the program is.
    pub pc: u32,
    /// The program's own scalars, then lane values.
    pub vars: Vec<u64>,
}

/// Lane values of a wave's tokens. A value stays until its token is produced again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadedValues {
    slots: Vec<Vec<u64>>,
}

impl LoadedValues {
    /// No values.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the lane values of `token`: one for each lane of the wave, 0 for inactive ones.
    pub fn set(&mut self, token: Token, lanes: Vec<u64>) {
        let index = token as usize;
        if self.slots.len() <= index {
            self.slots.resize(index + 1, Vec::new());
        }
        self.slots[index] = lanes;
    }

    /// Lane values of `token`; empty when nothing has produced it.
    #[inline]
    pub fn get(&self, token: Token) -> &[u64] {
        self.slots.get(token as usize).map_or(&[], Vec::as_slice)
    }

    /// Value of one lane; 0 when nothing has produced it.
    #[inline]
    pub fn lane(&self, token: Token, lane: u32) -> u64 {
        self.get(token).get(lane as usize).copied().unwrap_or(0)
    }
}

/// A result that differs from the host's own computation.
#[derive(Clone, Debug, PartialEq, Error)]
#[error(
    "{program}: {array}[{index}] is {found} where the host computes {expected} ({wrong} of {total} elements differ)"
)]
pub struct VerifyError {
    /// Program.
    pub program: String,
    /// Array that holds the result.
    pub array: String,
    /// First element that differs.
    pub index: u64,
    /// What memory holds there.
    pub found: String,
    /// What the host computed.
    pub expected: String,
    /// Elements that differ.
    pub wrong: u64,
    /// Elements compared.
    pub total: u64,
}

/// A program: immutable, shared by all waves; what changes is in [`Frame`]s and in the simulated memory.
///
/// A fabric loads [`Program::arrays`], then repeats [`Program::host_step`] with index 0, 1, 2... until it gives `None`.
/// For a launch it makes a frame for each wave by [`Program::start`] and calls [`Program::step`] whenever the wave's
/// queue is empty and all its awaited tokens are complete.
pub trait Program: Send + Sync {
    /// Name in the registry.
    fn name(&self) -> &str;

    /// Lanes of a wave, 1..=64.
    fn lanes(&self) -> u32;

    /// What its work-groups need beside a scratchpad.
    fn local_memory(&self) -> LocalMemory {
        LocalMemory::Scratchpad
    }

    /// The arrays with their addresses and first contents, in address order.
    fn arrays(&self) -> &[Array];

    /// Host step number `index`, after all earlier steps are complete; `None` when the program has ended. `memory`
    /// reads bytes (address, count) of the memory as it then is.
    fn host_step(&self, index: usize, memory: &dyn Fn(u64, usize) -> Vec<u8>) -> Option<HostStep>;

    /// Frame of a wave before its first step. Lanes beyond the end of the data are masked by the program.
    fn start(&self, kernel: &Kernel, block: u32, wave: u32) -> Frame;

    /// The next operations of a wave: never empty, and ending in [`Op::Await`], [`Op::Barrier`] or [`Op::End`]; the
    /// latter two stand nowhere else. `values` holds the lane values of all tokens completed so far.
    fn step(&self, frame: &mut Frame, values: &LoadedValues) -> Vec<Op>;

    /// Attempts to take a lock, or to be let in, that failed in the wave with this frame. It is asked for when the wave ends.
    fn failed_attempts(&self, frame: &Frame) -> u64 {
        let _ = frame;
        0
    }

    /// Recomputes the result on the host and compares. `memory` reads bytes (address, count) of the final memory.
    fn verify(&self, memory: &dyn Fn(u64, usize) -> Vec<u8>) -> Result<(), VerifyError>;
}

/// Mask with the lowest `lanes` lanes active (0..=64).
pub fn full_mask(lanes: u32) -> LaneMask {
    if lanes >= 64 { u64::MAX } else { (1 << lanes) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_begin_on_their_own_pages() {
        let mut layout = Layout::new();
        layout.add("a", 4, 1, true, vec![]);
        layout.add("b", 8, 513, false, vec![1]);
        layout.add("c", 1, 1, false, vec![]);
        let addrs: Vec<u64> = layout.arrays().iter().map(|a| a.addr).collect();
        assert_eq!(addrs, [0, 4096, 4096 + 8192]);
        assert_eq!(layout.end(), 4096 + 8192 + 4096);
        assert_eq!(layout.arrays()[1].at(512), 4096 + 4096);
    }

    #[test]
    fn a_token_that_nothing_produced_reads_as_zero() {
        let mut values = LoadedValues::new();
        values.set(3, vec![7, 8]);
        assert_eq!((values.lane(3, 1), values.lane(3, 2), values.lane(9, 0)), (8, 0, 0));
        assert!(values.get(1).is_empty());
    }

    #[test]
    fn masks() {
        assert_eq!((full_mask(0), full_mask(1), full_mask(32), full_mask(64)), (0, 1, 0xffff_ffff, u64::MAX));
    }
}

//! Messages of the fences: between command processor, fence units, banks, and the ends of the INV network (rec.md section 7, hmg.md section 6).

use super::Sys;
use weft_rtl::prelude::*;

/// Fence unit to bank (channel `fence_cmd`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum FenceOp {
    /// Flip the epoch; answer when no write or atomic of the old epoch and no older local store is outstanding.
    Drain,
    /// Write back all dirty lines (they stay valid); answer when DRAM has accepted them.
    Flush,
    /// Drop every copy, and every copy on its way, of lines that another GPM of this GPU serves (hmg.md section 8): with GPU homes, of lines whose GPU
    /// home is another GPM; without, of all lines homed elsewhere.
    DropLeaf,
    /// The same of lines homed in another GPU.
    DropFar,
    /// The same of all lines homed elsewhere.
    DropAll,
}

/// Command of the fence unit.
#[derive(Clone, Copy, Bundle)]
pub struct FenceCmd {
    /// What to do.
    pub op: Enum<FenceOp>,
}

/// Bank to fence unit (channel `fence_done`): the command is carried out.
#[derive(Clone, Copy, Bundle)]
pub struct FenceDone {
    /// The command answered.
    pub op: Enum<FenceOp>,
}

/// A GPU number on its own (fence markers: fence unit to INV egress, INV ingress to fence unit; channels `order` and `ordered`: fence unit to bank,
/// which gives it back when the directory has answered every write that the bank had under way when it took it).
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
pub struct FenceMark {
    /// The releasing node; in hierarchical fabrics, where one marker serves several, the home that sends it.
    #[width(p.node_bits())]
    #[below(p.nodes())]
    pub requester: Bits,
}

/// What a hierarchical fence unit asks another one (hmg.md section 6). The acknowledgement bears the same order, and in its data the home and serial of the
/// marker that it is about; of a request that is carried out, the node that answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum FenceOrder {
    /// Wait until the system homes have all writes that this node has passed on to other GPUs.
    DrainFar,
    /// Send markers of GPU scope.
    MarkGpu,
    /// Send markers of system scope.
    MarkSys,
    /// Drop what software coherence must not find again: copies of lines homed in other GPUs.
    DropFar,
}

/// Width of a marker's serial.
pub const SERIAL_BITS: u32 = 2;

/// Most markers of one home and scope that are in flight.
pub const MAX_MARKS: u32 = 1 << SERIAL_BITS;

/// A fence marker of a hierarchical fabric (fence unit to INV egress and INV ingress to fence unit). It names no requester: its home serves with it all
/// that wait.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
pub struct HierMark {
    /// Tells it from others of the same home and scope that are in flight.
    #[width(SERIAL_BITS)]
    pub serial: Bits,
    /// The home whose Invs it follows.
    #[width(p.node_bits())]
    #[below(p.nodes())]
    pub origin: Bits,
    /// Of system scope, else of GPU scope.
    pub sys: Bool,
}

/// Command processor and fence unit (channels `start`, `done`).
#[derive(Clone, Copy, Bundle)]
pub struct FenceToken {
    /// Sequence number modulo 256; `done` returns that of the last one covered.
    #[width(8)]
    pub seq: Bits,
    /// Scope: 1 GPU, 2 system, 3 a release of system scope that every node has, where GPMs join; `done` says
    /// 2. With directories that have no GPU homes there is system scope only.
    #[width(2)]
    pub scope: Bits,
    /// An acquire; else a release.
    pub acquire: Bool,
}

//! Transition table of the directory of GPU-VI (hmg.md section 8), typed from the specification as data.

use crate::golden::dir_table::DirOp;

/// What an operation finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViState {
    /// No entry.
    I,
    /// An entry, and nobody but the requester is recorded.
    Alone,
    /// An entry with other sharers.
    Shared,
    /// Acknowledgements of an eviction of the group are awaited.
    E,
    /// A store of the group waits for acknowledgements.
    W,
    /// An older operation of the group waits.
    Behind,
}

/// What it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViAction {
    /// A new entry with the requester.
    Allocate,
    /// The requester joins.
    Join,
    /// The requester stays alone.
    Stay,
    /// Inv to the others, W(count), then V{s}.
    Take,
    /// Inv to all, W(count), then I.
    Wipe,
    /// Nothing.
    Nothing,
    /// It waits in the queue.
    Wait,
}

/// A row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViRow {
    /// Identifier, the name of its cover point.
    pub id: &'static str,
    /// Operation.
    pub op: DirOp,
    /// What it finds.
    pub state: ViState,
    /// What it does.
    pub action: ViAction,
    /// In words.
    pub text: &'static str,
}

const fn row(id: &'static str, op: DirOp, state: ViState, action: ViAction, text: &'static str) -> ViRow {
    ViRow { id, op, state, action, text }
}

use DirOp::{AtomRem, RdRem, WrLoc, WrRem};
use ViAction::{Allocate, Join, Nothing, Stay, Take, Wait, Wipe};
use ViState::{Alone, Behind, E, I, Shared, W};

/// All rows of operations. A load finds the entry where evictions are awaited, too.
pub const VI: [ViRow; 22] = [
    row("gpu_vi.RD_REM.miss", RdRem, I, Allocate, "add s -> V"),
    row("gpu_vi.RD_REM.sole", RdRem, Alone, Join, "s is recorded already"),
    row("gpu_vi.RD_REM.shared", RdRem, Shared, Join, "add s"),
    row("gpu_vi.RD_REM.written", RdRem, W, Wait, "it waits in the queue"),
    row("gpu_vi.RD_REM.behind", RdRem, Behind, Wait, "it waits behind the older operation"),
    row("gpu_vi.WR_REM.miss", WrRem, I, Allocate, "add s -> V"),
    row("gpu_vi.WR_REM.sole", WrRem, Alone, Stay, "s stays the only sharer"),
    row("gpu_vi.WR_REM.shared", WrRem, Shared, Take, "Inv all others, W(count), then V{s}"),
    row("gpu_vi.WR_REM.evicting", WrRem, E, Wait, "old copies may still be about: it waits in the queue"),
    row("gpu_vi.WR_REM.written", WrRem, W, Wait, "it waits in the queue"),
    row("gpu_vi.WR_REM.behind", WrRem, Behind, Wait, "it waits behind the older operation"),
    row("gpu_vi.WR_LOC.miss", WrLoc, I, Nothing, "nothing"),
    row("gpu_vi.WR_LOC.shared", WrLoc, Shared, Wipe, "Inv all, W(count), then I"),
    row("gpu_vi.WR_LOC.evicting", WrLoc, E, Wait, "old copies may still be about: it waits in the queue"),
    row("gpu_vi.WR_LOC.written", WrLoc, W, Wait, "it waits in the queue"),
    row("gpu_vi.WR_LOC.behind", WrLoc, Behind, Wait, "it waits behind the older operation"),
    row("gpu_vi.ATOM_REM.miss", AtomRem, I, Allocate, "add s -> V"),
    row("gpu_vi.ATOM_REM.sole", AtomRem, Alone, Stay, "s stays the only sharer"),
    row("gpu_vi.ATOM_REM.shared", AtomRem, Shared, Take, "Inv all others, W(count), then V{s}"),
    row("gpu_vi.ATOM_REM.evicting", AtomRem, E, Wait, "old copies may still be about: it waits in the queue"),
    row("gpu_vi.ATOM_REM.written", AtomRem, W, Wait, "it waits in the queue"),
    row("gpu_vi.ATOM_REM.behind", AtomRem, Behind, Wait, "it waits behind the older operation"),
];

/// What acknowledgements do: identifier and text.
pub const ACKS: [(&str, &str); 5] = [
    ("gpu_vi.ACK.written", "Acknowledgement for W(count), count > 1: count - 1."),
    (
        "gpu_vi.ACK.remote_complete",
        "The last one for a store of another node: the store is answered, W -> V{s}.",
    ),
    ("gpu_vi.ACK.local_complete", "The last one for a store of the home: the store is answered, W -> I."),
    ("gpu_vi.ACK.evicting", "Acknowledgement for an evicted entry, count > 1: count - 1."),
    ("gpu_vi.ACK.evicted", "The last one for an evicted entry: stores to the group may go on."),
];

/// The row of an operation.
///
/// # Panics
/// For a pair that cannot occur.
pub fn lookup(op: DirOp, state: ViState) -> &'static ViRow {
    let row = VI.iter().find(|row| row.op == op && row.state == state);
    row.unwrap_or_else(|| panic!("no row for {op:?} in {state:?}"))
}

//! Records that travel and rest inside a bank.

use crate::bank::{self, Asker, Bank, BankState};
use crate::msg::{ReqOp, WbOp, Written};
use weft_rtl::prelude::*;

/// State of a line; its eight values still take three bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum LineState {
    /// Not here.
    I,
    /// On its way from memory, no byte valid.
    P,
    /// On its way from memory, the masked bytes valid and dirty.
    Pd,
    /// All bytes valid, none dirty.
    V,
    /// All bytes valid, the masked ones dirty.
    D,
    /// Only the masked bytes valid, all of them dirty.
    W,
    /// Registered: an L1 may have newer bytes. All bytes valid, the masked ones dirty.
    R,
    /// The same, and the L1 has been asked to give it back.
    RV,
}

impl BankState for LineState {}

/// What is kept of a [`Req`](crate::msg::Req).
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Bank)]
pub(super) struct HeldReq {
    pub op: Enum<ReqOp>,
    #[width(p.srsp.cu_bits())]
    pub src: Bits,
    #[width(p.srsp.mshr_bits())]
    pub mshr: Bits,
    #[width(p.srsp.line_bits())]
    pub line: Bits,
}

/// What is kept of a [`Wb`](crate::msg::Wb).
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Bank)]
pub(super) struct HeldWb {
    pub op: Enum<WbOp>,
    #[width(p.srsp.cu_bits())]
    pub src: Bits,
    #[width(p.srsp.line_bits())]
    pub line: Bits,
    pub has: Bool,
    #[flat]
    #[shape(p.srsp.clone())]
    pub written: Written,
}

/// What passes through the pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 4)]
pub(super) enum Kind {
    Rd,
    Rdu,
    Reg,
    /// In DeNovo-B, where no L1 writes through, a READ_ACK: the bytes that the owner of a line has written.
    Wb,
    Unreg,
    RevokeAck,
    /// The head of the sFIFO leaves.
    Pop,
    /// A line has come from memory.
    Fill,
    /// Memory has acknowledged a write of an L1.
    Ack,
    /// A line has come from memory that is only passed on.
    Direct,
}

/// What an operation is about.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Bank)]
pub(super) struct Named {
    #[width(p.srsp.line_bits())]
    pub line: Bits,
    /// A RevokeAck or ReadAck brings the line.
    pub has: Bool,
}

/// The operation in stage 1.
pub(super) type Op = bank::Op<Kind, Named>;

/// Who waits for a line from memory.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Bank)]
pub(super) struct Target {
    /// A registration, else a read.
    pub reg: Bool,
    #[flat]
    #[shape(p.clone())]
    pub asker: Asker,
}

/// What stage 2 writes into the line's row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub(super) enum Put {
    Nothing,
    /// The message's bytes.
    Merge,
    /// The line from memory, but for dirty bytes.
    Fill,
}

/// Data of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub(crate) enum Shows {
    /// None.
    Nothing,
    /// The line as stage 2 leaves it.
    Line,
    /// What memory has sent.
    Memory,
}

/// Bytes that are written to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub(super) enum Sends {
    /// The row as stage 2 found it.
    Before,
    /// The row as stage 2 leaves it.
    After,
    /// The message's.
    Message,
}

/// The read that follows a write to memory, or goes alone.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Bank)]
pub(super) struct Follows {
    /// A line is read.
    pub read: Bool,
    /// Around the bank.
    pub direct: Bool,
    #[width(p.srsp.line_bits())]
    pub read_line: Bits,
    #[width(p.own_bits())]
    pub read_id: Bits,
}

/// What goes to memory.
pub(super) type Order = bank::Order<Follows>;

/// The operation in stage 2.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Bank)]
pub(super) struct Step {
    #[width(p.row_bits())]
    pub row: Bits,
    #[flat]
    #[shape(p.clone())]
    pub work: bank::Work<Put, Shows, Follows>,
    pub sends: Enum<Sends>,
    /// Bytes that it writes.
    #[width(p.srsp.line)]
    pub out_mask: Bits,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bank::masked;

    #[test]
    fn a_mask_says_something_where_bytes_are_dirty() {
        let unmasked = [LineState::I, LineState::P, LineState::V];
        for state in LineState::VARIANTS {
            assert_eq!(masked(state.encoding()), !unmasked.contains(state), "{state:?}");
        }
    }
}

//! Records that travel and rest inside a bank.

use super::params::L2Params;
use crate::bank::{self, Asker, Bank, BankState};
use crate::msg::Atomic;
use weft_rtl::prelude::*;

/// State of a line.
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
}

impl BankState for LineState {}

/// The arrays.
pub(super) type Arrays = bank::Rows<LineState, ()>;
/// What a lookup finds.
pub(super) type Lookup = bank::Looked<LineState, ()>;

/// What passes through the pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 4)]
pub(super) enum Kind {
    Rd,
    Atm,
    /// Atomic at memory.
    AtmSys,
    RemLock,
    Token,
    SysFlush,
    SysInv,
    Wb,
    RemOp,
    RemUnlock,
    TokenRel,
    /// The head of the sFIFO leaves.
    Pop,
    /// A line has come from memory.
    Fill,
    /// Memory has acknowledged a write-around.
    Ack,
    /// Memory has answered an atomic.
    AmoAck,
    /// SYS FLUSH or SYS INV is done.
    SysAck,
}

/// What an operation is about.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Bank)]
pub(super) struct Access {
    /// The access; its address is the line also where there is no access.
    #[shape(p.srsp.clone())]
    pub atomic: Atomic,
    pub keep: Bool,
}

/// The operation in stage 1.
pub(super) type Op = bank::Op<Kind, Access>;
/// Stage 0 and the register of stage 1.
pub(super) type Select = bank::Pipeline<Kind, Access, LineState, ()>;

/// Who waits for a line from memory: a read, which is kept here, or an atomic, which stays at the head of its queue.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Bank)]
pub(super) struct Target {
    /// A read.
    pub read: Bool,
    /// An atomic's queue: WB, else REQ.
    pub wb: Bool,
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
    /// The result of the atomic.
    Amo,
}

/// What goes to memory after a write-back, or alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub(super) enum Then {
    Nothing,
    Read,
    Amo,
}

/// Data of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub(crate) enum Shows {
    /// None.
    Nothing,
    /// The line.
    Line,
    /// The word before the atomic.
    Old,
    /// The word that memory has sent.
    Memory,
}

/// What follows a write to memory, or goes alone.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Bank)]
pub(super) struct Follows {
    pub then: Enum<Then>,
    #[width(p.own_bits())]
    pub then_id: Bits,
    /// Access of an atomic, address of a read.
    #[shape(p.srsp.clone())]
    pub atomic: Atomic,
}

/// What goes to memory.
pub(super) type Order = bank::Order<Follows>;

/// The operation in stage 2.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L2Params)]
pub(super) struct Step {
    #[width(p.bank.set_bits())]
    pub set: Bits,
    #[width(p.bank.way_bits())]
    pub way: Bits,
    #[width(p.bank.tag_bits())]
    pub tag: Bits,
    /// State of the line before.
    pub state: Enum<LineState>,
    #[flat]
    #[shape(p.bank)]
    pub work: bank::Work<Put, Shows, Follows>,
    /// It writes the message's bytes, not those of the line.
    pub around: Bool,
    /// The atomic ends the lock, unless it keeps it.
    pub unlocks: Bool,
    pub keep: Bool,
    #[width(p.lock_bits())]
    pub lock: Bits,
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

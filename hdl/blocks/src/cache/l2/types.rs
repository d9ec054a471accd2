//! Records that travel and rest inside an L2 bank.

use super::params::L2Params;
use crate::msg::{AmoOp, Cause, DirOp, ReqKind};
use weft_rtl::prelude::*;

/// Stable state of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub(super) enum LineState {
    I,
    V,
    /// Some bytes are newer than at the next home; at home than in DRAM.
    D,
    /// Only such bytes are here, nothing can be read (write-back of copies).
    W,
}

/// One way of a set.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L2Params)]
pub(super) struct Tag {
    #[width(p.tag_bits())]
    #[field("tag")]
    pub tag: Bits,
    #[field("state")]
    pub state: Enum<LineState>,
}

/// What passes through the pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub(super) enum Class {
    /// Invalidation of one line.
    Inv,
    /// End of a fill: the MSHR is freed and the line, if it may, installed.
    End,
    /// Request of another GPU.
    Remote,
    /// Request of an L1.
    Local,
    /// One step of a flush.
    Flush,
    /// One step of a downgrade.
    Down,
}

/// A request, local or remote.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L2Params)]
pub(super) struct Demand {
    pub kind: Enum<ReqKind>,
    #[width(p.sys.line_bits())]
    pub line: Bits,
    #[width(p.sys.line)]
    pub mask: Bits,
    #[width(p.sys.data_bits())]
    pub data: Bits,
    pub amo: Enum<AmoOp>,
    pub sgn: Bool,
    #[width(64)]
    pub cmp: Bits,
    /// L1 or GPU.
    #[width(p.who_bits())]
    pub who: Bits,
    #[width(p.id_bits())]
    pub id: Bits,
    /// Epoch of a remote requester.
    #[width(1)]
    pub epoch: Bits,
    pub cacheable: Bool,
    /// Scope of a load or atomic, with write-back of a store too: 0 CU, 1 GPU, 2 system.
    #[width(2)]
    pub scope: Bits,
    /// The line's home is here.
    pub homed: Bool,
    /// The line's GPU home is here, its home in another GPU.
    pub gpu_homed: Bool,
}

/// The operation in stage 1.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L2Params)]
pub(super) struct Op {
    pub class: Enum<Class>,
    #[shape(p.clone())]
    pub req: Demand,
    pub cause: Enum<Cause>,
    #[width(4)]
    pub link: Bits,
    /// Last lookup of its invalidation.
    pub last: Bool,
    /// Request of another GPU in a hierarchy.
    pub far: Bool,
    #[width(p.set_bits())]
    pub set: Bits,
}

/// A request waiting for a fill, without its payload.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L2Params)]
pub(super) struct Waiting {
    pub kind: Enum<ReqKind>,
    /// Of another GPU.
    pub remote: Bool,
    #[width(p.who_bits())]
    pub who: Bits,
    #[width(p.id_bits())]
    pub id: Bits,
    /// Its place in the table of directory operations, if it has one.
    #[width(p.sys.dir_id_bits())]
    pub op: Bits,
    /// Epoch of an atomic: of the GPM that waits for its answer, or, of one performed here, of what is passed on for it.
    #[width(1)]
    pub epoch: Bits,
}

/// Payload of a waiting request.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L2Params)]
pub(crate) struct Payload {
    pub atom: Bool,
    #[width(p.sys.line)]
    pub mask: Bits,
    #[width(p.sys.data_bits())]
    pub data: Bits,
    pub amo: Enum<AmoOp>,
    pub sgn: Bool,
    #[width(64)]
    pub cmp: Bits,
}

impl Payload {
    /// The payload of a request.
    pub(super) fn of(req: &Demand) -> Payload {
        let atom = req.kind.is(ReqKind::Atom);
        Payload { atom, mask: req.mask, data: req.data, amo: req.amo, sgn: req.sgn, cmp: req.cmp }
    }
}

/// A list of waiting requests.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L2Params)]
pub(super) struct List {
    #[width(p.pool_bits())]
    pub head: Bits,
    #[width(p.pool_bits())]
    pub tail: Bits,
    /// Requests, 1..8.
    #[width(4)]
    pub total: Bits,
}

/// What a directory operation is done for.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L2Params)]
pub(super) struct Purpose {
    pub op: Enum<DirOp>,
    pub kind: Enum<ReqKind>,
    pub remote: Bool,
    #[width(p.who_bits())]
    pub who: Bits,
    #[width(p.id_bits())]
    pub id: Bits,
    #[width(1)]
    pub epoch: Bits,
}

/// What stage 2 writes into the data array.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub(super) enum DataWrite {
    /// Nothing.
    Keep,
    /// The request's bytes or its atomic's result merged into the line read.
    Merge,
    /// The request's data, whole.
    Whole,
    /// The fill engine's line.
    Fill,
}

/// The operation in stage 2, beside the request.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L2Params)]
pub(super) struct Step {
    /// Data array place read, and written if `write` says so.
    #[width(p.row_bits())]
    pub row: Bits,
    pub write: Enum<DataWrite>,
    /// L1Rsp to send.
    pub answer_local: Bool,
    /// RdRsp to send.
    pub answer_remote: Bool,
    /// ReqMsg to send to the node that serves the line in this GPU, or in a flat fabric to the home.
    pub request: Bool,
    /// ReqMsg to send on to the home in another GPU.
    pub pass: Bool,
    /// It carries an atomic's result as a write.
    pub result: Bool,
    /// It is a read, for a load or for an atomic that is performed here.
    pub read: Bool,
    /// Epoch of what is passed on.
    #[width(1)]
    pub far_epoch: Bits,
    /// DRAM read to send.
    pub fetch: Bool,
    /// The line read goes to DRAM.
    pub write_back: Bool,
    #[width(p.sys.line_bits())]
    pub victim: Bits,
    /// MSHR opened.
    #[width(p.sys.l2_id_bits())]
    pub mshr: Bits,
    /// Own epoch at acceptance.
    #[width(1)]
    pub epoch: Bits,
    /// The data step of directory operation `op` is done here.
    pub data_step: Bool,
    #[width(p.sys.dir_id_bits())]
    pub op: Bits,
}

/// The ways of a set with dirty bytes that belong to other homes.
pub(super) struct HeldWays {
    /// Of lines that other GPMs serve.
    pub leaf: Bits,
    /// Of lines with their GPU home here.
    pub gpu: Bits,
    pub oldest_leaf: Bits,
    pub oldest_gpu: Bits,
}

//! Records that travel and rest inside a bank.

use super::params::L2Params;
use crate::msg::{TsmOp, UpReq};
use crate::params::LINE;
use weft_blocks::msg::AmoOp;
use weft_rtl::prelude::*;

/// Stable state of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum LineState {
    /// Invalid.
    I,
    /// As in memory as far as this bank knows.
    V,
    /// Bytes written here are not in memory: locked until it answers; in a write-back bank dirty.
    K,
    /// A read of the line is under way, the way is kept for it.
    P,
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

/// The lease of a way.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L2Params)]
pub(super) struct Stamps {
    #[width(p.tsm.ts)]
    #[field("wts")]
    pub wts: Bits,
    #[width(p.tsm.ts)]
    #[field("rts")]
    pub rts: Bits,
}

/// The clock at which a request was taken.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L2Params)]
pub(super) struct Need {
    #[width(p.tsm.eb)]
    #[field("timestamp")]
    pub tag: Bits,
    #[width(p.tsm.ts)]
    #[field("timestamp")]
    pub ts: Bits,
}

/// Who waits and for what.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L2Params)]
pub(super) struct Waiting {
    pub op: Enum<TsmOp>,
    #[width(p.tsm.cu_bits())]
    pub src: Bits,
    #[width(p.tsm.l1_txn_bits())]
    pub txn: Bits,
    pub force: Bool,
}

impl Waiting {
    /// The requester's part of a request.
    pub fn of(req: &UpReq) -> Waiting {
        Waiting { op: req.op, src: req.src, txn: req.txn, force: req.force }
    }
}

/// What a waiting write or atomic will do.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L2Params)]
pub(super) struct Payload {
    #[width(LINE)]
    pub mask: Bits,
    #[width(p.tsm.data_bits())]
    pub data: Bits,
    pub amo: Enum<AmoOp>,
    pub sgn: Bool,
    #[width(4)]
    pub word: Bits,
    pub wide: Bool,
}

impl Payload {
    /// The payload of a request.
    pub fn of(req: &UpReq) -> Payload {
        Payload { mask: req.mask, data: req.data, amo: req.amo, sgn: req.sgn, word: req.word, wide: req.wide }
    }
}

/// The list of a line's waiting requests.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L2Params)]
pub(super) struct List {
    #[width(p.pool_bits())]
    pub head: Bits,
    #[width(p.pool_bits())]
    pub tail: Bits,
    #[width(p.pool_count_bits())]
    pub count: Bits,
}

/// An answer of memory that waits for the pipeline, without its stamps.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L2Params)]
pub(super) struct Landing {
    pub with_data: Bool,
    #[width(64)]
    pub old: Bits,
    #[width(p.tsm.data_bits())]
    pub data: Bits,
}

/// What passes through the pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub(super) enum Class {
    /// Request of an L1.
    Request,
    /// The first of a list, again.
    Replay,
    /// Answer of memory.
    Fill,
    /// One set of a flush (write-back).
    Flush,
}

/// The operation in stage 1.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L2Params)]
pub(super) struct Op {
    pub class: Enum<Class>,
    /// Of a fill or a flush only the line.
    #[shape(p.tsm.clone())]
    pub req: UpReq,
    /// MSHR of a replay or a fill.
    #[width(p.tsm.l2_txn_bits())]
    pub mshr: Bits,
    #[width(p.set_bits())]
    pub set: Bits,
}

/// The operation in stage 2.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L2Params)]
pub(super) struct Step {
    /// Place in the data array.
    #[width(p.row_bits())]
    pub row: Bits,
    /// Bytes of `data` under `mask` are written into the line.
    pub write: Bool,
    /// UpRsp to send.
    pub answer: Bool,
    /// Its data is the line read, with what is written.
    pub array: Bool,
    /// UmcReq to send.
    pub request: Bool,
    /// Its operation.
    pub op: Enum<TsmOp>,
    #[shape(p.clone())]
    pub who: Waiting,
    #[shape(p.clone())]
    pub payload: Payload,
    /// Line of the request.
    #[width(p.tsm.line_bits())]
    pub line: Bits,
    #[width(p.tsm.l2_txn_bits())]
    pub mshr: Bits,
    #[width(p.tsm.eb)]
    pub tag: Bits,
    /// Clock sent to memory.
    #[width(p.tsm.ts)]
    pub ts: Bits,
    #[width(p.tsm.ts)]
    pub wts: Bits,
    #[width(p.tsm.ts)]
    pub rts: Bits,
    pub with_data: Bool,
    #[width(64)]
    pub old: Bits,
    pub from_memory: Bool,
}

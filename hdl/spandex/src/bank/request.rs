//! Requests of devices as a bank keeps them, and the forwards that follow from them.

use crate::bank::blank;
use crate::msg::{Fwd, FwdOp, Req, ReqOp, WordOp};
use crate::params::Spandex;
use weft_rtl::prelude::*;

/// What is kept of a [`Req`]: in the pipeline, in a TBE, in the stall memory.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Spandex)]
pub(crate) struct Held {
    pub op: Enum<ReqOp>,
    #[width(p.line_bits())]
    pub line: Bits,
    #[width(p.words())]
    pub mask: Bits,
    #[width(p.dev_bits())]
    pub src: Bits,
    #[width(p.tag_bits())]
    pub tag: Bits,
    pub flex: Bool,
    pub fwd: Bool,
    pub amo: Enum<WordOp>,
    #[width(32)]
    pub cmp: Bits,
    #[width(4)]
    pub bmask: Bits,
    #[width(p.data_bits())]
    pub data: Bits,
}

impl Held {
    /// A request, but for its destination.
    pub fn of(m: &Req) -> Held {
        let Req { op, line, mask, src, tag, flex, fwd, amo, cmp, bmask, data, .. } = *m;
        Held { op, line, mask, src, tag, flex, fwd, amo, cmp, bmask, data }
    }
}

/// A request as the bank treats it: of a ReqS its option counts, of a ReqWT where it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 4)]
pub enum Ask {
    /// Words to read.
    ReqV,
    /// ReqS, answered by RspS.
    ReqS1,
    /// ReqS, answered by RspV.
    ReqS2,
    /// ReqS, answered by RspO+data.
    ReqS3,
    /// Words to write here.
    #[hw(label = "ReqWT")]
    ReqWt,
    /// Words to write at their owner, if they have one.
    #[hw(label = "ReqWTfwd")]
    ReqWtFwd,
    /// Ownership.
    ReqO,
    /// An operation to be done here.
    #[hw(label = "ReqWTdata")]
    ReqWtData,
    /// Ownership with the words.
    #[hw(label = "ReqOdata")]
    ReqOData,
}

/// The forwards of a commit.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Spandex)]
pub(crate) struct Job {
    pub op: Enum<FwdOp>,
    #[width(p.line_bits())]
    pub line: Bits,
    /// Words to be forwarded.
    #[width(p.words())]
    pub mask: Bits,
    /// Owner of each word.
    #[width(p.words() * p.dev_bits())]
    pub owners: Bits,
    #[width(p.dev_bits())]
    pub req: Bits,
    #[width(p.tag_bits())]
    pub tag: Bits,
    pub flex: Bool,
    pub for_wt: Bool,
    #[width(p.data_bits())]
    pub data: Bits,
}

/// Owner of the lowest word of a mask, and the words of `among` that it owns.
pub(crate) fn group(mask: Bits, owners: Bits, among: Bits, dev_bits: u32) -> (Bits, Bits) {
    let who = owners.element(mask.lowest_set(), dev_bits);
    let its: Vec<Bool> = (0..mask.width()).map(|w| owners.slice(w * dev_bits, dev_bits).eq(who)).collect();
    (who, pack_bools(&its) & among)
}

/// A forward with nothing in it but what all have.
pub(crate) fn fwd_to(s: &Spandex, own: Bits, dst: Bits) -> Fwd {
    Fwd { src: own, dst, ..blank::<Fwd>(s) }
}

//! Messages to the LLC that L1s with owned words and the stash have in common.

use crate::msg::{Req, ReqOp, Wb, WordOp};
use crate::params::Spandex;
use weft_rtl::prelude::*;

/// A request without data, of the node `own`; `flex`: other words may come along.
pub(crate) fn request(
    (s, own): (&Spandex, Bits),
    op: ReqOp,
    (line, mask): (Bits, Bits),
    tag: Bits,
    flex: bool,
) -> Req {
    Req {
        op: enum_lit(op),
        line,
        mask,
        src: own,
        dst: s.home(line),
        tag: tag.resize(s.tag_bits()),
        flex: bool_lit(flex),
        fwd: bool_lit(false),
        amo: enum_lit(WordOp::Read),
        cmp: lit(0, 32),
        bmask: lit(0, 4),
        data: lit_bv(Bv::zero(s.data_bits())),
    }
}

/// A write-back of words, which are in the entry `at` of the write-back buffer.
pub(crate) fn write_back((s, own): (&Spandex, Bits), (line, mask, data): (Bits, Bits, Bits), at: Bits) -> Wb {
    Wb {
        line,
        mask,
        src: own,
        dst: s.home(line),
        tag: at.resize(s.tag_bits()) + u64::from(s.mshrs + s.sb),
        dirty: bool_lit(true),
        data,
    }
}

//! What the core asks, decoded.

use super::params::MesiL1Params;
use super::table::Access;
use crate::amo::{amo_op, any_byte};
use crate::msg::WordOp;
use weft_blocks::msg::{CuOp, CuReq};
use weft_rtl::prelude::*;

/// Kinds of requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 1)]
pub(super) enum Kind {
    /// Load, store, atomic.
    Access,
    /// Release, acquire, begin or end of a kernel.
    Fence,
}

/// A request, as it waits in S1.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = MesiL1Params)]
pub(super) struct Op {
    pub kind: Enum<Kind>,
    /// It releases: every store and atomic before it is done first.
    pub releases: Bool,
    #[width(p.port.spandex.line_bits())]
    pub line: Bits,
    #[shape(p.clone())]
    pub work: Work,
}

/// What is done to a line, as it waits in the store buffer.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = MesiL1Params)]
pub(super) struct Work {
    #[field("store_buffer")]
    pub access: Enum<Access>,
    #[field("store_buffer")]
    pub amo: Enum<WordOp>,
    /// It acquires, so that later loads must not see what was read before it.
    #[field("store_buffer")]
    pub acquires: Bool,
    /// It is answered.
    #[field("store_buffer")]
    pub answered: Bool,
    #[width(p.port.spandex.line)]
    #[field("store_buffer")]
    pub mask: Bits,
    #[width(p.port.spandex.data_bits())]
    #[field("store_buffer")]
    pub data: Bits,
    #[width(32)]
    #[field("store_buffer")]
    pub cmp: Bits,
    #[width(12)]
    #[field("store_buffer")]
    pub id: Bits,
}

impl Op {
    /// Decodes a message of the core. `sync_own`: loads that synchronise need ownership.
    pub fn of(m: &CuReq, sync_own: bool) -> Op {
        let synced = m.sync | m.class.any();
        let owns = m.op.is(CuOp::Amo) | (m.op.is(CuOp::Ld) & synced & bool_lit(sync_own));
        let access = mux(m.op.is(CuOp::St), enum_lit(Access::St), enum_lit(Access::Ld));
        let release = m.op.is_any(&[CuOp::Rel, CuOp::Kend]);
        let memory = m.op.is_any(&[CuOp::Ld, CuOp::St, CuOp::Amo]);
        Op {
            kind: mux(memory, enum_lit(Kind::Access), enum_lit(Kind::Fence)),
            releases: mux(memory, m.sem.bit(1), release),
            line: m.line,
            work: Work {
                access: mux(owns, enum_lit(Access::At), access),
                amo: word_op(m),
                acquires: m.sem.bit(0) | m.op.is_any(&[CuOp::Acq, CuOp::Kbegin]),
                answered: !m.op.is(CuOp::St) | m.want_ack,
                mask: m.mask,
                data: m.data,
                cmp: m.cmp.slice(0, 32),
                id: m.id,
            },
        }
    }
}

impl Work {
    /// Words touched.
    pub fn words(&self) -> Bits {
        any_byte(self.mask)
    }

    /// An atomic is of whole words, a compare-and-swap of one.
    pub fn legal(&self) -> Bool {
        let whole: Vec<Bool> = (0..self.mask.width() / 4)
            .map(|w| {
                let bytes = self.mask.slice(4 * w, 4);
                bytes.all() | bytes.none()
            })
            .collect();
        let one = !self.amo.is(WordOp::Cas) | self.words().popcount().zext(8).eq(1);
        !self.access.is(Access::At) | self.amo.is(WordOp::Read) | (all_of(&whole) & one)
    }
}

fn word_op(m: &CuReq) -> Enum<WordOp> {
    let amo = amo_op(m);
    mux(m.op.is(CuOp::Amo), amo, enum_lit(WordOp::Read))
}

//! What the core asks, decoded.

use super::params::MesiL1Params;
use super::table::Access;
use crate::msg::WordOp;
use weft_blocks::msg::{AmoOp, CuOp, CuReq};
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
        let words: Vec<Bool> = (0..self.mask.width() / 4).map(|w| self.mask.slice(4 * w, 4).any()).collect();
        pack_bools(&words)
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
    let code = |op: WordOp| enum_lit(op);
    let pairs = [
        (AmoOp::Add, WordOp::Add),
        (AmoOp::Sub, WordOp::Sub),
        (AmoOp::Inc, WordOp::Inc),
        (AmoOp::Dec, WordOp::Dec),
        (AmoOp::And, WordOp::And),
        (AmoOp::Or, WordOp::Or),
        (AmoOp::Xor, WordOp::Xor),
        (AmoOp::Exch, WordOp::Exch),
        (AmoOp::Cas, WordOp::Cas),
    ];
    let least = mux(m.sgn, code(WordOp::SMin), code(WordOp::Min));
    let greatest = mux(m.sgn, code(WordOp::SMax), code(WordOp::Max));
    let amo = mux(m.amo.is(AmoOp::Min), least, greatest);
    let amo = pairs.iter().fold(amo, |rest, (from, to)| mux(m.amo.is(*from), code(*to), rest));
    mux(m.op.is(CuOp::Amo), amo, code(WordOp::Read))
}

/// Bit i of a mask repeated over byte i.
pub(super) fn spread(mask: Bits) -> Bits {
    let bytes: Vec<Bits> = (0..mask.width()).map(|i| mask.bit(i).repeat(8)).collect();
    pack(&bytes)
}

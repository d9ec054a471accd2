//! What the CU asks, decoded.

use super::params::GpuL1Params;
use crate::amo::{amo_op, any_byte, every_byte};
use crate::msg::WordOp;
use weft_blocks::msg::{AmoOp, CuOp, CuReq};
use weft_rtl::prelude::*;

/// Kinds of requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum Kind {
    /// Plain load.
    Load,
    /// Plain store.
    Store,
    /// Atomic, or a load or store that synchronises.
    Sync,
    /// Acquire without an access, also where a kernel begins.
    Acquire,
    /// Release without an access, also where a kernel ends.
    Release,
    /// A store that is to be acknowledged when it is performed: what is left of it once it is buffered.
    Ack,
    /// Atomic or synchronising store of CU scope, with GPU coherence: done in the L1.
    Local,
}

/// A request, as it waits in S1 or for a release.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = GpuL1Params)]
pub(crate) struct Op {
    pub kind: Enum<Kind>,
    /// Sync: what is done to each word.
    pub amo: Enum<WordOp>,
    /// Sync: it is a store, answered without data.
    pub store: Bool,
    /// Sync: an acquire follows.
    pub acquires: Bool,
    /// Sync: a release comes before.
    pub releases: Bool,
    pub want_ack: Bool,
    #[width(p.spandex.line_bits())]
    pub line: Bits,
    /// Bytes; of a store those not yet buffered.
    #[width(p.spandex.line)]
    pub mask: Bits,
    #[width(p.spandex.data_bits())]
    pub data: Bits,
    #[width(32)]
    pub cmp: Bits,
    #[width(12)]
    pub id: Bits,
}

impl Op {
    /// Decodes a message of the CU; with `scopes` what is of CU scope orders nothing beyond the L1.
    pub fn of(m: &CuReq, scopes: bool) -> Op {
        let kind = |k: Kind| enum_lit(k);
        // A relaxed atomic load or store bears a class, but orders nothing.
        let synced = m.sync | m.op.is(CuOp::Amo) | m.class.any();
        let access = mux(m.op.is(CuOp::St), kind(Kind::Store), kind(Kind::Load));
        let access = mux(synced, kind(Kind::Sync), access);
        let releases = m.op.is_any(&[CuOp::Rel, CuOp::Kend]);
        let other = mux(releases, kind(Kind::Release), kind(Kind::Acquire));
        let memory = m.op.is_any(&[CuOp::Ld, CuOp::St, CuOp::Amo]);
        let wide = if scopes { !of_cu(m) } else { bool_lit(true) };
        Op {
            kind: mux(memory, access, other),
            amo: word_op(m),
            store: m.op.is(CuOp::St),
            acquires: m.sem.bit(0) & wide,
            releases: m.sem.bit(1) & wide,
            want_ack: m.want_ack,
            line: m.line,
            mask: m.mask,
            data: m.data,
            cmp: m.cmp.slice(0, 32),
            id: m.id,
        }
    }

    /// The same where what is of CU scope is done in the L1: a synchronising load is a plain one then.
    pub fn scoped(m: &CuReq) -> Op {
        let op = Op::of(m, true);
        let local = mux(m.op.is(CuOp::Ld), enum_lit(Kind::Load), enum_lit(Kind::Local));
        Op { kind: mux(op.kind.is(Kind::Sync) & of_cu(m), local, op.kind), ..op }
    }

    /// The message is one that the L1 can carry out: whole words for what is done at the LLC, one word for a compare-and-swap.
    pub fn legal(m: &CuReq) -> Bool {
        let op = Op::of(m, false);
        let words = any_byte(op.mask);
        let whole = (words & !every_byte(op.mask)).none();
        let known = !(m.op.is(CuOp::Amo) & m.amo.is(AmoOp::Fadd32));
        let one = !op.amo.is(WordOp::Cas) | words.popcount().eq(1);
        let sync = !op.kind.is(Kind::Sync) | (whole & known & one);
        let memory = op.kind.is_any(&[Kind::Load, Kind::Store, Kind::Sync]);
        (!memory | op.mask.any()) & sync
    }

    /// The part of a store that is carried out next: its whole words, then those of which the same bytes are written.
    pub fn part(&self) -> Part {
        let (some, whole) = (any_byte(self.mask), every_byte(self.mask));
        let partial = some & !whole;
        let first = self.mask.element(partial.lowest_set(), 4);
        let same: Vec<Bool> =
            (0..some.width()).map(|w| self.mask.slice(4 * w, 4).eq(first) & partial.bit(w)).collect();
        let bytes = self.kind.is(Kind::Store) & whole.none();
        let words = mux(bytes, pack_bools(&same), mux(self.kind.is(Kind::Store), whole, some));
        Part { words, bytes, bmask: mux(bytes, first, lit(0xf, 4)), last: (some & !words).none() }
    }
}

/// Part of an operation.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    /// Words concerned.
    pub words: Bits,
    /// Some bytes of each word are stored.
    pub bytes: Bool,
    /// Which.
    pub bmask: Bits,
    /// Nothing else is left.
    pub last: Bool,
}

/// The message is of CU scope.
fn of_cu(m: &CuReq) -> Bool {
    m.scope.none()
}

fn word_op(m: &CuReq) -> Enum<WordOp> {
    let amo = amo_op(m);
    let plain = mux(m.op.is(CuOp::St), enum_lit(WordOp::Write), enum_lit(WordOp::Read));
    mux(m.op.is(CuOp::Amo), amo, plain)
}

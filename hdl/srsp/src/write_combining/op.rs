//! What the CU asks, decoded.

use super::Shape;
use crate::amo::amo;
use crate::msg::{Atomic, SyncOp};
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
    /// Access with synchronisation.
    Sync,
    /// Fence that acquires, without an access.
    Acq,
    /// Fence that releases.
    Rel,
    /// A kernel begins.
    Begin,
    /// A kernel ends.
    End,
}

/// What an operation asks of its line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Access {
    /// Plain load.
    Ld,
    /// Plain store.
    St,
    /// Atomic done here (A1), loads and stores with synchronisation too.
    #[hw(label = "atomic")]
    Atomic,
}

/// Scopes.
pub(crate) const WG: u64 = 0;
pub(crate) const CMP: u64 = 1;
pub(crate) const SYS: u64 = 2;

/// A request, as it waits in S1 or as a target gives it back.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Shape)]
pub(crate) struct Op {
    pub kind: Enum<Kind>,
    pub op: Enum<SyncOp>,
    #[width(2)]
    pub sem: Bits,
    #[width(2)]
    pub scope: Bits,
    pub remote: Bool,
    pub want_ack: Bool,
    #[width(p.srsp.line_bits())]
    pub line: Bits,
    #[width(p.srsp.line)]
    pub mask: Bits,
    #[width(p.srsp.data_bits())]
    pub data: Bits,
    #[width(64)]
    pub cmp: Bits,
    #[width(12)]
    pub id: Bits,
}

impl Op {
    /// Decodes a message of the CU.
    pub fn of(m: &CuReq) -> Op {
        let kind = |k: Kind| enum_lit(k);
        // A relaxed atomic load or store bears a class, but orders nothing.
        let synced = m.sync | m.op.is(CuOp::Amo) | m.class.any();
        let access = mux(m.op.is(CuOp::St), kind(Kind::Store), kind(Kind::Load));
        let access = mux(synced, kind(Kind::Sync), access);
        let other = mux(m.op.is(CuOp::Kend), kind(Kind::End), kind(Kind::Begin));
        let other = mux(m.op.is(CuOp::Acq), kind(Kind::Acq), other);
        let other = mux(m.op.is(CuOp::Rel), kind(Kind::Rel), other);
        let memory = m.op.is_any(&[CuOp::Ld, CuOp::St, CuOp::Amo]);
        Op {
            kind: mux(memory, access, other),
            op: sync_op(m),
            sem: m.sem,
            scope: m.scope,
            remote: m.remote,
            want_ack: m.want_ack,
            line: m.line,
            mask: m.mask,
            data: m.data,
            cmp: m.cmp,
            id: m.id,
        }
    }

    fn first(&self) -> Bits {
        self.mask.lowest_set()
    }

    /// It accesses memory, plainly or with synchronisation.
    pub fn is_memory(&self) -> Bool {
        self.kind.is_any(&[Kind::Load, Kind::Store, Kind::Sync])
    }

    /// Nothing is to be done: a fence of work-group scope.
    pub fn at_once(&self) -> Bool {
        self.kind.is_any(&[Kind::Acq, Kind::Rel]) & self.scope.eq(WG)
    }

    /// It is a fence of a wider scope, or a kernel's begin or end.
    pub fn has_steps(&self) -> Bool {
        !self.is_memory() & !self.at_once()
    }

    /// What it asks of its line.
    pub fn access(&self) -> Enum<Access> {
        let access = mux(self.kind.is(Kind::Store), enum_lit(Access::St), enum_lit(Access::Atomic));
        mux(self.kind.is(Kind::Load), enum_lit(Access::Ld), access)
    }

    /// Its word in a line.
    pub fn old_word(&self, line: Bits) -> Bits {
        word_at(&self.atomic(), line)
    }

    /// The access for the L2, operands in the low half.
    pub fn atomic(&self) -> Atomic {
        let wide = wide(self.mask);
        Atomic {
            op: self.op,
            wide,
            addr: cat(&[self.line, self.first()]),
            opnd: word_of(self.data, self.first(), wide),
            cmp: self.cmp,
        }
    }

    /// What is kept of it while it waits for its line.
    pub fn waiter(&self) -> Waiter {
        let opnd = self.atomic().opnd;
        let word = Word { mask: self.mask, opnd, cmp: self.cmp, id: self.id };
        Waiter { what: What { load: self.kind.is(Kind::Load), op: self.op }, word }
    }

    /// The operation acquires.
    pub fn acquires(&self) -> Bool {
        self.sem.bit(0)
    }

    /// The operation releases.
    pub fn releases(&self) -> Bool {
        self.sem.bit(1)
    }

    /// It is one that the L1 knows (srsp.md section 3).
    pub fn legal(&self, remotes: bool) -> Bool {
        let bytes = self.mask.popcount().zext(8);
        let first = self.first();
        let mask = self.mask;
        let shifted = mask.shr_by(first);
        let width = mask.width();
        let whole = |n: u64| shifted.eq(lit_bv(Bv::from_u64((1 << n) - 1, width))) & bytes.eq(n);
        let four = whole(4) & first.slice(0, 2).none();
        let eight = whole(8) & first.slice(0, 3).none();
        let load = !self.op.is(SyncOp::Ld) | !self.releases();
        let store = !self.op.is(SyncOp::St) | !self.acquires();
        let promoted = self.scope.eq(CMP) & self.sem.any() & bool_lit(remotes);
        let sync = (four | eight) & load & store & (!self.remote | promoted);
        !self.kind.is(Kind::Sync) | sync
    }
}

/// What waits for its line: a plain load, or an atomic.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Shape)]
pub(crate) struct What {
    #[field("mshr")]
    pub load: Bool,
    #[field("mshr")]
    pub op: Enum<SyncOp>,
}

/// The access of an operation that waits for its line.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Shape)]
pub(crate) struct Word {
    #[width(p.srsp.line)]
    #[field("mshr")]
    pub mask: Bits,
    #[width(64)]
    #[field("mshr")]
    pub opnd: Bits,
    #[width(64)]
    #[field("mshr")]
    pub cmp: Bits,
    #[width(12)]
    #[field("mshr")]
    pub id: Bits,
}

/// An operation that waits for its line.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Shape)]
pub(crate) struct Waiter {
    #[shape(p.clone())]
    pub what: What,
    #[shape(p.clone())]
    pub word: Word,
}

impl Waiter {
    /// The operation, of work-group scope and without order, on its line, which is read last.
    pub fn again(&self, line: impl FnOnce() -> Bits, p: &Shape) -> Op {
        let word = &self.word;
        let wide = wide(word.mask);
        Op {
            kind: mux(self.what.load, enum_lit(Kind::Load), enum_lit(Kind::Sync)),
            op: self.what.op,
            sem: lit(0, 2),
            scope: lit(WG, 2),
            remote: bool_lit(false),
            want_ack: bool_lit(false),
            line: line(),
            mask: word.mask,
            data: place(word.opnd, wide, p.srsp.data_bits()),
            cmp: word.cmp,
            id: word.id,
        }
    }
}

/// What an atomic leaves of the old value, in every place of a line of `bits`, and whether it writes.
pub(crate) fn perform(atomic: &Atomic, old: Bits, bits: u32) -> (Bits, Bool) {
    let done = amo(atomic, old);
    (place(done.new, atomic.wide, bits), done.wrote)
}

/// The word of an atomic in its line.
pub(crate) fn word_at(atomic: &Atomic, line: Bits) -> Bits {
    let first = atomic.addr.slice(0, line.width().trailing_zeros() - 3);
    word_of(line, first, atomic.wide)
}

/// The bytes of a mask, from its first one on, are a word of 8.
pub(crate) fn wide(mask: Bits) -> Bool {
    let first = mask.lowest_set();
    mask.bit_at(first.zext(first.width() + 1) + 4)
}

fn sync_op(m: &CuReq) -> Enum<SyncOp> {
    let code = |op: SyncOp| enum_lit(op);
    let pairs = [
        (AmoOp::Add, SyncOp::Add),
        (AmoOp::Sub, SyncOp::Sub),
        (AmoOp::Inc, SyncOp::Inc),
        (AmoOp::Dec, SyncOp::Dec),
        (AmoOp::And, SyncOp::And),
        (AmoOp::Or, SyncOp::Or),
        (AmoOp::Xor, SyncOp::Xor),
        (AmoOp::Exch, SyncOp::Exch),
        (AmoOp::Cas, SyncOp::Cas),
        (AmoOp::Fadd32, SyncOp::Fadd32),
    ];
    let least = mux(m.sgn, code(SyncOp::SMin), code(SyncOp::Min));
    let greatest = mux(m.sgn, code(SyncOp::SMax), code(SyncOp::Max));
    let amo = mux(m.amo.is(AmoOp::Min), least, greatest);
    let amo = pairs.iter().fold(amo, |rest, (from, to)| mux(m.amo.is(*from), code(*to), rest));
    let plain = mux(m.op.is(CuOp::St), code(SyncOp::St), code(SyncOp::Ld));
    mux(m.op.is(CuOp::Amo), amo, plain)
}

/// The word of 4 or 8 bytes at a byte offset of a line; of 4 bytes in the low half.
pub(crate) fn word_of(line: Bits, first: Bits, wide: Bool) -> Bits {
    let eight = line.element(first.slice(3, first.width() - 3), 64);
    let four = mux(first.bit(2), eight.slice(32, 32), eight.slice(0, 32));
    mux(wide, eight, four.zext(64))
}

/// A word in every place of a line where one of its size may stand.
pub(crate) fn place(word: Bits, wide: Bool, bits: u32) -> Bits {
    let low = word.slice(0, 32);
    let eight = mux(wide, word, cat(&[low, low]));
    pack(&vec![eight; (bits / 64) as usize])
}

/// Bit i of a mask repeated over byte i.
pub(crate) fn spread(mask: Bits) -> Bits {
    let bytes: Vec<Bits> = (0..mask.width()).map(|i| mask.bit(i).repeat(8)).collect();
    pack(&bytes)
}

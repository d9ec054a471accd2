//! The register of stage 1, and the arrays that it looks into, emptied before anything enters it.

use super::{Bank, BankData, BankState, Beside, Op, Rows};
use weft_rtl::prelude::*;

/// Stage 0, the register of stage 1 and the arrays of lines.
pub(crate) struct Pipeline<K: HwEnum, A: BankData, S: BankState, E> {
    pub bank: Bank,
    /// The bank's number.
    pub own: Bits,
    /// Sets cleared since reset.
    cleared: Reg<Bits>,
    /// All sets are clear.
    pub open: Bool,
    pub s1_valid: Reg<Bool>,
    pub s1: Reg<Op<K, A>>,
    /// The head of the sFIFO is on its way from memory.
    pub held: Reg<Bool>,
    pub rows: Rows<S, E>,
}

impl<K: HwEnum, A: BankData, S: BankState, E: Beside> Pipeline<K, A, S, E> {
    /// Declares input `own`, the registers and the arrays.
    pub fn new(bank: &Bank) -> Pipeline<K, A, S, E> {
        let own = input::<Bits>("own", bank.srsp.bank_bits());
        let bits = bank.sets().trailing_zeros() + 1;
        let cleared = reg::<Bits>("cleared", bits).doc("Sets cleared since reset.");
        let open = cleared.get().bit(bits - 1).named("open");
        Pipeline {
            bank: bank.clone(),
            own,
            cleared,
            open,
            s1_valid: reg::<Bool>("s1_valid", ()),
            s1: reg::<Op<K, A>>("s1", bank.clone()).field("queue"),
            held: reg::<Bool>("head_held", ()),
            rows: Rows::new(bank),
        }
    }

    /// Stage 1 holds an operation of a kind.
    pub fn s1_is(&self, kinds: &[K]) -> Bool {
        self.s1_valid.get() & self.s1.get().kind.is_any(kinds)
    }

    /// Empties the arrays, a set per cycle.
    pub fn clear(&self) {
        when(!self.open, || {
            self.cleared.set(self.cleared.get() + 1);
            let set = self.cleared.get().resize(self.bank.set_bits());
            self.rows.empty(set);
            self.rows.clear_tree(set);
        });
    }

    /// An operation enters stage 1, which looks its line up.
    pub fn enter(&self, go: Bool, op: impl FnOnce() -> Op<K, A>, line: impl FnOnce() -> Bits) -> When {
        self.s1_valid.set(go);
        when(go, || {
            self.s1.set(op());
            self.rows.present(self.bank.set_of(line()));
        })
    }

    /// The head of the sFIFO waits for memory if `holds`, until a line has come, which stage 1 has: then `came` is called.
    pub fn hold(&self, holds: Bool, fill: K, came: impl FnOnce()) {
        when(holds, || self.held.set(true));
        when(self.s1_is(&[fill]), || {
            self.held.set(false);
            came();
        });
    }

    /// The line that leaves the way chosen for another line.
    pub fn leaver(&self, tag: Bits, line: Bits) -> Bits {
        self.bank.line_from(tag, self.bank.set_of(line), self.own)
    }
}

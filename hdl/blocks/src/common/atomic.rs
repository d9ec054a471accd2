//! The arithmetic of atomics on one word of 4 or 8 bytes (cu-and-consistency.md section 1).

use crate::msg::AmoOp;
use weft_rtl::prelude::*;

/// An atomic and its operands, 64 bits each; those of 4 bytes stand in the low half.
#[derive(Clone, Copy)]
pub struct Atomic {
    /// What is computed.
    pub op: Enum<AmoOp>,
    /// Compares signed.
    pub sgn: Bool,
    /// The word has 8 bytes.
    pub wide: Bool,
    /// The word before.
    pub old: Bits,
    /// Operand.
    pub operand: Bits,
    /// Compare operand; of 4 bytes only the low half counts.
    pub compare: Bits,
}

impl Atomic {
    /// The word after; of 4 bytes in the low half. FADD32 leaves it as it is: a behavioural extension of memories.
    pub fn result(&self, name: &str) -> Bits {
        let Atomic { sgn, wide, old, operand, .. } = *self;
        let sign = cat(&[(sgn & wide).bits(), lit(0, 31), (sgn & !wide).bits(), lit(0, 31)]);
        let less = (old ^ sign).lt(operand ^ sign);
        let compare = mux(wide, self.compare, self.compare.slice(0, 32).zext(64));
        let result = wire_zero::<Bits>(&format!("{name}_result"), 64);
        switch(self.op, |s| {
            s.case(AmoOp::Add, || result.set(old + operand));
            s.case(AmoOp::Sub, || result.set(old - operand));
            s.case(AmoOp::Inc, || result.set(mux(old.ge(operand), lit(0, 64), old + 1)));
            s.case(AmoOp::Dec, || result.set(mux(old.none() | old.gt(operand), operand, old - 1)));
            s.case(AmoOp::And, || result.set(old & operand));
            s.case(AmoOp::Or, || result.set(old | operand));
            s.case(AmoOp::Xor, || result.set(old ^ operand));
            s.case(AmoOp::Min, || result.set(mux(less, old, operand)));
            s.case(AmoOp::Max, || result.set(mux(less, operand, old)));
            s.case(AmoOp::Exch, || result.set(operand));
            s.case(AmoOp::Cas, || result.set(mux(old.eq(compare), operand, old)));
            s.default(|| result.set(old));
        });
        result.get()
    }
}

//! How stage 1 asks the tables.

use crate::msg::RspOp;
use weft_rtl::prelude::*;

/// The encoding of a value of a column.
pub(crate) fn code<E: HwEnum>(value: E) -> Bits {
    lit(value.encoding(), E::enum_type().width)
}

/// The first of the pairs that holds, as a value of a column.
pub(crate) fn coded<E: HwEnum>(pairs: &[(Bool, E)], rest: E) -> Bits {
    pairs.iter().rev().fold(code(rest), |so_far, (now, value)| mux(*now, code(*value), so_far))
}

/// The last of the pairs that holds.
pub(crate) fn chosen<E: HwEnum>(pairs: &[(Bool, E)], rest: E) -> Enum<E> {
    pairs.iter().fold(enum_lit(rest), |so_far, (now, value)| mux(*now, enum_lit(*value), so_far))
}

/// Whether one of the answers is sent, and which.
pub(crate) fn answered(answers: &[(Bool, RspOp)]) -> (Bool, Enum<RspOp>) {
    let rsp = chosen(answers, RspOp::Fill);
    (any_of(&answers.iter().map(|a| a.0).collect::<Vec<_>>()).named("s1_answers"), rsp)
}

/// A decoded table.
pub(crate) struct Ruled<S, A> {
    pub at: Bool,
    pub decoded: Decoded<S, A>,
}

impl<S: HwEnum, A: HwEnum> Ruled<S, A> {
    /// A row is in force.
    pub fn at(&self) -> Bool {
        self.at
    }
    /// The row in force takes an action; low where no row of the table does.
    pub fn does(&self, action: A) -> Bool {
        if self.decoded.may(action) { self.at & self.decoded.does(action) } else { bool_lit(false) }
    }
}

//! Tables of stage 3, in force for some operations only.

use weft_rtl::prelude::*;
use weft_rtl::transitions::{Columns, Inputs};

/// A table in force: its rows' cover marks, and its actions; those that no row takes are low.
#[derive(Clone)]
pub(crate) struct Rows<S, A> {
    at: Bool,
    decoded: Decoded<S, A>,
}

impl<S: HwEnum, A: HwEnum> Rows<S, A> {
    /// Decodes a table; `at`: its inputs mean something.
    pub fn new<C: Columns>(table: &Transitions<C, S, A>, at: Bool, inputs: impl Inputs<C>) -> Rows<S, A> {
        Rows { at, decoded: table.decode(at, inputs) }
    }
    /// The same for a table whose first column, `first`, lists only some values; others take no action.
    pub fn listed<C: Columns>(
        table: &Transitions<C, S, A>,
        at: Bool,
        first: Bits,
        inputs: impl Inputs<C>,
    ) -> Rows<S, A> {
        let known: Vec<Bool> =
            table.rows().iter().flat_map(|row| &row.when[0]).map(|code| first.eq(*code)).collect();
        Rows::new(table, at & any_of(&known), inputs)
    }
    /// The row in force takes an action.
    pub fn does(&self, action: A) -> Bool {
        if self.decoded.may(action) { self.at & self.decoded.does(action) } else { bool_lit(false) }
    }
    /// A row is in force.
    pub fn row(&self, id: &str) -> Bool {
        self.at & self.decoded.row(id)
    }
    /// Asserts the state to which the row in force leads.
    pub fn leads_to(&self, after: Enum<S>) {
        self.decoded.leads_to(after);
    }
}

/// Code of the first value whose condition holds, else of `rest`.
pub(crate) fn coded<E: HwEnum>(pairs: &[(Bool, E)], rest: E) -> Bits {
    let width = bits_for(E::VARIANTS.len() as u64);
    let value = |value: E| lit(value.encoding(), width);
    pairs.iter().rev().fold(value(rest), |so_far, (now, one)| mux(*now, value(*one), so_far))
}

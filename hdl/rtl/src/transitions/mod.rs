//! Transition tables: a protocol's rules, written once.
//!
//! [`transitions!`](macro@crate::transitions) writes a table down. Its columns, the state that follows and the actions are enumerations, so that a name that
//! does not exist does not compile. Every combination of the columns' values has a row, is `idle` (it happens, and there is nothing to see), or is said to
//! happen `never`: a combination that is missing, or has two rows, is an error of elaboration, and one that never happens is asserted not to. A row may take in
//! what never happens, since hardware that does not look is smaller: `(Ld, I, _)` beside `never (_, I, Open)`.
//!
//! ```
//! use weft_rtl::prelude::*;
//!
//! #[derive(Clone, Copy, PartialEq, Debug, HwEnum)]
//! pub enum Access { Ld, St }
//! #[derive(Clone, Copy, PartialEq, Debug, HwEnum)]
//! pub enum State { I, P, V }
//! #[derive(Clone, Copy, PartialEq, Debug, HwEnum)]
//! pub enum Act { Hit, Miss, Write }
//!
//! transitions! {
//!     /// What an operation does to its line; `writes`: stores are cached.
//!     pub fn operations(writes: bool) {
//!         name "l1_operations", rows "l1.";
//!         on "access": Access, "state": State;
//!         next State;
//!         does Act;
//!
//!         (Ld, I) -> P [Miss]     "Ask for the line.";
//!         (Ld, V)      [Hit]      "Answer.";
//!         if writes {
//!             (St, V)      [Write] "Write the copy.";
//!             "St.I" (St, I | P)   "The next level writes.";
//!         } else {
//!             never (St, _)        "this cache is read only";
//!         }
//!         never (Ld, P)            "a line that is asked for is not looked up";
//!     }
//! }
//!
//! let lines = operations(true);
//! assert_eq!(lines.faults(), []);
//! assert_eq!(lines.rows()[0].id, "l1.Ld.I");
//! assert!(operations(false).to_markdown().contains("| `l1.Ld.I` | Ld | I | P | Miss | Ask for the line. |"));
//!
//! let block = Module::build("l1", ModuleKind::Block, || {
//!     let asked = input::<Bool>("asked", ());
//!     let access = input::<Enum<Access>>("operation", ());
//!     let state = output_reg::<Enum<State>>("state", ());
//!     let row = operations(true).decode(asked, (access, state.get()));
//!     when(asked & row.does(Act::Miss), || state.set(State::P));
//!     let after = mux(asked & row.does(Act::Miss), enum_lit(State::P), state.get());
//!     row.leads_to(after);
//! });
//! assert_eq!(block.unwrap().probes.len(), 4 + 2);
//! ```
//!
//! A row without `->` keeps the state. A row with `-> V | D` leads to one of both. A row that leads somewhere is asserted to
//! ([`Decoded::leads_to`]), or its table drives the register itself ([`Transitions::drive`]).
//!
//! Rows that several tables have are written once, as `rows NAME { ... }`, and a table says `include NAME;` where they stand. Their words mean what they mean in the table that
//! includes them, which has its own types for columns, state and actions; its prefix begins their identifiers, and they are rows of it like its own. In the place of a parameter
//! stands what the table gives for it.
//!
//! ```
//! # use weft_rtl::prelude::*;
//! # #[derive(Clone, Copy, PartialEq, Debug, HwEnum)]
//! # pub enum State { I, P, V }
//! # #[derive(Clone, Copy, PartialEq, Debug, HwEnum)]
//! # pub enum Event { Inv, Evict }
//! # #[derive(Clone, Copy, PartialEq, Debug, HwEnum)]
//! # pub enum Act { Drop, Wait }
//! transitions! {
//!     /// What takes a line away, by `event`.
//!     pub(crate) rows leaves(event) {
//!         (I, event)              "There is no line.";
//!         (V, event) -> I [Drop]  "Dropped.";
//!     }
//! }
//! transitions! {
//!     pub fn removals() {
//!         name "removals", rows "l1.";
//!         on "state": State, "event": Event;
//!         next State;
//!         does Act;
//!
//!         include leaves(Inv);
//!         include leaves(Evict);
//!         (P, Inv) [Wait]         "Wait for the line.";
//!         never (P, Evict)        "a line under way is no victim";
//!     }
//! }
//!
//! # fn main() {
//! assert_eq!(removals().faults(), []);
//! assert_eq!(removals().rows()[3].id, "l1.V.Evict");
//! # }
//! ```
//!
//! [`Machine`] joins all tables that move one state: it knows which states can be reached, and draws their diagram.

mod check;
mod decode;
mod entries;
mod machine;
mod page;

pub use check::Fault;
pub use decode::{Decoded, Inputs, Reads};
pub use entries::{Happens, follows, rows_of_entries};
pub use machine::Machine;

use crate::ir::Loc;
use crate::value::HwEnum;
use std::any::TypeId;
use std::marker::PhantomData;
use weft_rtl_derive::HwEnum;

/// A table without a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum NoState {
    /// What stands in for one.
    None,
}

/// A table without actions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum NoAction {
    /// What stands in for one.
    None,
}

/// A column of yes and no.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Is {
    /// It is not.
    #[hw(label = "no")]
    No,
    /// It is.
    #[hw(label = "yes")]
    Yes,
}

/// One row.
#[derive(Clone, PartialEq, Debug)]
pub struct Row<A> {
    /// Ledger identifier, e.g. `rec.RD_REM.base_miss`.
    pub id: String,
    /// Per column the encodings that the row accepts; none: all.
    pub when: Vec<Vec<u64>>,
    /// Encodings of the states to which the row leads; none: the state stays.
    pub next: Vec<u64>,
    /// Actions taken.
    pub actions: Vec<A>,
    /// One sentence for the documentation.
    pub why: String,
    loc: Loc,
}

/// A combination that has no row.
#[derive(Clone, PartialEq, Debug)]
pub struct Gap {
    /// Per column the encodings; none: all.
    pub when: Vec<Vec<u64>>,
    /// It happens, and nothing is to be seen; else it never happens.
    pub idle: bool,
    /// Why.
    pub why: String,
    loc: Loc,
}

/// A column: its heading, and its values by label and encoding.
#[derive(Clone, PartialEq, Debug)]
pub struct Column {
    /// Heading.
    pub name: &'static str,
    /// Labels with encodings.
    pub values: Vec<(&'static str, u64)>,
    of: TypeId,
}

/// The types of a table's columns: a tuple of one to four enumerations.
pub trait Columns {
    /// Values that a row accepts, by column.
    type When<'a>;
    /// The encodings of these.
    fn codes(when: Self::When<'_>) -> Vec<Vec<u64>>;
    /// The columns with these headings.
    fn columns(names: &[&'static str]) -> Vec<Column>;
}

fn codes<E: HwEnum>(values: &[E]) -> Vec<u64> {
    values.iter().map(|value| value.encoding()).collect()
}

fn column<E: HwEnum>(name: &'static str) -> Column {
    let values = E::VARIANTS.iter().map(|value| (value.label(), value.encoding())).collect();
    Column { name, values, of: TypeId::of::<E>() }
}

macro_rules! columns {
    ($($ty:ident $value:ident $at:literal),+) => {
        impl<$($ty: HwEnum),+> Columns for ($($ty,)+) {
            type When<'a> = ($(&'a [$ty],)+);
            fn codes(($($value,)+): Self::When<'_>) -> Vec<Vec<u64>> {
                vec![$(codes($value)),+]
            }
            fn columns(names: &[&'static str]) -> Vec<Column> {
                vec![$(column::<$ty>(names[$at])),+]
            }
        }
    };
}
columns!(A a 0);
columns!(A a 0, B b 1);
columns!(A a 0, B b 1, C c 2);
columns!(A a 0, B b 1, C c 2, D d 3);

/// A transition table: columns `C`, the state `S` that it moves, actions `A`.
#[derive(Clone, Debug)]
pub struct Transitions<C, S, A> {
    name: &'static str,
    prefix: String,
    columns: Vec<Column>,
    rows: Vec<Row<A>>,
    gaps: Vec<Gap>,
    loc: Loc,
    kind: PhantomData<(C, S)>,
}

impl<C: Columns, S: HwEnum, A: HwEnum> Transitions<C, S, A> {
    /// A table without rows. `prefix` begins the identifiers of its rows.
    #[track_caller]
    pub fn new(
        name: &'static str,
        prefix: impl Into<String>,
        columns: &[&'static str],
    ) -> Transitions<C, S, A> {
        Transitions {
            name,
            prefix: prefix.into(),
            columns: C::columns(columns),
            rows: Vec::new(),
            gaps: Vec::new(),
            loc: Loc::caller(),
            kind: PhantomData,
        }
    }

    /// Adds a row. Without an identifier it is called by its values: `V.load`.
    #[track_caller]
    pub fn row(
        &mut self,
        id: Option<&str>,
        when: C::When<'_>,
        next: &[S],
        actions: &[A],
        why: impl Into<String>,
    ) {
        let when = C::codes(when);
        let id = id.map_or_else(|| self.label(&when), str::to_string);
        self.rows.push(Row {
            id: format!("{}{id}", self.prefix),
            when,
            next: codes(next),
            actions: actions.to_vec(),
            why: why.into(),
            loc: Loc::caller(),
        });
    }

    /// Says of a combination that it never happens.
    #[track_caller]
    pub fn never(&mut self, when: C::When<'_>, why: impl Into<String>) {
        self.gaps.push(Gap { when: C::codes(when), idle: false, why: why.into(), loc: Loc::caller() });
    }

    /// Says of a combination that nothing happens then that is worth a row.
    #[track_caller]
    pub fn idle(&mut self, when: C::When<'_>, why: impl Into<String>) {
        self.gaps.push(Gap { when: C::codes(when), idle: true, why: why.into(), loc: Loc::caller() });
    }

    /// The rows for some values of a column, as a table of its own: the other values never happen there.
    ///
    /// # Panics
    /// When the table has no column of that type: a slip in the block's source.
    #[must_use]
    pub fn only<E: HwEnum>(mut self, name: &'static str, values: &[E]) -> Transitions<C, S, A> {
        let column = self.columns.iter().position(|column| column.of == TypeId::of::<E>());
        let column = column.unwrap_or_else(|| panic!("table {} has no such column", self.name));
        let kept = codes(values);
        let narrow = |when: &mut Vec<Vec<u64>>| {
            let asked = &mut when[column];
            *asked = kept.iter().copied().filter(|code| accepts(asked, *code)).collect();
            !asked.is_empty()
        };
        self.rows.retain_mut(|row| narrow(&mut row.when));
        self.gaps.retain_mut(|gap| narrow(&mut gap.when));
        let all = self.columns[column].values.iter().map(|value| value.1);
        let others: Vec<u64> = all.filter(|code| !kept.contains(code)).collect();
        if !others.is_empty() {
            let mut when = vec![Vec::new(); self.columns.len()];
            when[column] = others;
            let why = "another table has these".to_string();
            self.gaps.push(Gap { when, idle: false, why, loc: self.loc });
        }
        self.name = name;
        self
    }

    /// The moves of a table that sees the state in other words; `from`: the states that a row means, none if it is not told of.
    pub fn moves(&self, from: impl Fn(&Row<A>) -> Vec<S>) -> Transitions<(S,), S, NoAction> {
        let mut seen = Transitions::new(self.name, "", &["state"]);
        for row in self.rows.iter().filter(|row| !row.next.is_empty()) {
            let next: Vec<S> =
                S::VARIANTS.iter().copied().filter(|state| row.next.contains(&state.encoding())).collect();
            let from = from(row);
            if !from.is_empty() {
                seen.row(Some(&row.id), (&from[..],), &next, &[], row.why.as_str());
            }
        }
        seen
    }

    /// Name, for documentation and assertions.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The rows, in the order of the source.
    pub fn rows(&self) -> &[Row<A>] {
        &self.rows
    }

    /// Combinations without a row, and why.
    pub fn gaps(&self) -> &[Gap] {
        &self.gaps
    }

    /// Number of the column that has the state.
    fn state_column(&self) -> Option<usize> {
        self.columns.iter().position(|column| column.of == TypeId::of::<S>())
    }

    /// A combination, or a row's pattern, in the words of the columns.
    fn label(&self, when: &[Vec<u64>]) -> String {
        let words = when.iter().zip(&self.columns).map(|(codes, column)| column.words(codes).join("|"));
        words.collect::<Vec<_>>().join(".")
    }
}

impl Column {
    /// Labels of encodings.
    fn words(&self, codes: &[u64]) -> Vec<&'static str> {
        let label =
            |code: &u64| self.values.iter().find(|value| value.1 == *code).map_or("?", |value| value.0);
        codes.iter().map(label).collect()
    }
}

/// Whether a pattern has a value.
fn accepts(pattern: &[u64], code: u64) -> bool {
    pattern.is_empty() || pattern.contains(&code)
}

//! A table as hardware: which row is in force, what it does, where it leads.

use super::*;
use crate::data::mux;
use crate::signal::{Reg, about, assert_always, cover, when};
use crate::value::*;

/// A value that a column reads: an enumeration, or a vector with its encodings that may be narrower than all of them need.
pub trait Reads<E> {
    /// Its bits.
    fn bits(self) -> Bits;
}

impl<E: HwEnum> Reads<E> for Enum<E> {
    fn bits(self) -> Bits {
        Enum::bits(self)
    }
}
impl<E: HwEnum> Reads<E> for Bits {
    fn bits(self) -> Bits {
        self
    }
}
impl Reads<Is> for Bool {
    fn bits(self) -> Bits {
        Bool::bits(self)
    }
}

/// The values of all columns.
pub trait Inputs<C> {
    /// Their bits.
    fn bits(self) -> Vec<Bits>;
}

macro_rules! inputs {
    ($($ty:ident $value:ident $read:ident),+) => {
        impl<$($ty: HwEnum, $read: Reads<$ty>),+> Inputs<($($ty,)+)> for ($($read,)+) {
            fn bits(self) -> Vec<Bits> {
                let ($($value,)+) = self;
                vec![$($value.bits()),+]
            }
        }
    };
}
inputs!(A a RA);
inputs!(A a RA, B b RB);
inputs!(A a RA, B b RB, C c RC);
inputs!(A a RA, B b RB, C c RC, D d RD);

/// Which row is in force, in hardware.
#[derive(Clone)]
pub struct Decoded<S, A> {
    table: &'static str,
    valid: Bool,
    /// Value of the column that has the state.
    before: Option<Bits>,
    rows: Vec<(Row<A>, Bool)>,
    actions: Vec<(A, Bool)>,
    kind: PhantomData<S>,
}

impl<S: HwEnum, A: HwEnum> Decoded<S, A> {
    /// Whether the present row takes an action; never, where the table's parameters leave no row that does.
    pub fn does(&self, action: A) -> Bool {
        let found = self.actions.iter().find(|(known, _)| *known == action);
        found.map_or_else(|| bool_lit(false), |(_, now)| *now)
    }

    /// Whether some row of the table takes an action.
    pub fn may(&self, action: A) -> bool {
        self.actions.iter().any(|(known, _)| *known == action)
    }

    /// Whether a row is the present one.
    ///
    /// # Panics
    /// When the table has no such row.
    pub fn row(&self, id: &str) -> Bool {
        let found = self.rows.iter().find(|(row, _)| row.id == id);
        found.unwrap_or_else(|| panic!("table {} has no row {id}", self.table)).1
    }

    /// The state to which the present row leads; the present one, where it leads nowhere.
    ///
    /// # Panics
    /// When the table has no column with the state, or a row may lead to several.
    pub fn next(&self) -> Enum<S> {
        let kept = self.before.unwrap_or_else(|| panic!("table {} has no column with the state", self.table));
        let step = |after: Bits, (row, here): &(Row<A>, Bool)| match &row.next[..] {
            [] => after,
            [next] => mux(*here, lit(*next, after.width()), after),
            _ => panic!("row {} of table {} leads to several states", row.id, self.table),
        };
        self.rows.iter().fold(kept, step).as_enum()
    }

    /// Asserts that `after`, which the block computes, is the state to which the present row leads.
    pub fn leads_to(&self, after: Enum<S>) {
        self.leads_to_when(bool_lit(true), after);
    }

    /// The same of rows that are carried out only when `done` holds.
    pub fn leads_to_when(&self, done: Bool, after: Enum<S>) {
        let kept = |state: Bits| state.eq(after.bits());
        let agrees = self.rows.iter().map(|(row, here)| match &row.next[..] {
            [] => !*here | self.before.map_or(bool_lit(true), kept),
            next => !*here | any_of(&next.iter().map(|code| after.bits().eq(*code)).collect::<Vec<_>>()),
        });
        assert_always(
            &format!("{}_next", self.table),
            !(self.valid & done) | all_of(&agrees.collect::<Vec<_>>()),
            "the state that follows is the one to which the row leads",
        );
    }
}

impl<S: HwEnum, A: HwEnum> Decoded<S, A> {
    /// As [`Decoded::leads_to`] for a table that has no column with the state, which is `before`: rows that lead nowhere keep it.
    pub fn leads_from_to(&self, before: Enum<S>, after: Enum<S>) {
        self.leads_to(after);
        let kept: Vec<Bool> =
            self.rows.iter().filter(|(row, _)| row.next.is_empty()).map(|(_, here)| *here).collect();
        assert_always(
            &format!("{}_keeps", self.table),
            !(self.valid & any_of(&kept)) | before.bits().eq(after.bits()),
            "a row that leads nowhere leaves the state as it is",
        );
    }
}

/// Each action that some row takes, and whether the present one does.
fn actions_of<A: HwEnum>(rows: &[(Row<A>, Bool)]) -> Vec<(A, Bool)> {
    let mut actions: Vec<(A, Vec<Bool>)> = Vec::new();
    for (row, here) in rows {
        for action in &row.actions {
            match actions.iter_mut().find(|(known, _)| known == action) {
                Some((_, takers)) => takers.push(*here),
                None => actions.push((*action, vec![*here])),
            }
        }
    }
    actions.into_iter().map(|(action, takers)| (action, any_of(&takers))).collect()
}

/// Whether two patterns have a combination in common.
fn meet(a: &[Vec<u64>], b: &[Vec<u64>]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.is_empty() || b.is_empty() || a.iter().any(|code| b.contains(code)))
}

impl<C: Columns, S: HwEnum, A: HwEnum> Transitions<C, S, A> {
    fn matches(&self, when: &[Vec<u64>], inputs: &[Bits]) -> Bool {
        let mut tests = Vec::new();
        for (pattern, value) in when.iter().zip(inputs) {
            if !pattern.is_empty() {
                let any: Vec<Bool> = pattern.iter().map(|code| value.eq(*code)).collect();
                tests.push(any_of(&any));
            }
        }
        all_of(&tests)
    }

    /// Builds the decoder. `inputs` are the columns' values; `valid` says when they mean something: a row is then counted as hit, and
    /// a combination that never happens fails an assertion.
    pub fn decode(&self, valid: Bool, inputs: impl Inputs<C>) -> Decoded<S, A> {
        self.decode_each(valid, inputs, &|_| None)
    }

    /// As [`Transitions::decode`]; the rows tell of the line with number `line` ([`crate::signal::about`]).
    pub fn decode_about(&self, line: Bits, valid: Bool, inputs: impl Inputs<C>) -> Decoded<S, A> {
        self.decode_about_but(line, &[], valid, inputs)
    }

    /// As [`Transitions::decode_about`]; rows whose identifiers end with one of `lineless` tell of no line: fences, empty frames.
    ///
    /// # Panics
    /// When no row ends so: a slip in the block's source.
    pub fn decode_about_but(
        &self,
        line: Bits,
        lineless: &[&str],
        valid: Bool,
        inputs: impl Inputs<C>,
    ) -> Decoded<S, A> {
        let ends = |row: &Row<A>, end: &&str| row.id.ends_with(*end);
        for end in lineless {
            assert!(self.rows.iter().any(|row| ends(row, end)), "table {} has no row {end}", self.name);
        }
        let of_line = |row: &Row<A>| (!lineless.iter().any(|end| ends(row, end))).then_some(line);
        self.decode_each(valid, inputs, &of_line)
    }

    /// `of_line`: the line that a row tells of.
    fn decode_each(
        &self,
        valid: Bool,
        inputs: impl Inputs<C>,
        of_line: &dyn Fn(&Row<A>) -> Option<Bits>,
    ) -> Decoded<S, A> {
        self.check();
        let inputs = inputs.bits();
        let rows: Vec<(Row<A>, Bool)> =
            self.rows.iter().map(|row| (row.clone(), self.matches(&row.when, &inputs))).collect();
        for (row, hit) in &rows {
            let declare = || cover(&row.id, valid & *hit, &row.why);
            match of_line(row) {
                Some(line) => about(line, declare),
                None => declare(),
            }
        }
        let gaps = |idle: bool| self.gaps.iter().filter(move |gap| gap.idle == idle);
        let idle = gaps(true).map(|gap| self.matches(&gap.when, &inputs));
        let listed: Vec<Bool> = rows.iter().map(|row| row.1).chain(idle).collect();
        // A row may take in what never happens: its hardware is smaller for it.
        let hidden = gaps(false).filter(|gap| self.rows.iter().any(|row| meet(&row.when, &gap.when)));
        let happens = hidden.map(|gap| !self.matches(&gap.when, &inputs));
        let happens = happens.fold(any_of(&listed), |all, not| all & not);
        assert_always(
            &format!("{}_complete", self.name),
            !valid | happens,
            "every state and event pair that occurs has a row in the transition table",
        );
        let actions = actions_of(&rows);
        let before = self.state_column().map(|at| inputs[at]);
        Decoded { table: self.name, valid, before, rows, actions, kind: PhantomData }
    }
}

/// A name for assertions out of a label.
fn word(label: &str) -> String {
    label.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect()
}

/// A table of states and events, several of which may happen in one cycle.
impl<S: HwEnum, E: HwEnum, A: HwEnum> Transitions<(S, E), S, A> {
    /// Counts the rows taken; `fired`: events, and whether they happen. An event without a row for the present state fails an assertion, and so
    /// does a register whose next value is not the state to which the rows lead.
    pub fn observe(&self, state: &Reg<Enum<S>>, fired: &[(E, Bool)]) {
        self.observe_as(self.name, state, fired);
    }

    /// As [`Transitions::observe`]; `name` begins the names of the assertions.
    pub fn observe_as(&self, name: &str, state: &Reg<Enum<S>>, fired: &[(E, Bool)]) {
        self.check();
        let now = state.get().bits();
        let mut expected = now;
        for (event, happens) in fired {
            for (row, here) in self.rows_of(name, now, *event, *happens) {
                if let [next] = row.next[..] {
                    expected = mux(*happens & here, lit(next, now.width()), expected);
                }
            }
        }
        let name = format!("{name}_next");
        state.on_next(move |next| {
            let text = "the state that follows is the one to which the rows lead";
            assert_always(&name, next.bits().eq(expected), text);
        });
    }

    /// As [`Transitions::observe`], and the rows move the register.
    pub fn drive(&self, state: &Reg<Enum<S>>, fired: &[(E, Bool)]) {
        self.drive_as(self.name, state, fired);
    }

    /// As [`Transitions::drive`]; `name` begins the names of the assertions.
    ///
    /// # Panics
    /// When a row leads to one of several states.
    pub fn drive_as(&self, name: &str, state: &Reg<Enum<S>>, fired: &[(E, Bool)]) {
        self.check();
        let now = state.get().bits();
        for (event, happens) in fired {
            for (row, here) in self.rows_of(name, now, *event, *happens) {
                assert!(row.next.len() < 2, "row {} drives a register and leads to one state", row.id);
                if let [next] = row.next[..] {
                    when(*happens & here, || state.set(lit(next, now.width()).as_enum::<S>()));
                }
            }
        }
    }

    /// The rows of an event with whether the state is theirs, counted and asserted to be all.
    fn rows_of(&self, name: &str, now: Bits, event: E, happens: Bool) -> Vec<(&Row<A>, Bool)> {
        let code = event.encoding();
        let rows: Vec<(&Row<A>, Bool)> = self
            .rows
            .iter()
            .filter(|row| accepts(&row.when[1], code))
            .map(|row| (row, self.matches(&row.when[..1], &[now])))
            .collect();
        for (row, here) in &rows {
            cover(&row.id, happens & *here, &row.why);
        }
        assert_always(
            &format!("{name}_{}_listed", word(event.label())),
            !happens | any_of(&rows.iter().map(|row| row.1).collect::<Vec<_>>()),
            "every pair of state and event that occurs has a row in the table",
        );
        rows
    }
}

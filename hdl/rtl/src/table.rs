//! Transition tables as data: one table gives the decoder, the documentation, the coverage and the check that no pair is missing.

use crate::signal::{about, assert_always, cover};
use crate::value::*;
use std::fmt::Write;

/// What a row asks of one column: the encodings it accepts; empty accepts everything.
pub type Pattern = Vec<u64>;

/// One row of a transition table.
#[derive(Clone, Debug)]
pub struct Row {
    /// Ledger identifier, e.g. `rec.RD_REM.base_miss`.
    pub id: String,
    /// One pattern per column.
    pub when: Vec<Pattern>,
    /// Names of the actions taken.
    pub actions: Vec<&'static str>,
    /// One sentence for the documentation.
    pub text: String,
}

/// A column: a decoded condition of the hardware, with names for its values.
#[derive(Clone, Debug)]
pub struct Column {
    /// Heading.
    pub name: &'static str,
    /// Value names by encoding.
    pub values: Vec<(&'static str, u64)>,
}

/// A transition table. Rows must not overlap.
#[derive(Clone, Debug)]
pub struct Table {
    /// Name, for documentation and assertion.
    pub name: &'static str,
    /// Columns in order.
    pub columns: Vec<Column>,
    /// Rows.
    pub rows: Vec<Row>,
}

/// Decoded table: which actions the present row asks for.
pub struct Decoded {
    actions: Vec<(&'static str, Bool)>,
    rows: Vec<(String, Bool)>,
}

impl Decoded {
    /// Whether the present row takes an action.
    ///
    /// # Panics
    /// When no row of the table names the action: a slip in the block's source.
    pub fn action(&self, name: &str) -> Bool {
        let found = self.actions.iter().find(|(n, _)| *n == name);
        found.unwrap_or_else(|| panic!("no row of the table takes action {name}")).1
    }

    /// Whether a row is the present one.
    ///
    /// # Panics
    /// When the table has no such row.
    pub fn row(&self, id: &str) -> Bool {
        self.rows.iter().find(|(n, _)| n == id).unwrap_or_else(|| panic!("the table has no row {id}")).1
    }
}

impl Table {
    fn matches(&self, row: &Row, inputs: &[Bits]) -> Bool {
        let mut tests = Vec::new();
        for (pattern, value) in row.when.iter().zip(inputs) {
            if !pattern.is_empty() {
                let any: Vec<Bool> = pattern.iter().map(|code| value.eq(*code)).collect();
                tests.push(any_of(&any));
            }
        }
        all_of(&tests)
    }

    /// Builds the decoder. `inputs` are the columns' values; `valid` says when they are meaningful (a row is then counted as hit and
    /// a pair that no row lists fails an assertion).
    pub fn decode(&self, valid: Bool, inputs: &[Bits]) -> Decoded {
        self.decode_each(valid, inputs, &|_| None)
    }

    /// `of_line`: the line that a row tells of.
    fn decode_each(&self, valid: Bool, inputs: &[Bits], of_line: &dyn Fn(&Row) -> Option<Bits>) -> Decoded {
        let rows: Vec<(String, Bool)> =
            self.rows.iter().map(|row| (row.id.clone(), self.matches(row, inputs))).collect();
        let mut names: Vec<&'static str> = Vec::new();
        for action in self.rows.iter().flat_map(|r| &r.actions) {
            if !names.contains(action) {
                names.push(action);
            }
        }
        let actions = names
            .into_iter()
            .map(|name| {
                let takers: Vec<Bool> = self
                    .rows
                    .iter()
                    .zip(&rows)
                    .filter(|(row, _)| row.actions.contains(&name))
                    .map(|(_, (_, hit))| *hit)
                    .collect();
                (name, any_of(&takers))
            })
            .collect();
        for (row, (id, hit)) in self.rows.iter().zip(&rows) {
            let declare = || cover(id, valid & *hit, &row.text);
            match of_line(row) {
                Some(line) => about(line, declare),
                None => declare(),
            }
        }
        let hits: Vec<Bool> = rows.iter().map(|r| r.1).collect();
        assert_always(
            &format!("{}_complete", self.name),
            !valid | any_of(&hits),
            "every state and event pair that occurs has a row in the transition table",
        );
        Decoded { actions, rows }
    }

    /// As [`Table::decode`]; the rows tell of the line with number `line` ([`crate::signal::about`]).
    pub fn decode_about(&self, line: Bits, valid: Bool, inputs: &[Bits]) -> Decoded {
        self.decode_about_but(line, &[], valid, inputs)
    }

    /// As [`Table::decode_about`]; rows whose identifiers end with one of `lineless` tell of no line: fences, empty frames.
    ///
    /// # Panics
    /// When no row ends so: a slip in the block's source.
    pub fn decode_about_but(&self, line: Bits, lineless: &[&str], valid: Bool, inputs: &[Bits]) -> Decoded {
        let ends = |row: &Row, end: &&str| row.id.ends_with(*end);
        for end in lineless {
            assert!(self.rows.iter().any(|row| ends(row, end)), "table {} has no row {end}", self.name);
        }
        let of_line = |row: &Row| (!lineless.iter().any(|end| ends(row, end))).then_some(line);
        self.decode_each(valid, inputs, &of_line)
    }

    /// Pairs of rows that both match some input; empty in a sound table.
    pub fn overlaps(&self) -> Vec<(String, String)> {
        let mut out = Vec::new();
        for (i, a) in self.rows.iter().enumerate() {
            for b in &self.rows[i + 1..] {
                let meet = a
                    .when
                    .iter()
                    .zip(&b.when)
                    .all(|(p, q)| p.is_empty() || q.is_empty() || p.iter().any(|v| q.contains(v)));
                if meet {
                    out.push((a.id.clone(), b.id.clone()));
                }
            }
        }
        out
    }

    /// The table as Markdown.
    pub fn to_markdown(&self) -> String {
        let mut out = String::from("| row |");
        for column in &self.columns {
            let _ = write!(out, " {} |", column.name);
        }
        out.push_str(" actions | meaning |\n|---|");
        out.push_str(&"---|".repeat(self.columns.len() + 2));
        out.push('\n');
        for row in &self.rows {
            let _ = write!(out, "| `{}` |", row.id);
            for (pattern, column) in row.when.iter().zip(&self.columns) {
                let names: Vec<&str> = pattern
                    .iter()
                    .map(|code| column.values.iter().find(|v| v.1 == *code).map_or("?", |v| v.0))
                    .collect();
                let _ = write!(out, " {} |", if names.is_empty() { "any".into() } else { names.join(", ") });
            }
            let _ = writeln!(out, " {} | {} |", row.actions.join(", "), row.text);
        }
        out
    }
}

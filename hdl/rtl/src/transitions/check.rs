//! What can be wrong with a table: combinations with two rows, or with none, and rows that never happen.

use super::*;
use crate::build::with;
use crate::error::ElabErrorKind;

/// A fault of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Two rows, or a row and what is idle, have a combination in common that happens.
    Overlap {
        /// The first one.
        first: String,
        /// The second one.
        second: String,
        /// The combination.
        pair: String,
        /// Where the second one stands.
        loc: Loc,
    },
    /// Nothing is said about combinations.
    Missing {
        /// The first of them.
        pair: String,
        /// How many there are.
        count: usize,
        /// Where the table stands.
        loc: Loc,
    },
    /// All combinations of a row are said to happen never.
    Dead {
        /// The row.
        row: String,
        /// Where it stands.
        loc: Loc,
    },
}

/// A line of a table as the check sees it.
struct Line<'a> {
    when: &'a [Vec<u64>],
    name: String,
    loc: Loc,
    /// It has had a combination that happens.
    lives: bool,
}

impl Line<'_> {
    fn fits(&self, pair: &[u64]) -> bool {
        self.when.iter().zip(pair).all(|(pattern, code)| accepts(pattern, *code))
    }
}

impl<C: Columns, S: HwEnum, A: HwEnum> Transitions<C, S, A> {
    /// What is wrong with the table; empty for a sound one.
    pub fn faults(&self) -> Vec<Fault> {
        let mut lines = self.lines();
        let never: Vec<&Gap> = self.gaps.iter().filter(|gap| !gap.idle).collect();
        let happens = |pair: &[u64]| {
            let fits = |gap: &&Gap| gap.when.iter().zip(pair).all(|(pattern, code)| accepts(pattern, *code));
            !never.iter().any(fits)
        };
        let (mut faults, mut told, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        for pair in self.pairs().into_iter().filter(|pair| happens(pair)) {
            let label = || self.label(&pair.iter().map(|code| vec![*code]).collect::<Vec<_>>());
            let here: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].fits(&pair)).collect();
            here.iter().for_each(|at| lines[*at].lives = true);
            match here[..] {
                [] => missing.push(label()),
                [first, second, ..] if !told.contains(&(first, second)) => {
                    told.push((first, second));
                    let name = |at: usize| lines[at].name.clone();
                    let (first, second, loc) = (name(first), name(second), lines[second].loc);
                    faults.push(Fault::Overlap { first, second, pair: label(), loc });
                }
                _ => {}
            }
        }
        if let Some(pair) = missing.first() {
            faults.push(Fault::Missing { pair: pair.clone(), count: missing.len(), loc: self.loc });
        }
        let dead = lines.into_iter().filter(|line| !line.lives);
        faults.extend(dead.map(|line| Fault::Dead { row: line.name, loc: line.loc }));
        faults
    }

    /// Rows and what is idle.
    fn lines(&self) -> Vec<Line<'_>> {
        let line = |when, name, loc| Line { when, name, loc, lives: false };
        let rows = self.rows.iter().map(|row| line(&row.when[..], row.id.clone(), row.loc));
        let idle = self.gaps.iter().filter(|gap| gap.idle);
        let idle = idle.map(|gap| line(&gap.when[..], format!("idle ({})", self.label(&gap.when)), gap.loc));
        rows.chain(idle).collect()
    }

    /// Every combination of the columns' values.
    fn pairs(&self) -> Vec<Vec<u64>> {
        self.columns.iter().fold(vec![Vec::new()], |pairs, column| {
            let longer = |pair: &Vec<u64>| {
                let pair = pair.clone();
                let values = column.values.iter();
                values.map(move |value| [pair.clone(), vec![value.1]].concat()).collect::<Vec<_>>()
            };
            pairs.iter().flat_map(longer).collect()
        })
    }

    /// Reports what is wrong with the table in the module that is being built, as decoding and observing it do.
    pub fn check(&self) {
        for fault in self.faults() {
            let table = self.name.to_string();
            let (loc, kind) = match fault {
                Fault::Overlap { first, second, pair, loc } => {
                    (loc, ElabErrorKind::TableOverlap { table, first, second, pair })
                }
                Fault::Missing { pair, count, loc } => (loc, ElabErrorKind::TableGap { table, pair, count }),
                Fault::Dead { row, loc } => (loc, ElabErrorKind::TableDead { table, row }),
            };
            with(|b| b.error(loc, kind));
        }
    }
}

//! All tables that move one state, joined: what can be reached, and the diagram.

use super::*;
use crate::build::with;
use crate::error::ElabErrorKind;
use std::collections::BTreeSet;

/// A state with everything that moves it.
#[derive(Clone, Debug)]
pub struct Machine<S> {
    name: &'static str,
    reset: S,
    /// From and to, by encoding.
    moves: Vec<(u64, u64)>,
    loc: Loc,
}

impl<S: HwEnum> Machine<S> {
    /// A machine that begins in `reset`.
    #[track_caller]
    pub fn new(name: &'static str, reset: S) -> Machine<S> {
        Machine { name, reset, moves: Vec::new(), loc: Loc::caller() }
    }

    /// Adds a table's rows. Those of a table that has no column with the state lead to theirs from the reset state.
    pub fn with<C: Columns, A: HwEnum>(mut self, table: &Transitions<C, S, A>) -> Machine<S> {
        let state = table.state_column();
        for row in &table.rows {
            let from = match state.map(|at| &row.when[at]) {
                Some(pattern) if !pattern.is_empty() => pattern.clone(),
                Some(_) => S::VARIANTS.iter().map(|s| s.encoding()).collect(),
                None => vec![self.reset.encoding()],
            };
            for from in from {
                self.moves.extend(row.next.iter().map(|next| (from, *next)));
            }
        }
        self
    }

    /// Adds moves that no table has: what several lines do at once, or another block.
    pub fn also(mut self, from: &[S], to: S) -> Machine<S> {
        self.moves.extend(from.iter().map(|from| (from.encoding(), to.encoding())));
        self
    }

    /// States that nothing leads to.
    pub fn unreached(&self) -> Vec<S> {
        let mut reached = vec![self.reset.encoding()];
        let mut at = 0;
        while at < reached.len() {
            let from = reached[at];
            for (_, to) in self.moves.iter().filter(|m| m.0 == from) {
                if !reached.contains(to) {
                    reached.push(*to);
                }
            }
            at += 1;
        }
        S::VARIANTS.iter().copied().filter(|state| !reached.contains(&state.encoding())).collect()
    }

    /// Reports states that nothing leads to, in the module that is being built; `absent` are known not to occur with its parameters.
    pub fn check(&self, absent: &[S]) {
        for state in self.unreached().into_iter().filter(|state| !absent.contains(state)) {
            let kind = ElabErrorKind::TableUnreached {
                machine: self.name.to_string(),
                state: state.label().to_string(),
            };
            with(|b| b.error(self.loc, kind));
        }
    }

    /// The changes from one state to another, by number of the variant; without those that keep a state.
    pub fn changes(&self) -> Vec<(usize, usize)> {
        let place = |code: u64| S::VARIANTS.iter().position(|state| state.encoding() == code);
        let moves = self.moves.iter().filter(|(from, to)| from != to);
        let pairs: BTreeSet<_> = moves.filter_map(|(from, to)| place(*from).zip(place(*to))).collect();
        pairs.into_iter().collect()
    }

    /// The diagram, as an SVG that may stand in a page.
    pub fn to_svg(&self) -> String {
        let states = S::VARIANTS.iter().map(|state| state.label().to_string()).collect();
        let reset = S::VARIANTS.iter().position(|state| *state == self.reset);
        crate::picture::machine(self.name, states, reset, self.changes())
    }
}

//! Data that one wave hands over to all others: what a release or an acquire forgets shows only to a wave that looks at once.

use crate::Shape;
use crate::roles::{CELL, Role, Roles};
use rand::Rng;
use rand::rngs::SmallRng;
use weft_workload::op::Scope;

/// Lines that are handed over at most.
const LINES: usize = 32;

/// What is handed over in a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HandOver {
    /// Unit and wave that hands over.
    pub from: (u32, u32),
    /// Address of the word by which it does.
    pub flag: u64,
    /// Bytes of that word.
    pub size: u8,
    /// Numbers of the lines with the data, in the order of its stores.
    pub lines: Vec<u64>,
    /// Number of the 4-byte word of each that CPU cores access.
    pub word: u64,
}

impl HandOver {
    /// One, if there is a word for it.
    pub fn draw(rng: &mut SmallRng, shape: &Shape, roles: Roles) -> Option<HandOver> {
        let ground = roles.ground;
        let unit = rng.random_range(0..ground.units());
        let from = (unit, if unit < ground.cores { 0 } else { rng.random_range(0..shape.waves) });
        let count = rng.random_range(1..=LINES);
        let mut line = || rng.random_range(0..shape.lines);
        let lines = (0..count).map(|_| line()).collect();
        let word = rng.random_range(0..ground.line / 4);
        let (flag, size) = (0..64).find_map(|_| {
            let first = shape.address(rng.random_range(0..shape.lines), ground.line);
            let addr = first + rng.random_range(0..ground.line / CELL) * CELL;
            match roles.of(addr) {
                Role::Synchronise { size, scope: Scope::Sys, .. } => Some((addr, size)),
                _ => None,
            }
        })?;
        ground.coherent.then_some(HandOver { from, flag, size, lines, word })
    }
}

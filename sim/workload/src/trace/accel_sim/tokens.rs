//! Names of a warp's results. A register's number names what one operation brings there; what more
//! operations bring to it, what goes to no register, and copies on their way get the numbers from 256 on,
//! each as it is first needed.

use crate::op::Token;
use std::collections::{BTreeMap, BTreeSet};

/// Reductions of a warp that may be on their way; one more waits for the oldest.
const REDUCTIONS: u32 = 16;

/// Copies of a warp that may be on their way; one more waits for all of them.
const COPIES: usize = 1024;

/// What a name beyond the registers stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Extra {
    /// What operation n brings to a result that begins in this register.
    More(u32, u32),
    /// Reduction n.
    Reduction(u32),
    /// Copy n.
    Copy(u32),
}

/// Tokens of a warp.
#[derive(Clone, Debug, Default)]
pub(super) struct Tokens {
    /// Tokens that each register's last value has.
    of: BTreeMap<u32, Vec<Token>>,
    /// Tokens that may be missing.
    pending: BTreeSet<Token>,
    extra: BTreeMap<Extra, Token>,
    reductions: u32,
    /// Copies on their way, and numbers that are free again.
    copies: BTreeMap<Token, u32>,
    free: BTreeSet<u32>,
}

impl Tokens {
    fn named(&mut self, extra: Extra) -> Token {
        let next = 256 + self.extra.len() as Token;
        *self.extra.entry(extra).or_insert(next)
    }

    /// Names for a result that begins in a register and that so many operations bring.
    pub fn of_result(&mut self, first: u32, operations: usize) -> Vec<Token> {
        let name = |n| if n == 0 { first } else { self.named(Extra::More(first, n)) };
        (0..operations as u32).map(name).collect()
    }

    /// A name for a result that nothing waits for.
    pub fn of_nobody(&mut self) -> Token {
        self.reductions += 1;
        self.named(Extra::Reduction(self.reductions % REDUCTIONS))
    }

    /// Whether no more copies can be on their way.
    pub fn full(&self) -> bool {
        self.copies.len() >= COPIES
    }

    /// A name for a copy, until [`Tokens::copied`].
    pub fn of_copy(&mut self) -> Token {
        let number = self.free.pop_first().unwrap_or(self.copies.len() as u32);
        let token = self.named(Extra::Copy(number));
        self.copies.insert(token, number);
        self.pending.insert(token);
        token
    }

    /// The copy is stored.
    pub fn copied(&mut self, token: Token) {
        self.free.extend(self.copies.remove(&token));
    }

    /// Names of what is in these registers.
    pub fn of_registers(&self, registers: &[u32]) -> Vec<Token> {
        registers.iter().filter_map(|register| self.of.get(register)).flatten().copied().collect()
    }

    /// These registers hold a result of these names from now on.
    pub fn define(&mut self, registers: impl Iterator<Item = u32>, tokens: &[Token]) {
        registers.for_each(|register| {
            self.of.insert(register, tokens.to_vec());
        });
    }

    /// These results are on their way.
    pub fn missing(&mut self, tokens: &[Token]) {
        self.pending.extend(tokens);
    }

    /// Those of the results that are on their way, each once; an operation waits for them, so that they are
    /// there.
    pub fn awaited(&mut self, tokens: impl IntoIterator<Item = Token>) -> Vec<Token> {
        let needs: BTreeSet<Token> =
            tokens.into_iter().filter(|token| self.pending.contains(token)).collect();
        self.pending.retain(|token| !needs.contains(token));
        needs.into_iter().collect()
    }
}

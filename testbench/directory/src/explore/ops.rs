//! Operations of CUs, and what is remembered of them.

use std::fmt;

/// Scope of a GPU.
pub const GPU: u8 = 1;
/// Scope of the system.
pub const SYSTEM: u8 = 2;

/// An operation of a CU; lines by their place in [`super::Config::homes`]. All accesses are of one word of four bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// Load of a scope: 0 CU, 1 GPU, 2 system.
    Load(u8, u8),
    /// Store, complete when it is taken.
    Store(u8),
    /// Exchange of system scope.
    Swap(u8),
    /// Release of a scope, 1 or 2.
    Release(u8),
    /// Acquire of a scope, 1 or 2.
    Acquire(u8),
}

impl Op {
    /// The line; none of a release or acquire.
    pub fn line(self) -> Option<usize> {
        match self {
            Op::Load(line, _) | Op::Store(line) | Op::Swap(line) => Some(line.into()),
            Op::Release(_) | Op::Acquire(_) => None,
        }
    }
    /// It writes.
    pub fn writes(self) -> bool {
        matches!(self, Op::Store(_) | Op::Swap(_))
    }
}

impl std::str::FromStr for Op {
    type Err = String;

    /// `LD X`, `LDg X` (GPU scope), `LDs X` (system scope), `ST X`, `AMO X`, `REL`, `ACQ` (system scope), `RELg`, `ACQg` (GPU scope); X, Y, Z, A.. are the lines in
    /// order.
    fn from_str(text: &str) -> Result<Op, String> {
        let wrong = || {
            format!(
                "'{text}' is no operation; legal: LD X, LDg X (GPU scope), LDs X (system scope), ST X, AMO X, REL, ACQ (system scope), RELg, ACQg (GPU scope), with X, Y, Z, A.. for the lines"
            )
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        let line = |name: &str| match name.as_bytes() {
            [letter @ b'X'..=b'Z'] => Ok(letter - b'X'),
            [letter @ b'A'..=b'M'] => Ok(letter - b'A' + 3),
            _ => Err(wrong()),
        };
        match words[..] {
            ["REL"] => Ok(Op::Release(SYSTEM)),
            ["ACQ"] => Ok(Op::Acquire(SYSTEM)),
            ["RELg"] => Ok(Op::Release(GPU)),
            ["ACQg"] => Ok(Op::Acquire(GPU)),
            ["LD", name] => Ok(Op::Load(line(name)?, 0)),
            ["LDg", name] => Ok(Op::Load(line(name)?, 1)),
            ["LDs", name] => Ok(Op::Load(line(name)?, 2)),
            ["ST", name] => Ok(Op::Store(line(name)?)),
            ["AMO", name] => Ok(Op::Swap(line(name)?)),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |line: &u8| char::from(if *line < 3 { b'X' + line } else { b'A' + line - 3 });
        match self {
            Op::Load(line, scope) => write!(f, "LD{} {}", ["", "g", "s"][usize::from(*scope)], name(line)),
            Op::Store(line) => write!(f, "ST {}", name(line)),
            Op::Swap(line) => write!(f, "AMO {}", name(line)),
            Op::Release(scope) => write!(f, "REL{}", ["", "g", ""][usize::from(*scope)]),
            Op::Acquire(scope) => write!(f, "ACQ{}", ["", "g", ""][usize::from(*scope)]),
        }
    }
}

/// Where an operation is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Stage {
    /// The L1 has it.
    Asked,
    /// The fence unit is to get it.
    FenceNext,
    /// The fence unit has it.
    Fenced,
    /// The L1 is to get it.
    L1Next,
    /// It is over.
    Done,
}

/// An operation that was issued.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Issued {
    /// What.
    pub op: Op,
    /// Where it is.
    pub stage: Stage,
    /// Of a write and an acquire: by CU, a byte each, the operations up to the last release that was complete when it was issued, and whose scope has this CU in it.
    pub released: u32,
    /// What an exchange found.
    pub got: Option<u32>,
}

/// What the world remembers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Memory {
    /// Per CU what it has issued.
    pub cus: Vec<Vec<Issued>>,
    /// Per line its first word in memory.
    pub lines: Vec<u32>,
}

impl Memory {
    /// By CU, a byte each: operations up to the last release that is complete, and whose scope has CU `by` in it; a GPU has `gpms` of them.
    pub fn released(&self, by: usize, gpms: usize) -> u32 {
        let last = |at: usize, cu: &Vec<Issued>| {
            let least = if at / gpms == by / gpms { GPU } else { SYSTEM };
            let over = |issued: &Issued| {
                matches!(issued.op, Op::Release(scope) if scope >= least) && issued.stage == Stage::Done
            };
            cu.iter().rposition(over).map_or(0, |at| at as u32 + 1)
        };
        self.cus.iter().enumerate().map(|(at, cu)| last(at, cu) << (8 * at)).sum()
    }
}

/// The value that an operation writes: unique in a run.
pub fn value(cu: usize, seq: usize) -> u32 {
    (cu as u32 + 1) << 8 | (seq as u32 + 1)
}

/// A value in words: CU and operation that wrote it.
pub fn value_text(value: u32) -> String {
    match value {
        0 => "the initial value".to_string(),
        _ if value & 0xff != 0 && value >> 8 != 0 => {
            format!("that of CU {}, operation {}", (value >> 8) - 1, (value & 0xff) - 1)
        }
        _ => format!("{value:#x}, which nobody has written"),
    }
}

//! Operations of waves, and what is remembered of them.

use std::fmt;
use weft_srsp::msg::SyncOp;

/// Byte offset of the word of plain accesses in each line, and of the synchronisation variable.
pub const DATA_AT: u32 = 0;
/// The variable stands behind it, in the same line.
pub const SYNC_AT: u32 = 4;

/// What a synchronising access does to its variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// Load.
    Ld,
    /// Store.
    St,
    /// Exchange, which always writes.
    Rmw,
    /// Compare-and-swap, which writes if it finds the initial value.
    Cas,
}

/// What it orders: 0 relaxed, 1 acquire, 2 release, 3 both, as on the CU port.
pub type Sem = u8;

/// Whom it reaches.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scope {
    /// Work-group.
    Wg,
    /// Component: the GPU.
    Cmp,
    /// System.
    Sys,
    /// Component, with promotion of others' work-group scope (`rem`).
    Remote,
}

/// An operation of a wave; lines by their number. All accesses are of one word of four bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// Plain load of a line's data.
    Load(u8),
    /// Plain store, complete when it is taken.
    Store(u8),
    /// Synchronising access of a line's variable.
    Sync(Access, Sem, Scope, u8),
}

const ACCESSES: [(Access, &str, &[Sem]); 4] = [
    (Access::Ld, "ld", &[0, 1]),
    (Access::St, "st", &[0, 2]),
    (Access::Rmw, "rmw", &[0, 1, 2, 3]),
    (Access::Cas, "cas", &[0, 1, 2, 3]),
];
const SEMS: [&str; 4] = ["rlx", "acq", "rel", "ar"];
const SCOPES: [(Scope, &str); 3] = [(Scope::Wg, "wg"), (Scope::Cmp, "cmp"), (Scope::Sys, "sys")];

impl Op {
    /// The line.
    pub fn line(self) -> usize {
        match self {
            Op::Load(line) | Op::Store(line) | Op::Sync(.., line) => line.into(),
        }
    }
    /// It is a synchronising access.
    pub fn synchronises(self) -> bool {
        matches!(self, Op::Sync(..))
    }
    /// Whom a synchronising access reaches.
    pub fn scope(self) -> Option<Scope> {
        match self {
            Op::Sync(.., scope, _) => Some(scope),
            _ => None,
        }
    }
    /// It is a remote access.
    pub fn is_remote(self) -> bool {
        self.scope() == Some(Scope::Remote)
    }
    /// It orders what follows.
    pub fn acquires(self) -> bool {
        matches!(self, Op::Sync(_, sem, ..) if sem & 1 == 1)
    }
    /// It orders what comes before.
    pub fn releases(self) -> bool {
        matches!(self, Op::Sync(_, sem, ..) if sem & 2 == 2)
    }
    /// It brings a value.
    pub fn reads(self) -> bool {
        !matches!(self, Op::Store(_) | Op::Sync(Access::St, ..))
    }
    /// It writes, given what it found.
    pub fn writes(self, got: Option<u32>) -> bool {
        match self {
            Op::Load(_) | Op::Sync(Access::Ld, ..) => false,
            Op::Sync(Access::Cas, ..) => got.is_none_or(|got| got == 0),
            _ => true,
        }
    }
}

fn line_of(name: &str) -> Option<u8> {
    match name.as_bytes() {
        [letter @ b'X'..=b'Z'] => Some(letter - b'X'),
        [letter @ b'A'..=b'E'] => Some(letter - b'A' + 3),
        _ => None,
    }
}

/// Name of a line: X, Y, Z, A, B ..
pub fn line_name(line: usize) -> char {
    char::from(b"XYZABCDE"[line % 8])
}

fn sync_of(word: &str) -> Option<(Access, Sem, Scope)> {
    let parts: Vec<&str> = word.split('_').collect();
    let (access, sem, scope) = match parts[..] {
        [access, "rem", sem] | [access, "rem", sem, "cmp"] => (access, sem, Scope::Remote),
        [access, sem, scope] => (access, sem, SCOPES.iter().find(|of| of.1 == scope)?.0),
        _ => return None,
    };
    let (access, _, legal) = ACCESSES.iter().find(|of| of.1 == access)?;
    let sem = SEMS.iter().position(|of| *of == sem)? as Sem;
    let orders = sem != 0 || scope != Scope::Remote;
    (legal.contains(&sem) && orders).then_some((*access, sem, scope))
}

impl std::str::FromStr for Op {
    type Err = String;

    /// `LD X`, `ST X`, or a synchronising access by its published name: `ld_acq_wg X`, `st_rel_cmp X`,
    /// `rmw_ar_sys X`, `cas_rem_acq X`.
    fn from_str(text: &str) -> Result<Op, String> {
        let wrong = || {
            format!(
                "'{}' is no operation; legal: LD X, ST X, ld_SEM_SCOPE X (rlx, acq), st_SEM_SCOPE X (rlx, rel), rmw_ or cas_SEM_SCOPE X (rlx, acq, rel, ar), SCOPE wg, cmp or sys, and with rem_SEM for SEM_SCOPE the remote ones that order, as cas_rem_acq X; X, Y, Z, A.. E for the lines",
                text.trim()
            )
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        let [word, name] = words[..] else { return Err(wrong()) };
        let line = line_of(name).ok_or_else(wrong)?;
        match word {
            "LD" => Ok(Op::Load(line)),
            "ST" => Ok(Op::Store(line)),
            _ => {
                sync_of(word).map(|(access, sem, scope)| Op::Sync(access, sem, scope, line)).ok_or_else(wrong)
            }
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = line_name(self.line());
        let Op::Sync(access, sem, scope, _) = self else {
            let word = if self.reads() { "LD" } else { "ST" };
            return write!(f, "{word} {name}");
        };
        let access = ACCESSES.iter().find(|of| of.0 == *access).map_or("", |of| of.1);
        let sem = SEMS[usize::from(*sem)];
        match SCOPES.iter().find(|of| of.0 == *scope) {
            Some((_, scope)) => write!(f, "{access}_{sem}_{scope} {name}"),
            None => write!(f, "{access}_rem_{sem} {name}"),
        }
    }
}

/// An operation that was issued.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Issued {
    /// What.
    pub op: Op,
    /// It is over.
    pub done: bool,
    /// Of a synchronising access: accesses of the same variable that were over when it was issued, a byte per
    /// wave, a bit per operation.
    pub before: u32,
    /// What a synchronising access found.
    pub got: Option<u32>,
}

/// What the world remembers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Memory {
    /// Per wave what it has issued.
    pub waves: Vec<Vec<Issued>>,
    /// Per line its data and its variable in memory.
    pub lines: Vec<[u32; 2]>,
}

/// The value that an operation writes: unique in a run.
pub fn value(wave: usize, seq: usize) -> u32 {
    (wave as u32 + 1) << 8 | (seq as u32 + 1)
}

/// A value in words: wave and operation that wrote it.
pub fn value_text(value: u32) -> String {
    match value {
        0 => "the initial value".to_string(),
        _ if value & 0xff != 0 && value >> 8 != 0 => {
            format!("that of wave {}, operation {}", (value >> 8) - 1, (value & 0xff) - 1)
        }
        _ => format!("{value:#x}, which nobody has written"),
    }
}

/// New value of a variable after an access.
pub fn performed(op: SyncOp, old: u32, operand: u32, compare: u32) -> u32 {
    match op {
        SyncOp::St | SyncOp::Exch => operand,
        SyncOp::Cas if old == compare => operand,
        _ => old,
    }
}

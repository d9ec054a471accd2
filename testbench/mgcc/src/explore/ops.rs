//! Operations of CUs, and which of them a system's CUs may issue.

use crate::checker::Promise;
use std::fmt;

/// Most operations of a wave: their numbers have 4 bits.
pub const MOST_OPERATIONS: usize = 15;

/// What the CUs of a system may do, whatever its protocol.
#[derive(Clone, Debug)]
pub struct Asks {
    /// CUs, each with an L1, of all GPUs.
    pub cus: usize,
    /// Waves of a CU, numbered one CU after the other.
    pub waves: usize,
    /// Line numbers used.
    pub lines: Vec<u64>,
    /// What a wave may issue; the last list stands for all further waves.
    pub alphabets: Vec<Vec<Op>>,
    /// Operations of each wave, at most [`MOST_OPERATIONS`]; the last number stands for all further waves.
    pub budgets: Vec<usize>,
    /// Fixed programs, one per wave, instead of the alphabets.
    pub programs: Vec<Vec<Op>>,
    /// Operations of a wave that may be open together.
    pub open: usize,
    /// What is promised to the waves.
    pub promise: Promise,
    /// Bits of a timestamp.
    pub ts: u32,
}

impl Asks {
    /// Operations of a wave.
    pub fn budget(&self, wave: usize) -> usize {
        match self.programs.get(wave) {
            Some(program) => program.len(),
            None => self.budgets.get(wave).or(self.budgets.last()).copied().unwrap_or(0),
        }
    }

    /// What a wave may issue at a place of its program.
    pub(super) fn list(&self, wave: usize, seq: usize) -> &[Op] {
        match self.programs.get(wave) {
            Some(program) => program.get(seq..=seq).unwrap_or(&[]),
            None if seq < self.budget(wave) => {
                self.alphabets.get(wave).or(self.alphabets.last()).map_or(&[], |list| list)
            }
            None => &[],
        }
    }

    /// Some wave may issue an operation of which this holds.
    pub(super) fn uses(&self, is: impl Fn(&Op) -> bool) -> bool {
        self.alphabets.iter().chain(&self.programs).flatten().any(is)
    }
}

/// An operation of a CU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// LD.
    Load(u8),
    /// LD that goes to memory (RC).
    LoadSync(u8),
    /// ST of word 0 or 1 (of 4 bytes) of a line.
    Store(u8, u8),
    /// ST of all bytes of a line.
    StoreLine(u8),
    /// Atomic exchange of word 0.
    Exchange(u8),
    /// FENCE.
    Fence,
}

impl Op {
    /// The line, by its place in [`Asks::lines`]; 0 for a fence.
    pub fn line(self) -> usize {
        match self {
            Op::Load(line) | Op::LoadSync(line) | Op::Exchange(line) => line.into(),
            Op::Store(line, _) | Op::StoreLine(line) => line.into(),
            Op::Fence => 0,
        }
    }
    /// Bytes that it reads or writes.
    pub(super) fn mask(self) -> u64 {
        match self {
            Op::Load(_) | Op::LoadSync(_) => 0xff,
            Op::Store(_, word) => 0xf << (4 * word),
            Op::StoreLine(_) => u64::MAX,
            Op::Exchange(_) => 0xf,
            Op::Fence => 0,
        }
    }
    pub(super) fn stores(self) -> bool {
        matches!(self, Op::Store(..) | Op::StoreLine(_))
    }
}

impl std::str::FromStr for Op {
    type Err = String;

    /// `LD X`, `LD_SYNC X`, `ST X.0`, `ST X.1`, `ST X` (all bytes), `AMO X`, `FENCE`; X, Y, Z, A, B.. are the lines in order.
    fn from_str(text: &str) -> Result<Op, String> {
        let wrong = || {
            format!(
                "'{text}' is no operation; legal: LD X, LD_SYNC X, ST X (all bytes), ST X.0, ST X.1, AMO X, FENCE, with X, Y, Z, A.. for the lines"
            )
        };
        let (name, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        let (line, word) = rest.split_once('.').map_or((rest, None), |(line, word)| (line, Some(word)));
        let place = match line.bytes().next() {
            Some(letter @ b'X'..=b'Z') if line.len() == 1 => letter - b'X',
            Some(letter @ b'A'..=b'M') if line.len() == 1 => letter - b'A' + 3,
            None if name == "FENCE" => return Ok(Op::Fence),
            _ => return Err(wrong()),
        };
        match (name, word) {
            ("LD", None) => Ok(Op::Load(place)),
            ("LD_SYNC", None) => Ok(Op::LoadSync(place)),
            ("ST", None) => Ok(Op::StoreLine(place)),
            ("ST", Some("0")) => Ok(Op::Store(place, 0)),
            ("ST", Some("1")) => Ok(Op::Store(place, 1)),
            ("AMO", None) => Ok(Op::Exchange(place)),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |line: &u8| if *line < 3 { char::from(b'X' + line) } else { char::from(b'A' + line - 3) };
        match self {
            Op::Load(line) => write!(f, "LD {}", name(line)),
            Op::LoadSync(line) => write!(f, "LD_SYNC {}", name(line)),
            Op::Store(line, word) => write!(f, "ST {}.{word}", name(line)),
            Op::StoreLine(line) => write!(f, "ST {}", name(line)),
            Op::Exchange(line) => write!(f, "AMO {}", name(line)),
            Op::Fence => write!(f, "FENCE"),
        }
    }
}

//! Mutants: a module with one place changed, as RTL mutation testing makes them.
//!
//! A [`Mutant`] is a short text, `MODULE@FILE:LINE#N:KIND`: of the places in `MODULE` that the line `LINE` of `FILE` describes and that a change of this kind fits,
//! number `N`. What the language's own source has made is at the line that it was made for. So the same text fits modules of other parameters: a `MODULE` that ends with
//! `*` stands for every name that begins so, and changes each of those modules in which there is such a place.
//!
//! Only what outputs depend on is changed, never an observer; widths stay, and no operand is added, so that there is no new combinational loop. What an assertion
//! looks at may be changed, as in hardware: it sees the mutant.
//!
//! With the environment variable [`VARIABLE`] the mutant is planted wherever a module of its name is described; [`plant`] does it for one closure.

mod apply;
mod behind;
mod live;
mod plant;
mod sites;
mod words;

pub use apply::apply;
pub(crate) use plant::{Change, before_observers, completed};
pub use plant::{NOTE, VARIABLE, chosen, plant, planted, refused};
pub use sites::sites;
pub use words::describe;

use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// One change of one place in a module.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Mutant {
    /// Name of the module, or the beginning of names and `*`.
    pub module: String,
    /// Source file of the place, as the compiler names it.
    pub file: String,
    /// Its line.
    pub line: u32,
    /// Number of the place among those of the line that this kind fits.
    pub nth: u32,
    /// What is changed.
    pub kind: Kind,
}

/// What a mutant changes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// A bit of a value is always 0 or 1.
    Stuck {
        /// Which bit.
        bit: u32,
        /// What it is.
        one: bool,
    },
    /// The operands of a difference or a comparison, or two neighbours of one width in a concatenation, change places.
    Swapped,
    /// A condition is inverted: of a `when`, of a choice, of an equality.
    Negated,
    /// An `and` becomes an `or`, or the reverse.
    AndOr,
    /// A sum, a difference or a number compared with is one more; `<` becomes `<=`.
    OffByOne,
    /// A memory is not written where it would be.
    DroppedWrite,
    /// A register is not loaded where it would be.
    Stale,
    /// A slice begins one bit beside.
    WrongSlice,
    /// An enumeration takes the variant after the one that is written, or the first after the last.
    SkippedState,
}

impl Kind {
    /// The names of all kinds, in order; a stuck bit has its number behind it.
    pub const NAMES: [&'static str; 10] = [
        "stuck0",
        "stuck1",
        "swapped",
        "negated",
        "and-or",
        "off-by-one",
        "dropped-write",
        "stale",
        "wrong-slice",
        "skipped-state",
    ];

    /// The name without the number of a bit.
    pub fn name(self) -> &'static str {
        let at = match self {
            Kind::Stuck { one, .. } => usize::from(one),
            Kind::Swapped => 2,
            Kind::Negated => 3,
            Kind::AndOr => 4,
            Kind::OffByOne => 5,
            Kind::DroppedWrite => 6,
            Kind::Stale => 7,
            Kind::WrongSlice => 8,
            Kind::SkippedState => 9,
        };
        Kind::NAMES[at]
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Stuck { bit, .. } => write!(f, "{}.{bit}", self.name()),
            _ => f.write_str(self.name()),
        }
    }
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}:{}#{}:{}", self.module, self.file, self.line, self.nth, self.kind)
    }
}

/// What is wrong with a mutant.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[allow(missing_docs)]
pub enum MutantError {
    #[error(
        "{text} is no mutant: expected MODULE@FILE:LINE#N:KIND, as `weft mutate` prints them, with KIND one of stuck0.BIT, stuck1.BIT, {}",
        Kind::NAMES[2..].join(", ")
    )]
    Malformed { text: String },
    #[error("{mutant}: module {module} has no such place; `weft mutate` lists those that there are")]
    NoPlace { mutant: Box<Mutant>, module: String },
}

impl FromStr for Mutant {
    type Err = MutantError;

    fn from_str(text: &str) -> Result<Mutant, MutantError> {
        parse(text).ok_or_else(|| MutantError::Malformed { text: text.to_string() })
    }
}

fn parse(text: &str) -> Option<Mutant> {
    let (module, rest) = text.split_once('@')?;
    let (rest, kind) = rest.rsplit_once(':')?;
    let (rest, nth) = rest.rsplit_once('#')?;
    let (file, line) = rest.rsplit_once(':')?;
    if module.is_empty() || file.is_empty() {
        return None;
    }
    Some(Mutant {
        module: module.to_string(),
        file: file.to_string(),
        line: number(line)?,
        nth: number(nth)?,
        kind: kind_of(kind)?,
    })
}

/// A number as [`fmt::Display`] writes it.
fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|n: &u32| n.to_string() == text)
}

fn kind_of(text: &str) -> Option<Kind> {
    if let Some((name, bit)) = text.split_once('.') {
        let one = Kind::NAMES[..2].iter().position(|known| *known == name)? == 1;
        return Some(Kind::Stuck { bit: number(bit)?, one });
    }
    let rest = [
        Kind::Swapped,
        Kind::Negated,
        Kind::AndOr,
        Kind::OffByOne,
        Kind::DroppedWrite,
        Kind::Stale,
        Kind::WrongSlice,
        Kind::SkippedState,
    ];
    rest.into_iter().find(|kind| kind.name() == text)
}

impl Mutant {
    /// Whether a module of this name is meant.
    pub fn is_of(&self, module: &str) -> bool {
        match self.module.strip_suffix('*') {
            Some(begin) => module.starts_with(begin),
            None => self.module == module,
        }
    }
}

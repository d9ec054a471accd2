//! Which request an access asks for, where an L1 follows such hints.

use super::Class;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Which request an L1 that follows hints sends for an access (`spandex.md` section 8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Request {
    /// The L1's own choice.
    #[default]
    Own,
    /// Self-invalidated read.
    ReqV,
    /// Writer-invalidated read.
    ReqS,
    /// Ownership without data.
    ReqO,
    /// Ownership and data.
    ReqOData,
    /// Write through; of an atomic, the update at the LLC (ReqWT+data).
    ReqWt,
    /// Write through to the owner.
    ReqWtFwd,
}

impl Request {
    /// All.
    pub const ALL: [Self; 7] =
        [Self::Own, Self::ReqV, Self::ReqS, Self::ReqO, Self::ReqOData, Self::ReqWt, Self::ReqWtFwd];

    /// Its name in files: that of the message, or `own`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::ReqV => "ReqV",
            Self::ReqS => "ReqS",
            Self::ReqO => "ReqO",
            Self::ReqOData => "ReqO+data",
            Self::ReqWt => "ReqWT",
            Self::ReqWtFwd => "ReqWT+fwd",
        }
    }
}

/// What [`Access::hint`](super::Access::hint) says: a request in bits 2..0, and in bit 3 whether it is for the whole line or for the words accessed.
///
/// A hint never changes a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Hint {
    /// Request.
    pub request: Request,
    /// For the whole line.
    pub line: bool,
}

/// What a hint is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hinted {
    /// Load of class D.
    Load,
    /// Store of class D.
    Store,
    /// Everything else: read-modify-writes, and loads and stores of the other classes.
    Atomic,
}

impl Hinted {
    /// A load of a class.
    pub fn load(class: Class) -> Self {
        if class == Class::D { Self::Load } else { Self::Atomic }
    }

    /// A store of a class.
    pub fn store(class: Class) -> Self {
        if class == Class::D { Self::Store } else { Self::Atomic }
    }

    /// In a sentence.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Load => "a load",
            Self::Store => "a store",
            Self::Atomic => "an atomic access",
        }
    }
}

impl Hint {
    /// A request for the words accessed.
    pub const fn word(request: Request) -> Self {
        Self { request, line: false }
    }

    /// A request for the line.
    pub const fn line(request: Request) -> Self {
        Self { request, line: true }
    }

    /// As [`Access::hint`](super::Access::hint) holds it.
    pub const fn bits(self) -> u8 {
        self.request as u8 | (self.line as u8) << 3
    }

    /// From [`Access::hint`](super::Access::hint); `None` if the bits name no request.
    pub fn of(bits: u8) -> Option<Self> {
        let request = *Request::ALL.get(usize::from(bits & 7))?;
        (bits < 16).then_some(Self { request, line: bits & 8 != 0 })
    }

    /// Whether the request can serve such an access.
    pub fn fits(self, on: Hinted) -> bool {
        use Request::{Own, ReqO, ReqOData, ReqS, ReqV, ReqWt, ReqWtFwd};
        match on {
            Hinted::Load => matches!(self.request, Own | ReqV | ReqS | ReqOData),
            Hinted::Store => matches!(self.request, Own | ReqWt | ReqWtFwd | ReqO | ReqOData),
            Hinted::Atomic => matches!(self.request, Own | ReqWt | ReqOData),
        }
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.request.name(), if self.line { ",line" } else { "" })
    }
}

impl FromStr for Hint {
    type Err = String;

    /// `REQUEST` or `REQUEST,line`.
    fn from_str(text: &str) -> Result<Self, String> {
        let name = text.strip_suffix(",line");
        let found = Request::ALL.into_iter().find(|request| request.name() == name.unwrap_or(text));
        found.map(|request| Self { request, line: name.is_some() }).ok_or_else(|| {
            let known: Vec<_> = Request::ALL.iter().map(|request| request.name()).collect();
            format!("{text:?} where one of {} is expected, perhaps with ,line behind it", known.join(", "))
        })
    }
}

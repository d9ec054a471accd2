//! The commit table of spandex.md section 4.3, once, as data.

use super::super::msg::Op;
use super::Choice;

/// Row: a request, ReqS by its option.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Request {
    V,
    S1,
    S2,
    S3,
    Wt,
    WtFwd,
    O,
    WtData,
    OData,
    Wb,
}

/// What a word gets at commit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Act {
    RspV,
    RspS,
    RspO,
    RspOData,
    FwdReqV,
    FwdReqO,
    FwdReqOData,
    FwdReqWt,
    /// Write, RspWT.
    Write,
    /// Write, clear the owned bit, fwd ReqO{for_wt}.
    WriteFwdReqO,
    /// Perform, RspWT+data.
    Perform,
    /// ReqWB, owned by its sender: take data, clear the owned bit.
    Take,
    /// ReqWB, anything else.
    Drop,
    /// Phase 1 has seen to it: no such word is left.
    Never,
}

/// What a word is afterwards.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Next {
    Same,
    /// The line becomes S, the requestor a sharer.
    Shared,
    /// Owned by the requestor.
    Owned,
    /// Not owned: in the state of the line, V unless all targets of a write on an S line were owned.
    Line,
}

/// {request, word V or S, word O elsewhere}; for ReqWB {not owned by the sender, owned by the sender}.
pub const COMMIT: [(Request, (Act, Next), (Act, Next)); 10] = [
    (Request::V, (Act::RspV, Next::Same), (Act::FwdReqV, Next::Same)),
    (Request::S1, (Act::RspS, Next::Shared), (Act::Never, Next::Shared)),
    (Request::S2, (Act::RspV, Next::Same), (Act::FwdReqV, Next::Same)),
    (Request::S3, (Act::RspOData, Next::Owned), (Act::FwdReqOData, Next::Owned)),
    (Request::Wt, (Act::Write, Next::Line), (Act::WriteFwdReqO, Next::Line)),
    (Request::WtFwd, (Act::Write, Next::Line), (Act::FwdReqWt, Next::Same)),
    (Request::O, (Act::RspO, Next::Owned), (Act::FwdReqO, Next::Owned)),
    (Request::WtData, (Act::Perform, Next::Line), (Act::Never, Next::Line)),
    (Request::OData, (Act::RspOData, Next::Owned), (Act::FwdReqOData, Next::Owned)),
    (Request::Wb, (Act::Drop, Next::Same), (Act::Take, Next::Line)),
];

/// The row of a request.
pub fn row(op: &Op, choice: Choice) -> usize {
    let request = match op {
        Op::ReqV { .. } => Request::V,
        Op::ReqS => match choice {
            Choice::One => Request::S1,
            Choice::Two => Request::S2,
            Choice::Three => Request::S3,
        },
        Op::ReqWt { fwd: false } => Request::Wt,
        Op::ReqWt { fwd: true } => Request::WtFwd,
        Op::ReqO => Request::O,
        Op::ReqWtData(_) => Request::WtData,
        Op::ReqOData => Request::OData,
        _ => Request::Wb,
    };
    COMMIT.iter().position(|row| row.0 == request).unwrap_or_default()
}

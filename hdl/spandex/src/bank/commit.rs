//! Carrying out a commit: what it writes into the line, whom it answers, and what it forwards to owners.

use super::arrays::Place;
use super::request::{Ask, Held, Job};
use super::words::Commit;
use super::{blank, some};
use crate::amo::WordAlu;
use crate::msg::{FwdOp, Rsp, RspOp};
use crate::params::{Spandex, WORD};
use weft_rtl::prelude::*;

/// Answers of a commit but for RspV; RspS, which not every bank gives, is the first.
pub(crate) const ANSWERS: [(Commit, RspOp); 5] = [
    (Commit::RspS, RspOp::RspS),
    (Commit::RspO, RspOp::RspO),
    (Commit::RspOData, RspOp::RspOData),
    (Commit::RspWt, RspOp::RspWt),
    (Commit::RspWtData, RspOp::RspWtData),
];

/// Forwards of a commit but for ReqV; ReqWT, which not every bank sends, is the last.
pub(crate) const FORWARDS: [(Commit, FwdOp); 3] =
    [(Commit::FwdO, FwdOp::ReqO), (Commit::FwdOData, FwdOp::ReqOData), (Commit::FwdWt, FwdOp::ReqWt)];

/// The operation of those that a commit `does`, else `first`.
pub(crate) fn chosen_op<E: HwEnum>(
    kinds: &[(Commit, E)],
    first: E,
    does: impl Fn(Commit) -> Bool,
) -> Enum<E> {
    kinds.iter().fold(enum_lit(first), |rest, (action, op)| mux(does(*action), enum_lit(*op), rest))
}

/// The answer of a commit by the answers that a bank gives, and whether it gives one.
pub(crate) fn answered(kinds: &[(Commit, RspOp)], does: impl Fn(Commit) -> Bool) -> (Enum<RspOp>, Bool) {
    let op = chosen_op(kinds, RspOp::RspV, &does);
    (op, kinds.iter().fold(does(Commit::RspV), |any, (action, _)| any | does(*action)))
}

/// What a bank has done, for observers.
pub(crate) struct Done<T> {
    /// An answer to a request leaves.
    pub answers: Bool,
    /// Words that RspWB says are crossed.
    pub crossed: Bits,
    /// A TBE has all it waited for.
    pub complete: Bool,
    /// A write-back was the last thing it waited for.
    pub by_write_back: Bool,
    /// The way after the step.
    pub place: Place<T>,
}

/// The line after the operation of a ReqWT+data, and the words that it wrote.
pub(crate) fn performed(request: &Held, line: Bits) -> (Bits, Bits) {
    let Held { amo, cmp, bmask, mask, data, .. } = *request;
    WordAlu { op: amo, cmp, bmask }.line(mask, line, data)
}

/// What changes in the words of a line.
pub(crate) struct Change {
    /// The line after an operation, and the words that it wrote.
    pub performed: (Bits, Bits),
    /// Words that the request writes.
    pub writes: Bits,
    /// Words that come with their data.
    pub brings: Bits,
    /// The requestor owns what it asked for.
    pub grants: Bool,
}

impl Change {
    /// Words that are written, and the line's data; `performs`: the operation is done.
    pub fn made(&self, s: &Spandex, request: &Held, performs: impl Fn() -> Bool) -> (Bits, Bits) {
        let (after, wrote) = self.performed;
        let owners = pack(&vec![request.src.zext(WORD); s.words() as usize]);
        let mask = self.writes | self.brings | some(request.mask, self.grants) | some(wrote, performs());
        (mask, mux(self.grants, owners, mux(performs(), after, request.data)))
    }
}

/// An answer of a commit or of a write-back.
pub(crate) struct Answer {
    /// It is of a write-back.
    pub back: Bool,
    /// The commit's answer, its words, and the words beside them that it shows.
    pub op: Enum<RspOp>,
    pub words: Bits,
    pub extra: Bits,
    /// Words of the write-back that are crossed.
    pub crossed: Bits,
    /// The bank's node.
    pub own: Bits,
    /// The line, and whether it is shown.
    pub line: Bits,
    pub shows: Bool,
}

impl Answer {
    /// The message to the requestor.
    pub fn message(&self, s: &Spandex, request: &Held) -> Rsp {
        Rsp {
            op: mux(self.back, enum_lit(RspOp::RspWb), self.op),
            line: request.line,
            mask: mux(self.back, request.mask, self.words),
            extra: mux(self.back, self.crossed, self.extra),
            src: self.own,
            dst: request.src.resize(s.node_bits()),
            tag: request.tag,
            data: some(self.line, self.shows),
            ..blank::<Rsp>(s)
        }
    }
}

/// Words of a write-back for which a removal is on its way to the sender: those that it does not own any more (but for `mine`), and those that the line's TBE revokes.
pub(crate) fn crossed(request: &Held, mine: Bits, revoked: Bits) -> Bits {
    (mine & revoked) | (request.mask & !mine)
}

/// The request may get words beside those that it asks for.
pub(crate) fn extras(request: &Held, ask: Enum<Ask>, flex: bool) -> Bool {
    request.flex & ask.is(Ask::ReqV) & bool_lit(flex)
}

/// The forwards of a request for words that others own.
pub(crate) fn job(
    request: &Held,
    ask: Enum<Ask>,
    op: Enum<FwdOp>,
    (mask, owners): (Bits, Bits),
    flex: bool,
) -> Job {
    Job {
        op,
        line: request.line,
        mask,
        owners,
        req: request.src,
        tag: request.tag,
        flex: extras(request, ask, flex),
        for_wt: ask.is(Ask::ReqWt),
        data: request.data,
    }
}

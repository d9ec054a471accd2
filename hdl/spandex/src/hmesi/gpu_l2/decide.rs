//! Stage 3, the decision: what the operation is to its line, by the tables.

use super::params::{GpuL2Fault, GpuL2Params};
use super::stages::{Parts, Stages};
use super::table::{self, Client, Comes, Frame, MET, Message, Need, Progresses, Replace, Serve, Step, Use};
use super::types::*;
use crate::bank::owners::{owners_of, whole_owners, words_of};
use crate::bank::rows::{Rows, coded};
use crate::bank::words::{self, Before, Word};
use crate::hmesi::msg::{HFwdOp, HRspOp};
use crate::llc::RvkoGran;
use crate::msg::ReqOp;
use weft_rtl::prelude::*;

/// The operation in stage 3; of a forward its TBE is the one whose line it is.
pub(super) type Now = crate::bank::act::Now<GpuL2>;
/// What is done; a request that `fetches` waits for the L3.
pub(super) type Decision = crate::bank::act::Decision<GpuL2>;

/// What only this bank knows.
pub(super) struct Known {
    /// A forward whose words have been revoked.
    pub revoked: Bool,
    /// What the L3 has granted of the line, if it is here.
    pub perm: Enum<Perm>,
    /// The request needs the right to write.
    pub writes: Bool,
    /// The line of a forward or WBAck is on its way to the L3.
    pub leaves: Bool,
}

/// What only this bank decides.
pub(super) struct Decided {
    pub needs: Rows<Perm, Need>,
    pub client: Rows<Client, Serve>,
    /// The request waits for the right to write its line.
    pub upgrades: Bool,
}

fn ask(op: Enum<ReqOp>) -> Enum<Ask> {
    let pairs = [
        (ReqOp::ReqWt, Ask::ReqWt),
        (ReqOp::ReqO, Ask::ReqO),
        (ReqOp::ReqWtData, Ask::ReqWtData),
        (ReqOp::ReqOData, Ask::ReqOData),
    ];
    pairs.into_iter().fold(enum_lit(Ask::ReqV), |rest, (is, ask)| mux(op.is(is), enum_lit(ask), rest))
}

/// What stage 3 works on.
pub(super) fn now(with: &Parts, stages: &Stages) -> Now {
    let (Parts { p, tbes, .. }, pipe) = (with, &stages.pipe);
    let (valid, op, look) = pipe.last();
    let is = |kinds: &[Kind]| valid & op.kind.is_any(kinds);
    let index = mux(op.kind.is_any(&[Kind::Wb, Kind::Fwd]), look.by, op.tbe);
    let (tbe, progress) = (tbes.at(index), tbes.entries.progress(index));
    let commit = is(&[Kind::Commit]);
    let revoked = (commit & tbe.kind.is(TbeKind::Revoke)).named("s3_revoked");
    let moved_in = commit & tbe.kind.is(TbeKind::Evict);
    let request = (is(&[Kind::Req, Kind::Replay]) | (commit & !revoked)).named("s3_request");
    let searched = is(&[Kind::Req, Kind::Replay]) & look.hit & !look.blocked;
    let here = (searched | (commit & !moved_in & !revoked)).named("s3_here");
    let known = here | is(&[Kind::Rvk]) | (is(&[Kind::Wb, Kind::Fwd]) & look.hit);
    let of_line = (op.kind.is(Kind::Fwd) & look.blocked) | op.kind.is(Kind::Answer);
    let leaves = of_line & tbe.leaver.eq(op.req.line) & !tbe.leaving.is(Leaving::No);
    let leaves = (valid & leaves).named("s3_leaves");
    let line = mux(leaves, tbes.buffer.read(index), pipe.s3_line.get());
    let owners = owners_of(&p.bank.s, pipe.s3_line.get()).named("s3_owners");
    let owned = (look.owned & known.repeat(p.bank.s.words())).named("s3_owned");
    let ask = ask(op.req.op).named("s3_ask");
    let perm = mux(here, look.there.perm, enum_lit(Perm::I));
    Now {
        valid,
        look,
        line,
        owners,
        index,
        tbe,
        progress,
        request,
        moved_in,
        here,
        owned,
        taken: (op.req.mask & owned).named("s3_taken"),
        free: op.req.mask & !owned,
        ask,
        known: Known { revoked, perm, writes: !ask.is(Ask::ReqV), leaves },
        req: op.req,
        op,
    }
}

/// What waits at the place where a missing line could go.
fn frame(p: &GpuL2Params, n: &Now) -> Bits {
    let perm = n.look.there.perm;
    let held = if p.fault == GpuL2Fault::DropOwned { bool_lit(false) } else { n.look.owned.any() };
    let pairs = [
        (n.look.full & !n.moved_in, Frame::Full),
        (perm.is(Perm::I), Frame::Empty),
        (perm.is(Perm::S), Frame::Shared),
        (perm.is(Perm::E), Frame::Clean),
        (held, Frame::Held),
    ];
    coded(&pairs, Frame::Dirty).named("s3_frame")
}

/// What has come to a blocked line; meaningless for others.
fn event(n: &Now) -> (Bool, Bits) {
    let is = |kind| n.is(kind);
    let joins = (is(Kind::Req) | is(Kind::Replay)) & n.look.blocked;
    let answers = is(Kind::Rvk);
    let pairs = [
        (joins, Comes::Req),
        (answers & n.op.nodata, Comes::NoData),
        (answers, Comes::RvkO),
        (is(Kind::Wb), Comes::ReqWb),
    ];
    let at = joins | answers | (is(Kind::Wb) & n.look.blocked) | is(Kind::Commit);
    (at, coded(&pairs, Comes::Done).named("s3_event"))
}

/// What the line is to the L3.
fn client_state(p: &GpuL2Params, n: &Now) -> Bits {
    let fills =
        (n.op.kind.is(Kind::Answer) | n.look.blocked) & n.tbe.kind.is(TbeKind::Fill) & !n.known.leaves;
    let fills = fills & !n.known.revoked;
    let gets = |state| fills & n.tbe.getting.is(state);
    let here = |perm| n.look.hit & n.look.there.perm.is(perm);
    let owned = if p.fault == GpuL2Fault::NoRevoke { bool_lit(false) } else { n.look.owned.any() };
    let pairs = [
        (n.known.revoked, Client::Rvk),
        (n.known.leaves & n.tbe.leaving.is(Leaving::Mi), Client::Mi),
        (n.known.leaves, Client::Ii),
        (gets(Getting::Is), Client::Is),
        (gets(Getting::Isi), Client::Isi),
        (gets(Getting::Im), Client::Im),
        (gets(Getting::Sm), Client::Sm),
        (here(Perm::S), Client::S),
        (here(Perm::E), Client::E),
        (here(Perm::M) & owned, Client::O),
        (here(Perm::M), Client::M),
    ];
    coded(&pairs, Client::I).named("s3_client")
}

/// A message of the L3 or of a client.
fn message(n: &Now) -> Bits {
    let (answers, rsp, fwd) = (n.op.kind.is(Kind::Answer), n.op.rsp, n.op.fwd);
    let pairs = [
        (answers & rsp.is(HRspOp::DataS), Message::DataS),
        (answers & rsp.is(HRspOp::DataE), Message::DataE),
        (answers & rsp.is(HRspOp::DataM), Message::DataM),
        (answers & rsp.is(HRspOp::InvAck), Message::InvAck),
        (answers, Message::WbAck),
        (fwd.is(HFwdOp::FwdGetS), Message::FwdGetS),
        (fwd.is(HFwdOp::FwdGetM), Message::FwdGetM),
        (fwd.is(HFwdOp::Recall), Message::Recall),
    ];
    coded(&pairs, Message::Inv).named("s3_message")
}

/// Words to be revoked before the request commits.
fn before(p: &GpuL2Params, n: &Now, phases: &Rows<NoState, Before>) -> Bits {
    let words = match p.rvko {
        RvkoGran::Line => whole_owners(&p.bank.s, n.owners, n.owned, n.taken),
        RvkoGran::Word => n.taken,
    };
    words & phases.does(Before::Revoke).repeat(p.bank.s.words())
}

/// Decides by the tables.
pub(super) fn decide(with: &Parts, n: &Now) -> Decision {
    let Parts { p, tbes, .. } = with;
    let is = |kind| n.is(kind);
    let word = |word: Word| lit(word.encoding(), 2);
    let request = n.ask.bits();
    let tried = is(Kind::Req) | is(Kind::Replay);
    let missing = n.request & !n.here & (n.moved_in | !n.look.blocked);
    let usage = coded(&[(n.known.writes, Use::Write)], Use::Read);
    let needs = Rows::new(&table::needs(), (tried & n.here) | missing, (usage, n.known.perm));
    let asks = words::before(MET).only("gpu_l2_phases", &[Word::O]);
    let phases = Rows::listed(&asks, tried & n.taken.any(), request, (request, word(Word::O)));
    let rv = before(p, n, &phases);
    let phase1 = rv.any().named("s3_phase1");
    let upgrades = match p.fault {
        GpuL2Fault::SilentUpgrade => bool_lit(false),
        _ => needs.does(Need::Upgrade),
    };
    let step = coded(&[(n.moved_in, Step::Evicted)], Step::Miss);
    let frames = Rows::new(&table::frames(), missing, (step, frame(p, n)));
    let commits = (n.here & !phase1 & !upgrades).named("s3_commits");
    let rows = |name, w, some: Bits| {
        Rows::new(&words::words(MET).only(name, &[w]), commits & some.any(), (request, word(w)))
    };
    let (at, event) = event(n);
    let holder = tbes.at(mux(tried, n.look.by, n.index)).kind;
    let blocked = Rows::new(&table::blocked(), at, (holder, event));
    let of_client = is(Kind::Fwd) | is(Kind::Answer) | n.known.revoked;
    let client = Rows::new(&table::client(), of_client, (client_state(p, n), message(n)));
    let mine = (n.taken & words_of(&p.bank.s, n.owners, n.req.src)).named("s3_mine");
    let names = ["gpu_l2_words_back", "gpu_l2_words_crossed"];
    let back = (is(Kind::Wb), n.look.hit);
    Decision {
        write_backs: words::write_backs(MET, names, back, (n.req.mask, mine)),
        joins: (frames.does(Replace::Join) | blocked.does(Progresses::Join)).named("s3_joins"),
        fetches: frames.does(Replace::Take).named("s3_fetches"),
        evicts: frames.does(Replace::Evict).named("s3_evicts"),
        commits_v: rows("gpu_l2_words_v", Word::V, n.free),
        commits_s: None,
        commits_o: rows("gpu_l2_words_o", Word::O, n.taken),
        decided: Decided { upgrades: upgrades.named("s3_upgrades"), needs, client },
        frames,
        blocked,
        commits,
        phase1,
        rv,
        mine,
    }
}

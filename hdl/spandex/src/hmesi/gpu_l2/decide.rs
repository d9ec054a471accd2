//! Stage 3, the decision: what the operation is to its line, by the tables.

use super::params::{GpuL2Fault, GpuL2Params};
use super::stages::{Parts, Stages};
use super::table;
use super::tbes::Tbe;
use super::types::*;
use crate::hmesi::msg::{HFwdOp, HRspOp};
use crate::llc::RvkoGran;
use crate::llc::decide::{coded, owners_of, whole_owners, words_of};
use crate::llc::table::{Rows, WORDS};
use crate::llc::types::Ask;
use crate::msg::ReqOp;
use weft_rtl::prelude::*;

/// The operation in stage 3 with all that is known of it.
pub(super) struct Now {
    pub valid: Bool,
    pub op: Op,
    pub look: Look,
    /// The words of the line's place, and their owners.
    pub line: Bits,
    pub owners: Bits,
    /// TBE of the operation; of a write-back the one that revokes words of its line, of a forward the one whose line it is.
    pub index: Bits,
    pub tbe: Tbe,
    pub progress: Progress,
    /// A request, from wherever.
    pub request: Bool,
    /// A forward whose words have been revoked.
    pub revoked: Bool,
    /// The TBE of a request has evicted a line for it.
    pub moved_in: Bool,
    /// The request's line is here, and not blocked.
    pub here: Bool,
    /// What the L3 has granted of it.
    pub perm: Enum<Perm>,
    /// Owned words of the line, if it is here.
    pub owned: Bits,
    /// Words asked for that somebody owns, and that nobody does.
    pub taken: Bits,
    pub free: Bits,
    pub ask: Enum<Ask>,
    /// It needs the right to write.
    pub writes: Bool,
    /// The line of a forward or WBAck is on its way to the L3.
    pub leaves: Bool,
}

/// What is done.
pub(super) struct Decision {
    pub needs: Rows,
    pub commits_v: Rows,
    pub commits_o: Rows,
    pub frames: Rows,
    pub blocked: Rows,
    pub client: Rows,
    pub write_backs: [Rows; 2],
    /// The request commits.
    pub commits: Bool,
    /// It begins with revocations.
    pub phase1: Bool,
    /// It joins a stall list.
    pub joins: Bool,
    /// It waits for the L3, for its line or for the right to write it.
    pub fetches: Bool,
    pub upgrades: Bool,
    /// Another line is asked for first.
    pub evicts: Bool,
    /// Words to be revoked.
    pub rv: Bits,
    /// Words of a write-back that its sender owns.
    pub mine: Bits,
}

impl Decision {
    /// A row of the commit takes an action.
    pub fn does(&self, name: &'static str) -> Bool {
        self.commits_v.does(name) | self.commits_o.does(name)
    }
    /// Words that a write-back gives back.
    pub fn mine_taken(&self) -> Bits {
        self.mine & self.write_backs[0].does("take").repeat(self.mine.width())
    }
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
    let Parts { p, tbes, .. } = with;
    let (valid, op, look) = (stages.s3_valid.get(), stages.s3.get(), stages.s3_look.get());
    let is = |kinds: &[Kind]| valid & op.kind.is_any(kinds);
    let index = mux(op.kind.is_any(&[Kind::Wb, Kind::Fwd]), look.by, op.tbe);
    let (tbe, progress) = (tbes.at(index), tbes.progress(index));
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
    let line = mux(leaves, tbes.buffer(index), stages.s3_line.get());
    let owners = owners_of(&p.bank(), stages.s3_line.get()).named("s3_owners");
    let owned = (look.owned & known.repeat(p.s.words())).named("s3_owned");
    let ask = ask(op.req.op).named("s3_ask");
    Now {
        valid,
        look,
        line,
        owners,
        index,
        tbe,
        progress,
        request,
        revoked,
        moved_in,
        here,
        perm: mux(here, look.there.perm, enum_lit(Perm::I)),
        owned,
        taken: (op.req.mask & owned).named("s3_taken"),
        free: op.req.mask & !owned,
        ask,
        writes: !ask.is(Ask::ReqV),
        leaves,
        op,
    }
}

/// What waits at the place where a missing line could go.
fn frame(p: &GpuL2Params, n: &Now) -> Bits {
    let perm = n.look.there.perm;
    let held = if p.fault == GpuL2Fault::DropOwned { bool_lit(false) } else { n.look.owned.any() };
    let pairs = [
        (n.look.full & !n.moved_in, "full"),
        (perm.is(Perm::I), "empty"),
        (perm.is(Perm::S), "shared"),
        (perm.is(Perm::E), "clean"),
        (held, "held"),
    ];
    coded(&table::FRAMES, &pairs, "dirty").named("s3_frame")
}

/// What has come to a blocked line; meaningless for others.
fn event(n: &Now) -> (Bool, Bits) {
    let is = |kind| n.valid & n.op.kind.is(kind);
    let joins = (is(Kind::Req) | is(Kind::Replay)) & n.look.blocked;
    let answers = is(Kind::Rvk);
    let pairs =
        [(joins, "Req"), (answers & n.op.nodata, "NoData"), (answers, "RvkO"), (is(Kind::Wb), "ReqWB")];
    let at = joins | answers | (is(Kind::Wb) & n.look.blocked) | is(Kind::Commit);
    (at, coded(&table::EVENTS, &pairs, "Done").named("s3_event"))
}

/// What the line is to the L3.
fn client_state(p: &GpuL2Params, n: &Now) -> Bits {
    let fills = (n.op.kind.is(Kind::Answer) | n.look.blocked) & n.tbe.kind.is(TbeKind::Fill) & !n.leaves;
    let fills = fills & !n.revoked;
    let gets = |state| fills & n.tbe.getting.is(state);
    let here = |perm| n.look.hit & n.look.there.perm.is(perm);
    let owned = if p.fault == GpuL2Fault::NoRevoke { bool_lit(false) } else { n.look.owned.any() };
    let pairs = [
        (n.revoked, "RVK"),
        (n.leaves & n.tbe.leaving.is(Leaving::Mi), "MI"),
        (n.leaves, "II"),
        (gets(Getting::Is), "IS"),
        (gets(Getting::Isi), "ISI"),
        (gets(Getting::Im), "IM"),
        (gets(Getting::Sm), "SM"),
        (here(Perm::S), "S"),
        (here(Perm::E), "E"),
        (here(Perm::M) & owned, "O"),
        (here(Perm::M), "M"),
    ];
    coded(&table::CLIENT, &pairs, "I").named("s3_client")
}

/// A message of the L3 or of a client.
fn message(n: &Now) -> Bits {
    let (answers, rsp, fwd) = (n.op.kind.is(Kind::Answer), n.op.rsp, n.op.fwd);
    let pairs = [
        (answers & rsp.is(HRspOp::DataS), "DataS"),
        (answers & rsp.is(HRspOp::DataE), "DataE"),
        (answers & rsp.is(HRspOp::DataM), "DataM"),
        (answers & rsp.is(HRspOp::InvAck), "InvAck"),
        (answers, "WBAck"),
        (fwd.is(HFwdOp::FwdGetS), "FwdGetS"),
        (fwd.is(HFwdOp::FwdGetM), "FwdGetM"),
        (fwd.is(HFwdOp::Recall), "Recall"),
    ];
    coded(&table::MESSAGES, &pairs, "Inv").named("s3_message")
}

/// Words to be revoked before the request commits.
fn before(p: &GpuL2Params, n: &Now, phases: &Rows) -> Bits {
    let words = match p.rvko {
        RvkoGran::Line => whole_owners(&p.bank(), n.owners, n.owned, n.taken),
        RvkoGran::Word => n.taken,
    };
    words & phases.does("revoke").repeat(p.s.words())
}

/// Decides by the tables.
pub(super) fn decide(with: &Parts, n: &Now) -> Decision {
    let Parts { p, tbes, .. } = with;
    let is = |kind| n.valid & n.op.kind.is(kind);
    let word = |w: &str| coded(&WORDS, &[], w);
    let request = n.ask.bits();
    let tried = is(Kind::Req) | is(Kind::Replay);
    let missing = n.request & !n.here & (n.moved_in | !n.look.blocked);
    let usage = coded(&table::USES, &[(n.writes, "write")], "read");
    let needs = Rows::new(&table::needs(), (tried & n.here) | missing, &[usage, n.perm.bits()]);
    let phases = Rows::listed(&table::phases(), tried & n.taken.any(), &[request, word("O")]);
    let rv = before(p, n, &phases);
    let phase1 = rv.any().named("s3_phase1");
    let upgrades = match p.fault {
        GpuL2Fault::SilentUpgrade => bool_lit(false),
        _ => needs.does("upgrade"),
    };
    let step = coded(&table::STEPS, &[(n.moved_in, "evicted")], "miss");
    let frames = Rows::new(&table::frames(), missing, &[step, frame(p, n)]);
    let commits = (n.here & !phase1 & !upgrades).named("s3_commits");
    let rows = |w, words: Bits| Rows::new(&table::commits(w), commits & words.any(), &[request, word(w)]);
    let (at, event) = event(n);
    let holder = tbes.at(mux(tried, n.look.by, n.index)).kind;
    let blocked = Rows::new(&table::blocked(), at, &[holder.bits(), event]);
    let of_client = is(Kind::Fwd) | is(Kind::Answer) | n.revoked;
    let client = Rows::new(&table::client(), of_client, &[client_state(p, n), message(n)]);
    let mine = (n.taken & words_of(&p.bank(), n.owners, n.op.req.src)).named("s3_mine");
    Decision {
        write_backs: write_backs(n, is(Kind::Wb), mine),
        joins: (frames.does("join") | blocked.does("join")).named("s3_joins"),
        fetches: frames.does("take").named("s3_fetches"),
        evicts: frames.does("evict").named("s3_evicts"),
        commits_v: rows("V", n.free),
        commits_o: rows("O", n.taken),
        upgrades: upgrades.named("s3_upgrades"),
        needs,
        frames,
        blocked,
        client,
        commits,
        phase1,
        rv,
        mine,
    }
}

/// Rows of a write-back: for the words that its sender owns, and for the others.
fn write_backs(n: &Now, back: Bool, mine: Bits) -> [Rows; 2] {
    let others = back & (n.op.req.mask & !mine).any();
    let rest = mux(n.look.hit, lit(1, 2), lit(2, 2));
    let [taken, dropped] = table::write_backs();
    [
        Rows::new(&taken, back & mine.any(), &[lit(0, 1), lit(0, 2)]),
        Rows::new(&dropped, others, &[lit(0, 1), rest]),
    ]
}

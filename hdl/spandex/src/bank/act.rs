//! Stage 3 of a bank whose words devices own: what it knows of an operation, what it has decided, and what every such bank does then. What one bank does is its own [`WordBank`].

use super::arrays::{Arrays, LineTag, Place};
use super::entries::Start;
use super::look::Look;
use super::pipeline::{Operation, Parts};
use super::replace::Replace;
use super::request::{Ask, Held, Job};
use super::rows::Rows;
use super::upward::Upward;
use super::words::{Commit, Progresses, Return, Word};
use super::{Bank, blank, some};
use crate::amo::WordAlu;
use crate::msg::{FwdOp, Rsp, RspOp};
use crate::params::WORD;
use weft_rtl::prelude::*;

/// A bank whose words devices own: its records, and what it does in stage 3 beside what all do.
pub(crate) trait WordBank: Sized {
    type Params;
    type Tag: LineTag;
    type Op: Operation;
    type Tbes;
    type Outputs;
    /// An entry's registers, what it is there for, what it waits for.
    type Tbe;
    type TbeKind: HwEnum;
    type Progress;
    /// What the row of a line that is not here leads to.
    type Line: HwEnum;
    /// What only this bank knows of an operation, and decides.
    type Known;
    type Decided;

    /// Lines have sharers: there is RspS.
    const SHARES: bool;
    /// Words are written at their owner: there is the forward ReqWT.
    const FORWARDS: bool;
    /// A write-back.
    const WB: <Self::Op as Operation>::Kind;

    /// The outputs towards devices.
    fn up(outs: &Self::Outputs) -> &Upward;
    /// Words whose RspRvkO an entry waits for, and those that it has revoked.
    fn revokes(progress: &Self::Progress) -> (Bits, Bits);
    /// The way after the step, but for the words.
    fn place(act: &Act<Self>) -> Place<Self::Tag>;
    /// The way is written.
    fn puts(act: &Act<Self>) -> Bool;
    /// A line comes into its way.
    fn installs(act: &Act<Self>) -> Bool;
    /// Words that nobody owns and that the bank answers.
    fn answered(act: &Act<Self>) -> Bits {
        act.n.free
    }
    /// Words whose place does not hold their data.
    fn elsewhere(act: &Act<Self>) -> Bits {
        act.n.owned
    }
    /// Messages that do not go to devices.
    fn sends(act: &Act<Self>);
    /// A transaction begins or goes on.
    fn begins(act: &Act<Self>);
    /// Something comes to a TBE; `owned`: words owned after the step. Returns whether it has all now, and whether a write-back was the last thing.
    fn progress(act: &Act<Self>, owned: Bits) -> (Bool, Bool);
    /// TBEs and stall lists; `complete`: the TBE has all.
    fn lists(act: &Act<Self>, complete: Bool);
    /// Asserts that lines and TBEs become what the tables say.
    fn leads(act: &Act<Self>);
}

/// The operation in stage 3 with all that is known of it.
pub(crate) struct Now<B: WordBank> {
    pub valid: Bool,
    pub op: B::Op,
    /// Its request; messages other than requests use of it what they have.
    pub req: Held,
    pub look: Look<B::Tag>,
    /// The words of the line's place, and their owners.
    pub line: Bits,
    pub owners: Bits,
    /// TBE of the operation, and of a write-back the one that revokes words of its line.
    pub index: Bits,
    pub tbe: B::Tbe,
    pub progress: B::Progress,
    /// A request, from wherever.
    pub request: Bool,
    /// Its TBE has evicted a line for it.
    pub moved_in: Bool,
    /// Its line is here, and not blocked.
    pub here: Bool,
    /// Owned words of the line, if it is here.
    pub owned: Bits,
    /// Words asked for that somebody owns, and that nobody does.
    pub taken: Bits,
    pub free: Bits,
    pub ask: Enum<Ask>,
    pub known: B::Known,
}

/// What is done.
pub(crate) struct Decision<B: WordBank> {
    /// What becomes of words in V, in S if there are lines in S, and in O.
    pub commits_v: Rows<Word, Commit>,
    pub commits_s: Option<Rows<Word, Commit>>,
    pub commits_o: Rows<Word, Commit>,
    pub frames: Rows<B::Line, Replace>,
    pub blocked: Rows<B::TbeKind, Progresses>,
    pub write_backs: [Rows<Word, Return>; 2],
    /// The request commits.
    pub commits: Bool,
    /// It begins with Inv or revocations.
    pub phase1: Bool,
    /// It joins a stall list.
    pub joins: Bool,
    /// It waits for its line.
    pub fetches: Bool,
    /// Another line is asked for first.
    pub evicts: Bool,
    /// Words to be revoked.
    pub rv: Bits,
    /// Words of a write-back that its sender owns.
    pub mine: Bits,
    pub decided: B::Decided,
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

/// The operation with its decision.
pub(crate) struct Act<'a, B: WordBank> {
    pub with: &'a Parts<'a, B::Params, B::Tag, B::Tbes, B::Outputs>,
    pub n: &'a Now<B>,
    pub d: &'a Decision<B>,
    pub bank: Bank,
    /// A request may get words beside those that it asks for.
    pub flex: bool,
    /// RspWB says that a revocation crosses the write-back (a fault put in on purpose says nothing).
    pub crosses: bool,
}

impl<B: WordBank> Now<B> {
    /// The operation is of a kind.
    pub fn is(&self, kind: <B::Op as Operation>::Kind) -> Bool {
        self.valid & self.op.kind().is(kind)
    }
}

impl<B: WordBank> Decision<B> {
    /// The row for words that nobody owns takes an action.
    pub fn does_free(&self, action: Commit) -> Bool {
        let v = self.commits_v.does(action);
        self.commits_s.as_ref().map_or(v, |s| v | s.does(action))
    }
    /// The row for words in S takes an action.
    pub fn does_s(&self, action: Commit) -> Bool {
        self.commits_s.as_ref().map_or_else(|| bool_lit(false), |s| s.does(action))
    }
    /// A row of the commit takes an action.
    pub fn does(&self, action: Commit) -> Bool {
        self.does_free(action) | self.commits_o.does(action)
    }
    /// Words that a write-back gives back.
    pub fn mine_taken(&self) -> Bits {
        self.mine & self.write_backs[0].does(Return::Take).repeat(self.mine.width())
    }
    /// Words come back with their data.
    pub fn stores(&self) -> Bool {
        self.blocked.does(Progresses::Store)
    }
}

/// The operation of those that a commit `does`, else `first`.
fn chosen_op<E: HwEnum>(kinds: &[(Commit, E)], first: E, does: impl Fn(Commit) -> Bool) -> Enum<E> {
    kinds.iter().fold(enum_lit(first), |rest, (action, op)| mux(does(*action), enum_lit(*op), rest))
}

/// The line after the operation of a ReqWT+data, and the words that it wrote.
pub(crate) fn performed(request: &Held, line: Bits) -> (Bits, Bits) {
    let Held { amo, cmp, bmask, mask, data, .. } = *request;
    WordAlu { op: amo, cmp, bmask }.line(mask, line, data)
}

impl<B: WordBank> Act<'_, B> {
    /// Set of the operation's line.
    pub fn set(&self) -> Bits {
        self.bank.set_of(self.n.req.line)
    }
    fn arrays(&self) -> &Arrays<B::Tag> {
        self.with.arrays
    }
    fn own(&self) -> Bits {
        self.with.own.resize(self.bank.s.node_bits())
    }
    /// A line comes into its way.
    pub fn installs(&self) -> Bool {
        B::installs(self)
    }
    /// The line in the way chosen.
    pub fn leaver(&self) -> Bits {
        self.bank.line_from(self.n.look.there.tag(), self.set(), self.own())
    }
    /// The operation of a ReqWT+data is done.
    pub fn performs(&self) -> Bool {
        self.d.does_free(Commit::Perform)
    }
    /// Words whose row takes an action: of those that nobody owns, and of those that somebody does.
    pub fn words_that(&self, action: Commit) -> Bits {
        let (n, d) = (self.n, self.d);
        some(n.free, d.does_free(action)) | some(n.taken, d.commits_o.does(action))
    }

    /// How a transaction of the request begins; `leaver`: the line in the way chosen, which may be replaced first.
    pub fn start(
        &self,
        kind: Enum<B::TbeKind>,
        leaver: Bits,
        progress: B::Progress,
    ) -> Start<B::TbeKind, B::Progress> {
        let Now { req, look, .. } = self.n;
        Start { kind, line: mux(self.d.evicts, leaver, req.line), wants: req.line, way: look.way, progress }
    }

    /// Does everything.
    pub fn act(&self) -> Done<B::Tag> {
        let (n, d) = (self.n, self.d);
        let place = B::place(self);
        when(B::puts(self), || self.arrays().put(self.set(), n.look.way, &place));
        when(d.commits, || self.arrays().touch(self.set(), n.look.tree, n.look.way));
        self.words();
        let (answers, crossed) = self.answers();
        self.forwards();
        B::sends(self);
        B::begins(self);
        let (complete, by_write_back) = B::progress(self, place.owned);
        B::lists(self, complete);
        B::leads(self);
        Done { answers, crossed, complete, by_write_back, place }
    }

    /// Writes words of the line.
    fn words(&self) {
        let (n, d, s) = (self.n, self.d, &self.bank.s);
        let (after, wrote) = performed(&n.req, n.line);
        let writes = self.words_that(Commit::Write);
        let brings = d.mine_taken() | some(n.req.mask, d.stores() | self.installs());
        let grants = d.does(Commit::Grant);
        let owners = pack(&vec![n.req.src.zext(WORD); s.words() as usize]);
        let mask = writes | brings | some(n.req.mask, grants) | some(wrote, self.performs());
        let data = mux(grants, owners, mux(self.performs(), after, n.req.data));
        let row = self.bank.row_of(self.set(), n.look.way);
        when(mask.any(), || self.arrays().put_lanes(row, mask, data));
    }

    /// Answers of a commit and of a write-back. Returns whether a request is answered, and the crossed words.
    fn answers(&self) -> (Bool, Bits) {
        let (n, d, s) = (self.n, self.d, &self.bank.s);
        let kinds = [
            (Commit::RspS, RspOp::RspS),
            (Commit::RspO, RspOp::RspO),
            (Commit::RspOData, RspOp::RspOData),
            (Commit::RspWt, RspOp::RspWt),
            (Commit::RspWtData, RspOp::RspWtData),
        ];
        let kinds = if B::SHARES { &kinds[..] } else { &kinds[1..] };
        let op = chosen_op(kinds, RspOp::RspV, |action| d.does(action));
        let words = B::answered(self);
        let says = kinds.iter().fold(d.does(Commit::RspV), |any, (action, _)| any | d.does(*action));
        let answers = (says & words.any()).named("s3_answers");
        let extras = self.extras();
        let elsewhere = B::elsewhere(self);
        let back = n.is(B::WB);
        let crossed = self.crossed();
        // A way into which a whole line is written or owned has never been read: its row shows nothing.
        let shows = [Commit::RspV, Commit::RspS, Commit::RspOData, Commit::RspWtData];
        let shows = shows.into_iter().filter(|action| B::SHARES || *action != Commit::RspS);
        let shows = shows.map(|action| d.does(action)).reduce(|any, says| any | says);
        when(answers | back, || {
            let extra = some(!elsewhere & !n.req.mask, extras);
            let own = self.own();
            B::up(self.with.outs).answers.push(&Rsp {
                op: mux(back, enum_lit(RspOp::RspWb), op),
                line: n.req.line,
                mask: mux(back, n.req.mask, words),
                extra: mux(back, crossed, extra),
                src: own,
                dst: n.req.src.resize(s.node_bits()),
                tag: n.req.tag,
                data: shows.map_or(n.line, |shows| some(n.line, shows)),
                ..blank::<Rsp>(s)
            });
        });
        (answers, some(crossed, back))
    }

    /// Words of a write-back for which a removal is on its way to the sender: those that it does not own any more, and those that the line's TBE revokes.
    fn crossed(&self) -> Bits {
        let (n, mine) = (self.n, self.d.mine);
        let revoked = match self.crosses {
            false => lit_bv(Bv::zero(self.bank.s.words())),
            true => some(B::revokes(&n.progress).1, n.look.blocked),
        };
        (mine & revoked) | (n.req.mask & !mine)
    }

    /// The request may get words beside those that it asks for.
    fn extras(&self) -> Bool {
        self.n.req.flex & self.n.ask.is(Ask::ReqV) & bool_lit(self.flex)
    }

    /// The forwards of a request for words that others own.
    fn forwards(&self) {
        let (n, d) = (self.n, self.d);
        let kinds =
            [(Commit::FwdO, FwdOp::ReqO), (Commit::FwdOData, FwdOp::ReqOData), (Commit::FwdWt, FwdOp::ReqWt)];
        let kinds = if B::FORWARDS { &kinds[..] } else { &kinds[..2] };
        let op = chosen_op(kinds, FwdOp::ReqV, |action| d.commits_o.does(action));
        when(d.commits & n.taken.any(), || {
            B::up(self.with.outs).forward(&Job {
                op,
                line: n.req.line,
                mask: n.taken,
                owners: n.owners,
                req: n.req.src,
                tag: n.req.tag,
                flex: self.extras(),
                for_wt: n.ask.is(Ask::ReqWt),
                data: n.req.data,
            });
        });
    }

    /// Asserts that words become what the tables say, words that nobody owns by `free` of their line. Returns the tag and the words owned after the step.
    pub fn words_lead(&self, name: &str, free: impl FnOnce(&B::Tag) -> Enum<Word>) -> (B::Tag, Bits) {
        let (n, d) = (self.n, self.d);
        let before = Place { there: n.look.there, owned: n.look.owned, sharers: n.look.sharers };
        let (line, owned) = self.arrays().left(self.set(), n.look.way, &before);
        let free = free(&line);
        let after = |words: Bits| mux((words & owned).any(), enum_lit(Word::O), free);
        d.commits_v.leads_to(after(n.free));
        d.commits_s.iter().for_each(|rows| rows.leads_to(after(n.free)));
        d.commits_o.leads_to(after(n.taken));
        d.write_backs[0].leads_to(after(d.mine));
        let alike = |words: Bits| (words & owned).none() | (words & !owned).none();
        let text = "words of one state go by one row";
        let holds = !d.commits | (alike(n.free) & alike(n.taken));
        assert_always(&format!("{name}_words_alike"), holds, text);
        (line, owned)
    }
}

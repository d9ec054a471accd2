//! What becomes of words (spandex.md sections 4.2 and 4.3): the rows that a bank of the Spandex LLC and one of an intermediate L2 have in common.
//!
//! A request is looked at word by word: [`words`] says what becomes of its words that nobody owns (V or S, as the line) and of those that another device owns (O); the rows in force are
//! carried out together, in one step. [`before`] says what has to come before, [`write_back`] what becomes of words that come back.

pub use super::request::Ask;
use super::rows::Rows;
use weft_rtl::prelude::*;

/// State of a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Word {
    /// Nobody owns it, and nobody is told of changes.
    V,
    /// Nobody owns it; its line's sharers are invalidated before it changes.
    S,
    /// A device owns it.
    O,
}

/// What a bank is asked, and how it names its rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Met {
    /// Name of the bank, for documentation and assertions.
    pub name: &'static str,
    /// Begins the identifiers of its rows.
    pub rows: &'static str,
    /// ReqS is answered by RspS: there are lines in S.
    pub shares: bool,
    /// ReqS is answered by RspV, to be used once.
    pub reads: bool,
    /// ReqS is answered by RspO+data.
    pub owns: bool,
    /// Words are written at their owner.
    pub forwards: bool,
}

/// What a request does to its words.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Commit {
    /// Answer: words to read.
    RspV,
    /// Answer: words to share.
    RspS,
    /// Answer: ownership.
    RspO,
    /// Answer: ownership with the words.
    #[hw(label = "RspO+data")]
    RspOData,
    /// Answer: written.
    #[hw(label = "RspWT")]
    RspWt,
    /// Answer: the words before the operation.
    #[hw(label = "RspWT+data")]
    RspWtData,
    /// Fwd ReqV to the owner.
    #[hw(label = "fwd ReqV")]
    FwdV,
    /// Fwd ReqO to the owner.
    #[hw(label = "fwd ReqO")]
    FwdO,
    /// Fwd ReqO+data to the owner.
    #[hw(label = "fwd ReqO+data")]
    FwdOData,
    /// Fwd ReqWT to the owner.
    #[hw(label = "fwd ReqWT")]
    FwdWt,
    /// The requestor is a sharer.
    Share,
    /// The line has no sharers any more.
    Unshare,
    /// The requestor owns them.
    Grant,
    /// Nobody owns them any more.
    Release,
    /// They are written.
    Write,
    /// The operation is done on them.
    Perform,
}

transitions! {
    /// What becomes of a request's words.
    pub fn words(met: Met) {
        name met.name, rows met.rows;
        on "request": Ask, "word": Word;
        next Word;
        does Commit;

        (ReqV, V) [RspV]                    "RspV, with extras if flexible";
        if met.shares {
            (ReqV, S) [RspV]                "RspV, with extras if flexible";
        }
        (ReqV, O) [FwdV]                    "fwd ReqV to the owner; unchanged";
        if met.shares {
            (ReqS1, V) -> S [RspS, Share]
                "RspS unless the owner has answered; line S, requestor and kept owners are sharers";
            (ReqS1, S) [RspS, Share]
                "RspS unless the owner has answered; requestor and kept owners are sharers";
        }
        if met.reads {
            (ReqS2, V) [RspV]               "RspV, to be used once; unchanged";
            (ReqS2, O) [FwdV]               "fwd ReqV to the owner; unchanged";
        }
        if met.owns {
            (ReqS3, V) -> O [RspOData, Grant] "RspO+data; requestor owns";
            (ReqS3, O) [FwdOData, Grant]    "fwd ReqO+data to the owner; requestor owns";
        }
        (ReqWt, V) [RspWt, Write]           "written, RspWT";
        if met.shares {
            (ReqWt, S) -> V [RspWt, Write, Unshare] "written, RspWT; line V, its sharers have been asked";
            (ReqWt, O) -> V | S [FwdO, Write, Release]
                "written, no longer owned; fwd ReqO to the old owner, answered RspWT";
        } else {
            (ReqWt, O) -> V [FwdO, Write, Release]
                "written, no longer owned; fwd ReqO to the old owner, answered RspWT";
        }
        if met.forwards {
            (ReqWtFwd, V) [RspWt, Write]    "written, RspWT";
            if met.shares {
                (ReqWtFwd, S) -> V [RspWt, Write, Unshare] "written, RspWT; line V";
            }
            (ReqWtFwd, O) [FwdWt]           "fwd ReqWT with data to the owner, which stays owner";
        }
        (ReqO, V) -> O [RspO, Grant]        "RspO; requestor owns";
        if met.shares {
            (ReqO, S) -> O [RspO, Grant, Unshare] "RspO; requestor owns, line V";
        }
        (ReqO, O) [FwdO, Grant]             "fwd ReqO to the owner; requestor owns";
        (ReqWtData, V) [RspWtData, Perform] "performed, RspWT+data with the old words";
        if met.shares {
            (ReqWtData, S) -> V | S [RspWtData, Perform, Unshare]
                "performed, RspWT+data; line V if its sharers have been asked";
        }
        (ReqOData, V) -> O [RspOData, Grant] "RspO+data; requestor owns";
        if met.shares {
            (ReqOData, S) -> O [RspOData, Grant, Unshare] "RspO+data; requestor owns, line V";
        }
        (ReqOData, O) [FwdOData, Grant]     "fwd ReqO+data to the owner; requestor owns";
        never (ReqS1 | ReqWtData, O)        "the owners are asked first";
        never (ReqS2 | ReqS3, S)            "a ReqS shares a line that is shared";
        if !met.shares {
            never (_, S)                    "no line is shared";
            never (ReqS1, V)                "no ReqS is answered by RspS";
        }
        if !met.reads {
            never (ReqS2, V | O)            "no ReqS is answered by RspV";
        }
        if !met.owns {
            never (ReqS3, V | O)            "no ReqS is answered by RspO+data";
        }
        if !met.forwards {
            never (ReqWtFwd, _)             "words are not written at their owner";
        }
    }
}

/// What has to come first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Before {
    /// Inv to the sharers.
    Inv,
    /// RvkO to the owners.
    Revoke,
    /// Fwd ReqS to the owners.
    Downgrade,
}

transitions! {
    /// What has to come before a request is carried out.
    pub fn before(met: Met) {
        name met.name, rows format!("{}phase1.", met.rows);
        on "request": Ask, "word": Word;
        does Before;

        if met.shares {
            (ReqWt, S)      [Inv]  "Inv to every sharer";
            if met.forwards {
                (ReqWtFwd, S) [Inv] "Inv to every sharer";
            }
            (ReqO, S)       [Inv]  "Inv to every sharer, but not to the requestor of the whole line";
            (ReqWtData, S)  [Inv]  "Inv to every sharer";
            (ReqOData, S)   [Inv]  "Inv to every sharer, but not to the requestor of the whole line";
            idle (ReqV | ReqS1 | ReqS2 | ReqS3, S) "what reads leaves sharers alone";
            if !met.forwards {
                never (ReqWtFwd, S) "words are not written at their owner";
            }
        } else {
            never (_, S)           "no line is shared";
        }
        (ReqWtData, O)  [Revoke]   "RvkO to every owner";
        if met.shares {
            (ReqS1, O)  [Downgrade] "fwd ReqS to every owner, for all its words of the line";
        } else {
            never (ReqS1, O)       "no ReqS is answered by RspS";
        }
        idle (ReqV | ReqS2 | ReqS3 | ReqWt | ReqWtFwd | ReqO | ReqOData, O) "the owners get forwards";
        idle (_, V)                "nobody has to be asked";
    }
}

/// Whose the words of a write-back are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Back {
    /// The sender's.
    #[hw(label = "mine")]
    Mine,
    /// Not the sender's.
    #[hw(label = "other")]
    Other,
    /// The line is not here.
    #[hw(label = "absent")]
    Absent,
}

/// What a write-back does to them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Return {
    /// The bank has them; nobody owns them.
    Take,
    /// They are dropped: a removal is on its way to the sender.
    Cross,
}

transitions! {
    /// What becomes of words that come back.
    pub fn write_back(met: Met) {
        name met.name, rows met.rows;
        on "word": Back;
        next Word;
        does Return;

        if met.shares {
            "ReqWB.mine" (Mine) -> V | S [Take]
                "owned by the sender: data taken, no longer owned; crossed if revoked";
        } else {
            "ReqWB.mine" (Mine) -> V [Take]
                "owned by the sender: data taken, no longer owned; crossed if revoked";
        }
        "ReqWB.other"  (Other)  [Cross] "not owned by the sender: dropped, crossed";
        "ReqWB.absent" (Absent) [Cross] "the line is not here: dropped, crossed";
    }
}

/// What happens at a blocked line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Progresses {
    /// The request joins the stall list.
    Join,
    /// The line into its way.
    Install,
    /// The request commits.
    Finish,
    /// One sharer less.
    Ack,
    /// Words into the line, no longer owned.
    Store,
    /// An owner has answered.
    Back,
    /// It will be a sharer.
    Keep,
    /// Words of a write-back into the line.
    Collect,
    /// The line gives its way to the request's.
    Replace,
    /// A forward of the L3 is answered.
    Reply,
}

transitions! {
    /// What comes back to a TBE that takes all owned words of its line back.
    pub(crate) rows returns(tbe) {
        (tbe, RvkO)   [Store, Back] "words into the line, no longer owned";
        (tbe, NoData) [Back]        "a write-back brings the words";
        (tbe, ReqWb)  [Collect]     "words into the line; crossed";
    }
}

/// Everything that moves a word of a line that is here. Words that nobody owns are in S, or not, together.
pub fn word_machine(met: Met) -> Machine<Word> {
    let words = Machine::new("state of a word", Word::V).with(&words(met));
    words.also(&[Word::O], Word::V)
}

/// Rows of a write-back: for the words that its sender owns (`mine`), and for the others, by tables of these names; `at`: there is one, `hit`: its line is here.
pub(crate) fn write_backs(
    met: Met,
    [taken, dropped]: [&'static str; 2],
    (at, hit): (Bool, Bool),
    (mask, mine): (Bits, Bits),
) -> [Rows<Word, Return>; 2] {
    let others = at & (mask & !mine).any();
    let code = |back: Back| lit(back.encoding(), 2);
    let rest = mux(hit, code(Back::Other), code(Back::Absent));
    let part = |name, values: &[Back]| write_back(met).only(name, values);
    let taken = part(taken, &[Back::Mine]);
    let dropped = part(dropped, &[Back::Other, Back::Absent]);
    [Rows::new(&taken, at & mine.any(), (code(Back::Mine),)), Rows::new(&dropped, others, (rest,))]
}

//! The L1s' transition tables (spandex.md sections 5, 7 and 8).
//!
//! | status of a word | meaning |
//! | --- | --- |
//! | O | owned |
//! | PO | ReqO is outstanding: its value is in the store buffer |
//! | PD | ReqO+data, or ReqS, is outstanding |
//! | WB | its write-back is open |
//! | other | anything else, or its removal has been recorded already |

use super::params::L1Kind;
use crate::msg::FwdOp;
use weft_rtl::prelude::*;

/// Status of a word that a forward meets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum Status {
    /// Owned.
    O,
    /// Ownership asked for, without data.
    #[hw(label = "PO")]
    Po,
    /// Ownership asked for, with data.
    #[hw(label = "PD")]
    Pd,
    /// Write-back open.
    #[hw(label = "WB")]
    Wb,
    /// Anything else.
    #[hw(label = "other")]
    Other,
}

fn names(kind: L1Kind) -> (&'static str, &'static str, &'static str) {
    match kind {
        L1Kind::Denovo => ("spandex.denovo_l1.", "denovo_l1_forwards", "denovo_l1_operations"),
        L1Kind::Flex => ("spandex.flex_l1.", "flex_l1_forwards", "flex_l1_operations"),
        L1Kind::Stash => ("spandex.stash.", "stash_forwards", "stash_operations"),
    }
}

/// What a forward does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Forward {
    /// The requestor gets an answer.
    Req,
    /// The bank does.
    Bank,
    /// Both do, the requestor first.
    Both,
    /// A Nack refuses it.
    Nack,
    /// Ack.
    Ack,
    /// The answer has no data.
    Nodata,
    /// The words are owned no more.
    Lose,
    /// They stay as copies.
    Keep,
    /// They are written.
    Write,
    /// The removal is recorded in the buffer.
    Note,
    /// It is recorded at the own operation, which it follows.
    Delay,
    /// A read follows the own operation.
    DelayRead,
}

transitions! {
    /// What a forward does to words of one status. `direct`: it guesses the owner. A stash does not ask for ownership with data.
    pub fn forwards(kind: L1Kind) {
        name names(kind).1, rows names(kind).0;
        on "forward": FwdOp, "word": Status, "direct": Is;
        next Status;
        does Forward;

        "ReqV.O"     (ReqV, O, _)      [Req]       "RspV, with other owned words of the line if they are welcome.";
        "ReqV.PO"    (ReqV, Po, No)    [Req]       "RspV from the store buffer.";
        "ReqV.WB"    (ReqV, Wb, No)    [Req]       "RspV from the write-back buffer.";
        if kind != L1Kind::Stash {
            "ReqV.PD" (ReqV, Pd, No)   [DelayRead] "Delayed if the entry has room for it, else NackV.";
        }
        "ReqV.other" (ReqV, Other, No) [Nack]      "NackV.";
        if kind == L1Kind::Stash {
            "ReqV.direct" (ReqV, Po | Wb | Other, Yes)      [Nack]
                "NackV: direct requests are served in stable O only.";
        } else {
            "ReqV.direct" (ReqV, Po | Pd | Wb | Other, Yes) [Nack]
                "NackV: direct requests are served in stable O only.";
        }
        "ReqO.O"       (ReqO, O, _)       -> Other [Req, Lose] "I; RspO or RspWT.";
        "ReqO.pending" (ReqO, Po | Wb, _) -> Other [Req, Note] "The removal is recorded; answered now.";
        // Whoever asks for a line may be asked for words that another still reads.
        if kind == L1Kind::Flex {
            "ReqO.PD" (ReqO, Pd, _) -> Other [Delay] "Delayed behind the own operation.";
        } else if kind == L1Kind::Denovo {
            "ReqO.PD" (ReqO, Pd, _) -> Other [Req, Delay] "Answered now; the word goes after the own operation.";
        }
        "ReqOdata.O"       (ReqOData, O, _)       -> Other [Req, Lose] "I; RspO+data.";
        "ReqOdata.pending" (ReqOData, Po | Wb, _) -> Other [Req, Note] "RspO+data from the buffer.";
        if kind != L1Kind::Stash {
            "ReqOdata.PD" (ReqOData, Pd, _) -> Other [Delay] "Delayed behind the own operation.";
        }
        "RvkO.O"  (RvkO, O, _)  -> Other [Bank, Lose] "I; RspRvkO with data.";
        "RvkO.PO" (RvkO, Po, _) -> Other [Bank, Note] "RspRvkO with data from the store buffer.";
        if kind != L1Kind::Stash {
            "RvkO.PD" (RvkO, Pd, _) -> Other [Delay] "Delayed behind the own operation.";
        }
        "RvkO.WB" (RvkO, Wb, _) -> Other [Bank, Note, Nodata] "RspRvkO: the write-back brings the data.";
        if kind == L1Kind::Flex {
            "ReqS.O" (ReqS, O, _) -> Other [Both, Lose, Keep] "S; RspS to the requestor, RspRvkO to the bank.";
        } else {
            "ReqS.O" (ReqS, O, _) -> Other [Both, Lose, Keep] "V; RspS to the requestor, RspRvkO to the bank.";
        }
        "ReqS.PO" (ReqS, Po, _) -> Other [Both, Note] "The same from the store buffer.";
        if kind != L1Kind::Stash {
            "ReqS.PD" (ReqS, Pd, _) -> Other [Delay] "Delayed behind the own operation.";
        }
        "ReqS.WB"  (ReqS, Wb, _) -> Other [Both, Note, Nodata] "RspS; the write-back brings the data.";
        "ReqWT.O"  (ReqWt, O, _) [Write] "The words are written; RspWT.";
        if kind == L1Kind::Stash {
            "ReqWT.other" (ReqWt, Po | Wb | Other, _)      [Nack] "NackWT.";
            never (_, Pd, _) "a stash asks for no ownership with data";
        } else {
            "ReqWT.other" (ReqWt, Po | Pd | Wb | Other, _) [Nack] "NackWT.";
        }
        if kind == L1Kind::Flex {
            "Inv" (Inv, _, _) [Ack] "S words become I, those of an outstanding ReqS are used once; Ack.";
        } else {
            "Inv" (Inv, _, _) [Ack] "Ack.";
        }
        never (ReqO | ReqOData | RvkO | ReqS, Other, _)
            "a removal is sent for words that are here, once per ownership";
        never (ReqO | ReqOData | RvkO | ReqS | Inv, _, Yes) "only ReqV and ReqWT are sent to a likely owner";
        never (Inv, O | Po | Pd | Wb, _)                   "an invalidation names no words";
    }
}

/// Everything that moves a word, as forwards see it.
pub fn machine(kind: L1Kind) -> Machine<Status> {
    use Status::{O, Other, Pd, Po, Wb};
    let stash = kind == L1Kind::Stash;
    let pending: &[Status] = if stash { &[Po] } else { &[Po, Pd] };
    let asks = Machine::new("status of a word", Other).with(&forwards(kind)).also(&[Other], Po);
    // Operations ask for ownership, answers bring it (of an update done at the LLC, or of shared words, not); the line is replaced; RspWB comes.
    let asks = if stash { asks } else { asks.also(&[Other], Pd).also(&[Pd], Other) };
    asks.also(pending, O).also(&[O], Wb).also(&[Wb], Other)
}

/// What an operation of the CU asks of its words.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 4)]
pub enum Access {
    /// Load; of Flex one by ReqV.
    Ld,
    /// Store of whole words; of Flex one by ReqO.
    St,
    /// Atomic, or store of some bytes; of Flex those, and stores of whole words, by ReqO+data.
    Rmw,
    /// Atomic, of Flex also a store of some bytes, that the LLC carries out (ReqWT+data).
    #[hw(label = "through")]
    Through,
    /// The oldest entry of the store buffer asks for ownership.
    #[hw(label = "drain")]
    Drain,
    /// Flex: load by ReqS.
    #[hw(label = "Ld by ReqS")]
    LdShared,
    /// Flex: load by ReqO+data.
    #[hw(label = "Ld by ReqO+data")]
    LdOwned,
    /// Flex: store of whole words by ReqWT.
    #[hw(label = "St by ReqWT")]
    StThrough,
    /// Flex: the oldest entry of the store buffer is written through.
    #[hw(label = "drain by ReqWT")]
    DrainThrough,
}

/// How the words of an operation are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Words {
    /// All that is needed is there: a load's words have values, the others' are owned.
    #[hw(label = "here")]
    Here,
    /// Some are missing.
    #[hw(label = "missing")]
    Missing,
    /// They are on their way to a load, or to an atomic, that this one can join.
    #[hw(label = "coming")]
    Coming,
    /// Something of them must end first.
    #[hw(label = "busy")]
    Busy,
}

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Operate {
    /// Answer.
    Hit,
    /// Ask for words to read.
    Read,
    /// Join an entry that brings the words.
    Join,
    /// Write owned words in place.
    Store,
    /// Put the words into the store buffer.
    Buffer,
    /// Write copies, too, which become V.
    Renew,
    /// Perform an atomic, or store bytes, in place.
    Perform,
    /// Ask for ownership and data, or an update.
    Own,
    /// The LLC carries it out.
    Through,
    /// Wait in the entry that brings the word of an atomic.
    Attach,
    /// Ask for words to own or share, for a load.
    Take,
    /// To share.
    Share,
    /// Ask for ownership of what is buffered.
    Ask,
    /// Write through what is buffered.
    Write,
    /// Ask again later.
    Wait,
}

transitions! {
    /// What an operation does. `joins`: atomics join the request of their word; `through`: the LLC carries some out. An operation has words in several states, so no row moves one: what
    /// is asked for moves them as it comes.
    pub fn operations(kind: L1Kind, joins: bool, through: bool) {
        name names(kind).2, rows names(kind).0;
        on "access": Access, "words": Words;
        does Operate;

        "Ld.here"       (Ld, Here)       [Hit]        "V, S, O or buffered: answer.";
        "Ld.missing"    (Ld, Missing)    [Read]
            "ReqV of the missing words, in the read entry of the line if there is one.";
        "Ld.coming"     (Ld, Coming)     [Join]       "Wait in the entry that brings them.";
        "Ld.busy"       (Ld, Busy)       [Wait]       "Wait: a word is written back, or asked for with data.";
        "St.here"       (St, Here)       [Store]      "Every word is O: in place.";
        "St.missing"    (St, Missing)    [Buffer]     "Words that are not O become I; buffered.";
        "St.busy"       (St, Busy)       [Wait]
            "Wait: no entry of the buffer is free, or an operation on a word waits for data.";
        "Rmw.here"      (Rmw, Here)      [Perform]    "The words that are O: done in place.";
        "Rmw.missing"   (Rmw, Missing)   [Own]        "ReqO+data; reads of the line become stale.";
        "Rmw.busy"      (Rmw, Busy)      [Wait]       "Wait: words are buffered, asked for, or written back.";
        "drain.here"    (Drain, Here)    [Store]      "Every word has become O meanwhile: in place.";
        "drain.missing" (Drain, Missing) [Store, Ask] "ReqO of the words that are not O.";
        "drain.busy"    (Drain, Busy)    [Wait]       "Wait: words are read, asked for with data, or written back.";
        if joins {
            "Rmw.coming" (Rmw, Coming) [Attach]
                "An atomic on one word that is asked for: waits in the entry that brings it.";
        } else {
            never (Rmw, Coming) "atomics join no request";
        }
        if through {
            "Through.here"    (Through, Here)    [Perform]      "The words that are O: done in place.";
            "Through.missing" (Through, Missing) [Own, Through]
                "The copy becomes I; ReqWT+data; reads of the line become stale.";
            "Through.busy"    (Through, Busy)    [Wait]
                "Wait: words are buffered, asked for, or written back.";
            never (Through, Coming)              "atomics that the LLC carries out join no request";
        } else {
            never (Through, _)                   "the LLC carries no atomics out";
        }
        if kind == L1Kind::Flex {
            "LdS.here"       (LdShared, Here)        [Hit]  "V, S, O or buffered: answer.";
            "LdS.missing"    (LdShared, Missing)     [Take, Share] "ReqS; the copies asked for become I.";
            "LdS.coming"     (LdShared, Coming)      [Join] "Wait in the entry that brings them.";
            "LdS.busy"       (LdShared, Busy)        [Wait] "Wait: a word is written back, or asked for.";
            "LdO.here"       (LdOwned, Here)         [Hit]  "V, S, O or buffered: answer.";
            "LdO.missing"    (LdOwned, Missing)      [Take] "ReqO+data; the copies asked for become I.";
            "LdO.coming"     (LdOwned, Coming)       [Join] "Wait in the entry that brings them.";
            "LdO.busy"       (LdOwned, Busy)         [Wait] "Wait: a word is written back, or asked for.";
            "StT.here"       (StThrough, Here)       [Store] "Every word is O: in place.";
            "StT.missing"    (StThrough, Missing)    [Buffer, Renew] "Copies are written and become V; buffered.";
            "StT.busy"       (StThrough, Busy)       [Wait]
                "Wait: no entry of the buffer is free, one with another hint is, or an operation on a word waits for data.";
            "drainT.here"    (DrainThrough, Here)    [Store] "Every word has become O meanwhile: in place.";
            "drainT.missing" (DrainThrough, Missing) [Store, Write] "ReqWT of the words that are not O.";
            "drainT.busy"    (DrainThrough, Busy)    [Wait] "Wait: words are asked for with data, or written back.";
            never (StThrough | DrainThrough, Coming)        "what is stored waits for no words";
        } else {
            never (LdShared | LdOwned | StThrough | DrainThrough, _) "there are no hints";
        }
        never (St | Drain, Coming)                    "what is stored waits for no words";
    }
}

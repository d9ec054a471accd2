//! Transition tables of a bank (spandex.md section 9, last paragraph).
//!
//! Towards GPU L1s it is a bank of section 4: what becomes of words, what comes before, and words that come back are the rows of [`crate::bank::words`], but for ReqS, state S and write-through
//! forwarding. [`needs`] says what the L3 must have granted first, [`frames`] where a line that is not here goes, [`blocked`] what happens at a line with a TBE. [`client`] is the bank as a client.

pub use super::types::{Perm, TbeKind};
pub use crate::bank::replace::Replace;
pub use crate::bank::words::Progresses;
use crate::bank::words::{Back, Met, Word, before, returns, word_machine, words, write_back};
use weft_rtl::prelude::*;

/// The requests that GPU L1s send.
pub const MET: Met = Met {
    name: "gpu_l2_words",
    rows: "spandex.gpu_l2.",
    shares: false,
    reads: false,
    owns: false,
    forwards: false,
};

/// What a request does to its line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Use {
    /// It reads.
    #[hw(label = "read")]
    Read,
    /// It needs the right to write.
    #[hw(label = "write")]
    Write,
}

/// What a request needs of the L3.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Need {
    /// Nothing.
    Go,
    /// The line.
    Get,
    /// The right to write it.
    Upgrade,
    /// Nothing; the line is written from now on.
    Modify,
}

transitions! {
    /// What the L3 must have granted.
    pub fn needs() {
        name "gpu_l2_needs", rows "spandex.gpu_l2.need.";
        on "use": Use, "line": Perm;
        next Perm;
        does Need;

        (Read, I)        [Get]        "GetS";
        (Read, S)        [Go]         "a shared line is read";
        (Read, E)        [Go]         "read";
        (Read, M)        [Go]         "read";
        (Write, I)       [Get]        "GetM";
        (Write, S)       [Upgrade]    "GetM, the line blocked in its place";
        (Write, E) -> M  [Go, Modify] "M from now on, which the L3 does not hear of";
        (Write, M)       [Go]         "written";
    }
}

/// Why a way is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Step {
    /// A request misses.
    #[hw(label = "miss")]
    Miss,
    /// The owners of the line there have given it back for it.
    #[hw(label = "evicted")]
    Evicted,
}

/// What is in the way chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Frame {
    /// No line.
    #[hw(label = "empty")]
    Empty,
    /// A line in S.
    #[hw(label = "shared")]
    Shared,
    /// A line in E.
    #[hw(label = "clean")]
    Clean,
    /// A line in M.
    #[hw(label = "dirty")]
    Dirty,
    /// A line in M of which GPU L1s own words.
    #[hw(label = "held")]
    Held,
    /// No way may be replaced.
    #[hw(label = "full")]
    Full,
}

transitions! {
    /// Where a line that is not here goes.
    pub fn frames() {
        name "gpu_l2_frames", rows "spandex.gpu_l2.frame.";
        on "step": Step, "frame": Frame;
        next Perm;
        does Replace;

        (Miss, Empty)    -> I [Take]      "an empty way";
        (Miss, Shared)   -> I [Take]      "a line in S is dropped";
        (Miss, Clean)    -> I [Take, Put] "a line in E leaves: Put without data";
        (Miss, Dirty)    -> I [Take, Put] "a line in M leaves: Put";
        (Miss, Held)          [Evict]     "owners are asked first";
        (Miss, Full)          [Join]      "every way is blocked: waits in the list of one that is";
        (Evicted, Dirty) -> I [Take, Put] "everything has come back: Put";
        never (Evicted, Empty | Shared | Clean | Held | Full) "a line with owned words is in M, and its way is blocked until they are back";
    }
}

/// What comes to a blocked line from below.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Comes {
    /// A request.
    Req,
    /// RspRvkO with data.
    RvkO,
    /// RspRvkO without data.
    NoData,
    /// A write-back.
    #[hw(label = "ReqWB")]
    ReqWb,
    /// All has come.
    Done,
}

transitions! {
    /// What happens at a blocked line. A TBE that is free has its kind left as it was.
    pub fn blocked() {
        name "gpu_l2_blocked", rows "spandex.gpu_l2.blocked.";
        on "tbe": TbeKind, "event": Comes;
        next TbeKind;
        does Progresses;

        (Fill, Req)                  [Join]        "joins the stall list";
        (Fill, Done) -> Fill | Put   [Finish]      "the request commits; Unblock or UnblockX to the L3";
        (Phase1, Req)                [Join]        "joins the stall list";
        (Phase1, RvkO)               [Store, Back] "words into the line, no longer owned";
        (Phase1, NoData)             [Back]        "a write-back brings the words";
        (Phase1, ReqWb)              [Collect]     "words into the line; crossed, if revoked";
        (Phase1, Done)               [Finish]      "the request commits";
        (Evict, Req)                 [Join]        "joins the stall list";
        include returns(Evict);
        (Evict, Done) -> Fill        [Replace]     "the line leaves its way to the request's";
        (Revoke, Req)                [Join]        "joins the stall list";
        include returns(Revoke);
        (Revoke, Done)               [Reply]       "the forward is answered";
        (Put, Req)                   [Join]        "joins the stall list";
        never (Fill | Put, RvkO | NoData | ReqWb)  "it has revoked nothing";
        never (Put, Done)                          "WBAck ends it";
    }
}

/// State of a line as the L3 sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 4)]
pub enum Client {
    /// Not here.
    I,
    /// To be read.
    S,
    /// The only copy, clean.
    E,
    /// The only copy, to be given back with its data.
    M,
    /// In M, with words that GPU L1s own.
    O,
    /// GetS has been asked.
    #[hw(label = "IS")]
    Is,
    /// The same, and an Inv has come.
    #[hw(label = "ISI")]
    Isi,
    /// GetM has been asked.
    #[hw(label = "IM")]
    Im,
    /// GetM has been asked of a line in S.
    #[hw(label = "SM")]
    Sm,
    /// Put back, WBAck is to come.
    #[hw(label = "MI")]
    Mi,
    /// The same, and a forward has taken it.
    #[hw(label = "II")]
    Ii,
    /// In M, its owned words revoked for a forward.
    #[hw(label = "RVK")]
    Rvk,
}

/// Messages of the L3 and of clients.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 4)]
pub enum Message {
    /// Another client reads.
    FwdGetS,
    /// Another client writes.
    FwdGetM,
    /// The L3 replaces the line.
    Recall,
    /// Another client writes a shared line.
    Inv,
    /// A line to share.
    DataS,
    /// The only copy.
    DataE,
    /// A line to write.
    DataM,
    /// A sharer has no copy any more.
    InvAck,
    /// The L3 has a Put.
    #[hw(label = "WBAck")]
    WbAck,
}

/// What a message does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Serve {
    /// DataS to the client that asked.
    DataS,
    /// DataM to the client that asked.
    DataM,
    /// WbData to the L3.
    #[hw(label = "WbData")]
    Wb,
    /// InvAck to the client that asked.
    Ack,
    /// The line stays in S.
    Share,
    /// The line goes.
    Drop,
    /// The owners of its words are asked first.
    Revoke,
    /// A line on its way to the L3 is a forward's.
    Leave,
    /// The line that comes is used once.
    Once,
    /// The line that comes stays.
    Keep,
    /// A line to be written comes as a whole.
    Lose,
    /// The line into its way: S.
    InstallS,
    /// The same: E.
    InstallE,
    /// The same: M.
    InstallM,
    /// One InvAck more.
    Count,
    /// The line has left.
    Gone,
}

transitions! {
    /// The bank as a client of the L3. A line in O that a forward wants is in RVK when its owned words are back.
    pub fn client() {
        name "gpu_l2_client", rows "spandex.gpu_l2.client.";
        on "line": Client, "message": Message;
        next Client;
        does Serve;

        (E, FwdGetS)   -> S   [DataS, Wb, Share] "DataS, WbData without data; S";
        (M, FwdGetS)   -> S   [DataS, Wb, Share] "DataS, WbData; S";
        (O, FwdGetS)          [Revoke]           "owners are asked first";
        (Rvk, FwdGetS) -> S   [DataS, Wb, Share] "DataS, WbData; S";
        (Mi, FwdGetS)  -> Ii  [DataS, Wb, Leave] "DataS, WbData; II";
        (E, FwdGetM)   -> I   [DataM, Drop]      "DataM; I";
        (M, FwdGetM)   -> I   [DataM, Drop]      "DataM; I";
        (O, FwdGetM)          [Revoke]           "owners are asked first";
        (Rvk, FwdGetM) -> I   [DataM, Drop]      "DataM; I";
        (Mi, FwdGetM)  -> Ii  [DataM, Leave]     "DataM; II";
        (E, Recall)    -> I   [Wb, Drop]         "WbData without data; I";
        (M, Recall)    -> I   [Wb, Drop]         "WbData; I";
        (O, Recall)           [Revoke]           "owners are asked first";
        (Rvk, Recall)  -> I   [Wb, Drop]         "WbData; I";
        (Mi, Recall)   -> Ii  [Wb, Leave]        "WbData; II";
        (I, Inv)              [Ack]              "InvAck: the line was dropped before";
        (S, Inv)       -> I   [Ack, Drop]        "InvAck; I";
        (Is, Inv)      -> Isi [Ack, Once]        "InvAck; ISI";
        (Isi, Inv)            [Ack]              "InvAck";
        (Im, Inv)             [Ack]              "InvAck";
        (Sm, Inv)      -> Im  [Ack, Drop, Lose]  "InvAck; IM";
        (Is, DataS)    -> S   [InstallS]         "the line into its way: S";
        (Isi, DataS)   -> S   [InstallS]         "the line into its way, to be used once";
        (Is, DataE)    -> E   [InstallE]         "the line into its way: E";
        (Isi, DataE)   -> E   [InstallE, Keep]   "the same: the Inv was for a copy dropped before";
        (Im, DataM)    -> M   [InstallM]         "the line into its way: M, when all InvAcks have come";
        (Sm, DataM)    -> M   [InstallM]         "the same";
        (Im, InvAck)          [Count]            "one InvAck more";
        (Sm, InvAck)          [Count]            "one InvAck more";
        (Mi, WbAck)    -> I   [Gone]             "the L3 has the line";
        (Ii, WbAck)    -> I   [Gone]             "the L3 had it before";
        never (I | S | Is | Isi | Im | Sm | Ii, FwdGetS | FwdGetM | Recall) "forwards go to the owner";
        never (E | M | O | Mi | Ii | Rvk, Inv)   "invalidations go to sharers";
        never (I | S | E | M | O | Mi | Ii | Rvk, DataS | DataE | DataM | InvAck) "nothing has been asked";
        never (Is | Isi, DataM | InvAck)         "GetS is answered by DataS or DataE";
        never (Im | Sm, DataS | DataE)           "GetM is answered by DataM";
        never (I | S | E | M | O | Is | Isi | Im | Sm | Rvk, WbAck) "nothing has been put back";
    }
}

/// Everything that moves a line. What is asked of the L3, and what devices own, is in other tables.
pub fn machine() -> Machine<Client> {
    use Client::{E, I, Im, Is, M, Mi, O, Rvk, S, Sm};
    Machine::new("state of a line as the L3 sees it", I)
        .with(&client())
        .also(&[I], Is)
        .also(&[I], Im)
        .also(&[S], Sm)
        .also(&[E], M)
        .also(&[M], O)
        .also(&[O], M)
        .also(&[O], Rvk)
        .also(&[E, M], Mi)
        .also(&[S], I)
}

/// All tables, for the documentation.
pub fn page() -> String {
    let word = |word| words(MET).only("", &[word]).to_markdown();
    let back = |back: &[Back]| write_back(MET).only("", back).to_markdown();
    let parts = [
        ("The bank as a client of the L3", client().to_markdown()),
        ("What the L3 must have granted", needs().to_markdown()),
        ("Words of a request that commits and that nobody owns", word(Word::V)),
        ("Words that a GPU L1 owns", word(Word::O)),
        ("What comes before", before(MET).to_markdown()),
        ("A line that is not here", frames().to_markdown()),
        ("A blocked line", blocked().to_markdown()),
        ("Words that come back to their line", back(&[Back::Mine])),
        ("Words that come back too late", back(&[Back::Other, Back::Absent])),
    ];
    let parts = parts.map(|(head, table)| format!("{head}:\n\n{table}"));
    format!("{}\n{}\n{}", machine().to_svg(), word_machine(MET).to_svg(), parts.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_has_one_row() {
        assert_eq!(client().faults(), []);
        assert_eq!(needs().faults(), []);
        assert_eq!(frames().faults(), []);
        assert_eq!(blocked().faults(), []);
        assert_eq!(words(MET).faults(), []);
        assert_eq!(before(MET).faults(), []);
        assert_eq!(write_back(MET).faults(), []);
        assert_eq!(machine().unreached(), []);
        assert_eq!(word_machine(MET).unreached(), [Word::S]);
    }

    #[test]
    fn requests_are_those_of_gpu_l1s() {
        let rows = |word| {
            let rows = words(MET).only("words", &[word]);
            rows.rows().iter().map(|r| r.id.clone()).collect::<Vec<_>>()
        };
        let of =
            |ids: &[&str], word| ids.iter().map(|i| format!("spandex.gpu_l2.{i}.{word}")).collect::<Vec<_>>();
        assert_eq!(rows(Word::V), of(&["ReqV", "ReqWT", "ReqO", "ReqWTdata", "ReqOdata"], "V"));
        assert_eq!(rows(Word::O), of(&["ReqV", "ReqWT", "ReqO", "ReqOdata"], "O"));
        assert_eq!(before(MET).rows().len(), 1);
    }
}

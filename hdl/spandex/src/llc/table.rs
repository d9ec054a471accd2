//! Transition tables of a bank (spandex.md sections 4.2 and 4.3).
//!
//! [`crate::bank::words`] has what becomes of words. [`frames`] says where a line that is not here goes, [`blocked`] what happens at a line with a TBE.

use super::params::{LlcParams, ReqsPolicy};
pub use super::types::{LineState, TbeKind};
pub use crate::bank::replace::Replace;
pub use crate::bank::words::Progresses;
use crate::bank::words::{Met, before, returns, word_machine, words, write_back};
use weft_rtl::prelude::*;

/// What a request needs of a way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Use {
    /// The line, from memory.
    #[hw(label = "fetch")]
    Fetch,
    /// Nothing: all its words are overwritten or owned.
    #[hw(label = "whole")]
    Whole,
}

/// What is in the way chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Frame {
    /// No line.
    #[hw(label = "empty")]
    Empty,
    /// A line as in memory.
    #[hw(label = "clean")]
    Clean,
    /// A line that differs from memory.
    #[hw(label = "dirty")]
    Dirty,
    /// A line of which others have words.
    #[hw(label = "held")]
    Held,
    /// No way may be replaced.
    #[hw(label = "full")]
    Full,
    /// A line that others had words of, when everything has come back clean.
    #[hw(label = "clean_out")]
    CleanOut,
    /// The same, dirty.
    #[hw(label = "dirty_out")]
    DirtyOut,
}

transitions! {
    /// Where a line that is not here goes.
    pub fn frames() {
        name "llc_frames", rows "spandex.llc.miss.";
        on "use": Use, "frame": Frame;
        next LineState;
        does Replace;

        (Fetch, Empty)    -> I [Take]        "an empty way: read from memory";
        (Fetch, Clean)    -> I [Take]        "a clean line is dropped";
        (Fetch, Dirty)    -> I [Take, Write] "a dirty line is written to memory";
        (Fetch, Held)          [Evict]       "owners and sharers are asked first";
        (Fetch, Full)          [Join]        "every way is blocked: waits in the list of one that is";
        (Fetch, CleanOut) -> I [Take]        "everything has come back clean";
        (Fetch, DirtyOut) -> I [Take, Write] "everything has come back";
        (Whole, Empty)    -> V [Take]        "all words are overwritten or owned: nothing is read";
        (Whole, Clean)    -> V [Take]        "a clean line is dropped, nothing is read";
        (Whole, Dirty)    -> V [Take, Write] "a dirty line is written to memory, nothing is read";
        (Whole, Held)          [Evict]       "owners and sharers are asked first";
        (Whole, Full)          [Join]        "every way is blocked: waits in the list of one that is";
        (Whole, CleanOut) -> V [Take]        "everything has come back clean, nothing is read";
        (Whole, DirtyOut) -> V [Take, Write] "everything has come back, nothing is read";
    }
}

/// What comes to a blocked line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Comes {
    /// A request.
    Req,
    /// A sharer has invalidated its copy.
    Ack,
    /// RspRvkO with data.
    RvkO,
    /// The same from an owner that has become a sharer.
    Kept,
    /// RspRvkO without data.
    NoData,
    /// A write-back.
    #[hw(label = "ReqWB")]
    ReqWb,
    /// The line, from memory.
    Memory,
    /// All has come.
    Done,
}

transitions! {
    /// What happens at a blocked line; `shares`: lines have sharers. A TBE whose stall list is empty is free instead of a LIST, its kind left as it was.
    pub fn blocked(shares: bool) {
        name "llc_blocked", rows "spandex.llc.blocked.";
        on "tbe": TbeKind, "event": Comes;
        next TbeKind;
        does Progresses;

        (Fill, Req)                         [Join]        "joins the stall list";
        (Fill, Memory)                      [Install]     "the line into its way: V";
        (Fill, Done)     -> Fill | List     [Finish]      "the request commits";
        (Phase1, Req)                       [Join]        "joins the stall list";
        if shares {
            (Phase1, Ack)                   [Ack]         "one sharer less";
        }
        (Phase1, RvkO)                      [Store, Back] "words into the line, no longer owned";
        if shares {
            (Phase1, Kept)                  [Store, Back, Keep] "the same; the owner will be a sharer";
        }
        (Phase1, NoData)                    [Back]        "a write-back brings the words";
        (Phase1, ReqWb)                     [Collect]     "words into the line; crossed, if revoked";
        (Phase1, Done)   -> Phase1 | List   [Finish]      "the request commits";
        (Evict, Req)                        [Join]        "joins the stall list";
        if shares {
            (Evict, Ack)                    [Ack]         "one sharer less";
        }
        include returns(Evict);
        (Evict, Done)    -> Fill | Evict | List [Replace] "the line gives its way to the request";
        (List, Req)                         [Join]        "joins the stall list, behind those that replay";
        never (Phase1 | Evict | List, Memory)             "memory answers what a FILL has asked";
        never (Fill | List, Ack | RvkO | Kept | NoData)   "nobody has been asked";
        never (Fill | List, ReqWb)                        "write-backs look for TBEs that revoke";
        never (Evict, Kept)                               "who gives a line back for another keeps no copy";
        never (List, Done)                                "its request is done";
        if !shares {
            never (Phase1 | Evict, Ack)                   "nobody is invalidated";
            never (Phase1, Kept)                          "owners give words back whole";
        }
    }
}

/// What a bank of these parameters is asked.
pub fn met(p: &LlcParams) -> Met {
    let some = p.bank.s.sharers > 0;
    Met {
        name: "llc_words",
        rows: "spandex.llc.",
        shares: some && matches!(p.reqs, ReqsPolicy::Opt1 | ReqsPolicy::Eval),
        reads: some && p.reqs == ReqsPolicy::Opt2,
        owns: some && matches!(p.reqs, ReqsPolicy::Opt3 | ReqsPolicy::Eval),
        forwards: true,
    }
}

/// A bank that is asked everything, for the documentation.
const ALL: Met =
    Met { name: "", rows: "spandex.llc.", shares: true, reads: true, owns: true, forwards: true };

/// All tables as a page, whatever the parameters.
pub fn page() -> String {
    let parts = [
        ("Words of a request that commits", words(ALL).to_markdown()),
        ("What comes before", before(ALL).to_markdown()),
        ("A line that is not here", frames().to_markdown()),
        ("A blocked line", blocked(true).to_markdown()),
        ("Words that come back", write_back(ALL).to_markdown()),
    ];
    let parts = parts.map(|(head, table)| format!("{head}:\n\n{table}"));
    format!("{}\n{}", word_machine(ALL).to_svg(), parts.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bank::words::Word;
    use crate::params::Spandex;

    fn banks() -> impl Iterator<Item = Met> {
        let some = ReqsPolicy::WORDS
            .iter()
            .map(|(reqs, _)| LlcParams { reqs: *reqs, ..LlcParams::published(Spandex::default()) });
        let none = LlcParams::published(Spandex { sharers: 0, ..Spandex::default() });
        some.chain([none]).map(|p| met(&p)).chain([ALL])
    }

    #[test]
    fn every_combination_has_one_row() {
        for met in banks() {
            for word in Word::VARIANTS {
                assert_eq!(words(met).only("words", &[*word]).faults(), [], "{word:?}, {met:?}");
                assert_eq!(before(met).only("before", &[*word]).faults(), [], "{word:?}, {met:?}");
            }
            assert_eq!(words(met).faults(), [], "{met:?}");
            assert_eq!(before(met).faults(), [], "{met:?}");
            assert_eq!(write_back(met).faults(), []);
            let absent: &[Word] = if met.shares { &[] } else { &[Word::S] };
            assert_eq!(word_machine(met).unreached(), absent);
        }
        assert_eq!(frames().faults(), []);
        assert_eq!(blocked(true).faults(), []);
        assert_eq!(blocked(false).faults(), []);
    }

    /// Requests that give ownership or write say what becomes of words in S; those that need the owners' words have no row for O.
    #[test]
    fn rows_are_those_of_the_page() {
        let met = met(&LlcParams::published(Spandex::default()));
        let rows =
            |word| words(met).only("words", &[word]).rows().iter().map(|r| r.id.clone()).collect::<Vec<_>>();
        let of = |ids: &[&str], word: &str| {
            ids.iter().map(|i| format!("spandex.llc.{i}.{word}")).collect::<Vec<_>>()
        };
        let free = ["ReqV", "ReqS1", "ReqWT", "ReqWTfwd", "ReqO", "ReqWTdata", "ReqOdata"];
        assert_eq!(rows(Word::S), of(&free, "S"));
        let owned = ["ReqV", "ReqS3", "ReqWT", "ReqWTfwd", "ReqO", "ReqOdata"];
        assert_eq!(rows(Word::O), of(&owned, "O"));
    }
}

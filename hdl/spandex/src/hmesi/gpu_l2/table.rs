//! Transition tables of a bank (spandex.md section 9, last paragraph), as data.
//!
//! Towards GPU L1s it is a bank of section 4: what becomes of words, what comes before, and words that come back are the rows of [`crate::llc::table`], but for ReqS, state S and write-through
//! forwarding. [`needs`] says what the L3 must have granted first, [`frames`] where a line that is not here goes, [`blocked`] what happens at a line with a TBE. [`client`] is the bank as a client.

use crate::llc::table::{COMMITS, Cell, PHASES, REQUESTS, WORDS, WRITE_BACKS, build};
use weft_rtl::prelude::*;

/// What a request does to its line.
pub const USES: [&str; 2] = ["read", "write"];
/// What the L3 has granted, by encoding.
pub const PERMS: [&str; 4] = ["I", "S", "E", "M"];

const NEED_ROWS: [Cell; 8] = [
    ("read", "I", &["get"], "GetS"),
    ("read", "S", &["go"], "a shared line is read"),
    ("read", "E", &["go"], "read"),
    ("read", "M", &["go"], "read"),
    ("write", "I", &["get"], "GetM"),
    ("write", "S", &["upgrade"], "GetM, the line blocked in its place"),
    ("write", "E", &["go", "modify"], "M from now on, which the L3 does not hear of"),
    ("write", "M", &["go"], "written"),
];

/// Whether a way is looked for, or its owners have given it back.
pub const STEPS: [&str; 2] = ["miss", "evicted"];
/// What is in the way chosen.
pub const FRAMES: [&str; 6] = ["empty", "shared", "clean", "dirty", "held", "full"];

const FRAME_ROWS: [Cell; 7] = [
    ("miss", "empty", &["take"], "an empty way"),
    ("miss", "shared", &["take"], "a line in S is dropped"),
    ("miss", "clean", &["take", "put"], "a line in E leaves: Put without data"),
    ("miss", "dirty", &["take", "put"], "a line in M leaves: Put"),
    ("miss", "held", &["evict"], "owners are asked first"),
    ("miss", "full", &["join"], "every way is blocked: waits in the list of one that is"),
    ("evicted", "dirty", &["take", "put"], "everything has come back: Put"),
];

/// What a TBE is there for, by encoding.
pub const KINDS: [&str; 5] = ["FILL", "PHASE1", "EVICT", "REVOKE", "PUT"];
/// What comes to its line from below: RvkO is RspRvkO with data, NoData one without; Done: all has come.
pub const EVENTS: [&str; 5] = ["Req", "RvkO", "NoData", "ReqWB", "Done"];

const BLOCKED: [Cell; 18] = [
    ("FILL", "Req", &["join"], "joins the stall list"),
    ("FILL", "Done", &["finish"], "the request commits; Unblock or UnblockX to the L3"),
    ("PHASE1", "Req", &["join"], "joins the stall list"),
    ("PHASE1", "RvkO", &["store", "back"], "words into the line, no longer owned"),
    ("PHASE1", "NoData", &["back"], "a write-back brings the words"),
    ("PHASE1", "ReqWB", &["collect"], "words into the line; crossed, if revoked"),
    ("PHASE1", "Done", &["finish"], "the request commits"),
    ("EVICT", "Req", &["join"], "joins the stall list"),
    ("EVICT", "RvkO", &["store", "back"], "words into the line, no longer owned"),
    ("EVICT", "NoData", &["back"], "a write-back brings the words"),
    ("EVICT", "ReqWB", &["collect"], "words into the line; crossed"),
    ("EVICT", "Done", &["replace"], "the line leaves its way to the request's"),
    ("REVOKE", "Req", &["join"], "joins the stall list"),
    ("REVOKE", "RvkO", &["store", "back"], "words into the line, no longer owned"),
    ("REVOKE", "NoData", &["back"], "a write-back brings the words"),
    ("REVOKE", "ReqWB", &["collect"], "words into the line; crossed"),
    ("REVOKE", "Done", &["reply"], "the forward is answered"),
    ("PUT", "Req", &["join"], "joins the stall list"),
];

/// State of a line as the L3 sees it. O: in M, with words that GPU L1s own; RVK: the same, after these have been revoked for a forward.
pub const CLIENT: [&str; 12] = ["I", "S", "E", "M", "O", "IS", "ISI", "IM", "SM", "MI", "II", "RVK"];
/// Messages of the L3 and of clients, by encoding of forwards, then of answers.
pub const MESSAGES: [&str; 9] =
    ["FwdGetS", "FwdGetM", "Recall", "Inv", "DataS", "DataE", "DataM", "InvAck", "WBAck"];

const CLIENT_ROWS: [Cell; 31] = [
    ("E", "FwdGetS", &["data_s", "wb", "share"], "DataS, WbData without data; S"),
    ("M", "FwdGetS", &["data_s", "wb", "share"], "DataS, WbData; S"),
    ("O", "FwdGetS", &["revoke"], "owners are asked first"),
    ("RVK", "FwdGetS", &["data_s", "wb", "share"], "DataS, WbData; S"),
    ("MI", "FwdGetS", &["data_s", "wb", "leave"], "DataS, WbData; II"),
    ("E", "FwdGetM", &["data_m", "drop"], "DataM; I"),
    ("M", "FwdGetM", &["data_m", "drop"], "DataM; I"),
    ("O", "FwdGetM", &["revoke"], "owners are asked first"),
    ("RVK", "FwdGetM", &["data_m", "drop"], "DataM; I"),
    ("MI", "FwdGetM", &["data_m", "leave"], "DataM; II"),
    ("E", "Recall", &["wb", "drop"], "WbData without data; I"),
    ("M", "Recall", &["wb", "drop"], "WbData; I"),
    ("O", "Recall", &["revoke"], "owners are asked first"),
    ("RVK", "Recall", &["wb", "drop"], "WbData; I"),
    ("MI", "Recall", &["wb", "leave"], "WbData; II"),
    ("I", "Inv", &["ack"], "InvAck: the line was dropped before"),
    ("S", "Inv", &["ack", "drop"], "InvAck; I"),
    ("IS", "Inv", &["ack", "once"], "InvAck; ISI"),
    ("ISI", "Inv", &["ack"], "InvAck"),
    ("IM", "Inv", &["ack"], "InvAck"),
    ("SM", "Inv", &["ack", "drop", "lose"], "InvAck; IM"),
    ("IS", "DataS", &["install_s"], "the line into its way: S"),
    ("ISI", "DataS", &["install_s"], "the line into its way, to be used once"),
    ("IS", "DataE", &["install_e"], "the line into its way: E"),
    ("ISI", "DataE", &["install_e", "keep"], "the same: the Inv was for a copy dropped before"),
    ("IM", "DataM", &["install_m"], "the line into its way: M, when all InvAcks have come"),
    ("SM", "DataM", &["install_m"], "the same"),
    ("IM", "InvAck", &["count"], "one InvAck more"),
    ("SM", "InvAck", &["count"], "one InvAck more"),
    ("MI", "WBAck", &["gone"], "the L3 has the line"),
    ("II", "WBAck", &["gone"], "the L3 had it before"),
];

/// A bank of GPU L1s gets none of section 4's other requests.
fn met(cell: &Cell) -> bool {
    !cell.0.starts_with("ReqS") && cell.0 != "ReqWTfwd" && cell.1 != "S"
}

/// What becomes of a request's words of one state.
pub fn commits(word: &'static str) -> Table {
    let name = if word == "V" { "gpu_l2_words_v" } else { "gpu_l2_words_o" };
    let cells = COMMITS.iter().copied().filter(|c| c.1 == word && met(c));
    build(name, "gpu_l2.", [("request", &REQUESTS), ("word", &WORDS)], cells)
}

/// What has to come before, because of words owned; requests not listed need nothing.
pub fn phases() -> Table {
    let cells = PHASES.iter().copied().filter(met);
    build("gpu_l2_phases", "gpu_l2.phase1.", [("request", &REQUESTS), ("word", &WORDS)], cells)
}

/// What the L3 must have granted.
pub fn needs() -> Table {
    build("gpu_l2_needs", "gpu_l2.need.", [("use", &USES), ("line", &PERMS)], NEED_ROWS.iter().copied())
}

/// Where a line that is not here goes.
pub fn frames() -> Table {
    build(
        "gpu_l2_frames",
        "gpu_l2.frame.",
        [("step", &STEPS), ("frame", &FRAMES)],
        FRAME_ROWS.iter().copied(),
    )
}

/// What happens at a blocked line.
pub fn blocked() -> Table {
    build("gpu_l2_blocked", "gpu_l2.blocked.", [("tbe", &KINDS), ("event", &EVENTS)], BLOCKED.iter().copied())
}

/// The bank as a client of the L3.
pub fn client() -> Table {
    build(
        "gpu_l2_client",
        "gpu_l2.client.",
        [("line", &CLIENT), ("message", &MESSAGES)],
        CLIENT_ROWS.iter().copied(),
    )
}

/// What becomes of words that come back: of those that their sender owns, and of others.
pub fn write_backs() -> [Table; 2] {
    let part = |name, mine: bool| {
        let cells = WRITE_BACKS.iter().copied().filter(move |c| (c.1 == "mine") == mine);
        build(name, "gpu_l2.", [("message", &["ReqWB"]), ("word", &crate::llc::table::BACKS)], cells)
    };
    [part("gpu_l2_words_back", true), part("gpu_l2_words_crossed", false)]
}

/// All tables, for the documentation.
pub fn page() -> String {
    let [mine, others] = write_backs();
    let parts = [
        ("The bank as a client of the L3", client()),
        ("What the L3 must have granted", needs()),
        ("Words of a request that commits and that nobody owns", commits("V")),
        ("Words that a GPU L1 owns", commits("O")),
        ("What comes before", phases()),
        ("A line that is not here", frames()),
        ("A blocked line", blocked()),
        ("Words that come back to their line", mine),
        ("Words that come back too late", others),
    ];
    parts.map(|(head, table)| format!("{head}:\n\n{}", table.to_markdown())).join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_pair_has_two_rows() {
        let mut all = vec![client(), needs(), commits("V"), commits("O"), phases(), frames(), blocked()];
        all.extend(write_backs());
        for table in all {
            assert_eq!(table.overlaps(), [], "{}", table.name);
        }
    }

    #[test]
    fn requests_are_those_of_gpu_l1s() {
        let rows = |word| commits(word).rows.iter().map(|r| r.id.clone()).collect::<Vec<_>>();
        let of =
            |ids: &[&str], word| ids.iter().map(|i| format!("spandex.gpu_l2.{i}.{word}")).collect::<Vec<_>>();
        assert_eq!(rows("V"), of(&["ReqV", "ReqWT", "ReqO", "ReqWTdata", "ReqOdata"], "V"));
        assert_eq!(rows("O"), of(&["ReqV", "ReqWT", "ReqO", "ReqOdata"], "O"));
        assert_eq!(phases().rows.len(), 1);
    }
}

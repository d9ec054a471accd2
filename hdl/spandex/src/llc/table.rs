//! Transition tables of a bank (spandex.md sections 4.2 and 4.3), as data.
//!
//! A request is looked at word by word: [`commits`] says what becomes of its words that nobody owns (V or S, as the line) and of those that another device owns (O); the rows in force are
//! carried out together, in one step. [`phases`] says what has to come before, [`frames`] where a line that is not here goes, [`blocked`] what happens at a line with a TBE,
//! [`write_backs`] what becomes of words that come back.

use super::params::{LlcParams, ReqsPolicy};
use weft_rtl::prelude::*;

/// Two columns, actions, text.
pub(crate) type Cell = (&'static str, &'static str, &'static [&'static str], &'static str);

/// Requests, by encoding of the bank's own `Ask`: a ReqS by its option, a ReqWT by where it is written.
pub const REQUESTS: [&str; 9] =
    ["ReqV", "ReqS1", "ReqS2", "ReqS3", "ReqWT", "ReqWTfwd", "ReqO", "ReqWTdata", "ReqOdata"];
/// States of a word.
pub const WORDS: [&str; 3] = ["V", "S", "O"];

pub(crate) const COMMITS: [Cell; 23] = [
    ("ReqV", "V", &["RspV"], "RspV, with extras if flexible"),
    ("ReqV", "S", &["RspV"], "RspV, with extras if flexible"),
    ("ReqV", "O", &["fwd_v"], "fwd ReqV to the owner; unchanged"),
    (
        "ReqS1",
        "V",
        &["RspS", "share"],
        "RspS unless the owner has answered; line S, requestor and kept owners are sharers",
    ),
    (
        "ReqS1",
        "S",
        &["RspS", "share"],
        "RspS unless the owner has answered; requestor and kept owners are sharers",
    ),
    ("ReqS2", "V", &["RspV"], "RspV, to be used once; unchanged"),
    ("ReqS2", "O", &["fwd_v"], "fwd ReqV to the owner; unchanged"),
    ("ReqS3", "V", &["RspOdata", "grant"], "RspO+data; requestor owns"),
    ("ReqS3", "O", &["fwd_od", "grant"], "fwd ReqO+data to the owner; requestor owns"),
    ("ReqWT", "V", &["RspWT", "write"], "written, RspWT"),
    ("ReqWT", "S", &["RspWT", "write", "unshare"], "written, RspWT; line V, its sharers have been asked"),
    (
        "ReqWT",
        "O",
        &["fwd_o", "write", "release"],
        "written, no longer owned; fwd ReqO to the old owner, answered RspWT",
    ),
    ("ReqWTfwd", "V", &["RspWT", "write"], "written, RspWT"),
    ("ReqWTfwd", "S", &["RspWT", "write", "unshare"], "written, RspWT; line V"),
    ("ReqWTfwd", "O", &["fwd_wt"], "fwd ReqWT with data to the owner, which stays owner"),
    ("ReqO", "V", &["RspO", "grant"], "RspO; requestor owns"),
    ("ReqO", "S", &["RspO", "grant", "unshare"], "RspO; requestor owns, line V"),
    ("ReqO", "O", &["fwd_o", "grant"], "fwd ReqO to the owner; requestor owns"),
    ("ReqWTdata", "V", &["RspWTdata", "perform"], "performed, RspWT+data with the old words"),
    (
        "ReqWTdata",
        "S",
        &["RspWTdata", "perform", "unshare"],
        "performed, RspWT+data; line V if its sharers have been asked",
    ),
    ("ReqOdata", "V", &["RspOdata", "grant"], "RspO+data; requestor owns"),
    ("ReqOdata", "S", &["RspOdata", "grant", "unshare"], "RspO+data; requestor owns, line V"),
    ("ReqOdata", "O", &["fwd_od", "grant"], "fwd ReqO+data to the owner; requestor owns"),
];

pub(crate) const PHASES: [Cell; 7] = [
    ("ReqWT", "S", &["inv"], "Inv to every sharer"),
    ("ReqWTfwd", "S", &["inv"], "Inv to every sharer"),
    ("ReqO", "S", &["inv"], "Inv to every sharer, but not to the requestor of the whole line"),
    ("ReqWTdata", "S", &["inv"], "Inv to every sharer"),
    ("ReqOdata", "S", &["inv"], "Inv to every sharer, but not to the requestor of the whole line"),
    ("ReqWTdata", "O", &["revoke"], "RvkO to every owner"),
    ("ReqS1", "O", &["downgrade"], "fwd ReqS to every owner, for all its words of the line"),
];

/// What a request needs of a way.
pub const USES: [&str; 2] = ["fetch", "whole"];
/// What is in the way chosen: a line that others have words of is held; `out`: such a line, when it has come back.
pub const FRAMES: [&str; 7] = ["empty", "clean", "dirty", "held", "full", "clean_out", "dirty_out"];

const FRAME_ROWS: [Cell; 14] = [
    ("fetch", "empty", &["take"], "an empty way: read from memory"),
    ("fetch", "clean", &["take"], "a clean line is dropped"),
    ("fetch", "dirty", &["take", "write"], "a dirty line is written to memory"),
    ("fetch", "held", &["evict"], "owners and sharers are asked first"),
    ("fetch", "full", &["join"], "every way is blocked: waits in the list of one that is"),
    ("fetch", "clean_out", &["take"], "everything has come back clean"),
    ("fetch", "dirty_out", &["take", "write"], "everything has come back"),
    ("whole", "empty", &["take"], "all words are overwritten or owned: nothing is read"),
    ("whole", "clean", &["take"], "a clean line is dropped, nothing is read"),
    ("whole", "dirty", &["take", "write"], "a dirty line is written to memory, nothing is read"),
    ("whole", "held", &["evict"], "owners and sharers are asked first"),
    ("whole", "full", &["join"], "every way is blocked: waits in the list of one that is"),
    ("whole", "clean_out", &["take"], "everything has come back clean, nothing is read"),
    ("whole", "dirty_out", &["take", "write"], "everything has come back, nothing is read"),
];

/// What a TBE is there for, by encoding.
pub const KINDS: [&str; 4] = ["FILL", "PHASE1", "EVICT", "LIST"];
/// What comes to its line: RvkO is RspRvkO with data, Kept the same from an owner that has become a sharer, NoData one without; Done: all has come.
pub const EVENTS: [&str; 8] = ["Req", "Ack", "RvkO", "Kept", "NoData", "ReqWB", "Memory", "Done"];

const BLOCKED: [Cell; 17] = [
    ("FILL", "Req", &["join"], "joins the stall list"),
    ("FILL", "Memory", &["install"], "the line into its way: V"),
    ("FILL", "Done", &["finish"], "the request commits"),
    ("PHASE1", "Req", &["join"], "joins the stall list"),
    ("PHASE1", "Ack", &["ack"], "one sharer less"),
    ("PHASE1", "RvkO", &["store", "back"], "words into the line, no longer owned"),
    ("PHASE1", "Kept", &["store", "back", "keep"], "the same; the owner will be a sharer"),
    ("PHASE1", "NoData", &["back"], "a write-back brings the words"),
    ("PHASE1", "ReqWB", &["collect"], "words into the line; crossed, if revoked"),
    ("PHASE1", "Done", &["finish"], "the request commits"),
    ("EVICT", "Req", &["join"], "joins the stall list"),
    ("EVICT", "Ack", &["ack"], "one sharer less"),
    ("EVICT", "RvkO", &["store", "back"], "words into the line, no longer owned"),
    ("EVICT", "NoData", &["back"], "a write-back brings the words"),
    ("EVICT", "ReqWB", &["collect"], "words into the line; crossed"),
    ("EVICT", "Done", &["replace"], "the line gives its way to the request"),
    ("LIST", "Req", &["join"], "joins the stall list, behind those that replay"),
];

/// Whose the words of a write-back are.
pub const BACKS: [&str; 3] = ["mine", "other", "absent"];

pub(crate) const WRITE_BACKS: [Cell; 3] = [
    ("ReqWB", "mine", &["take"], "owned by the sender: data taken, no longer owned; crossed if revoked"),
    ("ReqWB", "other", &["cross"], "not owned by the sender: dropped, crossed"),
    ("ReqWB", "absent", &["cross"], "the line is not here: dropped, crossed"),
];

fn column(name: &'static str, values: &[&'static str]) -> Column {
    Column { name, values: values.iter().enumerate().map(|(i, v)| (*v, i as u64)).collect() }
}

/// A table of cells; `part` begins the names of its rows.
pub(crate) fn build(
    name: &'static str,
    part: &str,
    columns: [(&'static str, &[&'static str]); 2],
    cells: impl Iterator<Item = Cell>,
) -> Table {
    let columns = columns.map(|(name, values)| column(name, values)).to_vec();
    let code = |column: &Column, wanted: &str| -> Vec<u64> {
        column.values.iter().filter(|v| v.0 == wanted).map(|v| v.1).collect()
    };
    let rows = cells
        .map(|(first, second, actions, text)| Row {
            id: format!("spandex.{part}{first}.{second}"),
            when: vec![code(&columns[0], first), code(&columns[1], second)],
            actions: actions.to_vec(),
            text: text.to_string(),
        })
        .collect();
    Table { name, columns, rows }
}

/// Whether a bank of these parameters meets a request in a line of a state at all.
fn occurs(p: &LlcParams, request: &str, word: &str) -> bool {
    let shares = p.s.sharers > 0 && matches!(p.reqs, ReqsPolicy::Opt1 | ReqsPolicy::Eval);
    let option = match request {
        "ReqS1" => shares,
        "ReqS2" => p.s.sharers > 0 && p.reqs == ReqsPolicy::Opt2,
        "ReqS3" => p.s.sharers > 0 && matches!(p.reqs, ReqsPolicy::Opt3 | ReqsPolicy::Eval),
        _ => true,
    };
    option && (word != "S" || shares)
}

/// Mixtures that a bank of these parameters meets: requests of which some words are owned and the others in a state.
pub(super) fn mixtures(p: &LlcParams) -> impl Iterator<Item = (&'static str, &'static str)> {
    let others = COMMITS.iter().filter(|c| c.1 != "O" && occurs(p, c.0, c.1));
    others.map(|c| (c.0, c.1))
}

/// What becomes of a request's words of one state.
pub fn commits(p: &LlcParams, word: &'static str) -> Table {
    let name = match word {
        "V" => "llc_words_v",
        "S" => "llc_words_s",
        _ => "llc_words_o",
    };
    let cells = COMMITS.iter().copied().filter(|c| c.1 == word && occurs(p, c.0, c.1));
    build(name, "llc.", [("request", &REQUESTS), ("word", &WORDS)], cells)
}

/// What has to come before, because of words of one state; requests not listed need nothing.
pub fn phases(p: &LlcParams, word: &'static str) -> Table {
    let name = if word == "S" { "llc_phases_s" } else { "llc_phases_o" };
    let cells = PHASES.iter().copied().filter(|c| c.1 == word && occurs(p, c.0, c.1));
    build(name, "llc.phase1.", [("request", &REQUESTS), ("word", &WORDS)], cells)
}

/// Where a line that is not here goes.
pub fn frames() -> Table {
    build("llc_frames", "llc.miss.", [("use", &USES), ("frame", &FRAMES)], FRAME_ROWS.iter().copied())
}

/// What happens at a blocked line.
pub fn blocked(p: &LlcParams) -> Table {
    let shares = occurs(p, "ReqS1", "S");
    let cells = BLOCKED.iter().copied().filter(|c| shares || !matches!(c.1, "Ack" | "Kept"));
    build("llc_blocked", "llc.blocked.", [("tbe", &KINDS), ("event", &EVENTS)], cells)
}

/// What becomes of words that come back: of those that their sender owns, and of others.
pub fn write_backs() -> [Table; 2] {
    let part = |name, mine: bool| {
        let cells = WRITE_BACKS.iter().copied().filter(move |c| (c.1 == "mine") == mine);
        build(name, "llc.", [("message", &["ReqWB"]), ("word", &BACKS)], cells)
    };
    [part("llc_words_back", true), part("llc_words_crossed", false)]
}

/// All tables, whatever the parameters, for the documentation.
pub fn page() -> String {
    let requests = [("request", &REQUESTS[..]), ("word", &WORDS[..])];
    let parts = [
        ("Words of a request that commits", build("", "llc.", requests, COMMITS.iter().copied())),
        ("What comes before", build("", "llc.phase1.", requests, PHASES.iter().copied())),
        ("A line that is not here", frames()),
        (
            "A blocked line",
            build("", "llc.blocked.", [("tbe", &KINDS), ("event", &EVENTS)], BLOCKED.iter().copied()),
        ),
        (
            "Words that come back",
            build("", "llc.", [("message", &["ReqWB"]), ("word", &BACKS)], WRITE_BACKS.iter().copied()),
        ),
    ];
    let parts = parts.map(|(head, table)| format!("{head}:\n\n{}", table.to_markdown()));
    parts.join("\n")
}

/// A table in force: its rows' cover marks, and its actions; those that no row takes are low.
pub(crate) struct Rows {
    at: Bool,
    actions: Vec<&'static str>,
    decoded: Decoded,
}

impl Rows {
    /// Decodes a table all of whose inputs have a row; `at`: they mean something.
    pub fn new(table: &Table, at: Bool, inputs: &[Bits]) -> Rows {
        let actions = table.rows.iter().flat_map(|row| row.actions.clone()).collect();
        Rows { at, actions, decoded: table.decode(at, inputs) }
    }
    /// The same for a table whose first column lists only some values; others take no action.
    pub fn listed(table: &Table, at: Bool, inputs: &[Bits]) -> Rows {
        let known: Vec<Bool> =
            table.rows.iter().flat_map(|row| &row.when[0]).map(|code| inputs[0].eq(*code)).collect();
        Rows::new(table, at & any_of(&known), inputs)
    }
    /// The row in force takes an action.
    pub fn does(&self, name: &'static str) -> Bool {
        if self.actions.contains(&name) { self.at & self.decoded.action(name) } else { bool_lit(false) }
    }
    /// A row is in force.
    pub fn row(&self, id: &str) -> Bool {
        self.at & self.decoded.row(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llc::LlcParams;
    use crate::params::Spandex;

    fn all() -> Vec<Table> {
        let mut all = vec![frames()];
        all.extend(write_backs());
        for (reqs, _) in ReqsPolicy::WORDS {
            let p = LlcParams { reqs: *reqs, ..LlcParams::published(Spandex::default()) };
            all.extend(WORDS.map(|word| commits(&p, word)));
            all.extend([phases(&p, "S"), phases(&p, "O"), blocked(&p)]);
        }
        all
    }

    #[test]
    fn no_pair_has_two_rows() {
        for table in all() {
            assert_eq!(table.overlaps(), [], "{}", table.name);
        }
    }

    /// Requests that give ownership or write say what becomes of words in S; those that need the owners' words have no row for O.
    #[test]
    fn rows_are_those_of_the_page() {
        let p = LlcParams::published(Spandex::default());
        let rows = |word| commits(&p, word).rows.iter().map(|r| r.id.clone()).collect::<Vec<_>>();
        let of = |ids: &[&str], word: &str| {
            ids.iter().map(|i| format!("spandex.llc.{i}.{word}")).collect::<Vec<_>>()
        };
        let free = ["ReqV", "ReqS1", "ReqWT", "ReqWTfwd", "ReqO", "ReqWTdata", "ReqOdata"];
        assert_eq!(rows("S"), of(&free, "S"));
        let owned = ["ReqV", "ReqS3", "ReqWT", "ReqWTfwd", "ReqO", "ReqOdata"];
        assert_eq!(rows("O"), of(&owned, "O"));
    }
}

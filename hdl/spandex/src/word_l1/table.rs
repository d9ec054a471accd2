//! The L1s' transition tables, as data (spandex.md sections 5, 7 and 8).
//!
//! | status of a word | meaning |
//! | --- | --- |
//! | O | owned |
//! | PO | ReqO is outstanding: its value is in the store buffer |
//! | PD | ReqO+data, or ReqS, is outstanding |
//! | WB | its write-back is open |
//! | other | anything else, or its removal has been recorded already |

use super::params::{Atomics, L1Kind};
use crate::msg::FwdOp;
use crate::tu_gpu::table::column;
use weft_rtl::prelude::*;

/// Status of a word that a forward meets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum Status {
    /// Owned.
    O,
    /// Ownership asked for, without data.
    Po,
    /// Ownership asked for, with data.
    Pd,
    /// Write-back open.
    Wb,
    /// Anything else.
    Other,
}

fn names(kind: L1Kind) -> (&'static str, &'static str, &'static str) {
    match kind {
        L1Kind::Denovo => ("denovo_l1", "denovo_l1_forwards", "denovo_l1_operations"),
        L1Kind::Flex => ("flex_l1", "flex_l1_forwards", "flex_l1_operations"),
        L1Kind::Stash => ("stash", "stash_forwards", "stash_operations"),
    }
}

/// What a forward does to words of one status. `direct`: it guesses the owner.
pub fn forwards(kind: L1Kind) -> Table {
    use FwdOp::*;
    use Status::*;
    let flex = kind == L1Kind::Flex;
    let shares = if flex { "S" } else { "V" };
    let shares = format!("{shares}; RspS to the requestor, RspRvkO to the bank.");
    let drops: &[&'static str] = if flex { &["ack", "drop"] } else { &["ack"] };
    let dropped =
        if flex { "S words become I, those of an outstanding ReqS are used once; Ack." } else { "Ack." };
    // Whoever asks for a line may be asked for words that another still reads.
    let granted: (&[&'static str], &str) = if flex {
        (&["delay"], "Delayed behind the own operation.")
    } else {
        (&["req", "delay"], "Answered now; the word goes after the own operation.")
    };
    type Line<'a> = (&'a str, FwdOp, &'a [Status], &'a [u64], &'a [&'static str], &'a str);
    let lines: &[Line<'_>] = &[
        (
            "ReqV.O",
            ReqV,
            &[O],
            &[],
            &["req"],
            "RspV, with other owned words of the line if they are welcome.",
        ),
        ("ReqV.PO", ReqV, &[Po], &[0], &["req"], "RspV from the store buffer."),
        ("ReqV.WB", ReqV, &[Wb], &[0], &["req"], "RspV from the write-back buffer."),
        ("ReqV.PD", ReqV, &[Pd], &[0], &["delay_read"], "Delayed if the entry has room for it, else NackV."),
        ("ReqV.other", ReqV, &[Other], &[0], &["nack"], "NackV."),
        (
            "ReqV.direct",
            ReqV,
            &[Po, Pd, Wb, Other],
            &[1],
            &["nack"],
            "NackV: direct requests are served in stable O only.",
        ),
        ("ReqO.O", ReqO, &[O], &[], &["req", "lose"], "I; RspO or RspWT."),
        ("ReqO.pending", ReqO, &[Po, Wb], &[], &["req", "note"], "The removal is recorded; answered now."),
        ("ReqO.PD", ReqO, &[Pd], &[], granted.0, granted.1),
        ("ReqOdata.O", ReqOData, &[O], &[], &["req", "lose"], "I; RspO+data."),
        ("ReqOdata.pending", ReqOData, &[Po, Wb], &[], &["req", "note"], "RspO+data from the buffer."),
        ("ReqOdata.PD", ReqOData, &[Pd], &[], &["delay"], "Delayed behind the own operation."),
        ("RvkO.O", RvkO, &[O], &[], &["bank", "lose"], "I; RspRvkO with data."),
        ("RvkO.PO", RvkO, &[Po], &[], &["bank", "note"], "RspRvkO with data from the store buffer."),
        ("RvkO.PD", RvkO, &[Pd], &[], &["delay"], "Delayed behind the own operation."),
        (
            "RvkO.WB",
            RvkO,
            &[Wb],
            &[],
            &["bank", "note", "nodata"],
            "RspRvkO: the write-back brings the data.",
        ),
        ("ReqS.O", ReqS, &[O], &[], &["both", "lose", "keep"], &shares),
        ("ReqS.PO", ReqS, &[Po], &[], &["both", "note"], "The same from the store buffer."),
        ("ReqS.PD", ReqS, &[Pd], &[], &["delay"], "Delayed behind the own operation."),
        ("ReqS.WB", ReqS, &[Wb], &[], &["both", "note", "nodata"], "RspS; the write-back brings the data."),
        ("ReqWT.O", ReqWt, &[O], &[], &["write"], "The words are written; RspWT."),
        ("ReqWT.other", ReqWt, &[Po, Pd, Wb, Other], &[], &["nack"], "NackWT."),
        ("Inv", Inv, &[], &[], drops, dropped),
    ];
    // A stash does not ask for ownership with data.
    let meets = |status: &&Status| kind != L1Kind::Stash || **status != Pd;
    let occurs = |(_, _, status, _, _, _): &&Line<'_>| status.is_empty() || status.iter().any(|s| meets(&s));
    let row = |(id, op, status, direct, actions, text): &Line<'_>| Row {
        id: format!("spandex.{}.{id}", names(kind).0),
        when: vec![
            vec![op.encoding()],
            status.iter().filter(meets).map(|s| s.encoding()).collect(),
            direct.to_vec(),
        ],
        actions: actions.to_vec(),
        text: (*text).into(),
    };
    let mut word = column::<Status>("word", &["O", "PO", "PD", "WB", "other"]);
    if kind == L1Kind::Stash {
        word.values.retain(|(name, _)| *name != "PD");
    }
    let messages = ["ReqV", "ReqS", "ReqO", "ReqO+data", "ReqWT", "RvkO", "Inv"];
    Table {
        name: names(kind).1,
        columns: vec![
            column::<FwdOp>("forward", &messages),
            word,
            Column { name: "direct", values: vec![("no", 0), ("yes", 1)] },
        ],
        rows: lines.iter().filter(occurs).map(row).collect(),
    }
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
    Through,
    /// The oldest entry of the store buffer asks for ownership.
    Drain,
    /// Flex: load by ReqS.
    LdShared,
    /// Flex: load by ReqO+data.
    LdOwned,
    /// Flex: store of whole words by ReqWT.
    StThrough,
    /// Flex: the oldest entry of the store buffer is written through.
    DrainThrough,
}

/// How the words of an operation are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Words {
    /// All that is needed is there: a load's words have values, the others' are owned.
    Here,
    /// Some are missing.
    Missing,
    /// They are on their way to a load, or to an atomic, that this one can join.
    Coming,
    /// Something of them must end first.
    Busy,
}

type Operation = (&'static str, Access, Words, &'static [&'static str], &'static str);

/// Operations of both kinds.
const BOTH: &[Operation] = {
    use Access::*;
    use Words::*;
    &[
        ("Ld.here", Ld, Here, &["hit"], "V, S, O or buffered: answer."),
        (
            "Ld.missing",
            Ld,
            Missing,
            &["read"],
            "ReqV of the missing words, in the read entry of the line if there is one.",
        ),
        ("Ld.coming", Ld, Coming, &["join"], "Wait in the entry that brings them."),
        ("Ld.busy", Ld, Busy, &["wait"], "Wait: a word is written back, or asked for with data."),
        ("St.here", St, Here, &["store"], "Every word is O: in place."),
        ("St.missing", St, Missing, &["buffer"], "Words that are not O become I; buffered."),
        (
            "St.busy",
            St,
            Busy,
            &["wait"],
            "Wait: no entry of the buffer is free, or an operation on a word waits for data.",
        ),
        ("Rmw.here", Rmw, Here, &["perform"], "The words that are O: done in place."),
        ("Rmw.missing", Rmw, Missing, &["own"], "ReqO+data; reads of the line become stale."),
        ("Rmw.busy", Rmw, Busy, &["wait"], "Wait: words are buffered, asked for, or written back."),
        ("drain.here", Drain, Here, &["store"], "Every word has become O meanwhile: in place."),
        ("drain.missing", Drain, Missing, &["store", "ask"], "ReqO of the words that are not O."),
        ("drain.busy", Drain, Busy, &["wait"], "Wait: words are read, asked for with data, or written back."),
    ]
};

/// Those of L1s whose atomics join the request of their word.
const UNDER_WAY: &[Operation] = &[(
    "Rmw.coming",
    Access::Rmw,
    Words::Coming,
    &["attach"],
    "An atomic on one word that is asked for: waits in the entry that brings it.",
)];

/// Those of L1s that let the LLC carry atomics out.
const AT_LLC: &[Operation] = {
    use Access::*;
    use Words::*;
    &[
        ("Through.here", Through, Here, &["perform"], "The words that are O: done in place."),
        (
            "Through.missing",
            Through,
            Missing,
            &["own", "through"],
            "The copy becomes I; ReqWT+data; reads of the line become stale.",
        ),
        ("Through.busy", Through, Busy, &["wait"], "Wait: words are buffered, asked for, or written back."),
    ]
};

/// Those of hints.
const BY_HINT: &[Operation] = {
    use Access::*;
    use Words::*;
    &[
        ("LdS.here", LdShared, Here, &["hit"], "V, S, O or buffered: answer."),
        ("LdS.missing", LdShared, Missing, &["take", "share"], "ReqS; the copies asked for become I."),
        ("LdS.coming", LdShared, Coming, &["join"], "Wait in the entry that brings them."),
        ("LdS.busy", LdShared, Busy, &["wait"], "Wait: a word is written back, or asked for."),
        ("LdO.here", LdOwned, Here, &["hit"], "V, S, O or buffered: answer."),
        ("LdO.missing", LdOwned, Missing, &["take"], "ReqO+data; the copies asked for become I."),
        ("LdO.coming", LdOwned, Coming, &["join"], "Wait in the entry that brings them."),
        ("LdO.busy", LdOwned, Busy, &["wait"], "Wait: a word is written back, or asked for."),
        ("StT.here", StThrough, Here, &["store"], "Every word is O: in place."),
        (
            "StT.missing",
            StThrough,
            Missing,
            &["buffer", "renew"],
            "Copies are written and become V; buffered.",
        ),
        (
            "StT.busy",
            StThrough,
            Busy,
            &["wait"],
            "Wait: no entry of the buffer is free, one with another hint is, or an operation on a word waits for data.",
        ),
        ("drainT.here", DrainThrough, Here, &["store"], "Every word has become O meanwhile: in place."),
        ("drainT.missing", DrainThrough, Missing, &["store", "write"], "ReqWT of the words that are not O."),
        (
            "drainT.busy",
            DrainThrough,
            Busy,
            &["wait"],
            "Wait: words are asked for with data, or written back.",
        ),
    ]
};

/// What an operation does; `atomics`: where DeNovo does atomics on words that are not owned.
pub fn operations(kind: L1Kind, atomics: &[Atomics]) -> Table {
    let row = |(id, access, words, actions, text): &Operation| Row {
        id: format!("spandex.{}.{id}", names(kind).0),
        when: vec![vec![access.encoding()], vec![words.encoding()]],
        actions: actions.to_vec(),
        text: (*text).into(),
    };
    let accesses = [
        "Ld",
        "St",
        "Rmw",
        "through",
        "drain",
        "Ld by ReqS",
        "Ld by ReqO+data",
        "St by ReqWT",
        "drain by ReqWT",
    ];
    let flex = kind == L1Kind::Flex;
    let through = flex || atomics.contains(&Atomics::Through);
    let joins = kind == L1Kind::Denovo && atomics.contains(&Atomics::Join);
    let more = UNDER_WAY.iter().filter(|_| joins).chain(AT_LLC.iter().filter(|_| through));
    let more = more.chain(BY_HINT.iter().filter(|_| flex));
    Table {
        name: names(kind).2,
        columns: vec![
            column::<Access>("access", &accesses),
            column::<Words>("words", &["here", "missing", "coming", "busy"]),
        ],
        rows: BOTH.iter().chain(more).map(row).collect(),
    }
}

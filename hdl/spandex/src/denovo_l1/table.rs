//! The L1's transition tables, as data (spandex.md sections 5 and 7).
//!
//! | status of a word | meaning |
//! | --- | --- |
//! | O | owned |
//! | PO | ReqO is outstanding: its value is in the store buffer |
//! | PD | ReqO+data is outstanding |
//! | WB | its write-back is open |
//! | other | anything else, or its removal has been recorded already |

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

/// What a forward does to words of one status. `direct`: it guesses the owner.
pub fn forwards() -> Table {
    use FwdOp::*;
    use Status::*;
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
        (
            "ReqO.PD",
            ReqO,
            &[Pd],
            &[],
            &["req", "delay"],
            "Answered now; the word goes after the own operation.",
        ),
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
        (
            "ReqS.O",
            ReqS,
            &[O],
            &[],
            &["both", "lose", "keep"],
            "V; RspS to the requestor, RspRvkO to the bank.",
        ),
        ("ReqS.PO", ReqS, &[Po], &[], &["both", "note"], "The same from the store buffer."),
        ("ReqS.PD", ReqS, &[Pd], &[], &["delay"], "Delayed behind the own operation."),
        ("ReqS.WB", ReqS, &[Wb], &[], &["both", "note", "nodata"], "RspS; the write-back brings the data."),
        ("ReqWT.O", ReqWt, &[O], &[], &["write"], "The words are written; RspWT."),
        ("ReqWT.other", ReqWt, &[Po, Pd, Wb, Other], &[], &["nack"], "NackWT."),
        ("Inv", Inv, &[], &[], &["ack"], "Ack."),
    ];
    let row = |(id, op, status, direct, actions, text): &Line<'_>| Row {
        id: format!("spandex.denovo_l1.{id}"),
        when: vec![vec![op.encoding()], status.iter().map(|s| s.encoding()).collect(), direct.to_vec()],
        actions: actions.to_vec(),
        text: (*text).into(),
    };
    let messages = ["ReqV", "ReqS", "ReqO", "ReqO+data", "ReqWT", "RvkO", "Inv"];
    Table {
        name: "denovo_l1_forwards",
        columns: vec![
            column::<FwdOp>("forward", &messages),
            column::<Status>("word", &["O", "PO", "PD", "WB", "other"]),
            Column { name: "direct", values: vec![("no", 0), ("yes", 1)] },
        ],
        rows: lines.iter().map(row).collect(),
    }
}

/// What an operation of the CU asks of its words.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum Access {
    /// Load.
    Ld,
    /// Store of whole words.
    St,
    /// Atomic, or store of some bytes.
    Rmw,
    /// With `atomics=through`: atomic.
    Through,
    /// The oldest entry of the store buffer asks for ownership.
    Drain,
}

/// How the words of an operation are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Words {
    /// All that is needed is there: a load's words have values, the others' are owned.
    Here,
    /// Some are missing.
    Missing,
    /// They are on their way to a load that this one can join.
    Coming,
    /// Something of them must end first.
    Busy,
}

/// What an operation does; `through`: the LLC does atomics on words that are not owned.
pub fn operations(through: bool) -> Table {
    use Access::*;
    use Words::*;
    let row = |id: &str, access: Access, words: Words, actions: &[&'static str], text: &str| Row {
        id: format!("spandex.denovo_l1.{id}"),
        when: vec![vec![access.encoding()], vec![words.encoding()]],
        actions: actions.to_vec(),
        text: text.into(),
    };
    let at_llc = [
        row("Through.here", Through, Here, &["perform"], "The words that are O: done in place."),
        row(
            "Through.missing",
            Through,
            Missing,
            &["own", "through"],
            "The copy becomes I; ReqWT+data; reads of the line become stale.",
        ),
        row(
            "Through.busy",
            Through,
            Busy,
            &["wait"],
            "Wait: words are buffered, asked for, or written back.",
        ),
    ];
    let mut table = Table {
        name: "denovo_l1_operations",
        columns: vec![
            column::<Access>("access", &["Ld", "St", "Rmw", "through", "drain"]),
            column::<Words>("words", &["here", "missing", "coming", "busy"]),
        ],
        rows: vec![
            row("Ld.here", Ld, Here, &["hit"], "V, O or buffered: answer."),
            row(
                "Ld.missing",
                Ld,
                Missing,
                &["read"],
                "ReqV of the missing words, in the read entry of the line if there is one.",
            ),
            row("Ld.coming", Ld, Coming, &["join"], "Wait in the read entry."),
            row("Ld.busy", Ld, Busy, &["wait"], "Wait: a word is written back, or asked for with data."),
            row("St.here", St, Here, &["store"], "Every word is O: in place."),
            row("St.missing", St, Missing, &["buffer"], "Words that are not O become I; buffered."),
            row(
                "St.busy",
                St,
                Busy,
                &["wait"],
                "Wait: the buffer is full, or a word is asked for with data.",
            ),
            row("Rmw.here", Rmw, Here, &["perform"], "The words that are O: done in place."),
            row("Rmw.missing", Rmw, Missing, &["own"], "ReqO+data; reads of the line become stale."),
            row("Rmw.busy", Rmw, Busy, &["wait"], "Wait: words are buffered, asked for, or written back."),
            row("drain.here", Drain, Here, &["store"], "Every word has become O meanwhile: in place."),
            row("drain.missing", Drain, Missing, &["store", "ask"], "ReqO of the words that are not O."),
            row(
                "drain.busy",
                Drain,
                Busy,
                &["wait"],
                "Wait: words are read, asked for with data, or written back.",
            ),
        ],
    };
    table.rows.extend(at_llc.into_iter().filter(|_| through));
    table
}

//! The unit's transition tables, as data (spandex.md sections 5 and 6).
//!
//! | where the words of a line are | meaning |
//! | --- | --- |
//! | NONE | nowhere: I |
//! | S | the L1 has a shared copy |
//! | O | the L1 owns the line, E or M |
//! | PD | a request is out, or all words have come and wait to be installed |
//! | WB | in the write-back buffer: replaced |
//! | WBP | in the L1, written back in place |

use crate::mesi_port::{codes, variants};
use crate::msg::{FwdOp, RspOp};
use weft_rtl::prelude::*;

/// Where the words of a line are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum Place {
    /// Nowhere.
    None,
    /// Shared copy in the L1.
    S,
    /// Owned by the L1.
    O,
    /// Asked for.
    Pd,
    /// In the write-back buffer.
    Wb,
    /// Being written back from the L1.
    Wbp,
}

/// What a response answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum Awaited {
    /// Nothing.
    None,
    /// A ReqS.
    ReqS,
    /// A ReqO+data.
    ReqO,
    /// A write-back of the buffer.
    Wb,
    /// A write-back in place.
    Wbp,
}

/// What all responses of a request were.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Outcome {
    /// RspS.
    S,
    /// RspV.
    V,
    /// RspO+data.
    O,
}

const MESSAGES: [&str; 7] = ["ReqV", "ReqS", "ReqO", "ReqO+data", "ReqWT", "RvkO", "Inv"];
const PLACES: [&str; 6] = ["NONE", "S", "O", "PD", "WB", "WBP"];

/// No distinction, or: all words of the line go; the slot for a delayed ReqV is free.
pub(super) const PLAIN: u64 = 0;
/// Some words of the line go; the slot for a delayed ReqV is taken.
pub(super) const OTHER: u64 = 1;

/// What a forward does. `case`: of an owned line, whether some of its words go only; of ReqV that meets PD, whether the slot is taken. A removal of words that are not here has no
/// row: it never comes.
pub fn forwards() -> Table {
    use Place::{None, O, Pd, S, Wb, Wbp};
    type Line<'a> = (&'a str, FwdOp, &'a [u64], &'a [Place], &'a [u64], &'a [&'static str], &'a str);
    let (any, no, yes): (&[u64], &[u64], &[u64]) = (&[], &[0], &[1]);
    let (all, part): (&[u64], &[u64]) = (&[PLAIN], &[OTHER]);
    let lines: &[Line<'_>] = &[
        ("ReqV.O", FwdOp::ReqV, any, &[O], any, &["serve"], "RspV, with extras if welcome."),
        ("ReqV.PD", FwdOp::ReqV, no, &[Pd], all, &["delay"], "Delayed; words that go already: NackV."),
        ("ReqV.PD.busy", FwdOp::ReqV, no, &[Pd], part, &["refuse"], "One is delayed already: NackV."),
        ("ReqV.WB", FwdOp::ReqV, no, &[Wb], any, &["serve"], "RspV from the buffer; closed words: NackV."),
        ("ReqV.WBP", FwdOp::ReqV, no, &[Wbp], any, &["serve"], "RspV from the L1; closed words: NackV."),
        ("ReqV.none", FwdOp::ReqV, no, &[None, S], any, &["refuse"], "NackV."),
        ("ReqV.direct", FwdOp::ReqV, yes, &[None, S, Pd, Wb, Wbp], any, &["refuse"], "Nack: not in O."),
        ("ReqO.O", FwdOp::ReqO, any, &[O], all, &["grant"], "I; RspO or RspWT."),
        ("ReqO.O.part", FwdOp::ReqO, any, &[O], part, &["grant", "trigger"], "The same; others to WBP."),
        ("ReqO.PD", FwdOp::ReqO, any, &[Pd], any, &["record"], "Delayed."),
        ("ReqO.WB", FwdOp::ReqO, any, &[Wb], any, &["grant", "leave"], "RspO or RspWT."),
        ("ReqO.WBP", FwdOp::ReqO, any, &[Wbp], any, &["grant", "leave"], "RspO or RspWT."),
        ("ReqOdata.O", FwdOp::ReqOData, any, &[O], all, &["give"], "I; RspO+data."),
        (
            "ReqOdata.O.part",
            FwdOp::ReqOData,
            any,
            &[O],
            part,
            &["give", "trigger"],
            "The same; others to WBP.",
        ),
        ("ReqOdata.PD", FwdOp::ReqOData, any, &[Pd], any, &["record"], "Delayed."),
        ("ReqOdata.WB", FwdOp::ReqOData, any, &[Wb], any, &["give", "leave"], "RspO+data."),
        ("ReqOdata.WBP", FwdOp::ReqOData, any, &[Wbp], any, &["give", "leave"], "RspO+data."),
        ("RvkO.O", FwdOp::RvkO, any, &[O], all, &["return"], "I; RspRvkO with data."),
        ("RvkO.O.part", FwdOp::RvkO, any, &[O], part, &["return", "trigger"], "The same; others to WBP."),
        ("RvkO.PD", FwdOp::RvkO, any, &[Pd], any, &["record"], "Delayed."),
        ("RvkO.WB", FwdOp::RvkO, any, &[Wb], any, &["return", "nodata", "leave"], "RspRvkO{nodata}."),
        ("RvkO.WBP", FwdOp::RvkO, any, &[Wbp], any, &["return", "nodata", "leave"], "RspRvkO{nodata}."),
        ("ReqS.O", FwdOp::ReqS, any, &[O], all, &["share", "keep"], "S; RspS, RspRvkO{kept_s}."),
        ("ReqS.O.part", FwdOp::ReqS, any, &[O], part, &["share", "trigger"], "RspS, RspRvkO; others to WBP."),
        ("ReqS.PD", FwdOp::ReqS, any, &[Pd], any, &["record"], "Delayed."),
        ("ReqS.WB", FwdOp::ReqS, any, &[Wb], any, &["share", "nodata", "leave"], "RspS, RspRvkO{nodata}."),
        ("ReqS.WBP", FwdOp::ReqS, any, &[Wbp], any, &["share", "nodata", "leave"], "RspS, RspRvkO{nodata}."),
        ("ReqWT.O", FwdOp::ReqWt, any, &[O], any, &["write"], "Words written, M; RspWT."),
        ("ReqWT.none", FwdOp::ReqWt, any, &[None, S, Pd, Wb, Wbp], any, &["nack_wt"], "NackWT."),
        ("Inv.PD", FwdOp::Inv, any, &[Pd], any, &["ack", "once"], "Ack; a shared answer is used once."),
        ("Inv.S", FwdOp::Inv, any, &[S], any, &["ack"], "I; Ack."),
        ("Inv.none", FwdOp::Inv, any, &[None, O, Wb, Wbp], any, &["ack"], "Ack: the copy is gone."),
    ];
    let row = |(id, op, direct, places, case, actions, text): &Line<'_>| Row {
        id: format!("spandex.tu_mesi.{id}"),
        when: vec![vec![op.encoding()], direct.to_vec(), codes(places), case.to_vec()],
        actions: actions.to_vec(),
        text: (*text).into(),
    };
    Table {
        name: "tu_mesi_forwards",
        columns: vec![
            variants::<FwdOp>("forward", &MESSAGES),
            Column { name: "direct", values: vec![("no", 0), ("yes", 1)] },
            variants::<Place>("words", &PLACES),
            Column { name: "case", values: vec![("all, free", PLAIN), ("part, busy", OTHER)] },
        ],
        rows: lines.iter().map(row).collect(),
    }
}

/// What a response does. `last`: every word has been answered.
pub fn responses() -> Table {
    use Awaited::{ReqO, ReqS, Wb, Wbp};
    type Line<'a> = (&'a str, RspOp, Awaited, &'a [u64], &'a [&'static str], &'a str);
    let (part, last): (&[u64], &[u64]) = (&[0], &[1]);
    let lines: &[Line<'_>] = &[
        ("RspS.part", RspOp::RspS, ReqS, part, &["store"], "Others are awaited."),
        ("RspS.last", RspOp::RspS, ReqS, last, &["store", "complete"], "The line is whole."),
        ("RspV.part", RspOp::RspV, ReqS, part, &["store"], "Others are awaited."),
        (
            "RspV.last",
            RspOp::RspV,
            ReqS,
            last,
            &["store", "complete"],
            "The line is whole, or not to be had so.",
        ),
        ("NackV.part", RspOp::NackV, ReqS, part, &["fail"], "Others are awaited."),
        ("NackV.last", RspOp::NackV, ReqS, last, &["fail", "complete"], "Ask again, by ReqO+data."),
        ("Grant.ReqS.part", RspOp::RspOData, ReqS, part, &["store"], "Option 3; others are awaited."),
        (
            "Grant.ReqS.last",
            RspOp::RspOData,
            ReqS,
            last,
            &["store", "complete"],
            "Option 3; the line is whole.",
        ),
        ("Grant.ReqO.part", RspOp::RspOData, ReqO, part, &["store"], "Others are awaited."),
        ("Grant.ReqO.last", RspOp::RspOData, ReqO, last, &["store", "complete"], "The line is whole."),
        ("RspWB.WB", RspOp::RspWb, Wb, &[], &["close"], "Words close, but for crossed ones."),
        ("RspWB.WBP", RspOp::RspWb, Wbp, &[], &["close_wbp"], "Words close, but for crossed ones."),
    ];
    let row = |(id, op, awaited, last, actions, text): &Line<'_>| Row {
        id: format!("spandex.tu_mesi.{id}"),
        when: vec![vec![op.encoding()], codes(&[*awaited]), last.to_vec()],
        actions: actions.to_vec(),
        text: (*text).into(),
    };
    let messages = [
        "RspV",
        "RspS",
        "RspO",
        "RspO+data",
        "RspWT",
        "RspWT+data",
        "RspWB",
        "RspRvkO",
        "Ack",
        "NackV",
        "NackWT",
    ];
    Table {
        name: "tu_mesi_responses",
        columns: vec![
            variants::<RspOp>("response", &messages),
            variants::<Awaited>("awaited", &["-", "ReqS", "ReqO+data", "WB", "WBP"]),
            Column { name: "last", values: vec![("no", 0), ("yes", 1)] },
        ],
        rows: lines.iter().map(row).collect(),
    }
}

/// As what a whole line is installed. `once`: Inv has come for it; `taken`: removals have come for some of its words.
pub fn installs() -> Table {
    type Line<'a> = (&'a str, Outcome, &'a [u64], &'a [u64], &'static str, &'a str);
    let lines: &[Line<'_>] = &[
        ("Data.S", Outcome::S, &[0], &[0], "shared", "S."),
        ("Data.S.once", Outcome::S, &[1], &[0], "once", "Used once: the LLC no longer counts this copy."),
        ("Data.V", Outcome::V, &[], &[0], "once", "Used once: nobody will invalidate it."),
        ("Data.O", Outcome::O, &[], &[0], "owned", "E, or M if others have written it; Inv is older."),
        ("Data.O.taken", Outcome::O, &[], &[1], "held", "WBP: the core's operations, then the removals."),
    ];
    let row = |(id, outcome, once, taken, action, text): &Line<'_>| Row {
        id: format!("spandex.tu_mesi.{id}"),
        when: vec![codes(&[*outcome]), once.to_vec(), taken.to_vec()],
        actions: vec![*action],
        text: (*text).into(),
    };
    let flag = |name| Column { name, values: vec![("no", 0), ("yes", 1)] };
    Table {
        name: "tu_mesi_installs",
        columns: vec![
            variants::<Outcome>("answers", &["RspS", "RspV", "RspO+data"]),
            flag("once"),
            flag("taken"),
        ],
        rows: lines.iter().map(row).collect(),
    }
}

//! The client's transition tables, as data (spandex.md section 9).
//!
//! SM is IM here: the L1 does not use a copy that it upgrades. What is not listed never comes, which the hardware asserts.

use crate::hmesi::msg::{HFwdOp, HRspOp};
use crate::mesi_port::{codes, variants};
use weft_rtl::prelude::*;

/// Where a line is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 4)]
pub enum Place {
    /// Nowhere.
    I,
    /// In the L1.
    S,
    /// In the L1.
    E,
    /// In the L1.
    M,
    /// GetS is out.
    Is,
    /// GetS is out, Inv has come.
    Isi,
    /// GetM is out.
    Im,
    /// In the write-back buffer.
    Mi,
    /// In the write-back buffer; another has the line.
    Ii,
}

const PLACES: [&str; 9] = ["I", "S", "E", "M", "IS", "ISI", "IM", "MI", "II"];
const FORWARDS: [&str; 4] = ["FwdGetS", "FwdGetM", "Recall", "Inv"];
const RESPONSES: [&str; 8] = ["DataS", "DataE", "DataM", "InvAck", "WBAck", "WbData", "Unblock", "UnblockX"];

fn name(place: Place) -> &'static str {
    PLACES[place.encoding() as usize]
}

/// What a forward does.
pub fn forwards() -> Table {
    use HFwdOp::{FwdGetM, FwdGetS, Inv, Recall};
    use Place::{E, I, Im, Is, Isi, M, Mi, S};
    type Line<'a> = (HFwdOp, Place, &'a [&'static str], &'a str);
    let lines: &[Line<'_>] = &[
        (FwdGetS, E, &["data", "back", "kept"], "S; DataS to the requestor, WbData"),
        (FwdGetS, M, &["data", "back", "kept"], "S; DataS to the requestor, WbData with data"),
        (FwdGetS, Mi, &["data", "back", "gone"], "II; DataS from the buffer, WbData"),
        (FwdGetM, E, &["data"], "I; DataM(0) to the requestor"),
        (FwdGetM, M, &["data"], "I; DataM(0) to the requestor"),
        (FwdGetM, Mi, &["data", "gone"], "II; DataM(0) from the buffer"),
        (Recall, E, &["back"], "I; WbData"),
        (Recall, M, &["back"], "I; WbData with data"),
        (Recall, Mi, &["back", "gone"], "II; WbData"),
        (Inv, S, &["ack"], "I; InvAck"),
        (Inv, Is, &["ack", "once"], "ISI; InvAck"),
        (Inv, Isi, &["ack"], "InvAck"),
        (Inv, Im, &["ack"], "InvAck"),
        (Inv, I, &["ack"], "InvAck: the copy was dropped"),
    ];
    let row = |(op, place, actions, text): &Line<'_>| Row {
        id: format!("spandex.hmesi_client.{}.{}", FORWARDS[op.encoding() as usize], name(*place)),
        when: vec![vec![op.encoding()], codes(&[*place])],
        actions: actions.to_vec(),
        text: (*text).into(),
    };
    Table {
        name: "hmesi_client_forwards",
        columns: vec![variants::<HFwdOp>("forward", &FORWARDS), variants::<Place>("line", &PLACES)],
        rows: lines.iter().map(row).collect(),
    }
}

/// What a response does. `last`: with it everything has come.
pub fn responses() -> Table {
    use HRspOp::{DataE, DataM, DataS, InvAck, WbAck};
    use Place::{Ii, Im, Is, Isi, Mi};
    type Line<'a> = (HRspOp, Place, &'a [u64], &'a [&'static str], &'a str);
    let (any, part, last): (&[u64], &[u64], &[u64]) = (&[], &[0], &[1]);
    let lines: &[Line<'_>] = &[
        (DataS, Is, any, &["store", "full"], "S; Unblock if from an owner"),
        (DataS, Isi, any, &["store", "full"], "used once, I; Unblock if from an owner"),
        (DataE, Is, any, &["store", "full"], "E; UnblockX"),
        (DataE, Isi, any, &["store", "full"], "E; UnblockX: Inv is older"),
        (DataM, Im, part, &["store", "count"], "InvAcks are to come"),
        (DataM, Im, last, &["store", "count", "full"], "M; UnblockX"),
        (InvAck, Im, part, &["count"], "others, or DataM, are to come"),
        (InvAck, Im, last, &["count", "full"], "M; UnblockX"),
        (WbAck, Mi, any, &["close"], "I"),
        (WbAck, Ii, any, &["close"], "I"),
    ];
    let row = |(op, place, when, actions, text): &Line<'_>| {
        let end = match *when {
            [0] => ".part",
            [1] => ".last",
            _ => "",
        };
        Row {
            id: format!("spandex.hmesi_client.{}.{}{end}", RESPONSES[op.encoding() as usize], name(*place)),
            when: vec![vec![op.encoding()], codes(&[*place]), when.to_vec()],
            actions: actions.to_vec(),
            text: (*text).into(),
        }
    };
    Table {
        name: "hmesi_client_responses",
        columns: vec![
            variants::<HRspOp>("response", &RESPONSES),
            variants::<Place>("line", &PLACES),
            Column { name: "last", values: vec![("no", 0), ("yes", 1)] },
        ],
        rows: lines.iter().map(row).collect(),
    }
}

/// All tables as a page.
pub fn page() -> String {
    format!("Forwards:\n\n{}\nResponses:\n\n{}", forwards().to_markdown(), responses().to_markdown())
}

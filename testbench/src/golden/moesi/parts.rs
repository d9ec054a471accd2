//! What the ledger has of the model: rows and races of the two blocks.

use super::table::{BANK_ROWS, SLICE_ROWS};
use crate::golden::Part;
use crate::golden::races::{Race, race};

/// The slice.
pub const SLICE: Part =
    Part { block: "moesi-directory", page: "moesi.md", section: "4", rows: slice_rows, races: SLICE_RACES };

/// The bank.
pub const BANK: Part =
    Part { block: "moesi-l2", page: "moesi.md", section: "5", rows: bank_rows, races: BANK_RACES };

type Rows = Vec<(&'static str, String)>;

fn slice_rows() -> Rows {
    SLICE_ROWS.iter().map(|(id, text)| (*id, (*text).to_string())).collect()
}

fn bank_rows() -> Rows {
    BANK_ROWS.into_iter().flatten().map(|(id, text)| (*id, (*text).to_string())).collect()
}

const fn of_slice(id: &'static str, text: &'static str) -> Race {
    race("moesi-directory", "9", id, text)
}

const fn of_bank(id: &'static str, text: &'static str) -> Race {
    race("moesi-l2", "9", id, text)
}

const SLICE_RACES: &[Race] = &[
    of_slice("moesi.race.put_behind_row", "A Put waits behind a row that asks its sender's copy."),
    of_slice("moesi.race.own_home_waits", "An OwnHome waits behind a transaction of another node."),
    of_slice(
        "moesi.race.acks_meet_request",
        "An Ack of a replaced entry comes while an operation of its line waits.",
    ),
    of_slice("moesi.race.two_phases", "FwdM leaves after Acks that were awaited."),
    of_slice("moesi.race.waits_for_memory", "An operation waits behind the row of a Put."),
    of_slice("moesi.race.waits_for_way", "An operation needs a way and all of its set have rows: it waits."),
    of_slice("moesi.race.rows_full", "An operation or a replacement needs a row and none is free: it waits."),
    of_slice("moesi.race.recall_after_acks", "Recall leaves after Acks that were awaited."),
    of_slice("moesi.race.queue_full", "An operation is offered and eight wait: the input waits."),
    of_slice(
        "moesi.race.read_behind_drop",
        "A ReadHome waits behind a transaction of another node that takes the line from its owner.",
    ),
];

const BANK_RACES: &[Race] = &[
    of_bank("moesi_l2.race.fwds_in_buffer", "FwdS meets the line in the write-back buffer."),
    of_bank("moesi_l2.race.fwdm_in_buffer", "FwdM meets the line in the write-back buffer."),
    of_bank("moesi_l2.race.recall_in_buffer", "Recall meets the line in the write-back buffer."),
    of_bank("moesi_l2.race.inv_meets_getm", "Inv meets a copy in S while an own GetM is under way."),
    of_bank("moesi_l2.race.fwds_meets_getm", "FwdS meets a copy in O while an own GetM is under way."),
    of_bank("moesi_l2.race.fwdm_meets_getm", "FwdM meets a copy in O while an own GetM is under way."),
    of_bank("moesi_l2.race.recall_meets_getm", "Recall meets a copy in O while an own GetM is under way."),
    of_bank("moesi_l2.race.inv_meets_gets", "Inv finds no copy while an own GetS is under way."),
    of_bank(
        "moesi_l2.race.waits_for_put_ack",
        "A request of the node is for a line in the write-back buffer.",
    ),
    of_bank("moesi_l2.race.all_reserved", "A miss finds every way of its set reserved: the copies stay."),
];

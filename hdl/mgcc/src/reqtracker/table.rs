//! Transition table of a ReqTracker entry (mgcc.md section 7), as data. Several entries may move in one cycle, so the rows are not decoded but observed:
//! each row taken is counted, and an event without a row fails an assertion.

use super::answer::{Answers, Results};
use super::entries::Entries;
use super::select::Chosen;
use weft_rtl::prelude::*;

/// State of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum TrkState {
    /// Empty.
    Free,
    /// Waits to be issued.
    Pend,
    /// In service.
    Serv,
    /// A read that takes the line of the write in service.
    Att,
}

/// What happens to an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum TrkEvent {
    /// A request arrives.
    Arrival,
    /// It is issued to DRAM and TSU.
    Issue,
    /// It is a read, issued to the TSU only.
    Attach,
    /// DRAM answers.
    Line,
    /// The TSU grants.
    Grant,
    /// The TSU refuses: the epoch is exhausted.
    Overflow,
    /// The TSU is asked again after the roll.
    Repeat,
    /// The answer leaves.
    Answer,
}

/// The table; the action is the next state.
pub fn table() -> Table {
    use TrkEvent::*;
    use TrkState::*;
    let row = |id: &str, state: TrkState, event: TrkEvent, next: &'static str, text: &str| Row {
        id: format!("mgcc.reqtracker.{id}"),
        when: vec![vec![state.encoding()], vec![event.encoding()]],
        actions: vec![next],
        text: text.to_string(),
    };
    let names = |list: &[(&'static str, u64)]| list.to_vec();
    Table {
        name: "reqtracker_table",
        columns: vec![
            Column { name: "state", values: names(&[("FREE", 0), ("PEND", 1), ("SERV", 2), ("ATT", 3)]) },
            Column {
                name: "event",
                values: names(&[
                    ("arrival", Arrival.encoding()),
                    ("issue", Issue.encoding()),
                    ("attach", Attach.encoding()),
                    ("line", Line.encoding()),
                    ("grant", Grant.encoding()),
                    ("overflow", Overflow.encoding()),
                    ("repeat", Repeat.encoding()),
                    ("answer", Answer.encoding()),
                ]),
            },
        ],
        rows: vec![
            row("FREE.arrival", Free, Arrival, "PEND", "Wait until the line is free and its turn has come."),
            row("PEND.issue", Pend, Issue, "SERV", "DRAM and TSU operations leave in the same cycle."),
            row("PEND.attach", Pend, Attach, "ATT", "The TSU operation leaves; the line is the write's."),
            row("SERV.line", Serv, Line, "SERV", "The line, with a write or atomic merged, is kept."),
            row("SERV.grant", Serv, Grant, "SERV", "The stamps are kept."),
            row("ATT.grant", Att, Grant, "ATT", "The stamps are kept."),
            row("SERV.overflow", Serv, Overflow, "SERV", "Wait for the roll; DRAM may be written already."),
            row("SERV.repeat", Serv, Repeat, "SERV", "A new epoch: ask the TSU again, not DRAM."),
            row("SERV.answer", Serv, Answer, "FREE", "At once, or when the last read attached has answered."),
            row("ATT.answer", Att, Answer, "FREE", "With the line of the write."),
        ],
    }
}

/// Rows of the table that are taken; a pair of state and event without a row fails.
pub(super) fn observe(e: &Entries, arrive: Bits, chosen: &Chosen, back: &Results, out: &Answers) {
    let fresh = chosen.any & !chosen.repeat;
    let fired = [
        (TrkEvent::Arrival, arrive.any(), arrive.lowest_set()),
        (TrkEvent::Issue, fresh & !chosen.attach, chosen.index),
        (TrkEvent::Attach, fresh & chosen.attach, chosen.index),
        (TrkEvent::Line, back.dram.any(), back.dram_index),
        (TrkEvent::Grant, back.granted.any(), back.tsu_index),
        (TrkEvent::Overflow, back.overflowed.any(), back.tsu_index),
        (TrkEvent::Repeat, chosen.repeat, chosen.index),
        (TrkEvent::Answer, out.leaves, out.index),
    ];
    let table = table();
    for (event, now, index) in fired {
        let state = e.state(index);
        let mut known = Vec::new();
        for row in table.rows.iter().filter(|r| r.when[1] == vec![event as u64]) {
            let here = state.eq(row.when[0][0]);
            cover(&row.id, now & here, &row.text);
            known.push(here);
        }
        assert_always(
            &format!("{}_{}_listed", table.name, format!("{event:?}").to_lowercase()),
            !now | any_of(&known),
            "every pair of state and event that occurs has a row in the table",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_do_not_overlap_and_every_state_and_event_occurs() {
        let table = table();
        assert_eq!(table.overlaps(), []);
        for (column, count) in [(0, 4), (1, 8)] {
            let named: Vec<u64> =
                (0..count).filter(|v| table.rows.iter().any(|r| r.when[column] == [*v])).collect();
            assert_eq!(named.len() as u64, count);
        }
    }
}

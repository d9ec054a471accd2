//! Transition table of a ReqTracker entry (mgcc.md section 7). Several entries may move in one cycle, so the rows are not decoded but observed:
//! each row taken is counted, and an event without a row fails an assertion.

use super::entries::Entries;
use super::types::{Answers, Chosen, Results};
use weft_rtl::prelude::*;
use weft_rtl::transitions::{Happens, follows, rows_of_entries};

/// State of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum TrkState {
    /// Empty.
    #[hw(label = "FREE")]
    Free,
    /// Waits to be issued.
    #[hw(label = "PEND")]
    Pend,
    /// In service.
    #[hw(label = "SERV")]
    Serv,
    /// A read that takes the line of the write in service.
    #[hw(label = "ATT")]
    Att,
}

/// What happens to an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum TrkEvent {
    /// A request arrives.
    #[hw(label = "arrival")]
    Arrival,
    /// It is issued to DRAM and TSU.
    #[hw(label = "issue")]
    Issue,
    /// It is a read, issued to the TSU only.
    #[hw(label = "attach")]
    Attach,
    /// DRAM answers.
    #[hw(label = "line")]
    Line,
    /// The TSU grants.
    #[hw(label = "grant")]
    Grant,
    /// The TSU refuses: the epoch is exhausted.
    #[hw(label = "overflow")]
    Overflow,
    /// The TSU is asked again after the roll.
    #[hw(label = "repeat")]
    Repeat,
    /// The answer leaves.
    #[hw(label = "answer")]
    Answer,
}

transitions! {
    /// An entry. A write that has answered keeps its entry until the last read attached to it has answered too.
    pub fn table() {
        name "reqtracker_table", rows "mgcc.reqtracker.";
        on "state": TrkState, "event": TrkEvent;
        next TrkState;

        (Free, Arrival) -> Pend "Wait until the line is free and its turn has come.";
        (Pend, Issue) -> Serv   "DRAM and TSU operations leave in the same cycle.";
        (Pend, Attach) -> Att   "The TSU operation leaves; the line is the write's.";
        (Serv, Line)            "The line, with a write or atomic merged, is kept.";
        (Serv, Grant)           "The stamps are kept.";
        (Att, Grant)            "The stamps are kept.";
        (Serv, Overflow)        "Wait for the roll; DRAM may be written already.";
        (Serv, Repeat)          "A new epoch: ask the TSU again, not DRAM.";
        (Serv, Answer) -> Free  "At once, or when the last read attached has answered.";
        (Att, Answer) -> Free   "With the line of the write.";
        never (Pend | Serv | Att, Arrival)              "a request takes a free entry";
        never (Free | Serv | Att, Issue | Attach)       "an entry is issued once";
        never (Free | Pend | Att, Line)                 "DRAM is asked for what is in service";
        never (Free | Pend, Grant | Overflow | Repeat)  "the TSU is asked when the entry is issued";
        never (Att, Overflow | Repeat)                  "reads are attached, and a read never overflows";
        never (Free | Pend, Answer)                     "an answer needs the line and the grant";
    }
}

/// What moves an entry.
pub fn machine() -> Machine<TrkState> {
    Machine::new("entry of a transaction", TrkState::Free).with(&table())
}

/// Rows of the table that are taken; a pair of state and event without a row fails, and so does a state to which no row leads.
pub(super) fn observe(e: &Entries, arrive: Bits, chosen: &Chosen, back: &Results, out: &Answers) {
    let of = |now: Bool, index: Bits| index.one_hot(e.n) & now.repeat(e.n);
    let fresh = chosen.any & !chosen.repeat;
    let left = of(out.leaves, out.index);
    let freed = (left & e.att()) | e.retired();
    let events = [
        Happens::new(TrkEvent::Arrival, arrive),
        Happens::new(TrkEvent::Issue, of(fresh & !chosen.attach, chosen.index)),
        Happens::new(TrkEvent::Attach, of(fresh & chosen.attach, chosen.index)),
        Happens::new(TrkEvent::Line, back.dram),
        Happens::new(TrkEvent::Grant, back.granted),
        Happens::new(TrkEvent::Overflow, back.overflowed),
        Happens::new(TrkEvent::Repeat, of(chosen.repeat, chosen.index)),
        Happens { event: TrkEvent::Answer, to: left, moves: freed },
    ];
    let table = table();
    table.check();
    machine().check(&[]);
    let rows: Vec<_> = table.rows().iter().collect();
    let after = rows_of_entries(table.name(), &rows, &e.state(), &events);
    e.on_next_state(move |next| {
        let differs = next.iter().zip(&after).map(|(next, after)| *next ^ *after);
        let differs = differs.reduce(|any, one| any | one).unwrap_or(after[0]);
        follows("reqtracker_table", differs, lit_bv(Bv::zero(differs.width())));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sound() {
        assert_eq!(table().faults(), []);
    }
}

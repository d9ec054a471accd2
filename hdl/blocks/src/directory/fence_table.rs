//! Transition table of the fence unit (rec.md section 7), as data. Several events may happen in one cycle, so the rows are not decoded but
//! observed: each row taken is counted, and an event without a row fails an assertion.

use super::fence::FenceState;
use weft_rtl::prelude::*;

/// What happens to a fence unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum FenceEvent {
    /// The GPU asks for a release.
    Release,
    /// All banks have completed the old epoch.
    Drained,
    /// All banks have written back (or the flush is switched off).
    Flushed,
    /// All requests and the own marker have left.
    Sent,
    /// An acknowledgement that is not the last.
    Ack,
    /// The last acknowledgement.
    LastAck,
    /// A fence request of another GPU.
    FenceReq,
}

/// The table; row names are ledger identifiers, the action is the next state.
pub fn table() -> Table {
    use FenceEvent::*;
    use FenceState::*;
    let states = [(Idle, "IDLE"), (Drain, "DRAIN"), (Flush, "FLUSH"), (Send, "SEND"), (Wait, "WAIT")];
    let name_of = |state: FenceState| states.iter().find(|s| s.0 == state).map_or("", |s| s.1);
    let mut rows = Vec::new();
    let mut add = |state: FenceState, event: FenceEvent, event_name: &str, next: FenceState, text: &str| {
        rows.push(Row {
            id: format!("fence.{}.{event_name}", name_of(state)),
            when: vec![vec![state.encoding()], vec![event.encoding()]],
            actions: vec![name_of(next)],
            text: text.to_string(),
        });
    };
    add(Idle, Release, "release", Drain, "flip the epoch and drain");
    for state in [Drain, Flush, Send, Wait] {
        add(state, Release, "release", state, "batched into the next fence");
    }
    add(Drain, Drained, "drained", Flush, "nothing of the old epoch is outstanding");
    add(Flush, Flushed, "flushed", Send, "all dirty lines are written back, or that is switched off");
    add(Send, Sent, "sent", Wait, "requests to the other homes and the own marker have left");
    add(Send, Ack, "ack", Send, "counted while still sending");
    add(Wait, Ack, "ack", Wait, "counted");
    add(Wait, LastAck, "last_ack", Idle, "all acknowledgements are in");
    for (state, _) in states {
        add(state, FenceReq, "FenceReq", state, "a marker for the requester goes into every INV FIFO");
    }
    let events = [
        ("release", Release),
        ("drained", Drained),
        ("flushed", Flushed),
        ("sent", Sent),
        ("ack", Ack),
        ("last ack", LastAck),
        ("FenceReq", FenceReq),
    ];
    Table {
        name: "fence_table",
        columns: vec![
            Column { name: "state", values: states.iter().map(|s| (s.1, s.0.encoding())).collect() },
            Column { name: "event", values: events.iter().map(|e| (e.0, e.1.encoding())).collect() },
        ],
        rows,
    }
}

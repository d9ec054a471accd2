//! Transition table of the fence unit (rec.md section 7). Several events may happen in one cycle, so the rows are not decoded but
//! observed: each row taken is counted, and an event without a row, or a state to which no row leads, fails an assertion. A release that comes to an idle unit is
//! noted, and moves it in the cycle after.

use super::FenceState;
use weft_rtl::prelude::*;

/// What happens to a fence unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum FenceEvent {
    /// The GPU asks for a release.
    #[hw(label = "release")]
    Release,
    /// All banks have completed the old epoch.
    #[hw(label = "drained")]
    Drained,
    /// All banks have written back (or the flush is switched off).
    #[hw(label = "flushed")]
    Flushed,
    /// All requests and the own marker have left.
    #[hw(label = "sent")]
    Sent,
    /// An acknowledgement that is not the last.
    #[hw(label = "ack")]
    Ack,
    /// The last acknowledgement.
    #[hw(label = "last_ack")]
    LastAck,
    /// A fence request of another GPU.
    FenceReq,
}

transitions! {
    /// The table; row names are ledger identifiers.
    pub fn table() {
        name "fence_table", rows "fence.";
        on "state": FenceState, "event": FenceEvent;
        next FenceState;

        (Idle, Release) -> Drain  "flip the epoch and drain";
        (Drain, Release)          "batched into the next fence";
        (Flush, Release)          "batched into the next fence";
        (Send, Release)           "batched into the next fence";
        (Wait, Release)           "batched into the next fence";
        (Drain, Drained) -> Flush "nothing of the old epoch is outstanding";
        (Flush, Flushed) -> Send  "all dirty lines are written back, or that is switched off";
        (Send, Sent) -> Wait      "requests to the other homes and the own marker have left";
        (Send, Ack)               "counted while still sending";
        (Wait, Ack)               "counted";
        (Wait, LastAck) -> Idle   "all acknowledgements are in";
        (Idle, FenceReq)          "a marker for the requester goes into every INV FIFO";
        (Drain, FenceReq)         "a marker for the requester goes into every INV FIFO";
        (Flush, FenceReq)         "a marker for the requester goes into every INV FIFO";
        (Send, FenceReq)          "a marker for the requester goes into every INV FIFO";
        (Wait, FenceReq)          "a marker for the requester goes into every INV FIFO";
        never (Idle | Flush | Send | Wait, Drained)    "the banks are told to drain in DRAIN";
        never (Idle | Drain | Send | Wait, Flushed)    "the banks are told to flush in FLUSH";
        never (Idle | Drain | Flush | Wait, Sent)      "requests and the own marker leave in SEND";
        never (Idle | Drain | Flush, Ack | LastAck)    "no home has been asked for a marker, or all have acknowledged";
        never (Send, LastAck)     "the last acknowledgement waits until all requests have left";
    }
}

/// Everything that moves a fence unit.
pub fn machine() -> Machine<FenceState> {
    Machine::new("state of a fence unit", FenceState::Idle).with(&table())
}

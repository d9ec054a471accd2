//! The transition table of the fence unit (rec.md section 7), as data.

/// State of a GPU's fence unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FenceState {
    /// No fence of this GPU in flight.
    Idle,
    /// Epoch flipped; waits for old writes and old local stores.
    Drain,
    /// The L2 writes back its dirty lines.
    Flush,
    /// FenceReqs and own InvFences are being sent.
    Send,
    /// Acknowledgements are being counted.
    Wait,
}

impl FenceState {
    /// All states, in the order they are passed.
    pub const ALL: [FenceState; 5] =
        [FenceState::Idle, FenceState::Drain, FenceState::Flush, FenceState::Send, FenceState::Wait];
}

/// Event at a fence unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FenceEvent {
    /// The GPU asks for a release.
    Release,
    /// `wr_out[old] == 0` and old local stores are complete.
    Drained,
    /// The L2 flush is done, or switched off.
    Flushed,
    /// All FenceReqs and all own InvFences are sent.
    Sent,
    /// An acknowledgement that is not the last: from another GPU or the own receipt.
    Ack,
    /// The last of the N*(N-1) acknowledgements.
    LastAck,
    /// Another GPU's FenceReq.
    FenceReq,
}

/// One row of the fence unit's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FenceRow {
    /// Stable identifier.
    pub id: &'static str,
    /// State before.
    pub state: FenceState,
    /// Event.
    pub event: FenceEvent,
    /// State after.
    pub next: FenceState,
    /// The row in words.
    pub text: &'static str,
}

const fn row(
    id: &'static str,
    state: FenceState,
    event: FenceEvent,
    next: FenceState,
    text: &'static str,
) -> FenceRow {
    FenceRow { id, state, event, next, text }
}

/// Section 7. A pair that is not listed cannot occur: acknowledgements come only after something was
/// sent, and the last one only after everything was.
pub const FENCE: [FenceRow; 16] = {
    use FenceEvent::*;
    use FenceState::*;
    const BATCH: &str = "batched into the next fence";
    const PUSH: &str = "push InvFence(requester) into every INV FIFO on every link";
    [
        row("fence.IDLE.release", Idle, Release, Drain, "flip the epoch -> DRAIN"),
        row("fence.DRAIN.release", Drain, Release, Drain, BATCH),
        row("fence.FLUSH.release", Flush, Release, Flush, BATCH),
        row("fence.SEND.release", Send, Release, Send, BATCH),
        row("fence.WAIT.release", Wait, Release, Wait, BATCH),
        row(
            "fence.DRAIN.drained",
            Drain,
            Drained,
            Flush,
            "wr_out[old] = 0, old local stores complete -> FLUSH",
        ),
        row(
            "fence.FLUSH.flushed",
            Flush,
            Flushed,
            Send,
            "all D lines written back (or switched off) -> SEND",
        ),
        row("fence.SEND.sent", Send, Sent, Wait, "FenceReq to N-1 homes and own InvFences sent -> WAIT"),
        row("fence.SEND.ack", Send, Ack, Send, "counted while still sending"),
        row("fence.WAIT.ack", Wait, Ack, Wait, "counted"),
        row("fence.WAIT.last_ack", Wait, LastAck, Idle, "N*(N-1) acknowledgements are in -> IDLE"),
        row("fence.IDLE.FenceReq", Idle, FenceReq, Idle, PUSH),
        row("fence.DRAIN.FenceReq", Drain, FenceReq, Drain, PUSH),
        row("fence.FLUSH.FenceReq", Flush, FenceReq, Flush, PUSH),
        row("fence.SEND.FenceReq", Send, FenceReq, Send, PUSH),
        row("fence.WAIT.FenceReq", Wait, FenceReq, Wait, PUSH),
    ]
};

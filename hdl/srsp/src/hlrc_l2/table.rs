//! Transition tables of a bank (srsp.md section 9, and section 6 for what nobody has registered).
//!
//! States of a line as in `types.rs`: I; P, on its way from memory; Pd, the same with dirty bytes; V; D; W, only the masked bytes valid; R, registered to an L1; RV, the same with
//! a REVOKE under way.
//!
//! `_in` marks an access to a line in W all of whose bytes have been written.
//!
#![doc = include_str!("../../docs/hlrc-l2.md")]
//!
//! # DeNovo-B
//!
#![doc = include_str!("../../docs/denovo-b-l2.md")]

use super::params::{L2Write, Registered};
pub use super::types::LineState;
use weft_rtl::prelude::*;

/// Events at a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 4)]
pub enum Event {
    /// RD or RDU.
    #[hw(label = "RD")]
    Rd,
    /// The same, of a line all of whose bytes have been written.
    #[hw(label = "RD_in")]
    RdIn,
    /// REG.
    #[hw(label = "REG")]
    Reg,
    /// The same, of a line all of whose bytes have been written.
    #[hw(label = "REG_in")]
    RegIn,
    /// WB; in DeNovo-B READ_ACK.
    #[hw(label = "WB")]
    Wb,
    /// UNREG.
    #[hw(label = "UNREG")]
    Unreg,
    /// REVOKE_ACK, with or without the line.
    #[hw(label = "REVOKE_ACK")]
    RevokeAck,
    /// The line is at the head of the sFIFO, which is popped.
    #[hw(label = "POP")]
    Pop,
    /// The line comes from memory.
    #[hw(label = "FILL")]
    Fill,
}

/// What becomes of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum LineDoes {
    /// Ask memory for it, if there is a frame.
    Fetch,
    /// Wait in the line's MSHR.
    Join,
    /// Wait at the queue's head for memory.
    Wait,
    /// Wait there until the line has come back.
    Queue,
    /// The sFIFO's head goes.
    Pop,
    /// The sFIFO waits for the line.
    Hold,
    /// What comes from memory is written.
    Fill,
    /// Answer with the line.
    Read,
    /// The line is registered to who asks.
    Grant,
    /// Its owner is asked to give it back.
    Revoke,
    /// Its owner is asked for its bytes.
    Ask,
    /// The bytes are merged into the line.
    Merge,
    /// A clean line becomes dirty: it goes into the sFIFO.
    Push,
    /// Take a frame for the bytes, if there is one.
    Take,
    /// The bytes go to memory.
    Through,
    /// The line's bytes go to memory.
    Clean,
    /// The line goes.
    Drop,
    /// It is no longer registered.
    GiveBack,
    /// The UNREG is noted.
    Note,
    /// The REVOKE is answered: the revocation's row says what follows.
    Back,
}

transitions! {
    /// What becomes of a line. `stale`: with the fault that old bytes are read: a write to memory does not wait for the line that is on its way from there, or the owner of a line
    /// that is read is not asked.
    pub fn lines(write: L2Write, registered: Registered, stale: bool) {
        name "l2_lines", rows prefix(registered);
        on "state": LineState, "event": Event;
        next LineState;
        does LineDoes;

        (I, Rd) -> I | P        [Fetch]
            "a frame is reserved, RD to memory: P; without a frame memory's line is passed on";
        (I, Reg) -> P           [Fetch]           "a frame is reserved, RD to memory: P";
        (I, Pop)                [Pop]             "dead entry";
        (P, Rd)                 [Join]            "waits for the line";
        (P, Reg)                [Join]            "waits for the line; a second one at ingress";
        (P, Pop)                [Pop]             "dead entry: nothing is dirty";
        (P, Fill) -> V          [Fill]            "line into its frame: V";
        (V, Rd)                 [Read]            "hit";
        (V, Reg) -> R           [Grant]           "REG_DATA: R";
        (V, Pop)                [Pop]             "dead entry";
        (D, Rd)                 [Read]            "hit";
        (D, Reg) -> R           [Grant]           "REG_DATA: R; its bytes stay dirty, its sFIFO entry is dead";
        (D, Pop) -> V           [Pop, Clean]      "dirty bytes to memory: V";
        if registered == Registered::Atomics || stale && registered == Registered::Writes {
            (R, Rd)             [Read]            "from the bank's data, the owner keeps the line";
        } else {
            (R, Rd) -> RV       [Ask]             "READ to the owner, the reader is noted: RV";
        }
        (R, Reg) -> RV          [Revoke]          "REVOKE to the owner, the requester is noted: RV";
        if registered == Registered::Atomics {
            (R, Wb)             [Merge]           "into the bank's data, the owner keeps the line";
        }
        (R, Unreg) -> D | V     [Merge, GiveBack] "UNREG_ACK; with dirty bytes D, pushed, else V";
        (R, Pop)                [Pop]             "dead entry: a registered line is not written to memory";
        if registered == Registered::Atomics {
            (RV, Rd)            [Read]            "from the bank's data";
        } else {
            (RV, Rd)            [Queue]           "waits at ingress until the owner has answered";
        }
        (RV, Reg)               [Queue]           "waits at ingress until the line has come back";
        if registered == Registered::Atomics {
            (RV, Wb)            [Merge]           "into the bank's data";
        }
        (RV, Pop)               [Pop]             "dead entry: a registered line is not written to memory";
        (RV, Unreg)             [Merge, Note]     "noted: UNREG_ACK when the REVOKE has been answered";
        (RV, RevokeAck) -> RV | R | I [Back]      "the line is back, as the revocation's row says";
        if registered == Registered::Writes {
            "RV.READ_ACK" (RV, Wb) -> RV | R | V | D [Back]
                "the owner has answered: what follows is in the read's row";
            never (I | P | Pd | V | D | W | R, Wb) "no L1 writes through, and only who has been asked answers";
            never (Pd | W, _)                     "bytes that are written come from owners alone";
        } else if write == L2Write::Combine {
            (I, Wb) -> I | W    [Take]
                "a frame is taken for the bytes, no fetch: W, pushed; without a frame they go to memory";
            (P, Wb) -> Pd       [Merge, Push]     "bytes into the frame: Pd, pushed";
            (Pd, Rd)            [Join]            "waits for the line";
            (Pd, Reg)           [Join]            "waits for the line; a second one at ingress";
            (Pd, Wb)            [Merge]           "bytes into the frame";
            (Pd, Pop)           [Hold]            "a line on its way is not popped: the sFIFO waits for memory";
            (Pd, Fill) -> D     [Fill]            "bytes from memory where none are dirty: D";
            (V, Wb) -> D        [Merge, Push]     "bytes merged: D, pushed";
            (D, Wb)             [Merge]           "bytes merged";
            (W, Rd) -> Pd       [Fetch]           "bytes are missing: RD to memory: Pd";
            (W, RdIn)           [Read]            "hit: all bytes have been written";
            (W, Reg) -> Pd      [Fetch]           "bytes are missing: RD to memory: Pd";
            (W, RegIn) -> R     [Grant]           "all bytes have been written: REG_DATA: R";
            (W, Wb)             [Merge]           "bytes merged";
            (W, Pop) -> I       [Pop, Clean, Drop] "bytes to memory: I";
        } else {
            (I, Wb)             [Through]         "bytes to memory, which acknowledges them";
            if stale {
                (P, Wb)         [Through]         "bytes to memory, although the line is on its way from there";
            } else {
                (P, Wb)         [Wait]            "waits for the line, to drop it then";
            }
            (V, Wb) -> I        [Through, Drop]
                "bytes to memory, which acknowledges them; the copy is dropped: I";
            (D, Wb) -> I        [Through, Drop]
                "bytes to memory together with those that an owner has left; the copy is dropped: I";
            never (Pd | W, _)                     "bytes that are written are not kept here";
        }
        never (I | V | D | W | R | RV, Fill)      "a line comes from memory only while it is on its way";
        never (I | P | Pd | V | D | W, Unreg)     "only the owner of a line gives it back";
        never (I | P | Pd | V | D | W | R, RevokeAck) "only who has been asked for a line answers";
        never (I | P | Pd | V | D | R | RV, RdIn | RegIn) "only in W are some bytes there and others not";
    }
}

/// Everything that moves a line. Beside its own rows: its frame is taken for another line, and a registered line is asked back for its frame.
pub fn machine(write: L2Write, registered: Registered) -> Machine<LineState> {
    use LineState::*;
    Machine::new("state of a line", I)
        .with(&lines(write, registered, false))
        .also(&[V, D, W], I)
        .also(&[R], RV)
}

/// How the names of a bank's rows begin.
fn prefix(registered: Registered) -> &'static str {
    match registered {
        Registered::Atomics => "srsp.hlrc_l2.",
        Registered::Writes => "srsp.denovo_b_l2.",
    }
}

/// States that no line is in.
pub fn absent(write: L2Write) -> &'static [LineState] {
    match write {
        L2Write::Combine => &[],
        L2Write::ThroughInv => &[LineState::Pd, LineState::W],
    }
}

/// Where a line that is not here can go, by the state of the way chosen: invalid ways first, then the pseudo-LRU one of those that may leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum Place {
    /// The frame that it has.
    #[hw(label = "own")]
    Own,
    /// An empty way.
    I,
    /// That of a clean line.
    V,
    /// That of a dirty one.
    D,
    /// That of a line of dirty bytes.
    W,
    /// That of a registered one.
    R,
    /// No way may leave.
    #[hw(label = "none")]
    None,
}

/// What it goes there for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Use {
    /// A read.
    #[hw(label = "fetch")]
    Fetch,
    /// A registration.
    #[hw(label = "register")]
    Register,
    /// Bytes written.
    #[hw(label = "take")]
    Take,
}

/// What becomes of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum FrameDoes {
    /// It is reserved, and memory is asked for the line.
    Reserve,
    /// The bytes are written into it.
    Occupy,
    /// The line that it has is written back.
    Evict,
    /// The owner of the line that it has is asked to give it back.
    Recall,
    /// There is none: wait.
    Stay,
    /// There is none: memory's line is passed on.
    Direct,
    /// There is none: the bytes go to memory.
    Around,
}

transitions! {
    /// Where a line that is not here goes. The line whose frame it gets is gone; `owned_aware`: only a registration takes the frame of a registered line.
    pub fn frames(write: L2Write, registered: Registered, owned_aware: bool) {
        name "l2_frames", rows prefix(registered);
        on "frame": Place, "use": Use;
        does FrameDoes;

        (I, Fetch)         [Reserve]        "an empty frame";
        (I, Register)      [Reserve]        "an empty frame";
        (V, Fetch)         [Reserve]        "a clean line is dropped";
        (V, Register)      [Reserve]        "a clean line is dropped";
        (D, Fetch)         [Reserve, Evict] "a dirty line is written back; its sFIFO entry stays, dead";
        (D, Register)      [Reserve, Evict] "a dirty line is written back; its sFIFO entry stays, dead";
        (R, Register)      [Recall, Stay]
            "REVOKE to the owner of a registered line, on nobody's behalf; waits";
        (None, Fetch)      [Direct]         "no way may leave: memory's line is passed on, uncached";
        (None, Register)   [Stay]
            "every way is on its way from memory or being revoked, or another registration is first: waits";
        if write == L2Write::Combine {
            (Own, Fetch)   [Reserve]        "the line's own frame, with its dirty bytes";
            (Own, Register) [Reserve]       "the line's own frame, with its dirty bytes";
            (I, Take)      [Occupy]         "an empty frame";
            (V, Take)      [Occupy]         "a clean line is dropped";
            (D, Take)      [Occupy, Evict]  "a dirty line is written back; its sFIFO entry stays, dead";
            (W, Fetch)     [Reserve, Evict] "a line of dirty bytes is written back";
            (W, Register)  [Reserve, Evict] "a line of dirty bytes is written back";
            (W, Take)      [Occupy, Evict]  "a line of dirty bytes is written back";
            (None, Take)   [Around]         "no way may leave: bytes to memory, acknowledged by it";
            never (Own, Take)               "bytes of a line that is here are merged into it";
        } else {
            never (Own | W, _)              "a line that is here has all its bytes";
            never (_, Take)                 "bytes that are written are not kept here";
        }
        if !owned_aware {
            (R, Fetch)     [Recall, Direct]
                "REVOKE to the owner, on nobody's behalf; memory's line is passed on, uncached";
        }
        if !owned_aware && write == L2Write::Combine {
            (R, Take)      [Recall, Around] "REVOKE to the owner, on nobody's behalf; bytes to memory";
        }
        if owned_aware {
            never (R, Fetch | Take)         "a registered line leaves for a registration only";
        }
    }
}

/// On whose behalf a REVOKE was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 1)]
pub enum Cause {
    /// A registration's.
    #[hw(label = "asked")]
    Asked,
    /// Nobody's, to free a frame.
    #[hw(label = "recall")]
    Recall,
}

/// What comes back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Comes {
    /// The line.
    #[hw(label = "line")]
    Line,
    /// Nothing, since an UNREG has brought it.
    #[hw(label = "unregistered")]
    Unregistered,
    /// Nothing, its UNREG_ACK being sent.
    #[hw(label = "acknowledged")]
    Acknowledged,
    /// What never comes.
    #[hw(label = "never")]
    Never,
}

/// What an answer to a REVOKE does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum RevokeDoes {
    /// The bytes are merged into the line.
    Bring,
    /// The line is the requester's.
    Pass,
    /// UNREG_ACK.
    Answer,
    /// The line goes, its dirty bytes to memory.
    Expel,
    /// The reader gets the line.
    Serve,
    /// It is no longer registered.
    Release,
}

transitions! {
    /// The answer to a REVOKE, of a line in RV.
    pub fn revokes(registered: Registered) {
        name "l2_revokes", rows prefix(registered);
        on "cause": Cause, "comes": Comes;
        next LineState;
        does RevokeDoes;

        (Asked, Line) -> R           [Bring, Pass]    "merged, REG_DATA to the requester: R";
        (Asked, Unregistered) -> RV  [Answer]         "UNREG_ACK to the old owner; the requester comes next";
        (Asked, Acknowledged) -> R   [Pass]           "REG_DATA to the requester: R";
        (Recall, Line) -> I          [Bring, Expel]   "merged; dirty bytes to memory: I";
        (Recall, Unregistered) -> I  [Answer, Expel]  "UNREG_ACK; dirty bytes to memory: I";
        never (Recall, Acknowledged)                  "with its UNREG_ACK a recall is over";
        never (_, Never)              "the line comes once, by an UNREG or by the answer to the REVOKE";
    }
}

transitions! {
    /// The answer to a READ, of a line in RV.
    pub fn reads() {
        name "l2_reads", rows "srsp.denovo_b_l2.read.";
        on "comes": Comes;
        next LineState;
        does RevokeDoes;

        (Line,) -> R             [Bring, Serve]   "merged, FILL to the reader: the owner keeps the line";
        (Unregistered,) -> RV    [Answer]         "UNREG_ACK to the old owner; the reader comes next";
        (Acknowledged,) -> D | V [Serve, Release] "FILL to the reader; with dirty bytes D, pushed, else V";
        never (Never,)           "the line comes once, by an UNREG or by the answer to the READ";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_that_can_occur_has_exactly_one_row() {
        assert_eq!(reads().faults(), []);
        for (write, registered) in banks() {
            assert_eq!(revokes(registered).faults(), []);
            for flag in [false, true] {
                assert_eq!(lines(write, registered, flag).faults(), [], "{write:?} {registered:?}");
                assert_eq!(frames(write, registered, flag).faults(), [], "{write:?} {registered:?}");
            }
            assert_eq!(machine(write, registered).unreached(), absent(write), "{write:?} {registered:?}");
        }
    }

    /// Every kind of bank.
    fn banks() -> impl Iterator<Item = (L2Write, Registered)> {
        let of_atomics = L2Write::WORDS.iter().map(|(write, _)| (*write, Registered::Atomics));
        of_atomics.chain([(L2Write::ThroughInv, Registered::Writes)])
    }

    #[test]
    fn a_write_back_waits_for_memory_alone() {
        for (write, registered) in banks() {
            for row in lines(write, registered, false).rows().iter().filter(|row| row.id.ends_with(".WB")) {
                let waits = |a: &LineDoes| matches!(a, LineDoes::Queue | LineDoes::Revoke | LineDoes::Ask);
                let waits = row.actions.iter().any(waits);
                assert!(!waits, "{}", row.id);
            }
            for table in [frames(write, registered, false), frames(write, registered, true)] {
                for row in table.rows().iter().filter(|row| row.id.ends_with(".take")) {
                    assert!(!row.actions.contains(&FrameDoes::Stay), "{}", row.id);
                }
            }
        }
    }
}

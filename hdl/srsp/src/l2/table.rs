//! Transition tables of a bank (srsp.md section 6).
//!
//! States of a line as in `types.rs`: I; P, on its way from memory; Pd, the same with dirty bytes; V; D; W, only the masked bytes valid.
//!
//! Decision: a REM_LOCK by the owner waits. The specification says that it never comes, but REM_UNLOCK is not acknowledged and travels on another network, so that the next
//! REM_LOCK of the same L1 can overtake it.
//!
//! `_in` marks an access whose bytes are all among the valid ones of a line in W.
//!
#![doc = include_str!("../../docs/srsp-l2.md")]

pub use super::types::LineState;
use crate::params::Impl;
use weft_rtl::prelude::*;

/// Events at a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum Event {
    /// A read.
    #[hw(label = "RD")]
    Rd,
    /// A read of bytes that are all there.
    #[hw(label = "RD_in")]
    RdIn,
    /// An atomic at the L2, by ATM or REM_OP.
    #[hw(label = "AMO")]
    Amo,
    /// The same, of bytes that are there.
    #[hw(label = "AMO_in")]
    AmoIn,
    /// An atomic at memory.
    #[hw(label = "ATM_SYS")]
    AtmSys,
    /// A write-back.
    #[hw(label = "WB")]
    Wb,
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
    /// Memory performs the atomic.
    ToMemory,
    /// Take a frame for the bytes, if there is one.
    Take,
    /// The sFIFO's head goes.
    Pop,
    /// Wait in the line's MSHR.
    Join,
    /// Wait at the queue's head.
    Wait,
    /// The bytes are merged into the line.
    Merge,
    /// A clean line becomes dirty: it goes into the sFIFO.
    Push,
    /// What comes from memory is written.
    Fill,
    /// The sFIFO waits for the line.
    Hold,
    /// Answer with the line.
    Read,
    /// Perform the atomic.
    Modify,
    /// The line goes.
    Drop,
    /// Its bytes go to memory.
    Clean,
}

transitions! {
    /// What becomes of a line. That an atomic has written is known in stage 2, which then makes the line dirty.
    pub fn lines() {
        name "l2_lines", rows "srsp.l2.";
        on "state": LineState, "event": Event;
        next LineState;
        does LineDoes;

        (I, Rd) -> P      [Fetch]        "a frame is reserved, RD to memory: P";
        (I, Amo) -> P     [Fetch]        "a frame is reserved, RD to memory: P; the atomic waits at its queue's head";
        (I, AtmSys)       [ToMemory]     "memory performs the atomic";
        (I, Wb) -> I | W  [Take]
            "a frame is taken for the bytes, no fetch: W, pushed; without a frame they go to memory";
        (I, Pop)          [Pop]          "dead entry";
        (P, Rd)           [Join]         "waits for the line";
        (P, Amo)          [Join]         "waits for the line";
        (P, AtmSys)       [Wait]         "waits for the line, to drop it then";
        (P, Wb) -> Pd     [Merge, Push]  "bytes into the frame: Pd, pushed";
        (P, Pop)          [Pop]          "dead entry: nothing is dirty";
        (P, Fill) -> V    [Fill]         "line into its frame: V";
        (Pd, Rd)          [Join]         "waits for the line";
        (Pd, Amo)         [Join]         "waits for the line";
        (Pd, AtmSys)      [Wait]         "waits for the line, to write it back and drop it then";
        (Pd, Wb)          [Merge]        "bytes into the frame";
        (Pd, Pop)         [Hold]         "a line on its way is not popped: the sFIFO waits for memory";
        (Pd, Fill) -> D   [Fill]         "bytes from memory where none are dirty: D";
        (V, Rd)           [Read]         "hit";
        (V, Amo) -> V | D [Modify, Push] "done here; if it wrote: D, pushed";
        (V, AtmSys) -> I  [Drop, ToMemory] "dropped, memory performs the atomic: I";
        (V, Wb) -> D      [Merge, Push]  "bytes merged: D, pushed";
        (V, Pop)          [Pop]          "dead entry";
        (D, Rd)           [Read]         "hit";
        (D, Amo)          [Modify]       "done here";
        (D, AtmSys) -> I  [Clean, Drop, ToMemory] "written back and dropped, memory performs the atomic: I";
        (D, Wb)           [Merge]        "bytes merged";
        (D, Pop) -> V     [Pop, Clean]   "dirty bytes to memory: V";
        (W, Rd) -> Pd     [Fetch]        "bytes are missing: RD to memory: Pd";
        (W, RdIn)         [Read]         "hit: all bytes have been written";
        (W, Amo) -> Pd    [Fetch]        "the word's bytes are missing: RD to memory: Pd";
        (W, AmoIn)        [Modify]       "done here";
        (W, AtmSys) -> I  [Clean, Drop, ToMemory] "written back and dropped, memory performs the atomic: I";
        (W, Wb)           [Merge]        "bytes merged";
        (W, Pop) -> I     [Pop, Clean, Drop] "bytes to memory: I";
        never (I | V | D | W, Fill)      "a line comes from memory only while it is on its way";
        never (I | P | Pd | V | D, RdIn | AmoIn) "only in W are some bytes there and others not";
    }
}

/// Everything that moves a line. A frame that is taken for another line, and SYS INV, which drops all lines, leave none behind.
pub fn machine() -> Machine<LineState> {
    use LineState::*;
    Machine::new("state of a line", I).with(&lines()).also(&[V, D, W], I)
}

/// Where a line that is not here can go, by the state of the way chosen: invalid ways first, then the pseudo-LRU one of those not on their way.
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
    /// No way may leave.
    #[hw(label = "none")]
    None,
}

/// What it goes there for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 1)]
pub enum Use {
    /// A read from memory.
    #[hw(label = "fetch")]
    Fetch,
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
    /// There is none: wait.
    Stay,
    /// There is none: the bytes go to memory.
    Around,
}

transitions! {
    /// Where a line that is not here goes. The line whose frame it gets is gone.
    pub fn frames() {
        name "l2_frames", rows "srsp.l2.";
        on "frame": Place, "use": Use;
        does FrameDoes;

        (Own, Fetch)  [Reserve]        "the line's own frame, with its dirty bytes";
        (I, Fetch)    [Reserve]        "an empty frame";
        (I, Take)     [Occupy]         "an empty frame";
        (V, Fetch)    [Reserve]        "a clean line is dropped";
        (V, Take)     [Occupy]         "a clean line is dropped";
        (D, Fetch)    [Reserve, Evict] "a dirty line is written back; its sFIFO entry stays, dead";
        (D, Take)     [Occupy, Evict]  "a dirty line is written back; its sFIFO entry stays, dead";
        (W, Fetch)    [Reserve, Evict] "a line of dirty bytes is written back";
        (W, Take)     [Occupy, Evict]  "a line of dirty bytes is written back";
        (None, Fetch) [Stay]           "every way is on its way from memory: waits";
        (None, Take)  [Around]
            "every way is on its way from memory: bytes to memory, acknowledged by it";
        never (Own, Take)              "bytes of a line that is here are merged into it";
    }
}

/// State of a line's lock for who asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum LockState {
    /// Nobody has locked it.
    #[hw(label = "free")]
    Free,
    /// Who asks has.
    #[hw(label = "own")]
    Own,
    /// Another L1 has.
    #[hw(label = "other")]
    Other,
    /// Nobody has, but no entry is free for who wants to.
    #[hw(label = "full")]
    Full,
}

/// Messages as the lock sees them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum LockMessage {
    /// RD, ATM and ATM.sys.
    #[hw(label = "RD_ATM")]
    RdAtm,
    /// REM_LOCK.
    #[hw(label = "REM_LOCK")]
    RemLock,
    /// WB.
    #[hw(label = "WB")]
    Wb,
    /// REM_OP.
    #[hw(label = "REM_OP")]
    RemOp,
    /// REM_UNLOCK.
    #[hw(label = "REM_UNLOCK")]
    RemUnlock,
}

/// What becomes of a message at a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum LockDoes {
    /// Its line is looked up.
    Serve,
    /// It waits for the lock.
    Queue,
    /// It takes the lock.
    Lock,
    /// It waits for an entry.
    Room,
    /// It ends the lock.
    Unlock,
}

transitions! {
    /// Messages and locks; nobody locks a line without remote operations, and only bRSP with a token has remote
    /// operations without a lock. A lock that ends may be handed to a waiter in the same cycle, and a REM_OP ends it in stage 2: rows name no state that follows.
    pub fn locks(system: Impl) {
        name "l2_locks", rows "srsp.l2.";
        on "lock": LockState, "message": LockMessage;
        does LockDoes;

        (Free, RdAtm)      [Serve]  "served";
        if system != Impl::Base {
            (Own, RdAtm)   [Queue]  "waits at ingress: the L1's own remote operation comes first";
            (Other, RdAtm) [Queue]  "waits at ingress";
            (Free, RemLock)  [Lock]  "locked, REM_GRANT";
            (Own, RemLock)   [Queue] "has overtaken the L1's own REM_UNLOCK, which is on its way: waits";
            (Other, RemLock) [Queue] "waits for its turn";
            (Full, RemLock)  [Room]  "waits for an entry";
        }
        (Free, Wb)         [Serve]  "served";
        if system != Impl::Base {
            (Own, Wb)      [Serve]  "served although the line is locked";
            (Other, Wb)    [Serve]  "served although the line is locked";
        }
        if system == Impl::BrspToken {
            (Free, RemOp)  [Serve]  "bRSP with a token, which is enough";
        } else if system != Impl::Base {
            never (Free, RemOp)     "a remote operation has locked its line";
        }
        if system != Impl::Base {
            (Own, RemOp)     [Serve]  "done; unlocks unless it keeps the lock and wrote";
            (Own, RemUnlock) [Unlock] "unlocked";
            never (Other, RemOp)      "a remote operation waits for the lock before anything else";
            never (Free | Other, RemUnlock) "only who has locked a line unlocks it";
            never (Full, RdAtm | Wb | RemOp | RemUnlock) "a message that takes no lock needs no entry";
        } else {
            never (_, RemLock | RemOp | RemUnlock) "nobody sends remote operations";
            never (Own | Other | Full, _)   "without remote operations no line is locked";
        }
    }
}

/// The token of bank 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 1)]
pub enum TokenState {
    /// Nobody has it.
    #[hw(label = "free")]
    Free,
    /// An L1 has it, or a waiter whose turn it is.
    #[hw(label = "held")]
    Held,
}

/// Messages about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 1)]
pub enum TokenMessage {
    /// TOKEN.
    #[hw(label = "TOKEN")]
    Token,
    /// TOKEN_REL.
    #[hw(label = "TOKEN_REL")]
    TokenRel,
}

/// What becomes of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum TokenDoes {
    /// It is given to who asks.
    Grant,
    /// Who asks waits.
    Queue,
    /// It comes back.
    Release,
}

transitions! {
    /// The token.
    pub fn token() {
        name "l2_token", rows "srsp.l2.";
        on "token": TokenState, "message": TokenMessage;
        next TokenState;
        does TokenDoes;

        (Free, Token) -> Held    [Grant]   "TOKEN_GRANT";
        (Held, Token)            [Queue]   "waits for its turn";
        (Held, TokenRel) -> Free [Release] "the token is free";
        never (Free, TokenRel)             "its holder gives it back, once";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_that_can_occur_has_exactly_one_row() {
        assert_eq!(lines().faults(), []);
        assert_eq!(frames().faults(), []);
        assert_eq!(token().faults(), []);
        for (system, _) in Impl::WORDS {
            assert_eq!(locks(*system).faults(), [], "{system:?}");
        }
        assert_eq!(machine().unreached(), []);
    }

    fn ids<C: weft_rtl::transitions::Columns, S: HwEnum, A: HwEnum>(
        table: &Transitions<C, S, A>,
    ) -> Vec<String> {
        table.rows().iter().map(|row| row.id.clone()).collect()
    }

    #[test]
    fn identifiers_differ() {
        let mut ids = [ids(&lines()), ids(&frames()), ids(&locks(Impl::BrspToken)), ids(&token())].concat();
        let count = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), count);
    }
}

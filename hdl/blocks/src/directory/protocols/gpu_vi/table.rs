//! Transition tables of `gpu-vi-directory` (hmg.md section 8): what operations do, and what acknowledgements do.
//!
//! The state of the first is the entry as its requester sees it. What is awaited of a group is no state of an entry: it
//! is a count in the pending table, which begins with Invs and ends with the last acknowledgement, so the second table leads nowhere.

use crate::msg::DirOp;
use weft_rtl::prelude::*;

/// What the lookup found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum ViFound {
    /// No entry has this base.
    #[hw(label = "miss")]
    Miss,
    /// An entry, and nobody but the requester is recorded.
    #[hw(label = "hit, no other sharer")]
    Sole,
    /// An entry with other sharers.
    #[hw(label = "hit, other sharers")]
    Shared,
}

/// What is awaited of the group.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum ViGroup {
    /// Nothing.
    #[hw(label = "nothing")]
    Free,
    /// E: acknowledgements of an evicted entry's Invs.
    #[hw(label = "E")]
    Evicting,
    /// W: acknowledgements that a store waits for.
    #[hw(label = "W")]
    Written,
    /// Nothing that an older operation of the group, which waits in the queue, would not have to pass too.
    #[hw(label = "queued")]
    Behind,
}

/// What a row of the pending table is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum ViRow {
    /// W, by a store or atomic of another node.
    #[hw(label = "W remote")]
    Remote,
    /// W, by a store of the home.
    #[hw(label = "W local")]
    Local,
    /// E.
    #[hw(label = "E")]
    Evicted,
}

/// What an operation does. Without an action that names the new sharers they stay.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum ViAct {
    /// Allocate an entry.
    Allocate,
    /// The requester is the only sharer.
    OnlyRequester,
    /// The requester joins the sharers.
    AddRequester,
    /// Nobody is a sharer any more.
    Clear,
    /// The sharers but the requester get Invs: W begins.
    InvOthers,
    /// All sharers get Invs: W begins.
    InvAll,
    /// The way becomes the youngest under `lru`.
    Touch,
    /// Wait in the queue.
    Wait,
}

transitions! {
    /// The operations by what the lookup found and what is awaited; row names are ledger identifiers.
    pub fn operations() {
        name "gpu_vi_table", rows "gpu_vi.";
        on "op": DirOp, "found": ViFound, "awaited": ViGroup;
        next ViFound;
        does ViAct;

        "RD_REM.miss"       (RdRem, Miss, Free | Evicting)  -> Sole [Allocate, OnlyRequester, Touch] NEW;
        "RD_REM.sole"       (RdRem, Sole, Free | Evicting)          [AddRequester, Touch] "the requester joins the sharers";
        "RD_REM.shared"     (RdRem, Shared, Free | Evicting)         [AddRequester, Touch] "the requester joins the sharers";
        "RD_REM.written"    (RdRem, _, Written)                     [Wait] STORE;
        "RD_REM.behind"     (RdRem, _, Behind)                      [Wait] "it waits behind the older operation";
        "WR_REM.miss"       (WrRem, Miss, Free)             -> Sole [Allocate, OnlyRequester, Touch] NEW;
        "WR_REM.sole"       (WrRem, Sole, Free)                     [OnlyRequester, Touch] "the requester stays the only sharer";
        "WR_REM.shared"     (WrRem, Shared, Free)           -> Sole [OnlyRequester, InvOthers, Touch] TAKEN;
        "WR_REM.evicting"   (WrRem, _, Evicting)                    [Wait] EVICTING;
        "WR_REM.written"    (WrRem, _, Written)                     [Wait] STORE;
        "WR_REM.behind"     (WrRem, _, Behind)                      [Wait] "it waits behind the older operation";
        "WR_LOC.miss"       (WrLoc, Miss, Free)                     "nothing changes";
        "WR_LOC.shared"     (WrLoc, Shared, Free)           -> Miss [Clear, InvAll] WIPED;
        "WR_LOC.evicting"   (WrLoc, _, Evicting)                    [Wait] EVICTING;
        "WR_LOC.written"    (WrLoc, _, Written)                     [Wait] STORE;
        "WR_LOC.behind"     (WrLoc, _, Behind)                      [Wait] "it waits behind the older operation";
        "ATOM_REM.miss"     (AtomRem, Miss, Free)           -> Sole [Allocate, OnlyRequester, Touch] NEW;
        "ATOM_REM.sole"     (AtomRem, Sole, Free)                   [OnlyRequester, Touch] "the requester stays the only sharer";
        "ATOM_REM.shared"   (AtomRem, Shared, Free)         -> Sole [OnlyRequester, InvOthers, Touch] TAKEN;
        "ATOM_REM.evicting" (AtomRem, _, Evicting)                  [Wait] EVICTING;
        "ATOM_REM.written"  (AtomRem, _, Written)                   [Wait] STORE;
        "ATOM_REM.behind"   (AtomRem, _, Behind)                    [Wait] "it waits behind the older operation";
        never (WrLoc, Sole, _) "the home is no sharer of its own lines";
        never (Downgrade, _, _) "a slice with acknowledged Invs knows no downgrades";
    }
}

/// Of operations that find no entry.
const NEW: &str = "allocate an entry with the requester as its sharer";
/// Of those that wait.
const EVICTING: &str = "it waits until the Invs of the eviction are acknowledged";
const STORE: &str = "it waits until the store ahead of it has all acknowledgements";
/// What becomes of an entry whose other sharers lose their copies.
const TAKEN: &str = "the other sharers are invalidated, V->W; the answer waits for their acknowledgements, then W->V with the requester";
/// The same of a store of the home.
const WIPED: &str =
    "all sharers are invalidated, V->W; the answer waits for their acknowledgements, then W->I";

/// Everything that moves an entry, as one node sees it: what others ask for makes the entry shared, or takes it away; another base may take its way.
pub fn machine() -> Machine<ViFound> {
    use ViFound::*;
    Machine::new("entry", Miss).with(&operations()).also(&[Miss, Sole], Shared).also(&[Sole, Shared], Miss)
}

/// What an acknowledgement does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum ViAckAct {
    /// Answer the store.
    Answer,
}

transitions! {
    /// What an acknowledgement does to the row of the pending table that it counts against.
    pub fn acknowledgements() {
        name "gpu_vi_ack_table", rows "gpu_vi.ACK.";
        on "row": ViRow, "last": Is;
        does ViAckAct;

        "written"         (Remote | Local, No)         "one acknowledgement less is awaited; still W";
        "remote_complete" (Remote, Yes)       [Answer] "the store is answered; W->V with its source";
        "local_complete"  (Local, Yes)        [Answer] "the store is answered; W->I";
        "evicting"        (Evicted, No)                "one acknowledgement less is awaited; still E";
        "evicted"         (Evicted, Yes)               "all copies of the evicted entry are gone";
    }
}

//! Transition tables of the bank (rec.md sections 6.1 and 6.2, hmg.md section 5). What the specification calls an error is said to happen never.
//!
//! Lines of other homes that are not kept (`caching`) leave nothing: rows that install them lead to V or I.
//!
//! With write-back (hmg.md section 5.2) there are stores that a bank may hold, and lines with dirty bytes. D: a valid copy some bytes of which were written
//! here and have not gone on. W: only such bytes, nothing can be read. A mask says which bytes. [`L2Act::WriteOn`] sends them to the next home and leaves the
//! line clean (D to V, W to I); the operation itself then follows at once, on the network behind them. [`L2Act::Hold`] makes a line dirty that was not: the set
//! must have room for it. Stores that may not be held here pass as with write-through, and the mask forgets their bytes ([`L2Act::Unmark`]).

use weft_rtl::prelude::*;

/// States of a remote-homed line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum ReqState {
    /// Nothing.
    I,
    /// A copy.
    V,
    /// An MSHR waits for it.
    P,
    /// The same, poisoned: it is not installed.
    PX,
    /// A copy with dirty bytes (write-back).
    D,
    /// Dirty bytes alone (write-back).
    W,
}

/// Events of a remote-homed line; `_held` are stores of CU scope.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum ReqEvent {
    /// Load.
    #[hw(label = "load")]
    Load,
    /// Store of the whole line.
    #[hw(label = "store_full")]
    StoreFull,
    /// Other store.
    #[hw(label = "store_partial")]
    StorePartial,
    /// Atomic.
    #[hw(label = "atomic")]
    Atomic,
    /// The line comes.
    RdRsp,
    /// Invalidation.
    Inv,
    /// Load that no copy here may serve.
    #[hw(label = "load_forced")]
    LoadForced,
    /// Store of the whole line that may stay here.
    #[hw(label = "store_full_held")]
    StoreFullHeld,
    /// Other store that may stay here.
    #[hw(label = "store_partial_held")]
    StorePartialHeld,
}

/// States of a line whose GPU home is this bank.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum GpuState {
    /// Nothing.
    I,
    /// A copy.
    V,
    /// An MSHR waits for it.
    P,
    /// The same, poisoned: it is not installed.
    PX,
    /// An MSHR waits for it with atomics in its list.
    PA,
    /// The same, poisoned.
    PAX,
    /// A copy with dirty bytes (write-back).
    D,
    /// Dirty bytes alone (write-back).
    W,
}

/// Events of such a line, of this GPM and of other GPMs alike; forced loads are those of system scope, `_held` stores of up to GPU scope.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum GpuEvent {
    /// Load.
    #[hw(label = "load")]
    Load,
    /// Load that no copy here may serve.
    #[hw(label = "load_forced")]
    LoadForced,
    /// Store of the whole line.
    #[hw(label = "store_full")]
    StoreFull,
    /// Other store.
    #[hw(label = "store_partial")]
    StorePartial,
    /// Atomic of up to GPU scope.
    #[hw(label = "atomic_gpu")]
    AtomicGpu,
    /// Atomic of system scope.
    #[hw(label = "atomic_sys")]
    AtomicSys,
    /// The line comes.
    RdRsp,
    /// Invalidation.
    Inv,
    /// Store of the whole line that may stay here.
    #[hw(label = "store_full_held")]
    StoreFullHeld,
    /// Other store that may stay here.
    #[hw(label = "store_partial_held")]
    StorePartialHeld,
}

/// States of a home line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum HomeState {
    /// Nothing.
    I,
    /// A copy.
    V,
    /// A line that is newer than the DRAM.
    D,
    /// It is being fetched.
    F,
}

/// Events of a home line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum HomeEvent {
    /// Load.
    #[hw(label = "load")]
    Load,
    /// Store of the whole line.
    #[hw(label = "store_full")]
    StoreFull,
    /// Other store.
    #[hw(label = "store_partial")]
    StorePartial,
    /// Atomic.
    #[hw(label = "atomic")]
    Atomic,
    /// Read of another GPU.
    RdReq,
    /// Write of the whole line of another GPU.
    #[hw(label = "WrReq_full")]
    WrReqFull,
    /// Other write of another GPU.
    #[hw(label = "WrReq_partial")]
    WrReqPartial,
    /// Atomic of another GPU.
    AtomReq,
    /// The line comes from DRAM, and what waits is replayed.
    #[hw(label = "fill")]
    Fill,
    /// Invalidation.
    Inv,
}

/// What rows do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum L2Act {
    /// Open an MSHR and ask the next home for the line.
    #[hw(label = "open_read")]
    OpenRead,
    /// Take a way for a line that is written whole.
    #[hw(label = "install")]
    Install,
    /// Send a write to the home.
    #[hw(label = "send_write")]
    SendWrite,
    /// Send an atomic to the home.
    #[hw(label = "send_atomic")]
    SendAtomic,
    /// Count an invalidation that finds no copy.
    #[hw(label = "inv_miss")]
    InvMiss,
    /// Answer from the line.
    #[hw(label = "answer")]
    Answer,
    /// Write the line, or perform an atomic on it.
    #[hw(label = "update")]
    Update,
    /// Drop the copy.
    #[hw(label = "drop")]
    Drop,
    /// Count an invalidation that drops a copy.
    #[hw(label = "inv_hit")]
    InvHit,
    /// Join the MSHR.
    #[hw(label = "merge")]
    Merge,
    /// The fill will not be installed.
    #[hw(label = "poison")]
    Poison,
    /// Install what has come, if lines of its home are kept.
    #[hw(label = "install_fill")]
    InstallFill,
    /// Wait until the MSHR is freed.
    #[hw(label = "wait")]
    Wait,
    /// Open an MSHR and ask the DRAM for the line.
    #[hw(label = "fetch")]
    Fetch,
    /// Join the replay list.
    #[hw(label = "append")]
    Append,
    /// Pass a write on to the system home.
    #[hw(label = "pass_write")]
    PassWrite,
    /// The request is an atomic that is performed here when the line comes.
    #[hw(label = "await")]
    Await,
    /// Pass an atomic's result on as a write.
    #[hw(label = "pass_result")]
    PassResult,
    /// The line becomes dirty: its set must have room for it.
    #[hw(label = "hold")]
    Hold,
    /// The request's bytes are the dirty ones.
    #[hw(label = "mark")]
    Mark,
    /// The line is D.
    #[hw(label = "to_d")]
    ToD,
    /// Take a way for the bytes.
    #[hw(label = "allocate")]
    Allocate,
    /// The line is W.
    #[hw(label = "to_w")]
    ToW,
    /// Send the dirty bytes on first.
    #[hw(label = "write_on")]
    WriteOn,
    /// The request's bytes are dirty too.
    #[hw(label = "join")]
    Join,
    /// The line is V.
    #[hw(label = "to_v")]
    ToV,
    /// The request's bytes are not dirty any more.
    #[hw(label = "unmark")]
    Unmark,
}

transitions! {
    /// A remote-homed line in this bank (rec.md section 6.1); `forces`: the bank tells scopes apart; `holds`: stores stay here (hmg.md section 5.2), in a bank
    /// that does.
    pub fn requester(forces: bool, holds: bool) {
        name "l2_requester", rows "l2req.";
        on "state": ReqState, "event": ReqEvent;
        next ReqState;
        does L2Act;

        (I, Load)          -> P     [OpenRead]           "RdReq to the home, MSHR opened: P";
        (I, StoreFull)     -> V | I [Install, SendWrite] "installed whole, WrReq to the home: V";
        (I, StorePartial)           [SendWrite]          "WrReq to the home, no allocation";
        (I, Atomic)                 [SendAtomic]         "AtomReq to the home";
        (I, Inv)                    [InvMiss]            "counted as miss";
        (V, Load)                   [Answer]             "hit";
        (V, StoreFull)              [Update, SendWrite]  "copy updated, WrReq to the home";
        (V, StorePartial)           [Update, SendWrite]  "copy updated, WrReq to the home";
        (V, Atomic)        -> I     [Drop, SendAtomic]   "copy dropped, AtomReq to the home: I";
        (V, Inv)           -> I     [Drop, InvHit]       "copy dropped, counted by cause: I";
        (P, Load)                   [Merge]              "joins the MSHR, at most 8";
        (P, StoreFull)     -> PX    [SendWrite, Poison]  "WrReq to the home: PX";
        (P, StorePartial)  -> PX    [SendWrite, Poison]  "WrReq to the home: PX";
        (P, Atomic)        -> PX    [SendAtomic, Poison] "AtomReq to the home: PX";
        (P, RdRsp)         -> V | I [InstallFill]        "loads answered, line installed: V";
        (P, Inv)           -> PX    [Poison, InvMiss]    "the fill will not be installed: PX";
        (PX, Load)                  [Wait]               "waits until the MSHR is freed";
        (PX, StoreFull)             [SendWrite]          "WrReq to the home";
        (PX, StorePartial)          [SendWrite]          "WrReq to the home";
        (PX, Atomic)                [SendAtomic]         "AtomReq to the home";
        (PX, RdRsp)        -> I                          "loads answered, nothing installed: I";
        (PX, Inv)                   [InvMiss]            "stays poisoned";
        if forces {
            (I, LoadForced)  -> P [OpenRead]       "RdReq to the home, MSHR opened: P";
            (V, LoadForced)  -> P [Drop, OpenRead] "copy dropped, RdReq to the home: P";
            (P, LoadForced)       [Wait]           OLDER;
            (PX, LoadForced)      [Wait]           "waits until the MSHR is freed";
        } else {
            never (_, LoadForced) "this bank does not tell scopes apart";
        }
        if holds {
            (I, StoreFullHeld)     -> D  [Install, Hold, Mark, ToD] "installed whole, nothing is sent: D";
            (I, StorePartialHeld)  -> W  [Allocate, Hold, Mark, ToW] "a way takes the bytes, nothing is sent: W";
            (V, StoreFullHeld)     -> D  [Update, Hold, Mark, ToD] "copy updated, nothing is sent: D";
            (V, StorePartialHeld)  -> D  [Update, Hold, Mark, ToD] "copy updated, nothing is sent: D";
            (P, StoreFullHeld)     -> PX [SendWrite, Poison]    "WrReq to the home: PX";
            (P, StorePartialHeld)  -> PX [SendWrite, Poison]    "WrReq to the home: PX";
            (PX, StoreFullHeld)          [SendWrite]            "WrReq to the home";
            (PX, StorePartialHeld)       [SendWrite]            "WrReq to the home";
            (D, Load)                    [Answer]               "hit";
            (D, LoadForced)        -> V  [WriteOn]              "dirty bytes to the home, then again as V";
            (D, StoreFullHeld)           [Update, Join]         "copy updated, nothing is sent";
            (D, StorePartialHeld)        [Update, Join]         "copy updated, nothing is sent";
            (D, StoreFull)         -> V  [Update, SendWrite, ToV] "copy updated, WrReq of all bytes to the home: V";
            (D, StorePartial)            [Update, SendWrite, Unmark] "copy updated, WrReq to the home";
            (D, Atomic)            -> V  [WriteOn]              "dirty bytes to the home, then again as V";
            (D, Inv)               -> W  [ToW, InvHit]          "the clean bytes are dropped, counted by cause: W";
            (W, Load)              -> I  [WriteOn]              "dirty bytes to the home, then again as I";
            (W, LoadForced)        -> I  [WriteOn]              "dirty bytes to the home, then again as I";
            (W, StoreFullHeld)     -> D  [Update, Mark, ToD]    "every byte is known: D";
            (W, StorePartialHeld)        [Update, Join]         "further bytes, nothing is sent";
            (W, StoreFull)         -> V  [Update, SendWrite, ToV] "WrReq of all bytes to the home: V";
            (W, StorePartial)            [Update, SendWrite, Unmark] "WrReq to the home";
            (W, Atomic)            -> I  [WriteOn]              "dirty bytes to the home, then again as I";
            (W, Inv)                     [InvMiss]              "no clean byte is here, counted as miss";
        } else {
            never (_, StoreFullHeld | StorePartialHeld) "no store stays here";
            never (D | W, _) "no line of another home is dirty";
        }
        never (I | V | D | W, RdRsp) "an answer comes to a line that waits for it";
    }
}

transitions! {
    /// A line of another GPU whose GPU home is this bank (hmg.md section 5); `holds`: stores stay here.
    pub fn gpu_home(holds: bool) {
        name "l2_gpu_home", rows "l2gpu.";
        on "state": GpuState, "event": GpuEvent;
        next GpuState;
        does L2Act;

        (I, Load)           -> P     [OpenRead]           "RdReq to the system home, MSHR opened: P";
        (I, LoadForced)     -> P     [OpenRead]           "RdReq to the system home, MSHR opened: P";
        (I, StoreFull)      -> V | I [Install, PassWrite] "installed whole, WrReq to the system home: V";
        (I, StorePartial)            [PassWrite]          "WrReq to the system home, no allocation";
        (I, AtomicGpu)      -> PA    [OpenRead, Await]    "waits for the line: PA";
        (I, AtomicSys)               [SendAtomic]         "AtomReq to the system home";
        (I, Inv)                     [InvMiss]            "counted as miss, passed on by the directory";
        (V, Load)                    [Answer]             "hit";
        (V, LoadForced)     -> P     [Drop, OpenRead]     "copy dropped, RdReq to the system home: P";
        (V, StoreFull)               [Update, PassWrite]  "copy updated, WrReq to the system home";
        (V, StorePartial)            [Update, PassWrite]  "copy updated, WrReq to the system home";
        (V, AtomicGpu)               [Update, PassResult] RESULT_PASSED;
        (V, AtomicSys)      -> I     [Drop, SendAtomic]   "copy dropped, AtomReq to the system home: I";
        (V, Inv)            -> I     [Drop, InvHit]       DROPPED;
        (P, Load)                    [Merge]              "joins the MSHR, at most 8";
        (P, LoadForced)              [Wait]               OLDER;
        (P, StoreFull)      -> PX    [PassWrite, Poison]  "WrReq to the system home: PX";
        (P, StorePartial)   -> PX    [PassWrite, Poison]  "WrReq to the system home: PX";
        (P, AtomicGpu)      -> PA    [Merge, Await]       "joins the MSHR, at most 8: PA";
        (P, AtomicSys)      -> PX    [SendAtomic, Poison] "AtomReq to the system home: PX";
        (P, RdRsp)          -> V | I [InstallFill]        "loads answered, line installed: V";
        (P, Inv)            -> PX    [Poison, InvMiss]    "the fill will not be installed: PX";
        (PX, Load)                   [Wait]               "waits until the MSHR is freed";
        (PX, LoadForced)             [Wait]               "waits until the MSHR is freed";
        (PX, StoreFull)              [PassWrite]          "WrReq to the system home";
        (PX, StorePartial)           [PassWrite]          "WrReq to the system home";
        (PX, AtomicGpu)              [Wait]               "waits until the MSHR is freed";
        (PX, AtomicSys)              [SendAtomic]         "AtomReq to the system home";
        (PX, RdRsp)         -> I                          "loads answered, nothing installed: I";
        (PX, Inv)                    [InvMiss]            "stays poisoned";
        (PA, Load)                   [Merge]              "joins the MSHR behind the atomic";
        (PA, LoadForced)             [Wait]               "waits until the MSHR is freed";
        (PA, StoreFull)              [Wait]               ATOMIC_FIRST;
        (PA, StorePartial)           [Wait]               ATOMIC_FIRST;
        (PA, AtomicGpu)              [Merge, Await]       "joins the MSHR, at most 8";
        (PA, AtomicSys)              [Wait]               "the other atomic comes first: waits until the MSHR is freed";
        (PA, RdRsp)         -> V | I [InstallFill]        REPLAYED;
        (PA, Inv)           -> PAX   [Poison, InvMiss]    "the fill will not be installed: PAX";
        (PAX, Load)                  [Wait]               "waits until the MSHR is freed";
        (PAX, LoadForced)            [Wait]               "waits until the MSHR is freed";
        (PAX, StoreFull)             [Wait]               "waits until the MSHR is freed";
        (PAX, StorePartial)          [Wait]               "waits until the MSHR is freed";
        (PAX, AtomicGpu)             [Wait]               "waits until the MSHR is freed";
        (PAX, AtomicSys)             [Wait]               "waits until the MSHR is freed";
        (PAX, RdRsp)        -> I                          REPLAYED_ONCE;
        (PAX, Inv)                   [InvMiss]            "stays poisoned";
        if holds {
            (I, StoreFullHeld)      -> D  [Install, Hold, Mark, ToD] "installed whole, nothing is passed on: D";
            (I, StorePartialHeld)   -> W  [Allocate, Hold, Mark, ToW] "a way takes the bytes, nothing is passed on: W";
            (V, StoreFullHeld)      -> D  [Update, Hold, Mark, ToD] "copy updated, nothing is passed on: D";
            (V, StorePartialHeld)   -> D  [Update, Hold, Mark, ToD] "copy updated, nothing is passed on: D";
            (P, StoreFullHeld)      -> PX [PassWrite, Poison]    "WrReq to the system home: PX";
            (P, StorePartialHeld)   -> PX [PassWrite, Poison]    "WrReq to the system home: PX";
            (PX, StoreFullHeld)           [PassWrite]            "WrReq to the system home";
            (PX, StorePartialHeld)        [PassWrite]            "WrReq to the system home";
            (PA, StoreFullHeld)           [Wait]                 ATOMIC_FIRST;
            (PA, StorePartialHeld)        [Wait]                 ATOMIC_FIRST;
            (PAX, StoreFullHeld)          [Wait]                 "waits until the MSHR is freed";
            (PAX, StorePartialHeld)       [Wait]                 "waits until the MSHR is freed";
            (D, Load)                     [Answer]               "hit";
            (D, LoadForced)         -> V  [WriteOn]              "dirty bytes to the system home, then again as V";
            (D, StoreFullHeld)            [Update, Join]         "copy updated, nothing is passed on";
            (D, StorePartialHeld)         [Update, Join]         "copy updated, nothing is passed on";
            (D, StoreFull)          -> V  [Update, PassWrite, ToV] WHOLE_PASSED;
            (D, StorePartial)             [Update, PassWrite, Unmark] "copy updated, WrReq to the system home";
            (D, AtomicGpu)                [Update, PassResult, Unmark] RESULT_PASSED;
            (D, AtomicSys)          -> V  [WriteOn]              "dirty bytes to the system home, then again as V";
            (D, Inv)                -> W  [ToW, InvHit]          CLEAN_DROPPED;
            (W, Load)               -> I  [WriteOn]              "dirty bytes to the system home, then again as I";
            (W, LoadForced)         -> I  [WriteOn]              "dirty bytes to the system home, then again as I";
            (W, StoreFullHeld)      -> D  [Update, Mark, ToD]    "every byte is known: D";
            (W, StorePartialHeld)         [Update, Join]         "further bytes, nothing is passed on";
            (W, StoreFull)          -> V  [Update, PassWrite, ToV] "WrReq of all bytes to the system home: V";
            (W, StorePartial)             [Update, PassWrite, Unmark] "WrReq to the system home";
            (W, AtomicGpu)          -> I  [WriteOn]              "dirty bytes to the system home, then again as I";
            (W, AtomicSys)          -> I  [WriteOn]              "dirty bytes to the system home, then again as I";
            (W, Inv)                      [InvMiss]              NONE_CLEAN;
        } else {
            never (_, StoreFullHeld | StorePartialHeld) "no store stays here";
            never (D | W, _) "no line of another home is dirty";
        }
        never (I | V | D | W, RdRsp) "an answer comes to a line that waits for it";
    }
}

transitions! {
    /// A line whose home is this bank (rec.md section 6.2).
    pub fn home() {
        name "l2_home", rows "l2home.";
        on "state": HomeState, "event": HomeEvent;
        next HomeState;
        does L2Act;

        (I, Load)         -> F     [Fetch]       "fetched from DRAM: F";
        (I, StoreFull)    -> D     [Install]     "installed whole: D";
        (I, StorePartial) -> F     [Fetch]       "fetched from DRAM: F";
        (I, Atomic)       -> F     [Fetch]       "fetched from DRAM: F";
        (I, RdReq)        -> F     [Fetch]       "fetched from DRAM: F";
        (I, WrReqFull)    -> D     [Install]     "installed whole: D";
        (I, WrReqPartial) -> F     [Fetch]       "fetched from DRAM: F";
        (I, AtomReq)      -> F     [Fetch]       "fetched from DRAM: F";
        (V, Load)                  [Answer]      "hit";
        (V, StoreFull)    -> D     [Update]      "updated: D";
        (V, StorePartial) -> D     [Update]      "updated: D";
        (V, Atomic)       -> D     [Update]      "performed: D";
        (V, RdReq)                 [Answer]      "RdRsp";
        (V, WrReqFull)    -> D     [Update]      "updated: D";
        (V, WrReqPartial) -> D     [Update]      "updated: D";
        (V, AtomReq)      -> D     [Update]      "performed, AtomRsp: D";
        (D, Load)                  [Answer]      "hit";
        (D, StoreFull)             [Update]      "updated";
        (D, StorePartial)          [Update]      "updated";
        (D, Atomic)                [Update]      "performed";
        (D, RdReq)                 [Answer]      "RdRsp";
        (D, WrReqFull)             [Update]      "updated";
        (D, WrReqPartial)          [Update]      "updated";
        (D, AtomReq)               [Update]      "performed, AtomRsp";
        (F, Load)                  [Append]      "joins the replay list, at most 8";
        (F, StoreFull)             [Append]      "joins the replay list, at most 8";
        (F, StorePartial)          [Append]      "joins the replay list, at most 8";
        (F, Atomic)                [Append]      "joins the replay list, at most 8";
        (F, RdReq)                 [Append]      "joins the replay list, at most 8";
        (F, WrReqFull)             [Append]      "joins the replay list, at most 8";
        (F, WrReqPartial)          [Append]      "joins the replay list, at most 8";
        (F, AtomReq)               [Append]      "joins the replay list, at most 8";
        (F, Fill)         -> V | D [InstallFill] "replayed in order: V or D";
        never (I | V | D, Fill) "an answer of the DRAM comes to a line that is being fetched";
        never (_, Inv)          "a home is never asked to invalidate its own line";
    }
}

const OLDER: &str = "the older read may return older data: waits until the MSHR is freed";
const REPLAYED: &str = "list replayed in order, results sent to the system home, line installed: V";
const REPLAYED_ONCE: &str = "list replayed in order, results sent to the system home, nothing installed: I";

const DROPPED: &str = "copy dropped, counted by cause, passed on by the directory: I";
const CLEAN_DROPPED: &str = "the clean bytes are dropped, counted by cause, passed on by the directory: W";
const ATOMIC_FIRST: &str = "the atomic comes first: waits until the MSHR is freed";
const WHOLE_PASSED: &str = "copy updated, WrReq of all bytes to the system home: V";
const RESULT_PASSED: &str = "performed, its result to the system home as WrReq";
const NONE_CLEAN: &str = "no clean byte is here, counted as miss, passed on by the directory";

/// Everything that moves a remote-homed line; also its way is taken for another line, or a drop command ends it, and dirty bytes alone stay.
pub fn requester_machine(forces: bool, holds: bool) -> Machine<ReqState> {
    use ReqState::*;
    let moves =
        Machine::new("remote-homed line", I).with(&requester(forces, holds)).also(&[V], I).also(&[P], PX);
    if holds { moves.also(&[D], W).also(&[D], V).also(&[W], I) } else { moves }
}

/// The same of a line whose GPU home is this bank.
pub fn gpu_home_machine(holds: bool) -> Machine<GpuState> {
    use GpuState::*;
    let moves = Machine::new("line at its GPU home", I).with(&gpu_home(holds));
    let moves = moves.also(&[V], I).also(&[P], PX).also(&[PA], PAX);
    if holds { moves.also(&[D], W).also(&[D], V).also(&[W], I) } else { moves }
}

/// Everything that moves a home line; also a flush cleans it, or its way is taken for another line.
pub fn home_machine() -> Machine<HomeState> {
    use HomeState::*;
    Machine::new("home line", I).with(&home()).also(&[D], V).also(&[V, D], I)
}

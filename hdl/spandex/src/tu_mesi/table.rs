//! The unit's transition tables (spandex.md sections 5 and 6).
//!
//! | where the words of a line are | meaning |
//! | --- | --- |
//! | NONE | nowhere: I |
//! | S | the L1 has a shared copy |
//! | O | the L1 owns the line, E or M |
//! | PD | a request is out, or all words have come and wait to be installed |
//! | WB | in the write-back buffer: replaced |
//! | WBP | in the L1, written back in place |

use crate::mesi_port::LineState;
use crate::msg::{FwdOp, RspOp};
use weft_rtl::prelude::*;

/// Where the words of a line are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum Place {
    /// Nowhere.
    #[hw(label = "NONE")]
    None,
    /// Shared copy in the L1.
    S,
    /// Owned by the L1.
    O,
    /// Asked for.
    #[hw(label = "PD")]
    Pd,
    /// In the write-back buffer.
    #[hw(label = "WB")]
    Wb,
    /// Being written back from the L1.
    #[hw(label = "WBP")]
    Wbp,
}

/// What else a forward meets: of an owned line, which of its words go; of a ReqV and a line that is asked for, the slot for a delayed ReqV.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 1)]
pub enum Case {
    /// All words go; the slot is free. Elsewhere there is no distinction.
    #[hw(label = "all, free")]
    Plain,
    /// Some words go; the slot is taken.
    #[hw(label = "part, busy")]
    Other,
}

/// What a response answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum Awaited {
    /// Nothing.
    #[hw(label = "-")]
    None,
    /// A ReqS.
    ReqS,
    /// A ReqO+data.
    #[hw(label = "ReqO+data")]
    ReqO,
    /// A write-back of the buffer.
    #[hw(label = "WB")]
    Wb,
    /// A write-back in place.
    #[hw(label = "WBP")]
    Wbp,
}

/// What all responses of a request were.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Outcome {
    /// RspS.
    #[hw(label = "RspS")]
    S,
    /// RspV.
    #[hw(label = "RspV")]
    V,
    /// RspO+data.
    #[hw(label = "RspO+data")]
    O,
}

/// What a forward does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Forward {
    /// RspV.
    Serve,
    /// It is a read, and waits for the line.
    Delay,
    /// NackV.
    Refuse,
    /// RspO or RspWT.
    Grant,
    /// RspO+data.
    Give,
    /// RspRvkO.
    Return,
    /// RspS and RspRvkO.
    Share,
    /// RspRvkO without data.
    Nodata,
    /// RspRvkO says that the L1 keeps a copy.
    Keep,
    /// The other words are written back in place.
    Trigger,
    /// Its words are the device's no more, though their write-back is open.
    Leave,
    /// It is a removal, and waits for the line.
    Record,
    /// RspWT.
    Write,
    /// NackWT.
    #[hw(label = "NackWT")]
    NackWt,
    /// Ack.
    Ack,
    /// A shared answer is used once.
    Once,
}

transitions! {
    /// What a forward does. A write-back in place whose last word goes ends later, when the L1 is told.
    pub fn forwards() {
        name "tu_mesi_forwards", rows "spandex.tu_mesi.";
        on "forward": FwdOp, "direct": Is, "words": Place, "case": Case;
        next Place;
        does Forward;

        "ReqV.O"          (ReqV, _, O, _)              [Serve]           "RspV, with extras if welcome.";
        "ReqV.PD"         (ReqV, No, Pd, Plain)        [Delay]           "Delayed; words that go already: NackV.";
        "ReqV.PD.busy"    (ReqV, No, Pd, Other)        [Refuse]          "One is delayed already: NackV.";
        "ReqV.WB"         (ReqV, No, Wb, _)            [Serve]           "RspV from the buffer; closed words: NackV.";
        "ReqV.WBP"        (ReqV, No, Wbp, _)           [Serve]           "RspV from the L1; closed words: NackV.";
        "ReqV.none"       (ReqV, No, None | S, _)      [Refuse]          "NackV.";
        "ReqV.direct"     (ReqV, Yes, None | S | Pd | Wb | Wbp, _) [Refuse] "Nack: not in O.";
        "ReqO.O"          (ReqO, _, O, Plain) -> None  [Grant]           "I; RspO or RspWT.";
        "ReqO.O.part"     (ReqO, _, O, Other) -> Wbp   [Grant, Trigger]  "The same; others to WBP.";
        "ReqO.PD"         (ReqO, _, Pd, _)             [Record]          "Delayed.";
        "ReqO.WB"         (ReqO, _, Wb, _) -> Wb | None [Grant, Leave]   "RspO or RspWT.";
        "ReqO.WBP"        (ReqO, _, Wbp, _)            [Grant, Leave]    "RspO or RspWT.";
        "ReqOdata.O"      (ReqOData, _, O, Plain) -> None [Give]         "I; RspO+data.";
        "ReqOdata.O.part" (ReqOData, _, O, Other) -> Wbp [Give, Trigger] "The same; others to WBP.";
        "ReqOdata.PD"     (ReqOData, _, Pd, _)         [Record]          "Delayed.";
        "ReqOdata.WB"     (ReqOData, _, Wb, _) -> Wb | None [Give, Leave] "RspO+data.";
        "ReqOdata.WBP"    (ReqOData, _, Wbp, _)        [Give, Leave]     "RspO+data.";
        "RvkO.O"          (RvkO, _, O, Plain) -> None  [Return]          "I; RspRvkO with data.";
        "RvkO.O.part"     (RvkO, _, O, Other) -> Wbp   [Return, Trigger] "The same; others to WBP.";
        "RvkO.PD"         (RvkO, _, Pd, _)             [Record]          "Delayed.";
        "RvkO.WB"         (RvkO, _, Wb, _) -> Wb | None [Return, Nodata, Leave] "RspRvkO{nodata}.";
        "RvkO.WBP"        (RvkO, _, Wbp, _)            [Return, Nodata, Leave] "RspRvkO{nodata}.";
        "ReqS.O"          (ReqS, _, O, Plain) -> S     [Share, Keep]     "S; RspS, RspRvkO{kept_s}.";
        "ReqS.O.part"     (ReqS, _, O, Other) -> Wbp   [Share, Trigger]  "RspS, RspRvkO; others to WBP.";
        "ReqS.PD"         (ReqS, _, Pd, _)             [Record]          "Delayed.";
        "ReqS.WB"         (ReqS, _, Wb, _) -> Wb | None [Share, Nodata, Leave] "RspS, RspRvkO{nodata}.";
        "ReqS.WBP"        (ReqS, _, Wbp, _)            [Share, Nodata, Leave] "RspS, RspRvkO{nodata}.";
        "ReqWT.O"         (ReqWt, _, O, _)             [Write]           "Words written, M; RspWT.";
        "ReqWT.none"      (ReqWt, _, None | S | Pd | Wb | Wbp, _) [NackWt] "NackWT.";
        "Inv.PD"          (Inv, _, Pd, _)              [Ack, Once]       "Ack; a shared answer is used once.";
        "Inv.S"           (Inv, _, S, _) -> None       [Ack]             "I; Ack.";
        "Inv.none"        (Inv, _, None | O | Wb | Wbp, _) [Ack]         "Ack: the copy is gone.";
        never (ReqO | ReqOData | RvkO | ReqS, _, None | S, _)
            "a removal is sent for words that are here, once per ownership";
        never (ReqO | ReqOData | RvkO | ReqS | Inv, Yes, _, _)  "only ReqV and ReqWT are sent to a likely owner";
        never (_, _, None | S | Wb | Wbp, Other)
            "only owned lines go in part, only an entry has a slot for a read";
    }
}

/// What a response does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Answered {
    /// Its words go into the line buffer.
    Store,
    /// They are not to be had so.
    Fail,
    /// Every word of the entry has been answered.
    Complete,
    /// Words of the buffer are written back.
    Close,
}

transitions! {
    /// What a response does. `last`: every word has been answered. Entries and lines in place are moved later, by the engine.
    pub fn responses() {
        name "tu_mesi_responses", rows "spandex.tu_mesi.";
        on "response": RspOp, "awaited": Awaited, "last": Is;
        does Answered;

        "RspS.part"       (RspS, ReqS, No)      [Store]           "Others are awaited.";
        "RspS.last"       (RspS, ReqS, Yes)     [Store, Complete] "The line is whole.";
        "RspV.part"       (RspV, ReqS, No)      [Store]           "Others are awaited.";
        "RspV.last"       (RspV, ReqS, Yes)     [Store, Complete] "The line is whole, or not to be had so.";
        "NackV.part"      (NackV, ReqS, No)     [Fail]            "Others are awaited.";
        "NackV.last"      (NackV, ReqS, Yes)    [Fail, Complete]  "Ask again, by ReqO+data.";
        "Grant.ReqS.part" (RspOData, ReqS, No)  [Store]           "Option 3; others are awaited.";
        "Grant.ReqS.last" (RspOData, ReqS, Yes) [Store, Complete] "Option 3; the line is whole.";
        "Grant.ReqO.part" (RspOData, ReqO, No)  [Store]           "Others are awaited.";
        "Grant.ReqO.last" (RspOData, ReqO, Yes) [Store, Complete] "The line is whole.";
        "RspWB.WB"        (RspWb, Wb, _)        [Close]           "Words close, but for crossed ones.";
        "RspWB.WBP"       (RspWb, Wbp, _)                         "Words close, but for crossed ones.";
        never (RspS | RspV | NackV, None | ReqO | Wb | Wbp, _)    "they answer ReqS";
        never (RspOData, None | Wb | Wbp, _)                      "it answers ReqS and ReqO+data";
        never (RspWb, None | ReqS | ReqO, _)                      "it answers ReqWB";
        never (RspO | RspWt | RspWtData | NackWt, _, _)
            "the unit asks for no ownership without data, and writes nothing through";
        never (RspRvkO | Ack, _, _)                               "they go to banks";
    }
}

/// As what a line is installed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Install {
    /// Shared.
    Shared,
    /// It serves the loads that wait.
    Once,
    /// Owned.
    Owned,
    /// Owned, and written back in place.
    Held,
}

transitions! {
    /// As what a whole line is installed. `once`: Inv has come for it; `taken`: removals have come for some of its words.
    pub fn installs() {
        name "tu_mesi_installs", rows "spandex.tu_mesi.";
        on "answers": Outcome, "once": Is, "taken": Is;
        next LineState;
        does Install;

        "Data.S"       (S, No, No)  -> S       [Shared] "S.";
        "Data.S.once"  (S, Yes, No) -> I       [Once]   "Used once: the LLC no longer counts this copy.";
        "Data.V"       (V, _, No)   -> I       [Once]   "Used once: nobody will invalidate it.";
        "Data.O"       (O, _, No)   -> E | M   [Owned]  "E, or M if others have written it; Inv is older.";
        "Data.O.taken" (O, _, Yes)  -> WE | WM [Held]   "WBP: the core's operations, then the removals.";
        never (S | V, _, Yes)                           "only words that are owned are removed";
    }
}

/// Everything that moves a line.
pub fn machine() -> Machine<Place> {
    use Place::{None, O, Pd, S, Wb, Wbp};
    Machine::new("where the words of a line are", None)
        .with(&forwards())
        // The L1 asks, drops a shared copy, replaces an owned line.
        .also(&[None, S], Pd)
        .also(&[S], None)
        .also(&[O], Wb)
        // A line is installed, used once, or taken meanwhile.
        .also(&[Pd], S)
        .also(&[Pd], O)
        .also(&[Pd], None)
        .also(&[Pd], Wbp)
        // The last word of a write-back closes; of one in place all words may have been wanted shared.
        .also(&[Wb, Wbp], None)
        .also(&[Wbp], S)
}

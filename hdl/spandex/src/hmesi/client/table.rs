//! The client's transition tables (spandex.md section 9).
//!
//! SM is IM here: the L1 does not use a copy that it upgrades. The tables name no next state: lines change in the L1, by the lookup that comes before, and in marks of entries.

use crate::hmesi::msg::{HFwdOp, HRspOp};
use weft_rtl::prelude::*;

/// Where a line is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 4)]
pub enum Place {
    /// Nowhere.
    I,
    /// In the L1.
    S,
    /// In the L1.
    E,
    /// In the L1.
    M,
    /// GetS is out.
    #[hw(label = "IS")]
    Is,
    /// GetS is out, Inv has come.
    #[hw(label = "ISI")]
    Isi,
    /// GetM is out.
    #[hw(label = "IM")]
    Im,
    /// In the write-back buffer.
    #[hw(label = "MI")]
    Mi,
    /// In the write-back buffer; another has the line.
    #[hw(label = "II")]
    Ii,
}

/// What a forward does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Forward {
    /// DataS or DataM to the requestor.
    Data,
    /// WbData to the L3.
    Back,
    /// A shared copy stays.
    Kept,
    /// The line in the write-back buffer has another owner.
    Gone,
    /// InvAck.
    Ack,
    /// The line that is to come is used once.
    Once,
}

transitions! {
    /// What a forward does.
    pub fn forwards() {
        name "hmesi_client_forwards", rows "spandex.hmesi_client.";
        on "forward": HFwdOp, "line": Place;
        does Forward;

        (FwdGetS, E)  [Data, Back, Kept]  "S; DataS to the requestor, WbData";
        (FwdGetS, M)  [Data, Back, Kept]  "S; DataS to the requestor, WbData with data";
        (FwdGetS, Mi) [Data, Back, Gone]  "II; DataS from the buffer, WbData";
        (FwdGetM, E)  [Data]              "I; DataM(0) to the requestor";
        (FwdGetM, M)  [Data]              "I; DataM(0) to the requestor";
        (FwdGetM, Mi) [Data, Gone]        "II; DataM(0) from the buffer";
        (Recall, E)   [Back]              "I; WbData";
        (Recall, M)   [Back]              "I; WbData with data";
        (Recall, Mi)  [Back, Gone]        "II; WbData";
        (Inv, S)      [Ack]               "I; InvAck";
        (Inv, Is)     [Ack, Once]         "ISI; InvAck";
        (Inv, Isi)    [Ack]               "InvAck";
        (Inv, Im)     [Ack]               "InvAck";
        (Inv, I)      [Ack]               "InvAck: the copy was dropped";
        never (FwdGetS | FwdGetM | Recall, I | S | Is | Isi | Im) "the L3 sends them to the owner, which has unblocked the line";
        never (FwdGetS | FwdGetM | Recall, Ii) "a line that another has taken has another owner until WBAck";
        never (Inv, E | M | Mi | Ii) "the L3 grants ownership when every Inv of the line is answered";
    }
}

/// What a response does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Respond {
    /// The line into its buffer.
    Store,
    /// Everything has come.
    Full,
    /// InvAcks are counted.
    Count,
    /// The entry of the write-back buffer is free.
    Close,
}

transitions! {
    /// What a response does. `last`: with it everything has come.
    pub fn responses() {
        name "hmesi_client_responses", rows "spandex.hmesi_client.";
        on "response": HRspOp, "line": Place, "last": Is;
        does Respond;

        "DataS.IS"       (DataS, Is, _)     [Store, Full]         "S; Unblock if from an owner";
        "DataS.ISI"      (DataS, Isi, _)    [Store, Full]         "used once, I; Unblock if from an owner";
        "DataE.IS"       (DataE, Is, _)     [Store, Full]         "E; UnblockX";
        "DataE.ISI"      (DataE, Isi, _)    [Store, Full]         "E; UnblockX: Inv is older";
        "DataM.IM.part"  (DataM, Im, No)    [Store, Count]        "InvAcks are to come";
        "DataM.IM.last"  (DataM, Im, Yes)   [Store, Count, Full]  "M; UnblockX";
        "InvAck.IM.part" (InvAck, Im, No)   [Count]               "others, or DataM, are to come";
        "InvAck.IM.last" (InvAck, Im, Yes)  [Count, Full]         "M; UnblockX";
        "WBAck.MI"       (WbAck, Mi, _)     [Close]               "I";
        "WBAck.II"       (WbAck, Ii, _)     [Close]               "I";
        never (DataS | DataE, I | S | E | M | Im | Mi | Ii, _)          "they answer a GetS, once";
        never (DataM | InvAck, I | S | E | M | Is | Isi | Mi | Ii, _)   "they answer a GetM, which waits for all of them";
        never (WbAck, I | S | E | M | Is | Isi | Im, _)                 "it answers a Put, once";
        never (WbData | Unblock | UnblockX, _, _)                       "they go to the L3";
    }
}

/// All tables as a page.
pub fn page() -> String {
    format!("Forwards:\n\n{}\nResponses:\n\n{}", forwards().to_markdown(), responses().to_markdown())
}

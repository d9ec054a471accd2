//! Faults to plant (moesi.md section 10): exploration must find each.

/// One thing done wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slip {
    /// FwdM leaves the copy of the owner.
    FwdMLeaves,
    /// An Inv is acknowledged and not applied.
    InvNotApplied,
    /// E is granted beside a sharer.
    EBesideSharer,
    /// Done is sent before what has waited is performed.
    DoneEarly,
    /// One Ack too few is awaited.
    AckTooFew,
    /// The own copy of the home stays in the turn of a GetM.
    OwnStays,
    /// A stale Put with data writes memory.
    StalePutWrites,
    /// A release does not wait for stores.
    ReleaseDoesNotWait,
    /// No row keeps the line until a Put that is taken is in memory.
    TakenWithoutRow,
    /// Data is taken only if there is room for its Done.
    DoneNeedsRoom,
    /// A load hits the copy while an older store of the node waits.
    LoadPassesStore,
    /// A copy may be replaced while its own GetM is under way.
    ReplaceUnderWay,
    /// A request of the own node does not wait for the PutAck of its line.
    RequestPassesPut,
    /// An operation that waits for a way keeps a row of the pending table.
    RowBeforeWay,
    /// The last Ack is taken only if INV has room for the forward that follows.
    AckNeedsRoom,
    /// A request that REQ or the slice does not take holds the bank.
    RequestHoldsBank,
    /// Recall answers without data from M.
    BackWithoutData,
    /// The flag "alone" is decided before the operation has its place in the order of the slice's input.
    AloneIsStale,
    /// A GetS does not wait for the own MSHR of the line, and the flag looks at the own copy only.
    FlagIgnoresMshr,
    /// A GetM that enters leaves the own S copy of the home.
    SCopyStaysAtEntry,
    /// Requests of other nodes do not wait while the own bank has an MSHR of the line.
    RemotePassesOwnMshr,
    /// An own request passes an older one of another node for the same line in the slice's queue.
    OwnPassesInQueue,
}

impl Slip {
    /// All.
    pub const ALL: [Slip; 22] = [
        Slip::FwdMLeaves,
        Slip::InvNotApplied,
        Slip::EBesideSharer,
        Slip::DoneEarly,
        Slip::AckTooFew,
        Slip::OwnStays,
        Slip::StalePutWrites,
        Slip::ReleaseDoesNotWait,
        Slip::TakenWithoutRow,
        Slip::DoneNeedsRoom,
        Slip::LoadPassesStore,
        Slip::ReplaceUnderWay,
        Slip::RequestPassesPut,
        Slip::RowBeforeWay,
        Slip::AckNeedsRoom,
        Slip::RequestHoldsBank,
        Slip::BackWithoutData,
        Slip::AloneIsStale,
        Slip::FlagIgnoresMshr,
        Slip::SCopyStaysAtEntry,
        Slip::RemotePassesOwnMshr,
        Slip::OwnPassesInQueue,
    ];

    /// Identifier.
    pub fn id(self) -> &'static str {
        match self {
            Slip::FwdMLeaves => "moesi.slip.fwdm_leaves",
            Slip::InvNotApplied => "moesi.slip.inv_not_applied",
            Slip::EBesideSharer => "moesi.slip.e_beside_sharer",
            Slip::DoneEarly => "moesi.slip.done_early",
            Slip::AckTooFew => "moesi.slip.ack_too_few",
            Slip::OwnStays => "moesi.slip.own_stays",
            Slip::StalePutWrites => "moesi.slip.stale_put_writes",
            Slip::ReleaseDoesNotWait => "moesi.slip.release_does_not_wait",
            Slip::TakenWithoutRow => "moesi.slip.taken_without_row",
            Slip::DoneNeedsRoom => "moesi.slip.done_needs_room",
            Slip::LoadPassesStore => "moesi.slip.load_passes_store",
            Slip::ReplaceUnderWay => "moesi.slip.replace_under_way",
            Slip::RequestPassesPut => "moesi.slip.request_passes_put",
            Slip::RowBeforeWay => "moesi.slip.row_before_way",
            Slip::AckNeedsRoom => "moesi.slip.ack_needs_room",
            Slip::RequestHoldsBank => "moesi.slip.request_holds_bank",
            Slip::BackWithoutData => "moesi.slip.back_without_data",
            Slip::AloneIsStale => "moesi.slip.alone_is_stale",
            Slip::FlagIgnoresMshr => "moesi.slip.flag_ignores_mshr",
            Slip::SCopyStaysAtEntry => "moesi.slip.s_copy_stays_at_entry",
            Slip::RemotePassesOwnMshr => "moesi.slip.remote_passes_own_mshr",
            Slip::OwnPassesInQueue => "moesi.slip.own_passes_in_queue",
        }
    }
}

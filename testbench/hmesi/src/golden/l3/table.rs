//! The table of the L3, once, as data.

use State::*;

/// Column: state of a line. `C`: no upper copy.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum State {
    /// Absent.
    I,
    /// No upper copy.
    C,
    /// Shared by clients.
    Ss,
    /// One client has it in E or M.
    Mt,
    /// Fetched from memory.
    Fetch,
    /// busy-X: UnblockX is waited for.
    BusyX,
    /// busy-IIB: WbData and Unblock are waited for.
    BusyIib,
    /// Of busy-IIB: WbData is waited for.
    BusyWbData,
    /// Of busy-IIB: Unblock is waited for.
    BusyUnblock,
    /// Evicted: InvAcks are waited for.
    EvictSs,
    /// Evicted: WbData is waited for.
    EvictMt,
}

/// Number of columns.
pub const STATES: usize = 11;

/// Row: what comes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Event {
    GetS,
    GetM,
    /// From the owner of an MT line.
    PutOwner,
    /// Any other.
    PutOther,
    /// The line is replaced.
    Evict,
    /// Memory returns the line.
    Memory,
    UnblockX,
    Unblock,
    WbData,
    /// InvAck, others are to come.
    InvAck,
    /// The last InvAck.
    LastInvAck,
}

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Act {
    /// Waits, REQ in a list and a Put at the head of WB.
    Stall,
    /// Reads memory; the request follows when the line is there.
    Read,
    /// The line is there: the request that fetched it follows.
    Fill,
    /// DataE to the requestor.
    DataE,
    /// DataS to the requestor.
    DataS,
    /// Inv to the sharers but the requestor, acknowledged to it; DataM with their number.
    InvDataM,
    /// DataM(0) to the requestor.
    DataM,
    /// FwdGetS to the owner.
    FwdGetS,
    /// FwdGetM to the owner.
    FwdGetM,
    /// The requestor is the owner from now on, once it unblocks.
    Own,
    /// The requestor is a sharer.
    Share,
    /// The old owner is a sharer if it kept a copy.
    Kept,
    /// Takes the data if it is dirty.
    Take,
    /// WBAck.
    WbAck,
    /// Inv to all sharers, acknowledged to the L3.
    Inv,
    /// Recall to the owner.
    Recall,
    /// Writes memory if the line is dirty.
    Write,
    /// Not a victim now.
    Refuse,
    /// Cannot be.
    Never,
}

/// A cell: what is done, and the next state.
pub type Cell = (&'static [Act], State);

/// Number of rows.
pub const EVENTS: usize = 11;

const STAY: &[Act] = &[Act::Stall];
const NO: &[Act] = &[Act::Never];
const NOT: &[Act] = &[Act::Refuse];

/// A row in which some columns differ from the rest, which leaves the state as it is.
const fn row(rest: &'static [Act], but: &[(State, Cell)]) -> [Cell; STATES] {
    let all = [I, C, Ss, Mt, Fetch, BusyX, BusyIib, BusyWbData, BusyUnblock, EvictSs, EvictMt];
    let mut out = [(rest, I); STATES];
    let mut i = 0;
    while i < STATES {
        out[i].1 = all[i];
        i += 1;
    }
    let mut i = 0;
    while i < but.len() {
        out[but[i].0 as usize] = but[i].1;
        i += 1;
    }
    out
}

/// {event, cell per state}.
pub const TABLE: [(Event, [Cell; STATES]); EVENTS] = {
    use Act::*;
    let wb_ack: &[Act] = &[WbAck];
    [
        (
            Event::GetS,
            row(
                STAY,
                &[
                    (I, (&[Read], State::Fetch)),
                    (C, (&[DataE], BusyX)),
                    (Ss, (&[DataS, Share], Ss)),
                    (Mt, (&[FwdGetS], BusyIib)),
                ],
            ),
        ),
        (
            Event::GetM,
            row(
                STAY,
                &[
                    (I, (&[Read], State::Fetch)),
                    (C, (&[DataM], BusyX)),
                    (Ss, (&[InvDataM], BusyX)),
                    (Mt, (&[FwdGetM], BusyX)),
                ],
            ),
        ),
        (Event::PutOwner, row(NO, &[(Mt, (&[Take, WbAck], C))])),
        (
            Event::PutOther,
            row(STAY, &[(I, (wb_ack, I)), (C, (wb_ack, C)), (Ss, (wb_ack, Ss)), (Mt, (wb_ack, Mt))]),
        ),
        (Event::Evict, row(NOT, &[(C, (&[Write], I)), (Ss, (&[Inv], EvictSs)), (Mt, (&[Recall], EvictMt))])),
        (Event::Memory, row(NO, &[(State::Fetch, (&[Fill], C))])),
        (Event::UnblockX, row(NO, &[(BusyX, (&[Own], Mt))])),
        (Event::Unblock, row(NO, &[(BusyIib, (&[Share], BusyWbData)), (BusyUnblock, (&[Share], Ss))])),
        (
            Event::WbData,
            row(
                NO,
                &[
                    (BusyIib, (&[Take, Kept], BusyUnblock)),
                    (BusyWbData, (&[Take, Kept], Ss)),
                    (EvictMt, (&[Take, Write], I)),
                ],
            ),
        ),
        (Event::InvAck, row(NO, &[(EvictSs, (&[], EvictSs))])),
        (Event::LastInvAck, row(NO, &[(EvictSs, (&[Write], I))])),
    ]
};

/// The cell of an event in a state.
pub fn cell(event: Event, state: State) -> Cell {
    TABLE[event as usize].1[state as usize]
}

/// Cells that are meant to happen: {event, state}.
pub fn possible() -> impl Iterator<Item = (usize, usize)> {
    let all = (0..EVENTS).flat_map(|event| (0..STATES).map(move |state| (event, state)));
    all.filter(|(event, state)| !matches!(TABLE[*event].1[*state].0, [Act::Never] | [Act::Refuse]))
}

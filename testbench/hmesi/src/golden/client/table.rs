//! The table of a client of the L3, once, as data: CPU L1s and the upper side of the GPU L2.

use State::*;

/// Column: state of a line.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub enum State {
    /// Absent.
    #[default]
    I,
    /// Read only.
    S,
    /// Alone, clean.
    E,
    /// Alone, newer than the L3.
    M,
    /// GetS is out.
    Is,
    /// GetS is out, and an Inv has come: the answer is used once.
    Isi,
    /// GetM is out.
    Im,
    /// GetM is out, a copy is here.
    Sm,
    /// Put is out.
    Mi,
    /// Put is out, and a forward has been answered.
    Ii,
}

/// Number of columns.
pub const STATES: usize = 10;

/// Row: what comes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Event {
    /// The core reads.
    Load,
    /// The core writes, or reads and writes.
    Store,
    /// The line is replaced.
    Replace,
    /// Inv.
    Inv,
    /// FwdGetS.
    FwdGetS,
    /// FwdGetM.
    FwdGetM,
    /// Recall.
    Recall,
    /// DataS from the L3.
    DataS,
    /// DataS from the old owner.
    OwnerDataS,
    /// DataE.
    DataE,
    /// DataM, InvAcks are to come.
    DataM,
    /// InvAck, DataM or others are to come.
    InvAck,
    /// DataM and all InvAcks are here.
    Complete,
    /// WBAck.
    WbAck,
}

/// Number of rows.
pub const EVENTS: usize = 14;

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Act {
    /// Served from the copy.
    Hit,
    /// Joins the open request.
    Join,
    /// Waits.
    Wait,
    /// GetS.
    GetS,
    /// GetM.
    GetM,
    /// Put, clean: without data.
    PutE,
    /// Put, dirty.
    PutM,
    /// InvAck.
    InvAck,
    /// DataS to the requestor.
    DataS,
    /// DataM(0) to the requestor.
    DataM,
    /// WbData: a copy stays here.
    WbDataKept,
    /// WbData.
    WbData,
    /// The line comes; operations that wait are done.
    Fill,
    /// Operations that wait are done with the data, which does not stay.
    UseOnce,
    /// Counted.
    Count,
    /// Unblock.
    Unblock,
    /// UnblockX.
    UnblockX,
    /// Cannot be.
    Never,
}

/// A cell: what is done, and the next state.
pub type Cell = (&'static [Act], State);

/// A row in which some columns differ from the rest, which leaves the state as it is.
const fn row(rest: Act, but: &[(State, Cell)]) -> [Cell; STATES] {
    let all = [I, S, E, M, Is, Isi, Im, Sm, Mi, Ii];
    let rest: &[Act] = match rest {
        Act::Wait => &[Act::Wait],
        _ => &[Act::Never],
    };
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
    let hit: &[Act] = &[Hit];
    let join: &[Act] = &[Join];
    let ack: &[Act] = &[Act::InvAck];
    let shares: &[Act] = &[Act::DataS, WbData];
    let kept: &[Act] = &[Act::DataS, WbDataKept];
    let gives: &[Act] = &[Act::DataM];
    let back: &[Act] = &[WbData];
    [
        (
            Event::Load,
            row(
                Wait,
                &[
                    (I, (&[GetS], Is)),
                    (S, (hit, S)),
                    (E, (hit, E)),
                    (M, (hit, M)),
                    (Is, (join, Is)),
                    (Im, (join, Im)),
                    (Sm, (hit, Sm)),
                ],
            ),
        ),
        (
            Event::Store,
            row(
                Wait,
                &[
                    (I, (&[GetM], Im)),
                    (S, (&[GetM], Sm)),
                    (E, (hit, M)),
                    (M, (hit, M)),
                    (Im, (join, Im)),
                    (Sm, (join, Sm)),
                ],
            ),
        ),
        (Event::Replace, row(Wait, &[(S, (&[], I)), (E, (&[PutE], Mi)), (M, (&[PutM], Mi))])),
        (
            Event::Inv,
            row(
                Never,
                &[
                    (I, (ack, I)),
                    (S, (ack, I)),
                    (Is, (ack, Isi)),
                    (Isi, (ack, Isi)),
                    (Im, (ack, Im)),
                    (Sm, (ack, Im)),
                ],
            ),
        ),
        (Event::FwdGetS, row(Never, &[(E, (kept, S)), (M, (kept, S)), (Mi, (shares, Ii))])),
        (Event::FwdGetM, row(Never, &[(E, (gives, I)), (M, (gives, I)), (Mi, (gives, Ii))])),
        (Event::Recall, row(Never, &[(E, (back, I)), (M, (back, I)), (Mi, (back, Ii))])),
        (Event::DataS, row(Never, &[(Is, (&[Fill], S)), (Isi, (&[UseOnce], I))])),
        (Event::OwnerDataS, row(Never, &[(Is, (&[Fill, Unblock], S)), (Isi, (&[UseOnce, Unblock], I))])),
        (Event::DataE, row(Never, &[(Is, (&[Fill, UnblockX], E)), (Isi, (&[Fill, UnblockX], E))])),
        (Event::DataM, row(Never, &[(Im, (&[Count], Im)), (Sm, (&[Count], Sm))])),
        (Event::InvAck, row(Never, &[(Im, (&[Count], Im)), (Sm, (&[Count], Sm))])),
        (Event::Complete, row(Never, &[(Im, (&[Fill, UnblockX], M)), (Sm, (&[Fill, UnblockX], M))])),
        (Event::WbAck, row(Never, &[(Mi, (&[], I)), (Ii, (&[], I))])),
    ]
};

/// The cell of an event in a state.
pub fn cell(event: Event, state: State) -> Cell {
    TABLE[event as usize].1[state as usize]
}

/// Cells that are meant to happen: {event, state}. A line that is open is not replaced.
pub fn possible() -> impl Iterator<Item = (usize, usize)> {
    let all = (0..EVENTS).flat_map(|event| (0..STATES).map(move |state| (event, state)));
    all.filter(|(event, state)| {
        let acts = TABLE[*event].1[*state].0;
        acts != [Act::Never] && !(*event == Event::Replace as usize && acts == [Act::Wait])
    })
}

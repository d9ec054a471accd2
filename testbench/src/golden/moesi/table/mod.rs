//! Transition tables (moesi.md sections 4 to 6), typed from the page as data. The model is driven by them:
//! what has no row never happens. Here is that of the bank.
//!
//! Identifiers are those of the cover points; several rows may have the same.

mod home;
mod slice;
mod texts;

pub use home::{ENTER, EnterRow, From, HOME, HomeRow, OWN, OwnRow, Turn, enter_row, home_row, own_row};
pub use slice::{End, Found, SLICE, SliceRow, Until, slice_row};
pub use texts::{BANK_ROWS, PLAIN, SLICE_ROWS};

use super::msg::Grant;

/// State of a copy (section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// None.
    I,
    /// For reading.
    S,
    /// For reading, answers for the line.
    O,
    /// The only one, clean.
    E,
    /// The only one, written.
    M,
}

/// What happens to a line of a bank (section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// An operation of the node.
    Load,
    /// A store or an atomic of the node.
    Store,
    /// Its frame is wanted; the home is another node.
    Replace,
    /// Its frame is wanted; this is the home.
    ReplaceHome,
    /// A flush of the home: what is written goes to memory, the copy stays.
    Clean,
    /// A flush of another node: what is written goes home.
    Flush,
    /// Of the slice.
    Inv,
    /// Of the slice.
    FwdS,
    /// Of the slice.
    FwdM,
    /// Of the slice.
    Recall,
}

impl Event {
    /// The bank's own doing, and no message.
    pub fn own(self) -> bool {
        matches!(self, Event::Replace | Event::ReplaceHome | Event::Clean | Event::Flush)
    }
}

/// Where the line is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the array, or nowhere (I), with nothing under way or waiting.
    Array(State),
    /// The same with an own GetS under way.
    GetS(State),
    /// The same with an own GetM under way.
    GetM(State),
    /// In the write-back buffer, with data, as it was in the array.
    Buffer(State),
    /// Something under way or waiting: for operations of the node.
    Busy,
}

/// What the bank does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// The operation is performed.
    Perform,
    /// It waits until a request has brought the line.
    Wait,
    /// Put with data to the home; the line moves to the buffer.
    PutDirty,
    /// Put without data to the home; the line moves to the buffer.
    PutClean,
    /// The line is written to memory.
    Write,
    /// Ack to the slice.
    Ack,
    /// Data to the requester.
    Send(Grant),
    /// Back to the home side.
    Back,
}

/// What becomes of the copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing.
    Stay,
    /// This state.
    To(State),
    /// The buffer's place becomes a shell: its Put will be stale.
    Shell,
}

/// A row of the bank.
#[derive(Clone, Copy, Debug)]
pub struct BankRow {
    /// Identifier, the name of its cover point; other rows may have the same.
    pub id: &'static str,
    /// What happens.
    pub event: Event,
    /// Where the line is.
    pub place: Place,
    /// What is done.
    pub acts: &'static [Act],
    /// What becomes of the copy.
    pub next: Next,
}

const fn bank(id: &'static str, event: Event, place: Place, acts: &'static [Act], next: Next) -> BankRow {
    BankRow { id, event, place, acts, next }
}

use Place::{Array, Buffer, Busy};
use State::{E, I, M, O, S};

/// Section 5: a line of a bank.
pub const BANK: &[BankRow] = &[
    bank("moesi_l2.load.I", Event::Load, Array(I), &[Act::Wait], Next::Stay),
    bank("moesi_l2.load.hit", Event::Load, Array(S), &[Act::Perform], Next::Stay),
    bank("moesi_l2.load.hit", Event::Load, Array(O), &[Act::Perform], Next::Stay),
    bank("moesi_l2.load.hit", Event::Load, Array(E), &[Act::Perform], Next::Stay),
    bank("moesi_l2.load.hit", Event::Load, Array(M), &[Act::Perform], Next::Stay),
    bank("moesi_l2.load.waits", Event::Load, Busy, &[Act::Wait], Next::Stay),
    bank("moesi_l2.write.I", Event::Store, Array(I), &[Act::Wait], Next::Stay),
    bank("moesi_l2.write.S", Event::Store, Array(S), &[Act::Wait], Next::Stay),
    bank("moesi_l2.write.O", Event::Store, Array(O), &[Act::Wait], Next::Stay),
    bank("moesi_l2.write.E", Event::Store, Array(E), &[Act::Perform], Next::To(M)),
    bank("moesi_l2.write.M", Event::Store, Array(M), &[Act::Perform], Next::Stay),
    bank("moesi_l2.write.waits", Event::Store, Busy, &[Act::Wait], Next::Stay),
    bank("moesi_l2.replace.S", Event::Replace, Array(S), &[], Next::To(I)),
    bank("moesi_l2.replace.O", Event::Replace, Array(O), &[Act::PutDirty], Next::To(I)),
    bank("moesi_l2.replace.E", Event::Replace, Array(E), &[Act::PutClean], Next::To(I)),
    bank("moesi_l2.replace.M", Event::Replace, Array(M), &[Act::PutDirty], Next::To(I)),
    bank("moesi_l2.replace.S", Event::ReplaceHome, Array(S), &[], Next::To(I)),
    bank("moesi_l2.replace.O.home", Event::ReplaceHome, Array(O), &[Act::Write], Next::To(I)),
    bank("moesi_l2.replace.E.home", Event::ReplaceHome, Array(E), &[], Next::To(I)),
    bank("moesi_l2.replace.M.home", Event::ReplaceHome, Array(M), &[Act::Write], Next::To(I)),
    bank("moesi_l2.flush.O.home", Event::Clean, Array(O), &[Act::Write], Next::Stay),
    bank("moesi_l2.flush.M.home", Event::Clean, Array(M), &[Act::Write], Next::To(E)),
    bank("moesi_l2.flush.clean", Event::Clean, Array(I), &[], Next::Stay),
    bank("moesi_l2.flush.clean", Event::Clean, Array(S), &[], Next::Stay),
    bank("moesi_l2.flush.clean", Event::Clean, Array(E), &[], Next::Stay),
    bank("moesi_l2.flush.clean", Event::Flush, Array(I), &[], Next::Stay),
    bank("moesi_l2.flush.clean", Event::Flush, Array(S), &[], Next::Stay),
    bank("moesi_l2.flush.clean", Event::Flush, Array(E), &[], Next::Stay),
    bank("moesi_l2.flush.O", Event::Flush, Array(O), &[Act::PutDirty], Next::To(I)),
    bank("moesi_l2.flush.M", Event::Flush, Array(M), &[Act::PutDirty], Next::To(I)),
    bank("moesi_l2.inv.I", Event::Inv, Array(I), &[Act::Ack], Next::Stay),
    bank("moesi_l2.inv.I", Event::Inv, Place::GetS(I), &[Act::Ack], Next::Stay),
    bank("moesi_l2.inv.I", Event::Inv, Place::GetM(I), &[Act::Ack], Next::Stay),
    bank("moesi_l2.inv.S", Event::Inv, Array(S), &[Act::Ack], Next::To(I)),
    bank("moesi_l2.inv.S", Event::Inv, Place::GetM(S), &[Act::Ack], Next::To(I)),
    bank("moesi_l2.fwds.O", Event::FwdS, Array(O), &[Act::Send(Grant::S)], Next::Stay),
    bank("moesi_l2.fwds.O", Event::FwdS, Place::GetM(O), &[Act::Send(Grant::S)], Next::Stay),
    bank("moesi_l2.fwds.E", Event::FwdS, Array(E), &[Act::Send(Grant::S)], Next::To(O)),
    bank("moesi_l2.fwds.M", Event::FwdS, Array(M), &[Act::Send(Grant::S)], Next::To(O)),
    bank("moesi_l2.fwds.O", Event::FwdS, Buffer(O), &[Act::Send(Grant::S)], Next::Stay),
    bank("moesi_l2.fwds.E", Event::FwdS, Buffer(E), &[Act::Send(Grant::S)], Next::To(O)),
    bank("moesi_l2.fwds.M", Event::FwdS, Buffer(M), &[Act::Send(Grant::S)], Next::To(O)),
    bank("moesi_l2.fwdm.O", Event::FwdM, Array(O), &[Act::Send(Grant::M)], Next::To(I)),
    bank("moesi_l2.fwdm.O", Event::FwdM, Place::GetM(O), &[Act::Send(Grant::M)], Next::To(I)),
    bank("moesi_l2.fwdm.E", Event::FwdM, Array(E), &[Act::Send(Grant::M)], Next::To(I)),
    bank("moesi_l2.fwdm.M", Event::FwdM, Array(M), &[Act::Send(Grant::M)], Next::To(I)),
    bank("moesi_l2.fwdm.O", Event::FwdM, Buffer(O), &[Act::Send(Grant::M)], Next::Shell),
    bank("moesi_l2.fwdm.E", Event::FwdM, Buffer(E), &[Act::Send(Grant::M)], Next::Shell),
    bank("moesi_l2.fwdm.M", Event::FwdM, Buffer(M), &[Act::Send(Grant::M)], Next::Shell),
    bank("moesi_l2.recall.O", Event::Recall, Array(O), &[Act::Back], Next::To(I)),
    bank("moesi_l2.recall.O", Event::Recall, Place::GetM(O), &[Act::Back], Next::To(I)),
    bank("moesi_l2.recall.E", Event::Recall, Array(E), &[Act::Back], Next::To(I)),
    bank("moesi_l2.recall.M", Event::Recall, Array(M), &[Act::Back], Next::To(I)),
    bank("moesi_l2.recall.O", Event::Recall, Buffer(O), &[Act::Back], Next::Shell),
    bank("moesi_l2.recall.E", Event::Recall, Buffer(E), &[Act::Back], Next::Shell),
    bank("moesi_l2.recall.M", Event::Recall, Buffer(M), &[Act::Back], Next::Shell),
];

/// A name for each row that no other row has, in the order in which [`super::races::Tally`] counts them.
pub fn names() -> Vec<(&'static str, String)> {
    let bank = BANK.iter().map(|row| (row.id, format!("{:?} {:?}", row.event, row.place)));
    let slice = SLICE.iter().map(|row| (row.id, format!("{:?} {:?}", row.asks, row.found)));
    let home = HOME.iter().map(|row| (row.id, format!("{:?} {:?} {:?}", row.asks, row.answer, row.own)));
    let own = OWN.iter().map(|row| (row.id, format!("{:?} {:?} {:?}", row.asks, row.answer, row.own)));
    let enter = ENTER.iter().map(|row| (row.id, format!("{:?} {:?}", row.asks, row.own)));
    let plain = PLAIN.iter().map(|id| (*id, String::new()));
    bank.chain(slice).chain(home).chain(own).chain(enter).chain(plain).collect()
}

/// The row for an event of a bank, with its number.
pub fn bank_row(event: Event, place: Place) -> Option<(usize, &'static BankRow)> {
    BANK.iter().enumerate().find(|(_, row)| row.event == event && row.place == place)
}

/// The number of a row without a choice.
pub fn plain_row(id: &str) -> usize {
    let at = PLAIN.iter().position(|row| *row == id).expect("the model names its own rows");
    BANK.len() + SLICE.len() + HOME.len() + OWN.len() + ENTER.len() + at
}

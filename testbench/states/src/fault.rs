//! Planted faults: a row of a table that is wrong. The search must find each of them.

use crate::table::Act::{Do, Send};
use crate::table::When::{ByOther, NoDg};
use crate::table::{Act, Protocol, Row, To, Verb, When, row};

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Spandex: a fwd ReqV that finds no owner is dropped.
    NackLost,
    /// Spandex: the LLC never says that a forward crosses its RspWB.
    NoCross,
    /// Spandex: a device does not wait for the forward that crosses its RspWB.
    CrossIgnored,
    /// Spandex: a direct ReqV is served from a write-back buffer.
    DirectReadFromBuffer,
    /// Spandex: a direct ReqWT is served in a write-back buffer.
    DirectWriteIntoBuffer,
    /// Spandex: the LLC does not record a sharer.
    SharerForgotten,
    /// Spandex: an Inv that overtakes RspS is forgotten.
    UseOnceForgotten,
    /// Spandex: the LLC takes the data of whoever writes back.
    StaleWriteBack,
    /// Spandex: a device with an open write-back does not answer RvkO.
    RevokeUnanswered,
    /// Spandex: ReqWT at a shared line does not wait for the sharers.
    NoInvalidation,
    /// CHI-like: a device served by the owner sends no Unblock after a read.
    NoUnblock,
    /// CHI-like: the LLC does not record a sharer.
    ChiSharerForgotten,
    /// CHI-like: an Inv that overtakes DataS is forgotten.
    InvForgotten,
    /// CHI-like: a PutM of a former owner gets no WBAck.
    PutUnanswered,
    /// CHI-like: a WriteNS that is refused by an owner with an open write-back is dropped.
    WriteLost,
    /// CHI-like: a WriteNS at a shared line does not wait for the sharers.
    ChiNoInvalidation,
}

impl Fault {
    /// Every fault with its word.
    pub const WORDS: &[(Fault, &str)] = &[
        (Fault::NackLost, "nack_lost"),
        (Fault::NoCross, "no_cross"),
        (Fault::CrossIgnored, "cross_ignored"),
        (Fault::DirectReadFromBuffer, "direct_read_from_buffer"),
        (Fault::DirectWriteIntoBuffer, "direct_write_into_buffer"),
        (Fault::SharerForgotten, "sharer_forgotten"),
        (Fault::UseOnceForgotten, "use_once_forgotten"),
        (Fault::StaleWriteBack, "stale_write_back"),
        (Fault::RevokeUnanswered, "revoke_unanswered"),
        (Fault::NoInvalidation, "no_invalidation"),
        (Fault::NoUnblock, "chi_no_unblock"),
        (Fault::ChiSharerForgotten, "chi_sharer_forgotten"),
        (Fault::InvForgotten, "chi_inv_forgotten"),
        (Fault::PutUnanswered, "chi_put_unanswered"),
        (Fault::WriteLost, "chi_write_lost"),
        (Fault::ChiNoInvalidation, "chi_no_invalidation"),
    ];

    /// Puts the fault into the protocol's tables; they stay as they are if it is a fault of the other protocol.
    pub fn plant(self, protocol: &mut Protocol) {
        match (self, protocol.strict) {
            (
                Fault::NoUnblock
                | Fault::ChiSharerForgotten
                | Fault::InvForgotten
                | Fault::PutUnanswered
                | Fault::WriteLost
                | Fault::ChiNoInvalidation,
                true,
            ) => self.plant_chi(protocol),
            (_, false) => self.plant_spandex(protocol),
            _ => {}
        }
    }

    fn plant_spandex(self, protocol: &mut Protocol) {
        let Protocol { device, llc, .. } = protocol;
        match self {
            Fault::NackLost => change(device, "I, V", "fwd ReqV", &[], |row| row.then.clear()),
            Fault::NoCross => change(llc, "", "ReqWB", &[], |row| {
                for act in &mut row.then {
                    if *act == Send(To::Src, "RspWB{cross}") {
                        *act = Send(To::Src, "RspWB");
                    }
                }
            }),
            Fault::CrossIgnored => change(device, "WB", "RspWB{cross}", &[NoDg], |row| row.to = "I"),
            Fault::DirectReadFromBuffer => from_buffer(device, "direct ReqV", &[Send(To::Req, "RspV")]),
            Fault::DirectWriteIntoBuffer => {
                from_buffer(device, "direct ReqWT", &[Do(Verb::Write), Send(To::Req, "RspWT")]);
            }
            Fault::SharerForgotten => change(llc, "S", "ReqS", &[], |row| without(row, Verb::Share)),
            Fault::UseOnceForgotten => change(device, "PDs", "Inv", &[], |row| row.to = "="),
            Fault::StaleWriteBack => {
                change(llc, "I, V, S, O", "ReqWB", &[ByOther], |row| {
                    row.at = "I, V, S, P1.ack, EV.ack, FILL"
                });
                let taken = [Do(Verb::TakeData), Do(Verb::Disown), Send(To::Src, "RspWB")];
                llc.push(row("O", "ReqWB", &[ByOther], &taken, "V"));
            }
            Fault::RevokeUnanswered => change(device, "WB", "RvkO", &[NoDg], |row| {
                row.then.retain(|act| !matches!(act, Send(..)));
            }),
            Fault::NoInvalidation => change(llc, "S", "ReqWT, ReqWT{fwd}", &[], |row| {
                row.then = vec![Do(Verb::WriteLlc), Do(Verb::Unshare), Send(To::Src, "RspWT")];
                row.to = "V";
            }),
            _ => {}
        }
    }

    fn plant_chi(self, protocol: &mut Protocol) {
        let Protocol { device, llc, .. } = protocol;
        let silent = |row: &mut Row| row.then.retain(|act| !matches!(act, Send(..)));
        match self {
            Fault::NoUnblock => change(device, "NR", "DataNS{owner}", &[], silent),
            Fault::ChiSharerForgotten => change(llc, "SS", "GetS", &[], |row| without(row, Verb::Share)),
            Fault::InvForgotten => change(device, "IS", "Inv", &[], |row| row.to = "="),
            Fault::PutUnanswered => change(llc, "MT", "PutM", &[ByOther], silent),
            Fault::WriteLost => change(device, "NW", "Nack", &[], |row| {
                row.then.retain(|act| *act != Send(To::Llc, "WriteNS"));
            }),
            Fault::ChiNoInvalidation => change(llc, "SS", "WriteNS, WriteNS{fwd}", &[], |row| {
                row.then = vec![Do(Verb::WriteLlc), Do(Verb::Unshare), Send(To::Src, "AckNS")];
                row.to = "C";
            }),
            _ => {}
        }
    }
}

/// Changes the rows whose states begin so, of an event, with exactly these conditions if any are given.
fn change(rows: &mut [Row], at: &str, on: &str, when: &[When], change: impl Fn(&mut Row)) {
    let meant =
        |row: &&mut Row| row.at.starts_with(at) && row.on == on && (when.is_empty() || row.when == when);
    rows.iter_mut().filter(meant).for_each(change);
}

fn without(row: &mut Row, verb: Verb) {
    row.then.retain(|act| *act != Do(verb));
}

/// A direct request is served while a write-back is open.
fn from_buffer(device: &mut Vec<Row>, on: &'static str, then: &[Act]) {
    change(device, "PO", on, &[], |row| row.at = "PO, PD, PDs, PDu");
    device.push(row("WB, WBx", on, &[], then, "="));
}

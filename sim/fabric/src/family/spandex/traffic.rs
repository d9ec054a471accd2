//! Flit-hops by class of request (spandex.md section 10): what enters a mesh, flits times hops to its destination; and bytes between GPUs, of which each class's are counted once, however many links
//! they pass.
//!
//! ```text
//!  sender --> [ router's own input ] --> ... --> router --> receiver
//!                     ^ looked at here: message, place; the way is fixed by the destination
//! ```
//! The class is no field of a message, and no hardware is there for it: most operations tell it, and of the others the observer remembers what their transaction was. So that a run counts the same
//! with and without it, and what is exported and measured in bits is the hardware alone.
//!
//! | message | class |
//! | --- | --- |
//! | requests, RspS, RspO, RspWT, RspWT+data, NackWT, fwd ReqS, fwd ReqWT | their own |
//! | fwd ReqO | ReqO, or ReqWT if the owner shall answer RspWT |
//! | fwd ReqV, fwd ReqO+data, RspV, RspO+data, NackV | ReqS if the requestor's transaction is one (options 2 and 3), else ReqV or ReqO+data |
//! | ReqWB, triggered or not, RspWB | ReqWB |
//! | RvkO, Inv, Ack; RspRvkO to RvkO | Probe |
//! | RspRvkO to fwd ReqS | ReqS |
//!
//! | GetS, FwdGetS, DataS, DataE, Unblock; UnblockX after DataE; WbData to FwdGetS | ReqS |
//! | GetM, FwdGetM, DataM; UnblockX after DataM | ReqO+data |
//! | Put, WBAck | ReqWB |
//! | Inv, Recall, InvAck; WbData to Recall | Probe |
//!
//! The last four rows are of the L3's networks in a hierarchical system, which run beside the others.

use super::SpandexSystem;
use super::taps::{Fields, Taps};
use crate::run::Counter;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use weft_engine::Sim;
use weft_rtl::prelude::HwEnum;
use weft_spandex::hmesi::msg::{HFwdOp, HRspOp};
use weft_spandex::hmesi::net::H_NETS;
use weft_spandex::mesi_port::Get;
use weft_spandex::msg::{FwdOp, ReqOp, RspOp, WordOp};
use weft_spandex::net::NETS;
use weft_spandex::net::NetParams;

/// What a message is sent for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    ReqV,
    ReqS,
    ReqWt,
    ReqO,
    ReqWtData,
    ReqOData,
    ReqWb,
    Probe,
}

/// Counters and their meaning, of each class in order.
pub(super) const COUNTERS: [(&str, &str); 16] = [
    ("network.flits_reqv", "flit-hops of self-invalidated reads (ReqV)"),
    ("network.flits_reqs", "flit-hops of writer-invalidated reads (ReqS)"),
    ("network.flits_reqwt", "flit-hops of write-throughs (ReqWT)"),
    ("network.flits_reqo", "flit-hops of requests for ownership without data (ReqO)"),
    ("network.flits_reqwt_data", "flit-hops of updates at the LLC (ReqWT+data)"),
    ("network.flits_reqo_data", "flit-hops of requests for ownership with data (ReqO+data)"),
    ("network.flits_reqwb", "flit-hops of write-backs (ReqWB)"),
    ("network.flits_probe", "flit-hops of invalidations and revocations (Inv, RvkO)"),
    ("network.link_reqv", "bytes between GPUs of self-invalidated reads (ReqV)"),
    ("network.link_reqs", "bytes between GPUs of writer-invalidated reads (ReqS)"),
    ("network.link_reqwt", "bytes between GPUs of write-throughs (ReqWT)"),
    ("network.link_reqo", "bytes between GPUs of requests for ownership without data (ReqO)"),
    ("network.link_reqwt_data", "bytes between GPUs of updates at the LLC (ReqWT+data)"),
    ("network.link_reqo_data", "bytes between GPUs of requests for ownership with data (ReqO+data)"),
    ("network.link_reqwb", "bytes between GPUs of write-backs (ReqWB)"),
    ("network.link_probe", "bytes between GPUs of invalidations and revocations (Inv, RvkO)"),
];

/// Number of the first counter of bytes between GPUs: they are in the order of the classes, as those of flit-hops are.
const BETWEEN: usize = COUNTERS.len() / 2;

/// What a message is to the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flight {
    class: Class,
    /// Words of data.
    words: u32,
    /// Receiving node of the system.
    to: u64,
}

/// A virtual network: its name in the routers, the fields looked at, what they mean.
pub(super) struct Lane {
    net: &'static str,
    fields: &'static [&'static str],
    read: fn(&mut Books, &Fields) -> Flight,
}

/// The networks that are looked at; the last four are of hierarchical systems.
const LANES: [Lane; 8] = [
    Lane { net: NETS[0], fields: &["op", "mask", "src", "dst", "tag", "amo"], read: request },
    Lane {
        net: NETS[1],
        fields: &["op", "mask", "src", "dst", "req", "tag", "tbe", "for_wt"],
        read: forward,
    },
    Lane { net: NETS[2], fields: &["mask", "dst"], read: write_back },
    Lane { net: NETS[3], fields: &["op", "mask", "extra", "dst", "tag", "nodata"], read: response },
    Lane { net: H_NETS[0], fields: &["op", "dst"], read: h_request },
    Lane { net: H_NETS[1], fields: &["op", "line", "dst"], read: h_forward },
    Lane { net: H_NETS[2], fields: &["dst", "dirty"], read: h_put },
    Lane { net: H_NETS[3], fields: &["op", "line", "src", "dst", "dirty"], read: h_response },
];

/// Bytes of a flit.
const FLIT: u32 = 16;

/// Words of a line (the family has lines of 64 bytes only).
const LINE: u32 = 16;

/// What is remembered of transactions.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Books {
    /// Device and transaction whose last request was ReqS.
    shares: BTreeSet<(u64, u64)>,
    /// Bank's node and TBE that have revoked last, not downgraded.
    revokes: BTreeSet<(u64, u64)>,
    /// Client's node and line that it has been given to read alone (DataE).
    reads: BTreeSet<(u64, u64)>,
    /// Client's node and line that was recalled last, not shared.
    recalls: BTreeSet<(u64, u64)>,
}

fn note(set: &mut BTreeSet<(u64, u64)>, key: (u64, u64), holds: bool) {
    if holds {
        set.insert(key);
    } else {
        set.remove(&key);
    }
}

fn is<T: HwEnum>(code: u64, op: T) -> bool {
    code == op.encoding()
}

fn among<T: HwEnum + Copy, const N: usize>(code: u64, ops: [T; N]) -> bool {
    ops.into_iter().any(|op| is(code, op))
}

fn request(books: &mut Books, m: &Fields) -> Flight {
    let [op, mask, src, to, tag, amo, ..] = *m;
    note(&mut books.shares, (src, tag), is(op, ReqOp::ReqS));
    let classes = [
        (ReqOp::ReqS, Class::ReqS),
        (ReqOp::ReqWt, Class::ReqWt),
        (ReqOp::ReqO, Class::ReqO),
        (ReqOp::ReqWtData, Class::ReqWtData),
        (ReqOp::ReqOData, Class::ReqOData),
    ];
    let class = classes.into_iter().find(|(code, _)| is(op, *code)).map_or(Class::ReqV, |(_, class)| class);
    let data = is(op, ReqOp::ReqWt) || is(op, ReqOp::ReqWtData) && !is(amo, WordOp::Read);
    Flight { class, words: if data { mask.count_ones() } else { 0 }, to }
}

fn forward(books: &mut Books, m: &Fields) -> Flight {
    let [op, mask, src, to, req, tag, tbe, for_wt] = *m;
    // A direct request is the first message of its transaction.
    if src == req {
        note(&mut books.shares, (req, tag), false);
    }
    let shares = books.shares.contains(&(req, tag));
    if among(op, [FwdOp::ReqS, FwdOp::RvkO]) {
        note(&mut books.revokes, (src, tbe), is(op, FwdOp::RvkO));
    }
    let class = match () {
        _ if among(op, [FwdOp::RvkO, FwdOp::Inv]) => Class::Probe,
        _ if is(op, FwdOp::ReqWt) || is(op, FwdOp::ReqO) && for_wt == 1 => Class::ReqWt,
        _ if is(op, FwdOp::ReqO) => Class::ReqO,
        _ if is(op, FwdOp::ReqS) || shares => Class::ReqS,
        _ if is(op, FwdOp::ReqOData) => Class::ReqOData,
        _ => Class::ReqV,
    };
    Flight { class, words: if is(op, FwdOp::ReqWt) { mask.count_ones() } else { 0 }, to }
}

fn write_back(_: &mut Books, m: &Fields) -> Flight {
    let [mask, to, ..] = *m;
    Flight { class: Class::ReqWb, words: mask.count_ones(), to }
}

fn response(books: &mut Books, m: &Fields) -> Flight {
    let [op, mask, extra, to, tag, nodata, ..] = *m;
    let shares = books.shares.contains(&(to, tag));
    let revoked = is(op, RspOp::Ack) || is(op, RspOp::RspRvkO) && books.revokes.contains(&(to, tag));
    let class = match () {
        _ if revoked => Class::Probe,
        _ if among(op, [RspOp::RspWt, RspOp::NackWt]) => Class::ReqWt,
        _ if is(op, RspOp::RspWtData) => Class::ReqWtData,
        _ if is(op, RspOp::RspO) => Class::ReqO,
        _ if is(op, RspOp::RspWb) => Class::ReqWb,
        _ if among(op, [RspOp::RspS, RspOp::RspRvkO]) || shares => Class::ReqS,
        _ if is(op, RspOp::RspOData) => Class::ReqOData,
        _ => Class::ReqV,
    };
    let data = among(op, [RspOp::RspV, RspOp::RspS, RspOp::RspOData, RspOp::RspWtData])
        || is(op, RspOp::RspRvkO) && nodata == 0;
    let extra = if is(op, RspOp::RspV) { extra } else { 0 };
    Flight { class, words: if data { (mask | extra).count_ones() } else { 0 }, to }
}

fn h_request(_: &mut Books, m: &Fields) -> Flight {
    let [op, to, ..] = *m;
    let class = if is(op, Get::GetS) { Class::ReqS } else { Class::ReqOData };
    Flight { class, words: 0, to }
}

fn h_forward(books: &mut Books, m: &Fields) -> Flight {
    let [op, line, to, ..] = *m;
    if among(op, [HFwdOp::FwdGetS, HFwdOp::Recall]) {
        note(&mut books.recalls, (to, line), is(op, HFwdOp::Recall));
    }
    let class = match () {
        _ if is(op, HFwdOp::FwdGetS) => Class::ReqS,
        _ if is(op, HFwdOp::FwdGetM) => Class::ReqOData,
        _ => Class::Probe,
    };
    Flight { class, words: 0, to }
}

fn h_put(_: &mut Books, m: &Fields) -> Flight {
    let [to, dirty, ..] = *m;
    Flight { class: Class::ReqWb, words: if dirty == 1 { LINE } else { 0 }, to }
}

fn h_response(books: &mut Books, m: &Fields) -> Flight {
    let [op, line, src, to, dirty, ..] = *m;
    if among(op, [HRspOp::DataE, HRspOp::DataM]) {
        note(&mut books.reads, (to, line), is(op, HRspOp::DataE));
    }
    let recalled = is(op, HRspOp::WbData) && books.recalls.contains(&(src, line));
    let read = is(op, HRspOp::UnblockX) && books.reads.contains(&(src, line));
    let class = match () {
        _ if is(op, HRspOp::InvAck) || recalled => Class::Probe,
        _ if is(op, HRspOp::WbAck) => Class::ReqWb,
        _ if among(op, [HRspOp::DataS, HRspOp::DataE, HRspOp::Unblock, HRspOp::WbData]) || read => {
            Class::ReqS
        }
        _ => Class::ReqOData,
    };
    let data =
        among(op, [HRspOp::DataS, HRspOp::DataE, HRspOp::DataM]) || is(op, HRspOp::WbData) && dirty == 1;
    Flight { class, words: if data { LINE } else { 0 }, to }
}

/// The observer.
#[derive(Clone)]
pub(super) struct Traffic {
    taps: Taps,
    net: Arc<NetParams>,
    books: Books,
    counts: [u64; COUNTERS.len()],
}

impl Traffic {
    /// Looks at the routers of a system; `None` when its instances have other names.
    pub fn find(sim: &Sim, system: &SpandexSystem, hierarchical: bool) -> Option<Traffic> {
        let lanes = if hierarchical { &LANES[..] } else { &LANES[..NETS.len()] };
        let named: Vec<_> = lanes.iter().map(|lane| (lane.net, lane.fields)).collect();
        Some(Traffic {
            taps: Taps::find(sim, system, &named)?,
            net: Arc::new(system.net.clone()),
            books: Books::default(),
            counts: [0; COUNTERS.len()],
        })
    }

    /// Counts what enters the mesh in the present cycle.
    pub fn tick(&mut self, sim: &Sim) {
        let Traffic { taps, net, books, counts } = self;
        taps.each(sim, |at, lane, fields| {
            let flight = (LANES[lane].read)(books, fields);
            let to = net.places[flight.to as usize];
            let flits = 1 + flight.words.div_ceil(4);
            counts[flight.class as usize] += u64::from(flits * net.distance(at, to));
            if net.crosses(at, to) {
                counts[BETWEEN + flight.class as usize] += u64::from(FLIT * flits);
            }
        });
    }

    /// Flit-hops by class, and bytes between GPUs.
    pub fn counters(&self) -> BTreeMap<String, Counter> {
        let named = COUNTERS.iter().zip(self.counts);
        named
            .map(|((name, about), value)| (name.to_string(), Counter { value, about: about.to_string() }))
            .collect()
    }

    /// What changes.
    pub fn state(&self) -> (&Books, &[u64]) {
        (&self.books, &self.counts)
    }

    /// Goes on from there; false if it cannot be.
    #[must_use]
    pub fn resume(&mut self, (books, counts): (Books, Vec<u64>)) -> bool {
        let Ok(counts) = counts.try_into() else { return false };
        (self.books, self.counts) = (books, counts);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields<const N: usize>(given: [u64; N]) -> Fields {
        std::array::from_fn(|i| given.get(i).copied().unwrap_or(0))
    }

    /// Of a read that is answered with ownership all messages are ReqS, until the transaction is another's.
    #[test]
    fn answers_belong_to_what_their_transaction_asked() {
        let mut books = Books::default();
        let ask = |op: ReqOp| fields([op.encoding(), 0xffff, 3, 30, 7, WordOp::Read.encoding()]);
        let give = fields([RspOp::RspOData.encoding(), 0xffff, 0, 3, 7, 0]);
        let pass = fields([FwdOp::ReqOData.encoding(), 0xff, 30, 5, 3, 7, 2, 0]);
        assert_eq!(request(&mut books, &ask(ReqOp::ReqS)), Flight { class: Class::ReqS, words: 0, to: 30 });
        assert_eq!(forward(&mut books, &pass), Flight { class: Class::ReqS, words: 0, to: 5 });
        assert_eq!(response(&mut books, &give), Flight { class: Class::ReqS, words: 16, to: 3 });
        request(&mut books, &ask(ReqOp::ReqOData));
        assert_eq!(forward(&mut books, &pass).class, Class::ReqOData);
        assert_eq!(response(&mut books, &give).class, Class::ReqOData);
    }

    /// What comes back of an owner is the read's if it was asked for by one, else a probe's.
    #[test]
    fn revoked_words_belong_to_what_took_them() {
        let mut books = Books::default();
        let take = |op: FwdOp| fields([op.encoding(), 0, 30, 5, 3, 7, 2, 0]);
        let back = fields([RspOp::RspRvkO.encoding(), 0xf, 0, 30, 2, 0]);
        assert_eq!(forward(&mut books, &take(FwdOp::RvkO)).class, Class::Probe);
        assert_eq!(response(&mut books, &back), Flight { class: Class::Probe, words: 4, to: 30 });
        assert_eq!(forward(&mut books, &take(FwdOp::ReqS)).class, Class::ReqS);
        assert_eq!(response(&mut books, &back).class, Class::ReqS);
        let empty = fields([RspOp::RspRvkO.encoding(), 0xf, 0, 30, 2, 1]);
        assert_eq!(response(&mut books, &empty).words, 0, "a write-back brings the data");
    }

    #[test]
    fn write_throughs_and_their_forwards_are_one_class() {
        let mut books = Books::default();
        let store = fields([ReqOp::ReqWt.encoding(), 0x1f, 3, 30, 7, 0]);
        assert_eq!(request(&mut books, &store), Flight { class: Class::ReqWt, words: 5, to: 30 });
        let taken = |for_wt| fields([FwdOp::ReqO.encoding(), 0x1f, 30, 5, 3, 7, 0, for_wt]);
        assert_eq!(forward(&mut books, &taken(1)).class, Class::ReqWt);
        assert_eq!(forward(&mut books, &taken(0)).class, Class::ReqO);
        let read = fields([ReqOp::ReqWtData.encoding(), 1, 3, 30, 7, WordOp::Read.encoding()]);
        assert_eq!(request(&mut books, &read), Flight { class: Class::ReqWtData, words: 0, to: 30 });
    }

    /// What a client is given alone, and what the owner gives back, belong to what was asked for.
    #[test]
    fn messages_of_the_l3_belong_to_what_was_asked() {
        let mut books = Books::default();
        let data = |op: HRspOp| fields([op.encoding(), 77, 50, 3, 0]);
        let back = |op: HRspOp, dirty: u64| fields([op.encoding(), 77, 3, 50, dirty]);
        let read = Flight { class: Class::ReqS, words: 16, to: 3 };
        assert_eq!(h_response(&mut books, &data(HRspOp::DataE)), read);
        assert_eq!(h_response(&mut books, &back(HRspOp::UnblockX, 0)).class, Class::ReqS);
        assert_eq!(h_response(&mut books, &data(HRspOp::DataM)).class, Class::ReqOData);
        assert_eq!(h_response(&mut books, &back(HRspOp::UnblockX, 0)).class, Class::ReqOData);
        let take = |op: HFwdOp| fields([op.encoding(), 77, 3]);
        assert_eq!(h_forward(&mut books, &take(HFwdOp::Recall)).class, Class::Probe);
        let probe = Flight { class: Class::Probe, words: 16, to: 50 };
        assert_eq!(h_response(&mut books, &back(HRspOp::WbData, 1)), probe);
        assert_eq!(h_forward(&mut books, &take(HFwdOp::FwdGetS)).class, Class::ReqS);
        let shared = Flight { class: Class::ReqS, words: 0, to: 50 };
        assert_eq!(h_response(&mut books, &back(HRspOp::WbData, 0)), shared);
        assert_eq!(h_put(&mut books, &fields([50, 0])), Flight { class: Class::ReqWb, words: 0, to: 50 });
    }
}

//! Spandex with lines of one word: tables 5.3 (LLC) and 5.4 (devices) with all races, as spandex.md sections 4 and 5 have them.
//!
//! Every device may do everything (it is a Flex L1), so every owner can share: policy `eval` of ReqS is option 1 at S and O, option 3 at V.
//!
//! Word status of a device, beside I, V, S, O:
//!
//! | status | outstanding |
//! | --- | --- |
//! | RV, RX | ReqV; the READ that a Nacked ReqV becomes (`N_FAIL` = 1) |
//! | WI, WV | ReqWT from I, and from V or S: the copy stays, as V |
//! | AT | ReqWT+data; the copy is I |
//! | PO | ReqO; the data is in the store buffer |
//! | PD; PDs, PDu | ReqO+data; ReqS, and the same after an Inv (use once) |
//! | WB; WBx | ReqWB; the same after RspWB{cross}, waiting for the forward |
//!
//! LLC, beside V, S, O and (with `evict`) I; each of the others keeps all requests in the network:
//!
//! | status | awaits |
//! | --- | --- |
//! | P1.ack, EV.ack | Acks of the sharers |
//! | P1.rvk, EV.rvk | RspRvkO |
//! | P1.s | RspRvkO of an owner that was sent fwd ReqS |
//! | P1.wb, P1.swb, EV.wb | the ReqWB that brings the data: RspRvkO{nodata} has come |
//! | FILL | memory |
//!
//! Where section 5 is silent: a delayed ReqV is Nacked if its device was granted S and not O, as it would be had it come later; a delayed fwd ReqS is carried
//! out as in O, so the device keeps S.

use crate::table::Act::{Commit, Do, Send};
use crate::table::Verb::{
    AckSrc, Ask, Delay, Disown, Done, Grant, Hit, Issue, Latch, Load, MarkDg, Overtake, Own, Record, RmwLlc,
    Share, ShareKept, Stall, Take, TakeData, Unshare, Write, WriteLlc, Yield,
};
use crate::table::When::{
    Answered, ByOther, ByOwner, Dg, Evict, Free, LastAck, NoDg, NoOthers, NoWtFwd, NotOwned, OneAck, Opred,
    Others, Owes, Owned, Taken, Values, WtFwd,
};
use crate::table::{Message, Protocol, Row, To, row};

/// Operations of section 2: with data, with a requestor to answer, ownership-removing. A flag of the header that changes what happens is another name.
const MESSAGES: &[(&str, [bool; 3])] = {
    const DATA: [bool; 3] = [true, false, false];
    const PLAIN: [bool; 3] = [false, false, false];
    const FORWARD: [bool; 3] = [false, true, false];
    const REMOVAL: [bool; 3] = [false, true, true];
    &[
        ("ReqV", PLAIN),
        ("ReqS", PLAIN),
        ("ReqWT", DATA),
        ("ReqWT{fwd}", DATA),
        ("ReqO", PLAIN),
        ("ReqWT+data", PLAIN),
        ("ReqWT+data{READ}", PLAIN),
        ("ReqO+data", PLAIN),
        ("fwd ReqV", FORWARD),
        ("direct ReqV", FORWARD),
        ("fwd ReqS", REMOVAL),
        ("fwd ReqO", REMOVAL),
        ("fwd ReqO{for_wt}", REMOVAL),
        ("fwd ReqO+data", REMOVAL),
        ("fwd ReqWT", [true, true, false]),
        ("direct ReqWT", [true, true, false]),
        ("RvkO", [false, false, true]),
        ("Inv", PLAIN),
        ("ReqWB", DATA),
        ("RspV", DATA),
        ("RspS", DATA),
        ("RspO", PLAIN),
        ("RspO+data", DATA),
        ("RspWT", PLAIN),
        ("RspWT+data", DATA),
        ("RspWB", PLAIN),
        ("RspWB{cross}", PLAIN),
        ("RspRvkO", DATA),
        ("RspRvkO{kept_s}", DATA),
        ("RspRvkO{nodata}", PLAIN),
        ("Ack", PLAIN),
        ("NackV", PLAIN),
        ("NackV{direct}", PLAIN),
        ("NackWT", PLAIN),
        ("NackWT{direct}", PLAIN),
    ]
};

/// Section 11: what the stable states may issue.
fn core() -> Vec<Row> {
    let llc = |name| Send(To::Llc, name);
    let target = |name| Send(To::Target, name);
    let mut rows = vec![
        row("I", "load ReqV", &[], &[Do(Ask), llc("ReqV")], "RV"),
        row("I", "load direct ReqV", &[Opred], &[Do(Ask), target("direct ReqV")], "RV"),
        row("I", "load ReqS", &[], &[Do(Ask), llc("ReqS")], "PDs"),
    ];
    for (at, to) in [("I", "WI"), ("V, S", "WV")] {
        rows.extend([
            row(at, "store ReqWT", &[NoWtFwd], &[Do(Issue), llc("ReqWT")], to),
            row(at, "store ReqWT", &[WtFwd], &[Do(Issue), llc("ReqWT{fwd}")], to),
            row(at, "store direct ReqWT", &[Opred], &[Do(Issue), target("direct ReqWT")], to),
        ]);
    }
    rows.extend([
        row("I, V, S", "store ReqO", &[], &[Do(Issue), llc("ReqO")], "PO"),
        row("I, V, S", "rmw ReqWT+data", &[], &[llc("ReqWT+data")], "AT"),
        row("I, V, S", "rmw ReqO+data", &[], &[llc("ReqO+data")], "PD"),
        row("V, S", "drop", &[], &[], "I"),
        row("O", "replace", &[], &[llc("ReqWB")], "WB"),
        row("O", "store hit", &[Values], &[Do(Hit)], "="),
    ]);
    rows
}

/// Responses.
fn responses() -> Vec<Row> {
    let llc = |name| Send(To::Llc, name);
    let mut rows = vec![
        row("RV", "RspV", &[], &[Do(Load)], "V"),
        row("RV", "NackV{direct}", &[], &[llc("ReqV")], "="),
        row("RV", "NackV", &[], &[llc("ReqWT+data{READ}")], "RX"),
        row("RX", "RspWT+data", &[], &[Do(Load)], "V"),
        row("WI", "RspWT", &[], &[Do(Done)], "I"),
        row("WV", "RspWT", &[], &[Do(Done)], "V"),
        row("WI, WV", "NackWT{direct}", &[WtFwd], &[llc("ReqWT{fwd}")], "="),
        row("WI, WV", "NackWT{direct}", &[NoWtFwd], &[llc("ReqWT")], "="),
        row("WI, WV", "NackWT", &[], &[llc("ReqWT")], "="),
        row("AT", "RspWT+data", &[], &[Do(Done)], "I"),
        row("PO", "RspO", &[NoDg], &[Do(Done)], "O"),
        row("PO", "RspO", &[Dg], &[Do(Done)], "I"),
        row("PDs", "RspS", &[NoDg], &[Do(Load), Send(To::Delayed, "NackV")], "S"),
        row("PDu", "RspS", &[NoDg], &[Do(Load), Send(To::Delayed, "NackV")], "I"),
        row("WB", "RspWB", &[NoDg], &[], "I"),
        row("WB", "RspWB{cross}", &[Dg], &[], "I"),
        row("WB", "RspWB{cross}", &[NoDg], &[], "WBx"),
    ];
    // Core operation, delayed ReqV, recorded removal, in this order.
    for (at, operation) in [("PD", Hit), ("PDs, PDu", Load)] {
        let done = |when, then: &[_], to| {
            let first = [Do(Take), Do(operation), Send(To::Delayed, "RspV")];
            row(at, "RspO+data", &[when], &[&first[..], then].concat(), to)
        };
        rows.extend([
            done(NoDg, &[], "O"),
            done(Answered, &[], "I"),
            done(Owes("fwd ReqO+data"), &[Send(To::Remover, "RspO+data"), Do(Yield)], "I"),
            done(Owes("RvkO"), &[llc("RspRvkO")], "I"),
            done(Owes("fwd ReqS"), &[Send(To::Remover, "RspS"), llc("RspRvkO{kept_s}")], "S"),
        ]);
    }
    rows
}

/// Forwards that leave ownership where it is, and Inv.
fn probes() -> Vec<Row> {
    let req = |name| Send(To::Req, name);
    let ack = Send(To::Llc, "Ack");
    vec![
        row("O", "fwd ReqV, direct ReqV", &[], &[req("RspV")], "="),
        row("PO, WB, WBx", "fwd ReqV", &[NoDg], &[req("RspV")], "="),
        row("PD, PDs, PDu", "fwd ReqV", &[NoDg, Free], &[Do(Delay)], "="),
        row("PD, PDs, PDu", "fwd ReqV", &[NoDg, Taken], &[req("NackV")], "="),
        row("PO, PD, PDs, PDu, WB", "fwd ReqV", &[Dg], &[req("NackV")], "="),
        row("I, V, S, RV, RX, WI, WV, AT", "fwd ReqV", &[], &[req("NackV")], "="),
        row("O", "fwd ReqWT, direct ReqWT", &[], &[Do(Write), req("RspWT")], "="),
        row(NOT_O, "fwd ReqWT", &[], &[req("NackWT")], "="),
        row("PO, PD, PDs, PDu, WB, WBx", "direct ReqV", &[], &[req("NackV{direct}")], "="),
        row("I, V, S, RV, RX, WI, WV, AT", "direct ReqV", &[], &[req("NackV{direct}")], "="),
        row("PO, PD, PDs, PDu, WB, WBx", "direct ReqWT", &[], &[req("NackWT{direct}")], "="),
        row("I, V, S, RV, RX, WI, WV, AT", "direct ReqWT", &[], &[req("NackWT{direct}")], "="),
        row("S", "Inv", &[], &[ack], "I"),
        row("PDs", "Inv", &[], &[ack], "PDu"),
        row("I, V, O, RV, RX, WI, WV, AT, PO, PD, PDu, WB, WBx", "Inv", &[], &[ack], "="),
    ]
}

const NOT_O: &str = "I, V, S, RV, RX, WI, WV, AT, PO, PD, PDs, PDu, WB, WBx";

/// Ownership-removing forwards; at most one comes per ownership, so none meets another one or a stable state but O.
fn removals() -> Vec<Row> {
    let req = |name| Send(To::Req, name);
    let llc = |name| Send(To::Llc, name);
    let (dg, record, give) = (Do(MarkDg), Do(Record), Do(Yield));
    let mut rows = Vec::new();
    for (forward, answer) in [("fwd ReqO", "RspO"), ("fwd ReqO{for_wt}", "RspWT")] {
        rows.extend([
            row("O, WBx", forward, &[], &[req(answer)], "I"),
            row("PO, PD, PDs, PDu, WB", forward, &[NoDg], &[req(answer), dg], "="),
        ]);
    }
    rows.extend([
        row("O, WBx", "fwd ReqO+data", &[], &[req("RspO+data"), give], "I"),
        row("PO, WB", "fwd ReqO+data", &[NoDg], &[req("RspO+data"), give, dg], "="),
        row("O", "RvkO", &[], &[llc("RspRvkO")], "I"),
        row("PO", "RvkO", &[NoDg], &[llc("RspRvkO"), dg], "="),
        row("WB", "RvkO", &[NoDg], &[llc("RspRvkO{nodata}"), dg], "="),
        row("WBx", "RvkO", &[], &[llc("RspRvkO{nodata}")], "I"),
        row("O", "fwd ReqS", &[], &[req("RspS"), llc("RspRvkO{kept_s}")], "S"),
        row("PO", "fwd ReqS", &[NoDg], &[req("RspS"), llc("RspRvkO"), dg], "="),
        row("WB", "fwd ReqS", &[NoDg], &[req("RspS"), llc("RspRvkO{nodata}"), dg], "="),
        row("WBx", "fwd ReqS", &[], &[req("RspS"), llc("RspRvkO{nodata}")], "I"),
        row("PD, PDs, PDu", "fwd ReqO+data, RvkO, fwd ReqS", &[NoDg], &[record], "="),
    ]);
    rows
}

/// Section 4.3: requests at a line that is not blocked. None comes from its owner (rule R1).
fn requests() -> Vec<Row> {
    let src = |name| Send(To::Src, name);
    let owner = |name| Send(To::Owner, name);
    let inv_all = [Do(Latch), Send(To::Sharers, "Inv")];
    let inv_others = [Do(Latch), Send(To::Others, "Inv")];
    vec![
        row("V, S", "ReqV", &[], &[src("RspV")], "="),
        row("O", "ReqV", &[ByOther], &[owner("fwd ReqV")], "="),
        row("V", "ReqS", &[], &[src("RspO+data"), Do(Grant), Do(Own)], "O"),
        row("S", "ReqS", &[], &[src("RspS"), Do(Share)], "="),
        row("O", "ReqS", &[ByOther], &[Do(Latch), owner("fwd ReqS")], "P1.s"),
        row("V", "ReqWT, ReqWT{fwd}", &[], &[Do(WriteLlc), src("RspWT")], "="),
        row("S", "ReqWT, ReqWT{fwd}", &[], &inv_all, "P1.ack"),
        row("O", "ReqWT", &[ByOther], &[Do(WriteLlc), owner("fwd ReqO{for_wt}"), Do(Disown)], "V"),
        row("O", "ReqWT{fwd}", &[ByOther], &[owner("fwd ReqWT")], "="),
        row("V", "ReqO", &[], &[Do(Overtake), src("RspO"), Do(Own)], "O"),
        row("S", "ReqO", &[NoOthers], &[Do(Overtake), src("RspO"), Do(Own), Do(Unshare)], "O"),
        row("S", "ReqO, ReqO+data", &[Others], &inv_others, "P1.ack"),
        row("O", "ReqO", &[ByOther], &[Do(Overtake), owner("fwd ReqO"), Do(Own)], "="),
        row("V", "ReqWT+data", &[], &[src("RspWT+data"), Do(RmwLlc)], "="),
        row("V", "ReqWT+data{READ}", &[], &[src("RspWT+data")], "="),
        row("S", "ReqWT+data, ReqWT+data{READ}", &[], &inv_all, "P1.ack"),
        row("O", "ReqWT+data, ReqWT+data{READ}", &[ByOther], &[Do(Latch), owner("RvkO")], "P1.rvk"),
        row("V", "ReqO+data", &[], &[src("RspO+data"), Do(Grant), Do(Own)], "O"),
        row("S", "ReqO+data", &[NoOthers], &[src("RspO+data"), Do(Grant), Do(Own), Do(Unshare)], "O"),
        row("O", "ReqO+data", &[ByOther], &[Do(Grant), owner("fwd ReqO+data"), Do(Own)], "="),
    ]
}

/// Write-backs, always processed; `cross` if the bank has sent the device a removing forward.
fn write_backs() -> Vec<Row> {
    let (plain, cross) = (Send(To::Src, "RspWB"), Send(To::Src, "RspWB{cross}"));
    let (data, disown, share) = (Do(TakeData), Do(Disown), Do(ShareKept));
    vec![
        row("O", "ReqWB", &[ByOwner], &[data, disown, plain], "V"),
        row("P1.rvk, P1.s, EV.rvk", "ReqWB", &[ByOwner], &[data, disown, cross], "="),
        row("P1.wb", "ReqWB", &[ByOwner], &[data, disown, cross, Commit("V")], "="),
        row("P1.swb", "ReqWB", &[ByOwner], &[data, disown, cross, share], "S"),
        row("EV.wb", "ReqWB", &[ByOwner], &[data, disown, cross], "I"),
        row("I, V, S, O, P1.ack, EV.ack, FILL", "ReqWB", &[ByOther], &[cross], "="),
        row("P1.rvk, P1.wb, P1.s, P1.swb, EV.rvk, EV.wb", "ReqWB", &[ByOther], &[cross], "="),
    ]
}

/// Section 4.2: blocked lines.
fn blocked() -> Vec<Row> {
    let (data, disown, share) = (Do(TakeData), Do(Disown), Do(ShareKept));
    vec![
        row("P1.ack", "Ack", &[OneAck], &[Do(AckSrc)], "="),
        row("P1.ack", "Ack", &[LastAck], &[Do(AckSrc), Commit("V")], "="),
        row("P1.rvk", "RspRvkO", &[ByOwner], &[data, disown, Commit("V")], "="),
        row("P1.rvk", "RspRvkO{nodata}", &[Owned], &[], "P1.wb"),
        row("P1.rvk", "RspRvkO{nodata}", &[NotOwned], &[Commit("V")], "="),
        row("P1.s", "RspRvkO{kept_s}", &[ByOwner], &[data, disown, share, Do(Share)], "S"),
        row("P1.s", "RspRvkO", &[ByOwner], &[data, disown, share], "S"),
        row("P1.s", "RspRvkO{nodata}", &[Owned], &[], "P1.swb"),
        row("P1.s", "RspRvkO{nodata}", &[NotOwned], &[share], "S"),
        row(BLOCKED, REQUESTS, &[], &[Do(Stall)], "="),
    ]
}

const REQUESTS: &str = "ReqV, ReqS, ReqWT, ReqWT{fwd}, ReqO, ReqWT+data, ReqWT+data{READ}, ReqO+data";
const BLOCKED: &str = "P1.ack, P1.rvk, P1.wb, P1.s, P1.swb, EV.ack, EV.rvk, EV.wb, FILL";

/// Sections 4.1 and 4.2: the LLC evicts and fetches the line whenever it may.
fn evictions() -> Vec<Row> {
    let data = Do(TakeData);
    vec![
        row("V", "evict", &[Evict], &[], "I"),
        row("S", "evict", &[Evict], &[Send(To::Sharers, "Inv")], "EV.ack"),
        row("O", "evict", &[Evict], &[Send(To::Owner, "RvkO")], "EV.rvk"),
        row("EV.ack", "Ack", &[OneAck], &[Do(AckSrc)], "="),
        row("EV.ack", "Ack", &[LastAck], &[Do(AckSrc), Do(Unshare)], "I"),
        row("EV.rvk", "RspRvkO", &[ByOwner], &[data, Do(Disown)], "I"),
        row("EV.rvk", "RspRvkO{nodata}", &[Owned], &[], "EV.wb"),
        row("EV.rvk", "RspRvkO{nodata}", &[NotOwned], &[], "I"),
        row("I", "ReqWT, ReqWT{fwd}", &[], &[Do(WriteLlc), Send(To::Src, "RspWT")], "V"),
        row("I", "ReqO", &[], &[Do(Overtake), Send(To::Src, "RspO"), Do(Own)], "O"),
        row("I", "ReqV, ReqS, ReqWT+data, ReqWT+data{READ}, ReqO+data", &[], &[Do(Latch)], "FILL"),
        row("FILL", "fill", &[Evict], &[Commit("V")], "="),
    ]
}

/// The protocol.
pub fn spandex() -> Protocol {
    let message = |&(name, [data, names, removes]): &(_, [bool; 3])| Message { name, data, names, removes };
    Protocol {
        name: "Spandex",
        messages: MESSAGES.iter().map(message).collect(),
        core: &[
            "load ReqV",
            "load direct ReqV",
            "load ReqS",
            "store ReqWT",
            "store direct ReqWT",
            "store ReqO",
            "rmw ReqWT+data",
            "rmw ReqO+data",
            "drop",
            "replace",
            "store hit",
        ],
        own: &["evict", "fill"],
        device_states: &[
            "I", "V", "S", "O", "RV", "RX", "WI", "WV", "AT", "PO", "PD", "PDs", "PDu", "WB", "WBx",
        ],
        stable: &["I", "V", "S", "O"],
        owning: &["O"],
        shared: &["S"],
        valued: &["V", "S", "O", "WI", "WV", "PO", "WB", "WBx"],
        storing: &["WI", "WV", "PO"],
        llc_states: &[
            "V", "S", "O", "I", "P1.ack", "P1.rvk", "P1.wb", "P1.s", "P1.swb", "EV.ack", "EV.rvk", "EV.wb",
            "FILL",
        ],
        open: &["I", "V", "S", "O"],
        owned: "O",
        sharing: "S",
        strict: false,
        device: [core(), responses(), probes(), removals()].concat(),
        llc: [requests(), write_backs(), blocked(), evictions()].concat(),
    }
}

//! A blocking MESI directory with requests like those of CHI (spandex.md section 11 with the table of section 9): any line may be read without becoming a
//! sharer (ReadNS) and written without becoming its owner (WriteNS).
//!
//! Transients of a device, beside those of section 9 (IS, ISI, IM, SM, MI, II): MA has the data of its GetM and misses acknowledgements, NR and NW wait for
//! ReadNS and WriteNS. LLC, beside C, SS, MT and (with `evict`) I; all of them keep every request in the network, PutM included:
//!
//! | status | awaits |
//! | --- | --- |
//! | busy.X | UnblockX of the new owner |
//! | busy.IIB; busy.IB, busy.IW | Unblock of the reader and WbData of the old owner; the first, the second of the two alone |
//! | busy.N | Unblock of who was served by the owner |
//! | busy.A, EV.A | InvAck of the sharers |
//! | busy.R, EV.R | WbData of the owner, recalled |
//! | FILL | memory |

use crate::table::Act::{Commit, Do, Send};
use crate::table::Verb::{
    Ack, AckSrc, Ask, AwaitAcks, Disown, Done, Grant, Hit, Issue, Latch, Load, Own, Share, Stall, Take,
    TakeData, Unshare, Write, WriteLlc, Yield,
};
use crate::table::When::{
    AllAcks, ByOther, ByOwner, Evict, LastAck, NoWtFwd, OneAck, Opred, SomeAcks, Values, WtFwd,
};
use crate::table::{Message, Protocol, Row, To, row};

/// Messages: with data, with somebody to answer, ownership-removing. Who has sent an answer matters where an Unblock is owed, so it has a name of its own.
const MESSAGES: &[(&str, [bool; 3])] = {
    const DATA: [bool; 3] = [true, false, false];
    const PLAIN: [bool; 3] = [false, false, false];
    const FORWARD: [bool; 3] = [false, true, false];
    const STORE: [bool; 3] = [true, true, false];
    &[
        ("GetS", PLAIN),
        ("GetM", PLAIN),
        ("ReadNS", PLAIN),
        ("WriteNS", DATA),
        ("WriteNS{fwd}", DATA),
        ("PutM", DATA),
        ("FwdGetS", [false, true, true]),
        ("FwdGetM", [false, true, true]),
        ("FwdReadNS", FORWARD),
        ("FwdWriteNS", STORE),
        ("direct ReadNS", FORWARD),
        ("direct WriteNS", STORE),
        ("Inv", FORWARD),
        ("Recall", [false, false, true]),
        ("DataS", DATA),
        ("DataS{owner}", DATA),
        ("DataE", DATA),
        ("DataM", DATA),
        ("InvAck", PLAIN),
        ("DataNS", DATA),
        ("DataNS{owner}", DATA),
        ("AckNS", PLAIN),
        ("AckNS{owner}", PLAIN),
        ("Nack", PLAIN),
        ("Nack{direct}", PLAIN),
        ("WBAck", PLAIN),
        ("WbData", DATA),
        ("WbData{kept_s}", DATA),
        ("Unblock", PLAIN),
        ("UnblockX", PLAIN),
    ]
};

/// What the stable states may issue.
fn core() -> Vec<Row> {
    let llc = |name| Send(To::Llc, name);
    let target = |name| Send(To::Target, name);
    vec![
        row("I", "load GetS", &[], &[Do(Ask), llc("GetS")], "IS"),
        row("I", "load ReadNS", &[], &[Do(Ask), llc("ReadNS")], "NR"),
        row("I", "load direct ReadNS", &[Opred], &[Do(Ask), target("direct ReadNS")], "NR"),
        row("I, V", "store GetM", &[], &[llc("GetM")], "IM"),
        row("S", "store GetM", &[], &[llc("GetM")], "SM"),
        row("I, V, S", "store WriteNS", &[NoWtFwd], &[Do(Issue), llc("WriteNS")], "NW"),
        row("I, V, S", "store WriteNS", &[WtFwd], &[Do(Issue), llc("WriteNS{fwd}")], "NW"),
        row("I, V, S", "store direct WriteNS", &[Opred], &[Do(Issue), target("direct WriteNS")], "NW"),
        row("V, S", "drop", &[], &[], "I"),
        row("E", "store hit", &[], &[Do(Hit)], "M"),
        row("M", "store hit", &[Values], &[Do(Hit)], "="),
        row("E, M", "replace", &[], &[llc("PutM")], "MI"),
    ]
}

/// Responses.
fn responses() -> Vec<Row> {
    let llc = |name| Send(To::Llc, name);
    vec![
        row("IS", "DataS", &[], &[Do(Load)], "S"),
        row("IS", "DataS{owner}", &[], &[Do(Load), llc("Unblock")], "S"),
        row("ISI", "DataS", &[], &[Do(Load)], "I"),
        row("ISI", "DataS{owner}", &[], &[Do(Load), llc("Unblock")], "I"),
        row("IS, ISI", "DataE", &[], &[Do(Take), Do(Load), llc("UnblockX")], "E"),
        row("IM, SM", "DataM", &[AllAcks], &[Do(AwaitAcks), Do(Take), Do(Hit), llc("UnblockX")], "M"),
        row("IM, SM", "DataM", &[SomeAcks], &[Do(Take), Do(AwaitAcks)], "MA"),
        row("IM, SM", "InvAck", &[], &[Do(Ack)], "="),
        row("MA", "InvAck", &[OneAck], &[Do(Ack)], "="),
        row("MA", "InvAck", &[LastAck], &[Do(Ack), Do(Hit), llc("UnblockX")], "M"),
        row("NR", "DataNS", &[], &[Do(Load)], "V"),
        row("NR", "DataNS{owner}", &[], &[Do(Load), llc("Unblock")], "V"),
        row("NR", "Nack{direct}", &[], &[llc("ReadNS")], "="),
        row("NW", "AckNS", &[], &[Do(Done)], "V"),
        row("NW", "AckNS{owner}", &[], &[Do(Done), llc("Unblock")], "V"),
        row("NW", "Nack", &[], &[llc("Unblock"), llc("WriteNS")], "="),
        row("NW", "Nack{direct}", &[WtFwd], &[llc("WriteNS{fwd}")], "="),
        row("NW", "Nack{direct}", &[NoWtFwd], &[llc("WriteNS")], "="),
        row("MI, II", "WBAck", &[], &[], "I"),
    ]
}

/// Forwards and direct requests.
fn forwards() -> Vec<Row> {
    let req = |name| Send(To::Req, name);
    let llc = |name| Send(To::Llc, name);
    let (give, write) = (Do(Yield), Do(Write));
    vec![
        row("S", "Inv", &[], &[req("InvAck")], "I"),
        row("IS", "Inv", &[], &[req("InvAck")], "ISI"),
        row("SM", "Inv", &[], &[req("InvAck")], "IM"),
        row("I, V, ISI, IM, NR, NW", "Inv", &[], &[req("InvAck")], "="),
        row("E, M", "FwdGetS", &[], &[req("DataS{owner}"), llc("WbData{kept_s}")], "S"),
        row("MI", "FwdGetS", &[], &[req("DataS{owner}"), llc("WbData")], "II"),
        row("E, M", "FwdGetM", &[], &[req("DataM"), give], "I"),
        row("MI", "FwdGetM", &[], &[req("DataM"), give], "II"),
        row("E, M", "Recall", &[], &[llc("WbData")], "I"),
        row("MI", "Recall", &[], &[llc("WbData")], "II"),
        row("E, M, MI", "FwdReadNS", &[], &[req("DataNS{owner}")], "="),
        row("E, M", "FwdWriteNS", &[], &[write, req("AckNS{owner}")], "M"),
        row("MI", "FwdWriteNS", &[], &[req("Nack")], "="),
        row("E, M", "direct ReadNS", &[], &[req("DataNS")], "="),
        row("E, M", "direct WriteNS", &[], &[write, req("AckNS")], "M"),
        row(NOT_OWNER, "direct ReadNS, direct WriteNS", &[], &[req("Nack{direct}")], "="),
    ]
}

const NOT_OWNER: &str = "I, V, S, IS, ISI, IM, SM, MA, MI, II, NR, NW";

/// Requests at a line that is not busy.
fn requests() -> Vec<Row> {
    let src = |name| Send(To::Src, name);
    let owner = |name| Send(To::Owner, name);
    let invalidate = [Send(To::OthersForSrc, "Inv"), Send(To::SrcCounted, "DataM"), Do(Unshare), Do(Grant)];
    vec![
        row("C", "GetS", &[], &[src("DataE"), Do(Grant)], "busy.X"),
        row("SS", "GetS", &[], &[src("DataS"), Do(Share)], "="),
        row("MT", "GetS", &[ByOther], &[owner("FwdGetS")], "busy.IIB"),
        row("C", "GetM", &[], &[src("DataM"), Do(Grant)], "busy.X"),
        row("SS", "GetM", &[], &invalidate, "busy.X"),
        row("MT", "GetM", &[ByOther], &[owner("FwdGetM"), Do(Grant), Do(Disown)], "busy.X"),
        row("I, C, SS", "PutM", &[], &[src("WBAck")], "="),
        row("MT", "PutM", &[ByOther], &[src("WBAck")], "="),
        row("MT", "PutM", &[ByOwner], &[Do(TakeData), Do(Disown), src("WBAck")], "C"),
        row("C, SS", "ReadNS", &[], &[src("DataNS")], "="),
        row("MT", "ReadNS", &[ByOther], &[owner("FwdReadNS")], "busy.N"),
        row("C", "WriteNS, WriteNS{fwd}", &[], &[Do(WriteLlc), src("AckNS")], "="),
        row("SS", "WriteNS, WriteNS{fwd}", &[], &[Do(Latch), Send(To::Sharers, "Inv")], "busy.A"),
        row("MT", "WriteNS", &[ByOther], &[Do(Latch), owner("Recall")], "busy.R"),
        row("MT", "WriteNS{fwd}", &[ByOther], &[owner("FwdWriteNS")], "busy.N"),
    ]
}

/// Busy lines.
fn busy() -> Vec<Row> {
    let (data, disown, share) = (Do(TakeData), Do(Disown), Do(Share));
    vec![
        row("busy.X", "UnblockX", &[], &[Do(Own)], "MT"),
        row("busy.IIB", "WbData", &[ByOwner], &[data, disown], "busy.IB"),
        row("busy.IIB", "WbData{kept_s}", &[ByOwner], &[data, disown, share], "busy.IB"),
        row("busy.IIB", "Unblock", &[ByOther], &[share], "busy.IW"),
        row("busy.IB", "Unblock", &[ByOther], &[share], "SS"),
        row("busy.IW", "WbData", &[ByOwner], &[data, disown], "SS"),
        row("busy.IW", "WbData{kept_s}", &[ByOwner], &[data, disown, share], "SS"),
        row("busy.N", "Unblock", &[ByOther], &[], "MT"),
        row("busy.A", "InvAck", &[OneAck], &[Do(AckSrc)], "="),
        row("busy.A", "InvAck", &[LastAck], &[Do(AckSrc), Commit("C")], "="),
        row("busy.R", "WbData", &[ByOwner], &[data, disown, Commit("C")], "="),
        row(BUSY, "GetS, GetM, ReadNS, WriteNS, WriteNS{fwd}, PutM", &[], &[Do(Stall)], "="),
    ]
}

const BUSY: &str = "busy.X, busy.IIB, busy.IB, busy.IW, busy.N, busy.A, busy.R, EV.A, EV.R, FILL";

/// The LLC evicts and fetches the line whenever it may.
fn evictions() -> Vec<Row> {
    vec![
        row("C", "evict", &[Evict], &[], "I"),
        row("SS", "evict", &[Evict], &[Send(To::Sharers, "Inv")], "EV.A"),
        row("MT", "evict", &[Evict], &[Send(To::Owner, "Recall")], "EV.R"),
        row("EV.A", "InvAck", &[OneAck], &[Do(AckSrc)], "="),
        row("EV.A", "InvAck", &[LastAck], &[Do(AckSrc), Do(Unshare)], "I"),
        row("EV.R", "WbData", &[ByOwner], &[Do(TakeData), Do(Disown)], "I"),
        row("I", "GetS, GetM, ReadNS, WriteNS, WriteNS{fwd}", &[], &[Do(Latch)], "FILL"),
        row("FILL", "fill", &[Evict], &[Commit("C")], "="),
    ]
}

/// The protocol.
pub fn chi() -> Protocol {
    let message = |&(name, [data, names, removes]): &(_, [bool; 3])| Message { name, data, names, removes };
    Protocol {
        name: "CHI-like",
        messages: MESSAGES.iter().map(message).collect(),
        core: &[
            "load GetS",
            "load ReadNS",
            "load direct ReadNS",
            "store GetM",
            "store WriteNS",
            "store direct WriteNS",
            "drop",
            "store hit",
            "replace",
        ],
        own: &["evict", "fill"],
        device_states: &["I", "V", "S", "E", "M", "IS", "ISI", "IM", "SM", "MA", "MI", "II", "NR", "NW"],
        stable: &["I", "V", "S", "E", "M"],
        owning: &["E", "M"],
        shared: &["S"],
        valued: &["V", "S", "E", "M", "MA", "MI", "NW"],
        storing: &["NW"],
        llc_states: &[
            "C", "SS", "MT", "I", "busy.X", "busy.IIB", "busy.IB", "busy.IW", "busy.N", "busy.A", "busy.R",
            "EV.A", "EV.R", "FILL",
        ],
        open: &["I", "C", "SS", "MT"],
        owned: "MT",
        sharing: "SS",
        strict: true,
        device: [core(), responses(), forwards()].concat(),
        llc: [requests(), busy(), evictions()].concat(),
    }
}

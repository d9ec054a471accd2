//! What messages carry of owners (protocol `moesi`), beside what they carry in all protocols of the family: [`Sys::owners`] says whether they do.
//!
//! | message | is |
//! | --- | --- |
//! | [`ReqMsg`](super::ReqMsg) `Rd` | GetS, or with `exclusive` GetM |
//! | `ReqMsg` `Wr` | Put, with all bytes if the line was written, else with none |
//! | [`InvMsg`](super::InvMsg) `Inv` | what `ask` says |
//! | [`RspMsg`](super::RspMsg) `Rd` | with data: Data of an owner or of the home side, or Back |
//! | `RspMsg` `Wr` | without: Data of the requester's own, PutAck, or Back of a line that was not written |
//! | `RspMsg` `Ack` | Ack, or Done |

use super::Sys;
use weft_rtl::prelude::*;

/// Of a request.
#[derive(Clone, Copy, Bundle)]
pub struct OwnerReq {
    /// GetM; else GetS.
    pub exclusive: Bool,
}

/// What is asked of who holds a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Ask {
    /// Drop it, and acknowledge that to the home.
    Inv,
    /// Send it to the requester, and stay the owner.
    FwdS,
    /// Send it to the requester, who becomes the owner.
    FwdM,
    /// Give it back to the home.
    Recall,
}

/// Of an INV message; its requester is a field that all have.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
pub struct OwnerInv {
    /// What is asked.
    pub ask: Enum<Ask>,
    /// Transaction number of the requester, of FwdS and FwdM.
    #[width(p.l2_id_bits())]
    pub id: Bits,
}

/// The same at a slice and at a bank.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
pub struct OwnerAsk {
    /// What is asked.
    pub ask: Enum<Ask>,
    /// Requester, of FwdS and FwdM.
    #[width(p.node_bits())]
    #[below(p.nodes())]
    pub requester: Bits,
    /// Its transaction number.
    #[width(p.l2_id_bits())]
    pub id: Bits,
}

impl OwnerAsk {
    /// An Inv, which has no requester.
    pub fn inv(sys: &Sys) -> OwnerAsk {
        let (requester, id) = (lit(0, sys.node_bits()), lit(0, sys.l2_id_bits()));
        OwnerAsk { ask: enum_lit(Ask::Inv), requester, id }
    }
}

/// What an answer gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum Gives {
    /// An Inv was applied.
    Applied,
    /// A copy beside others.
    Shared,
    /// The only copy, which memory has too.
    Exclusive,
    /// The only copy.
    Modified,
    /// PutAck.
    Put,
    /// The line comes back to its home.
    Back,
    /// The requester has the line.
    Done,
}

/// Of an answer.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
pub struct OwnerRsp {
    /// What it gives.
    pub gives: Enum<Gives>,
    /// The line, of Back.
    #[width(p.line_bits())]
    pub line: Bits,
}

/// What a home's bank asks its slice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum HomeOp {
    /// GetS of another node.
    GetS,
    /// GetM of another node.
    GetM,
    /// Put of another node.
    Put,
    /// The home's own node reads.
    ReadHome,
    /// The home's own node writes.
    OwnHome,
}

/// Of an operation at the slice.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
pub struct OwnerOp {
    /// What is asked.
    pub op: Enum<HomeOp>,
    /// Transaction number of the requester in its bank.
    #[width(p.l2_id_bits())]
    pub id: Bits,
    /// The home's own node has no copy, and has asked for none.
    pub alone: Bool,
}

/// What the slice answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum HomeAnswer {
    /// The home has the data, and no other node a copy.
    Alone,
    /// The home has the data.
    Home,
    /// The requester has them.
    Keep,
    /// The owner sends them.
    Forwarded,
    /// The Put is its owner's.
    Taken,
    /// The Put is of a line that is another's by now.
    Stale,
}

/// Of a slice's answer.
#[derive(Clone, Copy, Bundle)]
pub struct OwnerAnswer {
    /// What it is.
    pub answer: Enum<HomeAnswer>,
}

/// A home's bank to its slice (channel `done`): an own transaction of a line is over, or the line has come back.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
pub struct HomeDone {
    /// Line number.
    #[width(p.line_bits())]
    pub line: Bits,
    /// Memory has what a Put or the answer to a Recall has brought; else the home's own node has what it asked for.
    pub written: Bool,
}

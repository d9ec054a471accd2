//! The messages of spandex.md section 9 as plain data. Messages between GPU L1s and the L2 are those of section 2.

use weft_spandex_bench::golden::msg::{Data, Msg as GpuMsg, Vn};

/// An end point of the network of the L3.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Node {
    /// A client: CPU by number, then the GPU L2, whose bank follows from the line.
    Client(u8),
    /// An L3 bank.
    L3(u8),
}

/// Operation with its extra fields.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Op {
    // VN REQ
    GetS,
    GetM,
    // VN FWD
    FwdGetS,
    FwdGetM,
    Recall,
    /// InvAck goes to `to`.
    Inv {
        to: Node,
    },
    // VN WB
    Put {
        dirty: bool,
    },
    // VN RSP
    DataE,
    /// `owner`: from the old owner, not from the L3.
    DataS {
        owner: bool,
    },
    /// So many InvAcks are to come.
    DataM {
        acks: u8,
    },
    InvAck,
    WbAck,
    /// `kept`: the old owner has an S copy.
    WbData {
        dirty: bool,
        kept: bool,
    },
    Unblock,
    UnblockX,
}

impl Op {
    /// The network it travels on.
    pub fn vn(&self) -> Vn {
        match self {
            Op::GetS | Op::GetM => Vn::Req,
            Op::FwdGetS | Op::FwdGetM | Op::Recall | Op::Inv { .. } => Vn::Fwd,
            Op::Put { .. } => Vn::Wb,
            _ => Vn::Rsp,
        }
    }
    /// Whether it carries the line.
    pub fn has_data(&self) -> bool {
        match self {
            Op::Put { dirty } | Op::WbData { dirty, .. } => *dirty,
            Op::DataE | Op::DataS { .. } | Op::DataM { .. } => true,
            _ => false,
        }
    }
}

/// A message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Msg {
    /// Where to.
    pub dst: Node,
    /// What.
    pub op: Op,
    /// Line number.
    pub line: u32,
    /// From where.
    pub src: Node,
    /// FwdGetS, FwdGetM: the client that is to be answered.
    pub req: u8,
    /// Transaction of the client that sent a request or Put, in all that it causes to clients; else zero.
    pub tag: u16,
    /// The line, where it is carried.
    pub data: Data,
}

impl Msg {
    /// Without data.
    pub fn new(src: Node, dst: Node, op: Op, line: u32) -> Msg {
        let req = if let Node::Client(client) = src { client } else { 0 };
        Msg { dst, op, line, src, req, tag: 0, data: Data::default() }
    }
    /// With the line.
    pub fn with(mut self, data: &Data) -> Msg {
        self.data = *data;
        self
    }
    /// The client that sent it.
    pub fn client(&self) -> u8 {
        match self.src {
            Node::Client(client) => client,
            Node::L3(_) => u8::MAX,
        }
    }
}

/// A message of either protocol.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Packet {
    /// Between the L3 and its clients.
    Mesi(Msg),
    /// Between GPU L1s and the L2.
    Gpu(GpuMsg),
}

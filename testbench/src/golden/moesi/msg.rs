//! Messages between the nodes (moesi.md section 3), and the small types that all parts share.

/// A node: the home of a line is one of them.
pub type Node = u8;
/// A line, by number. It stands for the id of a message too: a node has one request of a line under way.
pub type Line = u8;
/// What a line holds: how many stores to it had been performed.
pub type Version = u16;

/// What an operation of a program does at the bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Load of any scope.
    Load,
    /// Store.
    Store,
    /// Atomic: it reads and writes in M.
    Atomic,
}

impl Kind {
    /// It needs M.
    pub fn writes(self) -> bool {
        self != Kind::Load
    }
}

/// An operation that waits in a bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// What it does.
    pub kind: Kind,
    /// Its place in the program of its node: for the checks only.
    pub number: u16,
}

/// What a requester may do with the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grant {
    /// Read.
    S,
    /// Read, and write without asking: nobody else has a copy.
    E,
    /// Write.
    M,
}

/// A network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Net {
    /// Requests to homes.
    Req,
    /// From slices to banks.
    Inv,
    /// Answers; always taken.
    Rsp,
}

/// A message beside its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Msg {
    /// For reading.
    GetS,
    /// For writing.
    GetM,
    /// An owner gives its copy up; data if it was in M or O.
    Put(Option<Version>),
    /// A sharer shall drop its copy.
    Inv,
    /// The owner shall send the line for reading.
    FwdS(Node),
    /// The owner shall send the line for writing.
    FwdM(Node),
    /// The owner shall give the line back.
    Recall,
    /// The line; without data if the requester is the owner.
    Data(Grant, Option<Version>),
    /// The write-back buffer's place is free.
    PutAck,
    /// What a recalled owner had; data if it was in M or O.
    Back(Option<Version>),
    /// An Inv is applied.
    Ack,
    /// The requester has performed what waited.
    Done,
}

impl Msg {
    /// The network that carries it.
    pub fn net(self) -> Net {
        match self {
            Msg::GetS | Msg::GetM | Msg::Put(_) => Net::Req,
            Msg::Inv | Msg::FwdS(_) | Msg::FwdM(_) | Msg::Recall => Net::Inv,
            _ => Net::Rsp,
        }
    }

    /// Two bytes that say which it is; `fresh` says whether data is that of the last store.
    pub fn code(self, fresh: impl Fn(Version) -> bool) -> [u8; 2] {
        let of = |data: Option<Version>| data.map_or(0, |data| 1 + u8::from(fresh(data)));
        match self {
            Msg::GetS => [0, 0],
            Msg::GetM => [1, 0],
            Msg::Put(data) => [2, of(data)],
            Msg::Inv => [3, 0],
            Msg::FwdS(node) => [4, node],
            Msg::FwdM(node) => [5, node],
            Msg::Recall => [6, 0],
            Msg::Data(grant, data) => [7, grant as u8 * 4 + of(data)],
            Msg::PutAck => [8, 0],
            Msg::Back(data) => [9, of(data)],
            Msg::Ack => [10, 0],
            Msg::Done => [11, 0],
        }
    }
}

/// A message under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// From where.
    pub from: Node,
    /// To where.
    pub to: Node,
    /// Line.
    pub line: Line,
    /// The rest.
    pub msg: Msg,
}

/// What the slice tells the home side, or the home's own bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    /// Nobody has a copy: memory has the line, and the requester is granted E.
    Alone,
    /// The home's copy, or memory, has the line.
    Home,
    /// The requester has the data itself.
    Keep,
    /// The owner sends the data.
    Forwarded,
    /// The Put is that of the owner.
    Taken,
    /// The Put is of somebody who is owner no longer.
    Stale,
}

/// An operation of the slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Asks {
    /// Read by another node.
    GetS,
    /// Write by another node.
    GetM,
    /// Read by the home's own bank.
    ReadHome,
    /// Write by the home's own bank.
    OwnHome,
    /// Write-back by another node.
    Put,
}

/// An operation with its line and who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SliceOp {
    /// What.
    pub asks: Asks,
    /// By whom.
    pub src: Node,
    /// Of which line.
    pub line: Line,
    /// Of a read: when it entered, the home's own bank had no copy and (of another node's) had not asked for
    /// one. It goes with the operation, since the slice does not see the own bank.
    pub alone: bool,
}

/// What a bank or a slice does in one call beside changing its own state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A message on its network.
    Send(Packet),
    /// Slice to the bank beside it.
    Answer(SliceOp, Answer),
    /// Bank to the slice beside it: an operation, of another node or its own.
    Ask(SliceOp),
    /// Bank to the slice beside it: its own Done.
    Done(Line),
    /// Bank to the slice beside it: the Put that was taken is in memory.
    Written(Line),
    /// Bank to the slice beside it: a Back has come, and its data is in memory.
    Back(Line),
    /// A load or an atomic of this node got these bytes of the line.
    Loaded(Node, Line, Version),
}

//! What a bank knows: of a line, and of requests of other nodes.

use super::fabric::Fabric;
use super::msg::{Action, Answer, Asks, Kind, Line, Node, Op, SliceOp, Version};
use super::table::{Event, Place, State};

/// A copy in the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copy {
    /// State.
    pub state: State,
    /// Bytes; 0 in I.
    pub data: Version,
}

/// A request of the node under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mshr {
    /// GetS or GetM, or their forms at home.
    pub asks: Asks,
    /// The home's own: the slice has answered.
    pub answer: Option<Answer>,
    /// Data is taken and performed: Done waits for room.
    pub owes: bool,
    /// The number of the operation that it was sent for: for the checks.
    pub head: u16,
    /// It was sent from S: for the races.
    pub from_s: bool,
}

/// A place of the write-back buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteBack {
    /// Not a shell.
    pub live: bool,
    /// Bytes.
    pub data: Version,
    /// From M or O.
    pub dirty: bool,
    /// What it would be in the array.
    pub state: State,
    /// What has met it: for the races.
    pub met: Option<Event>,
}

/// What a bank knows of a line.
#[derive(Clone, Debug)]
pub struct BankLine {
    /// The array.
    pub copy: Copy,
    /// A request under way.
    pub mshr: Option<Mshr>,
    /// A Put under way.
    pub buffer: Option<WriteBack>,
    /// Operations that wait for the line.
    pub waiting: Vec<Op>,
    /// Done was sent before these are performed (a slip).
    pub late: bool,
    /// Nothing has happened here since Done: for the races.
    pub just_done: bool,
    /// M was got from S: for the races.
    pub upgraded: bool,
}

/// A bank.
#[derive(Clone, Debug)]
pub struct Bank {
    /// Its node.
    pub node: Node,
    /// By line.
    pub lines: Vec<BankLine>,
    /// The home side's table of operations.
    pub homes: Vec<HomeOp>,
}

/// What I holds.
pub const NOTHING: Copy = Copy { state: State::I, data: 0 };

impl BankLine {
    pub(super) fn new() -> BankLine {
        let (mshr, buffer, waiting) = (None, None, Vec::new());
        BankLine { copy: NOTHING, mshr, buffer, waiting, late: false, just_done: false, upgraded: false }
    }

    /// Something that an operation of the node must wait for.
    pub(super) fn busy(&self) -> bool {
        let asked = self.mshr.is_some_and(|mshr| !mshr.owes);
        asked || self.buffer.is_some() || !self.waiting.is_empty()
    }

    /// It has a copy that may be newer than memory.
    pub fn written(&self) -> bool {
        matches!(self.copy.state, State::M | State::O)
    }

    /// Where a message of the slice finds the line.
    pub(super) fn place(&self) -> Option<Place> {
        let state = self.copy.state;
        match (self.buffer, self.mshr) {
            (Some(buffer), _) if state == State::I => buffer.live.then_some(Place::Buffer(buffer.state)),
            (_, Some(Mshr { owes: false, asks, .. })) => Some(match asks {
                Asks::GetS | Asks::ReadHome => Place::GetS(state),
                _ => Place::GetM(state),
            }),
            _ => Some(Place::Array(state)),
        }
    }
}

/// A place of the table of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HomeOp {
    /// The operation.
    pub op: SliceOp,
    /// What a Put brings.
    pub data: Option<Version>,
    /// The slice has it: always, but for a slip.
    pub asked: bool,
    /// It has dropped the own S copy: for the races.
    pub dropped: bool,
    /// What the slice has said.
    pub answer: Option<Answer>,
}

/// An operation is performed; the checks of section 8 that belong to it.
pub fn perform(node: Node, line: Line, at: &mut BankLine, op: Op, f: &mut Fabric) {
    let latest = f.latest[usize::from(line)];
    if let Some(older) = at.waiting.iter().find(|older| older.number < op.number) {
        f.fail(format!("node {node}, line {line}: {op:?} is performed before {older:?}"));
    }
    if at.copy.data != latest {
        f.fail(format!("node {node}, line {line}: {op:?} finds {}, not {latest}", at.copy.data));
    }
    if op.kind != Kind::Store {
        f.out.push(Action::Loaded(node, line, at.copy.data));
    }
    if op.kind.writes() {
        f.latest[usize::from(line)] = latest + 1;
        at.copy.data = latest + 1;
    }
}

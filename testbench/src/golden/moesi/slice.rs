//! The slice (moesi.md section 4): entries, the pending table, the queue.

use super::fabric::{Fabric, Params};
use super::msg::{Action, Asks, Line, Msg, Net, Node, Packet, SliceOp};
use super::races::{Race, Tally};
use super::slips::Slip;
use super::table::{End, Found, SLICE, SliceRow, Until, slice_row};

/// What other nodes hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Who answers for the line.
    pub owner: Option<Node>,
    /// A bit for each node that may have a copy; never the owner's.
    pub sharers: u8,
}

/// What a row of the pending table waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Acks before the answer.
    Acks,
    /// The requester's Done.
    Done,
    /// The home side's write of memory.
    Written,
    /// Acks of the sharers of a replaced entry.
    Replaced,
    /// The Back of its owner.
    Recalled,
}

/// A row of the pending table.
#[derive(Clone, Copy, Debug)]
pub struct Pending {
    /// Of which operation; of none if an entry was replaced.
    pub op: Option<SliceOp>,
    /// The row of the transition table.
    row: &'static SliceRow,
    /// Awaited Acks.
    pub acks: u8,
    /// The owner of a replaced entry, who is recalled after the Acks.
    pub recall: Option<Node>,
    /// What is waited for.
    pub phase: Phase,
    /// There were sharers: for the races.
    shared: bool,
    /// The owner that is asked: for the races.
    asked: Option<Node>,
}

/// An operation in the queue.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// The operation.
    pub op: SliceOp,
    /// It has waited behind a row: for the races.
    pub behind: bool,
}

/// The slice of a home.
#[derive(Clone, Debug)]
pub struct Slice {
    /// Entries by line.
    pub entries: Vec<Option<Entry>>,
    /// Rows by line.
    pub rows: Vec<Option<Pending>>,
    /// What waits, the oldest first. Its last place is the input.
    pub queue: Vec<Waiting>,
}

impl Pending {
    /// Its row of the table, for keys.
    pub fn row_number(&self) -> u8 {
        let of = |row: &SliceRow| (row.asks, row.answer, row.until, row.end);
        SLICE.iter().position(|row| of(row) == of(self.row)).unwrap_or(0) as u8
    }
}

fn others(sharers: u8, but: Node) -> u8 {
    sharers & !(1 << but)
}

impl Slice {
    /// Empty.
    pub fn new(p: &Params) -> Slice {
        let lines = usize::from(p.lines);
        Slice { entries: vec![None; lines], rows: vec![None; lines], queue: Vec::new() }
    }

    /// There is room for one more operation: the queue, and the input.
    pub fn takes(&self, p: &Params) -> bool {
        self.queue.len() <= p.queue
    }

    /// An operation comes: it waits, or is performed at once.
    pub fn offer(&mut self, op: SliceOp, p: &Params, f: &mut Fabric, tally: &mut Tally) {
        self.queue.push(Waiting { op, behind: self.rows[usize::from(op.line)].is_some() });
        let last = self.queue.len() - 1;
        if self.ready(last, p, f) {
            self.serve(last, p, f, tally);
        } else {
            self.waits(op, p, tally);
        }
    }

    /// Counts for what the operation that has come waits.
    fn waits(&self, op: SliceOp, p: &Params, tally: &mut Tally) {
        let last = self.queue.len() - 1;
        let older = || self.queue[..last].iter().map(|waiting| waiting.op).filter(|old| old.line == op.line);
        let row = &self.rows[usize::from(op.line)];
        let getm = row.and_then(|row| row.op).is_some_and(|old| old.asks == Asks::GetM);
        if self.queue.len() > p.queue {
            tally.race(Race::QueueFull);
        }
        if op.asks == Asks::ReadHome && (getm || older().any(|old| old.asks == Asks::GetM)) {
            tally.race(Race::ReadBehindDrop);
        }
        if let Some(row) = row {
            tally.plain("moesi.busy");
            match op.asks {
                Asks::Put if row.asked == Some(op.src) => tally.race(Race::PutBehindRow),
                Asks::OwnHome if getm => tally.race(Race::OwnHomeWaits),
                _ => {}
            }
            if row.phase == Phase::Written {
                tally.race(Race::WaitsForMemory);
            }
        } else if older().next().is_some() {
            tally.plain("moesi.behind");
        } else {
            self.stalls(op, p, tally);
        }
    }

    /// Nothing of its line is in its way.
    fn stalls(&self, op: SliceOp, p: &Params, tally: &mut Tally) {
        let rows = self.rows.iter().flatten().count();
        let Some((_, row)) = slice_row(op.asks, self.found(op)) else { return };
        if row.until != Until::Nothing && rows == p.pending {
            tally.race(Race::RowsFull);
        }
        let busy = self.entries.iter().zip(&self.rows).filter(|(entry, _)| entry.is_some());
        if row.allocate && !self.way(p) && busy.clone().all(|(_, row)| row.is_some()) {
            tally.race(Race::WaitsForWay);
        }
    }

    fn found(&self, op: SliceOp) -> Found {
        let Some(entry) = self.entries[usize::from(op.line)] else {
            return if op.alone { Found::Alone } else { Found::Miss };
        };
        let own = entry.owner.map(|owner| owner == op.src);
        match (own, others(entry.sharers, op.src) != 0) {
            (None, false) => Found::Sole,
            (None, true) => Found::Shared,
            (Some(true), false) => Found::Own,
            (Some(true), true) => Found::OwnShared,
            (Some(false), false) => Found::Owner,
            (Some(false), true) => Found::OwnerShared,
        }
    }

    /// An operation of the queue may be performed: its line has no row and nothing older waits for it; there
    /// is a row for what needs one, and room on INV for what it sends; and a way, for which nothing older
    /// waits either.
    pub fn ready(&self, at: usize, p: &Params, f: &Fabric) -> bool {
        let op = self.queue[at].op;
        if !self.first(at, p) {
            return false;
        }
        let Some((_, row)) = slice_row(op.asks, self.found(op)) else { return true };
        let rows = self.rows.iter().flatten().count();
        let way = !row.allocate || self.way(p) && !(0..at).any(|older| self.allocates(older, p));
        let entry = self.entries[usize::from(op.line)].unwrap_or_default();
        let sends = row.forwards() || row.invs && others(entry.sharers, op.src) != 0;
        let room = !sends || f.room(Net::Inv, p.home(op.line), p);
        way && room && (row.until == Until::Nothing || rows < p.pending)
    }

    /// The line of an operation of the queue has no row, and nothing older waits for it.
    fn first(&self, at: usize, p: &Params) -> bool {
        let line = self.queue[at].op.line;
        let passes = p.slip == Some(Slip::OwnPassesInQueue) && !self.queue[at].op.asks.remote();
        let older = self.queue[..at].iter().any(|other| other.op.line == line);
        (passes || !older) && self.rows[usize::from(line)].is_none()
    }

    /// An operation of the queue could be performed, and needs a way.
    fn allocates(&self, at: usize, p: &Params) -> bool {
        let op = self.queue[at].op;
        self.first(at, p) && slice_row(op.asks, self.found(op)).is_some_and(|(_, row)| row.allocate)
    }

    /// A way is free.
    fn way(&self, p: &Params) -> bool {
        self.entries.iter().flatten().count() < p.entries
    }

    /// Somebody waits for a way only.
    pub fn wants_way(&self, p: &Params) -> bool {
        !self.way(p) && (0..self.queue.len()).any(|at| self.allocates(at, p))
    }

    /// Performs an operation of the queue.
    pub fn serve(&mut self, at: usize, p: &Params, f: &mut Fabric, tally: &mut Tally) {
        let Waiting { op, behind } = self.queue.remove(at);
        let line = usize::from(op.line);
        let Some((number, row)) = slice_row(op.asks, self.found(op)) else {
            return f.fail(format!("{op:?} finds {:?}: no row", self.found(op)));
        };
        tally.row(number);
        if behind && op.asks == Asks::Put {
            f.put_behind = Some(op);
        }
        if row.allocate {
            self.entries[line] = Some(Entry::default());
        }
        let entry = self.entries[line].unwrap_or_default();
        let asked = if row.invs { others(entry.sharers, op.src) } else { 0 };
        send_invs(asked, op.src_home(p), op.line, f);
        let short = u32::from(p.slip == Some(Slip::AckTooFew) && asked != 0);
        let acks = (asked.count_ones() - short) as u8;
        let until = match p.slip {
            Some(Slip::TakenWithoutRow) if row.until == Until::Written => Until::Nothing,
            _ => row.until,
        };
        let phase = Phase::Acks;
        let (shared, owner) = (asked != 0, entry.owner.filter(|_| row.forwards()));
        let pending = Pending { op: Some(op), row, acks, recall: None, phase, shared, asked: owner };
        if until == Until::Nothing {
            self.end(op, row.end);
            f.out.push(Action::Answer(op, row.answer));
            return;
        }
        if matches!(row.end, End::OwnNow | End::ShareNow) {
            self.end(op, row.end);
        }
        self.rows[line] = Some(pending);
        if acks == 0 {
            self.go(op.line, p, f, tally);
        }
    }

    /// All Acks are there: the answer, or what the owner is sent, if INV has room for it.
    pub fn go(&mut self, line: Line, p: &Params, f: &mut Fabric, tally: &mut Tally) {
        let entry = self.entries[usize::from(line)].unwrap_or_default();
        let Some(pending) = &mut self.rows[usize::from(line)] else { return };
        let (home, row) = (p.home(line), pending.row);
        let room = f.room(Net::Inv, home, p) || p.slip == Some(Slip::AckNeedsRoom);
        let Some(op) = pending.op else {
            if let (Some(owner), true) = (pending.recall, room) {
                f.send(Packet { from: home, to: owner, line, msg: Msg::Recall });
                if pending.shared {
                    tally.race(Race::RecallAfterAcks);
                }
                (pending.phase, pending.recall) = (Phase::Recalled, None);
            }
            return;
        };
        if row.forwards() && !room {
            return;
        }
        pending.phase = if row.until == Until::Written { Phase::Written } else { Phase::Done };
        if let (true, Some(owner)) = (row.forwards(), entry.owner) {
            let reads = matches!(op.asks, Asks::GetS | Asks::ReadHome);
            let msg = if reads { Msg::FwdS(op.src) } else { Msg::FwdM(op.src) };
            f.send(Packet { from: home, to: owner, line, msg });
            if pending.shared {
                tally.race(Race::TwoPhases);
            }
        }
        f.out.push(Action::Answer(op, row.answer));
    }

    /// What the entry says at the end of an operation.
    fn end(&mut self, op: SliceOp, end: End) {
        let place = &mut self.entries[usize::from(op.line)];
        let mut entry = place.unwrap_or_default();
        *place = match end {
            End::Stay => return,
            End::Free => None,
            End::Own | End::OwnNow => Some(Entry { owner: Some(op.src), sharers: 0 }),
            End::Share | End::ShareNow => {
                entry.sharers |= 1 << op.src;
                Some(entry)
            }
            End::Disown => {
                entry.owner = None;
                (entry.sharers != 0).then_some(entry)
            }
        };
    }

    /// The requester's Done.
    pub fn done(&mut self, line: Line, from: Node, f: &mut Fabric, tally: &mut Tally) {
        match self.rows[usize::from(line)] {
            Some(Pending { op: Some(op), row, phase: Phase::Done, .. }) if op.src == from => {
                tally.plain(if op.asks.remote() { "moesi.row.done" } else { "moesi.row.done.home" });
                self.end(op, row.end);
                self.rows[usize::from(line)] = None;
            }
            other => f.fail(format!("Done of {from} finds {other:?}")),
        }
    }

    /// The home side has written memory.
    pub fn written(&mut self, line: Line, f: &mut Fabric, tally: &mut Tally) {
        match self.rows[usize::from(line)] {
            Some(Pending { op: Some(op), row, phase: Phase::Written, .. }) => {
                tally.plain("moesi.row.written.put");
                self.end(op, row.end);
                self.rows[usize::from(line)] = None;
            }
            other => f.fail(format!("the home side has written, and the slice has {other:?}")),
        }
    }

    /// The Back of a recalled owner, whose data is in memory.
    pub fn back(&mut self, line: Line, f: &mut Fabric, tally: &mut Tally) {
        match self.rows[usize::from(line)] {
            Some(Pending { phase: Phase::Recalled, .. }) => {
                tally.plain("moesi.row.written.back");
                self.rows[usize::from(line)] = None;
            }
            other => f.fail(format!("a Back of line {line} finds {other:?}")),
        }
    }

    /// Something in the queue is for this line.
    fn waited(&self, line: Line) -> bool {
        self.queue.iter().any(|waiting| waiting.op.line == line)
    }

    /// An Ack.
    pub fn ack(&mut self, line: Line, p: &Params, f: &mut Fabric, tally: &mut Tally) {
        let waits = self.waited(line);
        match &mut self.rows[usize::from(line)] {
            Some(pending) if pending.acks > 0 => {
                pending.acks -= 1;
                let (acks, phase, recall) = (pending.acks, pending.phase, pending.recall);
                if waits && phase == Phase::Replaced {
                    tally.race(Race::AcksMeetRequest);
                }
                tally.plain(if acks == 0 { "moesi.row.ack.last" } else { "moesi.row.ack" });
                match (acks, phase, recall) {
                    (0, Phase::Replaced, None) => self.rows[usize::from(line)] = None,
                    (0, ..) => self.go(line, p, f, tally),
                    _ => {}
                }
            }
            _ if p.slip == Some(Slip::AckTooFew) => {}
            other => f.fail(format!("an Ack of line {line} finds {other:?}")),
        }
    }

    /// The entry of a line may be replaced.
    pub fn replaceable(&self, line: Line, p: &Params, f: &Fabric) -> bool {
        let rows = self.rows.iter().flatten().count();
        let kept = if p.slip == Some(Slip::RowBeforeWay) && self.wants_way(p) { 1 } else { 0 };
        let (home, line) = (p.home(line), usize::from(line));
        f.room(Net::Inv, home, p)
            && self.entries[line].is_some()
            && self.rows[line].is_none()
            && rows + kept < p.pending
    }

    /// The row of a line has all Acks and waits for room on INV.
    pub fn may_go(&self, line: Line, p: &Params, f: &Fabric) -> bool {
        let ends = |row: Pending| matches!(row.phase, Phase::Acks | Phase::Replaced) && row.acks == 0;
        let waits = self.rows[usize::from(line)].is_some_and(ends);
        waits && f.room(Net::Inv, p.home(line), p)
    }

    /// Replaces the entry of a line, a transaction of its own: the way is free at once, the row keeps the
    /// line. The owner is recalled after the Acks of the sharers only.
    pub fn replace(&mut self, line: Line, p: &Params, f: &mut Fabric, tally: &mut Tally) {
        let Some(entry) = self.entries[usize::from(line)].take() else { return };
        let home = p.home(line);
        if self.queue.iter().any(|waiting| waiting.op.line != line && waiting.op.asks != Asks::Put) {
            tally.race(Race::ReplacedForWay);
        }
        send_invs(entry.sharers, home, line, f);
        let owned = entry.owner.is_some();
        tally.plain(if owned { "moesi.replace.owner" } else { "moesi.replace.sharers" });
        let short = u8::from(p.slip == Some(Slip::AckTooFew) && entry.sharers != 0);
        let acks = entry.sharers.count_ones() as u8 - short;
        let (phase, shared) = (Phase::Replaced, acks != 0);
        let asked = entry.owner;
        let pending = Pending { op: None, row: &SLICE[0], acks, recall: asked, phase, shared, asked };
        self.rows[usize::from(line)] = (acks != 0 || owned).then_some(pending);
        if acks == 0 {
            self.go(line, p, f, tally);
        }
    }
}

impl SliceOp {
    /// The home of the line.
    fn src_home(self, p: &Params) -> Node {
        p.home(self.line)
    }
}

fn send_invs(sharers: u8, home: Node, line: Line, f: &mut Fabric) {
    for to in (0..8).filter(|to| sharers & 1 << to != 0) {
        f.send(Packet { from: home, to, line, msg: Msg::Inv });
    }
}

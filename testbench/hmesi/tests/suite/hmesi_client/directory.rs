//! A directory by the table of spandex.md section 9, without limits: as many transactions as lines.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A message of any network. Clients and the directory (`HOME`) are called by number; `value` is the number of a line's data.
#[derive(Clone, Debug)]
pub struct M {
    pub op: &'static str,
    pub line: u64,
    pub src: usize,
    pub dst: usize,
    pub req: usize,
    pub tag: u64,
    pub acks: u64,
    pub peer: bool,
    pub dirty: bool,
    pub kept: bool,
    pub recall: bool,
    pub value: u64,
}

/// The directory.
pub const HOME: usize = 99;

impl M {
    /// A message without data and flags.
    pub fn new(op: &'static str, line: u64, (src, dst): (usize, usize), tag: u64) -> M {
        let (acks, value) = (0, 0);
        let (peer, dirty, kept, recall) = (false, false, false, false);
        M { op, line, src, dst, req: src, tag, acks, peer, dirty, kept, recall, value }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Busy {
    No,
    X,
    Iib,
    Evict,
}

/// A line: nobody has it (C), `sharers` have it (SS), `owner` has it (MT).
#[derive(Debug)]
pub struct Entry {
    pub value: u64,
    pub owner: Option<usize>,
    pub sharers: BTreeSet<usize>,
    busy: Busy,
    req: usize,
    acks: usize,
    wb: bool,
    unblock: bool,
    kept: bool,
    waiting: VecDeque<M>,
}

/// All lines; messages that it has sent.
#[derive(Default, Debug)]
pub struct Directory {
    pub lines: BTreeMap<u64, Entry>,
    pub out: Vec<M>,
}

impl Directory {
    pub fn entry(&mut self, line: u64) -> &mut Entry {
        self.lines.entry(line).or_insert_with(|| Entry {
            value: 0,
            owner: None,
            sharers: BTreeSet::new(),
            busy: Busy::No,
            req: 0,
            acks: 0,
            wb: false,
            unblock: false,
            kept: false,
            waiting: VecDeque::new(),
        })
    }

    pub fn quiet(&self) -> bool {
        self.lines.values().all(|e| e.busy == Busy::No && e.waiting.is_empty()) && self.out.is_empty()
    }

    /// A message comes.
    pub fn take(&mut self, m: M) {
        match m.op {
            "GetS" | "GetM" | "Put" => {
                let entry = self.entry(m.line);
                if entry.busy == Busy::No {
                    self.begin(m);
                } else {
                    entry.waiting.push_back(m);
                }
            }
            _ => self.answered(&m),
        }
    }

    /// All copies of a line are taken back, if it is not busy.
    pub fn evict(&mut self, line: u64) {
        let e = self.entry(line);
        if e.busy != Busy::No || (e.owner.is_none() && e.sharers.is_empty()) {
            return;
        }
        (e.busy, e.acks, e.wb) = (Busy::Evict, e.sharers.len(), e.owner.is_some());
        let (sharers, owner) = (std::mem::take(&mut e.sharers), e.owner.take());
        let op = if owner.is_some() { "Recall" } else { "Inv" };
        for to in sharers.into_iter().chain(owner) {
            self.out.push(M { recall: op == "Inv", ..M::new(op, line, (HOME, to), 0) });
        }
    }

    fn begin(&mut self, m: M) {
        let (src, tag, line) = (m.src, m.tag, m.line);
        let e = self.entry(line);
        let mut out = Vec::new();
        let data = |op| M { value: e.value, ..M::new(op, line, (HOME, src), tag) };
        let forward = |op, to| M { req: src, ..M::new(op, line, (HOME, to), tag) };
        match (m.op, e.owner) {
            ("Put", owner) => {
                if owner == Some(src) {
                    e.owner = None;
                    if m.dirty {
                        e.value = m.value;
                    }
                }
                out.push(M::new("WbAck", line, (HOME, src), tag));
                self.out.extend(out);
                return;
            }
            ("GetS", None) if e.sharers.is_empty() => {
                out.push(data("DataE"));
                e.busy = Busy::X;
            }
            ("GetS", None) => {
                out.push(data("DataS"));
                e.sharers.insert(src);
            }
            ("GetS", Some(owner)) => {
                assert_ne!(owner, src, "the owner asks for its line");
                out.push(forward("FwdGetS", owner));
                (e.busy, e.wb) = (Busy::Iib, true);
            }
            (_, None) => {
                let others: Vec<usize> = e.sharers.iter().copied().filter(|s| *s != src).collect();
                out.push(M { acks: others.len() as u64, ..data("DataM") });
                out.extend(others.into_iter().map(|to| forward("Inv", to)));
                e.busy = Busy::X;
            }
            (_, Some(owner)) => {
                assert_ne!(owner, src, "the owner asks for its line");
                out.push(forward("FwdGetM", owner));
                e.busy = Busy::X;
            }
        }
        (e.req, e.unblock, e.kept) = (src, e.busy != Busy::No, false);
        self.out.extend(out);
    }

    fn answered(&mut self, m: &M) {
        let e = self.entry(m.line);
        match (m.op, e.busy) {
            ("InvAck", Busy::Evict) if e.acks > 0 => e.acks -= 1,
            ("WbData", Busy::Evict | Busy::Iib) if e.wb => {
                (e.wb, e.kept) = (false, m.kept);
                assert!(!(m.kept && e.busy == Busy::Evict), "a recalled line is kept");
                if m.dirty {
                    e.value = m.value;
                }
            }
            ("Unblock", Busy::Iib) | ("UnblockX", Busy::X) if e.unblock && m.src == e.req => {
                e.unblock = false
            }
            _ => panic!("{m:?} meets {e:?}"),
        }
        if e.acks > 0 || e.wb || (e.unblock && e.busy != Busy::Evict) {
            return;
        }
        match e.busy {
            Busy::X => (e.owner, e.sharers) = (Some(e.req), BTreeSet::new()),
            Busy::Iib => {
                let old = e.owner.take().filter(|_| e.kept);
                e.sharers = old.into_iter().chain([e.req]).collect();
            }
            _ => {}
        }
        e.busy = Busy::No;
        while self.entry(m.line).busy == Busy::No {
            let Some(next) = self.entry(m.line).waiting.pop_front() else { return };
            self.begin(next);
        }
    }
}

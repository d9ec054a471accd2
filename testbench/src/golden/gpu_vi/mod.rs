//! A checker for the ports of a directory slice with acknowledged Invs (GPU-VI, hmg.md section 8).
//!
//! The bench says in which order the slice decides about operations - whether each is performed, or waits in the queue - and acknowledges Invs. The model says
//! whether a decision was right and what must follow:
//!
//! - an operation waits if and only if the table says so; the queue holds 8, and its head is performed before those behind it;
//! - a victim is the oldest entry that is not in W;
//! - Invs leave in the order of the operations that cause them;
//! - a store with Invs is answered after the last acknowledgement, all other operations in the order in which they are performed.

mod races;
pub mod table;

use super::Part;
use super::dir_table::DirOp;
use super::params::{DirParams, ParamError, Policy};
use super::slice::{Request, Response};
use super::{GpuMask, Inv, InvCause, gpus_of, only};
use std::collections::{BTreeMap, VecDeque};
use table::{ACKS, VI, ViAction, ViState, lookup};

/// Rows and races of the block.
pub const PART: Part =
    Part { block: "gpu-vi-directory", page: "hmg.md", section: "8", rows, races: races::ACKS };

fn rows() -> Vec<(&'static str, String)> {
    let operations =
        VI.iter().map(|row| (row.id, format!("{:?} of s in {:?}: {}.", row.op, row.state, row.text)));
    operations.chain(ACKS.iter().map(|(id, text)| (*id, (*text).to_string()))).collect()
}

/// Operations that may wait.
pub const QUEUE: usize = 8;

/// A set: entries (number of the group, sharers) and ages, by way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViSet {
    /// Entries.
    pub ways: Vec<Option<(u64, GpuMask)>>,
    /// Ages, 0 the youngest.
    pub ages: Vec<u32>,
}

#[derive(Clone, Debug)]
enum Why {
    /// A store of another node keeps the entry of this way.
    Remote {
        request: Request,
        set: u64,
        way: usize,
    },
    Local {
        request: Request,
    },
    Evicted,
}

#[derive(Clone, Debug)]
struct Awaited {
    base: u64,
    left: u32,
    why: Why,
}

/// Checks one slice.
#[derive(Clone, Debug)]
pub struct ViCheck {
    p: DirParams,
    sets: BTreeMap<u64, ViSet>,
    awaited: Vec<Awaited>,
    queue: VecDeque<Request>,
    /// Answers due in this order.
    answers: VecDeque<Response>,
    /// Answers of stores that have all acknowledgements.
    complete: Vec<Response>,
    invs: VecDeque<Inv>,
    rows: BTreeMap<&'static str, u64>,
}

impl ViCheck {
    /// A checker for a slice after reset, for a directory of NHCC's layout; refuses illegal parameters.
    pub fn new(p: DirParams) -> Result<ViCheck, ParamError> {
        p.validate()?;
        Ok(ViCheck {
            p,
            sets: BTreeMap::new(),
            awaited: Vec::new(),
            queue: VecDeque::new(),
            answers: VecDeque::new(),
            complete: Vec::new(),
            invs: VecDeque::new(),
            rows: BTreeMap::new(),
        })
    }

    /// Rows taken so far.
    pub fn rows(&self) -> &BTreeMap<&'static str, u64> {
        &self.rows
    }

    /// Contents of a set.
    pub fn set(&self, set: u64) -> ViSet {
        self.sets.get(&set).cloned().unwrap_or_else(|| {
            let ways = self.p.ways as usize;
            ViSet { ways: vec![None; ways], ages: (0..self.p.ways).collect() }
        })
    }

    /// Operations that wait.
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    fn written(&self, base: u64) -> bool {
        self.awaited.iter().any(|a| a.base == base && !matches!(a.why, Why::Evicted))
    }

    fn evicting(&self, base: u64) -> bool {
        self.awaited.iter().any(|a| a.base == base && matches!(a.why, Why::Evicted))
    }

    fn state(&self, request: &Request, behind: bool) -> ViState {
        let base = self.p.base(request.line);
        if self.written(base) {
            return ViState::W;
        }
        if behind {
            return ViState::Behind;
        }
        if self.evicting(base) && request.op != DirOp::RdRem {
            return ViState::E;
        }
        let set = self.set(self.p.place(request.line).set);
        let sharers = set.ways.iter().flatten().find(|(b, _)| *b == base).map(|(_, sharers)| *sharers);
        let own = if request.op == DirOp::WrLoc { 0 } else { only(request.src) };
        match sharers {
            None => ViState::I,
            Some(sharers) if sharers & !own == 0 => ViState::Alone,
            Some(_) => ViState::Shared,
        }
    }

    fn is_behind(&self, request: &Request) -> bool {
        self.queue.iter().any(|other| self.p.base(other.line) == self.p.base(request.line))
    }

    /// The slice puts an operation of `req` into its queue.
    ///
    /// # Errors
    /// It need not wait, or there is no room.
    pub fn queued(&mut self, request: Request) -> Result<(), String> {
        let row = lookup(request.op, self.state(&request, self.is_behind(&request)));
        *self.rows.entry(row.id).or_default() += 1;
        if row.action != ViAction::Wait {
            return Err(format!("{request:?} waits, but {} lets it go on", row.id));
        }
        if self.queue.len() == QUEUE {
            return Err(format!("{request:?} is the ninth that waits"));
        }
        self.queue.push_back(request);
        Ok(())
    }

    /// The slice performs the head of its queue.
    ///
    /// # Errors
    /// Nothing waits, or the head has to go on waiting.
    pub fn performed_head(&mut self) -> Result<(), String> {
        let head = self.queue.pop_front().ok_or("an operation is performed from an empty queue")?;
        self.perform(head, false)
    }

    /// The slice performs an operation of `req`.
    ///
    /// # Errors
    /// It has to wait.
    pub fn performed(&mut self, request: Request) -> Result<(), String> {
        let behind = self.is_behind(&request);
        self.perform(request, behind)
    }

    fn perform(&mut self, request: Request, behind: bool) -> Result<(), String> {
        let row = lookup(request.op, self.state(&request, behind));
        *self.rows.entry(row.id).or_default() += 1;
        let (p, base) = (self.p, self.p.base(request.line));
        let place = p.place(request.line).set;
        let mut set = self.set(place);
        let hit = set.ways.iter().position(|way| way.is_some_and(|(b, _)| b == base));
        let own = only(request.src);
        let mut evicted = false;
        match (row.action, hit) {
            (ViAction::Wait, _) => return Err(format!("{request:?} goes on, but {} holds it", row.id)),
            (ViAction::Nothing, _) => {}
            (ViAction::Allocate, _) => {
                let way = self.victim(place, &set)?;
                if let Some((old, sharers)) = set.ways[way].replace((base, own)) {
                    evicted = true;
                    self.tell(old, old * p.lines_per_entry(), sharers, Why::Evicted);
                }
                make_youngest(&mut set.ages, way);
            }
            (ViAction::Join, Some(way)) => {
                set.ways[way] = set.ways[way].map(|(b, sharers)| (b, sharers | own));
                touch(&p, &mut set, way);
            }
            (ViAction::Stay, Some(way)) => touch(&p, &mut set, way),
            (ViAction::Take, Some(way)) => {
                let others = set.ways[way].map_or(0, |(_, sharers)| sharers & !own);
                set.ways[way] = Some((base, own));
                touch(&p, &mut set, way);
                self.tell(base, request.line, others, Why::Remote { request, set: place, way });
            }
            (ViAction::Wipe, Some(way)) => {
                let all = set.ways[way].take().map_or(0, |(_, sharers)| sharers);
                self.tell(base, request.line, all, Why::Local { request });
            }
            (action, None) => return Err(format!("{action:?} without an entry")),
        }
        self.sets.insert(place, set);
        if !matches!(row.action, ViAction::Take | ViAction::Wipe) {
            self.answers.push_back(Response { id: request.id, hit: hit.is_some(), evicted, empty: false });
        }
        Ok(())
    }

    /// The lowest free way, else the oldest that is not in W.
    fn victim(&self, place: u64, set: &ViSet) -> Result<usize, String> {
        if let Some(free) = set.ways.iter().position(Option::is_none) {
            return Ok(free);
        }
        let in_w = |way: usize| {
            self.awaited
                .iter()
                .any(|a| matches!(a.why, Why::Remote { set, way: w, .. } if set == place && w == way))
        };
        let may = (0..set.ways.len()).filter(|way| !in_w(*way));
        may.max_by_key(|way| set.ages[*way])
            .ok_or_else(|| "all ways are in W: the operation waits".to_string())
    }

    fn tell(&mut self, base: u64, line: u64, dest: GpuMask, why: Why) {
        let cause = if matches!(why, Why::Evicted) { InvCause::Evict } else { InvCause::Write };
        let inv = Inv { line, dest, cause, grp: self.p.grouped() };
        self.invs.push_back(inv.canonical_in(self.p.lines_per_entry()));
        self.awaited.push(Awaited { base, left: gpus_of(dest).count() as u32, why });
    }

    /// `inv` was taken.
    ///
    /// # Errors
    /// Another one was due.
    pub fn invalidated(&mut self, inv: Inv) -> Result<(), String> {
        let inv = inv.canonical_in(self.p.lines_per_entry());
        match self.invs.pop_front() {
            Some(due) if due == inv => Ok(()),
            due => Err(format!("got {inv:?}, expected {due:?}")),
        }
    }

    /// An acknowledgement of a line has come.
    ///
    /// # Errors
    /// None is awaited for its group.
    pub fn acknowledged(&mut self, line: u64) -> Result<(), String> {
        let base = self.p.base(line);
        let at = self.awaited.iter().position(|a| a.base == base);
        let at = at.ok_or_else(|| format!("line {line:#x} is acknowledged, but nothing is awaited of it"))?;
        let awaited = &mut self.awaited[at];
        awaited.left -= 1;
        let last = awaited.left == 0;
        let id = match (&awaited.why, last) {
            (Why::Evicted, false) => "gpu_vi.ACK.evicting",
            (Why::Evicted, true) => "gpu_vi.ACK.evicted",
            (_, false) => "gpu_vi.ACK.written",
            (Why::Remote { .. }, true) => "gpu_vi.ACK.remote_complete",
            (Why::Local { .. }, true) => "gpu_vi.ACK.local_complete",
        };
        *self.rows.entry(id).or_default() += 1;
        if last {
            let done = self.awaited.remove(at);
            if let Why::Remote { request, .. } | Why::Local { request } = done.why {
                self.complete.push(Response { id: request.id, hit: true, evicted: false, empty: false });
            }
        }
        Ok(())
    }

    /// `rsp` was taken.
    ///
    /// # Errors
    /// It is wrong, early or repeated.
    pub fn responded(&mut self, response: Response) -> Result<(), String> {
        if let Some(at) = self.complete.iter().position(|r| *r == response) {
            self.complete.remove(at);
            return Ok(());
        }
        match self.answers.pop_front() {
            Some(due) if due == response => Ok(()),
            due => Err(format!(
                "got {response:?}, expected {due:?} or one of {:?}; awaited: {:?}",
                self.complete, self.awaited
            )),
        }
    }

    /// At the end of a run nothing may be outstanding.
    ///
    /// # Errors
    /// What is.
    pub fn finish(&self) -> Result<(), String> {
        let left =
            (self.awaited.len(), self.queue.len(), self.answers.len(), self.complete.len(), self.invs.len());
        if left == (0, 0, 0, 0, 0) {
            return Ok(());
        }
        Err(format!("left over (awaited, waiting, unanswered, complete, Invs): {left:?}"))
    }
}

fn touch(p: &DirParams, set: &mut ViSet, way: usize) {
    if p.policy == Policy::Lru {
        make_youngest(&mut set.ages, way);
    }
}

/// Age 0 for `way`; ages below its old age grow by one.
fn make_youngest(ages: &mut [u32], way: usize) {
    let old = ages[way];
    ages.iter_mut().filter(|age| **age < old).for_each(|age| *age += 1);
    ages[way] = 0;
}

//! A checker for the ports of a directory slice (rec.md sections 4 and 4.1).
//!
//! A bench tells it every transfer on `req`, `rsp` and `inv`. It knows from the golden directory what must follow and
//! says at once, in a sentence, when a transfer is wrong, early, repeated or missing. Cycles are left free: only the
//! order that the specification promises is asked for.
//!
//! - `rsp` comes in the order of `req`, and after the op's write Inv was accepted;
//! - write Invs come in the order of their ops; a burst starts after the one before it, lowest slot first (any of the
//!   lowest `inv_rate` slots);
//! - a write neither invalidates nor answers while an eviction Inv for its line, older than the write, is outstanding.
//!
//! An Inv on `recv` passes operations that wait, so the bench says when each is performed instead of when it is taken. It goes on (on `inv_l`) to the
//! GPMs recorded, to those whose Inv for the group or line is outstanding on `inv`, and to those it names itself; then `recv_done` answers it.

use super::dir_table::DirOp;
use super::directory::{Directory, Outcome};
use super::params::{DirParams, ParamError};
use super::{GpuMask, Inv, InvCause, only};
use std::collections::{BTreeMap, VecDeque};

/// A transfer on `req`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Operation.
    pub op: DirOp,
    /// Requesting GPU; ignored for WR_LOC.
    pub src: u32,
    /// Line number.
    pub line: u64,
    /// Identifier returned by `rsp`.
    pub id: u64,
}

/// A transfer on `rsp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// Identifier of the request.
    pub id: u64,
    /// An entry with the base of the line existed.
    pub hit: bool,
    /// A valid entry was replaced.
    pub evicted: bool,
    /// After a Downgrade nothing is recorded.
    pub empty: bool,
}

/// A transfer on `recv`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Line number.
    pub line: u64,
    /// Cause.
    pub cause: InvCause,
    /// GPMs of the own GPU, one bit each, that are told whether recorded or not.
    pub also: u64,
    /// Number given back by `recv_done`.
    pub link: u64,
}

#[derive(Clone, Debug)]
struct Due {
    request: Request,
    response: Response,
    inv: Option<Inv>,
    older_evictions: usize,
}

/// Checks one slice, or the slices of one GPU that share nothing (each with a checker of its own).
#[derive(Clone, Debug)]
pub struct SliceCheck {
    dir: Directory,
    due: VecDeque<Due>,
    bursts: VecDeque<VecDeque<Inv>>,
    received: VecDeque<(u64, Option<Inv>)>,
    rows: BTreeMap<&'static str, u64>,
}

impl SliceCheck {
    /// A checker for a slice after reset; refuses illegal parameters.
    pub fn new(params: DirParams) -> Result<Self, ParamError> {
        let dir = Directory::new(params)?;
        Ok(SliceCheck {
            dir,
            due: VecDeque::new(),
            bursts: VecDeque::new(),
            received: VecDeque::new(),
            rows: BTreeMap::new(),
        })
    }

    /// The golden directory: state after all accepted requests.
    pub fn directory(&self) -> &Directory {
        &self.dir
    }

    /// Table rows taken so far, with their counts: what the row cover points of the slice must show.
    pub fn rows(&self) -> &BTreeMap<&'static str, u64> {
        &self.rows
    }

    /// `req` was taken (where Invs are received: the request is performed). Returns what it does.
    ///
    /// # Panics
    /// As [`Directory::op`], on a request that no bench may send.
    pub fn accepted(&mut self, request: Request) -> Outcome {
        let Request { op, src, line, id } = request;
        let group = self.dir.params().lines_per_entry();
        let wanted = |i: &&Inv| op.writes() && i.lines_in(group).contains(&line);
        let older_evictions = self.bursts.iter().flatten().filter(wanted).count();
        let out = self.dir.op(op, src, line);
        *self.rows.entry(out.row.id).or_default() += 1;
        let response = Response { id, hit: out.hit, evicted: out.eviction.is_some(), empty: out.empty };
        self.due.push_back(Due { request, response, inv: out.write_inv, older_evictions });
        if let Some(eviction) = &out.eviction {
            self.bursts.push_back(eviction.burst.iter().copied().collect());
        }
        out
    }

    /// A received Inv is performed. Returns whom it has to tell, as a mask over node numbers.
    ///
    /// # Panics
    /// As [`Directory::op`], and if the Inv names the home itself.
    pub fn received(&mut self, recv: Received) -> GpuMask {
        let Received { line, cause, also, link } = recv;
        let p = *self.dir.params();
        let op = if cause == InvCause::Evict { DirOp::InvRecvEvict } else { DirOp::InvRecv };
        let out = self.dir.op(op, p.home, line);
        *self.rows.entry(out.row.id).or_default() += 1;
        let first = p.home - p.gpm(p.home);
        let named: GpuMask = (0..p.gpms).filter(|m| also >> m & 1 == 1).map(|m| only(first + m)).sum();
        assert!(named & only(p.home) == 0, "the home is named");
        let group = p.lines_per_entry();
        let untold = self.due.iter().filter_map(|d| d.inv).chain(self.bursts.iter().flatten().copied());
        let untold = untold.filter(|i| i.lines_in(group).contains(&line)).map(|i| i.dest);
        let dest = untold.chain(out.write_inv.map(|i| i.dest)).fold(named, |a, b| a | b);
        let inv = Inv { line, dest, cause, grp: p.grouped() }.canonical_in(group);
        self.received.push_back((link, (dest != 0).then_some(inv)));
        dest
    }

    /// `inv_l` was taken.
    pub fn passed_on(&mut self, inv: Inv) -> Result<(), String> {
        let inv = inv.canonical_in(self.dir.params().lines_per_entry());
        match self.received.iter_mut().find(|(_, due)| due.is_some()) {
            Some((_, due)) if *due == Some(inv) => {
                *due = None;
                Ok(())
            }
            Some((link, due)) => Err(format!("passed on {inv:?}, expected {due:?} for link {link}")),
            None => Err(format!("{inv:?} was passed on, but nobody had to be told")),
        }
    }

    /// `recv_done` was taken.
    pub fn recv_done(&mut self, link: u64) -> Result<(), String> {
        match self.received.pop_front() {
            Some((expected, None)) if expected == link => Ok(()),
            Some((expected, None)) => Err(format!("link {link} is answered, expected {expected}")),
            Some((_, Some(inv))) => Err(format!("link {link} is answered before {inv:?} was accepted")),
            None => Err(format!("link {link} is answered, but nothing was received")),
        }
    }

    /// `rsp` was taken.
    pub fn responded(&mut self, response: Response) -> Result<(), String> {
        let Some(front) = self.due.front() else {
            return Err(format!("{response:?} answers nothing: no request is outstanding"));
        };
        let Request { op, line, .. } = front.request;
        if front.response != response {
            return Err(format!("{op:?} of line {line:#x}: got {response:?}, expected {:?}", front.response));
        }
        if let Some(inv) = front.inv {
            return Err(format!("{op:?} of line {line:#x} answered before its {inv:?} was accepted"));
        }
        if front.older_evictions > 0 {
            return Err(format!(
                "{op:?} of line {line:#x} answered while an older eviction Inv for it is due"
            ));
        }
        self.due.pop_front();
        Ok(())
    }

    /// `inv` was taken (by `inv_egress`, for all destinations).
    pub fn invalidated(&mut self, inv: Inv) -> Result<(), String> {
        let inv = inv.canonical_in(self.dir.params().lines_per_entry());
        match inv.cause {
            InvCause::Evict => self.evict_inv(inv),
            InvCause::Write => self.write_inv(inv),
        }
    }

    fn write_inv(&mut self, inv: Inv) -> Result<(), String> {
        let Some(due) = self.due.iter_mut().find(|d| d.inv.is_some()) else {
            return Err(format!("{inv:?} was not due: no write waits for an Inv"));
        };
        if due.inv != Some(inv) {
            return Err(format!("got {inv:?}, expected {:?} first", due.inv));
        }
        if due.older_evictions > 0 {
            return Err(format!("{inv:?} left while an older eviction Inv for its line is due"));
        }
        due.inv = None;
        Ok(())
    }

    fn evict_inv(&mut self, inv: Inv) -> Result<(), String> {
        let rate = self.dir.params().inv_rate as usize;
        let Some(head) = self.bursts.front_mut() else {
            return Err(format!("{inv:?} was not due: no eviction is outstanding"));
        };
        let Some(at) = head.iter().take(rate).position(|i| *i == inv) else {
            return Err(format!("got {inv:?}, expected {:?} first", head.front()));
        };
        head.remove(at);
        if head.is_empty() {
            self.bursts.pop_front();
        }
        let group = self.dir.params().lines_per_entry();
        let same = |d: &&mut Due| d.older_evictions > 0 && inv.lines_in(group).contains(&d.request.line);
        self.due.iter_mut().filter(same).for_each(|d| d.older_evictions -= 1);
        Ok(())
    }

    /// Victims that have Invs outstanding; the hardware holds them in its EVB (and S2).
    pub fn open_bursts(&self) -> usize {
        self.bursts.len()
    }

    /// At the end of a run: nothing may be outstanding.
    pub fn finish(&self) -> Result<(), String> {
        if let Some(due) = self.due.front() {
            return Err(format!("{} requests are unanswered, first {:?}", self.due.len(), due.request));
        }
        if let Some((link, inv)) = self.received.front() {
            return Err(format!("a received Inv of link {link} is unanswered, {inv:?} is due"));
        }
        if let Some(inv) = self.bursts.iter().flatten().next() {
            return Err(format!("{} eviction bursts are unfinished, next {inv:?}", self.bursts.len()));
        }
        Ok(())
    }
}

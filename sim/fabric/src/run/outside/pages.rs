//! Pages that move: each is in memory of the host or of one GPU. An access of another GPU faults; when the fault is handled and the accesses under way are
//! answered, the page crosses a link.

use super::{Areas, Counter, counter};
use crate::check::Checks;
use crate::family::{HostSide, Link, Links, Shape, Surroundings, Unit};
use crate::memory::Memory;
use crate::placement::PageTable;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A fault that is handled.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Fault {
    gpu: u32,
    /// Cycle in which its handling is over.
    handled: u64,
}

/// A page, of the size in which pages move.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Page {
    /// GPU whose memory has it; none, the host has it.
    at: Option<u32>,
    /// Accesses under way.
    open: u32,
    /// It was accessed since it came: it may go again.
    used: bool,
    faults: VecDeque<Fault>,
    /// On its way to the GPU of the first fault until this cycle.
    due: Option<u64>,
}

impl Page {
    /// Accesses of its GPU go on.
    fn serves(&self, gpu: u32, now: u64) -> bool {
        let leaves = self.used && self.faults.front().is_some_and(|fault| fault.handled <= now);
        self.at == Some(gpu) && self.due.is_none() && !leaves
    }
}

/// Where contents of pages go when a page moves.
pub(in crate::run) struct Moves<'a> {
    pub table: &'a mut PageTable,
    /// By the program's addresses.
    pub memory: &'a Memory,
    pub around: &'a mut dyn Surroundings,
    pub checks: Option<&'a mut Checks>,
}

/// All pages that move.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Paged {
    pages: BTreeMap<u64, Page>,
    /// Pages with faults.
    asked: BTreeSet<u64>,
    /// Pages of accesses under way.
    claims: BTreeMap<(Unit, u16), u64>,
    waiting: BTreeMap<Unit, u64>,
    /// Cycles in which the links of GPUs are free again.
    free: Vec<u64>,
    faults: u64,
    /// Pages and bytes that came from the host, and from another GPU.
    moved: [u64; 2],
    bytes: [u64; 2],
}

impl Paged {
    /// Of so many GPUs.
    pub fn new(gpus: usize) -> Paged {
        Paged {
            pages: BTreeMap::new(),
            asked: BTreeSet::new(),
            claims: BTreeMap::new(),
            waiting: BTreeMap::new(),
            free: vec![0; gpus],
            faults: 0,
            moved: [0; 2],
            bytes: [0; 2],
        }
    }

    /// A compute unit of `gpu` wants to access a byte; false: its page must come first.
    pub fn enter(&mut self, host: &HostSide, (unit, gpu): (Unit, u32), id: u16, addr: u64, now: u64) -> bool {
        let number = addr / host.page;
        let page = self.pages.entry(number).or_default();
        if page.serves(gpu, now) {
            (page.open, page.used) = (page.open + 1, true);
            self.claims.insert((unit, id), number);
            self.waiting.remove(&unit);
            return true;
        }
        if page.faults.iter().all(|fault| fault.gpu != gpu) {
            page.faults.push_back(Fault { gpu, handled: now + host.fault_cycles });
            self.asked.insert(number);
            self.faults += 1;
        }
        self.waiting.insert(unit, number);
        false
    }

    /// An access is answered.
    pub fn done(&mut self, unit: Unit, id: u16) {
        if let Some(page) = self.claims.remove(&(unit, id)).and_then(|number| self.pages.get_mut(&number)) {
            page.open -= 1;
        }
    }

    pub fn is_asked(&self) -> bool {
        !self.asked.is_empty()
    }

    pub fn waits(&self, unit: Unit) -> bool {
        self.waiting.contains_key(&unit)
    }

    /// Moves pages whose faults are handled; gives the compute units whose pages have come, and the next cycle in which one comes or may go.
    pub fn tick(
        &mut self,
        now: u64,
        links: &Links,
        host: &HostSide,
        areas: &Areas,
        shape: &Shape,
        moves: &mut Moves,
    ) -> Result<(Vec<Unit>, Option<u64>), String> {
        let (mut woken, mut next) = (Vec::new(), u64::MAX);
        for number in self.asked.iter().copied().collect::<Vec<_>>() {
            let span = number * host.page..(number + 1) * host.page;
            let Some(page) = self.pages.get_mut(&number) else { continue };
            let Some(fault) = page.faults.front().copied() else { continue };
            if page.due.is_some_and(|due| due <= now) {
                moves.bring(span, areas, shape, fault.gpu)?;
                (page.at, page.due, page.used) = (Some(fault.gpu), None, false);
                page.faults.pop_front();
                let here = |(unit, at): (&Unit, &u64)| {
                    (*at == number && unit.0 / shape.gpms == fault.gpu).then_some(*unit)
                };
                woken.extend(self.waiting.iter().filter_map(here));
                next = next.min(page.faults.front().map_or(u64::MAX, |fault| fault.handled.max(now + 1)));
                if page.faults.is_empty() {
                    self.asked.remove(&number);
                }
                continue;
            }
            let ready = page.due.is_none() && page.open == 0 && (page.used || page.at.is_none());
            if ready && fault.handled <= now {
                let bytes = moves.bytes(span, areas);
                let (from, link) = page.at.map_or((0, host.link), |_| (1, links.gpus));
                let due = send(&mut self.free, page.at, fault.gpu, link, bytes, now);
                page.due = Some(due);
                (self.moved[from], self.bytes[from]) = (self.moved[from] + 1, self.bytes[from] + bytes);
                next = next.min(due);
            } else if let Some(due) = page.due {
                next = next.min(due);
            } else {
                // Its accesses under way keep their compute units awake.
                next = next.min(fault.handled.max(now + 1));
            }
        }
        Ok((woken, (next < u64::MAX).then_some(next)))
    }

    /// Something was accessed.
    pub fn is_used(&self) -> bool {
        self.faults > 0
    }

    pub fn counters(&self) -> Vec<(String, Counter)> {
        vec![
            counter("paging.faults", self.faults, "faults: accesses of a GPU to a page that is elsewhere"),
            counter("paging.from_host", self.moved[0], "pages that moved from the host to a GPU"),
            counter("paging.from_gpu", self.moved[1], "pages that moved from one GPU to another"),
            counter("paging.bytes_from_host", self.bytes[0], "bytes of pages over the links of the host"),
            counter("paging.bytes_from_gpu", self.bytes[1], "bytes of pages over the links between GPUs"),
        ]
    }
}

/// Cycle in which bytes are at a GPU whose link, and that of the GPU they come from, are busy with others before.
fn send(free: &mut [u64], from: Option<u32>, to: u32, link: Link, bytes: u64, now: u64) -> u64 {
    let ends = [Some(to), from].into_iter().flatten();
    let begin = ends.clone().map(|gpu| free[gpu as usize]).fold(now, u64::max);
    let due = begin + link.cycles(bytes);
    ends.for_each(|gpu| free[gpu as usize] = due - u64::from(link.latency));
    due
}

impl Moves<'_> {
    /// Pages of the table that a page has, and that hold bytes of paged arrays.
    fn parts(&self, span: std::ops::Range<u64>, areas: &Areas) -> Vec<u64> {
        let each = self.table.page_bytes();
        let parts = (span.start / each..span.end.div_ceil(each)).map(|part| part * each);
        parts.filter(|part| areas.pages(*part..*part + each)).collect()
    }

    fn bytes(&self, span: std::ops::Range<u64>, areas: &Areas) -> u64 {
        self.parts(span, areas).len() as u64 * self.table.page_bytes()
    }

    /// Puts a page into memory of a GPU, at addresses that nothing had before.
    fn bring(
        &mut self,
        span: std::ops::Range<u64>,
        areas: &Areas,
        shape: &Shape,
        gpu: u32,
    ) -> Result<(), String> {
        let mut bytes = vec![0; self.table.page_bytes() as usize];
        for (number, part) in (0..).zip(self.parts(span, areas)) {
            let home = if shape.homes == 1 { 0 } else { gpu * shape.gpms + number % shape.gpms };
            let at = self.table.renew(part, home).ok_or_else(|| {
                format!(
                    "memory of GPU {gpu} has no room for one more page that moves there; set dram_bytes to more, or give the program fewer steps"
                )
            })?;
            self.memory.read(part, &mut bytes);
            self.around.write(at, &bytes);
            if let Some(checks) = &mut self.checks {
                checks.host_write(at, &bytes);
            }
        }
        Ok(())
    }
}

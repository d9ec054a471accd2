//! Everything behavioural around the fabric, as one model that the engine's runner clocks and rewinds.

use super::course::Course;
use super::fences::{NodeFences, Waiter};
use super::groups::{Group, act, place};
use super::memory::Held;
use super::observe::{Notes, Observer};
use super::outside::{Moves, Outside};
use super::processor::{COPY, Processor};
use super::ranks::Company;
use super::seat::{Beside, Elsewhere, Seat};
use super::stream::{Order, crossing};
use crate::activity::{CHECKS, CUS, FENCES, MEMORY, PROCESSOR};
use crate::check::{CheckError, Checks};
use crate::cu::LineAccess;
use crate::family::{Links, Shape, Surroundings};
use crate::memory::Memory;
use crate::placement::PageTable;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use weft_blocks::msg::CuOp;
use weft_engine::Sim;
use weft_engine::runner::{Model, Problem, Tick};
use weft_engine::team::Team;
use weft_workload::{HostStep, Program};

/// Cycles after the last fence in which the fabric must come to rest.
const SETTLE_CYCLES: u64 = 1_000_000;

/// Compute units, command processors and what else stands around the fabric.
#[derive(Clone)]
pub(super) struct FabricModel {
    pub seats: Vec<Seat>,
    pub around: Box<dyn Surroundings>,
    pub processor: Processor,
    /// By node.
    pub fences: Vec<NodeFences>,
    pub table: Arc<PageTable>,
    /// By the program's addresses: what pages hold that are placed nowhere yet.
    pub host: Memory,
    pub program: Arc<dyn Program>,
    pub observer: Observer,
    pub shape: Shape,
    pub links: Links,
    /// What is neither in memory of a GPU nor stays there, if the program has such arrays.
    pub outside: Option<Outside>,
    /// Ends the run at the next cycle boundary once it is set.
    pub stop: Option<Arc<AtomicBool>>,
    /// Compute units by parts of the simulation; none where they cannot go on side by side.
    pub groups: Vec<Group>,
    /// Compute units that acted in the last cycle.
    pub acted: usize,
    /// Nodes have all that is theirs in one part of the simulation each.
    pub whole: bool,
    /// By part of the simulation.
    pub courses: Vec<Course>,
    /// What happens in the present cycles, and what has happened before them, of which the observer has not
    /// heard.
    pub notes: Notes,
    pub told: Notes,
    /// Checks hear of the ports.
    pub checked: bool,
    /// Other processes that share the run.
    pub company: Company,
}

/// Fewer compute units than this go on on one thread.
const WORTH_SHARING: usize = 8;

/// Fewer units of the hardware than this are clocked on one thread: to share them out would take longer.
const WORTH_CLOCKING: usize = 16;

impl FabricModel {
    /// Bytes of the program's memory, by the program's addresses.
    pub fn read(&self, sim: &Sim, addr: u64, count: usize) -> Vec<u8> {
        let (line, table) = (u64::from(self.shape.line), &*self.table);
        Held { around: &*self.around, table, host: &self.host, line }.read(sim, addr, count)
    }

    /// Lets what the last fence left behind (write-backs, late invalidations) come to rest, so that memory can be read; `look` sees every cycle of it.
    pub fn settle(&mut self, sim: &mut Sim, look: &mut dyn FnMut(&Sim)) -> Result<(), String> {
        for _ in 0..SETTLE_CYCLES {
            self.memories(sim).map_err(|problem| problem.text)?;
            look(sim);
            if sim.asleep() && self.around.is_idle() {
                return Ok(());
            }
            sim.step();
        }
        Err(format!("the fabric is not at rest {SETTLE_CYCLES} cycles after the program's end"))
    }

    /// What stands around the fabric acts; returns when it must act next.
    fn memories(&mut self, sim: &mut Sim) -> Result<u64, Problem> {
        let due = self.around.tick(sim)?;
        self.observer.memory(sim.cycle(), &*self.around);
        Ok(due.unwrap_or(u64::MAX))
    }

    /// Looks at the fabric after it has come to rest.
    pub fn check_end(&mut self, sim: &Sim) -> Result<(), CheckError> {
        self.observer.end(sim, &*self.around, &self.host)
    }

    /// Fences go on; who has waited for one that is complete goes on too. The observer hears of it, or it is `noted`. Returns whether the next cycle
    /// matters even if nothing else happens.
    fn fences(&mut self, sim: &mut Sim, noted: bool) -> bool {
        let (now, mut again) = (sim.cycle(), false);
        let mut finished = Vec::new();
        let (first, checked) =
            (self.notes.order.first().copied().unwrap_or(0), self.observer.checks.is_some());
        self.notes.parts[first].listen(now, checked);
        for (node, fences) in self.fences.iter_mut().enumerate() {
            again |= match noted {
                true => fences.tick(sim, &mut self.notes.parts[first].fences, &mut finished),
                false => fences.tick(sim, &mut self.observer, &mut finished),
            };
            for (fence, waiter) in finished.drain(..) {
                match waiter {
                    Waiter::Processor => self.processor.fenced(),
                    Waiter::Cu { cu, id } => {
                        self.seats[node * self.processor.cus + cu as usize].fenced(fence, id, now);
                    }
                }
            }
        }
        again
    }

    /// Compute units go on, side by side if there is a team; returns when something happens next by itself.
    fn seats(&mut self, sim: &mut Sim, team: Option<&mut Team>) -> Result<u64, String> {
        match team.filter(|_| self.acted >= WORTH_SHARING && self.apart()) {
            Some(team) => {
                let now = sim.cycle();
                let FabricModel { notes, observer, groups, seats, table, processor, .. } = self;
                notes.parts.iter_mut().for_each(|part| part.listen(now, observer.checks.is_some()));
                act(sim, team, (groups, seats), (table, processor.cus), &mut notes.parts);
                self.left(now)
            }
            None => self.seats_in_turn(sim),
        }
    }

    /// Compute units of different parts can go on side by side.
    pub fn apart(&self) -> bool {
        !self.groups.is_empty() && self.observer.recorder.is_none()
    }

    /// Compute units and memories go through a cycle on several threads, not only the hardware.
    pub fn is_shared(&self) -> bool {
        self.apart() && self.around.are_apart()
    }

    /// Does what groups have left after a cycle, and tells what they have noted.
    fn left(&mut self, now: u64) -> Result<u64, String> {
        self.notes.tell_units(now, &mut self.observer);
        if let Some(problem) = self.groups.iter_mut().find_map(|group| group.left.failed.take()) {
            return Err(problem);
        }
        let touched: Vec<(usize, u64)> =
            self.groups.iter_mut().flat_map(|group| group.left.touched.drain(..)).collect();
        self.place_pages(&touched);
        self.fill_fresh();
        self.take_left();
        Ok(self.groups.iter().map(|group| group.left.due).min().unwrap_or(u64::MAX))
    }

    /// Places the pages of bytes that compute units, with their numbers, were the first to touch.
    pub fn place_pages(&mut self, touched: &[(usize, u64)]) {
        for (seat, addr) in touched {
            let (table, node) = (Arc::make_mut(&mut self.table), seat / self.processor.cus);
            place(table, &mut self.seats[*seat], *addr, node as u32, u64::from(self.shape.line));
        }
    }

    /// Fences and the command processor take what groups have left for them.
    pub fn take_left(&mut self) {
        self.acted = 0;
        for Group { left, .. } in &mut self.groups {
            left.asks.drain(..).for_each(|(node, fence, waiter)| self.fences[node].ask(fence, waiter));
            left.freed.drain(..).for_each(|node| self.processor.freed(node));
            (0..std::mem::take(&mut left.fenced)).for_each(|_| self.processor.fenced());
            self.acted += left.acted;
        }
    }

    fn seats_in_turn(&mut self, sim: &mut Sim) -> Result<u64, String> {
        let now = sim.cycle();
        let mut due = self.pages(now)?;
        let table = RefCell::new(&mut self.table);
        let areas = self.outside.as_ref().map(Outside::areas);
        let (hears, mut acted) = (self.around.hears(), 0);
        let mut asks = Vec::new();
        for (number, seat) in self.seats.iter_mut().enumerate() {
            if seat.acts(sim) {
                acted += 1;
                let (resident, node) = (seat.cu.resident(), number / self.processor.cus);
                let translate = |addr: u64| {
                    if let Some(marked) = areas.as_ref().and_then(|areas| areas.mark(addr)) {
                        return marked;
                    }
                    let mut table = table.borrow_mut();
                    let found = table.find(addr);
                    found.unwrap_or_else(|| Arc::make_mut(&mut table).touch(addr, node as u32))
                };
                let find = |addr: u64| table.borrow().find(addr);
                let memory = &mut self.host;
                let elsewhere =
                    self.outside.as_mut().map(|outside| Elsewhere { outside, memory, find: &find });
                let around = hears.then_some(&mut *self.around);
                let mut beside = Beside { asks, around, elsewhere };
                let ticked = seat.tick(sim, &mut beside, &translate, &mut self.observer);
                asks = beside.asks;
                ticked?;
                asks.drain(..).for_each(|(fence, waiter)| self.fences[node].ask(fence, waiter));
                if seat.cu.resident() < resident {
                    self.processor.freed(node);
                }
                // What a compute unit has finished, the command processor sees in the next cycle.
                due = now + 1;
            }
            due = due.min(seat.next);
        }
        self.acted = acted;
        self.fill_fresh();
        Ok(due)
    }

    /// Pages move; compute units that have waited for them go on. Returns when something happens next by itself.
    fn pages(&mut self, now: u64) -> Result<u64, String> {
        let Some(outside) = self.outside.as_mut().filter(|outside| outside.is_asked()) else {
            return Ok(u64::MAX);
        };
        let (table, memory, around) = (Arc::make_mut(&mut self.table), &self.host, &mut *self.around);
        let mut moves = Moves { table, memory, around, checks: self.observer.checks.as_mut() };
        let (woken, due) = outside.tick(now, &mut moves)?;
        for (node, cu) in woken {
            self.seats[node as usize * self.processor.cus + cu as usize].next = now;
        }
        Ok(due.unwrap_or(u64::MAX))
    }

    /// Places of pages change while the program runs.
    pub fn moves_pages(&self) -> bool {
        self.table.on_touch() || self.outside.is_some()
    }

    /// Pages placed by touch get what the host holds of them: physical addresses and bytes.
    pub fn fill_fresh(&mut self) -> Vec<(u64, Vec<u8>)> {
        if !self.table.has_fresh() {
            return Vec::new();
        }
        let mut fresh = Vec::new();
        let table = Arc::make_mut(&mut self.table);
        let mut bytes = vec![0; table.page_bytes() as usize];
        for page in table.take_fresh() {
            let at = table.translate(page);
            self.host.read(page, &mut bytes);
            self.around.write(at, &bytes);
            if let Some(checks) = &mut self.observer.checks {
                checks.host_write(at, &bytes);
            }
            if self.company.0.is_some() {
                fresh.push((at, bytes.clone()));
            }
        }
        fresh
    }
}

impl FabricModel {
    /// The first cycle that can no longer be gone through side by side, up to `until`.
    fn beside(&self, sim: &Sim, until: u64) -> u64 {
        let now = sim.cycle();
        let may = self.is_shared() && !self.processor.asks();
        let worth = match &self.company.0 {
            Some(ranks) if ranks.are_apart() => true,
            Some(ranks) => sim.awake_units() >= WORTH_CLOCKING && ranks.may_part(now, self.processor.runs()),
            None => sim.awake_units() >= WORTH_CLOCKING,
        };
        if !may || until <= now || !worth {
            return now;
        }
        until.min(self.observer.looks(now, self.told.moved()))
    }

    /// One cycle, on the threads of a team if there is one; then also more, up to `until`, including clock edges,
    /// if that pays.
    fn go(&mut self, sim: &mut Sim, mut team: Option<&mut Team>, until: u64) -> Result<Tick, Problem> {
        let until = if team.is_some() { self.beside(sim, until) } else { sim.cycle() };
        let mut clocks = until > sim.cycle();
        let gone = Tick { due: None, clocked: true };
        let mut again = false;
        if let (true, true, Some(team)) = (clocks && self.whole, self.processor.going().is_some(), &mut team)
        {
            self.window(sim, team, until, true)?;
            if !self.courses[0].fenced || !sim.failures().is_empty() {
                return Ok(gone);
            }
            if self.company.0.is_some() {
                // Rank 0 alone does the rest of the cycle.
                clocks = false;
                again = self.courses.iter().any(|course| course.stirs);
                self.catch_up(sim)?;
                sim.settle();
                self.notes.tell_units(sim.cycle(), &mut self.observer);
            }
        } else {
            clocks &= self.company.0.is_none();
            if !clocks {
                self.catch_up(sim)?;
                sim.settle();
            }
            FENCES.begin();
            again = self.fences(sim, clocks);
        }
        let now = sim.cycle();
        PROCESSOR.begin();
        let quiet = self.processor.rests && sim.asleep() && self.around.is_idle();
        let (program, around, table) = (&self.program, &*self.around, &*self.table);
        let keep = self.outside.is_some();
        let (host, shape, links) = (RefCell::new(&mut self.host), self.shape, self.links);
        let ask = |sim: &Sim, step: usize| {
            let host = host.borrow();
            let held = Held { around, table, host: &host, line: u64::from(shape.line) };
            let step = program.host_step(step, &|addr, count| held.read(sim, addr, count))?;
            Some(match step {
                HostStep::Launch(kernel) => Order::Launch(kernel),
                HostStep::Write { addr, bytes } => {
                    let over = links.host.map(|host| (host.link, bytes.len() as u64));
                    Order::Store { name: "host copy", addr, bytes, over }
                }
                HostStep::Copy { from, to, bytes } => {
                    let crossed = crossing(table, &shape, from, to, bytes);
                    let hosted = |addr| table.find(addr).is_none();
                    let host = links.host.filter(|_| hosted(from) || hosted(to));
                    let over = (crossed > 0).then_some((host.map_or(links.gpus, |h| h.link), crossed));
                    Order::Store { name: COPY, addr: to, bytes: held.read(sim, from, bytes as usize), over }
                }
            })
        };
        let place =
            |addr: u64, bytes: &[u8]| copy_accesses(table, &mut host.borrow_mut(), &shape, addr, bytes, keep);
        let ticked = self.processor.tick(
            (sim, quiet),
            &mut self.seats,
            &mut self.fences,
            &ask,
            &place,
            &mut self.observer,
        );
        if ticked.is_err() {
            self.tell_all()?;
        }
        again |= ticked?;
        if self.processor.boundary {
            sim.settle();
            self.tell_all()?;
            self.notes.tell_units(now, &mut self.observer);
            self.observer.boundary(sim, &*self.around)?;
        }
        CUS.begin();
        if let (true, Some(team)) = (clocks, &mut team) {
            self.window(sim, team, now + 1, false)?;
            return Ok(gone);
        }
        let mut due = self.seats(sim, team)?;
        MEMORY.begin();
        if again {
            due = due.min(now + 1);
        }
        due = due.min(self.memories(sim)?).min(self.processor.wakes().unwrap_or(u64::MAX));
        CHECKS.begin();
        self.observer.failure(sim)?;
        if due == u64::MAX && sim.asleep() && !self.finished() {
            self.observer.stuck(sim)?;
        }
        Ok(Tick { due: (due != u64::MAX).then_some(due), clocked: false })
    }
}

impl Model for FabricModel {
    fn tick(&mut self, sim: &mut Sim) -> Result<Option<u64>, Problem> {
        self.go(sim, None, 0).map(|tick| tick.due)
    }

    fn tick_by(&mut self, sim: &mut Sim, team: &mut Team, until: u64) -> Result<Tick, Problem> {
        self.go(sim, Some(team), until)
    }

    fn catch_up(&mut self, sim: &mut Sim) -> Result<(), Problem> {
        self.gather(sim);
        self.tell_all()
    }

    fn finished(&self) -> bool {
        self.processor.finished() || self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    fn marks(&self) -> Vec<(u64, String)> {
        self.processor.records.iter().map(|kernel| (kernel.start, kernel.name.clone())).collect()
    }

    fn look_closely(&mut self) {
        if let Some(checks) = &mut self.observer.checks {
            checks.look_closely();
        }
    }

    fn moved(&self) -> Option<u64> {
        self.observer.checks.as_ref().and_then(Checks::moved)
    }
}

/// The host's stores for a copy: node and access, line by line. What lies in pages that are nowhere yet stays with the host.
fn copy_accesses(
    table: &PageTable,
    host: &mut Memory,
    shape: &Shape,
    addr: u64,
    bytes: &[u8],
    keep: bool,
) -> Vec<(usize, LineAccess)> {
    let line = u64::from(shape.line);
    let mut out: Vec<(usize, LineAccess)> = Vec::new();
    table.for_pieces(addr, bytes.len(), |at, range| {
        // Of pages that move the host knows the contents, too.
        if at.is_none() || keep {
            host.write(addr + range.start as u64, &bytes[range.clone()]);
        }
        let Some(at) = at else { return };
        let mut last = u64::MAX;
        for (i, byte) in bytes[range].iter().enumerate() {
            let at = at + i as u64;
            let offset = (at % line) as usize;
            if at / line != last {
                last = at / line;
                let access = LineAccess { want_ack: true, line: last, ..LineAccess::bare(CuOp::St) };
                out.push((shape.carrier(table.home(at), last) as usize, access));
            }
            if let Some((_, access)) = out.last_mut() {
                access.mask |= 1 << offset;
                access.data[offset / 8] |= u64::from(*byte) << (8 * (offset % 8));
            }
        }
    });
    out
}

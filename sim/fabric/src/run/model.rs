//! Everything behavioural around the fabric, as one model that the engine's runner clocks and rewinds.

use super::fences::{NodeFences, Waiter};
use super::memory::{Banks, Held};
use super::observe::Observer;
use super::oracle::Oracle;
use super::processor::Processor;
use super::seat::Seat;
use crate::check::precision::Beside;
use crate::check::{CheckError, Checks};
use crate::cu::LineAccess;
use crate::dram::Dram;
use crate::ideal_dir::IdealDirectory;
use crate::memory::Memory;
use crate::placement::PageTable;
use std::cell::RefCell;
use std::sync::Arc;
use weft_blocks::msg::CuOp;
use weft_engine::Sim;
use weft_engine::runner::{Model, Problem};
use weft_workload::Program;

/// Cycles after the last fence in which the fabric must come to rest.
const SETTLE_CYCLES: u64 = 1_000_000;

/// Compute units, DRAM, command processors and (protocol `ideal`) directories.
#[derive(Clone)]
pub(super) struct FabricModel {
    pub seats: Vec<Seat>,
    pub dram: Dram,
    pub ideal: Option<IdealDirectory>,
    pub processor: Processor,
    /// By node.
    pub fences: Vec<NodeFences>,
    pub table: Arc<PageTable>,
    /// By the program's addresses: what pages hold that are placed nowhere yet.
    pub host: Memory,
    /// Where values come from if nothing keeps the caches coherent.
    pub oracle: Option<Oracle>,
    pub program: Arc<dyn Program>,
    pub observer: Observer,
    pub banks: Banks,
    /// Bytes of a line.
    pub line: u64,
    /// L2 banks, and so DRAM channels, of a GPU.
    pub channels: u32,
}

impl FabricModel {
    /// Bytes of the program's memory, by the program's addresses.
    pub fn read(&self, sim: &Sim, addr: u64, count: usize) -> Vec<u8> {
        let oracle = self.oracle.as_ref().map(|oracle| &oracle.memory);
        let from = Held { dram: &self.dram, table: &self.table, host: &self.host, oracle };
        self.banks.read(sim, &from, addr, count)
    }

    /// Lets what the last fence left behind (write-backs, late invalidations) come to rest, so that memory can be read.
    pub fn settle(&mut self, sim: &mut Sim) -> Result<(), String> {
        for _ in 0..SETTLE_CYCLES {
            self.memories(sim).map_err(|problem| problem.text)?;
            let idle = self.ideal.as_ref().is_none_or(IdealDirectory::is_idle);
            if sim.asleep() && self.dram.is_idle() && idle {
                return Ok(());
            }
            sim.step();
        }
        Err(format!("the fabric is not at rest {SETTLE_CYCLES} cycles after the program's end"))
    }

    /// DRAM and, behind it in the same cycle, the directories that are no RTL; returns when they must act next.
    fn memories(&mut self, sim: &mut Sim) -> Result<u64, Problem> {
        let dram = self.dram.tick(sim)?.unwrap_or(u64::MAX);
        self.observer.memory(sim.cycle(), self.channels, &self.dram.transfers);
        let ideal = match &mut self.ideal {
            Some(ideal) => ideal.tick(sim)?.unwrap_or(u64::MAX),
            None => u64::MAX,
        };
        Ok(dram.min(ideal))
    }

    /// Looks at the fabric after it has come to rest.
    pub fn check_end(&mut self, sim: &Sim) -> Result<(), CheckError> {
        self.beside(|observer, beside| observer.end(sim, beside))
    }

    /// Calls `f` with the observer and what its checks need of the models.
    fn beside<R>(&mut self, f: impl FnOnce(&mut Observer, Beside) -> R) -> R {
        let (memory, ideal) = (&self.dram.memory, self.ideal.as_ref());
        let read = |addr: u64, limbs: &mut [u64]| memory.read_limbs(addr, limbs);
        let sharers =
            |home: u32, bank: u32, line: u64| ideal.map_or(0, |ideal| ideal.sharers(home, bank, line));
        let beside = Beside { memory: Some(&read), ideal: ideal.is_some().then_some(&sharers) };
        f(&mut self.observer, beside)
    }

    /// Fences go on; who has waited for one that is complete goes on too. Returns whether the next cycle matters even if nothing else happens.
    fn fences(&mut self, sim: &mut Sim) -> bool {
        let (now, mut again) = (sim.cycle(), false);
        let mut finished = Vec::new();
        for (node, fences) in self.fences.iter_mut().enumerate() {
            again |= fences.tick(sim, &mut self.observer, &mut finished);
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

    fn seats(&mut self, sim: &mut Sim) -> Result<u64, String> {
        let now = sim.cycle();
        let mut due = u64::MAX;
        let table = RefCell::new(&mut self.table);
        for (number, seat) in self.seats.iter_mut().enumerate() {
            if seat.next <= now {
                let (resident, node) = (seat.cu.resident(), number / self.processor.cus);
                let translate = |addr: u64| {
                    let mut table = table.borrow_mut();
                    let found = table.find(addr);
                    found.unwrap_or_else(|| Arc::make_mut(&mut table).touch(addr, node as u32))
                };
                let (fences, oracle) = (&mut self.fences[node], self.oracle.as_mut());
                seat.tick(sim, fences, oracle, &translate, &mut self.observer)?;
                if seat.cu.resident() < resident {
                    self.processor.freed(node);
                }
                // What a compute unit has finished, the command processor sees in the next cycle.
                due = now + 1;
            }
            due = due.min(seat.next);
        }
        self.fill_fresh();
        Ok(due)
    }

    /// Pages placed by touch get what the host holds of them.
    fn fill_fresh(&mut self) {
        if !self.table.has_fresh() {
            return;
        }
        let table = Arc::make_mut(&mut self.table);
        let mut bytes = vec![0; table.page_bytes() as usize];
        for page in table.take_fresh() {
            let at = table.translate(page);
            self.host.read(page, &mut bytes);
            self.dram.memory.write(at, &bytes);
            self.oracle.iter_mut().for_each(|oracle| oracle.memory.write(at, &bytes));
            if let Some(checks) = &mut self.observer.checks {
                checks.host_write(at, &bytes);
            }
        }
    }
}

impl Model for FabricModel {
    fn tick(&mut self, sim: &mut Sim) -> Result<Option<u64>, Problem> {
        let now = sim.cycle();
        let mut again = self.fences(sim);
        let (program, dram, table, banks) = (&self.program, &self.dram, &self.table, &self.banks);
        let oracle = self.oracle.as_ref().map(|oracle| &oracle.memory);
        let host = RefCell::new(&mut self.host);
        let ask = |sim: &Sim, step: usize| {
            let host = host.borrow();
            let from = Held { dram, table, host: &host, oracle };
            program.host_step(step, &|addr, count| banks.read(sim, &from, addr, count))
        };
        let line = self.line;
        let place = |addr: u64, bytes: &[u8]| copy_accesses(table, &mut host.borrow_mut(), line, addr, bytes);
        again |=
            self.processor.tick(sim, &mut self.seats, &mut self.fences, &ask, &place, &mut self.observer)?;
        if self.processor.boundary {
            self.beside(|observer, beside| observer.boundary(sim, beside))?;
        }
        let mut due = self.seats(sim)?;
        if again {
            due = due.min(now + 1);
        }
        due = due.min(self.memories(sim)?);
        self.observer.failure(sim)?;
        if due == u64::MAX && sim.asleep() && !self.finished() {
            self.observer.stuck(sim)?;
        }
        Ok((due != u64::MAX).then_some(due))
    }

    fn finished(&self) -> bool {
        self.processor.finished()
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

/// The host's stores for a copy: home node and access, line by line. What lies in pages that are nowhere yet stays with the host.
fn copy_accesses(
    table: &PageTable,
    host: &mut Memory,
    line: u64,
    addr: u64,
    bytes: &[u8],
) -> Vec<(usize, LineAccess)> {
    let mut out: Vec<(usize, LineAccess)> = Vec::new();
    table.for_pieces(addr, bytes.len(), |at, range| {
        let Some(at) = at else { return host.write(addr + range.start as u64, &bytes[range]) };
        let mut last = u64::MAX;
        for (i, byte) in bytes[range].iter().enumerate() {
            let at = at + i as u64;
            let offset = (at % line) as usize;
            if at / line != last {
                last = at / line;
                let access = LineAccess { want_ack: true, line: last, ..LineAccess::bare(CuOp::St) };
                out.push((table.home(at) as usize, access));
            }
            if let Some((_, access)) = out.last_mut() {
                access.mask |= 1 << offset;
                access.data[offset / 8] |= u64::from(*byte) << (8 * (offset % 8));
            }
        }
    });
    out
}

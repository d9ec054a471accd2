//! The check of logical time (mgcc.md section 3): every byte that a load gets is of the write with the greatest time up to the load's own, among all writes, also those performed later.
//!
//! Times come from the port `gG_cuC_time` beside each answer of an L1. A read is judged as soon as the time of every write of its line is known that was taken before the read was
//! answered; a write taken later must be later than every access of the line that was answered before. Together that is the rule for all writes. Further:
//!
//! - no two writes of a line have one time;
//! - an access binds no earlier than its L1's clock when it was taken, as far as answers have shown it, and no earlier than the time with which the kernel has begun;
//! - time does not go back along a wave (sequential consistency), or across its fences (release consistency), and a wave sees the versions of a line in order;
//! - a fence is complete at a time not before its wave's accesses; a kernel's end tells a time not before any access of its compute unit;
//! - at a kernel's end, when all is at rest, memory holds the last version of every line.
//!
//! With times that respect program order a total order by (time, moment) exists: inside an instant a load follows the write of its line that it sees, which was granted before it was
//! answered.
//!
//! Versions are kept from one kernel boundary to the next, which raises all clocks beyond them; of a line that is written often those that no clock can reach any more are
//! dropped before.

mod history;
mod text;
mod unit;
mod wave;

#[cfg(test)]
mod tests;

pub use history::{By, Bytes, LineFault, Read};

use crate::check::CheckError;
use crate::check::values::amo_result;
use crate::cu::{CuObserver, Issuer, LineAccess, LineReply};
use crate::family::held::Held;
use crate::family::{FamilyCheck, Surroundings};
use history::{Data, Judged, Log};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use unit::{Op, Unit};
use weft_blocks::msg::CuOp;
use weft_engine::{Design, Sim};
use weft_mgcc::choice::ReadTs;
use weft_mgcc::fabric::TsmFabricParams;

/// Its name in sentences.
const NAME: &str = "logical time";
/// Lines of a page.
const PAGE: u64 = 64;

/// The time that a clock of `bits` bits tells, in full: of all times with these low bits the one nearest to `near`, which is a full time at hand.
pub(crate) fn full_time(told: u64, near: u64, bits: u32) -> u64 {
    let spare = 64 - bits;
    // The difference as a signed number of `bits` bits.
    let ahead = (told.wrapping_sub(near) << spare) as i64 >> spare;
    near.wrapping_add(ahead as u64)
}

/// Neighbouring lines.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Page {
    /// What each line holds without the versions of its log.
    base: Vec<Data>,
    /// Greatest time of each line's accesses that are answered.
    latest: Vec<u64>,
    /// Of the lines written in this kernel.
    logs: BTreeMap<u8, Log>,
}

impl Page {
    fn new() -> Page {
        Page { base: vec![[0; 8]; PAGE as usize], latest: vec![0; PAGE as usize], logs: BTreeMap::new() }
    }
}

/// How much was checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Counts {
    loads: u64,
    stores: u64,
    atomics: u64,
    fences: u64,
    kernels: u64,
    /// Lines compared with memory.
    lines: u64,
    /// Greatest timestamp without its epoch.
    largest_stamp: u64,
}

/// What changes, as it is saved.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    /// Shared with clones until written, so that snapshots are cheap.
    pages: BTreeMap<u64, Arc<Page>>,
    /// Pages with logs.
    written: BTreeSet<u64>,
    units: Vec<Unit>,
    /// Number of the last write taken.
    number: u64,
    /// The greatest time told, in full: clocks begin again at 0 when their epochs are used up.
    latest: u64,
    counts: Counts,
    /// The first violation.
    wrong: Option<String>,
}

/// The check.
#[derive(Clone)]
pub struct Times {
    /// Compute units of a GPU.
    cus: u32,
    /// Bits of a timestamp, and of a clock.
    ts: u32,
    cts: u32,
    sequential: bool,
    /// Loads raise the clock at once.
    eager: bool,
    s: State,
}

impl Times {
    /// The check of a design.
    ///
    /// # Errors
    /// A design whose L1s do not tell times.
    pub fn new(design: &Design, p: &TsmFabricParams) -> Result<Times, CheckError> {
        if !design.outputs.iter().any(|port| port.name == "g0_cu0_time") {
            return Err(CheckError::Names { units: "ports gG_cuC_time", check: NAME });
        }
        Ok(Times::bare(p))
    }

    /// The check of a fabric whose events are told by hand.
    pub fn bare(p: &TsmFabricParams) -> Times {
        let units = vec![Unit::default(); (p.tsm.gpus * p.tsm.cus) as usize];
        Times {
            cus: p.tsm.cus,
            ts: p.tsm.ts,
            cts: p.tsm.cts,
            sequential: p.sequential(),
            eager: p.read_ts == ReadTs::Eager || p.gtsc(),
            s: State { units, ..State::default() },
        }
    }

    /// The first violation, as a sentence.
    pub fn wrong(&self) -> Option<&str> {
        self.s.wrong.as_deref()
    }

    fn unit(&mut self, by: &By) -> &mut Unit {
        &mut self.s.units[(by.gpu * self.cus + by.cu) as usize]
    }

    fn fail(&mut self, text: impl FnOnce(&Times) -> String) {
        if self.s.wrong.is_none() {
            self.s.wrong = Some(text(self));
        }
    }

    /// A time that an L1 tells, or is told, in full.
    fn full(&mut self, told: u64) -> u64 {
        let time = full_time(told, self.s.latest, self.cts);
        self.s.latest = self.s.latest.max(time);
        time
    }

    /// The answer to a load, store or atomic.
    fn accessed(&mut self, now: u64, op: &Op, data: &[u64; 16], time: u64) {
        let (by, line) = (op.by, op.access.line);
        self.s.counts.largest_stamp = self.s.counts.largest_stamp.max(time & ((1 << self.ts) - 1));
        self.binds(now, op, time);
        let (page, at) = (line / PAGE, (line % PAGE) as usize);
        let of = Arc::make_mut(self.s.pages.entry(page).or_insert_with(|| Arc::new(Page::new())));
        of.latest[at] = of.latest[at].max(time);
        let mut judged = Vec::new();
        let read = Read { time, before: op.access.op == CuOp::Amo, bytes: op.bytes(data), by };
        let result = if op.access.op == CuOp::Ld {
            self.s.counts.loads += 1;
            match of.logs.get_mut(&(at as u8)) {
                Some(log) => log.read(&of.base[at], read, &mut judged),
                None => Log::default().read(&of.base[at], read, &mut judged),
            }
        } else {
            let log = of.logs.entry(at as u8).or_default();
            let written = match op.access.op {
                CuOp::Amo => performed(&op.access, &read.bytes),
                _ => op.bytes(&op.access.data),
            };
            let made = log.write(&of.base[at], op.number, (time, by), written, &mut judged);
            let result = if op.access.op == CuOp::Amo {
                self.s.counts.atomics += 1;
                made.and_then(|()| log.read(&of.base[at], read, &mut judged))
            } else {
                self.s.counts.stores += 1;
                made
            };
            let units = &self.s.units;
            log.prune(&mut of.base[at], || units.iter().map(Unit::at_least).min().unwrap_or(0));
            judged.push((Read { before: false, ..read }, time));
            result
        };
        match result {
            Ok(()) => judged.iter().for_each(|judged| self.in_order(now, line, judged)),
            Err(fault) => self.fail(|times| times.line_text(line, &fault)),
        }
    }

    /// An access binds at a time: not before its clock, not before what is ordered before it.
    fn binds(&mut self, now: u64, op: &Op, time: u64) {
        let (sequential, raises) = (self.sequential, self.eager || op.access.op != CuOp::Ld);
        let unit = self.unit(&op.by);
        let begun = unit.begun.max(op.clock);
        unit.greatest = unit.greatest.max(time);
        if raises {
            unit.clock = unit.clock.max(time);
        }
        let order = match op.by.wave {
            Some(wave) => unit.along(wave, now).passes(op.by.operation, time, sequential),
            None => Ok(()),
        };
        let late = [
            (time < begun)
                .then_some((begun, "which the clock of its compute unit had reached when it was taken")),
            order.err().map(|floor| (floor, "at which accesses bound that are ordered before it")),
        ];
        for (floor, why) in late.into_iter().flatten() {
            self.fail(|times| {
                format!(
                    "{} of line {:#x} binds at time {}, before {}, {why}",
                    times.name(op),
                    op.access.line * 64,
                    times.time(time),
                    times.time(floor)
                )
            });
        }
    }

    /// A wave has seen a version of a line, or made it.
    fn in_order(&mut self, now: u64, line: u64, (read, version): &Judged) {
        let by = read.by;
        let Some(wave) = by.wave else { return };
        let order = self.unit(&by).along(wave, now).sees(line, by.operation, *version);
        if let Err(other) = order {
            self.fail(|times| {
                format!(
                    "operation {} of {} sees line {:#x} as of time {}, and another operation of the wave, in the wrong order, as of {}",
                    by.operation, times.who(&by), line * 64, times.time(*version), times.time(other)
                )
            });
        }
    }

    /// A release or acquire is complete.
    fn fenced(&mut self, now: u64, op: &Op, time: u64) {
        self.s.counts.fences += 1;
        let unit = self.unit(&op.by);
        unit.clock = unit.clock.max(time);
        let Some(wave) = op.by.wave else { return };
        let floor = unit.along(wave, now).fence();
        if time < floor {
            self.fail(|times| {
                format!(
                    "a fence of {} is complete at time {}, before its accesses, the last at {}",
                    times.who(&op.by),
                    times.time(time),
                    times.time(floor)
                )
            });
        }
    }

    /// A kernel begins with a time, or ends and tells one.
    fn bounded(&mut self, op: &Op, told: u64) {
        let begins = op.access.op == CuOp::Kbegin;
        let told = self.full(if begins { op.access.data[0] } else { told });
        let unit = self.unit(&op.by);
        if begins {
            unit.begun = unit.begun.max(told);
            unit.clock = unit.clock.max(unit.begun);
            return;
        }
        let greatest = unit.greatest;
        if told < greatest {
            self.fail(|times| {
                format!(
                    "{} ends its kernel at time {}, and an access of its bound at {}",
                    times.who(&op.by),
                    times.time(told),
                    times.time(greatest)
                )
            });
        }
    }

    /// All is at rest: the versions go into the lines, which memory must hold.
    fn rest(&mut self, held: &Held) {
        for number in std::mem::take(&mut self.s.written) {
            let Some(page) = self.s.pages.get_mut(&number) else { continue };
            let page = Arc::make_mut(page);
            let mut lines = Vec::new();
            for (at, log) in std::mem::take(&mut page.logs) {
                let settled = log.is_settled();
                log.finish(&mut page.base[usize::from(at)]);
                lines.push((at, page.base[usize::from(at)], settled));
            }
            for (at, data, settled) in lines {
                let line = number * PAGE + u64::from(at);
                if !settled {
                    self.fail(|_| {
                        format!("a write of line {:#x} has no answer when its kernel has ended", line * 64)
                    });
                }
                self.compare(line, &data, held);
            }
        }
        self.s.units.iter_mut().for_each(Unit::rest);
        self.s.counts.kernels += 1;
    }

    fn compare(&mut self, line: u64, data: &Data, held: &Held) {
        self.s.counts.lines += 1;
        let bytes = held.line(line);
        let expected = data.iter().flat_map(|limb| limb.to_le_bytes());
        if let Some((byte, (found, left))) =
            bytes.iter().zip(expected).enumerate().find(|(_, (a, b))| **a != *b)
        {
            let found = *found;
            self.fail(|_| {
                format!("memory holds {found:#04x} in byte {byte} of line {:#x}, where the last write in logical time left {left:#04x}", line * 64)
            });
        }
    }

    fn result(&self) -> Result<(), CheckError> {
        match &self.s.wrong {
            Some(text) => Err(CheckError::Family { check: NAME, text: text.clone(), late: false }),
            None => Ok(()),
        }
    }
}

/// What an atomic writes, by the old values that it found.
fn performed(access: &LineAccess, old: &Bytes) -> Bytes {
    let first = access.mask.trailing_zeros();
    let wide = access.mask == 0xff << (first % 128) && first.is_multiple_of(8);
    let size = if wide { 8 } else { 4 };
    let mut out = Bytes { mask: old.mask, data: [0; 8] };
    for offset in (0..64u32).step_by(size as usize).filter(|offset| access.mask >> offset & 1 == 1) {
        let (limb, shift) = ((offset / 8) as usize, 8 * (offset % 8));
        let new = amo_result(
            access.amo,
            access.sgn,
            old.data[limb] >> shift,
            access.data[limb] >> shift,
            access.cmp,
            size,
        );
        out.data[limb] |= new << shift;
    }
    out
}

impl CuObserver for Times {}

impl FamilyCheck for Times {
    fn request(&mut self, _: u64, node: u32, cu: u32, access: &LineAccess, issuer: Option<&Issuer>) {
        let wave = issuer.map(|issuer| (issuer.who.kernel, issuer.who.block, issuer.who.wave));
        let by = By { gpu: node, cu, wave, operation: issuer.map_or(0, |issuer| issuer.operation) };
        if matches!(access.op, CuOp::St | CuOp::Amo) {
            self.s.number += 1;
            let (number, at) = (access.line / PAGE, (access.line % PAGE) as u8);
            let page = Arc::make_mut(self.s.pages.entry(number).or_insert_with(|| Arc::new(Page::new())));
            let latest = page.latest[usize::from(at)];
            page.logs.entry(at).or_default().open(self.s.number, latest);
            self.s.written.insert(number);
        }
        let number = self.s.number;
        self.unit(&by).taken(access, by, number);
    }

    fn answer(&mut self, now: u64, node: u32, cu: u32, reply: &LineReply, time: Option<u64>) {
        let by = By { gpu: node, cu, wave: None, operation: 0 };
        // An answer to nothing is the message check's.
        let (Some(op), Some(time)) = (self.unit(&by).answered(reply.id), time) else { return };
        let time = if matches!(op.access.op, CuOp::Kbegin | CuOp::Kend) { time } else { self.full(time) };
        match op.access.op {
            CuOp::Ld | CuOp::St | CuOp::Amo => self.accessed(now, &op, &reply.data, time),
            CuOp::Rel | CuOp::Acq => self.fenced(now, &op, time),
            CuOp::Kbegin | CuOp::Kend => self.bounded(&op, reply.data[0]),
        }
    }

    fn host_write(&mut self, addr: u64, bytes: &[u8]) {
        for (at, byte) in (addr..).zip(bytes) {
            let page = self.s.pages.entry(at / 64 / PAGE).or_insert_with(|| Arc::new(Page::new()));
            let limb = &mut Arc::make_mut(page).base[(at / 64 % PAGE) as usize][(at % 64 / 8) as usize];
            let shift = 8 * (at % 8);
            *limb = *limb & !(0xff << shift) | u64::from(*byte) << shift;
        }
    }

    fn judge(&mut self) -> Result<(), CheckError> {
        self.result()
    }

    fn boundary(&mut self, sim: &Sim, around: &dyn Surroundings) -> Result<(), CheckError> {
        self.rest(&Held::new(sim, around));
        self.result()
    }

    fn end(&mut self, sim: &Sim, around: &dyn Surroundings) -> Result<(), CheckError> {
        let held = Held::new(sim, around);
        let pages: Vec<(u64, Arc<Page>)> = self.s.pages.iter().map(|(n, page)| (*n, page.clone())).collect();
        for (number, page) in pages {
            page.base.iter().zip(number * PAGE..).for_each(|(data, line)| self.compare(line, data, &held));
        }
        self.result()
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let counts = &self.s.counts;
        vec![
            ("loads", counts.loads),
            ("stores", counts.stores),
            ("atomics", counts.atomics),
            ("fences", counts.fences),
            ("kernels", counts.kernels),
            ("lines", counts.lines),
            ("largest_stamp", counts.largest_stamp),
        ]
    }

    fn save(&self) -> Vec<u8> {
        postcard::to_stdvec(&self.s).expect("plain data is always encoded")
    }

    fn resume(&mut self, bytes: &[u8]) -> bool {
        let Ok(state) = postcard::from_bytes::<State>(bytes) else { return false };
        let same = state.units.len() == self.s.units.len();
        if same {
            self.s = state;
        }
        same
    }

    fn boxed(&self) -> Box<dyn FamilyCheck> {
        Box::new(self.clone())
    }
}

//! Copies from global memory to the scratchpad on their way: LDGSTS, and what waits for them.

use super::{Part, Wave};
use crate::op::Token;
use crate::trace::accel_sim::line::Line;
use crate::trace::accel_sim::split::{Place, lanes};
use crate::trace::op::{TraceAccess, TraceValue};

/// A copy to the scratchpad on its way: its load, and the store that follows.
type OnTheWay = (Token, TraceAccess);

/// The first line of a copy that two lines tell: that of the scratchpad's side, as a rule.
struct Half {
    pc: u64,
    opcode: String,
    mask: u64,
    width: u64,
    addrs: Vec<u64>,
}

/// Copies of a warp that are not stored yet.
#[derive(Default)]
pub(super) struct Copies {
    /// A line that may be one of two.
    half: Option<Half>,
    /// Copies since the last group was closed, and closed groups.
    open: Vec<OnTheWay>,
    groups: Vec<Vec<OnTheWay>>,
    /// A barrier in the scratchpad waits for all copies.
    pub arriving: bool,
}

impl Copies {
    /// The copies since the last one become a group.
    pub fn close(&mut self) {
        self.groups.push(std::mem::take(&mut self.open));
    }
}

impl Wave<'_> {
    /// A copy: both sides of it, if two lines told them; else its place in the scratchpad is taken to be
    /// lane by lane.
    fn copy(&mut self, from: &Half, to: Option<&Half>, parts: &[&str]) -> Result<(), String> {
        let addrs = match to {
            Some(to) => to.addrs.iter().map(|at| self.windows.scratchpad(*at)).collect(),
            None => {
                self.tally.unplaced += 1;
                lanes(from.mask).map(|lane| u64::from(lane) * from.width).collect()
            }
        };
        let side = |place, addrs| Part { place, mask: from.mask, addrs };
        let loads = self.accesses(&side(Place::Global, from.addrs.clone()), from.width, parts, false)?;
        let stores = self.accesses(&side(Place::Scratchpad, addrs), from.width, &[], false)?;
        for (load, store) in loads.into_iter().zip(stores) {
            if self.tokens.full() {
                self.complete_all();
            }
            let token = self.tokens.of_copy();
            self.load(token, load, Place::Global);
            self.copies.open.push((token, store));
        }
        Ok(())
    }

    /// A line of a copy. The tracer writes one for each of its addresses, first that in the scratchpad.
    pub(in crate::trace::accel_sim) fn copy_line(&mut self, line: &Line) -> Result<(), String> {
        let now = Half {
            pc: line.pc,
            opcode: line.opcode.into(),
            mask: line.mask,
            width: line.width,
            addrs: line.addrs.clone(),
        };
        let Some(before) = self.copies.half.take() else {
            self.copies.half = Some(now);
            return Ok(());
        };
        let parts: Vec<&str> = line.opcode.split('.').collect();
        let inside = |half: &Half| half.addrs.iter().all(|at| self.windows.like_scratchpad(*at));
        let same = (before.pc, &before.opcode, before.mask) == (now.pc, &now.opcode, now.mask);
        match (same, inside(&before), inside(&now)) {
            (true, true, false) => self.copy(&now, Some(&before), &parts),
            (true, false, true) => self.copy(&before, Some(&now), &parts),
            _ => {
                self.copies.half = Some(before);
                self.alone()?;
                self.copies.half = Some(now);
                Ok(())
            }
        }
    }

    /// The line of a copy that was the only one.
    pub(in crate::trace::accel_sim) fn alone(&mut self) -> Result<(), String> {
        let Some(half) = self.copies.half.take() else { return Ok(()) };
        if half.addrs.iter().any(|at| self.windows.place(*at) == Place::Scratchpad) {
            return self.untold("LDGSTS", "its line has the address in the scratchpad only");
        }
        let opcode = half.opcode.clone();
        self.copy(&half, None, &opcode.split('.').collect::<Vec<_>>())
    }

    /// Closed groups of copies but the last `left` are there, and stored.
    pub(in crate::trace::accel_sim) fn complete(&mut self, left: usize) {
        let done = self.copies.groups.len().saturating_sub(left);
        let done: Vec<OnTheWay> = self.copies.groups.drain(..done).flatten().collect();
        self.wait(done.iter().map(|(token, _)| *token));
        for (token, access) in done {
            self.tokens.copied(token);
            self.store(access, TraceValue::Token(token), Place::Scratchpad);
        }
    }

    /// All copies are there.
    pub(in crate::trace::accel_sim) fn complete_all(&mut self) {
        self.copies.close();
        self.complete(0);
        self.copies.arriving = false;
    }
}

//! Which values a load or exchange may bring: the rule of the value checks of a run (`weft_fabric::check`), with the order of this run in place of cycles.
//!
//! - A write is *seen* by a load if a release of its CU that comes after it was complete before an acquire of the loading CU began, and that one comes before the load; the scope of
//!   each has the other CU in it.
//! - A write is *before* another one of the same CU that is issued later, and one of another CU that is issued after a release behind the first one was complete.
//! - A load brings the last write of its own CU before it, or one of another CU that has been issued; none that is before one that it sees. The initial value
//!   only if it sees no write, and its CU has written none.
//! - Of an exchange the same holds, and no two find the same write.

use super::ops::{GPU, Issued, Memory, Op, SYSTEM, value, value_text};

/// An operation: CU and number.
type Place = (usize, usize);

fn of(state: &Memory, place: Place) -> &Issued {
    &state.cus[place.0][place.1]
}

/// Writes of a line.
fn writes(state: &Memory, line: usize) -> Vec<Place> {
    let mut list = Vec::new();
    for (cu, own) in state.cus.iter().enumerate() {
        let of_line = |issued: &Issued| issued.op.writes() && issued.op.line() == Some(line);
        list.extend(own.iter().enumerate().filter(|(_, issued)| of_line(issued)).map(|(seq, _)| (cu, seq)));
    }
    list
}

/// A write was followed by a release that was complete when an operation of another CU was issued.
fn released(state: &Memory, write: Place, when: Place) -> bool {
    let count = of(state, when).released >> (8 * write.0) & 0xff;
    write.1 < count as usize
}

/// A load must bring this write or a later one.
fn seen(state: &Memory, gpms: usize, write: Place, load: Place) -> bool {
    let earlier = &state.cus[load.0][..load.1];
    let least = if write.0 / gpms == load.0 / gpms { GPU } else { SYSTEM };
    let reaches = |issued: &Issued| matches!(issued.op, Op::Acquire(scope) if scope >= least);
    let acquire = earlier.iter().rposition(reaches);
    write.0 != load.0 && acquire.is_some_and(|at| released(state, write, (load.0, at)))
}

/// The first write was performed before the second one.
fn before(state: &Memory, first: Place, second: Place) -> bool {
    if first.0 == second.0 { first.1 < second.1 } else { released(state, first, second) }
}

fn allowed(state: &Memory, gpms: usize, load: Place, line: usize, got: u32) -> bool {
    let all = writes(state, line);
    let own = all.iter().copied().filter(|write| write.0 == load.0 && write.1 < load.1).max();
    let sees = |write: &Place| seen(state, gpms, *write, load);
    if got == 0 {
        return own.is_none() && !all.iter().any(sees);
    }
    let written = |write: &Place| *write != load && value(write.0, write.1) == got;
    let Some(write) = all.iter().copied().find(written) else { return false };
    let unordered = write.0 != load.0 || write.1 > load.1;
    let passed = all.iter().filter(|other| sees(other)).any(|other| before(state, write, *other));
    (unordered || own == Some(write)) && !passed
}

/// Judges what a load has brought; a GPU has `gpms` CUs.
///
/// # Errors
/// What is wrong.
pub fn load(state: &Memory, gpms: usize, load: Place, line: usize, got: u32) -> Result<(), String> {
    if allowed(state, gpms, load, line, got) {
        return Ok(());
    }
    let (cu, seq) = load;
    let may: Vec<String> = std::iter::once(0)
        .chain(writes(state, line).into_iter().map(|write| value(write.0, write.1)))
        .filter(|value| allowed(state, gpms, load, line, *value))
        .map(value_text)
        .collect();
    let op = of(state, load).op;
    Err(format!("operation {seq} of CU {cu}, {op}, gets {}; allowed: {}", value_text(got), may.join(", or ")))
}

/// Judges what an exchange has found.
///
/// # Errors
/// What is wrong.
pub fn swap(state: &Memory, gpms: usize, swap: Place, line: usize, got: u32) -> Result<(), String> {
    load(state, gpms, swap, line, got)?;
    let same = |write: &Place| *write != swap && of(state, *write).got == Some(got);
    match writes(state, line).into_iter().find(same) {
        Some((cu, seq)) => Err(format!(
            "operation {} of CU {} finds {}, as operation {seq} of CU {cu} did",
            swap.1,
            swap.0,
            value_text(got)
        )),
        None => Ok(()),
    }
}

/// Judges what the L2 of a node holds of a line when releases are complete: nothing that is before a write that has been released.
///
/// # Errors
/// What is wrong.
pub fn copy(state: &Memory, gpms: usize, node: usize, line: usize, held: u32) -> Result<(), String> {
    let now = state.released(node, gpms);
    let is_released = |write: &&Place| write.1 < (now >> (8 * write.0) & 0xff) as usize;
    let all = writes(state, line);
    let written = all.iter().copied().find(|write| value(write.0, write.1) == held);
    let older = |other: &&Place| match written {
        Some(write) => before(state, write, **other),
        None => held == 0,
    };
    let newer = all.iter().filter(|write| write.0 != node).filter(is_released).find(older);
    match newer {
        Some((cu, seq)) => {
            Err(format!("holds {} though {} is released", value_text(held), value_text(value(*cu, *seq))))
        }
        None => Ok(()),
    }
}

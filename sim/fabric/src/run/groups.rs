//! Compute units by the parts of a simulation that is cut: those of different parts go on side by side.
//!
//! In a cycle a compute unit has to do with its own L1 only, so parts do not meet. What others must hear of is
//! left for afterwards, and done in the order in which one thread would have done it.

use super::fence::Fence;
use super::fences::{NodeFences, Waiter};
use super::observe::PartNotes;
use super::seat::{Beside, Seat};
use crate::activity::CUS;
use crate::placement::PageTable;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use weft_engine::team::{ITEMS, Team};
use weft_engine::{Part, Sim};

/// Stands for the physical address of a byte whose page nobody has touched before, until the cycle is over.
const UNPLACED: u64 = 1 << 60;

/// Neighbouring compute units whose ports are in one part of the simulation.
#[derive(Clone)]
pub(super) struct Group {
    pub seats: Range<usize>,
    pub part: usize,
    pub left: Left,
}

/// What a group has left to be done after a cycle.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Left {
    /// Fences that are asked for, by node.
    pub asks: Vec<(usize, Fence, Waiter)>,
    /// Fences that are complete for the command processor.
    pub fenced: usize,
    /// Nodes with compute units that have room again.
    pub freed: Vec<usize>,
    /// Bytes of the program whose pages were touched first, and compute units that did.
    pub touched: Vec<(usize, u64)>,
    /// The next cycle in which something happens by itself.
    pub due: u64,
    /// Compute units that have acted.
    pub acted: usize,
    /// What the first of them that went wrong said.
    pub failed: Option<String>,
}

impl Group {
    /// The groups of compute units in parts of these numbers; none if two groups are in one part.
    pub fn of(parts: &[usize]) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for (seat, part) in parts.iter().enumerate() {
            match groups.last_mut() {
                Some(group) if group.part == *part => group.seats.end = seat + 1,
                _ => groups.push(Group { seats: seat..seat + 1, part: *part, left: Left::default() }),
            }
        }
        let mut numbers: Vec<usize> = groups.iter().map(|group| group.part).collect();
        numbers.sort_unstable();
        let apart = numbers.windows(2).all(|pair| pair[0] < pair[1]);
        if apart && groups.len() < ITEMS { groups } else { Vec::new() }
    }

    /// Each node of the group, of `cus` compute units, has all of those, and its fence unit's ports, in the part
    /// of the group.
    pub fn is_of_whole_nodes(&self, sim: &Sim, cus: usize, fences: &[NodeFences]) -> bool {
        let nodes = self.seats.start / cus..self.seats.end / cus;
        let whole = self.seats.start.is_multiple_of(cus) && self.seats.end.is_multiple_of(cus);
        whole && fences[nodes].iter().all(|node| node.is_in(sim, self.part))
    }
}

/// A group with its compute units.
pub(super) struct Units<'a> {
    pub group: &'a mut Group,
    pub seats: &'a mut [Seat],
}

impl Units<'_> {
    /// The compute units of a group act in the present cycle.
    pub fn go(&mut self, part: &mut Part, table: &PageTable, cus: usize, notes: &mut PartNotes) {
        let Units { group: Group { seats: numbers, left, .. }, seats } = self;
        let now = part.cycle();
        (left.due, left.acted) = (u64::MAX, 0);
        let touched = std::cell::RefCell::new(&mut left.touched);
        let mut beside = Beside::default();
        for (seat, number) in seats.iter_mut().zip(numbers.clone()) {
            if seat.acts(part) {
                let (resident, node) = (seat.cu.resident(), number / cus);
                let translate = |addr: u64| {
                    table.find(addr).unwrap_or_else(|| {
                        touched.borrow_mut().push((number, addr));
                        UNPLACED | addr
                    })
                };
                if let Err(problem) = seat.tick(part, &mut beside, &translate, &mut notes.units) {
                    left.failed = Some(problem);
                    return;
                }
                left.asks.extend(beside.asks.drain(..).map(|(fence, waiter)| (node, fence, waiter)));
                if seat.cu.resident() < resident {
                    left.freed.push(node);
                }
                left.acted += 1;
                left.due = now + 1;
            }
            left.due = left.due.min(seat.next);
        }
    }
}

/// The groups with their compute units.
pub(super) fn units<'a>(groups: &'a mut [Group], seats: &'a mut [Seat]) -> Vec<Units<'a>> {
    let mut rest = seats;
    let with_seats = groups.iter_mut().map(|group| {
        let (seats, behind) = std::mem::take(&mut rest).split_at_mut(group.seats.len());
        rest = behind;
        Units { group, seats }
    });
    with_seats.collect()
}

/// All compute units act in the present cycle, on the threads of a team.
pub(super) fn act(
    sim: &mut Sim,
    team: &mut Team,
    (groups, seats): (&mut [Group], &mut [Seat]),
    (table, cus): (&PageTable, usize),
    notes: &mut [PartNotes],
) {
    let mut parts: Vec<(&mut Part, &mut PartNotes, Option<Units>)> =
        sim.parts().zip(notes).map(|(part, notes)| (part, notes, None)).collect();
    for units in units(groups, seats) {
        let part = units.group.part;
        parts[part].2 = Some(units);
    }
    team.each(&mut parts, &|(part, notes, units)| {
        if let Some(units) = units {
            CUS.begin();
            units.go(part, table, cus, notes);
        }
    });
}

/// Places the page of a byte that a compute unit has touched, if nobody has before it, and tells the compute
/// unit.
pub(super) fn place(table: &mut PageTable, seat: &mut Seat, addr: u64, node: u32, line: u64) {
    let at = table.find(addr).unwrap_or_else(|| table.touch(addr, node));
    seat.cu.placed((UNPLACED | addr) / line, at / line);
}

//! A cycle side by side: compute units, memory channels and hardware of a part of the simulation go on
//! together, parts on different threads.
//!
//! ```text
//!  one thread           fences, command processors          what was noted in the cycle before is told
//!  all, part by part    compute units -> channels -> clock edge, messages inside the part
//!  one thread           messages between parts, fences asked for, pages touched, ...
//! ```
//!
//! In a cycle a compute unit has to do with its own L1 only, and a channel with the lines that are its own,
//! so parts do not meet. What others must hear of is left for afterwards, and done in the order in which one
//! thread would have done it.

use super::fences::{Fence, Waiter};
use super::observe::Noted;
use super::seat::{Beside, Seat};
use crate::activity::{CUS, MEMORY};
use crate::lanes::PartLanes;
use crate::placement::PageTable;
use std::ops::Range;
use weft_engine::activity::Activity;
use weft_engine::team::{ITEMS, Team};
use weft_engine::{Part, Sim};

/// Stands for the physical address of a byte whose page nobody has touched before, until the cycle is over.
const UNPLACED: u64 = 1 << 60;

/// Neighbouring compute units whose ports are in one part of the simulation.
#[derive(Clone)]
pub(super) struct Group {
    seats: Range<usize>,
    part: usize,
    pub left: Left,
}

/// What a group has left to be done after a cycle.
#[derive(Clone, Default)]
pub(super) struct Left {
    /// Fences that are asked for, by node.
    pub asks: Vec<(usize, Fence, Waiter)>,
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
}

/// One cycle of all groups.
pub(super) struct Step<'a> {
    pub table: &'a PageTable,
    /// Compute units of a node.
    pub cus: usize,
    pub groups: &'a mut [Group],
    pub seats: &'a mut [Seat],
    /// By group.
    pub noted: &'a mut [Noted],
}

/// A part with what goes on there.
struct Item<'a> {
    part: &'a mut Part,
    units: Option<Units<'a>>,
    lanes: Option<&'a mut dyn PartLanes>,
    due: Option<u64>,
}

/// A group with its compute units.
struct Units<'a> {
    group: &'a mut Group,
    seats: &'a mut [Seat],
    noted: &'a mut Noted,
}

impl Item<'_> {
    /// A whole cycle.
    fn go(&mut self, table: &PageTable, cus: usize) {
        Activity::MESSAGES.begin();
        self.part.receive();
        if let Some(units) = &mut self.units {
            CUS.begin();
            units.go(self.part, table, cus);
        }
        if let Some(lanes) = &mut self.lanes {
            MEMORY.begin();
            self.due = lanes.tick(self.part);
        }
        self.part.step();
    }
}

/// What a thread does.
enum Work<'a> {
    Item(Item<'a>),
    Told(&'a mut (dyn FnMut() + Send)),
}

impl Step<'_> {
    /// The compute units alone.
    pub fn units(self, sim: &mut Sim, team: &mut Team) {
        let (table, cus) = (self.table, self.cus);
        let mut items = self.items(sim);
        team.each(&mut items, &|item| {
            if let Some(units) = &mut item.units {
                CUS.begin();
                units.go(item.part, table, cus);
            }
        });
    }

    /// The whole cycle, clock edge included, with `told` beside it; returns the next cycle in which a channel
    /// must act even if every unit sleeps.
    pub fn cycle(
        self,
        sim: &mut Sim,
        team: &mut Team,
        lanes: Vec<(usize, &mut dyn PartLanes)>,
        told: &mut (dyn FnMut() + Send),
    ) -> Option<u64> {
        let (table, cus) = (self.table, self.cus);
        let mut items = self.items(sim);
        lanes.into_iter().for_each(|(part, lanes)| items[part].lanes = Some(lanes));
        let mut works: Vec<Work> = items.into_iter().map(Work::Item).collect();
        // The last one, for whoever is done first.
        works.push(Work::Told(told));
        team.each(&mut works, &|work| match work {
            Work::Told(told) => told(),
            Work::Item(item) => item.go(table, cus),
        });
        let due = |work: &Work| if let Work::Item(item) = work { item.due } else { None };
        works.iter().filter_map(due).min()
    }

    /// All parts, in order.
    fn items<'b>(self, sim: &'b mut Sim) -> Vec<Item<'b>>
    where
        Self: 'b,
    {
        let items = sim.parts().map(|part| Item { part, units: None, lanes: None, due: None });
        let mut items: Vec<Item> = items.collect();
        let mut rest = self.seats;
        for (group, noted) in self.groups.iter_mut().zip(self.noted) {
            let (seats, behind) = std::mem::take(&mut rest).split_at_mut(group.seats.len());
            rest = behind;
            let part = group.part;
            items[part].units = Some(Units { group, seats, noted });
        }
        items
    }
}

impl Units<'_> {
    fn go(&mut self, part: &mut Part, table: &PageTable, cus: usize) {
        let Units { group: Group { seats: numbers, left, .. }, seats, noted } = self;
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
                if let Err(problem) = seat.tick(part, &mut beside, &translate, *noted) {
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

/// Places the page of a byte that a compute unit has touched, if nobody has before it, and tells the compute
/// unit.
pub(super) fn place(table: &mut PageTable, seat: &mut Seat, addr: u64, node: u32, line: u64) {
    let at = table.find(addr).unwrap_or_else(|| table.touch(addr, node));
    seat.cu.placed((UNPLACED | addr) / line, at / line);
}

//! Order of steps, and which registers must be read before anything is stored.

use super::hoist::Hoisted;
use super::regions::{Region, Step, Task};
use std::collections::BTreeSet;
use weft_rtl::netlist::*;

/// A set of register numbers.
#[derive(Clone, PartialEq, Debug)]
pub struct RegSet(Vec<u64>);

impl RegSet {
    fn new(regs: usize) -> RegSet {
        RegSet(vec![0; regs.div_ceil(64)])
    }
    fn add(&mut self, reg: u32) {
        self.0[(reg / 64) as usize] |= 1 << (reg % 64);
    }
    fn join(&mut self, other: &RegSet) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }
    fn has(&self, reg: u32) -> bool {
        self.0[(reg / 64) as usize] >> (reg % 64) & 1 == 1
    }
    fn meets(&self, other: &RegSet) -> u32 {
        self.0.iter().zip(&other.0).map(|(a, b)| (a & b).count_ones()).sum()
    }
}

/// What every expression reads, through all its operands.
pub struct Reads {
    regs: Vec<RegSet>,
    mems: Vec<u64>,
    count: usize,
}

impl Reads {
    /// Analyses a netlist. Memories past the 64th share a mark. A hoisted expression has read everything before anything is stored.
    pub fn new(netlist: &Netlist, hoisted: &Hoisted) -> Reads {
        let count = netlist.regs.len();
        let mut regs: Vec<RegSet> = Vec::with_capacity(netlist.nodes.len());
        let mut mems: Vec<u64> = Vec::with_capacity(netlist.nodes.len());
        for (number, node) in netlist.nodes.iter().enumerate() {
            let mut set = RegSet::new(count);
            let mut seen = 0;
            if hoisted.slots.contains_key(&NetId(number as u32)) {
                regs.push(set);
                mems.push(seen);
                continue;
            }
            node.op.operands(&mut |o| {
                set.join(&regs[o.index()]);
                seen |= mems[o.index()];
            });
            match node.op {
                NetOp::Reg(r) => set.add(r),
                NetOp::MemRead { mem, .. } => seen |= mem_mark(mem),
                _ => {}
            }
            regs.push(set);
            mems.push(seen);
        }
        Reads { regs, mems, count }
    }

    /// Memories that an expression reads, as marks.
    pub fn mems(&self, id: NetId) -> u64 {
        self.mems[id.index()]
    }

    fn of_task(&self, task: &Task) -> RegSet {
        let mut out = RegSet::new(self.count);
        for id in operands(task) {
            out.join(&self.regs[id.index()]);
        }
        out
    }
}

/// The mark of a memory in [`Reads::mems`].
pub fn mem_mark(mem: u32) -> u64 {
    1 << mem.min(63)
}

/// Expressions that a task evaluates.
pub fn operands(task: &Task) -> Vec<NetId> {
    match task {
        Task::Reg { value, .. } => vec![*value],
        Task::Write { en, addr, first, data, .. } => {
            en.iter().copied().chain([*addr, *first, *data]).collect()
        }
        Task::Probe { cond, amount, .. } => cond.iter().copied().chain(*amount).collect(),
    }
}

/// Registers read and stored somewhere inside a step.
fn step_sets(list: &[Region], step: &Step, reads: &Reads) -> (RegSet, RegSet) {
    let mut read = RegSet::new(reads.count);
    let mut stored = RegSet::new(reads.count);
    match step {
        Step::Do(task) => {
            read = reads.of_task(task);
            if let Task::Reg { reg, .. } = task {
                stored.add(*reg);
            }
        }
        Step::Branch { sel, arms, default } => {
            read.join(&reads.regs[sel.index()]);
            for region in arms.iter().map(|(_, r)| r).chain([default]) {
                for inner in &list[*region].steps {
                    let (r, s) = step_sets(list, inner, reads);
                    read.join(&r);
                    stored.join(&s);
                }
            }
        }
    }
    (read, stored)
}

/// Sorts the steps of every region so that, where possible, a register is read before it is stored.
pub fn sort(list: &mut [Region], reads: &Reads) {
    for region in 0..list.len() {
        let sets: Vec<(RegSet, RegSet)> =
            list[region].steps.iter().map(|s| step_sets(list, s, reads)).collect();
        let mut open: Vec<usize> = (0..sets.len()).collect();
        let mut order = Vec::with_capacity(open.len());
        // Registers that open steps would read after this one has stored them.
        let spoils = |i: usize, j: usize| if i == j { 0 } else { sets[i].1.meets(&sets[j].0) };
        let mut cost: Vec<u32> =
            (0..sets.len()).map(|i| (0..sets.len()).map(|j| spoils(i, j)).sum()).collect();
        while let Some(at) = (0..open.len()).min_by_key(|at| (cost[open[*at]], *at)) {
            let best = open.remove(at);
            open.iter().for_each(|i| cost[*i] -= spoils(*i, best));
            order.push(best);
        }
        let mut steps: Vec<Option<Step>> =
            std::mem::take(&mut list[region].steps).into_iter().map(Some).collect();
        list[region].steps = order.iter().map(|i| steps[*i].take().expect("each once")).collect();
        // Children know their step by number.
        let moved: Vec<(usize, usize)> = list[region]
            .steps
            .iter()
            .enumerate()
            .flat_map(|(at, step)| match step {
                Step::Branch { arms, default, .. } => {
                    arms.iter().map(|(_, r)| (*r, at)).chain([(*default, at)]).collect::<Vec<_>>()
                }
                Step::Do(_) => Vec::new(),
            })
            .collect();
        for (child, at) in moved {
            list[child].parent = Some((region, at));
        }
    }
}

/// A place in the order: region and step, with what is read and stored there.
struct Event {
    region: usize,
    step: usize,
    read: RegSet,
    stored: Option<u32>,
}

fn walk(list: &[Region], region: usize, reads: &Reads, out: &mut Vec<Event>) {
    for (at, step) in list[region].steps.iter().enumerate() {
        match step {
            Step::Do(task) => {
                let stored = if let Task::Reg { reg, .. } = task { Some(*reg) } else { None };
                out.push(Event { region, step: at, read: reads.of_task(task), stored });
            }
            Step::Branch { sel, arms, default } => {
                out.push(Event { region, step: at, read: reads.regs[sel.index()].clone(), stored: None });
                arms.iter().map(|(_, r)| r).chain([default]).for_each(|r| walk(list, *r, reads, out));
            }
        }
    }
}

/// Whether two places lie in different arms of one branch.
fn exclusive(list: &[Region], a: &Event, b: &Event) -> bool {
    let (mut x, mut y) = ((a.region, a.step), (b.region, b.step));
    while x.0 != y.0 {
        let deeper_x = list[x.0].depth >= list[y.0].depth;
        let moving = if deeper_x { &mut x } else { &mut y };
        match list[moving.0].parent {
            Some(up) => *moving = up,
            None => return false,
        }
    }
    x.1 == y.1 && (a.region, a.step) != (b.region, b.step)
}

/// Registers that are stored at some place and read at a later one of the same cycle: they must be read at the start. `roots` are visited in order.
pub fn hazards(list: &[Region], roots: &[usize], reads: &Reads) -> BTreeSet<u32> {
    let mut events = Vec::new();
    roots.iter().for_each(|r| walk(list, *r, reads, &mut events));
    let mut out = BTreeSet::new();
    for (i, store) in events.iter().enumerate() {
        let Some(reg) = store.stored.filter(|r| !out.contains(r)) else { continue };
        if events[i + 1..].iter().any(|e| e.read.has(reg) && !exclusive(list, store, e)) {
            out.insert(reg);
        }
    }
    out
}

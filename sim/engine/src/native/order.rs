//! What expressions read, the order of steps, and which registers must be read before anything is stored.

use super::hoist::Hoisted;
use super::sets::BitSet;
use super::task::{Region, Step, Task};
use std::collections::BTreeSet;
use weft_rtl::netlist::*;

/// What every expression reads, through all its operands but hoisted ones: these are read as such.
///
/// Registers, inputs, memories and hoisted expressions are numbered one after the other, as *sources*.
pub struct Reads {
    sets: Vec<BitSet>,
    inputs: usize,
    mems: usize,
    slots: usize,
    /// Number of sources.
    pub count: usize,
}

impl Reads {
    /// Analyses a netlist.
    pub fn new(netlist: &Netlist, hoisted: &Hoisted) -> Reads {
        let inputs = netlist.regs.len();
        let mems = inputs + netlist.inputs.len();
        let slots = mems + netlist.mems.len();
        let count = slots + hoisted.numbers.len();
        let mut reads = Reads { sets: Vec::with_capacity(netlist.nodes.len()), inputs, mems, slots, count };
        for (number, node) in netlist.nodes.iter().enumerate() {
            let set = match hoisted.numbers.get(&NetId(number as u32)) {
                Some(slot) => {
                    let mut set = BitSet::new(count);
                    set.add(slots + slot);
                    set
                }
                None => reads.inside(&node.op),
            };
            reads.sets.push(set);
        }
        reads
    }

    /// What an operation reads, even if its value is hoisted.
    pub fn inside(&self, op: &NetOp) -> BitSet {
        let mut set = BitSet::new(self.count);
        op.operands(&mut |o| set.join(&self.sets[o.index()]));
        match op {
            NetOp::Reg(reg) => set.add(*reg as usize),
            NetOp::Input(input) => set.add(self.input(*input)),
            NetOp::MemRead { mem, .. } => set.add(self.mem(*mem)),
            _ => {}
        }
        set
    }

    /// What an expression reads.
    pub fn of(&self, id: NetId) -> &BitSet {
        &self.sets[id.index()]
    }

    /// The source that a register is.
    pub fn reg(&self, reg: u32) -> usize {
        reg as usize
    }

    /// The source that an input is.
    pub fn input(&self, input: u32) -> usize {
        self.inputs + input as usize
    }

    /// The source that a memory is.
    pub fn mem(&self, mem: u32) -> usize {
        self.mems + mem as usize
    }

    /// The source that a hoisted expression is, by its number.
    pub fn slot(&self, slot: usize) -> usize {
        self.slots + slot
    }

    fn of_task(&self, task: &Task) -> BitSet {
        let mut out = BitSet::new(self.count);
        task.operands().into_iter().for_each(|id| out.join(self.of(id)));
        out
    }

    /// What a step reads, and the registers (as sources) that it stores.
    pub fn of_step(&self, list: &[Region], step: &Step) -> (BitSet, BitSet) {
        let (mut read, mut stored) = (BitSet::new(self.count), BitSet::new(self.count));
        match step {
            Step::Do(task) => {
                read = self.of_task(task);
                if let Task::Reg { reg, .. } = task {
                    stored.add(self.reg(*reg));
                }
            }
            Step::Branch { sel, arms, default } => {
                read.join(self.of(*sel));
                for region in arms.iter().map(|(_, r)| r).chain([default]) {
                    for inner in &list[*region].steps {
                        let (r, s) = self.of_step(list, inner);
                        read.join(&r);
                        stored.join(&s);
                    }
                }
            }
        }
        (read, stored)
    }
}

/// Sorts the steps of every region so that, where possible, a register is read before it is stored.
pub fn sort(list: &mut [Region], reads: &Reads) {
    for region in 0..list.len() {
        let sets: Vec<(BitSet, BitSet)> = list[region].steps.iter().map(|s| reads.of_step(list, s)).collect();
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
    read: BitSet,
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
                out.push(Event { region, step: at, read: reads.of(*sel).clone(), stored: None });
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

/// Registers that are stored at some place and read at a later one of the same cycle: they must be read at
/// the start. `roots` are visited in order.
pub fn hazards(list: &[Region], roots: &[usize], reads: &Reads) -> BTreeSet<u32> {
    let mut events = Vec::new();
    roots.iter().for_each(|r| walk(list, *r, reads, &mut events));
    // Of each register the places that read it, in order.
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); reads.inputs];
    for (at, event) in events.iter().enumerate() {
        event
            .read
            .numbers()
            .take_while(|source| *source < reads.inputs)
            .for_each(|reg| readers[reg].push(at));
    }
    let mut out = BTreeSet::new();
    for (i, store) in events.iter().enumerate() {
        let Some(reg) = store.stored.filter(|r| !out.contains(r)) else { continue };
        let of = &readers[reads.reg(reg)];
        let later = &of[of.partition_point(|at| *at <= i)..];
        if later.iter().any(|at| !exclusive(list, store, &events[*at])) {
            out.insert(reg);
        }
    }
    out
}

//! Which parts of a cycle can be left out: those that would find everything they read as they found it
//! before.
//!
//! A unit's cycle is cut into pieces, run in order: hoisted expressions, observers, registers, memory ports,
//! and what moves buffered registers to their places. Each piece has one bit. Whoever changes something sets
//! the bits of the pieces that read it - a hoisted expression and a buffered register in the same cycle, a
//! register and a memory for the next - and a piece without its bit is jumped over: it would store what it
//! has stored. What counts or writes a memory does so again even if all that it reads stands still, and sets
//! its own bit.
//!
//! A small unit does without: there the bits cost more than what they leave out, so its pieces always run.
//!
//! Inputs are changed from outside. They are gathered in at most 64 classes, each with a bit of its own; a
//! piece that reads some runs when one of their bits is set as well.

use super::cost::{Cause, channels, expected};
use super::hoist::{Hoisted, Test};
use super::order::Reads;
use super::sets::BitSet;
use super::task::{Region, Step, Task};
use std::collections::{BTreeSet, HashMap};
use weft_rtl::bv::limbs_for;
use weft_rtl::netlist::*;

/// Work of a unit, in limb operations, below which all of its pieces always run.
const SMALL: usize = 800;

/// What a piece does.
#[derive(Clone, PartialEq, Debug)]
pub enum Work {
    /// Computes a group of hoisted expressions.
    Group(usize),
    /// Carries out steps of this root region.
    Steps {
        /// Region.
        root: usize,
        /// Steps there, in order.
        steps: Vec<usize>,
    },
    /// Moves buffered registers to their places.
    Settle(Vec<u32>),
}

/// A part of a cycle.
pub struct Piece {
    /// Its number, which is that of its bit.
    pub number: usize,
    /// What it does.
    pub work: Work,
    /// Classes of inputs that it reads.
    pub heard: u64,
}

/// All pieces of a unit, and whom a change concerns.
pub struct Pieces {
    /// In the order in which they run.
    pub list: Vec<Piece>,
    /// Words of 64 bits for one bit per piece; none for a small unit, whose pieces have no readers either.
    pub words: usize,
    /// Class of each input, as a mask.
    pub inputs: Vec<u64>,
    /// Pieces that read each register, each memory and each hoisted expression (by its number).
    pub regs: Vec<BitSet>,
    /// As above.
    pub mems: Vec<BitSet>,
    /// As above.
    pub slots: Vec<BitSet>,
    /// The piece that settles each buffered register.
    settles: HashMap<u32, usize>,
    /// Pieces that may set their own bit.
    pub repeat: BitSet,
}

impl Pieces {
    /// Cuts a plan into pieces.
    pub fn new(
        netlist: &Netlist,
        hoisted: &Hoisted,
        list: &[Region],
        roots: &[usize],
        buffered: &[u32],
        reads: &Reads,
    ) -> Pieces {
        let mut work: Vec<(Work, BitSet)> = Vec::new();
        for (number, group) in hoisted.groups.iter().enumerate() {
            let mut set = BitSet::new(reads.count);
            group.nodes.iter().for_each(|node| set.join(&reads.inside(&netlist.node(*node).op)));
            for test in group.when.iter().flatten() {
                let (Test::Bit(node, _) | Test::Is(node, _)) = test;
                set.join(reads.of(*node));
            }
            work.push((Work::Group(number), set));
        }
        let mut settle: Vec<Vec<u32>> = Vec::new();
        let mut again = Vec::new();
        let costs = Costs::new(netlist, hoisted, reads);
        for root in roots {
            for bundle in costs.bundles(list, *root) {
                let (mut all, mut moved) = (BitSet::new(reads.count), Vec::new());
                for step in &bundle {
                    let what = &list[*root].steps[*step];
                    let (set, stored) = reads.of_step(list, what);
                    all.join(&set);
                    if repeats(list, what) && again.last() != Some(&work.len()) {
                        again.push(work.len());
                    }
                    moved.extend(stored.numbers().map(|reg| reg as u32).filter(|reg| buffered.contains(reg)));
                }
                work.push((Work::Steps { root: *root, steps: bundle }, all));
                settle.push(moved);
            }
        }
        for regs in settle.into_iter().filter(|regs| !regs.is_empty()) {
            work.push((Work::Settle(regs), BitSet::new(reads.count)));
        }
        Pieces::of(netlist, reads, work, &again)
    }

    fn of(netlist: &Netlist, reads: &Reads, work: Vec<(Work, BitSet)>, again: &[usize]) -> Pieces {
        let gated = worth(netlist);
        let bits = if gated { work.len() } else { 0 };
        let mut readers = vec![BitSet::new(bits); reads.count];
        let mut repeat = BitSet::new(work.len());
        again.iter().for_each(|piece| repeat.add(*piece));
        let mut settles = HashMap::new();
        for (piece, (what, set)) in work.iter().enumerate() {
            if gated {
                set.numbers().for_each(|source| readers[source].add(piece));
            }
            if let Work::Settle(regs) = what {
                settles.extend(regs.iter().map(|reg| (*reg, piece)));
            }
        }
        // Inputs with the same readers are one class; with more than 64, some share.
        let mut classes: HashMap<&[u64], usize> = HashMap::new();
        let mut inputs = Vec::with_capacity(netlist.inputs.len());
        for input in 0..netlist.inputs.len() as u32 {
            let next = classes.len();
            let class = *classes.entry(readers[reads.input(input)].words()).or_insert(next);
            inputs.push(1 << (class % 64));
        }
        let words = bits.div_ceil(64);
        let heard = |set: &BitSet| {
            let own = (0..inputs.len()).filter(|input| set.has(reads.input(*input as u32)));
            own.fold(0, |mask, input| mask | inputs[input])
        };
        let piece = |(number, (work, set)): (usize, &(Work, BitSet))| Piece {
            number,
            work: work.clone(),
            heard: heard(set),
        };
        let list = work.iter().enumerate().map(piece).collect();
        let slots = readers.split_off(reads.slot(0));
        let mems = readers.split_off(reads.mem(0));
        readers.truncate(netlist.regs.len());
        Pieces { list, words, inputs, regs: readers, mems, slots, settles, repeat }
    }

    /// Whether pieces have bits.
    pub fn gated(&self) -> bool {
        self.words > 0
    }

    /// The piece that settles a register, if it is buffered.
    pub fn settles(&self, reg: u32) -> Option<usize> {
        self.settles.get(&reg).copied()
    }
}

/// What steps cost.
struct Costs<'n> {
    hoisted: &'n Hoisted,
    reads: &'n Reads,
    /// What makes each source change.
    causes: Vec<Cause>,
}

impl<'n> Costs<'n> {
    fn new(netlist: &Netlist, hoisted: &'n Hoisted, reads: &'n Reads) -> Costs<'n> {
        let regs = (0..netlist.regs.len() as u32).map(|reg| Cause::of_reg(netlist, reg));
        let inputs = channels(netlist).into_iter().map(Cause::Input);
        let mems = (0..netlist.mems.len() as u32).map(Cause::Mem);
        let slots = (0..hoisted.numbers.len() as u32).map(Cause::Hoisted);
        Costs { hoisted, reads, causes: regs.chain(inputs).chain(mems).chain(slots).collect() }
    }

    /// The steps of a root region, in order, those together that change for the same reasons.
    fn bundles(&self, list: &[Region], root: usize) -> Vec<Vec<usize>> {
        let mut bundles: Vec<Vec<usize>> = Vec::new();
        let mut open: (u32, BTreeSet<Cause>) = Default::default();
        for (number, step) in list[root].steps.iter().enumerate() {
            let sources = self.reads.of_step(list, step).0;
            let causes: BTreeSet<Cause> = sources.numbers().map(|source| self.causes[source]).collect();
            let work = self.work(list, step);
            let both = open.1.union(&causes).count();
            let apart = expected(open.0, open.1.len()) + expected(work, causes.len());
            match bundles.last_mut() {
                Some(last) if apart >= expected(open.0 + work, both) => {
                    last.push(number);
                    open.0 += work;
                    open.1.extend(causes);
                }
                _ => {
                    bundles.push(vec![number]);
                    open = (work, causes);
                }
            }
        }
        bundles
    }

    /// Work of a step; of the arms of a branch the mean.
    fn work(&self, list: &[Region], step: &Step) -> u32 {
        let of = |node: &NetId| self.hoisted.work[node.index()];
        match step {
            Step::Do(task) => task.operands().iter().map(of).fold(1, u32::saturating_add),
            Step::Branch { sel, arms, default } => {
                let regions = arms.iter().map(|(_, region)| region).chain([default]);
                let steps = regions.flat_map(|region| &list[*region].steps);
                let all: u64 = steps.map(|step| u64::from(self.work(list, step))).sum();
                of(sel).saturating_add((all / (arms.len() as u64 + 1)) as u32)
            }
        }
    }
}

/// Whether a unit is large enough for pieces with bits.
pub fn worth(netlist: &Netlist) -> bool {
    let leaf = |op: &NetOp| matches!(op, NetOp::Const(_) | NetOp::Reg(_) | NetOp::Input(_));
    let work = netlist.nodes.iter().filter(|node| !leaf(&node.op)).map(|node| limbs_for(node.width));
    work.sum::<usize>() >= SMALL
}

/// Whether a step does something even when all it reads stands still: it counts, or it writes a memory.
fn repeats(list: &[Region], step: &Step) -> bool {
    match step {
        Step::Do(Task::Probe { .. } | Task::Write { .. }) => true,
        Step::Do(Task::Reg { .. }) => false,
        Step::Branch { arms, default, .. } => {
            let mut regions = arms.iter().map(|(_, region)| region).chain([default]);
            regions.any(|region| list[*region].steps.iter().any(|step| repeats(list, step)))
        }
    }
}

//! What the regions of a root do: registers stored, observers counted, memories written; and who is told of
//! it.

use super::Plan;
use super::emit::Emit;
use super::pieces::Pieces;
use super::task::{Step, Task};
use crate::flags::{FAILED, WRITTEN};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types::I8, types::I64};
use weft_rtl::bv::{Bv, limbs_for};
use weft_rtl::netlist::*;

/// Bits to be set: flags of outputs, and marks of pieces for this cycle and for the next.
#[derive(Clone, PartialEq, Default)]
struct Bits {
    flags: u64,
    now: Vec<u64>,
    next: Vec<u64>,
}

impl Bits {
    fn is_empty(&self) -> bool {
        self.flags == 0 && self.now.iter().chain(&self.next).all(|word| *word == 0)
    }

    fn join(&mut self, other: &Bits) {
        fn words(to: &mut Vec<u64>, from: &[u64]) {
            to.resize(to.len().max(from.len()), 0);
            to.iter_mut().zip(from).for_each(|(a, b)| *a |= b);
        }
        self.flags |= other.flags;
        words(&mut self.now, &other.now);
        words(&mut self.next, &other.next);
    }
}

/// What a stretch of code has changed.
#[derive(Default)]
pub struct Changes {
    /// Told in any case.
    always: Bits,
    /// Told if the value is not zero; those with the same bits together.
    perhaps: Vec<(Bits, Value)>,
}

impl Changes {
    fn add(&mut self, e: &mut Emit, bits: Bits, differ: Option<Value>) {
        if bits.is_empty() {
            return;
        }
        let Some(differ) = differ else { return self.always.join(&bits) };
        match self.perhaps.iter_mut().find(|(own, _)| *own == bits) {
            Some((_, all)) => *all = e.b.ins().bor(*all, differ),
            None => self.perhaps.push((bits, differ)),
        }
    }

    /// A hoisted expression (by its number) has changed if `differ` is not zero.
    pub fn slot(&mut self, e: &mut Emit, pieces: &Pieces, slot: usize, differ: Value) {
        let bits = Bits { now: pieces.slots[slot].words().to_vec(), ..Bits::default() };
        self.add(e, bits, Some(differ));
    }

    /// Emits the telling.
    pub fn tell(self, e: &mut Emit) {
        let zero = e.iconst(0);
        let mut masks = Vec::new();
        for (bits, differ) in self.perhaps {
            let any = e.b.ins().icmp(IntCC::NotEqual, differ, zero);
            let any = e.b.ins().uextend(I64, any);
            masks.push((bits, e.b.ins().isub(zero, any)));
        }
        let (flags, marks) = (e.layout.flags, e.layout.marks.clone());
        type Part = fn(&Bits, usize) -> u64;
        let word: [(usize, usize, Part); 3] = [
            (flags, 1, |bits, _| bits.flags),
            (marks.now, marks.words, |bits, at| bits.now.get(at).copied().unwrap_or(0)),
            (marks.next, marks.words, |bits, at| bits.next.get(at).copied().unwrap_or(0)),
        ];
        for (base, words, part) in word {
            for at in 0..words {
                let always = part(&self.always, at);
                let mut all = (always != 0).then(|| e.iconst(always));
                for (bits, mask) in masks.iter().filter(|(bits, _)| part(bits, at) != 0) {
                    let some = e.iconst(part(bits, at));
                    let some = e.b.ins().band(some, *mask);
                    all = Some(all.map_or(some, |all| e.b.ins().bor(all, some)));
                }
                all.into_iter().for_each(|bits| e.set_bits(bits, base + at));
            }
        }
    }
}

/// Where in the plan code stands.
#[derive(Clone, Copy)]
struct Place<'p> {
    plan: &'p Plan,
    /// The piece.
    piece: usize,
    /// Nothing decides whether this is reached.
    open: bool,
}

/// Emits steps of a root region.
pub fn steps(e: &mut Emit, plan: &Plan, piece: usize, root: usize, which: &[usize]) {
    let mut changes = Changes::default();
    let place = Place { plan, piece, open: true };
    which.iter().for_each(|at| one(e, place, &plan.regions[root].steps[*at], &mut changes));
    changes.tell(e);
}

fn region(e: &mut Emit, place: Place, number: usize) {
    let mut changes = Changes::default();
    for step in &place.plan.regions[number].steps {
        one(e, place, step, &mut changes);
    }
    changes.tell(e);
}

fn one(e: &mut Emit, place: Place, step: &Step, changes: &mut Changes) {
    let (sel, arms, default) = match step {
        Step::Do(task) => return carry_out(e, place, task, changes),
        Step::Branch { sel, arms, default } => (*sel, arms, *default),
    };
    let list = &place.plan.regions;
    if arms.iter().all(|(_, r)| list[*r].steps.is_empty()) && list[default].steps.is_empty() {
        return;
    }
    let inner = Place { open: false, ..place };
    let after = e.b.create_block();
    let blocks: Vec<_> = arms.iter().map(|(codes, _)| (codes.clone(), e.b.create_block())).collect();
    let other = e.b.create_block();
    let width = e.netlist.node(sel).width;
    let bit = width == 1 && arms.len() == 1;
    if bit {
        let cond = e.bit(sel);
        e.b.ins().brif(cond, blocks[0].1, &[], other, &[]);
    } else {
        e.dispatch(sel, &blocks, other);
    }
    for ((codes, block), (_, arm)) in blocks.into_iter().zip(arms) {
        e.b.switch_to_block(block);
        e.open((codes.len() == 1).then(|| (sel, codes[0].clone())));
        region(e, inner, *arm);
        e.close();
        e.b.ins().jump(after, &[]);
    }
    e.b.switch_to_block(other);
    e.open(bit.then(|| (sel, Bv::zero(1))));
    region(e, inner, default);
    e.close();
    e.b.ins().jump(after, &[]);
    e.b.switch_to_block(after);
}

/// Emits `inside` under a condition.
pub fn guarded(e: &mut Emit, cond: Option<Value>, inside: impl FnOnce(&mut Emit)) {
    match cond {
        Some(cond) => drop(branched(e, cond, inside)),
        None => inside(e),
    }
}

/// Emits `inside` behind a test; tells the blocks where it begins and where it ends.
pub fn branched(e: &mut Emit, cond: Value, inside: impl FnOnce(&mut Emit)) -> (Block, Block) {
    let (yes, after) = (e.b.create_block(), e.b.create_block());
    e.b.ins().brif(cond, yes, &[], after, &[]);
    e.b.switch_to_block(yes);
    e.open(None);
    inside(e);
    e.close();
    e.b.ins().jump(after, &[]);
    e.b.switch_to_block(after);
    (yes, after)
}

fn carry_out(e: &mut Emit, place: Place, task: &Task, changes: &mut Changes) {
    match task {
        Task::Reg { reg, value } => store_reg(e, place, *reg, *value, changes),
        Task::Probe { probe, cond, amount, negated } => {
            let cond = cond.map(|c| {
                let v = e.bit(c);
                if *negated {
                    let one = e.b.ins().iconst(I8, 1);
                    e.b.ins().bxor(v, one)
                } else {
                    v
                }
            });
            let at = e.layout.probes + *probe as usize;
            guarded(e, cond, |e| {
                let add = match amount {
                    Some(a) => e.limb(*a, 0),
                    None => e.iconst(1),
                };
                let old = e.load(e.state, at);
                let sum = e.b.ins().iadd(old, add);
                e.store(sum, e.state, at);
                if *negated {
                    let failed = e.iconst(FAILED);
                    e.set_bits(failed, e.layout.flags);
                }
                again(e, place.piece);
            });
        }
        Task::Write { mem, port, en, addr, first, data } => {
            let cond = en.map(|c| e.bit(c));
            guarded(e, cond, |e| {
                let (base, inside) = e.row(*mem, *addr);
                guarded(e, inside, |e| {
                    write(e, *mem, *port, base, *first, *data);
                    written(e, place, *mem);
                });
            });
        }
    }
}

/// The piece runs in the next cycle, too.
fn again(e: &mut Emit, piece: usize) {
    if e.layout.marks.words == 0 {
        return;
    }
    let bit = e.iconst(1 << (piece % 64));
    e.set_bits(bit, e.layout.marks.again + piece / 64);
}

/// Stores a register and notes who is to be told. A value of many limbs that is stored under a condition
/// counts as changed, unless its own piece reads it and would so run for ever.
fn store_reg(e: &mut Emit, place: Place, reg: u32, value: NetId, changes: &mut Changes) {
    // All limbs first: the value may read the register it goes to.
    let limbs = e.all(value);
    let at = e.layout.regs[reg as usize];
    let pieces = &place.plan.pieces;
    let readers = pieces.regs[reg as usize].words();
    let mut bits = Bits { next: readers.to_vec(), ..Bits::default() };
    let flag = e.flags[reg as usize];
    if flag != 0 {
        bits.flags = 1 << flag;
    }
    let mut to = at;
    if let Some(piece) = pieces.settles(reg) {
        to += e.layout.copy;
        bits.now = vec![0; pieces.words];
        bits.now.get_mut(piece / 64).into_iter().for_each(|word| *word |= 1 << (piece % 64));
    }
    let own = readers.get(place.piece / 64).is_some_and(|word| word >> (place.piece % 64) & 1 == 1);
    let exact = match pieces.gated() {
        true => place.open || own || limbs.len() == 1,
        false => place.open && limbs.len() == 1,
    };
    if !bits.is_empty() && exact {
        let differ = e.replace(&limbs, at, to);
        return changes.add(e, bits, Some(differ));
    }
    limbs.into_iter().enumerate().for_each(|(i, v)| e.store(v, e.state, to + i));
    changes.add(e, bits, None);
}

/// Tells who reads a memory that it was written.
fn written(e: &mut Emit, place: Place, mem: u32) {
    let mut changes = Changes::default();
    let next = place.plan.pieces.mems[mem as usize].words().to_vec();
    changes.add(e, Bits { flags: WRITTEN, next, ..Bits::default() }, None);
    changes.tell(e);
    again(e, place.piece);
}

fn write(e: &mut Emit, mem: u32, port: u32, base: Value, first: NetId, data: NetId) {
    let netlist = e.netlist;
    let info = &netlist.mems[mem as usize];
    let per = e.layout.lane_limbs[mem as usize];
    if let NetWriteMode::Lane { .. } = info.writes[port as usize].mode {
        let limbs = e.all(data);
        let number = e.limb(first, 0);
        let width = netlist.node(first).width;
        let legal = (width >= 64 || 1u64 << width > u64::from(info.lanes)).then(|| {
            let bound = e.iconst(u64::from(info.lanes));
            e.b.ins().icmp(IntCC::UnsignedLessThan, number, bound)
        });
        guarded(e, legal, |e| {
            let stride = e.iconst(8 * per as u64);
            let offset = e.b.ins().imul(number, stride);
            let at = e.b.ins().iadd(base, offset);
            limbs.into_iter().enumerate().for_each(|(i, v)| e.store(v, at, i));
        });
        return;
    }
    // All data first: it may read the row it goes to.
    let w = info.lane_width;
    let lanes: Vec<Vec<Value>> = (0..info.lanes)
        .map(|lane| {
            (0..limbs_for(w) as u32)
                .map(|k| e.extract(data, lane * w + 64 * k, (w - 64 * k).min(64)))
                .collect()
        })
        .collect();
    let full = matches!(&netlist.node(first).op, NetOp::Const(v) if *v == Bv::ones(v.width()));
    let masks: Vec<Option<Value>> =
        (0..info.lanes).map(|lane| (!full).then(|| e.extract(first, lane, 1))).collect();
    for (lane, (limbs, mask)) in lanes.into_iter().zip(masks).enumerate() {
        guarded(e, mask, |e| {
            limbs.into_iter().enumerate().for_each(|(i, v)| e.store(v, base, lane * per + i));
        });
    }
}

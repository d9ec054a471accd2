//! The clock function: one gate for each piece, and behind it what the piece does.

use super::Plan;
use super::emit::Emit;
use super::hoist::{Group, Test};
use super::pieces::{Piece, Work};
use super::tasks::{Changes, branched, guarded, steps};
use crate::layout::Layout;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types::I8, types::I64};
use cranelift_frontend::FunctionBuilder;
use weft_rtl::netlist::*;

/// Pieces behind one common test: those with bits in one byte.
const CHUNK: usize = 8;

/// Emits the clock function.
pub fn body(netlist: &Netlist, plan: &Plan, layout: &Layout, flags: &[u32], b: &mut FunctionBuilder) {
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    let state = b.block_params(entry)[0];
    let mut e = Emit::new(netlist, layout, flags, &plan.settled, b, state);
    if plan.pieces.gated() {
        begin(&mut e, plan);
        gated(&mut e, plan);
    } else {
        let zero = e.iconst(0);
        e.store(zero, state, layout.flags);
        for piece in &plan.pieces.list {
            run(&mut e, plan, piece);
            keep(&mut e, plan, piece);
        }
    }
    let result = e.load(state, layout.flags);
    e.b.ins().return_(&[result]);
}

/// Emits the pieces, each behind the test of its bit.
fn gated(e: &mut Emit, plan: &Plan) {
    for (chunk, pieces) in plan.pieces.list.chunks(CHUNK).enumerate() {
        let heard = pieces.iter().fold(0, |all, piece| all | piece.heard);
        let byte = 8 * e.layout.marks.now + chunk;
        let any = e.load_at(I8, byte);
        gate(e, any, heard, |e| {
            for (bit, piece) in pieces.iter().enumerate() {
                let (all, bit) = (e.load_at(I8, byte), e.b.ins().iconst(I8, 1 << bit));
                let own = e.b.ins().band(all, bit);
                gate(e, own, piece.heard, |e| run(e, plan, piece));
                keep(e, plan, piece);
            }
        });
    }
}

/// From here on the values of a piece's hoisted expressions are read from where they wait.
fn keep(e: &mut Emit, plan: &Plan, piece: &Piece) {
    if let Work::Group(group) = &piece.work {
        let (nodes, scratch) = (&plan.hoisted.groups[*group].nodes, e.layout.scratch);
        e.wait(nodes.iter().map(|n| (*n, scratch + plan.hoisted.slots[n])));
    }
}

/// What was marked for the next cycle becomes what is marked now. Without any mark the cycle is over.
fn begin(e: &mut Emit, plan: &Plan) {
    let (state, marks) = (e.state, e.layout.marks.clone());
    let zero = e.iconst(0);
    let heard = e.load(state, marks.heard);
    let mut all = heard;
    let mut words = Vec::new();
    for word in 0..plan.pieces.words {
        let mut now = e.load(state, marks.next + word);
        if plan.pieces.repeat.words()[word] != 0 {
            let again = e.load(state, marks.again + word);
            now = e.b.ins().bor(now, again);
        }
        all = e.b.ins().bor(all, now);
        words.push(now);
    }
    let (rest, work) = (e.b.create_block(), e.b.create_block());
    e.b.ins().brif(all, work, &[], rest, &[]);
    e.b.switch_to_block(rest);
    e.b.ins().return_(&[zero]);
    e.b.switch_to_block(work);
    e.store(zero, state, e.layout.flags);
    e.store(heard, state, marks.hearing);
    e.store(zero, state, marks.heard);
    for (word, now) in words.into_iter().enumerate() {
        e.store(now, state, marks.now + word);
        e.store(zero, state, marks.next + word);
        if plan.pieces.repeat.words()[word] != 0 {
            e.store(zero, state, marks.again + word);
        }
    }
}

/// Emits code behind a test: `own` is not zero, or inputs of one of the classes `heard` have changed. It stands out
/// of line, so that gates lie side by side.
fn gate(e: &mut Emit, own: Value, heard: u64, inside: impl FnOnce(&mut Emit)) {
    let mut marked = own;
    if heard != 0 {
        let now = e.load(e.state, e.layout.marks.hearing);
        let classes = e.iconst(heard);
        let now = e.b.ins().band(now, classes);
        let wide = e.b.ins().uextend(I64, own);
        marked = e.b.ins().bor(now, wide);
    }
    let (yes, after) = branched(e, marked, inside);
    let made = yes.as_u32()..e.b.func.dfg.num_blocks() as u32;
    made.map(Block::from_u32).filter(|block| *block != after).for_each(|block| e.b.set_cold_block(block));
}

/// Emits what a piece does.
fn run(e: &mut Emit, plan: &Plan, piece: &Piece) {
    match &piece.work {
        Work::Group(group) => hoist_group(e, plan, &plan.hoisted.groups[*group]),
        Work::Steps { root, steps: which } => steps(e, plan, piece.number, *root, which),
        Work::Settle(regs) => settle(e, regs),
    }
}

/// Computes the expressions of a group if one of its conjunctions holds, and marks the readers of those that
/// changed.
fn hoist_group(e: &mut Emit, plan: &Plan, group: &Group) {
    let mut needed: Option<Value> = None;
    for conjunction in &group.when {
        let mut all: Option<Value> = None;
        for test in conjunction {
            let bit = holds(e, test);
            all = Some(all.map_or(bit, |sum| e.b.ins().band(sum, bit)));
        }
        let Some(all) = all else { continue };
        needed = Some(needed.map_or(all, |sum| e.b.ins().bor(sum, all)));
    }
    guarded(e, needed, |e| {
        let mut changes = Changes::default();
        for node in &group.nodes {
            let limbs = e.all(*node);
            let to = e.layout.scratch + plan.hoisted.slots[node];
            let differ = e.replace(&limbs, to, to);
            changes.slot(e, &plan.pieces, plan.hoisted.numbers[node], differ);
        }
        changes.tell(e);
    });
}

fn holds(e: &mut Emit, test: &Test) -> Value {
    match test {
        Test::Bit(node, value) => {
            let bit = e.bit(*node);
            if *value {
                return bit;
            }
            let one = e.b.ins().iconst(I8, 1);
            e.b.ins().bxor(bit, one)
        }
        Test::Is(node, codes) => {
            let value = e.limb(*node, 0);
            let mut any = None;
            for code in codes {
                let want = e.iconst(code.low_u64());
                let same = e.b.ins().icmp(IntCC::Equal, value, want);
                any = Some(any.map_or(same, |sum| e.b.ins().bor(sum, same)));
            }
            any.expect("an arm has a code")
        }
    }
}

/// Moves buffered registers to their places.
fn settle(e: &mut Emit, regs: &[u32]) {
    for reg in regs {
        let at = e.layout.regs[*reg as usize];
        for limb in 0..weft_rtl::bv::limbs_for(e.netlist.regs[*reg as usize].width) {
            let value = e.load(e.state, e.layout.copy + at + limb);
            e.store(value, e.state, at + limb);
        }
    }
}

//! Changing a module.

use super::sites::{Place, beside, place, swappable};
use super::{Kind, Mutant, MutantError};
use crate::bv::Bv;
use crate::ir::*;
use crate::operands::change_operands;

/// The module with the change; its name stays.
///
/// # Errors
/// A module in which there is no such place.
pub fn apply(module: &Module, mutant: &Mutant) -> Result<Module, MutantError> {
    let missing = || MutantError::NoPlace { mutant: Box::new(mutant.clone()), module: module.name.clone() };
    let place = place(module, mutant).ok_or_else(missing)?;
    let mut out = module.clone();
    match place {
        Place::Stmt(number) => statement(&mut out.body, number, mutant.kind),
        Place::Node(id) => node(&mut out, id, mutant.kind),
    }
    Ok(out)
}

/// Changes the statement of this number.
pub(super) fn statement(body: &mut Vec<Stmt>, number: u32, kind: Kind) {
    let mut left = number;
    change(body, &mut left, kind);
}

/// Goes on until `left` statements have been passed; true when the change is made.
fn change(body: &mut Vec<Stmt>, left: &mut u32, kind: Kind) -> bool {
    for at in 0..body.len() {
        if *left == 0 {
            match &mut body[at] {
                Stmt::If { then, els, .. } if kind == Kind::Negated => std::mem::swap(then, els),
                _ => drop(body.remove(at)),
            }
            return true;
        }
        *left -= 1;
        let made = match &mut body[at] {
            Stmt::Assign { .. } => false,
            Stmt::If { then, els, .. } => change(then, left, kind) || change(els, left, kind),
            Stmt::Switch { arms, default, .. } => {
                arms.iter_mut().any(|(_, arm)| change(arm, left, kind)) || change(default, left, kind)
            }
        };
        if made {
            return true;
        }
    }
    false
}

/// Changes an expression: what used it uses the last of those that take its place.
pub(super) fn node(module: &mut Module, id: NodeId, kind: Kind) {
    let mut group = vec![module.node(id).clone()];
    group[0].name = None;
    let (width, loc) = (group[0].width, group[0].loc);
    let mut push = |op: Op, width: u32| {
        group.push(Node { op, width, name: None, ty: LeafType::Bits, loc });
        NodeId(id.0 + group.len() as u32 - 1)
    };
    let now = &module.node(id).op;
    match (kind, now) {
        (Kind::Stuck { bit, one }, _) => {
            let mut mask = if one { Bv::zero(width) } else { Bv::ones(width) };
            mask.set_bit(bit, one);
            let mask = push(Op::Const(mask), width);
            push(if one { Op::Or(id, mask) } else { Op::And(id, mask) }, width);
        }
        (Kind::OffByOne, Op::Add(..) | Op::Sub(..)) => {
            let one = push(Op::Const(Bv::from_u64(1, width)), width);
            push(Op::Add(id, one), width);
        }
        (Kind::OffByOne, Op::Lt(a, b)) => {
            let more = push(Op::Lt(*b, *a), 1);
            push(Op::Not(more), 1);
        }
        (Kind::OffByOne, Op::Eq(a, b)) => {
            let (value, number) = if is_const(module, *b) { (*a, *b) } else { (*b, *a) };
            let wide = module.node(number).width;
            let one = push(Op::Const(Bv::from_u64(1, wide)), wide);
            let more = push(Op::Add(number, one), wide);
            push(Op::Eq(value, more), 1);
        }
        (Kind::Negated, Op::Eq(..)) => {
            push(Op::Not(id), 1);
        }
        _ => group[0].op = changed(module, id, kind),
    }
    put(module, id, group);
}

fn is_const(module: &Module, id: NodeId) -> bool {
    matches!(module.node(id).op, Op::Const(_))
}

/// The operation that takes the place of one, where that is all.
fn changed(module: &Module, id: NodeId, kind: Kind) -> Op {
    let node = module.node(id);
    match (kind, node.op.clone()) {
        (Kind::Swapped, Op::Sub(a, b)) => Op::Sub(b, a),
        (Kind::Swapped, Op::Lt(a, b)) => Op::Lt(b, a),
        (Kind::Swapped, Op::Concat(mut parts)) => {
            if let Some(at) = swappable(module, &parts) {
                parts.swap(at, at + 1);
            }
            Op::Concat(parts)
        }
        (Kind::Negated, Op::Mux(c, a, b)) => Op::Mux(c, b, a),
        (Kind::AndOr, Op::And(a, b)) => Op::Or(a, b),
        (Kind::AndOr, Op::Or(a, b)) => Op::And(a, b),
        (Kind::WrongSlice, Op::Slice { a, lo }) => {
            Op::Slice { a, lo: beside(module.node(a).width, lo, node.width).unwrap_or(lo) }
        }
        (Kind::SkippedState, Op::Const(value)) => Op::Const(next_variant(&node.ty, &value)),
        (_, op) => unreachable!("{kind} does not fit {op:?}"),
    }
}

fn next_variant(ty: &LeafType, value: &Bv) -> Bv {
    let LeafType::Enum(ty) = ty else { return value.clone() };
    let at = ty.variants.iter().position(|(_, code)| Some(*code) == value.to_u64());
    let next = at.map_or(0, |at| (at + 1) % ty.variants.len());
    Bv::from_u64(ty.variants[next].1, value.width())
}

/// Puts expressions in the place of one; the last of them has its name, and is what others see.
fn put(module: &mut Module, id: NodeId, mut group: Vec<Node>) {
    let more = group.len() as u32 - 1;
    let old = &module.nodes[id.index()];
    if let Some(last) = group.last_mut() {
        last.name = old.name.clone();
        last.ty = old.ty.clone();
    }
    let moved = |of: &mut NodeId| {
        if *of >= id {
            of.0 += more;
        }
    };
    let tail = module.nodes.split_off(id.index() + 1);
    module.nodes.pop();
    module.nodes.extend(group);
    for mut node in tail {
        change_operands(&mut node.op, moved);
        module.nodes.push(node);
    }
    each_root(&mut module.body, moved);
    for signal in &mut module.signals {
        if let SigKind::Wire { default: Some(value) } = &mut signal.kind {
            moved(value);
        }
    }
    for probe in &mut module.probes {
        moved(&mut probe.cond);
        probe.amount.iter_mut().chain(&mut probe.about).for_each(moved);
    }
}

fn each_root(stmts: &mut [Stmt], f: impl Fn(&mut NodeId) + Copy) {
    for stmt in stmts {
        match stmt {
            Stmt::Assign { value, .. } => f(value),
            Stmt::If { cond, then, els, .. } => {
                f(cond);
                each_root(then, f);
                each_root(els, f);
            }
            Stmt::Switch { sel, arms, default, .. } => {
                f(sel);
                arms.iter_mut().for_each(|(_, body)| each_root(body, f));
                each_root(default, f);
            }
        }
    }
}

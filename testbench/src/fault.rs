//! Deliberately broken copies of blocks, to show that the checks find what they are for. [`Module::replaced`] puts one into a fabric.

use std::sync::Arc;
use weft_rtl::bv::Bv;
use weft_rtl::ir::*;

/// A copy in which a register, or an expression of that name, has one value from `after` cycles on.
///
/// # Panics
/// When the module has nothing of that name, or of another width.
pub fn stuck(module: &Module, name: &str, value: u64, after: u32) -> Arc<Module> {
    let mut broken = copy(module, &format!("{name}_stuck"));
    let cycles = add_signal(&mut broken, "cycles_before_fault", 32, register(32));
    let now = node(&mut broken, Op::Sig(cycles), 32);
    let end = constant(&mut broken, u64::from(after), 32);
    let on = node(&mut broken, Op::Eq(now, end), 1);
    let one = constant(&mut broken, 1, 32);
    let later = node(&mut broken, Op::Add(now, one), 32);
    let next = node(&mut broken, Op::Mux(on, now, later), 32);
    let assign = |target, value| Stmt::Assign { target, value, loc: Loc::caller() };
    broken.body.push(assign(cycles, next));
    if let Some(number) = broken.nodes.iter().position(|n| n.name.as_deref() == Some(name)) {
        let width = broken.nodes[number].width;
        // The expression is read through a wire, so that it may be computed behind those who use it.
        let wire = add_signal(&mut broken, "value_with_fault", width, SigKind::Wire { default: None });
        let old = std::mem::replace(&mut broken.nodes[number].op, Op::Sig(wire));
        let (old, fixed) = (node(&mut broken, old, width), constant(&mut broken, value, width));
        let mixed = node(&mut broken, Op::Mux(on, fixed, old), width);
        broken.body.push(assign(wire, mixed));
    } else {
        let target = signal(&broken, name);
        let width = broken.signal(target).width;
        let then = vec![assign(target, constant(&mut broken, value, width))];
        broken.body.push(Stmt::If { cond: on, then, els: Vec::new(), loc: Loc::caller() });
    }
    Arc::new(broken)
}

/// A copy that loses one message of a sending channel: the sender believes that it has left. `number`: which one, from 0 to 254.
///
/// # Panics
/// When the module sends nothing on such a channel.
pub fn lost_message(module: &Module, channel: &str, number: u8) -> Arc<Module> {
    let mut broken = copy(module, &format!("{channel}_{number}_lost"));
    let valid = signal(&broken, &format!("{channel}_valid"));
    let sent = add_signal(&mut broken, "messages_begun", 8, register(8));
    let now = node(&mut broken, Op::Sig(sent), 8);
    let one = constant(&mut broken, 1, 8);
    let next = node(&mut broken, Op::Add(now, one), 8);
    let last = constant(&mut broken, 255, 8);
    let past = node(&mut broken, Op::Eq(now, last), 1);
    // The counter stays at its largest value.
    let next = node(&mut broken, Op::Mux(past, last, next), 8);
    let wanted = constant(&mut broken, u64::from(number), 8);
    let lose = node(&mut broken, Op::Eq(now, wanted), 1);
    let (nodes, mut sends) = (broken.nodes.clone(), 0);
    assignments(&mut broken.body, valid, &mut |stmt| {
        let Stmt::Assign { value, loc, .. } = stmt else { return vec![stmt] };
        if nodes[value.index()].op != Op::Const(Bv::from_u64(1, 1)) {
            return vec![stmt];
        }
        sends += 1;
        let count = Stmt::Assign { target: sent, value: next, loc };
        vec![count, Stmt::If { cond: lose, then: Vec::new(), els: vec![stmt], loc }]
    });
    assert!(sends > 0, "{} sends nothing on {channel}", module.name);
    Arc::new(broken)
}

fn copy(module: &Module, what: &str) -> Module {
    Module { name: format!("{}_{what}", module.name), ..module.clone() }
}

fn signal(module: &Module, name: &str) -> SigId {
    let found = module.signals.iter().position(|s| s.name == name);
    SigId(found.unwrap_or_else(|| panic!("{} has no {name}", module.name)) as u32)
}

fn node(module: &mut Module, op: Op, width: u32) -> NodeId {
    module.nodes.push(Node { op, width, name: None, ty: LeafType::Bits, loc: Loc::caller() });
    NodeId(module.nodes.len() as u32 - 1)
}

fn constant(module: &mut Module, value: u64, width: u32) -> NodeId {
    node(module, Op::Const(Bv::from_u64(value, width)), width)
}

fn register(width: u32) -> SigKind {
    SigKind::Reg { reset: Some(Bv::zero(width)), fields: vec![("fault".into(), width)] }
}

fn add_signal(module: &mut Module, name: &str, width: u32, kind: SigKind) -> SigId {
    module.signals.push(Signal {
        name: name.into(),
        width,
        kind,
        output: false,
        ty: LeafType::Bits,
        below: None,
        doc: String::new(),
        loc: Loc::caller(),
    });
    SigId(module.signals.len() as u32 - 1)
}

/// Puts what `change` gives in the place of every assignment to `target`.
fn assignments(body: &mut Vec<Stmt>, target: SigId, change: &mut dyn FnMut(Stmt) -> Vec<Stmt>) {
    for mut stmt in std::mem::take(body) {
        match &mut stmt {
            Stmt::Assign { target: assigned, .. } if *assigned == target => {
                body.extend(change(stmt));
                continue;
            }
            Stmt::Assign { .. } => {}
            Stmt::If { then, els, .. } => {
                assignments(then, target, change);
                assignments(els, target, change);
            }
            Stmt::Switch { arms, default, .. } => {
                arms.iter_mut().for_each(|(_, arm)| assignments(arm, target, change));
                assignments(default, target, change);
            }
        }
        body.push(stmt);
    }
}

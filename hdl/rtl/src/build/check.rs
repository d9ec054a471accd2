//! Checks of one module when its description ends.

mod guards;
mod state;

use crate::build::Builder;
use crate::error::ElabErrorKind;
use crate::ir::*;
use crate::operands::operands;
use rustc_hash::{FxHashMap, FxHashSet};

/// Runs every check; mistakes are appended to the builder's list.
pub(crate) fn module(b: &mut Builder) {
    if !b.errors.is_empty() {
        // Later checks would only repeat what the first mistakes caused.
        return;
    }
    if state::widths(b) {
        // What is said of values without bits would only confuse.
        return;
    }
    let driven = driven(&b.module.body);
    drivers(b, &driven);
    let idle = guards::guards(b);
    state::state(b, &driven, &idle);
    state::enumerations(b);
    inputs_used(b);
    mem_fields(b);
    if b.module.kind == ModuleKind::Block {
        block_outputs(b);
    }
}

/// How a list of statements treats a signal.
#[derive(Clone, Copy, PartialEq)]
enum Driven {
    Sometimes,
    Always,
}

fn driven(stmts: &[Stmt]) -> FxHashMap<SigId, Driven> {
    let mut out = FxHashMap::default();
    let merge = |out: &mut FxHashMap<SigId, Driven>, branches: Vec<FxHashMap<SigId, Driven>>| {
        let all: FxHashSet<SigId> = branches.iter().flat_map(|m| m.keys().copied()).collect();
        for sig in all {
            let always = branches.iter().all(|m| m.get(&sig) == Some(&Driven::Always));
            let entry = out.entry(sig).or_insert(Driven::Sometimes);
            if always {
                *entry = Driven::Always;
            }
        }
    };
    for stmt in stmts {
        match stmt {
            Stmt::Assign { target, .. } => {
                out.insert(*target, Driven::Always);
            }
            Stmt::If { then, els, .. } => merge(&mut out, vec![driven(then), driven(els)]),
            Stmt::Switch { arms, default, .. } => {
                let mut branches: Vec<_> = arms.iter().map(|(_, s)| driven(s)).collect();
                branches.push(driven(default));
                merge(&mut out, branches);
            }
        }
    }
    out
}

fn drivers(b: &mut Builder, map: &FxHashMap<SigId, Driven>) {
    let mut found = Vec::new();
    for (i, signal) in b.module.signals.iter().enumerate() {
        let state = map.get(&SigId(i as u32));
        let name = signal.name.clone();
        match (&signal.kind, state) {
            (SigKind::Wire { default: None }, None) => {
                found.push((signal.loc, ElabErrorKind::Undriven { name }))
            }
            (SigKind::Wire { default: None }, Some(Driven::Sometimes)) => {
                found.push((signal.loc, ElabErrorKind::Latch { name }));
            }
            _ => {}
        }
    }
    let mut first: FxHashMap<SigId, Loc> = FxHashMap::default();
    for stmt in &b.module.body {
        if let Stmt::Assign { target, loc, .. } = stmt
            && let Some(first) = first.insert(*target, *loc)
        {
            let name = b.module.signal(*target).name.clone();
            found.push((*loc, ElabErrorKind::DoublyDriven { name, first }));
        }
    }
    for (loc, kind) in found {
        b.error(loc, kind);
    }
}

/// Calls `f` for each expression a statement list refers to.
fn roots(stmts: &[Stmt], f: &mut impl FnMut(NodeId)) {
    for stmt in stmts {
        match stmt {
            Stmt::Assign { value, .. } => f(*value),
            Stmt::If { cond, then, els, .. } => {
                f(*cond);
                roots(then, f);
                roots(els, f);
            }
            Stmt::Switch { sel, arms, default, .. } => {
                f(*sel);
                for (_, body) in arms {
                    roots(body, f);
                }
                roots(default, f);
            }
        }
    }
}

fn inputs_used(b: &mut Builder) {
    let module = &b.module;
    let mut work = Vec::new();
    roots(&module.body, &mut |n| work.push(n));
    work.extend(module.probes.iter().flat_map(|p| [Some(p.cond), p.amount].into_iter().flatten()));
    let mut seen = vec![false; module.nodes.len()];
    let mut used: FxHashSet<SigId> = b.unused_ok.iter().copied().collect();
    while let Some(n) = work.pop() {
        if std::mem::replace(&mut seen[n.index()], true) {
            continue;
        }
        if let Op::Sig(s) = module.node(n).op {
            used.insert(s);
        }
        operands(&module.node(n).op, &mut |o| work.push(o));
    }
    let unused: Vec<_> = module
        .inputs()
        .filter(|(id, _)| !used.contains(id))
        .map(|(_, s)| (s.loc, ElabErrorKind::UnusedInput { name: s.name.clone() }))
        .collect();
    for (loc, kind) in unused {
        b.error(loc, kind);
    }
}

fn mem_fields(b: &mut Builder) {
    let mut found = Vec::new();
    for mem in &b.module.mems {
        let fields = mem.fields.iter().map(|f| f.1).sum();
        let width = mem.lane_width();
        if fields != width {
            found.push((mem.loc, ElabErrorKind::FieldSum { mem: mem.name.clone(), fields, width }));
        }
    }
    for (loc, kind) in found {
        b.error(loc, kind);
    }
}

/// A block's outputs are its own registers, or wires that carry a register of a part unchanged.
fn block_outputs(b: &mut Builder) {
    let mut found = Vec::new();
    for (id, signal) in b.module.outputs() {
        if matches!(signal.kind, SigKind::Reg { .. }) || carries_register(&b.module, id) {
            continue;
        }
        found.push((signal.loc, ElabErrorKind::UnregisteredOutput { name: signal.name.clone() }));
    }
    for (loc, kind) in found {
        b.error(loc, kind);
    }
}

fn carries_register(module: &Module, wire: SigId) -> bool {
    let mut sources = module.body.iter().filter_map(|s| match s {
        Stmt::Assign { target, value, .. } if *target == wire => Some(*value),
        _ => None,
    });
    match sources.next().map(|v| &module.node(v).op) {
        Some(Op::Sig(s)) => {
            matches!(module.signal(*s).kind, SigKind::Reg { .. })
                || (*s != wire && module.signal(*s).kind != SigKind::Input && carries_register(module, *s))
        }
        Some(Op::InstOut { inst, port }) => {
            let inner = &module.instances[inst.index()].module;
            matches!(inner.signal(*port).kind, SigKind::Reg { .. }) || carries_register(inner, *port)
        }
        Some(Op::Const(_)) => true,
        _ => false,
    }
}

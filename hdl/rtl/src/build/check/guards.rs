//! Whether `take` and `send` look at what allows them.
//!
//! A condition that does not depend on the channel's own `valid` or `free` cannot be right by itself. Two cases may be: the block knows from elsewhere, and says so in an
//! assertion that holds the condition against `valid` or `free`.

use super::operands;
use crate::build::{Builder, ChannelEnd, End};
use crate::error::ElabErrorKind;
use crate::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};

/// A `take` or `send`: where it stands, and the conditions around it.
struct Use {
    of: usize,
    loc: Loc,
    conditions: Vec<NodeId>,
}

/// Reports each `take` and `send` without a guard, and channels on which nothing passes; where those were declared.
pub(super) fn guards(b: &mut Builder) -> FxHashSet<Loc> {
    let mut idle = FxHashSet::default();
    if b.channels.is_empty() {
        return idle;
    }
    let uses = uses(&b.module, &b.channels);
    let cones = Cones::new(&b.module);
    let mut found = Vec::new();
    for one in &uses {
        let channel = &b.channels[one.of];
        if cones.reaches(&one.conditions, &channel.told_by) || is_asserted(b, &cones, one) {
            continue;
        }
        let name = channel.name.clone();
        found.push((
            one.loc,
            match channel.end {
                End::Receiver => ElabErrorKind::TakeUnguarded { channel: name },
                End::Sender => ElabErrorKind::SendUnguarded { channel: name },
            },
        ));
    }
    let used: FxHashSet<usize> = uses.iter().map(|one| one.of).collect();
    for (_, channel) in b.channels.iter().enumerate().filter(|(i, _)| !used.contains(i)) {
        let name = channel.name.clone();
        idle.insert(channel.loc);
        found.push((
            channel.loc,
            match channel.end {
                End::Receiver => ElabErrorKind::NeverTaken { channel: name },
                End::Sender => ElabErrorKind::NeverSent { channel: name },
            },
        ));
    }
    for (loc, kind) in found {
        b.error(loc, kind);
    }
    idle
}

/// An assertion holds a condition of the use against what allows it.
fn is_asserted(b: &Builder, cones: &Cones, one: &Use) -> bool {
    let told_by = &b.channels[one.of].told_by;
    b.module.probes.iter().filter(|probe| probe.kind == ProbeKind::Assert).any(|probe| {
        cones.reaches(&[probe.cond], told_by)
            && one.conditions.last().is_some_and(|condition| cones.contains(probe.cond, *condition))
    })
}

fn uses(module: &Module, channels: &[ChannelEnd]) -> Vec<Use> {
    let by_signal: FxHashMap<SigId, usize> = channels.iter().enumerate().map(|(i, c)| (c.sets, i)).collect();
    let mut out = Vec::new();
    collect(module, &module.body, &by_signal, &mut Vec::new(), &mut out);
    out
}

fn collect(
    module: &Module,
    stmts: &[Stmt],
    by_signal: &FxHashMap<SigId, usize>,
    conditions: &mut Vec<NodeId>,
    out: &mut Vec<Use>,
) {
    for stmt in stmts {
        match stmt {
            Stmt::Assign { target, value, loc } => {
                let is_set = matches!(&module.node(*value).op, Op::Const(v) if !v.is_zero());
                if let Some(of) = by_signal.get(target).filter(|_| is_set) {
                    out.push(Use { of: *of, loc: *loc, conditions: conditions.clone() });
                }
            }
            Stmt::If { cond, then, els, .. } => {
                conditions.push(*cond);
                collect(module, then, by_signal, conditions, out);
                collect(module, els, by_signal, conditions, out);
                conditions.pop();
            }
            Stmt::Switch { sel, arms, default, .. } => {
                conditions.push(*sel);
                arms.iter().for_each(|(_, body)| collect(module, body, by_signal, conditions, out));
                collect(module, default, by_signal, conditions, out);
                conditions.pop();
            }
        }
    }
}

/// What expressions depend on within a cycle: through wires and instances, not through registers.
struct Cones<'m> {
    module: &'m Module,
    /// For each wire the values it may take and the conditions of its assignments.
    drivers: FxHashMap<SigId, Vec<NodeId>>,
}

impl<'m> Cones<'m> {
    fn new(module: &'m Module) -> Cones<'m> {
        let mut drivers: FxHashMap<SigId, Vec<NodeId>> = FxHashMap::default();
        for (i, signal) in module.signals.iter().enumerate() {
            if let SigKind::Wire { default: Some(value) } = signal.kind {
                drivers.entry(SigId(i as u32)).or_default().push(value);
            }
        }
        add_drivers(module, &module.body, &mut Vec::new(), &mut drivers);
        Cones { module, drivers }
    }

    fn reaches(&self, from: &[NodeId], signals: &[SigId]) -> bool {
        self.walk(from, |op, _| matches!(op, Op::Sig(s) if signals.contains(s)))
    }

    fn contains(&self, from: NodeId, node: NodeId) -> bool {
        let same = |op: &Op, id: NodeId| {
            id == node || matches!((op, &self.module.node(node).op), (Op::Sig(a), Op::Sig(b)) if a == b)
        };
        self.walk(&[from], same)
    }

    /// Whether `hit` holds for a node that `from` depends on.
    fn walk(&self, from: &[NodeId], hit: impl Fn(&Op, NodeId) -> bool) -> bool {
        let mut work = from.to_vec();
        let mut seen: FxHashSet<NodeId> = FxHashSet::default();
        let mut entered: FxHashSet<InstId> = FxHashSet::default();
        while let Some(id) = work.pop() {
            if !seen.insert(id) {
                continue;
            }
            let op = &self.module.node(id).op;
            if hit(op, id) {
                return true;
            }
            match op {
                Op::Sig(s) => work.extend(self.drivers.get(s).into_iter().flatten()),
                Op::InstOut { inst, .. } if entered.insert(*inst) => {
                    let inputs = &self.module.instances[inst.index()].inputs;
                    work.extend(inputs.iter().filter_map(|(_, wire)| self.drivers.get(wire)).flatten());
                }
                _ => operands(op, &mut |operand| work.push(operand)),
            }
        }
        false
    }
}

fn add_drivers(
    module: &Module,
    stmts: &[Stmt],
    conditions: &mut Vec<NodeId>,
    out: &mut FxHashMap<SigId, Vec<NodeId>>,
) {
    for stmt in stmts {
        match stmt {
            Stmt::Assign { target, value, .. } => {
                if matches!(module.signal(*target).kind, SigKind::Wire { .. }) {
                    let list = out.entry(*target).or_default();
                    list.push(*value);
                    list.extend(conditions.iter());
                }
            }
            Stmt::If { cond, then, els, .. } => {
                conditions.push(*cond);
                add_drivers(module, then, conditions, out);
                add_drivers(module, els, conditions, out);
                conditions.pop();
            }
            Stmt::Switch { sel, arms, default, .. } => {
                conditions.push(*sel);
                arms.iter().for_each(|(_, body)| add_drivers(module, body, conditions, out));
                add_drivers(module, default, conditions, out);
                conditions.pop();
            }
        }
    }
}

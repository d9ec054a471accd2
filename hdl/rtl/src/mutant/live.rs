//! What of a module its outputs depend on; the rest is there for observers.

use crate::ir::*;
use crate::operands::operands;
use rustc_hash::FxHashMap;

/// What the outputs of a module depend on.
pub struct Live {
    /// Expressions.
    pub nodes: Vec<bool>,
    /// Signals.
    pub signals: Vec<bool>,
}

/// Expressions that decide a signal: values assigned to it and the conditions around them.
type Drivers = FxHashMap<SigId, Vec<NodeId>>;

fn drivers(stmts: &[Stmt], around: &mut Vec<NodeId>, out: &mut Drivers) {
    for stmt in stmts {
        match stmt {
            Stmt::Assign { target, value, .. } => {
                let of = out.entry(*target).or_default();
                of.push(*value);
                of.extend(around.iter());
            }
            Stmt::If { cond, then, els, .. } => {
                around.push(*cond);
                drivers(then, around, out);
                drivers(els, around, out);
                around.pop();
            }
            Stmt::Switch { sel, arms, default, .. } => {
                around.push(*sel);
                arms.iter().for_each(|(_, body)| drivers(body, around, out));
                drivers(default, around, out);
                around.pop();
            }
        }
    }
}

struct Walk<'a> {
    module: &'a Module,
    drivers: Drivers,
    live: Live,
    mems: Vec<bool>,
    instances: Vec<bool>,
    nodes: Vec<NodeId>,
    signals: Vec<SigId>,
}

impl Live {
    /// Goes from the outputs to all that they depend on, through registers, memories and instances.
    pub fn of(module: &Module) -> Live {
        let mut found = Drivers::default();
        drivers(&module.body, &mut Vec::new(), &mut found);
        let mut walk = Walk {
            module,
            drivers: found,
            live: Live { nodes: vec![false; module.nodes.len()], signals: vec![false; module.signals.len()] },
            mems: vec![false; module.mems.len()],
            instances: vec![false; module.instances.len()],
            nodes: Vec::new(),
            signals: module.outputs().map(|(id, _)| id).collect(),
        };
        loop {
            if let Some(sig) = walk.signals.pop() {
                walk.signal(sig);
            } else if let Some(node) = walk.nodes.pop() {
                walk.node(node);
            } else {
                return walk.live;
            }
        }
    }
}

impl Walk<'_> {
    fn signal(&mut self, sig: SigId) {
        if std::mem::replace(&mut self.live.signals[sig.index()], true) {
            return;
        }
        self.nodes.extend(self.drivers.get(&sig).into_iter().flatten());
        if let SigKind::Wire { default: Some(value) } = self.module.signal(sig).kind {
            self.nodes.push(value);
        }
    }

    fn node(&mut self, id: NodeId) {
        if std::mem::replace(&mut self.live.nodes[id.index()], true) {
            return;
        }
        let op = &self.module.node(id).op;
        operands(op, &mut |operand| self.nodes.push(operand));
        match op {
            Op::Sig(sig) => self.signals.push(*sig),
            Op::InstOut { inst, .. } if !std::mem::replace(&mut self.instances[inst.index()], true) => {
                let inputs = &self.module.instances[inst.index()].inputs;
                self.signals.extend(inputs.iter().map(|(_, wire)| *wire));
            }
            Op::MemRead { mem, .. } if !std::mem::replace(&mut self.mems[mem.index()], true) => {
                for port in &self.module.mems[mem.index()].write_ports {
                    self.signals.extend([port.en, port.addr]);
                    self.signals.extend(match port.mode {
                        WriteMode::Row { mask, data } => [mask, data],
                        WriteMode::Lane { lane, data } => [lane, data],
                    });
                }
            }
            _ => {}
        }
    }
}

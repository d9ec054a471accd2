//! Which expressions and signals get text, which of them get a name of their own, and from which context.

use super::reduce::{Piece, Reduced};
use crate::bv::bits_for;
use crate::ir::*;
use std::collections::BTreeMap;

/// Operators that may stand in one line of text before a part gets a name.
const LONGEST: u32 = 28;

/// What the text needs.
pub(super) struct Plan {
    /// Expressions of the hardware.
    pub live: Vec<bool>,
    /// Expressions that only assertions and cover points use.
    pub formal: Vec<bool>,
    /// Signals that are declared.
    pub signals: Vec<bool>,
    /// Expressions that get a wire.
    pub wired: Vec<bool>,
    /// What an expression is first used for.
    pub context: Vec<Option<String>>,
}

/// For each signal the expressions that decide its value (conditions and values).
pub(super) type Sources = BTreeMap<SigId, Vec<NodeId>>;

/// Where each signal's value comes from.
pub(super) fn sources(module: &Module, body: &[Stmt]) -> Sources {
    let mut out = Sources::new();
    collect(body, &mut Vec::new(), &mut out);
    for (i, signal) in module.signals.iter().enumerate() {
        if let SigKind::Wire { default: Some(value) } = signal.kind {
            out.entry(SigId(i as u32)).or_default().push(value);
        }
    }
    for list in out.values_mut() {
        list.sort();
        list.dedup();
    }
    out
}

fn collect(stmts: &[Stmt], path: &mut Vec<NodeId>, out: &mut Sources) {
    for stmt in stmts {
        match stmt {
            Stmt::Assign { target, value, .. } => {
                let list = out.entry(*target).or_default();
                list.push(*value);
                list.extend(path.iter().copied());
            }
            Stmt::If { cond, then, els, .. } => {
                path.push(*cond);
                collect(then, path, out);
                collect(els, path, out);
                path.pop();
            }
            Stmt::Switch { sel, arms, default, .. } => {
                path.push(*sel);
                for (_, body) in arms {
                    collect(body, path, out);
                }
                collect(default, path, out);
                path.pop();
            }
        }
    }
}

impl Plan {
    pub fn of(reduced: &Reduced, sources: &Sources) -> Plan {
        let count = reduced.module.nodes.len();
        let mut plan = Plan {
            live: vec![false; count],
            formal: vec![false; count],
            signals: vec![false; reduced.module.signals.len()],
            wired: vec![false; count],
            context: vec![None; count],
        };
        for id in roots(reduced.module) {
            plan.need(reduced, sources, id);
        }
        // A wire that only an observer reads is hardware all the same; it is listed as unused.
        let mut seen = vec![false; count];
        let probes = reduced.module.probes.iter().filter(|p| p.kind != ProbeKind::Count);
        let mut work: Vec<NodeId> = probes.map(|p| reduced.resolve(p.cond)).collect();
        while let Some(n) = work.pop() {
            if reduced.constant(n).is_some() || std::mem::replace(&mut seen[n.index()], true) {
                continue;
            }
            if let Op::Sig(s) = reduced.module.node(n).op {
                plan.need(reduced, sources, s);
            }
            work.extend(reduced.operands(n));
        }
        plan.formal = seen;
        for (formal, live) in plan.formal.iter_mut().zip(&plan.live) {
            *formal &= !live;
        }
        plan.choose_wires(reduced, sources);
        plan
    }

    fn need(&mut self, reduced: &Reduced, sources: &Sources, id: SigId) {
        let mut signals = vec![id];
        let mut nodes: Vec<NodeId> = Vec::new();
        while let Some(s) = signals.pop() {
            if std::mem::replace(&mut self.signals[s.index()], true) {
                continue;
            }
            nodes.extend(sources.get(&s).into_iter().flatten().map(|n| reduced.resolve(*n)));
            while let Some(n) = nodes.pop() {
                if reduced.constant(n).is_some() || std::mem::replace(&mut self.live[n.index()], true) {
                    continue;
                }
                if let Op::Sig(s) = reduced.module.node(n).op {
                    signals.push(s);
                }
                nodes.extend(reduced.operands(n));
            }
        }
    }

    fn choose_wires(&mut self, reduced: &Reduced, sources: &Sources) {
        let module = reduced.module;
        let mut uses = vec![0u32; module.nodes.len()];
        for (sig, list) in sources.iter().filter(|(s, _)| self.signals[s.index()]) {
            for n in list {
                let n = reduced.resolve(*n);
                uses[n.index()] += 1;
                self.context[n.index()].get_or_insert_with(|| module.signal(*sig).name.clone());
            }
        }
        for probe in module.probes.iter().filter(|p| p.kind != ProbeKind::Count) {
            let n = reduced.resolve(probe.cond);
            uses[n.index()] += 1;
            let name = super::names::identifier(&probe.name);
            self.context[n.index()].get_or_insert(name);
        }
        for i in (0..module.nodes.len()).rev() {
            if !(self.live[i] || self.formal[i]) || reduced.constant(NodeId(i as u32)).is_some() {
                continue;
            }
            let id = NodeId(i as u32);
            self.wired[i] |= module.nodes[i].name.is_some();
            let context = module.nodes[i].name.clone().or_else(|| self.context[i].clone());
            for o in reduced.operands(id) {
                uses[o.index()] += 1;
                if self.context[o.index()].is_none() {
                    self.context[o.index()] = context.clone();
                }
            }
            needs_names(reduced, id, &mut |n| self.wired[n.index()] = true);
        }
        self.wire_long_ones(reduced, &uses);
    }

    /// Names for what is used again and for parts of very long expressions.
    fn wire_long_ones(&mut self, reduced: &Reduced, uses: &[u32]) {
        let mut cost = vec![0u32; uses.len()];
        for i in 0..uses.len() {
            let id = NodeId(i as u32);
            if !(self.live[i] || self.formal[i]) || reduced.constant(id).is_some() {
                continue;
            }
            if is_reference(&reduced.module.node(id).op) {
                cost[i] = 1;
                continue;
            }
            let inner = |o: &NodeId| if self.wired[o.index()] { 1 } else { cost[o.index()] };
            cost[i] = 1 + reduced.operands(id).iter().map(inner).sum::<u32>();
            if (uses[i] > 1 && cost[i] > 4) || cost[i] > LONGEST {
                self.wired[i] = true;
            }
        }
    }
}

/// Signals that must be there: state, ports, what memories and instances take.
fn roots(module: &Module) -> Vec<SigId> {
    let mut out = Vec::new();
    for (i, signal) in module.signals.iter().enumerate() {
        if signal.output || !matches!(signal.kind, SigKind::Wire { .. }) {
            out.push(SigId(i as u32));
        }
    }
    for port in module.mems.iter().flat_map(|m| &m.write_ports) {
        out.extend([port.en, port.addr]);
        match port.mode {
            WriteMode::Row { mask, data } => out.extend([mask, data]),
            WriteMode::Lane { lane, data } => out.extend([lane, data]),
        }
    }
    out.extend(module.instances.iter().flat_map(|i| i.inputs.iter().map(|(_, wire)| *wire)));
    out
}

/// True for operations whose text is a name already.
pub(super) fn is_reference(op: &Op) -> bool {
    matches!(op, Op::Sig(_) | Op::InstOut { .. })
        || matches!(op, Op::MemRead { lane: LaneSel::Row | LaneSel::Const(_), .. })
}

/// Index bits that choose one of `elements`, and whether an index of `width` bits can point past them.
pub(super) fn index_bits(elements: u32, width: u32) -> (u32, bool) {
    let needed = bits_for(u64::from(elements));
    let in_range = width < 32 && (1u64 << width) <= u64::from(elements);
    (needed, !in_range)
}

/// Operands that Verilog wants as names: it cannot select from an expression.
fn needs_names(reduced: &Reduced, id: NodeId, f: &mut impl FnMut(NodeId)) {
    let module = reduced.module;
    let node = module.node(id);
    let index = |idx: NodeId, elements: u32, f: &mut dyn FnMut(NodeId)| {
        let width = module.node(idx).width;
        let (needed, guarded) = index_bits(elements, width);
        if (guarded || width > needed) && !is_reference(&module.node(idx).op) {
            f(idx);
        }
    };
    match &node.op {
        Op::Slice { .. } | Op::Concat(_) => partial(reduced, &reduced.wiring(id), f),
        Op::Index { idx, .. } if reduced.constant(*idx).is_some() => partial(reduced, &reduced.wiring(id), f),
        Op::Index { a, idx } => {
            let elements = module.node(*a).width / node.width;
            let base = reduced.resolve(*a);
            match &module.node(base).op {
                // A lane lies somewhere inside its row.
                Op::MemRead { mem, .. } if module.mems[mem.index()].lanes > 1 => f(base),
                op if is_reference(op) => {}
                _ => f(base),
            }
            index(reduced.resolve(*idx), elements, f);
        }
        Op::MemRead { mem, addr, lane } => {
            let mem = &module.mems[mem.index()];
            let addr = reduced.resolve(*addr);
            if u64::from(mem.rows) < 1 << module.node(addr).width && !is_reference(&module.node(addr).op) {
                f(addr);
            }
            if let LaneSel::Dyn(lane) = lane
                && reduced.constant(*lane).is_none()
            {
                index(reduced.resolve(*lane), mem.lanes, f);
            }
        }
        Op::Shl(_, by) | Op::Shr(_, by) if module.node(*by).width > 32 => {
            let by = reduced.resolve(*by);
            if !is_reference(&module.node(by).op) {
                f(by);
            }
        }
        _ => {}
    }
}

fn partial(reduced: &Reduced, pieces: &[Piece], f: &mut dyn FnMut(NodeId)) {
    for piece in pieces {
        let base = reduced.module.node(piece.base);
        let whole = piece.width == base.width;
        if !whole && reduced.constant(piece.base).is_none() && !is_reference(&base.op) {
            f(piece.base);
        }
    }
}

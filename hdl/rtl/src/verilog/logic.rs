//! Statements as `assign` and `always` blocks.

use super::expr::Exprs;
use super::plan::{Plan, Sources};
use super::reduce::Reduced;
use super::text::push_line;
use crate::ir::*;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// How wires are driven.
pub(super) struct Wiring {
    /// Wires with one value, in order of declaration.
    pub plain: Vec<(SigId, NodeId)>,
    /// Wires driven together by statements.
    pub groups: Vec<BTreeSet<SigId>>,
}

impl Wiring {
    /// Sorts the wires of a module.
    pub fn of(reduced: &Reduced, plan: &Plan, sources: &Sources) -> Wiring {
        let module = reduced.module;
        let touched: Vec<BTreeSet<SigId>> = reduced.body.iter().map(|s| targets(module, plan, s)).collect();
        let mut last: HashMap<SigId, usize> = HashMap::new();
        for (at, set) in touched.iter().enumerate() {
            last.extend(set.iter().map(|s| (*s, at)));
        }
        let mut plain = BTreeMap::new();
        for (i, signal) in module.signals.iter().enumerate() {
            let id = SigId(i as u32);
            let SigKind::Wire { default } = &signal.kind else { continue };
            if !plan.signals[i] {
                continue;
            }
            match (last.get(&id).map(|at| &reduced.body[*at]), default) {
                (Some(Stmt::Assign { value, .. }), _) | (None, Some(value)) => {
                    plain.insert(id, *value);
                }
                _ => {}
            }
        }
        let mut groups: Vec<BTreeSet<SigId>> = Vec::new();
        for set in &touched {
            let mut joined: BTreeSet<SigId> =
                set.iter().filter(|s| !plain.contains_key(s)).copied().collect();
            if joined.is_empty() {
                continue;
            }
            // A group stands where its first statement stood.
            let mut place = groups.len();
            let mut i = 0;
            while i < groups.len() {
                if groups[i].is_disjoint(&joined) {
                    i += 1;
                } else {
                    place = place.min(i);
                    joined.extend(groups.remove(i));
                }
            }
            groups.insert(place.min(groups.len()), joined);
        }
        let groups = groups.into_iter().flat_map(|g| split_if_chained(reduced, sources, g)).collect();
        Wiring { plain: plain.into_iter().collect(), groups }
    }
}

/// The wires that a statement drives.
fn targets(module: &Module, plan: &Plan, stmt: &Stmt) -> BTreeSet<SigId> {
    let mut out = BTreeSet::new();
    all_targets(stmt, &mut |s| {
        if matches!(module.signal(s).kind, SigKind::Wire { .. }) && plan.signals[s.index()] {
            out.insert(s);
        }
    });
    out
}

fn all_targets(stmt: &Stmt, f: &mut impl FnMut(SigId)) {
    match stmt {
        Stmt::Assign { target, .. } => f(*target),
        Stmt::If { then, els, .. } => then.iter().chain(els).for_each(|s| all_targets(s, f)),
        Stmt::Switch { arms, default, .. } => {
            arms.iter().flat_map(|(_, b)| b).chain(default).for_each(|s| all_targets(s, f));
        }
    }
}

/// A block that computes one wire from another wire of its own would miss the change: such wires get a block each.
fn split_if_chained(reduced: &Reduced, sources: &Sources, group: BTreeSet<SigId>) -> Vec<BTreeSet<SigId>> {
    let module = reduced.module;
    let mut nodes: Vec<NodeId> =
        group.iter().flat_map(|s| sources.get(s).into_iter().flatten().copied()).collect();
    let mut seen_nodes: HashSet<NodeId> = HashSet::new();
    let mut seen: HashSet<SigId> = HashSet::new();
    while let Some(n) = nodes.pop() {
        let n = reduced.resolve(n);
        if reduced.constant(n).is_some() || !seen_nodes.insert(n) {
            continue;
        }
        let mut reached = |s: SigId, nodes: &mut Vec<NodeId>| {
            if matches!(module.signal(s).kind, SigKind::Wire { .. }) && seen.insert(s) && !group.contains(&s)
            {
                nodes.extend(sources.get(&s).into_iter().flatten());
            }
        };
        match &module.node(n).op {
            Op::Sig(s) => reached(*s, &mut nodes),
            Op::InstOut { inst, port } => {
                let instance = &module.instances[inst.index()];
                if matches!(instance.module.signal(*port).kind, SigKind::Wire { .. }) {
                    instance.inputs.iter().for_each(|(_, wire)| reached(*wire, &mut nodes));
                }
            }
            _ => nodes.extend(reduced.operands(n)),
        }
    }
    if group.len() > 1 && group.iter().any(|s| seen.contains(s)) {
        group.into_iter().map(|s| BTreeSet::from([s])).collect()
    } else {
        vec![group]
    }
}

/// Text of statement lists, restricted to some targets.
pub(super) struct Body<'x, 'a, 'm> {
    pub exprs: &'x mut Exprs<'a, 'm>,
    pub module: &'m Module,
    /// `=` or `<=`.
    pub sign: &'static str,
    pub wanted: &'x dyn Fn(SigId) -> bool,
}

impl Body<'_, '_, '_> {
    fn drives(&self, stmts: &[Stmt]) -> bool {
        let mut found = false;
        for stmt in stmts {
            all_targets(stmt, &mut |s| found |= (self.wanted)(s));
        }
        found
    }

    /// Appends the statements.
    pub fn write(&mut self, out: &mut String, indent: usize, stmts: &[Stmt]) {
        for stmt in stmts {
            match stmt {
                _ if !self.drives(std::slice::from_ref(stmt)) => {}
                Stmt::Assign { target, value, .. } => {
                    let line = self.assignment(*target, *value);
                    push_line(out, indent, &line);
                }
                Stmt::If { cond, then, els, .. } => self.choice(out, indent, "", *cond, then, els),
                Stmt::Switch { sel, arms, default, .. } => self.switch(out, indent, *sel, arms, default),
            }
        }
    }

    fn assignment(&mut self, target: SigId, value: NodeId) -> String {
        let value = self.exprs.value(value);
        format!("{} {} {value};", self.module.signal(target).name, self.sign)
    }

    /// The only statement of a list when it is an assignment.
    fn single(&self, stmts: &[Stmt]) -> Option<(SigId, NodeId)> {
        let mut kept = stmts.iter().filter(|s| self.drives(std::slice::from_ref(s)));
        match (kept.next(), kept.next()) {
            (Some(Stmt::Assign { target, value, .. }), None) => Some((*target, *value)),
            _ => None,
        }
    }

    fn choice(
        &mut self,
        out: &mut String,
        indent: usize,
        before: &str,
        cond: NodeId,
        then: &[Stmt],
        els: &[Stmt],
    ) {
        let text = self.exprs.value(cond);
        if !self.drives(then) {
            let inverted = match text.strip_prefix('!') {
                Some(rest) if rest.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') => rest.to_string(),
                _ if text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') => format!("!{text}"),
                _ => format!("!({text})"),
            };
            return self.branch(out, indent, before, &inverted, els);
        }
        if !self.drives(els) {
            return self.branch(out, indent, before, &text, then);
        }
        push_line(out, indent, &format!("{before}if ({text}) begin"));
        self.write(out, indent + 4, then);
        let chained = match els {
            [Stmt::If { cond, then, els, .. }] => Some((*cond, then, els)),
            _ => None,
        };
        match chained {
            Some((cond, then, els)) => self.choice(out, indent, "end else ", cond, then, els),
            None => {
                push_line(out, indent, "end else begin");
                self.write(out, indent + 4, els);
                push_line(out, indent, "end");
            }
        }
    }

    fn branch(&mut self, out: &mut String, indent: usize, before: &str, cond: &str, then: &[Stmt]) {
        if let (Some((target, value)), true) = (self.single(then), before.is_empty()) {
            let line = self.assignment(target, value);
            return push_line(out, indent, &format!("if ({cond}) {line}"));
        }
        push_line(out, indent, &format!("{before}if ({cond}) begin"));
        self.write(out, indent + 4, then);
        push_line(out, indent, "end");
    }

    fn switch(
        &mut self,
        out: &mut String,
        indent: usize,
        sel: NodeId,
        arms: &[(Vec<crate::bv::Bv>, Vec<Stmt>)],
        default: &[Stmt],
    ) {
        let ty = self.exprs.type_of(sel);
        let text = self.exprs.value(sel);
        push_line(out, indent, &format!("case ({text})"));
        let all_empty_matter = self.drives(default);
        for (codes, body) in arms {
            if !self.drives(body) && !all_empty_matter {
                continue;
            }
            let labels: Vec<String> = codes.iter().map(|c| self.exprs.constant(c, &ty)).collect();
            self.arm(out, indent + 4, &labels.join(", "), body);
        }
        self.arm(out, indent + 4, "default", default);
        push_line(out, indent, "endcase");
    }

    fn arm(&mut self, out: &mut String, indent: usize, label: &str, body: &[Stmt]) {
        if !self.drives(body) {
            return push_line(out, indent, &format!("{label}: ;"));
        }
        if let Some((target, value)) = self.single(body) {
            let line = self.assignment(target, value);
            return push_line(out, indent, &format!("{label}: {line}"));
        }
        push_line(out, indent, &format!("{label}: begin"));
        self.write(out, indent + 4, body);
        push_line(out, indent, "end");
    }
}

//! The graph of each state machine, read from the statements that assign its register and from the assertions that say when they cannot.

use super::svg::{Anchor, Canvas, LINE, Style, text_width};
use crate::ir::*;
use std::collections::HashMap;
use std::sync::Arc;

/// A state register with the changes that its statements allow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Machine {
    pub name: String,
    pub states: Vec<String>,
    pub reset: Option<usize>,
    /// From and to, by number of the variant; a state may always be kept.
    pub changes: Vec<(usize, usize)>,
}

/// A set of states: one bit each.
type States = u64;

struct Reader<'m> {
    module: &'m Module,
    register: SigId,
    ty: Arc<EnumType>,
    all: States,
    /// For each condition seen: the states in which it can hold, and those in which it can fail.
    known: HashMap<NodeId, (States, States)>,
    changes: Vec<(usize, usize)>,
    /// Something else than a named state is assigned.
    loose: bool,
    /// Conditions of which assertions say that they never hold together.
    apart: Vec<(NodeId, NodeId)>,
}

/// The state machines of a module: registers of an enumeration, called `state` or `..._state`, that are only ever given constants.
pub(super) fn machines(module: &Module) -> Vec<Machine> {
    let registers = module.signals.iter().enumerate().filter_map(|(i, signal)| {
        let (SigKind::Reg { reset, .. }, LeafType::Enum(ty)) = (&signal.kind, &signal.ty) else {
            return None;
        };
        let named = signal.name == "state" || signal.name.ends_with("_state");
        named.then_some((SigId(i as u32), signal, reset, ty))
    });
    registers
        .filter_map(|(register, signal, reset, ty)| {
            let all = (1 << ty.variants.len().min(63)) - 1;
            let mut reader = Reader {
                module,
                register,
                ty: ty.clone(),
                all,
                known: HashMap::new(),
                changes: Vec::new(),
                loose: false,
                apart: apart(module),
            };
            reader.statements(&module.body, all);
            let Reader { mut changes, loose, .. } = reader;
            changes.sort_unstable();
            changes.dedup();
            let code = reset.as_ref().map(|value| value.low_u64());
            (!loose && !changes.is_empty()).then(|| Machine {
                name: signal.name.clone(),
                states: ty.variants.iter().map(|(name, _)| name.clone()).collect(),
                reset: code.and_then(|code| ty.variants.iter().position(|(_, v)| *v == code)),
                changes,
            })
        })
        .collect()
}

impl Reader<'_> {
    /// Reads statements that are executed in some of these states.
    fn statements(&mut self, body: &[Stmt], states: States) {
        for stmt in body {
            match stmt {
                Stmt::Assign { target, value, .. } if *target == self.register => self.assign(*value, states),
                Stmt::Assign { .. } => {}
                Stmt::If { cond, then, els, .. } => {
                    let (holds, fails) = self.condition(*cond);
                    self.statements(then, states & holds);
                    self.statements(els, states & fails);
                }
                Stmt::Switch { sel, arms, default, .. } => {
                    let own = self.module.node(*sel).op == Op::Sig(self.register);
                    let mut left = states;
                    for (values, arm) in arms {
                        let chosen = values.iter().filter_map(|v| self.variant(v.low_u64()));
                        let chosen: States = chosen.map(|state| 1 << state).sum();
                        self.statements(arm, if own { states & chosen } else { states });
                        left &= if own { !chosen } else { self.all };
                    }
                    self.statements(default, left);
                }
            }
        }
    }

    fn variant(&self, code: u64) -> Option<usize> {
        self.ty.variants.iter().position(|(_, v)| *v == code)
    }

    /// Notes what an assignment of this value does in these states.
    fn assign(&mut self, value: NodeId, states: States) {
        match self.module.node(value).op.clone() {
            Op::Const(code) => match self.variant(code.low_u64()) {
                Some(to) => {
                    let from = (0..self.ty.variants.len()).filter(|s| states >> s & 1 == 1 && *s != to);
                    self.changes.extend(from.map(|from| (from, to)));
                }
                None => self.loose = true,
            },
            Op::Mux(cond, then, els) => {
                let (holds, fails) = self.condition(cond);
                self.assign(then, states & holds);
                self.assign(els, states & fails);
            }
            Op::Sig(signal) if signal == self.register => {}
            _ => self.loose = true,
        }
    }

    /// The states in which a condition can hold, and those in which it can fail.
    fn condition(&mut self, node: NodeId) -> (States, States) {
        if let Some(found) = self.known.get(&node) {
            return *found;
        }
        let both = (self.all, self.all);
        self.known.insert(node, both);
        let found = match self.module.node(node).op.clone() {
            Op::Const(value) => {
                if value.is_zero() {
                    (0, self.all)
                } else {
                    (self.all, 0)
                }
            }
            Op::Not(a) => {
                let (holds, fails) = self.condition(a);
                (fails, holds)
            }
            Op::And(a, b) => {
                let (a, b) = (self.condition(a), self.condition(b));
                (a.0 & b.0, a.1 | b.1)
            }
            Op::Or(a, b) => {
                let (a, b) = (self.condition(a), self.condition(b));
                (a.0 | b.0, a.1 & b.1)
            }
            Op::Mux(c, a, b) => {
                let (c, a, b) = (self.condition(c), self.condition(a), self.condition(b));
                ((c.0 & a.0) | (c.1 & b.0), (c.0 & a.1) | (c.1 & b.1))
            }
            Op::Eq(a, b) => self.comparison(a, b).unwrap_or(both),
            Op::Sig(signal) => match self.only_value(signal) {
                Some(value) => self.condition(value),
                None => both,
            },
            _ => both,
        };
        let mut found = found;
        for (a, b) in self.apart.clone() {
            if a == node || b == node {
                let (_, other_fails) = self.condition(if a == node { b } else { a });
                found.0 &= other_fails;
            }
        }
        self.known.insert(node, found);
        found
    }

    /// The register compared with a constant, on either side.
    fn comparison(&self, a: NodeId, b: NodeId) -> Option<(States, States)> {
        let (a, b) = (&self.module.node(a).op, &self.module.node(b).op);
        let code = match (a, b) {
            (Op::Sig(signal), Op::Const(code)) | (Op::Const(code), Op::Sig(signal))
                if *signal == self.register =>
            {
                code.low_u64()
            }
            _ => return None,
        };
        let state: States = self.variant(code).map_or(0, |state| 1 << state);
        Some((state, self.all & !state))
    }

    /// The value of a wire that is assigned once, without condition.
    fn only_value(&self, signal: SigId) -> Option<NodeId> {
        if !matches!(self.module.signal(signal).kind, SigKind::Wire { .. }) {
            return None;
        }
        let mut found = None;
        for stmt in &self.module.body {
            match stmt {
                Stmt::Assign { target, value, .. } if *target == signal => {
                    if found.replace(*value).is_some() {
                        return None;
                    }
                }
                Stmt::Assign { .. } => {}
                other => {
                    if assigns(other, signal) {
                        return None;
                    }
                }
            }
        }
        found
    }
}

/// Pairs of conditions that an assertion of the form `!(a & b)` keeps apart.
fn apart(module: &Module) -> Vec<(NodeId, NodeId)> {
    let op = |node: NodeId| &module.node(node).op;
    let pair = |probe: &Probe| match (probe.kind, op(probe.cond)) {
        (ProbeKind::Assert, Op::Not(both)) => match op(*both) {
            Op::And(a, b) => Some((*a, *b)),
            _ => None,
        },
        _ => None,
    };
    module.probes.iter().filter_map(pair).collect()
}

fn assigns(stmt: &Stmt, signal: SigId) -> bool {
    let any = |body: &[Stmt]| body.iter().any(|stmt| assigns(stmt, signal));
    match stmt {
        Stmt::Assign { target, .. } => *target == signal,
        Stmt::If { then, els, .. } => any(then) || any(els),
        Stmt::Switch { arms, default, .. } => any(default) || arms.iter().any(|(_, arm)| any(arm)),
    }
}

/// Height of a state's box.
const HEIGHT: u32 = 26;

pub(super) fn draw(canvas: &mut Canvas, module: &Module) {
    machines(module).iter().for_each(|machine| draw_machine(canvas, machine));
}

pub(super) fn draw_machine(canvas: &mut Canvas, machine: &Machine) {
    let Machine { name, states, reset, changes } = machine;
    canvas.text(4, canvas.y + 12, Anchor::Start, Style::Bold, name);
    let span = |up: bool| {
        let far = changes.iter().filter(|(from, to)| (from < to) == up).map(|(f, t)| f.abs_diff(*t));
        far.filter(|distance| !up || *distance > 1).max().map_or(0, |d| bow_height(d as u32) * 3 / 4 + 6)
    };
    let top = canvas.y + LINE + span(true) + 8;
    let mut x = 60;
    let mut places = Vec::new();
    for state in states {
        let width = text_width(state) + 24;
        places.push((x, width));
        x += width + 44;
    }
    canvas.reach(x);
    for (number, (state, (x, width))) in states.iter().zip(&places).enumerate() {
        canvas.rect(*x, top, *width, HEIGHT, 12, true);
        canvas.text(x + width / 2, top + 17, Anchor::Middle, Style::Plain, state);
        if *reset == Some(number) && number == 0 {
            canvas.text(4, top + 17, Anchor::Start, Style::Small, "reset");
            canvas.arrow(36, *x, top + HEIGHT / 2, false);
        }
    }
    for (from, to) in changes {
        let ((a, a_width), (b, b_width)) = (places[*from], places[*to]);
        let distance = from.abs_diff(*to) as u32;
        if *to == from + 1 {
            canvas.arrow(a + a_width, b, top + HEIGHT / 2, false);
        } else if to > from {
            canvas.bow(a + a_width * 2 / 3, b + b_width / 3, top, bow_height(distance), true);
        } else {
            canvas.bow(a + a_width / 3, b + b_width * 2 / 3, top + HEIGHT, bow_height(distance), false);
        }
    }
    canvas.y = top + HEIGHT + span(false) + 14;
}

fn bow_height(distance: u32) -> u32 {
    18 + 16 * distance
}

//! What comes of an expression: the nearest name, and the line of the description that it is for.

use super::live::Live;
use crate::ir::*;
use crate::operands::operands;
use rustc_hash::FxHashSet;
use std::collections::VecDeque;

/// The users of all that outputs depend on.
pub(super) struct Behind<'a> {
    module: &'a Module,
    /// Expressions that an expression is an operand of.
    users: Vec<Vec<NodeId>>,
    /// The first signal that an expression is assigned to, or decides as a condition, and where.
    targets: Vec<Option<(SigId, Loc)>>,
    /// Expressions that read a signal.
    readers: Vec<Vec<NodeId>>,
}

/// Whether a line is outside of the language's own source.
fn is_outside(loc: Loc) -> bool {
    let own = file!().strip_suffix("mutant/behind.rs");
    own.is_none_or(|own| !loc.file.starts_with(own))
}

impl<'a> Behind<'a> {
    /// Looks at all expressions and statements once.
    pub fn new(module: &'a Module, live: &Live) -> Behind<'a> {
        let count = module.nodes.len();
        let mut out = Behind {
            module,
            users: vec![Vec::new(); count],
            targets: vec![None; count],
            readers: vec![Vec::new(); module.signals.len()],
        };
        for (at, node) in module.nodes.iter().enumerate().filter(|(at, _)| live.nodes[*at]) {
            let id = NodeId(at as u32);
            operands(&node.op, &mut |operand| out.users[operand.index()].push(id));
            if let Op::Sig(sig) = node.op {
                out.readers[sig.index()].push(id);
            }
        }
        out.statements(&module.body, live, &mut Vec::new());
        out
    }

    fn statements(&mut self, body: &[Stmt], live: &Live, around: &mut Vec<NodeId>) {
        for stmt in body {
            match stmt {
                Stmt::Assign { target, value, loc } if live.signals[target.index()] => {
                    for node in around.iter().chain([value]) {
                        self.targets[node.index()].get_or_insert((*target, *loc));
                    }
                }
                Stmt::Assign { .. } => {}
                Stmt::If { cond, then, els, .. } => {
                    around.push(*cond);
                    self.statements(then, live, around);
                    self.statements(els, live, around);
                    around.pop();
                }
                Stmt::Switch { sel, arms, default, .. } => {
                    around.push(*sel);
                    arms.iter().for_each(|(_, arm)| self.statements(arm, live, around));
                    self.statements(default, live, around);
                    around.pop();
                }
            }
        }
    }

    /// Goes from expressions to what uses them, and on through signals that `found` does not take, until it is told to end.
    fn walk<T>(
        &self,
        from: &[NodeId],
        found: impl Fn(NodeId) -> Option<T>,
        taken: impl Fn(SigId, Loc) -> Option<T>,
    ) -> Option<T> {
        let mut seen: FxHashSet<NodeId> = FxHashSet::default();
        let mut queue: VecDeque<NodeId> = from.iter().copied().collect();
        while let Some(at) = queue.pop_front() {
            if !seen.insert(at) {
                continue;
            }
            let here = found(at);
            if here.is_some() {
                return here;
            }
            if let Some((target, loc)) = self.targets[at.index()] {
                let here = taken(target, loc);
                if here.is_some() {
                    return here;
                }
                queue.extend(&self.readers[target.index()]);
            }
            queue.extend(&self.users[at.index()]);
        }
        None
    }

    /// The nearest named expression or signal that depends on an expression, and where it is.
    pub fn named(&self, id: NodeId) -> Option<(String, Loc)> {
        let name = |at: NodeId| {
            let node = self.module.node(at);
            node.name.clone().filter(|_| at != id).map(|name| (name, node.loc))
        };
        self.walk(&[id], name, |target, loc| Some((self.module.signal(target).name.clone(), loc)))
    }

    /// The line of a place, which is `own` by itself: where the language's own source has made it, the line that it was made for. The place is an expression, or a statement that
    /// assigns `target`.
    pub fn line(&self, own: Loc, node: Option<NodeId>, target: Option<SigId>) -> Loc {
        if is_outside(own) {
            return own;
        }
        let outside = |loc: Loc| Some(loc).filter(|loc| is_outside(*loc));
        let of = |sig: SigId, loc: Loc| outside(loc).or(outside(self.module.signal(sig).loc));
        if let Some(loc) = target.and_then(|target| of(target, own)) {
            return loc;
        }
        let readers = target.into_iter().flat_map(|target| &self.readers[target.index()]);
        let from: Vec<NodeId> = node.into_iter().chain(readers.copied()).collect();
        self.walk(&from, |at| outside(self.module.node(at).loc), of).unwrap_or(own)
    }
}

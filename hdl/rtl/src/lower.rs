//! Flattening: modules become one [`Netlist`].

use crate::bv::Bv;
use crate::error::{ElabError, ElabErrorKind, ElabErrors};
use crate::fold::Flat;
use crate::ir::*;
use crate::netlist::*;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Flattens a module with everything it contains.
///
/// # Errors
/// A combinational loop, with the signals on it and their source lines.
pub fn flatten(top: &Arc<Module>) -> Result<Netlist, ElabErrors> {
    let mut flat =
        Flat { out: Netlist { name: top.name.clone(), ..Netlist::default() }, memo: FxHashMap::default() };
    let mut scopes = Scopes { list: Vec::new() };
    let root = scopes.add(top, String::new(), None);
    for (id, signal) in top.inputs() {
        let node = flat.node(NetOp::Input(flat.out.inputs.len() as u32), signal.width);
        let (name, ty) = (signal.name.clone(), signal.ty.clone());
        flat.out.inputs.push(NetPort { name, width: signal.width, ty, node });
        scopes.list[root].signals[id.index()] = Slot::Done(node);
    }
    flat.declare_state(&mut scopes);
    let mut walk = Walk { flat, scopes, stack: Vec::new() };
    walk.finish(root).map_err(|e| ElabErrors(vec![*e]))?;
    Ok(walk.flat.out)
}

/// Resolution of a signal or expression.
#[derive(Clone, Copy, PartialEq)]
enum Slot {
    Open,
    Busy,
    Done(NetId),
}

/// One module instance while flattening.
struct Scope {
    module: Arc<Module>,
    path: String,
    /// Parent scope and instance number there.
    parent: Option<(usize, InstId)>,
    children: Vec<usize>,
    signals: Vec<Slot>,
    nodes: Vec<Slot>,
    /// Driver of each wire, next value of each register.
    drivers: FxHashMap<SigId, Tree>,
    /// Register numbers.
    regs: FxHashMap<SigId, u32>,
    mems: Vec<u32>,
}

/// A driver as a decision tree over the module's expressions.
#[derive(Clone, PartialEq)]
enum Tree {
    /// Nothing assigned so far: default or the register itself.
    Keep,
    Value(NodeId),
    If(NodeId, Arc<Tree>, Arc<Tree>),
    Switch(NodeId, Vec<(Vec<Bv>, Arc<Tree>)>, Arc<Tree>),
}

struct Scopes {
    list: Vec<Scope>,
}

impl Scopes {
    fn add(&mut self, module: &Arc<Module>, path: String, parent: Option<(usize, InstId)>) -> usize {
        let me = self.list.len();
        self.list.push(Scope {
            module: module.clone(),
            path,
            parent,
            children: Vec::new(),
            signals: vec![Slot::Open; module.signals.len()],
            nodes: vec![Slot::Open; module.nodes.len()],
            drivers: drivers(&module.body, &FxHashMap::default()),
            regs: FxHashMap::default(),
            mems: Vec::new(),
        });
        for (i, inst) in module.instances.iter().enumerate() {
            let path = self.list[me].name(&inst.name);
            let child = self.add(&inst.module, path, Some((me, InstId(i as u32))));
            self.list[me].children.push(child);
        }
        me
    }
}

impl Scope {
    fn name(&self, local: &str) -> String {
        if self.path.is_empty() { local.to_string() } else { format!("{}.{local}", self.path) }
    }
}

/// Executes a statement list symbolically on top of `before`.
fn drivers(stmts: &[Stmt], before: &FxHashMap<SigId, Tree>) -> FxHashMap<SigId, Tree> {
    let mut now = before.clone();
    for stmt in stmts {
        match stmt {
            Stmt::Assign { target, value, .. } => {
                now.insert(*target, Tree::Value(*value));
            }
            Stmt::If { cond, then, els, .. } => {
                let (a, b) = (changes(then), changes(els));
                for sig in a.keys().chain(b.keys().filter(|k| !a.contains_key(k))) {
                    let old = now.get(sig).cloned().unwrap_or(Tree::Keep);
                    let yes = graft(a.get(sig), &old);
                    let no = graft(b.get(sig), &old);
                    now.insert(*sig, Tree::If(*cond, Arc::new(yes), Arc::new(no)));
                }
            }
            Stmt::Switch { sel, arms, default, .. } => {
                let outs: Vec<_> = arms.iter().map(|(v, body)| (v.clone(), changes(body))).collect();
                let other = changes(default);
                let mut touched: Vec<SigId> = outs.iter().flat_map(|(_, m)| m.keys().copied()).collect();
                touched.extend(other.keys());
                touched.sort();
                touched.dedup();
                for sig in touched {
                    let old = now.get(&sig).cloned().unwrap_or(Tree::Keep);
                    let trees =
                        outs.iter().map(|(v, m)| (v.clone(), Arc::new(graft(m.get(&sig), &old)))).collect();
                    let rest = Arc::new(graft(other.get(&sig), &old));
                    now.insert(sig, Tree::Switch(*sel, trees, rest));
                }
            }
        }
    }
    now
}

fn changes(stmts: &[Stmt]) -> FxHashMap<SigId, Tree> {
    drivers(stmts, &FxHashMap::default())
}

/// `new` with what stood before in the places where it keeps.
fn graft(new: Option<&Tree>, old: &Tree) -> Tree {
    match new {
        None | Some(Tree::Keep) => old.clone(),
        Some(tree) if *old == Tree::Keep => tree.clone(),
        Some(Tree::Value(v)) => Tree::Value(*v),
        Some(Tree::If(c, a, b)) => Tree::If(*c, Arc::new(graft(Some(a), old)), Arc::new(graft(Some(b), old))),
        Some(Tree::Switch(s, arms, d)) => Tree::Switch(
            *s,
            arms.iter().map(|(v, t)| (v.clone(), Arc::new(graft(Some(t), old)))).collect(),
            Arc::new(graft(Some(d), old)),
        ),
    }
}

impl Flat {
    /// Registers and memories of all scopes, so that expressions can refer to them.
    fn declare_state(&mut self, scopes: &mut Scopes) {
        for scope in &mut scopes.list {
            let module = scope.module.clone();
            for (i, signal) in module.signals.iter().enumerate() {
                if let SigKind::Reg { reset, fields } = &signal.kind {
                    let number = self.out.regs.len() as u32;
                    let q = self.node(NetOp::Reg(number), signal.width);
                    self.out.regs.push(NetReg {
                        path: scope.name(&signal.name),
                        width: signal.width,
                        reset: reset.clone(),
                        next: q,
                        ty: signal.ty.clone(),
                        fields: fields.clone(),
                    });
                    scope.regs.insert(SigId(i as u32), number);
                    scope.signals[i] = Slot::Done(q);
                }
            }
            for mem in &module.mems {
                scope.mems.push(self.out.mems.len() as u32);
                self.out.mems.push(NetMem {
                    path: scope.name(&mem.name),
                    kind: mem.kind,
                    rows: mem.rows,
                    lanes: mem.lanes,
                    lane_width: mem.lane_width(),
                    fields: mem.fields.clone(),
                    writes: Vec::new(),
                });
            }
        }
    }
}

struct Walk {
    flat: Flat,
    scopes: Scopes,
    /// Signals being resolved, for naming a loop.
    stack: Vec<(usize, SigId)>,
}

type Lowered = Result<NetId, Box<ElabError>>;

impl Walk {
    fn signal(&mut self, scope: usize, sig: SigId) -> Lowered {
        match self.scopes.list[scope].signals[sig.index()] {
            Slot::Done(id) => return Ok(id),
            Slot::Busy => return Err(self.looped(scope, sig)),
            Slot::Open => {}
        }
        self.scopes.list[scope].signals[sig.index()] = Slot::Busy;
        self.stack.push((scope, sig));
        let module = self.scopes.list[scope].module.clone();
        let value = match &module.signal(sig).kind {
            SigKind::Input => {
                let (parent, inst) =
                    self.scopes.list[scope].parent.expect("top inputs are resolved at the start");
                let instance = &self.scopes.list[parent].module.instances[inst.index()];
                let wire =
                    instance.inputs.iter().find(|(port, _)| *port == sig).expect("every input has a wire").1;
                self.signal(parent, wire)?
            }
            SigKind::Wire { default } => {
                let tree = self.scopes.list[scope].drivers.get(&sig).cloned().unwrap_or(Tree::Keep);
                self.tree(scope, &tree, *default, None)?
            }
            SigKind::Reg { .. } => unreachable!("registers are resolved when declared"),
        };
        self.stack.pop();
        self.scopes.list[scope].signals[sig.index()] = Slot::Done(value);
        Ok(value)
    }

    fn looped(&self, scope: usize, sig: SigId) -> Box<ElabError> {
        let start = self.stack.iter().position(|s| *s == (scope, sig)).unwrap_or(0);
        let describe = |&(s, id): &(usize, SigId)| {
            let scope = &self.scopes.list[s];
            let signal = scope.module.signal(id);
            format!("{} ({})", scope.name(&signal.name), signal.loc)
        };
        let mut path: Vec<String> = self.stack[start..].iter().map(describe).collect();
        path.push(path.first().cloned().unwrap_or_default());
        let module = &self.scopes.list[scope].module;
        Box::new(ElabError {
            module: module.name.clone(),
            loc: module.signal(sig).loc,
            kind: ElabErrorKind::CombinationalLoop { path: path.join(" <- ") },
        })
    }

    fn tree(&mut self, scope: usize, tree: &Tree, default: Option<NodeId>, keep: Option<NetId>) -> Lowered {
        match tree {
            Tree::Keep => match (keep, default) {
                (Some(q), _) => Ok(q),
                (None, Some(value)) => self.node(scope, value),
                (None, None) => unreachable!("the module's check found every latch"),
            },
            Tree::Value(v) => self.node(scope, *v),
            Tree::If(c, a, b) => {
                let c = self.node(scope, *c)?;
                let a = self.tree(scope, a, default, keep)?;
                let b = self.tree(scope, b, default, keep)?;
                let width = self.flat.out.node(a).width;
                Ok(self.flat.node(NetOp::Mux(c, a, b), width))
            }
            Tree::Switch(sel, arms, other) => {
                let sel = self.node(scope, *sel)?;
                let mut out = Vec::new();
                for (codes, arm) in arms {
                    out.push((codes.clone(), self.tree(scope, arm, default, keep)?));
                }
                let default = self.tree(scope, other, default, keep)?;
                let width = self.flat.out.node(default).width;
                Ok(self.flat.node(NetOp::Case { sel, arms: out, default }, width))
            }
        }
    }

    fn node(&mut self, scope: usize, id: NodeId) -> Lowered {
        if let Slot::Done(net) = self.scopes.list[scope].nodes[id.index()] {
            return Ok(net);
        }
        let module = self.scopes.list[scope].module.clone();
        let node = module.node(id);
        let net = self.operation(scope, &node.op, node.width)?;
        self.scopes.list[scope].nodes[id.index()] = Slot::Done(net);
        Ok(net)
    }

    fn operation(&mut self, scope: usize, op: &Op, width: u32) -> Lowered {
        let two = |w: &mut Walk, a: &NodeId, b: &NodeId, make: fn(NetId, NetId) -> NetOp| -> Lowered {
            let (a, b) = (w.node(scope, *a)?, w.node(scope, *b)?);
            Ok(w.flat.node(make(a, b), width))
        };
        let one = |w: &mut Walk, a: &NodeId, make: fn(NetId) -> NetOp| -> Lowered {
            let a = w.node(scope, *a)?;
            Ok(w.flat.node(make(a), width))
        };
        match op {
            Op::Const(v) => Ok(self.flat.literal(v.clone())),
            Op::Sig(s) => self.signal(scope, *s),
            Op::InstOut { inst, port } => {
                let child = self.scopes.list[scope].children[inst.index()];
                self.signal(child, *port)
            }
            Op::Not(a) => one(self, a, NetOp::Not),
            Op::AnyBit(a) => one(self, a, NetOp::AnyBit),
            Op::AllBits(a) => one(self, a, NetOp::AllBits),
            Op::Parity(a) => one(self, a, NetOp::Parity),
            Op::PopCount(a) => one(self, a, NetOp::PopCount),
            Op::LowestSet(a) => one(self, a, NetOp::LowestSet),
            Op::And(a, b) => two(self, a, b, NetOp::And),
            Op::Or(a, b) => two(self, a, b, NetOp::Or),
            Op::Xor(a, b) => two(self, a, b, NetOp::Xor),
            Op::Add(a, b) => two(self, a, b, NetOp::Add),
            Op::Sub(a, b) => two(self, a, b, NetOp::Sub),
            Op::Mul(a, b) => two(self, a, b, NetOp::Mul),
            Op::Eq(a, b) => two(self, a, b, NetOp::Eq),
            Op::Lt(a, b) => two(self, a, b, NetOp::Lt),
            Op::Shl(a, b) => two(self, a, b, NetOp::Shl),
            Op::Shr(a, b) => two(self, a, b, NetOp::Shr),
            Op::Index { a, idx } => two(self, a, idx, |a, idx| NetOp::Index { a, idx }),
            Op::Slice { a, lo } => {
                let a = self.node(scope, *a)?;
                Ok(self.flat.node(NetOp::Slice { a, lo: *lo }, width))
            }
            Op::Mux(c, a, b) => {
                let (c, a, b) = (self.node(scope, *c)?, self.node(scope, *a)?, self.node(scope, *b)?);
                Ok(self.flat.node(NetOp::Mux(c, a, b), width))
            }
            Op::Concat(parts) => {
                let parts: Result<Vec<NetId>, Box<ElabError>> =
                    parts.iter().map(|p| self.node(scope, *p)).collect();
                Ok(self.flat.node(NetOp::Concat(parts?), width))
            }
            Op::MemRead { mem, addr, lane } => {
                let addr = self.node(scope, *addr)?;
                let lane = match lane {
                    LaneSel::Row => NetLane::Row,
                    LaneSel::Const(i) => NetLane::Const(*i),
                    LaneSel::Dyn(n) => {
                        let n = self.node(scope, *n)?;
                        let lanes = self.scopes.list[scope].module.mems[mem.index()].lanes;
                        match self.flat.constant(n).and_then(Bv::to_u64) {
                            Some(i) if i < u64::from(lanes) => NetLane::Const(i as u32),
                            _ => NetLane::Dyn(n),
                        }
                    }
                };
                let mem = self.scopes.list[scope].mems[mem.index()];
                Ok(self.flat.node(NetOp::MemRead { mem, addr, lane }, width))
            }
        }
    }

    fn finish(&mut self, root: usize) -> Result<(), Box<ElabError>> {
        for scope in 0..self.scopes.list.len() {
            self.finish_registers(scope)?;
            self.finish_memories(scope)?;
            self.finish_probes(scope)?;
            self.finish_names(scope)?;
        }
        let top = self.scopes.list[root].module.clone();
        for (id, signal) in top.outputs() {
            let node = self.signal(root, id)?;
            let (name, ty) = (signal.name.clone(), signal.ty.clone());
            self.flat.out.outputs.push(NetPort { name, width: signal.width, ty, node });
        }
        Ok(())
    }

    fn finish_registers(&mut self, scope: usize) -> Result<(), Box<ElabError>> {
        let mut regs: Vec<(SigId, u32)> =
            self.scopes.list[scope].regs.iter().map(|(s, r)| (*s, *r)).collect();
        regs.sort();
        for (sig, number) in regs {
            let tree = self.scopes.list[scope].drivers.get(&sig).cloned().unwrap_or(Tree::Keep);
            let q = self.signal(scope, sig)?;
            self.flat.out.regs[number as usize].next = self.tree(scope, &tree, None, Some(q))?;
        }
        Ok(())
    }

    fn finish_memories(&mut self, scope: usize) -> Result<(), Box<ElabError>> {
        let module = self.scopes.list[scope].module.clone();
        for (i, mem) in module.mems.iter().enumerate() {
            for port in &mem.write_ports {
                let en = self.signal(scope, port.en)?;
                let addr = self.signal(scope, port.addr)?;
                let mode = match port.mode {
                    WriteMode::Row { mask, data } => {
                        NetWriteMode::Row { mask: self.signal(scope, mask)?, data: self.signal(scope, data)? }
                    }
                    WriteMode::Lane { lane, data } => NetWriteMode::Lane {
                        lane: self.signal(scope, lane)?,
                        data: self.signal(scope, data)?,
                    },
                };
                let number = self.scopes.list[scope].mems[i] as usize;
                self.flat.out.mems[number].writes.push(NetWrite { en, addr, mode });
            }
        }
        Ok(())
    }

    fn finish_probes(&mut self, scope: usize) -> Result<(), Box<ElabError>> {
        let module = self.scopes.list[scope].module.clone();
        for probe in &module.probes {
            let cond = self.node(scope, probe.cond)?;
            let amount = probe.amount.map(|a| self.node(scope, a)).transpose()?;
            let about = probe.about.map(|a| self.node(scope, a)).transpose()?;
            self.flat.out.probes.push(NetProbe {
                scope: self.scopes.list[scope].path.clone(),
                name: probe.name.clone(),
                kind: probe.kind,
                cond,
                amount,
                about,
                text: probe.text.clone(),
                at: probe.loc.to_string(),
            });
        }
        Ok(())
    }

    fn finish_names(&mut self, scope: usize) -> Result<(), Box<ElabError>> {
        let module = self.scopes.list[scope].module.clone();
        for (i, signal) in module.signals.iter().enumerate() {
            let is_top_port =
                self.scopes.list[scope].parent.is_none() && (signal.output || signal.kind == SigKind::Input);
            if matches!(signal.kind, SigKind::Reg { .. }) || is_top_port {
                continue;
            }
            let node = self.signal(scope, SigId(i as u32))?;
            self.name(scope, &signal.name, node, &signal.ty);
        }
        for (i, node) in module.nodes.iter().enumerate() {
            if let Some(name) = &node.name {
                let net = self.node(scope, NodeId(i as u32))?;
                self.name(scope, name, net, &node.ty);
            }
        }
        Ok(())
    }

    fn name(&mut self, scope: usize, local: &str, node: NetId, ty: &LeafType) {
        let path = self.scopes.list[scope].name(local);
        self.flat.out.names.push(NetName { path, node, ty: ty.clone() });
    }
}

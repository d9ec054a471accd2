//! Makes a module small: outputs, statements and expressions go as long as something is still shown.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use weft_rtl::bv::Bv;
use weft_rtl::ir::*;

/// One thing less in a module.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Cut {
    /// It is no output any more.
    Output(SigId),
    /// The statement of this number, counted from the first with all inside it.
    Statement(u32),
    /// The expression is zero.
    Zero(NodeId),
    /// The expression is what one of its operands is.
    Through(NodeId, NodeId),
}

/// A cut in the module of this name.
type Place = (String, Cut);

/// Times that all cuts are tried.
const ROUNDS: u32 = 3;

/// Cuts a module and its parts as long as `fails` holds, which is asked at most `runs` times; what is left,
/// and how often it was asked. Observers go without being asked for.
pub fn reduce(
    module: &Arc<Module>,
    runs: u32,
    fails: &mut dyn FnMut(&Arc<Module>) -> bool,
) -> (Arc<Module>, u32) {
    let mut shrink = Shrink { left: runs, fails };
    let start = everywhere(module, &prepared);
    if !shrink.shows(&start) {
        return (module.clone(), runs - shrink.left);
    }
    let mut best = start;
    for _ in 0..ROUNDS {
        let before = shrink.left;
        let mut cut = false;
        for list in [outputs, statements, zeros, throughs] {
            let mut places = Vec::new();
            each(&best, &mut BTreeSet::new(), &mut |module| {
                places.extend(
                    list(module, module.name == best.name).into_iter().map(|cut| (module.name.clone(), cut)),
                );
            });
            let gone = shrink.cut(&best, &places);
            cut |= !gone.is_empty();
            best = without(&best, &gone);
        }
        if !cut || shrink.left == 0 || shrink.left == before {
            break;
        }
    }
    for inputs in [true, false] {
        let tidy = everywhere(&best, &|module| tidied(module, inputs && module.name == best.name));
        // One run more is worth a short text.
        shrink.left = shrink.left.max(1);
        if shrink.shows(&tidy) {
            best = tidy;
            break;
        }
    }
    (best, runs.saturating_sub(shrink.left))
}

struct Shrink<'a> {
    left: u32,
    fails: &'a mut dyn FnMut(&Arc<Module>) -> bool,
}

impl Shrink<'_> {
    fn shows(&mut self, module: &Arc<Module>) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        (self.fails)(module)
    }

    /// The places that can go together: halves first, then smaller and smaller groups.
    fn cut(&mut self, module: &Arc<Module>, places: &[Place]) -> BTreeSet<Place> {
        let mut gone = BTreeSet::new();
        let mut size = places.len();
        while size > 0 && self.left > 0 {
            for group in places.chunks(size) {
                let more: BTreeSet<Place> = gone.iter().chain(group).cloned().collect();
                if more.len() > gone.len() && self.shows(&without(module, &more)) {
                    gone = more;
                }
            }
            size /= 2;
        }
        gone
    }
}

/// Calls `f` for a module and its parts, each once.
fn each(module: &Module, seen: &mut BTreeSet<String>, f: &mut dyn FnMut(&Module)) {
    if seen.insert(module.name.clone()) {
        f(module);
        module.instances.iter().for_each(|inst| each(&inst.module, seen, f));
    }
}

/// The module with a change of itself and of its parts; those of one name are one, before and after.
fn everywhere(module: &Arc<Module>, change: &dyn Fn(&mut Module)) -> Arc<Module> {
    fn walk(
        module: &Arc<Module>,
        change: &dyn Fn(&mut Module),
        done: &mut HashMap<String, Arc<Module>>,
    ) -> Arc<Module> {
        if let Some(made) = done.get(&module.name) {
            return made.clone();
        }
        let mut out = Module::clone(module);
        for inst in &mut out.instances {
            inst.module = walk(&inst.module, change, done);
        }
        change(&mut out);
        let out = Arc::new(out);
        done.insert(module.name.clone(), out.clone());
        out
    }
    walk(module, change, &mut HashMap::new())
}

/// Without observers; every wire that statements drive has a default, so that they can go one by one.
fn prepared(module: &mut Module) {
    module.probes.clear();
    if module.kind == ModuleKind::Fabric {
        return;
    }
    for at in 0..module.signals.len() {
        if module.signals[at].kind == (SigKind::Wire { default: None }) {
            module.signals[at].kind = zero_wire(module, at);
        }
    }
}

/// A wire of the width of signal `at` that is zero where nothing drives it.
fn zero_wire(module: &mut Module, at: usize) -> SigKind {
    let Signal { width, loc, .. } = module.signals[at];
    let op = Op::Const(Bv::zero(width));
    module.nodes.push(Node { op, width, name: None, ty: LeafType::Bits, loc });
    SigKind::Wire { default: Some(NodeId(module.nodes.len() as u32 - 1)) }
}

fn outputs(module: &Module, top: bool) -> Vec<Cut> {
    module.outputs().filter(|_| top).map(|(id, _)| Cut::Output(id)).collect()
}

/// All statements but those of a fabric, which are its connections, and of an SRAM's address register, which
/// has no reset.
fn statements(module: &Module, _: bool) -> Vec<Cut> {
    fn walk(body: &[Stmt], module: &Module, next: &mut u32, out: &mut Vec<Cut>) {
        for stmt in body {
            let number = *next;
            *next += 1;
            match stmt {
                Stmt::Assign { target, .. } => {
                    if matches!(module.signal(*target).kind, SigKind::Reg { reset: None, .. }) {
                        continue;
                    }
                }
                Stmt::If { then, els, .. } => {
                    walk(then, module, next, out);
                    walk(els, module, next, out);
                }
                Stmt::Switch { arms, default, .. } => {
                    arms.iter().for_each(|(_, arm)| walk(arm, module, next, out));
                    walk(default, module, next, out);
                }
            }
            out.push(Cut::Statement(number));
        }
    }
    let mut out = Vec::new();
    if module.kind != ModuleKind::Fabric {
        walk(&module.body, module, &mut 0, &mut out);
    }
    out
}

fn zeros(module: &Module, _: bool) -> Vec<Cut> {
    let all = module.nodes.iter().enumerate();
    let others = all.filter(|(_, node)| !matches!(&node.op, Op::Const(value) if value.is_zero()));
    others.map(|(at, _)| Cut::Zero(NodeId(at as u32))).collect()
}

fn throughs(module: &Module, _: bool) -> Vec<Cut> {
    let mut out = Vec::new();
    for (at, node) in module.nodes.iter().enumerate() {
        let operands = match &node.op {
            Op::Not(a) | Op::Shl(a, _) | Op::Shr(a, _) => vec![*a],
            Op::And(a, b)
            | Op::Or(a, b)
            | Op::Xor(a, b)
            | Op::Add(a, b)
            | Op::Sub(a, b)
            | Op::Mul(a, b)
            | Op::Mux(_, a, b) => vec![*a, *b],
            _ => Vec::new(),
        };
        out.extend(operands.into_iter().map(|operand| Cut::Through(NodeId(at as u32), operand)));
    }
    out
}

/// The module without these places.
fn without(module: &Arc<Module>, gone: &BTreeSet<Place>) -> Arc<Module> {
    everywhere(module, &|module| {
        let own: Vec<Cut> =
            gone.iter().filter(|(name, _)| *name == module.name).map(|(_, cut)| *cut).collect();
        let before = module.clone();
        let mut numbers = BTreeSet::new();
        for cut in own {
            match cut {
                Cut::Output(id) => module.signals[id.index()].output = false,
                Cut::Statement(number) => drop(numbers.insert(number)),
                Cut::Zero(id) => {
                    let node = &mut module.nodes[id.index()];
                    node.op = Op::Const(Bv::zero(node.width));
                    (node.name, node.ty) = (None, LeafType::Bits);
                }
                Cut::Through(id, operand) => {
                    module.nodes[id.index()].op = before.node(operand).op.clone();
                }
            }
        }
        if module.kind != ModuleKind::Fabric {
            drop_statements(&mut module.body, &mut 0, &|number, _| numbers.contains(&number));
        }
    })
}

/// Drops the statements for which `gone` holds, and choices in which nothing is left.
fn drop_statements(body: &mut Vec<Stmt>, next: &mut u32, gone: &dyn Fn(u32, &Stmt) -> bool) {
    body.retain_mut(|stmt| {
        let goes = gone(*next, stmt);
        *next += 1;
        let left = match stmt {
            Stmt::Assign { .. } => true,
            Stmt::If { then, els, .. } => {
                drop_statements(then, next, gone);
                drop_statements(els, next, gone);
                !then.is_empty() || !els.is_empty()
            }
            Stmt::Switch { arms, default, .. } => {
                arms.iter_mut().for_each(|(_, arm)| drop_statements(arm, next, gone));
                drop_statements(default, next, gone);
                !default.is_empty() || arms.iter().any(|(_, arm)| !arm.is_empty())
            }
        };
        left && !goes
    });
}

/// Drops memories, instances and signals that nothing reads; with `inputs` also inputs.
fn tidied(module: &mut Module, inputs: bool) {
    let read = |op: &dyn Fn(&Op) -> bool| module.nodes.iter().any(|node| op(&node.op));
    let mems: Vec<bool> = (0..module.mems.len() as u32)
        .map(|at| read(&|op| matches!(op, Op::MemRead { mem, .. } if mem.0 == at)))
        .collect();
    let insts: Vec<bool> = (0..module.instances.len() as u32)
        .map(|at| read(&|op| matches!(op, Op::InstOut { inst, .. } if inst.0 == at)))
        .collect();
    let place = |kept: &[bool], at: u32| kept[..at as usize].iter().filter(|kept| **kept).count() as u32;
    for node in &mut module.nodes {
        match &mut node.op {
            Op::MemRead { mem, .. } => mem.0 = place(&mems, mem.0),
            Op::InstOut { inst, .. } => inst.0 = place(&insts, inst.0),
            _ => {}
        }
    }
    let (mut mem, mut inst) = (mems.iter(), insts.iter());
    module.mems.retain(|_| mem.next() == Some(&true));
    module.instances.retain(|_| inst.next() == Some(&true));
    let used = signals_used(module);
    drop_statements(
        &mut module.body,
        &mut 0,
        &|_, stmt| matches!(stmt, Stmt::Assign { target, .. } if !used.contains(target)),
    );
    for at in (0..module.signals.len()).filter(|at| !used.contains(&SigId(*at as u32))) {
        let goes = match module.signals[at].kind {
            SigKind::Input => inputs,
            SigKind::Reg { .. } => true,
            SigKind::Wire { .. } => false,
        };
        if goes {
            module.signals[at].kind = zero_wire(module, at);
        }
    }
}

/// Signals that are read, go out, or belong to a memory or an instance.
fn signals_used(module: &Module) -> BTreeSet<SigId> {
    let reads = module.nodes.iter().filter_map(|node| match node.op {
        Op::Sig(id) => Some(id),
        _ => None,
    });
    let mut used: BTreeSet<SigId> = reads.chain(module.outputs().map(|(id, _)| id)).collect();
    for inst in &module.instances {
        used.extend(inst.inputs.iter().map(|(_, wire)| *wire));
    }
    for mem in &module.mems {
        used.extend(mem.read_ports.iter().flat_map(|port| [port.addr, port.addr_q]));
        for port in &mem.write_ports {
            let (WriteMode::Row { mask: select, data } | WriteMode::Lane { lane: select, data }) = port.mode;
            used.extend([port.en, port.addr, select, data]);
        }
    }
    used
}

//! Where a module can be changed.

use super::behind::Behind;
use super::live::Live;
use super::{Kind, Mutant};
use crate::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};

/// A place in a module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// An expression.
    Node(NodeId),
    /// A statement, by its number: a statement comes before those in it.
    Stmt(u32),
}

/// A kind of change without the number of a bit: places are counted by it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Class(&'static str);

impl Class {
    pub fn of(kind: Kind) -> Class {
        match kind {
            Kind::Stuck { .. } => Class("stuck"),
            _ => Class(kind.name()),
        }
    }
}

/// A place with what fits it.
pub(super) struct Site {
    pub place: Place,
    pub loc: Loc,
    pub class: Class,
    pub nth: u32,
    pub kinds: Vec<Kind>,
}

/// All mutants of a module, in an order that only depends on its description. Of a value with several bits the lowest, the middle and the highest one are stuck.
pub fn sites(module: &Module) -> Vec<Mutant> {
    let of = |site: Site| {
        let (name, Loc { file, line }) = (module.name.clone(), site.loc);
        site.kinds.into_iter().map(move |kind| Mutant {
            module: name.clone(),
            file: file.to_string(),
            line,
            nth: site.nth,
            kind,
        })
    };
    found(module).into_iter().flat_map(of).collect()
}

/// The place that a mutant changes.
pub(super) fn place(module: &Module, mutant: &Mutant) -> Option<Place> {
    let class = Class::of(mutant.kind);
    let here = |site: &Site| {
        (site.class, site.nth, site.loc.line) == (class, mutant.nth, mutant.line)
            && site.loc.file == mutant.file
    };
    let place = found(module).into_iter().find(here)?.place;
    match (mutant.kind, place) {
        (Kind::Stuck { bit, .. }, Place::Node(id)) if bit >= module.node(id).width => None,
        _ => Some(place),
    }
}

/// All places, with numbers. A fabric has none: it only wires its instances.
pub(super) fn found(module: &Module) -> Vec<Site> {
    if module.kind == ModuleKind::Fabric {
        return Vec::new();
    }
    let live = Live::of(module);
    let mut finder = Finder {
        module,
        live: &live,
        behind: Behind::new(module, &live),
        enables: module.mems.iter().flat_map(|m| m.write_ports.iter().map(|p| p.en)).collect(),
        states: FxHashSet::default(),
        passed: passed(module),
        counts: FxHashMap::default(),
        out: Vec::new(),
    };
    finder.statements(&module.body, &mut 0);
    for at in (0..module.nodes.len()).filter(|at| live.nodes[*at]) {
        finder.node(NodeId(at as u32));
    }
    finder.out
}

/// Values that outputs pass on: the outputs of a block are registers, so no logic may come between.
fn passed(module: &Module) -> FxHashSet<NodeId> {
    let mut targets: FxHashSet<SigId> = module.outputs().map(|(id, _)| id).collect();
    let mut out = FxHashSet::default();
    loop {
        let before = out.len();
        for stmt in &module.body {
            if let Stmt::Assign { target, value, .. } = stmt
                && targets.contains(target)
                && matches!(module.signal(*target).kind, SigKind::Wire { .. })
            {
                match module.node(*value).op {
                    Op::Sig(sig) => drop(targets.insert(sig)),
                    Op::InstOut { .. } => {}
                    _ => continue,
                }
                out.insert(*value);
            }
        }
        if out.len() == before {
            return out;
        }
    }
}

/// Looks at one thing after the other.
struct Finder<'a> {
    module: &'a Module,
    live: &'a Live,
    behind: Behind<'a>,
    /// Enables of write ports.
    enables: FxHashSet<SigId>,
    /// Constants that an enumeration takes.
    states: FxHashSet<NodeId>,
    /// Values that outputs pass on.
    passed: FxHashSet<NodeId>,
    counts: FxHashMap<(&'static str, u32, Class), u32>,
    out: Vec<Site>,
}

impl Finder<'_> {
    /// Adds a place; of a statement `target` is what it assigns.
    fn add(&mut self, place: Place, loc: Loc, target: Option<SigId>, kinds: Vec<Kind>) {
        let Some(first) = kinds.first() else { return };
        let node = match place {
            Place::Node(id) => Some(id),
            Place::Stmt(_) => None,
        };
        let loc = self.behind.line(loc, node, target);
        let class = Class::of(*first);
        let count = self.counts.entry((loc.file, loc.line, class)).or_default();
        let nth = std::mem::replace(count, *count + 1);
        self.out.push(Site { place, loc, class, nth, kinds });
    }

    fn statements(&mut self, stmts: &[Stmt], number: &mut u32) {
        for stmt in stmts {
            let place = Place::Stmt(*number);
            *number += 1;
            match stmt {
                Stmt::Assign { target, value, loc } => self.assignment(place, *target, *value, *loc),
                Stmt::If { then, els, loc, .. } => {
                    if let Some(target) = self.first(then).or_else(|| self.first(els)) {
                        self.add(place, *loc, Some(target), vec![Kind::Negated]);
                    }
                    self.statements(then, number);
                    self.statements(els, number);
                }
                Stmt::Switch { arms, default, .. } => {
                    arms.iter().for_each(|(_, body)| self.statements(body, number));
                    self.statements(default, number);
                }
            }
        }
    }

    /// The first signal that statements assign and an output depends on.
    fn first(&self, stmts: &[Stmt]) -> Option<SigId> {
        stmts.iter().find_map(|stmt| match stmt {
            Stmt::Assign { target, .. } => Some(*target).filter(|target| self.live.signals[target.index()]),
            Stmt::If { then, els, .. } => self.first(then).or_else(|| self.first(els)),
            Stmt::Switch { arms, default, .. } => {
                arms.iter().find_map(|(_, body)| self.first(body)).or_else(|| self.first(default))
            }
        })
    }

    fn assignment(&mut self, place: Place, target: SigId, value: NodeId, loc: Loc) {
        if !self.live.signals[target.index()] {
            return;
        }
        let signal = self.module.signal(target);
        let keeps = matches!(self.module.node(value).op, Op::Sig(sig) if sig == target);
        match signal.kind {
            SigKind::Reg { reset: Some(_), .. } if !keeps => {
                self.add(place, loc, Some(target), vec![Kind::Stale])
            }
            SigKind::Wire { default: Some(_) } if self.enables.contains(&target) && !self.is_zero(value) => {
                self.add(place, loc, Some(target), vec![Kind::DroppedWrite]);
            }
            _ => {}
        }
        if matches!(signal.ty, LeafType::Enum(_)) {
            self.taken(value);
        }
    }

    fn is_zero(&self, id: NodeId) -> bool {
        matches!(&self.module.node(id).op, Op::Const(v) if v.is_zero())
    }

    fn is_const(&self, id: NodeId) -> bool {
        matches!(self.module.node(id).op, Op::Const(_))
    }

    /// Notes the constants among which choices choose a value.
    fn taken(&mut self, value: NodeId) {
        match &self.module.node(value).op {
            Op::Const(_) => {
                self.states.insert(value);
            }
            Op::Mux(_, a, b) => {
                let (a, b) = (*a, *b);
                self.taken(a);
                self.taken(b);
            }
            _ => {}
        }
    }

    fn node(&mut self, id: NodeId) {
        let node = self.module.node(id);
        let (place, loc, width) = (Place::Node(id), node.loc, node.width);
        let mut fits = Vec::new();
        match &node.op {
            Op::Const(_) => {
                if let LeafType::Enum(ty) = &node.ty
                    && ty.variants.len() > 1
                    && self.states.contains(&id)
                {
                    self.add(place, loc, None, vec![Kind::SkippedState]);
                }
                return;
            }
            Op::And(a, b) | Op::Or(a, b) if a != b && !self.is_const(*a) && !self.is_const(*b) => {
                fits.push(Kind::AndOr);
            }
            Op::Sub(a, b) if a != b => fits.extend([Kind::Swapped, Kind::OffByOne]),
            Op::Lt(a, b) if a != b => fits.extend([Kind::Swapped, Kind::OffByOne]),
            Op::Add(..) if width > 1 => fits.push(Kind::OffByOne),
            Op::Eq(a, b) if a != b => {
                fits.push(Kind::Negated);
                if self.module.node(*a).width > 1 && (self.is_const(*a) || self.is_const(*b)) {
                    fits.push(Kind::OffByOne);
                }
            }
            Op::Mux(_, a, b) if a != b => fits.push(Kind::Negated),
            Op::Concat(parts) if swappable(self.module, parts).is_some() => fits.push(Kind::Swapped),
            Op::Slice { a, lo } if beside(self.module.node(*a).width, *lo, width).is_some() => {
                fits.push(Kind::WrongSlice);
            }
            _ => {}
        }
        for kind in fits {
            self.add(place, loc, None, vec![kind]);
        }
        if self.passed.contains(&id) {
            return;
        }
        let mut bits = vec![0, width / 2, width - 1];
        bits.dedup();
        let both = |bit| [false, true].map(|one| Kind::Stuck { bit, one });
        self.add(place, loc, None, bits.into_iter().flat_map(both).collect());
    }
}

/// The first two neighbours in a concatenation that have one width and are not the same.
pub(super) fn swappable(module: &Module, parts: &[NodeId]) -> Option<usize> {
    let same = |a: NodeId, b: NodeId| match (&module.node(a).op, &module.node(b).op) {
        (Op::Const(x), Op::Const(y)) => x == y,
        _ => a == b,
    };
    parts
        .windows(2)
        .position(|pair| module.node(pair[0]).width == module.node(pair[1]).width && !same(pair[0], pair[1]))
}

/// Where a slice begins that begins one bit beside.
pub(super) fn beside(of: u32, lo: u32, width: u32) -> Option<u32> {
    if lo + width < of { Some(lo + 1) } else { lo.checked_sub(1) }
}

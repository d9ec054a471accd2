//! C11 as repaired by RC11 (Lahav et al., PLDI 2017), and the same with scopes and with memory of a
//! work-group's own for OpenCL.
//!
//! With scopes, synchronisation needs scopes that include each other, sequential consistency holds among such
//! accesses only, and happens-before is kept apart for global and for local memory: a release on local memory
//! publishes nothing that was written to global memory. A fence or a barrier orders the memory that it names.
//!
//! A program with a data race has no meaning in either; its executions are judged like the others.

use crate::execution::Execution;
use crate::paths::{Event, Kind};
use crate::relation::{Rel, Set, union};

struct Rc11<'a> {
    x: &'a Execution<'a>,
    /// Pairs that may synchronise.
    reach: Rel,
    same: Rel,
    eco: Rel,
}

/// Whether an execution is possible; `scoped` with OpenCL's scopes and regions.
pub fn allows(x: &Execution, scoped: bool) -> bool {
    let all = Rel::cross(x.len(), u64::MAX, u64::MAX);
    let reach = if scoped { x.inclusive() } else { all };
    let c = Rc11 { x, reach, same: x.same_loc(), eco: x.com().plus() };
    // Without this, values could come out of nothing.
    if !x.atomic() || !x.po.or(&x.rf).acyclic() {
        return false;
    }
    let global = x.region(false);
    let local = x.region(true);
    let parts: &[Set] = if scoped { &[global, local] } else { &[u64::MAX] };
    let orders: Vec<Rel> = parts.iter().map(|part| c.before(*part)).collect();
    orders.iter().all(|hb| hb.irreflexive() && hb.then(&c.eco).irreflexive()) && c.sequential(&union(&orders))
}

fn atomic(e: &Event) -> bool {
    e.thread.is_none() || e.attr.atomic()
}

impl Rc11<'_> {
    /// Happens-before among events of one kind of memory.
    fn before(&self, part: Set) -> Rel {
        let x = self.x;
        let (writes, reads) =
            (x.set(|e| e.kind == Kind::Write && atomic(e)), x.set(|e| e.kind == Kind::Read && atomic(e)));
        let sequence = x.po.and(&self.same).opt().from(writes).to(writes);
        let sequence = sequence.then(&x.rf.then(&x.rmw).star());
        let releases = x.set(|e| e.attr.releases() && e.kind != Kind::Read);
        let acquires = x.set(|e| e.attr.acquires() && e.kind != Kind::Write);
        let fences = x.fences();
        let none = Rel::identity(x.len(), u64::MAX);
        let release = none.or(&x.po.from(fences)).from(releases).to(writes);
        let acquire = none.or(&x.po.to(fences)).to(acquires).from(reads);
        let sync = release.then(&sequence).then(&x.rf.to(reads)).then(&acquire).and(&self.reach);
        let first = Rel::cross(x.len(), x.initial(), !x.initial());
        let met = x.met(part);
        union([&x.po, &sync, &first, &met]).from(part).to(part).plus()
    }

    /// Sequentially consistent accesses and fences have one order.
    fn sequential(&self, hb: &Rel) -> bool {
        let x = self.x;
        let sc = x.set(|e| e.attr.sc && e.kind != Kind::Fence);
        let fences = x.set(|e| e.attr.sc && e.kind == Kind::Fence);
        let away = x.po.minus(&self.same);
        let scb = union([&x.po, &away.then(hb).then(&away), &hb.and(&self.same), &x.co, &x.fr]);
        let one = Rel::identity(x.len(), sc);
        let head = one.or(&hb.opt().from(fences));
        let tail = one.or(&hb.opt().to(fences));
        let base = head.then(&scb).then(&tail);
        let fenced = hb.or(&hb.then(&self.eco).then(hb)).from(fences).to(fences);
        base.or(&fenced).and(&self.reach).acyclic()
    }
}

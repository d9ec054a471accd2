//! PTX with scopes: one proxy, accesses of whole words.
//!
//! Coherence is partial: two writes to a word that are neither morally strong nor ordered by causality have no order, so that nothing follows from seeing them in
//! either. The order of `fence.sc` operations is tried in every way.

use crate::execution::Execution;
use crate::paths::Kind;
use crate::relation::{Rel, Set, union};

struct Ptx<'a> {
    x: &'a Execution<'a>,
    strong: Rel,
    obs: Rel,
    sync: Rel,
    same: Rel,
}

/// Whether an execution is possible.
pub fn allows(x: &Execution) -> bool {
    let same = x.same_loc();
    let is_strong = x.set(|e| e.thread.is_none() || e.attr.atomic() || e.kind == Kind::Fence);
    let both = Rel::cross(x.len(), is_strong, is_strong).and(&x.inclusive());
    let related = both.or(&x.po).or(&x.po.inverse());
    let apart = x.pairs(|a, b| a.kind != Kind::Fence && b.kind != Kind::Fence && a.loc != b.loc);
    let strong = related.minus(&apart);
    let read_by = x.rf.and(&strong);
    let obs = read_by.then(&x.rmw.then(&read_by).star());
    let ptx = Ptx { x, sync: synchronizes(x, &strong, &obs, &same, is_strong), strong, obs, same };
    // A cycle of dependences and reads is impossible whatever the orders are.
    if !x.rf.or(&x.dep()).acyclic() {
        return false;
    }
    let fences: Vec<usize> =
        (0..x.len()).filter(|n| x.events[*n].kind == Kind::Fence && x.events[*n].attr.sc).collect();
    ptx.any_order(&fences, &mut Vec::new())
}

/// From the first operation of a release pattern to the last one of an acquire pattern that sees it.
fn synchronizes(x: &Execution, strong: &Rel, obs: &Rel, same: &Rel, is_strong: Set) -> Rel {
    let (reads, writes) = (x.reads() & is_strong, x.writes() & is_strong);
    let releases = x.set(|e| e.attr.releases() && e.kind != Kind::Read);
    let acquires = x.set(|e| e.attr.acquires() && e.kind != Kind::Write);
    let here = x.po.and(same).opt();
    let fenced = x.fences();
    let release = here.from(releases & writes).or(&x.po.from(releases & fenced)).to(writes);
    let acquire = here.to(acquires & reads).or(&x.po.to(acquires & fenced)).from(reads);
    release.then(obs).then(&acquire).and(strong)
}

impl Ptx<'_> {
    /// Whether some order of the `fence.sc` operations that goes on from this one makes it possible.
    fn any_order(&self, left: &[usize], order: &mut Vec<usize>) -> bool {
        if left.is_empty() {
            let mut fences = Rel::empty(self.x.len());
            for (place, a) in order.iter().enumerate() {
                order[place + 1..].iter().for_each(|b| fences.add(*a, *b));
            }
            return self.holds(&fences.and(&self.strong));
        }
        (0..left.len()).any(|n| {
            let mut rest = left.to_vec();
            order.push(rest.remove(n));
            let found = self.any_order(&rest, order);
            order.pop();
            found
        })
    }

    fn holds(&self, fences: &Rel) -> bool {
        let x = self.x;
        let base = union([&x.po, &self.sync, fences]).plus();
        let cause = base.or(&self.obs.then(&base));
        let writes = Rel::cross(x.len(), x.writes(), x.writes()).and(&self.same);
        let ordered = cause.and(&writes);
        if !ordered.minus(&x.co).is_empty() || !fences.then(&cause).irreflexive() {
            return false;
        }
        let first = Rel::cross(x.len(), x.initial(), u64::MAX);
        let known = union([&self.strong, &ordered, &first]);
        let co = x.co.and(&known).plus();
        let fr = x.rf.inverse().then(&co).minus(&Rel::identity(x.len(), u64::MAX));
        let com = union([&x.rf, &co, &fr]).and(&self.strong);
        com.or(&x.po.and(&self.same)).acyclic()
            && x.rmw.and(&fr.and(&self.strong).then(&co.and(&self.strong))).is_empty()
            && x.rf.or(&fr).then(&cause).irreflexive()
    }
}

//! PTX with scopes and proxies (PTX ISA, "Memory Consistency Model"), accesses of whole words.
//!
//! Coherence is partial: two writes to a word that are neither morally strong nor ordered by causality have no order, so that nothing follows from seeing them in
//! either. The order of `fence.sc` operations is tried in every way.
//!
//! Base causality orders accesses of one address by the generic proxy, or by one proxy and within one CTA.
//! Accesses by other proxies are ordered where a fence of their proxy lies on the way, in their own CTA;
//! accesses by different virtual addresses of a word, where a `fence.proxy.alias` does.

use crate::execution::Execution;
use crate::paths::{Event, Kind, accesses_of};
use crate::relation::{Rel, Set, union};
use crate::test::{Attr, Instr, Proxy, Test};

struct Ptx<'a> {
    x: &'a Execution<'a>,
    strong: Rel,
    obs: Rel,
    sync: Rel,
    same: Rel,
    /// Accesses of one word by one proxy and one virtual address.
    way: Rel,
}

/// Whether an execution is possible.
pub fn allows(x: &Execution) -> bool {
    let same = x.same_loc();
    let address = x.pairs(|a, b| access(a) && access(b) && virtual_address(a) == virtual_address(b));
    let way = address.and(&x.pairs(|a, b| a.attr.proxy == b.attr.proxy || initial(a) || initial(b)));
    let is_strong = x.set(|e| e.thread.is_none() || e.attr.atomic() || e.kind == Kind::Fence);
    let both = Rel::cross(x.len(), is_strong, is_strong).and(&x.inclusive());
    let related = both.or(&x.po).or(&x.po.inverse());
    let apart = x.pairs(|a, b| access(a) && access(b)).minus(&way);
    let strong = related.minus(&apart);
    let read_by = x.rf.and(&strong);
    let obs = read_by.then(&x.rmw.then(&read_by).star());
    let ptx = Ptx { x, sync: synchronizes(x, &strong, &obs, &address, is_strong), strong, obs, same, way };
    // A cycle of dependences and reads is impossible whatever the orders are.
    if !x.rf.or(&x.dep()).acyclic() {
        return false;
    }
    let fences: Vec<usize> =
        (0..x.len()).filter(|n| x.events[*n].kind == Kind::Fence && x.events[*n].attr.sc).collect();
    ptx.any_order(&fences, &mut Vec::new())
}

/// Whether all accesses of a location are morally strong to each other, so that it is coherent.
pub(super) fn all_strong(test: &Test, loc: usize) -> bool {
    let mut all = Vec::new();
    for thread in &test.threads {
        for instr in accesses_of(thread, loc) {
            if let Instr::Load { attr, .. } | Instr::Store { attr, .. } | Instr::Rmw { attr, .. } = instr {
                all.push((thread.place, attr));
            }
        }
    }
    let strong = |attr: &Attr| attr.atomic() && attr.proxy == Proxy::Generic && attr.address == 0;
    all.iter()
        .all(|(place, attr)| strong(attr) && all.iter().all(|(other, _)| place.reaches(attr.scope, *other)))
}

fn access(e: &Event) -> bool {
    e.kind != Kind::Fence
}

fn initial(e: &Event) -> bool {
    e.thread.is_none()
}

/// Location and virtual address; an initial write is by the word's own name.
fn virtual_address(e: &Event) -> (usize, u8) {
    (e.loc, e.attr.address)
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
        let base = union([&x.po, &self.sync, fences, &x.bar]).plus();
        let kept = self.preserved(&base);
        let cause = kept.or(&self.obs.then(&kept));
        let writes = Rel::cross(x.len(), x.writes(), x.writes()).and(&self.same);
        let ordered = cause.and(&writes);
        if !ordered.minus(&x.co).is_empty() || !fences.then(&base).irreflexive() {
            return false;
        }
        let first = Rel::cross(x.len(), x.initial(), u64::MAX);
        let known = union([&self.strong, &ordered, &first]);
        let co = x.co.and(&known).plus();
        let fr = x.rf.inverse().then(&co).minus(&Rel::identity(x.len(), u64::MAX));
        let com = union([&x.rf, &co, &fr]).and(&self.strong);
        com.or(&x.po.and(&self.way)).acyclic()
            && x.rmw.and(&fr.and(&self.strong).then(&co.and(&self.strong))).is_empty()
            && x.rf.or(&fr).then(&cause).irreflexive()
    }

    /// Proxy-preserved base causality: between accesses of one word.
    fn preserved(&self, base: &Rel) -> Rel {
        let x = self.x;
        let generic = x.set(|e| access(e) && e.attr.proxy == Proxy::Generic);
        let aliases = x.set(|e| e.kind == Kind::Fence && e.attr.proxy == Proxy::Alias);
        let special = x.set(|e| e.attr.proxy != Proxy::Generic);
        let one_address = x.pairs(|a, b| access(a) && access(b) && virtual_address(a) == virtual_address(b));
        if special == 0 && x.test.aliases.is_empty() {
            return base.and(&one_address);
        }
        let place = |e: &Event| e.thread.map(|t| x.test.threads[t].place);
        let one_block = x.pairs(|a, b| place(a) == place(b));
        let one_proxy = x.pairs(|a, b| a.attr.proxy == b.attr.proxy);
        // Where an access has reached the generic proxy: at once, or behind a fence of its own proxy.
        let fenced = base.and(&one_proxy).and(&one_block);
        let own = Rel::identity(x.len(), generic);
        let fences = x.fences();
        let out = own.or(&fenced.to(fences).from(!generic));
        let into = own.or(&fenced.from(fences).to(!generic));
        let near = base.and(&one_address).and(&one_proxy).and(&one_block);
        let through = out.then(base).then(&into).and(&one_address);
        let renamed = out.then(base).to(aliases).then(base).then(&into).and(&self.same);
        union([&near, &through, &renamed])
    }
}

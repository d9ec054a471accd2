//! OpenCL 2.0 with the repaired sequential consistency of Batty, Donaldson and Wickerson, "Overhauling SC
//! atomics in C11 and OpenCL", POPL 2016: the scoped variant.
//!
//! - Happens-before is kept apart for global and for local memory. A release on one region publishes nothing
//!   of the other, unless both sides are sequentially consistent or fences of both regions.
//! - Synchronisation and sequential consistency need inclusive scopes: the *same* scope, which holds both
//!   work-items.
//! - A read of an ordinary object finds the last write that happens before it.
//! - No rule forbids load buffering, nor values out of nothing.
//!
//! A program with a data race has no meaning; its executions are judged like the others.

use crate::execution::Execution;
use crate::paths::{Event, Kind};
use crate::relation::{Rel, Set, union};
use weft_workload::op::Scope;

struct OpenCl<'a> {
    x: &'a Execution<'a>,
    /// Order of the writes to atomic objects.
    mo: Rel,
    /// Pairs of inclusive scopes.
    incl: Rel,
    ext: Rel,
    global: Set,
    local: Set,
    release: Set,
    acquire: Set,
    fences: Set,
    sc: Set,
}

/// Whether an execution is possible.
pub fn allows(x: &Execution) -> bool {
    let ext = x.ext();
    if !x.rmw.and(&x.fr.and(&ext).then(&x.co.and(&ext))).is_empty() {
        return false;
    }
    let o = OpenCl::new(x, ext);
    let (gra, lra) = (o.synchronizes(o.global), o.synchronizes(o.local));
    let across = o.across();
    let ghb = o.before(o.global, &union([&gra, &o.barriers(o.global), &lra.and(&across)]));
    let lhb = o.before(o.local, &union([&lra, &o.barriers(o.local), &gra.and(&across)]));
    let hb = ghb.or(&lhb);
    o.coherent(&ghb)
        && o.coherent(&lhb)
        && x.rf.then(&hb).irreflexive()
        && o.reads_visible(o.global, &ghb)
        && o.reads_visible(o.local, &lhb)
        && o.sequential(&hb)
}

impl<'a> OpenCl<'a> {
    fn new(x: &'a Execution<'a>, ext: Rel) -> OpenCl<'a> {
        let plain = |e: &Event| x.test.locs[e.loc].plain;
        let atomic = x.set(|e| e.kind == Kind::Write && !plain(e));
        let fences = x.fences();
        OpenCl {
            x,
            mo: x.co.from(atomic).to(atomic),
            incl: x.pairs(|a, b| inclusive(x, a, b)),
            ext,
            global: x.region(false),
            local: x.region(true),
            release: x.set(|e| e.attr.releases() && e.kind != Kind::Read),
            acquire: x.set(|e| e.attr.acquires() && e.kind != Kind::Write),
            fences,
            sc: x.set(|e| e.attr.sc),
        }
    }

    fn id(&self, set: Set) -> Rel {
        Rel::identity(self.x.len(), set)
    }

    /// What a fence orders behind it, and the operation itself.
    fn behind_fence(&self) -> Rel {
        self.x.po.from(self.fences).opt()
    }

    fn before_fence(&self) -> Rel {
        self.x.po.to(self.fences).opt()
    }

    /// From a write to those that continue its release sequence.
    fn sequence(&self) -> Rel {
        let x = self.x;
        let halves = x.set(|e| e.kind == Kind::Write && e.rmw);
        let inside = x.pairs(|a, b| a.thread.is_some() && a.thread == b.thread);
        let goes_on = Rel::cross(x.len(), u64::MAX, halves).or(&inside);
        let broken = self.mo.minus(&goes_on).then(&self.mo);
        self.mo.and(&goes_on).minus(&broken)
    }

    /// Release-acquire synchronisation on memory of a region.
    fn synchronizes(&self, region: Set) -> Rel {
        let x = self.x;
        let release = self.behind_fence().from(self.release & region).to(x.writes());
        let seen = self.sequence().opt().to(region).then(&x.rf);
        let acquire = self.before_fence().from(x.reads()).to(self.acquire & region);
        release.then(&seen).then(&acquire).and(&self.incl).and(&self.ext)
    }

    fn barriers(&self, region: Set) -> Rel {
        self.x.bar.from(region).to(region)
    }

    /// Pairs that synchronise the other region, too.
    fn across(&self) -> Rel {
        let both = self.global & self.local;
        let n = self.x.len();
        Rel::cross(n, self.sc, self.sc).or(&Rel::cross(n, both, both))
    }

    fn before(&self, region: Set, sync: &Rel) -> Rel {
        let x = self.x;
        let first = Rel::cross(x.len(), x.initial(), !x.initial());
        let inside = x.po.or(&first).from(region).to(region);
        // Threads that meet at a barrier are each before the other there.
        inside.or(sync).plus().minus(&self.id(u64::MAX))
    }

    fn coherent(&self, hb: &Rel) -> bool {
        let x = self.x;
        let from = x.rf.inverse().opt().then(&self.mo).then(&x.rf.opt());
        from.then(hb).irreflexive()
    }

    /// A read of an ordinary object finds a write that happens before it, and none later does.
    fn reads_visible(&self, region: Set, hb: &Rel) -> bool {
        let x = self.x;
        let plain = x.set(|e| e.kind == Kind::Read && x.test.locs[e.loc].plain);
        let here = hb.and(&x.same_loc());
        let hidden = here.to(x.writes()).then(hb);
        x.rf.to(plain & region).minus(&here.minus(&hidden)).is_empty()
    }

    /// Sequentially consistent operations of inclusive scopes have one order.
    fn sequential(&self, hb: &Rel) -> bool {
        let x = self.x;
        let rb = x.rf.inverse().then(&self.mo);
        let step = union([&rb, &self.mo, hb]);
        let order = self.behind_fence().then(&step).then(&self.before_fence());
        order.from(self.sc).to(self.sc).and(&self.incl).acyclic()
    }
}

fn inclusive(x: &Execution, a: &Event, b: &Event) -> bool {
    let (Some(s), Some(t)) = (a.thread, b.thread) else { return false };
    let (p, q) = (x.test.threads[s].place, x.test.threads[t].place);
    a.attr.scope == b.attr.scope && (a.attr.scope == Scope::Sys || p.reaches(a.attr.scope, q))
}

//! AArch64: acyclic order of what threads observe of each other, with barriers, acquire and release (Arm ARM,
//! B2.3).
//!
//! A `DMB` or `DSB` is a fence whose `sem` says what it orders: both (`SY`), acquire (`LD`), release (`ST`).
//! A fence that orders nothing by itself is an `ISB`.

use crate::execution::Execution;
use crate::paths::Kind;
use crate::relation::{Rel, union};
use weft_workload::op::Sem;

/// Whether an execution is possible.
pub fn allows(x: &Execution) -> bool {
    if !x.po.and(&x.same_loc()).or(&x.com()).acyclic() || !atomic(x) {
        return false;
    }
    let observed = x.com().and(&x.ext());
    let picks = Picks::new(x);
    let local = union([&dependent(x), &picks.ordered(x), &exclusive(x), &barred(x), &rewritten(x)]);
    // What a choice depends on is observed before the writes that what was chosen is ordered before.
    let chosen = match picks.any {
        true => picks.all().then(&local.plus()).to(x.writes()),
        false => Rel::empty(x.len()),
    };
    union([&observed, &local, &chosen]).acyclic()
}

/// No write of another thread comes between the halves of a read-modify-write.
fn atomic(x: &Execution) -> bool {
    let ext = x.ext();
    x.rmw.and(&x.fr.and(&ext).then(&x.co.and(&ext))).is_empty()
}

/// From an access to a later write of its location by the same thread.
fn rewritten(x: &Execution) -> Rel {
    x.po.and(&x.same_loc()).to(x.writes())
}

/// From a write to the reads of the same thread that follow it without another write of the location between.
fn read_back(x: &Execution) -> Rel {
    let here = x.po.and(&x.same_loc());
    let writes = x.writes();
    here.minus(&here.to(writes).then(&here)).from(writes).to(x.reads())
}

/// Dependency-ordered-before.
fn dependent(x: &Execution) -> Rel {
    let value = x.addr.or(&x.data);
    union([
        &value,
        &x.ctrl.to(x.writes()),
        &synchronised(x, &x.ctrl, &x.addr),
        &x.addr.then(&x.po).to(x.writes()),
        &value.then(&read_back(x)),
    ])
}

/// What an `ISB` behind a decision, or behind an access whose address depends, orders: later accesses.
fn synchronised(x: &Execution, ctrl: &Rel, addr: &Rel) -> Rel {
    let isb = x.set(|e| e.kind == Kind::Fence && e.attr.sem == Sem::Relaxed);
    ctrl.or(&addr.then(&x.po)).to(isb).then(&x.po)
}

/// Pick dependences: those that may lead through a choice (`CSEL`, the comparison of a `CAS`), and through
/// memory of the thread.
struct Picks {
    /// Whether there is a choice at all.
    any: bool,
    /// From a read to a read of the same thread that finds a value which depends on it.
    value: Rel,
    data: Rel,
    addr: Rel,
    ctrl: Rel,
}

impl Picks {
    fn new(x: &Execution) -> Picks {
        let [data, addr, ctrl] = &x.picks;
        let any = x.picks.iter().any(|pick| !pick.is_empty());
        let (data, addr, ctrl) = (data.or(&x.data), addr.or(&x.addr), ctrl.or(&x.ctrl));
        let value = data.then(&read_back(x)).plus();
        let chain = value.opt();
        Picks { any, data: chain.then(&data), addr: chain.then(&addr), ctrl: chain.then(&ctrl), value }
    }

    fn all(&self) -> Rel {
        union([&self.value, &self.data, &self.addr, &self.ctrl])
    }

    /// Pick-ordered-before.
    fn ordered(&self, x: &Execution) -> Rel {
        let writes = x.writes();
        union([
            &self.data,
            &self.addr.to(writes),
            &self.ctrl.to(writes),
            &self.addr.then(&x.po).to(writes),
            &synchronised(x, &self.ctrl, &self.addr),
        ])
    }
}

/// Atomic-ordered-before.
fn exclusive(x: &Execution) -> Rel {
    let acquire = x.set(|e| e.kind == Kind::Read && e.attr.acquires());
    x.rmw.or(&x.rmw.then(&read_back(x)).to(acquire))
}

/// Barrier-ordered-before.
fn barred(x: &Execution) -> Rel {
    let fence = |sem| x.set(move |e| e.kind == Kind::Fence && e.attr.sem == sem);
    let through = |set| x.po.to(set).then(&x.po.from(set));
    let writes = x.writes();
    let reads = x.set(|e| e.kind == Kind::Read && !e.attr.unused);
    let acquire = x.set(|e| e.kind == Kind::Read && e.attr.acquires() && !e.attr.unused);
    let ordered = x.set(|e| e.kind == Kind::Read && e.attr.acquires() && !e.attr.unused && !e.attr.rcpc);
    let release = x.set(|e| e.kind == Kind::Write && e.attr.releases());
    // An atomic in one instruction that acquires and releases: everything behind it comes after its write.
    let whole =
        x.set(|e| e.kind == Kind::Write && e.rmw && e.attr.acquires() && e.attr.releases() && !e.attr.unused);
    union([
        &through(fence(Sem::AcquireRelease)),
        &x.po.from(release).to(ordered),
        &through(fence(Sem::Acquire)).from(reads),
        &x.po.from(acquire),
        &x.po.from(whole),
        &through(fence(Sem::Release)).from(writes).to(writes),
        &x.po.to(release),
    ])
}

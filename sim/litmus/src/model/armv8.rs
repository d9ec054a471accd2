//! AArch64: acyclic order of what threads observe of each other, with barriers, acquire and release.
//!
//! A `DMB` is a fence whose `sem` says what it orders: both (`SY`), acquire (`LD`), release (`ST`).

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
    union([&observed, &dependent(x), &x.rmw, &barred(x)]).acyclic()
}

/// No write of another thread comes between the halves of a read-modify-write.
fn atomic(x: &Execution) -> bool {
    let ext = x.ext();
    x.rmw.and(&x.fr.and(&ext).then(&x.co.and(&ext))).is_empty()
}

/// Dependency-ordered-before.
fn dependent(x: &Execution) -> Rel {
    let writes = x.writes();
    let inside = |r: &Rel| r.minus(&x.ext());
    let value = x.addr.or(&x.data);
    union([
        &value,
        &x.ctrl.to(writes),
        &x.addr.then(&x.po).to(writes),
        &x.ctrl.or(&x.data).then(&inside(&x.co)),
        &value.then(&inside(&x.rf)),
    ])
}

/// Barrier-ordered-before.
fn barred(x: &Execution) -> Rel {
    let fence = |sem| x.set(move |e| e.kind == Kind::Fence && e.attr.sem == sem);
    let through = |set| x.po.to(set).then(&x.po.from(set));
    let (reads, writes) = (x.reads(), x.writes());
    let acquire = x.set(|e| e.kind == Kind::Read && e.attr.acquires());
    let release = x.set(|e| e.kind == Kind::Write && e.attr.releases());
    union([
        &through(fence(Sem::AcquireRelease)),
        &x.po.from(release).to(acquire),
        &through(fence(Sem::Acquire)).from(reads),
        &x.po.from(acquire),
        &through(fence(Sem::Release)).from(writes).to(writes),
        &x.po.to(release),
        &x.po.to(release).then(&x.co.minus(&x.ext())),
    ])
}

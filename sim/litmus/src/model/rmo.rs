//! LISA with a scope tree: RMO for each scope, by the fences that are wide enough for it. Two reads of one location may be out of order.

use crate::execution::Execution;
use crate::paths::Kind;
use crate::relation::union;
use weft_workload::op::Scope;

/// Whether an execution is possible.
pub fn allows(x: &Execution) -> bool {
    let reads = x.reads();
    let here = x.po.and(&x.same_loc());
    let hazard = here.from(reads).to(reads);
    if !here.minus(&hazard).or(&x.com()).acyclic() || !x.dep().or(&x.rf).acyclic() || !x.atomic() {
        return false;
    }
    let seen = union([&x.rf.and(&x.ext()), &x.co, &x.fr]);
    [Scope::Cu, Scope::Gpu, Scope::Sys].into_iter().all(|scope| {
        let wide = x.set(|e| e.kind == Kind::Fence && e.attr.scope >= scope);
        let fenced = x.po.to(wide).then(&x.po.from(wide));
        let place = |t: Option<usize>| t.map(|t| x.test.threads[t].place);
        let near = x.pairs(|a, b| match (place(a.thread), place(b.thread)) {
            (Some(a), Some(b)) => a.reaches(scope, b),
            _ => true,
        });
        union([&x.dep(), &seen, &fenced]).and(&near).acyclic()
    })
}

//! Calls: atomic functions, fences and barriers.

use super::{Parser, ReadError, wrong};
use crate::test::{Attr, Barrier, Dialect, Expr, Instr, Op, Region};
use weft_workload::op::{AmoKind, Class, Scope, Sem};

const KNOWN: &str = "atomic_load, _store, _exchange, _fetch_add, _sub, _and, _or, _xor, _min, _max, _compare_exchange_strong (all also _explicit), atomic_thread_fence and atomic_work_item_fence";

/// What an operation does with memory: what its order means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Does {
    Read,
    Write,
    Both,
}

fn modifies(name: &str) -> Option<AmoKind> {
    Some(match name {
        "atomic_fetch_add" => AmoKind::Add,
        "atomic_fetch_sub" => AmoKind::Sub,
        "atomic_fetch_and" => AmoKind::And,
        "atomic_fetch_or" => AmoKind::Or,
        "atomic_fetch_xor" => AmoKind::Xor,
        "atomic_fetch_min" => AmoKind::Min,
        "atomic_fetch_max" => AmoKind::Max,
        "atomic_exchange" => AmoKind::Exch,
        _ => return None,
    })
}

impl Parser<'_> {
    /// A call; its value, if it has one.
    pub(super) fn call(&mut self) -> Result<Option<Expr>, ReadError> {
        let line = self.line();
        let name = self.next();
        self.expect("(")?;
        let (stem, explicit) =
            name.strip_suffix("_explicit").map_or((name.as_str(), false), |stem| (stem, true));
        let value = match stem {
            "atomic_load" => {
                let at = self.value()?;
                let attr = self.order(explicit, Does::Read)?;
                let dst = self.temporary();
                self.code().push(Instr::Load { dst, at, attr });
                Some(Expr::Reg(dst))
            }
            "atomic_store" => {
                let at = self.value()?;
                self.expect(",")?;
                let value = self.value()?;
                let attr = self.order(explicit, Does::Write)?;
                self.code().push(Instr::Store { at, value, attr });
                None
            }
            "atomic_thread_fence" => {
                let order = self.next();
                let mut attr = self.attr(&order, Does::Both)?;
                self.scope(&mut attr)?;
                self.code().push(Instr::Fence { attr });
                None
            }
            "atomic_work_item_fence" => {
                let region = self.region()?;
                let attr = self.order(true, Does::Both)?;
                self.code().push(Instr::Fence { attr: Attr { region, ..attr } });
                None
            }
            "atomic_compare_exchange_strong" => Some(self.compare_exchange(explicit)?),
            "atomic_compare_exchange_weak" => {
                return wrong(
                    line,
                    format!("{name} may fail without a reason, which is not read; use the strong one"),
                );
            }
            _ => match modifies(stem) {
                Some(kind) => Some(self.modify(kind, explicit)?),
                None => {
                    return wrong(line, format!("{name} is no function that is read; these are {KNOWN}"));
                }
            },
        };
        self.expect(")")?;
        Ok(value)
    }

    fn modify(&mut self, kind: AmoKind, explicit: bool) -> Result<Expr, ReadError> {
        let at = self.value()?;
        self.expect(",")?;
        let value = self.value()?;
        let attr = self.order(explicit, Does::Both)?;
        let dst = self.temporary();
        self.code().push(Instr::Rmw { dst: Some(dst), at, kind, value, compare: Expr::Const(0), attr });
        Ok(Expr::Reg(dst))
    }

    /// `(OBJECT, EXPECTED, DESIRED[, SUCCESS, FAILURE[, SCOPE]])`: EXPECTED is a location, which gets what
    /// was found if that is something else.
    fn compare_exchange(&mut self, explicit: bool) -> Result<Expr, ReadError> {
        let at = self.value()?;
        self.expect(",")?;
        let place = self.value()?;
        self.expect(",")?;
        let value = self.value()?;
        let mut attr = self.default(Does::Both);
        if explicit {
            self.expect(",")?;
            let order = self.next();
            attr = self.attr(&order, Does::Both)?;
            self.expect(",")?;
            let order = self.next();
            let failed = self.attr(&order, Does::Read)?;
            let sem = if failed.acquires() { Sem::Acquire } else { Sem::Relaxed };
            attr.failed = Some((sem, failed.sc));
            self.scope(&mut attr)?;
        }
        let expected = self.found_at(place.clone());
        let found = self.temporary();
        let compare = expected.clone();
        self.code().push(Instr::Rmw { dst: Some(found), at, kind: AmoKind::Cas, value, compare, attr });
        let equal = Expr::bin(Op::Eq, Expr::Reg(found), expected);
        let past = self.branch(equal.clone());
        self.code().push(Instr::Store { at: place, value: Expr::Reg(found), attr: Attr::default() });
        self.lands(past);
        Ok(equal)
    }

    /// `barrier(FLAGS)`, `work_group_barrier(FLAGS[, SCOPE])`; barriers of one label meet, and without one
    /// those that come at the same place of the threads' order.
    pub(super) fn barrier(&mut self, label: Option<&str>) -> Result<(), ReadError> {
        self.at += 1;
        self.expect("(")?;
        let region = self.region()?;
        let mut attr = Attr { class: Class::P, region, scope: Scope::Cu, ..Attr::default() };
        self.scope(&mut attr)?;
        self.expect(")")?;
        let site = match label {
            Some(label) => {
                let next = self.sites.len() as u32 + 1;
                *self.sites.entry(label.into()).or_insert(next)
            }
            None => 0,
        };
        let barrier = Barrier { site, number: Expr::Const(0), waits: true, least: None, attr };
        self.code().push(Instr::Barrier(barrier));
        Ok(())
    }

    /// `CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE`
    fn region(&mut self) -> Result<Region, ReadError> {
        let (mut global, mut local) = (false, false);
        loop {
            let line = self.line();
            match self.next().as_str() {
                "CLK_GLOBAL_MEM_FENCE" => global = true,
                "CLK_LOCAL_MEM_FENCE" => local = true,
                other => {
                    return wrong(
                        line,
                        format!(
                            "{other:?} is no kind of memory; write CLK_GLOBAL_MEM_FENCE or CLK_LOCAL_MEM_FENCE"
                        ),
                    );
                }
            }
            if !self.took("|") {
                break;
            }
        }
        Ok(match (global, local) {
            (true, true) => Region::All,
            (true, false) => Region::Global,
            _ => Region::Local,
        })
    }

    /// `, memory_order_x` and perhaps `, memory_scope_y`; without them it is sequentially consistent.
    fn order(&mut self, explicit: bool, does: Does) -> Result<Attr, ReadError> {
        if !explicit {
            return Ok(self.default(does));
        }
        self.expect(",")?;
        let order = self.next();
        let mut attr = self.attr(&order, does)?;
        self.scope(&mut attr)?;
        Ok(attr)
    }

    fn default(&self, does: Does) -> Attr {
        let sem = match does {
            Does::Read => Sem::Acquire,
            Does::Write => Sem::Release,
            Does::Both => Sem::AcquireRelease,
        };
        // OpenCL's atomics without a scope have that of the device.
        let scope = if self.test.dialect == Dialect::OpenCl { Scope::Gpu } else { Scope::Sys };
        Attr { class: Class::P, sem, sc: true, scope, ..Attr::default() }
    }

    fn scope(&mut self, attr: &mut Attr) -> Result<(), ReadError> {
        if !self.took(",") {
            return Ok(());
        }
        let line = self.line();
        attr.scope = match self.next().as_str() {
            "memory_scope_work_group" => Scope::Cu,
            "memory_scope_device" => Scope::Gpu,
            "memory_scope_all_svm_devices" | "memory_scope_all_devices" => Scope::Sys,
            other => {
                return wrong(
                    line,
                    format!(
                        "{other:?} is no scope; use memory_scope_work_group, _device or _all_svm_devices"
                    ),
                );
            }
        };
        Ok(())
    }

    fn attr(&self, order: &str, does: Does) -> Result<Attr, ReadError> {
        let all = self.default(does);
        let (class, sem, sc) = match order {
            "memory_order_relaxed" => (Class::N, Sem::Relaxed, false),
            "memory_order_acquire" | "memory_order_consume" => (Class::P, Sem::Acquire, false),
            "memory_order_release" => (Class::P, Sem::Release, false),
            "memory_order_acq_rel" => (Class::P, Sem::AcquireRelease, false),
            "memory_order_seq_cst" => return Ok(all),
            other => return wrong(self.line(), format!("{other:?} is no memory order")),
        };
        Ok(Attr { class, sem, sc, ..all })
    }
}

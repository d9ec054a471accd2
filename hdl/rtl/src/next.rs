//! What a cycle leaves in a register or in a row of a memory, for observers: a value that the module has as a statement only.

use crate::build::{Builder, at_end, with};
use crate::data::*;
use crate::ir::*;
use crate::mem::{LaneWriter, RowWriter};
use crate::signal::Reg;
use crate::value::*;

/// Registers as a cycle leaves them ([`after_cycle`]).
pub struct After(());

impl After {
    /// The value that a register has after this cycle.
    pub fn of<T: Data>(&self, register: &Reg<T>) -> T {
        let next = with(|b| {
            let body = std::mem::take(&mut b.scopes[0]);
            let leaves: Vec<Bits> = register.signals().iter().map(|sig| next_of(b, &body, *sig)).collect();
            b.scopes[0] = body;
            leaves
        });
        T::from_leaves(register.shape(), &mut next.into_iter())
    }
}

/// Calls `use_it` when the module's description has ended and all assignments are known.
///
/// For assertions and cover points: hardware that is driven there comes too late.
pub fn after_cycle(use_it: impl FnOnce(&After) + 'static) {
    at_end(move || use_it(&After(())));
}

impl<T: Data> Reg<T> {
    /// [`after_cycle`] of one register.
    pub fn on_next(&self, use_it: impl FnOnce(T) + 'static) {
        let register = self.clone();
        after_cycle(move |after| use_it(after.of(&register)));
    }
}

/// The value that statements leave in a register.
fn next_of(b: &mut Builder, body: &[Stmt], register: SigId) -> Bits {
    let (width, loc) = {
        let signal = b.module.signal(register);
        (signal.width, signal.loc)
    };
    let now = b.node(Op::Sig(register), width, loc);
    Bits::of_node(after(b, body, register, now), width)
}

/// The value after statements that begin with `now`.
fn after(b: &mut Builder, body: &[Stmt], register: SigId, now: NodeId) -> NodeId {
    body.iter().filter(|stmt| assigns(stmt, register)).fold(now, |now, stmt| match stmt {
        Stmt::Assign { value, .. } => *value,
        Stmt::If { cond, then, els, loc } => {
            let (yes, no) = (after(b, then, register, now), after(b, els, register, now));
            choose(b, *cond, yes, no, *loc)
        }
        Stmt::Switch { sel, arms, default, loc } => {
            let other = after(b, default, register, now);
            arms.iter().rev().fold(other, |rest, (values, arm)| {
                let here = after(b, arm, register, now);
                values.iter().fold(rest, |rest, value| {
                    let value = b.constant(value.clone(), *loc);
                    let cond = b.node(Op::Eq(*sel, value), 1, *loc);
                    choose(b, cond, here, rest, *loc)
                })
            })
        }
    })
}

fn choose(b: &mut Builder, cond: NodeId, yes: NodeId, no: NodeId, loc: Loc) -> NodeId {
    let width = b.module.node(yes).width;
    if yes == no { yes } else { b.node(Op::Mux(cond, yes, no), width, loc) }
}

fn assigns(stmt: &Stmt, register: SigId) -> bool {
    let any = |body: &[Stmt]| body.iter().any(|stmt| assigns(stmt, register));
    match stmt {
        Stmt::Assign { target, .. } => *target == register,
        Stmt::If { then, els, .. } => any(then) || any(els),
        Stmt::Switch { arms, default, .. } => arms.iter().any(|arm| any(&arm.1)) || any(default),
    }
}

impl<T: Data> LaneWriter<T> {
    /// What this port leaves in a lane of a row that holds `before`.
    pub fn leaves(&self, row: Bits, lane: Bits, before: &T) -> T {
        let (en, addr, at, data) = self.port();
        let here = en & addr.eq(row) & at.eq(lane);
        self.memory().unpack(mux(here, data, to_packed(before)))
    }
}

impl<T: Data> RowWriter<T> {
    /// What this port leaves in a lane of a row that holds `before`.
    pub fn leaves(&self, row: Bits, lane: Bits, before: &T) -> T {
        let (en, addr, mask, data) = self.port();
        let here = en & addr.eq(row) & mask.bit_at(lane);
        let before = to_packed(before);
        self.memory().unpack(mux(here, data.element(lane, before.width()), before))
    }
}

//! A failing round made small: fewer changed keys, kernels, waves, operations, lanes and hints, as long as it fails in the same way (delta debugging:
//! Zeller and Hildebrandt, IEEE TSE 28(2), 2002).

use crate::program::{Kernel, Program};
use std::collections::BTreeSet;
use weft_workload::op::{Hint, Token};
use weft_workload::trace::op::TraceOp;

/// A program with the keys that were changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// As KEY=VALUE.
    pub keys: Vec<String>,
    /// The program.
    pub program: Program,
}

/// Makes a case small. `fails` says whether one fails in the same way; it is asked at most `most` times, and the last case for which it said so is
/// returned, with how often it was asked.
pub fn reduce(case: &Case, most: u32, fails: &mut dyn FnMut(&Case) -> bool) -> (Case, u32) {
    let mut reducer = Reducer { case: case.clone(), left: most, fails };
    loop {
        let before = reducer.case.clone();
        reducer.keys();
        reducer.one_lane();
        reducer.kernels();
        reducer.copies();
        reducer.waves();
        reducer.barriers();
        reducer.operations();
        reducer.lanes();
        reducer.hints();
        if reducer.case == before || reducer.left == 0 {
            return (reducer.case, most - reducer.left);
        }
    }
}

struct Reducer<'a> {
    case: Case,
    left: u32,
    fails: &'a mut dyn FnMut(&Case) -> bool,
}

impl Reducer<'_> {
    fn attempt(&mut self, case: Case) -> bool {
        if self.left == 0 || case == self.case {
            return false;
        }
        self.left -= 1;
        let fails = (self.fails)(&case);
        if fails {
            self.case = case;
        }
        fails
    }

    /// Leaves out parts of a list of `count`, large ones first: `without` makes the case whose parts are those that are kept.
    fn parts(&mut self, count: usize, without: &dyn Fn(&Case, &BTreeSet<usize>) -> Case) {
        let whole = self.case.clone();
        let mut kept: BTreeSet<usize> = (0..count).collect();
        let mut size = count;
        while size > 0 && self.left > 0 {
            let all: Vec<usize> = kept.iter().copied().collect();
            for chunk in all.chunks(size) {
                let rest: BTreeSet<usize> =
                    kept.iter().copied().filter(|part| !chunk.contains(part)).collect();
                if self.attempt(without(&whole, &rest)) {
                    kept = rest;
                }
            }
            size /= 2;
        }
    }

    fn keys(&mut self) {
        self.parts(self.case.keys.len(), &|case, kept| Case {
            keys: kept.iter().map(|key| case.keys[*key].clone()).collect(),
            ..case.clone()
        });
    }

    fn kernels(&mut self) {
        self.parts(self.case.program.kernels.len(), &|case, kept| {
            let kernels = kept.iter().map(|kernel| case.program.kernels[*kernel].clone()).collect();
            Case { program: Program { kernels, ..case.program.clone() }, ..case.clone() }
        });
    }

    fn copies(&mut self) {
        let without = |kernel: &Kernel| Kernel { copies: Vec::new(), ..kernel.clone() };
        let kernels = self.case.program.kernels.iter().map(without).collect();
        self.attempt(self.case.with(kernels));
    }

    fn waves(&mut self) {
        let waves = self.case.program.kernels.iter().map(|kernel| kernel.waves.len()).sum();
        self.parts(waves, &|case, kept| {
            let mut number = 0..;
            let mut stays = |_: &_| number.next().is_some_and(|wave| kept.contains(&wave));
            let mut kernels = case.program.kernels.clone();
            kernels.iter_mut().for_each(|kernel| kernel.waves.retain(&mut stays));
            case.with(kernels)
        });
    }

    /// All barriers at once: waves of a block have as many.
    fn barriers(&mut self) {
        let case =
            self.case.each(|ops| ops.iter().filter(|op| !matches!(op, TraceOp::Barrier)).cloned().collect());
        self.attempt(case);
    }

    fn operations(&mut self) {
        let stays = |op: &TraceOp| matches!(op, TraceOp::Barrier);
        let count = self.case.program.ops().filter(|op| !stays(op)).count();
        self.parts(count, &|case, kept| {
            let number = std::cell::Cell::new(0);
            let next = || {
                number.set(number.get() + 1);
                number.get() - 1
            };
            case.each(|ops| {
                let kept = ops.iter().filter(|op| stays(op) || kept.contains(&next()));
                awaited(kept.cloned().collect())
            })
        });
    }

    /// All at once: without them most faults are not there, and each is in view beside its operation.
    fn hints(&mut self) {
        let none = |op: &TraceOp| {
            let mut op = op.clone();
            op.access_mut().iter_mut().for_each(|access| access.hint = Hint::default());
            op
        };
        let case = self.case.each(|ops| ops.iter().map(none).collect());
        self.attempt(case);
    }

    /// Every access for one lane only.
    fn one_lane(&mut self) -> bool {
        let lowest = |op: &TraceOp| narrowed(op, |mask| mask & mask.wrapping_neg());
        let one = self.case.each(|ops| ops.iter().map(lowest).collect());
        self.attempt(one)
    }

    /// Each access for one lane only, then for half of its lanes.
    fn lanes(&mut self) {
        if self.one_lane() {
            return;
        }
        let count = self.case.program.ops().count();
        for narrow in [|mask: u64| mask & mask.wrapping_neg(), lower_half, |mask| mask & !lower_half(mask)] {
            for at in 0..count {
                let mut number = 0;
                let case = self.case.each(|ops| {
                    let mut each = |op: &TraceOp| {
                        number += 1;
                        if number == at + 1 { narrowed(op, narrow) } else { op.clone() }
                    };
                    ops.iter().map(&mut each).collect()
                });
                self.attempt(case);
            }
        }
    }
}

impl Case {
    fn with(&self, kernels: Vec<Kernel>) -> Case {
        Case { program: Program { kernels, ..self.program.clone() }, ..self.clone() }
    }

    /// With other operations of every wave.
    fn each(&self, mut of: impl FnMut(&[TraceOp]) -> Vec<TraceOp>) -> Case {
        let mut kernels = self.program.kernels.clone();
        for wave in kernels.iter_mut().flat_map(|kernel| &mut kernel.waves) {
            wave.ops = of(&wave.ops);
        }
        self.with(kernels)
    }
}

/// The lower half of the lanes of a mask; all of one.
fn lower_half(mask: u64) -> u64 {
    let mut left = mask;
    for _ in 0..mask.count_ones().div_ceil(2) {
        left &= left.wrapping_sub(1);
    }
    mask & !left
}

fn narrowed(op: &TraceOp, to: impl Fn(u64) -> u64) -> TraceOp {
    let mut op = op.clone();
    if let Some(access) = op.access_mut().filter(|access| access.mask.count_ones() > 1) {
        access.mask = to(access.mask);
    }
    op
}

/// Operations of which some were left out: a wave waits for what is left, and a name is used again only when it has waited for it.
fn awaited(ops: Vec<TraceOp>) -> Vec<TraceOp> {
    let (mut open, mut out): (BTreeSet<Token>, Vec<TraceOp>) = (BTreeSet::new(), Vec::new());
    for op in ops {
        match &op {
            TraceOp::Load { token, .. } | TraceOp::Amo { token, .. } => {
                if !open.insert(*token) {
                    out.push(TraceOp::Await { tokens: vec![*token] });
                }
                out.push(op);
            }
            TraceOp::Await { tokens } => {
                let tokens: Vec<Token> = tokens.iter().copied().filter(|token| open.remove(token)).collect();
                out.extend((!tokens.is_empty()).then_some(TraceOp::Await { tokens }));
            }
            _ => out.push(op),
        }
    }
    out
}

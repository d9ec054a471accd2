//! One operation after the other on a directory slice whose nodes are GPMs, and what each of them tells whom.

use super::Bench;
use weft_blocks::directory;
use weft_testbench::golden::dir_table::DirOp;
use weft_testbench::golden::params::DirParams;
use weft_testbench::golden::slice::{Received, Request};
use weft_testbench::golden::{GpuMask, Inv, InvCause, only};

/// A slice after its reset.
pub struct Steps {
    pub bench: Bench,
    pub p: DirParams,
}

impl Steps {
    pub fn new(p: DirParams) -> Steps {
        let mut bench = Bench::new(p, directory::TagStyle::Published);
        (0..p.sets() + 4).for_each(|_| bench.cycle(true, |_| true));
        Steps { bench, p }
    }

    /// Line `number` of what node `home` has in its DRAM.
    pub fn line(&self, home: u64, number: u64) -> u64 {
        home << (self.p.home_shift - self.p.line.ilog2()) | number
    }

    /// An Inv names what the operation was on: the whole group where there are groups, else the line.
    fn names(&self, inv: &Inv, line: u64) {
        let group = if self.p.grouped() { self.p.group } else { 1 };
        assert_eq!((inv.grp, inv.line / group), (group > 1, line / group));
    }

    /// Performs an operation alone and returns the Invs that it causes (destinations and cause) and `empty`.
    pub fn op(&mut self, op: DirOp, src: u32, line: u64) -> (Vec<(GpuMask, InvCause)>, bool) {
        let (before, answers) = (self.bench.seen.len(), self.bench.answers.len());
        self.bench.offer(Request { op, src, line, id: 7 });
        (0..14).for_each(|_| self.bench.cycle(true, |_| true));
        assert_eq!(self.bench.answers.len(), answers + 1);
        let invs = &self.bench.seen[before..];
        invs.iter().for_each(|inv| self.names(inv, line));
        (invs.iter().map(|i| (i.dest, i.cause)).collect(), self.bench.answers[answers].empty)
    }

    pub fn invs(&mut self, op: DirOp, src: u32, line: u64) -> Vec<(GpuMask, InvCause)> {
        self.op(op, src, line).0
    }

    /// Receives an Inv while `inv` and `rsp` take nothing, and returns whom it tells.
    pub fn recv(&mut self, line: u64, cause: InvCause, also: u64) -> Vec<(GpuMask, InvCause)> {
        let (before, done) = (self.bench.passed_on.len(), self.bench.done);
        self.bench.receive(Received { line, cause, also, link: 1 });
        (0..5).for_each(|_| self.bench.cycle(false, |_| false));
        assert_eq!(self.bench.done, done + 1, "a received Inv waits for nothing");
        let invs = &self.bench.passed_on[before..];
        invs.iter().for_each(|inv| self.names(inv, line));
        invs.iter().map(|i| (i.dest, i.cause)).collect()
    }

    /// Offers an operation while `inv` takes nothing.
    pub fn stuck(&mut self, op: DirOp, src: u32, line: u64) {
        self.bench.offer(Request { op, src, line, id: 7 });
        (0..14).for_each(|_| self.bench.cycle(true, |_| false));
    }
}

/// One Inv by a write to these nodes.
pub fn by_write(nodes: &[u32]) -> Vec<(GpuMask, InvCause)> {
    vec![(nodes.iter().map(|n| only(*n)).sum(), InvCause::Write)]
}

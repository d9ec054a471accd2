//! One thread of a run, an instruction after the other.

use super::layout::WORD;
use super::{LitmusProgram, Task, encode};
use crate::paths::{ADDRESSES, compute};
use crate::test::{Attr, Expr, Instr, Reg, Thread};
use weft_workload::op::{Access, Addrs, AmoKind, Class, Op, Token, Unit, Values};
use weft_workload::{Frame, LoadedValues};

/// Instructions begun.
const COUNT: usize = 0;
/// Whether the delay of the present instruction is over.
const DELAYED: usize = 1;
/// Registers that are being waited for, a bit each.
const AWAITED: usize = 2;
/// Registers whose values are not known yet, a bit each.
const PENDING: usize = 3;
/// The first register.
const REGS: usize = 4;

/// Variables of a wave before its first step.
pub(super) fn start(thread: &Thread) -> Vec<u64> {
    let mut vars = vec![0; REGS];
    vars.extend(thread.start.iter().map(|e| value(e, &[]) as u64));
    vars
}

fn value(expr: &Expr, regs: &[u64]) -> i64 {
    match expr {
        Expr::Const(value) => *value,
        Expr::Addr(loc) => ADDRESSES + *loc as i64,
        Expr::Reg(reg) => regs[*reg] as i64,
        Expr::Bin(op, a, b) => compute(*op, value(a, regs), value(b, regs)),
    }
}

/// Registers of an expression, a bit each.
fn named(expr: &Expr) -> u64 {
    match expr {
        Expr::Const(_) | Expr::Addr(_) => 0,
        Expr::Reg(reg) => 1 << reg,
        Expr::Bin(_, a, b) => named(a) | named(b),
    }
}

/// A wave that has run dry: what it does up to the next value that it has to wait for.
pub(super) fn step(p: &LitmusProgram, task: Task, frame: &mut Frame, values: &LoadedValues) -> Vec<Op> {
    let mut walk = Walk { p, task, thread: &p.test.threads[task.thread as usize], frame, ops: Vec::new() };
    walk.arrived(values);
    if walk.frame.pc == 0 {
        walk.frame.pc = 1;
        walk.copies();
        if !walk.ops.is_empty() {
            return walk.ops;
        }
    }
    while walk.instruction() {}
    walk.ops
}

struct Walk<'a> {
    p: &'a LitmusProgram,
    task: Task,
    thread: &'a Thread,
    frame: &'a mut Frame,
    ops: Vec<Op>,
}

impl Walk<'_> {
    fn words(&self) -> &[u64] {
        &self.p.words[self.task.run as usize]
    }

    fn regs(&self) -> &[u64] {
        &self.frame.vars[REGS..]
    }

    /// Token that nothing else of the wave uses, `n` from 0.
    fn token(&self, n: usize) -> Token {
        (self.thread.regs.len() + n) as Token
    }

    /// Takes the values that have been waited for.
    fn arrived(&mut self, values: &LoadedValues) {
        let awaited = self.frame.vars[AWAITED];
        for reg in (0..self.thread.regs.len()).filter(|reg| awaited >> reg & 1 == 1) {
            let word = values.lane(reg as Token, 0) as u32;
            self.frame.vars[REGS + reg] = self.p.decode(&word.to_le_bytes(), self.task.run as usize) as u64;
        }
        self.frame.vars[PENDING] &= !awaited;
        self.frame.vars[AWAITED] = 0;
    }

    /// Copies of some of the words; some are taken by an atomic that changes nothing, which leaves them owned here where a protocol has owners.
    fn copies(&mut self) {
        if !self.p.copies(self.task.run) {
            return;
        }
        let drawn = self.p.draw(self.task, u64::MAX);
        let mut tokens = Vec::new();
        for loc in 0..self.words().len().min(20) {
            let (token, at) = (self.token(1 + loc), self.words()[loc]);
            match drawn >> (3 * loc) & 7 {
                0 | 1 => self.ops.push(Op::Load { token, access: access(at, Attr::default()) }),
                2 if self.p.taken => self.ops.push(Op::Amo {
                    token,
                    access: Access { class: Class::N, ..access(at, Attr::default()) },
                    kind: AmoKind::Add,
                    signed: false,
                    values: Values::Const(0),
                    compare: 0,
                    ret: true,
                }),
                _ => continue,
            }
            tokens.push(token);
        }
        if !tokens.is_empty() {
            self.ops.push(Op::Await { tokens });
        }
    }

    /// Waits for registers, if some of them are not there yet.
    fn wait(&mut self, regs: u64) -> bool {
        let missing = regs & self.frame.vars[PENDING];
        if missing != 0 {
            let tokens = (0..64).filter(|reg| missing >> reg & 1 == 1).collect();
            self.ops.push(Op::Await { tokens });
            self.frame.vars[AWAITED] = missing;
        }
        missing != 0
    }

    /// The delay before an instruction; true if the wave has to wait.
    fn delay(&mut self) -> bool {
        if self.frame.vars[DELAYED] == 1 {
            return false;
        }
        self.frame.vars[DELAYED] = 1;
        let drawn = self.p.draw(self.task, self.frame.vars[COUNT]);
        let latency = (drawn % (self.p.longest(self.task.run) + 1)) as u32;
        // Half of the instructions follow at once.
        if latency == 0 || drawn >> 63 == 1 {
            return false;
        }
        let token = self.token(0);
        self.ops.push(Op::Compute {
            unit: Unit::Alu,
            latency,
            occupancy: 1,
            needs: vec![],
            token: Some(token),
        });
        self.ops.push(Op::Await { tokens: vec![token] });
        true
    }

    /// The next instruction; false if the wave has to wait, or has ended.
    fn instruction(&mut self) -> bool {
        let at = self.frame.pc as usize - 1;
        let Some(instr) = self.thread.code.get(at) else {
            self.end();
            return false;
        };
        let local = matches!(instr, Instr::Set { .. } | Instr::Branch { .. });
        if !local && self.delay() || self.wait(needs(instr, self.frame.vars[PENDING])) {
            return false;
        }
        self.frame.pc += 1;
        self.frame.vars[DELAYED] = 0;
        self.frame.vars[COUNT] += 1;
        match instr {
            Instr::Set { dst, value: v } => self.frame.vars[REGS + dst] = value(v, self.regs()) as u64,
            Instr::Branch { if_, to } => {
                if value(if_, self.regs()) != 0 {
                    self.frame.pc = *to as u32 + 1;
                }
            }
            Instr::Fence { attr } => self.ops.push(Op::Fence { sem: attr.sem, scope: attr.scope }),
            Instr::Load { dst, at, attr } => {
                let access = access(self.address(at), *attr);
                self.ops.push(Op::Load { token: *dst as Token, access });
                self.frame.vars[PENDING] |= 1 << dst;
            }
            Instr::Store { at, value, attr } => {
                let (access, values) = (access(self.address(at), *attr), self.operand(value));
                self.ops.push(Op::Store { access, values });
            }
            Instr::Rmw { dst, at, kind, value, compare, attr } => {
                self.rmw(*dst, self.address(at), *kind, (value, compare), *attr);
            }
        }
        true
    }

    fn rmw(&mut self, dst: Option<Reg>, at: u64, kind: AmoKind, (v, compare): (&Expr, &Expr), attr: Attr) {
        let other = self.token(1 + self.words().len() + self.frame.vars[COUNT] as usize);
        self.ops.push(Op::Amo {
            token: dst.map_or(other, |dst| dst as Token),
            access: access(at, attr),
            kind,
            signed: true,
            values: self.operand(v),
            compare: u64::from(encode(value(compare, self.regs()), self.words())),
            ret: dst.is_some(),
        });
        if let Some(dst) = dst {
            self.frame.vars[PENDING] |= 1 << dst;
        }
    }

    fn address(&self, at: &Expr) -> u64 {
        let loc = value(at, self.regs()) - ADDRESSES;
        let loc = usize::try_from(loc).ok().filter(|loc| *loc < self.words().len());
        // Enumeration has refused code that computes anything else.
        self.words()[loc.expect("the address of a location")]
    }

    /// What is stored: a value, or what a load will bring.
    fn operand(&self, v: &Expr) -> Values {
        match v {
            Expr::Reg(reg) if self.frame.vars[PENDING] >> reg & 1 == 1 => Values::Token(*reg as Token),
            _ => Values::Const(u64::from(encode(value(v, self.regs()), self.words()))),
        }
    }

    /// Waits for what is still under way, then leaves the registers in memory.
    fn end(&mut self) {
        if self.wait(u64::MAX) {
            return;
        }
        let base = self.p.registers(self.task);
        for reg in 0..self.thread.regs.len() {
            let word = encode(self.regs()[reg] as i64, self.words());
            let access = access(base + reg as u64 * WORD, Attr::default());
            self.ops.push(Op::Store { access, values: Values::Const(u64::from(word)) });
        }
        self.ops.push(Op::End);
    }
}

/// Registers, a bit each, whose values must be there before an instruction is begun.
fn needs(instr: &Instr, pending: u64) -> u64 {
    let passed = |v: &Expr| match v {
        Expr::Reg(_) => 0,
        v => named(v),
    };
    let again = |dst: Reg| pending & 1 << dst;
    match instr {
        Instr::Load { dst, at, .. } => named(at) | again(*dst),
        Instr::Store { at, value, .. } => named(at) | passed(value),
        Instr::Rmw { dst, at, value, compare, .. } => {
            named(at) | passed(value) | named(compare) | dst.map_or(0, again)
        }
        Instr::Set { dst, value } => named(value) | again(*dst),
        Instr::Branch { if_, .. } => named(if_),
        Instr::Fence { .. } => 0,
    }
}

pub(super) fn access(at: u64, attr: Attr) -> Access {
    Access {
        class: attr.class,
        sem: attr.sem,
        scope: attr.scope,
        remote: attr.remote,
        ..Access::data(WORD as u8, Addrs::Strided { base: at, stride: 0 }, 1)
    }
}

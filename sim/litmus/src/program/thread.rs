//! One thread of the runs of a bundle, a lane each, an instruction after the other.
//!
//! Lanes that have branched differently go on apart: the instruction that comes first in the code is carried out next, by the lanes that are there.

use super::layout::WORD;
use super::{Bundle, LitmusProgram, Task, encode};
use crate::paths::{address, compute, located};
use crate::test::{Attr, Expr, Instr, Reg, Thread};
use weft_workload::op::{
    Access, Addrs, AmoKind, Class, Hint, Hinted, LaneMask, Op, Request, Token, Unit, Values,
};
use weft_workload::{Frame, LoadedValues};

/// Instructions begun.
const COUNT: usize = 0;
/// Whether the delay of the present instruction is over.
const DELAYED: usize = 1;
/// Registers that are being waited for, a bit each.
const AWAITED: usize = 2;
/// The first variable of lane 0.
const LANES: usize = 3;

/// Draws from this number on are for hints.
const HINTS: u64 = 1 << 32;

/// Of a lane: its next instruction.
const PC: usize = 0;
/// Registers whose values are not known yet, a bit each.
const PENDING: usize = 1;
/// The first register.
const REGS: usize = 2;

/// Variables of a wave of so many lanes before its first step.
pub(super) fn start(thread: &Thread, lanes: u32) -> Vec<u64> {
    let mut vars = vec![0; LANES];
    for _ in 0..lanes {
        vars.extend([0; REGS]);
        vars.extend(thread.start.iter().map(|e| value(e, &[]) as u64));
    }
    vars
}

fn value(expr: &Expr, regs: &[u64]) -> i64 {
    match expr {
        Expr::Const(value) => *value,
        Expr::Addr(loc) => address(*loc),
        Expr::Reg(reg) => regs[*reg] as i64,
        Expr::Bin(op, a, b) => compute(*op, value(a, regs), value(b, regs)),
        Expr::Select(if_, a, b) => value(if value(if_, regs) != 0 { a } else { b }, regs),
    }
}

/// Registers of an expression, a bit each.
fn named(expr: &Expr) -> u64 {
    match expr {
        Expr::Const(_) | Expr::Addr(_) => 0,
        Expr::Reg(reg) => 1 << reg,
        Expr::Bin(_, a, b) => named(a) | named(b),
        Expr::Select(a, b, c) => named(a) | named(b) | named(c),
    }
}

/// A wave that has run dry: what it does up to the next value that it has to wait for.
pub(super) fn step(p: &LitmusProgram, task: Task, frame: &mut Frame, values: &LoadedValues) -> Vec<Op> {
    let thread = &p.test.threads[task.thread as usize];
    let mut walk = Walk { p, task, bundle: p.bundles[task.bundle as usize], thread, frame, ops: Vec::new() };
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
    bundle: Bundle,
    thread: &'a Thread,
    frame: &'a mut Frame,
    ops: Vec<Op>,
}

fn lanes_of(mask: LaneMask) -> impl Iterator<Item = usize> {
    (0..64).filter(move |lane| mask >> lane & 1 == 1)
}

impl Walk<'_> {
    /// All lanes.
    fn all(&self) -> LaneMask {
        u64::MAX >> (64 - self.bundle.count)
    }

    fn run(&self, lane: usize) -> usize {
        self.bundle.first as usize + lane
    }

    fn words(&self, lane: usize) -> &[u64] {
        &self.p.words[self.run(lane)]
    }

    /// Place of a variable of a lane.
    fn place(&self, lane: usize, what: usize) -> usize {
        LANES + lane * (REGS + self.thread.regs.len()) + what
    }

    fn get(&self, lane: usize, what: usize) -> u64 {
        self.frame.vars[self.place(lane, what)]
    }

    fn set(&mut self, lane: usize, what: usize, value: u64) {
        let place = self.place(lane, what);
        self.frame.vars[place] = value;
    }

    fn regs(&self, lane: usize) -> &[u64] {
        &self.frame.vars[self.place(lane, REGS)..][..self.thread.regs.len()]
    }

    /// Registers of these lanes that are not known: of some of them, and of all of them.
    fn pending(&self, lanes: LaneMask) -> (u64, u64) {
        let each = lanes_of(lanes).map(|lane| self.get(lane, PENDING));
        each.fold((0, u64::MAX), |(some, all), one| (some | one, all & one))
    }

    /// Token that nothing else of the wave uses, `n` from 0.
    fn token(&self, n: usize) -> Token {
        (self.thread.regs.len() + n) as Token
    }

    /// Takes the values that have been waited for.
    fn arrived(&mut self, values: &LoadedValues) {
        let awaited = self.frame.vars[AWAITED];
        for lane in lanes_of(self.all()) {
            let pending = self.get(lane, PENDING);
            for reg in (0..self.thread.regs.len()).filter(|reg| (awaited & pending) >> reg & 1 == 1) {
                let word = values.lane(reg as Token, lane as u32) as u32;
                let value = self.p.decode(&word.to_le_bytes(), self.run(lane));
                self.set(lane, REGS + reg, value as u64);
            }
            self.set(lane, PENDING, pending & !awaited);
        }
        self.frame.vars[AWAITED] = 0;
    }

    /// Copies of some of the words; some are taken by an atomic that changes nothing, which leaves them owned here where a protocol has owners.
    fn copies(&mut self) {
        if !self.p.copies(self.bundle) {
            return;
        }
        let locs = self.words(0).len().min(20);
        let mut tokens = Vec::new();
        for loc in 0..locs {
            let drawn = |lane: &usize| self.p.draw(self.task, u64::MAX - *lane as u64) >> (3 * loc) & 7;
            let mask = |few: u64, to: u64| {
                let lanes = (0..self.bundle.count as usize).filter(|lane| (few..=to).contains(&drawn(lane)));
                lanes.fold(0, |mask, lane| mask | 1 << lane)
            };
            let (read, taken) = (mask(0, 1), if self.p.taken[loc] { mask(2, 2) } else { 0 });
            let at = |lane: usize| self.words(lane)[loc];
            let mut ops = Vec::new();
            if read != 0 {
                let token = self.token(1 + loc);
                ops.push((
                    token,
                    Op::Load { token, access: self.access(read, &at, Attr::default(), Hinted::Load) },
                ));
            }
            if taken != 0 {
                let token = self.token(1 + locs + loc);
                let access = self.access(taken, &at, Attr::default(), Hinted::Atomic);
                let access = Access { class: Class::N, ..access };
                ops.push((token, nothing_added(token, access)));
            }
            for (token, op) in ops {
                tokens.push(token);
                self.ops.push(op);
            }
        }
        if !tokens.is_empty() {
            self.ops.push(Op::Await { tokens });
        }
    }

    /// Waits for registers of any lane, if some of them are not there yet.
    fn wait(&mut self, regs: u64) -> bool {
        let missing = regs & self.pending(self.all()).0;
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
        let latency = (drawn % (self.p.longest(self.bundle) + 1)) as u32;
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

    /// The first instruction of the code at which a lane is, and the lanes there.
    fn next(&self) -> (usize, LaneMask) {
        let pcs = || lanes_of(self.all()).map(|lane| self.get(lane, PC));
        let at = pcs().min().unwrap_or(0);
        (
            at as usize,
            (0..).zip(pcs()).filter(|(_, pc)| *pc == at).fold(0, |mask, (lane, _)| mask | 1 << lane),
        )
    }

    /// The next instruction; false if the wave has to wait, or has ended.
    fn instruction(&mut self) -> bool {
        let (at, mut lanes) = self.next();
        let Some(instr) = self.thread.code.get(at) else {
            self.end();
            return false;
        };
        let local = matches!(instr, Instr::Set { .. } | Instr::Branch { .. });
        if !local && self.delay() || self.wait(self.needs(instr, lanes)) {
            return false;
        }
        if let Instr::Rmw { compare, .. } = instr {
            // A read-modify-write has one expected value: lanes with another one follow.
            let expected = |lane| self.expected(compare, lane);
            let first = expected(lanes.trailing_zeros() as usize);
            lanes = lanes_of(lanes).filter(|lane| expected(*lane) == first).fold(0, |m, lane| m | 1 << lane);
        }
        lanes_of(lanes).for_each(|lane| self.set(lane, PC, at as u64 + 1));
        self.frame.vars[DELAYED] = 0;
        self.frame.vars[COUNT] += 1;
        self.carry_out(instr, lanes);
        true
    }

    fn carry_out(&mut self, instr: &Instr, lanes: LaneMask) {
        match instr {
            Instr::Set { dst, value: v } => {
                for lane in lanes_of(lanes) {
                    let new = value(v, self.regs(lane)) as u64;
                    self.set(lane, REGS + dst, new);
                }
            }
            Instr::Branch { if_, to } => {
                for lane in lanes_of(lanes) {
                    if value(if_, self.regs(lane)) != 0 {
                        self.set(lane, PC, *to as u64);
                    }
                }
            }
            Instr::Fence { attr } => self.ops.push(Op::Fence { sem: attr.sem, scope: attr.scope }),
            Instr::Barrier(_) | Instr::StoreExclusive { .. } => unreachable!("refused with the test"),
            Instr::Load { dst, at, attr } => {
                let access = self.access(lanes, &|lane| self.address(at, lane), *attr, Hinted::Load);
                self.ops.push(Op::Load { token: *dst as Token, access });
                self.await_later(*dst, lanes);
            }
            Instr::Store { at, value, attr } => {
                let access = self.access(lanes, &|lane| self.address(at, lane), *attr, Hinted::Store);
                let values = self.operand(value, lanes);
                self.ops.push(Op::Store { access, values });
            }
            Instr::Rmw { dst, at, kind, value, compare, attr } => {
                let access = self.access(lanes, &|lane| self.address(at, lane), *attr, Hinted::Atomic);
                self.rmw(*dst, access, *kind, (value, compare), lanes);
            }
        }
    }

    fn rmw(
        &mut self,
        dst: Option<Reg>,
        access: Access,
        kind: AmoKind,
        (v, compare): (&Expr, &Expr),
        lanes: LaneMask,
    ) {
        let other = self.token(1 + 2 * self.words(0).len() + self.frame.vars[COUNT] as usize);
        self.ops.push(Op::Amo {
            token: dst.map_or(other, |dst| dst as Token),
            access,
            kind,
            signed: true,
            values: self.operand(v, lanes),
            compare: self.expected(compare, lanes.trailing_zeros() as usize),
            ret: dst.is_some(),
        });
        if let Some(dst) = dst {
            self.await_later(dst, lanes);
        }
    }

    /// A register of these lanes is on its way.
    fn await_later(&mut self, reg: Reg, lanes: LaneMask) {
        for lane in lanes_of(lanes) {
            self.set(lane, PENDING, self.get(lane, PENDING) | 1 << reg);
        }
    }

    fn expected(&self, compare: &Expr, lane: usize) -> u64 {
        u64::from(encode(value(compare, self.regs(lane)), self.words(lane)))
    }

    /// An access of these lanes, which is of this kind if it is plain.
    fn access(&self, lanes: LaneMask, at: &dyn Fn(usize) -> u64, attr: Attr, plain: Hinted) -> Access {
        let hint = self.hint(if attr.atomic() { Hinted::Atomic } else { plain }).bits();
        if self.bundle.count == 1 {
            return Access { hint, ..access(at(0), attr) };
        }
        let address = |lane| if lanes >> lane & 1 == 1 { at(lane) } else { 0 };
        let addrs = Addrs::Lanes((0..self.bundle.count as usize).map(address).collect());
        Access { addrs, hint, mask: lanes, ..access(0, attr) }
    }

    /// A request that suits such an access, drawn, where the machine follows them.
    fn hint(&self, on: Hinted) -> Hint {
        if !self.p.hinted(self.bundle) {
            return Hint::default();
        }
        let number = self.frame.vars[COUNT] << 8 | self.ops.len() as u64;
        let drawn = self.p.draw(self.task, HINTS | number);
        let fits: Vec<Request> = Request::ALL.into_iter().filter(|r| Hint::word(*r).fits(on)).collect();
        let request = fits[(drawn >> 1) as usize % fits.len()];
        if drawn & 1 == 0 { Hint::word(request) } else { Hint::line(request) }
    }

    fn address(&self, at: &Expr, lane: usize) -> u64 {
        let loc = located(value(at, self.regs(lane)), self.words(lane).len());
        // Enumeration has refused code that computes anything else.
        self.words(lane)[loc.expect("the address of a location")]
    }

    /// What is stored: a value, or what a load will bring.
    fn operand(&self, v: &Expr, lanes: LaneMask) -> Values {
        if let Expr::Reg(reg) = v
            && self.pending(lanes).1 >> reg & 1 == 1
        {
            return Values::Token(*reg as Token);
        }
        let word = |lane| u64::from(encode(value(v, self.regs(lane)), self.words(lane)));
        match self.bundle.count {
            1 => Values::Const(word(0)),
            count => {
                let known = |lane: usize| if lanes >> lane & 1 == 1 { word(lane) } else { 0 };
                Values::Lanes((0..count as usize).map(known).collect())
            }
        }
    }

    /// Waits for what is still under way, then leaves the registers in memory.
    fn end(&mut self) {
        if self.wait(u64::MAX) {
            return;
        }
        for reg in 0..self.thread.regs.len() {
            let at = |lane| self.p.registers(self.run(lane) as u32, self.task.thread) + reg as u64 * WORD;
            let access = self.access(self.all(), &at, Attr::default(), Hinted::Store);
            let values = self.operand(&Expr::Reg(reg), self.all());
            self.ops.push(Op::Store { access, values });
        }
        self.ops.push(Op::End);
    }

    /// Registers, a bit each, whose values must be there before an instruction is begun.
    fn needs(&self, instr: &Instr, lanes: LaneMask) -> u64 {
        let (some, all) = self.pending(lanes);
        let passed = |v: &Expr| match v {
            // One that some lanes have and others have not is passed on by none.
            Expr::Reg(reg) => 1 << reg & some & !all,
            v => named(v),
        };
        let again = |dst: Reg| 1 << dst;
        match instr {
            Instr::Load { dst, at, .. } => named(at) | again(*dst),
            Instr::Store { at, value, .. } => named(at) | passed(value),
            Instr::Rmw { dst, at, value, compare, .. } => {
                named(at) | passed(value) | named(compare) | dst.map_or(0, again)
            }
            Instr::Set { dst, value } => named(value) | again(*dst),
            Instr::Branch { if_, .. } => named(if_),
            Instr::Fence { .. } | Instr::Barrier(_) | Instr::StoreExclusive { .. } => 0,
        }
    }
}

/// An access of lane 0.
pub(super) fn access(at: u64, attr: Attr) -> Access {
    Access {
        class: attr.class,
        sem: attr.sem,
        scope: attr.scope,
        remote: attr.remote,
        ..Access::data(WORD as u8, Addrs::Strided { base: at, stride: 0 }, 1)
    }
}

/// An atomic that changes nothing.
pub(super) fn nothing_added(token: Token, access: Access) -> Op {
    let (kind, values) = (AmoKind::Add, Values::Const(0));
    Op::Amo { token, access, kind, signed: false, values, compare: 0, ret: true }
}

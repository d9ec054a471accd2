//! Expressions to machine code, limb by limb, in the region where they are needed.

mod arith;
mod choice;
mod fields;

use crate::layout::Layout;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, MemFlagsData, Value, types::I8, types::I64};
use cranelift_frontend::FunctionBuilder;
use std::collections::HashMap;
use weft_rtl::bv::{Bv, limbs_for, top_mask};
use weft_rtl::netlist::*;

/// Flags of an access to the unit's state: aligned, never faulting.
pub fn flags() -> MemFlagsData {
    MemFlagsData::trusted()
}

/// Flags of a read of a register or input: what native code stores in place is never read later in the cycle,
/// so the read may be done where it is used.
fn stable() -> MemFlagsData {
    MemFlagsData::trusted().with_readonly().with_can_move()
}

/// Values known in one region.
#[derive(Default)]
struct ScopeMemo {
    limbs: HashMap<(NetId, u32), Value>,
    rows: HashMap<(u32, NetId), Value>,
    /// Where limbs of an expression were brought together.
    copies: HashMap<NetId, Value>,
    known: HashMap<NetId, Bv>,
    /// Part of the address of every stable read here: reads of different regions look different, so that each
    /// is done near its use instead of once for all, kept in a machine register in between.
    skew: i32,
}

/// Code being emitted for one unit.
pub struct Emit<'a, 'f> {
    pub netlist: &'a Netlist,
    pub layout: &'a Layout,
    /// Flag of each register, or 0.
    pub flags: &'a [u32],
    /// Memories all of whose reads come before all writes.
    settled: &'a [bool],
    pub b: &'a mut FunctionBuilder<'f>,
    pub state: Value,
    /// Work of an expression with everything below it, capped.
    cost: Vec<u32>,
    scopes: Vec<ScopeMemo>,
    /// Expressions computed at the start of the cycle, with the limb of the state where their values wait.
    waiting: HashMap<NetId, usize>,
    /// The last region's skew.
    opened: i32,
    /// Expressions that may still be computed with branches. Code that both arms of a choice need is made
    /// twice; nested, that has no bound of its own.
    branching: usize,
}

/// In place of a limb's number: the expression's one bit as a byte.
const BYTE: u32 = u32::MAX;

/// An arm dearer than this is jumped around instead of computed and dropped.
const BRANCH_COST: u32 = 12;

impl<'a, 'f> Emit<'a, 'f> {
    pub fn new(
        netlist: &'a Netlist,
        layout: &'a Layout,
        flags: &'a [u32],
        settled: &'a [bool],
        b: &'a mut FunctionBuilder<'f>,
        state: Value,
    ) -> Emit<'a, 'f> {
        let mut cost: Vec<u32> = Vec::with_capacity(netlist.nodes.len());
        for node in &netlist.nodes {
            let mut sum = limbs_for(node.width) as u32;
            node.op.operands(&mut |o| sum = sum.saturating_add(cost[o.index()]));
            let own = match node.op {
                NetOp::Const(_) => 0,
                _ => sum.min(1000),
            };
            cost.push(own);
        }
        Emit {
            netlist,
            layout,
            flags,
            settled,
            b,
            state,
            cost,
            scopes: vec![ScopeMemo::default()],
            waiting: HashMap::new(),
            opened: 0,
            branching: 500 + 6 * netlist.nodes.len(),
        }
    }

    /// Enters a region in which a selector has a known value.
    pub fn open(&mut self, known: Option<(NetId, Bv)>) {
        self.opened += 8;
        let mut scope = ScopeMemo { skew: self.opened, ..ScopeMemo::default() };
        scope.known.extend(known);
        self.scopes.push(scope);
    }

    /// Leaves a region: what was computed there is no longer available.
    pub fn close(&mut self) {
        self.scopes.pop();
    }

    pub fn iconst(&mut self, value: u64) -> Value {
        self.b.ins().iconst(I64, value as i64)
    }

    fn known(&self, id: NetId) -> Option<&Bv> {
        self.scopes.iter().rev().find_map(|s| s.known.get(&id))
    }

    fn width(&self, id: NetId) -> u32 {
        self.netlist.node(id).width
    }

    fn memo(&self, id: NetId, i: u32) -> Option<Value> {
        // Loading again is cheaper than keeping a value in a machine register across branches.
        if matches!(self.netlist.node(id).op, NetOp::Reg(_) | NetOp::Input(_))
            || self.waiting.contains_key(&id)
        {
            return self.scopes.last().and_then(|s| s.limbs.get(&(id, i)).copied());
        }
        self.scopes.iter().rev().find_map(|s| s.limbs.get(&(id, i)).copied())
    }

    fn remember(&mut self, id: NetId, i: u32, value: Value) {
        self.scopes.last_mut().expect("a scope is open").limbs.insert((id, i), value);
    }

    fn flag(&mut self, bool8: Value) -> Value {
        self.b.ins().uextend(I64, bool8)
    }

    fn masked(&mut self, value: Value, width: u32) -> Value {
        if width.is_multiple_of(64) {
            return value;
        }
        let mask = self.iconst(top_mask(width));
        self.b.ins().band(value, mask)
    }

    /// Masks limb `i` of a value of `width` bits if it is the highest.
    fn topped(&mut self, value: Value, i: u32, width: u32) -> Value {
        if i + 1 == limbs_for(width) as u32 { self.masked(value, width) } else { value }
    }

    pub fn load(&mut self, base: Value, limb: usize) -> Value {
        self.b.ins().load(I64, flags(), base, (8 * limb) as i32)
    }

    pub fn store(&mut self, value: Value, base: Value, limb: usize) {
        self.b.ins().store(flags(), value, base, (8 * limb) as i32);
    }

    /// What lies at a byte of the state.
    pub fn load_at(&mut self, ty: ir::Type, byte: usize) -> Value {
        self.b.ins().load(ty, flags(), self.state, byte as i32)
    }

    /// Sets bits in a limb of the state.
    pub fn set_bits(&mut self, bits: Value, limb: usize) {
        let old = self.load(self.state, limb);
        let new = self.b.ins().bor(old, bits);
        self.store(new, self.state, limb);
    }

    /// Stores limbs at `to`; the result is not zero if they differ from those at `old`.
    pub fn replace(&mut self, limbs: &[Value], old: usize, to: usize) -> Value {
        let mut all: Option<Value> = None;
        for (i, limb) in limbs.iter().enumerate() {
            let before = self.load(self.state, old + i);
            let differ = self.b.ins().bxor(before, *limb);
            self.store(*limb, self.state, to + i);
            all = Some(all.map_or(differ, |all| self.b.ins().bor(all, differ)));
        }
        all.expect("a limb")
    }

    /// Limb `i` of an expression; zero above its width.
    pub fn limb(&mut self, id: NetId, i: u32) -> Value {
        if i >= limbs_for(self.width(id)) as u32 {
            return self.iconst(0);
        }
        if let Some(v) = self.memo(id, i) {
            return v;
        }
        if let Some(v) = self.known(id) {
            let limb = v.limbs()[i as usize];
            return self.iconst(limb);
        }
        if let Some(at) = self.waiting.get(&id).copied() {
            let value = self.stable_limb(at + i as usize);
            self.remember(id, i, value);
            return value;
        }
        self.branching = self.branching.saturating_sub(1);
        let value = if self.width(id) == 1 {
            let bit = self.bit(id);
            self.flag(bit)
        } else {
            self.compute(id, i)
        };
        self.remember(id, i, value);
        value
    }

    /// A one-bit expression as a byte, 0 or 1: comparisons and branches need no more.
    pub fn bit(&mut self, id: NetId) -> Value {
        if let Some(v) = self.memo(id, BYTE) {
            return v;
        }
        if let Some(v) = self.known(id) {
            let bit = i64::from(v.bit(0));
            return self.b.ins().iconst(I8, bit);
        }
        if let Some(at) = self.waiting.get(&id).copied() {
            let value = self.load_byte(at);
            self.remember(id, BYTE, value);
            return value;
        }
        self.branching = self.branching.saturating_sub(1);
        let value = self.compute_bit(id);
        self.remember(id, BYTE, value);
        value
    }

    fn compute_bit(&mut self, id: NetId) -> Value {
        let netlist = self.netlist;
        match &netlist.node(id).op {
            NetOp::Const(v) => self.b.ins().iconst(I8, i64::from(v.bit(0))),
            NetOp::Input(p) => self.load_byte(self.layout.inputs[*p as usize]),
            NetOp::Reg(r) => self.load_byte(self.layout.regs[*r as usize]),
            NetOp::Not(a) => {
                let a = self.bit(*a);
                let one = self.b.ins().iconst(I8, 1);
                self.b.ins().bxor(a, one)
            }
            NetOp::And(a, b) => {
                let (x, y) = (self.bit(*a), self.bit(*b));
                self.b.ins().band(x, y)
            }
            NetOp::Or(a, b) => {
                let (x, y) = (self.bit(*a), self.bit(*b));
                self.b.ins().bor(x, y)
            }
            NetOp::Xor(a, b) => {
                let (x, y) = (self.bit(*a), self.bit(*b));
                self.b.ins().bxor(x, y)
            }
            NetOp::Eq(a, b) => self.equal(*a, *b),
            NetOp::Lt(a, b) => self.less(*a, *b),
            NetOp::AnyBit(a) if self.width(*a) == 1 => self.bit(*a),
            NetOp::AnyBit(a) => {
                let any = self.or_all(*a);
                let zero = self.iconst(0);
                self.b.ins().icmp(IntCC::NotEqual, any, zero)
            }
            NetOp::AllBits(a) => self.all_set(*a),
            NetOp::Mux(c, a, b) => self.choose(id, *c, *a, *b, BYTE),
            NetOp::Case { sel, arms, default } => self.case(id, *sel, arms, *default, BYTE),
            NetOp::Concat(parts) => self.bit(parts[0]),
            _ => {
                let value = self.compute(id, 0);
                self.b.ins().ireduce(I8, value)
            }
        }
    }

    fn load_byte(&mut self, at: usize) -> Value {
        self.stable(I8, at)
    }

    fn stable_limb(&mut self, at: usize) -> Value {
        self.stable(I64, at)
    }

    fn stable(&mut self, ty: ir::Type, at: usize) -> Value {
        let skew = self.scopes.last().map_or(0, |s| s.skew);
        let by = self.b.ins().iconst(I64, i64::from(skew));
        let base = self.b.ins().iadd(self.state, by);
        self.b.ins().load(ty, stable(), base, 8 * at as i32 - skew)
    }

    fn all_set(&mut self, a: NetId) -> Value {
        let width = self.width(a);
        if width == 1 {
            return self.bit(a);
        }
        let mut clear = self.iconst(0);
        for (k, limb) in self.all(a).into_iter().enumerate() {
            let inverted = self.b.ins().bnot(limb);
            let kept = self.topped(inverted, k as u32, width);
            clear = self.b.ins().bor(clear, kept);
        }
        let zero = self.iconst(0);
        self.b.ins().icmp(IntCC::Equal, clear, zero)
    }

    /// Limb `i`, or with [`BYTE`] the one bit.
    fn part(&mut self, id: NetId, i: u32) -> Value {
        if i == BYTE { self.bit(id) } else { self.limb(id, i) }
    }

    /// From here on these expressions are read from where they wait in the state.
    pub fn wait(&mut self, nodes: impl Iterator<Item = (NetId, usize)>) {
        self.waiting.extend(nodes);
    }

    /// All limbs of an expression.
    pub fn all(&mut self, id: NetId) -> Vec<Value> {
        (0..limbs_for(self.width(id)) as u32).map(|i| self.limb(id, i)).collect()
    }

    fn compute(&mut self, id: NetId, i: u32) -> Value {
        let netlist = self.netlist;
        let node = netlist.node(id);
        let w = node.width;
        match &node.op {
            NetOp::Const(v) => self.iconst(v.limbs()[i as usize]),
            NetOp::Input(p) => self.stable_limb(self.layout.inputs[*p as usize] + i as usize),
            NetOp::Reg(r) => self.stable_limb(self.layout.regs[*r as usize] + i as usize),
            NetOp::Not(a) => {
                let a = self.limb(*a, i);
                let v = self.b.ins().bnot(a);
                self.topped(v, i, w)
            }
            NetOp::And(a, b) => {
                let (x, y) = (self.limb(*a, i), self.limb(*b, i));
                self.b.ins().band(x, y)
            }
            NetOp::Or(a, b) => {
                let (x, y) = (self.limb(*a, i), self.limb(*b, i));
                self.b.ins().bor(x, y)
            }
            NetOp::Xor(a, b) => {
                let (x, y) = (self.limb(*a, i), self.limb(*b, i));
                self.b.ins().bxor(x, y)
            }
            NetOp::Add(a, b) => self.sum(id, *a, *b, i, w, false),
            NetOp::Sub(a, b) => self.sum(id, *a, *b, i, w, true),
            NetOp::Mul(a, b) => self.product(id, *a, *b, i, w),
            NetOp::Shl(a, b) => self.shift(id, *a, *b, i, w, true),
            NetOp::Shr(a, b) => self.shift(id, *a, *b, i, w, false),
            NetOp::Mux(c, a, b) => self.choose(id, *c, *a, *b, i),
            NetOp::Case { sel, arms, default } => self.case(id, *sel, arms, *default, i),
            NetOp::Concat(parts) => self.concat(parts, i, w),
            NetOp::Slice { a, lo } => self.extract(*a, lo + 64 * i, (w - 64 * i).min(64)),
            NetOp::Index { a, idx } => self.index(id, *a, *idx, i, w),
            NetOp::Parity(a) => {
                let limbs = self.all(*a);
                let folded = limbs.into_iter().reduce(|x, y| self.b.ins().bxor(x, y)).expect("a limb");
                let ones = self.b.ins().popcnt(folded);
                self.masked(ones, 1)
            }
            NetOp::PopCount(a) => {
                let limbs = self.all(*a);
                let counts: Vec<Value> = limbs.into_iter().map(|l| self.b.ins().popcnt(l)).collect();
                let sum = counts.into_iter().reduce(|x, y| self.b.ins().iadd(x, y)).expect("a limb");
                if i == 0 { self.masked(sum, w.min(64)) } else { self.iconst(0) }
            }
            NetOp::LowestSet(a) => self.lowest_set(*a, i),
            NetOp::MemRead { mem, addr, lane } => self.mem_read(*mem, *addr, *lane, i),
            NetOp::Eq(..) | NetOp::Lt(..) | NetOp::AnyBit(_) | NetOp::AllBits(_) => {
                unreachable!("one bit wide: computed as a byte")
            }
        }
    }
}

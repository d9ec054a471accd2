//! Expressions to machine code, limb by limb, in the region where they are needed.

use crate::layout::Layout;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    self, BlockArg, InstBuilder, MemFlagsData, StackSlotData, StackSlotKind, Value, types::I8, types::I64,
};
use cranelift_frontend::FunctionBuilder;
use std::collections::HashMap;
use weft_rtl::bv::{Bv, limbs_for, top_mask};
use weft_rtl::netlist::*;

/// Flags of an access to the unit's state: aligned, never faulting.
pub fn flags() -> MemFlagsData {
    MemFlagsData::trusted()
}

/// Flags of a read of a register or input: what native code stores in place is never read later in the cycle, so the read may be done where it is used.
fn stable() -> MemFlagsData {
    MemFlagsData::trusted().with_readonly().with_can_move()
}

/// Values known in one region.
#[derive(Default)]
struct ScopeMemo {
    limbs: HashMap<(NetId, u32), Value>,
    rows: HashMap<(u32, NetId), Value>,
    known: HashMap<NetId, Bv>,
    /// Part of the address of every stable read here: reads of different regions look different, so that each is done near its use instead of once for
    /// all, kept in a machine register in between.
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
    /// Expressions that may still be computed with branches. Code that both arms of a choice need is made twice; nested, that has no bound of its own.
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

    /// Sets bits in the flags.
    pub fn raise(&mut self, bits: Value) {
        let old = self.load(self.state, self.layout.flags);
        let new = self.b.ins().bor(old, bits);
        self.store(new, self.state, self.layout.flags);
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

    fn or_all(&mut self, id: NetId) -> Value {
        let limbs = self.all(id);
        limbs.into_iter().reduce(|x, y| self.b.ins().bor(x, y)).expect("a limb")
    }

    /// All limbs of a sum at once, since the carry runs through them.
    fn sum(&mut self, id: NetId, a: NetId, b: NetId, i: u32, w: u32, subtract: bool) -> Value {
        let count = limbs_for(w) as u32;
        if count == 1 {
            let (x, y) = (self.limb(a, 0), self.limb(b, 0));
            let v = if subtract { self.b.ins().isub(x, y) } else { self.b.ins().iadd(x, y) };
            return self.masked(v, w);
        }
        let mut carry = self.iconst(u64::from(subtract));
        let mut out = Vec::new();
        for k in 0..count {
            let (x, y) = (self.limb(a, k), self.limb(b, k));
            let y = if subtract { self.b.ins().bnot(y) } else { y };
            let first = self.b.ins().iadd(x, y);
            let c1 = self.b.ins().icmp(IntCC::UnsignedLessThan, first, x);
            let second = self.b.ins().iadd(first, carry);
            let c2 = self.b.ins().icmp(IntCC::UnsignedLessThan, second, first);
            let either = self.b.ins().bor(c1, c2);
            carry = self.flag(either);
            out.push(self.topped(second, k, w));
        }
        self.keep(id, out, i)
    }

    fn keep(&mut self, id: NetId, limbs: Vec<Value>, i: u32) -> Value {
        for (k, v) in limbs.iter().enumerate() {
            self.remember(id, k as u32, *v);
        }
        limbs[i as usize]
    }

    fn product(&mut self, id: NetId, a: NetId, b: NetId, i: u32, w: u32) -> Value {
        let n = limbs_for(w);
        let (x, y) = (self.all(a), self.all(b));
        let mut out = vec![self.iconst(0); n];
        for j in 0..n {
            let mut carry = self.iconst(0);
            for k in 0..n - j {
                let low = self.b.ins().imul(x[j], y[k]);
                let high = self.b.ins().umulhi(x[j], y[k]);
                let s1 = self.b.ins().iadd(out[j + k], low);
                let c1 = self.b.ins().icmp(IntCC::UnsignedLessThan, s1, low);
                let s2 = self.b.ins().iadd(s1, carry);
                let c2 = self.b.ins().icmp(IntCC::UnsignedLessThan, s2, s1);
                out[j + k] = s2;
                let (c1, c2) = (self.flag(c1), self.flag(c2));
                let c = self.b.ins().iadd(c1, c2);
                carry = self.b.ins().iadd(high, c);
            }
        }
        out[n - 1] = self.masked(out[n - 1], w);
        self.keep(id, out, i)
    }

    fn equal(&mut self, a: NetId, b: NetId) -> Value {
        let count = limbs_for(self.width(a)) as u32;
        if count == 1 {
            let lone = if self.width(a) == 1 { BYTE } else { 0 };
            let (x, y) = (self.part(a, lone), self.part(b, lone));
            return self.b.ins().icmp(IntCC::Equal, x, y);
        }
        let mut differ = self.iconst(0);
        for k in 0..count {
            let (x, y) = (self.limb(a, k), self.limb(b, k));
            let d = self.b.ins().bxor(x, y);
            differ = self.b.ins().bor(differ, d);
        }
        let zero = self.iconst(0);
        self.b.ins().icmp(IntCC::Equal, differ, zero)
    }

    fn less(&mut self, a: NetId, b: NetId) -> Value {
        let count = limbs_for(self.width(a)) as u32;
        let (x, y) = (self.limb(a, 0), self.limb(b, 0));
        let mut below = self.b.ins().icmp(IntCC::UnsignedLessThan, x, y);
        for k in 1..count {
            let (x, y) = (self.limb(a, k), self.limb(b, k));
            let less = self.b.ins().icmp(IntCC::UnsignedLessThan, x, y);
            let same = self.b.ins().icmp(IntCC::Equal, x, y);
            below = self.b.ins().select(same, below, less);
        }
        below
    }

    fn lowest_set(&mut self, a: NetId, i: u32) -> Value {
        if i > 0 {
            return self.iconst(0);
        }
        let limbs = self.all(a);
        let zero = self.iconst(0);
        let mut found = zero;
        for (k, limb) in limbs.into_iter().enumerate().rev() {
            let at = self.b.ins().ctz(limb);
            let base = self.iconst(64 * k as u64);
            let here = self.b.ins().iadd(at, base);
            let set = self.b.ins().icmp(IntCC::NotEqual, limb, zero);
            found = self.b.ins().select(set, here, found);
        }
        found
    }

    /// Bits `lo..lo+width` (at most 64) of an expression.
    pub fn extract(&mut self, a: NetId, lo: u32, width: u32) -> Value {
        let total = self.width(a);
        let (limb, shift) = (lo / 64, lo % 64);
        let low = self.limb(a, limb);
        let mut v = low;
        if shift > 0 {
            let by = self.iconst(u64::from(shift));
            v = self.b.ins().ushr(low, by);
            if shift + width > 64 {
                let high = self.limb(a, limb + 1);
                let up = self.iconst(u64::from(64 - shift));
                let moved = self.b.ins().ishl(high, up);
                v = self.b.ins().bor(v, moved);
            }
        }
        // Nothing lies above the value's own top.
        if lo + width < total && width < 64 { self.masked(v, width) } else { v }
    }

    fn concat(&mut self, parts: &[NetId], i: u32, w: u32) -> Value {
        let (from, to) = (64 * i, (64 * i + 64).min(w));
        let mut at = 0;
        let mut out: Option<Value> = None;
        let mut next = 0;
        while next < parts.len() {
            if at >= from
                && let Some((count, bits)) = self.run(&parts[next..], to.saturating_sub(at))
            {
                let placed = self.up(bits, at - from);
                out = Some(self.join_bits(out, placed));
                (next, at) = (next + count, at + count as u32);
                continue;
            }
            let part = &parts[next];
            next += 1;
            let pw = self.width(*part);
            let (lo, hi) = (from.max(at), to.min(at + pw));
            if lo < hi && !matches!(&self.netlist.node(*part).op, NetOp::Const(v) if v.is_zero()) {
                let bits = self.extract(*part, lo - at, hi - lo);
                let placed = self.up(bits, lo - from);
                out = Some(self.join_bits(out, placed));
            }
            at += pw;
            if at >= to {
                break;
            }
        }
        match out {
            Some(v) => v,
            None => self.iconst(0),
        }
    }

    fn up(&mut self, value: Value, by: u32) -> Value {
        if by == 0 {
            return value;
        }
        let by = self.iconst(u64::from(by));
        self.b.ins().ishl(value, by)
    }

    fn join_bits(&mut self, sum: Option<Value>, more: Value) -> Value {
        match sum {
            None => more,
            Some(sum) => self.b.ins().bor(sum, more),
        }
    }

    /// The first parts of a concatenation, at most `room`, when they are one bit repeated, or single bits of one limb at equal distances: how many, and
    /// their bits together.
    fn run(&mut self, parts: &[NetId], room: u32) -> Option<(usize, Value)> {
        let room = (room as usize).min(parts.len());
        let same = parts[..room].iter().take_while(|p| **p == parts[0]).count();
        if same >= 3 && self.width(parts[0]) == 1 {
            let bit = self.limb(parts[0], 0);
            let zero = self.iconst(0);
            let all = self.b.ins().isub(zero, bit);
            return Some((same, self.masked(all, same as u32)));
        }
        let single = |p: &NetId| match self.netlist.node(*p).op {
            NetOp::Slice { a, lo } if self.width(*p) == 1 => Some((a, lo)),
            _ => None,
        };
        let (source, first) = single(&parts[0])?;
        let (_, second) = parts.get(1).and_then(single)?;
        let stride = second.checked_sub(first).filter(|s| *s > 1)?;
        let fits = |(k, p): (usize, &NetId)| {
            let lo = first + stride * k as u32;
            lo / 64 == first / 64 && single(p) == Some((source, lo))
        };
        let count = parts[..room].iter().enumerate().take_while(|x| fits(*x)).count();
        (count >= 5).then(|| (count, self.gather(source, first, stride, count as u32)))
    }

    /// `count` bits of one limb from `first` on at distance `stride`, brought together: neighbouring groups are joined until one is left.
    fn gather(&mut self, source: NetId, first: u32, stride: u32, count: u32) -> Value {
        let groups = |size: u32| {
            let starts = (0..count.div_ceil(size)).map(|g| g * size * stride);
            starts.fold(0u64, |mask, at| mask | top_mask(size) << at)
        };
        let limb = self.limb(source, first / 64);
        let by = self.iconst(u64::from(first % 64));
        let shifted = self.b.ins().ushr(limb, by);
        let mask = self.iconst(groups(1));
        let mut v = self.b.ins().band(shifted, mask);
        let mut size = 1;
        while size < count {
            let by = self.iconst(u64::from(size * (stride - 1)));
            let moved = self.b.ins().ushr(v, by);
            let both = self.b.ins().bor(v, moved);
            let mask = self.iconst(groups(2 * size));
            v = self.b.ins().band(both, mask);
            size *= 2;
        }
        // Nothing lies above the bits wanted: the first mask left nothing there.
        v
    }

    /// The value of an expression if it fits 64 bits, and whether it is below a bound (`bound` itself must fit).
    fn bounded(&mut self, id: NetId, bound: u64) -> (Value, Option<Value>) {
        let value = self.limb(id, 0);
        let width = self.width(id);
        if width < 64 && 1u64 << width <= bound {
            return (value, None);
        }
        let limit = self.iconst(bound);
        let mut inside = self.b.ins().icmp(IntCC::UnsignedLessThan, value, limit);
        for k in 1..limbs_for(width) as u32 {
            let high = self.limb(id, k);
            let zero = self.iconst(0);
            let clear = self.b.ins().icmp(IntCC::Equal, high, zero);
            inside = self.b.ins().band(inside, clear);
        }
        (value, Some(inside))
    }

    fn or_zero(&mut self, value: Value, inside: Option<Value>) -> Value {
        match inside {
            None => value,
            Some(ok) => {
                let zero = self.iconst(0);
                self.b.ins().select(ok, value, zero)
            }
        }
    }

    fn shift(&mut self, id: NetId, a: NetId, by: NetId, i: u32, w: u32, left: bool) -> Value {
        let (amount, inside) = self.bounded(by, u64::from(w));
        let count = limbs_for(w);
        if count == 1 {
            let x = self.limb(a, 0);
            let moved = if left { self.b.ins().ishl(x, amount) } else { self.b.ins().ushr(x, amount) };
            let v = if left { self.masked(moved, w) } else { moved };
            return self.or_zero(v, inside);
        }
        // Through memory: zeros below and above make every limb number legal.
        let limbs = self.all(a);
        let slot = self.slot(3 * count);
        let zero = self.iconst(0);
        for k in 0..3 * count {
            let v = if (count..2 * count).contains(&k) { limbs[k - count] } else { zero };
            self.store(v, slot, k);
        }
        let amount = self.or_zero(amount, inside);
        let six = self.iconst(6);
        let whole = self.b.ins().ushr(amount, six);
        let low6 = self.iconst(63);
        let part = self.b.ins().band(amount, low6);
        let three = self.iconst(3);
        let bytes = self.b.ins().ishl(whole, three);
        let middle = self.iconst(8 * count as u64);
        let start = self.b.ins().iadd(slot, middle);
        let from = if left { self.b.ins().isub(start, bytes) } else { self.b.ins().iadd(start, bytes) };
        let mut out = Vec::new();
        for k in 0..count {
            let near = self.load(from, k);
            // The neighbour's bits; a shift by 64 is split in two so that an amount of zero gives zero.
            let far = self.b.ins().load(I64, flags(), from, 8 * (k as i32) + if left { -8 } else { 8 });
            let one = self.iconst(1);
            let rest = self.b.ins().bxor(part, low6);
            let v = if left {
                let near = self.b.ins().ishl(near, part);
                let far = self.b.ins().ushr(far, one);
                let far = self.b.ins().ushr(far, rest);
                self.b.ins().bor(near, far)
            } else {
                let near = self.b.ins().ushr(near, part);
                let far = self.b.ins().ishl(far, one);
                let far = self.b.ins().ishl(far, rest);
                self.b.ins().bor(near, far)
            };
            let v = self.topped(v, k as u32, w);
            out.push(self.or_zero(v, inside));
        }
        self.keep(id, out, i)
    }

    fn slot(&mut self, limbs: usize) -> Value {
        let data = StackSlotData::new(StackSlotKind::ExplicitSlot, 8 * limbs as u32, 3);
        let slot = self.b.create_sized_stack_slot(data);
        self.b.ins().stack_addr(I64, slot, 0)
    }

    fn index(&mut self, id: NetId, a: NetId, idx: NetId, i: u32, w: u32) -> Value {
        let total = self.width(a);
        let elements = u64::from(total / w);
        let (number, inside) = self.bounded(idx, elements);
        if total <= 64 {
            let x = self.limb(a, 0);
            let width = self.iconst(u64::from(w));
            let by = if w == 1 { number } else { self.b.ins().imul(number, width) };
            let moved = self.b.ins().ushr(x, by);
            let v = self.masked(moved, w);
            return self.or_zero(v, inside);
        }
        let number = self.or_zero(number, inside);
        let per = limbs_for(w);
        let slot = self.slot(per * elements as usize);
        for e in 0..elements as u32 {
            for k in 0..per as u32 {
                let bits = self.extract(a, e * w + 64 * k, (w - 64 * k).min(64));
                self.store(bits, slot, e as usize * per + k as usize);
            }
        }
        let stride = self.iconst(8 * per as u64);
        let offset = self.b.ins().imul(number, stride);
        let at = self.b.ins().iadd(slot, offset);
        let mut out = Vec::new();
        for k in 0..per {
            let v = self.load(at, k);
            out.push(self.or_zero(v, inside));
        }
        self.keep(id, out, i)
    }

    fn choose(&mut self, id: NetId, c: NetId, a: NetId, b: NetId, i: u32) -> Value {
        if let Some(v) = self.known(c) {
            let arm = if v.bit(0) { a } else { b };
            return self.part(arm, i);
        }
        if self.branching == 0 || self.cost[a.index()].max(self.cost[b.index()]) <= BRANCH_COST {
            let c = self.bit(c);
            let (x, y) = (self.part(a, i), self.part(b, i));
            return self.b.ins().select(c, x, y);
        }
        let (yes, no) = (self.b.create_block(), self.b.create_block());
        let cond = self.bit(c);
        self.b.ins().brif(cond, yes, &[], no, &[]);
        let one = |v: u64| Bv::from_u64(v, 1);
        self.join(id, i, vec![(yes, a, Some((c, one(1)))), (no, b, Some((c, one(0))))])
    }

    fn case(&mut self, id: NetId, sel: NetId, arms: &[(Vec<Bv>, NetId)], default: NetId, i: u32) -> Value {
        if let Some(v) = self.known(sel) {
            let arm = arms.iter().find(|(codes, _)| codes.contains(v)).map_or(default, |(_, n)| *n);
            return self.part(arm, i);
        }
        if self.branching == 0 {
            let mut out = self.part(default, i);
            for (codes, arm) in arms.iter().rev() {
                let value = self.part(*arm, i);
                for code in codes {
                    let differ = self.differs(sel, code);
                    out = self.b.ins().select(differ, out, value);
                }
            }
            return out;
        }
        let mut targets = Vec::new();
        let mut blocks = Vec::new();
        for (codes, arm) in arms {
            let block = self.b.create_block();
            let only = (codes.len() == 1).then(|| (sel, codes[0].clone()));
            blocks.push((codes.clone(), block));
            targets.push((block, *arm, only));
        }
        let other = self.b.create_block();
        targets.push((other, default, None));
        self.dispatch(sel, &blocks, other);
        self.join(id, i, targets)
    }

    /// Jumps to the block of the selector's value.
    pub fn dispatch(&mut self, sel: NetId, arms: &[(Vec<Bv>, ir::Block)], default: ir::Block) {
        if self.width(sel) <= 64 {
            let value = self.limb(sel, 0);
            let mut switch = cranelift_frontend::Switch::new();
            for (codes, block) in arms {
                codes.iter().for_each(|c| switch.set_entry(u128::from(c.low_u64()), *block));
            }
            switch.emit(self.b, value, default);
            return;
        }
        for (codes, block) in arms {
            for code in codes {
                let differ = self.differs(sel, code);
                let next = self.b.create_block();
                self.b.ins().brif(differ, next, &[], *block, &[]);
                self.b.switch_to_block(next);
            }
        }
        self.b.ins().jump(default, &[]);
    }

    /// Nonzero when a selector is not this code.
    fn differs(&mut self, sel: NetId, code: &Bv) -> Value {
        let mut differ = self.iconst(0);
        for (k, limb) in self.all(sel).into_iter().enumerate() {
            let want = self.iconst(code.limbs()[k]);
            let d = self.b.ins().bxor(limb, want);
            differ = self.b.ins().bor(differ, d);
        }
        differ
    }

    /// Computes each arm in its block and joins all limbs.
    fn join(&mut self, id: NetId, i: u32, arms: Vec<(ir::Block, NetId, Option<(NetId, Bv)>)>) -> Value {
        let merge = self.b.create_block();
        for _ in 0..limbs_for(self.width(id)) {
            self.b.append_block_param(merge, if i == BYTE { I8 } else { I64 });
        }
        for (block, arm, known) in arms {
            self.b.switch_to_block(block);
            self.open(known);
            let limbs = if i == BYTE { vec![self.bit(arm)] } else { self.all(arm) };
            let limbs: Vec<BlockArg> = limbs.into_iter().map(BlockArg::Value).collect();
            self.close();
            self.b.ins().jump(merge, &limbs);
        }
        self.b.switch_to_block(merge);
        let limbs = self.b.block_params(merge).to_vec();
        if i == BYTE {
            return limbs[0];
        }
        self.keep(id, limbs, i)
    }

    /// Address of a memory row, and whether it exists (`None`: certainly).
    pub fn row(&mut self, mem: u32, addr: NetId) -> (Value, Option<Value>) {
        let info = &self.netlist.mems[mem as usize];
        let (number, inside) = self.bounded(addr, u64::from(info.rows));
        if let Some(base) = self.scopes.iter().rev().find_map(|s| s.rows.get(&(mem, addr)).copied()) {
            return (base, inside);
        }
        let limbs = info.lanes as usize * self.layout.lane_limbs[mem as usize];
        let number = self.or_zero(number, inside);
        let stride = self.iconst(8 * limbs as u64);
        let offset = self.b.ins().imul(number, stride);
        let start = self.iconst(8 * self.layout.mems[mem as usize] as u64);
        let origin = self.b.ins().iadd(self.state, start);
        let base = self.b.ins().iadd(origin, offset);
        self.scopes.last_mut().expect("a scope is open").rows.insert((mem, addr), base);
        (base, inside)
    }

    fn cell(&mut self, mem: u32, base: Value, limb: usize) -> Value {
        let how = if self.settled[mem as usize] { stable() } else { flags() };
        self.b.ins().load(I64, how, base, (8 * limb) as i32)
    }

    fn mem_read(&mut self, mem: u32, addr: NetId, lane: NetLane, i: u32) -> Value {
        let (base, inside) = self.row(mem, addr);
        let info = &self.netlist.mems[mem as usize];
        let per = self.layout.lane_limbs[mem as usize];
        match lane {
            NetLane::Const(lane) => {
                let v = self.cell(mem, base, lane as usize * per + i as usize);
                self.or_zero(v, inside)
            }
            NetLane::Dyn(lane) => {
                let (number, legal) = self.bounded(lane, u64::from(info.lanes));
                let number = self.or_zero(number, legal);
                let stride = self.iconst(8 * per as u64);
                let offset = self.b.ins().imul(number, stride);
                let at = self.b.ins().iadd(base, offset);
                let v = self.cell(mem, at, i as usize);
                let v = self.or_zero(v, legal);
                self.or_zero(v, inside)
            }
            NetLane::Row => {
                let w = info.lane_width;
                let (from, to) = (64 * i, (64 * i + 64).min(w * info.lanes));
                let mut sum = self.iconst(0);
                for lane in from / w..=(to - 1) / w {
                    let start = lane * w;
                    for k in 0..per as u32 {
                        let (lo, hi) = (from.max(start + 64 * k), to.min(start + (64 * k + 64).min(w)));
                        if lo >= hi {
                            continue;
                        }
                        let mut v = self.cell(mem, base, lane as usize * per + k as usize);
                        let down = lo - (start + 64 * k);
                        if down > 0 {
                            let by = self.iconst(u64::from(down));
                            v = self.b.ins().ushr(v, by);
                        }
                        if lo > from {
                            let by = self.iconst(u64::from(lo - from));
                            v = self.b.ins().ishl(v, by);
                        }
                        sum = self.b.ins().bor(sum, v);
                    }
                }
                self.or_zero(sum, inside)
            }
        }
    }
}

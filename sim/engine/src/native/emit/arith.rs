//! Sums, products, comparisons and shifts.

use super::{BYTE, Emit, flags};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, StackSlotData, StackSlotKind, Value, types::I64};
use weft_rtl::bv::limbs_for;
use weft_rtl::netlist::*;

impl Emit<'_, '_> {
    pub(super) fn or_all(&mut self, id: NetId) -> Value {
        let limbs = self.all(id);
        limbs.into_iter().reduce(|x, y| self.b.ins().bor(x, y)).expect("a limb")
    }

    /// All limbs of a sum at once, since the carry runs through them.
    pub(super) fn sum(&mut self, id: NetId, a: NetId, b: NetId, i: u32, w: u32, subtract: bool) -> Value {
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

    pub(super) fn keep(&mut self, id: NetId, limbs: Vec<Value>, i: u32) -> Value {
        for (k, v) in limbs.iter().enumerate() {
            self.remember(id, k as u32, *v);
        }
        limbs[i as usize]
    }

    pub(super) fn product(&mut self, id: NetId, a: NetId, b: NetId, i: u32, w: u32) -> Value {
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

    pub(super) fn equal(&mut self, a: NetId, b: NetId) -> Value {
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

    pub(super) fn less(&mut self, a: NetId, b: NetId) -> Value {
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

    pub(super) fn lowest_set(&mut self, a: NetId, i: u32) -> Value {
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

    /// The value of an expression if it fits 64 bits, and whether it is below a bound (`bound` itself must
    /// fit).
    pub(super) fn bounded(&mut self, id: NetId, bound: u64) -> (Value, Option<Value>) {
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

    pub(super) fn or_zero(&mut self, value: Value, inside: Option<Value>) -> Value {
        match inside {
            None => value,
            Some(ok) => {
                let zero = self.iconst(0);
                self.b.ins().select(ok, value, zero)
            }
        }
    }

    pub(super) fn shift(&mut self, id: NetId, a: NetId, by: NetId, i: u32, w: u32, left: bool) -> Value {
        let (amount, inside) = self.bounded(by, u64::from(w));
        let count = limbs_for(w);
        if count == 1 {
            let x = self.limb(a, 0);
            let moved = if left { self.b.ins().ishl(x, amount) } else { self.b.ins().ushr(x, amount) };
            let v = if left { self.masked(moved, w) } else { moved };
            return self.or_zero(v, inside);
        }
        let few = limbs_for(self.significant(a));
        if left && 2 * (few + 1) < count {
            let out = self.place_few(a, few, amount, inside, w);
            return self.keep(id, out, i);
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

    /// Bits below the zeros at the top of an expression that are there by its form, at least one.
    fn significant(&self, a: NetId) -> u32 {
        match &self.netlist.node(a).op {
            NetOp::Const(v) => (0..v.width()).rev().find(|bit| v.bit(*bit)).map_or(1, |bit| bit + 1),
            NetOp::Concat(parts) => {
                let mut at = 0;
                let ends = parts.iter().map(|part| {
                    at += self.width(*part);
                    let zero = matches!(&self.netlist.node(*part).op, NetOp::Const(v) if v.is_zero());
                    if zero { 1 } else { at }
                });
                ends.max().unwrap_or(1)
            }
            _ => self.width(a),
        }
    }

    /// A value with bits in its `few` lowest limbs only, shifted left: zeros, and in them the limbs that are not.
    fn place_few(
        &mut self,
        a: NetId,
        few: usize,
        amount: Value,
        inside: Option<Value>,
        w: u32,
    ) -> Vec<Value> {
        let count = limbs_for(w);
        let limbs: Vec<Value> = (0..few as u32).map(|k| self.limb(a, k)).collect();
        // What is shifted out at the top lies behind the value.
        let slot = self.slot(count + few + 1);
        let zero = self.iconst(0);
        (0..count).for_each(|k| self.store(zero, slot, k));
        let amount = self.or_zero(amount, inside);
        let [six, low6, three, one] = [6, 63, 3, 1].map(|n| self.iconst(n));
        let whole = self.b.ins().ushr(amount, six);
        let bytes = self.b.ins().ishl(whole, three);
        let at = self.b.ins().iadd(slot, bytes);
        let part = self.b.ins().band(amount, low6);
        let rest = self.b.ins().bxor(part, low6);
        let mut below = zero;
        for k in 0..=few {
            let near = limbs.get(k).copied().unwrap_or(zero);
            let moved = self.b.ins().ishl(near, part);
            // The neighbour's bits; a shift by 64 is split in two so that an amount of zero gives zero.
            let far = self.b.ins().ushr(below, one);
            let far = self.b.ins().ushr(far, rest);
            let v = self.b.ins().bor(moved, far);
            let v = self.or_zero(v, inside);
            self.store(v, at, k);
            below = near;
        }
        let out = (0..count).map(|k| {
            let v = self.load(slot, k);
            self.topped(v, k as u32, w)
        });
        out.collect()
    }

    pub(super) fn slot(&mut self, limbs: usize) -> Value {
        let data = StackSlotData::new(StackSlotKind::ExplicitSlot, 8 * limbs as u32, 3);
        let slot = self.b.create_sized_stack_slot(data);
        self.b.ins().stack_addr(I64, slot, 0)
    }
}

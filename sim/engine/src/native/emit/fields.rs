//! Pieces of values: extraction, concatenation, gathered bits.

use super::Emit;
use cranelift_codegen::ir::{InstBuilder, Value};
use weft_rtl::bv::top_mask;
use weft_rtl::netlist::*;

impl Emit<'_, '_> {
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

    pub(super) fn concat(&mut self, parts: &[NetId], i: u32, w: u32) -> Value {
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

    pub(super) fn up(&mut self, value: Value, by: u32) -> Value {
        if by == 0 {
            return value;
        }
        let by = self.iconst(u64::from(by));
        self.b.ins().ishl(value, by)
    }

    pub(super) fn join_bits(&mut self, sum: Option<Value>, more: Value) -> Value {
        match sum {
            None => more,
            Some(sum) => self.b.ins().bor(sum, more),
        }
    }

    /// The first parts of a concatenation, at most `room`, when they are one bit repeated, or single bits of
    /// one limb at equal distances: how many, and their bits together.
    pub(super) fn run(&mut self, parts: &[NetId], room: u32) -> Option<(usize, Value)> {
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

    /// `count` bits of one limb from `first` on at distance `stride`, brought together: neighbouring groups
    /// are joined until one is left.
    pub(super) fn gather(&mut self, source: NetId, first: u32, stride: u32, count: u32) -> Value {
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
}

//! Construction of netlist expressions: equal ones are made once, constants and wiring are folded.

use crate::bv::Bv;
use crate::netlist::*;
use rustc_hash::FxHashMap;

/// The netlist being filled; equal expressions are made once.
pub(crate) struct Flat {
    pub out: Netlist,
    pub memo: FxHashMap<NetNode, NetId>,
}

impl Flat {
    pub fn node(&mut self, op: NetOp, width: u32) -> NetId {
        if let Some(same) = self.fold(&op, width) {
            return same;
        }
        let node = NetNode { op, width };
        if let Some(id) = self.memo.get(&node) {
            return *id;
        }
        let id = NetId(self.out.nodes.len() as u32);
        self.out.nodes.push(node.clone());
        self.memo.insert(node, id);
        id
    }

    pub fn constant(&self, id: NetId) -> Option<&Bv> {
        match &self.out.node(id).op {
            NetOp::Const(v) => Some(v),
            _ => None,
        }
    }

    pub fn literal(&mut self, value: Bv) -> NetId {
        let width = value.width();
        self.node(NetOp::Const(value), width)
    }

    /// Simplifications that keep the value.
    fn fold(&mut self, op: &NetOp, width: u32) -> Option<NetId> {
        if let NetOp::Const(_) = op {
            return None;
        }
        let mut all_const = true;
        let mut some = false;
        op.operands(&mut |o| {
            some = true;
            all_const &= matches!(self.out.node(o).op, NetOp::Const(_));
        });
        if some && all_const && !matches!(op, NetOp::MemRead { .. }) {
            let value = crate::eval::constant(&self.out, op, width);
            return Some(self.literal(value));
        }
        self.fold_partly(op, width)
    }

    fn fold_partly(&mut self, op: &NetOp, width: u32) -> Option<NetId> {
        let zero = |f: &Flat, n: NetId| f.constant(n).is_some_and(Bv::is_zero);
        let ones = |f: &Flat, n: NetId| f.constant(n).is_some_and(|v| *v == Bv::ones(v.width()));
        match op {
            NetOp::Mux(c, a, b) => {
                if a == b {
                    return Some(*a);
                }
                if let Some(v) = self.constant(*c) {
                    return Some(if v.bit(0) { *a } else { *b });
                }
                if width == 1 && ones(self, *a) && zero(self, *b) {
                    return Some(*c);
                }
                if let NetOp::Not(inner) = self.out.node(*c).op {
                    return Some(self.node(NetOp::Mux(inner, *b, *a), width));
                }
                None
            }
            NetOp::Case { sel, arms, default } => {
                if let Some(v) = self.constant(*sel).cloned() {
                    let arm = arms.iter().find(|(codes, _)| codes.contains(&v));
                    return Some(arm.map_or(*default, |(_, n)| *n));
                }
                arms.iter().all(|(_, n)| n == default).then_some(*default)
            }
            NetOp::And(a, b) | NetOp::Or(a, b) => {
                let is_and = matches!(op, NetOp::And(..));
                for (x, y) in [(*a, *b), (*b, *a)] {
                    if x == y || (is_and && ones(self, x)) || (!is_and && zero(self, x)) {
                        return Some(y);
                    }
                    if (is_and && zero(self, x)) || (!is_and && ones(self, x)) {
                        return Some(x);
                    }
                }
                None
            }
            NetOp::Xor(a, b) | NetOp::Add(a, b) if zero(self, *a) => Some(*b),
            NetOp::Xor(a, b) | NetOp::Add(a, b) | NetOp::Sub(a, b) | NetOp::Shl(a, b) | NetOp::Shr(a, b)
                if zero(self, *b) =>
            {
                Some(*a)
            }
            NetOp::Not(a) => match self.out.node(*a).op {
                NetOp::Not(inner) => Some(inner),
                _ => None,
            },
            NetOp::AnyBit(a) | NetOp::AllBits(a) | NetOp::Parity(a) if self.out.node(*a).width == 1 => {
                Some(*a)
            }
            NetOp::Eq(a, b) if self.out.node(*a).width == 1 => {
                for (x, y) in [(*a, *b), (*b, *a)] {
                    if let Some(v) = self.constant(x) {
                        return Some(if v.bit(0) { y } else { self.node(NetOp::Not(y), 1) });
                    }
                }
                None
            }
            NetOp::Index { a, idx } => {
                let at = self.constant(*idx)?.to_u64();
                let total = self.out.node(*a).width;
                match at {
                    Some(i) if (i + 1) * u64::from(width) <= u64::from(total) => {
                        Some(self.node(NetOp::Slice { a: *a, lo: i as u32 * width }, width))
                    }
                    _ => Some(self.literal(Bv::zero(width))),
                }
            }
            NetOp::Slice { a, lo } => self.fold_slice(*a, *lo, width),
            NetOp::Concat(parts) => self.fold_concat(parts, width),
            NetOp::Shl(a, b) | NetOp::Shr(a, b) => self.fold_shift(op, *a, *b, width),
            _ => None,
        }
    }

    /// A shift by a constant is wiring.
    fn fold_shift(&mut self, op: &NetOp, a: NetId, b: NetId, width: u32) -> Option<NetId> {
        let by = self.constant(b)?.to_u64().unwrap_or(u64::MAX).min(u64::from(width)) as u32;
        let zeros = self.literal(Bv::zero(by.max(1)));
        if by == width {
            return Some(self.literal(Bv::zero(width)));
        }
        let keep = width - by;
        Some(if matches!(op, NetOp::Shl(..)) {
            let low = self.node(NetOp::Slice { a, lo: 0 }, keep);
            self.node(NetOp::Concat(vec![zeros, low]), width)
        } else {
            let high = self.node(NetOp::Slice { a, lo: by }, keep);
            self.node(NetOp::Concat(vec![high, zeros]), width)
        })
    }

    fn fold_slice(&mut self, a: NetId, lo: u32, width: u32) -> Option<NetId> {
        let inner = self.out.node(a).clone();
        if lo == 0 && inner.width == width {
            return Some(a);
        }
        match inner.op {
            NetOp::Slice { a: deeper, lo: base } => {
                Some(self.node(NetOp::Slice { a: deeper, lo: base + lo }, width))
            }
            NetOp::Concat(parts) => {
                // Only the parts that the slice touches are kept.
                let mut at = 0;
                let mut kept = Vec::new();
                for part in parts {
                    let w = self.out.node(part).width;
                    let (from, to) = (lo.max(at), (lo + width).min(at + w));
                    if from < to {
                        kept.push(self.node(NetOp::Slice { a: part, lo: from - at }, to - from));
                    }
                    at += w;
                }
                Some(if kept.len() == 1 { kept[0] } else { self.node(NetOp::Concat(kept), width) })
            }
            NetOp::MemRead { mem, addr, lane: NetLane::Row } => {
                let lane_width = self.out.mems[mem as usize].lane_width;
                let lane = lo / lane_width;
                if (lo + width - 1) / lane_width != lane || self.out.mems[mem as usize].lanes == 1 {
                    return None;
                }
                let one = self.node(NetOp::MemRead { mem, addr, lane: NetLane::Const(lane) }, lane_width);
                Some(self.node(NetOp::Slice { a: one, lo: lo - lane * lane_width }, width))
            }
            _ => None,
        }
    }

    fn fold_concat(&mut self, parts: &[NetId], width: u32) -> Option<NetId> {
        if parts.len() == 1 {
            return Some(parts[0]);
        }
        let mut flat: Vec<NetId> = Vec::new();
        let mut changed = false;
        for part in parts {
            match self.out.node(*part).op.clone() {
                NetOp::Concat(inner) => {
                    flat.extend(inner);
                    changed = true;
                }
                _ => flat.push(*part),
            }
        }
        let mut joined: Vec<NetId> = Vec::new();
        for part in flat {
            let merged = joined.last().and_then(|last| self.adjacent(*last, part));
            match merged {
                Some((op, w)) => {
                    changed = true;
                    let id = self.node(op, w);
                    *joined.last_mut().expect("a part came before") = id;
                }
                None => joined.push(part),
            }
        }
        changed.then(|| self.node(NetOp::Concat(joined), width))
    }

    /// Two neighbours in a concatenation that are one slice or one constant.
    fn adjacent(&self, low: NetId, high: NetId) -> Option<(NetOp, u32)> {
        let (l, h) = (self.out.node(low), self.out.node(high));
        match (&l.op, &h.op) {
            (NetOp::Slice { a, lo }, NetOp::Slice { a: b, lo: next }) if a == b && lo + l.width == *next => {
                Some((NetOp::Slice { a: *a, lo: *lo }, l.width + h.width))
            }
            (NetOp::Const(x), NetOp::Const(y)) => {
                Some((NetOp::Const(Bv::concat(&[x.clone(), y.clone()])), l.width + h.width))
            }
            _ => None,
        }
    }
}

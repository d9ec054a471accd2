//! The reference backend: evaluates every expression of a netlist in order, every cycle.

use crate::layout::Layout;
use std::sync::Arc;
use weft_rtl::bv::{limbs_for, top_mask};
use weft_rtl::ir::ProbeKind;
use weft_rtl::netlist::*;

/// A netlist prepared for evaluation. Values of expressions live in a scratch array; an operand always lies before its user.
pub struct Interp {
    netlist: Arc<Netlist>,
    layout: Layout,
    offsets: Vec<usize>,
    scratch: usize,
}

impl Interp {
    /// Prepares a netlist.
    pub fn new(netlist: &Arc<Netlist>, layout: &Layout) -> Interp {
        let mut scratch = 0;
        let offsets = netlist
            .nodes
            .iter()
            .map(|n| {
                scratch += limbs_for(n.width);
                scratch - limbs_for(n.width)
            })
            .collect();
        Interp { netlist: netlist.clone(), layout: layout.clone(), offsets, scratch }
    }

    /// Limbs of scratch space.
    pub fn scratch_size(&self) -> usize {
        self.scratch
    }

    /// The value of an expression after [`Interp::evaluate`].
    pub fn value<'a>(&self, scratch: &'a [u64], id: NetId) -> &'a [u64] {
        let at = self.offsets[id.index()];
        &scratch[at..at + limbs_for(self.netlist.node(id).width)]
    }

    fn low(&self, scratch: &[u64], id: NetId) -> u64 {
        scratch[self.offsets[id.index()]]
    }

    /// Computes every expression from the state.
    pub fn evaluate(&self, state: &[u64], scratch: &mut [u64]) {
        for number in 0..self.netlist.nodes.len() {
            self.compute(number, state, scratch);
        }
    }

    /// Computes these expressions, operands before their users, from the state.
    pub fn evaluate_some(&self, nodes: &[u32], state: &[u64], scratch: &mut [u64]) {
        nodes.iter().for_each(|number| self.compute(*number as usize, state, scratch));
    }

    /// Computes one expression into `out`; the values of its operands lie in `before`, where `offset` says.
    #[inline]
    pub fn one(
        &self,
        number: usize,
        state: &[u64],
        before: &[u64],
        out: &mut [u64],
        offset: &impl Fn(NetId) -> usize,
    ) {
        let node = &self.netlist.nodes[number];
        self.operation(&node.op, node.width, state, before, out, offset);
        if let Some(last) = out.last_mut() {
            *last &= top_mask(node.width);
        }
    }

    /// The value of an expression that with all its operands fits a limb, given theirs; none of another one.
    #[inline]
    pub fn narrow(&self, number: usize, state: &[u64], get: &impl Fn(NetId) -> u64) -> Option<u64> {
        let (nodes, node) = (&self.netlist.nodes, &self.netlist.nodes[number]);
        let width = |id: &NetId| nodes[id.index()].width;
        let (w, g) = (node.width, |id: &NetId| get(*id));
        let below = |by: u64, bound: u32, value: &dyn Fn(u32) -> u64| {
            if by < u64::from(bound) { value(by as u32) } else { 0 }
        };
        let value = match &node.op {
            NetOp::Const(v) => v.limbs()[0],
            NetOp::Input(i) => state[self.layout.inputs[*i as usize]],
            NetOp::Reg(i) => state[self.layout.regs[*i as usize]],
            NetOp::Not(a) => !g(a),
            NetOp::And(a, b) => g(a) & g(b),
            NetOp::Or(a, b) => g(a) | g(b),
            NetOp::Xor(a, b) => g(a) ^ g(b),
            NetOp::Add(a, b) => g(a).wrapping_add(g(b)),
            NetOp::Sub(a, b) => g(a).wrapping_sub(g(b)),
            NetOp::Mul(a, b) => g(a).wrapping_mul(g(b)),
            NetOp::Eq(a, b) => u64::from(g(a) == g(b)),
            NetOp::Lt(a, b) => u64::from(g(a) < g(b)),
            NetOp::Shl(a, b) => below(g(b), w, &|by| g(a) << by),
            NetOp::Shr(a, b) => below(g(b), w, &|by| g(a) >> by),
            NetOp::Mux(c, a, b) => g(if g(c) & 1 == 1 { a } else { b }),
            NetOp::Case { sel, arms, default } => {
                let sel = g(sel);
                let arm = arms.iter().find(|(codes, _)| codes.iter().any(|c| c.limbs()[0] == sel));
                g(arm.map_or(default, |(_, n)| n))
            }
            NetOp::Concat(parts) => {
                let mut at = 0;
                parts.iter().fold(0, |sum, part| {
                    let placed = g(part) << at;
                    at += width(part);
                    sum | placed
                })
            }
            NetOp::Slice { a, lo } => g(a) >> lo,
            NetOp::Index { a, idx } => below(g(idx), width(a) / w, &|idx| g(a) >> (idx * w)),
            NetOp::AnyBit(a) => u64::from(g(a) != 0),
            NetOp::AllBits(a) => u64::from(g(a) == top_mask(width(a))),
            NetOp::Parity(a) => u64::from(g(a).count_ones() & 1),
            NetOp::PopCount(a) => u64::from(g(a).count_ones()),
            NetOp::LowestSet(a) => {
                if g(a) == 0 {
                    0
                } else {
                    u64::from(g(a).trailing_zeros())
                }
            }
            NetOp::MemRead { .. } => return None,
        };
        Some(value & top_mask(w))
    }

    /// Whether [`Interp::narrow`] knows an expression's value.
    pub fn is_narrow(&self, number: usize) -> bool {
        let fits = |width: u32| width <= 64;
        let node = &self.netlist.nodes[number];
        let mut all = fits(node.width) && !matches!(node.op, NetOp::MemRead { .. });
        node.op.operands(&mut |o| all &= fits(self.netlist.node(o).width));
        all
    }

    #[inline]
    fn compute(&self, number: usize, state: &[u64], scratch: &mut [u64]) {
        let (before, rest) = scratch.split_at_mut(self.offsets[number]);
        let out = &mut rest[..limbs_for(self.netlist.nodes[number].width)];
        self.one(number, state, before, out, &|id| self.offsets[id.index()]);
    }

    /// One clock edge on evaluated expressions. Returns whether a register or memory changed.
    pub fn commit(&self, state: &mut [u64], scratch: &[u64]) -> bool {
        let mut changed = false;
        for (i, reg) in self.netlist.regs.iter().enumerate() {
            let next = self.value(scratch, reg.next);
            let q = &mut state[self.layout.regs[i]..][..next.len()];
            if q != next {
                q.copy_from_slice(next);
                changed = true;
            }
        }
        for mem in 0..self.netlist.mems.len() {
            for port in 0..self.netlist.mems[mem].writes.len() {
                changed |= self.write(mem, port, state, scratch);
            }
        }
        changed
    }

    /// Adds to the counters of the probes; a failed assertion's counter counts its failures. Returns whether one failed.
    pub fn count(&self, state: &mut [u64], scratch: &[u64]) -> bool {
        let mut failed = false;
        for (i, probe) in self.netlist.probes.iter().enumerate() {
            let holds = self.low(scratch, probe.cond) & 1 == 1;
            let add = match probe.kind {
                ProbeKind::Assert => {
                    failed |= !holds;
                    u64::from(!holds)
                }
                _ if !holds => 0,
                _ => probe.amount.map_or(1, |a| self.low(scratch, a)),
            };
            state[self.layout.probes + i] = state[self.layout.probes + i].wrapping_add(add);
        }
        failed
    }

    fn write(&self, mem: usize, port: usize, state: &mut [u64], scratch: &[u64]) -> bool {
        let info = &self.netlist.mems[mem];
        let write = &info.writes[port];
        let Some(row) = small(self.value(scratch, write.addr)).filter(|r| *r < u64::from(info.rows)) else {
            return false;
        };
        if self.low(scratch, write.en) & 1 == 0 {
            return false;
        }
        let limbs = self.layout.lane_limbs[mem];
        let base = self.layout.mems[mem] + row as usize * info.lanes as usize * limbs;
        let mut changed = false;
        let mut store = |lane: usize, data: &[u64]| {
            let cell = &mut state[base + lane * limbs..][..limbs];
            changed |= cell != data;
            cell.copy_from_slice(data);
        };
        match write.mode {
            NetWriteMode::Lane { lane, data } => {
                let lane = small(self.value(scratch, lane)).filter(|l| *l < u64::from(info.lanes));
                if let Some(lane) = lane {
                    store(lane as usize, self.value(scratch, data));
                }
            }
            NetWriteMode::Row { mask, data } => {
                let (mask, data) = (self.value(scratch, mask), self.value(scratch, data));
                let mut one = vec![0; limbs];
                for lane in 0..info.lanes {
                    if mask[(lane / 64) as usize] >> (lane % 64) & 1 == 1 {
                        bits(data, lane * info.lane_width, info.lane_width, &mut one);
                        store(lane as usize, &one);
                    }
                }
            }
        }
        changed
    }

    #[inline]
    fn operation(
        &self,
        op: &NetOp,
        width: u32,
        state: &[u64],
        before: &[u64],
        out: &mut [u64],
        offset: &impl Fn(NetId) -> usize,
    ) {
        let get = |id: &NetId| {
            let at = offset(*id);
            &before[at..at + limbs_for(self.netlist.node(*id).width)]
        };
        let flag = |out: &mut [u64], b: bool| out[0] = u64::from(b);
        match op {
            NetOp::Const(v) => out.copy_from_slice(v.limbs()),
            NetOp::Input(i) => {
                out.copy_from_slice(&state[self.layout.inputs[*i as usize]..][..limbs_for(width)])
            }
            NetOp::Reg(i) => out.copy_from_slice(&state[self.layout.regs[*i as usize]..][..limbs_for(width)]),
            NetOp::Not(a) => map(get(a), out, |x| !x),
            NetOp::And(a, b) => zip(get(a), get(b), out, |x, y| x & y),
            NetOp::Or(a, b) => zip(get(a), get(b), out, |x, y| x | y),
            NetOp::Xor(a, b) => zip(get(a), get(b), out, |x, y| x ^ y),
            NetOp::Add(a, b) => add(get(a), get(b), out, false),
            NetOp::Sub(a, b) => add(get(a), get(b), out, true),
            NetOp::Mul(a, b) => mul(get(a), get(b), out),
            NetOp::Eq(a, b) => flag(out, get(a) == get(b)),
            NetOp::Lt(a, b) => flag(out, get(a).iter().rev().lt(get(b).iter().rev())),
            NetOp::Shl(a, b) => shift_left(get(a), small(get(b)), width, out),
            NetOp::Shr(a, b) => match small(get(b)).filter(|by| *by < u64::from(width)) {
                Some(by) => bits(get(a), by as u32, width - by as u32, out),
                None => out.fill(0),
            },
            NetOp::Mux(c, a, b) => out.copy_from_slice(get(if get(c)[0] & 1 == 1 { a } else { b })),
            NetOp::Case { sel, arms, default } => {
                let sel = get(sel);
                let arm = arms.iter().find(|(codes, _)| codes.iter().any(|c| c.limbs() == sel));
                out.copy_from_slice(get(arm.map_or(default, |(_, n)| n)));
            }
            NetOp::Concat(parts) => {
                out.fill(0);
                let mut at = 0;
                for part in parts {
                    place(get(part), at, out);
                    at += self.netlist.node(*part).width;
                }
            }
            NetOp::Slice { a, lo } => bits(get(a), *lo, width, out),
            NetOp::Index { a, idx } => {
                let elements = u64::from(self.netlist.node(*a).width / width);
                match small(get(idx)).filter(|i| *i < elements) {
                    Some(i) => bits(get(a), i as u32 * width, width, out),
                    None => out.fill(0),
                }
            }
            NetOp::AnyBit(a) => flag(out, get(a).iter().any(|l| *l != 0)),
            NetOp::AllBits(a) => flag(out, ones(get(a)) == u64::from(self.netlist.node(*a).width)),
            NetOp::Parity(a) => flag(out, ones(get(a)) & 1 == 1),
            NetOp::PopCount(a) => widen(ones(get(a)), out),
            NetOp::LowestSet(a) => {
                let limbs = get(a);
                let found = limbs.iter().position(|l| *l != 0);
                widen(found.map_or(0, |i| i as u64 * 64 + u64::from(limbs[i].trailing_zeros())), out);
            }
            NetOp::MemRead { mem, addr, lane } => self.read(*mem as usize, get(addr), lane, &get, state, out),
        }
    }

    fn read<'a>(
        &self,
        mem: usize,
        addr: &[u64],
        lane: &NetLane,
        get: &impl Fn(&NetId) -> &'a [u64],
        state: &[u64],
        out: &mut [u64],
    ) {
        let info = &self.netlist.mems[mem];
        let limbs = self.layout.lane_limbs[mem];
        out.fill(0);
        let Some(row) = small(addr).filter(|r| *r < u64::from(info.rows)) else {
            return;
        };
        let base = self.layout.mems[mem] + row as usize * info.lanes as usize * limbs;
        let cell = |lane: u64| &state[base + lane as usize * limbs..][..limbs];
        match lane {
            NetLane::Row => {
                for lane in 0..info.lanes {
                    place(cell(u64::from(lane)), lane * info.lane_width, out);
                }
            }
            NetLane::Const(lane) => out.copy_from_slice(cell(u64::from(*lane))),
            NetLane::Dyn(lane) => {
                if let Some(lane) = small(get(lane)).filter(|l| *l < u64::from(info.lanes)) {
                    out.copy_from_slice(cell(lane));
                }
            }
        }
    }
}

fn small(limbs: &[u64]) -> Option<u64> {
    limbs[1..].iter().all(|l| *l == 0).then_some(limbs[0])
}

fn widen(value: u64, out: &mut [u64]) {
    out.fill(0);
    out[0] = value;
}

fn map(a: &[u64], out: &mut [u64], f: impl Fn(u64) -> u64) {
    out.iter_mut().zip(a).for_each(|(o, x)| *o = f(*x));
}

fn zip(a: &[u64], b: &[u64], out: &mut [u64], f: impl Fn(u64, u64) -> u64) {
    out.iter_mut().zip(a.iter().zip(b)).for_each(|(o, (x, y))| *o = f(*x, *y));
}

/// Sum, or difference as the sum with the complement and a carry.
fn add(a: &[u64], b: &[u64], out: &mut [u64], subtract: bool) {
    let mut carry = subtract;
    for ((o, x), y) in out.iter_mut().zip(a).zip(b) {
        let (sum, c1) = x.overflowing_add(if subtract { !y } else { *y });
        let (sum, c2) = sum.overflowing_add(u64::from(carry));
        carry = c1 || c2;
        *o = sum;
    }
}

fn mul(a: &[u64], b: &[u64], out: &mut [u64]) {
    out.fill(0);
    for i in 0..a.len() {
        let mut carry = 0u128;
        for j in 0..a.len() - i {
            let cell = u128::from(out[i + j]) + u128::from(a[i]) * u128::from(b[j]) + carry;
            out[i + j] = cell as u64;
            carry = cell >> 64;
        }
    }
}

fn ones(limbs: &[u64]) -> u64 {
    limbs.iter().map(|l| u64::from(l.count_ones())).sum()
}

/// `width` bits of `a` from bit `lo` on into `out`, zero-filled.
fn bits(a: &[u64], lo: u32, width: u32, out: &mut [u64]) {
    let (limb, shift) = ((lo / 64) as usize, lo % 64);
    let at = |i: usize| a.get(i).copied().unwrap_or(0);
    let count = limbs_for(width);
    for (i, o) in out.iter_mut().enumerate() {
        if i >= count {
            *o = 0;
            continue;
        }
        let low = at(limb + i) >> shift;
        let high = if shift == 0 { 0 } else { at(limb + i + 1) << (64 - shift) };
        *o = low | high;
    }
    out[count - 1] &= top_mask(width);
}

/// Ors `a` into `out` at bit `lo`.
fn place(a: &[u64], lo: u32, out: &mut [u64]) {
    let (limb, shift) = ((lo / 64) as usize, lo % 64);
    for (i, value) in a.iter().enumerate() {
        if let Some(o) = out.get_mut(limb + i) {
            *o |= value << shift;
        }
        if shift != 0
            && let Some(o) = out.get_mut(limb + i + 1)
        {
            *o |= value >> (64 - shift);
        }
    }
}

fn shift_left(a: &[u64], by: Option<u64>, width: u32, out: &mut [u64]) {
    out.fill(0);
    if let Some(by) = by.filter(|by| *by < u64::from(width)) {
        place(a, by as u32, out);
    }
}

/// These expressions and all that they are computed from, operands before their users.
pub fn needed_for(netlist: &Netlist, roots: impl Iterator<Item = NetId>) -> Vec<u32> {
    let mut wanted = vec![false; netlist.nodes.len()];
    roots.for_each(|root| wanted[root.index()] = true);
    for number in (0..wanted.len()).rev() {
        if wanted[number] {
            netlist.nodes[number].op.operands(&mut |operand| wanted[operand.index()] = true);
        }
    }
    (0..wanted.len() as u32).filter(|number| wanted[*number as usize]).collect()
}

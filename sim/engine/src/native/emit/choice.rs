//! Choices and reads of memories: multiplexers, cases, indexed elements, rows.

use super::{BRANCH_COST, BYTE, Emit, flags, stable};
use cranelift_codegen::ir::{self, BlockArg, InstBuilder, Value, types::I8, types::I64};
use weft_rtl::bv::{Bv, limbs_for};
use weft_rtl::netlist::*;

impl Emit<'_, '_> {
    pub(super) fn index(&mut self, id: NetId, a: NetId, idx: NetId, i: u32, w: u32) -> Value {
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
        let base = self.in_memory(a);
        // Bit where the element begins: limb and place there.
        let [stride, six, three, low6] = [u64::from(w), 6, 3, 63].map(|n| self.iconst(n));
        let first = self.b.ins().imul(number, stride);
        let whole = self.b.ins().ushr(first, six);
        let bytes = self.b.ins().ishl(whole, three);
        let at = self.b.ins().iadd(base, bytes);
        let part = self.b.ins().band(first, low6);
        let mut out = Vec::new();
        for k in 0..limbs_for(w) {
            let near = self.load(at, k);
            let mut v = self.b.ins().ushr(near, part);
            if 64 % w != 0 {
                // The next limb's bits; a shift by 64 is split in two so that a place of zero gives zero.
                let far = self.load(at, k + 1);
                let (one, rest) = (self.iconst(1), self.b.ins().bxor(part, low6));
                let far = self.b.ins().ishl(far, one);
                let far = self.b.ins().ishl(far, rest);
                v = self.b.ins().bor(v, far);
            }
            let v = self.topped(v, k as u32, w);
            out.push(self.or_zero(v, inside));
        }
        self.keep(id, out, i)
    }

    /// Address of an expression's limbs, with one more that may be read behind them.
    fn in_memory(&mut self, a: NetId) -> Value {
        if let Some(base) = self.scopes.iter().rev().find_map(|s| s.copies.get(&a).copied()) {
            return base;
        }
        let place = match self.netlist.node(a).op {
            _ if self.known(a).is_some() => None,
            NetOp::Reg(reg) => Some(self.layout.regs[reg as usize]),
            NetOp::Input(input) => Some(self.layout.inputs[input as usize]),
            _ => self.waiting.get(&a).copied(),
        };
        if let Some(limb) = place {
            let offset = self.iconst(8 * limb as u64);
            return self.b.ins().iadd(self.state, offset);
        }
        let limbs = self.all(a);
        let slot = self.slot(limbs.len() + 1);
        let zero = self.iconst(0);
        for (k, limb) in limbs.into_iter().chain([zero]).enumerate() {
            self.store(limb, slot, k);
        }
        self.scopes.last_mut().expect("a scope is open").copies.insert(a, slot);
        slot
    }

    pub(super) fn choose(&mut self, id: NetId, c: NetId, a: NetId, b: NetId, i: u32) -> Value {
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

    pub(super) fn case(
        &mut self,
        id: NetId,
        sel: NetId,
        arms: &[(Vec<Bv>, NetId)],
        default: NetId,
        i: u32,
    ) -> Value {
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
    pub(super) fn differs(&mut self, sel: NetId, code: &Bv) -> Value {
        let mut differ = self.iconst(0);
        for (k, limb) in self.all(sel).into_iter().enumerate() {
            let want = self.iconst(code.limbs()[k]);
            let d = self.b.ins().bxor(limb, want);
            differ = self.b.ins().bor(differ, d);
        }
        differ
    }

    /// Computes each arm in its block and joins all limbs.
    pub(super) fn join(
        &mut self,
        id: NetId,
        i: u32,
        arms: Vec<(ir::Block, NetId, Option<(NetId, Bv)>)>,
    ) -> Value {
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

    pub(super) fn cell(&mut self, mem: u32, base: Value, limb: usize) -> Value {
        let how = if self.settled[mem as usize] { stable() } else { flags() };
        self.b.ins().load(I64, how, base, (8 * limb) as i32)
    }

    pub(super) fn mem_read(&mut self, mem: u32, addr: NetId, lane: NetLane, i: u32) -> Value {
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

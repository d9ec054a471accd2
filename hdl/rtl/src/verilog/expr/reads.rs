//! Elements of vectors and rows of memories as text, and the names that they get.

use super::super::plan::index_bits;
use super::super::reduce::Piece;
use super::super::text::{literal, zero};
use super::operators::{extend, wrap};
use super::{Binds, Exprs, RowKey, Text};
use crate::bv::{Bv, bits_for};
use crate::ir::*;

impl Exprs<'_, '_> {
    pub(super) fn index(&mut self, a: NodeId, idx: NodeId, width: u32, id: NodeId) -> Text {
        let a = self.reduced.resolve(a);
        let total = self.reduced.module.node(a).width;
        let base = match self.reduced.constant(a).map(literal) {
            Some(table) => {
                let context = self.plan.context[id.index()].clone().unwrap_or_default();
                self.define(&format!("{context}_table"), total, &table)
            }
            None => match self.reference(a) {
                Some((at, _)) => at,
                None => unreachable!("the plan gives indexed vectors a name"),
            },
        };
        self.select(base, idx, total / width, width)
    }

    /// Element `idx` of a name made of `elements` elements.
    pub(super) fn select(&mut self, base: usize, idx: NodeId, elements: u32, width: u32) -> Text {
        let idx = self.reduced.resolve(idx);
        let idx_width = self.reduced.module.node(idx).width;
        let all = self.part(base, 0, elements * width).text;
        if elements == 1 {
            let any = self.reduction("|", idx);
            return Text {
                text: format!("{} ? {} : {all}", wrap(&any, Binds::Or), zero(width)),
                binds: Binds::Choice,
            };
        }
        let (needed, guarded) = index_bits(elements, idx_width);
        let short = if idx_width > needed {
            self.bits(Piece { base: idx, lo: 0, width: needed }).text
        } else {
            self.operand(idx).text
        };
        let short_width = idx_width.min(needed);
        let at = if width == 1 {
            format!("{all}[{}]", extend(&short, short_width, needed))
        } else {
            let full = bits_for(u64::from(elements * width));
            let start = if width.is_power_of_two() {
                let scaled = short_width + width.trailing_zeros();
                let text = format!("{{{short}, {}}}", zero(width.trailing_zeros()));
                if scaled == full {
                    text
                } else {
                    format!("{{{}, {short}, {}}}", zero(full - scaled), zero(width.trailing_zeros()))
                }
            } else {
                let factor = literal(&Bv::from_u64(u64::from(width), full));
                format!("{} * {factor}", extend(&short, short_width, full))
            };
            format!("{all}[{start} +: {width}]")
        };
        if !guarded {
            return Text { text: at, binds: Binds::Name };
        }
        let whole = self.inner(idx, Binds::Less);
        let bound = literal(&Bv::from_u64(u64::from(elements), idx_width));
        Text { text: format!("({whole} < {bound}) ? {at} : {}", zero(width)), binds: Binds::Choice }
    }

    pub(super) fn lane_read(&mut self, mem: MemId, addr: NodeId, lane: &LaneSel, width: u32) -> Text {
        let lanes = self.reduced.module.mems[mem.index()].lanes;
        let row = self.row(mem, addr);
        let lane = match lane {
            LaneSel::Row => return self.part(row, 0, width),
            LaneSel::Const(k) => return self.part(row, k * width, width),
            LaneSel::Dyn(lane) => *lane,
        };
        match self.reduced.constant(self.reduced.resolve(lane)).map(Bv::to_u64) {
            Some(Some(k)) if k < u64::from(lanes) => self.part(row, k as u32 * width, width),
            Some(_) => Text { text: zero(width), binds: Binds::Name },
            None => self.select(row, lane, lanes, width),
        }
    }

    /// The wire that holds a row, declared when it is first read.
    pub(super) fn row(&mut self, mem: MemId, addr: NodeId) -> usize {
        let addr = self.reduced.resolve(addr);
        let fixed = self.reduced.constant(addr).cloned();
        let key = match &fixed {
            Some(value) => RowKey::Fixed(mem.0, value.clone()),
            None => RowKey::At(mem.0, self.address(addr)),
        };
        if let Some(at) = self.rows.get(&key) {
            return *at;
        }
        let memory = &self.reduced.module.mems[mem.index()];
        let width = memory.row_width();
        let (wanted, value) = match fixed.map(|v| v.low_u64()) {
            Some(row) if row < u64::from(memory.rows) => {
                (format!("{}_entry{row}", memory.name), format!("{}[{row}]", memory.name))
            }
            Some(row) => (format!("{}_entry{row}", memory.name), zero(width)),
            None => {
                let address = self.operand(addr);
                let read = format!("{}[{}]", memory.name, address.text);
                let addr_width = self.reduced.module.node(addr).width;
                let value = if u64::from(memory.rows) < 1 << addr_width {
                    let bound = literal(&Bv::from_u64(u64::from(memory.rows), addr_width));
                    format!("({} < {bound}) ? {read} : {}", wrap(&address, Binds::Less), zero(width))
                } else {
                    read
                };
                (self.row_name(memory, addr), value)
            }
        };
        let at = self.define(&wanted, width, &value);
        self.rows.insert(key, at);
        at
    }

    /// Reads of one signal are one read, however often the author wrote them.
    pub(super) fn address(&self, addr: NodeId) -> NodeId {
        let module = self.reduced.module;
        match &module.node(addr).op {
            op @ Op::Sig(_) if module.node(addr).name.is_none() => {
                let first = module.nodes.iter().position(|n| n.op == *op && n.name.is_none());
                first.map_or(addr, |i| NodeId(i as u32))
            }
            _ => addr,
        }
    }

    pub(super) fn row_name(&self, memory: &Mem, addr: NodeId) -> String {
        let node = self.reduced.module.node(addr);
        if let Op::Sig(s) = node.op
            && let Some(port) = memory.read_ports.iter().find(|p| p.addr_q == s)
        {
            return format!("{}_{}_row", memory.name, port.name);
        }
        match self.hint(addr) {
            Some(hint) => format!("{}_at_{hint}", memory.name),
            None => format!("{}_read", memory.name),
        }
    }

    /// A word for an expression: its name or value.
    pub(super) fn hint(&self, id: NodeId) -> Option<String> {
        let id = self.reduced.resolve(id);
        if let Some(value) = self.reduced.constant(id) {
            return value.to_u64().filter(|v| *v < 1 << 16).map(|v| v.to_string());
        }
        if let Some(at) = self.wires[id.index()] {
            return Some(self.idents[at].name.clone());
        }
        match &self.reduced.module.node(id).op {
            Op::Sig(s) => Some(self.idents[self.signals[s.index()]].name.clone()),
            Op::InstOut { inst, port } => Some(self.output(*inst, *port).to_string()),
            Op::Slice { .. } => match self.reduced.wiring(id).as_slice() {
                [one] if one.base != id => self.hint(one.base),
                _ => None,
            },
            _ => None,
        }
    }

    /// A name for an expression without one, from its operands or from what it is used for.
    pub(super) fn describe(&self, id: NodeId) -> String {
        let short = |n: &NodeId| self.hint(*n).filter(|h| h.len() <= 24);
        let pair = |a: &NodeId, word: &str, b: &NodeId| Some(format!("{}_{word}_{}", short(a)?, short(b)?));
        let single = |a: &NodeId, word: &str| Some(format!("{}_{word}", short(a)?));
        let found = match &self.reduced.module.node(id).op {
            Op::And(a, b) => pair(a, "and", b),
            Op::Or(a, b) => pair(a, "or", b),
            Op::Xor(a, b) => pair(a, "xor", b),
            Op::Add(a, b) => pair(a, "plus", b),
            Op::Sub(a, b) => pair(a, "minus", b),
            Op::Mul(a, b) => pair(a, "times", b),
            Op::Eq(a, b) => pair(a, "eq", b),
            Op::Lt(a, b) => pair(a, "lt", b),
            Op::Shl(a, b) => pair(a, "shl", b),
            Op::Shr(a, b) => pair(a, "shr", b),
            Op::Index { a, idx } => pair(a, "at", idx),
            Op::Not(a) => single(a, "inv"),
            Op::AnyBit(a) => single(a, "any"),
            Op::AllBits(a) => single(a, "all"),
            Op::Parity(a) => single(a, "parity"),
            Op::PopCount(a) => single(a, "count"),
            Op::LowestSet(a) => single(a, "lowest"),
            Op::Slice { a, .. } => single(a, "bits"),
            Op::MemRead { mem, .. } => Some(format!("{}_lane", self.reduced.module.mems[mem.index()].name)),
            _ => None,
        };
        found.unwrap_or_else(|| {
            let context = self.plan.context[id.index()].as_deref().unwrap_or("part");
            format!("{}_{}", context.trim_end_matches("_part"), "part")
        })
    }
}

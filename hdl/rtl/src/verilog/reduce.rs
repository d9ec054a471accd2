//! What is known before any text is written: constants, dead branches, and what wiring really refers to.

use crate::bv::Bv;
use crate::eval;
use crate::ir::*;
use crate::netlist::{NetId, NetOp};
use crate::operands::operands;

/// Part of an expression: `width` bits of `base` from `lo` on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Piece {
    pub base: NodeId,
    pub lo: u32,
    pub width: u32,
}

/// A module with its constants worked out.
pub(super) struct Reduced<'m> {
    pub module: &'m Module,
    consts: Vec<Option<Bv>>,
    pub body: Vec<Stmt>,
}

impl<'m> Reduced<'m> {
    pub fn of(module: &'m Module) -> Reduced<'m> {
        let mut consts: Vec<Option<Bv>> = Vec::with_capacity(module.nodes.len());
        for node in &module.nodes {
            let value = constant(module, &consts, node);
            consts.push(value);
        }
        let mut reduced = Reduced { module, consts, body: Vec::new() };
        reduced.body = reduced.live_branches(&module.body);
        reduced
    }

    /// The value of an expression that does not depend on any signal.
    pub fn constant(&self, id: NodeId) -> Option<&Bv> {
        self.consts[id.index()].as_ref()
    }

    /// Skips unnamed expressions that pass one operand on unchanged.
    pub fn resolve(&self, mut id: NodeId) -> NodeId {
        loop {
            let node = self.module.node(id);
            if node.name.is_some() || self.constant(id).is_some() {
                return id;
            }
            id = match &node.op {
                Op::Slice { a, lo: 0 } if self.module.node(*a).width == node.width => *a,
                Op::Concat(parts) if parts.len() == 1 => parts[0],
                Op::Mux(c, a, b) => match self.constant(*c) {
                    Some(c) if c.bit(0) => *a,
                    Some(_) => *b,
                    None => return id,
                },
                _ => return id,
            };
        }
    }

    /// What bits of an expression are made of, lowest first, looking through unnamed slices and joins.
    pub fn pieces(&self, id: NodeId, lo: u32, width: u32, out: &mut Vec<Piece>) {
        let id = self.resolve(id);
        let node = self.module.node(id);
        if node.name.is_some() || self.constant(id).is_some() {
            return push_piece(out, Piece { base: id, lo, width });
        }
        match &node.op {
            Op::Slice { a, lo: inner } => self.pieces(*a, lo + inner, width, out),
            Op::Concat(parts) => {
                let mut at = 0;
                for part in parts {
                    let part_width = self.module.node(*part).width;
                    let (from, to) = (lo.max(at), (lo + width).min(at + part_width));
                    if from < to {
                        self.pieces(*part, from - at, to - from, out);
                    }
                    at += part_width;
                }
            }
            _ => push_piece(out, Piece { base: id, lo, width }),
        }
    }

    /// What a slice, a join or an element with a fixed number is made of, lowest first; empty for an element past the end.
    pub fn wiring(&self, id: NodeId) -> Vec<Piece> {
        let node = self.module.node(id);
        let mut out = Vec::new();
        match &node.op {
            Op::Slice { a, lo } => self.pieces(*a, *lo, node.width, &mut out),
            Op::Concat(parts) => {
                for part in parts {
                    self.pieces(*part, 0, self.module.node(*part).width, &mut out);
                }
            }
            Op::Index { a, idx } => {
                let elements = u64::from(self.module.node(*a).width / node.width);
                let element = self.constant(*idx).and_then(Bv::to_u64).filter(|k| *k < elements);
                if let Some(k) = element {
                    self.pieces(*a, k as u32 * node.width, node.width, &mut out);
                }
            }
            _ => {}
        }
        out
    }

    /// The expressions whose text stands in that of `id`, which is neither constant nor passed through.
    pub fn operands(&self, id: NodeId) -> Vec<NodeId> {
        let node = self.module.node(id);
        let mut out = Vec::new();
        match &node.op {
            Op::Slice { .. } | Op::Concat(_) => out.extend(self.wiring(id).iter().map(|p| p.base)),
            Op::Index { idx, .. } if self.constant(*idx).is_some() => {
                out.extend(self.wiring(id).iter().map(|p| p.base));
            }
            op => operands(op, &mut |o| out.push(self.resolve(o))),
        }
        out.retain(|o| self.constant(*o).is_none());
        out
    }

    fn live_branches(&self, stmts: &[Stmt]) -> Vec<Stmt> {
        let mut out = Vec::new();
        for stmt in stmts {
            match stmt {
                Stmt::Assign { .. } => out.push(stmt.clone()),
                Stmt::If { cond, then, els, loc } => match self.constant(*cond) {
                    Some(c) => out.extend(self.live_branches(if c.bit(0) { then } else { els })),
                    None => out.push(Stmt::If {
                        cond: *cond,
                        then: self.live_branches(then),
                        els: self.live_branches(els),
                        loc: *loc,
                    }),
                },
                Stmt::Switch { sel, arms, default, loc } => match self.constant(*sel) {
                    Some(value) => {
                        let arm = arms.iter().find(|(codes, _)| codes.contains(value));
                        out.extend(self.live_branches(arm.map_or(default, |(_, body)| body)));
                    }
                    None => out.push(Stmt::Switch {
                        sel: *sel,
                        arms: arms.iter().map(|(v, b)| (v.clone(), self.live_branches(b))).collect(),
                        default: self.live_branches(default),
                        loc: *loc,
                    }),
                },
            }
        }
        out
    }
}

/// Adds a piece; one that continues the last is joined to it.
fn push_piece(out: &mut Vec<Piece>, piece: Piece) {
    if let Some(last) = out.last_mut()
        && last.base == piece.base
        && last.lo + last.width == piece.lo
    {
        last.width += piece.width;
        return;
    }
    out.push(piece);
}

fn constant(module: &Module, consts: &[Option<Bv>], node: &Node) -> Option<Bv> {
    let known = |id: NodeId| consts[id.index()].clone();
    match &node.op {
        Op::Const(v) => return Some(v.clone()),
        // What no operand can change is a lint warning where it is compared.
        Op::Lt(a, b) => {
            let low = known(*b).is_some_and(|v| v.is_zero());
            let high = known(*a).is_some_and(|v| v == Bv::ones(v.width()));
            if low || high {
                return Some(Bv::zero(1));
            }
        }
        Op::And(a, b) | Op::Mul(a, b) if [a, b].iter().any(|n| known(**n).is_some_and(|v| v.is_zero())) => {
            return Some(Bv::zero(node.width));
        }
        Op::Shl(_, by) | Op::Shr(_, by) => {
            let past = |v: Bv| v.to_u64().is_none_or(|k| k >= u64::from(node.width));
            if known(*by).is_some_and(past) {
                return Some(Bv::zero(node.width));
            }
        }
        Op::LowestSet(a) if module.node(*a).width == 1 => return Some(Bv::zero(node.width)),
        Op::Mux(c, a, b) => return known(if known(*c)?.bit(0) { *a } else { *b }),
        _ => {}
    }
    let mut all = true;
    let mut some = false;
    operands(&node.op, &mut |o| {
        some = true;
        all &= consts[o.index()].is_some();
    });
    if !(some && all) {
        return None;
    }
    let op = pure(&node.op)?;
    Some(eval::pure(&op, node.width, &|id: NetId| {
        known(NodeId(id.0)).unwrap_or_else(|| Bv::zero(module.nodes[id.index()].width))
    }))
}

/// The operation in the form that evaluation takes; none for operations with state.
fn pure(op: &Op) -> Option<NetOp> {
    let n = |id: &NodeId| NetId(id.0);
    Some(match op {
        Op::Const(v) => NetOp::Const(v.clone()),
        Op::Sig(_) | Op::InstOut { .. } | Op::MemRead { .. } => return None,
        Op::Not(a) => NetOp::Not(n(a)),
        Op::And(a, b) => NetOp::And(n(a), n(b)),
        Op::Or(a, b) => NetOp::Or(n(a), n(b)),
        Op::Xor(a, b) => NetOp::Xor(n(a), n(b)),
        Op::Add(a, b) => NetOp::Add(n(a), n(b)),
        Op::Sub(a, b) => NetOp::Sub(n(a), n(b)),
        Op::Mul(a, b) => NetOp::Mul(n(a), n(b)),
        Op::Eq(a, b) => NetOp::Eq(n(a), n(b)),
        Op::Lt(a, b) => NetOp::Lt(n(a), n(b)),
        Op::Shl(a, b) => NetOp::Shl(n(a), n(b)),
        Op::Shr(a, b) => NetOp::Shr(n(a), n(b)),
        Op::Mux(c, a, b) => NetOp::Mux(n(c), n(a), n(b)),
        Op::Concat(parts) => NetOp::Concat(parts.iter().map(n).collect()),
        Op::Slice { a, lo } => NetOp::Slice { a: n(a), lo: *lo },
        Op::Index { a, idx } => NetOp::Index { a: n(a), idx: n(idx) },
        Op::AnyBit(a) => NetOp::AnyBit(n(a)),
        Op::AllBits(a) => NetOp::AllBits(n(a)),
        Op::Parity(a) => NetOp::Parity(n(a)),
        Op::PopCount(a) => NetOp::PopCount(n(a)),
        Op::LowestSet(a) => NetOp::LowestSet(n(a)),
    })
}

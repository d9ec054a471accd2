//! Operators and calls as text.

use super::super::reduce::Piece;
use super::super::text::zero;
use super::{Binds, Exprs, Function, Text};
use crate::ir::*;

impl Exprs<'_, '_> {
    pub(super) fn complement(&mut self, a: NodeId, width: u32) -> Text {
        let inner = self.reduced.resolve(a);
        if self.wires[inner.index()].is_none() && self.reduced.constant(inner).is_none() {
            match &self.reduced.module.node(inner).op {
                Op::Eq(x, y) => return self.equality(*x, "!=", *y),
                Op::Lt(x, y) => return self.binary(*x, ">=", *y, Binds::Less),
                _ => {}
            }
        }
        let sign = if width == 1 { '!' } else { '~' };
        Text { text: format!("{sign}{}", self.inner(a, Binds::Unary)), binds: Binds::Unary }
    }

    pub(super) fn binary(&mut self, a: NodeId, sign: &str, b: NodeId, binds: Binds) -> Text {
        let left = self.operand(a);
        let right = self.operand(b);
        let chains = matches!(binds, Binds::And | Binds::Or | Binds::Xor);
        let left = if left.binds == binds && (chains || binds == Binds::Sum) {
            left.text
        } else {
            wrap(&left, binds)
        };
        let right = if right.binds == binds && chains { right.text } else { wrap(&right, binds) };
        Text { text: format!("{left} {sign} {right}"), binds }
    }

    pub(super) fn equality(&mut self, a: NodeId, sign: &str, b: NodeId) -> Text {
        let side = |this: &mut Self, id: NodeId, other: NodeId| {
            let value = this.reduced.constant(this.reduced.resolve(id)).cloned();
            match value {
                Some(v) if this.type_of(id) == LeafType::Bits => this.constant(&v, &this.type_of(other)),
                _ => this.inner(id, Binds::Equal),
            }
        };
        let left = side(self, a, b);
        let right = side(self, b, a);
        Text { text: format!("{left} {sign} {right}"), binds: Binds::Equal }
    }

    pub(super) fn reduction(&mut self, sign: &str, a: NodeId) -> Text {
        if self.reduced.module.node(a).width == 1 {
            return self.operand(a);
        }
        Text { text: format!("{sign}{}", self.inner(a, Binds::Unary)), binds: Binds::Reduce }
    }

    pub(super) fn shift(&mut self, a: NodeId, sign: &str, by: NodeId, width: u32) -> Text {
        let by = self.reduced.resolve(by);
        let by_width = self.reduced.module.node(by).width;
        if let Some(amount) = self.reduced.constant(by) {
            return match amount.to_u64().filter(|k| *k < u64::from(width)) {
                None => Text { text: zero(width), binds: Binds::Name },
                Some(0) => self.operand(a),
                Some(k) => {
                    let a = self.inner(a, Binds::Shift);
                    Text { text: format!("{a} {sign} {k}"), binds: Binds::Shift }
                }
            };
        }
        let value = self.inner(a, Binds::Shift);
        if by_width <= 32 {
            let by = self.inner(by, Binds::Shift);
            return Text { text: format!("{value} {sign} {by}"), binds: Binds::Shift };
        }
        // Simulators take shift amounts of 32 bits; more is past any width.
        let high = self.bits(Piece { base: by, lo: 32, width: by_width - 32 }).text;
        let low = self.bits(Piece { base: by, lo: 0, width: 32 }).text;
        let text = format!("(|{high}) ? {} : ({value} {sign} {low})", zero(width));
        Text { text, binds: Binds::Choice }
    }

    pub(super) fn call(&mut self, function: Function, wanted: &str, a: NodeId) -> Text {
        if !self.functions.contains_key(&function) {
            let name = self.names.claim(wanted);
            self.functions.insert(function, name);
        }
        let argument = self.operand(a).text;
        Text { text: format!("{}({argument})", self.functions[&function]), binds: Binds::Name }
    }
}

/// A text in parentheses where it needs them inside an operation that binds with `outer`.
pub(super) fn wrap(inner: &Text, outer: Binds) -> String {
    let reduction_inside = inner.binds == Binds::Reduce;
    if inner.binds > outer.max(Binds::Reduce)
        || (inner.binds > outer && simple(inner.binds, outer) && !reduction_inside)
    {
        inner.text.clone()
    } else {
        format!("({})", inner.text)
    }
}

/// Pairs of operators whose order every reader knows.
fn simple(inner: Binds, outer: Binds) -> bool {
    match outer {
        Binds::Choice => true,
        Binds::Equal | Binds::Less => matches!(inner, Binds::Sum | Binds::Product),
        Binds::Sum => inner == Binds::Product,
        _ => false,
    }
}

/// Zeros in front of a text of `from` bits.
pub(super) fn extend(text: &str, from: u32, to: u32) -> String {
    if from >= to { text.to_string() } else { format!("{{{}, {text}}}", zero(to - from)) }
}

//! Expressions as text.

mod operators;
mod reads;

use super::enums::Enums;
use super::names::Names;
use super::plan::{Plan, is_reference};
use super::reduce::{Piece, Reduced};
use super::text::{literal, range, zero};
use crate::bv::Bv;
use crate::ir::*;
use bitvec::prelude::{BitVec, Lsb0};
use operators::wrap;
use std::collections::{BTreeMap, HashMap};

/// How tightly a text binds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Binds {
    Choice,
    Or,
    Xor,
    And,
    Equal,
    Less,
    Shift,
    Sum,
    Product,
    /// Reductions: in parentheses inside any other expression, because `a & &b` is hard to read.
    Reduce,
    Unary,
    Name,
}

/// Text with what is needed to use it inside other text.
#[derive(Clone, Debug)]
struct Text {
    text: String,
    binds: Binds,
}

/// A declared name and which of its bits the text reads.
struct Ident {
    name: String,
    read: BitVec<u64, Lsb0>,
}

/// What a row of a memory is read by.
#[derive(Clone, PartialEq, Eq, Hash)]
enum RowKey {
    Fixed(u32, Bv),
    At(u32, NodeId),
}

/// A function of the module's text: operation, operand width, result width.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Function {
    PopCount(u32, u32),
    LowestSet(u32, u32),
}

/// The text of all expressions of a module.
pub(super) struct Exprs<'a, 'm> {
    reduced: &'a Reduced<'m>,
    plan: &'a Plan,
    pub names: Names,
    pub enums: Enums,
    idents: Vec<Ident>,
    signals: Vec<usize>,
    outputs: HashMap<(InstId, SigId), usize>,
    rows: HashMap<RowKey, usize>,
    wires: Vec<Option<usize>>,
    texts: Vec<Option<Text>>,
    /// Declarations with values made so far: wires of the hardware, or of the formal part.
    pub lines: Vec<String>,
    pub functions: BTreeMap<Function, String>,
    formal: bool,
}

impl<'a, 'm> Exprs<'a, 'm> {
    pub fn new(reduced: &'a Reduced<'m>, plan: &'a Plan) -> Self {
        let module = reduced.module;
        let mut names = Names::of(module);
        let enums = Enums::of(module, &mut names);
        let mut exprs = Exprs {
            reduced,
            plan,
            names,
            enums,
            idents: Vec::new(),
            signals: Vec::new(),
            outputs: HashMap::new(),
            rows: HashMap::new(),
            wires: vec![None; module.nodes.len()],
            texts: vec![None; module.nodes.len()],
            lines: Vec::new(),
            functions: BTreeMap::new(),
            formal: false,
        };
        for signal in &module.signals {
            let at = exprs.ident(signal.name.clone(), signal.width);
            exprs.signals.push(at);
        }
        for (i, inst) in module.instances.iter().enumerate() {
            for (port, signal) in inst.module.outputs() {
                let name = exprs.names.claim(&format!("{}_{}", inst.name, signal.name));
                let at = exprs.ident(name, signal.width);
                exprs.outputs.insert((InstId(i as u32), port), at);
            }
        }
        exprs
    }

    /// Writes the text of every expression of the hardware, or of the formal part.
    pub fn write(&mut self, formal: bool) {
        self.formal = formal;
        for i in 0..self.texts.len() {
            let chosen = if formal { self.plan.formal[i] } else { self.plan.live[i] };
            if chosen {
                self.expression(NodeId(i as u32));
            }
        }
    }

    /// The text of an expression, to stand on its own.
    pub fn value(&mut self, id: NodeId) -> String {
        self.operand(id).text
    }

    /// A constant of a leaf type.
    pub fn constant(&mut self, value: &Bv, ty: &LeafType) -> String {
        self.enums.constant(ty, value, self.formal).unwrap_or_else(|| literal(value))
    }

    /// The name of the wire at an instance's output.
    pub fn output(&self, inst: InstId, port: SigId) -> &str {
        &self.idents[self.outputs[&(inst, port)]].name
    }

    /// The leaf type of an expression, for naming constants it is compared with.
    pub fn type_of(&self, id: NodeId) -> LeafType {
        self.reduced.module.node(self.reduced.resolve(id)).ty.clone()
    }

    /// A signal's name where its value is read.
    pub fn signal(&mut self, id: SigId) -> String {
        self.part(self.signals[id.index()], 0, self.reduced.module.signal(id).width).text
    }

    /// Declared names with bits that nothing reads, as `name` or `name[hi:lo]`; `declared` says which signals are.
    pub fn unread(&self) -> Vec<String> {
        let module = self.reduced.module;
        let hidden: Vec<usize> = module
            .signals
            .iter()
            .enumerate()
            .filter(|(i, s)| s.output || !self.plan.signals[*i])
            .map(|(i, _)| self.signals[i])
            .collect();
        let mut out = Vec::new();
        for (i, ident) in self.idents.iter().enumerate() {
            if hidden.binary_search(&i).is_ok() {
                continue;
            }
            let width = ident.read.len();
            let mut lo = 0;
            while let Some(start) = ident.read[lo..].first_zero().map(|z| z + lo) {
                let end = ident.read[start..].first_one().map_or(width, |o| o + start);
                out.push(match (start, end) {
                    (0, e) if e == width => ident.name.clone(),
                    (s, e) if s + 1 == e => format!("{}[{s}]", ident.name),
                    (s, e) => format!("{}[{}:{s}]", ident.name, e - 1),
                });
                lo = end;
                if lo >= width {
                    break;
                }
            }
        }
        out
    }

    fn ident(&mut self, name: String, width: u32) -> usize {
        self.idents.push(Ident { name, read: BitVec::repeat(false, width as usize) });
        self.idents.len() - 1
    }

    /// Declares a wire with a value.
    fn define(&mut self, wanted: &str, width: u32, value: &str) -> usize {
        let name = self.names.claim(wanted);
        self.define_as(name, width, value)
    }

    fn define_as(&mut self, name: String, width: u32, value: &str) -> usize {
        self.lines.push(format!("wire {}{name} = {value};", range(width)));
        self.ident(name, width)
    }

    /// Bits of a name.
    fn part(&mut self, ident: usize, lo: u32, width: u32) -> Text {
        let formal = self.formal;
        let ident = &mut self.idents[ident];
        if !formal {
            ident.read[lo as usize..(lo + width) as usize].fill(true);
        }
        let text = match width {
            w if w as usize == ident.read.len() => ident.name.clone(),
            1 => format!("{}[{lo}]", ident.name),
            w => format!("{}[{}:{lo}]", ident.name, lo + w - 1),
        };
        Text { text, binds: Binds::Name }
    }

    /// The name an expression's value can be selected from, with the position of its lowest bit.
    fn reference(&mut self, id: NodeId) -> Option<(usize, u32)> {
        if let Some(at) = self.wires[id.index()] {
            return Some((at, 0));
        }
        let node = self.reduced.module.node(id);
        match &node.op {
            Op::Sig(s) => Some((self.signals[s.index()], 0)),
            Op::InstOut { inst, port } => Some((self.outputs[&(*inst, *port)], 0)),
            Op::MemRead { mem, addr, lane: LaneSel::Const(lane) } => {
                let width = node.width;
                Some((self.row(*mem, *addr), lane * width))
            }
            Op::MemRead { mem, addr, lane: LaneSel::Row } => Some((self.row(*mem, *addr), 0)),
            _ => None,
        }
    }

    fn operand(&mut self, id: NodeId) -> Text {
        let id = self.reduced.resolve(id);
        let node = self.reduced.module.node(id);
        if let Some(value) = self.reduced.constant(id) {
            let text = self.constant(&value.clone(), &node.ty);
            return Text { text, binds: Binds::Name };
        }
        if let Some((at, lo)) = self.reference(id) {
            return self.part(at, lo, node.width);
        }
        match &self.texts[id.index()] {
            Some(text) => text.clone(),
            None => unreachable!("operands are written before users: {node:?}"),
        }
    }

    /// An operand inside an operation that binds with `outer`.
    fn inner(&mut self, id: NodeId, outer: Binds) -> String {
        let inner = self.operand(id);
        wrap(&inner, outer)
    }

    fn bits(&mut self, piece: Piece) -> Text {
        let node = self.reduced.module.node(piece.base);
        if let Some(value) = self.reduced.constant(piece.base) {
            if piece.width == node.width {
                return self.operand(piece.base);
            }
            return Text { text: literal(&value.slice(piece.lo, piece.width)), binds: Binds::Name };
        }
        match self.reference(piece.base) {
            Some((at, lo)) => self.part(at, lo + piece.lo, piece.width),
            None => self.operand(piece.base),
        }
    }

    /// Pieces joined, lowest first.
    fn join(&mut self, pieces: &[Piece], width: u32) -> Text {
        if pieces.is_empty() {
            return Text { text: zero(width), binds: Binds::Name };
        }
        if let [one] = pieces {
            return self.bits(*one);
        }
        let mut parts: Vec<(String, usize)> = Vec::new();
        for piece in pieces.iter().rev() {
            let text = self.bits(*piece).text;
            match parts.last_mut() {
                Some((last, count)) if *last == text && piece.width == 1 => *count += 1,
                _ => parts.push((text, 1)),
            }
        }
        let join = |(text, count): &(String, usize)| match count {
            1 => text.clone(),
            n => format!("{{{n}{{{text}}}}}"),
        };
        let text = match parts.as_slice() {
            [all] => join(all),
            many => format!("{{{}}}", many.iter().map(join).collect::<Vec<_>>().join(", ")),
        };
        Text { text, binds: Binds::Name }
    }

    /// Writes one expression: a wire when it has or needs a name, else text for its users.
    fn expression(&mut self, id: NodeId) {
        let node = self.reduced.module.node(id);
        if self.reduced.constant(id).is_some() || self.reduced.resolve(id) != id {
            return;
        }
        let wired = self.plan.wired[id.index()];
        if is_reference(&node.op) && !wired {
            if let Op::MemRead { mem, addr, .. } = &node.op {
                self.row(*mem, *addr);
            }
            return;
        }
        let text = self.operation(id);
        if !wired {
            self.texts[id.index()] = Some(text);
            return;
        }
        let at = match &node.name {
            Some(name) => self.define_as(name.clone(), node.width, &text.text),
            None => {
                let wanted = self.describe(id);
                self.define(&wanted, node.width, &text.text)
            }
        };
        self.wires[id.index()] = Some(at);
    }

    fn operation(&mut self, id: NodeId) -> Text {
        let node = self.reduced.module.node(id);
        let width = node.width;
        match &node.op {
            Op::Const(v) => Text { text: literal(v), binds: Binds::Name },
            Op::Sig(_) | Op::InstOut { .. } => {
                let (at, lo) = self.reference(id).unwrap_or_else(|| unreachable!("these are names"));
                self.part(at, lo, width)
            }
            Op::Not(a) => self.complement(*a, width),
            Op::And(a, b) => self.binary(*a, "&", *b, Binds::And),
            Op::Or(a, b) => self.binary(*a, "|", *b, Binds::Or),
            Op::Xor(a, b) => self.binary(*a, "^", *b, Binds::Xor),
            Op::Add(a, b) => self.binary(*a, "+", *b, Binds::Sum),
            Op::Sub(a, b) => self.binary(*a, "-", *b, Binds::Sum),
            Op::Mul(a, b) => self.binary(*a, "*", *b, Binds::Product),
            Op::Eq(a, b) => self.equality(*a, "==", *b),
            Op::Lt(a, b) => self.binary(*a, "<", *b, Binds::Less),
            Op::Shl(a, by) => self.shift(*a, "<<", *by, width),
            Op::Shr(a, by) => self.shift(*a, ">>", *by, width),
            Op::Mux(c, a, b) => {
                let c = self.inner(*c, Binds::Or);
                let a = self.inner(*a, Binds::Or);
                let b = self.operand(*b).text;
                Text { text: format!("{c} ? {a} : {b}"), binds: Binds::Choice }
            }
            Op::Concat(_) | Op::Slice { .. } => self.join(&self.reduced.wiring(id), width),
            Op::Index { idx, .. } if self.reduced.constant(*idx).is_some() => {
                self.join(&self.reduced.wiring(id), width)
            }
            Op::Index { a, idx } => self.index(*a, *idx, width, id),
            Op::AnyBit(a) => self.reduction("|", *a),
            Op::AllBits(a) => self.reduction("&", *a),
            Op::Parity(a) => self.reduction("^", *a),
            Op::PopCount(a) => {
                let from = self.reduced.module.node(*a).width;
                self.call(Function::PopCount(from, width), &format!("popcount_{from}"), *a)
            }
            Op::LowestSet(a) => {
                let from = self.reduced.module.node(*a).width;
                self.call(Function::LowestSet(from, width), &format!("lowest_set_{from}"), *a)
            }
            Op::MemRead { mem, addr, lane } => self.lane_read(*mem, *addr, lane, width),
        }
    }
}

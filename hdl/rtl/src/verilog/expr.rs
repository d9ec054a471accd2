//! Expressions as text.

use super::enums::Enums;
use super::names::Names;
use super::plan::{Plan, index_bits, is_reference};
use super::reduce::{Piece, Reduced};
use super::text::{literal, range, zero};
use crate::bv::{Bv, bits_for};
use crate::ir::*;
use bitvec::prelude::{BitVec, Lsb0};
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

    fn complement(&mut self, a: NodeId, width: u32) -> Text {
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

    fn binary(&mut self, a: NodeId, sign: &str, b: NodeId, binds: Binds) -> Text {
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

    fn equality(&mut self, a: NodeId, sign: &str, b: NodeId) -> Text {
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

    fn reduction(&mut self, sign: &str, a: NodeId) -> Text {
        if self.reduced.module.node(a).width == 1 {
            return self.operand(a);
        }
        Text { text: format!("{sign}{}", self.inner(a, Binds::Unary)), binds: Binds::Reduce }
    }

    fn shift(&mut self, a: NodeId, sign: &str, by: NodeId, width: u32) -> Text {
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

    fn call(&mut self, function: Function, wanted: &str, a: NodeId) -> Text {
        if !self.functions.contains_key(&function) {
            let name = self.names.claim(wanted);
            self.functions.insert(function, name);
        }
        let argument = self.operand(a).text;
        Text { text: format!("{}({argument})", self.functions[&function]), binds: Binds::Name }
    }

    fn index(&mut self, a: NodeId, idx: NodeId, width: u32, id: NodeId) -> Text {
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
    fn select(&mut self, base: usize, idx: NodeId, elements: u32, width: u32) -> Text {
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

    fn lane_read(&mut self, mem: MemId, addr: NodeId, lane: &LaneSel, width: u32) -> Text {
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
    fn row(&mut self, mem: MemId, addr: NodeId) -> usize {
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
    fn address(&self, addr: NodeId) -> NodeId {
        let module = self.reduced.module;
        match &module.node(addr).op {
            op @ Op::Sig(_) if module.node(addr).name.is_none() => {
                let first = module.nodes.iter().position(|n| n.op == *op && n.name.is_none());
                first.map_or(addr, |i| NodeId(i as u32))
            }
            _ => addr,
        }
    }

    fn row_name(&self, memory: &Mem, addr: NodeId) -> String {
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
    fn hint(&self, id: NodeId) -> Option<String> {
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
    fn describe(&self, id: NodeId) -> String {
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

/// A text in parentheses where it needs them inside an operation that binds with `outer`.
fn wrap(inner: &Text, outer: Binds) -> String {
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
fn extend(text: &str, from: u32, to: u32) -> String {
    if from >= to { text.to_string() } else { format!("{{{}, {text}}}", zero(to - from)) }
}

//! Ports, wires, registers, and the statements that drive them.

use crate::build::{scoped, with};
use crate::bv::Bv;
use crate::data::*;
use crate::ir::*;
use crate::value::*;
use std::ops::Deref;

fn declare<T: Data>(
    name: &str,
    shape: &T::Shape,
    output: bool,
    loc: Loc,
    kind: impl Fn(&Leaf) -> SigKind,
) -> Handle<T> {
    let leaves = leaves_of::<T>(shape, name);
    let mut sigs = Vec::new();
    let mut values = Vec::new();
    for leaf in &leaves {
        let signal = Signal {
            name: leaf.name.clone(),
            width: leaf.width,
            kind: kind(leaf),
            output,
            ty: leaf.ty.clone(),
            below: leaf.below,
            doc: String::new(),
            loc,
        };
        let (id, value) = with(|b| {
            let id = b.signal(signal);
            (id, b.typed_node(Op::Sig(id), leaf.width, leaf.ty.clone(), loc))
        });
        sigs.push(id);
        values.push(Bits { id: value, width: leaf.width });
    }
    let value = T::from_leaves(shape, &mut values.into_iter());
    Handle { sigs, shape: shape.clone(), value }
}

/// A named signal of type `T`; dereferences to its value.
pub struct Handle<T: Data> {
    sigs: Vec<SigId>,
    shape: T::Shape,
    value: T,
}

impl<T: Data> Clone for Handle<T> {
    fn clone(&self) -> Self {
        Handle { sigs: self.sigs.clone(), shape: self.shape.clone(), value: self.value.clone() }
    }
}

impl<T: Data> Deref for Handle<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Data> Handle<T> {
    /// The signal's value: a register's current value, a wire's final value.
    pub fn get(&self) -> T {
        self.value.clone()
    }

    /// The run-time shape.
    pub fn shape(&self) -> &T::Shape {
        &self.shape
    }

    /// The leaf signals.
    pub fn signals(&self) -> &[SigId] {
        &self.sigs
    }

    /// Adds one sentence to the declaration in Verilog.
    pub fn doc(self, text: &str) -> Self {
        with(|b| b.module.signals[self.sigs[0].index()].doc = text.to_string());
        self
    }

    fn assign(&self, value: impl Assignable<T>, loc: Loc) {
        let mut leaves = Vec::new();
        value.resolve(&self.shape, loc).to_leaves(&mut leaves);
        for (sig, value) in self.sigs.iter().zip(leaves) {
            with(|b| b.assign(*sig, value.id, loc));
        }
    }
}

/// A combinational signal.
#[derive(Clone)]
pub struct Wire<T: Data>(Handle<T>);

/// A register.
#[derive(Clone)]
pub struct Reg<T: Data>(Handle<T>);

impl<T: Data> Deref for Wire<T> {
    type Target = Handle<T>;
    fn deref(&self) -> &Handle<T> {
        &self.0
    }
}
impl<T: Data> Deref for Reg<T> {
    type Target = Handle<T>;
    fn deref(&self) -> &Handle<T> {
        &self.0
    }
}

impl<T: Data> Wire<T> {
    /// Drives the wire here; a later assignment that is executed wins.
    #[track_caller]
    pub fn set(&self, value: impl Assignable<T>) {
        self.0.assign(value, Loc::caller());
    }
}

impl<T: Data> Reg<T> {
    /// Loads the register at the next clock edge; a later assignment that is executed wins.
    #[track_caller]
    pub fn set(&self, value: impl Assignable<T>) {
        self.0.assign(value, Loc::caller());
    }

    /// Counts the register's bits under another storage field than `control`.
    pub fn field(self, name: &str) -> Self {
        for sig in &self.0.sigs {
            with(|b| {
                let s = &mut b.module.signals[sig.index()];
                let width = s.width;
                if let SigKind::Reg { fields, .. } = &mut s.kind {
                    *fields = vec![(name.to_string(), width)];
                }
            });
        }
        self
    }

    /// Adds one sentence to the declaration in Verilog.
    pub fn doc(self, text: &str) -> Self {
        Reg(self.0.doc(text))
    }
}

/// An input port; each leaf of the type becomes a port.
#[track_caller]
pub fn input<T: Data>(name: &str, shape: T::Shape) -> T {
    input_signal::<T>(name, shape).get()
}

/// An input port with its signals.
#[track_caller]
pub(crate) fn input_signal<T: Data>(name: &str, shape: T::Shape) -> Handle<T> {
    declare::<T>(name, &shape, false, Loc::caller(), |_| SigKind::Input)
}

/// Says that an input is there for the interface only.
pub fn unused_input<T: Data>(value: &T) {
    let mut leaves = Vec::new();
    value.to_leaves(&mut leaves);
    with(|b| {
        for leaf in leaves {
            if let Op::Sig(id) = b.module.node(leaf.id).op {
                b.unused_ok.push(id);
            }
        }
    });
}

/// A combinational output port (not allowed on a block's boundary).
#[track_caller]
pub fn output<T: Data>(name: &str, shape: T::Shape) -> Wire<T> {
    Wire(declare(name, &shape, true, Loc::caller(), |_| SigKind::Wire { default: None }))
}

/// A wire that every path must drive.
#[track_caller]
pub fn wire<T: Data>(name: &str, shape: T::Shape) -> Wire<T> {
    Wire(declare(name, &shape, false, Loc::caller(), |_| SigKind::Wire { default: None }))
}

/// A wire that holds `default` where nothing drives it.
#[track_caller]
pub fn wire_or<T: Data>(name: &str, shape: T::Shape, default: impl Assignable<T>) -> Wire<T> {
    let loc = Loc::caller();
    let mut values = Vec::new();
    default.resolve(&shape, loc).to_leaves(&mut values);
    let handle = declare::<T>(name, &shape, false, loc, |_| SigKind::Wire { default: None });
    for (sig, value) in handle.sigs.iter().zip(values) {
        with(|b| b.module.signals[sig.index()].kind = SigKind::Wire { default: Some(value.id) });
    }
    Wire(handle)
}

/// A wire that holds zero where nothing drives it.
#[track_caller]
pub fn wire_zero<T: Data>(name: &str, shape: T::Shape) -> Wire<T> {
    let loc = Loc::caller();
    let handle = declare::<T>(name, &shape, false, loc, |_| SigKind::Wire { default: None });
    for sig in &handle.sigs {
        with(|b| {
            let width = b.module.signal(*sig).width;
            let zero = b.constant(Bv::zero(width), loc);
            b.module.signals[sig.index()].kind = SigKind::Wire { default: Some(zero) };
        });
    }
    Wire(handle)
}

fn register<T: Data>(name: &str, shape: T::Shape, output: bool, loc: Loc) -> Reg<T> {
    Reg(declare(name, &shape, output, loc, |leaf| SigKind::Reg {
        reset: Some(Bv::zero(leaf.width)),
        fields: if leaf.fields.is_empty() {
            vec![("control".into(), leaf.width)]
        } else {
            leaf.fields.clone()
        },
    }))
}

/// A register that resets to zero (for an enumeration: to the variant encoded 0).
#[track_caller]
pub fn reg<T: Data>(name: &str, shape: T::Shape) -> Reg<T> {
    register(name, shape, false, Loc::caller())
}

/// A register that is also an output port; resets to zero.
#[track_caller]
pub fn output_reg<T: Data>(name: &str, shape: T::Shape) -> Reg<T> {
    register(name, shape, true, Loc::caller())
}

impl<T: Data> Reg<T> {
    /// Gives the register another reset value, leaf by leaf (numbers in order of the leaves).
    #[track_caller]
    pub fn reset(self, values: &[u64]) -> Self {
        let loc = Loc::caller();
        if values.len() != self.0.sigs.len() {
            crate::build::elab_error(format!(
                "{} reset values for {} leaves",
                values.len(),
                self.0.sigs.len()
            ));
            return self;
        }
        for (sig, value) in self.0.sigs.iter().zip(values) {
            let width = with(|b| b.module.signal(*sig).width);
            let checked = value.to_bits(width, loc);
            with(|b| {
                let Op::Const(bv) = b.module.node(checked.id).op.clone() else { unreachable!("a literal") };
                if let SigKind::Reg { reset, .. } = &mut b.module.signals[sig.index()].kind {
                    *reset = Some(bv);
                }
            });
        }
        self
    }
}

/// Statements in `body` take effect while `cond` holds.
#[track_caller]
pub fn when(cond: Bool, body: impl FnOnce()) -> When {
    let loc = Loc::caller();
    let then = scoped(body);
    with(|b| b.push(Stmt::If { cond: cond.0.id, then, els: Vec::new(), loc }));
    When { depth: 0 }
}

/// The open end of a `when`.
pub struct When {
    depth: usize,
}

impl When {
    fn with_else(&self, els: Vec<Stmt>) {
        with(|b| {
            let mut list = b.scopes.last_mut().expect("open body");
            for _ in 0..self.depth {
                let Some(Stmt::If { els, .. }) = list.last_mut() else {
                    unreachable!("chain built by elsewhen")
                };
                list = els;
            }
            let Some(Stmt::If { els: slot, .. }) = list.last_mut() else {
                unreachable!("a when comes before")
            };
            *slot = els;
        });
    }

    /// Else, while `cond` holds.
    #[track_caller]
    pub fn elsewhen(self, cond: Bool, body: impl FnOnce()) -> When {
        let loc = Loc::caller();
        let then = scoped(body);
        self.with_else(vec![Stmt::If { cond: cond.0.id, then, els: Vec::new(), loc }]);
        When { depth: self.depth + 1 }
    }

    /// Else.
    pub fn otherwise(self, body: impl FnOnce()) {
        let els = scoped(body);
        self.with_else(els);
    }
}

/// Arms of a [`switch`].
pub struct Arms {
    width: u32,
    arms: Vec<(Vec<Bv>, Vec<Stmt>)>,
    default: Vec<Stmt>,
    seen: Vec<Bv>,
}

/// Value of a switch arm: a variant of a derived enumeration, or a number.
pub trait ArmValue {
    /// Its encoding.
    fn code(&self) -> u64;
}
impl ArmValue for u64 {
    fn code(&self) -> u64 {
        *self
    }
}

impl Arms {
    /// An arm for one value (an enum's variant or a number).
    #[track_caller]
    pub fn case<V: ArmValue>(&mut self, value: V, body: impl FnOnce()) -> &mut Arms {
        self.cases(&[value], body)
    }

    /// An arm for several values.
    #[track_caller]
    pub fn cases<V: ArmValue>(&mut self, values: &[V], body: impl FnOnce()) -> &mut Arms {
        let loc = Loc::caller();
        let mut codes = Vec::new();
        for value in values {
            value.code().to_bits(self.width, loc);
            let code = Bv::from_u64(value.code(), self.width);
            if self.seen.contains(&code) {
                let value = code.to_string();
                with(|b| b.error(loc, crate::error::ElabErrorKind::DuplicateArm { value }));
            }
            self.seen.push(code.clone());
            codes.push(code);
        }
        self.arms.push((codes, scoped(body)));
        self
    }

    /// The arm for all other values.
    pub fn default(&mut self, body: impl FnOnce()) {
        self.default = scoped(body);
    }
}

/// Choice by the value of an enumeration.
#[track_caller]
pub fn switch<E: HwEnum>(sel: Enum<E>, fill: impl FnOnce(&mut Arms)) {
    switch_at(sel.bits, Loc::caller(), fill);
}

/// Choice by a number.
#[track_caller]
pub fn switch_bits(sel: Bits, fill: impl FnOnce(&mut Arms)) {
    switch_at(sel, Loc::caller(), fill);
}

fn switch_at(sel: Bits, loc: Loc, fill: impl FnOnce(&mut Arms)) {
    let mut arms = Arms { width: sel.width, arms: Vec::new(), default: Vec::new(), seen: Vec::new() };
    fill(&mut arms);
    with(|b| b.push(Stmt::Switch { sel: sel.id, arms: arms.arms, default: arms.default, loc }));
}

fn probe(kind: ProbeKind, name: &str, cond: Bool, amount: Option<Bits>, text: &str, loc: Loc) {
    with(|b| {
        let taken = b.module.probes.iter().find(|p| p.name == name).map(|p| p.loc);
        if let Some(first) = taken {
            b.error(loc, crate::error::ElabErrorKind::DuplicateName { name: name.to_string(), first });
        }
        let amount = amount.map(|a| a.id);
        b.module.probes.push(Probe {
            kind,
            name: name.to_string(),
            cond: cond.0.id,
            amount,
            about: b.about.last().copied(),
            text: text.to_string(),
            loc,
        });
    });
}

/// The observers that `declare` declares in this module tell of the line with number `line`: whoever records them learns which line a row of a transition
/// table or a race was about. No hardware.
pub fn about<R>(line: Bits, declare: impl FnOnce() -> R) -> R {
    with(|b| b.about.push(line.id));
    let out = declare();
    with(|b| b.about.pop());
    out
}

/// `cond` must hold in every cycle outside reset. The condition is taken as written, whatever `when` surrounds it.
#[track_caller]
pub fn assert_always(name: &str, cond: Bool, text: &str) {
    probe(ProbeKind::Assert, name, cond, None, text, Loc::caller());
}

/// A goal of verification: `cond` must be seen to hold at some time. The name is the ledger identifier.
#[track_caller]
pub fn cover(name: &str, cond: Bool, text: &str) {
    probe(ProbeKind::Cover, name, cond, None, text, Loc::caller());
}

/// Counts the cycles in which `cond` holds; an observer, no hardware.
#[track_caller]
pub fn count(name: &str, cond: Bool, text: &str) {
    probe(ProbeKind::Count, name, cond, None, text, Loc::caller());
}

/// Sums `amount` over the cycles in which `cond` holds; an observer, no hardware. At most 64 bits.
#[track_caller]
pub fn count_amount(name: &str, cond: Bool, amount: Bits, text: &str) {
    probe(ProbeKind::Count, name, cond, Some(amount), text, Loc::caller());
}

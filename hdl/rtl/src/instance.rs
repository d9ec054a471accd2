//! Instances of other modules.

use crate::build::with;
use crate::data::*;
use crate::error::ElabErrorKind;
use crate::ir::*;
use crate::value::*;
use std::sync::Arc;

/// A module placed inside the one being described.
#[derive(Clone)]
pub struct InstanceRef {
    id: InstId,
    name: String,
    module: Arc<Module>,
    /// Inputs of the module, in order of their numbers, and what drives them.
    wires: Vec<(SigId, SigId)>,
}

/// Places `module` under `name`. Every input must then be driven; the driving wires are called `NAME_PORT`.
#[track_caller]
pub fn instance(name: &str, module: &Arc<Module>) -> InstanceRef {
    let loc = Loc::caller();
    with(|b| {
        b.claim_instance(name, loc);
        let ports: Vec<(SigId, Signal)> = module.inputs().map(|(id, s)| (id, s.clone())).collect();
        let wires: Vec<(SigId, SigId)> = ports
            .into_iter()
            .map(|(port, s)| {
                let wire = b.signal(Signal {
                    name: format!("{name}_{}", s.name),
                    width: s.width,
                    kind: SigKind::Wire { default: None },
                    output: false,
                    ty: s.ty,
                    below: s.below,
                    doc: String::new(),
                    loc,
                });
                (port, wire)
            })
            .collect();
        let id = InstId(b.module.instances.len() as u32);
        b.module.instances.push(Instance {
            name: name.to_string(),
            module: module.clone(),
            inputs: wires.clone(),
            loc,
        });
        InstanceRef { id, name: name.to_string(), module: module.clone(), wires }
    })
}

impl InstanceRef {
    /// The module placed.
    pub fn module(&self) -> &Arc<Module> {
        &self.module
    }

    fn missing(&self, direction: &'static str, port: &str, loc: Loc) {
        let names: Vec<String> = if direction == "input" {
            self.module.inputs().map(|(_, s)| s.name.clone()).collect()
        } else {
            self.module.outputs().map(|(_, s)| s.name.clone()).collect()
        };
        let kind = ElabErrorKind::NoSuchPort {
            inst: self.name.clone(),
            module: self.module.name.clone(),
            direction,
            port: port.to_string(),
            available: names.join(", "),
        };
        with(|b| b.error(loc, kind));
    }

    /// Drives the input ports of type `T` whose names begin with `name`.
    #[track_caller]
    pub fn drive<T: Data>(&self, name: &str, shape: &T::Shape, value: impl Assignable<T>) {
        let loc = Loc::caller();
        let mut values = Vec::new();
        value.resolve(shape, loc).to_leaves(&mut values);
        for (leaf, value) in leaves_of::<T>(shape, name).iter().zip(values) {
            self.drive_leaf(&leaf.name, value, loc);
        }
    }

    /// Drives one input port.
    #[track_caller]
    pub fn drive_bits(&self, name: &str, value: Bits) {
        self.drive_leaf(name, value, Loc::caller());
    }

    fn drive_leaf(&self, name: &str, value: Bits, loc: Loc) {
        let wire = self.module.port(name).and_then(|port| {
            let at = self.wires.binary_search_by_key(&port, |(port, _)| *port);
            at.ok().map(|at| self.wires[at].1)
        });
        match wire {
            Some(wire) => with(|b| b.assign(wire, value.id, loc)),
            None => self.missing("input", name, loc),
        }
    }

    /// The output ports of type `T` whose names begin with `name`.
    #[track_caller]
    pub fn out<T: Data>(&self, name: &str, shape: &T::Shape) -> T {
        let loc = Loc::caller();
        let leaves = leaves_of::<T>(shape, name);
        let values: Vec<Bits> = leaves.iter().map(|l| self.out_leaf(&l.name, l.width, loc)).collect();
        T::from_leaves(shape, &mut values.into_iter())
    }

    /// One output port.
    #[track_caller]
    pub fn out_bits(&self, name: &str) -> Bits {
        let loc = Loc::caller();
        let width = self.output(name).map_or(1, |(_, s)| s.width);
        self.out_leaf(name, width, loc)
    }

    fn out_leaf(&self, name: &str, width: u32, loc: Loc) -> Bits {
        let Some((port, signal)) = self.output(name) else {
            self.missing("output", name, loc);
            return lit(0, width);
        };
        if signal.width != width {
            let what = format!("output {name} of {}", self.name);
            with(|b| b.error(loc, ElabErrorKind::WidthMismatch { what, left: width, right: signal.width }));
        }
        let op = Op::InstOut { inst: self.id, port };
        let id = with(|b| b.typed_node(op, signal.width, signal.ty.clone(), loc));
        Bits { id, width: signal.width }
    }

    fn output(&self, name: &str) -> Option<(SigId, &Signal)> {
        let port = self.module.port(name)?;
        Some((port, self.module.signal(port))).filter(|(_, s)| s.output)
    }
}

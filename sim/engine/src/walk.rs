//! From the tree of instances to units and the wires between them.

use crate::cut::Cut;
use crate::design::*;
use crate::links::{Call, Link, Links, Sink};
use crate::names::{ByName, PortNames};
use crate::share::Family;
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;
use weft_rtl::bv::{Bv, limbs_for};
use weft_rtl::ir::*;
use weft_rtl::netlist::{NetId, NetPort};

/// A fabric module, or a unit, in the tree of instances.
struct Scope {
    module: Arc<Module>,
    path: String,
    parent: Option<usize>,
    /// The parent's wire at each input.
    wires: HashMap<SigId, SigId>,
    places: Arc<Places>,
    children: Vec<usize>,
    unit: Option<usize>,
    drivers: HashMap<SigId, NodeId>,
}

/// Numbers of a module's ports: of inputs among its inputs, of outputs among its outputs.
struct Places {
    inputs: HashMap<SigId, usize>,
    outputs: HashMap<SigId, usize>,
}

impl Places {
    fn new(module: &Module) -> Places {
        let inputs = module.inputs().enumerate().map(|(number, (sig, _))| (sig, number)).collect();
        let outputs = module.outputs().enumerate().map(|(number, (sig, _))| (sig, number)).collect();
        Places { inputs, outputs }
    }
}

/// A design as it is put together.
pub(crate) struct Walk {
    families: Vec<Family>,
    codes: usize,
    /// Distinct modules by name: number in `modules` and `places`.
    by_name: HashMap<String, usize>,
    /// Distinct modules that are to be flattened.
    modules: Vec<Arc<Module>>,
    /// Each distinct module's family and its number there.
    places: Vec<(usize, usize)>,
    by_shape: HashMap<(usize, usize, usize), Vec<usize>>,
    units: Vec<Unit>,
    scopes: Vec<Scope>,
    /// Ports of each module met so far, by its name.
    ports: HashMap<String, Arc<Places>>,
    options: Options,
}

impl Walk {
    /// Nothing yet.
    pub fn new(options: Options) -> Walk {
        Walk {
            families: Vec::new(),
            codes: 0,
            by_name: HashMap::new(),
            modules: Vec::new(),
            places: Vec::new(),
            by_shape: HashMap::new(),
            units: Vec::new(),
            scopes: Vec::new(),
            ports: HashMap::new(),
            options,
        }
    }

    /// Adds a module and everything in it; returns its scope.
    pub fn scope(
        &mut self,
        module: &Arc<Module>,
        path: String,
        parent: Option<(usize, &Instance)>,
    ) -> Result<usize, EngineError> {
        let me = self.scopes.len();
        let is_fabric = module.kind == ModuleKind::Fabric;
        let unit = if is_fabric { None } else { Some(self.unit(module, &path)) };
        let mut drivers = HashMap::new();
        for stmt in module.body.iter().filter(|_| is_fabric) {
            match stmt {
                Stmt::Assign { target, value, .. } => {
                    drivers.insert(*target, *value);
                }
                Stmt::If { loc, .. } | Stmt::Switch { loc, .. } => {
                    let signal = "a when or switch".to_string();
                    return Err(EngineError::FabricLogic { module: module.name.clone(), signal, loc: *loc });
                }
            }
        }
        let wires = parent.map(|(_, inst)| inst.inputs.iter().copied().collect()).unwrap_or_default();
        let places = match self.ports.get(&module.name) {
            Some(places) => places.clone(),
            None => {
                let places = Arc::new(Places::new(module));
                self.ports.insert(module.name.clone(), places.clone());
                places
            }
        };
        self.scopes.push(Scope {
            module: module.clone(),
            path: path.clone(),
            parent: parent.map(|(scope, _)| scope),
            wires,
            places,
            children: Vec::new(),
            unit,
            drivers,
        });
        if is_fabric {
            for inst in &module.instances {
                let inner = if path.is_empty() { inst.name.clone() } else { format!("{path}.{}", inst.name) };
                let child = self.scope(&inst.module, inner, Some((me, inst)))?;
                self.scopes[me].children.push(child);
            }
        }
        Ok(me)
    }

    fn unit(&mut self, module: &Arc<Module>, path: &str) -> usize {
        let ty = match self.by_name.get(&module.name) {
            Some(ty) => *ty,
            None => {
                self.modules.push(module.clone());
                self.by_name.insert(module.name.clone(), self.modules.len() - 1);
                self.modules.len() - 1
            }
        };
        self.units.push(Unit { path: path.to_string(), ty });
        self.units.len() - 1
    }

    /// Flattens the distinct modules, and brings those of one form together.
    pub fn flatten(&mut self) -> Result<(), EngineError> {
        let (modules, probes) = (std::mem::take(&mut self.modules), self.options.probes);
        let family = |module| Ok(Family::new(module, netlist_of(module, probes)?));
        let families: Vec<Result<Family, EngineError>> = modules.par_iter().map(family).collect();
        for family in families {
            let place = self.place(family?);
            self.places.push(place);
        }
        Ok(())
    }

    /// Puts a module into the family that it belongs to, or starts one.
    fn place(&mut self, mut family: Family) -> (usize, usize) {
        let alike = self.by_shape.entry(family.shape()).or_default();
        for number in alike.iter() {
            match self.families[*number].join(family) {
                Ok(member) => return (*number, member),
                Err(back) => family = *back,
            }
        }
        alike.push(self.families.len());
        self.families.push(family);
        (self.families.len() - 1, 0)
    }

    /// Compiles the families; tells how many were not found in the store. Types are then in order of families, so
    /// that units of one code come after each other.
    pub fn types(&mut self) -> Result<(Vec<UnitType>, usize), EngineError> {
        let (mut types, mut starts) = (Vec::new(), Vec::new());
        self.codes = self.families.len();
        let options = self.options;
        let families = std::mem::take(&mut self.families).into_par_iter();
        let made: Vec<_> = families.map(|family| UnitType::of_family(family, options)).collect();
        let mut compiled = 0;
        for family in made {
            let (family, now) = family?;
            let code = starts.len();
            starts.push(types.len());
            types.extend(family.into_iter().map(|ty| UnitType { code, ..ty }));
            compiled += usize::from(now);
        }
        for unit in &mut self.units {
            let (family, member) = self.places[unit.ty];
            unit.ty = starts[family] + member;
        }
        Ok((types, compiled))
    }

    /// Brings units of one type together.
    pub fn sort_units(&mut self) {
        let mut order: Vec<usize> = (0..self.units.len()).collect();
        order.sort_by_key(|unit| self.units[*unit].ty);
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(new, old)| place[*old] = new);
        self.units.sort_by_key(|unit| unit.ty);
        self.scopes.iter_mut().filter_map(|s| s.unit.as_mut()).for_each(|unit| *unit = place[*unit]);
    }

    fn resolve(&self, scope: usize, sig: SigId) -> Result<Source, EngineError> {
        let here = &self.scopes[scope];
        let signal = here.module.signal(sig);
        if signal.kind == SigKind::Input {
            return match here.parent {
                None => Ok(Source::Top(here.places.inputs[&sig])),
                Some(parent) => self.resolve(parent, here.wires[&sig]),
            };
        }
        match here.drivers.get(&sig) {
            Some(value) => self.resolve_node(scope, *value, signal),
            None => Err(self.logic(scope, signal)),
        }
    }

    fn resolve_node(&self, scope: usize, node: NodeId, signal: &Signal) -> Result<Source, EngineError> {
        let here = &self.scopes[scope];
        let record = here.module.node(node);
        match &record.op {
            Op::Const(v) => Ok(Source::Const(v.clone())),
            Op::Sig(s) => self.resolve(scope, *s),
            Op::Slice { a, lo: 0 } if here.module.node(*a).width == record.width => {
                self.resolve_node(scope, *a, signal)
            }
            Op::InstOut { inst, port } => {
                let child = here.children[inst.index()];
                match self.scopes[child].unit {
                    None => self.resolve(child, *port),
                    Some(unit) => Ok(Source::Unit { unit, output: self.scopes[child].places.outputs[port] }),
                }
            }
            _ => Err(self.logic(scope, signal)),
        }
    }

    fn logic(&self, scope: usize, signal: &Signal) -> EngineError {
        let module = self.scopes[scope].module.name.clone();
        EngineError::FabricLogic { module, signal: signal.name.clone(), loc: signal.loc }
    }

    /// What reaches the inputs of all units; `bases` are the places of their limbs.
    fn wires(&self, ports: usize, types: &[UnitType], bases: &[usize]) -> Result<Wires, EngineError> {
        let mut wires = Wires {
            input_sinks: vec![Vec::new(); ports],
            constants: Vec::new(),
            by_output: BTreeMap::new(),
            drivers: vec![Vec::new(); self.units.len()],
        };
        for (index, scope) in self.scopes.iter().enumerate() {
            let Some(unit) = scope.unit else { continue };
            let layout = &types[self.units[unit].ty].layout;
            for (number, (sig, _)) in scope.module.inputs().enumerate() {
                let sink = Sink::new(layout, unit, bases[unit], number);
                let source = self.resolve(index, sig)?;
                wires.drivers[unit].push(Driver::of(&source));
                match source {
                    Source::Top(i) => wires.input_sinks[i].push(sink),
                    Source::Const(v) => wires.constants.push((sink, v)),
                    Source::Unit { unit, output } => {
                        wires.by_output.entry((unit, output)).or_default().push(sink);
                    }
                }
            }
        }
        for (number, unit) in self.units.iter().enumerate() {
            let ty = &types[unit.ty];
            let inputs = ty.layout.inputs.len();
            let added = inputs - ty.constants.len()..inputs;
            let sinks = added.map(|input| Sink::new(&ty.layout, number, bases[number], input));
            wires.constants.extend(sinks.zip(ty.constants.iter().cloned()));
        }
        Ok(wires)
    }

    /// What each unit hands on when a register behind an output changes; outputs that never change become
    /// constants of `wires`.
    fn links(
        &self,
        types: &[UnitType],
        bases: &[usize],
        wires: &mut Wires,
    ) -> Result<Vec<Links>, EngineError> {
        let mut flagged: Vec<Vec<(u32, Link)>> = vec![Vec::new(); self.units.len()];
        for ((unit, output), sinks) in std::mem::take(&mut wires.by_output) {
            let ty = &types[self.units[unit].ty];
            let limbs = limbs_for(ty.netlist.outputs[output].width);
            match &ty.outputs[output] {
                OutSource::Reg(from) => {
                    let reg = ty.layout.regs.iter().position(|r| r == from).expect("a register's limb");
                    let from = bases[unit] + from;
                    flagged[unit]
                        .extend(sinks.into_iter().map(|sink| (ty.flags[reg], Link { from, limbs, sink })));
                }
                OutSource::Const(v) => wires.constants.extend(sinks.into_iter().map(|s| (s, v.clone()))),
                OutSource::Comb(_) => {
                    let module = &ty.module;
                    let (_, signal) = module.outputs().nth(output).expect("numbered above");
                    let (module, signal, loc) = (module.name.clone(), signal.name.clone(), signal.loc);
                    return Err(EngineError::FabricLogic { module, signal, loc });
                }
            }
        }
        Ok(flagged.into_iter().map(Links::new).collect())
    }

    /// The design, with `root` as its top.
    pub fn finish(self, top: &Arc<Module>, root: usize, types: Vec<UnitType>) -> Result<Design, EngineError> {
        debug_assert!(self.scopes.iter().all(|s| s.path.is_empty() || s.parent.is_some()));
        let port =
            |s: &Signal| NetPort { name: s.name.clone(), width: s.width, ty: s.ty.clone(), node: NetId(0) };
        let inputs: Vec<NetPort> = top.inputs().map(|(_, s)| port(s)).collect();
        let outputs: Vec<NetPort> = top.outputs().map(|(_, s)| port(s)).collect();
        let mut bases = vec![0];
        for unit in &self.units {
            bases.push(bases[bases.len() - 1] + types[unit.ty].layout.size);
        }
        let mut wires = self.wires(inputs.len(), &types, &bases)?;
        let links = self.links(&types, &bases, &mut wires)?;
        let output_sources =
            top.outputs().enumerate().map(|(number, (sig, _))| match self.scopes[root].unit {
                Some(unit) => Ok(Source::Unit { unit, output: number }),
                None => self.resolve(root, sig),
            });
        let output_sources = output_sources.collect::<Result<_, _>>()?;
        let call = |unit: usize| Call {
            native: types[self.units[unit].ty].native.as_ref().map(|n| n.call),
            ty: self.units[unit].ty,
            base: bases[unit],
            end: bases[unit + 1],
            mask: links[unit].mask,
        };
        let calls = (0..self.units.len()).map(call).collect();
        let whole = Arc::new(Cut::whole(calls, links));
        Ok(Design {
            name: top.name.clone(),
            types,
            units: self.units,
            by_name: PortNames { inputs: ByName::new(&inputs), outputs: ByName::new(&outputs) },
            inputs,
            outputs,
            options: self.options,
            input_sinks: wires.input_sinks,
            output_sources,
            whole,
            constants: wires.constants,
            codes: self.codes,
            drivers: wires.drivers,
            effort: Effort::default(),
        })
    }
}

impl Design {
    /// Flattens and compiles a module and everything it instantiates.
    ///
    /// # Errors
    /// Combinational loops, and logic in a fabric.
    pub fn new(top: &Arc<Module>, options: Options) -> Result<Arc<Design>, EngineError> {
        let begun = Instant::now();
        let mut walk = Walk::new(options);
        let root = walk.scope(top, String::new(), None)?;
        walk.flatten()?;
        let flatten = begun.elapsed().as_secs_f64();
        let (types, compiled) = walk.types()?;
        let compile = begun.elapsed().as_secs_f64() - flatten;
        walk.sort_units();
        let mut design = walk.finish(top, root, types)?;
        let wire = begun.elapsed().as_secs_f64() - flatten - compile;
        design.effort = Effort { flatten, compile, wire, codes: design.codes, compiled };
        Ok(Arc::new(design))
    }
}

/// What reaches the inputs of all units.
struct Wires {
    /// Of each port of the design.
    input_sinks: Vec<Vec<Sink>>,
    constants: Vec<(Sink, Bv)>,
    /// Of each output of a unit that leads anywhere.
    by_output: BTreeMap<(usize, usize), Vec<Sink>>,
    /// Of each input of a unit.
    drivers: Vec<Vec<Driver>>,
}

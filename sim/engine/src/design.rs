//! From a module to what can be simulated: units, each compiled once, and the wires between them.

use crate::interp::Interp;
use crate::layout::Layout;
use crate::native::{Native, NativeCall, Plan};
use std::collections::HashMap;
use std::sync::Arc;
use thiserror::Error;
use weft_rtl::bv::{Bv, limbs_for};
use weft_rtl::error::ElabErrors;
use weft_rtl::ir::*;
use weft_rtl::lower::flatten;
use weft_rtl::netlist::{NetId, NetOp, NetPort, Netlist};

/// Which code clocks the units.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BackendKind {
    /// The reference interpreter.
    Interp,
    /// Native code, compiled once per distinct module.
    Native,
}

/// Which observers are compiled in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Probes {
    /// Assertions, covers and counts.
    All,
    /// Assertions only.
    Asserts,
    /// None, for speed.
    None,
}

/// How a design is made ready.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Backend.
    pub backend: BackendKind,
    /// Observers.
    pub probes: Probes,
    /// Lets idle units sleep (exact; switched off only to prove that).
    pub sleep: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { backend: BackendKind::Native, probes: Probes::All, sleep: true }
    }
}

/// Why a module cannot be simulated.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum EngineError {
    #[error("{0}")]
    Elab(#[from] ElabErrors),
    #[error(
        "fabric {module}: {signal} ({loc}) is logic, but a fabric only wires its instances; move the logic into a block"
    )]
    FabricLogic { module: String, signal: String, loc: Loc },
    #[error("module {module} cannot be compiled: {cause}; run it with the interpreter and report this")]
    Compile { module: String, cause: String },
    #[error("the saved state does not fit this design: {0}; load it into the design that saved it")]
    Snapshot(String),
}

/// Where a block's output comes from.
#[derive(Clone, Debug)]
pub(crate) enum OutSource {
    /// Limb offset in the state.
    Reg(usize),
    Const(Bv),
    /// Only for a top that is no block: evaluated on demand.
    Comb(NetId),
}

/// A distinct module, flattened and compiled once.
pub struct UnitType {
    /// The module.
    pub module: Arc<Module>,
    /// Its flattened form.
    pub netlist: Arc<Netlist>,
    /// Where its state lies.
    pub layout: Layout,
    pub(crate) interp: Interp,
    pub(crate) native: Option<Native>,
    pub(crate) outputs: Vec<OutSource>,
    /// For each register the flag that a clocked unit sets when it changes: that of the output channel it belongs to, or 0.
    pub(crate) flags: Vec<u32>,
}

impl UnitType {
    fn new(module: &Arc<Module>, options: Options) -> Result<UnitType, EngineError> {
        let mut netlist = flatten(module)?;
        match options.probes {
            Probes::All => {}
            Probes::Asserts => netlist.probes.retain(|p| p.kind == ProbeKind::Assert),
            Probes::None => netlist.probes.clear(),
        }
        let netlist = Arc::new(netlist);
        let plan = Plan::new(&netlist);
        let layout = Layout::new(&netlist, &plan.buffered, plan.scratch());
        let outputs = netlist
            .outputs
            .iter()
            .map(|port| match &netlist.node(port.node).op {
                NetOp::Reg(r) => OutSource::Reg(layout.regs[*r as usize]),
                NetOp::Const(v) => OutSource::Const(v.clone()),
                _ => OutSource::Comb(port.node),
            })
            .collect();
        let flags = output_flags(&netlist);
        let interp = Interp::new(&netlist, &layout);
        let native = match options.backend {
            BackendKind::Interp => None,
            BackendKind::Native => {
                let code = Native::compile(&netlist, &plan, &layout, &flags);
                Some(code.map_err(|cause| EngineError::Compile { module: module.name.clone(), cause })?)
            }
        };
        Ok(UnitType { module: module.clone(), netlist, layout, interp, native, outputs, flags })
    }
}

impl UnitType {
    /// Clocks a unit: flag 0 is set when a memory was written (by the interpreter: when anything changed), flag 1 when an assertion failed, the
    /// others for outputs that may have changed.
    #[inline]
    pub(crate) fn clock(&self, state: &mut [u64], scratch: &mut [u64]) -> u64 {
        match &self.native {
            Some(code) => code.call.clock(state),
            None => self.interpret(state, scratch),
        }
    }

    /// As [`UnitType::clock`], without native code.
    pub(crate) fn interpret(&self, state: &mut [u64], scratch: &mut [u64]) -> u64 {
        self.interp.evaluate(state, scratch);
        let failed = self.interp.count(state, scratch);
        let changed = self.interp.commit(state, scratch);
        u64::from(failed) << 1 | if changed { !2 } else { 0 }
    }
}

/// First flag of an output channel; those below mean that something changed and that an assertion failed.
pub(crate) const FIRST_FLAG: u32 = 2;

/// Gives each output channel's message a flag, and its `valid` or `ready` one too, since they change more often. Where there are more than 62, they share.
fn output_flags(netlist: &Netlist) -> Vec<u32> {
    let channels: Vec<&str> = netlist.outputs.iter().filter_map(|p| p.name.strip_suffix("_valid")).collect();
    let (mut messages, mut bits): (HashMap<&str, Vec<u32>>, Vec<Vec<u32>>) = Default::default();
    let mut order = Vec::new();
    for port in &netlist.outputs {
        let NetOp::Reg(reg) = netlist.node(port.node).op else { continue };
        let mine = |c: &&&str| port.name.strip_prefix(**c).is_some_and(|n| n.starts_with('_'));
        let channel = channels.iter().filter(mine).max_by_key(|c| c.len());
        match channel {
            Some(channel) if !port.name.ends_with("_valid") => {
                if !messages.contains_key(channel) {
                    order.push(*channel);
                }
                messages.entry(channel).or_default().push(reg);
            }
            _ => bits.push(vec![reg]),
        }
    }
    let messages: Vec<Vec<u32>> = order.iter().filter_map(|channel| messages.remove(channel)).collect();
    let room = (64 - FIRST_FLAG) as usize;
    let own = messages.len().min(room - 1);
    let mut flags = vec![0; netlist.regs.len()];
    let message_flags = messages.into_iter().enumerate().map(|(n, regs)| (n % own.max(1), regs));
    let bit_flags = bits.into_iter().enumerate().map(|(n, regs)| (own + n % (room - own), regs));
    for (flag, regs) in message_flags.chain(bit_flags) {
        regs.into_iter().for_each(|reg| flags[reg as usize] = FIRST_FLAG + flag as u32);
    }
    flags
}

/// Driver of an input slot or top output.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    Top(usize),
    Unit { unit: usize, output: usize },
    Const(Bv),
}

/// An instance of a unit.
pub struct Unit {
    /// Hierarchical instance name; empty when the top itself is the unit.
    pub path: String,
    /// Index into [`Design::types`].
    pub ty: usize,
}

/// A consumer of a value: unit and limb of its input slot in the state of the whole design.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sink {
    pub unit: usize,
    pub at: usize,
}

/// A copy made when a unit has set the link's flag; offsets into the state of the whole design.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub from: usize,
    pub limbs: usize,
    pub sink: Sink,
}

/// Links of one unit, by flag.
#[derive(Clone, Debug)]
pub(crate) struct Links {
    pub list: Vec<Link>,
    /// Links of flag `f` are `list[starts[f]..starts[f + 1]]`.
    pub starts: [u32; 65],
    /// Flags that have links.
    pub mask: u64,
}

impl Links {
    fn new(mut flagged: Vec<(u32, Link)>) -> Links {
        flagged.sort_by_key(|(flag, link)| (*flag, link.sink.unit, link.sink.at));
        // What lies next to each other on both sides is copied as one.
        flagged.dedup_by(|(flag, next), (own, link)| {
            let joins = flag == own
                && next.sink.unit == link.sink.unit
                && next.from == link.from + link.limbs
                && next.sink.at == link.sink.at + link.limbs;
            link.limbs += if joins { next.limbs } else { 0 };
            joins
        });
        let mask = flagged.iter().fold(0, |mask, (flag, _)| mask | 1 << flag);
        let mut starts = [0; 65];
        for flag in 0..64 {
            starts[flag + 1] = flagged.iter().filter(|(f, _)| *f as usize <= flag).count() as u32;
        }
        Links { list: flagged.into_iter().map(|(_, link)| link).collect(), starts, mask }
    }

    /// The links of a flag.
    pub fn of(&self, flag: u32) -> &[Link] {
        &self.list[self.starts[flag as usize] as usize..self.starts[flag as usize + 1] as usize]
    }
}

/// What clocking a unit needs, close together.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    pub native: Option<NativeCall>,
    pub ty: usize,
    /// About what a cycle of it takes.
    pub work: u32,
    /// The unit's state in the state of the whole design.
    pub base: usize,
    pub end: usize,
    /// Flags that have links.
    pub mask: u64,
}

/// A module ready for simulation.
pub struct Design {
    /// Name of the top module.
    pub name: String,
    /// Distinct modules.
    pub types: Vec<UnitType>,
    /// Instances, in the order in which they are clocked: those of one type after each other, so that its code is fetched once per cycle.
    pub units: Vec<Unit>,
    /// Top inputs in order.
    pub inputs: Vec<NetPort>,
    /// Top outputs in order.
    pub outputs: Vec<NetPort>,
    /// How it was made.
    pub options: Options,
    pub(crate) input_sinks: Vec<Vec<Sink>>,
    pub(crate) output_sources: Vec<Source>,
    pub(crate) links: Vec<Links>,
    pub(crate) calls: Vec<Call>,
    /// First limb of each unit's state in the state of the whole design, and the end.
    pub(crate) bases: Vec<usize>,
    pub(crate) constants: Vec<(Sink, Bv)>,
    /// Driver of each input of each unit.
    drivers: Vec<Vec<Driver>>,
}

/// Where a value comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Driver {
    /// A top-level input, by number.
    Top(usize),
    /// An output of a unit.
    Unit {
        /// Unit number.
        unit: usize,
        /// Number among the outputs of its netlist.
        output: usize,
    },
    /// A constant.
    Const,
}

impl Driver {
    fn of(source: &Source) -> Driver {
        match source {
            Source::Top(number) => Driver::Top(*number),
            Source::Unit { unit, output } => Driver::Unit { unit: *unit, output: *output },
            Source::Const(_) => Driver::Const,
        }
    }
}

impl Design {
    /// What drives an input of a unit; inputs are numbered as in its netlist.
    pub fn driver(&self, unit: usize, input: usize) -> Driver {
        self.drivers[unit][input]
    }

    /// What drives a top-level output.
    pub fn output_driver(&self, output: usize) -> Driver {
        Driver::of(&self.output_sources[output])
    }

    /// Flattens and compiles a module and everything it instantiates.
    ///
    /// # Errors
    /// Combinational loops, and logic in a fabric.
    pub fn new(top: &Arc<Module>, options: Options) -> Result<Arc<Design>, EngineError> {
        let mut walk = Walk {
            types: Vec::new(),
            by_name: HashMap::new(),
            units: Vec::new(),
            scopes: Vec::new(),
            options,
        };
        let root = walk.scope(top, String::new(), None)?;
        walk.sort_units();
        walk.finish(top, root).map(Arc::new)
    }
}

/// A fabric module, or a unit, in the tree of instances.
struct Scope {
    module: Arc<Module>,
    path: String,
    parent: Option<(usize, usize)>,
    children: Vec<usize>,
    unit: Option<usize>,
    drivers: HashMap<SigId, NodeId>,
}

struct Walk {
    types: Vec<UnitType>,
    by_name: HashMap<String, usize>,
    units: Vec<Unit>,
    scopes: Vec<Scope>,
    options: Options,
}

impl Walk {
    fn scope(
        &mut self,
        module: &Arc<Module>,
        path: String,
        parent: Option<(usize, usize)>,
    ) -> Result<usize, EngineError> {
        let me = self.scopes.len();
        let is_fabric = module.kind == ModuleKind::Fabric;
        let unit = if is_fabric { None } else { Some(self.unit(module, &path)?) };
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
        self.scopes.push(Scope {
            module: module.clone(),
            path: path.clone(),
            parent,
            children: Vec::new(),
            unit,
            drivers,
        });
        if is_fabric {
            for (i, inst) in module.instances.iter().enumerate() {
                let inner = if path.is_empty() { inst.name.clone() } else { format!("{path}.{}", inst.name) };
                let child = self.scope(&inst.module, inner, Some((me, i)))?;
                self.scopes[me].children.push(child);
            }
        }
        Ok(me)
    }

    fn unit(&mut self, module: &Arc<Module>, path: &str) -> Result<usize, EngineError> {
        let ty = match self.by_name.get(&module.name) {
            Some(ty) => *ty,
            None => {
                self.types.push(UnitType::new(module, self.options)?);
                self.by_name.insert(module.name.clone(), self.types.len() - 1);
                self.types.len() - 1
            }
        };
        self.units.push(Unit { path: path.to_string(), ty });
        Ok(self.units.len() - 1)
    }

    /// Brings units of one type together.
    fn sort_units(&mut self) {
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
                None => {
                    let position = here.module.inputs().position(|(id, _)| id == sig);
                    Ok(Source::Top(position.expect("an input is among the inputs")))
                }
                Some((parent, inst)) => {
                    let inputs = &self.scopes[parent].module.instances[inst].inputs;
                    let wire =
                        inputs.iter().find(|(port, _)| *port == sig).expect("every input has a wire").1;
                    self.resolve(parent, wire)
                }
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
                    Some(unit) => {
                        let mut outputs = self.scopes[child].module.outputs();
                        let output =
                            outputs.position(|(id, _)| id == *port).expect("an output is among the outputs");
                        Ok(Source::Unit { unit, output })
                    }
                }
            }
            _ => Err(self.logic(scope, signal)),
        }
    }

    fn logic(&self, scope: usize, signal: &Signal) -> EngineError {
        let module = self.scopes[scope].module.name.clone();
        EngineError::FabricLogic { module, signal: signal.name.clone(), loc: signal.loc }
    }

    fn finish(mut self, top: &Arc<Module>, root: usize) -> Result<Design, EngineError> {
        let port =
            |s: &Signal| NetPort { name: s.name.clone(), width: s.width, ty: s.ty.clone(), node: NetId(0) };
        let inputs: Vec<NetPort> = top.inputs().map(|(_, s)| port(s)).collect();
        let outputs: Vec<NetPort> = top.outputs().map(|(_, s)| port(s)).collect();
        let mut bases = vec![0];
        for unit in &self.units {
            bases.push(bases[bases.len() - 1] + self.types[unit.ty].layout.size);
        }
        let mut input_sinks = vec![Vec::new(); inputs.len()];
        let mut constants = Vec::new();
        let mut by_output: HashMap<(usize, usize), Vec<Sink>> = HashMap::new();
        let mut drivers = vec![Vec::new(); self.units.len()];
        for (index, scope) in self.scopes.iter().enumerate() {
            let Some(unit) = scope.unit else { continue };
            let layout = &self.types[self.units[unit].ty].layout;
            for (number, (sig, _)) in scope.module.inputs().enumerate() {
                let sink = Sink { unit, at: bases[unit] + layout.inputs[number] };
                let source = self.resolve(index, sig)?;
                drivers[unit].push(Driver::of(&source));
                match source {
                    Source::Top(i) => input_sinks[i].push(sink),
                    Source::Const(v) => constants.push((sink, v)),
                    Source::Unit { unit, output } => by_output.entry((unit, output)).or_default().push(sink),
                }
            }
        }
        let mut output_sources = Vec::new();
        for (number, (sig, _)) in top.outputs().enumerate() {
            output_sources.push(match self.scopes[root].unit {
                Some(unit) => Source::Unit { unit, output: number },
                None => self.resolve(root, sig)?,
            });
        }
        let mut flagged: Vec<Vec<(u32, Link)>> = vec![Vec::new(); self.units.len()];
        let mut driven: Vec<_> = by_output.into_iter().collect();
        driven.sort_by_key(|(key, _)| *key);
        for ((unit, output), sinks) in driven {
            let ty = &self.types[self.units[unit].ty];
            let limbs = limbs_for(ty.netlist.outputs[output].width);
            match &ty.outputs[output] {
                OutSource::Reg(from) => {
                    let reg = ty.layout.regs.iter().position(|r| r == from).expect("a register's limb");
                    let from = bases[unit] + from;
                    flagged[unit]
                        .extend(sinks.into_iter().map(|sink| (ty.flags[reg], Link { from, limbs, sink })));
                }
                OutSource::Const(v) => constants.extend(sinks.into_iter().map(|s| (s, v.clone()))),
                OutSource::Comb(_) => {
                    let module = &ty.module;
                    let (_, signal) = module.outputs().nth(output).expect("numbered above");
                    let (module, signal, loc) = (module.name.clone(), signal.name.clone(), signal.loc);
                    return Err(EngineError::FabricLogic { module, signal, loc });
                }
            }
        }
        let links: Vec<Links> = flagged.into_iter().map(Links::new).collect();
        let call = |unit: usize| Call {
            native: self.types[self.units[unit].ty].native.as_ref().map(|n| n.call),
            ty: self.units[unit].ty,
            work: self.types[self.units[unit].ty].netlist.nodes.len() as u32,
            base: bases[unit],
            end: bases[unit + 1],
            mask: links[unit].mask,
        };
        let calls = (0..self.units.len()).map(call).collect();
        let scopes = std::mem::take(&mut self.scopes);
        debug_assert!(scopes.iter().all(|s| s.path.is_empty() || s.parent.is_some()));
        Ok(Design {
            name: top.name.clone(),
            types: self.types,
            units: self.units,
            inputs,
            outputs,
            options: self.options,
            input_sinks,
            output_sources,
            links,
            calls,
            bases,
            constants,
            drivers,
        })
    }
}

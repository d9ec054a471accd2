//! From a module to what can be simulated: units, each compiled once, and the wires between them.

use crate::cut::Cut;
use crate::flags::{FAILED, FIRST_FLAG};
use crate::interp::Interp;
use crate::layout::Layout;
use crate::links::Sink;
use crate::names::PortNames;
use crate::native::{Native, Plan};
use crate::share::{Family, Member};
use std::collections::HashMap;
use std::sync::Arc;
use thiserror::Error;
use weft_rtl::bv::Bv;
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

/// A distinct module, flattened, and compiled once together with those that differ in constants and names
/// only.
pub struct UnitType {
    /// The module.
    pub module: Arc<Module>,
    /// The flattened form; constants in which modules of one code differ are inputs behind the module's own.
    pub netlist: Arc<Netlist>,
    /// Where its state lies.
    pub layout: Layout,
    pub(crate) interp: Interp,
    pub(crate) native: Option<Arc<Native>>,
    /// Number of its code among [`Design::codes`]: equal for modules that differ in constants and names only.
    pub code: usize,
    pub(crate) outputs: Vec<OutSource>,
    /// For each register the flag that a clocked unit sets when it changes: that of the output channel it
    /// belongs to, or 0.
    pub(crate) flags: Vec<u32>,
    /// Values of the inputs behind the module's own.
    pub(crate) constants: Vec<Bv>,
}

/// A module's netlist with the observers wanted.
pub(crate) fn netlist_of(module: &Arc<Module>, probes: Probes) -> Result<Netlist, EngineError> {
    let mut netlist = flatten(module)?;
    match probes {
        Probes::All => {}
        Probes::Asserts => netlist.probes.retain(|p| p.kind == ProbeKind::Assert),
        Probes::None => netlist.probes.clear(),
    }
    Ok(netlist)
}

impl UnitType {
    /// The types of a family's modules, with one code, and whether that was compiled now.
    pub(crate) fn of_family(family: Family, options: Options) -> Result<(Vec<UnitType>, bool), EngineError> {
        let modules = family.modules.clone();
        let mut members = modules.iter().zip(family.finish());
        let Some((module, first)) = members.next() else { return Ok((Vec::new(), false)) };
        let flags = output_flags(&first.netlist);
        let (native, layout, compiled) = match options.backend {
            BackendKind::Interp => {
                (None, Layout::new(&first.netlist, &Plan::new(&first.netlist).needs), false)
            }
            BackendKind::Native => {
                let made = Native::new(&first.netlist, &flags);
                let failed = |cause| EngineError::Compile { module: module.name.clone(), cause };
                let (native, layout, compiled) = made.map_err(failed)?;
                (Some(Arc::new(native)), layout, compiled)
            }
        };
        let of = |(module, member)| UnitType::new(module, member, &layout, &flags, native.clone());
        Ok(([(module, first)].into_iter().chain(members).map(of).collect(), compiled))
    }

    fn new(
        module: &Arc<Module>,
        member: Member,
        layout: &Layout,
        flags: &[u32],
        native: Option<Arc<Native>>,
    ) -> UnitType {
        let Member { netlist, constants } = member;
        let netlist = Arc::new(netlist);
        let outputs = netlist
            .outputs
            .iter()
            .map(|port| match &netlist.node(port.node).op {
                NetOp::Reg(r) => OutSource::Reg(layout.regs[*r as usize]),
                NetOp::Const(v) => OutSource::Const(v.clone()),
                _ => OutSource::Comb(port.node),
            })
            .collect();
        let interp = Interp::new(&netlist, layout);
        let (layout, flags) = (layout.clone(), flags.to_vec());
        UnitType {
            module: module.clone(),
            netlist,
            layout,
            interp,
            native,
            code: 0,
            outputs,
            flags,
            constants,
        }
    }
}

impl UnitType {
    /// Clocks a unit; the flags are those of [`crate::flags`] (the interpreter says of anything that changed
    /// that a memory was written), and those of outputs that may have changed.
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
        let flags = (if failed { FAILED } else { 0 }) | if changed { !FAILED } else { 0 };
        state[self.layout.flags] = flags;
        flags
    }
}

/// Gives each output channel's message a flag, and its `valid` or `ready` one too, since they change more
/// often. Where there are more than 62, they share.
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

/// A module ready for simulation.
pub struct Design {
    /// Name of the top module.
    pub name: String,
    /// Distinct modules.
    pub types: Vec<UnitType>,
    /// Instances, in the order in which they are clocked: those of one type after each other, so that its
    /// code is fetched once per cycle.
    pub units: Vec<Unit>,
    /// Top inputs in order.
    pub inputs: Vec<NetPort>,
    /// Top outputs in order.
    pub outputs: Vec<NetPort>,
    /// How it was made.
    pub options: Options,
    pub(crate) by_name: PortNames,
    pub(crate) input_sinks: Vec<Vec<Sink>>,
    pub(crate) output_sources: Vec<Source>,
    /// All units in one part.
    pub(crate) whole: Arc<Cut>,
    pub(crate) constants: Vec<(Sink, Bv)>,
    pub(crate) codes: usize,
    /// Driver of each input of each unit.
    pub(crate) drivers: Vec<Vec<Driver>>,
    /// What it took to make it.
    pub effort: Effort,
}

/// What it took to make a [`Design`].
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Effort {
    /// Seconds until every distinct module was flattened.
    pub flatten: f64,
    /// Seconds until every code was compiled, or found in the store on disk, on all threads.
    pub compile: f64,
    /// Seconds until all units were wired.
    pub wire: f64,
    /// Number of different codes: modules that differ in constants and names only have one.
    pub codes: usize,
    /// Codes that were compiled; the others were found.
    pub compiled: usize,
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
    pub(crate) fn of(source: &Source) -> Driver {
        match source {
            Source::Top(number) => Driver::Top(*number),
            Source::Unit { unit, output } => Driver::Unit { unit: *unit, output: *output },
            Source::Const(_) => Driver::Const,
        }
    }
}

impl Design {
    /// Number of different codes: modules that differ in constants and names only have one.
    pub fn codes(&self) -> usize {
        self.codes
    }

    /// What drives an input of a unit; inputs are numbered as in its netlist.
    pub fn driver(&self, unit: usize, input: usize) -> Driver {
        self.drivers[unit][input]
    }

    /// What drives a top-level output.
    pub fn output_driver(&self, output: usize) -> Driver {
        Driver::of(&self.output_sources[output])
    }
}

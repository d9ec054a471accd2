//! Sampling a running simulation into a waveform.

use super::gtkw::AFTER;
use super::{View, WaveError, WaveVar, WaveWriter, save_file, scope_matches};
use crate::Sim;
use crate::design::UnitType;
use crate::follow::{Cone, Follower};
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use weft_rtl::bv::limbs_for;
use weft_rtl::ir::LeafType;
use weft_rtl::netlist::NetName;

/// What is recorded of the units of a type.
struct Kind {
    ty: usize,
    cone: Cone,
    /// For each limb of the state up to the end of the inputs the register or input that lies there: first limb,
    /// limbs, and its number among the unit's variables of the state.
    places: Vec<Option<(u32, u32, u32)>>,
    /// For each expression of the netlist its numbers among the unit's variables of names.
    names: Vec<Vec<u32>>,
}

struct Traced {
    unit: usize,
    kind: usize,
    /// Variable number of each register and input, and of each name; none if it is not recorded.
    state: Vec<Option<u32>>,
    names: Vec<Option<u32>>,
    follower: Follower,
    was_awake: bool,
}

/// A waveform being recorded. Registers, ports and named expressions of the chosen units are variables; a sleeping unit costs nothing, and of the others
/// only what changes.
pub struct Trace {
    path: PathBuf,
    vars: Vec<WaveVar>,
    kinds: Vec<Kind>,
    units: Vec<Traced>,
    writer: WaveWriter,
    room: Vec<u64>,
}

impl Trace {
    /// Starts a waveform of everything whose hierarchical name a pattern matches (see [`scope_matches`]); no pattern means everything.
    ///
    /// # Errors
    /// A path that cannot be written, or patterns that match nothing.
    pub fn create(path: &Path, sim: &Sim, patterns: &[String]) -> Result<Trace, WaveError> {
        let design = sim.design().clone();
        let wanted = |name: &str| patterns.is_empty() || patterns.iter().any(|p| scope_matches(p, name));
        let (mut vars, mut units) = (Vec::new(), Vec::new());
        let (mut kinds, mut known): (Vec<Kind>, HashMap<usize, usize>) = Default::default();
        for (unit, info) in design.units.iter().enumerate() {
            let ty = &design.types[info.ty];
            let mut variable = |local: &str, width: u32, kind: &LeafType, is_reg: bool| {
                let path = if info.path.is_empty() { local.into() } else { format!("{}.{local}", info.path) };
                wanted(&path).then(|| {
                    vars.push(WaveVar::new(&design.name, &path, width, kind.clone(), is_reg));
                    vars.len() as u32 - 1
                })
            };
            let inputs = ty.netlist.inputs.iter().map(|p| variable(&p.name, p.width, &p.ty, false));
            let mut state: Vec<Option<u32>> = inputs.collect();
            state.extend(ty.netlist.regs.iter().map(|r| variable(&r.path, r.width, &r.ty, true)));
            let name =
                |name: &NetName| variable(&name.path, ty.netlist.node(name.node).width, &name.ty, false);
            let names: Vec<Option<u32>> = ty.netlist.names.iter().map(name).collect();
            if state.iter().chain(&names).all(Option::is_none) {
                continue;
            }
            // What one unit of a type records, the others may not; they follow the same.
            let kind = *known.entry(info.ty).or_insert_with(|| {
                kinds.push(Kind::new(info.ty, ty));
                kinds.len() - 1
            });
            let follower = Follower::new(&kinds[kind].cone);
            units.push(Traced { unit, kind, state, names, follower, was_awake: true });
        }
        if vars.is_empty() {
            let known = scopes(design.units.iter().map(|u| u.path.as_str()));
            return Err(WaveError::NoMatch { patterns: patterns.join(", "), known });
        }
        let writer = WaveWriter::create(path, &vars)?;
        Ok(Trace { path: path.to_path_buf(), vars, kinds, units, writer, room: Vec::new() })
    }

    /// Records the present cycle; call it before [`Sim::step`].
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn sample(&mut self, sim: &mut Sim) -> Result<(), WaveError> {
        let time = sim.cycle();
        let Trace { kinds, units, writer, room, .. } = self;
        for traced in units {
            let awake = sim.is_awake(traced.unit);
            if !awake && !traced.was_awake {
                continue;
            }
            traced.was_awake = awake;
            let kind = &kinds[traced.kind];
            let (ty, state) = (&sim.design().types[kind.ty], sim.state(traced.unit));
            let (of_state, of_names) = (&traced.state, &traced.names);
            // Both tell the writer, one after the other.
            let to = RefCell::new((&mut *writer, Ok(())));
            let change = |var: Option<u32>, limbs: &[u64]| {
                let (writer, result) = &mut *to.borrow_mut();
                if let (Some(var), true) = (var, result.is_ok()) {
                    *result = writer.changed(time, var as usize, limbs);
                }
            };
            let mut last = None;
            let mut limb = |at: usize| {
                let Some((first, limbs, number)) = kind.places[at] else { return };
                if last.replace(number) != Some(number) {
                    let range = first as usize..(first + limbs) as usize;
                    change(of_state[number as usize], &state[range]);
                }
            };
            let mut node = |number: u32, limbs: &[u64]| {
                kind.names[number as usize].iter().for_each(|name| change(of_names[*name as usize], limbs));
            };
            let wrote = sim.wrote(traced.unit);
            traced.follower.update(ty, &kind.cone, (state, wrote), room, &mut limb, &mut node);
            to.into_inner().1?;
        }
        Ok(())
    }

    /// Closes the waveform at cycle `end` and writes the save file, with a marker if asked for.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn finish(self, end: u64, marker: Option<u64>) -> Result<(), WaveError> {
        self.finish_marked(end, marker, Vec::new())
    }

    /// The same with named marks: cycle and name.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn finish_marked(
        mut self,
        end: u64,
        marker: Option<u64>,
        marks: Vec<(u64, String)>,
    ) -> Result<(), WaveError> {
        let moved: Vec<bool> = (0..self.vars.len()).map(|i| self.writer.moved(i)).collect();
        let view = View { from: self.writer.first().unwrap_or(end), to: end, marker, marks };
        match marker {
            Some(_) => {
                self.writer.unknown(end)?;
                self.writer.finish(end + AFTER)?;
            }
            None => self.writer.finish(end)?,
        }
        save_file(&self.path, &self.vars, &|i| moved[i], view).map(|_| ())
    }
}

impl Kind {
    fn new(number: usize, ty: &UnitType) -> Kind {
        let (netlist, layout) = (&ty.netlist, &ty.layout);
        let mut places = vec![None; layout.inputs_end()];
        let inputs = netlist.inputs.iter().map(|p| p.width).zip(&layout.inputs);
        let regs = netlist.regs.iter().map(|r| r.width).zip(&layout.regs);
        for (variable, (width, at)) in inputs.chain(regs).enumerate() {
            places[*at..][..limbs_for(width)].fill(Some((
                *at as u32,
                limbs_for(width) as u32,
                variable as u32,
            )));
        }
        let mut names = vec![Vec::new(); netlist.nodes.len()];
        for (name, info) in netlist.names.iter().enumerate() {
            names[info.node.index()].push(name as u32);
        }
        let cone = Cone::new(ty, netlist.names.iter().map(|name| name.node), true);
        Kind { ty: number, cone, places, names }
    }
}

/// The scopes of a design as patterns, one for all that differ only in numbers: `gpu*.dir*`.
fn scopes<'a>(paths: impl Iterator<Item = &'a str>) -> String {
    let mut out: Vec<String> = Vec::new();
    for path in paths.filter(|p| !p.is_empty()) {
        let mut kind = String::new();
        for c in path.chars() {
            match c {
                '0'..='9' if kind.ends_with('*') => {}
                '0'..='9' => kind.push('*'),
                c => kind.push(c),
            }
        }
        if !out.contains(&kind) {
            out.push(kind);
        }
    }
    if out.is_empty() { "no scopes below the top".into() } else { out.join(", ") }
}

//! Sampling a running simulation into a waveform.

use super::gtkw::AFTER;
use super::{View, WaveError, WaveVar, WaveWriter, save_file, scope_matches};
use crate::Sim;
use std::path::{Path, PathBuf};
use weft_rtl::bv::limbs_for;

/// Where a variable's value comes from.
#[derive(Clone, Copy)]
enum From {
    /// Limb offset in the unit's state, and limbs.
    State { at: usize, limbs: usize },
    /// A named expression of the unit, evaluated when sampled.
    Name,
}

struct Traced {
    unit: usize,
    /// (variable number, source); state first.
    vars: Vec<(usize, From)>,
    has_names: bool,
    was_awake: bool,
}

/// A waveform being recorded. Registers, ports and named expressions of the chosen units are variables; a sleeping unit costs nothing.
pub struct Trace {
    path: PathBuf,
    vars: Vec<WaveVar>,
    units: Vec<Traced>,
    writer: WaveWriter,
    /// By name number: variable number.
    names: Vec<Vec<Option<usize>>>,
}

impl Trace {
    /// Starts a waveform of everything whose hierarchical name a pattern matches (see [`scope_matches`]); no pattern means everything.
    ///
    /// # Errors
    /// A path that cannot be written, or patterns that match nothing.
    pub fn create(path: &Path, sim: &Sim, patterns: &[String]) -> Result<Trace, WaveError> {
        let design = sim.design().clone();
        let wanted = |name: &str| patterns.is_empty() || patterns.iter().any(|p| scope_matches(p, name));
        let (mut vars, mut units, mut names) = (Vec::new(), Vec::new(), Vec::new());
        for (unit, info) in design.units.iter().enumerate() {
            let ty = &design.types[info.ty];
            let full = |local: &str| {
                if info.path.is_empty() { local.into() } else { format!("{}.{local}", info.path) }
            };
            let mut traced = Traced { unit, vars: Vec::new(), has_names: false, was_awake: true };
            let inputs = ty
                .netlist
                .inputs
                .iter()
                .zip(&ty.layout.inputs)
                .map(|(p, at)| (&p.name, p.width, &p.ty, *at, false));
            let regs = ty
                .netlist
                .regs
                .iter()
                .zip(&ty.layout.regs)
                .map(|(r, at)| (&r.path, r.width, &r.ty, *at, true));
            for (name, width, kind, at, is_reg) in inputs.chain(regs) {
                let path = full(name);
                if wanted(&path) {
                    traced.vars.push((vars.len(), From::State { at, limbs: limbs_for(width) }));
                    vars.push(WaveVar::new(&design.name, &path, width, kind.clone(), is_reg));
                }
            }
            let mut by_name = vec![None; ty.netlist.names.len()];
            for (i, name) in ty.netlist.names.iter().enumerate() {
                let path = full(&name.path);
                if wanted(&path) {
                    by_name[i] = Some(vars.len());
                    traced.vars.push((vars.len(), From::Name));
                    traced.has_names = true;
                    let width = ty.netlist.node(name.node).width;
                    vars.push(WaveVar::new(&design.name, &path, width, name.ty.clone(), false));
                }
            }
            names.push(by_name);
            if !traced.vars.is_empty() {
                units.push(traced);
            }
        }
        if vars.is_empty() {
            let known = kinds(design.units.iter().map(|u| u.path.as_str()));
            return Err(WaveError::NoMatch { patterns: patterns.join(", "), known });
        }
        let writer = WaveWriter::create(path, &vars)?;
        Ok(Trace { path: path.to_path_buf(), vars, units, writer, names })
    }

    /// Records the present cycle; call it before [`Sim::step`].
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn sample(&mut self, sim: &mut Sim) -> Result<(), WaveError> {
        let time = sim.cycle();
        for traced in &mut self.units {
            let awake = sim.is_awake(traced.unit);
            if !awake && !traced.was_awake {
                continue;
            }
            traced.was_awake = awake;
            for (var, from) in &traced.vars {
                if let From::State { at, limbs } = from {
                    self.writer.change(time, *var, &sim.state(traced.unit)[*at..at + limbs])?;
                }
            }
            if traced.has_names {
                let (by_name, writer) = (&self.names[traced.unit], &mut self.writer);
                let mut result = Ok(());
                sim.observe(traced.unit, |i, limbs| {
                    if let (Some(var), true) = (by_name[i], result.is_ok()) {
                        result = writer.change(time, var, limbs);
                    }
                });
                result?;
            }
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

/// The scopes of a design as patterns, one for all that differ only in numbers: `gpu*.dir*`.
fn kinds<'a>(paths: impl Iterator<Item = &'a str>) -> String {
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

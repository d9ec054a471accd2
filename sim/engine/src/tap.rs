//! Cover points as they are hit: which one, in which unit and cycle, about which line.

use crate::design::{Design, UnitType};
use crate::sim::Sim;
use std::collections::HashMap;
use std::sync::Arc;
use weft_rtl::ir::ProbeKind;
use weft_rtl::netlist::{NetId, Netlist};

/// A cover point that held in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The cycle.
    pub cycle: u64,
    /// Unit number.
    pub unit: usize,
    /// Number among the probes of the unit's netlist.
    pub probe: usize,
    /// Number of the line that it was about, if the cover point says so ([`weft_rtl::signal::about`]).
    pub line: Option<u64>,
}

/// What is read of all units of one type.
struct Kind {
    /// Number of the probe and place of its line in `lines`.
    covers: Vec<(usize, Option<usize>)>,
    /// Lines that cover points are about, each once.
    lines: Vec<NetId>,
    /// What these lines are made of, in the order of the netlist.
    cone: Vec<u32>,
}

impl Kind {
    fn new(ty: &UnitType) -> Kind {
        let netlist = &ty.netlist;
        let (mut covers, mut lines) = (Vec::new(), Vec::new());
        for (number, probe) in netlist.probes.iter().enumerate().filter(|(_, p)| p.kind == ProbeKind::Cover) {
            let place = probe.about.map(|line| {
                lines.iter().position(|known| *known == line).unwrap_or_else(|| {
                    lines.push(line);
                    lines.len() - 1
                })
            });
            covers.push((number, place));
        }
        Kind { cone: cone(netlist, &lines), covers, lines }
    }
}

/// Everything that some expressions are computed from.
fn cone(netlist: &Netlist, roots: &[NetId]) -> Vec<u32> {
    let mut wanted = vec![false; netlist.nodes.len()];
    roots.iter().for_each(|root| wanted[root.index()] = true);
    for number in (0..netlist.nodes.len()).rev() {
        if wanted[number] {
            netlist.nodes[number].op.operands(&mut |operand| wanted[operand.index()] = true);
        }
    }
    (0..netlist.nodes.len() as u32).filter(|number| wanted[*number as usize]).collect()
}

struct Tapped {
    unit: usize,
    kind: Arc<Kind>,
    /// Cycle of the values below; none while the unit sleeps.
    at: Option<u64>,
    /// Counters of the cover points before that cycle.
    counts: Vec<u64>,
    /// Lines in that cycle.
    lines: Vec<u64>,
}

/// Watches the cover points of some units. A cover point that holds on while its unit sleeps is told only for the cycles before.
pub struct CoverTap {
    units: Vec<Tapped>,
    scratch: Vec<u64>,
}

impl CoverTap {
    /// Watches the units that `wanted` accepts by number. The design must have been made with [`crate::Probes::All`], or there is nothing to see.
    pub fn new(design: &Design, wanted: &dyn Fn(usize) -> bool) -> CoverTap {
        let mut kinds: HashMap<usize, Arc<Kind>> = HashMap::new();
        let mut units = Vec::new();
        for (unit, info) in design.units.iter().enumerate().filter(|(unit, _)| wanted(*unit)) {
            let kind = kinds.entry(info.ty).or_insert_with(|| Arc::new(Kind::new(&design.types[info.ty])));
            if kind.covers.is_empty() {
                continue;
            }
            let (counts, lines) = (vec![0; kind.covers.len()], vec![0; kind.lines.len()]);
            units.push(Tapped { unit, kind: kind.clone(), at: None, counts, lines });
        }
        let scratch = design.types.iter().map(|ty| ty.interp.scratch_size()).max().unwrap_or(0);
        CoverTap { units, scratch: vec![0; scratch] }
    }

    /// To be called in every cycle that is clocked, all inputs driven, before [`Sim::step`], and once more after the last; tells what was hit in the
    /// cycle of the call before.
    pub fn sample(&mut self, sim: &Sim, tell: &mut dyn FnMut(Hit)) {
        let now = sim.cycle();
        for tapped in &mut self.units {
            let awake = sim.is_awake(tapped.unit);
            if !awake && tapped.at.is_none() {
                continue;
            }
            let ty = &sim.design().types[sim.design().units[tapped.unit].ty];
            let state = sim.state(tapped.unit);
            let counters = &state[ty.layout.probes..][..ty.netlist.probes.len()];
            if let Some(cycle) = tapped.at {
                for ((probe, place), before) in tapped.kind.covers.iter().zip(&tapped.counts) {
                    if counters[*probe] != *before {
                        let line = place.map(|place| tapped.lines[place]);
                        tell(Hit { cycle, unit: tapped.unit, probe: *probe, line });
                    }
                }
            }
            tapped.at = awake.then_some(now);
            if awake {
                for ((probe, _), count) in tapped.kind.covers.iter().zip(&mut tapped.counts) {
                    *count = counters[*probe];
                }
                ty.interp.evaluate_some(&tapped.kind.cone, state, &mut self.scratch);
                for (node, line) in tapped.kind.lines.iter().zip(&mut tapped.lines) {
                    *line = ty.interp.value(&self.scratch, *node)[0];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BackendKind, Options};
    use weft_rtl::prelude::*;
    use weft_rtl::signal::about;

    /// Takes numbers and says of each whether it is odd, a cycle later.
    fn design(backend: BackendKind) -> Arc<Design> {
        let module = Module::build("parity", ModuleKind::Block, || {
            let (valid, line) = (input::<Bool>("valid", ()), input::<Bits>("line", 8));
            let (s1_valid, s1_line) = (output_reg::<Bool>("s1_valid", ()), output_reg::<Bits>("s1_line", 8));
            s1_valid.set(valid);
            s1_line.set(line);
            let odd = s1_line.get().slice(0, 1).any();
            about(s1_line.get(), || {
                cover("odd", s1_valid.get() & odd, "an odd line");
                cover("even", s1_valid.get() & !odd, "an even line");
            });
            cover("two", valid & s1_valid.get(), "two in a row");
        });
        Design::new(&module.expect("legal"), Options { backend, ..Options::default() }).expect("compiled")
    }

    fn hits(backend: BackendKind) -> Vec<(u64, usize, Option<u64>)> {
        let design = design(backend);
        let mut sim = Sim::new(&design);
        let (valid, line) = (sim.input("valid").expect("a port"), sim.input("line").expect("a port"));
        let (mut tap, mut out) = (CoverTap::new(&design, &|_| true), Vec::new());
        let mut tell = |hit: Hit| out.push((hit.cycle, hit.probe, hit.line));
        for offer in [Some(7), Some(4), None, None, None, None, None, Some(9), None, None] {
            sim.set(valid, u64::from(offer.is_some()));
            sim.set(line, offer.unwrap_or(0));
            tap.sample(&sim, &mut tell);
            sim.step();
        }
        tap.sample(&sim, &mut tell);
        out
    }

    #[test]
    fn every_hit_has_its_cycle_and_its_line_also_after_sleep() {
        let wanted = vec![(1, 0, Some(7)), (1, 2, None), (2, 1, Some(4)), (8, 0, Some(9))];
        assert_eq!(hits(BackendKind::Native), wanted);
        assert_eq!(hits(BackendKind::Interp), wanted);
    }
}

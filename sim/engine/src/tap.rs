//! Cover points as they are hit: which one, in which unit and cycle, about which line.

use crate::design::{Design, UnitType};
use crate::sim::Sim;
use std::collections::HashMap;
use std::sync::Arc;
use weft_rtl::ir::ProbeKind;
use weft_rtl::netlist::{NetId, Netlist};

/// A cover point that held in a cycle, or on while its unit slept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The cycle, or the last one of a sleep.
    pub cycle: u64,
    /// Cycles in which it held: 1, or those of the sleep.
    pub cycles: u64,
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
    /// Counters of the cover points before that cycle, or when the unit fell asleep.
    counts: Vec<u64>,
    /// Lines in that cycle.
    lines: Vec<u64>,
}

impl Tapped {
    /// Tells what has been counted since the counters were last looked at.
    fn gained(&mut self, counter: impl Fn(usize) -> u64, now: u64, tell: &mut dyn FnMut(Hit)) {
        // Of a sleep the last cycle is the one before.
        let (unit, cycle) = (self.unit, self.at.unwrap_or(now.saturating_sub(1)));
        for ((probe, place), before) in self.kind.covers.iter().zip(&mut self.counts) {
            let count = counter(*probe);
            let cycles = count.wrapping_sub(std::mem::replace(before, count));
            if cycles > 0 {
                let line = place.map(|place| self.lines[place]);
                tell(Hit { cycle, cycles, unit, probe: *probe, line });
            }
        }
    }
}

/// Watches the cover points of some units. One that holds on while its unit sleeps is told of that when the unit wakes: nothing changes meanwhile.
pub struct CoverTap {
    units: Vec<Tapped>,
    scratch: Vec<u64>,
    started: bool,
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
        CoverTap { units, scratch: vec![0; scratch], started: false }
    }

    /// To be called in every cycle that is clocked, all inputs driven, before [`Sim::step`], and once more after the last; tells what was hit in the
    /// cycle of the call before.
    pub fn sample(&mut self, sim: &Sim, tell: &mut dyn FnMut(Hit)) {
        let now = sim.cycle();
        if !std::mem::replace(&mut self.started, true) {
            // What was counted before is not told.
            for tapped in &mut self.units {
                for ((probe, _), count) in tapped.kind.covers.iter().zip(&mut tapped.counts) {
                    *count = sim.probe_count(tapped.unit, *probe);
                }
            }
        }
        for tapped in &mut self.units {
            let awake = sim.is_awake(tapped.unit);
            if !awake && tapped.at.is_none() {
                continue;
            }
            let ty = &sim.design().types[sim.design().units[tapped.unit].ty];
            let state = sim.state(tapped.unit);
            let counters = &state[ty.layout.probes..][..ty.netlist.probes.len()];
            tapped.gained(|probe| counters[probe], now, tell);
            tapped.at = awake.then_some(now);
            if awake {
                ty.interp.evaluate_some(&tapped.kind.cone, state, &mut self.scratch);
                for (node, line) in tapped.kind.lines.iter().zip(&mut tapped.lines) {
                    *line = ty.interp.value(&self.scratch, *node)[0];
                }
            }
        }
    }

    /// To be called once, after the last sample: tells what held on in units that sleep then.
    pub fn finish(&mut self, sim: &Sim, tell: &mut dyn FnMut(Hit)) {
        for tapped in self.units.iter_mut().filter(|tapped| tapped.at.is_none()) {
            let unit = tapped.unit;
            tapped.gained(|probe| sim.probe_count(unit, probe), sim.cycle(), tell);
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
        let mut tell = |hit: Hit| {
            assert_eq!(hit.cycles, 1, "nothing holds on in sleep");
            out.push((hit.cycle, hit.probe, hit.line));
        };
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

    /// Shows and counts a number that its input asks for.
    fn sleeper(backend: BackendKind) -> Vec<(u64, u64)> {
        let module = Module::build("holder", ModuleKind::Block, || {
            let (on, line) = (input::<Bool>("on", ()), input::<Bits>("line", 8));
            let shown = output_reg::<Bits>("shown", 8);
            shown.set(line);
            about(line, || cover("on", on, "asked for"));
        });
        let options = Options { backend, ..Options::default() };
        let design = Design::new(&module.expect("legal"), options).expect("compiled");
        let mut sim = Sim::new(&design);
        let (on, line) = (sim.input("on").expect("a port"), sim.input("line").expect("a port"));
        let (mut tap, mut out) = (CoverTap::new(&design, &|_| true), Vec::new());
        for cycle in 0..40 {
            // It is asked for in cycles 3 to 29 and from 33 on, while nothing else changes.
            sim.set(on, u64::from((3..30).contains(&cycle) || cycle >= 33));
            sim.set(line, 5);
            tap.sample(&sim, &mut |hit| out.push((hit.cycle, hit.cycles)));
            sim.step();
        }
        tap.sample(&sim, &mut |hit| out.push((hit.cycle, hit.cycles)));
        tap.finish(&sim, &mut |hit| out.push((hit.cycle, hit.cycles)));
        assert_eq!(sim.probe_count(0, 0), 27 + 7);
        out
    }

    #[test]
    fn what_holds_on_in_sleep_is_told_afterwards() {
        for backend in [BackendKind::Native, BackendKind::Interp] {
            let hits = sleeper(backend);
            assert_eq!(hits.iter().map(|(_, cycles)| cycles).sum::<u64>(), 27 + 7, "{hits:?}");
            assert!(hits.is_sorted() && hits.iter().any(|(_, cycles)| *cycles > 1), "{hits:?}");
        }
    }
}

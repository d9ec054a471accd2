//! Cover points as they are hit: which one, in which unit and cycle, about which line.

use crate::design::{Design, UnitType};
use crate::follow::{Cone, Follower};
use crate::sim::Sim;
use std::collections::HashMap;
use std::sync::Arc;
use weft_rtl::ir::ProbeKind;
use weft_rtl::netlist::NetId;

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
    /// What these lines are made of.
    cone: Cone,
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
        Kind { cone: Cone::new(ty, lines.iter().copied(), false), covers, lines }
    }
}

struct Tapped {
    unit: usize,
    kind: Arc<Kind>,
    /// Cycle of the values below; none while the unit sleeps.
    at: Option<u64>,
    /// Counters of the cover points before that cycle, or when the unit fell asleep.
    counts: Vec<u64>,
    /// Lines in that cycle.
    lines: Follower,
}

impl Tapped {
    /// Tells what has been counted since the counters were last looked at.
    fn gained(&mut self, counter: impl Fn(usize) -> u64, now: u64, tell: &mut dyn FnMut(Hit)) {
        // Of a sleep the last cycle is the one before.
        let (unit, cycle) = (self.unit, self.at.unwrap_or(now.saturating_sub(1)));
        let Kind { lines, cone, .. } = &*self.kind;
        for ((probe, place), before) in self.kind.covers.iter().zip(&mut self.counts) {
            let count = counter(*probe);
            let cycles = count.wrapping_sub(std::mem::replace(before, count));
            if cycles > 0 {
                let line = place.map(|place| self.lines.value(cone, lines[place]));
                tell(Hit { cycle, cycles, unit, probe: *probe, line });
            }
        }
    }
}

/// Watches the cover points of some units. One that holds on while its unit sleeps is told of that when the unit wakes: nothing changes meanwhile.
pub struct CoverTap {
    units: Vec<Tapped>,
    room: Vec<u64>,
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
            let (counts, lines) = (vec![0; kind.covers.len()], Follower::new(&kind.cone));
            units.push(Tapped { unit, kind: kind.clone(), at: None, counts, lines });
        }
        CoverTap { units, room: Vec::new(), started: false }
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
                let cone = &tapped.kind.cone;
                let state = (state, sim.wrote(tapped.unit));
                tapped.lines.update(ty, cone, state, &mut self.room, &mut |_| {}, &mut |_, _| {});
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

//! How a simulation is cut into parts that can be clocked side by side.
//!
//! ```text
//!  design ---- units u0 u1 u2 u3 u4 ...  and links between them
//!                   |  |  |  |  |
//!  cut          part 0: u0 u2    part 1: u1 u3 u4       each with its own state, links inside, and
//!                        \______crossing______/          crossings to the inputs of other parts
//! ```
//!
//! In a cycle a part reads and writes only what is its own. What crosses goes into a letter
//! ([`crate::mail`]), and from there into the inputs of the other part before the units behind them are
//! clocked in the next cycle, so that results do not depend on the cut.

use crate::links::{ByFlag, Call, Link, Links, Sink};

/// A part's number and a unit's number in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub part: u32,
    pub unit: u32,
}

/// A value that leaves its part when its unit has set a flag.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crossing {
    /// First limb in the state of the part.
    pub from: usize,
    pub limbs: usize,
    pub to: u32,
    /// Number among the arrivals of the other part.
    pub number: usize,
}

/// Where a value of another part goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub sink: Sink,
    pub limbs: usize,
}

/// The units of a part, and what connects them; limbs are numbered in the state of the part.
#[derive(Clone, Default)]
pub(crate) struct Wiring {
    /// Numbers in the design, rising.
    pub units: Vec<u32>,
    pub calls: Vec<Call>,
    /// By unit.
    pub links: Vec<Links>,
    /// By unit.
    pub crossings: Vec<ByFlag<Crossing>>,
    pub arrivals: Vec<Arrival>,
    /// One bit per unit that hears no other part.
    pub inner: Vec<u64>,
}

/// A way to cut a design.
#[derive(Clone)]
pub(crate) struct Cut {
    pub parts: Vec<Wiring>,
    /// By unit of the design.
    pub places: Vec<Place>,
    /// By unit of the design: its first limb in its part.
    pub bases: Vec<usize>,
}

impl Cut {
    /// No cut: all units in one part.
    pub fn whole(calls: Vec<Call>, links: Vec<Links>) -> Cut {
        let units = 0..calls.len() as u32;
        let places = units.clone().map(|unit| Place { part: 0, unit }).collect();
        let bases = calls.iter().map(|call| call.base).collect();
        let crossings = vec![ByFlag::of_sorted(Vec::new()); calls.len()];
        let inner = vec![u64::MAX; calls.len().div_ceil(64)];
        let part = Wiring { units: units.collect(), calls, links, crossings, arrivals: Vec::new(), inner };
        Cut { parts: vec![part], places, bases }
    }

    /// Cuts what is whole into parts; `part_of` gives the part of every unit, from 0 on. Parts without units
    /// are left out.
    pub fn new(whole: &Cut, part_of: &[u32]) -> Cut {
        let Wiring { calls, links, .. } = &whole.parts[0];
        let count = part_of.iter().max().map_or(1, |last| last + 1);
        let used: Vec<u32> = (0..count).filter(|part| part_of.contains(part)).collect();
        let mut cut =
            Cut { parts: vec![Wiring::default(); used.len()], places: Vec::new(), bases: Vec::new() };
        for (number, (call, part)) in calls.iter().zip(part_of).enumerate() {
            let place = used.partition_point(|known| known < part);
            let wiring = &mut cut.parts[place];
            let base = wiring.calls.last().map_or(0, |call| call.end);
            cut.places.push(Place { part: place as u32, unit: wiring.units.len() as u32 });
            cut.bases.push(base);
            wiring.units.push(number as u32);
            wiring.calls.push(Call { base, end: base + (call.end - call.base), ..*call });
        }
        for (unit, links) in links.iter().enumerate() {
            cut.connect(whole, unit, links);
        }
        for wiring in &mut cut.parts {
            wiring.inner = vec![u64::MAX; wiring.units.len().div_ceil(64)];
            for Arrival { sink, .. } in &wiring.arrivals {
                wiring.inner[sink.unit / 64] &= !(1 << (sink.unit % 64));
            }
        }
        cut
    }

    fn connect(&mut self, whole: &Cut, unit: usize, links: &Links) {
        let place = self.places[unit];
        let moved = |at: usize| at - whole.bases[unit] + self.bases[unit];
        let (mut inside, mut outside) = (Vec::new(), Vec::new());
        for flag in 0..64 {
            for link in links.of(flag) {
                let (to, sink) = self.sink(whole, link.sink);
                let (from, limbs) = (moved(link.from), link.limbs);
                if to == place.part {
                    inside.push((flag, Link { from, limbs, sink }));
                } else {
                    outside.push((Arrival { sink, limbs }, flag, from, to));
                }
            }
        }
        let crossings = outside.into_iter().map(|(arrival, flag, from, to)| {
            let arrivals = &mut self.parts[to as usize].arrivals;
            arrivals.push(arrival);
            (flag, Crossing { from, limbs: arrival.limbs, to, number: arrivals.len() - 1 })
        });
        let crossings: Vec<(u32, Crossing)> = crossings.collect();
        let wiring = &mut self.parts[place.part as usize];
        wiring.links.push(Links::new(inside));
        wiring.crossings.push(ByFlag::of_sorted(crossings));
    }

    /// The part of an input of a whole design, and the input there.
    pub fn sink(&self, whole: &Cut, sink: Sink) -> (u32, Sink) {
        let Place { part, unit } = self.places[sink.unit];
        let moved = |at: usize| at - whole.bases[sink.unit] + self.bases[sink.unit];
        let moved =
            Sink { unit: unit as usize, at: moved(sink.at), heard: moved(sink.heard), mark: sink.mark };
        (part, moved)
    }
}

//! Which part of the simulation has which unit, when several threads clock it.

use std::collections::HashMap;
use std::ops::Range;
use weft_engine::Design;

/// Most parts. There is one for each thread: with more, what crosses between them costs more than their
/// smaller size gains.
pub(super) const PARTS: usize = 32;

/// How much of a part its end may be away from where it should be, in order to be one scope higher up.
const WORTH: f64 = 0.3;

/// The part of each unit. Scopes of a kind (`gpu0`, `gpu1`, ...) are dealt out in their order, as many to each
/// part, and so are the scopes inside of one that is alone of its kind; where their number does not allow
/// that, their units are, in the order of their names.
pub(super) fn spread(design: &Design, threads: usize) -> Vec<u32> {
    let mut order: Vec<usize> = (0..design.units.len()).collect();
    order.sort_by_cached_key(|unit| natural(&design.units[*unit].path));
    let works = works(design, &order);
    let mut deal =
        Deal { design, works: vec![0.0; order.len()], part_of: vec![0; order.len()], loads: Vec::new() };
    order.iter().zip(works).for_each(|(unit, work)| deal.works[*unit] = work);
    deal.loads = vec![0.0; threads.clamp(1, PARTS)];
    deal.scopes(&order, 0, 0..deal.loads.len());
    deal.part_of
}

/// Units are dealt out.
struct Deal<'a> {
    design: &'a Design,
    /// By unit.
    works: Vec<f64>,
    part_of: Vec<u32>,
    /// By part, what it has got.
    loads: Vec<f64>,
}

impl Deal<'_> {
    fn give(&mut self, units: &[usize], part: usize) {
        for unit in units {
            self.part_of[*unit] = part as u32;
            self.loads[part] += self.works[*unit];
        }
    }

    /// Deals out units, in the order of their names, of a scope `depth` steps down, to some parts.
    fn scopes(&mut self, units: &[usize], depth: usize, parts: Range<usize>) {
        if parts.len() == 1 {
            return self.give(units, parts.start);
        }
        let design = self.design;
        let step = |unit: &usize| design.units[*unit].path.split(['.', '_']).nth(depth).unwrap_or_default();
        let scopes: Vec<&[usize]> = units.chunk_by(|a, b| step(a) == step(b)).collect();
        for kind in scopes.chunk_by(|a, b| is_like(step(&a[0]), step(&b[0]))) {
            self.kind(kind, depth, parts.clone());
        }
    }

    /// Deals out scopes of a kind.
    fn kind(&mut self, scopes: &[&[usize]], depth: usize, parts: Range<usize>) {
        let (count, room) = (scopes.len(), parts.len());
        if count == 1 && scopes[0].len() == 1 {
            let lightest = parts.min_by(|a, b| self.loads[*a].total_cmp(&self.loads[*b]));
            return self.give(scopes[0], lightest.expect("there is a part"));
        }
        if count.is_multiple_of(room) {
            for (number, scope) in scopes.iter().enumerate() {
                self.give(scope, parts.start + number * room / count);
            }
        } else if room.is_multiple_of(count) {
            for (number, scope) in scopes.iter().enumerate() {
                let first = parts.start + number * room / count;
                self.scopes(scope, depth + 1, first..first + room / count);
            }
        } else {
            let units: Vec<usize> = scopes.concat();
            let ends = ends(self.design, &units, room, |unit| self.works[unit]);
            for (place, unit) in units.iter().enumerate() {
                self.give(&[*unit], parts.start + ends.partition_point(|end| *end <= place));
            }
        }
    }
}

/// Names that differ in numbers only.
fn is_like(a: &str, b: &str) -> bool {
    a.chars().filter(|c| !c.is_ascii_digit()).eq(b.chars().filter(|c| !c.is_ascii_digit()))
}

/// Where parts end in an order of units, all but the last.
fn ends(design: &Design, order: &[usize], parts: usize, work: impl Fn(usize) -> f64) -> Vec<usize> {
    let mut before = vec![0.0];
    for unit in order {
        before.push(before[before.len() - 1] + work(*unit));
    }
    let size = before[order.len()] / parts as f64;
    let common = |place: usize| {
        let [left, right] = [place - 1, place].map(|place| &design.units[order[place]].path);
        left.split(['.', '_']).zip(right.split(['.', '_'])).take_while(|(left, right)| left == right).count()
    };
    let mut ends: Vec<usize> = Vec::new();
    for part in 1..parts {
        let away = |place: usize| (before[place] / size - part as f64).abs();
        let cost = |place: usize| away(place) + WORTH * common(place) as f64;
        let first = ends.last().map_or(1, |end| end + 1);
        let near = (first..order.len()).filter(|place| away(*place) < 0.5);
        ends.extend(near.min_by(|a, b| cost(*a).total_cmp(&cost(*b))));
    }
    ends
}

/// About what the cycles of units take. Of modules that a fabric has many of, such as the caches of its
/// compute units, fewer are at work at a time.
fn works(design: &Design, order: &[usize]) -> Vec<f64> {
    let code = |unit: usize| design.types[design.units[unit].ty].code;
    let mut like: HashMap<usize, f64> = HashMap::new();
    order.iter().for_each(|unit| *like.entry(code(*unit)).or_default() += 1.0);
    let nodes = |unit: usize| design.types[design.units[unit].ty].netlist.nodes.len() as f64;
    order.iter().map(|unit| nodes(*unit) / like[&code(*unit)].sqrt()).collect()
}

/// A name whose numbers are compared as numbers.
fn natural(name: &str) -> Vec<(String, Option<u64>)> {
    let mut out: Vec<(String, Option<u64>)> = vec![(String::new(), None)];
    for c in name.chars() {
        match (c.to_digit(10), out.last_mut()) {
            (Some(digit), Some((_, number))) => {
                *number = Some(number.unwrap_or(0).saturating_mul(10).saturating_add(u64::from(digit)));
            }
            (None, Some((text, None))) => text.push(c),
            _ => out.push((c.to_string(), None)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::FabricConfig;
    use crate::run::{RunOptions, design};

    #[test]
    fn numbers_are_in_their_order() {
        let mut names = ["gpu10.l1", "gpu2.l1_10", "gpu2.l1_9", "gpu2", "gpu02.b"];
        names.sort_by_cached_key(|name| natural(name));
        assert_eq!(names, ["gpu2", "gpu02.b", "gpu2.l1_9", "gpu2.l1_10", "gpu10.l1"]);
    }

    #[test]
    fn gpus_stay_whole_where_that_is_fair() {
        let config = FabricConfig::load("rec-4gpu-small").expect("built in");
        let design = design(&config, &RunOptions::default()).expect("builds");
        for threads in [2, 4] {
            let part_of = spread(&design, threads);
            for (unit, part) in design.units.iter().zip(&part_of) {
                if let Some(gpu) =
                    unit.path.strip_prefix("gpu").and_then(|rest| rest[..1].parse::<u32>().ok())
                {
                    assert_eq!(*part, gpu * threads as u32 / 4, "{} with {threads} threads", unit.path);
                }
            }
        }
    }

    #[test]
    fn every_thread_gets_something() {
        let config = FabricConfig::load("tsm-4gpu-small").expect("built in");
        let design = design(&config, &RunOptions::default()).expect("builds");
        for threads in 1..=9 {
            let part_of = spread(&design, threads);
            let used = (0..threads as u32).filter(|part| part_of.contains(part)).count();
            assert_eq!(used, threads, "{part_of:?}");
        }
    }
}

//! Which part of the simulation has which unit, when several threads clock it.

use std::collections::HashMap;
use weft_engine::Design;

/// Most parts. There is one for each thread: with more, what crosses between them costs more than their
/// smaller size gains.
const PARTS: usize = 32;

/// How much of a part its end may be away from where it should be, in order to be one scope higher up.
const WORTH: f64 = 0.3;

/// The part of each unit. Units of a scope are in one part, or in neighbouring ones.
pub(super) fn spread(design: &Design, threads: usize) -> Vec<u32> {
    let parts = threads.clamp(1, PARTS);
    let mut order: Vec<usize> = (0..design.units.len()).collect();
    order.sort_by_cached_key(|unit| natural(&design.units[*unit].path));
    let ends = ends(design, &order, parts);
    let mut part_of = vec![0; design.units.len()];
    for (place, unit) in order.iter().enumerate() {
        part_of[*unit] = ends.partition_point(|end| *end <= place) as u32;
    }
    part_of
}

/// Where parts end in an order of units, all but the last.
fn ends(design: &Design, order: &[usize], parts: usize) -> Vec<usize> {
    let mut before = vec![0.0];
    for work in works(design, order) {
        before.push(before[before.len() - 1] + work);
    }
    let size = before[order.len()] / parts as f64;
    let common = |place: usize| {
        let [left, right] = [place - 1, place].map(|place| &design.units[order[place]].path);
        left.split('.').zip(right.split('.')).take_while(|(left, right)| left == right).count()
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

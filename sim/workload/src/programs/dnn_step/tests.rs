//! Sizes, gradients and ways of the training step, by the host's computation.

use super::*;
use std::collections::BTreeMap;

fn program(given: &[(&str, &str)]) -> DnnStep {
    let given: BTreeMap<String, String> = given.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    DnnStep::new(&Params::resolve(INFO.name, INFO.params, &given).expect("legal")).expect("legal")
}

#[test]
fn weights_have_the_published_sizes() {
    for (set, kilobytes) in [("mnist", 482.0), ("cifar10", 794.0), ("imagenet", 11245.6)] {
        let program = program(&[("data", set), ("scale", "1"), ("batch", "1"), ("gpus", "1")]);
        let found = 4.0 * program.first(LAYERS) as f64 / 1024.0;
        assert!((found / kilobytes - 1.0).abs() < 1e-4, "{set}: {found} KB");
        assert_eq!(program.base.first::<f32>(program.of[0].weights).len() as u64, program.first(LAYERS));
    }
}

/// Half of the squared error of one GPU's batch, by double precision and from the definition alone.
fn loss(program: &DnnStep, weights: &[f64], gpu: usize) -> f64 {
    let w = program.widths.map(|n| n as usize);
    let batch = program.batch as usize;
    let mut of = 0.0;
    for sample in gpu * batch..(gpu + 1) * batch {
        let mut values: Vec<f64> =
            program.images[sample * w[0]..(sample + 1) * w[0]].iter().map(|x| f64::from(*x)).collect();
        for layer in 0..LAYERS {
            let first = program.first(layer) as usize;
            let weight = |i: usize, j: usize| weights[first + i * w[layer + 1] + j];
            let sum = |j: usize| (0..w[layer]).map(|i| values[i] * weight(i, j)).sum::<f64>();
            values = (0..w[layer + 1]).map(|j| 1.0 / (1.0 + (-sum(j)).exp())).collect();
        }
        let label = program.labels[sample] as usize;
        of += values
            .iter()
            .enumerate()
            .map(|(j, v)| (v - f64::from(u8::from(j == label))).powi(2) / 2.0)
            .sum::<f64>();
    }
    of
}

#[test]
fn gradients_are_the_slopes_of_the_error() {
    let program = program(&[("scale", "16"), ("batch", "2"), ("gpus", "2")]);
    let weights: Vec<f64> = program.first_weights(1).into_iter().map(f64::from).collect();
    let host = program.host_arrays(program.plan.len());
    for gpu in 0..2 {
        let gradient = &host[program.of[gpu].gradient];
        for place in [0, 57, program.first(1) as usize + 3, program.first(2) as usize + 5, weights.len() - 1]
        {
            let at = |by: f64| {
                let mut moved = weights.clone();
                moved[place] += by;
                loss(&program, &moved, gpu)
            };
            let (slope, found) = ((at(1e-5) - at(-1e-5)) / 2e-5, f64::from(f32::from_bits(gradient[place])));
            assert!(
                (slope - found).abs() < 1e-4 * slope.abs().max(1e-3),
                "gpu {gpu} weight {place}: {found}, {slope}"
            );
        }
    }
}

/// Each way trains the same weights: sums are in one order.
#[test]
fn all_ways_end_with_the_same_weights() {
    let result = |way: &str| {
        let program =
            program(&[("scale", "16"), ("batch", "2"), ("gpus", "3"), ("steps", "2"), ("way", way)]);
        let host = program.host_arrays(program.plan.len());
        program.of.iter().map(|gpu| host[gpu.weights].clone()).collect::<Vec<_>>()
    };
    let first = result("memcpy");
    assert_eq!((first.len(), &first[0]), (3, &first[2]));
    for way in ["direct", "zerocopy", "unified", "tsm"] {
        assert!(result(way) == first, "{way}");
    }
}

#[test]
fn copies_and_places_are_those_of_the_way() {
    let count = |way: &str| {
        let program =
            program(&[("scale", "16"), ("batch", "2"), ("gpus", "3"), ("steps", "2"), ("way", way)]);
        let of = |is: fn(&Action) -> bool| program.plan.iter().filter(|a| is(a)).count();
        (of(|a| matches!(a, Action::Copy { .. })), of(|a| matches!(a, Action::Send { .. })))
    };
    assert_eq!(count("memcpy"), (2 * 2 * 2, 2 * 3 * 2));
    assert_eq!(count("direct"), (0, 2 * 3 * 2));
    assert_eq!([count("zerocopy"), count("unified"), count("tsm")], [(0, 0), (0, 0), (0, 2 * 2)]);
}

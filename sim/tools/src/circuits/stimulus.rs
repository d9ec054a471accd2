//! The inputs of a circuit: a function of seed and number.

use crate::cosim::Ports;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::sync::Arc;
use weft_rtl::bv::{Bv, limbs_for};
use weft_rtl::ir::Module;

/// Cycles after which an input is driven more often, or less.
const PHASE: u64 = 16;

/// Inputs of each cycle, in the order of the ports.
pub(super) fn stimulus(module: &Arc<Module>, seed: u64, number: u64, cycles: u64) -> Vec<Vec<Bv>> {
    let ports = Ports::of(module).inputs;
    let mut rng =
        SmallRng::seed_from_u64(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(number) ^ 0x73);
    let mut now: Vec<Bv> = ports.iter().map(|port| Bv::zero(port.width)).collect();
    let mut busy = 8;
    let cycle = |cycle| {
        if cycle % PHASE == 0 {
            busy = rng.random_range(1..=8);
        }
        for (port, value) in ports.iter().zip(&mut now) {
            if rng.random_range(0..8) >= busy {
                continue;
            }
            *value = match port.legal.len() {
                0 => value_of(port.width, &mut rng),
                variants => Bv::from_u64(port.legal[rng.random_range(0..variants)], port.width),
            };
        }
        now.clone()
    };
    (0..cycles).map(cycle).collect()
}

/// A value with few bits set, with many, a small one, or any.
fn value_of(width: u32, rng: &mut SmallRng) -> Bv {
    let style = rng.random_range(0..5);
    let limbs: Vec<u64> = (0..limbs_for(width))
        .map(|at| {
            let [a, b, c]: [u64; 3] = rng.random();
            match style {
                0 => a & b & c,
                1 => a | b | c,
                2 if at > 0 => 0,
                2 => a % 8,
                _ => a,
            }
        })
        .collect();
    Bv::from_limbs(&limbs, width)
}

//! `amo`: every operation at both widths against the host's arithmetic; FADD32 against the host's IEEE adder, at the edges and at random.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::sync::Arc;
use weft_engine::{Design, Options, Sim};
use weft_rtl::prelude::*;
use weft_srsp::amo::{CANONICAL_NAN, amo};
use weft_srsp::msg::{Atomic, SyncOp};
use weft_srsp::params::Srsp;
use weft_srsp_bench::arith::{OPS, apply, fadd};

/// The unit with ports around it.
fn module() -> Arc<Module> {
    Module::build("amo_alone", ModuleKind::Part, || {
        let a = input::<Atomic>("a", Srsp::default());
        unused_input(&a.addr);
        let done = amo(&a, input::<Bits>("old", 64));
        output::<Bits>("updated", 64).set(done.new);
        output::<Bool>("wrote", ()).set(done.wrote);
    })
    .expect("sound")
}

struct Unit {
    sim: Sim,
    ports: [weft_engine::InPort; 5],
    outs: [weft_engine::OutPort; 2],
}

impl Unit {
    fn new() -> Unit {
        let sim = Sim::new(&Design::new(&module(), Options::default()).expect("compiles"));
        let ports = ["a_op", "a_wide", "a_opnd", "a_cmp", "old"].map(|name| sim.input(name).expect("a port"));
        let outs = ["updated", "wrote"].map(|name| sim.output(name).expect("a port"));
        Unit { sim, ports, outs }
    }

    fn run(&mut self, op: SyncOp, wide: bool, old: u64, opnd: u64, cmp: u64) -> (u64, bool) {
        for (port, value) in self.ports.into_iter().zip([op as u64, u64::from(wide), opnd, cmp, old]) {
            self.sim.set(port, value);
        }
        (self.sim.get(self.outs[0]), self.sim.get(self.outs[1]) == 1)
    }
}

/// A word at an edge of its range, near another one, or anywhere.
fn word(rng: &mut SmallRng, near: u64) -> u64 {
    let edges = [0, 1, 2, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 1 << 63, (1 << 63) - 1, u64::MAX];
    match rng.random_range(0..4) {
        0 => edges[rng.random_range(0..edges.len())],
        1 => near.wrapping_add(rng.random_range(0..5)).wrapping_sub(2),
        2 => near,
        _ => rng.random(),
    }
}

#[test]
fn every_operation_at_both_widths() {
    let (mut unit, mut rng) = (Unit::new(), SmallRng::seed_from_u64(1));
    for op in OPS {
        for trial in 0..4_000 {
            let wide = trial % 2 == 1 && op != SyncOp::Fadd32;
            let old = word(&mut rng, 0);
            let (opnd, cmp) = (word(&mut rng, old), word(&mut rng, old));
            let found = unit.run(op, wide, old, opnd, cmp);
            let context = format!("{op:?} wide {wide} old {old:#x} opnd {opnd:#x} cmp {cmp:#x}");
            assert_eq!(found, apply(op, wide, old, opnd, cmp), "{context}");
        }
    }
}

#[test]
fn a_failed_cas_and_a_load_write_nothing() {
    let mut unit = Unit::new();
    assert_eq!(unit.run(SyncOp::Cas, false, 7, 9, 7), (9, true));
    assert_eq!(unit.run(SyncOp::Cas, false, 7, 9, 8), (7, false));
    // What lies above a word of 4 bytes does not make it differ.
    assert_eq!(unit.run(SyncOp::Cas, false, 7 | 1 << 40, 9, 7 | 1 << 50), (9, true));
    assert_eq!(unit.run(SyncOp::Cas, true, 7 | 1 << 40, 9, 7 | 1 << 50), (7 | 1 << 40, false));
    assert_eq!(unit.run(SyncOp::Ld, true, 5, 9, 8), (5, false));
    assert_eq!(unit.run(SyncOp::Inc, false, 3, 3, 0), (0, true));
    assert_eq!(unit.run(SyncOp::Dec, false, 4, 3, 0), (3, true));
}

/// Encodings around every border: zeros, subnormal and smallest normal numbers, ones, largest numbers, infinities, NaNs.
fn borders() -> Vec<u64> {
    let at = [0u32, 1, 2, 0x007f_ffff, 0x0080_0000, 0x0080_0001, 0x3f80_0000, 0x7f7f_ffff, 0x7f80_0000];
    let more = [0x7f80_0001, 0x7fc0_0000, 0x7fff_ffff, 0x7f00_0000, 0x0100_0000, 0x3f7f_ffff, 0x4b80_0000];
    let all = at.into_iter().chain(more);
    all.flat_map(|bits| [u64::from(bits), u64::from(bits | 1 << 31)]).collect()
}

#[test]
fn fadd32_at_the_borders() {
    let mut unit = Unit::new();
    let borders = borders();
    for x in &borders {
        for y in &borders {
            assert_eq!(unit.run(SyncOp::Fadd32, false, *x, *y, 0).0, fadd(*x, *y), "{x:#x} + {y:#x}");
        }
    }
    assert_eq!(unit.run(SyncOp::Fadd32, false, 0x7f80_0000, 0xff80_0000, 0), (CANONICAL_NAN, true));
    // Round to nearest even: half of the last place.
    assert_eq!(unit.run(SyncOp::Fadd32, false, 0x3f80_0000, 0x3380_0000, 0).0, 0x3f80_0000);
    assert_eq!(unit.run(SyncOp::Fadd32, false, 0x3f80_0001, 0x3380_0000, 0).0, 0x3f80_0002);
}

#[test]
fn fadd32_at_random() {
    let (mut unit, mut rng) = (Unit::new(), SmallRng::seed_from_u64(2));
    for _ in 0..200_000 {
        let x: u32 = rng.random();
        // Exponents within 30 of each other meet in every way; few bits make ties.
        let exp = (x >> 23 & 0xff).wrapping_add(rng.random_range(0..60)).wrapping_sub(30) & 0xff;
        let fraction =
            rng.random_range(0..1u32 << 23) & [u32::MAX, 0x40_0000, 0x7, 0][rng.random_range(0..4)];
        let y = u32::from(rng.random::<bool>()) << 31 | exp << 23 | fraction;
        let (x, y) = (u64::from(x), u64::from(y));
        assert_eq!(unit.run(SyncOp::Fadd32, false, x, y, 0).0, fadd(x, y), "{x:#x} + {y:#x}");
    }
}

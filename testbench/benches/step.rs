//! Speed of the parts that a simulation's time goes to: a block's cycle, a fabric's cycle, and making a fabric ready.
//!
//! `cargo bench -p weft-testbench --bench step` (`-- --quick`: half a minute once built). Beside other simulators: `weft bench`.

use criterion::{Criterion, criterion_group, criterion_main};
use std::collections::BTreeMap;
use std::hint::black_box;
use weft_blocks::fabric::{ClosedParams, closed_fabric};
use weft_engine::{Design, Options, Probes, Sim};

/// Without observers, as in `weft bench`.
const FAST: fn() -> Options = || Options { probes: Probes::None, ..Options::default() };

/// One cycle of the published directory under a stream of reads of changing lines.
fn directory_step(c: &mut Criterion) {
    let module = weft_catalog::build("rec-directory", &BTreeMap::new()).expect("the published directory");
    let mut sim = Sim::new(&Design::new(&module, FAST()).expect("a block that compiles"));
    let input = |name: &str| sim.input(name).expect("a port of the directory");
    let (valid, line, source) = (input("req_valid"), input("req_line"), input("req_src"));
    let receivers = [input("rsp_ready"), input("inv_ready")];
    let ready = sim.output("req_ready").expect("a port of the directory");
    sim.set(valid, 1);
    sim.set(source, 1);
    receivers.into_iter().for_each(|port| sim.set(port, 1));
    let mut number = 0u64;
    c.bench_function("rec-directory cycle", |b| {
        b.iter(|| {
            if sim.get(ready) != 0 {
                number = number.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                sim.set(line, number >> 46);
            }
            sim.step();
        });
    });
}

/// A hundred cycles of the closed fabric, and what comes before the first: elaboration and compilation.
fn closed(c: &mut Criterion) {
    let params = ClosedParams::bench();
    let mut group = c.benchmark_group("closed fabric");
    group.sample_size(10);
    group.bench_function("elaboration", |b| b.iter(|| closed_fabric(black_box(&params)).expect("legal")));
    let module = closed_fabric(&params).expect("legal");
    group.bench_function("compilation", |b| {
        b.iter(|| Design::new(black_box(&module), FAST()).expect("a fabric that compiles"));
    });
    let mut sim = Sim::new(&Design::new(&module, FAST()).expect("a fabric that compiles"));
    let enable = sim.input("enable").expect("a port of every closed fabric");
    sim.set(enable, 1);
    group.bench_function("100 cycles", |b| b.iter(|| sim.run(100)));
    group.finish();
}

criterion_group!(benches, directory_step, closed);
criterion_main!(benches);

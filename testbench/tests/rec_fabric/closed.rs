//! The closed fabric: traffic generators and memories in RTL.

use crate::tiny;
use weft_blocks::fabric::{ClosedParams, Protocol, closed_fabric};
use weft_engine::{Design, Options, Sim};

/// The traffic generators' loads and stores all come back, and the whole fabric falls asleep when they stop.
#[test]
fn a_closed_fabric_runs_and_comes_to_rest() {
    let bench = ClosedParams::bench();
    let mut p = ClosedParams { fabric: tiny(Protocol::Rec), active: 1, ..bench };
    (p.traffic.span, p.traffic.interval, p.dram.rows) = (64, 2, 128);
    let module = closed_fabric(&p).unwrap();
    let mut sim = Sim::new(&Design::new(&module, Options::default()).unwrap());
    let enable = sim.input("enable").unwrap();
    sim.set(enable, 1);
    sim.run(3_000);
    sim.set(enable, 0);
    sim.run(5_000);
    assert!(sim.failures().is_empty(), "{:?}", sim.failures());
    let sum = |name: &str| sim.probes().filter(|r| r.name == name).map(|r| r.count).sum::<u64>();
    assert!(sum("requests") > 500, "only {} requests", sum("requests"));
    assert_eq!(sum("requests"), sum("answers"));
    assert!(sim.asleep(), "{} units are awake", sim.awake_units());
}

//! The closed fabric: traffic generators and memories in RTL.

use crate::rec_fabric::tiny;
use weft_blocks::fabric::{ClosedParams, Protocol, closed_fabric};
use weft_engine::{Design, Options, Sim};
use weft_rtl::verilog::emit;
use weft_tools::external::{iverilog_lint, verilator_lint};

fn small(protocol: Protocol) -> ClosedParams {
    let mut p = ClosedParams { fabric: tiny(protocol), active: 1, ..ClosedParams::bench() };
    (p.traffic.span, p.traffic.interval, p.dram.rows) = (64, 2, 128);
    p
}

/// The generators' requests are answered in every stretch of time, all of them come back, and the whole fabric falls asleep when they stop.
#[test]
fn a_closed_fabric_makes_steady_progress_and_comes_to_rest() {
    for protocol in [Protocol::REC, Protocol::HMG_ENTRY, Protocol::NO_REMOTE_CACHING] {
        let module = closed_fabric(&small(protocol)).unwrap();
        let mut sim = Sim::new(&Design::new(&module, Options::default()).unwrap());
        let sum =
            |sim: &Sim, name: &str| sim.probes().filter(|r| r.name == name).map(|r| r.count).sum::<u64>();
        let enable = sim.input("enable").unwrap();
        sim.set(enable, 1);
        sim.run(500);
        for stretch in 0..20 {
            let before = sum(&sim, "answers");
            sim.run(500);
            let answered = sum(&sim, "answers") - before;
            assert!(answered > 40, "{protocol:?}: {answered} answers in stretch {stretch} of 500 cycles");
        }
        sim.set(enable, 0);
        sim.run(5_000);
        assert!(sim.failures().is_empty(), "{:?}", sim.failures());
        assert_eq!(sum(&sim, "requests"), sum(&sim, "answers"));
        assert!(sim.asleep(), "{} units are awake", sim.awake_units());
    }
}

/// Verilator and Icarus have nothing to say about the Verilog of a whole closed fabric.
#[test]
fn the_verilog_of_a_closed_fabric_lints_clean() {
    let module = closed_fabric(&small(Protocol::REC)).unwrap();
    let folder = tempfile::tempdir().expect("a folder");
    let write = |file: weft_rtl::verilog::VerilogFile| {
        let path = folder.path().join(&file.name);
        std::fs::write(&path, &file.text).expect("written");
        path
    };
    let files: Vec<_> = emit(&module).into_iter().map(write).collect();
    let mut found = verilator_lint(&module.name, &files).expect("it runs");
    found.extend(iverilog_lint(&module.name, &files).expect("it runs"));
    assert!(found.is_empty(), "{}", found.join("\n"));
}

//! The example: a queue of rust-hdl's widgets in front of a REC directory. Its design equals the engine, its Verilog equals both under Verilator and Icarus.

#[path = "../../examples/queued_directory.rs"]
#[allow(dead_code)]
mod example;
use crate::support::icarus;
use crate::support::verilator;

use example::{INPUTS, OUTPUTS, directory, expected, run};

const CYCLES: usize = 3000;

#[test]
fn verilator_and_iverilog_agree_with_the_example() {
    let ((stimulus, expected), verilog) = run(CYCLES).unwrap_or_else(|e| panic!("{e}"));
    // The run has what the example is about: a queue that fills, answers, invalidations.
    let many = |at: usize| expected.iter().filter(|cycle| cycle[at] == 1).count();
    assert!(many(0) > 50 && many(1) > 500 && many(6) > 200, "{} {} {}", many(0), many(1), many(6));
    verilator::replay(&verilog, (INPUTS, OUTPUTS), &stimulus, &expected);
    icarus::replay(&verilog, (INPUTS, OUTPUTS), &stimulus, &expected);
}

#[test]
#[should_panic(expected = "cycle 299: inv_grp is 0, expected 1")]
fn verilator_shows_a_wrong_value() {
    let ((stimulus, mut expected), verilog) = run(300).unwrap_or_else(|e| panic!("{e}"));
    expected[299][10] ^= 1;
    verilator::replay(&verilog, (INPUTS, OUTPUTS), &stimulus, &expected);
}

#[test]
fn the_comparison_sees_another_directory() {
    let module = directory().expect("legal");
    let (stimulus, expected) = expected(&module, 400).expect("runs");
    let mut other = stimulus.clone();
    let written = other.iter().position(|inputs| inputs[1] == 1).expect("a request");
    // Another operation number, which comes back in the answer.
    other[written][2] ^= 1 << 47;
    let design = |stimulus: &[Vec<u64>]| {
        let design = example::QueuedDirectory::new(&module).expect("its ports");
        example::simulated(design, stimulus).expect("runs")
    };
    assert!(design(&stimulus) == expected, "the example compares what is equal");
    assert!(design(&other) != expected, "another request leads to other outputs");
}

//! Circuits are the same for the same seed, and leave nothing of the language out.

use weft_circuits::{Coverage, circuit};
use weft_rtl::lower::flatten;
use weft_rtl::verilog::emit;

/// Circuits in which everything occurs.
const ENOUGH: u64 = 2000;

#[test]
fn nothing_of_the_language_is_left_out() {
    let mut seen = Coverage::default();
    (0..ENOUGH).for_each(|number| seen.add(&circuit(1, number)));
    assert_eq!(seen.missing(), Vec::<String>::new(), "\n{seen}");
    let few = Coverage::default();
    assert!(few.missing().len() > 200, "of nothing all is missing");
}

#[test]
fn a_circuit_is_the_same_for_its_seed_and_number() {
    for number in 0..40 {
        assert_eq!(emit(&circuit(3, number)), emit(&circuit(3, number)));
    }
    let text = |seed: u64| {
        let files = emit(&circuit(seed, 0));
        files.iter().map(|file| file.text.replace(&format!("circuit_{seed}_0"), "")).collect::<String>()
    };
    assert_ne!(text(3), text(4));
}

#[test]
fn circuits_have_no_loops() {
    for number in 0..500 {
        let module = circuit(2, number);
        flatten(&module).unwrap_or_else(|e| panic!("{}: {e}", module.name));
    }
}

//! Every target of the library crates: its seeds are accepted, its corpus shows no fault, nor do some
//! thousand inputs made from both; these are both accepted and refused, and refused in many ways.

use std::path::Path;
use weft_fuzz::drive::{Outcome, Plan, campaign, read};
use weft_fuzz::readers::all;

/// Inputs of each target.
const INPUTS: u64 = 1500;

#[test]
fn seeds_are_accepted_and_put_together_as_they_were() {
    for target in all() {
        for seed in (target.seeds)() {
            assert_eq!(read(&target, &seed).outcome, Outcome::Accepted, "{}", target.name);
            if let Some(parts) = target.form.open(&seed) {
                let again = target.form.close(&parts);
                assert_eq!(read(&target, &again).outcome, Outcome::Accepted, "{} taken apart", target.name);
            }
        }
    }
}

#[test]
fn names_are_different() {
    let names: Vec<&str> = all().iter().map(|target| target.name).collect();
    assert!(names.windows(2).all(|pair| pair[0] < pair[1]), "{names:?}");
}

#[test]
fn what_once_failed_does_not() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut seen = 0;
    for target in all() {
        for input in weft_fuzz::corpus(&corpus, target.name).expect("a folder") {
            let outcome = read(&target, &input).outcome;
            assert!(!matches!(outcome, Outcome::Failed(..)), "{}: {outcome:?}", target.name);
            seen += 1;
        }
    }
    assert!(seen > 0, "the corpus holds something");
}

#[test]
fn thousands_of_inputs_show_no_fault() {
    for target in all() {
        let found = campaign(&target, &Plan::new(INPUTS, 11));
        let shown: Vec<String> = found
            .faults
            .iter()
            .map(|fault| format!("{fault} {:?}", String::from_utf8_lossy(&fault.input)))
            .collect();
        assert!(shown.is_empty(), "{}: {}", target.name, shown.join("\n"));
        let least = INPUTS / 50;
        assert!(
            found.accepted > least && found.refused > least && found.kinds > 1,
            "{}: {found:?}",
            target.name
        );
    }
}

//! What the compiler refuses in a transition table, with the sentence that it says.

/// Misspelt states, events and actions, a row with a pattern too few, a next state without a state, a row for several combinations without a name.
#[test]
fn names_that_do_not_exist_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/refused/*.rs");
}

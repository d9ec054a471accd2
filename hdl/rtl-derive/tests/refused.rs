//! What the compiler refuses in transition tables, bundles and words, with the sentence that it says.

/// In tables: misspelt states, events and actions, a row with a pattern too few, a next state without a state, a row for several combinations without a name, rows included with
/// such slips, with values too few, or from nowhere. In bundles: a field with two shapes, `flat` with a value, a parameter that is no data, a type that is no struct with named
/// fields. In words: values with data, a type that is no enum.
#[test]
fn slips_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/refused/*.rs");
}

//! Cost grows with activity, not with size.

use weft_tools::idle::idle_cost;

/// Twice the idle CUs add units, of which none is clocked once it has fallen asleep, so a cycle clocks as many units as before. Counted,
/// not timed, so that other work on the machine does not matter; `weft bench idle` measures the time.
#[test]
fn doubling_the_idle_cus_does_not_add_clocked_units() {
    const CYCLES: u64 = 3_000;
    let (few, many) = (idle_cost(1, 3, CYCLES, 0).unwrap(), idle_cost(1, 6, CYCLES, 0).unwrap());
    assert_eq!((few.idle, many.idle), (12, 24));
    assert_eq!(many.units - few.units, 24, "a generator and an L1 for each idle CU");
    assert!(few.clocked_per_cycle > 8.0, "the busy CUs work: {few:?}");
    assert_eq!(
        (few.idle_clocked_per_cycle, many.idle_clocked_per_cycle),
        (0.0, 0.0),
        "idle CUs and their L1s sleep"
    );
    let growth = many.clocked_per_cycle / few.clocked_per_cycle;
    assert!((0.9..1.1).contains(&growth), "{few:?} {many:?}");
}

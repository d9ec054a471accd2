//! The tables are sound.

use super::*;

#[test]
fn no_two_rows_overlap() {
    for (forces, holds) in [(false, false), (true, false), (true, true)] {
        assert_eq!(tables::requester(forces, holds).overlaps(), vec![]);
        assert_eq!(tables::gpu_home(holds).overlaps(), vec![]);
    }
    assert_eq!(tables::home().overlaps(), vec![]);
}

//! The tables are sound.

use super::*;

#[test]
fn the_tables_are_sound() {
    for (forces, holds) in [(false, false), (true, false), (true, true)] {
        assert_eq!(tables::requester(forces, holds).faults(), []);
        assert_eq!(tables::gpu_home(holds).faults(), []);
    }
    assert_eq!(tables::home().faults(), []);
}

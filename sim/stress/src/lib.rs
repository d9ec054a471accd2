//! Random programs on random hardware, checked by value and by axioms while they run; what fails is made small.
//!
//! ```text
//!  seed, number of a round --[hardware]--> keys ----------[fabric]--> design, shared by a few rounds
//!                          --[shape]-----> lines, waves, shares --[program]--> operations of every wave
//!                                                                              |
//!  operations, cycles, or what is wrong <--[round]-- checks of the run, its memory, the judge's axioms
//!        |                                                 |
//!     [record]: totals by fabric, keys and seed         [reduce]: fewer keys, kernels, waves, operations, lanes
//! ```
//!
//! A program is a trace ([`weft_workload::trace`]): what it does depends on no value that it loads, so that each round's operations are known
//! before it runs, and what is left of a failing one is a small text that `weft run` runs again.

pub mod campaign;
mod ground;
mod hand_over;
pub mod hardware;
pub mod program;
pub mod record;
pub mod reduce;
mod roles;
pub mod round;
mod shape;
mod wave;

pub use ground::Ground;
pub use shape::Shape;

/// The generator of a round: each use has a number of its own, so that one that draws more moves no other.
pub(crate) fn generator(seed: u64, round: u64, of: u64) -> rand::rngs::SmallRng {
    use rand::SeedableRng;
    let mut mixed = [0_u8; 32];
    for (place, word) in mixed.chunks_exact_mut(8).zip([seed, round, of, 0x7374_7265_7373]) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    rand::rngs::SmallRng::from_seed(mixed)
}

//! Processes that share a run, as `mpirun` starts them. Rank 0 is the program that a user sees; the others say
//! nothing.

#[cfg(feature = "mpi")]
mod mpi;
pub mod place;

use crate::failure::{Failure, Outcome};
use anyhow::anyhow;
pub use place::{Place, place};
use std::sync::Arc;
use std::time::Duration;
use weft_fabric::ranks::Link;

/// Ends a rank other than 0 where rank 0 tells what is wrong: one sentence is enough. A launcher ends all
/// processes when one has failed, which must not be this one, for then the sentence may never be told.
fn fall_silent() -> ! {
    std::thread::sleep(Duration::from_secs(10));
    std::process::exit(2)
}

/// Why a verb is not for several processes.
pub fn refuse(place: Place) -> Failure {
    if place.rank > 0 {
        fall_silent();
    }
    Failure::input(anyhow!(
        "{} processes were started together, and this verb works in one: leave mpirun out; run and profile \
         are the verbs that several can share",
        place.ranks
    ))
}

/// `lead` on rank 0, with the way to the others, or on a process alone, without; `serve` on the other ranks,
/// which return what keeps them from beginning.
///
/// # Errors
/// What `lead` says; a program that was built without MPI.
///
/// Each has so many threads.
pub fn share(
    threads: usize,
    lead: &dyn Fn(Option<Arc<dyn Link>>) -> Outcome,
    serve: &dyn Fn(Arc<dyn Link>, &dyn Fn(Outcome) -> bool),
) -> Outcome {
    match place() {
        None => lead(None),
        Some(place) => among(place, threads, lead, serve),
    }
}

#[cfg(feature = "mpi")]
use mpi::among;
#[cfg(feature = "mpi")]
pub use mpi::{kept, ready};

#[cfg(not(feature = "mpi"))]
fn among(
    Place { rank, ranks }: Place,
    _: usize,
    _: &dyn Fn(Option<Arc<dyn Link>>) -> Outcome,
    _: &dyn Fn(Arc<dyn Link>, &dyn Fn(Outcome) -> bool),
) -> Outcome {
    if rank > 0 {
        fall_silent();
    }
    Err(Failure::input(anyhow!(
        "mpirun has started {ranks} processes, and this program was built without MPI, so that they cannot share \
         a run: build it with cargo build --release --features mpi (it needs the packages of scripts/setup --mpi), \
         or leave mpirun out"
    )))
}

/// All ranks have begun.
///
/// # Errors
/// What keeps one from it.
#[cfg(not(feature = "mpi"))]
pub fn ready(_: &dyn Link) -> Outcome {
    Ok(())
}

/// A snapshot was written.
#[cfg(not(feature = "mpi"))]
pub fn kept(_: u64, _: &std::path::Path) {}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(variables: &[(&str, &str)]) -> Option<Place> {
        let find = |name: &str| variables.iter().find(|(given, _)| *given == name);
        Place::of(&|name| find(name).map(|(_, value)| (*value).to_string()))
    }

    #[test]
    fn launchers_tell_who_is_who() {
        assert_eq!(given(&[]), None);
        let two = [("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "2")];
        assert_eq!(given(&two), Some(Place { rank: 1, ranks: 2 }));
        assert_eq!(given(&[("PMI_RANK", "0"), ("PMI_SIZE", "4")]), Some(Place { rank: 0, ranks: 4 }));
        // One process alone is as good as none.
        assert_eq!(given(&[("PMI_RANK", "0"), ("PMI_SIZE", "1")]), None);
        assert_eq!(given(&[("PMI_RANK", "a"), ("PMI_SIZE", "4")]), None);
    }
}

//! This process among those that a launcher has started.

/// What launchers tell a process of its number and of how many there are: Open MPI; MPICH and its relatives.
const VARIABLES: [(&str, &str); 2] =
    [("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE")];

/// This process among those that a launcher has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub rank: usize,
    /// At least 2.
    pub ranks: usize,
}

impl Place {
    /// What the environment tells, if there are others.
    pub fn of(variable: &dyn Fn(&str) -> Option<String>) -> Option<Place> {
        let number = |name: &str| variable(name)?.parse().ok();
        VARIABLES.iter().find_map(|(rank, ranks)| {
            let place = Place { rank: number(rank)?, ranks: number(ranks)? };
            (place.ranks > 1).then_some(place)
        })
    }
}

/// This process among those that a launcher has started, if there are others.
pub fn place() -> Option<Place> {
    Place::of(&|name| std::env::var(name).ok())
}

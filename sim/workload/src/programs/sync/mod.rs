//! Synchronisation microbenchmarks (`cu-and-consistency.md` section 7): the primitives of SyncPrims and HeteroSync, and
//! an unbalanced tree search.
//!
//! Every CU has equally many work-groups, whose first thread, the *leader*, synchronises for all: the others wait at the
//! barrier of the work-group. A program whose name ends in `-g` has one primitive for all work-groups; one that ends in
//! `-l` has a primitive for each CU and synchronises at its scope.
//!
//! Shapes are those of the public programs: work-groups of 32 threads, 3 on a CU, 100 iterations, 10 loads and stores of
//! each thread in an iteration.

pub mod backoff;
pub mod mutex;
mod region;
pub mod semaphore;
mod setting;
pub mod tree;
pub mod uts;

pub use setting::{Setting, with_common};
pub use tree::{Height, TREE_REGISTERS, Tree};

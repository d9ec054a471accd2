//! What caches of several families are made of. A part is here when two families use it; what one of them needs alone is in its own crate.
//!
//! | part | what it is | who uses it |
//! | --- | --- | --- |
//! | [`Geometry`] | sets, ways, and the cut of a line's number into set and tag | all |
//! | [`Array`] | a memory that is read a row at a time, and written a row or a lane at a time | all |
//! | [`plru`] | tree pseudo-LRU replacement | all |
//! | [`Head`] | the request that is looked up next, and the channel from which it comes | L1s |
//! | [`Targets`] | the operations that wait in MSHRs | L1s |
//! | [`LineRows`] | tags, data and ages of the lines, a set in a row, one way of which is changed per cycle | L1s |
//!
//! The caches of the directory family keep their ages as permutations and their MSHRs beside the tags; leases have stamps in the place of states: both stay as they are.

mod array;
mod geometry;
mod head;
mod line_rows;
pub mod plru;
mod targets;

pub use array::{Array, ByLane, ByRow};
pub use geometry::Geometry;
pub use head::Head;
pub use line_rows::{LineRows, Presented, vectors};
pub use targets::Targets;

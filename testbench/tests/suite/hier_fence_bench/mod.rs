//! A hierarchical system around real fence units: modelled banks with writes under way, lanes of invalidations and markers, and networks with any delay.
//!
//! A write goes from its GPM to the GPU home and on to the system home; each home performs it, some time later its directory puts invalidations into
//! the lanes to some sharers, and the write is acknowledged. A GPU home that applies an invalidation of another GPU passes it on to GPMs first.

mod fault;
mod mood;
mod node;
mod world;

pub use fault::Fault;
pub use mood::Mood;
pub use node::Unit;
pub use world::World;

//! Every state that blocks in a network can reach: exhaustive exploration of the hardware itself, not of a model of it.
//!
//! ```text
//!  World: requesters, memory, what is judged
//!    |  ^                          |  ^
//!  Block --- Link --- Block --- Link --- Block      one compiled block each, its states numbered, its steps remembered
//! ```
//! - [`block`]: one block as a graph of states. [`dead`]: which bits of a state mean nothing, as data, and tried at every step. [`form`]: messages.
//! - [`net`]: blocks joined by links that take any time, and the [`net::World`] around them; why it is enough to clock one block at a time.
//! - [`parts`]: nets of blocks whose channels are joined by name. [`report`]: what was found, and the way to a violation, as text.
//! - [`search`]: breadth-first through a [`search::Space`], with the shortest way to what must not happen; random walks.
//!
//! The state of a net is a number per block, per link and for the world, so a transition that happens in many states costs the hardware one clock cycle and every
//! further time a look into a table. Nothing here knows a protocol: a family of blocks brings its blocks, rules, links and world.

pub mod block;
pub mod dead;
pub mod form;
pub mod guess;
pub mod hash;
pub mod net;
pub mod parts;
pub mod report;
pub mod search;
pub mod wave;

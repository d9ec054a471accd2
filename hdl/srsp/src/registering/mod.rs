//! What the L1s in which lines are registered, those of hLRC and DeNovo-B, have beside `write_combining`.
//!
//! | part | what it is |
//! | --- | --- |
//! | [`RegisteringParams`] | what fixes such an L1 |
//! | `rows` | rows of transition tables, and what stands in their columns |
//! | `lines` | states of lines that may be owned |
//! | `slot` | what slots of both do |
//! | `sync_unit` | operations of several steps: what their programs share |
//! | `upward` | channels to and from the L2 |

pub(crate) mod lines;
mod params;
pub(crate) mod rows;
pub(crate) mod slot;
pub(crate) mod sync_unit;
pub(crate) mod upward;

pub use params::{Faults, RegisteringParams, infos};

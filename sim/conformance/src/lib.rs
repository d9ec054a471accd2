//! Whether fabrics keep to their memory models (cu-and-consistency.md section 6): litmus tests run on them, in many places, layouts and timings, and every end is
//! looked up among those that the models allow.

mod campaign;
mod machine;
pub mod planted;

pub use campaign::{Allowed, Campaign, CampaignError, Cell, Forbidden, Judge, Plan, TestReport};
pub use machine::{machine, model};

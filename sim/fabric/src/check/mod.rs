//! Checks while a fabric runs (issue "Checks while running").

pub mod messages;
pub mod values;

//! Whole systems: behavioural compute units, DRAM and directories beside the RTL, page placement, configuration.

pub mod activity;
mod channel;
pub mod check;
pub mod config;
pub mod cu;
pub mod dram;
pub mod family;
pub mod fit;
pub mod lanes;
pub mod memory;
mod perform;
pub mod placement;
pub mod port;
pub mod ranks;
pub mod run;

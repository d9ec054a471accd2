//! fabric
pub mod cu;
pub mod dram;
pub mod memory;
pub mod port;

//! fabric
pub mod cu;

//! Golden model of MOESI between the L2s of several GPUs (moesi.md), written from the page alone, and its
//! exploration.
//!
//! Banks ([`bank::Bank`]) and slices ([`slice::Slice`]) can be driven by hand: each call changes one of them
//! and leaves what it does beside that in [`fabric::Fabric::take`]. [`system::System`] is nothing but these
//! calls, so what is driven by hand is what is explored ([`explore::explore`]).

pub mod arrive;
pub mod bank;
pub mod check;
pub mod explore;
pub mod fabric;
pub mod home;
pub mod key;
pub mod line;
pub mod msg;
mod parts;
pub mod races;
pub mod slice;
pub mod slips;
pub mod steps;
pub mod system;
pub mod table;
pub mod walk;

pub use parts::{BANK, SLICE};

#[cfg(test)]
mod tests;

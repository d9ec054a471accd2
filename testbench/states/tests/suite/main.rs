//! Reachable states of abstract protocols, and planted faults.

mod faults;
mod states;

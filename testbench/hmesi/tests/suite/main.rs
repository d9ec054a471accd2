//! The hierarchical baseline of Spandex against its golden model.

mod against_model;
mod golden_explore;
mod golden_slips;
mod golden_tables;
mod gpu_l2;
mod hmesi_client;
mod hmesi_explore;
mod hmesi_fabric;
mod hmesi_system;
mod mesi_llc;
mod watch;

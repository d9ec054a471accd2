//! Spandex blocks and systems against their golden models.

mod amo;
mod denovo_l1;
mod flex_l1;
mod golden_explore;
mod golden_races;
mod golden_slips;
mod golden_tables;
mod golden_units;
mod gpu_l1;
mod mesi_l1;
mod net;
mod net_link;
mod owner_predictor;
mod spandex_explore;
mod spandex_explore_injects;
mod spandex_fabric;
mod spandex_llc;
mod stash;
mod tu_denovo;
mod tu_flex;
mod tu_gpu;
mod tu_mesi;

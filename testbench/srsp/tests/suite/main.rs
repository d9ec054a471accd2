//! sRSP, bRSP and hLRC against their golden models.

mod amo;
mod golden_checker;
mod golden_explore;
mod golden_hlrc;
mod golden_races;
mod golden_random;
mod golden_remotes;
mod golden_scenario;
mod golden_tables;
mod hlrc_fabric;
mod hlrc_gpu;
mod hlrc_l1;
mod hlrc_l2;
mod l1_bench;
mod l2_bench;
mod lock_tbl;
mod lr_tbl;
mod mesh;
mod pa_tbl;
mod pages;
mod plru;
mod sel_hub;
mod sfifo;
mod srsp_fabric;
mod srsp_l1;
mod srsp_l2;

//! MGPU-TSM with MGCC: GPUs that share one physical memory, kept coherent by timestamps (mgcc.md).
//!
//! ```text
//!  CU --- L1 ---+                                    +--- lane 0: ReqTracker, TSU, DRAM channel
//!  CU --- L1 ---+--- crossbar --- L2 bank i --- switch --- UMC i
//!  ...          |                 ...                +--- lane 1 ...
//! ```
//! A crate of its own, beside the directory family of [`weft_blocks`], from which it takes the CU port and the common blocks: neither family knows the other.
//!
//! [`l1`]: the L1 of a CU. [`l2`]: a bank of a GPU's L2. [`gtsc`]: what G-TSC, the ancestor that MGCC is
//! compared with, has in their place. [`tsu`]: timestamps of a lane; [`reqtracker`]: its first stage; [`umc`]: lanes and what joins them; [`epoch_ctl`]: the
//! end of an epoch for everybody; [`maint`]: what software does to the L2 where nothing is coherent; [`switch`]: links and switch of a bank number; [`fabric`]: all of it.
//! [`rdma`]: what MGPU-RDMA, the baseline, has instead of switches and UMCs.
//!
//! [`msg`] holds every message, once for both ends; [`params`] what fixes their widths; [`time`] the arithmetic of logical time.

pub mod bytes;
pub mod choice;
pub mod epoch_ctl;
pub mod fabric;
pub mod gtsc;
pub mod l1;
pub mod l2;
pub mod maint;
pub mod msg;
pub mod params;
pub mod rdma;
pub mod reqtracker;
pub mod switch;
pub mod time;
pub mod tsu;
pub mod umc;

pub(crate) use weft_blocks::common::join;
use weft_blocks::registry::BlockInfo;

/// The blocks of this crate, in the order in which they are listed.
pub fn blocks() -> Vec<BlockInfo> {
    vec![
        l1::info(),
        l2::info(),
        l2::back_info(),
        gtsc::l1_info(),
        gtsc::l2_info(),
        tsu::info(),
        reqtracker::info(),
        umc::lane_info(),
        umc::info(),
        epoch_ctl::info(),
        epoch_ctl::relay_info(),
        maint::info(),
        switch::info(),
        rdma::engine::info(),
        rdma::pcie::info(),
        rdma::dram_port::info(),
    ]
}

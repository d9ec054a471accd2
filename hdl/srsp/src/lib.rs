//! sRSP, bRSP, hLRC and DeNovo-B: L1s of one GPU that are not coherent, made visible to one another by scoped synchronisation (srsp.md).
//!
//! ```text
//!  CU --- L1 ---+-- req, wb --> crossbar --> L2 bank 0 --- DRAM
//!  CU --- L1 ---+               <-- rsp --   L2 bank 1 --- DRAM
//!  ...          |                ...
//!               +-- probe_out --> sel-hub --> probe of the other L1s; their pack --> sel-hub --> the requester
//! ```
//! A crate of its own, beside the other families, from which it takes the CU port and the common blocks.
//!
//! [`msg`] holds every message, once for both ends; [`params`] what fixes their widths; [`amo`] what atomics compute.
//! [`l1`]: the L1 of a CU, with [`sfifo`], [`lr_tbl`] and [`pa_tbl`]; [`l2`]: a bank of the L2, with [`lock_tbl`]; [`sel_hub`]: the multicast of probes; [`fabric`]: all of it.
//! [`hlrc_l1`]: the L1 of hLRC, in which atomics register their lines instead. What L1s are made of is in `write_combining`; those that register lines, in `registering`.
//! [`bank`]: what banks of the L2 of all systems are made of.
//! [`denovo_b_l1`]: that of DeNovo-B, in which every line that is written is registered; its banks are those of [`hlrc_l2`].
//! [`hlrc_l2`]: a bank of the L2 for hLRC, which keeps the owner of each atomic line; [`mesh`]: a network of routers.

pub mod amo;
pub mod bank;
pub mod denovo_b_l1;
mod entries;
pub mod fabric;
mod heads;
pub mod hlrc_l1;
pub mod hlrc_l2;
pub mod l1;
pub mod l2;
pub mod lock_tbl;
pub mod lr_tbl;
pub mod mesh;
pub mod msg;
pub mod pa_tbl;
pub mod params;
pub mod registering;
pub mod sel_hub;
pub mod sfifo;
mod write_combining;

use weft_blocks::registry::BlockInfo;

pub use write_combining::Shape;

/// The blocks of this crate, in the order in which they are listed.
pub fn blocks() -> Vec<BlockInfo> {
    vec![
        l1::info(),
        sfifo::info(),
        lr_tbl::info(),
        pa_tbl::info(),
        sel_hub::info(),
        lock_tbl::info(),
        l2::info(),
        hlrc_l1::info(),
        hlrc_l2::info(),
        denovo_b_l1::info(),
        hlrc_l2::info_of_writes(),
    ]
}

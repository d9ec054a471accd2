//! Spandex: devices with GPU coherence, DeNovo or MESI around one last-level cache (spandex.md).
//!
//! ```text
//!  CU or core --- L1 --- TU ---+-- req, wb, rsp_out, fwd_out --> network --> LLC bank 0 --- memory
//!  CU or core --- L1 --- TU ---+<-- fwd, rsp ------------------- network <-- LLC bank 1 --- memory
//!  ...
//! ```
//! Towards the network every device has the same six channels: `req` and `wb` out to banks, `rsp_out` to banks and devices, `fwd_out` to devices (direct requests), `fwd` and `rsp` in. A device of another
//! protocol is an L1 and a translation unit (TU) with these channels; the LLC does not know which it talks to.
//!
//! [`msg`] holds every message, once for both ends; [`params`] what fixes their widths; [`amo`] the arithmetic on words.
//! [`llc`]: a bank of the LLC; [`bank`]: what banks are made of; [`gpu_l1`]: the L1 of a CU with GPU coherence; [`tu_gpu`]: its translation unit.
//! [`denovo_l1`]: an L1 with DeNovo coherence, which speaks Spandex itself; [`tu_denovo`]: its translation unit.
//! [`flex_l1`]: an L1 whose requests are chosen by hints; [`tu_flex`]: its translation unit; [`owner_predictor`]: a table of likely owners in it.
//! [`stash`]: a scratchpad of a CU whose words are mapped to global memory and owned like those of a DeNovo L1.
//! [`mesi_l1`]: the L1 of a core with MESI coherence; [`tu_mesi`]: its translation unit; [`mesi_port`]: what they say to each other.
//! [`net`]: a mesh of routers, in which virtual networks share links; links between the meshes of several GPUs.
//! [`hmesi`]: the hierarchical baseline, a MESI directory above CPU L1s and a GPU L2.

pub mod amo;
pub mod bank;
pub mod denovo_l1;
pub mod fabric;
mod flags;
pub mod flex_l1;
pub mod gpu_l1;
pub mod hmesi;
pub mod llc;
pub mod mesi_l1;
pub mod mesi_port;
pub mod msg;
pub mod net;
pub mod owner_predictor;
pub mod params;
mod retries;
pub mod stash;
pub mod tu_denovo;
pub mod tu_flex;
pub mod tu_gpu;
pub mod tu_mesi;
mod word_l1;

use weft_blocks::registry::BlockInfo;

/// The blocks of this crate, in the order in which they are listed.
pub fn blocks() -> Vec<BlockInfo> {
    vec![
        llc::info(),
        gpu_l1::info(),
        tu_gpu::info(),
        denovo_l1::info(),
        tu_denovo::info(),
        stash::info(),
        flex_l1::info(),
        owner_predictor::info(),
        tu_flex::info(),
        net::router::info(),
        net::link::tx_info(),
        net::link::rx_info(),
        mesi_l1::info(),
        tu_mesi::info(),
        hmesi::client::info(),
        hmesi::mesi_llc::info(),
        hmesi::gpu_l2::info(),
    ]
}

//! The hierarchical baseline of the study (spandex.md section 9): CPU cores with MESI L1s and one GPU L2 below an inclusive, blocking MESI directory, the L3.
//!
//! ```text
//!  core --- mesi-l1 --- client ---+-- req, wb, rsp_out --> network --> L3 bank 0 --- memory
//!  core --- mesi-l1 --- client ---+<-- fwd, rsp ---------- network <-- L3 bank 1 --- memory
//!  ...                            |                                    ...
//!  CU --- L1 --- TU --- network --- GPU L2 bank 0 (a client, too)
//!  CU --- L1 --- TU --- network --- GPU L2 bank 1
//! ```
//! The L1s, translation units and banks of Spandex itself are used below the GPU L2, with Spandex's messages; above it everything speaks [`msg`].

pub mod client;
pub mod fabric;
pub mod gpu_l2;
pub mod mesi_llc;
pub mod msg;
pub mod net;

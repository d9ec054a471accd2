//! MGPU-RDMA, the baseline of MGPU-TSM (mgcc.md section 14): each GPU owns a part of memory, and its L1s reach what others own through RDMA engines and a PCIe switch.
//!
//! ```text
//!  CU --- L1 ---+              +--- L2 bank 0 --- dram-port --- DRAM channel
//!  CU --- L1 ---+--- crossbar -+--- L2 bank 1 --- dram-port --- DRAM channel
//!  ...          |              +--- rdma-engine --- pcie-switch --- engines of the other GPUs
//!               +-- engine: requests of other GPUs, to the banks
//! ```
//! A bank caches its own GPU's memory and nothing else, so it is the one place where all operations of a line meet: atomics are carried out in it, and no load has to go past it. A line of another GPU is
//! kept in L1s only. Nothing keeps those coherent: they are invalidated when a kernel begins.
//!
//! Ports of [`rdma_fabric`], with G the GPU, C the CU, B the bank:
//!
//! | port | dir | message |
//! | --- | --- | --- |
//! | `gG_cuC_req`, `gG_cuC_rsp` | in, out | [`CuReq`](weft_blocks::msg::CuReq), [`CuRsp`](weft_blocks::msg::CuRsp) of [`Tsm::cu`](crate::params::Tsm::cu), as in other fabrics; physical line numbers of the whole system |
//! | `gG_cuC_stall` | out | 3 bits: why the L1 does not take a request, as in other fabrics |
//! | `gG_bB_dram_req`, `gG_bB_dram_rsp` | out, in | [`DramReq`](crate::msg::DramReq), [`DramRsp`](crate::msg::DramRsp) of [`Rdma::bank`], line numbers inside the GPU's memory; answers are always taken |
//!
//! Instances: `gpuG.l1_C`, `gpuG.bankB`, `gpuG.dram_portB`, `gpuG.engine`, `gpuG.requests`, `gpuG.answers` (crossbars), `switch`.
//!
//! [`engine`]: misses to other GPUs, and theirs to this one. [`pcie`]: the switch. [`mod@dram_port`]: between a bank and its DRAM channel. [`fabric`]: all of it.

pub mod dram_port;
pub mod engine;
pub mod fabric;
mod gpu;
mod msg;
mod params;
pub mod pcie;

pub use dram_port::dram_port;
pub use engine::rdma_engine;
pub use fabric::rdma_fabric;
pub use msg::{Rdma, RdmaReq, RdmaRsp};
pub use params::RdmaFabricParams;
pub use pcie::{PcieParams, pcie_switch};

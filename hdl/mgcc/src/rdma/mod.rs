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
//! [`engine`]: misses to other GPUs, and theirs to this one. [`pcie`]: the switch. [`dram_port`]: between a bank and its DRAM channel.

pub mod dram_port;
pub mod engine;
mod msg;
pub mod pcie;

pub use dram_port::dram_port;
pub use engine::rdma_engine;
pub use msg::{Rdma, RdmaReq, RdmaRsp};
pub use pcie::{PcieParams, pcie_switch};

//! Golden models of MGPU-TSM with MGCC, written from mgcc.md alone: plain Rust, one transaction at a time, events in, actions out.
//!
//! A model has no cycles, but for the links and switches, whose cycles are specified. A bench feeds it what the hardware has taken (in the order in which it took it) and compares the actions with what the hardware has sent.
//! Where the specification leaves an order open (which waiting request is replayed next, which answer leaves first, when a fence is answered) the step is a call of its
//! own, and a query gives the steps that are possible; all models are `Clone`, so a bench may also try the steps. A broken rule of the protocol that a model can see
//! by itself is a panic with one sentence.
//!
//! | model | block | events | actions |
//! | --- | --- | --- | --- |
//! | [`tsu::Tsu`] | `tsu` | operations, rolls | grants |
//! | [`l1::L1`] | `mgcc-l1` | CU requests, answers of banks, rolls, replays, fences | requests to banks, answers to the CU |
//! | [`l2::L2`] | `mgcc-l2` | requests of L1s, answers of memory, rolls, replays | answers to L1s, requests to memory, EvictNotes |
//! | [`wb::WriteBack`] | `l2-wb` | the same, maintenance | the same |
//! | [`gtsc::l1::L1`] | `gtsc-l1` | as those of `mgcc-l1` | the same |
//! | [`gtsc::l2::L2`] | `gtsc-l2` | as those of `l2-wb`, rolls | the same |
//! | [`tracker::Tracker`] | `reqtracker` | requests, the issues chosen, results | TSU and DRAM operations, answers |
//! | [`umc::Lane`] | `umc-lane` with its DRAM | requests, the issues chosen | answers |
//! | [`rdma::Engine`] | `rdma-engine` | entries and slots taken, answers | who gets what |
//! | [`pcie::Pcie`] with [`link::Link`] | `pcie-switch`, links of `tsm-switch` | messages, cycles | who has passed |
//! | [`system::System`] | n GPUs | programs of waves | log for the checker |

pub mod array;
pub mod gtsc;
pub mod inject;
pub mod l1;
pub mod l2;
pub mod layout;
pub mod link;
pub mod msg;
pub mod pcie;
pub mod rdma;
pub mod system;
pub mod time;
pub mod tracker;
pub mod tsu;
pub mod umc;
pub mod wb;

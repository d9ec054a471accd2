//! The `weft` program as a library, and the front page of Weft: a register-level laboratory for multi-GPU cache coherence. The coherence hardware of published
//! systems is described once, in Rust, as bit-accurate clocked state machines; from the one description come simulations, waveforms, Verilog and bit
//! counts.
//!
//! # The house
//!
//! Each floor knows only what is below it. Arrows show what goes where; click a crate to open its pages.
//!
#![doc = include_str!("house.svg")]
//!
//! # Where to enter
//!
//! | you want to | enter here |
//! | --- | --- |
//! | see something run | `cargo run --release -- run rec-4gpu-small --workload pagerank`, then the README's list of commands |
//! | have blocks, devices, programs, families and fabrics of your own in all commands, without a change here | [`Lab`], `weft new my-lab` |
//! | write a block of your own | [`weft_rtl`](../weft_rtl/index.html): ten minutes from nothing to simulation, bits and Verilog |
//! | understand a block | [`weft_blocks`](../weft_blocks/index.html): each block's page has its ports, state machines and entry layout; begin with [the directories](../weft_blocks/directory/slice/index.html); those of other families are in [`weft_mgcc`](../weft_mgcc/index.html), [`weft_srsp`](../weft_srsp/index.html) and [`weft_spandex`](../weft_spandex/index.html) |
//! | clock a block, record waves, save and resume | [`weft_engine`](../weft_engine/index.html) |
//! | see what was published beside what is measured here | `weft reproduce all`; the files in `sim/fabrics/published/`, and [`reproduce`] for every key |
//! | change a system: topology, sizes, protocol | the files in `sim/fabrics/`, and [`weft_fabric::config`](../weft_fabric/config/index.html) for every key |
//! | compare many runs in one table and picture | `weft sweep rec-protocols`; the files in `sim/fabrics/sweeps/`, and [`sweep`] for every key and column |
//! | add a family of fabrics: other keys, memories, checks, figures | [`weft_fabric::family`](../weft_fabric/family/index.html): its traits; [directories](../weft_fabric/family/directory/index.html) and [timestamps](../weft_fabric/family/tsm/index.html) are two |
//! | see what a compute unit or a DRAM channel does | [`weft_fabric::cu`](../weft_fabric/cu/index.html), [`weft_fabric::dram`](../weft_fabric/dram/index.html) |
//! | read what a run has recorded of its messages, rows and races | [`weft_events`](../weft_events/index.html): the file format, and what a log tells of a line; [`weft_rtl::signal::about`](../weft_rtl/signal/fn.about.html) says which line a row is about |
//! | write a file from a command | [`weft_output`](../weft_output/index.html): devices, links, full disks and signals are thought of there |
//! | add a program or a graph format | [`weft_workload`](../weft_workload/index.html) |
//! | know what is tested, and how | [`weft_testbench`](../weft_testbench/index.html): [golden models](../weft_testbench/golden/index.html), [the race ledger](../weft_testbench/ledger/index.html), [co-simulation](../weft_tools/cosim/index.html); [`weft_explore`](../weft_explore/index.html): every state of a small net of blocks; [`weft_states`](../weft_states/index.html): every state of an abstract protocol; [`weft_mutate`](../weft_mutate/index.html): blocks with one place changed, and what sees it; [`weft_judge`](../weft_judge/index.html): recorded executions ([`weft_recording`](../weft_recording/index.html)) judged by axioms; [`weft_litmus`](../weft_litmus/index.html) and [`weft_conformance`](../weft_conformance/index.html): memory models, and whether fabrics keep them |
//! | put a block on an FPGA board and talk to it | [`weft_host`](../weft_host/index.html), `scripts/fpga` |
//! | use a block in a rust-hdl design | [weft-rust-hdl](../weft_rust_hdl/index.html) |
//!
//! # What happens in a run
//!
//! `weft run rec-4gpu-small --workload pagerank`, floor by floor:
//!
//! 1. The configuration is read and checked ([`weft_fabric::config`](../weft_fabric/config/index.html)); nothing is simulated before every key is legal.
//! 2. [`weft_blocks::fabric`](../weft_blocks/fabric/index.html) builds one GPU's L1s, crossbars, L2 banks, directory slices and links as a [`Module`](../weft_rtl/ir/struct.Module.html), four times,
//!    around the switch.
//! 3. The engine flattens each distinct module once ([`weft_rtl::lower`](../weft_rtl/lower/index.html)) and compiles it to native code ([`weft_engine::design::Design`](../weft_engine/design/struct.Design.html)).
//! 4. The program ([`weft_workload::program::Program`](../weft_workload/program/trait.Program.html)) says which loads and stores each wave wants; the compute units turn them into messages on the L1s'
//!    channels, DRAM answers the L2 banks' misses.
//! 5. Every cycle the units that are awake are clocked ([`weft_engine::sim::Sim::step`](../weft_engine/sim/struct.Sim.html#method.step)); checks watch values, messages and sharers as they go
//!    ([`weft_fabric::check`](../weft_fabric/check/index.html)).
//! 6. At the end the result in the simulated memory is compared with the host's: `verified: true`. Counters and configuration go to the report.
//!
//! `weft export`, `area` and `cosim` start from the same modules: [`weft_rtl::verilog`](../weft_rtl/verilog/index.html), [`weft_rtl::area`](../weft_rtl/area/index.html), [`weft_tools::cosim`](../weft_tools/cosim/index.html).
//!
//! # Exit status
//!
//! 0 when everything asked for was done and holds, 1 when a run or a check failed, 2 when the user's input was wrong, 130, 143 or 129 when SIGINT, SIGTERM or
//! SIGHUP has ended the command.

mod cli;
mod cluster;
mod cmd;
mod document;
mod failure;
mod fuzz;
mod graph;
mod lab;
mod marks;
mod memory;
mod output;
mod params;
mod perfetto;
mod proved;
mod ranks;
mod report;
pub mod reproduce;
mod setup;
mod signals;
pub mod sweep;
mod trace;

pub use lab::Lab;

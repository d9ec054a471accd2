//! `rdma-engine` and `dram-port` against their golden models: whoever asks gets the answer to what was asked, once, however slow the others are.

mod dram;
mod engine;

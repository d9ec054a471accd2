//! Fabrics of every family, with programs on them.

mod dnn_step;
mod dram;
mod flat;
mod footprint;
mod ideal_dir;
mod local_memory;
mod matrix;
mod ranks;
mod rdma;
#[path = "../../../workload/tests/suite/small/mod.rs"]
mod small;
mod spandex;
mod spandex_faults;
mod spandex_gpus;
mod spandex_latency;
mod srsp;
mod stalls;
mod sync;
mod threads;
mod tsm;

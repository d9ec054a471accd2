//! Programs, graph readers, traces.

mod accel_sim;
mod algorithms;
mod apps;
mod cpu_gpu;
mod graph_files;
mod ideal;
mod implicit;
mod programs;
mod relaxed;
mod small;
mod sync;
mod traces;
mod watch;

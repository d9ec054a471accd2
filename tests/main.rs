//! End-to-end tests: the program on the command line, as a user runs it.

mod bad_input;
mod basics;
mod check;
mod circuits;
mod cluster;
mod digest;
mod documentation;
mod events;
mod files;
mod fpga;
mod fuzz;
mod hardware;
mod hmg;
mod host;
mod left;
mod litmus;
mod mutate;
mod new;
mod planted;
mod program;
mod prove;
#[cfg(feature = "mpi")]
mod ranks;
mod report;
mod reproduce;
mod resume;
mod run;
mod shards;
mod signals;
mod speed;
mod states;
mod stress;
mod sweep;
mod threads;
mod trace;
mod waves;

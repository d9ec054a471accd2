//! Every RTL block of Weft: one folder per system, one file per block.
//!
//! A block's page shows its picture - ports, state machines, rows of its memories - drawn from the hardware at its default parameters
//! ([`picture`](mod@picture)); a block is built by name from the list of [`blocks`], where it stands as a [`registry::BlockInfo`].
//!
//! | block | what it does | page |
//! | --- | --- | --- |
//! | `fifo`, `delay-queue` | queue between two channels, channel with a time of flight | [`common::fifo`], [`common::delay_queue`] |
//! | `round-robin-arbiter`, `oldest-first-arbiter` | many channels into one | [`common::arbiter`] |
//! | `crossbar` | any input to any output | [`common::crossbar`] |
//! | `set-assoc-array`, `cam`, `mshr-file` | things looked up | [`common::set_assoc`], [`common::cam`], [`common::mshr`] |
//! | `link-tx`, `link-rx`, `switch` | between GPUs | [`common::link`], [`common::switch`] |
//! | `l1-cache` | write-through L1 of one CU | [`cache::l1`] |
//! | `l2-bank` | one bank of a GPU's L2 | [`cache::l2`] |
//! | `baseline-directory`, `group-directory`, `rec-directory` | who has a copy of a line, of four lines, of a range | [`directory::slice`] |
//! | `nhcc-directory`, `hmg-directory` | which GPMs, or which GPMs of a GPU and which other GPUs, have a copy of a group of lines | [`directory::slice`] |
//! | `hmg-rec-directory` | which GPMs of a GPU and which other GPUs have a copy of each line of a range | [`directory::slice`] |
//! | `gpu-vi-directory` | which GPMs have a copy of a group of lines, and who must still say that it has none any more | [`directory::protocols::gpu_vi`] |
//! | `inv-egress`, `inv-ingress` | invalidations to and from the links | [`directory::egress`], [`directory::ingress`] |
//! | `fence-unit` | releases | [`directory::fence`] |
//! | `hier-fence-unit` | releases and acquires by scope, where GPUs are made of GPMs | [`directory::hier_fence`] |
//! | `traffic-gen`, `dram-stub` | what closes a fabric for export | [`common::traffic_gen`], [`common::dram_stub`] |
//!
//! Further directories, and banks that protocols bring: [`directory::protocols`].
//!
//! [`msg`] holds every message, once for both ends; [`fabric`] wires blocks into GPUs and closed systems.

pub mod cache;
pub mod common;
pub mod directory;
pub mod fabric;
mod list;
pub mod msg;
pub mod picture;
pub mod registry;

pub use list::{block, blocks, build};

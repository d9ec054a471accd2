//! The common blocks by name.

use super::arbiter::{Order, arbiter};
use super::crossbar::crossbar;
use super::fifo::fifo;
use super::link::{LinkParams, link_rx, link_tx};
use super::switch::switch;
use super::sys::{sys_from, sys_params};
use crate::registry::{BlockError, BlockInfo, ParamInfo, ParamSet};
use weft_rtl::prelude::*;

/// Message of the blocks that carry any type, when they are built by name.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = RoutedShape)]
pub struct Routed {
    /// Output asked for.
    #[width(p.dest_bits)]
    pub dest: Bits,
    /// Payload.
    #[width(p.width)]
    pub data: Bits,
}

/// Widths of [`Routed`].
#[derive(Clone, Copy, Debug)]
pub struct RoutedShape {
    /// Width of the destination.
    pub dest_bits: u32,
    /// Width of the payload.
    pub width: u32,
}

fn info(name: &'static str, default: u64, legal: &'static str, about: &'static str) -> ParamInfo {
    ParamInfo { name, default: default.to_string(), legal, about }
}

fn small(p: &ParamSet, key: &str, lo: u64, hi: u64) -> Result<u32, BlockError> {
    p.within(key, lo, hi).map(|v| v as u32)
}

fn elaborated(block: &str, module: Result<Arc<Module>, ElabErrors>) -> Result<Arc<Module>, BlockError> {
    module.map_err(|errors| BlockError::Elab { block: block.to_string(), errors })
}

fn width_param() -> ParamInfo {
    info("width", 32, "1..1024", "bits of a message")
}

fn link_params() -> Vec<ParamInfo> {
    let mut list = sys_params();
    list.extend([
        info("bytes_per_cycle", 25, "1..256", "bandwidth of each direction in bytes per cycle"),
        info("latency", 140, "2..4096", "cycles from a message's last phit until the receiver offers it"),
        info("credits_req", 64, "1..1024", "places for REQ messages in the receiver"),
        info("credits_rsp", 64, "1..1024", "places for RSP messages in the receiver"),
        info("credits_inv", 64, "1..1024", "places for INV messages in the receiver"),
    ]);
    list
}

fn link_from(p: &ParamSet) -> Result<LinkParams, BlockError> {
    Ok(LinkParams {
        bytes_per_cycle: small(p, "bytes_per_cycle", 1, 256)?,
        latency: small(p, "latency", 2, 4096)?,
        credits: [
            small(p, "credits_req", 1, 1024)?,
            small(p, "credits_rsp", 1, 1024)?,
            small(p, "credits_inv", 1, 1024)?,
        ],
    })
}

fn build_arbiter(p: &ParamSet, block: &str, order: Order) -> Result<Arc<Module>, BlockError> {
    let (n, width) = (small(p, "inputs", 1, 256)?, small(p, "width", 1, 1024)?);
    let name = format!("{}_{n}x{width}", block.replace('-', "_"));
    elaborated(block, arbiter::<Bits>(&name, order, n, &width))
}

fn arbiter_params() -> Vec<ParamInfo> {
    vec![info("inputs", 4, "1..256", "input channels"), width_param()]
}

fn build_crossbar(p: &ParamSet) -> Result<Arc<Module>, BlockError> {
    let (n, m) = (small(p, "inputs", 1, 256)?, small(p, "outputs", 1, 256)?);
    let width = small(p, "width", 1, 1024)?;
    let shape = RoutedShape { dest_bits: bits_for(u64::from(m)), width };
    let name = format!("crossbar_{n}x{m}_{width}");
    elaborated("crossbar", crossbar::<Routed>(&name, n, m, &shape, |msg| msg.dest))
}

/// The common blocks.
pub fn common_blocks() -> Vec<BlockInfo> {
    vec![
        BlockInfo {
            name: "fifo",
            about: "queue between two channels",
            params: || vec![info("depth", 16, "1..1024", "rows of storage"), width_param()],
            build: |p| {
                let (depth, width) = (small(p, "depth", 1, 1024)?, small(p, "width", 1, 1024)?);
                elaborated("fifo", fifo::<Bits>(&format!("fifo_{depth}x{width}"), depth, &width))
            },
        },
        BlockInfo {
            name: "round-robin-arbiter",
            about: "merges channels in turn",
            params: arbiter_params,
            build: |p| build_arbiter(p, "round-robin-arbiter", Order::RoundRobin),
        },
        BlockInfo {
            name: "oldest-first-arbiter",
            about: "merges channels in order of arrival",
            params: arbiter_params,
            build: |p| build_arbiter(p, "oldest-first-arbiter", Order::OldestFirst),
        },
        BlockInfo {
            name: "crossbar",
            about: "switches messages from N inputs to M outputs",
            params: || {
                vec![
                    info("inputs", 4, "1..256", "input channels"),
                    info("outputs", 4, "1..256", "output channels"),
                    width_param(),
                ]
            },
            build: build_crossbar,
        },
        BlockInfo {
            name: "link-tx",
            about: "sending end of a chip-to-chip link with credits",
            params: link_params,
            build: |p| elaborated("link-tx", link_tx(&sys_from(p)?, link_from(p)?)),
        },
        BlockInfo {
            name: "link-rx",
            about: "receiving end of a chip-to-chip link",
            params: link_params,
            build: |p| elaborated("link-rx", link_rx(&sys_from(p)?, link_from(p)?)),
        },
        BlockInfo {
            name: "switch",
            about: "central switch between GPUs",
            params: link_params,
            build: |p| elaborated("switch", switch(&sys_from(p)?, link_from(p)?)),
        },
    ]
}

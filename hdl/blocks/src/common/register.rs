//! The common blocks by name.

use super::arbiter::{Order, arbiter};
use super::cam::{CamParams, cam};
use super::crossbar::crossbar;
use super::delay_queue::delay_queue;
use super::dram_stub::{DramStubParams, dram_stub};
use super::fifo::fifo;
use super::link::{LinkParams, link_rx, link_tx};
use super::mshr::{MshrParams, mshr_file};
use super::phit::{overflow, phit_rx, phit_tx};
use super::set_assoc::{ArrayParams, Policy, set_assoc_array};
use super::switch::switch;
use super::sys::{sys_from, sys_params};
use super::traffic_gen::{TrafficParams, traffic_gen};
use crate::msg::Sys;
use crate::registry::{BlockError, BlockInfo, ParamInfo, ParamSet, elaborated};
use weft_rtl::prelude::*;

/// Message of the blocks that carry any type, when they are built by name.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = RoutedShape)]
pub struct Routed {
    /// Output asked for.
    #[width(p.dest_bits())]
    #[below(p.outputs)]
    pub dest: Bits,
    /// Payload.
    #[width(p.width)]
    pub data: Bits,
}

/// Widths of [`Routed`].
#[derive(Clone, Copy, Debug)]
pub struct RoutedShape {
    /// Outputs that a message may ask for.
    pub outputs: u32,
    /// Width of the payload.
    pub width: u32,
}

impl RoutedShape {
    fn dest_bits(&self) -> u32 {
        bits_for(u64::from(self.outputs))
    }
}

fn info(name: &'static str, default: u64, legal: &'static str, about: &'static str) -> ParamInfo {
    ParamInfo { name, default: default.to_string(), legal, about }
}

fn small(p: &ParamSet, key: &str, lo: u64, hi: u64) -> Result<u32, BlockError> {
    p.within(key, lo, hi).map(|v| v as u32)
}

fn width_param() -> ParamInfo {
    info("width", 32, "1..1024", "bits of a message")
}

/// A link in phits: one cycle of its latency is that of the wire.
const PHIT_LATENCY: &str = "3..4096";

fn phit_params() -> Vec<ParamInfo> {
    let legal = |p: ParamInfo| if p.name == "latency" { ParamInfo { legal: PHIT_LATENCY, ..p } } else { p };
    link_params().into_iter().map(legal).collect()
}

fn phit_from(p: &ParamSet) -> Result<(Sys, LinkParams), BlockError> {
    let (sys, link) = (sys_from(p)?, link_from(p)?);
    p.within("latency", 3, 4096)?;
    match overflow(&sys) {
        None => Ok((sys, link)),
        Some((problem, most)) => {
            Err(p.illegal("addr_bits", &format!("{problem}; it is at most {most} here, or line = 128")))
        }
    }
}

fn link_params() -> Vec<ParamInfo> {
    with_sys(vec![
        info("bytes_per_cycle", 25, "1..512", "bandwidth of each direction in bytes per cycle"),
        info("latency", 140, "2..4096", "cycles from a message's last phit until the receiver offers it"),
        info("credits_req", 64, "1..1024", "places for REQ messages in the receiver"),
        info("credits_rsp", 64, "1..1024", "places for RSP messages in the receiver"),
        info("credits_inv", 64, "1..1024", "places for INV messages in the receiver"),
    ])
}

fn link_from(p: &ParamSet) -> Result<LinkParams, BlockError> {
    Ok(LinkParams {
        bytes_per_cycle: small(p, "bytes_per_cycle", 1, 512)?,
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
    let shape = RoutedShape { outputs: m, width };
    let name = format!("crossbar_{n}x{m}_{width}");
    elaborated("crossbar", crossbar::<Routed>(&name, n, m, &shape, |msg| msg.dest))
}

fn build_array(p: &ParamSet) -> Result<Arc<Module>, BlockError> {
    let policy = match p.text("policy").as_str() {
        "fifo" => Policy::Fifo,
        "lru" => Policy::Lru,
        _ => return Err(p.illegal("policy", "it is not known")),
    };
    let params = ArrayParams {
        sets: small(p, "sets", 2, 65536)?,
        ways: small(p, "ways", 1, 128)?,
        key_bits: small(p, "key_bits", 1, 64)?,
        policy,
    };
    if !params.sets.is_power_of_two() {
        return Err(p.illegal("sets", "it is no power of two"));
    }
    if params.key_bits <= params.set_bits() {
        return Err(p.illegal("key_bits", "no bit is left beside those that choose the set"));
    }
    elaborated("set-assoc-array", set_assoc_array(params))
}

fn build_mshrs(p: &ParamSet) -> Result<Arc<Module>, BlockError> {
    let params = MshrParams {
        entries: small(p, "entries", 1, 256)?,
        targets: small(p, "targets", 1, 64)?,
        line_bits: small(p, "line_bits", 1, 64)?,
        target_bits: small(p, "target_bits", 1, 1024)?,
    };
    elaborated("mshr-file", mshr_file(params))
}

fn build_dram_stub(p: &ParamSet) -> Result<Arc<Module>, BlockError> {
    let sys = sys_from(p)?;
    let params = DramStubParams {
        rows: small(p, "rows", 2, 65536)?,
        latency: small(p, "latency", 1, 1024)?,
        depth: small(p, "depth", 1, 1024)?,
    };
    if !params.rows.is_power_of_two() {
        return Err(p.illegal("rows", "it is no power of two"));
    }
    elaborated("dram-stub", dram_stub(&sys, params))
}

fn build_traffic_gen(p: &ParamSet) -> Result<Arc<Module>, BlockError> {
    let sys = sys_from(p)?;
    let params = TrafficParams {
        outstanding: small(p, "outstanding", 1, 64)?,
        span: small(p, "span", 2, 1 << 20)?,
        stores: small(p, "stores", 0, 256)?,
        atomics: small(p, "atomics", 0, 256)?,
        interval: small(p, "interval", 1, 256)?,
    };
    if !params.span.is_power_of_two() {
        return Err(p.illegal("span", "it is no power of two"));
    }
    if u64::from(params.span) * u64::from(sys.line) > 1 << sys.home_shift {
        return Err(p.illegal("span", "the lines do not fit a GPU's memory"));
    }
    if params.stores + params.atomics > 256 {
        let problem =
            format!("stores and atomics are more than 256; it is at most {} here", 256 - params.stores);
        return Err(p.illegal("atomics", &problem));
    }
    elaborated("traffic-gen", traffic_gen(&sys, params))
}

fn with_sys(own: Vec<ParamInfo>) -> Vec<ParamInfo> {
    let mut list = sys_params();
    list.extend(own);
    list
}

/// The common blocks.
pub fn common_blocks() -> Vec<BlockInfo> {
    let mut all = queue_blocks();
    all.extend(storage_blocks());
    all.extend(link_blocks());
    all.extend(bench_blocks());
    all
}

fn storage_blocks() -> Vec<BlockInfo> {
    vec![
        BlockInfo {
            name: "set-assoc-array",
            about: "set-associative array of keys with replacement by ages",
            params: || {
                vec![
                    info("sets", 16, "power of two, 2..65536", "sets"),
                    info("ways", 8, "1..128", "ways"),
                    info("key_bits", 32, "log2(sets)+1..64", "bits of a key; the low ones choose the set"),
                    ParamInfo {
                        name: "policy",
                        default: "lru".into(),
                        legal: "fifo, lru",
                        about: "whether a hit makes a way the youngest",
                    },
                ]
            },
            build: build_array,
        },
        BlockInfo {
            name: "cam",
            about: "content-addressed memory of keys",
            params: || {
                vec![info("entries", 16, "1..256", "entries"), info("key_bits", 32, "1..64", "bits of a key")]
            },
            build: |p| {
                let params = CamParams {
                    entries: small(p, "entries", 1, 256)?,
                    key_bits: small(p, "key_bits", 1, 64)?,
                };
                elaborated("cam", cam(params))
            },
        },
        BlockInfo {
            name: "mshr-file",
            about: "miss registers that fetch a line once for all who wait for it",
            params: || {
                vec![
                    info("entries", 16, "1..256", "lines fetched at a time"),
                    info("targets", 8, "1..64", "requests that wait for one line"),
                    info("line_bits", 42, "1..64", "bits of a line number"),
                    info("target_bits", 16, "1..1024", "bits that name a waiting request"),
                ]
            },
            build: build_mshrs,
        },
    ]
}

fn bench_blocks() -> Vec<BlockInfo> {
    vec![
        BlockInfo {
            name: "traffic-gen",
            about: "random loads, stores and atomics on a CU's port, for benches",
            params: || {
                with_sys(vec![
                    info("outstanding", 16, "1..64", "requests in flight at most"),
                    info("span", 1024, "power of two, 2..1048576", "lines used of each GPU's memory"),
                    info("stores", 64, "0..256", "of 256 requests so many are stores"),
                    info("atomics", 4, "0..256 - stores", "of 256 requests so many are atomics"),
                    info("interval", 1, "1..256", "cycles between two requests at least"),
                ])
            },
            build: build_traffic_gen,
        },
        BlockInfo {
            name: "dram-stub",
            about: "DRAM channel of fixed latency with a small memory, for benches",
            params: || {
                with_sys(vec![
                    info("rows", 1024, "power of two, 2..65536", "lines of memory; line numbers wrap around"),
                    info("latency", 100, "1..1024", "cycles until a request is carried out"),
                    info("depth", 128, "1..1024", "requests on their way"),
                ])
            },
            build: build_dram_stub,
        },
    ]
}

fn link_blocks() -> Vec<BlockInfo> {
    vec![
        BlockInfo {
            name: "link-tx",
            about: "timing model of the sending end of a chip-to-chip link with credits; phit-tx is the one to build",
            params: link_params,
            build: |p| elaborated("link-tx", link_tx(&sys_from(p)?, link_from(p)?)),
        },
        BlockInfo {
            name: "link-rx",
            about: "timing model of the receiving end of a chip-to-chip link; phit-rx is the one to build",
            params: link_params,
            build: |p| elaborated("link-rx", link_rx(&sys_from(p)?, link_from(p)?)),
        },
        BlockInfo {
            name: "phit-tx",
            about: "sending end of a chip-to-chip link in phits, with credits",
            params: phit_params,
            build: |p| phit_from(p).and_then(|(s, l)| elaborated("phit-tx", phit_tx(&s, l))),
        },
        BlockInfo {
            name: "phit-rx",
            about: "receiving end of a chip-to-chip link in phits",
            params: phit_params,
            build: |p| phit_from(p).and_then(|(s, l)| elaborated("phit-rx", phit_rx(&s, l))),
        },
        BlockInfo {
            name: "switch",
            about: "central switch between GPUs",
            params: link_params,
            build: |p| elaborated("switch", switch(&sys_from(p)?, link_from(p)?)),
        },
    ]
}

fn queue_blocks() -> Vec<BlockInfo> {
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
            name: "delay-queue",
            about: "channel with a fixed time of flight",
            params: || {
                vec![
                    info("cycles", 24, "3..1021", "cycles from taking a message to offering it"),
                    width_param(),
                ]
            },
            build: |p| {
                let (cycles, width) = (small(p, "cycles", 3, 1021)?, small(p, "width", 1, 1024)?);
                let name = format!("delay_queue_{cycles}x{width}");
                elaborated("delay-queue", delay_queue::<Bits>(&name, cycles, &width))
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
    ]
}

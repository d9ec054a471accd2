//! The net of a configuration.

use super::form::Forms;
use super::system::System;
use super::world::{Hosts, MEMORY, Ports};
use super::{Config, DEVICES, Kind, MOST_DEVICES, device};
use weft_blocks::registry::BlockError;
use weft_engine::EngineError;
use weft_explore::form::Form;
use weft_explore::net::{Drain, Feed, Order};
use weft_explore::parts::{Channels, Joins, Parts};
use weft_spandex::bank::Bank;
use weft_spandex::hmesi::gpu_l2::{GpuL2Params, gpu_l2};
use weft_spandex::hmesi::mesi_llc::{MesiLlcParams, mesi_llc};
use weft_spandex::params::Spandex;
use weft_spandex_bench::explore::device::{denovo, gpu};

/// Why a system cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A parameter of a block.
    #[error(transparent)]
    Block(#[from] BlockError),
    /// The engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Devices that make no system.
    #[error(
        "devices {0}: legal are CPU cores (cpu), then at least one CU (gpu, denovo), at most {MOST_DEVICES} in all"
    )]
    Devices(String),
}

/// Room of the way from memory, and of the networks of answers: whatever comes has a place.
const ROOM: usize = 64;

/// The blocks, by their place in the net.
struct Nodes {
    devices: Vec<usize>,
    l2: usize,
    l3: usize,
}

/// Word of a kind of device.
fn word(kind: Kind) -> &'static str {
    DEVICES.iter().find(|of| of.0 == kind).map_or(kind.word(), |of| of.1)
}

fn check(c: &Config) -> Result<(), BuildError> {
    let (devices, cpus) = (&c.cores.devices, c.cores.cpus as usize);
    let rightly = |(at, kind): (usize, &Kind)| match kind {
        Kind::Mesi => at < cpus,
        Kind::Gpu | Kind::Denovo => at >= cpus,
        Kind::Flex | Kind::Stash => false,
    };
    let sizes = cpus < devices.len() && devices.len() <= MOST_DEVICES;
    if sizes && devices.iter().enumerate().all(rightly) {
        return Ok(());
    }
    let words: Vec<&str> = devices.iter().map(|kind| word(*kind)).collect();
    Err(BuildError::Devices(words.join(",")))
}

fn sized(bank: Bank, (sets, ways): (u32, u32), stalls: u32) -> Bank {
    Bank { size: sets * ways * bank.s.line, ways, stalls, ..bank }
}

/// Adds the device of a number.
fn add_device(parts: &mut Parts, c: &Config, f: &Forms, number: usize) -> Result<usize, BuildError> {
    let kind = c.cores.devices[number];
    let module = match kind {
        Kind::Mesi => device::cpu(c)?,
        Kind::Denovo => denovo(&c.cores)?,
        // Others are refused before.
        Kind::Gpu | Kind::Flex | Kind::Stash => gpu(&c.cores)?,
    };
    let (req, fwd, wb, rsp) = match kind {
        Kind::Mesi => (&f.h_req, &f.h_fwd, &f.h_wb, &f.h_rsp),
        _ => (&f.req, &f.fwd, &f.wb, &f.rsp),
    };
    let inputs = vec![("cu_req", &f.cu_req), ("fwd", fwd), ("rsp", rsp)];
    let outputs = vec![("cu_rsp", &f.cu_rsp), ("req", req), ("wb", wb), ("rsp_out", rsp)];
    let own = [("own", number as u64)];
    Ok(parts.add(&format!("{}{number}", word(kind)), &module, &own, (inputs, outputs))?)
}

/// Adds the bank of the GPU L2.
fn add_l2(parts: &mut Parts, c: &Config, s: &Spandex, f: &Forms) -> Result<usize, BuildError> {
    let params = GpuL2Params {
        rvko: c.cores.rvko,
        flex: c.cores.flex,
        fault: c.faults.l2,
        ..GpuL2Params::published(s.clone())
    };
    let module = gpu_l2(&params.sized(|bank| sized(bank, c.cores.bank, c.cores.tbes.1)))?;
    let inputs: Channels<'_> =
        vec![("req", &f.req), ("wb", &f.wb), ("rsp_in", &f.rsp), ("l3_fwd", &f.h_fwd), ("l3_rsp", &f.h_rsp)];
    let outputs = vec![
        ("fwd", &f.fwd),
        ("rsp", &f.rsp),
        ("l3_req", &f.h_req),
        ("l3_wb", &f.h_wb),
        ("l3_rsp_out", &f.h_rsp),
    ];
    let own = [("own", u64::from(s.l2_node(0)))];
    Ok(parts.add("l2", &module, &own, (inputs, outputs))?)
}

/// Adds the bank of the L3.
fn add_l3(parts: &mut Parts, c: &Config, s: &Spandex, f: &Forms) -> Result<usize, BuildError> {
    let params = MesiLlcParams { fault: c.faults.l3, ..MesiLlcParams::published(s.clone()) };
    let module = mesi_llc(&params.sized(|bank| sized(bank, c.l3, c.l3_tbes.1)))?;
    let inputs: Channels<'_> =
        vec![("req", &f.h_req), ("wb", &f.h_wb), ("rsp_in", &f.h_rsp), ("mem_rsp", &f.mem_rsp)];
    let outputs = vec![("fwd", &f.h_fwd), ("rsp", &f.h_rsp), ("mem_req", &f.mem_req)];
    let own = [("own", u64::from(s.l3_node(0)))];
    Ok(parts.add("l3", &module, &own, (inputs, outputs))?)
}

/// Builds the net of a configuration.
///
/// # Errors
/// Devices that make no system; a parameter that a block refuses.
pub fn build(c: &Config) -> Result<System, BuildError> {
    check(c)?;
    let s = c.cores.spandex();
    let l3 = Spandex { tbes: c.l3_tbes.0, ..s.clone() };
    let f = Forms::new(&s, &l3);
    let mut parts = Parts::default();
    let devices = (0..c.cores.devices.len()).map(|number| add_device(&mut parts, c, &f, number));
    let devices = devices.collect::<Result<_, _>>()?;
    let nodes = Nodes { devices, l2: add_l2(&mut parts, c, &s, &f)?, l3: add_l3(&mut parts, c, &l3, &f)? };
    let mut joins = parts.joins(c.cores.timing, Hosts::new(c, &f.cu_req, &f.mem_rsp));
    connect(&mut joins, c, &nodes);
    Ok(System::new(joins.done(), nodes.l2))
}

fn first(_: &Form, _: &[u64]) -> usize {
    0
}
fn by_dst(form: &Form, message: &[u64]) -> usize {
    form.get(message, "dst") as usize
}

/// A link to a channel; messages of a network pass each other.
fn link(joins: &mut Joins<Hosts>, to: (usize, &str), room: usize) -> usize {
    let name = format!("{}.{}", joins.net.blocks[to.0].name, to.1);
    let link = joins.net.link(&name, Order::Any, room);
    joins.feed(to, Feed::Link(link));
    link
}

/// Requests and write-backs have a link of their sender each, forwards and answers one of their receiver.
fn connect(joins: &mut Joins<Hosts>, c: &Config, nodes: &Nodes) {
    let (ports, room) = (Ports { devices: nodes.devices.len() }, c.cores.link);
    let (cpus, l2, l3) = (c.cores.cpus as usize, nodes.l2, nodes.l3);
    let memory = link(joins, (l3, "mem_rsp"), ROOM);
    debug_assert_eq!(memory, MEMORY);
    joins.drain((l3, "mem_req"), Drain::World(ports.memory()));
    for (number, device) in nodes.devices.iter().enumerate() {
        joins.feed((*device, "cu_req"), Feed::World(ports.requests(number)));
        joins.drain((*device, "cu_rsp"), Drain::World(ports.answers(number)));
        let home = if number < cpus { l3 } else { l2 };
        for channel in ["req", "wb"] {
            if joins.output((*device, channel)).is_none() {
                continue;
            }
            let to = link(joins, (home, channel), room);
            joins.drain((*device, channel), Drain::Links(vec![to], first));
        }
    }
    for (from, to) in [("l3_req", "req"), ("l3_wb", "wb")] {
        let to = link(joins, (l3, to), room);
        joins.drain((l2, from), Drain::Links(vec![to], first));
    }
    let each = |joins: &mut Joins<Hosts>, channel: &str, room: usize| -> Vec<usize> {
        nodes.devices.iter().map(|device| link(joins, (*device, channel), room)).collect()
    };
    let (forwards, answers) = (each(joins, "fwd", room), each(joins, "rsp", ROOM));
    // By node: devices, GPU L2, L3. Nothing of one level is for a device of the other.
    let of_l2 = link(joins, (l2, "rsp_in"), ROOM);
    let below = [&answers[..], &[of_l2]].concat();
    joins.drain((l2, "fwd"), Drain::Links(forwards.clone(), by_dst));
    joins.drain((l2, "rsp"), Drain::Links(below.clone(), by_dst));
    let forwards = [&forwards[..], &[link(joins, (l2, "l3_fwd"), room)]].concat();
    let above = [link(joins, (l2, "l3_rsp"), ROOM), link(joins, (l3, "rsp_in"), ROOM)];
    let above = [&answers[..], &above].concat();
    joins.drain((l3, "fwd"), Drain::Links(forwards, by_dst));
    joins.drain((l3, "rsp"), Drain::Links(above.clone(), by_dst));
    joins.drain((l2, "l3_rsp_out"), Drain::Links(above.clone(), by_dst));
    for (number, device) in nodes.devices.iter().enumerate() {
        let to = if number < cpus { &above } else { &below };
        joins.drain((*device, "rsp_out"), Drain::Links(to.clone(), by_dst));
    }
}

//! The net of a configuration.

use super::form::Forms;
use super::system::{Kind, Shape, System};
use super::world::{Cus, Ports};
use super::{Config, Op};
use std::sync::Arc;
use weft_blocks::registry::BlockError;
use weft_engine::EngineError;
use weft_explore::form::Form;
use weft_explore::net::{Drain, Feed, Order};
use weft_explore::parts::{Channels, Joins, Parts};
use weft_fabric::family::srsp::Gpu;
use weft_rtl::prelude::Module;
use weft_srsp::Shape as L1Shape;
use weft_srsp::bank::Bank;
use weft_srsp::denovo_b_l1::denovo_b_l1;
use weft_srsp::hlrc_l1::hlrc_l1;
use weft_srsp::hlrc_l2::hlrc_l2;
use weft_srsp::l1::srsp_l1;
use weft_srsp::l2::srsp_l2;
use weft_srsp::params::Impl;

/// Why a system cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A parameter of a block.
    #[error(transparent)]
    Block(#[from] BlockError),
    /// The engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A remote operation of L1s that have none.
    #[error("{0}: the L1s of this protocol have no remote operations; legal: operations without rem_")]
    Remote(Op),
    /// Too many banks, waves or lines.
    #[error("{given} {what}: more than an exploration has; legal: {least}..{most}")]
    Size {
        /// Of what.
        what: &'static str,
        /// How many.
        given: u32,
        /// Fewest.
        least: u32,
        /// Most.
        most: u32,
    },
}

/// Most banks.
const MOST_BANKS: u32 = 2;

/// Room of the ways from memory and from the hub: whatever comes has a place.
const ROOM: usize = 16;

/// L1, bank, their sizes, and what kind of system they make.
struct Blocks<'a> {
    l1: Arc<Module>,
    bank: Arc<Module>,
    l1_shape: &'a L1Shape,
    bank_shape: &'a Bank,
    kind: Kind,
}

impl Blocks<'_> {
    fn new(gpu: &Gpu) -> Result<Blocks<'_>, BlockError> {
        Ok(match gpu {
            Gpu::Scoped(p) => Blocks {
                l1: srsp_l1(&p.l1)?,
                bank: srsp_l2(&p.l2)?,
                l1_shape: &p.l1.shape,
                bank_shape: &p.l2.bank,
                kind: Kind::Scoped,
            },
            Gpu::Registering(p) => Blocks {
                l1: hlrc_l1(&p.l1)?,
                bank: hlrc_l2(&p.l2)?,
                l1_shape: &p.l1.shape,
                bank_shape: &p.l2.bank,
                kind: Kind::Atomics,
            },
            Gpu::RegisteringWrites(p) => Blocks {
                l1: denovo_b_l1(&p.l1)?,
                bank: hlrc_l2(&p.l2)?,
                l1_shape: &p.l1.shape,
                bank_shape: &p.l2.bank,
                kind: Kind::Writes,
            },
        })
    }

    fn shape(&self) -> Shape {
        let (l1, bank) = (self.l1_shape, self.bank_shape);
        Shape {
            l1: (l1.sets(), l1.ways),
            bank: (bank.sets(), bank.ways),
            bank_tag_bits: bank.tag_bits(),
            kind: self.kind,
        }
    }
}

fn by_dst(form: &Form, message: &[u64]) -> usize {
    form.get(message, "dst") as usize
}
/// The one of two banks that has the address; a line is 64 bytes.
fn by_address(form: &Form, message: &[u64]) -> usize {
    (form.get(message, "atomic_addr") / 64 % 2) as usize
}
fn first(_: &Form, _: &[u64]) -> usize {
    0
}
fn by_req(form: &Form, message: &[u64]) -> usize {
    form.get(message, "req") as usize
}

/// Refuses what no exploration has.
fn check(c: &Config) -> Result<(), BuildError> {
    let s = c.gpu.srsp();
    let waves = s.cus * c.waves as u32;
    let sizes = [("waves", waves, 1, super::judge::MOST_WAVES as u32), ("banks", s.banks, 1, MOST_BANKS)];
    let sizes = sizes.into_iter().chain([("lines", c.lines as u32, 1, super::MOST_LINES)]);
    for (what, given, least, most) in sizes {
        if !(least..=most).contains(&given) {
            return Err(BuildError::Size { what, given, least, most });
        }
    }
    let base = matches!(&c.gpu, Gpu::Scoped(p) if p.l1.system == Impl::Base);
    match c.alphabets.iter().flatten().find(|op| base && op.is_remote()) {
        Some(op) => Err(BuildError::Remote(*op)),
        None => Ok(()),
    }
}

/// Builds the net of a configuration.
///
/// # Errors
/// A parameter that a block refuses; sizes that no exploration has; a remote operation where there are none.
pub fn build(c: &Config) -> Result<System, BuildError> {
    check(c)?;
    let s = c.gpu.srsp();
    let blocks = Blocks::new(&c.gpu)?;
    let f = match blocks.kind {
        Kind::Writes => Forms::new(s).of_owners(s),
        _ => Forms::new(s),
    };
    let mut parts = Parts::default();
    let mut l1s = Vec::new();
    for cu in 0..s.cus {
        let inputs: Channels<'_> =
            vec![("cu_req", &f.cu_req), ("rsp", &f.rsp), ("probe", &f.probe), ("pack", &f.pack)];
        let outputs = vec![
            ("cu_rsp", &f.cu_rsp),
            ("req", &f.req),
            ("wb", &f.wb),
            ("probe_out", &f.cast),
            ("pack_out", &f.pack),
        ];
        let own = [("own", u64::from(cu))];
        l1s.push(parts.add(&format!("l1_{cu}"), &blocks.l1, &own, (inputs, outputs))?);
    }
    let names: Vec<(String, String)> = (0..s.cus).map(|cu| (format!("req{cu}"), format!("wb{cu}"))).collect();
    let mut inputs: Channels<'_> = vec![("mem_rsp", &f.mem_rsp)];
    inputs.extend(names.iter().flat_map(|(req, wb)| [(req.as_str(), &f.req), (wb.as_str(), &f.wb)]));
    let outputs = vec![("rsp", &f.rsp), ("mem_req", &f.mem_req), ("probe", &f.probe)];
    let mut banks = Vec::new();
    for bank in 0..s.banks {
        let (own, channels) = ([("own", u64::from(bank))], (inputs.clone(), outputs.clone()));
        banks.push(parts.add(&format!("bank{bank}"), &blocks.bank, &own, channels)?);
    }
    let mut joins = parts.joins(c.timing, Cus::new(c, &f));
    connect(&mut joins, c, &l1s, &banks);
    Ok(System::new(joins.done(), blocks.shape(), l1s, banks))
}

/// L1s, banks, memory and hub: every link keeps its order, those between a pair of them; memory answers in
/// any.
fn connect(joins: &mut Joins<Cus>, c: &Config, l1s: &[usize], banks: &[usize]) {
    let ports = Ports { cus: l1s.len() };
    let route: fn(&Form, &[u64]) -> usize = if banks.len() > 1 { by_address } else { first };
    let links = |joins: &mut Joins<Cus>, name: &str, room: usize| -> Vec<usize> {
        (0..l1s.len()).map(|cu| joins.net.link(&format!("{name}{cu}"), Order::Fifo, room)).collect()
    };
    // The world's links come first.
    for (number, bank) in banks.iter().enumerate() {
        let memory = joins.net.link(&format!("memory{number}"), Order::Any, ROOM);
        debug_assert_eq!(memory, c.memory_link(number));
        joins.feed((*bank, "mem_rsp"), Feed::Link(memory));
        joins.drain((*bank, "mem_req"), Drain::World(ports.memory(number)));
    }
    let probes = links(joins, "hub", ROOM);
    debug_assert_eq!(probes.first(), Some(&c.hub_link(0)));
    let packs = links(joins, "pack", c.link);
    for (cu, l1) in l1s.iter().copied().enumerate() {
        joins.feed((l1, "cu_req"), Feed::World(ports.requests(cu)));
        joins.drain((l1, "cu_rsp"), Drain::World(ports.answers(cu)));
        joins.drain((l1, "probe_out"), Drain::World(ports.casts(cu)));
        joins.feed((l1, "probe"), Feed::Link(probes[cu]));
        joins.feed((l1, "pack"), Feed::Link(packs[cu]));
        joins.drain((l1, "pack_out"), Drain::Links(packs.clone(), by_dst));
        for channel in ["req", "wb"] {
            let to_banks: Vec<usize> = (0..banks.len())
                .map(|bank| joins.net.link(&format!("{channel}{cu}.{bank}"), Order::Fifo, c.link))
                .collect();
            for (bank, link) in banks.iter().zip(&to_banks) {
                joins.feed((*bank, &format!("{channel}{cu}")), Feed::Link(*link));
            }
            joins.drain((l1, channel), Drain::Links(to_banks, route));
        }
    }
    for bank in banks {
        let (answers, owners) = (links(joins, "rsp", c.link), links(joins, "probe", c.link));
        for (cu, l1) in l1s.iter().enumerate() {
            joins.feed((*l1, "rsp"), Feed::Link(answers[cu]));
            joins.feed((*l1, "probe"), Feed::Link(owners[cu]));
        }
        joins.drain((*bank, "rsp"), Drain::Links(answers, by_dst));
        joins.drain((*bank, "probe"), Drain::Links(owners, by_req));
    }
}

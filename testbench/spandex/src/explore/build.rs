//! The net of a configuration.

use super::cores::Cores;
use super::device;
use super::faults::NONE;
use super::rules;
use super::system::System;
use super::{Config, Kind, stash};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use weft_blocks::msg::{CuReq, CuRsp};
use weft_blocks::registry::BlockError;
use weft_engine::{Design, EngineError};
use weft_explore::block::Block;
use weft_explore::form::{Form, Ignore, Masked};
use weft_explore::hash::Numbered;
use weft_explore::net::{Drain, Feed, Net, Order};
use weft_rtl::prelude::{Data, Module};
use weft_spandex::bank::Bank;
use weft_spandex::llc::{LlcParams, spandex_llc};
use weft_spandex::msg::{Fwd, MemReq, MemRsp, Req, Rsp, Wb};
use weft_spandex::stash::StashRsp;

/// Why a system cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A value of the configuration.
    #[error("{0}")]
    Config(String),
    /// A parameter of a block.
    #[error(transparent)]
    Block(#[from] BlockError),
    /// The engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Forms of all messages.
struct Forms {
    cu_req: Rc<Form>,
    cu_rsp: Rc<Form>,
    stash_rsp: Rc<Form>,
    req: Rc<Form>,
    fwd: Rc<Form>,
    wb: Rc<Form>,
    rsp: Rc<Form>,
    mem_req: Rc<Form>,
    mem_rsp: Rc<Form>,
}

fn form<T: Data>(shape: &T::Shape, rules: &[Ignore], words: Option<Masked>) -> Rc<Form> {
    let form = Form::new::<T>(shape, &[], rules);
    Rc::new(match words {
        Some(words) => form.masked(words),
        None => form,
    })
}

/// Blocks, before they are connected.
struct Parts<'a> {
    c: &'a Config,
    f: Forms,
    blocks: Vec<Block>,
    messages: Numbered,
    designs: HashMap<String, Arc<Design>>,
}

/// The bank of a configuration.
pub(super) fn bank_params(c: &Config) -> LlcParams {
    let spandex = c.spandex();
    let (sets, ways) = c.bank;
    LlcParams {
        reqs: c.reqs,
        rvko: c.rvko,
        flex: c.flex,
        fault: c.faults.llc,
        ..LlcParams::published(spandex)
    }
    .sized(|b| Bank { size: sets * ways * b.s.line, ways, stalls: c.tbes.1, ..b })
}

impl Parts<'_> {
    /// The compiled form of a module, once for all blocks of it.
    fn design(&mut self, module: &Arc<Module>) -> Result<Arc<Design>, BuildError> {
        if let Some(known) = self.designs.get(&module.name) {
            return Ok(known.clone());
        }
        let design = Block::compile(module)?;
        self.designs.insert(module.name.clone(), design.clone());
        Ok(design)
    }

    fn add(&mut self, mut block: Block) {
        // With a fault something may be read that a rule calls dead.
        block.noise = self.c.faults == NONE;
        block.begin(&mut self.messages, |_| {});
        self.blocks.push(block);
    }

    fn device(&mut self, number: usize) -> Result<(), BuildError> {
        let (c, kind) = (self.c, self.c.devices[number]);
        let (module, name, rules) = match kind {
            Kind::Gpu => (device::gpu(c)?, "gpu", rules::gpu(c)),
            Kind::Denovo => (device::denovo(c)?, "denovo", rules::denovo(c)),
            Kind::Mesi => (device::mesi(c)?, "mesi", rules::mesi(c)),
            Kind::Flex => (device::flex(c)?, "flex", rules::flex(c)),
            Kind::Stash => (device::stash(c)?, "stash", rules::stash(c)),
        };
        let design = self.design(&module)?;
        let (asks, answers) = match kind {
            Kind::Stash => (&stash::form(c), &self.f.stash_rsp),
            _ => (&self.f.cu_req, &self.f.cu_rsp),
        };
        let mut block = Block::new(&format!("{name}{number}"), &design, &rules);
        block.tie("own", number as u64);
        block.input("cu_req", asks);
        block.input("fwd", &self.f.fwd);
        block.input("rsp", &self.f.rsp);
        block.output("cu_rsp", answers);
        block.output("req", &self.f.req);
        block.output("rsp_out", &self.f.rsp);
        let sends = device::sends(c, kind);
        if sends.back {
            block.output("wb", &self.f.wb);
        }
        if sends.direct {
            block.output("fwd_out", &self.f.fwd);
        }
        self.add(block);
        Ok(())
    }

    fn bank(&mut self) -> Result<(), BuildError> {
        let design = self.design(&spandex_llc(&bank_params(self.c))?)?;
        let mut block = Block::new("bank", &design, &rules::bank(self.c));
        block.tie("own", self.c.devices.len() as u64);
        block.input("req", &self.f.req);
        block.input("wb", &self.f.wb);
        block.input("rsp_in", &self.f.rsp);
        block.input("mem_rsp", &self.f.mem_rsp);
        block.output("fwd", &self.f.fwd);
        block.output("rsp", &self.f.rsp);
        block.output("mem_req", &self.f.mem_req);
        self.add(block);
        Ok(())
    }
}

fn first(_: &Form, _: &[u64]) -> usize {
    0
}
fn by_dst(form: &Form, message: &[u64]) -> usize {
    form.get(message, "dst") as usize
}

/// Builds the net of a configuration.
///
/// # Errors
/// A value that is not legal; a parameter that a block refuses.
pub fn build(c: &Config) -> Result<System, BuildError> {
    c.validate().map_err(BuildError::Config)?;
    let s = c.spandex();
    let f = Forms {
        cu_req: form::<CuReq>(&s.cu(), &[], None),
        cu_rsp: form::<CuRsp>(&s.cu(), &[], None),
        stash_rsp: form::<StashRsp>(&stash::params(c), &[], None),
        req: form::<Req>(&s, rules::REQ, Some(rules::WORDS)),
        fwd: form::<Fwd>(&s, rules::FWD, Some(rules::WORDS)),
        wb: form::<Wb>(&s, &[], Some(rules::WORDS)),
        rsp: form::<Rsp>(&s, rules::RSP, Some(rules::EXTRAS)),
        mem_req: form::<MemReq>(&s, rules::TO_MEMORY, None),
        mem_rsp: form::<MemRsp>(&s, &[], None),
    };
    let mut parts =
        Parts { c, f, blocks: Vec::new(), messages: Numbered::default(), designs: HashMap::new() };
    (0..c.devices.len()).try_for_each(|number| parts.device(number))?;
    parts.bank()?;
    let Parts { f, blocks, messages, .. } = parts;
    // The world's link comes first.
    let world = Cores::new(c, &f.cu_req, &f.mem_rsp, 0);
    let mut net = Net::new(blocks, messages, c.timing, world);
    connect(c, &mut net);
    Ok(System::new(net))
}

/// Messages of a network pass each other. REQ and WB hold so many of a device, FWD so many for one; an answer always has a place.
fn connect(c: &Config, net: &mut Net<Cores>) {
    let (n, bank) = (c.devices.len(), c.devices.len());
    let memory = net.link("memory", Order::Any, 8);
    net.feed(bank, 3, Feed::Link(memory));
    let joined = |net: &mut Net<Cores>, name: String, capacity: usize, to: (usize, usize)| {
        let link = net.link(&name, Order::Any, capacity);
        net.feed(to.0, to.1, Feed::Link(link));
        link
    };
    let forwards: Vec<usize> = (0..n).map(|d| joined(net, format!("fwd{d}"), c.link, (d, 1))).collect();
    let mut answers: Vec<usize> = (0..n).map(|d| joined(net, format!("rsp{d}"), 64, (d, 2))).collect();
    answers.push(joined(net, "rsp_bank".into(), 64, (bank, 2)));
    for (d, kind) in c.devices.iter().enumerate() {
        net.feed(d, 0, Feed::World(d));
        let req = joined(net, format!("req{d}"), c.link, (bank, 0));
        net.drain(d, Drain::World(n + d));
        net.drain(d, Drain::Links(vec![req], first));
        net.drain(d, Drain::Links(answers.clone(), by_dst));
        let sends = device::sends(c, *kind);
        if sends.back {
            let wb = joined(net, format!("wb{d}"), c.link, (bank, 1));
            net.drain(d, Drain::Links(vec![wb], first));
        }
        if sends.direct {
            net.drain(d, Drain::Links(forwards.clone(), by_dst));
        }
    }
    net.drain(bank, Drain::Links(forwards, by_dst));
    net.drain(bank, Drain::Links(answers, by_dst));
    net.drain(bank, Drain::World(2 * n));
}

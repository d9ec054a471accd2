//! The net of a configuration.

use super::Config;
use super::form::Forms;
use super::parts::Modules;
use super::system::{Shape, System};
use super::world::{Cus, Ports};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use weft_blocks::fabric::FabricParams;
use weft_blocks::msg::ReqKind;
use weft_blocks::registry::BlockError;
use weft_engine::{Design, EngineError};
use weft_explore::block::Block;
use weft_explore::form::Form;
use weft_explore::hash::Numbered;
use weft_explore::net::{Drain, Feed, Net, Order};
use weft_rtl::prelude::Module;

/// Why a system cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A parameter of a block.
    #[error("{0}")]
    Block(#[from] BlockError),
    /// The engine.
    #[error("{0}")]
    Engine(#[from] EngineError),
    /// A protocol whose directory is no RTL, or that keeps nothing coherent.
    #[error("protocol {0} has a directory outside of the hardware, or none and no coherence; legal: {1}")]
    Outside(&'static str, String),
}

/// Room of a channel inside a GPU.
const LOCAL: usize = 1;
/// Room of the way from memory.
const MEMORY: usize = 8;

/// Blocks, before they are connected: by name the channels of each.
struct Parts {
    blocks: Vec<Block>,
    inputs: HashMap<(usize, &'static str), usize>,
    outputs: HashMap<(usize, &'static str), usize>,
    messages: Numbered,
    designs: HashMap<String, Arc<Design>>,
}

/// The blocks of a node, by their place in the net.
struct Node {
    l1: usize,
    bank: usize,
    slice: Option<usize>,
    egress: usize,
    ingress: usize,
    fence: usize,
}

type Channels<'a> = Vec<(&'static str, &'a Rc<Form>)>;

impl Parts {
    /// A block with those of these channels that it has.
    fn add(
        &mut self,
        name: &str,
        module: &Arc<Module>,
        ties: &[(&str, u64)],
        (inputs, outputs): (Channels<'_>, Channels<'_>),
    ) -> Result<usize, BuildError> {
        if !self.designs.contains_key(&module.name) {
            self.designs.insert(module.name.clone(), Block::compile(module)?);
        }
        let mut block = Block::new(name, &self.designs[&module.name], &[]);
        ties.iter().for_each(|(port, value)| block.tie(port, *value));
        let place = self.blocks.len();
        for (channel, form) in inputs.into_iter().filter(|c| block.has(c.0)).collect::<Vec<_>>() {
            self.inputs.insert((place, channel), block.input(channel, form));
        }
        for (channel, form) in outputs.into_iter().filter(|c| block.has(c.0)).collect::<Vec<_>>() {
            self.outputs.insert((place, channel), block.output(channel, form));
        }
        block.begin(&mut self.messages, |_| {});
        self.blocks.push(block);
        Ok(place)
    }

    fn node(&mut self, p: &FabricParams, f: &Forms, node: u32) -> Result<Node, BuildError> {
        let m = Modules::new(p, node)?;
        let name = |what: &str| format!("gpu{node}.{what}");
        let mut ties = vec![("own_l1", 0)];
        if p.l1().bypass_remote {
            ties.push(("own_gpu", u64::from(node)));
        }
        let l1 = (
            vec![("cu_req", &f.cu_req), ("l2_rsp", &f.l1_rsp)],
            vec![("cu_rsp", &f.cu_rsp), ("l2_req", &f.l1_req)],
        );
        let slice = (
            vec![("req", &f.dir_req), ("ack", &f.rsp), ("done", &f.home_done), ("recv", &f.dir_recv)],
            vec![
                ("rsp", &f.dir_rsp),
                ("inv", &f.dir_inv),
                ("inv_l", &f.dir_inv),
                ("recv_done", &f.recv_done),
            ],
        );
        let egress = (
            vec![("slice0", &f.dir_inv), ("recv0", &f.dir_inv), ("fence", &f.mark)],
            vec![("link0", &f.inv), ("link1", &f.inv)],
        );
        let ingress = (
            vec![("link0", &f.inv), ("link1", &f.inv), ("done0", &f.inv_done)],
            vec![("bank0", &f.bank_inv), ("fence", &f.mark), ("ack", &f.rsp)],
        );
        Ok(Node {
            l1: self.add(&name("l1"), &m.l1, &ties, l1)?,
            bank: self.add(&name("bank"), &m.bank, &[], bank(f))?,
            // Before the egress: what it gives goes through the wire as soon as there is room.
            slice: m.slice.map(|module| self.add(&name("dir"), &module, &[], slice)).transpose()?,
            egress: self.add(&name("egress"), &m.egress, &[], egress)?,
            ingress: self.add(&name("ingress"), &m.ingress, &[], ingress)?,
            fence: self.add(&name("fence"), &m.fence, &[], fence(f))?,
        })
    }
}

fn bank(f: &Forms) -> (Channels<'_>, Channels<'_>) {
    let inputs = vec![
        ("local_req", &f.l1_req),
        ("remote_req", &f.req),
        ("far_req", &f.req),
        ("rsp_in", &f.rsp),
        ("inv", &f.bank_inv),
        ("mem_rsp", &f.mem_rsp),
        ("fence_cmd", &f.cmd),
        ("far_cmd", &f.cmd),
        ("order", &f.order),
        ("dir_rsp", &f.dir_rsp),
        ("recv_done", &f.recv_done),
    ];
    let outputs = vec![
        ("local_rsp", &f.l1_rsp),
        ("req_out", &f.req),
        ("far_out", &f.req),
        ("rsp_out", &f.rsp),
        ("inv_done", &f.inv_done),
        ("mem_req", &f.mem_req),
        ("fence_done", &f.cmd_done),
        ("far_done", &f.cmd_done),
        ("ordered", &f.order),
        ("dir_req", &f.dir_req),
        ("recv_out", &f.dir_recv),
        ("done", &f.home_done),
    ];
    (inputs, outputs)
}

fn fence(f: &Forms) -> (Channels<'_>, Channels<'_>) {
    let inputs = vec![
        ("start", &f.token),
        ("done0", &f.cmd_done),
        ("far_done0", &f.cmd_done),
        ("ordered0", &f.order),
        ("req_in", &f.req),
        ("rsp_in", &f.rsp),
        ("mark_in", &f.mark),
    ];
    let outputs = vec![
        ("done", &f.token),
        ("cmd0", &f.cmd),
        ("far_cmd0", &f.cmd),
        ("order0", &f.order),
        ("req_out", &f.req),
        ("far_req_out", &f.req),
        ("rsp_out", &f.rsp),
        ("far_rsp_out", &f.rsp),
        ("mark_out", &f.mark),
    ];
    (inputs, outputs)
}

fn first(_: &Form, _: &[u64]) -> usize {
    0
}
fn by_dst(form: &Form, message: &[u64]) -> usize {
    form.get(message, "dst") as usize
}
fn of_kind(form: &Form, message: &[u64], kind: ReqKind) -> bool {
    form.get(message, "kind") == kind as u64
}
fn for_fence_unit(form: &Form, message: &[u64]) -> bool {
    of_kind(form, message, ReqKind::Fence)
}
fn for_slice(form: &Form, message: &[u64]) -> bool {
    of_kind(form, message, ReqKind::Ack)
}
fn for_bank(form: &Form, message: &[u64]) -> bool {
    !for_fence_unit(form, message) && !for_slice(form, message)
}

/// Builds the net of a configuration.
///
/// # Errors
/// A parameter that a block refuses; a protocol that is not all hardware.
pub fn build(c: &Config) -> Result<System, BuildError> {
    let p = c.fabric();
    if outside(&p) {
        let legal = super::protocols().iter().map(|of| of.name()).collect::<Vec<_>>().join(", ");
        return Err(BuildError::Outside(c.protocol.name(), legal));
    }
    p.validate()?;
    let f = Forms::new(&p.sys, p.planes());
    let mut parts = Parts {
        blocks: Vec::new(),
        inputs: HashMap::new(),
        outputs: HashMap::new(),
        messages: Numbered::default(),
        designs: HashMap::new(),
    };
    let nodes = (0..c.gpus).map(|node| parts.node(&p, &f, node)).collect::<Result<Vec<_>, _>>()?;
    let Parts { blocks, inputs, outputs, messages, .. } = parts;
    let world = Cus::new(c, &p, &f);
    let net = Net::new(blocks, messages, c.timing, world);
    let mut joins = Joins { c, net, inputs, outputs, drains: HashMap::new() };
    joins.connect(&nodes);
    let banks = nodes.iter().map(|node| node.bank).collect();
    let done = |node: &Node| (node.fence, joins.outputs[&(node.fence, "done")]);
    let fences = nodes.iter().map(done).collect();
    let shape = Shape {
        sets: p.l2_sets,
        ways: p.l2_ways,
        tag_bits: p.l2(0).tag_bits(),
        owners: p.protocol.owners(),
        // Bytes that stay under way are under a mask, and software drops copies when it acquires.
        clears: p.protocol.directory().is_some() && !p.write_back,
    };
    Ok(System::new(joins.done(), shape, banks, fences))
}

/// Its directory is no RTL, or nothing keeps its caches coherent.
pub(super) fn outside(p: &FabricParams) -> bool {
    p.outside_directory() || p.incoherent()
}

/// Connects channels.
struct Joins<'a> {
    c: &'a Config,
    net: Net<Cus>,
    inputs: HashMap<(usize, &'static str), usize>,
    outputs: HashMap<(usize, &'static str), usize>,
    drains: HashMap<(usize, usize), Drain>,
}

impl Joins<'_> {
    fn feed(&mut self, to: (usize, &'static str), feed: Feed) {
        if let Some(channel) = self.inputs.get(&to) {
            self.net.feed(to.0, *channel, feed);
        }
    }

    fn drain(&mut self, from: (usize, &'static str), drain: Drain) {
        if let Some(channel) = self.outputs.get(&from) {
            self.drains.insert((from.0, *channel), drain);
        }
    }

    /// A link from a channel to another, if both are there.
    fn join(&mut self, from: (usize, &'static str), to: (usize, &'static str), order: Order) {
        if !self.outputs.contains_key(&from) || !self.inputs.contains_key(&to) {
            return;
        }
        let name = format!("{}.{}", self.net.blocks[from.0].name, from.1);
        let link = self.net.link(&name, order, LOCAL);
        self.feed(to, Feed::Link(link));
        self.drain(from, Drain::Links(vec![link], first));
    }

    fn connect(&mut self, nodes: &[Node]) {
        // The world's links come first.
        for node in nodes {
            let link = self.net.link("memory", Order::Any, MEMORY);
            self.feed((node.bank, "mem_rsp"), Feed::Link(link));
        }
        let ports = Ports::new(nodes.len());
        for (number, node) in nodes.iter().enumerate() {
            self.feed((node.l1, "cu_req"), Feed::World(ports.requests(number)));
            self.drain((node.l1, "cu_rsp"), Drain::World(ports.answers(number)));
            self.drain((node.bank, "mem_req"), Drain::World(ports.memory(number)));
            self.feed((node.fence, "start"), Feed::World(ports.fences(number)));
            self.drain((node.fence, "done"), Drain::World(ports.fenced(number)));
            self.inside(node);
        }
        self.between(nodes);
    }

    fn inside(&mut self, n: &Node) {
        let channels = [
            ((n.l1, "l2_req"), (n.bank, "local_req")),
            ((n.bank, "local_rsp"), (n.l1, "l2_rsp")),
            ((n.ingress, "bank0"), (n.bank, "inv")),
            ((n.bank, "inv_done"), (n.ingress, "done0")),
            ((n.ingress, "fence"), (n.fence, "mark_in")),
            ((n.fence, "mark_out"), (n.egress, "fence")),
            ((n.fence, "cmd0"), (n.bank, "fence_cmd")),
            ((n.bank, "fence_done"), (n.fence, "done0")),
            ((n.fence, "far_cmd0"), (n.bank, "far_cmd")),
            ((n.bank, "far_done"), (n.fence, "far_done0")),
            ((n.fence, "order0"), (n.bank, "order")),
            ((n.bank, "ordered"), (n.fence, "ordered0")),
        ];
        channels.into_iter().for_each(|(from, to)| self.join(from, to, Order::Fifo));
        let Some(slice) = n.slice else { return };
        let channels = [
            ((n.bank, "dir_req"), (slice, "req")),
            ((slice, "rsp"), (n.bank, "dir_rsp")),
            ((n.bank, "done"), (slice, "done")),
            ((n.bank, "recv_out"), (slice, "recv")),
            ((slice, "recv_done"), (n.bank, "recv_done")),
        ];
        channels.into_iter().for_each(|(from, to)| self.join(from, to, Order::Fifo));
        self.join((slice, "inv"), (n.egress, "slice0"), Order::Wire);
        self.join((slice, "inv_l"), (n.egress, "recv0"), Order::Wire);
    }

    /// The three networks: of two nodes one link each, on which the order is kept.
    fn between(&mut self, nodes: &[Node]) {
        for (number, from) in nodes.iter().enumerate() {
            let network = |joins: &mut Self, name: &str| -> Vec<usize> {
                let link =
                    |to: usize| joins.net.link(&format!("{name}{number}.{to}"), Order::Fifo, joins.c.link);
                (0..nodes.len()).map(link).collect()
            };
            let [req, rsp, inv] = ["req", "rsp", "inv"].map(|name| network(self, name));
            let senders = [
                (from.bank, "req_out", &req),
                (from.bank, "far_out", &req),
                (from.fence, "req_out", &req),
                (from.fence, "far_req_out", &req),
                (from.bank, "rsp_out", &rsp),
                (from.fence, "rsp_out", &rsp),
                (from.fence, "far_rsp_out", &rsp),
                (from.ingress, "ack", &rsp),
                (from.egress, "link0", &inv),
                (from.egress, "link1", &inv),
            ];
            for (block, channel, links) in senders {
                self.drain((block, channel), Drain::Links(links.clone(), by_dst));
            }
            for (number, to) in nodes.iter().enumerate() {
                let far = self.inputs.contains_key(&(to.bank, "far_req"));
                let requests = if far { "far_req" } else { "remote_req" };
                let last = if self.inputs.contains_key(&(to.ingress, "link1")) { "link1" } else { "link0" };
                self.feed((to.bank, requests), Feed::Part(req[number], for_bank));
                self.feed((to.fence, "req_in"), Feed::Part(req[number], for_fence_unit));
                self.feed((to.bank, "rsp_in"), Feed::Part(rsp[number], for_bank));
                self.feed((to.fence, "rsp_in"), Feed::Part(rsp[number], for_fence_unit));
                if let Some(slice) = to.slice {
                    self.feed((slice, "ack"), Feed::Part(rsp[number], for_slice));
                }
                self.feed((to.ingress, last), Feed::Link(inv[number]));
            }
        }
    }

    /// The net, every sending channel with its drain; those that lead nowhere never send here.
    fn done(mut self) -> Net<Cus> {
        for block in 0..self.net.blocks.len() {
            for channel in 0..self.net.blocks[block].outputs() {
                let nowhere = || Drain::Links(Vec::new(), first);
                let drain = self.drains.remove(&(block, channel)).unwrap_or_else(nowhere);
                self.net.drain(block, drain);
            }
        }
        self.net
    }
}

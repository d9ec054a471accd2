//! The net of a configuration.

use super::Config;
use super::form::Forms;
use super::parts::Modules;
use super::system::{Shape, System};
use super::world::{Cus, Ports};
use weft_blocks::fabric::FabricParams;
use weft_blocks::msg::ReqKind;
use weft_blocks::registry::BlockError;
use weft_engine::EngineError;
use weft_explore::form::Form;
use weft_explore::net::{Drain, Feed, Order};
use weft_explore::parts::{Channels, Joins, Parts};

/// Why a system cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A parameter of a block.
    #[error(transparent)]
    Block(#[from] BlockError),
    /// The engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A protocol whose directory is no RTL, or that keeps nothing coherent.
    #[error("protocol {0} has a directory outside of the hardware, or none and no coherence; legal: {1}")]
    Outside(&'static str, String),
}

/// Room of a channel inside a GPU.
const LOCAL: usize = 1;
/// Room of the way from memory.
const MEMORY: usize = 8;

/// The blocks of a node, by their place in the net.
struct Node {
    l1: usize,
    bank: usize,
    slice: Option<usize>,
    egress: usize,
    ingress: usize,
    fence: usize,
}

impl Node {
    /// Adds those of a node.
    fn add(parts: &mut Parts, p: &FabricParams, f: &Forms, node: u32) -> Result<Node, BuildError> {
        let m = Modules::new(p, node)?;
        let name = |what: &str| format!("{}.{what}", p.sys.node_name(node));
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
            l1: parts.add(&name("l1"), &m.l1, &ties, l1)?,
            bank: parts.add(&name("bank"), &m.bank, &[], bank(f))?,
            // Before the egress: what it gives goes through the wire as soon as there is room.
            slice: m.slice.map(|module| parts.add(&name("dir"), &module, &[], slice)).transpose()?,
            egress: parts.add(&name("egress"), &m.egress, &[], egress)?,
            ingress: parts.add(&name("ingress"), &m.ingress, &[], ingress)?,
            fence: parts.add(&name("fence"), &m.fence, &[], fence(f))?,
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
    let mut parts = Parts::default();
    let nodes =
        (0..c.nodes()).map(|node| Node::add(&mut parts, &p, &f, node)).collect::<Result<Vec<_>, _>>()?;
    let mut joins = parts.joins(c.timing, Cus::new(c, &p, &f));
    Connect { c, joins: &mut joins }.all(&nodes);
    let banks = nodes.iter().map(|node| node.bank).collect();
    let done = |node: &Node| Some((node.fence, joins.output((node.fence, "done"))?));
    let fences = nodes.iter().filter_map(done).collect();
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
struct Connect<'a> {
    c: &'a Config,
    joins: &'a mut Joins<Cus>,
}

impl Connect<'_> {
    fn all(&mut self, nodes: &[Node]) {
        // The world's links come first.
        for node in nodes {
            let link = self.joins.net.link("memory", Order::Any, MEMORY);
            self.joins.feed((node.bank, "mem_rsp"), Feed::Link(link));
        }
        let ports = Ports::new(nodes.len());
        for (number, node) in nodes.iter().enumerate() {
            self.joins.feed((node.l1, "cu_req"), Feed::World(ports.requests(number)));
            self.joins.drain((node.l1, "cu_rsp"), Drain::World(ports.answers(number)));
            self.joins.drain((node.bank, "mem_req"), Drain::World(ports.memory(number)));
            self.joins.feed((node.fence, "start"), Feed::World(ports.fences(number)));
            self.joins.drain((node.fence, "done"), Drain::World(ports.fenced(number)));
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
        channels.into_iter().for_each(|(from, to)| self.joins.join(from, to, (Order::Fifo, LOCAL)));
        let Some(slice) = n.slice else { return };
        let channels = [
            ((n.bank, "dir_req"), (slice, "req")),
            ((slice, "rsp"), (n.bank, "dir_rsp")),
            ((n.bank, "done"), (slice, "done")),
            ((n.bank, "recv_out"), (slice, "recv")),
            ((slice, "recv_done"), (n.bank, "recv_done")),
        ];
        channels.into_iter().for_each(|(from, to)| self.joins.join(from, to, (Order::Fifo, LOCAL)));
        self.joins.join((slice, "inv"), (n.egress, "slice0"), (Order::Wire, LOCAL));
        self.joins.join((slice, "inv_l"), (n.egress, "recv0"), (Order::Wire, LOCAL));
    }

    /// The three networks: of two nodes one link each, on which the order is kept. What comes from another GPU has channels of its own where GPUs have two planes.
    fn between(&mut self, nodes: &[Node]) {
        for (sender, from) in nodes.iter().enumerate() {
            let network = |of: &mut Self, name: &str| -> Vec<usize> {
                let name = |to: usize| format!("{name}{sender}.{to}");
                let link = |to: usize| of.joins.net.link(&name(to), Order::Fifo, of.c.link);
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
                self.joins.drain((block, channel), Drain::Links(links.clone(), by_dst));
            }
            for (number, to) in nodes.iter().enumerate() {
                let gpu = |node: usize| node as u32 / self.c.gpms;
                let far = self.c.gpms == 1 || gpu(number) != gpu(sender);
                let there = |block: usize, channel| far && self.joins.input((block, channel)).is_some();
                let requests = if there(to.bank, "far_req") { "far_req" } else { "remote_req" };
                let last = if there(to.ingress, "link1") { "link1" } else { "link0" };
                self.joins.feed((to.bank, requests), Feed::Part(req[number], for_bank));
                self.joins.feed((to.fence, "req_in"), Feed::Part(req[number], for_fence_unit));
                self.joins.feed((to.bank, "rsp_in"), Feed::Part(rsp[number], for_bank));
                self.joins.feed((to.fence, "rsp_in"), Feed::Part(rsp[number], for_fence_unit));
                if let Some(slice) = to.slice {
                    self.joins.feed((slice, "ack"), Feed::Part(rsp[number], for_slice));
                }
                self.joins.feed((to.ingress, last), Feed::Link(inv[number]));
            }
        }
    }
}

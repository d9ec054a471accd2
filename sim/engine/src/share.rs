//! Modules that differ in nothing but constants and names, such as the banks of different GPUs, which know
//! their GPU's number, share one code.
//!
//! The constants that differ become inputs behind the module's own; each instance is given its values there
//! once and for all. A netlist keeps one node for equal constants, whatever they are used for, so before a
//! comparison every use gets a constant of its own. The number of a bit that is taken from a value (that of the
//! own node, say) counts as such a constant.

use std::collections::HashMap;
use std::sync::Arc;
use weft_rtl::bv::Bv;
use weft_rtl::ir::{LeafType, Module};
use weft_rtl::netlist::*;

/// Modules with one code.
pub(crate) struct Family {
    /// The modules.
    pub modules: Vec<Arc<Module>>,
    /// The nodes, every use of a constant apart, and with numbers of single bits as constants.
    nodes: Vec<NetNode>,
    /// For each module all but the nodes.
    rest: Vec<Netlist>,
    /// For each module its constants, in the order of the nodes.
    constants: Vec<Vec<Bv>>,
    /// The first module's own netlist.
    first: Netlist,
}

/// A module of a family.
pub(crate) struct Member {
    /// Its netlist, the nodes as in all of the family.
    pub netlist: Netlist,
    /// Values of the inputs added at its end.
    pub constants: Vec<Bv>,
}

impl Family {
    /// A family of one.
    pub fn new(module: &Arc<Module>, netlist: Netlist) -> Family {
        let (mut apart, constants) = apart(&netlist);
        let nodes = std::mem::take(&mut apart.nodes);
        let (modules, constants) = (vec![module.clone()], vec![constants]);
        Family { modules, nodes, rest: vec![apart], constants, first: netlist }
    }

    /// What tells families apart at a glance.
    pub fn shape(&self) -> (usize, usize, usize) {
        (self.nodes.len(), self.rest[0].regs.len(), self.rest[0].mems.len())
    }

    /// Takes another family's only module in, if it differs in constants and names only; gives its number, or
    /// the other family back.
    pub fn join(&mut self, other: Family) -> Result<usize, Box<Family>> {
        if !self.same_nodes(&other) || !same_form(&self.rest[0], &other.rest[0]) {
            return Err(Box::new(other));
        }
        self.modules.extend(other.modules);
        self.constants.extend(other.constants);
        self.rest.extend(other.rest);
        Ok(self.modules.len() - 1)
    }

    /// The nodes are the same but for the values of constants, and outputs that are constants have the same.
    fn same_nodes(&self, other: &Family) -> bool {
        let same = |(a, b): (&NetNode, &NetNode)| {
            a.width == b.width
                && (a.op == b.op || matches!((&a.op, &b.op), (NetOp::Const(_), NetOp::Const(_))))
        };
        let outputs = |family: &Family| {
            let value = |port: &NetPort| match &family.nodes[port.node.index()].op {
                NetOp::Const(value) => Some(value.clone()),
                _ => None,
            };
            family.rest[0].outputs.iter().map(value).collect::<Vec<_>>()
        };
        self.nodes.len() == other.nodes.len()
            && self.nodes.iter().zip(&other.nodes).all(same)
            && outputs(self) == outputs(other)
    }

    /// The modules with their common nodes.
    pub fn finish(self) -> Vec<Member> {
        if let [_] = self.modules[..] {
            return vec![Member { netlist: self.first, constants: Vec::new() }];
        }
        let values = vec![Vec::new(); self.modules.len()];
        let inputs = self.rest[0].inputs.clone();
        let mut common = Common {
            nodes: Vec::new(),
            added: Vec::new(),
            inputs: inputs.len(),
            known: HashMap::new(),
            values,
        };
        let (mut map, mut used) = (Vec::with_capacity(self.nodes.len()), 0);
        for (i, node) in self.nodes.iter().enumerate() {
            map.push(match &node.op {
                NetOp::Const(_) => {
                    used += 1;
                    let values: Vec<Bv> = self.constants.iter().map(|own| own[used - 1].clone()).collect();
                    match self.nodes.get(i + 1) {
                        Some(next) if number_of_bit(next, i) => common.number(values),
                        _ => common.constant(values),
                    }
                }
                NetOp::Index { a, idx } if map[idx.index()] == SAME => {
                    let NetOp::Const(lo) = &self.nodes[idx.index()].op else {
                        unreachable!("only constants are the same in all modules")
                    };
                    let lo = lo.to_u64().expect("below the width") as u32;
                    common.push(NetNode { op: NetOp::Slice { a: map[a.index()], lo }, width: 1 })
                }
                op => {
                    let op = op.with_operands(&mut |id| map[id.index()]);
                    common.push(NetNode { op, width: node.width })
                }
            });
        }
        let member = |(rest, constants): (&Netlist, Vec<Bv>)| {
            let mut netlist = rebuilt(rest, &mut |id| map[id.index()]);
            netlist.nodes.clone_from(&common.nodes);
            netlist.inputs.extend_from_slice(&common.added);
            Member { netlist, constants }
        };
        let values = std::mem::take(&mut common.values);
        self.rest.iter().zip(values).map(member).collect()
    }
}

/// The common nodes as they grow.
struct Common {
    nodes: Vec<NetNode>,
    /// Inputs of the modules themselves, and those added.
    inputs: usize,
    added: Vec<NetPort>,
    /// Nodes of constants, by their values in all modules.
    known: HashMap<Vec<Bv>, NetId>,
    /// For each module the values of the inputs added.
    values: Vec<Vec<Bv>>,
}

impl Common {
    fn push(&mut self, node: NetNode) -> NetId {
        self.nodes.push(node);
        NetId(self.nodes.len() as u32 - 1)
    }

    /// The number of a bit that is the same in all modules is not needed as a value: [`SAME`].
    fn number(&mut self, values: Vec<Bv>) -> NetId {
        if values.iter().all(|value| *value == values[0]) { SAME } else { self.constant(values) }
    }

    /// A constant, or, if it is not the same in all modules, an input.
    fn constant(&mut self, values: Vec<Bv>) -> NetId {
        if let Some(id) = self.known.get(&values) {
            return *id;
        }
        let width = values[0].width();
        let id = if values.iter().all(|value| *value == values[0]) {
            self.push(NetNode { op: NetOp::Const(values[0].clone()), width })
        } else {
            let number = (self.inputs + self.added.len()) as u32;
            let id = self.push(NetNode { op: NetOp::Input(number), width });
            self.added.push(NetPort {
                name: format!("constant{number}"),
                width,
                ty: LeafType::Bits,
                node: id,
            });
            self.values.iter_mut().zip(&values).for_each(|(own, value)| own.push(value.clone()));
            id
        };
        self.known.insert(values, id);
        id
    }
}

/// In place of a node: the number of a bit that all modules take.
const SAME: NetId = NetId(u32::MAX);

/// Width of numbers of bits.
const BIT_NUMBER: u32 = 32;

/// Whether a node takes the bit whose number is the constant with number `constant` among the nodes.
fn number_of_bit(node: &NetNode, constant: usize) -> bool {
    matches!(node.op, NetOp::Index { idx, .. } if node.width == 1 && idx.index() == constant)
}

/// A netlist in which every use of a constant, and every number of a bit of a value that fits a register of the
/// machine, has a node of its own, and these constants.
fn apart(netlist: &Netlist) -> (Netlist, Vec<Bv>) {
    let mut nodes: Vec<NetNode> = Vec::with_capacity(netlist.nodes.len());
    let mut constants = Vec::new();
    let mut map = vec![NetId(u32::MAX); netlist.nodes.len()];
    let own = |value: &Bv, nodes: &mut Vec<NetNode>, constants: &mut Vec<Bv>| {
        constants.push(value.clone());
        nodes.push(NetNode { op: NetOp::Const(value.clone()), width: value.width() });
        NetId(nodes.len() as u32 - 1)
    };
    let used = |id: NetId, nodes: &mut Vec<NetNode>, constants: &mut Vec<Bv>, map: &[NetId]| match &netlist
        .node(id)
        .op
    {
        NetOp::Const(value) => own(value, nodes, constants),
        _ => map[id.index()],
    };
    for (i, node) in netlist.nodes.iter().enumerate().filter(|(_, n)| !matches!(n.op, NetOp::Const(_))) {
        let of_word = |a: NetId| node.width == 1 && netlist.node(a).width <= 64;
        let op = match node.op {
            NetOp::Slice { a, lo } if of_word(a) => {
                let idx = own(&Bv::from_u64(u64::from(lo), BIT_NUMBER), &mut nodes, &mut constants);
                NetOp::Index { a: map[a.index()], idx }
            }
            _ => node.op.with_operands(&mut |id| used(id, &mut nodes, &mut constants, &map)),
        };
        nodes.push(NetNode { op, width: node.width });
        map[i] = NetId(nodes.len() as u32 - 1);
    }
    let mut out = rebuilt(netlist, &mut |id| used(id, &mut nodes, &mut constants, &map));
    out.nodes = nodes;
    (out, constants)
}

/// Everything but the nodes, with new numbers of nodes.
fn rebuilt(netlist: &Netlist, map: &mut impl FnMut(NetId) -> NetId) -> Netlist {
    let mut out = Netlist { nodes: Vec::new(), ..netlist.clone() };
    out.regs.iter_mut().for_each(|reg| reg.next = map(reg.next));
    for write in out.mems.iter_mut().flat_map(|mem| &mut mem.writes) {
        (write.en, write.addr) = (map(write.en), map(write.addr));
        write.mode = match write.mode {
            NetWriteMode::Row { mask, data } => NetWriteMode::Row { mask: map(mask), data: map(data) },
            NetWriteMode::Lane { lane, data } => NetWriteMode::Lane { lane: map(lane), data: map(data) },
        };
    }
    out.inputs.iter_mut().chain(&mut out.outputs).for_each(|port| port.node = map(port.node));
    for probe in &mut out.probes {
        probe.cond = map(probe.cond);
        probe.amount = probe.amount.map(&mut *map);
        probe.about = probe.about.map(&mut *map);
    }
    out.names.iter_mut().for_each(|name| name.node = map(name.node));
    out
}

/// All but the nodes is the same, whatever it is called.
fn same_form(a: &Netlist, b: &Netlist) -> bool {
    fn equal<T, K: PartialEq>(a: &[T], b: &[T], key: impl Fn(&T) -> K) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| key(a) == key(b))
    }
    let port = |p: &NetPort| (p.width, p.node);
    equal(&a.regs, &b.regs, |r| (r.width, r.reset.clone(), r.next))
        && equal(&a.mems, &b.mems, |m| (m.rows, m.lanes, m.lane_width, m.writes.clone()))
        && equal(&a.inputs, &b.inputs, port)
        && equal(&a.outputs, &b.outputs, |p| (port(p), p.name.clone()))
        && equal(&a.probes, &b.probes, |p| (p.kind, p.cond, p.amount, p.about))
        && equal(&a.names, &b.names, |n| n.node)
}

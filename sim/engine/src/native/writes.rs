//! The order in which memory ports write: whoever reads a memory does so before anybody writes it.

use super::sets::BitSet;
use super::task::Task;
use std::collections::HashSet;
use weft_rtl::netlist::*;

/// The write ports of a unit, in the order in which they write.
pub struct Writes {
    /// Ports that read a memory come before those that write it; those of one memory keep their order.
    pub tasks: Vec<Task>,
    /// Operands of ports for which there is no such order: they are computed before anything is written, and
    /// not taken apart.
    pub early: HashSet<NetId>,
    /// Memories that each expression reads.
    pub reads: Vec<BitSet>,
}

impl Writes {
    /// Orders the ports of a netlist.
    pub fn new(netlist: &Netlist) -> Writes {
        let reads = memories_read(netlist);
        let mut open = tasks(netlist);
        let (mut sorted, mut early) = (Vec::new(), HashSet::new());
        while !open.is_empty() {
            let ready = (0..open.len()).find(|at| {
                !open.iter().enumerate().any(|(other, before)| {
                    other != *at && precedes(&reads, &early, before, other < *at, &open[*at])
                })
            });
            match ready {
                Some(at) => sorted.push(open.remove(at)),
                None => {
                    // Who keeps the first one from writing reads early: nobody else does.
                    let (mem, _) = open[0].port().expect("a write port");
                    let nodes = open.iter().flat_map(Task::operands);
                    early.extend(nodes.filter(|node| reads[node.index()].has(mem as usize)));
                }
            }
        }
        Writes { tasks: sorted, early, reads }
    }
}

/// Whether `task` has to wait for `before`, which stands earlier in the list or not.
fn precedes(reads: &[BitSet], early: &HashSet<NetId>, before: &Task, earlier: bool, task: &Task) -> bool {
    let (Some((own, _)), Some((mem, _))) = (before.port(), task.port()) else { return false };
    let late = |node: &NetId| !early.contains(node) && reads[node.index()].has(mem as usize);
    (own == mem && earlier) || before.operands().iter().any(late)
}

fn memories_read(netlist: &Netlist) -> Vec<BitSet> {
    let mut reads: Vec<BitSet> = Vec::with_capacity(netlist.nodes.len());
    for node in &netlist.nodes {
        let mut set = BitSet::new(netlist.mems.len());
        if let NetOp::MemRead { mem, .. } = node.op {
            set.add(mem as usize);
        }
        node.op.operands(&mut |o| set.join(&reads[o.index()]));
        reads.push(set);
    }
    reads
}

/// The tasks of memory ports, in port order.
fn tasks(netlist: &Netlist) -> Vec<Task> {
    let port = |mem: usize, port: usize, write: &NetWrite| {
        let (first, data) = match write.mode {
            NetWriteMode::Row { mask, data } => (mask, data),
            NetWriteMode::Lane { lane, data } => (lane, data),
        };
        Task::Write { mem: mem as u32, port: port as u32, en: Some(write.en), addr: write.addr, first, data }
    };
    let mems = netlist.mems.iter().enumerate();
    mems.flat_map(|(m, mem)| mem.writes.iter().enumerate().map(move |(p, write)| port(m, p, write))).collect()
}

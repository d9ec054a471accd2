//! Whole fabrics (rec.md sections 5, 8 and 9; hmg.md section 10): the nodes, which are GPUs or GPMs, and the switches between them.
//!
//! ```text
//!  CUs, DRAM, command processor     GPU 0 --+
//!  (behavioural, or RTL stubs       GPU 1 --+-- switch (one plane per link)
//!  in a closed fabric)              ...   --+
//! ```
//! Where GPUs are made of GPMs the switch is one in each GPU and one between them, and a GPM has two links: link 0 to the other GPMs of its GPU, through a
//! switch of their own, link 1 to other GPUs.
//!
//! Ports of [`rec_fabric`], with G the GPU, C the CU and B the bank: channels `gG_cuC_req` ([`CuReq`] in), `gG_cuC_rsp` ([`CuRsp`] out), `gG_memB_req` ([`MemReq`] out),
//! `gG_memB_rsp` ([`MemRsp`] in), `gG_fence_start` and `gG_fence_done` ([`FenceToken`]), output `gG_cuC_stall`; for [`Protocol::IDEAL`] without GPMs also
//! `gG_bB_dir_req` ([`DirReq`] out), `gG_bB_dir_rsp` ([`DirRsp`] in), `gG_bB_inv` ([`DirInv`] in). Instances: `gpuG.l1_C`, `gpuG.bankB`, `gpuG.dirB`, `gpuG.fence`,
//! `switchK_...`.

mod closed;
mod gpu;
mod merge;
mod params;
mod ports;

pub use crate::directory::protocols::Protocol;
pub use closed::{ClosedParams, closed_fabric};
pub use params::{FabricInject, FabricParams};

use crate::common::link::{NETWORKS, connect_wire, wire_leaves};
use crate::common::switch::{LinkEnds, SwitchModules, add_switch};
use crate::msg::*;
use crate::registry::{BlockError, elaborated};
use gpu::gpu_module;
use merge::{Merges, Shared};
use ports::*;
use rayon::prelude::*;
use weft_rtl::prelude::*;

/// Builds the fabric.
///
/// # Errors
/// A parameter that the fabric or one of its blocks refuses.
pub fn rec_fabric(p: &FabricParams) -> Result<Arc<Module>, BlockError> {
    let parts = Parts::new(p)?;
    Module::build(&format!("rec_fabric_{}", p.tag()), ModuleKind::Fabric, || {
        doc("A whole REC fabric: GPUs and the switch between them; CUs, DRAM and command processors are outside.");
        param("gpus", p.sys.gpus);
        param("gpms", p.sys.gpms);
        param("protocol", p.protocol.name());
        let placed = place(p, &parts);
        for (g, gpu) in placed.iter().enumerate() {
            export_gpu(p, g, gpu);
        }
    })
    .map_err(|errors| BlockError::Elab { block: "fabric".into(), errors })
}

/// Everything that is placed in the top module. Modules that are equal are built once.
struct Parts {
    nodes: Vec<Arc<Module>>,
    network: Network,
}

/// What connects the nodes.
enum Network {
    /// One switch between all nodes.
    Flat(SwitchModules),
    /// For what leaves a GPU (link 1) a switch in each GPU and one between them, for what does not (link 0) another one in each GPU. GPUs of one GPM have no
    /// link 0.
    Planes { near: Option<SwitchModules>, gpus: Vec<SwitchModules>, central: SwitchModules },
}

impl Parts {
    /// Makes all checks that would otherwise fail while the top module is open.
    fn new(p: &FabricParams) -> Result<Parts, BlockError> {
        p.validate()?;
        let shared = Shared::new(p)?;
        let merges = Merges::all(p)?;
        let node = |n: u32| gpu_module(p, &shared, &merges[p.sys.gpu_of_node(n) as usize], n);
        // Side by side; of several errors the first node's is told.
        let nodes: Vec<_> = (0..p.sys.nodes()).into_par_iter().map(node).collect();
        let nodes = nodes.into_iter().collect::<Result<_, _>>()?;
        Ok(Parts { nodes, network: Network::new(p, &shared.ends)? })
    }
}

impl Network {
    fn new(p: &FabricParams, node: &LinkEnds) -> Result<Network, BlockError> {
        let s = &p.sys;
        if s.gpms == 1 {
            let switch = elaborated("switch", SwitchModules::of_nodes(s, node))?;
            return Ok(match p.planes() {
                false => Network::Flat(switch),
                true => Network::Planes { near: None, gpus: Vec::new(), central: switch },
            });
        }
        let up =
            if p.link == p.gpm_link { node.clone() } else { elaborated("link", LinkEnds::new(s, p.link))? };
        let gpus = (0..s.gpus).map(|gpu| SwitchModules::of_gpu(s, gpu, node, &up)).collect();
        let gpus = elaborated("switch", gpus)?;
        let central = elaborated("switch", SwitchModules::of_gpus(s, &up))?;
        let near = elaborated("switch", SwitchModules::of_gpms(s, node))?;
        Ok(Network::Planes { near: Some(near), gpus, central })
    }

    /// Places the switches and connects them with the nodes' links.
    fn place(&self, p: &FabricParams, nodes: &[InstanceRef]) {
        let s = &p.sys;
        match self {
            Network::Flat(switch) => {
                for k in 0..p.links {
                    let plane = add_switch(&format!("switch{k}"), s, switch);
                    for (node, (rx, tx)) in nodes.iter().zip(plane.rx.iter().zip(&plane.tx)) {
                        join(s, k, node, rx, tx);
                    }
                }
            }
            Network::Planes { near: None, central, .. } => {
                let plane = add_switch("switch", s, central);
                for (node, (rx, tx)) in nodes.iter().zip(plane.rx.iter().zip(&plane.tx)) {
                    unplugged(s, node, 0);
                    join(s, 1, node, rx, tx);
                }
            }
            Network::Planes { near: Some(near), gpus, central } => {
                for (g, gpms) in nodes.chunks(s.gpms as usize).enumerate() {
                    let plane = add_switch(&format!("gpu{g}_switch_l"), s, near);
                    for (node, (rx, tx)) in gpms.iter().zip(plane.rx.iter().zip(&plane.tx)) {
                        join(s, 0, node, rx, tx);
                    }
                }
                between_gpus(s, gpus, central, nodes, 1);
            }
        }
    }
}

/// Connects link `k` of a node with a port of a switch.
fn join(s: &Sys, k: u32, node: &InstanceRef, rx: &InstanceRef, tx: &InstanceRef) {
    connect_wire(s, node, &format!("tx{k}_"), rx, "");
    connect_wire(s, tx, "", node, &format!("rx{k}_"));
}

/// Link `k` of a node leads nowhere.
fn unplugged(s: &Sys, node: &InstanceRef, k: u32) {
    for leaf in wire_leaves(s) {
        node.drive_bits(&format!("rx{k}_{}", leaf.name), lit_bv(Bv::zero(leaf.width)));
    }
    for network in NETWORKS {
        node.drive_bits(&format!("tx{k}_credit_{network}"), lit(0, 1));
    }
}

/// Places a switch in each GPU with a way out of it, and the switch between the GPUs; connects them with link `k` of the nodes.
fn between_gpus(s: &Sys, gpus: &[SwitchModules], central: &SwitchModules, nodes: &[InstanceRef], k: u32) {
    let middle = add_switch("switch", s, central);
    let size = s.gpms as usize;
    for (g, switch) in gpus.iter().enumerate() {
        let inner = add_switch(&format!("gpu{g}_switch"), s, switch);
        for m in 0..size {
            join(s, k, &nodes[g * size + m], &inner.rx[m], &inner.tx[m]);
        }
        connect_wire(s, &inner.tx[size], "", &middle.rx[g], "");
        connect_wire(s, &middle.tx[g], "", &inner.rx[size], "");
    }
}

/// Places nodes and switches and connects them.
fn place(p: &FabricParams, parts: &Parts) -> Vec<InstanceRef> {
    let nodes: Vec<InstanceRef> = parts
        .nodes
        .iter()
        .enumerate()
        .map(|(n, module)| instance(&p.sys.node_name(n as u32), module))
        .collect();
    parts.network.place(p, &nodes);
    nodes
}

/// Takes a GPU's CU, memory, fence and (ideal) directory ports to the boundary.
fn export_gpu(p: &FabricParams, g: usize, gpu: &InstanceRef) {
    let s = &p.sys;
    for c in 0..s.l1s {
        export_in::<CuReq>(&format!("g{g}_cu{c}_req"), gpu, &format!("cu{c}_req"), s);
        export_out::<CuRsp>(&format!("g{g}_cu{c}_rsp"), gpu, &format!("cu{c}_rsp"), s);
        let stall = format!("cu{c}_stall");
        output::<Bits>(&format!("g{g}_{stall}"), 3).set(gpu.out_bits(&stall));
    }
    for b in 0..s.banks {
        export_out::<MemReq>(&format!("g{g}_mem{b}_req"), gpu, &format!("mem{b}_req"), s);
        export_in::<MemRsp>(&format!("g{g}_mem{b}_rsp"), gpu, &format!("mem{b}_rsp"), s);
        if p.outside_directory() {
            export_out::<DirReq>(&format!("g{g}_b{b}_dir_req"), gpu, &format!("b{b}_dir_req"), s);
            export_in::<DirRsp>(&format!("g{g}_b{b}_dir_rsp"), gpu, &format!("b{b}_dir_rsp"), s);
            export_in::<DirInv>(&format!("g{g}_b{b}_inv"), gpu, &format!("b{b}_inv"), s);
        }
    }
    export_in::<FenceToken>(&format!("g{g}_fence_start"), gpu, "fence_start", &());
    export_out::<FenceToken>(&format!("g{g}_fence_done"), gpu, "fence_done", &());
}

//! Switch between nodes or GPUs: a link receiver and a link sender per port, one crossbar per virtual network.
//!
//! ```text
//!  in0 wire -> link_rx -+-> crossbar REQ -+-> link_tx -> out0 wire
//!  in1 wire -> link_rx -+-> crossbar RSP -+-> link_tx -> out1 wire
//!                       +-> crossbar INV -+
//! ```
//!
//! # Picture
//!
#![doc = include_str!("../../pictures/switch.svg")]

use super::crossbar::crossbar;
use super::link::*;
use super::sys::sys_tag;
use crate::msg::*;
use weft_rtl::prelude::*;

/// The blocks of a switch, placed in a fabric module.
pub struct SwitchParts {
    /// Receiver of each port: its `wire_*` inputs and `credit_*` outputs are the switch's input side.
    pub rx: Vec<InstanceRef>,
    /// Sender of each port: its `wire_*` outputs and `credit_*` inputs are the switch's output side.
    pub tx: Vec<InstanceRef>,
}

/// The two ends of a link.
#[derive(Clone)]
pub struct LinkEnds {
    /// Receiver.
    pub rx: Arc<Module>,
    /// Sender.
    pub tx: Arc<Module>,
}

impl LinkEnds {
    /// Builds them.
    ///
    /// # Errors
    /// A parameter outside its range.
    pub fn new(sys: &Sys, link: LinkParams) -> Result<LinkEnds, ElabErrors> {
        Ok(LinkEnds { rx: link_rx(sys, link)?, tx: link_tx(sys, link)? })
    }
}

/// The modules that a switch is made of.
pub struct SwitchModules {
    /// The switch's end of the link at each port.
    pub ends: Vec<LinkEnds>,
    /// Crossbars of the REQ, RSP and INV networks.
    pub bars: [Arc<Module>; 3],
    /// The last port leads to the other GPUs.
    uplink: bool,
}

impl SwitchModules {
    /// A switch with a port for every node.
    ///
    /// # Errors
    /// A parameter outside its range.
    pub fn of_nodes(sys: &Sys, end: &LinkEnds) -> Result<SwitchModules, ElabErrors> {
        SwitchModules::new(sys, "switch", vec![end.clone(); sys.nodes() as usize], false, |dst| dst)
    }

    /// The switch inside a GPU: a port for each of its GPMs, then the port to the other GPUs.
    ///
    /// # Errors
    /// A parameter outside its range.
    pub fn of_gpu(sys: &Sys, gpu: u32, gpm: &LinkEnds, up: &LinkEnds) -> Result<SwitchModules, ElabErrors> {
        let mut ends = vec![gpm.clone(); sys.gpms as usize];
        ends.push(up.clone());
        let width = bits_for(u64::from(sys.gpms) + 1);
        SwitchModules::new(sys, &format!("gpu{gpu}_switch"), ends, true, |dst| {
            let away = lit(u64::from(sys.gpms), width);
            mux(sys.gpu_of(dst).eq(u64::from(gpu)), sys.gpm_of(dst).zext(width), away)
        })
    }

    /// A switch between the GPMs of one GPU alone: a port for each, the same in every GPU.
    ///
    /// # Errors
    /// A parameter outside its range.
    pub fn of_gpms(sys: &Sys, gpm: &LinkEnds) -> Result<SwitchModules, ElabErrors> {
        SwitchModules::new(sys, "gpms_switch", vec![gpm.clone(); sys.gpms as usize], false, |dst| {
            sys.gpm_of(dst)
        })
    }

    /// The switch between GPUs of several GPMs: a port for each GPU.
    ///
    /// # Errors
    /// A parameter outside its range.
    pub fn of_gpus(sys: &Sys, end: &LinkEnds) -> Result<SwitchModules, ElabErrors> {
        SwitchModules::new(sys, "gpus_switch", vec![end.clone(); sys.gpus as usize], false, |dst| {
            sys.gpu_of(dst)
        })
    }

    /// A switch with these ports; `port` is that of a message's destination node. `name` tells the rule apart.
    fn new(
        sys: &Sys,
        name: &str,
        ends: Vec<LinkEnds>,
        uplink: bool,
        port: impl Fn(Bits) -> Bits,
    ) -> Result<SwitchModules, ElabErrors> {
        let n = ends.len() as u32;
        let name = |network: &str| format!("{name}_{network}_n{n}_{}", sys_tag(sys));
        let req = crossbar::<ReqMsg>(&name("req"), n, n, sys, |m| port(m.dst))?;
        let rsp = crossbar::<RspMsg>(&name("rsp"), n, n, sys, |m| port(m.dst))?;
        let inv = crossbar::<InvMsg>(&name("inv"), n, n, sys, |m| port(m.dst))?;
        Ok(SwitchModules { ends, bars: [req, rsp, inv], uplink })
    }
}

/// Places the blocks of a switch into the fabric module being described and connects them with each other; messages go to the port of their `dst`.
/// Instances are called `NAME_rx0`, `NAME_xbar_req`, `NAME_tx0`..., at the port to the other GPUs `NAME_downlink` and `NAME_uplink`.
#[track_caller]
pub fn add_switch(name: &str, sys: &Sys, modules: &SwitchModules) -> SwitchParts {
    let ends = || modules.ends.iter().enumerate();
    let called = |i: usize, port: &str, away: &str| match modules.uplink && i + 1 == modules.ends.len() {
        true => format!("{name}_{away}"),
        false => format!("{name}_{port}{i}"),
    };
    let rx: Vec<InstanceRef> =
        ends().map(|(i, end)| instance(&called(i, "rx", "downlink"), &end.rx)).collect();
    let tx: Vec<InstanceRef> = ends().map(|(i, end)| instance(&called(i, "tx", "uplink"), &end.tx)).collect();
    let [req, rsp, inv] = &modules.bars;
    let bars = [
        instance(&format!("{name}_xbar_req"), req),
        instance(&format!("{name}_xbar_rsp"), rsp),
        instance(&format!("{name}_xbar_inv"), inv),
    ];
    for i in 0..rx.len() {
        let (input, output) = (format!("in{i}"), format!("out{i}"));
        connect::<ReqMsg>(&rx[i], "req", &bars[0], &input, sys);
        connect::<RspMsg>(&rx[i], "rsp", &bars[1], &input, sys);
        connect::<InvMsg>(&rx[i], "inv", &bars[2], &input, sys);
        connect::<ReqMsg>(&bars[0], &output, &tx[i], "req", sys);
        connect::<RspMsg>(&bars[1], &output, &tx[i], "rsp", sys);
        connect::<InvMsg>(&bars[2], &output, &tx[i], "inv", sys);
    }
    SwitchParts { rx, tx }
}

/// The switch as a module of its own: per port p the wires `inP_wire_*` with `inP_credit_*` back, and `outP_wire_*` with `outP_credit_*` back.
///
/// # Errors
/// A parameter outside its range.
pub fn switch(sys: &Sys, link: LinkParams) -> Result<Arc<Module>, ElabErrors> {
    // Parts are built before the module is open, so that their errors are returned as their own.
    let modules = SwitchModules::of_nodes(sys, &LinkEnds::new(sys, link)?)?;
    let name = format!("switch_{}_{}", sys_tag(sys), link.tag());
    Module::build(&name, ModuleKind::Fabric, || {
        doc("Central switch between GPUs: receivers, one crossbar per virtual network, senders.");
        param("ports", sys.nodes());
        ports(sys, &add_switch("port", sys, &modules));
    })
}

fn ports(sys: &Sys, parts: &SwitchParts) {
    for (i, (rx, tx)) in parts.rx.iter().zip(&parts.tx).enumerate() {
        for leaf in wire_leaves(sys) {
            let inward = input::<Bits>(&format!("in{i}_{}", leaf.name), leaf.width);
            rx.drive_bits(&leaf.name, inward);
            output::<Bits>(&format!("out{i}_{}", leaf.name), leaf.width).set(tx.out_bits(&leaf.name));
        }
        for network in NETWORKS {
            let credit = format!("credit_{network}");
            let inward = input::<Bits>(&format!("out{i}_{credit}"), 1);
            tx.drive_bits(&credit, inward);
            output::<Bits>(&format!("in{i}_{credit}"), 1).set(rx.out_bits(&credit));
        }
    }
}

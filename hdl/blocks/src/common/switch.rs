//! Central switch between GPUs: a link receiver and a link sender per port, one crossbar per virtual network.
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

/// The modules that a switch is made of.
pub struct SwitchModules {
    /// Link receiver.
    pub rx: Arc<Module>,
    /// Link sender.
    pub tx: Arc<Module>,
    /// Crossbars of the REQ, RSP and INV networks.
    pub bars: [Arc<Module>; 3],
}

impl SwitchModules {
    /// Builds them for `sys.nodes()` ports.
    ///
    /// # Errors
    /// A parameter outside its range.
    pub fn new(sys: &Sys, link: LinkParams) -> Result<SwitchModules, ElabErrors> {
        let n = sys.nodes();
        let tag = format!("n{n}_{}", sys_tag(sys));
        let req = crossbar::<ReqMsg>(&format!("switch_req_{tag}"), n, n, sys, |m| m.dst)?;
        let rsp = crossbar::<RspMsg>(&format!("switch_rsp_{tag}"), n, n, sys, |m| m.dst)?;
        let inv = crossbar::<InvMsg>(&format!("switch_inv_{tag}"), n, n, sys, |m| m.dst)?;
        Ok(SwitchModules { rx: link_rx(sys, link)?, tx: link_tx(sys, link)?, bars: [req, rsp, inv] })
    }
}

/// Places the blocks of a switch of `sys.nodes()` ports into the fabric module being described and connects them with each other; messages go to the port
/// of their `dst`. Instances are called `NAME_rx0`, `NAME_xbar_req`, `NAME_tx0`...
#[track_caller]
pub fn add_switch(name: &str, sys: &Sys, modules: &SwitchModules) -> SwitchParts {
    let n = sys.nodes();
    let rx: Vec<InstanceRef> = (0..n).map(|i| instance(&format!("{name}_rx{i}"), &modules.rx)).collect();
    let tx: Vec<InstanceRef> = (0..n).map(|i| instance(&format!("{name}_tx{i}"), &modules.tx)).collect();
    let [req, rsp, inv] = &modules.bars;
    let bars = [
        instance(&format!("{name}_xbar_req"), req),
        instance(&format!("{name}_xbar_rsp"), rsp),
        instance(&format!("{name}_xbar_inv"), inv),
    ];
    for i in 0..n as usize {
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
    let modules = SwitchModules::new(sys, link)?;
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

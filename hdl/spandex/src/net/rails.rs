//! Rails: what joins the meshes of several GPUs, one for each row of a mesh.
//!
//! ```text
//!  GPU 0, row r: router - router - router == link ==+          +== link == router - ... - router   GPU 1, row r
//!                               (east end)          +- switch -+
//!  GPU 2, row r: router - router - router == link ==+    r     +== link == router - ... - router   GPU 3, row r
//! ```
//! The east end of every row has a link to the row's switch and one from it ([`super::link`]), each with half of the latency. A switch is a crossbar for each virtual network; the networks share wires
//! and nothing else.
//!
//! A message for another GPU goes east along its row, over the rail of this row, west along the same row of the other GPU, and there along its column. So places wait for one another in this
//! order only: east, link to the switch, link from it, west, column. No cycle is possible within a network, as none is in a mesh, and none needs further networks.
//!
//! Decision: a switch between GPUs, as in the other families with several of them (rec.md section 9), so that all pairs of GPUs are equally far; a link per row, as GPUs have several links, because
//! a single one would have the rows wait for each other at one router of 16 bytes per cycle. Through that router a link carries at most a flit per cycle, whatever its `bytes`.

use super::NETS;
use super::NetParams;
use super::link::{LinkParams, connect_wire, link_rx, link_tx};
use super::router::EAST;
use crate::msg::{Fwd, Req, Routed, Rsp, Wb};
use crate::params::Spandex;
use std::sync::Arc;
use weft_blocks::common::crossbar::crossbar;
use weft_blocks::common::grid::Grid;
use weft_blocks::registry::BlockError;
use weft_rtl::prelude::*;

/// Modules of all rails.
pub(super) struct Rails {
    tx: Arc<Module>,
    rx: Arc<Module>,
    /// A rail's switch, by virtual network.
    switch: [Arc<Module>; 4],
}

/// The ends of a link.
struct Link {
    tx: InstanceRef,
    rx: InstanceRef,
}

/// Which GPU a node belongs to.
fn gpu_of(s: &Spandex, p: &NetParams, node: Bits) -> Bits {
    let gpu = |place: &u32| lit(u64::from(place / p.grid.nodes()), bits_for(u64::from(s.gpus)));
    select(&p.places.iter().map(gpu).collect::<Vec<_>>(), node.zext(bits_for(p.places.len() as u64)))
}

fn switch<T: Routed>(net: &str, s: &Spandex, p: &NetParams) -> Result<Arc<Module>, BlockError> {
    let name = format!("spandex_{net}_switch_{}_{}", p.name_part(), s.name_part());
    crossbar::<T>(&name, s.gpus, s.gpus, s, |message| gpu_of(s, p, message.to(s)))
        .map_err(|errors| BlockError::Elab { block: "spandex-net".into(), errors })
}

impl Rails {
    /// Builds the modules.
    ///
    /// # Errors
    /// What [`LinkParams::validate`] refuses.
    pub fn new(s: &Spandex, p: &NetParams, link: LinkParams) -> Result<Rails, BlockError> {
        Ok(Rails {
            tx: link_tx(s, link)?,
            rx: link_rx(s, link)?,
            switch: [
                switch::<Req>(NETS[0], s, p)?,
                switch::<Fwd>(NETS[1], s, p)?,
                switch::<Wb>(NETS[2], s, p)?,
                switch::<Rsp>(NETS[3], s, p)?,
            ],
        })
    }

    /// A link: `NAME_txN`, `NAME_rxN`.
    fn link(&self, name: &str, number: u32, s: &Spandex) -> Link {
        let place = |end: &str, module: &Arc<Module>| instance(&format!("{name}_{end}{number}"), module);
        let link = Link { tx: place("tx", &self.tx), rx: place("rx", &self.rx) };
        connect_wire(&link.tx, &link.rx, s);
        link
    }

    /// Places links and switches: `link_*N` to and `switch_*N` from the switch `NET_switchR` of row R, with N = G * rows + R for GPU G.
    pub fn wire(&self, s: &Spandex, grid: Grid, routers: &[InstanceRef]) {
        for row in 0..grid.rows {
            let ends: Vec<&InstanceRef> = (0..s.gpus)
                .map(|gpu| &routers[(gpu * grid.nodes() + (row + 1) * grid.columns - 1) as usize])
                .collect();
            let links = |name: &str| -> Vec<Link> {
                (0..s.gpus).map(|gpu| self.link(name, gpu * grid.rows + row, s)).collect()
            };
            let rail = Rail { row, s, ends, to: links("link"), from: links("switch") };
            rail.join::<Req>(NETS[0], &self.switch[0]);
            rail.join::<Fwd>(NETS[1], &self.switch[1]);
            rail.join::<Wb>(NETS[2], &self.switch[2]);
            rail.join::<Rsp>(NETS[3], &self.switch[3]);
        }
    }
}

/// A rail being wired; all by GPU.
struct Rail<'a> {
    row: u32,
    s: &'a Spandex,
    /// Routers at the row's east ends.
    ends: Vec<&'a InstanceRef>,
    to: Vec<Link>,
    from: Vec<Link>,
}

impl Rail<'_> {
    /// Joins a virtual network.
    fn join<T: Routed>(&self, net: &str, switch: &Arc<Module>) {
        let switch = instance(&format!("{net}_switch{}", self.row), switch);
        for (gpu, router) in self.ends.iter().enumerate() {
            let (to, from) = (&self.to[gpu], &self.from[gpu]);
            connect::<T>(router, &format!("{net}_out{EAST}"), &to.tx, net, self.s);
            connect::<T>(&to.rx, net, &switch, &format!("in{gpu}"), self.s);
            connect::<T>(&switch, &format!("out{gpu}"), &from.tx, net, self.s);
            connect::<T>(&from.rx, net, router, &format!("{net}_in{EAST}"), self.s);
        }
    }
}

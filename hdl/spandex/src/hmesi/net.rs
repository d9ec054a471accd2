//! The network of a hierarchical system: the mesh of Spandex, whose links eight virtual networks share, those of Spandex (below the GPU L2) and those of the L3.
//!
//! | network | messages | between |
//! | --- | --- | --- |
//! | `req`, `fwd`, `wb`, `rsp` (REQ_g, FWD_g, WB_g, RSP_g) | Spandex's | CUs, GPU L2 banks |
//! | `h_req`, `h_fwd`, `h_wb`, `h_rsp` | [`super::msg`]'s | CPU clients, GPU L2 banks, L3 banks |

use super::msg::{HFwd, HReq, HRsp, HWb};
use crate::msg::{Fwd, Req, Routed, Rsp, Wb};
use crate::net::NETS;
use crate::net::router::{Vn, router_of};
use crate::net::{End, Lane, NetParams};
use crate::params::Spandex;
use std::sync::Arc;
use weft_blocks::common::grid::Grid;
use weft_blocks::registry::BlockError;
use weft_rtl::prelude::*;

/// Names of the L3's virtual networks, as they stand in port names.
pub const H_NETS: [&str; 4] = ["h_req", "h_fwd", "h_wb", "h_rsp"];

/// The published places on a mesh of so many columns: CPU cores on even nodes, a CU, a GPU L2 bank and the L3 bank of the same number on every node, again from the first when there are more of
/// them than nodes.
pub fn spread(s: &Spandex, grid: Grid) -> NetParams {
    let base = NetParams::spread(s, grid);
    let banks = base.places[s.devs() as usize..].to_vec();
    NetParams { places: [base.places, banks].concat(), ..base }
}

/// Checks a network for a system.
///
/// # Errors
/// As [`NetParams::validate`], with a place for every device, GPU L2 bank and L3 bank.
pub fn validate(s: &Spandex, p: &NetParams) -> Result<(), BlockError> {
    p.validate_nodes(s.h_nodes(), 1)
}

/// What stands at the network.
pub struct HStations {
    /// CPU clients, then CUs.
    pub devices: Vec<InstanceRef>,
    /// Banks of the GPU L2.
    pub l2s: Vec<InstanceRef>,
    /// Banks of the L3.
    pub l3s: Vec<InstanceRef>,
}

/// The network's modules.
pub struct HNet {
    p: NetParams,
    router: Arc<Module>,
    gpu: [Lane; 4],
    l3: [Lane; 4],
}

/// What stands at one router.
struct Here<'a> {
    cpus: Vec<(&'a InstanceRef, u32)>,
    cus: Vec<(&'a InstanceRef, u32)>,
    l2s: Vec<(&'a InstanceRef, u32)>,
    l3s: Vec<(&'a InstanceRef, u32)>,
}

/// These parts at one of their ports.
fn at<'a>(parts: &[(&'a InstanceRef, u32)], port: &'static str) -> Vec<End<'a>> {
    parts.iter().map(|(part, node)| (*part, port, *node)).collect()
}

fn both<'a>(first: Vec<End<'a>>, second: Vec<End<'a>>) -> Vec<End<'a>> {
    first.into_iter().chain(second).collect()
}

/// A virtual network being wired.
struct Wiring<'a> {
    lane: &'a Lane,
    name: &'static str,
    s: &'a Spandex,
}

impl Wiring<'_> {
    fn join<T: Routed>(&self, n: u32, router: &InstanceRef, from: &[End], to: &[End]) {
        self.lane.senders::<T>(self.name, n, router, from, self.s);
        self.lane.receivers::<T>(self.name, n, router, to, self.s);
    }
}

impl HNet {
    /// Builds the modules.
    ///
    /// # Errors
    /// What [`validate`] refuses.
    pub fn new(s: &Spandex, p: &NetParams) -> Result<HNet, BlockError> {
        validate(s, p)?;
        let nets = [
            Vn::of::<Req>(NETS[0]),
            Vn::of::<Fwd>(NETS[1]),
            Vn::of::<Wb>(NETS[2]),
            Vn::of::<Rsp>(NETS[3]),
            Vn::of::<HReq>(H_NETS[0]),
            Vn::of::<HFwd>(H_NETS[1]),
            Vn::of::<HWb>(H_NETS[2]),
            Vn::of::<HRsp>(H_NETS[3]),
        ];
        let name = format!("hmesi_router_{}_{}", p.name_part(), s.name_part());
        Ok(HNet {
            p: p.clone(),
            router: router_of(&name, s, p.grid, &p.places, &nets)?,
            gpu: [
                Lane::new::<Req>(NETS[0], s, p, (p.bank, 0))?,
                Lane::new::<Fwd>(NETS[1], s, p, (0, 0))?,
                Lane::new::<Wb>(NETS[2], s, p, (0, 0))?,
                Lane::new::<Rsp>(NETS[3], s, p, (0, p.data))?,
            ],
            l3: [
                Lane::new::<HReq>(H_NETS[0], s, p, (p.bank, 0))?,
                Lane::new::<HFwd>(H_NETS[1], s, p, (0, 0))?,
                Lane::new::<HWb>(H_NETS[2], s, p, (0, 0))?,
                Lane::new::<HRsp>(H_NETS[3], s, p, (0, p.data))?,
            ],
        })
    }

    /// Places routers (`routerN`) and all between them and the stations.
    pub fn wire(&self, s: &Spandex, stations: &HStations) {
        let grid = self.p.grid;
        let routers: Vec<InstanceRef> =
            (0..grid.nodes()).map(|n| instance(&format!("router{n}"), &self.router)).collect();
        for (n, router) in routers.iter().enumerate() {
            let n = n as u32;
            router.drive_bits("x", lit(u64::from(n % grid.columns), grid.x_bits()));
            router.drive_bits("y", lit(u64::from(n / grid.columns), grid.y_bits()));
            let here = self.here(s, stations, n);
            self.below(s, n, router, &here);
            self.above(s, n, router, &here);
        }
        self.links(s, &routers);
    }

    /// What stands at a router.
    fn here<'a>(&self, s: &Spandex, stations: &'a HStations, n: u32) -> Here<'a> {
        let of = |parts: &'a [InstanceRef], first: u32| -> Vec<(&'a InstanceRef, u32)> {
            let nodes = parts.iter().enumerate().map(|(i, part)| (part, first + i as u32));
            nodes.filter(|(_, node)| self.p.places[*node as usize] == n).collect()
        };
        let (cpus, cus) = stations.devices.split_at(s.cpus as usize);
        Here {
            cpus: of(cpus, 0),
            cus: of(cus, s.cpus),
            l2s: of(&stations.l2s, s.l2_node(0)),
            l3s: of(&stations.l3s, s.l3_node(0)),
        }
    }

    /// Networks between CUs and the GPU L2.
    fn below(&self, s: &Spandex, n: u32, router: &InstanceRef, here: &Here) {
        let net = |v: usize| Wiring { lane: &self.gpu[v], name: NETS[v], s };
        let (cus, l2s) = (&here.cus, &here.l2s);
        net(0).join::<Req>(n, router, &at(cus, "req"), &at(l2s, "req"));
        net(1).join::<Fwd>(n, router, &both(at(cus, "fwd_out"), at(l2s, "fwd")), &at(cus, "fwd"));
        net(2).join::<Wb>(n, router, &at(cus, "wb"), &at(l2s, "wb"));
        let to = both(at(cus, "rsp"), at(l2s, "rsp_in"));
        net(3).join::<Rsp>(n, router, &both(at(cus, "rsp_out"), at(l2s, "rsp")), &to);
    }

    /// Networks of the L3.
    fn above(&self, s: &Spandex, n: u32, router: &InstanceRef, here: &Here) {
        let net = |v: usize| Wiring { lane: &self.l3[v], name: H_NETS[v], s };
        let (cpus, l2s, l3s) = (&here.cpus, &here.l2s, &here.l3s);
        net(0).join::<HReq>(n, router, &both(at(cpus, "req"), at(l2s, "l3_req")), &at(l3s, "req"));
        net(1).join::<HFwd>(n, router, &at(l3s, "fwd"), &both(at(cpus, "fwd"), at(l2s, "l3_fwd")));
        net(2).join::<HWb>(n, router, &both(at(cpus, "wb"), at(l2s, "l3_wb")), &at(l3s, "wb"));
        let clients = both(at(cpus, "rsp_out"), at(l2s, "l3_rsp_out"));
        let to = both(both(at(cpus, "rsp"), at(l2s, "l3_rsp")), at(l3s, "rsp_in"));
        net(3).join::<HRsp>(n, router, &both(clients, at(l3s, "rsp")), &to);
    }

    fn links(&self, s: &Spandex, routers: &[InstanceRef]) {
        let grid = self.p.grid;
        let ([req, fwd, wb, rsp], [h_req, h_fwd, h_wb, h_rsp]) = (&self.gpu, &self.l3);
        req.links::<Req>(NETS[0], grid, routers, s);
        fwd.links::<Fwd>(NETS[1], grid, routers, s);
        wb.links::<Wb>(NETS[2], grid, routers, s);
        rsp.links::<Rsp>(NETS[3], grid, routers, s);
        h_req.links::<HReq>(H_NETS[0], grid, routers, s);
        h_fwd.links::<HFwd>(H_NETS[1], grid, routers, s);
        h_wb.links::<HWb>(H_NETS[2], grid, routers, s);
        h_rsp.links::<HRsp>(H_NETS[3], grid, routers, s);
    }
}

//! The network of a Spandex system: a mesh in which every node has a router, and devices and banks that stand at it (spandex.md section 1).
//!
//! ```text
//!  device ---+                                  +--- device
//!  device ---+-- merge, split -- router -- link -- router -- ...
//!  bank   ---+                     |
//!                                 link
//! ```
//! At a node all senders of a virtual network are merged and its receivers split, a cycle each where there are several. A hop takes `hop` cycles, of which the router is one; towards the network
//! every message waits `ni` cycles. A request waits `bank` cycles before its bank, an answer of a bank `data` cycles behind it: times of the bank's arrays beyond that of its pipeline, of which a forward
//! needs the first only.
//!
//! Several GPUs have a mesh each, and [`rails`] between them.

pub mod link;
pub(crate) mod memory;
pub mod rails;
pub mod router;

use crate::msg::{Fwd, Req, Routed, Rsp, Wb};
use crate::params::Spandex;
use link::LinkParams;
use rails::Rails;
use router::{EAST, NORTH, OWN, SOUTH, WEST, router};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use weft_blocks::common::crossbar::crossbar;
use weft_blocks::common::grid::Grid;
use weft_blocks::common::join::silence;
use weft_blocks::common::wait::Wait;
use weft_blocks::registry::BlockError;
use weft_rtl::prelude::*;

/// Names of the virtual networks, as they stand in port names.
pub const NETS: [&str; 4] = ["req", "fwd", "wb", "rsp"];

/// What fixes the network.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NetParams {
    /// The mesh, of each GPU.
    pub grid: Grid,
    /// Cycles of a hop, 1..8.
    pub hop: u32,
    /// Cycles from a sender to its router, beside those of merging, 0..64.
    pub ni: u32,
    /// Cycles of a request before its bank, 0..64.
    pub bank: u32,
    /// Cycles of an answer behind its bank, 0..64.
    pub data: u32,
    /// Place of each node of the system: the devices, then the banks. Place `p` of `n` to a mesh is number `p mod n` in the mesh of GPU `p / n`.
    pub places: Vec<u32>,
    /// Places of memory controllers: none (a port of memory at each bank), or for each GPU a power of two of them, at most as many as its banks, the first GPU's first.
    pub controllers: Vec<u32>,
    /// Both halves of a link between GPUs, to the switch and from it; with several GPUs.
    pub link: Option<LinkParams>,
}

impl NetParams {
    /// The published places on a mesh of so many columns: CPU cores on even nodes, a CU and a bank on every node, again from the first when there are more of them than nodes. Where all devices have a node
    /// to themselves (the flat GPU of cu-and-consistency.md section 4) they stand in their order. Each GPU's likewise on its own mesh.
    pub fn spread(s: &Spandex, grid: Grid) -> NetParams {
        let nodes = grid.nodes();
        let even = nodes.div_ceil(2);
        let device = |d: u32| {
            let (gpu, number) = s.unit(d);
            let core = |c: u32| 2 * (c % even);
            if s.devs() / s.gpus == nodes {
                return gpu * nodes + number;
            }
            gpu * nodes + number.checked_sub(s.cpus / s.gpus).map_or_else(|| core(number), |cu| cu % nodes)
        };
        let bank = |b: u32| b / s.banks_each() * nodes + b % s.banks_each() % nodes;
        let places = (0..s.devs()).map(device).chain((0..s.banks).map(bank)).collect();
        let link = None;
        NetParams { grid, hop: 3, ni: 0, bank: 0, data: 0, places, controllers: Vec::new(), link }
    }

    /// The places of so many memory controllers of each GPU, at most 4, at corners of its mesh: two are opposite.
    pub fn corners(grid: Grid, gpus: u32, count: u32) -> Vec<u32> {
        let (east, last) = (grid.columns - 1, grid.nodes() - 1);
        let of_gpu = |gpu: u32| {
            let corners = [0, last, east, last - east].into_iter().take(count as usize);
            corners.map(move |corner| gpu * grid.nodes() + corner)
        };
        (0..gpus).flat_map(of_gpu).collect()
    }

    /// Hops between two nodes of the system.
    pub fn hops(&self, from: u32, to: u32) -> u32 {
        self.distance(self.places[from as usize], self.places[to as usize])
    }

    /// Hops between two places. The way to another GPU goes along the row to its east end, over a link, which is one hop, and back along the same row there.
    pub fn distance(&self, from: u32, to: u32) -> u32 {
        let nodes = self.grid.nodes();
        if !self.crosses(from, to) {
            return self.grid.hops(from % nodes, to % nodes);
        }
        let east = |place: u32| self.grid.columns - 1 - place % nodes % self.grid.columns;
        let row = |place: u32| place % nodes / self.grid.columns;
        east(from) + 1 + east(to) + row(from).abs_diff(row(to))
    }

    /// Two places are in different GPUs.
    pub fn crosses(&self, from: u32, to: u32) -> bool {
        from / self.grid.nodes() != to / self.grid.nodes()
    }

    /// Controller of each bank: lines are interleaved over those of a GPU as over its banks.
    pub(crate) fn controller_of(&self, s: &Spandex, bank: u32) -> u32 {
        let each = self.controllers.len() as u32 / s.gpus;
        bank / s.banks_each() * each + bank % s.banks_each() % each
    }

    /// Checks what joins the parts.
    ///
    /// # Errors
    /// A mesh outside 1..16 in either direction, another number of places than nodes, a place outside the mesh, or cycles outside their range.
    pub fn validate(&self, s: &Spandex) -> Result<(), BlockError> {
        s.validate_gpus()?;
        self.validate_nodes(s.nodes(), s.gpus)?;
        match self.link {
            Some(link) if s.gpus > 1 => link.validate()?,
            None if s.gpus == 1 => {}
            _ => {
                return Err(BlockError::Illegal {
                    block: "spandex-net".into(),
                    key: "link".into(),
                    value: format!("{:?}", self.link),
                    problem: "it does not fit the number of GPUs".into(),
                    legal: "links with several GPUs, and none with one".into(),
                });
            }
        }
        self.validate_controllers(s)
    }

    /// Checks all but controllers and links, for so many nodes of all GPUs.
    pub(crate) fn validate_nodes(&self, nodes: u32, gpus: u32) -> Result<(), BlockError> {
        let illegal = |key: &str, value: String, problem: &str, legal: &str| {
            let text = |t: &str| t.to_string();
            Err(BlockError::Illegal {
                block: text("spandex-net"),
                key: text(key),
                value,
                problem: text(problem),
                legal: text(legal),
            })
        };
        let Grid { columns, rows } = self.grid;
        if !(1..=16).contains(&columns) || !(1..=16).contains(&rows) {
            return illegal("mesh", format!("{columns}x{rows}"), "it lies outside", "1..16 columns and rows");
        }
        if self.places.len() != nodes as usize || self.places.iter().any(|p| *p >= gpus * self.grid.nodes()) {
            return illegal(
                "places",
                format!("{:?}", self.places),
                "not every node has a place",
                "a place in the mesh for every device and bank",
            );
        }
        if !(1..=8).contains(&self.hop) {
            return illegal("hop", self.hop.to_string(), "it lies outside", "1..8");
        }
        for (key, cycles) in [("ni", self.ni), ("bank", self.bank), ("data", self.data)] {
            if cycles > 64 {
                return illegal(key, cycles.to_string(), "it lies outside", "0..64");
            }
        }
        Ok(())
    }

    /// Checks the controllers.
    pub(crate) fn validate_controllers(&self, s: &Spandex) -> Result<(), BlockError> {
        let (all, nodes) = (self.controllers.len() as u32, self.grid.nodes());
        let each = all / s.gpus;
        let fit = all == 0 || each.is_power_of_two() && each * s.gpus == all && each <= s.banks_each();
        if fit && (0..).zip(&self.controllers).all(|(c, p)| *p / nodes == c / each.max(1)) {
            return Ok(());
        }
        Err(BlockError::Illegal {
            block: "spandex-net".into(),
            key: "controllers".into(),
            value: format!("{:?}", self.controllers),
            problem: "they do not fit the banks and the mesh".into(),
            legal: "a power of two of them for each GPU, at most one per bank, each with a place in its mesh"
                .into(),
        })
    }

    /// The router of this network, whose name tells it from those of others.
    ///
    /// # Errors
    /// What [`NetParams::validate`] refuses.
    pub fn router(&self, s: &Spandex) -> Result<Arc<Module>, BlockError> {
        self.validate(s)?;
        let name = format!("spandex_router_{}_{}", self.name_part(), s.name_part());
        router(&name, s, self.grid, &self.places)
    }

    /// Part of a module's name that these parameters determine.
    pub fn name_part(&self) -> String {
        let places: Vec<String> = self.places.iter().chain(&self.controllers).map(u32::to_string).collect();
        let digest = places.join("_");
        let sum = digest
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
        let Grid { columns, rows } = self.grid;
        let link = self.link.map_or(String::new(), |link| format!("_{}", link.name_part()));
        format!("{columns}x{rows}_h{}_n{}_b{}_{}_p{sum:016x}{link}", self.hop, self.ni, self.bank, self.data)
    }
}

/// What stands at the network.
pub struct Stations {
    /// The devices, in order.
    pub devices: Vec<InstanceRef>,
    /// The banks, in order.
    pub banks: Vec<InstanceRef>,
}

/// Modules of one virtual network.
pub(crate) struct Lane {
    /// Merges 2, 3, ... senders.
    merges: BTreeMap<usize, Arc<Module>>,
    /// Splits among 2, 3, ... receivers.
    splits: BTreeMap<usize, Arc<Module>>,
    inject: Wait,
    link: Wait,
    /// Before its receivers.
    arrive: Wait,
    /// Behind banks.
    leave: Wait,
}

/// A sender or receiver at a node: instance, port, node of the system.
pub(crate) type End<'a> = (&'a InstanceRef, &'static str, u32);

impl Lane {
    pub fn new<T: Routed>(
        net: &str,
        s: &Spandex,
        p: &NetParams,
        (arrive, leave): (u32, u32),
    ) -> Result<Lane, BlockError> {
        let fits = |made: Result<Arc<Module>, ElabErrors>| {
            made.map_err(|errors| BlockError::Elab { block: "spandex-net".into(), errors })
        };
        let name = |what: &str, n: usize| format!("spandex_{net}_{what}{n}_{}", s.name_part());
        let at = |at: &u32| p.places.iter().filter(|place| *place == at).count();
        let most = p.places.iter().map(at).max();
        let several = 2..=most.unwrap_or(0);
        let merges = several
            .clone()
            .map(|n| Ok((n, fits(crossbar::<T>(&name("merge", n), n as u32, 1, s, |_| lit(0, 1)))?)));
        let splits = several.map(|n| Ok((n, fits(split::<T>(&name("split", n), n, s))?)));
        Ok(Lane {
            merges: merges.collect::<Result<_, BlockError>>()?,
            splits: splits.collect::<Result<_, BlockError>>()?,
            inject: Wait::new::<T>("spandex-net", &name("inject", p.ni as usize), p.ni, s)?,
            link: Wait::new::<T>("spandex-net", &name("link", p.hop as usize), p.hop - 1, s)?,
            arrive: Wait::new::<T>("spandex-net", &name("arrive", arrive as usize), arrive, s)?,
            leave: Wait::new::<T>("spandex-net", &name("leave", leave as usize), leave, s)?,
        })
    }

    /// Joins the senders at a router, under the name of the router's number.
    pub fn senders<T: Routed>(&self, net: &str, n: u32, router: &InstanceRef, from: &[End], s: &Spandex) {
        let into = format!("{net}_in{OWN}");
        match from {
            [] => silence::<T>(router, &into, s),
            [(part, port, _)] => {
                self.inject.join::<T>(&format!("{net}_inject{n}"), (part, port), (router, &into), s)
            }
            _ => {
                let merge = instance(&format!("{net}_merge{n}"), &self.merges[&from.len()]);
                for (i, (part, port, node)) in from.iter().enumerate() {
                    let into = format!("in{i}");
                    if *node < s.devs() {
                        connect::<T>(part, port, &merge, &into, s);
                    } else {
                        self.leave.join::<T>(&format!("{net}_leave{node}"), (part, port), (&merge, &into), s);
                    }
                }
                self.inject.join::<T>(&format!("{net}_inject{n}"), (&merge, "out0"), (router, &into), s);
            }
        }
    }

    /// Joins the receivers at a router.
    pub fn receivers<T: Routed>(&self, net: &str, n: u32, router: &InstanceRef, to: &[End], s: &Spandex) {
        let out = format!("{net}_out{OWN}");
        match to {
            [] => router.drive_bits(&format!("{out}_ready"), lit(1, 1)),
            [(part, port, node)] => {
                self.arrive.join::<T>(&format!("{net}_arrive{node}"), (router, &out), (part, port), s);
            }
            _ => {
                let split = instance(&format!("{net}_split{n}"), &self.splits[&to.len()]);
                connect::<T>(router, &out, &split, "in0", s);
                for (i, (part, port, node)) in to.iter().enumerate() {
                    split.drive_bits(&format!("node{i}"), lit(u64::from(*node), T::node_bits(s)));
                    let from = (&split, &*format!("out{i}"));
                    self.arrive.join::<T>(&format!("{net}_arrive{node}"), from, (part, port), s);
                }
            }
        }
    }

    /// Links between neighbours of each mesh, and nothing beyond its edges, unless rails begin at the east.
    pub fn links<T: Routed>(&self, net: &str, grid: Grid, routers: &[InstanceRef], s: &Spandex) {
        for (n, here) in routers.iter().enumerate() {
            let (n, at) = (n as u32, n as u32 % grid.nodes());
            let (x, y) = (at % grid.columns, at / grid.columns);
            let ways = [
                ("east", EAST, WEST, x + 1 < grid.columns, 1),
                ("west", WEST, EAST, x > 0, -1),
                ("north", NORTH, SOUTH, y > 0, -(grid.columns as i64)),
                ("south", SOUTH, NORTH, y + 1 < grid.rows, i64::from(grid.columns)),
            ];
            for (name, away, back, neighbour, step) in ways {
                if neighbour {
                    let there = &routers[(i64::from(n) + step) as usize];
                    let (out, into) = (format!("{net}_out{away}"), format!("{net}_in{back}"));
                    self.link.join::<T>(&format!("{net}_{name}{n}"), (here, &out), (there, &into), s);
                } else if s.gpus == 1 || away != EAST {
                    silence::<T>(here, &format!("{net}_in{away}"), s);
                    here.drive_bits(&format!("{net}_out{away}_ready"), lit(1, 1));
                }
            }
        }
    }
}

/// A splitter for `n` receivers, whose nodes are inputs so that all are one module.
fn split<T: Routed>(name: &str, n: usize, s: &Spandex) -> Result<Arc<Module>, ElabErrors> {
    let nodes = OnceCell::new();
    crossbar::<T>(name, 1, n as u32, s, |m| {
        let node = |i: usize| input::<Bits>(&format!("node{i}"), T::node_bits(s));
        let nodes: &Vec<Bits> = nodes.get_or_init(|| (0..n).map(node).collect());
        let to = m.to(s).zext(T::node_bits(s));
        let found: Vec<Bool> = nodes.iter().map(|node| to.eq(*node)).collect();
        pack_bools(&found).lowest_set()
    })
}

/// The network's modules.
pub struct Net {
    p: NetParams,
    router: Arc<Module>,
    lanes: [Lane; 4],
    rails: Option<Rails>,
}

impl Net {
    /// Builds the modules.
    ///
    /// # Errors
    /// What [`NetParams::validate`] refuses.
    pub fn new(s: &Spandex, p: &NetParams) -> Result<Net, BlockError> {
        Ok(Net {
            router: p.router(s)?,
            p: p.clone(),
            rails: p.link.map(|link| Rails::new(s, p, link)).transpose()?,
            lanes: [
                Lane::new::<Req>(NETS[0], s, p, (p.bank, 0))?,
                Lane::new::<Fwd>(NETS[1], s, p, (0, 0))?,
                Lane::new::<Wb>(NETS[2], s, p, (0, 0))?,
                Lane::new::<Rsp>(NETS[3], s, p, (0, p.data))?,
            ],
        })
    }

    /// Places routers (`routerN`) and all between them and the stations.
    pub fn wire(&self, s: &Spandex, stations: &Stations) {
        let grid = self.p.grid;
        let sites = s.gpus * grid.nodes();
        let routers: Vec<InstanceRef> =
            (0..sites).map(|n| instance(&format!("router{n}"), &self.router)).collect();
        for (n, router) in routers.iter().enumerate() {
            let (n, at) = (n as u32, n as u32 % grid.nodes());
            router.drive_bits("x", lit(u64::from(at % grid.columns), grid.x_bits()));
            router.drive_bits("y", lit(u64::from(at / grid.columns), grid.y_bits()));
            if s.gpus > 1 {
                router.drive_bits("gpu", lit(u64::from(n / grid.nodes()), bits_for(u64::from(s.gpus))));
            }
            let here = |node: u32| self.p.places[node as usize] == n;
            let devices: Vec<u32> = (0..s.devs()).filter(|d| here(*d)).collect();
            let banks: Vec<u32> = (0..s.banks).filter(|b| here(s.devs() + b)).collect();
            let device =
                |port: &'static str| devices.iter().map(move |d| (&stations.devices[*d as usize], port, *d));
            let bank = |port: &'static str| {
                banks.iter().map(move |b| (&stations.banks[*b as usize], port, s.devs() + b))
            };
            let [req, fwd, wb, rsp] = &self.lanes;
            req.senders::<Req>(NETS[0], n, router, &device("req").collect::<Vec<_>>(), s);
            req.receivers::<Req>(NETS[0], n, router, &bank("req").collect::<Vec<_>>(), s);
            fwd.senders::<Fwd>(
                NETS[1],
                n,
                router,
                &device("fwd_out").chain(bank("fwd")).collect::<Vec<_>>(),
                s,
            );
            fwd.receivers::<Fwd>(NETS[1], n, router, &device("fwd").collect::<Vec<_>>(), s);
            wb.senders::<Wb>(NETS[2], n, router, &device("wb").collect::<Vec<_>>(), s);
            wb.receivers::<Wb>(NETS[2], n, router, &bank("wb").collect::<Vec<_>>(), s);
            rsp.senders::<Rsp>(
                NETS[3],
                n,
                router,
                &device("rsp_out").chain(bank("rsp")).collect::<Vec<_>>(),
                s,
            );
            rsp.receivers::<Rsp>(
                NETS[3],
                n,
                router,
                &device("rsp").chain(bank("rsp_in")).collect::<Vec<_>>(),
                s,
            );
        }
        let [req, fwd, wb, rsp] = &self.lanes;
        req.links::<Req>(NETS[0], grid, &routers, s);
        fwd.links::<Fwd>(NETS[1], grid, &routers, s);
        wb.links::<Wb>(NETS[2], grid, &routers, s);
        rsp.links::<Rsp>(NETS[3], grid, &routers, s);
        if let Some(rails) = &self.rails {
            rails.wire(s, grid, &routers);
        }
    }
}

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

pub(crate) mod memory;
pub mod router;

use crate::msg::{Fwd, Req, Routed, Rsp, Wb};
use crate::params::Spandex;
use router::{EAST, NETS, NORTH, OWN, SOUTH, WEST, router};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use weft_blocks::common::crossbar::crossbar;
use weft_blocks::common::grid::Grid;
use weft_blocks::common::join::silence;
use weft_blocks::common::wait::Wait;
use weft_blocks::registry::BlockError;
use weft_rtl::prelude::*;

/// What fixes the network.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NetParams {
    /// The mesh.
    pub grid: Grid,
    /// Cycles of a hop, 1..8.
    pub hop: u32,
    /// Cycles from a sender to its router, beside those of merging, 0..64.
    pub ni: u32,
    /// Cycles of a request before its bank, 0..64.
    pub bank: u32,
    /// Cycles of an answer behind its bank, 0..64.
    pub data: u32,
    /// Place in the mesh of each node of the system: the devices, then the banks.
    pub places: Vec<u32>,
    /// Places in the mesh of memory controllers: none (a port of memory at each bank), or a power of two of them, at most as many as banks.
    pub controllers: Vec<u32>,
}

impl NetParams {
    /// The published places on a mesh of so many columns: CPU cores on even nodes, a CU and a bank on every node, again from the first when there are more of them than nodes.
    pub fn spread(s: &Spandex, grid: Grid) -> NetParams {
        let nodes = grid.nodes();
        let even = nodes.div_ceil(2);
        let cpus = (0..s.cpus).map(|c| 2 * (c % even));
        let cus = (0..s.cus).map(|c| c % nodes);
        let banks = (0..s.banks).map(|b| b % nodes);
        let places = cpus.chain(cus).chain(banks).collect();
        NetParams { grid, hop: 3, ni: 0, bank: 0, data: 0, places, controllers: Vec::new() }
    }

    /// The places of so many memory controllers, at most 4, at corners of a mesh: two are opposite.
    pub fn corners(grid: Grid, count: u32) -> Vec<u32> {
        let (east, last) = (grid.columns - 1, grid.nodes() - 1);
        [0, last, east, last - east].into_iter().take(count as usize).collect()
    }

    /// Hops between two nodes of the system.
    pub fn hops(&self, from: u32, to: u32) -> u32 {
        self.grid.hops(self.places[from as usize], self.places[to as usize])
    }

    /// Checks what joins the parts.
    ///
    /// # Errors
    /// A mesh outside 1..16 in either direction, another number of places than nodes, a place outside the mesh, or cycles outside their range.
    pub fn validate(&self, s: &Spandex) -> Result<(), BlockError> {
        self.validate_nodes(s.nodes())?;
        self.validate_controllers(s.banks)
    }

    /// Checks all but the controllers, for so many nodes.
    pub(crate) fn validate_nodes(&self, nodes: u32) -> Result<(), BlockError> {
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
        if self.places.len() != nodes as usize || self.places.iter().any(|p| *p >= self.grid.nodes()) {
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

    /// Checks the controllers of so many banks.
    fn validate_controllers(&self, banks: u32) -> Result<(), BlockError> {
        let few = self.controllers.len() as u32;
        let fit = few == 0 || few.is_power_of_two() && few <= banks;
        if fit && self.controllers.iter().all(|p| *p < self.grid.nodes()) {
            return Ok(());
        }
        Err(BlockError::Illegal {
            block: "spandex-net".into(),
            key: "controllers".into(),
            value: format!("{:?}", self.controllers),
            problem: "they do not fit the banks and the mesh".into(),
            legal: "a power of two of them, at most one per bank, each with a place in the mesh".into(),
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
        format!("{columns}x{rows}_h{}_n{}_b{}_{}_p{sum:016x}", self.hop, self.ni, self.bank, self.data)
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
        let most = (0..p.grid.nodes()).map(|at| p.places.iter().filter(|place| **place == at).count()).max();
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

    /// Links between neighbours, and nothing beyond the edges.
    pub fn links<T: Routed>(&self, net: &str, grid: Grid, routers: &[InstanceRef], s: &Spandex) {
        for (n, here) in routers.iter().enumerate() {
            let n = n as u32;
            let (x, y) = (n % grid.columns, n / grid.columns);
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
                } else {
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
        let routers: Vec<InstanceRef> =
            (0..grid.nodes()).map(|n| instance(&format!("router{n}"), &self.router)).collect();
        for (n, router) in routers.iter().enumerate() {
            let n = n as u32;
            router.drive_bits("x", lit(u64::from(n % grid.columns), grid.x_bits()));
            router.drive_bits("y", lit(u64::from(n / grid.columns), grid.y_bits()));
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
    }
}

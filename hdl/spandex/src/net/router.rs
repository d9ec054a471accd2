//! `spandex-router`: a router of the mesh, for all four virtual networks.
//!
//! ```text
//!  REQ  in0..in4 --> [ by destination ] --+
//!  FWD  in0..in4 --> [ by destination ] --+--> link 0 .. link 4: one flit per cycle, whichever network
//!  WB   ...                               |
//!  RSP  ...                             --+
//! ```
//! Ports: `NET_inP`, `NET_outP` with NET one of `req`, `fwd`, `wb`, `rsp`, and P 0 for the node's own side, then east, west, north, south. Inputs `x`, `y` say where the router stands, and with several GPUs
//! `gpu` in which.
//!
//! A message goes along its row first, then along its column, so that no cycle of waiting routers is possible within a network; one for another GPU goes east, where the [rails](super::rails) begin. The
//! networks share the wires of a link and nothing else: one whose next place is taken does not ask for the link, so none ever waits for another. A message goes on in the cycle after it has come and
//! occupies its link for as many cycles as it has flits (cut-through).
//!
//! # Picture
//!
#![doc = include_str!("../../pictures/spandex-router.svg")]

use super::NETS;
use super::NetParams;
use super::link::LinkParams;
use crate::msg::{Fwd, Req, Routed, Rsp, Wb};
use crate::params::{Spandex, spandex_from, spandex_params};
use std::sync::Arc;
use weft_blocks::common::arbiter::{Pick, RoundRobin};
use weft_blocks::common::grid::Grid;
use weft_blocks::registry::{BlockError, BlockInfo, ParamInfo};
use weft_rtl::prelude::*;

/// Name of the block.
pub const BLOCK: &str = "spandex-router";

/// Ports of a router: the node's own, then the neighbours'.
pub const OWN: u64 = 0;
/// See [`OWN`].
pub const EAST: u64 = 1;
/// See [`OWN`].
pub const WEST: u64 = 2;
/// See [`OWN`].
pub const NORTH: u64 = 3;
/// See [`OWN`].
pub const SOUTH: u64 = 4;
/// See [`OWN`].
pub const PORTS: u32 = 5;

/// Races at a link, for the ledger.
const RACES: [(&str, &str); 4] = [
    ("nets_meet", "two virtual networks ask for one link"),
    ("inputs_meet", "messages of one network from two sides ask for one link"),
    (
        "blocked_is_passed",
        "a network takes a link that a message of another cannot, for its next place is taken",
    ),
    ("link_is_busy", "a message waits while flits of another are on its link"),
];

/// One virtual network in a router.
struct Lane<T: Routed> {
    ins: Vec<InChannel<T>>,
    outs: Vec<OutChannel<T>>,
    /// By input: the output that its message wants, one-hot; zero without one.
    wants: Vec<Bits>,
    flits: Vec<Bits>,
}

/// A lane, whatever its messages are.
pub(crate) trait AnyLane {
    /// Inputs whose messages go to this output.
    fn wants(&self, output: u32) -> Bits;
    /// Inputs that could send on this output now.
    fn requests(&self, output: u32) -> Bits;
    /// Sends the message of an input; its length.
    fn send(&self, output: u32, input: Bits) -> Bits;
    /// Takes the messages of these inputs.
    fn take(&self, inputs: Bits);
}

impl<T: Routed> Lane<T> {
    fn new(name: &str, s: &Spandex, way: &impl Fn(Bits) -> Bits) -> Lane<T> {
        let port = |p: u32| in_channel::<T>(&format!("{name}_in{p}"), s);
        let ins: Vec<InChannel<T>> = (0..PORTS).map(port).collect();
        let wants = ins
            .iter()
            .enumerate()
            .map(|(i, c)| {
                let to = way(c.msg.to(s)).one_hot(PORTS) & c.valid.repeat(PORTS);
                to.named(&format!("{name}_wants{i}"))
            })
            .collect();
        let flits = ins.iter().map(|c| c.msg.flits(s)).collect();
        let outs = (0..PORTS).map(|p| out_channel::<T>(&format!("{name}_out{p}"), s)).collect();
        Lane { ins, outs, wants, flits }
    }
}

impl<T: Routed> AnyLane for Lane<T> {
    fn wants(&self, output: u32) -> Bits {
        let wants: Vec<Bool> = self.wants.iter().map(|w| w.bit(output)).collect();
        pack_bools(&wants)
    }
    fn requests(&self, output: u32) -> Bits {
        self.wants(output) & self.outs[output as usize].free.repeat(PORTS)
    }
    fn send(&self, output: u32, input: Bits) -> Bits {
        switch_bits(input, |arms| {
            for (i, channel) in self.ins.iter().enumerate() {
                arms.case(i as u64, || self.outs[output as usize].send(&channel.msg));
            }
        });
        select(&self.flits, input)
    }
    fn take(&self, inputs: Bits) {
        for (i, channel) in self.ins.iter().enumerate() {
            when(inputs.bit(i as u32), || channel.take());
        }
    }
}

/// Which output a message takes to a node; `nodes` says where in the mesh each node of the system stands.
fn way(grid: Grid, nodes: &[u32], x: Bits, y: Bits, node: Bits) -> Bits {
    let to = grid.place(nodes, node);
    let port = |number: u64| lit(number, 3);
    let column = mux(to.y.gt(y), port(SOUTH), mux(to.y.lt(y), port(NORTH), port(OWN)));
    mux(to.x.gt(x), port(EAST), mux(to.x.lt(x), port(WEST), column))
}

/// One output: a network in turn, and of it an input in turn, when the link is idle. By network: the inputs granted; and which of the races there are.
fn output_link(
    j: u32,
    s: &Spandex,
    names: &[&str],
    lanes: &[Box<dyn AnyLane>],
) -> (Vec<Bits>, [Bool; RACES.len()]) {
    let left = reg::<Bits>(&format!("left{j}"), s.flit_bits()).doc("flits that the link has still to carry");
    let turns: Vec<RoundRobin> =
        names.iter().map(|net| RoundRobin::new(&format!("{net}_turn{j}"), PORTS)).collect();
    let picks: Vec<Pick> = lanes.iter().zip(&turns).map(|(lane, turn)| turn.pick(lane.requests(j))).collect();
    let nets = RoundRobin::new(&format!("net_turn{j}"), names.len() as u32);
    let asked: Vec<Bool> = picks.iter().map(|p| p.any).collect();
    let asked = pack_bools(&asked).named(&format!("asked{j}"));
    let idle = left.get().none();
    let net = nets.pick(asked & idle.repeat(names.len() as u32));
    when(!idle, || left.set(left.get() - 1));
    let granted = |v: usize| {
        let mine = (net.any & net.index.eq(v as u64)).named(&format!("{}_goes{j}", names[v]));
        when(mine, || {
            let flits = lanes[v].send(j, picks[v].index);
            left.set(flits - 1);
            turns[v].granted(picks[v].index);
            nets.granted(net.index);
        });
        picks[v].index.one_hot(PORTS) & mine.repeat(PORTS)
    };
    let grants = (0..names.len()).map(granted).collect();
    count(&format!("link{j}_busy"), net.any | !idle, "cycles in which the link carried a flit");
    let waits = asked.any() & !idle;
    count(&format!("link{j}_waits"), waits, "cycles in which a message waited for the link");
    let several = |of: Bits| of.popcount().zext(8).ge(2);
    let inputs: Vec<Bool> = lanes.iter().map(|lane| several(lane.requests(j))).collect();
    let blocked: Vec<Bool> = lanes.iter().zip(&picks).map(|(lane, p)| lane.wants(j).any() & !p.any).collect();
    let passes = net.any & pack_bools(&blocked).any();
    (grants, [several(asked), pack_bools(&inputs).any(), passes, waits])
}

/// A virtual network of a router: its name in port names, and how its lane is declared.
pub(crate) struct Vn {
    pub name: &'static str,
    pub lane: fn(&str, &Spandex, &dyn Fn(Bits) -> Bits) -> Box<dyn AnyLane>,
}

impl Vn {
    /// One of these messages.
    pub fn of<T: Routed + 'static>(name: &'static str) -> Vn {
        Vn { name, lane: |name, s, way| Box::new(Lane::<T>::new(name, s, &way)) }
    }
}

/// Builds a router of a mesh in which node `n` of the system stands at place `nodes[n]`.
///
/// # Errors
/// What the language refuses.
pub fn router(name: &str, s: &Spandex, grid: Grid, nodes: &[u32]) -> Result<Arc<Module>, BlockError> {
    let nets =
        [Vn::of::<Req>(NETS[0]), Vn::of::<Fwd>(NETS[1]), Vn::of::<Wb>(NETS[2]), Vn::of::<Rsp>(NETS[3])];
    router_of(name, s, grid, nodes, &nets)
}

/// Builds a router whose links these virtual networks share.
pub(crate) fn router_of(
    name: &str,
    s: &Spandex,
    grid: Grid,
    nodes: &[u32],
    nets: &[Vn],
) -> Result<Arc<Module>, BlockError> {
    let built = Module::build(name, ModuleKind::Block, || {
        doc("Router of a mesh: its virtual networks share the links, a flit per cycle.");
        param("columns", grid.columns);
        param("rows", grid.rows);
        let (x, y) = (input::<Bits>("x", grid.x_bits()), input::<Bits>("y", grid.y_bits()));
        let width = bits_for(nodes.len() as u64);
        let local: Vec<u32> = nodes.iter().map(|place| place % grid.nodes()).collect();
        let gpus = bits_for(u64::from(s.gpus));
        let own = (s.gpus > 1).then(|| input::<Bits>("gpu", gpus));
        let gpu: Vec<Bits> = nodes.iter().map(|place| lit(u64::from(place / grid.nodes()), gpus)).collect();
        let way = |node: Bits| {
            let node = node.zext(width);
            let here = way(grid, &local, x, y, node);
            own.map_or(here, |own| mux(select(&gpu, node).ne(own), lit(EAST, 3), here))
        };
        let lanes: Vec<Box<dyn AnyLane>> = nets.iter().map(|vn| (vn.lane)(vn.name, s, &way)).collect();
        let names: Vec<&str> = nets.iter().map(|vn| vn.name).collect();
        let (grants, races): (Vec<_>, Vec<_>) = (0..PORTS).map(|j| output_link(j, s, &names, &lanes)).unzip();
        for (r, (id, text)) in RACES.into_iter().enumerate() {
            let at: Vec<Bool> = races.iter().map(|races| races[r]).collect();
            cover(&format!("spandex.race.router_{id}"), pack_bools(&at).any(), text);
        }
        for (v, lane) in lanes.iter().enumerate() {
            let all = grants[1..].iter().fold(grants[0][v], |all, output| all | output[v]);
            lane.take(all.named(&format!("{}_granted", names[v])));
        }
    });
    built.map_err(|errors| BlockError::Elab { block: BLOCK.into(), errors })
}

/// The block by name: a router of the mesh in which devices and banks stand at the published places, of several meshes if there are several GPUs.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: BLOCK,
        about: "Router of a mesh: its virtual networks share the links, a flit per cycle",
        params: || {
            let size = |name, about| ParamInfo { name, default: "4".into(), legal: "1..16", about };
            let mut list = vec![size("columns", "columns of the mesh"), size("rows", "rows of the mesh")];
            let about = "GPUs, each with a mesh and an equal share of all else";
            list.push(ParamInfo { name: "gpus", default: "1".into(), legal: "1, 2, 4 or 8", about });
            list.extend(spandex_params());
            list
        },
        build: |set| {
            let size = |key| set.within(key, 1, 16).map(|v| v as u32);
            let grid = Grid { columns: size("columns")?, rows: size("rows")? };
            let base = spandex_from(set)?;
            let gpus = set.within("gpus", 1, 8)? as u32;
            // The largest memories that there can be: the router does not depend on them.
            let s = Spandex { gpus, home_shift: base.addr_bits - gpus.ilog2(), ..base };
            s.validate_gpus().map_err(|e| e.of(BLOCK))?;
            // Nor on the links.
            let link = (gpus > 1).then_some(LinkParams { bytes: 10, latency: 140, credits: 64 });
            NetParams { link, ..NetParams::spread(&s, grid) }.router(&s)
        },
    }
}

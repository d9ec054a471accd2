//! A mesh of routers with XY routing, for any message (srsp.md section 10: the 128-CU study's network).
//!
//! ```text
//!  in0, out0      in1, out1      in2, out2
//!     |              |              |
//!  router0 -link- router1 -link- router2      a row: columns 0, 1, ...
//!     |              |              |
//!    link           link           link
//!     |              |              |
//!  router3 -link- router4 -link- router5
//! ```
//! A router is a crossbar of five ports (the node's own, east, west, north, south) and takes one cycle, a link takes another: two cycles per hop, and one to leave the router at the
//! end. Each port takes and gives one message per cycle. A message goes along its row first, then along its column; no cycle of waiting routers is possible, and messages from one node to
//! another keep their order.
//!
//! Networks that must not wait for one another are meshes of their own. Instances: `routerN`, and the links that leave a node, `eastN`, `westN`, `northN`, `southN`.

use crate::params::within;
use std::cell::OnceCell;
use weft_blocks::common::crossbar::crossbar;
pub use weft_blocks::common::grid::{Grid, Place};
use weft_blocks::common::join::{pass_in, pass_out, silence};
use weft_blocks::common::wait::Wait;
use weft_blocks::registry::BlockError;
use weft_rtl::prelude::*;

/// Ports of a router: the node's own, then the neighbours'.
const OWN: u64 = 0;
const EAST: u64 = 1;
const WEST: u64 = 2;
const NORTH: u64 = 3;
const SOUTH: u64 = 4;
const PORTS: u32 = 5;

/// A router; its place is an input, so that all are one module.
fn router<T: Data>(
    name: &str,
    grid: Grid,
    shape: &T::Shape,
    dest: &impl Fn(&T) -> Place,
) -> Result<Arc<Module>, ElabErrors> {
    let here = OnceCell::new();
    crossbar::<T>(name, PORTS, PORTS, shape, |m| {
        let (x, y) =
            *here.get_or_init(|| (input::<Bits>("x", grid.x_bits()), input::<Bits>("y", grid.y_bits())));
        let to = dest(m);
        let port = |number: u64| lit(number, 3);
        let column = mux(to.y.gt(y), port(SOUTH), mux(to.y.lt(y), port(NORTH), port(OWN)));
        mux(to.x.gt(x), port(EAST), mux(to.x.lt(x), port(WEST), column))
    })
}

/// Builds a mesh: channels `in{n}`, `out{n}` for each node. `dest` gives a message's destination. `name` tells message type, parameters and rule apart.
///
/// # Errors
/// A size outside 1..16.
pub fn mesh<T: Data>(
    name: &str,
    grid: Grid,
    shape: &T::Shape,
    dest: impl Fn(&T) -> Place,
) -> Result<Arc<Module>, BlockError> {
    for (key, value) in [("columns", grid.columns), ("rows", grid.rows)] {
        within("mesh", (key, value), (1, 16))?;
    }
    let error = |errors| BlockError::Elab { block: "mesh".into(), errors };
    let router = router(&format!("{name}_router"), grid, shape, &dest).map_err(error)?;
    let link = Wait::new::<T>("mesh", &format!("{name}_link"), 1, shape)?;
    let built = Module::build(name, ModuleKind::Fabric, || {
        doc("Mesh of routers with XY routing: two cycles per hop.");
        param("columns", grid.columns);
        param("rows", grid.rows);
        let routers: Vec<InstanceRef> =
            (0..grid.nodes()).map(|n| instance(&format!("router{n}"), &router)).collect();
        for (n, here) in routers.iter().enumerate() {
            place::<T>(grid, n as u32, here, shape);
            let n = n as u32;
            let east = (n % grid.columns + 1 < grid.columns).then_some(n + 1);
            let south = (n / grid.columns + 1 < grid.rows).then_some(n + grid.columns);
            let join = |name: &str, from: u32, away: u64, to: u32, back: u64| {
                let [from_node, to_node] = [from, to].map(|node| &routers[node as usize]);
                let (out, into) = (format!("out{away}"), format!("in{back}"));
                link.join::<T>(&format!("{name}{from}"), (from_node, &out), (to_node, &into), shape);
            };
            if let Some(to) = east {
                join("east", n, EAST, to, WEST);
                join("west", to, WEST, n, EAST);
            }
            if let Some(to) = south {
                join("south", n, SOUTH, to, NORTH);
                join("north", to, NORTH, n, SOUTH);
            }
        }
    });
    built.map_err(error)
}

/// Tells a router where it stands, and closes ports without a neighbour.
fn place<T: Data>(grid: Grid, n: u32, router: &InstanceRef, shape: &T::Shape) {
    let (x, y) = (n % grid.columns, n / grid.columns);
    router.drive_bits("x", lit(u64::from(x), grid.x_bits()));
    router.drive_bits("y", lit(u64::from(y), grid.y_bits()));
    pass_in::<T>(router, &format!("in{OWN}"), &format!("in{n}"), shape);
    pass_out::<T>(router, &format!("out{OWN}"), &format!("out{n}"), shape);
    let edges = [(EAST, x + 1 == grid.columns), (WEST, x == 0), (NORTH, y == 0), (SOUTH, y + 1 == grid.rows)];
    for (port, _) in edges.into_iter().filter(|edge| edge.1) {
        silence::<T>(router, &format!("in{port}"), shape);
        router.drive_bits(&format!("out{port}_ready"), lit(1, 1));
    }
}

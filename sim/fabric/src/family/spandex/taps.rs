//! What enters the meshes of a system, looked at without hardware of its own: the routers' own inputs.

use super::SpandexSystem;
use std::sync::Arc;
use weft_engine::Sim;
use weft_spandex::net::router::OWN;

/// A message as the fields looked at show it, in their order.
pub(super) type Fields = [u64; 8];

/// Where a router's own input of a network lies in its state.
#[derive(Clone, Debug)]
struct Tap {
    lane: usize,
    valid: usize,
    ready: usize,
    fields: Vec<usize>,
}

/// The own inputs of a router.
#[derive(Clone, Debug)]
struct Router {
    unit: usize,
    /// Its place.
    at: u32,
    taps: Vec<Tap>,
}

/// All routers of a system.
#[derive(Clone)]
pub(super) struct Taps {
    routers: Arc<[Router]>,
}

impl Taps {
    /// Those of virtual networks by name, each with the fields to be looked at, eight at most; `None` when the system's instances have other names.
    pub fn find(sim: &Sim, system: &SpandexSystem, lanes: &[(&str, &[&str])]) -> Option<Taps> {
        let count = system.s.gpus * system.net.grid.nodes();
        let routers: Option<Vec<Router>> = (0..count).map(|at| router(sim, at, lanes)).collect();
        Some(Taps { routers: routers?.into() })
    }

    /// Calls with each message that enters in the present cycle: the router's place, the number of the network in the list given, the fields.
    pub fn each(&self, sim: &Sim, mut f: impl FnMut(u32, usize, &Fields)) {
        for router in self.routers.iter().filter(|router| sim.is_awake(router.unit)) {
            let state = sim.state(router.unit);
            for tap in &router.taps {
                if state[tap.valid] & state[tap.ready] & 1 == 1 {
                    let mut fields = [0; 8];
                    tap.fields.iter().zip(&mut fields).for_each(|(at, field)| *field = state[*at]);
                    f(router.at, tap.lane, &fields);
                }
            }
        }
    }
}

fn router(sim: &Sim, at: u32, lanes: &[(&str, &[&str])]) -> Option<Router> {
    let design = sim.design();
    let path = format!("router{at}");
    let unit = design.units.iter().position(|unit| unit.path == path)?;
    let ty = &design.types[design.units[unit].ty];
    let input = |name: &str| {
        let number = ty.netlist.inputs.iter().position(|port| port.name == name)?;
        Some(ty.layout.inputs[number])
    };
    let register = |name: &str| {
        let number = ty.netlist.regs.iter().position(|reg| reg.path == name)?;
        Some(ty.layout.regs[number])
    };
    let tap = |(lane, (net, fields)): (usize, &(&str, &[&str]))| {
        let port = format!("{net}_in{OWN}");
        let fields = fields.iter().map(|field| input(&format!("{port}_{field}"))).collect::<Option<_>>()?;
        Some(Tap {
            lane,
            valid: input(&format!("{port}_valid"))?,
            ready: register(&format!("{port}_ready"))?,
            fields,
        })
    };
    Some(Router { unit, at, taps: lanes.iter().enumerate().map(tap).collect::<Option<_>>()? })
}

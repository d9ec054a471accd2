//! A whole GPU with scoped synchronisation (srsp.md sections 1 and 10): L1s, the hub of their probes, L2 banks, links between them; CUs and memory channels are outside. [`hlrc`]: the
//! same with hLRC or DeNovo-B.
//!
//! ```text
//!  cu0 -- l1_0 -- req, wb: link -- router -+-- bank0 -- mem0
//!  cu1 -- l1_1 -- req, wb: link -- router -+-- bank1 -- mem1
//!          ^------ crossbar of rsp -- link <--+
//!          |
//!          +-- probe_out, pack_out: link -- hub -- link: probe, pack --> every L1
//! ```
//! Ports of [`srsp_fabric`], with C the CU and B the bank:
//!
//! | port | dir | message |
//! | --- | --- | --- |
//! | `g0_cuC_req`, `g0_cuC_rsp` | in, out | [`CuReq`], [`CuRsp`] of [`Srsp::cu`](crate::params::Srsp::cu), as in every family |
//! | `g0_cuC_stall` | out | why the L1 does not take a request |
//! | `g0_cuC_busy_release` | out | an operation of several steps is at work in the L1 |
//! | `memB_req`, `memB_rsp` | out, in | [`MemReq`], [`MemRsp`] of a bank; kept in order per line, answers are always taken |
//!
//! Instances: `l1_C`, `bankB`, `hub`, `req_routerC`, `wb_routerC`, `rsp_xbar`, and on each link `..._linkC`.
//!
//! A message takes `link` cycles from the L1's output to the bank's input, and as many back: one per cycle and port. REQ and WB have links and routers of their own, so that
//! neither waits for the other; behind one link messages keep their order, also those of different banks: a request that waits for a lock holds up its L1's later requests, never what the
//! lock's owner needs (PROBE, WB and RSP always drain). To and from the hub a link takes as long, beside the hub's own stages.
//!
//! With `columns` three meshes (`req_mesh`, `wb_mesh`, `rsp_mesh`) are in the place of routers, crossbar and links between L1s and banks, as in [`hlrc`]; the hub keeps its links. A bank's
//! queue of an L1 has a place for each MSHR and one for the operation of several steps.

pub mod hlrc;
mod meshes;
mod params;

pub use hlrc::{
    DenovoFabricParams, HlrcFabricParams, Network, RegisteringFabricParams, System, registering_fabric,
};
pub use meshes::ToL1;
pub use params::SrspFabricParams;

use crate::l1::srsp_l1;
use crate::l2::srsp_l2;
use crate::msg::*;
use crate::params::Srsp;
use crate::sel_hub::sel_hub;
use meshes::Meshes;
use weft_blocks::common::crossbar::crossbar;
use weft_blocks::common::join::{pass_in, pass_out, silence};
use weft_blocks::common::wait::Wait;
use weft_blocks::msg::{CuReq, CuRsp};
use weft_blocks::registry::BlockError;
use weft_rtl::prelude::*;

/// Where the parts are placed, for errors.
const BLOCK: &str = "srsp-fabric";
const BLOCK_HLRC: &str = "hlrc-fabric";

/// Modules between L1s and banks.
enum Between {
    Flat(Flat),
    Mesh(Meshes),
}

/// Routers and a crossbar on links.
struct Flat {
    req_router: Arc<Module>,
    wb_router: Arc<Module>,
    rsp_xbar: Arc<Module>,
    req_link: Wait,
    wb_link: Wait,
    rsp_link: Wait,
}

fn part(made: Result<Arc<Module>, ElabErrors>) -> Result<Arc<Module>, BlockError> {
    made.map_err(|errors| BlockError::Elab { block: BLOCK.into(), errors })
}

impl Flat {
    fn new(s: &Srsp, link: u32) -> Result<Flat, BlockError> {
        let name = |what: &str| format!("srsp_{what}_{}", s.tag());
        let bank = |addr: Bits| s.bank_of(s.line_of(addr));
        // A router or crossbar takes one cycle of its link itself.
        let further = link - 1;
        Ok(Flat {
            req_router: part(crossbar::<Req>(&name("req_router"), 1, s.banks, s, |m| bank(m.atomic.addr)))?,
            wb_router: part(crossbar::<Wb>(&name("wb_router"), 1, s.banks, s, |m| bank(m.atomic.addr)))?,
            rsp_xbar: part(crossbar::<Rsp>(&name("rsp_xbar"), s.banks, s.cus, s, |m| m.dst))?,
            req_link: Wait::new::<Req>(BLOCK, &name("req_link"), further, s)?,
            wb_link: Wait::new::<Wb>(BLOCK, &name("wb_link"), further, s)?,
            rsp_link: Wait::new::<Rsp>(BLOCK, &name("rsp_link"), further, s)?,
        })
    }

    fn wire(&self, s: &Srsp, l1s: &[InstanceRef], banks: &[InstanceRef], instances: &Routers) {
        let Routers { req: reqs, wb: wbs, rsp } = instances;
        for (c, l1) in l1s.iter().enumerate() {
            let (req, wb) = (&reqs[c], &wbs[c]);
            self.req_link.join::<Req>(&format!("req_link{c}"), (l1, "req"), (req, "in0"), s);
            self.wb_link.join::<Wb>(&format!("wb_link{c}"), (l1, "wb"), (wb, "in0"), s);
            for (b, bank) in banks.iter().enumerate() {
                connect::<Req>(req, &format!("out{b}"), bank, &format!("req{c}"), s);
                connect::<Wb>(wb, &format!("out{b}"), bank, &format!("wb{c}"), s);
            }
            connect::<Rsp>(rsp, &format!("out{c}"), l1, "rsp", s);
        }
        for (b, bank) in banks.iter().enumerate() {
            let (from, input) = ((bank, "rsp"), format!("in{b}"));
            self.rsp_link.join::<Rsp>(&format!("rsp_link{b}"), from, (rsp, &input), s);
        }
    }
}

/// Instances of [`Flat`].
struct Routers {
    req: Vec<InstanceRef>,
    wb: Vec<InstanceRef>,
    rsp: InstanceRef,
}

/// Modules of a GPU; equal parts are one module.
struct Parts {
    l1: Arc<Module>,
    bank: Arc<Module>,
    hub: Option<Arc<Module>>,
    network: Between,
    cast_link: Wait,
    probe_link: Wait,
    pack_link: Wait,
}

impl Parts {
    fn new(p: &SrspFabricParams) -> Result<Parts, BlockError> {
        p.validate()?;
        let s = p.srsp();
        let name = |what: &str| format!("srsp_{what}_{}", s.tag());
        let network = match p.grid() {
            Some((grid, nodes)) => Between::Mesh(Meshes::new::<Probe>(s, grid, nodes, s.mshrs + 1, false)?),
            None => Between::Flat(Flat::new(s, p.link)?),
        };
        Ok(Parts {
            l1: srsp_l1(&p.l1)?,
            bank: srsp_l2(&p.l2)?,
            hub: p.hub().map(|hub| sel_hub(&hub)).transpose()?,
            network,
            cast_link: Wait::new::<Cast>(BLOCK, &name("cast_link"), p.link, s)?,
            probe_link: Wait::new::<Probe>(BLOCK, &name("probe_link"), p.link, s)?,
            pack_link: Wait::new::<Pack>(BLOCK, &name("pack_link"), p.link, s)?,
        })
    }
}

/// Builds the GPU.
///
/// # Errors
/// A parameter that the GPU or one of its blocks refuses.
pub fn srsp_fabric(p: &SrspFabricParams) -> Result<Arc<Module>, BlockError> {
    let parts = Parts::new(p)?;
    let built = Module::build(&p.module_name(), ModuleKind::Fabric, || {
        doc(
            "A whole GPU with scoped synchronisation: L1s, hub, L2 banks; CUs and memory channels are outside.",
        );
        param("cus", p.srsp().cus);
        param("banks", p.srsp().banks);
        param("impl", p.l1.system.word());
        param("link", p.link);
        if p.columns > 0 {
            param("columns", p.columns);
        }
        Placed::new(p.srsp(), &parts).wire();
    });
    built.map_err(|errors| BlockError::Elab { block: BLOCK.into(), errors })
}

/// The instances of a GPU.
struct Placed<'a> {
    s: &'a Srsp,
    parts: &'a Parts,
    l1s: Vec<InstanceRef>,
    banks: Vec<InstanceRef>,
    routers: Option<Routers>,
    hub: Option<InstanceRef>,
}

impl<'a> Placed<'a> {
    fn new(s: &'a Srsp, parts: &'a Parts) -> Placed<'a> {
        let many = |name: &str, module: &Arc<Module>, n: u32| -> Vec<InstanceRef> {
            (0..n).map(|i| instance(&format!("{name}{i}"), module)).collect()
        };
        let routers = |flat: &Flat| Routers {
            req: many("req_router", &flat.req_router, s.cus),
            wb: many("wb_router", &flat.wb_router, s.cus),
            rsp: instance("rsp_xbar", &flat.rsp_xbar),
        };
        Placed {
            s,
            parts,
            l1s: many("l1_", &parts.l1, s.cus),
            banks: many("bank", &parts.bank, s.banks),
            routers: match &parts.network {
                Between::Flat(flat) => Some(routers(flat)),
                Between::Mesh(_) => None,
            },
            hub: parts.hub.as_ref().map(|hub| instance("hub", hub)),
        }
    }

    fn wire(&self) {
        self.export_cus();
        self.wire_requests();
        self.wire_banks();
        match &self.hub {
            Some(hub) => self.wire_hub(hub),
            None => self.close_probes(),
        }
    }

    fn export_cus(&self) {
        let cu = self.s.cu();
        for (c, l1) in self.l1s.iter().enumerate() {
            l1.drive_bits("own", lit(c as u64, self.s.cu_bits()));
            pass_in::<CuReq>(l1, "cu_req", &format!("g0_cu{c}_req"), &cu);
            pass_out::<CuRsp>(l1, "cu_rsp", &format!("g0_cu{c}_rsp"), &cu);
            for state in ["stall", "busy_release"] {
                let value = l1.out_bits(state);
                output::<Bits>(&format!("g0_cu{c}_{state}"), value.width()).set(value);
            }
        }
    }

    fn wire_requests(&self) {
        match (&self.parts.network, &self.routers) {
            (Between::Flat(flat), Some(routers)) => flat.wire(self.s, &self.l1s, &self.banks, routers),
            (Between::Mesh(meshes), _) => meshes.wire::<Probe>(self.s, &self.l1s, &self.banks),
            (Between::Flat(_), None) => {}
        }
    }

    fn wire_banks(&self) {
        let s = self.s;
        for (b, bank) in self.banks.iter().enumerate() {
            bank.drive_bits("own", lit(b as u64, s.bank_bits()));
            pass_out::<MemReq>(bank, "mem_req", &format!("mem{b}_req"), s);
            pass_in::<MemRsp>(bank, "mem_rsp", &format!("mem{b}_rsp"), s);
        }
    }

    fn wire_hub(&self, hub: &InstanceRef) {
        let (s, parts) = (self.s, self.parts);
        for (c, l1) in self.l1s.iter().enumerate() {
            let port = |name: &str| format!("{name}{c}");
            let link = |name: &str| format!("{name}_link{c}");
            parts.cast_link.join::<Cast>(&link("cast"), (l1, "probe_out"), (hub, &port("cast")), s);
            parts.probe_link.join::<Probe>(&link("probe"), (hub, &port("probe")), (l1, "probe"), s);
            parts.pack_link.join::<Pack>(&link("pack_in"), (l1, "pack_out"), (hub, &port("pack_in")), s);
            parts.pack_link.join::<Pack>(&link("pack"), (hub, &port("pack")), (l1, "pack"), s);
        }
    }

    /// Without remote operations nobody probes.
    fn close_probes(&self) {
        for l1 in &self.l1s {
            silence::<Probe>(l1, "probe", self.s);
            silence::<Pack>(l1, "pack", self.s);
            for out in ["probe_out", "pack_out"] {
                l1.drive_bits(&format!("{out}_ready"), lit(1, 1));
            }
        }
    }
}

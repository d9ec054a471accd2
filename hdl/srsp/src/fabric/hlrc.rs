//! A whole GPU with hLRC (srsp.md sections 9 and 10) or DeNovo-B (denovo-b.md): L1s, L2 banks that keep the owners of lines, and the network between them; CUs and memory channels are outside.
//!
//! ```text
//!  cu0 -- l1_0 -- req, wb --> +---------+ --> bank0 -- mem0
//!  cu1 -- l1_1 -- req, wb --> | network | --> bank1 -- mem1
//!          ^---- rsp, probe --+---------+ <-- rsp, probe
//! ```
//! Ports of [`registering_fabric`] are those of [`srsp_fabric`](super::srsp_fabric). Instances: `l1_C`, `bankB`, and the network's.
//!
//! REQ, WB, RSP and PROBE have links of their own, so that none waits for another; WB keeps its order from each L1 to each bank. The network is one of two:
//!
//! - *flat*: a router behind each L1, a crossbar in front of all, on links of `link` cycles each way, one message per cycle and port (`req_routerC`, `wb_routerC`, `rsp_xbar`,
//!   `probe_xbar`, and on each link `..._linkC` or `..._linkB`). A REG that waits at its bank holds up its L1's later requests, nobody else's.
//! - *mesh*: four meshes (`req_mesh`, `wb_mesh`, `rsp_mesh`, `probe_mesh`) in which CU c is at node c and the banks, each with its memory channel, are spread evenly. Messages of different
//!   L1s share its links, so each bank has a queue per L1 (`req_queueN`, N = B * CUs + C) with a place for each of the L1's MSHRs: what waits there holds up no link.

use super::meshes::{Meshes, ToL1, built, fits, placed};
use crate::denovo_b_l1::{DenovoInject, denovo_b_l1};
use crate::hlrc_l1::{HlrcInject, hlrc_l1};
use crate::hlrc_l2::{HlrcL2Params, Registered, hlrc_l2};
use crate::mesh::Grid;
use crate::msg::*;
use crate::params::{Srsp, check, within};
use crate::registering::{Faults, RegisteringParams};
use weft_blocks::common::crossbar::crossbar;
use weft_blocks::common::join::{pass_in, pass_out};
use weft_blocks::common::wait::Wait;
use weft_blocks::msg::{CuReq, CuRsp};
use weft_blocks::registry::BlockError;
use weft_rtl::prelude::*;

/// What lies between L1s and banks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Network {
    /// Crossbars on links of so many cycles each way, 1..64: LINK_LAT.
    Flat {
        /// Cycles.
        link: u32,
    },
    /// A mesh of so many columns, 1..16; rows of CUs fill it, at most 16.
    Mesh {
        /// Columns.
        columns: u32,
    },
}

/// A system whose L1s register lines, told from the other by the faults of its L1.
pub trait System: Faults {
    /// What the banks ask L1s.
    type Probe: ToL1;
    /// The lines that its L1s register.
    const REGISTERED: Registered;
    /// Name of its fabric, for errors.
    const FABRIC: &'static str;
    /// What it is called.
    const TITLE: &'static str;
    /// Builds the L1.
    ///
    /// # Errors
    /// Illegal parameters.
    fn l1(p: &RegisteringParams<Self>) -> Result<Arc<Module>, BlockError>;
}

impl System for HlrcInject {
    type Probe = Probe;
    const REGISTERED: Registered = Registered::Atomics;
    const FABRIC: &'static str = "hlrc-fabric";
    const TITLE: &'static str = "hLRC";
    fn l1(p: &RegisteringParams<HlrcInject>) -> Result<Arc<Module>, BlockError> {
        hlrc_l1(p)
    }
}

impl System for DenovoInject {
    type Probe = OwnerProbe;
    const REGISTERED: Registered = Registered::Writes;
    const FABRIC: &'static str = "denovo-b-fabric";
    const TITLE: &'static str = "DeNovo-B";
    fn l1(p: &RegisteringParams<DenovoInject>) -> Result<Arc<Module>, BlockError> {
        denovo_b_l1(p)
    }
}

/// What fixes a GPU with hLRC.
pub type HlrcFabricParams = RegisteringFabricParams<HlrcInject>;
/// What fixes a GPU with DeNovo-B.
pub type DenovoFabricParams = RegisteringFabricParams<DenovoInject>;

/// What fixes a GPU whose L1s register lines (srsp.md sections 2 and 10).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RegisteringFabricParams<I> {
    /// The L1s.
    pub l1: RegisteringParams<I>,
    /// The banks; of the same widths.
    pub l2: HlrcL2Params,
    /// The network.
    pub network: Network,
}

impl<I: System> RegisteringFabricParams<I> {
    /// The GPU of the hLRC study: 128 L1s of 16 KB, 4 MB of L2 in 4 banks, a mesh of 16 columns and 8 rows.
    pub fn published() -> RegisteringFabricParams<I> {
        let srsp = Srsp { cus: 128, ..Srsp::default() };
        RegisteringFabricParams::of(srsp, Network::Mesh { columns: 16 })
    }

    /// The published sizes at other widths.
    pub fn of(srsp: Srsp, network: Network) -> RegisteringFabricParams<I> {
        let l2 = HlrcL2Params::published(srsp.clone()).of(I::REGISTERED);
        RegisteringFabricParams { l1: RegisteringParams::published(srsp), l2, network }
    }

    /// Message widths, and numbers of L1s and banks.
    pub fn srsp(&self) -> &Srsp {
        &self.l1.shape.srsp
    }

    /// Module name, unique per parameters.
    pub fn module_name(&self) -> String {
        let (l1, l2) = (self.l1.module_name(), self.l2.module_name());
        let cut = |name: String, head: &str| name.strip_prefix(head).map_or(name.clone(), str::to_string);
        // Said once: some tools cut names at 127 characters.
        let l2 = cut(l2, &format!("{}_l2_", I::Probe::HEAD)).replace(&format!("_{}", self.srsp().tag()), "");
        let network = match self.network {
            Network::Flat { link } => format!("k{link}"),
            Network::Mesh { columns } => format!("mesh{columns}"),
        };
        format!("{}_gpu_{}__{l2}_{network}", I::Probe::HEAD, cut(l1, &format!("{}_", I::HEAD)))
    }

    /// The mesh, and the nodes of the banks.
    pub fn grid(&self) -> Option<(Grid, Vec<u32>)> {
        match self.network {
            Network::Mesh { columns } => Some(placed(self.srsp(), columns)),
            Network::Flat { .. } => None,
        }
    }

    /// Checks what joins the parts.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self) -> Result<(), BlockError> {
        let same = self.l1.shape.srsp == self.l2.bank.srsp;
        let says = ("L1s and banks are of different widths", "widths of the L1s");
        check(I::FABRIC, same, ("l2", self.l2.module_name()), says)?;
        let same = self.l2.registered == I::REGISTERED;
        let says = ("L1s and banks are of different protocols", "banks of the L1s' protocol");
        check(I::FABRIC, same, ("l2", self.l2.module_name()), says)?;
        match self.network {
            Network::Flat { link } => within(I::FABRIC, ("link", link), (1, 64)),
            Network::Mesh { columns } => fits(I::FABRIC, self.srsp(), columns),
        }
    }
}

/// Modules of a flat network.
struct Flat {
    req_router: Arc<Module>,
    wb_router: Arc<Module>,
    rsp_xbar: Arc<Module>,
    probe_xbar: Arc<Module>,
    req_link: Wait,
    wb_link: Wait,
    rsp_link: Wait,
    probe_link: Wait,
}

impl Flat {
    fn new<I: System>(s: &Srsp, link: u32) -> Result<Flat, BlockError> {
        let own = |what: &str| format!("{}_{what}_{}", I::Probe::HEAD, s.tag());
        let name = |what: &str| format!("hlrc_{what}_{}", s.tag());
        let bank = |addr: Bits| s.bank_of(s.line_of(addr));
        // A router or crossbar takes one cycle of its link itself.
        let further = link - 1;
        let block = I::FABRIC;
        Ok(Flat {
            req_router: built(crossbar::<Req>(&name("req_router"), 1, s.banks, s, |m| bank(m.atomic.addr)))?,
            wb_router: built(crossbar::<Wb>(&name("wb_router"), 1, s.banks, s, |m| bank(m.atomic.addr)))?,
            rsp_xbar: built(crossbar::<Rsp>(&name("rsp_xbar"), s.banks, s.cus, s, |m| m.dst))?,
            probe_xbar: built(crossbar::<I::Probe>(&own("probe_xbar"), s.banks, s.cus, s, ToL1::dst))?,
            req_link: Wait::new::<Req>(block, &name("req_link"), further, s)?,
            wb_link: Wait::new::<Wb>(block, &name("wb_link"), further, s)?,
            rsp_link: Wait::new::<Rsp>(block, &name("rsp_link"), further, s)?,
            probe_link: Wait::new::<I::Probe>(block, &own("probe_link"), further, s)?,
        })
    }

    fn wire<P: ToL1>(&self, s: &Srsp, l1s: &[InstanceRef], banks: &[InstanceRef]) {
        let rsp_xbar = instance("rsp_xbar", &self.rsp_xbar);
        let probe_xbar = instance("probe_xbar", &self.probe_xbar);
        for (c, l1) in l1s.iter().enumerate() {
            let req = instance(&format!("req_router{c}"), &self.req_router);
            let wb = instance(&format!("wb_router{c}"), &self.wb_router);
            self.req_link.join::<Req>(&format!("req_link{c}"), (l1, "req"), (&req, "in0"), s);
            self.wb_link.join::<Wb>(&format!("wb_link{c}"), (l1, "wb"), (&wb, "in0"), s);
            for (b, bank) in banks.iter().enumerate() {
                connect::<Req>(&req, &format!("out{b}"), bank, &format!("req{c}"), s);
                connect::<Wb>(&wb, &format!("out{b}"), bank, &format!("wb{c}"), s);
            }
            connect::<Rsp>(&rsp_xbar, &format!("out{c}"), l1, "rsp", s);
            connect::<P>(&probe_xbar, &format!("out{c}"), l1, "probe", s);
        }
        for (b, bank) in banks.iter().enumerate() {
            let input = format!("in{b}");
            let rsp = format!("rsp_link{b}");
            self.rsp_link.join::<Rsp>(&rsp, (bank, "rsp"), (&rsp_xbar, &input), s);
            let probe = format!("probe_link{b}");
            self.probe_link.join::<P>(&probe, (bank, "probe"), (&probe_xbar, &input), s);
        }
    }
}

/// Builds the GPU.
///
/// # Errors
/// A parameter that the GPU or one of its blocks refuses.
pub fn registering_fabric<I: System>(p: &RegisteringFabricParams<I>) -> Result<Arc<Module>, BlockError> {
    p.validate()?;
    let s = p.srsp();
    let (l1, bank) = (I::l1(&p.l1)?, hlrc_l2(&p.l2)?);
    let flat = match p.network {
        Network::Flat { link } => Some(Flat::new::<I>(s, link)?),
        Network::Mesh { .. } => None,
    };
    let meshes =
        p.grid().map(|(grid, nodes)| Meshes::new::<I::Probe>(s, grid, nodes, s.mshrs, true)).transpose()?;
    built(Module::build(&p.module_name(), ModuleKind::Fabric, || {
        let parts = "L1s, L2 banks, the network; CUs and memory channels are outside";
        doc(&format!("A whole GPU with {}: {parts}.", I::TITLE));
        param("cus", s.cus);
        param("banks", s.banks);
        if I::REGISTERED == Registered::Atomics {
            param("l2_write", p.l2.write.word());
        }
        match p.network {
            Network::Flat { link } => param("link", link),
            Network::Mesh { columns } => param("columns", columns),
        }
        let many = |name: &str, module: &Arc<Module>, n: u32| -> Vec<InstanceRef> {
            (0..n).map(|i| instance(&format!("{name}{i}"), module)).collect()
        };
        let (l1s, banks) = (many("l1_", &l1, s.cus), many("bank", &bank, s.banks));
        export(s, &l1s, &banks);
        if let Some(flat) = &flat {
            flat.wire::<I::Probe>(s, &l1s, &banks);
        }
        if let Some(meshes) = &meshes {
            meshes.wire::<I::Probe>(s, &l1s, &banks);
        }
    }))
}

/// CU ports and memory channels.
fn export(s: &Srsp, l1s: &[InstanceRef], banks: &[InstanceRef]) {
    let cu = s.cu();
    for (c, l1) in l1s.iter().enumerate() {
        l1.drive_bits("own", lit(c as u64, s.cu_bits()));
        pass_in::<CuReq>(l1, "cu_req", &format!("g0_cu{c}_req"), &cu);
        pass_out::<CuRsp>(l1, "cu_rsp", &format!("g0_cu{c}_rsp"), &cu);
        for state in ["stall", "busy_release"] {
            let value = l1.out_bits(state);
            output::<Bits>(&format!("g0_cu{c}_{state}"), value.width()).set(value);
        }
    }
    for (b, bank) in banks.iter().enumerate() {
        bank.drive_bits("own", lit(b as u64, s.bank_bits()));
        pass_out::<MemReq>(bank, "mem_req", &format!("mem{b}_req"), s);
        pass_in::<MemRsp>(bank, "mem_rsp", &format!("mem{b}_rsp"), s);
    }
}

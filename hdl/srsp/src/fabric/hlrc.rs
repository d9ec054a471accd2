//! A whole GPU with hLRC (srsp.md sections 9 and 10): L1s, L2 banks that keep the owners of lines, and the network between them; CUs and memory channels are outside.
//!
//! ```text
//!  cu0 -- l1_0 -- req, wb --> +---------+ --> bank0 -- mem0
//!  cu1 -- l1_1 -- req, wb --> | network | --> bank1 -- mem1
//!          ^---- rsp, probe --+---------+ <-- rsp, probe
//! ```
//! Ports of [`hlrc_fabric`] are those of [`srsp_fabric`](super::srsp_fabric). Instances: `l1_C`, `bankB`, and the network's.
//!
//! REQ, WB, RSP and PROBE have links of their own, so that none waits for another; WB keeps its order from each L1 to each bank. The network is one of two:
//!
//! - *flat*: a router behind each L1, a crossbar in front of all, on links of `link` cycles each way, one message per cycle and port (`req_routerC`, `wb_routerC`, `rsp_xbar`,
//!   `probe_xbar`, and on each link `..._linkC` or `..._linkB`). A REG that waits at its bank holds up its L1's later requests, nobody else's.
//! - *mesh*: four meshes (`req_mesh`, `wb_mesh`, `rsp_mesh`, `probe_mesh`) in which CU c is at node c and the banks, each with its memory channel, are spread evenly. Messages of different
//!   L1s share its links, so each bank has a queue per L1 (`req_queueN`, N = B * CUs + C) with a place for each of the L1's MSHRs: what waits there holds up no link.

use super::BLOCK_HLRC;
use super::meshes::{Meshes, built, fits, placed};
use crate::hlrc_l1::{HlrcL1Params, hlrc_l1};
use crate::hlrc_l2::{HlrcL2Params, hlrc_l2};
use crate::mesh::Grid;
use crate::msg::*;
use crate::params::{Srsp, check, within};
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

/// What fixes a GPU (srsp.md sections 2 and 10).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HlrcFabricParams {
    /// The L1s.
    pub l1: HlrcL1Params,
    /// The banks; of the same widths.
    pub l2: HlrcL2Params,
    /// The network.
    pub network: Network,
}

impl HlrcFabricParams {
    /// The GPU of the hLRC study: 128 L1s of 16 KB, 4 MB of L2 in 4 banks, a mesh of 16 columns and 8 rows.
    pub fn published() -> HlrcFabricParams {
        let srsp = Srsp { cus: 128, ..Srsp::default() };
        HlrcFabricParams::of(srsp, Network::Mesh { columns: 16 })
    }

    /// The published sizes at other widths.
    pub fn of(srsp: Srsp, network: Network) -> HlrcFabricParams {
        let l2 = HlrcL2Params::published(srsp.clone());
        HlrcFabricParams { l1: HlrcL1Params::published(srsp), l2, network }
    }

    /// Message widths, and numbers of L1s and banks.
    pub fn srsp(&self) -> &Srsp {
        &self.l1.srsp
    }

    /// Module name, unique per parameters.
    pub fn module_name(&self) -> String {
        let (l1, l2) = (self.l1.module_name(), self.l2.module_name());
        let cut = |name: String, head: &str| name.strip_prefix(head).map_or(name.clone(), str::to_string);
        // Said once: some tools cut names at 127 characters.
        let l2 = cut(l2, "hlrc_l2_").replace(&format!("_{}", self.srsp().tag()), "");
        let network = match self.network {
            Network::Flat { link } => format!("k{link}"),
            Network::Mesh { columns } => format!("mesh{columns}"),
        };
        format!("hlrc_gpu_{}__{l2}_{network}", cut(l1, "hlrc_l1_"))
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
        let same = self.l1.srsp == self.l2.srsp;
        let says = ("L1s and banks are of different widths", "widths of the L1s");
        check(BLOCK_HLRC, same, ("l2", self.l2.module_name()), says)?;
        match self.network {
            Network::Flat { link } => within(BLOCK_HLRC, ("link", link), (1, 64)),
            Network::Mesh { columns } => fits(BLOCK_HLRC, self.srsp(), columns),
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
    fn new(s: &Srsp, link: u32) -> Result<Flat, BlockError> {
        let name = |what: &str| format!("hlrc_{what}_{}", s.tag());
        let bank = |addr: Bits| s.bank_of(s.line_of(addr));
        // A router or crossbar takes one cycle of its link itself.
        let further = link - 1;
        let block = BLOCK_HLRC;
        Ok(Flat {
            req_router: built(crossbar::<Req>(&name("req_router"), 1, s.banks, s, |m| bank(m.atomic.addr)))?,
            wb_router: built(crossbar::<Wb>(&name("wb_router"), 1, s.banks, s, |m| bank(m.atomic.addr)))?,
            rsp_xbar: built(crossbar::<Rsp>(&name("rsp_xbar"), s.banks, s.cus, s, |m| m.dst))?,
            probe_xbar: built(crossbar::<Probe>(&name("probe_xbar"), s.banks, s.cus, s, |m| m.req))?,
            req_link: Wait::new::<Req>(block, &name("req_link"), further, s)?,
            wb_link: Wait::new::<Wb>(block, &name("wb_link"), further, s)?,
            rsp_link: Wait::new::<Rsp>(block, &name("rsp_link"), further, s)?,
            probe_link: Wait::new::<Probe>(block, &name("probe_link"), further, s)?,
        })
    }

    fn wire(&self, s: &Srsp, l1s: &[InstanceRef], banks: &[InstanceRef]) {
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
            connect::<Probe>(&probe_xbar, &format!("out{c}"), l1, "probe", s);
        }
        for (b, bank) in banks.iter().enumerate() {
            let input = format!("in{b}");
            let rsp = format!("rsp_link{b}");
            self.rsp_link.join::<Rsp>(&rsp, (bank, "rsp"), (&rsp_xbar, &input), s);
            let probe = format!("probe_link{b}");
            self.probe_link.join::<Probe>(&probe, (bank, "probe"), (&probe_xbar, &input), s);
        }
    }
}

/// Builds the GPU.
///
/// # Errors
/// A parameter that the GPU or one of its blocks refuses.
pub fn hlrc_fabric(p: &HlrcFabricParams) -> Result<Arc<Module>, BlockError> {
    p.validate()?;
    let s = p.srsp();
    let (l1, bank) = (hlrc_l1(&p.l1)?, hlrc_l2(&p.l2)?);
    let flat = match p.network {
        Network::Flat { link } => Some(Flat::new(s, link)?),
        Network::Mesh { .. } => None,
    };
    let meshes = p.grid().map(|(grid, nodes)| Meshes::new(s, grid, nodes, s.mshrs, true)).transpose()?;
    built(Module::build(&p.module_name(), ModuleKind::Fabric, || {
        doc("A whole GPU with hLRC: L1s, L2 banks, the network; CUs and memory channels are outside.");
        param("cus", s.cus);
        param("banks", s.banks);
        param("l2_write", p.l2.write.word());
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
            flat.wire(s, &l1s, &banks);
        }
        if let Some(meshes) = &meshes {
            meshes.wire(s, &l1s, &banks);
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

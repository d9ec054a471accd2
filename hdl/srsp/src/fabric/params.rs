//! Parameters of a whole GPU.

use super::BLOCK;
use super::meshes::{fits, placed};
use crate::l1::L1Params;
use crate::l2::L2Params;
use crate::mesh::Grid;
use crate::params::{Impl, Srsp, check, within};
use crate::sel_hub::HubParams;
use weft_blocks::registry::BlockError;

/// What fixes a GPU (srsp.md section 2).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SrspFabricParams {
    /// The L1s.
    pub l1: L1Params,
    /// The banks; of the same system and widths.
    pub l2: L2Params,
    /// Probes that wait in the hub for one L1, 1..64.
    pub hub_queue: u32,
    /// Cycles of each link, from an L1 to a bank or the hub and back: LINK_LAT, 1..64.
    pub link: u32,
    /// Columns of a mesh between L1s and banks in place of the links between them, 1..16; 0: none. The hub keeps its links.
    pub columns: u32,
}

impl SrspFabricParams {
    /// The published GPU: 64 L1s of 16 KB, 512 KB of L2 in 4 banks, links of 4 cycles.
    pub fn published(system: Impl) -> SrspFabricParams {
        SrspFabricParams::of(Srsp::default(), system)
    }

    /// The published sizes at other widths.
    pub fn of(srsp: Srsp, system: Impl) -> SrspFabricParams {
        let l2 = L2Params::published(srsp.clone(), system);
        SrspFabricParams { l1: L1Params::published(srsp, system), l2, hub_queue: 4, link: 4, columns: 0 }
    }

    /// Message widths, and numbers of L1s and banks.
    pub fn srsp(&self) -> &Srsp {
        &self.l1.shape.srsp
    }

    /// The hub; systems without remote operations have none.
    pub fn hub(&self) -> Option<HubParams> {
        let remote = self.l1.system != Impl::Base;
        remote.then(|| HubParams { srsp: self.srsp().clone(), queue: self.hub_queue })
    }

    /// The mesh, and the nodes of the banks.
    pub fn grid(&self) -> Option<(Grid, Vec<u32>)> {
        (self.columns > 0).then(|| placed(self.srsp(), self.columns))
    }

    /// Module name, unique per parameters.
    pub fn module_name(&self) -> String {
        let (l1, l2) = (self.l1.module_name(), self.l2.module_name());
        let cut = |name: String, head: &str| name.strip_prefix(head).map_or(name.clone(), str::to_string);
        let mesh = if self.columns == 0 { String::new() } else { format!("_mesh{}", self.columns) };
        format!(
            "srsp_gpu_{}__{}_q{}_k{}{mesh}",
            cut(l1, "srsp_l1_"),
            cut(l2, "srsp_l2_"),
            self.hub_queue,
            self.link
        )
    }

    /// Checks what joins the parts.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self) -> Result<(), BlockError> {
        within(BLOCK, ("link", self.link), (1, 64))?;
        if self.columns > 0 {
            fits(BLOCK, self.srsp(), self.columns)?;
        }
        let same = self.l1.shape.srsp == self.l2.bank.srsp && self.l1.system == self.l2.system;
        let says = ("L1s and banks are of different widths or systems", "widths and system of the L1s");
        check(BLOCK, same, ("l2", self.l2.module_name()), says)
    }
}

//! Meshes between the L1s and the banks of a GPU (srsp.md section 10): one for each network, so that none waits for
//! another.
//!
//! CU c is at node c; the banks, each with its memory channel, are spread evenly. Messages of different L1s share
//! the links of a mesh, so each bank has a queue per L1 (`req_queueN`, N = B * CUs + C) with a place for every
//! request that may wait there: what waits at a bank holds up no link.

use super::BLOCK_HLRC;
use crate::mesh::{Grid, mesh};
use crate::msg::*;
use crate::params::{Srsp, check};
use weft_blocks::common::crossbar::crossbar;
use weft_blocks::common::fifo::fifo;
use weft_blocks::common::join::silence;
use weft_blocks::registry::BlockError;
use weft_rtl::prelude::*;

/// The mesh of so many columns, and the nodes of the banks: as many columns as rows of banks, or twice as many,
/// each in the middle of its part.
pub(super) fn placed(s: &Srsp, columns: u32) -> (Grid, Vec<u32>) {
    let (cus, banks) = (s.cus, s.banks);
    let grid = Grid { columns, rows: cus / columns.max(1) };
    let most = |n: u32| if n == 0 { 1 } else { 1 << n.ilog2() };
    let across = (1 << banks.trailing_zeros().div_ceil(2)).min(most(columns));
    let across = across.max(banks / most(grid.rows)).min(banks);
    let down = banks / across;
    let middle = |i: u32, parts: u32, length: u32| (2 * i + 1) * length / (2 * parts);
    let node = |b: u32| middle(b / across, down, grid.rows) * columns + middle(b % across, across, columns);
    (grid, (0..banks).map(node).collect())
}

/// The CUs fill a mesh of so many columns, and every bank has a node of its own.
///
/// # Errors
/// They do not.
pub(super) fn fits(block: &str, s: &Srsp, columns: u32) -> Result<(), BlockError> {
    let fills = (1..=16).contains(&columns) && s.cus.is_multiple_of(columns) && s.cus / columns <= 16;
    let mut nodes = if fills { placed(s, columns).1 } else { Vec::new() };
    nodes.sort_unstable();
    nodes.dedup();
    let problem = "the CUs do not fill a mesh of that width, or the banks do not fit into it";
    let legal = "1..16 columns, which divide the number of CUs into 16 rows at most";
    check(block, nodes.len() == s.banks as usize, ("columns", columns), (problem, legal))
}

/// A module of the fabric of hLRC.
pub(super) fn built(made: Result<Arc<Module>, ElabErrors>) -> Result<Arc<Module>, BlockError> {
    made.map_err(|errors| BlockError::Elab { block: BLOCK_HLRC.into(), errors })
}

/// What banks send to L1s besides answers.
pub trait ToL1: Data<Shape = Srsp> {
    /// How names of its modules begin.
    const HEAD: &'static str;
    /// The L1 that gets it.
    fn dst(&self) -> Bits;
}

impl ToL1 for Probe {
    const HEAD: &'static str = "hlrc";
    fn dst(&self) -> Bits {
        self.req
    }
}

impl ToL1 for OwnerProbe {
    const HEAD: &'static str = "denovo_b";
    fn dst(&self) -> Bits {
        self.req
    }
}

/// Modules of the meshes.
pub(super) struct Meshes {
    /// Nodes of the banks.
    nodes: Vec<u32>,
    req: Arc<Module>,
    wb: Arc<Module>,
    rsp: Arc<Module>,
    /// Where probes come from banks.
    probe: Option<Arc<Module>>,
    /// From a bank's node to its channels of each L1.
    req_split: Arc<Module>,
    wb_split: Arc<Module>,
    queue: Arc<Module>,
}

impl Meshes {
    /// Meshes of a GPU whose banks are at `nodes`; `places`: requests of an L1 that may wait at a bank, 1 or more;
    /// `probes`: banks send some, of type `P`.
    ///
    /// # Errors
    /// A part that cannot be built.
    pub fn new<P: ToL1>(
        s: &Srsp,
        grid: Grid,
        nodes: Vec<u32>,
        places: u32,
        probes: bool,
    ) -> Result<Meshes, BlockError> {
        let tag = format!("{}x{}_{}", grid.columns, grid.rows, s.tag());
        let name = |what: &str| format!("hlrc_{what}_{tag}");
        let cus: Vec<u32> = (0..s.cus).collect();
        let bank = |addr: Bits| grid.place(&nodes, s.bank_of(s.line_of(addr)));
        let cu = |c: Bits| grid.place(&cus, c);
        let number = if places == s.mshrs { String::new() } else { places.to_string() };
        let queue = fifo::<Req>(&name(&format!("req_queue{number}")), places, s);
        let probe = || mesh::<P>(&format!("{}_probe_mesh_{tag}", P::HEAD), grid, s, |m| cu(m.dst()));
        Ok(Meshes {
            req: mesh::<Req>(&name("req_mesh"), grid, s, |m| bank(m.atomic.addr))?,
            wb: mesh::<Wb>(&name("wb_mesh"), grid, s, |m| bank(m.atomic.addr))?,
            rsp: mesh::<Rsp>(&name("rsp_mesh"), grid, s, |m| cu(m.dst))?,
            probe: probes.then(probe).transpose()?,
            req_split: built(crossbar::<Req>(&name("req_split"), 1, s.cus, s, |m| m.src))?,
            wb_split: built(crossbar::<Wb>(&name("wb_split"), 1, s.cus, s, |m| m.src))?,
            queue: built(queue)?,
            nodes,
        })
    }

    /// Wires L1s and banks; probes too, where banks send them.
    pub fn wire<P: ToL1>(&self, s: &Srsp, l1s: &[InstanceRef], banks: &[InstanceRef]) {
        let [req, wb, rsp] = [("req", &self.req), ("wb", &self.wb), ("rsp", &self.rsp)]
            .map(|(name, module)| instance(&format!("{name}_mesh"), module));
        let probe = self.probe.as_ref().map(|module| instance("probe_mesh", module));
        for (c, l1) in l1s.iter().enumerate() {
            let (input, output) = (format!("in{c}"), format!("out{c}"));
            connect::<Req>(l1, "req", &req, &input, s);
            connect::<Wb>(l1, "wb", &wb, &input, s);
            connect::<Rsp>(&rsp, &output, l1, "rsp", s);
            if let Some(probe) = &probe {
                connect::<P>(probe, &output, l1, "probe", s);
            }
            if !self.nodes.contains(&(c as u32)) {
                silence::<Rsp>(&rsp, &input, s);
                probe.iter().for_each(|probe| silence::<P>(probe, &input, s));
                for mesh in [&req, &wb] {
                    mesh.drive_bits(&format!("{output}_ready"), lit(1, 1));
                }
            }
        }
        for (b, bank) in banks.iter().enumerate() {
            let node = self.nodes[b];
            let (input, output) = (format!("in{node}"), format!("out{node}"));
            connect::<Rsp>(bank, "rsp", &rsp, &input, s);
            if let Some(probe) = &probe {
                connect::<P>(bank, "probe", probe, &input, s);
            }
            let req_split = instance(&format!("req_split{b}"), &self.req_split);
            let wb_split = instance(&format!("wb_split{b}"), &self.wb_split);
            connect::<Req>(&req, &output, &req_split, "in0", s);
            connect::<Wb>(&wb, &output, &wb_split, "in0", s);
            for c in 0..s.cus {
                let queue = instance(&format!("req_queue{}", b as u32 * s.cus + c), &self.queue);
                connect::<Req>(&req_split, &format!("out{c}"), &queue, "in", s);
                connect::<Req>(&queue, "out", bank, &format!("req{c}"), s);
                connect::<Wb>(&wb_split, &format!("out{c}"), bank, &format!("wb{c}"), s);
            }
        }
    }
}

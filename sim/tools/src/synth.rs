//! Cell counts of a module after synthesis with Yosys.

use crate::external::{ToolError, yosys};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use weft_rtl::ir::Module;
use weft_rtl::verilog::emit;

/// What to synthesise for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SynthTarget {
    /// Lattice iCE40: `SB_LUT4`, `SB_DFF*`, `SB_RAM40_4K` (4096 bits).
    Ice40,
    /// Lattice ECP5: `LUT4`, `TRELLIS_FF`, `DP16KD` (18432 bits).
    Ecp5,
    /// Gates of Yosys' internal library; memories stay memories.
    Generic,
}

impl SynthTarget {
    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            SynthTarget::Ice40 => "ice40",
            SynthTarget::Ecp5 => "ecp5",
            SynthTarget::Generic => "generic",
        }
    }

    fn commands(self, top: &str) -> String {
        match self {
            SynthTarget::Ice40 => format!("synth_ice40 -top {top}"),
            SynthTarget::Ecp5 => format!("synth_ecp5 -top {top}"),
            SynthTarget::Generic => format!(
                "hierarchy -check -top {top}; proc; flatten; opt -full; memory -nomap; opt_clean; techmap; opt; abc; opt_clean; memory_unpack"
            ),
        }
    }
}

/// Cells of a design, parts included.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CellCount {
    /// What was synthesised for.
    pub target: SynthTarget,
    /// The synthesiser and its version.
    pub tool: String,
    /// Number of cells by type.
    pub cells: BTreeMap<String, u64>,
    /// Memories that were left as memories.
    pub memories: u64,
    /// Their bits.
    pub memory_bits: u64,
    /// Lookup tables with four inputs, those of adders and of memories in lookup tables included; none for generic gates.
    pub luts: Option<u64>,
    /// Flip-flops.
    pub flip_flops: u64,
    /// Block RAMs; none for generic gates.
    pub block_rams: Option<u64>,
}

/// Lookup tables in a cell of a family, by the beginning of its name: a carry cell of ECP5 is two, a memory of 16 rows of 4 bits four and two for its write port.
const LUTS: [(&str, u64); 6] =
    [("SB_LUT4", 1), ("LUT4", 1), ("CCU2C", 2), ("TRELLIS_DPR16X4", 6), ("SB_CARRY", 0), ("PFUMX", 0)];
/// Beginnings of the names of flip-flops.
const FLIP_FLOPS: [&str; 7] = ["SB_DFF", "TRELLIS_FF", "$_DFF", "$_SDFF", "$_ALDFF", "$_ADFF", "$_FF_"];
/// Beginnings of the names of block RAMs.
const BLOCK_RAMS: [&str; 3] = ["SB_RAM40", "DP16KD", "PDPW16KD"];

/// Why there are no cell counts.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum SynthError {
    #[error(transparent)]
    Tool(#[from] ToolError),
    #[error("the cell counts of yosys for {module} could not be read: {problem}")]
    Report { module: String, problem: String },
}

/// Synthesises a module in a folder and counts its cells.
///
/// # Errors
/// A missing tool, Yosys' own error, or a report that cannot be read.
pub fn synthesise(module: &Arc<Module>, target: SynthTarget, folder: &Path) -> Result<CellCount, SynthError> {
    let names = sources(module, folder)?;
    let top = &module.name;
    let report = folder.join("cells.json");
    let script = format!(
        "read_verilog {}; {}; flatten; opt_clean; tee -q -o cells.json stat -json",
        names.join(" "),
        target.commands(top)
    );
    yosys(&script, folder)?;
    let text = fs::read_to_string(&report).map_err(|cause| ToolError::File {
        path: report.clone(),
        action: "read",
        cause,
    })?;
    counts(&text, target).map_err(|problem| SynthError::Report { module: top.clone(), problem })
}

/// Writes a module's Verilog into a folder; the files' names.
pub(crate) fn sources(module: &Arc<Module>, folder: &Path) -> Result<Vec<String>, ToolError> {
    let mut names = Vec::new();
    for file in emit(module) {
        let path = folder.join(&file.name);
        let written = fs::write(&path, &file.text);
        written.map_err(|cause| ToolError::File { path, action: "written", cause })?;
        names.push(file.name);
    }
    Ok(names)
}

/// Reads the report of `stat -json`.
fn counts(text: &str, target: SynthTarget) -> Result<CellCount, String> {
    let start = text.find('{').ok_or("it has no JSON")?;
    let value: serde_json::Value = serde_json::from_str(&text[start..]).map_err(|e| e.to_string())?;
    let design = &value["design"];
    let number = |key: &str| design[key].as_u64().ok_or_else(|| format!("it has no {key}"));
    let by_type = design["num_cells_by_type"].as_object().ok_or("it has no num_cells_by_type")?;
    let cells: BTreeMap<String, u64> =
        by_type.iter().filter_map(|(name, n)| n.as_u64().map(|n| (name.clone(), n))).collect();
    let sum = |weigh: &dyn Fn(&str) -> u64| cells.iter().map(|(name, n)| n * weigh(name)).sum::<u64>();
    let luts = sum(&|name| LUTS.iter().find(|(start, _)| name.starts_with(start)).map_or(0, |(_, n)| *n));
    let flip_flops = sum(&|name| FLIP_FLOPS.iter().any(|start| name.starts_with(start)).into());
    let block_rams = sum(&|name| BLOCK_RAMS.iter().any(|start| name.starts_with(start)).into());
    let mapped = target != SynthTarget::Generic;
    Ok(CellCount {
        luts: mapped.then_some(luts),
        flip_flops,
        block_rams: mapped.then_some(block_rams),
        target,
        tool: value["creator"].as_str().unwrap_or("Yosys").split(" (").next().unwrap_or("Yosys").to_string(),
        cells,
        memories: number("num_memories")?,
        memory_bits: number("num_memory_bits")?,
    })
}

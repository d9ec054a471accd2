//! What the memories of a module would take as SRAM macros: area, energy of an access, leakage. An estimate to set memories of one design beside each other, not a figure for a
//! floorplan.
//!
//! # Method
//!
//! A memory is cut into subarrays of at most 256 rows and 256 columns, of equal size. A subarray is its cells, and strips beside them for sense amplifiers, drivers and decoders:
//!
//! ```text
//! area = (rows * h + H) * (columns * w + W)      h = 10 F + 5 F * (ports - 1), w = 14.6 F + 5 F * (ports - 1)
//! ```
//! | from | value |
//! | --- | --- |
//! | CACTI 7, `tech_params/45nm.dat`, high performance | 6T cell of 146 F² with aspect ratio 1.46; local wires 2.5 F apart, two more each way for each further port; 1.0 V; sense amplifier 2.7 fJ; gate 0.678 fF/µm; cell transistors 1.31 F, 2.08 F, 1.23 F wide; off current 0.439 µA/µm at 330 K |
//! | an assumption | H and W: so large that a full subarray of single-ported cells is 70 % cells, of the 60 % to 80 % usual in published macros |
//! | assumptions | wires 0.2 fF/µm, drains 0.05 fF per cell on a bitline, bitlines swing 0.1 V in a read and fully in a write, half of the bits that leave or enter change their wire |
//!
//! A read swings the bitlines of a whole row, of all lanes; a write those of one lane. What leaves and enters passes wires half as long as the macro's sides together. Decoders and clocks are left
//! out; so are register files, whose bits synthesis counts.
//!
//! # How far to trust it
//!
//! Areas and energies are within a factor of 1.5, as CACTI's own are of measured macros at best; the F² of a cell grew in later processes. A ratio of two memories is better: cell and supply cancel, what
//! remains is the strips' share, some 10 % between arrays of the same order of rows, more for an array of few rows.

use crate::area::{Area, MemoryArea, Storage};
use serde::Serialize;

/// Feature size F in µm.
const F: f64 = 0.045;
/// Height and width of a single-ported cell, and what a further port adds to each, in F.
const CELL: [f64; 2] = [10.0, 14.6];
const PORT: f64 = 5.0;
/// Most rows, and most columns, of a subarray.
const SUBARRAY: u64 = 256;
/// Part of a full subarray that is cells.
const EFFICIENCY: f64 = 0.7;
/// Supply in V, and swing of a bitline that is read.
const VDD: f64 = 1.0;
const SWING: f64 = 0.1;
/// Capacitance of a wire in fF/µm, of a drain on a bitline in fF, of a gate in fF/µm.
const WIRE: f64 = 0.2;
const DRAIN: f64 = 0.05;
const GATE: f64 = 0.678;
/// Energy of a sense amplifier in fJ.
const SENSE: f64 = 2.7;
/// Widths of the access transistor, and of the transistors of a cell that are off (access, pull-down, pull-up), in F.
const ACCESS: f64 = 1.31;
const OFF: f64 = 1.31 + 2.08 + 1.23;
/// Off current in µA/µm.
const LEAK: f64 = 0.439;

/// The estimate of one memory, or of several together.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct SramEstimate {
    /// Area in mm², of all copies.
    pub area_mm2: f64,
    /// Energy to read a row, in pJ.
    pub read_pj: f64,
    /// Energy to write a lane, in pJ.
    pub write_pj: f64,
    /// Leakage in mW, of all copies.
    pub leakage_mw: f64,
}

/// Estimates an SRAM; `None` for a register file.
pub fn estimate(memory: &MemoryArea) -> Option<SramEstimate> {
    if memory.storage != Storage::Sram || memory.bits == 0 {
        return None;
    }
    let columns = memory.lanes * memory.lane_bits;
    let (down, across) = (memory.rows.div_ceil(SUBARRAY), columns.div_ceil(SUBARRAY));
    let (rows, row_bits) = (memory.rows as f64 / down as f64, columns as f64 / across as f64);
    let more = PORT * (memory.read_ports + memory.write_ports).saturating_sub(1) as f64;
    let [h, w] = CELL.map(|side| (side + more) * F);
    // (1 + strip) squared is the reciprocal of the efficiency.
    let strip = EFFICIENCY.powf(-0.5) - 1.0;
    let [high, wide] = CELL.map(|side| strip * SUBARRAY as f64 * side * F);
    let macro_um2 = (down * across) as f64 * (rows * h + high) * (row_bits * w + wide);
    let bitline = rows * (h * WIRE + DRAIN);
    let wordline = w * WIRE + 2.0 * ACCESS * F * GATE;
    // Wires from the middle of the macro to its edge, down and across.
    let route = macro_um2.sqrt() * WIRE * VDD * VDD / 2.0;
    let read = columns as f64 * (bitline * VDD * SWING + SENSE + wordline * VDD * VDD + route);
    let lane = memory.lane_bits as f64;
    let write = lane * (bitline * VDD * VDD + route) + columns as f64 * wordline * VDD * VDD;
    let copies = memory.instances as f64;
    Some(SramEstimate {
        area_mm2: copies * macro_um2 * 1e-6,
        read_pj: read * 1e-3,
        write_pj: write * 1e-3,
        leakage_mw: memory.bits as f64 * OFF * F * LEAK * VDD * 1e-3,
    })
}

/// All SRAMs of a design together: areas and leakages added, and the energy of one access to each kind of memory.
pub fn total(found: &Area) -> SramEstimate {
    found.memories.iter().filter_map(estimate).fold(SramEstimate::default(), |sum, one| SramEstimate {
        area_mm2: sum.area_mm2 + one.area_mm2,
        read_pj: sum.read_pj + one.read_pj,
        write_pj: sum.write_pj + one.write_pj,
        leakage_mw: sum.leakage_mw + one.leakage_mw,
    })
}

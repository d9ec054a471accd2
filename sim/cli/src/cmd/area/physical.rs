//! What tools and the SRAM estimate say of a block.

use super::Args;
use crate::failure::{Failure, Outcome, say};
use crate::params::BlockArgs;
use serde_json::{Value, json};
use std::sync::Arc;
use weft_rtl::area::{Area, MemoryArea, area};
use weft_rtl::ir::Module;
use weft_rtl::sram::{SramEstimate, estimate, total};
use weft_tools::route::{DEVICE, Routed, route};
use weft_tools::synth::{CellCount, SynthTarget, synthesise};

/// What to synthesise for.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum Family {
    /// Lattice iCE40.
    Ice40,
    /// Lattice ECP5.
    Ecp5,
    /// Gates of Yosys' internal library; memories are counted in bits.
    Generic,
}

impl Family {
    const fn target(self) -> SynthTarget {
        match self {
            Family::Ice40 => SynthTarget::Ice40,
            Family::Ecp5 => SynthTarget::Ecp5,
            Family::Generic => SynthTarget::Generic,
        }
    }
}

/// The SRAMs of a block, and of one GPU, beside those of another block.
struct Beside {
    block: String,
    copies: u64,
    other: SramEstimate,
    here: SramEstimate,
    slices: u64,
}

/// What was asked for beyond the bits.
pub struct Physical {
    cells: Option<CellCount>,
    routed: Option<Routed>,
    srams: Vec<(MemoryArea, SramEstimate)>,
    beside: Option<Beside>,
}

impl Physical {
    /// Runs the tools that the arguments ask for.
    ///
    /// # Errors
    /// An unknown block to set beside this one, one without SRAMs, or a tool that failed.
    pub fn of(args: &Args, module: &Arc<Module>, found: &Area, slices: u64) -> Result<Physical, Failure> {
        let folder = weft_output::Scratch::new().map_err(Failure::check)?;
        let beside = args.beside.as_ref().map(|other| beside(other, found, slices)).transpose()?;
        let synth = |family: Family| synthesise(module, family.target(), folder.path());
        let cells = args.synth.map(synth).transpose().map_err(Failure::check)?;
        let routed = args.route.then(|| route(module, args.seed, folder.path())).transpose();
        let memories = found.memories.iter().filter(|_| args.sram);
        Ok(Physical {
            cells,
            routed: routed.map_err(Failure::check)?,
            srams: memories.filter_map(|m| Some((m.clone(), estimate(m)?))).collect(),
            beside,
        })
    }

    /// Adds it to the JSON of the block.
    pub fn add_to(&self, value: &mut Value) {
        if let Some(cells) = &self.cells {
            value["synthesis"] = json!(cells);
        }
        if let Some(routed) = &self.routed {
            value["routed"] = json!(routed);
        }
        if !self.srams.is_empty() {
            let one = |(m, e): &(MemoryArea, SramEstimate)| json!({"module": m.module, "memory": m.name, "instances": m.instances, "estimate": e});
            value["srams"] = self.srams.iter().map(one).collect();
        }
        if let Some(b) = &self.beside {
            value["beside"] = json!({
                "block": b.block, "copies": b.copies, "slices": b.slices, "srams_here": b.here, "srams_there": b.other,
                "area_ratio": b.area(), "read_ratio": b.read(), "leakage_ratio": b.leakage(),
            });
        }
    }

    /// Prints it.
    ///
    /// # Errors
    /// Standard output that cannot be written.
    pub fn print(&self) -> Outcome {
        if let Some(cells) = &self.cells {
            print_cells(cells)?;
        }
        if let Some(routed) = &self.routed {
            print_routed(routed)?;
        }
        if self.cells.is_some() && self.routed.is_some() {
            say(
                "    (two mappings: --synth maps the block alone, its paths ending at ports, --route between registers, as in a fabric; Yosys shares LUT4 differently)",
            )?;
        }
        print_srams(&self.srams)?;
        self.beside.as_ref().map_or(Ok(()), Beside::print)
    }
}

fn beside(other: &str, found: &Area, slices: u64) -> Result<Beside, Failure> {
    let other = BlockArgs { block: other.to_string(), params: Vec::new() };
    let there = total(&area(&other.build()?));
    if there.area_mm2 == 0.0 {
        let block = &other.block;
        return Err(Failure::input(anyhow::anyhow!(
            "{block} has no SRAM to set beside; name a cache, as l2-bank"
        )));
    }
    let banks = other.in_force()?.into_iter().find(|(key, _)| key == "banks");
    let copies = banks.and_then(|(_, value)| value.parse().ok()).unwrap_or(1);
    Ok(Beside { block: other.block, copies, other: there, here: total(found), slices })
}

impl Beside {
    fn area(&self) -> f64 {
        self.here.area_mm2 * self.slices as f64 / (self.other.area_mm2 * self.copies as f64)
    }

    /// A directory is read as often as the bank beside it.
    fn read(&self) -> f64 {
        self.here.read_pj / self.other.read_pj
    }

    fn leakage(&self) -> f64 {
        self.here.leakage_mw * self.slices as f64 / (self.other.leakage_mw * self.copies as f64)
    }

    fn print(&self) -> Outcome {
        let [area, read, leakage] = [self.area(), self.read(), self.leakage()].map(|ratio| 100.0 * ratio);
        let (block, copies, slices) = (&self.block, self.copies, self.slices);
        say(format!(
            "SRAMs x {slices} beside those of {block} x {copies}: area {area:.2} %, leakage {leakage:.2} %, energy of a read {read:.2} %"
        ))
    }
}

fn print_cells(cells: &CellCount) -> Outcome {
    say(format!("synthesis for {} ({})", cells.target.name(), cells.tool))?;
    for (name, count) in &cells.cells {
        say(format!("    {name:<24} {count:>10}"))?;
    }
    if cells.memory_bits > 0 {
        say(format!(
            "    {} memories of together {} bits kept as memories",
            cells.memories, cells.memory_bits
        ))?;
    }
    let counted =
        [("LUT4", cells.luts), ("flip-flops", Some(cells.flip_flops)), ("block RAMs", cells.block_rams)];
    let counted: Vec<String> =
        counted.iter().filter_map(|(name, n)| Some(format!("{} {name}", (*n)?))).collect();
    say(format!("    together {}", counted.join(", ")))
}

fn print_routed(routed: &Routed) -> Outcome {
    let [luts, flip_flops, rams] = std::array::from_fn(|i| {
        format!(
            "{} of {} ({:.1} %)",
            routed.used[i],
            DEVICE[i],
            100.0 * routed.used[i] as f64 / DEVICE[i] as f64
        )
    });
    say(format!("placed and routed in {} ({}, seed {})", routed.device, routed.tool, routed.seed))?;
    say(format!("    {:.2} MHz", routed.fmax_mhz))?;
    let chain = routed.chain;
    say(format!(
        "    {luts} LUT4, {flip_flops} flip-flops, {rams} block RAMs, with {chain} registers around the ports"
    ))
}

fn print_srams(srams: &[(MemoryArea, SramEstimate)]) -> Outcome {
    if srams.is_empty() {
        return Ok(());
    }
    say(
        "SRAM estimate, 45 nm (method and sources: rustdoc of weft_rtl::sram; within a factor of 1.5, ratios better)",
    )?;
    say(format!(
        "{:<28} {:>6} {:>6} {:>6} {:>10} {:>9} {:>9} {:>10}",
        "memory", "copies", "rows", "bits", "mm2", "read pJ", "write pJ", "leakage mW"
    ))?;
    for (m, e) in srams {
        say(format!(
            "{:<28} {:>6} {:>6} {:>6} {:>10.4} {:>9.2} {:>9.2} {:>10.2}",
            m.name,
            m.instances,
            m.rows,
            m.lanes * m.lane_bits,
            e.area_mm2,
            e.read_pj,
            e.write_pj,
            e.leakage_mw
        ))?;
    }
    Ok(())
}

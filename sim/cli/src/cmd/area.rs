//! `weft area`: storage bits by field, the published total of a directory, what a cache keeps of its lines beside their data; on demand cell counts after synthesis, frequency after placement
//! and routing, and an estimate of the SRAMs.

mod physical;

use crate::failure::{Failure, Outcome, say};
use crate::params::BlockArgs;
use physical::Physical;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use weft_rtl::area::{Area, FieldArea, MemoryArea, Storage, area};

/// Arguments of `weft area`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    block: BlockArgs,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
    /// Adds cell counts of a synthesis with Yosys for this family.
    #[arg(long, value_name = "FAMILY")]
    synth: Option<physical::Family>,
    /// Adds the highest frequency after placement and routing in an ECP5 LFE5U-85F with nextpnr; takes minutes.
    #[arg(long)]
    route: bool,
    /// Seed of the placement.
    #[arg(long, default_value_t = 1, requires = "route")]
    seed: u64,
    /// Adds an estimate of area, energy and leakage of each SRAM (45 nm; the method is on the page of `weft_rtl::sram`).
    #[arg(long)]
    sram: bool,
    /// Sets the SRAMs of one GPU beside those of another block, at its defaults: `rec-directory --beside l2-bank`.
    #[arg(long, value_name = "BLOCK")]
    beside: Option<String>,
}

/// Runs the verb.
///
/// # Errors
/// A wrong block or parameter; a synthesis that failed.
pub fn run(args: &Args) -> Outcome {
    let module = args.block.build()?;
    let params: BTreeMap<String, String> = args.block.in_force()?.into_iter().collect();
    let found = area(&module);
    let slices = params.get("banks").and_then(|b| b.parse().ok()).unwrap_or(1);
    let physical = Physical::of(args, &module, &found, slices)?;
    if args.json {
        let mut value = as_json(&args.block.block, &params, &found, slices);
        physical.add_to(&mut value);
        return say(serde_json::to_string_pretty(&value).map_err(Failure::check)?);
    }
    print(args, &params, &found, slices)?;
    physical.print()
}

/// Bits of one directory, of all slices of a GPU together.
fn published(directory: &MemoryArea, slices: u64) -> Value {
    let per_entry = directory.lane_bits;
    json!({
        "module": directory.module,
        "bits_per_entry": per_entry,
        "fields": directory.fields.iter().map(|(name, bits)| json!({"field": name, "bits_per_entry": bits})).collect::<Vec<_>>(),
        "entries_per_slice": directory.rows * directory.lanes,
        "bits_per_slice": directory.rows * directory.lanes * per_entry,
        "slices_here": directory.instances,
        "slices_per_gpu": slices,
        "entries_per_gpu": directory.rows * directory.lanes * slices,
        "bits_per_gpu": directory.rows * directory.lanes * per_entry * slices,
    })
}

/// The directories: memories whose entries have a tag, or base, and track sharers.
fn directories(found: &Area) -> impl Iterator<Item = &MemoryArea> {
    found.directories().filter(|d| d.fields.len() > 1)
}

/// Fields of a cache's lines beside their data.
const OF_LINES: [&str; 12] = [
    "tag",
    "state",
    "dirty",
    "dirty_mask",
    "owned",
    "owner",
    "sharers",
    "pin",
    "region",
    "wts",
    "rts",
    "replacement",
];

/// Bits of the fields of lines as parts of those of their data; nothing of a block without tags and data of the same lines in SRAMs. Of lines is what has equally many entries, or bits, for each line:
/// buffers have data and states, too. A field that an acquire changes in all lines at once lies in registers.
pub fn of_data(found: &Area) -> Vec<(&'static str, f64)> {
    let srams = || found.memories.iter().filter(|m| m.storage == Storage::Sram);
    let tagged = |m: &&MemoryArea| m.fields.iter().any(|(name, _)| name == "tag");
    let lines: u64 = srams().filter(tagged).map(MemoryArea::entries).sum();
    if lines == 0 {
        return Vec::new();
    }
    let in_srams = |name: &str| -> u64 {
        // A set has one entry of ages.
        let memories = srams().filter(|m| name == "replacement" || m.entries().is_multiple_of(lines));
        let fields = memories.flat_map(|m| m.fields.iter().map(|(field, bits)| (field, bits * m.entries())));
        fields.filter(|(field, _)| *field == name).map(|(_, bits)| bits).sum()
    };
    let in_registers = |name: &str| -> u64 {
        let of = |f: &&FieldArea| f.field == name && f.storage == Storage::Registers;
        found.fields.iter().filter(of).map(|f| f.bits).filter(|bits| bits.is_multiple_of(lines)).sum()
    };
    let bits = |name| Some(in_srams(name)).filter(|bits| *bits > 0).unwrap_or_else(|| in_registers(name));
    let data = in_srams("data");
    let told = OF_LINES.into_iter().filter(|name| data > 0 && bits(name) > 0);
    told.map(|name| (name, bits(name) as f64 / data as f64)).collect()
}

fn as_json(block: &str, params: &BTreeMap<String, String>, found: &Area, slices: u64) -> Value {
    let mut value = json!({
        "block": block,
        "module": found.block,
        "params": params,
        "fields": found.fields,
        "total_bits": found.total_bits,
        "memory_bits": found.memory_bits,
        "register_bits": found.register_bits,
        "memories": found.memories,
    });
    let directories: Vec<Value> = directories(found).map(|d| published(d, slices)).collect();
    if !directories.is_empty() {
        value["published"] = directories.into();
    }
    let beside = of_data(found);
    if !beside.is_empty() {
        value["of_data"] = beside.into_iter().collect();
    }
    value
}

/// Bits as kB of 1024 bytes.
fn kilobytes(bits: u64) -> String {
    let text = format!("{:.2}", bits as f64 / 8192.0);
    format!("{} kB", text.trim_end_matches('0').trim_end_matches('.'))
}

fn print(args: &Args, params: &BTreeMap<String, String>, found: &Area, slices: u64) -> Outcome {
    let listed: Vec<String> = params.iter().map(|(k, v)| format!("{k}={v}")).collect();
    say(format!("{} ({})", args.block.block, listed.join(" ")))?;
    say(format!(
        "{:<14} {:<14} {:>14} {:>10} {:>12}",
        "field", "storage", "bits per entry", "entries", "bits"
    ))?;
    for f in found.fields.iter().filter(|f| f.bits > 0) {
        let storage = match f.storage {
            Storage::Sram => "SRAM",
            Storage::RegisterFile => "register file",
            Storage::Registers => "registers",
        };
        let row = format!("{:>14} {:>10} {:>12}", f.bits_per_entry, f.entries, f.bits);
        say(format!("{:<14} {storage:<14} {row}", f.field))?;
    }
    say(format!(
        "total {} bits = {}: {} in memories, {} in registers",
        found.total_bits,
        kilobytes(found.total_bits),
        found.memory_bits,
        found.register_bits
    ))?;
    let beside: Vec<String> =
        of_data(found).iter().map(|(name, part)| format!("{name} {:.2} %", 100.0 * part)).collect();
    if !beside.is_empty() {
        say(format!("of the bits of data: {}", beside.join(", ")))?;
    }
    directories(found).try_for_each(|d| print_published(d, slices))
}

fn print_published(d: &MemoryArea, slices: u64) -> Outcome {
    let parts: Vec<String> =
        d.fields.iter().filter(|(_, b)| *b > 0).map(|(name, bits)| format!("{name} {bits}")).collect();
    say(format!("published total: {} bits per entry ({})", d.lane_bits, parts.join(" + ")))?;
    let entries = d.rows * d.lanes;
    let bits = entries * d.lane_bits;
    say(format!("    per slice: {entries} entries, {bits} bits = {}", kilobytes(bits)))?;
    let (all, bits) = (entries * slices, bits * slices);
    let plural = if slices == 1 { "" } else { "s" };
    say(format!("    per GPU ({slices} slice{plural}): {all} entries, {bits} bits = {}", kilobytes(bits)))
}

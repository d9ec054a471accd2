//! Planted faults, and what explorations and random programs say of each.

use super::{explored, grouped, stress, table};
use crate::document::Block;
use anyhow::Error;
use std::collections::BTreeMap;
use std::path::Path;

/// Blocks as explorations name them, and as keys of fabrics do.
const BLOCKS: [(&str, &str); 3] = [("spandex-llc", "llc"), ("hmesi-client", "client"), ("mesi-llc", "l3")];

/// A fault: family of its exploration, and name as keys of fabrics have it.
type Name = (String, String);

/// What is known of a fault.
#[derive(Default)]
struct Known {
    /// Explorations that were asked for it, and actions on the shortest way to what is wrong.
    explored: usize,
    actions: Option<u64>,
    /// Fabrics and protocols whose random programs were asked, those that found it, and the fewest operations before.
    asked: usize,
    found: usize,
    operations: Option<u64>,
}

fn least(known: &mut Option<u64>, number: u64) {
    *known = Some(known.map_or(number, |least| least.min(number)));
}

/// The family whose exploration has a fabric's hardware with this protocol.
fn family(fabric: &str, protocol: &str) -> &'static str {
    match fabric.split('-').next().unwrap_or_default() {
        "tsm" if protocol == "gtsc" => "gtsc",
        "tsm" => "mgcc",
        "srsp" | "hlrc" => "srsp",
        "flat" | "spandex" if protocol.starts_with("h-mesi") => "hmesi",
        "flat" | "spandex" => "spandex",
        _ => "directory",
    }
}

/// A fault's name as keys of fabrics have it.
fn name(injected: &str) -> String {
    let Some((block, fault)) = injected.split_once(':') else { return injected.into() };
    let known = BLOCKS.iter().find(|(of, _)| *of == block);
    format!("{}-{fault}", known.map_or(block, |(_, key)| key))
}

fn known(records: &Path) -> Result<BTreeMap<Name, Known>, Error> {
    let mut all: BTreeMap<Name, Known> = BTreeMap::new();
    for row in explored::read(&records.join("explored.csv"))? {
        let Some((family, injected)) = row.planted() else { continue };
        let of = all.entry((family.into(), name(injected))).or_default();
        of.explored += 1;
        if row.is_violation() {
            least(&mut of.actions, row.depth);
        }
    }
    for fault in stress::asked(records)? {
        let Some((_, injected)) = fault.fault.split_once('=') else { continue };
        let family = family(&fault.fabric, &fault.protocol);
        let of = all.entry((family.into(), injected.into())).or_default();
        of.asked += 1;
        if fault.is_found() {
            of.found += 1;
            least(&mut of.operations, fault.operations);
        }
    }
    Ok(all)
}

/// A line for each fault, over blocks, fabrics and protocols.
pub fn both(records: &Path) -> Result<Vec<Block>, Error> {
    let line = |((family, fault), known): (Name, Known)| {
        let way = |asked: usize, found: Option<u64>| match (asked, found) {
            (_, Some(number)) => grouped(number),
            (0, None) => "-".into(),
            _ => "not found".into(),
        };
        let actions = way(known.explored, known.actions);
        let operations = way(known.asked, known.operations);
        vec![family, format!("`{fault}`"), actions, format!("{} of {}", known.found, known.asked), operations]
    };
    let lines = known(records)?.into_iter().map(line).collect();
    Ok(table(&["family", "fault", "explored: actions", "random programs", "fewest operations"], lines))
}

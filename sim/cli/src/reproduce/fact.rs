//! Numbers that need no run: storage of a block, and states of abstract protocols.
//!
//! | `figure` | number |
//! | --- | --- |
//! | `entry_bits` | bits of an entry of the block's directory |
//! | `directory_bits` | bits of the block's directory |
//! | `of_data.FIELD` | bits of a field of a cache's lines, as a part of those of their data |
//! | `memory_bits.FIELD+FIELD` | bits of fields in memories |
//! | `bits.FIELD+FIELD` | bits of fields, registers included |
//! | `sram_area` | area of the block's SRAMs, as a part of those of `beside` |

use super::explored::Explored;
use super::published::Row;
use crate::cmd::area::of_data;
use anyhow::{Error, anyhow};
use std::collections::BTreeMap;
use weft_rtl::area::{Area, Storage, area};

/// The number of a row that is of hardware, or of states, which are explored unless they were.
///
/// # Errors
/// A block, parameter, figure or set of options that there is not.
pub fn measure(row: &Row, explored: &mut Explored) -> Result<f64, Error> {
    let found = match (&row.block, &row.figure, &row.states) {
        (Some(block), Some(figure), _) => storage(row, block, figure)?,
        (_, _, Some(set)) => explored.ratio(set)?,
        _ => return Err(anyhow!("row {:?} is of runs", row.what)),
    };
    Ok(found * row.scale.unwrap_or(1.0))
}

fn of_block(block: &str, params: &BTreeMap<String, String>) -> Result<Area, Error> {
    Ok(area(&weft_catalog::build(block, params)?))
}

fn storage(row: &Row, block: &str, figure: &str) -> Result<f64, Error> {
    let found = of_block(block, row.params.as_ref().unwrap_or(&BTreeMap::new()))?;
    let lacking = || anyhow!("block {block} has no {figure}");
    let directory = || found.directories().find(|d| d.fields.len() > 1).ok_or_else(lacking);
    let bits = |d: &weft_rtl::area::MemoryArea| (d.rows * d.lanes * d.lane_bits) as f64;
    let other = || -> Result<Area, Error> {
        let name = row.beside.as_ref().ok_or_else(|| anyhow!("row {:?} has no beside", row.what))?;
        of_block(name, &BTreeMap::new())
    };
    match figure.split_once('.').unwrap_or((figure, "")) {
        ("entry_bits", "") => Ok(directory()?.lane_bits as f64),
        ("directory_bits", "") => Ok(bits(directory()?)),
        ("of_data", field) => of_data(&found)
            .into_iter()
            .find(|(name, _)| *name == field)
            .map(|(_, part)| part)
            .ok_or_else(lacking),
        (kind @ ("memory_bits" | "bits"), fields) => {
            let wanted: Vec<&str> = fields.split('+').collect();
            let here = found.fields.iter().filter(|f| kind == "bits" || f.storage != Storage::Registers);
            let sum: u64 = here.filter(|f| wanted.contains(&f.field.as_str())).map(|f| f.bits).sum();
            Some(sum as f64).filter(|sum| *sum > 0.0).ok_or_else(lacking)
        }
        ("sram_area", "") => {
            Ok(weft_rtl::sram::total(&found).area_mm2 / weft_rtl::sram::total(&other()?).area_mm2)
        }
        _ => Err(lacking()),
    }
}

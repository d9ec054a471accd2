//! What the programs of a figure bring to its fabrics: their data beside the caches, their kernels beside the fences
//! that end them.

use super::published::Figure;
use crate::sweep::columns::DATA;
use crate::sweep::file::SweepFile;
use crate::sweep::plan::{fabric_of, points};
use crate::sweep::record::Record;
use crate::sweep::tier::Tier;
use anyhow::{Error, anyhow};
use std::path::Path;

/// A program at a tier, over all configurations that are recorded of it.
struct Brought {
    workload: String,
    /// Bytes of its arrays.
    data: f64,
    /// Of these to the bytes of all L2s, or of the last-level cache: least and most.
    to_caches: Range,
    /// Cycles of a kernel to those of a CU's release at its end.
    to_fence: Range,
}

/// Least and most of some numbers; none if there are none.
#[derive(Clone, Copy, Default)]
struct Range(Option<(f64, f64)>);

impl Range {
    fn with(self, value: Option<f64>) -> Range {
        let Some(value) = value.filter(|value| value.is_finite()) else { return self };
        let (least, most) = self.0.unwrap_or((value, value));
        Range(Some((least.min(value), most.max(value))))
    }

    fn shown(self) -> String {
        let Some((least, most)) = self.0 else { return "-".into() };
        match (digits(least), digits(most)) {
            (least, most) if least == most => least,
            (least, most) => format!("{least} to {most}"),
        }
    }
}

/// A line for each program of a figure, with columns for each tier that is recorded.
///
/// # Errors
/// A figure without runs; a record that cannot be read, or was changed.
pub fn table(figure: &Figure, records: &Path) -> Result<Vec<Vec<String>>, Error> {
    let name = figure.sweep.as_deref();
    let name = name.ok_or_else(|| anyhow!("figure {} has no runs, so no programs", figure.name))?;
    let mut tiers = Vec::new();
    for tier in SweepFile::load(name)?.tiers() {
        let record = Record::read(records, SweepFile::load(name)?.into_tier(tier)?)?;
        let programs = record.as_ref().map(programs).transpose()?.unwrap_or_default();
        if !programs.is_empty() {
            tiers.push((tier, programs));
        }
    }
    Ok(lines(&tiers))
}

/// The programs of a record.
fn programs(record: &Record) -> Result<Vec<Brought>, Error> {
    let columns = &record.plan.columns;
    let at = |name: &str| columns.iter().position(|column| column.name == name);
    let sweep = &record.plan.sweep;
    let mut all: Vec<Brought> = Vec::new();
    for (number, row) in record.rows.iter().enumerate() {
        let Some(row) = row else { continue };
        let cell = |name: &str| row[at(name)?].parse::<f64>().ok();
        let Some(data) = cell(DATA) else { continue };
        let labels: Vec<String> = points(sweep, number).iter().map(|point| point.label.clone()).collect();
        let workload = sweep.workload(&labels);
        let place = all.iter().position(|known| known.workload == workload).unwrap_or(all.len());
        if place == all.len() {
            let (to_caches, to_fence) = (Range::default(), Range::default());
            all.push(Brought { workload, data, to_caches, to_fence });
        }
        let own = &mut all[place];
        own.to_caches = own.to_caches.with(fabric_of(sweep, number)?.cache_bytes().map(|bytes| data / bytes));
        let over = |a: &str, b: &str| Some(cell(a)? / cell(b)?);
        let fence = over("cu.releases_kernel_sys_cycles", "cu.releases_kernel_sys");
        own.to_fence =
            own.to_fence.with(over("cycles", "kernels").zip(fence).map(|(kernel, fence)| kernel / fence));
    }
    Ok(all)
}

fn lines(tiers: &[(Tier, Vec<Brought>)]) -> Vec<Vec<String>> {
    let mut head = vec!["program".to_string()];
    for (tier, _) in tiers {
        let name = tier.name();
        head.extend([format!("{name}: data, MB"), "to the caches".into(), "kernel to its fence".into()]);
    }
    let mut names: Vec<&String> = Vec::new();
    for program in tiers.iter().flat_map(|(_, programs)| programs) {
        if !names.contains(&&program.workload) {
            names.push(&program.workload);
        }
    }
    let line = |name: &String| {
        let mut cells = vec![name.clone()];
        for (_, programs) in tiers {
            let own = programs.iter().find(|program| program.workload == *name);
            cells.extend(own.map_or_else(
                || ["-"; 3].map(String::from),
                |own| [digits(own.data / f64::from(1 << 20)), own.to_caches.shown(), own.to_fence.shown()],
            ));
        }
        cells
    };
    [head].into_iter().chain(names.into_iter().map(line)).collect()
}

/// Two digits at least, and no fraction from 10 on; hundred-thousandths at most.
fn digits(value: f64) -> String {
    match value.abs() {
        v if v >= 9.95 => format!("{value:.0}"),
        v if v >= 0.995 => format!("{value:.1}"),
        v if v >= 0.0995 => format!("{value:.2}"),
        v if v >= 0.00995 => format!("{value:.3}"),
        _ => format!("{value:.5}"),
    }
}

#[cfg(test)]
mod tests;

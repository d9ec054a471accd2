//! Random operations that were checked.

use super::{grouped, table as lines};
use crate::document::Block;
use anyhow::{Context, Error};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use weft_stress::record::Record;
use weft_stress::round::Counts;

/// Rounds, operations and accesses of each fabric and protocol, over models, other keys, seeds and hardware.
pub fn table(records: &Path) -> Result<Vec<Block>, Error> {
    let record = Record::read(&records.join("stress.csv"))?;
    let mut sums: BTreeMap<String, Counts> = BTreeMap::new();
    let mut all = Counts::default();
    for row in record.rows() {
        let protocol = row.keys.split(' ').find(|key| key.starts_with("protocol="));
        let of = format!("`{}`", [row.fabric.as_str(), protocol.unwrap_or_default()].join(" ").trim_end());
        *sums.entry(of).or_default() += row.counts();
        all += row.counts();
    }
    let cells = |c: &Counts| [c.rounds, c.operations, c.judged, c.cycles].map(grouped);
    let line = |(of, counts): (&String, &Counts)| [of.clone()].into_iter().chain(cells(counts)).collect();
    let mut rows: Vec<Vec<String>> = sums.iter().map(line).collect();
    if !rows.is_empty() {
        rows.push(["all".to_string()].into_iter().chain(cells(&all)).collect());
    }
    Ok(lines(&["fabric", "rounds", "operations", "judged by axioms", "cycles"], rows))
}

/// A planted fault that random programs were asked for.
#[derive(Deserialize)]
pub(super) struct Fault {
    pub fabric: String,
    pub protocol: String,
    /// As KEY=VALUE.
    pub fault: String,
    /// Operations until it was found, or all.
    pub operations: u64,
    /// What has shown it.
    shown: String,
}

impl Fault {
    pub fn is_found(&self) -> bool {
        self.shown != "NOT FOUND" && !self.shown.starts_with("status")
    }
}

/// All faults that were asked for.
pub(super) fn asked(records: &Path) -> Result<Vec<Fault>, Error> {
    let file = records.join("stress-faults.csv");
    if !file.exists() {
        return Ok(Vec::new());
    }
    let wrong = || format!("{} is no record of scripts/stress --faults", file.display());
    csv::Reader::from_path(&file)
        .with_context(wrong)?
        .deserialize()
        .map(|row| row.with_context(wrong))
        .collect()
}

/// A line for each fabric and fault, over protocols.
pub fn faults(records: &Path) -> Result<Vec<Block>, Error> {
    let mut of: BTreeMap<String, Vec<Fault>> = BTreeMap::new();
    for fault in asked(records)? {
        of.entry(format!("`{} {}`", fault.fabric, fault.fault)).or_default().push(fault);
    }
    let line = |(name, asked): (&String, &Vec<Fault>)| {
        let found = || asked.iter().filter(|fault| fault.is_found());
        let most = found().map(|fault| fault.operations).max().map_or("-".into(), grouped);
        let shown: BTreeSet<&str> = found().map(|fault| fault.shown.as_str()).collect();
        let left =
            asked.iter().filter(|fault| !fault.is_found()).map(|fault| format!("`{}`", fault.protocol));
        vec![
            name.clone(),
            format!("{} of {}", found().count(), asked.len()),
            most,
            shown.into_iter().collect::<Vec<_>>().join(", "),
            left.collect::<Vec<_>>().join(" "),
        ]
    };
    let head = ["fault", "protocols", "most operations", "shown by", "not found"];
    Ok(lines(&head, of.iter().map(line).collect()))
}

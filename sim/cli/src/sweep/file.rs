//! What a sweep file says: what is run, along which axes, and what is shown of it.

use super::source::At;
use super::tier::Tier;
use std::collections::BTreeMap;
use std::path::PathBuf;
use weft_fabric::config::Place;

/// Keys that are none of the fabric's.
pub const SPECIAL: [&str; 7] =
    ["workload", "fabric", "graph", "graph_format", "graph_directed", "graph_limit", "seed"];

/// A key with its value as written.
#[derive(Clone, Debug)]
pub struct Setting {
    /// A key of the fabric, one of [`SPECIAL`], or `param.NAME`.
    pub key: String,
    /// Value and place.
    pub value: At<String>,
}

/// One value of an axis.
#[derive(Clone, Debug)]
pub struct Point {
    /// What tables and pictures call it.
    pub label: String,
    /// Keys and values.
    pub settings: Vec<Setting>,
}

/// A dimension of the product.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Its name: the key if it has only one.
    pub name: String,
    /// Keys that it moves.
    pub keys: Vec<String>,
    /// Its values.
    pub points: Vec<Point>,
    /// Where it begins.
    pub place: Place,
    /// Its values are those of a list of programs, which leave to other axes what these move.
    pub listed: bool,
}

/// A table and a picture wanted, as written.
#[derive(Clone, Debug)]
pub struct SummaryText {
    /// Where it begins.
    pub place: Place,
    /// Its keys but `relative_to`.
    pub keys: BTreeMap<String, At<String>>,
    /// Workloads that it is about; all, if there are none.
    pub rows: Vec<At<String>>,
    /// Columns that are stacked in the place of one metric.
    pub parts: Vec<At<String>>,
    /// Axis and value; an axis without a name is that of the columns.
    pub relative_to: Vec<(Option<String>, At<String>)>,
}

/// A table of classes against each other wanted, as written.
#[derive(Clone, Debug)]
pub struct ContestText {
    /// Where it begins.
    pub place: Place,
    /// Axis of the classes' values.
    pub columns: Option<At<String>>,
    /// The metric that decides.
    pub by: Option<At<String>>,
    /// Metrics that are shown.
    pub metrics: Vec<At<String>>,
    /// Each class with its values.
    pub classes: Vec<(String, Vec<At<String>>)>,
    /// The class that the others are set against.
    pub relative_to: At<String>,
    /// Headline.
    pub title: Option<String>,
}

/// A sweep as its file describes it; values are not yet checked against the fabric and the programs.
#[derive(Clone, Debug)]
pub struct SweepFile {
    /// Name of the results.
    pub name: String,
    /// A sentence.
    pub about: String,
    /// What errors call the file.
    pub file: String,
    /// Fabric, seed: keys for all runs.
    pub fixed: Vec<Setting>,
    /// Cycles after which a run fails.
    pub max_cycles: u64,
    /// All axes; one of them moves `workload`.
    pub axes: Vec<Axis>,
    /// What is shown.
    pub summaries: Vec<SummaryText>,
    /// Which classes are set against each other.
    pub contests: Vec<ContestText>,
    /// Of which size it is, if it says so.
    pub tier: Option<Tier>,
    /// What other sizes change.
    pub others: BTreeMap<Tier, Variant>,
    /// Folder that paths are relative to.
    pub folder: PathBuf,
}

/// What a variant changes.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Fabric, seed, keys.
    pub(super) fixed: Vec<Setting>,
    /// Cycles after which a run fails, if others than usual.
    pub(super) max_cycles: Option<u64>,
    /// Axes in the place of those of the same name; the workloads are one.
    pub(super) axes: Vec<Axis>,
    /// Summaries in the place of all of the sweep's, for references that have other values.
    pub(super) summaries: Vec<SummaryText>,
}

impl SweepFile {
    /// The axis that moves the workload: the rows of every table.
    pub fn rows(&self) -> usize {
        self.axes.iter().position(|axis| axis.keys.iter().any(|key| key == "workload")).unwrap_or(0)
    }

    /// Tiers that it has, rising.
    pub fn tiers(&self) -> Vec<Tier> {
        let has = |tier: &Tier| self.tier == Some(*tier) || self.others.contains_key(tier);
        Tier::ALL.into_iter().filter(has).collect()
    }

    /// A headline with the tier, if it is known.
    pub fn titled(&self, title: &str) -> String {
        match self.tier {
            Some(tier) => format!("{title} (tier {})", tier.name()),
            None => title.to_string(),
        }
    }
}

/// An argument of a workload: how its graph is read, or a parameter.
pub(super) fn argument((key, value): (String, At<String>)) -> Setting {
    match key.as_str() {
        "workload" | "graph" | "graph_format" | "graph_directed" | "graph_limit" => Setting { key, value },
        param => Setting { key: format!("param.{param}"), value },
    }
}

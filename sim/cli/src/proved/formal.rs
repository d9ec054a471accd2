//! Assertions that are proved, and to which depth.

use super::table as lines;
use crate::document::Block;
use anyhow::Error;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use weft_output::rows;

/// What is known of an assertion: the columns of `weft prove --record` that the table shows.
#[derive(Deserialize)]
struct Row {
    block: String,
    parameters: String,
    /// `proved`, `bounded`, `failed` or `unknown`.
    result: String,
    /// Of a proof: steps of the induction; else cycles after reset that were settled.
    cycles: u64,
    solver: String,
}

/// A line for each block with its parameters.
pub fn table(records: &Path) -> Result<Vec<Block>, Error> {
    let file = records.join("prove.csv");
    let mut of: BTreeMap<(String, String), Vec<Row>> = BTreeMap::new();
    for row in rows::read::<Row>(&file, "proofs")? {
        of.entry((row.block.clone(), row.parameters.clone())).or_default().push(row);
    }
    let line = |((block, parameters), rows): (&(String, String), &Vec<Row>)| {
        let of = |result: &str| rows.iter().filter(|row| row.result == result).collect::<Vec<_>>();
        let most =
            |rows: &[&Row]| rows.iter().map(|row| row.cycles).max().map_or("-".into(), |n| n.to_string());
        let (proved, bounded) = (of("proved"), of("bounded"));
        let mut solvers: Vec<&str> = rows.iter().map(|row| row.solver.as_str()).collect();
        solvers.sort_unstable();
        solvers.dedup();
        vec![
            format!("`{block}`"),
            parameters.clone(),
            rows.len().to_string(),
            proved.len().to_string(),
            most(&proved),
            bounded.len().to_string(),
            most(&bounded),
            of("unknown").len().to_string(),
            of("failed").len().to_string(),
            solvers.join(", "),
        ]
    };
    let head =
        ["block", "with", "assertions", "proved", "k", "bounded", "cycles", "unknown", "failed", "solver"];
    let count = |result: &str| of.values().flatten().filter(|row| row.result == result).count().to_string();
    let all: usize = of.values().map(Vec::len).sum();
    let [proved, bounded, unknown, failed] = ["proved", "bounded", "unknown", "failed"].map(count);
    let none = String::new;
    let sum =
        vec!["all".into(), none(), all.to_string(), proved, none(), bounded, none(), unknown, failed, none()];
    let each = of.iter().map(line).chain((all > 0).then_some(sum));
    Ok(lines(&head, each.collect()))
}

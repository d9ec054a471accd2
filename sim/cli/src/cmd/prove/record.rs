//! What is known of blocks, in a CSV file with a row for each assertion.

use crate::failure::{Failure, Outcome};
use crate::output;
use anyhow::anyhow;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use weft_output::rows;
use weft_tools::formal::{ProveReport, Verdict};

/// What a command asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asked {
    /// Name of the block.
    pub block: String,
    /// Its parameters, `key=value` words.
    pub parameters: String,
    /// Digest of its Verilog and of its environment.
    pub digest: String,
    /// Cycles after reset.
    pub depth: u32,
    /// Longest k of induction; 0: none.
    pub induction: u32,
    /// What decides.
    pub solver: String,
    /// Seconds for a phase.
    pub limit: u64,
}

/// A line of the file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Row {
    block: String,
    parameters: String,
    assertion: String,
    /// `proved`, `bounded`, `failed` or `unknown`.
    result: String,
    /// The k of a proof; cycles after reset in which it holds; the cycle in which it fails.
    cycles: u32,
    depth: u32,
    induction: u32,
    solver: String,
    limit: u64,
    seconds: f64,
    /// Channels that can carry a message within the bound, of how many.
    channels: String,
    digest: String,
}

/// The file.
pub struct Record {
    path: PathBuf,
    rows: Vec<Row>,
}

impl Record {
    /// Reads the file; one that is not there holds nothing.
    ///
    /// # Errors
    /// A file that cannot be read or is no such record.
    pub fn read(path: &Path) -> Result<Record, Failure> {
        output::check("--record", path)?;
        let rows = rows::read(path, "proofs").map_err(|cause| Failure::input(anyhow!("--record {cause}")))?;
        Ok(Record { path: path.to_path_buf(), rows })
    }

    /// How many assertions it knows of just this hardware, where as much was asked of them before.
    pub fn answers(&self, asked: &Asked) -> Option<usize> {
        let same = |row: &&Row| {
            row.block == asked.block
                && row.parameters == asked.parameters
                && row.digest == asked.digest
                && row.depth >= asked.depth
                && row.induction >= asked.induction
                && row.solver == asked.solver
        };
        let rows: Vec<&Row> = self.rows.iter().filter(same).collect();
        let enough =
            |row: &&Row| row.result == "failed" || row.result == "proved" || row.limit >= asked.limit;
        let settled = |row: &&Row| enough(row) || (row.result == "bounded" && asked.induction == 0);
        (!rows.is_empty() && rows.iter().all(settled)).then_some(rows.len())
    }

    /// The record with a report in the place of what it knew of the block.
    #[must_use]
    pub fn with(mut self, asked: &Asked, report: &ProveReport) -> Record {
        self.rows.retain(|row| row.block != asked.block || row.parameters != asked.parameters);
        let fired = report.channels.values().flatten().count();
        let rows = report.assertions.iter().map(|assertion| {
            let (result, cycles) = match assertion.verdict {
                Verdict::Proved { k } => ("proved", k),
                Verdict::Bounded { cycles } => ("bounded", cycles),
                Verdict::Failed { cycle } => ("failed", cycle),
                Verdict::Unknown { cycles } => ("unknown", cycles),
            };
            Row {
                block: asked.block.clone(),
                parameters: asked.parameters.clone(),
                assertion: assertion.name.clone(),
                result: result.into(),
                cycles,
                depth: asked.depth,
                induction: asked.induction,
                solver: asked.solver.clone(),
                limit: asked.limit,
                seconds: (assertion.seconds * 10.0).round() / 10.0,
                channels: format!("{fired}/{}", report.channels.len()),
                digest: asked.digest.clone(),
            }
        });
        self.rows.extend(rows);
        self
    }

    /// Writes the file, whole or not at all.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self) -> Outcome {
        rows::write(&self.path, &self.rows).map_err(Failure::check)
    }
}

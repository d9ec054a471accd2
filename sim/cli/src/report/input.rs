//! What a file given to `weft report` is.

use super::plausible;
use crate::cmd::why::LogMemory;
use crate::sweep::columns::unchanged;
use anyhow::{Error, anyhow};
use serde_json::Value;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use weft_events::Log;
use weft_fabric::run::SCHEMA;

/// A file that a report is made of.
pub enum Input {
    /// `weft run --json`.
    Run(Box<Value>),
    /// The table of `weft sweep`.
    Sweep {
        /// Names of columns.
        columns: Vec<String>,
        /// Cells.
        rows: Vec<Vec<String>>,
    },
    /// `weft run --events`.
    Log(Box<Log>),
}

/// Schemas of results that this program reads; the first does not tell parameters and graph.
const SCHEMAS: [&str; 2] = ["weft-run-1", SCHEMA];

/// First bytes of what gzip has packed.
const PACKED: [u8; 2] = [0x1f, 0x8b];

/// Parts of results without which nothing can be shown.
const PARTS: [(&str, fn(&Value) -> bool); 7] = [
    ("fabric", Value::is_string),
    ("workload", Value::is_string),
    ("config", Value::is_object),
    ("cycles", Value::is_u64),
    ("verified", Value::is_boolean),
    ("metrics", Value::is_object),
    ("kernels", Value::is_array),
];

impl Input {
    /// Reads a file.
    ///
    /// # Errors
    /// One that cannot be read, that is none of the three, or is of another version.
    pub fn read(path: &Path, memory: &LogMemory) -> Result<Input, Error> {
        let name = path.display();
        let whole = || -> std::io::Result<Vec<u8>> {
            let mut file = File::open(path)?;
            let mut bytes = Vec::new();
            file.by_ref().take(2).read_to_end(&mut bytes)?;
            if bytes != PACKED {
                file.read_to_end(&mut bytes)?;
            }
            Ok(bytes)
        };
        let bytes = whole().map_err(|e| {
            let cause = if path.is_dir() { "it is a folder".to_string() } else { e.to_string() };
            anyhow!("cannot read {name}: {cause}; give results of weft run --json, a table of weft sweep or a log of weft run --events")
        })?;
        if bytes.starts_with(&PACKED) {
            return Ok(Input::Log(Box::new(memory.read(path)?)));
        }
        let unknown = || {
            anyhow!(
                "{name} is neither results of weft run --json, nor a table of weft sweep, nor a log of weft run --events; give such a file"
            )
        };
        let text = std::str::from_utf8(&bytes).map_err(|_| unknown())?;
        if text.trim_start().starts_with('{') {
            return Input::run(path, text);
        }
        Input::sweep(path, text).map_err(|e| e.unwrap_or_else(unknown))
    }

    fn run(path: &Path, text: &str) -> Result<Input, Error> {
        let name = path.display();
        let value: Value = serde_json::from_str(text)
            .map_err(|e| anyhow!("{name} is damaged: {e}; make it anew by weft run --json"))?;
        match value["schema"].as_str() {
            Some(schema) if SCHEMAS.contains(&schema) => {}
            Some(other) => {
                return Err(anyhow!(
                    "{name} has schema {other} and this program reads {}; make it anew by weft run --json",
                    SCHEMAS.join(" and ")
                ));
            }
            None => {
                return Err(anyhow!(
                    "{name} is JSON without the schema of results; give a file that weft run --json has written"
                ));
            }
        }
        if let Some((part, _)) = PARTS.iter().find(|(part, fits)| !fits(&value[*part])) {
            return Err(anyhow!(
                "{name} is damaged: its {part} is missing or of another kind; make it anew by weft run --json"
            ));
        }
        plausible::run(&value).map_err(|problem| {
            anyhow!("{name} is damaged or was changed: {problem}; make it anew by weft run --json")
        })?;
        Ok(Input::Run(Box::new(value)))
    }

    /// A table of a sweep; no error of its own when it is another file altogether.
    fn sweep(path: &Path, text: &str) -> Result<Input, Option<Error>> {
        let mut reader = csv::ReaderBuilder::new().from_reader(text.as_bytes());
        let headers = reader.headers().map_err(|_| None)?;
        let columns: Vec<String> = headers.iter().map(str::to_string).collect();
        if ["run", "status", "workload", "cycles"].iter().any(|name| !columns.iter().any(|c| c == name)) {
            return Err(None);
        }
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|e| {
                let name = path.display();
                Some(anyhow!("the table {name} is damaged: {e}; make it anew by weft sweep"))
            })?;
            let row: Vec<String> = record.iter().map(str::to_string).collect();
            let line = record.position().map_or(0, csv::Position::line);
            unchanged(&columns, &row)
                .and_then(|()| plausible::row(&columns, &row))
                .map_err(|problem| Some(anyhow!("line {line} of the table {} {problem}", path.display())))?;
            rows.push(row);
        }
        Ok(Input::Sweep { columns, rows })
    }
}

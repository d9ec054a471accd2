//! Records: results that are kept with the program, one file for each sweep, so that tables of published
//! comparisons can be made again without the runs.
//!
//! `NAME.csv.gz` has the rows of `NAME.csv` that succeeded, with one column more: `settings`, all keys of the
//! fabric and all that the sweep says of the program. A row counts as long as the sweep asks for the same; it
//! may be of another version of the program, whose name it holds (`weft`). A key that is newer than a row does
//! not change it. Who looks for runs that are missing has their hardware, and learns which rows are of another.

pub(crate) mod asked;
mod elsewhere;

use super::columns::{CHECK, DATA, HARDWARE, IDENTITY, checksum, data_bytes, recorded, unchanged};
use super::contest::Contest;
use super::file::SweepFile;
use super::plan::{Plan, Run, count, points};
use super::results::{failed, line};
use super::summary::Summary;
use anyhow::{Context, Error, anyhow};
use asked::Asked;
pub use elsewhere::{Rows, elsewhere};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// The column of what was asked for.
const SETTINGS: &str = "settings";

/// What a folder of records has of a sweep.
pub struct Record {
    /// The sweep with the columns of the record; it has no runs that could be made.
    pub plan: Plan,
    /// Cells of each run, in order of the product.
    pub rows: Vec<Option<Vec<String>>>,
    /// Versions of the program that made them, each with its number of runs.
    pub versions: BTreeMap<String, usize>,
    /// Why rows that are there do not count; the first of them.
    pub stale: Option<String>,
}

/// The file of a sweep in a folder of records.
pub fn path(folder: &Path, sweep: &SweepFile) -> PathBuf {
    folder.join(format!("{}.csv.gz", sweep.name))
}

impl Record {
    /// Reads what there is; none where a sweep has no record.
    ///
    /// # Errors
    /// A file that cannot be read, or that was changed.
    pub fn read(folder: &Path, sweep: SweepFile) -> Result<Option<Record>, Error> {
        let path = path(folder, &sweep);
        let Some(table) = Table::read(&path)? else { return Ok(None) };
        let mut places: HashMap<Vec<String>, &Vec<String>> = HashMap::new();
        for row in &table.rows {
            places.insert(table.labels(&sweep, row), row);
        }
        let mut rows = vec![None; count(&sweep)];
        let mut versions = BTreeMap::new();
        let mut stale = None;
        for (number, place) in rows.iter_mut().enumerate() {
            let labels: Vec<String> = points(&sweep, number).iter().map(|p| p.label.clone()).collect();
            let Some(row) = places.get(&labels) else { continue };
            if let Err(how) = same(&table, row, &sweep, number) {
                stale.get_or_insert(format!("{}: {how}", labels.join(", ")));
                continue;
            }
            *versions.entry(table.cell(row, "weft").to_string()).or_default() += 1;
            *place = Some((*row).clone());
        }
        let columns = recorded(&sweep, &table.header, &table.rows);
        let summaries = Summary::all(&sweep, &columns)?;
        let contests = Contest::all(&sweep, &columns)?;
        let plan = Plan { sweep, runs: Vec::new(), columns, summaries, contests };
        Ok(Some(Record { plan, rows, versions, stale }))
    }

    /// How many runs there are of how many, and what made them; `sweep` is its name on the command line.
    pub fn told(&self, sweep: &str) -> String {
        let made = self.versions.iter().map(|(weft, runs)| format!("{runs} by weft {weft}"));
        let made = made.collect::<Vec<_>>().join(", ");
        let there: usize = self.versions.values().sum();
        let stale = match &self.stale {
            None => String::new(),
            Some(how) => format!(" Others were recorded with other settings and do not count: {how}."),
        };
        let tier = self.plan.sweep.tier.map_or_else(String::new, |tier| format!(" --tier {}", tier.name()));
        format!(
            "{there} of {} runs of `weft sweep {sweep}{tier}` are recorded: {made}.{stale}",
            self.rows.len()
        )
    }

    /// Numbers of runs of a plan whose rows were made on other hardware than these runs have now. A row from before the
    /// column does not say.
    pub fn outdated(&self, plan: &Plan) -> BTreeSet<usize> {
        let Some(at) = self.plan.columns.iter().position(|column| column.name == HARDWARE) else {
            return BTreeSet::new();
        };
        let differs = |run: &&Run| {
            let made = self.rows[run.number].as_ref().map(|row| row[at].as_str());
            made.is_some_and(|made| !made.is_empty() && made != run.hardware)
        };
        plan.runs.iter().filter(differs).map(|run| run.number).collect()
    }

    /// Puts rows of results beside those that the record has, in their place where both have a run; gives the
    /// file, or none if there is nothing to keep.
    ///
    /// # Errors
    /// A record that cannot be read, a folder that cannot be written.
    pub fn keep(folder: &Path, plan: &Plan, rows: &[Option<Vec<String>>]) -> Result<Option<PathBuf>, Error> {
        let path = path(folder, &plan.sweep);
        let own: Vec<String> = plan.columns.iter().map(|column| column.name.clone()).collect();
        let at = own.len() - 1;
        let old = Record::read(folder, plan.sweep.clone())?;
        let mut header = own.clone();
        header.insert(at, SETTINGS.into());
        let mut text = line(&header)?;
        let mut kept = 0;
        for (number, row) in rows.iter().enumerate() {
            let cells = match row.as_ref().filter(|row| !failed(&own, row)) {
                Some(row) => {
                    let mut cells = row.clone();
                    cells.insert(at, serde_json::to_string(&Asked::of(&plan.sweep, number)?)?);
                    Some(cells)
                }
                None => old.as_ref().and_then(|old| old.under(number, &header)),
            };
            let Some(mut cells) = cells else { continue };
            if let Some(run) = plan.runs.get(number) {
                complete(&header, &mut cells, run);
            }
            if let Some(check) = header.iter().position(|name| name == CHECK) {
                cells[check] = checksum(&header, &cells);
            }
            text.extend(line(&cells)?);
            kept += 1;
        }
        if kept == 0 {
            return Ok(None);
        }
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(&text)?;
        weft_output::write(&path, &packed.finish()?)?;
        Ok(Some(path))
    }

    /// The row of a run under other headings.
    fn under(&self, number: usize, header: &[String]) -> Option<Vec<String>> {
        let row = self.rows[number].as_ref()?;
        let cell = |name: &String| {
            let at = self.plan.columns.iter().position(|column| column.name == *name);
            at.map_or_else(String::new, |at| row[at].clone())
        };
        Some(header.iter().map(cell).collect())
    }
}

/// Fills in what a row from before these columns does not have: its program is that of the run, and of the same identity
/// its hardware is, too.
fn complete(header: &[String], cells: &mut [String], run: &Run) {
    let at = |name: &str| header.iter().position(|known| known == name);
    if let Some(data) = at(DATA) {
        cells[data] = data_bytes(run).to_string();
    }
    let (Some(hardware), Some(identity)) = (at(HARDWARE), at(IDENTITY)) else { return };
    if cells[hardware].is_empty() && cells[identity] == run.identity {
        cells[hardware].clone_from(&run.hardware);
    }
}

/// A record as it stands in its file.
struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    fn read(path: &Path) -> Result<Option<Table>, Error> {
        let shown = path.display();
        if !path.exists() {
            return Ok(None);
        }
        let packed = std::fs::read(path).with_context(|| format!("cannot read {shown}"))?;
        let mut text = String::new();
        GzDecoder::new(&packed[..]).read_to_string(&mut text).map_err(|e| {
            anyhow!("{shown} is no record: {e}; restore it, or delete it and make its runs again")
        })?;
        let mut lines = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
        let mut rows: Vec<Vec<String>> = Vec::new();
        for record in lines.records() {
            let record = record.map_err(|e| anyhow!("{shown} is no record: {e}"))?;
            rows.push(record.iter().map(str::to_string).collect());
        }
        if rows.is_empty() {
            return Err(anyhow!("{shown} is no record: it is empty"));
        }
        let header = rows.remove(0);
        for (at, row) in rows.iter().enumerate() {
            unchanged(&header, row).map_err(|problem| anyhow!("{shown} line {} {problem}", at + 2))?;
        }
        Ok(Some(Table { header, rows }))
    }

    fn cell<'a>(&self, row: &'a [String], name: &str) -> &'a str {
        self.header.iter().position(|known| known == name).map_or("", |at| row[at].as_str())
    }

    /// The values of a sweep's axes in a row.
    fn labels(&self, sweep: &SweepFile, row: &[String]) -> Vec<String> {
        sweep.axes.iter().map(|axis| self.cell(row, &format!("axis.{}", axis.name)).to_string()).collect()
    }
}

/// Whether a row is of what a sweep now asks for.
///
/// # Errors
/// What differs.
fn same(table: &Table, row: &[String], sweep: &SweepFile, number: usize) -> Result<(), String> {
    let then: Asked = serde_json::from_str(table.cell(row, SETTINGS)).map_err(|e| e.to_string())?;
    let now = Asked::of(sweep, number).map_err(|e| format!("{e:#}"))?;
    then.differs(&now).map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests;

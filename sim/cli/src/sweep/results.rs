//! The results file: a line per run, added as runs end, put into the order of the product when all have.
//!
//! A line is written by one call and then synchronised with the disk, so that a sweep that is killed has whole lines and perhaps a last one without its
//! end. That one is dropped when the sweep goes on.

use super::columns::{CHECK, Cells, checksum, unchanged};
use super::plan::Plan;
use anyhow::{Context, Error, anyhow};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use weft_output::{Output, OutputError};

/// The file while a sweep works on it.
pub struct Results {
    path: PathBuf,
    file: File,
    header: Vec<String>,
    /// Cells of each run, in order of the product.
    rows: Vec<Option<Vec<String>>>,
}

/// What a file held when it was opened.
struct Held {
    rows: Vec<Option<Vec<String>>>,
    /// Bytes up to the end of the last whole line.
    whole: u64,
}

impl Results {
    /// Opens or makes the results of a plan in a folder that exists. Rows of the same plan are kept; failed runs are forgotten, to be tried again.
    /// With `restart`, a file that is there is renamed and its new name given.
    ///
    /// # Errors
    /// A file of another sweep or of changed settings, one that another sweep writes, or one that cannot be written; it is then left as it was.
    pub fn open(path: &Path, plan: &Plan, restart: bool) -> Result<(Results, Option<PathBuf>), Error> {
        let aside = if restart { aside(path)? } else { None };
        let header: Vec<String> = plan.columns.iter().map(|column| column.name.clone()).collect();
        if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return Err(anyhow!("{} is no file; give another folder by --out", path.display()));
        }
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(|e| anyhow!("cannot write {}: {e}; give another folder by --out", path.display()))?;
        file.try_lock().map_err(|e| match e {
            TryLockError::WouldBlock => {
                anyhow!(
                    "another sweep is writing {}; wait for it or give another folder by --out",
                    path.display()
                )
            }
            TryLockError::Error(e) => anyhow!("cannot lock {}: {e}", path.display()),
        })?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).with_context(|| format!("cannot read {}", path.display()))?;
        let held = read(&bytes, &header, plan).map_err(|e| {
            anyhow!(
                "{} {e}; --restart keeps it aside and begins anew, --out writes into another folder",
                path.display()
            )
        })?;
        let mut results = Results { path: path.to_path_buf(), file, header, rows: held.rows };
        results.file.set_len(held.whole).and_then(|()| results.file.seek(SeekFrom::End(0)).map(|_| ()))?;
        if held.whole == 0 {
            let line = line(&results.header)?;
            results.put(&line)?;
        }
        results.forget_failures()?;
        Ok((results, aside))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a run's row is there.
    pub fn has(&self, number: usize) -> bool {
        self.rows[number].is_some()
    }

    /// Cells of all runs that have ended, in order of the product.
    pub fn rows(&self) -> &[Option<Vec<String>>] {
        &self.rows
    }

    /// Adds a run's row.
    ///
    /// # Errors
    /// A disk that is full or gone.
    pub fn append(&mut self, number: usize, cells: &Cells) -> Result<(), Error> {
        let mut row: Vec<String> =
            self.header.iter().map(|name| cells.get(name).cloned().unwrap_or_default()).collect();
        if let Some(at) = self.header.iter().position(|name| name == CHECK) {
            row[at] = checksum(&self.header, &row);
        }
        let line = line(&row)?;
        self.put(&line)?;
        self.rows[number] = Some(row);
        Ok(())
    }

    /// Puts the rows into the order of the product: a new file takes the place of the old one.
    ///
    /// # Errors
    /// A disk that is full or gone; the old file is then still there.
    pub fn sort(&mut self) -> Result<(), Error> {
        let mut bytes = line(&self.header)?;
        for row in self.rows.iter().flatten() {
            bytes.extend(line(row)?);
        }
        self.file = replace(&self.path, &bytes)?;
        Ok(())
    }

    /// Takes failed runs out of the table and the file.
    fn forget_failures(&mut self) -> Result<(), Error> {
        let status = self.header.iter().position(|name| name == "status").unwrap_or(0);
        let before = self.rows.iter().flatten().count();
        for row in &mut self.rows {
            if row.as_ref().is_some_and(|cells| !["ok", "stale"].contains(&cells[status].as_str())) {
                *row = None;
            }
        }
        if self.rows.iter().flatten().count() < before { self.sort() } else { Ok(()) }
    }

    fn put(&mut self, line: &[u8]) -> Result<(), Error> {
        let written = self.file.write_all(line).and_then(|()| self.file.sync_data());
        written.map_err(|cause| OutputError::of(&self.path, &cause).into())
    }
}

/// Renames a CSV file that is there to a free name, and gives that.
///
/// # Errors
/// A file that cannot be renamed.
pub fn aside(path: &Path) -> Result<Option<PathBuf>, Error> {
    if !path.exists() {
        return Ok(None);
    }
    let free = (1u32..).map(|n| path.with_extension(format!("{n}.csv"))).find(|p| !p.exists());
    let free = free.context("no free name")?;
    std::fs::rename(path, &free).with_context(|| format!("cannot rename {}", path.display()))?;
    Ok(Some(free))
}

/// Writes a file beside the old one, locks it and puts it in its place, so that nothing half written is ever seen.
///
/// # Errors
/// A disk that is full or gone; the old file is then still there.
fn replace(path: &Path, bytes: &[u8]) -> Result<File, OutputError> {
    let mut output = Output::create(path)?;
    let done = output.write_all(bytes).and_then(|()| output.file().sync_data());
    done.and_then(|()| output.file().lock()).map_err(|cause| output.failed(&cause))?;
    output.commit()
}

/// Cells as a line of CSV.
fn line(cells: &[String]) -> Result<Vec<u8>, Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(cells)?;
    writer.into_inner().map_err(|e| anyhow!("{e}"))
}

/// Reads what a file holds; the error continues a sentence that begins with its name.
fn read(bytes: &[u8], header: &[String], plan: &Plan) -> Result<Held, String> {
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let mut held = Held { rows: vec![None; plan.runs.len()], whole: whole as u64 };
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(&bytes[..whole]);
    for (at, record) in reader.records().enumerate() {
        let line = at + 1;
        let record = record.map_err(|e| format!("line {line} is no CSV: {e}"))?;
        let mut cells: Vec<String> = record.iter().map(str::to_string).collect();
        if at == 0 {
            if cells != header {
                return Err(other_header(&cells, header));
            }
            continue;
        }
        let number = fit(&cells, header, plan)
            .and_then(|number| unchanged(header, &cells).map(|()| number))
            .map_err(|problem| format!("line {line} {problem}"))?;
        if held.rows[number].is_some() {
            return Err(format!("line {line} is run {} a second time", number + 1));
        }
        if let Some(run) = header.iter().position(|name| name == "run") {
            cells[run] = (number + 1).to_string();
        }
        held.rows[number] = Some(cells);
    }
    Ok(held)
}

fn other_header(found: &[String], header: &[String]) -> String {
    let missing = header.iter().find(|name| !found.contains(name));
    let more = found.iter().find(|name| !header.contains(name));
    let how = match (missing, more) {
        (Some(name), _) => format!("has no column {name}"),
        (None, Some(name)) => format!("has a column {name} that this sweep has not"),
        (None, None) => "has its columns in another order".into(),
    };
    format!("holds the results of another sweep: it {how}")
}

/// The run of which these cells are the row.
fn fit(cells: &[String], header: &[String], plan: &Plan) -> Result<usize, String> {
    if cells.len() != header.len() {
        return Err(format!("has {} cells where there are {} columns", cells.len(), header.len()));
    }
    let cell = |name: &str| header.iter().position(|n| n == name).map_or("", |at| cells[at].as_str());
    // Rows are known by their identity, so that an axis may be made longer.
    if let Some(run) = plan.runs.iter().find(|run| run.identity == cell("identity")) {
        return Ok(run.number);
    }
    let number = cell("run").parse::<usize>().ok().and_then(|n| n.checked_sub(1));
    let run = number
        .and_then(|n| plan.runs.get(n))
        .ok_or_else(|| format!("is run {} of a sweep that now has {} runs", cell("run"), plan.runs.len()))?;
    let planned = super::columns::planned(run, &plan.sweep);
    let differs =
        header.iter().filter(|name| !["run", "weft", "identity"].contains(&name.as_str())).find_map(|name| {
            let now = planned.get(name)?;
            (cell(name) != now).then(|| format!("{name} is {} there and {now} now", shown(cell(name))))
        });
    Err(match differs {
        Some(how) => format!("is of other settings: {how}"),
        None => "was made with other hardware, data or another version of this program".into(),
    })
}

fn shown(cell: &str) -> &str {
    if cell.is_empty() { "empty" } else { cell }
}

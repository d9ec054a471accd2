//! The results file: a line per run, added as runs end, put into the order of the product when all have.
//!
//! A line is written by one call and then synchronised with the disk, so that a sweep that is killed has whole lines and perhaps a last one without its
//! end. That one is dropped when the sweep goes on.
//!
//! Tasks on several machines ([`Parts`]) have files of the same form, whose rows become rows of the results.

use super::begun::Begun;
use super::columns::{CHECK, Cells, checksum, unchanged};
use super::parts::{Parts, is_locked};
use super::plan::{Plan, Run};
use super::shard::Shard;
use anyhow::{Context, Error, anyhow};
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use weft_output::{Output, OutputError};

/// The file while a sweep works on it.
pub struct Results {
    path: PathBuf,
    /// None of a task that has begun no run.
    file: Option<File>,
    /// For a task: which one it is.
    task: Option<Shard>,
    header: Vec<String>,
    /// Cells of each run, in order of the product.
    rows: Vec<Option<Vec<String>>>,
    /// Runs whose rows are in files of others.
    elsewhere: Vec<bool>,
}

/// For what results are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To make the runs that are missing; failed ones are forgotten, to be tried again.
    GoOn,
    /// The same from the beginning: what is there is renamed.
    Restart,
    /// To look at what is there.
    Collect,
}

/// What a file held when it was opened.
struct Held {
    rows: Vec<Option<Vec<String>>>,
    /// Bytes up to the end of the last whole line.
    whole: u64,
}

impl Results {
    /// Opens or makes the results of a plan in a folder that exists, with what tasks on other machines have made of it. Rows of the same plan are kept.
    /// Gives the new names of what was renamed.
    ///
    /// # Errors
    /// A file of another sweep or of changed settings, one that another sweep writes, or one that cannot be written; it is then left as it was.
    pub fn open(path: &Path, plan: &Plan, purpose: Purpose) -> Result<(Results, Vec<PathBuf>), Error> {
        let aside = if purpose == Purpose::Restart { begin_anew(path)? } else { Vec::new() };
        // What cannot be read is told before anything is made.
        let header = header(plan);
        let parts: Vec<_> = Parts::of(path)
            .files()?
            .iter()
            .map(|part| rows_of(part, &header, plan, AWAY))
            .collect::<Result<_, _>>()?;
        let mut results = Results::file(path, plan)?;
        parts.into_iter().for_each(|rows| merge(&header, &mut results.rows, rows));
        if purpose != Purpose::Collect {
            results.forget_failures();
        }
        results.sort()?;
        Ok((results, aside))
    }

    /// The results of one of several tasks: it makes a file when it has a run to make ([`Results::begin`]). Runs
    /// that have a row in the results or in the file of another task are not to be made.
    ///
    /// # Errors
    /// As [`Results::open`].
    pub fn of_task(path: &Path, plan: &Plan, shard: Shard) -> Result<Results, Error> {
        let rows = Results::look(path, plan)?;
        let header = header(plan);
        let is_made = |row: &Option<Vec<String>>| row.as_ref().is_some_and(|row| !failed(&header, row));
        Ok(Results {
            path: Parts::of(path).folder().to_path_buf(),
            file: None,
            task: Some(shard),
            elsewhere: rows.iter().map(is_made).collect(),
            rows: vec![None; rows.len()],
            header,
        })
    }

    /// The rows that there are, in the results and in the files of tasks, without writing anything.
    ///
    /// # Errors
    /// A file of another sweep or of changed settings.
    pub fn look(path: &Path, plan: &Plan) -> Result<Vec<Option<Vec<String>>>, Error> {
        let header = header(plan);
        let mut rows = match path.exists() {
            true => rows_of(path, &header, plan, RESTART)?,
            false => vec![None; plan.runs.len()],
        };
        for part in Parts::of(path).files()? {
            merge(&header, &mut rows, rows_of(&part, &header, plan, AWAY)?);
        }
        Ok(rows)
    }

    /// Numbers of the runs, of these, that have no row of a success.
    ///
    /// # Errors
    /// As [`Results::look`].
    pub fn left(path: &Path, plan: &Plan, numbers: &[usize]) -> Result<Vec<usize>, Error> {
        let (rows, header) = (Results::look(path, plan)?, header(plan));
        let is_left = |number: &usize| rows[*number].as_ref().is_none_or(|row| failed(&header, row));
        Ok(numbers.iter().copied().filter(is_left).collect())
    }

    /// Opens or makes one file.
    fn file(path: &Path, plan: &Plan) -> Result<Results, Error> {
        let header = header(plan);
        if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return Err(anyhow!("{} is no file; give another folder by --out", path.display()));
        }
        let mut file = locked(path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).with_context(|| format!("cannot read {}", path.display()))?;
        let held = read(&bytes, &header, plan).map_err(|e| other(path, &e, RESTART))?;
        file.set_len(held.whole).and_then(|()| file.seek(SeekFrom::End(0)).map(|_| ()))?;
        let elsewhere = vec![false; plan.runs.len()];
        let mut results = Results {
            path: path.to_path_buf(),
            file: Some(file),
            task: None,
            header,
            rows: held.rows,
            elsewhere,
        };
        if held.whole == 0 {
            let line = line(&results.header)?;
            results.put(&line)?;
        }
        Ok(results)
    }

    /// The file, or of a task the folder of the tasks' files.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a run's row is there, here or in the file of another task.
    pub fn has(&self, number: usize) -> bool {
        self.rows[number].is_some() || self.elsewhere[number]
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

    /// Puts the rows into the order of the product: a new file takes the place of the old one. A task's file stays as it is.
    ///
    /// # Errors
    /// A disk that is full or gone; the old file is then still there.
    pub fn sort(&mut self) -> Result<(), Error> {
        if self.task.is_some() {
            return Ok(());
        }
        let mut bytes = line(&self.header)?;
        for row in self.rows.iter().flatten() {
            bytes.extend(line(row)?);
        }
        self.file = Some(replace(&self.path, &bytes)?);
        Ok(())
    }

    /// Takes failed runs out of the table; [`Results::sort`] takes them out of the file.
    fn forget_failures(&mut self) {
        for row in &mut self.rows {
            row.take_if(|cells| failed(&self.header, cells));
        }
    }

    /// Makes a task's file, before its first run.
    ///
    /// # Errors
    /// As [`Parts::create`]; a disk that is full.
    pub fn begin(&mut self) -> Result<(), Error> {
        let (None, Some(shard)) = (&self.file, self.task) else { return Ok(()) };
        let (path, mut file) = Parts::at(&self.path).create(shard)?;
        let head = line(&self.header)?;
        file.write_all(&head).map_err(|cause| OutputError::of(&path, &cause))?;
        self.file = Some(file);
        Ok(())
    }

    fn put(&mut self, line: &[u8]) -> Result<(), Error> {
        let file = self.file.as_mut().expect("a file is made before the first run");
        let written = file.write_all(line).and_then(|()| file.sync_data());
        written.map_err(|cause| OutputError::of(&self.path, &cause).into())
    }
}

/// Whether a row is that of a failed run.
pub(super) fn failed(header: &[String], cells: &[String]) -> bool {
    let status = header.iter().position(|name| name == "status").unwrap_or(0);
    !["ok", "stale"].contains(&cells[status].as_str())
}

/// Takes in rows of another file: those of runs that have none, or none of a success.
fn merge(header: &[String], rows: &mut [Option<Vec<String>>], more: Vec<Option<Vec<String>>>) {
    for (own, theirs) in rows.iter_mut().zip(more) {
        let Some(theirs) = theirs else { continue };
        if own.as_ref().is_none_or(|own| failed(header, own) && !failed(header, &theirs)) {
            *own = Some(theirs);
        }
    }
}

/// Names of the columns.
fn header(plan: &Plan) -> Vec<String> {
    plan.columns.iter().map(|column| column.name.clone()).collect()
}

/// Opens or makes a file that nobody else writes.
fn locked(path: &Path) -> Result<File, Error> {
    let shown = path.display();
    loop {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(|e| anyhow!("cannot write {shown}: {e}; give another folder by --out"))?;
        file.try_lock().or_else(|e| match e {
            TryLockError::WouldBlock => {
                Err(anyhow!("another sweep is writing {shown}; wait for it or give another folder by --out"))
            }
            TryLockError::Error(e) if has_no_locks(&e) => Ok(()),
            TryLockError::Error(e) => Err(anyhow!("cannot lock {shown}: {e}; give another folder by --out")),
        })?;
        // Before it was locked, whoever had it may have put another file in its place.
        let same = |a: &Metadata, b: &Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
        match (file.metadata(), std::fs::metadata(path)) {
            (Ok(own), Ok(now)) if same(&own, &now) => return Ok(file),
            (Err(e), _) => return Err(anyhow!("cannot read {shown}: {e}; give another folder by --out")),
            _ => {}
        }
    }
}

/// Whether this is what a file system without locks says.
fn has_no_locks(error: &std::io::Error) -> bool {
    // ENOLCK, which has no kind.
    const NO_LOCKS: i32 = 37;
    error.kind() == ErrorKind::Unsupported || error.raw_os_error() == Some(NO_LOCKS)
}

/// The whole rows of a file that somebody may be writing.
fn rows_of(
    path: &Path,
    header: &[String],
    plan: &Plan,
    remedy: &str,
) -> Result<Vec<Option<Vec<String>>>, Error> {
    let shown = path.display();
    let is_file = std::fs::metadata(path).is_ok_and(|found| found.is_file());
    if !is_file {
        return Err(anyhow!("{shown} is no file; move it away"));
    }
    let bytes = std::fs::read(path).map_err(|e| anyhow!("cannot read {shown}: {e}; move it away"))?;
    Ok(read(&bytes, header, plan).map_err(|e| other(path, &e, remedy))?.rows)
}

/// What to do about results of something else, and about a task's.
const RESTART: &str = "--restart keeps it aside and begins anew, --out writes into another folder";
const AWAY: &str = "move it away, or give another folder by --out";

/// The error of a file that holds something else.
fn other(path: &Path, what: &str, remedy: &str) -> Error {
    anyhow!("{} {what}; {remedy}", path.display())
}

/// Fails while a sweep or a task is writing these results, as far as locks tell.
///
/// # Errors
/// That one is.
pub fn free(path: &Path) -> Result<(), Error> {
    if is_locked(path) {
        return Err(anyhow!("another sweep is writing {}; wait for it or end it", path.display()));
    }
    match Parts::of(path).files()?.iter().find(|part| is_locked(part)) {
        Some(part) => Err(anyhow!("a task is writing {}; wait for it or end it", part.display())),
        None => Ok(()),
    }
}

/// Whether there are results of any kind.
///
/// # Errors
/// A folder that cannot be read.
pub fn are_there(path: &Path) -> Result<bool, Error> {
    Ok(path.exists() || !Parts::of(path).files()?.is_empty())
}

/// Renames what there is of results, so that they begin anew; gives the new names.
///
/// # Errors
/// As [`free`] and [`aside`].
pub fn begin_anew(path: &Path) -> Result<Vec<PathBuf>, Error> {
    free(path)?;
    let renamed = [path, Parts::of(path).folder(), Begun::of(path).folder()].map(aside);
    Ok(renamed.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

/// Renames a file or a folder that is there to a free name with a number before its extension, and gives that.
///
/// # Errors
/// One that cannot be renamed.
pub fn aside(path: &Path) -> Result<Option<PathBuf>, Error> {
    if !path.exists() {
        return Ok(None);
    }
    let extension = path.extension().unwrap_or_default().display();
    let free = (1u32..).map(|n| path.with_extension(format!("{n}.{extension}"))).find(|p| !p.exists());
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
    let lock = |output: &Output| match output.file().lock() {
        Err(e) if has_no_locks(&e) => Ok(()),
        locked => locked,
    };
    done.and_then(|()| lock(&output)).map_err(|cause| output.failed(&cause))?;
    output.commit()
}

/// Cells as a line of CSV.
///
/// # Errors
/// None that cells can cause.
pub fn line(cells: &[String]) -> Result<Vec<u8>, Error> {
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
    // Rows are known by what was run and under which names, so that an axis may be made longer.
    let axes = &plan.sweep.axes;
    let named = |run: &&Run| {
        axes.iter().zip(&run.labels).all(|(a, label)| cell(&format!("axis.{}", a.name)) == label)
    };
    let mut same = plan.runs.iter().filter(|run| run.identity == cell("identity"));
    if let Some(run) = same.find(named) {
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

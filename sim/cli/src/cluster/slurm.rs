//! A job array for Slurm: its script, and how it is submitted.

use super::{Place, word};
use crate::failure::Failure;
use crate::signals::{self, Graceful};
use anyhow::{Error, anyhow};
use indicatif::ProgressBar;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read as _, Seek as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf, absolute};
use std::process::{Command, Output as Ended, Stdio};
use std::time::Duration;
use weft_output::Output;

/// A job array.
pub struct Job<'a> {
    /// Tasks that have runs to make, from 1, in order.
    pub shards: &'a [usize],
    /// Tasks that share all runs.
    pub tasks: usize,
    /// Runs at a time in a task.
    pub jobs: usize,
    /// Bytes of a task.
    pub memory: u64,
    pub partition: Option<&'a str>,
    pub time: Option<&'a str>,
    pub place: &'a Place,
}

impl Job<'_> {
    /// The script. Tasks run in the folder in which the command was given, so that relative paths are the same.
    ///
    /// # Errors
    /// Names that no script can hold; no current folder.
    pub fn script(&self) -> Result<String, Error> {
        let Place { script, logs, options, words, .. } = self.place;
        let here = std::env::current_dir().map_err(|e| {
            anyhow!("the current folder is gone ({e}); give the command in one that is there")
        })?;
        let text = |path: &Path| word(path).map_err(|failure| anyhow!("{failure}"));
        let name = script.file_stem().unwrap_or_default();
        // In the name of a log a percent sign means something to Slurm, in any folder's a backslash.
        let (logs, here) = (text(&absolute(logs)?)?, text(&here)?);
        if let Some(folder) = [&logs, &here].into_iter().find(|folder| folder.contains('\\')) {
            return Err(anyhow!(
                "Slurm takes no folder with a backslash in its name, as {folder}; rename it"
            ));
        }
        let mut lines = vec![
            format!("--job-name={}", quoted(&format!("weft-{}", text(Path::new(name))?))),
            format!("--array={}", ranges(self.shards)),
            "--ntasks=1".into(),
            format!("--cpus-per-task={}", self.jobs),
            format!("--mem={}M", self.memory.div_ceil(1 << 20)),
            format!("--chdir={}", quoted(&here)),
            format!("--output={}", quoted(&format!("{}/task-%a.log", logs.replace('%', "%%")))),
            "--open-mode=append".into(),
            "--requeue".into(),
        ];
        lines.extend(self.partition.map(|name| format!("--partition={name}")));
        lines.extend(self.time.map(|time| format!("--time={time}")));
        let all = |words: &[String]| words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        let (options, words) = (all(options), all(words));
        let share = format!("--shard=\"$SLURM_ARRAY_TASK_ID/{}\"", self.tasks);
        let command = format!("exec {options} --jobs={} {share} -- {words}", self.jobs);
        if let Some(line) = lines.iter().chain([&command]).find(|line| line.contains(['\n', '\r'])) {
            return Err(anyhow!("a name has a line break, which no script can hold; rename it: {line:?}"));
        }
        let mut text = "#!/bin/sh\n".to_string();
        for line in lines {
            writeln!(text, "#SBATCH {line}")?;
        }
        writeln!(text, "{command}")?;
        Ok(text)
    }
}

/// A word as a shell takes it, and sbatch.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=,%:@".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Numbers in rising order as `1-3,7`.
fn ranges(numbers: &[usize]) -> String {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b);
    let words = runs.map(|run| match run {
        [one] => one.to_string(),
        _ => format!("{}-{}", run[0], run[run.len() - 1]),
    });
    words.collect::<Vec<_>>().join(",")
}

/// Runs a command of Slurm to its end, with a script on its standard input.
fn run(name: &str, args: &[&str], script: &str) -> Result<Ended, Failure> {
    let mut command = Command::new(name);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // A signal from the terminal is for this program, which says what becomes of the job.
    command.process_group(0);
    // What the user's environment sets there would go before what is asked for.
    for (key, _) in std::env::vars_os() {
        let before = ["SBATCH_", "SQUEUE_", "SLURM_CLUSTERS"];
        if key.to_str().is_some_and(|key| before.iter().any(|head| key.starts_with(head))) {
            command.env_remove(&key);
        }
    }
    let bar = ProgressBar::new_spinner().with_message(format!("asking Slurm ({name})"));
    bar.enable_steady_tick(Duration::from_millis(200));
    let ended = command.spawn().and_then(|mut child| {
        if let Some(mut input) = child.stdin.take() {
            // A command that ends before it has read all says why.
            let _ = input.write_all(script.as_bytes());
        }
        child.wait_with_output()
    });
    bar.finish_and_clear();
    ended.map_err(|cause| {
        Failure::input(anyhow!(
            "{name} does not start: {cause}; give this command where Slurm is installed, or take --dry-run, or --shard for another scheduler"
        ))
    })
}

/// What a command of Slurm complains of, in one line.
fn complaint(ended: &Ended) -> String {
    let said = String::from_utf8_lossy(&ended.stderr);
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match lines.is_empty() {
        true => format!("it says nothing and ends with {}", ended.status),
        false => lines.join("; "),
    }
}

/// Fails where Slurm is not.
///
/// # Errors
/// That it is not.
pub fn is_there() -> Result<(), Failure> {
    run("sbatch", &["--version"], "").map(drop)
}

/// Opens the note in which the number of the last job is kept, so that nobody else submits meanwhile; without `make` only if it is there.
///
/// # Errors
/// A job that is still at work, or somebody who is submitting one; Slurm that does not tell; a note that is none.
pub fn free(note: &Path, make: bool) -> Result<Option<File>, Failure> {
    let shown = note.display();
    let wrong = |e: std::io::Error| {
        Failure::input(anyhow!("cannot open {shown}: {e}; remove it, or give another folder by --out"))
    };
    let mut file = match OpenOptions::new().read(true).write(true).create(make).truncate(false).open(note) {
        Err(e) if e.kind() == ErrorKind::NotFound && !make => return Ok(None),
        opened => opened.map_err(wrong)?,
    };
    if let Err(TryLockError::WouldBlock) = file.try_lock() {
        return Err(Failure::input(anyhow!(
            "another command is submitting these runs just now; wait for it"
        )));
    }
    let mut text = Vec::new();
    file.read_to_end(&mut text).map_err(wrong)?;
    over(String::from_utf8_lossy(&text).trim(), note)?;
    Ok(Some(file))
}

/// Fails while the job of this number, which stands in `note`, is at work.
fn over(id: &str, note: &Path) -> Result<(), Failure> {
    let note = note.display();
    if id.is_empty() {
        return Ok(());
    }
    if !is_number(id) {
        return Err(Failure::input(anyhow!(
            "{note} does not hold the number of a job but {id:?}; remove it"
        )));
    }
    let told = run("squeue", &["--noheader", "--format=%i", "--jobs", id], "")?;
    if told.status.success() && told.stdout.trim_ascii().is_empty() {
        return Ok(());
    }
    let said = complaint(&told);
    // What Slurm says of a job that it has forgotten.
    if !told.status.success() && said.contains("Invalid job id") {
        return Ok(());
    }
    Err(Failure::input(match told.status.success() {
        true => anyhow!(
            "job {id}, which was submitted for these results, is still at work: wait for it (`squeue -j {id}`) or end it (`scancel {id}`), then give this command again; if it is somebody else's by now, remove {note}"
        ),
        false => anyhow!(
            "squeue does not tell whether job {id}, which was submitted for these results, is over: {said}; ask again later, or remove {note} if it is"
        ),
    }))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// Submits the script and notes the job's number, which it gives, with what `before` has renamed. The job is held until everything is in its place: what
/// Slurm refuses changes nothing, and a signal comes before or after the whole.
///
/// # Errors
/// A job that is still at work, a file that cannot be written, no Slurm, a script that it refuses.
pub fn submit(
    place: &Place,
    script: &str,
    before: &dyn Fn() -> Result<Vec<PathBuf>, Failure>,
) -> Result<(String, Vec<PathBuf>), Failure> {
    let _graceful = Graceful::new();
    let folder = place.note.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|e| {
        let folder = folder.display();
        Failure::input(anyhow!("cannot make the folder {folder}: {e}; give one that can be written by --out"))
    })?;
    let mut note = free(&place.note, true)?.expect("it was made");
    let id = match held(script) {
        Ok(id) => id,
        Err(failure) => {
            // Nothing of it stays: a note of an older job is as good as none.
            let _ = std::fs::remove_file(&place.note).and_then(|()| std::fs::remove_dir(folder));
            return Err(failure);
        }
    };
    let prepared = prepare(&mut note, &id, place, script, before);
    let renamed = prepared.inspect_err(|_| {
        let _ = run("scancel", &[&id], "");
        let _ = std::fs::remove_file(&place.note);
    })?;
    match signals::asked() {
        Some(signal) => {
            Err(Failure::signal(signal, &format!("job {id} is submitted; `scancel {id}` takes it back")))
        }
        None => Ok((id, renamed)),
    }
}

/// Submits the script as a job that waits to be released, and gives its number.
fn held(script: &str) -> Result<String, Failure> {
    let told = run("sbatch", &["--hold", "--parsable"], script)?;
    let said = String::from_utf8_lossy(&told.stdout);
    // On several clusters the name of one stands behind the number.
    let id = said.trim().split(';').next().unwrap_or_default().to_string();
    match told.status.success() {
        true if is_number(&id) => Ok(id),
        true => {
            Err(Failure::check(anyhow!("sbatch answers {:?} in the place of a job's number", said.trim())))
        }
        false => Err(Failure::input(anyhow!(
            "sbatch does not take this job: {}; see --partition, --time, --mem and --array, and --dry-run for the script",
            complaint(&told)
        ))),
    }
}

/// Puts everything in its place for a job that is held, and releases it.
fn prepare(
    note: &mut File,
    id: &str,
    place: &Place,
    script: &str,
    before: &dyn Fn() -> Result<Vec<PathBuf>, Failure>,
) -> Result<Vec<PathBuf>, Failure> {
    let line = format!("{id}\n");
    note.rewind().and_then(|()| note.set_len(0)).and_then(|()| note.write_all(line.as_bytes())).map_err(
        |e| Failure::check(anyhow!("cannot write {}: {e}; the job is taken back", place.note.display())),
    )?;
    if let Some(signal) = signals::asked() {
        return Err(Failure::signal(signal, "the job is taken back, and nothing has changed"));
    }
    let renamed = before()?;
    std::fs::create_dir_all(&place.logs).map_err(|e| {
        Failure::input(anyhow!(
            "cannot make the folder {}: {e}; give another one by --out",
            place.logs.display()
        ))
    })?;
    let mut output = Output::create(&place.script).map_err(Failure::input)?;
    output.write_all(script.as_bytes()).map_err(|cause| Failure::input(output.failed(&cause)))?;
    output.commit().map_err(Failure::input)?;
    let told = run("scontrol", &["release", id], "")?;
    match told.status.success() {
        true => Ok(renamed),
        false => Err(Failure::check(anyhow!(
            "scontrol does not release job {id}: {}; it is taken back",
            complaint(&told)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_a_row_are_a_range() {
        assert_eq!(ranges(&[1, 2, 3, 7, 9, 10]), "1-3,7,9-10");
        assert_eq!(ranges(&[4]), "4");
    }

    #[test]
    fn a_shell_gives_back_the_words_that_were_quoted() {
        for word in ["", "plain/path-1.toml", "two words", "it's", "$HOME `x` \"y\" \\", "*"] {
            let script = format!("printf %s {}", quoted(word));
            let out = Command::new("sh").args(["-c", &script]).output().expect("a shell");
            assert_eq!(String::from_utf8_lossy(&out.stdout), word);
        }
    }

    #[test]
    fn the_script_has_what_was_asked_for_and_one_command() {
        let place = |logs: &str, words: &[&str]| Place {
            script: PathBuf::from("out/x.sbatch"),
            logs: PathBuf::from(logs),
            note: PathBuf::from("out/job"),
            options: ["weft", "sweep", "--out=my out"].map(String::from).to_vec(),
            words: words.iter().map(|word| word.to_string()).collect(),
        };
        let job = |place: &Place| {
            let (partition, time) = (Some("long"), Some("2-0"));
            Job { shards: &[1, 2, 5], tasks: 5, jobs: 2, memory: (1 << 28) + 1, partition, time, place }
                .script()
        };
        let script = job(&place("/a%b/x.parts", &["-my.toml"])).expect("no line breaks");
        let parts = [
            "#!/bin/sh\n",
            "#SBATCH --array=1-2,5\n",
            "--cpus-per-task=2\n",
            "--mem=257M\n",
            "--partition=long\n",
            "--time=2-0\n",
            "--output=/a%%b/x.parts/task-%a.log\n",
        ];
        parts.iter().for_each(|part| assert!(script.contains(part), "{part} in {script}"));
        let command =
            "exec weft sweep '--out=my out' --jobs=2 --shard=\"$SLURM_ARRAY_TASK_ID/5\" -- -my.toml\n";
        assert!(script.ends_with(command), "{script}");
        assert!(job(&place("/a/x.parts", &["a\nb"])).is_err());
        assert!(job(&place("/a\\b/x.parts", &["a"])).is_err());
    }
}

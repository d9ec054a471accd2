//! Runs in the middle of their work: a sweep that is stopped or killed goes on with each where it was.
//!
//! A run writes its whole state ([`Snapshot`]) every ten minutes, and where a signal ends the sweep, into a folder beside the results. The file is named by the run's identity, and it is gone when the run has a row.

use super::plan::{Plan, Run};
use crate::setup::VERSION;
use anyhow::{Context, Error};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use weft_engine::BackendKind;
use weft_fabric::run::{FabricRun, Identity, Snapshot};

/// The folder of the snapshots.
pub struct Begun {
    folder: PathBuf,
}

impl Begun {
    /// That of a results file or of a folder of tasks' files: `NAME.begun` beside `NAME.csv` and `NAME.parts`.
    pub fn of(results: &Path) -> Begun {
        Begun { folder: results.with_extension("begun") }
    }

    /// The folder itself.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn path(&self, run: &Run) -> PathBuf {
        self.folder.join(format!("{}.snapshot", run.identity))
    }

    /// The state in which an earlier start has left a run, if it has.
    ///
    /// # Errors
    /// A snapshot that this program cannot go on from: it is damaged, or made by another version, whose models may do otherwise.
    pub fn find(&self, run: &Run) -> Result<Option<Snapshot>, Error> {
        let path = self.path(run);
        if !path.exists() {
            return Ok(None);
        }
        let snapshot = Snapshot::read(&path)?;
        snapshot.check(&identity(run))?;
        let made_by = snapshot.made_by();
        anyhow::ensure!(made_by == VERSION, "the snapshot {} is of weft {made_by}", path.display());
        Ok(Some(snapshot))
    }

    /// Writes the state of a run; the one before stays until this one is whole.
    ///
    /// # Errors
    /// A disk that is full or gone.
    pub fn keep(&self, run: &Run, fabric: &FabricRun) -> Result<(), Error> {
        std::fs::create_dir_all(&self.folder)
            .with_context(|| format!("cannot make the folder {}", self.folder.display()))?;
        Ok(fabric.snapshot(&self.path(run), identity(run))?.write()?)
    }

    /// Forgets a run that has a row, and the folder behind the last one.
    pub fn forget(&self, run: &Run) {
        // A file that stays is found by nobody: its run is not made again.
        let _ = std::fs::remove_file(self.path(run));
        let _ = std::fs::remove_dir(&self.folder);
    }

    /// How many of these runs of a plan are in the middle.
    pub fn count(&self, plan: &Plan, numbers: &[usize]) -> usize {
        let paths: BTreeSet<PathBuf> = numbers.iter().map(|number| self.path(&plan.runs[*number])).collect();
        paths.iter().filter(|path| path.exists()).count()
    }
}

/// What a run is a run of. Its graph is told apart by the contents of the program's arrays.
fn identity(run: &Run) -> Identity {
    let params = run.params.all.clone();
    Identity {
        made_by: VERSION.into(),
        ..Identity::new(&run.config, run.program.as_ref(), params, BackendKind::Native, run.seed, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::file::SweepFile;
    use weft_fabric::run::RunOptions;

    #[test]
    fn a_snapshot_of_another_version_or_of_other_data_is_told() {
        let text = r#"name = "two"
fabric = "rec-4gpu-small"
workloads = [{ workload = "stencil", n = 16 }]
[[axis]]
key = "protocol"
values = ["baseline", "rec"]
"#;
        let sweep = SweepFile::parse(text, "own.toml", Path::new(".")).unwrap_or_else(|e| panic!("{e:#}"));
        let plan = Plan::new(sweep).unwrap_or_else(|e| panic!("{e:#}"));
        let folder = tempfile::tempdir().expect("a folder");
        let begun = Begun::of(&folder.path().join("two.csv"));
        let [run, other] = &plan.runs[..] else { panic!("two runs") };
        let fabric = FabricRun::new(&run.config, run.program.clone(), &RunOptions::default()).expect("built");
        assert!(begun.find(run).expect("no file").is_none());
        begun.keep(run, &fabric).expect("written");
        assert_eq!(begun.find(run).expect("sound").expect("there").cycle(), 0);
        assert!(begun.find(other).expect("no file").is_none());

        std::fs::rename(begun.path(run), begun.path(other)).expect("renamed");
        let cause = begun.find(other).expect_err("of another run").to_string();
        assert!(cause.contains("protocol = baseline") && cause.contains("protocol = rec"), "{cause}");

        let another = Identity { made_by: "another".into(), ..identity(run) };
        fabric.snapshot(&begun.path(run), another).and_then(|s| Ok(s.write()?)).expect("written");
        let cause = begun.find(run).expect_err("of another version").to_string();
        assert!(cause.ends_with("is of weft another"), "{cause}");
        assert_eq!(begun.count(&plan, &[0, 1]), 2);
    }
}

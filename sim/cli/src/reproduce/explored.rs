//! States that abstract protocols reach, kept beside the results of runs, so that a report that is made again explores nothing.
//!
//! `states.csv` has a line per set of options. A line whose identity is not that of the exploration asked for, of other options, other tables or another version of this program, or whose checksum does not fit, is not
//! used, and is gone once that exploration has been made.

use crate::sweep::results::aside;
use anyhow::{Context, Error, anyhow};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use weft_engine::digest::Digest;
use weft_states::report::{OptionSet, SETS, explore, protocols};
use weft_states::space::Config;
use weft_states::table::Protocol;

/// States after which an exploration would be given up; the largest has two hundred thousand.
const MOST: usize = 100_000_000;

/// What was found under a set of options: a line of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Line {
    options: String,
    chi_states: u64,
    spandex_states: u64,
    identity: String,
    /// Checksum of the others; empty of a line that was not written by this program.
    #[serde(default)]
    check: String,
}

impl Line {
    fn checked(mut self) -> Line {
        self.check = self.checksum();
        self
    }

    fn checksum(&self) -> String {
        let Line { options, chi_states, spandex_states, identity, .. } = self;
        let text = format!("{options} {chi_states} {spandex_states} {identity}");
        format!("{:016x}", Digest::of(text.as_bytes()))
    }
}

/// Explorations that were made; in memory alone, or in a file too.
#[derive(Debug, Default)]
pub struct Explored {
    path: Option<PathBuf>,
    lines: Vec<Line>,
}

impl Explored {
    /// Those in a folder that exists; with `restart`, none, and a file that is there is renamed.
    ///
    /// # Errors
    /// A file that cannot be renamed.
    pub fn open(folder: &Path, restart: bool) -> Result<Explored, Error> {
        let path = folder.join("states.csv");
        if restart {
            aside(&path)?;
        }
        // What cannot be read, or was changed, is explored anew.
        let sound = |line: &Line| line.check == line.checksum();
        let lines = csv::Reader::from_path(&path)
            .map(|mut reader| reader.deserialize().filter_map(Result::ok).filter(sound).collect())
            .unwrap_or_default();
        Ok(Explored { path: Some(path), lines })
    }

    /// States of the CHI-like protocol over states of Spandex, with three devices.
    ///
    /// # Errors
    /// A set of options that there is not; an exploration that does not end; a file that cannot be written.
    pub fn ratio(&mut self, options: &str) -> Result<f64, Error> {
        let set = SETS
            .iter()
            .find(|set| set.name == options)
            .ok_or_else(|| anyhow!("there is no set of options {options}"))?;
        let config = Config { devices: 3, symmetry: true, ..Config::default() };
        let identity = identity(*set, &config, &protocols());
        let known = |line: &&Line| line.options == options && line.identity == identity;
        let line = match self.lines.iter().find(known) {
            Some(line) => line.clone(),
            None => self.add(line(*set, config, identity)?)?,
        };
        Ok(line.chi_states as f64 / line.spandex_states as f64)
    }

    /// Keeps a line in the place of an old one of the same options.
    fn add(&mut self, line: Line) -> Result<Line, Error> {
        let line = line.checked();
        self.lines.retain(|old| old.options != line.options);
        self.lines.push(line.clone());
        if let Some(path) = &self.path {
            let mut writer = csv::Writer::from_writer(Vec::new());
            self.lines.iter().try_for_each(|line| writer.serialize(line))?;
            weft_output::write(path, &writer.into_inner().context("no memory for the states")?)?;
        }
        Ok(line)
    }
}

/// Explores both protocols.
fn line(set: OptionSet, config: Config, identity: String) -> Result<Line, Error> {
    let [chi_states, spandex_states] = protocols().map(|protocol| {
        let found = explore(protocol, set, config, None, MOST, &mut |_| ()).found;
        found.complete.then_some(found.states as u64)
    });
    let whole = |states: Option<u64>| {
        states.with_context(|| format!("the exploration of {} ended before all states were seen", set.name))
    };
    Ok(Line {
        options: set.name.into(),
        chi_states: whole(chi_states)?,
        spandex_states: whole(spandex_states)?,
        identity,
        check: String::new(),
    })
}

/// Fingerprint of all that an exploration depends on.
fn identity(set: OptionSet, config: &Config, protocols: &[Protocol]) -> String {
    let text = format!("{} {set:?} {config:?} {protocols:?}", env!("CARGO_PKG_VERSION"));
    format!("{:016x}", Digest::of(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base() -> OptionSet {
        SETS[0]
    }

    /// A file with one line, whose numbers no exploration gives.
    fn kept(folder: &Path, identity: String) -> Explored {
        let mut file = Explored { path: Some(folder.join("states.csv")), lines: Vec::new() };
        let check = String::new();
        let line = Line { options: "base".into(), chi_states: 30, spandex_states: 4, identity, check };
        file.add(line).expect("written");
        Explored::open(folder, false).expect("read")
    }

    fn own() -> String {
        identity(base(), &Config { devices: 3, symmetry: true, ..Config::default() }, &protocols())
    }

    #[test]
    fn what_was_explored_is_read_and_not_made_again() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(kept(folder.path(), own()).ratio("base").expect("kept"), 7.5);
        let anew = Explored::open(folder.path(), true).expect("renamed");
        assert!(anew.lines.is_empty() && folder.path().join("states.1.csv").exists());
    }

    #[test]
    fn lines_of_another_identity_are_not_used() {
        let folder = tempfile::tempdir().expect("a folder");
        let ratio = kept(folder.path(), "0".into()).ratio("base").expect("explored");
        assert!(
            (0.01..1.0).contains(&ratio),
            "Spandex reaches more states than the CHI-like protocol: {ratio}"
        );
        let file = Explored::open(folder.path(), false).expect("read");
        assert_eq!(file.lines.iter().map(|line| line.identity.clone()).collect::<Vec<_>>(), [own()]);
    }

    #[test]
    fn options_devices_and_tables_are_in_the_identity() {
        let config = Config { devices: 3, symmetry: true, ..Config::default() };
        let mut tables = protocols();
        tables[1].device.pop();
        let others = [
            identity(SETS[1], &config, &protocols()),
            identity(base(), &Config { devices: 2, ..config }, &protocols()),
            identity(base(), &config, &tables),
        ];
        assert!(others.iter().all(|other| *other != own()), "{others:?}");
    }

    #[test]
    fn a_file_that_is_broken_is_as_none() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("states.csv"), b"options,chi_states\nbase,\"\xff")
            .expect("written");
        assert!(Explored::open(folder.path(), false).expect("read").lines.is_empty());
        assert!(Explored::default().ratio("none").is_err());
    }
}

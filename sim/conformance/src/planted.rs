//! Faults planted on purpose, and the command that sees each (the keys `inject` and `inject_cu` of fabrics).
//!
//! A file of this folder for each family of fabrics, a row for each fault. `scripts/litmus --faults` asks them all, the suite
//! the fast ones. A file is a table with commas and these columns, its first lines comments and the names of the columns:
//!
//! | column | what |
//! | --- | --- |
//! | `fabric` | a built-in fabric |
//! | `protocols` | one or more, with spaces between: the row is of each of them. `@all`, `@directories`, `@modules` and `@module-directories`: those of the directory family that there are, that have a directory, that keep GPUs of several GPMs coherent, that do so by a directory; `@owners`, `@no-owners` and `@modules-no-owners`: whose L2s own lines, or not |
//! | `keys` | other keys as KEY=VALUE, with spaces between; `-` for none |
//! | `fault` | the key that plants it: `inject=WORD` or `inject_cu=WORD` |
//! | `command` | `litmus TEST OPTION...` or `run OPTION...`, to which fabric, keys and `--seed` are added; `none` if nothing can see it |
//! | `most` | seeds, from 1, with one of which the command must have seen it; 0 with `none` |
//! | `suite` | protocols with which the suite asks it, too, with spaces between; `-` for none |
//! | `note` | how it shows; with `none` why it cannot. The last column: it may have commas |
//!
//! A command sees a fault when it ends with status 1, and with status 0 with the same seeds where the fault is not planted.

use thiserror::Error;
use weft_fabric::family::directory::{PROTOCOLS, Protocol};

/// The rows of one family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    /// Name, as of the file.
    pub name: &'static str,
    /// Built-in fabrics whose protocols and faults it has rows for.
    pub fabrics: &'static [&'static str],
    text: &'static str,
}

/// All files.
pub const FILES: &[File] = &[
    File {
        name: "directory",
        fabrics: &["rec-4gpu-small", "hmg-4gpu-small", "hmg-tsm-4gpu-small"],
        text: include_str!("planted/directory.csv"),
    },
    File { name: "tsm", fabrics: &["tsm-4gpu-small"], text: include_str!("planted/tsm.csv") },
    File { name: "rdma", fabrics: &["rdma-4gpu-small"], text: include_str!("planted/rdma.csv") },
    File { name: "srsp", fabrics: &["srsp-64cu-small"], text: include_str!("planted/srsp.csv") },
    File { name: "hlrc", fabrics: &["hlrc-128cu-small"], text: include_str!("planted/hlrc.csv") },
    File {
        name: "spandex",
        fabrics: &["spandex-soc-small", "spandex-4gpu-small"],
        text: include_str!("planted/spandex.csv"),
    },
    File { name: "flat", fabrics: &["flat-gpu-small"], text: include_str!("planted/flat.csv") },
];

/// The names of the columns, in their order.
const COLUMNS: &str = "fabric,protocols,keys,fault,command,most,suite,note";

/// A fault of some protocols of a fabric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planted<'a> {
    /// The fabric.
    pub fabric: &'a str,
    /// Protocols.
    pub protocols: Vec<&'a str>,
    /// Other keys as KEY=VALUE.
    pub keys: Vec<&'a str>,
    /// The key that plants the fault, as KEY=VALUE.
    pub fault: &'a str,
    /// Verb and words of the command; none if nothing can see the fault.
    pub command: Vec<&'a str>,
    /// Seeds that it may take.
    pub most: u32,
    /// Protocols with which the suite asks it.
    pub suite: Vec<&'a str>,
    /// How it shows, or why it cannot.
    pub note: &'a str,
}

/// A line that is no row.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}.csv, line {line}: {problem}")]
pub struct PlantedError {
    /// The file's name.
    pub file: &'static str,
    /// Number of the line, from 1.
    pub line: usize,
    /// What is wrong.
    pub problem: String,
}

impl File {
    /// The file of this name.
    pub fn named(name: &str) -> Option<File> {
        FILES.iter().find(|file| file.name == name).copied()
    }

    /// Its rows.
    ///
    /// # Errors
    /// A line that is no row.
    pub fn rows(self) -> Result<Vec<Planted<'static>>, PlantedError> {
        read(self.name, self.text)
    }
}

/// The rows of a text, which errors call `file`.
///
/// # Errors
/// A line that is no row.
pub fn read<'a>(file: &'static str, text: &'a str) -> Result<Vec<Planted<'a>>, PlantedError> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.starts_with('#'));
    let mut lines = lines.map(|(number, line)| (number, line.trim_end()));
    let wrong = |line, problem| PlantedError { file, line, problem };
    match lines.next() {
        Some((_, COLUMNS)) => {}
        other => {
            return Err(wrong(other.map_or(0, |(n, _)| n), format!("the columns are not {COLUMNS}")));
        }
    }
    lines.map(|(number, line)| row(line).map_err(|problem| wrong(number, problem))).collect()
}

fn row(line: &str) -> Result<Planted<'_>, String> {
    let cells: Vec<&str> = line.splitn(8, ',').collect();
    let &[fabric, protocols, keys, fault, command, most, suite, note] = &cells[..] else {
        return Err(format!("{} columns, and there are {COLUMNS}", cells.len()));
    };
    let most = most.parse().map_err(|_| format!("most = {most:?} is no number"))?;
    let command = match words(command)[..] {
        ["none"] => Vec::new(),
        ["litmus", _, ..] | ["run", ..] => words(command),
        _ => return Err(format!("{command:?} begins with neither litmus TEST nor run, and is not none")),
    };
    if command.is_empty() != (most == 0) {
        return Err(format!("most = {most}: 0 goes with none, and more with a command"));
    }
    let protocols = words(protocols).into_iter().map(protocols_of).collect::<Result<Vec<_>, _>>()?.concat();
    let (keys, suite) = (words(keys), words(suite));
    if let Some(other) = suite.iter().find(|one| !protocols.contains(one)) {
        return Err(format!("suite names {other}, which is no protocol of the row"));
    }
    if note.trim().is_empty() {
        return Err("there is no note".into());
    }
    Ok(Planted { fabric, protocols, keys, fault, command, most, suite, note })
}

fn words(cell: &str) -> Vec<&str> {
    cell.split(' ').filter(|word| !word.is_empty() && *word != "-").collect()
}

/// The protocols that a word of the column stands for.
fn protocols_of(word: &str) -> Result<Vec<&str>, String> {
    let has: fn(Protocol) -> bool = match word {
        "@all" => |_| true,
        "@directories" => |of| of.directory().is_some(),
        "@owners" => |of| of.owners(),
        "@no-owners" => |of| !of.owners(),
        "@modules" => Protocol::keeps_modules,
        "@modules-no-owners" => |of| of.keeps_modules() && !of.owners(),
        "@module-directories" => |of| of.keeps_modules() && of.directory().is_some(),
        _ if word.starts_with('@') => return Err(format!("{word} stands for no protocols")),
        _ => return Ok(vec![word]),
    };
    Ok(PROTOCOLS.iter().copied().filter(|of| has(*of)).map(Protocol::name).collect())
}

impl Planted<'_> {
    /// Arguments of the program: the command with one of the row's protocols and a seed, with the fault or on sound hardware.
    /// Nothing for what cannot be seen.
    pub fn args(&self, protocol: &str, planted: bool, seed: u32) -> Option<Vec<String>> {
        let (verb, rest) = self.command.split_first()?;
        let mut words: Vec<String> = vec![(*verb).into()];
        let rest = match *verb {
            "litmus" => {
                let (test, options) = rest.split_first()?;
                words.extend([(*test).into(), "--fabric".into(), self.fabric.into()]);
                options
            }
            _ => {
                words.push(self.fabric.into());
                rest
            }
        };
        let protocol = format!("protocol={protocol}");
        let fault = planted.then_some(self.fault);
        for key in std::iter::once(protocol.as_str()).chain(self.keys.iter().copied()).chain(fault) {
            words.extend(["--set".into(), key.into()]);
        }
        words.extend(rest.iter().map(|word| (*word).to_string()));
        words.extend(["--seed".into(), seed.to_string()]);
        Some(words)
    }
}

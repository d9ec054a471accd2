//! Hardware on which a slow tool was seen to agree, by digest: as long as nothing of it has changed, the tool
//! need not look again.
//!
//! A test that asks such a tool ([`Agreement`]) notes in `target/cosim` or `target/synth` what it has done; only
//! a check that passed leaves a note, and `weft digest --table cosim --write` and `--table synth --write` take
//! rows from notes alone.

use super::table::{Table, TableError};
use super::{hardware, hex};
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use weft_engine::digest::Digest;
use weft_engine::{BackendKind, Design, EngineError, Options};
use weft_rtl::ir::Module;

/// A tool that takes long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tool {
    /// Verilator with the linters, beside the engine: a row is a block. Icarus looks every time.
    Verilator,
    /// Synthesis by Yosys: a row is a module for a target.
    Yosys,
}

impl Tool {
    /// Name of the committed table.
    pub const fn file(self) -> &'static str {
        match self {
            Tool::Verilator => "cosim.csv",
            Tool::Yosys => "synth.csv",
        }
    }

    /// Folder of the notes of the last run of the tests.
    pub fn notes(self) -> PathBuf {
        let folder = match self {
            Tool::Verilator => "cosim",
            Tool::Yosys => "synth",
        };
        checkout().join("target").join(folder)
    }

    const fn columns(self) -> [&'static str; 4] {
        match self {
            Tool::Verilator => ["block", "verilog", "netlist", "sources"],
            Tool::Yosys => ["module", "verilog", "storage", "sources"],
        }
    }

    /// What an agreement depends on besides the hardware: what runs the tool, its version, for Verilator the engine.
    const fn sources(self) -> &'static [&'static str] {
        match self {
            Tool::Verilator => &[
                "sim/engine/src",
                "sim/tools/src/cosim",
                "sim/tools/src/external",
                "sim/tools/src/external.rs",
                "testbench/tests/suite/cosim_blocks.rs",
                "scripts/requirements.txt",
            ],
            Tool::Yosys => &[
                "sim/tools/src/synth.rs",
                "sim/tools/src/external.rs",
                "testbench/tests/suite/synth.rs",
                "scripts/requirements.txt",
            ],
        }
    }

    fn empty(self) -> Table {
        Table::new(1, &self.columns(), Vec::new())
    }

    fn noted(self) -> Table {
        Table::new(1, &[&self.columns()[..], &["looked"]].concat(), Vec::new())
    }

    /// The committed agreements; none without a table.
    ///
    /// # Errors
    /// A table that cannot be read.
    pub fn committed(self, folder: &Path) -> Result<Table, TableError> {
        let path = folder.join(self.file());
        if path.exists() { self.empty().committed(&path) } else { Ok(self.empty()) }
    }
}

/// A check of some hardware by a tool, as digests of all that it depends on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Agreement {
    tool: Tool,
    row: Vec<String>,
}

fn checkout() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("this crate is in testbench/digest")
}

impl Agreement {
    /// The co-simulation of a block on this module.
    ///
    /// # Errors
    /// A module that the engine refuses.
    ///
    /// # Panics
    /// When the checkout's sources cannot be read.
    pub fn of_cosim(block: &str, module: &Arc<Module>) -> Result<Agreement, EngineError> {
        // The netlist and where its state lies; native code is made from both.
        let options = Options { backend: BackendKind::Interp, ..Options::default() };
        let netlist = Design::new(module, options)?.fingerprint();
        Ok(Agreement::new(Tool::Verilator, block, [hardware::verilog(module), netlist]))
    }

    /// The synthesis of a module for a target.
    ///
    /// # Panics
    /// When the checkout's sources cannot be read.
    pub fn of_synthesis(module: &Arc<Module>, target: &str) -> Agreement {
        let digests = [hardware::verilog(module), hardware::storage(module)];
        Agreement::new(Tool::Yosys, &format!("{} for {target}", module.name), digests)
    }

    fn new(tool: Tool, name: &str, [first, second]: [u64; 2]) -> Agreement {
        let sources = sources(checkout(), tool).unwrap_or_else(|e| panic!("sources of {tool:?}: {e}"));
        let digests = [first, second, sources].map(hex);
        Agreement { tool, row: std::iter::once(name.to_string()).chain(digests).collect() }
    }

    /// The tool was seen to agree on just this.
    ///
    /// # Errors
    /// A committed table that cannot be read.
    pub fn is_committed(&self) -> Result<bool, TableError> {
        let folder = checkout().join("testbench/digest/committed");
        Ok(self.tool.committed(&folder)?.rows().contains(&self.row))
    }

    /// Notes that the check passed, and whether the tool has looked.
    ///
    /// # Errors
    /// A note that cannot be written.
    pub fn note(&self, looked: bool) -> Result<(), TableError> {
        let folder = self.tool.notes();
        std::fs::create_dir_all(&folder).map_err(|cause| weft_output::OutputError::of(&folder, &cause))?;
        let row = self.row.iter().cloned().chain([if looked { LOOKED } else { "no" }.to_string()]);
        self.tool
            .noted()
            .with_rows(vec![row.collect()])
            .write(&folder.join(format!("{}.csv", self.row[0].replace(' ', "_"))))
    }
}

/// The mark of a note whose tool has looked.
const LOOKED: &str = "yes";

/// What the last run of the tests has asked of a tool.
#[derive(Clone, Debug)]
pub struct Noted {
    /// What the tool has looked at, as rows of the committed table.
    pub looked: Table,
    /// What it has agreed on before.
    pub before: Vec<String>,
    /// What the tests should have asked about, and have not.
    pub missing: Vec<String>,
}

impl Noted {
    /// Reads a tool's notes; `wanted` are the names of which each should have one.
    ///
    /// # Errors
    /// A note that cannot be read.
    pub fn read(tool: Tool, notes: &Path, wanted: &[String]) -> Result<Noted, TableError> {
        let (mut rows, mut before): (Vec<Vec<String>>, Vec<String>) = Default::default();
        let mut paths = files(notes).unwrap_or_default();
        // The order of what is wanted, which is the catalog's.
        paths.sort_by_cached_key(|path| {
            let place = |name: &String| path.file_stem().is_some_and(|stem| *stem == *name.replace(' ', "_"));
            wanted.iter().position(place).unwrap_or(usize::MAX)
        });
        for path in paths {
            for row in tool.noted().committed(&path)?.rows() {
                match row.split_last() {
                    Some((looked, row)) if looked == LOOKED => rows.push(row.to_vec()),
                    _ => before.push(row[0].clone()),
                }
            }
        }
        let seen = |name: &&String| before.contains(name) || rows.iter().any(|row| row[0] == **name);
        let missing = wanted.iter().filter(|name| !seen(name)).cloned().collect();
        Ok(Noted { looked: tool.empty().with_rows(rows), before, missing })
    }
}

/// Digest of what a comparison of random circuits depends on: generator, language, engine, and what runs the simulators.
///
/// # Errors
/// A checkout whose sources cannot be read.
pub fn circuits() -> io::Result<u64> {
    let places = [
        "hdl/circuits/src",
        "hdl/rtl/src",
        "sim/engine/src",
        "sim/tools/src/circuits",
        "sim/tools/src/cosim",
        "sim/tools/src/external",
        "sim/tools/src/external.rs",
        "scripts/requirements.txt",
    ];
    lines(checkout(), &places, true)
}

fn sources(root: &Path, tool: Tool) -> io::Result<u64> {
    lines(root, tool.sources(), tool == Tool::Verilator)
}

/// Digest of the lines of all sources, without unit tests and without lines that are nothing but a comment; if
/// there is native code, also of the versions of what makes it.
fn lines(root: &Path, places: &[&str], native: bool) -> io::Result<u64> {
    let mut digest = Digest::default();
    for place in places {
        for path in files(&root.join(place))? {
            let _ = writeln!(digest, "{}", path.strip_prefix(root).unwrap_or(&path).display());
            for line in std::fs::read_to_string(&path)?.lines().map(str::trim) {
                if !line.is_empty() && !line.starts_with("//") {
                    let _ = writeln!(digest, "{line}");
                }
            }
        }
    }
    if !native {
        return Ok(digest.value());
    }
    let lock = std::fs::read_to_string(root.join("Cargo.lock"))?;
    let mut lines = lock.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("name = \"cranelift") || line.starts_with("name = \"regalloc2") {
            let _ = writeln!(digest, "{line} {}", lines.next().unwrap_or_default());
        }
    }
    Ok(digest.value())
}

/// A file, or all files below a folder but unit tests, in order.
fn files(place: &Path) -> io::Result<Vec<PathBuf>> {
    if place.is_file() {
        return Ok(vec![place.to_path_buf()]);
    }
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(place)?.map(|entry| entry.map(|e| e.path())).collect::<io::Result<_>>()?;
    entries.retain(|path| path.file_stem().is_none_or(|stem| stem != "tests"));
    entries.sort();
    let below: io::Result<Vec<Vec<PathBuf>>> = entries.iter().map(|entry| files(entry)).collect();
    Ok(below?.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_rtl::prelude::*;

    fn counter(step: u64) -> Agreement {
        let module = Module::build("counter", ModuleKind::Block, || {
            let count = output_reg::<Bits>("count", 8);
            count.set(count.get() + step);
        });
        Agreement::of_cosim("counter", &module.expect("legal")).expect("compiled")
    }

    #[test]
    fn other_hardware_is_another_agreement() {
        assert_eq!(counter(1), counter(1));
        assert_ne!(counter(1), counter(2));
        assert!(!counter(1).is_committed().expect("read"), "no block of the catalog");
    }

    #[test]
    fn only_a_comment_changes_no_digest_of_sources() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        let write = |text: &str| {
            for place in Tool::Verilator.sources() {
                let path = root.join(place);
                let file = if path.extension().is_some() { path } else { path.join("a.rs") };
                std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
                std::fs::write(file, text).expect("written");
            }
            std::fs::write(root.join("Cargo.lock"), "name = \"cranelift-jit\"\nversion = \"1\"\n")
                .expect("written");
            sources(root, Tool::Verilator).expect("read")
        };
        let plain = write("let a = 1;\n");
        std::fs::write(root.join("sim/tools/src/external/tests.rs"), "let a = 3;\n").expect("written");
        assert_eq!(sources(root, Tool::Verilator).expect("read"), plain);
        assert_eq!(write("// Why.\n\nlet a = 1;\n"), plain);
        assert_ne!(write("let a = 2;\n"), plain);
    }

    #[test]
    fn what_was_not_asked_is_missing() {
        let folder = tempfile::tempdir().expect("a folder");
        let note = |name: &str, looked: &str| {
            let row = [name, "1", "2", "3", looked].map(String::from).to_vec();
            let path = folder.path().join(format!("{name}.csv"));
            Tool::Yosys.noted().with_rows(vec![row]).write(&path).expect("written");
        };
        note("b", LOOKED);
        note("a", "no");
        note("new", LOOKED);
        let wanted = ["a", "b", "c"].map(String::from);
        let noted = Noted::read(Tool::Yosys, folder.path(), &wanted).expect("read");
        let looked: Vec<&str> = noted.looked.rows().iter().map(|row| row[0].as_str()).collect();
        assert_eq!(looked, ["b", "new"]);
        assert_eq!((noted.before, noted.missing), (vec!["a".to_string()], vec!["c".to_string()]));
        let nothing = Noted::read(Tool::Yosys, &folder.path().join("none"), &wanted).expect("read");
        assert_eq!(nothing.missing, wanted);
    }
}

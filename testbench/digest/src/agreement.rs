//! Hardware on which Verilator was seen to agree with the engine, by digest: as long as nothing of it has changed, its C++ need not be compiled again.
//!
//! `cosim.csv` has a row for each block. The co-simulation of a block ([`Agreement::of`]) notes in `target/cosim` what it has run; only a comparison that
//! passed leaves a note, and `weft digest --table cosim --write` takes rows from notes alone.

use super::table::{Table, TableError};
use super::{hardware, hex};
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use weft_engine::digest::Digest;
use weft_engine::{BackendKind, Design, EngineError, Options};
use weft_rtl::ir::Module;

/// Name of the committed table.
pub const FILE: &str = "cosim.csv";

const COLUMNS: [&str; 4] = ["block", "verilog", "netlist", "sources"];

/// What a co-simulation depends on besides the block: the engine, the harness, the version of the simulator.
const SOURCES: [&str; 6] = [
    "sim/engine/src",
    "testbench/src/cosim",
    "testbench/src/tools",
    "testbench/src/tools.rs",
    "testbench/tests/suite/cosim_blocks.rs",
    "scripts/requirements.txt",
];

/// A block's co-simulation as digests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Agreement {
    row: Vec<String>,
}

fn checkout() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("this crate is in testbench/digest")
}

/// Folder of the notes.
pub fn notes() -> PathBuf {
    checkout().join("target/cosim")
}

fn empty() -> Table {
    Table::new(1, &COLUMNS, Vec::new())
}

impl Agreement {
    /// The co-simulation of a block on this module.
    ///
    /// # Errors
    /// A module that the engine refuses.
    ///
    /// # Panics
    /// When the checkout's sources cannot be read.
    pub fn of(block: &str, module: &Arc<Module>) -> Result<Agreement, EngineError> {
        // The netlist and where its state lies; native code is made from both.
        let options = Options { backend: BackendKind::Interp, ..Options::default() };
        let netlist = Design::new(module, options)?.fingerprint();
        let sources = sources(checkout()).unwrap_or_else(|e| panic!("sources of the co-simulation: {e}"));
        let digests = [hardware::verilog(module), netlist, sources].map(hex);
        Ok(Agreement { row: std::iter::once(block.to_string()).chain(digests).collect() })
    }

    /// Verilator was seen to agree on just this.
    ///
    /// # Errors
    /// A committed table that cannot be read.
    pub fn is_committed(&self) -> Result<bool, TableError> {
        let path = checkout().join("testbench/digest/committed").join(FILE);
        if !path.exists() {
            return Ok(false);
        }
        Ok(empty().committed(&path)?.rows().contains(&self.row))
    }

    /// Notes that the comparison passed, with Verilator or without.
    ///
    /// # Errors
    /// A note that cannot be written.
    pub fn note(&self, verilator: bool) -> Result<(), TableError> {
        let folder = notes();
        std::fs::create_dir_all(&folder)
            .map_err(|cause| TableError::Write { path: folder.clone(), cause })?;
        Table::new(1, &NOTED, vec![self.noted(verilator)]).write(&folder.join(format!("{}.csv", self.row[0])))
    }

    fn noted(&self, verilator: bool) -> Vec<String> {
        let with = if verilator { WITH_VERILATOR } else { "iverilog" };
        self.row.iter().cloned().chain([with.to_string()]).collect()
    }
}

const NOTED: [&str; 5] = ["block", "verilog", "netlist", "sources", "with"];

/// The other simulator was Verilator, too.
const WITH_VERILATOR: &str = "verilator";

/// What the co-simulations of the last run of the tests have done.
#[derive(Clone, Debug)]
pub struct Noted {
    /// Blocks compared with Verilator (and with Icarus), as rows of the committed table.
    pub verilator: Table,
    /// Blocks compared with Icarus only.
    pub icarus: Vec<String>,
    /// Blocks of the catalog without a note.
    pub missing: Vec<String>,
}

impl Noted {
    /// Reads the notes.
    ///
    /// # Errors
    /// A note that cannot be read.
    pub fn read(folder: &Path) -> Result<Noted, TableError> {
        let (mut rows, mut icarus, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        for block in weft_catalog::blocks() {
            let path = folder.join(format!("{}.csv", block.name));
            if !path.exists() {
                missing.push(block.name.to_string());
                continue;
            }
            for row in Table::new(1, &NOTED, Vec::new()).committed(&path)?.rows() {
                match row.split_last() {
                    Some((with, row)) if with == WITH_VERILATOR => rows.push(row.to_vec()),
                    _ => icarus.push(block.name.to_string()),
                }
            }
        }
        Ok(Noted { verilator: Table::new(1, &COLUMNS, rows), icarus, missing })
    }
}

/// Digest of the lines of all sources, without those that are nothing but a comment.
fn sources(root: &Path) -> io::Result<u64> {
    let mut digest = Digest::default();
    for place in SOURCES {
        for path in files(&root.join(place))? {
            let _ = writeln!(digest, "{}", path.strip_prefix(root).unwrap_or(&path).display());
            for line in std::fs::read_to_string(&path)?.lines().map(str::trim) {
                if !line.is_empty() && !line.starts_with("//") {
                    let _ = writeln!(digest, "{line}");
                }
            }
        }
    }
    // The versions of what makes native code.
    let lock = std::fs::read_to_string(root.join("Cargo.lock"))?;
    let mut lines = lock.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("name = \"cranelift") || line.starts_with("name = \"regalloc2") {
            let _ = writeln!(digest, "{line} {}", lines.next().unwrap_or_default());
        }
    }
    Ok(digest.value())
}

/// A file, or all files below a folder, in order.
fn files(place: &Path) -> io::Result<Vec<PathBuf>> {
    if place.is_file() {
        return Ok(vec![place.to_path_buf()]);
    }
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(place)?.map(|entry| entry.map(|e| e.path())).collect::<io::Result<_>>()?;
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
        Agreement::of("counter", &module.expect("legal")).expect("compiled")
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
            for place in SOURCES {
                let path = root.join(place);
                let file = if path.extension().is_some() { path } else { path.join("a.rs") };
                std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
                std::fs::write(file, text).expect("written");
            }
            std::fs::write(root.join("Cargo.lock"), "name = \"cranelift-jit\"\nversion = \"1\"\n")
                .expect("written");
            sources(root).expect("read")
        };
        let plain = write("let a = 1;\n");
        assert_eq!(write("// Why.\n\nlet a = 1;\n"), plain);
        assert_ne!(write("let a = 2;\n"), plain);
    }
}

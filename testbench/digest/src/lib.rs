//! Digests of all hardware and of short runs on it, committed as tables: a refactoring changes none of them, a change of hardware shows in review as the
//! rows that moved.
//!
//! | table | a row | columns |
//! | --- | --- | --- |
//! | `blocks.csv` | a block of the catalog at one of its parameter sets ([`weft_catalog::sets`]) | digests of Verilog, of Verilog without observers, storage table and interface, storage bits |
//! | `fabrics.csv` | a built-in fabric under one of its protocols | the same |
//! | `runs.csv` | two short programs on each small fabric under each protocol, as it is and under pressure (`pressed.rs`) | cycles, figures of the family, digests of all counters and of all covers |
//! | `cosim.csv` | a block that Verilator was seen to agree on with the engine ([`agreement`]) | digests of its Verilog, netlist, and of engine and harness |
//! | `synth.csv` | a module in which Yosys was seen to find the declared storage ([`agreement`]) | digests of its Verilog, storage table, and of the harness |
//!
//! `weft digest --check` compares the first three with today's hardware, `weft digest --write` rewrites them; both print what moved.

pub mod agreement;
mod hardware;
mod pressed;
mod runs;
mod table;

pub use hardware::Hardware;
pub use table::{Table, TableError};

use rayon::prelude::*;
use std::sync::Arc;
use weft_blocks::registry::BlockError;
use weft_fabric::config::{ConfigError, FabricConfig, Legal};
use weft_fabric::run::FabricError;
use weft_rtl::ir::Module;

/// A committed table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Blocks at their parameter sets.
    Blocks,
    /// Fabrics under their protocols.
    Fabrics,
    /// Short runs.
    Runs,
}

/// Why a row of today's hardware cannot be made.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum DigestError {
    #[error("{what}: {cause}")]
    Block { what: String, cause: Box<BlockError> },
    #[error("{what}: {cause}")]
    Config { what: String, cause: Box<ConfigError> },
    #[error("{what}: {cause}")]
    Run { what: String, cause: Box<FabricError> },
    #[error("{what}: {cause}")]
    Program { what: String, cause: Box<weft_workload::WorkloadError> },
    #[error("nothing in the tables has the name {name}; {remedy}")]
    Unknown { name: String, remedy: String },
    #[error(
        "{name}: no row of that fabric has such keys; legal are those of `weft digest --table fabrics {fabric}`"
    )]
    NoKeys { name: String, fabric: String },
    #[error("{name} has no keys of pressure; remedy: a row in `KEYS` of testbench/digest/src/pressed.rs")]
    Unpressed { name: String },
}

impl Kind {
    /// All tables, the quickest first.
    pub const ALL: [Kind; 3] = [Kind::Blocks, Kind::Fabrics, Kind::Runs];

    /// Name of the table's file.
    pub const fn file(self) -> &'static str {
        match self {
            Kind::Blocks => "blocks.csv",
            Kind::Fabrics => "fabrics.csv",
            Kind::Runs => "runs.csv",
        }
    }

    /// The table of today's hardware, or its rows of some blocks and fabrics. `done` hears of each row that is made, and of how many.
    ///
    /// # Errors
    /// Hardware that does not elaborate, or a run that fails.
    pub fn today(self, only: &[String], done: &(dyn Fn(usize, usize) + Sync)) -> Result<Table, DigestError> {
        match self {
            Kind::Blocks => blocks(only, done),
            Kind::Fabrics => fabrics(only, done),
            Kind::Runs => runs::table(only, done),
        }
    }
}

/// Columns of what a module is.
const OF_HARDWARE: [&str; 5] = ["verilog", "logic", "storage", "interface", "bits"];

fn wanted(only: &[String], name: &str) -> bool {
    only.is_empty() || only.iter().any(|o| o == name)
}

/// The same of a fabric under keys, `key=value` words: after its name, and a comma before each, some of them may be asked for.
fn wanted_under(only: &[String], name: &str, keys: &str) -> bool {
    let has = |word: &str| keys.split(' ').any(|key| key == word);
    let is = |asked: &String| {
        let mut words = asked.split(',');
        words.next() == Some(name) && words.all(has)
    };
    only.is_empty() || only.iter().any(is)
}

/// What the jobs make, in parallel, in their order.
fn rows<J: Sync, R: Send>(
    jobs: &[J],
    done: &(dyn Fn(usize, usize) + Sync),
    row: impl Fn(&J) -> Result<R, DigestError> + Sync,
) -> Result<Vec<R>, DigestError> {
    let count = std::sync::atomic::AtomicUsize::new(0);
    let counted = |job: &J| {
        let made = row(job)?;
        done(1 + count.fetch_add(1, std::sync::atomic::Ordering::Relaxed), jobs.len());
        Ok(made)
    };
    jobs.par_iter().map(counted).collect()
}

fn blocks(only: &[String], done: &(dyn Fn(usize, usize) + Sync)) -> Result<Table, DigestError> {
    let sets = weft_catalog::sets::all().chain(weft_catalog::sets::more());
    let jobs: Vec<(&str, &str)> = sets
        .filter(|(block, _)| wanted(only, block))
        .flat_map(|(block, sets)| sets.into_iter().map(move |words| (block, words)))
        .collect();
    let row = |(block, words): &(&str, &str)| {
        let module = weft_catalog::build(block, &weft_catalog::sets::given(words)).map_err(|cause| {
            DigestError::Block { what: format!("{block} {words}"), cause: Box::new(cause) }
        })?;
        Ok(described(&[block, words], &module))
    };
    Ok(Table::new(2, &[&["block", "parameters"], &OF_HARDWARE[..]].concat(), rows(&jobs, done, row)?))
}

fn fabrics(only: &[String], done: &(dyn Fn(usize, usize) + Sync)) -> Result<Table, DigestError> {
    let jobs: Vec<Variant> = variants(only, &|_| true)?;
    let row = |variant: &Variant| {
        let module = weft_fabric::run::module(&variant.config).map_err(|cause| variant.failed(cause))?;
        Ok(described(&[&variant.config.name, &variant.keys], &module))
    };
    Ok(Table::new(2, &[&["fabric", "keys"], &OF_HARDWARE[..]].concat(), rows(&jobs, done, row)?))
}

fn described(keys: &[&str], module: &Arc<Module>) -> Vec<String> {
    let Hardware { verilog, logic, storage, interface, bits } = Hardware::of(module);
    let digests = [verilog, logic, storage, interface].map(hex);
    keys.iter().map(ToString::to_string).chain(digests).chain([bits.to_string()]).collect()
}

/// A digest as the tables show it.
fn hex(digest: u64) -> String {
    format!("{digest:016x}")
}

/// A built-in fabric under one of its protocols.
struct Variant {
    config: FabricConfig,
    /// What differs from the fabric's file, as `key=value` words.
    keys: String,
}

impl Variant {
    fn failed(&self, cause: FabricError) -> DigestError {
        DigestError::Run { what: format!("{} {}", self.config.name, self.keys), cause: Box::new(cause) }
    }
}

/// What a protocol needs beside its name.
const WITH: [(&str, &str); 1] = [("gtsc", "gpus=1")];

/// Built-in fabrics of whose names `of` approves, of those that are asked for, under every protocol that they can have, in the order of their lists.
fn variants(only: &[String], of: &dyn Fn(&str) -> bool) -> Result<Vec<Variant>, DigestError> {
    let mut out = Vec::new();
    let named = |name: &&str| only.is_empty() || only.iter().any(|asked| fabric_of(asked) == *name);
    for name in FabricConfig::list().into_iter().filter(|name| of(name)).filter(named) {
        let failed = |cause| DigestError::Config { what: name.to_string(), cause: Box::new(cause) };
        let config = FabricConfig::load(name).map_err(failed)?;
        let protocol = config.keys().into_iter().find(|key| key.name == "protocol");
        let Some(Legal::OneOf(words)) = protocol.map(|key| key.legal) else {
            out.push(Variant { config, keys: String::new() });
            continue;
        };
        for word in words {
            let more = WITH.iter().filter(|(of, _)| of == word).map(|(_, key)| (*key).to_string());
            let keys: Vec<String> = std::iter::once(format!("protocol={word}")).chain(more).collect();
            let mut config = config.clone();
            keys.iter().try_for_each(|key| config.set(key)).map_err(failed)?;
            // A protocol of the family that this fabric's other keys do not allow.
            if config.validate().is_ok() {
                out.push(Variant { config, keys: keys.join(" ") });
            }
        }
    }
    out.retain(|variant| wanted_under(only, &variant.config.name, &variant.keys));
    Ok(out)
}

/// The name before keys.
fn fabric_of(asked: &str) -> &str {
    asked.split(',').next().unwrap_or(asked)
}

/// Refuses names, and keys behind them, that no table has.
///
/// # Errors
/// The first of them.
pub fn known(names: &[String]) -> Result<(), DigestError> {
    let blocks = weft_catalog::blocks();
    let is_known = |name: &&String| {
        FabricConfig::list().contains(&fabric_of(name)) || blocks.iter().any(|b| b.name == **name)
    };
    for name in names.iter().filter(|name| name.contains(',')).filter(is_known) {
        if variants(std::slice::from_ref(name), &|_| true)?.is_empty() {
            let fabric = fabric_of(name).to_string();
            return Err(DigestError::NoKeys { name: name.clone(), fabric });
        }
    }
    match names.iter().find(|name| !is_known(name)) {
        Some(name) => {
            let known = FabricConfig::list().into_iter().chain(blocks.iter().map(|block| block.name));
            let all = "`weft list blocks` and `weft list fabrics` show what there is";
            Err(DigestError::Unknown { name: name.clone(), remedy: weft_names::remedy(name, known, all) })
        }
        None => Ok(()),
    }
}

//! All blocks by name, of whatever family: the one place that joins the lists of the families' crates. A family's crate lists its own blocks; what works on blocks by name
//! (`weft list`, `export`, `area`, `cosim`, `sim`, the bridge, the tests of all blocks) asks here.

pub mod sets;

use std::collections::BTreeMap;
use std::sync::Arc;
use weft_blocks::registry::{BlockError, BlockInfo};
use weft_lists::Further;
use weft_rtl::ir::Module;

/// The families' lists, in the order in which they are shown.
const FAMILIES: &[fn() -> Vec<BlockInfo>] =
    &[weft_blocks::blocks, weft_mgcc::blocks, weft_srsp::blocks, weft_spandex::blocks];

/// Blocks of others.
static FURTHER: Further<BlockInfo> = Further::new();

/// Installs blocks from outside these crates; before any block is asked for, and once.
///
/// # Panics
/// When blocks have been asked for or installed already.
pub fn install(blocks: Vec<BlockInfo>) {
    FURTHER.install(blocks);
}

/// The blocks of the families' crates, in the order in which they are listed.
pub fn built_in() -> Vec<BlockInfo> {
    FAMILIES.iter().flat_map(|list| list()).collect()
}

/// All blocks, in the order in which they are listed; those of others last.
pub fn blocks() -> Vec<BlockInfo> {
    built_in().into_iter().chain(FURTHER.all().iter().copied()).collect()
}

/// The block of a name.
///
/// # Errors
/// An unknown name.
pub fn block(name: &str) -> Result<BlockInfo, BlockError> {
    let all = blocks();
    all.iter().find(|b| b.name == name).copied().ok_or_else(|| BlockError::UnknownBlock {
        name: name.into(),
        remedy: weft_names::remedy(name, all.iter().map(|b| b.name), "`weft list blocks` shows all"),
    })
}

/// Builds a block by name.
///
/// # Errors
/// An unknown block or parameter, an illegal value, or a mistake in the description.
pub fn build(name: &str, given: &BTreeMap<String, String>) -> Result<Arc<Module>, BlockError> {
    block(name)?.with_given(given)
}

/// Parameters that modules have for simulation only, with the value that leaves them hardware: faults put in on purpose, ports that only observe.
const SIMULATION: [(&str, &str); 2] = [("inject", "none"), ("observe", "false")];

/// A module of this hierarchy that is for simulation only: its name, the parameter and its value.
pub fn simulation_only(module: &Module) -> Option<(&str, &str, &str)> {
    let marks = |(key, value): &&(String, String)| {
        SIMULATION.iter().any(|(name, harmless)| key == name && value != harmless)
    };
    match module.params.iter().find(marks) {
        Some((key, value)) => Some((&module.name, key, value)),
        None => module.instances.iter().find_map(|i| simulation_only(&i.module)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_name_is_one_block_and_every_family_is_there() {
        let all = blocks();
        let names: BTreeSet<&str> = all.iter().map(|b| b.name).collect();
        assert_eq!(names.len(), all.len());
        for name in ["rec-directory", "mgcc-l1", "srsp-l1", "spandex-llc"] {
            assert_eq!(block(name).map(|b| b.name), Ok(name));
        }
        let error = block("tsu2").map(|b| b.name).expect_err("unknown").to_string();
        assert!(error.contains("tsu2; the nearest is tsu; `weft list blocks`"), "{error}");
    }
}

//! All blocks by name, of whatever family: the one place that joins the lists of the families' crates. A family's crate lists its own blocks; what works on blocks by name
//! (`weft list`, `export`, `area`, `cosim`, `sim`, the bridge, the tests of all blocks) asks here.

use std::collections::BTreeMap;
use std::sync::Arc;
use weft_blocks::registry::{BlockError, BlockInfo, build_from, find};
use weft_rtl::ir::Module;

/// The families' lists, in the order in which they are shown.
const FAMILIES: &[fn() -> Vec<BlockInfo>] = &[weft_blocks::registry::blocks, weft_mgcc::blocks];

/// All blocks, in the order in which they are listed.
pub fn blocks() -> Vec<BlockInfo> {
    FAMILIES.iter().flat_map(|list| list()).collect()
}

/// The block of a name.
///
/// # Errors
/// An unknown name.
pub fn block(name: &str) -> Result<BlockInfo, BlockError> {
    find(&blocks(), name)
}

/// Builds a block by name.
///
/// # Errors
/// An unknown block or parameter, an illegal value, or a mistake in the description.
pub fn build(name: &str, given: &BTreeMap<String, String>) -> Result<Arc<Module>, BlockError> {
    build_from(&blocks(), name, given)
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
        for name in ["rec-directory", "mgcc-l1"] {
            assert_eq!(block(name).map(|b| b.name), Ok(name));
        }
        let error = block("tsu2").map(|b| b.name).expect_err("unknown").to_string();
        assert!(error.contains("tsu2") && error.contains("fifo") && error.contains("reqtracker"), "{error}");
    }
}

//! The list of this crate's blocks by name.

use crate::registry::{BlockError, BlockInfo};
use std::collections::BTreeMap;
use std::sync::Arc;
use weft_rtl::ir::Module;

/// All blocks, in the order in which they are listed.
pub fn blocks() -> Vec<BlockInfo> {
    let mut all = Vec::new();
    all.extend(crate::common::register::common_blocks());
    all.extend(crate::directory::directory_blocks());
    all.push(crate::cache::l1::info());
    all.push(crate::cache::l2::INFO);
    all
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

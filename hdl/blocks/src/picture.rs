//! The picture of a block: ports, state machines, rows of its memories.

use crate::directory::keys::dir_from;
use crate::directory::{DirParams, protocols};
use crate::list::block;
use crate::registry::{BlockError, ParamSet};
use std::collections::BTreeMap;
use weft_rtl::picture::Picture;

/// The picture of a block of the registry as SVG, drawn from its module.
///
/// # Errors
/// An unknown block or parameter, an illegal value, or a mistake in the description.
pub fn picture(name: &str, given: &BTreeMap<String, String>) -> Result<String, BlockError> {
    let info = block(name)?;
    let params = ParamSet::new(&info, given)?;
    let module = (info.build)(&params)?;
    let picture = Picture::of(&module);
    Ok(match directory(name, &params)? {
        Some(dir) => picture.layout("entries", dir.entry_layout()).svg(),
        None => picture.svg(),
    })
}

/// The parameters of a directory slice, whose entries the hardware keeps as plain bits.
fn directory(name: &str, params: &ParamSet) -> Result<Option<DirParams>, BlockError> {
    let kind = protocols::kinds().into_iter().find(|kind| kind.info.name == name);
    kind.map(|kind| dir_from(kind, params)).transpose()
}

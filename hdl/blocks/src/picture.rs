//! The picture of a block: ports, state machines, rows of its memories.

use crate::directory::keys::dir_from;
use crate::directory::{DirKind, DirParams};
use crate::registry::{BlockError, ParamSet, block};
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
    let kind = match name {
        "baseline-directory" => DirKind::Perline,
        "group-directory" => DirKind::Group4,
        "rec-directory" => DirKind::Rec,
        "nhcc-directory" => DirKind::Nhcc,
        "hmg-directory" => DirKind::Hmg,
        "hmg-rec-directory" => DirKind::HmgRec,
        "gpu-vi-directory" => DirKind::GpuVi,
        _ => return Ok(None),
    };
    dir_from(kind, params).map(Some)
}

//! Mappings of a work-group on the ideal machine: which there are, and when they copy.

use std::borrow::Cow;

use super::{Fault, active};
use crate::mapping::{MapKind, Mapping};
use crate::op::{Access, Addrs, LdsAccess, Op};
use crate::program::full_mask;

/// A mapping of a work-group.
pub(super) struct Mapped {
    map: Mapping,
    kind: MapKind,
    /// Waves that have executed it.
    waves: u32,
}

/// Where elements are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moved {
    /// To the local memory.
    In,
    /// To the global memory.
    Out,
}

/// A wave of `waves` executes a mapping in a local memory of `end` bytes: what is copied now.
pub(super) fn map(
    mapped: &mut Vec<Mapped>,
    kind: MapKind,
    map: &Mapping,
    waves: u32,
    end: usize,
) -> Result<Option<Moved>, Fault> {
    if let Some(cause) = map.fault(end as u64) {
        return Err(Fault::Mapping { cause });
    }
    let place = mapped.iter().position(|known| known.map == *map && known.kind == kind);
    let place = place.unwrap_or_else(|| {
        mapped.push(Mapped { map: *map, kind, waves: 0 });
        mapped.len() - 1
    });
    let known = &mut mapped[place];
    known.waves += 1;
    Ok(match kind {
        MapKind::DmaIn if known.waves == 1 => Some(Moved::In),
        MapKind::DmaOut if known.waves == waves => Some(Moved::Out),
        _ => None,
    })
}

/// The access of the global memory that an access of a stash is; any other operation as it is.
pub(super) fn global<'o>(op: &'o Op, mapped: &[Mapped], lanes: u32) -> Result<Cow<'o, Op>, Fault> {
    let op = match op {
        Op::StashLoad { token, access } => {
            Op::Load { token: *token, access: elsewhere(access, mapped, lanes)? }
        }
        Op::StashStore { access, values } => {
            Op::Store { access: elsewhere(access, mapped, lanes)?, values: values.clone() }
        }
        _ => return Ok(Cow::Borrowed(op)),
    };
    Ok(Cow::Owned(op))
}

fn elsewhere(access: &LdsAccess, mapped: &[Mapped], lanes: u32) -> Result<Access, Fault> {
    let (mask, size) = (access.mask, access.size);
    if mask & !full_mask(lanes) != 0 {
        return Err(Fault::Lanes { mask, lanes });
    }
    let mut addrs = vec![0; lanes as usize];
    for lane in active(mask) {
        let local = access.addrs.at(lane);
        let known = mapped.iter().filter(|known| known.kind == MapKind::Stash);
        addrs[lane as usize] =
            known.filter_map(|known| known.map.translate(local)).next().ok_or_else(|| Fault::Mapping {
                cause: format!("the local address {local:#x} in no mapping, expected one of STASH_MAP"),
            })?;
    }
    Ok(Access::data(size, Addrs::Lanes(addrs), mask))
}

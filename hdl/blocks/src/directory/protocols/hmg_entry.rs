//! A directory with one tag and one sharer vector for four lines (`hmg-entry`; rec.md sections 3, 4 and 8).

use super::{Features, Protocol};
use crate::directory::keys::dir_param_infos;
use crate::directory::operations::*;
use crate::directory::params::{Covers, DirKind, Layout, Policy, Sharers};
use crate::directory::slice;
use crate::registry::BlockInfo;

/// An atomic leaves the requester the other lines of the group.
const OPERATIONS: &[Operation] = &[
    (Event::RdRem, ALLOC, FILL, SHARE),
    (Event::WrRem, ALLOC, FILL, TAKE),
    (Event::WrLoc, NOTHING, NOTHING, WIPE),
    (Event::AtomRem, NOTHING, NOTHING, RETAIN),
];

static LAYOUT: Layout = Layout {
    name: "group4",
    table: "group4_table",
    info: BlockInfo {
        name: "group-directory",
        about: "directory slice with one sharer vector per aligned four lines",
        params: || dir_param_infos(DirKind::GROUP4),
        build: |p| slice::build(DirKind::GROUP4, p),
    },
    sharers: Sharers::Gpus,
    covers: Covers::Lines(4),
    acked: false,
    owners: false,
    operations: OPERATIONS,
    published: (8192, 8, Policy::Fifo),
    slice: slice::describe,
    sets: [
        "entries=2 ways=1",
        "entries=8 ways=4 evb_depth=1",
        "gpus=3 entries=12 ways=2 home=1 tag_style=minimal",
    ],
};

impl DirKind {
    /// One sharer vector per aligned four lines (`group-directory`, `dir_group4`).
    pub const GROUP4: DirKind = DirKind::of(&LAYOUT);
}

struct HmgEntry;

impl Features for HmgEntry {
    fn directory(&self) -> Option<DirKind> {
        Some(DirKind::GROUP4)
    }
}

impl Protocol {
    /// One tag and sharer vector per four lines.
    pub const HMG_ENTRY: Protocol = Protocol::new("hmg-entry", &HmgEntry);
}

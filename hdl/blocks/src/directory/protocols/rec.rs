//! REC's range-coalescing directory (`rec`; rec.md sections 3 and 4).

use super::{Features, Protocol};
use crate::directory::keys::dir_param_infos;
use crate::directory::operations::*;
use crate::directory::params::{Covers, DirKind, Layout, Policy, Sharers};
use crate::directory::slice;
use crate::registry::BlockInfo;

static LAYOUT: Layout = Layout {
    name: "rec",
    table: "rec_table",
    info: BlockInfo {
        name: "rec-directory",
        about: "directory slice with one entry per range and exact sharers per line",
        params: || dir_param_infos(DirKind::REC),
        build: |p| slice::build(DirKind::REC, p),
    },
    sharers: Sharers::Gpus,
    covers: Covers::Range,
    acked: false,
    owners: false,
    operations: UNRECORDED_ATOMICS,
    published: (8192, 8, Policy::Lru),
    slice: slice::describe,
    sets: [
        "entries=4 ways=2 range=128 evb_depth=1",
        "entries=6 ways=2 gpus=3 home=2 policy=fifo inv_rate=2",
        "entries=8 ways=4 range=512 line=128 tag_style=minimal banks=2",
    ],
};

impl DirKind {
    /// One entry per aligned range with exact sharers per line (`rec-directory`, `rec_dir`).
    pub const REC: DirKind = DirKind::of(&LAYOUT);
}

struct Rec;

impl Features for Rec {
    fn directory(&self) -> Option<DirKind> {
        Some(DirKind::REC)
    }
}

impl Protocol {
    /// Range-coalescing directory.
    pub const REC: Protocol = Protocol::new("rec", &Rec);
}

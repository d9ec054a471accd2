//! NHCC: every other node is a sharer of its own (`nhcc`; hmg.md sections 3 and 4).

use super::{Features, Protocol};
use crate::directory::keys::dir_param_infos;
use crate::directory::operations::*;
use crate::directory::params::{Covers, DirKind, Layout, Policy, Sharers};
use crate::directory::slice;
use crate::registry::BlockInfo;

static LAYOUT: Layout = Layout {
    name: "nhcc",
    table: "nhcc_table",
    info: BlockInfo {
        name: "nhcc-directory",
        about: "directory slice of a flat multi-GPU system: every other GPM is a sharer of its own",
        params: || dir_param_infos(DirKind::NHCC),
        build: |p| slice::build(DirKind::NHCC, p),
    },
    sharers: Sharers::Nodes,
    covers: Covers::Group,
    acked: false,
    owners: false,
    operations: RECORDED_ATOMICS,
    published: (12288, 12, Policy::Lru),
    slice: slice::describe,
    sets: [
        "gpus=2 gpms=1 entries=2 ways=1 group=1",
        "gpus=2 gpms=3 home=5 entries=8 ways=4 group=8 downgrade=on evb_depth=1",
        "gpus=3 gpms=2 home=1 entries=12 ways=2 group=2 line=64 tag_style=minimal banks=2 policy=fifo inv_rate=2",
    ],
};

impl DirKind {
    /// One sharer vector per aligned group of lines over all other nodes of a flat system (`nhcc-directory`).
    pub const NHCC: DirKind = DirKind::of(&LAYOUT);
}

struct Nhcc;

impl Features for Nhcc {
    fn directory(&self) -> Option<DirKind> {
        Some(DirKind::NHCC)
    }
}

impl Protocol {
    /// NHCC: a tag and sharer vector per group of lines, over all other nodes (hmg.md section 4).
    pub const NHCC: Protocol = Protocol::new("nhcc", &Nhcc);
}

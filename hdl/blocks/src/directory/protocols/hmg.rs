//! HMG: GPU homes, a directory of GPMs and GPUs (`hmg`; hmg.md sections 1 to 6).

use super::{Features, Protocol};
use crate::directory::keys::dir_param_infos;
use crate::directory::operations::*;
use crate::directory::params::{Covers, DirKind, Layout, Policy, Sharers};
use crate::directory::slice;
use crate::registry::BlockInfo;

const OPERATIONS: &[Operation] = &[
    (Event::RdRem, ALLOC, FILL, SHARE),
    (Event::WrRem, ALLOC, FILL, TAKE),
    (Event::WrLoc, NOTHING, NOTHING, WIPE),
    (Event::AtomRem, ALLOC, FILL, TAKE),
    (Event::RecvWrite, NOTHING, NOTHING, FORWARD),
    (Event::RecvEvict, NOTHING, NOTHING, FORWARD),
];

static LAYOUT: Layout = Layout {
    name: "hmg",
    table: "hmg_table",
    info: BlockInfo {
        name: "hmg-directory",
        about: "directory slice of a hierarchical multi-GPU system: GPMs of its GPU and other GPUs are sharers",
        params: || dir_param_infos(DirKind::HMG),
        build: |p| slice::build(DirKind::HMG, p),
    },
    sharers: Sharers::TwoLevel,
    covers: Covers::Group,
    acked: false,
    owners: false,
    operations: OPERATIONS,
    published: (12288, 12, Policy::Lru),
    slice: slice::describe,
    sets: [
        "gpus=1 gpms=2 entries=2 ways=1 group=1 home=1 downgrade=on",
        "gpus=3 gpms=3 home=5 entries=8 ways=4 group=8 downgrade=on evb_depth=1 inv_rate=4",
        "gpus=4 gpms=2 home=1 entries=12 ways=2 group=2 line=64 tag_style=minimal banks=2 policy=fifo",
    ],
};

impl DirKind {
    /// One sharer vector per aligned group of lines over the other GPMs of the GPU and the other GPUs (`hmg-directory`).
    pub const HMG: DirKind = DirKind::of(&LAYOUT);
}

struct Hmg;

impl Features for Hmg {
    fn directory(&self) -> Option<DirKind> {
        Some(DirKind::HMG)
    }

    fn write_back(&self) -> bool {
        true
    }
}

impl Protocol {
    /// HMG: GPU homes, a directory of GPMs and GPUs (hmg.md sections 1 to 6).
    pub const HMG: Protocol = Protocol::new("hmg", &Hmg);
}

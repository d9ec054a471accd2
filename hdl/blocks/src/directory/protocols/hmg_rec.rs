//! HMG with REC's entries in both levels (`hmg-rec`; rec.md section 8.1).

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
    (Event::AtomRem, NOTHING, NOTHING, WIPE_OTHERS),
    (Event::RecvWrite, NOTHING, NOTHING, FORWARD),
    (Event::RecvEvict, NOTHING, NOTHING, FORWARD),
];

static LAYOUT: Layout = Layout {
    name: "hmg_rec",
    table: "hmg_rec_table",
    info: BlockInfo {
        name: "hmg-rec-directory",
        about: "directory slice of a hierarchical multi-GPU system with one entry per range and exact sharers per line",
        params: || dir_param_infos(DirKind::HMG_REC),
        build: |p| slice::build(DirKind::HMG_REC, p),
    },
    sharers: Sharers::TwoLevel,
    covers: Covers::Range,
    acked: false,
    owners: false,
    operations: OPERATIONS,
    published: (8192, 8, Policy::Lru),
    slice: slice::describe,
    sets: [
        "gpus=1 gpms=2 entries=2 ways=1 range=128 home=1 downgrade=on",
        "gpus=3 gpms=3 home=5 entries=8 ways=4 range=512 line=128 downgrade=on evb_depth=1 inv_rate=2",
        "gpus=4 gpms=2 home=1 entries=12 ways=2 range=256 tag_style=minimal banks=2 policy=fifo",
    ],
};

impl DirKind {
    /// One entry per aligned range, exact sharers per line among the other GPMs of the GPU and the other GPUs (`hmg-rec-directory`, rec.md section 8.1).
    pub const HMG_REC: DirKind = DirKind::of(&LAYOUT);
}

struct HmgRec;

impl Features for HmgRec {
    fn directory(&self) -> Option<DirKind> {
        Some(DirKind::HMG_REC)
    }
}

impl Protocol {
    /// HMG with REC's directories: exact sharers for each line of a range, in both levels (rec.md section 8.1).
    pub const HMG_REC: Protocol = Protocol::new("hmg-rec", &HmgRec);
}

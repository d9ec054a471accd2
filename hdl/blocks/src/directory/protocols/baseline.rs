//! A directory with one line per entry, in one size and twice that size (`baseline`, `baseline-2x`; rec.md sections 3, 4 and 8).

use super::{Features, Protocol};
use crate::directory::keys::dir_param_infos;
use crate::directory::operations::*;
use crate::directory::params::{Covers, DirKind, Layout, Policy, Sharers};
use crate::directory::slice;
use crate::registry::BlockInfo;

static LAYOUT: Layout = Layout {
    name: "perline",
    table: "perline_table",
    info: BlockInfo {
        name: "baseline-directory",
        about: "directory slice with one line per entry",
        params: || dir_param_infos(DirKind::PERLINE),
        build: |p| slice::build(DirKind::PERLINE, p),
    },
    sharers: Sharers::Gpus,
    covers: Covers::Lines(1),
    acked: false,
    owners: false,
    operations: UNRECORDED_ATOMICS,
    published: (8192, 8, Policy::Fifo),
    slice: slice::describe,
    sets: [
        "entries=2 ways=1",
        "entries=8 ways=4 policy=lru evb_depth=1",
        "gpus=16 entries=12 ways=2 inv_rate=4",
    ],
};

impl DirKind {
    /// One line per entry (`baseline-directory`, the specification's `dir_perline`).
    pub const PERLINE: DirKind = DirKind::of(&LAYOUT);
}

/// Its entries, times a number.
struct Baseline {
    times: u32,
}

impl Features for Baseline {
    fn directory(&self) -> Option<DirKind> {
        Some(DirKind::PERLINE)
    }

    fn entries(&self, given: u32) -> u32 {
        self.times * given
    }
}

impl Protocol {
    /// Per-line directory.
    pub const BASELINE: Protocol = Protocol::new("baseline", &Baseline { times: 1 });
    /// Per-line directory of twice the entries.
    pub const BASELINE_2X: Protocol = Protocol::new("baseline-2x", &Baseline { times: 2 });
}

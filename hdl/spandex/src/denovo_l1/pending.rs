//! Write-backs aside, what is asked for without data: per entry of the store buffer, words whose ownership is outstanding and words whose removal has come already.

use super::params::{DenovoL1Params, Inject};
use crate::flags::Flags;
use weft_rtl::prelude::*;

/// Ownership asked for.
pub(super) struct Pending {
    p: DenovoL1Params,
    /// Every word of the entry is owned.
    pub ready: Flags,
    left: Memory<Bits>,
    left_new: LaneWriter<Bits>,
    left_rsp: LaneWriter<Bits>,
    gone: Memory<Bits>,
    gone_new: LaneWriter<Bits>,
    gone_fwd: LaneWriter<Bits>,
}

impl Pending {
    pub fn new(p: &DenovoL1Params) -> Pending {
        let (n, w) = (p.l1.spandex.sb, p.l1.spandex.words());
        let file = |name: &str| regfile::<Bits>(&format!("po_{name}"), n, w).fields(&[("store_buffer", w)]);
        let [left, gone] = ["left", "gone"].map(file);
        Pending {
            ready: Flags::new("po_ready", n, "store_buffer"),
            left_new: left.lane_writer("new"),
            left_rsp: left.lane_writer("rsp"),
            left,
            gone_new: gone.lane_writer("new"),
            gone_fwd: gone.lane_writer("fwd"),
            gone,
            p: p.clone(),
        }
    }

    /// An entry asks.
    pub fn ask(&self, at: Bits, words: Bits) {
        self.left_new.write(at, &words);
        self.gone_new.write(at, &lit_bv(Bv::zero(words.width())));
    }

    /// Words outstanding.
    pub fn left(&self, at: Bits) -> Bits {
        self.left.read(at)
    }

    /// Ownership comes.
    pub fn answer(&self, at: Bits, words: Bits) {
        let left = self.left.read(at) & !words;
        self.left_rsp.write(at, &left);
        when(left.none(), || self.ready.raise(at.one_hot(self.p.l1.spandex.sb)));
    }

    /// Words whose removal has come.
    pub fn gone(&self, at: Bits) -> Bits {
        self.gone.read(at)
    }

    /// A removal comes.
    pub fn removed(&self, at: Bits, words: Bits) {
        if self.p.inject != Inject::KeepsOwnership {
            self.gone_fwd.write(at, &(self.gone.read(at) | words));
        }
    }

    /// The entry is done.
    pub fn done(&self, at: Bits) {
        self.ready.lower(at.one_hot(self.p.l1.spandex.sb));
    }
}

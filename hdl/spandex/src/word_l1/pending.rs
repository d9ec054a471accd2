//! Of what is in the store buffer, by its entries: words whose ownership is outstanding, and words whose removal has come already. Of Flex also how an entry leaves, and words that are to be written
//! through and were refused (NackWT): what a likely owner refused goes to the owner that the LLC knows (`fwd`), what that one refused to the LLC itself.

use super::params::{Inject, WordL1Params};
use crate::flags::Flags;
use weft_rtl::prelude::*;

/// Ownership asked for.
pub(crate) struct Pending {
    p: WordL1Params,
    /// Every word of the entry is owned.
    pub ready: Flags,
    left: Memory<Bits>,
    left_new: LaneWriter<Bits>,
    left_rsp: LaneWriter<Bits>,
    gone: Memory<Bits>,
    gone_new: LaneWriter<Bits>,
    gone_fwd: LaneWriter<Bits>,
    through: Option<Through>,
}

/// How an entry of the store buffer leaves.
#[derive(Clone, Copy, Bundle)]
pub(crate) struct How {
    /// Written through, not owned.
    #[field("store_buffer")]
    pub through: Bool,
    /// To the owner.
    #[field("store_buffer")]
    pub fwd: Bool,
}

/// Write-throughs of Flex.
struct Through {
    hows: Memory<How>,
    hows_slot: LaneWriter<How>,
    /// Words of the entry were refused.
    again: Flags,
    /// By a likely owner; by the owner.
    refused: [(Memory<Bits>, LaneWriter<Bits>, LaneWriter<Bits>); 2],
}

/// What an entry asks for again.
pub(crate) struct Again {
    pub any: Bool,
    pub at: Bits,
    pub words: Bits,
    /// From the owner.
    pub fwd: Bool,
}

impl Through {
    fn new(n: u32, w: u32) -> Through {
        let hows = regfile::<How>("wt_how", n, ());
        let refused = ["guessed", "owner"].map(|name| {
            let file = regfile::<Bits>(&format!("wt_refused_{name}"), n, w).fields(&[("store_buffer", w)]);
            let (slot, rsp) = (file.lane_writer("slot"), file.lane_writer("rsp"));
            (file, slot, rsp)
        });
        Through {
            hows_slot: hows.lane_writer("slot"),
            hows,
            again: Flags::new("wt_again", n, "store_buffer"),
            refused,
        }
    }
}

impl Pending {
    pub fn new(p: &WordL1Params) -> Pending {
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
            through: p.flex().then(|| Through::new(n, w)),
            p: p.clone(),
        }
    }

    /// Stores of an entry leave so.
    pub fn note(&self, at: Bits, how: &How) {
        if let Some(through) = &self.through {
            through.hows_slot.write(at, how);
        }
    }

    /// How an entry leaves.
    pub fn how(&self, at: Bits) -> How {
        let none = How { through: bool_lit(false), fwd: bool_lit(false) };
        self.through.as_ref().map_or(none, |through| through.hows.read(at))
    }

    /// Words of an entry were refused, in the direct request or by the owner.
    pub fn refused(&self, at: Bits, words: Bits, direct: Bool) {
        let Some(through) = &self.through else { return };
        for (file, which) in through.refused.iter().zip([direct, !direct]) {
            when(which, || file.2.write(at, &(file.0.read(at) | words)));
        }
        through.again.raise(at.one_hot(self.p.l1.spandex.sb));
    }

    /// The next entry that asks again.
    pub fn again(&self) -> Again {
        let Some(through) = &self.through else {
            let none = lit_bv(Bv::zero(self.p.l1.spandex.words()));
            let at = lit(0, self.p.l1.sb_bits());
            return Again { any: bool_lit(false), at, words: none, fwd: bool_lit(false) };
        };
        let at = through.again.get().lowest_set();
        let [guessed, owner] = [0, 1].map(|i: usize| through.refused[i].0.read(at));
        Again {
            any: through.again.get().any(),
            at,
            words: mux(owner.any(), owner, guessed),
            fwd: owner.none(),
        }
    }

    /// It has asked.
    pub fn asked_again(&self, again: &Again) {
        let Some(through) = &self.through else { return };
        let none = lit_bv(Bv::zero(again.words.width()));
        for (file, which) in through.refused.iter().zip([again.fwd, !again.fwd]) {
            when(which, || file.1.write(again.at, &none));
        }
        let rest = !again.fwd & through.refused[0].0.read(again.at).any();
        when(!rest, || through.again.lower(again.at.one_hot(self.p.l1.spandex.sb)));
    }

    /// An entry asks.
    pub fn ask(&self, at: Bits, words: Bits) {
        self.left_new.write(at, &words);
        let none = lit_bv(Bv::zero(words.width()));
        self.gone_new.write(at, &none);
        for file in self.through.iter().flat_map(|through| &through.refused) {
            file.1.write(at, &none);
        }
    }

    /// Words outstanding.
    pub fn left(&self, at: Bits) -> Bits {
        self.left.read(at)
    }

    /// Ownership comes, or words are written through.
    pub fn answer(&self, at: Bits, words: Bits) {
        let left = self.left.read(at) & !words;
        self.left_rsp.write(at, &left);
        when(left.none(), || self.ready.raise(at.one_hot(self.p.l1.spandex.sb)));
    }

    /// Words whose removal has come.
    pub fn gone(&self, at: Bits) -> Bits {
        self.gone.read(at)
    }

    /// The same after this cycle, for observers.
    pub fn gone_after(&self, at: Bits) -> Bits {
        self.gone_fwd.leaves(at, lit(0, 1), &self.gone.read(at))
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

    /// Declares how the flags change; called last.
    pub fn finish(&self) {
        self.ready.finish();
        self.through.iter().for_each(|through| through.again.finish());
    }
}

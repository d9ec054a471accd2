//! Values with names that keys of the family take.

use crate::config::{Named, named};
use weft_mgcc::choice::{Choice, Inject, WrspData};
use weft_mgcc::fabric::{TsmProtocol, TsuScale};
use weft_mgcc::tsu::{RdExtend, TsuWts};

named! {
    /// When loads raise the clock of a cache.
    ReadTime {
        /// As the protocol needs or likes it.
        Auto = "auto",
        /// At the fill.
        Eager = "eager",
        /// At the next fence.
        Deferred = "deferred",
    }
}

named! {
    /// Whether reads take the line of a write in service.
    MergeRaw {
        /// Under sequential consistency.
        Auto = "auto",
        /// Yes.
        On = "on",
        /// No.
        Off = "off",
    }
}

named! {
    /// Lanes of a UMC.
    LaneCount {
        /// One for each GPU.
        Gpus = "gpus",
        /// One.
        One = "1",
        /// Two.
        Two = "2",
        /// Four.
        Four = "4",
        /// Eight.
        Eight = "8",
        /// Sixteen.
        Sixteen = "16",
    }
}

impl LaneCount {
    /// The number, in a system of so many GPUs.
    pub(super) fn count(self, gpus: u32) -> u32 {
        match self {
            LaneCount::Gpus => gpus,
            LaneCount::One => 1,
            LaneCount::Two => 2,
            LaneCount::Four => 4,
            LaneCount::Eight => 8,
            LaneCount::Sixteen => 16,
        }
    }
}

/// The words of choices that the hardware offers are the names of a key's values.
macro_rules! words {
    ($($choice:ty),*) => {$(
        impl Named for $choice {
            const VALUES: &'static [$choice] = &{
                let mut out = [<$choice as Choice>::WORDS[0].0; <$choice as Choice>::WORDS.len()];
                let mut i = 0;
                while i < out.len() {
                    out[i] = <$choice as Choice>::WORDS[i].0;
                    i += 1;
                }
                out
            };
            const NAMES: &'static [&'static str] = &{
                let mut out = [""; <$choice as Choice>::WORDS.len()];
                let mut i = 0;
                while i < out.len() {
                    out[i] = <$choice as Choice>::WORDS[i].1;
                    i += 1;
                }
                out
            };
        }
    )*};
}

words!(TsmProtocol, TsuScale, RdExtend, TsuWts, WrspData);

/// Faults that a fabric can show, with their words: all but `early_fence`. The CUs have every store acknowledged before they
/// send a fence ([`CuMode::acks`](crate::cu::CuMode::acks)), and a block that another wave writes cannot be read before that,
/// so a fence that waits for nothing comes no earlier than it may. The bench of the L1 notices it.
const FAULTS: [(Inject, &str); <Inject as Choice>::WORDS.len() - 1] = {
    let all = <Inject as Choice>::WORDS;
    let mut out = [all[0]; <Inject as Choice>::WORDS.len() - 1];
    let (mut i, mut n) = (0, 0);
    while i < all.len() {
        if !matches!(all[i].0, Inject::EarlyFence) {
            out[n] = all[i];
            n += 1;
        }
        i += 1;
    }
    out
};

impl Named for Inject {
    const VALUES: &'static [Inject] = &{
        let mut out = [FAULTS[0].0; FAULTS.len()];
        let mut i = 0;
        while i < out.len() {
            out[i] = FAULTS[i].0;
            i += 1;
        }
        out
    };
    const NAMES: &'static [&'static str] = &{
        let mut out = [""; FAULTS.len()];
        let mut i = 0;
        while i < out.len() {
            out[i] = FAULTS[i].1;
            i += 1;
        }
        out
    };
}

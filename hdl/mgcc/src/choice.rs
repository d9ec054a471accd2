//! Choices that several blocks offer, with their names on the command line.

use weft_blocks::registry::{BlockError, ParamSet};

/// A parameter that is one of a few words.
pub trait Choice: Copy + PartialEq + 'static {
    /// Every value with its word.
    const WORDS: &'static [(Self, &'static str)];

    /// The word of a value.
    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|w| w.0 == self).map_or("", |w| w.1)
    }

    /// The value of parameter `key`.
    ///
    /// # Errors
    /// A word that is not known.
    fn from_set(set: &ParamSet, key: &str) -> Result<Self, BlockError> {
        let text = set.text(key);
        let found = Self::WORDS.iter().find(|w| w.1 == text);
        found.map(|w| w.0).ok_or_else(|| set.illegal(key, "it is not known"))
    }
}

/// Memory consistency (mgcc.md section 9).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Consistency {
    /// Sequential consistency.
    Sc,
    /// Release consistency.
    Rc,
}

impl Choice for Consistency {
    const WORDS: &'static [(Consistency, &'static str)] = &[(Consistency::Sc, "sc"), (Consistency::Rc, "rc")];
}

/// Coherence of caches and memory (mgcc.md section 5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Coherence {
    /// Timestamps.
    Mgcc,
    /// None: software invalidates at kernel boundaries; no stamps anywhere.
    None,
    /// G-TSC's timestamps: what the blocks `gtsc-l1` and `gtsc-l2` are, no choice of others, so it has no word.
    Gtsc,
}

impl Choice for Coherence {
    const WORDS: &'static [(Coherence, &'static str)] =
        &[(Coherence::Mgcc, "mgcc"), (Coherence::None, "none")];
}

/// Slips of the published listings, for negative tests (mgcc.md section 11). Each block knows those that concern it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Inject {
    /// No fault.
    None,
    /// A write's wts is the old memts: old lease and new write share an instant.
    LitMwts,
    /// The requester's clock is ignored.
    LitNoTs,
    /// Reads leave cts as it was.
    LitReadCts,
    /// A block's rts is max(wts + 1, rts).
    LitBrts,
    /// A write's answer carries no line, also for a partial mask.
    LitAckNodata,
    /// A new TSU entry starts at 0.
    LitNoFloor,
    /// A block whose memts overflows restarts at 0.
    LitReinit,
    /// A block is read although the clock is past its lease (not a published slip: what leases are for).
    PastRts,
    /// A fence of an L1 is answered at once, whatever stores are under way (not a published slip: a release that does not wait).
    EarlyFence,
    /// A fence leaves the clock as it was, and so copies from before what has been read since (not a published slip: an acquire that drops nothing).
    KeepClock,
    /// A fault of a G-TSC block.
    Gtsc(GtscFault),
}

/// Faults of G-TSC blocks, for negative tests (no published ones).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum GtscFault {
    /// The L2 renews a lease without comparing wts.
    RenewChanged,
    /// The L2 tells a read its lease but does not keep it.
    LeaseNotKept,
    /// The L2 does not raise mem_ts by what it drops.
    EvictUntimed,
    /// The L1 does not lock a block that a store has written: loads hit it before the store has its time.
    Unlocked,
}

impl GtscFault {
    /// The faults of blocks of G-TSC with their words; each block knows those that concern it.
    pub const WORDS: &'static [(Inject, &'static str)] = &[
        (Inject::None, "none"),
        (Inject::Gtsc(GtscFault::RenewChanged), "renew_changed"),
        (Inject::Gtsc(GtscFault::LeaseNotKept), "lease_not_kept"),
        (Inject::Gtsc(GtscFault::EvictUntimed), "evict_untimed"),
        (Inject::Gtsc(GtscFault::Unlocked), "unlocked"),
    ];
}

impl Inject {
    /// The word of a fault, of whatever protocol.
    pub fn name(self) -> &'static str {
        let all = Inject::WORDS.iter().chain(GtscFault::WORDS);
        all.into_iter().find(|w| w.0 == self).map_or("", |w| w.1)
    }
}

impl Choice for Inject {
    const WORDS: &'static [(Inject, &'static str)] = &[
        (Inject::None, "none"),
        (Inject::LitMwts, "lit_mwts"),
        (Inject::LitNoTs, "lit_no_ts"),
        (Inject::LitReadCts, "lit_read_cts"),
        (Inject::LitBrts, "lit_brts"),
        (Inject::LitAckNodata, "lit_ack_nodata"),
        (Inject::LitNoFloor, "lit_no_floor"),
        (Inject::LitReinit, "lit_reinit"),
        (Inject::PastRts, "past_rts"),
        (Inject::EarlyFence, "early_fence"),
        (Inject::KeepClock, "keep_clock"),
    ];
}

/// When loads raise the clock of a cache (mgcc.md sections 2 and 4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum ReadTs {
    /// At the fill.
    Eager,
    /// At the next fence; refused under SC.
    Deferred,
}

impl Choice for ReadTs {
    const WORDS: &'static [(ReadTs, &'static str)] =
        &[(ReadTs::Eager, "eager"), (ReadTs::Deferred, "deferred")];
}

/// Writes whose answer carries the line (mgcc.md section 10).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum WrspData {
    /// Those with a partial mask.
    Partial,
    /// All.
    Always,
}

impl Choice for WrspData {
    const WORDS: &'static [(WrspData, &'static str)] =
        &[(WrspData::Partial, "partial"), (WrspData::Always, "always")];
}

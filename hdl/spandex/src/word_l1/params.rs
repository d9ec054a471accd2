//! Parameters of the L1s: those of an L1 with GPU coherence, the kind, options, and faults of their own.

use crate::gpu_l1::GpuL1Params;
use weft_rtl::Words;
use weft_rtl::bv::bits_for;

/// Where atomics on words that are not owned are done: key `atomics` (spandex.md section 1). On owned words they are done here in any case.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Words)]
pub enum Atomics {
    /// Here: ownership and data are asked for (ReqO+data); atomics of the CU on a word under way join its
    /// request.
    Join,
    /// The same, each with a request of its own: on a word under way they wait at the head of the L1's
    /// queue.
    Own,
    /// At the LLC (ReqWT+data), as the CPU cores of the configuration SDG do.
    Through,
}

/// A fault that is put in on purpose: what the checks of a bench must find (simulation only).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Inject {
    /// None.
    None,
    /// A release waits for no answer.
    EarlyRelease,
    /// An acquire leaves valid words, also that of a kernel's beginning.
    KeepsValid,
    /// An acquire leaves no mark on reads under way.
    NoStale,
    /// A write-back closes when it is answered, whatever forward crosses it.
    NoCross,
    /// A removal that comes while ownership is asked for leaves the word owned.
    KeepsOwnership,
    /// A removal that comes while data is asked for is answered before the own atomic.
    NoDelay,
    /// Extras are installed whatever happened to the line.
    StaleExtras,
    /// A read asks for words whose write-back is open.
    NoWait,
    /// A line that comes in overwrites what was stored here meanwhile.
    FillOverStore,
    /// `atomics=through`: the own copy of a word that the LLC updates stays.
    KeepsCopy,
    /// `regions=1`: the beginning of a kernel does not drop lines of read-only regions.
    KeepsRegion,
    /// Inv leaves shared words.
    KeepsShared,
    /// Words of a ReqS for which Inv has come already stay as shared.
    KeepsOnce,
    /// Refused words of a write-through count as written.
    DropsRefused,
    /// Direct requests are served from the write-back buffer.
    ServesBuffer,
}

impl Inject {
    /// Those of DeNovo with their words on the command line.
    pub const WORDS: &'static [(Inject, &'static str)] = &[
        (Inject::None, "none"),
        (Inject::EarlyRelease, "early-release"),
        (Inject::KeepsValid, "keeps-valid"),
        (Inject::NoStale, "no-stale"),
        (Inject::NoCross, "no-cross"),
        (Inject::KeepsOwnership, "keeps-ownership"),
        (Inject::NoDelay, "no-delay"),
        (Inject::StaleExtras, "stale-extras"),
        (Inject::NoWait, "no-wait"),
        (Inject::FillOverStore, "fill-over-store"),
        (Inject::KeepsCopy, "keeps-copy"),
        (Inject::KeepsRegion, "keeps-region"),
    ];

    /// Those of Flex.
    pub const FLEX: &'static [(Inject, &'static str)] = &[
        (Inject::None, "none"),
        (Inject::EarlyRelease, "early-release"),
        (Inject::KeepsValid, "keeps-valid"),
        (Inject::NoStale, "no-stale"),
        (Inject::NoCross, "no-cross"),
        (Inject::KeepsOwnership, "keeps-ownership"),
        (Inject::NoDelay, "no-delay"),
        (Inject::StaleExtras, "stale-extras"),
        (Inject::NoWait, "no-wait"),
        (Inject::FillOverStore, "fill-over-store"),
        (Inject::KeepsCopy, "keeps-copy"),
        (Inject::KeepsShared, "keeps-shared"),
        (Inject::KeepsOnce, "keeps-once"),
        (Inject::DropsRefused, "drops-refused"),
        (Inject::ServesBuffer, "serves-buffer"),
    ];

    /// Its word.
    pub fn word(self) -> &'static str {
        let known = Inject::WORDS.iter().chain(Inject::FLEX).find(|known| known.0 == self);
        known.map_or("", |known| known.1)
    }
}

/// Kind of an L1 whose words are owned one by one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum L1Kind {
    /// DeNovo: I, V, O; requests by the kind of an access.
    Denovo,
    /// Flex: I, V, S, O; requests by the hint of an access.
    Flex,
    /// Stash: I, V, O in places that the program maps; no ownership with data.
    Stash,
}

/// What fixes an L1 (spandex.md sections 1, 7 and 8).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WordL1Params {
    /// Widths of messages, capacity, queues; its fault is none.
    pub l1: GpuL1Params,
    /// Kind.
    pub kind: L1Kind,
    /// DeNovo: where atomics are done. Flex does them by their hint.
    pub atomics: Atomics,
    /// DeNovo: lines filled by loads of read-only regions outlive acquires: one bit RO per line.
    pub regions: bool,
    /// Fault (simulation only).
    pub inject: Inject,
}

impl WordL1Params {
    /// Hints count, words may be shared.
    pub fn flex(&self) -> bool {
        self.kind == L1Kind::Flex
    }

    /// Some atomics are done at the LLC.
    pub fn through(&self) -> bool {
        self.flex() || self.atomics == Atomics::Through
    }

    /// Atomics join the request of their word, if an MSHR has room for a second one.
    pub fn joins(&self) -> bool {
        self.kind == L1Kind::Denovo && self.atomics == Atomics::Join && self.l1.targets > 1
    }

    /// The L1 in names of checks, counters and covers.
    pub fn block(&self) -> &'static str {
        match self.kind {
            L1Kind::Denovo => "denovo_l1",
            L1Kind::Flex => "flex_l1",
            L1Kind::Stash => "stash",
        }
    }

    /// Name of a check or counter.
    pub(super) fn named(&self, name: &str) -> String {
        format!("{}_{name}", self.block())
    }

    /// Name of a cover point of a table's row.
    pub(super) fn row(&self, name: &str) -> String {
        format!("spandex.{}.{name}", self.block())
    }

    /// Name of a cover point of a race.
    pub(super) fn race(&self, name: &str) -> String {
        format!("spandex.race.{}_{name}", self.block().trim_end_matches("_l1"))
    }

    /// Width of a write-back buffer entry's number.
    pub fn wbb_bits(&self) -> u32 {
        bits_for(u64::from(self.l1.spandex.wbb))
    }
}

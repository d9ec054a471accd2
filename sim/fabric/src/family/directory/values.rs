//! Values with names that keys of the family take.

use crate::config::{Named, named};
use weft_blocks::directory::params::TagStyle;
use weft_blocks::fabric::FabricInject;

named! {
    /// Replacement policy of the directory.
    DirPolicy {
        /// The protocol's own: `lru` for `rec`, `fifo` for the others.
        Auto = "auto",
        /// Only insertion makes a way the youngest.
        Fifo = "fifo",
        /// Remote reads and writes that hit do so too.
        Lru = "lru",
    }
}

named! {
    /// How far a store goes at once through the L2s on its way to its home (hmg.md section 5.2).
    L2Policy {
        /// To its home.
        WriteThrough = "write-through",
        /// To the first L2 that may hold it.
        WriteBack = "write-back",
    }
}

named! {
    /// Who asks for the releases of system scope of a GPU's GPMs (hmg.md section 6).
    Fence {
        /// One GPM of the GPU for all that release.
        Joined = "joined",
        /// Each GPM for itself, every home in the system.
        Each = "each",
    }
}

named! {
    /// Which lines an acquire of software coherence drops in the L2s that it reaches (hmg.md section 8): the
    /// own GPM's at GPU scope, with GPU homes all of the issuing GPU at system scope. Its table names lines whose
    /// home is elsewhere, so these are the default.
    Acquire {
        /// Those of other homes: no others can be old.
        Remote = "remote",
        /// All, as a bulk invalidation that knows no homes; dirty ones are written back before.
        All = "all",
    }
}

impl Named for TagStyle {
    const VALUES: &'static [TagStyle] = &[TagStyle::Published, TagStyle::Minimal];
    const NAMES: &'static [&'static str] = &["published", "minimal"];
}

impl Named for FabricInject {
    const VALUES: &'static [FabricInject] = &[
        FabricInject::None,
        FabricInject::L1EarlyRelease,
        FabricInject::L1KeepsCopies,
        FabricInject::FenceEarlyDone,
    ];
    const NAMES: &'static [&'static str] =
        &["none", "l1-early-release", "l1-keeps-copies", "fence-early-done"];
}

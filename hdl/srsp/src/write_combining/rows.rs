//! Rows of transition tables that the L1s of all systems have, with actions of the same names.

use weft_rtl::prelude::*;

transitions! {
    /// Loads of a line of which bytes are here; in W, `Yes` says that those asked for are.
    pub(crate) rows hits {
        "Ld.V"         (Ld, V, _)   [Hit] "Answer.";
        "Ld.D"         (Ld, D, _)   [Hit] "Answer.";
        "Ld.W.covered" (Ld, W, Yes) [Hit] "Answer with the bytes written here.";
    }
}

transitions! {
    /// Loads of a line of written bytes, where those asked for are not all here.
    pub(crate) rows partial {
        "Ld.W.miss" (Ld, W, No) -> I [WriteBack, Drop] "Write back; the load then misses.";
    }
}

transitions! {
    /// Stores to a line that has a frame.
    pub(crate) rows stores {
        "St.P" (St, P, _)      [Wait]           "Wait for the fill.";
        "St.V" (St, V, _) -> D [Merge, Dirties] "Becomes D.";
        "St.D" (St, D, _)      [Merge]          "Merge.";
        "St.W" (St, W, _)      [Merge]          "Merge.";
    }
}

transitions! {
    /// A line with bytes that leaves, and a free frame.
    pub(crate) rows leaves {
        "pop.D"   (Pop, D)   -> V [WriteBack, Clean] "Write back; becomes V.";
        "pop.W"   (Pop, W)   -> I [WriteBack, Drop]  "Write back; becomes I.";
        "evict.I" (Evict, I)                         "A free frame.";
        "evict.V" (Evict, V) -> I [Drop]             "The frame's line is dropped.";
        "evict.D" (Evict, D) -> I [WriteBack, Drop]  "Written back; its sFIFO entry is dead.";
        "evict.W" (Evict, W) -> I [WriteBack, Drop]  "Written back; its sFIFO entry is dead.";
    }
}

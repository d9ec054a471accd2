//! The published listings taken literally, where they are wrong (mgcc.md section 11).

/// A published rule put back in place of its correction. The checker must notice each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Inject {
    /// A write's stamp is the old memts instead of one above it.
    LitMwts,
    /// No request carries a timestamp, neither L1 to L2 nor L2 to UMC.
    LitNoTs,
    /// Reads leave the clocks of the caches alone.
    LitReadCts,
    /// Bwts = max(cts, wts), Brts = max(wts + 1, rts) in the caches.
    LitBrts,
    /// A write hit gets no data: a partially written live block keeps its other bytes.
    LitAckNodata,
    /// Eviction from the TSU raises no floor.
    LitNoFloor,
    /// A timestamp that does not fit restarts at 0; there are no epochs.
    LitReinit,
}

impl Inject {
    /// All of them.
    pub const ALL: [Inject; 7] = [
        Inject::LitMwts,
        Inject::LitNoTs,
        Inject::LitReadCts,
        Inject::LitBrts,
        Inject::LitAckNodata,
        Inject::LitNoFloor,
        Inject::LitReinit,
    ];
    /// The value of the parameter `inject`.
    pub fn name(self) -> &'static str {
        match self {
            Inject::LitMwts => "lit_mwts",
            Inject::LitNoTs => "lit_no_ts",
            Inject::LitReadCts => "lit_read_cts",
            Inject::LitBrts => "lit_brts",
            Inject::LitAckNodata => "lit_ack_nodata",
            Inject::LitNoFloor => "lit_no_floor",
            Inject::LitReinit => "lit_reinit",
        }
    }
}

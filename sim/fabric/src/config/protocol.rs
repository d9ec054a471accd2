//! Names of the protocols (rec.md section 8).

use super::value::Named;

/// What keeps the GPUs' copies coherent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// Per-line directory.
    Baseline,
    /// Per-line directory of twice the entries.
    Baseline2x,
    /// One tag and sharer vector per four lines.
    HmgEntry,
    /// Range-coalescing directory.
    Rec,
    /// An unbounded exact directory.
    Ideal,
    /// Remote lines are kept in L1s only; no directory.
    L1Only,
    /// Remote lines are kept nowhere; no directory.
    NoRemoteCaching,
}

impl Named for Protocol {
    const VALUES: &'static [Protocol] = &[
        Protocol::Baseline,
        Protocol::Baseline2x,
        Protocol::HmgEntry,
        Protocol::Rec,
        Protocol::Ideal,
        Protocol::L1Only,
        Protocol::NoRemoteCaching,
    ];
    const NAMES: &'static [&'static str] =
        &["baseline", "baseline-2x", "hmg-entry", "rec", "ideal", "l1-only", "no-remote-caching"];
}

//! Who owns a line, as the bank knows it.

/// A registered line: R, or RV when a REVOKE or, in DeNovo-B, a READ has been sent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Owner {
    /// Its L1.
    pub cu: u8,
    /// RV.
    pub revoke: Option<Revoke>,
}

/// A REVOKE or READ under way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Revoke {
    /// It is a READ.
    pub read: bool,
    /// {L1, MSHR} of the REG or RD that waits for it; none in a recall.
    pub req: Option<(u8, u8)>,
    /// The owner's UNREG has come instead, with this WBT entry.
    pub unreg: Option<u8>,
}

//! An operation of the load-store unit, from its issue to its completion.

use serde::{Deserialize, Serialize};
use weft_workload::{Access, Class, Op, Scope, Token, Values};

/// What kind of operation sits in the load-store unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum MemKind {
    Load,
    Store,
    Amo,
    Lds,
    /// A transfer of the DMA engine, a mapping of a stash.
    Dma,
    Stash,
    Release,
    Acquire,
}

/// An operation from its issue to its completion.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct MemOp {
    pub wave: u16,
    pub kind: MemKind,
    pub op: Op,
    /// Effective class.
    pub class: Class,
    /// Lanes that no line access has taken.
    pub todo: u64,
    /// Lanes that are not answered.
    pub open: u64,
    /// Line accesses sent and not answered.
    pub unanswered: u32,
    /// Lowest and highest byte address.
    pub low: u64,
    pub high: u64,
    /// Lane values of the token.
    pub values: Vec<u64>,
    /// Scope of a release or acquire.
    pub scope: Scope,
    /// Number along the wave, given by [`super::lsu::Lsu::push`].
    pub number: u32,
    /// Who answered last, `src` and `merged` of section 1.1.
    pub src: u8,
    pub merged: bool,
    /// Ticks of memory data stalls to be paid when it completes (section 3).
    pub blame: u64,
}

/// Active lanes, lowest first.
#[inline]
pub(super) fn lanes_of(mask: u64) -> impl Iterator<Item = u32> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = rest.trailing_zeros();
        rest &= rest.wrapping_sub(1);
        (lane < 64).then_some(lane)
    })
}

/// The global access of an operation and the operands it sends.
pub(super) fn global(op: &Op) -> Option<(&Access, Option<&Values>)> {
    match op {
        Op::Load { access, .. } => Some((access, None)),
        Op::Store { access, values } | Op::Amo { access, values, .. } => Some((access, Some(values))),
        _ => None,
    }
}

impl MemOp {
    /// Whether the same-word rule holds `access` back until this operation's open lanes are answered. `low` and `high`
    /// bound its bytes.
    pub fn clashes(&self, access: &Access, kind: MemKind, commutes: bool, low: u64, high: u64) -> bool {
        let Some((own, _)) = global(&self.op) else { return false };
        if (self.kind == MemKind::Load && kind == MemKind::Load) || (commutes && self.commutes()) {
            return false;
        }
        if self.high | 3 < low || high | 3 < self.low {
            return false;
        }
        let mut words = [0u64; 128];
        let mut count = 0;
        for word in lanes_of(access.mask).flat_map(|lane| words_of(access, lane)) {
            words[count] = word;
            count += 1;
        }
        let words = &mut words[..count];
        words.sort_unstable();
        lanes_of(self.open).flat_map(|lane| words_of(own, lane)).any(|w| words.binary_search(&w).is_ok())
    }

    /// The token that it produces.
    pub fn token(&self) -> Option<Token> {
        match &self.op {
            Op::Load { token, .. }
            | Op::Amo { token, .. }
            | Op::LdsLoad { token, .. }
            | Op::LdsAmo { token, .. }
            | Op::StashLoad { token, .. } => Some(*token),
            _ => None,
        }
    }

    /// A commutative atomic without result.
    pub fn commutes(&self) -> bool {
        self.class == Class::C && matches!(self.op, Op::Amo { ret: false, .. })
    }
}

/// The 4-byte words of a lane.
fn words_of(access: &Access, lane: u32) -> std::ops::RangeInclusive<u64> {
    let addr = access.addrs.at(lane);
    addr >> 2..=(addr + u64::from(access.size) - 1) >> 2
}

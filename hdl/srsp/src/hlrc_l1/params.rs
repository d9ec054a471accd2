//! Parameters of the L1: those of any that registers lines, with faults of its own.

use crate::registering::{Faults, RegisteringParams};
use weft_rtl::Words;

/// What fixes an L1 of hLRC (srsp.md sections 2 and 9).
pub type HlrcL1Params = RegisteringParams<HlrcInject>;

/// A fault that is put in on purpose: what the checks of a bench must find (simulation only).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Words)]
pub enum HlrcInject {
    /// None.
    None,
    /// REVOKE_ACK is sent before the flush has completed.
    FlushAfterAck,
    /// Gaining a line drops nothing.
    NoGainInv,
    /// A revoked line is captured when its flush has completed, and is used until then.
    LateCapture,
    /// An invalidation leaves no mark on lines under way.
    NoNoinst,
    /// The CU gate stays open after a gain.
    OpenGate,
    /// A read of an owned line does not wait for the write-back of its bytes.
    ReadPastWb,
}

impl Faults for HlrcInject {
    const BLOCK: &'static str = "hlrc-l1";
    const HEAD: &'static str = "hlrc_l1";
    const NONE: HlrcInject = HlrcInject::None;
    const LEGAL: &'static str = HlrcInject::LEGAL;
    const ALL: &'static [(HlrcInject, &'static str)] = HlrcInject::WORDS;
    fn word(self) -> &'static str {
        self.word()
    }
}

//! Parameters of the L1: those of any that registers lines, with faults of its own.

use crate::registering::{Faults, RegisteringParams};
use weft_rtl::Words;

/// What fixes an L1 of DeNovo-B.
pub type DenovoL1Params = RegisteringParams<DenovoInject>;

/// A fault that is put in on purpose: what the checks of a bench must find (simulation only).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Words)]
pub enum DenovoInject {
    /// None.
    None,
    /// A release waits for nothing: what was stored is registered later.
    EarlyRelease,
    /// An acquire drops nothing.
    KeepsCopies,
    /// REG_DATA overwrites bytes that have been stored meanwhile.
    GrantOverwrites,
    /// A READ takes the line from its owner, and the L2 does not learn of it.
    ReadTakes,
    /// A REVOKE_ACK does not say which bytes were written.
    LostMask,
    /// A READ leaves the bytes that it has told marked as written: they are told again, which does no harm.
    ToldAgain,
}

impl Faults for DenovoInject {
    const BLOCK: &'static str = "denovo-b-l1";
    const HEAD: &'static str = "denovo_b_l1";
    const NONE: DenovoInject = DenovoInject::None;
    const LEGAL: &'static str = DenovoInject::LEGAL;
    const ALL: &'static [(DenovoInject, &'static str)] = DenovoInject::WORDS;
    fn word(self) -> &'static str {
        self.word()
    }
}

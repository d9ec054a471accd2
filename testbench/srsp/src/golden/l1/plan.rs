//! The micro-steps of each operation (srsp.md section 5.1) as data.

use super::super::msg::{Scope, Sem, Sync};
use super::super::slip::Slip;
use weft_srsp::params::Impl;

/// A micro-step of the sync unit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Micro {
    /// F.
    Flush,
    /// line-inv of line(X) in a slot of its own; `su_line` is set.
    Own,
    /// Until the WBT has no line(X).
    OwnWait,
    /// A2: ATM, until its answer.
    Atm,
    /// Am: the same at memory.
    AtmSys,
    Close,
    /// flash-inv, LR and PA emptied, in a slot of its own.
    Flash,
    /// aff_cache emptied.
    Forget,
    Open,
    SysFlush,
    SysInv,
    /// REM_LOCK until GRANT.
    Lock,
    SelFlush,
    SelInv,
    LockFlush,
    InvUnlock,
    InvAll,
    FlushAll,
    /// Until all PACKs have come.
    Packs,
    /// REM_OP until REM_RSP.
    Op,
    /// The same with keep; if it has not written, goes on behind Unlock.
    OpKeep,
    Unlock,
    Token,
    TokenRel,
    /// To the CU.
    Reply,
}

use Micro::*;

const PROMOTED: &[Micro] = &[Own, OwnWait, Atm, Close, Flush, Flash, Open, Reply];
const ACQ_CMP: &[Micro] = PROMOTED;
const REL_CMP: &[Micro] = &[Flush, Own, OwnWait, Atm, Reply];
const AR_CMP: &[Micro] = &[Flush, Own, OwnWait, Atm, Close, Flush, Flash, Open, Reply];
const RLX_CMP: &[Micro] = &[Own, OwnWait, Atm, Reply];

const ACQ_SYS: &[Micro] = &[Own, OwnWait, AtmSys, Close, Flush, Flash, SysInv, Open, Reply];
const REL_SYS: &[Micro] = &[Flush, SysFlush, Own, OwnWait, AtmSys, Reply];
const AR_SYS: &[Micro] = &[Flush, SysFlush, Own, OwnWait, AtmSys, Close, Flush, Flash, SysInv, Open, Reply];
const RLX_SYS: &[Micro] = &[Own, OwnWait, AtmSys, Reply];

// Under the line's lock alone. An acquire invalidates the other L1s as one that releases does: so bRSP is
// published.
const BRSP_ACQ: &[Micro] =
    &[Lock, Close, FlushAll, Flush, Own, OwnWait, Packs, OpKeep, InvAll, Packs, Unlock, Flash, Open, Reply];
const BRSP_REL: &[Micro] = &[Flush, Lock, InvAll, Packs, Close, Flush, Own, OwnWait, Flash, Open, Op, Reply];
const EARLY_UNLOCK_ACQ: &[Micro] =
    &[Lock, Close, FlushAll, Flush, Own, OwnWait, Packs, OpKeep, InvAll, Unlock, Packs, Flash, Open, Reply];
const EARLY_UNLOCK_REL: &[Micro] =
    &[Flush, Lock, InvAll, Close, Flush, Own, OwnWait, Flash, Open, Op, Packs, Reply];

const TOKEN_ACQ: &[Micro] = &[
    Token, LockFlush, Close, Flush, Own, OwnWait, Packs, Op, Flash, InvUnlock, Packs, TokenRel, Open, Reply,
];
const TOKEN_REL: &[Micro] =
    &[Flush, Token, Lock, InvAll, Packs, Close, Flush, Own, OwnWait, Flash, Open, Op, TokenRel, Reply];

const SRSP_ACQ: &[Micro] = &[Lock, Close, SelFlush, Flush, Own, OwnWait, Packs, Op, Flash, Open, Reply];
const SRSP_REL: &[Micro] = &[Flush, Lock, Close, Own, OwnWait, SelInv, Packs, Op, Open, Reply];
const SRSP_AR: &[Micro] =
    &[Lock, Close, SelFlush, Flush, Own, OwnWait, Packs, OpKeep, SelInv, Packs, Unlock, Flash, Open, Reply];

const LATE_LOCK_ACQ: &[Micro] = &[Close, SelFlush, Flush, Own, OwnWait, Packs, Lock, Op, Flash, Open, Reply];
const LATE_LOCK_REL: &[Micro] = &[Flush, Close, Own, OwnWait, SelInv, Packs, Lock, Op, Open, Reply];
const LATE_LOCK_AR: &[Micro] =
    &[Close, SelFlush, Flush, Own, OwnWait, Packs, Lock, OpKeep, SelInv, Packs, Unlock, Flash, Open, Reply];
const EARLY_INV: &[Micro] = &[Lock, SelInv, Packs, Flush, Close, Own, OwnWait, Op, Open, Reply];
const STORE_UNLOCKED: &[Micro] = &[Flush, Close, Own, OwnWait, Atm, SelInv, Packs, Open, Reply];
const STORE_FIRST: &[Micro] = &[Flush, Lock, Close, Own, OwnWait, OpKeep, SelInv, Packs, Unlock, Open, Reply];

/// Kernel begin.
pub const BEGIN: &[Micro] = &[Close, Flush, Flash, Forget, Open, Reply];
/// Kernel end.
pub const END: &[Micro] = &[Flush, Reply];

/// wg acquire whose address is in PA-TBL.
pub fn promoted(sem: Sem) -> &'static [Micro] {
    if sem == Sem::AcqRel { AR_CMP } else { PROMOTED }
}

/// Every operation that is not done in the L1 alone.
pub fn global(imp: Impl, sync: &Sync, slip: Option<Slip>) -> &'static [Micro] {
    if sync.remote {
        return if imp.selective() { selective(sync.sem, slip) } else { broadcast(imp, sync.sem, slip) };
    }
    match (sync.scope, sync.sem) {
        (Scope::Sys, Sem::Rlx) => RLX_SYS,
        (Scope::Sys, Sem::Acq) => ACQ_SYS,
        (Scope::Sys, Sem::Rel) => REL_SYS,
        (Scope::Sys, Sem::AcqRel) => AR_SYS,
        (_, Sem::Rlx) => RLX_CMP,
        (_, Sem::Acq) => ACQ_CMP,
        (_, Sem::Rel) => REL_CMP,
        (_, Sem::AcqRel) => AR_CMP,
    }
}

fn broadcast(imp: Impl, sem: Sem, slip: Option<Slip>) -> &'static [Micro] {
    match (imp, sem, slip) {
        (Impl::BrspToken, Sem::Rel, _) => TOKEN_REL,
        (Impl::BrspToken, ..) => TOKEN_ACQ,
        (_, Sem::Rel, Some(Slip::EarlyUnlock)) => EARLY_UNLOCK_REL,
        (_, Sem::Rel, _) => BRSP_REL,
        (.., Some(Slip::EarlyUnlock)) => EARLY_UNLOCK_ACQ,
        _ => BRSP_ACQ,
    }
}

fn selective(sem: Sem, slip: Option<Slip>) -> &'static [Micro] {
    match (sem, slip) {
        (Sem::Rel, Some(Slip::ProbeBeforeLock)) => LATE_LOCK_REL,
        (Sem::Rel, Some(Slip::InvBeforeFlush)) => EARLY_INV,
        (Sem::Rel, Some(Slip::StoreUnlocked)) => STORE_UNLOCKED,
        (Sem::Rel, Some(Slip::StoreFirst)) => STORE_FIRST,
        (Sem::Rel, _) => SRSP_REL,
        (Sem::AcqRel, Some(Slip::ProbeBeforeLock)) => LATE_LOCK_AR,
        (Sem::AcqRel, _) => SRSP_AR,
        (_, Some(Slip::ProbeBeforeLock)) => LATE_LOCK_ACQ,
        (..) => SRSP_ACQ,
    }
}

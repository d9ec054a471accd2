//! Decisions of srsp.md undone one at a time, and faults put in: exploration or random runs must find every one.

/// One thing done wrong.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Slip {
    /// Section 3: probes and PACKs come before REM_LOCK and its grant.
    ProbeBeforeLock,
    /// Section 5: a wg store that synchronises is done as a plain masked store, without a fill.
    BlindStore,
    /// Section 5: flash-inv does not mark pending fills.
    NoNoinst,
    /// Section 5: line-inv does not mark a pending fill.
    NoReplay,
    /// Section 5: SEL_INV goes out before the remote modifier's own F.
    InvBeforeFlush,
    /// Section 5.1: rem_rel stores at the L2 without a lock, then sends SEL_INV.
    StoreUnlocked,
    /// Section 5.1: rem_rel stores at the L2 under the lock, then sends SEL_INV, then unlocks.
    StoreFirst,
    /// Section 5.2: SEL_FLUSH drops the line after the flush, not in the slot of the lookup.
    LateLineInv,
    /// Section 5.2: a SEL_FLUSH that misses is acknowledged without a fence.
    MissNoFence,
    /// Section 5, "waiting atomics replay (PA lookup again)": the first atomic that replays and misses again takes the others of its MSHR with it, and the new fill serves
    /// them without another lookup.
    ReplayTogether,
    /// Section 5.1: replays do not wait for `su_line`.
    ReplayPastSync,
    /// Fault: PA-TBL insertions are lost.
    PaDropped,
    /// Fault: a flush stops one entry early.
    FlushShort,
    /// Fault: SEL_FLUSH is acknowledged before its flush has completed.
    EarlyPack,
    /// bRSP: the line's lock is given up before the invalidations under it are collected.
    EarlyUnlock,
    /// bRSP: FLUSH_ALL flushes and leaves the line.
    KeepsLine,
    /// Section 5.2, bRSP with a token: LOCK_FLUSH flushes and stops nothing.
    OpenLock,
    /// Section 5.2, bRSP with a token: INV_UNLOCK drops the lines without flushing those that became dirty
    /// under the lock.
    UnlockNoFlush,
    /// Fault, hLRC: the L2 grants a registered line without waiting for its owner's flush (section 9).
    EarlyGrant,
    /// DeNovo-B: the F of an acquire stands before its access, where the gate is open.
    FlushBeforeAccess,
    /// DeNovo-B: the registrations of atomics do not count in the fence, even with stored bytes.
    UncountedReg,
    /// DeNovo-B: a store is merged into a line that an atomic has asked for, whose registration need not count.
    StoreOvertakes,
    /// DeNovo-B: a line is registered while its UNREG is under way.
    RegPastUnreg,
    /// Fault, DeNovo-B: a release waits for nothing.
    ReleaseNoWait,
    /// Fault, DeNovo-B: an acquire drops nothing.
    AcquireNoDrop,
    /// Fault, DeNovo-B: REG_DATA overwrites the bytes stored here.
    RegDataOverwrites,
    /// Fault, DeNovo-B: READ takes the line, and the bank does not know.
    ReadTakesLine,
    /// Fault, DeNovo-B: REVOKE_ACK and UNREG are without their mask.
    RevokeNoMask,
    /// Fault, DeNovo-B: the bank answers an RD of a registered line from its own bytes.
    ReadFromBank,
    /// DeNovo-B: READ leaves the mask, so that bytes are merged twice. Harmless, and not in [`Slip::ALL`].
    ReadKeepsMask,
}

impl Slip {
    /// It is tried on DeNovo-B.
    pub fn of_denovo_b(self) -> bool {
        let first = Slip::ALL.iter().position(|slip| *slip == Slip::FlushBeforeAccess);
        Slip::ALL.iter().position(|slip| *slip == self) >= first
    }
    /// All of them.
    pub const ALL: [Slip; 29] = [
        Slip::ProbeBeforeLock,
        Slip::BlindStore,
        Slip::NoNoinst,
        Slip::NoReplay,
        Slip::InvBeforeFlush,
        Slip::StoreUnlocked,
        Slip::StoreFirst,
        Slip::LateLineInv,
        Slip::MissNoFence,
        Slip::ReplayTogether,
        Slip::ReplayPastSync,
        Slip::PaDropped,
        Slip::FlushShort,
        Slip::EarlyPack,
        Slip::EarlyUnlock,
        Slip::KeepsLine,
        Slip::OpenLock,
        Slip::UnlockNoFlush,
        Slip::EarlyGrant,
        Slip::FlushBeforeAccess,
        Slip::UncountedReg,
        Slip::StoreOvertakes,
        Slip::RegPastUnreg,
        Slip::ReleaseNoWait,
        Slip::AcquireNoDrop,
        Slip::RegDataOverwrites,
        Slip::ReadTakesLine,
        Slip::RevokeNoMask,
        Slip::ReadFromBank,
    ];
}

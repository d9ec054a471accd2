//! Rules of spandex.md section 9 undone one at a time: exploration must find every one that is needed.

/// A rule left out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Slip {
    /// The L3 goes on after DataE and DataM: no busy-X.
    NoBusyX,
    /// The L3 goes on after FwdGetS when the requestor has its data, WbData or not.
    NoWaitForWbData,
    /// The L3 goes on after FwdGetS when it has WbData, Unblock or not.
    NoWaitForUnblock,
    /// A Put to a busy line is acknowledged at once.
    PutDoesNotWait,
    /// A Put counts whoever owns the line.
    PutOfAnyone,
    /// The L3 takes what comes with a PutE for the line.
    PutECarries,
    /// The L3 drops a line with sharers without waiting for InvAcks.
    EvictWithoutAcks,
    /// A request does not get the line that it fetched before others that wait.
    FetchedLast,
    /// The L3 forgets that the old owner keeps an S copy.
    ForgetOldOwner,
    /// WbData travels on WB, behind Puts.
    WbDataOnWb,
    /// A client in MI that answers a forward is through with the line: no II.
    NoIi,
    /// ISI keeps its copy.
    IsiKeeps,
    /// Later loads join ISI.
    JoinIsi,
    /// DataE in ISI is used once.
    IsiDropsE,
    /// Inv waits until a fill or upgrade is over.
    InvWaits,
    /// An Inv in SM leaves the copy.
    SmKeeps,
    /// M without waiting for InvAcks.
    MWithoutAcks,
    /// A forward waits until the write-back of its line is over.
    ForwardWaitsForPut,
    /// GPU L2: a forward is answered without revoking words.
    NoRevocation,
    /// GPU L2: no TBE is reserved.
    NoReservedTbe,
    /// GPU L2: a forward does not wait for phase 1.
    ForwardInPhase1,
    /// GPU L2: words are written in S.
    WriteInS,
    /// GPU L2: E stays E when words are written or given away.
    EStays,
    /// GPU L2: data of use-once serves stalled requests too.
    UseOnceForAll,
    /// GPU L2: Put before the revoked words have come.
    PutBeforeRevocation,
}

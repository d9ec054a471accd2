//! Rules of spandex.md undone one at a time: exploration must find every one.

/// A rule left out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Slip {
    /// Section 2, `[L*]`: extras answer outstanding words.
    ExtrasAnswer,
    /// Section 2, R1 `[L*]`: a request that can give ownership does not wait for others of the word.
    TwoRequests,
    /// Section 2, R2 `[L*]`: a word of an open write-back may be requested.
    RequestDuringWriteBack,
    /// Section 2, R2 `[L*]`: a write-back closes with RspWB, its forward may come later.
    IgnoreCross,
    /// Section 5, `[L*]`: direct requests are served from a write-back buffer.
    DirectFromBuffer,
    /// Section 7, `[L*]` stale reads: an acquire does not mark read entries.
    NoStale,
    /// Section 7, `[L*]` own stores: a fill overwrites words stored meanwhile.
    FillOverwrites,
    /// Section 7, `[L*]` own stores: extras are installed whatever happened to the line.
    ExtrasAlways,
    /// Section 2, rule 3 `[L]`: a triggered write-back takes an entry of the write-back buffer, and its forward waits for one.
    ForwardAllocates,
    /// Section 3, `[L]`: a clean E line is written back without data, the LLC keeps what it has.
    CleanWithoutData,
    /// Section 4.3, `[L]`: words of one request are granted one by one.
    SplitCommit,
    /// Section 4.3, `[L]`: the option of ReqS is chosen again after phase 1.
    OptionAgain,
    /// Section 5: a PD word answers its removal before the core operation (no deadlock, but no progress either; the operation asks again).
    RemovalFirst,
    /// Section 5: use-once data is kept.
    KeepUseOnce,
    /// Section 5: a ReqV is retried for ever.
    NoEscalation,
    /// Section 7, `[L]`: plain atomic stores use ReqO or ReqWT, as data does.
    WeakAtomicStore,
    /// Decision of this model: at the end of phase 1 a line is taken for V because the targets of a write are not owned, though no Inv was sent.
    UnshareByTargets,
    /// Decision of this model: extras may come from V copies.
    ExtrasFromCopies,
    /// Decision of this model: RspO+data does not say that its data is dirty.
    CleanTransfer,
    /// Decision of this model: fwd ReqO for a PD word is answered at once (Table 5.4), where a line may have been asked for.
    GrantAtOnce,
    /// Decision of this model: ReqWT+data marks the read entries of its line at issue only.
    StaleAtIssueOnly,
    /// Decision of this model: a load of a word does not wait for a ReqWT+data of the word.
    LoadPastUpdate,
    /// Decision of this model: a store to an owned word overtakes an older one in the store buffer.
    StoreInPlace,
    /// Decision of this model: after an acquire loads join an open ReqS that is answered by RspV.
    JoinReqS,
}

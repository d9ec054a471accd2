//! A resident wave and what its next operation waits for (sections 1 and 1.3).

use serde::{Deserialize, Serialize};
use weft_workload::op::size_mask;
use weft_workload::{Access, Class, Frame, LoadedValues, Op, Scope, Sem, Token, Values};

use super::mem_op::{MemKind, MemOp, global, lanes_of};
use super::params::{CuFault, CuMode, Model};

/// Completion tick of a token whose operation is not answered.
pub(super) const PENDING: u64 = u64::MAX;

/// Why a wave cannot go on before something happens outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Wait {
    /// A needed token belongs to an unanswered load or atomic.
    Data,
    /// The order of section 1.3: a fence, barrier, paired or unpaired access.
    Order,
    /// An unanswered access to the same word: the oldest.
    Word(u32),
    /// END: the answers of everything that the wave has sent.
    End,
}

/// Where a wave is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Status {
    /// No wave in this slot.
    Free,
    /// In the ready list of its issue slot.
    Ready,
    /// Asks again at this tick.
    Timed(u64),
    /// Asks again when one of its accesses is answered.
    Waiting(Wait),
    /// Has arrived at the barrier.
    Barrier,
}

/// What a ready wave's operation takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Need {
    /// Nothing.
    None,
    /// An execution unit of its issue slot.
    Unit(u8),
    /// A place in the load-store unit.
    Lsu,
}

/// What a ready wave issues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Next {
    /// The operation at the head of its queue.
    Head,
    /// A release that the head needs before it.
    Release(Scope),
    /// An acquire: the rest of a sequence, or a fence's only part.
    Acquire(Scope),
}

/// Answer of [`Wave::head`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Head {
    Ready(Need, Next),
    At(u64),
    Waiting(Wait),
}

/// One wave slot.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Wave {
    pub status: Status,
    pub need: Need,
    pub next: Next,
    /// Tick since which it has been ready.
    pub since: u64,
    /// (Work-group launch number, wave in its work-group): less is older.
    pub age: u64,
    /// Block slot.
    pub block: u16,
    /// Wave in its work-group.
    pub index: u32,
    pub frame: Frame,
    pub values: LoadedValues,
    /// Operations, the next one last.
    pub queue: Vec<Op>,
    /// Completion tick of each token; [`PENDING`] while it is not known.
    pub due: Vec<u64>,
    /// Memory operations that are not complete.
    pub ops: Vec<u32>,
    /// Memory operations that it has ever issued.
    pub pushed: u32,
    /// Stores and atomics among `ops`.
    pub writes: u32,
    /// Unpaired accesses among `ops`.
    pub unpaired: u32,
    /// Line accesses sent and not answered.
    pub in_flight: u32,
    /// A paired access or fence is open: nothing else issues before `ops` is empty and the acquire is done.
    pub closing: bool,
    /// Acquire that ends the open sequence.
    pub then_acquire: Option<Scope>,
    /// The open sequence is that of a fence.
    pub fence: bool,
    /// The release before the head is done.
    pub released: bool,
    /// Widest scope of a paired or unpaired store that the memory has accepted and that no release covers; `Cu` if there is none ([`CuMode::posted`]).
    pub posted: Scope,
}

impl Wave {
    /// An empty slot.
    pub fn free() -> Self {
        Self {
            status: Status::Free,
            need: Need::None,
            next: Next::Head,
            since: 0,
            age: 0,
            block: 0,
            index: 0,
            frame: Frame::default(),
            values: LoadedValues::new(),
            queue: Vec::new(),
            due: Vec::new(),
            ops: Vec::new(),
            pushed: 0,
            writes: 0,
            unpaired: 0,
            in_flight: 0,
            closing: false,
            then_acquire: None,
            fence: false,
            released: false,
            posted: Scope::Cu,
        }
    }

    /// Sets the completion tick of a token.
    pub fn set_due(&mut self, token: Token, tick: u64) {
        let index = token as usize;
        if self.due.len() <= index {
            self.due.resize(index + 1, 0);
        }
        self.due[index] = tick;
    }

    /// Completion tick of a token; 0 when nothing produces it.
    pub fn due(&self, token: Token) -> u64 {
        self.due.get(token as usize).copied().unwrap_or(0)
    }

    /// A release of this scope is sent; nothing follows it before it is acknowledged.
    pub fn releases(&mut self, scope: Scope) {
        if self.posted <= scope {
            self.posted = Scope::Cu;
        }
    }

    /// What the wave waits for at tick `at`. Closes a sequence whose last part is answered.
    pub fn head(&mut self, ops: &[MemOp], mode: &CuMode, at: u64) -> Head {
        if self.closing {
            if !self.ops.is_empty() {
                return match self.overtakes(mode) {
                    true => self.next_in_order(ops, mode, at),
                    false => Head::Waiting(Wait::Order),
                };
            }
            if let Some(scope) = self.then_acquire {
                return Head::Ready(Need::Lsu, Next::Acquire(scope));
            }
            self.closing = false;
        }
        self.next_in_order(ops, mode, at)
    }

    /// The head of the queue may go before the open sequence has ended: a fault.
    fn overtakes(&self, mode: &CuMode) -> bool {
        let relaxed = |class| !matches!(mode.effective(class), Class::D | Class::P);
        let head = self.queue.last().and_then(global);
        mode.fault == CuFault::RelaxedOvertakes && head.is_some_and(|(access, _)| relaxed(access.class))
    }

    /// What the head of the queue waits for at tick `at`, whatever sequence is open.
    fn next_in_order(&self, ops: &[MemOp], mode: &CuMode, at: u64) -> Head {
        let Some(op) = self.queue.last() else { return Head::Waiting(Wait::Order) };
        let ready = |need| Head::Ready(need, Next::Head);
        match op {
            Op::Compute { unit, needs, .. } => self.after(needs, at, ready(Need::Unit(*unit as u8))),
            Op::Await { tokens } => self.after(tokens, at, ready(Need::None)),
            Op::Barrier if self.ops.iter().any(|&i| ops[i as usize].kind != MemKind::Dma) => {
                Head::Waiting(Wait::Order)
            }
            Op::End if !self.ops.is_empty() => Head::Waiting(Wait::End),
            Op::Barrier | Op::End => ready(Need::None),
            Op::Map { .. } => match self.ops.iter().find(|&&i| ops[i as usize].kind == MemKind::Lds) {
                Some(&op) => Head::Waiting(Wait::Word(op)),
                None => ready(Need::None),
            },
            Op::LdsLoad { .. } | Op::StashLoad { .. } => ready(Need::Lsu),
            Op::StashStore { values, .. } => {
                let unread = |i: &&u32| {
                    ops[**i as usize].kind == MemKind::Stash && ops[**i as usize].token().is_some()
                };
                match self.ops.iter().find(unread) {
                    Some(&op) => Head::Waiting(Wait::Word(op)),
                    None => self.after(source(values), at, ready(Need::Lsu)),
                }
            }
            Op::LdsStore { values, .. } | Op::LdsAmo { values, .. } => {
                self.after(source(values), at, ready(Need::Lsu))
            }
            Op::Load { access, .. } => self.access(ops, mode, access, Sem::Acquire, MemKind::Load, false),
            Op::Store { access, values } => match self.after(source(values), at, ready(Need::Lsu)) {
                Head::Ready(..) => self.access(ops, mode, access, Sem::Release, MemKind::Store, false),
                wait => wait,
            },
            Op::Amo { access, values, ret, .. } => match self.after(source(values), at, ready(Need::Lsu)) {
                Head::Ready(..) => self.access(ops, mode, access, Sem::AcquireRelease, MemKind::Amo, *ret),
                wait => wait,
            },
            Op::Fence { sem, scope } => self.fence(mode, *sem, *scope),
        }
    }

    /// `then`, or what the tokens wait for.
    fn after(&self, tokens: &[Token], at: u64, then: Head) -> Head {
        let due = tokens.iter().map(|&t| self.due(t)).max().unwrap_or(0);
        match due {
            PENDING => Head::Waiting(Wait::Data),
            due if due > at => Head::At(due),
            _ => then,
        }
    }

    fn fence(&self, mode: &CuMode, sem: Sem, scope: Scope) -> Head {
        if !self.ops.is_empty() {
            return Head::Waiting(Wait::Order);
        }
        let scope = sent_scope(mode, scope);
        match sem {
            _ if scope == Scope::Cu => Head::Ready(Need::None, Next::Head),
            Sem::Relaxed => Head::Ready(Need::None, Next::Head),
            Sem::Acquire => Head::Ready(Need::Lsu, Next::Acquire(scope)),
            Sem::Release | Sem::AcquireRelease => Head::Ready(Need::Lsu, Next::Release(scope)),
        }
    }

    /// The table of section 1.3. `own` is the ordering of a paired access of this kind.
    fn access(
        &self,
        ops: &[MemOp],
        mode: &CuMode,
        access: &Access,
        own: Sem,
        kind: MemKind,
        ret: bool,
    ) -> Head {
        let class = mode.effective(access.class);
        if (mode.model == Model::Sc || class == Class::P) && !self.ops.is_empty() {
            return Head::Waiting(Wait::Order);
        }
        if class == Class::U && self.unpaired > 0 {
            return Head::Waiting(Wait::Order);
        }
        if class != Class::D && !mode.fused && !self.released && access.mask != 0 {
            let releases = matches!(paired_sem(access, own), Sem::Release | Sem::AcquireRelease);
            let scope =
                if class == Class::P && releases { sent_scope(mode, access.scope) } else { Scope::Cu };
            let scope = scope.max(self.posted);
            if scope != Scope::Cu {
                return Head::Ready(Need::Lsu, Next::Release(scope));
            }
        }
        let commutes = class == Class::C && kind == MemKind::Amo && !ret;
        if !self.ops.is_empty() && (self.writes > 0 || kind != MemKind::Load) {
            let (low, high) = byte_range(access);
            let clash = |&i: &u32| ops[i as usize].clashes(access, kind, commutes, low, high);
            if let Some(&op) = self.ops.iter().find(|op| clash(op)) {
                return Head::Waiting(Wait::Word(op));
            }
        }
        Head::Ready(Need::Lsu, Next::Head)
    }
}

/// Ordering of a paired access: as the program says, or the default of its kind.
pub(super) fn paired_sem(access: &Access, own: Sem) -> Sem {
    if access.class == Class::P && access.sem != Sem::Relaxed { access.sem } else { own }
}

/// Scope of a release or acquire under the run's rules.
pub(super) fn sent_scope(mode: &CuMode, scope: Scope) -> Scope {
    if mode.scopes { scope } else { Scope::Sys }
}

/// Tokens whose values an operation stores.
pub(super) fn source(values: &Values) -> &[Token] {
    match values {
        Values::Token(token) => std::slice::from_ref(token),
        _ => &[],
    }
}

/// Operand of a lane.
#[inline]
pub(super) fn operand(source: &Values, values: &LoadedValues, lane: u32) -> u64 {
    match source {
        Values::Const(v) => *v,
        Values::Lanes(list) => list.get(lane as usize).copied().unwrap_or(0),
        Values::Token(token) => values.lane(*token, lane),
    }
}

/// Lowest and highest byte address of the active lanes; (max, 0) when there is none.
pub(super) fn byte_range(access: &Access) -> (u64, u64) {
    let last = u64::from(access.size) - 1;
    if let weft_workload::Addrs::Strided { .. } = access.addrs
        && access.mask != 0
    {
        let a = access.addrs.at(access.mask.trailing_zeros());
        let b = access.addrs.at(63 - access.mask.leading_zeros());
        return (a.min(b), a.max(b) + last);
    }
    lanes_of(access.mask)
        .map(|lane| access.addrs.at(lane))
        .fold((u64::MAX, 0), |(low, high), addr| (low.min(addr), high.max(addr + last)))
}

/// First lane address that is no multiple of the size, if any; the size itself must be 1, 2, 4 or 8.
pub(super) fn unaligned(size: u8, addrs: &weft_workload::Addrs, mask: u64) -> Option<u64> {
    let legal = matches!(size, 1 | 2 | 4 | 8);
    let low = if legal { u64::from(size) - 1 } else { size_mask(8) };
    if let (true, weft_workload::Addrs::Strided { base, stride }) = (legal, addrs)
        && (*base | *stride as u64) & low == 0
    {
        return None;
    }
    lanes_of(mask).map(|lane| addrs.at(lane)).find(|addr| !legal || addr & low != 0)
}

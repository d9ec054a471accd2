//! One round of a wave whose threads run in lockstep: equal slots of different lanes become one operation.

use super::common::{ALU_LATENCY, active, arithmetic, lane_value};
use crate::op::{
    Access, Addrs, AmoKind, Class, Hint, LaneMask, LdsAccess, Op, Scope, Sem, Token, Unit, Values,
};

/// How an atomic access is ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// Paired, or unpaired.
    pub class: Class,
    /// What it orders if it is paired.
    pub sem: Sem,
    /// How far.
    pub scope: Scope,
    /// Remote scope promotion.
    pub remote: bool,
}

impl Order {
    /// Paired.
    pub const fn paired(sem: Sem, scope: Scope) -> Self {
        Self { class: Class::P, sem, scope, remote: false }
    }

    /// Of a class that orders nothing, or no data.
    pub const fn relaxed(class: Class, scope: Scope) -> Self {
        Self { class, sem: Sem::Relaxed, scope, remote: false }
    }
}

/// What an atomic access does to its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomic {
    /// Loads it.
    Load,
    /// Stores the operand.
    Store,
    /// Read-modify-write; a compare-and-swap's expected old value.
    Amo(AmoKind, u64),
}

/// Kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Ordered { size: u8, what: Atomic, order: Order },
    Posted { kind: AmoKind, order: Order },
    Load { size: u8, read_only: bool },
    Store { size: u8 },
    Amo { size: u8, kind: AmoKind, class: Class, scope: Scope, ret: bool },
    FlagLoad { scope: Scope },
    FlagStore { scope: Scope },
    LdsLoad,
    LdsStore,
    LdsAmo { kind: AmoKind },
}

struct Lanes {
    slot: Token,
    what: What,
    hint: Hint,
    mask: LaneMask,
    addrs: Vec<u64>,
    values: Vec<u64>,
}

/// Token of a pause; slots are below it.
const PAUSE: Token = 255;

/// Collects what the threads of a wave do in a round. Operations issue in the order in which the threads ask for them.
pub struct Round {
    lanes: usize,
    lane: usize,
    /// Where the next operation of this lane probably is.
    cursor: usize,
    list: Vec<Lanes>,
    hint: Hint,
    alu: u64,
    sfu: u64,
    pause: u32,
    failed: u64,
    /// Posted atomics of earlier rounds that the wave awaits.
    settled: Vec<Token>,
}

impl Round {
    /// What follows is of this lane.
    pub(super) fn begin(&mut self, lane: usize) {
        (self.lane, self.cursor, self.hint) = (lane, 0, Hint::default());
    }

    pub(super) fn new(lanes: u32) -> Self {
        Self {
            lanes: lanes as usize,
            lane: 0,
            cursor: 0,
            list: vec![],
            hint: Hint::default(),
            alu: 0,
            sfu: 0,
            pause: 0,
            failed: 0,
            settled: vec![],
        }
    }

    fn add(&mut self, slot: u64, what: What, addr: u64, value: u64) {
        let (slot, hint) = (slot as Token, self.hint);
        let is = |l: &Lanes| l.slot == slot && l.what == what && l.hint == hint;
        let at = match self.list.get(self.cursor) {
            Some(l) if is(l) => Some(self.cursor),
            _ => self.list.iter().position(is),
        };
        let at = at.unwrap_or_else(|| {
            let none = vec![0; self.lanes];
            self.list.push(Lanes { slot, what, hint, mask: 0, addrs: none.clone(), values: none });
            self.list.len() - 1
        });
        let lanes = &mut self.list[at];
        debug_assert!(slot < PAUSE && lanes.mask >> self.lane & 1 == 0, "slot {slot} twice in one round");
        lanes.mask |= 1 << self.lane;
        lanes.addrs[self.lane] = addr;
        lanes.values[self.lane] = value;
        self.cursor = at + 1;
    }

    /// Gives the lane's memory accesses that follow in this round a hint.
    pub fn hint(&mut self, hint: Hint) {
        self.hint = hint;
    }

    /// Loads a 4-byte word that no thread writes during the kernel.
    pub fn read(&mut self, slot: u64, addr: u64) {
        self.add(slot, What::Load { size: 4, read_only: true }, addr, 0);
    }

    /// Loads a 4-byte word.
    pub fn load(&mut self, slot: u64, addr: u64) {
        self.add(slot, What::Load { size: 4, read_only: false }, addr, 0);
    }

    /// Loads a byte that no thread writes during the kernel.
    pub fn read_byte(&mut self, slot: u64, addr: u64) {
        self.add(slot, What::Load { size: 1, read_only: true }, addr, 0);
    }

    /// Loads an 8-byte word that no thread writes during the kernel.
    pub fn read_wide(&mut self, slot: u64, addr: u64) {
        self.add(slot, What::Load { size: 8, read_only: true }, addr, 0);
    }

    /// Loads an 8-byte word.
    pub fn load_wide(&mut self, slot: u64, addr: u64) {
        self.add(slot, What::Load { size: 8, read_only: false }, addr, 0);
    }

    /// Stores a 4-byte word.
    pub fn store(&mut self, slot: u64, addr: u64, value: u64) {
        self.add(slot, What::Store { size: 4 }, addr, value);
    }

    /// Stores a single-precision number.
    pub fn put(&mut self, slot: u64, addr: u64, value: f32) {
        self.store(slot, addr, lane_value(value));
    }

    /// Stores an 8-byte word.
    pub fn store_wide(&mut self, slot: u64, addr: u64, value: u64) {
        self.add(slot, What::Store { size: 8 }, addr, value);
    }

    /// Commutative atomic without result on a word of `size` bytes.
    pub fn reduce(&mut self, slot: u64, kind: AmoKind, size: u8, addr: u64, value: u64, scope: Scope) {
        self.add(slot, What::Amo { size, kind, class: Class::C, scope, ret: false }, addr, value);
    }

    /// Paired atomic, release and acquire, on a 4-byte word; the old value is there in the next round.
    pub fn arrive(&mut self, slot: u64, kind: AmoKind, addr: u64, value: u64, scope: Scope) {
        self.add(slot, What::Amo { size: 4, kind, class: Class::P, scope, ret: true }, addr, value);
    }

    /// Loads a 4-byte flag and acquires.
    pub fn acquire(&mut self, slot: u64, addr: u64, scope: Scope) {
        self.add(slot, What::FlagLoad { scope }, addr, 0);
    }

    /// Releases and stores a 4-byte flag.
    pub fn release(&mut self, slot: u64, addr: u64, value: u64, scope: Scope) {
        self.add(slot, What::FlagStore { scope }, addr, value);
    }

    /// Atomic access to a word of `size` bytes with an order of its own; what it loads is there in the next round.
    pub fn atomic(&mut self, slot: u64, what: Atomic, size: u8, order: Order, addr: u64, value: u64) {
        self.add(slot, What::Ordered { size, what, order }, addr, value);
    }

    /// Read-modify-write of a 4-byte word whose old value nobody wants and whose end the wave does not await: the slot is used again only
    /// after a barrier or after [`Round::settle`].
    pub fn post(&mut self, slot: u64, kind: AmoKind, order: Order, addr: u64, value: u64) {
        self.add(slot, What::Posted { kind, order }, addr, value);
    }

    /// Awaits in this round what earlier rounds have posted in the slot.
    pub fn settle(&mut self, slot: u64) {
        let slot = slot as Token;
        if !self.settled.contains(&slot) {
            self.settled.push(slot);
        }
    }

    /// Loads a 4-byte word of the scratchpad.
    pub fn lds_load(&mut self, slot: u64, addr: u64) {
        self.add(slot, What::LdsLoad, addr, 0);
    }

    /// Stores a 4-byte word in the scratchpad.
    pub fn lds_store(&mut self, slot: u64, addr: u64, value: u64) {
        self.add(slot, What::LdsStore, addr, value);
    }

    /// Read-modify-write of a 4-byte word of the scratchpad; the old value is there in the next round.
    pub fn lds_amo(&mut self, slot: u64, kind: AmoKind, addr: u64, value: u64) {
        self.add(slot, What::LdsAmo { kind }, addr, value);
    }

    /// Takes the time of `count` dependent arithmetic instructions before this round's memory operations.
    pub fn alu(&mut self, count: u64) {
        self.alu = self.alu.max(count);
    }

    /// Takes the time of `count` divisions or roots before this round's memory operations.
    pub fn sfu(&mut self, count: u64) {
        self.sfu = self.sfu.max(count);
    }

    /// Waits so many ticks before this round's memory operations.
    pub fn pause(&mut self, ticks: u64) {
        self.pause = self.pause.max(ticks as u32);
    }

    /// The lane has found that its last attempt to take a lock, or to be let in, failed.
    pub fn fail(&mut self) {
        self.failed += 1;
    }

    /// How many lanes have.
    pub(super) fn failed(&self) -> u64 {
        self.failed
    }

    /// The operations, and the tokens that the wave awaits.
    pub(super) fn finish(self) -> (Vec<Op>, Vec<Token>) {
        let mut ops = Vec::with_capacity(self.list.len() + 4);
        let mut tokens = self.settled;
        if self.pause > 0 {
            let (unit, latency, token) = (Unit::Mem, self.pause, Some(PAUSE));
            ops.push(Op::Compute { unit, latency, occupancy: 1, needs: vec![], token });
            ops.push(Op::Await { tokens: vec![PAUSE] });
        }
        for _ in 0..self.sfu {
            let (unit, latency, occupancy) = (Unit::Sfu, 4 * ALU_LATENCY, 4 * ALU_LATENCY);
            ops.push(Op::Compute { unit, latency, occupancy, needs: vec![], token: None });
        }
        arithmetic(&mut ops, self.alu);
        for l in self.list {
            if l.what.has_result() {
                tokens.push(l.slot);
            }
            ops.push(l.op());
        }
        (ops, tokens)
    }
}

impl What {
    fn has_result(self) -> bool {
        let store = matches!(self, What::Ordered { what: Atomic::Store, .. });
        let awaited = !matches!(
            self,
            What::Store { .. } | What::FlagStore { .. } | What::LdsStore | What::Posted { .. }
        );
        !store && awaited
    }
}

impl Lanes {
    fn op(self) -> Op {
        let hint = self.hint.bits();
        let mut op = self.unhinted();
        if let Op::Load { access, .. } | Op::Store { access, .. } | Op::Amo { access, .. } = &mut op {
            access.hint = hint;
        }
        op
    }

    fn unhinted(self) -> Op {
        let (token, mask) = (self.slot, self.mask);
        let addrs = strided(&self.addrs, mask).unwrap_or(Addrs::Lanes(self.addrs));
        let values = Values::Lanes(self.values);
        let paired = |scope, addrs| Access { class: Class::P, scope, ..Access::data(4, addrs, mask) };
        match self.what {
            What::Load { size, read_only } => {
                Op::Load { token, access: Access { read_only, ..Access::data(size, addrs, mask) } }
            }
            What::Store { size } => Op::Store { access: Access::data(size, addrs, mask), values },
            What::Amo { size, kind, class, scope, ret } => {
                let access = Access { class, scope, ..Access::data(size, addrs, mask) };
                Op::Amo { token, access, kind, signed: false, values, compare: 0, ret }
            }
            What::FlagLoad { scope } => Op::Load { token, access: paired(scope, addrs) },
            What::FlagStore { scope } => Op::Store { access: paired(scope, addrs), values },
            What::Ordered { size, what, order } => {
                let Order { class, sem, scope, remote } = order;
                let access = Access { class, sem, scope, remote, ..Access::data(size, addrs, mask) };
                match what {
                    Atomic::Load => Op::Load { token, access },
                    Atomic::Store => Op::Store { access, values },
                    Atomic::Amo(kind, compare) => {
                        Op::Amo { token, access, kind, signed: false, values, compare, ret: true }
                    }
                }
            }
            What::Posted { kind, order } => {
                let Order { class, sem, scope, remote } = order;
                let access = Access { class, sem, scope, remote, ..Access::data(4, addrs, mask) };
                Op::Amo { token, access, kind, signed: false, values, compare: 0, ret: false }
            }
            What::LdsLoad => Op::LdsLoad { token, access: LdsAccess { size: 4, addrs, mask } },
            What::LdsStore => Op::LdsStore { access: LdsAccess { size: 4, addrs, mask }, values },
            What::LdsAmo { kind } => {
                let access = LdsAccess { size: 4, addrs, mask };
                Op::LdsAmo { token, access, kind, signed: false, values, compare: 0 }
            }
        }
    }
}

/// The addresses as base and stride, if they are so.
fn strided(addrs: &[u64], mask: LaneMask) -> Option<Addrs> {
    let mut lanes = active(mask);
    let first = lanes.next()?;
    let stride = match lanes.next() {
        None => 0,
        Some(second) => {
            let (step, count) = (addrs[second].wrapping_sub(addrs[first]) as i64, (second - first) as i64);
            (step % count == 0).then_some(step / count)?
        }
    };
    let base = addrs[first].wrapping_sub((stride * first as i64) as u64);
    let all = Addrs::Strided { base, stride };
    active(mask).all(|lane| all.at(lane as u32) == addrs[lane]).then_some(all)
}

//! Wavefronts that share locks, data and counters with one another and with other devices, and check every value as far as a program without data races may.

use crate::words::{LINE, OPS, cu_op, result};
use rand::Rng;
use rand::rngs::SmallRng;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use weft_bench::Msg;
use weft_blocks::msg::{CuOp, CuReq, Sys};
use weft_rtl::bv::Bv;
use weft_spandex::msg::WordOp;

pub const RLX: u64 = 0;
pub const ACQ: u64 = 1;
pub const REL: u64 = 2;
pub const AR: u64 = 3;

/// The lock of CU scope.
pub const HERE: usize = 2;

/// Lines of data.
pub const DATA: std::ops::Range<u64> = 0x40..0x46;

/// What a wavefront asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Bytes of a line.
    Load(u64, u64),
    /// Bytes of a line, their values, to be acknowledged.
    Store(u64, u64, Vec<u8>, bool),
    /// Words of a line (bytes): operation, operand, comparand, order.
    Sync(WordOp, u64, u64, u32, u32, u64),
    /// A word, by its address, of CU scope, which orders nothing beyond the L1.
    Here(WordOp, u64, u32, u32),
    /// Bytes of a line of a read-only region.
    Region(u64, u64),
    Acquire,
    Release,
    Begin,
    End,
}

/// The bytes of a word in its line.
pub fn mask_at(addr: u64) -> u64 {
    0xf << (addr % LINE)
}

/// A store of a word.
pub fn store(addr: u64, value: u32, ack: bool) -> Ask {
    Ask::Store(addr / LINE, mask_at(addr), bytes_with(mask_at(addr), value), ack)
}

/// A load of a word.
pub fn load(addr: u64) -> Ask {
    Ask::Load(addr / LINE, mask_at(addr))
}

/// An atomic on a word, with an order.
pub fn sync(op: WordOp, addr: u64, opnd: u32, cmp: u32, sem: u64) -> Ask {
    Ask::Sync(op, addr / LINE, mask_at(addr), opnd, cmp, sem)
}

/// A line with a value in the words of a mask, and something else beside them.
fn bytes_with(mask: u64, value: u32) -> Vec<u8> {
    let byte = |i: u64| if mask >> i & 1 == 1 { value.to_le_bytes()[(i % 4) as usize] } else { 0x5a };
    (0..LINE).map(byte).collect()
}

fn line_data(bytes: &[u8]) -> Bv {
    let limb = |c: &[u8]| u64::from_le_bytes(c.try_into().expect("8 bytes"));
    Bv::from_limbs(&bytes.chunks(8).map(limb).collect::<Vec<u64>>(), 8 * LINE as u32)
}

/// The request with this number; `more`: what only some L1s look at, and the order of atomics.
pub fn message(cu: &Sys, id: u64, ask: &Ask, more: &[(&str, u64)]) -> Msg {
    let msg = |op: CuOp, fields: &[(&str, u64)]| {
        let plain = [("id", id), ("op", op as u64), ("sync", 0), ("class", 0), ("want_ack", 0)];
        let mut m = Msg::of::<CuReq>(cu, &plain);
        m.0.extend(Msg::of::<CuReq>(cu, &[more, fields].concat()).0);
        m
    };
    let atomic = |op: WordOp, (line, mask): (u64, u64), opnd: u32, cmp: u32, order: &[(&str, u64)]| {
        let (kind, amo, sgn) = cu_op(op);
        let fields = [
            ("class", 1),
            ("want_ack", 1),
            ("amo", amo as u64),
            ("sgn", u64::from(sgn)),
            ("cmp", u64::from(cmp)),
            ("line", line),
            ("mask", mask),
        ];
        msg(kind, &[&fields, order].concat()).with("data", line_data(&bytes_with(mask, opnd)))
    };
    match ask {
        Ask::Load(line, mask) => msg(CuOp::Ld, &[("line", *line), ("mask", *mask)]),
        Ask::Region(line, mask) => msg(CuOp::Ld, &[("line", *line), ("mask", *mask), ("region", 1)]),
        Ask::Store(line, mask, bytes, ack) => {
            let fields = [("line", *line), ("mask", *mask), ("want_ack", u64::from(*ack))];
            msg(CuOp::St, &fields).with("data", line_data(bytes))
        }
        Ask::Sync(op, line, mask, opnd, cmp, sem) => {
            atomic(*op, (*line, *mask), *opnd, *cmp, &[("sem", *sem)])
        }
        Ask::Here(op, addr, opnd, cmp) => atomic(*op, (addr / LINE, mask_at(*addr)), *opnd, *cmp, &[]),
        Ask::Acquire => msg(CuOp::Acq, &[]),
        Ask::Release => msg(CuOp::Rel, &[]),
        Ask::Begin => msg(CuOp::Kbegin, &[]),
        Ask::End => msg(CuOp::Kend, &[]),
    }
}

/// A lock with its data.
pub struct Lock {
    pub addr: u64,
    pub data: Vec<u64>,
    pub truth: u32,
}

impl Lock {
    /// A lock with a word of each line of data, but for its own.
    pub fn new(addr: u64, word: u64) -> Lock {
        let data = DATA.map(|line| line * LINE + 4 * word).filter(|a| *a != addr).collect();
        Lock { addr, data, truth: 0 }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Bytes of each line.
    Private(u64),
    Locker(usize),
    Reader,
    Counter,
    /// Atomics on word 2, which the wavefronts of a CU share.
    Shared,
}

/// A request that is not answered.
pub struct Open {
    pub id: u64,
    pub ask: Ask,
    since: u64,
    /// Bytes still to come, and those that came.
    pub left: u64,
    pub came: BTreeMap<u64, u8>,
}

/// A wavefront.
pub struct Wave {
    pub dev: usize,
    pub kind: Kind,
    pub plan: VecDeque<Ask>,
    holds: bool,
    pause: u64,
    pub open: Option<Open>,
    /// What it knows of bytes.
    pub bytes: BTreeMap<u64, u8>,
}

/// What differs between benches.
pub struct Style {
    /// Cycles after which something is not answered.
    pub patience: u64,
    /// What readers load of a line; never a lock's word, as loads of those synchronise.
    pub reads: &'static [u64],
    /// Something with the bytes that are a wavefront's alone.
    pub private: fn(&mut SmallRng, u64) -> Ask,
}

/// All of them.
pub struct Waves {
    style: Style,
    pub locks: Vec<Lock>,
    pub all: Vec<Wave>,
    /// What atomics of this CU have left in word 2 of each line.
    pub shared: BTreeMap<u64, u32>,
    counted: BTreeSet<(u64, u32)>,
    /// Additions to counters.
    pub added: BTreeMap<u64, u32>,
    pub replies: u64,
    /// They ask no more.
    pub stopped: bool,
    next_id: u64,
}

impl Waves {
    pub fn new(style: Style, locks: Vec<Lock>) -> Waves {
        Waves {
            style,
            locks,
            all: Vec::new(),
            shared: BTreeMap::new(),
            counted: BTreeSet::new(),
            added: BTreeMap::new(),
            replies: 0,
            stopped: false,
            next_id: 0,
        }
    }

    /// More wavefronts, of a device.
    pub fn start(&mut self, dev: usize, kinds: &[Kind]) {
        self.all.extend(kinds.iter().map(|kind| Wave {
            dev,
            kind: *kind,
            plan: VecDeque::new(),
            holds: false,
            pause: 0,
            open: None,
            bytes: BTreeMap::new(),
        }));
    }

    /// Number of a new request.
    pub fn id(&mut self) -> u64 {
        let id = self.next_id;
        self.next_id = (id + 1) % 4096;
        id
    }

    /// What a wavefront that waits for nothing asks now, if anything; `full`: it cannot.
    pub fn next(&mut self, at: usize, full: bool, now: u64, rng: &mut SmallRng) -> Option<Ask> {
        let wave = &self.all[at];
        if let Some(Open { ask, since, .. }) = &wave.open {
            let waits = now - since;
            let dev = wave.dev;
            assert!(waits < self.style.patience, "{ask:x?} of wavefront {at}, device {dev}, is not answered");
        }
        let ready = !full && !self.stopped && wave.open.is_none() && wave.pause <= now;
        if !ready || !rng.random_bool(0.3) {
            return None;
        }
        if wave.plan.is_empty() {
            self.think(at, rng);
        }
        self.all[at].plan.pop_front()
    }

    /// A wavefront's request is sent; its number.
    pub fn sends(&mut self, at: usize, ask: &Ask, now: u64) -> u64 {
        let wave = &mut self.all[at];
        if let (Ask::Sync(..) | Ask::Here(..), Kind::Locker(lock), true) = (ask, wave.kind, wave.holds) {
            // It gives the lock away: whoever takes it next finds what it has written.
            self.locks[lock].truth += 1;
        }
        if let Ask::Store(line, mask, bytes, _) = ask {
            let stored = (0..LINE).filter(|i| mask >> i & 1 == 1);
            wave.bytes.extend(stored.map(|i| (line * LINE + i, bytes[i as usize])));
        }
        let id = self.id();
        let left = match ask {
            Ask::Store(_, _, _, false) => return id,
            Ask::Load(_, mask) | Ask::Region(_, mask) | Ask::Sync(_, _, mask, ..) => *mask,
            _ => 0,
        };
        self.all[at].open = Some(Open { id, ask: ask.clone(), since: now, left, came: BTreeMap::new() });
        id
    }

    /// What a wavefront does next.
    fn think(&mut self, at: usize, rng: &mut SmallRng) {
        let line = rng.random_range(DATA);
        let plan = match self.all[at].kind {
            Kind::Private(mine) => vec![(self.style.private)(rng, mine)],
            Kind::Reader => {
                vec![Ask::Load(line, self.style.reads[rng.random_range(0..self.style.reads.len())])]
            }
            Kind::Counter => {
                let sem = [RLX, RLX, RLX, ACQ, REL][rng.random_range(0..5)];
                vec![sync(WordOp::Add, line * LINE + 24, 1, 0, sem)]
            }
            Kind::Shared => vec![self.share(line * LINE + 8, rng)],
            Kind::Locker(lock) if self.all[at].holds => self.critical(lock, rng),
            Kind::Locker(HERE) => vec![Ask::Here(WordOp::Cas, self.locks[HERE].addr, 1, 0)],
            Kind::Locker(lock) => {
                let addr = self.locks[lock].addr;
                let paired = rng.random_bool(0.7);
                let sem = if paired { [ACQ, AR][rng.random_range(0..2)] } else { RLX };
                let cas = sync(WordOp::Cas, addr, 1, 0, sem);
                if paired { vec![cas] } else { vec![cas, Ask::Acquire] }
            }
        };
        self.all[at].plan = plan.into();
    }

    /// An atomic on a word that the wavefronts of this CU share. Those of wider scope may overtake one another: one at a time.
    fn share(&self, addr: u64, rng: &mut SmallRng) -> Ask {
        let here = (addr / LINE, mask_at(addr));
        let wide = |w: &Wave| {
            let ask = w.open.as_ref().map(|open| &open.ask);
            matches!(ask, Some(Ask::Sync(_, line, mask, ..)) if (*line, *mask) == here)
        };
        let alone = !self.all.iter().any(wide);
        let amo = OPS[rng.random_range(0..OPS.len())];
        let amo = if matches!(amo, WordOp::Merge | WordOp::Read) { WordOp::Cas } else { amo };
        let (opnd, cmp) = (rng.random_range(0..4), rng.random_range(0..4));
        let sem = [RLX, ACQ, REL, AR][rng.random_range(0..4)];
        match rng.random_range(0..10) {
            0 if alone => sync(amo, addr, opnd, cmp, sem),
            _ => Ask::Here(amo, addr, opnd, cmp),
        }
    }

    /// The holder of a lock reads some of its data, writes all of it, and releases.
    fn critical(&self, lock: usize, rng: &mut SmallRng) -> Vec<Ask> {
        let Lock { addr, data, truth } = &self.locks[lock];
        let mut plan: Vec<Ask> = data.iter().filter(|_| rng.random_bool(0.6)).map(|a| load(*a)).collect();
        for a in data {
            let mask = mask_at(*a);
            let parts =
                if rng.random_bool(0.15) { vec![mask & 0x3333_3333, mask & 0xcccc_cccc] } else { vec![mask] };
            let bytes = bytes_with(mask, truth + 1);
            plan.extend(parts.into_iter().map(|mask| Ask::Store(a / LINE, mask, bytes.clone(), false)));
            if rng.random_bool(0.3) {
                plan.push(load(*a));
            }
        }
        if lock == HERE {
            plan.push(Ask::Here([WordOp::Write, WordOp::Exch][rng.random_range(0..2)], *addr, 0, 0));
            return plan;
        }
        match rng.random_range(0..3) {
            0 => plan.push(sync(WordOp::Write, *addr, 0, 0, REL)),
            1 => plan.push(sync(WordOp::Exch, *addr, 0, 0, AR)),
            _ => plan.extend([Ask::Release, sync(WordOp::Write, *addr, 0, 0, RLX)]),
        }
        plan
    }

    /// The wavefront that waits for an answer.
    pub fn waits_for(&self, id: u64) -> usize {
        let open = |w: &Wave| w.open.as_ref().is_some_and(|o| o.id == id);
        self.all.iter().position(open).unwrap_or_else(|| panic!("answer {id} was not asked for"))
    }

    /// Bytes that a load has brought are as the wavefront knows them.
    pub fn loaded(&self, at: usize, came: impl IntoIterator<Item = (u64, u8)>) {
        let wave = &self.all[at];
        for (addr, byte) in came {
            let expected = match wave.kind {
                Kind::Private(_) => wave.bytes.get(&addr).copied().unwrap_or(0),
                Kind::Locker(lock) => {
                    let own = wave.bytes.get(&addr).copied();
                    own.unwrap_or(self.locks[lock].truth.to_le_bytes()[(addr % 4) as usize])
                }
                _ => continue,
            };
            let Wave { dev, kind, .. } = wave;
            assert_eq!(byte, expected, "byte {addr:#x} of wavefront {at}, device {dev}, {kind:?}");
        }
    }

    /// An atomic has found what it may find; the lock that is taken by it.
    pub fn synced(
        &mut self,
        at: usize,
        (op, addr, opnd, cmp): (WordOp, u64, u32, u32),
        old: Option<u32>,
        (now, rng): (u64, &mut SmallRng),
    ) -> Option<usize> {
        let pause = rng.random_range(0..80);
        let wave = &mut self.all[at];
        match wave.kind {
            Kind::Private(_) => {
                let before = (0..4).map(|i| wave.bytes.get(&(addr + i)).copied().unwrap_or(0));
                let before = before.rev().fold(0, |v, b| v << 8 | u32::from(b));
                let dev = wave.dev;
                old.iter().for_each(|old| {
                    assert_eq!(*old, before, "{op:?} of {addr:#x} by wavefront {at}, device {dev}")
                });
                let after = result(op, before, opnd, cmp, 0).to_le_bytes();
                wave.bytes.extend((0..4).map(|i| (addr + i, after[i as usize])));
            }
            Kind::Locker(lock) if wave.holds => {
                assert!(old.is_none_or(|old| old == 1), "lock {lock} was taken from its holder: {old:?}");
                (wave.holds, wave.pause) = (false, now + pause);
                wave.bytes.clear();
            }
            Kind::Locker(lock) => {
                wave.holds = old == Some(0);
                wave.pause = if wave.holds { 0 } else { now + pause };
                if wave.holds {
                    return Some(lock);
                }
                wave.plan.clear();
            }
            Kind::Counter => {
                let sum = old.expect("a sum");
                assert!(self.counted.insert((addr, sum)), "two additions saw the same sum at {addr:#x}");
                *self.added.entry(addr).or_default() += 1;
            }
            Kind::Shared => {
                let before = self.shared.get(&addr).copied().unwrap_or(0);
                old.iter().for_each(|old| assert_eq!(*old, before, "{op:?} of {addr:#x} in this CU"));
                self.shared.insert(addr, result(op, before, opnd, cmp, 0));
            }
            Kind::Reader => assert!(self.stopped, "a reader does not synchronise"),
        }
        None
    }

    /// Somebody of this CU holds the lock.
    pub fn holds(&self, lock: usize) -> bool {
        self.all.iter().any(|w| w.holds && w.kind == Kind::Locker(lock))
    }

    /// Nobody waits for an answer.
    pub fn answered(&self) -> bool {
        self.all.iter().all(|w| w.open.is_none())
    }
}

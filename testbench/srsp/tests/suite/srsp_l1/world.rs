//! One L1 with everything around it: wavefronts that share locks and data with one another and with other CUs, and check every value.
//!
//! | lock | owner | others | data |
//! | --- | --- | --- | --- |
//! | `HERE` | wavefronts of this CU, at work-group scope | CU 3, played by the bench, by remote operations | words that all hold the same number |
//! | `THERE` | CU 2, played by the bench, in its own L1 | a wavefront of this CU, by remote operations (in BASE at GPU scope) | the same |
//! | `GPU` | nobody: GPU scope | the bench | the same |
//!
//! Who holds a lock finds the number of its data as the last holder left it, and leaves the next one. Other wavefronts work on words of their own and know every value.

use crate::srsp_l1::memory::{Access, LINE, Memory, OTHER};
use rand::Rng;
use std::collections::BTreeMap;
use weft_blocks::msg::{AmoOp, CuOp, CuReq, CuRsp};
use weft_rtl::bv::Bv;
use weft_srsp::l1::{L1Params, srsp_l1};
use weft_srsp::msg::{Cast, Pack, Probe, ProbeOp, Req, Rsp, SyncOp, Wb};
use weft_srsp::params::{Impl, Srsp};
use weft_srsp_bench::bench::{Bench, Msg};

/// Number of the L1 under test.
pub const OWN: u64 = 1;
/// The owner of `THERE`.
pub const OWNER: u64 = 2;

pub const HERE: usize = 0;
pub const THERE: usize = 1;
pub const GPU: usize = 2;

pub const RLX: u64 = 0;
pub const ACQ: u64 = 1;
pub const REL: u64 = 2;
pub const AR: u64 = 3;

/// What a wavefront asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    Load(u64),
    Store(u64, u64, bool),
    Sync(Access, u64, u64, bool),
    Fence { acquire: bool, scope: u64 },
    Begin,
    End,
}

/// An access of 4 bytes at a scope.
pub fn sync(op: SyncOp, addr: u64, opnd: u64, cmp: u64, sem: u64, scope: u64, remote: bool) -> Ask {
    Ask::Sync(Access { op, wide: false, addr, opnd, cmp }, sem, scope, remote)
}

/// A lock with its data.
pub struct Lock {
    pub addr: u64,
    pub data: Vec<u64>,
    pub truth: u64,
}

impl Lock {
    fn check(&self, memory: &Memory, who: &str) {
        for addr in &self.data {
            assert_eq!(memory.word(*addr, 4), self.truth, "{who} reads old data at {addr:#x}");
        }
    }
}

/// The owner of `THERE`, in its own L1: what it has not written back.
#[derive(Default, Debug)]
struct Owner {
    /// Its copy of the lock, and whether it is dirty.
    cached: Option<(u64, bool)>,
    dirty: Option<u64>,
    released: bool,
    promoted: bool,
    gated: bool,
    holds: bool,
}

/// CU 3, at a remote operation on `HERE`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Remote {
    Idle,
    Acquire(u8),
    Holds(u64),
    Release(u8),
    /// A probe of another address, under the lock of its line.
    Stray(u64),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WaveKind {
    /// A lock, its scope, remote.
    Locker(usize, u64, bool),
    Private,
    /// Loads words of a lock's data without the lock: what they bring in may be old.
    Reader(usize),
}

struct Wave {
    kind: WaveKind,
    step: usize,
    pause: u64,
    open: Option<(u64, Ask)>,
    words: BTreeMap<u64, u64>,
}

/// A run.
pub struct World {
    pub b: Bench,
    pub p: L1Params,
    pub memory: Memory,
    pub locks: Vec<Lock>,
    waves: Vec<Wave>,
    owner: Owner,
    remote: Remote,
    packs: Vec<(u64, Msg)>,
    /// Probes sent to the L1 and not acknowledged.
    pub probed: Vec<(ProbeOp, u64)>,
    /// PACKs of the L1 not yet looked at.
    pub acks: Vec<bool>,
    pub casts: Vec<(u64, u64, u64)>,
    next_id: u64,
    /// Times each lock was taken by this CU, by others.
    pub taken: [[u64; 2]; 3],
    pub replies: u64,
    last: u64,
    /// What happens by itself.
    pub others: bool,
    /// CU 3 probes other addresses too.
    pub stray: bool,
    /// PACKs to the L1 are held back.
    pub holds_packs: bool,
    pub issue: f64,
}

/// A small L1: 2 sets of 2 ways, short queues.
pub fn small(system: Impl) -> L1Params {
    let srsp = Srsp { cus: 4, addr_bits: 32, line: 64, banks: 2, mshrs: 3, wbt: 3 };
    L1Params {
        size: 256,
        ways: 2,
        latency: 3,
        sfifo: 4,
        pa: 2,
        aff: 8,
        targets: 3,
        sq: 2,
        ..L1Params::published(srsp, system)
    }
}

impl World {
    pub fn new(p: &L1Params, seed: u64) -> World {
        let mut b = Bench::new(&srsp_l1(p).expect("legal parameters"), seed);
        b.source::<CuReq>("cu_req", &p.srsp.cu());
        b.sink::<CuRsp>("cu_rsp", &p.srsp.cu());
        b.sink::<Req>("req", &p.srsp);
        b.sink::<Wb>("wb", &p.srsp);
        b.source::<Rsp>("rsp", &p.srsp);
        b.source::<Probe>("probe", &p.srsp);
        b.sink::<Cast>("probe_out", &p.srsp);
        b.source::<Pack>("pack", &p.srsp);
        b.sink::<Pack>("pack_out", &p.srsp);
        b.set("own", OWN);
        // Locks and data share lines with nothing but themselves, except that the first data word of HERE lies in the lock's own line.
        let lock = |base: u64, near: bool| {
            let data = (0..4).map(|i| base + 64 * (i + u64::from(!near)) + 4 * (i + 1)).collect();
            Lock { addr: base, data, truth: 0 }
        };
        World {
            memory: Memory::new(&p.srsp, OWN),
            p: p.clone(),
            b,
            locks: vec![lock(0x1000, true), lock(0x2000, false), lock(0x3000, false)],
            waves: Vec::new(),
            owner: Owner::default(),
            remote: Remote::Idle,
            packs: Vec::new(),
            probed: Vec::new(),
            acks: Vec::new(),
            casts: Vec::new(),
            next_id: 0,
            taken: [[0; 2]; 3],
            replies: 0,
            last: 0,
            others: true,
            stray: true,
            holds_packs: false,
            issue: 0.8,
        }
    }

    /// Wavefronts of the usual mix and random back-pressure.
    pub fn mixed(p: &L1Params, seed: u64) -> World {
        let mut w = World::new(p, seed);
        let remote = p.system != Impl::Base;
        let mut kinds = vec![
            WaveKind::Locker(HERE, 0, false),
            WaveKind::Locker(HERE, 0, false),
            WaveKind::Locker(THERE, 1, remote),
            WaveKind::Locker(GPU, 1, false),
        ];
        if p.system.locks_lines() {
            kinds.push(WaveKind::Locker(HERE, 1, true));
        }
        kinds.push(WaveKind::Reader(HERE));
        kinds.extend([WaveKind::Private; 4]);
        w.start(&kinds);
        for (sink, chance) in
            [("req", 0.6), ("wb", 0.6), ("probe_out", 0.5), ("pack_out", 0.5), ("cu_rsp", 0.9)]
        {
            w.b.sink_mut(sink).chance = chance;
        }
        w
    }

    /// Wavefronts that use `HERE`, or only read its data, and nothing else, so that old copies stay for long.
    pub fn focused(p: &L1Params, seed: u64) -> World {
        let mut w = World::new(p, seed);
        w.stray = false;
        w.start(&[
            WaveKind::Locker(HERE, 0, false),
            WaveKind::Locker(HERE, 0, false),
            WaveKind::Reader(HERE),
            WaveKind::Reader(HERE),
        ]);
        w
    }

    fn start(&mut self, kinds: &[WaveKind]) {
        let wave = |kind| Wave { kind, step: 0, pause: 0, open: None, words: BTreeMap::new() };
        self.waves = kinds.iter().map(|kind| wave(*kind)).collect();
    }

    pub fn now(&self) -> u64 {
        self.b.sim.cycle()
    }

    /// Sends a request of the CU; its number.
    pub fn ask(&mut self, ask: Ask) -> u64 {
        let id = self.next_id;
        self.next_id = (self.next_id + 1) % 4096;
        let msg = self.message(id, ask);
        self.b.send("cu_req", msg);
        id
    }

    fn message(&self, id: u64, ask: Ask) -> Msg {
        let cu = self.p.srsp.cu();
        let code = |op: CuOp| op as u64;
        let at = |addr: u64, size: u64| {
            let offset = addr % LINE;
            [("line", addr / LINE), ("mask", ((1 << size) - 1) << offset)]
        };
        let word = |addr: u64, value: u64| {
            let mut limbs = [0x5a5a_5a5a_5a5a_5a5a_u64; 8];
            let (limb, shift) = ((addr % LINE / 8) as usize, addr % 8 * 8);
            if shift == 0 {
                limbs[limb] = value;
            } else {
                limbs[limb] = (limbs[limb] & 0xffff_ffff) | (value << 32);
            }
            Bv::from_limbs(&limbs, 512)
        };
        let plain = [("id", id), ("sync", 0), ("class", 0), ("want_ack", 0)];
        match ask {
            Ask::Load(addr) => {
                let fields = [&plain[..], &at(addr, 4), &[("op", code(CuOp::Ld))]].concat();
                Msg::of::<CuReq>(&cu, &fields)
            }
            Ask::Store(addr, value, ack) => {
                let fields = [
                    &[
                        ("id", id),
                        ("sync", 0),
                        ("class", 0),
                        ("want_ack", u64::from(ack)),
                        ("op", code(CuOp::St)),
                    ][..],
                    &at(addr, 4),
                ]
                .concat();
                Msg::of::<CuReq>(&cu, &fields).with("data", word(addr, value))
            }
            Ask::Sync(a, sem, scope, remote) => {
                let (op, amo) = match a.op {
                    SyncOp::Ld => (CuOp::Ld, AmoOp::Add),
                    SyncOp::St => (CuOp::St, AmoOp::Add),
                    SyncOp::Add => (CuOp::Amo, AmoOp::Add),
                    SyncOp::Xor => (CuOp::Amo, AmoOp::Xor),
                    SyncOp::Max => (CuOp::Amo, AmoOp::Max),
                    SyncOp::Exch => (CuOp::Amo, AmoOp::Exch),
                    _ => (CuOp::Amo, AmoOp::Cas),
                };
                let size = if a.wide { 8 } else { 4 };
                let fields = [
                    &[
                        ("id", id),
                        ("op", code(op)),
                        // Of what orders nothing the class alone tells that it is an atomic.
                        ("sync", u64::from(sem != RLX || id.is_multiple_of(2))),
                        ("class", 1),
                        ("sem", sem),
                        ("scope", scope),
                        ("remote", u64::from(remote)),
                        ("want_ack", 1),
                        ("amo", amo as u64),
                        ("sgn", 0),
                        ("cmp", a.cmp),
                    ][..],
                    &at(a.addr, size),
                ]
                .concat();
                Msg::of::<CuReq>(&cu, &fields).with("data", word(a.addr, a.opnd))
            }
            Ask::Fence { acquire, scope } => {
                let op = code(if acquire { CuOp::Acq } else { CuOp::Rel });
                Msg::of::<CuReq>(&cu, &[("id", id), ("op", op), ("scope", scope)])
            }
            Ask::Begin => Msg::of::<CuReq>(&cu, &[("id", id), ("op", code(CuOp::Kbegin))]),
            Ask::End => Msg::of::<CuReq>(&cu, &[("id", id), ("op", code(CuOp::Kend))]),
        }
    }

    /// One cycle of everything.
    pub fn cycle(&mut self) {
        let now = self.now();
        if self.others {
            self.remote_step();
            self.owner_step();
            self.gpu_step();
        }
        self.issue();
        self.b.step();
        while let Some((_, m)) = self.b.received("req") {
            self.memory.request(m, now, &mut self.b.rng);
        }
        while let Some((_, m)) = self.b.received("wb") {
            self.memory.write(m, now, &mut self.b.rng);
        }
        self.memory.tick(now, &mut self.b.rng);
        if self.b.source_mut("rsp").queue.len() < 2
            && let Some(m) = self.memory.deliver(now, &mut self.b.rng)
        {
            self.b.send("rsp", m);
        }
        self.hub(now);
        while let Some((_, m)) = self.b.received("cu_rsp") {
            self.last = now;
            self.replies += 1;
            self.reply(&m);
        }
        assert!(now < self.last + 5_000, "nothing is answered any more: {:?}", self.open());
    }

    pub fn open(&self) -> Vec<Ask> {
        self.waves.iter().filter_map(|w| w.open.map(|o| o.1)).collect()
    }

    fn hub(&mut self, now: u64) {
        while let Some((_, m)) = self.b.received("probe_out") {
            let (op, addr, dst) = (m.get("probe_op"), m.get("probe_addr"), m.get("dst"));
            assert_eq!(m.get("probe_req"), OWN);
            assert_eq!(dst >> OWN & 1, 0, "an L1 does not probe itself");
            self.casts.push((op, addr, dst));
            for cu in (0..u64::from(self.p.srsp.cus)).filter(|cu| dst >> cu & 1 == 1) {
                let hit = cu == OWNER && self.probe_owner(op, addr);
                let fields = [("src", cu), ("dst", OWN), ("hit", u64::from(hit))];
                let due = now + self.b.rng.random_range(1..=self.memory.slow);
                self.packs.push((due, Msg::of::<Pack>(&self.p.srsp, &fields)));
            }
        }
        if let Some(at) = self.packs.iter().position(|p| p.0 <= now).filter(|_| !self.holds_packs) {
            let m = self.packs.swap_remove(at).1;
            self.b.send("pack", m);
        }
        while let Some((_, m)) = self.b.received("pack_out") {
            assert_eq!((m.get("src"), m.get("dst")), (OWN, OTHER));
            self.probed.remove(0);
            self.acks.push(m.get("hit") == 1);
        }
    }

    /// Sends a probe of CU 3 to the L1.
    pub fn probe(&mut self, op: ProbeOp, addr: u64) {
        let fields = [("op", op as u64), ("addr", addr), ("req", OTHER)];
        self.b.send("probe", Msg::of::<Probe>(&self.p.srsp, &fields));
        self.probed.push((op, addr));
    }

    /// The owner's L1 gets a probe; whether its LR-TBL has the address.
    fn probe_owner(&mut self, op: u64, addr: u64) -> bool {
        let is = |kind: ProbeOp| op == kind as u64;
        let mine = addr == self.locks[THERE].addr;
        let all = is(ProbeOp::LockFlush) || is(ProbeOp::InvAll) || is(ProbeOp::FlushAll);
        // What is flushed stays, clean, but for the line of the address.
        let stays = is(ProbeOp::LockFlush) || (is(ProbeOp::FlushAll) && !mine);
        let released = self.owner.released && mine;
        if all || (mine && !is(ProbeOp::InvUnlock)) {
            if let Some((value, true)) = self.owner.cached {
                self.memory.put(self.locks[THERE].addr, 4, value);
            }
            self.owner.cached = self.owner.cached.filter(|_| stays).map(|c| (c.0, false));
        }
        if all || (is(ProbeOp::SelFlush) && released) {
            if let Some(value) = self.owner.dirty.take() {
                let data = self.locks[THERE].data.clone();
                data.iter().for_each(|addr| self.memory.put(*addr, 4, value));
            }
            self.owner.released = false;
        }
        self.owner.promoted |= is(ProbeOp::SelInv) && mine;
        self.owner.gated = (self.owner.gated || is(ProbeOp::LockFlush)) && !is(ProbeOp::InvUnlock);
        if is(ProbeOp::InvUnlock) {
            self.owner.cached = None;
        }
        is(ProbeOp::SelFlush) && released
    }

    /// The owner of `THERE` takes or leaves its lock.
    fn owner_step(&mut self) {
        if !self.b.rng.random_bool(0.02) || self.owner.gated {
            return;
        }
        let addr = self.locks[THERE].addr;
        let free = !self.memory.locks.contains_key(&(addr / LINE));
        let base = self.p.system == Impl::Base;
        if self.owner.holds {
            self.locks[THERE].truth += 1;
            let (truth, data) = (self.locks[THERE].truth, self.locks[THERE].data.clone());
            if base {
                data.iter().for_each(|addr| self.memory.put(*addr, 4, truth));
                self.memory.put(addr, 4, 0);
            } else if self.owner.cached.is_some() || free {
                self.owner.cached = Some((0, true));
                self.owner.dirty = Some(truth);
                self.owner.released = true;
            } else {
                self.locks[THERE].truth -= 1;
                return;
            }
            self.owner.holds = false;
            return;
        }
        if (self.owner.cached.is_none() || self.owner.promoted || base) && !free {
            return;
        }
        let promoted = std::mem::take(&mut self.owner.promoted);
        if promoted && let Some((value, true)) = self.owner.cached.take() {
            self.memory.put(addr, 4, value);
        }
        if promoted && let Some(value) = self.owner.dirty.take() {
            let data = self.locks[THERE].data.clone();
            data.iter().for_each(|addr| self.memory.put(*addr, 4, value));
            self.owner.released = false;
        }
        let at_l2 = base || promoted;
        let value = self.owner.cached.map_or(self.memory.word(addr, 4), |c| c.0);
        if value != 0 {
            if !at_l2 {
                self.owner.cached.get_or_insert((value, false));
            }
            return;
        }
        if at_l2 {
            self.owner.cached = None;
            self.memory.put(addr, 4, 1);
        } else {
            self.owner.cached = Some((1, true));
        }
        self.owner.holds = true;
        self.taken[THERE][1] += 1;
        match self.owner.dirty {
            Some(value) => assert_eq!(value, self.locks[THERE].truth, "the owner's own data"),
            None => self.locks[THERE].check(&self.memory, "the owner of THERE"),
        }
    }

    /// Somebody at GPU scope takes `GPU`, changes its data and leaves it, all at once.
    fn gpu_step(&mut self) {
        let addr = self.locks[GPU].addr;
        let free = !self.memory.locks.contains_key(&(addr / LINE)) && self.memory.word(addr, 4) == 0;
        if !free || !self.b.rng.random_bool(0.01) {
            return;
        }
        self.locks[GPU].check(&self.memory, "another CU at GPU scope");
        self.locks[GPU].truth += 1;
        let (truth, data) = (self.locks[GPU].truth, self.locks[GPU].data.clone());
        data.iter().for_each(|addr| self.memory.put(*addr, 4, truth));
        self.taken[GPU][1] += 1;
    }

    /// CU 3 at its remote operations on `HERE`.
    fn remote_step(&mut self) {
        let (addr, system) = (self.locks[HERE].addr, self.p.system);
        let line = addr / LINE;
        let (broadcast, token) = (system.broadcasts(), system == Impl::BrspToken);
        let acked = !self.acks.is_empty();
        match self.remote {
            Remote::Idle => {
                let ready = system != Impl::Base && self.b.rng.random_bool(0.01);
                let word = 0x8000 + 4 * self.b.rng.random_range(0..160);
                let free = !token && !self.memory.locks.contains_key(&(word / LINE));
                if self.stray && ready && free && self.b.rng.random_bool(0.5) {
                    let ops = match broadcast {
                        true => [ProbeOp::InvAll, ProbeOp::FlushAll],
                        false => [ProbeOp::SelInv, ProbeOp::SelFlush],
                    };
                    let op = ops[usize::from(self.b.rng.random_bool(0.3))];
                    self.memory.locks.insert(word / LINE, OTHER);
                    self.probe(op, word);
                    self.remote = Remote::Stray(word / LINE);
                    return;
                }
                if ready && token && self.memory.token.is_none() {
                    self.memory.token = Some(OTHER);
                    self.probe(ProbeOp::LockFlush, addr);
                    self.remote = Remote::Acquire(0);
                } else if ready && !token && !self.memory.locks.contains_key(&line) {
                    self.memory.locks.insert(line, OTHER);
                    self.probe(if broadcast { ProbeOp::FlushAll } else { ProbeOp::SelFlush }, addr);
                    self.remote = Remote::Acquire(0);
                }
            }
            Remote::Acquire(0) if acked => {
                self.acks.clear();
                let cas = Access { op: SyncOp::Cas, wide: false, addr, opnd: 1, cmp: 0 };
                let won = self.memory.perform(&cas).1;
                if won {
                    self.locks[HERE].check(&self.memory, "a remote acquirer of HERE");
                    self.taken[HERE][1] += 1;
                }
                let pause = self.b.rng.random_range(0..150);
                let then = if won { Remote::Holds(pause) } else { Remote::Idle };
                if token || (broadcast && won) {
                    self.probe(if token { ProbeOp::InvUnlock } else { ProbeOp::InvAll }, addr);
                    self.remote = Remote::Acquire(1 + u8::from(won));
                } else {
                    self.memory.locks.remove(&line);
                    self.remote = then;
                }
            }
            Remote::Acquire(n) if n > 0 && acked => {
                self.acks.clear();
                if token {
                    self.memory.token = None;
                } else {
                    self.memory.locks.remove(&line);
                }
                self.remote = if n == 2 { Remote::Holds(50) } else { Remote::Idle };
            }
            Remote::Holds(n) if n > 0 => self.remote = Remote::Holds(n - 1),
            Remote::Holds(_) => {
                let free = !token || self.memory.token.is_none();
                if free && !self.memory.locks.contains_key(&line) {
                    self.locks[HERE].truth += 1;
                    let (truth, data) = (self.locks[HERE].truth, self.locks[HERE].data.clone());
                    data.iter().for_each(|addr| self.memory.put(*addr, 4, truth));
                    self.memory.locks.insert(line, OTHER);
                    if token {
                        self.memory.token = Some(OTHER);
                    }
                    self.probe(if broadcast { ProbeOp::InvAll } else { ProbeOp::SelInv }, addr);
                    self.remote = Remote::Release(0);
                }
            }
            Remote::Stray(line) if acked => {
                self.acks.clear();
                self.memory.locks.remove(&line);
                self.remote = Remote::Idle;
            }
            Remote::Release(_) if acked => {
                self.acks.clear();
                self.memory.put(addr, 4, 0);
                self.memory.locks.remove(&line);
                if token {
                    self.memory.token = None;
                }
                self.remote = Remote::Idle;
            }
            _ => {}
        }
    }

    fn issue(&mut self) {
        if self.waves.is_empty() || self.b.source_mut("cu_req").queue.len() > 1 {
            return;
        }
        if !self.b.rng.random_bool(self.issue) {
            return;
        }
        let now = self.now();
        let ready = |w: &Wave| w.open.is_none() && w.pause <= now;
        let ready: Vec<usize> = (0..self.waves.len()).filter(|i| ready(&self.waves[*i])).collect();
        if ready.is_empty() {
            return;
        }
        let at = ready[self.b.rng.random_range(0..ready.len())];
        let ask = match self.waves[at].kind {
            WaveKind::Locker(lock, scope, remote) => self.locker(at, lock, scope, remote),
            WaveKind::Private => self.private(at),
            WaveKind::Reader(lock) => {
                let data = &self.locks[lock].data;
                Ask::Load(data[self.b.rng.random_range(0..data.len())])
            }
        };
        let id = self.ask(ask);
        if let Ask::Store(_, _, false) = ask {
            self.waves[at].step += 1;
        } else {
            self.waves[at].open = Some((id, ask));
        }
    }

    /// What a wavefront that works with a lock does next.
    fn locker(&mut self, at: usize, lock: usize, scope: u64, remote: bool) -> Ask {
        let n = self.locks[lock].data.len();
        let step = self.waves[at].step;
        let addr = self.locks[lock].addr;
        let both = self.b.rng.random_bool(0.3);
        if step == 0 {
            // An EXCH takes the lock when it was free, and writes a copy of the line when it was not.
            let op = if self.b.rng.random_bool(0.3) { SyncOp::Exch } else { SyncOp::Cas };
            return sync(op, addr, 1, 0, if both { AR } else { ACQ }, scope, remote);
        }
        if step <= n {
            return Ask::Load(self.locks[lock].data[step - 1]);
        }
        if step <= 2 * n {
            let ack = self.b.rng.random_bool(0.2);
            return Ask::Store(self.locks[lock].data[step - n - 1], self.locks[lock].truth + 1, ack);
        }
        if step == 2 * n + 1 {
            self.locks[lock].truth += 1;
        }
        self.waves[at].step = 2 * n + 2;
        if both {
            sync(SyncOp::Exch, addr, 0, 0, AR, scope, remote)
        } else {
            sync(SyncOp::St, addr, 0, 0, REL, scope, remote)
        }
    }

    /// What a wavefront that works alone does next: on words of its own, in lines that it shares with others.
    fn private(&mut self, at: usize) -> Ask {
        let rng = &mut self.b.rng;
        let line = rng.random_range(0..10);
        let place = 8 * at as u64 + 4 * rng.random_range(0..2);
        let addr = 0x8000 + LINE * line + place;
        let value = rng.random::<u64>() & 0xffff_ffff;
        match rng.random_range(0..100) {
            0..40 => Ask::Load(addr),
            40..75 => {
                self.waves[at].words.insert(addr, value);
                Ask::Store(addr, value, value % 4 == 0)
            }
            75..95 => {
                let ops = [
                    SyncOp::Ld,
                    SyncOp::St,
                    SyncOp::Add,
                    SyncOp::Xor,
                    SyncOp::Max,
                    SyncOp::Exch,
                    SyncOp::Cas,
                ];
                let op = ops[rng.random_range(0..ops.len())];
                let wide = rng.random_bool(0.2);
                let addr = if wide { addr & !7 } else { addr };
                let sem = match op {
                    SyncOp::Ld => [RLX, ACQ][rng.random_range(0..2)],
                    SyncOp::St => [RLX, REL][rng.random_range(0..2)],
                    _ => rng.random_range(0..4),
                };
                let scope = [0, 0, 0, 1, 1, 2][rng.random_range(0..6)];
                let (opnd, cmp) = (rng.random(), rng.random_range(0..4));
                Ask::Sync(
                    Access { op, wide, addr, opnd: if wide { opnd } else { value }, cmp },
                    sem,
                    scope,
                    false,
                )
            }
            95..99 => Ask::Fence { acquire: rng.random(), scope: rng.random_range(0..3) },
            _ if rng.random() => Ask::Begin,
            _ => Ask::End,
        }
    }

    fn reply(&mut self, m: &Msg) {
        let id = m.get("id");
        let found = self.waves.iter().position(|w| w.open.is_some_and(|o| o.0 == id));
        let Some(at) = found else { panic!("answer {id} was not asked for") };
        let ask = self.waves[at].open.take().expect("found").1;
        let at_word =
            |addr: u64, size: u32| m.wide("data").slice(8 * (addr % LINE) as u32, 8 * size).low_u64();
        match ask {
            Ask::Load(addr) => {
                assert_eq!((m.get("kind"), m.get("mask")), (0, 0xf << (addr % LINE)));
                self.loaded(at, addr, at_word(addr, 4));
            }
            Ask::Store(..) => assert_eq!(m.get("kind"), 1),
            Ask::Sync(a, ..) => {
                assert_eq!(m.get("kind"), u64::from(a.op == SyncOp::St));
                let old =
                    if a.op == SyncOp::St { None } else { Some(at_word(a.addr, if a.wide { 8 } else { 4 })) };
                self.synced(at, &a, old);
            }
            _ => assert_eq!(m.get("kind"), 1),
        }
        if !matches!(ask, Ask::Sync(..)) {
            self.waves[at].step += 1;
        }
    }

    fn loaded(&mut self, at: usize, addr: u64, value: u64) {
        match self.waves[at].kind {
            WaveKind::Locker(lock, ..) => {
                assert_eq!(
                    value, self.locks[lock].truth,
                    "the holder of lock {lock} reads old data at {addr:#x}"
                );
            }
            WaveKind::Reader(_) => {}
            WaveKind::Private => {
                let expected = self.waves[at].words.get(&addr).copied().unwrap_or(0);
                assert_eq!(value, expected, "word {addr:#x} of wavefront {at}");
            }
        }
    }

    fn synced(&mut self, at: usize, a: &Access, old: Option<u64>) {
        let now = self.now();
        let pause = self.b.rng.random_range(0..60);
        match self.waves[at].kind {
            WaveKind::Locker(lock, ..) if self.waves[at].step == 0 => {
                if old == Some(0) {
                    self.waves[at].step = 1;
                    self.taken[lock][0] += 1;
                } else {
                    self.waves[at].pause = now + pause;
                }
            }
            WaveKind::Locker(..) => {
                assert!(old.is_none_or(|old| old == 1), "the lock was taken from its holder: {old:?}");
                (self.waves[at].step, self.waves[at].pause) = (0, now + pause);
            }
            WaveKind::Reader(_) => panic!("a reader does not synchronise"),
            WaveKind::Private => {
                let words = &mut self.waves[at].words;
                let get = |words: &BTreeMap<u64, u64>, addr| words.get(&addr).copied().unwrap_or(0);
                let high = if a.wide { get(words, a.addr + 4) << 32 } else { 0 };
                let before = get(words, a.addr) | high;
                old.iter().for_each(|old| assert_eq!(*old, before, "{a:?} of wavefront {at}"));
                let after = a.result(before).0;
                words.insert(a.addr, after & 0xffff_ffff);
                if a.wide {
                    words.insert(a.addr + 4, after >> 32);
                }
            }
        }
    }

    /// Cycles of everything.
    pub fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.cycle());
    }

    /// Asks, and runs until the answer: (value of its word, cycles).
    pub fn alone(&mut self, ask: Ask) -> (u64, u64) {
        let begin = self.now();
        let id = self.ask(ask);
        let addr = match ask {
            Ask::Load(addr) | Ask::Store(addr, ..) => addr,
            Ask::Sync(a, ..) => a.addr,
            _ => 0,
        };
        for _ in 0..2_000 {
            self.quiet_cycle();
            if let Some((cycle, m)) = self.b.received("cu_rsp") {
                assert_eq!(m.get("id"), id);
                return (m.wide("data").slice(8 * (addr % LINE) as u32, 32).low_u64(), cycle - begin);
            }
        }
        panic!("{ask:?} is not answered");
    }

    /// The owner of `THERE` has released its lock in its L1, where the number `truth` of the data is dirty.
    pub fn owner_has_released(&mut self, truth: u64) {
        self.owner = Owner { dirty: Some(truth), released: true, ..Owner::default() };
    }

    /// Waits for the PACK of the probe sent; whether it hit.
    pub fn acknowledged(&mut self) -> bool {
        for _ in 0..1_000 {
            if let Some(hit) = self.acks.pop() {
                return hit;
            }
            self.quiet_cycle();
        }
        panic!("a probe is not acknowledged");
    }

    /// A cycle in which answers to the CU are left for the test.
    pub fn quiet_cycle(&mut self) {
        let now = self.now();
        self.b.step();
        while let Some((_, m)) = self.b.received("req") {
            self.memory.request(m, now, &mut self.b.rng);
        }
        while let Some((_, m)) = self.b.received("wb") {
            self.memory.write(m, now, &mut self.b.rng);
        }
        self.memory.tick(now, &mut self.b.rng);
        if let Some(m) = self.memory.deliver(now, &mut self.b.rng) {
            self.b.send("rsp", m);
        }
        self.hub(now);
    }

    /// Quiet cycles.
    pub fn rest(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.quiet_cycle());
    }
}

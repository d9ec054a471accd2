//! One L1 with everything around it: wavefronts that share locks and data with one another and with other CUs, and check every value.
//!
//! | lock | owner | others | data |
//! | --- | --- | --- | --- |
//! | `HERE` | wavefronts of this CU, at work-group scope | CU 3, played by the bench, by remote operations | words that all hold the same number |
//! | `THERE` | CU 2, played by the bench, in its own L1 | a wavefront of this CU, by remote operations (in BASE at GPU scope) | the same |
//! | `GPU` | nobody: GPU scope | the bench | the same |
//!
//! Who holds a lock finds the number of its data as the last holder left it, and leaves the next one. Other wavefronts work on words of their own and know every value.

use crate::l1_bench::ask::{ACQ, AR, Ask, REL, RLX, extreme, word_of};
use crate::l1_bench::banks::{Banks, LINE, OWN};
use crate::l1_bench::{self, Around, Lock, WaveKind};
use rand::Rng;
use rand::rngs::SmallRng;
use std::collections::BTreeMap;
use weft_srsp::Shape;
use weft_srsp::l1::{L1Params, srsp_l1};
use weft_srsp::msg::{Cast, Pack, Probe, ProbeOp, SyncOp};
use weft_srsp::params::{Impl, Srsp};
use weft_srsp_bench::arith::OPS;
use weft_srsp_bench::bench::Msg;
use weft_srsp_bench::memory::Access;

/// The owner of `THERE`.
pub const OWNER: u64 = 2;

pub const HERE: usize = 0;
pub const THERE: usize = 1;
pub const GPU: usize = 2;

/// Who may hold a lock or the token besides the L1 under test.
pub const OTHER: u64 = 3;

/// Address of a line that wavefronts share for words of their own. Two and two differ in their high bits alone.
fn shared(line: u64) -> u64 {
    0x8000 + LINE * (line / 2) + line % 2 * 0xffff_0000
}

/// An access of 4 bytes at a scope.
pub fn sync(op: SyncOp, addr: u64, opnd: u64, cmp: u64, sem: u64, scope: u64, remote: bool) -> Ask {
    Ask::Sync(Access { op, wide: false, addr, opnd, cmp }, (sem, scope, remote))
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

/// Other CUs, and the locks of the banks.
pub struct Others {
    /// Owner by line.
    pub locked: BTreeMap<u64, u64>,
    pub token: Option<u64>,
    owner: Owner,
    remote: Remote,
    packs: Vec<(u64, Msg)>,
    /// Probes sent to the L1 and not acknowledged.
    pub probed: Vec<(ProbeOp, u64)>,
    /// PACKs of the L1 not yet looked at.
    pub acks: Vec<bool>,
    pub casts: Vec<(u64, u64, u64)>,
    /// CU 3 probes other addresses too.
    pub stray: bool,
    /// PACKs to the L1 are held back.
    pub holds_packs: bool,
}

/// A run.
pub type World = l1_bench::World<Others>;

/// A small L1: 2 sets of 2 ways, short queues.
pub fn small(system: Impl) -> L1Params {
    let srsp = Srsp { cus: 4, addr_bits: 32, line: 64, banks: 2, mshrs: 3, wbt: 3 };
    L1Params { pa: 2, aff: 8, ..L1Params::published(srsp, system) }.sized(|s| Shape {
        size: 256,
        ways: 2,
        latency: 3,
        sfifo: 4,
        targets: 3,
        sq: 2,
        ..s
    })
}

impl Around for Others {
    type Params = L1Params;

    fn act(w: &mut World) {
        w.remote_step();
        w.owner_step();
        w.gpu_step();
    }

    fn settle(w: &mut World, now: u64) {
        w.hub(now);
    }

    fn serve(&mut self, banks: &mut Banks, at: usize, now: u64, rng: &mut SmallRng) -> bool {
        let due = now + rng.random_range(1..=banks.slow);
        banks.waiting[at].0 <= now && self.request(banks, at, due, rng)
    }

    fn written(&mut self, banks: &mut Banks, m: &Msg, due: u64) {
        self.write(banks, m, due);
    }

    fn locker(w: &mut World, at: usize, lock: usize) -> Ask {
        let WaveKind::Locker(_, scope, remote) = w.waves[at].kind else { unreachable!() };
        let addr = w.locks[lock].addr;
        let both = w.b.rng.random_bool(0.3);
        let take = |w: &mut World| {
            // An EXCH takes the lock when it was free, and writes a copy of the line when it was not.
            let op = if w.b.rng.random_bool(0.3) { SyncOp::Exch } else { SyncOp::Cas };
            sync(op, addr, 1, 0, if both { AR } else { ACQ }, scope, remote)
        };
        let (op, sem) = if both { (SyncOp::Exch, AR) } else { (SyncOp::St, REL) };
        w.section((at, lock), take, |_| sync(op, addr, 0, 0, sem, scope, remote))
    }

    /// On words of its own, in lines that it shares with others.
    fn private(w: &mut World, at: usize) -> Ask {
        let rng = &mut w.b.rng;
        let line = rng.random_range(0..10);
        let place = 8 * at as u64 + 4 * rng.random_range(0..2);
        let addr = shared(line) + place;
        let value = rng.random::<u64>() & 0xffff_ffff;
        match rng.random_range(0..100) {
            0..40 => Ask::Load(addr),
            40..75 => {
                w.waves[at].words.insert(addr, value);
                Ask::Store(addr, value, value % 4 == 0)
            }
            75..95 => {
                let op = OPS[rng.random_range(0..OPS.len())];
                let wide = op != SyncOp::Fadd32 && rng.random_bool(0.3);
                let addr = if wide { addr & !7 } else { addr };
                let sem = match op {
                    SyncOp::Ld => [RLX, ACQ][rng.random_range(0..2)],
                    SyncOp::St => [RLX, REL][rng.random_range(0..2)],
                    _ => rng.random_range(0..4),
                };
                let scope = [0, 0, 0, 1, 1, 2][rng.random_range(0..6)];
                let before = w.waves[at].words.get(&addr).copied().unwrap_or(0);
                let [opnd, cmp] = [(); 2].map(|()| extreme(rng, before) & word_of(wide));
                Ask::Sync(Access { op, wide, addr, opnd, cmp }, (sem, scope, false))
            }
            95..99 => Ask::Fence { acquire: rng.random(), scope: rng.random_range(0..3) },
            _ if rng.random() => Ask::Begin,
            _ => Ask::End,
        }
    }
}

impl World {
    pub fn new(p: &L1Params, seed: u64) -> World {
        let others = Others {
            locked: BTreeMap::new(),
            token: None,
            owner: Owner::default(),
            remote: Remote::Idle,
            packs: Vec::new(),
            probed: Vec::new(),
            acks: Vec::new(),
            casts: Vec::new(),
            stray: true,
            holds_packs: false,
        };
        // Locks and data share lines with nothing but themselves, except that the first data word of HERE lies in the lock's own line.
        let locks = vec![Lock::new(0x1000, true), Lock::new(0xffff_2000, false), Lock::new(0x3000, false)];
        let module = srsp_l1(p).expect("legal parameters");
        let mut w = World::begin(&module, (p, &p.shape.srsp), locks, others, seed);
        w.b.sink::<Cast>("probe_out", &p.shape.srsp);
        w.b.source::<Pack>("pack", &p.shape.srsp);
        w.b.sink::<Pack>("pack_out", &p.shape.srsp);
        w
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
        w.b.chances(&[("req", 0.6), ("wb", 0.6), ("probe_out", 0.5), ("pack_out", 0.5), ("cu_rsp", 0.9)]);
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

    fn hub(&mut self, now: u64) {
        while let Some((_, m)) = self.b.received("probe_out") {
            let (op, addr, dst) = (m.get("probe_op"), m.get("probe_addr"), m.get("dst"));
            assert_eq!(m.get("probe_req"), OWN);
            assert_eq!(dst >> OWN & 1, 0, "an L1 does not probe itself");
            self.casts.push((op, addr, dst));
            for cu in (0..u64::from(self.p.shape.srsp.cus)).filter(|cu| dst >> cu & 1 == 1) {
                let hit = cu == OWNER && self.probe_owner(op, addr);
                let fields = [("src", cu), ("dst", OWN), ("hit", u64::from(hit))];
                let due = now + self.b.rng.random_range(1..=self.banks.slow);
                self.around.packs.push((due, Msg::of::<Pack>(&self.p.shape.srsp, &fields)));
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
        self.b.send("probe", Msg::of::<Probe>(&self.p.shape.srsp, &fields));
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
                self.banks.put(self.locks[THERE].addr, 4, value);
            }
            self.owner.cached = self.owner.cached.filter(|_| stays).map(|c| (c.0, false));
        }
        if all || (is(ProbeOp::SelFlush) && released) {
            if let Some(value) = self.owner.dirty.take() {
                self.locks[THERE].data.iter().for_each(|addr| self.banks.put(*addr, 4, value));
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
        let free = !self.locked.contains_key(&(addr / LINE));
        let base = self.p.system == Impl::Base;
        if self.owner.holds {
            self.locks[THERE].truth += 1;
            let (truth, data) = (self.locks[THERE].truth, self.locks[THERE].data.clone());
            if base {
                data.iter().for_each(|addr| self.banks.put(*addr, 4, truth));
                self.banks.put(addr, 4, 0);
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
            self.banks.put(addr, 4, value);
        }
        if promoted && let Some(value) = self.owner.dirty.take() {
            self.locks[THERE].data.iter().for_each(|addr| self.banks.put(*addr, 4, value));
            self.owner.released = false;
        }
        let at_l2 = base || promoted;
        let value = self.owner.cached.map_or(self.banks.word(addr, 4), |c| c.0);
        if value != 0 {
            if !at_l2 {
                self.owner.cached.get_or_insert((value, false));
            }
            return;
        }
        if at_l2 {
            self.owner.cached = None;
            self.banks.put(addr, 4, 1);
        } else {
            self.owner.cached = Some((1, true));
        }
        self.owner.holds = true;
        self.taken[THERE][1] += 1;
        match self.owner.dirty {
            Some(value) => assert_eq!(value, self.locks[THERE].truth, "the owner's own data"),
            None => self.locks[THERE].check(&self.banks, "the owner of THERE"),
        }
    }

    /// Somebody at GPU scope takes `GPU`, changes its data and leaves it, all at once.
    fn gpu_step(&mut self) {
        let addr = self.locks[GPU].addr;
        let free = !self.locked.contains_key(&(addr / LINE)) && self.banks.word(addr, 4) == 0;
        if !free || !self.b.rng.random_bool(0.01) {
            return;
        }
        self.locks[GPU].check(&self.banks, "another CU at GPU scope");
        self.locks[GPU].truth += 1;
        self.locks[GPU].put(&mut self.banks);
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
                let word = self.b.rng.random_range(0..160);
                let word = shared(word / 16) + 4 * (word % 16);
                let free = !token && !self.locked.contains_key(&(word / LINE));
                if self.stray && ready && free && self.b.rng.random_bool(0.5) {
                    let ops = match broadcast {
                        true => [ProbeOp::InvAll, ProbeOp::FlushAll],
                        false => [ProbeOp::SelInv, ProbeOp::SelFlush],
                    };
                    let op = ops[usize::from(self.b.rng.random_bool(0.3))];
                    self.locked.insert(word / LINE, OTHER);
                    self.probe(op, word);
                    self.remote = Remote::Stray(word / LINE);
                    return;
                }
                if ready && token && self.token.is_none() {
                    self.token = Some(OTHER);
                    self.probe(ProbeOp::LockFlush, addr);
                    self.remote = Remote::Acquire(0);
                } else if ready && !token && !self.locked.contains_key(&line) {
                    self.locked.insert(line, OTHER);
                    self.probe(if broadcast { ProbeOp::FlushAll } else { ProbeOp::SelFlush }, addr);
                    self.remote = Remote::Acquire(0);
                }
            }
            Remote::Acquire(0) if acked => {
                self.acks.clear();
                let cas = Access { op: SyncOp::Cas, wide: false, addr, opnd: 1, cmp: 0 };
                let won = self.banks.perform(&cas).1;
                if won {
                    self.locks[HERE].check(&self.banks, "a remote acquirer of HERE");
                    self.taken[HERE][1] += 1;
                }
                let pause = self.b.rng.random_range(0..150);
                let then = if won { Remote::Holds(pause) } else { Remote::Idle };
                if token || (broadcast && won) {
                    self.probe(if token { ProbeOp::InvUnlock } else { ProbeOp::InvAll }, addr);
                    self.remote = Remote::Acquire(1 + u8::from(won));
                } else {
                    self.locked.remove(&line);
                    self.remote = then;
                }
            }
            Remote::Acquire(n) if n > 0 && acked => {
                self.acks.clear();
                if token {
                    self.token = None;
                } else {
                    self.locked.remove(&line);
                }
                self.remote = if n == 2 { Remote::Holds(50) } else { Remote::Idle };
            }
            Remote::Holds(n) if n > 0 => self.remote = Remote::Holds(n - 1),
            Remote::Holds(_) => {
                let free = !token || self.token.is_none();
                if free && !self.locked.contains_key(&line) {
                    self.locks[HERE].truth += 1;
                    self.locks[HERE].put(&mut self.banks);
                    self.locked.insert(line, OTHER);
                    if token {
                        self.token = Some(OTHER);
                    }
                    self.probe(if broadcast { ProbeOp::InvAll } else { ProbeOp::SelInv }, addr);
                    self.remote = Remote::Release(0);
                }
            }
            Remote::Stray(line) if acked => {
                self.acks.clear();
                self.locked.remove(&line);
                self.remote = Remote::Idle;
            }
            Remote::Release(_) if acked => {
                self.acks.clear();
                self.banks.put(addr, 4, 0);
                self.locked.remove(&line);
                if token {
                    self.token = None;
                }
                self.remote = Remote::Idle;
            }
            _ => {}
        }
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
}

//! One L1 with everything around it: wavefronts that share locks and data with one another and with other CUs, and check every value.
//!
//! Who holds a lock finds the number of its data as the last holder left it, and leaves the next one. Other wavefronts work on words of their own and know every value. What is below the
//! L1, and what other CUs do, is of each kind of L1 ([`Around`]).

pub mod ask;
pub mod banks;

use ask::Ask;
use banks::{Banks, LINE, OWN};
use rand::Rng;
use rand::rngs::SmallRng;
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use weft_blocks::msg::{CuReq, CuRsp, Sys};
use weft_rtl::ir::Module;
use weft_srsp::msg::{Probe, Req, Rsp, SyncOp, Wb};
use weft_srsp::params::Srsp;
use weft_srsp_bench::arith::apply;
use weft_srsp_bench::bench::{Bench, Msg};
use weft_srsp_bench::memory::Access;

/// The protocol below an L1, and the other CUs.
pub trait Around: Sized {
    /// Parameters of the L1.
    type Params: Clone;
    /// Everybody but this CU does something, before a cycle.
    fn act(w: &mut World<Self>);
    /// The channel of probes.
    fn connect(b: &mut Bench, s: &Srsp) {
        b.source::<Probe>("probe", s);
    }
    /// What only this protocol has is delivered and taken, after cycle `now`.
    fn settle(w: &mut World<Self>, now: u64);
    /// The request at a place of those that wait is served; not, if it must wait or is not due.
    fn serve(&mut self, banks: &mut Banks, at: usize, now: u64, rng: &mut SmallRng) -> bool;
    /// A message of network 1 is served; its answer is due then.
    fn written(&mut self, banks: &mut Banks, m: &Msg, due: u64);
    /// What a wavefront that works with a lock does next.
    fn locker(w: &mut World<Self>, at: usize, lock: usize) -> Ask;
    /// What a wavefront that works alone does next.
    fn private(w: &mut World<Self>, at: usize) -> Ask;
    /// A wavefront may ask something new.
    fn may_ask(&self, _: &Wave) -> bool {
        true
    }
    /// An answer is nothing that a wavefront waits for.
    fn takes(&mut self, _: &Msg) -> bool {
        false
    }
}

/// A lock with its data.
pub struct Lock {
    pub addr: u64,
    pub data: Vec<u64>,
    pub truth: u64,
}

impl Lock {
    /// A lock with four words of data in lines of their own; `near`: the first one in the lock's line.
    pub fn new(addr: u64, near: bool) -> Lock {
        let data = (0..4).map(|i| addr + LINE * (i + u64::from(!near)) + 4 * (i + 1)).collect();
        Lock { addr, data, truth: 0 }
    }

    /// The L2 holds what the last holder left.
    pub fn check(&self, banks: &Banks, who: &str) {
        for addr in &self.data {
            assert_eq!(banks.word(*addr, 4), self.truth, "{who} reads old data at {addr:#x}");
        }
    }

    /// The L2 gets the present number.
    pub fn put(&self, banks: &mut Banks) {
        self.data.iter().for_each(|addr| banks.put(*addr, 4, self.truth));
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaveKind {
    /// A lock, the scope of its operations, remote.
    Locker(usize, u64, bool),
    Private,
    /// Loads words of a lock's data without the lock: what they bring in may be old.
    Reader(usize),
}

/// A wavefront.
pub struct Wave {
    pub kind: WaveKind,
    /// Step of its critical section; 0: it has no lock.
    pub step: usize,
    pause: u64,
    pub open: Option<(u64, Ask)>,
    /// Its own words.
    pub words: BTreeMap<u64, u64>,
    /// The word stored last.
    pub stored: u64,
}

/// A run.
pub struct World<A: Around> {
    pub b: Bench,
    pub p: A::Params,
    pub banks: Banks,
    pub locks: Vec<Lock>,
    pub waves: Vec<Wave>,
    next_id: u64,
    /// Times each lock was taken by this CU, by others.
    pub taken: Vec<[u64; 2]>,
    pub replies: u64,
    last: u64,
    issue: f64,
    pub around: A,
}

/// What a test looks at is mostly of its protocol.
impl<A: Around> Deref for World<A> {
    type Target = A;
    fn deref(&self) -> &A {
        &self.around
    }
}

impl<A: Around> DerefMut for World<A> {
    fn deref_mut(&mut self) -> &mut A {
        &mut self.around
    }
}

impl<A: Around> World<A> {
    /// An L1 without wavefronts; channels that only one kind has are connected by the caller.
    pub fn begin(
        module: &Arc<Module>,
        (p, s): (&A::Params, &Srsp),
        locks: Vec<Lock>,
        around: A,
        seed: u64,
    ) -> Self {
        let mut b = Bench::new(module, seed);
        b.source::<CuReq>("cu_req", &s.cu());
        b.sink::<CuRsp>("cu_rsp", &s.cu());
        b.sink::<Req>("req", s);
        b.sink::<Wb>("wb", s);
        b.source::<Rsp>("rsp", s);
        A::connect(&mut b, s);
        b.set("own", OWN);
        World {
            b,
            p: p.clone(),
            banks: Banks::new(s),
            taken: vec![[0; 2]; locks.len()],
            locks,
            waves: Vec::new(),
            next_id: 0,
            replies: 0,
            last: 0,
            issue: 0.8,
            around,
        }
    }

    pub fn start(&mut self, kinds: &[WaveKind]) {
        let wave = |kind| Wave { kind, step: 0, pause: 0, open: None, words: BTreeMap::new(), stored: 0 };
        self.waves = kinds.iter().map(|kind| wave(*kind)).collect();
    }

    pub fn now(&self) -> u64 {
        self.b.sim.cycle()
    }

    /// Sends a request of the CU; its number.
    pub fn ask(&mut self, ask: Ask) -> u64 {
        if let Ask::Sync(access, _) = ask {
            self.banks.asked.push(access);
        }
        self.send(|cu, id| ask.message(cu, id))
    }

    /// Sends any request of the CU; its number.
    pub fn send(&mut self, request: impl FnOnce(&Sys, u64) -> Msg) -> u64 {
        let id = self.next_id;
        self.next_id = (self.next_id + 1) % 4096;
        let msg = request(&self.banks.p.cu(), id);
        self.b.send("cu_req", msg);
        id
    }

    /// One cycle of everything.
    pub fn cycle(&mut self) {
        let now = self.now();
        A::act(self);
        self.issue();
        self.quiet_cycle();
        while let Some((_, m)) = self.b.received("cu_rsp") {
            self.last = now;
            self.replies += 1;
            self.reply(&m);
        }
        assert!(now < self.last + 5_000, "nothing is answered any more: {:?}", self.open());
    }

    /// A cycle of the L1 and what is below it, in which answers to the CU are left for the test.
    pub fn quiet_cycle(&mut self) {
        let now = self.now();
        self.b.step();
        while let Some((_, m)) = self.b.received("req") {
            self.banks.request(m, now, &mut self.b.rng);
        }
        while let Some((_, m)) = self.b.received("wb") {
            self.banks.write(m, now, &mut self.b.rng);
        }
        self.serve(now);
        if self.b.source_mut("rsp").queue.len() < 2
            && let Some(m) = self.banks.deliver(now, &mut self.b.rng)
        {
            self.b.send("rsp", m);
        }
        A::settle(self, now);
    }

    /// What is due at the banks and need not wait is done.
    fn serve(&mut self, now: u64) {
        let World { banks, around, b, .. } = self;
        let mut i = 0;
        while i < banks.waiting.len() {
            if around.serve(banks, i, now, &mut b.rng) {
                banks.waiting.remove(i);
            } else {
                i += 1;
            }
        }
        for bank in 0..banks.written.len() {
            while banks.written[bank].front().is_some_and(|w| w.0 <= now) {
                let m = banks.written[bank].pop_front().expect("there").1;
                let due = now + b.rng.random_range(1..=banks.slow);
                around.written(banks, &m, due);
            }
        }
    }

    pub fn open(&self) -> Vec<Ask> {
        self.waves.iter().filter_map(|w| w.open.map(|o| o.1)).collect()
    }

    fn issue(&mut self) {
        if self.waves.is_empty() || self.b.source_mut("cu_req").queue.len() > 1 {
            return;
        }
        if !self.b.rng.random_bool(self.issue) {
            return;
        }
        let now = self.now();
        let ready = |w: &Wave| w.open.is_none() && w.pause <= now && self.around.may_ask(w);
        let ready: Vec<usize> = (0..self.waves.len()).filter(|i| ready(&self.waves[*i])).collect();
        if ready.is_empty() {
            return;
        }
        let at = ready[self.b.rng.random_range(0..ready.len())];
        let ask = match self.waves[at].kind {
            WaveKind::Locker(lock, ..) => A::locker(self, at, lock),
            WaveKind::Private => A::private(self, at),
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

    /// The next step of a critical section: the lock is taken, its data is read and written, the lock is given back.
    pub fn section(
        &mut self,
        (at, lock): (usize, usize),
        take: impl FnOnce(&mut Self) -> Ask,
        give: impl FnOnce(&mut Self) -> Ask,
    ) -> Ask {
        let n = self.locks[lock].data.len();
        let step = self.waves[at].step;
        if step == 0 {
            return take(self);
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
        give(self)
    }

    fn reply(&mut self, m: &Msg) {
        if self.around.takes(m) {
            return;
        }
        let id = m.get("id");
        let found = self.waves.iter().position(|w| w.open.is_some_and(|o| o.0 == id));
        let Some(at) = found else { panic!("answer {id} was not asked for") };
        let ask = self.waves[at].open.take().expect("found").1;
        ask.check(m);
        match ask {
            Ask::Load(addr) => self.loaded(at, addr, word_in(m, addr, 4)),
            Ask::Sync(a, ..) => {
                let size = if a.wide { 8 } else { 4 };
                let old = (a.op != SyncOp::St).then(|| word_in(m, a.addr, size));
                self.synced(at, &a, old);
            }
            _ => {}
        }
        if !matches!(ask, Ask::Sync(..)) {
            self.waves[at].step += 1;
        }
    }

    fn loaded(&mut self, at: usize, addr: u64, value: u64) {
        match self.waves[at].kind {
            WaveKind::Locker(lock, ..) => {
                let truth = self.locks[lock].truth;
                assert_eq!(value, truth, "the holder of lock {lock} reads old data at {addr:#x}");
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
        let wave = &mut self.waves[at];
        match wave.kind {
            WaveKind::Locker(lock, ..) if wave.step == 0 => {
                if old == Some(0) {
                    wave.step = 1;
                    self.taken[lock][0] += 1;
                } else {
                    wave.pause = now + pause;
                }
            }
            WaveKind::Locker(..) => {
                assert!(old.is_none_or(|old| old == 1), "the lock was taken from its holder: {old:?}");
                (wave.step, wave.pause) = (0, now + pause);
            }
            WaveKind::Reader(_) => panic!("a reader does not synchronise"),
            WaveKind::Private => {
                let get = |words: &BTreeMap<u64, u64>, addr| words.get(&addr).copied().unwrap_or(0);
                let high = if a.wide { get(&wave.words, a.addr + 4) << 32 } else { 0 };
                let before = get(&wave.words, a.addr) | high;
                old.iter().for_each(|old| assert_eq!(*old, before, "{a:?} of wavefront {at}"));
                let after = apply(a.op, a.wide, before, a.opnd, a.cmp).0;
                wave.words.insert(a.addr, after & 0xffff_ffff);
                if a.wide {
                    wave.words.insert(a.addr + 4, after >> 32);
                }
            }
        }
    }

    /// Cycles of everything.
    pub fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.cycle());
    }

    /// Quiet cycles.
    pub fn rest(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.quiet_cycle());
    }

    /// Asks, and runs until the answer: (value of its word, cycles).
    pub fn alone(&mut self, ask: Ask) -> (u64, u64) {
        let begin = self.now();
        let (cycle, m) = self.answer(ask);
        (word_in(&m, ask.addr(), 4), cycle - begin)
    }

    /// Asks, and runs until the answer, which is of its kind.
    pub fn answer(&mut self, ask: Ask) -> (u64, Msg) {
        let id = self.ask(ask);
        let (cycle, m) = self.answered_to(id);
        ask.check(&m);
        (cycle, m)
    }

    /// Runs until the request of this number is answered, before all others.
    pub fn answered_to(&mut self, id: u64) -> (u64, Msg) {
        for _ in 0..2_000 {
            self.quiet_cycle();
            if let Some((cycle, m)) = self.b.received("cu_rsp") {
                assert_eq!(m.get("id"), id);
                return (cycle, m);
            }
        }
        panic!("request {id} is not answered");
    }

    /// Numbers of the requests answered, in order.
    pub fn answered(&mut self) -> Vec<u64> {
        std::iter::from_fn(|| self.b.received("cu_rsp")).map(|(_, m)| m.get("id")).collect()
    }

    /// Random work of a trial: enough of it is answered.
    pub fn works(&mut self, cycles: u64, what: &str) {
        self.run(cycles);
        println!("{what}: {} answers, locks {:?}", self.replies, self.taken);
        assert!(self.replies > cycles / (20 + 4 * self.banks.slow), "{} answers", self.replies);
    }

    /// What hits takes the latency, and comes once per cycle when it is asked for all the time.
    pub fn streams(&mut self, ask: Ask, latency: u32) {
        // Taken in the first cycle, its slot is the second.
        assert_eq!(self.alone(ask).1, u64::from(latency) + 1);
        (0..40).for_each(|_| {
            self.ask(ask);
        });
        self.rest(80);
        let times: Vec<u64> =
            std::iter::from_fn(|| self.b.received("cu_rsp")).map(|(cycle, _)| cycle).collect();
        assert_eq!(times.len(), 40);
        assert!(times.windows(2).all(|t| t[1] == t[0] + 1), "one hit per cycle: {times:?}");
    }

    /// Nothing changes any more: the engine skips the block.
    pub fn falls_asleep(&mut self) {
        self.rest(60);
        self.b.falls_asleep(60);
    }
}

/// A word of so many bytes of an answer.
pub fn word_in(m: &Msg, addr: u64, size: u32) -> u64 {
    m.wide("data").slice(8 * (addr % LINE) as u32, 8 * size).low_u64()
}

/// The bytes of a word in its line.
pub fn mask(addr: u64) -> u64 {
    0xf << (addr % LINE)
}

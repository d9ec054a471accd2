//! Threads of the core, the device and what is below it. Every value is checked.

use crate::tu_mesi::device::{DeviceParams, OWN, device};
use crate::tu_mesi::llc::{Kind, Llc, Word};
use rand::Rng;
use std::collections::BTreeMap;
use weft_blocks::msg::{AmoOp, CuOp, CuReq, CuRsp};
use weft_rtl::bv::Bv;
use weft_spandex::msg::{Fwd, Req, Rsp, Wb};
use weft_spandex_bench::bench::{Bench, Msg};

/// Threads of the core.
const THREADS: usize = 4;

/// A number per word.
type Snapshot = BTreeMap<(u64, usize), u32>;

#[derive(Clone, Debug, PartialEq)]
enum Ask {
    /// All words of the mask, with the least values that may be seen.
    Load {
        line: u64,
        mask: u64,
        low: Vec<u32>,
        exact: BTreeMap<usize, u32>,
    },
    Store {
        line: u64,
        w: usize,
        value: u32,
    },
    Add {
        line: u64,
        w: usize,
    },
    /// With what had been issued of every private word.
    Release(Snapshot),
    /// With what was complete of every word.
    Acquire(Snapshot),
}

/// A run.
pub struct World {
    pub b: Bench,
    p: DeviceParams,
    pub llc: Llc,
    open: BTreeMap<u64, (usize, Ask)>,
    /// What had been issued before an access that releases.
    released: BTreeMap<u64, Snapshot>,
    /// Operations of a thread that are not answered.
    waits: [bool; THREADS],
    next_id: u64,
    last: u64,
    pub replies: u64,
    /// What loads of a thread see at least, where nobody invalidates what they read (ReqS answered by RspV): what was complete at its last acquire.
    acquired: Vec<Snapshot>,
    /// Chance of new work of the core in a cycle.
    pub issue: f64,
}

impl World {
    pub fn new(p: &DeviceParams, seed: u64) -> World {
        let s = p.spandex();
        let mut b = Bench::new(&device(p), seed);
        b.source::<CuReq>("cu_req", &s.cu());
        b.sink::<CuRsp>("cu_rsp", &s.cu());
        b.sink::<Req>("req", s);
        b.sink::<Wb>("wb", s);
        b.sink::<Rsp>("rsp_out", s);
        b.sink::<Fwd>("fwd_out", s);
        b.source::<Fwd>("fwd", s);
        b.source::<Rsp>("rsp", s);
        b.set("own", OWN);
        b.chances(&[("req", 0.6), ("wb", 0.4), ("rsp_out", 0.6)]);
        let lines: Vec<u64> = (0x40..0x48).collect();
        World {
            llc: Llc::new(s, &lines, THREADS),
            p: p.clone(),
            b,
            open: BTreeMap::new(),
            released: BTreeMap::new(),
            waits: [false; THREADS],
            next_id: 0,
            last: 0,
            replies: 0,
            acquired: vec![Snapshot::new(); THREADS],
            issue: 0.5,
        }
    }

    fn now(&self) -> u64 {
        self.b.sim.cycle()
    }

    fn data(&self, w: usize, value: u32) -> Bv {
        let n = self.p.spandex().words() as usize;
        let mut words = vec![0x5a5a_5a5a_u32; n];
        words[w] = value;
        let limbs: Vec<u64> = words.chunks(2).map(|c| u64::from(c[0]) | u64::from(c[1]) << 32).collect();
        Bv::from_limbs(&limbs, self.p.spandex().data_bits())
    }

    fn ask(&mut self, thread: usize, ask: Ask, answered: bool) {
        let id = self.next_id;
        self.next_id = (self.next_id + 1) % 4096;
        let cu = self.p.spandex().cu();
        let bytes = |mask: u64| (0..64).filter(|b| mask >> (b / 4) & 1 == 1).map(|b| 1u64 << b).sum::<u64>();
        let sync = self.b.rng.random_bool(0.1);
        let sem = if sync { self.b.rng.random_range(0..4) } else { 0 };
        let sync = u64::from(sync);
        let access = !matches!(ask, Ask::Release(_) | Ask::Acquire(_));
        if access && answered && sem & 2 != 0 {
            let issued = self.issued();
            self.released.insert(id, issued);
        }
        let base = |op: CuOp| {
            vec![
                ("op", op as u64),
                ("id", id),
                ("sync", sync),
                ("sem", sem),
                ("class", 0),
                ("want_ack", u64::from(answered)),
            ]
        };
        let m = match &ask {
            Ask::Load { line, mask, .. } => {
                let more = [("line", *line), ("mask", bytes(*mask))];
                Msg::of::<CuReq>(&cu, &[&base(CuOp::Ld)[..], &more].concat())
            }
            Ask::Store { line, w, value } => {
                let more = [("line", *line), ("mask", bytes(1 << w))];
                Msg::of::<CuReq>(&cu, &[&base(CuOp::St)[..], &more].concat())
                    .with("data", self.data(*w, *value))
            }
            Ask::Add { line, w } => {
                let amo = AmoOp::Add as u64;
                let more = [("line", *line), ("mask", bytes(1 << w)), ("amo", amo), ("sgn", 0)];
                Msg::of::<CuReq>(&cu, &[&base(CuOp::Amo)[..], &more].concat()).with("data", self.data(*w, 1))
            }
            Ask::Release(_) => {
                let op = if self.b.rng.random_bool(0.5) { CuOp::Rel } else { CuOp::Kend };
                Msg::of::<CuReq>(&cu, &base(op))
            }
            Ask::Acquire(_) => {
                let op = if self.b.rng.random_bool(0.5) { CuOp::Acq } else { CuOp::Kbegin };
                Msg::of::<CuReq>(&cu, &base(op))
            }
        };
        self.b.send("cu_req", m);
        if answered {
            self.open.insert(id, (thread, ask));
            self.waits[thread] = true;
        }
    }

    fn snapshot(&self, of: impl Fn(&Word) -> u32) -> Snapshot {
        let lines = self.llc.lines.iter();
        lines.flat_map(|(n, l)| l.words.iter().enumerate().map(|(w, x)| ((*n, w), of(x)))).collect()
    }

    /// What has been issued of every private word, this operation included.
    fn issued(&self) -> Snapshot {
        self.snapshot(|word| match word.kind {
            Kind::Private(_) => word.max,
            _ => 0,
        })
    }

    fn complete(&mut self, words: Snapshot) {
        for ((line, w), value) in words {
            let word = self.llc.word_mut(line, w);
            word.done = word.done.max(value);
        }
    }

    /// A thread that waits for nothing does something.
    fn issue(&mut self) {
        let thread = self.b.rng.random_range(0..THREADS);
        let chance = self.issue;
        if self.waits[thread]
            || self.b.source_mut("cu_req").queue.len() > 1
            || !self.b.rng.random_bool(chance)
        {
            return;
        }
        let lines: Vec<u64> = self.llc.lines.keys().copied().collect();
        let line = lines[self.b.rng.random_range(0..lines.len())];
        let n = self.p.spandex().words() as usize;
        let w = self.b.rng.random_range(0..n);
        let kind = self.llc.word(line, w).kind;
        match self.b.rng.random_range(0..20) {
            0 => {
                let issued = self.issued();
                self.ask(thread, Ask::Release(issued), true);
            }
            1 => {
                let done = self.snapshot(|word| word.done);
                self.ask(thread, Ask::Acquire(done), true);
            }
            2..10 if kind == Kind::Private(thread) => {
                self.llc.word_mut(line, w).max += 1;
                let value = self.llc.word(line, w).max;
                let acked = self.b.rng.random_bool(0.5);
                self.ask(thread, Ask::Store { line, w, value }, acked);
            }
            2..8 if kind == Kind::Atomic => self.ask(thread, Ask::Add { line, w }, true),
            _ => {
                let mask = if self.b.rng.random_bool(0.5) { (1 << n) - 1 } else { 1 << w };
                let words = &self.llc.lines[&line].words;
                let seen = |w: usize| self.acquired[thread].get(&(line, w)).copied().unwrap_or(0);
                let weak = self.p.l1.weak_reads;
                let low =
                    words.iter().enumerate().map(|(w, x)| if weak { seen(w) } else { x.done }).collect();
                let own = words.iter().enumerate().filter(|(_, x)| x.kind == Kind::Private(thread));
                let exact = own.map(|(w, x)| (w, x.max)).collect();
                self.ask(thread, Ask::Load { line, mask, low, exact }, true);
            }
        }
    }

    fn reply(&mut self, m: &Msg) {
        let id = m.get("id");
        let (thread, ask) = self.open.remove(&id).unwrap_or_else(|| panic!("nobody waits for {m:?}"));
        self.waits[thread] = false;
        if let Some(issued) = self.released.remove(&id) {
            self.complete(issued);
        }
        let value = |w: usize| m.wide("data").slice(32 * w as u32, 32).low_u64() as u32;
        match ask {
            Ask::Load { line, mask, low, exact } => {
                assert_eq!(m.get("kind"), 0);
                for w in (0..low.len()).filter(|w| mask >> w & 1 == 1) {
                    let word = self.llc.word(line, w);
                    if word.kind == Kind::Atomic {
                        continue;
                    }
                    let low = exact.get(&w).copied().unwrap_or(low[w]);
                    let high = exact.get(&w).copied().unwrap_or(word.max);
                    let found = value(w);
                    assert!(
                        (low..=high).contains(&found),
                        "thread {thread} loads {found} from line {line:#x} word {w}, not {low}..={high}: {word:?}"
                    );
                }
            }
            Ask::Store { line, w, value } => {
                let word = self.llc.word_mut(line, w);
                word.done = word.done.max(value);
            }
            Ask::Add { line, w } => {
                assert_eq!(m.get("kind"), 0);
                self.llc.note_old(line, w, value(w));
            }
            Ask::Release(issued) => self.complete(issued),
            Ask::Acquire(done) => self.acquired[thread] = done,
        }
    }

    /// One cycle of everything.
    pub fn cycle(&mut self) {
        let now = self.now();
        self.issue();
        self.b.step();
        while let Some((_, m)) = self.b.received("cu_rsp") {
            self.last = now;
            self.replies += 1;
            self.reply(&m);
        }
        let rng = &mut self.b.rng.clone();
        while let Some((_, m)) = self.b.received("req") {
            self.llc.request(&m, rng);
        }
        while let Some((_, m)) = self.b.received("wb") {
            self.llc.write_back(&m, now, rng);
        }
        while let Some((_, m)) = self.b.received("rsp_out") {
            self.llc.response(&m, now, rng);
        }
        assert!(self.b.received("fwd_out").is_none(), "nothing is sent direct");
        self.llc.tick(now, rng);
        for (name, fwd) in [("fwd", true), ("rsp", false)] {
            if self.b.source_mut(name).queue.len() < 2
                && let Some(m) = self.llc.deliver(now, fwd, rng)
            {
                self.b.send(name, m);
            }
        }
        self.b.rng = rng.clone();
        let state = (&self.open, self.llc.describe());
        assert!(now < self.last + 5_000 || self.issue == 0.0, "nothing is answered any more: {state:?}");
    }

    pub fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.cycle());
    }

    /// Ends all work and looks at what memory holds.
    pub fn end(&mut self) {
        (self.issue, self.llc.rate) = (0.0, 0.0);
        self.run(4_000);
        assert!(self.open.is_empty() && self.llc.quiet(), "{:?} {}", self.open, self.llc.describe());
        self.llc.evict_all();
        self.run(2_000);
        assert!(self.llc.quiet(), "{}", self.llc.describe());
        for (line, l) in &self.llc.lines {
            for (w, word) in l.words.iter().enumerate() {
                let adds = self.llc.olds.get(&(*line, w)).map_or(0, |o| o.len() as u32);
                let expected = if word.kind == Kind::Atomic { adds } else { word.max };
                assert_eq!(word.value, expected, "line {line:#x} word {w} in the end: {word:?}");
            }
        }
        self.b.falls_asleep(40);
    }
}

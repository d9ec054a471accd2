//! Threads of the core, the device, a directory and other clients. Every value is checked.
//!
//! Words 0 to 3 of a line are counters to which everybody adds, the last is the others' alone, the rest belong to a thread of the core each.

use crate::hmesi_client::directory::{Directory, HOME, M};
use rand::Rng;
use rand::seq::IndexedRandom;
use std::collections::{BTreeMap, BTreeSet};
use weft_blocks::msg::{AmoOp, CuOp, CuReq, CuRsp};
use weft_hmesi_bench::client::{Client, Say, St};
use weft_rtl::bv::Bv;
use weft_spandex::hmesi::client::ClientParams;
use weft_spandex::hmesi::fabric::hmesi_device;
use weft_spandex::hmesi::msg::{HFwd, HReq, HRsp, HWb};
use weft_spandex::mesi_l1::MesiL1Params;
use weft_spandex::params::Spandex;
use weft_spandex_bench::bench::{Bench, Msg};

const FORWARDS: [&str; 4] = ["FwdGetS", "FwdGetM", "Recall", "Inv"];
const RESPONSES: [&str; 8] = ["DataS", "DataE", "DataM", "InvAck", "WbAck", "WbData", "Unblock", "UnblockX"];
/// Number of the device under test.
const OWN: usize = 1;
const THREADS: usize = 3;
const COUNTERS: usize = 4;

/// What is known of a word: values begun and complete.
#[derive(Clone, Copy, Default, Debug)]
struct Word {
    begun: u32,
    done: u32,
}

#[derive(Clone, Debug)]
enum Ask {
    Load { line: u64, low: Vec<u32> },
    Store { line: u64, w: usize, value: u32 },
    Add { line: u64, w: usize },
    Fence,
}

/// A run.
pub struct World {
    pub b: Bench,
    s: Spandex,
    lines: Vec<u64>,
    words: BTreeMap<(u64, usize), Word>,
    left: BTreeSet<(u64, usize, u32)>,
    clients: Vec<Client>,
    directory: Directory,
    /// Data of lines, by number.
    data: Vec<Vec<u32>>,
    post: Vec<(u64, M)>,
    open: BTreeMap<u64, (usize, Ask)>,
    waits: [bool; THREADS],
    next_id: u64,
    last: u64,
    pub replies: u64,
    /// Longest time of a message on its way.
    pub slow: u64,
    /// Chance that another client does something in a cycle.
    pub rate: f64,
    issue: f64,
}

impl World {
    pub fn new((l1, client): &(MesiL1Params, ClientParams), seed: u64) -> World {
        let s = l1.port.spandex.clone();
        let mut b = Bench::new(&hmesi_device(l1, client).expect("legal"), seed);
        b.source::<CuReq>("cu_req", &s.cu());
        b.sink::<CuRsp>("cu_rsp", &s.cu());
        b.sink::<HReq>("req", &s);
        b.sink::<HWb>("wb", &s);
        b.sink::<HRsp>("rsp_out", &s);
        b.source::<HFwd>("fwd", &s);
        b.source::<HRsp>("rsp", &s);
        b.set("own", OWN as u64);
        b.chances(&[("req", 0.6), ("wb", 0.3), ("rsp_out", 0.6)]);
        World {
            b,
            lines: (0x40..0x48).collect(),
            words: BTreeMap::new(),
            left: BTreeSet::new(),
            clients: vec![Client::default(); s.clients() as usize],
            directory: Directory::default(),
            data: vec![vec![0; s.words() as usize]],
            post: Vec::new(),
            open: BTreeMap::new(),
            waits: [false; THREADS],
            next_id: 0,
            last: 0,
            replies: 0,
            slow: 10,
            rate: 0.1,
            issue: 0.5,
            s,
        }
    }

    fn now(&self) -> u64 {
        self.b.sim.cycle()
    }
    fn last_word(&self) -> usize {
        self.s.words() as usize - 1
    }
    fn word(&mut self, line: u64, w: usize) -> &mut Word {
        self.words.entry((line, w)).or_default()
    }

    /// Node of a client or the directory, of a line; and back.
    fn node(&self, who: usize, line: u64) -> u64 {
        let bank = (line % u64::from(self.s.banks)) as u32;
        match who {
            HOME => u64::from(self.s.l3_node(bank)),
            gpu if gpu as u32 == self.s.cpus => u64::from(self.s.l2_node(bank)),
            cpu => cpu as u64,
        }
    }
    fn who(&self, node: u64, line: u64) -> usize {
        let all = (0..self.clients.len()).chain([HOME]);
        all.into_iter().find(|who| self.node(*who, line) == node).unwrap_or_else(|| panic!("no node {node}"))
    }

    fn wide(&self, words: &[u32]) -> Bv {
        Bv::concat(&words.iter().map(|w| Bv::from_u64(u64::from(*w), 32)).collect::<Vec<_>>())
    }
    fn number(&mut self, m: &Msg) -> u64 {
        let words = (0..self.s.words()).map(|w| m.wide("data").slice(32 * w, 32).low_u64() as u32);
        self.data.push(words.collect());
        self.data.len() as u64 - 1
    }

    fn send(&mut self, m: M) {
        let due = self.now() + self.b.rng.random_range(1..=self.slow);
        self.post.push((due, m));
    }

    fn issue(&mut self) {
        let thread = self.b.rng.random_range(0..THREADS);
        let chance = self.issue;
        let busy = self.waits[thread] || self.b.source_mut("cu_req").queue.len() > 1;
        if busy || !self.b.rng.random_bool(chance) {
            return;
        }
        let line = *self.lines.choose(&mut self.b.rng).expect("lines");
        let n = self.s.words() as usize;
        let mut w = self.b.rng.random_range(0..n - 1);
        if w >= COUNTERS && w % THREADS != thread {
            w = self.b.rng.random_range(0..COUNTERS);
        }
        let ask = match self.b.rng.random_range(0..20) {
            0 => Ask::Fence,
            1..9 if w < COUNTERS => {
                self.word(line, w).begun += 1;
                Ask::Add { line, w }
            }
            1..9 => {
                self.word(line, w).begun += 1;
                Ask::Store { line, w, value: self.word(line, w).begun }
            }
            _ => Ask::Load { line, low: (0..n).map(|w| self.word(line, w).done).collect() },
        };
        self.ask(thread, ask);
    }

    fn ask(&mut self, thread: usize, ask: Ask) {
        let id = self.next_id;
        self.next_id = (self.next_id + 1) % 4096;
        let n = self.s.words();
        let bytes = |w: usize| 0xf_u64 << (4 * w);
        let ones = u64::MAX >> (64 - 4 * n);
        let (op, line, mask, word) = match &ask {
            Ask::Load { line, .. } => (CuOp::Ld, *line, ones, None),
            Ask::Store { line, w, value } => (CuOp::St, *line, bytes(*w), Some((*w, *value))),
            Ask::Add { line, w } => (CuOp::Amo, *line, bytes(*w), Some((*w, 1))),
            Ask::Fence => (CuOp::Rel, 0, 0, None),
        };
        let mut data = vec![0x5a5a_5a5a; n as usize];
        if let Some((w, value)) = word {
            data[w] = value;
        }
        let fields = [
            ("op", op as u64),
            ("id", id),
            ("sync", 0),
            ("sem", 0),
            ("class", 0),
            ("want_ack", 1),
            ("sgn", 0),
            ("line", line),
            ("mask", mask),
            ("amo", AmoOp::Add as u64),
        ];
        let m = Msg::of::<CuReq>(&self.s.cu(), &fields).with("data", self.wide(&data));
        self.b.send("cu_req", m);
        self.open.insert(id, (thread, ask));
        self.waits[thread] = true;
    }

    /// A counter had this value when somebody added to it.
    fn added(&mut self, line: u64, w: usize, old: u32) {
        assert!(self.left.insert((line, w, old)), "two add to line {line:#x} word {w} of {old}");
        self.word(line, w).done += 1;
    }

    fn reply(&mut self, m: &Msg) {
        let (thread, ask) = self.open.remove(&m.get("id")).expect("somebody waits");
        self.waits[thread] = false;
        let value = |w: usize| m.wide("data").slice(32 * w as u32, 32).low_u64() as u32;
        match ask {
            Ask::Load { line, low } => {
                for (w, low) in low.into_iter().enumerate() {
                    let (found, begun) = (value(w), self.word(line, w).begun);
                    let text = format!("loads {found} from line {line:#x} word {w}, not {low}..={begun}");
                    assert!((low..=begun).contains(&found), "{text}");
                }
            }
            Ask::Store { line, w, value } => self.word(line, w).done = value,
            Ask::Add { line, w } => self.added(line, w, value(w)),
            Ask::Fence => {}
        }
    }

    /// Something that another client does.
    fn other(&mut self) {
        let c = loop {
            let c = self.b.rng.random_range(0..self.clients.len());
            if c != OWN {
                break c;
            }
        };
        let line = *self.lines.choose(&mut self.b.rng).expect("lines");
        let dice = self.b.rng.random_range(0..8);
        let gets = |st: St| if st == St::Is { "GetS" } else { "GetM" };
        let next = match self.clients[c].st(line) {
            St::I => [St::Is, St::Im][dice % 2],
            St::S if dice < 2 => St::Sm,
            St::S if dice < 3 => {
                self.clients[c].lines.remove(&line);
                return;
            }
            St::E | St::M if dice < 3 => St::Mi,
            St::E | St::M if dice < 7 => return self.writes(c, line),
            _ => return,
        };
        let dirty = self.clients[c].st(line) == St::M;
        let used = self.clients[c].tags();
        let tag = (0..).find(|t| !used.contains(t)).expect("unlimited");
        let now = self.now();
        self.clients[c].leaves(line, next, tag, 0, now);
        let op = if next == St::Mi { "Put" } else { gets(next) };
        let value = self.clients[c].lines[&line].value;
        self.send(M { dirty, value, ..M::new(op, line, (c, HOME), tag % 4) });
    }

    /// Another client writes what it owns: its own word, or a counter.
    fn writes(&mut self, c: usize, line: u64) {
        let last = self.last_word();
        let w = if self.b.rng.random_bool(0.5) { last } else { self.b.rng.random_range(0..COUNTERS) };
        let l = self.clients[c].lines.get_mut(&line).expect("owned");
        let mut words = self.data[l.value as usize].clone();
        let old = words[w];
        words[w] += 1;
        self.data.push(words);
        (l.st, l.value) = (St::M, self.data.len() as u64 - 1);
        self.word(line, w).begun += 1;
        self.added(line, w, old);
    }

    fn says(&mut self, c: usize, m: &M, said: Vec<Say>) {
        for say in said {
            let (op, dst, value) = match say {
                Say::DataS(v) => ("DataS", m.req, v),
                Say::DataM(v) => ("DataM", m.req, v),
                Say::InvAck => ("InvAck", m.req, 0),
                Say::InvAckHome => ("InvAck", HOME, 0),
                Say::WbData(v, _) => ("WbData", HOME, v.unwrap_or(0)),
                Say::Unblock => ("Unblock", HOME, 0),
                Say::UnblockX => ("UnblockX", HOME, 0),
                Say::Reads(v) | Say::ReadsOnce(v, _) => {
                    self.sees(m.line, v, matches!(say, Say::Reads(_)));
                    continue;
                }
            };
            let (dirty, kept) = match say {
                Say::WbData(v, kept) => (v.is_some(), kept),
                _ => (false, false),
            };
            let peer = op.starts_with("Data");
            let m = M { dirty, kept, peer, value, ..M::new(op, m.line, (c, dst), m.tag) };
            self.send(m);
        }
    }

    /// Another client reads a line; `strict`: everything complete must be there.
    fn sees(&mut self, line: u64, value: u64, strict: bool) {
        for (w, found) in self.data[value as usize].clone().into_iter().enumerate() {
            let Word { begun, done } = *self.word(line, w);
            assert!(
                found <= begun && (found >= done || !strict),
                "{found} in line {line:#x} word {w}, {done}..={begun}"
            );
        }
    }

    /// A message arrives at the directory or another client.
    fn arrives(&mut self, m: &M) {
        if m.dst == HOME {
            return self.directory.take(m.clone());
        }
        let c = m.dst;
        let said = if FORWARDS.contains(&m.op) {
            self.clients[c].forwarded(m.op, m.line, m.recall)
        } else {
            // The clients' transactions have more numbers than messages.
            let tag = self.clients[c].lines.get(&m.line).map_or(m.tag, |l| l.tag);
            self.clients[c].answered(m.op, m.line, (tag, m.acks as i64, m.peer), m.value)
        };
        let said = said.unwrap_or_else(|text| panic!("{c}: {text}: {m:?}"));
        self.says(c, m, said);
    }

    /// A message arrives at the device.
    fn offer(&mut self, m: &M) {
        let fields = [
            ("line", m.line),
            ("src", self.node(m.src, m.line)),
            ("dst", OWN as u64),
            ("req", if m.req == HOME { 0 } else { self.node(m.req, m.line) }),
            ("tag", m.tag),
            ("recall", u64::from(m.recall)),
            ("acks", m.acks),
            ("peer", u64::from(m.peer)),
        ];
        let code = |names: &[&str]| names.iter().position(|n| *n == m.op).map(|i| i as u64);
        let data = self.wide(&self.data[m.value as usize].clone());
        if let Some(op) = code(&FORWARDS) {
            let fields = [&[("op", op)], &fields[..6]].concat();
            return self.b.send("fwd", Msg::of::<HFwd>(&self.s, &fields));
        }
        let op = code(&RESPONSES).expect("a response");
        let (names, _) = fields.split_at(3);
        let fields = [&[("op", op)], names, &fields[4..5], &fields[6..]].concat();
        self.b.send("rsp", Msg::of::<HRsp>(&self.s, &fields).with("data", data));
    }

    /// What the device sends.
    fn collect(&mut self) {
        while let Some((_, m)) = self.b.received("req") {
            let op = ["GetS", "GetM"][m.get("op") as usize];
            self.send(M::new(op, m.get("line"), (OWN, HOME), m.get("tag")));
        }
        while let Some((_, m)) = self.b.received("wb") {
            let value = self.number(&m);
            let dirty = m.get("dirty") == 1;
            self.send(M { dirty, value, ..M::new("Put", m.get("line"), (OWN, HOME), m.get("tag")) });
        }
        while let Some((_, m)) = self.b.received("rsp_out") {
            let value = self.number(&m);
            let line = m.get("line");
            let (op, dst) = (RESPONSES[m.get("op") as usize], self.who(m.get("dst"), line));
            let flag = |name: &str| m.get(name) == 1;
            let (peer, dirty, kept) = (flag("peer"), flag("dirty"), flag("kept"));
            let m = M::new(op, line, (OWN, dst), m.get("tag"));
            self.send(M { peer, dirty, kept, value, ..m });
        }
    }

    /// One cycle of everything.
    pub fn cycle(&mut self) {
        let now = self.now();
        self.issue();
        let rate = self.rate;
        if self.b.rng.random_bool(rate) {
            self.other();
        }
        if self.b.rng.random_bool(rate / 10.0) {
            let line = *self.lines.choose(&mut self.b.rng).expect("lines");
            self.directory.evict(line);
        }
        self.b.step();
        while let Some((_, m)) = self.b.received("cu_rsp") {
            self.last = now;
            self.replies += 1;
            self.reply(&m);
        }
        self.collect();
        for m in std::mem::take(&mut self.directory.out) {
            self.send(m);
        }
        let due = |post: &[(u64, M)]| post.iter().position(|(due, _)| *due <= now);
        while let Some(at) = due(&self.post) {
            let (_, m) = self.post.swap_remove(at);
            if m.dst == OWN { self.offer(&m) } else { self.arrives(&m) }
        }
        let state = (&self.open, &self.directory);
        assert!(now < self.last + 5_000 || self.issue == 0.0, "nothing is answered any more: {state:?}");
    }

    pub fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.cycle());
    }

    fn quiet(&self) -> bool {
        let idle = |c: &Client| c.tags().is_empty();
        self.open.is_empty()
            && self.post.is_empty()
            && self.directory.quiet()
            && self.clients.iter().all(idle)
    }

    /// Ends all work, takes every line back and looks at it.
    pub fn end(&mut self) {
        (self.issue, self.rate) = (0.0, 0.0);
        self.run(3_000);
        assert!(self.quiet(), "{:?} {:?}", self.open, self.directory);
        for line in self.lines.clone() {
            self.directory.evict(line);
        }
        self.run(1_500);
        assert!(self.quiet(), "{:?}", self.directory);
        for line in self.lines.clone() {
            let value = self.directory.entry(line).value;
            for (w, found) in self.data[value as usize].clone().into_iter().enumerate() {
                let word = *self.word(line, w);
                assert_eq!(
                    (found, word.done),
                    (word.begun, word.begun),
                    "line {line:#x} word {w} in the end"
                );
            }
        }
        self.b.falls_asleep(40);
    }
}

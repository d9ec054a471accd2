//! A bank among clients and a memory, over networks that keep no order.
//!
//! A line's data is its version. Only a client in M writes, the next version over the last one: so whatever is read outside ISI is the last version, for a writer has all InvAcks.

use crate::mesi_llc::golden::Golden;
use rand::Rng;
use rand::seq::IndexedRandom;
use std::collections::{BTreeMap, BTreeSet};
use weft_hmesi_bench::client::{Client, Say, St};
use weft_rtl::bv::Bv;
use weft_spandex::hmesi::mesi_llc::{MesiLlcParams, mesi_llc};
use weft_spandex::hmesi::msg::{HFwd, HReq, HRsp, HRspOp, HWb};
use weft_spandex::mesi_port::Get;
use weft_spandex::msg::{MemReq, MemRsp};
use weft_spandex_bench::bench::{Bench, Msg};

/// What the messages are called by their encoding.
const FORWARDS: [&str; 4] = ["FwdGetS", "FwdGetM", "Recall", "Inv"];
const RESPONSES: [&str; 8] = ["DataS", "DataE", "DataM", "InvAck", "WbAck", "WbData", "Unblock", "UnblockX"];

/// Where a message goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    Bank(&'static str),
    Fwd(usize),
    Rsp(usize),
}

/// A line in the bank.
#[derive(Clone, Debug, PartialEq)]
pub struct There {
    /// 1 C, 2 SS, 3 MT.
    pub state: u64,
    pub dirty: bool,
    pub owner: u64,
    pub sharers: u64,
    pub value: u64,
}

/// Everything.
pub struct World {
    pub p: MesiLlcParams,
    pub b: Bench,
    pub lines: Vec<u64>,
    pub clients: Vec<Client>,
    /// Versions written.
    pub written: BTreeMap<u64, u64>,
    pub post: Vec<(u64, To, Msg)>,
    pub memory: BTreeMap<u64, u64>,
    pub held_lines: BTreeSet<u64>,
    held_answers: Vec<(u64, Msg)>,
    pub delay: u64,
    pub memory_delay: u64,
    pub rate: f64,
    pub reads: u64,
    pub writes: u64,
    pub complaint: Option<String>,
    /// What the bank has sent, and what has reached clients from others: client, name, message.
    pub log: Vec<(usize, &'static str, Msg)>,
    pub times: Vec<u64>,
    /// The golden model's opinion, if it is asked.
    pub golden: Option<Golden>,
    bank: u64,
}

impl World {
    /// A bank with idle clients; `count` lines of it are used, in few sets.
    pub fn new(p: &MesiLlcParams, count: usize, seed: u64) -> World {
        let s = &p.bank.s;
        let mut b = Bench::new(&mesi_llc(p).unwrap_or_else(|e| panic!("{e}")), seed);
        b.source::<HReq>("req", s);
        b.source::<HWb>("wb", s);
        b.source::<HRsp>("rsp_in", s);
        b.source::<MemRsp>("mem_rsp", s);
        b.sink::<HRsp>("rsp", s);
        b.sink::<HFwd>("fwd", s);
        b.sink::<MemReq>("mem_req", s);
        let bank = u64::from(s.banks) - 1;
        b.set("own", u64::from(s.l3_node(bank as u32)));
        let mut lines = Vec::new();
        while lines.len() < count {
            let high = b.rng.random_range(0..4u64) << (s.line_bits() - 3 - s.bank_select());
            let line =
                (high | b.rng.random_range(0..u64::from(p.bank.sets()) * 4)) * u64::from(s.banks) + bank;
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        World {
            p: p.clone(),
            b,
            lines,
            clients: vec![Client::default(); s.clients() as usize],
            written: BTreeMap::new(),
            post: Vec::new(),
            memory: BTreeMap::new(),
            held_lines: BTreeSet::new(),
            held_answers: Vec::new(),
            delay: 20,
            memory_delay: 30,
            rate: 0.05,
            reads: 0,
            writes: 0,
            complaint: None,
            log: Vec::new(),
            times: Vec::new(),
            golden: None,
            bank,
        }
    }

    pub fn complain(&mut self, text: String) {
        let cycle = self.b.sim.cycle();
        self.complaint.get_or_insert(format!("cycle {cycle}: {text}"));
    }

    /// Node of a client, and the client of a node.
    pub fn node(&self, client: usize) -> u64 {
        match client as u32 == self.p.bank.s.cpus {
            true => u64::from(self.p.bank.s.l2_node(self.bank as u32)),
            false => client as u64,
        }
    }
    fn client(&self, node: u64) -> Option<usize> {
        (0..self.clients.len()).find(|c| self.node(*c) == node)
    }
    fn home(&self) -> u64 {
        u64::from(self.p.bank.s.l3_node(self.bank as u32))
    }

    /// A line's data of a version.
    fn data(&self, version: u64) -> Bv {
        let part = Bv::from_u64(version, 64);
        Bv::concat(&vec![part; self.p.bank.s.data_bits() as usize / 64])
    }

    /// The version that data is; none if it is no version at all.
    fn version(&mut self, m: &Msg) -> u64 {
        let version = m.wide("data").slice(0, 64).low_u64();
        if *m.wide("data") != self.data(version) {
            self.complain(format!("torn data: {m:?}"));
        }
        version
    }

    pub fn last(&self, line: u64) -> u64 {
        self.written.get(&line).copied().unwrap_or(0)
    }

    fn send(&mut self, to: To, msg: Msg) {
        // Some Puts are very slow: their line has had other owners when they come.
        let slow = to == To::Bank("wb") && self.delay > 0 && self.b.rng.random_bool(0.2);
        let longest = if slow { 1_000 } else { self.delay };
        let due = self.b.sim.cycle() + self.b.rng.random_range(0..=longest);
        self.post.push((due, to, msg));
    }

    /// A client asks; false if it may not.
    pub fn ask(&mut self, c: usize, op: Get, line: u64) -> bool {
        let st = self.clients[c].st(line);
        let next = match (op, st) {
            (Get::GetS, St::I) => St::Is,
            (Get::GetM, St::I) => St::Im,
            (Get::GetM, St::S) => St::Sm,
            _ => return false,
        };
        let Some(tag) = self.leaves(c, line, next) else { return false };
        let fields =
            [("op", op as u64), ("line", line), ("src", self.node(c)), ("dst", self.home()), ("tag", tag)];
        self.send(To::Bank("req"), Msg::of::<HReq>(&self.p.bank.s, &fields));
        true
    }

    fn leaves(&mut self, c: usize, line: u64, st: St) -> Option<u64> {
        let used = self.clients[c].tags();
        let tag = (0..u64::from(self.p.bank.s.tags())).find(|t| !used.contains(t))?;
        let (floor, now) = (self.last(line), self.b.sim.cycle());
        self.clients[c].leaves(line, st, tag, floor, now);
        Some(tag)
    }

    /// A client evicts what it owns.
    pub fn put(&mut self, c: usize, line: u64) -> bool {
        let st = self.clients[c].st(line);
        if !matches!(st, St::E | St::M) {
            return false;
        }
        let Some(tag) = self.leaves(c, line, St::Mi) else { return false };
        let dirty = st == St::M;
        let fields = [
            ("line", line),
            ("src", self.node(c)),
            ("dst", self.home()),
            ("tag", tag),
            ("dirty", u64::from(dirty)),
        ];
        let value = self.clients[c].lines[&line].value;
        // What a clean Put bears is not looked at.
        let data = self.data(if dirty { value } else { 0xdead });
        self.send(To::Bank("wb"), Msg::of::<HWb>(&self.p.bank.s, &fields).with("data", data));
        true
    }

    /// A client writes what it owns.
    pub fn write(&mut self, c: usize, line: u64) -> bool {
        let last = self.last(line);
        let Some(l) = self.clients[c].lines.get_mut(&line) else { return false };
        if !matches!(l.st, St::E | St::M) {
            return false;
        }
        let found = l.value;
        (l.st, l.value) = (St::M, last + 1);
        self.written.insert(line, last + 1);
        self.writes += 1;
        if found != last {
            self.complain(format!("{c} writes {line:#x} over version {found}, not {last}"));
        }
        true
    }

    fn reads(&mut self, c: usize, line: u64, value: u64, floor: u64) {
        self.reads += 1;
        let last = self.last(line);
        if !(floor..=last).contains(&value) {
            self.complain(format!("{c} reads version {value} of {line:#x}, not {floor}..={last}"));
        }
    }

    /// Something that a client may do.
    fn begin(&mut self, c: usize) {
        let line = *self.lines.choose(&mut self.b.rng).expect("lines");
        let dice = self.b.rng.random_range(0..8);
        match self.clients[c].st(line) {
            St::I if dice < 6 => drop(self.ask(c, if dice < 3 { Get::GetS } else { Get::GetM }, line)),
            St::S if dice < 2 => drop(self.ask(c, Get::GetM, line)),
            St::S if dice < 3 => {
                self.clients[c].lines.remove(&line);
            }
            St::E | St::M if dice < 2 => drop(self.put(c, line)),
            St::E | St::M if dice < 5 => drop(self.write(c, line)),
            St::S | St::E | St::M => {
                let (value, last) = (self.clients[c].lines[&line].value, self.last(line));
                self.reads(c, line, value, last);
            }
            _ => {}
        }
    }

    /// What a client says.
    fn says(&mut self, c: usize, line: u64, m: &Msg, said: Vec<Say>) {
        for say in said {
            let to = match say {
                Say::DataS(_) | Say::DataM(_) | Say::InvAck => m.get("req"),
                _ => self.home(),
            };
            let (op, value, dirty, kept) = match say {
                Say::DataS(v) => (HRspOp::DataS, v, false, false),
                Say::DataM(v) => (HRspOp::DataM, v, false, false),
                Say::InvAck | Say::InvAckHome => (HRspOp::InvAck, 0, false, false),
                Say::WbData(v, kept) => (HRspOp::WbData, v.unwrap_or(0xdead), v.is_some(), kept),
                Say::Unblock => (HRspOp::Unblock, 0, false, false),
                Say::UnblockX => (HRspOp::UnblockX, 0, false, false),
                Say::Reads(v) => {
                    let last = self.last(line);
                    self.reads(c, line, v, last);
                    continue;
                }
                Say::ReadsOnce(v, floor) => {
                    self.reads(c, line, v, floor);
                    continue;
                }
            };
            let home = to == self.home();
            let fields = [
                ("op", op as u64),
                ("line", line),
                ("src", self.node(c)),
                ("dst", to),
                ("tag", if home { 0 } else { m.get("tag") }),
                ("peer", u64::from(!home && op != HRspOp::InvAck)),
                ("dirty", u64::from(dirty)),
                ("kept", u64::from(kept)),
                ("acks", 0),
            ];
            let msg = Msg::of::<HRsp>(&self.p.bank.s, &fields).with("data", self.data(value));
            match self.client(to) {
                _ if home => self.send(To::Bank("rsp_in"), msg),
                Some(other) => self.send(To::Rsp(other), msg),
                None => self.complain(format!("nobody is node {to}")),
            }
        }
    }

    fn forwarded(&mut self, c: usize, m: &Msg) {
        let (op, line) = (FORWARDS[m.get("op") as usize], m.get("line"));
        match self.clients[c].forwarded(op, line, m.get("recall") == 1) {
            Ok(said) => self.says(c, line, m, said),
            Err(text) => self.complain(format!("{c}, {line:#x}: {text}")),
        }
    }

    fn answered(&mut self, c: usize, m: &Msg) {
        let (op, line) = (RESPONSES[m.get("op") as usize], m.get("line"));
        let value = if op.starts_with("Data") { self.version(m) } else { 0 };
        let how = (m.get("tag"), m.get("acks") as i64, m.get("peer") == 1);
        match self.clients[c].answered(op, line, how, value) {
            Ok(said) => self.says(c, line, m, said),
            Err(text) => self.complain(format!("{c}, {line:#x}: {text}")),
        }
    }

    fn deliver(&mut self) {
        let now = self.b.sim.cycle();
        let mut i = 0;
        while i < self.post.len() {
            let (due, to, _) = self.post[i];
            let held = match to {
                To::Fwd(c) => self.clients[c].hold_fwd,
                To::Rsp(c) => self.clients[c].hold_rsp,
                To::Bank(_) => false,
            };
            if due > now || held {
                i += 1;
                continue;
            }
            let (_, to, msg) = self.post.swap_remove(i);
            match to {
                To::Bank(channel) => {
                    let value = msg.0.get("data").map_or(0, |data| data.slice(0, 64).low_u64());
                    if let Some(golden) = self.golden.as_mut().filter(|_| channel != "mem_rsp") {
                        golden.took(channel, &msg, value);
                    }
                    self.b.send(channel, msg);
                }
                To::Fwd(c) => self.forwarded(c, &msg),
                To::Rsp(c) => self.answered(c, &msg),
            }
        }
    }

    fn collect(&mut self) {
        let now = self.b.sim.cycle();
        for channel in ["fwd", "rsp"] {
            while let Some((_, m)) = self.b.received(channel) {
                let Some(c) = self.client(m.get("dst")) else {
                    return self.complain(format!("nobody is called {}: {m:?}", m.get("dst")));
                };
                let fwd = channel == "fwd";
                let op = m.get("op") as usize;
                let value = m.0.get("data").map_or(0, |data| data.slice(0, 64).low_u64());
                self.judge(|golden| if fwd { golden.forwards(&m) } else { golden.answers(&m, value) });
                self.log.push((c, if fwd { FORWARDS[op] } else { RESPONSES[op] }, m.clone()));
                self.times.push(now);
                self.send(if fwd { To::Fwd(c) } else { To::Rsp(c) }, m);
            }
        }
        while let Some((_, m)) = self.b.received("mem_req") {
            let line = m.get("line");
            if m.get("write") == 1 {
                let value = self.version(&m);
                self.memory.insert(line, value);
                self.judge(|golden| golden.ordered(line, Some(value)));
                continue;
            }
            let value = self.memory.get(&line).copied().unwrap_or(0);
            self.judge(|golden| golden.ordered(line, None));
            if let Some(golden) = &mut self.golden {
                golden.memory(line, value);
            }
            let answer =
                Msg::of::<MemRsp>(&self.p.bank.s, &[("tbe", m.get("tbe"))]).with("data", self.data(value));
            if self.held_lines.contains(&line) {
                self.held_answers.push((line, answer));
                continue;
            }
            let due = now + self.b.rng.random_range(0..=self.memory_delay);
            self.post.push((due, To::Bank("mem_rsp"), answer));
        }
    }

    /// What the golden model says, if it is asked.
    fn judge(&mut self, what: impl FnOnce(&mut Golden) -> Result<(), String>) {
        if let Some(Err(text)) = self.golden.as_mut().map(what) {
            self.complain(format!("golden model: {text}"));
        }
    }

    /// The golden model judges everything from now on: an empty bank.
    pub fn watch(&mut self) {
        self.golden = Some(Golden::new(&self.p.bank.s, self.bank));
    }

    /// Memory answers for a line again.
    pub fn release(&mut self, line: u64) {
        self.held_lines.remove(&line);
        let (now, later): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.held_answers).into_iter().partition(|a| a.0 == line);
        self.held_answers = later;
        now.into_iter().for_each(|(_, m)| self.b.send("mem_rsp", m));
    }

    /// One cycle; `more`: clients begin new things.
    pub fn step(&mut self, more: bool) {
        for c in 0..self.clients.len() {
            if more && self.b.rng.random_bool(self.rate) {
                self.begin(c);
            }
        }
        self.deliver();
        self.b.advance();
        if let Some(failure) = self.b.sim.failures().first() {
            let text = format!("{failure:?}");
            self.complain(text);
        }
        self.collect();
        let now = self.b.sim.cycle();
        if now.is_multiple_of(16) {
            self.check_owners();
        }
    }

    /// One client at most owns a line, and then nobody shares it; nobody waits for ever.
    fn check_owners(&mut self) {
        let now = self.b.sim.cycle();
        for line in self.lines.clone() {
            let of = |states: &[St]| self.clients.iter().filter(|c| states.contains(&c.st(line))).count();
            let (owners, sharers) = (of(&[St::E, St::M]), of(&[St::S, St::Sm]));
            if owners > 1 || (owners == 1 && sharers > 0) {
                self.complain(format!("{line:#x} has {owners} owners and {sharers} sharers"));
            }
        }
        let rest = |st: St| matches!(st, St::I | St::S | St::E | St::M);
        let old = |c: &Client| c.lines.values().any(|l| !rest(l.st) && now > l.since + 15_000);
        if let Some(c) = (0..self.clients.len()).find(|c| old(&self.clients[*c])) {
            let text = format!("{c} waits for ever: {:?}", self.clients[c]);
            self.complain(text);
        }
    }

    fn shuffle(&mut self) {
        self.b.shuffle(&[0.1, 0.5, 1.0]);
        self.delay = [2, 20, 100][self.b.rng.random_range(0..3)];
        self.memory_delay = [0, 40, 200][self.b.rng.random_range(0..3)];
        self.rate = [0.01, 0.1, 0.5][self.b.rng.random_range(0..3)];
    }

    /// Runs, with everything changing every 300 cycles; stops at the first complaint.
    pub fn run(&mut self, cycles: u64) {
        for cycle in 0..cycles {
            if cycle % 300 == 0 {
                self.shuffle();
            }
            self.step(true);
            self.log.clear();
            self.times.clear();
            if self.complaint.is_some() {
                return;
            }
        }
    }

    /// Nobody waits for anything.
    fn quiet(&self) -> bool {
        self.post.is_empty() && self.b.has_sent_all() && self.clients.iter().all(|c| c.tags().is_empty())
    }

    /// Lets everything come to its end.
    pub fn drain(&mut self) {
        self.b.hold_nothing();
        for c in &mut self.clients {
            (c.hold_fwd, c.hold_rsp) = (false, false);
        }
        let mut calm = 0;
        for _ in 0..30_000 {
            calm = if self.quiet() { calm + 1 } else { 0 };
            if calm > 40 || self.complaint.is_some() {
                return;
            }
            self.step(false);
        }
        self.complain("something waits for ever".into());
    }

    /// Steps without new work.
    pub fn rest(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.step(false));
    }

    /// Everything is reset and forgets what it had.
    pub fn reset(&mut self) {
        self.b.reset();
        self.clients.iter_mut().for_each(|c| *c = Client::default());
        self.written.clear();
        self.post.clear();
        self.memory.clear();
        self.held_answers.clear();
    }

    fn peek(&self, name: &str, row: u32, lane: u32) -> u64 {
        self.b.sim.peek_mem(name, row, lane).unwrap_or_else(|| panic!("no memory {name}")).low_u64()
    }

    /// What the bank holds of a line.
    pub fn line(&self, line: u64) -> Option<There> {
        let p = &self.p;
        let index = line >> p.bank.s.bank_select();
        let (set, tag) = ((index % u64::from(p.bank.sets())) as u32, index / u64::from(p.bank.sets()));
        (0..p.bank.ways).find_map(|way| {
            let packed = self.peek("tags", set, way);
            let state = packed >> p.bank.tag_bits() & 3;
            let found = state != 0 && packed & ((1 << p.bank.tag_bits()) - 1) == tag;
            found.then(|| There {
                state,
                dirty: packed >> (p.bank.tag_bits() + 2) & 1 == 1,
                owner: if state == 3 { packed >> (p.bank.tag_bits() + 3) } else { 0 },
                sharers: self.peek("sharers", set, way),
                value: self.peek("lines", set * p.bank.ways + way, 0),
            })
        })
    }

    /// At rest: the owner is the client in E or M, sharers are known, the last version is where it counts.
    fn check_rest(&mut self) {
        for line in self.lines.clone() {
            let there = self.line(line);
            let last = self.last(line);
            let with = |st: &[St]| -> Vec<u64> {
                (0..self.clients.len())
                    .filter(|c| st.contains(&self.clients[*c].st(line)))
                    .map(|c| c as u64)
                    .collect()
            };
            let (owners, dirty, sharers) = (with(&[St::E, St::M]), with(&[St::M]), with(&[St::S]));
            let known: Vec<u64> = there.iter().filter(|t| t.state == 3).map(|t| t.owner).collect();
            let in_ss = |c: &u64| there.as_ref().is_some_and(|t| t.state == 2 && t.sharers >> c & 1 == 1);
            let mut wrong = Vec::new();
            if owners != known {
                wrong.push(format!("owned by {owners:?}"));
            }
            if !sharers.iter().all(in_ss) {
                wrong.push(format!("shared by {sharers:?}"));
            }
            let memory = self.memory.get(&line).copied().unwrap_or(0);
            let below = there.as_ref().map_or(memory, |t| t.value);
            if dirty.is_empty() && below != last {
                wrong.push(format!("version {below}, not {last}"));
            }
            if there.as_ref().is_some_and(|t| !t.dirty && t.value != memory) {
                wrong.push(format!("clean, but memory has {memory}"));
            }
            if !wrong.is_empty() {
                self.complain(format!("{line:#x} at rest is {there:?}: {}", wrong.join("; ")));
            }
        }
    }

    /// Nothing was wrong.
    pub fn check(&self) {
        if let Some(complaint) = &self.complaint {
            panic!("{complaint}");
        }
    }

    /// Runs to the end and looks at everything.
    pub fn finish(&mut self) {
        self.drain();
        if self.complaint.is_none() {
            self.judge(Golden::rest);
            self.check_rest();
        }
    }

    /// Clients and names of all messages sent by the bank since the log was cleared.
    pub fn sent(&self) -> Vec<(usize, &'static str)> {
        self.log.iter().map(|(c, name, _)| (*c, *name)).collect()
    }
}

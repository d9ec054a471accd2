//! The L3 as the bank under test sees it, with CPU clients that read and write (spandex.md section 9): a directory that serves one transaction of a line at a time, forwards, invalidates
//! and recalls whenever it likes, over networks that keep no order.

use rand::Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use weft_rtl::prelude::*;
use weft_spandex::hmesi::gpu_l2::{GpuL2Params, gpu_l2};
use weft_spandex::hmesi::msg::{HFwd, HFwdOp, HReq, HRsp, HRspOp, HWb};
use weft_spandex::mesi_port::Get;
use weft_spandex_bench::bench::{Bench, Msg};
use weft_spandex_bench::devices::{Below, Geometry, Kind, Line, To, base, is_data, wide, words_of};

/// A bank of the GPU L2 among devices.
pub type World = weft_spandex_bench::devices::World<L3>;

/// Who holds a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Nobody.
    C,
    /// CPUs, and the GPU L2 as far as the L3 knows.
    Ss(u64, bool),
    /// One CPU.
    Cpu(u64),
    /// The GPU L2.
    Gpu,
}

/// What a line waits for.
#[derive(Clone, Debug)]
enum Busy {
    /// The bank's Unblock or UnblockX; then this state.
    Unblock(State, HRspOp),
    /// The bank's answers to a forward: who asked, its tag, DataS or DataM, WbData.
    Forward { op: HFwdOp, cpu: u64, tag: u64, data: bool, wb: bool, floor: Vec<u32> },
    /// The bank's InvAck; then the CPU writes, or nobody has the line.
    Inv { cpu: Option<u64>, tag: u64 },
}

struct Entry {
    state: State,
    busy: Option<(Busy, u64)>,
}

/// A message of the bank on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum From {
    Req,
    Wb,
    Rsp,
}

/// The L3.
pub struct L3 {
    p: GpuL2Params,
    entries: BTreeMap<u64, Entry>,
    inbox: Vec<(u64, From, Msg)>,
    /// Everything the bank has sent, since this was cleared.
    pub log: Vec<(From, Msg)>,
    /// Answers to the bank of these kinds are held back.
    pub held: BTreeSet<u64>,
    held_back: Vec<Msg>,
    /// Puts, GetS and GetM wait on their way.
    pub deaf: bool,
    /// Chance per cycle that a CPU or the L3 itself wants a line.
    pub pester: f64,
    next_tag: u64,
    calm: bool,
}

/// A bank with idle devices; `count` lines of it are used, in few sets.
pub fn world_of(p: &GpuL2Params, kinds: &[Kind], count: usize, seed: u64) -> World {
    let l3 = L3 {
        p: p.clone(),
        entries: BTreeMap::new(),
        inbox: Vec::new(),
        log: Vec::new(),
        held: BTreeSet::new(),
        held_back: Vec::new(),
        deaf: false,
        pester: 0.02,
        next_tag: 0,
        calm: false,
    };
    World::over(l3, Geometry { s: p.s.clone(), sets: p.bank().sets(), sharers: false }, kinds, count, seed)
}

impl L3 {
    fn bank(&self) -> u64 {
        u64::from(self.p.s.l2_node(self.p.s.banks - 1))
    }
    fn home(&self) -> u64 {
        u64::from(self.p.s.l3_node(self.p.s.banks - 1))
    }
    fn entry(&mut self, line: u64) -> &mut Entry {
        self.entries.entry(line).or_insert(Entry { state: State::C, busy: None })
    }
    /// Who holds a line now.
    pub fn state(&self, line: u64) -> State {
        self.entries.get(&line).map_or(State::C, |e| e.state)
    }
    /// A line waits for the bank.
    pub fn is_busy(&self, line: u64) -> bool {
        self.entries.get(&line).is_some_and(|e| e.busy.is_some())
    }
    /// Messages of the bank of a kind.
    pub fn sent(&self, op: HRspOp) -> Vec<Msg> {
        let of = |(from, m): &&(From, Msg)| *from == From::Rsp && m.get("op") == op as u64;
        self.log.iter().filter(of).map(|(_, m)| m.clone()).collect()
    }
    /// GetS and GetM of the bank: kind and line.
    pub fn gets(&self) -> Vec<(u64, u64)> {
        let of = |(from, m): &(From, Msg)| (*from == From::Req).then(|| (m.get("op"), m.get("line")));
        self.log.iter().filter_map(of).collect()
    }
    /// Puts of the bank: line, dirty.
    pub fn puts(&self) -> Vec<(u64, bool)> {
        let of = |(from, m): &(From, Msg)| (*from == From::Wb).then(|| (m.get("line"), m.get("dirty") == 1));
        self.log.iter().filter_map(of).collect()
    }
}

/// Number of a CPU, after those of devices, for the scoreboard.
fn reader(w: &World, cpu: u64) -> usize {
    w.devs.len() + cpu as usize
}

fn answer(
    w: &mut World,
    op: HRspOp,
    src: u64,
    (line, tag): (u64, u64),
    more: &[(&str, u64)],
    data: Option<&[u32]>,
) {
    let fields = [("op", op as u64), ("line", line), ("src", src), ("dst", w.below.bank()), ("tag", tag)];
    let fields: Vec<(&str, u64)> = fields.iter().chain(more).copied().collect();
    let m = Msg::of::<HRsp>(&w.p.s, &fields);
    let m = match data {
        Some(words) => m.with("data", wide(words)),
        None => m,
    };
    if w.below.held.contains(&(op as u64)) {
        return w.below.held_back.push(m);
    }
    w.send(To::Bank("l3_rsp"), m);
}

/// Held answers go on their way.
pub fn release(w: &mut World) {
    w.below.held.clear();
    for m in std::mem::take(&mut w.below.held_back) {
        w.send(To::Bank("l3_rsp"), m);
    }
}

fn forward(w: &mut World, op: HFwdOp, line: u64, cpu: u64, tag: u64, recall: bool) {
    let fields = [
        ("op", op as u64),
        ("line", line),
        ("src", w.below.home()),
        ("dst", w.below.bank()),
        ("req", cpu),
        ("tag", tag),
        ("recall", u64::from(recall)),
    ];
    let m = Msg::of::<HFwd>(&w.p.s, &fields);
    w.count(&format!("{op:?}"));
    w.send(To::Bank("l3_fwd"), m);
}

fn begin(w: &mut World, line: u64, busy: Busy) {
    let now = w.b.sim.cycle();
    w.below.entry(line).busy = Some((busy, now));
}

fn end(w: &mut World, line: u64, state: State) {
    let entry = w.below.entry(line);
    (entry.state, entry.busy) = (state, None);
}

/// A CPU reads a line below: what is complete must be there.
fn read_all(w: &mut World, cpu: u64, line: u64, floor: &[u32], values: &[u32]) {
    for (word, value) in values.iter().enumerate() {
        let d = reader(w, cpu);
        w.reads(d, (line, word as u32), *value, floor[word]);
    }
}

/// A CPU that owns a line writes some of its words.
fn write_some(w: &mut World, cpu: u64, line: u64) {
    let d = reader(w, cpu);
    let mut words = w.line_of(line).clone();
    for word in 0..w.p.s.words() {
        if !w.b.rng.random_bool(0.4) {
            continue;
        }
        let value = words[word as usize];
        if !is_data(line, word) {
            w.word(line, word).begun += 1;
            w.added(d, line, word, value);
        } else if w.word(line, word).writer.is_none() {
            let done = w.word(line, word).done;
            if value != base(line, word) + done {
                w.complain(format!(
                    "CPU {cpu} owns {line:#x}.{word} = {value:#x}, version {done} is complete"
                ));
            }
            w.begin_write(d, line, word);
            w.end_write(line, word);
        } else {
            continue;
        }
        words[word as usize] = value + 1;
        w.count("CPU writes");
    }
    *w.line_of(line) = words;
}

/// A CPU wants to read a line; false if it is busy.
pub fn cpu_reads(w: &mut World, line: u64, cpu: u64) -> bool {
    if w.below.is_busy(line) {
        return false;
    }
    let bit = 1 << cpu;
    match w.below.state(line) {
        State::C => end(w, line, State::Cpu(cpu)),
        State::Ss(cpus, gpu) => {
            let (floor, values) = (w.floors(line), w.line_of(line).clone());
            read_all(w, cpu, line, &floor, &values);
            end(w, line, State::Ss(cpus | bit, gpu));
        }
        State::Cpu(other) if other != cpu => end(w, line, State::Ss(bit | 1 << other, false)),
        State::Cpu(_) => {}
        State::Gpu => forwarded(w, HFwdOp::FwdGetS, line, cpu),
    }
    true
}

/// A CPU wants to write a line; false if it is busy.
pub fn cpu_writes(w: &mut World, line: u64, cpu: u64) -> bool {
    if w.below.is_busy(line) {
        return false;
    }
    match w.below.state(line) {
        State::Ss(_, true) => {
            let tag = next_tag(w);
            forward(w, HFwdOp::Inv, line, cpu, tag, false);
            begin(w, line, Busy::Inv { cpu: Some(cpu), tag });
        }
        State::Gpu => forwarded(w, HFwdOp::FwdGetM, line, cpu),
        _ => {
            end(w, line, State::Cpu(cpu));
            write_some(w, cpu, line);
        }
    }
    true
}

/// The L3 replaces a line; false if it is busy.
pub fn replaced(w: &mut World, line: u64) -> bool {
    if w.below.is_busy(line) {
        return false;
    }
    match w.below.state(line) {
        State::Ss(_, true) => {
            let tag = next_tag(w);
            forward(w, HFwdOp::Inv, line, 0, tag, true);
            begin(w, line, Busy::Inv { cpu: None, tag });
        }
        State::Gpu => forwarded(w, HFwdOp::Recall, line, 0),
        _ => end(w, line, State::C),
    }
    true
}

fn next_tag(w: &mut World) -> u64 {
    w.below.next_tag = (w.below.next_tag + 1) % u64::from(w.p.s.tags());
    w.below.next_tag
}

fn forwarded(w: &mut World, op: HFwdOp, line: u64, cpu: u64) {
    let (tag, floor) = (next_tag(w), w.floors(line));
    forward(w, op, line, cpu, tag, false);
    let (data, wb) = (op != HFwdOp::Recall, op != HFwdOp::FwdGetM);
    begin(w, line, Busy::Forward { op, cpu, tag, data, wb, floor });
}

/// GetS or GetM of the bank; false if the line is busy.
fn asked(w: &mut World, m: &Msg) -> bool {
    let (line, tag, writes) = (m.get("line"), m.get("tag"), m.get("op") == Get::GetM as u64);
    if w.below.is_busy(line) {
        return false;
    }
    let (home, data) = (w.below.home(), w.line_of(line).clone());
    w.count(if writes { "GetM" } else { "GetS" });
    match (w.below.state(line), writes) {
        (State::Gpu, _) => w.complain(format!("the bank asks for what it owns: {m:?}")),
        (State::C, false) => {
            answer(w, HRspOp::DataE, home, (line, tag), &[], Some(&data));
            begin(w, line, Busy::Unblock(State::Gpu, HRspOp::UnblockX));
        }
        (State::Ss(cpus, _), false) => {
            answer(w, HRspOp::DataS, home, (line, tag), &[("peer", 0)], Some(&data));
            end(w, line, State::Ss(cpus, true));
        }
        (State::Cpu(cpu), false) => {
            answer(w, HRspOp::DataS, cpu, (line, tag), &[("peer", 1)], Some(&data));
            let kept = if w.b.rng.random_bool(0.5) { 1 << cpu } else { 0 };
            begin(w, line, Busy::Unblock(State::Ss(kept, true), HRspOp::Unblock));
        }
        (state, true) => {
            let (cpus, src, peer) = match state {
                State::Ss(cpus, _) => (cpus, home, 0),
                State::Cpu(cpu) => (0, cpu, 1),
                _ => (0, home, 0),
            };
            let more = [("acks", u64::from(cpus.count_ones())), ("peer", peer)];
            answer(w, HRspOp::DataM, src, (line, tag), &more, Some(&data));
            for cpu in (0..64).filter(|c| cpus >> c & 1 == 1) {
                answer(w, HRspOp::InvAck, cpu, (line, tag), &[], None);
            }
            begin(w, line, Busy::Unblock(State::Gpu, HRspOp::UnblockX));
        }
    }
    true
}

/// Put of the bank; false if the line is busy.
fn put(w: &mut World, m: &Msg) -> bool {
    let line = m.get("line");
    if w.below.is_busy(line) {
        return false;
    }
    w.count("Put");
    if w.below.state(line) == State::Gpu {
        came_back(w, line, m);
        end(w, line, State::C);
    } else {
        w.count("stale Put");
    }
    let home = w.below.home();
    answer(w, HRspOp::WbAck, home, (line, m.get("tag")), &[], None);
    true
}

/// The bank gives its line back; a clean one is as the L3 has it.
fn came_back(w: &mut World, line: u64, m: &Msg) {
    if m.get("dirty") == 1 {
        *w.line_of(line) = words_of(m.wide("data"));
    }
    for word in 0..w.p.s.words() {
        let (versions, value) = (*w.word(line, word), w.line_of(line)[word as usize]);
        let version = value.wrapping_sub(base(line, word));
        if version < versions.done || version > versions.begun {
            w.complain(format!("{line:#x}.{word} comes back as {value:#x}, {versions:?}"));
        }
    }
}

/// An answer of the bank, to the L3 or a CPU.
fn replied(w: &mut World, m: &Msg) {
    let (line, op, home) = (m.get("line"), m.get("op"), w.below.home());
    let is = |kind: HRspOp| op == kind as u64;
    let Some((busy, _)) = w.below.entry(line).busy.clone() else {
        return w.complain(format!("nobody waits for {m:?}"));
    };
    let to_l3 = m.get("dst") == home;
    match busy {
        Busy::Unblock(state, expected) if is(expected) && to_l3 => end(w, line, state),
        Busy::Inv { cpu, tag } if is(HRspOp::InvAck) && m.get("tag") == tag => {
            if m.get("dst") != cpu.unwrap_or(home) {
                return w.complain(format!("InvAck for somebody else: {m:?}"));
            }
            end(w, line, cpu.map_or(State::C, State::Cpu));
            if let Some(cpu) = cpu {
                write_some(w, cpu, line);
            }
        }
        Busy::Forward { op: asked, cpu, tag, data, wb, floor } => {
            let fits = if asked == HFwdOp::FwdGetS { HRspOp::DataS } else { HRspOp::DataM };
            if is(HRspOp::WbData) && wb && to_l3 {
                came_back(w, line, m);
                let kept = m.get("kept") == 1;
                return went_on(
                    w,
                    line,
                    (asked, cpu, kept),
                    Busy::Forward { op: asked, cpu, tag, data, wb: false, floor },
                );
            }
            if !(is(fits) && data && m.get("dst") == cpu && m.get("tag") == tag && m.get("peer") == 1) {
                return w.complain(format!("{asked:?} of {cpu} is answered {m:?}"));
            }
            let values = words_of(m.wide("data"));
            read_all(w, cpu, line, &floor, &values);
            if asked == HFwdOp::FwdGetM {
                *w.line_of(line) = values;
                end(w, line, State::Cpu(cpu));
                return write_some(w, cpu, line);
            }
            let kept = w.below.state(line) == State::Ss(1 << cpu, true);
            went_on(
                w,
                line,
                (asked, cpu, kept),
                Busy::Forward { op: asked, cpu, tag, data: false, wb, floor },
            );
        }
        busy => w.complain(format!("{busy:?} gets {m:?}")),
    }
}

/// One of the answers to FwdGetS or Recall has come.
fn went_on(w: &mut World, line: u64, (op, cpu, kept): (HFwdOp, u64, bool), busy: Busy) {
    let after = if op == HFwdOp::Recall { State::C } else { State::Ss(1 << cpu, kept) };
    match busy {
        Busy::Forward { data: false, wb: false, .. } => end(w, line, after),
        Busy::Forward { wb: false, .. } => {
            // WbData came first: whether a copy was kept stays with the line.
            w.below.entry(line).state = after;
            begin(w, line, busy);
        }
        busy => begin(w, line, busy),
    }
}

/// Somebody wants a line.
fn pester(w: &mut World) {
    let line = w.lines[w.b.rng.random_range(0..w.lines.len())];
    let cpu = w.b.rng.random_range(0..u64::from(w.p.s.cpus));
    match w.b.rng.random_range(0..8) {
        0..3 => drop(cpu_reads(w, line, cpu)),
        3..6 => drop(cpu_writes(w, line, cpu)),
        6 => drop(replaced(w, line)),
        _ if !w.below.is_busy(line) => match w.below.state(line) {
            State::Cpu(cpu) if w.b.rng.random_bool(0.5) => write_some(w, cpu, line),
            State::Cpu(_) => end(w, line, State::C),
            _ => {}
        },
        _ => {}
    }
}

impl Below for L3 {
    const FORWARDS: bool = false;

    fn module(&self) -> Arc<Module> {
        gpu_l2(&self.p).unwrap_or_else(|e| panic!("{e}"))
    }

    fn open(&self, b: &mut Bench) {
        let s = &self.p.s;
        b.sink::<HReq>("l3_req", s);
        b.sink::<HWb>("l3_wb", s);
        b.sink::<HRsp>("l3_rsp_out", s);
        b.source::<HFwd>("l3_fwd", s);
        b.source::<HRsp>("l3_rsp", s);
    }

    fn step(w: &mut World) {
        let now = w.b.sim.cycle();
        for (channel, from) in [("l3_req", From::Req), ("l3_wb", From::Wb), ("l3_rsp_out", From::Rsp)] {
            while let Some((_, m)) = w.b.received(channel) {
                let to_me = from == From::Rsp || m.get("dst") == w.below.home();
                if m.get("src") != w.below.bank() || !to_me {
                    return w.complain(format!("a message of somebody else: {m:?}"));
                }
                w.below.log.push((from, m.clone()));
                let due = now + w.b.rng.random_range(0..=w.delay);
                w.below.inbox.push((due, from, m));
            }
        }
        let mut i = 0;
        while i < w.below.inbox.len() {
            let (due, from, m) = w.below.inbox[i].clone();
            let taken = due <= now
                && match from {
                    From::Req => !w.below.deaf && asked(w, &m),
                    From::Wb => !w.below.deaf && put(w, &m),
                    From::Rsp => {
                        replied(w, &m);
                        true
                    }
                };
            if taken {
                w.below.inbox.remove(i);
            } else {
                i += 1;
            }
        }
        if !w.below.calm && w.below.pester > 0.0 && w.b.rng.random_bool(w.below.pester) {
            pester(w);
        }
        let old = w.below.entries.iter().find(|(_, e)| e.busy.as_ref().is_some_and(|b| now > b.1 + 15_000));
        if let Some((line, e)) = old {
            let text = format!("{line:#x} waits for ever: {:?}", e.busy);
            w.complain(text);
        }
    }

    fn shuffle(w: &mut World) {
        w.below.pester = [0.002, 0.02, 0.2][w.b.rng.random_range(0..3)];
        w.reads = [0.0, 0.0, 0.9][w.b.rng.random_range(0..3)];
        w.below.log.clear();
    }

    fn calm(w: &mut World) {
        w.below.calm = true;
        w.below.deaf = false;
        release(w);
    }

    fn quiet(&self) -> bool {
        self.inbox.is_empty() && self.entries.values().all(|e| e.busy.is_none())
    }

    fn reset(&mut self) {
        self.entries.clear();
        self.inbox.clear();
        self.log.clear();
        self.held_back.clear();
        self.calm = false;
    }

    fn line(w: &World, line: u64) -> Option<Line> {
        let p = w.below.p.bank();
        let index = line >> p.s.bank_select();
        let (set, tag) = ((index % u64::from(p.sets())) as u32, index / u64::from(p.sets()));
        (0..p.ways).find_map(|way| {
            let packed = w.peek("tags", set, way);
            let state = packed >> p.tag_bits() & 3;
            let found = state != 0 && packed & ((1 << p.tag_bits()) - 1) == tag;
            found.then(|| Line {
                // S here is no state of sharers below the bank.
                state: if state == 1 { PERM_S } else { state + 1 },
                dirty: state == 3,
                owned: w.peek("owned", set, way),
                sharers: 0,
                words: (0..p.s.words())
                    .map(|word| w.peek("lines", set * p.ways + way, word) as u32)
                    .collect(),
            })
        })
    }

    fn check_rest(w: &mut World, line: u64) {
        let (there, state) = (w.line(line), w.below.state(line));
        let perm = there.as_ref().map_or(0, |l| l.state);
        let agrees = match perm {
            0 => state != State::Gpu,
            PERM_S => matches!(state, State::Ss(_, true)),
            _ => state == State::Gpu,
        };
        if !agrees {
            w.complain(format!("{line:#x}: the bank has {perm}, the L3 {state:?}"));
        }
        let clean = there.filter(|l| !l.dirty && l.words != *w.line_of(line));
        if let Some(l) = clean {
            w.complain(format!("{line:#x} is clean, but not as in the L3: {l:x?}"));
        }
    }
}

/// States of [`Line`]: what the L3 has granted.
pub const PERM_S: u64 = 1;
pub const PERM_E: u64 = 3;
pub const PERM_M: u64 = 4;

//! The L3 as the bank under test sees it, with CPU clients that read and write (spandex.md section 9): a directory that serves one transaction of a line at a time, forwards, invalidates
//! and recalls whenever it likes, over networks that keep no order.

use rand::Rng;
use rand::rngs::SmallRng;
use std::collections::{BTreeMap, BTreeSet};
use weft_spandex::hmesi::gpu_l2::GpuL2Params;
use weft_spandex::hmesi::msg::{HFwd, HFwdOp, HReq, HRsp, HRspOp, HWb};
use weft_spandex::mesi_port::Get;
use weft_spandex::params::Spandex;
use weft_spandex_bench::bench::{Bench, Msg};
use weft_spandex_bench::devices::{wide, words_of};

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
    cpus: u64,
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

impl L3 {
    /// An L3 that has every line, for the last bank.
    pub fn new(p: &GpuL2Params) -> L3 {
        L3 {
            p: p.clone(),
            cpus: u64::from(p.bank.s.cpus),
            entries: BTreeMap::new(),
            inbox: Vec::new(),
            log: Vec::new(),
            held: BTreeSet::new(),
            held_back: Vec::new(),
            deaf: false,
            pester: 0.02,
            next_tag: 0,
            calm: false,
        }
    }
    /// The same with so many CPUs of its own, in a system whose devices are all CUs.
    pub fn with_cpus(p: &GpuL2Params, cpus: u64) -> L3 {
        L3 { cpus, ..L3::new(p) }
    }
    /// What fixes its bank.
    pub fn params(&self) -> &GpuL2Params {
        &self.p
    }
    /// Nothing is under way.
    pub fn idle(&self) -> bool {
        self.inbox.is_empty() && self.entries.values().all(|e| e.busy.is_none())
    }
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.inbox.clear();
        self.log.clear();
        self.held_back.clear();
        self.calm = false;
    }
    fn bank(&self) -> u64 {
        u64::from(self.p.bank.s.l2_node(self.p.bank.s.banks - 1))
    }
    fn home(&self) -> u64 {
        u64::from(self.p.bank.s.l3_node(self.p.bank.s.banks - 1))
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

/// What the L3 stands in: its bank's channels, memory, and who looks at values.
pub trait Around {
    /// The L3.
    fn l3(&mut self) -> &mut L3;
    /// Chance.
    fn rng(&mut self) -> &mut SmallRng;
    /// The cycle.
    fn now(&self) -> u64;
    /// Longest time of a message on its way.
    fn delay(&self) -> u64;
    /// A line that somebody may want.
    fn any_line(&mut self) -> u64;
    /// A message that the bank has sent.
    fn sent(&mut self, channel: &'static str) -> Option<Msg>;
    /// A message goes to a channel of the bank.
    fn to_bank(&mut self, channel: &'static str, m: Msg);
    /// Words of a line that the bank does not own.
    fn words(&mut self, line: u64) -> &mut Vec<u32>;
    /// Something is wrong.
    fn wrong(&mut self, text: String);
    /// Something has happened.
    fn happened(&mut self, what: &str);
    /// What a CPU that asks now must see at least.
    fn floor(&mut self, line: u64) -> Vec<u32>;
    /// A CPU reads a line.
    fn read_by(&mut self, cpu: u64, line: u64, floor: &[u32], values: &[u32]);
    /// A CPU that owns a line may write to it.
    fn write_by(&mut self, cpu: u64, line: u64);
    /// A line has come back from the bank.
    fn back(&mut self, line: u64);
}

fn answer<A: Around>(
    w: &mut A,
    op: HRspOp,
    src: u64,
    (line, tag): (u64, u64),
    more: &[(&str, u64)],
    data: Option<&[u32]>,
) {
    let fields = [("op", op as u64), ("line", line), ("src", src), ("dst", w.l3().bank()), ("tag", tag)];
    let fields: Vec<(&str, u64)> = fields.iter().chain(more).copied().collect();
    let m = Msg::of::<HRsp>(&w.l3().p.bank.s, &fields);
    let m = match data {
        Some(words) => m.with("data", wide(words)),
        None => m,
    };
    if w.l3().held.contains(&(op as u64)) {
        return w.l3().held_back.push(m);
    }
    w.to_bank("l3_rsp", m);
}

/// Held answers go on their way.
pub fn release<A: Around>(w: &mut A) {
    w.l3().held.clear();
    for m in std::mem::take(&mut w.l3().held_back) {
        w.to_bank("l3_rsp", m);
    }
}

fn forward<A: Around>(w: &mut A, op: HFwdOp, line: u64, cpu: u64, tag: u64, recall: bool) {
    let fields = [
        ("op", op as u64),
        ("line", line),
        ("src", w.l3().home()),
        ("dst", w.l3().bank()),
        ("req", cpu),
        ("tag", tag),
        ("recall", u64::from(recall)),
    ];
    let m = Msg::of::<HFwd>(&w.l3().p.bank.s, &fields);
    w.happened(&format!("{op:?}"));
    w.to_bank("l3_fwd", m);
}

fn begin<A: Around>(w: &mut A, line: u64, busy: Busy) {
    let now = w.now();
    w.l3().entry(line).busy = Some((busy, now));
}

fn end<A: Around>(w: &mut A, line: u64, state: State) {
    let entry = w.l3().entry(line);
    (entry.state, entry.busy) = (state, None);
}

/// A CPU wants to read a line; false if it is busy.
pub fn cpu_reads<A: Around>(w: &mut A, line: u64, cpu: u64) -> bool {
    if w.l3().is_busy(line) {
        return false;
    }
    let bit = 1 << cpu;
    match w.l3().state(line) {
        State::C => end(w, line, State::Cpu(cpu)),
        State::Ss(cpus, gpu) => {
            let (floor, values) = (w.floor(line), w.words(line).clone());
            w.read_by(cpu, line, &floor, &values);
            end(w, line, State::Ss(cpus | bit, gpu));
        }
        State::Cpu(other) if other != cpu => end(w, line, State::Ss(bit | 1 << other, false)),
        State::Cpu(_) => {}
        State::Gpu => forwarded(w, HFwdOp::FwdGetS, line, cpu),
    }
    true
}

/// A CPU wants to write a line; false if it is busy.
pub fn cpu_writes<A: Around>(w: &mut A, line: u64, cpu: u64) -> bool {
    if w.l3().is_busy(line) {
        return false;
    }
    match w.l3().state(line) {
        State::Ss(_, true) => {
            let tag = next_tag(w);
            forward(w, HFwdOp::Inv, line, cpu, tag, false);
            begin(w, line, Busy::Inv { cpu: Some(cpu), tag });
        }
        State::Gpu => forwarded(w, HFwdOp::FwdGetM, line, cpu),
        _ => {
            end(w, line, State::Cpu(cpu));
            w.write_by(cpu, line);
        }
    }
    true
}

/// The L3 replaces a line; false if it is busy.
pub fn replaced<A: Around>(w: &mut A, line: u64) -> bool {
    if w.l3().is_busy(line) {
        return false;
    }
    match w.l3().state(line) {
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

fn next_tag<A: Around>(w: &mut A) -> u64 {
    let l3 = w.l3();
    l3.next_tag = (l3.next_tag + 1) % u64::from(l3.p.bank.s.tags());
    l3.next_tag
}

fn forwarded<A: Around>(w: &mut A, op: HFwdOp, line: u64, cpu: u64) {
    let (tag, floor) = (next_tag(w), w.floor(line));
    forward(w, op, line, cpu, tag, false);
    let (data, wb) = (op != HFwdOp::Recall, op != HFwdOp::FwdGetM);
    begin(w, line, Busy::Forward { op, cpu, tag, data, wb, floor });
}

/// GetS or GetM of the bank; false if the line is busy.
fn asked<A: Around>(w: &mut A, m: &Msg) -> bool {
    let (line, tag, writes) = (m.get("line"), m.get("tag"), m.get("op") == Get::GetM as u64);
    if w.l3().is_busy(line) {
        return false;
    }
    let (home, data) = (w.l3().home(), w.words(line).clone());
    w.happened(if writes { "GetM" } else { "GetS" });
    match (w.l3().state(line), writes) {
        (State::Gpu, _) => w.wrong(format!("the bank asks for what it owns: {m:?}")),
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
            let kept = if w.rng().random_bool(0.5) { 1 << cpu } else { 0 };
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
fn put<A: Around>(w: &mut A, m: &Msg) -> bool {
    let line = m.get("line");
    if w.l3().is_busy(line) {
        return false;
    }
    w.happened("Put");
    if w.l3().state(line) == State::Gpu {
        came_back(w, line, m);
        end(w, line, State::C);
    } else {
        w.happened("stale Put");
    }
    let home = w.l3().home();
    answer(w, HRspOp::WbAck, home, (line, m.get("tag")), &[], None);
    true
}

/// The bank gives its line back; a clean one is as the L3 has it.
fn came_back<A: Around>(w: &mut A, line: u64, m: &Msg) {
    if m.get("dirty") == 1 {
        *w.words(line) = words_of(m.wide("data"));
    }
    w.back(line);
}

/// An answer of the bank, to the L3 or a CPU.
fn replied<A: Around>(w: &mut A, m: &Msg) {
    let (line, op, home) = (m.get("line"), m.get("op"), w.l3().home());
    let is = |kind: HRspOp| op == kind as u64;
    let Some((busy, _)) = w.l3().entry(line).busy.clone() else {
        return w.wrong(format!("nobody waits for {m:?}"));
    };
    let to_l3 = m.get("dst") == home;
    match busy {
        Busy::Unblock(state, expected) if is(expected) && to_l3 => end(w, line, state),
        Busy::Inv { cpu, tag } if is(HRspOp::InvAck) && m.get("tag") == tag => {
            if m.get("dst") != cpu.unwrap_or(home) {
                return w.wrong(format!("InvAck for somebody else: {m:?}"));
            }
            end(w, line, cpu.map_or(State::C, State::Cpu));
            if let Some(cpu) = cpu {
                w.write_by(cpu, line);
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
                return w.wrong(format!("{asked:?} of {cpu} is answered {m:?}"));
            }
            let values = words_of(m.wide("data"));
            w.read_by(cpu, line, &floor, &values);
            if asked == HFwdOp::FwdGetM {
                *w.words(line) = values;
                end(w, line, State::Cpu(cpu));
                return w.write_by(cpu, line);
            }
            let kept = w.l3().state(line) == State::Ss(1 << cpu, true);
            went_on(
                w,
                line,
                (asked, cpu, kept),
                Busy::Forward { op: asked, cpu, tag, data: false, wb, floor },
            );
        }
        busy => w.wrong(format!("{busy:?} gets {m:?}")),
    }
}

/// One of the answers to FwdGetS or Recall has come.
fn went_on<A: Around>(w: &mut A, line: u64, (op, cpu, kept): (HFwdOp, u64, bool), busy: Busy) {
    let after = if op == HFwdOp::Recall { State::C } else { State::Ss(1 << cpu, kept) };
    match busy {
        Busy::Forward { data: false, wb: false, .. } => end(w, line, after),
        Busy::Forward { wb: false, .. } => {
            // WbData came first: whether a copy was kept stays with the line.
            w.l3().entry(line).state = after;
            begin(w, line, busy);
        }
        busy => begin(w, line, busy),
    }
}

/// Somebody wants a line.
fn pester<A: Around>(w: &mut A) {
    let (line, cpus) = (w.any_line(), w.l3().cpus);
    let cpu = w.rng().random_range(0..cpus);
    match w.rng().random_range(0..8) {
        0..3 => _ = cpu_reads(w, line, cpu),
        3..6 => drop(cpu_writes(w, line, cpu)),
        6 => drop(replaced(w, line)),
        _ if !w.l3().is_busy(line) => match w.l3().state(line) {
            State::Cpu(cpu) if w.rng().random_bool(0.5) => w.write_by(cpu, line),
            State::Cpu(_) => end(w, line, State::C),
            _ => {}
        },
        _ => {}
    }
}

/// Adds the channels of the L3 to a bench.
pub fn open(b: &mut Bench, s: &Spandex) {
    b.sink::<HReq>("l3_req", s);
    b.sink::<HWb>("l3_wb", s);
    b.sink::<HRsp>("l3_rsp_out", s);
    b.source::<HFwd>("l3_fwd", s);
    b.source::<HRsp>("l3_rsp", s);
}

/// From now on nobody wants anything by himself, and nothing is held back.
pub fn to_its_end<A: Around>(w: &mut A) {
    w.l3().calm = true;
    w.l3().deaf = false;
    release(w);
}

/// One cycle: what the bank has sent is taken, and answered.
pub fn cycle<A: Around>(w: &mut A) {
    let (now, delay) = (w.now(), w.delay());
    for (channel, from) in [("l3_req", From::Req), ("l3_wb", From::Wb), ("l3_rsp_out", From::Rsp)] {
        while let Some(m) = w.sent(channel) {
            let to_me = from == From::Rsp || m.get("dst") == w.l3().home();
            if m.get("src") != w.l3().bank() || !to_me {
                return w.wrong(format!("a message of somebody else: {m:?}"));
            }
            w.l3().log.push((from, m.clone()));
            let due = now + w.rng().random_range(0..=delay);
            w.l3().inbox.push((due, from, m));
        }
    }
    let mut i = 0;
    while i < w.l3().inbox.len() {
        let (due, from, m) = w.l3().inbox[i].clone();
        let taken = due <= now
            && match from {
                From::Req => !w.l3().deaf && asked(w, &m),
                From::Wb => !w.l3().deaf && put(w, &m),
                From::Rsp => {
                    replied(w, &m);
                    true
                }
            };
        if taken {
            w.l3().inbox.remove(i);
        } else {
            i += 1;
        }
    }
    let chance = if w.l3().calm { 0.0 } else { w.l3().pester };
    if chance > 0.0 && w.rng().random_bool(chance) {
        pester(w);
    }
    let old = w.l3().entries.iter().find(|(_, e)| e.busy.as_ref().is_some_and(|b| now > b.1 + 15_000));
    if let Some((line, e)) = old {
        let text = format!("{line:#x} waits for ever: {:?}", e.busy);
        w.wrong(text);
    }
}

//! L1s of hLRC above a bank: they register lines, change them, give them back on demand or by themselves, read and write back; owners are followed.
//!
//! L1s of DeNovo-B write nothing back, flush nothing, and show owned lines when they are read.

use crate::l2_bench::{self, Users};
use rand::Rng;
use std::collections::{BTreeMap, VecDeque};
use weft_rtl::bv::Bv;
use weft_srsp::hlrc_l2::{HlrcL2Params, Registered, hlrc_l2};
use weft_srsp::msg::{OwnerProbe, Probe, ReqOp, RspOp, WbOp};
use weft_srsp_bench::bench::Msg;
use weft_srsp_bench::memory::{Line, bytes, initial, mask, wide};

/// How often an L1 begins what, per cycle.
#[derive(Clone, Copy, Debug)]
pub struct Mix {
    pub rd: f64,
    pub wb: f64,
    pub reg: f64,
    /// Per owned line.
    pub atomic: f64,
    pub evict: f64,
}

impl Mix {
    /// Something of everything.
    pub const ALL: Mix = Mix { rd: 0.04, wb: 0.04, reg: 0.04, atomic: 0.05, evict: 0.01 };
    /// Nothing by itself.
    pub const NOTHING: Mix = Mix { rd: 0.0, wb: 0.0, reg: 0.0, atomic: 0.0, evict: 0.0 };
}

/// Bytes on their way to the bank.
#[derive(Clone, Debug)]
pub struct Write {
    pub line: u64,
    pub mask: Vec<bool>,
    pub data: Line,
    pub epoch: u64,
    /// It has gone to memory, and memory has acknowledged it.
    pub around: bool,
    pub durable: bool,
}

/// An owned line.
#[derive(Clone, Debug)]
pub struct Owned {
    pub mask: Vec<bool>,
    pub data: Line,
}

/// A line that leaves its owner when the flush is done.
#[derive(Clone, Debug)]
pub struct Capture {
    pub line: u64,
    pub copy: Owned,
    pub revoked: bool,
    pub until: u64,
}

/// An L1.
#[derive(Default)]
pub struct L1 {
    /// Reads by MSHR: the line, and what memory will send of one that goes around.
    pub rds: BTreeMap<u64, (u64, Option<Line>)>,
    /// Registrations by MSHR: the line, and grants of it to others since the bank has taken it.
    pub regs: BTreeMap<u64, (u64, Option<u64>)>,
    pub owned: BTreeMap<u64, Owned>,
    pub capture: Option<Capture>,
    pub wbs: BTreeMap<u64, Write>,
    pub unregs: BTreeMap<u64, Write>,
    /// REVOKE_ACKs with the line on their way.
    pub acks: BTreeMap<u64, Owned>,
    /// READ_ACKs with the line on their way.
    pub shown: BTreeMap<u64, Owned>,
    /// Lines that it is asked for, or to show.
    pub probes: VecDeque<(u64, bool)>,
    /// It serves no probes and finishes no flush.
    pub frozen: bool,
}

impl L1 {
    /// It may ask for a line, or write to it.
    fn pending(&self, line: u64) -> bool {
        self.regs.values().any(|reg| reg.0 == line)
    }
    fn reading(&self, line: u64) -> bool {
        self.rds.values().any(|rd| rd.0 == line)
    }
    fn in_wbt(&self, line: u64) -> bool {
        self.wbs.values().chain(self.unregs.values()).any(|write| write.line == line)
    }
    fn captured(&self, line: u64) -> bool {
        self.capture.as_ref().is_some_and(|capture| capture.line == line)
    }
}

/// Operations of the pipeline, by encoding. The bank of DeNovo-B has READ_ACK in the place of WB.
pub(super) const WB: u64 = 3;
pub(super) const READ_ACK: u64 = WB;
pub(super) const UNREG: u64 = 4;
pub(super) const REVOKE_ACK: u64 = 5;

/// The operation that was in stage 1 a cycle ago.
#[derive(Clone, Copy)]
pub(super) struct Op {
    pub kind: u64,
    pub src: u64,
    pub line: u64,
    pub wbt: u64,
    pub mshr: u64,
    pub has: bool,
}

/// What the L1s have and the bank has given.
pub struct L1s {
    /// What bank and memory hold together.
    pub(super) model: BTreeMap<u64, Line>,
    /// Owners as the bank's answers say.
    pub owners: BTreeMap<u64, u64>,
    before: Option<Op>,
    /// What answers must show, in the order of the last stage.
    expected: VecDeque<Option<Line>>,
    /// Writes of L1s at memory by number: L1, WBT entry.
    pub(super) at_memory: BTreeMap<u64, (usize, u64)>,
    /// Longest time of a flush.
    pub flush: u64,
    /// The owner of this line has shown it, and its reader comes next.
    pub(super) fresh: Option<u64>,
}

/// A run.
pub type World = l2_bench::World<L1s>;

impl Users for L1s {
    type Params = HlrcL2Params;
    type Mix = Mix;
    type L1 = L1;

    fn act(w: &mut World, c: usize, more: bool) {
        if more {
            w.begins(c);
        }
        if !w.l1s[c].frozen {
            w.serve_probe(c);
            w.hand_over(c);
        }
    }

    fn memory_answers(w: &mut World, m: &Msg) {
        if let Some((c, wbt)) = w.at_memory.remove(&m.get("id"))
            && let Some(write) = w.l1s[c].wbs.get_mut(&wbt)
        {
            write.durable = true;
        }
    }

    fn taken(w: &mut World, c: usize, m: &Msg, _: u64) {
        if let Some(reg) = w.l1s[c].regs.get_mut(&m.get("mshr")) {
            reg.1 = Some(0);
        }
    }

    fn settle(w: &mut World) {
        while let Some((_, m)) = w.b.received("probe") {
            w.asked(&m);
        }
        while let Some((_, m)) = w.answers.pop_front() {
            match w.expected.pop_front() {
                Some(line) => w.answer(&m, line),
                None => w.complain(format!("an answer from nowhere: {m:?}")),
            }
        }
    }

    fn shuffle(w: &mut World) {
        w.flush = [0, 30, 120][w.b.rng.random_range(0..3)];
    }

    fn let_go(w: &mut World) {
        w.l1s.iter_mut().for_each(|l1| l1.frozen = false);
    }

    fn idle(l1: &L1) -> bool {
        let on_way = l1.probes.is_empty() && l1.acks.is_empty() && l1.shown.is_empty();
        let lines = l1.capture.is_none() && on_way;
        lines && l1.rds.is_empty() && l1.regs.is_empty() && l1.wbs.is_empty() && l1.unregs.is_empty()
    }

    /// With the operation that was in stage 1 before.
    fn watch(w: &mut World, _: u64) {
        let s1 = |w: &World| Op {
            kind: w.peek("s1_kind"),
            src: w.peek("s1_src"),
            line: w.peek("s1_line"),
            wbt: w.peek("s1_wbt"),
            mshr: w.peek("s1_mshr"),
            has: w.peek("s1_has") == 1,
        };
        let next = (w.peek("s1_valid") == 1).then(|| s1(w));
        let Some(op) = std::mem::replace(&mut w.before, next) else { return };
        if w.peek("s2_valid") == 0 {
            return;
        }
        // Bytes that leave with a message are its own, or those of its line after it.
        let passes = w.peek("s2_order_write") == 1 && w.peek("s2_sends") != 0;
        let to_memory = (op.kind == WB && !w.stores() && passes).then(|| 0x80 | w.peek("s2_order_write_id"));
        w.change(op, to_memory);
        if w.peek("s2_order_read") == 1 && w.peek("s2_order_direct") == 1 {
            let line = w.model(op.line).clone();
            if let Some(rd) = w.l1s[op.src as usize].rds.get_mut(&op.mshr) {
                rd.1 = Some(line);
            }
            w.count("read_around");
        }
        if w.peek("s2_answer") == 1 {
            let rsp = w.peek("s2_rsp");
            let grants = rsp == RspOp::RegData as u64;
            if rsp == RspOp::Fill as u64 {
                w.filled(op.line);
            }
            let shows = w.peek("s2_shows") == 1;
            let line = shows.then(|| w.model(op.line).clone());
            w.expected.push_back(line);
            if grants {
                let dst = w.peek("s2_dst");
                w.granted(op.line, dst);
            }
        }
    }
}

impl World {
    /// A bank with idle L1s; `count` lines of it are used.
    pub fn new(p: &HlrcL2Params, mix: Mix, count: usize, seed: u64) -> World {
        let l1s = L1s {
            model: BTreeMap::new(),
            owners: BTreeMap::new(),
            before: None,
            expected: VecDeque::new(),
            at_memory: BTreeMap::new(),
            flush: if p.registered == Registered::Writes { 0 } else { 60 },
            fresh: None,
        };
        let (module, own) = (hlrc_l2(p).expect("legal"), u64::from(p.bank.srsp.banks) - 1);
        let mut w = World::begin(&module, (p, &p.bank.srsp, mix), (own, count), (L1::default, l1s), seed);
        if w.stores() {
            w.b.sink::<OwnerProbe>("probe", &p.bank.srsp);
        } else {
            w.b.sink::<Probe>("probe", &p.bank.srsp);
        }
        w
    }

    /// The L1s are those of DeNovo-B.
    pub(super) fn stores(&self) -> bool {
        self.p.registered == Registered::Writes
    }

    /// What bank and memory hold of a line.
    pub fn model(&mut self, line: u64) -> &mut Line {
        let size = self.p.bank.srsp.line;
        self.users.model.entry(line).or_insert_with(|| initial(line, size))
    }

    /// The lines that lie in a set.
    pub fn of_set(&self, set: u64) -> Vec<u64> {
        let (banks, sets) = (u64::from(self.p.bank.srsp.banks), u64::from(self.p.bank.sets()));
        self.lines.iter().copied().filter(|line| line / banks % sets == set).collect()
    }

    fn free_mshr(&self, c: usize) -> Option<u64> {
        let l1 = &self.l1s[c];
        (0..u64::from(self.p.bank.srsp.mshrs)).find(|m| !l1.rds.contains_key(m) && !l1.regs.contains_key(m))
    }

    fn free_wbt(&self, c: usize) -> Option<u64> {
        let l1 = &self.l1s[c];
        (0..u64::from(self.p.bank.srsp.wbt)).find(|w| !l1.wbs.contains_key(w) && !l1.unregs.contains_key(w))
    }

    fn ask(&mut self, c: usize, op: ReqOp, line: u64, mshr: u64) {
        let addr = self.address(line);
        self.request(c, op, &[("mshr", mshr), ("atomic_addr", addr)]);
    }

    fn send(&mut self, c: usize, op: WbOp, line: u64, fields: &[(&str, u64)], bytes: Option<(Bv, Bv)>) {
        let addr = self.address(line);
        self.post(c, op, &[&[("atomic_addr", addr)], fields].concat(), bytes);
    }

    /// An L1 reads a line, if it may; of one that it owns, in hLRC, the bytes beside the atomics.
    pub fn read(&mut self, c: usize, line: u64) -> bool {
        let l1 = &self.l1s[c];
        let may = !l1.in_wbt(line) && !l1.pending(line) && !l1.captured(line);
        let may = may && !(self.stores() && (l1.owned.contains_key(&line) || l1.reading(line)));
        let Some(mshr) = self.free_mshr(c).filter(|_| may) else { return false };
        let op = if l1.owned.contains_key(&line) { ReqOp::Rdu } else { ReqOp::Rd };
        self.l1s[c].rds.insert(mshr, (line, None));
        self.ask(c, op, line, mshr);
        true
    }

    /// An L1 registers a line, if it may.
    pub fn register(&mut self, c: usize, line: u64) -> bool {
        let l1 = &self.l1s[c];
        let busy = l1.in_wbt(line) || l1.pending(line) || l1.captured(line) || l1.reading(line);
        let may = !busy && !l1.owned.contains_key(&line);
        let Some(mshr) = self.free_mshr(c).filter(|_| may) else { return false };
        self.l1s[c].regs.insert(mshr, (line, None));
        self.ask(c, ReqOp::Reg, line, mshr);
        true
    }

    /// An L1 writes bytes back, if it may.
    pub fn write(&mut self, c: usize, line: u64, mask: Bv, data: Bv) -> bool {
        let may = !self.l1s[c].pending(line) && !self.stores();
        let Some(wbt) = self.free_wbt(c).filter(|_| may) else { return false };
        let epoch = self.b.rng.random_range(0..2);
        let (bits, bytes) = (self::mask(&mask), bytes(&data));
        let write = Write { line, mask: bits, data: bytes, epoch, around: false, durable: false };
        self.l1s[c].wbs.insert(wbt, write);
        self.send(c, WbOp::Wb, line, &[("wbt", wbt), ("epoch", epoch)], Some((mask, data)));
        true
    }

    /// An atomic changes eight bytes of an owned line.
    pub fn atomic(&mut self, c: usize, line: u64, word: usize, value: u64) {
        let owned = self.l1s[c].owned.get_mut(&line).expect("owned");
        for (i, byte) in value.to_le_bytes().into_iter().enumerate() {
            owned.data[8 * word + i] = byte;
            owned.mask[8 * word + i] = true;
        }
    }

    /// An owned line leaves: copied at once, sent when the flush is done.
    pub fn give_up(&mut self, c: usize, line: u64, revoked: bool) -> bool {
        if self.l1s[c].capture.is_some() {
            return false;
        }
        let Some(copy) = self.l1s[c].owned.remove(&line) else { return false };
        let until = self.b.sim.cycle() + self.b.rng.random_range(0..=self.flush);
        self.l1s[c].capture = Some(Capture { line, copy, revoked, until });
        true
    }

    /// A flush is done: the captured line goes to the bank.
    fn hand_over(&mut self, c: usize) {
        let now = self.b.sim.cycle();
        let Some(capture) = self.l1s[c].capture.clone().filter(|capture| capture.until <= now) else {
            return;
        };
        let (line, copy) = (capture.line, capture.copy);
        let bytes = Some((bits_of(&copy.mask), wide(&copy.data)));
        if capture.revoked {
            self.l1s[c].acks.insert(line, copy);
            self.send(c, WbOp::RevokeAck, line, &[("has", 1), ("keep", 0)], bytes);
        } else {
            let Some(wbt) = self.free_wbt(c) else { return };
            let Owned { mask, data } = copy;
            let write = Write { line, mask, data, epoch: 0, around: false, durable: false };
            self.l1s[c].unregs.insert(wbt, write);
            self.send(c, WbOp::Unreg, line, &[("wbt", wbt)], bytes);
        }
        self.l1s[c].capture = None;
    }

    /// An L1 serves the oldest REVOKE, unless it must wait.
    fn serve_probe(&mut self, c: usize) {
        let Some((line, read)) = self.l1s[c].probes.front().copied() else { return };
        if read {
            return self.show(c, line);
        }
        let l1 = &mut self.l1s[c];
        if let Some(capture) = l1.capture.as_mut().filter(|capture| capture.line == line) {
            if std::mem::replace(&mut capture.revoked, true) {
                self.complain(format!("{c} is asked twice for line {line:#x}"));
            }
        } else if l1.owned.contains_key(&line) {
            if !self.give_up(c, line, true) {
                return;
            }
        } else if l1.pending(line) && !l1.unregs.values().any(|unreg| unreg.line == line) {
            return;
        } else if l1.unregs.values().any(|unreg| unreg.line == line) {
            self.send(c, WbOp::RevokeAck, line, &[("has", 0), ("keep", 0)], None);
            self.count("crossed");
        } else {
            self.complain(format!("{c} is asked for line {line:#x}, which it has not"));
        }
        self.l1s[c].probes.pop_front();
    }

    /// An L1 shows a line that it owns, unless it must wait.
    fn show(&mut self, c: usize, line: u64) {
        let l1 = &mut self.l1s[c];
        if let Some(owned) = l1.owned.get_mut(&line) {
            let copy = owned.clone();
            owned.mask.iter_mut().for_each(|written| *written = false);
            let bytes = Some((bits_of(&copy.mask), wide(&copy.data)));
            l1.shown.insert(line, copy);
            self.send(c, WbOp::RevokeAck, line, &[("has", 1), ("keep", 1)], bytes);
            self.count("shown");
        } else if l1.unregs.values().any(|unreg| unreg.line == line) {
            self.send(c, WbOp::RevokeAck, line, &[("has", 0), ("keep", 1)], None);
            self.count("crossed");
        } else if l1.pending(line) || l1.captured(line) {
            return;
        } else {
            self.complain(format!("{c} is to show line {line:#x}, which it has not"));
        }
        self.l1s[c].probes.pop_front();
    }

    fn pick_line(&mut self) -> u64 {
        // Two lines are used more often than others.
        let n = self.lines.len();
        let at = if self.b.rng.random_bool(0.3) { 0..2 } else { 0..n };
        let at = self.b.rng.random_range(at);
        self.lines[at]
    }

    /// L1s begin what the mix says.
    fn begins(&mut self, c: usize) {
        let mix = self.mix;
        if self.chance(mix.rd) && self.free("req", c) {
            let line = self.pick_line();
            self.read(c, line);
        }
        if self.chance(mix.reg) && self.free("req", c) {
            let line = self.pick_line();
            self.register(c, line);
        }
        if self.chance(mix.wb) && self.free("wb", c) {
            let line = self.pick_line();
            let (mask, data) = self.random_bytes();
            if !mask.is_zero() {
                self.write(c, line, mask, data);
            }
        }
        let owned: Vec<u64> = self.l1s[c].owned.keys().copied().collect();
        for line in owned {
            if self.chance(mix.atomic) {
                let (word, value) = (self.b.rng.random_range(0..8), self.b.rng.random());
                self.atomic(c, line, word, value);
            }
            if self.chance(mix.evict) && self.free("wb", c) {
                self.give_up(c, line, false);
            }
        }
    }

    /// At the end all L1s give their lines back, and every line is read twice: what the bank has, and after others have taken its place.
    pub fn finish_all(&mut self) {
        self.drain();
        for c in 0..self.l1s.len() {
            while let Some(line) = self.l1s[c].owned.keys().next().copied() {
                self.give_up(c, line, false);
                self.drain();
                if self.complaint.is_some() {
                    return;
                }
            }
        }
        let lines: Vec<u64> = self.lines.iter().chain(&self.lines).copied().collect();
        for line in lines {
            self.read(0, line);
            self.drain();
        }
        if !self.owners.is_empty() {
            self.complain("lines are owned at the end".into());
        }
    }
}

fn bits_of(mask: &[bool]) -> Bv {
    let bits: Vec<Bv> = mask.iter().map(|b| Bv::from_u64(u64::from(*b), 1)).collect();
    Bv::concat(&bits)
}

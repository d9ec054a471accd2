//! The LLC bank of spandex.md section 4, one message at a time.
//!
//! Decisions where the page is silent:
//! - RspRvkO and Ack find their TBE by the line.
//! - A write on an S line whose targets are all owned invalidates nobody. The next state V of its row is that of the word, and the line stays S with its sharers, also when
//!   the words were revoked first: they are not owned any more when the request commits, but nobody has lost an S copy.
//! - Requests that replay go one after the other; one that finds no TBE or way free stays at the head, and REQ waits. WB, RSP and memory are taken all the same.
//! - RspRvkO does not say which request it answers: a word is counted once (`rv`), whoever sends it is checked against the owner.

pub mod commit;
pub mod lines;
mod phase1;
pub mod table;

use super::cover::{Cover, Mark};
use super::msg::{Data, Mask, Msg, Node, Op, words};
use super::slip::Slip;
use lines::{Frame, Lines};
use std::collections::VecDeque;
use std::rc::Rc;

/// Option of ReqS.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Choice {
    One,
    Two,
    Three,
}

/// Parameters of the banks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BankParams {
    /// Words of a line.
    pub words: u8,
    /// Banks.
    pub banks: u8,
    /// Devices.
    pub devices: u8,
    /// Devices that may hold S, one bit each.
    pub s_capable: u64,
    /// Devices that may hold O.
    pub o_capable: u64,
    /// `REQS_POLICY`; none is `eval`.
    pub policy: Option<Choice>,
    /// `RVKO_GRAN` = line.
    pub revoke_lines: bool,
    /// `FLEX_RSP`.
    pub flex_rsp: bool,
    /// `SHARER_MODE` = broadcast.
    pub broadcast: bool,
    /// {sets, ways}, ways a power of two.
    pub size: (usize, usize),
    /// `N_TBE`.
    pub tbes: usize,
    /// `N_STALL`.
    pub stalls: usize,
    /// A rule left out.
    pub slip: Option<Slip>,
}

impl BankParams {
    /// All words of a line.
    pub fn full(&self) -> Mask {
        ((1u32 << self.words) - 1) as Mask
    }
}

/// What blocks a line.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Kind {
    Fill,
    Phase1,
    Evict,
}

/// A blocked line.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Tbe {
    /// Line number.
    pub line: u32,
    /// What for.
    pub kind: Kind,
    /// Commits in the end.
    pub request: Option<Msg>,
    /// Ack expected from these devices.
    pub ack: u64,
    /// Sharers lose their copies: the line is S no longer in the end.
    pub unshares: bool,
    /// RspRvkO expected for these words.
    pub rv: Mask,
    /// Words revoked or forwarded by it.
    pub rvm: Mask,
    /// Target words that owners answer.
    pub ans: Mask,
    /// Owners that keep an S copy.
    pub kept: u64,
    /// Option of ReqS.
    pub choice: Choice,
    /// Requests that wait for the line or for its way.
    pub list: VecDeque<Msg>,
}

/// What a bank sends.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Out {
    /// A message.
    Msg(Msg),
    /// Memory is read.
    Read(u32),
    /// Memory is written.
    Write(u32, Data),
}

/// A bank.
#[derive(Clone, Debug)]
pub struct Bank {
    p: Rc<BankParams>,
    id: u8,
    /// Lines.
    pub lines: Lines,
    /// Blocked lines, by TBE index.
    pub tbes: Vec<Option<Tbe>>,
    /// Requests that replay.
    pub replay: VecDeque<Msg>,
    out: Vec<Out>,
    faults: Vec<String>,
    /// Reached since it was last taken.
    pub cover: Cover,
}

impl std::hash::Hash for Bank {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (&self.lines, &self.tbes, &self.replay).hash(state);
    }
}

impl Bank {
    /// After reset.
    pub fn new(id: u8, p: Rc<BankParams>) -> Bank {
        let (sets, ways) = p.size;
        let (tbes, banks) = (vec![None; p.tbes], u32::from(p.banks));
        let lines = Lines::new(banks, sets, ways);
        Bank {
            p,
            id,
            lines,
            tbes,
            replay: VecDeque::new(),
            out: Vec::new(),
            faults: Vec::new(),
            cover: Cover::default(),
        }
    }
    /// Nothing is under way.
    pub fn idle(&self) -> bool {
        self.tbes.iter().all(Option::is_none) && self.replay.is_empty()
    }
    /// What it has sent since.
    pub fn take_out(&mut self) -> Vec<Out> {
        std::mem::take(&mut self.out)
    }
    /// Broken rules since.
    pub fn take_faults(&mut self) -> Vec<String> {
        std::mem::take(&mut self.faults)
    }
    fn fault(&mut self, text: String) {
        self.faults.push(format!("bank {}: {text}", self.id));
    }
    fn send(&mut self, dev: u8, op: Op, line: u32, mask: Mask, tag: u8) -> Msg {
        Msg::new(Node::Bank(self.id), Node::Dev(dev), op, line, mask, tag)
    }
    fn tbe_of(&self, line: u32) -> Option<usize> {
        self.tbes.iter().position(|tbe| tbe.as_ref().is_some_and(|tbe| tbe.line == line))
    }
    fn free_tbe(&self) -> Option<usize> {
        self.tbes.iter().position(Option::is_none)
    }
    fn stalled(&self) -> usize {
        self.replay.len() + self.tbes.iter().flatten().map(|tbe| tbe.list.len()).sum::<usize>()
    }

    /// A message of REQ; false if it must wait, and nothing has changed.
    pub fn req(&mut self, msg: &Msg) -> bool {
        if !self.replay.is_empty() {
            return false;
        }
        let took = self.take(*msg, true);
        if took {
            self.replay_all();
        }
        took
    }
    fn take(&mut self, msg: Msg, new: bool) -> bool {
        if let Some(at) = self.tbe_of(msg.line) {
            if new && self.stalled() >= self.p.stalls {
                return false;
            }
            self.cover.mark(Mark::Stalled);
            self.tbes[at].as_mut().into_iter().for_each(|tbe| tbe.list.push_back(msg));
            return true;
        }
        match self.lines.find(msg.line) {
            Some(at) => self.start(at, msg),
            None => self.miss(msg, new),
        }
    }
    fn replay_all(&mut self) {
        while let Some(msg) = self.replay.pop_front() {
            if !self.take(msg, false) {
                self.replay.push_front(msg);
                self.cover.mark(Mark::ReplayWaits);
                return;
            }
        }
    }

    /// The line is absent: a way is found, then the line fetched, except if all of it is overwritten.
    fn miss(&mut self, msg: Msg, new: bool) -> bool {
        let whole = msg.mask == self.p.full() && matches!(msg.op, Op::ReqO | Op::ReqWt { .. });
        let blocked: Vec<u32> = self.tbes.iter().flatten().map(|tbe| tbe.line).collect();
        let Some(at) = self.lines.victim(msg.line, |frame| !blocked.contains(&frame.line)) else {
            self.cover.mark(Mark::VictimBlocked);
            return false;
        };
        if self.lines.frame(at).is_some_and(|frame| frame.owned != 0 || frame.shared) {
            let (Some(tbe), true) = (self.free_tbe(), !new || self.stalled() < self.p.stalls) else {
                return false;
            };
            self.evict_into(tbe, at, Some(msg));
            return true;
        }
        let tbe = self.free_tbe();
        if !whole && tbe.is_none() {
            return false;
        }
        self.drop_line(at);
        self.lines.put(at, Frame::new(msg.line));
        match tbe {
            Some(tbe) if !whole => {
                self.tbes[tbe] = Some(Tbe::new(msg.line, Kind::Fill, Some(msg)));
                self.out.push(Out::Read(msg.line));
            }
            _ => self.commit(at, msg, Choice::Three, 0, 0),
        }
        true
    }
    /// Nobody has anything of the line any more.
    fn drop_line(&mut self, at: usize) {
        if let Some(frame) = self.lines.frame(at).copied() {
            if frame.dirty {
                self.out.push(Out::Write(frame.line, frame.data));
            }
            self.lines.clear(at);
        }
    }
    fn evict_into(&mut self, tbe: usize, at: usize, waits: Option<Msg>) {
        let Some(frame) = self.lines.frame(at).copied() else { return };
        self.cover.mark(Mark::Eviction);
        let mut entry = Tbe::new(frame.line, Kind::Evict, None);
        entry.list.extend(waits);
        self.tbes[tbe] = Some(entry);
        self.invalidate(tbe, at, None);
        self.revoke(tbe, at, self.p.full());
        self.finish(tbe);
    }
    /// Evicts a line that is not blocked; false if that cannot be now.
    pub fn evict(&mut self, line: u32) -> bool {
        let (Some(at), None) = (self.lines.find(line), self.tbe_of(line)) else { return false };
        let quiet = self.lines.frame(at).is_some_and(|frame| frame.owned == 0 && !frame.shared);
        if quiet {
            self.drop_line(at);
            return true;
        }
        let Some(tbe) = self.free_tbe() else { return false };
        self.evict_into(tbe, at, None);
        self.replay_all();
        true
    }

    /// A message of WB.
    pub fn wb(&mut self, msg: &Msg) {
        let Op::ReqWb { dirty } = msg.op else { return };
        let tbe = self.tbe_of(msg.line);
        let rvm = tbe.and_then(|at| self.tbes[at].as_ref()).map_or(0, |tbe| tbe.rvm);
        let mut mine = 0;
        if let Some(frame) = self.lines.find(msg.line).and_then(|at| self.lines.frame_mut(at)) {
            mine = frame.owned_by(msg.device()) & msg.mask;
            if dirty || self.p.slip != Some(Slip::CleanWithoutData) {
                frame.data.merge(mine, &msg.data);
            }
            frame.owned &= !mine;
            frame.dirty |= dirty && mine != 0;
        }
        let cross = msg.mask & !mine | mine & rvm;
        let wb_row = table::row(&msg.op, Choice::One);
        self.cover.commit(wb_row, u8::from(msg.mask & !mine != 0) | u8::from(mine != 0) << 1);
        if mine & rvm != 0 {
            self.cover.mark(Mark::CrossedWriteBack);
        }
        if msg.mask & !mine != 0 {
            self.cover.mark(Mark::DroppedWriteBack);
        }
        let rsp = self.send(msg.device(), Op::RspWb { cross }, msg.line, msg.mask, msg.tag);
        self.out.push(Out::Msg(rsp));
        tbe.into_iter().for_each(|at| self.finish(at));
        self.replay_all();
    }
    /// A message of RSP.
    pub fn rsp(&mut self, msg: &Msg) {
        let Some(at) = self.tbe_of(msg.line) else { return self.fault(format!("unexpected {msg:?}")) };
        match msg.op {
            Op::Ack => self.ack(at, msg),
            Op::RspRvkO { nodata, kept_s, dirty } => self.revoked(at, msg, nodata, kept_s, dirty),
            _ => self.fault(format!("unexpected {msg:?}")),
        }
        self.finish(at);
        self.replay_all();
    }
    fn ack(&mut self, at: usize, msg: &Msg) {
        let Some(tbe) = &mut self.tbes[at] else { return };
        let expected = tbe.ack >> msg.device() & 1 == 1;
        tbe.ack &= !(1 << msg.device());
        if !expected {
            self.fault(format!("unexpected {msg:?}"));
        }
    }
    fn revoked(&mut self, at: usize, msg: &Msg, nodata: bool, kept_s: bool, dirty: bool) {
        let Some(tbe) = &mut self.tbes[at] else { return };
        let expected = tbe.rv & msg.mask == msg.mask;
        tbe.rv &= !msg.mask;
        tbe.kept |= u64::from(kept_s) << msg.device();
        if kept_s {
            self.cover.mark(Mark::KeptS);
        }
        let Some(frame) = self.lines.find(msg.line).and_then(|at| self.lines.frame_mut(at)) else { return };
        let owner = frame.owned_by(msg.device()) & msg.mask == msg.mask;
        if !nodata {
            frame.data.merge(msg.mask, &msg.data);
            frame.owned &= !msg.mask;
            frame.dirty |= dirty;
        }
        if !expected || !(owner || nodata) {
            self.fault(format!("unexpected {msg:?}"));
        }
    }
    /// Memory returns a line.
    pub fn memory(&mut self, line: u32, data: &Data) {
        let (Some(tbe), Some(at)) = (self.tbe_of(line), self.lines.find(line)) else {
            return self.fault(format!("unexpected line {line} from memory"));
        };
        if let Some(frame) = self.lines.frame_mut(at) {
            frame.data = *data;
        }
        let request = self.tbes[tbe].as_ref().and_then(|tbe| tbe.request);
        let choice = request.map_or(Choice::Three, |msg| self.choose(at, &msg));
        if let Some(tbe) = &mut self.tbes[tbe] {
            (tbe.kind, tbe.choice) = (Kind::Phase1, choice);
        }
        self.finish(tbe);
        self.replay_all();
    }

    /// Unblocks a line that waits for nothing any more.
    fn finish(&mut self, number: usize) {
        let Some(tbe) = &self.tbes[number] else { return };
        let Some(at) = self.lines.find(tbe.line) else { return };
        let owned = self.lines.frame(at).map_or(0, |frame| frame.owned);
        if tbe.ack != 0 || tbe.rv != 0 || tbe.rvm & owned != 0 || tbe.kind == Kind::Fill {
            return;
        }
        let Some(tbe) = self.tbes[number].take() else { return };
        match (&tbe.kind, tbe.request) {
            (Kind::Evict, _) => self.drop_line(at),
            (_, Some(msg)) => {
                let mut choice = tbe.choice;
                if self.p.slip == Some(Slip::OptionAgain) {
                    choice = self.choose(at, &msg);
                }
                let late =
                    self.p.slip == Some(Slip::UnshareByTargets) && writes(&msg.op) && msg.mask & !owned != 0;
                if tbe.unshares || late {
                    self.lines.frame_mut(at).into_iter().for_each(Frame::unshare);
                }
                self.commit(at, msg, choice, tbe.ans, tbe.kept);
            }
            (_, None) => self.fault("a TBE without a request".into()),
        }
        self.replay.extend(tbe.list);
    }
    /// `REQS_POLICY` for all words of a request.
    fn choose(&self, at: usize, msg: &Msg) -> Choice {
        self.p.policy.unwrap_or_else(|| {
            let Some(frame) = self.lines.frame(at) else { return Choice::Three };
            let shared = frame.owners(msg.mask).iter().any(|(dev, _)| self.p.s_capable >> dev & 1 == 1);
            if frame.shared || shared { Choice::One } else { Choice::Three }
        })
    }
    /// A request to a line that is there and not blocked: phase 1 if it needs one, else the commit.
    fn start(&mut self, at: usize, msg: Msg) -> bool {
        let Some(frame) = self.lines.frame(at).copied() else { return false };
        let choice = self.choose(at, &msg);
        let whole = msg.mask == self.p.full() && matches!(msg.op, Op::ReqO | Op::ReqOData);
        let except = whole.then_some(msg.device());
        let inv = frame.shared && writes(&msg.op) && msg.mask & !frame.owned != 0;
        let others = self.sharers(&frame) & !except.map_or(0, |dev| 1u64 << dev) != 0;
        let revoke = matches!(msg.op, Op::ReqWtData(_)) && msg.mask & frame.owned != 0;
        let share = msg.op == Op::ReqS && choice == Choice::One && msg.mask & frame.owned != 0;
        if !(inv && others || revoke || share) {
            if inv {
                self.cover.mark(Mark::UpgradeAlone);
                self.lines.frame_mut(at).into_iter().for_each(Frame::unshare);
            }
            self.lines.touch(at);
            self.commit(at, msg, choice, 0, 0);
            return true;
        }
        let Some(tbe) = self.free_tbe() else { return false };
        self.lines.touch(at);
        self.tbes[tbe] = Some(Tbe { choice, unshares: inv, ..Tbe::new(msg.line, Kind::Phase1, Some(msg)) });
        if inv {
            self.invalidate(tbe, at, except);
        }
        if revoke {
            self.revoke(tbe, at, msg.mask);
        }
        if share {
            self.share(tbe, at, &msg);
        }
        true
    }

    /// A broken invariant of section 4.1.
    pub fn check(&self) -> Option<String> {
        self.lines.iter().find_map(|frame| {
            let capable = |dev: u32| dev < u32::from(self.p.devices) && self.p.o_capable >> dev & 1 == 1;
            if !frame.shared && frame.sharers != 0 {
                return Some(format!("line {} is V and has sharers", frame.line));
            }
            let bad = words(frame.owned).find(|word| !capable(frame.data.0[*word]));
            bad.map(|word| format!("word {word} of line {} has owner {}", frame.line, frame.data.0[word]))
        })
    }
}

impl Tbe {
    fn new(line: u32, kind: Kind, request: Option<Msg>) -> Tbe {
        let list = VecDeque::new();
        Tbe {
            line,
            kind,
            request,
            ack: 0,
            unshares: false,
            rv: 0,
            rvm: 0,
            ans: 0,
            kept: 0,
            choice: Choice::Three,
            list,
        }
    }
}

/// Write-type requests of section 4.3.
fn writes(op: &Op) -> bool {
    matches!(op, Op::ReqWt { .. } | Op::ReqO | Op::ReqWtData(_) | Op::ReqOData)
}

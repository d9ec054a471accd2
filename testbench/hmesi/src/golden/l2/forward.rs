//! What the L3 and its clients send to the GPU L2.

use super::super::client::table::{Act, Event, State};
use super::super::cover::Mark;
use super::super::msg::Msg;
use super::super::slip::Slip;
use super::{Kind, L2};
use weft_spandex_bench::golden::msg::{Msg as GpuMsg, Op as GpuOp};

impl L2 {
    /// A message of FWD; false if it must wait, and nothing has changed.
    pub fn fwd(&mut self, msg: &Msg) -> bool {
        let Some(at) = self.find(msg.line) else { return self.absent(msg) };
        let mut entry = self.lines[at].entry;
        let event = entry.receive(&msg.op, self.p.slip);
        if entry.holds_up(event, self.p.slip) {
            return false;
        }
        if event == Event::Inv {
            self.answer(at, msg);
            self.replay_all();
            return true;
        }
        let tbe = self.tbe_of(msg.line);
        match tbe.map(|tbe| &self.tbes[tbe].kind) {
            Some(Kind::Phase1(_)) if !self.slips(Slip::ForwardInPhase1) => {
                self.cover.mark(Mark::ForwardWaitsForPhase1);
                return false;
            }
            Some(Kind::Evict) if !entry.open() => {
                self.cover.mark(Mark::ForwardWaitsForEviction);
                return false;
            }
            _ => {}
        }
        let owned = self.lines[at].frame.owned;
        if owned == 0 || tbe.is_some() || self.slips(Slip::NoRevocation) {
            self.answer(at, msg);
            self.replay_all();
            return true;
        }
        if self.tbes.len() >= self.p.bank.tbes {
            return false;
        }
        self.cover.mark(Mark::Revocation);
        if !self.tbe_free() {
            self.cover.mark(Mark::Reserved);
        }
        let tbe = self.open(msg.line, Kind::Forward(*msg));
        self.revoke(tbe, at, self.p.bank.full());
        true
    }
    /// Nothing of the line is here.
    fn absent(&mut self, msg: &Msg) -> bool {
        let (acts, _) = super::Entry::default().cell(Event::Inv, None);
        if super::Entry::default().receive(&msg.op, None) != Event::Inv {
            self.fault(format!("{msg:?} in I"));
            return true;
        }
        self.reach(Event::Inv, State::I);
        for act in acts {
            let made = self.place.message(*act, msg.line, &msg.data, false, Some(msg));
            self.out.extend(made.map(super::Packet::Mesi));
        }
        true
    }
    /// A forward, an Inv or an answer takes effect.
    pub(super) fn answer(&mut self, at: usize, msg: &Msg) {
        let mut entry = self.lines[at].entry;
        let event = entry.receive(&msg.op, self.p.slip);
        let state = entry.state;
        let (acts, next) = entry.cell(event, self.p.slip);
        if acts == [Act::Never] {
            self.fault(format!("{msg:?} in {state:?}"));
        }
        self.reach(event, state);
        entry.state = next;
        self.lines[at].frame.dirty |= state == State::M;
        self.lines[at].entry = entry;
        self.send(at, acts, Some(msg));
        let comes = acts.iter().any(|act| matches!(act, Act::Fill | Act::UseOnce));
        let over = event == Event::WbAck;
        if let Some(tbe) = self.tbe_of(msg.line).filter(|_| comes || over) {
            let kind = self.tbes[tbe].kind.clone();
            if let (Kind::Fill(request), true) = (kind, comes) {
                self.commit(at, &request);
                self.use_once_for_all(tbe, at, acts);
            }
            self.close(tbe);
        }
        if next == State::I {
            self.remove(at);
        }
        self.tidy();
    }
    /// Requests that wait are served by data of use-once, because of a rule left out.
    fn use_once_for_all(&mut self, tbe: usize, at: usize, acts: &[Act]) {
        if !self.slips(Slip::UseOnceForAll) || !acts.contains(&Act::UseOnce) {
            return;
        }
        let list = std::mem::take(&mut self.tbes[tbe].list);
        let reads = |msg: &&GpuMsg| matches!(msg.op, GpuOp::ReqV { .. });
        list.iter().filter(reads).for_each(|msg| self.commit(at, msg));
        self.tbes[tbe].list = list.into_iter().filter(|msg| !reads(&msg)).collect();
    }
    /// A message of RSP.
    pub fn l3_rsp(&mut self, msg: &Msg) {
        let Some(at) = self.find(msg.line) else {
            let known = super::Entry::default().cell(Event::WbAck, self.p.slip).0 != [Act::Never];
            if !(known && msg.op == super::super::msg::Op::WbAck) {
                self.fault(format!("{msg:?} in I"));
            }
            return;
        };
        let keeps = self.slips(Slip::SmKeeps) && self.lines[at].entry.state == State::Sm;
        if msg.op.has_data() && !keeps {
            self.lines[at].frame.data = msg.data;
        }
        self.answer(at, msg);
        self.replay_all();
    }
}

//! `hlrc_l2`: what registration adds to the bank of [`crate::golden::l2`].

use super::super::core::Took;
use super::super::l2::{L2, Pend, Waiter};
use super::super::lines::State;
use super::super::msg::{MemKind, Out, Probe, ProbeKind, RspKind};
use super::super::word::{Data, LINE};
use super::owner::{Owner, Revoke};

impl L2 {
    /// REG.
    pub(in super::super) fn register(&mut self, src: u8, line: u64, mshr: u8) -> Took {
        match self.owners.get(&line).copied() {
            Some(owner) if owner.revoke.is_some() => Took::Wait,
            Some(owner) if owner.cu == src => {
                self.fault(format!("L1 {src} registers line {line:#x}, which it has"));
                Took::Done
            }
            Some(owner) => {
                self.revoke(line, owner.cu, Some((src, mshr)));
                Took::Done
            }
            None => {
                let registering = |waiting: &(u8, Waiter)| matches!(waiting.1, Waiter::Reg(_));
                let fetch = self.fetches.iter().find(|fetch| fetch.line == line);
                if fetch.is_some_and(|fetch| fetch.waiting.iter().any(registering)) {
                    return Took::Wait;
                }
                if self.read(src, line, Waiter::Reg(mshr)) { Took::Done } else { self.recall(line) }
            }
        }
    }
    fn revoke(&mut self, line: u64, cu: u8, req: Option<(u8, u8)>) {
        self.probe(line, cu, ProbeKind::Revoke, req);
    }
    /// Asks the owner of a line for it or for its bytes.
    pub(in super::super) fn probe(&mut self, line: u64, cu: u8, kind: ProbeKind, req: Option<(u8, u8)>) {
        let read = kind == ProbeKind::Read;
        self.owners.insert(line, Owner { cu, revoke: Some(Revoke { read, req, unreg: None }) });
        let probe = Probe { kind, addr: line * LINE, req: self.p.bank };
        self.out.push(Out::Revoke(cu, probe));
    }
    /// No frame is free for a line: the owner of a victim is asked to give it back, one victim of a set at a time.
    fn recall(&mut self, line: u64) -> Took {
        if self.fetches.iter().any(|fetch| fetch.line == line) {
            return Took::Wait;
        }
        let recalled = |line: u64| self.owners.get(&line).is_some_and(|owner| owner.revoke.is_some());
        let busy = self.lines.same_set(line).any(|frame| recalled(frame.line));
        let owned = |line: u64| self.owners.contains_key(&line);
        let victim = self.lines.victim(line, |frame| owned(frame.line) && frame.state != State::P);
        let Some(at) = victim.filter(|_| !busy) else { return Took::Wait };
        let victim = self.lines.frame(at).line;
        let Some(owner) = self.owners.get(&victim).copied() else { return Took::Wait };
        self.revoke(victim, owner.cu, None);
        Took::NotYet
    }
    /// The line goes to an L1.
    pub(in super::super) fn grant(&mut self, src: u8, line: u64, mshr: u8) {
        self.owners.insert(line, Owner { cu: src, revoke: None });
        let data = self.lines.get(line).map_or(Data::default(), |frame| frame.data);
        self.send(src, RspKind::RegData { mshr, data });
    }
    pub(in super::super) fn merge(&mut self, line: u64, mask: u64, data: Data) {
        match self.lines.get_mut(line) {
            Some(frame) => {
                frame.data.merge(mask, &data);
                frame.mask |= mask;
            }
            None => self.fault(format!("the registered line {line:#x} is absent")),
        }
    }
    /// The line is nobody's.
    pub(in super::super) fn give_back(&mut self, line: u64) {
        self.owners.remove(&line);
        let Some(frame) = self.lines.get(line).copied().filter(|frame| frame.mask != 0) else { return };
        let queued = self.sfifo.entries().any(|entry| entry.1 == line);
        let through = !queued && !self.push(line);
        if let Some(frame) = self.lines.get_mut(line) {
            frame.state = if through { State::V } else { State::D };
            frame.mask = if through { 0 } else { frame.mask };
        }
        if through {
            let data = frame.data.masked(frame.mask);
            self.memory(MemKind::Wr { line, mask: frame.mask, data }, Pend::Write(None));
        }
    }
    /// UNREG.
    pub(in super::super) fn unregister(&mut self, src: u8, line: u64, mask: u64, data: Data, wbt: u8) {
        let owner = self.owners.get(&line).copied().filter(|owner| owner.cu == src);
        self.merge(line, mask, data);
        match owner {
            Some(Owner { revoke: None, .. }) => {
                self.give_back(line);
                self.send(src, RspKind::UnregAck { wbt });
            }
            Some(Owner { revoke: Some(revoke), .. }) if revoke.unreg.is_none() => {
                let revoke = Some(Revoke { unreg: Some(wbt), ..revoke });
                self.owners.insert(line, Owner { cu: src, revoke });
            }
            _ => self.fault(format!("UNREG of L1 {src}, which has not line {line:#x}")),
        }
    }
    /// REVOKE_ACK, with the line or, after an UNREG, without.
    pub(in super::super) fn revoked(&mut self, src: u8, line: u64, has: Option<(u64, Data)>) {
        let owner = self.owners.get(&line).copied().filter(|owner| owner.cu == src);
        let Some(revoke) = owner.and_then(|owner| owner.revoke).filter(|revoke| !revoke.read) else {
            return self.fault(format!("REVOKE_ACK of L1 {src}, which was not asked for line {line:#x}"));
        };
        match (has, revoke.unreg) {
            (Some((mask, data)), None) => self.merge(line, mask, data),
            (None, Some(wbt)) => self.send(src, RspKind::UnregAck { wbt }),
            _ => self.fault(format!("line {line:#x} comes back twice or not at all")),
        }
        match revoke.req {
            Some((req, mshr)) => self.grant(req, line, mshr),
            None => self.give_back(line),
        }
    }
    /// THROUGH_INV: a WB to a line that is not registered goes to memory, and the bank's copy is dropped; one that is on its way is fetched again.
    pub(in super::super) fn write_through_inv(&mut self, line: u64, write: MemKind, ack: (u8, u8, bool)) {
        match self.fetches.iter_mut().find(|fetch| fetch.line == line) {
            Some(fetch) => fetch.again = true,
            None => self.drop_clean(line),
        }
        self.memory(write, Pend::Write(Some(ack)));
    }
}

//! The bank's side to memory: requests and answers, fetches, SYS FLUSH and SYS INV (srsp.md section 6).

use super::super::lines::State;
use super::super::msg::{MemKind, MemReq, MemRsp, Out, RspKind};
use super::super::word::{Atomic, Data};
use super::{L2, Pend, SysRun};
use std::collections::BTreeSet;

impl L2 {
    /// ATM with `sys`: memory does it.
    pub(super) fn at_memory(&mut self, src: u8, atomic: Atomic) -> bool {
        let line = atomic.line();
        if self.lines.state(line) == State::P {
            return false;
        }
        self.drop_clean(line);
        self.memory(MemKind::Amo { atomic }, Pend::Amo(src, atomic));
        true
    }
    pub(super) fn start_sys(&mut self, src: u8, inv: bool) -> bool {
        if self.sys.is_some() {
            return false;
        }
        self.sys = Some(SysRun { src, inv, left: self.sfifo.len(), waits: None });
        self.settle();
        true
    }
    /// What follows at once.
    pub(super) fn settle(&mut self) {
        let Some(mut sys) = self.sys.take() else { return };
        let waits = sys.inv && !self.fetches.is_empty();
        if sys.waits.is_none() && !waits {
            sys.left = if sys.inv { self.sfifo.len() } else { sys.left };
            let mut tries = self.sfifo.len();
            while sys.left > 0 && tries > 0 {
                tries -= 1;
                let before = self.sfifo.len();
                sys.left = if self.pop() { sys.left - 1 } else { before };
                sys.left = sys.left.min(self.sfifo.len());
            }
            if sys.left == 0 {
                let writes = self.pending.iter().filter(|(_, pend)| matches!(pend, Pend::Write(_)));
                sys.waits = Some(writes.map(|(id, _)| *id).collect());
            }
        }
        if sys.waits.as_ref().is_some_and(BTreeSet::is_empty) {
            if sys.inv {
                self.flash_inv();
            }
            self.send(sys.src, RspKind::SysAck);
        } else {
            self.sys = Some(sys);
        }
    }
    fn flash_inv(&mut self) {
        if self.lines.iter().any(|frame| frame.mask != 0) {
            self.fault("SYS INV meets a dirty line");
        }
        self.lines
            .iter_mut()
            .filter(|frame| frame.state != State::P)
            .for_each(|frame| frame.state = State::I);
        self.lines.tidy();
    }

    /// A request to memory.
    pub(in crate::golden) fn memory(&mut self, kind: MemKind, pend: Pend) {
        let free = (0..=u8::MAX).find(|id| !self.pending.contains_key(id));
        let Some(id) = free else { return self.fault("more than 256 requests to memory") };
        self.pending.insert(id, pend);
        self.out.push(Out::Mem(MemReq { id, kind }));
    }
    /// Memory performs a request now: what checkers must know of it.
    pub fn at_memory_now(&self, id: u8) -> Option<(u8, Atomic)> {
        match self.pending.get(&id) {
            Some(Pend::Amo(src, atomic)) => Some((*src, *atomic)),
            _ => None,
        }
    }
    /// An answer of memory.
    pub fn mem(&mut self, rsp: &MemRsp) {
        let pend = self.pending.remove(&rsp.id);
        if let Some(waits) = self.sys.as_mut().and_then(|sys| sys.waits.as_mut()) {
            waits.remove(&rsp.id);
        }
        match pend {
            Some(Pend::Fetch(line)) => self.fetched(line, rsp.data),
            Some(Pend::Write(Some((dst, wbt, epoch)))) => self.send(dst, RspKind::WbAck { wbt, epoch }),
            Some(Pend::Write(None)) => {}
            Some(Pend::Amo(dst, atomic)) => {
                let old = rsp.data.word(0, true);
                self.send(dst, RspKind::AtmRsp { old, wrote: atomic.result(old).is_some() });
            }
            Some(Pend::Through(dst, mshr)) => self.send(dst, RspKind::Fill { mshr, data: rsp.data }),
            None => self.fault("an answer of memory that was not expected"),
        }
        self.settle();
    }
    fn fetched(&mut self, line: u64, data: Data) {
        let Some(at) = self.fetches.iter().position(|fetch| fetch.line == line) else {
            return self.fault("a fetch that was not asked for");
        };
        if std::mem::take(&mut self.fetches[at].again) {
            return self.memory(MemKind::Rd { line }, Pend::Fetch(line));
        }
        let fetch = self.fetches.remove(at);
        if let Some(frame) = self.lines.get_mut(line) {
            let mut whole = data;
            whole.merge(frame.mask, &frame.data);
            frame.data = whole;
            frame.state = if frame.mask == 0 { State::V } else { State::D };
        }
        for (src, waiter) in fetch.waiting {
            self.serve(src, line, waiter);
        }
    }
}

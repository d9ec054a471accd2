//! Answers of banks at the L1: *clock*, *install*, who is served (mgcc.md section 4).

use super::super::array::State;
use super::super::inject::Inject;
use super::super::msg::{Data, Op, UpRsp};
use super::super::time::{Age, Time};
use super::{CuReq, CuRsp, CuWork, L1, L1Action, Waiting};

impl L1 {
    /// Takes an answer of a bank: clock, install, answers to the primary and, of a read, to the loads that wait directly behind it. What is left is replayed.
    ///
    /// # Panics
    /// Nothing of this kind is outstanding in the transaction; or the stamps are in the wrong order.
    pub fn rsp(&mut self, rsp: &UpRsp) -> Vec<L1Action> {
        let slot = rsp.txn as usize;
        let mut rsp = *rsp;
        assert!(rsp.wts <= rsp.rts, "the answer's lease [{}, {}] ends before it begins", rsp.wts, rsp.rts);
        let age = self.p.widths.age(rsp.tag, self.cts.epoch);
        let epoch = self.p.widths.epoch_of(rsp.tag, self.cts.epoch);
        self.advance(epoch);
        let (line, primary, hit) = self.close(slot, rsp.op);
        let current = age != Age::Older;
        if current {
            self.clock(line, rsp.op, rsp.wts);
        }
        if self.p.inject == Some(Inject::LitBrts) && current {
            rsp.wts = rsp.wts.max(self.cts.ts);
            rsp.rts = rsp.rts.max((rsp.wts + 1).min(self.p.widths.max()));
        }
        let no_data = hit && self.p.inject == Some(Inject::LitAckNodata);
        match rsp.data.filter(|_| !no_data) {
            Some(data) => self.install(line, current, &rsp, data),
            None => self.stamp(line, current, &rsp),
        }
        let actions = self.serve(slot, &primary, &rsp, epoch);
        self.free_if_done(slot);
        actions
    }

    /// Ends what is outstanding in a transaction: its line, its request, and whether its write hit.
    fn close(&mut self, slot: usize, op: Op) -> (u64, Waiting, bool) {
        let open = self.mshrs.get_mut(slot).and_then(Option::as_mut);
        let ended = open.and_then(|m| m.primary.take().map(|primary| (m.line, primary, m.hit)));
        let Some((line, primary, hit)) = ended else {
            panic!("nothing is outstanding in transaction {slot}")
        };
        let asked = match primary.req.work {
            CuWork::Load { .. } => Op::Read,
            CuWork::Store { .. } => Op::Write,
            _ => Op::Atomic,
        };
        assert!(asked == op, "transaction {slot} asked for {asked:?} and is answered as {op:?}");
        (line, primary, hit)
    }
    fn clock(&mut self, line: u64, op: Op, wts: u64) {
        if !self.p.coherent || op == Op::Read && self.p.inject == Some(Inject::LitReadCts) {
            return;
        }
        if op == Op::Read && !self.p.eager {
            self.acq = self.acq.max(wts);
            return;
        }
        self.cts.ts = self.cts.ts.max(wts);
        let bound = &mut self.bank_lb[self.p.layout.bank(line)];
        *bound = (*bound).max(wts);
    }
    fn install(&mut self, line: u64, current: bool, rsp: &UpRsp, data: Data) {
        let set = self.set_of(line);
        let own = self.array.find(set, line);
        if !current || self.p.coherent && self.cts.ts > rsp.rts {
            if let Some(at) = own {
                self.array.clear(at);
            }
            return;
        }
        if let Some(at) = own.or_else(|| self.victim_beside(set, line)) {
            let way = self.array.way_mut(at);
            (way.state, way.line, way.wts, way.rts, way.data) = (State::Valid, line, rsp.wts, rsp.rts, data);
            self.array.touch(at);
        }
    }
    /// The line's own entry does not protect anything: its line is not in the array.
    fn victim_beside(&self, set: usize, line: u64) -> Option<(usize, usize)> {
        debug_assert!(self.array.find(set, line).is_none());
        self.victim(set)
    }
    /// An answer without data: the locked way gets its stamps.
    fn stamp(&mut self, line: u64, current: bool, rsp: &UpRsp) {
        let Some(at) = self.array.find(self.set_of(line), line) else { return };
        if current {
            let way = self.array.way_mut(at);
            (way.state, way.wts, way.rts) = (State::Valid, rsp.wts, rsp.rts);
        } else {
            self.array.clear(at);
        }
    }
    fn serve(&mut self, slot: usize, primary: &Waiting, rsp: &UpRsp, epoch: u64) -> Vec<L1Action> {
        let src = if rsp.from_memory { 3 } else { 1 };
        let time = Time::new(epoch, rsp.wts);
        match primary.req.work {
            CuWork::Load { .. } => self.serve_loads(slot, primary, rsp, epoch),
            CuWork::Store { want_ack, .. } => {
                self.outstanding.remove(&primary.serial);
                let rsp = CuRsp { src, ..ack_at(primary.req.id, time) };
                if want_ack { vec![L1Action::Cu(rsp)] } else { Vec::new() }
            }
            CuWork::Atomic(atomic) => {
                self.outstanding.remove(&primary.serial);
                let mut data = Data::default();
                data.set_number(4 * atomic.word as usize, atomic.size(), rsp.old);
                let CuReq { id, .. } = primary.req;
                let rsp = CuRsp { ack: false, mask: atomic.mask(), data, src, ..ack_at(id, time) };
                vec![L1Action::Cu(rsp)]
            }
            _ => Vec::new(),
        }
    }
    /// The primary and the plain loads directly behind it, each if the lease covers its clock.
    fn serve_loads(&mut self, slot: usize, primary: &Waiting, rsp: &UpRsp, epoch: u64) -> Vec<L1Action> {
        let end = Time::new(epoch, rsp.rts);
        let coherent = self.p.coherent;
        let permitted = |waiting: &Waiting| !coherent || waiting.need <= end;
        let Some(m) = &mut self.mshrs[slot] else { return Vec::new() };
        if !permitted(primary) {
            m.fifo.push_front(*primary);
            return Vec::new();
        }
        let mut served = vec![*primary];
        let plain = CuWork::Load { sync: false };
        while let Some(next) = m.fifo.pop_front_if(|next| next.req.work == plain && permitted(next)) {
            served.push(next);
        }
        let src = if rsp.from_memory { 3 } else { 1 };
        let data = rsp.data.unwrap_or_default();
        let answer = |(i, waiting): (usize, &Waiting)| {
            let CuReq { id, mask, .. } = waiting.req;
            let time = waiting.need.max(Time::new(epoch, rsp.wts));
            let data = data.masked(mask);
            L1Action::Cu(CuRsp { id, ack: false, mask, data, time, src, merged: i > 0 })
        };
        served.iter().enumerate().map(answer).collect()
    }
}

fn ack_at(id: u32, time: Time) -> CuRsp {
    CuRsp { id, ack: true, mask: 0, data: Data::default(), time, src: 0, merged: false }
}

//! Acceptance and answers of the L1.

use weft_blocks::msg::{AmoOp, CuOp, node_text};
use weft_workload::Op;
use weft_workload::op::size_mask;

use super::counters::Cause;
use super::lsu::Pending;
use super::mem_op::{MemKind, global, lanes_of};
use super::port::{KIND_ACK, KIND_DATA};
use super::wave::{Status, Wait};
use super::{Boundary, Cu, CuError, CuObserver, LineReply};

impl Cu {
    /// The L1 takes the offered access in cycle `now`. A store without `want_ack` is complete by this.
    pub fn accepted(&mut self, now: u64, obs: &mut dyn CuObserver) {
        self.inspect_change(now);
        let Some(id) = self.s.lsu.flights.out.pop_front() else { return };
        let entry = &mut self.s.lsu.flights.pending[usize::from(id)];
        entry.taken = Some(now);
        if entry.access.dma {
            self.s.lsu.flights.engine = false;
        }
        self.tell_taken(id, now, obs);
        let entry = &self.s.lsu.flights.pending[usize::from(id)];
        if entry.access.op != CuOp::St {
            return;
        }
        let access = &entry.access;
        if let Some(index) = entry.op {
            let who = self.who(self.s.lsu.ops[index as usize].wave);
            obs.store(&who, access.line, access.mask, &access.data, now);
            if !access.want_ack {
                obs.complete(&who, access, None, now);
            }
        }
        if !access.want_ack {
            self.answered(id, self.params.pace.tick(now));
        }
    }

    /// An answer, or a part of one, arrives in cycle `now`. What is wrong with it, [`Cu::tick`] reports.
    pub fn reply(&mut self, reply: &LineReply, now: u64, obs: &mut dyn CuObserver) {
        self.inspect_change(now);
        let wrong = |expected| CuError::Reply {
            at: node_text(self.gpu, self.params.gpms),
            cu: self.cu,
            id: reply.id,
            kind: reply.kind,
            expected,
        };
        let entry = self.s.lsu.flights.pending.get_mut(usize::from(reply.id));
        let Some((entry, taken)) = entry.and_then(|e| e.taken.map(|taken| (e, taken))) else {
            self.fault.get_or_insert(wrong("the number of an access that the L1 has taken"));
            return;
        };
        let with_data = matches!(entry.access.op, CuOp::Ld | CuOp::Amo);
        let kind = if with_data { KIND_DATA } else { KIND_ACK };
        if reply.kind != kind {
            let expected = if with_data { "data" } else { "an acknowledgement" };
            self.fault.get_or_insert(wrong(expected));
            return;
        }
        if entry.access.op == CuOp::Kend && !entry.stash {
            self.s.told = reply.data[0];
        }
        if with_data {
            let whole = entry.left == entry.access.mask && entry.left & !reply.mask == 0;
            if whole {
                entry.left = 0;
                self.deliver(reply.id, &reply.data, taken, now, obs);
            } else {
                if entry.left == entry.access.mask {
                    entry.got = [0; 16];
                }
                merge(&mut entry.got, &reply.data, entry.left & reply.mask);
                entry.left &= !reply.mask;
                if entry.left != 0 {
                    return;
                }
                let got = entry.got;
                self.deliver(reply.id, &got, taken, now, obs);
            }
        }
        if with_data {
            self.s.counters.served[usize::from(reply.src & 7)] += 1;
            self.s.counters.merged += u64::from(reply.merged);
            let entry = &self.s.lsu.flights.pending[usize::from(reply.id)];
            if let Some(index) = entry.op {
                let op = &mut self.s.lsu.ops[index as usize];
                (op.src, op.merged) = (reply.src, reply.merged);
                let who = self.who(self.s.lsu.ops[index as usize].wave);
                if !entry.stash {
                    obs.served(&who, &entry.access, reply.src, reply.merged);
                }
            }
        } else if let Some(index) = self.s.lsu.flights.pending[usize::from(reply.id)].op {
            let who = self.who(self.s.lsu.ops[index as usize].wave);
            obs.complete(&who, &self.s.lsu.flights.pending[usize::from(reply.id)].access, None, now);
        }
        self.count_sync(reply.id, now - taken);
        self.answered(reply.id, self.params.pace.tick(now));
    }

    /// Counts a release or acquire, or an access with which the L1 makes them.
    fn count_sync(&mut self, id: u16, cycles: u64) {
        let Pending { access, op, .. } = &self.s.lsu.flights.pending[usize::from(id)];
        let fence = op.is_some_and(|index| matches!(self.s.lsu.ops[index as usize].op, Op::Fence { .. }));
        let cause = match access.op {
            CuOp::Kbegin | CuOp::Kend => Cause::Kernel,
            CuOp::Rel | CuOp::Acq if fence => Cause::Fence,
            CuOp::Rel | CuOp::Acq => Cause::Access,
            _ if access.sync && self.mode.fused => Cause::Access,
            _ => return,
        };
        self.s.counters.synchronised(cause, access, cycles);
    }

    /// Tells an observer of an access that the L1 has taken.
    fn tell_taken(&self, id: u16, now: u64, obs: &mut dyn CuObserver) {
        let entry = &self.s.lsu.flights.pending[usize::from(id)];
        let Some(from) = self.issuer(id) else { return };
        let op = entry.op.map(|index| &self.s.lsu.ops[index as usize].op);
        let line = u64::from(self.params.line);
        let addr = match op {
            // A line of the engine begins with this element.
            Some(Op::Map { map, .. }) => map.global_of(entry.lanes as u32),
            op => op.and_then(global).map_or(0, |(access, _)| access.addrs.at(entry.lanes.trailing_zeros())),
        };
        let addr = addr & !(line - 1);
        obs.taken(&from, &entry.access, addr, now);
    }

    /// Gives the lanes of a load or atomic their values.
    fn deliver(&mut self, id: u16, data: &[u64; 16], taken: u64, now: u64, obs: &mut dyn CuObserver) {
        let entry = &self.s.lsu.flights.pending[usize::from(id)];
        let Some(index) = entry.op else { return };
        if entry.stash {
            let lanes = entry.lanes;
            return self.stash_deliver(index, lanes, data);
        }
        let (access, who) = (&entry.access, self.who(self.s.lsu.ops[index as usize].wave));
        if access.op == CuOp::Amo && access.amo == AmoOp::Cas {
            let (first, wide) = (access.mask.trailing_zeros(), access.mask.count_ones() == 8);
            let found = data[first as usize / 8] >> (8 * (first % 8));
            let differs = (found ^ access.cmp) & size_mask(if wide { 8 } else { 4 });
            self.s.counters.failed_swaps += u64::from(differs != 0);
        }
        if access.op == CuOp::Amo {
            obs.amo(&who, access, data, taken, now);
        } else {
            obs.load(&who, access.line, access.mask, data, taken, now);
        }
        obs.complete(&who, access, Some(data), now);
        let (lanes, line) = (entry.lanes, u64::from(self.params.line));
        let op = &mut self.s.lsu.ops[index as usize];
        if op.kind == MemKind::Dma {
            return self.dma_deliver(index, lanes as u32, data);
        }
        let Some((access, _)) = global(&op.op) else { return };
        let keep = size_mask(access.size);
        if op.values.is_empty() {
            return;
        }
        for lane in lanes_of(lanes) {
            let offset = access.addrs.at(lane) & (line - 1);
            op.values[lane as usize] = data[(offset / 8) as usize] >> (8 * (offset % 8)) & keep;
        }
    }

    /// A line access is complete: its number is free, its operation perhaps complete.
    pub(super) fn answered(&mut self, id: u16, now: u64) {
        let entry = &mut self.s.lsu.flights.pending[usize::from(id)];
        entry.taken = None;
        let (op, lanes) = (entry.op, entry.lanes);
        self.s.lsu.flights.free_ids.push(id);
        let Some(index) = op else {
            self.s.boundary_open -= 1;
            if self.s.boundary_open > 0 {
                return;
            }
            self.s.boundary = match self.s.boundary {
                Boundary::Beginning => Boundary::Begun,
                _ => Boundary::Ended,
            };
            return;
        };
        let op = &mut self.s.lsu.ops[index as usize];
        let engine = matches!(op.kind, MemKind::Dma | MemKind::Stash);
        op.open &= if engine { op.open } else { !lanes };
        op.unanswered -= 1;
        let (w, done) = (op.wave, op.todo == 0 && op.unanswered == 0);
        debug_assert!(op.kind != MemKind::Lds, "a scratchpad operation never reaches the L1");
        let wave = &mut self.s.waves[usize::from(w)];
        wave.in_flight -= u32::from(!engine);
        let result = if done {
            self.complete(index, now)
        } else if matches!(wave.status, Status::Waiting(Wait::Word(_))) {
            self.settle(w, now)
        } else {
            Ok(())
        };
        if let Err(error) = result {
            self.fault.get_or_insert(error);
        }
    }
}

/// Copies the bytes of `mask`.
fn merge(into: &mut [u64; 16], from: &[u64; 16], mask: u128) {
    for (word, (to, from)) in into.iter_mut().zip(from).enumerate() {
        let bytes = (mask >> (8 * word)) as u8;
        let bits = (0..8).filter(|b| bytes >> b & 1 == 1).fold(0u64, |bits, b| bits | 0xff << (8 * b));
        *to = *to & !bits | from & bits;
    }
}

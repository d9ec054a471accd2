//! What the bank says is compared with what the L1s have.

use crate::hlrc_l2::world::{Op, Owned, READ_ACK, REVOKE_ACK, UNREG, WB, World, Write};
use rand::Rng;
use weft_srsp::msg::{OwnerOp, ProbeOp, RspOp};
use weft_srsp_bench::bench::Msg;
use weft_srsp_bench::memory::{Line, bytes, merge};

impl World {
    /// A REVOKE comes to an L1.
    pub(super) fn asked(&mut self, m: &Msg) {
        let (c, addr) = (m.get("req") as usize, m.get("addr"));
        let read = self.stores() && m.get("op") == OwnerOp::Read as u64;
        let revoke = if self.stores() { OwnerOp::Revoke as u64 } else { ProbeOp::Revoke as u64 };
        if !read && m.get("op") != revoke || c >= self.l1s.len() {
            return self.complain(format!("a strange probe: {m:?}"));
        }
        let line = self.line_of(addr);
        self.l1s[c].probes.push_back((line, read));
        self.count(if read { "reads" } else { "revokes" });
    }

    /// Bytes come to the bank or go to memory, or an owner gives a line back.
    pub(super) fn change(&mut self, op: Op, to_memory: Option<u64>) {
        if self.stores() && op.kind == READ_ACK {
            self.fresh = Some(op.line);
            if let Some(copy) = self.l1s[op.src as usize].shown.remove(&op.line) {
                merge(self.model(op.line), &copy.mask, &copy.data);
            }
            return;
        }
        let l1 = &mut self.l1s[op.src as usize];
        let bytes = |write: &Write| (write.mask.clone(), write.data.clone());
        let write = match op.kind {
            WB => l1.wbs.get_mut(&op.wbt).map(|write| {
                write.around = to_memory.is_some();
                bytes(write)
            }),
            UNREG => l1.unregs.get(&op.wbt).map(bytes),
            REVOKE_ACK if op.has => l1.acks.remove(&op.line).map(|copy| (copy.mask, copy.data)),
            _ => return,
        };
        let Some((mask, data)) = write else {
            return self.complain(format!("{} has sent nothing of line {:#x}", op.src, op.line));
        };
        if let Some(id) = to_memory {
            self.at_memory.insert(id, (op.src as usize, op.wbt));
        }
        merge(self.model(op.line), &mask, &data);
        if op.kind != WB && self.owners.remove(&op.line) != Some(op.src) {
            self.complain(format!("{} gives line {:#x} back, which it has not", op.src, op.line));
        }
    }

    /// The bank answers a read: of a line of DeNovo-B that somebody owns only with what the owner has shown.
    pub(super) fn filled(&mut self, line: u64) {
        let fresh = self.fresh.take() == Some(line);
        if self.stores() && self.owners.contains_key(&line) && !fresh {
            self.complain(format!("line {line:#x} is read beside its owner"));
        }
    }

    /// The bank gives a line to an L1.
    pub(super) fn granted(&mut self, line: u64, dst: u64) {
        if let Some(other) = self.owners.insert(line, dst) {
            self.complain(format!("line {line:#x} is given to {dst} although {other} has it"));
        }
        for l1 in self.l1s.iter_mut().enumerate().filter(|(c, _)| *c as u64 != dst).map(|(_, l1)| l1) {
            let waiting = l1.regs.values_mut().filter(|reg| reg.0 == line);
            for passed in waiting.filter_map(|reg| reg.1.as_mut()) {
                *passed += 1;
                self.overtaken = self.overtaken.max(*passed);
            }
        }
    }

    /// An answer comes to an L1.
    pub(super) fn answer(&mut self, m: &Msg, expected: Option<Line>) {
        let c = m.get("dst") as usize;
        let op = m.get("op");
        if op == RspOp::Fill as u64 {
            let Some((line, around)) = self.l1s[c].rds.remove(&m.get("mshr")) else {
                return self.complain(format!("{c} gets a line that it has not asked for"));
            };
            self.compare(c, line, m, expected.or(around).as_ref());
            self.count("rd");
        } else if op == RspOp::RegData as u64 {
            let Some((line, _)) = self.l1s[c].regs.remove(&m.get("mshr")) else {
                return self.complain(format!("{c} gets a line that it has not registered"));
            };
            self.compare(c, line, m, expected.as_ref());
            let data = bytes(m.wide("data"));
            let mask = vec![false; data.len()];
            self.l1s[c].owned.insert(line, Owned { mask, data });
            let (word, value) = (self.b.rng.random_range(0..8), self.b.rng.random());
            if self.mix.atomic > 0.0 && self.b.rng.random_bool(0.8) {
                self.atomic(c, line, word, value);
            }
            self.count("reg");
        } else if op == RspOp::WbAck as u64 {
            let write = self.l1s[c].wbs.remove(&m.get("wbt"));
            let Some(write) = write.filter(|write| write.epoch == m.get("epoch")) else {
                return self.complain(format!("{c} has not sent the write-back acknowledged"));
            };
            if write.around && !write.durable {
                self.complain(format!("line {:#x} of {c} is acknowledged before memory has it", write.line));
            }
            self.count(if write.around { "around" } else { "wb" });
        } else if op == RspOp::UnregAck as u64 {
            if self.l1s[c].unregs.remove(&m.get("wbt")).is_none() {
                self.complain(format!("{c} has not given the line back that is acknowledged"));
            }
            self.count("unreg");
        } else {
            self.complain(format!("an answer that nobody knows: {m:?}"));
        }
    }
}

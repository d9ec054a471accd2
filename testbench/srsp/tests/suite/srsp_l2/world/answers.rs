//! What the bank answers, compared with the plain memory.

use super::{Answered, Remote, World, Write};
use rand::Rng;
use std::collections::BTreeMap;
use weft_srsp::msg::RspOp;
use weft_srsp_bench::bench::Msg;
use weft_srsp_bench::memory::{Access, Line, initial, merge};

impl World {
    pub(super) fn apply(&mut self, write: &Write, cycle: u64) {
        let (line, times) = self.model(write.line);
        merge(line, &write.mask, &write.data);
        times.iter_mut().zip(&write.mask).filter(|(_, m)| **m).for_each(|(t, _)| *t = cycle);
    }

    pub(super) fn perform(&mut self, access: &Access, cycle: u64) -> (u64, bool) {
        let line = self.line_of(access.addr);
        let (bytes, times) = self.model(line);
        let before = bytes.clone();
        let result = access.perform(bytes);
        for i in 0..before.len() {
            if before[i] != bytes[i] {
                times[i] = cycle;
            }
        }
        result
    }

    pub(super) fn answer(&mut self, m: &Msg, cycle: u64, durable: Option<BTreeMap<u64, (Line, Vec<u64>)>>) {
        let c = m.get("dst") as usize;
        let op = m.get("op");
        self.answered.push(Answered { op, c, hit: m.get("hit") == 1 });
        let is = |kind: RspOp| op == kind as u64;
        if is(RspOp::Fill) {
            self.filled(c, m);
        } else if is(RspOp::WbAck) {
            let Some(write) = self.l1s[c].wbs.remove(&m.get("wbt")) else {
                return self.complain(format!("{c} gets an acknowledgement of nothing"));
            };
            if write.epoch != m.get("epoch") {
                self.complain("the epoch changed".into());
            }
            if !write.around {
                self.apply(&write, cycle);
            }
            self.count("wb");
        } else if is(RspOp::AtmRsp) {
            self.atomic_answer(c, m, cycle);
        } else if is(RspOp::RemRsp) {
            self.remote_answer(c, m, cycle);
        } else if is(RspOp::RemGrant) {
            self.granted(c, cycle);
        } else if is(RspOp::TokenGrant) {
            self.token(c);
        } else if is(RspOp::SysAck) {
            self.system_answer(c, &durable.unwrap_or_default());
        } else {
            self.complain(format!("an answer that nobody knows: {m:?}"));
        }
    }

    fn filled(&mut self, c: usize, m: &Msg) {
        let Some((line, taken)) = self.l1s[c].rds.remove(&m.get("mshr")) else {
            return self.complain(format!("{c} gets a line that it has not asked for"));
        };
        let expected = self.model(line).0.clone();
        self.compare(c, line, m, Some(&expected));
        if let Some((owner, since, false)) = self.holders.get(&line)
            && taken.is_none_or(|at| at > *since)
        {
            let text = format!("{c} reads line {line:#x} under the lock of {owner}");
            self.complain(text);
        }
        self.count("rd");
    }

    fn atomic_answer(&mut self, c: usize, m: &Msg, cycle: u64) {
        let Some((access, sys, old)) = self.l1s[c].atm.take() else {
            return self.complain(format!("{c} gets an atomic's answer"));
        };
        let (old, wrote) = match (sys, old) {
            (true, Some(old)) => (old, false),
            (true, None) => return self.complain("an atomic was not sent to memory".into()),
            _ => self.perform(&access, cycle),
        };
        if let (false, Some((owner, ..))) =
            (sys, self.holders.get(&self.line_of(access.addr)).filter(|h| !h.2))
        {
            let text = format!("{c} performs {access:x?} under the lock of {owner}");
            self.complain(text);
        }
        self.check_word("atomic", c, m, (old, wrote));
        self.count(if sys { "sys_atm" } else { "atm" });
    }

    fn check_word(&mut self, what: &str, c: usize, m: &Msg, (old, wrote): (u64, bool)) {
        let found = (m.wide("data").low_u64(), m.get("wrote") == 1);
        if found != (old, wrote) {
            self.complain(format!("{what} of {c}: {found:x?} instead of {:x?}", (old, wrote)));
        }
    }

    fn remote_answer(&mut self, c: usize, m: &Msg, cycle: u64) {
        let Some((access, keep)) = self.l1s[c].op else {
            return self.complain(format!("{c} gets a remote operation's answer"));
        };
        let (old, wrote) = self.perform(&access, cycle);
        self.check_word("remote operation", c, m, (old, wrote));
        let line = self.line_of(access.addr);
        if keep && wrote {
            self.l1s[c].remote = Remote::Kept(self.b.sim.cycle() + self.b.rng.random_range(0..60));
        } else {
            if self.l1s[c].locked {
                self.holders.remove(&line);
            }
            self.finish(c);
        }
    }

    fn granted(&mut self, c: usize, cycle: u64) {
        let Some((access, _)) = self.l1s[c].op.filter(|_| self.l1s[c].remote == Remote::Lock) else {
            return self.complain(format!("{c} gets a lock that it has not asked for"));
        };
        let line = self.line_of(access.addr);
        if let Some((owner, _, false)) = self.holders.insert(line, (c as u64, cycle, false)) {
            self.complain(format!("line {line:#x} is locked for {c} and for {owner}"));
        }
        self.l1s[c].overtaken = None;
        for l1 in &mut self.l1s {
            if let Some((_, count)) = l1.overtaken.as_mut().filter(|(of, _)| *of == line) {
                *count += 1;
                self.overtaken = self.overtaken.max(*count);
            }
        }
        self.l1s[c].locked = true;
        self.l1s[c].remote = Remote::Works(self.b.sim.cycle() + self.b.rng.random_range(0..60));
        self.count("grants");
    }

    fn token(&mut self, c: usize) {
        let Remote::Token { locks } = self.l1s[c].remote else {
            return self.complain(format!("{c} gets a token that it has not asked for"));
        };
        if let Some(other) = self.holder.replace(c as u64) {
            self.complain(format!("{c} and {other} have the token"));
        }
        self.l1s[c].token = true;
        self.count("tokens");
        if locks {
            self.lock(c);
        } else {
            self.l1s[c].remote = Remote::Works(self.b.sim.cycle() + self.b.rng.random_range(0..60));
        }
    }

    fn system_answer(&mut self, c: usize, durable: &BTreeMap<u64, (Line, Vec<u64>)>) {
        let Some(begun) = self.l1s[c].sys.take() else {
            return self.complain(format!("{c} gets the answer to no SYS operation"));
        };
        let size = self.p.bank.srsp.line;
        let lost = self.model.iter().find_map(|(line, (bytes, times))| {
            let kept = durable.get(line).map_or_else(|| initial(*line, size), |d| d.0.clone());
            let wrong = (0..bytes.len()).find(|i| times[*i] < begun && bytes[*i] != kept[*i]);
            wrong.map(|i| format!("byte {i} of line {line:#x} is not in memory after a SYS operation"))
        });
        if let Some(text) = lost {
            self.complain(text);
        }
        self.count("sys");
    }
}

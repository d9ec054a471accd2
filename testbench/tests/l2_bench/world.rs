//! The bank's surroundings: what is offered to it and what is done with its messages.

use super::model::*;
use super::{Bench, Fill, Mood, Running};
use rand::Rng;
use rand::seq::IndexedRandom;
use std::collections::BTreeMap;
use weft_testbench::golden::dir_table::DirOp;

const OUTPUTS: [&str; 8] =
    ["local_rsp", "rsp_out", "req_out", "mem_req", "inv_done", "dir_req", "fence_done", "ordered"];
const INPUTS: [&str; 8] =
    ["local_req", "remote_req", "inv", "rsp_in", "mem_rsp", "dir_rsp", "fence_cmd", "order"];

impl Mood {
    pub fn calm() -> Mood {
        Mood {
            local: 0.0,
            remote: 0.0,
            inv: 1.0,
            write_away: 0.0,
            ready: OUTPUTS.iter().map(|o| (*o, 1.0)).collect(),
            dir_answer: 1.0,
            mem_answer: 1.0,
            home_answer: 1.0,
            hot: None,
            loads: 0.5,
        }
    }
}

impl Bench {
    pub(super) fn draw_mood(&mut self) -> Mood {
        let rng = &mut self.rng;
        let mut level = |choices: &[f64]| *choices.choose(rng).expect("some");
        let mut ready = BTreeMap::new();
        for output in OUTPUTS {
            ready.insert(output, level(&[1.0, 1.0, 0.6, 0.05]));
        }
        let rates = [0.0, 0.2, 0.9, 1.0];
        let (local, remote, inv) = (level(&rates), level(&rates), level(&[1.0, 1.0, 0.1]));
        let (write_away, dir_answer) = (level(&[0.0, 0.05, 0.9]), level(&[1.0, 0.5, 0.05]));
        let (mem_answer, home_answer) = (level(&[1.0, 0.2, 0.02]), level(&[1.0, 0.2, 0.02]));
        let loads = level(&[0.2, 0.5, 0.98]);
        let hot = rng.random_bool(0.3).then(|| {
            let lines = if rng.random_bool(0.5) { &self.home_lines } else { &self.away_lines };
            *lines.choose(rng).expect("lines")
        });
        Mood { local, remote, inv, write_away, ready, dir_answer, mem_answer, home_answer, hot, loads }
    }

    fn draw_request(&mut self, lines: &[u64], cacheable: bool) -> Request {
        let bytes = self.p.sys.line as usize;
        let mut line = *lines.choose(&mut self.rng).expect("lines");
        if let Some(hot) = self.mood.hot
            && lines.contains(&hot)
            && self.rng.random_bool(0.9)
        {
            line = hot;
        }
        let kind = if self.rng.random_bool(self.mood.loads) {
            RD
        } else if self.rng.random_bool(0.6) {
            WR
        } else {
            ATOM
        };
        let data: Vec<u8> = (0..bytes).map(|_| self.rng.random()).collect();
        let mut mask = vec![false; bytes];
        match kind {
            WR if self.rng.random_bool(0.4) => mask.fill(true),
            WR => mask.iter_mut().for_each(|m| *m = self.rng.random_bool(0.3)),
            ATOM => {
                let size = if self.rng.random_bool(0.5) { 4 } else { 8 };
                let at = self.rng.random_range(0..bytes / size) * size;
                mask[at..at + size].fill(true);
            }
            _ => {}
        }
        Request {
            kind,
            line,
            mask,
            data,
            amo: self.rng.random_range(0..11),
            signed: self.rng.random(),
            compare: self.rng.random_range(0..4),
            cacheable,
            epoch: self.rng.random_range(0..2),
        }
    }

    /// A compare operand that is often right, and operands that often tie.
    fn sharpen(&mut self, request: &mut Request) {
        if request.kind != ATOM || self.rng.random_bool(0.5) {
            return;
        }
        let (at, size) = request.word();
        let known = if self.dram.contains_key(&request.line) {
            self.model.home_data(request.line).to_vec()
        } else {
            self.away_memory[&request.line].clone()
        };
        let word = &known[at..at + size];
        let value = word.iter().rev().fold(0u64, |n, b| n << 8 | u64::from(*b));
        request.compare = if size == 4 { value | self.rng.random::<u64>() << 32 } else { value };
        request.data[at..at + size].copy_from_slice(word);
        if request.amo == 10 {
            request.data[at] ^= 1;
        }
    }

    fn drive_request(&mut self, channel: &str, request: &Request) {
        let name = |leaf: &str| format!("{channel}_{leaf}");
        self.set(&name("kind"), request.kind);
        self.set(&name("line"), request.line);
        self.set_mask(&name("mask"), &request.mask);
        self.set_bytes(&name("data"), &request.data);
        self.set(&name("amo"), request.amo);
        self.set(&name("sgn"), u64::from(request.signed));
        self.set(&name("cmp"), request.compare);
    }

    /// Offers a message on an input unless one is waiting there; `accepted` runs when it is taken.
    fn offer(&mut self, channel: &'static str, accepted: impl FnOnce(&mut Bench) + 'static) {
        self.set(&format!("{channel}_valid"), 1);
        self.offered.insert(channel, Box::new(accepted));
    }

    pub(super) fn offer_all(&mut self) {
        self.offer_local();
        self.offer_remote();
        self.offer_inv();
        self.offer_answers();
        if self.fence.is_none() && self.rng.random_bool(0.01) && self.mood.local > 0.0 {
            let op = self.rng.random_range(0..2);
            self.start_fence(op);
        }
        if !self.token_out && self.rng.random_bool(0.03) && self.mood.local > 0.0 {
            self.start_order();
        }
        if self.rng.random_bool(self.mood.write_away) {
            self.disturb_away();
        }
    }

    fn offer_local(&mut self) {
        if self.offered.contains_key("local_req") || !self.rng.random_bool(self.mood.local) {
            return;
        }
        let l1 = self.rng.random_range(0..u64::from(self.p.sys.l1s));
        let id = self.rng.random_range(0..u64::from(self.p.sys.l1_mshrs));
        if self.local.contains_key(&(l1, id)) {
            return;
        }
        let lines = [self.home_lines.clone(), self.away_lines.clone()];
        let pick = usize::from(self.rng.random_bool(0.6));
        let mut request = self.draw_request(&lines[pick], true);
        if let Some(hot) = self.mood.hot
            && self.rng.random_bool(0.7)
        {
            request.line = hot;
        }
        self.sharpen(&mut request);
        self.drive_request("local_req", &request);
        self.set("local_req_l1", l1);
        self.set("local_req_id", id);
        self.local.insert((l1, id), Running { request, answer: None });
        self.offer("local_req", |_| ());
    }

    /// Offers a load of one L1.
    pub(super) fn offer_load(&mut self, line: u64, l1: u64, id: u64) {
        let bytes = self.p.sys.line as usize;
        let request = Request {
            kind: RD,
            line,
            mask: vec![false; bytes],
            data: vec![0; bytes],
            amo: 0,
            signed: false,
            compare: 0,
            cacheable: true,
            epoch: 0,
        };
        self.drive_request("local_req", &request);
        self.set("local_req_l1", l1);
        self.set("local_req_id", id);
        self.local.insert((l1, id), Running { request, answer: None });
        self.offer("local_req", |_| ());
    }

    fn offer_remote(&mut self) {
        if self.offered.contains_key("remote_req") || !self.rng.random_bool(self.mood.remote) {
            return;
        }
        let own = u64::from(self.p.home);
        let src = self.rng.random_range(0..u64::from(self.p.sys.gpus));
        let id = self.rng.random_range(0..u64::from(self.p.sys.l2_mshrs));
        let keeps = self.p.caching == weft_blocks::cache::l2::Caching::L1L2;
        let cacheable = self.rng.random_bool(0.8) && keeps;
        let lines = self.home_lines.clone();
        let mut request = self.draw_request(&lines, cacheable);
        let key = (src, id, u64::from(request.kind == WR));
        if src == own || self.remote.contains_key(&key) {
            return;
        }
        self.sharpen(&mut request);
        self.drive_request("remote_req", &request);
        self.set("remote_req_src", src);
        self.set("remote_req_dst", own);
        self.set("remote_req_id", id);
        self.set("remote_req_epoch", request.epoch);
        self.set("remote_req_cacheable", u64::from(cacheable));
        self.remote.insert(key, Running { request, answer: None });
        self.offer("remote_req", |_| ());
    }

    /// Another GPU writes an away line at its home, or the home's directory forgets it, or an old Inv comes.
    fn disturb_away(&mut self) {
        let line = match self.mood.hot {
            Some(hot) if self.away_lines.contains(&hot) => hot,
            _ => *self.away_lines.choose(&mut self.rng).expect("lines"),
        };
        let cause = self.rng.random_range(0..2);
        let grp = self.rng.random_bool(0.2);
        let members = self.members(line, grp);
        if cause == 0 {
            let at = self.rng.random_range(0..self.p.sys.line as usize);
            let value = self.rng.random();
            self.away_memory.get_mut(&line).expect("a line")[at] = value;
        }
        let shared = members.iter().any(|l| self.sharing.contains(l));
        if (shared || self.rng.random_bool(0.3)) && self.invs.len() < 20 {
            for member in &members {
                self.sharing.remove(member);
            }
            let link = self.rng.random_range(0..4);
            self.invs.push_back((line, cause, grp, link));
        }
    }

    /// The lines that an invalidation names.
    fn members(&self, line: u64, grp: bool) -> Vec<u64> {
        let others = u64::from(self.p.group) - 1;
        if grp { (line & !others..=line | others).collect() } else { vec![line] }
    }

    fn offer_inv(&mut self) {
        if self.offered.contains_key("inv") || !self.rng.random_bool(self.mood.inv) {
            return;
        }
        if let Some((line, cause, grp, link)) = self.invs.pop_front() {
            self.set("inv_line", line);
            self.set("inv_cause", cause);
            self.set("inv_grp", u64::from(grp));
            self.set("inv_link", link);
            let members = self.members(line, grp);
            self.offer("inv", move |b| {
                b.inv_links.push_back(link);
                b.inv_members.push_back(members.clone());
            });
        }
    }

    fn offer_answers(&mut self) {
        let ready = self.rng.random_bool(self.mood.home_answer) && !self.home_answers.is_empty();
        if ready && !self.offered.contains_key("rsp_in") {
            let at = self.rng.random_range(0..self.home_answers.len());
            let f = self.home_answers.swap_remove(at);
            let own = u64::from(self.p.home);
            self.set("rsp_in_kind", f.kind);
            self.set("rsp_in_dst", own);
            self.set("rsp_in_bank", super::BANK);
            self.set("rsp_in_id", f.id);
            self.set("rsp_in_epoch", f.epoch);
            self.set_bytes("rsp_in_data", &f.data);
            if f.kind == RD {
                self.delivered.entry(f.line).or_default().push(f.data.clone());
            }
            let from_dram = self.rng.random();
            self.set("rsp_in_from_dram", from_dram);
            self.offer("rsp_in", move |b| {
                if f.kind != RD {
                    b.away_writes[f.epoch as usize] -= 1;
                }
            });
        }
        let ready = self.rng.random_bool(self.mood.mem_answer) && !self.dram_reads.is_empty();
        if ready && !self.offered.contains_key("mem_rsp") {
            let at = self.rng.random_range(0..self.dram_reads.len());
            let f = self.dram_reads.swap_remove(at);
            self.set("mem_rsp_id", f.id);
            self.set_bytes("mem_rsp_data", &f.data);
            self.offer("mem_rsp", move |b| *b.fills.entry(f.line).or_default() += 1);
        }
        let ready = self.rng.random_bool(self.mood.dir_answer) && !self.dir_waiting.is_empty();
        if self.p.dir && ready && !self.offered.contains_key("dir_rsp") {
            let (id, number, read) = self.dir_waiting.remove(0);
            self.set("dir_rsp_id", id);
            self.offer("dir_rsp", move |b| {
                b.dir_answered.insert(number);
                if !read {
                    b.order.answered(number as u64).expect("a write under way");
                }
            });
        }
    }

    /// Gives a fence command: 0 drain, 1 flush.
    pub(super) fn start_fence(&mut self, op: u64) {
        self.set("fence_cmd_op", op);
        self.fence = Some((op, 0, BTreeMap::new()));
        self.offer("fence_cmd", |b| {
            let dirty = b.model.dirty_lines();
            let writes = &b.dram_writes;
            let counts = dirty.iter().map(|l| (*l, writes.get(l).copied().unwrap_or(0))).collect();
            b.fence.as_mut().expect("the command").2 = counts;
        });
    }

    /// Gives the bank the token of a marker.
    fn start_order(&mut self) {
        let requester = self.rng.random_range(0..self.p.sys.gpus);
        self.set("order_requester", u64::from(requester));
        self.token_out = true;
        self.offer("order", move |b| {
            b.order.take(requester).expect("one at a time");
            b.tokens[1] += u64::from(b.order.waits_for() > 0);
        });
    }

    fn receive_ordered(&mut self) {
        let (requester, younger) = (self.get("ordered_requester"), self.order.younger());
        let back = self.order.give_back();
        assert_eq!(
            back,
            Some(requester as u32),
            "a token before the directory has answered: {:?}",
            self.order
        );
        self.token_out = false;
        self.tokens[0] += 1;
        self.tokens[2] += u64::from(younger > 0);
    }

    /// Transfers of this cycle.
    pub(super) fn take_all(&mut self) {
        let waiting: Vec<&'static str> = self.offered.keys().copied().collect();
        let mut taken = Vec::new();
        for channel in waiting {
            if self.get(&format!("{channel}_ready")) == 1 {
                taken.push(channel);
            }
        }
        for output in OUTPUTS {
            if output == "dir_req" && !self.p.dir {
                continue;
            }
            let ready = self.rng.random_bool(self.mood.ready[output]);
            self.set(&format!("{output}_ready"), u64::from(ready));
            if ready && self.get(&format!("{output}_valid")) == 1 {
                self.receive(output);
            }
        }
        for input in INPUTS {
            if input == "dir_rsp" && !self.p.dir {
                continue;
            }
            // The offer stands until the cycle in which it is taken has been clocked.
            let stands = self.offered.contains_key(input);
            self.set(&format!("{input}_valid"), u64::from(stands));
        }
        for channel in taken {
            let accepted = self.offered.remove(channel).expect("offered");
            accepted(self);
        }
    }

    fn receive(&mut self, output: &str) {
        match output {
            "local_rsp" => self.receive_local(),
            "rsp_out" => self.receive_remote(),
            "req_out" => self.receive_request(),
            "mem_req" => self.receive_memory(),
            "inv_done" => {
                let link = self.get("inv_done_link");
                assert_eq!(self.inv_links.pop_front(), Some(link), "invalidations are applied in order");
                let members = self.inv_members.pop_front().expect("taken");
                let applied = members.len().min(self.inv_lookups.len());
                let lines: Vec<u64> = self.inv_lookups.drain(..applied).collect();
                assert_eq!(lines, members, "every line of a group is invalidated once");
            }
            "dir_req" => {
                let op = [DirOp::RdRem, DirOp::WrRem, DirOp::WrLoc, DirOp::AtomRem]
                    [self.get("dir_req_op") as usize];
                let found = (op, self.get("dir_req_src"), self.get("dir_req_line"));
                let (op, src, line, number) =
                    self.model.directory_ops.pop_front().expect("a directory operation");
                assert_eq!(found, (op, src, line), "directory operations in pipeline order");
                let id = self.get("dir_req_id");
                self.dir_waiting.push((id, number, op == DirOp::RdRem));
            }
            "ordered" => self.receive_ordered(),
            _ => self.receive_fence(),
        }
    }

    fn receive_local(&mut self) {
        let key = (self.get("local_rsp_l1"), self.get("local_rsp_id"));
        let data = self.get_bytes("local_rsp_data");
        let (kind, src) = (self.get("local_rsp_kind"), self.get("local_rsp_src"));
        let running = self.local.remove(&key).unwrap_or_else(|| panic!("{key:?} answered twice"));
        let answer = running.answer.unwrap_or_else(|| panic!("{key:?} answered before it was accepted"));
        assert_eq!(kind, running.request.kind);
        self.answered += 1;
        match answer {
            Answer::Line(line, slow) => {
                assert_eq!(data, line, "load {key:?} of {:x}", running.request.line);
                assert_eq!(src, if slow { 3 } else { 1 });
            }
            Answer::FromHome(number) => {
                let line = running.request.line;
                assert_eq!(data, self.delivered[&line][number], "load {key:?} of {line:x}");
                assert!(src == 4 || src == 5);
            }
            Answer::OldFromHome(Some(line)) => {
                assert_eq!(data, line, "atomic {key:?} on {:x}", running.request.line);
                assert!(src == 4 || src == 5);
            }
            Answer::Accepted => {}
            Answer::Old(old, number, slow) => {
                self.check_word(&running.request, &data, &old, number);
                assert_eq!(src, if slow { 3 } else { 1 });
            }
            other => panic!("{key:?}: {other:?} for an L1"),
        }
    }

    fn check_word(&self, request: &Request, data: &[u8], old: &[u8], number: usize) {
        let (at, size) = request.word();
        assert_eq!(&data[at..at + size], old, "old value of {request:?}");
        self.check_directory(number);
    }

    fn check_directory(&self, number: usize) {
        assert!(
            !self.p.dir || self.dir_answered.contains(&number),
            "acknowledged before the directory answered"
        );
    }

    fn receive_remote(&mut self) {
        let kind = self.get("rsp_out_kind");
        let key = (self.get("rsp_out_dst"), self.get("rsp_out_id"), u64::from(kind == WR));
        let data = self.get_bytes("rsp_out_data");
        let fields = (self.get("rsp_out_src"), self.get("rsp_out_bank"));
        assert_eq!(fields, (u64::from(self.p.home), super::BANK));
        let running = self.remote.remove(&key).unwrap_or_else(|| panic!("{key:?} answered twice"));
        assert_eq!(kind, running.request.kind);
        let slow_found = self.get("rsp_out_from_dram") == 1;
        if kind != RD {
            assert_eq!(self.get("rsp_out_epoch"), running.request.epoch);
        }
        self.answered += 1;
        match running.answer.unwrap_or_else(|| panic!("{key:?} answered before it was accepted")) {
            Answer::Line(line, slow) => {
                assert_eq!(data, line, "read {key:?} of {:x}", running.request.line);
                assert_eq!(slow, slow_found);
            }
            Answer::Written(number) => self.check_directory(number),
            Answer::Old(old, number, slow) => {
                self.check_word(&running.request, &data, &old, number);
                assert_eq!(slow, slow_found);
            }
            other => panic!("{key:?}: {other:?} for a GPU"),
        }
    }

    /// The other homes: requests are performed in the order of arrival, answers leave in any order.
    fn receive_request(&mut self) {
        let Sent { request, epoch, from } = self.model.sent.pop_front().expect("a request to a home");
        let found = (self.get("req_out_kind"), self.get("req_out_line"), self.get("req_out_src"));
        assert_eq!(found, (request.kind, request.line, u64::from(self.p.home)), "order of requests");
        let shift = self.p.sys.home_shift - self.p.sys.line.trailing_zeros();
        assert_eq!(self.get("req_out_dst"), request.line >> shift);
        let cacheable = self.get("req_out_cacheable") == 1;
        assert_eq!(cacheable, self.p.caching == weft_blocks::cache::l2::Caching::L1L2);
        let id = self.get("req_out_id");
        let memory = self.away_memory.get_mut(&request.line).expect("an away line");
        let mut data = memory.clone();
        if request.kind != RD {
            let old = request.perform(memory);
            if request.kind == ATOM {
                let (at, size) = request.word();
                data[at..at + size].copy_from_slice(&old);
                let running = self.local.get_mut(&from).expect("the atomic");
                assert_eq!(running.answer, Some(Answer::OldFromHome(None)));
                running.answer = Some(Answer::OldFromHome(Some(data.clone())));
            }
            assert_eq!(self.get("req_out_epoch"), epoch);
            assert_eq!(self.get_bytes("req_out_data"), request.data);
        }
        if cacheable && request.kind != ATOM {
            self.sharing.insert(request.line);
        } else {
            self.sharing.remove(&request.line);
        }
        self.home_answers.push(Fill { id, line: request.line, data, kind: request.kind, epoch });
    }

    fn receive_memory(&mut self) {
        let line = self.get("mem_req_line");
        let expected = self.model.memory.pop_front().expect("a DRAM request");
        if self.get("mem_req_write") == 1 {
            let data = self.get_bytes("mem_req_data");
            assert_eq!(Memory::Write(line, data.clone()), expected, "write-back of {line:x}");
            self.dram.insert(line, data);
            *self.dram_writes.entry(line).or_default() += 1;
        } else {
            assert_eq!(Memory::Fetch(line), expected);
            let id = self.get("mem_req_id");
            let data = self.dram[&line].clone();
            self.dram_reads.push(Fill { id, line, data, kind: RD, epoch: 0 });
        }
    }

    fn receive_fence(&mut self) {
        let (op, _, dirty) = self.fence.take().expect("a command");
        assert_eq!(self.get("fence_done_op"), op);
        if op == 1 {
            for (line, before) in dirty {
                let now = self.dram_writes.get(&line).copied().unwrap_or(0);
                assert!(now > before, "line {line:x} was dirty and was not written back");
            }
            return;
        }
        let old = 1 - self.peek("epoch");
        assert_eq!(self.away_writes[old as usize], 0, "drained with writes outstanding");
        let writes = std::mem::take(&mut self.home_writes);
        for (epoch, number, line, fetches) in writes {
            if epoch == old {
                self.check_directory(number);
                let filled = self.fills.get(&line).copied().unwrap_or(0);
                assert!(filled >= fetches, "drained with a store to {line:x} waiting for its fetch");
            } else {
                self.home_writes.push((epoch, number, line, fetches));
            }
        }
    }
}

//! The bank's surroundings: what is done with its messages.

use super::gpu::Content;
use super::model::{Answer, Asker, Memory, Sent, replayed};
use super::request::{ATOM, DOWN, RD, Request, WR};
use super::world::{INPUTS, OUTPUTS};
use super::{Asked, Bench, Fill, Received, Role, Running};
use rand::Rng;
use weft_testbench::golden::dir_table::DirOp;

impl Bench {
    fn has(&self, channel: &str) -> bool {
        match channel {
            "dir_req" | "dir_rsp" => self.p.dir,
            "far_req" | "far_out" | "far_cmd" | "far_done" => self.p.hier,
            "recv_out" | "recv_done" => self.p.hier && self.p.dir,
            _ => true,
        }
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
            if !self.has(output) {
                continue;
            }
            let ready = self.rng.random_bool(self.mood.ready[output]) && !self.blocked.contains(&output);
            self.set(&format!("{output}_ready"), u64::from(ready));
            if ready && self.get(&format!("{output}_valid")) == 1 {
                self.receive(output);
            }
        }
        for input in INPUTS {
            if self.has(input) {
                // The offer stands until the cycle in which it is taken has been clocked.
                let stands = self.offered.contains_key(input);
                self.set(&format!("{input}_valid"), u64::from(stands));
            }
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
            "far_out" => self.receive_passed(),
            "mem_req" => self.receive_memory(),
            "inv_done" => {
                let link = self.get("inv_done_link");
                let at = self.inv_due.iter().position(|due| *due == link);
                let at = at.unwrap_or_else(|| panic!("no Inv of link {link} is applied: {:?}", self.inv_due));
                assert!(self.p.hier || at == 0, "invalidations are applied in order");
                self.inv_due.remove(at);
                let role = if link == 1 { Role::GpuHome } else { Role::Leaf };
                *self.served.entry(("inv", role)).or_default() += 1;
            }
            "dir_req" => {
                let op = [DirOp::RdRem, DirOp::WrRem, DirOp::WrLoc, DirOp::AtomRem, DirOp::Downgrade]
                    [self.get("dir_req_op") as usize];
                let found = (op, self.get("dir_req_src"), self.get("dir_req_line"));
                let (op, src, line, number) =
                    self.model.directory_ops.pop_front().expect("a directory operation");
                assert_eq!(found, (op, src, line), "directory operations in pipeline order");
                let id = self.get("dir_req_id");
                self.dir_waiting.push(Asked { id, number, op });
            }
            "recv_out" => self.receive_recv(),
            "ordered" => self.receive_ordered(),
            "far_done" => {
                self.far_drain = false;
                self.fences[1] += 1;
                let old = 1 - self.peek("far_epoch") as usize;
                assert_eq!(self.far_writes[old], 0, "drained with writes to other GPUs outstanding");
                self.assert_written_on(&self.held_before[1]);
            }
            _ => self.receive_fence(),
        }
    }

    fn receive_recv(&mut self) {
        let Received { members, cause, link, must, may } =
            self.recv_due.pop_front().expect("an Inv of another GPU was applied");
        let line = self.get("recv_out_line");
        assert!(members.contains(&line), "{line:x} is none of {members:x?}");
        assert_eq!((self.get("recv_out_cause"), self.get("recv_out_link")), (cause, link));
        let also = self.get("recv_out_also");
        assert_eq!((must & !also, also & !may), (0, 0), "also {also:b}, must {must:b}, may {may:b}");
        self.recv_waiting.push_back(link);
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

    fn finished(&mut self, channel: &'static str, asker: Asker) -> (Request, Answer) {
        let Running { request, answer } =
            self.running.remove(&asker).unwrap_or_else(|| panic!("{asker:?} answered twice"));
        let answer = answer.unwrap_or_else(|| panic!("{asker:?} answered before it was accepted"));
        self.answered += 1;
        *self.served.entry((channel, self.lines[&request.line])).or_default() += 1;
        (request, answer)
    }

    /// Who served a read's data, as L1s are told.
    fn server(&self, line: u64, read: usize) -> u64 {
        let given = &self.delivered[&line][read];
        let near = if given.beyond { 4 } else { 2 };
        near + u64::from(given.dram)
    }

    fn receive_local(&mut self) {
        let asker = Asker::Local(self.get("local_rsp_l1"), self.get("local_rsp_id"));
        let data = self.get_bytes("local_rsp_data");
        let (kind, src) = (self.get("local_rsp_kind"), self.get("local_rsp_src"));
        let (request, answer) = self.finished("local", asker);
        let line = request.line;
        assert_eq!(kind, request.kind);
        match answer {
            Answer::Line(expected, slow) => {
                assert_eq!(data, expected, "load {asker:?} of {line:x}");
                assert_eq!(src, if slow { 3 } else { 1 });
            }
            Answer::FromHome(read, before) => {
                let expected = replayed(&self.delivered[&line][read].data, &before);
                assert_eq!(data, expected, "load {asker:?} of {line:x}");
                assert_eq!(src, self.server(line, read), "load {asker:?} of {line:x}");
            }
            Answer::OldFromHome(Some(expected)) => {
                assert_eq!(data, expected, "atomic {asker:?} on {line:x}");
                let near = self.p.hier && self.lines[&line] == Role::Leaf;
                assert!(
                    src == 4 - 2 * u64::from(near) || src == 5 - 2 * u64::from(near),
                    "{asker:?} by {src}"
                );
            }
            Answer::Accepted => {}
            Answer::Old(old, number, slow) => {
                self.check_word(&request, &data, &old, number);
                assert_eq!(src, if slow { 3 } else { 1 });
            }
            Answer::OldReplayed(read, before, number) => {
                let expected = replayed(&self.delivered[&line][read].data, &before);
                let (at, size) = request.word();
                self.check_word(&request, &data, &expected[at..at + size], number);
                assert_eq!(src, self.server(line, read), "atomic {asker:?} on {line:x}");
            }
            other => panic!("{asker:?}: {other:?} for an L1"),
        }
    }

    fn check_word(&self, request: &Request, data: &[u8], old: &[u8], number: usize) {
        let (at, size) = request.word();
        assert_eq!(&data[at..at + size], old, "old value of {request:?}");
        self.check_directory(number);
    }

    /// The directory has answered what must be answered first.
    fn check_directory(&self, number: usize) {
        assert!(
            !self.p.dir || self.dir_answered.contains(&number),
            "acknowledged before the directory answered"
        );
    }

    fn receive_remote(&mut self) {
        let kind = self.get("rsp_out_kind");
        let asker = Asker::Node(self.get("rsp_out_dst"), self.get("rsp_out_id"), u64::from(kind == WR));
        let data = self.get_bytes("rsp_out_data");
        let fields = (self.get("rsp_out_src"), self.get("rsp_out_bank"));
        assert_eq!(fields, (u64::from(self.p.home), super::BANK));
        let dst = self.get("rsp_out_dst");
        let beyond = !self.near(dst);
        let (request, answer) = self.finished(if beyond { "far" } else { "remote" }, asker);
        let line = request.line;
        assert_eq!(kind, request.kind);
        let slow_found = self.get("rsp_out_from_dram") == 1;
        let epoch = self.get("rsp_out_epoch");
        if kind != RD {
            assert_eq!(epoch, request.epoch);
        }
        if let Some(number) = self.reads_behind.remove(&asker) {
            self.check_directory(number);
            self.behind[0] += 1;
        }
        match answer {
            Answer::Line(expected, slow) => {
                assert_eq!(data, expected, "read {asker:?} of {line:x}");
                assert_eq!((slow, epoch), (slow_found, 0));
            }
            Answer::FromHome(read, before) => {
                let given = &self.delivered[&line][read];
                assert_eq!(data, replayed(&given.data, &before), "read {asker:?} of {line:x}");
                assert_eq!((slow_found, epoch), (given.dram, 1), "read {asker:?} of {line:x}");
            }
            Answer::Written(number) => self.check_directory(number),
            Answer::Old(old, number, slow) => {
                self.check_word(&request, &data, &old, number);
                assert_eq!(slow, slow_found);
            }
            Answer::OldReplayed(read, before, number) => {
                let given = &self.delivered[&line][read];
                let (at, size) = request.word();
                let expected = replayed(&given.data, &before)[at..at + size].to_vec();
                assert_eq!(slow_found, given.dram, "atomic {asker:?} on {line:x}");
                self.check_word(&request, &data, &expected, number);
            }
            Answer::OldFromHome(Some(expected)) => {
                assert_eq!(data, expected, "atomic {asker:?} on {line:x}");
            }
            other => panic!("{asker:?}: {other:?} for a node"),
        }
    }

    /// Another node performs a request on its memory and answers it later, in any order.
    fn perform_away(&mut self, channel: &str, request: &Request, kind: u64, from: Asker, epoch: u64) {
        let name = |leaf: &str| format!("{channel}_{leaf}");
        let found = (self.get(&name("kind")), self.get(&name("line")), self.get(&name("src")));
        assert_eq!(found, (kind, request.line, u64::from(self.p.home)), "order of requests");
        let (line, id) = (request.line, self.get(&name("id")));
        let src = self.get(&name("dst"));
        let cacheable = self.get(&name("cacheable")) == 1;
        assert_eq!(cacheable, self.keeps(line));
        let store = kind == WR && channel == "req_out" && self.p.write_back;
        if kind == ATOM || (kind == RD && request.kind == RD) || store {
            assert_eq!(self.get(&name("scope")), request.scope, "the scope goes along");
        }
        let memory = self.away_memory.get_mut(&line).expect("an away line");
        let mut data = memory.clone();
        if kind != RD {
            let old = request.perform(memory);
            if kind == ATOM {
                let (at, size) = request.word();
                data[at..at + size].copy_from_slice(&old);
                let running = self.running.get_mut(&from).expect("the atomic");
                assert_eq!(running.answer, Some(Answer::OldFromHome(None)));
                running.answer = Some(Answer::OldFromHome(Some(data.clone())));
            }
            assert_eq!(self.get(&name("epoch")), epoch);
            let mask = self.get_mask(&name("mask"));
            assert_eq!(mask, request.mask, "bytes of {line:x}");
        }
        if cacheable && kind != ATOM {
            self.sharing.insert(line);
        } else {
            self.sharing.remove(&line);
        }
        self.home_answers.push(Fill { id, line, data, kind, epoch, src });
    }

    /// The nodes that serve lines: requests are performed in the order of arrival, answers leave in any order.
    fn receive_request(&mut self) {
        let Sent { request, epoch, from } = self.model.sent.pop_front().expect("a request to a home");
        assert_eq!(self.get("req_out_dst"), self.server_of(request.line));
        if request.kind == DOWN {
            return self.receive_down("req_out", request.line);
        }
        if request.kind != RD {
            let (found, all) = (self.get_bytes("req_out_data"), !self.p.write_back);
            let differs =
                (0..found.len()).find(|at| (all || request.mask[*at]) && found[*at] != request.data[*at]);
            assert_eq!(differs, None, "{request:?}");
        }
        self.perform_away("req_out", &request, request.kind, from, epoch);
    }

    /// The next home forgets that this bank has copies of a group: no Inv will come.
    fn receive_down(&mut self, channel: &str, line: u64) {
        let name = |leaf: &str| format!("{channel}_{leaf}");
        let found = (self.get(&name("kind")), self.get(&name("line")), self.get(&name("src")));
        assert_eq!(found, (DOWN, line, u64::from(self.p.home)), "order of requests");
        for member in self.members(line, true) {
            self.sharing.remove(&member);
        }
    }

    /// The system homes in other GPUs.
    fn receive_passed(&mut self) {
        let line = self.get("far_out_line");
        let passed = self.model.take_passed(line);
        assert_eq!(self.get("far_out_dst"), self.home_of(line));
        if passed.kind == DOWN {
            return self.receive_down("far_out", line);
        }
        let mut request = passed.request;
        let data = match passed.content {
            Content::AsAsked => request.data.clone(),
            Content::Result(data) => data,
            Content::Late(read, before) => {
                let given = self.delivered[&line].get(read).expect("the line before the atomic's result");
                let mut data = replayed(&given.data, &before);
                request.perform(&mut data);
                data
            }
        };
        let found = self.get_bytes("far_out_data");
        if passed.kind == WR {
            let differs = (0..data.len()).find(|at| request.mask[*at] && data[*at] != found[*at]);
            assert_eq!(differs, None, "written on by {:?}", passed.from);
            request.data = data;
            request.kind = WR;
        }
        self.perform_away("far_out", &request, passed.kind, passed.from, passed.epoch);
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
            self.dram_reads.push(Fill { id, line, data, kind: RD, epoch: 0, src: u64::from(self.p.home) });
        }
    }

    fn receive_fence(&mut self) {
        let (op, _, dirty) = self.fence.take().expect("a command");
        assert_eq!(self.get("fence_done_op"), op);
        if op == 1 || op > 1 && self.p.drops_all {
            for (line, before) in dirty {
                let now = self.dram_writes.get(&line).copied().unwrap_or(0);
                assert!(now > before, "line {line:x} was dirty and was not written back");
            }
        }
        if op == 1 {
            return;
        }
        if op > 1 {
            assert!(self.drop_applied, "answered before anything was dropped");
            self.fences[2] += 1;
            // The answer is given in the cycle in which the last row is cleared, or later.
            return;
        }
        if self.p.acks {
            let back = self.drain_order.give_back();
            assert!(back.is_some(), "drained before the directory has answered: {:?}", self.drain_order);
        }
        let old = 1 - self.peek("epoch");
        assert_eq!(self.away_writes[old as usize], 0, "drained with writes outstanding");
        self.assert_written_on(&self.held_before[0]);
        self.fences[0] += u64::from(self.far_writes != [0, 0]);
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

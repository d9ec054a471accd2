//! The bank's surroundings: what is offered to it.

use super::model::Asker;
use super::request::{ATOM, RD, Request, WR};
use super::{Bench, Fill, Given, Invalidation, Mood, Role, Running};
use rand::Rng;
use rand::seq::IndexedRandom;
use std::collections::BTreeMap;
use weft_testbench::golden::dir_table::DirOp;

pub const OUTPUTS: [&str; 11] = [
    "local_rsp",
    "rsp_out",
    "req_out",
    "far_out",
    "mem_req",
    "inv_done",
    "dir_req",
    "recv_out",
    "fence_done",
    "far_done",
    "ordered",
];
pub const INPUTS: [&str; 11] = [
    "local_req",
    "remote_req",
    "far_req",
    "inv",
    "rsp_in",
    "mem_rsp",
    "dir_rsp",
    "recv_done",
    "fence_cmd",
    "far_cmd",
    "order",
];

impl Mood {
    pub fn calm() -> Mood {
        Mood {
            local: 0.0,
            remote: 0.0,
            far: 0.0,
            inv: 1.0,
            write_away: 0.0,
            ready: OUTPUTS.iter().map(|o| (*o, 1.0)).collect(),
            dir_answer: 1.0,
            mem_answer: 1.0,
            home_answer: 1.0,
            far_answer: 1.0,
            hot: None,
            loads: 0.5,
            stores: 0.6,
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
        let (far, far_answer) = (level(&rates), level(&[1.0, 0.2, 0.02]));
        let (write_away, dir_answer) = (level(&[0.0, 0.05, 0.9]), level(&[1.0, 0.5, 0.05]));
        let (mem_answer, home_answer) = (level(&[1.0, 0.2, 0.02]), level(&[1.0, 0.2, 0.02]));
        let loads = level(&[0.2, 0.5, 0.98]);
        let lines: Vec<u64> = self.lines.keys().copied().collect();
        let rng = &mut self.rng;
        let hot = rng.random_bool(0.3).then(|| *lines.choose(rng).expect("lines"));
        Mood {
            local,
            remote,
            far,
            inv,
            write_away,
            ready,
            dir_answer,
            mem_answer,
            home_answer,
            far_answer,
            hot,
            loads,
            stores: 0.6,
        }
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
        } else if self.rng.random_bool(self.mood.stores) {
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
            scope: match (kind, self.p.write_back) {
                (WR, false) => 0,
                (WR, true) => *[0, 0, 0, 1, 1, 2].choose(&mut self.rng).expect("some"),
                _ => self.rng.random_range(0..3),
            },
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
        self.set(&name("scope"), request.scope);
    }

    /// Offers a message on an input unless one is waiting there; `accepted` runs when it is taken.
    fn offer(&mut self, channel: &'static str, accepted: impl FnOnce(&mut Bench) + 'static) {
        self.set(&format!("{channel}_valid"), 1);
        self.offered.insert(channel, Box::new(accepted));
    }

    pub(super) fn offer_all(&mut self) {
        self.offer_local();
        self.offer_node("remote_req", self.mood.remote);
        if self.p.hier {
            self.offer_node("far_req", self.mood.far);
        }
        self.offer_inv();
        self.offer_answers();
        if self.fence.is_none() && self.rng.random_bool(0.01) && self.mood.local > 0.0 {
            let op = self.rng.random_range(0..if self.p.drops { 5 } else { 2 });
            self.start_fence(op);
        }
        if self.p.hier && !self.far_drain && self.rng.random_bool(0.01) && self.mood.local > 0.0 {
            self.start_far_drain();
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
        if self.running.contains_key(&Asker::Local(l1, id)) {
            return;
        }
        let own = self.local_roles.contains(&Role::Home) && self.rng.random_bool(0.4);
        let away: Vec<Role> = self.local_roles.iter().filter(|r| **r != Role::Home).copied().collect();
        let lines = if own { self.lines_of(&[Role::Home]) } else { self.lines_of(&away) };
        let mut request = self.draw_request(&lines, true);
        if let Some(hot) = self.mood.hot
            && self.rng.random_bool(0.7)
        {
            request.line = hot;
        }
        self.sharpen(&mut request);
        request.cacheable = self.keeps(request.line);
        self.drive_local(l1, id, request);
    }

    fn drive_local(&mut self, l1: u64, id: u64, request: Request) {
        self.drive_request("local_req", &request);
        self.set("local_req_l1", l1);
        self.set("local_req_id", id);
        self.running.insert(Asker::Local(l1, id), Running { request, answer: None });
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
            scope: 0,
        };
        self.drive_local(l1, id, request);
    }

    /// The nodes whose requests come in here.
    fn senders(&self, channel: &str) -> Vec<u64> {
        let sys = &self.p.sys;
        let own = self.p.home;
        let others = sys.all_nodes().into_iter().filter(|node| *node != own);
        let may = |node: &u32| match (self.p.hier, channel) {
            (false, _) => true,
            (true, "far_req") => {
                !self.near(u64::from(*node)) && sys.gpm_of_node(*node) == sys.gpm_of_node(own)
            }
            (true, _) => self.near(u64::from(*node)),
        };
        others.filter(may).map(u64::from).collect()
    }

    fn offer_node(&mut self, channel: &'static str, rate: f64) {
        if self.offered.contains_key(channel) || !self.rng.random_bool(rate) {
            return;
        }
        let Some(src) = self.senders(channel).choose(&mut self.rng).copied() else { return };
        let id = self.rng.random_range(0..u64::from(self.p.sys.l2_mshrs));
        // Where invalidations are acknowledged every node keeps copies.
        let cacheable = (self.rng.random_bool(0.8) || self.p.acks) && self.p.keeps_remote();
        let roles: &[Role] =
            if self.p.hier && channel == "remote_req" { &[Role::Home, Role::GpuHome] } else { &[Role::Home] };
        let lines = self.lines_of(roles);
        let mut request = self.draw_request(&lines, cacheable);
        let down = self.p.downgrade && self.rng.random_bool(0.05);
        if down {
            request = Request::down(request.line, self.p.sys.line as usize);
        }
        let asker = Asker::Node(src, id, if down { 2 } else { u64::from(request.kind == WR) });
        if self.running.contains_key(&asker) {
            return;
        }
        self.sharpen(&mut request);
        self.drive_request(channel, &request);
        self.set(&format!("{channel}_src"), src);
        self.set(&format!("{channel}_dst"), u64::from(self.p.home));
        self.set(&format!("{channel}_id"), id);
        self.set(&format!("{channel}_epoch"), request.epoch);
        self.set(&format!("{channel}_cacheable"), u64::from(cacheable));
        self.running.insert(asker, Running { request, answer: None });
        self.offer(channel, |_| ());
    }

    /// Another GPU writes an away line at its home, or the home's directory forgets it, or an old Inv comes.
    fn disturb_away(&mut self) {
        let line = match self.mood.hot {
            Some(hot) if self.away_memory.contains_key(&hot) => hot,
            _ => {
                let lines = self.lines_of(&[Role::GpuHome, Role::Leaf]);
                *lines.choose(&mut self.rng).expect("lines")
            }
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
        let waiting = self.invs.iter().filter(|inv| self.lines[&inv.0] == self.lines[&line]).count();
        if (shared || self.rng.random_bool(0.3)) && waiting < 20 {
            for member in &members {
                self.sharing.remove(member);
            }
            let link = match self.lines[&line] {
                _ if !self.p.hier => self.rng.random_range(0..4),
                role => u64::from(role == Role::GpuHome),
            };
            self.invs.push_back((line, cause, grp, link));
        }
    }

    /// The lines that an invalidation names.
    pub(super) fn members(&self, line: u64, grp: bool) -> Vec<u64> {
        let others = u64::from(self.p.group) - 1;
        if grp { (line & !others..=line | others).collect() } else { vec![line] }
    }

    fn offer_inv(&mut self) {
        if self.offered.contains_key("inv") || !self.rng.random_bool(self.mood.inv) {
            return;
        }
        // The ingress of a hierarchy delivers at most 8 Invs of other GPUs that are not yet applied.
        let open = self.inv_pending.iter().filter(|inv| inv.link == 1).count() + self.recv_due.len();
        let open = open + self.recv_waiting.len() + self.inv_due.iter().filter(|link| **link == 1).count();
        let may = |link: u64| !self.p.hier || link == 0 || open < 8;
        let next = self.invs.iter().position(|inv| may(inv.3));
        if let Some((line, cause, grp, link)) = next.and_then(|at| self.invs.remove(at)) {
            self.set("inv_line", line);
            self.set("inv_cause", cause);
            self.set("inv_grp", u64::from(grp));
            self.set("inv_link", link);
            let members = self.members(line, grp);
            self.inv_pending.push_back(Invalidation { members, looked: 0, cause, link });
            self.offer("inv", |_| ());
        }
    }

    /// An answer of another node: those of other GPUs have a rate of their own.
    fn offer_response(&mut self) {
        if self.offered.contains_key("rsp_in") {
            return;
        }
        let rates = [self.mood.home_answer, self.mood.far_answer];
        let come = rates.map(|rate| self.rng.random_bool(rate));
        let fits = |fill: &Fill| come[usize::from(!self.near(fill.src))];
        let ready = (0..self.home_answers.len()).filter(|at| fits(&self.home_answers[*at]));
        let Some(at) = ready.collect::<Vec<_>>().choose(&mut self.rng).copied() else { return };
        let f = self.home_answers.swap_remove(at);
        self.set("rsp_in_kind", f.kind);
        self.set("rsp_in_src", f.src);
        self.set("rsp_in_dst", u64::from(self.p.home));
        self.set("rsp_in_bank", super::BANK);
        self.set("rsp_in_id", f.id);
        self.set_bytes("rsp_in_data", &f.data);
        let dram = self.rng.random();
        let passed_on = self.rng.random();
        self.set("rsp_in_from_dram", u64::from(dram));
        let far = self.p.hier && self.lines[&f.line] == Role::GpuHome;
        self.set("rsp_in_epoch", if f.kind == RD { u64::from(passed_on && !far) } else { f.epoch });
        if f.kind == RD {
            let beyond = !self.p.hier || far || passed_on;
            self.delivered.entry(f.line).or_default().push(Given { data: f.data, dram, beyond });
        }
        self.offer("rsp_in", move |b| {
            if f.kind == RD {
                *b.fills.entry(f.line).or_default() += 1;
            } else if far {
                b.far_writes[f.epoch as usize] -= 1;
            } else {
                b.away_writes[f.epoch as usize] -= 1;
            }
        });
    }

    fn offer_answers(&mut self) {
        self.offer_response();
        let ready = self.rng.random_bool(self.mood.dir_answer) && !self.recv_waiting.is_empty();
        if ready && !self.offered.contains_key("recv_done") {
            let link = self.recv_waiting.pop_front().expect("some");
            self.set("recv_done_link", link);
            self.offer("recv_done", move |b| b.inv_due.push_back(link));
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
            // Operations of other groups pass one that waits for acknowledgements.
            let at = if self.p.acks { self.rng.random_range(0..self.dir_waiting.len().min(4)) } else { 0 };
            let super::Asked { id, number, op } = self.dir_waiting.remove(at);
            let (read, down) = (op == DirOp::RdRem, op == DirOp::Downgrade);
            let empty = down && self.rng.random_bool(0.7);
            self.set("dir_rsp_id", id);
            self.set("dir_rsp_empty", u64::from(empty));
            if let Some(question) = self.question.as_mut().filter(|question| question.number == number) {
                question.empty = Some(empty);
            }
            self.offer("dir_rsp", move |b| {
                b.dir_answered.insert(number);
                b.answered_now.extend(b.unanswered.remove(&number));
                if !read && !down {
                    b.order.answered(number as u64).expect("a write under way");
                    b.drain_order.answered(number as u64).expect("a write under way");
                }
            });
        }
    }

    /// Gives a fence command: 0 drain, 1 flush, 2 to 4 drop copies.
    pub(super) fn start_fence(&mut self, op: u64) {
        self.set("fence_cmd_op", op);
        self.drop_applied = false;
        self.fence = Some((op, 0, BTreeMap::new()));
        self.offer("fence_cmd", move |b| {
            if b.p.acks && op == 0 {
                b.drain_order.take(0).expect("one at a time");
                b.behind[1] += u64::from(b.drain_order.waits_for() > 0);
            }
            b.held_before[0] = b.model.held(false);
            let dirty = b.model.dirty_lines();
            let writes = &b.dram_writes;
            let counts = dirty.iter().map(|l| (*l, writes.get(l).copied().unwrap_or(0))).collect();
            b.fence.as_mut().expect("the command").2 = counts;
        });
    }

    /// Has what was passed on to other GPUs drained.
    pub(super) fn start_far_drain(&mut self) {
        self.far_drain = true;
        self.offer("far_cmd", |b| b.held_before[1] = b.model.held(true));
    }

    /// Gives the bank the token of a marker.
    fn start_order(&mut self) {
        let requester = self.rng.random_range(0..self.p.sys.nodes());
        self.set("order_requester", u64::from(requester));
        self.token_out = true;
        self.offer("order", move |b| {
            b.order.take(requester).expect("one at a time");
            b.tokens[1] += u64::from(b.order.waits_for() > 0);
        });
    }

    /// Cycles that an idle bank keeps a token.
    ///
    /// # Panics
    /// When it does not come back.
    pub fn idle_token(&mut self) -> u64 {
        (0..20).for_each(|_| self.cycle());
        let start = self.sim.cycle();
        self.start_order();
        while self.token_out {
            assert!(self.sim.cycle() < start + 100, "the token does not come back");
            self.cycle();
        }
        self.sim.cycle() - start
    }
}

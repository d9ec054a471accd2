//! One cycle: what happens around the bank, what is offered to it, and what it gives.

use super::l1s::{Ask, fresh, kind};
use super::memory::{MemReq, Time, atomic, merge, op};
use super::ports::{Bytes, Mask};
use super::{Bench, GPU, Mood, Rolling};
use rand::Rng;

/// An answer of the bank to an L1.
#[derive(Clone, Debug)]
pub struct Answered {
    pub ask: Ask,
    pub epoch: u64,
    pub wts: u64,
    pub rts: u64,
    pub with_data: bool,
    pub data: Bytes,
    pub old: u64,
    pub from_memory: bool,
    pub cycle: u64,
}

impl Bench {
    /// One cycle.
    pub fn cycle(&mut self) {
        self.around();
        self.offer_request();
        self.offer_answer();
        let rolled = self.offer_roll();
        self.take_outputs();
        let taken = self.offered.is_some() && self.get("l1_req_ready") == 1;
        let brought = self.brought.is_some();
        assert!(!brought || self.get("mem_rsp_ready") == 1, "answers of memory are always taken");
        let rolled = rolled && self.get("roll_ready") == 1;
        let commanded = self.maint.is_some() && self.get("maint_ready") == 1;
        self.sim.step();
        if let Some(f) = self.sim.failures().first() {
            panic!("seed {} cycle {}: {}: {} ({})", self.seed, f.cycle, f.name, f.text, f.at);
        }
        if taken {
            self.request_taken();
        }
        if brought {
            self.answer_taken();
        }
        if commanded {
            self.maint = None;
        }
        if let (true, Some(rolling)) = (rolled, &mut self.rolling) {
            rolling.bank_sent = true;
            self.clock = self.clock.max((self.epoch, 0));
        }
    }

    /// A time of {epoch, ts} from a tag in a message of the bank.
    pub(super) fn epoch_of(&self, tag: u64) -> u64 {
        let eb = self.p.tsm.eb;
        self.epoch.wrapping_sub((self.epoch.wrapping_sub(tag)) & ((1 << eb) - 1))
    }

    /// L1s' clocks, other GPUs, epochs.
    fn around(&mut self) {
        if !self.p.coherent() {
            self.others();
            return;
        }
        if self.chance(self.mood.clocks) {
            let (l1, by) = (self.rng.random_range(0..self.l1s.len()), self.rng.random_range(1..4));
            let top = self.p.tsm.ts_max();
            let clock = &mut self.l1s[l1].clock;
            clock.1 = (clock.1 + by).min(top);
        }
        if self.chance(0.05) {
            let l1 = self.rng.random_range(0..self.l1s.len());
            let l1 = &mut self.l1s[l1];
            l1.clock.1 = l1.clock.1.max(l1.acq);
        }
        self.others();
        let wants = self.memory.wants_roll || self.chance(self.mood.roll);
        if self.rolling.is_none() && wants && self.oldest() + 3 > self.epoch {
            self.start_roll();
        }
        self.step_roll();
    }

    /// Opens an epoch.
    pub fn start_roll(&mut self) {
        self.epoch += 1;
        self.rolls += 1;
        self.rolling = Some(Rolling {
            l1s_left: (0..self.l1s.len()).collect(),
            memory_left: true,
            bank_sent: false,
            bank_acked: false,
        });
    }

    /// The oldest epoch that a message or a waiting request may carry.
    fn oldest(&self) -> u64 {
        let asks = self.l1s.iter().flat_map(|l| l.open.values()).map(|a| a.need.0);
        let brought = self.brought.iter().map(|g| g.epoch);
        let offered = self.offered.iter().map(|a| a.need.0);
        let answers = self.memory.epochs();
        asks.chain(brought).chain(offered).chain(answers).min().unwrap_or(self.epoch)
    }

    fn step_roll(&mut self) {
        let Some(mut rolling) = self.rolling.take() else { return };
        if !rolling.l1s_left.is_empty() && self.chance(self.mood.roll_step) {
            let at = self.rng.random_range(0..rolling.l1s_left.len());
            let l1 = rolling.l1s_left.remove(at);
            self.l1s[l1].roll(self.epoch);
        }
        if rolling.memory_left && self.chance(self.mood.roll_step) {
            rolling.memory_left = false;
            self.memory.roll(self.epoch);
        }
        let over = rolling.bank_acked && rolling.l1s_left.is_empty() && !rolling.memory_left;
        self.rolling = (!over).then_some(rolling);
    }

    fn others(&mut self) {
        let cycle = self.sim.cycle();
        let alone = self.p.back() && self.own == Mask::MAX;
        if !alone && self.chance(self.mood.others) {
            let line = self.lines[self.rng.random_range(0..self.lines.len())];
            let (op, _, mask) = kind(&mut self.rng, [0, 2, 3][cycle as usize % 3]);
            let mask = if self.own == Mask::MAX { mask } else { mask & !self.own };
            let ts = self.rng.random_range(0..4);
            let tag = self.memory.epoch & 7;
            let req =
                MemReq { op, txn: 0, line, tag, ts, mask, data: fresh(&mut self.rng), amo: [0; 4], cycle };
            self.memory.perform(&req);
        }
        if self.chance(self.mood.serve) {
            let always = self.full_data;
            let mut rng = self.rng.clone();
            self.memory.serve(&mut rng, cycle, always);
            self.rng = rng;
        }
    }

    /// A request of an L1 as it leaves now; none if the L1 has no room for it.
    pub fn ask(&mut self, l1: usize, op: u64, force: bool, mask: Mask, line: u64) -> Option<Ask> {
        let txn = self.l1s[l1].free()?;
        if self.l1s[l1].has(line) {
            return None;
        }
        let rng = &mut self.rng;
        let amo = match op {
            op::AMO => [rng.random_range(0..11), rng.random_range(0..2), rng.random_range(0..16), 0],
            _ => [0; 4],
        };
        let wide = op == op::AMO && rng.random_bool(0.5);
        let amo = if wide { [amo[0], amo[1], amo[2] & !1, 1] } else { amo };
        // Words of atomics and masks stay within the bytes of this GPU.
        let amo = if self.own == Mask::MAX { amo } else { [amo[0], amo[1], amo[2] % 8, amo[3]] };
        let mask = if op == op::WR { mask & self.own } else { mask };
        let mut data = fresh(rng);
        if op == op::AMO && !wide {
            // L1s send operands of 4 bytes with a high half of zeros.
            data[4..8].fill(0);
        }
        let l1_state = &mut self.l1s[l1];
        let need = l1_state.clock;
        let ts = if self.p.coherent() { l1_state.attach() } else { None };
        let known = self.known.get(&line).copied().unwrap_or(0);
        Some(Ask { l1, txn, op, line, force, mask, data, amo, need, ts, known, cycle: 0, want: None })
    }

    fn offer_request(&mut self) {
        if self.offered.is_none() && self.chance(self.mood.ask) {
            let weights = self.mood.kinds;
            let mut at = self.rng.random_range(0..weights.iter().sum::<u32>());
            let number = weights.iter().position(|w| {
                let here = at < *w;
                at = at.saturating_sub(*w);
                here
            });
            let (op, force, mask) = kind(&mut self.rng, number.expect("a kind"));
            let hot = self.chance(self.mood.hot);
            let line = if hot { 0 } else { self.rng.random_range(0..self.lines.len()) };
            let l1 = self.rng.random_range(0..self.l1s.len());
            self.offered = self.ask(l1, op, force, mask, self.lines[line]);
        }
        self.drive_request();
    }

    /// Offers a request of a directed test.
    pub fn offer(&mut self, ask: Ask) {
        assert!(self.offered.replace(ask).is_none(), "one request at a time");
    }

    fn drive_request(&mut self) {
        self.set("l1_req_valid", u64::from(self.offered.is_some()));
        let Some(ask) = self.offered.clone() else {
            self.set("l1_req_tag", self.clock.0 & 7);
            return;
        };
        self.set("l1_req_op", ask.op);
        self.set("l1_req_src", ask.l1 as u64);
        self.set("l1_req_txn", ask.txn);
        self.set("l1_req_line", ask.line);
        self.set("l1_req_force", u64::from(ask.force));
        self.set("l1_req_tag", if self.p.coherent() { ask.need.0 & 7 } else { 0 });
        self.set("l1_req_ts_v", u64::from(ask.ts.is_some()));
        self.set("l1_req_ts", ask.ts.unwrap_or(0));
        self.set("l1_req_mask", ask.mask);
        self.set_line("l1_req_data", &ask.data);
        for (name, value) in ["amo", "sgn", "word", "wide"].iter().zip(ask.amo) {
            self.set(&format!("l1_req_{name}"), value);
        }
    }

    fn request_taken(&mut self) {
        let Some(mut ask) = self.offered.take() else { return };
        ask.cycle = self.sim.cycle();
        if self.p.back() {
            self.perform(&mut ask);
        }
        if self.p.coherent() {
            self.clock = self.clock.max((ask.need.0, ask.ts.unwrap_or(0)));
        }
        let old = self.l1s[ask.l1].open.insert(ask.txn, ask);
        assert!(old.is_none());
    }

    /// What a request does to its line in a write-back bank.
    fn perform(&mut self, ask: &mut Ask) {
        let line = self.truth.get_mut(&ask.line).expect("a line of the test");
        let mut old = 0;
        match ask.op {
            op::WR => *line = merge(line, ask.mask, &ask.data),
            op::AMO => (*line, old) = atomic(line, &ask.data, ask.amo, self.p.home.is_some()),
            _ => {}
        }
        ask.want = Some((*line, old));
    }

    fn offer_answer(&mut self) {
        if self.brought.is_none() && self.chance(self.mood.bring) && self.sim.cycle() > 2 {
            let mut rng = self.rng.clone();
            self.brought = self.memory.pick(&mut rng, self.sim.cycle());
            self.rng = rng;
        }
        self.set("mem_rsp_valid", u64::from(self.brought.is_some()));
        let Some(g) = self.brought.clone() else { return };
        self.set("mem_rsp_op", g.op);
        self.set("mem_rsp_dst", GPU);
        self.set("mem_rsp_txn", g.txn);
        self.set("mem_rsp_tag", if self.p.coherent() { g.epoch & 7 } else { 0 });
        self.set("mem_rsp_wts", g.wts);
        self.set("mem_rsp_rts", g.rts);
        self.set("mem_rsp_with_data", u64::from(g.with_data));
        self.set_line("mem_rsp_data", &g.data);
        self.set("mem_rsp_old", g.old);
    }

    fn answer_taken(&mut self) {
        let Some(g) = self.brought.take() else { return };
        if self.p.coherent() {
            let raises = g.op != op::RD || self.eager();
            self.clock = self.clock.max((g.epoch, if raises { g.wts } else { 0 }));
            self.leases.insert((g.line, g.epoch, g.wts, g.rts));
        }
    }

    fn offer_roll(&mut self) -> bool {
        let sends = self.rolling.as_ref().is_some_and(|r| !r.bank_sent);
        let sends = sends && (self.roll_offered || self.chance(self.mood.roll_step));
        self.roll_offered = sends;
        self.set("roll_valid", u64::from(sends));
        self.set("roll_epoch", self.epoch);
        self.set("maint_valid", u64::from(self.maint.is_some()));
        self.set("maint_op", self.maint.unwrap_or(0));
        sends
    }

    fn take_outputs(&mut self) {
        let control = if self.mood.ask > 0.0 { 0.7 } else { 1.0 };
        let control = if self.mood.shut { 0.0 } else { control };
        let ready = [self.mood.rsp_ready, self.mood.mem_ready, control, control];
        for (name, chance) in ["l1_rsp", "mem_req", "roll_ack", "maint_done"].into_iter().zip(ready) {
            let ready = self.chance(chance);
            self.set(&format!("{name}_ready"), u64::from(ready));
            if ready && self.get(&format!("{name}_valid")) == 1 {
                match name {
                    "l1_rsp" => self.take_rsp(),
                    "mem_req" => self.take_mem_req(),
                    "roll_ack" => {
                        let epoch = self.get("roll_ack_epoch");
                        assert_eq!(epoch, self.epoch, "the epoch that was opened is acknowledged");
                        let rolling = self.rolling.as_mut().expect("an epoch is being opened");
                        assert!(rolling.bank_sent && !rolling.bank_acked, "one acknowledgement per Roll");
                        rolling.bank_acked = true;
                    }
                    _ => self.maint_done += 1,
                }
            }
        }
    }

    fn take_rsp(&mut self) {
        let (l1, txn) = (self.get("l1_rsp_dst") as usize, self.get("l1_rsp_txn"));
        let seed = self.seed;
        let ask = self.l1s[l1].open.remove(&txn);
        let ask = ask.unwrap_or_else(|| panic!("seed {seed}: L1 {l1} has no transaction {txn}"));
        let tag = self.get("l1_rsp_tag");
        let answer = Answered {
            epoch: self.epoch_of(tag),
            wts: self.get("l1_rsp_wts"),
            rts: self.get("l1_rsp_rts"),
            with_data: self.get("l1_rsp_with_data") == 1,
            data: self.get_line("l1_rsp_data"),
            old: self.get("l1_rsp_old"),
            from_memory: self.get("l1_rsp_from_memory") == 1,
            cycle: self.sim.cycle(),
            ask,
        };
        assert_eq!(self.get("l1_rsp_op"), answer.ask.op);
        self.check_answer(&answer);
        self.l1_learns(l1, &answer);
        if self.keep {
            self.answers.push(answer);
        }
    }

    fn l1_learns(&mut self, l1: usize, a: &Answered) {
        if !self.p.coherent() {
            return;
        }
        let eager = self.eager();
        let l1 = &mut self.l1s[l1];
        l1.roll(a.epoch);
        if l1.clock.0 != a.epoch {
            return;
        }
        if a.ask.op != op::RD || eager {
            l1.clock.1 = l1.clock.1.max(a.wts);
            l1.lb = l1.lb.max(a.wts);
        } else {
            l1.acq = l1.acq.max(a.wts);
        }
    }

    fn take_mem_req(&mut self) {
        let req = MemReq {
            op: self.get("mem_req_op"),
            txn: self.get("mem_req_txn"),
            line: self.get("mem_req_line"),
            tag: self.get("mem_req_tag"),
            ts: self.get("mem_req_ts"),
            mask: self.get("mem_req_mask"),
            data: self.get_line("mem_req_data"),
            amo: ["amo", "sgn", "word", "wide"].map(|name| self.get(&format!("mem_req_{name}"))),
            cycle: self.sim.cycle(),
        };
        assert_eq!(self.get("mem_req_src"), GPU);
        if self.keep {
            self.sent.push(req.clone());
        }
        if req.op == op::EVICT {
            self.check_note(&req);
            self.notes.push((req.line, req.ts));
            return;
        }
        self.check_request(&req);
        self.memory.take(req);
    }

    /// Gives a command and waits for its answer; returns the cycles that it took.
    pub fn command(&mut self, op: u64) -> u64 {
        let (start, before) = (self.sim.cycle(), self.maint_done);
        // Nobody asks meanwhile: kernels have ended.
        let ask = std::mem::replace(&mut self.mood.ask, 0.0);
        self.maint = Some(op);
        while self.maint_done == before {
            self.cycle();
            assert!(self.sim.cycle() < start + 10_000, "the command is never answered");
        }
        self.mood.ask = ask;
        self.sim.cycle() - start
    }

    /// Runs a request to completion, without other traffic.
    pub fn complete(&mut self, l1: usize, op: u64, force: bool, mask: Mask, line: u64) -> Answered {
        let ask = self.ask(l1, op, force, mask, line).expect("room");
        self.keep = true;
        let before = self.answers.len();
        self.offer(ask);
        for _ in 0..1_000 {
            self.cycle();
            if self.answers.len() > before {
                return self.answers.pop().expect("an answer");
            }
        }
        panic!("no answer");
    }

    /// An epoch is opened if none is being opened and nothing of an old one is under way.
    pub fn begin_roll(&mut self) {
        if self.rolling.is_none() && self.oldest() + 3 > self.epoch {
            self.start_roll();
        }
    }

    /// The bank has been told of the newest epoch.
    pub fn bank_rolled(&self) -> bool {
        self.rolling.as_ref().is_none_or(|r| r.bank_sent)
    }

    /// A request might have to wait for an MSHR or a pool entry.
    pub fn full(&self) -> bool {
        let ones = |name: &str| self.peek(name).count_ones();
        ones("mshr_lines_valid") == self.p.tsm.l2_mshrs || ones("pool_used") == self.p.pool
    }

    /// Memory performs a request and brings the answer at once.
    pub fn bring(&mut self) -> Option<super::Grant> {
        let (mut rng, cycle, always) = (self.rng.clone(), self.sim.cycle(), self.full_data);
        self.memory.serve(&mut rng, cycle, always);
        self.brought = self.memory.pick(&mut rng, cycle);
        self.rng = rng;
        self.brought.clone()
    }

    /// Another GPU's read or write of a line at the memory; its lease.
    pub fn another(&mut self, op: u64, line: u64, ts: u64) -> (u64, u64) {
        let (cycle, tag) = (self.sim.cycle(), self.memory.epoch & 7);
        let data = fresh(&mut self.rng);
        let req = MemReq { op, txn: 0, line, tag, ts, mask: Mask::MAX, data, amo: [0; 4], cycle };
        let grant = self.memory.perform(&req).expect("it fits");
        (grant.wts, grant.rts)
    }

    /// Memory performs what it has, and keeps the answer back.
    pub fn hold_answer(&mut self) -> super::Grant {
        let grant = self.bring().expect("a request");
        self.brought = None;
        grant
    }

    /// The answer kept back is brought.
    pub fn release(&mut self, grant: super::Grant) {
        self.brought = Some(grant);
    }

    /// No epoch is being opened.
    pub fn rolled(&self) -> bool {
        self.rolling.is_none()
    }

    /// Lets everything finish; then the bank must be idle and hold what memory has granted.
    pub fn drain(&mut self) {
        let mood = std::mem::replace(&mut self.mood, Mood::calm());
        for _ in 0..5_000 {
            self.cycle();
            if self.quiet() {
                break;
            }
        }
        let left: Vec<&Ask> = self.l1s.iter().flat_map(|l| l.open.values()).collect();
        assert!(left.is_empty() && self.quiet(), "seed {}: never answered: {left:?}", self.seed);
        for _ in 0..40 {
            self.cycle();
        }
        self.check_idle();
        self.mood = mood;
    }

    fn quiet(&self) -> bool {
        let asks = self.offered.is_none() && self.l1s.iter().all(|l| l.open.is_empty());
        asks && self.memory.idle() && self.brought.is_none() && self.rolling.is_none()
    }

    /// The time that a load binds at.
    pub fn binds(a: &Answered) -> Time {
        a.ask.need.max((a.epoch, a.wts))
    }
}

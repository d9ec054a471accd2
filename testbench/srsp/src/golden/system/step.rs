//! What may happen in a system, and what then happens.

use super::super::core::Took;
use super::super::l1::L1Step;
use super::super::msg::{CuOp, CuReq, CuRsp, MemKind, MemReq, MemRsp, Out, ProbeKind, WbKind};
use super::super::word::{Data, line_of};
use super::{Instr, System, Wave};
use std::rc::Rc;

/// One slot or message. Blocks by their numbers, messages by their places in their bags.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Step {
    /// A wave's next operation is offered to its L1, or comes to the port and stays there.
    Issue(u8),
    /// An L1 takes what is at its port.
    Port(u8),
    /// An L1 gives itself a slot.
    Own(u8, L1Step),
    /// An answer arrives at an L1.
    Rsp(u8, u8),
    /// A probe arrives at an L1.
    Probe(u8, u8),
    /// A PACK arrives at an L1.
    Pack(u8, u8),
    /// A message of VN0 is taken by a bank.
    Req(u8, u8),
    /// The oldest message of VN1 from {L1, bank} is taken.
    Wb(u8, u8),
    /// Memory performs a request of a bank.
    Serve(u8, u8),
    /// Memory's answer arrives at a bank.
    Back(u8, u8),
}

impl Step {
    /// Kinds of steps, for schedulers that favour some.
    pub const KINDS: usize = 10;
    /// Kind of the step, below [`Step::KINDS`].
    pub fn kind(&self) -> usize {
        match self {
            Step::Issue(_) => 0,
            Step::Own(..) => 1,
            Step::Rsp(..) => 2,
            Step::Probe(..) => 3,
            Step::Pack(..) => 4,
            Step::Req(..) => 5,
            Step::Wb(..) => 6,
            Step::Serve(..) => 7,
            Step::Back(..) => 8,
            Step::Port(_) => 9,
        }
    }
}

/// Places of the messages in a sorted bag that differ from the one before.
fn different<T: PartialEq>(bag: &[T]) -> impl Iterator<Item = u8> + '_ {
    (0..bag.len()).filter(|i| *i == 0 || bag[i - 1] != bag[*i]).map(|i| i as u8)
}

impl System {
    /// All steps that may be possible now, in a fixed order.
    pub fn steps(&self) -> Vec<Step> {
        let mut out = Vec::new();
        for (i, cache) in self.l1.iter().enumerate() {
            let own = i as u8;
            out.extend(different(&self.net.rsp[i]).map(|which| Step::Rsp(own, which)));
            out.extend(different(&self.net.probe[i]).map(|which| Step::Probe(own, which)));
            out.extend(different(&self.net.pack[i]).map(|which| Step::Pack(own, which)));
            out.extend(cache.steps().into_iter().map(|step| Step::Own(own, step)));
            for bank in 0..self.p.banks {
                if !self.net.wb[i * usize::from(self.p.banks) + usize::from(bank)].is_empty() {
                    out.push(Step::Wb(own, bank));
                }
            }
        }
        for bank in 0..self.p.banks {
            let i = usize::from(bank);
            out.extend(different(&self.net.req[i]).map(|which| Step::Req(bank, which)));
            let mem = &self.net.mem[i];
            let first = |at: &usize| !mem[..*at].iter().any(|req| req.kind.line() == mem[*at].kind.line());
            out.extend((0..mem.len()).filter(first).map(|which| Step::Serve(bank, which as u8)));
            out.extend(different(&self.net.back[i]).map(|which| Step::Back(bank, which)));
        }
        let ports = (0..self.port.len()).filter(|i| self.port[*i].is_some());
        out.extend(ports.map(|i| Step::Port(i as u8)));
        let issues = |i: &usize| {
            let wave = &self.waves[*i];
            let cu = usize::from(wave.cu);
            let free = if self.p.hold_port { self.port[cu].is_none() } else { self.l1[cu].open() };
            wave.next().is_some() && free
        };
        out.extend((0..self.waves.len()).filter(issues).map(|i| Step::Issue(i as u8)));
        out
    }

    /// Makes a step; false, and nothing has changed, if it must wait.
    pub fn step(&mut self, step: Step) -> bool {
        match step {
            Step::Issue(wave) if self.p.hold_port => {
                self.port[usize::from(self.waves[usize::from(wave)].cu)] = Some(wave);
            }
            Step::Issue(wave) => return self.issue(usize::from(wave)),
            Step::Port(cu) => {
                let Some(wave) = self.port[usize::from(cu)] else { return false };
                return self.issue(usize::from(wave));
            }
            Step::Own(l1, own) => {
                let i = usize::from(l1);
                if !Rc::make_mut(&mut self.l1[i]).step(own) {
                    return false;
                }
                self.l1_out(i);
            }
            Step::Rsp(l1, which) => {
                let i = usize::from(l1);
                let rsp = self.net.rsp[i].remove(usize::from(which));
                Rc::make_mut(&mut self.l1[i]).rsp(&rsp);
                self.l1_out(i);
            }
            Step::Probe(l1, which) => {
                let i = usize::from(l1);
                let probe = self.net.probe[i][usize::from(which)];
                if !Rc::make_mut(&mut self.l1[i]).probe(&probe) {
                    return false;
                }
                self.net.probe[i].remove(usize::from(which));
                self.l1_out(i);
            }
            Step::Pack(l1, which) => {
                let i = usize::from(l1);
                let pack = self.net.pack[i].remove(usize::from(which));
                Rc::make_mut(&mut self.l1[i]).pack(&pack);
                self.l1_out(i);
            }
            Step::Req(bank, which) => return self.bank_takes(usize::from(bank), usize::from(which)),
            Step::Wb(l1, bank) => return self.bank_takes_wb(usize::from(l1), usize::from(bank)),
            Step::Serve(bank, which) => {
                let req = self.net.mem[usize::from(bank)].remove(usize::from(which));
                let rsp = self.serve(usize::from(bank), &req);
                self.net.back[usize::from(bank)].push(rsp);
                self.net.back[usize::from(bank)].sort_unstable();
            }
            Step::Back(bank, which) => {
                let rsp = self.net.back[usize::from(bank)].remove(usize::from(which));
                self.back(usize::from(bank), &rsp);
            }
        }
        true
    }

    fn issue(&mut self, number: usize) -> bool {
        let Some(op) = self.waves[number].next() else { return false };
        let (id, cu) = (number as u32, usize::from(self.waves[number].cu));
        let mut cache = self.l1[cu].clone();
        let took = Rc::make_mut(&mut cache).cu(&CuReq { id, op });
        if took == Took::Wait {
            return false;
        }
        self.l1[cu] = cache;
        if took == Took::Done {
            self.waves[number].waits = true;
            self.port[cu] = None;
            if let Some(checker) = &mut self.checker {
                Rc::make_mut(checker).issue(number, id, &op);
            }
        }
        self.l1_out(cu);
        true
    }
    fn bank_takes(&mut self, bank: usize, which: usize) -> bool {
        let req = self.net.req[bank][which];
        let mut l2 = self.l2[bank].clone();
        let took = Rc::make_mut(&mut l2).req(&req);
        if took == Took::Wait {
            return false;
        }
        self.l2[bank] = l2;
        if took == Took::Done {
            self.net.req[bank].remove(which);
        }
        self.l2_out(bank);
        true
    }
    fn bank_takes_wb(&mut self, l1: usize, bank: usize) -> bool {
        let queue = l1 * usize::from(self.p.banks) + bank;
        let Some(wb) = self.net.wb[queue].front().copied() else { return false };
        if !Rc::make_mut(&mut self.l2[bank]).wb(&wb) {
            return false;
        }
        self.net.wb[queue].pop_front();
        self.l2_out(bank);
        true
    }
    /// Memory performs a request.
    fn serve(&mut self, bank: usize, req: &MemReq) -> MemRsp {
        let line = req.kind.line();
        let mut data = self.in_memory(line);
        let mut answer = data;
        match req.kind {
            MemKind::Rd { .. } => {}
            MemKind::Wr { mask, data: bytes, .. } => {
                data.merge(mask, &bytes);
                Rc::make_mut(&mut self.memory).insert(line, data);
            }
            MemKind::Amo { atomic } => {
                let (old, wrote) = atomic.perform(&mut data);
                Rc::make_mut(&mut self.memory).insert(line, data);
                answer = Data::default();
                answer.set_word(0, true, old);
                if let Some((cu, _)) = self.l2[bank].at_memory_now(req.id) {
                    self.performed(&Out::Performed { cu, id: None, atomic, old, wrote });
                }
            }
        }
        MemRsp { id: req.id, data: answer }
    }
    fn back(&mut self, bank: usize, rsp: &MemRsp) {
        Rc::make_mut(&mut self.l2[bank]).mem(rsp);
        self.l2_out(bank);
    }

    /// Sends what an L1 has sent.
    fn l1_out(&mut self, l1: usize) {
        for out in Rc::make_mut(&mut self.l1[l1]).take_out() {
            match out {
                Out::Req(bank, req) => insert(&mut self.net.req[usize::from(bank)], req),
                Out::Wb(bank, wb) => {
                    let queue = l1 * usize::from(self.p.banks) + usize::from(bank);
                    self.net.wb[queue].push_back(wb);
                    if let WbKind::RemUnlock { line } = wb.kind {
                        self.acked.remove(&line);
                    }
                }
                Out::Cast(probe, to) => {
                    let targets = (0..self.l1.len()).filter(|i| to >> i & 1 == 1);
                    targets.for_each(|i| insert(&mut self.net.probe[i], probe));
                }
                Out::Pack(pack) => {
                    self.note_pack(&pack);
                    insert(&mut self.net.pack[usize::from(pack.dst)], pack);
                }
                Out::Cu(rsp) => self.answer(&rsp),
                Out::Performed { .. } => self.performed(&out),
                Out::Rsp(_) | Out::Revoke(..) | Out::Mem(_) => {
                    self.faults.push(format!("L1 {l1} sends {out:?}"));
                }
            }
        }
    }
    /// Sends what a bank has sent.
    fn l2_out(&mut self, bank: usize) {
        let locked = |l2: &super::super::l2::L2, line: u64| l2.locks.owner(line).is_some();
        let banks = u64::from(self.p.banks);
        let l2 = self.l2[bank].clone();
        self.acked.retain(|line, _| *line % banks != bank as u64 || locked(&l2, *line));
        drop(l2);
        let mut out = Rc::make_mut(&mut self.l2[bank]).take_out();
        out.reverse();
        while let Some(next) = out.pop() {
            match next {
                Out::Rsp(rsp) => insert(&mut self.net.rsp[usize::from(rsp.dst)], rsp),
                Out::Revoke(cu, probe) => insert(&mut self.net.probe[usize::from(cu)], probe),
                Out::Mem(req) if self.p.instant_memory => {
                    let rsp = self.serve(bank, &req);
                    let l2 = Rc::make_mut(&mut self.l2[bank]);
                    l2.mem(&rsp);
                    out.extend(l2.take_out().into_iter().rev());
                }
                Out::Mem(req) => self.net.mem[bank].push(req),
                Out::Performed { .. } => self.performed(&next),
                _ => self.faults.push(format!("bank {bank} sends {next:?}")),
            }
        }
    }
    fn performed(&mut self, event: &Out) {
        let Out::Performed { cu, id, atomic, old, wrote } = event else { return };
        let id = id.or_else(|| self.l1[usize::from(*cu)].running());
        match (&mut self.checker, id) {
            (Some(checker), Some(id)) => Rc::make_mut(checker).performed(id, atomic, *old, *wrote),
            (Some(_), None) => self.faults.push(format!("an atomic of L1 {cu} that it does not wait for")),
            (None, _) => {}
        }
    }
    fn answer(&mut self, rsp: &CuRsp) {
        if let Some(checker) = &mut self.checker {
            Rc::make_mut(checker).reply(rsp.id, &rsp.data);
        }
        match self.waves.get_mut(rsp.id as usize) {
            Some(wave) if wave.waits => wave.answer(&rsp.data),
            _ => self.faults.push(format!("request {} is answered, but its wave does not wait", rsp.id)),
        }
        self.answers.push(*rsp);
        if self.answers.len() > 1 {
            self.answers.remove(0);
        }
    }
    /// An L1 has acknowledged a probe of section 5: as long as the line is locked, it has lost it.
    fn note_pack(&mut self, pack: &super::super::msg::Pack) {
        let probed = self.probing(usize::from(pack.dst));
        if let Some(line) = probed {
            self.acked.entry(line).or_default().insert(pack.src);
        }
    }
    /// The line whose lock an L1 holds while its remote operation waits for PACKs.
    fn probing(&self, requester: usize) -> Option<u64> {
        let super::Cache::Scoped(l1) = &*self.l1[requester] else { return None };
        let run = l1.run.as_ref().filter(|_| l1.params().imp.locks_lines())?;
        let CuOp::Sync(sync) = run.req.op else { return None };
        let line = line_of(sync.atomic.addr);
        let bank = (line % u64::from(self.p.banks)) as usize;
        (self.l2[bank].locks.owner(line) == Some(requester as u8)).then_some(line)
    }
    /// Adds an operation to the program of a CU's first wave.
    pub fn append(&mut self, cu: u8, instr: Instr) -> usize {
        let at = self.waves.iter().position(|wave| wave.cu == cu).unwrap_or(0);
        self.append_to(at, instr);
        at
    }
    /// Adds an operation to the program of a wave.
    pub fn append_to(&mut self, wave: usize, instr: Instr) {
        Rc::make_mut(&mut self.waves[wave].program).push(instr);
    }
    /// Makes steps as long as there are any that `allowed` passes; the steps made.
    pub fn advance(&mut self, allowed: impl Fn(&System, &Step) -> bool) -> Vec<Step> {
        let mut made = Vec::new();
        loop {
            let steps = self.steps();
            let next = steps.into_iter().find(|step| allowed(self, step) && self.clone().step(*step));
            let Some(step) = next else { return made };
            self.step(step);
            made.push(step);
        }
    }
    /// Adds an operation to the program of a CU's first wave and lets everything run until nothing moves: the value it got.
    pub fn execute(&mut self, cu: u8, instr: Instr) -> u64 {
        let wave = self.append(cu, instr);
        self.advance(|_, _| true);
        self.waves[wave].results.last().copied().unwrap_or_default()
    }
    /// What is under way, in words: for those who ask why a run stops.
    pub fn summary(&self) -> String {
        let mut text = format!("{:#?}\n", self.net);
        for wave in &self.waves {
            let Wave { cu, pc, waits, .. } = wave;
            text += &format!("CU {cu}: {pc} of {}, waits {waits}, {:?}\n", wave.program.len(), wave.next());
        }
        for (i, cache) in self.l1.iter().enumerate() {
            if let super::Cache::Scoped(l1) = &**cache {
                text += &format!("L1 {i}: {:?} {:?} {:?} {:?}\n", l1.run, l1.sq, l1.active, l1.gate);
                text += &format!("  {:?} {:?} {:?}\n", l1.core.mshrs, l1.core.wbt, l1.core.drain);
            }
        }
        text
    }
    /// What a step would do, in words.
    pub fn describe(&self, step: Step) -> String {
        let at = |which: u8| usize::from(which);
        match step {
            Step::Issue(wave) => {
                let wave: &Wave = &self.waves[at(wave)];
                format!("CU {}: {:?}", wave.cu, wave.next())
            }
            Step::Port(cu) => format!("CU {cu}: the port of its L1"),
            Step::Own(l1, own) => format!("L1 {l1}: {own:?}"),
            Step::Rsp(l1, which) => format!("L1 {l1} gets {:?}", self.net.rsp[at(l1)][at(which)].kind),
            Step::Probe(l1, which) => format!("L1 {l1} gets {:?}", self.net.probe[at(l1)][at(which)]),
            Step::Pack(l1, which) => format!("L1 {l1} gets {:?}", self.net.pack[at(l1)][at(which)]),
            Step::Req(bank, which) => format!("bank {bank} takes {:?}", self.net.req[at(bank)][at(which)]),
            Step::Wb(l1, bank) => {
                let queue = at(l1) * usize::from(self.p.banks) + at(bank);
                format!("bank {bank} takes {:?}", self.net.wb[queue].front())
            }
            Step::Serve(bank, which) => format!("memory: {:?}", self.net.mem[at(bank)][at(which)]),
            Step::Back(bank, which) => format!("bank {bank} gets {:?}", self.net.back[at(bank)][at(which)]),
        }
    }
    /// Whether a probe of this kind is on its way to an L1.
    pub fn probe_waits(&self, l1: usize, kind: ProbeKind) -> bool {
        self.net.probe[l1].iter().any(|probe| probe.kind == kind)
    }
}

fn insert<T: Ord>(bag: &mut Vec<T>, message: T) {
    let at = bag.partition_point(|other| *other <= message);
    bag.insert(at, message);
}

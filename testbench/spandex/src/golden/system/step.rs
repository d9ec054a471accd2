//! What can happen next, and its effect.

use super::super::cover::Cover;
use super::super::device::Took;
use super::super::device::access::Hint;
use super::super::llc::Out;
use super::super::msg::{AmoOp, Data, Msg, Node, Op, Vn};
use super::super::slip::Slip;
use super::System;
use super::explore::{Reached, World};
use super::program::{Instr, stored};
use super::sc::Outcome;
use std::rc::Rc;

impl Reached for Cover {
    fn add(&mut self, other: &Cover) {
        self.commit.iter_mut().zip(other.commit).for_each(|(mine, theirs)| *mine |= theirs);
        self.external.iter_mut().zip(other.external).for_each(|(mine, theirs)| *mine |= theirs);
        self.marks |= other.marks;
    }
}

/// One step.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Step {
    /// A thread's next instruction.
    Issue(u8),
    /// A message arrives, by its place in the network.
    Deliver(u16),
    /// The oldest forward arrives at a device, where they are kept in order.
    Forward(u8),
    /// Memory returns a line.
    Memory(u8),
    /// {device, store buffer entry} is sent.
    Drain(u8, u8),
    /// {device, line} is replaced.
    EvictL1(u8, u32),
    /// {bank, line} is evicted.
    EvictLlc(u8, u32),
}

impl World for System {
    type Step = Step;
    type Cover = Cover;
    fn steps(&self) -> Vec<Step> {
        let mut out = Vec::new();
        let runs = |i: &usize| !self.threads[*i].done() && !self.threads[*i].waits;
        out.extend((0..self.threads.len()).filter(runs).map(|i| Step::Issue(i as u8)));
        let differs = |i: &usize| *i == 0 || self.net[*i] != self.net[*i - 1];
        out.extend((0..self.net.len()).filter(differs).map(|i| Step::Deliver(i as u16)));
        let queued = (0..self.queues.len()).filter(|dev| !self.queues[*dev].is_empty());
        out.extend(queued.map(|dev| Step::Forward(dev as u8)));
        out.extend((0..self.reads.len()).map(|i| Step::Memory(i as u8)));
        for (dev, device) in self.devices.iter().enumerate() {
            out.extend((0..device.bufs.len()).map(|at| Step::Drain(dev as u8, at as u8)));
        }
        if self.evictions.0 != 0 {
            for (dev, device) in self.devices.iter().enumerate() {
                out.extend(device.evictable().into_iter().map(|line| Step::EvictL1(dev as u8, line)));
            }
        }
        if self.evictions.1 != 0 {
            for (id, bank) in self.banks.iter().enumerate() {
                out.extend(bank.lines.iter().map(|frame| Step::EvictLlc(id as u8, frame.line)));
            }
        }
        out
    }

    fn step(&mut self, step: Step) -> bool {
        match step {
            Step::Issue(thread) => self.issue(usize::from(thread)),
            Step::Deliver(at) => self.deliver(usize::from(at)),
            Step::Forward(dev) => {
                let dev = usize::from(dev);
                let Some(msg) = self.queues[dev].front().copied() else { return false };
                let took = self.at_device(dev, |device| device.fwd(&msg));
                if took {
                    self.queues[dev].pop_front();
                }
                took
            }
            Step::Memory(at) => {
                let (bank, line) = self.reads.remove(usize::from(at));
                let data = self.in_memory(line);
                Rc::make_mut(&mut self.banks[usize::from(bank)]).memory(line, &data);
                self.bank_out(usize::from(bank));
                true
            }
            Step::Drain(dev, at) => self.at_device(usize::from(dev), |device| device.drain(usize::from(at))),
            Step::EvictL1(dev, line) => {
                let made = self.at_device(usize::from(dev), |device| device.evict(line));
                self.evictions.0 -= u8::from(made && self.evictions.0 != u8::MAX);
                made
            }
            Step::EvictLlc(bank, line) => {
                let made = self.at_bank(usize::from(bank), |bank| bank.evict(line));
                self.evictions.1 -= u8::from(made && self.evictions.1 != u8::MAX);
                made
            }
        }
    }
    fn take_cover(&mut self) -> Cover {
        std::mem::take(&mut self.cover)
    }
    fn wrong(&self) -> Option<String> {
        System::wrong(self)
    }
    fn done(&self) -> bool {
        System::done(self)
    }
    fn outcome(&self) -> Outcome {
        System::outcome(self)
    }
    fn describe(&self, step: Step) -> String {
        match step {
            Step::Issue(thread) => {
                let thread = &self.threads[usize::from(thread)];
                format!("device {}: {:?}", thread.device, thread.next())
            }
            Step::Deliver(at) => describe(&self.net[usize::from(at)]),
            Step::Forward(dev) => self.queues[usize::from(dev)].front().map_or_else(String::new, describe),
            Step::Memory(at) => format!("memory: line {}", self.reads[usize::from(at)].1),
            Step::Drain(dev, at) => {
                format!("device {dev}: drain {:?}", self.devices[usize::from(dev)].bufs[usize::from(at)])
            }
            Step::EvictL1(dev, line) => format!("device {dev}: evict line {line}"),
            Step::EvictLlc(bank, line) => format!("bank {bank}: evict line {line}"),
        }
    }
    fn evicts(&self, step: Step) -> bool {
        matches!(step, Step::EvictL1(..) | Step::EvictLlc(..))
    }
    fn program(&mut self, thread: usize, instr: Instr) {
        Rc::make_mut(&mut self.threads[thread].program).push(instr);
    }
    fn class(&self, step: Step) -> usize {
        match step {
            Step::Issue(_) => 0,
            Step::Deliver(at) => {
                let msg = &self.net[usize::from(at)];
                let from = usize::from(msg.device() % 2);
                1 + 2 * msg.op.vn() as usize + from
            }
            Step::Forward(_) => 3,
            Step::Memory(_) => 9,
            Step::Drain(..) => 10,
            Step::EvictL1(..) => 11,
            Step::EvictLlc(..) => 12,
        }
    }
}

impl System {
    fn at_device(&mut self, dev: usize, call: impl FnOnce(&mut super::Device) -> bool) -> bool {
        let mut device = self.devices[dev].clone();
        if !call(Rc::make_mut(&mut device)) {
            return false;
        }
        self.devices[dev] = device;
        self.device_out(dev);
        true
    }
    fn at_bank(&mut self, bank: usize, call: impl FnOnce(&mut super::Bank) -> bool) -> bool {
        let mut model = self.banks[bank].clone();
        if !call(Rc::make_mut(&mut model)) {
            return false;
        }
        self.banks[bank] = model;
        self.bank_out(bank);
        true
    }
    fn deliver(&mut self, at: usize) -> bool {
        let msg = self.net[at];
        let took = match (msg.dst, msg.op.vn()) {
            (Node::Dev(dev), Vn::Fwd) => self.at_device(usize::from(dev), |device| device.fwd(&msg)),
            (Node::Dev(dev), Vn::Rsp) => self.at_device(usize::from(dev), |device| {
                device.rsp(&msg);
                true
            }),
            (Node::Bank(bank), Vn::Req) => self.at_bank(usize::from(bank), |bank| bank.req(&msg)),
            (Node::Bank(bank), Vn::Wb) => self.at_bank(usize::from(bank), |bank| {
                bank.wb(&msg);
                true
            }),
            (Node::Bank(bank), Vn::Rsp) => self.at_bank(usize::from(bank), |bank| {
                bank.rsp(&msg);
                true
            }),
            _ => {
                self.faults.push(format!("{msg:?} is sent to the wrong side"));
                true
            }
        };
        if took && let Some(at) = self.net.iter().position(|other| *other == msg) {
            self.net.remove(at);
        }
        took
    }
    fn issue(&mut self, number: usize) -> bool {
        let thread = &self.threads[number];
        let Some(instr) = thread.next() else { return false };
        let (dev, ticket) = (usize::from(thread.device), number as u8);
        let mut model = self.devices[dev].clone();
        let device = Rc::make_mut(&mut model);
        let weak = self.p.slip == Some(Slip::WeakAtomicStore);
        let took = match instr {
            Instr::Ld { line, mask, hint } => device.load(ticket, line, mask, &hint),
            Instr::St { line, mask, value, hint } => device.store(line, mask, &stored(mask, value), &hint),
            Instr::Amo { sem, .. } if (sem.releases() || weak) && !device.drained() => Took::Wait,
            Instr::Amo { .. } if device.updating() => Took::Wait,
            Instr::Amo { line, word, amo, value, .. } if weak && amo.op == AmoOp::Write => {
                device.store(line, 1 << word, &Data::fill(1 << word, value), &Hint::default())
            }
            Instr::Amo { line, word, amo, value, posted, hint, .. } => {
                let ticket = (!posted).then_some(ticket);
                device.atomic(ticket, line, 1 << word, &amo, &Data::fill(1 << word, value), &hint)
            }
            Instr::Release if !device.drained() => Took::Wait,
            Instr::Acquire => {
                device.acquire();
                Took::Done(Data::default())
            }
            Instr::Release | Instr::If(_) => Took::Done(Data::default()),
        };
        match took {
            Took::Wait => return false,
            Took::Pending => self.threads[number].waits = true,
            Took::Done(data) => self.complete(number, &data, Rc::make_mut(&mut model)),
        }
        self.devices[dev] = model;
        self.device_out(dev);
        true
    }
    fn complete(&mut self, number: usize, data: &Data, device: &mut super::Device) {
        let instr = self.threads[number].next();
        if let Some(Instr::Amo { sem, .. }) = instr
            && sem.acquires()
        {
            device.acquire();
        }
        self.threads[number].complete(data);
    }

    /// Takes what a device has done.
    fn device_out(&mut self, dev: usize) {
        let mut model = self.devices[dev].clone();
        let device = Rc::make_mut(&mut model);
        device.take_out().into_iter().for_each(|msg| self.send(msg));
        self.faults.extend(device.take_faults());
        for (ticket, data) in device.take_replies() {
            self.complete(usize::from(ticket), &data, device);
        }
        self.cover.add(&std::mem::take(&mut device.cover));
        self.devices[dev] = model;
    }
    /// Takes what a bank has done.
    fn bank_out(&mut self, bank: usize) {
        let model = Rc::make_mut(&mut self.banks[bank]);
        let out = model.take_out();
        self.faults.extend(model.take_faults());
        self.cover.add(&std::mem::take(&mut model.cover));
        for out in out {
            match out {
                Out::Msg(msg) => self.send(msg),
                Out::Read(line) => self.reads.push((bank as u8, line)),
                Out::Write(line, data) => {
                    Rc::make_mut(&mut self.memory).insert(line, data);
                }
            }
        }
        self.reads.sort_unstable();
    }
    fn send(&mut self, msg: Msg) {
        if let (Node::Dev(dev), Vn::Fwd, true) = (msg.dst, msg.op.vn(), self.p.ordered_forwards) {
            return self.queues[usize::from(dev)].push_back(msg);
        }
        let at = self.net.partition_point(|other| *other <= msg);
        self.net.insert(at, msg);
    }
}

/// A message in words: `Dev(0) gets RspV { xmask: 0 } from Bank(0), line 0, words 01`, and its data.
pub fn describe(msg: &Msg) -> String {
    let Msg { dst, op, src, line, mask, own, tag, req, data } = msg;
    let mut text = format!("{dst:?} gets {op:?} from {src:?}, line {line}, words {mask:b}");
    if own != mask {
        text += &format!(" of {own:b}");
    }
    let carried = if let Op::RspV { xmask } = op { mask | xmask } else { *mask };
    let values: Vec<u32> = super::super::msg::words(carried).map(|word| data.0[word]).collect();
    text + &format!(", for {req} tag {tag}, data {values:?}")
}

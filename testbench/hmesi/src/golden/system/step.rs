//! What can happen next, and its effect.

use super::super::client::cpu::Cpu;
use super::super::cover::Cover;
use super::super::l2::L2;
use super::super::l3::{L3, Out};
use super::super::msg::{Node, Op, Packet};
use super::super::slip::Slip;
use super::{Core, System};
use std::rc::Rc;
use weft_spandex_bench::golden::device::access::Hint;
use weft_spandex_bench::golden::device::{Device, Took};
use weft_spandex_bench::golden::msg::{Data, Node as GpuNode, Vn};
use weft_spandex_bench::golden::system::explore::{Reached, World};
use weft_spandex_bench::golden::system::program::{Instr, stored};
use weft_spandex_bench::golden::system::sc::Outcome;
use weft_spandex_bench::golden::system::step;

/// One step.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Step {
    /// A thread's next instruction.
    Issue(u8),
    /// A message arrives, by its place in the network.
    Deliver(u16),
    /// A message at the head of its port goes on.
    Head(u8),
    /// Memory returns a line.
    Memory(u8),
    /// {device, store buffer entry} is sent.
    Drain(u8, u8),
    /// {device, line} is replaced.
    EvictL1(u8, u32),
    /// {bank, line} is evicted from the L2.
    EvictL2(u8, u32),
    /// {bank, line} is evicted from the L3.
    EvictL3(u8, u32),
}

/// What a model takes or sends, as a bench sees it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Event {
    /// A message is taken.
    Taken(Packet),
    /// A message is sent.
    Sent(Packet),
    /// The L3 reads memory.
    Read(u32),
    /// The L3 writes memory.
    Write(u32, Data),
    /// Memory returns a line.
    Memory(u32, Data),
}

/// Where messages wait one behind the other.
type Port = (u8, u8, u8, Vn);

impl World for System {
    type Step = Step;
    type Cover = Cover;
    fn steps(&self) -> Vec<Step> {
        let mut out = Vec::new();
        let runs = |i: &usize| !self.threads[*i].done() && !self.threads[*i].waits;
        out.extend((0..self.threads.len()).filter(runs).map(|i| Step::Issue(i as u8)));
        let differs = |i: &usize| *i == 0 || self.net[*i] != self.net[*i - 1];
        out.extend((0..self.net.len()).filter(differs).map(|i| Step::Deliver(i as u16)));
        out.extend((0..self.heads.len()).map(|i| Step::Head(i as u8)));
        out.extend((0..self.reads.len()).map(|i| Step::Memory(i as u8)));
        for (dev, device) in self.gpus() {
            out.extend((0..device.bufs.len()).map(|at| Step::Drain(dev as u8, at as u8)));
        }
        if self.evictions[0] != 0 {
            for (dev, core) in self.cores.iter().enumerate() {
                let lines = match &**core {
                    Core::Cpu(cpu) => cpu.evictable(),
                    Core::Gpu(device) => device.evictable(),
                };
                out.extend(lines.into_iter().map(|line| Step::EvictL1(dev as u8, line)));
            }
        }
        if self.evictions[1] != 0 {
            for (id, bank) in self.l2.iter().enumerate() {
                out.extend(bank.lines.iter().map(|line| Step::EvictL2(id as u8, line.frame.line)));
            }
        }
        if self.evictions[2] != 0 {
            for (id, bank) in self.l3.iter().enumerate() {
                out.extend(bank.lines.iter().map(|line| Step::EvictL3(id as u8, line.line)));
            }
        }
        out
    }
    fn step(&mut self, step: Step) -> bool {
        match step {
            Step::Issue(thread) => self.issue(usize::from(thread)),
            Step::Deliver(at) => self.arrive(usize::from(at)),
            Step::Head(at) => {
                let packet = self.heads[usize::from(at)];
                let took = self.deliver(&packet);
                if took {
                    self.heads.retain(|head| *head != packet);
                }
                took
            }
            Step::Memory(at) => {
                let (bank, line) = self.reads.remove(usize::from(at));
                let data = self.in_memory(line);
                self.record(Event::Memory(line, data));
                self.at_l3(usize::from(bank), |bank| {
                    bank.memory(line, &data);
                    true
                })
            }
            Step::Drain(dev, at) => self.at_gpu(usize::from(dev), |device| device.drain(usize::from(at))),
            Step::EvictL1(dev, line) => {
                let dev = usize::from(dev);
                let made = match &*self.cores[dev] {
                    Core::Cpu(_) => self.at_cpu(dev, |cpu| cpu.evict(line)),
                    Core::Gpu(_) => self.at_gpu(dev, |device| device.evict(line)),
                };
                self.evicted(0, made)
            }
            Step::EvictL2(bank, line) => {
                let made = self.at_l2(usize::from(bank), |bank| bank.evict(line));
                self.evicted(1, made)
            }
            Step::EvictL3(bank, line) => {
                let made = self.at_l3(usize::from(bank), |bank| bank.evict(line));
                self.evicted(2, made)
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
            Step::Head(at) => describe(&self.heads[usize::from(at)]),
            Step::Memory(at) => format!("memory: line {}", self.reads[usize::from(at)].1),
            Step::Drain(dev, at) => format!("device {dev}: drain entry {at}"),
            Step::EvictL1(dev, line) => format!("device {dev}: evict line {line}"),
            Step::EvictL2(bank, line) => format!("L2 {bank}: evict line {line}"),
            Step::EvictL3(bank, line) => format!("L3 {bank}: evict line {line}"),
        }
    }
    fn evicts(&self, step: Step) -> bool {
        matches!(step, Step::EvictL1(..) | Step::EvictL2(..) | Step::EvictL3(..))
    }
    fn program(&mut self, thread: usize, instr: Instr) {
        Rc::make_mut(&mut self.threads[thread].program).push(instr);
    }
    fn class(&self, step: Step) -> usize {
        match step {
            Step::Issue(_) => 0,
            Step::Deliver(at) => match &self.net[usize::from(at)] {
                Packet::Mesi(msg) => 1 + 2 * vn(msg.op, None) as usize + usize::from(msg.client() % 2),
                Packet::Gpu(msg) => 9 + msg.op.vn() as usize,
            },
            Step::Head(_) => 1,
            Step::Memory(_) => 13,
            Step::Drain(..) => 14,
            Step::EvictL1(..) | Step::EvictL2(..) | Step::EvictL3(..) => 15,
        }
    }
}

impl System {
    fn evicted(&mut self, level: usize, made: bool) -> bool {
        self.evictions[level] -= u8::from(made && self.evictions[level] != u8::MAX);
        made
    }
    fn port(&self, packet: &Packet) -> Port {
        match packet {
            Packet::Mesi(msg) => {
                let bank = self.bank_of(msg.line) as u8;
                let vn = vn(msg.op, self.p.slip);
                match msg.dst {
                    Node::Client(client) if client == self.p.cpus() => (0, bank, client, vn),
                    Node::Client(client) => (1, client, 0, vn),
                    Node::L3(bank) => (2, bank, 0, vn),
                }
            }
            Packet::Gpu(msg) => match msg.dst {
                GpuNode::Dev(dev) => (3, dev, 0, msg.op.vn()),
                GpuNode::Bank(bank) => (4, bank, 0, msg.op.vn()),
            },
        }
    }
    /// A message of the network arrives: it takes effect, or waits at the head of its port.
    fn arrive(&mut self, at: usize) -> bool {
        let packet = self.net[at];
        let port = self.port(&packet);
        if self.heads.iter().any(|head| self.port(head) == port) {
            return false;
        }
        let took = self.deliver(&packet);
        if !took {
            if !self.p.heads {
                return false;
            }
            let at = self.heads.partition_point(|head| *head <= packet);
            self.heads.insert(at, packet);
        }
        if let Some(at) = self.net.iter().position(|other| *other == packet) {
            self.net.remove(at);
        }
        true
    }
    fn record(&mut self, event: Event) {
        self.events.iter_mut().for_each(|events| events.push(event));
    }
    fn deliver(&mut self, packet: &Packet) -> bool {
        let at = self.events.as_ref().map_or(0, Vec::len);
        let took = self.offer(packet);
        if let Some(events) = self.events.as_mut().filter(|_| took) {
            events.insert(at, Event::Taken(*packet));
        }
        took
    }
    fn offer(&mut self, packet: &Packet) -> bool {
        let bank = match packet {
            Packet::Mesi(msg) => self.bank_of(msg.line),
            Packet::Gpu(msg) => self.bank_of(msg.line),
        };
        match packet {
            Packet::Mesi(msg) => match msg.dst {
                Node::Client(client) if client == self.p.cpus() => self.at_l2(bank, |l2| {
                    if msg.op.vn() == Vn::Fwd {
                        return l2.fwd(msg);
                    }
                    l2.l3_rsp(msg);
                    true
                }),
                Node::Client(client) => self.at_cpu(usize::from(client), |cpu| {
                    if msg.op.vn() == Vn::Fwd {
                        return cpu.fwd(msg);
                    }
                    cpu.rsp(msg);
                    true
                }),
                Node::L3(_) => self.at_l3(bank, |l3| match msg.op {
                    Op::GetS | Op::GetM => l3.req(msg),
                    Op::Put { .. } => l3.wb(msg),
                    _ => {
                        l3.rsp(msg);
                        true
                    }
                }),
            },
            Packet::Gpu(msg) => match (msg.dst, msg.op.vn()) {
                (GpuNode::Dev(dev), Vn::Fwd) => self.at_gpu(usize::from(dev), |device| device.fwd(msg)),
                (GpuNode::Dev(dev), _) => self.at_gpu(usize::from(dev), |device| {
                    device.rsp(msg);
                    true
                }),
                (GpuNode::Bank(_), Vn::Req) => self.at_l2(bank, |l2| l2.req(msg)),
                (GpuNode::Bank(_), Vn::Wb) => self.at_l2(bank, |l2| {
                    l2.wb(msg);
                    true
                }),
                (GpuNode::Bank(_), _) => self.at_l2(bank, |l2| {
                    l2.rsp(msg);
                    true
                }),
            },
        }
    }
    fn at_cpu(&mut self, dev: usize, call: impl FnOnce(&mut Cpu) -> bool) -> bool {
        let mut core = self.cores[dev].clone();
        let took = match Rc::make_mut(&mut core) {
            Core::Cpu(cpu) => call(cpu),
            Core::Gpu(_) => false,
        };
        self.put_back(dev, core, took)
    }
    fn at_gpu(&mut self, dev: usize, call: impl FnOnce(&mut Device) -> bool) -> bool {
        let mut core = self.cores[dev].clone();
        let took = match Rc::make_mut(&mut core) {
            Core::Gpu(device) => call(device),
            Core::Cpu(_) => false,
        };
        self.put_back(dev, core, took)
    }
    fn put_back(&mut self, dev: usize, core: Rc<Core>, took: bool) -> bool {
        if took {
            self.cores[dev] = core;
            self.core_out(dev);
        }
        took
    }
    fn at_l2(&mut self, bank: usize, call: impl FnOnce(&mut L2) -> bool) -> bool {
        let mut model = self.l2[bank].clone();
        let l2 = Rc::make_mut(&mut model);
        let took = call(l2);
        self.cover.add(&std::mem::take(&mut l2.cover));
        if !took {
            return false;
        }
        l2.take_out().into_iter().for_each(|packet| self.send(packet));
        self.faults.extend(l2.take_faults());
        self.l2[bank] = model;
        true
    }
    fn at_l3(&mut self, bank: usize, call: impl FnOnce(&mut L3) -> bool) -> bool {
        let mut model = self.l3[bank].clone();
        let l3 = Rc::make_mut(&mut model);
        let took = call(l3);
        self.cover.add(&std::mem::take(&mut l3.cover));
        if !took {
            return false;
        }
        for out in l3.take_out() {
            match out {
                Out::Msg(msg) => self.send(Packet::Mesi(msg)),
                Out::Read(line) => {
                    self.record(Event::Read(line));
                    self.reads.push((bank as u8, line));
                }
                Out::Write(line, data) => {
                    self.record(Event::Write(line, data));
                    Rc::make_mut(&mut self.memory).insert(line, data);
                }
            }
        }
        self.reads.sort_unstable();
        self.faults.extend(l3.take_faults());
        self.l3[bank] = model;
        true
    }
    fn send(&mut self, packet: Packet) {
        self.record(Event::Sent(packet));
        if self.is_absent(&packet) {
            return self.outbox.push(packet);
        }
        let at = self.net.partition_point(|other| *other <= packet);
        self.net.insert(at, packet);
    }

    fn issue(&mut self, number: usize) -> bool {
        let thread = &self.threads[number];
        let Some(instr) = thread.next() else { return false };
        let dev = usize::from(thread.device);
        let mut model = self.cores[dev].clone();
        let core = Rc::make_mut(&mut model);
        let took = core.issue(number as u8, instr);
        self.cover.add(&core.take_cover());
        match took {
            Took::Wait => return false,
            Took::Pending => self.threads[number].waits = true,
            Took::Done(data) => self.complete(number, &data, core),
        }
        self.cores[dev] = model;
        self.core_out(dev);
        true
    }
    fn complete(&mut self, number: usize, data: &Data, core: &mut Core) {
        let instr = self.threads[number].next();
        if let (Some(Instr::Amo { sem, .. }), Core::Gpu(device)) = (instr, core)
            && sem.acquires()
        {
            device.acquire();
        }
        self.threads[number].complete(data);
    }
    /// Takes what an L1 has done.
    fn core_out(&mut self, dev: usize) {
        let mut model = self.cores[dev].clone();
        let core = Rc::make_mut(&mut model);
        let replies = match core {
            Core::Cpu(cpu) => {
                cpu.take_out().into_iter().for_each(|msg| self.send(Packet::Mesi(msg)));
                self.faults.extend(cpu.take_faults());
                cpu.take_replies()
            }
            Core::Gpu(device) => {
                device.take_out().into_iter().for_each(|msg| self.send(Packet::Gpu(msg)));
                self.faults.extend(device.take_faults());
                device.take_replies()
            }
        };
        self.cover.add(&core.take_cover());
        for (ticket, data) in replies {
            self.complete(usize::from(ticket), &data, core);
        }
        self.cores[dev] = model;
    }
}

impl Core {
    fn take_cover(&mut self) -> Cover {
        match self {
            Core::Cpu(cpu) => std::mem::take(&mut cpu.cover),
            Core::Gpu(device) => {
                device.cover = Default::default();
                Cover::default()
            }
        }
    }
    fn drained(&self) -> bool {
        match self {
            Core::Cpu(cpu) => cpu.drained(),
            Core::Gpu(device) => device.drained(),
        }
    }
    fn updating(&self) -> bool {
        match self {
            Core::Cpu(cpu) => cpu.updating(),
            Core::Gpu(device) => device.updating(),
        }
    }
    /// Hints of the programs have no meaning here.
    fn issue(&mut self, ticket: u8, instr: Instr) -> Took {
        match instr {
            Instr::Amo { sem, .. } if sem.releases() && !self.drained() => return Took::Wait,
            Instr::Amo { .. } if self.updating() => return Took::Wait,
            Instr::Release if !self.drained() => return Took::Wait,
            _ => {}
        }
        let hint = Hint::default();
        match (self, instr) {
            (Core::Cpu(cpu), Instr::Ld { line, mask, .. }) => cpu.load(ticket, line, mask),
            (Core::Cpu(cpu), Instr::St { line, mask, value, .. }) => {
                cpu.store(line, mask, &stored(mask, value))
            }
            (Core::Cpu(cpu), Instr::Amo { line, word, amo, value, posted, .. }) => {
                let data = Data::fill(1 << word, value);
                cpu.atomic((!posted).then_some(ticket), line, 1 << word, &amo, &data)
            }
            (Core::Gpu(device), Instr::Ld { line, mask, .. }) => device.load(ticket, line, mask, &hint),
            (Core::Gpu(device), Instr::St { line, mask, value, .. }) => {
                device.store(line, mask, &stored(mask, value), &hint)
            }
            (Core::Gpu(device), Instr::Amo { line, word, amo, value, posted, .. }) => {
                let (ticket, data) = ((!posted).then_some(ticket), Data::fill(1 << word, value));
                device.atomic(ticket, line, 1 << word, &amo, &data, &hint)
            }
            (Core::Gpu(device), Instr::Acquire) => {
                device.acquire();
                Took::Done(Data::default())
            }
            (_, Instr::Acquire | Instr::Release | Instr::If(_)) => Took::Done(Data::default()),
        }
    }
}

/// The network of a message.
fn vn(op: Op, slip: Option<Slip>) -> Vn {
    match op {
        Op::WbData { .. } if slip == Some(Slip::WbDataOnWb) => Vn::Wb,
        _ => op.vn(),
    }
}

/// A message in words.
pub fn describe(packet: &Packet) -> String {
    match packet {
        Packet::Gpu(msg) => step::describe(msg),
        Packet::Mesi(msg) => {
            let carried =
                if msg.op.has_data() { format!(", data {:?}", &msg.data.0[..3]) } else { String::new() };
            let text = format!("{:?} gets {:?} from {:?}, line {}", msg.dst, msg.op, msg.src, msg.line);
            let req = if msg.op.vn() == Vn::Fwd { format!(", for {}", msg.req) } else { String::new() };
            text + &req + &carried
        }
    }
}

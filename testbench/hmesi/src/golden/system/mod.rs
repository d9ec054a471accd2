//! CPUs, GPU L1s, the L2, the L3, memory and an unordered network, with threads that run programs.

pub mod step;

use super::client::cpu::{Cpu, CpuParams};
use super::client::table::State;
use super::cover::Cover;
use super::l2::{L2, L2Params};
use super::l3::{self, L3, L3Params};
use super::msg::{Node, Packet};
use super::slip::Slip;
use std::collections::BTreeMap;
use std::rc::Rc;
pub use step::{Event, Step};
use weft_spandex_bench::golden::device::{Device, DeviceParams, Kind};
use weft_spandex_bench::golden::llc::BankParams;
use weft_spandex_bench::golden::msg::{Data, Mask, Node as GpuNode, words};
use weft_spandex_bench::golden::system::explore::{Explored, explore};
use weft_spandex_bench::golden::system::families::{Programs, threads};
use weft_spandex_bench::golden::system::program::{Thread, initial_line};
use weft_spandex_bench::golden::system::sc::{self, Outcome};

/// Parameters of a system.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SystemParams {
    /// Devices: [`Kind::Mesi`] for a CPU, these first, then GPU L1s.
    pub kinds: Vec<Kind>,
    /// Words of a line.
    pub words: u8,
    /// Banks of the L2 and of the L3.
    pub banks: u8,
    /// Spontaneous replacements of L1s, of the L2 and of the L3, in all; 255 is without limit.
    pub evictions: [u8; 3],
    /// Lines are in the L3 at first.
    pub warm: bool,
    /// `N_FAIL`.
    pub fails: u8,
    /// `RVKO_GRAN` = line.
    pub revoke_lines: bool,
    /// `FLEX_RSP`.
    pub flex_rsp: bool,
    /// Lines of an L2 bank and of an L3 bank.
    pub lines: [usize; 2],
    /// TBEs of an L2 bank, of which one is for forwards, and of an L3 bank.
    pub tbes: [usize; 2],
    /// Stalled requests of a bank.
    pub stalls: usize,
    /// {open requests, store buffer entries, write-backs} of an L1.
    pub entries: (usize, usize, usize),
    /// A message that must wait holds up all that come after it at its port.
    pub heads: bool,
    /// A rule left out.
    pub slip: Option<Slip>,
}

impl SystemParams {
    /// Devices of these kinds, one bank, lines of two words, no spontaneous evictions.
    pub fn tiny(kinds: &[Kind]) -> SystemParams {
        SystemParams {
            kinds: kinds.to_vec(),
            words: 2,
            banks: 1,
            evictions: [0; 3],
            warm: true,
            fails: 1,
            revoke_lines: true,
            flex_rsp: true,
            lines: [4, 4],
            tbes: [4, 4],
            stalls: 8,
            entries: (8, 8, 4),
            heads: false,
            slip: None,
        }
    }
    /// Number of CPUs, which is the client number of the L2.
    pub fn cpus(&self) -> u8 {
        self.kinds.iter().filter(|kind| **kind == Kind::Mesi).count() as u8
    }
    fn cpu(&self) -> CpuParams {
        let (mshrs, _, wbs) = self.entries;
        CpuParams { words: self.words, banks: self.banks, mshrs, wbs, slip: self.slip }
    }
    fn gpu(&self, kind: Kind) -> DeviceParams {
        let (mshrs, buffers, wbs) = self.entries;
        DeviceParams {
            kind,
            atomics_through: false,
            words: self.words,
            banks: self.banks,
            fails: self.fails,
            flex_rsp: self.flex_rsp,
            mshrs,
            buffers,
            wbs,
            slip: None,
        }
    }
    /// Of the L2.
    pub fn l2(&self) -> L2Params {
        let owners = self.kinds.iter().enumerate().filter(|(_, kind)| **kind == Kind::DeNovo);
        let bank = BankParams {
            words: self.words,
            banks: self.banks,
            devices: self.kinds.len() as u8,
            s_capable: 0,
            o_capable: owners.fold(0, |set, (dev, _)| set | 1 << dev),
            policy: None,
            revoke_lines: self.revoke_lines,
            flex_rsp: self.flex_rsp,
            broadcast: false,
            size: (1, 1),
            tbes: self.tbes[0],
            stalls: self.stalls,
            slip: None,
        };
        L2Params { bank, client: self.cpus(), lines: self.lines[0], slip: self.slip }
    }
    fn l3(&self) -> L3Params {
        L3Params { lines: self.lines[1], tbes: self.tbes[1], stalls: self.stalls, slip: self.slip }
    }
}

/// An L1.
#[derive(Clone, Hash, Debug)]
pub enum Core {
    /// CPU L1.
    Cpu(Cpu),
    /// GPU L1.
    Gpu(Device),
}

/// A block that is not modelled: a bench puts another in its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Block {
    /// L1 of a CPU.
    Cpu(u8),
    /// Bank of the GPU L2.
    L2(u8),
    /// Bank of the L3.
    L3(u8),
}

/// A system.
#[derive(Clone, Debug)]
pub struct System {
    p: Rc<SystemParams>,
    /// L1s.
    pub cores: Vec<Rc<Core>>,
    /// L2 banks.
    pub l2: Vec<Rc<L2>>,
    /// L3 banks.
    pub l3: Vec<Rc<L3>>,
    /// Messages under way, sorted.
    pub net: Vec<Packet>,
    /// Messages at the heads of ports where they must wait, sorted.
    pub heads: Vec<Packet>,
    /// Lines that memory will return: {bank, line}.
    reads: Vec<(u8, u32)>,
    memory: Rc<BTreeMap<u32, Data>>,
    /// Threads.
    pub threads: Vec<Thread>,
    evictions: [u8; 3],
    faults: Vec<String>,
    /// The block that is not modelled.
    pub absent: Option<Block>,
    /// Messages to it.
    pub outbox: Vec<Packet>,
    /// What models have taken and sent, if it is recorded.
    pub events: Option<Vec<Event>>,
    /// Reached since it was last taken.
    pub cover: Cover,
}

impl std::hash::Hash for System {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (&self.cores, &self.l2, &self.l3, &self.net, &self.heads, &self.reads, &self.memory).hash(state);
        for thread in &self.threads {
            (thread.pc, thread.waits, &thread.results).hash(state);
        }
        self.evictions.hash(state);
    }
}

impl System {
    /// After reset.
    pub fn new(p: SystemParams, threads: Vec<Thread>) -> System {
        let cpu = Rc::new(p.cpu());
        let core = |(id, kind): (usize, &Kind)| {
            Rc::new(match kind {
                Kind::Mesi => Core::Cpu(Cpu::new(id as u8, cpu.clone())),
                _ => Core::Gpu(Device::new(id as u8, Rc::new(p.gpu(*kind)))),
            })
        };
        let cores = p.kinds.iter().enumerate().map(core).collect();
        let (l2, l3) = (Rc::new(p.l2()), Rc::new(p.l3()));
        let mut system = System {
            cores,
            l2: (0..p.banks).map(|id| Rc::new(L2::new(id, l2.clone()))).collect(),
            l3: (0..p.banks).map(|id| Rc::new(L3::new(id, l3.clone()))).collect(),
            evictions: p.evictions,
            p: Rc::new(p),
            net: Vec::new(),
            heads: Vec::new(),
            reads: Vec::new(),
            memory: Rc::new(BTreeMap::new()),
            threads,
            faults: Vec::new(),
            absent: None,
            outbox: Vec::new(),
            events: None,
            cover: Cover::default(),
        };
        system.threads.iter_mut().for_each(Thread::start);
        if system.p.warm {
            for line in system.lines() {
                let (bank, data) = (system.bank_of(line), system.in_memory(line));
                let l3 = Rc::make_mut(&mut system.l3[bank]);
                if l3.lines.len() < system.p.lines[1] {
                    l3.insert(l3::Line::new(line, data));
                }
            }
        }
        system
    }
    /// Its parameters.
    pub fn params(&self) -> &SystemParams {
        &self.p
    }
    fn lines(&self) -> Vec<u32> {
        let instrs = self.threads.iter().flat_map(|thread| thread.program.iter());
        let mut lines: Vec<u32> = instrs.filter_map(|instr| instr.line()).collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }
    fn bank_of(&self, line: u32) -> usize {
        (line % u32::from(self.p.banks)) as usize
    }
    fn in_memory(&self, line: u32) -> Data {
        self.memory.get(&line).copied().unwrap_or_else(|| initial_line(self.p.words))
    }
    /// A line of memory.
    pub fn memory(&self, line: u32) -> Data {
        self.in_memory(line)
    }
    /// Writes a line of memory.
    pub fn write_memory(&mut self, line: u32, data: Data) {
        Rc::make_mut(&mut self.memory).insert(line, data);
    }
    /// A message of the absent block.
    pub fn inject(&mut self, packet: Packet) {
        let at = self.net.partition_point(|other| *other <= packet);
        self.net.insert(at, packet);
    }
    /// Broken rules so far.
    pub fn faults(&self) -> &[String] {
        &self.faults
    }
    fn is_absent(&self, packet: &Packet) -> bool {
        match (self.absent, packet) {
            (Some(Block::Cpu(cpu)), Packet::Mesi(msg)) => msg.dst == Node::Client(cpu),
            (Some(Block::L3(bank)), Packet::Mesi(msg)) => msg.dst == Node::L3(bank),
            (Some(Block::L2(bank)), Packet::Mesi(msg)) => {
                msg.dst == Node::Client(self.p.cpus()) && self.bank_of(msg.line) == usize::from(bank)
            }
            (Some(Block::L2(bank)), Packet::Gpu(msg)) => msg.dst == GpuNode::Bank(bank),
            _ => false,
        }
    }
    fn cpus(&self) -> impl Iterator<Item = (usize, &Cpu)> {
        self.cores.iter().enumerate().filter_map(|(id, core)| match &**core {
            Core::Cpu(cpu) => Some((id, cpu)),
            Core::Gpu(_) => None,
        })
    }
    fn gpus(&self) -> impl Iterator<Item = (usize, &Device)> {
        self.cores.iter().enumerate().filter_map(|(id, core)| match &**core {
            Core::Gpu(device) => Some((id, device)),
            Core::Cpu(_) => None,
        })
    }
    /// State of a line at a client.
    pub fn state(&self, client: usize, line: u32) -> State {
        match self.cores.get(client).map(|core| &**core) {
            Some(Core::Cpu(cpu)) => cpu.state(line),
            _ => self.l2[self.bank_of(line)].state(line),
        }
    }
    /// All is done and at rest.
    pub fn done(&self) -> bool {
        self.threads.iter().all(|thread| thread.done() && !thread.waits)
            && self.net.is_empty()
            && self.heads.is_empty()
            && self.reads.is_empty()
            && self.cpus().all(|(_, cpu)| cpu.idle())
            && self.gpus().all(|(_, device)| device.idle())
            && self.l2.iter().all(|bank| bank.idle())
            && self.l3.iter().all(|bank| bank.idle())
    }
    /// A broken rule.
    pub fn wrong(&self) -> Option<String> {
        let first = self.faults.first().cloned();
        let devices = || self.gpus().find_map(|(_, device)| device.check());
        let banks = || self.l2.iter().find_map(|bank| bank.check());
        let alone = || self.lines().into_iter().find_map(|line| self.not_alone(line));
        let rest = || self.done().then(|| self.at_rest()).flatten();
        first.or_else(devices).or_else(banks).or_else(alone).or_else(rest)
    }
    /// While a client has a line in E or M, no other has a copy.
    fn not_alone(&self, line: u32) -> Option<String> {
        let states: Vec<State> =
            (0..=usize::from(self.p.cpus())).map(|client| self.state(client, line)).collect();
        let alone = states.iter().filter(|state| matches!(state, State::E | State::M)).count();
        let copies = states.iter().filter(|state| matches!(state, State::S | State::Sm)).count();
        (alone > 1 || alone == 1 && copies > 0).then(|| format!("line {line} is {states:?} at the clients"))
    }
    /// At rest: clients have what the L3 knows of, and GPU L1s what the L2 knows of.
    fn at_rest(&self) -> Option<String> {
        for line in self.lines() {
            let known = self.l3[self.bank_of(line)].line(line);
            for client in 0..=self.p.cpus() {
                let state = self.state(usize::from(client), line);
                let right = match state {
                    State::I => !known
                        .is_some_and(|known| known.state == l3::table::State::Mt && known.owner == client),
                    State::S => known.is_some_and(|known| known.sharers >> client & 1 == 1),
                    _ => known
                        .is_some_and(|known| known.state == l3::table::State::Mt && known.owner == client),
                };
                if !right {
                    return Some(format!(
                        "client {client} has line {line} in {state:?}, the L3 has {known:?}"
                    ));
                }
            }
            for (dev, device) in self.gpus() {
                let (has, known) = (device.copy(line).1, self.l2[self.bank_of(line)].owned(line, dev as u8));
                if has != known {
                    return Some(format!(
                        "device {dev} has words {has:b} of line {line} in O, the L2 says {known:b}"
                    ));
                }
            }
        }
        None
    }
    /// What a line is for everybody, at rest.
    pub fn value(&self, line: u32) -> Data {
        let bank = self.bank_of(line);
        if let Some((_, cpu)) = self.cpus().find(|(_, cpu)| matches!(cpu.state(line), State::E | State::M)) {
            return cpu.line(line).map_or_else(Data::default, |line| line.data);
        }
        if let (State::E | State::M, Some(here)) = (self.l2[bank].state(line), self.l2[bank].line(line)) {
            let mut data = here.frame.data;
            for (_, device) in self.gpus() {
                let (_, owned, copy) = device.copy(line);
                data.merge(owned, &copy);
            }
            return data;
        }
        self.l3[bank].line(line).map_or_else(|| self.in_memory(line), |line| line.data)
    }
    /// What the programs ended with.
    pub fn outcome(&self) -> Outcome {
        let results = self.threads.iter().map(|thread| thread.results.clone()).collect();
        let all = Mask::MAX >> (16 - self.p.words);
        let of = |line: u32| {
            let data = self.value(line);
            words(all).map(move |word| (line, word, data.0[word])).collect::<Vec<_>>()
        };
        (results, self.lines().into_iter().flat_map(of).collect())
    }
}

/// Every interleaving of a program, each end compared with the SC outcomes; nothing for a program with a data race.
pub fn check(p: SystemParams, programs: &Programs, limit: usize) -> Option<Explored<Cover>> {
    let threads = threads(programs);
    let allowed = sc::outcomes(&threads, p.words)?;
    Some(explore(&System::new(p, threads), limit, Some(&allowed)))
}

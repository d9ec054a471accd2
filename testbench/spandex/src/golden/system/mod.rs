//! Devices, banks, memory and an unordered network, with threads that run programs (spandex.md section 13 and the page's preface).

pub mod explore;
pub mod families;
pub mod program;
pub mod random;
pub mod sc;
pub mod schedule;
pub mod step;

use super::cover::Cover;
use super::device::{Device, DeviceParams, Kind};
use super::llc::{Bank, BankParams, Choice};
use super::msg::{Data, Msg, words};
use super::slip::Slip;
use program::{Thread, initial_line};
use sc::Outcome;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
pub use step::Step;

/// Parameters of a system.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SystemParams {
    /// Devices.
    pub kinds: Vec<Kind>,
    /// DeNovo devices send atomics to the LLC (SDG).
    pub atomics_through: bool,
    /// Words of a line.
    pub words: u8,
    /// Banks.
    pub banks: u8,
    /// Spontaneous replacements of an L1, in all; 255 is without limit.
    pub l1_evictions: u8,
    /// Spontaneous evictions of a bank, in all; 255 is without limit.
    pub llc_evictions: u8,
    /// Lines are in the LLC at first.
    pub warm: bool,
    /// `N_FAIL`.
    pub fails: u8,
    /// `REQS_POLICY`; none is `eval`.
    pub policy: Option<Choice>,
    /// `RVKO_GRAN` = line.
    pub revoke_lines: bool,
    /// `FLEX_RSP`.
    pub flex_rsp: bool,
    /// `SHARER_MODE` = broadcast.
    pub broadcast: bool,
    /// {sets, ways} of a bank.
    pub size: (usize, usize),
    /// {TBEs, stalled requests} of a bank.
    pub tbes: (usize, usize),
    /// {open requests, store buffer entries, write-backs} of a device.
    pub entries: (usize, usize, usize),
    /// Forwards arrive at a device in the order in which they were sent, one behind the other.
    pub ordered_forwards: bool,
    /// A rule left out.
    pub slip: Option<Slip>,
}

impl SystemParams {
    /// Devices of these kinds, one bank, lines of two words, no spontaneous evictions.
    pub fn tiny(kinds: &[Kind]) -> SystemParams {
        SystemParams {
            kinds: kinds.to_vec(),
            atomics_through: false,
            words: 2,
            banks: 1,
            l1_evictions: 0,
            llc_evictions: 0,
            warm: true,
            fails: 1,
            policy: None,
            revoke_lines: true,
            flex_rsp: true,
            broadcast: false,
            size: (1, 4),
            tbes: (4, 8),
            entries: (8, 8, 4),
            ordered_forwards: false,
            slip: None,
        }
    }
    fn device(&self, kind: Kind) -> DeviceParams {
        let (mshrs, buffers, wbs) = self.entries;
        DeviceParams {
            kind,
            atomics_through: self.atomics_through,
            words: self.words,
            banks: self.banks,
            fails: self.fails,
            flex_rsp: self.flex_rsp,
            mshrs,
            buffers,
            wbs,
            slip: self.slip,
        }
    }
    fn bank(&self) -> BankParams {
        let of = |pass: &dyn Fn(&Kind) -> bool| {
            let some = self.kinds.iter().enumerate().filter(|(_, kind)| pass(kind));
            some.fold(0u64, |set, (dev, _)| set | 1 << dev)
        };
        BankParams {
            words: self.words,
            banks: self.banks,
            devices: self.kinds.len() as u8,
            s_capable: of(&|kind| matches!(kind, Kind::Mesi | Kind::Flex)),
            o_capable: of(&|kind| *kind != Kind::Gpu),
            policy: self.policy,
            revoke_lines: self.revoke_lines,
            flex_rsp: self.flex_rsp,
            broadcast: self.broadcast,
            size: self.size,
            tbes: self.tbes.0,
            stalls: self.tbes.1,
            slip: self.slip,
        }
    }
}

/// A system.
#[derive(Clone, Debug)]
pub struct System {
    p: Rc<SystemParams>,
    /// Devices.
    pub devices: Vec<Rc<Device>>,
    /// Banks.
    pub banks: Vec<Rc<Bank>>,
    /// Messages under way, sorted.
    pub net: Vec<Msg>,
    /// Forwards under way to each device, if they are kept in order.
    queues: Vec<VecDeque<Msg>>,
    /// Lines that memory will return: {bank, line}.
    reads: Vec<(u8, u32)>,
    memory: Rc<BTreeMap<u32, Data>>,
    /// Threads.
    pub threads: Vec<Thread>,
    evictions: (u8, u8),
    faults: Vec<String>,
    /// Reached since it was last taken.
    pub cover: Cover,
}

impl std::hash::Hash for System {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (&self.devices, &self.banks, &self.net, &self.queues, &self.reads, &self.memory).hash(state);
        for thread in &self.threads {
            (thread.pc, thread.waits, &thread.results).hash(state);
        }
        self.evictions.hash(state);
    }
}

impl System {
    /// After reset.
    pub fn new(p: SystemParams, threads: Vec<Thread>) -> System {
        let bank = Rc::new(p.bank());
        let device = |(id, kind): (usize, &Kind)| Rc::new(Device::new(id as u8, Rc::new(p.device(*kind))));
        let devices = p.kinds.iter().enumerate().map(device).collect();
        let banks = (0..p.banks).map(|id| Rc::new(Bank::new(id, bank.clone()))).collect();
        let memory = Rc::new(BTreeMap::new());
        let evictions = (p.l1_evictions, p.llc_evictions);
        let queues = vec![VecDeque::new(); p.kinds.len()];
        let mut system = System {
            p: Rc::new(p),
            devices,
            banks,
            net: Vec::new(),
            queues,
            reads: Vec::new(),
            memory,
            threads,
            evictions,
            faults: Vec::new(),
            cover: Cover::default(),
        };
        system.threads.iter_mut().for_each(Thread::start);
        if system.p.warm {
            let lines: Vec<u32> = system.lines();
            lines.into_iter().for_each(|line| system.warm(line));
        }
        system
    }
    /// Its parameters.
    pub fn params(&self) -> &SystemParams {
        &self.p
    }
    fn lines(&self) -> Vec<u32> {
        let mut lines: Vec<u32> = self
            .threads
            .iter()
            .flat_map(|thread| thread.program.iter().filter_map(|instr| instr.line()))
            .collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }
    fn bank_of(&self, line: u32) -> usize {
        (line % u32::from(self.p.banks)) as usize
    }
    fn warm(&mut self, line: u32) {
        let (bank, data) = (self.bank_of(line), self.in_memory(line));
        let lines = &mut Rc::make_mut(&mut self.banks[bank]).lines;
        if let Some(at) = lines.victim(line, |_| false) {
            let frame = super::llc::lines::Frame { data, ..super::llc::lines::Frame::new(line) };
            lines.put(at, frame);
        }
    }
    fn in_memory(&self, line: u32) -> Data {
        self.memory.get(&line).copied().unwrap_or_else(|| initial_line(self.p.words))
    }
    /// All is done and at rest.
    pub fn done(&self) -> bool {
        self.threads.iter().all(|thread| thread.done() && !thread.waits)
            && self.net.is_empty()
            && self.queues.iter().all(VecDeque::is_empty)
            && self.reads.is_empty()
            && self.devices.iter().all(|device| device.idle())
            && self.banks.iter().all(|bank| bank.idle())
    }
    /// A broken rule.
    pub fn wrong(&self) -> Option<String> {
        let first = self.faults.first().cloned();
        let devices = || self.devices.iter().find_map(|device| device.check());
        let banks = || self.banks.iter().find_map(|bank| bank.check());
        let rest = || self.done().then(|| self.at_rest()).flatten();
        first.or_else(devices).or_else(banks).or_else(rest)
    }
    /// At rest: a word is owned at the bank if and only if exactly that device has it in O; every S copy is among the sharers.
    fn at_rest(&self) -> Option<String> {
        for line in self.lines() {
            let bank = &self.banks[self.bank_of(line)];
            let frame = bank.lines.find(line).and_then(|at| bank.lines.frame(at));
            for (dev, device) in self.devices.iter().enumerate() {
                let (shared, owned, _) = device.copy(line);
                let known = frame.map_or(0, |frame| frame.owned_by(dev as u8));
                if owned != known {
                    return Some(format!(
                        "device {dev} has words {owned:b} of line {line} in O, the bank says {known:b}"
                    ));
                }
                let sharer = frame.is_some_and(|frame| {
                    frame.shared
                        && (self.p.broadcast || frame.sharers >> dev & 1 == 1)
                        && frame.owned & shared == 0
                });
                if shared != 0 && !sharer {
                    return Some(format!("device {dev} has line {line} in S and is no sharer"));
                }
            }
        }
        None
    }
    /// What a line is for everybody, at rest.
    pub fn value(&self, line: u32) -> Data {
        let bank = &self.banks[self.bank_of(line)];
        let Some(frame) = bank.lines.find(line).and_then(|at| bank.lines.frame(at)) else {
            return self.in_memory(line);
        };
        let mut data = frame.data;
        for device in &self.devices {
            let (_, owned, copy) = device.copy(line);
            data.merge(owned, &copy);
        }
        data
    }
    /// What the programs ended with.
    pub fn outcome(&self) -> Outcome {
        let results = self.threads.iter().map(|thread| thread.results.clone()).collect();
        let all = super::msg::Mask::MAX >> (16 - self.p.words);
        let of = |line: u32| {
            let data = self.value(line);
            words(all).map(move |word| (line, word, data.0[word])).collect::<Vec<_>>()
        };
        (results, self.lines().into_iter().flat_map(of).collect())
    }
}

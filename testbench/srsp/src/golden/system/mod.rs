//! L1s, hub, banks and memory joined by networks that keep what srsp.md section 3 promises and nothing more.
//!
//! - VN1 is a queue per (L1, bank); all other networks are bags, from which any message may come next. The hub adds nothing to that: a cast puts its copies into the bags.
//! - Memory keeps the order of a line's requests. With [`SystemParams::instant_memory`] it answers at once.
//! - A step ([`Step`]) is one slot or one message. [`System::steps`] gives those that may be possible, [`System::step`] makes one or refuses; so a run is a choice at each
//!   step: seeded ([`run`]), one operation after the other ([`System::execute`]), by hand ([`System::advance`]), or all choices ([`explore`]).
//! - Waves issue their programs one operation at a time. Every event goes to the checker, if there is one.

use super::core::L1Params;
use super::l1::{L1, L1Step};
use super::l2::{L2, L2Params};
use super::msg::{CuReq, CuRsp, MemReq, MemRsp, Pack, Probe, Req, Rsp, Wb};
use super::slip::Slip;
use super::word::{Data, LINE};
use super::{denovo_b, hlrc};
use crate::checker::{Model, Scoreboard};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use weft_srsp::l1::Closes;
use weft_srsp::params::Impl;

pub mod explore;
mod invariants;
pub mod program;
pub mod run;
pub mod schedule;
mod step;

pub use program::{Instr, Wave};
pub use step::Step;

/// Which protocol.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Protocol {
    /// Section 5 and 6.
    Scoped(Impl),
    /// Section 9, with COMBINE or, if true, THROUGH_INV.
    Hlrc(bool),
    /// denovo-b.md.
    DenovoB,
}

/// Parameters of a system.
#[derive(Clone, Copy, Debug)]
pub struct SystemParams {
    /// Protocol.
    pub protocol: Protocol,
    /// CUs.
    pub cus: u8,
    /// Banks.
    pub banks: u8,
    /// {sets, ways} of an L1.
    pub l1: (usize, usize),
    /// {sets, ways} of a bank.
    pub l2: (usize, usize),
    /// Lines are replaced in {L1s, banks}; where not, there must be a way for every line.
    pub replaces: (bool, bool),
    /// sFIFO entries of an L1.
    pub l1_sfifo: usize,
    /// sFIFO entries of a bank.
    pub l2_sfifo: usize,
    /// PA-TBL entries.
    pub pa: usize,
    /// aff_cache entries.
    pub aff: usize,
    /// {MSHRs, targets of each}.
    pub mshrs: (usize, usize),
    /// WBT entries.
    pub wbt: usize,
    /// SQ entries.
    pub sq: usize,
    /// Locks of a bank.
    pub locks: usize,
    /// Memory answers at once.
    pub instant_memory: bool,
    /// A request that must wait holds its CU's port, as in hardware; else another wave's may pass it, which takes fewer states.
    pub hold_port: bool,
    /// What memory holds at first.
    pub initial: fn(u64) -> Data,
    /// bRSP with a token: what a broadcast's lock stops.
    pub closes: Closes,
    /// One thing done wrong.
    pub slip: Option<Slip>,
}

impl SystemParams {
    /// The smallest system: caches that hold the few lines of a test, shortest tables, one bank.
    pub fn tiny(protocol: Protocol, cus: u8) -> SystemParams {
        SystemParams {
            protocol,
            cus,
            banks: 1,
            l1: (1, 4),
            l2: (1, 4),
            replaces: (false, false),
            l1_sfifo: 2,
            l2_sfifo: 4,
            pa: 1,
            aff: 8,
            mshrs: (2, 2),
            wbt: 2,
            sq: 2,
            locks: 2,
            instant_memory: true,
            hold_port: false,
            initial: |_| Data::default(),
            closes: Closes::Line,
            slip: None,
        }
    }
    fn imp(&self) -> Impl {
        match self.protocol {
            Protocol::Scoped(imp) => imp,
            Protocol::Hlrc(_) | Protocol::DenovoB => Impl::Base,
        }
    }
    fn l1(&self, own: u8) -> L1Params {
        L1Params {
            own,
            cus: self.cus,
            banks: self.banks,
            imp: self.imp(),
            closes: self.closes,
            shape: self.l1,
            replaces: self.replaces.0,
            sfifo: self.l1_sfifo,
            pa: self.pa,
            aff: self.aff,
            mshrs: self.mshrs,
            wbt: self.wbt,
            sq: self.sq,
            registers: self.protocol == Protocol::DenovoB,
            slip: self.slip,
        }
    }
    fn l2(&self, bank: u8) -> L2Params {
        L2Params {
            bank,
            banks: self.banks,
            shape: self.l2,
            replaces: self.replaces.1,
            sfifo: self.l2_sfifo,
            locks: self.locks,
            under_lock: self.imp().locks_lines() && self.slip != Some(Slip::ProbeBeforeLock),
            through: self.protocol == Protocol::Hlrc(true),
            reads_owners: self.protocol == Protocol::DenovoB,
            slip: self.slip,
        }
    }
}

/// An L1 of any kind; every one is behind a pointer.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Cache {
    Scoped(L1),
    Hlrc(hlrc::l1::L1),
    DenovoB(denovo_b::l1::L1),
}

/// The same of an L1 of each kind.
macro_rules! each {
    ($cache:expr, $l1:ident => $do:expr) => {
        match $cache {
            Cache::Scoped($l1) => $do,
            Cache::Hlrc($l1) => $do,
            Cache::DenovoB($l1) => $do,
        }
    };
}

/// A system in some state. Blocks are shared by clones until they change.
#[derive(Clone, Debug)]
pub struct System {
    p: Rc<SystemParams>,
    l1: Vec<Rc<Cache>>,
    l2: Vec<Rc<L2>>,
    memory: Rc<BTreeMap<u64, Data>>,
    net: Net,
    waves: Vec<Wave>,
    /// Per CU the wave whose request is at the L1's port.
    port: Vec<Option<u8>>,
    checker: Option<Rc<Scoreboard>>,
    /// Per locked line the L1s that have acknowledged its owner's probe.
    acked: BTreeMap<u64, BTreeSet<u8>>,
    faults: Vec<String>,
    /// Answers to operations of [`System::execute`].
    answers: Vec<CuRsp>,
}

/// All messages under way.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Net {
    /// Per bank, sorted.
    req: Vec<Vec<Req>>,
    /// Per L1 and bank.
    wb: Vec<VecDeque<Wb>>,
    /// Per L1, sorted.
    probe: Vec<Vec<Probe>>,
    /// Per L1, sorted.
    rsp: Vec<Vec<Rsp>>,
    /// Per L1, sorted.
    pack: Vec<Vec<Pack>>,
    /// Per bank, in order.
    mem: Vec<Vec<MemReq>>,
    /// Per bank, sorted.
    back: Vec<Vec<MemRsp>>,
}

impl std::hash::Hash for System {
    /// All that tells two states of one run apart.
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (&self.l1, &self.l2, &self.memory, &self.net).hash(state);
        (&self.waves, &self.port, &self.checker, &self.acked, &self.faults).hash(state);
    }
}

impl System {
    /// After reset, with these waves and a checker.
    pub fn new(p: SystemParams, waves: Vec<Wave>) -> System {
        let (cus, banks) = (usize::from(p.cus), usize::from(p.banks));
        let cache = |own: u8| match p.protocol {
            Protocol::Scoped(_) => Cache::Scoped(L1::new(p.l1(own))),
            Protocol::Hlrc(_) => Cache::Hlrc(hlrc::l1::L1::new(p.l1(own))),
            Protocol::DenovoB => Cache::DenovoB(denovo_b::l1::L1::new(p.l1(own))),
        };
        let model = match p.protocol {
            Protocol::Scoped(_) => Model::Scoped,
            Protocol::Hlrc(_) => Model::Global,
            Protocol::DenovoB => Model::Unscoped,
        };
        let net = Net {
            req: vec![Vec::new(); banks],
            wb: vec![VecDeque::new(); cus * banks],
            probe: vec![Vec::new(); cus],
            rsp: vec![Vec::new(); cus],
            pack: vec![Vec::new(); cus],
            mem: vec![Vec::new(); banks],
            back: vec![Vec::new(); banks],
        };
        let places = waves.iter().map(|wave| wave.cu).collect();
        System {
            l1: (0..p.cus).map(|own| Rc::new(cache(own))).collect(),
            l2: (0..p.banks).map(|bank| Rc::new(L2::new(p.l2(bank)))).collect(),
            memory: Rc::new(BTreeMap::new()),
            net,
            checker: Some(Rc::new(Scoreboard::new(model, places, p.initial))),
            waves,
            port: vec![None; cus],
            acked: BTreeMap::new(),
            faults: Vec::new(),
            answers: Vec::new(),
            p: Rc::new(p),
        }
    }
    /// The word at this address is a lock, for the checker.
    pub fn declare_lock(&mut self, addr: u64) {
        if let Some(checker) = &mut self.checker {
            Rc::make_mut(checker).lock(addr);
        }
    }
    /// Runs without a checker: fewer states.
    pub fn unchecked(mut self) -> System {
        self.checker = None;
        self
    }
    /// The parameters.
    pub fn params(&self) -> &SystemParams {
        &self.p
    }
    /// An L1 of section 5.
    ///
    /// # Panics
    /// The system is another.
    pub fn l1(&self, cu: usize) -> &L1 {
        match &*self.l1[cu] {
            Cache::Scoped(l1) => l1,
            _ => panic!("the L1s are not those of section 5"),
        }
    }
    /// An L1 of section 9.
    ///
    /// # Panics
    /// The system is not hLRC.
    pub fn hlrc(&self, cu: usize) -> &hlrc::l1::L1 {
        match &*self.l1[cu] {
            Cache::Hlrc(l1) => l1,
            _ => panic!("the L1s are not those of hLRC"),
        }
    }
    /// An L1 of DeNovo-B.
    ///
    /// # Panics
    /// The system is not DeNovo-B.
    pub fn denovo(&self, cu: usize) -> &denovo_b::l1::L1 {
        match &*self.l1[cu] {
            Cache::DenovoB(l1) => l1,
            _ => panic!("the L1s are not those of DeNovo-B"),
        }
    }
    /// A bank.
    pub fn l2(&self, bank: usize) -> &L2 {
        &self.l2[bank]
    }
    /// The waves.
    pub fn waves(&self) -> &[Wave] {
        &self.waves
    }
    /// All programs are done, and nothing is under way.
    pub fn done(&self) -> bool {
        self.waves.iter().all(Wave::done) && self.net.empty() && self.idle()
    }
    fn idle(&self) -> bool {
        self.l1.iter().all(|cache| each!(&**cache, l1 => l1.idle())) && self.l2.iter().all(|l2| l2.idle())
    }
    /// What is wrong with the run so far.
    pub fn wrong(&self) -> Option<String> {
        let first = |faults: &[String]| faults.first().cloned();
        let caches = || self.l1.iter().find_map(|cache| first(&cache.core().faults));
        let banks = || self.l2.iter().find_map(|l2| first(&l2.faults));
        let checker = || self.checker.as_ref().and_then(|checker| first(checker.faults()));
        first(&self.faults).or_else(caches).or_else(banks).or_else(checker).or_else(|| self.check())
    }
    /// The word of 4 bytes at an address as the L2 or, if it has not got it, memory holds it.
    pub fn word(&self, addr: u64) -> u64 {
        let line = addr / LINE;
        let bank = (line % u64::from(self.p.banks)) as usize;
        let mut data = self.in_memory(line);
        if let Some(frame) = self.l2[bank].lines.get(line) {
            let mask = if frame.state == super::lines::State::W { frame.mask } else { u64::MAX };
            data.merge(mask, &frame.data);
        }
        data.word(addr % LINE, false)
    }
    fn in_memory(&self, line: u64) -> Data {
        self.memory.get(&line).copied().unwrap_or_else(|| (self.p.initial)(line))
    }
}

impl Net {
    fn empty(&self) -> bool {
        self.req.iter().all(Vec::is_empty)
            && self.wb.iter().all(VecDeque::is_empty)
            && self.probe.iter().all(Vec::is_empty)
            && self.rsp.iter().all(Vec::is_empty)
            && self.pack.iter().all(Vec::is_empty)
            && self.mem.iter().all(Vec::is_empty)
            && self.back.iter().all(Vec::is_empty)
    }
}

impl Cache {
    /// Its lines, misses, write-backs.
    pub fn core(&self) -> &super::core::Core {
        each!(self, l1 => &l1.core)
    }
    fn cu(&mut self, req: &CuReq) -> super::core::Took {
        each!(self, l1 => l1.cu(req))
    }
    fn rsp(&mut self, rsp: &Rsp) {
        each!(self, l1 => l1.rsp(rsp))
    }
    fn probe(&mut self, probe: &Probe) -> bool {
        each!(self, l1 => l1.probe(probe))
    }
    fn pack(&mut self, pack: &Pack) {
        match self {
            Cache::Scoped(l1) => l1.pack(pack),
            Cache::Hlrc(hlrc::l1::L1 { core, .. }) | Cache::DenovoB(denovo_b::l1::L1 { core, .. }) => {
                core.fault("a PACK, which this protocol does not know");
            }
        }
    }
    fn steps(&self) -> Vec<L1Step> {
        each!(self, l1 => l1.steps())
    }
    fn step(&mut self, step: L1Step) -> bool {
        each!(self, l1 => l1.step(step))
    }
    fn take_out(&mut self) -> Vec<super::msg::Out> {
        each!(self, l1 => l1.take_out())
    }
    /// The request that the sync unit runs: whom an atomic done in a bank belongs to.
    fn running(&self) -> Option<u32> {
        match self {
            Cache::Scoped(l1) => l1.run.as_ref().map(|run| run.req.id),
            _ => None,
        }
    }
    fn open(&self) -> bool {
        match self {
            Cache::Scoped(l1) => l1.gate.open(),
            Cache::Hlrc(l1) => l1.open(),
            Cache::DenovoB(l1) => l1.open(),
        }
    }
}

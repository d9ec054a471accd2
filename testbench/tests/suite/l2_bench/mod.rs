//! L1s, other nodes, other homes, a directory, DRAM and a fence unit around one L2 bank, flat or in a hierarchy, with the golden bank beside it.
//!
//! The golden model follows the order in which the pipeline accepts operations (the register of stage 1, and whether stage 2
//! takes over), so that every answer, every message and every line state has exactly one right value.

mod follow;
mod gpu;
mod held;
mod model;
mod ports;
mod quota;
mod receive;
pub mod request;
mod world;

use model::*;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use request::Request;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use weft_bench::Checked;
use weft_blocks::cache::l2::{Caching, L2Params, l2_bank};
use weft_rtl::ir::ProbeKind;
use weft_testbench::golden::dir_table::DirOp;
use weft_testbench::golden::order::BankOrder;
use weft_testbench::ledger::{self, ledger};
use weft_tools::cosim::Recorder;

/// Bank number of all lines of the test.
const BANK: u64 = 2;

/// Cover points hit so far, over several runs: count and smallest seed.
#[derive(Default)]
pub struct Seen(BTreeMap<String, (u64, u64)>);

impl Seen {
    /// Everything that the ledger wants of the bank and `of` names was hit; writes the ledger.
    pub fn assert_all(&self, test: &str, of: impl Fn(&str) -> bool) {
        let ledger = ledger();
        let missing: Vec<&str> = ledger
            .entries()
            .iter()
            .filter(|e| e.block == "l2-bank" && !self.0.contains_key(&e.id))
            .map(|e| e.id.as_str())
            .filter(|id| of(id))
            .collect();
        assert!(missing.is_empty(), "never hit: {missing:?}");
        ledger::publish(test, &self.0).expect("the ledger folder");
    }
}

/// How hard the surroundings press, redrawn every few hundred cycles.
struct Mood {
    local: f64,
    remote: f64,
    far: f64,
    inv: f64,
    write_away: f64,
    ready: BTreeMap<&'static str, f64>,
    dir_answer: f64,
    mem_answer: f64,
    home_answer: f64,
    far_answer: f64,
    hot: Option<u64>,
    loads: f64,
    /// Stores among what is no load.
    stores: f64,
}

struct Running {
    request: Request,
    answer: Option<Answer>,
}

/// Answers by queue of the request (`inv` for Invs applied) and role of the line.
pub type Served = BTreeMap<(&'static str, Role), u64>;

/// What a line is to the bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    Home,
    /// Homed in another GPU, with its GPU home here.
    GpuHome,
    /// Another node serves it.
    Leaf,
}

/// A read's answer that has been given to the bank.
struct Given {
    data: Vec<u8>,
    dram: bool,
    /// From another GPU.
    beyond: bool,
}

/// An Inv under way.
struct Invalidation {
    /// Its lines, in order of their lookups, and how many of them were looked up.
    members: Vec<u64>,
    looked: usize,
    cause: u64,
    link: u64,
}

/// A received Inv that the directory is to pass on: GPMs that must, and that may, be named beside the recorded ones.
struct Received {
    members: Vec<u64>,
    cause: u64,
    link: u64,
    must: u64,
    may: u64,
}

/// A question of the bank to its directory: whether anything is recorded for a group.
struct Question {
    number: usize,
    group: u64,
    /// The directory's answer.
    empty: Option<bool>,
    /// A request for the group has been accepted since.
    spoiled: bool,
}

/// An operation before the directory.
struct Asked {
    id: u64,
    number: usize,
    op: DirOp,
}

/// A message in flight towards the bank.
struct Fill {
    id: u64,
    line: u64,
    data: Vec<u8>,
    kind: u64,
    epoch: u64,
    src: u64,
}

pub struct Bench {
    pub sim: Checked,
    /// Takes the ports of every cycle down.
    pub recorder: Option<Recorder>,
    p: L2Params,
    rng: SmallRng,
    seed: u64,
    model: Model,
    mood: Mood,
    lines: BTreeMap<u64, Role>,
    running: BTreeMap<Asker, Running>,
    /// Outputs that take nothing at all, and what L1s ask for.
    pub blocked: Vec<&'static str>,
    pub local_roles: Vec<Role>,
    offered: BTreeMap<&'static str, Box<dyn FnOnce(&mut Bench)>>,
    dram: BTreeMap<u64, Vec<u8>>,
    dram_reads: Vec<Fill>,
    dram_writes: BTreeMap<u64, u64>,
    /// Memory of the other homes.
    away_memory: BTreeMap<u64, Vec<u8>>,
    sharing: BTreeSet<u64>,
    home_answers: Vec<Fill>,
    /// All RdRsps, by line.
    delivered: BTreeMap<u64, Vec<Given>>,
    invs: VecDeque<(u64, u64, bool, u64)>,
    /// Offered and not yet applied, oldest first; links of those applied, which the bank owes; what it owes the directory; what the directory owes.
    inv_pending: VecDeque<Invalidation>,
    inv_due: VecDeque<u64>,
    recv_due: VecDeque<Received>,
    recv_waiting: VecDeque<u64>,
    /// Operations of other GPMs that the directory has not answered: group and GPM by number; those answered in this cycle.
    unanswered: BTreeMap<usize, (u64, u64)>,
    answered_now: Vec<(u64, u64)>,
    /// Operations before the directory.
    dir_waiting: Vec<Asked>,
    question: Option<Question>,
    dir_answered: BTreeSet<usize>,
    /// WrReq and AtomReq not acknowledged, by epoch.
    away_writes: [i64; 2],
    /// What a GPU home has passed on to other GPUs, not acknowledged, by epoch.
    far_writes: [i64; 2],
    far_drain: bool,
    /// Lines with dirty bytes when the drains under way began (write-back).
    held_before: [BTreeMap<u64, u64>; 2],
    drop_applied: bool,
    /// Stores and atomics on home lines: epoch, directory operation, line, fills of the line then needed.
    home_writes: Vec<(u64, usize, u64, u64)>,
    fills: BTreeMap<u64, u64>,
    fence: Option<(u64, u64, BTreeMap<u64, u64>)>,
    /// Writes before the directory, and the fence unit's token.
    order: BankOrder,
    /// The same for a drain, which waits like a token where invalidations are acknowledged.
    drain_order: BankOrder,
    /// Directory operations of reads whose answers wait for them.
    reads_behind: BTreeMap<Asker, usize>,
    /// Such reads answered; drains that waited for stores of others.
    pub behind: [u64; 2],
    token_out: bool,
    /// Tokens given back; those that had to wait; those given back before a younger write was answered.
    pub tokens: [u64; 3],
    pub answered: u64,
    pub served: Served,
    /// Commands of the fence unit carried out: drains while writes to other GPUs were out, far drains, drops.
    pub fences: [u64; 3],
    /// Downs sent to GPU homes, and to other GPUs.
    pub downs: [u64; 2],
    /// Lines whose dirty bytes were written on to GPMs of this GPU, and to other GPUs.
    pub wrote_on: [u64; 2],
}

impl Bench {
    pub fn new(p: &L2Params, seed: u64) -> Bench {
        let module = l2_bank(p).expect("legal parameters");
        let sim = Checked::new(&module);
        let (own, bytes) = (u64::from(p.home), p.sys.line as usize);
        let mut bench = Bench {
            recorder: None,
            sim,
            rng: SmallRng::seed_from_u64(seed),
            seed,
            model: Model::new(own, p.hier || p.scoped, p.dir, p.write_back),
            mood: Mood::calm(),
            lines: BTreeMap::new(),
            running: BTreeMap::new(),
            blocked: Vec::new(),
            local_roles: vec![Role::Home, Role::GpuHome, Role::Leaf],
            offered: BTreeMap::new(),
            dram: BTreeMap::new(),
            dram_reads: Vec::new(),
            dram_writes: BTreeMap::new(),
            away_memory: BTreeMap::new(),
            sharing: BTreeSet::new(),
            home_answers: Vec::new(),
            delivered: BTreeMap::new(),
            invs: VecDeque::new(),
            inv_pending: VecDeque::new(),
            inv_due: VecDeque::new(),
            recv_due: VecDeque::new(),
            recv_waiting: VecDeque::new(),
            unanswered: BTreeMap::new(),
            answered_now: Vec::new(),
            dir_waiting: Vec::new(),
            question: None,
            dir_answered: BTreeSet::new(),
            away_writes: [0; 2],
            far_writes: [0; 2],
            far_drain: false,
            held_before: Default::default(),
            drop_applied: false,
            home_writes: Vec::new(),
            fills: BTreeMap::new(),
            fence: None,
            order: BankOrder::default(),
            drain_order: BankOrder::default(),
            reads_behind: BTreeMap::new(),
            behind: [0; 2],
            token_out: false,
            tokens: [0; 3],
            answered: 0,
            served: BTreeMap::new(),
            fences: [0; 3],
            downs: [0; 2],
            wrote_on: [0; 2],
            p: p.clone(),
        };
        // Lines of a bank side by side, of which four are used; there are four banks.
        let beside = bench.lines_beside();
        let uppers = if p.sys.gpms == 1 { 3 } else { 2 };
        for upper in 0..uppers {
            for low in (0..1u64 << beside).step_by(1 << (beside - 2)) {
                for home in bench.homes() {
                    bench.add_line(home, upper << (beside + 2) | BANK << beside | low, bytes);
                }
            }
        }
        bench
    }

    /// Homes of the lines used: every GPU; with GPMs this node, two nodes of its number, another GPM of this GPU, and one of another GPU.
    fn homes(&self) -> Vec<u64> {
        let sys = &self.p.sys;
        let (own, mut homes) = (self.p.home, Vec::new());
        let mut kinds = BTreeMap::<(bool, bool), usize>::new();
        for node in sys.all_nodes() {
            let same_gpu = sys.gpu_of_node(node) == sys.gpu_of_node(own);
            let same_gpm = sys.gpm_of_node(node) == sys.gpm_of_node(own);
            let seen = kinds.entry((same_gpu, same_gpm)).or_default();
            *seen += 1;
            if *seen <= if same_gpm || sys.gpms == 1 { 2 } else { 1 } {
                homes.push(u64::from(node));
            }
        }
        homes
    }

    /// log2 of the lines of a bank before the next bank's follow.
    fn lines_beside(&self) -> u32 {
        (self.p.sys.il / self.p.sys.line).trailing_zeros()
    }

    /// Number of a line's group.
    fn group_of(&self, line: u64) -> u64 {
        line / u64::from(self.p.group)
    }

    /// The home node of a line.
    fn home_of(&self, line: u64) -> u64 {
        line >> (self.p.sys.home_shift - self.p.sys.line.trailing_zeros())
    }

    fn role_of(&self, home: u64) -> Role {
        let sys = &self.p.sys;
        let gpm = |node: u64| sys.gpm_of_node(node as u32);
        let own = u64::from(self.p.home);
        if home == own {
            Role::Home
        } else if self.p.hier && gpm(home) == gpm(own) {
            Role::GpuHome
        } else {
            Role::Leaf
        }
    }

    /// The node that this bank asks for a line.
    fn server_of(&self, line: u64) -> u64 {
        let (sys, home) = (&self.p.sys, self.home_of(line));
        if self.p.hier && self.lines[&line] == Role::Leaf {
            return u64::from(sys.node(sys.gpu_of_node(self.p.home), sys.gpm_of_node(home as u32)));
        }
        home
    }

    /// A node is of this bank's GPU.
    fn near(&self, node: u64) -> bool {
        self.p.sys.gpu_of_node(node as u32) == self.p.sys.gpu_of_node(self.p.home)
    }

    /// Copies of this line may be kept here.
    fn keeps(&self, line: u64) -> bool {
        match self.p.caching {
            Caching::L1L2 => true,
            Caching::OwnGpu => self.near(self.home_of(line)),
            Caching::L1Only | Caching::None => false,
        }
    }

    fn add_line(&mut self, home: u64, low: u64, bytes: usize) {
        let line = home << (self.p.sys.home_shift - self.p.sys.line.trailing_zeros()) | low;
        let data: Vec<u8> = (0..bytes).map(|_| self.rng.random()).collect();
        let (role, keeps) = (self.role_of(home), self.keeps(line));
        self.lines.insert(line, role);
        match role {
            Role::Home => {
                self.dram.insert(line, data.clone());
                self.model.add_home(line, data);
                return;
            }
            Role::GpuHome => self.model.add_gpu(line, bytes, keeps),
            Role::Leaf => self.model.add_away(line, bytes, keeps),
        }
        self.away_memory.insert(line, data);
    }

    /// The lines of some roles.
    fn lines_of(&self, roles: &[Role]) -> Vec<u64> {
        self.lines.iter().filter(|(_, role)| roles.contains(role)).map(|(line, _)| *line).collect()
    }

    /// One cycle.
    pub fn cycle(&mut self) {
        self.answered_now.clear();
        self.offer_all();
        self.take_all();
        let before = self.stage1();
        if let Some(recorder) = &mut self.recorder {
            recorder.sample(&self.sim);
        }
        self.sim.step();
        if let Some(f) = self.sim.failures().first() {
            panic!("seed {} cycle {}: {}: {} ({})", self.seed, f.cycle, f.name, f.text, f.at);
        }
        self.follow(&before);
    }

    /// The same traffic all the time: everything asked for and answered at full rate but for `blocked` outputs; `far_answer`: rate of other GPUs'
    /// answers. Returns the answers given in that time.
    pub fn press(&mut self, cycles: u64, [loads, stores, far_answer]: [f64; 3]) -> Served {
        let calm = Mood::calm();
        self.mood =
            Mood { local: 1.0, remote: 1.0, far: 1.0, write_away: 0.3, loads, stores, far_answer, ..calm };
        self.served.clear();
        (0..cycles).for_each(|_| self.cycle());
        self.served.clone()
    }

    /// Random traffic.
    pub fn run(&mut self, cycles: u64) {
        for i in 0..cycles {
            if i % 150 == 0 {
                self.mood = self.draw_mood();
            }
            self.cycle();
        }
    }

    /// Lets everything finish; nothing may be left, and a flush leaves memory with the latest values.
    pub fn drain(&mut self) {
        self.mood = Mood::calm();
        for _ in 0..3_000 {
            self.cycle();
        }
        let left: Vec<_> = self.running.iter().map(|(asker, r)| (asker, &r.request.kind)).collect();
        assert!(left.is_empty(), "seed {}: never answered: {left:?}", self.seed);
        assert_eq!((self.away_writes, self.fence.is_some()), ([0, 0], false));
        assert_eq!((self.far_writes, self.far_drain), ([0, 0], false));
        assert!(self.inv_due.is_empty() && self.inv_pending.is_empty() && self.recv_due.is_empty());
        assert_eq!(self.order, BankOrder::default(), "no token is kept");
        self.model.assert_idle();
        if self.p.write_back {
            self.drain_held();
        }
        self.start_fence(1);
        for _ in 0..200 {
            self.cycle();
        }
        assert!(self.fence.is_none(), "the flush does not end");
        for line in self.lines_of(&[Role::Home]) {
            assert_eq!(self.dram[&line], self.model.home_data(line), "line {line:x} after the flush");
        }
        assert!(self.sim.asleep(), "an idle bank changes nothing");
        let misses = ["l2_misses_local_home", "l2_misses_local_away", "l2_misses_remote"];
        let found = self.counter("l2_hits") + self.counter("l2_merged");
        let all = found + misses.iter().map(|m| self.counter(m)).sum::<u64>();
        assert_eq!(self.counter("l2_accesses"), all, "every access hits, merges or misses");
    }

    /// Loads a line until it is there, then `count` times in successive cycles; cycles from the first offer to the last answer.
    pub fn stream_of_hits(&mut self, role: Role, count: u64) -> u64 {
        let line = self.lines_of(&[role])[0];
        for _ in 0..20 {
            self.cycle();
        }
        self.offer_load(line, 0, 0);
        for _ in 0..40 {
            self.cycle();
        }
        assert_eq!(self.answered, 1, "the miss is answered");
        let start = self.sim.cycle();
        let ids = u64::from(self.p.sys.l1_mshrs);
        for i in 0..count {
            self.offer_load(line, i / ids, i % ids);
            self.cycle();
            assert!(self.offered.is_empty(), "a hit is taken at once");
        }
        while self.answered < 1 + count {
            self.cycle();
        }
        self.sim.cycle() - start
    }

    /// Adds what was covered.
    pub fn collect(&self, seen: &mut Seen) {
        for probe in self.sim.probes().filter(|p| p.kind == ProbeKind::Cover && p.count > 0) {
            let hit = seen.0.entry(probe.name.to_string()).or_insert((0, self.seed));
            *hit = (hit.0 + probe.count, hit.1.min(self.seed));
        }
    }

    /// A counter's reading.
    fn counter(&self, name: &str) -> u64 {
        let found = self.sim.probes().find(|p| p.name == name);
        found.unwrap_or_else(|| panic!("no counter {name}")).count
    }
}

//! L1s, other GPUs, other homes, a directory, DRAM and a fence unit around one L2 bank, with the golden bank beside it.
//!
//! The golden model follows the order in which the pipeline accepts operations (the register of stage 1, and whether stage 2
//! takes over), so that every answer, every message and every line state has exactly one right value.

mod model;
mod world;

use model::*;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use weft_blocks::cache::l2::{Caching, L2Params, l2_bank};
use weft_engine::{Design, Options, Sim};
use weft_rtl::bv::Bv;
use weft_rtl::ir::ProbeKind;
use weft_testbench::cosim::Recorder;
use weft_testbench::golden::order::BankOrder;
use weft_testbench::ledger::{self, Ledger};

/// Bank number of all lines of the test.
const BANK: u64 = 2;

/// Cover points hit so far, over several runs: count and smallest seed.
#[derive(Default)]
pub struct Seen(BTreeMap<String, (u64, u64)>);

impl Seen {
    /// Everything the ledger wants of the bank, but for `not`, was hit; writes the ledger.
    pub fn assert_all_but(&self, test: &str, not: &[&str]) {
        let ledger = Ledger::default();
        let missing: Vec<&str> = ledger
            .entries()
            .iter()
            .filter(|e| e.block == "l2-bank" && !self.0.contains_key(&e.id))
            .map(|e| e.id.as_str())
            .filter(|id| !not.contains(id))
            .collect();
        assert!(missing.is_empty(), "never hit: {missing:?}");
        ledger::publish(test, &self.0).expect("the ledger folder");
    }
}

/// How hard the surroundings press, redrawn every few hundred cycles.
struct Mood {
    local: f64,
    remote: f64,
    inv: f64,
    write_away: f64,
    ready: BTreeMap<&'static str, f64>,
    dir_answer: f64,
    mem_answer: f64,
    home_answer: f64,
    hot: Option<u64>,
    loads: f64,
}

struct Running {
    request: Request,
    answer: Option<Answer>,
}

/// A message in flight towards the bank.
struct Fill {
    id: u64,
    line: u64,
    data: Vec<u8>,
    kind: u64,
    epoch: u64,
}

pub struct Bench {
    pub sim: Sim,
    /// Takes the ports of every cycle down.
    pub recorder: Option<Recorder>,
    p: L2Params,
    rng: SmallRng,
    seed: u64,
    model: Model,
    mood: Mood,
    home_lines: Vec<u64>,
    away_lines: Vec<u64>,
    /// (L1, id) and (GPU, id, is a write).
    local: BTreeMap<(u64, u64), Running>,
    remote: BTreeMap<(u64, u64, u64), Running>,
    offered: BTreeMap<&'static str, Box<dyn FnOnce(&mut Bench)>>,
    dram: BTreeMap<u64, Vec<u8>>,
    dram_reads: Vec<Fill>,
    dram_writes: BTreeMap<u64, u64>,
    /// Memory of the other homes.
    away_memory: BTreeMap<u64, Vec<u8>>,
    sharing: BTreeSet<u64>,
    home_answers: Vec<Fill>,
    /// Data of all RdRsps, by line.
    delivered: BTreeMap<u64, Vec<Vec<u8>>>,
    invs: VecDeque<(u64, u64, bool, u64)>,
    inv_links: VecDeque<u64>,
    /// Lines that each invalidation taken names, and lines invalidated so far, both oldest first.
    inv_members: VecDeque<Vec<u64>>,
    inv_lookups: VecDeque<u64>,
    /// Operations before the directory: identifier, number, whether it is a read.
    dir_waiting: Vec<(u64, usize, bool)>,
    dir_answered: BTreeSet<usize>,
    /// WrReq and AtomReq not acknowledged, by epoch.
    away_writes: [i64; 2],
    /// Stores and atomics on home lines: epoch, directory operation, line, fills of the line then needed.
    home_writes: Vec<(u64, usize, u64, u64)>,
    fills: BTreeMap<u64, u64>,
    fence: Option<(u64, u64, BTreeMap<u64, u64>)>,
    /// Writes before the directory, and the fence unit's token.
    order: BankOrder,
    token_out: bool,
    /// Tokens given back; those that had to wait; those given back before a younger write was answered.
    pub tokens: [u64; 3],
    pub answered: u64,
}

impl Bench {
    pub fn new(p: &L2Params, seed: u64) -> Bench {
        let module = l2_bank(p).expect("legal parameters");
        let sim = Sim::new(&Design::new(&module, Options::default()).expect("a block"));
        let (own, bytes) = (u64::from(p.home), p.sys.line as usize);
        let keeps = p.caching == Caching::L1L2;
        let mut bench = Bench {
            recorder: None,
            sim,
            rng: SmallRng::seed_from_u64(seed),
            seed,
            model: Model::new(own, keeps, p.dir),
            mood: Mood::calm(),
            home_lines: Vec::new(),
            away_lines: Vec::new(),
            local: BTreeMap::new(),
            remote: BTreeMap::new(),
            offered: BTreeMap::new(),
            dram: BTreeMap::new(),
            dram_reads: Vec::new(),
            dram_writes: BTreeMap::new(),
            away_memory: BTreeMap::new(),
            sharing: BTreeSet::new(),
            home_answers: Vec::new(),
            delivered: BTreeMap::new(),
            invs: VecDeque::new(),
            inv_links: VecDeque::new(),
            inv_members: VecDeque::new(),
            inv_lookups: VecDeque::new(),
            dir_waiting: Vec::new(),
            dir_answered: BTreeSet::new(),
            away_writes: [0; 2],
            home_writes: Vec::new(),
            fills: BTreeMap::new(),
            fence: None,
            order: BankOrder::default(),
            token_out: false,
            tokens: [0; 3],
            answered: 0,
            p: p.clone(),
        };
        // Lines of a bank side by side, of which four are used; there are four banks.
        let beside = bench.lines_beside();
        for upper in 0..3u64 {
            for low in (0..1u64 << beside).step_by(1 << (beside - 2)) {
                for home in 0..u64::from(p.sys.gpus) {
                    bench.add_line(home, upper << (beside + 2) | BANK << beside | low, bytes);
                }
            }
        }
        bench
    }

    /// log2 of the lines of a bank before the next bank's follow.
    fn lines_beside(&self) -> u32 {
        (self.p.sys.il / self.p.sys.line).trailing_zeros()
    }

    fn add_line(&mut self, home: u64, low: u64, bytes: usize) {
        let line = home << (self.p.sys.home_shift - self.p.sys.line.trailing_zeros()) | low;
        let data: Vec<u8> = (0..bytes).map(|_| self.rng.random()).collect();
        if home == u64::from(self.p.home) {
            self.home_lines.push(line);
            self.dram.insert(line, data.clone());
            self.model.add_home(line, data);
        } else {
            self.away_lines.push(line);
            self.away_memory.insert(line, data);
            self.model.add_away(line, bytes);
        }
    }

    fn set(&mut self, name: &str, value: u64) {
        let port = self.sim.input(name).unwrap_or_else(|| panic!("no input {name}"));
        self.sim.set(port, value);
    }

    fn get(&mut self, name: &str) -> u64 {
        let port = self.sim.output(name).unwrap_or_else(|| panic!("no output {name}"));
        self.sim.get(port)
    }

    fn set_bytes(&mut self, name: &str, bytes: &[u8]) {
        let limbs: Vec<u64> =
            bytes.chunks(8).map(|c| u64::from_le_bytes(c.try_into().expect("whole words"))).collect();
        let port = self.sim.input(name).unwrap_or_else(|| panic!("no input {name}"));
        self.sim.set_bv(port, &Bv::from_limbs(&limbs, 8 * bytes.len() as u32));
    }

    fn get_bytes(&mut self, name: &str) -> Vec<u8> {
        let port = self.sim.output(name).unwrap_or_else(|| panic!("no output {name}"));
        self.sim.get_bv(port).limbs().iter().flat_map(|l| l.to_le_bytes()).collect()
    }

    fn set_mask(&mut self, name: &str, mask: &[bool]) {
        let mut bits = Bv::zero(mask.len() as u32);
        for (i, on) in mask.iter().enumerate() {
            bits.set_bit(i as u32, *on);
        }
        let port = self.sim.input(name).unwrap_or_else(|| panic!("no input {name}"));
        self.sim.set_bv(port, &bits);
    }

    fn peek(&self, name: &str) -> u64 {
        self.sim.peek(name).unwrap_or_else(|| panic!("no register {name}")).low_u64()
    }

    /// The bank's tags: line to state.
    fn tags(&self) -> BTreeMap<u64, u64> {
        let (tag_bits, low, beside) = (self.p.tag_bits(), self.p.low_bits(), self.lines_beside());
        let mut lines = BTreeMap::new();
        for set in 0..self.p.sets {
            for way in 0..self.p.ways {
                let cell = self.sim.peek_mem("tags", set, way).expect("a cell");
                let (tag, state) = (cell.slice(0, tag_bits).low_u64(), cell.slice(tag_bits, 2).low_u64());
                if state != 0 {
                    let stripped = tag << low | u64::from(set) & ((1 << low) - 1);
                    let line =
                        stripped >> beside << (beside + 2) | BANK << beside | stripped & ((1 << beside) - 1);
                    assert!(lines.insert(line, state).is_none(), "line {line:x} is in two ways");
                }
            }
        }
        lines
    }

    /// Follows the operation in stage 1 of the cycle now ending; `before`: what was in it.
    fn follow(&mut self, before: &Stage1) {
        let went = self.peek("s2_valid") == 1;
        if !before.valid {
            assert!(!went);
            return;
        }
        if !went {
            assert!(before.class == 2 || before.class == 3, "only requests are sent back");
            return;
        }
        match before.class {
            0 => {
                self.inv_lookups.push_back(before.line);
                self.model.invalidate(before.line);
            }
            1 if before.atom_end => {}
            1 => self.model.fill(before.line, self.delivered.get(&before.line).and_then(|d| d.last())),
            2 => self.accept_remote(before),
            3 => self.accept_local(before),
            _ => {}
        }
        let tags = self.tags();
        self.model.compare(&tags, (1..=3).contains(&before.class), before.class == 4);
    }

    fn accept_remote(&mut self, before: &Stage1) {
        let key = (before.who, before.id, u64::from(before.kind == WR));
        let running = self.remote.get_mut(&key).expect("a request of the test");
        assert!(running.answer.is_none(), "{key:?} accepted twice");
        let (number, writes) = (self.model.next_op, running.request.kind != RD);
        running.answer = Some(self.model.home_request(Some(key.0), &running.request));
        if writes && self.p.dir {
            self.order.write(number as u64);
        }
    }

    fn accept_local(&mut self, before: &Stage1) {
        let key = (before.who, before.id);
        let running = self.local.get_mut(&key).expect("a request of the test");
        assert!(running.answer.is_none(), "{key:?} accepted twice");
        let request = &running.request;
        if self.dram.contains_key(&request.line) {
            let number = self.model.next_op;
            running.answer = Some(self.model.home_request(None, request));
            if request.kind != RD {
                let fetches = self.model.fetches(request.line);
                self.home_writes.push((before.epoch, number, request.line, fetches));
                if self.p.dir {
                    self.order.write(number as u64);
                }
            }
        } else {
            if request.kind != RD {
                self.away_writes[before.epoch as usize] += 1;
            }
            running.answer = Some(self.model.away_request(key, request, before.epoch));
        }
    }

    fn stage1(&self) -> Stage1 {
        let mshr = self.peek("fill_mshr");
        Stage1 {
            valid: self.peek("s1_valid") == 1,
            class: self.peek("s1_class"),
            kind: self.peek("s1_req_kind"),
            line: self.peek("s1_req_line"),
            who: self.peek("s1_req_who"),
            id: self.peek("s1_req_id"),
            epoch: self.peek("epoch"),
            atom_end: self.peek("mshr_atom") >> mshr & 1 == 1,
        }
    }

    /// One cycle.
    pub fn cycle(&mut self) {
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
        let left: Vec<_> = self.local.keys().collect();
        assert!(left.is_empty(), "never answered: {left:?}");
        assert!(self.remote.is_empty(), "never answered: {:?}", self.remote.keys());
        assert_eq!((self.away_writes, self.fence.is_some()), ([0, 0], false));
        assert_eq!(self.order, BankOrder::default(), "no token is kept");
        self.model.assert_idle();
        self.start_fence(1);
        for _ in 0..200 {
            self.cycle();
        }
        assert!(self.fence.is_none(), "the flush does not end");
        for line in self.home_lines.clone() {
            assert_eq!(self.dram[&line], self.model.home_data(line), "line {line:x} after the flush");
        }
        assert!(self.sim.asleep(), "an idle bank changes nothing");
        let misses = ["l2_misses_local_home", "l2_misses_local_away", "l2_misses_remote"];
        let found = self.counter("l2_hits") + self.counter("l2_merged");
        let all = found + misses.iter().map(|m| self.counter(m)).sum::<u64>();
        assert_eq!(self.counter("l2_accesses"), all, "every access hits, merges or misses");
    }

    /// Loads one home line until it is there, then `count` times in successive cycles; cycles from the first offer to the
    /// last answer.
    pub fn stream_of_hits(&mut self, count: u64) -> u64 {
        let line = self.home_lines[0];
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

/// What was in stage 1.
struct Stage1 {
    valid: bool,
    class: u64,
    kind: u64,
    line: u64,
    who: u64,
    id: u64,
    epoch: u64,
    atom_end: bool,
}

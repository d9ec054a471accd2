//! One bank `moesi-l2` in a system whose other parts are golden: the banks of the other nodes, the slices
//! of all homes, memory. Beside it stands the golden bank of its node, which is stepped as the hardware's
//! pipeline goes (the registers of the slot say which operation is performed in a cycle), so that every
//! message, every answer and every state has exactly one right value.
//!
//! Golden models count versions of a line; the bench knows the bytes of each version. Lines of different
//! sets share nothing but sizes, so each set has a system of its own.
//!
//! Operations that wait in the bank's pool are kept here: the golden bank is given an operation when the
//! hardware performs it or asks for its line, and all of a line when the line is installed. What the
//! golden bank performs then, the hardware performs one by one until it tells the home; nothing else may
//! happen to the line meanwhile.

mod follow;
mod offer;
mod ports;
mod receive;
pub mod world;

pub use crate::l2_bench::request::{ATOM, RD, Request, WR};
use offer::{Mood, Offer};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use receive::Dues;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use weft_bench::Checked;
use weft_blocks::cache::l2::{Caching, L2Params};
use weft_blocks::directory::protocols::moesi::bank::moesi_l2;
use weft_blocks::msg::Sys;
use weft_rtl::ir::Module;
use weft_testbench::golden::moesi::fabric::Params;
use weft_testbench::golden::moesi::msg::{Answer, Line, Node, Packet, SliceOp};
use weft_testbench::golden::moesi::races::Tally;
use weft_testbench::golden::moesi::table::State;
use world::{LINES, World};

pub type Rand = SmallRng;

/// One of some, if there is any.
pub fn pick<'a, T>(of: &'a [T], rng: &mut Rand) -> Option<&'a T> {
    (!of.is_empty()).then(|| &of[rng.random_range(0..of.len())])
}

/// A small bank; more by record update.
pub fn small(gpus: u32, gpms: u32, home: u32) -> L2Params {
    let sys = Sys {
        gpus,
        gpms,
        addr_bits: 40,
        line: 64,
        banks: 4,
        l1s: 3,
        l2_mshrs: 8,
        l1_mshrs: 4,
        il: 256,
        home_shift: 32,
        owners: true,
    };
    L2Params {
        sys,
        home,
        sets: 2,
        ways: 2,
        pool: 8,
        caching: Caching::L1L2,
        dir: true,
        group: 4,
        hier: false,
        scoped: false,
        drops: false,
        drops_all: false,
        downgrade: false,
        write_back: false,
        acks: true,
    }
}

/// A line: its set, and its number among the lines that are used there.
pub type Place = (usize, Line);

/// A request of an L1 that the bank has taken and not performed.
#[derive(Clone, Debug)]
pub struct Waiting {
    pub request: Request,
    pub l1: u64,
    pub id: u64,
    /// Its number among all, and among those of its line.
    pub serial: u64,
    pub number: u16,
}

/// The line that is installed, and whose home is not told yet.
pub struct Serving {
    pub place: Place,
    /// Answers of the requests that the golden bank has performed and the hardware has not.
    pub results: VecDeque<Vec<u8>>,
    /// Who has sent the line, as an L1 is told.
    pub src: u64,
}

pub struct Bench {
    pub sim: Checked,
    p: L2Params,
    rng: Rand,
    seed: u64,
    /// Number of the bank.
    number: u64,
    /// Hardware's numbers of the golden nodes, and which one the bank's is.
    nodes: Vec<u64>,
    own: Node,
    pub worlds: Vec<World>,
    /// Hardware's numbers of the lines, by set.
    pub lines: Vec<Vec<u64>>,
    places: BTreeMap<u64, Place>,
    pub mood: Mood,
    /// Nothing new is begun.
    quiet: bool,
    offers: BTreeMap<&'static str, Offer>,
    /// Messages in the receiving ends, which the bank has not looked at yet.
    inside: BTreeMap<&'static str, VecDeque<Offer>>,
    pub dues: Dues,
    memory: BTreeMap<u64, Vec<u8>>,
    reads: Vec<(u64, Vec<u8>)>,
    /// L1s' transactions under way.
    running: BTreeSet<(u64, u64)>,
    serial: u64,
    /// The request that has the slot next; all that wait, by line; the last number of a line's.
    incoming: Option<Waiting>,
    pools: BTreeMap<Place, VecDeque<Waiting>>,
    counts: BTreeMap<Place, u16>,
    pub serving: Option<Serving>,
    /// Stores and atomics that are taken and not performed, by serial number; those before the drain
    /// under way.
    unperformed: BTreeSet<u64>,
    before_drain: BTreeSet<u64>,
    /// A drain begins in this cycle.
    drains_now: bool,
    pub fence: Option<u64>,
    /// An INV message, and a request of another node, that the bank has taken and not performed.
    probes: VecDeque<(usize, Packet, u64, u64)>,
    remotes: VecDeque<(usize, Packet)>,
    /// Transaction numbers: of own requests (until they are installed; the last that the slice was given)
    /// and Puts; of other nodes' by line and node; operations of others by the number given to the slice.
    own_ids: BTreeMap<Place, u64>,
    slice_ids: BTreeMap<Place, u64>,
    put_ids: BTreeMap<Place, u64>,
    remote_ids: BTreeMap<(Place, Node), u64>,
    home_ops: BTreeMap<u64, (usize, SliceOp)>,
    /// Those that are answered and have not had their turn.
    turns: BTreeMap<u64, (usize, SliceOp, Answer)>,
    /// Data that have come and are not installed; whether from memory.
    landed: BTreeMap<Place, (Packet, bool)>,
    /// Answers given to L1s.
    pub answered: u64,
    /// Clean lines that came back with data.
    pub clean_backs: u64,
    /// Fences that have ended: drains, flushes; drains that had to wait for something. Stores taken in
    /// the cycle in which a drain began.
    pub fences: [u64; 3],
    pub meetings: u64,
}

impl Bench {
    pub fn new(p: &L2Params, seed: u64) -> Bench {
        Bench::on(p, &moesi_l2(p).expect("legal parameters"), seed)
    }

    /// On another module with the same ports.
    pub fn on(p: &L2Params, module: &Arc<Module>, seed: u64) -> Bench {
        let sim = Checked::new(module);
        let nodes: Vec<u64> = p.sys.all_nodes().into_iter().map(u64::from).collect();
        let own = nodes.iter().position(|node| *node == u64::from(p.home)).expect("a node") as Node;
        let mut bench = Bench {
            sim,
            p: p.clone(),
            rng: Rand::seed_from_u64(seed),
            seed,
            number: u64::from(p.sys.banks / 2),
            nodes,
            own,
            worlds: Vec::new(),
            lines: Vec::new(),
            places: BTreeMap::new(),
            mood: Mood::calm(),
            quiet: false,
            offers: BTreeMap::new(),
            inside: BTreeMap::new(),
            dues: Dues::default(),
            memory: BTreeMap::new(),
            reads: Vec::new(),
            running: BTreeSet::new(),
            serial: 0,
            incoming: None,
            pools: BTreeMap::new(),
            counts: BTreeMap::new(),
            serving: None,
            unperformed: BTreeSet::new(),
            before_drain: BTreeSet::new(),
            drains_now: false,
            fence: None,
            probes: VecDeque::new(),
            remotes: VecDeque::new(),
            own_ids: BTreeMap::new(),
            slice_ids: BTreeMap::new(),
            put_ids: BTreeMap::new(),
            remote_ids: BTreeMap::new(),
            home_ops: BTreeMap::new(),
            turns: BTreeMap::new(),
            landed: BTreeMap::new(),
            answered: 0,
            clean_backs: 0,
            fences: [0; 3],
            meetings: 0,
        };
        (0..p.sets as usize).for_each(|set| bench.add_world(set));
        bench
    }

    /// Half the lines of a set have their home here, the others one after the other elsewhere.
    fn add_world(&mut self, set: usize) {
        let (others, own) = (self.nodes.len() as Node - 1, self.own);
        let mut homes_of = [own; 8];
        for (i, home) in homes_of[4..].iter_mut().enumerate() {
            let other = (set as Node + i as Node) % others;
            *home = other + u8::from(other >= own);
        }
        let p = Params {
            homes_of,
            ways: self.p.ways as usize,
            mshrs: 100,
            writebacks: 8,
            homes: 100,
            entries: 3,
            pending: 4,
            queue: 8,
            ..Params::tiny(self.nodes.len() as Node, LINES)
        };
        let mut lines: Vec<u64> = Vec::new();
        for home in homes_of {
            let home = self.nodes[usize::from(home)];
            let found = (0..).map(|upper| self.line(home, upper));
            let free = |line: &u64| self.set_of(*line) == set as u64 && !lines.contains(line);
            let line = found.into_iter().find(free).expect("many lines");
            lines.push(line);
        }
        let mut memory = Vec::new();
        for (i, line) in lines.iter().enumerate() {
            let bytes: Vec<u8> = (0..self.p.sys.line).map(|_| self.rng.random()).collect();
            self.places.insert(*line, (set, i as Line));
            self.memory.insert(*line, bytes.clone());
            memory.push(bytes);
        }
        self.worlds.push(World::new(p, own, memory));
        self.lines.push(lines);
    }

    fn interleave(&self) -> u32 {
        (self.p.sys.il / self.p.sys.line).trailing_zeros()
    }

    /// A line of a home and this bank, by its number without the bank's bits.
    fn line(&self, home: u64, stripped: u64) -> u64 {
        let (below, bank) = (self.interleave(), self.p.bank_field());
        let low = stripped & ((1 << below) - 1);
        let high = ((stripped >> below) << bank | self.number & ((1 << bank) - 1)) << below;
        home << (self.p.sys.home_shift - self.p.sys.line.trailing_zeros()) | high | low
    }

    fn set_of(&self, line: u64) -> u64 {
        let (below, bank) = (self.interleave(), self.p.bank_field());
        let stripped = line >> (below + bank) << below | line & ((1 << below) - 1);
        let low = self.p.low_bits();
        ((stripped >> low) % u64::from(self.p.odd())) << low | stripped & ((1 << low) - 1)
    }

    /// Hardware's number of a line.
    pub fn line_at(&self, place: Place) -> u64 {
        self.lines[place.0][usize::from(place.1)]
    }

    fn place_of(&self, line: u64) -> Place {
        *self.places.get(&line).unwrap_or_else(|| panic!("line {line:x} is nobody's"))
    }

    /// Hardware's number of a node.
    fn node(&self, node: Node) -> u64 {
        self.nodes[usize::from(node)]
    }

    /// Counts of the golden bank's rows and races, over all sets.
    pub fn golden_counts(&self) -> BTreeMap<&'static str, u64> {
        let mut sum = Tally::default();
        self.worlds.iter().for_each(|world| sum.add(&world.mine));
        sum.counts()
    }

    pub fn state(&self, place: Place) -> State {
        self.worlds[place.0].state(place.1)
    }

    /// Some cycles.
    pub fn rest(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.cycle());
    }

    /// A store or atomic that was taken before the drain under way is not performed.
    pub fn waits_for_drain(&self) -> bool {
        self.before_drain.intersection(&self.unperformed).next().is_some()
    }

    /// A request of an L1 is offered and not taken.
    pub fn offers_local(&self) -> bool {
        self.offers.contains_key("local_req")
    }

    /// An L1 asks; it is in the bank some cycles later.
    pub fn ask_for(&mut self, place: Place, kind: u64) {
        assert!(self.offer_local(place, kind));
        self.rest(6);
    }

    /// One cycle.
    pub fn cycle(&mut self) {
        let rates = self.mood.rates(self.quiet);
        for world in &mut self.worlds {
            for _ in 0..self.mood.steps {
                world.step(&mut self.rng, rates);
            }
        }
        self.offer_all();
        self.take_all();
        let taken = self.taken();
        let (before, held) = (self.before(), self.held());
        self.sim.step();
        if let Some(f) = self.sim.failures().first() {
            panic!("seed {} cycle {}: {}: {} ({})", self.seed, f.cycle, f.name, f.text, f.at);
        }
        for channel in &taken {
            self.set(&format!("{channel}_valid"), 0);
        }
        self.follow(&before);
        for channel in taken {
            let offer = self.offers.remove(channel).expect("what was taken was offered");
            self.inside.entry(channel).or_default().push_back(offer);
        }
        self.look_inside(&held);
        self.served();
    }

    pub fn run(&mut self, cycles: u64) {
        for i in 0..cycles {
            if i % 200 == 0 {
                self.mood = Mood::draw(&mut self.rng);
            }
            self.cycle();
        }
    }

    /// Lets everything end; a flush then leaves memory with the latest bytes, and the bank sleeps.
    pub fn drain(&mut self) {
        self.quiet = true;
        self.mood = Mood { steps: 4, ..Mood::calm() };
        let mut cycles = 0;
        while let Some(what) = self.restless() {
            self.cycle();
            cycles += 1;
            assert!(cycles < 4000, "seed {}: it does not end: {what}", self.seed);
        }
        self.flush();
        (0..200).for_each(|_| self.cycle());
        assert!(self.sim.asleep(), "an idle bank changes nothing");
        assert_eq!(self.restless(), None, "and says nothing");
        self.quiet = false;
    }

    /// Everything that M and O have is in memory after a flush of an idle bank; what is of other homes is
    /// there.
    fn flush(&mut self) {
        assert!(self.fence.is_none());
        self.command(1);
        let mut cycles = 0;
        while self.fence.is_some() {
            self.cycle();
            cycles += 1;
            assert!(cycles < 2000, "seed {}: a flush does not end", self.seed);
        }
        for (set, world) in self.worlds.iter().enumerate() {
            for line in 0..LINES {
                let at = &world.bank().lines[usize::from(line)];
                let place = (set, line);
                assert!(at.buffer.is_none(), "a line is still in the buffer: {place:?}");
                assert_ne!(at.copy.state, State::M, "{place:?} after a flush");
                if world.homed(line) {
                    let bytes = world.version(line, world.f.memory[usize::from(line)]);
                    assert_eq!(&self.memory[&self.line_at(place)], bytes, "{place:?} in memory");
                }
                let latest = world.f.latest[usize::from(line)] == world.f.memory[usize::from(line)];
                assert!(
                    at.copy.state != State::O || (world.homed(line) && latest),
                    "{place:?} after a flush"
                );
            }
        }
        while self.restless().is_some() {
            self.cycle();
            cycles += 1;
            assert!(cycles < 4000, "seed {}: a flush leaves something", self.seed);
        }
    }

    /// What has not ended.
    fn restless(&self) -> Option<String> {
        let world = self.worlds.iter().find_map(World::restless);
        let offers = self.offers.keys().next().map(|channel| format!("{channel} is not taken"));
        let waits = self.pools.values().flatten().next().map(|waiting| format!("{waiting:?}"));
        let serves = self.serving.as_ref().map(|serving| format!("{:?} is served", serving.place));
        let runs = self.running.first().map(|(l1, id)| format!("L1 {l1} has no answer to {id}"));
        let fence = self.fence.map(|op| format!("fence {op}"));
        let reads = self.reads.first().map(|_| "memory is read".to_string());
        let inside = self.inside.iter().find(|(_, held)| !held.is_empty());
        let offers = offers.or(inside.map(|(channel, _)| format!("{channel} is not looked at")));
        world.or(offers).or(waits).or(serves).or(self.dues.first()).or(runs).or(fence).or(reads)
    }
}

//! The slice beside golden slices, one for each of the sets that are used.
//!
//! Counters tell in which cycle it performs an operation, makes it wait or replaces an entry, and the golden
//! slice does the same then; what that may not do, and what leaves that it has not sent, is wrong.
//!
//! The golden slices are never short of ways: the bench knows which way has which line. A way is free as soon
//! as the operation begins that leaves no entry.

use crate::dir_support::*;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use weft_bench::Checked;
use weft_blocks::directory::{DirKind, DirParams, Policy, directory};
use weft_blocks::msg::{Ask, Gives, HomeAnswer, HomeOp, ReqKind, Sys};
use weft_engine::Sim;
use weft_rtl::ir::Module;
use weft_rtl::prelude::HwEnum;
use weft_testbench::golden::moesi::fabric::{Fabric, Params};
use weft_testbench::golden::moesi::msg::{Answer, Asks, Line, Msg, Node, Packet, SliceOp};
use weft_testbench::golden::moesi::races::Tally;
use weft_testbench::golden::moesi::slice::{Pending, Slice};

/// Lines of a set that the runs use.
pub const LINES: u8 = 8;

/// A slice with the sizes of a small system; more by record update.
pub fn small(gpus: u32, gpms: u32, home: u32) -> DirParams {
    let sys = Sys {
        gpus,
        gpms,
        addr_bits: 48,
        line: 128,
        banks: 1,
        l1s: 4,
        l2_mshrs: 64,
        l1_mshrs: 4,
        il: 4096,
        home_shift: 33,
        owners: true,
    };
    let (entries, ways, evb_depth, pending) = (4, 2, 4, 4);
    let policy = Policy::Lru;
    DirParams {
        entries,
        ways,
        policy,
        evb_depth,
        pending,
        ..DirParams::published(DirKind::MOESI, &sys, home)
    }
}

/// A counter among the observers, and what it has counted.
pub(super) struct Counter(usize, u64);

impl Counter {
    fn new(sim: &Sim, name: &str) -> Counter {
        Counter(sim.probes().position(|p| p.name == name).expect("a counter"), 0)
    }

    pub(super) fn moved(&mut self, sim: &Sim) -> bool {
        let count = sim.probes().nth(self.0).expect("found before").count;
        let before = std::mem::replace(&mut self.1, count);
        assert!(count - before <= 1);
        count > before
    }
}

/// An operation on its way through the slice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entered {
    pub(super) set: usize,
    pub(super) op: SliceOp,
    pub(super) id: u64,
    /// Transaction number of the requester in its bank.
    pub(super) mshr: u64,
}

/// An INV message that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub dest: u64,
    pub ask: Ask,
    pub evicts: bool,
    /// Requester and its transaction number, of a forward.
    pub requester: Option<(u64, u64)>,
    pub msg: Msg,
}

/// The lines of a set.
pub struct Set {
    pub(super) number: u64,
    pub p: Params,
    /// Numbers of the lines in the hardware.
    pub lines: Vec<u64>,
    pub slice: Slice,
    pub(super) f: Fabric,
    pub tally: Tally,
    pub(super) ways: Vec<Option<Line>>,
    /// Ages of the ways, 0 the youngest.
    pub(super) ages: Vec<u32>,
    /// Numbers of the operation and of the requester's transaction, by line and requester.
    pub(super) numbers: BTreeMap<(Line, Node), (u64, u64)>,
    pub(super) invs: BTreeMap<Line, Told>,
}

/// A row of the pending table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub set: usize,
    pub line: Line,
    /// Of an operation whose line has no entry.
    pub idle: bool,
}

/// What a cycle brings.
#[derive(Clone, Copy, Default)]
pub struct Cycle {
    pub rsp: bool,
    pub inv: bool,
    /// An Ack or a Done of another node.
    pub ack: Option<(usize, Packet)>,
    /// Of the own bank: set, line, and whether memory is written.
    pub done: Option<(usize, Line, bool)>,
}

/// What leaves in a cycle.
pub struct Seen {
    pub answer: Option<(usize, SliceOp, Answer)>,
    pub packets: Vec<(usize, Packet)>,
}

pub struct Bench {
    pub p: DirParams,
    /// Number in the hardware of each node of the golden model.
    pub nodes: Vec<u32>,
    pub sim: Checked,
    pub req: Sender,
    ack: Sender,
    done: Sender,
    rsp: Receiver,
    inv: Receiver,
    pub(super) ops: Counter,
    pub(super) queued: Counter,
    pub(super) retried: Counter,
    pub(super) replaced: Counter,
    pub sets: Vec<Set>,
    current: Option<Entered>,
    pub(super) taken: VecDeque<Entered>,
    pub(super) waiting: VecDeque<Entered>,
    pub(super) rows: Vec<Option<Row>>,
    pub(super) started: Option<Row>,
    /// Last Acks of replaced entries without owner: the row ends when the slice comes to it.
    pub(super) ending: Vec<(usize, Line)>,
    pub(super) answers: BTreeMap<u64, (usize, SliceOp, Answer)>,
    pub(super) ids: VecDeque<u64>,
    /// Operations that were answered.
    pub answered: u64,
}

const OPS: [(Asks, HomeOp); 5] = [
    (Asks::GetS, HomeOp::GetS),
    (Asks::GetM, HomeOp::GetM),
    (Asks::Put, HomeOp::Put),
    (Asks::ReadHome, HomeOp::ReadHome),
    (Asks::OwnHome, HomeOp::OwnHome),
];

pub(super) const ANSWERS: [(Answer, HomeAnswer); 6] = [
    (Answer::Alone, HomeAnswer::Alone),
    (Answer::Home, HomeAnswer::Home),
    (Answer::Keep, HomeAnswer::Keep),
    (Answer::Forwarded, HomeAnswer::Forwarded),
    (Answer::Taken, HomeAnswer::Taken),
    (Answer::Stale, HomeAnswer::Stale),
];

impl Set {
    fn new(p: &DirParams, bank: u32, number: u64, nodes: &[u32]) -> Set {
        let home = nodes.iter().position(|node| *node == p.home).expect("a node") as Node;
        let golden = Params {
            homes_of: [home; 8],
            entries: usize::from(LINES),
            pending: p.pending as usize,
            queue: 8,
            mshrs: 8,
            writebacks: 3,
            homes: 8,
            ..Params::tiny(nodes.len() as u8, LINES)
        };
        let at = |nth: u64| {
            let (block, il) = (number + u64::from(p.sets()) * nth, u64::from(p.sys.il / p.sys.line));
            let line = block / il * il * u64::from(p.sys.banks) + u64::from(bank) * il + block % il;
            line | u64::from(p.home) << (p.sys.home_shift - p.sys.line.ilog2())
        };
        // The number of the home is part of the address, and moves the sets if their number is odd.
        let moved = number + (u64::from(p.home) << (p.sys.home_shift - (p.sys.line * p.sys.banks).ilog2()));
        let low = p.sets().trailing_zeros();
        let high = (moved >> low) % u64::from(p.sets() >> low);
        Set {
            number: (high << low) | (number % (1 << low)),
            lines: (0..u64::from(LINES)).map(at).collect(),
            slice: Slice::new(&golden),
            f: Fabric::new(&golden),
            tally: Tally::default(),
            ways: vec![None; p.ways as usize],
            ages: (0..p.ways).collect(),
            numbers: BTreeMap::new(),
            invs: BTreeMap::new(),
            p: golden,
        }
    }

    pub(super) fn row(&self, line: Line) -> Option<Pending> {
        self.slice.rows[usize::from(line)]
    }

    /// Age 0 for `way`; ages below its old age grow by one.
    fn make_youngest(&mut self, way: usize) {
        let old = self.ages[way];
        self.ages.iter_mut().filter(|age| **age < old).for_each(|age| *age += 1);
        self.ages[way] = 0;
    }

    /// Moves ways and ages for an operation that is performed.
    pub(super) fn use_way(&mut self, op: SliceOp, lru: bool) {
        let entry = self.slice.entries[usize::from(op.line)];
        let hit = self.ways.iter().position(|way| *way == Some(op.line));
        assert_eq!(hit.is_some(), entry.is_some(), "{op:?}: the entry is where the line is");
        let Some(way) = hit else {
            if matches!(op.asks, Asks::GetS | Asks::GetM) {
                let way = self.ways.iter().position(Option::is_none);
                let way = way.unwrap_or_else(|| panic!("{op:?} is performed, and no way is free"));
                self.ways[way] = Some(op.line);
                self.make_youngest(way);
            }
            return;
        };
        let leaves = |owner: Option<Node>, sharers: u8| owner == Some(op.src) && sharers == 0;
        match op.asks {
            Asks::GetS | Asks::GetM | Asks::ReadHome if lru => self.make_youngest(way),
            Asks::OwnHome => self.ways[way] = None,
            Asks::Put if entry.is_some_and(|entry| leaves(entry.owner, entry.sharers)) => {
                self.ways[way] = None;
            }
            _ => {}
        }
    }
}

impl Bench {
    pub fn new(p: &DirParams, bank: u32, sets: u32) -> Bench {
        Bench::on(p, bank, sets, &directory(p).unwrap())
    }

    pub fn on(p: &DirParams, bank: u32, sets: u32, module: &Arc<Module>) -> Bench {
        let sim = sim(module);
        let nodes = p.sys.all_nodes();
        Bench {
            req: Sender::new(
                &sim,
                "req",
                &["op", "src", "line", "id", "owner_op", "owner_id", "owner_alone"],
            ),
            ack: Sender::new(&sim, "ack", &["kind", "dst", "data", "owner_gives"]),
            done: Sender::new(&sim, "done", &["line", "written"]),
            rsp: Receiver::new(&sim, "rsp", &["id", "evicted", "empty", "owner_answer"]),
            inv: Receiver::new(
                &sim,
                "inv",
                &["line", "dest", "cause", "grp", "owner_ask", "owner_requester", "owner_id"],
            ),
            ops: Counter::new(&sim, "ops"),
            queued: Counter::new(&sim, "queued_ops"),
            retried: Counter::new(&sim, "retried_ops"),
            replaced: Counter::new(&sim, "evictions"),
            sets: (0..sets).map(|number| Set::new(p, bank, u64::from(number), &nodes)).collect(),
            current: None,
            taken: VecDeque::new(),
            waiting: VecDeque::new(),
            rows: vec![None; p.pending as usize],
            started: None,
            ending: Vec::new(),
            answers: BTreeMap::new(),
            ids: (0..u64::from(p.sys.l2_mshrs)).collect(),
            answered: 0,
            nodes,
            p: p.clone(),
            sim,
        }
    }

    /// Offers an operation on `req`.
    pub fn offer(&mut self, set: usize, op: SliceOp, mshr: u64) {
        let id = self.ids.pop_front().expect("a number is free");
        let code = OPS.iter().find(|(asks, _)| *asks == op.asks).expect("known").1.encoding();
        let (src, line) =
            (self.nodes[usize::from(op.src)].into(), self.sets[set].lines[usize::from(op.line)]);
        // The field `op` says nothing here.
        self.req.offer(&mut self.sim, &[id % 4, src, line, id, code, mshr, u64::from(op.alone)]);
        self.current = Some(Entered { set, op, id, mshr });
    }

    /// One cycle.
    pub fn cycle(&mut self, now: Cycle) -> Seen {
        if let Some((set, Packet { line, msg, .. })) = now.ack {
            let gives = if msg == Msg::Ack { Gives::Applied } else { Gives::Done };
            let line = self.sets[set].lines[usize::from(line)];
            let fields = [ReqKind::Ack.encoding(), self.p.home.into(), line, gives.encoding()];
            self.ack.offer(&mut self.sim, &fields);
        }
        if let Some((set, line, written)) = now.done {
            let line = self.sets[set].lines[usize::from(line)];
            self.done.offer(&mut self.sim, &[line, u64::from(written)]);
        }
        let rsp = self.rsp.take(&mut self.sim, now.rsp);
        let inv = self.inv.take(&mut self.sim, now.inv);
        if self.req.taken(&mut self.sim) {
            self.taken.push_back(self.current.take().expect("offered"));
        }
        let answer = rsp.map(|m| self.answer(&m));
        let packets = inv.map_or_else(Vec::new, |m| self.told(&m));
        assert_eq!(self.ack.taken(&mut self.sim), now.ack.is_some(), "Acks and Dones are taken at once");
        assert_eq!(self.done.taken(&mut self.sim), now.done.is_some(), "so is what the own bank says");
        let again = self.peek("s1_again") == 1;
        self.sim.step();
        self.req.after(&mut self.sim);
        self.ack.after(&mut self.sim);
        self.done.after(&mut self.sim);
        self.decided(again);
        self.come(&now);
        self.compare_rows();
        assert_sound(&self.sim);
        Seen { answer, packets }
    }

    pub(super) fn peek(&self, name: &str) -> u64 {
        self.sim.peek(name).expect("a register").low_u64()
    }
}

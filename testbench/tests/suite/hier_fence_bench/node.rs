//! One node: the unit, its channels, its banks, the golden unit beside it.

use super::fault::Fault;
use crate::dir_support::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use weft_bench::Checked;
use weft_blocks::directory::hier_fence::{FenceScheme, HierFenceParams, hier_fence_unit};
use weft_blocks::msg::{SERIAL_BITS, Sys};
use weft_engine::Sim;
use weft_rtl::ir::Module;
use weft_testbench::golden::hier_fence::{Ack, HierFence, Op, Order, Owner, Scheme, Scope};
use weft_testbench::golden::order::BankOrder;
use weft_testbench::golden::planes::{Marker, Nodes};

/// `ReqKind::Fence`.
const FENCE: u64 = 3;
/// `ScopeState::Send`; `Wait` follows.
const SEND: u64 = 4;

pub const OPS: [Op; 5] = [Op::Drain, Op::Flush, Op::DropLeaf, Op::DropFar, Op::DropAll];
pub const ORDERS: [Order; 4] = [Order::DrainFar, Order::MarkGpu, Order::MarkSys, Order::DropFar];

/// A bank as a fence sees it.
pub struct Bank {
    pub cmd: Receiver,
    pub done: Sender,
    pub far_cmd: Receiver,
    pub far_done: Sender,
    pub order: Receiver,
    pub ordered: Sender,
    /// Epochs begun, towards the own GPU and towards others.
    pub epoch: u64,
    pub far_epoch: u64,
    /// Writes of each epoch that are not acknowledged.
    pub open: BTreeMap<u64, u64>,
    pub far_open: BTreeMap<u64, u64>,
    pub doing: Option<Op>,
    pub far_doing: bool,
    pub token: Option<u32>,
    pub writes: BankOrder,
    /// When each drop was last begun.
    pub dropped: BTreeMap<Op, u64>,
    /// What it may do wrong.
    pub fault: Option<Fault>,
}

impl Bank {
    fn new(sim: &Sim, b: u32) -> Bank {
        let out = |name: &str, leaf: &str| Receiver::new(sim, &format!("{name}{b}"), &[leaf]);
        let back = |name: &str, leaf: &str| Sender::new(sim, &format!("{name}{b}"), &[leaf]);
        Bank {
            cmd: out("cmd", "op"),
            done: back("done", "op"),
            far_cmd: out("far_cmd", "op"),
            far_done: back("far_done", "op"),
            order: out("order", "requester"),
            ordered: back("ordered", "requester"),
            epoch: 0,
            far_epoch: 0,
            open: BTreeMap::new(),
            far_open: BTreeMap::new(),
            doing: None,
            far_doing: false,
            token: None,
            writes: BankOrder::default(),
            dropped: BTreeMap::new(),
            fault: None,
        }
    }

    fn drained(open: &BTreeMap<u64, u64>, epoch: u64) -> bool {
        open.range(..epoch).all(|(_, n)| *n == 0)
    }

    /// Answers what it can answer.
    fn answers(&mut self, sim: &mut Sim) {
        let early = |fault: Fault| self.fault == Some(fault);
        if let Some(op) = self.doing.filter(|_| self.done.idle())
            && (op != Op::Drain || early(Fault::DrainEarly) || Bank::drained(&self.open, self.epoch))
        {
            self.done.offer(sim, &[op as u64]);
        }
        let far_drained = early(Fault::FarDrainEarly) || Bank::drained(&self.far_open, self.far_epoch);
        if self.far_doing && self.far_done.idle() && far_drained {
            self.far_done.offer(sim, &[Op::Drain as u64]);
        }
        if let Some(token) = self.token.filter(|_| self.ordered.idle()) {
            let back = if early(Fault::TokenEarly) { Some(token) } else { self.writes.give_back() };
            if let Some(requester) = back {
                self.ordered.offer(sim, &[u64::from(requester)]);
            }
        }
    }
}

/// Scheme and size of a system.
#[derive(Clone, Copy, Debug)]
pub struct Unit {
    pub nodes: Nodes,
    pub banks: u32,
    pub scheme: Scheme,
    /// Serials of each scope.
    pub marks: u32,
    /// The fault of its fence units.
    pub early: bool,
}

impl Unit {
    pub fn module(&self, home: u32) -> Arc<Module> {
        let scheme = match self.scheme {
            Scheme::Hmg { flush } => FenceScheme::Hmg { flush },
            Scheme::Joined { flush } => FenceScheme::Joined { flush },
            Scheme::Flat { flush } => FenceScheme::Flat { flush },
            Scheme::SwHierarchical => FenceScheme::SwHierarchical,
            Scheme::Drain { flush } => FenceScheme::Drain { flush },
            Scheme::SwFlat => FenceScheme::SwFlat,
        };
        let (marks, early) = (self.marks, self.early);
        hier_fence_unit(&HierFenceParams { sys: self.sys(), home, scheme, marks, early }).unwrap()
    }

    fn sys(&self) -> Sys {
        module_sys(self.nodes.gpus, self.nodes.gpms, self.banks)
    }
}

/// A token: its scope, an acquire, a release that all nodes have.
pub type Start = (Scope, bool, bool);

/// What a request says.
#[derive(Clone, Copy)]
pub struct Asked {
    pub order: Order,
    /// What it names in its lowest bits.
    pub names: u64,
}

/// What a node sends in a cycle.
#[derive(Default)]
pub struct Sent {
    pub requests: Vec<(u32, Asked)>,
    pub responses: Vec<(u32, Ack)>,
    pub markers: Vec<Marker>,
    /// Ends of batches: scope, sequence number, acquire, tokens covered.
    pub done: Vec<(Scope, bool, usize)>,
}

/// Which outputs are taken in a cycle.
#[derive(Clone, Copy)]
pub struct Ready {
    /// Requests to the own GPU; `near` is for acknowledgements.
    pub ask: bool,
    pub near: bool,
    pub far: bool,
    pub mark: bool,
    pub bank: bool,
    pub done: bool,
}

pub struct Node {
    pub home: u32,
    pub sim: Checked,
    pub golden: HierFence,
    pub banks: Vec<Bank>,
    pub start: Sender,
    starting: Option<Start>,
    done: Receiver,
    pub req_in: Sender,
    asking: Option<(u32, Asked)>,
    pub rsp_in: Sender,
    answering: Option<(u32, Ack)>,
    pub mark_in: Sender,
    marking: Option<Marker>,
    asks: [Receiver; 2],
    answers: [Receiver; 2],
    mark_out: Receiver,
    seqs: u64,
    /// No marker was with the banks or left in the cycle before.
    unmarked: bool,
    /// The relay asked nobody in the cycle before.
    unrelayed: bool,
    node_bits: u32,
    scheme: Scheme,
    /// Messages to other GPUs: requests and acknowledgements.
    pub far_counts: [u64; 2],
    /// Messages sent: requests, acknowledgements, own markers, markers passed on.
    pub counts: [u64; 4],
}

impl Node {
    pub fn new(unit: &Unit, home: u32) -> Node {
        let sim = sim(&unit.module(home));
        let ask = ["kind", "src", "dst", "scope", "line"];
        let answer = ["kind", "src", "dst", "id", "data"];
        let mark = ["serial", "origin", "sys"];
        let token = ["seq", "scope", "acquire"];
        Node {
            golden: HierFence::new(unit.nodes, home, unit.banks, unit.scheme, unit.marks),
            banks: (0..unit.banks).map(|b| Bank::new(&sim, b)).collect(),
            start: Sender::new(&sim, "start", &token),
            starting: None,
            done: Receiver::new(&sim, "done", &token),
            req_in: Sender::new(&sim, "req_in", &ask),
            asking: None,
            rsp_in: Sender::new(&sim, "rsp_in", &answer),
            answering: None,
            mark_in: Sender::new(&sim, "mark_in", &mark),
            marking: None,
            asks: ["req_out", "far_req_out"].map(|name| Receiver::new(&sim, name, &ask)),
            answers: ["rsp_out", "far_rsp_out"].map(|name| Receiver::new(&sim, name, &answer)),
            mark_out: Receiver::new(&sim, "mark_out", &mark),
            seqs: 0,
            unmarked: true,
            unrelayed: true,
            node_bits: unit.sys().node_bits(),
            scheme: unit.scheme,
            far_counts: [0; 2],
            counts: [0; 4],
            home,
            sim,
        }
    }

    pub fn offer_token(&mut self, (scope, acquire, common): Start) {
        let code = if common { 3 } else { 1 + scope as u64 };
        self.start.offer(&mut self.sim, &[self.seqs % 256, code, u64::from(acquire)]);
        self.starting = Some((scope, acquire, common));
    }

    pub fn offer_request(&mut self, src: u32, says: Asked) {
        let leaves = [FENCE, u64::from(src), u64::from(self.home), says.order as u64, says.names];
        self.req_in.offer(&mut self.sim, &leaves);
        self.asking = Some((src, says));
    }

    pub fn offer_response(&mut self, src: u32, ack: Ack) {
        let named = u64::from(ack.gpu) << self.node_bits | u64::from(ack.origin);
        let data = named << SERIAL_BITS | u64::from(ack.serial);
        let leaves = [FENCE, u64::from(src), u64::from(self.home), ack.order as u64, data];
        self.rsp_in.offer(&mut self.sim, &leaves);
        self.answering = Some((src, ack));
    }

    pub fn offer_marker(&mut self, m: Marker) {
        self.mark_in.offer(&mut self.sim, &[u64::from(m.serial), u64::from(m.origin), u64::from(m.sys)]);
        self.marking = Some(m);
    }

    pub fn bank_answers(&mut self, b: usize) {
        self.banks[b].answers(&mut self.sim);
    }

    fn owner(&self) -> Owner {
        match self.sim.peek("cmd_owner").and_then(|v| v.to_u64()) {
            Some(0) => Owner::Own(Scope::Gpu),
            Some(1) => Owner::Own(Scope::Sys),
            _ => Owner::Drops,
        }
    }

    fn register(&self, name: &str) -> Option<u64> {
        self.sim.peek(name).and_then(|v| v.to_u64())
    }

    /// GPMs of the own GPU, a bit each in a register; none if there is no such register.
    fn gpms(&self, nodes: Nodes, name: &str) -> Vec<u32> {
        let gpu = nodes.parts(self.home).0;
        let bits = self.register(name).unwrap_or(0);
        (0..nodes.gpms).filter(|gpm| bits >> gpm & 1 == 1).map(|gpm| nodes.node(gpu, gpm)).collect()
    }

    /// Tells the golden unit of a marker that has begun in the cycle before: its scope, its serial and whom it serves are in registers.
    fn marker_begins(&mut self, nodes: Nodes) {
        let unmarked = self.register("mark_state").is_none_or(|state| state == 0);
        if self.unmarked && !unmarked {
            let scope = if self.register("mark_sys") == Some(0) { Scope::Gpu } else { Scope::Sys };
            let name = if scope == Scope::Gpu { "gpu" } else { "sys" };
            let serial = self.register(&format!("{name}_mark_serial")).unwrap_or(0) as u32;
            let register = format!("{name}_served{serial}");
            let served: BTreeSet<u32> = match scope {
                Scope::Gpu => self.gpms(nodes, &register).into_iter().collect(),
                Scope::Sys => {
                    let bits = self.register(&register).expect("a register");
                    let leader = |node: u32| self.scheme.joined() && nodes.parts(node).1 == 0;
                    let bits = if self.scheme.joined() {
                        let spread = |node: &u32| leader(*node) && bits >> nodes.parts(*node).0 & 1 == 1;
                        nodes.all().into_iter().filter(spread).map(|node| 1 << node).sum()
                    } else {
                        bits
                    };
                    nodes.all().into_iter().filter(|node| bits >> node & 1 == 1).collect()
                }
            };
            self.golden.marks().begin(scope, serial, &served).unwrap();
        }
        self.unmarked = unmarked;
    }

    /// Tells the golden unit what a leader does: whom its batch serves, how far that is, for whom the relay
    /// asks.
    fn leads(&mut self, nodes: Nodes) {
        let Some(relay) = self.register("relay_state") else { return };
        let joined = self.gpms(nodes, "joined").into_iter().collect();
        let own = self.register("joined_by_own") == Some(1);
        let sends = self.register("sys_state").is_some_and(|s| [SEND, SEND + 1].contains(&s));
        self.golden.leads(&joined, own, sends).unwrap();
        if self.unrelayed && relay == 1 {
            self.golden.relay(self.register("relay_serving").expect("a register")).unwrap();
        }
        self.unrelayed = relay == 0;
    }

    /// Outputs taken in this cycle.
    pub fn outputs(&mut self, nodes: Nodes, ready: Ready, now: u64) -> Sent {
        let mut sent = Sent::default();
        let owner = self.owner();
        let (far_served, drops_served) = (self.gpms(nodes, "far_serving"), self.gpms(nodes, "drop_serving"));
        self.marker_begins(nodes);
        self.leads(nodes);
        self.golden.marks().next_cycle();
        for (b, bank) in self.banks.iter_mut().enumerate() {
            if let Some(m) = bank.cmd.take(&mut self.sim, ready.bank) {
                let op = OPS[m[0] as usize];
                self.golden.cmd(owner, b as u32, op, &drops_served).unwrap();
                assert_eq!(bank.doing.replace(op), None, "one command at a time");
                bank.epoch += u64::from(op == Op::Drain);
                bank.dropped.insert(op, now);
            }
            if let Some(m) = bank.far_cmd.take(&mut self.sim, ready.bank) {
                assert_eq!(OPS[m[0] as usize], Op::Drain);
                self.golden.far_cmd(b as u32, &far_served).unwrap();
                assert!(!std::mem::replace(&mut bank.far_doing, true), "one far drain at a time");
                bank.far_epoch += 1;
            }
            if let Some(m) = bank.order.take(&mut self.sim, ready.bank) {
                self.golden.marks().order(b as u32, m[0] as u32).unwrap();
                bank.writes.take(m[0] as u32).unwrap();
                bank.token = Some(m[0] as u32);
            }
        }
        self.messages(nodes, [(ready.ask, ready.near), (ready.far, ready.far)], &mut sent);
        if let Some(m) = self.mark_out.take(&mut self.sim, ready.mark) {
            let marker = Marker { serial: m[0] as u32, origin: m[1] as u32, sys: m[2] == 1 };
            self.golden.marks().mark_out(marker).unwrap();
            self.counts[if marker.origin == self.home { 2 } else { 3 }] += 1;
            sent.markers.push(marker);
        }
        if let Some(m) = self.done.take(&mut self.sim, ready.done) {
            let scope = if m[1] == 1 { Scope::Gpu } else { Scope::Sys };
            let covered = self.golden.done(scope, m[0], m[2] == 1).unwrap();
            sent.done.push((scope, m[2] == 1, covered));
        }
        sent
    }

    /// Requests and acknowledgements, to the own GPU and to others.
    fn messages(&mut self, nodes: Nodes, ready: [(bool, bool); 2], sent: &mut Sent) {
        let here = nodes.parts(self.home).0;
        for (far, (ask, answer)) in ready.into_iter().enumerate() {
            let check = |m: &[u64]| {
                assert_eq!((m[0], m[1]), (FENCE, u64::from(self.home)));
                assert_eq!(nodes.parts(m[2] as u32).0 != here, far == 1, "each plane has its port");
                (m[2] as u32, ORDERS[m[3] as usize])
            };
            if let Some(m) = self.asks[far].take(&mut self.sim, ask) {
                let (dst, order) = check(&m);
                let says = Asked { order, names: m[4] };
                self.golden.req_out(dst, order, says.names).unwrap();
                sent.requests.push((dst, says));
                self.counts[0] += 1;
                self.far_counts[0] += far as u64;
            }
            if let Some(m) = self.answers[far].take(&mut self.sim, answer) {
                let (dst, order) = check(&m);
                let (serial, named) = ((m[4] % (1 << SERIAL_BITS)) as u32, m[4] >> SERIAL_BITS);
                let (origin, gpu) =
                    ((named % (1 << self.node_bits)) as u32, (named >> self.node_bits) as u32);
                let ack = Ack { order, origin, serial, gpu };
                self.golden.rsp_out(dst, ack).unwrap();
                sent.responses.push((dst, ack));
                self.counts[1] += 1;
                self.far_counts[1] += far as u64;
            }
        }
    }

    /// Inputs taken in this cycle; the token that was.
    pub fn inputs(&mut self) -> Option<Start> {
        for (b, bank) in self.banks.iter_mut().enumerate() {
            if bank.done.taken(&mut self.sim) {
                bank.doing = None;
                self.golden.cmd_done(b as u32).unwrap();
            }
            if bank.far_done.taken(&mut self.sim) {
                bank.far_doing = false;
                self.golden.far_done(b as u32).unwrap();
            }
            if bank.ordered.taken(&mut self.sim) {
                bank.token = None;
                self.golden.marks().ordered(b as u32).unwrap();
            }
        }
        if self.req_in.taken(&mut self.sim) {
            let (src, says) = self.asking.take().unwrap();
            self.golden.req_in(src, says.order, says.names).unwrap();
        }
        if self.rsp_in.taken(&mut self.sim) {
            let (src, ack) = self.answering.take().unwrap();
            self.golden.rsp_in(src, ack).unwrap();
        }
        if self.mark_in.taken(&mut self.sim) {
            self.golden.mark_in(self.marking.take().unwrap()).unwrap();
        }
        let token = self.start.taken(&mut self.sim).then(|| self.starting.take().unwrap());
        if let Some((scope, acquire, common)) = token {
            self.golden.token(scope, self.seqs % 256, acquire, common);
            self.seqs += 1;
        }
        token
    }

    pub fn step(&mut self) {
        self.sim.step();
        let banks = self.banks.iter().flat_map(|b| [&b.done, &b.far_done, &b.ordered]);
        let others = [&self.start, &self.req_in, &self.rsp_in, &self.mark_in];
        banks.chain(others).for_each(|s| s.after(&mut self.sim));
        assert_sound(&self.sim);
    }
}

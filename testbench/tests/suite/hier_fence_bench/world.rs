//! The system: writes, invalidations, markers and fence messages between the nodes, and what each fence promises.

use super::fault::Fault;
use super::mood::Mood;
use super::node::{Asked, Node, Ready, Unit};
use rand::Rng;
use rand::rngs::SmallRng;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use weft_testbench::golden::hier_fence::{Ack, Op, Scheme, Scope};
use weft_testbench::golden::planes::{Marker, Nodes};

/// How far a write is with one home.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Leg {
    /// The GPU home has not performed it.
    Waiting,
    Travelling,
    /// Its data may be read; the directory has not answered.
    Performed,
    /// Its invalidations are in the lanes.
    Answered,
    Acknowledged,
}

/// A write at one of its homes.
struct Visit {
    from: u32,
    home: u32,
    leg: Leg,
    /// Epoch in the sending bank.
    epoch: u64,
    invs: Vec<usize>,
}

struct Write {
    by: u32,
    bank: usize,
    /// At the GPU home, and at the system home if that is another node.
    visits: Vec<Visit>,
}

/// An invalidation from a home to a sharer, and those that the sharer has passed on.
struct Inv {
    far: bool,
    passed_on: bool,
    applied: bool,
    children: Vec<usize>,
}

enum Item {
    Inv(usize),
    Marker(Marker),
}

/// What a fence must have achieved at its end.
struct Promise {
    time: u64,
    writes: Vec<usize>,
    /// Of a release that all nodes have.
    common: bool,
}

#[derive(Clone, Copy)]
struct Flight<T> {
    src: u32,
    dst: u32,
    says: T,
}

pub struct World {
    pub unit: Unit,
    pub nodes: Vec<Node>,
    numbers: Nodes,
    writes: Vec<Write>,
    active: Vec<usize>,
    invs: Vec<Inv>,
    lanes: BTreeMap<(u32, u32), VecDeque<Item>>,
    applying: BTreeMap<(u32, u32), Vec<usize>>,
    /// Markers at a node's ingress, by link.
    announced: BTreeMap<u32, [VecDeque<Marker>; 2]>,
    requests: Vec<Flight<Asked>>,
    /// Nodes that have not been given the present release of all, and those where it has not ended.
    common_starts: BTreeSet<u32>,
    common_ends: u64,
    responses: Vec<Flight<Ack>>,
    promises: BTreeMap<(u32, Scope, bool), VecDeque<Promise>>,
    pub now: u64,
    /// Tokens taken, and those covered by reports, by scope.
    pub started: [u64; 2],
    pub ended: [u64; 2],
    /// Writes that some promise named.
    pub promised: u64,
    /// How likely a node is a sharer.
    pub share: f64,
    pub(super) fault: Option<Fault>,
    /// Acknowledgements of homes to requesters that a fault has made up.
    pub(super) premature: BTreeSet<(u32, u32, Ack)>,
}

impl World {
    pub fn new(unit: Unit) -> World {
        let all = unit.nodes.all();
        World {
            nodes: all.iter().map(|home| Node::new(&unit, *home)).collect(),
            numbers: unit.nodes,
            writes: Vec::new(),
            active: Vec::new(),
            invs: Vec::new(),
            lanes: BTreeMap::new(),
            applying: BTreeMap::new(),
            announced: all.iter().map(|n| (*n, Default::default())).collect(),
            requests: Vec::new(),
            common_starts: BTreeSet::new(),
            common_ends: 0,
            responses: Vec::new(),
            promises: BTreeMap::new(),
            now: 0,
            started: [0; 2],
            ended: [0; 2],
            promised: 0,
            share: 0.4,
            fault: None,
            premature: BTreeSet::new(),
            unit,
        }
    }

    pub(super) fn at(&self, node: u32) -> usize {
        self.nodes.iter().position(|n| n.home == node).expect("a node")
    }

    pub(super) fn crosses(&self, a: u32, b: u32) -> bool {
        self.numbers.parts(a).0 != self.numbers.parts(b).0
    }

    /// Requests go to their lines' homes directly.
    fn flat(&self) -> bool {
        matches!(self.unit.scheme, Scheme::SwFlat | Scheme::Flat { .. } | Scheme::Drain { .. })
    }

    /// Nodes that a home reaches directly, beside the GPMs of its GPU.
    fn reach(&self, home: u32) -> Vec<u32> {
        let all = if self.flat() { self.numbers.all() } else { self.numbers.far(home) };
        all.into_iter().filter(|node| self.crosses(home, *node)).collect()
    }

    /// A GPM's store to a line of system home `sh`.
    pub fn write(&mut self, by: u32, bank: usize, sh: u32) {
        let gh = if self.flat() {
            sh
        } else {
            self.numbers.node(self.numbers.parts(by).0, self.numbers.parts(sh).1)
        };
        let at = self.at(by);
        let epoch = self.nodes[at].banks[bank].epoch;
        *self.nodes[at].banks[bank].open.entry(epoch).or_default() += 1;
        let visit = |from, home, leg, epoch| Visit { from, home, leg, epoch, invs: Vec::new() };
        let mut visits = vec![visit(by, gh, Leg::Travelling, epoch)];
        if gh != sh {
            visits.push(visit(gh, sh, Leg::Waiting, 0));
        }
        self.active.push(self.writes.len());
        self.writes.push(Write { by, bank, visits });
    }

    /// A random subset of `sharers` gets an invalidation; their numbers.
    fn invalidate(&mut self, home: u32, sharers: &[u32], rng: &mut SmallRng) -> Vec<usize> {
        let mut numbers = Vec::new();
        for sharer in sharers {
            if rng.random_bool(self.share) {
                numbers.push(self.invs.len());
                let far = self.crosses(home, *sharer);
                self.lanes.entry((home, *sharer)).or_default().push_back(Item::Inv(self.invs.len()));
                self.invs.push(Inv { far, passed_on: false, applied: false, children: Vec::new() });
            }
        }
        numbers
    }

    fn move_write(&mut self, w: usize, visit: usize, blocked: bool, rng: &mut SmallRng) {
        let Visit { from, home, leg, epoch, .. } = self.writes[w].visits[visit];
        let (bank, crosses) = (self.writes[w].bank, self.crosses(from, home));
        let op = 2 * w as u64 + visit as u64;
        let at = self.at(home);
        let next = match leg {
            Leg::Travelling if !(crosses && blocked) => {
                self.nodes[at].banks[bank].writes.write(op);
                if visit == 0 && self.writes[w].visits.len() == 2 {
                    let far_epoch = self.nodes[at].banks[bank].far_epoch;
                    *self.nodes[at].banks[bank].far_open.entry(far_epoch).or_default() += 1;
                    let second = &mut self.writes[w].visits[1];
                    (second.leg, second.epoch) = (Leg::Travelling, far_epoch);
                }
                Leg::Performed
            }
            Leg::Performed => {
                let mut sharers = self.numbers.near(home);
                if visit + 1 == self.writes[w].visits.len() {
                    sharers.extend(self.reach(home));
                }
                if self.unit.scheme.markers() {
                    self.writes[w].visits[visit].invs = self.invalidate(home, &sharers, rng);
                }
                self.nodes[at].banks[bank].writes.answered(op).unwrap();
                Leg::Answered
            }
            Leg::Answered if !(crosses && blocked) => {
                let sender = self.at(from);
                let bank = &mut self.nodes[sender].banks[bank];
                let open = if visit == 0 { &mut bank.open } else { &mut bank.far_open };
                *open.get_mut(&epoch).unwrap() -= 1;
                Leg::Acknowledged
            }
            leg => leg,
        };
        self.writes[w].visits[visit].leg = next;
    }

    fn inv_applied(&self, i: usize) -> bool {
        self.invs[i].applied && self.invs[i].children.iter().all(|c| self.inv_applied(*c))
    }

    /// Everything that a fence of a scope promises of a write has happened.
    fn achieved(&self, w: usize, scope: Scope) -> bool {
        let visits = &self.writes[w].visits;
        let count = if scope == Scope::Gpu { 1 } else { visits.len() };
        // Software coherence has no directories to answer.
        let least = if self.unit.scheme.markers() { Leg::Answered } else { Leg::Performed };
        visits[..count].iter().all(|v| {
            let needed = |i: &&usize| scope == Scope::Sys || !self.invs[**i].far;
            v.leg >= least && v.invs.iter().filter(needed).all(|i| self.inv_applied(*i))
        })
    }

    /// Writes that a release covers: the node's own, and those that its threads may have read at a home of the scope.
    fn covered(&self, node: u32, scope: Scope) -> Vec<usize> {
        let readable = |w: &Write| {
            let at_gpu_home = w.visits[0].leg >= Leg::Performed && !self.crosses(w.visits[0].home, node);
            let last = w.visits.last().expect("a home");
            at_gpu_home || (scope == Scope::Sys && last.leg >= Leg::Performed)
        };
        let of = |w: &&usize| self.writes[**w].by == node || readable(&self.writes[**w]);
        self.active.iter().filter(of).copied().collect()
    }

    fn check_end(&mut self, node: u32, scope: Scope, acquire: bool, tokens: usize) {
        self.ended[scope as usize] += tokens as u64;
        for _ in 0..tokens {
            let promise = self.promises.get_mut(&(node, scope, acquire)).and_then(VecDeque::pop_front);
            let promise = promise.expect("as many promises as tokens");
            self.common_ends -= u64::from(promise.common);
            if acquire {
                self.check_drops(node, scope, promise.time);
                continue;
            }
            for w in promise.writes {
                let visits = &self.writes[w].visits;
                let legs: Vec<_> = visits.iter().map(|v| (v.home, v.leg)).collect();
                assert!(
                    self.achieved(w, scope),
                    "cycle {}: a release of {scope:?} scope by node {node} ends before write {w} of node {} has \
                     taken effect: {legs:?}",
                    self.now,
                    self.writes[w].by
                );
            }
        }
    }

    /// An acquire of a software scheme has dropped what it must, after it came.
    fn check_drops(&self, node: u32, scope: Scope, time: u64) {
        let dropped = |node: u32, op: Op| {
            let banks = &self.nodes[self.at(node)].banks;
            let ok = banks.iter().all(|b| b.dropped.get(&op).is_some_and(|t| *t > time));
            assert!(ok, "node {node} has not done {op:?} since cycle {time}");
        };
        match (self.unit.scheme, scope) {
            (Scheme::Hmg { .. } | Scheme::Joined { .. } | Scheme::Flat { .. } | Scheme::Drain { .. }, _) => {}
            (Scheme::SwHierarchical, Scope::Gpu) => dropped(node, Op::DropLeaf),
            (Scheme::SwHierarchical, Scope::Sys) => {
                dropped(node, Op::DropAll);
                self.numbers.near(node).into_iter().for_each(|n| dropped(n, Op::DropFar));
            }
            (Scheme::SwFlat, _) => dropped(node, Op::DropAll),
        }
    }

    pub fn token(&mut self, node: u32, scope: Scope, acquire: bool) {
        let at = self.at(node);
        self.nodes[at].offer_token((scope, acquire, false));
    }

    /// All nodes release, as at a kernel's end.
    pub fn common_release(&mut self) {
        self.common_starts.extend(self.numbers.all());
        self.common_ends += self.common_starts.len() as u64;
    }

    fn random_start(&mut self, mood: &Mood, rng: &mut SmallRng) {
        let all = self.numbers.all();
        if self.unit.scheme.joined() && self.common_ends == 0 && rng.random_bool(mood.start / 4.0) {
            self.common_release();
        }
        for at in 0..self.nodes.len() {
            let home = self.nodes[at].home;
            let given = self.common_starts.contains(&home) && self.nodes[at].start.idle();
            if given && rng.random_bool(0.2) {
                self.common_starts.remove(&home);
                self.nodes[at].offer_token((Scope::Sys, false, true));
            }
            if self.nodes[at].start.idle() && rng.random_bool(mood.start) {
                let narrow = self.unit.scheme.gpu_scope() && rng.random();
                let scope = if narrow { Scope::Gpu } else { Scope::Sys };
                self.nodes[at].offer_token((scope, rng.random_bool(mood.acquire), false));
            }
            if self.active.len() < 40 && rng.random_bool(mood.write) {
                let bank = rng.random_range(0..self.unit.banks as usize);
                self.write(self.nodes[at].home, bank, all[rng.random_range(0..all.len())]);
            }
        }
    }

    fn coherence(&mut self, mood: &Mood, rng: &mut SmallRng) {
        for w in self.active.clone() {
            for visit in 0..self.writes[w].visits.len() {
                if rng.random_bool(mood.write_moves) {
                    self.move_write(w, visit, mood.far_blocked, rng);
                }
            }
        }
        let lanes: Vec<(u32, u32)> = self.lanes.keys().copied().collect();
        for (src, dst) in lanes {
            let far = self.crosses(src, dst);
            let busy = self.applying.get(&(src, dst)).is_some_and(|a| !a.is_empty());
            if busy && rng.random_bool(mood.apply) {
                let waiting = self.applying.get_mut(&(src, dst)).expect("known");
                let inv = waiting.swap_remove(rng.random_range(0..waiting.len()));
                if far && !self.flat() {
                    let children = self.invalidate(dst, &self.numbers.near(dst), rng);
                    children.iter().for_each(|child| self.invs[*child].passed_on = true);
                    self.invs[inv].children = children;
                }
                self.invs[inv].applied = true;
            }
            if far && mood.far_blocked || !rng.random_bool(mood.lane) {
                continue;
            }
            let (early, overtakes) = (self.suffers(Fault::MarkerEarly), self.suffers(Fault::MarkerOvertakes));
            let lane = self.lanes.get_mut(&(src, dst)).expect("known");
            let marker = |item: &Item| matches!(item, Item::Marker(_));
            let first = if overtakes { lane.iter().position(marker).unwrap_or(0) } else { 0 };
            match lane.get(first) {
                Some(Item::Inv(i)) if mood.held && self.invs[*i].passed_on => {}
                Some(Item::Inv(i)) => {
                    self.applying.entry((src, dst)).or_default().push(*i);
                    lane.remove(first);
                }
                // A marker waits until what came before it is applied.
                Some(Item::Marker(m)) if !busy || early => {
                    self.announced.get_mut(&dst).expect("a node")[usize::from(far)].push_back(*m);
                    lane.remove(first);
                }
                _ => {}
            }
        }
        let done = |w: &usize| {
            let acknowledged = self.writes[*w].visits.iter().all(|v| v.leg == Leg::Acknowledged);
            acknowledged && self.achieved(*w, Scope::Sys)
        };
        let active = self.active.iter().copied().filter(|w| !done(w)).collect();
        self.active = active;
    }

    /// One of the messages that may reach `home` now.
    fn arrival<T>(&self, list: &[Flight<T>], home: u32, mood: &Mood, rng: &mut SmallRng) -> Option<usize> {
        let moves = |f: &Flight<T>| !(mood.far_blocked && self.crosses(f.src, home));
        let here: Vec<usize> = (0..list.len()).filter(|i| list[*i].dst == home && moves(&list[*i])).collect();
        (!here.is_empty() && rng.random_bool(mood.net)).then(|| here[rng.random_range(0..here.len())])
    }

    /// Fence messages and markers reach their nodes in any order.
    fn network(&mut self, mood: &Mood, rng: &mut SmallRng) {
        for at in 0..self.nodes.len() {
            let home = self.nodes[at].home;
            if self.nodes[at].req_in.idle()
                && let Some(f) = self.arrival(&self.requests, home, mood, rng)
            {
                let f = self.requests.swap_remove(f);
                self.nodes[at].offer_request(f.src, f.says);
            }
            if self.nodes[at].rsp_in.idle()
                && let Some(f) = self.arrival(&self.responses, home, mood, rng)
            {
                let f = self.responses.swap_remove(f);
                self.nodes[at].offer_response(f.src, f.says);
            }
            let queues = self.announced.get_mut(&home).expect("a node");
            if self.nodes[at].mark_in.idle() && rng.random_bool(mood.net) {
                let first = rng.random_range(0..2);
                if let Some(m) = queues[first].pop_front().or_else(|| queues[1 - first].pop_front()) {
                    self.nodes[at].offer_marker(m);
                }
            }
        }
    }

    fn spread(&mut self, from: u32, m: Marker) {
        let mut to = self.numbers.near(from);
        if m.origin == from && m.sys {
            to.extend(self.reach(from));
        }
        for (src, says) in self.made_up(from, m) {
            self.responses.push(Flight { src, dst: from, says });
        }
        for node in to {
            self.lanes.entry((from, node)).or_default().push_back(Item::Marker(m));
        }
    }

    pub fn cycle(&mut self, mood: &Mood, rng: &mut SmallRng) {
        self.random_start(mood, rng);
        self.coherence(mood, rng);
        self.network(mood, rng);
        for at in 0..self.nodes.len() {
            for b in 0..self.unit.banks as usize {
                if rng.random_bool(mood.bank) {
                    self.nodes[at].bank_answers(b);
                }
            }
            let mut open = || rng.random_bool(mood.ready);
            let far = open() && !mood.far_blocked;
            let near = open();
            let ask = near && mood.mute != Some(self.nodes[at].home);
            let ready = Ready { ask, near, far, mark: open(), bank: open(), done: open() && !mood.untold };
            let src = self.nodes[at].home;
            let sent = self.nodes[at].outputs(self.numbers, ready, self.now);
            self.requests.extend(sent.requests.into_iter().map(|(dst, says)| Flight { src, dst, says }));
            for (dst, ack) in sent.responses {
                let arrives = self.carried(src, dst, ack, rng).into_iter();
                self.responses.extend(arrives.map(|(dst, says)| Flight { src, dst, says }));
            }
            sent.markers.into_iter().for_each(|m| self.spread(src, m));
            for (scope, acquire, tokens) in sent.done {
                self.check_end(src, scope, acquire, tokens);
            }
        }
        for at in 0..self.nodes.len() {
            if let Some((scope, acquire, common)) = self.nodes[at].inputs() {
                let home = self.nodes[at].home;
                let writes = if acquire { Vec::new() } else { self.covered(home, scope) };
                self.started[scope as usize] += 1;
                self.promised += writes.len() as u64;
                let promise = Promise { time: self.now, writes, common };
                self.promises.entry((home, scope, acquire)).or_default().push_back(promise);
            }
            self.nodes[at].step();
        }
        self.now += 1;
    }

    pub fn cycles(&mut self, count: u32, mood: &Mood, rng: &mut SmallRng) {
        (0..count).for_each(|_| self.cycle(mood, rng));
    }

    /// Nothing is on its way and every unit is idle.
    pub fn assert_idle(&self) {
        assert!(self.active.is_empty() && self.requests.is_empty() && self.responses.is_empty());
        assert!(self.lanes.values().all(VecDeque::is_empty), "lanes are empty");
        assert_eq!(self.started, self.ended, "every token is covered");
        for node in &self.nodes {
            assert!(node.golden.idle(), "node {}: {:?}", node.home, node.golden);
        }
    }

    /// Fences of a scope that all nodes have reported.
    pub fn fences(&self, scope: Scope) -> u64 {
        self.nodes.iter().map(|n| n.golden.fences[scope as usize]).sum()
    }

    /// Messages to other GPUs of all nodes: requests and acknowledgements.
    pub fn far_counts(&self) -> [u64; 2] {
        [0, 1].map(|i| self.nodes.iter().map(|n| n.far_counts[i]).sum())
    }

    /// Messages of all nodes: requests, acknowledgements, own markers, markers passed on.
    pub fn counts(&self) -> [u64; 4] {
        let sum = |i: usize| self.nodes.iter().map(|n| n.counts[i]).sum();
        [sum(0), sum(1), sum(2), sum(3)]
    }
}

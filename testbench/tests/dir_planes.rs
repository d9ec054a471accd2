//! INV egress and ingress of hierarchical fabrics against the golden ones: two planes under random traffic, and what goes on inside a GPU while nothing
//! moves between GPUs.

mod dir_support;

use dir_support::*;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use weft_blocks::directory::egress::{EgressParams, FarReach, inv_egress};
use weft_blocks::directory::ingress::{IngressParams, RECV_LIMIT, inv_ingress};
use weft_engine::Sim;
use weft_testbench::golden::planes::{Channel, Marker, Message, Nodes, PlaneEgress, PlaneIngress};
use weft_testbench::golden::{Inv, InvCause, only};

const LINK_LEAVES: [&str; 7] = ["kind", "src", "dst", "line", "cause", "grp", "requester"];
const MARK_LEAVES: [&str; 3] = ["requester", "origin", "sys"];

use FarReach::{All, SameGpm};

/// GPUs, GPMs, home, channels of slices, banks, which nodes of other GPUs link 1 reaches.
type Set = (u32, u32, u32, u32, u32, FarReach);

const SETS: [Set; 10] = [
    (2, 2, 0, 2, 1, SameGpm),
    (3, 3, 5, 3, 2, SameGpm),
    (4, 4, 9, 4, 4, SameGpm),
    (1, 4, 2, 2, 2, SameGpm),
    (4, 1, 2, 2, 2, SameGpm),
    (2, 8, 11, 2, 2, SameGpm),
    (16, 4, 37, 2, 1, SameGpm),
    (2, 2, 3, 2, 1, All),
    (3, 3, 5, 3, 2, All),
    (4, 4, 9, 2, 2, All),
];

/// Nodes of other GPUs that `node` reaches, and that reach it.
fn across(nodes: Nodes, node: u32, far: FarReach) -> Vec<u32> {
    let other_gpu = |other: &u32| nodes.parts(*other).0 != nodes.parts(node).0;
    let all = if far == All { nodes.all() } else { nodes.far(node) };
    all.into_iter().filter(other_gpu).collect()
}

fn cause_of(bit: u64) -> InvCause {
    if bit == 0 { InvCause::Write } else { InvCause::Evict }
}

fn leaves(m: Marker) -> [u64; 3] {
    [u64::from(m.requester), u64::from(m.origin), u64::from(m.sys)]
}

struct Egress {
    nodes: Nodes,
    home: u32,
    far: FarReach,
    sim: Sim,
    /// Slices, then what banks' slices pass on.
    channels: Vec<(Channel, Sender, Option<Inv>)>,
    fence: Sender,
    marker: Option<Marker>,
    links: Vec<Receiver>,
    golden: PlaneEgress,
    next_line: u64,
    /// What has left, with its link.
    left: Vec<(usize, u32, Message)>,
}

impl Egress {
    fn new((gpus, gpms, home, slices, banks, far): Set) -> Egress {
        let sys = module_sys(gpus, gpms, banks);
        let p = EgressParams { sys, home, links: 2, slices, planes: true, far };
        let sim = sim(&inv_egress(&p).unwrap());
        let names = (0..slices as usize).map(|i| (Channel::Slice(i), format!("slice{i}")));
        let recvs = (0..banks as usize).map(|b| (Channel::Recv(b), format!("recv{b}")));
        let inv = ["line", "dest", "cause", "grp"];
        let nodes = Nodes { gpus, gpms };
        Egress {
            channels: names.chain(recvs).map(|(c, name)| (c, Sender::new(&sim, &name, &inv), None)).collect(),
            fence: Sender::new(&sim, "fence", &MARK_LEAVES),
            marker: None,
            links: (0..2).map(|k| Receiver::new(&sim, &format!("link{k}"), &LINK_LEAVES)).collect(),
            golden: PlaneEgress::new(nodes, home, far == All),
            next_line: 0,
            left: Vec::new(),
            nodes,
            far,
            home,
            sim,
        }
    }

    fn at(&self, channel: Channel) -> usize {
        self.channels.iter().position(|(c, ..)| *c == channel).unwrap()
    }

    fn idle(&self, channel: Channel) -> bool {
        self.channels[self.at(channel)].1.idle()
    }

    /// A message with a line of its own.
    fn offer(&mut self, channel: Channel, nodes: &[u32], cause: InvCause, grp: bool) {
        self.next_line += 1;
        let inv = Inv { line: self.next_line, dest: nodes.iter().map(|n| only(*n)).sum(), cause, grp };
        let at = self.at(channel);
        let (_, sender, current) = &mut self.channels[at];
        let cause = u64::from(cause == InvCause::Evict);
        sender.offer(&mut self.sim, &[inv.line, inv.dest as u64, cause, u64::from(grp)]);
        *current = Some(inv);
    }

    fn write(&mut self, channel: Channel, nodes: &[u32]) {
        self.offer(channel, nodes, InvCause::Write, false);
    }

    fn mark(&mut self, marker: Marker) {
        self.fence.offer(&mut self.sim, &leaves(marker));
        self.marker = Some(marker);
    }

    fn cycle(&mut self, ready: [bool; 2]) {
        // A marker goes behind what is taken in the same cycle.
        for (channel, sender, current) in &mut self.channels {
            if sender.taken(&mut self.sim) {
                self.golden.took(*channel, current.take().unwrap()).unwrap();
            }
        }
        if self.fence.taken(&mut self.sim) {
            self.golden.took_marker(self.marker.take().unwrap());
        }
        for (link, ready) in ready.into_iter().enumerate() {
            if let Some(m) = self.links[link].take(&mut self.sim, ready) {
                assert_eq!(m[1], u64::from(self.home), "src");
                let node = m[2] as u32;
                let message = if m[0] == 1 {
                    Message::Marker(Marker { requester: m[6] as u32, origin: m[3] as u32, sys: m[5] == 1 })
                } else {
                    let (cause, grp) = (cause_of(m[4]), m[5] == 1);
                    Message::Inv(Inv { line: m[3], dest: only(node), cause, grp })
                };
                self.golden.left(link, node, message).unwrap();
                self.left.push((link, node, message));
            }
        }
        self.sim.step();
        self.channels.iter().for_each(|(_, s, _)| s.after(&mut self.sim));
        self.fence.after(&mut self.sim);
        assert_sound(&self.sim);
    }

    fn cycles(&mut self, count: u32, ready: [bool; 2]) {
        (0..count).for_each(|_| self.cycle(ready));
    }

    /// Nodes that a channel may name.
    fn reach(&self, channel: Channel) -> Vec<u32> {
        let mut nodes = self.nodes.near(self.home);
        if matches!(channel, Channel::Slice(_)) {
            nodes.extend(across(self.nodes, self.home, self.far));
        }
        nodes
    }

    fn random_offers(&mut self, mood: &Mood, rng: &mut SmallRng) {
        for at in 0..self.channels.len() {
            let channel = self.channels[at].0;
            let reach = self.reach(channel);
            if reach.is_empty() || !self.channels[at].1.idle() || !rng.random_bool(mood.offer) {
                continue;
            }
            let few = rng.random_bool(0.5);
            let mut dest: Vec<u32> =
                reach.iter().copied().filter(|_| rng.random_bool(if few { 0.2 } else { 0.6 })).collect();
            if dest.is_empty() {
                dest.push(reach[rng.random_range(0..reach.len())]);
            }
            self.offer(channel, &dest, cause_of(rng.random_range(0..2)), rng.random_bool(0.2));
        }
        if self.fence.idle() && rng.random_bool(mood.fence) {
            let marker = self.random_marker(rng);
            if !self.golden.pending(marker) {
                self.mark(marker);
            }
        }
    }

    fn random_marker(&self, rng: &mut SmallRng) -> Marker {
        let all = self.nodes.all();
        let far = self.nodes.far(self.home);
        let requester = all[rng.random_range(0..all.len())];
        if self.far == All {
            return Marker { requester, origin: self.home, sys: true };
        }
        if !far.is_empty() && rng.random_bool(0.4) {
            return Marker { requester, origin: far[rng.random_range(0..far.len())], sys: true };
        }
        let own = self.nodes.parts(requester).0 == self.nodes.parts(self.home).0;
        Marker { requester, origin: self.home, sys: !own || rng.random_bool(0.6) }
    }
}

/// How hard everything presses; redrawn now and then.
struct Mood {
    offer: f64,
    fence: f64,
    ready: [f64; 2],
}

impl Mood {
    fn draw(rng: &mut SmallRng) -> Mood {
        let pick = |from: &[f64], rng: &mut SmallRng| from[rng.random_range(0..from.len())];
        Mood {
            offer: pick(&[0.05, 0.3, 1.0], rng),
            fence: pick(&[0.0, 0.02, 0.3], rng),
            ready: [pick(&[0.05, 0.5, 1.0], rng), pick(&[0.0, 0.0, 0.3, 1.0], rng)],
        }
    }
}

fn random_egress(set: Set, seed: u64) -> BTreeMap<String, u64> {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut bench = Egress::new(set);
    let mut mood = Mood::draw(&mut rng);
    for cycle in 0..6000u32 {
        if cycle % 150 == 0 {
            mood = Mood::draw(&mut rng);
        }
        if cycle < 4500 {
            bench.random_offers(&mood, &mut rng);
        }
        let ready = if cycle < 4500 { mood.ready.map(|r| rng.random_bool(r)) } else { [true; 2] };
        bench.cycle(ready);
    }
    assert_eq!((bench.golden.due_on(0), bench.golden.due_on(1)), (0, 0), "everything leaves");
    let markers = bench.left.iter().filter(|(.., m)| matches!(m, Message::Marker(_))).count();
    assert!(bench.left.len() > 500 && markers > 20, "{} messages, {markers} markers", bench.left.len());
    covers(&bench.sim)
}

#[test]
fn egress_keeps_order_on_both_planes_and_loses_nothing() {
    let mut hits = BTreeMap::new();
    for (i, set) in SETS.into_iter().enumerate() {
        for seed in [2 * i as u64, 2 * i as u64 + 1] {
            add(&mut hits, random_egress(set, seed), seed);
        }
    }
    publish("dir_planes_egress", &hits);
    assert_all_hit("inv-egress", &hits, &[]);
    assert!(hits.contains_key("rec.race.inv_fence_push_waits"));
}

/// Nothing moves on link 1, and every slice is held by it; what is passed on, its markers and those of GPU scope leave all the same.
#[test]
fn a_dead_link_to_other_gpus_holds_nothing_inside_the_gpu() {
    let home = 5;
    let mut bench = Egress::new((4, 4, home, 2, 2, SameGpm));
    let (near, far) = (bench.nodes.near(home), bench.nodes.far(home));
    let dead = [true, false];
    bench.cycle(dead);
    for _ in 0..40 {
        for slice in [0, 1] {
            if bench.idle(Channel::Slice(slice)) {
                bench.write(Channel::Slice(slice), &[far[slice]]);
            }
        }
        bench.cycle(dead);
    }
    assert!(!bench.idle(Channel::Slice(0)) && !bench.idle(Channel::Slice(1)), "both slices are held");
    for requester in bench.nodes.all() {
        bench.mark(Marker { requester, origin: home, sys: true });
        bench.cycles(12, dead);
        assert!(bench.fence.idle(), "a marker for both links is taken");
    }
    assert_eq!(bench.left.iter().filter(|(link, ..)| *link == 0).count(), 16 * near.len(), "its near half");
    bench.left.clear();
    let forwarded = |requester| Marker { requester, origin: far[1], sys: true };
    let own = Marker { requester: near[0], origin: home, sys: false };
    for round in 0..50 {
        assert!(bench.idle(Channel::Recv(0)) && bench.idle(Channel::Recv(1)), "INV_L waits for nothing");
        bench.write(Channel::Recv(0), &near);
        bench.write(Channel::Recv(1), &near[..1]);
        bench.cycle(dead);
        bench.mark(if round % 2 == 0 { forwarded(round % 16) } else { own });
        bench.cycles(12, dead);
        assert!(bench.fence.idle());
        assert_eq!(bench.golden.due_on(0), 0, "round {round}");
    }
    assert_eq!(bench.left.len(), 50 * (2 * near.len() + 1));
    bench.cycles(400, [true, true]);
    assert_eq!(bench.golden.due_on(1), 0, "all markers of system scope follow");
    let markers = bench.left.iter().filter(|(k, _, m)| *k == 1 && matches!(m, Message::Marker(_)));
    assert_eq!(markers.count(), 16 * far.len());
}

#[test]
fn a_forwarded_marker_stays_behind_what_was_passed_on_before_it() {
    let home = 5;
    let mut bench = Egress::new((4, 4, home, 1, 1, SameGpm));
    let (near, far) = (bench.nodes.near(home), bench.nodes.far(home));
    let stuck = [false, true];
    bench.cycle(stuck);
    // 16 fill the FIFO, one more is at the link, and the last one is held.
    for _ in 0..18 {
        assert!(bench.idle(Channel::Recv(0)));
        bench.write(Channel::Recv(0), &near[..1]);
        bench.cycle(stuck);
    }
    bench.mark(Marker { requester: 0, origin: far[0], sys: true });
    bench.cycles(10, stuck);
    assert!(bench.left.is_empty());
    bench.cycles(60, [true, true]);
    let to_first: Vec<bool> = bench
        .left
        .iter()
        .filter(|(_, node, _)| *node == near[0])
        .map(|(.., m)| matches!(m, Message::Marker(_)))
        .collect();
    assert_eq!((to_first.len(), to_first.iter().position(|m| *m)), (19, Some(18)));
    assert!(bench.left.iter().all(|(link, ..)| *link == 0), "a marker that is passed on stays in the GPU");
    assert!(covers(&bench.sim)["hmg.race.forwarded_marker_behind_recv"] > 0);
}

struct Ingress {
    nodes: Nodes,
    home: u32,
    far: FarReach,
    banks_of: (u64, u64),
    sim: Sim,
    links: Vec<Sender>,
    current: [Option<Message>; 2],
    banks: Vec<Receiver>,
    dones: Vec<Sender>,
    answering: Vec<Option<usize>>,
    fence: Receiver,
    golden: PlaneIngress,
    due: Vec<VecDeque<(u64, InvCause, bool)>>,
    /// Links of Invs that a bank has and has not applied.
    applying: Vec<Vec<usize>>,
    to_announce: [VecDeque<Marker>; 2],
    announced: Vec<Marker>,
    delivered: u64,
}

impl Ingress {
    fn new((gpus, gpms, home, _, banks, far): Set) -> Ingress {
        let sys = module_sys(gpus, gpms, banks);
        let lines = u64::from(sys.il / sys.line);
        let p = IngressParams { sys, home, links: 2, planes: true, far };
        let sim = sim(&inv_ingress(&p).unwrap());
        let bank_leaves = ["line", "cause", "grp", "link"];
        let b = banks as usize;
        Ingress {
            nodes: Nodes { gpus, gpms },
            home,
            far,
            banks_of: (lines, u64::from(banks)),
            links: (0..2).map(|k| Sender::new(&sim, &format!("link{k}"), &LINK_LEAVES)).collect(),
            current: [None; 2],
            banks: (0..b).map(|b| Receiver::new(&sim, &format!("bank{b}"), &bank_leaves)).collect(),
            dones: (0..b).map(|b| Sender::new(&sim, &format!("done{b}"), &["link"])).collect(),
            answering: vec![None; b],
            fence: Receiver::new(&sim, "fence", &MARK_LEAVES),
            golden: PlaneIngress::default(),
            due: vec![VecDeque::new(); 2 * b],
            applying: vec![Vec::new(); b],
            to_announce: Default::default(),
            announced: Vec::new(),
            delivered: 0,
            sim,
        }
    }

    fn sources(&self, link: usize) -> Vec<u32> {
        if link == 0 { self.nodes.near(self.home) } else { across(self.nodes, self.home, self.far) }
    }

    fn offer(&mut self, link: usize, source: u32, message: Message) {
        let (src, dst) = (u64::from(source), u64::from(self.home));
        let values = match message {
            Message::Inv(i) => {
                [0, src, dst, i.line, u64::from(i.cause == InvCause::Evict), u64::from(i.grp), 0]
            }
            Message::Marker(m) => {
                [1, src, dst, u64::from(m.origin), 0, u64::from(m.sys), u64::from(m.requester)]
            }
        };
        self.links[link].offer(&mut self.sim, &values);
        self.current[link] = Some(message);
    }

    fn bank_of(&self, line: u64) -> usize {
        (line / self.banks_of.0 % self.banks_of.1) as usize
    }

    fn golden_takes(&mut self) {
        for link in 0..2 {
            while let Some(message) = self.golden.take(link) {
                match message {
                    Message::Inv(i) => {
                        let at = link * self.banks.len() + self.bank_of(i.line);
                        self.due[at].push_back((i.line, i.cause, i.grp));
                    }
                    Message::Marker(m) => self.to_announce[link].push_back(m),
                }
            }
        }
    }

    fn cycle(&mut self, bank_ready: impl Fn(usize) -> bool, fence_ready: bool) {
        for bank in 0..self.banks.len() {
            let Some(m) = self.banks[bank].take(&mut self.sim, bank_ready(bank)) else { continue };
            let link = m[3] as usize;
            let due = self.due[link * self.banks.len() + bank].pop_front();
            assert_eq!(due, Some((m[0], cause_of(m[1]), m[2] == 1)), "link {link}, bank {bank}");
            self.applying[bank].push(link);
            let far = self.applying[bank].iter().filter(|l| **l == 1).count();
            // Where nothing is passed on there is no limit.
            assert!(self.far == All || far <= RECV_LIMIT as usize, "{far} Invs of link 1 with bank {bank}");
            self.delivered += 1;
        }
        if let Some(m) = self.fence.take(&mut self.sim, fence_ready) {
            let marker = Marker { requester: m[0] as u32, origin: m[1] as u32, sys: m[2] == 1 };
            let first = |queue: &VecDeque<Marker>| queue.front() == Some(&marker);
            let link = self.to_announce.iter().position(first);
            let link = link.unwrap_or_else(|| panic!("{marker:?} is announced too early"));
            self.to_announce[link].pop_front();
            self.announced.push(marker);
        }
        for bank in 0..self.dones.len() {
            if self.dones[bank].taken(&mut self.sim) {
                self.golden.applied(self.answering[bank].take().unwrap()).unwrap();
            }
        }
        for link in 0..2 {
            if self.links[link].taken(&mut self.sim) {
                self.golden.push(link, self.current[link].take().unwrap());
            }
        }
        self.golden_takes();
        self.sim.step();
        self.links.iter().chain(&self.dones).for_each(|s| s.after(&mut self.sim));
        assert_sound(&self.sim);
    }

    fn answer(&mut self, bank: usize, at: usize) {
        let link = self.applying[bank].swap_remove(at);
        self.dones[bank].offer(&mut self.sim, &[link as u64]);
        self.answering[bank] = Some(link);
    }

    fn inv(line: u64) -> Message {
        Message::Inv(Inv { line, dest: 1, cause: InvCause::Write, grp: false })
    }

    fn random_message(&self, link: usize, markers: f64, rng: &mut SmallRng) -> Option<(u32, Message)> {
        let sources = self.sources(link);
        let source = *sources.get(rng.random_range(0..sources.len().max(1)))?;
        let all = self.nodes.all();
        if rng.random_bool(markers) {
            let requester = all[rng.random_range(0..all.len())];
            // On link 0 also markers that the GPU home of another origin passes on.
            let origins = self.nodes.far(source);
            let passes = self.far == SameGpm && link == 0 && !origins.is_empty();
            let passed = passes && rng.random();
            let origin = if passed { origins[rng.random_range(0..origins.len())] } else { source };
            let sys = self.far == All || passed || rng.random();
            return Some((source, Message::Marker(Marker { requester, origin, sys })));
        }
        let cause = cause_of(rng.random_range(0..2));
        let inv = Inv { line: rng.random_range(0..64), dest: 1, cause, grp: rng.random_bool(0.2) };
        Some((source, Message::Inv(inv)))
    }
}

fn random_ingress(set: Set, seed: u64) -> BTreeMap<String, u64> {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut bench = Ingress::new(set);
    let draw = |rng: &mut SmallRng| -> [f64; 5] {
        let mut pick = |from: &[f64]| from[rng.random_range(0..from.len())];
        let rates = [pick(&[0.1, 0.6, 1.0]), pick(&[0.0, 0.1, 0.5]), pick(&[0.1, 0.5, 1.0])];
        [rates[0], rates[1], rates[2], pick(&[0.02, 0.3, 1.0]), pick(&[0.02, 0.5, 1.0])]
    };
    let mut mood = draw(&mut rng);
    for cycle in 0..6000u32 {
        if cycle % 200 == 0 {
            mood = if cycle < 4500 { draw(&mut rng) } else { [0.0, 0.0, 1.0, 1.0, 1.0] };
        }
        let [offer, markers, ready, apply, fence] = mood;
        for link in 0..2 {
            if bench.links[link].idle()
                && rng.random_bool(offer)
                && let Some((source, message)) = bench.random_message(link, markers, &mut rng)
            {
                bench.offer(link, source, message);
            }
        }
        for bank in 0..bench.banks.len() {
            let waiting = bench.applying[bank].len();
            if bench.dones[bank].idle() && waiting > 0 && rng.random_bool(apply) {
                bench.answer(bank, rng.random_range(0..waiting));
            }
        }
        let open: Vec<bool> = (0..bench.banks.len()).map(|_| rng.random_bool(ready)).collect();
        let fence = rng.random_bool(fence);
        bench.cycle(|b| open[b], fence);
    }
    let left = bench.due.iter().map(VecDeque::len).sum::<usize>();
    let waiting = bench.to_announce.iter().map(VecDeque::len).sum::<usize>();
    assert_eq!((left, waiting), (0, 0), "everything is delivered and announced");
    assert!(bench.delivered > 300 && bench.announced.len() > 50, "{} Invs", bench.delivered);
    covers(&bench.sim)
}

#[test]
fn ingress_holds_markers_per_plane_under_back_pressure() {
    let mut hits = BTreeMap::new();
    for (i, set) in SETS.into_iter().enumerate() {
        for seed in [2 * i as u64, 2 * i as u64 + 1] {
            add(&mut hits, random_ingress(set, seed), seed);
        }
    }
    publish("dir_planes_ingress", &hits);
    let flat = ["rec.race.inv_fence_waits_other_links", "rec.race.inv_fences_of_two_requesters"];
    assert_all_hit("inv-ingress", &hits, &flat);
}

#[test]
fn a_marker_waits_for_its_own_plane_only() {
    let mut bench = Ingress::new((4, 4, 5, 0, 1, SameGpm));
    let (near, far) = (bench.sources(0)[0], bench.sources(1)[0]);
    let held = Marker { requester: 1, origin: far, sys: true };
    let passes = Marker { requester: 2, origin: near, sys: true };
    let open = |bench: &mut Ingress| bench.cycle(|_| true, true);
    open(&mut bench);
    bench.offer(1, far, Ingress::inv(1));
    open(&mut bench);
    bench.offer(1, far, Message::Marker(held));
    bench.offer(0, near, Message::Marker(passes));
    (0..10).for_each(|_| open(&mut bench));
    assert_eq!(bench.announced, [passes], "the Inv of link 1 is not applied yet");
    bench.answer(0, 0);
    (0..10).for_each(|_| open(&mut bench));
    assert_eq!(bench.announced, [passes, held]);
    assert!(covers(&bench.sim)["hmg.race.marker_held_other_link_passes"] > 0);
}

/// A bank that cannot pass anything on still gets the Invs of its own GPU.
#[test]
fn invs_of_other_gpus_do_not_fill_a_bank() {
    let mut bench = Ingress::new((4, 4, 5, 0, 1, SameGpm));
    let (near, far) = (bench.sources(0)[0], bench.sources(1)[0]);
    let open = |bench: &mut Ingress| bench.cycle(|_| true, true);
    open(&mut bench);
    let mut offered = 0;
    for line in 0..60 {
        if bench.links[1].idle() {
            offered += 1;
            bench.offer(1, far, Ingress::inv(line));
        }
        open(&mut bench);
    }
    assert!(offered > u64::from(RECV_LIMIT) && bench.delivered == u64::from(RECV_LIMIT));
    let lines: BTreeSet<u64> = (100..120).collect();
    for line in &lines {
        assert!(bench.links[0].idle(), "link 0 waits for nothing");
        bench.offer(0, near, Ingress::inv(*line));
        open(&mut bench);
    }
    (0..4).for_each(|_| open(&mut bench));
    assert_eq!(bench.delivered, u64::from(RECV_LIMIT) + lines.len() as u64);
}

/// Without GPU homes nothing is passed on, so Invs of other GPUs need no limit; all of them may be with a bank.
#[test]
fn flat_directories_have_no_limit() {
    let mut bench = Ingress::new((4, 4, 5, 0, 1, All));
    let sources = bench.sources(1);
    assert_eq!(sources.len(), 12, "every node of the other GPUs");
    let open = |bench: &mut Ingress| bench.cycle(|_| true, true);
    open(&mut bench);
    for (line, source) in (0..40).zip(sources.into_iter().cycle()) {
        assert!(bench.links[1].idle());
        bench.offer(1, source, Ingress::inv(line));
        open(&mut bench);
    }
    (0..4).for_each(|_| open(&mut bench));
    assert_eq!(bench.delivered, 40);
}

/// A home of a flat directory marks every other node itself.
#[test]
fn a_marker_of_a_flat_home_reaches_every_node() {
    let home = 5;
    let mut bench = Egress::new((4, 4, home, 1, 1, All));
    bench.cycle([true; 2]);
    let others: Vec<u32> = bench.nodes.all().into_iter().filter(|node| *node != home).collect();
    bench.write(Channel::Slice(0), &others);
    bench.cycle([true; 2]);
    bench.mark(Marker { requester: 14, origin: home, sys: true });
    bench.cycles(60, [true; 2]);
    for node in &others {
        let link = usize::from(bench.nodes.parts(*node).0 != 1);
        let kinds: Vec<bool> = bench
            .left
            .iter()
            .filter(|(on, to, _)| (*on, *to) == (link, *node))
            .map(|(.., m)| matches!(m, Message::Marker(_)))
            .collect();
        assert_eq!(kinds, [false, true], "node {node}: the Inv, then the marker");
    }
    assert_eq!(bench.left.len(), 2 * others.len());
}

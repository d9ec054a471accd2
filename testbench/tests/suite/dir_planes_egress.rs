//! INV egress of hierarchical fabrics against the golden one: two planes under random traffic, and what leaves inside a GPU while nothing moves between GPUs.

use crate::dir_support;
use crate::plane_bench;

use dir_support::*;
use plane_bench::*;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use weft_bench::Checked;
use weft_blocks::directory::egress::FarReach::{self, All, SameGpm};
use weft_blocks::directory::egress::{EgressParams, inv_egress};
use weft_blocks::msg::MAX_MARKS;
use weft_testbench::golden::planes::{Channel, Marker, Message, Nodes, PlaneEgress};
use weft_testbench::golden::{Inv, InvCause, only};

fn leaves(m: Marker) -> [u64; 3] {
    [u64::from(m.serial), u64::from(m.origin), u64::from(m.sys)]
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

struct Egress {
    nodes: Nodes,
    home: u32,
    far: FarReach,
    sim: Checked,
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
                    Message::Marker(Marker { serial: m[6] as u32, origin: m[3] as u32, sys: m[5] == 1 })
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
        let far = self.nodes.far(self.home);
        let serial = rng.random_range(0..MAX_MARKS);
        if self.far == All {
            return Marker { serial, origin: self.home, sys: true };
        }
        if !far.is_empty() && rng.random_bool(0.4) {
            return Marker { serial, origin: far[rng.random_range(0..far.len())], sys: true };
        }
        Marker { serial, origin: self.home, sys: rng.random_bool(0.7) }
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
    for serial in 0..MAX_MARKS {
        bench.mark(Marker { serial, origin: home, sys: true });
        bench.cycles(12, dead);
        assert!(bench.fence.idle(), "a marker for both links is taken");
    }
    assert_eq!(bench.left.iter().filter(|(link, ..)| *link == 0).count(), 4 * near.len(), "its near half");
    bench.left.clear();
    let forwarded = |serial| Marker { serial, origin: far[1], sys: true };
    let own = Marker { serial: 2, origin: home, sys: false };
    for round in 0..50 {
        assert!(bench.idle(Channel::Recv(0)) && bench.idle(Channel::Recv(1)), "INV_L waits for nothing");
        bench.write(Channel::Recv(0), &near);
        bench.write(Channel::Recv(1), &near[..1]);
        bench.cycle(dead);
        bench.mark(if round % 2 == 0 { forwarded(round % MAX_MARKS) } else { own });
        bench.cycles(12, dead);
        assert!(bench.fence.idle());
        assert_eq!(bench.golden.due_on(0), 0, "round {round}");
    }
    assert_eq!(bench.left.len(), 50 * (2 * near.len() + 1));
    bench.cycles(400, [true, true]);
    assert_eq!(bench.golden.due_on(1), 0, "all markers of system scope follow");
    let markers = bench.left.iter().filter(|(k, _, m)| *k == 1 && matches!(m, Message::Marker(_)));
    assert_eq!(markers.count(), 4 * far.len());
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
    bench.mark(Marker { serial: 0, origin: far[0], sys: true });
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

/// A home of a flat directory marks every other node itself.
#[test]
fn a_marker_of_a_flat_home_reaches_every_node() {
    let home = 5;
    let mut bench = Egress::new((4, 4, home, 1, 1, All));
    bench.cycle([true; 2]);
    let others: Vec<u32> = bench.nodes.all().into_iter().filter(|node| *node != home).collect();
    bench.write(Channel::Slice(0), &others);
    bench.cycle([true; 2]);
    bench.mark(Marker { serial: 3, origin: home, sys: true });
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

//! The INV egress against the golden one: order, conservation and fence markers under random traffic; cycle by cycle without markers; and what
//! a full FIFO holds.

use crate::dir_support;

use dir_support::*;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use weft_bench::Checked;
use weft_blocks::directory::egress::{EgressParams, FIFO_DEPTH, FarReach, inv_egress};
use weft_testbench::golden::egress::{self, EgressCheck, InvEgress, InvMsg};
use weft_testbench::golden::{Inv, InvCause, gpus_of, only};

const LINK_LEAVES: [&str; 7] = ["kind", "src", "dst", "line", "cause", "grp", "requester"];

/// The link of a line: exclusive or of its digits of log2(links) bits rounded up, less `links` if that is no link.
fn link_of(line: u64, links: usize) -> usize {
    let bits = links.next_power_of_two().trailing_zeros();
    if bits == 0 {
        return 0;
    }
    let (mut rest, mut hash) = (line, 0);
    while rest != 0 {
        hash ^= rest as usize & ((1 << bits) - 1);
        rest >>= bits;
    }
    if hash >= links { hash - links } else { hash }
}

/// Fields of a message that left on a link.
struct Left {
    fence: bool,
    gpu: u32,
    inv: Inv,
    requester: u32,
}

struct Bench {
    p: EgressParams,
    sim: Checked,
    slices: Vec<Sender>,
    fence: Sender,
    links: Vec<Receiver>,
    current: Vec<Option<Inv>>,
    marker: u32,
    next_line: u64,
}

impl Bench {
    fn new(gpus: u32, home: u32, links: u32, slices: u32) -> Bench {
        let p = EgressParams {
            sys: small_sys(gpus, 4),
            home,
            links,
            slices,
            planes: false,
            far: FarReach::SameGpm,
        };
        let sim = sim(&inv_egress(&p).unwrap());
        let leaves = ["line", "dest", "cause", "grp"];
        Bench {
            slices: (0..slices).map(|i| Sender::new(&sim, &format!("slice{i}"), &leaves)).collect(),
            fence: Sender::new(&sim, "fence", &["requester"]),
            links: (0..links).map(|k| Receiver::new(&sim, &format!("link{k}"), &LINK_LEAVES)).collect(),
            current: vec![None; slices as usize],
            marker: 0,
            next_line: 0,
            p,
            sim,
        }
    }

    /// A line that no other message has, on a random link.
    fn fresh_line(&mut self, rng: &mut SmallRng) -> u64 {
        self.next_line += 1;
        self.next_line << 6 | rng.random_range(0..64)
    }

    /// A line that no other message has, on a given link.
    fn line_on(&mut self, link: usize) -> u64 {
        self.next_line += 1;
        let links = self.p.links as usize;
        (self.next_line << 6..).find(|l| link_of(*l, links) == link).unwrap()
    }

    fn offer(&mut self, slice: usize, inv: Inv) {
        let cause = u64::from(inv.cause == InvCause::Evict);
        let leaves = [inv.line, inv.dest as u64, cause, u64::from(inv.grp)];
        self.slices[slice].offer(&mut self.sim, &leaves);
        self.current[slice] = Some(inv);
    }

    fn offer_random(&mut self, slice: usize, rng: &mut SmallRng) {
        let all = only(self.p.sys.gpus) - 1;
        let others = all & !only(self.p.home);
        let dest = loop {
            let dest = u128::from(rng.random::<u32>()) & others;
            if dest != 0 {
                break dest;
            }
        };
        let line = self.fresh_line(rng);
        let cause = if rng.random() { InvCause::Evict } else { InvCause::Write };
        self.offer(slice, Inv { line, dest, cause, grp: rng.random_bool(0.2) });
    }

    fn write(&mut self, slice: usize, line: u64, gpus: &[u32]) {
        let dest = gpus.iter().map(|g| only(*g)).sum();
        self.offer(slice, Inv { line, dest, cause: InvCause::Write, grp: false });
    }

    fn offer_fence(&mut self, requester: u32) {
        self.fence.offer(&mut self.sim, &[u64::from(requester)]);
        self.marker = requester;
    }

    /// The messages that slices hand over in this cycle.
    fn arrivals(&mut self) -> Vec<(usize, Inv)> {
        let mut out = Vec::new();
        for (i, slice) in self.slices.iter_mut().enumerate() {
            if slice.taken(&mut self.sim) {
                out.push((i, self.current[i].take().unwrap()));
            }
        }
        out
    }

    fn departure(&mut self, link: usize, ready: bool) -> Option<Left> {
        let m = self.links[link].take(&mut self.sim, ready)?;
        assert_eq!(m[1], u64::from(self.p.home), "src");
        let (gpu, requester) = (m[2] as u32, m[6] as u32);
        let cause = if m[4] == 0 { InvCause::Write } else { InvCause::Evict };
        let inv = Inv { line: m[3], dest: only(gpu), cause, grp: m[5] == 1 };
        Some(Left { fence: m[0] == 1, gpu, inv, requester })
    }

    fn step(&mut self) {
        self.sim.step();
        self.slices.iter().for_each(|s| s.after(&mut self.sim));
        self.fence.after(&mut self.sim);
        assert_sound(&self.sim);
    }

    /// A cycle in which only the links of `ready` take something; what left, with its link.
    fn cycle(&mut self, ready: &[bool]) -> Vec<(usize, Left)> {
        self.arrivals();
        self.fence.taken(&mut self.sim);
        let links = 0..self.links.len();
        let left = links.filter_map(|k| self.departure(k, ready[k]).map(|m| (k, m))).collect();
        self.step();
        left
    }
}

/// What is due on each (destination, link): Invs by the order of their acceptance, and fence markers with the number of the first later Inv.
#[derive(Default)]
struct Lane {
    invs: BTreeSet<u64>,
    markers: VecDeque<(u32, u64)>,
}

struct Expect {
    check: EgressCheck,
    lanes: BTreeMap<(u32, usize), Lane>,
    number: BTreeMap<u64, u64>,
    accepted: u64,
    markers: u64,
}

impl Expect {
    fn new(p: &EgressParams) -> Expect {
        let others = (0..p.sys.gpus).filter(|g| *g != p.home);
        let lanes = others.flat_map(|g| (0..p.links as usize).map(move |k| ((g, k), Lane::default())));
        let lanes = lanes.collect();
        Expect { check: EgressCheck::new(), lanes, number: BTreeMap::new(), accepted: 0, markers: 0 }
    }

    fn fence(&mut self, requester: u32) {
        self.markers += 1;
        let accepted = self.accepted;
        self.lanes.values_mut().for_each(|l| l.markers.push_back((requester, accepted)));
    }

    fn offered(&mut self, slice: usize, inv: Inv, links: usize) {
        self.check.offered(slice, inv);
        for gpu in gpus_of(inv.dest) {
            self.lanes.get_mut(&(gpu, link_of(inv.line, links))).unwrap().invs.insert(self.accepted);
        }
        self.number.insert(inv.line, self.accepted);
        self.accepted += 1;
    }

    fn left(&mut self, link: usize, links: usize, m: &Left) {
        let lane = self.lanes.get_mut(&(m.gpu, link)).expect("a message is for another GPU");
        if m.fence {
            let (requester, before) = lane.markers.pop_front().expect("a marker is due");
            assert_eq!(m.requester, requester, "markers keep their order");
            assert_eq!(lane.invs.range(..before).next(), None, "a marker passed an earlier Inv");
            return;
        }
        self.check.left(m.gpu, link, m.inv, |l| link_of(l, links)).unwrap();
        assert!(lane.invs.remove(&self.number[&m.inv.line]));
    }

    fn finish(&self) {
        assert_eq!(self.check.outstanding(), 0, "unicasts lost");
        assert!(self.lanes.values().all(|l| l.markers.is_empty()), "markers lost");
    }
}

/// How hard slices, fences and links press; redrawn now and then.
struct Mood {
    offer: f64,
    fence: f64,
    ready: Vec<f64>,
}

impl Mood {
    fn draw(links: u32, rng: &mut SmallRng) -> Mood {
        let pick = |from: &[f64], rng: &mut SmallRng| from[rng.random_range(0..from.len())];
        Mood {
            offer: pick(&[0.05, 0.4, 1.0], rng),
            fence: pick(&[0.0, 0.01, 0.2], rng),
            ready: (0..links).map(|_| pick(&[0.0, 0.2, 0.6, 1.0], rng)).collect(),
        }
    }
}

fn random_run(gpus: u32, home: u32, links: u32, slices: u32, seed: u64) -> BTreeMap<String, u64> {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut bench = Bench::new(gpus, home, links, slices);
    let mut expect = Expect::new(&bench.p);
    let mut mood = Mood::draw(links, &mut rng);
    let (all, mut unicasts) = (links as usize, 0);
    for cycle in 0..6000u32 {
        let draining = cycle >= 4000;
        if cycle % 150 == 0 {
            mood = Mood::draw(links, &mut rng);
        }
        for slice in 0..slices as usize {
            if !draining && bench.slices[slice].idle() && rng.random_bool(mood.offer) {
                bench.offer_random(slice, &mut rng);
            }
        }
        if !draining && bench.fence.idle() && rng.random_bool(mood.fence) {
            bench.offer_fence(rng.random_range(0..gpus));
        }
        if bench.fence.taken(&mut bench.sim) {
            expect.fence(bench.marker);
        }
        for (slice, inv) in bench.arrivals() {
            expect.offered(slice, inv, all);
        }
        for link in 0..all {
            let ready = draining || rng.random_bool(mood.ready[link]);
            if let Some(m) = bench.departure(link, ready) {
                expect.left(link, all, &m);
                unicasts += u32::from(!m.fence);
            }
        }
        bench.step();
    }
    expect.finish();
    assert!(unicasts > 500 && expect.markers > 5, "{unicasts} unicasts, {} markers", expect.markers);
    covers(&bench.sim)
}

/// GPUs, home, links, and channels of slices: banks times lines per cycle.
fn parameter_sets() -> Vec<(u32, u32, u32, u32)> {
    let mut sets = vec![(4, 3, 3, 4), (3, 1, 6, 2), (16, 7, 1, 2)];
    for (gpus, home) in [(2, 1), (4, 0), (8, 5)] {
        for links in [1, 2] {
            for (banks, rate) in [(1, 1), (1, 2), (4, 1), (4, 2)] {
                sets.push((gpus, home, links, banks * rate));
            }
        }
    }
    sets
}

#[test]
fn keeps_order_and_loses_nothing_under_back_pressure() {
    let mut hits = BTreeMap::new();
    for (i, (gpus, home, links, slices)) in parameter_sets().into_iter().enumerate() {
        add(&mut hits, random_run(gpus, home, links, slices, i as u64), i as u64);
    }
    publish("dir_egress_random", &hits);
    let planes = entries_of_planes("inv-egress");
    assert_all_hit("inv-egress", &hits, &planes.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(hits.contains_key("rec.race.inv_fence_push_waits"));
}

/// The golden egress with the links' output registers, to be compared in every cycle.
struct Twin {
    golden: InvEgress,
    others: Vec<u32>,
    links: usize,
    waiting: BTreeMap<(u32, usize), usize>,
    /// Line of the last message of each slice.
    lines: Vec<u64>,
    turn: Vec<usize>,
    out: Vec<Option<(u32, InvMsg)>>,
}

impl Twin {
    fn new(p: &EgressParams) -> Twin {
        let links = p.links as usize;
        Twin {
            golden: InvEgress::new(p.sys.gpus, p.home, p.slices as usize, links, link_of),
            others: (0..p.sys.gpus).filter(|g| *g != p.home).collect(),
            links,
            waiting: BTreeMap::new(),
            lines: vec![0; p.slices as usize],
            turn: vec![0; links],
            out: vec![None; links],
        }
    }

    /// One cycle: what was in a FIFO may leave, and what has arrived may enter.
    fn cycle(&mut self, arrivals: &[(usize, Inv)], ready: &[bool]) {
        for (slice, inv) in arrivals {
            assert!(self.golden.offer(*slice, *inv), "a slice that holds a message is not ready");
        }
        arrivals.iter().for_each(|(slice, inv)| self.lines[*slice] = inv.line);
        let before: Vec<u128> = (0..self.lines.len()).map(|s| self.golden.remaining(s)).collect();
        let held = self.waiting.clone();
        self.golden.step();
        for (slice, wanted) in before.into_iter().enumerate() {
            for gpu in gpus_of(wanted & !self.golden.remaining(slice)) {
                *self.waiting.entry((gpu, link_of(self.lines[slice], self.links))).or_default() += 1;
            }
        }
        for (link, taken) in ready.iter().enumerate() {
            if *taken {
                self.out[link] = None;
            }
            if self.out[link].is_none() {
                self.send(link, &held);
            }
        }
    }

    /// The next FIFO in turn that held something at the beginning of the cycle.
    fn send(&mut self, link: usize, held: &BTreeMap<(u32, usize), usize>) {
        let n = self.others.len();
        let order = (0..n).map(|i| (self.turn[link] + i) % n);
        let some = |i: &usize| held.get(&(self.others[*i], link)).is_some_and(|n| *n > 0);
        let Some(at) = order.into_iter().find(some) else { return };
        let gpu = self.others[at];
        self.turn[link] = (at + 1) % n;
        *self.waiting.get_mut(&(gpu, link)).unwrap() -= 1;
        self.out[link] = Some((gpu, self.golden.pop(gpu, link).unwrap()));
    }
}

#[test]
fn equals_the_golden_egress_in_every_cycle() {
    for (i, (gpus, home, links, slices)) in parameter_sets().into_iter().enumerate() {
        let mut rng = SmallRng::seed_from_u64(500 + i as u64);
        let mut bench = Bench::new(gpus, home, links, slices);
        let mut twin = Twin::new(&bench.p);
        let mut mood = Mood::draw(links, &mut rng);
        let mut compared = 0;
        bench.step();
        for cycle in 0..3000 {
            if cycle % 100 == 0 {
                mood = Mood::draw(links, &mut rng);
            }
            for slice in 0..slices as usize {
                let name = format!("slice{slice}_left");
                let left = bench.sim.peek(&name).and_then(|v| v.to_u64()).unwrap();
                assert_eq!(left, twin.golden.remaining(slice) as u64, "{name} in cycle {cycle}");
                if bench.slices[slice].idle() && rng.random_bool(mood.offer) {
                    bench.offer_random(slice, &mut rng);
                }
            }
            let arrivals = bench.arrivals();
            let ready: Vec<bool> = mood.ready.iter().map(|r| rng.random_bool(*r)).collect();
            for (link, ready) in ready.iter().enumerate() {
                let expected = if *ready { twin.out[link] } else { None };
                let got = bench.departure(link, *ready).map(|m| (m.gpu, m.inv));
                let expected = expected.map(|(gpu, m)| match m {
                    InvMsg::Inv { inv, .. } => (gpu, inv),
                    InvMsg::Fence { .. } => unreachable!("no markers here"),
                });
                assert_eq!(got, expected, "link {link} in cycle {cycle}");
                compared += usize::from(got.is_some());
            }
            twin.cycle(&arrivals, &ready);
            bench.step();
        }
        assert!(compared > 300, "only {compared} messages");
    }
}

#[test]
fn a_full_fifo_holds_only_the_messages_that_want_it() {
    assert_eq!(FIFO_DEPTH as usize, egress::FIFO_DEPTH);
    let mut bench = Bench::new(4, 0, 2, 3);
    let stuck = [false, true];
    bench.cycle(&stuck);
    // The FIFO of GPU 1 and link 0 takes 16, and the output register of the link one more.
    for _ in 0..17 {
        assert!(bench.slices[0].idle());
        let line = bench.line_on(0);
        bench.write(0, line, &[1]);
        bench.cycle(&stuck);
    }
    let held = bench.line_on(0);
    bench.write(0, held, &[1, 2]);
    bench.cycle(&stuck);
    assert!(bench.slices[0].idle(), "the message is taken, and held for GPU 1 only");
    assert_eq!(bench.sim.peek("slice0_left").unwrap().to_u64(), Some(0b0010));
    let behind = bench.line_on(0);
    bench.write(0, behind, &[3]);
    for round in 0..20 {
        let (two, one) = (bench.line_on(0), bench.line_on(1));
        if round % 2 == 0 {
            bench.write(1, two, &[3]);
        }
        assert!(bench.slices[2].idle(), "the other link is open");
        bench.write(2, one, &[1, 2, 3]);
        bench.cycle(&stuck);
        assert!(!bench.slices[0].idle(), "its own slice waits behind it");
        assert!(bench.slices[1].idle(), "another slice and GPU is not held");
    }
    // Link 0 opens: every message leaves once, the held one to GPU 2 and, last of its FIFO, to GPU 1.
    let mut left = Vec::new();
    for _ in 0..80 {
        left.extend(bench.cycle(&[true, true]));
    }
    let of =
        |line: u64| left.iter().filter(|(_, m)| m.inv.line == line).map(|(_, m)| m.gpu).collect::<Vec<_>>();
    let mut destinations = of(held);
    destinations.sort_unstable();
    assert_eq!((destinations, of(behind)), (vec![1, 2], vec![3]), "served once each");
    let to_1: Vec<u64> =
        left.iter().filter(|(k, m)| *k == 0 && m.gpu == 1).map(|(_, m)| m.inv.line).collect();
    assert_eq!((to_1.len(), to_1.last()), (18, Some(&held)));
}

#[test]
fn a_marker_enters_every_fifo_behind_a_held_message() {
    let mut bench = Bench::new(4, 2, 2, 2);
    let stuck = [false, false];
    bench.cycle(&stuck);
    for _ in 0..18 {
        let line = bench.line_on(1);
        bench.write(1, line, &[0]);
        bench.cycle(&stuck);
    }
    assert_eq!(bench.sim.peek("slice1_left").unwrap().to_u64(), Some(1), "the last one is held");
    bench.offer_fence(3);
    for _ in 0..40 {
        assert!(bench.cycle(&[true, false]).is_empty(), "no marker before the held message is in");
    }
    assert!(bench.fence.idle());
    let mut left = Vec::new();
    for _ in 0..60 {
        left.extend(bench.cycle(&[true, true]));
    }
    let markers: BTreeSet<(usize, u32)> =
        left.iter().filter(|(_, m)| m.fence).map(|(k, m)| (*k, m.gpu)).collect();
    let count = left.iter().filter(|(_, m)| m.fence && m.requester == 3).count();
    assert_eq!(markers, [0, 1].into_iter().flat_map(|k| [0, 1, 3].map(|g| (k, g))).collect());
    assert_eq!((count, left.len()), (6, 18 + 6), "one marker per FIFO");
    let lane: Vec<bool> = left.iter().filter(|(k, m)| *k == 1 && m.gpu == 0).map(|(_, m)| m.fence).collect();
    assert_eq!(lane.iter().position(|f| *f), Some(18), "behind every Inv of its lane");
}

//! INV ingress of hierarchical fabrics against the golden one: two planes under random traffic, and what is delivered inside a GPU while nothing moves between GPUs.

use crate::dir_support;
use crate::plane_bench;

use dir_support::*;
use plane_bench::*;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use weft_bench::Checked;
use weft_blocks::directory::egress::FarReach::{self, All, SameGpm};
use weft_blocks::directory::ingress::{IngressParams, RECV_LIMIT, inv_ingress};
use weft_blocks::msg::MAX_MARKS;
use weft_testbench::golden::planes::{Marker, Message, Nodes, PlaneIngress};
use weft_testbench::golden::{Inv, InvCause};

struct Ingress {
    nodes: Nodes,
    home: u32,
    far: FarReach,
    banks_of: (u64, u64),
    sim: Checked,
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
        let p = IngressParams { sys, home, links: 2, planes: true, far, acks: false };
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
                [1, src, dst, u64::from(m.origin), 0, u64::from(m.sys), u64::from(m.serial)]
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
            let marker = Marker { serial: m[0] as u32, origin: m[1] as u32, sys: m[2] == 1 };
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
        if rng.random_bool(markers) {
            let serial = rng.random_range(0..MAX_MARKS);
            // On link 0 also markers that the GPU home of another origin passes on.
            let origins = self.nodes.far(source);
            let passes = self.far == SameGpm && link == 0 && !origins.is_empty();
            let passed = passes && rng.random();
            let origin = if passed { origins[rng.random_range(0..origins.len())] } else { source };
            let sys = self.far == All || passed || rng.random();
            return Some((source, Message::Marker(Marker { serial, origin, sys })));
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
    let elsewhere = [
        "rec.race.inv_fence_waits_other_links",
        "rec.race.inv_fences_of_two_requesters",
        "gpu_vi.race.inv_waits_for_ack",
    ];
    assert_all_hit("inv-ingress", &hits, &elsewhere);
}

#[test]
fn a_marker_waits_for_its_own_plane_only() {
    let mut bench = Ingress::new((4, 4, 5, 0, 1, SameGpm));
    let (near, far) = (bench.sources(0)[0], bench.sources(1)[0]);
    let held = Marker { serial: 1, origin: far, sys: true };
    let passes = Marker { serial: 2, origin: near, sys: true };
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

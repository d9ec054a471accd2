//! The INV ingress against the golden one: Invs in order to the banks, markers held back by earlier Invs and collected over links and sources,
//! under random traffic and back-pressure.

use crate::dir_support;

use dir_support::*;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, VecDeque};
use weft_bench::Checked;
use weft_blocks::directory::egress::FarReach;
use weft_blocks::directory::ingress::{IngressParams, inv_ingress};
use weft_testbench::golden::egress::{Delivery, InvIngress, InvMsg};
use weft_testbench::golden::{Inv, InvCause, only};

const LINK_LEAVES: [&str; 7] = ["kind", "src", "dst", "line", "cause", "grp", "requester"];

struct Bench {
    p: IngressParams,
    sim: Checked,
    links: Vec<Sender>,
    current: Vec<Option<(u32, InvMsg)>>,
    banks: Vec<Receiver>,
    dones: Vec<Sender>,
    answering: Vec<Option<(u32, usize)>>,
    fence: Receiver,
    golden: InvIngress,
    /// Invs that the golden ingress lets go, by link and bank, with their sources.
    due: Vec<Vec<VecDeque<(u32, Inv)>>>,
    /// Invs that a bank has and has not applied: source and link.
    applying: Vec<Vec<(u32, usize)>>,
    /// Complete pairs of the golden ingress whose announcement has not been seen, by requester.
    complete: Vec<u32>,
    announced: Vec<u32>,
    delivered: u64,
}

impl Bench {
    fn new(gpus: u32, home: u32, links: u32, banks: u32) -> Bench {
        let p = IngressParams {
            sys: small_sys(gpus, banks),
            home,
            links,
            planes: false,
            far: FarReach::SameGpm,
            acks: false,
        };
        let sim = sim(&inv_ingress(&p).unwrap());
        let (l, b) = (links as usize, banks as usize);
        let bank_leaves = ["line", "cause", "grp", "link"];
        Bench {
            links: (0..l).map(|k| Sender::new(&sim, &format!("link{k}"), &LINK_LEAVES)).collect(),
            current: vec![None; l],
            banks: (0..b).map(|b| Receiver::new(&sim, &format!("bank{b}"), &bank_leaves)).collect(),
            dones: (0..b).map(|b| Sender::new(&sim, &format!("done{b}"), &["link"])).collect(),
            answering: vec![None; b],
            fence: Receiver::new(&sim, "fence", &["requester"]),
            golden: InvIngress::new(gpus, l),
            due: vec![vec![VecDeque::new(); b]; l],
            applying: vec![Vec::new(); b],
            complete: vec![0; gpus as usize],
            announced: vec![0; gpus as usize],
            delivered: 0,
            p,
            sim,
        }
    }

    fn bank_of(&self, line: u64) -> usize {
        (line * u64::from(self.p.sys.line) / u64::from(self.p.sys.il) % u64::from(self.p.sys.banks)) as usize
    }

    fn offer(&mut self, link: usize, source: u32, message: InvMsg) {
        let (src, dst) = (u64::from(source), u64::from(self.p.home));
        let leaves = match message {
            InvMsg::Inv { inv, .. } => {
                let cause = u64::from(inv.cause == InvCause::Evict);
                [0, src, dst, inv.line, cause, u64::from(inv.grp), 0]
            }
            InvMsg::Fence { requester } => [1, src, dst, 0, 0, 0, u64::from(requester)],
        };
        self.links[link].offer(&mut self.sim, &leaves);
        self.current[link] = Some((source, message));
    }

    /// Lets the golden ingress take what it can.
    fn golden_takes(&mut self) {
        for source in (0..self.p.sys.gpus).filter(|g| *g != self.p.home) {
            for link in 0..self.links.len() {
                while let Some(delivery) = self.golden.take(source, link) {
                    match delivery {
                        Delivery::Inv(inv) => {
                            let bank = self.bank_of(inv.line);
                            self.due[link][bank].push_back((source, inv));
                        }
                        Delivery::Absorbed => {}
                        Delivery::Ack { requester, .. } => self.complete[requester as usize] += 1,
                    }
                }
            }
        }
    }

    /// Outputs of the cycle, which follow from earlier inputs only.
    fn outputs(&mut self, bank_ready: impl Fn(usize) -> bool, fence_ready: bool) {
        for bank in 0..self.banks.len() {
            let Some(m) = self.banks[bank].take(&mut self.sim, bank_ready(bank)) else { continue };
            let link = m[3] as usize;
            let cause = if m[1] == 0 { InvCause::Write } else { InvCause::Evict };
            let got = (m[0], cause, m[2] == 1);
            let queue = &mut self.due[link][bank];
            // The ingress keeps the order of a link over all sources, the golden one that of each source.
            let at = queue.iter().position(|(_, i)| (i.line, i.cause, i.grp) == got);
            let at = at.unwrap_or_else(|| panic!("{got:?} at bank {bank} is not due on link {link}"));
            let (source, _) = queue[at];
            assert!(!queue.range(..at).any(|(s, _)| *s == source), "an Inv overtook one of its source");
            queue.remove(at);
            self.applying[bank].push((source, link));
            self.delivered += 1;
        }
        if let Some(m) = self.fence.take(&mut self.sim, fence_ready) {
            let requester = m[0] as usize;
            assert!(
                self.complete[requester] > 0,
                "announced before all links of a source are in: {requester}"
            );
            self.complete[requester] -= 1;
            self.announced[requester] += 1;
        }
    }

    fn inputs(&mut self) {
        for bank in 0..self.dones.len() {
            if self.dones[bank].taken(&mut self.sim) {
                let (source, link) = self.answering[bank].take().unwrap();
                assert!(self.golden.applied(source, link));
            }
        }
        for link in 0..self.links.len() {
            if self.links[link].taken(&mut self.sim) {
                let (source, message) = self.current[link].take().unwrap();
                self.golden.push(source, link, message);
            }
        }
        self.golden_takes();
    }

    fn step(&mut self) {
        self.sim.step();
        self.links.iter().chain(&self.dones).for_each(|s| s.after(&mut self.sim));
        assert_sound(&self.sim);
    }

    /// A bank has applied one of its Invs.
    fn answer(&mut self, bank: usize, pick: usize) {
        let (source, link) = self.applying[bank].swap_remove(pick);
        self.dones[bank].offer(&mut self.sim, &[link as u64]);
        self.answering[bank] = Some((source, link));
    }

    fn cycle(&mut self, banks: bool, fence: bool) {
        self.outputs(|_| banks, fence);
        self.inputs();
        self.step();
    }
}

/// Messages still to be sent on one link.
#[derive(Default)]
struct Feed(VecDeque<(u32, InvMsg)>);

/// A mood of the surroundings, redrawn now and then.
struct Mood {
    offer: f64,
    start: f64,
    bank: f64,
    apply: f64,
    fence: f64,
}

impl Mood {
    fn draw(rng: &mut SmallRng) -> Mood {
        let mut pick = |from: &[f64]| from[rng.random_range(0..from.len())];
        Mood {
            offer: pick(&[0.1, 0.5, 1.0]),
            start: pick(&[0.0, 0.02, 0.3]),
            bank: pick(&[0.1, 0.5, 1.0]),
            apply: pick(&[0.02, 0.3, 1.0]),
            fence: pick(&[0.03, 0.5, 1.0]),
        }
    }
}

fn random_inv(bench: &Bench, rng: &mut SmallRng) -> Inv {
    let cause = if rng.random() { InvCause::Evict } else { InvCause::Write };
    Inv { line: rng.random_range(0..64), dest: only(bench.p.home), cause, grp: rng.random_bool(0.2) }
}

/// Fences of all requesters that may have one, each from every source on every link at some place in the feed.
fn start_fences(bench: &Bench, feeds: &mut [Feed], open: &mut [u32], mood: &Mood, rng: &mut SmallRng) {
    let sources: Vec<u32> = (0..bench.p.sys.gpus).filter(|g| *g != bench.p.home).collect();
    for requester in 0..bench.p.sys.gpus {
        let r = requester as usize;
        // A GPU has one fence in flight: its acknowledgements of this receiver come first.
        if bench.announced[r] == open[r] && rng.random_bool(mood.start) {
            open[r] += sources.len() as u32;
            for source in &sources {
                for feed in feeds.iter_mut() {
                    let at = rng.random_range(0..=feed.0.len());
                    feed.0.insert(at, (*source, InvMsg::Fence { requester }));
                }
            }
        }
    }
}

fn random_run(gpus: u32, home: u32, links: u32, banks: u32, seed: u64) -> BTreeMap<String, u64> {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut bench = Bench::new(gpus, home, links, banks);
    let mut feeds: Vec<Feed> = (0..links).map(|_| Feed::default()).collect();
    let mut open = vec![0; gpus as usize];
    let mut mood = Mood::draw(&mut rng);
    let sources: Vec<u32> = (0..gpus).filter(|g| *g != home).collect();
    for cycle in 0..7000u32 {
        let draining = cycle >= 4500;
        if cycle % 200 == 0 {
            mood = Mood::draw(&mut rng);
        }
        if draining {
            mood = Mood { offer: 1.0, start: 0.0, bank: 1.0, apply: 1.0, fence: 1.0 };
        }
        start_fences(&bench, &mut feeds, &mut open, &mood, &mut rng);
        for (link, feed) in feeds.iter_mut().enumerate() {
            let invs = feed.0.iter().filter(|(_, m)| matches!(m, InvMsg::Inv { .. })).count();
            if !draining && invs < 8 {
                let source = sources[rng.random_range(0..sources.len())];
                feed.0.push_back((source, InvMsg::Inv { inv: random_inv(&bench, &mut rng), slice: 0 }));
            }
            if bench.links[link].idle() && !feed.0.is_empty() && rng.random_bool(mood.offer) {
                let (source, message) = feed.0.pop_front().unwrap();
                bench.offer(link, source, message);
            }
        }
        for bank in 0..banks as usize {
            let waiting = bench.applying[bank].len();
            if bench.dones[bank].idle() && waiting > 0 && rng.random_bool(mood.apply) {
                bench.answer(bank, rng.random_range(0..waiting));
            }
        }
        let ready: Vec<bool> = (0..banks).map(|_| rng.random_bool(mood.bank)).collect();
        let fence = rng.random_bool(mood.fence);
        bench.outputs(|b| ready[b], fence);
        bench.inputs();
        bench.step();
    }
    assert!(feeds.iter().all(|f| f.0.is_empty()) && bench.due.iter().flatten().all(|d| d.is_empty()));
    assert_eq!(bench.announced, open, "every pair of requester and source is announced once");
    assert_eq!(bench.complete, vec![0; gpus as usize]);
    assert!(bench.delivered > 150 && open.iter().all(|n| *n > 0), "{} {open:?}", bench.delivered);
    covers(&bench.sim)
}

#[test]
fn delivers_in_order_and_holds_markers_under_back_pressure() {
    let mut hits = BTreeMap::new();
    let mut sets = vec![(4, 2, 6, 4), (3, 0, 3, 2), (16, 9, 1, 2)];
    for (gpus, home) in [(2, 0), (4, 3), (8, 1)] {
        for links in [1, 2] {
            sets.extend([(gpus, home, links, 1), (gpus, home, links, 4)]);
        }
    }
    for (i, (gpus, home, links, banks)) in sets.into_iter().enumerate() {
        for seed in [2 * i as u64, 2 * i as u64 + 1] {
            add(&mut hits, random_run(gpus, home, links, banks, seed), seed);
        }
    }
    publish("dir_ingress_random", &hits);
    let planes = entries_of_planes("inv-ingress");
    assert_all_hit("inv-ingress", &hits, &planes.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn a_marker_holds_its_link_until_the_earlier_inv_is_applied() {
    let mut bench = Bench::new(4, 0, 2, 1);
    bench.cycle(true, true);
    let inv = |line| InvMsg::Inv { inv: Inv { line, dest: 1, cause: InvCause::Write, grp: false }, slice: 0 };
    let fence = InvMsg::Fence { requester: 3 };
    for (link, message) in [(0, inv(1)), (0, fence), (0, inv(2)), (1, fence)] {
        bench.offer(link, 2, message);
        bench.cycle(true, true);
    }
    for line in 10..40 {
        assert!(bench.links[1].idle(), "the other link is open");
        bench.offer(1, 1, inv(line));
        bench.cycle(true, true);
    }
    (0..4).for_each(|_| bench.cycle(true, true));
    assert_eq!((bench.delivered, bench.announced[3]), (1 + 30, 0), "the Inv behind the marker waits too");
    let first = bench.applying[0].iter().position(|(source, _)| *source == 2).unwrap();
    bench.answer(0, first);
    (0..6).for_each(|_| bench.cycle(true, true));
    assert_eq!((bench.delivered, bench.announced[3]), (2 + 30, 1));
}

#[test]
fn markers_are_absorbed_while_none_can_be_announced() {
    let mut bench = Bench::new(4, 0, 1, 1);
    bench.cycle(true, false);
    for requester in 0..4 {
        for source in 1..4 {
            assert!(bench.links[0].idle(), "INV waits for nothing");
            bench.offer(0, source, InvMsg::Fence { requester });
            bench.cycle(true, false);
        }
    }
    bench.offer(
        0,
        1,
        InvMsg::Inv { inv: Inv { line: 7, dest: 1, cause: InvCause::Evict, grp: true }, slice: 0 },
    );
    (0..4).for_each(|_| bench.cycle(true, false));
    assert_eq!((bench.delivered, bench.announced.iter().sum::<u32>()), (1, 0));
    (0..16).for_each(|_| bench.cycle(true, true));
    assert_eq!(bench.announced, [3, 3, 3, 3]);
}

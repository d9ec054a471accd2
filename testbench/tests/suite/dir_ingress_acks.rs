//! Acknowledgements of the INV ingress (GPU-VI, hmg.md section 8): one for each Inv, to its line's home, when the bank has applied it and not before.
//!
//! Races: `gpu_vi.race.inv_waits_for_ack`.

use crate::dir_support;

use dir_support::*;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use weft_bench::Checked;
use weft_blocks::directory::egress::FarReach;
use weft_blocks::directory::ingress::{IngressParams, inv_ingress};
use weft_blocks::msg::{ReqKind, Sys};
use weft_rtl::ir::Module;
use weft_rtl::prelude::HwEnum;
use weft_testbench::fault;

struct Ingress {
    sys: Sys,
    home: u32,
    sim: Checked,
    links: Vec<Sender>,
    banks: Vec<Receiver>,
    dones: Vec<Sender>,
    ack: Receiver,
    /// Line and link of the Invs that each bank has, oldest first.
    applying: Vec<VecDeque<(u64, u64)>>,
    /// Lines applied and not acknowledged.
    owed: Vec<u64>,
    acked: u64,
}

/// How often something happens in a cycle.
struct Mood {
    offer: f64,
    bank: f64,
    done: f64,
    ack: f64,
}

fn ingress(sys: &Sys, home: u32) -> Arc<Module> {
    let p = IngressParams { sys: sys.clone(), home, links: 2, planes: true, far: FarReach::All, acks: true };
    inv_ingress(&p).unwrap()
}

impl Ingress {
    fn new(sys: &Sys, home: u32, module: &Arc<Module>) -> Ingress {
        let sim = sim(module);
        let leaves = ["kind", "src", "dst", "line", "cause", "grp", "requester"];
        let b = sys.banks;
        Ingress {
            links: (0..2).map(|k| Sender::new(&sim, &format!("link{k}"), &leaves)).collect(),
            banks: (0..b).map(|b| Receiver::new(&sim, &format!("bank{b}"), &["line", "link"])).collect(),
            dones: (0..b).map(|b| Sender::new(&sim, &format!("done{b}"), &["link"])).collect(),
            ack: Receiver::new(&sim, "ack", &["kind", "src", "dst", "bank", "data"]),
            applying: vec![VecDeque::new(); b as usize],
            owed: Vec::new(),
            acked: 0,
            sys: sys.clone(),
            home,
            sim,
        }
    }

    /// An Inv of some other node arrives on its link.
    fn offer(&mut self, rng: &mut SmallRng) -> bool {
        let others: Vec<u32> = self.sys.all_nodes().into_iter().filter(|n| *n != self.home).collect();
        let src = others[rng.random_range(0..others.len())];
        let link = usize::from(self.sys.gpu_of_node(src) != self.sys.gpu_of_node(self.home));
        if !self.links[link].idle() {
            return false;
        }
        let line = u64::from(src) << (self.sys.home_shift - self.sys.line.trailing_zeros())
            | rng.random_range(0..64u64);
        let cause = u64::from(rng.random_bool(0.5));
        let values = [0, u64::from(src), u64::from(self.home), line, cause, 1, 0];
        self.links[link].offer(&mut self.sim, &values);
        true
    }

    fn cycle(&mut self, mood: &Mood, rng: &mut SmallRng) {
        if let Some(m) = self.ack.take(&mut self.sim, rng.random_bool(mood.ack)) {
            let line = m[4];
            let at = self.owed.iter().position(|owed| *owed == line);
            self.owed
                .swap_remove(at.unwrap_or_else(|| panic!("line {line:#x} is acknowledged, but not applied")));
            let dst = line >> (self.sys.home_shift - self.sys.line.trailing_zeros());
            let bank = line / u64::from(self.sys.il / self.sys.line) % u64::from(self.sys.banks);
            let kind = ReqKind::Ack.encoding();
            assert_eq!(m[..4], [kind, u64::from(self.home), dst, bank], "line {line:#x}");
            self.acked += 1;
        }
        for bank in 0..self.banks.len() {
            if let Some(m) = self.banks[bank].take(&mut self.sim, rng.random_bool(mood.bank)) {
                self.applying[bank].push_back((m[0], m[1]));
            }
            if self.dones[bank].idle()
                && rng.random_bool(mood.done)
                && let Some((line, link)) = self.applying[bank].pop_front()
            {
                self.dones[bank].offer(&mut self.sim, &[link]);
                self.owed.push(line);
            }
        }
        for sender in self.links.iter_mut().chain(&mut self.dones) {
            sender.taken(&mut self.sim);
        }
        self.sim.step();
        for sender in self.links.iter().chain(&self.dones) {
            sender.after(&mut self.sim);
        }
        assert_sound(&self.sim);
        let here = self.applying.iter().map(VecDeque::len).max().unwrap_or(0);
        assert!(here <= 9, "{here} Invs are with a bank whose acknowledgements have eight places");
    }

    fn run(&mut self, mood: &Mood, cycles: u64, rng: &mut SmallRng) {
        let mut offered = 0;
        for _ in 0..cycles {
            if rng.random_bool(mood.offer) {
                offered += u64::from(self.offer(rng));
            }
            self.cycle(mood, rng);
        }
        let open = Mood { offer: 0.0, bank: 1.0, done: 1.0, ack: 1.0 };
        (0..400).for_each(|_| self.cycle(&open, rng));
        assert_eq!((self.acked, self.owed.len()), (offered, 0), "one acknowledgement for each Inv");
    }
}

const MOODS: [Mood; 4] = [
    Mood { offer: 1.0, bank: 1.0, done: 1.0, ack: 1.0 },
    Mood { offer: 0.9, bank: 0.9, done: 0.9, ack: 0.1 },
    Mood { offer: 0.5, bank: 0.3, done: 0.2, ack: 0.8 },
    Mood { offer: 0.9, bank: 0.9, done: 0.1, ack: 0.9 },
];

#[test]
fn every_inv_is_acknowledged_when_it_is_applied() {
    let mut hits = BTreeMap::new();
    for (seed, (gpus, gpms, home, banks)) in
        [(2, 2, 3, 1), (3, 3, 5, 2), (4, 4, 6, 4), (4, 1, 2, 1), (1, 4, 1, 2)].into_iter().enumerate()
    {
        let sys = module_sys(gpus, gpms, banks);
        for mood in &MOODS {
            let mut rng = SmallRng::seed_from_u64(seed as u64);
            let mut bench = Ingress::new(&sys, home, &ingress(&sys, home));
            bench.run(mood, 1500, &mut rng);
            add(&mut hits, covers(&bench.sim), seed as u64);
        }
    }
    publish("dir_ingress_acks", &hits);
    assert!(hits.contains_key("gpu_vi.race.inv_waits_for_ack"));
}

#[test]
fn a_broken_ingress_is_found_out() {
    let sys = module_sys(2, 2, 1);
    let sound = ingress(&sys, 3);
    let broken = [
        ("an acknowledgement is lost", fault::lost_message(&sound, "ack", 20)),
        ("Invs are delivered without a place", fault::stuck(&sound, "bank0_acks_count", 0, 100)),
        ("an Inv is forgotten", fault::stuck(&sound, "bank0_applying_count", 0, 100)),
    ];
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let unseen: Vec<&str> = broken
        .iter()
        .filter(|(_, module)| {
            let run = || Ingress::new(&sys, 3, module).run(&MOODS[1], 600, &mut SmallRng::seed_from_u64(1));
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_ok()
        })
        .map(|(what, _)| *what)
        .collect();
    std::panic::set_hook(hook);
    assert!(unseen.is_empty(), "not seen: {unseen:?}");
}

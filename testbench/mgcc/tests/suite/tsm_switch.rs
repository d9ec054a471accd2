//! `tsm-switch` against a model of its links: every message is offered in exactly the cycle that the rules say, whatever the receivers do.

use crate::links::{Covers, any_mask, any_response, bytes, delivers, shuffle};
use rand::Rng;
use rand::rngs::SmallRng;
use std::collections::VecDeque;
use weft_mgcc::choice::Coherence;
use weft_mgcc::msg::{TsmOp, UmcReq, UmcRsp};
use weft_mgcc::params::Tsm;
use weft_mgcc::switch::{SwitchParams, table, tsm_switch};
use weft_mgcc_bench::bench::{Bench, Msg, random_bits};
use weft_mgcc_bench::golden::link::Link;
use weft_rtl::prelude::*;

fn tsm(gpus: u32) -> Tsm {
    Tsm { gpus, cus: 2, banks: 2, lanes: 2, addr_bits: 32, l2_mshrs: 8, ..Tsm::default() }
}

/// Three sets: narrow links, wide ones, a single GPU without timestamps.
fn sets() -> [SwitchParams; 3] {
    let of = |gpus, link_bpc, latency, credits, coherence| SwitchParams {
        tsm: tsm(gpus),
        link_bpc,
        latency,
        credits,
        coherence,
    };
    [
        of(4, 4, 9, [3, 2], Coherence::Mgcc),
        of(2, 128, 1, [5, 6], Coherence::None),
        of(1, 32, 4, [1, 2], Coherence::Mgcc),
    ]
}

/// Bytes of a message with stamps of two bytes, if it has any.
fn stamped(m: &Msg, response: bool, coherent: bool) -> u64 {
    bytes(m, response) + u64::from(coherent) * if response { 4 } else { 2 }
}

/// A GPU's messages of one network.
struct Lane {
    input: VecDeque<(Msg, u64)>,
    /// With the cycle from which each may begin on the second link.
    buffer: VecDeque<(Msg, u64, u64)>,
    output: Option<Msg>,
    credits: u64,
    returns: VecDeque<u64>,
}

/// One network of the switch, in cycles.
struct Network {
    first: Vec<Link>,
    second: Vec<Link>,
    lanes: Vec<Lane>,
    latency: u64,
}

impl Network {
    fn new(p: &SwitchParams, response: bool) -> Network {
        let (n, own) = (p.tsm.gpus as usize, u64::from(p.link_bpc));
        let each = || (0..n).map(|_| Link::new(own)).collect();
        let all = || vec![Link::new(own * n as u64)];
        let lane = |_| Lane {
            input: VecDeque::new(),
            buffer: VecDeque::new(),
            output: None,
            credits: u64::from(p.credits[usize::from(response)]),
            returns: VecDeque::new(),
        };
        Network {
            first: if response { all() } else { each() },
            second: if response { each() } else { all() },
            lanes: (0..n).map(lane).collect(),
            latency: u64::from(p.latency),
        }
    }

    fn pass(links: &mut [Link], sizes: &[Option<u64>]) -> Vec<usize> {
        if links.len() == 1 {
            return links[0].cycle(sizes);
        }
        let of = |(g, link): (usize, &mut Link)| link.cycle(&sizes[g..=g]).first().map(|_| g);
        links.iter_mut().enumerate().filter_map(of).collect()
    }

    /// Cycle `now`; `ready`: which receivers take what is offered to them.
    fn cycle(&mut self, now: u64, ready: &[bool]) {
        for (lane, ready) in self.lanes.iter_mut().zip(ready) {
            if *ready {
                lane.output = None;
            }
            while lane.returns.front().is_some_and(|at| *at < now) {
                lane.returns.pop_front();
                lane.credits += 1;
            }
        }
        let sizes: Vec<_> =
            self.lanes.iter().map(|l| l.input.front().filter(|_| l.credits > 0).map(|m| m.1)).collect();
        let stored = Network::pass(&mut self.first, &sizes);
        let ripe = |l: &Lane| l.buffer.front().filter(|m| m.2 <= now && l.output.is_none()).map(|m| m.1);
        let sizes: Vec<_> = self.lanes.iter().map(ripe).collect();
        for g in Network::pass(&mut self.second, &sizes) {
            let lane = &mut self.lanes[g];
            lane.output = lane.buffer.pop_front().map(|m| m.0);
            lane.returns.push_back(now + self.latency);
        }
        for g in stored {
            let lane = &mut self.lanes[g];
            let (m, size) = lane.input.pop_front().expect("it was there");
            lane.buffer.push_back((m, size, now + self.latency));
            lane.credits -= 1;
        }
    }
}

fn request(t: &Tsm, rng: &mut SmallRng, gpu: u64, coherent: bool) -> Msg {
    let ops = if coherent { 4 } else { 3 };
    let mask = any_mask(rng);
    let fields = [("op", rng.random_range(0..ops)), ("src", gpu), ("amo", rng.random_range(0..11))];
    Msg::of::<UmcReq>(t, &fields).with("mask", mask).with("line", random_bits(rng, t.line_bits()))
}

fn response(t: &Tsm, rng: &mut SmallRng, gpu: u64) -> Msg {
    let fields = [&any_response(rng)[..], &[("dst", gpu)]].concat();
    Msg::of::<UmcRsp>(t, &fields)
}

struct Harness {
    p: SwitchParams,
    b: Bench,
    nets: [Network; 2],
}

const PORTS: [[&str; 2]; 2] = [["req", "umc_req"], ["umc_rsp", "rsp"]];

impl Harness {
    fn new(p: &SwitchParams, seed: u64) -> Harness {
        let mut b = Bench::new(&tsm_switch(p).expect("legal"), seed);
        for g in 0..p.tsm.gpus {
            b.source::<UmcReq>(&format!("req{g}"), &p.tsm);
            b.sink::<UmcReq>(&format!("umc_req{g}"), &p.tsm);
            b.source::<UmcRsp>(&format!("umc_rsp{g}"), &p.tsm);
            b.sink::<UmcRsp>(&format!("rsp{g}"), &p.tsm);
        }
        b.run(2);
        Harness { nets: [Network::new(p, false), Network::new(p, true)], p: p.clone(), b }
    }

    fn feed(&mut self, chance: f64) {
        let t = self.p.tsm.clone();
        for (net, port, g) in (0..2).flat_map(|net| (0..t.gpus).map(move |g| (net, PORTS[net][0], g))) {
            let name = format!("{port}{g}");
            if self.b.source_mut(&name).queue.len() < 2 && self.b.rng.random_bool(chance) {
                let m = match net {
                    0 => request(&t, &mut self.b.rng, u64::from(g), self.p.coherent()),
                    _ => response(&t, &mut self.b.rng, u64::from(g)),
                };
                self.b.send(&name, m);
            }
        }
    }

    /// A cycle of the block and of the model.
    fn step(&mut self) -> usize {
        let now = self.b.sim.cycle();
        self.b.step();
        let mut delivered = 0;
        for (net, [from, to]) in PORTS.into_iter().enumerate() {
            let n = self.p.tsm.gpus as usize;
            let mut ready = Vec::new();
            for g in 0..n {
                // What is offered in a cycle is what the model had at its begin.
                let offered = self.nets[net].lanes[g].output.as_ref();
                let (takes, came) = delivers(&mut self.b, now, &format!("{to}{g}"), offered);
                ready.push(takes);
                delivered += usize::from(came);
                if let Some(m) = self.b.taken(&format!("{from}{g}")) {
                    let size = stamped(&m, net == 1, self.p.coherent());
                    self.nets[net].lanes[g].input.push_back((m, size));
                }
            }
            self.nets[net].cycle(now, &ready);
        }
        delivered
    }

    fn run(&mut self, cycles: u64) -> usize {
        let mut delivered = 0;
        let mut chance = 1.0;
        for cycle in 0..cycles {
            if cycle % 400 == 0 {
                chance = shuffle(&mut self.b);
            }
            self.feed(chance);
            delivered += self.step();
        }
        delivered
    }
}

#[test]
fn messages_come_when_the_rules_say() {
    let mut seen = Covers::default();
    for (i, p) in sets().iter().enumerate() {
        let mut h = Harness::new(p, i as u64);
        let delivered = h.run(8_000);
        assert!(delivered > 800, "set {i}: {delivered} messages");
        seen.add(&h.b);
    }
    seen.check(table().rows().len() + 4);
}

/// Bytes that the counters show for one message of each kind, the figures of mgcc.md section 10.
#[test]
fn bytes_are_the_published_ones() {
    let counted = |coherence: Coherence| {
        let p = SwitchParams { coherence, latency: 2, ..SwitchParams::published(tsm(2)) };
        let mut h = Harness::new(&p, 1);
        let t = p.tsm.clone();
        let full = || Bv::ones(64);
        h.b.send("req0", Msg::of::<UmcReq>(&t, &[("op", 0), ("src", 0)]));
        h.b.send("req0", Msg::of::<UmcReq>(&t, &[("op", 1), ("src", 0)]).with("mask", full()));
        h.b.send("umc_rsp0", Msg::of::<UmcRsp>(&t, &[("op", 0), ("dst", 0), ("with_data", 1)]));
        h.b.send("umc_rsp0", Msg::of::<UmcRsp>(&t, &[("op", 1), ("dst", 0), ("with_data", 1)]));
        for _ in 0..200 {
            h.step();
        }
        ["req_bytes_read", "req_bytes_write", "rsp_bytes_read", "rsp_bytes_write"]
            .map(|name| h.b.counted(name))
    };
    let (without, with) = (counted(Coherence::None), counted(Coherence::Mgcc));
    assert_eq!((without, with), ([12, 76, 80, 76], [14, 78, 84, 80]));
    let growth = |i: usize| 100.0 * (with[i] - without[i]) as f64 / without[i] as f64;
    for (i, published) in [16.7, 2.63, 5.0, 5.26].into_iter().enumerate() {
        assert!((growth(i) - published).abs() < 0.05, "{} % instead of {published} %", growth(i));
    }
}

/// A read alone: ceil(14 / 4) cycles on the bank link, the latency, one on the UMC link; back 84 bytes of 16 per cycle, then 21 cycles.
#[test]
fn a_read_alone_takes_its_time() {
    let p = SwitchParams::published(Tsm { gpus: 4, ..tsm(4) });
    let mut b = Harness::new(&p, 3).b;
    b.run(1);
    b.send("req2", Msg::of::<UmcReq>(&p.tsm, &[("op", TsmOp::Rd as u64), ("src", 2)]));
    let start = b.sim.cycle();
    let (at, _) = b.wait("umc_req2");
    assert_eq!(at - start, 3 + 140 + 1, "last byte in cycle 3, the UMC link 140 later, offered in the next");
    b.send("umc_rsp2", Msg::of::<UmcRsp>(&p.tsm, &[("op", 0), ("dst", 2), ("with_data", 1)]));
    let start = b.sim.cycle();
    let (at, _) = b.wait("rsp2");
    assert_eq!(at - start, 5 + 140 + 21, "six cycles on the UMC link, 21 on the bank link");
}

#[test]
fn illegal_values_are_refused_with_key_and_range() {
    for (key, p) in [
        ("link_bpc", SwitchParams { link_bpc: 0, ..SwitchParams::published(tsm(2)) }),
        ("latency", SwitchParams { latency: 5000, ..SwitchParams::published(tsm(2)) }),
        ("credits_rsp", SwitchParams { credits: [1, 0], ..SwitchParams::published(tsm(2)) }),
    ] {
        let error = tsm_switch(&p).expect_err("illegal").to_string();
        assert!(error.contains(key) && error.contains("legal: 1.."), "{error}");
    }
}

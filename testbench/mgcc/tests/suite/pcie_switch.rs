//! `pcie-switch` against its golden model: every message is offered in exactly the cycle that the rules say, whatever the receivers do.

use crate::links::{Covers, any_mask, any_response, bytes, delivers, shuffle};
use proptest::prelude::*;
use rand::Rng;
use rand::rngs::SmallRng;
use weft_mgcc::msg::TsmOp;
use weft_mgcc::params::Tsm;
use weft_mgcc::rdma::pcie::table;
use weft_mgcc::rdma::{PcieParams, Rdma, RdmaReq, RdmaRsp, pcie_switch};
use weft_mgcc_bench::bench::{Bench, Msg};
use weft_mgcc_bench::golden::pcie::{NETWORKS, Parcel, Pcie};
use weft_rtl::prelude::*;

fn rdma(gpus: u32) -> Rdma {
    let tsm = Tsm { gpus, cus: 2, banks: 2, lanes: 1, addr_bits: 36, l2_mshrs: 4, ..Tsm::default() };
    Rdma { tsm, home_bits: 20, entries: 8, slots: 4 }
}

fn params(gpus: u32, link_bpc: u32, latency: u32, credits: [u32; 2]) -> PcieParams {
    PcieParams { rdma: rdma(gpus), link_bpc, latency, credits }
}

/// From and to, by network.
const PORTS: [[&str; 2]; NETWORKS] = [["req", "far_req"], ["far_rsp", "rsp"]];

struct Harness {
    p: PcieParams,
    b: Bench,
    golden: Pcie<Msg>,
    delivered: usize,
}

impl Harness {
    fn new(p: &PcieParams, seed: u64) -> Harness {
        let mut b = Bench::new(&pcie_switch(p).expect("legal"), seed);
        for g in 0..p.rdma.tsm.gpus {
            b.source::<RdmaReq>(&format!("req{g}"), &p.rdma);
            b.sink::<RdmaReq>(&format!("far_req{g}"), &p.rdma);
            b.source::<RdmaRsp>(&format!("far_rsp{g}"), &p.rdma);
            b.sink::<RdmaRsp>(&format!("rsp{g}"), &p.rdma);
        }
        b.run(2);
        let credits = p.credits.map(u64::from);
        let golden =
            Pcie::new(p.rdma.tsm.gpus as usize, u64::from(p.link_bpc), u64::from(p.latency), credits);
        Harness { p: p.clone(), b, golden, delivered: 0 }
    }

    fn gpus(&self) -> u64 {
        u64::from(self.p.rdma.tsm.gpus)
    }

    /// A message of a GPU for another one, `near` being the distance of the receiver.
    fn message(&mut self, net: usize, gpu: u64, near: u64) -> Msg {
        let (p, dst) = (&self.p.rdma, (gpu + near) % self.gpus());
        let rng: &mut SmallRng = &mut self.b.rng;
        if net == 1 {
            let fields = [&any_response(rng)[..], &[("dst", dst)]].concat();
            return Msg::of::<RdmaRsp>(p, &fields);
        }
        let op = rng.random_range(0..3u64);
        let mask = any_mask(rng);
        let fields = [("op", op), ("src", gpu), ("dst", dst), ("amo", rng.random_range(0..11))];
        Msg::of::<RdmaReq>(p, &fields).with("mask", mask)
    }

    fn feed(&mut self, chance: f64, crowd: bool) {
        let gpus = self.gpus();
        for (net, g) in (0..NETWORKS).flat_map(|net| (0..gpus).map(move |g| (net, g))) {
            let name = format!("{}{g}", PORTS[net][0]);
            if self.b.source_mut(&name).queue.len() < 2 && self.b.rng.random_bool(chance) {
                // A crowd goes to GPU 0.
                let near = match (crowd, g) {
                    (true, 1..) => gpus - g,
                    _ => self.b.rng.random_range(1..gpus),
                };
                let m = self.message(net, g, near);
                self.b.send(&name, m);
            }
        }
    }

    /// A cycle of the block and of the model.
    fn step(&mut self) {
        let now = self.b.sim.cycle();
        self.b.step();
        let gpus = self.gpus() as usize;
        let mut ready = [vec![false; gpus], vec![false; gpus]];
        for (net, g) in (0..NETWORKS).flat_map(|net| (0..gpus).map(move |g| (net, g))) {
            let [from, to] = PORTS[net];
            // What is offered in a cycle is what the model had at its begin.
            let offered = self.golden.output(net, g).map(|parcel| &parcel.load);
            let (takes, came) = delivers(&mut self.b, now, &format!("{to}{g}"), offered);
            ready[net][g] = takes;
            self.delivered += usize::from(came);
            if let Some(m) = self.b.taken(&format!("{from}{g}")) {
                let parcel = Parcel { dst: m.get("dst") as usize, bytes: bytes(&m, net == 1), load: m };
                self.golden.offer(net, g, parcel);
            }
        }
        self.golden.cycle(now, &ready);
    }

    fn run(&mut self, cycles: u64) {
        let (mut chance, mut crowd) = (1.0, false);
        for cycle in 0..cycles {
            if cycle % 300 == 0 {
                chance = shuffle(&mut self.b);
                crowd = self.b.rng.random_bool(0.3);
            }
            self.feed(chance, crowd);
            self.step();
        }
    }
}

#[test]
fn messages_come_when_the_rules_say() {
    let mut seen = Covers::default();
    let sets = [params(4, 32, 9, [3, 2]), params(2, 128, 2, [5, 6]), params(8, 4, 5, [1, 2])];
    for (i, p) in sets.iter().enumerate() {
        let mut h = Harness::new(p, i as u64);
        h.run(6_000);
        assert!(h.delivered > 800, "set {i}: {} messages", h.delivered);
        seen.add(&h.b);
    }
    seen.check(table().rows().len() + 4);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
    #[test]
    fn any_switch_keeps_the_rules(
        gpus in 1u32..4, link_bpc in 1u32..200, latency in 2u32..30, req in 1u32..6, rsp in 1u32..6, seed: u64,
    ) {
        Harness::new(&params(1 << gpus, link_bpc, latency, [req, rsp]), seed).run(700);
    }
}

/// A read of another GPU alone: 12 bytes are one cycle on each link, 80 bytes back are three.
#[test]
fn a_read_alone_takes_its_time() {
    let p = PcieParams::published(Rdma::default());
    let mut h = Harness::new(&p, 3);
    let request = Msg::of::<RdmaReq>(&p.rdma, &[("op", TsmOp::Rd as u64), ("src", 2), ("dst", 1)]);
    h.b.send("req2", request);
    let start = h.b.sim.cycle();
    let (at, _) = h.b.wait("far_req1");
    assert_eq!(at - start, 140 + 1, "the downlink 140 cycles after the uplink, offered in the next");
    let answer = Msg::of::<RdmaRsp>(&p.rdma, &[("op", 0), ("dst", 2), ("with_data", 1)]);
    h.b.send("far_rsp1", answer);
    let start = h.b.sim.cycle();
    let (at, _) = h.b.wait("rsp2");
    assert_eq!(at - start, 2 + 140 + 3, "three cycles on the uplink, three on the downlink");
}

/// Bytes that the counters show for one message of each kind (mgcc.md section 10).
#[test]
fn bytes_are_those_without_coherence() {
    let p = PcieParams { latency: 2, ..PcieParams::published(rdma(2)) };
    let mut h = Harness::new(&p, 1);
    let full = || Bv::ones(64);
    let req = |op| Msg::of::<RdmaReq>(&p.rdma, &[("op", op), ("src", 0), ("dst", 1), ("amo", 0)]);
    let rsp = |op, data| Msg::of::<RdmaRsp>(&p.rdma, &[("op", op), ("dst", 0), ("with_data", data)]);
    for m in [req(0), req(1).with("mask", full()), req(1).with("mask", Bv::from_u64(1, 64)), req(2)] {
        h.b.send("req0", m);
    }
    for m in [rsp(0, 1), rsp(1, 0), rsp(1, 1), rsp(2, 1)] {
        h.b.send("far_rsp1", m);
    }
    (0..200).for_each(|_| h.step());
    let counted =
        |net: &str| ["read", "write", "atomic"].map(|class| h.b.counted(&format!("{net}_bytes_{class}")));
    assert_eq!((counted("req"), counted("rsp")), ([12, 76 + 84, 20], [80, 12 + 76, 88]));
    assert_eq!([h.b.counted("req_msgs"), h.b.counted("rsp_msgs"), h.b.counted("up_rsp_bytes")], [4, 4, 256]);
}

/// Requests that nobody takes hold no response up.
#[test]
fn responses_pass_requests_that_wait() {
    let p = params(2, 32, 6, [2, 2]);
    let mut h = Harness::new(&p, 5);
    h.b.sink_mut("far_req1").chance = 0.0;
    for _ in 0..12 {
        let m = h.message(0, 0, 1);
        h.b.send("req0", m);
    }
    (0..300).for_each(|_| h.step());
    assert_eq!(h.delivered, 0);
    for _ in 0..20 {
        let m = h.message(1, 0, 1);
        h.b.send("far_rsp0", m);
    }
    (0..400).for_each(|_| h.step());
    assert_eq!(h.delivered, 20, "all responses");
    h.b.sink_mut("far_req1").chance = 1.0;
    (0..400).for_each(|_| h.step());
    assert_eq!(h.delivered, 32, "and then the requests");
}

#[test]
fn illegal_values_are_refused_with_key_and_range() {
    for (key, p) in [
        ("link_bpc", params(2, 0, 9, [1, 1])),
        ("latency", params(2, 4, 1, [1, 1])),
        ("credits_rsp", params(2, 4, 9, [1, 0])),
        ("gpus", params(1, 4, 9, [1, 1])),
    ] {
        let error = pcie_switch(&p).expect_err("illegal").to_string();
        assert!(error.contains(key) && error.contains("legal: "), "{error}");
    }
}

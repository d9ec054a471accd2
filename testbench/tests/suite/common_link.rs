//! Links against a plain model that is exact to the cycle: order, sizes, wire time, credits, independence of the virtual networks.

use crate::common_bench;
use crate::common_bench::link as link_model;
use common_bench::*;
use link_model::*;
use proptest::prelude::*;
use weft_blocks::common::link::*;
use weft_blocks::msg::*;
use weft_rtl::prelude::*;

/// Sender, wire and receiver in one fabric: channels `req`, `rsp`, `inv` in, `out_req`... out.
fn pair(sys: &Sys, p: LinkParams) -> Arc<Module> {
    let (tx_module, rx_module) = (link_tx(sys, p).unwrap(), link_rx(sys, p).unwrap());
    let through = |name: &str, leaves: Vec<Leaf>, outs: Vec<Leaf>, tx: &InstanceRef, rx: &InstanceRef| {
        tx.drive_bits(&format!("{name}_valid"), input::<Bits>(&format!("{name}_valid"), 1));
        for leaf in leaves {
            tx.drive_bits(&leaf.name, input::<Bits>(&leaf.name, leaf.width));
        }
        let ready = format!("{name}_ready");
        output::<Bits>(&ready, 1).set(tx.out_bits(&ready));
        output::<Bits>(&format!("out_{name}_valid"), 1).set(rx.out_bits(&format!("{name}_valid")));
        for leaf in outs {
            output::<Bits>(&format!("out_{}", leaf.name), leaf.width).set(rx.out_bits(&leaf.name));
        }
        rx.drive_bits(&ready, input::<Bits>(&format!("out_{ready}"), 1));
    };
    Module::build("pair", ModuleKind::Fabric, || {
        let (tx, rx) = (instance("tx", &tx_module), instance("rx", &rx_module));
        connect_wire(sys, &tx, "", &rx, "");
        let leaves = |name: &str| match name {
            "req" => leaves_of::<ReqMsg>(sys, name),
            "rsp" => leaves_of::<RspMsg>(sys, name),
            _ => leaves_of::<InvMsg>(sys, name),
        };
        for name in NETWORKS {
            through(name, leaves(name), leaves(name), &tx, &rx);
        }
    })
    .unwrap()
}

fn bench(sys: &Sys, p: LinkParams, seed: u64) -> Bench {
    let mut b = Bench::new(&pair(sys, p), seed);
    b.source::<ReqMsg>("req", sys);
    b.source::<RspMsg>("rsp", sys);
    b.source::<InvMsg>("inv", sys);
    b.sink::<ReqMsg>("out_req", sys);
    b.sink::<RspMsg>("out_rsp", sys);
    b.sink::<InvMsg>("out_inv", sys);
    b
}

fn fill(b: &mut Bench, sys: &Sys, count: usize) {
    for v in 0..3 {
        b.sources[v].queue = (0..count).map(|_| random_on(&mut b.rng, sys, v)).collect();
    }
}

fn follow(b: &mut Bench, sys: &Sys, p: LinkParams, cycles: u64) -> LinkModel {
    let mut model = LinkModel::new(sys, p);
    for now in 0..cycles {
        b.drive();
        for (v, name) in NETWORKS.iter().enumerate() {
            assert_eq!(b.sinks[v].offered, model.held[v].is_some(), "cycle {now}, {name}");
        }
        let arrived = [0, 1, 2].map(|v| b.sources[v].taken.take());
        model.cycle(now, arrived, [0, 1, 2].map(|v| b.sinks[v].is_ready));
        b.clock();
    }
    for (v, name) in NETWORKS.iter().enumerate() {
        let got: Vec<&Msg> = b.sinks[v].got.iter().map(|(_, m)| m).collect();
        assert_eq!(got, model.taken[v].iter().collect::<Vec<_>>(), "{name}");
        assert_eq!(b.counted(&format!("bytes_{name}")), model.bytes[v], "bytes of {name}");
    }
    model
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn follows_the_model(
        rate in prop::sample::select(vec![1u32, 6, 15, 16, 17, 25, 48, 80, 150, 256]),
        latency in 2u32..12,
        credits in prop::array::uniform3(1u32..20),
        line in prop::sample::select(vec![64u32, 128]),
        give in prop::array::uniform3(0.02f64..1.0),
        take in prop::array::uniform3(0.1f64..1.0),
        seed: u64,
    ) {
        let sys = system(4, line);
        let p = LinkParams { bytes_per_cycle: rate, latency, credits };
        let mut b = bench(&sys, p, seed);
        fill(&mut b, &sys, 60);
        for v in 0..3 {
            (b.sources[v].chance, b.sinks[v].chance) = (give[v], take[v]);
        }
        let model = follow(&mut b, &sys, p, 500);
        prop_assert!(model.taken.iter().any(|t| !t.is_empty()));
    }
}

#[test]
fn message_counts_by_kind() {
    let sys = system(4, 64);
    let p = LinkParams { bytes_per_cycle: 256, latency: 2, credits: [8; 3] };
    let mut b = bench(&sys, p, 5);
    fill(&mut b, &sys, 100);
    b.run(500);
    assert!(b.all_sent());
    let kinds =
        |v: usize, at: usize, k: u64| b.sinks[v].got.iter().filter(|(_, m)| m[at].low_u64() == k).count();
    let (req, rsp, inv) =
        (leaf::<ReqMsg>(&sys, "kind"), leaf::<RspMsg>(&sys, "kind"), leaf::<InvMsg>(&sys, "kind"));
    for (k, name) in ["rdreq", "wrreq", "atomreq", "fencereq"].iter().enumerate() {
        assert_eq!(b.counted(&format!("msgs_{name}")), kinds(0, req, k as u64) as u64, "{name}");
    }
    for (k, name) in ["rdrsp", "wrack", "atomrsp", "fenceack"].iter().enumerate() {
        assert_eq!(b.counted(&format!("msgs_{name}")), kinds(1, rsp, k as u64) as u64, "{name}");
    }
    for (k, name) in ["inv", "invfence"].iter().enumerate() {
        assert_eq!(b.counted(&format!("msgs_{name}")), kinds(2, inv, k as u64) as u64, "{name}");
    }
}

/// A link with credits for twice the latency carries exactly its bandwidth.
#[test]
fn bandwidth_is_exact() {
    for rate in [6, 25, 33] {
        let sys = system(4, 64);
        let p = LinkParams { bytes_per_cycle: rate, latency: 20, credits: [64; 3] };
        let mut b = bench(&sys, p, 6);
        let mut read = random_on(&mut b.rng, &sys, 1);
        read[leaf::<RspMsg>(&sys, "kind")] = Bv::from_u64(0, 2);
        b.sources[1].queue = (0..300).map(|_| read.clone()).collect();
        b.run(4_300);
        let got = &b.sinks[1].got;
        assert_eq!(got.len(), 300);
        let (first, last) = (got[0].0, got[299].0);
        // 299 messages of 80 bytes lie between the two arrivals.
        assert_eq!((last - first) * u64::from(rate) / 80, 299, "{rate} bytes per cycle");
    }
}

#[test]
fn a_blocked_network_does_not_block_the_others() {
    let sys = system(4, 64);
    let p = LinkParams { bytes_per_cycle: 25, latency: 9, credits: [3, 5, 7] };
    for blocked in 0..3 {
        let mut b = bench(&sys, p, 7);
        fill(&mut b, &sys, 50);
        b.sinks[blocked].chance = 0.0;
        b.run(3000);
        for v in 0..3 {
            let left = b.sources[v].queue.len();
            if v == blocked {
                // One message offered, the buffer full, two in the sender's skid buffer.
                assert_eq!(50 - left, 1 + p.credits[v] as usize + 2);
            } else {
                assert_eq!(b.sinks[v].got.len(), 50, "network {v} while {blocked} is blocked");
            }
        }
    }
}

#[test]
fn sleeps_when_the_wire_is_silent() {
    let sys = system(4, 64);
    let p = LinkParams { bytes_per_cycle: 6, latency: 140, credits: [4; 3] };
    let mut b = bench(&sys, p, 8);
    fill(&mut b, &sys, 1);
    b.run(400);
    for name in NETWORKS {
        let port = b.input(&format!("{name}_valid"));
        b.sim.set(port, 0);
    }
    b.sim.run(40);
    assert!(b.sim.asleep());
    assert!(b.sinks.iter().all(|s| s.got.len() == 1));
}

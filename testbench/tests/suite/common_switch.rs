//! The switch between link endpoints of every GPU: each message reaches its destination once, in order per source, destination and network.

use crate::common_bench;
use crate::common_bench::link as link_model;
use common_bench::*;
use link_model::*;
use proptest::prelude::*;
use rand::Rng;
use weft_blocks::common::link::*;
use weft_blocks::common::switch::switch;
use weft_blocks::msg::*;
use weft_rtl::prelude::*;

/// All GPUs' ends around a switch: channels `gI_req`... in, `oI_req`... out.
fn star(sys: &Sys, p: LinkParams) -> Arc<Module> {
    let (tx_module, rx_module) = (link_tx(sys, p).unwrap(), link_rx(sys, p).unwrap());
    let switch_module = switch(sys, p).unwrap();
    Module::build("star", ModuleKind::Fabric, || {
        let center = instance("switch", &switch_module);
        for i in 0..sys.gpus {
            let tx = instance(&format!("tx{i}"), &tx_module);
            let rx = instance(&format!("rx{i}"), &rx_module);
            connect_wire(sys, &tx, "", &center, &format!("in{i}_"));
            connect_wire(sys, &center, &format!("out{i}_"), &rx, "");
            expose::<ReqMsg>(sys, "req", i, &tx, &rx);
            expose::<RspMsg>(sys, "rsp", i, &tx, &rx);
            expose::<InvMsg>(sys, "inv", i, &tx, &rx);
        }
    })
    .unwrap()
}

fn expose<T: Data<Shape = Sys>>(sys: &Sys, name: &str, i: u32, tx: &InstanceRef, rx: &InstanceRef) {
    let mut leaves = leaves_of::<T>(sys, name);
    leaves.push(Leaf {
        name: format!("{name}_valid"),
        width: 1,
        ty: LeafType::Bool,
        fields: Vec::new(),
        below: None,
    });
    for leaf in leaves {
        tx.drive_bits(&leaf.name, input::<Bits>(&format!("g{i}_{}", leaf.name), leaf.width));
        output::<Bits>(&format!("o{i}_{}", leaf.name), leaf.width).set(rx.out_bits(&leaf.name));
    }
    let ready = format!("{name}_ready");
    output::<Bits>(&format!("g{i}_{ready}"), 1).set(tx.out_bits(&ready));
    rx.drive_bits(&ready, input::<Bits>(&format!("o{i}_{ready}"), 1));
}

/// Numbers of the fields (src, dst) of a network's messages.
fn route(sys: &Sys, v: usize) -> (usize, usize) {
    match v {
        0 => (leaf::<ReqMsg>(sys, "src"), leaf::<ReqMsg>(sys, "dst")),
        1 => (leaf::<RspMsg>(sys, "src"), leaf::<RspMsg>(sys, "dst")),
        _ => (leaf::<InvMsg>(sys, "src"), leaf::<InvMsg>(sys, "dst")),
    }
}

fn bench(sys: &Sys, p: LinkParams, seed: u64) -> Bench {
    let mut b = Bench::new(&star(sys, p), seed);
    for i in 0..sys.gpus {
        b.source::<ReqMsg>(&format!("g{i}_req"), sys);
        b.source::<RspMsg>(&format!("g{i}_rsp"), sys);
        b.source::<InvMsg>(&format!("g{i}_inv"), sys);
        b.sink::<ReqMsg>(&format!("o{i}_req"), sys);
        b.sink::<RspMsg>(&format!("o{i}_rsp"), sys);
        b.sink::<InvMsg>(&format!("o{i}_inv"), sys);
    }
    b
}

/// Fills all senders; returns the messages per sender in order.
fn fill(b: &mut Bench, sys: &Sys, count: usize) -> Vec<Vec<Msg>> {
    (0..b.sources.len())
        .map(|s| {
            let (gpu, v) = ((s / 3) as u64, s % 3);
            let (src, dst) = route(sys, v);
            let all: Vec<Msg> = (0..count)
                .map(|_| {
                    let mut msg = random_on(&mut b.rng, sys, v);
                    let hop = b.rng.random_range(1..u64::from(sys.gpus));
                    msg[src] = Bv::from_u64(gpu, sys.node_bits());
                    msg[dst] = Bv::from_u64((gpu + hop) % u64::from(sys.gpus), sys.node_bits());
                    msg
                })
                .collect();
            b.sources[s].queue = all.iter().cloned().collect();
            all
        })
        .collect()
}

/// What each receiver got from each sender is what that sender sent to it, in order.
fn check(b: &Bench, sys: &Sys, sent: &[Vec<Msg>]) {
    for (s, messages) in sent.iter().enumerate() {
        let (gpu, v) = ((s / 3) as u64, s % 3);
        let (src, dst) = route(sys, v);
        for to in 0..u64::from(sys.gpus) {
            let expected: Vec<&Msg> = messages.iter().filter(|m| m[dst].low_u64() == to).collect();
            let sink = &b.sinks[3 * to as usize + v];
            let got: Vec<&Msg> =
                sink.got.iter().map(|(_, m)| m).filter(|m| m[src].low_u64() == gpu).collect();
            assert_eq!(got, expected, "{} from {gpu} to {to}", NETWORKS[v]);
        }
    }
    let total: usize = b.sinks.iter().map(|s| s.got.len()).sum();
    assert_eq!(total, sent.iter().map(Vec::len).sum::<usize>(), "no message comes twice");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn delivers_each_message_once_in_order(
        gpus in 2u32..5,
        rate in prop::sample::select(vec![6u32, 25, 150]),
        credits in prop::array::uniform3(1u32..9),
        give in 0.1f64..1.0, take in 0.2f64..1.0, seed: u64,
    ) {
        let sys = system(gpus, 64);
        let mut b = bench(&sys, LinkParams { bytes_per_cycle: rate, latency: 4, credits }, seed);
        let sent = fill(&mut b, &sys, 12);
        b.sources.iter_mut().for_each(|s| s.chance = give);
        b.sinks.iter_mut().for_each(|s| s.chance = take);
        for _ in 0..60 {
            if b.sinks.iter().map(|s| s.got.len()).sum::<usize>() == sent.iter().map(Vec::len).sum::<usize>() {
                break;
            }
            b.run(100);
        }
        check(&b, &sys, &sent);
    }
}

/// One response through an idle switch: two links, one cycle for the crossbar.
#[test]
fn unloaded_latency() {
    let sys = system(4, 64);
    let p = LinkParams { bytes_per_cycle: 25, latency: 70, credits: [8; 3] };
    let mut b = bench(&sys, p, 1);
    let (src, dst) = route(&sys, 1);
    let mut msg = random_on(&mut b.rng, &sys, 1);
    msg[src] = Bv::from_u64(2, 2);
    msg[dst] = Bv::from_u64(1, 2);
    msg[leaf::<RspMsg>(&sys, "kind")] = Bv::from_u64(0, width_of::<Enum<ReqKind>>(&()));
    // Ready rises in the first cycle after reset.
    b.run(2);
    b.sources[3 * 2 + 1].queue.push_back(msg.clone());
    let start = b.sim.cycle();
    b.run(400);
    // 80 bytes at 25 bytes per cycle: the message begins in a fresh phit and ends in the fourth.
    assert_eq!(b.sinks[3 + 1].got, vec![(start + 2 * (3 + 70) + 1, msg)]);
}

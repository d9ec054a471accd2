//! Links in phits beside the timing model: the same messages in the same cycles, over as few wires as the configured width has.

use crate::common_bench;
use crate::common_bench::link::random_on;
use common_bench::*;
use proptest::prelude::*;
use rand::Rng;
use rand::rngs::SmallRng;
use weft_blocks::common::link::*;
use weft_blocks::common::phit::*;
use weft_blocks::msg::*;
use weft_rtl::prelude::*;

/// The leaves of a network's messages, with `before` in front of its name.
fn leaves(sys: &Sys, name: &str, before: &str) -> Vec<Leaf> {
    let full = format!("{before}{name}");
    match name {
        "req" => leaves_of::<ReqMsg>(sys, &full),
        "rsp" => leaves_of::<RspMsg>(sys, &full),
        _ => leaves_of::<InvMsg>(sys, &full),
    }
}

/// The model and the link in phits side by side: channels `req`, `rsp`, `inv` go into both; `out_*` come from the model, `p_*` from the phits.
fn side_by_side(sys: &Sys, p: LinkParams) -> Arc<Module> {
    let modules = [link_tx(sys, p), link_rx(sys, p), phit_tx(sys, p), phit_rx(sys, p)].map(|m| m.unwrap());
    Module::build("side_by_side", ModuleKind::Fabric, || {
        let [tx, rx, ptx, prx] =
            [("tx", 0), ("rx", 1), ("ptx", 2), ("prx", 3)].map(|(name, i)| instance(name, &modules[i]));
        connect_wire(sys, &tx, "", &rx, "");
        for port in ["phit", "phit_head"] {
            prx.drive_bits(port, ptx.out_bits(port));
        }
        for name in NETWORKS {
            let credit = format!("credit_{name}");
            ptx.drive_bits(&credit, prx.out_bits(&credit));
            let (valid, ready) = (format!("{name}_valid"), format!("{name}_ready"));
            let offered = input::<Bits>(&valid, 1);
            let fields: Vec<(String, Bits)> = leaves(sys, name, "")
                .into_iter()
                .map(|leaf| (leaf.name.clone(), input::<Bits>(&leaf.name, leaf.width)))
                .collect();
            for end in [&tx, &ptx] {
                end.drive_bits(&valid, offered);
                fields.iter().for_each(|(leaf, value)| end.drive_bits(leaf, *value));
            }
            output::<Bits>(&ready, 1).set(tx.out_bits(&ready));
            output::<Bits>(&format!("p_{ready}"), 1).set(ptx.out_bits(&ready));
            let takes = input::<Bits>(&format!("out_{ready}"), 1);
            for (before, end) in [("out_", &rx), ("p_", &prx)] {
                end.drive_bits(&ready, takes);
                output::<Bits>(&format!("{before}{valid}"), 1).set(end.out_bits(&valid));
                for (inner, outer) in leaves(sys, name, "").iter().zip(leaves(sys, name, before)) {
                    output::<Bits>(&outer.name, outer.width).set(end.out_bits(&inner.name));
                }
            }
        }
    })
    .unwrap()
}

/// A message as its kind says: an atomic on one aligned word, in an answer one word at most.
fn legal(rng: &mut SmallRng, sys: &Sys, network: usize) -> Msg {
    let mut msg = random_on(rng, sys, network);
    match network {
        0 => {
            let kind = rng.random_range(0..5u64);
            msg[leaf::<ReqMsg>(sys, "kind")] = Bv::from_u64(kind, 3);
            msg[leaf::<ReqMsg>(sys, "amo")] = Bv::from_u64(rng.random_range(0..11), 4);
            if kind == 2 {
                let size = if rng.random() { 4 } else { 8 };
                let first = rng.random_range(0..sys.line / size) * size;
                let mut mask = Bv::zero(sys.line);
                (first..first + size).for_each(|byte| mask.set_bit(byte, true));
                msg[leaf::<ReqMsg>(sys, "mask")] = mask;
            }
        }
        1 => {
            let kind = [0, 0, 1, 2, 3, 5][rng.random_range(0..6usize)];
            msg[leaf::<RspMsg>(sys, "kind")] = Bv::from_u64(kind, 3);
            if kind != 0 {
                let at = 64 * rng.random_range(0..sys.line / 8);
                let value: u64 = if rng.random_bool(0.2) { 0 } else { rng.random() };
                let mut data = Bv::zero(sys.data_bits());
                (0..64).for_each(|bit| data.set_bit(at + bit, value >> bit & 1 == 1));
                msg[leaf::<RspMsg>(sys, "data")] = data;
            }
        }
        _ => {}
    }
    msg
}

/// What a request carries on a wire: the rest is 0.
fn carried(sys: &Sys, network: usize, msg: &Msg) -> Msg {
    let mut out = msg.clone();
    if network > 0 {
        return out;
    }
    let at = |name: &str| leaf::<ReqMsg>(sys, name);
    let (kind, mask) = (msg[at("kind")].low_u64(), msg[at("mask")].clone());
    let kept = |byte: u32| match kind {
        1 => (byte & !15..(byte & !15) + 16).any(|other| mask.bit(other)),
        2 => (byte & !7..(byte & !7) + 8).any(|other| mask.bit(other)),
        _ => false,
    };
    for byte in (0..sys.line).filter(|byte| !kept(*byte)) {
        (0..8).for_each(|bit| out[at("data")].set_bit(8 * byte + bit, false));
    }
    if kind != 1 && kind != 2 {
        out[at("mask")] = Bv::zero(sys.line);
    }
    if kind != 2 {
        for name in ["amo", "sgn", "cmp"] {
            out[at(name)] = Bv::zero(out[at(name)].width());
        }
    }
    out
}

/// Clocks both links for some cycles; how many messages came out.
fn follow(sys: &Sys, p: LinkParams, (give, take): ([f64; 3], [f64; 3]), cycles: u64, seed: u64) -> usize {
    let mut b = Bench::new(&side_by_side(sys, p), seed);
    b.source::<ReqMsg>("req", sys);
    b.source::<RspMsg>("rsp", sys);
    b.source::<InvMsg>("inv", sys);
    b.sink::<ReqMsg>("out_req", sys);
    b.sink::<RspMsg>("out_rsp", sys);
    b.sink::<InvMsg>("out_inv", sys);
    for v in 0..3 {
        b.sources[v].queue = (0..cycles / 4).map(|_| legal(&mut b.rng, sys, v)).collect();
        (b.sources[v].chance, b.sinks[v].chance) = (give[v], take[v]);
    }
    let ports = |b: &Bench, before: &str, v: usize| -> Vec<_> {
        leaves(sys, NETWORKS[v], before).iter().map(|leaf| b.output(&leaf.name)).collect()
    };
    let messages = [0, 1, 2].map(|v| (ports(&b, "out_", v), ports(&b, "p_", v)));
    let flags: Vec<_> = NETWORKS
        .iter()
        .flat_map(|name| {
            [
                (format!("out_{name}_valid"), format!("p_{name}_valid")),
                (format!("{name}_ready"), format!("p_{name}_ready")),
            ]
        })
        .map(|(model, phit)| (b.output(&model), b.output(&phit), phit))
        .collect();
    for now in 0..cycles {
        b.drive();
        for (model, phit, name) in &flags {
            assert_eq!(b.sim.get(*model), b.sim.get(*phit), "cycle {now}: {name}");
        }
        for (v, (model, phit)) in messages.iter().enumerate().filter(|(v, _)| b.sinks[*v].offered) {
            let [model, phit] =
                [model, phit].map(|ports| ports.iter().map(|port| b.sim.get_bv(*port)).collect::<Msg>());
            assert_eq!(carried(sys, v, &model), phit, "cycle {now}: {}", NETWORKS[v]);
        }
        b.clock();
    }
    b.sinks.iter().map(|sink| sink.got.len()).sum()
}

fn system(gpus: u32, line: u32) -> Sys {
    common_bench::link::system(gpus, line)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn phits_carry_the_same_messages_in_the_same_cycles(
        rate in prop::sample::select(vec![1u32, 6, 15, 16, 17, 25, 48, 80, 150, 256]),
        latency in 3u32..12,
        credits in prop::array::uniform3(1u32..20),
        line in prop::sample::select(vec![64u32, 128]),
        give in prop::array::uniform3(0.02f64..1.0),
        take in prop::array::uniform3(0.1f64..1.0),
        seed: u64,
    ) {
        let p = LinkParams { bytes_per_cycle: rate, latency, credits };
        let passed = follow(&system(4, line), p, (give, take), 400, seed);
        prop_assert!(passed > 0);
    }
}

#[test]
fn full_bandwidth_is_kept() {
    let p = LinkParams { bytes_per_cycle: 25, latency: 20, credits: [64; 3] };
    let passed = follow(&system(4, 64), p, ([1.0; 3], [1.0; 3]), 2_000, 3);
    // Some 40 bytes are the mean of these messages.
    assert!(passed > 900, "{passed} messages");
}

#[test]
fn a_phit_has_the_wires_of_the_configured_width() {
    let sys = system(4, 64);
    for rate in [1, 25, 64] {
        let p = LinkParams { bytes_per_cycle: rate, latency: 20, credits: [8; 3] };
        let (tx, model) = (phit_tx(&sys, p).unwrap(), link_tx(&sys, p).unwrap());
        let wires = |module: &Module, is_wire: fn(&str) -> bool| -> u32 {
            module.outputs().filter(|(_, port)| is_wire(&port.name)).map(|(_, port)| port.width).sum()
        };
        assert_eq!(wires(&tx, |name| name.starts_with("phit")), 8 * rate + 1);
        assert!(wires(&model, |name| name.starts_with("wire_")) > 1_000);
    }
}

#[test]
fn a_header_that_does_not_fit_is_refused_with_what_would() {
    let info = weft_blocks::block("phit-tx").expect("listed");
    let text =
        info.with(&[("gpus", "16")]).map(|m| m.name.clone()).expect_err("one bit too many").to_string();
    assert_eq!(
        text,
        "parameter addr_bits = 48 of block phit-tx: the header of a write has 129 bits, and there is room for 128; it is at most 47 here, \
         or line = 128; legal: 32..64; 48 is its default, which does not go with gpus = 16: give addr_bits too, or change gpus = 16"
    );
    assert!(info.with(&[("gpus", "16"), ("addr_bits", "47")]).is_ok());
    let text = phit_rx(&system(4, 64), LinkParams { bytes_per_cycle: 25, latency: 2, credits: [1; 3] })
        .expect_err("no time for the wire")
        .to_string();
    assert!(text.ends_with("latency = 2; legal: 3..4096 cycles, one of them on the wire"), "{text}");
}

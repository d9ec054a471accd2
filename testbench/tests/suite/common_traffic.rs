//! DRAM stub and traffic generator against plain models.

use crate::common_bench;
use crate::common_bench::link as link_model;
use common_bench::*;
use link_model::system;
use proptest::prelude::*;
use rand::Rng;
use std::collections::{HashMap, HashSet};
use weft_blocks::common::dram_stub::{DramStubParams, dram_stub};
use weft_blocks::common::traffic_gen::{TrafficParams, traffic_gen};
use weft_blocks::msg::*;
use weft_rtl::prelude::*;

fn run_dram(p: DramStubParams, give: f64, take: f64, seed: u64) {
    let sys = system(4, 64);
    let mut b = Bench::new(&dram_stub(&sys, p).unwrap(), seed);
    b.source::<MemReq>("mem_req", &sys);
    b.sink::<MemRsp>("mem_rsp", &sys);
    (b.sources[0].chance, b.sinks[0].chance) = (give, take);
    // Lines of bank 2 of GPU 1: 64 lines per 4 KB, 4 banks.
    let line_of = |k: u64| 1 << 26 | (k / 64) << 8 | 2 << 6 | (k % 64);
    let mut memory: HashMap<u64, Bv> = HashMap::new();
    let mut expected = Vec::new();
    for _ in 0..300 {
        let k = b.rng.random_range(0..u64::from(p.rows) * 2);
        let (write, id, data) =
            (b.rng.random_bool(0.5), b.rng.random_range(0..16), random_bits(&mut b.rng, 512));
        b.sources[0].queue.push_back(vec![
            Bv::from_u64(u64::from(write), 1),
            Bv::from_u64(line_of(k), sys.line_bits()),
            data.clone(),
            Bv::from_u64(id, sys.l2_id_bits()),
        ]);
        let row = k % u64::from(p.rows);
        if write {
            memory.insert(row, data);
        } else {
            let data = memory.get(&row).cloned().unwrap_or(Bv::zero(512));
            expected.push(vec![Bv::from_u64(id, sys.l2_id_bits()), data]);
        }
    }
    b.run(
        u64::from(p.rows + p.latency)
            + 300 * u64::from(p.latency) / u64::from(p.depth)
            + (2000.0 / (give * take)) as u64,
    );
    let got: Vec<Msg> = b.sinks[0].got.iter().map(|(_, m)| m.clone()).collect();
    assert_eq!(got, expected);
}

/// Answers a generator's requests like an L1, in random order and in one or two parts.
fn run_traffic(gpus: u32, p: TrafficParams, seed: u64) -> Vec<Msg> {
    let sys = system(gpus, 64);
    let mut b = Bench::new(&traffic_gen(&sys, p).unwrap(), seed);
    b.sink::<CuReq>("cu_req", &sys);
    b.sinks[0].chance = 0.8;
    let (enable, seed_port, idle) = (b.input("enable"), b.input("seed"), b.output("idle"));
    b.sim.set(seed_port, seed);
    b.sim.set(enable, 1);
    let valid = b.input("cu_rsp_valid");
    let fields = ["id", "kind", "mask"].map(|f| b.input(&format!("cu_rsp_{f}")));
    let (op, mask, id) = (leaf::<CuReq>(&sys, "op"), leaf::<CuReq>(&sys, "mask"), leaf::<CuReq>(&sys, "id"));
    let mut open: Vec<(u64, bool, Bv)> = Vec::new();
    let mut all = Vec::new();
    for cycle in 0..1500 {
        if cycle == 1200 {
            b.sim.set(enable, 0);
        }
        b.drive();
        let answer = !open.is_empty() && b.rng.random_bool(0.4);
        b.sim.set(valid, u64::from(answer));
        if answer {
            let at = b.rng.random_range(0..open.len());
            let (id, store, bytes) = open.swap_remove(at);
            let half = !store && b.rng.random_bool(0.3);
            let part = if half { Bv::from_u64(bytes.low_u64() & 0xffff_ffff, 64) } else { bytes.clone() };
            let left = Bv::from_u64(bytes.low_u64() & !part.low_u64(), 64);
            if !left.is_zero() && !store {
                open.push((id, store, left));
            }
            b.sim.set(fields[0], id);
            b.sim.set(fields[1], u64::from(store));
            b.sim.set_bv(fields[2], &part);
        }
        b.clock();
        for (_, msg) in std::mem::take(&mut b.sinks[0].got) {
            assert!(
                open.iter().all(|(i, ..)| *i != msg[id].low_u64()),
                "a number in flight is not used again"
            );
            open.push((msg[id].low_u64(), msg[op].low_u64() == 1, msg[mask].clone()));
            assert!(open.len() <= p.outstanding as usize);
            all.push(msg);
        }
    }
    assert!(open.is_empty());
    assert_eq!(b.sim.get(idle), 1);
    assert_eq!(b.counted("requests"), all.len() as u64);
    assert_eq!(b.counted("answers"), all.len() as u64);
    let ready = b.input("cu_req_ready");
    b.sim.set(ready, 0);
    b.sim.run(40);
    assert!(b.sim.asleep(), "a generator that is switched off sleeps");
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn dram_follows_the_model(
        rows in prop::sample::select(vec![2u32, 16, 128]),
        latency in 1u32..30, depth in 1u32..40, give in 0.3f64..1.0, take in 0.3f64..1.0, seed: u64,
    ) {
        run_dram(DramStubParams { rows, latency, depth }, give, take, seed);
    }

    #[test]
    fn generator_keeps_the_port_rules(gpus in 2u32..6, outstanding in 1u32..20, interval in 1u32..5, seed: u32) {
        let p = TrafficParams { outstanding, span: 64, stores: 64, atomics: 16, interval };
        let all = run_traffic(gpus, p, u64::from(seed));
        let line = leaf::<CuReq>(&system(gpus, 64), "line");
        for msg in &all {
            let number = msg[line].low_u64();
            prop_assert!(number >> 26 < u64::from(gpus) && number & ((1 << 26) - 1) < 64);
        }
    }
}

#[test]
fn the_mix_is_as_asked() {
    let p = TrafficParams { outstanding: 32, span: 256, stores: 64, atomics: 32, interval: 1 };
    let all = run_traffic(4, p, 0);
    let sys = system(4, 64);
    let (op, line) = (leaf::<CuReq>(&sys, "op"), leaf::<CuReq>(&sys, "line"));
    let share = |code: u64| all.iter().filter(|m| m[op].low_u64() == code).count() as f64 / all.len() as f64;
    assert!(all.len() > 300);
    assert!((share(1) - 0.25).abs() < 0.08, "stores {}", share(1));
    assert!((share(2) - 0.125).abs() < 0.06, "atomics {}", share(2));
    let homes: HashSet<u64> = all.iter().map(|m| m[line].low_u64() >> 26).collect();
    assert_eq!(homes.len(), 4);
    let lines: HashSet<u64> = all.iter().map(|m| m[line].low_u64()).collect();
    assert!(lines.len() > 200, "addresses are spread: {} lines", lines.len());
}

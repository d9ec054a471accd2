//! Sizes, latencies, refused values.

use super::tiny;
use super::world::{Asked, CuWork, World};
use std::time::Instant;
use weft_mgcc::choice::{Choice, ReadTs};
use weft_mgcc::fabric::{TsmFabricParams, TsmProtocol, tsm_fabric};
use weft_mgcc::params::Tsm;

#[test]
fn the_published_size_elaborates() {
    for protocol in TsmProtocol::ALL {
        let p = TsmFabricParams::published(protocol);
        let begun = Instant::now();
        let module = tsm_fabric(&p).expect("the published parameters are legal");
        println!("{}: {:.2} s", protocol.word(), begun.elapsed().as_secs_f64());
        let inputs: Vec<String> = module.inputs().map(|(_, s)| s.name.clone()).collect();
        for name in ["g3_cu63_req_valid", "u7_l3_dram_rsp_valid"] {
            assert!(inputs.iter().any(|i| i == name), "{name}");
        }
        assert_eq!(inputs.iter().any(|i| i == "rd_lease"), p.coherent());
        assert_eq!(inputs.iter().any(|i| i == "g0_fence_start_valid"), !p.coherent());
    }
}

/// Cycles until a load of a fresh world is answered, a second one that hits the L1, and one of the other CU, which hits the L2.
fn latencies(p: &TsmFabricParams) -> [u64; 3] {
    let mut w = World::new(p, 1);
    w.delay = 0;
    (0..600).for_each(|_| w.step());
    let mut load = |cu: usize, src: u64| {
        let work = CuWork::Load { mask: 1, sync: false };
        w.ask(cu, Asked { wave: 0, seq: 0, line: 3, work, since: 0, expected: None });
        let start = w.b.sim.cycle();
        while w.answers.is_empty() {
            w.step();
        }
        assert_eq!(w.answers.pop_front().map(|a| a.src), Some(src), "who answered");
        w.b.sim.cycle() - start
    };
    [load(0, 3), load(0, 0), load(1, 1)]
}

#[test]
fn latencies_are_those_of_the_parameters() {
    let published = TsmFabricParams::published(TsmProtocol::WtCRc);
    let p = TsmFabricParams {
        l1_latency: published.l1_latency,
        tsu_latency: published.tsu_latency,
        link_bpc: published.link_bpc,
        switch_latency: published.switch_latency,
        ..tiny(TsmProtocol::WtCRc)
    };
    let [miss, hit, l2] = latencies(&p);
    println!("memory {miss}, L1 {hit}, L2 {l2} cycles");
    assert_eq!(hit, 61, "offered in one cycle, answered 60 later");
    let short = TsmFabricParams { l2_latency: 3, crossbar_latency: 1, ..p.clone() };
    let [miss_short, _, l2_short] = latencies(&short);
    assert_eq!([miss - miss_short, l2 - l2_short], [7 + 2, 7 + 2], "7 of the bank, one of each crossbar");
    let near = TsmFabricParams { switch_latency: 40, ..p.clone() };
    let [miss_near, _, l2_near] = latencies(&near);
    assert_eq!([miss - miss_near, l2 - l2_near], [200, 0], "the switch is passed twice");
    // A read and its answer at 4 bytes per cycle, at 1 and 2 on wide links: 14 bytes, 84 bytes; on the UMC link 8 per cycle, then 28 and more.
    let wide = TsmFabricParams { link_bpc: 128, ..p };
    let [miss_wide, ..] = latencies(&wide);
    assert_eq!(miss - miss_wide, (4 - 1) + (2 - 1) + (11 - 1) + (21 - 1));
}

#[test]
fn illegal_values_are_refused_with_key_and_range() {
    let p = || tiny(TsmProtocol::WtCSc);
    let tsm = |t: Tsm| TsmFabricParams { tsm: t, ..p() };
    let t = p().tsm;
    let cases: Vec<(&str, TsmFabricParams)> = vec![
        ("gpus", tsm(Tsm { gpus: 3, ..t.clone() })),
        ("cus", tsm(Tsm { cus: 0, ..t.clone() })),
        ("banks", tsm(Tsm { banks: 32, ..t.clone() })),
        ("lanes", tsm(Tsm { lanes: 5, ..t.clone() })),
        ("il", tsm(Tsm { il: 5, ..t.clone() })),
        ("ts", tsm(Tsm { ts: 5, ..t.clone() })),
        ("eb", tsm(Tsm { eb: 9, ..t.clone() })),
        ("cts", tsm(Tsm { cts: 8, ..t.clone() })),
        ("l1_mshrs", tsm(Tsm { l1_mshrs: 65, ..t.clone() })),
        ("l2_mshrs", tsm(Tsm { l2_mshrs: 0, ..t })),
        ("l1_size", TsmFabricParams { l1_size: 300, ..p() }),
        ("l1_ways", TsmFabricParams { l1_ways: 1, ..p() }),
        ("l2_size", TsmFabricParams { l2_size: 0, ..p() }),
        ("l2_latency", TsmFabricParams { l2_latency: 2, ..p() }),
        ("l1_pool", TsmFabricParams { l1_pool: 0, ..p() }),
        ("l2_pool", TsmFabricParams { l2_pool: 257, ..p() }),
        ("read_ts", TsmFabricParams { read_ts: ReadTs::Deferred, ..p() }),
        ("self_inc", TsmFabricParams { self_inc: 0, ..p() }),
        ("tsu_ways", TsmFabricParams { tsu_ways: 3, ..p() }),
        ("tsu_latency", TsmFabricParams { tsu_latency: 201, ..p() }),
        ("trk", TsmFabricParams { trk: 3, ..p() }),
        ("age_max", TsmFabricParams { age_max: 0, ..p() }),
        ("link_bpc", TsmFabricParams { link_bpc: 513, ..p() }),
        ("switch_latency", TsmFabricParams { switch_latency: 0, ..p() }),
        ("crossbar_latency", TsmFabricParams { crossbar_latency: 0, ..p() }),
        ("credits_req", TsmFabricParams { credits: [0, 1], ..p() }),
    ];
    for (key, p) in cases {
        let error = tsm_fabric(&p).expect_err(key).to_string();
        assert!(error.contains(&format!("parameter {key} =")) && error.contains("legal: "), "{error}");
    }
    assert!(tsm_fabric(&p()).is_ok());
}

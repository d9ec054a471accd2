//! Whole MGPU-RDMA fabrics: tiny ones under random programs with software coherence, checked against a memory in program order; latencies and bytes; the published size elaborates.

use crate::fabric_bench;

use fabric_bench::{Asked, CuWork, Fabric, Program, World, initial};
use proptest::prelude::*;
use weft_mgcc::params::Tsm;
use weft_mgcc::rdma::{Rdma, RdmaFabricParams, rdma_fabric};
use weft_mgcc_bench::golden::msg::{Atomic, Data};

/// 2 GPUs of 2 CUs and 2 banks of their own memory; caches of a few lines, engines of a few entries.
fn tiny(gpus: u32) -> RdmaFabricParams {
    let tsm =
        Tsm { gpus, cus: 2, banks: 2, lanes: 1, addr_bits: 32, l1_mshrs: 4, l2_mshrs: 8, ..Tsm::default() };
    RdmaFabricParams {
        rdma: Rdma { tsm, home_bits: 20, entries: 3, slots: 5 },
        l1_size: 256,
        l1_ways: 2,
        l1_latency: 5,
        l1_pool: 4,
        l2_size: 512,
        l2_ways: 2,
        l2_pool: 6,
        switch_latency: 5,
        credits: [3, 2],
        ..RdmaFabricParams::default()
    }
}

/// Line `inside` of a GPU's memory.
fn at(p: &RdmaFabricParams, gpu: u64, inside: u64) -> u64 {
    gpu << (p.rdma.home_bits - 6) | inside
}

/// Lines of both banks of every GPU; more than the caches hold.
fn lines(p: &RdmaFabricParams) -> Vec<u64> {
    let gpus = 0..u64::from(p.rdma.tsm.gpus);
    gpus.flat_map(|g| [0, 1, 2, 4, 8, 64, 66, 72].map(|inside| at(p, g, inside))).collect()
}

/// Kernels, and at the end one that reads every byte.
fn sound(p: &RdmaFabricParams, seed: u64, kernels: u32) -> Program<RdmaFabricParams> {
    let mut program = Program::new(p, &lines(p), seed);
    for _ in 0..kernels {
        program.run_kernel(60);
        program.check_memory();
    }
    program
}

#[test]
fn kernels_keep_what_owners_wrote() {
    for seed in 0..2 {
        let program = sound(&tiny(2), seed, 4);
        let b = &program.w.b;
        for counter in ["l2_hits", "rdma_requests", "rdma_entry_stalls", "l2_write_backs", "mgcc_l1_hits"] {
            assert!(b.counted(counter) > 10, "{counter}: {}", b.counted(counter));
        }
        assert_eq!(b.counted("rdma_requests"), b.counted("rdma_served"));
        assert_eq!(b.counted("rdma_requests"), b.counted("req_msgs"));
        assert_eq!(b.counted("rdma_requests"), b.counted("rsp_msgs"));
    }
}

#[test]
fn more_gpus_and_long_ways() {
    let p = RdmaFabricParams { link_bpc: 3, l2_latency: 3, crossbar_latency: 1, ..tiny(4) };
    sound(&p, 10, 3);
    let p = tiny(2);
    let tsm = Tsm { cus: 3, banks: 1, l1_mshrs: 1, ..p.rdma.tsm.clone() };
    let rdma = Rdma { tsm, entries: 1, slots: 1, ..p.rdma.clone() };
    sound(&RdmaFabricParams { rdma, crossbar_latency: 5, credits: [1, 1], ..p }, 11, 3);
}

/// Sizes of a fabric, with a seed.
fn sizes() -> impl Strategy<Value = (RdmaFabricParams, u64)> {
    let table = (1u32..9, 1u32..9);
    (1u32..4, 1u32..4, table, 1u32..64, 2u32..20, any::<u64>()).prop_map(
        |(gpus, cus, (entries, slots), link_bpc, switch_latency, seed)| {
            let p = tiny(1 << gpus);
            let rdma = Rdma { tsm: Tsm { cus, ..p.rdma.tsm.clone() }, entries, slots, ..p.rdma.clone() };
            (RdmaFabricParams { rdma, link_bpc, switch_latency, ..p }, seed)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2, ..ProptestConfig::default() })]
    #[test]
    fn fabrics_of_any_size((p, seed) in sizes()) {
        sound(&p, seed, 2);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn long_fabrics_of_any_size((p, seed) in sizes()) {
        sound(&p, seed, 2);
    }
}

/// A world that asks one thing after another.
struct Calm(World<RdmaFabricParams>);

impl Calm {
    fn new(p: &RdmaFabricParams) -> Calm {
        let mut w = World::new(p, 1);
        w.delay = 0;
        (0..600).for_each(|_| w.step());
        Calm(w)
    }

    /// Asks and waits: cycles, who answered, the line.
    fn ask(&mut self, cu: usize, line: u64, work: CuWork) -> (u64, u64, Data) {
        let w = &mut self.0;
        w.ask(cu, Asked { wave: 0, seq: 0, line, work, since: 0, expected: None });
        let start = w.b.sim.cycle();
        while w.answers.is_empty() {
            w.step();
        }
        let answer = w.answers.pop_front().expect("it has come");
        (w.b.sim.cycle() - start, answer.src, answer.data)
    }

    fn load(&mut self, cu: usize, line: u64) -> (u64, u64) {
        let (cycles, src, data) = self.ask(cu, line, CuWork::Load { mask: 1, sync: false });
        assert_eq!(data.masked(1), initial(line).masked(1));
        (cycles, src)
    }
}

/// The line of another GPU is kept in the L1 that asked and in its owner's bank, not in the asker's L2.
#[test]
fn latencies_are_those_of_the_parameters() {
    let published = RdmaFabricParams::default();
    let p = RdmaFabricParams {
        l1_latency: 60,
        link_bpc: published.link_bpc,
        switch_latency: published.switch_latency,
        ..tiny(2)
    };
    let measure = |p: &RdmaFabricParams| {
        let mut w = Calm::new(p);
        let (near, far) = (at(p, 0, 3), at(p, 1, 3));
        let got = [w.load(0, near), w.load(1, near), w.load(0, far), w.load(1, far), w.load(0, far)];
        assert_eq!(got.map(|g| g.1), [3, 1, 3, 1, 0], "DRAM, L2, DRAM over there, L2 over there, L1");
        got.map(|g| g.0)
    };
    let [own, l2, far, far_l2, hit] = measure(&p);
    println!("own memory {own}, L2 {l2}, other memory {far}, other L2 {far_l2}, L1 {hit} cycles");
    assert_eq!(hit, 61, "offered in one cycle, answered 60 later");
    assert_eq!(far - own, far_l2 - l2, "the way is the same whether the bank has the line or not");
    let near = RdmaFabricParams { switch_latency: 40, ..p.clone() };
    let moved = measure(&near);
    assert_eq!(
        [own - moved[0], far - moved[2], far_l2 - moved[3]],
        [0, 200, 200],
        "the switch is passed twice"
    );
    // A read of 12 and an answer of 80 bytes, on an uplink and a downlink each: 1 and 3 cycles at 32, 3 and 20 at 4 bytes per cycle.
    let narrow = RdmaFabricParams { link_bpc: 4, ..p.clone() };
    assert_eq!(measure(&narrow)[3] - far_l2, 2 * (2 + 17));
    let short = RdmaFabricParams { l2_latency: 3, crossbar_latency: 1, ..p };
    let moved = measure(&short);
    assert_eq!(
        [l2 - moved[1], far_l2 - moved[3]],
        [7 + 2, 7 + 4],
        "far requests pass crossbars at both ends"
    );
}

/// Atomics and ordered loads of whatever GPU meet at the home bank; DRAM is asked once.
#[test]
fn all_operations_of_a_line_meet_at_its_home() {
    let p = tiny(2);
    let mut w = Calm::new(&p);
    let line = at(&p, 1, 5);
    let add = Atomic { op: crate::wire::AMOS[0], signed: false, word: 2, wide: true, operand: 1, compare: 0 };
    let first = initial(line).number(8, 8);
    for (count, cu) in [0, 3, 1, 2, 0].into_iter().enumerate() {
        let (_, src, data) = w.ask(cu, line, CuWork::Atomic(add));
        assert_eq!(data.number(8, 8), first.wrapping_add(count as u64), "the old value");
        assert_eq!(src, if count == 0 { 3 } else { 1 }, "carried out in the bank");
    }
    let (_, _, data) = w.ask(1, line, CuWork::Load { mask: 0xff00, sync: true });
    assert_eq!(data.number(8, 8), first.wrapping_add(5), "an ordered load sees it");
    let b = &w.0.b;
    assert_eq!((b.counted("rdma_atomics"), b.counted("rdma_reads")), (3, 1));
    assert_eq!((b.counted("req_bytes_atomic"), b.counted("rsp_bytes_atomic")), (3 * 20, 3 * 88));
    assert_eq!(
        (w.0.dram.line(line), b.counted("l2_misses_cold")),
        (initial(line), 0),
        "nothing written back"
    );
}

#[test]
fn the_published_size_elaborates() {
    let p = RdmaFabricParams::default();
    let module = rdma_fabric(&p).expect("the published parameters are legal");
    let inputs: Vec<String> = module.inputs().map(|(_, s)| s.name.clone()).collect();
    for name in ["g3_cu63_req_valid", "g3_b7_dram_rsp_valid"] {
        assert!(inputs.iter().any(|i| i == name), "{name}");
    }
    assert!(!inputs.iter().any(|i| i.contains("fence") || i.contains("lease")));
    // Tags of a bank: 26 bits of a line in 4 GB, less 3 of the bank and 8 of the set.
    assert_eq!((p.l2().tag_bits(), p.l1().tag_bits(), p.channels().len()), (15, 36, 32));
}

#[test]
fn illegal_values_are_refused_with_key_and_range() {
    let p = || tiny(2);
    let rdma = |r: Rdma| RdmaFabricParams { rdma: r, ..p() };
    let tsm = |t: Tsm| rdma(Rdma { tsm: t, ..p().rdma });
    let t = p().rdma.tsm;
    let cases: Vec<(&str, RdmaFabricParams)> = vec![
        ("gpus", tsm(Tsm { gpus: 3, ..t.clone() })),
        ("gpus", tsm(Tsm { gpus: 1, ..t.clone() })),
        ("cus", tsm(Tsm { cus: 129, ..t.clone() })),
        ("banks", tsm(Tsm { banks: 32, ..t.clone() })),
        ("il", tsm(Tsm { il: 5, ..t.clone() })),
        ("addr_bits", tsm(Tsm { addr_bits: 20, ..t.clone() })),
        ("l1_mshrs", tsm(Tsm { l1_mshrs: 65, ..t.clone() })),
        ("l2_mshrs", tsm(Tsm { l2_mshrs: 0, ..t })),
        ("entries", rdma(Rdma { entries: 0, ..p().rdma })),
        ("slots", rdma(Rdma { slots: 257, ..p().rdma })),
        ("home_bits", rdma(Rdma { home_bits: 32, ..p().rdma })),
        ("l1_size", RdmaFabricParams { l1_size: 300, ..p() }),
        ("l1_ways", RdmaFabricParams { l1_ways: 1, ..p() }),
        ("l1_latency", RdmaFabricParams { l1_latency: 2, ..p() }),
        ("l1_pool", RdmaFabricParams { l1_pool: 0, ..p() }),
        ("l2_size", RdmaFabricParams { l2_size: 0, ..p() }),
        ("l2_pool", RdmaFabricParams { l2_pool: 257, ..p() }),
        ("l2_latency", RdmaFabricParams { l2_latency: 2, ..p() }),
        ("link_bpc", RdmaFabricParams { link_bpc: 513, ..p() }),
        ("switch_latency", RdmaFabricParams { switch_latency: 1, ..p() }),
        ("crossbar_latency", RdmaFabricParams { crossbar_latency: 0, ..p() }),
        ("credits_rsp", RdmaFabricParams { credits: [1, 0], ..p() }),
    ];
    for (key, p) in cases {
        let error = rdma_fabric(&p).expect_err(key).to_string();
        assert!(error.contains(&format!("parameter {key} =")) && error.contains("legal: "), "{error}");
    }
    assert!(rdma_fabric(&p()).is_ok());
}

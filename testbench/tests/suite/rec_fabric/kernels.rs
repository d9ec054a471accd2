//! Kernels separated by fences: one store that another GPU must see, then random kernels whose every load is checked.

use crate::rec_fabric::bench::{Fabric, Fence, Op, Request};
use crate::rec_fabric::ledger::Covered;
use crate::rec_fabric::{modules, tiny};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::HashMap;
use weft_blocks::directory::protocols::{ALL, Protocol};
use weft_blocks::fabric::FabricParams;

fn request(op: Op, line: u64, mask: u64, value: u8) -> Request {
    let scope = if op == Op::Load { 0 } else { 2 };
    Request { op, scope, line, mask, data: vec![value; 64] }
}

fn end_kernel(f: &mut Fabric, seq: u64) {
    let cus = f.p.sys.l1s as usize;
    for (g, c) in (0..f.p.sys.nodes() as usize).flat_map(|g| (0..cus).map(move |c| (g, c))) {
        f.ask(g, c, request(Op::End, 0, 0, 0));
    }
    f.settle(seq - 1);
    (0..f.p.sys.nodes() as usize).for_each(|g| f.start_fence(g, seq));
    while !f.quiet(seq) {
        f.step();
        let done = (0..f.p.sys.nodes() as usize).filter(|g| f.released(*g) == seq).count();
        if (1..f.p.sys.nodes() as usize).contains(&done) {
            *f.hits.entry("rec.race.kernel_waits_all_gpus".into()).or_default() += 1;
        }
        assert!(f.sim.cycle() < 10_000_000, "the release does not end");
    }
}

fn begin_kernel(f: &mut Fabric, seq: u64) {
    let cus = f.p.sys.l1s as usize;
    if f.p.software() {
        (0..f.p.sys.nodes() as usize).for_each(|g| f.ask_fence(g, Fence { scope: 2, acquire: true }, seq));
        f.settle(seq);
    }
    for (g, c) in (0..f.p.sys.nodes() as usize).flat_map(|g| (0..cus).map(move |c| (g, c))) {
        f.ask(g, c, request(Op::Begin, 0, 0, 0));
    }
    f.settle(seq);
}

fn one_store_is_seen(p: &FabricParams) {
    let protocol = p.protocol;
    let mut f = Fabric::new(p);
    let line = f.line_at(1, 5);
    let before = f.ask(2, 0, request(Op::Load, line, u64::MAX, 0));
    f.settle(0);
    let expected = f.initial(line);
    assert_eq!(f.take(2, 0, before).data, expected, "memory as it was");
    f.ask(0, 0, request(Op::Store, line, 0xff00, 0x5a));
    f.settle(0);
    end_kernel(&mut f, 1);
    begin_kernel(&mut f, 1);
    let mut expected = expected;
    expected[8..16].fill(0x5a);
    for gpu in [2, 3, 1, 0] {
        let after = f.ask(gpu, 0, request(Op::Load, line, u64::MAX, 0));
        f.settle(1);
        assert_eq!(f.take(gpu, 0, after).data, expected, "{protocol:?}: GPU {gpu} sees the store");
    }
}

#[test]
fn a_store_to_a_remote_line_is_seen_by_a_third_gpu_after_a_fence() {
    for protocol in ALL.iter().copied() {
        one_store_is_seen(&tiny(protocol));
    }
}

/// Protocols that nothing but their own means keeps coherent over two GPUs of two GPMs.
fn of_modules() -> impl Iterator<Item = Protocol> {
    ALL.iter().copied().filter(|protocol| protocol.keeps_modules())
}

#[test]
fn a_store_to_another_gpus_line_is_seen_by_all_gpms_after_a_fence() {
    for protocol in of_modules() {
        one_store_is_seen(&modules(protocol));
    }
}

#[test]
fn random_kernels_on_modules() {
    for protocol in of_modules() {
        let f = random_kernels(&modules(protocol), 5, 6);
        let (invs, directory) = (sum_of(&f, "msgs_inv"), protocol.directory().is_some());
        assert_eq!(invs > 0, directory, "{protocol:?}: {invs} invalidations");
    }
}

/// Kernels of random accesses: in each, a line is written by one CU at most, or only added to; every load of the next kernel must see it all.
fn random_kernels(p: &FabricParams, seed: u64, kernels: u64) -> Fabric {
    let mut f = Fabric::new(p);
    let mut rng = SmallRng::seed_from_u64(seed);
    let (cus, gpus) = (p.sys.l1s as usize, p.sys.nodes() as usize);
    let mut lines: Vec<u64> = (0..60)
        .map(|i| {
            let n = rng.random_range(0..16) + 64 * rng.random_range(0..8u64) + 1024 * rng.random_range(0..2);
            f.line_at(i % gpus as u64, n)
        })
        .collect();
    lines.sort_unstable();
    lines.dedup();
    let mut memory: HashMap<u64, Vec<u8>> = lines.iter().map(|l| (*l, f.initial(*l))).collect();
    for kernel in 1..=kernels {
        let mut loads = Vec::new();
        let mut next = memory.clone();
        for (i, line) in lines.iter().enumerate() {
            let writer = (rng.random_range(0..gpus), rng.random_range(0..cus));
            match (i as u64 + kernel) % 3 {
                0 => {
                    for _ in 0..rng.random_range(1..4) {
                        let mask = if rng.random_bool(0.3) { u64::MAX } else { rng.random::<u64>() };
                        let value = rng.random();
                        f.ask(writer.0, writer.1, request(Op::Store, *line, mask, value));
                        let bytes = next.get_mut(line).expect("a line in use");
                        (0..64).filter(|b| mask >> b & 1 == 1).for_each(|b| bytes[b] = value);
                    }
                }
                1 => {
                    for _ in 0..rng.random_range(0..3) {
                        let (g, c) = (rng.random_range(0..gpus), rng.random_range(0..cus));
                        f.ask(g, c, request(Op::Add, *line, 0xf0, 1));
                        let word = &mut next.get_mut(line).expect("a line in use")[4..8];
                        let sum = u32::from_le_bytes(word[..].try_into().expect("a word"));
                        word.copy_from_slice(&sum.wrapping_add(0x0101_0101).to_le_bytes());
                    }
                }
                _ => {
                    for _ in 0..rng.random_range(1..6) {
                        let (g, c) = (rng.random_range(0..gpus), rng.random_range(0..cus));
                        loads.push((g, c, *line, f.ask(g, c, request(Op::Load, *line, u64::MAX, 0))));
                    }
                }
            }
        }
        f.settle(kernel - 1);
        // Once more, so that L1s and remote L2s answer from their copies.
        let again: Vec<_> = loads
            .iter()
            .map(|l| (l.0, l.1, l.2, f.ask(l.0, l.1, request(Op::Load, l.2, u64::MAX, 0))))
            .collect();
        f.settle(kernel - 1);
        for (g, c, line, id) in loads.into_iter().chain(again) {
            let got = f.take(g, c, id).data;
            assert_eq!(got, memory[&line], "seed {seed}, kernel {kernel}: GPU {g} CU {c}, line {line:#x}");
        }
        memory = next;
        end_kernel(&mut f, kernel);
        begin_kernel(&mut f, kernel);
    }
    f
}

fn sum_of(f: &Fabric, probe: &str) -> u64 {
    f.sim.probes().filter(|p| p.name == probe).map(|p| p.count).sum()
}

#[test]
fn random_kernels_on_the_rec_directory() {
    let f = random_kernels(&tiny(Protocol::REC), 1, 12);
    assert!(sum_of(&f, "msgs_inv") > 100, "invalidations cross the links");
    assert!(sum_of(&f, "l1_hits") > 0);
    let mut covered = Covered::default();
    covered.add(f.seen(), 1);
    covered.publish("random_kernels_on_the_rec_directory");
    covered.assert_hit(&["rec.race.kernel_waits_all_gpus"]);
}

#[test]
fn random_kernels_on_every_other_directory() {
    for protocol in [Protocol::BASELINE, Protocol::BASELINE_2X, Protocol::HMG_ENTRY, Protocol::IDEAL] {
        let f = random_kernels(&tiny(protocol), 2, 6);
        assert!(sum_of(&f, "msgs_inv") > 0, "{protocol:?}: invalidations cross the links");
        // Only group Invs drop lines that were not written.
        let (wrong, all) = (sum_of(&f, "l2_inv_false_positive"), sum_of(&f, "l2_inv_hit_write"));
        assert!(
            wrong <= all && (wrong > 0) == (protocol == Protocol::HMG_ENTRY),
            "{protocol:?}: {wrong} of {all}"
        );
    }
}

#[test]
fn random_kernels_without_copies_in_the_l2() {
    for protocol in [Protocol::L1_ONLY, Protocol::NO_REMOTE_CACHING] {
        let f = random_kernels(&tiny(protocol), 3, 6);
        assert_eq!(sum_of(&f, "msgs_inv"), 0, "{protocol:?}: nothing to invalidate");
    }
}

#[test]
fn random_kernels_over_several_links() {
    for links in [2, 6] {
        let f = random_kernels(&FabricParams { links, ..tiny(Protocol::REC) }, 4, 6);
        let of_link = |k: u32, probe: &str| -> u64 {
            let unit = format!("link_tx{k}");
            f.sim.probes().filter(|p| p.unit.ends_with(&unit) && p.name == probe).map(|p| p.count).sum()
        };
        let reads: Vec<u64> = (0..links).map(|k| of_link(k, "msgs_rdreq")).collect();
        assert!(reads.iter().all(|n| *n > 0), "every link carries requests: {reads:?}");
    }
}

//! Small histories with one outcome that must not be.

use crate::rec_fabric::bench::{Fabric, Noise, Op, Request};
use crate::rec_fabric::tiny;
use std::sync::Arc;
use weft_blocks::common::link::LinkParams;
use weft_blocks::fabric::{FabricParams, Protocol};
use weft_blocks::msg::Sys;
use weft_engine::Design;

/// Room for eight ranges in each slice, and slow links: three wide bursts keep it busy for hundreds of cycles.
fn busy_directory(protocol: Protocol) -> FabricParams {
    let tiny = tiny(protocol);
    FabricParams {
        dir_entries: 16,
        dir_ways: 8,
        evb_depth: 1,
        l2_sets: 16,
        l2_ways: 8,
        link: LinkParams { bytes_per_cycle: 4, latency: 2, credits: [16, 16, 4] },
        sys: Sys { l2_mshrs: 32, l1_mshrs: 16, ..tiny.sys.clone() },
        ..tiny
    }
}

/// GPU 1 writes a line of GPU 0 while the directory is busy with evictions; GPU 2 reads the new value and releases; what GPU 3, which has an old
/// copy, loads after its acquire. `None`: GPU 2 was early and read the old value.
fn observed_write(p: &FabricParams, design: &Arc<Design>, delay: u64) -> Option<u8> {
    let mut f = Fabric::on(p, design, Noise::none());
    let line = |f: &Fabric, range: u64, n: u64| f.line_at(0, 128 * range + n);
    let load = |f: &mut Fabric, g: usize, c: usize, line: u64| {
        f.ask(g, c, Request { op: Op::Load, scope: 0, line, mask: u64::MAX, data: vec![0; 64] })
    };
    let x = line(&f, 3, 0);
    f.fill(x, vec![0; 64]);
    for range in 0..8 {
        for n in 0..if range < 3 { 16 } else { 1 } {
            for g in if range == 3 { [3, 3] } else { [1, 2] } {
                let at = line(&f, range, n);
                load(&mut f, g, 0, at);
            }
        }
        f.settle(0);
    }
    for range in 8..12 {
        let at = line(&f, range, 0);
        load(&mut f, 1, 0, at);
    }
    (0..12).for_each(|_| f.step());
    f.ask(1, 1, Request { op: Op::Store, scope: 2, line: x, mask: 0xf, data: vec![1; 64] });
    (0..delay).for_each(|_| f.step());
    let seen = load(&mut f, 2, 1, x);
    while !f.is_answered(2, 1, seen) {
        f.step();
    }
    if f.take(2, 1, seen).data[0] == 0 {
        return None;
    }
    f.start_fence(2, 1);
    while f.released(2) < 1 {
        f.step();
    }
    let acquire = f.ask(3, 0, Request { op: Op::Acquire, scope: 2, line: 0, mask: 0, data: vec![0; 64] });
    while !f.is_answered(3, 0, acquire) {
        f.step();
    }
    let again = load(&mut f, 3, 0, x);
    f.settle(0);
    Some(f.take(3, 0, again).data[0])
}

/// The new value may be read before the directory has dealt with the write; the reader's release must cover it all the same.
#[test]
fn a_release_covers_a_write_that_was_only_read() {
    let p = busy_directory(Protocol::REC);
    let design = Fabric::design(&p);
    let outcomes: Vec<Option<u8>> =
        (0..40).step_by(2).map(|delay| observed_write(&p, &design, delay)).collect();
    assert!(outcomes.iter().flatten().count() > 3, "GPU 2 is always early: {outcomes:?}");
    assert!(!outcomes.contains(&Some(0)), "GPU 3 loads the old value: {outcomes:?}");
}

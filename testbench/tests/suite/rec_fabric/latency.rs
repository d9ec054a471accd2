//! Time of a hit in the L2 (`l2_latency`): the queues before the banks take what a bank alone does not.

use crate::rec_fabric::bench::{Fabric, Op, Request};
use weft_blocks::fabric::{FabricParams, Protocol};

/// Cycles of a load of the line, from its request to the answer, in an idle fabric.
fn load(f: &mut Fabric, gpu: usize, cu: usize, line: u64) -> u64 {
    let begun = f.sim.cycle();
    let id = f.ask(gpu, cu, Request { op: Op::Load, scope: 0, line, mask: u64::MAX, data: vec![0; 64] });
    while !f.is_answered(gpu, cu, id) {
        f.step();
        assert!(f.sim.cycle() < begun + 10_000, "no answer");
    }
    let took = f.sim.cycle() - begun;
    f.settle(0);
    took
}

/// Hits of a line at home: for a CU of the home, and for one of another GPU, whose own bank is asked before.
fn hits(protocol: Protocol, l2_latency: u32) -> [u64; 2] {
    let p = FabricParams { l2_latency, ..FabricParams::scaled(protocol) };
    let mut f = Fabric::new(&p);
    let line = f.line_at(0, 5);
    load(&mut f, 0, 0, line);
    [load(&mut f, 0, 1, line), load(&mut f, 1, 0, line)]
}

#[test]
fn every_bank_on_the_way_takes_its_time() {
    let alone = hits(Protocol::REC, 3);
    for latency in [6, 30] {
        let waits = u64::from(latency - 3);
        assert_eq!(hits(Protocol::REC, latency), [alone[0] + waits, alone[1] + 2 * waits], "{latency}");
    }
}

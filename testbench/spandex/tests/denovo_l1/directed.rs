//! What random work hardly meets.

use crate::world::{Ask, DATA, LINE, Shape, World, small};
use weft_spandex::denovo_l1::Inject;
use weft_spandex::gpu_l1::SbDrain;
use weft_spandex::msg::RspOp;

fn quiet(inject: Inject) -> World {
    let mut w = World::new(&Shape { inject, ..small(SbDrain::Eager) }, 1);
    w.slow = 2;
    w.stop();
    w.run(60);
    w
}

fn store(byte: u8) -> Ask {
    Ask::Store(DATA.start, 0xf, vec![byte; LINE as usize], true)
}

const LOAD: Ask = Ask::Load(DATA.start, 0xf);

/// A read is under way while another device writes and this one acquires: what it brings is not kept. Without the mark it is.
#[test]
fn a_stale_read_installs_nothing() {
    for (inject, seen) in [(Inject::None, 7), (Inject::NoStale, 0)] {
        let mut w = quiet(inject);
        w.hold = vec![("d0_rsp", RspOp::RspV as u64)];
        w.asks(0, LOAD);
        w.run(100);
        w.does(1, store(7));
        w.does(0, Ask::Acquire);
        w.hold.clear();
        w.run(100);
        assert_eq!(w.last[&(DATA.start * LINE)], 0, "the load came before");
        w.does(0, LOAD);
        assert_eq!(w.last[&(DATA.start * LINE)], seen, "{inject:?}");
    }
}

/// Without work nothing changes, nor while everything waits: the engine skips the blocks.
#[test]
fn devices_in_which_nothing_can_happen_sleep() {
    let mut w = quiet(Inject::None);
    w.does(0, store(3));
    w.does(1, LOAD);
    (0..60).for_each(|_| w.b.sim.step());
    assert!(w.b.sim.asleep());
    w.hold = vec![("d0_rsp", RspOp::RspV as u64), ("d0_rsp", RspOp::RspO as u64)];
    w.asks(0, Ask::Load(DATA.start + 1, 0xf));
    w.asks(0, Ask::Store(DATA.start + 2, 0xf, vec![1; LINE as usize], true));
    w.run(100);
    (0..60).for_each(|_| w.b.sim.step());
    assert!(w.b.sim.asleep());
}

//! Every operation of an atomic at both widths and with extreme operands, here and at the L2.

use crate::l1_bench::ask::{Ask, RLX, extreme, word_of};
use crate::l1_bench::banks::LINE;
use crate::l1_bench::word_in;
use crate::srsp_l1::directed::quiet;
use crate::srsp_l1::world::World;
use rand::Rng;
use weft_srsp::msg::SyncOp;
use weft_srsp::params::Impl;
use weft_srsp_bench::arith::{OPS, apply};
use weft_srsp_bench::memory::Access;

const L: u64 = 0x4000;

/// A number whose exponent is near that of another one, so that their sum needs all of an adder.
fn float(w: &mut World, near: u64) -> u64 {
    let rng = &mut w.b.rng;
    let special = [0, 1, 0x007f_ffff, 0x0080_0000, 0x3f80_0000, 0x7f7f_ffff, 0x7f80_0000, 0x7fc0_0001];
    let sign = u64::from(rng.random::<bool>()) << 31;
    if rng.random_bool(0.3) {
        return sign | special[rng.random_range(0..special.len())];
    }
    let exp = ((near >> 23 & 0xff) + rng.random_range(0..60) + 226) % 256;
    let fraction = rng.random_range(0..1u64 << 23) & [u64::MAX, 0x40_0000, 0x7, 0][rng.random_range(0..4)];
    sign | exp << 23 | fraction
}

fn operands(w: &mut World, op: SyncOp, wide: bool) -> [u64; 3] {
    if op == SyncOp::Fadd32 {
        let old = w.b.rng.random::<u64>() & 0xffff_ffff;
        return [old, float(w, old), 0];
    }
    let old = extreme(&mut w.b.rng, 0);
    [old, extreme(&mut w.b.rng, old), extreme(&mut w.b.rng, old)].map(|word| word & word_of(wide))
}

/// A word is set, the operation done, the word read, so many times; nothing else of the line changes.
fn done_at(w: &mut World, (op, wide): (SyncOp, bool), scope: u64, times: usize) {
    // The line is here and may become dirty, so that answers keep their order.
    w.answer(Ask::End);
    w.answer(Ask::Load(L));
    let mut expected = Vec::new();
    for _ in 0..times {
        let word = w.b.rng.random_range(0..LINE / 4);
        let addr = L + 4 * if wide { word & !1 } else { word };
        let [old, opnd, cmp] = operands(w, op, wide);
        let ask = |op, opnd| Ask::Sync(Access { op, wide, addr, opnd, cmp }, (RLX, scope, false));
        for (ask, value) in [
            (ask(SyncOp::St, old), None),
            (ask(op, opnd), (op != SyncOp::St).then_some(old)),
            (ask(SyncOp::Ld, 0), Some(apply(op, wide, old, opnd, cmp).0)),
        ] {
            expected.push((w.ask(ask), ask, value));
        }
    }
    let size = if wide { 8 } else { 4 };
    for (id, ask, value) in expected {
        let (_, m) = w.answered_to(id);
        ask.check(&m);
        if let Some(value) = value {
            assert_eq!(word_in(&m, ask.addr(), size), value, "{ask:x?}");
        }
    }
}

#[test]
fn every_operation_with_extreme_operands() {
    let mut w = quiet(Impl::Srsp);
    for op in OPS {
        for wide in [false, true] {
            if wide && op == SyncOp::Fadd32 {
                continue;
            }
            let times = if op == SyncOp::Fadd32 { 1_500 } else { 120 };
            done_at(&mut w, (op, wide), 0, times);
            done_at(&mut w, (op, wide), 1, 4);
            done_at(&mut w, (op, wide), 2, 2);
        }
    }
}

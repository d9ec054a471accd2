//! Grouping of lanes by line, and by word where the L1 wants it.

use weft_workload::{Class, Values};

use super::*;

fn accesses(op: Op, params: &CuParams, mode: CuMode) -> Vec<LineAccess> {
    let script = Script::once(64, vec![op, Op::Await { tokens: vec![0] }, Op::End]);
    // A second step never happens: the first one ends the wave.
    let script = Script {
        steps: Box::new(move |frame, values| {
            let all = (script.steps)(frame, values);
            if frame.pc == 1 { all[..2].to_vec() } else { all[2..].to_vec() }
        }),
        ..Script::once(64, vec![])
    };
    let mut bench = script.bench(params, Port::FAST).with_mode(mode);
    bench.run().expect("runs");
    bench.taken().into_iter().map(|(_, a)| a.clone()).collect()
}

fn loads(addrs: Addrs, size: u8, mask: u64) -> Vec<LineAccess> {
    let access = Access::data(size, addrs, mask);
    accesses(Op::Load { token: 0, access }, &CuParams::default(), CuMode::default())
}

#[test]
fn lanes_are_grouped_by_line() {
    assert_eq!(loads(strided(0, 4), 4, u64::MAX).len(), 4);
    assert_eq!(loads(strided(4, 4), 4, u64::MAX).len(), 5, "a shifted base touches one line more");
    assert_eq!(loads(strided(0, 8), 8, u64::MAX).len(), 8);
    assert_eq!(loads(strided(8, 0), 4, u64::MAX).len(), 1, "one word");
    assert_eq!(loads(strided(0, 64), 4, u64::MAX).len(), 64);
    assert_eq!(loads(strided(0, 32), 4, 0xff).len(), 4);
    assert_eq!(loads(strided(0, 1), 1, u64::MAX).len(), 1);
    let mirrored = loads(strided(255, -1), 1, u64::MAX);
    assert_eq!((mirrored.len(), mirrored[0].mask), (1, u128::MAX >> 64));
    let wide = CuParams { line: 128, ..CuParams::default() };
    let access = Access::data(4, strided(0, 4), u64::MAX);
    assert_eq!(accesses(Op::Load { token: 0, access }, &wide, CuMode::default()).len(), 2);
}

#[test]
fn a_gather_goes_lowest_lane_first() {
    let mut list = vec![0; 64];
    list[..6].copy_from_slice(&[640, 4, 644, 8, 64, 640]);
    let got = loads(Addrs::Lanes(list), 4, 0b11_1111);
    let lines: Vec<_> = got.iter().map(|a| (a.line - OFFSET / 64, a.mask)).collect();
    assert_eq!(lines, [(10, 0xff), (0, 0xff0), (1, 0xf)]);
    assert!(got.iter().all(|a| a.op == CuOp::Ld && !a.want_ack && !a.sync));
}

#[test]
fn stores_carry_their_bytes_in_place_and_the_last_lane_wins() {
    let mut list = vec![0; 64];
    list[..4].copy_from_slice(&[2, 6, 6, 126]);
    let access = Access::data(2, Addrs::Lanes(list), 0xf);
    let values = Values::Lanes(vec![0x1_1111, 0x2222, 0x3333, 0x4444]);
    let got = accesses(Op::Store { access, values }, &CuParams::default(), CuMode::default());
    assert_eq!(got.len(), 2);
    assert_eq!((got[0].mask, got[0].data[0]), (0b1100_1100, 0x3333_0000_1111_0000));
    assert_eq!((got[1].line - OFFSET / 64, got[1].mask), (1, 3 << 62));
    assert_eq!(got[1].data[7], 0x4444 << 48);
}

#[test]
fn atomics_send_one_word_per_access_unless_the_cache_takes_more() {
    let mut list = vec![0; 64];
    list[..5].copy_from_slice(&[0, 4, 0, 64, 4]);
    let access = Access::data(4, Addrs::Lanes(list), 0x1f);
    let op = Op::Amo {
        token: 0,
        access,
        kind: AmoKind::Add,
        signed: false,
        values: Values::Const(1),
        compare: 0,
        ret: true,
    };
    let key = |a: &LineAccess| (a.line - OFFSET / 64, a.mask);
    let narrow: Vec<_> = accesses(op.clone(), &CuParams::default(), CuMode::default())
        .iter()
        .filter(|a| a.op == CuOp::Amo)
        .map(key)
        .collect();
    assert_eq!(narrow, [(0, 0xf), (0, 0xf0), (0, 0xf), (1, 0xf), (0, 0xf0)]);
    let mode = CuMode { wide_amo: true, ..CuMode::default() };
    let wide: Vec<_> =
        accesses(op, &CuParams::default(), mode).iter().filter(|a| a.op == CuOp::Amo).map(key).collect();
    assert_eq!(wide, [(0, 0xff), (0, 0xff), (1, 0xf)]);
}

/// Lanes 0 and 1 on neighbouring words, 2 on that of lane 0, 3 in another line.
#[test]
fn an_l1_that_orders_by_word_gets_one_word_at_a_time() {
    let ops = |size: u8, class| {
        let step = u64::from(size);
        let access = Access { class, ..Access::data(size, Addrs::Lanes(vec![0, step, 0, 128]), 0xf) };
        let values = Values::Lanes(vec![1, 2, 3, 4]);
        [Op::Load { token: 0, access: access.clone() }, Op::Store { access, values }]
    };
    let key = |a: &LineAccess| (a.line - OFFSET / 64, a.mask, a.data[0]);
    for (size, word) in [(4, 0xf), (8, 0xff)] {
        let second = word << size;
        let (last, pair) = if size == 4 { (3, 3 | 2 << 32) } else { (3, 3) };
        for (atomics, class, one) in [
            (Atomics::Word, Class::P, true),
            (Atomics::Word, Class::N, true),
            (Atomics::Word, Class::D, false),
            (Atomics::Words, Class::P, false),
            (Atomics::Data, Class::P, false),
        ] {
            let mode = CuMode { atomics, model: Model::Drfrlx, fused: true, ..CuMode::default() };
            let [load, store] = ops(size, class)
                .map(|op| accesses(op, &CuParams::default(), mode).iter().map(key).collect::<Vec<_>>());
            let (first, next) = if size == 4 { (last, 2 << 32) } else { (last, 0) };
            let stored = match one {
                true => vec![(0, word, first), (0, second, next), (2, word, 4)],
                false => vec![(0, word | second, pair), (2, word, 4)],
            };
            assert_eq!(store, stored, "{size} bytes, {atomics:?}, {class:?}");
            let loaded: Vec<_> = stored.iter().map(|(line, mask, _)| (*line, *mask, 0)).collect();
            assert_eq!(load, loaded, "{size} bytes, {atomics:?}, {class:?}");
        }
    }
}

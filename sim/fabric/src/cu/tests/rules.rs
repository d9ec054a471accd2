//! Order of one wave's accesses, barriers.

use weft_workload::{Class, LdsAccess, Scope, Sem, Values};

use super::*;

#[test]
fn lanes_on_one_word_see_one_another_in_lane_order() {
    let script = Script::of(64, 1, |frame, values| {
        if frame.pc == 1 {
            let access = Access::data(4, strided(0, 0), u64::MAX);
            return vec![add(0, access, true), Op::Await { tokens: vec![0] }];
        }
        assert_eq!(values.get(0), (0..64).collect::<Vec<u64>>());
        vec![Op::End]
    });
    let mut bench = script.bench(&CuParams::default(), Port::wild(3));
    bench.run().expect("runs");
    assert_eq!(bench.memory.word(0, 4), 64);
}

/// Accesses to one word without any wait between them, under a memory that performs loads late: program order holds.
#[test]
fn accesses_to_one_word_stay_in_order() {
    for seed in 0..200 {
        let script = Script::of(64, 1, |frame, values| {
            if frame.pc > 1 {
                let seen: Vec<u64> = (0..4).map(|t| values.lane(t, 0)).collect();
                assert_eq!(seen, [0, 7, 7, 9]);
                return vec![Op::End];
            }
            let relaxed = Access { class: Class::N, ..one(0) };
            let bytes = Op::Load { token: 3, access: Access { size: 1, ..one(0) } };
            vec![
                load(0, 0),
                store(0, 7),
                load(1, 0),
                add(2, relaxed, true),
                store(0, 9),
                bytes,
                Op::Await { tokens: vec![0, 1, 2, 3] },
            ]
        });
        let mode = CuMode { model: Model::Drfrlx, ..CuMode::default() };
        let mut bench = script.bench(&CuParams::default(), Port::wild(seed)).with_mode(mode);
        bench.run().expect("runs");
        assert_eq!(bench.memory.word(0, 4), 9);
    }
}

#[test]
fn only_the_same_word_is_held_back() {
    let ops = |second: Op| vec![load(0, 0), second, Op::End];
    let slow = Port { seed: 1, latency: 500, ..Port::FAST };
    let run = |second: Op| {
        let mut bench = Script::once(64, ops(second)).bench(&CuParams::default(), slow);
        bench.run().expect("runs");
        bench
    };
    let same = run(store(0, 1));
    assert!(same.times(CuOp::St, 0).0 >= same.times(CuOp::Ld, 0).1);
    let half = run(Op::Store {
        access: Access { size: 2, addrs: strided(2, 0), ..one(0) },
        values: Values::Const(1),
    });
    assert!(half.times(CuOp::St, 0).0 >= half.times(CuOp::Ld, 0).1, "part of the word");
    let next = run(store(4, 1));
    assert!(next.times(CuOp::St, 0).0 == next.times(CuOp::Ld, 0).0 + 1, "another word of the line");
    let other = run(Op::Load { token: 1, access: one(0) });
    let taken: Vec<u64> = other.taken().iter().map(|t| t.0).collect();
    assert_eq!(taken[1], taken[0] + 1, "two loads of one word");
}

#[test]
fn commutative_atomics_without_result_are_not_held_back() {
    let run = |ret| {
        let c = Access { class: Class::C, ..one(0) };
        let ops = vec![add(0, c.clone(), ret), add(1, c, ret), Op::End];
        let slow = Port { seed: 1, latency: 300, ..Port::FAST };
        let mode = CuMode { model: Model::Drfrlx, ..CuMode::default() };
        let mut bench = Script::once(64, ops).bench(&CuParams::default(), slow).with_mode(mode);
        bench.run().expect("runs");
        assert_eq!(bench.memory.word(0, 4), 2);
        let taken: Vec<u64> = bench.taken().iter().map(|t| t.0).collect();
        (taken[1] - taken[0], bench.times(CuOp::Amo, 0))
    };
    assert_eq!(run(false).0, 1);
    let (gap, (taken, answered)) = run(true);
    assert!(gap >= answered - taken);
}

#[test]
fn wave_mem_bounds_a_waves_accesses_in_flight() {
    for limit in [1, 3] {
        let access = Access::data(4, strided(0, 64), u64::MAX);
        let ops = vec![Op::Load { token: 0, access }, Op::End];
        let params = CuParams { wave_mem: limit, ..CuParams::default() };
        let mut bench = Script::once(64, ops).bench(&params, Port { seed: 1, latency: 20, ..Port::FAST });
        bench.run().expect("runs");
        let (mut now, mut most) = (0u32, 0);
        for (_, event) in &bench.events {
            match event {
                Event::Taken(_) => now += 1,
                Event::Answered(_) => now -= 1,
            }
            most = most.max(now);
        }
        assert_eq!(most, limit);
    }
}

/// (operation, sync, class) of each access, and that each is answered before the next is taken.
fn sequence(op: Op, mode: CuMode) -> Vec<(CuOp, bool, u8)> {
    let ops = vec![load(5, 1024), store(2048, 3), op, load(6, 3072), Op::End];
    let slow = Port { seed: 9, latency: 40, ..Port::FAST };
    let mut bench = Script::once(64, ops).bench(&CuParams::default(), slow).with_mode(mode);
    bench.run().expect("runs");
    let inner: Vec<_> = bench.taken().into_iter().map(|(t, a)| (t, a.clone())).collect();
    let count = inner.len();
    let middle = &inner[2..count - 1];
    let mut before = bench.times(CuOp::Ld, 1024).1;
    let ordered = middle.iter().any(|(_, a)| a.sync || matches!(a.op, CuOp::Rel | CuOp::Acq));
    for (taken, access) in middle.iter().filter(|_| ordered) {
        assert!(*taken > before, "{access:?} before the answer to the one before it");
        let answered = |e: &&(u64, Event)| e.0 > *taken && matches!(&e.1, Event::Answered(a) if a == access);
        before = bench.events.iter().find(answered).map(|e| e.0).expect("answered");
    }
    assert!(!ordered || bench.times(CuOp::Ld, 3072).0 > before, "the next access waits for the end");
    middle.iter().map(|(_, a)| (a.op, a.sync, a.class)).collect()
}

#[test]
fn paired_accesses_and_fences_make_their_sequences() {
    let p = |scope| Access { class: Class::P, scope, ..one(0) };
    let drf0 = CuMode::default();
    let scoped = CuMode { scopes: true, ..drf0 };
    let (rel, acq) = ((CuOp::Rel, false, 0), (CuOp::Acq, false, 0));
    let load = |a: Access| Op::Load { token: 0, access: a };
    let store = |a: Access| Op::Store { access: a, values: Values::Const(1) };
    let fence = |sem| Op::Fence { sem, scope: Scope::Gpu };
    assert_eq!(sequence(load(p(Scope::Sys)), drf0), [(CuOp::Ld, true, 1), acq]);
    assert_eq!(sequence(store(p(Scope::Sys)), drf0), [rel, (CuOp::St, true, 1)]);
    assert_eq!(sequence(add(0, p(Scope::Gpu), true), drf0), [rel, (CuOp::Amo, true, 1), acq]);
    let half = |sem| Access { sem, ..p(Scope::Sys) };
    assert_eq!(sequence(add(0, half(Sem::Acquire), true), drf0), [(CuOp::Amo, true, 1), acq]);
    assert_eq!(sequence(add(0, half(Sem::Release), true), drf0), [rel, (CuOp::Amo, true, 1)]);
    assert_eq!(sequence(fence(Sem::AcquireRelease), drf0), [rel, acq]);
    assert_eq!(sequence(fence(Sem::Acquire), drf0), [acq]);
    assert_eq!(sequence(fence(Sem::Release), drf0), [rel]);
    assert_eq!(sequence(add(0, p(Scope::Cu), true), scoped), [(CuOp::Amo, true, 1)]);
    assert_eq!(sequence(add(0, p(Scope::Cu), true), drf0).len(), 3, "without scopes all are of system scope");
    let fused = CuMode { fused: true, ..scoped };
    assert_eq!(sequence(add(0, p(Scope::Gpu), true), fused), [(CuOp::Amo, true, 1)], "the L1 does the rest");
    assert_eq!(sequence(store(p(Scope::Sys)), fused), [(CuOp::St, true, 1)]);
    assert_eq!(sequence(load(p(Scope::Sys)), fused), [(CuOp::Ld, true, 1)]);
    assert_eq!(sequence(fence(Sem::AcquireRelease), fused), [rel, acq]);
    let n = Access { class: Class::N, ..one(0) };
    assert_eq!(sequence(load(n.clone()), drf0), [(CuOp::Ld, true, 1), acq], "drf0 makes every atomic paired");
    let relaxed = CuMode { model: Model::Drfrlx, ..drf0 };
    assert_eq!(sequence(load(n.clone()), relaxed), [(CuOp::Ld, false, 4)]);
    let drf1 = CuMode { model: Model::Drf1, ..drf0 };
    assert_eq!(sequence(load(n), drf1), [(CuOp::Ld, false, 2)]);
}

/// Operations at the port with their scopes, kernel begin and end left out.
fn port(ops: Vec<Op>, mode: CuMode) -> Vec<(CuOp, u8)> {
    let mut bench = Script::once(64, ops).bench(&CuParams::default(), Port::wild(3)).with_mode(mode);
    bench.run().expect("runs");
    let inner = |a: &&LineAccess| !matches!(a.op, CuOp::Kbegin | CuOp::Kend);
    bench.taken().iter().map(|(_, a)| *a).filter(inner).map(|a| (a.op, a.scope)).collect()
}

#[test]
fn a_posted_store_is_released_before_the_next_atomic_access() {
    let posted = CuMode { posted: true, ..CuMode::default() };
    let scoped = CuMode { scopes: true, ..posted };
    let relaxed = CuMode { model: Model::Drfrlx, ..posted };
    let at = |class, scope, addr| Access { class, scope, ..one(addr) };
    let read = |class, scope| Op::Load { token: 0, access: at(class, scope, 64) };
    let write = |class, scope| Op::Store { access: at(class, scope, 128), values: Values::Const(1) };
    let cas = |scope| add(0, Access { sem: Sem::Acquire, ..at(Class::P, scope, 64) }, true);
    let fence = Op::Fence { sem: Sem::Release, scope: Scope::Gpu };
    let (rel, acq, st, ld, amo) = (CuOp::Rel, CuOp::Acq, CuOp::St, CuOp::Ld, CuOp::Amo);
    let (p, u, n, d) = (Class::P, Class::U, Class::N, Class::D);
    let (cu, gpu, sys) = (Scope::Cu, Scope::Gpu, Scope::Sys);
    let cases = [
        (posted, write(p, sys), read(p, sys), vec![(rel, 2), (st, 2), (rel, 2), (ld, 2), (acq, 2)]),
        (posted, write(p, sys), cas(sys), vec![(rel, 2), (st, 2), (rel, 2), (amo, 2), (acq, 2)]),
        (posted, write(p, sys), write(p, sys), vec![(rel, 2), (st, 2), (rel, 2), (st, 2)]),
        (posted, write(p, sys), read(d, sys), vec![(rel, 2), (st, 2), (ld, 0)]),
        (posted, write(d, sys), read(p, sys), vec![(st, 0), (ld, 2), (acq, 2)]),
        (scoped, write(p, gpu), read(p, sys), vec![(rel, 1), (st, 1), (rel, 1), (ld, 2), (acq, 2)]),
        (scoped, write(p, sys), write(p, gpu), vec![(rel, 2), (st, 2), (rel, 2), (st, 1)]),
        (scoped, write(p, cu), read(p, sys), vec![(st, 0), (ld, 2), (acq, 2)]),
        (relaxed, write(p, sys), read(n, sys), vec![(rel, 2), (st, 2), (rel, 2), (ld, 2)]),
        (relaxed, write(u, sys), read(u, sys), vec![(st, 2), (rel, 2), (ld, 2)]),
        (relaxed, write(n, sys), read(u, sys), vec![(st, 2), (ld, 2)]),
    ];
    for (mode, first, second, expected) in cases {
        let got = port(vec![first.clone(), second.clone(), Op::End], mode);
        assert_eq!(got, expected, "{first:?}, {second:?}, {mode:?}");
        let unposted = port(vec![first, second, Op::End], CuMode { posted: false, ..mode });
        assert!(unposted.len() <= expected.len());
    }
    let narrow = port(vec![write(p, sys), fence.clone(), read(p, sys), Op::End], scoped);
    assert_eq!(narrow[2..], [(rel, 1), (rel, 2), (ld, 2), (acq, 2)], "a fence that does not reach as far");
    let wide = port(vec![write(p, gpu), fence, read(p, sys), read(p, sys), Op::End], scoped);
    assert_eq!(wide[2..], [(rel, 1), (ld, 2), (acq, 2), (ld, 2), (acq, 2)], "one release is enough");
}

/// A barrier orders the waves of a work-group: what one of them has stored before it comes before what the others do.
#[test]
fn a_posted_store_is_released_by_the_waves_behind_a_barrier() {
    let script = || {
        Script::of(64, 2, |frame, _| {
            let paired = |addr| Access { class: Class::P, ..one(addr) };
            match (frame.pc, frame.wave) {
                (1, 0) => vec![Op::Store { access: paired(0), values: Values::Const(1) }, Op::Barrier],
                (1, _) => vec![Op::Barrier],
                (2, 1) => vec![Op::Load { token: 0, access: paired(64) }, Op::Await { tokens: vec![0] }],
                _ => vec![Op::End],
            }
        })
    };
    for (posted, releases) in [(false, 1), (true, 2)] {
        let mode = CuMode { posted, ..CuMode::default() };
        let mut bench = script().bench(&CuParams::default(), Port::FAST).with_mode(mode);
        bench.run().expect("runs");
        let count = bench.taken().iter().filter(|(_, a)| a.op == CuOp::Rel).count();
        assert_eq!(count, releases);
    }
}

#[test]
fn sequences_carry_scope_ordering_and_acknowledgement() {
    let access = Access { class: Class::P, scope: Scope::Gpu, ..one(0) };
    let ops = vec![Op::Store { access, values: Values::Const(1) }, Op::End];
    let mode = CuMode { scopes: true, ..CuMode::default() };
    let mut bench = Script::once(64, ops).bench(&CuParams::default(), Port::FAST).with_mode(mode);
    bench.run().expect("runs");
    let got: Vec<_> = bench.taken().iter().map(|(_, a)| (a.op, a.sem, a.scope, a.want_ack)).collect();
    assert_eq!(got, [(CuOp::Rel, 2, 1, true), (CuOp::St, 2, 1, true)]);
    let (first, last) = (&bench.events[0].1, &bench.events[bench.events.len() - 2].1);
    assert!(matches!(first, Event::Taken(a) if a.op == CuOp::Kbegin && a.sem == 1 && a.scope == 2));
    assert!(matches!(last, Event::Taken(a) if a.op == CuOp::Kend && a.sem == 2 && a.scope == 2));
}

#[test]
fn unpaired_accesses_go_one_at_a_time() {
    let u = |addr| Op::Load { token: addr as u32 / 64, access: Access { class: Class::U, ..one(addr) } };
    let ops = vec![u(0), load(9, 1024), u(64), Op::End];
    let mode = CuMode { model: Model::Drfrlx, ..CuMode::default() };
    let slow = Port { seed: 1, latency: 300, ..Port::FAST };
    let mut bench = Script::once(64, ops).bench(&CuParams::default(), slow).with_mode(mode);
    bench.run().expect("runs");
    assert_eq!(bench.times(CuOp::Ld, 1024).0, bench.times(CuOp::Ld, 0).0 + 1, "data go on");
    assert!(bench.times(CuOp::Ld, 64).0 > bench.times(CuOp::Ld, 0).1);
}

#[test]
fn sequential_consistency_performs_one_access_at_a_time() {
    let ops = vec![store(0, 1), store(64, 2), load(0, 128), load(1, 192), Op::End];
    let mode = CuMode { model: Model::Sc, ..CuMode::default() };
    let mut bench = Script::once(64, ops).bench(&CuParams::default(), Port::wild(4)).with_mode(mode);
    bench.run().expect("runs");
    let kinds: Vec<bool> = bench.events.iter().map(|(_, e)| matches!(e, Event::Taken(_))).collect();
    assert_eq!(kinds, [true, false].repeat(6), "taken, answered, taken, ...");
}

/// Each wave stores its number, waits at the barrier, and reads its neighbour's: through memory and the scratchpad.
fn exchange(frame: &mut Frame, values: &LoadedValues) -> Vec<Op> {
    let waves = 4;
    let (own, next) = (u64::from(frame.wave), u64::from((frame.wave + 1) % waves));
    let lds = |addr| LdsAccess { size: 4, addrs: strided(addr, 0), mask: 1 };
    match frame.pc {
        1 => {
            let mut ops: Vec<Op> = (0..own * 3).map(|_| compute(4, 0, vec![], None)).collect();
            ops.push(store(64 * own, own + 1));
            ops.push(Op::LdsStore { access: lds(4 * own), values: Values::Const(own + 10) });
            ops.push(Op::Barrier);
            ops
        }
        2 => vec![
            load(0, 64 * next),
            Op::LdsLoad { token: 1, access: lds(4 * next) },
            Op::Await { tokens: vec![0, 1] },
        ],
        _ => {
            assert_eq!((values.lane(0, 0), values.lane(1, 0)), (next + 1, next + 10));
            vec![Op::End]
        }
    }
}

#[test]
fn a_barrier_holds_until_all_are_there_and_their_stores_taken() {
    for seed in 0..50 {
        let script = Script { lds: 16, ..Script::of(64, 4, exchange) };
        let mut bench = script.bench(&CuParams::default(), Port::wild(seed));
        bench.run().expect("runs");
        let opened = bench.watch.barriers.clone();
        assert_eq!((opened.len(), bench.cu.counters().barriers), (1, 4));
        let (stores, loads): (Vec<_>, Vec<_>) =
            bench.taken().into_iter().partition(|(_, a)| a.op == CuOp::St);
        assert!(stores.iter().all(|(t, _)| *t <= opened[0].0));
        assert!(
            loads.iter().all(|(t, _)| *t >= opened[0].0 + 2),
            "released one tick later, sent one more later"
        );
        assert_eq!(bench.cu.counters().barriers_short, 0);
    }
}

#[test]
fn an_ended_wave_counts_as_arrived() {
    for late in [0, 1] {
        let script = Script::of(64, 2, move |frame, _| {
            let delay = compute(200, 0, vec![], Some(0));
            let slow = |last: Op| vec![delay.clone(), compute(1, 0, vec![0], None), last];
            match (frame.pc, frame.wave) {
                (1, 0) if late == 0 => slow(Op::End),
                (1, 0) => vec![Op::End],
                (1, _) if late == 1 => slow(Op::Barrier),
                (1, _) => vec![Op::Barrier],
                _ => vec![store(0, 1), Op::End],
            }
        });
        let mut bench = script.bench(&CuParams::default(), Port::FAST);
        bench.run().expect("runs");
        assert_eq!((bench.memory.word(0, 4), bench.cu.counters().barriers_short), (1, 1));
    }
}

#[test]
fn a_spinning_wave_sees_the_store_of_another_work_group() {
    let script = Script {
        blocks: 3,
        ..Script::of(64, 1, |frame, values| {
            let flag = |class| Access { class, ..one(0) };
            match frame.pc {
                1 if frame.block == 2 => {
                    let delay = compute(300, 0, vec![], Some(0));
                    let set = Op::Store { access: flag(Class::P), values: Values::Const(1) };
                    vec![delay, compute(1, 0, vec![0], None), store(512, 42), set, Op::End]
                }
                _ if values.lane(1, 0) == 42 => vec![Op::End],
                _ if values.lane(0, 0) == 1 => vec![load(1, 512), Op::Await { tokens: vec![1] }],
                _ => vec![Op::Load { token: 0, access: flag(Class::P) }, Op::Await { tokens: vec![0] }],
            }
        })
    };
    let mut bench = script.bench(&CuParams::default(), Port::wild(1));
    bench.run().expect("runs");
    assert_eq!(bench.cu.counters().blocks, 3);
}

#[test]
fn a_fabric_may_want_every_store_acknowledged() {
    let ops = vec![store(0, 1), store(64, 2), Op::End];
    let acks = |acks| {
        let mode = CuMode { acks, ..CuMode::default() };
        let mut bench =
            Script::once(64, ops.clone()).bench(&CuParams::default(), Port::wild(3)).with_mode(mode);
        bench.run().expect("runs");
        let stores = bench.taken().into_iter().filter(|(_, a)| a.op == CuOp::St);
        stores.map(|(_, a)| a.want_ack).collect::<Vec<_>>()
    };
    assert_eq!((acks(false), acks(true)), (vec![false; 2], vec![true; 2]));
}

#[test]
fn accesses_tell_their_wave_and_its_operation() {
    let two_lines = Op::Load { token: 0, access: Access { addrs: strided(0, 64), mask: 3, ..one(0) } };
    let release = Op::Fence { sem: Sem::Release, scope: Scope::Sys };
    let ops = vec![two_lines, store(256, 1), release, load(1, 512), Op::End];
    let script = Script::of(64, 2, move |_, _| ops.clone());
    let mut bench = script.bench(&CuParams::default(), Port::wild(5));
    bench.run().expect("runs");
    let ops = bench.taken().into_iter().map(|(_, a)| a.op);
    let taken: Vec<(Issuer, CuOp)> = bench.issuers.iter().flatten().copied().zip(ops).collect();
    for wave in 0..2 {
        let own = taken.iter().filter(|(of, _)| of.who.wave == wave);
        let own: Vec<(u32, CuOp)> = own.map(|(of, op)| (of.operation, *op)).collect();
        let expected = [(0, CuOp::Ld), (0, CuOp::Ld), (1, CuOp::St), (2, CuOp::Rel), (3, CuOp::Ld)];
        assert_eq!(own, expected, "wave {wave}");
    }
    let without = bench.issuers.iter().filter(|of| of.is_none()).count();
    assert_eq!((taken.len(), without), (10, 2), "kernel begin and end are nobody's");
}

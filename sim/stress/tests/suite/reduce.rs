//! What is left of a failing case is what makes it fail.

use weft_stress::program::{Kernel, Program, Wave};
use weft_stress::reduce::{Case, reduce};
use weft_workload::op::{Addrs, Unit};
use weft_workload::trace::op::{TraceAccess, TraceOp, TraceValue};

fn access(lanes: u64, first: u64) -> TraceAccess {
    TraceAccess::data(4, Addrs::Lanes((0..64).map(|lane| first + 4 * lane).collect()), lanes)
}

fn load(token: u32, first: u64) -> TraceOp {
    TraceOp::Load { token, access: access(0xff, first) }
}

fn store(first: u64) -> TraceOp {
    TraceOp::Store { access: access(0xff00, first), value: TraceValue::Unique }
}

fn case() -> Case {
    let pause = || TraceOp::Compute { unit: Unit::Alu, latency: 3, token: None, needs: vec![] };
    let wave = |unit, number| {
        let at = u64::from(unit) << 12 | u64::from(number) << 8;
        let waits = TraceOp::Await { tokens: vec![0, 1] };
        let ops = vec![pause(), load(0, at), store(at), load(1, at), TraceOp::Barrier, waits, store(at + 64)];
        Wave { unit, number, ops }
    };
    let kernel = || Kernel { copies: vec![(0, 64)], waves: (0..6).map(|n| wave(n / 2, n % 2)).collect() };
    let keys = ["l1_size=256", "l2_mshrs=4", "ways=1"].map(String::from).to_vec();
    Case {
        keys,
        program: Program { lanes: 64, units: 3, cores: 0, waves: 2, kernels: vec![kernel(), kernel()] },
    }
}

fn touches(ops: &[TraceOp], wanted: fn(&TraceOp) -> bool, addr: u64) -> bool {
    let lanes = |op: &TraceOp| -> Vec<u64> {
        let access = op.access().expect("an access");
        (0..64).filter(|lane| access.mask >> lane & 1 == 1).map(|lane| access.addrs.at(lane)).collect()
    };
    ops.iter().filter(|op| wanted(op)).any(|op| lanes(op).contains(&addr))
}

/// It fails if one key is there, and in one kernel a wave stores to an address and another one loads from another.
fn fails(case: &Case) -> bool {
    let (store, load) = (0x1120 + 64, 0x2004);
    let of = |wave: &Wave, wanted, addr| touches(&wave.ops, wanted, addr);
    case.keys.iter().any(|key| key == "l2_mshrs=4")
        && case.program.kernels.iter().any(|kernel| {
            kernel.waves.iter().any(|w| of(w, |op| matches!(op, TraceOp::Store { .. }), store))
                && kernel.waves.iter().any(|w| of(w, |op| matches!(op, TraceOp::Load { .. }), load))
        })
}

#[test]
fn only_what_is_needed_is_left() {
    assert!(fails(&case()));
    let mut asked = 0;
    let (small, runs) = reduce(&case(), 1000, &mut |case| {
        asked += 1;
        // Each is a legal trace: what is waited for is under way.
        weft_workload::trace::text::read(
            weft_workload::trace::text::write(&case.program.trace()).as_bytes(),
            "a",
        )
        .expect("a trace");
        fails(case)
    });
    assert!(fails(&small) && runs == asked && runs < 200, "{runs} runs");
    assert_eq!(small.keys, ["l2_mshrs=4"]);
    let [kernel] = &small.program.kernels[..] else { panic!("{small:?}") };
    let left: Vec<(u32, u32, usize)> = kernel.waves.iter().map(|w| (w.unit, w.number, w.ops.len())).collect();
    assert_eq!(left, [(1, 1, 1), (2, 0, 1)], "{small:?}");
    assert!(kernel.copies.is_empty());
    assert_eq!(small.program.operations(), 2, "a lane each");
}

#[test]
fn runs_are_not_more_than_allowed() {
    for most in [0, 1, 7] {
        let (small, runs) = reduce(&case(), most, &mut fails);
        assert!(runs <= most && fails(&small));
        assert!(most > 0 || small == case());
    }
}

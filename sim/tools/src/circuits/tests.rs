//! Campaigns of a few circuits, and peers that are wrong on purpose.

use super::*;
use weft_rtl::ir::Op;
use weft_rtl::verilog::emit;

fn plan(count: u64, with: &[Peer]) -> Plan {
    Plan {
        seed: 1,
        first: 0,
        count,
        cycles: 60,
        with: with.to_vec(),
        budget: None,
        jobs: 1,
        planted: None,
        reduce: 400,
    }
}

fn made(plan: Plan) -> Made {
    Campaign::new(plan, Arc::default()).run(&|_| {})
}

fn agree(plan: Plan) {
    let count = plan.count;
    let made = made(plan);
    assert_eq!(made.circuits, count, "{:?}", made.failing.map(|failing| (failing.number, failing.fault)));
}

#[test]
fn native_code_and_interpreter_agree_on_random_circuits() {
    agree(plan(300, &[Peer::Interpreter]));
}

#[test]
fn all_peers_agree_on_random_circuits() {
    agree(Plan { first: 300, ..plan(50, &Peer::ALL) });
}

#[test]
fn long_all_peers_agree_on_random_circuits() {
    agree(Plan { first: 350, ..plan(400, &Peer::ALL) });
}

#[test]
fn jobs_change_nothing() {
    let of = |jobs| {
        let planted = Some("swapped".to_string());
        let made = made(Plan { jobs, planted, reduce: 40, ..plan(300, &[Peer::Interpreter]) });
        let failing = made.failing.expect("a fault is planted");
        (made.circuits, failing.number, failing.shows, emit(&failing.left))
    };
    assert_eq!(of(1), of(3));
}

/// A peer that is wrong in each kind of place is seen, and little is left of the circuit that shows it.
#[test]
fn a_peer_that_is_wrong_is_seen_and_the_circuit_made_small() {
    for (kind, with) in [
        ("swapped", Peer::Interpreter),
        ("off-by-one", Peer::Icarus),
        ("and-or", Peer::Interpreter),
        ("stale", Peer::Interpreter),
        ("dropped-write", Peer::Interpreter),
        ("wrong-slice", Peer::Interpreter),
    ] {
        let found = made(Plan { planted: Some(kind.into()), ..plan(300, &[with]) });
        let failing = found.failing.unwrap_or_else(|| panic!("{kind} is not seen"));
        let whole = circuit(1, failing.number);
        let size =
            |module: &Module| module.nodes.iter().filter(|node| !matches!(node.op, Op::Const(_))).count();
        assert!(
            size(&failing.left) <= size(&whole).min(12),
            "{kind}: {} of {}",
            size(&failing.left),
            size(&whole)
        );
        assert!(failing.shows.starts_with("output "), "{kind}: {}", failing.shows);
    }
}

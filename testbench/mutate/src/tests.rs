//! What is the same hardware, and what is not.

use super::*;
use weft_rtl::mutant::{Kind, describe, plant};
use weft_rtl::prelude::*;

/// The smaller of two numbers, and a mark in a state that is millions of cycles away.
fn block(width: u32) -> Arc<Module> {
    let module = Module::build(&format!("least_w{width}"), ModuleKind::Block, || {
        let (a, b) = (input::<Bits>("a", width), input::<Bits>("b", width));
        let least = output_reg::<Bits>("least", width);
        let cycle = reg::<Bits>("cycle", 32);
        let late = output_reg::<Bool>("late", ());
        let file = regfile::<Bits>("file", 4, width);
        let writer = file.lane_writer("write");
        cycle.set(cycle.get() + 1);
        late.set(cycle.get().eq(0x00de_adbe) & a.any());
        least.set(mux(a.lt(b), a, b));
        assert_always("low", least.get().le(file.read(lit(0, 2))) | least.get().ge(0), "always");
        writer.write(a.resize(2), &b);
        let read = output_reg::<Bits>("read", width);
        read.set(file.read(b.resize(2)));
    });
    module.expect("elaborates")
}

fn judged(place: &str, kind: &str) -> Judged {
    let top = block(4);
    let all = choose(&top, 10_000, 1, true);
    let fits = |c: &&Candidate| {
        c.mutant.kind.to_string() == kind && describe(&c.module, &c.mutant).starts_with(place)
    };
    let mutant = &all.iter().find(fits).unwrap_or_else(|| panic!("no {kind} of {place}")).mutant;
    let subject = Subject::new(&top, 400, 1).expect("a design");
    subject.judge(&plant(mutant, || block(4))).expect("a design")
}

#[test]
fn a_mutant_that_is_the_same_by_construction_is_proved_so() {
    // Which of two equal numbers is taken does not show.
    assert_eq!(judged("lt(a, b)", "off-by-one").verdict, Verdict::Equivalent);
    assert!(matches!(judged("lt(a, b)", "swapped").verdict, Verdict::Different { .. }));
}

#[test]
fn a_mutant_that_differs_only_in_a_rare_state_is_not_the_same() {
    for kind in ["off-by-one", "and-or"] {
        let place = if kind == "and-or" { "and(" } else { "eq(cycle" };
        let verdict = judged(place, kind).verdict;
        let rare = kind == "off-by-one";
        assert_eq!(verdict == Verdict::Undecided, rare, "{kind}: {verdict:?}");
        assert_ne!(verdict, Verdict::Equivalent, "{kind}");
    }
}

#[test]
fn a_block_in_a_fabric_is_the_block_with_the_mutant() {
    let fabric = Module::build("pair", ModuleKind::Fabric, || {
        for name in ["left", "right"] {
            let inst = instance(name, &block(4));
            for port in ["a", "b"] {
                let value = input::<Bits>(&format!("{port}_of_{name}"), 4);
                inst.drive_bits(port, value);
            }
        }
    });
    let fabric = fabric.expect("elaborates");
    let chosen = choose(&fabric, 40, 1, false);
    assert_eq!(chosen.len(), 40);
    let subject = Subject::new(&chosen[0].block, 400, 1).expect("a design");
    let other = |c: &&Candidate| {
        let judged = subject.judge(&c.applied().expect("a place")).expect("a design");
        matches!(judged.verdict, Verdict::Different { .. })
    };
    assert!(chosen.iter().filter(other).count() > 20);
}

#[test]
fn a_write_that_is_dropped_shows() {
    let verdict = judged("file_write_en", "dropped-write").verdict;
    assert!(matches!(verdict, Verdict::Different { ref port, .. } if port == "read"), "{verdict:?}");
}

#[test]
fn mutants_are_chosen_in_turn_of_kinds_and_more_begin_with_the_same() {
    let top = block(4);
    let [few, many] =
        [8, 60].map(|count| choose(&top, count, 7, false).into_iter().map(|c| c.mutant).collect::<Vec<_>>());
    assert_eq!((few.len(), many.len()), (8, 60));
    assert_eq!(few[..], many[..8]);
    let mut kinds: Vec<&str> = few.iter().map(|m| m.kind.name()).collect();
    kinds.dedup();
    assert!(kinds.len() >= 7, "{kinds:?}");
    assert!(few.iter().all(|m| m.module == "least_*"));
    let other: Vec<_> = choose(&top, 60, 8, false).into_iter().map(|c| c.mutant).collect();
    assert_ne!(many, other);
    assert!(many.iter().any(|m| m.kind == Kind::DroppedWrite));
}

#[test]
fn a_family_is_named_by_what_comes_before_its_parameters() {
    for (module, wanted) in [
        ("lr_tbl_16x46", "lr_tbl_*"),
        ("rec_l2_bank_b64_w16", "rec_l2_bank_*"),
        ("fifo", "fifo"),
        ("gpu0_of_four", "gpu0_of_four"),
        ("l1_cache_s4_bound", "l1_cache_*"),
    ] {
        assert_eq!(family(module), wanted);
    }
}

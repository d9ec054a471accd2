//! Mutants: each kind changes what it says and nothing else; places are found again; what is changed is still legal.

use proptest::prelude::*;
use weft_engine::random::random_module;
use weft_engine::{Design, Options, Sim};
use weft_rtl::ir::Op;
use weft_rtl::lower::flatten;
use weft_rtl::mutant::{Kind, Mutant, apply, describe, plant, sites};
use weft_rtl::prelude::*;

/// The same logic twice, for the outputs `y` and `z`; mutants of the first are looked at.
fn twice(logic: impl Fn(Bits, Bits, Bool) -> Bits) -> Arc<Module> {
    let module = Module::build("tiny_w4", ModuleKind::Part, || {
        let (a, b) = (input::<Bits>("a", 4), input::<Bits>("b", 4));
        let c = input::<Bool>("c", ());
        unused_input(&a);
        unused_input(&b);
        unused_input(&c);
        let y = logic(a, b, c);
        let z = logic(a, b, c);
        output::<Bits>("y", y.width()).set(y);
        output::<Bits>("z", z.width()).set(z);
    });
    module.expect("elaborates")
}

/// The first place for a kind, as the text of the kind has it.
fn first(module: &Module, kind: &str) -> Mutant {
    // A bit of an input is stuck for both outputs.
    let own = |m: &Mutant| !kind.starts_with("stuck") || describe(module, m).contains('(');
    let found = sites(module).into_iter().find(|m| m.kind.to_string() == kind && own(m));
    found.unwrap_or_else(|| panic!("{} has no place for {kind}", module.name))
}

fn simulation(module: &Module) -> Sim {
    Sim::new(&Design::new(&Arc::new(module.clone()), Options::default()).expect("a design"))
}

/// All values of `y` and `z`, by `a`, `b` and `c`.
fn table(module: &Module) -> Vec<[u64; 5]> {
    let mut sim = simulation(module);
    let [a, b, c] = ["a", "b", "c"].map(|name| sim.input(name).expect("a port"));
    let [y, z] = ["y", "z"].map(|name| sim.output(name).expect("a port"));
    let mut out = Vec::new();
    for at in 0..512 {
        let row = [at & 15, at >> 4 & 15, at >> 8];
        [a, b, c].into_iter().zip(row).for_each(|(port, value)| sim.set(port, value));
        out.push([row[0], row[1], row[2], sim.get(y), sim.get(z)]);
        sim.step();
    }
    out
}

/// Both outputs are `right` in the module; in the mutant the first one is `wrong`.
fn becomes(
    kind: &str,
    logic: impl Fn(Bits, Bits, Bool) -> Bits,
    right: fn(u64, u64, bool) -> u64,
    wrong: fn(u64, u64, bool) -> u64,
) {
    let module = twice(logic);
    let mutant = first(&module, kind);
    for [a, b, c, y, z] in table(&module) {
        assert_eq!([y, z], [right(a, b, c == 1); 2], "{mutant} is not yet planted");
    }
    for [a, b, c, y, z] in table(&apply(&module, &mutant).expect("a place")) {
        assert_eq!([y, z], [wrong(a, b, c == 1), right(a, b, c == 1)], "{mutant}: {a} {b} {c}");
    }
}

#[test]
fn each_kind_of_expression_changes_what_it_says_and_only_that() {
    let both = |a: Bits, b: Bits, _: Bool| a & b;
    becomes("stuck1.2", |a, b, _| a ^ b, |a, b, _| a ^ b, |a, b, _| (a ^ b) | 4);
    becomes("and-or", both, |a, b, _| a & b, |a, b, _| a | b);
    let difference = |a: Bits, b: Bits, _: Bool| a - b;
    becomes("swapped", difference, |a, b, _| a.wrapping_sub(b) & 15, |a, b, _| b.wrapping_sub(a) & 15);
    becomes(
        "off-by-one",
        difference,
        |a, b, _| a.wrapping_sub(b) & 15,
        |a, b, _| (a + 1).wrapping_sub(b) & 15,
    );
    becomes("off-by-one", |a, b, _| a + b, |a, b, _| (a + b) & 15, |a, b, _| (a + b + 1) & 15);
    let less = |a: Bits, b: Bits, _: Bool| a.lt(b).bits();
    becomes("swapped", less, |a, b, _| u64::from(a < b), |a, b, _| u64::from(b < a));
    becomes("off-by-one", less, |a, b, _| u64::from(a < b), |a, b, _| u64::from(a <= b));
    let three = |a: Bits, _: Bits, _: Bool| a.eq(3).bits();
    becomes("negated", three, |a, _, _| u64::from(a == 3), |a, _, _| u64::from(a != 3));
    becomes("off-by-one", three, |a, _, _| u64::from(a == 3), |a, _, _| u64::from(a == 4));
    let choice = |a, b, c| mux(c, a, b);
    becomes("negated", choice, |a, b, c| if c { a } else { b }, |a, b, c| if c { b } else { a });
    becomes("wrong-slice", |a, _, _| a.slice(1, 2), |a, _, _| a >> 1 & 3, |a, _, _| a >> 2 & 3);
    becomes("wrong-slice", |a, _, _| a.slice(2, 2), |a, _, _| a >> 2 & 3, |a, _, _| a >> 1 & 3);
    becomes("swapped", |a, b, _| cat(&[a, b]), |a, b, _| a << 4 | b, |a, b, _| b << 4 | a);
}

/// States of a tiny machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, weft_rtl::HwEnum)]
enum Step {
    Idle,
    Busy,
    Done,
}

/// A machine that goes once around, counts and writes a memory; its register after a cycle is watched.
fn machine() -> Arc<Module> {
    let module = Module::build("machine_x1", ModuleKind::Block, || {
        let go = input::<Bool>("go", ());
        let state = reg::<Enum<Step>>("state", ());
        let count = output_reg::<Bits>("count", 4);
        let shown = output_reg::<Bits>("shown", 4);
        let seen = reg::<Bits>("seen", 4);
        let file = regfile::<Bits>("file", 2, 4);
        let write = file.lane_writer("write");
        seen.set(count.get());
        let (next, now) = (count.get() + 1, count.get());
        count.on_next(move |after| assert_always("moves", after.eq(now) | after.eq(next), "by one at most"));
        assert_always("seen", seen.get().le(count.get()), "what was seen was there");
        shown.set(file.read(lit(1, 1)));
        switch(state.get(), |s| {
            s.case(Step::Idle, || {
                when(go, || state.set(Step::Busy));
            });
            s.case(Step::Busy, || {
                count.set(count.get() + 1);
                write.write(lit(1, 1), &count.get());
                state.set(Step::Done);
            });
            s.case(Step::Done, || state.set(Step::Idle));
        });
    });
    module.expect("elaborates")
}

/// `count` and `shown` after so many cycles with `go`, and whether an assertion failed.
fn after(module: &Module, cycles: u64, go: u64) -> ([u64; 2], bool) {
    let mut sim = simulation(module);
    sim.set(sim.input("go").expect("a port"), go);
    (0..cycles).for_each(|_| sim.step());
    let outputs = ["count", "shown"].map(|name| sim.get(sim.output(name).expect("a port")));
    (outputs, !sim.failures().is_empty())
}

#[test]
fn each_kind_of_statement_changes_what_it_says_and_only_that() {
    let module = machine();
    assert_eq!(after(&module, 9, 1), ([3, 2], false));
    assert_eq!(after(&module, 9, 0), ([0, 0], false));
    let planted = |kind: &str, place: &str| {
        let fits = |m: &&Mutant| m.kind.to_string() == kind && describe(&module, m).contains(place);
        let all = sites(&module);
        apply(&module, all.iter().find(fits).expect("a place")).expect("a place")
    };
    assert_eq!(after(&planted("negated", "when go"), 9, 0).0, [3, 2]);
    assert_eq!(after(&planted("negated", "when go"), 9, 1).0, [0, 0]);
    assert_eq!(after(&planted("dropped-write", "file_write_en"), 9, 1).0, [3, 0]);
    assert_eq!(after(&planted("stale", "count = add"), 9, 1).0, [0, 0]);
    assert_eq!(after(&planted("stale", "state = DONE"), 9, 1).0, [8, 6]);
    assert_eq!(after(&planted("skipped-state", "BUSY, for state"), 9, 1).0, [0, 0], "from idle to done");
    assert_eq!(after(&planted("skipped-state", "DONE, for state"), 9, 1).0, [4, 3], "from busy to idle");
}

#[test]
fn what_only_observers_read_has_no_place() {
    let module = machine();
    let places: Vec<String> = sites(&module).iter().map(|m| describe(&module, m)).collect();
    assert!(places.iter().any(|place| place.starts_with("count = ")), "{places:?}");
    assert!(!places.iter().any(|place| place.contains("seen")), "{places:?}");
}

#[test]
fn a_mutant_is_planted_where_its_name_fits_and_observers_of_the_next_state_see_it() {
    let module = machine();
    let twice = |m: &&Mutant| m.kind == Kind::OffByOne && describe(&module, m) == "add(count, 1), for count";
    let all = sites(&module);
    let exact = all.iter().find(twice).expect("a place").clone();
    for name in ["machine_x1", "machine_*", "*"] {
        let mutant = Mutant { module: name.into(), ..exact.clone() };
        let (outputs, failed) = after(&plant(&mutant, machine), 9, 1);
        assert_eq!((outputs[0], failed), (6, true), "{mutant}");
    }
    assert_eq!(after(&machine(), 9, 1), ([3, 2], false), "nothing is left behind");
    let other = Mutant { module: "machine_x2".into(), ..exact.clone() };
    assert_eq!(after(&plant(&other, machine), 9, 1), ([3, 2], false));
    let stale = all.iter().find(|m| describe(&module, m).starts_with("count = ")).expect("a place");
    assert_eq!(after(&plant(stale, machine), 9, 1).0, [0, 0]);
}

#[test]
fn a_place_that_is_not_there_is_a_mistake_if_the_module_is_named() {
    let at = |module: &str| Mutant { line: 1, module: module.into(), ..first(&machine(), "stale") };
    let build = || Module::build("machine_x1", ModuleKind::Part, || output::<Bits>("y", 1).set(lit(1, 1)));
    let error = plant(&at("machine_x1"), build).expect_err("no such place").to_string();
    assert!(error.ends_with("has no such place; `weft mutate` lists those that there are"), "{error}");
    assert!(plant(&at("machine*"), build).is_ok());
    let wide = Mutant { kind: Kind::Stuck { bit: 4, one: true }, ..first(&machine(), "stuck1.3") };
    assert!(apply(&machine(), &wide).is_err(), "there is no such bit");
}

#[test]
fn places_are_the_same_each_time_and_each_only_once() {
    for seed in 0..4 {
        let build = || random_module(seed, 40).expect("elaborates");
        let all = sites(&build());
        assert_eq!(all, sites(&build()));
        let mut once = all.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), all.len());
    }
}

#[test]
fn every_mutant_of_random_circuits_is_legal() {
    for seed in 0..6 {
        let module = random_module(seed, 30).expect("elaborates");
        let before = flatten(&module).expect("flat");
        for mutant in sites(&module) {
            let changed = apply(&module, &mutant).expect("a place");
            assert_eq!(changed.signals.len(), module.signals.len());
            for node in &changed.nodes {
                if let Op::And(a, b) | Op::Or(a, b) | Op::Add(a, b) | Op::Mux(_, a, b) = node.op {
                    let widths = [a, b].map(|operand| changed.node(operand).width);
                    assert_eq!(widths, [node.width; 2], "{mutant}");
                }
            }
            let flat = flatten(&Arc::new(changed)).unwrap_or_else(|e| panic!("{mutant}: {e}"));
            assert_eq!((flat.regs.len(), flat.mems.len()), (before.regs.len(), before.mems.len()));
            assert_eq!(flat.probes.len(), before.probes.len());
        }
    }
}

fn any_kind() -> impl Strategy<Value = Kind> {
    let stuck = (any::<u32>(), any::<bool>()).prop_map(|(bit, one)| Kind::Stuck { bit, one });
    let rest = [
        Kind::Swapped,
        Kind::Negated,
        Kind::AndOr,
        Kind::OffByOne,
        Kind::DroppedWrite,
        Kind::Stale,
        Kind::WrongSlice,
        Kind::SkippedState,
    ];
    prop_oneof![stuck, proptest::sample::select(rest.to_vec())]
}

proptest! {
    #[test]
    fn a_mutant_is_read_as_it_was_written(
        module in "[a-z_0-9]{1,20}\\*?", file in "[a-zA-Z0-9_/.#:]{1,30}", line in any::<u32>(), nth in any::<u32>(),
        kind in any_kind()
    ) {
        let mutant = Mutant { module, file, line, nth, kind };
        prop_assert_eq!(mutant.to_string().parse(), Ok(mutant));
    }

    #[test]
    fn any_other_text_is_refused(text in "[a-z@:#0-9.]{0,30}") {
        if let Ok(mutant) = text.parse::<Mutant>() {
            prop_assert_eq!(mutant.to_string(), text);
        }
    }
}

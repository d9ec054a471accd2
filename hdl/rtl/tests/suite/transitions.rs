//! Transition tables: what is refused by the compiler, at elaboration, and while the hardware runs.

use weft_engine::design::{Design, Options};
use weft_engine::sim::Sim;
use weft_rtl::prelude::*;
use weft_rtl::transitions::Fault;

#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
enum State {
    I,
    P,
    V,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
enum Event {
    #[hw(label = "load")]
    Load,
    #[hw(label = "fill")]
    Fill,
    #[hw(label = "Inv")]
    Inv,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
enum Act {
    Ask,
    Answer,
    Drop,
}

/// What is left out, or written twice.
#[derive(Clone, Copy, PartialEq)]
enum Slip {
    None,
    Missing,
    Overlap,
    RowAndNever,
}

transitions! {
    /// A cache of one line.
    fn line(slip: Slip) {
        name "line", rows "cache.";
        on "state": State, "event": Event;
        next State;
        does Act;

        (I, Load) -> P [Ask]       "Ask for the line.";
        (V, Load)      [Answer]    "Answer.";
        (P, Fill) -> V [Answer]    "It is here.";
        if slip != Slip::Missing {
            (V, Inv) -> I [Drop]   "It goes.";
        }
        idle (I, Inv)              "no copy";
        never (P, Load | Inv)      "whoever asks waits";
        never (I | V, Fill)        "nothing was asked for";
        if slip == Slip::Overlap {
            "again" (_, Inv)       "a second row for V";
        }
        if slip == Slip::RowAndNever {
            never (V, Inv)         "and it has a row";
        }
    }
}

#[test]
fn a_sound_table_has_no_fault_and_names_its_rows() {
    let table = line(Slip::None);
    assert_eq!(table.faults(), []);
    let ids: Vec<&str> = table.rows().iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids, ["cache.I.load", "cache.V.load", "cache.P.fill", "cache.V.Inv"]);
    let page = table.to_markdown();
    let lines: Vec<&str> = page.lines().collect();
    assert_eq!(lines[0], "| row | state | event | next | actions | meaning |");
    assert_eq!(lines[2], "| `cache.I.load` | I | load | P | Ask | Ask for the line. |");
    assert_eq!(lines[6], "| idle | I | Inv | | | no copy |");
    assert_eq!(lines[7], "| never | P | load, Inv | | | whoever asks waits |");
}

#[test]
fn a_missing_combination_and_two_rows_for_one_are_faults() {
    let missing = line(Slip::Missing).faults();
    assert!(
        matches!(&missing[..], [Fault::Missing { pair, count: 1, .. }] if pair == "V.Inv"),
        "{missing:?}"
    );
    // The second row meets what is idle, and the row of V; that P meets an Inv never happens.
    let overlap = line(Slip::Overlap).faults();
    let rows = |fault: &Fault| match fault {
        Fault::Overlap { first, second, .. } => (first.clone(), second.clone()),
        other => panic!("{other:?}"),
    };
    let said: Vec<(String, String)> = overlap.iter().map(rows).collect();
    let expected = [("cache.again", "idle (I.Inv)"), ("cache.V.Inv", "cache.again")];
    assert_eq!(said, expected.map(|(a, b)| (a.to_string(), b.to_string())));
    let dead = line(Slip::RowAndNever).faults();
    assert!(matches!(&dead[..], [Fault::Dead { row, .. }] if row == "cache.V.Inv"), "{dead:?}");
}

/// A block that follows the table; `wrong`: it keeps its line when it is invalidated.
fn block(slip: Slip, wrong: bool) -> Result<Arc<Module>, ElabErrors> {
    Module::build("cache", ModuleKind::Block, || {
        let valid = input::<Bool>("valid", ());
        let event = input::<Enum<Event>>("what", ());
        let state = output_reg::<Enum<State>>("state", ());
        let row = line(slip).decode(valid, (state.get(), event));
        let after = wire_or::<Enum<State>>("after", (), state.get());
        when(valid, || {
            when(row.does(Act::Ask), || after.set(State::P));
            when(row.does(Act::Answer), || after.set(State::V));
            when(row.does(Act::Drop) & bool_lit(!wrong), || after.set(State::I));
        });
        state.set(after.get());
        row.leads_to(after.get());
    })
}

#[test]
fn elaboration_refuses_a_faulty_table() {
    let said = |slip| block(slip, false).expect_err("refused").to_string();
    let text = said(Slip::Missing);
    assert!(
        text.contains("table line says nothing of V.Inv (1 combinations in all): write a row, `idle` or")
    );
    assert!(text.contains("transitions.rs:"), "{text}");
    let text = said(Slip::Overlap);
    assert!(
        text.contains(
            "cache.V.Inv and cache.again both speak of V.Inv; a combination that happens has one row"
        ),
        "{text}"
    );
}

/// Clocks events through a block and gives the name of the first assertion that fails.
fn first_failure(module: &Arc<Module>, events: &[u64]) -> Option<String> {
    let mut sim = Sim::new(&Design::new(module, Options::default()).expect("a design"));
    let valid = sim.input("valid").expect("a port");
    let event = sim.input("what").expect("a port");
    for code in events {
        sim.set(valid, 1);
        sim.set(event, *code);
        sim.step();
    }
    sim.failures().first().map(|failure| failure.name.clone())
}

#[test]
fn what_never_happens_and_another_next_state_fail_assertions() {
    let sound = block(Slip::None, false).expect("sound");
    assert_eq!(first_failure(&sound, &[0, 1, 0, 2, 2]), None);
    assert_eq!(first_failure(&sound, &[0, 0]).as_deref(), Some("line_complete"), "whoever asks waits");
    let wrong = block(Slip::None, true).expect("elaborates");
    assert_eq!(first_failure(&wrong, &[0, 1, 2]).as_deref(), Some("line_next"), "it keeps its line");
}

/// The table drives the register, or the block moves it itself and is observed; `wrong`: an Inv is not obeyed.
fn several(drives: bool, wrong: bool) -> Arc<Module> {
    let module = Module::build("several", ModuleKind::Block, || {
        let (valid, event) = (input::<Bool>("valid", ()), input::<Enum<Event>>("what", ()));
        let state = output_reg::<Enum<State>>("state", ());
        let fired = [Event::Load, Event::Fill, Event::Inv].map(|e| (e, valid & event.is(e)));
        if drives {
            line(Slip::None).drive(&state, &fired);
            return;
        }
        line(Slip::None).observe(&state, &fired);
        switch(state.get(), |s| {
            s.case(State::I, || {
                when(fired[0].1, || state.set(State::P));
            });
            s.case(State::P, || {
                when(fired[1].1, || state.set(State::V));
            });
            s.case(State::V, || {
                when(fired[2].1 & bool_lit(!wrong), || state.set(State::I));
            });
        });
    });
    module.expect("elaborates")
}

#[test]
fn a_register_follows_its_table_or_an_assertion_fails() {
    for drives in [true, false] {
        assert_eq!(first_failure(&several(drives, false), &[0, 1, 0, 2, 0]), None, "drives: {drives}");
    }
    assert_eq!(first_failure(&several(false, true), &[0, 1, 2]).as_deref(), Some("line_next"));
    assert_eq!(first_failure(&several(true, false), &[0, 0]).as_deref(), Some("line_load_listed"));
}

transitions! {
    /// Rows of a state that nothing leads to.
    fn lost() {
        name "lost", rows "lost.";
        on "state": State;
        next State;

        "go" (I) -> P "On.";
        "end" (P) -> I "Back.";
        "never_seen" (V) -> I "Nobody comes here.";
    }
}

#[test]
fn a_state_that_nothing_leads_to_is_refused() {
    let machine = Machine::new("lines", State::I).with(&lost());
    assert_eq!(machine.unreached(), [State::V]);
    let build = |machine: Machine<State>, absent: &'static [State]| {
        Module::build("m", ModuleKind::Part, move || machine.check(absent)).err().map(|e| e.to_string())
    };
    let text = build(machine.clone(), &[]).expect("refused");
    assert!(text.contains("machine lines: no row leads to state V"), "{text}");
    assert_eq!(build(machine.clone(), &[State::V]), None);
    assert_eq!(machine.clone().also(&[State::P], State::V).unreached(), []);
    assert_eq!(machine.changes(), [(0, 1), (1, 0), (2, 0)]);
    let svg = machine.to_svg();
    assert!(
        svg.starts_with("<svg") && ["lines", ">I<", ">P<", ">V<"].iter().all(|word| svg.contains(word)),
        "{svg}"
    );
}

//! Transition tables in part, tables that see a state in other words, and states of many entries.

use weft_engine::design::{Design, Options};
use weft_engine::sim::Sim;
use weft_rtl::prelude::*;
use weft_rtl::transitions::{Fault, Happens, follows, rows_of_entries};

#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
enum State {
    Free,
    Open,
    Gone,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
enum Event {
    Ask,
    Answer,
    Look,
}

transitions! {
    /// An entry of a list. Nothing is said of a look at one that is gone.
    fn entry() {
        name "entry", rows "entry.";
        on "state": State, "event": Event;
        next State;

        (Free, Ask) -> Open                "It is taken.";
        (Open, Answer) -> Gone             "It is answered.";
        "busy" (Open | Gone, Ask)          "Another one is taken.";
        "looked_at" (Free | Open, Look)    "Nothing moves.";
        never (Free | Gone, Answer)        "nothing was asked";
    }
}

#[test]
fn a_part_of_a_table_has_the_rows_of_its_values() {
    assert!(matches!(&entry().faults()[..], [Fault::Missing { pair, .. }] if pair == "Gone.Look"));
    let asks = entry().only("asks", &[Event::Ask]);
    assert_eq!((asks.name(), asks.faults()), ("asks", vec![]));
    let ids = |table: &Transitions<(State, Event), State, NoAction>| {
        table.rows().iter().map(|row| row.id.clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&asks), ["entry.Free.Ask", "entry.busy"]);
    let open = entry().only("open", &[State::Open]);
    assert_eq!(ids(&open), ["entry.Open.Answer", "entry.busy", "entry.looked_at"]);
    assert!(open.rows().iter().all(|row| row.when[0] == [State::Open.encoding()]));
    assert_eq!(open.faults(), [], "what is missing is of another state");
    let looks = entry().only("looks", &[Event::Look, Event::Answer]);
    assert!(matches!(&looks.faults()[..], [Fault::Missing { pair, .. }] if pair == "Gone.Look"));
}

/// How a table without a column for the state sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
enum Seen {
    Idle,
    Busy,
}

transitions! {
    /// The same, seen from outside.
    fn outside() {
        name "outside", rows "outside.";
        on "seen": Seen;
        next State;

        (Idle) -> Open   "It is taken.";
        (Busy)           "It stays.";
    }
}

#[test]
fn a_table_that_sees_a_state_in_other_words_moves_it() {
    let from_free = outside().moves(|row| if row.next.is_empty() { vec![] } else { vec![State::Free] });
    assert_eq!(from_free.rows().len(), 1, "a row that leads nowhere moves nothing");
    let machine = Machine::new("entry", State::Free).with(&from_free);
    assert_eq!((machine.changes(), machine.unreached()), (vec![(0, 1)], vec![State::Gone]));
}

/// A register behind a table that has no column with its state: taken while it is free; `slips`: it goes then, and `lost`: it goes when it should stay.
fn behind(slips: bool, lost: bool) -> Arc<Module> {
    let module = Module::build("behind", ModuleKind::Block, || {
        let ask = input::<Bool>("ask", ());
        let state = output_reg::<Enum<State>>("state", ());
        let busy = !state.get().is(State::Free);
        let row = outside().decode(ask, (busy.bits().as_enum::<Seen>(),));
        when(ask & !busy, || state.set(if slips { State::Gone } else { State::Open }));
        when(ask & busy & bool_lit(lost), || state.set(State::Free));
        let before = state.get();
        state.on_next(move |after| row.leads_from_to(before, after));
    });
    module.expect("elaborates")
}

/// Name of the first assertion that fails when all inputs are as given, for some cycles.
fn first_failure(module: &Arc<Module>, inputs: &[(&str, u64)], cycles: u32) -> Option<String> {
    let mut sim = Sim::new(&Design::new(module, Options::default()).expect("a design"));
    inputs.iter().for_each(|(name, value)| sim.set(sim.input(name).expect("a port"), *value));
    (0..cycles).for_each(|_| sim.step());
    sim.failures().first().map(|failure| failure.name.clone())
}

#[test]
fn a_state_without_a_column_moves_and_stays_as_the_rows_say() {
    let asked = [("ask", 1)];
    assert_eq!(first_failure(&behind(false, false), &asked, 3), None);
    assert_eq!(first_failure(&behind(true, false), &asked, 3).as_deref(), Some("outside_next"));
    assert_eq!(first_failure(&behind(false, true), &asked, 3).as_deref(), Some("outside_keeps"));
    assert_eq!(first_failure(&behind(true, true), &[("ask", 0)], 3), None, "nothing is asked");
}

/// Three entries as two planes; `to`: which of them an event of the port meets. `slips`: entry 2 does not move.
fn list(slips: bool) -> Arc<Module> {
    let module = Module::build("list", ModuleKind::Block, || {
        let (asked, answered) = (input::<Bits>("asked", 3), input::<Bits>("answered", 3));
        let (low, high) = (output_reg::<Bits>("low", 3), output_reg::<Bits>("high", 3));
        let moved = if slips { lit(0b011, 3) } else { lit(0b111, 3) };
        let (table, free) = (entry(), !low.get() & !high.get());
        low.set((low.get() | (asked & free & moved)) & !answered);
        high.set(high.get() | answered);
        let events = [Happens::new(Event::Ask, asked), Happens::new(Event::Answer, answered)];
        let rows: Vec<_> = table.rows().iter().collect();
        let after = rows_of_entries("list", &rows, &[low.get(), high.get()], &events);
        after_cycle(move |left| {
            let differs = (left.of(&low) ^ after[0]) | (left.of(&high) ^ after[1]);
            follows("list", differs, lit(0, 3));
        });
    });
    module.expect("elaborates")
}

#[test]
fn entries_move_as_the_rows_say_each_by_itself() {
    let sound = list(false);
    assert_eq!(first_failure(&sound, &[("asked", 0b101), ("answered", 0)], 3), None);
    let early = first_failure(&sound, &[("asked", 0), ("answered", 0b010)], 1);
    assert_eq!(early.as_deref(), Some("list_answer_listed"), "nothing was asked");
    assert_eq!(first_failure(&list(true), &[("asked", 0b011), ("answered", 0)], 2), None);
    let stuck = first_failure(&list(true), &[("asked", 0b100), ("answered", 0)], 2);
    assert_eq!(stuck.as_deref(), Some("list_next"));
}

//! Rows that several tables include.

use weft_engine::design::{Design, Options};
use weft_engine::sim::Sim;
use weft_rtl::prelude::*;
use weft_rtl::transitions::Fault;

#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
enum State {
    I,
    V,
    D,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
enum Event {
    Pop,
    Evict,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
enum Act {
    Drop,
    Write,
}

/// States of a cache that has more of them, in another order, with an action more.
mod other {
    use super::*;

    #[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
    pub enum State {
        D,
        O,
        V,
        I,
    }

    #[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
    pub enum Act {
        Return,
        Write,
        Drop,
    }

    transitions! {
        /// A table of another module, with other types.
        pub fn leaving() {
            name "other_leaving", rows "other.";
            on "event": Event, "state": State;
            next State;
            does Act;

            include super::evicted;
            (Evict, O) -> I [Return]   "Given back.";
            include super::popped(I | V | O, "Dead, or owned.");
        }
    }
}

transitions! {
    /// A line whose frame is taken.
    rows evicted {
        (Evict, I)                     "A free frame.";
        (Evict, V) -> I [Drop]         "Dropped.";
        (Evict, D) -> I [Write, Drop]  "Written back.";
    }
}

transitions! {
    /// A line at the head of the FIFO.
    rows popped(dead, why) {
        "dead" (Pop, dead)             why;
        (Pop, D) -> V [Write]          "Written back; clean.";
    }
}

transitions! {
    /// Both, and a row more where it is wished.
    rows leaves(dead, again) {
        include evicted;
        include popped(dead, "Dead.");
        if again {
            "again" (_, V)             "A second row for V.";
        }
    }
}

transitions! {
    fn leaving(again: bool) {
        name "leaving", rows "cache.";
        on "event": Event, "state": State;
        next State;
        does Act;

        include leaves(I | V, again);
    }
}

transitions! {
    /// With a row of its own for what an included one speaks of; `late`: behind it.
    fn twice(late: bool) {
        name "twice", rows "twice.";
        on "event": Event, "state": State;
        next State;
        does Act;

        if !late {
            "own" (Evict, V) -> I [Drop] "Dropped.";
        }
        include evicted;
        if late {
            "own" (Evict, V) -> I [Drop] "Dropped.";
        }
        never (Pop, _)                 "nothing is popped";
    }
}

transitions! {
    /// Without the rows of what is popped.
    fn half() {
        name "half", rows "half.";
        on "event": Event, "state": State;
        next State;
        does Act;

        include evicted;
    }
}

#[test]
fn included_rows_are_rows_of_the_table_at_their_place() {
    let table = leaving(false);
    assert_eq!(table.faults(), []);
    let ids: Vec<&str> = table.rows().iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids, ["cache.Evict.I", "cache.Evict.V", "cache.Evict.D", "cache.dead", "cache.Pop.D"]);
    assert_eq!(table.rows()[2].actions, [Act::Write, Act::Drop]);
    assert!(
        table.to_markdown().contains("| `cache.dead` | Pop | I, V |  |  | Dead. |"),
        "{}",
        table.to_markdown()
    );
    let other = other::leaving();
    assert_eq!(other.faults(), []);
    let ids: Vec<&str> = other.rows().iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids[2..5], ["other.Evict.D", "other.Evict.O", "other.dead"]);
    assert_eq!(other.rows()[1].when, [[Event::Evict.encoding()], [other::State::V.encoding()]]);
    assert_eq!(other.rows()[1].next, [other::State::I.encoding()]);
    assert_eq!(other.rows()[4].why, "Dead, or owned.");
}

#[test]
fn overlaps_and_missing_combinations_are_told_of_included_rows() {
    let said = |late| match &twice(late).faults()[..] {
        [Fault::Overlap { first, second, .. }] => (first.clone(), second.clone()),
        other => panic!("{other:?}"),
    };
    assert_eq!(said(true), ("twice.Evict.V".to_string(), "twice.own".to_string()));
    assert_eq!(said(false), ("twice.own".to_string(), "twice.Evict.V".to_string()));
    assert!(matches!(&half().faults()[..], [Fault::Missing { pair, count: 3, .. }] if pair == "Pop.I"));
    let nested = leaving(true).faults();
    assert!(matches!(&nested[0], Fault::Overlap { second, .. } if second == "cache.again"), "{nested:?}");
    for late in [false, true] {
        let build = || {
            let (valid, event) = (input::<Bool>("valid", ()), input::<Enum<Event>>("what", ()));
            twice(late).decode(valid, (event, input::<Enum<State>>("state", ())));
        };
        let text = Module::build("m", ModuleKind::Block, build).expect_err("refused").to_string();
        let both = text.contains("twice.Evict.V") && text.contains("twice.own");
        assert!(both && text.contains("both speak of Evict.V") && text.contains("table twice"), "{text}");
        assert!(text.contains("transitions_included.rs:"), "{text}");
    }
}

#[test]
fn included_rows_decode() {
    let module = Module::build("m", ModuleKind::Block, || {
        let (valid, event) = (input::<Bool>("valid", ()), input::<Enum<Event>>("what", ()));
        let state = input::<Enum<other::State>>("state", ());
        let row = other::leaving().decode(valid, (event, state));
        output_reg::<Bool>("writes", ()).set(row.does(other::Act::Write));
        output_reg::<Bool>("dead", ()).set(row.row("other.dead"));
    });
    let mut sim = Sim::new(&Design::new(&module.expect("elaborates"), Options::default()).expect("a design"));
    let port = |sim: &Sim, name| sim.input(name).expect("a port");
    let (valid, event, state) = (port(&sim, "valid"), port(&sim, "what"), port(&sim, "state"));
    let (writes, dead) = (sim.output("writes").expect("a port"), sim.output("dead").expect("a port"));
    sim.set(valid, 1);
    for (what, line, expected) in [
        (Event::Pop, other::State::D, (1, 0)),
        (Event::Pop, other::State::O, (0, 1)),
        (Event::Evict, other::State::V, (0, 0)),
        (Event::Evict, other::State::D, (1, 0)),
    ] {
        sim.set(event, what.encoding());
        sim.set(state, line.encoding());
        sim.step();
        assert_eq!((sim.get(writes), sim.get(dead)), expected, "{what:?} {line:?}");
    }
    assert_eq!(sim.failures().len(), 0);
}

//! Pictures: changes of state are those that statements and assertions allow; ports and rows are named as in the hardware.

use weft_rtl::picture::Picture;
use weft_rtl::prelude::*;

#[derive(Clone, Copy, PartialEq, Debug, HwEnum)]
enum Step {
    First,
    Second,
    Third,
}

/// The arrows and bows of the first state machine: each ends in a head of its own.
fn changes(describe: impl FnOnce(Bool, &Reg<Enum<Step>>)) -> usize {
    let module = Module::build("steps", ModuleKind::Block, || {
        let go = input::<Bool>("go", ());
        let state = reg::<Enum<Step>>("state", ());
        describe(go, &state);
        output_reg::<Bool>("busy", ()).set(!state.is(Step::First) | go);
    })
    .expect("legal");
    let svg = Picture::of(&module).svg();
    // Two heads are those of the ports, one is that of the reset; no machine is drawn without a change.
    svg.matches("fill=\"currentColor\"/>").count().saturating_sub(3)
}

#[test]
fn a_chain_has_an_arrow_per_step() {
    let count = changes(|go, state| {
        switch(state.get(), |s| {
            s.case(Step::First, || {
                when(go, || state.set(Step::Second));
            });
            s.case(Step::Second, || state.set(Step::Third));
        });
    });
    assert_eq!(count, 2);
}

#[test]
fn without_a_condition_every_state_may_change() {
    assert_eq!(
        changes(|go, state| {
            when(go, || state.set(Step::Third));
        }),
        2
    );
}

#[test]
fn conditions_on_the_state_are_followed_through_wires_and_choices() {
    let count = changes(|go, state| {
        let early = wire::<Bool>("early", ());
        early.set(!state.is(Step::Third) & go);
        when(early.get() & !state.is(Step::Second), || state.set(Step::Second));
        when(!early.get() & state.is(Step::Third), || {
            state.set(mux(go, enum_lit(Step::First), enum_lit(Step::Third)));
        });
    });
    // First to Second, Third to First.
    assert_eq!(count, 2);
}

#[test]
fn assertions_take_changes_away() {
    let count = changes(|go, state| {
        when(go, || state.set(Step::Second));
        assert_always("only_at_first", !(go & !state.is(Step::First)), "go comes at first");
    });
    assert_eq!(count, 1);
}

#[test]
fn a_register_that_takes_any_value_is_no_machine() {
    let count = changes(|go, state| {
        let asked = input::<Enum<Step>>("asked", ());
        when(go, || state.set(asked));
    });
    // The head of the third port's arrow stands where the reset's would.
    assert_eq!(count, 0);
}

#[test]
fn like_channels_are_one_and_rows_show_their_parts() {
    #[derive(Clone, Copy, Bundle)]
    struct Entry {
        valid: Bool,
        #[width(12)]
        tag: Bits,
    }
    let module = Module::build("ways", ModuleKind::Block, || {
        let rows = sram::<Entry>("rows", 16, 4, ());
        let (port, writer) = (rows.read_port("look"), rows.row_writer("fill"));
        for i in 0..3 {
            let ask = in_channel::<Bits>(&format!("ask{i}"), &4);
            when(ask.valid, || {
                ask.take();
                port.present(ask.msg);
                writer.write(ask.msg, &port.row());
            });
        }
        output_reg::<Bits>("tag", 12).set(port.lane(1).tag);
    })
    .expect("legal");
    let svg = Picture::of(&module).svg();
    for text in ["ask0..2: data 4", "tag 12", "rows: SRAM, 16 rows of 4 lanes of 13 bits", "tag", "valid"] {
        assert!(svg.contains(&format!(">{text}<")), "{text} is missing in\n{svg}");
    }
    assert!(!svg.contains("ask1"));
}

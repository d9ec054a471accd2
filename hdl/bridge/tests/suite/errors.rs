//! What cannot be bridged is refused in a sentence that says why and what to do; and what a declaration looks like.

use rust_hdl_core::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use weft_rtl::ir::{Module, ModuleKind};
use weft_rtl::prelude::{Bool, input, output, output_reg};
use weft_rust_hdl::{Prepared, declaration, weft_block};

weft_block! {
    struct Queue<const W: usize> {
        pub in_valid: Signal<In, Bit>,
        pub in_data: Signal<In, Bits<W>>,
        pub in_ready: Signal<Out, Bit>,
        pub out_valid: Signal<Out, Bit>,
        pub out_data: Signal<Out, Bits<W>>,
        pub out_ready: Signal<In, Bit>,
    }
}

weft_block! {
    struct Wrong {
        pub in_valid: Signal<Out, Bit>,
        pub in_data: Signal<In, Bits<8>>,
        pub in_ready: Signal<Out, Bit>,
        pub full: Signal<Out, Bit>,
        pub out_valid: Signal<Out, Bits<1>>,
        pub out_data: Signal<Out, Bits<16>>,
    }
}

fn fifo(width: u32) -> Arc<Module> {
    let given = [("depth", "4".to_string()), ("width", width.to_string())];
    let given: BTreeMap<String, String> = given.map(|(k, v)| (k.to_string(), v)).into();
    weft_catalog::build("fifo", &given).expect("legal parameters")
}

fn build(name: &str, kind: ModuleKind, describe: impl FnOnce()) -> Arc<Module> {
    Module::build(name, kind, describe).expect("elaborates")
}

const DECLARATION: &str = "\
weft_block! {
    /// Queue between two channels: rows of storage in front of a registered output.
    pub struct Wrong {
        pub in_valid: Signal<In, Bit>,
        pub in_data: Signal<In, Bits<16>>,
        pub in_ready: Signal<Out, Bit>,
        pub out_valid: Signal<Out, Bit>,
        pub out_data: Signal<Out, Bits<16>>,
        pub out_ready: Signal<In, Bit>,
    }
}
";

#[test]
fn every_difference_is_named_with_the_declaration_that_fits() {
    let error = Wrong::new(&fifo(16)).err().expect("other ports").to_string();
    let expected = "Wrong does not have the ports of module fifo_4x16: in_valid is In, not Out, in_data has 16 bits, not 8, \
                    it has no full, out_ready is not declared; declare it as\n";
    assert_eq!(error, format!("{expected}{DECLARATION}"));
}

#[test]
fn a_constant_parameter_is_checked_against_the_module() {
    assert!(Queue::<16>::new(&fifo(16)).is_ok());
    let error = Queue::<15>::new(&fifo(16)).err().expect("another width").to_string();
    assert!(error.contains("in_data has 16 bits, not 15, out_data has 16 bits, not 15;"), "{error}");
}

#[test]
fn a_part_and_a_passed_input_are_refused() {
    let part = build("inverter", ModuleKind::Part, || {
        let a = input::<Bool>("a", ());
        output::<Bool>("y", ()).set(!a);
    });
    let error = Prepared::new(&part).err().expect("a part").to_string();
    assert!(error.ends_with("build it with ModuleKind::Block") && error.contains("inverter"), "{error}");
    let through = build("through", ModuleKind::Fabric, || {
        output::<Bool>("y", ()).set(input::<Bool>("a", ()));
    });
    let error = Prepared::new(&through).err().expect("a passed input").to_string();
    assert!(error.starts_with("output y of module through is an input passed through"), "{error}");
}

#[test]
fn taken_names_get_an_underscore() {
    let module = build("odd", ModuleKind::Block, || {
        let taken = ["clock", "reset", "core", "crate", "match"].map(|name| input::<Bool>(name, ()));
        let odd = taken.into_iter().reduce(|a, b| a ^ b).expect("five");
        output_reg::<Bool>("move", ()).set(odd);
    });
    let declared = declaration(&module, "Odd");
    for field in ["clock_: ", "reset_: ", "core_: ", "crate_: ", "match_: ", "move_: "] {
        assert!(declared.contains(&format!("pub {field}")), "{declared}");
    }
}

weft_block! {
    struct Alarm {
        pub bell: Signal<In, Bit>,
        pub rang: Signal<Out, Bit>,
    }
}

#[test]
#[should_panic(
    expected = "assertion silence of alarm failed in cycle 1: the bell never rings (hdl/bridge/tests/suite/errors.rs:"
)]
fn a_failed_assertion_stops_the_simulation() {
    let module = build("alarm", ModuleKind::Block, || {
        let bell = input::<Bool>("bell", ());
        output_reg::<Bool>("rang", ()).set(bell);
        weft_rtl::prelude::assert_always("silence", !bell, "the bell never rings");
    });
    let mut alarm = Alarm::new(&module).expect("its ports");
    for cycle in 0..3 {
        alarm.bell.next = cycle == 1;
        for level in [false, true] {
            alarm.clock.next = level.into();
            assert!(simulate(&mut alarm, 10), "settles");
        }
    }
}

#[test]
fn messages_wider_than_a_machine_word_pass() {
    let mut queue = Queue::<200>::new(&fifo(200)).expect("its ports");
    let message = (bits::<200>(0xdead_beef_0123_4567) << 130) | bits::<200>(5);
    let (mut taken, mut seen) = (false, None);
    for _ in 0..6 {
        queue.in_valid.next = !taken;
        taken |= queue.in_ready.val();
        queue.in_data.next = message;
        queue.out_ready.next = true;
        for level in [false, true] {
            queue.clock.next = level.into();
            assert!(simulate(&mut queue, 10), "settles");
        }
        if queue.out_valid.val() {
            seen = Some(queue.out_data.val());
        }
    }
    assert_eq!(seen, Some(message));
    assert_eq!(queue.core().sim().cycle(), 6);
}

fn can_be_declared(block: &str, given: &BTreeMap<String, String>) {
    let module = weft_catalog::build(block, given).expect("legal parameters");
    assert!(Prepared::new(&module).is_ok(), "{block}");
    let fields = declaration(&module, "Any").matches(": Signal<").count();
    assert_eq!(fields, module.ports().count(), "{block}");
}

#[test]
fn every_block_can_be_declared() {
    for (block, sets) in weft_catalog::sets::all() {
        can_be_declared(block, &weft_catalog::sets::given(sets[1]));
    }
}

#[test]
fn long_every_published_block_can_be_declared() {
    for info in weft_catalog::blocks() {
        can_be_declared(info.name, &BTreeMap::new());
    }
}

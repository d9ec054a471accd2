//! Every mistake in a description is reported with its line and a sentence; these tests pin the sentences.

use weft_rtl::lower::flatten;
use weft_rtl::prelude::*;

fn sentence(describe: impl FnOnce()) -> String {
    let errors = Module::build("broken", ModuleKind::Part, describe).expect_err("the description is wrong");
    let text = errors.0[0].to_string();
    assert!(text.contains("errors.rs:"), "no source line in: {text}");
    assert_eq!(errors.0.len(), 1, "one mistake, one sentence: {errors}");
    text.split("module broken: ").nth(1).expect("names the module").to_string()
}

#[test]
fn width_mismatch() {
    let text = sentence(|| {
        let (a, b) = (input::<Bits>("a", 4), input::<Bits>("b", 5));
        output::<Bits>("y", 4).set(a + b);
    });
    assert_eq!(text, "sum: widths differ, 4 bits against 5 bits; extend or cut one side");
}

#[test]
fn assignment_width() {
    let text = sentence(|| output::<Bits>("y", 4).set(input::<Bits>("a", 5)));
    assert_eq!(text, "assignment to y: widths differ, 4 bits against 5 bits; extend or cut one side");
}

#[test]
fn constant_range() {
    let text = sentence(|| {
        let a = input::<Bits>("a", 4);
        output::<Bits>("y", 4).set(a + 16);
    });
    assert_eq!(text, "constant 16 does not fit 4 bits (largest: 15)");
}

#[test]
fn slice_range() {
    let text = sentence(|| output::<Bits>("y", 2).set(input::<Bits>("a", 4).slice(3, 2)));
    assert_eq!(text, "bits 4..3 lie outside a value of 4 bits");
}

#[test]
fn undriven() {
    let text = sentence(|| {
        output::<Bits>("y", 2);
    });
    assert_eq!(text, "y is never driven; assign it or give it a default");
}

#[test]
fn doubly_driven() {
    let text = sentence(|| {
        let y = output::<Bits>("y", 2);
        y.set(1);
        y.set(2);
    });
    assert!(text.starts_with("y is driven twice without a condition, first at "), "{text}");
}

#[test]
fn latch() {
    let text = sentence(|| {
        let (c, y) = (input::<Bool>("c", ()), output::<Bits>("y", 2));
        when(c, || y.set(1));
    });
    assert_eq!(text, "y is a latch: some path assigns nothing; assign it on every path or give it a default");
}

#[test]
fn unused_input_is_reported_and_can_be_meant() {
    let text = sentence(|| {
        input::<Bool>("c", ());
    });
    assert_eq!(text, "input c is never used; remove it or mark it with unused_input");
    let meant = Module::build("fine", ModuleKind::Part, || unused_input(&input::<Bool>("c", ())));
    assert!(meant.is_ok());
}

#[test]
fn duplicate_and_illegal_names() {
    let text = sentence(|| {
        reg::<Bits>("r", 1);
        reg::<Bits>("r", 1);
    });
    assert!(text.starts_with("name r is used twice, first at "), "{text}");
    // A SystemVerilog keyword is as bad as a Verilog one, since tools read either.
    for name in ["always", "matches", "2nd", ""] {
        let text = sentence(|| {
            reg::<Bits>(name, 1);
        });
        assert!(text.starts_with(&format!("{name} is not a legal name")), "{text}");
    }
}

#[test]
fn duplicate_arm() {
    let text = sentence(|| {
        let (a, y) = (input::<Bits>("a", 2), output::<Bits>("y", 2));
        switch_bits(a, |s| {
            s.case(1u64, || y.set(1));
            s.case(1u64, || y.set(2));
            s.default(|| y.set(0));
        });
    });
    assert_eq!(text, "switch lists 2'h1 twice");
}

#[test]
fn unknown_port_of_an_instance() {
    let part = Module::build("part", ModuleKind::Part, || {
        let a = input::<Bits>("a", 2);
        output::<Bits>("y", 2).set(a);
    })
    .unwrap();
    let text = sentence(|| {
        let u = instance("u", &part);
        u.drive_bits("a", lit(0, 2));
        output::<Bits>("z", 1).set(u.out_bits("q"));
    });
    assert_eq!(text, "instance u of part has no output q; it has y");
}

#[test]
fn instance_input_must_be_driven() {
    let part = Module::build("part", ModuleKind::Part, || {
        let a = input::<Bits>("a", 2);
        output::<Bits>("y", 2).set(a);
    })
    .unwrap();
    let text = sentence(|| {
        instance("u", &part);
    });
    assert_eq!(text, "u_a is never driven; assign it or give it a default");
}

#[test]
fn block_outputs_are_registers() {
    let errors = Module::build("b", ModuleKind::Block, || {
        let a = input::<Bits>("a", 2);
        output::<Bits>("y", 2).set(a);
    })
    .expect_err("a path crosses the block");
    assert!(errors.to_string().contains("output y of a block must be a register"), "{errors}");
}

#[test]
fn combinational_loop_names_its_path() {
    let module = Module::build("ring", ModuleKind::Part, || {
        let (a, b) = (wire::<Bits>("a", 2), wire::<Bits>("b", 2));
        a.set(b.get() + 1);
        b.set(a.get() + 1);
        output::<Bits>("y", 2).set(a.get());
    })
    .unwrap();
    let text = flatten(&module).expect_err("a loop").to_string();
    assert!(text.contains("combinational loop: a (") && text.contains("<- b ("), "{text}");
}

#[test]
fn memory_fields_must_sum() {
    let text = sentence(|| {
        let _ = sram::<Bits>("m", 4, 1, 8).fields(&[("tag", 3), ("data", 4)]);
    });
    assert_eq!(text, "memory m: storage fields hold 7 bits but a lane has 8");
}

#[test]
fn a_read_of_the_wrong_kind_of_memory() {
    let text = sentence(|| {
        let m = sram::<Bits>("m", 4, 1, 8);
        output::<Bits>("y", 8).set(m.read(lit(0, 2)));
    });
    assert_eq!(text, "m is an SRAM: read it through a read port");
}

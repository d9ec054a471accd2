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
fn names_that_python_cannot_write_are_refused() {
    let text = sentence(|| {
        wire::<Bits>("lambda", 1);
    });
    assert_eq!(
        text,
        "lambda is not a legal name: it is a keyword of Python; choose another, such as lambda_value"
    );
    let text = sentence(|| output::<Bool>("y", ()).set(input::<Bool>("in", ())));
    assert_eq!(
        text,
        "in is not a legal name: it is a keyword of Python and VHDL; choose another, such as in_port"
    );
    let text = sentence(|| {
        reg::<Bits>("clk", 1);
    });
    assert_eq!(text, "clk is not a legal name: it is the clock's; choose another, such as clk_value");
}

#[test]
fn names_that_vhdl_cannot_write_are_refused_where_vhdl_sees_them() {
    // VHDL has no upper and lower case.
    for name in ["out", "Signal", "is"] {
        let text = sentence(|| output::<Bool>(name, ()).set(input::<Bool>("a", ())));
        assert!(text.starts_with(&format!("{name} is not a legal name: it is a keyword of ")), "{text}");
        assert!(text.contains("VHDL") && text.ends_with(&format!("such as {name}_port")), "{text}");
    }
    let part = Module::build("part", ModuleKind::Part, || {
        output::<Bool>("y", ()).set(input::<Bool>("a", ()));
    })
    .unwrap();
    let text = sentence(|| instance("block", &part).drive_bits("a", lit(0, 1)));
    assert_eq!(text, "block is not a legal name: it is a keyword of VHDL; choose another, such as u_block");
    let errors = Module::build("entity", ModuleKind::Part, || {}).expect_err("a keyword");
    assert!(errors.to_string().contains("it is a keyword of VHDL; choose another, such as entity_unit"));
    for name in ["_a", "a_", "a__b"] {
        let text = sentence(|| output::<Bool>("y", ()).set(input::<Bool>(name, ())));
        assert!(text.starts_with(&format!("{name} is not a legal name of what VHDL sees")), "{text}");
    }
    let inside = Module::build("core", ModuleKind::Part, || {
        let open = reg::<Bool>("open", ());
        open.set(input::<Bool>("a", ()));
        output::<Bool>("y", ()).set(open.get());
    });
    assert!(inside.is_ok(), "VHDL does not see what is inside: {:?}", inside.err());
}

#[test]
fn a_message_of_one_part_is_the_channel_s_data() {
    let module = Module::build("hand_on", ModuleKind::Block, || {
        let (a, b) = (in_channel::<Bits>("in", &4), out_channel::<Bits>("out", &4));
        when(a.valid & b.free, || {
            a.take();
            b.send(&a.msg);
        });
    })
    .unwrap();
    let mut names: Vec<&str> = module.ports().map(|(_, port)| port.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["in_data", "in_ready", "in_valid", "out_data", "out_ready", "out_valid"]);
}

#[test]
fn signals_and_values_have_bits() {
    let text = sentence(|| unused_input(&input::<Bits>("a", 0)));
    assert_eq!(text, "a has no bits; a width is 1 or more, so leave out what a parameter makes empty");
    let text = sentence(|| {
        let a = input::<Bool>("a", ());
        output::<Bits>("y", 1).set(cat(&[a.bits(), a.repeat(0)]));
    });
    assert_eq!(text, "a value has no bits; a width is 1 or more, so leave out what a parameter makes empty");
}

#[test]
fn registers_are_assigned() {
    for read in [false, true] {
        let text = sentence(|| {
            let kept = reg::<Bits>("kept", 2);
            output::<Bits>("y", 2).set(if read { kept.get() } else { lit(0, 2) });
        });
        assert_eq!(
            text,
            "kept is a register that nothing assigns: it keeps its reset value; assign it, or write a constant"
        );
    }
}

#[test]
fn memories_are_written_and_read() {
    let text = sentence(|| {
        let m = regfile::<Bits>("m", 4, 8);
        let _ = m.lane_writer("never_used");
        output::<Bits>("y", 8).set(m.read(input::<Bits>("a", 2)));
    });
    assert_eq!(text, "memory m is read, but nothing writes it: its content is unknown");
    let text = sentence(|| {
        let m = sram::<Bits>("m", 4, 1, 8);
        m.lane_writer("fill").write(input::<Bits>("a", 2), &lit(7, 8));
    });
    assert_eq!(text, "memory m is written, but nothing reads it; read it or remove it");
}

#[test]
fn rows_lanes_and_shifts_that_are_not_there() {
    let memory = |lanes| {
        let m = regfile_lanes::<Bits>("m", 3, lanes, 8);
        m.lane_writer("fill").write_lane(lit(0, 2), lit(0, bits_for(u64::from(lanes))), &lit(7, 8));
        m
    };
    let text = sentence(|| output::<Bits>("y", 8).set(memory(1).entry(3)));
    assert_eq!(text, "row 3 of memory m, which has 3");
    let text = sentence(|| {
        let m = sram::<Bits>("m", 4, 2, 8);
        m.lane_writer("fill").write_lane(lit(0, 2), lit(0, 1), &lit(7, 8));
        output::<Bits>("y", 8).set(m.read_port("look").lane(2));
    });
    assert_eq!(text, "lane 2 of memory m, which has 2");
    let text = sentence(|| output::<Bits>("y", 4).set(input::<Bits>("a", 4).shl(4)));
    assert_eq!(text, "a shift by 4 leaves nothing of 4 bits");
}

#[derive(Clone, Copy, PartialEq, Debug, HwEnum)]
enum Late {
    One = 1,
    Two,
}

#[derive(Clone, Copy, PartialEq, Debug, HwEnum)]
#[hw(width = 1)]
enum Narrow {
    Zero,
    Two = 2,
}

#[test]
fn enumerations_begin_as_a_variant_and_fit() {
    let machine = |reset: Option<u64>| {
        let state = reg::<Enum<Late>>("state", ());
        let state = reset.into_iter().fold(state, |state, value| state.reset(&[value]));
        state.set(mux(state.is(Late::One), enum_lit(Late::Two), enum_lit(Late::One)));
    };
    let text = sentence(|| machine(None));
    assert_eq!(text, "state resets to 2'h0, which is no variant of Late; give it a reset value");
    assert!(Module::build("fine", ModuleKind::Part, || machine(Some(1))).is_ok());
    let text = sentence(|| {
        let state = reg::<Enum<Narrow>>("state", ());
        state.set(mux(state.is(Narrow::Zero), enum_lit(Narrow::Two), enum_lit(Narrow::Zero)));
    });
    assert_eq!(text, "variant TWO = 2 of Narrow does not fit its 1 bits");
}

/// Channels `a` in and `b` out with something between them.
fn between(describe: impl FnOnce(&InChannel<Bits>, &OutChannel<Bits>)) -> impl FnOnce() {
    || {
        let (a, b) = (in_channel::<Bits>("a", &4), out_channel::<Bits>("b", &4));
        describe(&a, &b);
    }
}

const TAKE: &str = "take() of channel a does not look at its valid: put it under when(a.valid & ...), or assert that a \
                    message is there whenever its condition holds";
const SEND: &str = "send() of channel b does not look at its free: put it under when(b.free & ...), or assert that it \
                    is free whenever its condition holds";

#[test]
fn messages_are_taken_and_sent_under_their_guards() {
    let errors = Module::build(
        "bare",
        ModuleKind::Block,
        between(|a, b| {
            a.take();
            b.send(&a.msg);
        }),
    )
    .expect_err("no guards")
    .to_string();
    assert!(errors.contains(TAKE) && errors.contains(SEND) && errors.contains("errors.rs:"), "{errors}");
    let text = sentence(between(|a, b| {
        when(a.valid, || {
            a.take();
            b.send(&a.msg);
        });
    }));
    assert_eq!(text, SEND);
    let text = sentence(between(|a, b| {
        when(b.free, || {
            a.take();
            b.send(&a.msg);
        });
    }));
    assert_eq!(text, TAKE);
}

#[test]
fn guards_may_be_wires_arbiters_or_assertions() {
    let built = |describe: fn(&InChannel<Bits>, &OutChannel<Bits>)| {
        Module::build("fine", ModuleKind::Block, between(describe)).map(|_| ()).map_err(|e| e.to_string())
    };
    // By way of a wire that is driven elsewhere.
    assert_eq!(
        built(|a, b| {
            let go = wire_or::<Bool>("go", (), false);
            when(go.get(), || {
                a.take();
                b.send(&a.msg);
            });
            when(a.valid, || go.set(b.free));
        }),
        Ok(())
    );
    // The block knows that the channel is free, and says so.
    assert_eq!(
        built(|a, b| {
            let full = reg::<Bool>("full", ());
            when(a.valid & !full.get() & b.free, || {
                a.take();
                full.set(true);
            });
            let here = full.get();
            assert_always("b_free", !here | b.free, "nobody else sends");
            when(here, || {
                b.send(&a.msg);
                full.set(false);
            });
        }),
        Ok(())
    );
}

#[test]
fn channels_are_used() {
    let text = sentence(|| {
        let a = in_channel::<Bits>("a", &4);
        output::<Bits>("y", 4).set(a.msg);
        output::<Bool>("here", ()).set(a.valid);
    });
    assert_eq!(text, "channel a is never taken: its sender waits for ever; take() its messages or remove it");
    let text = sentence(|| {
        out_channel::<Bits>("b", &4);
    });
    assert_eq!(text, "channel b never sends; send() something or remove it");
    let silent = Module::build("silent", ModuleKind::Block, || silent_out_channel::<Bits>("b", &4));
    assert!(silent.is_ok(), "{:?}", silent.err());
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

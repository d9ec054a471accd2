//! The Verilog emitter: text of small modules.

use weft_rtl::prelude::*;
use weft_rtl::verilog::{emit, file_list};

#[derive(HwEnum, Clone, Copy, PartialEq, Debug)]
enum Phase {
    Idle,
    Look,
    Answer,
}

/// A small table in an SRAM: a request names a row, the answer is the lane whose tag matches.
fn lookup() -> Arc<Module> {
    Module::build("lookup_r6_w2", ModuleKind::Block, || {
        doc("Looks a tag up in a table of two ways and answers with its value.");
        param("rows", 6);
        let start = input::<Bool>("start", ());
        let row = input::<Bits>("row", 3);
        let tag = input::<Bits>("tag", 4);
        let fill = input::<Bool>("fill", ());
        let way = input::<Bits>("way", 1);
        let state = reg::<Enum<Phase>>("state", ()).doc("What the unit does in this cycle.");
        let hit = output_reg::<Bool>("hit", ());
        let value = output_reg::<Bits>("value", 5).field("data");
        let table = sram::<Bits>("table_mem", 6, 2, 9).fields(&[("tag", 4), ("data", 5)]);
        let read = table.read_port("rd");
        let write = table.lane_writer("wr");
        read.present(row);
        let lanes = read.row();
        let hits: Vec<Bool> = lanes.iter().map(|l| l.slice(0, 4).eq(tag)).collect();
        let any = any_of(&hits).named("any_hit");
        switch(state.get(), |arms| {
            arms.case(Phase::Idle, || when(start, || state.set(Phase::Look)).otherwise(|| hit.set(false)));
            arms.case(Phase::Look, || {
                state.set(Phase::Answer);
                hit.set(any);
                value.set(mux(hits[0], lanes[0].slice(4, 5), lanes[1].slice(4, 5)));
            });
            arms.default(|| state.set(Phase::Idle));
        });
        when(fill, || write.write_lane(row, way, &cat(&[value.get(), tag])));
        cover("lookup.hit", any & state.is(Phase::Look), "A tag is found.");
        assert_always(
            "phase_legal",
            state.is_any(&[Phase::Idle, Phase::Look, Phase::Answer]),
            "No fourth state.",
        );
    })
    .unwrap()
}

#[test]
fn a_small_block_reads_well() {
    let files = emit(&lookup());
    assert_eq!(files.len(), 1);
    insta::assert_snapshot!(files[0].text);
}

#[test]
fn the_same_module_gives_the_same_bytes() {
    assert_eq!(emit(&lookup()), emit(&lookup()));
}

fn adder(by: u64) -> Arc<Module> {
    Module::build("adder", ModuleKind::Part, || {
        let a = input::<Bits>("a", 8);
        output::<Bits>("sum", 8).set(a + by);
    })
    .unwrap()
}

#[test]
fn parts_come_first_and_once_and_different_parts_of_one_name_get_numbers() {
    let (one, same, other) = (adder(1), adder(1), adder(2));
    let top = Module::build("top", ModuleKind::Part, || {
        let x = input::<Bits>("x", 8);
        let mut at = x;
        for (name, part) in [("first", &one), ("second", &same), ("third", &other)] {
            let inst = instance(name, part);
            inst.drive_bits("a", at);
            at = inst.out_bits("sum");
        }
        output::<Bits>("y", 8).set(at);
    })
    .unwrap();
    let files = emit(&top);
    let names: Vec<&str> = files.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["adder.v", "adder_2.v", "top.v"]);
    assert!(files[2].text.contains("adder second ("), "{}", files[2].text);
    assert!(files[2].text.contains("adder_2 third ("), "{}", files[2].text);
    assert_eq!(file_list(&files), "adder.v\nadder_2.v\ntop.v\n");
}

#[test]
fn a_wire_that_feeds_another_of_its_statement_gets_a_block_of_its_own() {
    let module = Module::build("chain", ModuleKind::Part, || {
        let c = input::<Bool>("c", ());
        let x = input::<Bits>("x", 4);
        let first = wire_zero::<Bits>("first", 4);
        let second = output::<Bits>("second", 4);
        when(c, || {
            second.set(first.get() + 1);
            first.set(x);
        })
        .otherwise(|| second.set(x));
    })
    .unwrap();
    assert_eq!(emit(&module)[0].text.matches("always @*").count(), 2);
}

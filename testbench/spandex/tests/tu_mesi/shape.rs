//! Parameters, tables, pictures and storage: what needs no simulation.

use std::collections::BTreeMap;
use std::path::Path;
use weft_blocks::registry::{BlockError, ParamSet};
use weft_rtl::area::area;
use weft_rtl::picture::Picture;
use weft_rtl::prelude::*;
use weft_rtl::verilog::emit;
use weft_spandex::tu_mesi::table::{forwards, installs, responses};
use weft_spandex::tu_mesi::{TuMesiInject, info};

fn build(values: &[(&str, &str)]) -> Result<Arc<Module>, BlockError> {
    let given: BTreeMap<String, String> = values.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    let info = info();
    (info.build)(&ParamSet::new(&info, &given)?)
}

const SMALLEST: [(&str, &str); 10] = [
    ("size", "32"),
    ("ways", "2"),
    ("line", "8"),
    ("mshrs", "1"),
    ("sb", "1"),
    ("wbb", "1"),
    ("banks", "1"),
    ("cpus", "1"),
    ("sharers", "1"),
    ("addr_bits", "32"),
];

#[test]
fn parameter_sets_elaborate_and_flatten() {
    let odd = [
        ("size", "8K"),
        ("ways", "4"),
        ("line", "128"),
        ("mshrs", "5"),
        ("wbb", "3"),
        ("cpus", "3"),
        ("sharers", "3"),
        ("flex_rsp", "0"),
    ];
    for set in [&[][..], &SMALLEST, &odd] {
        let module = build(set).unwrap_or_else(|e| panic!("{set:?}: {e}"));
        weft_rtl::lower::flatten(&module).unwrap();
        let files = emit(&module);
        assert!(files.iter().any(|file| file.text.contains(&format!("module {}", module.name))));
    }
    for (inject, word) in TuMesiInject::WORDS {
        assert!(build(&[("inject", word)]).is_ok(), "{inject:?}");
    }
}

#[test]
fn every_parameter_is_in_the_name() {
    let mut names = BTreeMap::new();
    let sets = [
        ("size", "16K"),
        ("ways", "4"),
        ("flex_rsp", "0"),
        ("inject", "no-r2"),
        ("mshrs", "8"),
        ("wbb", "8"),
    ];
    for set in sets {
        assert_eq!(names.insert(build(&[set]).unwrap().name.clone(), set), None);
    }
}

#[test]
fn illegal_values_are_refused_with_the_legal_range() {
    let refused = |set: &[(&str, &str)], parts: [&str; 2]| {
        let text = build(set).unwrap_err().to_string();
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    };
    refused(&[("size", "12K")], ["size = 12288", "2^k"]);
    refused(&[("ways", "3"), ("size", "12K")], ["ways = 3", "2, 4, 8, 16"]);
    refused(&[("flex_rsp", "2")], ["flex_rsp = 2", "0..1"]);
    refused(&[("inject", "x")], ["inject = x", "no-r2"]);
}

/// spandex.md sections 6 and 7: two bits per word of each line of the L1; per MSHR a line buffer.
#[test]
fn the_published_unit_stores_what_the_specification_says() {
    let found = area(&build(&[]).unwrap());
    let bits = |name: &str| -> u64 { found.fields.iter().filter(|f| f.field == name).map(|f| f.bits).sum() };
    assert_eq!(bits("wbp"), 16_384);
    assert_eq!(bits("line_buffer"), 128 * 512);
    assert_eq!(bits("wbb_data"), 16 * 512);
    // Six kinds: fwd ReqO is delayed too.
    assert_eq!(bits("removal"), 128 * 16 * (3 + 5 + 9 + 4));
}

#[test]
fn no_two_rows_of_a_table_meet() {
    for table in [forwards(), responses(), installs()] {
        assert_eq!(table.overlaps(), [], "{}", table.name);
    }
}

/// Compares, or writes, a file of `hdl/spandex`.
fn same(file: &str, text: &str) -> bool {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hdl/spandex").join(file);
    if std::env::var_os("WEFT_PICTURES").is_some_and(|value| value == "write") {
        std::fs::write(&path, text).expect("the folder can be written");
    }
    std::fs::read_to_string(&path).ok().as_deref() == Some(text)
}

/// `WEFT_PICTURES=write` writes them again.
#[test]
fn picture_and_tables_are_those_of_the_hardware() {
    let text = format!(
        "Forwards:\n\n{}\nResponses:\n\n{}\nLines that are whole:\n\n{}",
        forwards().to_markdown(),
        responses().to_markdown(),
        installs().to_markdown(),
    );
    assert!(same("docs/tu-mesi.md", &text), "old tables");
    let svg = Picture::of(&build(&[]).unwrap()).svg();
    assert!(!svg.contains("\n\n") && same("pictures/tu-mesi.svg", &svg), "old picture");
}

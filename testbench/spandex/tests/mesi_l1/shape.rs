//! Parameters, tables, pictures and storage: what needs no simulation.

use std::collections::BTreeMap;
use std::path::Path;
use weft_blocks::registry::{BlockError, ParamSet};
use weft_rtl::area::area;
use weft_rtl::picture::Picture;
use weft_rtl::prelude::*;
use weft_rtl::verilog::emit;
use weft_spandex::mesi_l1::table::{lookups, operations, targets, victims};
use weft_spandex::mesi_l1::{MesiL1Inject, info};

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
        ("sync_own", "0"),
    ];
    for set in [&[][..], &SMALLEST, &odd] {
        let module = build(set).unwrap_or_else(|e| panic!("{set:?}: {e}"));
        weft_rtl::lower::flatten(&module).unwrap();
        let files = emit(&module);
        assert!(files.iter().any(|file| file.text.contains(&format!("module {}", module.name))));
    }
    for (inject, word) in MesiL1Inject::WORDS {
        assert!(build(&[("inject", word)]).is_ok(), "{inject:?}");
    }
}

#[test]
fn every_parameter_is_in_the_name() {
    let mut names = BTreeMap::new();
    let sets = [
        ("size", "16K"),
        ("ways", "4"),
        ("sync_own", "0"),
        ("weak_reads", "1"),
        ("inject", "read-wbp"),
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
    refused(&[("sync_own", "2")], ["sync_own = 2", "0..1"]);
    refused(&[("inject", "x")], ["inject = x", "read-wbp"]);
}

/// spandex.md section 7: 512 x (36 + 3 + 512) + 448 bits.
#[test]
fn the_published_l1_stores_what_the_specification_says() {
    let found = area(&build(&[]).unwrap());
    let bits = |name: &str| -> u64 { found.fields.iter().filter(|f| f.field == name).map(|f| f.bits).sum() };
    assert_eq!((bits("tag"), bits("state"), bits("data")), (512 * 36, 512 * 3, 512 * 512));
    assert_eq!(bits("replacement"), 448);
}

#[test]
fn no_two_rows_of_a_table_meet() {
    for table in [operations(), victims(), targets(), lookups()] {
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
        "Operations of the core:\n\n{}\nVictims:\n\n{}\nOperations that have waited:\n\n{}\nLookups from below:\n\n{}",
        operations().to_markdown(),
        victims().to_markdown(),
        targets().to_markdown(),
        lookups().to_markdown(),
    );
    assert!(same("docs/mesi-l1.md", &text), "old tables");
    let svg = Picture::of(&build(&[]).unwrap()).svg();
    assert!(!svg.contains("\n\n") && same("pictures/mesi-l1.svg", &svg), "old picture");
}

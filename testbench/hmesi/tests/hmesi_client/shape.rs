//! Parameters, tables, pictures and storage: what needs no simulation.

use std::collections::BTreeMap;
use std::path::Path;
use weft_blocks::registry::{BlockError, ParamSet};
use weft_rtl::area::area;
use weft_rtl::picture::Picture;
use weft_rtl::prelude::*;
use weft_rtl::verilog::emit;
use weft_spandex::hmesi::client::table::{forwards, page, responses};
use weft_spandex::hmesi::client::{ClientInject, info};

fn build(values: &[(&str, &str)]) -> Result<Arc<Module>, BlockError> {
    let given: BTreeMap<String, String> = values.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    let info = info();
    (info.build)(&ParamSet::new(&info, &given)?)
}

#[test]
fn parameter_sets_elaborate_and_flatten() {
    let smallest = [
        ("size", "32"),
        ("ways", "2"),
        ("line", "8"),
        ("mshrs", "1"),
        ("sb", "1"),
        ("wbb", "1"),
        ("banks", "1"),
        ("cpus", "1"),
        ("sharers", "1"),
    ];
    let odd = [("size", "8K"), ("ways", "4"), ("line", "128"), ("mshrs", "5"), ("wbb", "3"), ("cpus", "3")];
    for set in [&[][..], &smallest, &odd] {
        let module = build(set).unwrap_or_else(|e| panic!("{set:?}: {e}"));
        weft_rtl::lower::flatten(&module).unwrap();
        let files = emit(&module);
        assert!(files.iter().any(|file| file.text.contains(&format!("module {}", module.name))));
    }
    for (inject, word) in ClientInject::WORDS {
        assert!(build(&[("inject", word)]).is_ok(), "{inject:?}");
    }
    assert!(build(&[("inject", "x")]).unwrap_err().to_string().contains("no-r2"));
}

/// Per MSHR a line buffer and an InvAck counter of N_CPU + 1 clients and sign; per write-back buffer entry a line.
#[test]
fn the_published_client_stores_what_it_should() {
    let found = area(&build(&[]).unwrap());
    let bits = |name: &str| -> u64 { found.fields.iter().filter(|f| f.field == name).map(|f| f.bits).sum() };
    assert_eq!(bits("line_buffer"), 128 * 512);
    assert_eq!(bits("wbb_data"), 16 * 512);
    assert_eq!(bits("client"), 128 * (42 + 5 + 8));
}

#[test]
fn no_two_rows_of_a_table_meet() {
    for table in [forwards(), responses()] {
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
    assert!(same("docs/hmesi-client.md", &page()), "old tables");
    let svg = Picture::of(&build(&[]).unwrap()).svg();
    assert!(!svg.contains("\n\n") && same("pictures/hmesi-client.svg", &svg), "old picture");
}

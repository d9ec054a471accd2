//! Parameters, tables, picture and storage: what needs no simulation.

use std::collections::BTreeMap;
use std::path::Path;
use weft_blocks::registry::{BlockError, ParamSet};
use weft_rtl::area::area;
use weft_rtl::picture::Picture;
use weft_rtl::prelude::*;
use weft_spandex::denovo_l1::{Inject, info, table};

fn build(values: &[(&str, &str)]) -> Result<Arc<Module>, BlockError> {
    let given: BTreeMap<String, String> = values.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    (info().build)(&ParamSet::new(&info(), &given)?)
}

#[test]
fn parameter_sets_elaborate_and_flatten() {
    let sets: [&[(&str, &str)]; 4] = [
        &[],
        &[
            ("size", "64"),
            ("ways", "2"),
            ("line", "8"),
            ("targets", "1"),
            ("releases", "1"),
            ("mshrs", "1"),
            ("sb", "1"),
            ("wbb", "1"),
            ("tbes", "1"),
            ("banks", "1"),
            ("cpus", "0"),
            ("cus", "1"),
            ("sharers", "0"),
            ("addr_bits", "32"),
            ("sb_drain", "eager"),
        ],
        &[
            ("size", "2K"),
            ("ways", "4"),
            ("line", "32"),
            ("latency", "3"),
            ("targets", "3"),
            ("releases", "3"),
            ("mshrs", "5"),
            ("sb", "7"),
            ("wbb", "3"),
            ("cpus", "3"),
            ("cus", "2"),
            ("sharers", "3"),
            ("sb_drain", "highwater"),
        ],
        &[
            ("atomics", "through"),
            ("regions", "1"),
            ("size", "8K"),
            ("mshrs", "16"),
            ("sb", "16"),
            ("wbb", "4"),
            ("latency", "2"),
            ("addr_bits", "40"),
        ],
    ];
    for set in sets {
        let module = build(set).unwrap_or_else(|e| panic!("{set:?}: {e}"));
        weft_rtl::lower::flatten(&module).unwrap();
    }
    for (_, word) in Inject::WORDS {
        build(&[("inject", word), ("mshrs", "2"), ("sb", "2"), ("regions", "1")]).unwrap();
    }
    for (key, value) in [("atomics", "here"), ("regions", "2"), ("latency", "0")] {
        let text = build(&[(key, value)]).unwrap_err().to_string();
        assert!(text.contains(&format!("{key} = {value}")) && text.contains("denovo-l1"), "{text}");
    }
    let text = build(&[("inject", "x")]).unwrap_err().to_string();
    assert!(text.contains("inject = x") && text.contains("no-cross"), "{text}");
}

/// spandex.md section 7: bits of the lines, from the hardware's own declarations.
#[test]
fn the_published_l1_stores_what_the_specification_says() {
    // Each line has 2W bits of word states; RO is an option.
    for (regions, ro) in [("0", 0), ("1", 1)] {
        let found = area(&build(&[("regions", regions)]).unwrap());
        let bits =
            |name: &str| -> u64 { found.fields.iter().filter(|f| f.field == name).map(|f| f.bits).sum() };
        let lines: u64 = ["state", "tag", "data", "replacement", "region"].map(bits).iter().sum();
        assert_eq!(lines, 512 * (36 + 2 * 16 + 512 + ro) + 448);
    }
    let small = [("size", "2K"), ("ways", "4"), ("line", "32"), ("addr_bits", "40")];
    let found = area(&build(&small).unwrap());
    let bits = |name: &str| -> u64 { found.fields.iter().filter(|f| f.field == name).map(|f| f.bits).sum() };
    let lines: u64 = ["state", "tag", "data", "replacement"].map(bits).iter().sum();
    assert_eq!(lines, 64 * ((40 - 5 - 4) + 2 * 8 + 256) + 16 * 3);
}

#[test]
fn pictures_and_tables_are_those_of_the_hardware() {
    assert_eq!((table::operations(true).overlaps(), table::forwards().overlaps()), (vec![], vec![]));
    let text = format!(
        "Operations of the CU and of the store buffer:\n\n{}\nForwards, by the state of their words:\n\n{}",
        table::operations(true).to_markdown(),
        table::forwards().to_markdown(),
    );
    let svg = Picture::of(&build(&[]).unwrap()).svg();
    for (file, text) in [("pictures/denovo-l1.svg", svg), ("docs/denovo-l1.md", text)] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hdl/spandex").join(file);
        if std::env::var_os("WEFT_PICTURES").is_some_and(|value| value == "write") {
            std::fs::write(&path, &text).expect("the folder can be written");
        }
        let now = std::fs::read_to_string(&path).ok();
        assert_eq!(now.as_deref(), Some(&*text), "{file} is old: write it again with WEFT_PICTURES=write");
    }
}

//! Parameters, tables, picture and storage: what needs no simulation.

use std::collections::BTreeMap;
use std::path::Path;
use weft_blocks::registry::{BlockError, ParamSet};
use weft_rtl::area::area;
use weft_rtl::picture::Picture;
use weft_rtl::prelude::*;
use weft_spandex::fabric::stash_device;
use weft_spandex::params::Spandex;
use weft_spandex::stash::{Inject, StashParams, info, table};
use weft_spandex::tu_denovo::TuDenovoParams;

fn build(values: &[(&str, &str)]) -> Result<Arc<Module>, BlockError> {
    let given: BTreeMap<String, String> = values.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    (info().build)(&ParamSet::new(&info(), &given)?)
}

#[test]
fn parameter_sets_elaborate_and_flatten() {
    let sets: [&[(&str, &str)]; 3] = [
        &[],
        &[
            ("size", "16"),
            ("stash_banks", "2"),
            ("maps", "2"),
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
            ("stash_banks", "64"),
            ("maps", "64"),
            ("line", "32"),
            ("targets", "3"),
            ("mshrs", "5"),
            ("sb", "7"),
            ("wbb", "3"),
            ("cpus", "3"),
            ("cus", "2"),
            ("sharers", "3"),
            ("sb_drain", "highwater"),
        ],
    ];
    for set in sets {
        let module = build(set).unwrap_or_else(|e| panic!("{set:?}: {e}"));
        weft_rtl::lower::flatten(&module).unwrap();
    }
    for (_, word) in Inject::WORDS {
        build(&[("inject", word), ("mshrs", "2"), ("sb", "2"), ("size", "1K")]).unwrap();
    }
    let spandex = Spandex { cus: 2, ..Spandex::default() };
    let unit = TuDenovoParams { spandex: spandex.clone(), n_fail: 1 };
    stash_device(&StashParams::published(spandex), &unit).unwrap();
}

#[test]
fn illegal_parameters_are_refused_with_their_legal_range() {
    let refused = [
        ("stash_banks", "8", "a power of two from 16"),
        ("size", "48", "4 * banks * 2^k"),
        ("maps", "3", "2, 4, 8"),
        ("targets", "0", "1..64"),
        ("releases", "65", "1..64"),
        ("inject", "x", "keeps-alias"),
        ("sb_drain", "never", "highwater"),
    ];
    for (key, value, legal) in refused {
        let text = build(&[(key, value)]).unwrap_err().to_string();
        assert!(text.contains(&format!("{key} = {value}")), "{text}");
        assert!(text.contains("stash") && text.contains(legal), "{text}");
    }
}

/// cu-and-consistency.md section 8: per word two bits of state and the number of its mapping, from the hardware's own declarations.
#[test]
fn the_published_stash_stores_what_the_specification_says() {
    let found = area(&build(&[]).unwrap());
    let bits = |name: &str| -> u64 { found.fields.iter().filter(|f| f.field == name).map(|f| f.bits).sum() };
    let words = 16 * 1024 / 4;
    assert_eq!(bits("state"), 2 * words);
    assert_eq!(bits("owner_map"), 5 * words);
    assert_eq!(bits("data"), 32 * words);
    // Base 12, global word 46, element and count 13 each, stride 16, last line 42, and a bit each: it holds a mapping, some of it was taken; and the row of the walk.
    assert_eq!(bits("stash_map"), 32 * (12 + 46 + 13 + 13 + 16 + 42 + 2) + 7);
}

#[test]
fn pictures_and_tables_are_those_of_the_hardware() {
    let tables = [table::operations(), table::vacate(), table::forwards()];
    tables.iter().for_each(|table| assert_eq!(table.overlaps(), vec![]));
    let text = format!(
        "Operations of the CU and of the store buffer:\n\n{}\nWords of another mapping that are in the way, and words of a mapping that ends:\n\n{}\nForwards, by the state of their words:\n\n{}",
        tables[0].to_markdown(),
        tables[1].to_markdown(),
        tables[2].to_markdown(),
    );
    let svg = Picture::of(&build(&[]).unwrap()).svg();
    for (file, text) in [("pictures/stash.svg", svg), ("docs/stash.md", text)] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hdl/spandex").join(file);
        if std::env::var_os("WEFT_PICTURES").is_some_and(|value| value == "write") {
            std::fs::write(&path, &text).expect("the folder can be written");
        }
        let now = std::fs::read_to_string(&path).ok();
        assert_eq!(now.as_deref(), Some(&*text), "{file} is old: write it again with WEFT_PICTURES=write");
    }
}

//! Parameters, tables and storage: what needs no simulation.

use std::collections::BTreeMap;
use weft_blocks::registry::{BlockError, ParamSet};
use weft_rtl::area::area;
use weft_rtl::prelude::*;
use weft_rtl::verilog::emit;
use weft_srsp::hlrc_l1::{HlrcInject, info};

fn build(values: &[(&str, &str)]) -> Result<Arc<Module>, BlockError> {
    let given: BTreeMap<String, String> = values.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    let info = info();
    (info.build)(&ParamSet::new(&info, &given)?)
}

const SMALLEST: [(&str, &str); 11] = [
    ("size", "256"),
    ("ways", "2"),
    ("latency", "2"),
    ("sfifo", "2"),
    ("targets", "1"),
    ("sq", "1"),
    ("cus", "1"),
    ("banks", "1"),
    ("mshrs", "1"),
    ("wbt", "2"),
    ("addr_bits", "32"),
];

#[test]
fn parameter_sets_elaborate_and_flatten() {
    let odd = [
        ("size", "64K"),
        ("line", "128"),
        ("sfifo", "24"),
        ("mshrs", "5"),
        ("targets", "3"),
        ("cus", "3"),
        ("owned_aware", "0"),
    ];
    for set in [&[][..], &SMALLEST, &odd] {
        let module = build(set).unwrap_or_else(|e| panic!("{set:?}: {e}"));
        weft_rtl::lower::flatten(&module).unwrap();
        let files = emit(&module);
        assert!(files.iter().any(|file| file.text.contains(&format!("module {}", module.name))));
    }
    for (inject, word) in HlrcInject::WORDS {
        assert!(build(&[("inject", word)]).is_ok(), "{inject:?}");
    }
}

#[test]
fn every_parameter_is_in_the_name() {
    let mut names = BTreeMap::new();
    let sets = [
        ("size", "32K"),
        ("ways", "8"),
        ("latency", "6"),
        ("sfifo", "8"),
        ("targets", "4"),
        ("sq", "4"),
        ("owned_aware", "0"),
        ("inject", "late-capture"),
        ("mshrs", "8"),
        ("wbt", "8"),
    ];
    for set in sets {
        assert_eq!(names.insert(build(&[set]).unwrap().name.clone(), set), None);
    }
}

/// srsp.md section 4: every published figure of an L1 of hLRC, from the hardware's own declarations.
#[test]
fn the_published_l1_stores_what_the_specification_says() {
    let found = area(&build(&[]).unwrap());
    let bits = |name: &str| -> u64 { found.fields.iter().filter(|f| f.field == name).map(|f| f.bits).sum() };
    let lines: u64 = ["state", "tag", "dirty_mask", "data"].map(bits).iter().sum();
    assert_eq!((lines, bits("replacement")), (256 * 617, 16 * 15));
    assert_eq!((bits("sfifo"), bits("wbt"), bits("fence")), (685, 704, 11));
    assert_eq!(bits("capture"), 42 + 64 + 512);
}

#[test]
fn illegal_values_are_refused_with_the_legal_range() {
    let refused = |set: &[(&str, &str)], parts: [&str; 2]| {
        let text = build(set).unwrap_err().to_string();
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    };
    refused(&[("size", "12K")], ["size = 12288", "2^k"]);
    refused(&[("ways", "3"), ("size", "12K")], ["ways = 3", "2, 4, 8, 16"]);
    refused(&[("sfifo", "1")], ["sfifo = 1", "2..256"]);
    refused(&[("owned_aware", "2")], ["owned_aware = 2", "0..1"]);
    refused(&[("inject", "x")], ["inject = x", "late-capture"]);
}

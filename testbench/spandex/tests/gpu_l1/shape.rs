//! Parameters, tables, pictures and storage: what needs no simulation.

use std::collections::BTreeMap;
use std::path::Path;
use weft_blocks::registry::{BlockError, BlockInfo, ParamSet};
use weft_rtl::area::area;
use weft_rtl::picture::Picture;
use weft_rtl::prelude::*;
use weft_spandex::{gpu_l1, tu_gpu};

fn build(info: &BlockInfo, values: &[(&str, &str)]) -> Result<Arc<Module>, BlockError> {
    let given: BTreeMap<String, String> = values.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    (info.build)(&ParamSet::new(info, &given)?)
}

/// Parameter sets that co-simulation uses too: small, odd, another.
const L1_SETS: [&[(&str, &str)]; 3] = [
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
        ("cpus", "3"),
        ("cus", "2"),
        ("sharers", "3"),
        ("sb_drain", "highwater"),
        ("scopes", "1"),
        ("hold", "1"),
    ],
    &[("size", "8K"), ("mshrs", "16"), ("sb", "16"), ("latency", "2"), ("addr_bits", "40")],
];
const TU_SETS: [&[(&str, &str)]; 3] = [
    &[
        ("line", "8"),
        ("mshrs", "1"),
        ("sb", "1"),
        ("wbb", "1"),
        ("tbes", "1"),
        ("banks", "1"),
        ("cpus", "0"),
        ("cus", "1"),
        ("sharers", "0"),
        ("addr_bits", "32"),
        ("n_fail", "7"),
    ],
    &[
        ("line", "32"),
        ("mshrs", "5"),
        ("sb", "7"),
        ("cpus", "3"),
        ("cus", "2"),
        ("sharers", "3"),
        ("n_fail", "2"),
    ],
    &[("mshrs", "16"), ("sb", "16"), ("addr_bits", "40"), ("n_fail", "3")],
];

#[test]
fn parameter_sets_elaborate_and_flatten() {
    for (info, sets) in [(gpu_l1::info(), L1_SETS), (tu_gpu::info(), TU_SETS)] {
        for set in sets.into_iter().chain([&[][..]]) {
            let module = build(&info, set).unwrap_or_else(|e| panic!("{set:?}: {e}"));
            weft_rtl::lower::flatten(&module).unwrap();
        }
    }
    for (_, word) in gpu_l1::Inject::WORDS {
        build(&gpu_l1::info(), &[("inject", word), ("mshrs", "2"), ("sb", "2")]).unwrap();
    }
    for (_, word) in tu_gpu::Inject::WORDS {
        build(&tu_gpu::info(), &[("inject", word), ("mshrs", "2"), ("sb", "2")]).unwrap();
    }
}

#[test]
fn every_parameter_is_in_the_name() {
    let mut names = BTreeMap::new();
    let l1 = [
        ("size", "64K"),
        ("ways", "4"),
        ("latency", "6"),
        ("targets", "4"),
        ("releases", "4"),
        ("sb_drain", "eager"),
        ("scopes", "1"),
        ("hold", "1"),
        ("inject", "no-stale"),
        ("mshrs", "8"),
        ("sb", "8"),
    ];
    for set in l1 {
        assert_eq!(names.insert(build(&gpu_l1::info(), &[set]).unwrap().name.clone(), set), None);
    }
    for set in [("n_fail", "2"), ("inject", "extras"), ("mshrs", "8"), ("sb", "8"), ("line", "32")] {
        assert_eq!(names.insert(build(&tu_gpu::info(), &[set]).unwrap().name.clone(), set), None);
    }
}

/// spandex.md section 7: bits of the lines, from the hardware's own declarations.
#[test]
fn the_published_l1_stores_what_the_specification_says() {
    let found = area(&build(&gpu_l1::info(), &[]).unwrap());
    let bits = |name: &str| -> u64 { found.fields.iter().filter(|f| f.field == name).map(|f| f.bits).sum() };
    let lines: u64 = ["state", "tag", "data", "replacement"].map(bits).iter().sum();
    assert_eq!(lines, 512 * (36 + 1 + 512) + 448);
    let scoped = area(&build(&gpu_l1::info(), &[("scopes", "1"), ("hold", "1")]).unwrap());
    assert_eq!(scoped.total_bits, found.total_bits, "scopes need no storage");
    let unit = area(&build(&tu_gpu::info(), &[]).unwrap());
    let buffer: u64 = unit.fields.iter().filter(|f| f.field == "line_buffer").map(|f| f.bits).sum();
    assert_eq!(buffer, 128 * 512, "a line buffer per MSHR");
}

#[test]
fn illegal_values_are_refused_with_the_legal_range() {
    let refused = |info: &BlockInfo, set: &[(&str, &str)], parts: [&str; 2]| {
        let text = build(info, set).unwrap_err().to_string();
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    };
    let l1 = gpu_l1::info();
    refused(&l1, &[("size", "12K")], ["size = 12288", "2^k"]);
    refused(&l1, &[("ways", "3"), ("size", "12K")], ["ways = 3", "2, 4, 8, 16"]);
    refused(&l1, &[("latency", "0")], ["latency = 0", "1..64"]);
    refused(&l1, &[("targets", "65")], ["targets = 65", "1..64"]);
    refused(&l1, &[("releases", "0")], ["releases = 0", "1..64"]);
    refused(&l1, &[("sb_drain", "never")], ["sb_drain = never", "highwater"]);
    refused(&l1, &[("inject", "x")], ["inject = x", "no-stale"]);
    refused(&tu_gpu::info(), &[("n_fail", "8")], ["n_fail = 8", "1..7"]);
    refused(&tu_gpu::info(), &[("inject", "x")], ["inject = x", "extras"]);
}

/// Compares, or with WEFT_PICTURES=write writes, a file of `hdl/spandex`.
fn same(file: &str, text: &str) -> bool {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hdl/spandex").join(file);
    if std::env::var_os("WEFT_PICTURES").is_some_and(|value| value == "write") {
        std::fs::write(&path, text).expect("the folder can be written");
    }
    std::fs::read_to_string(&path).ok().as_deref() == Some(text)
}

#[test]
fn pictures_and_tables_are_those_of_the_hardware() {
    for info in [gpu_l1::info(), tu_gpu::info()] {
        let svg = Picture::of(&build(&info, &[]).unwrap()).svg();
        assert!(
            same(&format!("pictures/{}.svg", info.name), &svg),
            "{}: write it again with WEFT_PICTURES=write",
            info.name
        );
    }
    let text = format!(
        "Operations of the CU:\n\n{}\nAtomics and synchronising stores of CU scope, with `scopes=1`:\n\n{}\nAnswers of the translation unit:\n\n{}",
        gpu_l1::table::operations().to_markdown(),
        gpu_l1::table::locals().to_markdown(),
        gpu_l1::table::answers().to_markdown(),
    );
    assert!(same("docs/gpu-l1.md", &text), "old: write it again with WEFT_PICTURES=write");
    let text = format!(
        "Requests of the L1:\n\n{}\nResponses:\n\n{}\nForwards:\n\n{}",
        tu_gpu::requests().to_markdown(),
        tu_gpu::responses().to_markdown(),
        tu_gpu::forwards().to_markdown(),
    );
    assert!(same("docs/tu-gpu.md", &text), "old: write it again with WEFT_PICTURES=write");
}

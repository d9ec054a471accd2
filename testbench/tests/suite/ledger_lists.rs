//! The ledger's entries of a family are the cover points of its blocks, at all parameter sets together.

use std::collections::BTreeSet;
use std::path::Path;
use weft_blocks::registry::BlockInfo;
use weft_catalog::sets::{all, given, more};
use weft_rtl::ir::ProbeKind;

/// A sentence: a capital at its begin, a full stop at its end.
fn sentence(text: &str) -> String {
    let mut chars = text.trim_end_matches('.').chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", chars.as_str())
}

/// Compares a list with the cover points of blocks, whose names begin with one of these words.
fn compare(list: &str, blocks: Vec<BlockInfo>, families: &[&str]) {
    let mut text = String::new();
    let mut seen = BTreeSet::new();
    for info in blocks {
        let sets = all().chain(more()).filter(|(name, _)| *name == info.name).flat_map(|(_, sets)| sets);
        for words in std::iter::once("").chain(sets) {
            let module = weft_catalog::build(info.name, &given(words)).expect("legal");
            let mut modules = vec![&module];
            while let Some(module) = modules.pop() {
                modules.extend(module.instances.iter().map(|i| &i.module));
                for cover in module.probes.iter().filter(|p| p.kind == ProbeKind::Cover) {
                    let known = families.iter().any(|family| cover.name.starts_with(family));
                    assert!(known, "{}", cover.name);
                    if seen.insert(cover.name.clone()) {
                        text += &format!("{} | {} | {}\n", info.name, cover.name, sentence(&cover.text));
                    }
                }
            }
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/golden").join(list);
    if std::env::var_os("WEFT_BLESS").is_some() {
        std::fs::write(&path, &text).expect("written");
    }
    let found = std::fs::read_to_string(&path).expect("there");
    assert!(
        found == text,
        "{list} differs from the hardware: run this test with WEFT_BLESS=1 and read the diff"
    );
}

#[test]
fn entries_of_mgpu_tsm_are_the_cover_points_of_its_hardware() {
    compare("mgcc.txt", weft_mgcc::blocks(), &["mgcc.", "gtsc."]);
}

#[test]
fn entries_of_spandex_are_the_cover_points_of_its_hardware() {
    compare("spandex.txt", weft_spandex::blocks(), &["spandex."]);
}

#[test]
fn entries_of_srsp_are_the_cover_points_of_its_hardware() {
    compare("srsp.txt", weft_srsp::blocks(), &["srsp."]);
}

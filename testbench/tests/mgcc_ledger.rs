//! The ledger's entries of MGPU-TSM are the cover points of its blocks, at all parameter sets together.

use std::collections::BTreeSet;
use std::path::Path;
use weft_rtl::ir::ProbeKind;
use weft_testbench::sets::{all, given};

/// A sentence: a capital at its begin, a full stop at its end.
fn sentence(text: &str) -> String {
    let mut chars = text.trim_end_matches('.').chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", chars.as_str())
}

#[test]
fn entries_are_the_cover_points_of_the_hardware() {
    let mut text = String::new();
    let mut seen = BTreeSet::new();
    for info in weft_mgcc::blocks() {
        let sets = all().find(|(name, _)| *name == info.name).expect("listed").1;
        for words in std::iter::once("").chain(sets) {
            let module = weft_catalog::build(info.name, &given(words)).expect("legal");
            for cover in module.probes.iter().filter(|p| p.kind == ProbeKind::Cover) {
                let known = ["mgcc.", "gtsc."].iter().any(|family| cover.name.starts_with(family));
                assert!(known, "{}", cover.name);
                if seen.insert(cover.name.clone()) {
                    text += &format!("{} | {} | {}\n", info.name, cover.name, sentence(&cover.text));
                }
            }
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/golden/mgcc.txt");
    if std::env::var_os("WEFT_BLESS").is_some() {
        std::fs::write(&path, &text).expect("written");
    }
    let found = std::fs::read_to_string(&path).expect("there");
    assert!(
        found == text,
        "mgcc.txt differs from the hardware: run this test with WEFT_BLESS=1 and read the diff"
    );
}

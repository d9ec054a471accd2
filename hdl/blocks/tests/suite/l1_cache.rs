//! The L1 elaborates over its parameter space; it stores what the published one does.

use std::sync::Arc;
use weft_blocks::block;
use weft_blocks::registry::BlockError;
use weft_rtl::ir::Module;

fn build(values: &[(&str, &str)]) -> Result<Arc<Module>, BlockError> {
    block("l1-cache")?.with(values)
}

#[test]
fn parameter_sets_elaborate_and_flatten() {
    let sets: [&[(&str, &str)]; 7] = [
        &[],
        &[("bypass_remote", "1"), ("latency", "3")],
        &[("scoped", "1")],
        &[("scoped", "1"), ("bypass_remote", "1"), ("gpus", "2"), ("gpms", "3")],
        &[("size", "128K"), ("line", "128"), ("mshrs", "64")],
        &[("size", "256"), ("ways", "2"), ("mshrs", "1"), ("targets", "1"), ("stores", "1"), ("l1s", "1")],
        &[("ways", "16"), ("mshrs", "5"), ("targets", "3"), ("addr_bits", "64"), ("gpus", "16")],
    ];
    for set in sets {
        let module = build(set).unwrap();
        weft_rtl::lower::flatten(&module).unwrap();
    }
}

#[test]
fn a_lone_gpu_has_nothing_to_bypass() {
    let problem = build(&[("bypass_remote", "1"), ("gpus", "1"), ("gpms", "4")]).unwrap_err().to_string();
    assert!(problem.contains("bypass_remote = 1") && problem.contains("0 with gpus = 1"), "{problem}");
}

#[test]
fn the_published_l1_stores_16_kb_of_data_and_its_tags() {
    let module = build(&[]).unwrap();
    let bits = |name: &str| {
        let m = module.mems.iter().find(|m| m.name == name).expect("a memory of the cache");
        m.rows * m.row_width()
    };
    assert_eq!(bits("lines"), 16 * 1024 * 8);
    assert_eq!(bits("tags"), 64 * 4 * (42 - 6));
    assert_eq!(bits("ages"), 64 * 4 * 2);
}

#[test]
fn illegal_sizes_are_refused_with_the_legal_range() {
    let text = build(&[("size", "12K")]).unwrap_err().to_string();
    assert!(text.contains("size = 12288") && text.contains("2^k"), "{text}");
    let text = build(&[("ways", "3"), ("size", "12K")]).unwrap_err().to_string();
    assert!(text.contains("ways = 3") && text.contains("2, 4, 8, 16"), "{text}");
    let text = build(&[("home_shift", "47")]).unwrap_err().to_string();
    assert!(text.contains("home_shift = 47"), "{text}");
}

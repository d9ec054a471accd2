//! The bank elaborates over its parameter space; it stores what the published one does.

use std::sync::Arc;
use weft_blocks::block;
use weft_blocks::registry::BlockError;
use weft_rtl::ir::Module;

fn build(given: &[(&str, &str)]) -> Result<Arc<Module>, BlockError> {
    block("l2-bank")?.with(given)
}

#[test]
fn elaborates_and_flattens() {
    let shapes: [&[(&str, &str)]; 15] = [
        &[],
        &[("line", "128"), ("sets", "2304"), ("gpus", "16"), ("home", "15")],
        &[("sets", "3"), ("ways", "2"), ("mshrs", "4"), ("pool", "5"), ("gpus", "3"), ("home", "1")],
        &[("banks", "1"), ("l1s", "1"), ("l1_mshrs", "1"), ("gpus", "2")],
        &[("caching", "l1_only"), ("addr_bits", "64"), ("home_shift", "60")],
        &[("caching", "none"), ("dir", "0")],
        &[("hier", "1"), ("gpms", "4"), ("home", "6")],
        &[("hier", "1"), ("gpms", "2"), ("gpus", "1"), ("sets", "24")],
        &[("hier", "1"), ("gpms", "1"), ("dir", "0"), ("drops", "1")],
        &[("scoped", "1"), ("drops", "1"), ("sets", "6"), ("dir", "0")],
        &[("hier", "1"), ("gpms", "1"), ("dir", "0"), ("drops", "1"), ("drops_all", "1")],
        &[("hier", "1"), ("gpms", "4"), ("downgrade", "1")],
        &[("hier", "1"), ("gpms", "4"), ("write_back", "1")],
        &[
            ("hier", "1"),
            ("gpms", "2"),
            ("write_back", "1"),
            ("dir", "0"),
            ("drops", "1"),
            ("ways", "4"),
            ("sets", "6"),
        ],
        &[("caching", "own_gpu"), ("gpms", "4"), ("drops", "1"), ("dir", "0"), ("scoped", "1")],
    ];
    let mut names = Vec::new();
    for shape in shapes {
        let module = build(shape).unwrap_or_else(|e| panic!("{shape:?}: {e}"));
        weft_rtl::lower::flatten(&module).unwrap_or_else(|e| panic!("{shape:?}: {e}"));
        assert!(!names.contains(&module.name), "{} names two sets of parameters", module.name);
        names.push(module.name.clone());
    }
}

/// One of 16 banks of 2 MiB: a tag is 31 bits beside two of state.
#[test]
fn published_line_has_31_tag_bits() {
    let module = build(&[]).unwrap();
    let bits = |name: &str| {
        let m = module.mems.iter().find(|m| m.name == name).expect("a memory of the bank");
        m.rows * m.row_width()
    };
    let lines = (2 << 20) / 64 / 16;
    assert_eq!((bits("tags"), bits("data")), (lines * (31 + 2), lines * 64 * 8));
}

#[test]
fn illegal_parameters_are_refused_with_their_range() {
    for (key, value) in [
        ("ways", "3"),
        ("sets", "34"),
        ("line", "32"),
        ("caching", "l3"),
        ("home", "4"),
        ("downgrade", "1"),
        ("write_back", "1"),
    ] {
        let error = build(&[(key, value)]).unwrap_err().to_string();
        assert!(error.contains(&format!("parameter {key} = {value}")) && error.contains("legal:"), "{error}");
    }
}

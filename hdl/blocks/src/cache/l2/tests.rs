//! The bank elaborates over its parameter space; its tables are sound.

use super::*;
use crate::registry::{BlockInfo, ParamSet};
use std::collections::BTreeMap;

fn build(given: &[(&str, &str)]) -> Result<Arc<Module>, BlockError> {
    INFO.with(given)
}

#[test]
fn elaborates_and_flattens() {
    let shapes: [&[(&str, &str)]; 14] = [
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

#[test]
fn published_line_has_31_tag_bits() {
    let info: BlockInfo = INFO;
    let p = params::read(&ParamSet::new(&info, &BTreeMap::new()).unwrap()).unwrap();
    assert_eq!((p.tag_bits(), p.way_bits(), p.sets * p.ways * 64 * 16), (31, 4, 2 << 20));
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

#[test]
fn no_two_rows_overlap() {
    for (forces, holds) in [(false, false), (true, false), (true, true)] {
        assert_eq!(tables::requester(forces, holds).overlaps(), vec![]);
        assert_eq!(tables::gpu_home(holds).overlaps(), vec![]);
    }
    assert_eq!(tables::home().overlaps(), vec![]);
}

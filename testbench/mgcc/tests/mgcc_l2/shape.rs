//! The banks elaborate over their parameter space; their tables are sound; storage is what is published.

use std::collections::BTreeMap;
use std::sync::Arc;
use weft_blocks::registry::ParamSet;
use weft_blocks::registry::{BlockError, BlockInfo};
use weft_mgcc::l2::{info, table};
use weft_mgcc::params::Tsm;
use weft_rtl::ir::Module;

fn build(info: &BlockInfo, given: &[(&str, &str)]) -> Result<Arc<Module>, BlockError> {
    let given: BTreeMap<String, String> =
        given.iter().map(|(k, v)| ((*k).to_string(), (*v).to_string())).collect();
    (info.build)(&ParamSet::new(info, &given)?)
}

const SHAPES: [&[(&str, &str)]; 8] = [
    &[],
    &[("coherence", "none")],
    &[("read_ts", "eager"), ("repl_ts", "0"), ("evict_notes", "0")],
    &[
        ("size", "128"),
        ("ways", "2"),
        ("gpus", "2"),
        ("cus", "2"),
        ("banks", "2"),
        ("ts", "6"),
        ("l2_mshrs", "1"),
        ("pool", "1"),
    ],
    &[
        ("size", "4K"),
        ("ways", "8"),
        ("banks", "1"),
        ("gpus", "1"),
        ("cus", "1"),
        ("l2_mshrs", "3"),
        ("pool", "5"),
        ("il", "6"),
    ],
    &[
        ("banks", "16"),
        ("gpus", "16"),
        ("cus", "128"),
        ("addr_bits", "64"),
        ("il", "24"),
        ("ts", "32"),
        ("eb", "8"),
    ],
    &[("inject", "lit_brts"), ("size", "16K")],
    &[("inject", "lit_ack_nodata"), ("size", "16K")],
];

#[test]
fn elaborates_and_flattens() {
    let mut names = Vec::new();
    for shape in SHAPES {
        let module = build(&info(), shape).unwrap_or_else(|e| panic!("{shape:?}: {e}"));
        weft_rtl::lower::flatten(&module).unwrap_or_else(|e| panic!("{shape:?}: {e}"));
        assert!(!weft_rtl::verilog::emit(&module).is_empty());
        assert!(!names.contains(&module.name), "{} names two sets of parameters", module.name);
        names.push(module.name.clone());
    }
}

/// Bits of a field over a memory's rows.
fn bits(module: &Module, memory: &str) -> u32 {
    let found = module.mems.iter().find(|m| m.name == memory);
    found.map_or(0, |m| m.rows * m.row_width())
}

#[test]
fn stamps_of_a_bank_are_8_kb_of_wts_and_8_kb_of_rts() {
    let module = build(&info(), &[]).unwrap();
    let stamps = module.mems.iter().find(|m| m.name == "stamps").expect("stamps");
    for name in ["wts", "rts"] {
        let leaf = stamps.leaves.iter().find(|l| l.name == name).expect("a stamp");
        assert_eq!(stamps.rows * stamps.lanes * leaf.width, 8 * 8 * 1024, "{name}");
    }
    assert_eq!(bits(&module, "lines"), 256 * 1024 * 8);
    assert_eq!(bits(&module, "tags"), 4096 * (31 + 2));
    assert_eq!(bits(&module, "ages"), 4096 * 4);
    let plain = build(&info(), &[("coherence", "none")]).unwrap();
    let timed =
        |m: &Module| m.mems.iter().flat_map(|m| m.fields.clone()).filter(|f| f.0 == "timestamp").count();
    assert_eq!((timed(&plain), bits(&plain, "stamps")), (0, 0), "without coherence there is no timestamp");
    assert!(timed(&module) > 0);
}

#[test]
fn clocks_of_a_gpu_are_576_bytes() {
    let module = build(&info(), &[]).unwrap();
    let width = |name: &str| module.signals.iter().find(|s| s.name == name).expect("a register").width;
    let t = Tsm::default();
    assert_eq!(width("cts") + width("epoch"), t.cts);
    assert_eq!(t.clock_bytes(), 576);
}

#[test]
fn illegal_parameters_are_refused_with_their_range() {
    for (key, value) in
        [("ways", "3"), ("size", "100K"), ("pool", "0"), ("coherence", "some"), ("ts", "5"), ("inject", "x")]
    {
        let error = build(&info(), &[(key, value)]).unwrap_err().to_string();
        assert!(error.contains(&format!("parameter {key} = ")) && error.contains("legal:"), "{error}");
    }
}

#[test]
fn no_two_rows_overlap() {
    for coherent in [true, false] {
        assert_eq!(table::requests(coherent).overlaps(), vec![]);
        assert_eq!(table::fills(coherent).overlaps(), vec![]);
    }
}

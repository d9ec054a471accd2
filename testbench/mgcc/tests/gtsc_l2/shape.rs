//! Parameters, tables and storage of `gtsc-l2`: what needs no simulation.

use std::collections::BTreeMap;
use weft_blocks::registry::{BlockError, ParamSet};
use weft_mgcc::choice::GtscFault;
use weft_mgcc::gtsc::{l2_info, l2_tables};
use weft_mgcc::l2::{L2Params, l2_wb, mgcc_l2};
use weft_mgcc::params::Tsm;
use weft_rtl::prelude::*;

fn build(given: &[(&str, &str)]) -> Result<Arc<Module>, BlockError> {
    let given: BTreeMap<String, String> =
        given.iter().map(|(k, v)| ((*k).to_string(), (*v).to_string())).collect();
    (l2_info().build)(&ParamSet::new(&l2_info(), &given)?)
}

const SHAPES: [&[(&str, &str)]; 4] = [
    &[],
    &[
        ("size", "128"),
        ("ways", "2"),
        ("gpus", "1"),
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
        ("cus", "1"),
        ("l2_mshrs", "3"),
        ("pool", "5"),
        ("il", "6"),
    ],
    &[("banks", "16"), ("cus", "128"), ("addr_bits", "64"), ("il", "24"), ("ts", "32"), ("eb", "8")],
];

#[test]
fn elaborates_and_flattens() {
    let mut names = Vec::new();
    let faults = GtscFault::WORDS.iter().map(|w| vec![("inject", w.1), ("size", "8K")]);
    for shape in SHAPES.iter().map(|s| s.to_vec()).chain(faults) {
        let module = build(&shape).unwrap_or_else(|e| panic!("{shape:?}: {e}"));
        weft_rtl::lower::flatten(&module).unwrap_or_else(|e| panic!("{shape:?}: {e}"));
        assert!(!weft_rtl::verilog::emit(&module).is_empty());
        assert!(!names.contains(&module.name), "{} names two sets of parameters", module.name);
        names.push(module.name.clone());
    }
}

#[test]
fn stamps_and_times_are_stored_as_specified() {
    let module = build(&[]).unwrap();
    let bits = |name: &str| module.mems.iter().find(|m| m.name == name).map_or(0, |m| m.rows * m.row_width());
    assert_eq!(bits("stamps"), 16 * 8 * 1024, "8 KB wts and 8 KB rts per bank");
    assert_eq!((bits("dirty"), bits("lines")), (4096 * 64, 256 * 1024 * 8));
    let width = |name: &str| module.signals.iter().find(|s| s.name == name).map(|s| s.width);
    assert_eq!((width("mem_ts"), width("epoch")), (Some(16), Some(48)));
    assert!(width("cts").is_none() && bits("landing_stamps") == 0, "memory grants nothing");
}

#[test]
fn tables_are_complete_and_sound() {
    let [requests, fills] = l2_tables();
    assert_eq!((requests.overlaps(), fills.overlaps()), (vec![], vec![]));
    // No forced reads: 4 events in 7 states.
    assert_eq!(requests.rows.len(), 7 * 4);
    assert_eq!(fills.rows.len(), 4);
}

#[test]
fn banks_refuse_what_is_another_ones() {
    let t = Tsm::default();
    let gtsc = L2Params::gtsc_published(t.clone());
    for built in [mgcc_l2(&gtsc), l2_wb(&gtsc), weft_mgcc::gtsc::gtsc_l2(&L2Params::write_back(t))] {
        assert!(built.unwrap_err().to_string().contains("it is another block's"));
    }
    for (key, value) in [("ways", "3"), ("size", "100K"), ("pool", "0"), ("inject", "lit_brts")] {
        let error = build(&[(key, value)]).unwrap_err().to_string();
        assert!(error.contains(&format!("parameter {key} = ")) && error.contains("legal:"), "{error}");
    }
}

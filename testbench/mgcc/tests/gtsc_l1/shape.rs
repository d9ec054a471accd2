//! Parameters, tables and storage of `gtsc-l1`, and the byte accounting of G-TSC: what needs no simulation.

use std::collections::BTreeMap;
use weft_blocks::registry::{BlockError, ParamSet};
use weft_mgcc::choice::{Coherence, Consistency};
use weft_mgcc::gtsc::l1_info;
use weft_mgcc::l1::{L1Params, answers, mgcc_l1, operations};
use weft_mgcc::params::Tsm;
use weft_rtl::prelude::*;

fn build(given: &[(&str, &str)]) -> Result<Arc<Module>, BlockError> {
    let given: BTreeMap<String, String> =
        given.iter().map(|(k, v)| ((*k).to_string(), (*v).to_string())).collect();
    (l1_info().build)(&ParamSet::new(&l1_info(), &given)?)
}

#[test]
fn elaborates_and_flattens() {
    let shapes: [&[(&str, &str)]; 7] = [
        &[],
        &[("observe", "1"), ("self_inc", "0")],
        &[("repl_ts", "1"), ("latency", "3")],
        &[("inject", "unlocked")],
        &[("size", "8K"), ("ways", "2"), ("pool", "3")],
        &[
            ("size", "256"),
            ("ways", "2"),
            ("l1_mshrs", "1"),
            ("pool", "1"),
            ("cus", "1"),
            ("banks", "1"),
            ("ts", "6"),
            ("eb", "3"),
            ("cts", "9"),
            ("addr_bits", "32"),
        ],
        &[("banks", "16"), ("il", "6"), ("ts", "32"), ("eb", "8"), ("l1_mshrs", "5"), ("pool", "3")],
    ];
    let mut names = Vec::new();
    for shape in shapes {
        let module = build(shape).unwrap_or_else(|e| panic!("{shape:?}: {e}"));
        weft_rtl::lower::flatten(&module).unwrap_or_else(|e| panic!("{shape:?}: {e}"));
        assert!(!weft_rtl::verilog::emit(&module).is_empty());
        assert!(!names.contains(&module.name), "{} names two sets of parameters", module.name);
        names.push(module.name.clone());
    }
}

#[test]
fn one_clock_and_no_knowledge_of_banks() {
    let module = build(&[]).unwrap();
    let width = |name: &str| module.signals.iter().find(|s| s.name == name).map(|s| s.width);
    assert_eq!((width("cts"), width("acq"), width("bank_lb0")), (Some(64), None, None));
    assert_eq!(width("up_req_warpts"), Some(64), "warpts goes with every request");
    let stamps = module.mems.iter().find(|m| m.name == "stamps").expect("stamps");
    assert_eq!(stamps.rows * stamps.row_width(), 1024 * 8, "as MGCC: 1 KB");
}

#[test]
fn tables_are_sound() {
    let p = L1Params::gtsc_published(Tsm::default());
    assert_eq!((operations(&p).overlaps(), answers(&p).overlaps()), (vec![], vec![]));
    let mgcc = L1Params::published(Tsm::default(), Consistency::Rc, Coherence::Mgcc);
    let ids = |t: Table| t.rows.into_iter().map(|r| r.id).collect::<Vec<_>>();
    assert!(ids(operations(&p)).contains(&"gtsc.l1.st.absent".to_string()));
    assert!(!ids(operations(&p)).iter().any(|id| id.contains("st_full.absent")), "no-write-allocate");
    assert!(!ids(answers(&mgcc)).iter().any(|id| id.contains("renew")));
    assert!(mgcc_l1(&p).unwrap_err().to_string().contains("it is another block's"));
    for (key, value) in [("ways", "3"), ("latency", "2"), ("self_inc", "1"), ("inject", "lit_brts")] {
        let error = build(&[(key, value)]).unwrap_err().to_string();
        assert!(error.contains("of block gtsc-l1") && error.contains("legal:"), "{error}");
    }
}

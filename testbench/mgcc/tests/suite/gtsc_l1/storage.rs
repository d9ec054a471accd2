//! Storage and tables of `gtsc-l1`: what needs no simulation.

use weft_mgcc::choice::{Coherence, Consistency};
use weft_mgcc::gtsc::l1_info;
use weft_mgcc::l1::{L1Params, answers, mgcc_l1, operations};
use weft_mgcc::params::Tsm;

#[test]
fn one_clock_and_no_knowledge_of_banks() {
    let module = l1_info().with(&[]).unwrap();
    let width = |name: &str| module.signals.iter().find(|s| s.name == name).map(|s| s.width);
    assert_eq!((width("cts"), width("acq"), width("bank_lb0")), (Some(64), None, None));
    assert_eq!(width("up_req_warpts"), Some(64), "warpts goes with every request");
    let stamps = module.mems.iter().find(|m| m.name == "stamps").expect("stamps");
    assert_eq!(stamps.rows * stamps.row_width(), 1024 * 8, "as MGCC: 1 KB");
}

#[test]
fn tables_are_sound() {
    let p = L1Params::gtsc_published(Tsm::default());
    assert_eq!((operations(&p).faults(), answers(&p).faults()), (vec![], vec![]));
    let mgcc = L1Params::published(Tsm::default(), Consistency::Rc, Coherence::Mgcc);
    let rows = operations(&p);
    assert!(rows.rows().iter().any(|row| row.id == "gtsc.l1.st.absent"));
    assert!(!rows.rows().iter().any(|row| row.id.contains("st_full.absent")), "no-write-allocate");
    assert!(!answers(&mgcc).rows().iter().any(|row| row.id.contains("renew")));
    assert!(mgcc_l1(&p).unwrap_err().to_string().contains("it is another block's"));
}

#[test]
fn a_slip_of_mgccs_listings_is_refused() {
    let error = l1_info().with(&[("inject", "lit_brts")]).unwrap_err().to_string();
    assert!(error.contains("of block gtsc-l1") && error.contains("legal:"), "{error}");
}

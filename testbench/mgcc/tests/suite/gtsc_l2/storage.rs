//! Storage and tables of `gtsc-l2`: what needs no simulation.

use weft_mgcc::gtsc::l2_info;
use weft_mgcc::l2::BackKind;
use weft_mgcc::l2::back_table::{fills, requests};
use weft_mgcc::l2::{L2Params, l2_wb, mgcc_l2};
use weft_mgcc::params::Tsm;

#[test]
fn stamps_and_times_are_stored_as_specified() {
    let module = l2_info().with(&[]).unwrap();
    let bits = |name: &str| module.mems.iter().find(|m| m.name == name).map_or(0, |m| m.rows * m.row_width());
    assert_eq!(bits("stamps"), 16 * 8 * 1024, "8 KB wts and 8 KB rts per bank");
    assert_eq!((bits("dirty"), bits("lines")), (4096 * 64, 256 * 1024 * 8));
    let width = |name: &str| module.signals.iter().find(|s| s.name == name).map(|s| s.width);
    assert_eq!((width("mem_ts"), width("epoch")), (Some(16), Some(48)));
    assert!(width("cts").is_none() && bits("landing_stamps") == 0, "memory grants nothing");
}

#[test]
fn tables_are_sound() {
    assert_eq!(requests(BackKind::Gtsc).faults(), []);
    assert_eq!(fills(BackKind::Gtsc).faults(), []);
    assert!(!requests(BackKind::Gtsc).rows().iter().any(|row| row.id.contains("forced")));
}

#[test]
fn banks_refuse_what_is_another_ones() {
    let t = Tsm::default();
    let gtsc = L2Params::gtsc_published(t.clone());
    for built in [mgcc_l2(&gtsc), l2_wb(&gtsc), weft_mgcc::gtsc::gtsc_l2(&L2Params::write_back(t))] {
        assert!(built.unwrap_err().to_string().contains("it is another block's"));
    }
}

#[test]
fn a_slip_of_mgccs_listings_is_refused() {
    let error = l2_info().with(&[("inject", "lit_brts")]).unwrap_err().to_string();
    assert!(error.contains("of block gtsc-l2") && error.contains("legal:"), "{error}");
}

//! Storage and tables of the banks: what needs no simulation.

use weft_mgcc::l2::{info, table};
use weft_mgcc::params::Tsm;
use weft_rtl::ir::Module;

/// Bits of a field over a memory's rows.
fn bits(module: &Module, memory: &str) -> u32 {
    let found = module.mems.iter().find(|m| m.name == memory);
    found.map_or(0, |m| m.rows * m.row_width())
}

#[test]
fn stamps_of_a_bank_are_8_kb_of_wts_and_8_kb_of_rts() {
    let module = info().with(&[]).unwrap();
    let stamps = module.mems.iter().find(|m| m.name == "stamps").expect("stamps");
    for name in ["wts", "rts"] {
        let leaf = stamps.leaves.iter().find(|l| l.name == name).expect("a stamp");
        assert_eq!(stamps.rows * stamps.lanes * leaf.width, 8 * 8 * 1024, "{name}");
    }
    assert_eq!(bits(&module, "lines"), 256 * 1024 * 8);
    assert_eq!(bits(&module, "tags"), 4096 * (31 + 2));
    assert_eq!(bits(&module, "ages"), 4096 * 4);
    let plain = info().with(&[("coherence", "none")]).unwrap();
    let timed =
        |m: &Module| m.mems.iter().flat_map(|m| m.fields.clone()).filter(|f| f.0 == "timestamp").count();
    assert_eq!((timed(&plain), bits(&plain, "stamps")), (0, 0), "without coherence there is no timestamp");
    assert!(timed(&module) > 0);
}

#[test]
fn clocks_of_a_gpu_are_576_bytes() {
    let module = info().with(&[]).unwrap();
    let width = |name: &str| module.signals.iter().find(|s| s.name == name).expect("a register").width;
    let t = Tsm::default();
    assert_eq!(width("cts") + width("epoch"), t.cts);
    assert_eq!(t.clock_bytes(), 576);
}

#[test]
fn tables_are_sound() {
    for coherent in [true, false] {
        assert_eq!(table::requests(coherent).faults(), []);
        assert_eq!(table::fills(coherent).faults(), []);
    }
}

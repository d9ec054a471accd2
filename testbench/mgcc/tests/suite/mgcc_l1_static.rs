//! Tables and storage of `mgcc-l1`: what needs no simulation.

use weft_mgcc::choice::{Coherence, Consistency};
use weft_mgcc::l1::{L1Params, answers, info, machine, operations};
use weft_mgcc::params::Tsm;
use weft_rtl::area::area;

fn params() -> impl Iterator<Item = L1Params> {
    let kinds = [Consistency::Sc, Consistency::Rc]
        .into_iter()
        .flat_map(|consistency| [Coherence::Mgcc, Coherence::None].map(|coherence| (consistency, coherence)));
    kinds.map(|(consistency, coherence)| L1Params::published(Tsm::default(), consistency, coherence))
}

/// mgcc.md section 4: per line tag 36, state 2, wts 16, rts 16, age 2, data 512; stamps 1 KB.
#[test]
fn the_published_l1_stores_what_the_specification_says() {
    let area = area(&info().with(&[]).unwrap());
    let bits = |name: &str| area.memories.iter().find(|m| m.name == name).map(|m| m.bits);
    assert_eq!(bits("lines"), Some(16 * 1024 * 8));
    assert_eq!(bits("tags"), Some(256 * 36));
    assert_eq!(bits("stamps"), Some(1024 * 8));
    assert_eq!(bits("ages"), Some(256 * 2));
    let module = info().with(&[]).unwrap();
    let registers = |name: &str| -> u32 {
        let named = |s: &&weft_rtl::ir::Signal| s.name.trim_end_matches(char::is_numeric) == name;
        module.signals.iter().filter(named).map(|s| s.width).sum()
    };
    assert_eq!(registers("valid") + registers("locked"), 256 * 2);
    assert_eq!([registers("cts"), registers("acq"), registers("hits")], [64, 16, 16]);
    assert_eq!(registers("bank_lb"), 8 * 16);
    assert_eq!((bits("miss_need"), bits("pool_need")), (Some(16 * 20), Some(16 * 20)));
    assert_eq!(bits("pool_data"), Some(16 * (512 + 64)));
}

#[test]
fn without_coherence_there_is_no_stamp() {
    let module = info().with(&[("coherence", "none")]).unwrap();
    let stamps = |name: &str| module.mems.iter().any(|m| m.name == name);
    assert!(!stamps("stamps") && !stamps("miss_need") && stamps("tags"));
    assert!(module.signals.iter().all(|s| !s.name.starts_with("cts") && !s.name.starts_with("bank_lb")));
}

#[test]
fn the_tables_are_sound() {
    for p in params() {
        assert_eq!((operations(&p).faults(), answers(&p).faults()), (vec![], vec![]), "{p:?}");
        assert_eq!(machine(&p).unreached(), []);
    }
}

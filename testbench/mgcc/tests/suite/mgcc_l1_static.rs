//! Tables and storage of `mgcc-l1`: what needs no simulation.

use weft_mgcc::choice::{Coherence, Consistency};
use weft_mgcc::l1::{Answer, Block, L1Event, L1Params, Lease, Place, answers, info, operations};
use weft_mgcc::params::Tsm;
use weft_rtl::area::area;
use weft_rtl::prelude::*;

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
fn the_tables_have_one_row_for_each_case() {
    for p in params() {
        let (operations, answers) = (operations(&p), answers(&p));
        assert_eq!((operations.overlaps(), answers.overlaps()), (vec![], vec![]));
        let rows = |table: &Table, case: [u64; 3]| {
            let fits = |row: &&Row| row.when.iter().zip(case).all(|(p, v)| p.is_empty() || p.contains(&v));
            table.rows.iter().filter(fits).count()
        };
        for (event, line, block) in
            (0..8).flat_map(|e| (0..2).flat_map(move |l| (0..4).map(move |b| (e, l, b))))
        {
            let of_sync = event == L1Event::LdSync.encoding();
            let sync = of_sync && !p.has_sync_loads();
            // No block expires without coherence; the row of LD_SYNC names all blocks that are there.
            let expired =
                event < 5 && line == 0 && block == Block::Expired.encoding() && !p.coherent() && !of_sync;
            let expected = usize::from(!sync && !expired);
            assert_eq!(rows(&operations, [event, line, block]), expected, "{event} {line} {block}");
        }
        for (answer, lease, place) in
            (0..4).flat_map(|a| (0..3).flat_map(move |l| (0..3).map(move |p| (a, l, p))))
        {
            let own = place == Place::Own.encoding();
            let amo = answer == Answer::Amo.encoding() && own;
            let never_kept = answer == Answer::Rd.encoding() && own && !p.coherent() && !p.has_sync_loads();
            let lost = lease != Lease::Covers.encoding() && !p.coherent();
            let count = rows(&answers, [answer, lease, place]);
            assert!(
                count == 1 || (count == 0 && (amo || never_kept || lost)),
                "{answer} {lease} {place}: {count}"
            );
        }
    }
}

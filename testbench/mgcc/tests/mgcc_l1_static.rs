//! Parameters, tables and storage of `mgcc-l1`: what needs no simulation.

use std::collections::BTreeMap;
use weft_blocks::registry::{BlockError, ParamSet};
use weft_mgcc::choice::{Choice, Coherence, Consistency, Inject};
use weft_mgcc::l1::{Answer, Block, L1Event, L1Params, Lease, Place, answers, info, operations};
use weft_mgcc::params::Tsm;
use weft_rtl::area::area;
use weft_rtl::prelude::*;

fn build(values: &[(&str, &str)]) -> Result<Arc<Module>, BlockError> {
    let given: BTreeMap<String, String> = values.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    let info = info();
    (info.build)(&ParamSet::new(&info, &given)?)
}

fn params() -> impl Iterator<Item = L1Params> {
    let kinds = [Consistency::Sc, Consistency::Rc]
        .into_iter()
        .flat_map(|consistency| [Coherence::Mgcc, Coherence::None].map(|coherence| (consistency, coherence)));
    kinds.map(|(consistency, coherence)| L1Params::published(Tsm::default(), consistency, coherence))
}

#[test]
fn parameter_sets_elaborate_and_flatten() {
    let sets: [&[(&str, &str)]; 8] = [
        &[],
        &[("consistency", "sc"), ("observe", "1")],
        &[("read_ts", "eager"), ("self_inc", "0"), ("repl_ts", "0")],
        &[("coherence", "none"), ("latency", "3")],
        &[("coherence", "none"), ("consistency", "sc"), ("observe", "1")],
        &[
            ("size", "128K"),
            ("ways", "16"),
            ("l1_mshrs", "64"),
            ("pool", "64"),
            ("addr_bits", "64"),
            ("latency", "256"),
        ],
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
    for set in sets {
        let module = build(set).unwrap_or_else(|e| panic!("{set:?}: {e}"));
        weft_rtl::lower::flatten(&module).unwrap();
    }
    for (inject, word) in Inject::WORDS {
        assert!(build(&[("inject", word)]).is_ok(), "{inject:?}");
    }
}

#[test]
fn every_parameter_is_in_the_name() {
    let mut names = BTreeMap::new();
    let sets = [
        ("size", "32K"),
        ("ways", "2"),
        ("latency", "20"),
        ("pool", "8"),
        ("consistency", "sc"),
        ("coherence", "none"),
    ];
    let more = [
        ("read_ts", "eager"),
        ("self_inc", "0"),
        ("repl_ts", "0"),
        ("observe", "1"),
        ("inject", "lit_brts"),
        ("l1_mshrs", "8"),
    ];
    for set in sets.iter().chain(&more) {
        let name = build(&[*set]).unwrap().name.clone();
        assert_eq!(names.insert(name, *set), None);
    }
}

/// mgcc.md section 4: per line tag 36, state 2, wts 16, rts 16, age 2, data 512; stamps 1 KB.
#[test]
fn the_published_l1_stores_what_the_specification_says() {
    let area = area(&build(&[]).unwrap());
    let bits = |name: &str| area.memories.iter().find(|m| m.name == name).map(|m| m.bits);
    assert_eq!(bits("lines"), Some(16 * 1024 * 8));
    assert_eq!(bits("tags"), Some(256 * 36));
    assert_eq!(bits("stamps"), Some(1024 * 8));
    assert_eq!(bits("ages"), Some(256 * 2));
    let module = build(&[]).unwrap();
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
    let module = build(&[("coherence", "none")]).unwrap();
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

#[test]
fn illegal_values_are_refused_with_the_legal_range() {
    let refused = |set: &[(&str, &str)], parts: [&str; 2]| {
        let text = build(set).unwrap_err().to_string();
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    };
    refused(&[("size", "12K")], ["size = 12288", "2^k"]);
    refused(&[("ways", "3"), ("size", "12K")], ["ways = 3", "2, 4, 8, 16"]);
    refused(&[("consistency", "sc"), ("read_ts", "deferred")], ["read_ts = deferred", "eager with sc"]);
    refused(&[("consistency", "sc"), ("self_inc", "0")], ["self_inc = 0", "2..65535"]);
    refused(&[("self_inc", "1")], ["self_inc = 1", "2..65535"]);
    refused(&[("latency", "2")], ["latency = 2", "3..256"]);
    refused(&[("inject", "lit")], ["inject = lit", "lit_no_ts"]);
}

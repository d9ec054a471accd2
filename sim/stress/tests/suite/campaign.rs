//! Campaigns on real fabrics: sound hardware passes, each planted fault is found and made small, and the number of jobs changes nothing.

use crate::hardware::plan;
use weft_fabric::config::FabricConfig;
use weft_stress::campaign::{Campaign, Made, Plan};
use weft_workload::trace::text;

fn run(fabric: &str, keys: &[&str], plan: Plan) -> Made {
    let given: Vec<String> = keys.iter().map(|key| key.to_string()).collect();
    let mut config = FabricConfig::load(fabric).expect("a fabric");
    given.iter().for_each(|key| config.set(key).expect("a key"));
    Campaign::new(&config, &given, plan, Default::default()).run(&|_| {}).expect("hardware")
}

#[test]
fn the_number_of_jobs_changes_nothing() {
    let of = |jobs| run("spandex-soc-small", &[], Plan { jobs, operations: 150_000, ..plan(5) });
    let one = of(1);
    assert!(one.failing.is_none(), "{:?}", one.failing);
    assert!(one.counts.operations >= 150_000 && one.counts.judged > 0 && one.groups > 1, "{one:?}");
    assert_eq!(of(3), one);
}

#[test]
fn a_campaign_goes_on_where_it_ended() {
    let whole = run("flat-gpu-small", &[], Plan { operations: 120_000, ..plan(2) });
    let first = run("flat-gpu-small", &[], Plan { operations: 1, ..plan(2) });
    let config = FabricConfig::load("flat-gpu-small").expect("a fabric");
    let rest = Campaign::new(&config, &[], Plan { operations: 120_000, ..plan(2) }, Default::default())
        .after(first.groups, first.counts.operations);
    let rest = rest.run(&|_| {}).expect("hardware");
    let mut both = first.counts;
    both += rest.counts;
    assert_eq!((first.groups + rest.groups, both), (whole.groups, whole.counts));
}

/// The fault, where it is planted, and what shows it.
const PLANTED: &[(&str, &[&str])] = &[
    ("rec-4gpu-small", &["protocol=nhcc", "inject=l1-keeps-copies"]),
    ("rec-4gpu-small", &["protocol=moesi", "inject=l1-keeps-copies"]),
    ("tsm-4gpu-small", &["inject=past_rts"]),
    ("srsp-64cu-small", &["inject=early-release"]),
    ("hlrc-128cu-small", &["protocol=denovo-b", "inject=keeps-copies"]),
    ("spandex-soc-small", &["protocol=s-mesi-gpu", "inject=llc-early-ack"]),
    // Only accesses that name their request meet it.
    ("spandex-soc-small", &["protocol=s-flex", "inject=flex-l1-drops-refused"]),
    // Only a wave that loads at once what another has just released sees it.
    ("flat-gpu-small", &["protocol=s-flex", "model=drf1", "inject=flex-l1-early-release"]),
];

#[test]
fn planted_faults_are_found_and_made_small() {
    for (fabric, keys) in PLANTED {
        let made = run(fabric, keys, Plan { operations: 1_000_000, reduce: 400, ..plan(1) });
        let failing = made.failing.unwrap_or_else(|| panic!("{fabric} {keys:?}: {:?}", made.counts));
        let (small, left) = &failing.small;
        let count = small.program.operations();
        println!(
            "{fabric} {keys:?}: round {}, {} -> {count}: {}",
            failing.round, failing.operations, left.text
        );
        assert_eq!(left.kind, failing.fault.kind);
        assert!(count * 4 < failing.operations || count < 20, "{count} of {}", failing.operations);
        let words = text::write(&small.program.trace());
        text::read(words.as_bytes(), "a").expect("a trace");
    }
}

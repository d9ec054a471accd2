//! Campaigns on built-in fabrics.

use weft_conformance::{Campaign, CampaignError, Plan};
use weft_fabric::config::FabricConfig;
use weft_litmus::library::library;
use weft_litmus::test::Test;

/// Tests on a built-in fabric with some of its keys changed.
pub fn campaign(fabric: &str, keys: &[&str]) -> Campaign {
    let mut config = FabricConfig::load(fabric).expect("a built-in fabric");
    for key in keys {
        config.set(key).expect("a key of it");
    }
    Campaign::new(&config).expect("it builds")
}

/// Every test `runs` times; names of those whose condition was met although the fabric's model forbids no such end.
pub fn weak(campaign: &Campaign, tests: &[Test], runs: u32) -> Vec<String> {
    weak_as(campaign, tests, &Plan { runs, ..Plan::default() })
}

/// The same with other plans.
pub fn weak_as(campaign: &Campaign, tests: &[Test], plan: &Plan) -> Vec<String> {
    let (mut shown, mut ran, mut remote) = (Vec::new(), 0, 0);
    for test in tests {
        let report = match campaign.run(test, plan) {
            Err(CampaignError::Nowhere { .. }) => continue,
            Err(CampaignError::Remote { .. }) => {
                remote += 1;
                continue;
            }
            other => other.unwrap_or_else(|e| panic!("{}: {e}", test.name)),
        };
        ran += 1;
        assert_eq!(report.runs(), u64::from(plan.runs), "{}", test.name);
        if let Some(f) = report.forbidden().into_iter().next() {
            let (placement, layout, times) = (f.placement, f.layout, f.times);
            let end = test.describe(&f.end);
            panic!("{}, {placement}, {layout}: {times} times {end}, against {}", test.name, f.judge.name());
        }
        if report.seen(|end| test.condition.holds(end)) > 0 {
            shown.push(test.name.clone());
        }
    }
    let asked = tests.len() - remote;
    assert!(ran * 10 >= asked * 9, "only {ran} of {asked} tests have a place");
    shown
}

/// Runs of a step of a search.
const STEP: u32 = 100;

/// A plan in steps, each with a seed of its own: what is seen early needs no more of them.
pub fn steps(plan: &Plan) -> impl Iterator<Item = Plan> + '_ {
    (0..plan.runs.div_ceil(STEP)).map(|i| Plan {
        runs: STEP.min(plan.runs - i * STEP),
        seed: plan.seed + u64::from(i),
        ..plan.clone()
    })
}

/// Runs each test in steps until its condition is met, or the plan is at its end; names of those that showed it, and nothing that is forbidden.
pub fn search(campaign: &Campaign, tests: &[Test], plan: &Plan) -> Vec<String> {
    let shows =
        |test: &&Test| steps(plan).any(|step| !weak_as(campaign, &[(*test).clone()], &step).is_empty());
    tests.iter().filter(shows).map(|test| test.name.clone()).collect()
}

/// Weft's own tests.
pub fn all() -> Vec<Test> {
    library().expect("the library")
}

/// Those of these names.
pub fn named(names: &[&str]) -> Vec<Test> {
    let tests: Vec<Test> = all().into_iter().filter(|t| names.contains(&t.name.as_str())).collect();
    assert_eq!(tests.len(), names.len(), "all of {names:?}");
    tests
}

//! Hardware that is drawn is legal, and everything that may be changed is.

use std::collections::BTreeSet;
use weft_fabric::config::FabricConfig;
use weft_stress::Ground;
use weft_stress::campaign::{Campaign, Plan};
use weft_stress::hardware::KEPT;

/// A plan that makes nothing by itself.
pub fn plan(seed: u64) -> Plan {
    Plan {
        seed,
        operations: 1,
        budget: None,
        jobs: 1,
        made: 0,
        only: None,
        fixed: false,
        judged: true,
        reduce: 400,
    }
}

#[test]
fn drawn_keys_are_legal_together_and_leave_what_is_given() {
    for fabric in FabricConfig::list().into_iter().filter(|name| name.ends_with("-small")) {
        let config = FabricConfig::load(fabric).expect("a fabric");
        let given = ["waves=3".to_string()];
        let campaign = Campaign::new(&config, &given, plan(1), Default::default());
        assert_eq!(campaign.keys(0), Vec::<String>::new(), "the first group is the fabric itself");
        let mut seen = BTreeSet::new();
        for group in 1..120 {
            let keys = campaign.keys(group);
            let mut with = config.clone();
            keys.iter().for_each(|key| with.set(key).expect("a legal value"));
            with.validate().unwrap_or_else(|e| panic!("{fabric} {keys:?}: {e}"));
            // Programs find a place on it.
            let ground = Ground::of(&with);
            assert!(ground.cus > 0 && ground.waves > 0, "{fabric} {keys:?}: {ground:?}");
            assert_eq!(keys, campaign.keys(group), "the same for the same group");
            seen.extend(keys.iter().filter_map(|key| key.split('=').next().map(str::to_string)));
        }
        assert!(KEPT.iter().all(|kept| !seen.contains(*kept)) && !seen.contains("waves"), "{seen:?}");
        assert!(seen.len() > 15, "{fabric}: {seen:?}");
    }
}

#[test]
fn keys_that_stay_are_keys_of_some_fabric() {
    let all = weft_fabric::config::all_keys();
    for kept in KEPT {
        assert!(all.iter().any(|key| key.name == *kept), "{kept} is no key; take it from the list");
    }
}

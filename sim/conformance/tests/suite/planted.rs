//! The tables of planted faults: every fault that a fabric can be given has a row, and every row can be asked.

use crate::common;

use common::{campaign, named, weak_as};
use std::collections::BTreeSet;
use weft_conformance::Plan;
use weft_conformance::planted::{File, Planted};
use weft_fabric::config::{FabricConfig, Legal};
use weft_litmus::library::texts;
use weft_litmus::program::Placement;

/// Keys that plant faults.
const KEYS: [&str; 2] = ["inject", "inject_cu"];

/// Words that a key of a fabric may have.
fn words(config: &FabricConfig, key: &str) -> Vec<&'static str> {
    let found = config.keys().into_iter().find(|info| info.name == key);
    match found.map(|info| info.legal) {
        Some(Legal::OneOf(names)) => names.to_vec(),
        _ => Vec::new(),
    }
}

/// Protocols and faults that some fabric of the file can have together, and those that all refuse.
fn faults(file: File) -> (BTreeSet<(String, String)>, BTreeSet<(String, String)>) {
    let (mut legal, mut refused, mut unknown) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for fabric in file.fabrics {
        let plain = FabricConfig::load(fabric).expect("a built-in fabric");
        for protocol in words(&plain, "protocol") {
            let with = |keys: &[&str]| {
                let mut config = plain.clone();
                keys.iter().try_for_each(|key| config.set(key)).and_then(|()| config.validate())
            };
            let protocol_key = format!("protocol={protocol}");
            for key in KEYS {
                // The CUs' faults are of models that tell relaxed atomics apart.
                let model = if key == "inject_cu" { "model=drfrlx" } else { "checks=false" };
                for word in words(&plain, key).into_iter().filter(|word| *word != "none") {
                    let fault = format!("{key}={word}");
                    // Some protocols are of one GPU.
                    let few: &[&str] = if with(&[&protocol_key]).is_ok() { &[] } else { &["gpus=1"] };
                    let plain = [&[protocol_key.as_str()], few].concat();
                    let both = [&plain[..], &[model, &fault]].concat();
                    // Some faults are of one choice of a protocol, which their rows give.
                    let found = with(&both)
                        .or_else(|e| with(&[&both[..], &["broadcast_order=token"]].concat()).map_err(|_| e));
                    match (with(&plain).is_ok(), found) {
                        (_, Ok(())) => drop(legal.insert((protocol.to_string(), fault))),
                        (true, Err(e)) => {
                            let said = e.to_string();
                            assert!(said.contains(key) && said.contains(word), "{fabric} {both:?}: {said}");
                            refused.insert((protocol.to_string(), fault));
                        }
                        // A protocol that needs other sizes, which rows give, unless another fabric knows better.
                        (false, Err(_)) => drop(unknown.insert((protocol.to_string(), fault))),
                    }
                }
            }
        }
    }
    legal.extend(unknown.difference(&refused).cloned());
    let refused = refused.difference(&legal).cloned().collect();
    (legal, refused)
}

/// The configuration of a row is legal, its test is one of the library, and without its fault it is legal, too.
fn can_be_asked(row: &Planted) {
    for protocol in &row.protocols {
        for planted in [false, true] {
            let mut config = FabricConfig::load(row.fabric).expect(row.fabric);
            let protocol = format!("protocol={protocol}");
            let fault = planted.then_some(row.fault);
            for key in std::iter::once(protocol.as_str()).chain(row.keys.iter().copied()).chain(fault) {
                config.set(key).unwrap_or_else(|e| panic!("{row:?}: {e}"));
            }
            config.validate().unwrap_or_else(|e| panic!("{row:?}: {e}"));
        }
    }
    if let ["litmus", test, ..] = row.command[..] {
        assert!(texts().iter().any(|(name, _)| name == test), "{test} is no test of the library: {row:?}");
    }
}

/// Every fault of the file's fabrics has one row on one of them, at least, and a row of none is the only one.
fn has_a_row_for_every_fault(name: &str) {
    let file = File::named(name).expect("a file");
    let rows = file.rows().unwrap_or_else(|e| panic!("{e}"));
    let (mut known, mut places) = (BTreeSet::new(), BTreeSet::new());
    for row in &rows {
        assert!(file.fabrics.contains(&row.fabric), "{name}: {} is no fabric of the file", row.fabric);
        assert!(row.command.is_empty() || row.most > 0, "{row:?}");
        can_be_asked(row);
        for protocol in &row.protocols {
            known.insert(((*protocol).to_string(), row.fault.to_string()));
            assert!(
                places.insert((row.fabric, *protocol, row.fault)),
                "{name}: twice {protocol}, {}",
                row.fault
            );
        }
    }
    let (legal, refused) = faults(file);
    let missing: Vec<_> = legal.difference(&known).collect();
    assert!(missing.is_empty(), "{name}.csv has no row for {missing:?}");
    let idle: Vec<_> = known.intersection(&refused).collect();
    assert!(idle.is_empty(), "{name}.csv has rows for what the fabrics refuse: {idle:?}");
}

#[test]
fn every_fault_of_directories_has_a_row() {
    has_a_row_for_every_fault("directory");
}

#[test]
fn every_fault_of_timestamps_has_a_row() {
    has_a_row_for_every_fault("tsm");
}

#[test]
fn every_fault_of_remote_access_has_a_row() {
    has_a_row_for_every_fault("rdma");
}

fn refusal(fabric: &str, keys: &[&str]) -> String {
    let mut config = FabricConfig::load(fabric).expect("a built-in fabric");
    let set = keys.iter().try_for_each(|key| config.set(key)).and_then(|()| config.validate());
    set.expect_err("refused").to_string()
}

#[test]
fn what_could_never_show_is_refused() {
    let relaxed = ["inject_cu=relaxed-overtakes"];
    for fabric in FabricConfig::list() {
        let said = refusal(fabric, &["model=drf0", relaxed[0]]);
        assert!(said.contains("takes every atomic for a paired one"), "{fabric}: {said}");
    }
    let tsm = |keys: &[&str]| refusal("tsm-4gpu-small", keys);
    let said = tsm(&["protocol=wt-c-sc", "model=drfrlx", relaxed[0]]);
    assert!(said.contains("the CUs keep sc"), "{said}");
    let said = tsm(&["protocol=wt-nc-rc", "inject=past_rts"]);
    assert!(said.contains("without coherence"), "{said}");
    let said = tsm(&["protocol=wt-c-sc", "inject=keep_clock"]);
    assert!(said.contains("send none"), "{said}");
    let said = tsm(&["protocol=gtsc", "gpus=1", "inject=past_rts"]);
    assert!(said.contains("none with gtsc"), "{said}");
}

/// Why no fabric of this family has the fault `early_fence`: its CUs wait for the answer to each store before they send a fence.
#[test]
fn fences_of_timestamps_have_nothing_to_wait_for() {
    let plain = FabricConfig::load("tsm-4gpu-small").expect("a built-in fabric");
    assert!(!words(&plain, "inject").contains(&"early_fence"));
    for protocol in words(&plain, "protocol") {
        let mut config = plain.clone();
        config.set(&format!("protocol={protocol}")).expect("a protocol");
        assert!(config.hardware().mode().acks, "{protocol}");
    }
}

/// Why no test sees the CUs' fault where nothing keeps L1s coherent: on one CU it shows nothing.
#[test]
fn relaxed_atomics_of_one_cu_are_in_order_without_coherence() {
    let plan = Plan { placements: vec![Placement::Cu], runs: 60, ..Plan::default() };
    let keys = ["gpus=2", "cus=2", "model=drfrlx", "checks=false", "inject_cu=relaxed-overtakes"];
    let names = ["MPread.PN", "MPread.PU", "MPcopy.PN", "MPjam.PN", "SB.UP", "MPg.PN", "IRIW.PU", "CoRR.N"];
    weak_as(&campaign("rdma-4gpu-small", &keys), &named(&names), &plan);
    let keys = [&keys[..], &["protocol=wt-nc-rc"]].concat();
    weak_as(&campaign("tsm-4gpu-small", &keys), &named(&names), &plan);
}

#[test]
fn every_fault_of_remote_promotion_has_a_row() {
    has_a_row_for_every_fault("srsp");
}

#[test]
fn every_fault_of_spandex_has_a_row() {
    has_a_row_for_every_fault("spandex");
}

#[test]
fn every_fault_of_the_flat_gpu_has_a_row() {
    has_a_row_for_every_fault("flat");
}

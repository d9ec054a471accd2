//! Litmus tests on the small fabrics with directories, and with what stands in for one: no end that drf0 forbids, with every protocol.

use crate::common;

use common::{all, campaign, named, weak, weak_as};
use weft_conformance::Plan;
use weft_fabric::family::directory::PROTOCOLS;
use weft_litmus::program::Placement;

/// Every `parts`-th test of the library, from number `first`, in every place and layout.
fn library(fabric: &str, keys: &[&str], (first, parts): (usize, usize)) {
    let tests: Vec<_> = all().into_iter().skip(first).step_by(parts).collect();
    weak(&campaign(fabric, keys), &tests, 12);
}

/// Tests of paired accesses only, where a store or an Inv on its way to another GPU shows.
fn paired(fabric: &str, keys: &[&str], protocols: &[&str], runs: u32) {
    let tests: Vec<_> = all().into_iter().filter(|t| t.name.ends_with(".P")).collect();
    let placements = vec![Placement::Cus, Placement::Gpus];
    let plan = Plan { placements, runs, ..Plan::default() };
    for protocol in protocols {
        let protocol = format!("protocol={protocol}");
        let keys: Vec<&str> = keys.iter().copied().chain([protocol.as_str()]).collect();
        weak_as(&campaign(fabric, &keys), &tests, &plan);
    }
}

#[test]
fn ranges_keep_drf0() {
    library("rec-4gpu-small", &[], (0, 3));
}

#[test]
fn lines_keep_drf0() {
    library("rec-4gpu-small", &["protocol=baseline"], (1, 3));
}

#[test]
fn groups_keep_drf0() {
    library("rec-4gpu-small", &["protocol=nhcc"], (2, 3));
}

#[test]
fn gpu_homes_keep_drf0_with_scopes() {
    library("hmg-4gpu-small", &["protocol=hmg", "gpus=2", "gpms=2", "cus=2"], (0, 5));
}

#[test]
fn ranges_at_gpu_homes_keep_drf0_with_scopes() {
    library("hmg-4gpu-small", &["protocol=hmg-rec", "gpus=2", "gpms=2", "cus=2"], (1, 5));
}

#[test]
fn gpu_homes_without_directories_keep_drf0_with_scopes() {
    library("hmg-4gpu-small", &["protocol=sw-hierarchical", "gpus=2", "gpms=2", "cus=2"], (2, 5));
}

/// Acquires that drop lines of the own home, too: with GPU homes and without.
#[test]
fn acquires_that_drop_all_lines_keep_drf0_with_scopes() {
    let keys = ["sw_acquire=all", "gpus=2", "gpms=2", "cus=2"];
    paired("hmg-4gpu-small", &keys, &["sw-hierarchical", "sw-flat"], 6);
    library("hmg-4gpu-small", &[&["protocol=sw-hierarchical"], &keys[..]].concat(), (3, 10));
}

#[test]
fn directories_of_all_gpms_keep_drf0_with_scopes() {
    library("hmg-4gpu-small", &["protocol=nhcc", "gpus=2", "gpms=2", "cus=2"], (3, 5));
}

#[test]
fn acknowledged_invalidations_keep_drf0_with_scopes() {
    library("hmg-4gpu-small", &["protocol=gpu-vi", "gpus=2", "gpms=2", "cus=2"], (4, 5));
}

/// Protocols whose tests on the flat fabric are named here.
const FLAT: [&str; 9] =
    ["rec", "baseline", "hmg-entry", "nhcc", "gpu-vi", "ideal", "l1-only", "no-remote-caching", "sw-flat"];

/// Those of the fabric of GPMs.
const GPMS: [&str; 5] = ["hmg", "hmg-rec", "sw-hierarchical", "nhcc", "gpu-vi"];

/// What a protocol must keep that nobody has named yet, on both fabrics.
#[test]
fn every_other_protocol_keeps_drf0() {
    let gpms = ["gpus=2", "gpms=2", "cus=2"];
    for of in PROTOCOLS.iter() {
        if !FLAT.contains(&of.name()) {
            paired("rec-4gpu-small", &[], &[of.name()], 4);
        }
        if of.keeps_modules() && !GPMS.contains(&of.name()) {
            paired("hmg-4gpu-small", &gpms, &[of.name()], 4);
        }
    }
}

fn with_directories(runs: u32) {
    paired("rec-4gpu-small", &[], &["baseline", "rec", "hmg-entry", "gpu-vi"], runs);
}

fn without_directories(runs: u32) {
    paired("rec-4gpu-small", &[], &["ideal", "l1-only", "no-remote-caching", "sw-flat"], runs);
}

fn between_gpms(runs: u32) {
    paired("hmg-4gpu-small", &["gpus=2", "gpms=2", "cus=2"], &["hmg", "nhcc"], runs);
}

/// Runs of a test of paired accesses in the default suite.
const RUNS: u32 = 30;

#[test]
fn paired_accesses_are_in_order_with_directories() {
    with_directories(RUNS);
}

#[test]
fn paired_accesses_are_in_order_without_directories() {
    without_directories(RUNS);
}

#[test]
fn paired_accesses_are_in_order_between_gpms() {
    between_gpms(RUNS);
}

#[test]
fn long_paired_accesses_are_in_order() {
    [with_directories, without_directories, between_gpms].iter().for_each(|all| all(6 * RUNS));
}

#[test]
fn a_paired_load_does_not_overtake_a_store_on_its_way_home() {
    let plan = Plan { placements: vec![Placement::Gpus], runs: 900, ..Plan::default() };
    weak_as(&campaign("rec-4gpu-small", &[]), &named(&["SB.P"]), &plan);
}

#[test]
fn paired_accesses_are_in_order_on_all_of_hmg() {
    weak(&campaign("hmg-4gpu-small", &[]), &named(&["SB.P", "IRIW.P"]), 120);
}

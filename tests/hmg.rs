//! What the comparisons of HMG need of a run: waits of `.gpu` releases told apart, software acquires of both
//! sorts, warm-ups.

use crate::program::weft_in as weft;
use serde_json::Value;

/// The JSON of a run on the small fabric of GPUs of several GPMs, which verified.
fn run(sets: &[&str], workload: &str, params: &[&str]) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let mut args = vec!["run", "hmg-4gpu-small", "--json", "run.json", "--workload", workload];
    args.extend(sets.iter().flat_map(|set| ["--set", *set]));
    args.extend(params.iter().flat_map(|param| ["--param", *param]));
    let out = weft(folder.path(), &args);
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    let text = std::fs::read_to_string(folder.path().join("run.json")).expect("written");
    serde_json::from_str(&text).expect("JSON")
}

fn metric(json: &Value, name: &str) -> u64 {
    json["metrics"][name].as_u64().unwrap_or_else(|| panic!("{name} is no count: {}", json["metrics"]))
}

fn counter(json: &Value, name: &str) -> u64 {
    json["counters"][name]["value"].as_u64().unwrap_or_else(|| panic!("there is no counter {name}"))
}

/// A `.gpu` release waits for links between GPUs only behind an atomic whose line another GPU has to send:
/// without that its time is the same at ten times the latency of those links.
#[test]
fn gpu_releases_wait_for_other_gpus_only_behind_atomics_that_fetch_their_lines() {
    let times = |latency: &str| {
        let json = run(&[latency], "namd", &["atoms=4", "steps=1"]);
        let (count, cycles) = (metric(&json, "gpu_releases"), metric(&json, "gpu_release_cycles"));
        let atomics = metric(&json, "gpu_release_atomic_cycles");
        assert_eq!(counter(&json, "fence_unit.releases_gpu"), count);
        let unit = counter(&json, "fence_unit.release_cycles_gpu");
        assert!(
            cycles.abs_diff(unit) <= 8 * count,
            "{cycles} cycles at the ports, {unit} in the fence units"
        );
        assert!(
            count > 300 && atomics > 0 && atomics < cycles,
            "{count} releases, {atomics} of {cycles} cycles"
        );
        [cycles, cycles - atomics].map(|sum| sum as f64 / count as f64)
    };
    let ([all, own], [far_all, far_own]) = (times("link_latency=180"), times("link_latency=1800"));
    assert!(far_all > 1.5 * all, "releases take {all:.0} and {far_all:.0} cycles");
    assert!(far_own < 1.1 * own, "without that wait {own:.0} and {far_own:.0} cycles");
}

/// Acquires that drop lines of the own home, too, drop more and fetch them again; with other protocols the
/// key changes nothing.
#[test]
fn software_acquires_drop_lines_of_other_homes_or_all() {
    let params = ["source=karate", "iterations=2"];
    for protocol in ["protocol=sw-flat", "protocol=sw-hierarchical"] {
        let [remote, all] = ["remote", "all"].map(|what| {
            let json = run(&[protocol, &format!("sw_acquire={what}")], "pagerank", &params);
            (counter(&json, "bank.l2_dropped"), metric(&json, "l2_misses"))
        });
        assert!(all.0 > remote.0 && all.1 > remote.1, "{protocol}: {remote:?} {all:?} lines dropped, misses");
    }
    for protocol in ["protocol=hmg", "protocol=no-remote-caching"] {
        let [remote, all] = ["remote", "all"].map(|what| {
            run(&[protocol, &format!("sw_acquire={what}")], "pagerank", &params)["cycles"].as_u64()
        });
        assert_eq!(remote, all, "{protocol}");
    }
}

/// What is measured begins behind the warm-up, and finds warm caches.
#[test]
fn cycles_behind_a_warm_up_are_fewer_than_those_of_a_cold_run() {
    let json = |params: &[&str]| run(&[], "rnn-fw", params);
    let (cold, warm) = (json(&[]), json(&["warmup=1"]));
    assert!(cold["measured_cycles"].is_null(), "a program without a warm-up is measured whole");
    assert_eq!(warm["kernels"][0]["name"], "warm_up");
    let (all, end) = (warm["cycles"].as_u64(), warm["kernels"][0]["end"].as_u64());
    let measured = warm["measured_cycles"].as_u64();
    assert_eq!(measured, all.zip(end).map(|(all, end)| all - end));
    assert!(measured < cold["cycles"].as_u64(), "{measured:?} cycles behind it, {} without", cold["cycles"]);
}

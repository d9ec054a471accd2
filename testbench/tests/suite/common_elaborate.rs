//! Every common block elaborates and flattens at the ends of its parameter ranges, and refuses what lies outside.

use std::collections::BTreeMap;
use weft_rtl::lower::flatten;

fn given(params: &[(&str, &str)]) -> BTreeMap<String, String> {
    params.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect()
}

fn check(block: &str, params: &[(&str, &str)]) {
    let module =
        weft_catalog::build(block, &given(params)).unwrap_or_else(|e| panic!("{block} {params:?}: {e}"));
    flatten(&module).unwrap_or_else(|e| panic!("{block} {params:?}: {e}"));
}

fn refused(block: &str, params: &[(&str, &str)]) -> String {
    match weft_catalog::build(block, &given(params)) {
        Ok(module) => panic!("{block} {params:?} was accepted as {}", module.name),
        Err(e) => e.to_string(),
    }
}

#[test]
fn defaults() {
    for block in weft_blocks::common::register::common_blocks() {
        check(block.name, &[]);
    }
}

#[test]
fn queues() {
    for depth in ["1", "2", "3", "15", "16", "17", "1024"] {
        check("fifo", &[("depth", depth), ("width", "65")]);
    }
}

#[test]
fn arbiters_and_crossbars() {
    for n in ["1", "2", "3", "64", "65"] {
        check("round-robin-arbiter", &[("inputs", n)]);
        check("oldest-first-arbiter", &[("inputs", n)]);
        for m in ["1", "2", "16"] {
            check("crossbar", &[("inputs", n), ("outputs", m), ("width", "7")]);
        }
    }
}

#[test]
fn links() {
    for (bytes, latency, credits) in [("1", "2", "1"), ("150", "3", "17"), ("256", "4096", "1024")] {
        for line in ["64", "128"] {
            let params =
                [("bytes_per_cycle", bytes), ("latency", latency), ("credits_rsp", credits), ("line", line)];
            for block in ["link-tx", "link-rx", "switch"] {
                check(block, &params);
            }
        }
    }
}

#[test]
fn arrays() {
    for ways in ["1", "2", "3", "8", "128"] {
        for policy in ["fifo", "lru"] {
            check("set-assoc-array", &[("ways", ways), ("sets", "2"), ("key_bits", "2"), ("policy", policy)]);
        }
    }
    for entries in ["1", "2", "5", "256"] {
        check("cam", &[("entries", entries), ("key_bits", "1")]);
        for targets in ["1", "3", "64"] {
            check("mshr-file", &[("entries", entries), ("targets", targets)]);
        }
    }
}

#[test]
fn bench_blocks() {
    for line in ["64", "128"] {
        for gpus in ["2", "3", "16"] {
            check("traffic-gen", &[("line", line), ("gpus", gpus), ("outstanding", "1")]);
        }
        check("dram-stub", &[("line", line), ("rows", "2"), ("latency", "1"), ("depth", "1")]);
        check("dram-stub", &[("line", line), ("il", "128"), ("banks", "1")]);
    }
}

#[test]
fn out_of_range() {
    let text = refused("fifo", &[("depth", "0")]);
    assert_eq!(text, "parameter depth = 0 of block fifo: it lies outside 1..1024; legal: 1..1024");
    let text = refused("link-tx", &[("latency", "1")]);
    assert_eq!(text, "parameter latency = 1 of block link-tx: it lies outside 2..4096; legal: 2..4096");
    let text = refused("crossbar", &[("inptus", "4")]);
    assert_eq!(
        text,
        "block crossbar has no parameter inptus; the nearest is inputs; `weft list blocks` shows all"
    );
}

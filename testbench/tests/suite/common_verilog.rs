//! The Verilog of every common block is free of warnings in Verilator, Icarus and Yosys at many parameters; at
//! one odd set of each block, `cosim_blocks` sees that whenever the block changes.

use std::collections::BTreeMap;
use weft_rtl::verilog::emit;
use weft_tools::external::{iverilog_lint, verilator_lint, yosys_lint};

fn clean(block: &str, params: &[(&str, &str)]) {
    let given: BTreeMap<String, String> =
        params.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let module = weft_catalog::build(block, &given).unwrap_or_else(|e| panic!("{e}"));
    let folder = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    for file in emit(&module) {
        let path = folder.path().join(&file.name);
        std::fs::write(&path, &file.text).unwrap();
        files.push(path);
    }
    let mut found = verilator_lint(&module.name, &files).unwrap();
    found.extend(iverilog_lint(&module.name, &files).unwrap());
    found.extend(yosys_lint(&module.name, &files).unwrap());
    assert!(found.is_empty(), "{block} {params:?}:\n{}", found.join("\n"));
}

#[test]
fn long_queues_and_arbiters() {
    for depth in ["1", "3", "16", "17"] {
        clean("fifo", &[("depth", depth)]);
    }
    for n in ["1", "2", "5"] {
        clean("round-robin-arbiter", &[("inputs", n)]);
        clean("oldest-first-arbiter", &[("inputs", n)]);
        clean("crossbar", &[("inputs", n), ("outputs", "3")]);
        clean("crossbar", &[("inputs", "3"), ("outputs", n), ("width", "1")]);
    }
}

#[test]
fn long_arrays() {
    for ways in ["1", "3", "8"] {
        for policy in ["fifo", "lru"] {
            clean("set-assoc-array", &[("ways", ways), ("policy", policy)]);
        }
    }
    for entries in ["1", "2", "7"] {
        clean("cam", &[("entries", entries)]);
        clean("mshr-file", &[("entries", entries), ("targets", entries)]);
    }
}

#[test]
fn long_links() {
    for (bytes, latency, credits) in [("6", "2", "1"), ("25", "140", "20")] {
        let params = [("bytes_per_cycle", bytes), ("latency", latency), ("credits_req", credits)];
        clean("link-tx", &params);
        clean("link-rx", &params);
    }
    clean("switch", &[("gpus", "3"), ("line", "128")]);
}

#[test]
fn long_bench_blocks() {
    for gpus in ["3", "4"] {
        clean("traffic-gen", &[("gpus", gpus)]);
    }
    clean("traffic-gen", &[("outstanding", "1"), ("interval", "3"), ("stores", "256"), ("atomics", "0")]);
    clean("dram-stub", &[]);
    clean("dram-stub", &[("rows", "2"), ("latency", "1"), ("depth", "1"), ("banks", "1"), ("il", "64")]);
}

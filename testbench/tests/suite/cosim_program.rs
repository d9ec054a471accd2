//! Units of fabrics that run programs: what their neighbours sent is replayed on their Verilog.
//!
//! Random messages may ask a block for what was never written; its neighbours do not. So an unknown value at an output is a failure here.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use weft_fabric::config::FabricConfig;
use weft_testbench::cosim::{CosimOptions, With, cosim_recorded, record_program};
use weft_workload::Program;

const TSM: &[&str] = &["gpus=2", "cus=2", "banks=2", "l1_size=1K", "l2_size=8K", "il=256", "trk=8"];
const HMG: &[&str] = &["gpus=2", "gpms=2", "cus=2", "l1_size=2K", "l2_size=16K"];

fn program(config: &FabricConfig, name: &str) -> Arc<dyn Program> {
    let mut params = BTreeMap::new();
    config.offer(name, &mut params);
    Arc::from(weft_workload::build(name, &params, None).expect("legal"))
}

/// The first cycles of a program, in which more than `transfers` messages pass the unit's channels.
fn agrees(fabric: &str, changes: &[&[&str]], workload: &str, unit: &str, cycles: u64, transfers: u64) {
    let config = config(fabric, changes);
    let program = program(&config, workload);
    agrees_at(&config, program, unit, cycles, transfers);
}

fn config(fabric: &str, changes: &[&[&str]]) -> FabricConfig {
    let mut config = FabricConfig::load(fabric).expect("built in");
    changes.iter().copied().flatten().for_each(|change| config.set(change).expect("a key"));
    config
}

fn agrees_at(config: &FabricConfig, program: Arc<dyn Program>, unit: &str, cycles: u64, transfers: u64) {
    let (module, run) = record_program(config, program, unit, cycles).unwrap_or_else(|e| panic!("{e}"));
    assert!(run.transfers > transfers, "{unit}: only {} transfers", run.transfers);
    let folder = tempfile::tempdir().expect("a folder");
    let options = CosimOptions { strict: true, ..CosimOptions::new(&module, With::Icarus, folder.path()) };
    let report = cosim_recorded(&module, &run, Duration::ZERO, &options).unwrap_or_else(|e| panic!("{e}"));
    println!("{unit}: {report}");
    assert_eq!((report.cycles, report.unknown), (run.cycles(), None));
}

#[test]
fn cosim_units_of_mgcc() {
    for protocol in ["protocol=wt-c-rc", "protocol=wt-c-sc", "protocol=wt-nc-rc"] {
        agrees("tsm-4gpu-small", &[TSM, &[protocol]], "pagerank", "gpu0.l1_0", 10_000, 500);
        agrees("tsm-4gpu-small", &[TSM, &[protocol]], "pagerank", "gpu0.bank0", 10_000, 500);
    }
}

#[test]
fn cosim_units_with_write_back() {
    agrees("tsm-4gpu-small", &[TSM, &["protocol=wb-nc-rc"]], "pagerank", "gpu0.bank0", 10_000, 500);
}

#[test]
fn cosim_units_of_gtsc() {
    let one: &[&str] = &["gpus=1", "protocol=gtsc"];
    agrees("tsm-4gpu-small", &[TSM, one], "pagerank", "gpu0.l1_0", 10_000, 500);
    agrees("tsm-4gpu-small", &[TSM, one], "pagerank", "gpu0.bank0", 10_000, 500);
}

#[test]
fn cosim_units_of_gpu_vi() {
    for unit in ["gpu0_gpm0.dir0", "gpu0_gpm0.bank0", "gpu0_gpm0.egress", "gpu0_gpm0.ingress"] {
        agrees("hmg-4gpu-small", &[HMG, &["protocol=gpu-vi"]], "hpgmg", unit, 20_000, 5);
    }
}

/// Each unit that MGPU-RDMA has of its own, and its home bank, among neighbours that keep the protocol.
#[test]
fn cosim_units_of_rdma() {
    const RDMA: &[&str] = &[
        "gpus=2",
        "cus=2",
        "banks=2",
        "l1_size=1K",
        "l2_size=8K",
        "il=256",
        "rdma_entries=8",
        "placement=page_rr",
        "page=512",
        "host_link_bytes=0",
    ];
    for unit in ["gpu0.engine", "gpu0.bank0", "gpu0.dram_port0", "switch"] {
        agrees("rdma-4gpu-small", &[RDMA], "pagerank", unit, 8_000, 100);
    }
}

/// L1s, translation units and banks of two cores and three CUs, in a program in which all of them write to the same lines.
#[test]
fn cosim_units_of_spandex() {
    spandex("s-mesi-gpu", &[], &["bank0", "device0.cache", "device0.tu", "device2.cache", "device2.tu"]);
    spandex("s-gpu-gpu", &[], &["bank0", "device0.cache"]);
}

#[test]
fn cosim_units_of_spandex_with_denovo() {
    spandex("s-denovo-denovo", &[], &["bank0", "device0.cache", "device0.tu", "device2.cache"]);
    spandex("s-denovo-gpu", &[], &["device0.cache"]);
}

#[test]
fn cosim_units_of_spandex_with_flex() {
    spandex("s-flex", &[], &["bank0", "device0.cache", "device2.tu"]);
    spandex("s-flex-pred", &["opred=table"], &["device0.tu", "device2.cache"]);
}

/// The hierarchical baseline: the L3, the CPU cores' clients, the GPU L2.
#[test]
fn cosim_units_of_h_mesi() {
    spandex("h-mesi-gpu", &[], &["l3_bank0", "l2_bank0", "device0.cache", "device0.client"]);
    spandex("h-mesi-denovo", &[], &["l2_bank0", "device2.cache"]);
}

#[test]
fn cosim_a_router_of_spandex() {
    spandex("s-mesi-gpu", &[], &["router0"]);
}

fn spandex(protocol: &str, changes: &[&str], units: &[&str]) {
    const SMALL: &[&str] = &[
        "cus=3",
        "banks=2",
        "l1_size=1K",
        "l1_ways=2",
        "l1_mshrs=4",
        "l1_sb=4",
        "l1_wbb=2",
        "llc_size=8K",
        "llc_ways=4",
        "llc_tbes=4",
        "llc_stalls=6",
        "gpu_l2_size=4K",
        "gpu_l2_ways=4",
        "dram_latency=20",
    ];
    let config = config("spandex-soc-small", &[SMALL, &[&format!("protocol={protocol}")], changes]);
    for unit in units {
        let given = [("cpu_threads", "2"), ("blocks", "3"), ("values", "3001"), ("chunk", "100")];
        let mut params = given.map(|(k, v)| (k.to_string(), v.to_string())).into();
        config.offer("hsti", &mut params);
        let program = Arc::from(weft_workload::build("hsti", &params, None).expect("legal"));
        agrees_at(&config, program, unit, 8_000, 100);
    }
}

/// What a message between two GPUs passes: the router at the end of a row, both ends of a link, and the switch.
#[test]
fn cosim_units_of_spandex_between_gpus() {
    const GPUS: &[&str] = &[
        "gpus=2",
        "cpus=2",
        "cus=1",
        "banks=1",
        "mesh=2",
        "mesh_rows=1",
        "llc_size=64K",
        "link_latency=20",
        "dram_latency=20",
    ];
    let config = config("spandex-4gpu-small", &[GPUS]);
    for unit in ["router1", "link_tx0", "switch_rx1", "req_switch0", "rsp_switch0"] {
        let given = [("cpu_threads", "2"), ("blocks", "2"), ("values", "3001"), ("chunk", "100")];
        let mut params = given.map(|(k, v)| (k.to_string(), v.to_string())).into();
        config.offer("hsti", &mut params);
        let program = Arc::from(weft_workload::build("hsti", &params, None).expect("legal"));
        agrees_at(&config, program, unit, 8_000, 20);
    }
}
